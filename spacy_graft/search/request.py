"""What a search over all features is asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .kernels import NodeQuery


@dataclass(frozen=True, kw_only=True)
class SearchRequest:
    """The pairs of a feature and a label with the largest scaled gradients |v| / λ.

    Attributes
    ----------
    residuals : float64 (documents, labels)
        a_i δ_iy.
    min_gradient : float
        Only pairs whose scaled gradient is above this are returned.
    n_best : int
        How many of them at most.
    active : bool (rows, labels)
        The pairs that are in the model, and not looked for.
    degree : int
        No combinations of more items; 1: none at all.
    count_all : bool
        Whether the sums over all that exceed ``min_gradient`` are needed; else a search over combinations is faster,
        and its sum of squares may be infinite.
    sign_factors : tuple of float, or float64 (2, labels)
        Of positive and of negative weights, at least 1: what v is divided by besides. Infinite: no pair gets this sign.
    n_threads : int
        How many search; what is found is the same.
    only_largest : bool
        Whether nothing but the largest scaled gradient is needed: it is the largest of the peaks of labels.
    """

    residuals: np.ndarray
    min_gradient: float
    n_best: int
    active: np.ndarray
    degree: int
    count_all: bool
    sign_factors: tuple[float, float] | np.ndarray = (1.0, 1.0)
    n_threads: int = 1
    only_largest: bool = False

    @property
    def sign_inverses(self) -> np.ndarray:
        """1 / the factors of the signs: float64 (2, labels)."""
        inverses = 1.0 / np.asarray(self.sign_factors, np.float64).reshape(2, -1)
        return np.ascontiguousarray(np.broadcast_to(inverses, (2, self.residuals.shape[1])))

    def query(self, inverse_weights: np.ndarray, row_of_node: np.ndarray) -> NodeQuery:
        """The same for the nodes of one index; see :class:`spacy_graft.search.kernels.NodeQuery`."""
        return NodeQuery(
            inverse_weights, row_of_node, self.active, self.min_gradient, 0 if self.only_largest else self.n_best,
            self.residuals.shape[1], self.sign_inverses,
        )  # fmt: skip
