"""Columns: the documents of features, and the values of features in them.

A column has a *key*, the same for equal columns of all indexes over the same documents: the sum of a random number a
document, modulo 2⁶⁴; where the value is not 1, it is first multiplied by a hash of that. Two of m columns that differ
have the same key with a probability of m² / 2⁶⁵. Sums are those of 64-bit integers, which wrap around: they are exact
whatever is added and taken away on the way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..extract.streams import Stream, parts_of_about

#: Entries of columns that are summed at once, or those of one column: they take 16 bytes each.
ENTRIES_AT_ONCE = 1 << 18
#: Starts int64 (columns + 1), documents int32, values float64 (as many as documents, or none where all are 1).
Columns = tuple[np.ndarray, np.ndarray, np.ndarray]


def concatenated(parts: Sequence[Columns]) -> Columns:
    """Columns one after the other; values of 1 are written out where others are not 1."""
    starts, documents = np.zeros(1, np.int64), [np.empty(0, np.int32)]
    for more, of_part, _ in parts:
        starts = np.concatenate([starts, starts[-1] + more[1:]])
        documents.append(of_part)
    values = [np.empty(0)]
    if any(len(of_part) for _, _, of_part in parts):
        values += [of_part if len(of_part) else np.ones(len(entries)) for _, entries, of_part in parts]
    return starts, np.concatenate(documents), np.concatenate(values)


def reordered(columns: Columns, order: np.ndarray) -> Columns:
    """The columns in another order, or some of them (int64)."""
    starts, documents, values = columns
    moved = Stream(documents, starts).some(order)
    return moved.starts, moved.symbols, Stream(values, starts).some(order).symbols if len(values) else values


def row_totals(columns: Columns, amounts: np.ndarray, n_documents: int) -> np.ndarray:
    """Sum the amounts (one a column) times the squares of the columns' values over each document: float64 (n)."""
    starts, documents, values = columns
    totals = np.zeros(n_documents)
    for first, last in parts_of_about(ENTRIES_AT_ONCE, starts):
        here = slice(starts[first], starts[last])
        entries = np.repeat(amounts[first:last], np.diff(starts[first : last + 1]))
        if len(values):
            entries *= np.square(values[here])
        totals += np.bincount(documents[here], entries, n_documents)
    return totals


def column_numbers(n_documents: int) -> np.ndarray:
    """What each document adds to the key of a column that it is in: int64 (n_documents), over their whole range."""
    whole_range = np.iinfo(np.int64)
    return np.random.default_rng(20091).integers(whole_range.min, whole_range.max, n_documents, endpoint=True)
