"""What a trained component decides about a data set, and by what."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import compress
from math import log
from typing import NamedTuple

from spacy.training import Example

from ..explain.html.dataset import DatasetFigures, Deciding, ExplainedError
from ..explain.scores import LabelExplanation
from ..extract.unread import document_text
from ..messages import listed, warn
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


def dataset_figures(component: TextCatGraft, examples: Sequence[Example], fragments: bool) -> DatasetFigures:
    """Classify annotated documents, and find what decides and the errors.

    A word or phrase decides a document if the prediction would be another without its contribution: the second label
    in the place of the first, or of independent labels one more or one less.

    Parameters
    ----------
    component : TextCatGraft
    examples : sequence of Example
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
    judged = [can_judge(component, example) for example in examples]
    check_labelled(component, examples, judged)
    present: Counter[tuple[str, str]] = Counter()
    decided: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    errors: list[ExplainedError] = []
    wrong: set[int] = set()
    n_errors = 0
    for number, (example, is_judged) in enumerate(zip(examples, judged, strict=True), start=1):
        decisions = list(decisions_about(component, number, example))
        parts = [(*part, one.margin) for one in decisions for part in named_parts(one.explanation, fragments)]
        present.update({name for name, *_ in parts})
        for name in sorted({name for name, contribution, margin in parts if contribution * margin > margin**2}):
            decided[name].append(number)
        if is_judged and (made := [one.error for one in decisions if one.error is not None]):
            errors = nlargest(MAX_ERRORS, [*errors, *made], key=lambda error: error.confidence)
            wrong.add(number)
            n_errors += len(made)
    ranked = sorted(decided, key=lambda name: -len(decided[name]))
    return DatasetFigures(
        len(examples),
        sum(judged),
        n_errors,
        len(wrong),
        [Deciding(*name, present[name], decided[name], sorted(wrong.intersection(decided[name]))) for name in ranked],
        errors,
    )


def check_labelled(component: TextCatGraft, examples: Sequence[Example], judged: Sequence[bool]) -> None:
    """Warn of documents by which nothing is to be judged, or not as annotated; a ValueError if none has a label."""
    own = frozenset(component.labels)
    annotated = [example.reference.cats for example in examples]
    labels = {label for cats in annotated for label in cats}
    if labels and labels.isdisjoint(own):
        raise no_label(component, len(examples), sorted(labels))
    warn_of_trained(component, (document_text(example.reference) for example in compress(examples, judged)))
    n_unknown = sum(any(cats.values()) and not is_judged for cats, is_judged in zip(annotated, judged, strict=True))
    if n_unknown:
        warn(
            f"[{component.name}] {n_unknown} of {len(examples)} documents have labels that the component does not "
            f"know, and are not among those that are judged. Its labels: {listed(component.labels)}."
        )
    n_several = sum(sum_of_targets(cats, own) > 1.0 + SUM_TOLERANCE for cats in annotated)
    if component.exclusive and n_several:
        warn(
            f"[{component.name}] {n_several} of {len(examples)} documents have several labels, and those of the "
            f"component exclude each other: the first is taken for the right one. Correct the labels."
        )


def no_label(component: TextCatGraft, n_documents: int, found: Iterable[str]) -> ValueError:
    """Return the error for documents of which none has a label of the component."""
    return ValueError(
        f"None of the {n_documents} documents has a label of the component {component.name!r}. Its labels: "
        f"{listed(component.labels)}; those of the documents: {listed([*dict.fromkeys(found)])}."
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
