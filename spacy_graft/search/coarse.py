"""The tree without the nodes that many searches cannot be looking for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..index.kernels import Tree
from ..index.ngrams import NgramIndex
from ..index.sums import RangedTree, TreeSums
from . import kernels


@dataclass(frozen=True)
class CoarseTree:
    """The nodes of at least ``min_df`` documents with a feature among themselves and their extensions.

    An extension never has more documents, so that what goes is whole subtrees. At ``min_df`` 1 that is seven nodes of
    eight: most have the documents of others.

    Memory: 4 bytes an event, and 32 a node that stays, beside its 1 / λ.

    ``nodes`` says which nodes of the index these are, ascending: int64. Their 1 / λ_ky, which a fit does not change,
    are float32 (nodes, 0, 1 or labels).
    """

    min_df: int
    nodes: np.ndarray
    ranged: RangedTree
    inverse_weights: np.ndarray

    @classmethod
    def build(cls, index: NgramIndex, inverse_weights: np.ndarray, min_df: int, searched: np.ndarray) -> CoarseTree:
        """Events of what goes move to the nearest node that stays. Takes as long as two full passes.

        ``searched`` (bool) are the nodes that are features.
        """
        features = kernels.peaks_below(index.level, searched.astype(np.float32)) > 0.0
        kept = features & (index.df >= min_df)
        rank: np.ndarray = np.cumsum(kept) - kept
        bounds, events = kernels.moved_events(index.tree, kept, rank, index.n_documents)
        tree = Tree(rank[index.first[kept]], index.df[kept], index.level[kept], bounds, events)
        return cls(min_df, np.flatnonzero(kept), RangedTree.of(tree), inverse_weights[kept])

    def range_sums(self, lanes: np.ndarray) -> TreeSums:
        """As :meth:`NgramIndex.range_sums`."""
        return self.ranged.range_sums(lanes)

    def renumbered(self, query: kernels.NodeQuery) -> kernels.NodeQuery:
        """The query in the numbers of these nodes."""
        return query._replace(inverse_weights=self.inverse_weights, row_of_node=query.row_of_node[self.nodes])
