"""Where the indexes of a fit are made and kept, and by how many threads they are searched."""

from __future__ import annotations

from dataclasses import dataclass

from ..extract.streams import Stream
from ..options import LARGEST_COUNT, is_count
from ..threads import n_cores
from .ngrams import NgramIndex

#: Fewer threads than this build an index in one piece: cut up, its suffixes take up to three times as long to sort.
THREADS_FOR_SHARDS = 4


@dataclass(frozen=True)
class InMemory:
    """Indexes in memory.

    Parameters
    ----------
    threads : int
        Threads that build and search; 0: as many as there are cores. The model is the same, to the last bit.

    Raises
    ------
    ValueError
        If an option has no such value.
    """

    threads: int = 0

    def __post_init__(self) -> None:
        if not is_count(self.threads, least=0):
            raise ValueError(f"InMemory: threads = {self.threads!r}, but it must be 0 to {LARGEST_COUNT:,}.")

    @property
    def n_threads(self) -> int:
        """How many threads there are."""
        return self.threads or n_cores()

    def index(self, stream: Stream, min_df: int, max_length: int | None) -> NgramIndex:
        """The index of a stream; see :meth:`.ngrams.NgramIndex.build`."""
        n_shards = self.n_threads if self.n_threads >= THREADS_FOR_SHARDS else 1
        return NgramIndex.build(stream, min_df, max_length, n_shards, self.n_threads)
