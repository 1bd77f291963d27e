"""``spacy_graft.fit``: training without a config or a training loop."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from spacy.language import Language
from spacy.training import Example

from ..graft.report import Position, Report
from ..graft.settings import GraftingPath
from ..graft.start import Fit
from .components import graft_component
from .textcat import TextCatGraft
from .training import annotated_before

if TYPE_CHECKING:
    from rich.progress import Progress

    from ..graft.network import NetworkBuilder
    from ..graft.path import PathFit

#: Cross-validation holds out one of N_FOLDS folds at a time, until ENOUGH_HELD_OUT documents have been held out. With
#: fewer than MIN_HELD_OUT documents there is no cross-validation.
N_FOLDS, ENOUGH_HELD_OUT, MIN_HELD_OUT = 10, 500, 10

START_OF_PATH: Position = (0, 0)


def fit(
    nlp: Language,
    examples: Iterable[Example],
    dev: Iterable[Example] | None = None,
    *,
    network: NetworkBuilder | None = None,
    network_max_length: int = 1,
    unlabelled: Iterable[Example] | None = None,
    checkpoints: str | None = None,
) -> Report:
    """Train the graft component of a pipeline from scratch until its learner has finished.

    Other components are not changed. The components before it annotate the documents, as they do in the pipeline.

    Parameters
    ----------
    nlp : Language
        A pipeline with one enabled ``textcat_graft`` or ``textcat_graft_multilabel``.
    examples : iterable of Example
        Training documents, annotated in ``doc.cats``.
    dev : iterable of Example, optional
        Documents to select the model with: the one after the step with the highest ``cats_score``, the first of them if
        there are several. Without them, ``GraftingPath`` selects a point of the path (and its refit) by
        cross-validation, and then trains on all documents up to that point. Each fold is a tenth of the documents of
        each set of labels; folds are held out until 500 documents have been, so large corpora need one fold and small
        ones ten. The criterion is the log-loss of the held-out documents, because F-scores of a few hundred documents
        vary too much. Other learners are trained until they have finished.
    network : callable, optional
        A builder of a graph of related features, from ``@graft_networks``.
    network_max_length : int
        Length of the longest n-gram that can be a vertex of the network, in tokens.
    unlabelled : iterable of Example, optional
        Additional documents for the network; their labels are not used.
    checkpoints : str, optional
        A folder for checkpoints, as for ``initialize``: a training that was interrupted goes on when it is repeated.

    Returns
    -------
    Report
        The report of the selected model.

    Raises
    ------
    ValueError
        If the pipeline does not have exactly one enabled graft component; if there are no examples, or none has an
        annotation; if ``dev`` is empty; if an annotation, a document or an option is invalid; or if there are
        ``unlabelled`` documents without a ``network``.

    Warns
    -----
    UserWarning
        If a label has no positive document.
    """
    component = graft_component(nlp)
    train = list(annotated_before(nlp, component, examples))
    # The labels, in this order, are the same in all folds: labels added by hand, then those of the examples.
    component.initialize(lambda: train)
    options: dict[str, Any] = {
        "labels": component.labels,
        "network": network,
        "network_max_length": network_max_length,
        "checkpoints": checkpoints,
    }
    if unlabelled is not None:
        annotated_unlabelled = list(annotated_before(nlp, component, unlabelled))
        options["unlabelled"] = lambda _: annotated_unlabelled
    with progress_bar(component) as progress:
        if dev is not None:
            train_with_dev(component, train, list(annotated_before(nlp, component, dev)), options, progress)
        else:
            position = cross_validated_position(component, train, options, progress)
            for last in training_steps(component, train, options, progress, "all documents: "):
                if position is not None and path_of(last).has_reached(position):
                    break
            component.set_solution(last.solution(), last.report)
    component.end_training()
    assert component.report is not None
    return component.report


def training_steps(
    component: TextCatGraft, examples: list[Example], options: dict[str, Any], progress: Progress, name: str = ""
) -> Iterator[Fit]:
    """Train from scratch and yield the fit after each step, at least once; ``options`` are those of ``initialize``."""
    component.initialize(lambda: examples, **options)
    training = component.training
    assert training is not None
    training.add_examples([])
    task = progress.add_task(name, total=n_steps(component.learner))
    fit = training.step()
    if fit is None:
        raise ValueError(
            f"[{component.name}] None of the {len(examples)} examples has a label: there is nothing to learn from. "
            f"Annotate them in doc.cats."
        )
    while fit is not None:
        progress.update(task, advance=1, description=name + progress_text(fit.report))
        yield fit
        fit = training.step()


def n_steps(learner: Any) -> int | None:
    """The number of steps of a path; None for learners without a fixed number."""
    return learner.total_steps if isinstance(learner, GraftingPath) else None


def progress_text(report: Report) -> str:
    """The state of a fit, for the progress bar."""
    refit = "" if report.refit is None else f", refit {report.refit:g}"
    return (
        f"l1/l1_max {report.l1_ratio:.4f}, {report.rounds} rounds, {report.n_active:,} features, "
        f"gap {report.relative_gap:.0e}{refit}"
    )


def train_with_dev(
    component: TextCatGraft, train: list[Example], dev: list[Example], options: dict[str, Any], progress: Progress
) -> None:
    """Train to the end, and set the solution of the step with the highest score on dev."""
    if not dev:
        raise ValueError("There are no dev examples. Give some, or dev=None to select by cross-validation.")
    best_score = -1.0
    for fit in training_steps(component, train, options, progress):
        component.set_solution(fit.solution(), fit.report)
        score = dev_score(component, dev)
        if score > best_score:
            best_score = score
            solution, report = fit.solution(), fit.report.copy()
    component.set_solution(solution, report)


def dev_score(component: TextCatGraft, dev: list[Example]) -> float:
    """The ``cats_score`` on dev."""
    docs = [example.predicted for example in dev]
    component.set_annotations(docs, component.predict(docs))
    return float(component.score(dev)["cats_score"])


def cross_validated_position(
    component: TextCatGraft, examples: list[Example], options: dict[str, Any], progress: Progress
) -> Position | None:
    """The position on the path with the lowest loss on held-out documents; None if there is nothing to select."""
    if not isinstance(component.learner, GraftingPath):
        return None
    fold_of = folds(examples)
    sizes = np.cumsum(np.bincount(fold_of, minlength=N_FOLDS))
    n_folds = int(np.searchsorted(sizes, min(ENOUGH_HELD_OUT, len(examples)))) + 1
    if sizes[n_folds - 1] < MIN_HELD_OUT:
        return None
    held_out: list[Example] = []
    paths: list[dict[Position, np.ndarray]] = []
    for fold in range(n_folds):
        kept = [example for example, number in zip(examples, fold_of, strict=True) if number != fold]
        part = [example for example, number in zip(examples, fold_of, strict=True) if number == fold]
        held_out += part
        path = training_steps(component, kept, options, progress, f"fold {fold + 1} of {n_folds}: ")
        paths.append(predict_along_path(component, path, part))

    def loss(position: Position) -> float:
        # A path that reached max_features, or had no features, ended before others: its last point counts.
        reached = [path[max((own for own in path if own <= position), default=min(path))] for path in paths]
        return component.get_loss(held_out, np.concatenate(reached))[0]

    positions = set().union(*paths) - {START_OF_PATH}
    return min(sorted(positions), key=loss) if positions else None


def predict_along_path(
    component: TextCatGraft, path: Iterable[Fit], held_out: list[Example]
) -> dict[Position, np.ndarray]:
    """Probabilities of held-out documents by position: float64 (n_documents, n_labels)."""
    probabilities = {}
    with warnings.catch_warnings():
        # All documents of a rare label can be held out. If it has none in the whole corpus, the last training warns.
        warnings.filterwarnings("ignore", message=r".*No training document is positive", category=UserWarning)
        # The same holds for a fold whose model has no features.
        warnings.filterwarnings("ignore", message="The trained model has no features", category=UserWarning)
        for fit in path:
            component.set_solution(fit.solution(), fit.report)
            probabilities[path_of(fit).position] = component.predict(example.predicted for example in held_out)
    return probabilities


def path_of(fit: Fit) -> PathFit:
    """Return a fit of :class:`GraftingPath`, typed as such."""
    return cast("PathFit", fit)


def folds(examples: Iterable[Example]) -> np.ndarray:
    """The fold of each document: int64 (n_documents). Documents with the same labels are spread over all folds."""
    members: dict[frozenset[str], list[int]] = {}
    for i, example in enumerate(examples):
        labels = frozenset(label for label, value in example.reference.cats.items() if value >= 0.5)
        members.setdefault(labels, []).append(i)
    order = np.array([i for indices in members.values() for i in indices], np.int64)
    fold_of = np.empty(len(order), np.int64)
    fold_of[order] = np.arange(len(order)) % N_FOLDS
    return fold_of


def progress_bar(component: TextCatGraft) -> Progress:
    """A progress bar on stderr, which is shown only if that is a terminal."""
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
