"""Warnings name the line of the user, whatever lies between it and the package; lists of names end."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conftest import run_forked
from spacy_graft.messages import MOST_NAMED, listed, warn

#: A script of a user. Of its lines, those that say so cause warnings.
SCRIPT = """
import sys
import numpy
import spacy
import spacy_graft
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from spacy.training import Example

folder = sys.argv[1]
nlp = spacy.blank("en")


def examples(*labels):
    return [Example.from_dict(nlp.make_doc(label), {"cats": {label: 1.0, "never": 0.0}}) for label in labels]


scorer = {"@scorers": "spacy_graft.textcat_multilabel_scorer.v1"}
nlp.add_pipe("textcat_graft", config={"scorer": scorer})  # warns
train = examples(*["a", "b"] * 10)
nlp.initialize(lambda: train)
nlp.to_disk(folder)
nlp = spacy.load(folder)  # warns
nlp.initialize(lambda: train)
for _ in range(2):
    nlp.update(train)  # warns
nlp.evaluate(examples("b", "other"))  # warns
spacy_graft.fit(nlp, train)  # warns
column = numpy.array(["x", "y"] * 10)[:, None]
model = make_pipeline(FunctionTransformer(), spacy_graft.GraftTextClassifier())
model.fit(["same"] * 20, column)  # warns
model.score(["same"] * 20, column)  # warns
GridSearchCV(model, {"grafttextclassifier__min_df": [1, 2]}, cv=2).fit(["same"] * 20, column)  # warns
"""


@pytest.mark.slow
def test_warnings_are_of_the_line_of_a_script(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, "utf8")
    found = re.findall(r"^(.+):(\d+): \w+Warning: ", run_forked(script, tmp_path / "model").stderr, re.MULTILINE)
    lines = enumerate(SCRIPT.splitlines(), 1)
    assert set(found) == {(str(script), str(number)) for number, line in lines if line.endswith("# warns")}


def test_a_thread_has_no_line_of_a_user() -> None:
    """A warning is then of the outermost line."""
    with ThreadPoolExecutor() as pool, pytest.warns(DeprecationWarning, match="a text") as found:
        pool.submit(warn, "a text", DeprecationWarning).result()
    assert [warning.filename for warning in found] == [threading.__file__]


def test_a_line_without_a_module_is_of_a_user() -> None:
    with pytest.warns(UserWarning, match="a text") as found:
        exec(compile("warn('a text')", "a cell", "exec"), {"warn": warn, "__name__": None})
    assert [(warning.filename, warning.lineno) for warning in found] == [("a cell", 1)]


def test_long_lists_say_how_many_more_there_are() -> None:
    assert listed([]) == "none"
    assert listed(range(MOST_NAMED)) == ", ".join(map(str, range(MOST_NAMED)))
    assert listed(f"label {k}" for k in range(5000)).endswith("'label 18', 'label 19' and 4,980 more")
