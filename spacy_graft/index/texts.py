"""A stream as its index needs it: its distinct runs, as ranks, in one text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..extract.streams import Stream
from . import kernels


@dataclass(frozen=True)
class RankedText:
    """The distinct runs of a stream: what is between its breaks, documents or words of them.

    Attributes
    ----------
    symbols : uint8, uint16 or uint32
        Ranks; 0 is a break, which ends every run.
    alphabet : uint32 or uint64
        The stream's symbol of each rank; entry 0 (the break) is unused.
    ends : int64 (runs)
        The position after each run's break.
    bounds : int64 (runs + 1), documents : int32
        The documents of each run are ``documents[bounds[r] : bounds[r + 1]]``, ascending.
    n_documents : int
    """

    symbols: np.ndarray
    alphabet: np.ndarray
    ends: np.ndarray
    bounds: np.ndarray
    documents: np.ndarray
    n_documents: int

    @classmethod
    def of_stream(cls, stream: Stream, min_df: int) -> RankedText:
        """The code point 0 is a break, and so are symbols of fewer than ``min_df`` documents: no feature has them."""
        alphabet, ranks = alphabet_of(stream.symbols)
        has_breaks = alphabet.dtype == np.uint32 and not alphabet[:1].all()
        most = stream.n_documents + (int(np.count_nonzero(ranks == 0)) if has_breaks else 0)
        places, lengths, bounds, documents = kernels.distinct_runs(ranks, stream.starts, has_breaks, most)
        frequent = kernels.document_frequencies(ranks, stream.starts, len(alphabet)) >= min_df
        if has_breaks:
            frequent[0] = False
        new_ranks = np.where(frequent, np.cumsum(frequent), 0).astype(np.uint32)
        symbols = kernels.joined_runs(ranks, new_ranks, places, lengths)
        return cls(
            symbols=symbols.astype(np.min_scalar_type(int(frequent.sum()))),
            alphabet=np.concatenate([alphabet[:1], alphabet[frequent]]),
            ends=np.cumsum(lengths + 1, dtype=np.int64),
            bounds=bounds,
            documents=documents,
            n_documents=stream.n_documents,
        )


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
