"""What held-out documents change in the scores of a model: a temperature, and intercepts by the shares of labels.

A model fits its training documents better than others. In other documents fewer of its features speak for the label
that is right, so that rare labels, whose intercepts are low, get too little probability. Adjusted scores are

    f'_iy = f_iy / T + τ ln π_y,

where π_y is the share of label y among the training documents. T is the temperature (Guo et al. 2017), and τ the tilt
(the logit adjustment of Menon et al., ICLR 2021, arXiv:2007.07314, with a strength that is fitted). They minimise the
log-loss of held-out documents plus

    p (1/T − 1 − log 1/T) + τ² / 2σ²,

which is convex in 1/T and τ. An intercept of its own for each label would ask for more held-out documents than there
are (``docs/accuracy.md``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .metrics import MAX_TEMPERATURE, MIN_TEMPERATURE, as_probabilities, counted_weights, logistic, mask

#: σ: how far from 0 the tilt is expected to be.
TILT_SPREAD = 0.5
#: Newton steps at most, and the gradient, as a share of that at their beginning or of 1, at which they end.
MOST_STEPS, SMALL_GRADIENT = 50, 1e-9
#: A Newton step is halved until it ends before the minimum along it, or where the slope is at most this share of that
#: before: where probabilities are 0 and 1 there is next to no curvature, and a step goes far beyond.
SLOPE_SHARE = 0.5
#: What is added to the curvature, in units of its diagonal, so that no rounding makes it singular.
REGULAR = 1e-12


class Adjustment(NamedTuple):
    """What scores are divided by, and what is added to them.

    Attributes
    ----------
    temperature : float
        T.
    tilt : float
        τ. Below 0, rare labels become more probable.
    """

    temperature: float = 1.0
    tilt: float = 0.0

    def offsets(self, shares: np.ndarray) -> np.ndarray:
        """What is added to the scores of labels with these shares of the training documents: float64 (n_labels)."""
        return self.tilt * logs_of(shares)

    def of(self, scores: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Adjusted scores: float64 (..., n_labels)."""
        return np.asarray(scores / self.temperature + self.offsets(shares))

    def probabilities_of(self, shares: np.ndarray) -> np.ndarray:
        """The probabilities of independent labels in a text that says nothing of them: float64 (n_labels)."""
        from scipy.special import logit  # not needed to load a component

        return logistic(self.of(logit(np.clip(shares, 0.0, 1.0)), shares))

    def thresholds_before(self, thresholds: list[float], shares: np.ndarray) -> list[float]:
        """Thresholds of the first labels by which scores that are not adjusted decide as adjusted ones by these."""
        if self == Adjustment():
            return thresholds  # their last digit would change
        from scipy.special import logit  # not needed to load a component

        scores = logit(np.array(thresholds)) - self.offsets(shares)[: len(thresholds)]
        return logistic(scores * self.temperature).tolist()


def logs_of(shares: np.ndarray) -> np.ndarray:
    """ln π_y, float64 (n_labels); a label without documents has half of the least share of the others."""
    if not (shares > 0.0).any():
        return np.zeros(len(shares))
    return np.log(np.maximum(shares, 0.5 * shares[shares > 0.0].min()))


def best_adjustment(
    scores: np.ndarray,
    shares: np.ndarray,
    targets: np.ndarray,
    known: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    *,
    exclusive: bool,
    prior: float,
) -> Adjustment:
    """The adjustment that minimises the log-loss of scores, by Newton's method; the temperature is within its bounds.

    Memory: some arrays of the size of ``scores``.

    Parameters
    ----------
    scores : float64 (n_documents, n_labels)
    shares : float64 (n_labels)
        Of labels among the training documents.
    targets, known, weights, exclusive
        See :mod:`spacy_graft.metrics`.
    prior : float
        p, above 0.
    """
    counted = mask(targets, known, exclusive)
    logs = logs_of(shares)
    if exclusive:
        logs -= logs.max()  # what all labels have in common changes nothing: τ is 0 if their shares are equal
    importance = counted * counted_weights(counted, weights)[:, np.newaxis]
    loss = AdjustedLoss((scores, logs), targets, importance, exclusive, prior)
    sharpness, tilt = loss.best_factors(np.array([1.0, 0.0]), slice(None))
    bounded = min(max(sharpness, 1.0 / MAX_TEMPERATURE), 1.0 / MIN_TEMPERATURE)
    if bounded != sharpness:
        _, tilt = loss.best_factors(np.array([bounded, tilt]), slice(1, None))
    return Adjustment(1.0 / float(bounded), float(tilt))


class AdjustedLoss(NamedTuple):
    """What is minimised, as a function of two factors, 1/T and τ.

    Attributes
    ----------
    parts : tuple of float64
        What they are factors of: scores (n_documents, n_labels) and logarithms of shares (n_labels).
    targets, importance : float64 (n_documents, n_labels)
    exclusive : bool
    prior : float
    """

    parts: tuple[np.ndarray, np.ndarray]
    targets: np.ndarray
    importance: np.ndarray
    exclusive: bool
    prior: float

    def probabilities(self, factors: np.ndarray) -> np.ndarray:
        """Of all labels: float64 (n_documents, n_labels)."""
        scores, logs = self.parts
        return as_probabilities(scores * factors[0] + factors[1] * logs, self.exclusive)

    def gradient(self, factors: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """In the factors: float64 (2)."""
        residuals = self.importance * (predicted - self.targets)
        found = np.array([(residuals * part).sum() for part in self.parts])
        return found + np.array([self.prior * (1.0 - 1.0 / factors[0]), factors[1] / TILT_SPREAD**2])

    def curvature(self, factors: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """In the factors: float64 (2, 2)."""
        spread, around = self.importance * predicted, self.parts
        if self.exclusive:
            scores, logs = (part - (predicted * part).sum(axis=1, keepdims=True) for part in self.parts)
            around = scores, logs
        else:
            spread *= 1.0 - predicted
        found = np.array([[(spread * one * other).sum() for other in around] for one in around])
        return found + np.diag([self.prior / factors[0] ** 2, TILT_SPREAD**-2])

    def best_factors(self, start: np.ndarray, free: slice) -> np.ndarray:
        """By Newton's method: float64 (2), of which those that are not free stay."""
        factors, predicted = start, self.probabilities(start)
        slopes = self.gradient(factors, predicted)
        enough = SMALL_GRADIENT * max(np.abs(slopes[free]).max(), 1.0)
        for _ in range(MOST_STEPS):
            if np.abs(slopes[free]).max() <= enough:
                break
            before, slopes_before = factors, slopes
            step = np.zeros(2)
            step[free] = newton_step(self.curvature(before, predicted)[free, free], slopes[free])
            for _ in range(MOST_STEPS):
                factors = before + step
                if factors[0] > 0.0:
                    predicted = self.probabilities(factors)
                    slopes = self.gradient(factors, predicted)
                    if slopes @ step <= -SLOPE_SHARE * (slopes_before @ step):
                        break
                step = 0.5 * step
        return factors


def newton_step(curvature: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """The step to the minimum of a quadratic function; the unit of each number does not matter."""
    size = np.sqrt(np.diag(curvature))
    scaled = curvature / np.outer(size, size) + REGULAR * np.eye(len(size))
    return np.asarray(-np.linalg.solve(scaled, slopes / size) / size)
