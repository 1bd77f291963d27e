"""What a search gives back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


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

    def __init__(self, wanted: int, n_labels: int) -> None:
        self.wanted = wanted
        self.n_labels = n_labels
        room = max(self.ROOM * wanted, self.SMALLEST_ROOM)
        self.ratios = np.empty(room)
        self.keys = np.empty(room, np.int64)
        self.counters = np.zeros(3)
        self.peaks = np.zeros(n_labels)
        self.excess = np.zeros(n_labels)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """What the kernels fill."""
        return self.ratios, self.keys, self.counters, self.peaks, self.excess

    def violations(self) -> Violations:
        """The ``wanted`` best by (ratio, then node and label)."""
        count = int(self.counters[0])
        order = np.lexsort((self.keys[:count], -self.ratios[:count]))[: self.wanted]
        nodes, labels = np.divmod(self.keys[order], self.n_labels)
        return Violations(nodes, labels, self.ratios[order], int(self.counters[1]), self.peaks, self.excess)
