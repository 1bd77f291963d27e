"""The regularisation path: the L1 strength falls geometrically from l1_max, and each point is certified."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from .data import TrainingData
from .model_state import Checkpoint
from .points import StateFit
from .report import Report
from .rounds import Rounds
from .settings import NEAR, GraftingPath

#: Where the path meets ``max_features``: optima tried for one point, and the share of features that is enough after so
#: many; with how many times as many features a model need not be optimal to be known for too large. What tells two L1
#: strengths apart.
TRIES, HALF, ROOM, SAME = 5, 0.5, 1.05, 1.001
#: How many points are passed by at a time. Farther away, an optimum is no good start.
POINTS_AT_ONCE = 2

#: Logarithms of an L1 strength and of the number of features there.
LogPoint = tuple[float, float]


class PathFit(StateFit):
    """A fit of :class:`GraftingPath` under L1 on one corpus; a step is a point of the path."""

    def __init__(self, learner: GraftingPath, data: TrainingData) -> None:
        self.rounds = Rounds(data, learner)
        super().__init__(learner, self.rounds.report.copy(), self.rounds.state)
        self.report.finished = not self.rounds.trainable
        self._at_l1_max = self.report.copy()
        self._kept = self._empty = self.state.checkpoint()

    def step(self) -> None:
        """The next point of the path; nothing after the last."""
        if not self.finished:
            number = self.report.points + 1
            self._arrived(number, self._next_point(self.l1_of(number), self.l1_of(number)))

    def arrive(self, like: Report) -> None:
        """The next point, first at the share of ``l1_max`` in the report: a model that was full there is full near it.

        The report can have a strength below that of its point: features explain less beside word vectors, so that a
        model which was full without them is full at a smaller strength only. A report of folds has no strength.
        """
        if not self.finished:
            number = self.report.points + 1
            lowest = self.l1_of(number)
            there = like.l1_ratio * self.report.l1_max or lowest
            if SAME * there < lowest:
                lowest = there
            if self.state.objective.n_dense and like.n_active >= NEAR * self._limit:
                lowest = self.learner.l1_min_ratio * self.report.l1_max
            self._arrived(number, self._next_point(lowest, there if there > SAME * lowest else lowest))

    def last_before(self, like: Report) -> int:
        """The same, above the L1 strength of the report, whose model may have been full at a larger one."""
        last = super().last_before(like)
        while last > 0 and self.learner.l1_min_ratio ** (last / self.learner.steps) <= like.l1_ratio:
            last -= 1
        return last

    def pass_by(self, last: int) -> None:
        """One round at the next point but one: it is near its optimum, which later ones begin at, and not certified."""
        if not self.finished:
            number = min(self.report.points + POINTS_AT_ONCE, last)
            l1, full = self.l1_of(number), False
            self.rounds.pass_by(l1)
            # The optimum there may have more features than what one round has found.
            if self.state.active.n_rows <= NEAR * self._limit:
                self._keep()
            else:
                self.state.restore(self._kept)
                full = self._next_point(l1, l1)
            self._arrived(number, full)

    def resolve(self, like: Report, weights: Mapping[tuple[str, str], np.ndarray]) -> None:
        """Go to the L1 strength of a report, from the weights of its model (:meth:`ModelState.start_from`)."""
        self.rounds.resolve(like.l1, weights)
        self._keep()
        self.report.points, self.report.finished = like.points, True
        self._refits = None

    def to_dict(self) -> dict[str, Any]:
        """The present point in plain values and arrays, for :meth:`resume`; the report is without network and seconds.

        Memory: as of a :class:`Checkpoint`.
        """
        return {
            "report": {**self.report.saved(), "network": None},
            "model": vars(self._kept),
        }

    def resume(self, saved: Mapping[str, Any]) -> None:
        """Go to a point of another fit of the same learner on the same corpus; what follows is the same to the bit.

        ``saved`` is from :meth:`to_dict`.
        """
        live = self.rounds.report
        # Held-out documents choose the refit, and the other fit may have had other ones.
        refit = self.refit if saved["report"]["points"] else None
        own = {"network": live.network, "seconds": live.seconds, "refit": refit}
        self.report = Report(**{**saved["report"], **own})
        self._kept = Checkpoint(**saved["model"])
        self.state.restore(self._kept)
        self.rounds.report = replace(self.report, refit=None, points=0, finished=False)
        self._refits = None

    @property
    def _limit(self) -> float:
        return math.inf if self.learner.most_features is None else self.learner.most_features

    def _next_point(self, lowest: float, first: float) -> bool:
        """Go to an L1 strength, or to one above it at which the model has just ``max_features``.

        Each strength is come down to from a larger one: come up to from a smaller one, features that the optimum has no
        use for would stay until the tolerance is met without them. Where a few tries find no model of half the size,
        the interval between one that is too small and one that is too large is halved until it is nothing.

        Parameters
        ----------
        lowest : float
            The L1 strength.
        first : float
            The one that is tried first.

        Returns
        -------
        bool
            Whether the model is full.
        """
        limit = self._limit
        before = above = log_point_of(self.report)
        below: LogPoint | None = None
        l1, is_kept = first, False
        for n_tries in count(1):
            self.rounds.optimise(l1, largest=ROOM * limit)
            if self.state.active.n_rows > limit:
                below = log_point_of(self.rounds.report)
            else:
                self._keep()
                is_kept = True
                if l1 == lowest or self.report.n_active >= NEAR * limit:
                    break
                before, above = above, log_point_of(self.report)
            self.state.restore(self._kept)
            if n_tries < TRIES:
                l1 = strength_for((1.0 + NEAR) / 2.0 * limit, before, above, below, lowest)
            elif (
                (is_kept and self.report.n_active >= HALF * limit) or below is None or is_nothing_between(above, below)
            ):
                break
            else:
                l1 = math.exp((above[0] + below[0]) / 2.0)
        if not is_kept:
            self._settle()
        return l1 != lowest or below is not None or self.report.n_active >= NEAR * limit

    def _settle(self) -> None:
        """Go to the optimum at the point before, which may have been passed by; above it if that has too many."""
        l1 = self.report.l1
        self.rounds.optimise(l1, largest=ROOM * self._limit)
        if self.state.active.n_rows <= self._limit:
            self._keep()
            return
        self.report, self._kept = self._at_l1_max.copy(), self._empty
        self.state.restore(self._kept)
        self._next_point(l1, l1)

    def _arrived(self, number: int, full: bool) -> None:
        finished = full or number == self.learner.steps
        if finished and not self.report.n_active:
            # No point differs by more than the tolerance from the empty model, which is the optimum at l1_max.
            empty = replace(self._at_l1_max, rounds=self.report.rounds, seconds=self.report.seconds)
            self.report = replace(empty, refit=self.report.refit)
        self.report.points, self.report.finished = number, finished
        self._refits = None

    def _keep(self) -> None:
        """Take the point that the rounds have reached for the present one."""
        self.report = self.rounds.report.copy()
        # That of the rounds, so that a refit which is asked for later counts as well.
        self.report.seconds = self.rounds.report.seconds
        self.report.refit = self.refit
        self._kept = self.state.checkpoint()


def is_nothing_between(above: LogPoint, below: LogPoint) -> bool:
    """Whether two models have the same L1 strength, but for rounding."""
    return above[0] - below[0] < math.log(SAME)


def log_point_of(report: Report) -> LogPoint:
    """Where a model is."""
    return math.log(report.l1), math.log(max(report.n_active, 1))


def strength_for(n_features: float, before: LogPoint, above: LogPoint, below: LogPoint | None, lowest: float) -> float:
    """An L1 strength at which the model should have so many features.

    The logarithm of the number of features is taken for linear in that of the L1 strength: between a model with fewer
    and one with more, or beyond two with fewer, the second of which is ``above``.
    """
    wanted = math.log(max(n_features, 1.0))
    if below is not None:
        share = (wanted - above[1]) / (below[1] - above[1]) if below[1] > above[1] else 0.5
        return math.exp(above[0] + min(max(share, 0.05), 0.95) * (below[0] - above[0]))
    if above[1] <= before[1]:
        return lowest
    return max(math.exp(above[0] + (wanted - above[1]) * (above[0] - before[0]) / (above[1] - before[1])), lowest)
