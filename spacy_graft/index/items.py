"""The index of a bag: the documents of each item."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..extract.bags import Bags
from ..extract.streams import Stream, starts_of
from . import item_kernels, kernels
from .columns import Columns, column_numbers, concatenated, reordered
from .sums import NodeSums, passes, room_for

#: For a thread to work on by itself.
ITEMS_OF_RANGE = 64 * kernels.CHUNK


@dataclass(frozen=True)
class ItemIndex:
    """Items that occur in at least ``min_df`` documents, a node each, as :class:`NgramIndex` has n-grams.

    Memory: 4 bytes an entry of the bag, 12 where values are not all 1.

    Attributes
    ----------
    symbols : (n_nodes,) or (n_nodes, width), or of objects (n_nodes)
        What each item is named by; of vertices of a network an array each.
    starts : int64 (n_nodes + 1)
    documents : int32 (entries)
        Those of node ``k`` are ``documents[starts[k] : starts[k + 1]]``, ascending.
    values : float64 (entries, or none)
        In [0, 1] if items are combined; none where all are 1.
    n_documents : int
    """

    symbols: np.ndarray
    starts: np.ndarray
    documents: np.ndarray
    values: np.ndarray
    n_documents: int

    @classmethod
    def build(cls, bags: Bags, min_df: int = 1) -> ItemIndex:
        """Index the items of at least ``min_df`` documents."""
        kept = bags.of_items(bags.df >= min_df)
        starts, documents, values = kept.columns()
        return cls(kept.symbols, starts, documents, values, kept.n_documents)

    @classmethod
    def concatenated(cls, indexes: Sequence[ItemIndex], copies: int) -> ItemIndex:
        """The columns of all, for products of up to ``copies`` items; a symbol says which: (number of the index, node).

        Of equal columns only the first is kept, but as many as ``copies`` if not all of their values are 1: products of
        those are other columns.
        """
        keys = np.concatenate([index.keys for index in indexes])
        fractional = np.concatenate([index.fractional for index in indexes])
        order = np.argsort(keys, kind="stable")
        begins = np.flatnonzero(np.diff(keys[order], prepend=keys[order[:1]] ^ 1))
        place: np.ndarray = np.arange(len(keys)) - np.repeat(begins, np.diff(begins, append=len(keys)))
        chosen_rows = np.sort(order[place < np.where(fractional[order], copies, 1)])
        bounds = starts_of([index.n_nodes for index in indexes])
        of = np.searchsorted(bounds, chosen_rows, side="right") - 1
        chosen = [chosen_rows[of == i] - bounds[i] for i in range(len(indexes))]
        columns = concatenated([index.columns(nodes) for index, nodes in zip(indexes, chosen, strict=True)])
        return cls(np.stack([of, chosen_rows - bounds[of]], axis=1), *columns, indexes[0].n_documents)

    @property
    def n_nodes(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def df(self) -> np.ndarray:
        """Documents of each item: int32 (n_nodes)."""
        return np.diff(self.starts).astype(np.int32)

    @cached_property
    def keys(self) -> np.ndarray:
        """Keys of the columns, see :mod:`spacy_graft.index.columns`: int64 (n_nodes)."""
        return item_kernels.column_keys(self.starts, self.documents, self.values, column_numbers(self.n_documents))

    @property
    def fractional(self) -> np.ndarray:
        """Whether an item has a value that is not 1: bool (n_nodes)."""
        if not len(self.values):
            return np.zeros(self.n_nodes, np.bool_)
        return np.diff(starts_of(self.values != 1.0)[self.starts]) > 0

    @cached_property
    def distinct(self) -> np.ndarray:
        """False for an item whose column is that of an item before it: bool (n_nodes)."""
        distinct = np.zeros(self.n_nodes, np.bool_)
        distinct[np.unique(self.keys, return_index=True)[1]] = True
        return distinct

    def moments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As :meth:`NgramIndex.moments`."""
        if not len(self.values):
            df = self.df.astype(np.float64)
            return df, df, np.ones(self.n_nodes)
        return item_kernels.moments(self.starts, self.values)

    def column_keys(self) -> np.ndarray:
        """As :meth:`NgramIndex.column_keys`."""
        return self.keys

    def columns(self, chosen: np.ndarray) -> Columns:
        """Columns of the chosen nodes."""
        return reordered((self.starts, self.documents, self.values), chosen)

    def some(self, chosen: np.ndarray) -> ItemIndex:
        """An index of the chosen nodes."""
        return ItemIndex(self.symbols[chosen], *self.columns(chosen), self.n_documents)

    def range_sums(self, lanes: np.ndarray) -> ItemSums:
        """Sums of float64 lanes, times the values of the items, over each column (see :mod:`.sums`)."""
        return ItemSums(self, lanes)

    def passes(self, values: np.ndarray) -> Iterator[tuple[int, int, int, np.ndarray]]:
        """Sum ``values`` (n_documents, k), times those of the items, over each column: as :meth:`NgramIndex.passes`."""
        return passes(self, values)

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sum ``values`` (n_documents, k) over the documents of each node: float64 (n_nodes, k)."""
        sums = np.zeros((self.n_nodes, values.shape[1]))
        item_kernels.sum_documents(self.starts, self.documents, np.ascontiguousarray(values, np.float64), sums)
        return sums

    def ngrams(self, nodes: Sequence[int] | np.ndarray) -> Stream:
        """The symbols that name each item."""
        symbols = self.symbols[np.asarray(nodes, np.int64)]
        if symbols.dtype == object:
            return Stream.join(symbols, np.uint64)
        return Stream(symbols.reshape(-1), np.arange(len(symbols) + 1) * int(np.prod(symbols.shape[1:])))

    longest_ngrams = ngrams


class ItemSums:
    """Sums of lanes, float64 (documents) or (documents, LANES), over columns of items."""

    def __init__(self, index: ItemIndex, lanes: np.ndarray) -> None:
        self.index = index
        self.lanes = lanes
        self.n_ranges = -(-index.n_nodes // ITEMS_OF_RANGE)

    def of_range(self, r: int) -> Iterator[NodeSums]:
        index, lanes = self.index, self.lanes
        add_up = item_kernels.column_sums_of_one if lanes.ndim == 1 else item_kernels.column_sums
        sums = room_for(lanes)
        end_of_range = min((r + 1) * ITEMS_OF_RANGE, index.n_nodes)
        for begin in range(r * ITEMS_OF_RANGE, end_of_range, kernels.CHUNK):
            end = min(begin + kernels.CHUNK, end_of_range)
            add_up(index.starts, index.documents, index.values, lanes, begin, end, sums)
            yield begin, end, sums

    def of_open_nodes(self) -> Iterator[NodeSums]:
        return iter(())
