"""Sums over the documents of every node, for any number of columns at a time."""

from __future__ import annotations

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


def sums_by_node(
    level: np.ndarray, bounds: np.ndarray, events: np.ndarray, values: np.ndarray, dtype: type[np.floating] = np.float64
) -> np.ndarray:
    """Sum ``values`` (n_documents, k) over the distinct documents of each node: ``dtype`` (n_nodes, k)."""
    sums = np.empty((len(level), values.shape[1]), dtype)
    buffer = np.empty((kernels.CHUNK, kernels.LANES))
    for i, lanes in enumerate(lanes_of(values)):
        carried = np.zeros((int(level.max(initial=0)) + 2, kernels.LANES))
        out = sums[:, i * kernels.LANES : (i + 1) * kernels.LANES]
        for begin in range(0, len(level), kernels.CHUNK):
            end = min(begin + kernels.CHUNK, len(level))
            kernels.node_sums(level, bounds, events, lanes, carried, begin, end, buffer)
            out[begin:end] = buffer[: end - begin, : out.shape[1]]
    return sums
