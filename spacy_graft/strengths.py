"""The choice of the strengths of a network and of word vectors by held-out documents, at the chosen point of a path."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from .graft.report import Report
from .graft.settings import GraftingPath
from .held_out import Judge, is_no_higher

#: Standard errors by which word vectors, or more of them, must lower the log-loss of held-out documents.
WORTH_VECTORS = 0.5


class Judged(Protocol):
    """A model as held-out documents judge it: its report, and their losses."""

    @property
    def report(self) -> Report: ...

    @property
    def losses(self) -> np.ndarray: ...


JudgedT = TypeVar("JudgedT", bound=Judged)


def choices_of(learner: GraftingPath, network: bool, vectors: bool) -> list[tuple[str, float]]:
    """The strengths that held-out documents choose among after the choice of a point, by option of the learner."""
    of_network = [("network_alpha", strength) for strength in learner.network_choices if network]
    if not vectors:
        return of_network
    strengths = dict.fromkeys([learner.vectors_ridge, *learner.vectors_choices])
    return of_network + [("vectors_ridge", strength) for strength in strengths if strength != first_ridge(learner)]


def try_strengths(
    learner: GraftingPath, choices: Sequence[tuple[str, float]], take: Callable[[str, float], bool]
) -> None:
    """Try strengths in turn; not one of word vectors if another between it and the best so far has been tried.

    On both sides of the best strength, the log-loss rises. A model without vectors counts as one of infinite strength.

    Parameters
    ----------
    learner : GraftingPath
    choices : sequence of pairs of str and float
        Those of :func:`choices_of`.
    take : callable
        Whether a strength is better than the best so far, which it then takes the place of.
    """
    best = first_ridge(learner) or math.inf
    tried = [best]
    for option, strength in choices:
        if option != "vectors_ridge":
            take(option, strength)
        elif not any(min(strength, best) < other < max(strength, best) for other in tried):
            tried.append(strength)
            best = strength if take(option, strength) else best


def first_ridge(learner: GraftingPath) -> float:
    """The strength of word vectors up to the choice of a point; 0: without them."""
    return 0.0 if 0.0 in learner.vectors_choices else learner.vectors_ridge


def first_strengths(learner: Any) -> dict[str, float]:
    """The strength of word vectors up to the choice of a point, if it is another than that of the learner: 0."""
    has_none = isinstance(learner, GraftingPath) and not first_ridge(learner)
    return {"vectors_ridge": 0.0} if has_none else {}


def is_better_strength(option: str, strength: float, found: Judged, chosen: Judged, held_out: Judge) -> bool:
    """Whether a strength is chosen over the best so far: its log-loss must be lower; for 0, no higher.

    Word vectors, and weaker ridges, under which they say more, must lower it by :data:`WORTH_VECTORS` standard errors
    of the difference. Several strengths of them are tried, each with the best of several refits, so that the least
    log-loss is a little too low.

    Parameters
    ----------
    option : str
        Of the learner.
    strength : float
        Its value.
    found, chosen : Judged
        The model under it, and the best so far.
    held_out : Judge
    """
    if strength == 0.0:
        return is_no_higher(held_out.mean(found.losses), held_out.mean(chosen.losses))
    if not held_out.mean(found.losses) < held_out.mean(chosen.losses):
        return False
    has_more_vectors = option == "vectors_ridge" and strength < (chosen.report.vectors_ridge or math.inf)
    gains = chosen.losses - found.losses
    return not has_more_vectors or held_out.mean(gains) > WORTH_VECTORS * held_out.error(gains)


def with_best_strengths(
    learner: GraftingPath,
    choices: Sequence[tuple[str, float]],
    chosen: JudgedT,
    held_out: Judge,
    judged_as: Callable[[Report, str], JudgedT | None],
) -> JudgedT:
    """The chosen point with the strengths that are the best ones for held-out documents.

    Parameters
    ----------
    learner : GraftingPath
    choices : sequence of pairs of str and float
        Those of :func:`choices_of`.
    chosen : Judged
    held_out : Judge
    judged_as : callable
        The point of a report with its strengths, of which one option is new; None if it is too large.
    """

    def take(option: str, strength: float) -> bool:
        nonlocal chosen
        found = judged_as(chosen.report.with_strengths({option: strength}), option)
        if found is None or not is_better_strength(option, strength, found, chosen, held_out):
            return False
        chosen = found
        return True

    try_strengths(learner, choices, take)
    return chosen
