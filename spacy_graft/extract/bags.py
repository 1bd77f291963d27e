"""Bags: the items of each document and their values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .blocks import ItemValue
from .hashing import signed
from .streams import Empty, Stream, has_code_points, starts_of

#: Occurrences of symbols that are ranked at once.
RANKED_AT_ONCE = 2**20


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Document frequencies of items in the training corpus, for ``tf_idf``.

    Memory: 12 bytes an item.

    Attributes
    ----------
    keys : uint64 (n_items)
        Sorted, see :func:`item_keys`.
    df : int32 (n_items)
    n_documents : int
    """

    keys: np.ndarray
    df: np.ndarray
    n_documents: int

    @classmethod
    def of(cls, symbols: np.ndarray, df: np.ndarray, n_documents: int) -> Vocabulary:
        """The vocabulary of items with these symbols."""
        keys = item_keys(symbols)
        order = np.argsort(keys)
        return cls(keys[order], df[order], n_documents)

    def weights(self, symbols: np.ndarray) -> np.ndarray:
        """log((1 + n) / (1 + df)) + 1 of items, as in scikit-learn's TfidfTransformer; 0 for unknown items."""
        keys = item_keys(symbols)
        if not len(self.keys):
            return np.zeros(len(keys))
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        weights = np.log((1.0 + self.n_documents) / (1.0 + self.df[places])) + 1.0
        return np.where(self.keys[places] == keys, weights, 0.0)


@dataclass(frozen=True, eq=False)
class Bags:
    """The items of all documents, each once a document.

    Memory: 4 bytes an entry, 12 where values are not all 1.

    Attributes
    ----------
    symbols : uint32 or uint64, (n_items,) or (n_items, width)
        The symbols of each item.
    df : int32 (n_items)
        Number of documents of each item.
    starts : int64 (n_documents + 1)
        Document ``i`` has the entries ``starts[i] .. starts[i + 1]``.
    items : int32 (entries)
        Numbers of items, in the order of their first occurrence.
    values : float64 (entries, or none)
        Empty where all are 1. In [0, 1] if items are combined.
    vocabulary : Vocabulary, optional
        The document frequencies from which values of other documents are computed, if they are needed.
    """

    symbols: np.ndarray
    df: np.ndarray
    starts: np.ndarray
    items: np.ndarray
    values: np.ndarray
    vocabulary: Vocabulary | None = None

    @property
    def n_documents(self) -> int:
        return len(self.starts) - 1

    @property
    def n_items(self) -> int:
        return len(self.df)

    @classmethod
    def of_stream(
        cls, stream: Stream, min_df: int = 1, value: ItemValue = "binary", vocabulary: Vocabulary | None = None
    ) -> Bags:
        """Collect the symbols of each document.

        Parameters
        ----------
        stream : Stream
            Its symbols are 1-D, or 2-D for items of several symbols. The code point 0 is no item.
        min_df : int
            Items of fewer documents are left out.
        value : str
            ``binary``: 1. ``log_count``: 1 + log of the count, ``tf_idf``: the count times log((1 + n) / (1 + df)) + 1,
            divided by the L2 norm over the document's items: all of them for ``log_count``, for ``tf_idf`` those of
            the vocabulary.
        vocabulary : Vocabulary, optional
            For ``tf_idf``; by default that of these documents' items that are not left out.
        """
        from . import kernels

        symbols, ranks = distinct_symbols(stream.symbols)
        starts, items, counts, df = kernels.count_items(ranks, stream.starts, len(symbols))
        kept = df >= min_df
        if has_code_points(symbols):
            kept &= symbols != 0
        values = np.empty(0)
        if value == "log_count":
            values = kernels.normalised(1.0 + np.log(counts), starts)
        elif value == "tf_idf":
            if vocabulary is None:
                vocabulary = Vocabulary.of(symbols[kept], df[kept], stream.n_documents)
            weights = vocabulary.weights(symbols)
            kept &= weights > 0.0
            values = kernels.normalised(counts * weights[items], starts)
        return cls(symbols, df, starts, items, values, vocabulary).of_items(kept)

    def of_items(self, kept: np.ndarray) -> Bags:
        """The bags with some of the items only (bool), renumbered. Values do not change."""
        if kept.all():
            return self
        entries = kept[self.items]
        number = (np.cumsum(kept) - 1).astype(np.int32)
        before = starts_of(entries)
        values = self.values[entries] if len(self.values) else self.values
        return Bags(
            self.symbols[kept], self.df[kept], before[self.starts], number[self.items[entries]], values, self.vocabulary
        )

    def columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """By item: starts int64 (n_items + 1), documents int32 (ascending), values float64 (or none)."""
        from . import kernels

        return kernels.transposed(self.starts, self.items, self.values, self.n_items)


def distinct_symbols(symbols: np.ndarray, empty: Empty = np.empty) -> tuple[np.ndarray, np.ndarray]:
    """Distinct symbols (or rows of symbols) sorted by key, and the number of each occurrence among them (uint32).

    ``empty`` gives the memory of the numbers.
    """
    from . import kernels

    keys = item_keys(symbols)
    numbers = empty(len(keys), np.uint32)
    # Sorting all occurrences, as `np.unique` does, takes three to five times as long.
    firsts = kernels.number_keys(signed(keys), numbers)
    firsts = firsts[np.argsort(keys[firsts])]
    ranks = np.empty(len(firsts), np.uint32)
    ranks[numbers[firsts]] = np.arange(len(firsts), dtype=np.uint32)
    for first in range(0, len(numbers), RANKED_AT_ONCE):
        part = numbers[first : first + RANKED_AT_ONCE]
        part[:] = ranks[part]
    return symbols[firsts], numbers


def item_keys(symbols: np.ndarray) -> np.ndarray:
    """One key for each symbol or row of symbols: uint64 (n).

    The key of a single symbol is the symbol. Two of n different rows have equal keys with a probability of n² / 2⁶⁵.
    """
    if symbols.ndim == 1 or symbols.shape[1] == 1:
        return symbols.reshape(-1).astype(np.uint64, copy=False)
    keys = np.zeros(len(symbols), np.uint64)
    for column in symbols.T:
        # Multiplication spreads low bits upwards, the shift high ones downwards; both wrap around.
        keys = (keys ^ column) * np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(32)
    return keys
