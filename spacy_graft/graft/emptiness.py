"""Why a fit has ended without features, or must be expected to have next to none, and what to change."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..messages import warn
from .report import Report

#: Beginning of the warning of labels that no document has.
NEVER_POSITIVE = "No training document is positive for"
#: The same for warnings of blocks.
NOTHING_FOUND = "Nothing is found by the blocks"
#: The same for that of a model without features.
NO_FEATURES = "The trained model has no features"
#: The mean of example weights above which it is worth a warning.
MOST_WEIGHT = 10.0


class NothingToLearnError(ValueError):
    """Documents that no model can be trained on, or none under its constraints.

    Those of a fold may be such when all documents are not: features that differ can be equal there.
    """


def without_choice(error: NothingToLearnError) -> str:
    """Say that a path has gone to its end, because folds cannot be trained on."""
    return (
        f"No held-out document chooses the model, which is the last point of the path. Cross-validation failed: {error}"
    )


@contextmanager
def warnings_of_all_documents() -> Iterator[None]:
    """Suppress warnings of labels, features and names that a part of the documents lacks; the last training warns."""
    with warnings.catch_warnings():
        for message in (NEVER_POSITIVE, NOTHING_FOUND, "Constraints: No (feature|weights)", NO_FEATURES):
            warnings.filterwarnings("ignore", message=f".*{message}", category=UserWarning)
        yield


def why_empty(learner: Any, report: Report, n_documents: int) -> str | None:
    """Return why the model of a fit on ``n_documents`` has no features and what to change, or None if it has some."""
    # A learner of another package need not fill in the figures. That no feature is stable is what was asked for.
    are_left_out = report.stability is not None and report.stability["left_out"] > 0
    if report.n_active or not report.min_df or report.vectors is not None or are_left_out:
        return None
    return f"{NO_FEATURES}: it predicts the same for all documents. {cause(learner, report, n_documents)}"


def warn_if_empty(learner: Any, report: Report, n_documents: int, is_default: bool) -> None:
    """Warn of an estimator's model without features.

    Not if no feature reaches the strength of a learner that was given, since searches try such ones, and not if none is
    stable, which is what was asked.
    """
    is_too_strong = not is_default and exceeding_option(learner, report) is not None
    if getattr(learner, "least_stability", None) is not None or is_too_strong:
        return
    if reason := why_empty(learner, report, n_documents):
        warn(reason)


def cause(learner: Any, report: Report, n_documents: int) -> str:
    """The cause, and a remedy."""
    documents = f"the {n_documents:,} training documents"
    if report.objective == 0.0:
        return f"No label is on some of {documents} and not on others. Check their labels."
    if (option := exceeding_option(learner, report)) is not None:
        return (
            f"{option} = {getattr(learner, option):g} is too large: features enter only below {report.l1_max:.4g}, the "
            f"largest scaled gradient at zero weights. Lower {option}."
        )
    if (option := hindering_option(learner, report, n_documents)) is not None:
        return (
            f"{option} = {getattr(learner, option):g} is too large: no feature lowers the objective by more than tol = "
            f"{learner.tol:g} of it. Lower {option}."
        )
    min_df = ", ".join(f"{name}: {least:,}" for name, least in report.min_df.items())
    cutoffs = f"in as many of {documents} as min_df asks for ({min_df})"
    remedy = "Lower min_df of the blocks, or train on more documents."
    if not report.n_columns and report.constraints and report.constraints.get("deny"):
        return f"No n-gram or item that the constraints allow is {cutoffs}. Deny fewer names. {remedy}"
    if not report.n_columns:
        return f"No n-gram or item is {cutoffs}. {remedy}"
    limit = getattr(learner, "most_features", None)
    if limit is not None and report.n_columns > limit and report.l1_max and report.points < learner.steps:
        option = "max_features" if limit == learner.max_features else "parsimony"
        return f"At all L1 strengths tried there are none, or more than {option} = {limit:,}. Raise {option}."
    if getattr(learner, "penalty_weights", None) == "standard":
        remedy = f"{remedy} Subtract the mean of columns that are far from 0 for their deviation (years, times)."
    return f"Features {cutoffs} hardly distinguish the labels (distinct features: {report.n_columns:,}). {remedy}"


def exceeding_option(learner: Any, report: Report) -> str | None:
    """The option of a learner that no feature reaches, if there is one."""
    limits = {option: getattr(learner, option, None) for option in ("l1", "min_gradient")}
    reached = (name for name, limit in limits.items() if limit is not None and 0.0 < report.l1_max <= limit)
    return next(reached, None)


def hindering_option(learner: Any, report: Report, n_documents: int) -> str | None:
    """``ridge`` or ``tol``, if it keeps all features out although some gradients are well above the least L1 strength.

    Of a scaled weight u whose gradient exceeds this strength by d, the objective falls by d² / (2 H), where the
    curvature H is at most n / 4 of the likelihood of n documents, and 2 β of the ridge. What does not fall by ``tol``,
    in units of the objective at zero weights, is left out. To be large, an option must be so beside its default.
    """
    if getattr(learner, "penalty", None) != "l1":
        return None
    lowest = getattr(learner, "l1", None) or learner.l1_min_ratio * report.l1_max
    excess, least_gain = max(report.l1_max - lowest, 0.0), type(learner).tol * report.objective
    gain, gain_without_ridge = (excess**2 / (n_documents / 2.0 + 4.0 * ridge) for ridge in (learner.ridge, 0.0))
    if gain_without_ridge < least_gain:
        return None
    return "ridge" if gain < least_gain else "tol" if learner.tol > type(learner).tol else None


def problem_of_weights(example_weights: np.ndarray) -> str | None:
    """Return what is wrong with example weights that are far from 1, for which penalties are meant, or None.

    The weights are float64 (n_documents).
    """
    n, total = len(example_weights), float(example_weights.sum())
    if min(n / 100.0, 100.0) <= total <= MOST_WEIGHT * n:
        return None
    effect = "predicts nearly the same for every text" if total < n else "may be of a useless size and too sure"
    return (
        f"The example weights of {n:,} documents sum to {total:.4g}. Penalties such as ridge and refit are meant for "
        f"documents of weight 1: a model of such weights {effect}. Multiply the weights by {n / total:.4g}, so that "
        f"their mean is 1{'' if total < n else ', unless they are numbers of documents'}."
    )
