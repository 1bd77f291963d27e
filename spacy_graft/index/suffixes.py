"""The order of a text's suffixes, or of those of a shard."""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from functools import cached_property
from itertools import accumulate, chain, repeat

import numpy as np

from ..extract.streams import Empty
from . import suffix_kernels as kernels

#: Of :func:`difference_cover`: a sample of 16 positions in 181; and of 64 in 2,773, in a text of so many symbols.
COVER_SIZE, LARGE_COVER_SIZE, LARGE = 2, 10, 2**27


@dataclass(frozen=True)
class Sample:
    """The order of suffixes at the positions of a difference cover, which decides between all others.

    Of any two positions one shift by less than a period leads to two of the sample. So two suffixes that agree for a
    period are compared in no time, however long they agree (Kärkkäinen 2007).

    Attributes
    ----------
    cover : int64
        The positions modulo the period, ascending.
    slots : int64 (period)
        The number of each in ``cover``.
    shifts : int64 (period)
        Of each difference d a position of the cover from which d leads to another one.
    ranks : int32
        Of the suffixes of the sample, in the order of the text.
    """

    cover: np.ndarray
    slots: np.ndarray
    shifts: np.ndarray
    ranks: np.ndarray


@dataclass
class Suffixes:
    """The suffixes of a text.

    Parameters
    ----------
    symbols : uint8, uint16 or uint32
        Ranks; 0 is a break, and the last symbol is one.
    given : Packed, optional
        The same in as few bits as its symbols need.
    cover_size : int, optional
        Suffixes that agree for :func:`difference_cover`'s period are told apart by a sample, which is made if needed.

    Memory: 24 bytes a suffix that is sorted; a sample takes half a byte a symbol, and 2 while it is made, a quarter of
    that in large texts.
    """

    symbols: np.ndarray
    given: InitVar[kernels.Packed | None] = None
    cover_size: int | None = None

    def __post_init__(self, given: kernels.Packed | None) -> None:
        self.text = packed_text(self.symbols) if given is None else given
        size = COVER_SIZE if len(self.symbols) < LARGE else LARGE_COVER_SIZE
        self._cover, self._period = difference_cover(size if self.cover_size is None else self.cover_size)

    @property
    def dtype(self) -> type[np.signedinteger]:
        """Of positions: int32, or int64 in a text of 2³¹ symbols."""
        return np.int32 if len(self.symbols) < 2**31 else np.int64

    def order(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sort suffixes: the numbers of ``positions``, which ascend, in the order of their suffixes (int32).

        Also returns the symbols that each suffix of this order shares with the one before it (int32), -1 if both agree
        for a period. Takes time in proportion to the suffixes, with a factor for the logarithm and one for repeats,
        which the period limits.
        """
        order, shared, ties = self._sorted(positions)
        if len(ties):
            sample = self.sample
            kernels.sort_ties(positions, order, ties, sample.cover, sample.ranks, sample.slots, sample.shifts)
        return order, shared

    @cached_property
    def sample(self) -> Sample:
        """The order of the sample, which is made the first time."""
        cover, period = self._cover, self._period
        periods = -(-len(self.symbols) // period)
        positions = (np.arange(periods)[:, None] * period + cover).ravel()
        positions = positions[positions < len(self.symbols)]
        order, _, ties = self._sorted(positions)
        ranks = np.empty(len(order), np.int32)
        ranks[order] = first_of_ties(len(order), ties)
        kernels.double_ranks(order, ranks, ties, np.empty(len(order), np.uint64), len(cover))
        slots = np.zeros(period, np.int64)
        slots[cover] = np.arange(len(cover))
        shifts = np.empty(period, np.int64)
        shifts[(cover[None, :] - cover[:, None]) % period] = cover[:, None]
        return Sample(cover, slots, shifts, ranks)

    def _sorted(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The order and what neighbours share, but for the ties: where groups that agree for a period begin and end."""
        order, keys = np.empty(len(positions), np.int32), np.empty(len(positions), np.uint64)
        begins = np.zeros(2**kernels.DEALT_BITS + 1, np.int64)
        kernels.deal(self.text, positions, order, keys, begins)
        shared = np.zeros(len(positions), np.int32)
        ties = kernels.sort_suffixes(self.text, positions, begins, order, keys, shared, self._period)
        return order, shared, ties


def packed_text(symbols: np.ndarray, empty: Empty = np.empty) -> kernels.Packed:
    """A text in as few bits as its symbols need, in memory that ``empty`` gives."""
    bits = max(int(symbols.max(initial=1)).bit_length(), 1)
    words = empty(len(symbols) * bits // 64 + 2, np.uint64)
    words[:] = 0
    kernels.pack(symbols, bits, words)
    return packed_words(words, bits)


def packed_words(words: np.ndarray, bits: int) -> kernels.Packed:
    """A text of packed symbols, and what its kernels need to know."""
    n = 64 // bits
    low = sum(((1 << (bits - 1)) - 1) << (bits * place) for place in range(n))
    used, last = np.uint64((1 << (bits * n)) - 1), np.uint64((1 << bits) - 1)
    return kernels.Packed(words, bits, n, np.uint64(low), used, last)


def first_of_ties(n: int, ties: np.ndarray) -> np.ndarray:
    """Places from 0 to ``n``, those of a tie (begin, end) all its first: int32."""
    places = np.arange(n, dtype=np.int32)
    lengths = ties[:, 1] - ties[:, 0]
    within = np.repeat(ties[:, 0] - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    places[within] = np.repeat(ties[:, 0], lengths)
    return places


def difference_cover(size: int) -> tuple[np.ndarray, int]:
    """Numbers modulo a period, such that every number is the difference of two of them; and the period.

    There are 6 r + 4 of them for a ``size`` of r, and the period is 24 r² + 36 r + 13 (Colbourn & Ling 2000).
    """
    r = size
    steps = chain(
        repeat(1, r), repeat(r + 1, 1), repeat(2 * r + 1, r), repeat(4 * r + 3, 2 * r + 1), repeat(2 * r + 2, r + 1),
        repeat(1, r),
    )  # fmt: skip
    return np.array(list(accumulate(steps, initial=0)), np.int64), 24 * r * r + 36 * r + 13
