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

    #: Room in units of the number wanted, and at the least, beside that for all labels of one node.
    ROOM, SMALLEST_ROOM = 8, 4096

    def __init__(self, sought: Sought) -> None:
        room = max(self.ROOM * sought.wanted, self.SMALLEST_ROOM) + sought.n_labels
        self.sought = sought
        self.found = Found(
            ratios=np.empty(room),
            keys=np.empty(room, np.int64),
            counters=np.zeros(3),
            peaks=np.zeros(sought.n_labels),
            excess=np.zeros(sought.n_labels),
        )

    def keep_best(self) -> None:
        """Move the ``wanted`` best to the front, by (ratio, then key); the worst of them is the new floor."""
        found, wanted = self.found, self.sought.wanted
        count = int(found.counters[0])
        ratios, keys = found.ratios[:count], found.keys[:count]
        worst = np.partition(ratios, count - wanted)[count - wanted]
        above = np.flatnonzero(ratios > worst)
        tied = np.sort(keys[ratios == worst])[: wanted - len(above)]
        keys[:wanted] = np.concatenate([keys[above], tied])
        ratios[:wanted] = np.concatenate([ratios[above], np.full(len(tied), worst)])
        found.counters[0], found.counters[2] = wanted, worst

    def violations(self) -> Violations:
        """The ``wanted`` best by (ratio, then node and label)."""
        found = self.found
        count = int(found.counters[0])
        order = np.lexsort((found.keys[:count], -found.ratios[:count]))[: self.sought.wanted]
        nodes, labels = np.divmod(found.keys[order], self.sought.n_labels)
        return Violations(nodes, labels, found.ratios[order], int(found.counters[1]), found.peaks, found.excess)
