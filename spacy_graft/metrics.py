"""Metrics of probabilities, and calibration: functions of arrays.

Common arguments:

probabilities, targets : float64 (n_documents, n_labels)
    Predicted probabilities, and targets in [0, 1].
known : bool (n_documents, n_labels), optional
    False where the annotation of a document does not mention a label; by default all targets are known. If labels are
    exclusive, a document counts if any of its labels is known.
weights : float64 (n_documents), optional
    Weights of documents; by default 1.
exclusive : bool
    Whether labels are mutually exclusive.

Metrics are 0 if no document counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Default number of confidence bins, which have equal width.
N_BINS = 10
#: Bounds of temperatures: beyond them, probabilities would be close to 0 and 1, or to uniform.
MIN_TEMPERATURE, MAX_TEMPERATURE = 0.05, 20.0
#: Thresholds lie between probabilities that are farther apart than this: spaCy's JSON files keep ten decimals.
RESOLUTION = 1e-9
#: The least target of an independent label that is right, where labels are right or wrong.
LEAST_RIGHT = 0.5
#: The probability from which an independent label is predicted where nothing else is known.
THRESHOLD = 0.5
#: Numbers added to numerator and denominator of an expected F1, twice the hits over predicted and right documents: of
#: labels that are expected of few documents, it would say more than anybody knows.
PRIOR_HITS, PRIOR_DOCUMENTS = 0.2, 1.0
#: From a probability below 0.5, a label is only predicted for documents that are so many times as likely to have it as
#: the mean document.
LEAST_LIFT = 1.5
#: Thresholds follow a probability that has become more than so many times as large.
LEAST_RISE = 1.25


@dataclass(frozen=True)
class Bin:
    """Predictions of similar confidence.

    Attributes
    ----------
    low, high : float
        Bounds of the confidence. The upper bound is excluded, except for the last bin.
    count : float
        Number of predictions, or the sum of their weights.
    confidence, accuracy : float
        Mean confidence, and the share of correct predictions; both 0 if the bin is empty.
    """

    low: float
    high: float
    count: float
    confidence: float
    accuracy: float


def document_losses(
    probabilities: np.ndarray, targets: np.ndarray, known: np.ndarray | None = None, *, exclusive: bool
) -> np.ndarray:
    """The log-loss of each document, in nats; if labels are not exclusive, it sums over them. float64 (n_documents)."""
    losses = -targets * clipped_log(probabilities)
    if not exclusive:
        losses -= (1.0 - targets) * clipped_log(1.0 - probabilities)
    return np.asarray((losses * mask(targets, known, exclusive)).sum(axis=1))


def log_loss(
    probabilities: np.ndarray,
    targets: np.ndarray,
    known: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    *,
    exclusive: bool,
) -> float:
    """Mean log-loss of documents, in nats. If labels are not exclusive, a document's loss sums over its labels."""
    losses = document_losses(probabilities, targets, known, exclusive=exclusive)
    return mean(losses, counted_weights(mask(targets, known, exclusive), weights))


def brier(
    probabilities: np.ndarray,
    targets: np.ndarray,
    known: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    *,
    exclusive: bool,
) -> float:
    """Brier score.

    For exclusive labels, the mean over documents of Σ_y (p_y - q_y)², between 0 and 2. For others, the mean of (p - q)²
    over all known pairs of a document and a label, between 0 and 1.
    """
    squares = (probabilities - targets) ** 2
    counted = mask(targets, known, exclusive)
    if exclusive:
        return mean((squares * counted).sum(axis=1), counted_weights(counted, weights))
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
    """Confidence and accuracy of predictions in bins of confidence: the data of a reliability diagram.

    For exclusive labels, the prediction of a document is its most probable label. For others, every known pair of a
    document and a label is a prediction, whose confidence is the probability of the label. A soft target counts as its
    share of a correct prediction.

    Parameters
    ----------
    probabilities, targets, known, weights, exclusive
        See :mod:`spacy_graft.metrics`.
    n_bins : int
        Bins of equal width over [0, 1].

    Returns
    -------
    tuple of Bin
        In ascending order, empty bins included.
    """
    counted = mask(targets, known, exclusive)
    if exclusive:
        rows = np.flatnonzero(counted.any(axis=1))
        best = probabilities[rows].argmax(axis=1)
        confidence, correct = probabilities[rows, best], targets[rows, best]
        importance = counted_weights(counted, weights)[rows]
    else:
        confidence, correct, importance = probabilities[counted], targets[counted], pair_weights(counted, weights)
    edges = np.arange(n_bins + 1) / n_bins
    bin_of = np.searchsorted(edges[1:-1], confidence, side="right")
    bins = []
    for k in range(n_bins):
        inside = bin_of == k
        weight = importance[inside]
        bins.append(
            Bin(
                low=float(edges[k]),
                high=float(edges[k + 1]),
                count=float(weight.sum()),
                confidence=mean(confidence[inside], weight),
                accuracy=mean(correct[inside], weight),
            )
        )
    return tuple(bins)


def expected_calibration_error(bins: tuple[Bin, ...]) -> float:
    """Expected calibration error (ECE): the mean over predictions of |accuracy - confidence| of their bin.

    Parameters
    ----------
    bins : tuple of Bin
        From :func:`reliability`.

    References
    ----------
    Naeini, Cooper & Hauskrecht 2015, doi:10.1609/aaai.v29i1.9602.
    """
    errors = np.array([abs(part.accuracy - part.confidence) for part in bins])
    return mean(errors, np.array([part.count for part in bins]))


def temperature(
    scores: np.ndarray,
    targets: np.ndarray,
    known: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    *,
    exclusive: bool,
) -> float | None:
    """The temperature T between ``MIN_TEMPERATURE`` and ``MAX_TEMPERATURE`` that minimises the log-loss of scores / T.

    Log-loss is convex in 1 / T, so its derivative has at most one root; beyond a bound, the bound is best.

    Parameters
    ----------
    scores : float64 (n_documents, n_labels)
        Linear scores: probabilities are their softmax if labels are exclusive, else the logistic function of each.
    targets, known, weights, exclusive
        See :mod:`spacy_graft.metrics`.

    Returns
    -------
    float or None
        None if no T has the least log-loss: if all documents are classified correctly it falls as T falls to 0, and if
        scores are no better than chance, as T grows without bound.

    References
    ----------
    Guo, Pleiss, Sun & Weinberger 2017, arXiv:1706.04599.
    """
    from scipy.optimize import brentq  # takes a tenth of a second and 16 MB

    counted = mask(targets, known, exclusive)
    importance = counted * counted_weights(counted, weights)[:, np.newaxis]

    def slope_of(probabilities: np.ndarray) -> float:
        return float((importance * scores * (probabilities - targets)).sum())

    def slope(sharpness: float) -> float:
        return slope_of(as_probabilities(sharpness * scores, exclusive))

    least, most = 1.0 / MAX_TEMPERATURE, 1.0 / MIN_TEMPERATURE
    if slope(least) >= 0.0:
        return MAX_TEMPERATURE if slope(0.0) < 0.0 else None
    if slope(most) <= 0.0:
        surest = np.eye(scores.shape[1])[scores.argmax(axis=1)] if exclusive else scores > 0.0
        return MIN_TEMPERATURE if slope_of(surest) > 0.0 else None
    return 1.0 / float(brentq(slope, least, most, xtol=1e-15, rtol=1e-13))


def expected_thresholds(probabilities: np.ndarray) -> np.ndarray:
    """The threshold of each label with the highest expected F1: half of this F1.

    Which documents have a label need not be known. If the k most probable ones are predicted, F1 is twice the hits over
    k plus the documents that have the label, and the means of both are sums of probabilities. The best k, at least 1,
    is tried out. Two things are added. F1 is shrunk where few documents are expected to have the label
    (:data:`PRIOR_HITS`). And the threshold is at least :data:`LEAST_LIFT` times the mean probability, or 0.5 if that is
    smaller. Without this, a label that texts say nothing about would be predicted for all of them: a poor F1, but the
    best.

    Parameters
    ----------
    probabilities : float64 (n_documents, n_labels)
        Of at least one document; of documents that the model was not trained on.

    Returns
    -------
    float64 (n_labels)

    References
    ----------
    Lipton, Elkan & Naryanaswamy 2014, "Optimal thresholding of classifiers to maximize F1 measure", the case of
    calibrated probabilities, doi:10.1007/978-3-662-44851-9_15.
    """
    n_predicted = np.arange(1, len(probabilities) + 1)
    thresholds = np.empty(probabilities.shape[1])
    for y, of_label in enumerate(probabilities.T):
        hits = np.sort(of_label)[::-1].cumsum()
        f1 = (2.0 * hits + PRIOR_HITS) / (n_predicted + hits[-1] + PRIOR_DOCUMENTS)
        thresholds[y] = 0.5 * f1.max()
    return np.maximum(thresholds, np.minimum(THRESHOLD, LEAST_LIFT * probabilities.mean(axis=0)))


def lifted_thresholds(thresholds: list[float], before: np.ndarray, after: np.ndarray) -> list[float]:
    """Thresholds, raised where a model of other documents gives a label much more by its intercept.

    They keep the ratio, up to :data:`LEAST_LIFT`, to the probability in texts that say nothing about the label.

    Parameters
    ----------
    thresholds : list of float
    before, after : float64 (n_labels)
        The probability in such a text: by the model that the thresholds were chosen for, and now.
    """
    ratios = np.minimum(LEAST_LIFT, np.array(thresholds) / np.maximum(before, 1e-300))
    lifted = np.maximum(thresholds, np.minimum(THRESHOLD, ratios * after))
    return np.where(after > LEAST_RISE * before, lifted, thresholds).tolist()


def best_thresholds(
    probabilities: np.ndarray, targets: np.ndarray, known: np.ndarray | None = None
) -> list[float | None]:
    """The threshold of each label that maximises its F1.

    Parameters
    ----------
    probabilities, targets, known
        See :mod:`spacy_graft.metrics`. A document is positive for a label if the target is at least
        :data:`LEAST_RIGHT`.

    Returns
    -------
    list of float or None
        For each label a value half-way between neighbouring probabilities, or between 0 and the least one; if several
        are equally good, the closest to 0.5. None for a label without positive documents.
    """
    counted = mask(targets, known, exclusive=False)
    return [
        best_threshold(probabilities[counted[:, y], y], targets[counted[:, y], y] >= LEAST_RIGHT)
        for y in range(probabilities.shape[1])
    ]


def best_threshold(probabilities: np.ndarray, positive: np.ndarray) -> float | None:
    """The threshold of one label, or None; ``probabilities`` and ``positive`` (bool) are 1-D."""
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
    apart[0] = True  # between 0 and the least probability: all documents are predicted
    best = thresholds[apart & (f1 == f1[apart].max())]
    return float(best[np.abs(best - 0.5).argmin()])


def at_or_above(counts: np.ndarray) -> np.ndarray:
    """For each element of an array, the sum of it and all after it in its row."""
    return np.cumsum(counts[..., ::-1], axis=-1)[..., ::-1]


def clopper_pearson(n_hits: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The bounds of a probability of which n draws had so many hits: exact, never too close.

    Parameters
    ----------
    n_hits, n : int
        With n at least 1.
    level : float
        The probability with which the bounds hold, half of the rest on either side.

    References
    ----------
    Clopper & Pearson 1934, doi:10.1093/biomet/26.4.404.
    """
    from scipy.special import betaincinv  # not needed to load a component

    rest = (1.0 - level) / 2.0
    low = float(betaincinv(n_hits, n - n_hits + 1, rest)) if n_hits else 0.0
    high = float(betaincinv(n_hits + 1, n - n_hits, 1.0 - rest)) if n_hits < n else 1.0
    return low, high


def as_probabilities(scores: np.ndarray, exclusive: bool) -> np.ndarray:
    """Probabilities of labels from their scores: float64 (n_documents, labels), both."""
    return softmax(scores) if exclusive else logistic(scores)


def softmax(scores: np.ndarray) -> np.ndarray:
    """Probabilities of exclusive labels from scores: float64 (n_documents, n_labels)."""
    exp = np.exp(scores - scores.max(axis=1, keepdims=True))
    return exp / exp.sum(axis=1, keepdims=True)


def grouped_softmax(scores: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Probabilities of candidates within their groups, which are numbered from 0: float64 (n_candidates)."""
    largest = np.full(int(groups.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(largest, groups, scores)
    exp = np.exp(scores - largest[groups])
    return np.asarray(exp / np.bincount(groups, exp)[groups])


def logistic(scores: np.ndarray) -> np.ndarray:
    """Probabilities of independent labels from scores of any shape, computed such that nothing overflows."""
    small = np.exp(-np.abs(scores))
    return np.where(scores >= 0.0, 1.0, small) / (1.0 + small)


def clipped_log(probabilities: np.ndarray) -> np.ndarray:
    """Logarithm that is finite where a probability was rounded to 0."""
    return np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))


def mask(targets: np.ndarray, known: np.ndarray | None, exclusive: bool) -> np.ndarray:
    """The pairs of a document and a label that count: bool (n_documents, n_labels)."""
    if known is None:
        return np.ones(targets.shape, np.bool_)
    return np.broadcast_to(known.any(axis=1, keepdims=True), targets.shape) if exclusive else known


def counted_weights(counted: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Weights of documents: 0 for those without a known label."""
    given: np.ndarray = np.ones(len(counted)) if weights is None else weights
    return np.where(counted.any(axis=1), given, 0.0)


def pair_weights(counted: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Weights of the pairs that count: float64, 1-D."""
    return np.broadcast_to(counted_weights(counted, weights)[:, np.newaxis], counted.shape)[counted]


def mean(values: np.ndarray, weights: np.ndarray) -> float:
    """Weighted mean; 0 if the weights sum to 0."""
    total = float(weights.sum())
    return float(values @ weights) / total if total > 0.0 else 0.0
