"""A label as a permutation test has it: centred in strata, and shuffled within them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..index.items import ItemIndex
from ..index.kernels import LANES
from ..index.ngrams import NgramIndex
from .kernels import shifted_values

#: Permutations that are drawn at a time; a multiple of :data:`LANES`.
DRAWN = 64
#: Bytes of orders that are kept for other labels, at the most.
KEPT_ORDERS = 2**27
#: Share of a sum of squares below which a variance is nothing but rounding.
NO_VARIANCE = 1e-12


@dataclass(frozen=True)
class Contrast:
    """The values of a label in all documents, less their mean in the document's stratum.

    Documents that the label is not known of are a stratum of their own, in which nothing varies.

    Attributes
    ----------
    values : float64 (documents)
    strata : int64 (documents)
        Numbers of strata, from 0 on; 0 is that of unknown documents.
    """

    values: np.ndarray
    strata: np.ndarray

    @classmethod
    def of(cls, targets: np.ndarray, known: np.ndarray, strata: np.ndarray) -> Contrast:
        """The contrast of a label with ``targets`` (documents) in [0, 1], where it is ``known`` (documents)."""
        numbers = np.where(known, strata + 1, 0)
        values = np.where(known, targets, 0.0)
        means = np.bincount(numbers, values) / np.maximum(np.bincount(numbers), 1)
        return cls(values - means[numbers], numbers)

    @property
    def variances(self) -> np.ndarray:
        """Variance of the label in each stratum, with the divisor n - 1: float64 (strata)."""
        sizes = np.bincount(self.strata)
        squares = np.bincount(self.strata, self.values**2)
        squares[squares <= NO_VARIANCE * sizes] = 0.0
        return np.asarray(squares / np.maximum(sizes - 1, 1))

    def shifted(self, index: NgramIndex | ItemIndex) -> NgramIndex | ItemIndex:
        """Return the index with columns less a constant in each stratum, for the same statistics with more digits.

        Of values far from 0 for their spread, as those of timestamps, sums and variances would be rounding alone. Where
        a document of a stratum does not have the column, its 0 is among the values, and nothing is subtracted. Columns
        are also multiplied by powers of two, for squares that are neither 0 nor infinite.
        """
        if not isinstance(index, ItemIndex) or not len(index.values):
            return index
        sizes = np.bincount(self.strata)
        values = shifted_values(index.starts, index.documents, index.values, self.strata, sizes)
        return replace(index, values=values)

    def scales(self, index: NgramIndex | ItemIndex, tested: np.ndarray) -> np.ndarray:
        """Return 1 / σ of the sum over each tested column under permutations; 0 of others, or where σ is 0.

        With a column x, a label c and strata s of n_s documents, σ² over the permutations within strata is
        Σ_s Σ (c - mean_s c)² / (n_s - 1) Σ (x - mean_s x)²: of columns of ones, the hypergeometric variance.

        ``tested`` are bool (nodes); the index is a shifted one.

        Returns
        -------
        float64 (nodes)
        """
        sizes, variances = np.bincount(self.strata), self.variances
        varying = np.flatnonzero(variances)
        squared_sigma = np.zeros(index.n_nodes)
        for begin in range(0, len(varying), LANES):
            strata = varying[begin : begin + LANES]
            inside = (self.strata[:, None] == strata).astype(np.float64)
            for first, last, sums, squares in moments_inside(index, inside):
                spread = squares - sums**2 / sizes[strata]
                spread[spread <= NO_VARIANCE * squares] = 0.0
                squared_sigma[first:last] += spread @ variances[strata]
        scales = np.zeros(index.n_nodes)
        used = tested & (squared_sigma > 0.0)
        scales[used] = 1.0 / np.sqrt(squared_sigma[used])
        return scales

    def permuted(self, orders: np.ndarray) -> np.ndarray:
        """Return the values under permutations, int32 (k, documents) of :class:`Orders`: float64 (documents, k)."""
        in_strata = self.values[np.argsort(self.strata, kind="stable")]
        shuffled = np.empty(orders.shape[::-1])
        for lane, order in enumerate(orders):
            shuffled[order, lane] = in_strata
        return shuffled


class Orders:
    """Random orders of documents within strata, the same for all labels that have these strata.

    To sort takes most of the time of a test of many labels in few documents. What has been drawn is kept for the next
    label, where it takes at most :data:`KEPT_ORDERS` bytes: 4 a document and permutation.
    """

    def __init__(self, n_permutations: int, seed: int) -> None:
        self.n_permutations, self.seed = n_permutations, seed
        self._strata = np.empty(0, np.int64)
        self._kept: dict[int, np.ndarray] = {}

    def within(self, strata: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the first number of some permutations, and these: int32 (k, documents)."""
        if not np.array_equal(strata, self._strata):
            self._strata, self._kept = strata, {}
        are_kept = 4 * len(strata) * self.n_permutations <= KEPT_ORDERS
        for first in range(0, self.n_permutations, DRAWN):
            orders = self._kept.get(first)
            if orders is None:
                orders = self._drawn(first)
                if are_kept:
                    self._kept[first] = orders
            yield first, orders

    def _drawn(self, first: int) -> np.ndarray:
        k = min(DRAWN, self.n_permutations - first)
        keys = np.random.default_rng([self.seed, first]).random((len(self._strata), k))
        return np.array([np.lexsort((of_lane, self._strata)) for of_lane in keys.T], np.int32)


def moments_inside(
    index: NgramIndex | ItemIndex, inside: np.ndarray
) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
    """Sum the values of columns, and their squares, over some documents.

    ``inside`` has ones and zeros: float64 (documents, k), with k at most :data:`LANES`.

    Yields
    ------
    (first node, last node + 1, sums, squares)
        float64 (nodes, k), overwritten by the next chunk.
    """
    k = inside.shape[1]
    if isinstance(index, ItemIndex) and len(index.values):
        of_squares = replace(index, values=index.values**2).passes(inside)
        for (_, first, last, sums), (_, _, _, squares) in zip(index.passes(inside), of_squares, strict=True):
            yield first, last, sums[: last - first, :k], squares[: last - first, :k]
    else:
        for _, first, last, sums in index.passes(inside):
            yield first, last, sums[: last - first, :k], sums[: last - first, :k]
