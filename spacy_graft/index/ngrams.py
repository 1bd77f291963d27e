"""The index of one stream: every n-gram of any length, as a tree of nodes with their documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from pydivsufsort import divsufsort

from ..extract.streams import Stream
from . import kernels
from .fingerprints import column_numbers
from .sums import keys_by_node, passes, sums_by_node

#: No bound on the length of an n-gram.
ANY_LENGTH = 2**31 - 1


@dataclass(frozen=True)
class NgramIndex:
    """N-grams of a stream that occur in at least ``min_df`` documents, by classes of equal documents.

    Memory: the finished index takes about 8 bytes a symbol for events and 37 bytes a node (0.5 nodes a character at
    ``min_df`` 2, 0.07 at 11, in English prose); building peaks at about 50 bytes a symbol.

    Attributes
    ----------
    symbols : uint8, uint16 or uint32
        Ranks, see :mod:`spacy_graft.index.kernels`.
    alphabet : uint32 or uint64
        The stream's symbol of each rank; entry 0 (the break) is unused.
    nodes : int32 (n_nodes, 4)
        Columns first, longest, df, place.
    level, shortest : int32 (n_nodes)
    bounds : int32 or int64 (2 * n_nodes + 1)
    events : int32
    distinct : bool (n_nodes)
        False for a node whose documents are those of another node with a shorter n-gram: the other one is the
        class's name, and only that one is a feature.
    longest_node : int32 (n_nodes)
        Of a distinct node, the node with its documents that has the longest n-gram.
    n_documents : int
    """

    symbols: np.ndarray
    alphabet: np.ndarray
    nodes: np.ndarray
    level: np.ndarray
    shortest: np.ndarray
    bounds: np.ndarray
    events: np.ndarray
    distinct: np.ndarray
    longest_node: np.ndarray
    n_documents: int

    @classmethod
    def build(cls, stream: Stream, min_df: int = 1, max_length: int | None = None) -> NgramIndex:
        """Index a stream in time linear in its length.

        Parameters
        ----------
        stream : Stream
        min_df : int
            Least number of documents of a feature, at least 1.
        max_length : int, optional
            Longest n-gram in symbols; any length if None.

        Raises
        ------
        ValueError
            If the stream has more symbols than 32-bit positions can address.
        """
        limit = ANY_LENGTH if max_length is None else min(max_length, ANY_LENGTH)
        symbols, alphabet, run_of, of_runs = ranked(stream, min_df)
        lengths = run_lengths(symbols, limit)
        suffixes = suffix_array(symbols)
        # So that alphabets of letters or tags share what is compiled for those of words.
        wide = symbols.astype(np.uint16) if symbols.dtype == np.uint8 else symbols
        lcp = kernels.common_prefixes(wide, suffixes, limit)
        del wide
        suffixes, lcp, documents = kernels.leaves(suffixes, lcp, run_of, lengths, *of_runs)
        del run_of, of_runs
        runs = lengths[suffixes] if min_df == 1 else np.empty(0, np.int32)
        del lengths
        nodes, bounds, events = interval_nodes(suffixes, lcp, documents, runs, stream.n_documents, min_df)
        del suffixes, lcp, documents, runs
        level, shortest = kernels.levels_and_shortest(nodes[:, 0], nodes[:, 1])
        tree = kernels.Tree(nodes[:, 0], nodes[:, 2], level, bounds, events)
        keys = keys_by_node(tree, column_numbers(stream.n_documents))
        distinct, longest_node = np.zeros(len(nodes), np.bool_), np.arange(len(nodes), dtype=np.int32)
        kernels.equal_columns(keys, nodes[:, 2], shortest, nodes[:, 1], distinct, longest_node)
        return cls(
            symbols=symbols,
            alphabet=alphabet,
            nodes=nodes,
            level=level,
            shortest=shortest,
            bounds=bounds,
            events=events,
            distinct=distinct,
            longest_node=longest_node,
            n_documents=stream.n_documents,
        )

    @property
    def tree(self) -> kernels.Tree:
        """The nodes as kernels take them."""
        return kernels.Tree(self.first, self.df, self.level, self.bounds, self.events)

    @property
    def n_nodes(self) -> int:
        return len(self.nodes)

    @property
    def first(self) -> np.ndarray:
        return self.nodes[:, 0]

    @property
    def longest(self) -> np.ndarray:
        return self.nodes[:, 1]

    @property
    def df(self) -> np.ndarray:
        return self.nodes[:, 2]

    def columns(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Columns of the chosen nodes: (starts int64, documents int32, no values), each node's documents sorted."""
        chosen = np.asarray(chosen, np.int64)
        starts = np.concatenate([[0], np.cumsum(self.df[chosen], dtype=np.int64)])
        documents = kernels.columns(self.first, self.bounds, self.events, chosen, starts, self.n_documents)
        for start, stop in pairwise(starts.tolist()):
            documents[start:stop].sort()
        return starts, documents, np.empty(0)

    def passes(self, values: np.ndarray) -> Iterator[tuple[int, int, int, np.ndarray]]:
        """Sum ``values`` (n_documents, k) over each node's documents, chunk by chunk (see :mod:`.sums`)."""
        return passes(self.tree, values)

    def sums(self, values: np.ndarray, dtype: type[np.floating] = np.float64) -> np.ndarray:
        """Sum ``values`` (n_documents, k) over the distinct documents of each node: ``dtype`` (n_nodes, k)."""
        return sums_by_node(self.tree, values, dtype)

    def moments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sums of each column's values and of their squares, and the largest: float64 (n_nodes)."""
        df = self.df.astype(np.float64)
        return df, df, np.ones(self.n_nodes)

    def column_keys(self) -> np.ndarray:
        """Keys of the columns, see :mod:`spacy_graft.index.fingerprints`: int64 (n_nodes).

        They are summed anew, for a hundredth of the time of building; keeping them would cost 8 bytes a node.
        """
        return keys_by_node(self.tree, column_numbers(self.n_documents))

    def ngrams(self, nodes: Sequence[int] | np.ndarray) -> list[np.ndarray]:
        """The shortest n-gram of each node, in the stream's own symbols."""
        chosen = np.asarray(nodes, np.int64)
        return self._symbols_at(chosen, self.shortest[chosen])

    def longest_ngrams(self, nodes: Sequence[int] | np.ndarray) -> list[np.ndarray]:
        """The longest n-gram with the same documents as each distinct node, wherever in the tree it stands."""
        longest = self.longest_node[np.asarray(nodes, np.int64)]
        return self._symbols_at(longest, self.longest[longest])

    def prefixes(self, nodes: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
        """N-grams of nodes, of lengths from that of the shortest to that of the longest: int64 (nodes), both."""
        return self._symbols_at(nodes, lengths)

    def _symbols_at(self, nodes: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
        """So many symbols of each node; all arrays share memory."""
        ends = np.cumsum(lengths, dtype=np.int64)
        begins = ends - lengths
        total = int(ends[-1]) if len(ends) else 0
        places = np.arange(total) + np.repeat(self.nodes[nodes, 3] - begins, lengths)
        symbols = self.alphabet[self.symbols[places]]
        return [symbols[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]


def ranked(stream: Stream, min_df: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Dense ranks of distinct runs with breaks, the alphabet, the run of each position, and the documents of the runs.

    The code point 0 is a break. Symbols of fewer than ``min_df`` documents become breaks: no feature can hold them.
    """
    n = stream.n_documents
    if len(stream.symbols) + n >= 2**31:
        raise ValueError(
            f"The stream has {len(stream.symbols):,} symbols in {n:,} documents; an index holds at most 2,147,483,647. "
            "Train on fewer documents, or give the block a max_length and split the texts."
        )
    if stream.symbols.dtype == np.uint32:
        # Code points are small numbers as they are.
        codes, has_breaks = stream.symbols, True
        alphabet = np.arange(int(codes.max(initial=0)) + 1, dtype=np.uint32)
        most = n + len(codes) - int(np.count_nonzero(codes))
    else:
        (alphabet, codes), has_breaks, most = np.unique(stream.symbols, return_inverse=True), False, n
        codes = codes.astype(np.uint32)
    frequent = kernels.document_frequencies(codes, stream.starts, len(alphabet)) >= min_df
    frequent[:1] &= not has_breaks
    new_ranks = np.where(frequent, np.cumsum(frequent), 0).astype(np.uint32)
    places, lengths, *of_runs = kernels.distinct_runs(codes, stream.starts, has_breaks, most)
    symbols, run_of = kernels.joined_runs(codes, new_ranks, places, lengths)
    symbols = symbols.astype(np.min_scalar_type(int(frequent.sum())))
    return symbols, np.concatenate([alphabet[:1], alphabet[frequent]]), run_of, tuple(of_runs)


def suffix_array(symbols: np.ndarray) -> np.ndarray:
    """Suffixes that begin with a symbol, in lexicographic order (int32)."""
    if not len(symbols):
        return np.empty(0, np.int32)
    return divsufsort(symbols)[np.count_nonzero(symbols == 0) :].astype(np.int32, copy=False)


def run_lengths(symbols: np.ndarray, max_length: int) -> np.ndarray:
    """Symbols from each position to the next break, at most ``max_length`` (int32)."""
    positions = np.arange(len(symbols), dtype=np.int32)
    next_break = np.where(symbols == 0, positions, np.int32(len(symbols)))
    next_break = np.minimum.accumulate(next_break[::-1])[::-1]
    return np.minimum(next_break - positions, max_length).astype(np.int32)


def interval_nodes(
    suffixes: np.ndarray, lcp: np.ndarray, documents: np.ndarray, runs: np.ndarray, n_documents: int, min_df: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes, bounds and events of leaves (see the kernel), given back to the system down to what they hold."""
    capacity = len(suffixes) * (2 if min_df == 1 else 1)
    nodes = np.empty((capacity, 4), np.int32)
    bounds = np.empty(2 * capacity + 1, np.int64)
    events = np.empty(2 * len(suffixes), np.int32)
    stack = np.empty((int(lcp.max()) + 3, 7), np.int32)
    n_nodes = kernels.fill_interval_nodes(
        suffixes, lcp, documents, runs, n_documents, min_df, stack, nodes, bounds, events
    )
    nodes.resize((n_nodes, 4), refcheck=False)
    bounds.resize(2 * n_nodes + 1, refcheck=False)
    events.resize(int(bounds[-1]), refcheck=False)
    # Half the memory traffic of a search, where it is enough.
    return nodes, bounds.astype(np.int32) if len(events) < 2**31 else bounds, events
