"""Searches over one index of n-grams, by full passes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..heap import trim_heap
from ..index.ngrams import NgramIndex
from .coarse import CoarseTree
from .full_pass import best_by_pass
from .kernels import EQUAL, NodeQuery
from .request import SearchRequest
from .violations import Violations

#: The smallest frequency of a coarse tree in units of what the search needs, so that it lasts while the least gradient
#: falls; and how much more this must have risen for another tree.
RESERVE, RISE = 0.7, 8


class Search:
    """Exact n-best searches over an index whose active nodes and residuals change from round to round.

    Where searches are many, passes go over a coarse tree. It leaves out nodes without a feature of their own and, since
    |v| ≤ df max |δ|, nodes that are too rare to have a large enough gradient.

    The 1 / λ_ky are float32 (n_nodes, 0, 1 or labels). ``row_of_node``, int32 (n_nodes), is kept by the caller; see
    :mod:`spacy_graft.search.kernels`.
    """

    #: Full passes before a coarse tree is made, which takes as long as two to twenty of them: more than a path has.
    PASSES_BEFORE_COARSE = 128

    def __init__(self, index: NgramIndex, inverse_weights: np.ndarray, row_of_node: np.ndarray) -> None:
        self.index = index
        self.inverse_weights = inverse_weights
        self.row_of_node = row_of_node
        self.largest_inverse = float(inverse_weights.max(initial=0.0)) if inverse_weights.shape[1] else 1.0
        self.coarse: CoarseTree | None = None
        self.n_passes = 0

    def note_rows(self, nodes: np.ndarray, rows: np.ndarray) -> None:
        """Learn which nodes are active, and their rows."""

    def best(self, request: SearchRequest) -> Violations:
        """The pairs with the largest scaled gradients."""
        query = request.query(self.inverse_weights, self.row_of_node)
        return self.by_pass(request.residuals, query, request.n_threads)

    def by_pass(self, residuals: np.ndarray, query: NodeQuery, n_threads: int) -> Violations:
        """A pass over all nodes; or, from some pass on, over those that can be found."""
        self.n_passes += 1
        if self.n_passes <= self.PASSES_BEFORE_COARSE:
            return best_by_pass(self.index, residuals, query, n_threads=n_threads)
        cut = self._cut(residuals, query.min_gradient)
        if self.coarse is None or not self.coarse.min_df <= cut <= RISE * self.coarse.min_df:
            self.coarse = None  # frees its memory before the next one is built
            # Under constraints, a node can be a feature whose column another has as well.
            searched = self.index.distinct | (self.row_of_node != EQUAL)
            self.coarse = CoarseTree.build(self.index, self.inverse_weights, max(int(RESERVE * cut), 1), searched)
            trim_heap()
        found = best_by_pass(self.coarse, residuals, self.coarse.renumbered(query), n_threads=n_threads)
        return replace(found, nodes=self.coarse.nodes[found.nodes])

    def _cut(self, residuals: np.ndarray, min_gradient: float) -> int:
        """The fewest documents that a node can have whose scaled gradient is large enough."""
        largest = float(np.abs(residuals).max(initial=0.0)) * self.largest_inverse
        # Less by what sums may be rounded by.
        return int(min((1.0 - 1e-9) * min_gradient / largest, self.index.n_documents)) + 1 if largest > 0.0 else 1


def movements(residuals: np.ndarray, before: np.ndarray) -> np.ndarray:
    """‖Δ‖₁, ‖Δ‖₂ and ‖Δ‖∞ of each label, of residuals (documents, labels) that have moved: float64 (3, labels)."""
    moved = np.abs(residuals - before)
    return np.stack([moved.sum(axis=0), np.sqrt((moved**2).sum(axis=0)), moved.max(axis=0, initial=0.0)])
