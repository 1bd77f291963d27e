"""Grafting under L1 at one C, a round a step."""

from __future__ import annotations

from .data import TrainingData
from .report import Report
from .settings import Grafting
from .solution import Solution
from .state import GraftState


class GraftingFit:
    """A fit of :class:`Grafting` whose penalty is L1, on one corpus."""

    def __init__(self, learner: Grafting, data: TrainingData) -> None:
        assert learner.l1 is not None
        self.learner = learner
        self.l1 = learner.l1
        self.state = GraftState(data, learner, smallest_l1=self.l1)
        self.state.start_at(self.l1, learner.n_best)
        self.report.finished = not self.state.trainable or self.state.done()

    @property
    def report(self) -> Report:
        return self.state.report

    @property
    def finished(self) -> bool:
        return self.report.finished

    def step(self) -> None:
        """One grafting round; nothing once the certificate holds."""
        if self.finished:
            return
        self.state.round(self.l1, self.learner.n_best)
        self.report.finished = self.state.done()

    def solution(self) -> Solution:
        return self.state.solution()
