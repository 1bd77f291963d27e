"""The nodes of a text's suffixes: all in post-order, with what each adds to the documents of those below it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from ..options import LARGEST_COUNT
from ..threads import in_threads, map_in_threads
from . import kernels, suffix_kernels
from .texts import RankedText


class NodeTable(NamedTuple):
    """The nodes of some suffixes, in post-order.

    Attributes
    ----------
    nodes : int32 (n, 3)
        Columns first, longest, df.
    places : int32 or int64 (n)
        Where in the text the n-grams stand.
    level, shortest : int32 (n)
    bounds : int32 or int64 (2 n + 1)
    events : int32
    """

    nodes: np.ndarray
    places: np.ndarray
    level: np.ndarray
    shortest: np.ndarray
    bounds: np.ndarray
    events: np.ndarray


class Leaves(NamedTuple):
    """Suffixes, each once for every document of its run, as :func:`.kernels.fill_interval_nodes` takes them.

    Attributes
    ----------
    suffixes : int32 or int64 (n), lcp : int32 (n + 1), documents : int32 (n), lengths : int32 (n or 0)
    """

    suffixes: np.ndarray
    lcp: np.ndarray
    documents: np.ndarray
    lengths: np.ndarray


class SuffixPiece(NamedTuple):
    """Consecutive suffixes in their order: from ``begin`` to before ``end``, and the number of their leaves."""

    begin: int
    end: int
    n_leaves: int


class SortedSuffixes(NamedTuple):
    """Suffixes and their neighbours.

    Attributes
    ----------
    text : RankedText
    order : int32
        The numbers of the suffixes in their order.
    positions : int32 or int64
        Of each number its position in the text, ascending; none if numbers are the positions, those of breaks too.
    neighbours : int32 (positions, 3)
        Of each number what its suffix shares with the one before it, see :func:`.suffix_kernels.compare`.
    """

    text: RankedText
    order: np.ndarray
    positions: np.ndarray
    neighbours: np.ndarray

    @classmethod
    def of(
        cls,
        text: RankedText,
        positions: np.ndarray,
        order: np.ndarray,
        max_length: int,
        shared: np.ndarray | None = None,
        n_threads: int = 1,
    ) -> SortedSuffixes:
        """Compare suffixes with their neighbours in ``order``; n-grams end at ``max_length``.

        ``shared`` is what is known of them already, see :meth:`.suffixes.Suffixes.order`.
        """
        note, compare = suffix_kernels.note_before, suffix_kernels.compare
        known = np.empty(0, np.int32) if shared is None else shared
        n = len(positions) or len(text.symbols)
        neighbours = np.empty((n, 3), np.int32)
        in_threads([partial(neighbours[a:b].fill, -1) for a, b in even_parts(n, n_threads)], n_threads)
        parts = even_parts(len(order), n_threads)
        in_threads([partial(note, order, *part, known, neighbours) for part in parts], n_threads)
        given = text.symbols, text.ends, positions
        parts = even_parts(n, n_threads)
        in_threads([partial(compare, *given, *part, max_length, neighbours) for part in parts], n_threads)
        return cls(text, order, positions, neighbours)

    def pieces(self, n: int) -> list[SuffixPiece]:
        """About ``n`` pieces of like sizes, cut where the first symbol changes, so that no node is in two of them.

        Of suffixes whose numbers are their positions.
        """
        if n == 1 or not len(self.order):
            return [self.whole()]
        # Counted in the order of the text, so that memory is read from begin to end.
        counts = np.zeros((len(self.text.alphabet), 2), np.int64)
        suffix_kernels.count_by_symbol(self.text.symbols, self.neighbours, self.text.bounds, counts)
        ends = np.cumsum(counts, axis=0)
        cuts = np.unique(np.searchsorted(ends[:, 1], ends[-1, 1] * np.arange(1, n) / n))
        places = [[0, 0], *ends[cuts].tolist(), ends[-1].tolist()]
        pieces = [SuffixPiece(begin, end, last - first) for (begin, first), (end, last) in pairwise(places)]
        return [piece for piece in pieces if piece.end > piece.begin]

    def whole(self) -> SuffixPiece:
        """All of them as one piece."""
        n_leaves = len(self.order)
        if len(self.text.documents) > len(self.text.ends):  # some runs are those of several documents
            # Numbers of positions ascend with the text: in that order memory is read from begin to end.
            numbers = np.arange(n_leaves, dtype=np.int32) if len(self.positions) else self.order
            n_leaves = suffix_kernels.count_leaves(numbers, self.neighbours, self.text.bounds)
        return SuffixPiece(0, len(self.order), n_leaves)

    def leaves(self, piece: SuffixPiece, min_df: int) -> Leaves:
        """The suffixes of a piece, each once for every document of its run."""
        n = piece.n_leaves
        leaves = Leaves(
            suffixes=np.empty(n, self.positions.dtype),
            lcp=np.zeros(n + 1, np.int32),
            documents=np.empty(n, np.int32),
            lengths=np.empty(n if min_df == 1 else 0, np.int32),
        )
        of_suffixes = self.positions, self.neighbours, self.text.bounds, self.text.documents
        suffix_kernels.fill_leaves(self.order[piece.begin : piece.end], *of_suffixes, *leaves)
        return leaves


def even_parts(n: int, n_parts: int) -> list[tuple[int, int]]:
    """Begin and end of parts of like sizes."""
    return list(pairwise(n * k // n_parts for k in range(n_parts + 1)))


def nodes_of_leaves(
    leaves: Leaves, n_documents: int, min_df: int, open_before: Sequence[int], open_after: Sequence[int]
) -> NodeTable:
    """The nodes of consecutive leaves.

    ``open_before`` and ``open_after`` are the lengths of the n-grams of nodes that have leaves before these or after
    them.
    """
    room = NodeRoom(len(leaves.documents), 1, leaves.suffixes.dtype, n_documents, min_df, open_before, open_after)
    return room.joined([room.fill(leaves, room.place(0, 0))])


def nodes_of_suffixes(found: SortedSuffixes, n_pieces: int, min_df: int, n_threads: int) -> NodeTable:
    """The nodes of suffixes whose numbers are their positions, made in about so many pieces.

    Memory: 16 bytes a suffix, which are freed in the end if nobody else has ``found``; and 20 a leaf of as many pieces
    as there are threads. All suffixes that begin with one symbol are in one piece: with few symbols, pieces are large.
    """
    pieces = found.pieces(n_pieces)
    n_leaves = sum(piece.n_leaves for piece in pieces)
    room = NodeRoom(n_leaves, len(pieces), found.positions.dtype, found.text.n_documents, min_df)
    spans = fill_room(room, found, pieces, min_df, n_threads)
    del found
    return room.joined(spans, n_threads)


def fill_room(
    room: NodeRoom, found: SortedSuffixes, pieces: Sequence[SuffixPiece], min_df: int, n_threads: int
) -> list[NodeSpan]:
    """Fill a room with the nodes of pieces: by one thread one behind the other, by several with gaps between."""
    spans: list[NodeSpan] = []
    if n_threads == 1:
        end = room.place(0, 0)
        for piece in pieces:
            spans.append(room.fill(found.leaves(piece, min_df), end))
            end = spans[-1].end
        return spans
    leaves_before = accumulate((piece.n_leaves for piece in pieces[:-1]), initial=0)
    given = [(piece, room.place(k, n)) for k, (piece, n) in enumerate(zip(pieces, leaves_before, strict=True))]
    return list(map_in_threads(lambda piece, at: room.fill(found.leaves(piece, min_df), at), given, n_threads))


class NodePlace(NamedTuple):
    """A place in a :class:`NodeRoom`: how many nodes, bounds and events there is room for before it."""

    node: int
    bound: int
    event: int


class NodeSpan(NamedTuple):
    """From where to where the nodes of a piece are."""

    begin: NodePlace
    end: NodePlace


class NodeRoom:
    """Room for the nodes of some pieces.

    What is not written to takes no memory: pages of the system that nobody touches.

    ``n_leaves`` and ``n_pieces`` are all of them, and ``dtype`` is that of positions in the text. Other arguments are
    those of :func:`nodes_of_leaves`.
    """

    def __init__(
        self,
        n_leaves: int,
        n_pieces: int,
        dtype: np.dtype,
        n_documents: int,
        min_df: int,
        open_before: Sequence[int] = (),
        open_after: Sequence[int] = (),
    ) -> None:
        before, after = np.array(open_before, np.int32), np.array(open_after, np.int32)
        self.options, self.per_leaf = (n_documents, min_df, before, after), 2 if min_df == 1 else 1
        capacity = n_leaves * self.per_leaf + len(before) + len(after)
        self.nodes, self.places = np.empty((capacity, 3), np.int32), np.empty(capacity, dtype)
        # Each piece has two bounds a node, and one more at its end.
        self.bounds = np.empty(2 * capacity + n_pieces, np.int64)
        self.events = np.empty(2 * n_leaves, np.int32)

    def place(self, piece: int, n_leaves: int) -> NodePlace:
        """A place for a piece by its number that is behind those before it, which have so many leaves."""
        node = n_leaves * self.per_leaf
        return NodePlace(node, 2 * node + piece, 2 * n_leaves)

    def fill(self, leaves: Leaves, begin: NodePlace) -> NodeSpan:
        """Write the nodes of a piece to a place."""
        stack = np.empty((int(leaves.lcp.max()) + 3, 7), np.int32)
        bounds = self.bounds[begin.bound :]
        n = kernels.fill_interval_nodes(
            *leaves, *self.options, stack, self.nodes[begin.node :], self.places[begin.node :], bounds,
            self.events[begin.event :],
        )  # fmt: skip
        return NodeSpan(begin, NodePlace(begin.node + n, begin.bound + 2 * n + 1, begin.event + int(bounds[2 * n])))

    def joined(self, spans: Sequence[NodeSpan], n_threads: int = 1) -> NodeTable:
        """The nodes of all pieces without gaps."""
        nodes, places, bounds, events = self.nodes, self.places, self.bounds, self.events
        n_nodes = n_events = 0
        moves, firsts = [], [0]
        check_nodes(sum(end.node - begin.node for begin, end in spans))
        for begin, end in spans:
            nodes[begin.node : end.node, 0] += n_nodes
            bounds[begin.bound : end.bound] += n_events
            n, n_of_piece = end.node - begin.node, end.event - begin.event
            moves.append((
                (3 * n_nodes, 3 * begin.node, 3 * n),
                (n_nodes, begin.node, n),
                (2 * n_nodes, begin.bound, 2 * n + 1),
                (n_events, begin.event, n_of_piece),
            ))  # fmt: skip
            n_nodes, n_events = n_nodes + n, n_events + n_of_piece
            firsts.append(n_nodes)
        arrays: tuple[np.ndarray, ...] = nodes.reshape(-1), places, bounds, events
        of_arrays = zip(arrays, zip(*moves, strict=True), strict=True)
        in_threads([partial(move_left, array, of_array) for array, of_array in of_arrays], n_threads)
        # What is not used goes back to the system.
        nodes.resize((n_nodes, 3), refcheck=False)
        places.resize(n_nodes, refcheck=False)
        bounds.resize(2 * n_nodes + 1, refcheck=False)
        events.resize(n_events, refcheck=False)
        level, shortest = np.empty(n_nodes, np.int32), np.empty(n_nodes, np.int32)
        describe = partial(kernels.levels_and_shortest, nodes[:, 0], nodes[:, 1], level, shortest)
        # A piece has the ancestors of its nodes.
        in_threads([partial(describe, *part) for part in pairwise(firsts)], n_threads)
        return NodeTable(nodes, places, level, shortest, bounds, events)


def move_left(array: np.ndarray, moves: Iterable[tuple[int, int, int]]) -> None:
    """Move entries of a one-dimensional array: each time ``to``, ``begin`` and how many; the ranges may overlap."""
    for to, begin, n in moves:
        if to < begin:
            array[to : to + n] = array[begin : begin + n]


def check_nodes(n_nodes: int) -> None:
    """Raise a ValueError if an index cannot have so many nodes, whose numbers have 32 bits."""
    if n_nodes > LARGEST_COUNT:
        raise ValueError(
            f"The index has more than {LARGEST_COUNT:,} classes of n-grams. Raise min_df of its block, or give it a "
            f"max_length."
        )
