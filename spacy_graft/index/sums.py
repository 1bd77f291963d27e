"""Sums over the documents of every node, for any number of columns at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from . import kernels


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


def passes(tree: kernels.Tree, values: np.ndarray) -> Iterator[tuple[int, int, int, np.ndarray]]:
    """Sum ``values`` (n_documents, k) over the distinct documents of each node, a chunk of nodes and lanes at a time.

    Yields
    ------
    (first column, first node, last node + 1, sums)
        ``sums`` is float64 (nodes, 1 or LANES) and overwritten by the next chunk.
    """
    n_nodes, n_levels = len(tree.level), int(tree.level.max(initial=0)) + 2
    # Places that have no sign are not looked at for being negative: a third of the time of a single column.
    bounds, events = (array.view(f"u{array.itemsize}") for array in (tree.bounds, tree.events))
    for column, lanes in lanes_of(values):
        add_up = kernels.node_sums_of_one if lanes.ndim == 1 else kernels.node_sums
        sums, carried = room_for(lanes), np.zeros((n_levels, *lanes.shape[1:]))
        for begin in range(0, n_nodes, kernels.CHUNK):
            end = min(begin + kernels.CHUNK, n_nodes)
            add_up(tree.level[begin:end], bounds[2 * begin : 2 * end + 1], events, lanes, carried, sums)
            yield column, begin, end, sums


def sums_by_node(tree: kernels.Tree, values: np.ndarray, dtype: type[np.floating] = np.float64) -> np.ndarray:
    """Sum ``values`` (n_documents, k) over the distinct documents of each node: ``dtype`` (n_nodes, k)."""
    found = np.empty((len(tree.level), values.shape[1]), dtype)
    for column, begin, end, sums in passes(tree, values):
        out = found[begin:end, column : column + sums.shape[1]]
        out[:] = sums[: end - begin, : out.shape[1]]
    return found
