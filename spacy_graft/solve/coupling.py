"""What joins the weights of different features: the quadratic penalty of a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse


@dataclass(frozen=True)
class Coupling:
    """The penalty wᵀ Q w over some pairs, Q symmetric and positive semidefinite.

    Attributes
    ----------
    matrix : csr_array or LinearOperator, float64 (pairs, pairs)
        Q. Coordinate descent needs its rows, so that under L1 it is written down.
    diagonal : float64 (pairs)
        Of Q; of an operator an upper bound, which preconditions.
    """

    matrix: Any
    diagonal: np.ndarray

    @classmethod
    def none(cls, n_pairs: int) -> Coupling:
        """Pairs that nothing joins."""
        return cls(sparse.csr_array((n_pairs, n_pairs)), np.zeros(n_pairs))

    @classmethod
    def of_matrix(cls, matrix: sparse.csr_array) -> Coupling:
        return cls(matrix, matrix.diagonal())

    def penalty(self, weights: np.ndarray) -> float:
        """wᵀ Q w."""
        return 0.0 if self.is_none else float(weights @ (self.matrix @ weights))

    @property
    def is_none(self) -> bool:
        """Whether nothing joins the pairs."""
        return isinstance(self.matrix, sparse.csr_array) and not self.matrix.nnz

    def gradient(self, weights: np.ndarray) -> np.ndarray:
        """2 Q w."""
        if self.is_none:
            return np.zeros(len(weights))
        gradient = np.asarray(self.matrix @ weights)
        gradient *= 2.0
        return gradient

    def some(self, chosen: np.ndarray) -> Coupling:
        """Between some of the pairs (int), ascending; of an operator, all."""
        if len(chosen) == len(self.diagonal):
            return self
        if self.is_none:
            return Coupling.none(len(chosen))
        return Coupling(self.matrix[chosen][:, chosen], self.diagonal[chosen])

    def block(self, chosen: np.ndarray) -> np.ndarray:
        """Q between some of the pairs: float64 (chosen, chosen); of an operator the diagonal alone."""
        if isinstance(self.matrix, sparse.csr_array):
            return self.matrix[chosen][:, chosen].toarray()
        return np.diag(self.diagonal[chosen])
