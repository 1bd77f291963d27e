"""The columns of documents that have been read: symbols, lengths, targets, fingerprints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..extract.blocks import ReadingBlock, is_item_block
from ..extract.streams import Stream, narrow, starts_of, stream_of
from ..index.places import IndexPlace
from .targets import Target, Targets

if TYPE_CHECKING:
    from spacy.strings import StringStore


@dataclass(frozen=True)
class ReadDocument:
    """What is kept of one document.

    Attributes
    ----------
    symbols : dict of str to array
        By block.
    target : Target
    length : int
    key : int
        Its fingerprint, 64 bits.
    """

    symbols: dict[str, np.ndarray]
    target: Target
    length: int
    key: int


@dataclass(frozen=True)
class Documents:
    """The same of many documents, without an object for each.

    Attributes
    ----------
    streams : dict of str to Stream
        By block.
    targets : Targets
    lengths : int64 (n_documents)
    keys : uint64 (n_documents)
    """

    streams: dict[str, Stream]
    targets: Targets
    lengths: np.ndarray
    keys: np.ndarray

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def of(
        cls, documents: Sequence[ReadDocument], blocks: Mapping[str, ReadingBlock], n_labels: int, place: IndexPlace
    ) -> Documents:
        """The columns of documents of these blocks and labels, in a place."""
        return cls(
            {
                name: place.kept(stream_of(block, [one.symbols[name] for one in documents]))
                for name, block in blocks.items()
            },
            Targets.of([one.target for one in documents], n_labels),
            np.array([one.length for one in documents], np.int64),
            np.array([one.key for one in documents], np.uint64),
        )

    @classmethod
    def joined(cls, parts: Sequence[Documents], place: IndexPlace) -> Documents:
        """All documents of parts with the same blocks and labels, at least one part, in one place."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            {
                name: Stream.concatenated([part.streams[name] for part in parts], place.empty)
                for name in parts[0].streams
            },
            Targets.joined([part.targets for part in parts]),
            np.concatenate([part.lengths for part in parts]),
            np.concatenate([part.keys for part in parts]),
        )

    def some(self, rows: np.ndarray, place: IndexPlace) -> Documents:
        """Some of the documents, by their numbers (int64), in a place."""
        return Documents(
            {name: stream.some(rows, place.empty) for name, stream in self.streams.items()},
            self.targets.some(rows),
            self.lengths[rows],
            self.keys[rows],
        )

    def first(self, n: int) -> Documents:
        """The first documents, their symbols in the same memory."""
        streams = {name: stream.first(n) for name, stream in self.streams.items()}
        return Documents(streams, self.targets.some(np.arange(n)), self.lengths[:n], self.keys[:n])

    def to_dict(self, blocks: Mapping[str, ReadingBlock], strings: StringStore) -> dict[str, Any]:
        """Plain values and arrays, for :meth:`from_dict`; symbols that are hashes are written as strings."""
        targets = self.targets.dense()
        return {
            "symbols": {name: packed(block, self.streams[name], strings) for name, block in blocks.items()},
            "lengths": self.lengths.astype(np.uint32),
            "targets": targets.values,
            "known": targets.known.astype(np.uint8),
            "weights": targets.weights,
            "seen": self.keys,
        }

    @classmethod
    def from_dict(
        cls, saved: Mapping[str, Any], blocks: Mapping[str, ReadingBlock], n_labels: int, strings: StringStore
    ) -> Documents:
        """What :meth:`to_dict` wrote; strings of the symbols are added to ``strings``.

        Raises
        ------
        ValueError
            If a block cannot have the symbols, or what is there is not of as many documents and labels.
        """
        documents = cls(
            {name: unpacked(block, saved["symbols"][name], strings) for name, block in blocks.items()},
            Targets(saved["targets"].astype(np.float64), saved["known"].astype(np.bool_), saved["weights"]),
            saved["lengths"].astype(np.int64),
            saved["seen"].astype(np.uint64),
        )
        documents._check(n_labels)
        return documents

    def _check(self, n_labels: int) -> None:
        """Raise a ValueError if columns are not of the same documents, or targets are none."""
        n, targets = len(self), self.targets
        rows = [targets.weights, self.lengths, *(stream.starts[1:] for stream in self.streams.values())]
        if any(column.shape != (n,) for column in rows):
            raise ValueError("its columns have different lengths")
        if targets.values.shape != (n, n_labels) or targets.known.shape != (n, n_labels):
            raise ValueError(f"its targets are not those of {n_labels} labels")
        if any(stream.starts[-1] != len(stream.symbols) for stream in self.streams.values()):
            raise ValueError("its documents have more or fewer symbols than there are")
        if not ((targets.values >= 0.0) & (targets.values <= 1.0)).all():
            raise ValueError("its targets are not from 0 to 1")
        if not ((targets.weights > 0.0) & (targets.weights < np.inf)).all():
            raise ValueError("its weights are not positive numbers")


def packed(block: ReadingBlock, stream: Stream, strings: StringStore) -> dict[str, Any]:
    """The symbols of a block in plain values and arrays, as narrow as they can be."""
    counts = np.diff(stream.starts).astype(np.uint32)
    if block.dtype is np.uint32:
        return {"counts": counts, "codes": narrow(stream.symbols), "names": []}
    distinct, codes = np.unique(stream.symbols, axis=0, return_inverse=True)
    names = [name for symbols in distinct for name in block.names(np.atleast_1d(symbols), strings)]
    return {"counts": counts, "codes": narrow(codes.reshape(-1)), "names": names}


def unpacked(block: ReadingBlock, saved: Mapping[str, Any], strings: StringStore) -> Stream:
    """The stream which :func:`packed` was given."""
    symbols = saved["codes"]
    if block.dtype is not np.uint32:
        distinct = block.values(saved["names"], strings)
        symbols = (distinct.reshape(-1, block.width) if is_item_block(block) else distinct)[symbols]
    return Stream(symbols, starts_of(saved["counts"].astype(np.int64)))
