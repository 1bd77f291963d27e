"""The columns of active features: lists of documents, or bits where they are dense."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..extract.streams import starts_of
from ..index.columns import Columns, concatenated, reordered
from .vector_kernels import pack_columns

#: A column of more than this share of the documents is kept as bits: a quarter of a list's memory or less. From here on
#: its two products together take no longer than those of a list (benchmarks/columns.py).
DENSE = 1 / 8
#: Documents of a number of bits.
WORD = 32
#: Bits that are unpacked at a time: into a byte each, and 16 more where one is set.
UNPACKED = 2**20


class PackedColumns(NamedTuple):
    """Columns; kernels read them by :func:`.kernels.column_documents`.

    Attributes
    ----------
    starts : int64 (columns + 1)
        Column ``r`` is at ``starts[r] : starts[r + 1]`` of the other two.
    entries : int32
        The documents of the column, ascending; or their bits, those of 32 documents in a number, the first lowest.
    values : float64
        As many as entries, or none where all are 1. Where there are bits, they are 1 and mean nothing.
    are_bits : bool (columns)
        Which columns are bits; those with values are not.
    """

    starts: np.ndarray
    entries: np.ndarray
    values: np.ndarray
    are_bits: np.ndarray

    @property
    def n_entries(self) -> int:
        """Documents of all columns together."""
        of_bits = np.repeat(self.are_bits, np.diff(self.starts))
        return int(np.bitwise_count(self.entries[of_bits].view(np.uint32)).sum(dtype=np.int64) + (~of_bits).sum())

    def column(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        """The documents of a column, ascending, and their values."""
        here = slice(self.starts[row], self.starts[row + 1])
        documents = self.entries[here]
        if self.are_bits[row]:
            documents = documents_of_bits(documents[None])
        elif len(self.values):
            return documents, self.values[here]
        return documents, np.ones(len(documents))

    def lists(self) -> Columns:
        """All as lists."""
        if not self.are_bits.any():
            return self[:3]
        n_entries = np.diff(self.starts)
        of_bits = np.repeat(self.are_bits, n_entries)
        bits = self.entries[of_bits].reshape(np.count_nonzero(self.are_bits), -1)
        lengths = n_entries.copy()
        lengths[self.are_bits] = np.bitwise_count(bits.view(np.uint32)).sum(axis=1, dtype=np.int64)
        starts, from_bits = starts_of(lengths), np.repeat(self.are_bits, lengths)
        documents = np.empty(starts[-1], np.int32)
        documents[from_bits], documents[~from_bits] = documents_of_bits(bits), self.entries[~of_bits]
        values = np.ones(len(documents) if len(self.values) else 0)
        if len(values):
            values[~from_bits] = self.values[~of_bits]
        return starts, documents, values

    def some(self, chosen: np.ndarray) -> PackedColumns:
        """Some of the columns (bool)."""
        lengths = np.diff(self.starts)
        starts, entries = starts_of(lengths[chosen]), np.repeat(chosen, lengths)
        values = needed_values(self.values[entries] if len(self.values) else self.values)
        return PackedColumns(starts, self.entries[entries], values, self.are_bits[chosen])

    def reordered(self, order: np.ndarray) -> PackedColumns:
        """The columns in another order (int64)."""
        return PackedColumns(*reordered(self[:3], order), self.are_bits[order])


def documents_of_bits(bits: np.ndarray) -> np.ndarray:
    """The documents of columns of bits (columns, n), one column after the other: int32."""
    n_rows = max(UNPACKED // max(WORD * bits.shape[1], 1), 1)
    parts = (bits[first : first + n_rows].view(np.uint8) for first in range(0, len(bits), n_rows))
    found = [np.nonzero(np.unpackbits(part, axis=1, bitorder="little"))[1].astype(np.int32) for part in parts]
    return np.concatenate([np.empty(0, np.int32), *found])


def packed_columns(columns: Columns, n_documents: int) -> PackedColumns:
    """Lists as bits where they are dense."""
    starts, documents, values = columns
    lengths, n_words = np.diff(starts), -(-n_documents // WORD)
    are_bits = (lengths > DENSE * n_documents) & (len(values) == 0)
    new_starts = starts_of(np.where(are_bits, n_words, lengths))
    entries = np.zeros(new_starts[-1], np.uint32)
    pack_columns(starts, documents, are_bits, new_starts, entries)
    return PackedColumns(new_starts, entries.view(np.int32), values, are_bits)


def joined_columns(parts: Sequence[PackedColumns]) -> PackedColumns:
    """Columns one after the other."""
    are_bits = [np.empty(0, np.bool_), *(part.are_bits for part in parts)]
    starts, entries, values = concatenated([part[:3] for part in parts])
    return PackedColumns(starts, entries, needed_values(values), np.concatenate(are_bits))


def needed_values(values: np.ndarray) -> np.ndarray:
    """Values, or none where all are 1: sums with values have other last digits, and must not depend on columns gone."""
    return values if len(values) and (values != 1.0).any() else np.empty(0)
