"""Many documents read at once: attributes of their tokens, and the blocks that need nothing else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .blocks import ReadingBlock
from .streams import Stream, starts_of, stream_of
from .unread import read_symbols, unread_text

if TYPE_CHECKING:
    from spacy.strings import StringStore
    from spacy.tokens import Doc

#: Tokens that are read at a time, if no document has more. Their symbols then fit into the processor's cache.
TOKENS = 2**12


@dataclass(frozen=True, eq=False)
class TokenBatch:
    """Attributes of the tokens of several documents, one document after the other.

    Memory: 16 bytes a token and attribute while it is made, then 8.

    Attributes
    ----------
    columns : dict of int to uint64 (n_tokens)
        Values by attribute, as in ``Doc.to_array``.
    starts : int64 (n_documents + 1)
        Document ``i`` has the tokens from ``starts[i]`` to ``starts[i + 1] - 1``.
    strings : StringStore
        Of the vocab of the documents.
    """

    columns: dict[int, np.ndarray]
    starts: np.ndarray
    strings: StringStore

    @classmethod
    def read(cls, docs: Sequence[Doc], attributes: Sequence[int]) -> TokenBatch:
        """Read attributes of documents, of which there is at least one; all have the same vocab."""
        # One call a document for all attributes: it takes a microsecond or two, however few the tokens.
        wanted: list[int | str] = list(attributes)
        rows = np.concatenate([doc.to_array(wanted) for doc in docs]).reshape(-1, len(wanted))
        columns = np.ascontiguousarray(rows.T)
        return cls(dict(zip(attributes, columns, strict=True)), starts_of(map(len, docs)), docs[0].vocab.strings)


class BatchReader(ABC):
    """A block that needs only attributes of tokens. It reads many documents at once, without Python for each of them.

    A subclass that has its own ``symbols`` is read document by document.
    """

    @property
    @abstractmethod
    def attributes(self) -> tuple[int, ...]:
        """The attributes, of :mod:`spacy.attrs`."""

    @abstractmethod
    def stream(self, tokens: TokenBatch) -> Stream:
        """Return the symbols of the documents. Those of one document do not depend on the others."""

    def symbols(self, doc: Doc) -> np.ndarray:
        """Return the symbols of a document: 1-D."""
        return self.stream(TokenBatch.read([doc], self.attributes)).symbols


def batch_reader(block: object) -> BatchReader | None:
    """The block itself, if its ``stream`` has the same symbols as its ``symbols``."""
    return block if isinstance(block, BatchReader) and type(block).symbols is BatchReader.symbols else None


def read_streams(blocks: Iterable[ReadingBlock], docs: Sequence[Doc]) -> dict[ReadingBlock, Stream]:
    """Return the symbols of documents by block.

    There is at least one document; all have the same vocab, and the annotation that the blocks need.

    Raises
    ------
    ValueError
        If a document lacks an annotation.
    """
    wanted = list(dict.fromkeys(blocks))
    if any(unread_text(doc) for doc in docs):
        return {block: stream_of(block, [read_symbols(block, doc) for doc in docs]) for block in wanted}
    readers = {block: reader for block in wanted if (reader := batch_reader(block))}
    parts: dict[ReadingBlock, list[np.ndarray]] = {block: [] for block in wanted if block not in readers}
    for doc in docs:
        for block in wanted:
            block.check(doc)
            if block in parts:
                parts[block].append(block.symbols(doc))
    streams = {block: stream_of(block, symbols) for block, symbols in parts.items()}
    if readers:
        attributes = dict.fromkeys(attribute for reader in readers.values() for attribute in reader.attributes)
        tokens = TokenBatch.read(docs, list(attributes))
        streams.update((block, reader.stream(tokens)) for block, reader in readers.items())
    return streams


def joined_streams(blocks: Mapping[str, ReadingBlock], docs: Iterable[Doc]) -> dict[str, Stream]:
    """The symbols of documents by the name of the block; a ValueError as of :func:`read_streams`."""
    batches = [read_streams(blocks.values(), batch) for batch in small_batches(docs)]
    if not batches:
        return {name: stream_of(block, []) for name, block in blocks.items()}
    return {name: Stream.concatenated([batch[block] for batch in batches]) for name, block in blocks.items()}


def symbols_of_documents(
    blocks: Iterable[ReadingBlock], docs: Iterable[Doc]
) -> Iterator[dict[ReadingBlock, np.ndarray]]:
    """Yield the symbols of each document by block. Documents are taken from ``docs`` in small batches.

    Raises
    ------
    ValueError
        If a document lacks an annotation.
    """
    wanted = list(blocks)
    for batch in small_batches(docs):
        streams = read_streams(wanted, batch)
        for number in range(len(batch)):
            yield {block: stream.document(number) for block, stream in streams.items()}


def small_batches(docs: Iterable[Doc]) -> Iterator[list[Doc]]:
    """Divide documents, in their order, into batches of one vocab: one document, or :data:`TOKENS` tokens at most.

    Documents without tokens are as many at most.
    """
    batch: list[Doc] = []
    n_tokens = 0
    for doc in docs:
        n_tokens += len(doc)
        if batch and (n_tokens > TOKENS or len(batch) == TOKENS or doc.vocab is not batch[0].vocab):
            yield batch
            batch, n_tokens = [], len(doc)
        batch.append(doc)
    if batch:
        yield batch
