"""What joins the weights of different features: the quadratic penalty of a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import sparse


class Operator(Protocol):
    """Q where it is not written down, of weights (pairs)."""

    def product(self, weights: np.ndarray) -> np.ndarray:
        """Q w: float64 (pairs)."""

    def product_of_lanes(self, lanes: np.ndarray) -> np.ndarray:
        """The same of lanes (features, width), in their precision, where every label has every feature."""

    def value(self, weights: np.ndarray) -> float:
        """wᵀ Q w, whose rounding is no more than that of its size: not that of Q w."""


@dataclass(frozen=True)
class Coupling:
    """The penalty wᵀ Q w over some pairs, Q symmetric and positive semidefinite.

    Attributes
    ----------
    matrix : csr_array of float64 (pairs, pairs), or Operator, optional
        Q; None if it is 0. Coordinate descent needs its rows, so that under L1 it is written down.
    diagonal : float64 (pairs)
        Of Q; of an operator an upper bound, which preconditions.
    """

    matrix: sparse.csr_array | Operator | None
    diagonal: np.ndarray

    @classmethod
    def none(cls, n_pairs: int) -> Coupling:
        """Pairs that nothing joins."""
        return cls(None, np.broadcast_to(0.0, n_pairs))

    @classmethod
    def of_matrix(cls, matrix: sparse.csr_array) -> Coupling:
        return cls(matrix if matrix.nnz else None, matrix.diagonal())

    def penalty(self, weights: np.ndarray) -> float:
        """wᵀ Q w."""
        if self.matrix is None:
            return 0.0
        if not isinstance(self.matrix, sparse.csr_array):
            return self.matrix.value(weights)
        return float(weights @ (self.matrix @ weights))

    @property
    def is_none(self) -> bool:
        """Whether nothing joins the pairs."""
        return self.matrix is None

    @property
    def is_operator(self) -> bool:
        """Whether Q is not written down."""
        return not (self.is_none or isinstance(self.matrix, sparse.csr_array))

    def gradient(self, weights: np.ndarray) -> np.ndarray:
        """2 Q w."""
        if self.matrix is None:
            return np.zeros(len(weights))
        if isinstance(self.matrix, sparse.csr_array):
            return np.asarray(2.0 * (self.matrix @ weights))
        gradient = self.matrix.product(weights)
        gradient *= 2.0
        return gradient

    def some(self, chosen: np.ndarray) -> Coupling:
        """Between some of the pairs (int), ascending; of an operator, all."""
        if len(chosen) == len(self.diagonal):
            return self
        if self.is_none:
            return Coupling.none(len(chosen))
        assert isinstance(self.matrix, sparse.csr_array)
        return Coupling.of_matrix(self.matrix[chosen][:, chosen])

    def block(self, chosen: np.ndarray) -> np.ndarray:
        """Q between some of the pairs: float64 (chosen, chosen); of an operator the diagonal alone."""
        if isinstance(self.matrix, sparse.csr_array):
            return self.matrix[chosen][:, chosen].toarray()
        return np.diag(self.diagonal[chosen])
