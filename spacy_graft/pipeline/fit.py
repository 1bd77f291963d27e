"""Training without a config and without a loop."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from spacy.language import Language
from spacy.training import Example

from ..graft.report import Report
from ..graft.settings import GraftingPath
from ..graft.start import Fit
from .components import graft_component
from .textcat import TextCatGraft
from .training import annotated_before

if TYPE_CHECKING:
    from rich.progress import Progress

    from ..graft.network import NetworkBuilder
    from ..graft.path import PathFit

#: A point of the path is chosen by cross-validation: one document in FOLDS is held out at a time, until so many have
#: been. With fewer than FEWEST_HELD_OUT there is no choosing.
FOLDS, ENOUGH_HELD_OUT, FEWEST_HELD_OUT = 10, 500, 10

#: How far a path is (see :attr:`spacy_graft.graft.path.PathFit.position`).
Position = tuple[int, int]
NOT_BEGUN: Position = (0, 0)


def fit(
    nlp: Language,
    examples: Iterable[Example],
    dev: Iterable[Example] | None = None,
    *,
    network: NetworkBuilder | None = None,
    network_max_length: int = 1,
    unlabelled: Iterable[Example] | None = None,
) -> Report:
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
        The model that scores best on them is kept: of equal ones the first.
        Without them the last model is kept; but of a path of C, the point and its refit are first chosen by
        cross-validation, and then all documents are trained on down to there. A tenth of the documents of each set of
        labels is held out at a time, until 500 have been or all: once for large corpora, ten times for small ones. What
        counts is the log-loss of the held-out documents, since F-scores of a few hundred are a lottery.
    network, network_max_length
        As for the ``initialize`` of the component.
    unlabelled : iterable of Example, optional
        More documents for the network, whose labels are not looked at.

    Returns
    -------
    Report
        Of the model that is kept.
    """
    component = graft_component(nlp)
    train = list(annotated_before(nlp, component, examples))
    # Once for all folds: labels that were added by hand, and the order in which the examples name the others.
    component.initialize(lambda: train)
    options: dict[str, Any] = {"labels": component.labels, "network": network, "network_max_length": network_max_length}
    if unlabelled is not None:
        more = list(annotated_before(nlp, component, unlabelled))
        options["unlabelled"] = lambda _: more
    with progress_bar(component) as progress:
        if dev is not None:
            choose(component, train, list(annotated_before(nlp, component, dev)), options, progress)
        else:
            position = chosen_on_held_out(component, train, options, progress)
            for last in steps(component, train, options, progress, "all documents: "):
                if position is not None and has_come_to(last, position):
                    break
            component.set_solution(last.solution(), last.report)
            record(component)
    component.training = None
    assert component.report is not None
    return component.report


def steps(
    component: TextCatGraft, examples: list[Example], options: dict[str, Any], progress: Progress, name: str = ""
) -> Iterator[Fit]:
    """Train from scratch, a step at a time; one at least. ``options`` are those of ``initialize``."""
    component.initialize(lambda: examples, **options)
    training = component.training
    assert training is not None
    training.add_examples([])
    task = progress.add_task(name, total=getattr(component.learner, "total_steps", None))
    fit = training.step()
    if fit is None:
        raise ValueError(
            f"[{component.name}] None of the {len(examples)} examples says anything of a label: there is nothing to "
            f"learn from. Annotate them in doc.cats."
        )
    while fit is not None:
        progress.update(task, advance=1, description=name + describe(fit.report))
        yield fit
        fit = training.step()


def describe(report: Report) -> str:
    """A line for the progress bar."""
    refit = "" if report.refit is None else f", refit {report.refit:g}"
    return (
        f"C/C_max {report.l1_ratio:.4f}, {report.rounds} rounds, {report.n_active:,} features, "
        f"gap {report.relative_gap:.0e}{refit}"
    )


def choose(
    component: TextCatGraft, train: list[Example], dev: list[Example], options: dict[str, Any], progress: Progress
) -> None:
    """Train to the end, and go back to the first of the steps that scored best."""
    if not dev:
        raise ValueError("There are no dev examples to choose by. Give some, or None.")
    best_score = -1.0
    for fit in steps(component, train, options, progress):
        component.set_solution(fit.solution(), fit.report)
        record(component)
        score = dev_score(component, dev)
        if score > best_score:
            best_score = score
            solution, report = fit.solution(), fit.report.copy()
    component.set_solution(solution, report)


def record(component: TextCatGraft) -> None:
    """Make the steps so far the component's history."""
    assert component.training is not None
    component.record(component.training.reports)


def dev_score(component: TextCatGraft, dev: list[Example]) -> float:
    """``cats_score``."""
    docs = [example.predicted for example in dev]
    component.set_annotations(docs, component.predict(docs))
    return float(component.score(dev)["cats_score"])


def chosen_on_held_out(
    component: TextCatGraft, examples: list[Example], options: dict[str, Any], progress: Progress
) -> Position | None:
    """How far to go down the path; None for all of what the learner does."""
    if not isinstance(component.learner, GraftingPath):
        return None
    fold_of = folds(examples)
    sizes = np.cumsum(np.bincount(fold_of, minlength=FOLDS))
    n_folds = int(np.searchsorted(sizes, min(ENOUGH_HELD_OUT, len(examples)))) + 1
    if sizes[n_folds - 1] < FEWEST_HELD_OUT:
        return None
    held_out: list[Example] = []
    paths: list[dict[Position, np.ndarray]] = []
    for fold in range(n_folds):
        kept = [example for example, its in zip(examples, fold_of, strict=True) if its != fold]
        part = [example for example, its in zip(examples, fold_of, strict=True) if its == fold]
        held_out += part
        of_fold = steps(component, kept, options, progress, f"fold {fold + 1} of {n_folds}: ")
        paths.append(along_path(component, of_fold, part))

    def loss(position: Position) -> float:
        # A path that has met max_features, or had nothing to learn from, ended before others: its last point stands.
        reached = [path[max((own for own in path if own <= position), default=min(path))] for path in paths]
        return component.get_loss(held_out, np.concatenate(reached))[0]

    positions = set().union(*paths) - {NOT_BEGUN}
    return min(sorted(positions), key=loss) if positions else None


def along_path(component: TextCatGraft, path: Iterable[Fit], held_out: list[Example]) -> dict[Position, np.ndarray]:
    """Probabilities of held-out documents, by position."""
    probabilities = {}
    with warnings.catch_warnings():
        # All of a rare label's documents may be held out; of the whole corpus, it will be said.
        warnings.filterwarnings("ignore", message=r".*No training document is positive", category=UserWarning)
        for fit in path:
            component.set_solution(fit.solution(), fit.report)
            probabilities[path_of(fit).position] = component.predict(example.predicted for example in held_out)
    return probabilities


def has_come_to(fit: Fit, position: Position) -> bool:
    """Whether a path is at a position or, where that is a point, at its end before it."""
    path = path_of(fit)
    return path.position == position or (path.ended and position[0] == 0)


def path_of(fit: Fit) -> PathFit:
    """The fit of a :class:`GraftingPath`, which is one."""
    return cast("PathFit", fit)


def folds(examples: Iterable[Example]) -> np.ndarray:
    """The fold of each document (int64): those of a set of labels take turns, and the next set goes on from there."""
    members: dict[frozenset[str], list[int]] = {}
    for i, example in enumerate(examples):
        labels = frozenset(label for label, value in example.reference.cats.items() if value >= 0.5)
        members.setdefault(labels, []).append(i)
    order = np.array([i for of_set in members.values() for i in of_set], np.int64)
    fold_of = np.empty(len(order), np.int64)
    fold_of[order] = np.arange(len(order)) % FOLDS
    return fold_of


def progress_bar(component: TextCatGraft) -> Progress:
    """On a terminal; elsewhere nothing is shown."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    return Progress(
        TextColumn(component.name),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
