"""The weights of selected features fitted again, without L1."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..extract.feature_lengths import bounded_lengths, length_shares
from ..index.columns import Columns, row_totals
from ..messages import warn
from ..solve.active import Active
from .model_state import ModelState, weights_by_label
from .objective import Objective, document_weights
from .solution import Solution

#: Where columns or weights of documents are of very different sizes.
UNFINISHED = (
    "A refit ends before its optimum, since the numbers are too badly scaled: its probabilities may be wrong. Bring "
    "columns of values to similar sizes, and the weights of documents too."
)
#: Violation that a refit may keep, an example.
ACCURACY = 3e-5


#: (m, a) of a refit, and what each feature adds to the length of a document.
Lengths = tuple[float, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Minimum:
    """The optimum of an objective over some pairs.

    Attributes
    ----------
    objective : Objective
    active : Active
    intercepts : float64 (labels)
    dense : float64 (labels, n_columns)
        Weights of the dense columns.
    scores : float64 (labels, documents)
    l1 : float
        L1 strength.
    """

    objective: Objective
    active: Active
    intercepts: np.ndarray
    dense: np.ndarray
    scores: np.ndarray
    l1: float = 0.0


class Refits:
    """The features of a model, with weights that are optimal under L2 penalties of several strengths.

    Labels that share a loss share their features: each gets weights for all of them. If lengths are normalised, that of
    a document is made of the selected features (:mod:`spacy_graft.extract.feature_lengths`). The model stays as it is,
    and must do so as long as refits are asked for. Each begins at its weights, so that it does not depend on others;
    but trials begin at the least or the largest strength so far, whichever is nearer, with a third less to do. The
    refit of a strength that was tried is that of the trial.

    Memory: as of :class:`~spacy_graft.solve.active.Active` with all labels; and 8 bytes a pair twice, a document and
    label three times.

    ``lengths`` are those of a model that has further features; by default, lengths are of the features of this one.
    """

    def __init__(self, state: ModelState, lengths: Lengths | None = None) -> None:
        objective = state.objective
        self._state = state
        self._active = state.completed()
        self._mean_scale, self._scale, self._shares = self._own_lengths() if lengths is None else lengths
        others = state.scores_without_weights()
        self._scores = others + (state.scores - others) * (self._scale / objective.scale)
        self._known: dict[float, Solution] = {}
        #: By strength, of the least and the largest one.
        self._ends: dict[float, Minimum] = {}

    def at(self, strength: float, trial: bool) -> Solution:
        """The refit with this strength, β in place of both the L1 strength and the ridge; or one that is known."""
        if strength not in self._known:
            self._known[strength] = self.solution_of(self.minimum(strength, trial))
        return self._known[strength]

    def minimum(self, strength: float, trial: bool = False) -> Minimum:
        """The optimum with this strength."""
        found = self._begun(strength, trial)
        tolerances = [ACCURACY * problem.loss.importance.sum() for problem in found.objective]
        moved = found.active, found.intercepts, found.dense, found.scores
        if not found.objective.minimise(*moved, self._state.space.network_features, 0.0, tolerances):
            warn(UNFINISHED)
        of_strength = {**self._ends, strength: found}
        self._ends = {end: of_strength[end] for end in (min(of_strength), max(of_strength))}
        return found

    def _begun(self, strength: float, trial: bool) -> Minimum:
        """Where the search for a minimum begins, in arrays of its own."""
        state = self._state
        # A sign that is forbidden stays so.
        objective = state.objective.of_refit(strength, self._scale)
        weights, intercepts, dense, scores = self._active.weights, state.intercepts, state.dense, self._scores
        if trial and self._ends:
            near = self._ends[min(self._ends, key=lambda end: abs(math.log(end / strength)))]
            weights, intercepts, dense, scores = near.active.weights, near.intercepts, near.dense, near.scores
        active = replace(self._active, weights=weights.copy())
        return Minimum(objective, active, intercepts.copy(), dense.copy(), scores.copy())

    def solution_of(self, found: Minimum) -> Solution:
        """The model of an optimum. Features are named once, for all strengths."""
        state, of_pairs = self._state, (found.active, found.intercepts, found.scores)
        if (known := next(iter(self._known.values()), None)) is not None:
            weights, intercepts = weights_by_label(state.space, state.objective.problems, *of_pairs)
            word_scores = state.word_scores(found.dense)
            return replace(known, weights=weights, intercepts=intercepts, word_scores=word_scores)
        named = state.solution_of(found.active, found.intercepts, found.dense, found.scores)
        return replace(named, mean_scale=self._mean_scale, length_shares=self._shares)

    def _own_lengths(self) -> Lengths:
        objective, active = self._state.objective, self._active
        if not objective.settings.length_normalisation or not active.n_rows:
            return objective.mean_scale, objective.scale, np.empty(0)
        return feature_lengths_of(active.columns.lists(), self._state.space.df(), objective.data.n_documents)


def feature_lengths_of(columns: Columns, df: np.ndarray, n_documents: int) -> Lengths:
    """The lengths of documents with features of these columns and document frequencies."""
    shares = length_shares(df, n_documents)
    lengths = bounded_lengths(row_totals(columns, shares, n_documents))
    return *document_weights(lengths, True), shares
