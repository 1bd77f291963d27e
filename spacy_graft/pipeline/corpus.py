"""The extracted training corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import compress, tee
from struct import pack
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example

from ..digests import text_key
from ..extract.bags import Bags
from ..extract.batches import symbols_of_documents
from ..extract.blocks import (
    Block,
    ReadingBlock,
    is_combination_block,
    is_item_block,
    is_ngram_block,
    is_reading_block,
    is_vectors_block,
)
from ..extract.lengths import WORDS, document_lengths, length_of_words, reads_words
from ..extract.metadata import DocAttributes
from ..extract.streams import Stream, add_part, least_documents_of, numbers_of_texts
from ..extract.unread import document_text
from ..graft.data import TrainingData
from ..graft.emptiness import NEVER_POSITIVE, NOTHING_FOUND, NothingToLearnError, problem_of_weights
from ..graft.memory import has_many_labels
from ..held_out import fold_count, numbers_of_folds, rows_of_splits
from ..index.places import IndexPlace, InMemory
from ..messages import listed, warn
from .documents import Documents, ReadDocument
from .targets import Target, TargetReader, Targets

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from spacy.strings import StringStore


#: Documents that are objects before they become columns.
MOST_NEW = 4096


#: The symbols of a document by block.
DocSymbols = Mapping[ReadingBlock, np.ndarray]


class Pair(NamedTuple):
    """The two documents of an example, without what makes an Example large: it lists all of its words.

    Attributes
    ----------
    predicted : Doc
        As the component meets it.
    reference : Doc
        With its labels.
    """

    predicted: Doc
    reference: Doc


#: What is read of an example: two documents of one text.
DocPair = Example | Pair


class Collected(NamedTuple):
    """The documents of a corpus, replaced at once: Ctrl-C leaves none twice, and another thread counts none twice.

    Attributes
    ----------
    parts : list of Documents
    new : list of ReadDocument
        The last documents, which are in no part yet.
    new_keys : set of int
        Fingerprints of these, as far as they have been asked for.
    """

    parts: list[Documents]
    new: list[ReadDocument]
    new_keys: set[int]


class ExtractedCorpus:
    """Symbols and targets of the examples added so far; documents are not kept.

    Memory: the symbols (1 byte a character of texts in Latin script, 2 in others, 4 with emoji; 8 a token and
    attribute), 9 bytes a document and label, and 32 a document; twice the symbols while they are joined. When it is
    saved (:meth:`to_dict`): as much, but 2 or 4 bytes a token and attribute.

    Parameters
    ----------
    blocks : mapping of str to block
    reader : TargetReader
    place : InMemory, OnDisk or Dask, optional
        Where symbols and indexes are.
    """

    def __init__(self, blocks: Mapping[str, Block], reader: TargetReader, place: IndexPlace | None = None) -> None:
        self.blocks = blocks
        self.reader = reader
        self.place = InMemory() if place is None else place
        self.reading = {name: block for name, block in blocks.items() if is_reading_block(block)}
        #: Where documents have what blocks read of them besides the text.
        self._beyond_text = [
            key for block in blocks.values() if isinstance(block, DocAttributes) for key in block.stored_keys
        ]
        #: The block whose symbols are the words that define document lengths; without one, lengths are kept.
        self._words = next((name for name, block in self.reading.items() if reads_words(block)), None)
        self._collected = Collected([], [], set())
        #: That of the documents, if None.
        self._min_df: dict[str, int] | None = None
        #: Fingerprints of the parts, sorted, as far as they have been asked for.
        self._keys = np.empty(0, np.uint64)

    def __len__(self) -> int:
        parts, new, _ = self._collected
        return sum(map(len, parts)) + len(new)

    def add(self, examples: Iterable[DocPair]) -> None:
        """Add examples: symbols and length of the predicted document, targets of the reference."""
        # Documents are read in small batches.
        kept, read = tee(examples)
        for example, symbols in zip(kept, self._symbols(one.predicted for one in read), strict=True):
            target = self.reader.read(example.reference)
            self._append(symbols, target, self._fingerprint(example, target))

    def add_unseen(self, examples: Iterable[DocPair]) -> None:
        """Add the examples of another text, attributes, target or weight than all there are; none if one is refused."""
        new: dict[int, tuple[DocSymbols, Target]] = {}
        for example in examples:
            target = self.reader.read(example.reference)
            key = self._fingerprint(example, target)
            if key not in new and not self._has_seen(key):
                new[key] = next(self._symbols([example.predicted])), target
        for key, (symbols, target) in new.items():
            self._append(symbols, target, key)

    def has_all(self, examples: Iterable[DocPair]) -> bool:
        """Whether there are examples with the text, the attributes, the target and the weight of each of these."""
        return all(
            self._has_seen(self._fingerprint(example, self.reader.read(example.reference))) for example in examples
        )

    def followed_by(self, other: ExtractedCorpus) -> ExtractedCorpus:
        """The documents of both corpora, the other's last."""
        return self._of_documents([self.documents(), other.documents()])

    def documents(self) -> Documents:
        """All documents in one piece, in which the corpus keeps them from now on."""
        self._finish_part()
        parts, new, new_keys = self._collected
        if len(parts) != 1:
            empty = Documents.of([], self.reading, len(self.reader.labels), self.place)
            self._collected = Collected([Documents.joined(parts or [empty], self.place)], new, new_keys)
        return self._collected.parts[0]

    def some(self, rows: np.ndarray) -> ExtractedCorpus:
        """Some of the documents, by their numbers (int64), under ``min_df`` of all of them."""
        return self._of_documents([self.documents().some(rows, self.place)], self.min_df)

    def first(self, n: int) -> ExtractedCorpus:
        """The first documents, in the same memory."""
        return self._of_documents([self.documents().first(n)])

    def with_min_df(self, min_df: Mapping[str, int]) -> ExtractedCorpus:
        """The same documents with the ``min_df`` of another corpus, until more are added."""
        return self._of_documents([self.documents()], {**self.min_df, **min_df})

    def folds(self, n_folds: int | None = None) -> np.ndarray:
        """The fold of each document: int64 (n_documents); by default of :func:`.held_out.fold_count`.

        A document of which nothing is known judges nothing: it is in no fold, −1.
        """
        documents = self.documents()
        judging = documents.targets.are_known()
        texts = numbers_of_texts(documents.streams.values(), len(documents))
        of_judging = compress(documents.targets.label_sets(), judging), list(compress(texts, judging))
        fold_of = np.full(len(documents), -1)
        fold_of[judging] = numbers_of_folds(*of_judging, n_folds or fold_count(int(judging.sum())))
        return fold_of

    def splits(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """What folds keep and hold out, see :func:`.held_out.rows_of_splits`."""
        return rows_of_splits(self.folds(), self.documents().targets.values)

    def with_labels(self, reader: TargetReader) -> ExtractedCorpus:
        """The same documents for a component with more labels, which the documents say nothing of.

        Exclusive labels that a document does not have are 0; others are unknown.
        """
        n_new = len(reader.labels) - len(self.reader.labels)
        documents = self.documents()
        targets = documents.targets.with_labels(n_new, known=reader.exclusive)
        corpus = self._of_documents([replace(documents, targets=targets)])
        corpus.reader = reader
        return corpus

    def with_targets(self, values: np.ndarray, weight: float) -> ExtractedCorpus:
        """The same documents with other targets, all known, and one example weight.

        Parameters
        ----------
        values : float64 (n_documents, n_labels)
        weight : float
        """
        documents = self.documents()
        targets = Targets(values, np.ones(values.shape, np.bool_), np.full(len(values), weight))
        return self._of_documents([replace(documents, targets=targets)])

    def _of_documents(self, parts: list[Documents], min_df: dict[str, int] | None = None) -> ExtractedCorpus:
        """Other documents of the same blocks."""
        corpus = ExtractedCorpus(self.blocks, self.reader, self.place)
        corpus._collected, corpus._min_df = Collected(parts, [], set()), min_df
        return corpus

    def _has_seen(self, key: int) -> bool:
        parts, new, new_keys = self._collected
        if len(self._keys) < sum(map(len, parts)):
            # Quick where few are new, since this sort takes advantage of order.
            self._keys = np.sort(np.concatenate([part.keys for part in parts]), kind="stable")
        # Here and not where a document is added, lest Ctrl-C come between both. Copies are noted again.
        new_keys.update(document.key for document in new[len(new_keys) :])
        place = int(np.searchsorted(self._keys, np.uint64(key)))
        return key in new_keys or (place < len(self._keys) and int(self._keys[place]) == key)

    def _fingerprint(self, example: DocPair, target: Target) -> int:
        """A 64-bit hash that is equal for examples with the same text, attributes and target, in every process.

        It is the same when labels are added that the document says nothing of (:meth:`with_labels`).
        """
        known = np.empty(0, np.int64) if self.reader.exclusive else np.flatnonzero(target.known)
        of_labels = target.columns.tobytes() + target.numbers.tobytes() + known.tobytes()
        of_target = of_labels + pack("<qd", len(target.columns), target.weight)
        given = [example.predicted.user_data.get(key) for key in self._beyond_text]
        of_attributes = repr(given).encode("utf-8", "surrogatepass") if given else b""
        return text_key(document_text(example.reference), of_target + of_attributes)

    def _symbols(self, docs: Iterable[Doc]) -> Iterator[DocSymbols]:
        """The symbols of each document, for all blocks and for its length."""
        return symbols_of_documents(
            [*self.reading.values(), WORDS] if self._words is None else self.reading.values(), docs
        )

    def _append(self, symbols: DocSymbols, target: Target, key: int) -> None:
        length = length_of_words(symbols[WORDS]) if self._words is None else 0
        by_name = {name: symbols[block] for name, block in self.reading.items()}
        self._collected.new.append(ReadDocument(by_name, target, length, key))
        self._min_df = None
        if len(self._collected.new) == MOST_NEW:
            self._finish_part()

    def _finish_part(self) -> None:
        """Turn the last documents into columns."""
        parts, new, _ = self._collected
        if new:
            parts, part = list(parts), Documents.of(new, self.reading, len(self.reader.labels), self.place)
            add_part(parts, part, len, lambda some: Documents.joined(some, self.place))
            self._collected = Collected(parts, [], set())

    def to_dict(self, strings: StringStore) -> dict[str, Any]:
        """Plain values and arrays, for :meth:`from_dict`; symbols that are hashes are written as strings.

        Parameters
        ----------
        strings : StringStore
            Of the vocab of the documents.
        """
        return self.documents().to_dict(self.reading, strings)

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
            If a block cannot have the symbols, or what is there is not of as many documents and labels.
        """
        empty = cls(blocks, reader)
        return empty._of_documents([Documents.from_dict(saved, empty.reading, len(reader.labels), strings)])

    def training_data(self) -> TrainingData:
        """Return all documents as input of the learners.

        Raises
        ------
        ValueError
            If all documents are empty.

        Warns
        -----
        UserWarning
            If a label has no positive document, or the example weights are very small.
        """
        targets = self.documents().targets
        self._check_symbols()
        self._check_positives(targets.values)
        if problem := problem_of_weights(targets.weights):
            warn(f"[{self.reader.component}] {problem}")
        if has_many_labels(len(self), len(self.reader.labels), self.reader.exclusive):
            from scipy.sparse import csc_array  # not needed to load a component

            targets = replace(targets, values=csc_array(targets.values))
        else:
            targets = targets.dense()
        return TrainingData(
            **fields_of_blocks(self.blocks, self.streams(), self.min_df),
            targets=targets.values,
            known=targets.known,
            example_weights=targets.weights,
            lengths=self.lengths(),
            labels=tuple(self.reader.labels),
            exclusive=self.reader.exclusive,
            place=self.place,
        )

    def streams(self) -> dict[str, Stream]:
        """The symbols of all documents by block."""
        return self.documents().streams

    @property
    def min_df(self) -> dict[str, int]:
        """Least number of documents of a feature by block: that of these documents, or of those that they are of."""
        return least_documents_of(self.blocks, self.streams()) if self._min_df is None else self._min_df

    def lengths(self) -> np.ndarray:
        """Document lengths: float64 (n_documents)."""
        if self._words is not None:
            return document_lengths(self.streams()[self._words])
        return self.documents().lengths.astype(np.float64)

    def _check_symbols(self) -> None:
        empty = [name for name, stream in self.streams().items() if not len(stream.symbols)]
        if empty and len(empty) < len(self.reading):
            warn(
                f"[{self.reader.component}] {NOTHING_FOUND} {listed(empty)} in the training documents. If components "
                f"before this one annotate what they read, these must run in training as well (in spaCy's loop, "
                f"[training] annotating_components)."
            )
        if len(empty) == len(self.reading):
            raise NothingToLearnError(
                f"[{self.reader.component}] No block finds a symbol in the {len(self)} training documents: there is "
                f"nothing to learn from. The blocks: {listed(self.reading)}."
            )

    def _check_positives(self, targets: np.ndarray | csr_array) -> None:
        never = [label for label, total in zip(self.reader.labels, targets.sum(axis=0), strict=True) if total == 0.0]
        if never:
            warn(
                f"[{self.reader.component}] {NEVER_POSITIVE} {listed(never)}: the component will "
                f"hardly ever predict {'it' if len(never) == 1 else 'them'}."
            )


def fields_of_blocks(
    blocks: Mapping[str, Block], streams: Mapping[str, Stream], min_df: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """The fields of :class:`TrainingData` that follow from blocks and the symbols that they read.

    Document vectors also follow from the vectors of words (:mod:`spacy_graft.pipeline.vectors`). ``min_df`` is by
    default that of these documents (:func:`least_documents_of`).
    """
    min_df = least_documents_of(blocks, streams) if min_df is None else min_df
    blocks = {name: block for name, block in blocks.items() if not is_vectors_block(block)}
    ngram_blocks = {name: block for name, block in blocks.items() if is_ngram_block(block)}
    return {
        "streams": {name: streams[name] for name in ngram_blocks},
        "bags": {
            name: Bags.of_stream(streams[name], block.min_df, block.value)
            for name, block in blocks.items()
            if is_item_block(block)
        },
        "combinations": {name: block for name, block in blocks.items() if is_combination_block(block)},
        "min_df": {name: min_df[name] for name in blocks},
        "max_length": {name: block.max_length for name, block in ngram_blocks.items()},
        "penalty_factors": {name: block.penalty_factor for name, block in blocks.items()},
    }
