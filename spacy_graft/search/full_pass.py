"""The full pass: every node's gradient for all labels, bottom-up, with no node looked at twice."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from ..index.kernels import LANES
from ..index.sums import NodeSums, Summable, lanes_of
from ..threads import in_threads
from . import kernels
from .violations import Candidates, Violations, best_of


def best_by_pass(
    index: Summable,
    residuals: np.ndarray,
    query: kernels.NodeQuery,
    network_gradient: np.ndarray | None = None,
    n_threads: int = 1,
) -> Violations:
    """The ``n_best`` pairs with the largest scaled gradients above ``min_gradient``, exactly.

    With none, the largest of the peaks of labels is that of all pairs, and all else is unknown. What is found does not
    depend on the number of threads, to the last bit.

    ``residuals`` are a_i δ_iy: float64 (documents, labels). ``network_gradient``, float64 (nodes, labels), is what is
    taken from the gradient of each pair: that of a network.
    """
    found: list[kernels.NodeCandidates] = []
    for label, lanes in lanes_of(residuals):
        sums = index.range_sums(lanes)
        best = partial(candidates_of, label=label, query=query, network_gradient=network_gradient)
        found += in_threads([partial(best, sums.of_range(r)) for r in range(sums.n_ranges)], n_threads)
        found.append(best(sums.of_open_nodes()))
    return best_of(found, query)


def candidates_of(
    parts: Iterable[NodeSums], label: int, query: kernels.NodeQuery, network_gradient: np.ndarray | None = None
) -> kernels.NodeCandidates:
    """The best pairs of some nodes with the labels from ``label`` on."""
    candidates = Candidates(query, label, min(LANES, query.n_labels - label))
    for begin, end, sums in parts:
        if network_gradient is not None:
            of_network = network_gradient[begin:end, label : label + sums.shape[1]]
            sums[: end - begin, : of_network.shape[1]] -= of_network
        if not query.n_best:
            kernels.raise_largest(sums, begin, end, label, query, candidates.found)
            continue
        place = begin
        while (place := kernels.select(sums, begin, place, end, label, query, candidates.found)) < end:
            candidates.keep_best()
    return candidates.best()
