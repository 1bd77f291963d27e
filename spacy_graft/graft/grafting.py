"""Grafting at one C, a round a step."""

from __future__ import annotations

from dataclasses import dataclass

from .data import TrainingData
from .report import Report
from .solution import Solution
from .state import GraftState, Penalty


@dataclass(frozen=True)
class Grafting:
    """The L1 optimum at one C over the whole space, certified.

    Attributes
    ----------
    l1 : float
        C, in the sum convention: a feature enters only if |v| > C λ.
    n_best : int, optional
        Pairs that a round adds; by default it doubles the active set (at least 100).
    tol : float
        Duality gap to stop at, in units of the objective at zero weights.
    penalty : Penalty
    """

    l1: float
    n_best: int | None = None
    tol: float = 1e-3
    penalty: Penalty = Penalty()

    def start(self, data: TrainingData) -> GraftingFit:
        return GraftingFit(self, data)


class GraftingFit:
    """A fit of :class:`Grafting` on one corpus."""

    def __init__(self, learner: Grafting, data: TrainingData) -> None:
        self.learner = learner
        self.state = GraftState(data, learner.penalty, smallest_l1=learner.l1)
        self.state.start_at(learner.l1)

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
        self.state.round(self.learner.l1, self.learner.tol, self.learner.n_best)
        self.report.finished = self.state.done()

    def solution(self) -> Solution:
        return self.state.solution()
