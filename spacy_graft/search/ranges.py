"""Searches that leave out the ranges of an index in which nothing can have become large enough.

The last pass over a range leaves the largest scaled gradient of its nodes, by classes of like numbers of documents.
What residuals have moved since then, Δ, moves the gradient of a node of df documents by at most min(‖Δ‖₁, √df ‖Δ‖₂,
df ‖Δ‖∞). So a range need not be read where the sum of both stays below what is looked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from ..extract.streams import Empty, starts_of
from ..index.item_kernels import sum_documents
from ..index.kernels import LANES
from ..index.ngrams import NgramIndex
from ..index.sums import NodeSums, TreeSums, lanes_of
from ..threads import in_threads
from . import kernels
from .full_pass import candidates_of
from .request import SearchRequest
from .search import Search, movements
from .violations import Violations, best_of

#: Classes of nodes: by the number of bits of their number of documents.
N_CLASSES = 32
#: Upper bounds are raised by what sums and norms may be rounded by.
BOUND_ROUNDING = 1.0 + 1e-9


class RangeFindings(NamedTuple):
    """What a search finds in a range.

    Of each class of its nodes, ``peaks`` are the largest |v| / λ of what was looked for, −∞ without nodes, and
    ``inverses`` the largest 1 / λ: float64 (N_CLASSES), both.
    """

    found: kernels.NodeCandidates
    peaks: np.ndarray
    inverses: np.ndarray


class RangedSearch(Search):
    """Searches by passes over the ranges that can hold a violation.

    The nodes that lie in several ranges are summed one by one, over their documents.

    Memory: 512 bytes for each range and eight labels, a copy of the residuals, and, where ``empty``
    gives it, 4 bytes for each document of the nodes that lie in several ranges: some hundred at the most.

    ``empty`` gives memory for the documents of these nodes. Other arguments are those of :class:`.search.Search`.
    """

    def __init__(
        self, index: NgramIndex, inverse_weights: np.ndarray, row_of_node: np.ndarray, empty: Empty = np.empty
    ) -> None:
        super().__init__(index, inverse_weights, row_of_node)
        self._open_nodes = np.concatenate([np.empty(0, np.int64), *index.ranged.open_nodes])
        self._open_starts = starts_of(index.df[self._open_nodes])
        self._open_documents = empty(int(self._open_starts[-1]), np.int32)
        for k, node in enumerate(self._open_nodes):
            documents = index.columns(np.array([node]))[1]
            self._open_documents[self._open_starts[k] : self._open_starts[k + 1]] = documents
        self._residuals: np.ndarray | None = None
        self._active = self._nodes = self._rows = np.empty(0, np.int64)

    def note_rows(self, nodes: np.ndarray, rows: np.ndarray) -> None:
        self._nodes, self._rows = nodes, rows

    def best(self, request: SearchRequest) -> Violations:
        self.n_passes += 1
        query = request.query(self.inverse_weights, self.row_of_node)
        self._note_movement(request.residuals)
        self._note_active(query)
        found: list[kernels.NodeCandidates] = []
        for group, (label, lanes) in enumerate(lanes_of(request.residuals)):
            sums = self.index.ranged.range_sums(lanes)
            chosen = np.flatnonzero(self._bounds(group) > query.min_gradient).tolist()
            of_ranges = self._search_ranges(chosen, sums, label, query, request.n_threads)
            for r, of_range in zip(chosen, of_ranges, strict=True):
                self._moved[group, r] = 0.0
                self._peaks[group, r], self._inverses[group, r] = of_range.peaks, of_range.inverses
                found.append(of_range.found)
            found.append(candidates_of(self._open_sums(sums), label, query))
        return best_of(found, query)

    def _search_ranges(
        self, chosen: Sequence[int], sums: TreeSums, label: int, query: kernels.NodeQuery, n_threads: int
    ) -> list[RangeFindings]:
        """What some ranges have for the labels from ``label`` on."""
        df = self.index.df
        return in_threads([partial(findings_of_range, sums, r, label, query, df) for r in chosen], n_threads)

    def _note_movement(self, residuals: np.ndarray) -> None:
        """Add up how far residuals have moved since each range was read."""
        n_groups, n_ranges = -(-residuals.shape[1] // LANES), len(self.index.ranged.open_nodes)
        if self._residuals is None or self._residuals.shape != residuals.shape:
            self._peaks = np.full((n_groups, n_ranges, N_CLASSES), np.inf)
            self._inverses = np.zeros((n_groups, n_ranges, N_CLASSES))
            #: As :func:`~spacy_graft.search.search.movements`.
            self._moved = np.zeros((n_groups, n_ranges, 3))
        else:
            norms = movements(residuals, self._residuals)
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

    def _open_sums(self, sums: TreeSums) -> Iterator[NodeSums]:
        """Sums of the nodes that lie in several ranges."""
        lanes = sums.lanes.reshape(len(sums.lanes), -1)
        totals = np.zeros((len(self._open_nodes), lanes.shape[1]), np.int64)
        sum_documents(self._open_starts, self._open_documents, lanes, totals)  # modulo 2⁶⁴
        for node, total in zip(self._open_nodes.tolist(), totals * sums.unit, strict=True):
            yield node, node + 1, total.reshape(1, -1)


def findings_of_range(
    sums: TreeSums, r: int, label: int, query: kernels.NodeQuery, df: np.ndarray, offset: int = 0
) -> RangeFindings:
    """What a range has for the labels from ``label`` on; the nodes of ``query`` and ``df`` begin with ``offset``."""
    peaks, inverses = np.full(N_CLASSES, -np.inf), np.zeros(N_CLASSES)

    def noted() -> Iterator[NodeSums]:
        for begin, end, of_nodes in sums.of_range(r):
            first, last = begin - offset, end - offset
            kernels.note_classes(of_nodes, first, last, label, query, df[first:last], peaks, inverses)
            yield first, last, of_nodes

    return RangeFindings(candidates_of(noted(), label, query), peaks, inverses)
