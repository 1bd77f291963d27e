"""Held-out documents, and the choice among the points of a path by cross-validation; without spaCy."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import metrics
from .adjustment import Adjustment, best_adjustment
from .graft.report import Report
from .graft.settings import GraftingPath
from .graft.solution import Solution

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from .graft.points import PointFit

#: Cross-validation holds out a quarter of the documents at a time, or a smaller part, down to a tenth, that has
#: DOCUMENTS_OF_FOLD; until ENOUGH_HELD_OUT documents have been held out. With fewer than MIN_HELD_OUT documents that
#: tell something there is no cross-validation. More folds, or more documents, chose no better models
#: (``docs/accuracy.md``).
FEWEST_FOLDS, MOST_FOLDS, DOCUMENTS_OF_FOLD = 4, 10, 500
ENOUGH_HELD_OUT, MIN_HELD_OUT = 200, 10
#: A training with fewer documents than this in all, whose held-out documents are not enough, is cross-validated too.
MANY_DOCUMENTS = 1000
#: One document in so many is held out of a corpus that has no documents to choose by.
DEV_PART = 10
#: A text of more documents than this, or of more than one in DEV_PART, counts as many texts: documents to come will
#: have it too, such as a search query, and a model that does not know it would be judged by what never happens
#: (``docs/accuracy.md``).
MOST_COPIES = 4
#: Share of the documents of a single fold that are not held out if no other document has their label.
MOST_UNSEEN = 0.05
#: Refits that folds try at each point; and further ones, each so many times stronger, as long as the last is the best.
REFIT_GRID = (0.5, 2.0, 8.0, 32.0)
REFIT_FACTOR, STRONGEST_REFIT = 4.0, 2.0**11
#: Points without a lower log-loss after which a path ends, and the first point at which it may do so: those before have
#: few features, whose log-loss on few documents is a matter of luck, and cost little.
PATIENCE, LEAST_POINTS = 2, 8
#: A path also ends after so many points at which hardly more has entered than at the one before, if that was so much:
#: there is nothing left that could, as with names and other texts of a few words.
MUCH, HARDLY_MORE = 1000, 1.01
#: What a temperature T costs besides log-loss: PRIOR (1/T - 1 - log 1/T) nats in all. Without it, one document whose
#: score is near 0 would ask for a temperature near 0; from some ten documents on it hardly matters.
PRIOR = 0.5
#: Share of a log-loss that two of the same model may differ by: weights are optimal within a tolerance.
SAME_LOSS = 1e-6


class PlainTargets(NamedTuple):
    """The targets of several documents: arguments of :mod:`spacy_graft.metrics`.

    Attributes
    ----------
    values : float64 (n_documents, labels)
    known : bool (n_documents, labels)
    weights : float64 (n_documents)
    """

    values: np.ndarray
    known: np.ndarray
    weights: np.ndarray


class MeanLoss(NamedTuple):
    """The log-loss of held-out documents at a point of a path.

    Attributes
    ----------
    mean : float
    error : float
        Its standard error.
    difference_error : float
        The standard error of its difference to the least one of the path, document by document; 0 for the least one.
    """

    mean: float
    error: float
    difference_error: float

    @classmethod
    def of(cls, report: Report) -> MeanLoss:
        """The log-loss in a report."""
        assert report.log_loss is not None
        assert report.log_loss_error is not None
        assert report.difference_error is not None
        return cls(report.log_loss, report.log_loss_error, report.difference_error)

    def is_worse_than(self, least: MeanLoss) -> bool:
        """Whether documents tell this point from the best one: by more than a standard error of the difference.

        Beyond the best size, the log-loss of documents to come is nearly flat, while that of few held-out documents
        rises and falls by luck: the first minimum often comes too early (``docs/accuracy.md``).
        """
        return self.mean - least.mean > self.difference_error


@dataclass(eq=False)
class Judge:
    """Documents that judge probabilities by their targets.

    Attributes
    ----------
    targets : PlainTargets
    exclusive : bool
        Whether labels are mutually exclusive.
    shares : float64 (n_labels)
        Of labels among the training documents.
    locked : bool
        Whether models have locked weights, which no temperature may change.
    """

    targets: PlainTargets
    exclusive: bool
    shares: np.ndarray
    locked: bool = False

    @cached_property
    def doubted(self) -> np.ndarray:
        """Targets as if there were one document more, of which nothing is known: float64 (n_documents, n_labels).

        Refits and temperatures are chosen by them. Documents that are all predicted correctly would ask for weights
        without bound. As Platt 1999, "Probabilistic outputs for support vector machines", section 2.2, who has one
        document more of each label.
        """
        values, n = self.targets.values, len(self.targets.values)
        return np.asarray((n * values + self.any_label) / (n + 1.0))

    @property
    def any_label(self) -> float:
        """The probability of each label of a document of which nothing is known."""
        return 1.0 / self.targets.values.shape[1] if self.exclusive else 0.5

    @cached_property
    def of_shares(self) -> float:
        """The log-loss of the shares of labels, for all documents alike: 0 if all have the same labels."""
        targets = self.targets
        importance = targets.known * targets.weights[:, None]
        shares = (importance * targets.values).sum(axis=0) / np.maximum(importance.sum(axis=0), 1e-300)
        return self.mean(self.losses_of(shares))

    def losses_of(self, shares: np.ndarray) -> np.ndarray:
        """The log-loss of each document where all have the same probabilities of labels: float64 (n_documents)."""
        return self.losses(np.broadcast_to(shares, self.targets.values.shape))

    @cached_property
    def baseline(self) -> float:
        """What the log-loss is compared with: that of the shares of labels, or of equal shares where this is 0."""
        if self.of_shares > 0.0:
            return self.of_shares
        return self.mean(self.losses(np.full(self.targets.values.shape, self.any_label)))

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Of all labels: float64 (n_documents, n_labels)."""
        return metrics.as_probabilities(scores, self.exclusive)

    def thresholds(self, probabilities: np.ndarray) -> list[float] | None:
        """From which probability each label is predicted; None if labels exclude each other."""
        return None if self.exclusive else metrics.expected_thresholds(probabilities).tolist()

    def losses(self, probabilities: np.ndarray) -> np.ndarray:
        """The log-loss of each document: float64 (n_documents)."""
        targets = self.targets
        return metrics.document_losses(probabilities, targets.values, targets.known, exclusive=self.exclusive)

    def doubting_loss(self, scores: np.ndarray) -> float:
        """The mean log-loss of scores for the targets of :attr:`doubted`."""
        known = self.targets.known
        losses = metrics.document_losses(self.probabilities(scores), self.doubted, known, exclusive=self.exclusive)
        return self.mean(losses)

    def mean(self, losses: np.ndarray) -> float:
        """The mean over documents, by their weights."""
        return metrics.mean(losses, self.targets.weights)

    def error(self, losses: np.ndarray) -> float:
        """The standard error of that mean; 0 for one document, of which none is known."""
        shares = self.targets.weights / self.targets.weights.sum()
        squares, of_shares = (shares**2 * (losses - self.mean(losses)) ** 2).sum(), (shares**2).sum()
        # Of n equal shares, n / (n - 1) times the squares.
        return float(np.sqrt(squares / (1.0 - of_shares))) if of_shares < 1.0 else 0.0

    def temperature(self, scores: np.ndarray) -> float:
        """The best temperature, without a tilt, for the targets of :attr:`doubted`; 1 if weights are locked."""
        return self._adjustment(scores, np.ones(scores.shape[1])).temperature

    def adjustment(self, scores: np.ndarray) -> Adjustment:
        """The best adjustment for the targets of :attr:`doubted`; none if weights are locked."""
        return self._adjustment(scores, self.shares)

    def _adjustment(self, scores: np.ndarray, shares: np.ndarray) -> Adjustment:
        if self.locked:
            return Adjustment()
        known, weights = self.targets.known, self.targets.weights
        return best_adjustment(scores, shares, self.doubted, known, weights, exclusive=self.exclusive, prior=PRIOR)

    def losses_of_refits(self, scores: Iterable[np.ndarray], tempered: bool) -> list[float]:
        """The log-loss under each refit for the targets of :attr:`doubted`, with its best temperature if ``tempered``.

        ``tempered``: as with a network (:class:`.pipeline.choice.Trial`).
        """
        return [self.doubting_loss(of / self.temperature(of) if tempered else of) for of in scores]


#: From a solution to what gives the scores of held-out documents under any solution with the same features.
SolutionScorer = Callable[[Solution], Callable[[Solution], np.ndarray]]


class Verdict(NamedTuple):
    """What held-out documents say of a model.

    Attributes
    ----------
    report : Report
        With their log-loss, and the adjustment of scores that lowers it.
    losses : float64 (n_documents)
        Of each of them.
    """

    report: Report
    losses: np.ndarray


class FoldPoint(NamedTuple):
    """A point of the path of one fold.

    Attributes
    ----------
    refits : tuple of float
        Strengths, ascending; None for the weights of the point itself.
    scores : float64 (refits, n_documents, n_labels)
        Of the held-out documents under each refit; none where they have been judged.
    report : Report
        Of the fit there.
    verdict : Verdict, optional
        If there is only one fold. Its scores need not be kept then; with many labels they take much memory.
    """

    refits: tuple[float | None, ...]
    scores: np.ndarray
    report: Report
    verdict: Verdict | None = None


def numbers_of_folds(label_sets: Iterable[Hashable], texts: Sequence[int], n_folds: int) -> np.ndarray:
    """The fold of each document: int64 (n_documents). Copies share a fold; each set of labels is spread over the folds.

    A model that was trained on a copy of a document would be judged by what it knows by heart. Only texts of more than
    :data:`MOST_COPIES` documents are in all folds. The most frequent texts that share a fold come first. Each is put
    into the fold with the fewest documents of its labels; of several such folds, into the smallest. With fewer texts
    than folds, the last folds are empty.

    Parameters
    ----------
    label_sets : iterable of hashable
        The labels of each document.
    texts : sequence of int
        A number for each document: that of its text.
    n_folds : int
    """
    numbers: dict[Hashable, int] = {}
    labels_of = np.array([numbers.setdefault(labels, len(numbers)) for labels in label_sets], np.int64)
    first, n_copies = copies_of(texts, most=min(MOST_COPIES, -(-len(texts) // DEV_PART)))
    fold_of, sizes = np.empty(len(labels_of), np.int64), [0] * n_folds
    sizes_by_labels = [[0] * n_folds for _ in numbers]
    of_text = None
    for row in np.lexsort((first, labels_of[first], -n_copies)).tolist():
        of_labels = sizes_by_labels[labels_of[row]]
        if first[row] != of_text:
            of_text = first[row]
            ranks = list(zip(of_labels, sizes, strict=True))
            fold = ranks.index(min(ranks))
        fold_of[row] = fold
        sizes[fold] += 1
        of_labels[fold] += 1
    return fold_of


def copies_of(texts: Sequence[int], most: int) -> tuple[np.ndarray, np.ndarray]:
    """The first document with each document's text, and how many have it: int64 (n_documents) each.

    A text of more than ``most`` documents counts as many texts: texts can be empty, or one of a few answers, where
    other features tell the documents apart.
    """
    _, places, text_of, counts = np.unique(
        np.asarray(texts, np.int64), return_index=True, return_inverse=True, return_counts=True
    )
    first, n_copies = places[text_of], counts[text_of]
    too_many = n_copies > most
    first[too_many], n_copies[too_many] = np.flatnonzero(too_many), 1
    return first, n_copies


def fold_count(n_documents: int) -> int:
    """The number of folds that so many documents are divided into."""
    return min(max(n_documents // DOCUMENTS_OF_FOLD, FEWEST_FOLDS), MOST_FOLDS)


def rows_of_splits(
    fold_of: np.ndarray, targets: np.ndarray | csr_array, enough: int = ENOUGH_HELD_OUT
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The documents that are kept and held out, of as many folds as hold out enough; none if these say too little.

    Parameters
    ----------
    fold_of : int64 (n_documents)
        Documents in no fold (−1) are kept in all.
    targets : float64 (n_documents, labels), sparse or not
    enough : int
    """
    sizes = np.cumsum(np.bincount(fold_of[fold_of >= 0], minlength=1))
    n_folds = int(np.searchsorted(sizes, min(enough, sizes[-1]))) + 1
    splits = [(np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)) for fold in range(n_folds)]
    telling = [are_telling(targets[kept], targets[others]) for kept, others in splits]
    if sum(map(np.count_nonzero, telling)) < MIN_HELD_OUT:
        return []
    (kept, others), told = splits[0], telling[0]
    if n_folds == 1 and np.count_nonzero(~told) <= MOST_UNSEEN * len(others):
        return [(np.union1d(kept, others[~told]), others[told])]
    return splits


def are_telling(kept: np.ndarray | csr_array, held_out: np.ndarray | csr_array) -> np.ndarray:
    """Which held-out documents have a label that is among those kept, or none, by their targets: bool (held out).

    What a model makes of labels that it has not seen says nothing of one that has.
    """
    seen = np.flatnonzero(kept.sum(axis=0))
    return np.asarray((held_out.sum(axis=1) == 0) | (held_out[:, seen].sum(axis=1) > 0))


def refit_grid(learner: GraftingPath, refit: float | None = None) -> tuple[float | None, ...]:
    """The refits that folds try first at each point, ascending; with stronger ones around ``refit``."""
    if learner.refit != "auto":
        return (learner.first_refit,)
    grid = [*REFIT_GRID]
    while refit is not None and grid[-1] <= refit < STRONGEST_REFIT:
        grid.append(grid[-1] * REFIT_FACTOR)
    return tuple(grid)


def stronger(refits: Sequence[float | None], losses: Sequence[float]) -> float | None:
    """The refit to try next, if the last of several is the best; None if there is none."""
    last = refits[-1]
    if last is None or len(refits) == 1 or min(losses) < losses[-1] or last >= STRONGEST_REFIT:
        return None
    return last * REFIT_FACTOR


def points_of_fold(
    fits: Iterable[PointFit], scorer: SolutionScorer, judge: Judge, tempered: bool, alone: bool
) -> list[FoldPoint]:
    """The points of the path of one fold as held-out documents see them, until it is exhausted.

    Parameters
    ----------
    fits : iterable of PointFit
        The same fit at one point after the other.
    scorer : callable
        From a solution to what gives the scores of the held-out documents under solutions with its features.
    judge : Judge
        The held-out documents.
    tempered : bool
        As of :meth:`Judge.losses_of_refits`.
    alone : bool
        Whether there are no other folds: then a point has its verdict instead of scores.
    """
    points: list[FoldPoint] = []
    least: list[float] = []
    sizes: list[int] = []
    for fit in fits:
        scores_under, refits = scorer_of_refits(fit, scorer), list(refit_grid(fit.learner))
        scores = list(map(scores_under, refits))
        losses = judge.losses_of_refits(scores, tempered)
        while (strength := stronger(refits, losses)) is not None:
            refits.append(strength)
            scores.append(scores_under(strength))
            losses += judge.losses_of_refits(scores[-1:], tempered)
        point = FoldPoint(tuple(refits), np.array(scores), fit.report.copy())
        if alone:
            verdict = judged(point.scores, losses, point.refits, judge)
            point = point._replace(scores=point.scores[:, :0], verdict=verdict)
        points.append(point)
        least.append(min(losses))
        sizes.append(n_entered(fit.report, fit.learner, judge.exclusive))
        if is_exhausted(least, sizes):
            break
    return points


def scorer_of_refits(fit: PointFit, scorer: SolutionScorer) -> Callable[[float | None], np.ndarray]:
    """What gives the scores of held-out documents at a point under a refit: float64 (n_documents, n_labels)."""
    scores_of = scorer(fit.solution())
    return lambda strength: scores_of(fit.refitted(strength, trial=True))


def verdicts_of_folds(held_out: Judge, paths: list[list[FoldPoint]], tempered: bool) -> list[Verdict]:
    """What the held-out documents of all folds say of each point, in reports with the means of the folds.

    A path that ended before others, because it reached ``max_features`` or its log-loss did not fall, counts with its
    last point. ``paths`` are those of the folds (:func:`points_of_fold`).
    """
    verdicts = []
    for number in range(max(map(len, paths))):
        points = [path[min(number, len(path) - 1)] for path in paths]
        report, losses = points[0].verdict or judged_together(points, held_out, tempered)
        verdicts.append(Verdict(replace(with_means(report, points), points=number + 1), losses))
    for verdict, loss in zip(verdicts, mean_losses([one.losses for one in verdicts], held_out), strict=True):
        verdict.report.difference_error = loss.difference_error
    return verdicts


def chosen_of_folds(learner: GraftingPath, verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on the point that the held-out documents of all folds choose.

    Its report names it by its number alone: folds come to the last point of a path at L1 strengths of their own.
    """
    reports = [verdict.report for verdict in verdicts]
    losses, sizes = [MeanLoss.of(report) for report in reports], [report.n_active for report in reports]
    report, of_documents = verdicts[parsimonious(learner.parsimony, losses, sizes)]
    return Verdict(replace(report, l1=0.0, l1_max=0.0, n_active=0), of_documents)


def with_means(report: Report, points: Sequence[FoldPoint]) -> Report:
    """A report with the means of the folds at a point, features rounded up, and with their largest gap.

    L1 strengths are those of folds that have come to this point, and did not end before.
    """
    of_folds = [point.report for point in points]
    furthest = max(one.points for one in of_folds)
    l1, l1_max = np.mean([(one.l1, one.l1_max) for one in of_folds if one.points == furthest], axis=0).tolist()
    objective, n_active = np.mean([(one.objective, one.n_active) for one in of_folds], axis=0).tolist()
    gap = max(one.relative_gap for one in of_folds)
    return replace(report, l1=l1, l1_max=l1_max, objective=objective, n_active=math.ceil(n_active), relative_gap=gap)


def judged_together(points: Sequence[FoldPoint], held_out: Judge, tempered: bool) -> Verdict:
    """What :func:`judged` says of a point by the held-out documents of each fold, of refits that all have tried."""
    refits = [strength for strength in points[0].refits if all(strength in point.refits for point in points)]
    of_all = np.concatenate([point.scores[list(map(point.refits.index, refits))] for point in points], axis=1)
    return judged(of_all, held_out.losses_of_refits(of_all, tempered), refits, held_out)


def judged(scores: np.ndarray, means: Sequence[float], refits: Sequence[float | None], held_out: Judge) -> Verdict:
    """The best refit of a point, by held-out documents.

    Parameters
    ----------
    scores : float64 (refits, n_documents, n_labels)
    means : sequence of float
        :meth:`Judge.losses_of_refits`.
    refits : sequence of float
        Their strengths, ascending.
    held_out : Judge
    """
    k = int(np.argmin(means))
    adjustment = held_out.adjustment(scores[k])
    report = Report(refit=refits[k], **adjustment._asdict())
    probabilities = held_out.probabilities(adjustment.of(scores[k], held_out.shares))
    losses = held_out.losses(probabilities)
    if 0 < k < len(refits) - 1:
        # Between the strengths that have been tried, the log-loss is taken for a parabola in their logarithms, and the
        # logarithm of the temperature, which falls with the strength, for linear.
        around = slice(k - 1, k + 2)
        place, _ = lowest_of_parabola(means[around])
        report.refit = math.exp(np.interp(place, (-1, 0, 1), np.log(np.array(refits[around], np.float64))))
        temperatures = [held_out.temperature(of_refit) for of_refit in scores[around]]
        report.temperature *= math.exp(np.interp(place, (-1, 0, 1), np.log(temperatures))) / temperatures[1]
    report.thresholds = held_out.thresholds(probabilities)
    report.log_loss, report.log_loss_error = held_out.mean(losses), held_out.error(losses)
    return Verdict(report, losses)


def judged_by_folds(
    learner: GraftingPath,
    like: Report,
    fits: Iterable[tuple[PointFit, SolutionScorer]],
    held_out: Judge,
    tempered: bool,
) -> Verdict | None:
    """What the held-out documents of all folds say of a point with other blocks or strengths; None if it is too large.

    Parameters
    ----------
    learner : GraftingPath
    like : Report
        The point, with its blocks and strengths.
    fits : iterable of pairs
        The fit of each fold there, and what scores its held-out documents.
    held_out : Judge
        The held-out documents of all folds.
    tempered : bool
        As of :meth:`Judge.losses_of_refits`.
    """
    refits, points = refit_grid(learner, like.refit), []
    for fit, scorer in fits:
        scores = np.array(list(map(scorer_of_refits(fit, scorer), refits)))
        points.append(FoldPoint(refits, scores, fit.report.copy()))
        del fit  # frees its memory before the next one allocates
    if not is_small(float(np.mean([point.report.n_active for point in points])), learner.parsimony):
        return None
    report, losses = judged_together(points, held_out, tempered)
    report = replace(report, points=like.points, left_out=list(like.left_out)).with_strengths(like.strengths)
    return Verdict(report, losses)


def mean_losses(losses: Sequence[np.ndarray], judge: Judge) -> list[MeanLoss]:
    """The log-loss of each point of a path, by the losses of the documents of ``judge``: float64 (n_documents) each."""
    means = [judge.mean(of_documents) for of_documents in losses]
    least = losses[int(np.argmin(means))]
    return [
        MeanLoss(mean, judge.error(of_documents), judge.error(of_documents - least))
        for mean, of_documents in zip(means, losses, strict=True)
    ]


def is_exhausted(losses: Sequence[float], sizes: Sequence[int]) -> bool:
    """Whether the last points of a path have no log-loss below an earlier one, or hardly more has entered at them.

    Points before the first one with features do not count: where a ridge is large, there can be many.

    Parameters
    ----------
    losses : sequence of float
    sizes : sequence of int
        Of each point, :func:`n_entered`.
    """
    if len(losses) < LEAST_POINTS:
        return False
    last = sizes[-PATIENCE - 1 :]
    if last[0] >= MUCH and all(size <= HARDLY_MORE * before for before, size in pairwise(last)):
        return True
    n_empty = next((number for number, size in enumerate(sizes) if size), len(sizes))
    return len(losses) - 1 - max(int(np.argmin(losses)), n_empty) >= PATIENCE


def n_entered(report: Report, learner: GraftingPath, exclusive: bool) -> int:
    """Features that have entered a model, if a refit gives all labels weights for each; otherwise, weights."""
    return report.n_active if exclusive and learner.refit is not None else report.n_pairs


def parsimonious(
    parsimony: str | int, losses: Sequence[MeanLoss], sizes: Sequence[float], values: Sequence[Any] | None = None
) -> int:
    """The index of the point that ``parsimony`` asks for.

    Parameters
    ----------
    parsimony : "best", "one_se" or int
        See :class:`~spacy_graft.graft.settings.GraftingPath`. The rule of one standard error is that of Breiman,
        Friedman, Olshen & Stone 1984, section 3.4.3.
    losses : sequence of MeanLoss
        Of points along a path.
    sizes : sequence of float
        Their features.
    values : sequence of numbers or tuples, optional
        By another metric; the larger is the better one. It does not choose under "one_se".
    """
    if parsimony == "one_se":
        limit = min(losses).mean + min(losses).error
        return next(i for i, loss in enumerate(losses) if loss.mean <= limit)
    small = [i for i, size in enumerate(sizes) if is_small(size, parsimony)]
    if not small:
        return 0
    if values is not None:
        return max(small, key=values.__getitem__)
    least = min(losses[i] for i in small)
    return max(i for i in small if not losses[i].is_worse_than(least))


def is_no_higher(loss: float, other: float) -> bool:
    """Whether a log-loss is no higher than another, up to :data:`SAME_LOSS`."""
    return loss <= other * (1.0 + SAME_LOSS)


def is_small(n_features: float, parsimony: str | int) -> bool:
    """Whether a model has no more features than ``parsimony`` allows."""
    return isinstance(parsimony, str) or n_features <= parsimony


def lowest_of_parabola(values: Sequence[float]) -> tuple[float, float]:
    """Where the parabola through (−1, a), (0, b), (1, c) is lowest, between −1 and 1, and by how much less than b."""
    before, here, after = values
    curvature = before - 2.0 * here + after
    if not curvature > 0.0 or not math.isfinite(curvature):
        return 0.0, 0.0
    slope = 0.5 * (after - before)
    place = min(max(-slope / curvature, -1.0), 1.0)
    return place, -(slope * place + 0.5 * curvature * place**2)
