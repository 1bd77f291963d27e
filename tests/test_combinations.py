"""The search over products against enumeration of all pairs and triples."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive import inverse_weight
from spacy_graft.extract.bags import Bags
from spacy_graft.extract.streams import Stream
from spacy_graft.index.columns import column_numbers
from spacy_graft.index.item_kernels import column_keys
from spacy_graft.index.items import ItemIndex
from spacy_graft.search.combinations import CombinationSearch, LabelPenaltyWeights, members
from spacy_graft.search.request import SearchRequest
from spacy_graft.search.weighting import ROUNDING, Weighting, scaled_bound_below

#: Keys wrap around; uncompiled, numpy says so.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar")

KINDS = ("none", "idf", "standard", "ratio", "ratio_idf")


@st.composite
def matrices(draw, real):
    """Dense columns of originals, values dyadic so that sums and products are exact."""
    n_documents, n_items = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    values = st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0] if real else [0.0, 1.0])
    row = st.lists(values, min_size=n_items, max_size=n_items)
    rows = draw(st.lists(row, min_size=n_documents, max_size=n_documents))
    return np.array(rows)


def index_of(matrix):
    """The index of dense columns."""
    starts = np.concatenate([[0], np.cumsum((matrix != 0.0).sum(axis=0))])
    documents = np.nonzero(matrix.T)[1].astype(np.int32)
    values = matrix.T[matrix.T != 0.0]
    values = np.empty(0) if (values == 1.0).all() else values
    return ItemIndex(np.arange(matrix.shape[1]), starts, documents, values, len(matrix))


class Naive:
    """All products of two or three columns, by classes of equal ones, or each by itself."""

    def __init__(self, matrix, degree, min_df, taken, copies=False):
        self.columns, self.names = [], []
        seen = {column.tobytes() for column in taken.T}
        for size in range(2, degree + 1):
            for chosen in combinations(range(matrix.shape[1]), size):
                column = matrix[:, chosen].prod(axis=1)
                if (column != 0.0).sum() >= max(min_df, 1) and (copies or column.tobytes() not in seen):
                    seen.add(column.tobytes())
                    self.columns.append(column)
                    self.names.append(chosen)

    def violating(self, residuals, inverse, threshold, sign_factors):
        """Ratio of each (name, label) above the threshold; keeps the factors of their signs."""
        found, self.factors = {}, {}
        for k, column in enumerate(self.columns):
            for y in range(residuals.shape[1]):
                gradient = column @ residuals[:, y]
                factor = sign_factors[0 if gradient > 0.0 else 1]
                self.factors[self.names[k], y] = factor
                ratio = abs(gradient) / factor * inverse(column, y)
                if ratio > threshold:
                    found[self.names[k], y] = ratio
        return found


def peaks_and_excess(violating, factors, threshold, n_labels):
    """Of each label the largest ratio, and the sum of squared excesses."""
    by_label = [{pair: ratio for pair, ratio in violating.items() if pair[1] == label} for label in range(n_labels)]
    excess = [sum((factors[p] * (ratio - threshold)) ** 2 for p, ratio in ratios.items()) for ratios in by_label]
    return [max(ratios.values(), default=0.0) for ratios in by_label], np.array(excess)


def weights_of(kind, power, factor, membership):
    weights = []
    for inside in membership.T:
        totals = float(inside.sum()), float((1.0 - inside).sum())
        weighting = Weighting(KINDS.index(kind), power, factor, len(membership), *totals)
        shares = np.stack([inside, 1.0 - inside], axis=1) if kind in ("idf", "ratio", "ratio_idf") else np.empty((0, 2))
        weights.append(LabelPenaltyWeights(weighting, shares))
    return weights


@pytest.mark.parametrize("real", [False, True])
@given(data=st.data(), seed=st.integers(0, 2**16))
def test_no_column_below_exceeds_the_bound_of_standard(real, data, seed):
    """Every product of other columns, and every other column over some of the documents, with values up to 1."""
    matrix = data.draw(matrices(real))
    rng = np.random.default_rng(seed)
    residuals = rng.normal(size=len(matrix))
    weighting = Weighting(KINDS.index("standard"), 0.5, 2.0, len(matrix), 0.0, 0.0)
    others = rng.random((len(matrix), 6)) ** [1, 1, 1, 9, 9, 9] if real else rng.integers(0, 2, (len(matrix), 6))
    factors = np.hstack([matrix, matrix.prod(axis=1)[:, None], others, np.ones_like(matrix)])
    for column in matrix.T:
        present = column != 0.0
        largest = max(column @ np.maximum(residuals, 0.0), column @ np.maximum(-residuals, 0.0))
        squares = (residuals[present] ** 2).sum()
        bound = scaled_bound_below(weighting, largest, 1, float(present.sum()), squares, not real)
        below = column[:, None] * factors
        scaled = [2.0 * abs(part @ residuals) * inverse_weight("standard", part, residuals, 0.5) for part in below.T]
        assert max(scaled) <= bound * (1.0 + 1e-9)


def test_the_bound_of_standard_is_reached():
    """By documents of equal residuals, which the limit of 1/λ alone would bound by ten times as much."""
    column, residuals = np.repeat([1.0, 0.0], [50, 50]), np.repeat([0.5, -0.5], [50, 50])
    weighting = Weighting(KINDS.index("standard"), 0.5, 1.0, 100, 0.0, 0.0)
    scaled = column @ residuals * inverse_weight("standard", column, residuals, 0.5)
    assert scaled_bound_below(weighting, column @ residuals, 1, 50.0, 12.5, True) == pytest.approx(scaled)


@given(data=st.data(), degree=st.sampled_from([2, 3]), seed=st.integers(0, 2**16))
def test_products_of_small_values_compete_if_standardised(data, degree, seed):
    """Values in other units change no |v| / λ, though those of products become smaller with each factor.

    Which columns are equal may change: a factor of 1 makes an equal product, one of less does not.
    """
    matrix = data.draw(matrices(real=True))
    rng = np.random.default_rng(seed)
    request = SearchRequest(
        residuals=rng.integers(-8, 9, (len(matrix), 1)) / 8.0, min_gradient=0.3, n_best=1000,
        active=np.empty((0, 1), np.bool_), degree=degree, count_all=True, sign_factors=(1.0, 1.0),
    )  # fmt: skip
    weights = weights_of("standard", 1.0, 1.0, np.ones((len(matrix), 1)))
    found = []
    for scale in (1.0, 2.0**-6):
        index = index_of(matrix * scale)
        search = CombinationSearch(index, np.empty(0, np.int64), weights, degree, 1)
        found.append(search.best(request, np.empty(0, np.int64))[0])
    large, small = ({members(c): v for c, v in zip(f.nodes, f.scaled_gradients, strict=True)} for f in found)
    assert {name: small[name] for name in large} == pytest.approx(large, rel=1e-9)
    assert max(small.values(), default=0.0) == pytest.approx(max(large.values(), default=0.0), rel=1e-9)


def standardised_search(matrix, residuals, **options):
    """The pairs of columns above 0.1 under ``standard``."""
    weights = weights_of("standard", 1.0, 1.0, np.ones(residuals.shape))
    search = CombinationSearch(index_of(matrix), np.empty(0, np.int64), weights, 2, 1)
    none = np.empty((0, residuals.shape[1]), np.bool_)
    request = SearchRequest(residuals=residuals, min_gradient=0.1, active=none, degree=2, count_all=True, **options)
    return search.best(request, np.empty(0, np.int64))[0]


def test_small_products_are_found_whatever_the_residuals_left_are_rounded_to():
    # 0.3 + 0.2 + 0.1, less each of them, is below 0, and by more than products of these values add up to.
    residuals = np.array([[0.3], [0.2], [0.1], [0.0]])
    presence = np.array([1.0, 1.0, 1.0, 0.0])
    found = standardised_search(3e-9 * np.stack([presence, presence], axis=1), residuals, n_best=1)
    # In units of its deviation, a product of 9e-18 is one of 1.
    expected = presence @ residuals[:, 0] / presence.std()
    np.testing.assert_allclose(found.scaled_gradients, [expected])


def test_products_without_variance_whose_sign_no_pair_may_get_are_not_counted():
    # Of the second label the first product has a gradient below 0, and next to the first label it is not looked at.
    matrix = np.array([[0.5, 0.5, 1.0, 1.0], [0.5, 0.5, 1.0, 1.0], [0.5, 0.5, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0]])
    residuals = np.array([[1000.0, -1.0], [1000.0, -1.0], [0.0, -3.0], [0.0, -3.0]])
    found = standardised_search(matrix, residuals, n_best=1, sign_factors=(1.0, np.inf))
    assert found.labels.tolist() == [0]
    assert found.peaks[1] == found.squared_excess[1] == 0.0


class SmallRoom(CombinationSearch):
    """So few candidates at a time that the best must be chosen again and again."""

    ROOM, SMALLEST_ROOM = 2, 4


@pytest.mark.parametrize("real", [False, True])
@given(
    data=st.data(),
    degree=st.sampled_from([2, 3]),
    n_labels=st.integers(1, 3),
    kind=st.sampled_from(KINDS),
    threshold=st.sampled_from([0.0, 0.3, 1.0]),
    wanted=st.sampled_from([1, 3, 1000]),
    min_df=st.sampled_from([1, 1, 2]),
    complete=st.booleans(),
    search_type=st.sampled_from([CombinationSearch, SmallRoom]),
    sign_factors=st.sampled_from([(1.0, 1.0), (1.0, 1.0), (2.0, 1.0), (1.0, np.inf)]),
    seed=st.integers(0, 2**16),
)
def test_search_finds_what_enumeration_finds(
    real, data, degree, n_labels, kind, threshold, wanted, min_df, complete, search_type, sign_factors, seed
):
    matrix = data.draw(matrices(real))
    rng = np.random.default_rng(seed)
    residuals = rng.integers(-8, 9, (len(matrix), n_labels)) / 8.0
    # Documents that are certain.
    residuals[rng.random(len(matrix)) < 0.2] = 0.0
    membership = rng.integers(0, 2, (len(matrix), n_labels)).astype(np.float64)
    index = index_of(matrix)
    search = search_type(index, index.keys, weights_of(kind, 0.5, 2.0, membership), degree, min_df)
    naive = Naive(matrix, degree, min_df, matrix)

    def inverse(column, label):
        return 2.0 * inverse_weight(kind, column, membership[:, label], 0.5)

    every = naive.violating(residuals, inverse, threshold, sign_factors)
    active_names = [name for name in naive.names if rng.random() < 0.2]
    active = rng.random((len(active_names), n_labels)) < 0.5
    expected = {
        (name, y): ratio
        for (name, y), ratio in every.items()
        if not (name in active_names and active[active_names.index(name), y])
    }
    keys = keys_of([naive.columns[naive.names.index(name)] for name in active_names], len(matrix))
    found, found_keys = search.best(
        SearchRequest(
            residuals=residuals,
            min_gradient=threshold,
            n_best=wanted,
            active=active,
            degree=degree,
            count_all=complete,
            sign_factors=sign_factors,
        ),
        keys,
    )

    pairs = {
        (members(code), y): ratio
        for code, y, ratio in zip(found.nodes, found.labels, found.scaled_gradients, strict=True)
    }
    assert len(pairs) == min(wanted, len(expected))
    for pair, ratio in pairs.items():
        assert ratio == pytest.approx(expected[pair], rel=1e-12)
    np.testing.assert_allclose(found.scaled_gradients, sorted(expected.values(), reverse=True)[:wanted], rtol=1e-12)
    peaks, excess = peaks_and_excess(expected, naive.factors, threshold, n_labels)
    assert found.peaks.max() == pytest.approx(max(peaks), rel=1e-12)
    # Never less than it is: the certificate would promise too much.
    assert (found.squared_excess >= excess * (1.0 - 1e-9)).all()
    if complete and search_type is CombinationSearch:
        # What cannot be among the best, by what other labels have, is counted as it is bounded: without a look at
        # columns that are equal, and where λ is a deviation, without their largest value.
        copies = Naive(matrix, degree, 1, matrix, copies=True)
        of_copies = copies.violating(residuals, inverse, threshold, sign_factors)
        _, most = peaks_and_excess(of_copies, copies.factors, threshold, n_labels)
        assert (real and kind == "standard") or (found.squared_excess <= most * (1.0 + 3 * ROUNDING)).all()
    if complete and search_type is CombinationSearch and (n_labels == 1 or wanted > len(expected)):
        # Under "standard", what cannot be among the best has its bound, which is larger by a rounding.
        np.testing.assert_allclose(found.squared_excess, excess, rtol=3 * ROUNDING)
        np.testing.assert_allclose(found.peaks, peaks, rtol=2 * ROUNDING if kind == "standard" else 1e-12)
    np.testing.assert_array_equal(found_keys, search.of_codes(found.nodes)[3])


def keys_of(columns, n_documents):
    """Keys of dense columns."""
    if not columns:
        return np.empty(0, np.int64)
    index = index_of(np.array(columns).T)
    return column_keys(index.starts, index.documents, index.values, column_numbers(n_documents))


@pytest.mark.parametrize("real", [False, True])
@given(data=st.data())
def test_columns_of_products_are_products_of_columns(real, data):
    matrix = data.draw(matrices(real))
    index = index_of(matrix)
    search = CombinationSearch(index, index.keys, weights_of("none", 1.0, 1.0, np.ones((len(matrix), 1))), 3, 1)
    chosen = [c for size in (2, 3) for c in combinations(range(matrix.shape[1]), size)]
    codes = np.array([code_of(c) for c in chosen], np.int64)
    starts, documents, values, _ = search.of_codes(codes)
    for r, originals in enumerate(chosen):
        assert members(codes[r]) == originals
        column = np.zeros(len(matrix))
        entries = slice(starts[r], starts[r + 1])
        column[documents[entries]] = values[entries] if len(values) else 1.0
        np.testing.assert_array_equal(column, matrix[:, originals].prod(axis=1))


def code_of(originals):
    a, b, c = (*originals, -1)[:3]
    return (a + 1) << 42 | (b + 1) << 21 | (c + 1)


@pytest.mark.parametrize("value", ["binary", "log_count", "tf_idf"])
@given(texts=st.lists(st.text("abc", max_size=8), min_size=1, max_size=6), min_df=st.sampled_from([1, 2]))
def test_bags_are_worth_what_the_formula_says(value, texts, min_df):
    stream = Stream.join([np.array([ord(c) for c in text], np.uint32) for text in texts], np.uint32)
    bags = Bags.of_stream(stream, min_df, value)
    counts = np.array([[text.count(c) for c in "abc"] for text in texts], np.float64)
    df = (counts > 0).sum(axis=0)
    kept = df >= min_df
    if value == "binary":
        expected = (counts > 0).astype(np.float64)
    elif value == "log_count":
        expected = unit_rows(np.where(counts > 0, 1.0 + np.log(np.maximum(counts, 1.0)), 0.0))
    else:
        idf = np.log((1.0 + len(texts)) / (1.0 + df)) + 1.0
        expected = unit_rows(counts * idf * kept)
    dense = np.zeros((len(texts), bags.n_items))
    for i in range(len(texts)):
        entries = slice(bags.starts[i], bags.starts[i + 1])
        dense[i, bags.items[entries]] = bags.values[entries] if len(bags.values) else 1.0
    assert [chr(symbol) for symbol in bags.symbols] == [c for c, its in zip("abc", kept, strict=True) if its]
    np.testing.assert_allclose(dense, expected[:, kept], atol=1e-15)
    assert (dense >= 0.0).all()
    assert (dense <= 1.0).all()


def unit_rows(matrix):
    norms = np.sqrt((matrix**2).sum(axis=1, keepdims=True))
    return matrix / np.where(norms > 0.0, norms, 1.0)
