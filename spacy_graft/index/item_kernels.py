"""Kernels over the columns of items: sums and keys. ``values`` is empty where all of them are 1."""

import numpy as np

from .._numba import inner, njit
from .kernels import LANES

#: The golden ratio's bits: multiplied by it, a number is spread over all 64.
GOLDEN = -7046029254386353131
#: The bits of the number 1.
ONE = int(np.float64(1.0).view(np.int64))


@njit
def column_sums(starts, documents, values, lanes, begin, end, sums):
    """Sum lanes (documents, LANES), times values, over the columns of nodes ``begin .. end``."""
    for k in range(begin, end):
        row = sums[k - begin]
        row[:] = 0.0
        for e in range(starts[k], starts[k + 1]):
            value = values[e] if values.shape[0] else 1.0
            for j in range(LANES):
                row[j] += value * lanes[documents[e], j]


@njit
def column_sums_of_one(starts, documents, values, lane, begin, end, sums):
    """The same of one lane (documents), with ``sums`` (nodes, 1)."""
    for k in range(begin, end):
        total = 0.0
        for e in range(starts[k], starts[k + 1]):
            total += (values[e] if values.shape[0] else 1.0) * lane[documents[e]]
        sums[k - begin, 0] = total


@njit
def sum_documents(starts, documents, lanes, totals):
    """Add the ``lanes`` (documents, k) of the documents of each column, whatever its values, to ``totals``."""
    for k in range(totals.shape[0]):
        for e in range(starts[k], starts[k + 1]):
            for j in range(lanes.shape[1]):
                totals[k, j] += lanes[documents[e], j]


@inner
def entry_key(value, number):
    """What a document adds to the key of a column with ``value`` in it: ``number`` where that is 1."""
    bits = np.float64(value).view(np.int64) - ONE
    # Nearly all that distinguishes values may be in the exponent, the highest bits: mixed down, and up again.
    bits = (bits ^ (bits >> 32)) * GOLDEN
    bits = (bits ^ (bits >> 29)) * GOLDEN
    return number * (1 + 2 * bits)


@inner
def key_of(documents, values, begin, end, numbers):
    """Key of a column, from entry ``begin`` to before ``end``; no values where all are 1."""
    key = 0
    for e in range(begin, end):
        number = numbers[documents[e]]
        key += entry_key(values[e], number) if values.shape[0] else number
    return key


@njit
def column_keys(starts, documents, values, numbers):
    """Key of each column: int64."""
    keys = np.empty(starts.shape[0] - 1, np.int64)
    for k in range(keys.shape[0]):
        keys[k] = key_of(documents, values, starts[k], starts[k + 1], numbers)
    return keys


@njit
def moments(starts, values):
    """Sums of each column's values and of their squares, and the largest magnitude; 1 of a column without documents."""
    totals = np.zeros(starts.shape[0] - 1)
    squares = np.zeros(starts.shape[0] - 1)
    largest = np.zeros(starts.shape[0] - 1)
    for k in range(totals.shape[0]):
        for e in range(starts[k], starts[k + 1]):
            totals[k] += values[e]
            squares[k] += values[e] ** 2
            largest[k] = max(largest[k], abs(values[e]))
        if largest[k] == 0.0:
            largest[k] = 1.0
    return totals, squares, largest
