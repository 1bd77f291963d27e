"""How far probabilities can be trusted, and what makes them better: functions of arrays.

All take probabilities and targets, float64 (documents, labels), and whether labels exclude each other. ``known``, bool
(documents, labels), is False where a document says nothing of a label; by default all is known. Of exclusive labels a
document counts if it says something of any. ``weights``, float64 (documents), is by how much documents count; by
default 1. Where nothing counts, figures are 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Bins of equal width for confidence.
N_BINS = 10
#: Temperatures beyond these would make of probabilities all or nothing.
COLDEST, HOTTEST = 0.05, 20.0
#: Between probabilities that are no farther apart there is no threshold: spaCy's JSON files keep ten decimals.
RESOLUTION = 1e-9


@dataclass(frozen=True)
class Bin:
    """Predictions of about the same confidence.

    Attributes
    ----------
    low, high : float
        Bounds of the confidence; the upper one belongs to the next bin, that of the last to itself.
    count : float
        Predictions, or the sum of their weights.
    confidence, accuracy : float
        Mean confidence, and which share of them is true; both 0 where there are none.
    """

    low: float
    high: float
    count: float
    confidence: float
    accuracy: float


def log_loss(
    probabilities: np.ndarray,
    targets: np.ndarray,
    known: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    *,
    exclusive: bool,
) -> float:
    """Mean log-loss a document, in nats; of labels that do not exclude each other, the sum over those known."""
    losses = -targets * log(probabilities)
    if not exclusive:
        losses -= (1.0 - targets) * log(1.0 - probabilities)
    counted = mask(targets, known, exclusive)
    return mean((losses * counted).sum(axis=1), document_weights(counted, weights))


def brier(
    probabilities: np.ndarray,
    targets: np.ndarray,
    known: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    *,
    exclusive: bool,
) -> float:
    """Brier score, between 0 and 2 for exclusive labels: the mean over documents of Σ over labels of (p - q)².

    Of other labels the mean of (p - q)² over all known pairs of document and label, between 0 and 1.
    """
    squares = (probabilities - targets) ** 2
    counted = mask(targets, known, exclusive)
    if exclusive:
        return mean((squares * counted).sum(axis=1), document_weights(counted, weights))
    return mean(squares[counted], pair_weights(counted, weights))


def reliability(
    probabilities: np.ndarray,
    targets: np.ndarray,
    known: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    *,
    exclusive: bool,
    n_bins: int = N_BINS,
) -> tuple[Bin, ...]:
    """Confidence and accuracy of predictions, by confidence.

    Of exclusive labels, a document's prediction is its most probable label; of others, every known pair of document and
    label is one, whose confidence is the probability that the label holds. Soft targets count as parts of a truth.
    """
    counted = mask(targets, known, exclusive)
    if exclusive:
        rows = np.flatnonzero(counted.any(axis=1))
        best = probabilities[rows].argmax(axis=1)
        confidence, truth = probabilities[rows, best], targets[rows, best]
        importance = document_weights(counted, weights)[rows]
    else:
        confidence, truth, importance = probabilities[counted], targets[counted], pair_weights(counted, weights)
    edges = np.arange(n_bins + 1) / n_bins
    bin_of = np.searchsorted(edges[1:-1], confidence, side="right")
    return tuple(
        Bin(
            low=float(edges[k]),
            high=float(edges[k + 1]),
            count=float(importance[bin_of == k].sum()),
            confidence=mean(confidence[bin_of == k], importance[bin_of == k]),
            accuracy=mean(truth[bin_of == k], importance[bin_of == k]),
        )
        for k in range(n_bins)
    )


def expected_calibration_error(bins: tuple[Bin, ...]) -> float:
    """Mean over predictions of |accuracy - confidence| of their bin (Naeini et al. 2015, doi:10.1609/aaai.v29i1.9602).

    Parameters
    ----------
    bins : tuple of Bin
        As :func:`reliability` gives them.
    """
    gaps = np.array([abs(each.accuracy - each.confidence) for each in bins])
    return mean(gaps, np.array([each.count for each in bins]))


def temperature(
    scores: np.ndarray,
    targets: np.ndarray,
    known: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    *,
    exclusive: bool,
) -> float | None:
    """The T for which scores / T have the least log-loss (Guo et al. 2017, arXiv:1706.04599).

    Log-loss is convex in 1 / T, so its slope there has one root at most.

    Parameters
    ----------
    scores : float64 (documents, labels)
        Linear scores: probabilities are their softmax, or the logistic function of each.

    Returns
    -------
    float or None
        None if log-loss has no minimum for T between ``COLDEST`` and ``HOTTEST``: it falls without end where all
        documents are predicted right, and grows from the beginning where scores are worse than none.
    """
    from scipy.optimize import brentq  # components are loaded without

    counted = mask(targets, known, exclusive)
    importance = counted * document_weights(counted, weights)[:, np.newaxis]
    make_probabilities = softmax if exclusive else logistic

    def slope(sharpness: float) -> float:
        return float((importance * scores * (make_probabilities(sharpness * scores) - targets)).sum())

    bounds = 1.0 / HOTTEST, 1.0 / COLDEST
    if not slope(bounds[0]) < 0.0 < slope(bounds[1]):
        return None
    return 1.0 / float(brentq(slope, *bounds, xtol=1e-14, rtol=1e-12))


def best_thresholds(
    probabilities: np.ndarray, targets: np.ndarray, known: np.ndarray | None = None
) -> list[float | None]:
    """The threshold of each label from which on it is predicted, such that its F1 is best.

    Returns
    -------
    list of float or None
        Each half-way between neighbouring probabilities, or between 0 and the least one; of equally good ones that
        closest to 0.5. None for a label that no document is positive for (a target above 0): any would do.
    """
    counted = mask(targets, known, exclusive=False)
    return [
        best_threshold(probabilities[counted[:, y], y], targets[counted[:, y], y] > 0.0)
        for y in range(probabilities.shape[1])
    ]


def best_threshold(probabilities: np.ndarray, positive: np.ndarray) -> float | None:
    """The threshold of one label; probabilities and whether it holds (bool) are 1-D."""
    n_positive = int(positive.sum())
    if n_positive == 0:
        return None
    distinct, bin_of = np.unique(probabilities, return_inverse=True)
    predicted = at_or_above(np.bincount(bin_of, minlength=len(distinct)))
    true = at_or_above(np.bincount(bin_of[positive], minlength=len(distinct)))
    f1 = 2 * true / (predicted + n_positive)
    below = np.concatenate([[0.0], distinct[:-1]])
    apart = distinct - below > RESOLUTION
    thresholds = np.where(apart, (below + distinct) / 2.0, 0.0)
    apart[0] = True  # 0 and the least one: all documents
    best = thresholds[apart & (f1 == f1[apart].max())]
    return float(best[np.abs(best - 0.5).argmin()])


def at_or_above(counts: np.ndarray) -> np.ndarray:
    """For each element of a 1-D array the sum from it to the end."""
    return counts[::-1].cumsum()[::-1]


def softmax(scores: np.ndarray) -> np.ndarray:
    """Probabilities of exclusive labels: float64 (documents, labels)."""
    exp = np.exp(scores - scores.max(axis=1, keepdims=True))
    return exp / exp.sum(axis=1, keepdims=True)


def logistic(scores: np.ndarray) -> np.ndarray:
    """Probabilities of each label by itself, by halves so that nothing overflows."""
    small = np.exp(-np.abs(scores))
    return np.where(scores >= 0.0, 1.0, small) / (1.0 + small)


def log(probabilities: np.ndarray) -> np.ndarray:
    """Finite also where a probability has been rounded to 0."""
    return np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))


def mask(targets: np.ndarray, known: np.ndarray | None, exclusive: bool) -> np.ndarray:
    """What counts: bool (documents, labels)."""
    if known is None:
        return np.ones(targets.shape, np.bool_)
    return np.broadcast_to(known.any(axis=1, keepdims=True), targets.shape) if exclusive else known


def document_weights(counted: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """By how much documents count: 0 where they say nothing."""
    its: np.ndarray = np.ones(len(counted)) if weights is None else weights
    return np.where(counted.any(axis=1), its, 0.0)


def pair_weights(counted: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """By how much the pairs that count do (1-D)."""
    return np.broadcast_to(document_weights(counted, weights)[:, np.newaxis], counted.shape)[counted]


def mean(values: np.ndarray, weights: np.ndarray) -> float:
    """Weighted mean, 0 of nothing."""
    total = float(weights.sum())
    return float(values @ weights) / total if total > 0.0 else 0.0
