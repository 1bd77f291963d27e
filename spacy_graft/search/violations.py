"""What a search gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .kernels import N_SLOTS, NodeCandidates, NodeQuery, sum_of_slots


@dataclass(frozen=True)
class Violations:
    """The pairs that violate the optimality condition most, worst first, and sums over all that violate.

    Attributes
    ----------
    nodes, labels : int64
    scaled_gradients : float64
        Scaled gradients: |v_ky| / λ_ky over the factor of its sign.
    count : int
        How many pairs violate.
    peaks : float64 (labels)
        Largest scaled gradient of each label, 0 where none violates.
    squared_excess : float64 (labels)
        Σ_k max(|v_ky| / λ_ky − κ min_gradient, 0)², with the factor κ of the sign of v_ky, rounded up by less than
        one part in a million.
    """

    nodes: np.ndarray
    labels: np.ndarray
    scaled_gradients: np.ndarray
    count: int
    peaks: np.ndarray
    squared_excess: np.ndarray


class Candidates:
    """Room for the best pairs of a search while it runs; when it is full, the best are kept.

    Memory: 16 bytes for each of :attr:`ROOM` times ``n_best``, whatever the number that violates, and 2 kB a label.

    The pairs are of ``n_labels`` labels, from ``first_label`` on.
    """

    #: Room in units of ``n_best``, and at the least, beside that for all labels of one node.
    ROOM, SMALLEST_ROOM = 8, 4096

    def __init__(self, query: NodeQuery, first_label: int, n_labels: int) -> None:
        room = max(self.ROOM * query.n_best, self.SMALLEST_ROOM) + query.n_labels
        self.query = query
        self.found = NodeCandidates(
            scaled_gradients=np.empty(room),
            keys=np.empty(room, np.int64),
            n_candidates=np.zeros(1, np.int64),
            n_violations=np.zeros(1, np.int64),
            floor=np.zeros(1),
            first_label=first_label,
            peaks=np.zeros(n_labels),
            squared_excess=np.zeros((n_labels, N_SLOTS), np.int64),
        )

    def best(self) -> NodeCandidates:
        """The ``n_best`` best, or all, in no more room than they need."""
        if self.found.n_candidates[0] > self.query.n_best:
            self.keep_best()
        n = self.found.n_candidates[0]
        return self.found._replace(
            scaled_gradients=self.found.scaled_gradients[:n].copy(), keys=self.found.keys[:n].copy()
        )

    def keep_best(self) -> None:
        """As :func:`keep_best`, by (scaled gradient, then key)."""
        keep_best(self.found, self.query.n_best, self.found.scaled_gradients, self.found.keys)


def keep_best(found: Any, n_best: int, gradients: np.ndarray, ties: np.ndarray, *others: np.ndarray) -> None:
    """Move the ``n_best`` best candidates to the front, by (gradient, then ties); the worst of them is the floor."""
    count = found.n_candidates[0]
    kept = best_places(gradients[:count], ties[:count], n_best)
    for values in (gradients, ties, *others):
        values[:n_best] = values[kept]
    found.n_candidates[0], found.floor[0] = n_best, gradients[:n_best].min()


def best_places(gradients: np.ndarray, ties: np.ndarray, n_best: int) -> np.ndarray:
    """Where the ``n_best`` largest of more gradients are; of equal ones, those of least ``ties``."""
    worst = np.partition(gradients, len(gradients) - n_best)[len(gradients) - n_best]
    above, tied = np.flatnonzero(gradients > worst), np.flatnonzero(gradients == worst)
    return np.concatenate([above, tied[np.argsort(ties[tied])][: n_best - len(above)]])


def best_of(found: Sequence[NodeCandidates], query: NodeQuery) -> Violations:
    """The ``n_best`` best by (scaled gradient, then node and label) of what :meth:`Candidates.best` gives."""
    gradients = np.concatenate([np.empty(0), *(part.scaled_gradients for part in found)])
    keys = np.concatenate([np.empty(0, np.int64), *(part.keys for part in found)])
    order = np.lexsort((keys, -gradients))[: query.n_best]
    nodes, labels = np.divmod(keys[order], max(query.n_labels, 1))
    peaks, slots = np.zeros(query.n_labels), np.zeros((query.n_labels, N_SLOTS), np.int64)
    for part in found:
        here = slice(part.first_label, part.first_label + len(part.peaks))
        np.maximum(peaks[here], part.peaks, out=peaks[here])
        slots[here] += part.squared_excess
    n_violations = sum(int(part.n_violations[0]) for part in found)
    return Violations(nodes, labels, gradients[order], n_violations, peaks, sum_of_slots(slots))
