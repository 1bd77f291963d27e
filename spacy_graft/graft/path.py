"""The regularisation path: C runs down geometrically from C_max, each point certified (design §3)."""

from __future__ import annotations

from .data import TrainingData
from .learners import GraftingPath
from .solution import Solution
from .state import GraftState


class PathFit:
    """A fit of :class:`GraftingPath` on one corpus."""

    def __init__(self, learner: GraftingPath, data: TrainingData) -> None:
        self.learner = learner
        self.state = GraftState(data, learner)
        self.points = 0
        self.report = self.state.report.copy()
        self.report.finished = not self.state.trainable
        self._solution = self.state.solution()

    @property
    def finished(self) -> bool:
        return self.report.finished

    def step(self) -> None:
        """The next point of the path; nothing after the last."""
        if self.finished:
            return
        learner, state = self.learner, self.state
        self.points += 1
        state.optimise(state.report.l1_max * learner.l1_min_ratio ** (self.points / learner.steps))
        if learner.max_features is not None and state.active.n_rows > learner.max_features:
            self.report.finished = True
            return
        self.report = state.report.copy()
        self.report.finished = self.points == learner.steps
        self._solution = state.solution() if learner.refit is None else state.refitted(learner.refit)

    def solution(self) -> Solution:
        return self._solution
