"""Scores of a trained component on documents that it was not trained on, with intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import nan
from typing import NamedTuple

import numpy as np
from spacy.training import Example

from ..extract.unread import document_text
from ..messages import warn
from ..metrics import LEAST_RIGHT, clopper_pearson, document_losses, mask
from .calibrate import Quality, read_targets
from .dataset import LEFT_OUT, no_label
from .judging import can_judge, chose_model, warn_of_trained
from .textcat import TextCatGraft

#: Bootstrap samples of the documents, and the probability of all intervals.
N_SAMPLES, LEVEL = 1000, 0.95
#: Documents, and wrong ones, that a bootstrap needs: of fewer, its intervals are much too short.
FEWEST_DOCUMENTS, FEWEST_WRONG = 50, 5


class Estimate(NamedTuple):
    """A value with the bounds of its 95% interval, which are NaN if there are too few documents for one."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class LabelScores:
    """Scores of a label.

    Attributes
    ----------
    n_documents : int
        Documents with the label.
    precision, recall : Estimate, optional
        With exact binomial intervals; None if the label is never predicted, or no document has it.
    """

    n_documents: int
    precision: Estimate | None
    recall: Estimate | None


@dataclass(frozen=True)
class DatasetScores:
    """Scores on a data set.

    Attributes
    ----------
    n_documents, n_occurring : int
        Documents with a known label; labels that are annotated or predicted.
    accuracy : Estimate
        Share of the documents whose labels are all predicted correctly, with an exact binomial interval.
    macro_f, log_loss : Estimate
        Mean F1 of the labels that occur, and mean log-loss; the intervals are percentiles of bootstrap samples of the
        documents.
    quality : Quality
    labels : dict of str to LabelScores
    is_dev : bool
        Whether the model was chosen by these documents, and then trained on them.
    """

    n_documents: int
    n_occurring: int
    accuracy: Estimate
    macro_f: Estimate
    log_loss: Estimate
    quality: Quality
    labels: dict[str, LabelScores]
    is_dev: bool


def dataset_scores(component: TextCatGraft, examples: list[Example]) -> DatasetScores:
    """Score a component.

    Parameters
    ----------
    component : TextCatGraft
    examples : list of Example
        Their predicted documents have the annotation that the blocks need.

    Raises
    ------
    ValueError
        If no example has a label of the component, or an annotation is invalid.

    Warns
    -----
    UserWarning
        If examples are left out because they have other labels, or none; or if they are those of dev, which the
        model was trained on in the end.
    """
    judged = [example for example in examples if can_judge(component, example)]
    if not judged:
        raise no_label(component, len(examples), (label for one in examples for label in one.reference.cats))
    if n_left := len(examples) - len(judged):
        warn(LEFT_OUT.format(n_left=n_left, n=len(examples)))
    texts = [document_text(example.reference) for example in judged]
    warn_of_trained(component, texts)
    targets, known, _ = read_targets(component, judged, skips_unknown=True)
    counted = mask(targets, known, component.exclusive)
    rows = counted.any(axis=1)
    # Without example weights: a document is a document.
    probabilities, exclusive = component.predict(example.predicted for example in judged), component.exclusive
    arrays = (probabilities, targets, known)
    losses = document_losses(*arrays, exclusive=exclusive)[rows]
    right = component.decisions(targets) if component.exclusive else targets >= LEAST_RIGHT
    predicted, annotated = (component.decisions(probabilities) & counted)[rows], (right & counted)[rows]
    n_right = int((predicted == annotated).all(axis=1).sum())
    outcomes = np.stack([predicted & annotated, predicted & ~annotated, annotated & ~predicted]).astype(np.float64)
    return DatasetScores(
        n_documents=len(losses),
        n_occurring=int((predicted | annotated).any(axis=0).sum()),
        accuracy=share(n_right, len(losses)),
        macro_f=bootstrapped(lambda weights: mean_f(weights @ outcomes), len(losses), len(losses) - n_right),
        log_loss=bootstrapped(lambda weights: float(weights @ losses / len(losses)), len(losses)),
        quality=Quality.of(*arrays, exclusive=exclusive),
        labels={
            label: LabelScores(
                int(annotated[:, k].sum()),
                share_of(predicted[:, k], annotated[:, k]),
                share_of(annotated[:, k], predicted[:, k]),
            )
            for k, label in enumerate(component.labels)
        },
        is_dev=chose_model(component, texts) > 0.0,
    )


def share(n_hits: int, n: int) -> Estimate:
    """A share with its exact interval."""
    return Estimate(n_hits / n, *clopper_pearson(n_hits, n, LEVEL))


def share_of(of: np.ndarray, hits: np.ndarray) -> Estimate | None:
    """The share of some documents (bool) that are among others; None if there are none."""
    return share(int((of & hits).sum()), int(of.sum())) if of.any() else None


def mean_f(counts: np.ndarray) -> float:
    """Mean F1 of the labels that occur, from true positives, false positives and false negatives (3, n_labels)."""
    found, false, missed = counts[:, counts.any(axis=0)]
    return float((2.0 * found / (2.0 * found + false + missed)).mean()) if len(found) else 0.0


def bootstrapped(statistic: Callable[[np.ndarray], float], n: int, n_wrong: int = FEWEST_WRONG) -> Estimate:
    """A statistic of documents that count as often as its argument says, and its interval.

    Without the number of documents that are predicted wrongly, the statistic depends on each document.
    """
    if n < FEWEST_DOCUMENTS or n_wrong < FEWEST_WRONG:
        return Estimate(statistic(np.ones(n)), nan, nan)
    rng = np.random.default_rng(0)
    samples = [statistic(np.bincount(rng.integers(n, size=n), minlength=n) * 1.0) for _ in range(N_SAMPLES)]
    low, high = np.quantile(samples, ((1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0))
    return Estimate(statistic(np.ones(n)), float(low), float(high))
