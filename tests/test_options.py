"""Values that no option takes: every registered function refuses them when the config is read."""

from __future__ import annotations

import re
from dataclasses import fields, replace

import numpy as np
import pytest

from spacy_graft import GraftClassifier
from spacy_graft.extract.arcs import HeadModifiers
from spacy_graft.extract.attributes import TokenAttributes
from spacy_graft.extract.characters import CharacterNgrams
from spacy_graft.extract.combinations import Combinations
from spacy_graft.extract.metadata import DocAttributes
from spacy_graft.extract.tokens import TokenNgrams
from spacy_graft.extract.vectors import Vectors
from spacy_graft.graft.settings import CoordinateAscent, Grafting, GraftingPath
from spacy_graft.graphs.cooccurrence import Cooccurrence
from spacy_graft.graphs.edgelist import EdgeList, GraphFile
from spacy_graft.graphs.merging import MergedGraphs
from spacy_graft.graphs.sentiwordnet import SentiWordNet
from spacy_graft.graphs.wordnet import WordNet
from spacy_graft.options import LARGEST_STRENGTH, is_count, is_number_in, is_strength
from spacy_graft.pipeline.logger import console_logger
from spacy_graft.pipeline.reader import JsonlCorpus
from spacy_graft.registry import graft_features, graft_graphs, graft_learners

OWNERS = [
    Grafting(l1=1.0),
    Grafting(penalty="l2", ridge=1.0, min_gradient=1.0),
    GraftingPath(),
    CoordinateAscent(),
    CharacterNgrams(),
    TokenNgrams(),
    TokenAttributes(),
    HeadModifiers(),
    DocAttributes(metadata=["year"]),
    Combinations(["words"]),
    Vectors(),
    Cooccurrence(),
    WordNet(),
    SentiWordNet(),
    EdgeList("edges.tsv"),
    GraphFile("graph"),
    MergedGraphs({"edges": print}, {"edges": 1.0}),
]
NAN, INFINITY = float("nan"), float("inf")
#: By what an annotation names; all but the first take no boolean either.
BAD = {
    "bool": [1, 0.0, "true", [], NAN],
    "int": [-1, 1.5, NAN, INFINITY, "2", True, 2**40, 10**30, 1e300, [], {}],
    "float": [-1.0, NAN, INFINITY, -INFINITY, "2", True, 1e300, 10**30, [], {}],
}


def refused():
    """Objects, names of options, and values that they do not take."""
    for owner in OWNERS:
        for field in fields(owner):
            kind = str(field.type).split(" ")[0]
            for value in BAD.get(kind, []):
                if value is True and "bool" in str(field.type):
                    continue
                yield pytest.param(owner, field.name, value, id=f"{type(owner).__name__}-{field.name}-{value!r}")


@pytest.mark.parametrize(("owner", "option", "value"), list(refused()))
def test_every_number_and_flag_has_limits(owner, option, value):
    with pytest.raises(ValueError, match=option) as error:
        replace(owner, **{option: value})
    assert type(owner).__name__ in str(error.value)
    assert repr(value) in str(error.value)


def test_numbers_of_numpy_become_those_of_python():
    """They are compared, and written as JSON."""
    path = GraftingPath(steps=np.int64(3), max_features=np.int32(5), ridge=np.float32(0.5), retrain=np.bool_(False))
    assert path == GraftingPath(steps=3, max_features=5, ridge=0.5, retrain=False)
    assert {type(path.steps), type(path.max_features), type(path.ridge), type(path.retrain)} == {int, float, bool}
    assert type(CoordinateAscent(iterations=np.int64(5)).iterations) is int


@pytest.mark.parametrize("value", [[], [1.0, NAN], [1e300], ["2"], [True], "2", {"a": 1}, 0.0, INFINITY])
def test_refits_are_strengths(value):
    with pytest.raises(ValueError, match="GraftingPath: refit"):
        GraftingPath(refit=value)


@pytest.mark.parametrize("weight", [-1.0, NAN, INFINITY, 1e300, "2", True])
def test_weights_of_graphs(weight):
    with pytest.raises(ValueError, match=r"MergedGraphs: weights\.edges must be a number"):
        MergedGraphs({"edges": print}, {"edges": weight})


def test_graphs_are_given_by_name():
    with pytest.raises(ValueError, match="MergedGraphs: graphs must be builders by name, at least one, but are"):
        MergedGraphs([print])


@pytest.mark.parametrize("path", ["", None, 3, []])
@pytest.mark.parametrize("builder", [EdgeList, GraphFile])
def test_paths(builder, path):
    with pytest.raises(ValueError, match=f"{builder.__name__}: path must be the path of a file"):
        builder(path)


@pytest.mark.parametrize("path", ["", 3, [], "a\0b"])
@pytest.mark.parametrize("builder", [WordNet, SentiWordNet])
def test_paths_that_may_be_left_out(builder, path):
    with pytest.raises(ValueError, match=f"{builder.__name__}: path must be the path of a file or folder, but is"):
        builder(path)
    assert builder(None) == builder()


def test_reader_and_logger():
    for limit in BAD["int"]:
        with pytest.raises(ValueError, match="limit must be an integer of at least 0"):
            JsonlCorpus("train.jsonl", limit=limit)
    with pytest.raises(ValueError, match="progress_bar must be true or false"):
        console_logger(progress_bar="no")
    with pytest.raises(ValueError, match="EdgeList: virtual must be a string"):
        EdgeList("edges.tsv", virtual=3)


@pytest.mark.parametrize("option", ["degree", "min_df", "combination_penalty_factor"])
@pytest.mark.parametrize("value", [0, NAN, INFINITY, "2", True, None, 1e300])
def test_the_learner_without_spacy(option, value):
    with pytest.raises(ValueError, match=f"GraftClassifier: {option} must be .*{re.escape(repr(value))}"):
        GraftClassifier(**{option: value}).fit([{"a"}, {"b"}], [0, 1])


def test_every_registered_function_is_tried():
    tried = {type(owner).__name__ for owner in OWNERS}
    for registry in (graft_features, graft_learners, graft_graphs):
        ours = {name.split(".")[1] for name in registry.get_all() if name.startswith("spacy_graft.")}
        assert ours <= tried


def test_limits_belong_to_what_is_allowed():
    assert is_number_in(0, 0.0, 1.0)
    assert is_number_in(1, 0.0, 1.0)
    assert is_strength(LARGEST_STRENGTH)
    assert is_strength(5e-324)
    assert not is_strength(0)
    assert is_count(2**31 - 1)
    assert not is_count(2**31)
    assert not is_count(0)
    Grafting(l1=LARGEST_STRENGTH, ridge=LARGEST_STRENGTH, n_best=1_000_000)
    Grafting(l1=1, ridge=0, balance=1, n_best=None)


def test_numbers_of_half_precision():
    assert is_number_in(np.float16(1.0), 0.0, 1e100)
    assert not is_number_in(np.float32(2.0), 0.0, 1.0)
    assert not is_number_in(np.float64("nan"), 0.0, 1.0)
    assert not is_number_in(np.True_, 0.0, 1.0)
