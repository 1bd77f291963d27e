"""The regularisation path: C runs down geometrically from C_max, each point certified."""

from __future__ import annotations

import math

from .data import TrainingData
from .settings import GraftingPath
from .solution import Solution
from .state import GraftState

#: Where the path meets ``max_features``: optima tried between two points, and the share of features that is enough.
TRIES, NEAR = 4, 0.94


class PathFit:
    """A fit of :class:`GraftingPath` on one corpus."""

    def __init__(self, learner: GraftingPath, data: TrainingData) -> None:
        self.learner = learner
        self.state = GraftState(data, learner)
        #: Points so far, steps since the last of them, and whether there are no more points.
        self.n_points = 0
        self.n_refits = 0
        self.ended = False
        self.report = self.state.report.copy()
        self.report.finished = not self.state.trainable
        self._kept = self.state.checkpoint()
        #: Made when it is asked for: refits are a third of the time of a path with many labels.
        self._solution: Solution | None = None

    @property
    def finished(self) -> bool:
        return self.report.finished

    @property
    def position(self) -> tuple[int, int]:
        """How far the path is, in a way that paths over other documents share: (0, point), then (1, refit)."""
        return (1, self.n_refits) if self.n_refits else (0, self.n_points)

    def step(self) -> None:
        """The next point of the path; after the last, its next refit; then nothing."""
        if self.finished:
            return
        if self.ended:
            self.report.refit = self.learner.later_refits[self.n_refits]
            self.n_refits += 1
        else:
            self._next_point()
        self._solution = None
        self.report.finished = self.ended and self.n_refits == len(self.learner.later_refits)

    def _next_point(self) -> None:
        self.n_points += 1
        l1_before = self.report.l1
        l1 = self.state.report.l1_max * self.learner.l1_min_ratio ** (self.n_points / self.learner.steps)
        self.state.optimise(l1)
        if self._too_large():
            self._fill_up(l1_before, l1)
        else:
            self._keep()
        self.ended = self.ended or self.n_points == self.learner.steps

    def _too_large(self) -> bool:
        return self.learner.max_features is not None and self.state.active.n_rows > self.learner.max_features

    def _keep(self) -> None:
        """Take the point that the state has reached for the present one."""
        self.report = self.state.report.copy()
        # The state's own, so that a refit which is asked for later counts as well.
        self.report.seconds = self.state.report.seconds
        self.report.refit = self.learner.refits[0] if self.learner.refits else None
        self._kept = self.state.checkpoint()

    def _fill_up(self, l1_above: float, l1_below: float) -> None:
        """Find the C between the last point and the present, too large one whose model has just ``max_features``.

        The logarithm of the number of features is taken for linear in that of C. Each C is come down to from a larger
        one: come up to from a smaller one, features that the optimum has no use for would stay until the tolerance is
        met without them.
        """
        limit = self.learner.max_features
        assert limit is not None
        sizes = [max(self.report.n_active, 1), self.state.active.n_rows]
        bounds = [math.log(l1_above), math.log(l1_below)]
        wanted = math.log(max((1.0 + NEAR) / 2.0 * limit, 1.0))
        for _ in range(TRIES):
            above, below = map(math.log, sizes)
            share = (wanted - above) / (below - above) if below > above else 0.5
            l1 = bounds[0] + min(max(share, 0.05), 0.95) * (bounds[1] - bounds[0])
            self.state.restore(self._kept)
            self.state.optimise(math.exp(l1))
            n_active = self.state.active.n_rows
            large = self._too_large()
            bounds[large], sizes[large] = l1, max(n_active, 1)
            if not large:
                self._keep()
                if n_active >= NEAR * limit:
                    break
        self.state.restore(self._kept)
        self.ended = True

    def solution(self) -> Solution:
        """The model of the present step."""
        if self._solution is None:
            strength = self.report.refit
            self._solution = self.state.solution() if strength is None else self.state.refitted(strength)
        return self._solution
