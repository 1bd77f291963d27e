"""The likelihood: a softmax over labels, with or without a reference class of score 0.

One formula serves both components. Without a reference class it is the multinomial model of exclusive labels; with one,
and a single label, it is the logistic model of one label of many, or of two exclusive labels (whose score is the
difference of the two).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Newton steps for the intercepts; they converge quadratically, from any start in practice in under ten.
INTERCEPT_STEPS = 50


@dataclass(frozen=True)
class Likelihood:
    """Targets of labels that share one softmax.

    Attributes
    ----------
    targets : float64 (labels, documents)
        q_iy. Columns sum to 1 if there is no reference class, else to at most 1.
    importance : float64 (documents)
        Example weights s_i; 0 masks a document out.
    reference : bool
        Whether there is a reference class.
    """

    targets: np.ndarray
    importance: np.ndarray
    reference: bool

    def loss_and_probabilities(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Σ_i s_i (log Σ_y exp f_iy - Σ_y q_iy f_iy), and p_iy (labels, documents)."""
        largest = scores.max(axis=0)
        if self.reference:
            largest = np.maximum(largest, 0.0)
        exponentials = np.exp(scores - largest)
        normaliser = exponentials.sum(axis=0)
        if self.reference:
            normaliser += np.exp(-largest)
        log_normaliser = largest + np.log(normaliser)
        losses = log_normaliser - np.einsum("yi,yi->i", self.targets, scores)
        return float(self.importance @ losses), exponentials / normaliser

    def residuals(self, probabilities: np.ndarray) -> np.ndarray:
        """δ_iy = s_i (q_iy - p_iy), (labels, documents)."""
        return self.importance * (self.targets - probabilities)

    def is_told_apart(self, scores: np.ndarray) -> bool:
        """Whether every document has one label and scores highest on it: twice the scores are then likelier still."""
        known = self.importance > 0.0
        targets, scores = self.targets[:, known], scores[:, known]
        if self.reference:
            targets = np.concatenate([1.0 - targets.sum(axis=0, keepdims=True), targets])
            scores = np.concatenate([np.zeros((1, scores.shape[1])), scores])
        best = np.where(targets > 0.0, scores, -np.inf).max(axis=0)
        others = np.where(targets > 0.0, -np.inf, scores).max(axis=0)
        return bool((targets.max(axis=0) == 1.0).all() and (best > others).all())

    def curve(self, probabilities: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Product of the Hessian in the scores with ``direction``: s (diag p - p pᵀ) d."""
        mean = np.einsum("yi,yi->i", probabilities, direction)
        return self.importance * probabilities * (direction - mean)

    def entropy(self, distributions: np.ndarray) -> float:
        """Σ_i s_i H(r_i) of distributions (labels, documents); the reference class has what is left to 1."""
        total = -xlogx(distributions).sum(axis=0)
        if self.reference:
            total -= xlogx(np.maximum(1.0 - distributions.sum(axis=0), 0.0))
        return float(self.importance @ total)

    def optimal_intercepts(self, scores: np.ndarray, tolerance: float = 1e-10) -> np.ndarray:
        """What to add to each label's scores so that Σ_i δ_iy = 0, by damped Newton steps (labels).

        Without a reference class only differences count; the mean is kept at 0.
        """
        shift = np.zeros(len(scores))
        loss, p = self.loss_and_probabilities(scores)
        for _ in range(INTERCEPT_STEPS):
            gradient = self.residuals(p).sum(axis=1)
            if np.abs(gradient).max() <= tolerance * self.importance.sum():
                break
            hessian = np.diag(p @ self.importance) - (p * self.importance) @ p.T
            step = np.linalg.lstsq(hessian, gradient, rcond=1e-14)[0]
            length = 1.0
            while length > 1e-10:
                new_loss, new_p = self.loss_and_probabilities(scores + (shift + length * step)[:, None])
                if new_loss <= loss + 1e-12 * abs(loss):
                    break
                length /= 2
            else:
                break
            shift, loss, p = shift + length * step, new_loss, new_p
        return shift if self.reference else shift - shift.mean()


def xlogx(x: np.ndarray) -> np.ndarray:
    """x log x, 0 at 0."""
    return x * np.log(np.where(x > 0.0, x, 1.0))
