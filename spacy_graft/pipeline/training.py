"""The state of a component that exists only during training."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

import numpy as np
from spacy.tokens import Doc
from spacy.util import logger

from ..adjustment import Adjustment
from ..graft.constraints import FeatureNames
from ..graft.emptiness import NothingToLearnError, why_empty
from ..graft.report import Report
from ..graft.settings import GraftingPath, PenaltySettings, n_samples
from ..graft.solution import Solution
from ..graft.start import Fit, final_solution, start
from ..heap import frozen_heap, trim_heap
from ..index.places import IndexPlace, OnDisk
from ..metrics import lifted_thresholds
from ..model.naming import texts_of
from ..model.snapshot import Snapshot, snapshot_of_solution
from ..strengths import choices_of, first_strengths, try_strengths
from .checkpoints import Checkpoints
from .choice import Choice, HeldOut, PresentPoint, Scorer
from .corpus import DocPair, ExtractedCorpus
from .folds import chosen_of_few, leave_out
from .judging import warn_of_noise
from .progress import progress_bar, progress_text
from .targets import TargetReader

if TYPE_CHECKING:
    from rich.progress import Progress
    from spacy.strings import StringStore

    from ..graft.data import TrainingData
    from ..graft.document_vectors import DocumentVectors
    from ..graft.label_batches import BatchedPath
    from ..graft.network import Network
    from ..graft.path import PathFit
    from ..graft.points import PointFit
    from .documents import Documents
    from .network import NetworkSource
    from .vectors import VectorsSource

Made = TypeVar("Made")
#: A model, or what is reported of it.
Step = TypeVar("Step", bound="StepModel | Report")


class Resources(NamedTuple):
    """What a training needs besides documents.

    Attributes
    ----------
    network : NetworkSource, optional
    checkpoint_folder : Path, optional
        Where the steps of :class:`~spacy_graft.graft.settings.GraftingPath` are saved, and found again by another
        training of the same corpus.
    vectors : VectorsSource, optional
    place : InMemory, OnDisk or Dask, optional
        Where the symbols and the indexes of the corpus are.
    """

    network: NetworkSource | None = None
    checkpoint_folder: Path | None = None
    vectors: VectorsSource | None = None
    place: IndexPlace | None = None


class StepModel(NamedTuple):
    """What a step of training gives."""

    snapshot: Snapshot
    report: Report


class OfDocuments(Generic[Made]):
    """What is made of documents: kept for as long as it is asked for of the same ones."""

    def __init__(self) -> None:
        self._known: tuple[Documents, Made] | None = None

    def of(self, documents: Documents, make: Callable[[], Made]) -> Made:
        """What has been made of these documents, or is made now."""
        if self._known is None or self._known[0] is not documents:
            self._known = None  # frees its memory before the next one is made
            self._known = documents, make()
        return self._known[1]


class Interrupted(NamedTuple):
    """A path that was interrupted: the refit that it had, and its documents."""

    refit: float | None
    documents: Documents


class Training:
    """The corpus and the fit of one component.

    A fit needs all documents when it starts. The corpus callback of ``initialize`` returns them at once. Examples that
    only ``update`` passes (streams, resumed training, loops over mini-batches) are collected, and the fit is restarted
    with all documents when there are as many new ones as it has, or when an update brings no new ones. A restarted fit
    first repeats the steps done so far, so that the model does not fall back, and the held-out documents judge them
    again. The total cost is about twice that of the last fit.

    It is not saved: when pickled or copied, it becomes None.

    Parameters
    ----------
    corpus : ExtractedCorpus
        Empty.
    learner : settings of a learner
    strings : StringStore
        Of the vocab of the documents.
    resources : Resources
    source : callable, optional
        The corpus callback of ``initialize``.

    Attributes
    ----------
    named : callable
        Returns the snapshot of a solution.
    names : FeatureNames
    fit : Fit, optional
    reports : list of Report
        The report after each step of the fit.
    choice : Choice, optional
        The points of a path that held-out documents have judged.
    held_out : HeldOut, optional
        These documents.
    has_no_judge : bool
        Whether documents were evaluated that should choose, and none has a label of the component.
    is_compared : bool
        Whether they have been compared with the documents of the fit.
    left_out : tuple of str
        Blocks that a fit which begins does not have.
    strengths : dict of str to float
        Options of the learner that it has other values of: ``network_alpha`` and ``vectors_ridge``. At 0 it has no
        network, or no word vectors.
    concluded : bool
        Whether the last step was that to the chosen model.
    is_stable : bool
        Whether the last step was that to the model of stable features, after a fit that is not a path.
    progress : Progress, optional
        The bar that shows the work; by default each kind of it has its own.
    n_scored : int
        How often the scores of the model after the last step have been asked for.
    losses : dict of str to float
        The caller's losses, which the next step updates.
    in_loop : bool
        Whether ``spacy train`` gives the documents, as long as its loop goes on.
    may_grow : bool
        Whether more documents may come than ``initialize`` gives. Otherwise ``update`` adds none: the loop reads the
        corpus again, and with an augmenter it gives other variants, whose number the size of batches would decide.
    """

    def __init__(
        self,
        corpus: ExtractedCorpus,
        learner: Any,
        strings: StringStore,
        resources: Resources,
        source: Callable[[], Iterable[DocPair]] | None = None,
    ) -> None:
        self.corpus = corpus
        self.learner = learner
        self.strings = strings
        self.resources = resources
        # They do not refer to the training, whose memory would be freed later.
        requiring = requiring_words(corpus.reader.component)
        self.named = requiring(partial(snapshot_of_solution, blocks=corpus.blocks, strings=strings))
        self.names = FeatureNames(requiring(partial(texts_of, corpus.blocks, strings)))
        self.fit: Fit | None = None
        self._forget_steps()
        self.left_out: tuple[str, ...] = ()
        self.strengths = self._first_strengths()
        self.progress: Progress | None = None
        self.losses: dict[str, float] = {}
        #: What a step has given, if the component does not have it, since the update was interrupted.
        self.unset: StepModel | None = None
        self.in_loop, self.may_grow = False, True
        self._is_told_of_others = False
        self._scorer: Scorer | None = None
        self._source = source
        self._snapshot: Snapshot | None = None
        self._checkpoints: Checkpoints | None = None
        self._data: OfDocuments[TrainingData] = OfDocuments()
        self._built_network: OfDocuments[Network] = OfDocuments()
        self._document_vectors: OfDocuments[DocumentVectors] = OfDocuments()
        self._is_evaluated = self._is_concluding = False
        self._interrupted: Interrupted | None = None
        self._steps = 0
        self._n_fitted = 0
        self._n_at_last_step = 0
        #: How many documents the model has that training has come to its end with; 0 once a later fit has a model.
        self._n_concluded = 0

    def _forget_steps(self) -> None:
        """Be as before the first step of a fit."""
        self.reports: list[Report] = []
        self.choice: Choice | None = None
        self.held_out: HeldOut | None = None
        self.is_compared = self.has_no_judge = False
        self.concluded = False
        self.is_stable = False
        self.n_scored = 0
        self._is_said_empty = False

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()

    @property
    def report(self) -> Report | None:
        """Of the last step; None before there is a fit."""
        if self.reports and self._n_fitted:
            return self.reports[-1]
        return None if self.fit is None else self.fit.report

    @property
    def n_pending(self) -> int:
        """How many documents have come since the fit began, which are in no model yet; 0 before there is a fit."""
        return len(self.corpus) - self._n_fitted if self._n_fitted else 0

    @property
    def ended_unjudged(self) -> bool:
        """Whether a fit has come to its end, of which held-out documents have not chosen a point."""
        return bool(self._n_concluded) and not (self.concluded or self._is_evaluated)

    def loss(self, report: Report) -> float:
        """The objective of a report, divided by the number of documents."""
        return report.objective / self._n_fitted

    def of(self, corpus: ExtractedCorpus) -> Training:
        """The same training of other documents, for the choice of a model: it looks for no unstable features."""
        learner = self.learner
        if isinstance(learner, PenaltySettings):
            learner = replace(learner, stability=False)
        training = Training(corpus, learner, self.strings, self.resources)
        training.progress = self.progress
        return training

    def begin_like(self, report: Report) -> None:
        """Leave out the blocks of a report, and use the strengths that it names."""
        self.left_out = tuple(report.left_out)
        self.strengths = self._strengths_of(report)

    @frozen_heap()
    def add_examples(self, examples: Iterable[DocPair]) -> None:
        """Read the corpus at the first call, and add the examples that are not in it, if it may grow."""
        self._read_source()
        if self.may_grow:
            self.corpus.add_unseen(examples)
        elif not (self._is_told_of_others or self.corpus.has_all(examples)):
            self._is_told_of_others = True
            logger.warning(
                "[%s] Batches of the loop have documents that the training corpus did not have when training began, as "
                "with an augmenter. The model is trained on those %s that it had then.",
                self.corpus.reader.component, f"{len(self.corpus):,}",
            )  # fmt: skip

    def read_from(self, source: Callable[[], Iterable[DocPair]]) -> None:
        """Read the corpus, which has not been read yet, from another source of the same documents, if there is one."""
        if self._source is not None:
            self._source = source

    def _read_source(self) -> None:
        if self._source is None:
            return
        corpus = ExtractedCorpus(self.corpus.blocks, self.corpus.reader, self.corpus.place)
        corpus.add(self._source())
        if not len(corpus):
            raise ValueError(
                "get_examples gave documents for initialize, but none when it was called again for training: it must "
                "return all of them each time, and not an iterator that has ended."
            )
        self.corpus, self._source = corpus, None

    def set_reader(self, reader: TargetReader) -> None:
        """Go on with more labels, whose documents are to come: the fit is started again."""
        self.corpus, self.may_grow = self.corpus.with_labels(reader), True
        self.fit = None
        self.held_out = self.choice = self.unset = None  # of fewer labels
        self._n_fitted = self._n_at_last_step = 0

    def step(self) -> StepModel | None:
        """Do one step of the fit; start or restart the fit if necessary.

        When held-out documents have judged a path (:meth:`judge`) and it has ended, or they are not predicted better
        any more, the last step is to the chosen model: under ``retrain``, to that of all documents, theirs included.
        These cannot judge after that: more documents only extend the model, and do not begin another choice.

        Returns
        -------
        StepModel or None
            None if nothing changed, because there are no documents or the fit has finished.

        Warns
        -----
        UserWarning
            If the fit has finished without a feature, with the reason and what to change.
        """
        with frozen_heap(), self._done_again_after_error():
            return self._next_model()

    @contextmanager
    def _done_again_after_error(self) -> Iterator[None]:
        """If the block raises an exception, nothing of what it has done is used: the next step does it again.

        If it is an error, and training had come to its end before, the documents that have come since are not kept: the
        next step would fail as well, and so would every other one.
        """
        before, n_documents, n_fitted = (self.left_out, self.strengths), len(self.corpus), self._n_fitted
        n_of_model, reports = self._n_concluded, list(self.reports)
        try:
            yield
        except BaseException as error:
            interrupted, self.fit = self.fit, None
            self.reports = reports  # those of the model
            if not self._is_concluding:
                if isinstance(error, Exception) and 0 < n_of_model < n_documents:
                    self.corpus = self.corpus.first(n_of_model)
                    self._n_fitted, self._n_at_last_step, self._n_concluded = n_fitted, n_of_model, n_of_model
                    raise
                # A fit begins. If it is one of the same documents, what has been judged of its points holds.
                judged = self.choice is not None and self.choice.points
                if n_documents == self._n_fitted and not self.concluded and judged and interrupted:
                    self._interrupted = Interrupted(cast("PointFit", interrupted).refit, self.corpus.documents())
                self._n_fitted = 0
                raise
            # It had tried blocks and strengths, and added the documents held out.
            self._is_concluding, (self.left_out, self.strengths) = False, before
            if len(self.corpus) > n_documents:
                self.corpus = self.corpus.first(n_documents)
            raise

    def _next_model(self) -> StepModel | None:
        """What :meth:`step` returns."""
        if self._must_start():
            last = self.reports[-1] if self.concluded else None
            if last is not None and last.n_held_out:
                # All documents, at the point that was chosen before some of them came.
                return self._concluded(self._retrained(self._lifted(last, self._n_concluded), last.n_held_out))
            self.fit = None  # frees its memory before the next fit allocates
            if self.concluded:
                self.left_out, self.strengths = (), self._first_strengths()
            self.fit = self._started_fit()
        elif self.concluded:
            return None
        elif self.choice is not None and self.choice.points and self._has_judged_all(self.choice):
            # Of more documents another point may be better; a fit of all of them begins once no more come.
            return None if self.n_pending and self.may_grow else self._conclude(self.choice)
        elif self.fit is None:
            return None
        elif self.fit.finished:
            return self._stable() if n_samples(self.learner) else None
        self._step(self.fit)
        if self.fit.finished and not self._is_evaluated:  # or else there is one more model
            self.warn_if_empty(self.fit.report)
        self._snapshot = self.named(self.fit.solution())
        self._n_concluded = self._n_fitted if self.fit.finished else 0
        self._steps += 1
        return StepModel(self._snapshot, self.fit.report)

    def _has_judged_all(self, choice: Choice) -> bool:
        """Whether a path is not gone on with; it is no longer there if its choice was interrupted."""
        return self.fit is None or self.fit.finished or choice.is_exhausted

    def models(self) -> Iterator[StepModel]:
        """Do all steps that are left, and yield their models."""
        while (model := self.step()) is not None:
            yield model

    def steps(self, like: Report | None = None) -> Iterator[Report]:
        """Begin again, and do all steps, or as many as a path took to the point of a report; models are not named.

        A fit without points is done when it has finished.
        """
        self.fit = None  # frees its memory before the next fit allocates
        fit = self.fit = self._started_fit()
        last = None if like is None else like.points
        while True:
            self._step(fit)
            yield fit.report
            if fit.finished or (last and fit.report.points >= last):
                break

    @property
    def takes_held_out(self) -> bool:
        """Whether documents that are evaluated now may choose among the points of a path.

        They may in a loop that evaluates from its first step on. What is evaluated after training without held-out
        documents may be a test set, which must not choose anything.
        """
        return self.choice is not None and (self._is_evaluated or len(self.reports) == 1)

    @property
    def is_going_on(self) -> bool:
        """Whether a fit has begun that has steps left."""
        return self.fit is not None and not (self.fit.finished or self.concluded)

    @property
    def is_past_choice(self) -> bool:
        """Whether documents that are evaluated now come too late to choose among the points of a path."""
        return self.choice is not None and self.is_going_on and not (self.takes_held_out or self.has_no_judge)

    @property
    def is_judged(self) -> bool:
        """Whether the present point of a path has been judged, or there is none."""
        if self.choice is None or self.fit is None or self.concluded or self._snapshot is None:
            return True
        if not self.fit.report.points:
            return True
        return bool(self.choice.points) and self.choice.points[-1].report.points == self.fit.report.points

    def scores_of_held_out(self, docs: Sequence[Doc], snapshot: Snapshot) -> np.ndarray | None:
        """The scores of documents under a model, if they are held-out ones, which need not be read again."""
        held_out = self.held_out
        numbers = None if held_out is None else held_out.numbers_of(docs)
        return None if held_out is None or numbers is None else held_out.scores(snapshot)[numbers]

    @frozen_heap()
    def judge(self, held_out: HeldOut, scorer: Scorer) -> None:
        """Judge the present point of a path by held-out documents, the same at all points."""
        assert self.fit is not None
        assert self._snapshot is not None
        self.held_out, self._is_evaluated, self._scorer = held_out, True, scorer
        self._judge(self.fit, self._snapshot)
        # Points may be judged later on without an evaluation: after the path, or when a fit starts again.
        if not (self.learner.optional_blocks or self.choices or self.may_grow or self.n_pending):
            self._scorer = None  # it holds the examples

    def _judge(self, fit: Fit, snapshot: Snapshot) -> None:
        """Judge a point by the held-out documents; ``snapshot`` is that of its solution."""
        assert self.choice is not None
        self.reports[-1] = self.choice.judge(self._present(fit, snapshot)).report

    def _present(self, fit: Fit, snapshot: Snapshot) -> PresentPoint:
        """The point of a path, with the snapshot of its solution, and what judges it."""
        assert self.held_out is not None
        assert self._scorer is not None
        return PresentPoint(cast("PointFit", fit), snapshot, self.held_out, self._scorer)

    def _conclude(self, choice: Choice) -> StepModel:
        """The chosen model, after which nothing changes."""
        self._is_concluding = True
        held_out, shares = self.held_out, self.shares()
        assert held_out is not None
        try_strengths(choice.learner, self.choices, partial(self._take_strength, choice))
        optional = choice.learner.optional_blocks
        self.left_out = leave_out(optional, self.corpus.blocks, partial(self._is_needless, choice))
        chosen = choice.chosen
        assert chosen.snapshot is not None
        model = StepModel(chosen.snapshot, chosen.report.copy().with_strengths(self.strengths))
        if choice.learner.retrain:
            like, n_before = chosen.report, len(self.corpus)
            joined = self.corpus.followed_by(held_out.corpus)
            found = chosen_of_few(self, joined, held_out)
            if found is not None:
                self.begin_like(found)
                like, n_before = replace(found, held_out_sketch=like.held_out_sketch), len(joined)
            self.corpus = joined
            model = self._retrained(self._lifted(like, n_before), len(held_out.corpus))
        elif n_samples(choice.learner):
            self.path_to(chosen.report)
            model = self.refitted(chosen.report)
        if not (model.report.n_folds or why_empty(self.learner, model.report, self._n_fitted)):
            warn_of_noise(self.corpus.reader.component, held_out, chosen.losses, shares)
        self._is_concluding = False
        return self._concluded(model)

    def progress_bar(self) -> AbstractContextManager[Progress]:
        """The bar of the caller, or one of its own."""
        return progress_bar(self.corpus.reader.component) if self.progress is None else nullcontext(self.progress)

    def shown(self, steps: Iterable[Step], name: str = "") -> Iterator[Step]:
        """The same steps, by their models or reports, in a bar that begins with ``name``."""
        # Of a path there is one more, to the chosen model; other learners have no fixed number.
        n_steps = self.learner.n_points + 1 if isinstance(self.learner, GraftingPath) else None
        with self.progress_bar() as progress:
            task = progress.add_task(name, total=n_steps)
            for step in steps:
                report = step if isinstance(step, Report) else step.report
                progress.update(task, advance=1, description=name + progress_text(report))
                yield step

    def _concluded(self, model: StepModel) -> StepModel:
        """A model after which nothing changes, as long as there are no more documents."""
        self.warn_if_empty(model.report)
        model.report.finished = self.concluded = True
        self._n_concluded = len(self.corpus)
        self.n_scored = 0  # this model may be one of more documents than the last
        self.reports.append(model.report)
        return model

    def recalibrate(self, report: Report) -> None:
        """Go on from another calibration of the model, if there are more documents."""
        if self.concluded and self.reports:  # an edit has no steps
            self.reports[-1] = report

    def _first_strengths(self) -> dict[str, float]:
        """Without word vectors if that is among the choices: a path that has them stops at fewer features."""
        return first_strengths(self.learner) if self.resources.vectors is not None else {}

    def _stable(self) -> StepModel:
        """The model of a fit that has finished, with the stability of its features; nothing changes after that."""
        assert self.fit is not None
        model = self.refitted(self.fit.report)
        self.is_stable = not isinstance(self.learner, GraftingPath)
        return self._concluded(model)

    def _final_solution(self, fit: Fit) -> Solution:
        """The solution of a fit that does not go on, with a progress bar over the samples that this takes."""
        n = n_samples(self.learner)
        if not n:
            return fit.solution()
        with self.progress_bar() as progress:
            return final_solution(fit, partial(progress.advance, progress.add_task("samples", total=n)))

    def _strengths_of(self, report: Report) -> dict[str, float]:
        """The strengths of a fit, which has no word vectors if its report does not name theirs."""
        return {**self._first_strengths(), **report.strengths}

    @property
    def choices(self) -> list[tuple[str, float]]:
        """The strengths that a path tries, by option: of a network and of word vectors, where there are some."""
        return choices_of(self.learner, self.resources.network is not None, self.resources.vectors is not None)

    def _take_strength(self, choice: Choice, option: str, strength: float) -> bool:
        """Whether another strength is better at the chosen point; then that is what is chosen."""
        self.strengths = {**self._strengths_of(choice.chosen.report), option: strength}
        is_taken = choice.take_strength(self.strengths, option, self._path_like(choice.chosen.report))
        self.strengths = self._strengths_of(choice.chosen.report)
        return is_taken

    def _is_needless(self, choice: Choice, blocks: tuple[str, ...]) -> bool:
        """Whether the chosen point is no worse without these blocks; then that is what is chosen."""
        self.left_out = blocks
        return choice.take_without(blocks, self._path_like(choice.chosen.report))

    def _path_like(self, report: Report) -> PresentPoint:
        """A new fit at the point of a report, under its refit, to be judged."""
        fit = self.path_to(report)
        fit.refit = report.refit
        return self._present(fit, self.named(fit.solution()))

    def _retrained(self, chosen: Report, n_held_out: int) -> StepModel:
        """The model of all documents, those held out included, at a point under its refit and adjustment."""
        self.path_to(chosen)
        self._n_at_last_step = self._n_fitted
        return self.refitted(chosen, n_held_out)

    def _lifted(self, like: Report, n_before: int) -> Report:
        """A report with thresholds for a model of all documents; it has those for one of the first ``n_before``."""
        if like.thresholds is None:
            return like
        targets, n_labels = self.corpus.documents().targets, len(like.thresholds)
        shares = [of.shares() for of in (targets.some(np.arange(n_before)), targets)]
        before, after = (like.adjustment.probabilities_of(of)[:n_labels] for of in shares)
        return replace(like, thresholds=lifted_thresholds(like.thresholds, before, after))

    def path_to(self, like: Report) -> PointFit:
        """A new fit, of the present documents, network strength and blocks, at the point of a report.

        Nobody sees the points before it, so they are passed by.
        """
        self.fit = None  # frees its memory before the next fit allocates
        trim_heap()
        fit = self.fit = cast("PointFit", self._begun_fit(towards=like))
        for step in fit.steps_to(like):
            self._do(fit, step)
        return fit

    def refitted(self, like: Report, n_held_out: int = 0) -> StepModel:
        """The present state of a fit, of a path under the refit of another report, with the calibration of that.

        The fit is over then.
        """
        fit = self.fit
        assert fit is not None
        if isinstance(self.learner, GraftingPath):
            cast("PointFit", fit).refit = like.refit
        trim_heap()
        solution = self._final_solution(fit)
        locked = getattr(self.learner, "locks_weights", False)  # not of learners without constraints
        report = replace(
            with_calibration_of(like, fit.report, locked, self.shares()),
            refit=like.refit,
            n_held_out=n_held_out,
            held_out_sketch=like.held_out_sketch,
            left_out=list(like.left_out),
            n_folds=like.n_folds,
        )
        self.fit = None
        del fit  # frees its memory before the model is named
        snapshot = self.named(solution).adjusted(report.adjustment, self.shares())
        return StepModel(snapshot, report.with_strengths(self.strengths))

    def shares(self) -> np.ndarray:
        """Of labels among the training documents: float64 (n_labels)."""
        return self.corpus.documents().targets.shares()

    def warn_if_empty(self, report: Report) -> None:
        """Warn if the last model of a fit has no features, with the reason and what to change; once a fit."""
        reason = None if self._is_said_empty else why_empty(self.learner, report, self._n_fitted)
        if reason is not None:
            self._is_said_empty = True
            warnings.warn(reason, stacklevel=4)

    def _must_start(self) -> bool:
        growing = len(self.corpus) > self._n_at_last_step
        self._n_at_last_step = len(self.corpus)
        n_new = len(self.corpus) - self._n_fitted
        return n_new > 0 and (n_new >= self._n_fitted or not growing)

    def _started_fit(self) -> Fit:
        """A fit with all documents, after the number of steps done so far."""
        fit = self._begun_fit()
        before, self._interrupted = self._interrupted, None
        if before is not None and before.documents is self.corpus.documents():
            return self._gone_on(cast("PointFit", fit), before)
        held_out, last_choice = self.held_out, self.choice
        self._forget_steps()
        self.choice = Choice(self.learner, last_choice) if isinstance(self.learner, GraftingPath) else None
        if held_out is not None and self._scorer is not None:
            self.held_out = held_out.with_shares(self.shares())
        for _ in range(self._steps):
            self._step(fit)
            if self.held_out is not None and self._is_passed(fit):
                self._judge(fit, self.named(fit.solution()))
        return fit

    def _is_passed(self, fit: Fit) -> bool:
        """Whether a restarted fit goes on from its present point, before held-out documents can be evaluated again."""
        assert self.choice is not None
        return bool(fit.report.points) and not (fit.finished or self.choice.is_exhausted)

    def _gone_on(self, fit: PointFit, before: Interrupted) -> PointFit:
        """The fit that takes the place of one that was interrupted, as far as that had come."""
        self._interrupted = before  # until this one has
        for _ in range(self._steps):
            if not fit.finished:
                self._do(fit, fit.step)
        fit.refit, self._interrupted = before.refit, None
        return fit

    def _begun_fit(self, towards: Report | None = None) -> Fit:
        """A fit with all documents, before its first step; on the way to the point of a report, if one is given."""
        data = self._training_data().without(self.left_out)
        learner = self.learner
        if self.strengths:
            given: dict[str, Any] = {option: strength for option, strength in self.strengths.items() if strength > 0.0}
            learner = replace(learner, **given, network_choices=(), vectors_choices=())
        network, checkpoint_folder, vectors, _ = self.resources
        documents, streams = self.corpus.documents(), self.corpus.streams()
        # Neither depends on its strength, nor on the blocks left out.
        if network is not None and self.strengths.get("network_alpha") != 0.0:
            data = replace(data, network=self._built_network.of(documents, partial(network, data, streams)))
        is_chosen = self.strengths.get("vectors_ridge") != 0.0
        if vectors is not None and is_chosen and vectors.block_name not in self.left_out:
            data = replace(data, vectors=self._document_vectors.of(documents, partial(vectors, streams)))
        if checkpoint_folder is not None:
            component = self.corpus.reader.component
            self._checkpoints = Checkpoints.of_fit(component, checkpoint_folder, learner, data, towards)
        if getattr(learner, "constraints", None) is not None:
            data = replace(data, names=self.names)
        trim_heap()
        fit = self._indexed(learner, data)
        self._n_fitted = len(self.corpus)
        return fit

    def _indexed(self, learner: Any, data: TrainingData) -> Fit:
        """A fit before its first step, with a progress bar if its indexes are built in files."""
        if not isinstance(data.place, OnDisk):
            return start(learner, data)
        with progress_bar(self.corpus.reader.component) as progress:
            task = progress.add_task("shards", total=None)

            def done(n_done: int, n_shards: int) -> None:
                progress.update(task, completed=n_done, total=n_shards)

            return start(learner, replace(data, place=replace(data.place, done=done)))

    def _training_data(self) -> TrainingData:
        """The present documents. Where there are several fits of the same documents, they share what is indexed."""
        learner = self.learner
        if not isinstance(learner, GraftingPath) or not (learner.optional_blocks or self.choices):
            return self.corpus.training_data()
        return self._data.of(self.corpus.documents(), lambda: replace(self.corpus.training_data(), indexes={}))

    def _step(self, fit: Fit) -> None:
        """Do a step of the fit unless it has finished; a restarted fit may finish earlier than the one before."""
        if not fit.finished:
            n_points = fit.report.points
            self._do(fit, fit.step)
            is_new = fit.report.points > n_points or not n_points
            # A path of batches ends where its next point would be too large; then the one before has been judged.
            self.reports.append(fit.report.copy() if is_new else replace(self.reports[-1], finished=True))

    def _do(self, fit: Fit, step: Callable[[], None]) -> None:
        """Do a step of a fit; with checkpoints, take it from its own, or do and save it."""
        if self._checkpoints is None:
            step()
            return
        path, number = cast("PathFit | BatchedPath", fit), fit.report.points + 1
        saved = self._checkpoints.load(number)
        if saved is not None:
            path.resume(saved)
        else:
            step()
            self._checkpoints.save(number, path.to_dict())


class ResumedTraining(Training):
    """Training that extends a model to more documents, or more labels, of which it has the corpus.

    A step trains again on all documents, up to where the model was: the same point of a path, or the end of another
    fit. It does so whenever there are new documents or labels, so that the model is always that of all documents.

    ``corpus`` and ``report`` are those of the model.
    """

    def __init__(self, corpus: ExtractedCorpus, learner: Any, strings: StringStore, report: Report) -> None:
        super().__init__(corpus, learner, strings, Resources())
        self._report = report
        self.begin_like(report)
        # Others have come since if a training on them was interrupted.
        self._n_fitted = self._n_concluded = min(report.n_documents or len(corpus), len(corpus))

    @property
    def takes_held_out(self) -> bool:
        """Never: the point is that of the model."""
        return False

    def require_step(self) -> None:
        """Train at the next step also without new documents, as labels have been added since the last one."""
        self._n_fitted = 0

    def recalibrate(self, report: Report) -> None:
        super().recalibrate(report)
        self._report = report

    def _next_model(self) -> StepModel | None:
        if len(self.corpus) == self._n_fitted:
            return None
        like = self._lifted(self._report, self._n_concluded)
        for _ in self.steps(like):
            pass
        model = self._last_model(like)
        self.warn_if_empty(model.report)
        if isinstance(self.learner, GraftingPath):
            # None if the fit had finished before its first step.
            self.reports[-1:] = [model.report]
        return model

    def edited(self, weights: Mapping[tuple[str, str], np.ndarray], required: frozenset[str]) -> StepModel:
        """The model of the same documents under other constraints, at the same L1 strength.

        Parameters
        ----------
        weights : mapping
            Those of the model by block and name, to begin with: float64 (labels).
        required : frozenset of str
            Patterns and names that must be found.
        """
        wanted: dict[str, set[str]] = {}
        for block, text in weights:
            wanted.setdefault(block, set()).add(text)
        self.names = replace(self.names, required=required, wanted=wanted)
        self.fit = None
        fit = self.fit = self._begun_fit()
        resolve = getattr(fit, "resolve", None)
        if resolve is not None and self._report.l1 > 0.0:
            resolve(self._report, weights)
        # Labels in batches are not resolved: their path is followed to the point again.
        last = self._report.points if resolve is None else 0
        while not fit.finished and (not last or fit.report.points < last):
            fit.step()
        return self._last_model(self._report)

    def _last_model(self, like: Report) -> StepModel:
        """The model of a fit that has come as far as the one before, whose report is ``like``."""
        model = self.refitted(like, like.n_held_out)
        self._report, self._n_concluded, self.concluded = like, len(self.corpus), True
        if isinstance(self.learner, GraftingPath):
            model.report.finished = True
        return model


def not_kept(report: Report) -> str:
    """What a model was trained with that is not kept with it, for messages; empty if there is nothing."""
    if report.network is not None:
        return "a network of features, which is"
    return "" if report.vectors is None else "word vectors, which are"


@contextmanager
def naming_component(component: str, remedy: str = "") -> Iterator[None]:
    """Name the component in an error that does not name it; an error of constraints gets a remedy as well."""
    try:
        yield
    except ValueError as error:
        if type(error) in (ValueError, NothingToLearnError):
            message = str(error)
            name = "" if message.startswith("[") else f"[{component}] "
            error.args = (f"{name}{message}{remedy if message.startswith('Constraints:') else ''}",)
        raise


@contextmanager
def requiring_words(component: str) -> Iterator[None]:
    """Say in an error why the vocab does not have a word."""
    try:
        yield
    except KeyError as error:
        raise ValueError(
            f"[{component}] The vocab of this pipeline does not have a word of the training documents: they were read "
            f"in a memory zone that has ended. Read them outside of a zone."
        ) from error


def with_calibration_of(like: Report, report: Report, locked: bool, shares: np.ndarray) -> Report:
    """A copy of a report with the adjustment, none if weights are locked, and the thresholds of another."""
    adjustment = Adjustment() if locked else like.adjustment
    thresholds = like.thresholds
    if thresholds is not None and locked:
        thresholds = like.adjustment.thresholds_before(thresholds, shares)
    return replace(report.copy(), **adjustment._asdict(), thresholds=thresholds)
