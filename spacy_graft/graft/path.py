"""The regularisation path: the L1 strength falls geometrically from l1_max, and each point is certified."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from .data import TrainingData
from .model_state import Checkpoint
from .report import Position, Report
from .rounds import Rounds
from .settings import GraftingPath
from .solution import Solution

#: Where the path meets ``max_features``: optima tried between two points, and the share of features that is enough.
TRIES, NEAR = 4, 0.94


class PathFit:
    """A fit of :class:`GraftingPath` on one corpus."""

    def __init__(self, learner: GraftingPath, data: TrainingData) -> None:
        self.learner = learner
        self.rounds = Rounds(data, learner)
        #: Points so far, steps since the last of them, and whether there are no more points.
        self.n_points = 0
        self.n_refits = 0
        self.ended = False
        self.report = self.rounds.report.copy()
        self.report.finished = not self.rounds.trainable
        self._at_l1_max = self.report.copy()
        self._kept = self.rounds.state.checkpoint()
        #: Made when it is asked for: refits are a third of the time of a path with many labels.
        self._solution: Solution | None = None

    @property
    def finished(self) -> bool:
        return self.report.finished

    @property
    def position(self) -> Position:
        return self.report.position

    def has_reached(self, position: Position) -> bool:
        """Whether the path is at a position, or at its end before a position that is a point."""
        return self.position == position or (self.ended and position[0] == 0)

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
        self.report.points, self.report.refits = self.n_points, self.n_refits
        self.report.finished = self.ended and self.n_refits == len(self.learner.later_refits)

    def to_dict(self) -> dict[str, Any]:
        """The present step in plain values and arrays, for :meth:`resume`; the report is without network and seconds.

        Memory: as of a :class:`Checkpoint`, and 8 bytes a feature and label.
        """
        solution = self.solution()
        return {
            "step": [self.n_points, self.n_refits, self.ended],
            "report": {**asdict(self.report), "network": None, "seconds": {}},
            "model": vars(self._kept),
            "progress": self.rounds.state.space.progress,
            "weights": solution.weights,
            "intercepts": solution.intercepts,
            "mean_scale": solution.mean_scale,
            "length_shares": solution.length_shares,
        }

    def resume(self, saved: Mapping[str, Any]) -> None:
        """Go to a step of another fit of the same learner on the same corpus; what follows is the same to the bit.

        Parameters
        ----------
        saved : dict
            From :meth:`to_dict`.
        """
        self.n_points, self.n_refits, self.ended = saved["step"]
        live = self.rounds.report
        self.report = Report(**{**saved["report"], "network": live.network, "seconds": live.seconds})
        self._kept = Checkpoint(**saved["model"])
        self.rounds.resume(self._kept, saved["progress"], replace(self.report, refit=None, finished=False))
        model = {name: saved[name] for name in ("weights", "intercepts", "mean_scale", "length_shares")}
        self._solution = replace(self.rounds.state.solution(), **model)

    def _next_point(self) -> None:
        self.n_points += 1
        l1_before = self.report.l1
        l1 = self.rounds.report.l1_max * self.learner.l1_min_ratio ** (self.n_points / self.learner.steps)
        self.rounds.optimise(l1)
        if self._too_large():
            self._fill_up(l1_before, l1)
        else:
            self._keep()
        self.ended = self.ended or self.n_points == self.learner.steps
        if self.ended and not self.report.n_active:
            # No point differs by more than the tolerance from the empty model, which is the optimum at l1_max.
            empty = replace(self._at_l1_max, rounds=self.report.rounds, seconds=self.report.seconds)
            self.report = replace(empty, refit=self.report.refit)

    def _too_large(self) -> bool:
        return self.learner.max_features is not None and self.rounds.state.active.n_rows > self.learner.max_features

    def _keep(self) -> None:
        """Take the point that the rounds have reached for the present one."""
        self.report = self.rounds.report.copy()
        # That of the rounds, so that a refit which is asked for later counts as well.
        self.report.seconds = self.rounds.report.seconds
        self.report.refit = self.learner.refits[0] if self.learner.refits else None
        self._kept = self.rounds.state.checkpoint()

    def _fill_up(self, l1_above: float, l1_below: float) -> None:
        """Find the L1 strength between those of two points at which the model has just ``max_features``.

        The logarithm of the number of features is taken for linear in that of the L1 strength. Each strength is come
        down to from a larger one: come up to from a smaller one, features that the optimum has no use for would stay
        until the tolerance is met without them.
        """
        limit = self.learner.max_features
        assert limit is not None
        sizes = [max(self.report.n_active, 1), self.rounds.state.active.n_rows]
        bounds = [math.log(l1_above), math.log(l1_below)]
        target = math.log(max((1.0 + NEAR) / 2.0 * limit, 1.0))
        for _ in range(TRIES):
            above, below = map(math.log, sizes)
            share = (target - above) / (below - above) if below > above else 0.5
            l1 = bounds[0] + min(max(share, 0.05), 0.95) * (bounds[1] - bounds[0])
            self.rounds.restore(self._kept)
            self.rounds.optimise(math.exp(l1))
            n_active = self.rounds.state.active.n_rows
            large = self._too_large()
            bounds[large], sizes[large] = l1, max(n_active, 1)
            if not large:
                self._keep()
                if n_active >= NEAR * limit:
                    break
        self.rounds.restore(self._kept)
        self.ended = True

    def solution(self) -> Solution:
        """The model of the present step."""
        if self._solution is None:
            strength = self.report.refit
            self._solution = self.rounds.state.solution() if strength is None else self.rounds.refitted(strength)
        return self._solution
