"""One search over one index: the full pass, or the pruned descent where that is cheaper."""

from __future__ import annotations

import numpy as np

from ..index.ngrams import NgramIndex
from .stream import best_by_stream
from .violations import Violations


class Search:
    def __init__(self, index: NgramIndex, inverse_weights: np.ndarray, row_of_node: np.ndarray) -> None:
        self.index = index
        self.inverse_weights = inverse_weights
        self.row_of_node = row_of_node

    def best(self, residuals: np.ndarray, threshold: float, wanted: int, active: np.ndarray) -> Violations:
        return best_by_stream(
            self.index, residuals, threshold, wanted, self.inverse_weights, self.row_of_node, active
        )
