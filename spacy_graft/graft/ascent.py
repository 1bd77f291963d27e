"""Unregularised ascent along the best coordinate, over n-grams of any length.

SLR of Ifrim, Bakir & Weikum (KDD 2008): start at zero weights; find the feature with the largest gradient of the
log-likelihood (§4: the search of the implicit space), go to the maximum along it, and stop when the scores of the
training documents hardly change. Labels are a logistic problem each; those of one search that have found their
coordinate move together, which does not change where any of them goes.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from ..search.descent import BoundedSearch
from ..search.request import SearchRequest
from ..solve import kernels
from ..solve.active import Active
from .data import TrainingData
from .indexing import feature_space
from .model_state import solution_of
from .objective import Objective
from .problems import Problems
from .report import Report, Reported
from .settings import CoordinateAscent, PenaltySettings
from .solution import Solution
from .space import FeatureSpace

#: Slope, in documents, that counts as flat: no label moves along it.
FLAT_SLOPE = 1e-3
#: Share of that at which a line search ends. Where all documents of a feature have one label the likelihood rises for
#: ever along it: of a single document, the score stays under 10.
ENDING_SLOPE = 0.1
#: How far the scores of a label may move, in units of their sum, while its loss falls by less than this share of itself
#: or of what it has fallen by. In columns of very different sizes scores go to and fro instead of towards the optimum;
#: in nearly equal columns of like sizes the loss falls by twice that share in a tenth of that way.
FARTHEST_MOVED, LEAST_FALL = 100.0, 0.01
#: Pairs that a search returns for each label: several labels find their best in one search.
N_BEST = 16
#: Of how many parts of the documents each is held out once.
HELD_OUT_PARTS = 5


class Ascent:
    """An ascent from zero weights.

    A label stops where its scores have converged, at its limit, or where they move on and on while its loss hardly
    falls (:data:`FARTHEST_MOVED`).

    Memory: 8 bytes a document and label four times over, and the columns of active features
    (:class:`~spacy_graft.solve.active.Active`).

    Parameters
    ----------
    space : FeatureSpace
        Its rows become those of this ascent.
    problems : Problems
        Of one label each.
    kept : bool (documents)
        Those that are learnt from.
    tolerance : float
        See :class:`CoordinateAscent`.
    limits : float64 (labels)
        The most iterations.

    Attributes
    ----------
    iterations : int64 (labels)
    running, rested : bool (labels)
        Which labels go on, and which stopped because their scores have converged.
    """

    def __init__(
        self, space: FeatureSpace, problems: Problems, kept: np.ndarray, tolerance: float, limits: np.ndarray
    ) -> None:
        space.set_rows(np.empty(0, np.int64), np.empty(0, np.int64))
        self.space = space
        self.tolerance = tolerance
        self.limits = limits
        shape = (problems.n_trained, problems.data.n_documents)
        losses = [problem.loss for problem in problems.problems]
        self.targets = np.array([loss.targets[0] for loss in losses]).reshape(shape)
        self.importance = np.array([loss.importance for loss in losses]).reshape(shape) * kept
        self.scores = np.zeros(shape)
        self.active = Active.empty()
        self.iterations = np.zeros(shape[0], np.int64)
        self.running = limits > 0.0
        self.rested = np.zeros(shape[0], np.bool_)
        self._moved = np.zeros(shape[0])
        self._first_losses = np.array([self._loss(label) for label in range(shape[0])])
        self._last_losses = self._first_losses.copy()

    def iterate(self) -> np.ndarray:
        """One search, and one iteration of each running label whose best coordinate it finds; returns these labels."""
        residuals = self.importance * (self.targets - expit(self.scores))
        residuals[~self.running] = 0.0
        blocks, nodes, labels, new = self._best(residuals)
        self.active = self.space.entered(self.active, blocks[new], nodes[new], labels[new])
        for row, label in zip(self.space.rows_of(blocks, nodes).tolist(), labels.tolist(), strict=True):
            self._move(row, label)
        return labels

    def _best(self, residuals: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Block, node and label of the largest |v| / λ of each label for which one search finds it; the others wait.

        Also whether each is a pair that is not active yet: bool.

        The gradients of active pairs are summed over their columns; the search looks for better ones among the rest.
        """
        active, space = self.active, self.space
        values = np.empty(len(active))
        kernels.collect(active.pairs, residuals, values)
        gradients = np.abs(values) / active.penalty_weights
        highest = np.zeros(len(residuals))
        np.maximum.at(highest, active.labels, gradients)
        n_best = N_BEST * len(residuals)
        found = space.search(
            SearchRequest(
                residuals=residuals.T,
                min_gradient=float(highest[self.running].min()),
                n_best=n_best,
                active=active.by_row(len(residuals)),
                degree=space.degree,
                count_all=False,
            )
        )
        chosen = []
        for label in np.flatnonzero(self.running).tolist():
            of_label = np.flatnonzero(found.labels == label)
            best = float(found.scaled_gradients[of_label].max(initial=0.0))
            if not len(of_label) and len(found.nodes) == n_best and found.peaks[label] > highest[label]:
                continue
            if max(best, highest[label]) <= FLAT_SLOPE * self.importance[label].max(initial=0.0):
                self._rest(label)
            elif best > highest[label]:
                chosen.append((found.blocks[of_label[0]], found.nodes[of_label[0]], label, True))
            else:
                row = active.rows[np.argmax(np.where(active.labels == label, gradients, -1.0))]
                chosen.append((space.blocks[row], space.nodes[row], label, False))
        blocks, nodes, labels, new = np.array(chosen, np.int64).reshape(-1, 4).T
        return blocks, nodes, labels, new.astype(np.bool_)

    def _move(self, row: int, label: int) -> None:
        """Go to the maximum along one coordinate, and see whether the scores have converged."""
        active = self.active
        documents, values = active.columns.column(row)
        scores, importance = self.scores[label], self.importance[label]
        step = best_step(values, scores[documents], self.targets[label, documents], importance[documents])
        active.weights[(active.rows == row) & (active.labels == label)] += step
        scores[documents] += step * values
        self.iterations[label] += 1
        known = importance > 0.0
        change = abs(step) * float(np.abs(values) @ known[documents])
        size = 1.0 + float(np.abs(scores[known]).sum())
        self._moved[label] += change / size
        if change <= self.tolerance * size:
            self._rest(label)
        elif self.iterations[label] >= self.limits[label] or self._is_stuck(label):
            self.running[label] = False

    def _is_stuck(self, label: int) -> bool:
        """Whether the scores of a label have moved far since it was looked at last, and its loss has hardly fallen."""
        if self._moved[label] < FARTHEST_MOVED:
            return False
        loss, last = self._loss(label), float(self._last_losses[label])
        self._moved[label], self._last_losses[label] = 0.0, loss
        return last - loss < LEAST_FALL * min(loss, float(self._first_losses[label]) - loss)

    def _loss(self, label: int) -> float:
        """The log-loss of a label on the documents that are learnt from."""
        scores = self.scores[label]
        return float(self.importance[label] @ (np.logaddexp(0.0, scores) - self.targets[label] * scores))

    def _rest(self, label: int) -> None:
        self.rested[label] = True
        self.running[label] = False


def best_step(values: np.ndarray, scores: np.ndarray, targets: np.ndarray, importance: np.ndarray) -> float:
    """The t at which Σ_i s_i log P(q_i | f_i + t x_i) is largest, to a tenth of :data:`FLAT_SLOPE` in its slope.

    The paper brackets the step by doubling and halves the bracket; here the bracket is closed by Brent's method on the
    slope, which falls all the way because the likelihood is concave.

    Parameters
    ----------
    values, scores, targets, importance : float64
        x, f, q and s of the documents of a column.
    """

    def slope(step: float) -> float:
        return float((importance * values) @ (targets - expit(scores + step * values)))

    upwards = 1.0 if slope(0.0) > 0.0 else -1.0
    level = ENDING_SLOPE * FLAT_SLOPE * float(importance.max(initial=0.0))

    def above_level(length: float) -> float:
        return upwards * slope(upwards * length) - level

    if above_level(0.0) <= 0.0:
        return 0.0
    length = 1.0
    while above_level(length) > 0.0:
        length *= 2.0
    return upwards * float(brentq(above_level, 0.0, length, xtol=1e-12))


def best_intercept(scores: np.ndarray, targets: np.ndarray, importance: np.ndarray, likeliest: float) -> float:
    """The intercept b with the fewest training errors of f + b > 0, by weight; of several the nearest to another.

    Parameters
    ----------
    scores, targets, importance : float64 (documents)
        f, q and s. A document of target q is in error by 1 - q if it is taken for positive, and by q if not.
    likeliest : float
        The other intercept.
    """
    order = np.argsort(scores, kind="stable")
    scores, targets, importance = scores[order], targets[order], importance[order]
    # Cut k takes the k documents of the lowest scores for negative: its cut-off is between lows[k] and highs[k].
    missed = np.concatenate([[0.0], np.cumsum(importance * targets)])
    alarms = np.concatenate([[0.0], np.cumsum((importance * (1.0 - targets))[::-1])])[::-1]
    lows, highs = np.concatenate([[-np.inf], scores]), np.concatenate([scores, [np.inf]])
    errors = np.where(lows < highs, missed + alarms, np.inf)
    best = errors <= errors.min() + 1e-9 * importance.sum()
    lows, highs = lows[best], highs[best]
    bounded = np.where(np.isinf(lows), highs - 2.0, lows), np.where(np.isinf(highs), lows + 2.0, highs)
    middles = 0.5 * (bounded[0] + bounded[1])
    cutoffs = np.where((lows < -likeliest) & (-likeliest < highs), -likeliest, middles)
    return float(-cutoffs[np.argmin(np.abs(cutoffs + likeliest))])


class AscentFit(Reported):
    """A fit of :class:`CoordinateAscent` on one corpus."""

    def __init__(self, learner: CoordinateAscent, data: TrainingData) -> None:
        if data.network is not None:
            raise ValueError(
                f"{type(learner).__name__}: a network of features is a penalty, and this learner has none. Use "
                f"Grafting or GraftingPath, or initialize without a network."
            )
        self.learner = learner
        # No penalty: λ is the factor of a block, by which the gradients of its features count for less.
        objective = Objective(data, PenaltySettings(), one_vs_all=True)
        self.problems = objective.problems
        self.report = report = Report()
        with report.timed("index"):
            self.space = feature_space(objective, search=BoundedSearch)
        report.n_documents = data.n_documents
        report.min_df, report.n_columns = self.space.min_df, self.space.n_columns
        limits = np.full(self.problems.n_trained, np.inf)
        if learner.iterations == "cv" and self.problems.problems:
            with report.timed("cross-validation"):
                limits = self._iterations_chosen()
        elif isinstance(learner.iterations, int):
            limits[:] = learner.iterations
        self.ascent = self._ascent(np.ones(data.n_documents, np.bool_), limits)
        self.initial_objective = self._objective()
        self._update_report()

    def _ascent(self, kept: np.ndarray, limits: np.ndarray) -> Ascent:
        return Ascent(self.space, self.problems, kept, self.learner.tolerance, limits)

    def _iterations_chosen(self) -> np.ndarray:
        """For each label, the number of iterations with the least log-loss on the documents held out, of all folds.

        The index is that of all documents; what is learnt of those held out is that n-grams occur in them.
        """
        data = self.problems.data
        fold_of = np.empty(data.n_documents, np.int64)
        fold_of[np.lexsort(data.targets.T)] = np.arange(data.n_documents) % HELD_OUT_PARTS
        folds = [self._held_out_losses(fold_of != fold) for fold in range(HELD_OUT_PARTS)]
        longest = max(len(path) for by_label in folds for path in by_label)
        total = sum(np.array([path + path[-1:] * (longest - len(path)) for path in by_label]) for by_label in folds)
        return np.argmin(total, axis=1).astype(np.float64)

    def _held_out_losses(self, kept: np.ndarray) -> list[list[float]]:
        """For each label, its losses on the documents that are not kept, by number of iterations."""
        ascent = self._ascent(kept, np.full(self.problems.n_trained, np.inf))
        by_label = [[loss] for loss in self._losses(ascent, ~kept)]
        while ascent.running.any():
            moved = ascent.iterate()
            losses = self._losses(ascent, ~kept)
            for label in moved:
                by_label[label].append(losses[label])
        return by_label

    def _losses(self, ascent: Ascent, chosen: np.ndarray) -> list[float]:
        """Loss of each label on some documents."""
        return [
            problem.loss.of_documents(chosen).value_and_probabilities(ascent.scores[problem.labels])[0]
            for problem in self.problems.problems
        ]

    def _objective(self) -> float:
        return sum(self._losses(self.ascent, np.ones(self.problems.data.n_documents, np.bool_)))

    def step(self) -> None:
        """Some iterations of each label; nothing once all have stopped."""
        for _ in range(self.learner.iterations_per_step):
            if not self.ascent.running.any():
                break
            with self.report.timed("ascent"):
                self.ascent.iterate()
        self._update_report()

    def _update_report(self) -> None:
        report, ascent = self.report, self.ascent
        report.rounds = int(ascent.iterations.sum())
        # No model can do better than the targets themselves, which is all that is known of the optimum.
        least = sum(problem.loss.entropy(problem.loss.targets) for problem in self.problems.problems)
        report.update_gap(self._objective(), least, self.initial_objective)
        report.n_active, report.n_pairs = ascent.active.n_rows, len(ascent.active)
        report.converged = bool(ascent.rested.all())
        report.finished = not ascent.running.any()

    def solution(self) -> Solution:
        """The model as it is, with its intercepts tuned if the learner asks for it."""
        ascent = self.ascent
        intercepts = np.zeros(self.problems.n_trained)
        if self.learner.intercepts == "training_error":
            intercepts[:] = [self._tuned(label) for label in range(len(intercepts))]
        return solution_of(
            self.space, self.problems, ascent.active, intercepts, ascent.scores + intercepts[:, None], mean_scale=0.0
        )

    def _tuned(self, label: int) -> float:
        loss, scores = self.problems.problems[label].loss, self.ascent.scores[label]
        likeliest = float(loss.optimal_intercepts(scores[None, :])[0])
        known = loss.importance > 0.0
        return best_intercept(scores[known], loss.targets[0, known], loss.importance[known], likeliest)
