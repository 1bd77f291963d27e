"""The state of a component that exists only during training."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np
from spacy.tokens import Doc
from spacy.util import logger

from ..adjustment import Adjustment
from ..graft.emptiness import NothingToLearnError, why_empty
from ..graft.report import Report
from ..graft.settings import GraftingPath, PenaltySettings, n_samples
from ..graft.solution import Solution
from ..graft.start import Fit, final_solution
from ..heap import frozen_heap, trim_heap
from ..messages import warn
from ..metrics import lifted_thresholds
from ..model.snapshot import Snapshot
from ..strengths import with_best_strengths
from .choice import Choice, HeldOut, JudgedPoint, PresentPoint, Scorer, without_needless_blocks
from .corpus import DocPair, ExtractedCorpus
from .fits import FitBuilder, Resources, Variant
from .folds import chosen_of_few
from .judging import warn_of_noise
from .progress import progress_bar, progress_text
from .targets import TargetReader

if TYPE_CHECKING:
    from rich.progress import Progress
    from spacy.strings import StringStore

    from ..graft.points import PointFit

#: A model, or what is reported of it.
Step = TypeVar("Step", bound="StepModel | Report")


class StepModel(NamedTuple):
    """What a step of training gives."""

    snapshot: Snapshot
    report: Report


@dataclass
class Course:
    """How far the training on some documents has come.

    It is replaced when a fit of other documents begins. After a step or a judgement that failed, it is what it was
    before.

    Attributes
    ----------
    variant : Variant
        Of the fit.
    n_documents : int
        Those that it has, the first ones of the corpus; 0 before there is a fit.
    n_seen : int
        Those that there were at the last step.
    n_steps : int
        How many steps have been done, those before a fit was started again included.
    is_evaluated : bool
        Whether held-out documents have judged a point of this fit, or of one before it.
    fit : Fit, optional
        None if it is not needed any more, or if a step has failed: then it is begun again.
    reports : list of Report
        The report after each step of the fit.
    snapshot : Snapshot, optional
        Of the last step.
    choice : Choice, optional
        The points of a path that held-out documents have judged.
    held_out : HeldOut, optional
        These documents.
    has_no_judge : bool
        Whether documents were evaluated that should choose, and none has a label of the component.
    is_compared : bool
        Whether they have been compared with the documents of the fit.
    has_ended : bool
        Whether the fit has come to its end.
    concluded : bool
        Whether the last step was that to the chosen model, after which nothing changes.
    is_stable : bool
        Whether the last step was that to the model of stable features, after a fit that is not a path.
    is_said_empty : bool
        Whether there was a warning that the model has no features.
    lacks_labels : bool
        Whether labels have been added that the fit does not have.
    like : Report, optional
        If a model is extended, what it is trained to: the point, refit and calibration that it had.
    n_scored : int
        How often the scores of the model after the last step have been asked for.
    """

    variant: Variant
    n_documents: int = 0
    n_seen: int = 0
    n_steps: int = 0
    is_evaluated: bool = False
    fit: Fit | None = None
    reports: list[Report] = field(default_factory=list)
    snapshot: Snapshot | None = None
    choice: Choice | None = None
    held_out: HeldOut | None = None
    has_no_judge: bool = False
    is_compared: bool = False
    has_ended: bool = False
    concluded: bool = False
    is_stable: bool = False
    is_said_empty: bool = False
    lacks_labels: bool = False
    like: Report | None = None
    n_scored: int = 0

    @property
    def n_fitted(self) -> int:
        """How many documents a fit has with the labels that there are; 0 without one."""
        return 0 if self.lacks_labels else self.n_documents

    @property
    def is_going_on(self) -> bool:
        """Whether a fit has begun that has steps left."""
        return self.n_fitted > 0 and not (self.has_ended or self.concluded)

    @property
    def is_judged(self) -> bool:
        """Whether the present point of a path has been judged, or there is none."""
        if self.choice is None or self.concluded or self.snapshot is None:
            return True
        n_points = self.reports[-1].points
        return not n_points or bool(self.choice.points and self.choice.points[-1].report.points == n_points)


class Training:
    """The corpus and the fits of one component.

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
    fits : FitBuilder
    course : Course
    progress : Progress, optional
        The bar that shows the work; by default each kind of it has its own.
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
        self.fits = FitBuilder(learner, corpus.blocks, strings, resources, corpus.reader.component)
        self.course = Course(self.fits.first_variant())
        self.progress: Progress | None = None
        self.losses: dict[str, float] = {}
        self.in_loop, self.may_grow = False, True
        self._source = source
        self._is_told_of_others = False
        #: What scores the held-out documents.
        self._scorer: Scorer | None = None

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()

    @property
    def learner(self) -> Any:
        """The settings of the fits."""
        return self.fits.learner

    @property
    def report(self) -> Report | None:
        """Of the last step, or of a fit that had finished before its first one; None before there is a fit."""
        course = self.course
        if course.reports and course.n_fitted:
            return course.reports[-1]
        return None if course.fit is None else course.fit.report

    @property
    def n_pending(self) -> int:
        """How many documents have come since the fit began, which are in no model yet; 0 before there is a fit."""
        return len(self.corpus) - self.course.n_fitted if self.course.n_fitted else 0

    @property
    def ended_unjudged(self) -> bool:
        """Whether a fit has come to its end, of which held-out documents have not chosen a point."""
        return self.course.has_ended and not (self.course.concluded or self.course.is_evaluated)

    def loss(self, report: Report) -> float:
        """The objective of a report, divided by the number of documents."""
        return report.objective / self.course.n_documents

    def of(self, corpus: ExtractedCorpus) -> Training:
        """The same training of other documents, for the choice of a model: it looks for no unstable features."""
        learner = self.learner
        if isinstance(learner, PenaltySettings):
            learner = replace(learner, stability=False)
        training = Training(corpus, learner, self.fits.strings, self.fits.resources)
        training.progress = self.progress
        return training

    def begin_like(self, report: Report) -> None:
        """Leave out the blocks of a report, and use the strengths that it names."""
        self.course.variant = self.fits.variant_of(report)

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
        # Held-out documents and what they have judged are of fewer labels.
        course = replace(self.course, fit=None, held_out=None, choice=None, lacks_labels=True)
        self.corpus, self.course, self.may_grow = self.corpus.with_labels(reader), course, True

    def step(self) -> StepModel | None:
        """Do one step of the fit; start or restart the fit if necessary.

        When held-out documents have judged a path (:meth:`judging`) and it has ended, or they are not predicted better
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
        with self.stepping() as model:
            return model

    @contextmanager
    def stepping(self) -> Iterator[StepModel | None]:
        """Do one step, and give its model to the block. If either raises an exception, the step has not been done.

        If it is an error, and training had come to its end before, the documents that have come since are not kept: the
        next step would fail as well, and so would every other one.
        """
        try:
            with self._undone_after_error():
                with frozen_heap():
                    model = self._next_model()
                yield model
        except Exception:
            course = self.course
            if course.has_ended and course.n_documents < len(self.corpus):
                self.corpus, course.n_seen = self.corpus.first(course.n_documents), course.n_documents
            raise

    @contextmanager
    def _undone_after_error(self) -> Iterator[None]:
        """If the block raises an exception, corpus and course are what they were before it, without the fit."""
        n_documents, course = len(self.corpus), self.course
        # What a step changes in place is copied; the fit would take its memory.
        before = replace(course, fit=None, reports=list(course.reports), choice=copy(course.choice))
        try:
            yield
        except BaseException:
            self.course = before
            if len(self.corpus) > n_documents:
                self.corpus = self.corpus.first(n_documents)  # without those held out, which it has been joined with
            raise

    def _next_model(self) -> StepModel | None:
        """What :meth:`step` returns."""
        course = self.course
        if self._must_start():
            last = course.reports[-1] if course.concluded else None
            if last is not None and last.n_held_out:
                # All documents, at the point that was chosen before some of them came.
                return self._concluded(self._retrained(self._lifted(last, course.n_documents), last.n_held_out))
            self._start(self.fits.first_variant() if course.concluded else course.variant)
        elif course.concluded:
            return None
        elif course.choice is not None and course.choice.points and (course.has_ended or course.choice.is_exhausted):
            # Of more documents another point may be better; a fit of all of them begins once no more come.
            return None if self.n_pending and self.may_grow else self._conclude(course.choice)
        elif not course.n_documents:
            return None
        elif course.has_ended:
            return self._stable() if n_samples(self.learner) else None
        fit, course = self._present_fit(), self.course
        self._step(fit)
        if fit.finished and not course.is_evaluated:  # or else there is one more model
            self.warn_if_empty(fit.report)
        course.snapshot = self.fits.named(fit.solution())
        course.has_ended = fit.finished
        course.n_steps += 1
        return StepModel(course.snapshot, fit.report)

    def models(self) -> Iterator[StepModel]:
        """Do all steps that are left, and yield their models."""
        while (model := self.step()) is not None:
            yield model

    def steps(self) -> Iterator[Report]:
        """Begin again, and do all steps; models are not named."""
        fit = self._start(self.course.variant)
        while True:
            self._step(fit)
            yield fit.report
            if fit.finished:
                break

    def steps_to(self, like: Report) -> Iterator[Report]:
        """Begin again with all documents, and go to the point of a report; those before it are passed by."""
        self._free_fit()
        course = self.course
        course.n_documents = course.n_seen = len(self.corpus)
        course.lacks_labels = False
        fit = cast("PointFit", self.fits.begun(self.corpus, course.variant, towards=like))
        course.fit = fit
        for step in fit.steps_to(like):
            self.fits.do(fit, step)
            yield fit.report

    @property
    def takes_held_out(self) -> bool:
        """Whether documents that are evaluated now may choose among the points of a path.

        They may in a loop that evaluates from its first step on. What is evaluated after training without held-out
        documents may be a test set, which must not choose anything.
        """
        return self.course.choice is not None and (self.course.is_evaluated or len(self.course.reports) == 1)

    @property
    def is_past_choice(self) -> bool:
        """Whether documents that are evaluated now come too late to choose among the points of a path."""
        course = self.course
        return course.choice is not None and course.is_going_on and not (self.takes_held_out or course.has_no_judge)

    def scores_of_held_out(self, docs: Sequence[Doc], snapshot: Snapshot) -> np.ndarray | None:
        """The scores of documents under a model, if they are held-out ones, which need not be read again."""
        held_out = self.course.held_out
        numbers = None if held_out is None else held_out.numbers_of(docs)
        return None if held_out is None or numbers is None else held_out.scores(snapshot)[numbers]

    @contextmanager
    def judging(self, held_out: HeldOut, scorer: Scorer) -> Iterator[None]:
        """Judge the present point of a path by held-out documents, the same at all points, for a block that uses it.

        If either raises an exception, it has not been judged.
        """
        with self._undone_after_error():
            course = self.course
            assert course.snapshot is not None
            with frozen_heap():
                course.held_out, course.is_evaluated, self._scorer = held_out, True, scorer
                self._judge(self._present_fit(), course.snapshot)
            yield
        # Points may be judged later on without an evaluation: after the path, or when a fit starts again.
        if not (self.learner.optional_blocks or self.fits.choices or self.may_grow or self.n_pending):
            self._scorer = None  # it holds the examples

    def _judge(self, fit: Fit, snapshot: Snapshot) -> None:
        """Judge a point by the held-out documents; ``snapshot`` is that of its solution."""
        assert self.course.choice is not None
        self.course.reports[-1] = self.course.choice.judge(self._present(fit, snapshot)).report

    def _present(self, fit: Fit, snapshot: Snapshot) -> PresentPoint:
        """The point of a path, with the snapshot of its solution, and what judges it."""
        assert self.course.held_out is not None
        assert self._scorer is not None
        return PresentPoint(cast("PointFit", fit), snapshot, self.course.held_out, self._scorer)

    def _conclude(self, choice: Choice) -> StepModel:
        """The chosen model, after which nothing changes."""
        held_out, shares = self.course.held_out, self.shares()
        assert held_out is not None
        learner, judged_as = choice.learner, partial(self._judged_like, choice)
        chosen = with_best_strengths(learner, self.fits.choices, choice.chosen, held_out, judged_as)
        chosen = without_needless_blocks(learner.optional_blocks, self.corpus.blocks, chosen, judged_as)
        choice.settle(chosen)
        self.begin_like(chosen.report)
        assert chosen.snapshot is not None
        model = StepModel(chosen.snapshot, chosen.report.copy().with_strengths(self.course.variant.strengths))
        if choice.learner.retrain:
            like, n_before = chosen.report, len(self.corpus)
            # What has been chosen is trained with the same features, even if all documents are no small corpus.
            joined = self.corpus.followed_by(held_out.corpus).with_min_df(self.corpus.min_df)
            found = chosen_of_few(self, joined, held_out)
            if found is not None:
                self.begin_like(found)
                like, n_before = replace(found, held_out_sketch=like.held_out_sketch), len(joined)
            self.corpus = joined
            model = self._retrained(self._lifted(like, n_before), len(held_out.corpus))
        elif n_samples(choice.learner):
            model = self._retrained(chosen.report)
        if not (model.report.n_folds or why_empty(self.learner, model.report, len(self.corpus))):
            warn_of_noise(self.corpus.reader.component, held_out, chosen.losses, shares)
        return self._concluded(model)

    def progress_bar(self) -> AbstractContextManager[Progress]:
        """The bar of the caller, or one of its own."""
        return progress_bar(self.corpus.reader.component) if self.progress is None else nullcontext(self.progress)

    def shown(self, steps: Iterable[Step], name: str = "", last: int | None = None) -> Iterator[Step]:
        """The same steps, by their models or reports, in a bar that begins with ``name``; up to point ``last``."""
        # Of a path there is one more, to the chosen model; other learners have no fixed number.
        n_steps = self.learner.n_points + 1 if isinstance(self.learner, GraftingPath) else None
        with self.progress_bar() as progress:
            task = progress.add_task(name, total=last or n_steps)
            for n_done, step in enumerate(steps, start=1):
                report = step if isinstance(step, Report) else step.report
                completed = report.points if last else n_done
                progress.update(task, completed=completed, description=name + progress_text(report))
                yield step

    def _concluded(self, model: StepModel) -> StepModel:
        """A model after which nothing changes, as long as no more documents come."""
        course = self.course
        self.warn_if_empty(model.report)
        model.report.finished = course.concluded = course.has_ended = True
        course.n_scored = 0  # this model may be one of more documents than the last
        course.reports.append(model.report)
        return model

    def recalibrate(self, report: Report) -> None:
        """Go on from another calibration of the model, if there are more documents."""
        course = self.course
        if course.concluded and course.reports:  # an edit has no steps
            self.course = replace(course, reports=[*course.reports[:-1], report])

    def _stable(self) -> StepModel:
        """The model of a fit that has finished, with the stability of its features; nothing changes after that."""
        model = self.refitted(self._present_fit().report)
        self.course.is_stable = not isinstance(self.learner, GraftingPath)
        return self._concluded(model)

    def _final_solution(self, fit: Fit) -> Solution:
        """The solution of a fit that does not go on, with a progress bar over the samples that this takes."""
        n = n_samples(self.learner)
        if not n:
            return fit.solution()
        with self.progress_bar() as progress:
            return final_solution(fit, partial(progress.advance, progress.add_task("samples", total=n)))

    def _judged_like(self, choice: Choice, like: Report, option: str | None = None) -> JudgedPoint | None:
        """A new fit at the point of a report, with its blocks and strengths, as held-out documents judge it."""
        self.begin_like(like)
        fit = self.path_to(like)
        fit.refit = like.refit
        return choice.judged_like(like, option, self._present(fit, self.fits.named(fit.solution())))

    def _retrained(self, chosen: Report, n_held_out: int = 0) -> StepModel:
        """The model of the present documents at a point, under its refit and adjustment."""
        self.path_to(chosen)
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
        """A new fit of the present documents at the point of a report."""
        for _ in self.steps_to(like):
            pass
        return cast("PointFit", self.course.fit)

    def _free_fit(self) -> None:
        """Free the memory of the fit before the next one allocates."""
        self.course.fit = None
        trim_heap()

    def refitted(self, like: Report, n_held_out: int = 0) -> StepModel:
        """The present state of a fit, of a path under the refit of another report, with the calibration of that.

        The fit is over then.
        """
        fit = self.course.fit
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
        self.course.fit = None
        del fit  # frees its memory before the model is named
        snapshot = self.fits.named(solution).adjusted(report.adjustment, self.shares())
        return StepModel(snapshot, report.with_strengths(self.course.variant.strengths))

    def shares(self) -> np.ndarray:
        """Of labels among the training documents: float64 (n_labels)."""
        return self.corpus.documents().targets.shares()

    def warn_if_empty(self, report: Report) -> None:
        """Warn if the last model of a fit has no features, with the reason and what to change; once a fit."""
        course = self.course
        reason = None if course.is_said_empty else why_empty(self.learner, report, course.n_documents)
        if reason is not None:
            course.is_said_empty = True
            warn(reason)

    def _must_start(self) -> bool:
        course = self.course
        growing = len(self.corpus) > course.n_seen
        course.n_seen = len(self.corpus)
        n_new = len(self.corpus) - course.n_fitted
        return n_new > 0 and (n_new >= course.n_fitted or not growing)

    def _start(self, variant: Variant) -> Fit:
        """Begin a fit with all documents, and repeat the steps done so far."""
        self._free_fit()
        before, n_documents = self.course, len(self.corpus)
        course = self.course = Course(variant, n_documents, n_documents, before.n_steps, before.is_evaluated)
        fit = course.fit = self.fits.begun(self.corpus, variant)
        if isinstance(self.learner, GraftingPath):
            course.choice = Choice(self.learner, before.choice)
        if before.held_out is not None and self._scorer is not None:
            course.held_out = before.held_out.with_shares(self.shares())
        for _ in range(course.n_steps):
            self._step(fit)
            if course.held_out is not None and self._is_passed(fit):
                self._judge(fit, self.fits.named(fit.solution()))
        return fit

    def _is_passed(self, fit: Fit) -> bool:
        """Whether a restarted fit goes on from its present point, before held-out documents can be evaluated again."""
        assert self.course.choice is not None
        return bool(fit.report.points) and not (fit.finished or self.course.choice.is_exhausted)

    def _present_fit(self) -> Fit:
        """The fit as far as it has come, begun again if it was lost in a step that failed."""
        course = self.course
        if course.fit is None:
            corpus = self.corpus.first(course.n_documents) if self.n_pending else self.corpus
            fit = self.fits.begun(corpus, course.variant)
            for _ in range(course.n_steps):
                if not fit.finished:
                    self.fits.do(fit, fit.step)
            if course.choice is not None and course.choice.points:
                cast("PointFit", fit).refit = course.choice.points[-1].report.refit
            course.fit = fit
        return course.fit

    def _step(self, fit: Fit) -> None:
        """Do a step of the fit unless it has finished; a restarted fit may finish earlier than the one before."""
        if not fit.finished:
            reports, n_points = self.course.reports, fit.report.points
            self.fits.do(fit, fit.step)
            is_new = fit.report.points > n_points or not n_points
            # A path of batches ends where its next point would be too large; then the one before has been judged.
            reports.append(fit.report.copy() if is_new else replace(reports[-1], finished=True))


class ResumedTraining(Training):
    """Training that extends a model to more documents, or more labels, of which it has the corpus.

    A step trains again on all documents, up to where the model was: the same point of a path, or the end of another
    fit. It does so whenever there are new documents or labels, so that the model is always that of all documents.

    ``corpus`` and ``report`` are those of the model.
    """

    def __init__(self, corpus: ExtractedCorpus, learner: Any, strings: StringStore, report: Report) -> None:
        super().__init__(corpus, learner, strings, Resources())
        # Others have come since if a training on them was interrupted.
        n_documents = min(report.n_documents or len(corpus), len(corpus))
        self.course = Course(self.fits.variant_of(report), n_documents, n_documents, has_ended=True, like=report)

    @property
    def takes_held_out(self) -> bool:
        """Never: the point is that of the model."""
        return False

    def require_step(self) -> None:
        """Train at the next step also without new documents, as labels have been added since the last one."""
        self.course.lacks_labels = True

    def recalibrate(self, report: Report) -> None:
        super().recalibrate(report)
        self.course = replace(self.course, like=report)

    def _next_model(self) -> StepModel | None:
        before = self.course
        if len(self.corpus) == before.n_fitted:
            return None
        assert before.like is not None
        like = self._lifted(before.like, before.n_documents)
        is_path = isinstance(self.learner, GraftingPath)
        if is_path and like.points:
            self.course = Course(before.variant)
            # An edit keeps the L1 strength, which is another share of the l1_max under its constraints.
            self.path_to(like if self.learner.constraints is None else replace(like, l1=0.0))
        else:
            for _ in self.steps():
                pass
        model = self._last_model(like)
        self.warn_if_empty(model.report)
        if is_path:
            # None if the fit had finished before its first step.
            self.course.reports[-1:] = [model.report]
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
        self.fits.names = replace(self.fits.names, required=required, wanted=wanted)
        like = self.course.like
        assert like is not None
        # It may have been chosen on a part of them, which was small. (Larger ones are due to an L1 strength.)
        own = self.corpus.min_df
        self.corpus = self.corpus.with_min_df({name: min(own[name], least) for name, least in like.min_df.items()})
        fit = self.course.fit = self.fits.begun(self.corpus, self.course.variant)
        resolve = getattr(fit, "resolve", None)
        if resolve is not None and like.l1 > 0.0:
            resolve(like, weights)
        # Labels in batches are not resolved: their path is followed to the point again.
        last = like.points if resolve is None else 0
        while not fit.finished and (not last or fit.report.points < last):
            fit.step()
        return self._last_model(like)

    def _last_model(self, like: Report) -> StepModel:
        """The model of a fit that has come as far as the one before, whose report is ``like``."""
        model, course = self.refitted(like, like.n_held_out), self.course
        course.n_documents = len(self.corpus)
        course.like, course.concluded, course.has_ended = like, True, True
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


def with_calibration_of(like: Report, report: Report, locked: bool, shares: np.ndarray) -> Report:
    """A copy of ``report`` with the adjustment and the thresholds of ``like``; locked weights are not adjusted."""
    adjustment = Adjustment() if locked else like.adjustment
    thresholds = like.thresholds
    if thresholds is not None and locked:
        thresholds = like.adjustment.thresholds_before(thresholds, shares)
    return replace(report.copy(), **adjustment._asdict(), thresholds=thresholds)
