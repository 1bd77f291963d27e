"""Scorers of ``doc.cats``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from spacy.scorer import PRFScore, Scorer
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry

from ..graft.memory import MANY_LABELS
from ..metrics import LEAST_RIGHT, THRESHOLD
from .targets import is_complete

#: The scorers that components have by default.
TEXTCAT_SCORER = "spacy_graft.textcat_scorer.v1"
TEXTCAT_MULTILABEL_SCORER = "spacy_graft.textcat_multilabel_scorer.v1"


@registry.scorers(TEXTCAT_SCORER)
def make_textcat_scorer() -> Callable[..., dict[str, Any]]:
    """Make ``spacy_graft.textcat_scorer.v1``: :func:`textcat_score`."""
    return textcat_score


def textcat_score(examples: Iterable[Example], *, labels: Iterable[str], **kwargs: Any) -> dict[str, Any]:
    """Score exclusive labels as ``spacy.textcat_scorer.v2`` does, except for documents without a positive label.

    Of targets between 0 and 1, the largest is the right label (:func:`hardened`).

    If none of the component's labels is positive in the reference (its label is unknown, or it has none), spaCy's
    scorer takes the first label of value 0 as the correct one. Here the prediction is a false positive.

    Parameters
    ----------
    examples : iterable of Example
        Predictions and references, both in ``doc.cats``.
    labels : iterable of str
        The component's labels.
    **kwargs
        Passed to :meth:`spacy.scorer.Scorer.score_cats`.

    Returns
    -------
    dict
        The scores of ``score_cats``: ``cats_score``, ``cats_micro_f``, ``cats_f_per_type`` and others.
    """
    labels = tuple(labels)
    hard = hardened(examples, labels, exclusive=True)
    getter = partial(positive_cats, frozenset(labels))
    return Scorer.score_cats(hard, "cats", getter=getter, labels=labels, multi_label=False, **kwargs)


def positive_cats(labels: frozenset[str], doc: Doc, attr: str) -> dict[str, float]:
    """The document's categories; empty if none of the labels is positive."""
    cats: dict[str, float] = getattr(doc, attr)
    return cats if any(cats[label] > 0.0 for label in labels & cats.keys()) else {}


@registry.scorers(TEXTCAT_MULTILABEL_SCORER)
def make_textcat_multilabel_scorer() -> Callable[..., dict[str, Any]]:
    """Make ``spacy_graft.textcat_multilabel_scorer.v1``: :func:`textcat_multilabel_score`."""
    return textcat_multilabel_score


def textcat_multilabel_score(
    examples: Iterable[Example],
    *,
    labels: Iterable[str],
    threshold: float | None = None,
    thresholds: Mapping[str, float] | None = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """Score independent labels as ``spacy.textcat_multilabel_scorer.v2`` does, with a threshold for each label.

    Targets of at least 0.5 are right labels (:func:`hardened`).

    Parameters
    ----------
    examples : iterable of Example
        Predictions and references, both in ``doc.cats``.
    labels : iterable of str
        The component's labels.
    threshold : float, optional
        The probability from which a label is predicted; 0.5 by default.
    thresholds : mapping of str to float, optional
        Thresholds of single labels, which replace ``threshold``.
    **kwargs
        Passed to :meth:`spacy.scorer.Scorer.score_cats`.

    Returns
    -------
    dict
        The scores of ``score_cats``: ``cats_score``, ``cats_micro_f``, ``cats_f_per_type`` and others.
    """
    labels = tuple(labels)
    examples = hardened(examples, labels, exclusive=False)
    limits = [(thresholds or {}).get(label, THRESHOLD if threshold is None else threshold) for label in labels]
    if len(labels) >= MANY_LABELS or any(is_complete(example.reference) for example in examples):
        columns = LabelColumns.of(examples, labels)
        return {**areas_of(columns, labels), **f_scores(columns, labels, np.array(limits))}
    scores = Scorer.score_cats(examples, "cats", labels=labels, multi_label=True, threshold=threshold, **kwargs)
    return {**scores, **f_scores(LabelColumns.of(examples, labels), labels, np.array(limits))} if thresholds else scores


class Scored(NamedTuple):
    """What is scored in the place of an example.

    Attributes
    ----------
    predicted : Doc, or SimpleNamespace with ``cats``
    reference : SimpleNamespace
        With ``cats`` and ``user_data``.
    """

    predicted: Doc | SimpleNamespace
    reference: SimpleNamespace


def hardened(examples: Iterable[Example], labels: Sequence[str], exclusive: bool) -> list[Any]:
    """The examples; in the place of those with targets between 0 and 1, others with targets that are 0 or 1.

    F1 and AUC are about labels that are right or wrong; spaCy's AUC of other targets is no number. The right label is
    the first one with the largest target, or if labels are independent each of at least 0.5. Labels of other components
    do not count.
    """
    known, found = frozenset(labels), []
    for example in examples:
        cats = {label: value for label, value in example.reference.cats.items() if label in known}
        is_hard = all(value in (0.0, 1.0) for value in cats.values())
        if not is_hard:
            cats = {label: cats[label] for label in labels if label in cats}  # in the order of the component
        found.append(example if is_hard else hard_example(example, cats, exclusive))
    return found


def hard_example(example: Example, cats: Mapping[str, float], exclusive: bool) -> Scored:
    """An example with soft targets ``cats`` as one with hard ones."""
    best = max(cats, key=cats.__getitem__)
    hard = {label: float(label == best if exclusive else value >= LEAST_RIGHT) for label, value in cats.items()}
    return Scored(example.predicted, SimpleNamespace(cats=hard, user_data=example.reference.user_data))


class LabelColumns(NamedTuple):
    """What is predicted and what is right: arrays (n_documents, labels).

    Attributes
    ----------
    predicted, right : float64
    known : bool
    """

    predicted: np.ndarray
    right: np.ndarray
    known: np.ndarray

    @classmethod
    def of(cls, examples: Sequence[Example], labels: Sequence[str]) -> LabelColumns:
        """Those of examples."""
        numbers = {label: y for y, label in enumerate(labels)}
        shape = len(examples), len(labels)
        predicted, right, known = np.zeros(shape), np.zeros(shape), np.zeros(shape, np.bool_)
        for i, example in enumerate(examples):
            cats, gold = example.predicted.cats, example.reference.cats
            predicted[i] = [cats.get(label, 0.0) for label in labels]
            of_gold = {numbers[label]: value for label, value in gold.items() if label in numbers}
            right[i, list(of_gold)] = list(of_gold.values())
            known[i, slice(None) if is_complete(example.reference) else list(of_gold)] = True
        return cls(predicted, right, known)


def areas_of(columns: LabelColumns, labels: Sequence[str]) -> dict[str, Any]:
    """The scores of :meth:`spacy.scorer.Scorer.score_cats` that do not depend on thresholds, for all labels at once.

    spaCy's takes some milliseconds a document for each thousand labels.
    """
    areas = dict(zip(labels, map(area_under_curve, *(part.T for part in columns)), strict=True))
    macro_auc = sum(area or 0.0 for area in areas.values()) / len(labels) if labels else 0.0
    return {
        "cats_score": macro_auc,
        "cats_score_desc": "macro AUC",
        "cats_macro_auc": macro_auc,
        "cats_auc_per_type": areas,
    }


def area_under_curve(predicted: np.ndarray, right: np.ndarray, known: np.ndarray) -> float | None:
    """The ROC AUC of a label; None unless there are documents with it and others (Mann & Whitney 1947)."""
    from scipy.stats import rankdata  # not needed to load a component

    positive, ranks = right[known] > 0.0, rankdata(predicted[known])
    n_positive, n = int(positive.sum()), len(positive)
    if n_positive in (0, n):
        return None
    above = float(ranks[positive].sum()) - n_positive * (n_positive + 1) / 2.0
    return above / (n_positive * (n - n_positive))


def f_scores(columns: LabelColumns, labels: Sequence[str], thresholds: np.ndarray) -> dict[str, Any]:
    """The scores that depend on thresholds, float64 (labels), over the documents where a label is known."""
    predicted, right = columns.predicted >= thresholds, columns.right > 0.0
    cases = predicted & right, predicted & ~right, ~predicted & right
    counted = ((columns.known & case).sum(axis=0).tolist() for case in cases)
    by_label = {label: PRFScore(tp=tp, fp=fp, fn=fn) for label, tp, fp, fn in zip(labels, *counted, strict=True)}
    micro = PRFScore()
    for found in by_label.values():
        micro += found
    of_labels = {label: found.to_dict() for label, found in by_label.items()}
    means = {f"cats_macro_{key}": sum(found[key] for found in of_labels.values()) / len(of_labels) for key in "prf"}
    return {
        **{f"cats_micro_{key}": value for key, value in micro.to_dict().items()},
        **means,
        "cats_f_per_type": of_labels,
    }
