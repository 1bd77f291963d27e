"""Training without a config and without a loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, cast

import numpy as np
from spacy.language import Language
from spacy.training import Example

from ..graft.report import Report
from .textcat import TextCatGraft
from .training import Fit, annotated_by

if TYPE_CHECKING:
    from rich.progress import Progress

    from ..graft.path import PathFit

#: A point of the path is chosen by cross-validation: one document in FOLDS is held out at a time, until so many have
#: been. With fewer than FEWEST_HELD_OUT there is no choosing.
FOLDS, ENOUGH_HELD_OUT, FEWEST_HELD_OUT = 10, 500, 10


def fit(nlp: Language, examples: Iterable[Example], dev: Iterable[Example] | None = None) -> Report:
    """Train the graft component of a pipeline to its end.

    The other components are left as they are. Those that stand before it annotate the documents first, as they will
    when the pipeline runs.

    Parameters
    ----------
    nlp : Language
        With one ``textcat_graft`` or ``textcat_graft_multilabel`` enabled. It is trained from scratch.
    examples : iterable of Example
        Annotated in ``doc.cats``.
    dev : iterable of Example, optional
        The model that scores best on them is kept: of equal ones the first, which has the fewest features.
        Without them the last model is kept; but of a path of C, the point is first chosen by cross-validation, and then
        all documents are trained on down to that point. A tenth of each label's documents is held out at a time, until
        500 have been or all: once for large corpora, ten times for small ones. What counts is the log-loss of the
        held-out documents, since F-scores of a few hundred are a lottery.

    Returns
    -------
    Report
        Of the model that is kept.
    """
    component = graft_component(nlp)
    before = [pipe for _, pipe in takewhile(lambda item: item[1] is not component, nlp.pipeline)]
    train = list(annotated_by(before, examples, nlp.batch_size))
    with progress_bar(component) as progress:
        if dev is not None:
            choose(component, train, list(annotated_by(before, dev, nlp.batch_size)), progress)
        else:
            position = chosen_on_held_out(component, train, progress)
            for last in steps(component, train, progress, "all documents: "):
                if position is not None and has_come_to(last, position):
                    break
            component.take_over(last.solution(), last.report)
    component.training = None
    assert component.report is not None
    return component.report


def graft_component(nlp: Language) -> TextCatGraft:
    """The one graft component that is enabled."""
    found = {name: pipe for name, pipe in nlp.pipeline if isinstance(pipe, TextCatGraft)}
    if len(found) != 1:
        raise ValueError(
            f"spacy_graft.fit trains one component, and the pipeline has {len(found)} enabled: "
            f"{', '.join(found) or 'none'}. Its components: {', '.join(nlp.pipe_names) or 'none'}. Add one with "
            f'nlp.add_pipe("textcat_graft"), or choose with nlp.select_pipes.'
        )
    return next(iter(found.values()))


def steps(component: TextCatGraft, examples: list[Example], progress: Progress, name: str = "") -> Iterator[Fit]:
    """Train from scratch, a step at a time."""
    component.initialize(lambda: examples)
    training = component.training
    assert training is not None
    training.meet([])
    task = progress.add_task(name, total=getattr(component.learner, "total_steps", None))
    while (fit := training.step()) is not None:
        progress.update(task, advance=1, description=name + describe(fit.report))
        yield fit


def describe(report: Report) -> str:
    return f"C/C_max {report.l1_ratio:.4f}, {report.n_active:,} features, gap {report.relative_gap:.0e}"


def choose(component: TextCatGraft, train: list[Example], dev: list[Example], progress: Progress) -> None:
    """Train to the end, and go back to the first of the steps that scored best."""
    if not dev:
        raise ValueError("There are no dev examples to choose by. Give some, or None.")
    best_score = -1.0
    for fit in steps(component, train, progress):
        component.take_over(fit.solution(), fit.report)
        score = dev_score(component, dev)
        if score > best_score:
            best_score = score
            solution, report = fit.solution(), fit.report.copy()
    component.take_over(solution, report)


def dev_score(component: TextCatGraft, dev: list[Example]) -> float:
    """``cats_score``."""
    docs = [example.predicted for example in dev]
    component.set_annotations(docs, component.predict(docs))
    return float(component.score(dev)["cats_score"])


def chosen_on_held_out(component: TextCatGraft, examples: list[Example], progress: Progress) -> tuple[int, int] | None:
    """How far to go down the path; None for all of what the learner does."""
    from ..graft.learners import GraftingPath

    if not isinstance(component.learner, GraftingPath):
        return None
    fold_of = folds(examples)
    sizes = np.cumsum(np.bincount(fold_of, minlength=FOLDS))
    n_folds = int(np.searchsorted(sizes, min(ENOUGH_HELD_OUT, len(examples)))) + 1
    if sizes[n_folds - 1] < FEWEST_HELD_OUT:
        return None
    held_out: list[Example] = []
    found: list[dict[tuple[int, int], np.ndarray]] = []
    for fold in range(n_folds):
        kept = [example for example, its in zip(examples, fold_of, strict=True) if its != fold]
        part = [example for example, its in zip(examples, fold_of, strict=True) if its == fold]
        if kept and part:
            held_out.extend(part)
            found.append(along_path(component, kept, part, progress, f"fold {fold + 1} of {n_folds}: "))

    def loss(position: tuple[int, int]) -> float:
        # A path that has met max_features has ended before others: its last point stands.
        reached = [path[max(own for own in path if own <= position)] for path in found]
        return component.get_loss(held_out, np.concatenate(reached))[0]

    return min(sorted(set().union(*found)), key=loss)


def along_path(
    component: TextCatGraft, train: list[Example], held_out: list[Example], progress: Progress, name: str
) -> dict[tuple[int, int], np.ndarray]:
    """Probabilities of held-out documents, by position."""
    probabilities = {}
    for fit in steps(component, train, progress, name):
        component.take_over(fit.solution(), fit.report)
        probabilities[path_of(fit).position] = component.predict(example.predicted for example in held_out)
    return probabilities


def has_come_to(fit: Fit, position: tuple[int, int]) -> bool:
    """Whether a path is at a position or, where that is a point, at its end before it."""
    path = path_of(fit)
    return path.position == position or (path.ended and position[0] == 0)


def path_of(fit: Fit) -> PathFit:
    return cast("PathFit", fit)


def folds(examples: Iterable[Example]) -> np.ndarray:
    """The fold of each document: those of a set of labels take turns, from the last fold on (int64).

    So a label with fewer documents than folds keeps its first ones in training as long as it can.
    """
    seen: Counter[frozenset[str]] = Counter()
    found = []
    for example in examples:
        labels = frozenset(label for label, value in example.reference.cats.items() if value >= 0.5)
        seen[labels] += 1
        found.append(-seen[labels] % FOLDS)
    return np.array(found, np.int64)


def progress_bar(component: TextCatGraft) -> Progress:
    """On a terminal; elsewhere nothing is shown."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    return Progress(
        TextColumn(component.name),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
    )
