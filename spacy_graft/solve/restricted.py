"""The restricted problem: the optimum over the active pairs, by proximal Newton steps with a line search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .active import Active
from .coupling import Coupling
from .design import Design
from .likelihood import Likelihood
from .quadratic import QuadraticModel

#: Newton steps of one call; three to five are usual.
NEWTON_STEPS = 50
#: Share of the model's decrease that a step must keep (Armijo).
SUFFICIENT = 1e-4
#: Shortest step that is tried.
SHORTEST = 1e-8


@dataclass(frozen=True)
class Restricted:
    """The objective over the active pairs of labels that share one softmax.

    Attributes
    ----------
    likelihood : Likelihood
    scale : float64 (documents)
        Document weights a_i.
    l1, ridge : float
        C and β.
    coupling : Coupling
        Of the pairs that it is given.
    """

    likelihood: Likelihood
    scale: np.ndarray
    l1: float
    ridge: float
    coupling: Coupling

    def penalty(self, active: Active) -> float:
        """C Σ λ |w| + β Σ λ² w² + wᵀ Q w."""
        weighted = active.penalty * active.weights
        own = float(self.l1 * np.abs(weighted).sum() + self.ridge * (weighted @ weighted))
        return own + self.coupling.penalty(active.weights)

    def minimise(self, active: Active, intercepts: np.ndarray, scores: np.ndarray, tolerance: float) -> float:
        """Move ``active.weights``, ``intercepts`` and ``scores`` in place towards the optimum; F never rises.

        Parameters
        ----------
        active : Active
        intercepts : float64 (labels)
        scores : float64 (labels, documents)
        tolerance : float
            Violation of the optimality conditions to stop at, in units of |v| / λ.

        Returns
        -------
        float
            The violation that is left.
        """
        loss, p = self.likelihood.loss_and_probabilities(scores)
        l1, l2 = self.l1 * active.penalty, self.ridge * active.penalty**2
        design = Design(active, *scores.shape)
        for _ in range(NEWTON_STEPS):
            model = QuadraticModel(design, self.likelihood, self.scale, p, l1, l2, self.coupling)
            violation = model.violation()
            if violation <= tolerance:
                break
            minimum = model.minimum(max(0.1 * violation, 0.7 * tolerance))
            before = loss + model.penalty(active.weights)
            promised = min(model.change(minimum), 0.0)
            length = 1.0
            while length > SHORTEST:
                weights = (
                    minimum.weights if length == 1.0 else active.weights + length * (minimum.weights - active.weights)
                )
                new_scores = scores + length * minimum.scores
                new_loss, p = self.likelihood.loss_and_probabilities(new_scores)
                if new_loss + model.penalty(weights) <= before + SUFFICIENT * length * promised:
                    break
                length /= 2
            else:
                # No descent left that floating point can see.
                break
            loss = new_loss
            scores[:] = new_scores
            active.weights[:] = weights
            intercepts += length * minimum.intercepts
        return violation
