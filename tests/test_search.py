"""The search against enumeration: the full pass and the pruned descent find the same, and what brute force finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive import stream_of
from spacy_graft.index.ngrams import NgramIndex
from spacy_graft.index.sums import sums_by_node
from spacy_graft.search.coarse import CoarseTree
from spacy_graft.search.descent import BoundedSearch, Descent
from spacy_graft.search.full_pass import best_by_pass
from spacy_graft.search.kernels import EQUAL, FREE, NodeQuery
from spacy_graft.search.request import SearchRequest
from spacy_graft.search.search import Search
from strategies import corpora


class Naive:
    """Every pair's ratio, from explicit columns."""

    def __init__(self, index, residuals, inverse_weights, row_of_node, active, signs=(1.0, 1.0)):
        """``signs``: 1 / the factors of positive and negative weights, as :func:`both_signs` takes them."""
        n_labels = residuals.shape[1]
        starts, documents, _ = index.columns(np.arange(index.n_nodes))
        self.ratios, self.sign_inverses = {}, {}
        for k in range(index.n_nodes):
            for y in range(n_labels):
                taken = row_of_node[k] == EQUAL or (row_of_node[k] >= 0 and active[row_of_node[k], y])
                if not taken:
                    value = residuals[documents[starts[k] : starts[k + 1]], y].sum()
                    columns = inverse_weights.shape[1]
                    inverse = inverse_weights[k, y if columns > 1 else 0] if columns else 1.0
                    self.sign_inverses[k, y] = both_signs(y + 1, *signs)[0 if value > 0.0 else 1, y]
                    self.ratios[k, y] = abs(value) * inverse * self.sign_inverses[k, y]

    def violating(self, threshold):
        return {pair: ratio for pair, ratio in self.ratios.items() if ratio > threshold}


def problem(texts, n_labels, weight_columns, seed):
    """Index, residuals that are multiples of 1/8 (sums are exact), weights and a few active pairs."""
    rng = np.random.default_rng(seed)
    index = NgramIndex.build(stream_of(texts), 1)
    residuals = rng.integers(-8, 9, (len(texts), n_labels)) / 8.0
    columns = {"none": 0, "shared": 1, "by label": n_labels}[weight_columns]
    inverse_weights = (2.0 ** rng.integers(-2, 3, (index.n_nodes, columns))).astype(np.float32)
    row_of_node = np.where(index.distinct, FREE, EQUAL).astype(np.int32)
    free = np.flatnonzero(index.distinct)
    rows = free[rng.random(len(free)) < 0.2]
    row_of_node[rows] = np.arange(len(rows))
    active = rng.random((len(rows), n_labels)) < 0.5
    active[:, 0] |= ~active.any(axis=1)  # a row is there for some label
    return index, residuals, inverse_weights, row_of_node, active


def both_signs(n_labels, *signs):
    """1 / the factors of the signs by label: of every second label in the other order."""
    signs = signs or (1.0, 1.0)
    return np.array([signs if y % 2 == 0 else signs[::-1] for y in range(n_labels)]).T.copy()


cases = {
    "texts": corpora(),
    "n_labels": st.sampled_from([1, 2, 3, 8, 9, 17]),
    "weights": st.sampled_from(["none", "shared", "by label"]),
    "threshold": st.sampled_from([0.0, 0.3, 1.0, 2.5]),
    "wanted": st.sampled_from([1, 3, 1000]),
    "seed": st.integers(0, 99),
}


def assert_same(found, naive, threshold, wanted, n_labels):
    violating = naive.violating(threshold)
    assert found.count == len(violating)
    expected = sorted(violating.items(), key=lambda item: (-item[1], item[0]))[:wanted]
    assert list(zip(found.nodes, found.labels, strict=True)) == [pair for pair, _ in expected]
    np.testing.assert_allclose(found.scaled_gradients, [ratio for _, ratio in expected])
    for y in range(n_labels):
        of_label = {pair: ratio for pair, ratio in violating.items() if pair[1] == y}
        assert found.peaks[y] == pytest.approx(max(of_label.values(), default=0.0))
        excess = [(ratio - threshold) / naive.sign_inverses[pair] for pair, ratio in of_label.items()]
        assert found.squared_excess[y] == pytest.approx(sum(e**2 for e in excess))


@given(**cases, signs=st.sampled_from([(1.0, 1.0), (1.0, 0.5), (0.0, 1.0), (0.25, 0.0)]))
def test_stream_finds_what_brute_force_finds(texts, n_labels, weights, threshold, wanted, seed, signs):
    index, residuals, inverse, rows, active = problem(texts, n_labels, weights, seed)
    query = NodeQuery(inverse, rows, active, threshold, wanted, n_labels, both_signs(n_labels, *signs))
    found = best_by_pass(index, residuals, query)
    assert_same(found, Naive(index, residuals, inverse, rows, active, signs), threshold, wanted, n_labels)


@given(**cases, moved=st.sampled_from([0.0, 0.125, 2.0]), remembers=st.booleans())
def test_descent_finds_what_brute_force_finds(texts, n_labels, weights, threshold, wanted, seed, moved, remembers):
    index, residuals, inverse, rows, active = problem(texts, n_labels, weights, seed)
    query = NodeQuery(inverse, rows, active, threshold, wanted, n_labels, both_signs(n_labels))
    descent = Descent(index, inverse)
    if remembers:
        descent.remember(residuals, query)
        rng = np.random.default_rng(seed)
        residuals = residuals + moved * rng.integers(-1, 2, residuals.shape)
    found = descent.best(residuals, query)
    assert_same(found, Naive(index, residuals, inverse, rows, active), threshold, wanted, n_labels)


@given(corpora(min_size=2), st.integers(0, 99))
def test_search_is_exact_over_rounds_of_moving_residuals(texts, seed):
    """Whatever strategy is chosen, and whatever was remembered when."""
    index, residuals, inverse, rows, active = problem(texts, 2, "none", seed)
    search = BoundedSearch(index, inverse, rows)
    rng = np.random.default_rng(seed)
    for moved in (1.0, 0.125, 0.0, 0.125, 1.0):
        residuals = residuals + moved * rng.integers(-1, 2, residuals.shape)
        found = search.best(
            SearchRequest(residuals=residuals, min_gradient=0.5, n_best=5, active=active, degree=1, count_all=True)
        )
        assert_same(found, Naive(index, residuals, inverse, rows, active), 0.5, 5, 2)


class SoonCoarse(Search):
    PASSES_BEFORE_COARSE = 3


@given(
    corpora(min_size=2), st.sampled_from([1, 9]), st.sampled_from(["none", "shared", "by label"]), st.integers(0, 99)
)
def test_search_is_exact_without_the_nodes_that_are_too_rare(texts, n_labels, weights, seed):
    """Over rounds in which the threshold lets rare nodes be left out, from some round on, and then no longer."""
    texts = [*texts * 3, "xyz"]
    index, residuals, inverse, rows, active = problem(texts, n_labels, weights, seed)
    search = SoonCoarse(index, inverse, rows)
    scale = np.abs(residuals).max() * max(inverse.max(initial=0.0), 1.0)
    rng = np.random.default_rng(seed)
    for threshold in [1.0] * SoonCoarse.PASSES_BEFORE_COARSE + [0.0, 1.5, 3.0, 3.5, 30.0, 5.0, 3.0, 0.5, 1.0]:
        residuals = rng.permuted(np.abs(residuals), axis=0)
        found = search.best(
            SearchRequest(
                residuals=residuals, min_gradient=threshold * scale, n_best=5, active=active, degree=1, count_all=True
            )
        )
        assert_same(found, Naive(index, residuals, inverse, rows, active), threshold * scale, 5, n_labels)


def test_a_coarse_tree_is_made_after_many_passes_and_made_again_when_it_does_not_fit():
    texts = ["ab", "abc", "abd", "abcd", "bcd", "abce"] * 4
    index, _, inverse, rows, active = problem(texts, 1, "none", 0)
    search = SoonCoarse(index, inverse, rows)
    rng = np.random.default_rng(0)
    later = [(12.0, 8), (8.0, 8), (7.0, 4), (20.0, 4), (0.5, 1), (9.0, 6)]
    for threshold, min_df in [*[(12.0, None)] * SoonCoarse.PASSES_BEFORE_COARSE, *later]:
        residuals = rng.permutation(np.linspace(-1.0, 1.0, len(texts)))[:, None]
        search.best(
            SearchRequest(
                residuals=residuals, min_gradient=threshold, n_best=5, active=active, degree=1, count_all=True
            )
        )
        assert (search.coarse.min_df if search.coarse else None) == min_df


@given(corpora(min_size=1), st.sampled_from([1, 2, 3]))
def test_a_coarse_tree_has_all_frequent_features_with_their_documents_and_no_event_too_many(texts, min_df):
    texts = [*texts, *texts[::2]]
    index = NgramIndex.build(stream_of(texts), 1)
    coarse = CoarseTree.build(index, np.empty((index.n_nodes, 0), np.float32), min_df, index.distinct)
    assert set(np.flatnonzero(index.distinct & (index.df >= min_df))) <= set(coarse.nodes)
    tree = coarse.ranged.tree
    assert (tree.df >= min_df).all()
    values = np.random.default_rng(0).integers(-8, 9, (len(texts), 2)).astype(float)
    np.testing.assert_array_equal(sums_by_node(coarse, len(coarse.nodes), values), index.sums(values)[coarse.nodes])
    bounds, events = tree.bounds, tree.events
    for k in range(len(coarse.nodes)):
        adds, cancels = (set(events[bounds[run] : bounds[run + 1]]) for run in (2 * k, 2 * k + 1))
        assert not adds & cancels


@pytest.mark.parametrize("descends", [False, True])
def test_more_candidates_than_room_keep_the_best(descends):
    """Enough violations that the room is full many times over, most of them ties."""
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("abcdefgh"), 400)) for _ in range(40)]
    index, residuals, inverse, rows, active = problem(texts, 3, "none", 1)
    query = NodeQuery(inverse, rows, active, 0.0, 50, 3, both_signs(3))
    found = Descent(index, inverse).best(residuals, query) if descends else best_by_pass(index, residuals, query)
    assert found.count > 4096
    assert_same(found, Naive(index, residuals, inverse, rows, active), 0.0, 50, 3)
