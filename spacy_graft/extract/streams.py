"""Streams: one sequence of symbols a document, concatenated for the index."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Stream:
    """The symbols of all documents, one after the other.

    Attributes
    ----------
    symbols : uint32 or uint64, 1-D
        Code points, or the values of a token attribute. Eight bytes a token, four a character. The code point 0 is a
        break: no n-gram holds it.
    starts : int64 (n_documents + 1)
        Document ``i`` is ``symbols[starts[i] : starts[i + 1]]``.
    """

    symbols: np.ndarray
    starts: np.ndarray

    @classmethod
    def join(cls, documents: Iterable[np.ndarray], dtype: type[np.unsignedinteger]) -> Stream:
        """Concatenate the symbol arrays of the documents."""
        parts = list(documents)
        starts = np.zeros(len(parts) + 1, np.int64)
        np.cumsum([len(part) for part in parts], out=starts[1:])
        symbols = np.concatenate([np.empty(0, dtype), *parts], dtype=dtype)
        return cls(symbols, starts)

    @property
    def n_documents(self) -> int:
        return len(self.starts) - 1
