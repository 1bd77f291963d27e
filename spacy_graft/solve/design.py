"""The design matrix: products with the columns of active pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..index.columns import Columns
from ..index.kernels import LANES
from . import kernels
from .active import Active


class Matrix(NamedTuple):
    """A sparse matrix by rows, for products with a few vectors.

    Attributes
    ----------
    starts : int (rows + 1), entries : int32, values : float64
        Row ``k`` has the columns ``entries[starts[k] : starts[k + 1]]``; no values where all are 1.
    """

    starts: np.ndarray
    entries: np.ndarray
    values: np.ndarray

    def products(self, vectors: np.ndarray) -> np.ndarray:
        """The products with vectors (n, columns), at most :data:`LANES`: float64 (n, rows)."""
        n, columns = vectors.shape
        add_up, width = (kernels.sums_of_four, 4) if n <= 4 else (kernels.sums_of_eight, LANES)
        lanes, sums = np.zeros((columns, width)), np.empty((len(self.starts) - 1, width))
        lanes[:, :n] = vectors.T
        add_up(*self, lanes, sums)
        return np.ascontiguousarray(sums[:, :n].T)


class WideMatrix(NamedTuple):
    """The same for products with many vectors."""

    matrix: sparse.csr_array

    def products(self, vectors: np.ndarray) -> np.ndarray:
        """The products with vectors (n, columns): float64 (n, rows)."""
        return np.ascontiguousarray((self.matrix @ vectors.T).T)


class Design:
    """X of some pairs, without the document weights.

    Where every label has every feature (a refit, all features at once), these are products of one sparse matrix with as
    many vectors as there are labels, which reads each entry once for all of them: several times faster, for 4 bytes an
    entry; 12 where a feature has values other than 1, and 24 with more than eight labels. Otherwise each pair's column
    is read for itself.

    Parameters
    ----------
    active : Active
    n_labels, n_documents : int
    """

    def __init__(self, active: Active, n_labels: int, n_documents: int) -> None:
        self.active = active
        self.shape = (n_labels, n_documents)
        self.by_feature: Matrix | WideMatrix | None = None
        self.by_document: Matrix | WideMatrix | None = None
        if n_labels > 1 and len(active) == active.n_rows * n_labels > 0:
            self.by_feature, self.by_document = both_ways(active.columns, n_labels, n_documents)

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
            matrix = squares(self.by_feature) if squared and len(self.active.values) else self.by_feature
            return matrix.products(totals).reshape(-1)
        sums = np.empty(len(self.active))
        kernels.collect(self.active.pairs, totals, sums, squared)
        return sums


def both_ways(
    columns: Columns, n_labels: int, n_documents: int
) -> tuple[Matrix, Matrix] | tuple[WideMatrix, WideMatrix]:
    """The matrix of columns by feature and by document, for products with a vector a label."""
    starts, documents, values = columns
    shape = (len(starts) - 1, n_documents)
    if n_labels > LANES:
        # scipy's products with so many vectors are as fast.
        by_feature = sparse.csr_array((values if len(values) else np.ones(len(documents)), documents, starts), shape)
        return WideMatrix(by_feature), WideMatrix(sparse.csr_array(by_feature.T))
    # scipy asks for values; where all are 1, bytes will do.
    moved = values if len(values) else np.zeros(len(documents), np.bool_)
    by_document = sparse.csr_array(sparse.csr_array((moved, documents, starts), shape).T)
    others = by_document.data if len(values) else values
    return Matrix(*columns), Matrix(by_document.indptr.astype(np.int64), by_document.indices, others)


def squares(matrix: Matrix | WideMatrix) -> Matrix | WideMatrix:
    """The matrix with its values squared."""
    if isinstance(matrix, WideMatrix):
        return WideMatrix(matrix.matrix**2)
    return matrix._replace(values=matrix.values**2)
