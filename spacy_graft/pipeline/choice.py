"""The choice among the points of a path by held-out documents: refit, size and adjustment of the model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import compress, count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..digests import digest_of, sketch_of
from ..extract.blocks import Block, is_combination_block
from ..extract.unread import UnreadText, document_text, unread_text
from ..graft.report import Report
from ..graft.settings import PARSIMONY, GraftingPath
from ..held_out import (
    Judge,
    MeanLoss,
    is_exhausted,
    is_no_higher,
    is_small,
    lowest_of_parabola,
    mean_losses,
    n_entered,
    parsimonious,
)
from ..model.snapshot import Snapshot, scorer_of_solutions
from ..strengths import JudgedT
from .corpus import ExtractedCorpus
from .loop import CHOICE, LOG_LOSS
from .targets import WEIGHT_KEY

if TYPE_CHECKING:
    from spacy.strings import StringStore
    from spacy.tokens import Doc
    from spacy.training import Example

    from ..graft.points import PointFit
    from ..graft.solution import Solution

#: Strengths of refits that are tried are this far apart; the least and the largest.
FACTOR, LEAST_REFIT, LARGEST_REFIT = 3.0, 2.0**-10, 2.0**12
#: A refit that leaves so little of features that word vectors decide.
VECTORS_ALONE = 2.0 * FACTOR**6
#: Temperature, or one over it, of a refit that need not be looked for again.
MILD_TEMPERATURE = 1.25
#: Difference in log-loss that is worth another refit, as a share of the log-loss.
WORTHWHILE = 1e-3

Scorer = Callable[[np.ndarray, list[float] | None], dict[str, Any]]


class Origin(NamedTuple):
    """What an example with an unread document is read from: of equal ones, symbols and target are the same."""

    text: UnreadText
    of_reference: str
    cats: dict[str, float]
    weight: Any

    @classmethod
    def of(cls, example: Example) -> Origin | None:
        """That of an example; None if it has been read, since its annotation may change."""
        text, reference = unread_text(example.predicted), example.reference
        if text is None:
            return None
        return cls(text, document_text(reference), dict(reference.cats), reference.user_data.get(WEIGHT_KEY))


class HeldOut(Judge):
    """Held-out Docs, read once.

    Memory: as of :class:`ExtractedCorpus`, and the scores under one model.

    Parameters
    ----------
    corpus : ExtractedCorpus
    strings : StringStore
        Of the vocab of the documents.
    shares : float64 (n_labels)
        Of labels among the training documents.
    locked : bool
        Whether models have locked weights, which no temperature may change.
    examples : sequence of Example
        Those that the corpus has been chosen from, if they may come again.
    judging : sequence of bool
        Which of them it has.
    """

    def __init__(
        self,
        corpus: ExtractedCorpus,
        strings: StringStore,
        shares: np.ndarray,
        locked: bool,
        examples: Sequence[Example] = (),
        judging: Sequence[bool] = (),
    ) -> None:
        super().__init__(corpus.documents().targets.arrays, corpus.reader.exclusive, shares, locked)
        self.corpus = corpus
        self.strings = strings
        self.streams = corpus.streams()
        self.lengths = corpus.lengths()
        self._origins = [Origin.of(example) for example in examples]
        judges = list(compress(examples, judging))
        self.texts_sketch = sketch_of(document_text(example.reference) for example in judges)
        texts = [unread_text(example.predicted) for example in judges]
        #: The number of each text that has not been read elsewhere.
        self._numbers = {text: number for number, text in enumerate(texts) if text is not None}
        self._scored: tuple[Snapshot, np.ndarray] | None = None

    def are(self, examples: Sequence[Example]) -> bool:
        """Whether it is certain, without reading them, that examples are those that it was made from."""
        return len(examples) == len(self._origins) and all(
            origin is not None and Origin.of(example) == origin
            for example, origin in zip(examples, self._origins, strict=True)
        )

    def like(self, known: HeldOut) -> tuple[HeldOut, np.ndarray] | None:
        """These documents in the order of ``known``, and the number of each here; None if they are other documents.

        Texts, targets and weights are compared. Symbols can have changed, if components before this one are trained.
        """
        own, wanted = (of.corpus.documents().keys for of in (self, known))
        order, wanted_order = np.argsort(own, kind="stable"), np.argsort(wanted, kind="stable")
        if not np.array_equal(own[order], wanted[wanted_order]):
            return None
        numbers = np.empty(len(own), np.int64)
        numbers[wanted_order] = order
        now = self
        if not np.array_equal(numbers, np.arange(len(own))):
            now = HeldOut(self.corpus.some(numbers), self.strings, self.shares, self.locked)
            now.texts_sketch = self.texts_sketch
        return known if now.digest == known.digest else now, numbers

    def with_shares(self, shares: np.ndarray) -> HeldOut:
        """The same documents, beside training documents with other shares of labels."""
        now = copy(self)
        now.shares = shares
        return now

    def numbers_of(self, docs: Sequence[Doc]) -> list[int] | None:
        """The number of each document here; None if one is not here, or it is not certain that it is."""
        texts = map(unread_text, docs)
        numbers = [-1 if text is None else self._numbers.get(text, -1) for text in texts]
        return None if -1 in numbers else numbers

    @cached_property
    def digest(self) -> str:
        """What two sets of documents share only if they are the same."""
        return digest_of([self.streams, self.lengths, self.targets])

    def scorer(self, like: Solution) -> Callable[[Solution], np.ndarray]:
        """What gives the scores of the documents under any solution with the features of ``like``."""
        return scorer_of_solutions(like, self.corpus.blocks, self.strings, self.streams, self.lengths)

    def scores(self, snapshot: Snapshot) -> np.ndarray:
        """Scores of the documents, not to be changed: float64 (n_documents, n_labels). The last ones are kept."""
        # Read and set in one assignment each: other threads may predict these documents under another model.
        known = self._scored
        if known is None or not known[0].scores_like(snapshot):
            self._scored = known = snapshot, snapshot.scores_of_streams(self.streams, self.lengths, self.strings)
        return known[1]


@dataclass(frozen=True)
class Trial:
    """A point under one refit.

    Attributes
    ----------
    strength : float, optional
        Of the refit; None for the weights of the path.
    snapshot : Snapshot
    scores : float64 (n_documents, n_labels)
        Of held-out documents.
    temperature : float
        The best one for them.
    log_loss : float
        Their mean log-loss for targets that are not quite certain (:attr:`HeldOut.doubted`). The temperature is left
        out, so that refits that need none are preferred. With a network it is applied: without it, the refits that undo
        the shrinkage of the network would be preferred.
    """

    strength: float | None
    snapshot: Snapshot
    scores: np.ndarray
    temperature: float
    log_loss: float

    @property
    def is_too_far_off(self) -> bool:
        """Whether the temperature says that another refit must be better: above 1 a stronger one, below a weaker."""
        return abs(math.log(self.temperature)) > math.log(MILD_TEMPERATURE)


@dataclass(frozen=True)
class JudgedPoint:
    """A point of a path as held-out documents judge it.

    Attributes
    ----------
    snapshot : Snapshot, optional
        Under the best refit, with adjusted scores. None for a point that cannot be chosen any more.
    report : Report
        With the mean log-loss of held-out documents, and its standard error.
    losses : float64 (n_documents)
        Of held-out documents.
    probabilities : float64 (n_documents, n_labels)
        Of held-out documents; none for a point that cannot be chosen any more.
    scores : dict
        What the component's scorer says of these.
    size : int
        What tells whether more enters at the next point (:func:`.held_out.n_entered`).
    """

    snapshot: Snapshot | None
    report: Report
    losses: np.ndarray
    probabilities: np.ndarray
    scores: dict[str, Any]
    size: int

    def without_model(self) -> JudgedPoint:
        """What is kept of a point that cannot be chosen any more."""
        return replace(self, snapshot=None, probabilities=self.probabilities[:0])

    @property
    def log_loss(self) -> float:
        """Of held-out documents."""
        return loss_of(self.report)


class PresentPoint(NamedTuple):
    """The present point of a path, and what judges it.

    Attributes
    ----------
    fit : PointFit
    named : Snapshot
        Of its solution.
    held_out : HeldOut
    scorer : callable
        Returns the scores of the held-out documents, given probabilities and thresholds of labels.
    """

    fit: PointFit
    named: Snapshot
    held_out: HeldOut
    scorer: Scorer


class Choice:
    """The points of one path that have been judged, and which of them is chosen.

    Memory: model and probabilities, 8 bytes a document and label, of the chosen point; those of all points if the rule
    of one standard error chooses, since it may come back to a smaller one. 8 bytes a point and document.

    Parameters
    ----------
    learner : GraftingPath
    before : Choice, optional
        The choice of the path that this one replaces, which had fewer documents.

    Attributes
    ----------
    points : list of JudgedPoint
        In the order of the path.
    """

    def __init__(self, learner: GraftingPath, before: Choice | None) -> None:
        self.learner = learner
        self.points: list[JudgedPoint] = []
        self._least_choice = before.scores()[CHOICE] if before is not None and before.points else -math.inf
        #: Log-loss of the shares of labels among the held-out documents.
        self.baseline = 0.0
        #: The least log-loss so far, and whether another refit was looked for at the last point.
        self._least, self._has_searched = math.inf, False
        #: The chosen point with another network, or without blocks that it does not need.
        self._instead: JudgedPoint | None = None

    @property
    def is_exhausted(self) -> bool:
        """Whether the last points have not lowered the log-loss, or hardly more has entered at them."""
        return is_exhausted([point.log_loss for point in self.points], [point.size for point in self.points])

    @property
    def best(self) -> JudgedPoint:
        """The point with the best value of the metric; of equal ones that with the higher macro-F1, then the first."""
        return max(self.points, key=self._value)

    @property
    def chosen(self) -> JudgedPoint:
        """The point that ``parsimony`` asks for; once that is known, with the network and the blocks that it needs."""
        if self._instead is not None:
            return self._instead
        losses = [MeanLoss.of(point.report) for point in self.points]
        sizes = [float(point.report.n_active) for point in self.points]
        values = None if self.learner.metric == "log_loss" else list(map(self._value, self.points))
        return self.points[parsimonious(self.learner.parsimony, losses, sizes, values)]

    def scores(self) -> dict[str, float]:
        """``cats_log_loss`` of the chosen point, and ``cats_choice``, which never falls.

        ``cats_choice`` is the share by which the best point so far lowers the log-loss of constant probabilities, or
        the best value of another metric. It is at least that of the path before, whose model this path replaces.
        """
        best = self.best
        if self.learner.metric != "log_loss":
            value = float(best.scores[self.learner.metric])
        else:
            value = 1.0 - best.log_loss / self.baseline if self.baseline > 0.0 else 0.0
        return {LOG_LOSS: self.chosen.log_loss, CHOICE: max(value, self._least_choice)}

    def _value(self, point: JudgedPoint) -> tuple[float, float]:
        f1 = float(point.scores.get("cats_macro_f", 0.0))
        return (-point.log_loss if self.learner.metric == "log_loss" else float(point.scores[self.learner.metric]), f1)

    def judge(self, present: PresentPoint) -> JudgedPoint:
        """Judge the present point of a path.

        Raises
        ------
        ValueError
            If the metric is no number among the scores.
        """
        self.baseline = present.held_out.baseline
        # A path looks for another refit where its points do not get better; the next point may do with what was found.
        # A single point has the one chance.
        least = -math.inf if self.learner.penalty == "l2" else math.inf if self._has_searched else self._least
        point, trial, self._has_searched = self._judged(present, least)
        self._least = min(self._least, trial.log_loss)
        self.points = [*self.points, point]
        losses = mean_losses([one.losses for one in self.points], present.held_out)
        for one, loss in zip(self.points, losses, strict=True):
            one.report.difference_error = loss.difference_error
        if self.learner.parsimony != "one_se":
            chosen = self.chosen
            self.points = [one if one is chosen else one.without_model() for one in self.points]
        return point

    def judged_like(self, like: Report, option: str | None, present: PresentPoint) -> JudgedPoint | None:
        """Judge a fit with another strength or without some blocks at the chosen point; None if it is too large.

        With another strength its refit is looked for, beginning with that of the chosen point: what shrinks weights is
        refit and network together. Without some blocks it is that of the chosen point; another is looked for only where
        the temperature says so.

        Parameters
        ----------
        like : Report
            That of the best point so far, with the blocks and strengths of this fit.
        option : str, optional
            The strength that is another one.
        present : PresentPoint
        """
        # Where vectors say more than the features, the best refit can be far from that without vectors.
        also = (VECTORS_ALONE,) if option == "vectors_ridge" and self.learner.refit == "auto" else ()
        point, *_ = self._judged(present, math.inf if option is None else -math.inf, also)
        report = replace(point.report, left_out=list(like.left_out)).with_strengths(like.strengths)
        return replace(point, report=report) if is_small(report.n_active, self.learner.parsimony) else None

    def settle(self, point: JudgedPoint) -> None:
        """Choose the chosen point with other strengths, or without some blocks."""
        self._instead = point

    def _judged(
        self, present: PresentPoint, least: float = math.inf, also: Sequence[float] = ()
    ) -> tuple[JudgedPoint, Trial, bool]:
        """The present point of a path, its trial, and whether a refit was looked for.

        One is looked for where the log-loss is not below ``least``, from the present one or from one of ``also``.
        """
        fit, named, held_out, scorer = present
        trial_of = trials_of(fit, named, held_out)
        trial = min(map(trial_of, [fit.refit, *also]), key=lambda one: one.log_loss)
        searches = self.learner.refit == "auto" and (trial.is_too_far_off or trial.log_loss >= least)
        if searches:
            # Where it does not get better, another refit may be what is missing.
            trial = best_refit(trial, trial_of)
            fit.refit = trial.strength
        adjustment = held_out.adjustment(trial.scores)
        probabilities = held_out.probabilities(adjustment.of(trial.scores, held_out.shares))
        losses = held_out.losses(probabilities)
        thresholds = held_out.thresholds(probabilities)
        found = scorer(probabilities, thresholds)
        self._check_metric(found)
        report = replace(
            fit.report.copy(),
            refit=trial.strength,
            **adjustment._asdict(),
            thresholds=thresholds,
            log_loss=held_out.mean(losses),
            log_loss_error=held_out.error(losses),
            held_out_sketch=held_out.texts_sketch,
        )
        snapshot = trial.snapshot.adjusted(adjustment, held_out.shares)
        size = n_entered(report, self.learner, held_out.exclusive)
        return JudgedPoint(snapshot, report, losses, probabilities, found, size), trial, searches

    def _check_metric(self, scores: Mapping[str, Any]) -> None:
        metric = self.learner.metric
        if metric != "log_loss" and not isinstance(scores.get(metric), float | int):
            numbers = sorted(name for name, value in scores.items() if isinstance(value, float | int))
            raise ValueError(
                f"GraftingPath: metric = {metric!r}, but the scorer of the component has no such number. It has: "
                f"{', '.join(numbers) or 'none'}; or use 'log_loss'."
            )


def judged_points(history: Sequence[Mapping[str, Any]]) -> list[int]:
    """Which of the steps of a training held-out documents have judged, without those that are at the point of others.

    Where the chosen model is not trained on dev as well, the last step repeats the point: with its log-loss, if a model
    of all documents is full at another L1 strength than those of folds.
    """
    by_strength: dict[float, int] = {}
    losses = [step["log_loss"] for step in history]
    for i, step in enumerate(history):
        is_repeated = i == len(history) - 1 and losses[i] in losses[:i]
        if losses[i] is not None and not is_repeated:
            by_strength.setdefault(round(step["l1_ratio"], 9), i)
    return list(by_strength.values())


def named_points(history: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Which of the steps of a training ``parsimony`` takes, by name; empty if none has a log-loss."""
    judged = judged_points(history)
    if not judged:
        return {}
    errors = ("log_loss_error", "difference_error")
    losses = [MeanLoss(history[i]["log_loss"], *(history[i][error] or 0.0 for error in errors)) for i in judged]
    sizes = [history[i]["n_active"] for i in judged]
    return {rule: judged[parsimonious(rule, losses, sizes)] for rule in PARSIMONY}


def without_needless_blocks(
    optional: Sequence[str],
    blocks: Mapping[str, Block],
    chosen: JudgedT,
    judged_as: Callable[[Report], JudgedT | None],
) -> JudgedT:
    """The chosen point without the blocks that held-out documents do not need, each with the combinations of its items.

    Parameters
    ----------
    optional : sequence of str
        The blocks to try, in this order.
    blocks : mapping of str to block
    chosen : Judged
    judged_as : callable
        The point of a report without the blocks that it leaves out; None if it is too large.
    """
    for name in optional:
        gone = chosen.report.left_out
        combining = (other for other, block in blocks.items() if is_combination_block(block) and name in block.of)
        new = [other for other in (name, *combining) if other not in gone]
        found = judged_as(replace(chosen.report, left_out=[*gone, *new])) if new else None
        if found is not None and is_no_higher(loss_of(found.report), loss_of(chosen.report)):
            chosen = found
    return chosen


def loss_of(report: Report) -> float:
    """The log-loss that held-out documents have given."""
    assert report.log_loss is not None
    return report.log_loss


def trials_of(fit: PointFit, named: Snapshot, held_out: HeldOut) -> Callable[[float | None], Trial]:
    """The trials of the present point of a path, by the strength of their refit.

    Parameters
    ----------
    fit : PointFit
    named : Snapshot
        Of its solution: all refits have its features.
    held_out : HeldOut
    """

    @cache
    def trial_of(strength: float | None) -> Trial:
        solution = fit.refitted(strength, trial=True)
        snapshot = replace(
            named, weights=solution.weights, intercepts=solution.intercepts, word_scores=solution.word_scores
        )
        scores = held_out.scores(snapshot)
        tempered = fit.report.network is not None
        temperature = held_out.temperature(scores)
        log_loss = held_out.doubting_loss(scores / temperature if tempered else scores)
        return Trial(strength, snapshot, scores, temperature, log_loss)

    return trial_of


def best_refit(first: Trial, trial_of: Callable[[float | None], Trial]) -> Trial:
    """The refit of a point with the least log-loss.

    From that of ``first``, strengths rise or fall by :data:`FACTOR` until the log-loss rises, first in the direction
    that its temperature tells. They go on where it is flat: weak refits are all alike within their accuracy, and then
    neighbours say nothing. Last, the minimum of the parabola through the best and its neighbours, over the logarithm of
    the strength, is tried if it promises enough.
    """
    if not first.snapshot.features.n_features:
        return first
    start, best, place = first.strength, first, 0
    assert start is not None
    towards = 1 if first.temperature >= 1.0 else -1
    for direction in (towards, -towards):
        for number in count(direction, direction):
            if not is_allowed(start * FACTOR**number):
                break
            other = trial_of(start * FACTOR**number)
            if other.log_loss > best.log_loss * (1.0 + WORTHWHILE):
                break
            if other.log_loss < best.log_loss * (1.0 - WORTHWHILE):
                best, place = other, number
        if best is not first:
            break
    around = [start * FACTOR ** (place + number) for number in (-1, 1)]
    if all(map(is_allowed, around)):
        below, above = map(trial_of, around)
        between, gain = lowest_of_parabola([one.log_loss for one in (below, best, above)])
        if gain > WORTHWHILE * best.log_loss:
            best = min(best, trial_of(start * FACTOR ** (place + between)), key=lambda one: one.log_loss)
    return best


def is_allowed(strength: float) -> bool:
    """Whether a refit may have this strength."""
    return LEAST_REFIT < strength < LARGEST_REFIT
