"""From a learner's settings and a corpus to a fit.

Another package's learner is a settings object of its own, with ``start.register(ItsSettings)`` for what begins its fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import singledispatch
from typing import Any, Protocol, cast

import numpy as np

from .data import TrainingData
from .memory import has_many_labels, require_memory
from .report import Report
from .settings import CoordinateAscent, Grafting, GraftingPath, PenaltySettings, n_samples
from .solution import Solution


class Fit(Protocol):
    """A learner at work on one corpus."""

    @property
    def report(self) -> Report: ...

    @property
    def finished(self) -> bool: ...

    def step(self) -> None:
        """Go on for a round, or a point of the path; do nothing once the fit has finished."""

    def solution(self) -> Solution:
        """Return the model as it is."""


@singledispatch
def start(learner: Any, data: TrainingData) -> Fit:
    """Index a corpus and begin a fit; training goes on with its ``step``.

    The learner is Grafting, GraftingPath, CoordinateAscent, or settings that another package has registered.

    Raises
    ------
    TypeError
        If nothing is registered for settings of this type.
    ValueError
        If a learner of this package would need more memory than there is.
    """
    raise TypeError(f"{learner!r} is no learner: nothing is registered with spacy_graft.graft.start for its type.")


def is_learner(value: object) -> bool:
    """Whether :func:`start` can begin a fit with these settings."""
    return start.dispatch(type(value)) is not start.dispatch(object)


def final_solution(fit: Fit, advance: Callable[[int], None] = lambda n: None) -> Solution:
    """The solution of a fit that does not go on: of stable features alone, if its learner says so.

    ``advance`` is told after how many more of the samples that this takes.
    """
    if not n_samples(getattr(fit, "learner", None)):
        return fit.solution()
    from .stability import SelectingFit, stable_solution

    with fit.report.timed("stability"):
        return stable_solution(cast("SelectingFit", fit), advance)


def for_samples(learner: PenaltySettings, data: TrainingData) -> TrainingData:
    """The data of a fit: if the stability of its features is asked for, checked, and with indexes to share."""
    if learner.least_stability is None:
        return data
    from .stability import require_halves

    require_halves(data)
    return replace(data, indexes={}) if data.indexes is None else data


def at_once(data: TrainingData) -> TrainingData:
    """The data of a fit of all labels at once; a ValueError if that needs more memory than there is."""
    require_memory(data)
    return data if isinstance(data.targets, np.ndarray) else data.of_labels(0, len(data.labels))


def can_divide(learner: Any, data: TrainingData) -> bool:
    """Whether the labels of a fit can be divided into batches, if they are independent."""
    if not isinstance(learner, Grafting | GraftingPath) or learner.penalty != "l1":
        return False
    extras = data.network is not None or data.vectors is not None or bool(data.combinations)
    return not (extras or learner.constraints or learner.least_stability is not None)


def in_batches(learner: Any, data: TrainingData) -> bool:
    """Whether labels are fitted in batches."""
    return can_divide(learner, data) and has_many_labels(data.n_documents, len(data.labels), data.exclusive)


# Fits are imported when one begins: they load the compiler.
@start.register
def _(learner: Grafting, data: TrainingData) -> Fit:
    if in_batches(learner, data):
        from .label_batches import BatchedGrafting

        return BatchedGrafting(learner, data)
    data = for_samples(learner, at_once(data))
    if learner.penalty != "l1":
        from .selection import SelectionFit

        return SelectionFit(learner, data)
    from .grafting import GraftingFit

    return GraftingFit(learner, data)


@start.register
def _(learner: GraftingPath, data: TrainingData) -> Fit:
    if in_batches(learner, data):
        from .label_batches import BatchedPath

        return BatchedPath(learner, data)
    data = for_samples(learner, at_once(data))
    if learner.penalty == "l2":
        from .selection import WholeFit

        return WholeFit(learner, data)
    from .path import PathFit

    return PathFit(learner, data)


@start.register
def _(learner: CoordinateAscent, data: TrainingData) -> Fit:
    from .ascent import AscentFit

    return AscentFit(learner, at_once(data))
