"""Sums over the documents of every node, for any number of columns at a time.

Sums over a tree are those of 64-bit integers in units of 2⁻⁶² of the column's total: what is added and taken away on the
way may be in any order, and wraps around where it is too large, yet the last digit is always the same. So an index that
is cut, searched by many or thinned out gives what the whole one does, bit by bit. Values lose what is below half of a
unit, which is less than the summation of float64 would lose.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from . import kernels

#: Sums are at most 2 to this power in units of their columns.
LARGEST_POWER = 62


def lanes_of(values: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Columns of ``values`` (n_documents, k) as kernels sum them, each part with its first column.

    Parts are float64: tables of :data:`kernels.LANES` columns, padded with zeros; or a single column (n_documents)
    where no more are left, which a pass sums in half of the time.
    """
    for column in range(0, values.shape[1], kernels.LANES):
        columns = values[:, column : column + kernels.LANES]
        if columns.shape[1] == 1:
            yield column, np.ascontiguousarray(columns[:, 0], np.float64)
        else:
            table = np.zeros((len(values), kernels.LANES))
            table[:, : columns.shape[1]] = columns
            yield column, table


def room_for(lanes: np.ndarray) -> np.ndarray:
    """The array that takes the sums of a chunk of nodes: (nodes, 1 or LANES)."""
    return np.empty((kernels.CHUNK, 1 if lanes.ndim == 1 else kernels.LANES))


def unsigned_places(tree: kernels.Tree) -> tuple[np.ndarray, np.ndarray]:
    """Bounds and events without a sign, not looked at for being negative: a third of the time of a single column."""
    bounds, events = (array.view(f"u{array.itemsize}") for array in (tree.bounds, tree.events))
    return bounds, events


def whole_numbers(lanes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lanes as int64, and their units: a power of two for each column, so that no sum over documents exceeds 2⁶²."""
    totals = np.atleast_1d(np.abs(lanes).sum(axis=0))
    # The total is below 2 to this power.
    powers = np.frexp(totals)[1]
    units = np.ldexp(1.0, powers - LARGEST_POWER)
    return np.rint(lanes / units).astype(np.int64), units


def n_levels(tree: kernels.Tree) -> int:
    """Levels of what is carried from nodes to their parents."""
    return int(tree.level.max(initial=0)) + 2


def passes(tree: kernels.Tree, values: np.ndarray) -> Iterator[tuple[int, int, int, np.ndarray]]:
    """Sum ``values`` (n_documents, k) over the distinct documents of each node, a chunk of nodes and lanes at a time.

    Yields
    ------
    (first column, first node, last node + 1, sums)
        ``sums`` is float64 (nodes, 1 or LANES) and overwritten by the next chunk.
    """
    n_nodes = len(tree.level)
    bounds, events = unsigned_places(tree)
    for column, lanes in lanes_of(values):
        add_up = kernels.node_sums_of_one if lanes.ndim == 1 else kernels.node_sums
        whole, units = whole_numbers(lanes)
        unit = units[0] if lanes.ndim == 1 else units
        sums, carried = room_for(lanes), np.zeros((n_levels(tree), *lanes.shape[1:]), np.int64)
        for begin in range(0, n_nodes, kernels.CHUNK):
            end = min(begin + kernels.CHUNK, n_nodes)
            with np.errstate(over="ignore"):
                add_up(tree.level[begin:end], bounds[2 * begin : 2 * end + 1], events, whole, unit, carried, sums)
            yield column, begin, end, sums


def sums_by_node(tree: kernels.Tree, values: np.ndarray, dtype: type[np.floating] = np.float64) -> np.ndarray:
    """Sum ``values`` (n_documents, k) over the distinct documents of each node: ``dtype`` (n_nodes, k)."""
    found = np.empty((len(tree.level), values.shape[1]), dtype)
    for column, begin, end, sums in passes(tree, values):
        out = found[begin:end, column : column + sums.shape[1]]
        out[:] = sums[: end - begin, : out.shape[1]]
    return found


def keys_by_node(tree: kernels.Tree, numbers: np.ndarray) -> np.ndarray:
    """Sum ``numbers``, int64 (n_documents), over the distinct documents of each node, modulo 2⁶⁴: int64 (n_nodes)."""
    bounds, events = unsigned_places(tree)
    keys = np.empty((len(tree.level), 1), np.int64)
    carried = np.zeros(n_levels(tree), np.int64)
    # The compiler wraps around without a word; NumPy, where there is no compiler, would warn.
    with np.errstate(over="ignore"):
        kernels.node_sums_of_one(tree.level, bounds, events, numbers, np.int64(1), carried, keys)
    return keys[:, 0]
