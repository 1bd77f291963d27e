"""The full pass: every node's gradient for all labels, bottom-up, with no node looked at twice."""

from __future__ import annotations

import numpy as np

from ..index.items import ItemIndex
from ..index.ngrams import NgramIndex
from . import kernels
from .coarse import CoarseTree
from .violations import Candidates, Violations


def best_by_pass(
    index: NgramIndex | ItemIndex | CoarseTree,
    residuals: np.ndarray,
    query: kernels.NodeQuery,
    network_gradient: np.ndarray | None = None,
) -> Violations:
    """The ``n_best`` pairs with the largest scaled gradients above ``min_gradient``, exactly.

    Parameters
    ----------
    index : NgramIndex, ItemIndex or CoarseTree
    residuals : float64 (documents, labels)
        a_i δ_iy.
    query : NodeQuery
    network_gradient : float64 (nodes, labels), optional
        What is taken from the gradient of each pair: that of a network.
    """
    candidates = Candidates(query)
    for label, begin, end, sums in index.passes(residuals):
        if network_gradient is not None:
            of_network = network_gradient[begin:end, label : label + sums.shape[1]]
            sums[: end - begin, : of_network.shape[1]] -= of_network
        place = begin
        while (place := kernels.select(sums, begin, place, end, label, query, candidates.found)) < end:
            candidates.keep_best()
    return candidates.violations()
