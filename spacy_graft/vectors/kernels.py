"""Kernels of word vectors. Sums are in one order, so that a word has the same bits whatever else is computed."""

import numpy as np

from .._numba import njit
from ..extract.hashing import EMPTY


@njit
def fold(vectors, rows, mean, weights, scores):
    """``scores[k] = (vectors[rows[k]] - mean) @ weights``: float64 sums over columns in their order, then float32."""
    sums = np.empty(weights.shape[1])
    for k in range(rows.shape[0]):
        sums[:] = 0.0
        for j in range(vectors.shape[1]):
            value = vectors[rows[k], j] - mean[j]
            for y in range(weights.shape[1]):
                sums[y] += value * weights[j, y]
        for y in range(weights.shape[1]):
            scores[k, y] = sums[y]


@njit
def add_word_scores(rows, starts, places, shares, scores, totals):
    """Add to ``totals[i]`` the mean of the scores of document i's words, each with its share.

    ``rows[starts[i] : starts[i + 1]]`` are its words, EMPTY for those without scores. The scores of a row are
    ``scores[places[row]]``, or ``scores[row]`` if ``places`` is None, for which numba compiles code of its own.
    """
    sums = np.empty(totals.shape[1])
    for document in range(starts.shape[0] - 1):
        sums[:] = 0.0
        total = 0.0
        for position in range(starts[document], starts[document + 1]):
            row = rows[position]
            if row != EMPTY:
                share = np.float64(shares[row])
                place = row if places is None else places[row]
                total += share
                for y in range(totals.shape[1]):
                    sums[y] += share * scores[place, y]
        if total > 0.0:
            for y in range(totals.shape[1]):
                totals[document, y] += sums[y] / total
