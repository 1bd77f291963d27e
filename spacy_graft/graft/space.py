"""The whole feature space: the parts of all blocks, searched as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..extract.hashing import EMPTY
from ..extract.kernels import rows_of_keys, slots_of
from ..extract.streams import Stream
from ..extract.terms import FeatureTerms, SymbolTerm, TermsOfBlock
from ..index.items import ItemIndex
from ..index.ngrams import NgramIndex
from ..search.request import SearchRequest
from ..search.violations import Violations
from ..solve.active import Active
from ..solve.columns import PackedColumns, joined_columns, packed_columns
from ..threads import in_threads
from .parts import Part, VertexPart
from .steering import LockedPairs

#: Documents that columns have at the most before they are packed: 16 MB of lists.
LISTED = 1 << 22


@dataclass(frozen=True)
class SpaceViolations(Violations):
    """Violating pairs over all parts.

    ``blocks`` has the part of each pair: int64.
    """

    blocks: np.ndarray


class FeatureSpace:
    """Parts by block, and which of their nodes are active.

    Parameters
    ----------
    parts : sequence of Part
        No column is a feature of two of them.
    n_documents : int
    locked : LockedPairs
        Their features stay rows from the beginning on.
    n_threads : int
        How many search and read columns.

    Attributes
    ----------
    blocks, nodes : int64 (rows)
        Where each active row comes from: the number of its part, and its node there.
    found : dict
        By block and name, the number of the part and the node of features that were looked for by their names.
    """

    def __init__(self, parts: Sequence[Part], n_documents: int, locked: LockedPairs, n_threads: int) -> None:
        self.parts = parts
        self.n_documents = n_documents
        self.locked = locked
        self.n_threads = n_threads
        self.found: dict[tuple[str, str], tuple[int, int]] = {}
        self.blocks = np.empty(0, np.int64)
        self.nodes = np.empty(0, np.int64)

    @property
    def n_columns(self) -> int:
        """Distinct columns of the space, without combinations, which are not enumerated."""
        return sum(part.n_columns for part in self.parts)

    @property
    def min_df(self) -> dict[str, int]:
        """The cut-off of each block: features of fewer documents were left out."""
        return {part.name: part.min_df for part in self.parts if part.min_df is not None}

    @property
    def degree(self) -> int:
        """Of how many items the largest combination is made; 1 without combinations."""
        return max((part.degree for part in self.parts), default=1)

    @property
    def largest_inverse_weight(self) -> float:
        """At least x / λ of every pair, x any value of the feature."""
        return max((part.largest_inverse_weight for part in self.parts), default=0.0)

    def search(self, request: SearchRequest) -> SpaceViolations:
        """The worst violations over all parts with features of no more than ``request.degree`` items."""
        searched = [(b, part) for b, part in enumerate(self.parts) if min(part.degree, 2) <= request.degree]
        request = replace(request, n_threads=self.n_threads)
        found = [part.best(request) for _, part in searched]
        blocks = np.repeat([b for b, _ in searched], [len(of_part.nodes) for of_part in found]).astype(np.int64)
        nodes = np.concatenate([of_part.nodes for of_part in found])
        labels = np.concatenate([of_part.labels for of_part in found])
        gradients = np.concatenate([of_part.scaled_gradients for of_part in found])
        best = np.lexsort((labels, nodes, blocks, -gradients))[: request.n_best]
        return SpaceViolations(
            nodes[best],
            labels[best],
            gradients[best],
            count=sum(of_part.count for of_part in found),
            peaks=np.max([of_part.peaks for of_part in found], axis=0),
            squared_excess=np.sum([of_part.squared_excess for of_part in found], axis=0),
            blocks=blocks[best],
        )

    def everything(self) -> tuple[np.ndarray, np.ndarray]:
        """Blocks and nodes of all features, those of combinations left out, which are not written down."""
        nodes = [part.features() for part in self.parts]
        return np.repeat(np.arange(len(nodes)), [len(of_part) for of_part in nodes]), np.concatenate(nodes)

    def add_rows(self, blocks: np.ndarray, nodes: np.ndarray) -> PackedColumns:
        """Make nodes active that are not, as the next rows; returns their columns."""
        columns: list[PackedColumns] = []
        for b, part in enumerate(self.parts):
            new = part.missing(nodes[blocks == b])
            columns.append(self._columns_of(part, new))
            self.blocks = np.concatenate([self.blocks, np.full(len(new), b)])
            self.nodes = np.concatenate([self.nodes, new])
        self.set_rows(self.blocks, self.nodes)
        return joined_columns(columns)

    def entered(self, active: Active, blocks: np.ndarray, nodes: np.ndarray, labels: np.ndarray) -> Active:
        """The active set with more pairs at weight zero, which are not in it yet."""
        active = active.with_columns(self.add_rows(blocks, nodes))
        return active.with_pairs(self.rows_of(blocks, nodes), labels, self.penalty_weights(blocks, nodes, labels))

    def keep_rows(self, kept: np.ndarray) -> None:
        """Free the nodes of the rows that are not ``kept`` (bool), and renumber the others."""
        self.set_rows(self.blocks[kept], self.nodes[kept])

    def set_rows(self, blocks: np.ndarray, nodes: np.ndarray) -> None:
        """Make these nodes active, in the order of their rows, and no others."""
        self.blocks, self.nodes = blocks, nodes
        for b, part in enumerate(self.parts):
            rows = np.flatnonzero(blocks == b)
            part.set_rows(nodes[rows], rows)

    def columns(self) -> PackedColumns:
        """The columns of all rows."""
        by_part = joined_columns(
            [self._columns_of(part, self.nodes[self.blocks == b]) for b, part in enumerate(self.parts)]
        )
        return by_part.reordered(np.argsort(np.argsort(self.blocks, kind="stable")))

    def _columns_of(self, part: Part, nodes: np.ndarray) -> PackedColumns:
        """The columns of nodes, of which only so many are lists at a time in each thread."""
        at_once = min(LISTED // max(self.n_documents, 1), len(nodes) // self.n_threads) + 1

        def packed(first: int) -> PackedColumns:
            return packed_columns(part.columns(nodes[first : first + at_once]), self.n_documents)

        work = [partial(packed, first) for first in range(0, len(nodes), at_once)]
        return joined_columns(in_threads(work, self.n_threads))

    def locked_rows(self) -> np.ndarray:
        """The rows of the locked pairs: int64 (pairs)."""
        return self.rows_of(self.locked.blocks, self.locked.nodes)

    def rows_of(self, blocks: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        """Rows of active nodes (int64)."""
        return self._by_part(blocks, np.int64, lambda part, here: part.rows_of(nodes[here]))

    def penalty_weights(self, blocks: np.ndarray, nodes: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """λ_ky of pairs."""
        return 1.0 / self._by_part(
            blocks, np.float64, lambda part, here: part.inverse_weights(nodes[here], labels[here])
        )

    @property
    def network_features(self) -> np.ndarray:
        """The number of each row among the features of the network, −1 if it is none: int64 (rows)."""
        numbers = np.full(len(self.blocks), -1)
        for b, part in enumerate(self.parts):
            if isinstance(part, VertexPart):
                here = self.blocks == b
                numbers[here] = part.network_features[self.nodes[here]]
        return numbers

    def set_network_gradient(self, network_gradient: np.ndarray) -> None:
        """Set the vertices' gradient of the network at the present weights: float64 (its features, labels)."""
        for part in self.parts:
            if isinstance(part, VertexPart):
                part.network_gradient = network_gradient[part.network_features]

    def df(self) -> np.ndarray:
        """Documents of each row: int32."""
        return self._by_part(self.blocks, np.int32, lambda part, here: part.df(self.nodes[here]))

    def identities(self) -> np.ndarray:
        """What each row is, within its block, in every space over the same indexes: int64."""
        return self._by_part(self.blocks, np.int64, lambda part, here: part.identities(self.nodes[here]))

    def _by_part(
        self, blocks: np.ndarray, dtype: type[np.generic], of_part: Callable[[Part, np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """What each part says of its own (bool)."""
        values = np.empty(len(blocks), dtype)
        for b, part in enumerate(self.parts):
            here = blocks == b
            if here.any():
                values[here] = of_part(part, here)
        return values

    def names(self) -> list[str]:
        """The block of each row."""
        return [self.parts[b].name for b in self.blocks.tolist()]

    def terms(self) -> tuple[FeatureTerms, FeatureTerms]:
        """What each row is named by: by the shortest and by the longest of its class."""
        shortest = self._terms(lambda part, nodes: part.terms(nodes))
        return shortest, self._terms(lambda part, nodes: part.longest_terms(nodes))

    def _terms(self, of_part: Callable[[Part, np.ndarray], Stream | list[tuple[SymbolTerm, ...]]]) -> FeatureTerms:
        of_blocks: list[TermsOfBlock] = []
        products: dict[int, tuple[SymbolTerm, ...]] = {}
        for b, part in enumerate(self.parts):
            rows = np.flatnonzero(self.blocks == b)
            if not len(rows):
                continue
            terms = of_part(part, self.nodes[rows])
            if isinstance(terms, Stream):
                of_blocks.append(TermsOfBlock(part.name, rows, terms))
            else:
                products.update(zip(rows.tolist(), terms, strict=True))
        return FeatureTerms(len(self.blocks), of_blocks, products)


def distinct_columns(
    indexes: Sequence[NgramIndex | ItemIndex],
    penalty_factors: Sequence[float],
    taken: np.ndarray,
    by_index: Sequence[np.ndarray] | None = None,
) -> list[np.ndarray]:
    """Which nodes of each index are features: bool (n_nodes), one array an index.

    Columns that are equal over documents are one feature, across blocks too: that of the block with the smallest
    penalty, of equal ones of the first block. Columns whose keys are ``taken`` (int64) are no features. ``by_index``
    has those of each index alone, if these are not all that are distinct.
    """
    distinct = [index.distinct for index in indexes] if by_index is None else list(by_index)
    if len(indexes) == 1 and not len(taken):
        return distinct
    seen = np.unique(taken)  # vertices without a document have one key
    for b in sorted(range(len(indexes)), key=lambda b: penalty_factors[b]):
        keys = indexes[b].column_keys()
        # Several times faster than np.isin.
        distinct[b] = distinct[b] & (rows_of_keys(keys, slots_of(seen), seen) == EMPTY)
        seen = np.concatenate([seen, keys[distinct[b]]])
    return distinct
