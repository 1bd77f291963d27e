"""What importing parts of the package loads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import spacy_graft
from conftest import make_nlp, make_records, run, train_fully

WITHOUT_SPACY = """
class_targets classifier estimators files item_model matrices messages metrics ranker registry
text_classifier text_model portable.export
extract.bags extract.streams extract.terms extract.texts
graft.start graft.grafting graft.path graft.selection graft.ascent graft.network
graphs.cooccurrence graphs.edgelist graphs.merging graphs.sentiwordnet graphs.wordnet
index.items index.ngrams search.search search.combinations solve.restricted
""".split()

#: Packages that these modules must not load.
UNNEEDED = ["spacy", "thinc", "typer", "rich"]

#: Imports one module after the other: what one of them loads stays loaded.
PROGRAM = f"""
import importlib, json, sys

loaded = {{}}
for module in sys.argv[1:]:
    importlib.import_module("spacy_graft." + module)
    loaded[module] = [name for name in {UNNEEDED} if name in sys.modules]
print(json.dumps(loaded))
"""


@pytest.fixture(scope="module")
def loaded() -> dict[str, list[str]]:
    """Which of these packages are loaded after the import of each module and those before it."""
    command = [sys.executable, "-c", PROGRAM, *WITHOUT_SPACY]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("module", WITHOUT_SPACY)
def test_what_works_on_arrays_does_without_spacy(module: str, loaded: dict[str, list[str]]) -> None:
    """Neither spaCy, thinc nor a command line library is loaded."""
    assert loaded[module] == []


#: What users without scikit-learn can do.
WITHOUT_SKLEARN = """
import sys

import spacy_graft
assert "numpy" not in sys.modules, "importing the package is to load nothing"
sys.modules["sklearn"] = None
from spacy_graft import Grafting, GraftClassifier, GraftRanker, GraftTextClassifier

texts, labels = ["unlucky", "lucky", "untold", "told"] * 5, [1, 0] * 10
model = GraftTextClassifier(Grafting(l1=1.0)).fit(texts, labels)
print(model, model.predict(["unread", "read"]).tolist(), model.score(texts, labels))
assert model.set_params(min_df=3).get_params()["min_df"] == 3
try:
    GraftClassifier().predict([{"a"}])
except ValueError as error:
    print(error)
GraftClassifier().fit([{"a"}, {"b"}], [0, 1]).predict([{"a"}])
GraftRanker().fit([{"a"}, {"b"}], [0, 1]).predict([{"a"}])
try:
    GraftRanker().set_params(l1=1.0)
except ValueError as error:
    print(error)
print([name for name in ("spacy", "thinc", "pandas") if name in sys.modules])
"""


@pytest.mark.slow
def test_completion_knows_the_public_names() -> None:
    assert set(spacy_graft.__all__) <= set(dir(spacy_graft))


def test_the_estimators_do_without_scikit_learn() -> None:
    """They train and predict, and load neither spaCy nor anything else that they do not need."""
    printed = run("-c", WITHOUT_SKLEARN).stdout.splitlines()
    assert printed[0].startswith("GraftTextClassifier(learner=Grafting(")
    assert printed[0].endswith(" [1, 0] 1.0")
    assert "is not fitted yet" in printed[1]
    assert printed[2].startswith("Invalid parameter 'l1' for estimator GraftRanker(). Valid parameters are: ['blocks'")
    assert printed[3] == "[]"


def test_a_pipeline_predicts_without_scipy(tmp_path: Path) -> None:
    """It takes as long to import as a model to load."""
    train_fully(make_nlp(), make_records(30)).to_disk(tmp_path)
    code = f"""
import sys
import spacy

spacy.load({str(tmp_path)!r})("a soup")
print([name for name in ("scipy.sparse", "sklearn") if name in sys.modules])
"""
    assert run("-c", code).stdout == "[]\n"
