"""Features that correlate with the same seeds: nearest neighbours among vectors of correlations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

#: Number of rows of products in memory at a time.
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


def nearest_profiles(presence: sparse.csr_array, seeds: np.ndarray, k: int) -> sparse.csr_array:
    """The k nearest features of each feature, by the distance of their vectors of correlations with the seeds.

    Returns float64 (n_features, n_features) of zeros and ones. Of ties, the first features are kept. Features that no
    documents or all documents have, whose correlations are undefined, are near to none, and so are those that correlate
    with no seed.
    """
    df = np.asarray(presence.astype(bool).sum(axis=0))
    vectors = correlations(presence, seeds).astype(np.float32)
    varied = (df > 0) & (df < presence.shape[0]) & vectors.any(axis=1)
    n = len(vectors)
    rows = [sparse.csr_array((0, n)), *nearest_in_blocks(vectors, varied, min(k, max(n, 1)))]
    return sparse.csr_array(sparse.vstack(rows, format="csr"))


def nearest_in_blocks(vectors: np.ndarray, varied: np.ndarray, k: int) -> Iterator[sparse.csr_array]:
    """The rows of the result, in batches."""
    from . import kernels

    half_squares = 0.5 * (vectors**2).sum(axis=1)
    for start in range(0, len(vectors), ROWS_PER_PRODUCT):
        # ‖x − y‖² = ‖x‖² − 2 (x·y − ‖y‖² / 2), with the same x in a row.
        nearness = vectors[start : start + ROWS_PER_PRODUCT] @ vectors.T - half_squares
        best = np.empty((len(nearness), k), np.int32)
        kernels.best_of_rows(nearness, start, varied, best)
        found = best >= 0
        starts = np.concatenate([[0], np.cumsum(found.sum(axis=1))])
        yield sparse.csr_array((np.ones(starts[-1]), best[found], starts), shape=nearness.shape)
