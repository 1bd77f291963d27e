"""Streams: one sequence of symbols a document, concatenated for the index."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from .blocks import Block, ReadingBlock, is_item_block, least_documents

PartT = TypeVar("PartT")

#: Symbols that are copied at once, or a whole document: their places take 16 bytes each.
COPIED_AT_ONCE = 1 << 20
#: Parts of like sizes that are joined while more come.
JOINED_PARTS = 16
#: Gives an array of a shape and a dtype, as :func:`numpy.empty` does; where it is, is the place's matter.
Empty = Callable[[Any, Any], np.ndarray]


@dataclass(frozen=True)
class Stream:
    """The symbols of all documents, one after the other.

    Attributes
    ----------
    symbols : uint8, uint16, uint32 or uint64, (n_symbols,) or (n_symbols, width)
        Code points, or in eight bytes the values of a token attribute. Code points are read as uint32, and kept in
        memory as :attr:`narrowed`. The code point 0 is a break: no n-gram contains it. For blocks of items, each row is
        an item.
    starts : int64 (n_documents + 1)
        Document ``i`` is ``symbols[starts[i] : starts[i + 1]]``.
    """

    symbols: np.ndarray
    starts: np.ndarray

    @classmethod
    def join(
        cls,
        documents: Iterable[np.ndarray],
        dtype: type[np.unsignedinteger],
        width: int | None = None,
    ) -> Stream:
        """Concatenate the symbol arrays of the documents: (n,) each or, where ``width`` is given, (n, width)."""
        parts = list(documents)
        rows = () if width is None else (width,)
        symbols = np.concatenate([np.empty((0, *rows), dtype), *parts], dtype=dtype, casting="same_kind")
        return cls(symbols, starts_of(map(len, parts)))

    @classmethod
    def concatenated(cls, streams: Sequence[Stream], empty: Empty = np.empty) -> Stream:
        """The documents of several streams of one block, at least one stream, in their order.

        ``empty`` gives the memory.
        """
        if len(streams) == 1:
            return streams[0]
        ends = np.cumsum([stream.starts[-1] for stream in streams])
        starts = [stream.starts[1:] + end - stream.starts[-1] for stream, end in zip(streams, ends, strict=True)]
        dtype = np.result_type(*(stream.symbols.dtype for stream in streams))
        symbols = empty((int(ends[-1]), *streams[0].symbols.shape[1:]), dtype)
        np.concatenate([stream.symbols for stream in streams], out=symbols)
        return cls(symbols, np.concatenate([np.zeros(1, np.int64), *starts]))

    def some(self, rows: np.ndarray, empty: Empty = np.empty) -> Stream:
        """Some documents, by their numbers (int64); ``empty`` gives the memory."""
        counts = np.diff(self.starts)[rows]
        starts = starts_of(counts)
        symbols = empty((int(starts[-1]), *self.symbols.shape[1:]), self.symbols.dtype)
        moved = self.starts[rows] - starts[:-1]
        for first, last in parts_of_about(COPIED_AT_ONCE, starts):
            begin, end = starts[first], starts[last]
            symbols[begin:end] = self.symbols[np.repeat(moved[first:last], counts[first:last]) + np.arange(begin, end)]
        return Stream(symbols, starts)

    def first(self, n: int) -> Stream:
        """The first documents, in the same memory."""
        return Stream(self.symbols[: self.starts[n]], self.starts[: n + 1])

    @property
    def narrowed(self) -> Stream:
        """The same stream, code points in the smallest type that holds them: texts in Latin script take a quarter."""
        return Stream(narrow(self.symbols), self.starts) if has_code_points(self.symbols) else self

    @property
    def n_documents(self) -> int:
        return len(self.starts) - 1

    def document(self, number: int) -> np.ndarray:
        """The symbols of one document, in the same memory."""
        return self.symbols[self.starts[number] : self.starts[number + 1]]

    def __iter__(self) -> Iterator[np.ndarray]:
        """The symbols of each document, in the same memory."""
        return (self.symbols[begin:end] for begin, end in pairwise(self.starts.tolist()))


def starts_of(lengths: Iterable[int] | np.ndarray) -> np.ndarray:
    """Where each of several parts of these lengths begins, and where the last ends: int64 (parts + 1)."""
    counts = lengths if isinstance(lengths, np.ndarray) else np.fromiter(lengths, np.int64)
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, dtype=np.int64, out=starts[1:])
    return starts


def parts_of_about(size: int, starts: np.ndarray) -> Iterator[tuple[int, int]]:
    """Ranges of consecutive rows with about so many entries each; a longer row is a range of its own.

    ``starts`` (rows + 1) is where the entries of each row begin. A range may be empty.
    """
    cuts = np.searchsorted(starts, np.arange(0, starts[-1], size)).tolist()
    return pairwise([*cuts, len(starts) - 1])


def has_code_points(symbols: np.ndarray) -> bool:
    """Whether symbols are small numbers, of which 0 is a break, and not hashes."""
    return symbols.ndim == 1 and symbols.dtype.itemsize < 8


def narrow(numbers: np.ndarray) -> np.ndarray:
    """The same numbers in the smallest unsigned type that holds them; not copied if they are."""
    return numbers.astype(np.min_scalar_type(numbers.max(initial=0)), copy=False)


def add_part(
    parts: list[PartT], part: PartT, size: Callable[[PartT], int], join: Callable[[list[PartT]], PartT]
) -> None:
    """Add a part to some that are to be joined, of which there never are many: each can be an open file.

    As soon as there are :data:`JOINED_PARTS` of like sizes, they become one. So everything is copied a number of times
    that grows with the logarithm of the parts.
    """
    parts.append(part)
    while len(parts) >= JOINED_PARTS and size(parts[-JOINED_PARTS]) < JOINED_PARTS * size(parts[-1]):
        parts[-JOINED_PARTS:] = [join(parts[-JOINED_PARTS:])]


def numbers_of_texts(streams: Collection[Stream], n_documents: int) -> list[int]:
    """A number for each document, the same for documents with the same symbols in all of the streams."""
    return [hash(tuple(stream.document(i).tobytes() for stream in streams)) for i in range(n_documents)]


def stream_of(block: ReadingBlock, documents: Iterable[np.ndarray]) -> Stream:
    """The stream of a block from the symbols of the documents."""
    return Stream.join(documents, block.dtype, block.width if is_item_block(block) else None)


def least_documents_of(blocks: Mapping[str, Block], streams: Mapping[str, Stream]) -> dict[str, int]:
    """Least number of documents of a feature by block; ``streams`` are what blocks read of all training documents."""
    sizes = {name: (stream.n_documents, len(stream.symbols)) for name, stream in streams.items()}
    return {name: least_documents(block, *sizes.get(name, (0, 0))) for name, block in blocks.items()}
