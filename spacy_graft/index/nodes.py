"""The nodes of a text's suffixes: all in post-order, with what each adds to the documents of those below it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

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
    ends : list of int
        Where pieces end; no node has leaves of two of them.
    suffixes : int32 or int64 (n), lcp : int32 (n + 1), documents : int32 (n), lengths : int32 (n or 0)
    """

    ends: list[int]
    suffixes: np.ndarray
    lcp: np.ndarray
    documents: np.ndarray
    lengths: np.ndarray


class SortedSuffixes(NamedTuple):
    """Suffixes and their neighbours.

    Attributes
    ----------
    order : int32
        The numbers of the suffixes in their order.
    positions : int32 or int64
        Of each number its position in the text, ascending; none if numbers are the positions, those of breaks too.
    neighbours : int32 (positions, 3)
        Of each number what its suffix shares with the one before it, see :func:`.suffix_kernels.compare`.
    """

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
        return cls(order, positions, neighbours)

    def leaves(self, text: RankedText, ends: Sequence[int], min_df: int, n_threads: int = 1) -> Leaves:
        """The suffixes, each once for every document of its run; ``ends`` of their order are those of the pieces."""
        pieces = [self.order[begin:end] for begin, end in pairwise([0, *ends])]
        count, fill = suffix_kernels.count_leaves, suffix_kernels.fill_leaves
        counts = [len(piece) for piece in pieces]
        if len(text.documents) > len(text.ends):  # some runs are those of several documents
            # All of them are counted in the order of the text, so that memory is read from begin to end.
            counted = [np.arange(counts[0], dtype=np.int32)] if counts == [len(self.positions)] else pieces
            counts = in_threads([partial(count, part, self.neighbours, text.bounds) for part in counted], n_threads)
        n, of_suffixes = sum(counts), (self.positions, self.neighbours, text.bounds, text.documents)
        leaves = Leaves(
            np.cumsum(counts).tolist(),
            suffixes=np.empty(n, self.positions.dtype),
            lcp=np.zeros(n + 1, np.int32),
            documents=np.empty(n, np.int32),
            lengths=np.empty(n if min_df == 1 else 0, np.int32),
        )
        work = [
            partial(fill, piece, *of_suffixes, *(array[begin:end] for array in leaves[1:]))
            for piece, (begin, end) in zip(pieces, pairwise([0, *leaves.ends]), strict=True)
        ]
        in_threads(work, n_threads)
        return leaves


def even_parts(n: int, n_parts: int) -> list[tuple[int, int]]:
    """Begin and end of parts of like sizes."""
    return list(pairwise(n * k // n_parts for k in range(n_parts + 1)))


def nodes_of_leaves(
    leaves: Leaves,
    n_documents: int,
    min_df: int,
    open_before: Sequence[int] = (),
    open_after: Sequence[int] = (),
    n_threads: int = 1,
) -> NodeTable:
    """The nodes of consecutive leaves.

    Parameters
    ----------
    leaves : Leaves
        Some pieces, or one if there are open nodes.
    n_documents, min_df : int
    open_before, open_after : sequence of int
        Lengths of the n-grams of nodes that have leaves before these or after them.
    n_threads : int
    """
    before, after = np.array(open_before, np.int32), np.array(open_after, np.int32)
    room = NodeRoom(leaves, n_documents, min_df, before, after)
    return room.joined(list(map_in_threads(room.fill, room.pieces, n_threads)), n_threads)


class NodeRoom:
    """Room for the nodes of leaves. Each piece fills it from the place of its first leaf on.

    Parameters
    ----------
    leaves : Leaves
    n_documents, min_df : int
    before, after : int32
        Depths of the open nodes.
    """

    def __init__(self, leaves: Leaves, n_documents: int, min_df: int, before: np.ndarray, after: np.ndarray) -> None:
        self.leaves, self.options = leaves, (n_documents, min_df, before, after)
        n_leaves, self.per_leaf = len(leaves.documents), 2 if min_df == 1 else 1
        capacity = n_leaves * self.per_leaf + len(before) + len(after)
        self.nodes, self.places = np.empty((capacity, 3), np.int32), np.empty(capacity, leaves.suffixes.dtype)
        # Each piece has two bounds a node, and one more at its end.
        self.bounds = np.empty(2 * capacity + len(leaves.ends), np.int64)
        self.events = np.empty(2 * n_leaves, np.int32)
        self.pieces = [(k, *piece) for k, piece in enumerate(pairwise([0, *leaves.ends]))]

    def fill(self, piece: int, begin: int, end: int) -> int:
        """Write the nodes of a piece to its place; returns how many there are."""
        _, suffixes, lcp, documents, lengths = self.leaves
        lcp, first = lcp[begin : end + 1], begin * self.per_leaf
        stack = np.empty((int(lcp.max()) + 3, 7), np.int32)
        return kernels.fill_interval_nodes(
            suffixes[begin:end], lcp, documents[begin:end], lengths[begin:end], *self.options, stack,
            self.nodes[first:], self.places[first:], self.bounds[2 * first + piece :], self.events[2 * begin :],
        )  # fmt: skip

    def joined(self, counts: Sequence[int], n_threads: int) -> NodeTable:
        """The nodes of all pieces without gaps; ``counts`` is what :meth:`fill` returned for each piece."""
        nodes, places, bounds, events = self.nodes, self.places, self.bounds, self.events
        n_nodes = n_events = 0
        moves = []
        for (piece, begin, _), n in zip(self.pieces, counts, strict=True):
            first = begin * self.per_leaf
            bounds_of_piece = bounds[2 * first + piece :][: 2 * n + 1]
            n_of_piece = int(bounds_of_piece[-1])
            nodes[first : first + n, 0] += n_nodes
            bounds_of_piece += n_events
            moves.append((
                (3 * n_nodes, 3 * first, 3 * n),
                (n_nodes, first, n),
                (2 * n_nodes, 2 * first + piece, 2 * n + 1),
                (n_events, 2 * begin, n_of_piece),
            ))  # fmt: skip
            n_nodes, n_events = n_nodes + n, n_events + n_of_piece
        arrays: tuple[np.ndarray, ...] = nodes.reshape(-1), places, bounds, events
        of_arrays = zip(arrays, zip(*moves, strict=True), strict=True)
        in_threads([partial(move_left, array, of_array) for array, of_array in of_arrays], n_threads)
        # What is not used goes back to the system.
        nodes.resize((n_nodes, 3), refcheck=False)
        places.resize(n_nodes, refcheck=False)
        bounds.resize(2 * n_nodes + 1, refcheck=False)
        events.resize(n_events, refcheck=False)
        level, shortest = kernels.levels_and_shortest(nodes[:, 0], nodes[:, 1])
        return NodeTable(nodes, places, level, shortest, bounds, events)


def move_left(array: np.ndarray, moves: Iterable[tuple[int, int, int]]) -> None:
    """Move entries of a one-dimensional array: each time ``to``, ``begin`` and how many; the ranges may overlap."""
    for to, begin, n in moves:
        if to < begin:
            array[to : to + n] = array[begin : begin + n]
