"""Kernels of items and combinations: which of them documents have."""

import numpy as np

from .._numba import njit
from ..extract.kernels import find


@njit
def rows_of_keys(keys, slots, known):
    """The row of each key in a table, -1 for those that it does not have."""
    rows = np.empty(keys.shape[0], np.int32)
    for k in range(keys.shape[0]):
        rows[k] = find(keys[k], slots, known)
    return rows


@njit
def known_items(keys, starts, slots, known):
    """Rows of the table that each document has, once each: (starts int64, rows int32)."""
    last = np.full(known.shape[0], -1, np.int64)
    bounds = np.zeros(starts.shape[0], np.int64)
    rows = np.empty(keys.shape[0], np.int32)
    end = 0
    for i in range(starts.shape[0] - 1):
        for e in range(starts[i], starts[i + 1]):
            row = find(keys[e], slots, known)
            if row >= 0 and last[row] != i:
                last[row] = i
                rows[end] = row
                end += 1
        bounds[i + 1] = end
    return bounds, rows[:end].copy()


@njit
def features_of(starts, terms, values, rows, product_starts, products, sizes, product_rows):
    """Features of documents from their terms: (starts int64, rows int64, values float64).

    A product is there once all its members are.
    """
    n_documents = starts.shape[0] - 1
    met = np.zeros(sizes.shape[0], np.int32)
    worth = np.ones(sizes.shape[0])
    bounds = np.zeros(n_documents + 1, np.int64)
    room = 0
    for term in terms:
        room += 1 + product_starts[term + 1] - product_starts[term]
    found_rows = np.empty(room, np.int64)
    found_values = np.empty(room)
    end = 0
    for i in range(n_documents):
        for e in range(starts[i], starts[i + 1]):
            term = terms[e]
            if rows[term] >= 0:
                found_rows[end] = rows[term]
                found_values[end] = values[e]
                end += 1
            for p in range(product_starts[term], product_starts[term + 1]):
                product = products[p]
                met[product] += 1
                worth[product] *= values[e]
                if met[product] == sizes[product]:
                    found_rows[end] = product_rows[product]
                    found_values[end] = worth[product]
                    end += 1
        for e in range(starts[i], starts[i + 1]):
            for p in range(product_starts[terms[e]], product_starts[terms[e] + 1]):
                met[products[p]] = 0
                worth[products[p]] = 1.0
        bounds[i + 1] = end
    return bounds, found_rows[:end].copy(), found_values[:end].copy()


@njit
def add_values(starts, rows, values, weights, totals):
    """Add values times rows of weights to the totals (documents, labels)."""
    for i in range(starts.shape[0] - 1):
        for e in range(starts[i], starts[i + 1]):
            for y in range(weights.shape[1]):
                totals[i, y] += values[e] * weights[rows[e], y]
