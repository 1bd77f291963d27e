"""What a fit minimises: losses, penalties and the network, over the documents of a corpus."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..search.penalty_kinds import PenaltyWeightKind
from ..solve.active import Active
from ..solve.coupling import Coupling
from ..solve.dense import Dense
from ..solve.penalties import ElasticNet, Penalty
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
        Document weights a_i, which are ``mean_scale / sqrt(length)``, or 1.
    network : NetworkPenalty, optional
    dense : DenseColumns, optional
    """

    def __init__(self, data: TrainingData, settings: PenaltySettings, one_vs_all: bool = False) -> None:
        self.data = data.balanced(settings.balance)
        self.settings = settings
        self.problems = Problems(self.data, one_vs_all)
        self.mean_scale, self.scale = document_weights(data.lengths, settings.length_normalisation)
        self.network = None if data.network is None else NetworkPenalty(data.network.graph, settings)
        self.dense = None if data.vectors is None else data.vectors.columns

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.problems.problems)

    @property
    def n_labels(self) -> int:
        """Trained labels."""
        return self.problems.n_trained

    def new_report(self) -> Report:
        """An empty report, with what is known of the network and of word vectors."""
        report = Report()
        if self.data.network is not None:
            report.network, report.network_alpha = self.data.network.graph.report, self.settings.network_alpha
        if self.data.vectors is not None:
            report.vectors, report.vectors_ridge = self.data.vectors.report, self.settings.vectors_ridge
        return report

    def penalty(self, problem: Problem, l1: float) -> Penalty:
        """The penalty of one problem at an L1 strength."""
        return ElasticNet(l1, self.settings.ridge * problem.ridge_share, *self.settings.sign_factors)

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
        return Dense(self.dense, self.settings.vectors_ridge * problem.ridge_share, weights[problem.labels])

    @property
    def n_dense(self) -> int:
        """Dense columns."""
        return 0 if self.dense is None else len(self.dense.values)

    def largest_rare_df(self, l1: float) -> float:
        """With so many documents per unit of λ or fewer no feature enters: |v| < df max s a x, and l1 λ < |v|."""
        if self.settings.penalty_weight_kind is not PenaltyWeightKind.NONE or not self.data.n_documents:
            return 0.0
        largest = float((self.data.example_weights * self.scale).max()) * self.data.largest_value
        return l1 / largest if largest > 0.0 else 0.0


def document_weights(lengths: np.ndarray, normalise: bool) -> tuple[float, np.ndarray]:
    """(m, a) with a_i = m / sqrt(length_i) of mean 1; all 1 if not asked to normalise."""
    if not normalise or not len(lengths):
        return 1.0, np.ones(len(lengths))
    scale = 1.0 / np.sqrt(lengths)
    mean_scale = float(1.0 / scale.mean())
    return mean_scale, mean_scale * scale
