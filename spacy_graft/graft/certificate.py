"""The certificate: a lower bound of the optimum over the whole space. Derived in ``docs/certificate.md``."""

from __future__ import annotations

import numpy as np

from ..solve.losses import Loss
from ..solve.penalties import Penalty
from .model_state import ModelState


class Certificate:
    """The objective of a model, and the best lower bound of the optimum so far.

    Parameters
    ----------
    initial : float
        The objective at zero weights, the unit of the relative gap.

    Attributes
    ----------
    objective, dual : float
        In nats.
    """

    def __init__(self, initial: float) -> None:
        self.initial = initial
        self.objective = initial
        self.dual = initial

    def forget(self) -> None:
        """Drop the bound, which holds for one L1 strength and one space of features."""
        self.dual = -np.inf

    def update(self, state: ModelState, l1: float, largest: np.ndarray, squared_excess: np.ndarray) -> None:
        """Take in a model; the arguments are those of :func:`objective_and_dual`."""
        self.objective, dual = objective_and_dual(state, l1, largest, squared_excess)
        self.dual = max(self.dual, dual)


def objective_and_dual(
    state: ModelState, l1: float, largest: np.ndarray, squared_excess: np.ndarray
) -> tuple[float, float]:
    """The objective of a model, and a lower bound of the optimum.

    Parameters
    ----------
    state : ModelState
    l1 : float
        L1 strength.
    largest, squared_excess : float64 (trained labels)
        Of the pairs that are not active: the largest |v| / λ, and Σ max(|v| / λ − l1, 0)². Zeros restrict the bound to
        the active pairs.
    """
    network_gradient = state.network_gradient()
    gradients = state.scaled_gradients(network_gradient)
    objective = dual = slack = 0.0
    for problem in state.objective:
        pairs = state.pairs_of(problem)
        penalty = state.objective.penalty(problem, l1)
        part = state.active.of_labels(problem.first, problem.stop)
        network = 0.5 * float(part.weights @ network_gradient[pairs])
        peak = max(largest[problem.labels].max(), gradients[pairs].max(initial=0.0))
        excess = squared_excess[problem.labels].sum() + penalty.squared_excess(gradients[pairs])
        loss, p = problem.loss.value_and_probabilities(state.scores[problem.labels])
        objective += loss + penalty.value(part.weights, part.penalty_weights) + network
        dual += dual_value(problem.loss, p, penalty, peak, excess, network)
        slack += abs(float(state.intercepts[problem.labels] @ state.residuals[problem.labels].sum(axis=1)))
    return objective, dual - slack


def dual_value(
    loss: Loss, probabilities: np.ndarray, penalty: Penalty, largest: float, squared_excess: float, network: float
) -> float:
    """Dual objective at the better of two points made from the model's probabilities.

    Point one is r = (1 − c) q + c p with c = min(1, l1 / largest): its gradient is c v, within every feature's penalty,
    so that D = Σ s H(r). With a ridge, r = p is feasible too, at the price of the penalty's conjugate:
    D = Σ s H(p) − Σ max(|v| / λ − l1, 0)² / (4 β). A network wᵀ M w takes 2 M w from the gradients of its vertices, so
    that v stands for v − 2 M w, at the price of its own conjugate: c² wᵀ M w, or wᵀ M w.

    Parameters
    ----------
    loss : Loss
    probabilities : float64 (labels, documents)
        p, with intercepts that are optimal.
    penalty : Penalty
    largest : float
        max |v_ky| / λ_ky over the whole space, active pairs included.
    squared_excess : float
        Σ max(|v_ky| / λ_ky − l1, 0)² over the whole space.
    network : float
        Σ_y wᵀ M w.
    """
    c = penalty.feasible_share(largest)
    value = loss.entropy((1.0 - c) * loss.targets + c * probabilities) - c**2 * network
    conjugate = penalty.conjugate(squared_excess)
    return max(value, loss.entropy(probabilities) - conjugate - network) if np.isfinite(conjugate) else value
