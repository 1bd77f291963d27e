"""Kernels of co-occurrence: the nearest features of each feature, by the documents that they share."""

import numpy as np

from .._numba import inner, njit


@inner
def count_shared(documents, starts, items, shared):
    """Add 1 to ``shared[j]`` for each of the documents that has item j."""
    for document in documents:
        for item in items[starts[document] : starts[document + 1]]:
            shared[item] += 1


@inner
def cosine(n_shared, df, other_df):
    """n_ij / √(n_i n_j): of two vectors of presence."""
    return n_shared / np.sqrt(float(df) * float(other_df))


@inner
def correlation(n_shared, df, other_df, n):
    """(n n_ij - n_i n_j) / √(n_i (n - n_i) n_j (n - n_j)), Pearson's: 0 of features that all documents have."""
    spread = float(df) * float(n - df) * float(other_df) * float(n - other_df)
    if spread <= 0.0:
        return 0.0
    return (float(n) * n_shared - float(df) * float(other_df)) / np.sqrt(spread)


@inner
def keep_largest(values, candidates, n_candidates, best, best_values):
    """Keep the largest values, of ties the first candidates; ``best`` ends in -1 if there are fewer."""
    k = len(best)
    least = -np.inf
    if n_candidates > k:
        least = np.partition(values[:n_candidates], n_candidates - k)[n_candidates - k]
    kept = 0
    for equal in (False, True):
        for c in range(n_candidates):
            if kept < k and (values[c] == least if equal else values[c] > least):
                best[kept] = candidates[c]
                best_values[kept] = values[c]
                kept += 1
    best[kept:] = -1


@njit
def best_of_rows(values, first, able, best):
    """The largest values of each row among the items that are ``able``. Row i belongs to item ``first`` + i.

    An item is no candidate for its own row; ``best``, int32 (n_rows, k), ends in -1 where there are fewer.
    """
    candidates = np.empty(values.shape[1], np.int32)
    kept = np.empty(values.shape[1], np.float64)
    best_values = np.empty(best.shape[1], np.float64)
    for row in range(len(values)):
        found = 0
        if able[first + row]:
            for j in range(values.shape[1]):
                if able[j] and j != first + row:
                    candidates[found] = j
                    kept[found] = values[row, j]
                    found += 1
        keep_largest(kept, candidates, found, best[row], best_values)


@njit
def nearest(rows, columns, own, n_documents, minimum, correlated, best, best_values):
    """For each row feature, the most similar column features.

    Parameters
    ----------
    rows : tuple of starts int64 (n_rows + 1), documents int32
        The documents of each row feature.
    columns : tuple of starts int64 (n_documents + 1), items int32, df int64 (n_columns)
        The column features of each document, and the number of documents of each.
    own : int64 (n_rows)
        The column of the row feature itself, or -1.
    minimum : float
        Least value. Values that are not above 0 never count.
    correlated : bool
        Whether the similarity is Pearson's correlation; otherwise it is the cosine.
    best : int32 (n_rows, k), output
        Columns, or -1.
    best_values : float64 (n_rows, k), output
    """
    row_starts, documents = rows
    starts, items, df = columns
    shared = np.zeros(len(df), np.int64)
    candidates = np.empty(len(df), np.int32)
    values = np.empty(len(df), np.float64)
    for row in range(len(row_starts) - 1):
        of_row = documents[row_starts[row] : row_starts[row + 1]]
        count_shared(of_row, starts, items, shared)
        found = 0
        for j in range(len(df)):
            if shared[j] and j != own[row]:
                if correlated:
                    value = correlation(shared[j], len(of_row), df[j], n_documents)
                else:
                    value = cosine(shared[j], len(of_row), df[j])
                if value > 0.0 and value >= minimum:
                    candidates[found] = j
                    values[found] = value
                    found += 1
            shared[j] = 0
        keep_largest(values, candidates, found, best[row], best_values[row])
