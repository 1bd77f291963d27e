"""Ties: of equal columns and equal ratios it is settled which one counts, so that every run gives the same model."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from naive import stream_of
from spacy_graft.index.ngrams import NgramIndex
from spacy_graft.search.combinations import CombinationSearch
from spacy_graft.search.descent import Descent
from spacy_graft.search.full_pass import best_by_pass
from spacy_graft.search.kernels import NodeQuery
from spacy_graft.search.request import SearchRequest
from spacy_graft.search.violations import Candidates
from strategies import corpora
from test_combinations import SmallRoom, index_of, weights_of
from test_index import text_of
from test_search import Naive, assert_same, problem

#: Keys wrap around; uncompiled, numpy says so.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar")


# Which n-gram names a column


@pytest.mark.parametrize("texts", [["b a", "a b", "c"], ["a b", "b a", "c"]])
def test_the_name_does_not_depend_on_what_occurs_first(texts):
    """Blank, "a" and "b" are in the same documents; none of their extensions is in as many."""
    index = NgramIndex.build(stream_of(texts), 2)
    (node,) = np.flatnonzero(index.distinct)
    assert text_of(index.ngrams([node]).document(0)) == text_of(index.longest_ngrams([node]).document(0)) == " "


# Which pairs a search gives


@given(
    texts=corpora(min_size=2),
    n_labels=st.sampled_from([1, 3, 9]),
    threshold=st.sampled_from([0.0, 0.3, 1.0]),
    wanted=st.sampled_from([1, 2, 5]),
    seed=st.integers(0, 99),
)
def test_where_room_is_short_equal_ratios_are_kept_by_node_and_label(texts, n_labels, threshold, wanted, seed):
    """By a pass, which meets labels eight at a time, and by a descent, which meets the last nodes first."""
    index, residuals, inverse, rows, active = problem(texts, n_labels, "none", seed)
    query = NodeQuery(inverse, rows, active, threshold, wanted, n_labels, np.ones((2, n_labels)))
    naive = Naive(index, residuals, inverse, rows, active)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Candidates, "ROOM", 2)
        patch.setattr(Candidates, "SMALLEST_ROOM", 2)
        assert_same(best_by_pass(index, residuals, query), naive, threshold, wanted, n_labels)
        assert_same(Descent(index, inverse).best(residuals, query), naive, threshold, wanted, n_labels)


def request(residuals: np.ndarray, min_gradient: float, n_best: int, degree: int) -> SearchRequest:
    """All sums are wanted, and no pair is in the model."""
    active = np.empty((0, residuals.shape[1]), bool)
    return SearchRequest(
        residuals=residuals, min_gradient=min_gradient, n_best=n_best, active=active, degree=degree, count_all=True
    )


@given(
    n_labels=st.integers(1, 3),
    degree=st.sampled_from([2, 3]),
    threshold=st.sampled_from([0.0, 0.25, 0.5]),
    wanted=st.sampled_from([1, 3, 7]),
    alike=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_where_room_is_short_equal_products_are_kept_by_code_and_label(
    n_labels, degree, threshold, wanted, alike, seed
):
    """Labels with the same residuals, where ``alike``, have the same ratios."""
    rng = np.random.default_rng(seed)
    matrix = (rng.random((20, 5)) < 0.7).astype(float)
    chosen = [originals for size in range(1, degree + 1) for originals in combinations(range(5), size)]
    columns = [matrix[:, originals].prod(axis=1).tobytes() for originals in chosen]
    # Of equal columns the name depends on which of them are met, and with it the order.
    assume(len(set(columns)) == len(columns))
    residuals = np.repeat(rng.integers(-1, 2, (20, 1 if alike else n_labels)) / 4.0, n_labels if alike else 1, axis=1)
    index = index_of(matrix)
    found = []
    for search_type, n in ((CombinationSearch, 1000), (SmallRoom, wanted)):
        search = search_type(index, index.keys, weights_of("none", 1.0, 1.0, np.ones((20, n_labels))), degree, 1)
        violations, keys = search.best(request(residuals, threshold, n, degree), np.empty(0, np.int64))
        found.append([*zip(violations.nodes, violations.labels, violations.scaled_gradients, keys, strict=True)])
    every, best = found
    assert every == sorted(every, key=lambda pair: (-pair[2], pair[0], pair[1]))
    assert best == every[:wanted]


@pytest.mark.parametrize("search_type", [CombinationSearch, SmallRoom])
@given(seed=st.integers(0, 2**16), count_all=st.booleans(), wanted=st.integers(1, 3))
def test_the_peak_of_a_label_is_known_whatever_is_found_for_others(search_type, seed, count_all, wanted):
    """The gap of a label that is a problem of its own needs it."""
    rng = np.random.default_rng(seed)
    matrix = (rng.random((20, 5)) < 0.7).astype(float)
    residuals = rng.integers(-2, 3, (20, 4)) / np.array([1.0, 2.0, 4.0, 8.0])
    index = index_of(matrix)

    def peaks_of(labels):
        weights = weights_of("none", 1.0, 1.0, np.ones((20, labels.stop - labels.start)))
        asked = replace(request(residuals[:, labels], 0.1, wanted, 2), count_all=count_all)
        return search_type(index, index.keys, weights, 2, 1).best(asked, np.empty(0, np.int64))[0].peaks

    alone = [peaks_of(slice(label, label + 1))[0] for label in range(4)]
    together = peaks_of(slice(0, 4))
    # Below the limit of the labels before, what is counted may be a single feature's column as well.
    assert (together >= np.array(alone) * (1.0 - 1e-12)).all()
    if not count_all:
        np.testing.assert_allclose(together, alone, rtol=1e-12)


@pytest.mark.parametrize("search_type", [CombinationSearch, SmallRoom])
def test_a_ratio_of_just_the_threshold_violates_nothing(search_type):
    """Of products; of n-grams, where the model becomes empty is a test of its own."""
    matrix = np.array([[1, 1], [1, 1], [1, 0], [0, 1], [0, 0]], float)
    residuals = np.array([[0.25], [0.25], [-0.25], [-0.25], [0.0]])
    index = index_of(matrix)
    search = search_type(index, index.keys, weights_of("none", 1.0, 1.0, np.ones((5, 1))), 2, 1)
    for threshold, n in ((0.49, 1), (0.5, 0)):
        found, _ = search.best(request(residuals, threshold, 10, 2), np.empty(0, np.int64))
        assert (found.count, len(found.nodes)) == (n, n)
        assert found.peaks[0] == 0.5 * n
