"""Columns: the documents of features, and the values of features in them."""

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
