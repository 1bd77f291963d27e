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
#: Full passes in a row that a coarse tree would have done for before it is made, which takes as long as two of them;
#: and which part of the smallest frequency that could have mattered in these is its own, so that it lasts.
PATIENCE, RESERVE = 4, 0.7


class Search:
    """Exact n-best searches over an index whose active nodes and residuals change from round to round.

    In the early rounds of a fit the full pass is the cheaper by far. Once residuals settle, a pass remembers bounds;
    later searches descend while these, loosened by how far residuals moved, leave little to read. Both strategies give
    the same result.

    A node of df documents has |v| ≤ df max |δ|. Where that is under the threshold for many nodes in many searches, as
    in an ascent, passes leave these nodes out.

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
        self.smallest_df = int(index.df.min(initial=index.n_documents))
        self.largest_inverse = float(inverse_weights.max(initial=0.0)) if inverse_weights.shape[1] else 1.0
        self.coarse: CoarseTree | None = None
        #: The frequencies that could have been cut in the last passes, while a coarser tree could have been used.
        self.cuts: list[int] = []

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
        """A pass over the nodes that are frequent enough to be found, or over all."""
        coarse = self._coarse_enough(self._cut(residuals, sought.threshold))
        if coarse is None:
            return best_by_stream(self.index, residuals, sought)
        found = best_by_stream(coarse, residuals, coarse.sought(sought))
        return replace(found, nodes=coarse.nodes[found.nodes])

    def _cut(self, residuals: np.ndarray, threshold: float) -> int:
        """The fewest documents that a node can have whose ratio is above the threshold."""
        largest = float(np.abs(residuals).max(initial=0.0)) * self.largest_inverse
        # Less by what sums may be rounded by.
        return int(min((1.0 - 1e-9) * threshold / largest, self.index.n_documents)) + 1 if largest > 0.0 else 1

    def _coarse_enough(self, cut: int) -> CoarseTree | None:
        """The coarse tree, if it has all nodes of ``cut`` documents or more; a new one if many passes want it."""
        if self.coarse is not None and self.coarse.min_df > cut:
            self.coarse = None
        own = self.smallest_df if self.coarse is None else self.coarse.min_df
        self.cuts = [*self.cuts, cut] if RESERVE * cut >= 2 * own else []
        if len(self.cuts) == PATIENCE:
            self.coarse = CoarseTree.build(self.index, int(RESERVE * min(self.cuts)))
            self.cuts = []
        return self.coarse

    def _descent_pays(self, residuals: np.ndarray, sought: Sought) -> bool:
        lane_tables = -(-sought.n_labels // LANES)
        return self.descent.cost(residuals, sought) < len(self.index.events) * lane_tables // DESCENT_PRICE

    def _near(self, before: np.ndarray | None, residuals: np.ndarray, threshold: float) -> bool:
        """Whether residuals have moved, but the gradient of a thousand documents by under a tenth of the threshold."""
        if before is None:
            return False
        moved = np.sqrt(((residuals - before) ** 2).sum(axis=0).max(initial=0.0))
        return bool(0.0 < moved * np.sqrt(1000.0) < 0.1 * threshold)
