"""Kernels of the documents that a walk over combinations sums over, by row and by item."""

from typing import NamedTuple

import numpy as np

from .._numba import njit
from ..extract.kernels import transposed


class Database(NamedTuple):
    """Documents and the items in them, some of each; an item is a column here.

    Attributes
    ----------
    row_starts : int64 (rows + 1), columns : int32, row_values : float64 (as many, or none)
        The columns of each row (a document), ascending, and what they are worth.
    column_starts : int64 (columns + 1), rows : int32, places : int64
        Where each column stands: in which rows, and at which of their places.
    weights : float64 (rows)
        The residual, times the value of the item that all rows have, if there is one.
    shares : float64 (rows, 2)
        Those of the query.
    common : float64 (rows)
        The value of that item, or 1.
    """

    row_starts: np.ndarray
    columns: np.ndarray
    row_values: np.ndarray
    column_starts: np.ndarray
    rows: np.ndarray
    places: np.ndarray
    weights: np.ndarray
    shares: np.ndarray
    common: np.ndarray


def with_columns(row_starts, columns, row_values, n_columns, weights, shares, common):
    """A database from its rows: finds where each column stands."""
    column_starts, rows, places = transposed(row_starts, columns, np.arange(len(columns)), n_columns)
    return Database(row_starts, columns, row_values, column_starts, rows, places, weights, shares, common)


def database_of(starts, documents, values, chosen, order, residuals, shares):
    """The database of the chosen items, numbered in their order, and of the documents in theirs, for one label.

    Documents whose residual is 0 are left out where no shares are asked for.
    """
    kept = order if len(shares) else order[residuals[order] != 0.0]
    row_of = np.full(len(residuals), -1, np.int32)
    row_of[kept] = np.arange(len(kept))
    row_starts = np.zeros(len(kept) + 1, np.int64)
    count_rows(starts, documents, chosen, row_of, row_starts)
    columns = np.empty(row_starts[-1], np.int32)
    row_values = np.empty(len(columns) if len(values) else 0)
    fill_rows(starts, documents, values, chosen, row_of, row_starts, columns, row_values)
    of_rows = shares[kept] if len(shares) else shares
    common = np.ones(len(kept) if len(values) else 0)
    return with_columns(row_starts, columns, row_values, len(chosen), residuals[kept], of_rows, common)


@njit
def count_rows(starts, documents, chosen, row_of, row_starts):
    """Fill ``row_starts``, all zero, of a database of items."""
    for column in range(chosen.shape[0]):
        for e in range(starts[chosen[column]], starts[chosen[column] + 1]):
            row = row_of[documents[e]]
            if row >= 0:
                row_starts[row + 1] += 1
    for row in range(row_starts.shape[0] - 1):
        row_starts[row + 1] += row_starts[row]


@njit
def fill_rows(starts, documents, values, chosen, row_of, row_starts, columns, row_values):
    """Fill the rows of a database of items."""
    for column in range(chosen.shape[0]):
        for e in range(starts[chosen[column]], starts[chosen[column] + 1]):
            row = row_of[documents[e]]
            if row >= 0:
                columns[row_starts[row]] = column
                if values.shape[0] > 0:
                    row_values[row_starts[row]] = values[e]
                row_starts[row] += 1
    for row in range(row_starts.shape[0] - 1, 0, -1):
        row_starts[row] = row_starts[row - 1]
    row_starts[0] = 0


def part_of(database, column, number_of, n_columns):
    """The rows that hold a column, with the later columns that have a number in ``number_of``, so numbered."""
    begin, end = database.column_starts[column], database.column_starts[column + 1]
    rows = database.rows[begin:end]
    n_entries = int((database.row_starts[rows + 1] - database.places[begin:end] - 1).sum())
    row_starts = np.zeros(end - begin + 1, np.int64)
    columns = np.empty(n_entries, np.int32)
    row_values = np.empty(n_entries if len(database.row_values) else 0)
    weights = database.weights[rows]
    common = database.common[rows] if len(database.common) else database.common
    fill_part(database, column, number_of, row_starts, columns, row_values, weights, common)
    n_entries = row_starts[-1]
    shares = database.shares[rows] if len(database.shares) else database.shares
    return with_columns(row_starts, columns[:n_entries], row_values[:n_entries], n_columns, weights, shares, common)


@njit
def fill_part(database, column, number_of, row_starts, columns, row_values, weights, common):
    """Fill the rows of a part of a database, and multiply weights and common values by what the column is worth."""
    begin = database.column_starts[column]
    real = database.row_values.shape[0] > 0
    end = 0
    for r in range(weights.shape[0]):
        row, place = database.rows[begin + r], database.places[begin + r]
        if real:
            weights[r] *= database.row_values[place]
            common[r] *= database.row_values[place]
        for q in range(place + 1, database.row_starts[row + 1]):
            number = number_of[database.columns[q]]
            if number >= 0:
                columns[end] = number
                if real:
                    row_values[end] = database.row_values[q]
                end += 1
        row_starts[r + 1] = end
