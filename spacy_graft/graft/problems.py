"""From labels to problems with a loss each, and back to weights by label.

Exclusive labels are one multinomial problem, two of them one logistic problem; labels of a multilabel component are one
logistic problem each; the choices among candidates are one problem without intercepts. Labels whose optimum is not
finite (never positive, or never negative) are left out of training and get the intercept of half a document (Krichevsky
& Trofimov 1981) instead of an infinite one.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from ..solve.losses import CandidateLoss, LogisticLoss, Loss, SoftmaxLoss
from .data import TrainingData


@dataclass(frozen=True)
class Problem:
    """Labels that share one loss.

    ``first`` and ``stop`` are its range among the trained labels. ``ridge_share`` is a factor of β: ½ where one weight
    stands for two labels, w/2 and -w/2 (their squares sum to w²/2).
    """

    first: int
    stop: int
    loss: Loss
    ridge_share: float

    @property
    def labels(self) -> slice:
        return slice(self.first, self.stop)


class Problems:
    """All problems of a corpus.

    Parameters
    ----------
    data : TrainingData
    one_vs_all : bool
        Whether more than two exclusive labels are a logistic problem each as well.

    Attributes
    ----------
    problems : list of Problem
    trained : int64
        The label (column of the corpus's targets) that each trained label stands for.
    """

    def __init__(self, data: TrainingData, one_vs_all: bool = False) -> None:
        self.data = data
        importance = data.example_weights[:, None] * data.known
        self.positive = (importance * data.targets).sum(axis=0)
        self.negative = (importance * (1.0 - data.targets)).sum(axis=0)
        if data.groups is not None:
            loss = CandidateLoss(data.targets.T.copy(), data.example_weights, data.groups)
            self.problems, self.present = [Problem(0, 1, loss, 1.0)], np.zeros(1, np.int64)
            self.trained = self.present
        elif data.exclusive:
            self.present = np.flatnonzero(self.positive > 0.0)
            if len(self.present) == 2 and not self.negative[self.present[1]] > 0.0:
                # What the targets of the other label sum to is lost in the rounding of these, which are all 1.
                self.present = self.present[1:]
            if one_vs_all and len(self.present) > 2:
                self.problems, self.trained = self._independent(importance)
            else:
                self.problems, self.trained = self._exclusive()
        else:
            self.present = np.flatnonzero((self.positive > 0.0) & (self.negative > 0.0))
            self.problems, self.trained = self._independent(importance)

    def _exclusive(self) -> tuple[list[Problem], np.ndarray]:
        targets, importance = self.data.targets.T, self.data.example_weights
        if len(self.present) < 2:
            return [], self.present[:0]
        if len(self.present) == 2:
            trained = self.present[1:]
            return [Problem(0, 1, LogisticLoss(targets[trained].copy(), importance), 0.5)], trained
        loss = SoftmaxLoss(targets[self.present].copy(), importance)
        return [Problem(0, len(self.present), loss, 1.0)], self.present

    def _independent(self, importance: np.ndarray) -> tuple[list[Problem], np.ndarray]:
        problems = []
        for i, label in enumerate(self.present):
            known = importance[:, label]
            targets = np.where(known > 0.0, self.data.targets[:, label], 0.0)
            problems.append(Problem(i, i + 1, LogisticLoss(targets[None, :], known.copy()), 1.0))
        return problems, self.present

    def resampled(self, counts: np.ndarray) -> Problems:
        """The same problems where each document counts as often as ``counts`` (documents) says."""
        other = copy(self)
        other.problems = [replace(problem, loss=problem.loss.of_documents(counts)) for problem in self.problems]
        return other

    @property
    def n_trained(self) -> int:
        return len(self.trained)

    def trained_label(self, label: int) -> tuple[int, float] | None:
        """The trained label that a label is, and its weights in units of the label's; None if it is not trained."""
        if self.data.exclusive and len(self.present) == 2 and label in self.present:
            return 0, 2.0 if label == self.present[1] else -2.0
        trained = np.flatnonzero(self.trained == label)
        return (int(trained[0]), 1.0) if len(trained) else None

    def positives(self) -> np.ndarray:
        """Targets of the trained labels where known, 0 elsewhere: float64 (documents, trained labels)."""
        return self.data.targets[:, self.trained] * self.data.known[:, self.trained]

    def weights_by_label(self, weights: np.ndarray) -> np.ndarray:
        """Weights (features, labels) from those of the trained labels (features, trained labels)."""
        by_label = np.zeros((len(weights), len(self.data.labels)))
        by_label[:, self.trained] = weights
        if self.data.exclusive and len(self.present) == 2:
            by_label[:, self.present] = weights * np.array([-0.5, 0.5])
        return by_label

    def intercepts_by_label(self, intercepts: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Intercepts of all labels, those that were left out included.

        Parameters
        ----------
        intercepts : float64 (trained labels)
        scores : float64 (trained labels, documents)
            Of the training corpus: an exclusive label without a positive document is expected in half a document, and
            so is an independent one that is nowhere known.
        """
        by_label = np.zeros(len(self.data.labels))
        by_label[self.trained] = intercepts
        absent = np.setdiff1d(np.arange(len(by_label)), self.present)
        if not self.data.exclusive:
            positive, negative = self.positive[absent], self.negative[absent]
            # Of a label that no document tells about, as if none had it.
            negative = np.where(positive + negative > 0.0, negative, self.data.example_weights.sum())
            by_label[absent] = np.log((positive + 0.5) / (negative + 0.5))
            return by_label
        if len(self.present) == 2:
            by_label[self.present] = intercepts * np.array([-0.5, 0.5])
            scores = scores * np.array([[-0.5], [0.5]])
        by_label[absent] = np.log(0.5) - self._log_documents_per_normaliser(scores)
        return by_label

    def _log_documents_per_normaliser(self, scores: np.ndarray) -> float:
        """log Σ_i s_i / Σ_y exp f_iy over the present labels."""
        if not len(scores):
            return float(np.log(self.data.example_weights.sum()))
        # Without a penalty, scores may be larger than what exp can take.
        return float(logsumexp(-np.logaddexp.reduce(scores), b=self.data.example_weights))
