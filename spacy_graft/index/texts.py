"""A stream as its index needs it: its distinct runs, as ranks, in one text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..extract.bags import distinct_symbols
from ..extract.streams import Empty, Stream, has_code_points
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
    def of_stream(cls, stream: Stream, min_df: int, empty: Empty = np.empty) -> RankedText:
        """The text of a stream, in memory that ``empty`` gives.

        The code point 0 is a break, and so are symbols of fewer than ``min_df`` documents: no feature has them.
        """
        if has_code_points(stream.symbols):
            # They are small numbers as they are.
            codes, has_breaks = stream.symbols.astype(np.uint32, copy=False), True
            alphabet = np.arange(int(codes.max(initial=0)) + 1, dtype=np.uint32)
            most = stream.n_documents + len(codes) - int(np.count_nonzero(codes))
        else:
            (alphabet, codes), has_breaks, most = distinct_symbols(stream.symbols, empty), False, stream.n_documents
        frequent = kernels.document_frequencies(codes, stream.starts, len(alphabet)) >= min_df
        frequent[:1] &= not has_breaks
        new_ranks = np.where(frequent, np.cumsum(frequent), 0).astype(np.uint32)
        places, lengths, bounds, documents = kernels.distinct_runs(codes, stream.starts, has_breaks, most)
        symbols = empty(len(lengths) + int(lengths.sum(dtype=np.int64)), np.min_scalar_type(int(frequent.sum())))
        kernels.join_runs(codes, new_ranks, places, lengths, symbols)
        return cls(
            symbols=symbols,
            alphabet=np.concatenate([alphabet[:1], alphabet[frequent]]),
            ends=np.cumsum(lengths + 1, dtype=np.int64),
            bounds=bounds,
            documents=documents,
            n_documents=stream.n_documents,
        )

    def runs_of(self, positions: np.ndarray) -> np.ndarray:
        """The runs of symbols at some positions: int64."""
        return np.searchsorted(self.ends, positions, "right")

    @property
    def n_leaves(self) -> int:
        """The symbols of all documents, each run once for each document that has it."""
        return int((np.diff(self.ends, prepend=0) - 1) @ np.diff(self.bounds))
