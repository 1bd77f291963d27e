"""A fit whose steps are points that held-out documents can judge, each under refits of several strengths."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial

from .model_state import ModelState
from .refits import Refits
from .report import Report, Reported
from .settings import GraftingPath
from .solution import Solution


class PointFit(Reported, ABC):
    """A fit of :class:`GraftingPath` on one corpus.

    ``report`` is that of the present point. ``refit`` is the strength of the refit that models of this and the next
    points have; None for the weights of the point.
    """

    def __init__(self, learner: GraftingPath, report: Report) -> None:
        self.learner = learner
        self.report = report
        self.refit = learner.first_refit

    @abstractmethod
    def step(self) -> None:
        """Go to the next point; do nothing after the last."""

    def points(self) -> Iterator[PointFit]:
        """Go to each of the points that are left; stay at the last."""
        while True:
            self.step()
            yield self
            if self.finished:
                return

    def pass_by(self, last: int) -> None:
        """Go past points on the way to one after number ``last``: near their optima, if that is less work."""
        self.step()

    def arrive(self, like: Report) -> None:
        """Go to the next point, at which another fit, of nearly the same documents and features, has this report."""
        self.step()

    def steps_to(self, like: Report) -> Iterator[Callable[[], None]]:
        """The steps to the point at which another fit has this report; nobody sees the points before it."""
        last = self.last_before(like)
        while not self.finished and self.report.points <= last:
            yield partial(self.arrive, like) if self.report.points == last else partial(self.pass_by, last)

    def last_before(self, like: Report) -> int:
        """The number of the last point that is passed on the way to that of a report, whose path may have had more."""
        return min(like.points, self.learner.n_points) - 1

    def l1_of(self, number: int) -> float:
        """The L1 strength of a point of a path, by its number."""
        return self.report.l1_max * self.learner.l1_min_ratio ** (number / self.learner.steps)

    def solution(self) -> Solution:
        """The model of the present point, under :attr:`refit`."""
        return self.refitted(self.refit)

    @abstractmethod
    def refitted(self, strength: float | None, trial: bool = False) -> Solution:
        """The present point under a refit of this strength; with its own weights if it is None.

        A trial is to choose a strength: up to the accuracy of refits it may depend on those that were tried before.
        """


class StateFit(PointFit):
    """A fit of one model state.

    ``state`` is the model of the present point, before a refit.
    """

    def __init__(self, learner: GraftingPath, report: Report, state: ModelState) -> None:
        super().__init__(learner, report)
        self.state = state
        #: Of the present point, once one is asked for.
        self._refits: Refits | None = None

    def refitted(self, strength: float | None, trial: bool = False) -> Solution:
        if strength is None:
            return self.state.solution()
        if self._refits is None:
            self._refits = Refits(self.state)
        with self.report.timed("refit"):
            return self._refits.at(strength, trial)
