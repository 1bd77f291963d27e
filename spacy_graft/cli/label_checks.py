"""Training examples that a model of the others would label otherwise."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from spacy.training import Example

from ..graft.learners import GraftingPath
from ..pipeline.fit import folds, progress_bar, steps
from ..pipeline.textcat import TextCatGraft
from ..pipeline.training import Learner
from .common import one_line
from .corpus_checks import positive_labels

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


def suspects(
    component: TextCatGraft, examples: list[Example], names: list[str], labels: list[str], wanted: int
) -> list[Suspect]:
    """The examples of the highest loss under models that have not seen them, the highest first."""
    fold_of = folds(examples) % PARTS
    probabilities = np.zeros((len(examples), len(labels)))
    component.learner = quick(component.learner)
    with progress_bar(component) as progress, warnings.catch_warnings():
        # All of a rare label's documents may be held out.
        warnings.filterwarnings("ignore", message=r".*No training document is positive", category=UserWarning)
        for part in np.unique(fold_of).tolist():
            kept = [example for example, own in zip(examples, fold_of, strict=True) if own != part]
            held_out = np.flatnonzero(fold_of == part)
            if kept:
                train(component, kept, labels, progress, f"part {part + 1} of {PARTS}: ")
                probabilities[held_out] = component.predict(examples[i].predicted for i in held_out)
    losses = [component.get_loss([example], row[np.newaxis])[0]
              for example, row in zip(examples, probabilities, strict=True)]  # fmt: skip
    worst = np.argsort(-np.array(losses), kind="stable")[:wanted].tolist()
    return [suspect(component, examples[i], names[i], probabilities[i], losses[i]) for i in worst]


def quick(learner: Learner) -> Learner:
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
    for fit in steps(component, examples, {"labels": labels}, progress, name):
        last = fit
    component.take_over(last.solution(), last.report)


def suspect(component: TextCatGraft, example: Example, name: str, row: np.ndarray, loss: float) -> Suspect:
    """An example, its labels and what was predicted."""
    if component.exclusive:
        predicted = [component.labels[int(row.argmax())]]
    else:
        predicted = [label for label, value in zip(component.labels, row, strict=True) if value >= 0.5]
    text = one_line(example.reference.text[: 2 * EXCERPT])[:EXCERPT]
    labels = sorted(positive_labels(example.reference))
    return Suspect(name, labels, predicted, round(loss, 4), text)
