"""The full pass: every node's gradient for all labels, bottom-up, with no node looked at twice."""

from __future__ import annotations

import numpy as np

from ..index import kernels as tree
from ..index.ngrams import NgramIndex
from ..index.sums import lanes_of
from . import kernels
from .violations import Candidates, Violations


def best_by_stream(
    index: NgramIndex,
    residuals: np.ndarray,
    threshold: float,
    wanted: int,
    inverse_weights: np.ndarray,
    row_of_node: np.ndarray,
    active: np.ndarray,
) -> Violations:
    """The ``wanted`` pairs with the largest |v| / λ above ``threshold``, exactly.

    Parameters
    ----------
    index : NgramIndex
    residuals : float64 (documents, labels)
        a_i δ_iy.
    threshold : float
        C.
    wanted : int
    inverse_weights : float64 or float32 (n_nodes, 0, 1 or labels)
        1 / λ_ky; no columns where all are 1, one where all labels share it.
    row_of_node : int32 (n_nodes)
        ``FREE``, ``EQUAL``, or the row of a node in ``active``.
    active : bool (rows, labels)
        The pairs that are in the model, and not looked for.
    """
    n_labels = residuals.shape[1]
    candidates = Candidates(wanted, n_labels)
    sums = np.empty((tree.CHUNK, tree.LANES))
    for i, lanes in enumerate(lanes_of(residuals)):
        carried = np.zeros((int(index.level.max(initial=0)) + 2, tree.LANES))
        for begin in range(0, index.n_nodes, tree.CHUNK):
            end = min(begin + tree.CHUNK, index.n_nodes)
            tree.node_sums(index.level, index.bounds, index.events, lanes, carried, begin, end, sums)
            kernels.select(
                sums, begin, end, i * tree.LANES, n_labels, inverse_weights, row_of_node, active, threshold, wanted,
                *candidates.arrays,
            )  # fmt: skip
    return candidates.violations()
