"""The pruned descent: from the root of the tree, past every subtree that a bound rules out.

Two bounds rule a subtree out. The *prefix bound* (Ifrim, Bakir & Weikum, KDD 2008, theorem 1): for node s and label y,
max(Σ_i∈s max(δ_iy, 0), Σ_i∈s max(-δ_iy, 0)) bounds |v| of s and of every extension. And the *remembered bound*: the
largest ratio below s at the last full pass, plus what the residuals can have moved since, for df documents at most
min(√df ‖Δ‖₂, df ‖Δ‖∞, ‖Δ‖₁). The second costs two comparisons a node and no look at documents; it is what makes the
descent cheaper than the full pass once residuals settle. Without anything remembered this is the descent of the paper.
"""

from __future__ import annotations

import numpy as np

from ..index import kernels as tree
from ..index.ngrams import NgramIndex
from ..index.sums import lanes_of
from . import kernels
from .violations import Candidates, Violations


class Descent:
    """Descents over one index, and what they remember.

    Memory: 8 bytes a node for the remembered bounds, 4 more where there are penalty weights; a copy of the residuals.
    """

    def __init__(self, index: NgramIndex, inverse_weights: np.ndarray, row_of_node: np.ndarray) -> None:
        self.index = index
        self.inverse_weights = inverse_weights
        self.row_of_node = row_of_node
        if inverse_weights.shape[1]:
            self.largest_inverse = kernels.peaks_below(index.level, inverse_weights.max(axis=1))
        else:
            self.largest_inverse = np.empty(0, np.float32)
        self.peaks = np.full(index.n_nodes, np.inf, np.float32)
        self.peaks_below = self.peaks
        self.residuals: np.ndarray | None = None

    def remember(self, residuals: np.ndarray) -> None:
        """A full pass that keeps every node's largest ratio, and the largest below each node.

        Parameters
        ----------
        residuals : float64 (documents, labels)
            a_i δ_iy.
        """
        index = self.index
        self.peaks = np.zeros(index.n_nodes, np.float32)
        sums = np.empty((tree.CHUNK, tree.LANES))
        for i, lanes in enumerate(lanes_of(residuals)):
            carried = np.zeros((int(index.level.max(initial=0)) + 2, tree.LANES))
            for begin in range(0, index.n_nodes, tree.CHUNK):
                end = min(begin + tree.CHUNK, index.n_nodes)
                tree.node_sums(index.level, index.bounds, index.events, lanes, carried, begin, end, sums)
                kernels.note_peaks(
                    sums, begin, end, i * tree.LANES, residuals.shape[1], self.inverse_weights, self.peaks
                )
        self.peaks_below = kernels.peaks_below(index.level, self.peaks)
        self.residuals = residuals.copy()

    def movement(self, residuals: np.ndarray) -> np.ndarray:
        """How far residuals are from the remembered ones: largest ‖Δ‖₁, ‖Δ‖₂ and ‖Δ‖∞ of a label."""
        if self.residuals is None:
            return np.full(3, np.inf)
        moved = np.abs(residuals - self.residuals)
        norms = np.array([moved.sum(axis=0), np.sqrt((moved**2).sum(axis=0)), moved.max(axis=0, initial=0.0)])
        return np.asarray(norms.max(axis=1, initial=0.0))

    def cost(self, residuals: np.ndarray, threshold: float) -> int:
        """Events that a descent would read at the most."""
        index = self.index
        return int(
            kernels.events_to_read(
                index.first, index.df, index.bounds, self.row_of_node, residuals.shape[1], self.peaks,
                self.peaks_below, self.largest_inverse, self.movement(residuals), threshold,
            )
        )  # fmt: skip

    def best(self, residuals: np.ndarray, threshold: float, wanted: int, active: np.ndarray) -> Violations:
        """The ``wanted`` pairs with the largest |v| / λ above ``threshold``, as :func:`best_by_stream` finds them."""
        index = self.index
        candidates = Candidates(wanted, residuals.shape[1])
        kernels.descend(
            index.first, index.df, index.bounds, index.events, np.ascontiguousarray(residuals), self.inverse_weights,
            self.row_of_node, active, self.peaks, self.peaks_below, self.largest_inverse, self.movement(residuals),
            threshold, wanted, *candidates.arrays,
        )  # fmt: skip
        return candidates.violations()
