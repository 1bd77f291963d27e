"""n-best grafting as Riezler & Vasserman (EMNLP 2004) describe it, with the conjugate gradients of Minka (2001).

Their Figure 1: the n features with the largest gradients above γ enter, conjugate gradients optimise all that have
entered, and so on until no gradient exceeds γ. Written for the benchmark, so that iterations are those of the paper's
kind: one direction in all weights, and one step along it. The package itself has Newton steps.

The direction is that of Hestenes & Stiefel, the length of a step that of Newton's method along it, as Minka has it; a
step that raises the objective is halved. Under ℓ1 the sign of a weight is that of its gradient as it enters, and
weights that change it are set to 0 and leave the model, as the paper's second footnote asks. What it does not say is
when its optimisation ends: here, with an iteration that lowers the objective by less than :data:`SETTLED` of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse

#: The relative change of the objective that ends a run, and the most iterations of one.
SETTLED, MOST_ITERATIONS = 1e-5, 2000
#: The shortest step that is tried.
SHORTEST = 1e-6


@dataclass(frozen=True)
class Choices:
    """What is to be chosen.

    Attributes
    ----------
    matrix : csr_array (candidates, features)
    targets : float64 (candidates)
        They sum to 1 in each group.
    groups : int64 (candidates)
        Ascending from 0 without gaps.
    starts : int64 (groups)
        The first candidate of each.
    """

    matrix: scipy.sparse.csr_array
    targets: np.ndarray
    groups: np.ndarray
    starts: np.ndarray

    def loss_and_probabilities(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        shifted = scores - np.maximum.reduceat(scores, self.starts)[self.groups]
        exponentials = np.exp(shifted)
        totals = np.add.reduceat(exponentials, self.starts)
        return float(np.log(totals).sum() - self.targets @ shifted), exponentials / totals[self.groups]

    def curvature(self, probabilities: np.ndarray, direction: np.ndarray) -> float:
        """Second derivative of the loss along a direction of the scores."""
        means = np.add.reduceat(probabilities * direction, self.starts)
        return float(probabilities @ (direction - means[self.groups]) ** 2)


@dataclass
class Fitted:
    """Weights (features), and how they were found."""

    weights: np.ndarray
    iterations: int = 0
    rounds: int = 0


def grafting(
    choices: Choices, *, threshold: float | None = None, l1: float = 0.0, ridge: float = 0.0, n_best: int = 100
) -> Fitted:
    """Minimise the loss + ``l1`` Σ |w| + ``ridge`` Σ w² over the features whose gradients exceed ``threshold``.

    Without a threshold all features enter at once.
    """
    n = choices.matrix.shape[1]
    columns = scipy.sparse.csc_array(choices.matrix)
    found = Fitted(np.zeros(n))
    chosen = np.full(n, threshold is None)
    signs = np.zeros(n)
    while True:
        _, probabilities = choices.loss_and_probabilities(choices.matrix @ found.weights)
        gradient = columns.T @ (probabilities - choices.targets)
        if threshold is not None:
            outside = np.where(chosen, 0.0, np.abs(gradient))
            entering = np.argsort(-outside, kind="stable")[:n_best]
            entering = entering[outside[entering] > threshold]
            if not len(entering):
                return found
            chosen[entering], signs[entering] = True, -np.sign(gradient[entering])
        support = np.flatnonzero(chosen)
        run = Run(choices, columns[:, support], l1 * signs[support], ridge, found.weights[support])
        found.iterations += run.optimise()
        found.weights[support] = run.weights
        chosen[support[run.left]], signs[support[run.left]] = False, 0.0
        found.rounds += 1
        if threshold is None:
            return found


class Run:
    """One optimisation over some of the columns.

    Parameters
    ----------
    choices : Choices
    columns : csc_array (candidates, features)
    slopes : float64 (features)
        Those of the ℓ1 penalty, whose sign is that which the weight must have; 0 without it.
    ridge : float
    weights : float64 (features)
        Where to start; moved in place.
    """

    def __init__(
        self, choices: Choices, columns: scipy.sparse.csc_array, slopes: np.ndarray, ridge: float, weights: np.ndarray
    ) -> None:
        self.choices, self.matrix, self.transposed = choices, scipy.sparse.csr_array(columns), columns.T
        self.slopes, self.ridge, self.weights = slopes, ridge, weights
        #: Whether each feature has left the model.
        self.left = np.zeros(len(weights), np.bool_)

    def optimise(self) -> int:
        """Conjugate gradients; returns the number of iterations."""
        scores = self.matrix @ self.weights
        value, probabilities = self.objective(self.weights, scores)
        direction = before = None
        for iteration in range(1, MOST_ITERATIONS + 1):
            gradient = self.gradient(probabilities)
            direction = self.direction(gradient, before, direction)
            before = gradient
            moved = self.matrix @ direction
            curvature = self.choices.curvature(probabilities, moved) + 2.0 * self.ridge * (direction @ direction)
            length = -(gradient @ direction) / curvature if curvature > 0.0 else 0.0
            while True:
                weights = self.weights + length * direction
                crossed = weights * self.slopes < 0.0
                weights[crossed] = 0.0
                trial = self.matrix @ weights if crossed.any() else scores + length * moved
                new_value, new_probabilities = self.objective(weights, trial)
                if new_value <= value or length <= SHORTEST:
                    break
                length /= 2.0
            if not new_value <= value:
                return iteration
            self.weights, scores, probabilities = weights, trial, new_probabilities
            if crossed.any():
                self.left |= crossed
                direction = None
            elif value - new_value <= SETTLED * value:
                return iteration
            value = new_value
        return MOST_ITERATIONS

    def objective(self, weights: np.ndarray, scores: np.ndarray) -> tuple[float, np.ndarray]:
        loss, probabilities = self.choices.loss_and_probabilities(scores)
        return loss + float(self.slopes @ weights) + self.ridge * float(weights @ weights), probabilities

    def gradient(self, probabilities: np.ndarray) -> np.ndarray:
        """That of the objective; 0 for what has left."""
        of_loss = self.transposed @ (probabilities - self.choices.targets)
        return np.where(self.left, 0.0, of_loss + self.slopes + 2.0 * self.ridge * self.weights)

    def direction(self, gradient: np.ndarray, before: np.ndarray | None, direction: np.ndarray | None) -> np.ndarray:
        """The next direction; the steepest descent at first, and where the other one does not descend."""
        if direction is None or before is None:
            return -gradient
        change = gradient - before
        across = direction @ change
        conjugate = -gradient + max(gradient @ change / across if across else 0.0, 0.0) * direction
        return conjugate if conjugate @ gradient < 0.0 else -gradient
