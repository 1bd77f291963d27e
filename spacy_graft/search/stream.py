"""The full pass: every node's gradient for all labels, bottom-up, with no node looked at twice."""

from __future__ import annotations

import numpy as np

from ..index.items import ItemIndex
from ..index.ngrams import NgramIndex
from . import kernels
from .coarse import CoarseTree
from .violations import Candidates, Violations


def best_by_stream(
    index: NgramIndex | ItemIndex | CoarseTree,
    residuals: np.ndarray,
    sought: kernels.Sought,
    network_gradient: np.ndarray | None = None,
) -> Violations:
    """The ``wanted`` pairs with the largest |v| / λ above the threshold, exactly.

    Parameters
    ----------
    index : NgramIndex, ItemIndex or CoarseTree
    residuals : float64 (documents, labels)
        a_i δ_iy.
    sought : Sought
    network_gradient : float64 (nodes, labels), optional
        What is taken from the gradient of each pair: that of a network.
    """
    candidates = Candidates(sought)
    for label, begin, end, sums in index.passes(residuals):
        if network_gradient is not None:
            its = network_gradient[begin:end, label : label + sums.shape[1]]
            sums[: end - begin, : its.shape[1]] -= its
        place = begin
        while (place := kernels.select(sums, begin, place, end, label, sought, candidates.found)) < end:
            candidates.keep_best()
    return candidates.violations()
