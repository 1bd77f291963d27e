"""Incremental feature selection under L2 or without a penalty, and training on all features at once.

Riezler & Vasserman (EMNLP 2004): a round adds the n features whose gradient is largest, if it exceeds ``min_gradient``,
and optimises the weights of all that have been added; the fit ends when no gradient exceeds it (``l2-ifs``,
``mle-ifs``). Without ``min_gradient`` all features enter in the first round (``l2``, ``mle``). That is also the only
point of a path without L1 (:class:`WholeFit`).
"""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from .certificate import objective_and_dual
from .data import TrainingData
from .objective import Objective
from .points import StateFit
from .problems import Problem
from .report import Reported
from .rounds import FEWEST_ADDED, NO_GRADIENT, indexed
from .settings import Grafting, GraftingPath, PenaltySettings
from .solution import Solution
from .space import SpaceViolations

#: To what gradient a document intercepts are optimal; a feature of all documents, a second intercept, keeps as much.
INTERCEPT_DIGITS = 1e-9


class SelectionFit(Reported):
    """A fit of :class:`Grafting` whose penalty is not L1, on one corpus."""

    def __init__(self, learner: Grafting, data: TrainingData) -> None:
        self.learner = learner
        self.min_gradient = learner.min_gradient
        if self.min_gradient is None and data.combinations:
            raise ValueError(
                f"{type(learner).__name__}: without a min_gradient all features enter the model at once, but the "
                f"combinations of {', '.join(map(repr, data.combinations))} are not enumerated. Give min_gradient, or "
                f"leave them out."
            )
        objective = Objective(data, learner)
        self.report = objective.new_report()
        self.state = indexed(objective, self.min_gradient or 0.0, self.report)
        self._degree = 1
        self._found: SpaceViolations | None = None
        self._search()
        self._update_report(optimal=True)
        self.report.finished = self.report.converged

    def step(self) -> None:
        """One round: add features, optimise, search; nothing once no feature exceeds ``min_gradient``."""
        if self.finished:
            return
        before = self.report.objective
        with self.report.timed("solve"):
            self._enter()
            # Intercepts are made optimal last. That changes |v| / λ by up to so many times what they lacked.
            finer = max(self.state.space.largest_inverse_weight, 1.0)
            self.state.optimise(0.0, self.tolerance / finer, keep_zeros=True)
            optimal = bool(self.state.violation(0.0) <= self.tolerance)
        self._search()
        self.report.rounds += 1
        self._update_report(optimal)
        # Digits that float64 does not have are given up.
        stuck = not self._n_waiting() and self.report.objective >= before - 1e-13 * abs(before)
        self.report.finished = self.report.converged or stuck

    @property
    def tolerance(self) -> float:
        """The largest |v| / λ that an optimal weight may keep."""
        unit = self.report.l1_max if self.min_gradient is None else self.min_gradient
        return max(self.learner.tol * unit, INTERCEPT_DIGITS * float(self.state.objective.data.example_weights.sum()))

    def _enter(self) -> None:
        if self._found is not None:
            self.state.enter(self._found.blocks, self._found.nodes, self._found.labels)
        elif not len(self.state.active):
            blocks, nodes = self.state.space.everything()
            n_trained = self.state.objective.n_labels
            labels = np.tile(np.arange(n_trained), len(nodes))
            self.state.enter(np.repeat(blocks, n_trained), np.repeat(nodes, n_trained), labels)

    def _search(self) -> None:
        """Combinations of more items are looked for once those of fewer do not exceed ``min_gradient``."""
        state = self.state
        if self.min_gradient is None:
            return
        with self.report.timed("search"):
            while True:
                n_best = FEWEST_ADDED if self.learner.n_best is None else self.learner.n_best
                self._found = state.search(
                    min_gradient=self.min_gradient, n_best=n_best, degree=self._degree, count_all=False
                )
                if self._found.count or self._degree >= state.space.degree:
                    return
                self._degree += 1

    def _n_waiting(self) -> int:
        """Pairs that have yet to enter."""
        if self._found is not None:
            return self._found.count
        return 0 if len(self.state.active) else self.state.space.n_columns

    def _update_report(self, optimal: bool) -> None:
        state, report = self.state, self.report
        objective, dual = objective_and_dual(state, 0.0, None)
        report.update_gap(objective, dual, state.initial)
        report.n_active, report.n_pairs = state.active.n_rows, len(state.active)
        report.l1 = 0.0
        if self.min_gradient is not None and self._found is not None:
            report.max_violation = max(float(self._found.peaks.max(initial=0.0)) / self.min_gradient - 1.0, 0.0)
        trainable = bool(state.objective.n_labels) and report.l1_max > NO_GRADIENT * state.initial
        # With nothing to separate the empty model is the optimum, whatever could be added to it.
        report.converged = not trainable or (optimal and not self._n_waiting())
        if self.learner.penalty == "none":
            report.separated = any(self._is_separated(problem) for problem in state.objective)

    def _is_separated(self, problem: Problem) -> bool:
        """Whether the likelihood of a problem is known to have no maximum."""
        scores = self.state.scores[problem.labels]
        part = self.state.active.of_labels(problem.first, problem.stop)
        objective, loss = self.state.objective, problem.loss
        # A column with values of both signs is not one-sided, whichever documents have it.
        can_tell = loss.looks_at_values or not objective.data.has_negative_values
        return (can_tell and loss.has_one_sided_column(part, objective.scale)) or loss.is_separated_by(scores)

    def solution(self) -> Solution:
        return self.state.solution()


class WholeFit(StateFit):
    """A fit of :class:`GraftingPath` without L1, whose only step is the optimum over all features."""

    def __init__(self, learner: GraftingPath, data: TrainingData) -> None:
        if data.combinations:
            raise ValueError(
                f"{type(learner).__name__}: under penalty = 'l2' all features enter the model at once, but the "
                f"combinations of {', '.join(map(repr, data.combinations))} are not enumerated. Leave them out."
            )
        self._selection = SelectionFit(ridge_of(learner), data)
        super().__init__(learner, self._selection.report.copy(), self._selection.state)

    def step(self) -> None:
        """All features enter; nothing once they have."""
        if self.finished:
            return
        while not self._selection.finished:
            self._selection.step()
        self._refits = None
        self.report = replace(self._selection.report.copy(), points=1, refit=self.refit)


def ridge_of(learner: GraftingPath) -> Grafting:
    """The ridge over all features, with the same penalty weights and network."""
    shared = {field.name: getattr(learner, field.name) for field in fields(PenaltySettings)}
    return Grafting(**shared, penalty="l2")
