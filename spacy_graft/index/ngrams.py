"""The index of one stream: every n-gram of any length, as a tree of nodes with their documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from pydivsufsort import divsufsort

from ..extract.streams import Stream, starts_of
from ..heap import trim_heap
from ..threads import in_threads, limited_threads
from . import kernels
from .columns import column_numbers
from .nodes import NodeTable, SortedSuffixes, nodes_of_suffixes
from .sums import RangedTree, TreeSums, passes, sums_by_node
from .texts import RankedText

#: No bound on the length of an n-gram.
ANY_LENGTH = 2**31 - 1
#: Pieces of the suffixes, since what is made of one takes memory: at least so many, and for each thread so many, lest
#: large ones keep others waiting. And symbols for a piece, or a thread, more.
FEWEST_PIECES, PIECES_OF_THREAD, SMALLEST_PIECE = 8, 4, 2**17


@dataclass(frozen=True)
class NgramIndex:
    """N-grams of a stream that occur in at least ``min_df`` documents, by classes of equal documents.

    Memory: the finished index takes about 8 bytes a symbol for events and 37 bytes a node (0.5 nodes a character at
    ``min_df`` 2, 0.07 at 11, in English prose); building peaks at about 34 bytes a symbol at ``min_df`` 11, at
    46 at 2, and at 112 at 1.

    Attributes
    ----------
    symbols : uint8, uint16 or uint32
        Ranks, see :mod:`spacy_graft.index.kernels`.
    alphabet : uint32 or uint64
        The stream's symbol of each rank; entry 0 (the break) is unused.
    nodes : int32 (n_nodes, 3)
        Columns first, longest, df.
    places : int32 or int64 (n_nodes)
        Where in ``symbols`` the n-grams stand.
    level, shortest : int32 (n_nodes)
    bounds : int32 or int64 (2 * n_nodes + 1)
    events : int32
    distinct : bool (n_nodes)
        False for a node whose documents are those of another node with a shorter n-gram: the other one is the
        class's name, and only that one is a feature.
    longest_node : int32 (n_nodes)
        Of a distinct node, the node with its documents that has the longest n-gram.
    n_documents : int
    folder : Path, optional
        Where its files are, if it has any.
    """

    symbols: np.ndarray
    alphabet: np.ndarray
    nodes: np.ndarray
    places: np.ndarray
    level: np.ndarray
    shortest: np.ndarray
    bounds: np.ndarray
    events: np.ndarray
    distinct: np.ndarray
    longest_node: np.ndarray
    n_documents: int
    folder: Path | None = None

    @classmethod
    def build(
        cls,
        stream: Stream,
        min_df: int = 1,
        max_length: int | None = None,
        n_threads: int = 1,
    ) -> NgramIndex:
        """Index a stream in time linear in its length.

        Parameters
        ----------
        stream : Stream
        min_df : int
            Least number of documents of a feature, at least 1.
        max_length : int, optional
            Longest n-gram in symbols; any length if None.
        n_threads : int
            Threads that build it; the index is the same.

        Raises
        ------
        ValueError
            If the stream has more symbols than 32-bit positions can address.
        """
        limit = ANY_LENGTH if max_length is None else min(max_length, ANY_LENGTH)
        n_symbols = len(stream.symbols) + stream.n_documents
        if n_symbols >= 2**31:
            raise ValueError(
                f"The stream has {len(stream.symbols):,} symbols in {stream.n_documents:,} documents; an index in "
                "memory holds at most 2,147,483,647. Use spacy_graft.OnDisk.v1 (docs/scaling.md)."
            )
        n_threads = min(n_threads, 1 + n_symbols // SMALLEST_PIECE)
        text = RankedText.of_stream(stream, min_df)
        return cls.of_part(text, nodes_of_text(text, min_df, limit, n_threads), n_threads)

    @classmethod
    def of_part(cls, text: RankedText, part: NodeTable, n_threads: int = 1) -> NgramIndex:
        """The index of all nodes of a text."""
        if len(part.events) < 2**31:  # half the memory traffic of a search
            part = part._replace(bounds=part.bounds.astype(np.int32))
        index = cls(
            symbols=text.symbols,
            alphabet=text.alphabet,
            **part._asdict(),
            distinct=np.zeros(len(part.nodes), np.bool_),
            longest_node=np.arange(len(part.nodes), dtype=np.int32),
            n_documents=text.n_documents,
        )
        keys = index.ranged.keys(column_numbers(text.n_documents), n_threads=n_threads)
        n_parts = 1 << (n_threads - 1).bit_length()  # a power of two
        given = keys, index.df, index.shortest, index.longest, index.distinct, index.longest_node
        in_threads([partial(kernels.equal_columns, *given, k, n_parts) for k in range(n_parts)], n_threads)
        return index

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
        starts = starts_of(self.df[chosen])
        documents = kernels.columns(self.first, self.bounds, self.events, chosen, starts, self.n_documents)
        return starts, documents, np.empty(0)

    @cached_property
    def ranged(self) -> RangedTree:
        """The nodes in ranges."""
        return RangedTree.of(self.tree)

    def range_sums(self, lanes: np.ndarray) -> TreeSums:
        """Sums of float64 lanes over each node's documents (see :mod:`.sums`)."""
        return self.ranged.range_sums(lanes)

    def passes(self, values: np.ndarray) -> Iterator[tuple[int, int, int, np.ndarray]]:
        """Sum ``values`` (n_documents, k) over each node's documents, some nodes at a time (see :mod:`.sums`)."""
        return passes(self, values)

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sum ``values`` (n_documents, k) over the distinct documents of each node: float64 (n_nodes, k)."""
        return sums_by_node(self, self.n_nodes, values)

    def moments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sums of each column's values and of their squares, and the largest magnitude: float64 (n_nodes)."""
        df = self.df.astype(np.float64)
        return df, df, np.ones(self.n_nodes)

    def column_keys(self) -> np.ndarray:
        """Keys of the columns, see :mod:`spacy_graft.index.columns`: int64 (n_nodes).

        They are summed anew, for a hundredth of the time of building; keeping them would cost 8 bytes a node.
        """
        return self.ranged.keys(column_numbers(self.n_documents))

    def ngrams(self, nodes: Sequence[int] | np.ndarray) -> Stream:
        """The shortest n-gram of each node, in the stream's own symbols."""
        chosen = np.asarray(nodes, np.int64)
        return self.prefixes(chosen, self.shortest[chosen])

    def longest_ngrams(self, nodes: Sequence[int] | np.ndarray) -> Stream:
        """The longest n-gram with the same documents as each distinct node, wherever in the tree it stands."""
        longest = self.longest_node[np.asarray(nodes, np.int64)]
        return self.prefixes(longest, self.longest[longest])

    def prefixes(self, nodes: np.ndarray, lengths: np.ndarray) -> Stream:
        """N-grams of nodes, of lengths from that of the shortest to that of the longest, int64 (nodes) both."""
        starts = starts_of(lengths)
        places = np.arange(starts[-1]) + np.repeat(self.places[nodes] - starts[:-1], lengths)
        return Stream(self.alphabet[self.symbols[places]], starts)


def nodes_of_text(text: RankedText, min_df: int, max_length: int, n_threads: int) -> NodeTable:
    """All nodes of a text.

    It is done in pieces of suffixes that begin with the same symbols, but for the sort: no node is in two of them.
    """
    n_pieces = min(max(FEWEST_PIECES, PIECES_OF_THREAD * n_threads), 1 + len(text.symbols) // SMALLEST_PIECE)
    positions = np.empty(0, np.int32)
    # Without names here, so that suffixes and neighbours are freed where they are no longer needed.
    return nodes_of_suffixes(
        SortedSuffixes.of(text, positions, suffix_array(text.symbols, n_threads), max_length, n_threads=n_threads),
        n_pieces, min_df, n_threads,
    )  # fmt: skip


def suffix_array(symbols: np.ndarray, n_threads: int = 1) -> np.ndarray:
    """Suffixes that begin with a symbol, in lexicographic order (int32).

    Threads share a third of the work: the suffixes that are sorted first, from which all others follow one by one.
    """
    if not len(symbols):
        return np.empty(0, np.int32)
    with limited_threads("openmp", n_threads):
        order = divsufsort(symbols)
    if symbols.dtype != np.uint8:
        trim_heap()  # it sorts the bytes of larger symbols, in arrays several times as large
    return order[np.count_nonzero(symbols == 0) :].astype(np.int32, copy=False)
