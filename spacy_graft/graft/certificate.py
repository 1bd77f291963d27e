"""The certificate: a lower bound of the optimum over the whole space. Derived in ``docs/certificate.md``."""

from __future__ import annotations

import numpy as np

from ..solve import kernels
from ..solve.losses import Loss
from ..solve.penalties import Penalty
from .model_state import ModelState
from .problems import Problem
from .space import SpaceViolations


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

    def update(self, state: ModelState, l1: float, outside: SpaceViolations) -> None:
        """Take in a model; the arguments are those of :func:`objective_and_dual`."""
        self.objective, dual = objective_and_dual(state, l1, outside)
        self.dual = max(self.dual, dual)

    @property
    def relative_gap(self) -> float:
        """How far the objective can be from the optimum, in units of the objective at zero weights."""
        gap = self.objective - self.dual
        return gap / self.initial if self.initial > 0.0 else gap


def objective_and_dual(state: ModelState, l1: float, outside: SpaceViolations | None) -> tuple[float, float]:
    """The objective of a model, and a lower bound of the optimum.

    ``outside`` is what a search at this L1 strength found of the pairs that are not active; None restricts the bound to
    the active.
    """
    network_gradient = state.network_gradient()
    objective = dual = 0.0
    offset = state.offset if state.is_locked else None
    for problem in state.objective:
        pairs = state.pairs_of(problem)
        part = state.active.of_labels(problem.first, problem.stop)
        penalty = state.objective.penalty(problem, l1, part.labels)
        network = 0.5 * float(part.weights @ network_gradient[pairs])
        dense = state.objective.dense_of(problem, state.dense)
        loss, p = problem.loss.value_and_probabilities(state.scores[problem.labels])
        objective += loss + penalty.value(part.weights, part.penalty_weights) + network
        objective += dense.value(dense.weights)

        r = problem.loss.feasible(p)
        gradients, residuals = np.empty(len(part)), problem.loss.residuals(r)
        kernels.collect(part.pairs, residuals * state.objective.scale, gradients)
        gradients = (gradients - network_gradient[pairs]) / part.penalty_weights
        peak, excess, share = penalty.by_sign(gradients).max(initial=0.0), 0.0, 1.0
        if outside is not None:
            moved = largest_move(state, problem, r - p)
            peaks = outside.peaks[problem.labels]
            # Where none violates, any may be at l1.
            peak = max(peak, (np.where(moved > 0.0, np.maximum(peaks, l1), peaks) + moved).max())
            share = penalty.feasible_share(l1 + moved.max())
            excess = share**2 * outside.squared_excess[problem.labels].sum()
        excess += penalty.squared_excess(share * gradients)
        price = network + dense.conjugate(dense.collect(residuals))
        locked = 0.0 if offset is None else -float((residuals * offset[problem.labels]).sum())
        dual += dual_value(problem.loss, r, penalty, peak, excess, price, share, locked)
    return objective, dual


def largest_move(state: ModelState, problem: Problem, change: np.ndarray) -> np.ndarray:
    """By how much no |v| / λ of a label changes with the probabilities: float64 (labels).

    v changes by the largest value of a feature times Σ_i s_i a_i |change|, or less.
    """
    return state.space.largest_inverse_weight * (np.abs(change) @ (problem.loss.importance * state.objective.scale))


def dual_value(
    loss: Loss,
    distributions: np.ndarray,
    penalty: Penalty,
    largest: float,
    squared_excess: float,
    quadratic: float,
    share: float = 1.0,
    locked: float = 0.0,
) -> float:
    """Dual objective at the better of two points made from distributions r whose sums are those of the targets.

    Point one is (1 − c) q + c r with c = min(1, l1 / largest): its gradient is c v, within every feature's penalty, so
    that D = Σ s H((1 − c) q + c r). With a ridge any c is feasible, at the price of the penalty's conjugate:
    D = Σ s H((1 − c) q + c r) − Σ max(c |v| / λ − l1, 0)² / (4 β), where l1 is times the factor of the sign of v. A
    network wᵀ M w takes 2 M w from the gradients of its vertices, so that v stands for v − 2 M w, at the price of its
    own conjugate: c² wᵀ M w. That of dense columns is c² Σ_y ‖Zᵀ δ_y‖² / 4ρ, with δ the residuals of r. Locked weights
    are an offset o of the scores, which adds c Σ_i s_i (r_i − q_i) · o_i.

    Parameters
    ----------
    loss : Loss
    distributions : float64 (labels, documents)
        r.
    penalty : Penalty
    largest : float
        The largest scaled gradient over the whole space, active pairs included.
    squared_excess : float
        Σ max(c |v_ky| / λ_ky − l1, 0)² over the whole space, at ``share``.
    quadratic : float
        Σ_y wᵀ M w + Σ_y ‖Zᵀ δ_y‖² / 4ρ, the price of the point r.
    share : float
        c of the second point.
    locked : float
        Σ_i s_i (r_i − q_i) · o_i.
    """
    c = penalty.feasible_share(largest)
    value = loss.entropy((1.0 - c) * loss.targets + c * distributions) - c**2 * quadratic + c * locked
    conjugate = penalty.conjugate(squared_excess)
    if not np.isfinite(conjugate):
        return value
    mixed = (1.0 - share) * loss.targets + share * distributions
    return max(value, loss.entropy(mixed) - conjugate - share**2 * quadratic + share * locked)
