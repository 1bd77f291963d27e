"""Grafting under L1 at one L1 strength, a round a step."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .data import TrainingData
from .report import Report, Reported
from .rounds import Rounds
from .settings import Grafting
from .solution import Solution


class GraftingFit(Reported):
    """A fit of :class:`Grafting` whose penalty is L1, on one corpus."""

    def __init__(self, learner: Grafting, data: TrainingData) -> None:
        assert learner.l1 is not None
        self.learner = learner
        self.l1 = learner.l1
        self.rounds = Rounds(data, learner, smallest_l1=self.l1)
        self.report, self.state = self.rounds.report, self.rounds.state
        self.rounds.start_at(self.l1, learner.n_best)
        # Dense columns are trained further where no feature separates the labels.
        trainable = self.rounds.trainable or bool(self.state.objective.n_labels and self.state.objective.n_dense)
        self.report.finished = not trainable or self.rounds.done()

    def step(self) -> None:
        """One grafting round; nothing once the certificate holds."""
        if self.finished:
            return
        self.rounds.round(self.l1, self.learner.n_best)
        self.report.finished = self.rounds.done()

    def resolve(self, like: Report, weights: Mapping[tuple[str, str], np.ndarray]) -> None:
        """Go to the optimum from the weights of another model (:meth:`ModelState.start_from`)."""
        self.rounds.resolve(self.l1, weights)
        self.report.finished = True

    def solution(self) -> Solution:
        return self.state.solution()
