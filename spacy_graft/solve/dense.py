"""Dense columns: numbers of either sign that every document has, with weights under a ridge of their own.

They are a second part of the scores, f_iy = ... + z_i · u_y, with the penalty ρ Σ_y ‖u_y‖². Document weights do not
apply to them. There are few of them, so that they are products of dense matrices. Columns that are nearly orthogonal
are solved for quickly: the diagonal of the Hessian is then nearly all of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from ..threads import in_threads, limited_threads, map_in_threads

#: Documents whose products one thread makes at a time.
DOCUMENTS_OF_PART = 2**13


@dataclass(frozen=True, eq=False)
class DenseColumns:
    """The columns of a corpus.

    Attributes
    ----------
    values : float64 (n_columns, documents)
        zᵀ. Memory: 8 bytes a document and column.
    """

    values: np.ndarray

    @cached_property
    def squares(self) -> np.ndarray:
        """Σ_i z_ij²: float64 (n_columns)."""
        return np.asarray(np.einsum("ji,ji->j", self.values, self.values))


@dataclass
class Dense:
    """Dense columns, and their weights for the labels that share one loss.

    Attributes
    ----------
    columns : DenseColumns
    ridge : float
        ρ, above 0 unless there are no columns.
    weights : float64 (labels, n_columns)
        u.
    n_threads : int
        How many make the products; to the last bit they are the same.
    """

    columns: DenseColumns
    ridge: float
    weights: np.ndarray
    n_threads: int = 1

    @classmethod
    def none(cls, n_labels: int, n_documents: int) -> Dense:
        """No columns."""
        return cls(DenseColumns(np.empty((0, n_documents))), 0.0, np.empty((n_labels, 0)))

    def __len__(self) -> int:
        return len(self.columns.values)

    @limited_threads("blas")
    def spread(self, weights: np.ndarray) -> np.ndarray:
        """Scores (labels, documents) of weights (labels, n_columns)."""
        values = self.columns.values
        scores = np.empty((len(weights), values.shape[1]))
        work = [partial(np.matmul, weights, values[:, part], out=scores[:, part]) for part in self._parts()]
        in_threads(work, self.n_threads)
        return scores

    def collect(self, totals: np.ndarray) -> np.ndarray:
        """Σ_i z_ij totals_yi, of totals (labels, documents): float64 (labels, n_columns)."""
        return self._sums(totals) if len(self) else np.zeros((len(totals), 0))

    @limited_threads("blas")
    def _sums(self, totals: np.ndarray) -> np.ndarray:
        values = self.columns.values
        sums = np.zeros((len(totals), len(values)))
        parts = [(totals[:, part], values[:, part].T) for part in self._parts()]
        for of_part in map_in_threads(np.matmul, parts, self.n_threads):
            sums += of_part
        return sums

    def _parts(self) -> list[slice]:
        """The same documents for any number of threads."""
        return [slice(a, a + DOCUMENTS_OF_PART) for a in range(0, self.columns.values.shape[1], DOCUMENTS_OF_PART)]

    def value(self, weights: np.ndarray) -> float:
        """The penalty of weights: ρ Σ u²."""
        return float(self.ridge * np.vdot(weights, weights))

    def penalty_gradient(self, weights: np.ndarray) -> np.ndarray:
        """2ρ u."""
        return 2.0 * self.ridge * weights

    def conjugate(self, gradient: np.ndarray) -> float:
        """The conjugate of the penalty at v (labels, n_columns): Σ v² / 4ρ."""
        return float(np.vdot(gradient, gradient) / (4.0 * self.ridge)) if len(self) else 0.0

    def curvature(self, variances: np.ndarray) -> np.ndarray:
        """About the diagonal of the Hessian, penalty included: float64 (labels, n_columns).

        As if all documents had the mean of their variances (labels, documents), which is exact enough for a
        preconditioner and costs no product with the columns.
        """
        if not len(self):
            return np.empty((len(variances), 0))
        return np.maximum(np.outer(variances.mean(axis=1), self.columns.squares) + 2.0 * self.ridge, 1e-12)


def largest_norm(gradient: np.ndarray) -> float:
    """The largest Euclidean norm of a label's gradient (labels, n_columns): it does not depend on the axes."""
    return float(np.sqrt(np.einsum("yj,yj->y", gradient, gradient).max(initial=0.0))) if gradient.size else 0.0
