"""The pruned descent: from the root of the tree, past every subtree that a bound rules out.

Two bounds rule a subtree out. The *prefix bound* (Ifrim, Bakir & Weikum, KDD 2008, theorem 1): for node s and label y,
max(Σ_i∈s max(δ_iy, 0), Σ_i∈s max(-δ_iy, 0)) bounds |v| of s and of every extension. And the *remembered bound*: the
largest scaled gradient below s at the last full pass, plus what the residuals can have moved since, for df documents at
most min(√df ‖Δ‖₂, df ‖Δ‖∞, ‖Δ‖₁). The second costs two comparisons a node and no look at documents, which makes the
descent cheaper than the full pass once residuals settle. Without it this is the descent of the paper.

Only the learner of that paper descends: where many pairs enter in a round, full passes are faster.
"""

from __future__ import annotations

import numpy as np

from ..index.kernels import LANES
from ..index.ngrams import NgramIndex
from . import kernels
from .request import SearchRequest
from .search import Search, movements
from .violations import Candidates, Violations, best_of

#: Events that the full pass reads in the time in which a descent reads one (a descent reads twice, and out of order);
#: measured on movie_reviews and 20newsgroups, see ``benchmarks/README.md``.
DESCENT_PRICE = 4


class Descent:
    """Descents over one index, and what they remember.

    Memory: 8 bytes a node for the remembered bounds, 4 more where there are penalty weights; a copy of the residuals.
    """

    def __init__(self, index: NgramIndex, inverse_weights: np.ndarray) -> None:
        self.index = index
        self.largest_inverse = np.empty(0, np.float32)
        if inverse_weights.shape[1]:
            self.largest_inverse = kernels.peaks_below(index.level, inverse_weights.max(axis=1))
        self.peaks = np.full(index.n_nodes, np.inf, np.float32)
        self.peaks_below = self.peaks
        self.residuals: np.ndarray | None = None

    def remember(self, residuals: np.ndarray, query: kernels.NodeQuery) -> None:
        """A full pass that keeps every node's largest scaled gradient, and the largest below each node.

        Parameters
        ----------
        residuals : float64 (documents, labels)
            a_i δ_iy.
        query : NodeQuery
            Only its penalty weights matter: active pairs are remembered as well.
        """
        self.peaks = np.zeros(self.index.n_nodes, np.float32)
        for label, begin, end, sums in self.index.passes(residuals):
            kernels.note_peaks(sums, begin, end, label, query, self.peaks)
        self.peaks_below = kernels.peaks_below(self.index.level, self.peaks)
        self.residuals = residuals.copy()

    def remembered(self, residuals: np.ndarray) -> kernels.Remembered:
        """The bounds, and how far residuals have moved from those that they were made with."""
        movement = np.full(3, np.inf)
        if self.residuals is not None:
            movement = movements(residuals, self.residuals).max(axis=1, initial=0.0)
        return kernels.Remembered(self.peaks, self.peaks_below, self.largest_inverse, movement)

    def cost(self, residuals: np.ndarray, query: kernels.NodeQuery) -> int:
        """Events that a descent would read at the most."""
        return int(kernels.events_to_read(self.index.tree, query, self.remembered(residuals)))

    def best(self, residuals: np.ndarray, query: kernels.NodeQuery) -> Violations:
        """The pairs with the largest scaled gradients, the same as a full pass finds."""
        candidates = Candidates(query, 0, query.n_labels)
        bounds = self.remembered(residuals)
        residuals = np.ascontiguousarray(residuals)
        place = self.index.n_nodes - 1
        while (place := kernels.descend(place, self.index.tree, residuals, query, bounds, candidates.found)) >= 0:
            candidates.keep_best()
        return best_of([candidates.best()], query)


class BoundedSearch(Search):
    """Searches that descend where bounds leave little to read, and pass over all nodes elsewhere.

    Once residuals settle, a pass remembers bounds; later searches descend while these, loosened by how far residuals
    moved, leave little to read. Both ways give the same result.
    """

    #: An ascent searches in every iteration.
    PASSES_BEFORE_COARSE = 16

    def __init__(self, index: NgramIndex, inverse_weights: np.ndarray, row_of_node: np.ndarray) -> None:
        super().__init__(index, inverse_weights, row_of_node)
        self.descent = Descent(index, inverse_weights)
        self.last: np.ndarray | None = None

    def best(self, request: SearchRequest) -> Violations:
        residuals, query = request.residuals, request.query(self.inverse_weights, self.row_of_node)
        if is_near(self.descent.residuals, request) and self._descent_pays(residuals, query):
            return self.descent.best(residuals, query)
        if is_near(self.last, request):
            self.descent.remember(residuals, query)
            return self.descent.best(residuals, query)
        self.last = residuals.copy()
        return self.by_pass(residuals, query, request.n_threads)

    def _descent_pays(self, residuals: np.ndarray, query: kernels.NodeQuery) -> bool:
        lane_tables = -(-query.n_labels // LANES)
        return self.descent.cost(residuals, query) < len(self.index.events) * lane_tables // DESCENT_PRICE


def is_near(before: np.ndarray | None, request: SearchRequest) -> bool:
    """Whether residuals have moved, but the gradient of a thousand documents by under a tenth of the least gradient."""
    if before is None:
        return False
    moved = np.sqrt(((request.residuals - before) ** 2).sum(axis=0).max(initial=0.0))
    return bool(0.0 < moved * np.sqrt(1000.0) < 0.1 * request.min_gradient)
