"""The state of a fit and its grafting rounds (Perkins, Lacker & Theiler 2003; n-best: Riezler & Vasserman 2004)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..solve import kernels
from ..solve.active import Active
from ..solve.coupling import Coupling
from ..solve.restricted import Restricted
from .certificate import dual_value
from .data import TrainingData
from .indexing import feature_space
from .network import NetworkPenalty
from .problems import Problem, Problems
from .report import Report
from .settings import PenaltySettings
from .solution import Solution
from .space import FeatureSpace, Found

#: Share of the worst violation to which the restricted problem is solved in a round: more digits are wasted on a
#: support that the next round changes.
ROUND_ACCURACY = 0.3
#: Pairs that a round adds at the least if no number is given; otherwise it doubles the active set.
FEWEST_ADDED = 100
#: Violation that a refit may keep, an example.
REFIT_ACCURACY = 1e-5
#: A largest gradient under this, in units of the objective at zero weights, is what rounding leaves of none.
ROUNDING = 1e-13
#: Rounds without a lower objective before a fit gives up on digits that float64 does not have.
PATIENCE = 8


@dataclass(frozen=True)
class Checkpoint:
    """A model along the way: pairs, where their rows come from, intercepts, scores and residuals."""

    active: Active
    blocks: np.ndarray
    nodes: np.ndarray
    intercepts: np.ndarray
    scores: np.ndarray
    residuals: np.ndarray


class GraftState:
    """Data, space, active set and report of one fit.

    Memory: the indexes (see :class:`NgramIndex`), 8 bytes a document and label five times over, and 4 bytes a document
    of each active feature.
    """

    def __init__(self, data: TrainingData, penalty: PenaltySettings, smallest_l1: float = 0.0) -> None:
        data = data.balanced(penalty.balance)
        self.data = data
        self.penalty = penalty
        self.report = Report(network=None if data.network is None else data.network.graph.report)
        self.mean_scale, self.scale = document_weights(data.lengths, penalty.length_normalisation)
        self.problems = Problems(data)
        self.network = None if data.network is None else NetworkPenalty(data.network.graph, penalty)
        #: The gradient of the network at the present weights: float64 (its features, trained labels).
        self.network_gradient = np.empty((0, 0))
        self.active = Active.empty()
        self.intercepts = np.zeros(self.problems.n_trained)
        self.scores = np.zeros((self.problems.n_trained, data.n_documents))
        self._centre_intercepts()
        self.initial_objective = self.loss()
        self.residuals = self._residuals()
        self.found: Found | None = None
        self.best_dual = -np.inf
        self.without_progress = 0
        self.accuracy = np.inf
        self.degree = 1
        self._index(self._lossless_df(smallest_l1))
        if self.report.l1_max <= smallest_l1:
            # The model is empty; what was cut off would not change that, but C_max may lie in it.
            self._index(0.0)

    def _index(self, least_df: float) -> None:
        """Build the space of features with more than ``least_df`` documents per unit of λ, and find C_max in it."""
        data = self.data
        with self.report.timed("index"):
            self.report.min_df = {
                name: max(min_df, int(least_df * data.penalty_factors[name]) + 1)
                for name, min_df in data.min_df.items()
            }
            self.space = feature_space(data, self.penalty, self.problems, self.report.min_df)
        self.report.n_columns = self.space.n_columns
        self._pull()
        with self.report.timed("search"):
            # At C = 0 every pair violates; the largest ratio of the empty model is C_max.
            everything = self.space.search(
                (self.residuals * self.scale).T, 0.0, 1, self.active_labels(), self.space.degree, complete=False
            )
        self.report.l1_max = float(everything.peaks.max(initial=0.0))
        # There the empty model is the optimum.
        self.report.l1 = self.report.l1_max
        self.report.objective = self.initial_objective
        self.report.duality_gap = self.report.relative_gap = 0.0
        self.report.converged = True

    def _lossless_df(self, l1: float) -> float:
        """With so many documents per unit of λ or fewer no feature enters: |v| < df max s a, and C λ < |v|."""
        if self.penalty.penalty_weights != "none" or not self.data.n_documents:
            return 0.0
        largest = float((self.data.example_weights * self.scale).max())
        return l1 / largest if largest > 0.0 else 0.0

    def active_labels(self) -> np.ndarray:
        """Which pairs of row and trained label are active: bool."""
        return self.active.by_row(self.problems.n_trained)

    def _centre_intercepts(self) -> None:
        for problem in self.problems.problems:
            shift = problem.likelihood.optimal_intercepts(self.scores[problem.labels])
            self.intercepts[problem.labels] += shift
            self.scores[problem.labels] += shift[:, None]

    def _residuals(self) -> np.ndarray:
        residuals = np.empty_like(self.scores)
        for problem in self.problems.problems:
            _, p = problem.likelihood.loss_and_probabilities(self.scores[problem.labels])
            residuals[problem.labels] = problem.likelihood.residuals(p)
        return residuals

    def loss(self) -> float:
        """Σ_i s_i loss(q_i, f_i)."""
        return sum(
            problem.likelihood.loss_and_probabilities(self.scores[problem.labels])[0]
            for problem in self.problems.problems
        )

    def restricted(self, problem: Problem, l1: float, coupling: Coupling) -> Restricted:
        return Restricted(problem.likelihood, self.scale, l1, self.penalty.ridge * problem.ridge_share, coupling)

    def coupling(self, active: Active, problem: Problem, written: bool) -> Coupling:
        """What the network joins the active pairs of a problem by, written down or not."""
        part = active.of_labels(problem.first, problem.stop)
        if self.network is None:
            return Coupling.none(len(part))
        features = self.space.network_features[part.rows]
        return self.network.coupling(features, part.labels, problem.ridge_share, written)

    def _pull(self) -> None:
        """Note the gradient of the network at the present weights."""
        if self.network is None:
            return
        gradient = np.zeros((self.network.n_features, self.problems.n_trained))
        features = self.space.network_features[self.active.rows]
        joined = features >= 0
        gradient[features[joined], self.active.labels[joined]] = self.active.weights[joined]
        for problem in self.problems.problems:
            of_problem = gradient[:, problem.labels]
            gradient[:, problem.labels] = 2.0 * problem.ridge_share * self.network.product(of_problem)
        self.network_gradient = gradient
        self.space.set_network_gradient(gradient)

    def active_network_gradient(self) -> np.ndarray:
        """The gradient of the network in the active pairs, those of features outside it included: float64 (pairs)."""
        active = self.active
        network_gradient = np.zeros(len(active))
        if self.network is None:
            return network_gradient
        features = self.space.network_features[active.rows]
        joined = features >= 0
        network_gradient[joined] = self.network_gradient[features[joined], active.labels[joined]]
        for problem in self.problems.problems:
            outside = ~joined & (active.labels >= problem.first) & (active.labels < problem.stop)
            network_gradient[outside] = 2.0 * problem.ridge_share * self.network.outside * active.weights[outside]
        return network_gradient

    def search(self, l1: float, wanted: int) -> None:
        """Find the next candidates, and with them the certificate of the model as it is.

        Products of more originals are looked for once those of fewer leave nothing to do (Okanohara & Tsujii 2009).
        """
        self._search(l1, wanted)
        self._deepen(l1, wanted)

    def _deepen(self, l1: float, wanted: int) -> None:
        while self.done() and self.degree < self.space.degree:
            # What bounds the optimum over fewer features does not bound that over more.
            self.degree += 1
            self._forget_dual()
            self._search(l1, wanted)

    def _search(self, l1: float, wanted: int) -> None:
        with self.report.timed("search"):
            self.found = self.space.search(
                (self.residuals * self.scale).T, l1, wanted, self.active_labels(), self.degree,
                complete=self.penalty.ridge > 0.0,
            )  # fmt: skip
            self._certify(l1, self.found)

    def _certify(self, l1: float, found: Found) -> None:
        objective, dual = self.objective_and_dual(l1, found.peaks, found.squared_excess)
        self.best_dual = max(self.best_dual, dual)
        self.report.l1 = float(l1)
        self.tell(objective, self.best_dual)
        self.report.converged = self.report.relative_gap <= self.penalty.tol
        self.report.max_violation = max(float(found.peaks.max(initial=0.0)) / self.report.l1 - 1.0, 0.0)

    def objective_and_dual(self, l1: float, peaks: np.ndarray, squared_excess: np.ndarray) -> tuple[float, float]:
        """F, and a lower bound of the optimum.

        Parameters
        ----------
        l1 : float
            C.
        peaks, squared_excess : float64 (trained labels)
            Of the pairs that are not active (:class:`Found`). Zeros restrict the bound to the active pairs.
        """
        network_gradient = self.active_network_gradient()
        ratios = self.active_ratios(network_gradient)
        objective = dual = slack = 0.0
        for problem in self.problems.problems:
            pairs = slice(*np.searchsorted(self.active.labels, (problem.first, problem.stop)))
            peak = max(peaks[problem.labels].max(), ratios[pairs].max(initial=0.0))
            excess = squared_excess[problem.labels].sum() + (np.maximum(ratios[pairs] - l1, 0.0) ** 2).sum()
            part = self.active.of_labels(problem.first, problem.stop)
            restricted = self.restricted(problem, l1, Coupling.none(len(part)))
            network = 0.5 * float(part.weights @ network_gradient[pairs])
            loss, p = problem.likelihood.loss_and_probabilities(self.scores[problem.labels])
            objective += loss + restricted.penalty(part) + network
            dual += dual_value(problem.likelihood, p, l1, restricted.ridge, peak, excess, network)
            slack += abs(float(self.intercepts[problem.labels] @ self.residuals[problem.labels].sum(axis=1)))
        return objective, dual - slack

    def active_ratios(self, network_gradient: np.ndarray) -> np.ndarray:
        """|v| / λ of the active pairs, ``network_gradient`` (:meth:`active_network_gradient`) taken from v."""
        values = np.empty(len(self.active))
        kernels.collect(self.active.pairs, self.residuals * self.scale, values)
        return np.abs(values - network_gradient) / self.active.penalty

    def tell(self, objective: float, dual: float) -> None:
        """Report an objective, a lower bound of the optimum and the size of the model."""
        report = self.report
        report.objective = float(objective)
        report.duality_gap = float(objective - dual)
        report.relative_gap = report.duality_gap / self.initial_objective if self.initial_objective > 0.0 else 0.0
        report.n_active, report.n_pairs = self.active.n_rows, len(self.active)

    def start_at(self, l1: float, n_best: int | None = None) -> None:
        """Begin with a new C: what is known of the dual of another C no longer holds."""
        self.degree = 1
        self._forget_dual()
        self.search(l1, self.wanted(n_best))

    def _forget_dual(self) -> None:
        self.best_dual = -np.inf
        self.without_progress = 0
        self.accuracy = np.inf

    def wanted(self, n_best: int | None) -> int:
        """Pairs that the next round adds."""
        return max(FEWEST_ADDED, len(self.active)) if n_best is None else n_best

    def round(self, l1: float, n_best: int | None = None) -> None:
        """Add the ``n_best`` worst violations, optimise, drop zeros, search again.

        Parameters
        ----------
        l1 : float
            C; the state must have been searched at it (:meth:`start_at`).
        n_best : int, optional
            Pairs to add; by default as many as are active.
        """
        if self.found is None:
            raise RuntimeError("A round needs a search before it: call start_at first.")
        before = self.report.objective
        with self.report.timed("solve"):
            self.enter(self.found.blocks, self.found.nodes, self.found.labels)
            self.accuracy = self._tolerance(l1)
            self._solve(l1, self.accuracy)
            self._leave()
            self._settle()
        wanted = self.wanted(n_best)
        self._search(l1, wanted)
        progress = self.report.objective < before - 1e-13 * abs(before)
        self.without_progress = 0 if progress else self.without_progress + 1
        self._deepen(l1, wanted)
        self.report.rounds += 1

    def done(self) -> bool:
        """Whether rounds at this C have nothing left to do."""
        return self.report.converged or self.without_progress >= PATIENCE

    @property
    def trainable(self) -> bool:
        """Whether there are labels to tell apart and features to tell them by."""
        return bool(self.problems.problems) and self.report.l1_max > ROUNDING * self.initial_objective

    def optimise(self, l1: float) -> None:
        """Rounds at one C until the certificate holds."""
        self.start_at(l1)
        while not self.done():
            self.round(l1)

    def checkpoint(self) -> Checkpoint:
        """What :meth:`restore` needs to come back to the present model."""
        return Checkpoint(
            replace(self.active, weights=self.active.weights.copy()),
            self.space.blocks, self.space.nodes, self.intercepts.copy(), self.scores.copy(), self.residuals,
        )  # fmt: skip

    def restore(self, checkpoint: Checkpoint) -> None:
        """Come back to an earlier model. It is searched at the next C, so that nothing else needs to be known of it."""
        self.active = replace(checkpoint.active, weights=checkpoint.active.weights.copy())
        self.space.set_rows(checkpoint.blocks, checkpoint.nodes)
        self.intercepts, self.scores = checkpoint.intercepts.copy(), checkpoint.scores.copy()
        self.residuals = checkpoint.residuals
        self._pull()

    def _tolerance(self, l1: float) -> float:
        """Violation that the restricted problem may keep in the next round, in units of |v| / λ."""
        violation = self.report.max_violation * l1
        if violation == 0.0:
            # Nothing enters any more: only more digits of what is there close the gap.
            return 0.1 * min(self.accuracy, l1)
        # What is left outside may be tiny while the gap comes from the restricted problem itself.
        return max(ROUND_ACCURACY * violation, 0.1 * min(self.accuracy, l1))

    def enter(self, blocks: np.ndarray, nodes: np.ndarray, labels: np.ndarray) -> None:
        """Make pairs active, at weight zero."""
        self.active = self.space.entered(self.active, blocks, nodes, labels)

    def solve(self, l1: float, tolerance: float) -> float:
        """The optimum over the active pairs; weights that are 0 stay in the model.

        Returns
        -------
        float
            The largest violation that is left, in units of |v| / λ.
        """
        left = self._solve(l1, tolerance)
        self._settle()
        return left

    def _solve(self, l1: float, tolerance: float) -> float:
        left = 0.0
        for problem in self.problems.problems:
            part = self.active.of_labels(problem.first, problem.stop)
            of_problem = self.restricted(problem, l1, self.coupling(self.active, problem, l1 > 0.0)).minimise(
                part, self.intercepts[problem.labels], self.scores[problem.labels], tolerance
            )
            left = max(left, of_problem)
        return left

    def _settle(self) -> None:
        self._centre_intercepts()
        self.residuals = self._residuals()
        self._pull()

    def _leave(self) -> None:
        self.active, used = self.active.without_zeros()
        self.space.keep_rows(used)

    def refitted(self, strength: float) -> Solution:
        """The features of the model, with weights that are optimal without L1; the state stays as it is.

        Labels that share a softmax share its features: each gets weights for all of them.

        Parameters
        ----------
        strength : float
            β in place of both C and the ridge.
        """
        active = self._completed()
        intercepts, scores = self.intercepts.copy(), self.scores.copy()
        with self.report.timed("refit"):
            for problem in self.problems.problems:
                part, coupling = active.of_labels(problem.first, problem.stop), self.coupling(active, problem, False)
                ridge = strength * problem.ridge_share
                restricted = Restricted(problem.likelihood, self.scale, 0.0, ridge, coupling)
                tolerance = REFIT_ACCURACY * problem.likelihood.importance.sum()
                restricted.minimise(part, intercepts[problem.labels], scores[problem.labels], tolerance)
        return self._solution(active, intercepts, scores)

    def _completed(self) -> Active:
        """The active pairs, and the pairs of their features with all labels of the same softmax, at weight zero."""
        there = self.active_labels()
        missing = np.zeros_like(there)
        for problem in self.problems.problems:
            of_problem = there[:, problem.labels]
            missing[:, problem.labels] = of_problem.any(axis=1, keepdims=True) & ~of_problem
        rows, labels = np.nonzero(missing)
        penalty = self.space.penalty(self.space.blocks[rows], self.space.nodes[rows], labels)
        return self.active.with_pairs(rows, labels, penalty)

    def solution(self) -> Solution:
        """The model as it is, by label and in the streams' symbols."""
        return self._solution(self.active, self.intercepts, self.scores)

    def _solution(self, active: Active, intercepts: np.ndarray, scores: np.ndarray) -> Solution:
        mean_scale = self.mean_scale if self.penalty.length_normalisation else 0.0
        return solution_of(self.space, self.problems, active, intercepts, scores, mean_scale)


def solution_of(
    space: FeatureSpace,
    problems: Problems,
    active: Active,
    intercepts: np.ndarray,
    scores: np.ndarray,
    mean_scale: float,
) -> Solution:
    """The model of an active set, by label and in the streams' symbols; scores are of the training documents."""
    weights = np.zeros((active.n_rows, problems.n_trained))
    weights[active.rows, active.labels] = active.weights
    vocabularies = {name: bags.vocabulary for name, bags in problems.data.bags.items()}
    return Solution(
        space.names(), *space.terms(), space.df(),
        problems.weights_by_label(weights),
        problems.intercepts_by_label(intercepts, scores),
        mean_scale,
        {name: vocabulary for name, vocabulary in vocabularies.items() if vocabulary is not None},
    )  # fmt: skip


def document_weights(lengths: np.ndarray, normalise: bool) -> tuple[float, np.ndarray]:
    """(m, a) with a_i = m / sqrt(length_i) of mean 1; all 1 if not asked to normalise."""
    if not normalise or not len(lengths):
        return 1.0, np.ones(len(lengths))
    scale = 1.0 / np.sqrt(lengths)
    mean_scale = float(1.0 / scale.mean())
    return mean_scale, mean_scale * scale
