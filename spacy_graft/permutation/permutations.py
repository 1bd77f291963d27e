"""The permutation test of all columns of some indexes: p-values for all of them together, error rates for each label.

Every permutation of the labels is one more lane of the pass that sums over the documents of every node, so that its
cost is that of one search, whatever the number of columns (Westfall & Young 1993, "maxT").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..index.items import ItemIndex
from ..index.kernels import LANES
from ..index.ngrams import NgramIndex
from ..metrics import at_or_above
from .contrasts import Contrast, Orders
from .kernels import HISTOGRAM_BINS, LEAST, TIE, WIDTH, tally

NodeIndex = NgramIndex | ItemIndex
#: Share of the permutations that are allowed to have more false discoveries than the estimated rate takes for true.
UPPER_TAIL = 0.05
#: Bins whose rates are estimated at a time: 8 bytes a bin and permutation, a few times over.
BINS_AT_ONCE = 16


@dataclass(frozen=True)
class ColumnStatistics:
    """What is known of the columns of one index under one label.

    Attributes
    ----------
    z : float64 (nodes)
        Sum of the label's contrast over the column, in standard deviations under permutations. 0 of columns that are
        not tested, or do not vary.
    at_least : int32 (nodes)
        Permutations with a statistic at least as large, in absolute value.
    """

    z: np.ndarray
    at_least: np.ndarray


@dataclass(frozen=True)
class PermutationTest:
    """The statistics of all columns, and their distribution over permutations.

    Memory: 12 bytes a node and label, and 401 rates a label. While a label is tested, 800 counts a permutation, and 8
    bytes for each value of items that is not always 1. And what :class:`.contrasts.Orders` keep.

    Attributes
    ----------
    columns : list of lists of ColumnStatistics
        By contrast and index.
    n_tested : int
        Pairs of a column and a contrast.
    maxima : float64 (permutations)
        The largest absolute statistic over all columns and contrasts.
    rates : list of float64 (1 + bins)
        By label, from :func:`rates_of`; a contrast has two labels if its signs are those of two.
    """

    columns: list[list[ColumnStatistics]]
    n_tested: int
    maxima: np.ndarray
    rates: list[np.ndarray]

    @property
    def n_permutations(self) -> int:
        return len(self.maxima)

    def threshold(self, level: float) -> float:
        """The least |z| whose adjusted p-value is at most ``level``; infinite if there are too few permutations."""
        attainable = np.arange(1, self.n_permutations + 2) / (self.n_permutations + 1)
        as_large = int(np.searchsorted(attainable, level, side="right")) - 1
        if as_large < 0:
            return np.inf
        above = np.append(np.sort(self.maxima)[::-1], 0.0)[as_large]
        return float(above * (1.0 + 2.0 * TIE))

    def p_values(self, at_least: np.ndarray) -> np.ndarray:
        """p-values of single columns: the share of the permutations, the observed one among them, as extreme."""
        return np.asarray((at_least + 1) / (self.n_permutations + 1))

    def adjusted(self, z: np.ndarray) -> np.ndarray:
        """p-values adjusted for all columns and labels: the probability that any has as large a statistic by chance.

        Calling significant what has at most α makes one false statement or more with probability at most α, however
        the columns depend on one another (Westfall & Young 1993, algorithm 2.5, single-step).
        """
        maxima = np.sort(self.maxima)
        enough = np.abs(z) * (1.0 - TIE)
        return np.asarray((self.n_permutations - np.searchsorted(maxima, enough) + 1) / (self.n_permutations + 1))

    def false_discovery_rates(self, z: np.ndarray, label: int) -> np.ndarray:
        """Estimated share of false statements among the statistics of a label that are as large or larger.

        It is 1 below the least bin, and at most the adjusted p-value.
        """
        return np.minimum(self.rates[label][bins_of(z)], self.adjusted(z))


def rates_of_labels(z: Sequence[np.ndarray], histogram: np.ndarray, by_sign: bool) -> list[np.ndarray]:
    """The rates of the label of a contrast, or of both labels that its signs are those of.

    Arguments are those of :func:`rates_of`; the histogram, (permutations, 2, bins), is of negative and positive
    statistics.
    """
    if not by_sign:
        return [rates_of(z, histogram)]
    return [
        rates_of([np.maximum(sign * of_index, 0.0) for of_index in z], histogram[:, side : side + 1])
        for side, sign in enumerate((-1.0, 1.0))
    ]


def rates_of(z: Sequence[np.ndarray], histogram: np.ndarray) -> np.ndarray:
    """Estimated rates of false discoveries of one label, for the statistics of each bin.

    Resampling-based (Yekutieli & Benjamini 1999, the upper limit): of R statistics of t or more, at least R - r* are
    taken for true, with r* the 95th percentile of their number over permutations. The rate is the mean of
    r / (r + R - r*) over permutations, each with its own number r; where R ≤ r*, it is the probability that there is
    any. Thresholds t are the edges of bins. A statistic has the least rate of the thresholds under it.

    Statistics of other labels are not counted: with many true discoveries of theirs, the rate would be low however many
    of this label's are false.

    Parameters
    ----------
    z : sequence of float64 (nodes)
        Statistics of the label, by index.
    histogram : int (permutations, signs, bins)
        How many of its statistics lie in each bin, from :data:`~.kernels.LEAST` on.

    Returns
    -------
    float64 (1 + bins)
        The first is that of statistics under the least bin.
    """
    counts = np.zeros(HISTOGRAM_BINS + 1)
    for of_index in z:
        counts += np.bincount(bins_of(of_index), minlength=HISTOGRAM_BINS + 1)
    found, rates = at_or_above(counts[1:]), np.empty(HISTOGRAM_BINS)
    behind = np.zeros((len(histogram), 1))
    for stop in range(HISTOGRAM_BINS, 0, -BINS_AT_ONCE):
        bins = slice(max(stop - BINS_AT_ONCE, 0), stop)
        null = at_or_above(histogram[:, :, bins].sum(axis=1, dtype=np.float64)) + behind
        behind = null[:, :1]
        true = np.maximum(found[bins] - np.quantile(null, 1.0 - UPPER_TAIL, axis=0), 0.0)
        false = np.divide(null, null + true, out=np.zeros_like(null), where=null > 0.0)
        rates[bins] = (false.sum(axis=0) + 1.0) / (len(null) + 1)
    return np.concatenate([[1.0], np.minimum.accumulate(rates)])


def bins_of(z: np.ndarray) -> np.ndarray:
    """The bin of each absolute statistic, from 1 on; 0 under the least: int64."""
    return np.clip((np.abs(z) * (1.0 - TIE) - LEAST) / WIDTH + 1.0, 0, HISTOGRAM_BINS).astype(np.int64)


def permutation_test(
    indexes: Sequence[NodeIndex],
    tested: Sequence[np.ndarray],
    contrasts: Sequence[Contrast],
    n_permutations: int,
    seed: int,
    advance: Callable[[int], None] = lambda n: None,
    by_sign: bool = False,
    leave_out: Callable[[Contrast, list[ColumnStatistics]], None] = lambda contrast, columns: None,
) -> PermutationTest:
    """Test every column of some indexes for every contrast.

    Parameters
    ----------
    indexes : sequence of NgramIndex or ItemIndex
    tested : sequence of bool (nodes)
        The nodes of each index that stand for their columns.
    contrasts : sequence of Contrast
        Of the labels. The same permutation of documents is applied to all.
    n_permutations : int
    seed : int
        Of the random numbers; the same seed gives the same test.
    advance : callable
        Is told, now and then, for how many more permutations and labels the work is done.
    by_sign : bool
        Whether negative statistics are those of one label and positive ones those of another, as of two labels that
        exclude each other. Each of them has its own rates of false discoveries.
    leave_out : callable
        Is given each contrast and its statistics, to set z to 0 where nothing is to be said of a column, before the
        rates are estimated.
    """
    maxima, drawn = np.zeros(n_permutations), Orders(n_permutations, seed)
    columns: list[list[ColumnStatistics]] = []
    rates: list[np.ndarray] = []
    n_tested = 0
    for contrast in contrasts:
        shifted = [contrast.shifted(index) for index in indexes]
        scales = [contrast.scales(index, nodes) for index, nodes in zip(shifted, tested, strict=True)]
        of_label = [ColumnStatistics(statistics(index, contrast, scale), np.zeros(len(scale), np.int32))
                    for index, scale in zip(shifted, scales, strict=True)]  # fmt: skip
        # Of one label at a time: a megabyte for 300 permutations.
        histogram = np.zeros((n_permutations, 2, HISTOGRAM_BINS), np.int32)
        for first, orders in drawn.within(contrast.strata):
            values = contrast.permuted(orders)
            lanes = slice(first, first + values.shape[1])
            for index, scale, column in zip(shifted, scales, of_label, strict=True):
                add_permutations(index, scale, column, values, maxima[lanes], histogram[lanes])
            advance(values.shape[1])
        leave_out(contrast, of_label)
        rates += rates_of_labels([column.z for column in of_label], histogram, by_sign)
        columns.append(of_label)
        n_tested += sum(int(np.count_nonzero(scale)) for scale in scales)
    return PermutationTest(columns, n_tested, maxima, rates)


def statistics(index: NodeIndex, contrast: Contrast, scales: np.ndarray) -> np.ndarray:
    """z of each column of a shifted index: float64 (nodes)."""
    z = np.empty(index.n_nodes)
    for _, first, last, sums in index.passes(contrast.values[:, None]):
        z[first:last] = sums[: last - first, 0]
    return z * scales


def add_permutations(
    index: NodeIndex,
    scales: np.ndarray,
    column: ColumnStatistics,
    values: np.ndarray,
    maxima: np.ndarray,
    histogram: np.ndarray,
) -> None:
    """Add permuted ``values`` (documents, k) to what is kept of all permutations; maxima and histogram are of these."""
    observed = np.abs(column.z)
    for lane, first, last, sums in index.passes(values):
        lanes, nodes = slice(lane, min(lane + LANES, values.shape[1])), slice(first, last)
        tally(sums, lanes.stop - lane, scales[nodes], observed[nodes], maxima[lanes], column.at_least[nodes],
              histogram[lanes])  # fmt: skip
