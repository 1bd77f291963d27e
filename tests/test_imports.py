"""What importing parts of the package loads."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

WITHOUT_SPACY = """
class_targets classifier estimators files item_model matrices messages metrics ranker registry
text_classifier text_model
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
