"""The weights of a fit along the way, and all that follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..search.request import SearchRequest
from ..solve.active import Active
from ..solve.design import Design
from ..solve.losses import INTERCEPT_TOLERANCE, LEAST_TOLERANCE
from .objective import Objective
from .problems import Problem, Problems
from .solution import Solution
from .space import FeatureSpace, SpaceViolations

if TYPE_CHECKING:
    from ..vectors.word_scores import WordScores

#: What an empty model leaves of the slope along dense columns, in units of the documents' weights.
DENSE_TOLERANCE = 1e-6
#: What residuals may sum to, in units of the violation that weights may keep: what intercepts lack counts in the gap.
INTERCEPT_SHARE = 0.1


@dataclass(frozen=True)
class Checkpoint:
    """A model along the way: what the rest of a :class:`ModelState` follows from.

    Memory: 8 bytes a document and label, 48 a pair.

    Attributes
    ----------
    blocks, nodes : int64 (rows)
        Where each row comes from (:class:`~spacy_graft.graft.space.FeatureSpace`).
    rows, labels : int64 (pairs)
    weights, penalty_weights : float64 (pairs)
    intercepts : float64 (labels)
    dense : float64 (labels, n_columns)
        Weights of the dense columns.
    scores : float64 (labels, documents), optional
        If they are not kept, they are computed again, which need not give the same bits.
    """

    blocks: np.ndarray
    nodes: np.ndarray
    rows: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    penalty_weights: np.ndarray
    intercepts: np.ndarray
    dense: np.ndarray
    scores: np.ndarray | None


class KnownModel(NamedTuple):
    """What is known of a model that another fit of the same documents and features came to.

    Attributes
    ----------
    checkpoint : Checkpoint
    initial : float
        The objective of a model whose scores are all alike.
    l1_max : float
        The largest scaled gradient of the empty model.
    """

    checkpoint: Checkpoint
    initial: float
    l1_max: float


class ModelState:
    """Active pairs, weights, intercepts and weights of dense columns, with all that belongs to them.

    That is scores, residuals and the gradient of the network.

    They move in :meth:`optimise`, :meth:`keep`, :meth:`start_from` and :meth:`restore` alone, which leave everything
    that depends on them true: scores are those of the model, intercepts are optimal, and residuals and the network
    gradient are those at the present weights. At the start no pairs are active, the weights of dense columns are 0
    (until :meth:`fit_dense`), and all else is optimal.

    Memory: 8 bytes a document and label five times over, and the columns of active features
    (:class:`~spacy_graft.solve.active.Active`).

    Parameters
    ----------
    objective : Objective
    space : FeatureSpace
        Its rows become those of this state.
    known : KnownModel, optional
        The model to begin with, if it is not the empty one.

    Attributes
    ----------
    active : Active
        This and the next three are set by methods of this class only.
    intercepts : float64 (labels)
        Of the trained labels.
    dense : float64 (labels, n_columns)
        Weights of the dense columns.
    scores : float64 (labels, documents)
        Of the training documents.
    initial : float
        The objective of a model whose scores are all alike.
    """

    def __init__(self, objective: Objective, space: FeatureSpace, known: KnownModel | None = None) -> None:
        self.objective = objective
        self.space = space
        self.active = Active.empty()
        if self.is_locked:
            self.active = self.active.with_columns(space.add_rows(space.locked.blocks, space.locked.nodes))
        self.intercepts = np.zeros(objective.n_labels)
        self.dense = np.zeros((objective.n_labels, objective.n_dense))
        self.scores = self.offset
        if known is None:
            self._follow()
            self.initial = self.loss()
        else:
            self.restore(known.checkpoint)
            self.initial = known.initial

    @property
    def is_locked(self) -> bool:
        """Whether there are locked weights, whose features have rows, but no pairs."""
        return len(self.space.locked) > 0

    @property
    def offset(self) -> np.ndarray:
        """What locked weights add to the scores: float64 (labels, documents)."""
        offset = np.zeros((self.objective.n_labels, self.objective.data.n_documents))
        locked = self.space.locked
        for block, node, label, weight in zip(locked.blocks, locked.nodes, locked.labels, locked.weights, strict=True):
            _, documents, values = self.space.parts[block].columns(np.array([node]))
            offset[label, documents] += weight * (values if len(values) else 1.0)
        return offset * self.objective.scale if self.is_locked else offset

    def search(
        self, *, min_gradient: float, n_best: int, degree: int, count_all: bool, only_largest: bool = False
    ) -> SpaceViolations:
        """The pairs that violate optimality most at the present weights; arguments as of :class:`SearchRequest`."""
        request = SearchRequest(
            residuals=(self._residuals * self.objective.scale).T,
            min_gradient=min_gradient,
            n_best=n_best,
            active=self.active_labels(),
            degree=degree,
            count_all=count_all,
            sign_factors=self.objective.sign_factors,
            only_largest=only_largest,
        )
        return self.space.search(request)

    def active_labels(self) -> np.ndarray:
        """Which pairs of row and trained label are active or locked: bool (rows, labels)."""
        there = self.active.by_row(self.objective.n_labels)
        if self.is_locked:
            there[self.space.locked_rows(), self.space.locked.labels] = True
        return there

    def pairs_of(self, problem: Problem) -> slice:
        """The active pairs of a problem."""
        return slice(*np.searchsorted(self.active.labels, (problem.first, problem.stop)))

    def loss(self) -> float:
        """Σ_i s_i loss(q_i, f_i)."""
        return sum(problem.loss.value_and_probabilities(self.scores[problem.labels])[0] for problem in self.objective)

    def scores_without_weights(self) -> np.ndarray:
        """What document weights do not apply to, intercepts and dense columns: float64 (labels, documents)."""
        scores = np.zeros((self.objective.n_labels, self.objective.data.n_documents))
        for problem in self.objective:
            dense = self.objective.dense_of(problem, self.dense)
            if len(dense):
                scores[problem.labels] = dense.spread(dense.weights)
        return self.intercepts[:, None] + scores

    def _scores_of_weights(self) -> np.ndarray:
        """The scores by their definition: float64 (labels, documents)."""
        spread = Design(self.active, *self.scores.shape).spread(self.active.weights)
        return self.offset + spread * self.objective.scale + self.scores_without_weights()

    def network_gradient(self) -> np.ndarray:
        """The gradient of the network in the active pairs, those of features outside it included: float64 (pairs)."""
        active, network = self.active, self.objective.network
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
        self.active = self.space.entered(self.active, blocks, nodes, labels)

    def fit_dense(self) -> None:
        """Go to the best weights of dense columns, while no pairs are active."""
        self.optimise(0.0, DENSE_TOLERANCE * float(self.objective.data.example_weights.sum()))

    def start_from(self, weights: Mapping[tuple[str, str], np.ndarray]) -> None:
        """Go from the empty model to weights of another: float64 (labels), by block and name of a feature.

        Those that the penalty forbids are left out, as are features that are not found (:attr:`FeatureSpace.found`).
        """
        problems, known = self.objective.problems, self.space.found
        of_trained = np.zeros((self.objective.n_labels, len(problems.data.labels)))
        for label in range(of_trained.shape[1]):
            if (trained := problems.trained_label(label)) is not None and trained[1] > 0.0:
                of_trained[trained[0], label] = trained[1]
        places = np.array([known[key] for key in weights if key in known], np.int64).reshape(-1, 2)
        rows = [of_trained @ row for key, row in weights.items() if key in known]
        values = np.array(rows, np.float64).reshape(len(rows), self.objective.n_labels)
        forbidden = np.isinf(np.where(values > 0.0, *self.objective.sign_factors))
        feature, labels = np.nonzero(np.where(forbidden, 0.0, values))
        blocks, nodes = places[feature].T
        self.enter(blocks, nodes, labels)
        by_row = np.zeros((self.active.n_rows, self.objective.n_labels))
        by_row[self.space.rows_of(blocks, nodes), labels] = values[feature, labels]
        self.active.weights[:] = by_row[self.active.rows, self.active.labels]
        self.intercepts[:] = 0.0
        self.scores = self._scores_of_weights()
        self._follow()

    def optimise(self, l1: float, tolerance: float, keep_zeros: bool = False) -> None:
        """Go to the optimum over the active pairs.

        Parameters
        ----------
        l1 : float
            L1 strength.
        tolerance : float
            Violation to stop at, in units of |v| / λ.
        keep_zeros : bool
            Whether pairs whose weight has become 0 stay active.
        """
        features, tolerances = self.space.network_features, [tolerance] * len(self.objective.problems.problems)
        moved = self.active, self.intercepts, self.dense, self.scores
        self.objective.minimise(*moved, features, l1, tolerances)
        if not keep_zeros:
            self.active, used = self.active.without_zeros(self.space.locked_rows())
            self.space.keep_rows(used)
        self._follow(INTERCEPT_SHARE * tolerance)

    def violation(self, l1: float) -> float:
        """The largest violation of the optimality conditions over the active pairs, in units of |v| / λ."""
        features = self.space.network_features
        return self.objective.violation(self.active, self.dense, self.scores, features, l1)

    def keep(self, rows: np.ndarray, l1: float, tolerance: float) -> None:
        """Drop the features of all other rows (bool), and go to the optimum of these (:meth:`optimise`)."""
        dropped = ~rows[self.active.rows]
        lost = np.where(dropped, self.active.weights, 0.0)
        self.scores -= self.objective.scale * Design(self.active, *self.scores.shape).spread(lost)
        self.active.weights[dropped] = 0.0
        self.active, used = self.active.without_zeros(self.space.locked_rows())
        self.space.keep_rows(used)
        self.optimise(l1, tolerance)

    def _follow(self, residual: float = np.inf) -> None:
        """Make true what depends on the weights; the residuals of a label may sum to ``residual`` at the most."""
        for problem in self.objective:
            tolerance = residual / float(problem.loss.importance.sum())
            shift = problem.loss.optimal_intercepts(
                self.scores[problem.labels], min(max(tolerance, LEAST_TOLERANCE), INTERCEPT_TOLERANCE)
            )
            self.intercepts[problem.labels] += shift
            self.scores[problem.labels] += shift[:, None]
        self._residuals = self._residuals_of_scores()
        self._follow_network()

    def _residuals_of_scores(self) -> np.ndarray:
        residuals = np.empty_like(self.scores)
        for problem in self.objective:
            _, p = problem.loss.value_and_probabilities(self.scores[problem.labels])
            residuals[problem.labels] = problem.loss.residuals(p)
        return residuals

    def _follow_network(self) -> None:
        """Note the gradient of the network in its vertices: float64 (its features, labels)."""
        network, active = self.objective.network, self.active
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
        active, space = self.active, self.space
        return Checkpoint(
            space.blocks, space.nodes, active.rows, active.labels, active.weights.copy(), active.penalty_weights,
            self.intercepts.copy(), self.dense.copy(), self.scores.copy(),
        )  # fmt: skip

    def restore(self, checkpoint: Checkpoint) -> None:
        """Come back to an earlier model, of this state or of one over the same space."""
        self.space.set_rows(checkpoint.blocks, checkpoint.nodes)
        self.active = Active(
            self.space.columns(), checkpoint.rows, checkpoint.labels,
            checkpoint.penalty_weights, checkpoint.weights.copy(),
        )  # fmt: skip
        self.intercepts, self.dense = checkpoint.intercepts.copy(), checkpoint.dense.copy()
        known = checkpoint.scores
        self.scores = self._scores_of_weights() if known is None else known.copy()
        self._residuals = self._residuals_of_scores()
        self._follow_network()

    def solution(self) -> Solution:
        """The model as it is, by label and in the streams' symbols."""
        return self.solution_of(self.active, self.intercepts, self.dense, self.scores)

    def completed(self) -> Active:
        """The active pairs, and the pairs of their features with all labels of the same loss, at weight zero."""
        there = self.active_labels()
        missing = np.zeros_like(there)
        for problem in self.objective:
            of_problem = there[:, problem.labels]
            missing[:, problem.labels] = of_problem.any(axis=1, keepdims=True) & ~of_problem
        rows, labels = np.nonzero(missing)
        penalty_weights = self.space.penalty_weights(self.space.blocks[rows], self.space.nodes[rows], labels)
        return self.active.with_pairs(rows, labels, penalty_weights)

    def solution_of(self, active: Active, intercepts: np.ndarray, dense: np.ndarray, scores: np.ndarray) -> Solution:
        """The features of the model with other weights; ``scores`` are those of the training documents."""
        objective = self.objective
        solution = solution_of(self.space, objective.problems, active, intercepts, scores, objective.mean_scale)
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
    return Solution(
        space.names(), *space.terms(), space.df(),
        *weights_by_label(space, problems, active, intercepts, scores),
        mean_scale,
        problems.data.vocabularies,
    )  # fmt: skip


def weights_by_label(
    space: FeatureSpace, problems: Problems, active: Active, intercepts: np.ndarray, scores: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Weights (features, labels) and intercepts (labels) of all labels; scores are of the training documents."""
    by_label = pair_weights_by_label(space, problems, active, active.weights)
    return by_label, problems.intercepts_by_label(intercepts, scores)


def pair_weights_by_label(space: FeatureSpace, problems: Problems, active: Active, weights: np.ndarray) -> np.ndarray:
    """Weights (features, labels) of all labels from those of active pairs (pairs), and those that are locked."""
    of_trained = np.zeros((active.n_rows, problems.n_trained))
    of_trained[active.rows, active.labels] = weights
    of_trained[space.locked_rows(), space.locked.labels] = space.locked.weights
    return problems.weights_by_label(of_trained)
