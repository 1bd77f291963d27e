"""``spacy_graft.calibrate``: better probabilities and thresholds, fitted on documents that were not trained on."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np
import srsly
from spacy.language import Language
from spacy.training import Example

from .. import metrics
from .components import graft_component
from .targets import TargetReader
from .textcat import TextCatGraft, TextCatGraftMultilabel
from .training import annotated_before


@dataclass(frozen=True)
class Quality:
    """How good probabilities are (see :mod:`spacy_graft.metrics`).

    Attributes
    ----------
    log_loss, brier, expected_calibration_error : float
    """

    log_loss: float
    brier: float
    expected_calibration_error: float


@dataclass(frozen=True)
class Calibration:
    """What :func:`calibrate` has found.

    Attributes
    ----------
    temperature : float
        What weights and intercepts were divided by; 1 if they are as before.
    thresholds : dict of str to float
        Of the labels that got one of their own.
    before, after : Quality
        On the documents that it was fitted on.
    """

    temperature: float
    thresholds: dict[str, float]
    before: Quality
    after: Quality

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Documents:
    """Documents with what holds for them; the arrays are those of :mod:`spacy_graft.metrics`."""

    examples: list[Example]
    targets: np.ndarray
    known: np.ndarray
    weights: np.ndarray


def calibrate(
    nlp: Language, examples: Iterable[Example], *, temperature: bool = True, thresholds: bool = True
) -> Calibration:
    """Calibrate the trained graft component of a pipeline, in place.

    Parameters
    ----------
    nlp : Language
        With one ``textcat_graft`` or ``textcat_graft_multilabel`` enabled; components before it annotate the documents.
    examples : iterable of Example
        Annotated in ``doc.cats``, and not trained on: those of the dev set.
    temperature : bool
        Whether to divide weights and intercepts by the number for which the log-loss is least. This makes all
        probabilities more or less pronounced, and changes no ranking of documents or, if labels exclude each other, of
        labels. Thresholds of before do not belong to the new probabilities and are dropped.
    thresholds : bool
        Whether to give each label of a multilabel component the threshold for which its F1 is best. Labels that hold
        for none of the documents keep the component's. No effect on labels that exclude each other.

    Returns
    -------
    Calibration

    Warns
    -----
    UserWarning
        If no temperature is best, for the documents are all predicted right, or no better than by chance.
    """
    component = graft_component(nlp)
    documents = read(component, list(annotated_before(nlp, component, examples)))
    before = quality(component, documents)
    divisor = best_temperature(component, documents) if temperature else 1.0
    if divisor != 1.0:
        component.divide_scores(divisor)
    if thresholds and isinstance(component, TextCatGraftMultilabel):
        component.cfg["thresholds"] = best_thresholds(component, documents)
    return Calibration(
        temperature=divisor,
        thresholds=dict(component.cfg.get("thresholds", {})),
        before=before,
        after=quality(component, documents),
    )


def read(component: TextCatGraft, examples: list[Example]) -> Documents:
    """Check what the examples say."""
    if not examples:
        raise ValueError(f"[{component.name}] There are no examples to calibrate on.")
    reader = TargetReader(component.name, component.labels, component.exclusive)
    targets = [reader.read(example.reference) for example in examples]
    return Documents(
        examples,
        np.array([target.values for target in targets]),
        np.array([target.known for target in targets]),
        np.array([target.weight for target in targets]),
    )


def quality(component: TextCatGraft, documents: Documents) -> Quality:
    """What the component's probabilities are worth."""
    arrays = predicted(component, documents), documents.targets, documents.known, documents.weights
    bins = metrics.reliability(*arrays, exclusive=component.exclusive)
    return Quality(
        metrics.log_loss(*arrays, exclusive=component.exclusive),
        metrics.brier(*arrays, exclusive=component.exclusive),
        metrics.expected_calibration_error(bins),
    )


def predicted(component: TextCatGraft, documents: Documents) -> np.ndarray:
    """Probabilities, float64 (documents, labels)."""
    return component.predict(example.predicted for example in documents.examples)


def best_temperature(component: TextCatGraft, documents: Documents) -> float:
    """The temperature, or 1 and a warning."""
    scores = component.model.predict([example.predicted for example in documents.examples])
    best = metrics.temperature(
        scores, documents.targets, documents.known, documents.weights, exclusive=component.exclusive
    )
    if best is None:
        warnings.warn(
            f"[{component.name}] No temperature is best for these {len(documents.examples)} documents: all are "
            f"predicted right, or no better than by chance. The weights stay as they are. Calibrate on more documents.",
            stacklevel=3,
        )
        return 1.0
    return best


def best_thresholds(component: TextCatGraft, documents: Documents) -> dict[str, float]:
    """By label, but for those that hold for none of the documents; as they will be once saved and loaded."""
    best = metrics.best_thresholds(predicted(component, documents), documents.targets, documents.known)
    found = {label: its for label, its in zip(component.labels, best, strict=True) if its is not None}
    return cast("dict[str, float]", srsly.json_loads(srsly.json_dumps(found)))
