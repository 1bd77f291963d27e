"""Kernels of combinations one by one: their codes, columns and penalty weights."""

from typing import NamedTuple

import numpy as np

from .._numba import inlined, inner, njit
from ..index.item_kernels import key_of
from .weighting import inverse_weight

#: Bits of an item in the code of a combination, and the mask of as many.
BITS = 21
MASK = (1 << BITS) - 1


class ItemColumns(NamedTuple):
    """The columns of all items, and what tells columns apart.

    Attributes
    ----------
    starts : int64 (items + 1), documents : int32, values : float64 (as many as documents, or none)
        See :class:`spacy_graft.index.items.ItemIndex`.
    numbers : int64 (documents)
        What each document adds to the key of a column.
    taken : int64
        Sorted keys of the columns that are features of their own: combinations with such a column are none.
    """

    starts: np.ndarray
    documents: np.ndarray
    values: np.ndarray
    numbers: np.ndarray
    taken: np.ndarray


@inlined
def coded(a, b, c):
    """The code of items a < b < c; c is -1 for a pair. Pairs come before triples of the same members."""
    return ((a + 1) << (2 * BITS)) | ((b + 1) << BITS) | (c + 1)


@inlined
def is_simpler(code, other):
    """Whether a combination has fewer members than another, or as many and comes first."""
    if (code & MASK == 0) != (other & MASK == 0):
        return code & MASK == 0
    return code < other


@inner
def place_of(key, keys):
    """Where sorted keys have a key first; -1 if nowhere."""
    begin, end = 0, keys.shape[0]
    while begin < end:
        middle = (begin + end) // 2
        if keys[middle] < key:
            begin = middle + 1
        else:
            end = middle
    return begin if begin < keys.shape[0] and keys[begin] == key else -1


@inner
def combination_column(a, b, c, items, documents, values, df):
    """Write the column of a combination from entry ``df`` on, values only where items have them; returns its end."""
    starts, of_all, values_of_all = items.starts, items.documents, items.values
    real = values_of_all.shape[0] > 0
    i, j, k = starts[a], starts[b], starts[max(c, 0)]
    while i < starts[a + 1] and j < starts[b + 1]:
        document = of_all[i]
        if of_all[j] < document:
            j += 1
        elif of_all[j] > document:
            i += 1
        else:
            shared = True
            if c >= 0:
                while k < starts[c + 1] and of_all[k] < document:
                    k += 1
                shared = k < starts[c + 1] and of_all[k] == document
            if shared:
                documents[df] = document
                if real:
                    values[df] = values_of_all[i] * values_of_all[j] * (values_of_all[k] if c >= 0 else 1.0)
                df += 1
            i += 1
            j += 1
    return df


def combination_columns(codes, items, room=None):
    """Columns of combinations, and their keys; ``room``: at least the number of their entries, where it is known."""
    if room is None:
        a = (codes >> (2 * BITS)) - 1
        room = int((items.starts[a + 1] - items.starts[a]).sum())
    starts = np.zeros(len(codes) + 1, np.int64)
    keys = np.empty(len(codes), np.int64)
    documents = np.empty(room, np.int32)
    values = np.empty(room if len(items.values) else 0)
    fill_combination_columns(codes, items, starts, documents, values, keys)
    return starts, documents[: starts[-1]].copy(), values[: starts[-1]].copy(), keys


@njit
def fill_combination_columns(codes, items, starts, documents, values, keys):
    """Fill the columns of combinations, and their keys."""
    for r in range(codes.shape[0]):
        a, b, c = (codes[r] >> (2 * BITS)) - 1, ((codes[r] >> BITS) & MASK) - 1, (codes[r] & MASK) - 1
        starts[r + 1] = combination_column(a, b, c, items, documents, values, starts[r])
        keys[r] = key_of(documents, values, starts[r], starts[r + 1], items.numbers)


@inner
def inverse_weight_of(documents, values, begin, end, shares, weighting):
    """1 / λ of a column, exactly."""
    inside = outside = total = squares = largest = 0.0
    for e in range(begin, end):
        x = values[e] if values.shape[0] else 1.0
        total += x
        squares += x * x
        largest = max(largest, x)
        if shares.shape[0]:
            inside += shares[documents[e], 0]
            outside += shares[documents[e], 1]
    return inverse_weight(weighting, end - begin, inside, outside, total, squares, largest)


@inlined
def gradient_of(documents, values, df, residuals):
    """Σ x δ over a column."""
    gradient = 0.0
    for e in range(df):
        gradient += residuals[documents[e]] * (values[e] if values.shape[0] else 1.0)
    return gradient


def combination_inverse_weights(codes, items, shares, weighting):
    """1 / λ of combinations for one label."""
    starts, documents, values, _ = combination_columns(codes, items)
    inverse = np.empty(len(codes))
    fill_combination_inverse_weights(starts, documents, values, shares, weighting, inverse)
    return inverse


@njit
def fill_combination_inverse_weights(starts, documents, values, shares, weighting, inverse):
    """Fill 1 / λ of columns for one label."""
    for r in range(inverse.shape[0]):
        inverse[r] = inverse_weight_of(documents, values, starts[r], starts[r + 1], shares, weighting)
