"""Scores of exclusive labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from spacy.scorer import Scorer
from spacy.tokens import Doc
from spacy.training import Example


def make_textcat_scorer() -> Callable[..., dict[str, Any]]:
    """``spacy_graft.textcat_scorer.v1``."""
    return textcat_score


def textcat_score(examples: Iterable[Example], *, labels: Iterable[str], **kwargs: Any) -> dict[str, Any]:
    """Score ``doc.cats`` as ``spacy.textcat_scorer.v2`` does, except that no label is made up for a document.

    Where none of the component's labels holds for a document (its label is unknown, or it has none), spaCy's scorer
    takes the first label that is 0 for the gold one; here the prediction is a false positive and nothing else.
    """
    labels = tuple(labels)
    getter = partial(positive_cats, frozenset(labels))
    return Scorer.score_cats(examples, "cats", getter=getter, labels=labels, multi_label=False, **kwargs)


def positive_cats(labels: frozenset[str], doc: Doc, attr: str) -> dict[str, float]:
    """The document's categories, or nothing where none of the labels is positive."""
    cats: dict[str, float] = getattr(doc, attr)
    return cats if any(cats[label] > 0.0 for label in labels & cats.keys()) else {}
