"""What a trained component decides about a data set, and by which features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import nlargest
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example

from ..explain.features import features_of
from ..explain.html.dataset import DatasetFigures, DecidingFeature, ExplainedError
from ..model.sparse_linear import snapshot_of
from .textcat import TextCatGraft, TextCatGraftMultilabel

#: Errors that are explained, the most confident ones.
MAX_ERRORS = 50


class Mistake(NamedTuple):
    """A wrong decision: its confidence, the number of its document, and what to explain."""

    confidence: float
    number: int
    doc: Doc
    said: str
    right: str
    label: str
    against: str | None


def dataset_figures(component: TextCatGraft, examples: Iterable[Example]) -> DatasetFigures:
    """Classify annotated documents, and find the features that decide and the errors.

    A feature decides a document if another label would be predicted without its contribution; of independent labels, if
    one more or one less would be.

    Parameters
    ----------
    component : TextCatGraft
    examples : iterable of Example
        Their predicted documents have the annotation that the blocks need.
    """
    snapshot = snapshot_of(component.model)
    decided: dict[int, list[int]] = {}
    wrong: dict[int, list[int]] = {}
    present = np.zeros(snapshot.features.n_features, np.int64)
    mistakes: list[Mistake] = []
    n_documents = n_decisions = n_errors = 0
    for n_documents, example in enumerate(examples, start=1):
        doc = example.predicted
        scores = snapshot.scores([doc])
        found = mistakes_of(component, n_documents, example, scores)
        n_decisions += n_annotated(component, example.reference.cats)
        n_errors += len(found)
        mistakes = nlargest(MAX_ERRORS, [*mistakes, *found], key=lambda mistake: mistake.confidence)
        rows, values, weights, scale = snapshot.contributions(doc)
        present[rows] += 1
        without = scores - scale * values[:, np.newaxis] * weights
        changed = (said_of(component, without) != said_of(component, scores)).any(axis=1)
        for row in rows[changed].tolist():
            decided.setdefault(row, []).append(n_documents)
            if found:
                wrong.setdefault(row, []).append(n_documents)
    features = features_of(snapshot, component.labels)
    ranked = sorted(decided, key=lambda row: -len(decided[row]))
    return DatasetFigures(
        n_documents,
        n_decisions,
        n_errors,
        [DecidingFeature(features[row], int(present[row]), decided[row], wrong.get(row, [])) for row in ranked],
        [explained_error(component, mistake) for mistake in mistakes],
    )


def said_of(component: TextCatGraft, scores: np.ndarray) -> np.ndarray:
    """Which labels are predicted by scores: bool (n, n_labels)."""
    if isinstance(component, TextCatGraftMultilabel):
        said: np.ndarray = component.probabilities_of(scores) >= np.array(list(component.thresholds.values()))
        return said
    return scores.argmax(axis=1)[:, np.newaxis] == np.arange(scores.shape[1])


def n_annotated(component: TextCatGraft, cats: Mapping[str, float]) -> int:
    """The number of decisions that an annotation says to be right or wrong."""
    return any(cats.values()) if component.exclusive else sum(label in cats for label in component.labels)


def mistakes_of(component: TextCatGraft, number: int, example: Example, scores: np.ndarray) -> list[Mistake]:
    """The wrong decisions about a document."""
    doc, cats, labels = example.predicted, example.reference.cats, component.labels
    probabilities = component.probabilities_of(scores)[0].tolist()
    said = said_of(component, scores)[0].tolist()
    if component.exclusive:
        right = [label for label, value in cats.items() if value]
        best = said.index(True)
        if not right or labels[best] in right:
            return []
        against = right[0] if right[0] in labels else None
        return [Mistake(probabilities[best], number, doc, labels[best], right[0], labels[best], against)]
    return [
        Mistake(p if is_said else 1.0 - p, number, doc, *names(label, is_said), label, None)
        for label, p, is_said in zip(labels, probabilities, said, strict=True)
        if label in cats and is_said != (cats[label] > 0.0)
    ]


def names(label: str, is_said: bool) -> tuple[str, str]:
    """What is said and what is right, if a label is predicted wrongly or missed."""
    return (label, f"not {label}") if is_said else (f"not {label}", label)


def explained_error(component: TextCatGraft, mistake: Mistake) -> ExplainedError:
    """A mistake with its evidence."""
    explanation = component.explain_best(mistake.doc, mistake.label, against=mistake.against).best
    return ExplainedError(mistake.number, mistake.said, mistake.right, mistake.confidence, explanation)
