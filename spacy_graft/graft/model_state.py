"""The weights of a fit along the way, and all that follows from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..solve.active import Active
from ..solve.dense import Dense
from ..solve.losses import INTERCEPT_TOLERANCE, LEAST_TOLERANCE
from ..solve.restricted import Restricted
from .objective import Objective
from .problems import Problem, Problems
from .solution import Solution
from .space import FeatureSpace

if TYPE_CHECKING:
    from ..vectors.word_scores import WordScores

#: What an empty model leaves of the slope along dense columns, in units of the documents' weights.
DENSE_TOLERANCE = 1e-6
#: What residuals may sum to, in units of the violation that weights may keep: what intercepts lack counts in the gap.
INTERCEPT_SHARE = 0.1


@dataclass(frozen=True)
class Checkpoint:
    """A model along the way: what the rest of a :class:`ModelState` follows from.

    Memory: 8 bytes a document and label, 40 a pair.

    Attributes
    ----------
    blocks, nodes : int64 (rows)
        Where each row comes from (:class:`~spacy_graft.graft.space.FeatureSpace`).
    rows, labels : int64 (pairs)
    weights : float64 (pairs)
    intercepts : float64 (labels)
    dense : float64 (labels, n_columns)
        Weights of the dense columns.
    scores : float64 (labels, documents)
    """

    blocks: np.ndarray
    nodes: np.ndarray
    rows: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    intercepts: np.ndarray
    dense: np.ndarray
    scores: np.ndarray


class ModelState:
    """Active pairs, weights, intercepts and weights of dense columns, with all that belongs to them.

    That is scores, residuals and the gradient of the network.

    They move in :meth:`optimise` and :meth:`restore` alone, which leave everything that depends on
    them true: scores are those of the model, intercepts are optimal, and residuals and the network gradient are those
    at the present weights. At the start no pairs are active, and all else is optimal.

    Memory: 8 bytes a document and label five times over, and 4 bytes a document of each active feature.

    Parameters
    ----------
    objective : Objective
    space : FeatureSpace
        Its rows become those of this state.
    """

    def __init__(self, objective: Objective, space: FeatureSpace) -> None:
        self.objective = objective
        self.space = space
        self._active = Active.empty()
        self._intercepts = np.zeros(objective.n_labels)
        self._dense = np.zeros((objective.n_labels, objective.n_dense))
        self._scores = np.zeros((objective.n_labels, objective.data.n_documents))
        self._follow()
        #: The objective of a model whose scores are all alike.
        self.initial = self.loss()
        if objective.n_dense:
            self.optimise(0.0, DENSE_TOLERANCE * float(objective.data.example_weights.sum()))

    @property
    def active(self) -> Active:
        """The active pairs with their columns and weights."""
        return self._active

    @property
    def intercepts(self) -> np.ndarray:
        """Of the trained labels: float64 (labels)."""
        return self._intercepts

    @property
    def dense(self) -> np.ndarray:
        """Weights of the dense columns: float64 (labels, n_columns)."""
        return self._dense

    def dense_of(self, problem: Problem) -> Dense:
        """The dense columns with the weights of a problem."""
        return self.objective.dense_of(problem, self._dense)

    @property
    def scores(self) -> np.ndarray:
        """Of the training documents: float64 (labels, documents)."""
        return self._scores

    @property
    def residuals(self) -> np.ndarray:
        """δ_iy: float64 (labels, documents)."""
        return self._residuals

    @property
    def weighted_residuals(self) -> np.ndarray:
        """a_i δ_iy, as searches take them: float64 (documents, labels)."""
        return (self._residuals * self.objective.scale).T

    def active_labels(self) -> np.ndarray:
        """Which pairs of row and trained label are active: bool (rows, labels)."""
        return self._active.by_row(self.objective.n_labels)

    def pairs_of(self, problem: Problem) -> slice:
        """The active pairs of a problem."""
        return slice(*np.searchsorted(self._active.labels, (problem.first, problem.stop)))

    def loss(self) -> float:
        """Σ_i s_i loss(q_i, f_i)."""
        return sum(problem.loss.value_and_probabilities(self._scores[problem.labels])[0] for problem in self.objective)

    def scores_without_weights(self) -> np.ndarray:
        """What document weights do not apply to, intercepts and dense columns: float64 (labels, documents)."""
        scores = np.repeat(self._intercepts[:, None], self.objective.data.n_documents, axis=1)
        for problem in self.objective:
            dense = self.dense_of(problem)
            if len(dense):
                scores[problem.labels] += dense.spread(dense.weights)
        return scores

    def network_gradient(self) -> np.ndarray:
        """The gradient of the network in the active pairs, those of features outside it included: float64 (pairs)."""
        active, network = self._active, self.objective.network
        gradient = np.zeros(len(active))
        if network is None:
            return gradient
        features = self.space.network_features[active.rows]
        in_network = features >= 0
        gradient[in_network] = self._vertex_gradient[features[in_network], active.labels[in_network]]
        for problem in self.objective:
            outside = ~in_network & (active.labels >= problem.first) & (active.labels < problem.stop)
            gradient[outside] = 2.0 * problem.ridge_share * network.outside * active.weights[outside]
        return gradient

    def enter(self, blocks: np.ndarray, nodes: np.ndarray, labels: np.ndarray) -> None:
        """Make pairs active, at weight zero: nothing else changes."""
        self._active = self.space.entered(self._active, blocks, nodes, labels)

    def optimise(self, l1: float, tolerance: float, keep_zeros: bool = False) -> float:
        """Go to the optimum over the active pairs.

        Parameters
        ----------
        l1 : float
            L1 strength.
        tolerance : float
            Violation to stop at, in units of |v| / λ.
        keep_zeros : bool
            Whether pairs whose weight has become 0 stay active.

        Returns
        -------
        float
            The largest violation that is left.
        """
        left = self._minimise(self._active, self._intercepts, self._scores, l1, tolerance)
        if not keep_zeros:
            self._active, used = self._active.without_zeros()
            self.space.keep_rows(used)
        self._follow(INTERCEPT_SHARE * tolerance)
        return left

    def _minimise(
        self, active: Active, intercepts: np.ndarray, scores: np.ndarray, l1: float, tolerance: float
    ) -> float:
        left = 0.0
        for problem in self.objective:
            part = active.of_labels(problem.first, problem.stop)
            restricted = self._restricted(problem, part, l1)
            of_problem = restricted.minimise(part, intercepts[problem.labels], scores[problem.labels], tolerance)
            left = max(left, of_problem)
        return left

    def _restricted(self, problem: Problem, part: Active, l1: float) -> Restricted:
        penalty = self.objective.penalty(problem, l1)
        coupling = self.objective.coupling(problem, part, self.space.network_features, penalty.is_smooth)
        return Restricted(problem.loss, self.objective.scale, penalty, coupling, self.dense_of(problem))

    def _follow(self, residual: float = np.inf) -> None:
        """Make true what depends on the weights; the residuals of a label may sum to ``residual`` at the most."""
        for problem in self.objective:
            tolerance = residual / float(problem.loss.importance.sum())
            shift = problem.loss.optimal_intercepts(
                self._scores[problem.labels], min(max(tolerance, LEAST_TOLERANCE), INTERCEPT_TOLERANCE)
            )
            self._intercepts[problem.labels] += shift
            self._scores[problem.labels] += shift[:, None]
        self._residuals = self._residuals_of_scores()
        self._follow_network()

    def _residuals_of_scores(self) -> np.ndarray:
        residuals = np.empty_like(self._scores)
        for problem in self.objective:
            _, p = problem.loss.value_and_probabilities(self._scores[problem.labels])
            residuals[problem.labels] = problem.loss.residuals(p)
        return residuals

    def _follow_network(self) -> None:
        """Note the gradient of the network in its vertices: float64 (its features, labels)."""
        network, active = self.objective.network, self._active
        if network is None:
            return
        gradient = np.zeros((network.n_features, self.objective.n_labels))
        features = self.space.network_features[active.rows]
        in_network = features >= 0
        gradient[features[in_network], active.labels[in_network]] = active.weights[in_network]
        for problem in self.objective:
            of_problem = gradient[:, problem.labels]
            gradient[:, problem.labels] = 2.0 * problem.ridge_share * network.product(of_problem)
        self._vertex_gradient = gradient
        self.space.set_network_gradient(gradient)

    def checkpoint(self) -> Checkpoint:
        """What :meth:`restore` needs to come back to the present model."""
        active, space = self._active, self.space
        return Checkpoint(
            space.blocks, space.nodes, active.rows, active.labels,
            active.weights.copy(), self._intercepts.copy(), self._dense.copy(), self._scores.copy(),
        )  # fmt: skip

    def restore(self, checkpoint: Checkpoint) -> None:
        """Come back to an earlier model, of this state or of one over the same space."""
        rows, labels, space = checkpoint.rows, checkpoint.labels, self.space
        space.set_rows(checkpoint.blocks, checkpoint.nodes)
        penalty_weights = space.penalty_weights(space.blocks[rows], space.nodes[rows], labels)
        self._active = Active(*space.columns(), rows, labels, penalty_weights, checkpoint.weights.copy())
        self._intercepts, self._scores = checkpoint.intercepts.copy(), checkpoint.scores.copy()
        self._dense = checkpoint.dense.copy()
        self._residuals = self._residuals_of_scores()
        self._follow_network()

    def solution(self) -> Solution:
        """The model as it is, by label and in the streams' symbols."""
        return self.solution_of(self._active, self._intercepts, self._dense, self._scores)

    def completed(self) -> Active:
        """The active pairs, and the pairs of their features with all labels of the same loss, at weight zero."""
        there = self.active_labels()
        missing = np.zeros_like(there)
        for problem in self.objective:
            of_problem = there[:, problem.labels]
            missing[:, problem.labels] = of_problem.any(axis=1, keepdims=True) & ~of_problem
        rows, labels = np.nonzero(missing)
        penalty_weights = self.space.penalty_weights(self.space.blocks[rows], self.space.nodes[rows], labels)
        return self._active.with_pairs(rows, labels, penalty_weights)

    def solution_of(self, active: Active, intercepts: np.ndarray, dense: np.ndarray, scores: np.ndarray) -> Solution:
        """The features of the model with other weights; ``scores`` are those of the training documents."""
        mean_scale = self.objective.mean_scale if self.objective.settings.length_normalisation else 0.0
        solution = solution_of(self.space, self.objective.problems, active, intercepts, scores, mean_scale)
        return replace(solution, word_scores=self.word_scores(dense))

    def word_scores(self, dense: np.ndarray) -> WordScores | None:
        """What words add to the scores of documents by weights of the dense columns; None without such columns."""
        vectors = self.objective.data.vectors
        return None if vectors is None else vectors.word_scores(self.objective.problems.weights_by_label(dense.T))


def solution_of(
    space: FeatureSpace,
    problems: Problems,
    active: Active,
    intercepts: np.ndarray,
    scores: np.ndarray,
    mean_scale: float,
) -> Solution:
    """The model of an active set, by label and in the streams' symbols; scores are of the training documents."""
    vocabularies = {name: bags.vocabulary for name, bags in problems.data.bags.items()}
    return Solution(
        space.names(), *space.terms(), space.df(),
        *weights_by_label(problems, active, intercepts, scores),
        mean_scale,
        {name: vocabulary for name, vocabulary in vocabularies.items() if vocabulary is not None},
    )  # fmt: skip


def weights_by_label(
    problems: Problems, active: Active, intercepts: np.ndarray, scores: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Weights (features, labels) and intercepts (labels) of all labels; scores are of the training documents."""
    weights = np.zeros((active.n_rows, problems.n_trained))
    weights[active.rows, active.labels] = active.weights
    return problems.weights_by_label(weights), problems.intercepts_by_label(intercepts, scores)
