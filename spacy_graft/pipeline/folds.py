"""The choice of a point by cross-validation, where held-out documents are few or there are none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from ..graft.emptiness import NothingToLearnError, warnings_of_all_documents
from ..graft.report import Report
from ..heap import frozen_heap
from ..held_out import (
    ENOUGH_HELD_OUT,
    MANY_DOCUMENTS,
    FoldPoint,
    Judge,
    SolutionScorer,
    Verdict,
    chosen_of_folds,
    judged_by_folds,
    points_of_fold,
    verdicts_of_folds,
)
from ..messages import warn
from ..strengths import with_best_strengths
from .choice import HeldOut, without_needless_blocks
from .corpus import ExtractedCorpus
from .targets import Targets

if TYPE_CHECKING:
    from ..graft.points import PointFit
    from .training import Training


@dataclass(frozen=True)
class Split:
    """The training of a fold, and the documents that are held out of it.

    Attributes
    ----------
    kept : Training
        Of the documents that are kept.
    held_out : HeldOut
    also : ExtractedCorpus, optional
        Further training documents. With them, all are joined and indexed anew for each fit, since there may be many;
        without, the fits share their indexes.
    """

    kept: Training
    held_out: HeldOut
    also: ExtractedCorpus | None = None

    def training(self) -> Training:
        """The training of all documents of the fold."""
        return self.kept if self.also is None else self.kept.of(self.kept.corpus.followed_by(self.also))


def splits_of(training: Training, numbers: Iterable[tuple[np.ndarray, np.ndarray]]) -> list[Split]:
    """The splits of the documents of a training, for one cross-validation.

    Memory: the symbols of the documents, once more for each split; where a learner tries strengths or blocks, also
    their indexes.

    Parameters
    ----------
    training : Training
    numbers : iterable of pairs of int64
        Those of the documents that are kept and of those that are held out, of each split
        (:func:`.held_out.rows_of_splits`).
    """
    corpus, strings, locked = training.corpus, training.fits.strings, training.learner.locks_weights
    shares = corpus.documents().targets.shares()
    return [
        Split(training.of(corpus.some(kept)), HeldOut(corpus.some(others), strings, shares, locked))
        for kept, others in numbers
    ]


class FoldChoice(NamedTuple):
    """What cross-validation chooses.

    Attributes
    ----------
    report : Report
        The point of a path, with its refit and adjustment.
    points : list of Report
        All points that it has judged, with the means of the folds.
    """

    report: Report
    points: list[Report]


def chosen_of_few(training: Training, corpus: ExtractedCorpus, held_out: HeldOut) -> Report | None:
    """What all documents choose by cross-validation, where those held out are too few and others not many.

    Otherwise None. ``corpus``: all documents, those held out included.
    """
    is_few = len(held_out.corpus) < ENOUGH_HELD_OUT and len(corpus) < MANY_DOCUMENTS
    if not is_few or training.learner.metric != "log_loss":
        return None
    numbers = corpus.splits()
    if sum(len(others) for _, others in numbers) <= len(held_out.corpus):
        return None
    of_all = training.of(corpus)
    try:
        with training.progress_bar() as of_all.progress:
            return cross_validated(of_all, splits_of(of_all, numbers)).report
    except NothingToLearnError as error:  # from what a fold keeps; all documents may have more
        warn(
            f"[{corpus.reader.component}] The few documents of dev choose the model alone. "
            f"Cross-validation failed: {error}"
        )
        return None


@frozen_heap()
def cross_validated(training: Training, splits: list[Split], name: str = "") -> FoldChoice:
    """The point of a path that held-out documents choose.

    Parameters
    ----------
    training : Training
        How models are trained; its own fit stays as it is.
    splits : list of Split
    name : str
        What the bar of each fold begins with.
    """
    n_folds, tempered = len(splits), training.fits.resources.network is not None
    with warnings_of_all_documents():
        paths = []
        for fold, split in enumerate(splits, start=1):
            title = f"{name}fold {fold} of {n_folds}: "
            paths.append(points_of_split(split, title, tempered, alone=n_folds == 1))
        held_out = judge_of_all(splits)
        verdicts = verdicts_of_folds(held_out, paths, tempered)
        learner, judged_as = training.learner, partial(judged_like, training, splits, held_out)
        chosen = chosen_of_folds(learner, verdicts)
        chosen = with_best_strengths(learner, training.fits.choices, chosen, held_out, judged_as)
        chosen = without_needless_blocks(learner.optional_blocks, training.corpus.blocks, chosen, judged_as)
        return FoldChoice(replace(chosen.report, n_folds=n_folds), [verdict.report for verdict in verdicts])


def points_of_split(split: Split, title: str, tempered: bool, alone: bool) -> list[FoldPoint]:
    """The points of the path of one fold; its fit is freed before the next one allocates.

    ``tempered`` and ``alone`` are those of :func:`~spacy_graft.held_out.points_of_fold`.
    """
    training = split.training()
    fits = (cast("PointFit", training.course.fit) for _ in training.shown(training.steps(), title))
    points = points_of_fold(fits, split.held_out.scorer, split.held_out, tempered, alone)
    training.course.fit = None
    return points


def judge_of_all(splits: list[Split]) -> Judge:
    """The held-out documents of all splits."""
    first = splits[0].held_out
    targets = Targets.joined([split.held_out.corpus.documents().targets for split in splits])
    return Judge(targets.arrays, first.exclusive, first.shares, first.locked)


def judged_like(
    training: Training, splits: list[Split], held_out: Judge, like: Report, option: str | None = None
) -> Verdict | None:
    """The point of a report with its blocks and strengths in all folds; None if it is too large."""
    tempered = training.fits.resources.network is not None and like.network_alpha != 0.0
    return judged_by_folds(training.learner, like, fits_like(splits, like), held_out, tempered)


def fits_like(splits: list[Split], like: Report) -> Iterator[tuple[PointFit, SolutionScorer]]:
    """The fit of each fold at the point of a report, with its blocks and strengths."""
    for split in splits:
        of_fold = split.training()
        of_fold.begin_like(like)
        yield of_fold.path_to(like), split.held_out.scorer
        of_fold.course.fit = None  # frees its memory before the next one allocates
