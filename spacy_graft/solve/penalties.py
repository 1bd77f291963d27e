"""Penalties: what weights cost, and what the search, the solver and the certificate need to know of it.

A penalty is one object: the certificate asks it for its value and conjugate, and the solver for the penalty on the
active pairs (:class:`PairPenalty`), whose proximal step is in the kernels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class PairPenalty:
    """Σ_k (upper_k max(w_k, 0) + lower_k max(−w_k, 0) + quadratic_k w_k²) over some pairs.

    At w_k = 0 its subgradients are the interval [−lower_k, upper_k]: a weight leaves 0 where v is outside of it.

    Attributes
    ----------
    upper, lower, quadratic : float64 (pairs)
        At least 0. Where the first two are infinite, weights do not get the sign.
    """

    upper: np.ndarray
    lower: np.ndarray
    quadratic: np.ndarray

    @cached_property
    def is_smooth(self) -> bool:
        """Whether it has a gradient everywhere."""
        return not (self.upper.any() or self.lower.any())

    def value(self, weights: np.ndarray) -> float:
        quadratic = np.einsum("k,k,k->", self.quadratic, weights, weights)
        return float(quadratic if self.is_smooth else quadratic + self.slopes(weights) @ weights)

    def slopes(self, weights: np.ndarray) -> np.ndarray:
        """Return the derivative of the part that is not smooth; 0 where a weight is 0."""
        return np.where(weights > 0.0, self.upper, np.where(weights < 0.0, -self.lower, 0.0))

    def violations(self, weights: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return by how much the optimality conditions are violated.

        Parameters
        ----------
        weights : float64 (pairs)
        gradient : float64 (pairs)
            v, from which the gradients of all quadratic penalties have been taken.
        """
        if self.is_smooth:
            return np.abs(gradient)
        outside = np.maximum(np.maximum(gradient - self.upper, -gradient - self.lower), 0.0)
        return np.where(weights == 0.0, outside, np.abs(gradient - self.slopes(weights)))

    def some(self, chosen: np.ndarray) -> PairPenalty:
        """Return the penalty on some of the pairs (int), ascending."""
        if len(chosen) == len(self.quadratic):
            return self
        return PairPenalty(self.upper[chosen], self.lower[chosen], self.quadratic[chosen])


class Penalty(ABC):
    """What weights cost, with penalty weights λ; everything else asks it only for what is named here."""

    @property
    @abstractmethod
    def is_smooth(self) -> bool:
        """Whether it has a gradient everywhere."""

    @abstractmethod
    def value(self, weights: np.ndarray, penalty_weights: np.ndarray) -> float:
        """Return the penalty of weights with penalty weights λ: float64 (pairs), both."""

    @abstractmethod
    def on(self, penalty_weights: np.ndarray) -> PairPenalty:
        """Return the penalty on pairs with these λ: float64 (pairs)."""

    @abstractmethod
    def by_sign(self, gradients: np.ndarray) -> np.ndarray:
        """Return scaled gradients, at least 0, as searches rank them, from v / λ."""

    @abstractmethod
    def squared_excess(self, gradients: np.ndarray) -> float:
        """Return Σ of the squares by which |v| / λ exceeds what the penalty allows at 0, from v / λ."""

    @abstractmethod
    def conjugate(self, squared_excess: float) -> float:
        """Return the conjugate of the penalty at v; infinite where no weight could make up for the excess."""

    @abstractmethod
    def feasible_share(self, largest: float) -> float:
        """Return the largest c for which c v is dual feasible everywhere, given the largest scaled gradient."""


@dataclass(frozen=True)
class ElasticNet(Penalty):
    """L1 and ridge with penalty weights: Σ_k (l1 λ_k (κ⁺ max(w_k, 0) + κ⁻ max(−w_k, 0)) + ridge λ_k² w_k²).

    With factors of the signs it is that of Kazama & Tsujii (EMNLP 2003): v at a weight of 0 is in [−l1 κ⁻ λ, l1 κ⁺ λ].

    Attributes
    ----------
    l1 : float
        L1 strength, the papers' C; 0 for the ridge alone.
    ridge : float
        β.
    positive_factor, negative_factor : float, or float64 (pairs)
        κ⁺ and κ⁻, at least 1; weights do not get a sign whose factor is infinite, whatever ``l1`` is. Where they are of
        pairs, all methods are asked for these pairs.
    """

    l1: float
    ridge: float
    positive_factor: float | np.ndarray = 1.0
    negative_factor: float | np.ndarray = 1.0

    @cached_property
    def is_smooth(self) -> bool:
        return self.l1 == 0.0 and not any(np.any(limit) for limit in self._limits)

    @cached_property
    def _limits(self) -> tuple[np.ndarray, np.ndarray]:
        """What |v| / λ of each sign may be at a weight of 0."""
        # Not 0 times infinity.
        upper, lower = (
            np.where(np.isinf(factor), factor, self.l1 * np.where(np.isinf(factor), 1.0, factor))
            for factor in (self.positive_factor, self.negative_factor)
        )
        return upper, lower

    def value(self, weights: np.ndarray, penalty_weights: np.ndarray) -> float:
        weighted = penalty_weights * weights
        factors = np.where(weights > 0.0, self.positive_factor, np.where(weights < 0.0, self.negative_factor, 0.0))
        return float(self.l1 * (factors * np.abs(weighted)).sum() + self.ridge * (weighted @ weighted))

    def on(self, penalty_weights: np.ndarray) -> PairPenalty:
        if self.is_smooth:
            upper = lower = np.broadcast_to(0.0, penalty_weights.shape)
        else:
            upper, lower = (limit * penalty_weights for limit in self._limits)
        return PairPenalty(upper, lower, self.ridge * penalty_weights**2)

    def by_sign(self, gradients: np.ndarray) -> np.ndarray:
        return np.abs(gradients) / np.where(gradients > 0.0, self.positive_factor, self.negative_factor)

    def squared_excess(self, gradients: np.ndarray) -> float:
        limits = np.where(gradients > 0.0, *self._limits)
        return float((np.maximum(np.abs(gradients) - limits, 0.0) ** 2).sum())

    def conjugate(self, squared_excess: float) -> float:
        # Without a ridge the penalty grows linearly: finite only where no scaled gradient exceeds l1.
        if self.ridge > 0.0:
            return squared_excess / (4.0 * self.ridge)
        return 0.0 if squared_excess == 0.0 else float("inf")

    def feasible_share(self, largest: float) -> float:
        return min(1.0, self.l1 / largest) if largest > 0.0 else 1.0
