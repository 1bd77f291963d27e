"""Kernels that match items and combinations of items in documents."""

import numpy as np

from .._numba import njit
from ..extract.kernels import find


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
def features_of_terms(starts, terms, values, rows, combination_starts, combinations, sizes, combination_rows):
    """Features of documents from their terms: (starts int64, rows int64, values float64).

    A combination is matched when the last of its members is.
    """
    n_documents = starts.shape[0] - 1
    n_matched = np.zeros(sizes.shape[0], np.int32)
    products = np.ones(sizes.shape[0])
    bounds = np.zeros(n_documents + 1, np.int64)
    capacity = 0
    for term in terms:
        capacity += 1 + combination_starts[term + 1] - combination_starts[term]
    found_rows = np.empty(capacity, np.int64)
    found_values = np.empty(capacity)
    end = 0
    for i in range(n_documents):
        for e in range(starts[i], starts[i + 1]):
            term = terms[e]
            if rows[term] >= 0:
                found_rows[end] = rows[term]
                found_values[end] = values[e]
                end += 1
            for c in range(combination_starts[term], combination_starts[term + 1]):
                combination = combinations[c]
                n_matched[combination] += 1
                products[combination] *= values[e]
                if n_matched[combination] == sizes[combination]:
                    found_rows[end] = combination_rows[combination]
                    found_values[end] = products[combination]
                    end += 1
        for e in range(starts[i], starts[i + 1]):
            for c in range(combination_starts[terms[e]], combination_starts[terms[e] + 1]):
                n_matched[combinations[c]] = 0
                products[combinations[c]] = 1.0
        bounds[i + 1] = end
    return bounds, found_rows[:end].copy(), found_values[:end].copy()


@njit
def add_values(starts, rows, values, weights, first, labels, entries, totals):
    """Add values times rows of weights to the totals (documents, labels); weights as of :func:`.kernels.add_scores`."""
    for i in range(starts.shape[0] - 1):
        for e in range(starts[i], starts[i + 1]):
            if weights is not None:
                for y in range(weights.shape[1]):
                    totals[i, y] += values[e] * weights[rows[e], y]
            if first is not None:
                for k in range(first[rows[e]], first[rows[e] + 1]):
                    totals[i, labels[k]] += values[e] * entries[k]
