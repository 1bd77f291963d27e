"""Training examples that a model of the others would label otherwise."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.language import Language
from spacy.training import Example

from ..graft.settings import GraftingPath
from ..messages import one_line
from ..model.sparse_linear import SparseLinear
from ..pipeline.components import graft_component
from ..pipeline.fit import folds, progress_bar, training_steps
from ..pipeline.textcat import TextCatGraft
from ..pipeline.training import annotated_before
from .corpus import name_of, positive_labels

if TYPE_CHECKING:
    from rich.progress import Progress

#: Parts of the corpus, each held out once; a model for finding errors need not be the best.
PARTS = 5
POINTS, L1_MIN_RATIO, MAX_FEATURES = 6, 0.01, 2000
#: Characters of a text that are shown.
EXCERPT = 60


@dataclass(frozen=True)
class Suspect:
    """An example of a high loss.

    Attributes
    ----------
    document : str
        Its id, or its number, from 1.
    labels : list of str
        Those that are said to hold.
    predicted : list of str
        Those that a model of other documents takes to hold.
    loss : float
        In nats.
    text : str
        How it begins.
    """

    document: str
    labels: list[str]
    predicted: list[str]
    loss: float
    text: str


def label_errors(
    nlp: Language,
    examples: Iterable[Example],
    *,
    wanted: int = 10,
    component: str | None = None,
    names: Sequence[str] | None = None,
) -> list[Suspect]:
    """Find the examples of the highest loss under models that have not seen them: likely label errors.

    A fifth of the examples is held out at a time, and a quick model is trained on the others. The pipeline stays as it
    is.

    Parameters
    ----------
    nlp : Language
        With a graft component; components before it annotate the documents.
    examples : iterable of Example
        Annotated in ``doc.cats``. They are held in memory.
    wanted : int
        How many examples to return.
    component : str, optional
        Which graft component, if there are several.
    names : sequence of str, optional
        How to name the examples; by default their ids, or their numbers from 1.

    Returns
    -------
    list of Suspect
        The highest loss first.
    """
    graft = graft_component(nlp, component)
    return suspects(graft, list(annotated_before(nlp, graft, examples)), wanted, names)


def suspects(
    component: TextCatGraft, examples: list[Example], wanted: int, names: Sequence[str] | None = None
) -> list[Suspect]:
    """The same for one component, which stays as it is, and examples that have been annotated."""
    trained = untrained_copy(component)
    labels = list(dict.fromkeys(label for example in examples for label in example.reference.cats))
    probabilities = held_out_probabilities(trained, examples, labels)
    losses = [
        trained.get_loss([example], row[np.newaxis])[0] for example, row in zip(examples, probabilities, strict=True)
    ]
    if names is None:
        names = [name_of(example, number) for number, example in enumerate(examples, start=1)]
    worst = np.argsort(-np.array(losses), kind="stable")[:wanted].tolist()
    return [suspect(trained, examples[i], names[i], probabilities[i], losses[i]) for i in worst]


def untrained_copy(component: TextCatGraft) -> TextCatGraft:
    """A component of the same settings, with a learner that is quick."""
    return type(component)(
        component.vocab,
        SparseLinear(component.blocks),
        component.name,
        blocks=component.blocks,
        learner=quick(component.learner),
        threshold=component.cfg["threshold"],
        scorer=component.scorer,
    )


def held_out_probabilities(component: TextCatGraft, examples: list[Example], labels: list[str]) -> np.ndarray:
    """Probabilities of each example under a model of the others: float64 (examples, labels)."""
    fold_of = folds(examples) % PARTS
    probabilities = np.zeros((len(examples), len(labels)))
    with progress_bar(component) as progress, warnings.catch_warnings():
        # All of a rare label's documents may be held out.
        warnings.filterwarnings("ignore", message=r".*No training document is positive", category=UserWarning)
        for part in np.unique(fold_of).tolist():
            kept = [example for example, own in zip(examples, fold_of, strict=True) if own != part]
            held_out = np.flatnonzero(fold_of == part)
            if kept:
                train(component, kept, labels, progress, f"part {part + 1} of {PARTS}: ")
                probabilities[held_out] = component.predict(examples[i].predicted for i in held_out)
    return probabilities


def quick(learner: Any) -> Any:
    """The learner with a shorter path; one that has no path, as it is."""
    if not isinstance(learner, GraftingPath):
        return learner
    return replace(
        learner,
        steps=min(learner.steps, POINTS),
        l1_min_ratio=max(learner.l1_min_ratio, L1_MIN_RATIO),
        max_features=min(learner.max_features or MAX_FEATURES, MAX_FEATURES),
        refit=learner.refits[0] if learner.refits else None,
    )


def train(component: TextCatGraft, examples: list[Example], labels: list[str], progress: Progress, name: str) -> None:
    """Train to the end of the path."""
    for fit in training_steps(component, examples, {"labels": labels}, progress, name):
        last = fit
    component.set_solution(last.solution(), last.report)


def suspect(component: TextCatGraft, example: Example, name: str, row: np.ndarray, loss: float) -> Suspect:
    """An example, its labels and what was predicted."""
    if component.exclusive:
        predicted = [component.labels[int(row.argmax())]]
    else:
        predicted = [label for label, value in zip(component.labels, row, strict=True) if value >= 0.5]
    text = one_line(example.reference.text[: 2 * EXCERPT])[:EXCERPT]
    labels = sorted(positive_labels(example.reference))
    return Suspect(name, labels, predicted, round(loss, 4), text)
