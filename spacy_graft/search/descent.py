"""The pruned descent: from the root of the tree, past every subtree that a bound rules out.

Two bounds rule a subtree out. The *prefix bound* (Ifrim, Bakir & Weikum, KDD 2008, theorem 1): for node s and label y,
max(Σ_i∈s max(δ_iy, 0), Σ_i∈s max(-δ_iy, 0)) bounds |v| of s and of every extension. And the *remembered bound*: the
largest ratio below s at the last full pass, plus what the residuals can have moved since, for df documents at most
min(√df ‖Δ‖₂, df ‖Δ‖∞, ‖Δ‖₁). The second costs two comparisons a node and no look at documents; it is what makes the
descent cheaper than the full pass once residuals settle. Without anything remembered this is the descent of the paper.
"""

from __future__ import annotations

import numpy as np

from ..index.ngrams import NgramIndex
from ..index.sums import passes
from . import kernels
from .violations import Candidates, Violations


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

    def remember(self, residuals: np.ndarray, sought: kernels.Sought) -> None:
        """A full pass that keeps every node's largest ratio, and the largest below each node.

        Parameters
        ----------
        residuals : float64 (documents, labels)
            a_i δ_iy.
        sought : Sought
            Only its penalty weights matter: active pairs are remembered as well.
        """
        self.peaks = np.zeros(self.index.n_nodes, np.float32)
        for label, begin, end, sums in passes(self.index.tree, residuals):
            kernels.note_peaks(sums, begin, end, label, sought, self.peaks)
        self.peaks_below = kernels.peaks_below(self.index.level, self.peaks)
        self.residuals = residuals.copy()

    def remembered(self, residuals: np.ndarray) -> kernels.Remembered:
        """The bounds, and how far residuals have moved from those that they were made with."""
        movement = np.full(3, np.inf)
        if self.residuals is not None:
            moved = np.abs(residuals - self.residuals)
            norms = (moved.sum(axis=0), np.sqrt((moved**2).sum(axis=0)), moved.max(axis=0, initial=0.0))
            movement = np.array([norm.max(initial=0.0) for norm in norms])
        return kernels.Remembered(self.peaks, self.peaks_below, self.largest_inverse, movement)

    def cost(self, residuals: np.ndarray, sought: kernels.Sought) -> int:
        """Events that a descent would read at the most."""
        return int(kernels.events_to_read(self.index.tree, sought, self.remembered(residuals)))

    def best(self, residuals: np.ndarray, sought: kernels.Sought) -> Violations:
        """The ``wanted`` pairs with the largest |v| / λ above the threshold, as :func:`best_by_stream` finds them."""
        candidates = Candidates(sought)
        bounds = self.remembered(residuals)
        residuals = np.ascontiguousarray(residuals)
        place = self.index.n_nodes - 1
        while (place := kernels.descend(place, self.index.tree, residuals, sought, bounds, candidates.found)) >= 0:
            candidates.keep_best()
        return candidates.violations()
