"""Losses: what the model pays for its probabilities, and what the solver and the certificate need to know of it.

A loss is one object, and everything else asks it only for what :class:`Loss` names. Scores and probabilities have
labels first: float64 (labels, documents).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import expit

from . import kernels
from .active import Active

#: Newton steps for the intercepts; they converge quadratically, from any start in practice in under ten.
INTERCEPT_STEPS = 50
#: What their gradients sum to where they are optimal, in units of the documents' weights; and the least that float64
#: can be asked for.
INTERCEPT_TOLERANCE, LEAST_TOLERANCE = 1e-10, 1e-15
#: A class whose probabilities sum to less or more than its targets by a larger share than the first of these is rare:
#: Newton steps stopped before they saw it. It is then scaled to the second.
RARE, RARE_TOLERANCE = 1e-4, 1e-12
#: Longest step of an intercept by curvature, and longest upwards where all probabilities of a class have vanished.
LARGEST_STEP = 100.0


@dataclass(frozen=True)
class Loss(ABC):
    """Cross-entropy of targets and normalised exponentials of the scores: Σ_i s_i (log Z_i − Σ_y q_iy f_iy).

    A subclass says what is normalised together: the labels of a document, or all candidates of one choice, which are
    then documents of one label that share a normaliser. The residuals, Hessian products and the dual objective follow
    from that by the conjugacy of log-sum-exp and entropy.

    Attributes
    ----------
    targets : float64 (labels, documents)
        q_iy.
    importance : float64 (documents)
        Example weights s_i; 0 masks a document out.
    """

    targets: np.ndarray
    importance: np.ndarray

    #: Whether the labels have intercepts. A loss without them must not change with a shift of all scores.
    has_intercepts: ClassVar[bool] = True

    @property
    def normalisers(self) -> np.ndarray | None:
        """The normaliser of each document: int32 (documents); None if each has one of its own."""
        return None

    @abstractmethod
    def normalised(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return each document's part of the log normalisers (log Z_i if it has its own), and p (labels, documents)."""

    @abstractmethod
    def fixed(self, shift: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Take from a change of the intercepts (labels) what changes no probability, in proportion to ``share``."""

    def classes(self, distributions: np.ndarray) -> np.ndarray:
        """Return distributions (labels, documents) with a row for every class that a document can be of."""
        return distributions

    def entropies(self, distributions: np.ndarray) -> np.ndarray:
        """Return H(r_i) of distributions (labels, documents): float64 (documents)."""
        return -xlogx(self.classes(distributions)).sum(axis=0)

    def class_probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the probabilities of every class: what :meth:`classes` makes of p, to the last digit however rare."""
        return self.normalised(scores)[1]

    @abstractmethod
    def is_separated_by(self, scores: np.ndarray) -> bool:
        """Return whether every document has one label and scores highest on it, so that larger scores are better."""

    #: Whether :meth:`has_one_sided_column` looks at values, and not only at which documents have a column: it is then
    #: right for columns with negative values, too.
    looks_at_values: ClassVar[bool] = False

    def has_one_sided_column(self, active: Active, scale: np.ndarray) -> bool:
        """Return whether the loss falls for ever along a weight: all documents of the pair have its label, or none.

        Parameters
        ----------
        active : Active
            Pairs of the loss's labels.
        scale : float64 (documents)
            Document weights a_i.
        """
        known = self.importance > 0.0
        with_label, without = np.empty(len(active)), np.empty(len(active))
        kernels.collect(active.pairs, (known & (self.targets > 0.0)).astype(np.float64), with_label)
        kernels.collect(active.pairs, (known & (self.targets < 1.0)).astype(np.float64), without)
        return bool(((with_label == 0.0) ^ (without == 0.0)).any())

    def value_and_probabilities(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss, and p_iy (labels, documents)."""
        log_normaliser, probabilities = self.normalised(scores)
        losses = log_normaliser - np.einsum("yi,yi->i", self.targets, scores)
        return float(self.importance @ losses), probabilities

    def residuals(self, probabilities: np.ndarray) -> np.ndarray:
        """Return δ_iy = s_i (q_iy − p_iy), minus the gradient in the scores."""
        return self.importance * (self.targets - probabilities)

    def variances(self, probabilities: np.ndarray) -> np.ndarray:
        """Return s p (1 − p), the diagonal of the Hessian in the scores."""
        return self.importance * probabilities * (1.0 - probabilities)

    def means(self, probabilities: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return the mean of a direction under the probabilities of each normaliser: float64 (normalisers)."""
        return np.einsum("yi,yi->i", probabilities, direction)

    def hessian_product(self, probabilities: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return the product of the Hessian in the scores with a direction: s (diag p − p pᵀ) d."""
        means = self.means(probabilities, direction)
        if self.normalisers is not None:
            means = means[self.normalisers]
        return self.importance * probabilities * (direction - means)

    def entropy(self, distributions: np.ndarray) -> float:
        """Return Σ_i s_i H(r_i) of distributions (labels, documents): the dual objective at r."""
        return float(self.importance @ self.entropies(distributions))

    def optimal_intercepts(self, scores: np.ndarray, tolerance: float = INTERCEPT_TOLERANCE) -> np.ndarray:
        """Return what to add to each label's scores so that Σ_i δ_iy = 0, by damped Newton steps (labels)."""
        shift = np.zeros(len(scores))
        if not self.has_intercepts:
            return shift
        value, p = self.value_and_probabilities(scores)
        total, before = self.importance.sum(), np.inf
        for _ in range(INTERCEPT_STEPS):
            gradient = self.residuals(p).sum(axis=1)
            largest = np.abs(gradient).max()
            stuck = 0.5 * before < largest <= INTERCEPT_TOLERANCE * total
            if largest <= tolerance * total or stuck:
                break
            before = largest
            hessian = np.diag(p @ self.importance) - (p * self.importance) @ p.T
            step = np.linalg.lstsq(hessian, gradient, rcond=1e-14)[0]
            # Where classes are rare the Hessian may be anything.
            length = min(1.0, LARGEST_STEP / max(np.abs(step).max(), 1e-300))
            while length > 1e-10:
                new_value, new_p = self.value_and_probabilities(scores + (shift + length * step)[:, None])
                if new_value <= value + 1e-12 * abs(value):
                    break
                length /= 2
            else:
                break
            shift, value, p = shift + length * step, new_value, new_p
        return self.fixed(self._scaled_to_rare(scores, shift), np.ones(len(shift)))

    def _scaled_to_rare(self, scores: np.ndarray, shift: np.ndarray) -> np.ndarray:
        """The shift with the intercepts of rare classes right in relative terms too, where they are not yet.

        By iterative scaling (Darroch & Ratcliff 1972): each class moves by the logarithm of what it lacks. The loss
        never rises, and if a class is rare in every document, two or three steps suffice from anywhere.
        """
        goals = self.classes(self.targets) @ self.importance
        tolerance = RARE
        for _ in range(INTERCEPT_STEPS if (goals > 0.0).all() else 0):
            sums = self.class_probabilities(scores + shift[:, None]) @ self.importance
            if (np.abs(sums - goals) <= tolerance * goals).all():
                break
            tolerance = RARE_TOLERANCE
            with np.errstate(divide="ignore"):
                steps = np.minimum(np.log(goals) - np.log(sums), LARGEST_STEP)
            # Without a row of its own, what all other classes are compared with has the last.
            reference = steps[len(shift) :].sum()
            shift = shift + steps[: len(shift)] - reference
        return shift

    def feasible(self, distributions: np.ndarray) -> np.ndarray:
        """Return distributions r near the given ones, with Σ_i s_i r_iy = Σ_i s_i q_iy for every label with intercept.

        A class with too large a sum gives the same share of each of its probabilities, and those with too small a one
        receive of what a document is given back in proportion to what they lack.

        Parameters
        ----------
        distributions : float64 (labels, documents)
        """
        if not self.has_intercepts:
            return distributions
        rows = with_sums(self.classes(distributions), self.importance, self.classes(self.targets) @ self.importance)
        return rows[: len(distributions)]

    def of_documents(self, kept: np.ndarray) -> Loss:
        """Return the loss of some of the documents (bool), or of each as often as it says; others are masked out."""
        return replace(self, importance=self.importance * kept)


class SoftmaxLoss(Loss):
    """Multinomial logistic regression: the labels of a document exclude each other. Targets sum to 1."""

    def normalised(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        largest = scores.max(axis=0)
        exponentials = np.exp(scores - largest)
        normaliser = exponentials.sum(axis=0)
        return largest + np.log(normaliser), exponentials / normaliser

    def fixed(self, shift: np.ndarray, share: np.ndarray) -> np.ndarray:
        # Only differences of scores count.
        return shift - share * (shift.sum() / share.sum())

    def is_separated_by(self, scores: np.ndarray) -> bool:
        known = self.importance > 0.0
        return is_separated(self.targets[:, known], scores[:, known])


class LogisticLoss(Loss):
    """Binary logistic regression: one label, against a reference class of score 0. Targets are in [0, 1]."""

    def normalised(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        largest = np.maximum(scores.max(axis=0), 0.0)
        exponentials = np.exp(scores - largest)
        normaliser = exponentials.sum(axis=0) + np.exp(-largest)
        return largest + np.log(normaliser), exponentials / normaliser

    def fixed(self, shift: np.ndarray, share: np.ndarray) -> np.ndarray:
        return shift

    def classes(self, distributions: np.ndarray) -> np.ndarray:
        # The reference is the class of what is left.
        return np.concatenate([distributions, np.maximum(1.0 - distributions.sum(axis=0, keepdims=True), 0.0)])

    def class_probabilities(self, scores: np.ndarray) -> np.ndarray:
        return expit(np.concatenate([scores, -scores]))

    def is_separated_by(self, scores: np.ndarray) -> bool:
        known = self.importance > 0.0
        targets, scores = self.targets[:, known], scores[:, known]
        both = np.concatenate([1.0 - targets, targets])
        return is_separated(both, np.concatenate([np.zeros(scores.shape), scores]))


@dataclass(frozen=True)
class CandidateLoss(Loss):
    """A choice among candidates that differ from group to group (Riezler & Vasserman 2004): p is their softmax.

    A candidate is a document with a single score. There are no intercepts, since only differences within a group count.
    Targets of a group sum to 1: several correct candidates share them, which keeps the loss convex. (The negative
    logarithm of the sum of their probabilities is not convex.)

    Attributes
    ----------
    groups : int32 (documents)
        The group of each candidate, ascending from 0 without gaps. Its candidates have the same importance.
    """

    groups: np.ndarray

    has_intercepts: ClassVar[bool] = False
    looks_at_values: ClassVar[bool] = True

    @cached_property
    def starts(self) -> np.ndarray:
        """The first candidate of each group: int64 (groups)."""
        return np.flatnonzero(np.diff(self.groups, prepend=-1))

    @property
    def normalisers(self) -> np.ndarray:
        return self.groups

    def normalised(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        largest = self._of_groups(np.maximum, scores[0])
        exponentials = np.exp(scores[0] - largest)
        totals = self._of_groups(np.add, exponentials)
        # Each candidate's part of log Z is its target.
        return self.targets[0] * (largest + np.log(totals)), (exponentials / totals)[None, :]

    def _of_groups(self, function: np.ufunc, values: np.ndarray) -> np.ndarray:
        """What a function makes of the values of each group, for each of its candidates."""
        return np.asarray(function.reduceat(values, self.starts)[self.groups])

    def means(self, probabilities: np.ndarray, direction: np.ndarray) -> np.ndarray:
        return np.asarray(np.add.reduceat(probabilities[0] * direction[0], self.starts))

    def fixed(self, shift: np.ndarray, share: np.ndarray) -> np.ndarray:
        return np.zeros_like(shift)

    def is_separated_by(self, scores: np.ndarray) -> bool:
        f, correct = scores[0], self.targets[0] > 0.0
        others = self._of_groups(np.maximum, np.where(correct, -np.inf, f))
        counted = correct & (self.importance > 0.0)
        # A candidate without others says nothing.
        some = np.isfinite(others[counted]).any()
        return bool(some and (self.targets[0][counted] == 1.0).all() and (f > others)[counted].all())

    def has_one_sided_column(self, active: Active, scale: np.ndarray) -> bool:
        """Return whether a column is largest on all correct candidates of every group, or least on them.

        Pseudo-maximal and pseudo-minimal features (Johnson et al. 1999): a weight without bound does no harm.
        """
        return any(self._is_one_sided(*active.columns.column(row), scale) for row in np.unique(active.rows))

    def _is_one_sided(self, candidates: np.ndarray, values: np.ndarray, scale: np.ndarray) -> bool:
        values, correct = values * scale[candidates], self.targets[0] > 0.0
        known = self.importance[candidates] > 0.0
        candidates, values = candidates[known], values[known]
        groups, starts, counts = np.unique(self.groups[candidates], return_index=True, return_counts=True)
        if not len(groups):
            return False
        # Candidates without the column have it with 0.
        of_others = np.where(counts < np.diff(self.starts, append=len(correct))[groups], 0.0, np.nan)
        largest = np.fmax(np.maximum.reduceat(values, starts), of_others)
        least = np.fmin(np.minimum.reduceat(values, starts), of_others)
        n_correct = np.add.reduceat(correct, self.starts, dtype=np.int64)[groups]
        n_without = n_correct - np.add.reduceat(correct[candidates], starts, dtype=np.int64)

        def are_at(bounds: np.ndarray) -> bool:
            """Whether all correct candidates have the column at the bound of their group."""
            at_bound = correct[candidates] & (values == np.repeat(bounds, counts))
            n_at = np.add.reduceat(at_bound, starts, dtype=np.int64) + np.where(bounds == 0.0, n_without, 0)
            return bool((n_at == n_correct).all())

        return bool((least < largest).any()) and (are_at(largest) or are_at(least))


def is_separated(targets: np.ndarray, scores: np.ndarray) -> bool:
    """Return whether every document has one label and scores strictly highest on it: (labels, documents), both."""
    best = np.where(targets > 0.0, scores, -np.inf).max(axis=0)
    others = np.where(targets > 0.0, -np.inf, scores).max(axis=0)
    return bool((targets.max(axis=0) == 1.0).all() and (best > others).all())


def with_sums(distributions: np.ndarray, importance: np.ndarray, goals: np.ndarray) -> np.ndarray:
    """Return distributions (classes, documents) moved such that Σ_i s_i r_iy are the goals (classes), which add up."""
    sums = distributions @ importance
    surplus = sums - goals
    # All surpluses add up to 0. That of the largest class is found from this: its own rounding may exceed rare classes.
    largest = int(np.argmax(goals))
    surplus[largest] = 0.0
    surplus[largest] = -surplus.sum()
    giving = surplus > 0.0
    missing = np.where(giving, 0.0, -surplus)
    if not giving.any() or not missing.any():
        return distributions
    shares = np.ones(len(goals))
    shares[giving] = goals[giving] / sums[giving]
    if giving[largest]:
        shares[largest] = max(1.0 - surplus[largest] / sums[largest], 0.0)
    given = (1.0 - shares) @ distributions
    return shares[:, None] * distributions + (missing / missing.sum())[:, None] * given


def xlogx(x: np.ndarray) -> np.ndarray:
    """Return x log x, 0 at 0."""
    return x * np.log(np.where(x > 0.0, x, 1.0))
