"""Sums over the documents of every node, for any number of columns at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from . import kernels


def lanes_of(values: np.ndarray) -> list[np.ndarray]:
    """Columns of ``values`` (n_documents, k) in float64 tables of :data:`kernels.LANES`, padded with zeros."""
    tables = []
    for begin in range(0, values.shape[1], kernels.LANES):
        columns = values[:, begin : begin + kernels.LANES]
        table = np.zeros((len(values), kernels.LANES))
        table[:, : columns.shape[1]] = columns
        tables.append(table)
    return tables


def passes(tree: kernels.Tree, values: np.ndarray) -> Iterator[tuple[int, int, int, np.ndarray]]:
    """Sum ``values`` (n_documents, k) over the distinct documents of each node, a chunk of nodes and lanes at a time.

    Yields
    ------
    (first column, first node, last node + 1, sums)
        ``sums`` is float64 (nodes, LANES) and overwritten by the next chunk.
    """
    n_nodes = len(tree.level)
    sums = np.empty((kernels.CHUNK, kernels.LANES))
    for i, lanes in enumerate(lanes_of(values)):
        carried = np.zeros((int(tree.level.max(initial=0)) + 2, kernels.LANES))
        for begin in range(0, n_nodes, kernels.CHUNK):
            end = min(begin + kernels.CHUNK, n_nodes)
            kernels.node_sums(tree.level, tree.bounds, tree.events, lanes, carried, begin, end, sums)
            yield i * kernels.LANES, begin, end, sums


def sums_by_node(tree: kernels.Tree, values: np.ndarray, dtype: type[np.floating] = np.float64) -> np.ndarray:
    """Sum ``values`` (n_documents, k) over the distinct documents of each node: ``dtype`` (n_nodes, k)."""
    found = np.empty((len(tree.level), values.shape[1]), dtype)
    for column, begin, end, sums in passes(tree, values):
        out = found[begin:end, column : column + kernels.LANES]
        out[:] = sums[: end - begin, : out.shape[1]]
    return found
