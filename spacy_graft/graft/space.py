"""The whole feature space: the indexes of all blocks, searched as one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..index.ngrams import NgramIndex
from ..search.kernels import EQUAL, FREE
from ..search.search import Search


@dataclass(frozen=True)
class Found:
    """Violating pairs over all blocks, worst first (see :class:`spacy_graft.search.violations.Violations`)."""

    blocks: np.ndarray
    nodes: np.ndarray
    labels: np.ndarray
    count: int
    peaks: np.ndarray
    squared_excess: np.ndarray


class FeatureSpace:
    """Indexes by block, and which of their nodes are active.

    Columns that are equal over documents are one feature, across blocks too: that of the block with the smallest
    penalty, of equal ones of the first block.

    Parameters
    ----------
    indexes : dict of str to NgramIndex
        By block.
    penalty : dict of str to float
        Factor of λ, by block.
    weigh : callable
        1 / λ_ky of an index's nodes, given the factor.

    Attributes
    ----------
    names : list of str
    indexes : list of NgramIndex
    blocks, nodes : int64 (rows)
        Where each active row comes from.
    """

    def __init__(
        self,
        indexes: dict[str, NgramIndex],
        penalty: dict[str, float],
        weigh: Callable[[float, NgramIndex], np.ndarray],
    ) -> None:
        self.names = list(indexes)
        self.indexes = list(indexes.values())
        self.inverse_weights = [weigh(penalty[name], index) for name, index in indexes.items()]
        distinct = distinct_columns(self.indexes, [penalty[name] for name in indexes])
        self.row_of_node = [np.where(own, FREE, EQUAL).astype(np.int32) for own in distinct]
        #: Distinct columns of the space.
        self.n_classes = sum(int(own.sum()) for own in distinct)
        self.searches = [
            Search(index, inverse, rows)
            for index, inverse, rows in zip(self.indexes, self.inverse_weights, self.row_of_node, strict=True)
        ]
        self.blocks = np.empty(0, np.int64)
        self.nodes = np.empty(0, np.int64)

    def search(self, residuals: np.ndarray, threshold: float, wanted: int, active: np.ndarray) -> Found:
        """The ``wanted`` worst violations over all blocks (arguments as in :class:`Search`)."""
        parts = [search.best(residuals, threshold, wanted, active) for search in self.searches]
        blocks = np.concatenate([np.full(len(part.nodes), b, np.int64) for b, part in enumerate(parts)])
        nodes = np.concatenate([part.nodes for part in parts])
        labels = np.concatenate([part.labels for part in parts])
        ratios = np.concatenate([part.ratios for part in parts])
        best = np.lexsort((labels, nodes, blocks, -ratios))[:wanted]
        return Found(
            blocks[best], nodes[best], labels[best],
            sum(part.count for part in parts),
            np.max([part.peaks for part in parts], axis=0),
            np.sum([part.squared_excess for part in parts], axis=0),
        )  # fmt: skip

    def add_rows(self, blocks: np.ndarray, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Make nodes active that are not, as the next rows; returns their columns (starts, documents)."""
        starts, documents = np.zeros(1, np.int64), [np.empty(0, np.int32)]
        for b, index in enumerate(self.indexes):
            of_block = nodes[blocks == b]
            new = np.unique(of_block[self.row_of_node[b][of_block] == FREE])
            self.row_of_node[b][new] = len(self.nodes) + np.arange(len(new))
            self.blocks = np.concatenate([self.blocks, np.full(len(new), b)])
            self.nodes = np.concatenate([self.nodes, new])
            column_starts, column_documents = index.columns(new)
            starts = np.concatenate([starts, starts[-1] + column_starts[1:]])
            documents.append(column_documents)
        return starts, np.concatenate(documents)

    def keep_rows(self, kept: np.ndarray) -> None:
        """Free the nodes of the rows that are not ``kept`` (bool), and renumber the others."""
        self.set_rows(self.blocks[kept], self.nodes[kept])

    def set_rows(self, blocks: np.ndarray, nodes: np.ndarray) -> None:
        """Make these nodes active, in the order of their rows, and no others."""
        for b, rows in enumerate(self.row_of_node):
            rows[self.nodes[self.blocks == b]] = FREE
        self.blocks, self.nodes = blocks, nodes
        numbers = np.arange(len(nodes), dtype=np.int32)
        for b, rows in enumerate(self.row_of_node):
            rows[nodes[blocks == b]] = numbers[blocks == b]

    def rows_of(self, blocks: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        """Rows of active nodes (int64)."""
        rows = np.empty(len(nodes), np.int64)
        for b, of_block in enumerate(self.row_of_node):
            rows[blocks == b] = of_block[nodes[blocks == b]]
        return rows

    def penalty(self, blocks: np.ndarray, nodes: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """λ_ky of pairs."""
        weights = np.ones(len(nodes))
        for b, inverse in enumerate(self.inverse_weights):
            here = blocks == b
            if inverse.shape[1]:
                column = labels[here] if inverse.shape[1] > 1 else 0
                weights[here] = 1.0 / inverse[nodes[here], column].astype(np.float64)
        return weights

    def ngrams(self, blocks: np.ndarray, nodes: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Shortest and longest n-gram of each node's class, in the symbols of its stream."""
        indexes = [self.indexes[b] for b in blocks]
        shortest = [index.ngram(k) for index, k in zip(indexes, nodes, strict=True)]
        longest = [index.longest_ngram(k) for index, k in zip(indexes, nodes, strict=True)]
        return shortest, longest


def distinct_columns(indexes: list[NgramIndex], penalty: list[float]) -> list[np.ndarray]:
    """Which nodes of each index are features: bool (n_nodes), one array an index."""
    distinct = [index.distinct for index in indexes]
    if len(indexes) == 1:
        return distinct
    seen = np.empty(0, np.int64)
    for b in sorted(range(len(indexes)), key=lambda b: penalty[b]):
        keys = indexes[b].column_keys()
        distinct[b] = distinct[b] & ~np.isin(keys, seen)
        seen = np.concatenate([seen, keys[distinct[b]]])
    return distinct
