"""An index in parts: a shard holds the suffixes of all documents whose first symbols lie in a range.

A node is a set of suffixes with a common prefix. So nearly every node is whole in one shard, with the same documents
as in one index; those that a cut goes through, five a cut at the most, are put together from their parts. What comes
out is the index that is built in one piece, node by node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import NamedTuple

import numpy as np

from ..extract.streams import starts_of
from ..options import LARGEST_COUNT
from . import kernels, suffix_kernels
from .nodes import NodeTable, SortedSuffixes, check_nodes, nodes_of_leaves
from .suffixes import Suffixes
from .texts import RankedText

#: Symbols by which a text is cut. All suffixes that agree in so many are in one shard, however many they are.
CUT_SYMBOLS = 6
#: Suffixes that are looked at to make shards of like sizes.
CUT_SAMPLE = 2**20


class Prefix(NamedTuple):
    """An n-gram at which a text is cut, as the number of its symbols and their key."""

    length: int
    key: int


@dataclass(frozen=True)
class Shard:
    """A range of suffixes.

    Attributes
    ----------
    smallest : uint64
        The head of its first suffix.
    n_suffixes : int
    shared_before, shared_after : int
        Symbols that its first suffix shares with the one before it, and its last one with the one after it.
    open_before, open_after : tuple of Prefix
        The nodes that hold both of these, by length.
    """

    smallest: np.uint64
    n_suffixes: int
    shared_before: int = 0
    shared_after: int = 0
    open_before: tuple[Prefix, ...] = ()
    open_after: tuple[Prefix, ...] = ()


def cuts(text: RankedText, suffixes: Suffixes, n_shards: int, min_df: int, max_length: int) -> list[Shard]:
    """Shards of about the same number of leaves: ``n_shards``, or fewer where many suffixes begin alike.

    A suffix has a leaf for each document of its run; leaves take most of the memory and time of a shard.
    """
    packed, symbols = suffixes.text, text.symbols
    n = min(CUT_SYMBOLS, packed.n)
    looked_at = np.arange(0, len(symbols), max(len(symbols) // CUT_SAMPLE, 1))
    looked_at = looked_at[symbols[looked_at] != 0]
    heads = suffix_kernels.heads(packed, looked_at, n)
    order = np.argsort(heads, kind="stable")
    heads, leaves = heads[order], np.cumsum(np.diff(text.bounds)[text.runs_of(looked_at[order])])
    if len(heads):
        begins = np.unique(heads[np.searchsorted(leaves, np.arange(1, n_shards) * leaves[-1] // n_shards, "right")])
    else:
        begins = heads
    begins = np.concatenate([np.zeros(1, np.uint64), begins[begins > 0]])
    counts, largest = np.zeros(len(begins), np.int64), np.zeros(len(begins), np.uint64)
    smallest = np.full(len(begins), np.iinfo(np.uint64).max)
    suffix_kernels.heads_by_range(packed, symbols, n, begins, counts, smallest, largest)
    if not counts.any():
        return [Shard(begins[0], 0)]
    full = np.flatnonzero(counts)
    heads_only = packed._replace(n=n)
    shared = [
        min(int(suffix_kernels.in_common(largest[a], smallest[b], heads_only)), max_length) for a, b in pairwise(full)
    ]
    prefixes = [
        [Prefix(k, int(smallest[b]) >> packed.bits * (n - k)) for k in range(1, length + 1)]
        for b, length in zip(full[1:], shared, strict=True)
    ]
    nodes = open_nodes(text, suffixes, begins[full], prefixes, min_df)
    shared, nodes = [0, *shared, 0], [(), *nodes, ()]
    return [
        Shard(smallest[r], int(counts[r]), shared[s], shared[s + 1], nodes[s], nodes[s + 1]) for s, r in enumerate(full)
    ]


def open_nodes(
    text: RankedText, suffixes: Suffixes, begins: np.ndarray, prefixes: list[list[Prefix]], min_df: int
) -> list[tuple[Prefix, ...]]:
    """Which prefixes at each cut are nodes: those of ``min_df`` documents that stand elsewhere than in the next one.

    The shards, which have heads from ``begins`` on (uint64), have suffixes with those prefixes that are at a cut before
    or after them.

    Memory: where some documents have several runs, a byte for each prefix and document.
    """
    every = sorted({prefix for at_cut in prefixes for prefix in at_cut})
    number = {prefix: k for k, prefix in enumerate(every)}
    of_shards = [sorted({number[p] for p in before + after}) for before, after in pairwise([[], *prefixes, []])]
    firsts = starts_of(map(len, of_shards))
    candidates = firsts, np.array([k for of_shard in of_shards for k in of_shard], np.int64)
    keys, lengths = np.array([p.key for p in every], np.uint64), np.array([p.length for p in every], np.int64)
    have_one_run = np.bincount(text.documents).max(initial=0) <= 1
    seen = np.zeros((0 if have_one_run else len(every), text.n_documents), np.bool_)
    occurrences, df = np.zeros(len(every), np.int64), np.zeros(len(every), np.int64)
    suffix_kernels.prefix_frequencies(
        suffixes.text, text.symbols, min(CUT_SYMBOLS, suffixes.text.n), text.ends, text.bounds, text.documents, seen,
        begins, *candidates, keys, lengths, occurrences, df,
    )  # fmt: skip
    frequency = {prefix: (int(o), int(d)) for prefix, o, d in zip(every, occurrences, df, strict=True)}
    return [
        tuple(
            prefix for prefix, longer in zip_longest(at_cut, at_cut[1:])
            if frequency[prefix][1] >= min_df and (longer is None or frequency[longer][0] < frequency[prefix][0])
        )
        for at_cut in prefixes
    ]  # fmt: skip


def positions_by_shard(
    text: RankedText, suffixes: Suffixes, shards: Sequence[Shard], n_at_a_time: int
) -> Iterator[tuple[int, np.ndarray]]:
    """Where the suffixes of each shard begin, ascending: some of them after the other, each with the shard's number.

    Memory: twice what the positions of ``n_at_a_time`` symbols take.
    """
    n, begins = min(CUT_SYMBOLS, suffixes.text.n), np.array([shard.smallest for shard in shards], np.uint64)
    ranges, bounds = np.empty(n_at_a_time, np.uint32), np.zeros(len(shards) + 1, np.int64)
    for begin in range(0, len(text.symbols), n_at_a_time):
        part = begin, min(begin + n_at_a_time, len(text.symbols))
        positions = np.empty(n_at_a_time, suffixes.dtype)
        suffix_kernels.deal_by_range(suffixes.text, text.symbols, n, begins, *part, ranges, bounds, positions)
        for s, (first, last) in enumerate(pairwise(bounds.tolist())):
            yield s, positions[first:last]


def nodes_of_shard(
    text: RankedText, suffixes: Suffixes, shard: Shard, positions: np.ndarray, min_df: int, max_length: int
) -> NodeTable:
    """The nodes of one shard, whose suffixes begin at ``positions``; those last that go on after it."""
    order, shared = suffixes.order(positions)
    found = SortedSuffixes.of(text, positions, order, max_length, shared)
    whole = found.whole()
    if whole.n_leaves > LARGEST_COUNT:
        raise ValueError(
            f"A shard of the index has {whole.n_leaves:,} occurrences of symbols, of which {LARGEST_COUNT:,} can be "
            f"numbered: too many words begin alike, and are in many documents. Raise min_df of the block."
        )
    leaves = found.leaves(whole, min_df)
    del found, order, shared
    leaves.lcp[0], leaves.lcp[-1] = shard.shared_before, shard.shared_after
    before, after = ([prefix.length for prefix in open_] for open_ in (shard.open_before, shard.open_after))
    return nodes_of_leaves(leaves, text.n_documents, min_df, before, after)


class OpenNode:
    """A node that a cut goes through, as far as it is known.

    Memory: 16 bytes a document.

    ``first`` is the first node of its subtree.

    Attributes
    ----------
    held : int64 (documents)
        Shards in which it has the document.
    balance : int64 (documents)
        How often its own events add the document, less how often they take it away; and what is to be added for nodes
        below it that a cut goes through as well.
    """

    def __init__(self, first: int, n_documents: int) -> None:
        self.first = first
        self.held, self.balance = np.zeros(n_documents, np.int64), np.zeros(n_documents, np.int64)

    def note(self, part: NodeTable, k: int) -> None:
        """Take in what a shard has of it, as its node ``k``."""
        starts, n_documents = np.array([0, part.nodes[k, 2]], np.int64), len(self.held)
        first, chosen = part.nodes[:, 0], np.array([k])
        self.held[kernels.columns(first, part.bounds, part.events, chosen, starts, n_documents)] += 1
        begin, middle, end = part.bounds[2 * k : 2 * k + 3]
        self.balance += np.bincount(part.events[begin:middle], minlength=n_documents)
        self.balance -= np.bincount(part.events[middle:end], minlength=n_documents)


class Assembly:
    """Puts the parts of consecutive shards together, one after the other."""

    def __init__(self, n_documents: int) -> None:
        self.n_documents = n_documents
        self.n_nodes = 0
        self._open: dict[Prefix, OpenNode] = {}

    def whole(self, part: NodeTable, shard: Shard) -> NodeTable:
        """The nodes that are complete with this shard, as they are in the whole index; ``bounds`` from 0 on."""
        closing = [prefix for prefix in shard.open_before if prefix not in shard.open_after]
        # A node that begins before the shard is the only one of its length without a node before it.
        from_start = np.flatnonzero(part.nodes[:, 0] == 0)
        node_of = {prefix: int(from_start[part.nodes[from_start, 1] == prefix.length][0]) for prefix in closing}
        node_of |= {prefix: len(part.nodes) - 1 - k for k, prefix in enumerate(shard.open_after)}
        for prefix, k in node_of.items():
            if prefix not in self._open:
                self._open[prefix] = OpenNode(int(part.nodes[k, 0]) + self.n_nodes, self.n_documents)
            self._open[prefix].note(part, k)
        part = without_last(part, len(shard.open_after))
        check_nodes(self.n_nodes + len(part.nodes))
        part.nodes[:, 0] += self.n_nodes
        for prefix in reversed(closing):
            around = shard.open_before[: shard.open_before.index(prefix)]
            part = self._closed(part, node_of[prefix], prefix, around[-1] if around else None)
        self.n_nodes += len(part.nodes)
        return part

    def _closed(self, part: NodeTable, k: int, prefix: Prefix, around: Prefix | None) -> NodeTable:
        """The part with all that its node ``k`` is in the whole index."""
        node = self._open.pop(prefix)
        further = np.maximum(node.held - 1, 0)
        balance = node.balance - further
        if around is not None:
            self._open[around].balance += further
        part.nodes[k, 0], part.nodes[k, 2] = node.first, np.count_nonzero(node.held)
        added = np.flatnonzero(balance > 0)
        taken = np.repeat(np.arange(self.n_documents), np.maximum(-balance, 0))
        return with_events(part, k, added.astype(np.int32), taken.astype(np.int32))


def without_last(part: NodeTable, n: int) -> NodeTable:
    """The part without its last nodes."""
    n_left = len(part.nodes) - n
    bounds = part.bounds[: 2 * n_left + 1]
    nodes, places, level, shortest = (array[:n_left] for array in part[:4])
    return NodeTable(nodes, places, level, shortest, bounds, part.events[: bounds[-1]])


def with_events(part: NodeTable, k: int, added: np.ndarray, taken: np.ndarray) -> NodeTable:
    """The part with other events of node ``k``."""
    begin, end = part.bounds[2 * k], part.bounds[2 * k + 2]
    events = np.concatenate([part.events[:begin], added, taken, part.events[end:]])
    bounds = part.bounds.copy()
    bounds[2 * k + 1] = begin + len(added)
    bounds[2 * k + 2 :] += len(added) + len(taken) - (end - begin)
    return part._replace(bounds=bounds, events=events)
