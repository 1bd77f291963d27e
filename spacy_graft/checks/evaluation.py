"""How good a trained component is on labelled documents: scores by label, confusion matrix, calibration."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import asdict
from itertools import chain
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.training import Example

from ..extract.unread import document_text
from ..messages import listed_in_part
from ..metrics import brier, expected_calibration_error, log_loss, reliability
from ..pipeline.dataset import no_label
from ..pipeline.scorer import LabelColumns, textcat_multilabel_score, textcat_score
from ..pipeline.targets import SUM_TOLERANCE
from ..pipeline.textcat import TextCatGraft, TextCatGraftMultilabel


def confusion_matrix(columns: LabelColumns) -> list[list[int]]:
    """Count documents by gold label (rows) and predicted label (columns); those without a label are left out."""
    n_labels = columns.right.shape[1]
    labelled = columns.right.any(axis=1)
    counts = np.zeros((n_labels, n_labels), np.int64)
    np.add.at(counts, (columns.right[labelled].argmax(axis=1), columns.predicted[labelled].argmax(axis=1)), 1)
    found: list[list[int]] = counts.tolist()
    return found


def calibration_metrics(columns: LabelColumns, exclusive: bool) -> dict[str, Any]:
    """Return log-loss, Brier score, expected calibration error and the bins of the reliability diagram.

    With exclusive labels, the targets of a document without a label are unknown.
    """
    targets = columns.right
    known = np.broadcast_to(targets.any(axis=1, keepdims=True), targets.shape) if exclusive else columns.known
    arrays = columns.predicted, targets, known
    bins = reliability(*arrays, exclusive=exclusive)
    return {
        "log_loss": log_loss(*arrays, exclusive=exclusive),
        "brier": brier(*arrays, exclusive=exclusive),
        "expected_calibration_error": expected_calibration_error(bins),
        "reliability": [asdict(one_bin) for one_bin in bins],
    }


def warn_of_unknown_labels(nlp: Language, examples: list[Example]) -> None:
    """Warn of documents with labels that no component of a pipeline has."""
    known = {label for _, pipe in nlp.components for label in getattr(pipe, "labels", ())}
    unknown = [
        [label for label, value in example.reference.cats.items() if value and label not in known]
        for example in examples
    ]
    n_documents, names = sum(map(bool, unknown)), list(dict.fromkeys(chain.from_iterable(unknown)))
    if names:
        warnings.warn(
            f"Of {len(examples)} documents, {n_documents} have labels that the pipeline does not have "
            f"({listed_in_part(names)}). No score is of these labels. If labels are exclusive, what is predicted for a "
            f"document that has no other label counts as wrong; log-loss, calibration and confusion leave it out.",
            stacklevel=3,
        )


def warn_of_several_labels(right: np.ndarray) -> None:
    """Warn of documents with several labels that exclude each other; targets are float64 (n_documents, n_labels)."""
    totals = right.sum(axis=1)
    several, without = np.flatnonzero(totals > 1.0 + SUM_TOLERANCE), int((totals == 0.0).sum())
    if len(several):
        warnings.warn(
            f"The labels of the component exclude each other, but {len(several):,} of {len(right):,} documents have "
            f"several of them, the first of these is document {several[0] + 1:,}; {without:,} have none. Precision, "
            f"recall and F1 count each label; the confusion matrix has the first label of a document only, and "
            f"log-loss and calibration are not those of one label a document. Correct the labels.",
            stacklevel=3,
        )


def evaluate(nlp: Language, component: TextCatGraft, examples: Iterable[Example]) -> dict[str, Any]:
    """Return all metrics as plain values.

    Parameters
    ----------
    nlp : Language
        The pipeline, which predicts the texts of the examples.
    component : TextCatGraft
        Its trained component.
    examples : iterable of Example
        Annotated in ``doc.cats``.

    Raises
    ------
    ValueError
        If there are no examples, or none has a label of the component.

    Warns
    -----
    UserWarning
        If some have labels that the pipeline does not have, or several of labels that exclude each other.
    """
    examples = list(examples)
    known = set(component.labels)
    if not any(known & example.reference.cats.keys() for example in examples):
        raise no_label(component, len(examples), (label for one in examples for label in one.reference.cats))
    warn_of_unknown_labels(nlp, examples)
    predicted = nlp.pipe(document_text(example.reference) for example in examples)
    scored = [Example(doc, example.reference) for doc, example in zip(predicted, examples, strict=True)]
    scorer = textcat_score if component.exclusive else textcat_multilabel_score
    scores = scorer(scored, **{**component.cfg, "labels": component.labels})
    columns, report = LabelColumns.of(scored, component.labels), component.report
    if component.exclusive:
        warn_of_several_labels(columns.right)
    metrics: dict[str, Any] = {
        "documents": len(examples),
        "macro_f": scores["cats_macro_f"],
        "micro_f": scores["cats_micro_f"],
        **calibration_metrics(columns, component.exclusive),
        "by_label": scores["cats_f_per_type"],
        "report": report.to_dict() if report else None,
    }
    if component.exclusive:
        metrics["confusion"] = {"labels": list(component.labels), "counts": confusion_matrix(columns)}
    if isinstance(component, TextCatGraftMultilabel):
        metrics["thresholds"] = component.thresholds
    return metrics
