"""The design matrix: products with the columns of active pairs."""

from __future__ import annotations

from functools import cached_property, partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..extract.kernels import transposed
from ..extract.streams import starts_of
from ..threads import in_threads
from . import kernels
from .active import Active

#: Sums of so many numbers are worth more than one thread.
THREADS_FROM = 1 << 20
#: Documents of a column in an entry of bits, by a guess that is good enough to share work; scores in a line of cache,
#: and its bytes.
OF_WORD, LINE, LINE_BYTES = 8, 8, 64


class Matrix(NamedTuple):
    """A sparse matrix by rows, for products with a few vectors.

    Attributes
    ----------
    starts : int64 (rows + 1), entries : int32, values : float64
        Row ``k`` has the columns ``entries[starts[k] : starts[k + 1]]``; no values where all are 1.
    """

    starts: np.ndarray
    entries: np.ndarray
    values: np.ndarray

    @property
    def n_rows(self) -> int:
        return len(self.starts) - 1

    def products(self, vectors: np.ndarray, n_threads: int = 1) -> np.ndarray:
        """The products with vectors (n, columns): float64 (n, rows)."""
        return self.products_of_lanes(as_lanes(vectors, n_threads), len(vectors), n_threads)

    def products_of_lanes(self, lanes: np.ndarray, n: int, n_threads: int = 1) -> np.ndarray:
        """The same with the first ``n`` columns of ``lanes`` (columns, width), as :func:`as_lanes` makes them."""
        products = np.empty((n, self.n_rows))
        work = [partial(kernels.products_of_rows, *self, lanes, products, *r) for r in self.ranges(lanes, n_threads)]
        in_threads(work, n_threads)
        return products

    def sums(self, lanes: np.ndarray, n_threads: int = 1) -> np.ndarray:
        """The same as lanes, in their precision: (rows, width)."""
        sums = np.empty((self.n_rows, lanes.shape[1]), lanes.dtype)
        work = [
            partial(kernels.sums_of_rows, self.starts[begin : end + 1], *self[1:], lanes, sums[begin:end])
            for begin, end in self.ranges(lanes, n_threads)
        ]
        in_threads(work, n_threads)
        return sums

    def ranges(self, lanes: np.ndarray, n_threads: int) -> list[tuple[int, int]]:
        """Begins and ends of ranges of rows that take about as long as one another."""
        if n_threads == 1 or len(self.entries) * lanes.shape[1] < THREADS_FROM:
            return [(0, self.n_rows)]
        n_ranges = 4 * n_threads
        parts = np.arange(n_ranges) * (len(self.entries) / n_ranges)
        return list(pairwise([*np.searchsorted(self.starts, parts).tolist(), self.n_rows]))


def as_lanes(vectors: np.ndarray, n_threads: int = 1, single: bool = False) -> np.ndarray:
    """Vectors (n, columns) as rows for the kernels: (columns, n), with zeros to a multiple of four.

    In double precision or in single, which halves what products read: they ask for rows in no order.
    """
    n, columns = vectors.shape
    width = n if n == 1 else -(-n // 4) * 4
    kind = np.dtype(np.float32 if single else np.float64)
    # What is summed at a time takes few lines of the cache: NumPy's own arrays begin anywhere, and take one more.
    in_line = LINE_BYTES // kind.itemsize
    room = np.empty(columns * width + in_line, kind)
    begin = -room.ctypes.data // kind.itemsize % in_line
    lanes = room[begin : begin + columns * width].reshape(columns, width)
    if n_threads == 1 or vectors.size < THREADS_FROM:
        fill_lanes(lanes, vectors.T)
    else:
        parts = zip(np.array_split(lanes, n_threads), np.array_split(vectors.T, n_threads), strict=True)
        in_threads([partial(fill_lanes, *part) for part in parts], n_threads)
    return lanes


def fill_lanes(lanes: np.ndarray, rows: np.ndarray) -> None:
    """Write rows into lanes, with zeros behind them; what single precision cannot hold is infinite."""
    n = rows.shape[1]
    with np.errstate(over="ignore"):
        lanes[:, :n], lanes[:, n:] = rows, 0.0


class Design:
    """X of some pairs, without the document weights.

    Where every label has every feature (a refit, all features at once), these are products of one sparse matrix with as
    many vectors as there are labels, which reads each entry once for up to sixteen of them: several times faster, for 8
    bytes an entry; 24 where a feature has values other than 1. Otherwise each pair's column is read for itself. (In
    single precision one label's columns are products of this matrix too.)

    Products are the same for any ``n_threads``, to the last bit.
    """

    def __init__(self, active: Active, n_labels: int, n_documents: int, n_threads: int = 1) -> None:
        self.active = active
        self.shape = (n_labels, n_documents)
        self.n_threads = n_threads
        #: Whether every label has every feature.
        self.is_complete = len(active) == active.n_rows * n_labels > 0

    @cached_property
    def by_feature(self) -> Matrix:
        """X of the features: (features, documents)."""
        return Matrix(*self.active.columns.lists())

    @cached_property
    def by_document(self) -> Matrix:
        """The same by documents."""
        return Matrix(*transposed(*self.by_feature, self.shape[1]))

    @property
    def has_lanes(self) -> bool:
        """Whether one entry is worth reading for several labels at once."""
        return self.is_complete and self.shape[0] > 1

    def some(self, chosen: np.ndarray) -> Design:
        """That of some of the pairs (int), ascending."""
        if len(chosen) == len(self.active):
            return self
        return Design(self.active.some(chosen), *self.shape, self.n_threads)

    def spread(self, weights: np.ndarray) -> np.ndarray:
        """X w: float64 (labels, documents)."""
        if self.has_lanes:
            return self.by_document.products(weights.reshape(self.shape[0], -1), self.n_threads)
        scores, pairs = np.zeros(self.shape), self.active.pairs
        work = [partial(kernels.spread, pairs, weights, scores, *r) for r in self.document_ranges()]
        in_threads(work, self.n_threads)
        return scores

    def collect(self, totals: np.ndarray, squared: bool = False) -> np.ndarray:
        """Xᵀ totals, of totals (labels, documents); or with the features' values squared: float64 (pairs)."""
        if self.has_lanes:
            matrix = self.by_feature
            if squared:  # where all values are 1 there are none
                matrix = matrix._replace(values=matrix.values**2)
            return matrix.products(totals, self.n_threads).reshape(-1)
        sums, pairs = np.empty(len(self.active)), self.active.pairs
        work = [
            partial(kernels.collect, pairs.some(begin, end), totals, sums[begin:end], squared)
            for begin, end in self.pair_ranges()
        ]
        in_threads(work, self.n_threads)
        return sums

    @cached_property
    def n_pairs(self) -> np.ndarray:
        """How many each label has: int64 (labels)."""
        return np.diff(np.searchsorted(self.active.labels, np.arange(self.shape[0] + 1)))

    @cached_property
    def n_entries(self) -> int:
        """Documents of all features together, for each label again."""
        return self.shape[0] * self.active.columns.n_entries

    @cached_property
    def n_numbers(self) -> np.ndarray:
        """About how many numbers are summed for the pairs before each one, and for all: int64 (pairs + 1)."""
        columns = self.active.columns
        of_rows = np.diff(columns.starts) * np.where(columns.are_bits, OF_WORD, 1)
        return starts_of(of_rows[self.active.rows])

    @property
    def in_parts(self) -> bool:
        """Whether there is enough to do for several threads."""
        return self.n_threads > 1 and bool(self.n_numbers[-1] >= THREADS_FROM)

    def pair_ranges(self) -> list[tuple[int, int]]:
        """Begins and ends of ranges of pairs that take about as long as one another."""
        if not self.in_parts:
            return [(0, len(self.active))]
        n_ranges = 4 * self.n_threads
        parts = np.arange(1, n_ranges) * (self.n_numbers[-1] / n_ranges)
        return list(pairwise([0, *np.searchsorted(self.n_numbers, parts).tolist(), len(self.active)]))

    def document_ranges(self) -> list[tuple[int, int]]:
        """Firsts and lasts of a range of documents for each thread: every range begins with a search in all lists."""
        n_ranges, n_documents = self.n_threads if self.in_parts else 1, self.shape[1]
        size = -(-n_documents // (n_ranges * LINE)) * LINE
        return [(first, min(first + size, n_documents)) for first in range(0, n_documents, max(size, 1))]
