"""The design matrix: products with the columns of active pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from . import kernels
from .active import Active


class Matrix(NamedTuple):
    """A sparse matrix by rows, for products with a few vectors.

    Attributes
    ----------
    starts : int64 (rows + 1), entries : int32, values : float64
        Row ``k`` has the columns ``entries[starts[k] : starts[k + 1]]``; no values where all are 1.
    """

    starts: np.ndarray
    entries: np.ndarray
    values: np.ndarray

    def products(self, vectors: np.ndarray) -> np.ndarray:
        """The products with vectors (n, columns): float64 (n, rows)."""
        n, columns = vectors.shape
        width = -(-n // 4) * 4
        lanes, sums = np.zeros((columns, width)), np.empty((len(self.starts) - 1, width))
        lanes[:, :n] = vectors.T
        kernels.sums_of_rows(*self, lanes, sums)
        return np.ascontiguousarray(sums[:, :n].T)

    def squares(self) -> Matrix:
        """The matrix with its values squared."""
        return self._replace(values=self.values**2)


class Design:
    """X of some pairs, without the document weights.

    Where every label has every feature (a refit, all features at once), these are products of one sparse matrix with as
    many vectors as there are labels, which reads each entry once for up to eight of them: several times faster, for 4
    bytes an entry; 12 where a feature has values other than 1. Otherwise each pair's column is read for itself.

    Parameters
    ----------
    active : Active
    n_labels, n_documents : int
    """

    def __init__(self, active: Active, n_labels: int, n_documents: int) -> None:
        self.active = active
        self.shape = (n_labels, n_documents)
        self.by_feature: Matrix | None = None
        self.by_document: Matrix | None = None
        if n_labels > 1 and len(active) == active.n_rows * n_labels > 0:
            self.by_feature = Matrix(*active.columns)
            self.by_document = by_columns(self.by_feature, n_documents)

    def some(self, chosen: np.ndarray) -> Design:
        """That of some of the pairs (int), ascending."""
        return self if len(chosen) == len(self.active) else Design(self.active.some(chosen), *self.shape)

    def spread(self, weights: np.ndarray) -> np.ndarray:
        """X w: float64 (labels, documents)."""
        if self.by_document is not None:
            return self.by_document.products(weights.reshape(self.shape[0], -1))
        scores = np.zeros(self.shape)
        kernels.spread(self.active.pairs, weights, scores)
        return scores

    def collect(self, totals: np.ndarray, squared: bool = False) -> np.ndarray:
        """Xᵀ totals, of totals (labels, documents); or with the features' values squared: float64 (pairs)."""
        if self.by_feature is not None:
            matrix = self.by_feature.squares() if squared and len(self.active.values) else self.by_feature
            return matrix.products(totals).reshape(-1)
        sums = np.empty(len(self.active))
        kernels.collect(self.active.pairs, totals, sums, squared)
        return sums


def by_columns(matrix: Matrix, n_columns: int) -> Matrix:
    """The matrix by columns."""
    starts, entries, values = matrix
    # scipy asks for values; where all are 1, bytes will do.
    moved = values if len(values) else np.zeros(len(entries), np.bool_)
    by_column = sparse.csr_array(sparse.csr_array((moved, entries, starts), (len(starts) - 1, n_columns)).T)
    others = by_column.data if len(values) else values
    return Matrix(by_column.indptr.astype(np.int64), by_column.indices.astype(np.int32), others)
