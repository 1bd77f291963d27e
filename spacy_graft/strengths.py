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


def first_ridge(learner: GraftingPath) -> float:
    """The strength of word vectors up to the choice of a point; 0 if it is made without them."""
    return 0.0 if 0.0 in learner.vectors_choices else learner.vectors_ridge


def first_strengths(learner: Any) -> dict[str, float]:
    """The strength of word vectors up to the choice of a point, if it is another than that of the learner: 0."""
    has_none = isinstance(learner, GraftingPath) and not first_ridge(learner)
    return {"vectors_ridge": 0.0} if has_none else {}


def is_better_strength(strength: float, found: Judged, chosen: Judged, held_out: Judge, more_vectors: bool) -> bool:
    """Whether a strength is chosen over the best so far: its log-loss must be lower; for 0, no higher.

    Word vectors, and weaker ridges, under which they say more, must lower it by :data:`WORTH_VECTORS` standard errors
    of the difference. Several strengths of them are tried, each with the best of several refits, so that the least
    log-loss is a little too low.

    Parameters
    ----------
    strength : float
    found, chosen : Judged
        The model under it, and the best so far.
    held_out : Judge
    more_vectors : bool
        Whether word vectors say more in it than in the best so far.
    """
    loss, least = held_out.mean(found.losses), held_out.mean(chosen.losses)
    if strength == 0.0:
        return is_no_higher(loss, least)
    gains = chosen.losses - found.losses
    return loss < least and (not more_vectors or held_out.mean(gains) > WORTH_VECTORS * held_out.error(gains))


def with_best_strengths(
    learner: GraftingPath,
    choices: Sequence[tuple[str, float]],
    chosen: JudgedT,
    held_out: Judge,
    judged_as: Callable[[Report, str], JudgedT | None],
) -> JudgedT:
    """The chosen point with the strengths that are the best ones for held-out documents.

    A strength of word vectors is not tried if another between it and the best so far has been: on both sides of the
    best one, the log-loss rises. A model without vectors counts as one of infinite strength.

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
    ridge = first_ridge(learner) or math.inf
    tried = [ridge]
    for option, strength in choices:
        of_vectors = option == "vectors_ridge"
        if of_vectors:
            if any(min(strength, ridge) < other < max(strength, ridge) for other in tried):
                continue
            tried.append(strength)
        found = judged_as(chosen.report.with_strengths({option: strength}), option)
        more_vectors = of_vectors and strength < ridge
        if found is not None and is_better_strength(strength, found, chosen, held_out, more_vectors):
            chosen, ridge = found, strength if of_vectors else ridge
    return chosen
