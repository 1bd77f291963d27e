"""Searches that leave out the ranges of an index in which nothing can have become large enough.

The last pass over a range leaves the largest scaled gradient of its nodes, by classes of like numbers of documents.
What residuals have moved since then, Δ, moves the gradient of a node of df documents by at most min(‖Δ‖₁, √df ‖Δ‖₂,
df ‖Δ‖∞). So a range need not be read where the sum of both stays below what is looked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ..extract.streams import Empty
from ..index.kernels import LANES
from ..index.ngrams import NgramIndex
from ..index.sums import NodeSums, TreeSums, lanes_of
from ..threads import in_threads
from . import kernels
from .full_pass import candidates_of
from .request import SearchRequest
from .search import Search
from .violations import Candidates, Violations, best_of

#: Classes of nodes: by the number of bits of their number of documents.
N_CLASSES = 32
#: Upper bounds are raised by what sums and norms may be rounded by.
BOUND_ROUNDING = 1.0 + 1e-9


class RangedSearch(Search):
    """Searches by passes over the ranges that can hold a violation.

    The nodes that lie in several ranges are summed one by one, over their documents.

    Memory: 256 bytes for each range of 262,144 nodes and eight labels, a copy of the residuals, and, where ``empty``
    gives it, 4 bytes for each document of the nodes that lie in several ranges: some hundred at the most.

    Parameters
    ----------
    index, inverse_weights, row_of_node
        As of :class:`.search.Search`.
    empty : callable
        Gives memory for the documents of these nodes.

    Attributes
    ----------
    n_read : int
        Ranges that have been read so far.
    """

    def __init__(
        self, index: NgramIndex, inverse_weights: np.ndarray, row_of_node: np.ndarray, empty: Empty = np.empty
    ) -> None:
        super().__init__(index, inverse_weights, row_of_node)
        self._open_nodes = np.concatenate([np.empty(0, np.int64), *index.ranged.open_nodes])
        self._open_starts = np.concatenate([[0], np.cumsum(index.df[self._open_nodes], dtype=np.int64)])
        self._open_documents = empty(int(self._open_starts[-1]), np.int32)
        for k, node in enumerate(self._open_nodes):
            documents = index.columns(np.array([node]))[1]
            self._open_documents[self._open_starts[k] : self._open_starts[k + 1]] = documents
        self.n_read = 0
        self._residuals: np.ndarray | None = None
        self._active = self._nodes = self._rows = np.empty(0, np.int64)

    def note_rows(self, nodes: np.ndarray, rows: np.ndarray) -> None:
        self._nodes, self._rows = nodes, rows

    def best(self, request: SearchRequest) -> Violations:
        self.n_passes += 1
        query = request.query(self.inverse_weights, self.row_of_node)
        self._note_movement(request.residuals)
        self._note_active(query)
        found: list[Candidates] = []
        for group, (label, lanes) in enumerate(lanes_of(request.residuals)):
            sums = self.index.ranged.range_sums(lanes)
            chosen = np.flatnonzero(self._bounds(group) > query.min_gradient)
            self.n_read += len(chosen)
            self._moved[group, chosen] = 0.0
            self._peaks[group, chosen], self._inverses[group, chosen] = -np.inf, 0.0
            work = [partial(self._of_range, sums, r, group, label, query) for r in chosen.tolist()]
            found += in_threads(work, request.n_threads)
            found.append(candidates_of(self._open_sums(sums), label, query, None))
        return best_of(found, query)

    def _note_movement(self, residuals: np.ndarray) -> None:
        """Add up how far residuals have moved since each range was read."""
        n_groups, n_ranges = -(-residuals.shape[1] // LANES), len(self.index.ranged.open_nodes)
        if self._residuals is None or self._residuals.shape != residuals.shape:
            self._peaks = np.full((n_groups, n_ranges, N_CLASSES), np.inf)
            self._inverses = np.zeros((n_groups, n_ranges, N_CLASSES))
            #: ‖Δ‖₁, ‖Δ‖₂ and ‖Δ‖∞.
            self._moved = np.zeros((n_groups, n_ranges, 3))
        else:
            moved = np.abs(residuals - self._residuals)
            norms = np.stack([moved.sum(axis=0), np.sqrt((moved**2).sum(axis=0)), moved.max(axis=0, initial=0.0)])
            for group in range(n_groups):
                self._moved[group] += norms[:, group * LANES : (group + 1) * LANES].max(axis=1, initial=0.0)
        self._residuals = residuals.copy()

    def _note_active(self, query: kernels.NodeQuery) -> None:
        """Read the ranges again of pairs that have left the model: they were not looked at."""
        of_node, labels = np.nonzero(query.active[self._rows])
        active = np.sort(self._nodes[of_node] * max(query.n_labels, 1) + labels)
        left = np.setdiff1d(self._active, active, assume_unique=True) // max(query.n_labels, 1)
        self._peaks[:, np.searchsorted(self.index.ranged.starts, left, side="right") - 1] = np.inf
        self._active = active

    def _bounds(self, group: int) -> np.ndarray:
        """At least the largest scaled gradient in each range now: float64 (ranges)."""
        documents = 2.0 ** np.arange(N_CLASSES)
        total, root, largest = self._moved[group].T[:, :, None]
        moved = np.minimum(total, np.minimum(np.sqrt(documents) * root, documents * largest))
        return BOUND_ROUNDING * (self._peaks[group] + self._inverses[group] * moved).max(axis=1, initial=-np.inf)

    def _of_range(self, sums: TreeSums, r: int, group: int, label: int, query: kernels.NodeQuery) -> Candidates:
        """The best pairs of a range; its bounds are those of now from here on."""
        return candidates_of(self._noted(sums.of_range(r), r, group, label, query), label, query, None)

    def _noted(
        self, parts: Iterator[NodeSums], r: int, group: int, label: int, query: kernels.NodeQuery
    ) -> Iterator[NodeSums]:
        peaks, inverses = self._peaks[group, r], self._inverses[group, r]
        for begin, end, sums in parts:
            kernels.note_classes(sums, begin, end, label, query, self.index.df[begin:end], peaks, inverses)
            yield begin, end, sums

    def _open_sums(self, sums: TreeSums) -> Iterator[NodeSums]:
        """Sums of the nodes that lie in several ranges."""
        lanes = sums.lanes.reshape(len(sums.lanes), -1)
        totals = np.zeros((len(self._open_nodes), lanes.shape[1]), np.int64)
        kernels.sum_documents(self._open_starts, self._open_documents, lanes, totals)
        for node, total in zip(self._open_nodes.tolist(), totals * sums.unit, strict=True):
            yield node, node + 1, total.reshape(1, -1)
