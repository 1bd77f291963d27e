"""The same model, bit for bit, wherever its indexes are: every kind of block, products, networks, dense columns."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_graft.graft.settings import Grafting, GraftingPath
from spacy_graft.graft.start import start
from spacy_graft.index import ngrams, on_disk, sums
from spacy_graft.index.places import InMemory, OnDisk
from strategies import dense_data, labelled, stream_of, training_data
from test_graft import run
from test_graft_combinations import both_blocks
from test_graft_network import network_over, vertices_of

few = settings(max_examples=min(20, settings().max_examples))


def state_of(learner, data, place):
    fit = run(learner, replace(data, place=place))
    space, active = fit.rounds.state.space, fit.rounds.state.active
    return [
        np.array([fit.report.duality_gap, fit.report.objective]),
        active.weights,
        active.rows,
        active.labels,
        space.blocks,
        space.nodes,
    ]


def assert_same_everywhere(learner, data, folder):
    expected = state_of(learner, data, InMemory(1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ngrams, "SMALLEST_PIECE", 1)
        patch.setattr(on_disk, "SHARD_SIZE", 12)
        for range_, place in ((80, InMemory(2)), (150, InMemory(4)), (100, InMemory(8)), (90, OnDisk(2, str(folder)))):
            patch.setattr(sums, "RANGE", range_)
            for found, those in zip(state_of(learner, data, place), expected, strict=True):
                np.testing.assert_array_equal(found, those)


def test_the_longest_stream_is_indexed_first_whatever_the_order_of_blocks(monkeypatch):
    lengths, index = [], InMemory.index

    def noted(place, stream, *options):
        lengths.append(len(stream.symbols))
        return index(place, stream, *options)

    monkeypatch.setattr(InMemory, "index", noted)
    names, corpora = ("short", "long"), (["ab", "ca"], ["abcab", "cabba"])
    data = replace(
        training_data(corpora[0], np.eye(2)),
        streams={name: stream_of(texts) for name, texts in zip(names, corpora, strict=True)},
        min_df=dict.fromkeys(names, 1),
        max_length=dict.fromkeys(names),
        penalty_factors=dict.fromkeys(names, 1.0),
    )
    fit = start(Grafting(l1=0.2), data)
    assert lengths == [10, 4]
    assert [part.name for part in fit.rounds.state.space.parts] == ["short", "long"]


def test_threads_are_no_more_than_the_environment_allows(monkeypatch):
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    cores = InMemory().n_threads
    for limit, expected in (("1", 1), (str(cores + 1), cores), ("0", cores), ("many", cores)):
        monkeypatch.setenv("NUMBA_NUM_THREADS", limit)
        assert InMemory().n_threads == expected
    assert InMemory(3).n_threads == 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("indexes")


weighted = st.sampled_from(["none", "ratio_idf", "standard"])


@few
@given(corpus=labelled(labels=3), weights=weighted, power=st.sampled_from([0.0, 0.5]), exclusive=st.booleans())
def test_ngrams(folder, corpus, weights, power, exclusive):
    texts, targets = corpus
    data = training_data(texts, targets, exclusive)
    assert_same_everywhere(Grafting(l1=0.2, tol=1e-6, penalty_weights=weights, ngram_power=power), data, folder)


@few
@given(corpus=labelled(), value=st.sampled_from(["binary", "log_count"]), degree=st.integers(2, 3))
def test_items_and_products(folder, corpus, value, degree):
    texts, targets = corpus
    assert_same_everywhere(Grafting(l1=0.2, tol=1e-6), both_blocks(texts, targets, value, degree), folder)


@few
@given(corpus=labelled(), seed=st.integers(0, 100))
def test_a_network(folder, corpus, seed):
    texts, targets = corpus
    network = network_over(texts, vertices_of(texts, seed), 2, seed)
    data = replace(training_data(texts, targets), network=network)
    assert_same_everywhere(Grafting(l1=0.2, ridge=0.5, network_alpha=0.7, tol=1e-6), data, folder)


@few
@given(corpus=labelled(), seed=st.integers(0, 100))
def test_dense_columns(folder, corpus, seed):
    texts, targets = corpus
    columns = np.random.default_rng(seed).normal(size=(len(texts), 3))
    data = replace(training_data(texts, targets), vectors=dense_data(columns))
    assert_same_everywhere(Grafting(l1=0.2, tol=1e-6, vectors_ridge=2.0), data, folder)


@few
@given(corpus=labelled(labels=3))
def test_a_path(folder, corpus):
    texts, targets = corpus
    learner = GraftingPath(steps=5, l1_min_ratio=0.05, ridge=1.0, refit=2.0, tol=1e-5)
    assert_same_everywhere(learner, training_data(texts, targets), folder)
