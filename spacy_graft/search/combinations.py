"""Exact n-best searches over all products of two or three originals.

Which combinations there are is never written down: the walk of :mod:`spacy_graft.search.combination_kernels` meets
those that no bound rules out. Three things keep it short: only originals whose own bound is above C take part (*anchors
first*), ranked by document frequency, so that an anchor meets the rare others rarely; the threshold rises to the worst
of the n best when their room is full; and the bounds of pairs cut down what triples are made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..index.fingerprints import column_numbers
from ..index.items import ItemIndex
from . import combination_kernels as kernels
from .violations import Violations
from .weighting import Weighting

#: Originals that a code has room for.
MOST_ORIGINALS = kernels.MASK - 1


@dataclass(frozen=True)
class LabelWeights:
    """How combinations are weighed for one label.

    Attributes
    ----------
    weighting : Weighting
    shares : float64 (documents, 2)
        What of each document is inside and outside the label; no rows where weights do not follow from counts.
    """

    weighting: Weighting
    shares: np.ndarray


class CombinationSearch:
    """Searches over the products of some originals.

    Columns that several combinations share are one feature, named by the simplest of them: a pair before a triple, then
    by the numbers of the originals. A combination with the column of a single feature is none.

    Memory: 20 bytes an entry of the originals' columns during a walk (36 where they have values).

    Parameters
    ----------
    originals : ItemIndex
    taken : int64
        Keys of the columns that are features of their own.
    weights : sequence of LabelWeights
        By label.
    degree : int
        2 or 3.
    min_df : int

    Raises
    ------
    ValueError
        If there are more originals than codes have room for.
    """

    #: Room for candidates in units of the number wanted, and at the least.
    ROOM, SMALLEST_ROOM = 8, 4096

    def __init__(
        self, originals: ItemIndex, taken: np.ndarray, weights: Sequence[LabelWeights], degree: int, min_df: int
    ) -> None:
        if originals.n_nodes > MOST_ORIGINALS:
            raise ValueError(
                f"There are {originals.n_nodes:,} originals to combine; at most {MOST_ORIGINALS:,} can be. Raise the "
                f"min_df of their blocks, or combine fewer blocks."
            )
        self.originals = originals
        self.columns = kernels.Originals(
            originals.starts, originals.documents, originals.values,
            column_numbers(originals.n_documents), np.unique(taken),
        )  # fmt: skip
        self.weights = weights
        self.degree = degree
        self.min_df = min_df
        self.by_frequency = np.argsort(originals.df, kind="stable")
        self.shares = [
            originals.sums(label.shares) if len(label.shares) else np.zeros((originals.n_nodes, 2)) for label in weights
        ]

    def best(
        self,
        residuals: np.ndarray,
        threshold: float,
        wanted: int,
        active_keys: np.ndarray,
        active: np.ndarray,
        degree: int,
        complete: bool,
    ) -> tuple[Violations, np.ndarray]:
        """The ``wanted`` combinations and labels with the largest |v| / λ above ``threshold``.

        Parameters
        ----------
        residuals : float64 (documents, labels)
            a_i δ_iy.
        threshold : float
            C.
        wanted : int
        active_keys : int64 (rows)
            Keys of the columns of combinations that are in the model.
        active : bool (rows, labels)
            For which labels they are.
        degree : int
            No products of more than so many originals.
        complete : bool
            Whether the sums over all violations are wanted; else the search is faster, and ``squared_excess`` may be
            infinite.

        Returns
        -------
        Violations
            Its nodes are codes, see :func:`members`.
        int64
            The keys of their columns.
        """
        found = self._room(wanted, residuals.shape[1])
        order = np.argsort(active_keys)
        for label, weights in enumerate(self.weights):
            query = kernels.Query(
                label, min(degree, self.degree), self.min_df, wanted, np.ascontiguousarray(residuals[:, label]),
                weights.shares, weights.weighting, threshold, complete, active_keys[order], active[order, label],
            )  # fmt: skip
            self._walk(query, self.shares[label], found)
        return self._violations(found, wanted, complete)

    def _walk(self, query: kernels.Query, shares: np.ndarray, found: kernels.Products) -> None:
        bounds, inverses = kernels.bounds_below(self.columns, shares, query)
        able = bounds > kernels.lowest_of_use(query, found)
        chosen = self.by_frequency[able[self.by_frequency]]
        if len(chosen) < 2:
            return
        by_residual = np.argsort(-np.abs(query.residuals), kind="stable")
        database = kernels.database_of(*self.columns[:3], chosen, by_residual, query.residuals, query.shares)
        anchors = np.argsort(-bounds[chosen], kind="stable")
        kernels.walk(anchors, bounds[chosen], inverses[chosen], chosen, database, self.columns, query, found)

    def _room(self, wanted: int, n_labels: int) -> kernels.Products:
        room = max(self.ROOM * wanted, self.SMALLEST_ROOM)
        return kernels.Products(
            ratios=np.empty(room),
            codes=np.empty(room, np.int64),
            keys=np.empty(room, np.int64),
            labels=np.empty(room, np.int64),
            slots=np.full(4 << room.bit_length(), -1, np.int32),
            counters=np.zeros(3),
            peaks=np.zeros(n_labels),
            excess=np.zeros(n_labels),
        )

    def _violations(self, found: kernels.Products, wanted: int, complete: bool) -> tuple[Violations, np.ndarray]:
        count, floor = int(found.counters[0]), found.counters[2]
        ratios, codes, labels = found.ratios[:count], found.codes[:count], found.labels[:count]
        best = np.lexsort((labels, codes, -ratios))[:wanted]
        excess = found.excess if complete or floor == 0.0 else np.full(len(found.excess), np.inf)
        violations = Violations(codes[best], labels[best], ratios[best], int(found.counters[1]), found.peaks, excess)
        return violations, found.keys[:count][best]

    def inverse_weights(self, codes: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """1 / λ of combinations and labels: float64."""
        inverse = np.empty(len(codes))
        for label, weights in enumerate(self.weights):
            here = labels == label
            inverse[here] = kernels.inverse_weights(codes[here], self.columns, weights.shares, weights.weighting)
        return inverse

    def of_codes(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Columns of combinations: starts int64, documents int32, values float64 (or none), and their keys int64."""
        return kernels.products(codes, self.columns)


def simplest_first(codes: np.ndarray) -> np.ndarray:
    """The order that puts pairs before triples, then by originals."""
    return np.lexsort((codes, codes & kernels.MASK != 0))


def members(code: int) -> tuple[int, ...]:
    """The originals of a combination, ascending."""
    parts = (code >> (2 * kernels.BITS), (code >> kernels.BITS) & kernels.MASK, code & kernels.MASK)
    return tuple(int(part) - 1 for part in parts if part)
