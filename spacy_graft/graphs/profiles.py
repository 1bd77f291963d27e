"""Features that correlate with the same seeds: nearest neighbours among vectors of correlations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

#: Number of rows of similarities in memory at a time.
ROWS_PER_PRODUCT = 256


def correlations(presence: sparse.csr_array, seeds: np.ndarray) -> np.ndarray:
    """Pearson's correlation of the presence of each feature with that of each seed: float64 (n_features, n_seeds).

    0 where it is undefined: for features that no documents or all documents have.
    """
    n, counts = presence.shape[0], presence.astype(np.float64)
    df = np.asarray(counts.sum(axis=0))
    shared = (counts.T @ counts[:, seeds]).toarray()
    spread = np.sqrt(df * (n - df))
    scale = np.outer(spread, spread[seeds])
    return np.divide(n * shared - np.outer(df, df[seeds]), scale, out=np.zeros_like(shared), where=scale > 0.0)


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Rows scaled to length one; rows of zeros stay zero: float32."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0.0).astype(np.float32)


def nearest_profiles(presence: sparse.csr_array, seeds: np.ndarray, k: int, minimum: float) -> sparse.csr_array:
    """The k nearest features of each feature, by the cosine of their vectors of correlations with the seeds.

    Returns float64 (n_features, n_features). Of ties, the first features are kept.
    """
    vectors = unit_rows(correlations(presence, seeds))
    n = len(vectors)
    rows = [sparse.csr_array((0, n)), *nearest_in_blocks(vectors, min(k, max(n, 1)), minimum)]
    return sparse.csr_array(sparse.vstack(rows, format="csr"))


def nearest_in_blocks(vectors: np.ndarray, k: int, minimum: float) -> Iterator[sparse.csr_array]:
    """The rows of the result, in batches."""
    from . import kernels

    for start in range(0, len(vectors), ROWS_PER_PRODUCT):
        cosines = vectors[start : start + ROWS_PER_PRODUCT] @ vectors.T
        best, values = np.empty((len(cosines), k), np.int32), np.empty((len(cosines), k))
        kernels.best_of_rows(cosines, start, minimum, best, values)
        found = best >= 0
        starts = np.concatenate([[0], np.cumsum(found.sum(axis=1))])
        yield sparse.csr_array((values[found], best[found], starts), shape=cosines.shape)
