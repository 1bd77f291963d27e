"""What a search gives back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .kernels import Found, Sought


@dataclass(frozen=True)
class Violations:
    """The pairs that violate the optimality condition most, worst first, and sums over all that violate.

    Attributes
    ----------
    nodes, labels : int64
    ratios : float64
        |v_ky| / λ_ky.
    count : int
        How many pairs violate.
    peaks : float64 (labels)
        Largest ratio of each label, 0 where none violates.
    squared_excess : float64 (labels)
        Σ_k max(|v_ky| / λ_ky - C, 0)².
    """

    nodes: np.ndarray
    labels: np.ndarray
    ratios: np.ndarray
    count: int
    peaks: np.ndarray
    squared_excess: np.ndarray


class Candidates:
    """Room for the best pairs of a search while it runs; when it is full, the best are kept.

    Memory: 16 bytes for each of :attr:`ROOM` times the pairs wanted, whatever the number that violates.
    """

    #: Room in units of the number wanted, and at the least: choosing the best costs a sort of the room.
    ROOM, SMALLEST_ROOM = 8, 4096

    def __init__(self, sought: Sought) -> None:
        room = max(self.ROOM * sought.wanted, self.SMALLEST_ROOM)
        self.sought = sought
        self.found = Found(
            ratios=np.empty(room),
            keys=np.empty(room, np.int64),
            counters=np.zeros(3),
            peaks=np.zeros(sought.n_labels),
            excess=np.zeros(sought.n_labels),
        )

    def violations(self) -> Violations:
        """The ``wanted`` best by (ratio, then node and label)."""
        found = self.found
        count = int(found.counters[0])
        order = np.lexsort((found.keys[:count], -found.ratios[:count]))[: self.sought.wanted]
        nodes, labels = np.divmod(found.keys[order], self.sought.n_labels)
        return Violations(nodes, labels, found.ratios[order], int(found.counters[1]), found.peaks, found.excess)
