"""Permutation tests against enumerated permutations and plain NumPy."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from spacy_graft.extract.streams import Stream
from spacy_graft.index.items import ItemIndex
from spacy_graft.index.ngrams import NgramIndex
from spacy_graft.matrices import bags_of
from spacy_graft.permutation import contrasts, kernels
from spacy_graft.permutation.contrasts import Contrast, Orders
from spacy_graft.permutation.permutations import (
    ColumnStatistics,
    PermutationTest,
    add_permutations,
    bins_of,
    permutation_test,
    rates_of_labels,
    statistics,
)

RNG_SEEDS = range(6)


def text_index(texts: list[str], min_df: int = 1) -> NgramIndex:
    parts = [np.frombuffer(text.encode("utf-32-le"), np.uint32) for text in texts]
    return NgramIndex.build(Stream.join(parts, np.uint32), min_df)


def item_index(values: np.ndarray) -> ItemIndex:
    import scipy.sparse

    return ItemIndex.build(bags_of(scipy.sparse.csr_array(values), 1))


def dense(index: NgramIndex | ItemIndex) -> np.ndarray:
    """All columns written out: (documents, nodes)."""
    starts, documents, values = index.columns(np.arange(index.n_nodes))
    matrix = np.zeros((index.n_documents, index.n_nodes))
    of = np.repeat(np.arange(index.n_nodes), np.diff(starts))
    matrix[documents, of] = values if len(values) else 1.0
    return matrix


def random_texts(rng: np.random.Generator, n: int) -> list[str]:
    return ["".join(rng.choice(list("abc"), rng.integers(0, 6))) for _ in range(n)]


def random_contrast(rng: np.random.Generator, n: int, n_strata: int = 2) -> Contrast:
    targets = rng.choice([0.0, 1.0, 0.25], n)
    return Contrast.of(targets, rng.random(n) < 0.8, rng.integers(0, n_strata, n))


@pytest.mark.parametrize("seed", RNG_SEEDS)
@pytest.mark.parametrize("kind", ["texts", "values"])
def test_variance_is_that_of_all_permutations(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    n = 6
    index = text_index(random_texts(rng, n)) if kind == "texts" else item_index(rng.random((n, 3)).round(1))
    contrast = random_contrast(rng, n)
    matrix = dense(index)
    sums = [
        contrast.values[list(order)] @ matrix
        for order in permutations(range(n))
        if (contrast.strata[list(order)] == contrast.strata).all()
    ]
    np.testing.assert_allclose(np.mean(sums, axis=0), 0.0, atol=1e-12)
    sigma = np.std(sums, axis=0)
    tested = rng.random(index.n_nodes) < 0.8
    expected = np.where(tested & (sigma > 1e-9), 1.0 / np.maximum(sigma, 1e-9), 0.0)
    np.testing.assert_allclose(contrast.scales(index, tested), expected, rtol=1e-9)


@pytest.mark.parametrize("seed", RNG_SEEDS)
def test_columns_far_from_zero_vary_by_what_they_vary_by(seed: int) -> None:
    """Exactly, in fractions; sparse columns and those that are 0 in some strata included."""
    rng = np.random.default_rng(seed)
    contrast = random_contrast(rng, 30)
    values = 1.7e9 * np.array([1, 1, 1, -1, 0, 1]) + np.array([1e3, 10, 1e3, 1e3, 1, 0]) * rng.normal(size=(30, 6))
    values[rng.random(30) < 0.5, 1] = 0.0
    values[contrast.strata == 1, 2] = 0.0
    values[contrast.strata == 1, 3] += 1e9
    index = contrast.shifted(item_index(values))
    z, variance = [Fraction(0)] * 6, [Fraction(0)] * 6
    for stratum in np.flatnonzero(contrast.variances):
        inside = contrast.strata == stratum
        label = [Fraction(value) for value in contrast.values[inside].tolist()]
        mean_label = sum(label) / len(label)
        spread = sum((value - mean_label) ** 2 for value in label) / (len(label) - 1)
        for k, column in enumerate(values[inside].T.tolist()):
            exact = [Fraction(value) for value in column]
            mean = sum(exact) / len(exact)
            z[k] += sum(x * (c - mean_label) for x, c in zip(exact, label, strict=True))
            variance[k] += spread * sum((x - mean) ** 2 for x in exact)
    scales = contrast.scales(index, np.ones(6, np.bool_))
    assert scales[5] == variance[5] == 0  # constant
    expected = [float(z[k]) / float(variance[k]) ** 0.5 for k in range(5)]
    np.testing.assert_allclose(statistics(index, contrast, scales)[:5], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("scale", [2.0**-600, 2.0**600])
def test_columns_of_any_size_are_tested(scale: float) -> None:
    rng = np.random.default_rng(0)
    contrast, values = random_contrast(rng, 20), rng.random((20, 3)).round(1)
    z = []
    for columns in (values, values * scale):
        index = contrast.shifted(item_index(columns))
        z.append(statistics(index, contrast, contrast.scales(index, np.ones(3, np.bool_))))
    assert z[0].all()
    np.testing.assert_array_equal(z[0], z[1])


def permuted(contrast: Contrast, n_permutations: int, seed: int) -> np.ndarray:
    orders = Orders(n_permutations, seed).within(contrast.strata)
    return np.concatenate([contrast.permuted(some) for _, some in orders], axis=1)


@pytest.mark.parametrize("room", [0, contrasts.KEPT_ORDERS])
def test_orders_are_those_of_the_strata(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether those of an earlier label are kept or not, and whatever strata it had."""
    monkeypatch.setattr(contrasts, "KEPT_ORDERS", room)
    rng = np.random.default_rng(0)
    strata = [rng.integers(0, 3, 40), rng.integers(0, 3, 40)]
    drawn = Orders(100, 5)
    for of_label in (strata[0], strata[0].copy(), strata[1], strata[0]):
        orders = np.concatenate([some for _, some in drawn.within(of_label)])
        expected = np.concatenate([some for _, some in Orders(100, 5).within(of_label)])
        np.testing.assert_array_equal(orders, expected)
        assert (of_label[orders] == np.sort(of_label)).all()
        assert (np.sort(orders, axis=1) == np.arange(40)).all()


@pytest.mark.parametrize("n_strata", [1, 20])
def test_permuted_values_stay_in_their_strata(n_strata: int) -> None:
    rng = np.random.default_rng(0)
    contrast = random_contrast(rng, 50, n_strata)
    ((_, orders),) = Orders(7, 0).within(contrast.strata)
    shuffled = contrast.permuted(orders)
    assert shuffled.shape == (50, 7)
    for lane in shuffled.T:
        for stratum in np.unique(contrast.strata):
            inside = contrast.strata == stratum
            assert sorted(lane[inside]) == sorted(contrast.values[inside])
    assert (shuffled != shuffled[:, :1]).any()


def test_every_permutation_is_as_likely() -> None:
    contrast = Contrast.of(np.array([1.0, 0.0, 0.0, 1.0]), np.ones(4, np.bool_), np.zeros(4, np.int64))
    shuffled = permuted(contrast, 6000, 0) > 0.0
    counts = np.unique(shuffled.T, axis=0, return_counts=True)[1]
    assert len(counts) == 6
    assert (np.abs(counts - 1000) < 120).all()


@pytest.mark.parametrize("seed", RNG_SEEDS)
def test_against_numpy(seed: int) -> None:
    """z, the largest statistics, the permutations as extreme and the histogram, by columns that are written out."""
    rng = np.random.default_rng(seed)
    n = 40
    indexes = [text_index(random_texts(rng, n), 2), item_index(rng.random((n, 5)) * (rng.random((n, 5)) < 0.5))]
    contrasts = [random_contrast(rng, n, 3), random_contrast(rng, n, 3)]
    tested = [index.distinct for index in indexes]
    n_permutations = 70
    advanced: list[int] = []
    test = permutation_test(indexes, tested, contrasts, n_permutations, seed, advanced.append)
    assert sum(advanced) == 2 * n_permutations
    maxima = np.zeros(n_permutations)
    n_tested = 0
    for contrast, of_label, rates in zip(contrasts, test.columns, test.rates, strict=True):
        histogram = np.zeros((n_permutations, 2, kernels.HISTOGRAM_BINS), np.int32)
        tallied = np.zeros_like(histogram)
        lanes = permuted(contrast, n_permutations, seed)
        for index, nodes, column in zip(indexes, tested, of_label, strict=True):
            scales = contrast.scales(index, nodes)
            used = scales > 0.0
            z = contrast.values @ dense(index) * scales
            signed = lanes.T @ dense(index) * scales
            null = np.abs(signed)
            np.testing.assert_allclose(column.z, z, atol=1e-12)
            np.testing.assert_array_equal(
                column.at_least, np.where(used, (null >= np.abs(z) * (1 - kernels.TIE)).sum(axis=0), 0)
            )
            maxima = np.maximum(maxima, null.max(axis=1))
            bins = ((null - kernels.LEAST) / kernels.WIDTH).astype(int)
            for lane in range(n_permutations):
                counted = used & (null[lane] >= kernels.LEAST)
                np.add.at(histogram[lane], ((signed[lane] > 0.0)[counted].astype(int), bins[lane][counted]), 1)
            unused = ColumnStatistics(column.z, np.zeros_like(column.at_least))
            add_permutations(index, scales, unused, lanes, np.zeros(n_permutations), tallied)
            n_tested += used.sum()
        # Statistics at the edge of a bin may round to either side.
        assert np.abs(tallied - histogram).sum() <= 2
        assert tallied.sum() == histogram.sum()
        (expected,) = rates_of_labels([column.z for column in of_label], tallied, by_sign=False)
        np.testing.assert_array_equal(rates, expected)
    assert test.n_tested == n_tested
    np.testing.assert_allclose(test.maxima, maxima, rtol=1e-12)


def test_the_threshold_is_where_adjusted_p_values_reach_the_level() -> None:
    rng = np.random.default_rng(3)
    test = PermutationTest([], 0, rng.random(99) * 4.0, [])
    z = np.sort(np.concatenate([np.linspace(-5.0, 5.0, 400), test.maxima]))
    for level in (0.01, 0.05, 0.3, 0.999):
        np.testing.assert_array_equal(test.adjusted(z) <= level, np.abs(z) >= test.threshold(level))
    assert test.threshold(0.001) == np.inf
    assert test.adjusted(np.array([100.0])) == pytest.approx(0.01)
    assert test.adjusted(np.array([0.0])) == 1.0


def null_tests(n_labelings: int) -> list[PermutationTest]:
    """Tests of labels that have nothing to do with the texts."""
    rng = np.random.default_rng(5)
    index = text_index(random_texts(rng, 60), 3)
    targets = [rng.permutation(60) < 20 for _ in range(n_labelings)]
    everywhere, one = np.ones(60, np.bool_), np.zeros(60, np.int64)
    return [
        permutation_test([index], [index.distinct], [Contrast.of(of.astype(np.float64), everywhere, one)], 99, seed)
        for seed, of in enumerate(targets)
    ]


def test_error_rates_of_labels_without_a_meaning() -> None:
    """At 5 %, about 5 of 100 labelings have a false statement; at a discovery rate of 10 %, at most about 10."""
    tests = null_tests(300)
    z = [test.columns[0][0].z for test in tests]
    wrong = sum((test.adjusted(of) <= 0.05).any() for test, of in zip(tests, z, strict=True))
    discovered = sum((test.false_discovery_rates(of, 0) <= 0.1).any() for test, of in zip(tests, z, strict=True))
    assert 5 <= wrong <= 25
    assert discovered <= 40
    for test, of in zip(tests, z, strict=True):
        assert (test.false_discovery_rates(of, 0)[test.adjusted(of) <= 0.05] <= 0.05 + 1e-12).all()


def rates_by_definition(z: np.ndarray, null: np.ndarray) -> np.ndarray:
    """The rate of each statistic (columns), from those of permutations (permutations, columns); all of one label."""
    least = np.ones(len(z))
    for edge in kernels.LEAST + kernels.WIDTH * np.arange(kernels.HISTOGRAM_BINS):
        of_null = (null >= edge).sum(axis=1)
        true = max((z >= edge).sum() - np.quantile(of_null, 0.95), 0.0)
        rate = (sum(r / (r + true) for r in of_null if r) + 1.0) / (len(null) + 1)
        least[z >= edge] = np.minimum(least[z >= edge], rate)
    return least


@pytest.mark.parametrize("by_sign", [False, True])
def test_rates_of_false_discoveries_by_their_definition(by_sign: bool) -> None:
    """They are those of a single label: neither other labels nor the other sign count, if that is of another label."""
    rng = np.random.default_rng(1)
    index = text_index([text + "xy" * (i % 2 and i > 3) for i, text in enumerate(random_texts(rng, 80))], 2)
    everywhere, one = np.ones(80, np.bool_), np.zeros(80, np.int64)
    contrasts = [Contrast.of(values, everywhere, one) for values in (np.arange(80) % 2.0, rng.permutation(80) % 2.0)]
    test = permutation_test([index], [index.distinct], contrasts, 199, 0, by_sign=by_sign)
    found = []
    for contrast, (column,) in zip(contrasts, test.columns, strict=True):
        lanes = permuted(contrast, 199, 0)
        null = lanes.T @ dense(index) * contrast.scales(index, index.distinct)
        for side in (np.negative, np.positive) if by_sign else (np.abs,):
            z = np.maximum(side(column.z), 0.0)
            rates = test.false_discovery_rates(z, len(found))
            found.append(rates)
            np.testing.assert_allclose(
                rates, np.minimum(rates_by_definition(z, side(null)), test.adjusted(z)), rtol=1e-6
            )
    assert len(found) == len(test.rates)
    assert (found[by_sign] < test.adjusted(test.columns[0][0].z)).any()
    assert (bins_of(np.array([0.0, 1.9, 2.01, 2.06, -2.06, 1e6])) == [0, 0, 1, 2, 2, kernels.HISTOGRAM_BINS]).all()


def test_columns_of_which_nothing_is_said_are_left_out_of_the_rates() -> None:
    rng = np.random.default_rng(1)
    index = text_index([text + "xy" * (i % 2) for i, text in enumerate(random_texts(rng, 60))], 2)
    contrast = Contrast.of(np.arange(60) % 2.0, np.ones(60, np.bool_), np.zeros(60, np.int64))

    def nothing(of: Contrast, columns: list[ColumnStatistics]) -> None:
        assert of is contrast
        columns[0].z[:] = 0.0

    test = permutation_test([index], [index.distinct], [contrast], 99, 0, leave_out=nothing)
    alone = permutation_test([index], [index.distinct], [contrast], 99, 0)
    assert not test.columns[0][0].z.any()
    assert (test.rates[0] >= alone.rates[0]).all()
    assert (test.rates[0] > alone.rates[0]).any()
