"""Sums over the documents of every node, for any number of columns at a time, range by range.

Sums over a tree are those of 64-bit integers in units of 2⁻⁶² of the column's total: what is added and taken away on
the way may be in any order, and wraps around where it is too large, yet the last digit is always the same. So an index
that is cut, searched by several threads or thinned out gives what the whole one does, bit by bit. Values lose what is
below half of a unit, which is less than the summation of float64 would lose.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Protocol

import numpy as np

from ..extract.streams import Empty
from ..threads import in_threads
from . import kernels

#: Sums are at most 2 to this power in units of their columns.
UNITS_POWER = 62
#: The smallest float64 above 0 is 2 to this power.
SMALLEST_POWER = -1074
#: Events of a range, a node counted as some: enough for a thread to work on by itself, few enough that threads end
#: together, and that a search can leave much out.
RANGE, EVENTS_OF_NODE = 2**22, 16
#: Nodes that a cut may leave open, each of which is summed by itself: below one long repetition there is a node for
#: every length.
MOST_OPEN = 256

#: A first node, the one after the last, and float64 sums (nodes, 1 or LANES), overwritten by what comes next.
NodeSums = tuple[int, int, np.ndarray]


class RangeSums(Protocol):
    """Sums of one part of the columns over the nodes of an index.

    Ranges may be summed in any order and by several threads. The nodes that lie in several of them come last.
    """

    n_ranges: int

    def of_range(self, r: int) -> Iterator[NodeSums]:
        """Sums of the nodes that lie in a range."""

    def of_open_nodes(self) -> Iterator[NodeSums]:
        """Sums of the others, once all ranges have been summed."""


class Summable(Protocol):
    """An index, or a tree."""

    def range_sums(self, lanes: np.ndarray) -> RangeSums:
        """Sums of ``lanes``, see :func:`lanes_of`."""


def lanes_of(values: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Columns of ``values`` (n_documents, k) as kernels sum them, each part with its first column.

    Parts are float64: tables of :data:`kernels.LANES` columns, padded with zeros; or a single column (n_documents)
    where no more are left, which a pass sums in half of the time.
    """
    for column in range(0, values.shape[1], kernels.LANES):
        columns = values[:, column : column + kernels.LANES]
        if columns.shape[1] == 1:
            yield column, np.ascontiguousarray(columns[:, 0], np.float64)
        else:
            table = np.zeros((len(values), kernels.LANES))
            table[:, : columns.shape[1]] = columns
            yield column, table


def passes(index: Summable, values: np.ndarray) -> Iterator[tuple[int, int, int, np.ndarray]]:
    """Sum ``values`` (n_documents, k) over the distinct documents of each node, some nodes and lanes at a time.

    Yields
    ------
    (first column, first node, last node + 1, sums)
        ``sums`` is float64 (nodes, 1 or LANES) and overwritten by what comes next.
    """
    for column, lanes in lanes_of(values):
        sums = index.range_sums(lanes)
        for r in range(sums.n_ranges):
            for of_nodes in sums.of_range(r):
                yield column, *of_nodes
        for of_nodes in sums.of_open_nodes():
            yield column, *of_nodes


def room_for(lanes: np.ndarray, dtype: np.dtype | type = np.float64) -> np.ndarray:
    """The array that takes the sums of a chunk of nodes, of one size: (nodes, 1 or LANES)."""
    room = np.empty((kernels.CHUNK, kernels.LANES), dtype)
    return room.reshape(-1, 1) if lanes.ndim == 1 else room


def whole_numbers(lanes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lanes as int64, and their units: a power of two for each column, so that no sum over documents exceeds 2⁶²."""
    totals = np.atleast_1d(np.abs(lanes).sum(axis=0))
    # The total is below 2 to this power.
    powers = np.frexp(totals)[1]
    units = np.ldexp(1.0, np.maximum(powers - UNITS_POWER, SMALLEST_POWER))
    return np.rint(lanes / units).astype(np.int64), units


@dataclass(frozen=True)
class RangedTree:
    """A tree in ranges of consecutive nodes.

    Attributes
    ----------
    tree : Tree
    starts : int64 (ranges + 1)
        The first node of each range, and the number of nodes.
    open_nodes : tuple of int64
        For each range, those of its nodes whose subtrees begin before it.
    n_levels : int
        Levels of what is carried from nodes to their parents.
    """

    tree: kernels.Tree
    starts: np.ndarray
    open_nodes: tuple[np.ndarray, ...]
    n_levels: int

    @classmethod
    def of(cls, tree: kernels.Tree) -> RangedTree:
        """Cut a tree where few subtrees are cut."""
        n = len(tree.level)
        places = even_places(tree)
        cuts = [
            shallow(tree.level, place, min(place - before, after - place) // 8)
            for before, place, after in zip(places, places[1:], places[2:], strict=False)
        ]
        starts = np.array([0, *(cut for cut in cuts if tree.level[cut - 1] <= MOST_OPEN), n])
        open_nodes = [np.flatnonzero(tree.first[a:b] < a) + a for a, b in pairwise(starts.tolist())]
        return cls(tree, starts, tuple(open_nodes), int(tree.level.max(initial=0)) + 2)

    def range_sums(self, lanes: np.ndarray) -> TreeSums:
        """Sums of float64 lanes over the distinct documents of each node."""
        return TreeSums(self, *whole_numbers(lanes))

    def keys(self, numbers: np.ndarray, empty: Empty = np.empty, n_threads: int = 1) -> np.ndarray:
        """Sum ``numbers``, int64 (n_documents), over each node's distinct documents, modulo 2⁶⁴: int64 (n_nodes).

        ``empty`` gives the memory.
        """
        keys, sums = empty((len(self.tree.level),), np.int64), TreeSums(self, numbers, np.ones(1, np.int64))

        def write(parts: Iterable[NodeSums]) -> None:
            for begin, end, of_nodes in parts:
                keys[begin:end] = of_nodes[: end - begin, 0]

        in_threads([partial(write, sums.of_range(r)) for r in range(sums.n_ranges)], n_threads)
        write(sums.of_open_nodes())
        return keys


class TreeSums:
    """Sums of lanes over a tree.

    ``lanes`` are int64 (documents) or (documents, LANES); ``units`` float64 (1 or LANES), or int64, for sums of that
    kind.
    """

    def __init__(self, ranged: RangedTree, lanes: np.ndarray, units: np.ndarray) -> None:
        self.ranged = ranged
        self.lanes = lanes
        self.unit = units[0] if lanes.ndim == 1 else units
        self.n_ranges = len(ranged.open_nodes)
        # Without a sign they are not looked at for being negative: a third of the time of a single column.
        self._bounds, self._events = (
            array.view(f"u{array.itemsize}") for array in (ranged.tree.bounds, ranged.tree.events)
        )
        #: By open node, its sum as far as its range goes; by range, what is carried to nodes after it.
        self._partial: dict[int, np.ndarray] = {}
        self._carried: dict[int, np.ndarray] = {}

    def of_range(self, r: int) -> Iterator[NodeSums]:
        begin, end = self.ranged.starts[r : r + 2].tolist()
        level, open_nodes = self.ranged.tree.level, self.ranged.open_nodes[r].tolist()
        carried = np.zeros((self.ranged.n_levels, *self.lanes.shape[1:]), np.int64)
        sums = room_for(self.lanes, self.unit.dtype)
        for node in [*open_nodes, end]:
            for chunk in range(begin, node, len(sums)):
                last = min(chunk + len(sums), node)
                self._add_up(chunk, last, carried, sums)
                yield chunk, last, sums
            if node < end:
                before = carried[level[node]].copy()
                self._add_up(node, node + 1, carried, sums)
                self._partial[node] = carried[level[node]] - before
            begin = node + 1
        self._carried[r] = carried

    def of_open_nodes(self) -> Iterator[NodeSums]:
        level = self.ranged.tree.level
        carried = np.zeros((self.ranged.n_levels, *self.lanes.shape[1:]), np.int64)
        with np.errstate(over="ignore"):
            for r, open_nodes in enumerate(self.ranged.open_nodes):
                for node in open_nodes.tolist():
                    missing = carried[level[node] + 1].copy()
                    carried[level[node] + 1] = 0
                    carried[level[node]] += missing
                    total = (self._partial[node] + missing) * self.unit
                    yield node, node + 1, total.reshape(1, -1)
                carried += self._carried[r]

    def _add_up(self, begin: int, end: int, carried: np.ndarray, sums: np.ndarray) -> None:
        """Sums of consecutive nodes."""
        add_up = kernels.node_sums_of_one if self.lanes.ndim == 1 else kernels.node_sums
        level, bounds = self.ranged.tree.level[begin:end], self._bounds[2 * begin : 2 * end + 1]
        with np.errstate(over="ignore"):  # of NumPy, where there is no compiler, which wraps around without a word
            add_up(level, bounds, self._events, self.lanes, self.unit, carried, sums)


def even_places(tree: kernels.Tree) -> list[int]:
    """Nodes that cut a tree into ranges of like size, the first node and the number of nodes among them."""
    n = len(tree.level)

    def cost(node: int) -> int:
        return EVENTS_OF_NODE * node + int(tree.bounds[2 * node])

    n_ranges = cost(n) // RANGE
    inner = {bisect_left(range(n), r * (cost(n) // n_ranges), key=cost) for r in range(1, n_ranges)}
    return [0, *sorted(inner - {0, n}), n]


def shallow(level: np.ndarray, place: int, room: int) -> int:
    """Where to cut near a place: behind the node that has the fewest ancestors."""
    begin = place - room
    return begin + int(np.argmin(level[begin : place + room])) + 1 if room else place


def sums_by_node(index: Summable, n_nodes: int, values: np.ndarray) -> np.ndarray:
    """Sum ``values`` (n_documents, k) over the distinct documents of each node: float64 (n_nodes, k)."""
    found = np.empty((n_nodes, values.shape[1]))
    for column, begin, end, sums in passes(index, values):
        out = found[begin:end, column : column + sums.shape[1]]
        out[:] = sums[: end - begin, : out.shape[1]]
    return found
