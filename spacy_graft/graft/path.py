"""The regularisation path: the L1 strength falls geometrically from l1_max, and each point is certified."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from .data import TrainingData
from .model_state import Checkpoint, ModelState
from .points import StateFit
from .report import Report
from .rounds import Rounds
from .settings import GraftingPath

#: Where the path meets ``max_features``: optima tried between two points, and the share of features that is enough.
TRIES, NEAR = 4, 0.94


class PathFit(StateFit):
    """A fit of :class:`GraftingPath` under L1 on one corpus; a step is a point of the path."""

    def __init__(self, learner: GraftingPath, data: TrainingData) -> None:
        self.rounds = Rounds(data, learner)
        super().__init__(learner, self.rounds.report.copy())
        self.report.finished = not self.rounds.trainable
        self._at_l1_max = self.report.copy()
        self._kept = self.rounds.state.checkpoint()

    @property
    def state(self) -> ModelState:
        return self.rounds.state

    def step(self) -> None:
        """The next point of the path; nothing after the last."""
        if self.finished:
            return
        number = self.report.points + 1
        ended = self._next_point(number)
        self.report.points = number
        self.report.finished = ended or number == self.learner.steps
        self._refits = None

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
            "report": {**asdict(self.report), "network": None, "seconds": {}},
            "model": vars(self._kept),
        }

    def resume(self, saved: Mapping[str, Any]) -> None:
        """Go to a point of another fit of the same learner on the same corpus; what follows is the same to the bit.

        Parameters
        ----------
        saved : dict
            From :meth:`to_dict`.
        """
        live = self.rounds.report
        self.report = Report(**{**saved["report"], "network": live.network, "seconds": live.seconds})
        self._kept = Checkpoint(**saved["model"])
        live_report = replace(self.report, refit=None, points=0, finished=False)
        self.rounds.resume(self._kept, live_report)
        self._refits = None

    def _next_point(self, number: int) -> bool:
        """Go to a point; return whether it fills the model up, so that it is the last."""
        l1_before = self.report.l1
        l1 = self.rounds.report.l1_max * self.learner.l1_min_ratio ** (number / self.learner.steps)
        self.rounds.optimise(l1)
        full = self._too_large()
        if full:
            self._fill_up(l1_before, l1)
        else:
            self._keep()
        if (full or number == self.learner.steps) and not self.report.n_active:
            # No point differs by more than the tolerance from the empty model, which is the optimum at l1_max.
            empty = replace(self._at_l1_max, rounds=self.report.rounds, seconds=self.report.seconds)
            self.report = replace(empty, refit=self.report.refit)
        return full

    def _too_large(self) -> bool:
        return self.learner.max_features is not None and self.rounds.state.active.n_rows > self.learner.max_features

    def _keep(self) -> None:
        """Take the point that the rounds have reached for the present one."""
        self.report = self.rounds.report.copy()
        # That of the rounds, so that a refit which is asked for later counts as well.
        self.report.seconds = self.rounds.report.seconds
        self.report.refit = self.refit
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
