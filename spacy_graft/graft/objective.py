"""What a fit minimises: losses, penalties and the network, over the documents of a corpus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from ..search.penalty_kinds import PenaltyWeightKind
from ..solve.active import Active
from ..solve.coupling import Coupling
from ..solve.dense import Dense
from ..solve.penalties import ElasticNet, Penalty
from ..solve.restricted import Restricted
from .constraints import Constraints
from .data import TrainingData
from .network import NetworkPenalty
from .problems import Problem, Problems
from .report import Report
from .settings import PenaltySettings


class Objective:
    """The objective of a learner on a corpus; nothing here depends on weights.

    Parameters
    ----------
    data : TrainingData
    settings : PenaltySettings
    one_vs_all : bool
        Whether more than two exclusive labels are a logistic problem each as well.

    Attributes
    ----------
    problems : Problems
    mean_scale : float
    scale : float64 (documents)
        Document weights a_i, which are ``mean_scale / sqrt(length)``, or 1, where ``mean_scale`` is 0.
    network : NetworkPenalty, optional
    dense : DenseColumns, optional
    constraints : Constraints
        Those of the learner.
    sign_factors : float64 (2, trained labels)
        Factors of positive and of negative weights.
    """

    def __init__(self, data: TrainingData, settings: PenaltySettings, one_vs_all: bool = False) -> None:
        self.data = data.balanced(settings.balance)
        self.settings = settings
        self.problems = Problems(self.data, one_vs_all)
        self.mean_scale, self.scale = document_weights(data.lengths, settings.length_normalisation)
        self.network = None if data.network is None else NetworkPenalty(data.network.graph, settings, self.n_threads)
        self.dense = None if data.vectors is None else data.vectors.columns
        self.constraints = settings.constraints or Constraints()
        self.sign_factors = self._sign_factors()
        self._check_locks()

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.problems.problems)

    @property
    def n_labels(self) -> int:
        """Trained labels."""
        return self.problems.n_trained

    @property
    def n_threads(self) -> int:
        """How many threads multiply."""
        return self.data.place.n_threads

    def _sign_factors(self) -> np.ndarray:
        problems, names = self.problems, self.data.labels
        factors = np.repeat(np.array(self.settings.sign_factors)[:, None], self.n_labels, axis=1)
        for label, sign in self.constraints.one_sided.items():
            trained = problems.trained_label(names.index(label)) if label in names else None
            if trained is not None:
                is_positive = (sign == "positive") == (trained[1] > 0.0)
                factors[int(is_positive), trained[0]] = np.inf
        if (both := np.isinf(factors).all(axis=0)).any():
            exclusive = (
                " Evidence for one of two exclusive labels is evidence against the other, which shares its weights."
            )
            raise ValueError(
                f"Constraints: no weight of {names[self.problems.trained[int(both.argmax())]]!r} is left, because both "
                f"signs are forbidden.{exclusive if self.data.exclusive and self.n_labels == 1 else ''} Remove one of "
                f"signs, positive_factor and negative_factor."
            )
        return factors

    def _check_locks(self) -> None:
        names = self.data.labels
        for name, label, weight in self.constraints.locks:
            trained = self.problems.trained_label(names.index(label)) if label in names else None
            if trained is None or not weight:
                continue
            positive, negative = self.sign_factors[:, trained[0]]
            if np.isinf(positive if weight * trained[1] > 0.0 else negative):
                raise ValueError(
                    f"Constraints: {name!r} is locked at {weight:g} for {label!r}, but weights of this sign are "
                    f"forbidden: by signs, where one for one of two exclusive labels holds for both, or by "
                    f"positive_factor or negative_factor. Change one of them."
                )

    def new_report(self) -> Report:
        """An empty report, with what is known of the network, of word vectors and of the constraints."""
        report = Report(constraints=self.constraints.to_dict() if self.constraints else None)
        if self.data.network is not None:
            report.network, report.network_alpha = self.data.network.graph.report, self.settings.network_alpha
        if self.data.vectors is not None:
            report.vectors, report.vectors_ridge = self.data.vectors.report, self.settings.vectors_ridge
        return report

    def penalty(self, problem: Problem, l1: float, labels: np.ndarray) -> Penalty:
        """The penalty of pairs of one problem, by their labels there, at an L1 strength."""
        factors: Any = self.settings.sign_factors
        if self.constraints.one_sided:  # labels have signs of their own
            factors = self.sign_factors[:, problem.labels][:, labels]
        return ElasticNet(l1, self.settings.ridge * problem.ridge_share, *factors)

    def coupling(self, problem: Problem, part: Active, features: np.ndarray, smooth: bool) -> Coupling:
        """What the network joins the active pairs of a problem by.

        Parameters
        ----------
        problem : Problem
        part : Active
            Its pairs.
        features : int (rows)
            The number of each row among the features of the network, −1 if it is none.
        smooth : bool
            Whether conjugate gradients do all of the work: they need products only, coordinate descent needs rows.
        """
        if self.network is None:
            return Coupling.none(len(part))
        couple = self.network.coupling if smooth else self.network.written_coupling
        return couple(features[part.rows], part.labels, problem.ridge_share)

    def dense_of(self, problem: Problem, weights: np.ndarray) -> Dense:
        """The dense columns with the weights of a problem, a view of those of all labels (labels, n_columns)."""
        if self.dense is None:
            return Dense.none(problem.stop - problem.first, self.data.n_documents)
        ridge = self.settings.vectors_ridge * problem.ridge_share
        return Dense(self.dense, ridge, weights[problem.labels], self.n_threads)

    @property
    def n_dense(self) -> int:
        """Dense columns."""
        return 0 if self.dense is None else len(self.dense.values)

    def minimise(
        self,
        active: Active,
        intercepts: np.ndarray,
        dense: np.ndarray,
        scores: np.ndarray,
        features: np.ndarray,
        l1: float,
        tolerances: Sequence[float],
    ) -> bool:
        """Go to the optimum over active pairs: move their weights, and the next three arguments, in place.

        Parameters
        ----------
        active : Active
        intercepts : float64 (labels)
        dense : float64 (labels, n_columns)
            Weights of the dense columns.
        scores : float64 (labels, documents)
        features : int (rows)
            As of :meth:`coupling`.
        l1 : float
            L1 strength.
        tolerances : sequence of float
            For each problem, the violation to stop at, in units of |v| / λ.

        Returns
        -------
        bool
            Whether it is there for all problems (:meth:`spacy_graft.solve.restricted.Restricted.minimise`).
        """
        arrives = True
        parts = self._restricted(active, dense, features, l1)
        for (labels, part, restricted), tolerance in zip(parts, tolerances, strict=True):
            arrives &= restricted.minimise(part, intercepts[labels], scores[labels], tolerance)
        return arrives

    def violation(
        self, active: Active, dense: np.ndarray, scores: np.ndarray, features: np.ndarray, l1: float
    ) -> float:
        """The largest violation of the optimality conditions over active pairs, in units of |v| / λ.

        The arguments are those of :meth:`minimise`.
        """
        parts = self._restricted(active, dense, features, l1)
        return max([0.0, *(restricted.violation(part, scores[labels]) for labels, part, restricted in parts)])

    def _restricted(
        self, active: Active, dense: np.ndarray, features: np.ndarray, l1: float
    ) -> Iterator[tuple[slice, Active, Restricted]]:
        """Yield labels, active pairs and restricted problem of each problem; the arguments as of :meth:`minimise`."""
        for problem in self:
            part = active.of_labels(problem.first, problem.stop)
            penalty = self.penalty(problem, l1, part.labels)
            coupling = self.coupling(problem, part, features, penalty.is_smooth)
            weights = self.dense_of(problem, dense)
            yield problem.labels, part, Restricted(problem.loss, self.scale, penalty, coupling, weights, self.n_threads)

    def of_refit(self, strength: float, scale: np.ndarray) -> Objective:
        """The same with another ridge and document weights ``scale`` (documents)."""
        other = copy(self)
        other.settings, other.scale = replace(self.settings, ridge=strength), scale
        return other

    def resampled(self, counts: np.ndarray) -> Objective:
        """The same where each document counts as often as ``counts`` (documents) says."""
        other = copy(self)
        other.problems = self.problems.resampled(counts)
        return other

    def largest_rare_df(self, l1: float) -> float:
        """With so many documents per unit of λ or fewer no feature enters: |v| < df max s a x, and l1 λ < |v|."""
        if self.settings.penalty_weight_kind is not PenaltyWeightKind.NONE or not self.data.n_documents:
            return 0.0
        largest = float((self.data.example_weights * self.scale).max()) * self.data.largest_value
        return l1 / largest if largest > 0.0 else 0.0


def document_weights(lengths: np.ndarray, normalise: bool) -> tuple[float, np.ndarray]:
    """(m, a) with a_i = m / sqrt(length_i) of mean 1; 0, and all 1, if not asked to normalise."""
    if not normalise or not len(lengths):
        return 0.0, np.ones(len(lengths))
    scale = 1.0 / np.sqrt(lengths)
    mean_scale = float(1.0 / scale.mean())
    return mean_scale, mean_scale * scale
