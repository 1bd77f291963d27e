"""All features in one point: what a path is under ``penalty = "l2"``."""

from __future__ import annotations

from dataclasses import fields, replace

from .data import TrainingData
from .points import StateFit
from .selection import SelectionFit
from .settings import Grafting, GraftingPath, PenaltySettings


class WholeFit(StateFit):
    """A fit of :class:`GraftingPath` without L1, whose only step is the optimum over all features."""

    def __init__(self, learner: GraftingPath, data: TrainingData) -> None:
        if data.combinations:
            raise ValueError(
                f"{type(learner).__name__}: under penalty = 'l2' all features enter the model at once, but the "
                f"combinations of {', '.join(map(repr, data.combinations))} are not enumerated. Leave them out."
            )
        self._selection = SelectionFit(ridge_of(learner), data)
        super().__init__(learner, self._selection.report.copy(), self._selection.state)

    def step(self) -> None:
        """All features enter; nothing once they have."""
        if self.finished:
            return
        while not self._selection.finished:
            self._selection.step()
        self._refits = None
        self.report = replace(self._selection.report.copy(), points=1, refit=self.refit)


def ridge_of(learner: GraftingPath) -> Grafting:
    """The ridge over all features, with the same penalty weights and network."""
    shared = {field.name: getattr(learner, field.name) for field in fields(PenaltySettings)}
    return Grafting(**shared, penalty="l2")
