"""Entry points of the installed package, without an import of it."""

from __future__ import annotations

import json
from itertools import chain

import pytest

from conftest import run

FOUND = """
import json, sys
import spacy
assert "spacy_graft" not in sys.modules
nlp = spacy.blank("en")
found = {
    "factories": all(nlp.has_factory(name) for name in ("textcat_graft", "textcat_graft_multilabel")),
    "numba": "numba" in sys.modules,
}
for registry, names in json.loads(sys.argv[1]).items():
    for name in names:
        found[name] = spacy.registry.has(registry, name)
nlp.add_pipe("textcat_graft")
nlp.add_pipe("textcat_graft_multilabel")
found["numba after add_pipe"] = "numba" in sys.modules
print(json.dumps(found))
"""
REGISTERED = {
    "architectures": ["spacy_graft.SparseLinear.v1"],
    "graft_features": [
        "spacy_graft.CharacterNgrams.v1",
        "spacy_graft.Combinations.v1",
        "spacy_graft.DocAttributes.v1",
        "spacy_graft.HeadModifiers.v1",
        "spacy_graft.TokenAttributes.v1",
        "spacy_graft.TokenNgrams.v1",
    ],
    "graft_learners": ["spacy_graft.CoordinateAscent.v1", "spacy_graft.Grafting.v1", "spacy_graft.GraftingPath.v1"],
    "graft_constraints": ["spacy_graft.Constraints.v1"],
    "graft_shards": ["spacy_graft.Dask.v1", "spacy_graft.InMemory.v1", "spacy_graft.OnDisk.v1"],
    "graft_graphs": [
        "spacy_graft.Cooccurrence.v1",
        "spacy_graft.EdgeList.v1",
        "spacy_graft.GraphFile.v1",
        "spacy_graft.MergedGraphs.v1",
        "spacy_graft.SentiWordNet.v1",
        "spacy_graft.WordNet.v1",
    ],
    "loggers": ["spacy_graft.ConsoleLogger.v1"],
    "readers": ["spacy_graft.JsonlCorpus.v1"],
    "scorers": ["spacy_graft.textcat_scorer.v1", "spacy_graft.textcat_multilabel_scorer.v1"],
    "tokenizers": ["spacy_graft.LanguageTokenizer.v1"],
}


@pytest.fixture(scope="module")
def found() -> dict[str, bool]:
    return json.loads(run("-c", FOUND, json.dumps(REGISTERED)).stdout)


def test_everything_is_found_without_an_import(found: dict[str, bool]) -> None:
    assert not [name for name in ("factories", *chain(*REGISTERED.values())) if not found[name]]


def test_numba_waits_for_its_first_use(found: dict[str, bool]) -> None:
    assert not found["numba"]
    assert not found["numba after add_pipe"]


@pytest.mark.slow
@pytest.mark.parametrize("registry", ["readers", "loggers", "architectures", "scorers", "tokenizers"])
def test_functions_are_found_before_there_is_a_pipeline(registry: str) -> None:
    """A config's sections are resolved before its language is: each entry point must do alone."""
    name = REGISTERED[registry][0]
    run("-W", "error", "-c", f"from spacy import registry; registry.get({registry!r}, {name!r})")
