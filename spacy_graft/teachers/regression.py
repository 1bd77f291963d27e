"""Logistic regression over dense vectors, whose strength is chosen by cross-validation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .. import metrics
from ..solve.losses import LogisticLoss, Loss, SoftmaxLoss
from ..threads import limited_threads

if TYPE_CHECKING:
    from .teacher import Gold, Head

#: Strengths of the ridge that are tried, for vectors of a mean square length of 1, in this order: each fit
#: begins at the one before.
RIDGES = (5.0, 1.5, 0.5, 0.15, 0.05, 0.015, 0.005, 0.0015)
#: Iterations of a fit at the most.
MOST_ITERATIONS = 500


@dataclass(frozen=True, eq=False)
class Regression:
    """A fitted model, a :data:`~spacy_graft.teachers.teacher.Head`.

    Attributes
    ----------
    weights : float64 (width + 1, n_labels)
        The intercepts are the last row.
    exclusive : bool
    """

    weights: np.ndarray
    exclusive: bool

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        scores = rows.astype(np.float64) @ self.weights[:-1] + self.weights[-1]
        return metrics.as_probabilities(scores, self.exclusive)

    def for_longer_rows(self, factor: float) -> Regression:
        """The model that gives the same probabilities for rows that are so many times as long."""
        return replace(self, weights=np.vstack([self.weights[:-1] / factor, self.weights[-1:]]))


def fitted_heads(rows: np.ndarray, gold: Gold, exclusive: bool) -> list[Head]:
    """For each fold the model of the other labelled texts, last that of all, under the ridge that folds choose.

    Parameters
    ----------
    rows : float64 (n_texts, width)
        Of the labelled texts.
    gold : Gold
    exclusive : bool
        Whether labels are mutually exclusive.
    """
    length = math.sqrt((rows**2).sum(axis=1).mean()) or 1.0
    rows = rows / length
    kept = [gold.fold_of != fold for fold in range(gold.n_folds)]
    paths = [ridge_path(rows, gold, exclusive, of_fold, RIDGES) for of_fold in kept]
    losses = [held_out_loss([path[k] for path in paths], kept, rows, gold) for k in range(len(RIDGES))]
    best = int(np.argmin(losses))
    (whole,) = ridge_path(rows, gold, exclusive, np.ones(len(rows), np.bool_), RIDGES[best : best + 1])
    return [model.for_longer_rows(length) for model in (*(path[best] for path in paths), whole)]


def held_out_loss(models: Sequence[Regression], kept: Sequence[np.ndarray], rows: np.ndarray, gold: Gold) -> float:
    """The log-loss of all texts that are held out, each under the model of its fold."""
    total = 0.0
    for model, of_fold in zip(models, kept, strict=True):
        part, targets = ~of_fold, gold.targets
        losses = metrics.document_losses(
            model(rows[part]), targets.values[part], targets.known[part], exclusive=model.exclusive
        )
        total += float(losses @ targets.weights[part])
    return total


@limited_threads("blas")
def ridge_path(
    rows: np.ndarray, gold: Gold, exclusive: bool, kept: np.ndarray, ridges: Sequence[float]
) -> list[Regression]:
    """The models of the texts that are kept (bool) under each ridge."""
    targets = gold.targets
    importance = targets.known * (targets.weights * kept)[:, None]
    values = targets.values.T
    losses: list[Loss] = [LogisticLoss(values[y : y + 1], importance[:, y]) for y in range(len(values))]
    if exclusive:
        losses = [SoftmaxLoss(values, importance.max(axis=1))]
    fits = [ridge_fits(rows, loss, ridges) for loss in losses]
    return [Regression(np.hstack(weights), exclusive) for weights in zip(*fits, strict=True)]


def ridge_fits(rows: np.ndarray, loss: Loss, ridges: Sequence[float]) -> list[np.ndarray]:
    """The weights that minimise loss + β ‖w‖² for each β, intercepts apart: float64 (width + 1, labels of the loss)."""
    from scipy.optimize import minimize

    shape, fits = (rows.shape[1] + 1, len(loss.targets)), []
    weights = np.zeros(shape)
    for ridge in ridges:

        def objective(flat: np.ndarray, ridge: float = ridge) -> tuple[float, np.ndarray]:
            w = flat.reshape(shape)
            value, p = loss.value_and_probabilities((rows @ w[:-1] + w[-1]).T)
            slopes = -loss.residuals(p).T
            gradient = np.vstack([rows.T @ slopes + 2.0 * ridge * w[:-1], slopes.sum(axis=0)])
            return value + ridge * float((w[:-1] ** 2).sum()), gradient.ravel()

        weights = minimize(
            objective, weights.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": MOST_ITERATIONS}
        ).x.reshape(shape)
        fits.append(weights)
    return fits
