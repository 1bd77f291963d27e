"""The weights of selected features fitted again, without L1."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..extract.feature_lengths import bounded_lengths, length_shares
from ..index.columns import row_totals
from ..solve.active import Active
from ..solve.penalties import ElasticNet
from ..solve.restricted import Restricted
from .model_state import ModelState, weights_by_label
from .objective import document_weights
from .solution import Solution

#: Violation that a refit may keep, an example.
ACCURACY = 1e-5


class Refits:
    """The features of a model, with weights that are optimal under L2 penalties of several strengths.

    Labels that share a loss share their features: each gets weights for all of them. If lengths are normalised, that of
    a document is made of the selected features (:mod:`spacy_graft.extract.feature_lengths`). The model stays as it is,
    and must do so as long as refits are asked for. Each begins at its weights, so that it does not depend on others.

    Memory: as of :class:`~spacy_graft.solve.active.Active` with all labels, and 8 bytes a document and label.

    Parameters
    ----------
    state : ModelState
    """

    def __init__(self, state: ModelState) -> None:
        objective = state.objective
        self._state = state
        self._active = state.completed()
        self._mean_scale, self._scale, self._shares = self._document_weights()
        others = state.scores_without_weights()
        self._scores = others + (state.scores - others) * (self._scale / objective.scale)
        self._known: dict[float, Solution] = {}

    def at(self, strength: float) -> Solution:
        """The refit with this strength, β in place of both the L1 strength and the ridge."""
        if strength not in self._known:
            self._known[strength] = self._solution(*self._minimum(strength))
        return self._known[strength]

    def _minimum(self, strength: float) -> tuple[Active, np.ndarray, np.ndarray, np.ndarray]:
        """Pairs with their weights, intercepts, weights of dense columns, and scores of the training documents."""
        objective = self._state.objective
        active = replace(self._active, weights=self._active.weights.copy())
        intercepts, scores = self._state.intercepts.copy(), self._scores.copy()
        dense = self._state.dense.copy()
        for problem in objective:
            part = active.of_labels(problem.first, problem.stop)
            # A sign that is forbidden stays so.
            penalty = ElasticNet(0.0, strength * problem.ridge_share, *objective.settings.sign_factors)
            coupling = objective.coupling(problem, part, self._state.space.network_features, penalty.is_smooth)
            tolerance = ACCURACY * problem.loss.importance.sum()
            of_dense = objective.dense_of(problem, dense)
            Restricted(problem.loss, self._scale, penalty, coupling, of_dense).minimise(
                part, intercepts[problem.labels], scores[problem.labels], tolerance
            )
        return active, intercepts, dense, scores

    def _solution(self, active: Active, intercepts: np.ndarray, dense: np.ndarray, scores: np.ndarray) -> Solution:
        """Features are named once, for all strengths."""
        for known in self._known.values():
            weights, intercepts = weights_by_label(self._state.objective.problems, active, intercepts, scores)
            word_scores = self._state.word_scores(dense)
            return replace(known, weights=weights, intercepts=intercepts, word_scores=word_scores)
        found = self._state.solution_of(active, intercepts, dense, scores)
        return replace(found, mean_scale=self._mean_scale, length_shares=self._shares) if len(self._shares) else found

    def _document_weights(self) -> tuple[float, np.ndarray, np.ndarray]:
        """(m, a) of a refit with these columns, and what each feature adds to the length of a document."""
        objective, active = self._state.objective, self._active
        if not objective.settings.length_normalisation or not active.n_rows:
            return objective.mean_scale, objective.scale, np.empty(0)
        shares = length_shares(self._state.space.df(), objective.data.n_documents)
        lengths = bounded_lengths(row_totals(active.columns, shares, objective.data.n_documents))
        return *document_weights(lengths, True), shares
