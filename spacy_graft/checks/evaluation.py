"""How good a trained component is on labelled documents: scores by label, confusion matrix, calibration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import chain
from types import SimpleNamespace
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..extract.unread import document_text
from ..messages import listed, warn
from ..metrics import LEAST_RIGHT, brier, expected_calibration_error, log_loss, reliability
from ..pipeline.components import later_components_disabled
from ..pipeline.dataset import LEFT_OUT, no_label
from ..pipeline.judging import can_judge, warn_of_trained
from ..pipeline.scorer import LabelColumns, Scored, textcat_multilabel_score, textcat_score
from ..pipeline.targets import COMPLETE_KEY, SUM_TOLERANCE, is_complete, sum_of_targets
from ..pipeline.textcat import TextCatGraft, TextCatGraftMultilabel


def confusion_counts(columns: LabelColumns, labels: Sequence[str]) -> list[dict[str, Any]]:
    """Count documents by gold and predicted label, where there are any; those without a label are left out.

    There are at most as many counts as documents, whatever the number of labels.
    """
    labelled = columns.right.any(axis=1)
    pairs = np.stack([columns.right[labelled].argmax(axis=1), columns.predicted[labelled].argmax(axis=1)], axis=1)
    distinct, counts = np.unique(pairs, axis=0, return_counts=True)
    return [
        {"gold": labels[gold], "predicted": labels[predicted], "documents": n}
        for (gold, predicted), n in zip(distinct.tolist(), counts.tolist(), strict=True)
    ]


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
        warn(
            f"Of {len(examples)} documents, {n_documents} have labels that the pipeline does not have "
            f"({listed(names)}). No score is of these labels."
        )


def warn_of_several_labels(component: TextCatGraft, examples: list[Example]) -> None:
    """Warn of documents with several labels of a component that exclude each other."""
    labels = frozenset(component.labels)
    totals = np.array([sum_of_targets(one.reference.cats, labels) for one in examples])
    several, without = np.flatnonzero(totals > 1.0 + SUM_TOLERANCE), int((totals == 0.0).sum())
    if len(several):
        warn(
            f"The labels of the component exclude each other, but {len(several):,} of {len(examples):,} documents have "
            f"several of them, the first of these is document {several[0] + 1:,}; {without:,} have none. Precision, "
            f"recall and F1 count each label; the confusion matrix has the first label of a document only, and "
            f"log-loss and calibration are not those of one label a document. Correct the labels."
        )


def n_occurring(component: TextCatGraft, columns: LabelColumns) -> int:
    """How many labels are annotated or predicted; F1 of the others is 0, whatever the model.

    Of targets between 0 and 1, those that the scorers take for 1 are annotated.
    """
    occurs = np.asarray((columns.right >= LEAST_RIGHT).any(axis=0))
    predicted = component.decisions(columns.predicted)
    if component.exclusive:
        predicted |= component.decisions(columns.right)
    else:
        predicted &= columns.known
    return int((occurs | predicted.any(axis=0)).sum())


def predicted_labels(
    nlp: Language, component: TextCatGraft, examples: Iterable[Example]
) -> tuple[list[Example], list[Example], list[str]]:
    """Predict the texts of examples.

    Returns
    -------
    examples : list
        The labels alone, of all (:func:`labels_alone`).
    scored : list
        Those of them that can be judged, with predictions.
    texts : list of str
        Of these.
    """
    found: list[Example] = []
    texts: list[str] = []

    def judged() -> Iterator[tuple[str, Example]]:
        for example in examples:
            found.append(labels_alone(example.reference))
            if can_judge(component, found[-1]):
                texts.append(document_text(example.reference))
                yield texts[-1], found[-1]

    scored = []
    with later_components_disabled(nlp, component):
        for doc, example in nlp.pipe(judged(), as_tuples=True):
            example.predicted.cats = doc.cats
            scored.append(example)
    return found, scored, texts


def labels_alone(doc: Doc) -> Any:
    """What scorers see of an example: the labels of a document, and room for predictions.

    It stands for an Example, whose two Docs would take ten kilobytes.
    """
    user_data = {COMPLETE_KEY: True} if is_complete(doc) else {}
    return Scored(SimpleNamespace(cats={}), SimpleNamespace(cats=doc.cats, user_data=user_data))


def evaluate(nlp: Language, component: TextCatGraft, examples: Iterable[Example]) -> dict[str, Any]:
    """Return all metrics as plain values.

    Memory: texts, labels and probabilities of all documents; tokens of a batch.

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
        If some are left out because they have no label of the component, have labels that the pipeline does not have,
        or several of labels that exclude each other; or if they are those of dev, which the model was trained on.
    """
    examples, scored, texts = predicted_labels(nlp, component, examples)
    if not scored:
        raise no_label(component, len(examples), (label for one in examples for label in one.reference.cats))
    warn_of_unknown_labels(nlp, examples)
    if n_left := len(examples) - len(scored):
        warn(LEFT_OUT.format(n_left=n_left, n=len(examples)))
    warn_of_trained(component, texts)
    scorer = textcat_score if component.exclusive else textcat_multilabel_score
    scores = scorer(scored, **{**component.scoring_options(), "labels": component.labels})
    columns, report = LabelColumns.of(scored, component.labels), component.report
    if component.exclusive:
        warn_of_several_labels(component, examples)
    metrics: dict[str, Any] = {
        "documents": len(scored),
        "macro_f": scores["cats_macro_f"],
        "labels_that_occur": n_occurring(component, columns),
        "micro_f": scores["cats_micro_f"],
        **calibration_metrics(columns, component.exclusive),
        "by_label": scores["cats_f_per_type"],
        "report": report.to_dict() if report else None,
    }
    if component.exclusive:
        metrics["confusion"] = confusion_counts(columns, component.labels)
    if isinstance(component, TextCatGraftMultilabel):
        metrics["thresholds"] = component.thresholds
    return metrics
