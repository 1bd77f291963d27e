"""One search over one index, by the cheaper of the full pass and the pruned descent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..index.kernels import LANES
from ..index.ngrams import NgramIndex
from .coarse import CoarseTree
from .descent import Descent
from .kernels import Sought
from .stream import best_by_stream
from .violations import Violations

#: Events that the full pass reads in the time in which a descent reads one (a descent reads twice, and out of order);
#: measured on movie_reviews and 20newsgroups, see ``benchmarks/README.md``.
DESCENT_PRICE = 4
#: Full passes before a coarse tree is made, which takes as long as two of them; its smallest frequency in units of what
#: the search needs, so that it lasts while thresholds fall; and how much more they must have risen for another one.
PATIENCE, RESERVE, RISE = 16, 0.7, 8


class Search:
    """Exact n-best searches over an index whose active nodes and residuals change from round to round.

    In the early rounds of a fit the full pass is the cheaper by far. Once residuals settle, a pass remembers bounds;
    later searches descend while these, loosened by how far residuals moved, leave little to read. Both strategies give
    the same result.

    Where searches are many, as in an ascent, passes go over a coarse tree. It leaves out nodes without a feature of
    their own and, since |v| ≤ df max |δ|, nodes that are too rare for the threshold.

    Parameters
    ----------
    index : NgramIndex
    inverse_weights : float32 (n_nodes, 0, 1 or labels)
        1 / λ_ky.
    row_of_node : int32 (n_nodes)
        Kept by the caller; see :mod:`spacy_graft.search.kernels`.
    """

    def __init__(self, index: NgramIndex, inverse_weights: np.ndarray, row_of_node: np.ndarray) -> None:
        self.index = index
        self.inverse_weights = inverse_weights
        self.row_of_node = row_of_node
        self.descent = Descent(index, inverse_weights)
        self.last: np.ndarray | None = None
        self.largest_inverse = float(inverse_weights.max(initial=0.0)) if inverse_weights.shape[1] else 1.0
        self.coarse: CoarseTree | None = None
        self.n_passes = 0

    def best(self, residuals: np.ndarray, threshold: float, wanted: int, active: np.ndarray) -> Violations:
        """The ``wanted`` pairs with the largest |v| / λ above ``threshold``.

        Parameters
        ----------
        residuals : float64 (documents, labels)
            a_i δ_iy.
        threshold : float
            C.
        wanted : int
        active : bool (rows, labels)
            Pairs that are in the model.
        """
        sought = Sought(self.inverse_weights, self.row_of_node, active, threshold, wanted, residuals.shape[1])
        if self._near(self.descent.residuals, residuals, threshold) and self._descent_pays(residuals, sought):
            return self.descent.best(residuals, sought)
        if self._near(self.last, residuals, threshold):
            self.descent.remember(residuals, sought)
            return self.descent.best(residuals, sought)
        self.last = residuals.copy()
        return self._by_pass(residuals, sought)

    def _by_pass(self, residuals: np.ndarray, sought: Sought) -> Violations:
        """A pass over all nodes; or, from some pass on, over those that can be found."""
        self.n_passes += 1
        if self.n_passes <= PATIENCE:
            return best_by_stream(self.index, residuals, sought)
        cut = self._cut(residuals, sought.threshold)
        if self.coarse is None or not self.coarse.min_df <= cut <= RISE * self.coarse.min_df:
            self.coarse = CoarseTree.build(self.index, self.inverse_weights, max(int(RESERVE * cut), 1))
        found = best_by_stream(self.coarse, residuals, self.coarse.sought(sought))
        return replace(found, nodes=self.coarse.nodes[found.nodes])

    def _cut(self, residuals: np.ndarray, threshold: float) -> int:
        """The fewest documents that a node can have whose ratio is above the threshold."""
        largest = float(np.abs(residuals).max(initial=0.0)) * self.largest_inverse
        # Less by what sums may be rounded by.
        return int(min((1.0 - 1e-9) * threshold / largest, self.index.n_documents)) + 1 if largest > 0.0 else 1

    def _descent_pays(self, residuals: np.ndarray, sought: Sought) -> bool:
        lane_tables = -(-sought.n_labels // LANES)
        return self.descent.cost(residuals, sought) < len(self.index.events) * lane_tables // DESCENT_PRICE

    def _near(self, before: np.ndarray | None, residuals: np.ndarray, threshold: float) -> bool:
        """Whether residuals have moved, but the gradient of a thousand documents by under a tenth of the threshold."""
        if before is None:
            return False
        moved = np.sqrt(((residuals - before) ** 2).sum(axis=0).max(initial=0.0))
        return bool(0.0 < moved * np.sqrt(1000.0) < 0.1 * threshold)
