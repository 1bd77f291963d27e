"""A stream as its index needs it: all documents in one text of ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..extract.streams import Stream
from . import kernels


@dataclass(frozen=True)
class RankedText:
    """The symbols of all documents as ranks, each document ended by a break.

    Attributes
    ----------
    symbols : uint8, uint16 or uint32
        0 is a break; the last symbol is one.
    alphabet : uint32 or uint64
        The stream's symbol of each rank; entry 0 (the break) is unused.
    ends : int64 (n_documents)
        The position after each document's break.
    """

    symbols: np.ndarray
    alphabet: np.ndarray
    ends: np.ndarray

    @classmethod
    def of_stream(cls, stream: Stream, min_df: int) -> RankedText:
        """The code point 0 is a break, and so are symbols of fewer than ``min_df`` documents: no feature has them."""
        alphabet, ranks = alphabet_of(stream.symbols)
        df = kernels.document_frequencies(ranks, stream.starts, len(alphabet))
        frequent = df >= min_df
        if alphabet.dtype == np.uint32:
            frequent &= alphabet != 0
        new_rank = np.where(frequent, np.cumsum(frequent), 0)
        ends = np.cumsum(np.diff(stream.starts) + 1)
        symbols = np.zeros(len(stream.symbols) + len(ends), np.min_scalar_type(int(frequent.sum())))
        breaks = np.zeros(len(symbols), np.bool_)
        breaks[ends - 1] = True
        symbols[~breaks] = new_rank.astype(symbols.dtype)[ranks]
        return cls(symbols, np.concatenate([alphabet[:1], alphabet[frequent]]), ends)

    @property
    def n_documents(self) -> int:
        return len(self.ends)


def alphabet_of(symbols: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sorted distinct symbols, and each symbol's rank among them."""
    if symbols.dtype == np.uint32 and len(symbols):
        # Code points: counting beats sorting.
        alphabet = np.flatnonzero(np.bincount(symbols)).astype(np.uint32)
        table = np.zeros(int(alphabet[-1]) + 1, np.uint32)
        table[alphabet] = np.arange(len(alphabet), dtype=np.uint32)
        return alphabet, table[symbols]
    alphabet, ranks = np.unique(symbols, return_inverse=True)
    return alphabet, ranks.astype(np.uint32)
