"""The regularisation path: C runs down geometrically from C_max, each point certified (design §3)."""

from __future__ import annotations

from dataclasses import dataclass

from .data import TrainingData
from .report import Report
from .solution import Solution
from .state import GraftState, Penalty


@dataclass(frozen=True)
class GraftingPath:
    """Optima over the whole space for falling C, each started at the one before.

    Evaluation on held-out documents chooses among them, so that nobody tunes C.

    Attributes
    ----------
    l1_min_ratio : float
        Last C in units of C_max, the smallest C whose model is empty.
    steps : int
        Points of the path; C falls by the same factor from each to the next.
    tol : float
        Duality gap of each point, in units of the objective at zero weights.
    max_features : int, optional
        The path ends before the first model with more features.
    refit : float, optional
        Strength of the L2 penalty under which the selected features are fitted again, without L1 (relaxed lasso,
        Meinshausen 2007); None keeps the weights of the path.
    penalty : Penalty
    """

    l1_min_ratio: float = 0.01
    steps: int = 20
    tol: float = 1e-3
    max_features: int | None = None
    refit: float | None = None
    penalty: Penalty = Penalty()

    def start(self, data: TrainingData) -> PathFit:
        return PathFit(self, data)


class PathFit:
    """A fit of :class:`GraftingPath` on one corpus."""

    def __init__(self, learner: GraftingPath, data: TrainingData) -> None:
        self.learner = learner
        self.state = GraftState(data, learner.penalty)
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
        state.optimise(state.report.l1_max * learner.l1_min_ratio ** (self.points / learner.steps), learner.tol)
        if learner.max_features is not None and state.active.n_rows > learner.max_features:
            self.report.finished = True
            return
        self.report = state.report.copy()
        self.report.finished = self.points == learner.steps
        self._solution = state.solution() if learner.refit is None else state.refitted(learner.refit)

    def solution(self) -> Solution:
        return self._solution
