"""Streams: one sequence of symbols a document, concatenated for the index."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .blocks import ReadingBlock, is_item_block


@dataclass(frozen=True)
class Stream:
    """The symbols of all documents, one after the other.

    Attributes
    ----------
    symbols : uint32 or uint64, (n_symbols,) or (n_symbols, width)
        Code points, or the values of a token attribute. Eight bytes a token, four a character. The code point 0 is a
        break: no n-gram contains it. For blocks of items, each row is an item.
    starts : int64 (n_documents + 1)
        Document ``i`` is ``symbols[starts[i] : starts[i + 1]]``.
    """

    symbols: np.ndarray
    starts: np.ndarray

    @classmethod
    def join(cls, documents: Iterable[np.ndarray], dtype: type[np.unsignedinteger], width: int | None = None) -> Stream:
        """Concatenate the symbol arrays of the documents: (n,) each or, where ``width`` is given, (n, width)."""
        parts = list(documents)
        starts = np.zeros(len(parts) + 1, np.int64)
        np.cumsum([len(part) for part in parts], out=starts[1:])
        symbols = np.concatenate([np.empty(0 if width is None else (0, width), dtype), *parts], dtype=dtype)
        return cls(symbols, starts)

    @property
    def n_documents(self) -> int:
        return len(self.starts) - 1

    def followed_by(self, other: Stream) -> Stream:
        """The documents of both streams, the other's last."""
        starts = np.concatenate([self.starts, self.starts[-1] + other.starts[1:]])
        return Stream(np.concatenate([self.symbols, other.symbols]), starts)


def stream_of(block: ReadingBlock, documents: Iterable[np.ndarray]) -> Stream:
    """The stream of a block from the symbols of the documents."""
    return Stream.join(documents, block.dtype, block.width if is_item_block(block) else None)
