"""Exact n-best searches over all combinations of two or three items.

Which combinations there are is never written down: the walk of :mod:`spacy_graft.search.combination_kernels` meets
those that no bound rules out. Three things keep it short: only items whose own bound is above the least gradient take
part (*anchors first*), ranked by document frequency, so that an anchor meets the rare others rarely; the least gradient
rises to the worst of the n best when their room is full; and the bounds of pairs cut down what triples are made of.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from ..extract.hashing import EMPTY, empty_slots
from ..extract.kernels import insert_rows
from ..index.columns import column_numbers
from ..index.items import ItemIndex
from ..threads import in_threads
from . import column_kernels, database_kernels
from . import combination_kernels as kernels
from .request import SearchRequest
from .violations import Violations, keep_best
from .weighting import ROUNDING, STANDARD, Weighting, largest_inverse_weight

#: Originals that a code has room for.
MOST_ITEMS = column_kernels.MASK - 1


@dataclass(frozen=True)
class LabelPenaltyWeights:
    """How combinations are weighed for one label.

    ``shares`` are what of each document is inside and outside the label: float64 (documents, 2); no rows where weights
    do not follow from counts.
    """

    weighting: Weighting
    shares: np.ndarray


class LabelViolations(NamedTuple):
    """What a walk finds for one label.

    Gradients (float64), codes and keys (int64) are those of the ``n_best`` best; peak and excess as of
    :class:`.violations.Violations`.
    """

    gradients: np.ndarray
    codes: np.ndarray
    keys: np.ndarray
    n_violations: int
    peak: float
    squared_excess: float


class CombinationSearch:
    """Searches over the combinations of some items.

    Columns that several combinations share are one feature, named by the simplest of them: a pair before a triple, then
    by the numbers of the items. A combination with the column of a single feature is none.

    Labels are searched by threads. Memory: for each thread, 20 bytes an entry of the items' columns (36 where they have
    values).

    Parameters
    ----------
    items : ItemIndex
    taken : int64
        Keys of the columns that are features of their own.
    weights : sequence of LabelPenaltyWeights
        By label.
    degree : int
        2 or 3.
    min_df : int

    Raises
    ------
    ValueError
        If there are more items than codes have room for.
    """

    #: Room for candidates in units of ``n_best``, and at the least.
    ROOM, SMALLEST_ROOM = 8, 4096

    def __init__(
        self, items: ItemIndex, taken: np.ndarray, weights: Sequence[LabelPenaltyWeights], degree: int, min_df: int
    ) -> None:
        if items.n_nodes > MOST_ITEMS:
            raise ValueError(
                f"There are {items.n_nodes:,} items to combine; at most {MOST_ITEMS:,} can be. Raise the "
                f"min_df of their blocks, or combine fewer blocks."
            )
        self.items = items
        self.columns = column_kernels.ItemColumns(
            items.starts, items.documents, items.values,
            column_numbers(items.n_documents), np.unique(taken),
        )  # fmt: skip
        self.weights = weights
        self.degree = degree
        self.min_df = min_df
        self.by_frequency = np.argsort(items.df, kind="stable")
        self.shares = [
            items.sums(label.shares) if len(label.shares) else np.zeros((items.n_nodes, 2)) for label in weights
        ]

    @property
    def largest_inverse_weight(self) -> float:
        """At least x / λ of every combination and label, x any of its values."""
        of_labels = [label.weighting for label in self.weights]
        return max((largest_inverse_weight(w, self.min_df, w.n_inside, w.n_outside) for w in of_labels), default=0.0)

    def best(self, request: SearchRequest, active_keys: np.ndarray) -> tuple[Violations, np.ndarray]:
        """The combinations and labels with the largest scaled gradients.

        Parameters
        ----------
        request : SearchRequest
            Its rows are those of the combinations in the model.
        active_keys : int64 (rows)
            Keys of their columns.

        Returns
        -------
        Violations
            Its nodes are codes, see :func:`members`.
        int64
            The keys of their columns.
        """
        order, n_labels = np.argsort(active_keys), len(self.weights)
        active_keys = active_keys[order]
        found: list[LabelViolations] = []
        # A limit from some labels saves work for the others. Where not all violations are counted, it hides the peak of
        # a label whose violations are all below it.
        begins_alone = request.count_all or request.only_largest
        gradients, floor, end = np.empty(0), 0.0, 1 if begins_alone else n_labels
        while len(found) < n_labels:
            batch = range(len(found), min(end, n_labels))
            work = [partial(self._of_label, request, label, active_keys, order, floor) for label in batch]
            found += in_threads(work, request.n_threads)
            gradients, end = np.concatenate([part.gradients for part in found]), 2 * end
            if len(gradients) >= request.n_best:
                floor = float(np.partition(gradients, len(gradients) - request.n_best)[-request.n_best])
        codes, keys = (
            np.concatenate([np.empty(0, np.int64), *parts])
            for parts in ([part.codes for part in found], [part.keys for part in found])
        )
        labels = np.repeat(np.arange(len(found)), [len(part.codes) for part in found])
        best = np.lexsort((labels, codes, -gradients))[: request.n_best]
        violations = Violations(
            codes[best], labels[best], gradients[best],
            count=sum(part.n_violations for part in found),
            peaks=np.array([part.peak for part in found]),
            squared_excess=np.array([part.squared_excess for part in found]),
        )  # fmt: skip
        return violations, keys[best]

    def _of_label(
        self, request: SearchRequest, label: int, active_keys: np.ndarray, order: np.ndarray, floor: float
    ) -> LabelViolations:
        """The best combinations for one label, those below the floor only counted."""
        residuals = np.ascontiguousarray(request.residuals[:, label])
        shares, of_items = self._shares(label, residuals)
        query = kernels.WalkQuery(
            min(request.degree, self.degree), self.min_df, request.n_best, residuals, shares,
            self.weights[label].weighting, request.min_gradient, request.count_all, active_keys,
            request.active[order, label], *request.sign_inverses[:, label].tolist(),
        )  # fmt: skip
        found = self._room(request.n_best)
        found.floor[0] = floor
        self._walk(query, of_items, found)
        counted = request.count_all or found.floor[0] == 0.0
        if found.n_candidates[0] > request.n_best:
            keep_best_combinations(found, request.n_best)
        n = found.n_candidates[0]
        return LabelViolations(
            gradients=found.gradients[:n].copy(),
            codes=found.codes[:n].copy(),
            keys=found.keys[:n].copy(),
            n_violations=int(found.n_violations[0]),
            peak=float(found.peak[0]),
            squared_excess=float(found.squared_excess[0]) if counted else math.inf,
        )

    def _shares(self, label: int, residuals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The two shares of each document, and their sums over each item.

        Where λ is a deviation it is bounded by the numbers of documents and the sums of squared residuals.
        """
        weights = self.weights[label]
        if weights.weighting.kind != STANDARD:
            return weights.shares, self.shares[label]
        shares = np.stack([np.ones(len(residuals)), residuals**2], axis=1)
        return shares, self.items.sums(shares)

    def _walk(self, query: kernels.WalkQuery, shares: np.ndarray, found: kernels.CombinationCandidates) -> None:
        bounds, inverses = np.empty(self.items.n_nodes), np.empty(self.items.n_nodes)
        kernels.bounds_below(self.columns, shares, query, bounds, inverses)
        able = bounds > lowest_of_use(query, found)
        chosen = self.by_frequency[able[self.by_frequency]]
        if len(chosen) < 2:
            return
        by_residual = np.argsort(-np.abs(query.residuals), kind="stable")
        database = database_kernels.database_of(*self.columns[:3], chosen, by_residual, query.residuals, query.shares)
        anchors = np.argsort(-bounds[chosen], kind="stable")
        standardised = query.weighting.kind == STANDARD and len(self.columns.values) > 0
        walk = walk_over(database, chosen, -1, anchors, bounds[chosen], inverses[chosen], standardised)
        self._advance(walk, query, found)

    def _advance(self, walk: kernels.Walk, query: kernels.WalkQuery, found: kernels.CombinationCandidates) -> None:
        """Walk to the end; whenever candidates have no room left, the best are kept."""
        while True:
            # The floor rises between calls only, when the best candidates are kept.
            stop = kernels.advance(walk, self.columns, query, found, lowest_of_use(query, found))
            if stop == kernels.END:
                return
            if stop == kernels.FULL:
                keep_best_combinations(found, query.n_best)
            else:
                self._advance(walk_below(walk), query, found)

    def _room(self, n_best: int) -> kernels.CombinationCandidates:
        room = max(self.ROOM * n_best, self.SMALLEST_ROOM)
        longest = int(self.items.df.max(initial=0))
        return kernels.CombinationCandidates(
            gradients=np.empty(room),
            codes=np.empty(room, np.int64),
            keys=np.empty(room, np.int64),
            slots=empty_slots(room),
            n_candidates=np.zeros(1, np.int64),
            n_violations=np.zeros(1, np.int64),
            floor=np.zeros(1),
            peak=np.zeros(1),
            squared_excess=np.zeros(1),
            documents=np.empty(longest, np.int32),
            values=np.empty(longest if len(self.columns.values) else 0),
        )

    def leave_out(self, keys: Sequence[np.ndarray]) -> None:
        """Leave out one combination: that of the items with these columns, if they are all there.

        Two items can have the same column. If its values are not all 1, their product is another column, and is left
        out as well.
        """
        copies = Counter(map(int, keys))
        items = [int(item) for key, n in copies.items() for item in np.flatnonzero(self.items.keys == key)[:n]]
        if len(items) == len(keys) <= self.degree:
            of_code = self.of_codes(np.array([code_of(items)], np.int64))[3]
            self.columns = self.columns._replace(taken=np.union1d(self.columns.taken, of_code))

    def inverse_weights(self, codes: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """1 / λ of combinations and labels: float64."""
        inverse = np.empty(len(codes))
        for label, weights in enumerate(self.weights):
            here = labels == label
            inverse[here] = column_kernels.combination_inverse_weights(
                codes[here], self.columns, weights.shares, weights.weighting
            )
        return inverse

    def of_codes(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Columns of combinations: starts int64, documents int32, values float64 (or none), and their keys int64."""
        return column_kernels.combination_columns(codes, self.columns)


def walk_over(
    database: database_kernels.Database,
    chosen: np.ndarray,
    first: int,
    anchors: np.ndarray,
    bounds: np.ndarray,
    inverses: np.ndarray,
    standardised: bool,
) -> kernels.Walk:
    """A walk at its beginning; ``standardised`` says that λ follows from the moments of columns."""
    n_columns = len(chosen)
    return kernels.Walk(
        database, chosen, first, anchors, bounds, inverses,
        sums=np.zeros((len(kernels.SUMS), n_columns)),
        moments=np.zeros((len(kernels.MOMENTS), n_columns if standardised else 0)),
        touched=np.empty(n_columns, np.int64),
        below=np.empty(n_columns, np.int64),
        place=np.zeros(len(kernels.WALK_PLACE), np.int64),
    )  # fmt: skip


def walk_below(walk: kernels.Walk) -> kernels.Walk:
    """The walk over triples with the last anchor of a walk over pairs."""
    anchor = walk.anchors[walk.place[kernels.ANCHOR] - 1]
    below = np.sort(walk.below[: walk.place[kernels.N_BELOW]])
    number_of = np.full(len(walk.chosen), -1, np.int32)
    number_of[below] = np.arange(len(below))
    part = database_kernels.part_of(walk.database, anchor, number_of, len(below))
    first, inverses = int(walk.chosen[anchor]), np.full(len(below), walk.inverses[anchor])
    # The last of the columns has none after it.
    anchors, bounds = np.arange(len(below) - 1), np.full(len(below), np.inf)
    return walk_over(part, walk.chosen[below], first, anchors, bounds, inverses, walk.moments.shape[1] > 0)


def lowest_of_use(query: kernels.WalkQuery, found: kernels.CombinationCandidates) -> float:
    """What a bound must be above to matter. What ties with the floor does, since its name may be the simpler one."""
    floor = float(found.floor[0]) * (1.0 - ROUNDING)
    return query.min_gradient if query.count_all else max(query.min_gradient, floor)


def keep_best_combinations(found: kernels.CombinationCandidates, n_best: int) -> None:
    """Move the ``n_best`` best candidates to the front, by (scaled gradient, code), and raise the floor."""
    keep_best(found, n_best, found.gradients, found.codes, found.keys)
    found.slots[:] = EMPTY
    insert_rows(found.slots, found.keys, 0, n_best)


def simplest_first(codes: np.ndarray) -> np.ndarray:
    """The order that puts pairs before triples, then by items."""
    return np.lexsort((codes, codes & column_kernels.MASK != 0))


def code_of(items: Sequence[int]) -> int:
    """The code of the combination of two or three items."""
    first, second, third = [*(item + 1 for item in sorted(items)), 0][:3]
    return (first << (2 * column_kernels.BITS)) | (second << column_kernels.BITS) | third


def members(code: int) -> tuple[int, ...]:
    """The items of a combination, ascending."""
    parts = (
        code >> (2 * column_kernels.BITS),
        (code >> column_kernels.BITS) & column_kernels.MASK,
        code & column_kernels.MASK,
    )
    return tuple(int(part) - 1 for part in parts if part)
