"""The extracted training corpus."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from hashlib import blake2b
from struct import pack
from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example

from ..extract.bags import Bags
from ..extract.blocks import Block, ReadingBlock, is_combination_block, is_item_block, is_ngram_block, is_reading_block
from ..extract.lengths import document_length, document_lengths, reads_words
from ..extract.streams import Stream, stream_of
from ..extract.unread import document_text, read_symbols
from ..graft.data import TrainingData
from ..messages import listed
from .targets import Target, TargetReader, Targets

if TYPE_CHECKING:
    from spacy.strings import StringStore


class ExtractedCorpus:
    """Symbols and targets of the examples added so far; documents are not kept.

    Memory: the symbols (4 bytes a character, 8 a token and attribute), and 9 bytes a document and label. When it is
    saved (:meth:`to_dict`): 1 byte a character of texts in Latin script and 2 in others, 2 or 4 a token and attribute,
    and 9 bytes a document and label.

    Parameters
    ----------
    blocks : mapping of str to block
    reader : TargetReader
    """

    def __init__(self, blocks: Mapping[str, Block], reader: TargetReader) -> None:
        self.blocks = blocks
        self.reader = reader
        self.reading = {name: block for name, block in blocks.items() if is_reading_block(block)}
        self._symbols: dict[str, list[np.ndarray]] = {name: [] for name in self.reading}
        #: The block whose symbols are the words that define document lengths; without one, lengths are kept.
        self._words = next((name for name, block in self.reading.items() if reads_words(block)), None)
        self._lengths: list[int] = []
        self._targets: list[Target] = []
        self._seen: set[int] = set()

    def __len__(self) -> int:
        return len(self._targets)

    def add(self, example: Example) -> None:
        """Add an example: symbols and length of the predicted document, targets of the reference."""
        target = self.reader.read(example.reference)
        self._extract(example.predicted, target, fingerprint(example, target))

    def add_unseen(self, example: Example) -> None:
        """Add an example unless there is one with the same text, targets and weight."""
        target = self.reader.read(example.reference)
        key = fingerprint(example, target)
        if key not in self._seen:
            self._extract(example.predicted, target, key)

    def followed_by(self, other: ExtractedCorpus) -> ExtractedCorpus:
        """The documents of both corpora, the other's last."""
        corpus = copy(self)
        corpus._symbols = {name: [*parts, *other._symbols[name]] for name, parts in self._symbols.items()}
        corpus._lengths = self._lengths + other._lengths
        corpus._targets = self._targets + other._targets
        corpus._seen = self._seen | other._seen
        return corpus

    def _extract(self, doc: Doc, target: Target, key: int) -> None:
        symbols = {name: read_symbols(block, doc) for name, block in self.reading.items()}
        self._targets.append(target)
        for name, part in symbols.items():
            self._symbols[name].append(part)
        if self._words is None:
            self._lengths.append(document_length(doc))
        self._seen.add(key)

    def with_labels(self, reader: TargetReader) -> ExtractedCorpus:
        """The same documents for a component with more labels, which the documents say nothing of.

        Exclusive labels that a document does not have are 0; others are unknown.
        """
        n_new = len(reader.labels) - len(self.reader.labels)
        corpus = copy(self)
        corpus.reader = reader
        corpus._targets = [
            replace(
                target,
                values=np.append(target.values, np.zeros(n_new)),
                known=np.append(target.known, np.full(n_new, reader.exclusive)),
            )
            for target in self._targets
        ]
        return corpus

    def to_dict(self, strings: StringStore) -> dict[str, Any]:
        """Plain values and arrays, for :meth:`from_dict`; symbols that are hashes are written as strings.

        Parameters
        ----------
        strings : StringStore
            Of the vocab of the documents.
        """
        targets = self.targets()
        return {
            "symbols": {name: packed(block, self._joined(name), strings) for name, block in self.reading.items()},
            "lengths": np.array(self._lengths, np.uint32),
            "targets": targets.values,
            "known": targets.known.astype(np.uint8),
            "weights": targets.weights,
            "seen": np.array(sorted(self._seen), np.uint64),
        }

    @classmethod
    def from_dict(
        cls, saved: Mapping[str, Any], blocks: Mapping[str, Block], reader: TargetReader, strings: StringStore
    ) -> ExtractedCorpus:
        """The corpus that :meth:`to_dict` wrote, of a component with the same blocks and labels.

        Parameters
        ----------
        saved : dict
        blocks : mapping of str to block
        reader : TargetReader
        strings : StringStore
            Strings of the symbols are added to it.

        Raises
        ------
        ValueError
            If a block cannot have the symbols.
        """
        corpus = cls(blocks, reader)
        for name, block in corpus.reading.items():
            corpus._symbols[name] = unpacked(block, saved["symbols"][name], strings)
        corpus._lengths = saved["lengths"].tolist()
        columns = saved["targets"], saved["known"].astype(np.bool_), saved["weights"].tolist()
        corpus._targets = [Target(*of_document) for of_document in zip(*columns, strict=True)]
        corpus._seen = set(saved["seen"].tolist())
        return corpus

    def training_data(self) -> TrainingData:
        """Return all documents as input of the learners.

        Raises
        ------
        ValueError
            If all documents are empty.

        Warns
        -----
        UserWarning
            If a label has no positive document.
        """
        targets = self.targets()
        self._check_symbols()
        self._check_positives(targets.values)
        streams = self.streams()
        ngram_blocks = {name: block for name, block in self.blocks.items() if is_ngram_block(block)}
        return TrainingData(
            streams={name: streams[name] for name in ngram_blocks},
            bags={
                name: Bags.of_stream(streams[name], block.min_df, block.value)
                for name, block in self.blocks.items()
                if is_item_block(block)
            },
            combinations={name: block for name, block in self.blocks.items() if is_combination_block(block)},
            min_df={name: block.min_df for name, block in self.blocks.items()},
            max_length={name: block.max_length for name, block in ngram_blocks.items()},
            penalty_factors={name: block.penalty_factor for name, block in self.blocks.items()},
            targets=targets.values,
            known=targets.known,
            example_weights=targets.weights,
            lengths=self.lengths(streams),
            labels=tuple(self.reader.labels),
            exclusive=self.reader.exclusive,
        )

    def targets(self) -> Targets:
        """The targets of all documents."""
        n, n_labels = len(self), len(self.reader.labels)
        return Targets(
            np.array([target.values for target in self._targets]).reshape(n, n_labels),
            np.array([target.known for target in self._targets], np.bool_).reshape(n, n_labels),
            np.array([target.weight for target in self._targets]),
        )

    def streams(self) -> dict[str, Stream]:
        """The symbols of all documents by block."""
        return {name: self._joined(name) for name in self.reading}

    def lengths(self, streams: Mapping[str, Stream]) -> np.ndarray:
        """Document lengths, of which :meth:`streams` may have the words: float64 (n_documents)."""
        return np.array(self._lengths, np.float64) if self._words is None else document_lengths(streams[self._words])

    def _joined(self, name: str) -> Stream:
        """The stream of a block; the arrays it is joined from are replaced by views, so no symbol is stored twice."""
        stream = stream_of(self.reading[name], self._symbols[name])
        self._symbols[name] = np.split(stream.symbols, stream.starts[1:-1])
        return stream

    def _check_symbols(self) -> None:
        if not any(len(symbols) for parts in self._symbols.values() for symbols in parts):
            raise ValueError(
                f"[{self.reader.component}] No block finds a symbol in the {len(self)} training documents: there is "
                f"nothing to learn from. The blocks: {listed(self.reading)}."
            )

    def _check_positives(self, targets: np.ndarray) -> None:
        never = [label for label, total in zip(self.reader.labels, targets.sum(axis=0), strict=True) if total == 0.0]
        if never:
            warnings.warn(
                f"[{self.reader.component}] No training document is positive for {listed(never)}: the component will "
                f"hardly ever predict {'it' if len(never) == 1 else 'them'}.",
                stacklevel=2,
            )


def fingerprint(example: Example, target: Target) -> int:
    """A 64-bit hash that is equal for examples with the same text and target, in every process."""
    text = document_text(example.reference).encode("utf-8", "surrogatepass")
    digest = blake2b(target.values.tobytes() + target.known.tobytes() + pack("<d", target.weight), digest_size=8)
    digest.update(text)
    return int.from_bytes(digest.digest(), "little")


def packed(block: ReadingBlock, stream: Stream, strings: StringStore) -> dict[str, Any]:
    """The symbols of a block in plain values and arrays, as narrow as they can be."""
    counts = np.diff(stream.starts).astype(np.uint32)
    if block.dtype is np.uint32:
        return {"counts": counts, "codes": narrow(stream.symbols), "names": []}
    distinct, codes = np.unique(stream.symbols, axis=0, return_inverse=True)
    names = [name for symbols in distinct for name in block.names(np.atleast_1d(symbols), strings)]
    return {"counts": counts, "codes": narrow(codes.reshape(-1)), "names": names}


def unpacked(block: ReadingBlock, saved: Mapping[str, Any], strings: StringStore) -> list[np.ndarray]:
    """The symbols of each document, which :func:`packed` was given."""
    symbols = saved["codes"].astype(block.dtype)
    if block.dtype is not np.uint32:
        distinct = block.values(saved["names"], strings)
        symbols = (distinct.reshape(-1, block.width) if is_item_block(block) else distinct)[saved["codes"]]
    return np.split(symbols, np.cumsum(saved["counts"].astype(np.int64))[:-1]) if len(saved["counts"]) else []


def narrow(numbers: np.ndarray) -> np.ndarray:
    """The same numbers in the smallest unsigned type that holds them."""
    return numbers.astype(np.min_scalar_type(numbers.max(initial=0)))
