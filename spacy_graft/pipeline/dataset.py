"""What a trained component decides about a data set, and by what."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from heapq import nlargest
from math import log
from typing import NamedTuple

from spacy.training import Example

from ..explain.html.dataset import DatasetFigures, Deciding, ExplainedError
from ..explain.scores import LabelExplanation
from ..extract.unread import document_text
from ..messages import listed
from ..metrics import LEAST_RIGHT
from .judging import can_judge, warn_of_trained
from .targets import SUM_TOLERANCE, is_complete, sum_of_targets
from .textcat import TextCatGraft, TextCatGraftMultilabel

#: Errors that are shown, the most confident ones.
MAX_ERRORS = 50
#: Said of documents that cannot be judged.
LEFT_OUT = (
    "{n_left:,} of {n:,} documents are left out of all scores: they have no label, or labels that the component does "
    "not have."
)


class Decision(NamedTuple):
    """A label that is predicted, or that should have been.

    Attributes
    ----------
    explanation : LabelExplanation
    margin : float
        Its log-odds above those from which it is predicted.
    error : ExplainedError, optional
        If something else is annotated.
    """

    explanation: LabelExplanation
    margin: float
    error: ExplainedError | None


def dataset_figures(component: TextCatGraft, examples: Iterable[Example], fragments: bool) -> DatasetFigures:
    """Classify annotated documents, and find what decides and the errors.

    A word or phrase decides a document if the prediction would be another without its contribution: the second label
    in the place of the first, or of independent labels one more or one less.

    Parameters
    ----------
    component : TextCatGraft
    examples : iterable of Example
        Their predicted documents have the annotation that the blocks need.
    fragments : bool
        Whether to count features in the place of words and phrases.

    Raises
    ------
    ValueError
        If documents have labels, but none that the component has.

    Warns
    -----
    UserWarning
        If they are those of dev, which the model was trained on in the end; if some have other labels than the
        component; or several where labels exclude each other.
    """
    labels: set[str] = set()
    own = frozenset(component.labels)
    present: Counter[tuple[str, str]] = Counter()
    decided: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    errors: list[ExplainedError] = []
    wrong: set[int] = set()
    judged: list[str] = []
    n_documents = n_errors = n_unknown = n_several = 0
    for n_documents, example in enumerate(examples, start=1):
        labels.update(example.reference.cats)
        if is_judged := can_judge(component, example):
            judged.append(document_text(example.reference))
        elif any(example.reference.cats.values()):
            n_unknown += 1
        n_several += component.exclusive and sum_of_targets(example.reference.cats, own) > 1.0 + SUM_TOLERANCE
        names: set[tuple[str, str]] = set()
        deciding: set[tuple[str, str]] = set()
        for decision in decisions_about(component, n_documents, example):
            for name, contribution in named_parts(decision.explanation, fragments):
                names.add(name)
                if contribution * decision.margin > decision.margin**2:
                    deciding.add(name)
            if is_judged and decision.error is not None:
                errors = nlargest(MAX_ERRORS, [*errors, decision.error], key=lambda error: error.confidence)
                wrong.add(n_documents)
                n_errors += 1
        present.update(names)
        for name in sorted(deciding):
            decided[name].append(n_documents)
    if labels and labels.isdisjoint(component.labels):
        raise no_label(component, n_documents, sorted(labels))
    warn_of_trained(component, judged)
    if n_unknown:
        warnings.warn(
            f"[{component.name}] {n_unknown} of {n_documents} documents have labels that the component does not know, "
            f"and are not among those that are judged. Its labels: {listed(component.labels)}.",
            stacklevel=3,
        )
    if n_several:
        warnings.warn(
            f"[{component.name}] {n_several} of {n_documents} documents have several labels, and those of the "
            f"component exclude each other: the first is taken for the right one. Correct the labels.",
            stacklevel=3,
        )
    ranked = sorted(decided, key=lambda name: -len(decided[name]))
    return DatasetFigures(
        n_documents,
        len(judged),
        n_errors,
        len(wrong),
        [Deciding(*name, present[name], decided[name], sorted(wrong.intersection(decided[name]))) for name in ranked],
        errors,
    )


def no_label(component: TextCatGraft, n_documents: int, found: Iterable[str]) -> ValueError:
    """Return the error for documents of which none has a label of the component."""
    return ValueError(
        f"None of the {n_documents} documents has a label of the component {component.name!r}. Its labels: "
        f"{listed(component.labels)}; those of the documents: {listed(dict.fromkeys(found))}."
    )


def named_parts(explanation: LabelExplanation, fragments: bool) -> Iterator[tuple[tuple[str, str], float]]:
    """Name, kind and contribution of each word or phrase, or of each feature."""
    if fragments:
        return (((part.text, part.kind), part.contribution) for part in explanation.contributions)
    key = explanation.source.same
    return (
        ((key(row.text), "" if row.places else row.parts[0][0].kind), row.contribution) for row in explanation.words
    )


def decisions_about(component: TextCatGraft, number: int, example: Example) -> Iterator[Decision]:
    """What the component says of a document with a number, and whether that is right."""
    if isinstance(component, TextCatGraftMultilabel):
        yield from independent_decisions(component, number, example)
        return
    doc = example.predicted
    cats = {label: example.reference.cats.get(label, 0.0) for label in component.labels}
    best = component.explain_best(doc).best
    right = max(cats, key=cats.__getitem__)
    if not cats[right] or best.label == right:
        yield Decision(best, best.score, None)
        return
    against = component.explain_best(doc, best.label, against=right).best
    yield Decision(best, best.score, ExplainedError(number, best.label, right, best.probability, against))


def independent_decisions(component: TextCatGraftMultilabel, number: int, example: Example) -> Iterator[Decision]:
    """The labels that are predicted or annotated."""
    doc, gold, thresholds = example.predicted, example.reference, component.thresholds
    for label, p in zip(component.labels, component.predict([doc])[0].tolist(), strict=True):
        is_known, is_right = label in gold.cats or is_complete(gold), gold.cats.get(label, 0.0) >= LEAST_RIGHT
        said = p >= thresholds[label]
        if not (said or is_right):
            continue
        explanation = component.explain(doc, label)[label]
        is_error = is_known and said != is_right
        names = (label, f"not {label}") if said else (f"not {label}", label)
        margin = explanation.score - log_odds(thresholds[label])
        error = ExplainedError(number, *names, p if said else 1.0 - p, explanation)
        yield Decision(explanation, margin, error if is_error else None)


def log_odds(probability: float) -> float:
    """The log-odds of a threshold; those of 0 and 1 are beyond all scores."""
    p = min(max(probability, 1e-300), 1.0 - 1e-16)
    return log(p) - log(1.0 - p)
