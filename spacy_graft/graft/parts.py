"""The parts of the feature space: the indexed features of a block, and combinations, which are never enumerated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from ..extract.streams import Empty, Stream
from ..extract.terms import SymbolTerm, Term
from ..index.columns import Columns
from ..index.items import ItemIndex
from ..index.ngrams import NgramIndex
from ..search.combinations import CombinationSearch, members, simplest_first
from ..search.full_pass import best_by_pass
from ..search.kernels import EQUAL, FREE
from ..search.request import SearchRequest
from ..search.search import Search
from ..search.violations import Violations

#: Makes searches of an index, of 1 / λ of its nodes, and of their rows.
Searches = Callable[[NgramIndex, np.ndarray, np.ndarray], Search]


class IndexedPart:
    """N-grams or items: features with a number each (their *nodes*), and which of them are rows of the active set.

    Parameters
    ----------
    name : str
        Of the block.
    index : NgramIndex or ItemIndex
    inverse : float32 (n_nodes, 0, 1 or labels)
        1 / λ.
    distinct : bool (n_nodes)
        Which nodes are features of their own.
    min_df : int, optional
        Features of fewer documents were left out; None where there is no such cut-off.
    search : callable
        Makes what searches n-grams.
    lengths : mapping of int to int, optional
        Of nodes that are not named by their shortest n-gram: the length of that which names them.
    empty : callable
        Gives memory for what is kept of each node.

    Attributes
    ----------
    n_columns : int
        Features that can be enumerated, each column once.
    degree : int
        Of how many items the largest combination is made.
    largest_inverse_weight : float
        At least x / λ of every pair, x any value of the feature.
    """

    degree = 1

    def __init__(
        self,
        name: str,
        index: NgramIndex | ItemIndex,
        inverse: np.ndarray,
        distinct: np.ndarray,
        min_df: int | None = None,
        search: Searches = Search,
        lengths: Mapping[int, int] | None = None,
        empty: Empty = np.empty,
    ) -> None:
        self.name = name
        self.lengths = lengths or {}
        self.min_df = min_df
        self.index: NgramIndex | ItemIndex = index
        self.inverse = inverse
        self.largest_inverse_weight = largest_value_by_weight(index, inverse)
        self.n_columns = int(distinct.sum())
        self.row_of_node = empty(len(distinct), np.int32)
        self.row_of_node[:] = EQUAL
        self.row_of_node[distinct] = FREE
        self.nodes = np.empty(0, np.int64)
        self.search = search(index, inverse, self.row_of_node) if isinstance(index, NgramIndex) else None

    def best(self, request: SearchRequest) -> Violations:
        """The pairs with the largest scaled gradients; ``request.active`` is by the rows of the active set."""
        if self.search is not None:
            return self.search.best(request)
        query = request.query(self.inverse, self.row_of_node)
        return best_by_pass(self.index, request.residuals, query, n_threads=request.n_threads)

    def features(self) -> np.ndarray:
        """All nodes that are features, if they can be enumerated."""
        return np.flatnonzero(self.row_of_node != EQUAL)

    def missing(self, nodes: np.ndarray) -> np.ndarray:
        """Those of the nodes that are no rows, each once."""
        return np.unique(nodes[self.row_of_node[nodes] == FREE])

    def columns(self, nodes: np.ndarray) -> Columns:
        """Columns of nodes."""
        return self.index.columns(nodes)

    def set_rows(self, nodes: np.ndarray, rows: np.ndarray) -> None:
        """Make these nodes the active ones, at these rows."""
        self.row_of_node[self.nodes] = FREE
        self.row_of_node[nodes] = rows
        self.nodes = nodes
        if self.search is not None:
            self.search.note_rows(nodes, rows)

    def rows_of(self, nodes: np.ndarray) -> np.ndarray:
        """Rows of active nodes."""
        return self.row_of_node[nodes]

    def inverse_weights(self, nodes: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """1 / λ of pairs: float64."""
        if not self.inverse.shape[1]:
            return np.ones(len(nodes))
        column = labels if self.inverse.shape[1] > 1 else 0
        return self.inverse[nodes, column].astype(np.float64)

    def df(self, nodes: np.ndarray) -> np.ndarray:
        """Documents of each node."""
        return self.index.df[nodes]

    def identities(self, nodes: np.ndarray) -> np.ndarray:
        """What tells features apart in every space over the same indexes: int64."""
        return nodes

    def terms(self, nodes: np.ndarray) -> Stream:
        """The symbols that each node is named by."""
        return named_ngrams(self.index, nodes, self.lengths)

    def longest_terms(self, nodes: np.ndarray) -> Stream:
        """The same by the longest member of its class."""
        return self.index.longest_ngrams(nodes)


class VertexPart(IndexedPart):
    """Features that are vertices of the network: they are searched one by one, with its gradient.

    ``features`` are the numbers of nodes among the network's features: int64 (n_nodes).

    Attributes
    ----------
    network_gradient : float64 (n_nodes, labels)
        The gradient of the network at the present weights; whoever moves them keeps it.
    """

    def __init__(self, name: str, index: ItemIndex, inverse: np.ndarray, features: np.ndarray) -> None:
        super().__init__(name, index, inverse, np.ones(index.n_nodes, np.bool_))
        self.network_features = features
        self.network_gradient = np.zeros((0, 0))

    def leave_out(self, denied: np.ndarray) -> None:
        """Keep the weights of some nodes (bool) at 0."""
        self.row_of_node[denied] = EQUAL
        self.n_columns -= int(denied.sum())

    def best(self, request: SearchRequest) -> Violations:
        query = request.query(self.inverse, self.row_of_node)
        return best_by_pass(self.index, request.residuals, query, self.network_gradient, request.n_threads)


class LockedPart(IndexedPart):
    """Features with a locked weight, by the names that they are locked under, whatever others have their columns.

    ``nodes`` are those of the source: int64 (n_nodes). ``inverse`` has all of the source: float32 (nodes, 0, 1 or
    labels). ``lengths`` has, by node of the source, the length of the n-gram that is meant.
    """

    def __init__(
        self,
        name: str,
        source: NgramIndex | ItemIndex,
        inverse: np.ndarray,
        nodes: np.ndarray,
        lengths: Mapping[int, int],
    ) -> None:
        index = ItemIndex(nodes, *source.columns(nodes), source.n_documents)
        super().__init__(name, index, inverse[nodes], np.ones(len(nodes), np.bool_), lengths=lengths)
        self._source = source

    def terms(self, nodes: np.ndarray) -> Stream:
        return named_ngrams(self._source, self.index.symbols[nodes], self.lengths)

    longest_terms = terms


class CombinationPart:
    """Products of items, with what :class:`IndexedPart` has. A node is a code, see :class:`CombinationSearch`.

    ``symbols`` has, by block, what its items are named by: the symbols of the search's items are numbers of block and
    row.
    """

    #: Combinations are not enumerated.
    n_columns = 0

    def __init__(self, name: str, search: CombinationSearch, symbols: Mapping[str, np.ndarray]) -> None:
        self.name = name
        self.search = search
        self.min_df: int | None = search.min_df
        self.degree = search.degree
        self.largest_inverse_weight = search.largest_inverse_weight
        self.symbols = list(symbols.items())
        #: Active codes, ascending, the keys of their columns, and their rows.
        self.nodes = self.keys = self.rows = np.empty(0, np.int64)

    def best(self, request: SearchRequest) -> Violations:
        own_rows = replace(request, active=request.active[self.rows])
        found, keys = self.search.best(own_rows, self.keys)
        return replace(found, nodes=self._representatives(found.nodes, keys))

    def _representatives(self, codes: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """One code a column: the one that is active, or the simplest that was found for any label."""
        order = simplest_first(codes)
        known_keys = np.concatenate([self.keys, keys[order]])
        known_codes = np.concatenate([self.nodes, codes[order]])
        first, of_known = np.unique(known_keys, return_index=True, return_inverse=True)[1:]
        representatives = np.empty_like(codes)
        representatives[order] = known_codes[first][of_known[len(self.keys) :]]
        return representatives

    def features(self) -> np.ndarray:
        return np.empty(0, np.int64)

    def missing(self, nodes: np.ndarray) -> np.ndarray:
        return np.unique(nodes[~np.isin(nodes, self.nodes)])

    def columns(self, nodes: np.ndarray) -> Columns:
        starts, documents, values, _ = self.search.of_codes(nodes)
        return starts, documents, values

    def set_rows(self, nodes: np.ndarray, rows: np.ndarray) -> None:
        order = np.argsort(nodes)
        before, keys_before = self.nodes, self.keys
        self.nodes, self.rows = nodes[order], rows[order]
        known = np.isin(self.nodes, before)
        self.keys = np.empty(len(nodes), np.int64)
        self.keys[known] = keys_before[np.searchsorted(before, self.nodes[known])]
        self.keys[~known] = self.search.of_codes(self.nodes[~known])[3]

    def rows_of(self, nodes: np.ndarray) -> np.ndarray:
        return self.rows[np.searchsorted(self.nodes, nodes)]

    def inverse_weights(self, nodes: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return self.search.inverse_weights(nodes, labels)

    def df(self, nodes: np.ndarray) -> np.ndarray:
        return np.diff(self.search.of_codes(nodes)[0])

    def identities(self, nodes: np.ndarray) -> np.ndarray:
        """Keys of columns: which code names a column depends on what else was found."""
        return self.search.of_codes(nodes)[3]

    def terms(self, nodes: np.ndarray) -> list[tuple[SymbolTerm, ...]]:
        return [tuple(self._term(item) for item in members(node)) for node in nodes.tolist()]

    longest_terms = terms

    def _term(self, item: int) -> SymbolTerm:
        block, row = self.search.items.symbols[item]
        name, symbols = self.symbols[block]
        return Term(name, np.atleast_1d(symbols[row]))


#: What a feature space is made of.
Part = IndexedPart | CombinationPart


def largest_value_by_weight(index: NgramIndex | ItemIndex, inverse: np.ndarray) -> float:
    """The largest |x| / λ of an index: column by column, since ``standard`` has a small λ where values are small."""
    if not isinstance(index, ItemIndex) or not len(index.values):
        return float(inverse.max(initial=0.0)) if inverse.shape[1] else 1.0
    *_, magnitudes = index.moments()
    return float((magnitudes * inverse.max(axis=1) if inverse.shape[1] else magnitudes).max(initial=0.0))


def named_ngrams(index: NgramIndex | ItemIndex, nodes: np.ndarray, lengths: Mapping[int, int]) -> Stream:
    """The n-grams or items that name nodes: the shortest, or those of the given lengths."""
    if not lengths or not isinstance(index, NgramIndex):
        return index.ngrams(nodes)
    chosen = [lengths.get(node, int(index.shortest[node])) for node in nodes.tolist()]
    return index.prefixes(nodes, np.array(chosen, np.int64))
