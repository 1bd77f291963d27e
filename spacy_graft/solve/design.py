"""The design matrix: products with the columns of active pairs."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from . import kernels
from .active import Active


class Design:
    """X of some pairs, without the document weights.

    Where every label has every feature (a refit, all features at once), these are products of one sparse matrix with as
    many vectors as there are labels, which reads each entry once for all of them: three to seven times faster, for 24
    bytes an entry. Otherwise each pair's column is read for itself.

    Parameters
    ----------
    active : Active
    n_labels, n_documents : int
    """

    def __init__(self, active: Active, n_labels: int, n_documents: int) -> None:
        self.active = active
        self.shape = (n_labels, n_documents)
        self.by_feature = self.by_document = None
        if n_labels > 1 and len(active) == active.n_rows * n_labels > 0:
            starts, documents, values = active.columns
            ones = values if len(values) else np.ones(len(documents))
            self.by_feature = sparse.csr_array((ones, documents, starts), shape=(active.n_rows, n_documents))
            self.by_document = sparse.csr_array(self.by_feature.T)

    def some(self, chosen: np.ndarray) -> Design:
        """That of some of the pairs (int), ascending."""
        return self if len(chosen) == len(self.active) else Design(self.active.some(chosen), *self.shape)

    def spread(self, weights: np.ndarray) -> np.ndarray:
        """X w: float64 (labels, documents)."""
        if self.by_document is not None:
            return np.ascontiguousarray((self.by_document @ weights.reshape(self.shape[0], -1).T).T)
        scores = np.zeros(self.shape)
        kernels.spread(self.active.pairs, weights, scores)
        return scores

    def collect(self, totals: np.ndarray, squared: bool = False) -> np.ndarray:
        """Xᵀ totals, of totals (labels, documents); or with the features' values squared: float64 (pairs)."""
        if self.by_feature is not None:
            matrix = self.by_feature**2 if squared and len(self.active.values) else self.by_feature
            return np.ascontiguousarray((matrix @ totals.T).T).reshape(-1)
        sums = np.empty(len(self.active))
        kernels.collect(self.active.pairs, totals, sums, squared)
        return sums
