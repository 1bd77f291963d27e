"""Models over texts, bytes and sequences that no tokenizer has touched; :mod:`spacy_graft.item_model` has those over
items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.sparse import issparse

from .estimator_files import SavedEstimator, checked_values
from .extract.blocks import BlockKind, as_reading_block
from .extract.feature_lengths import bounded_lengths
from .extract.streams import Stream, add_part, least_documents_of, numbers_of_texts
from .extract.texts import (
    SequenceReader,
    TextVectors,
    TextWords,
    Words,
    displayed_text,
    results_of_batches,
    sequence_length,
)
from .graft.constraints import FeatureNames
from .graft.data import TrainingData
from .graft.report import Report
from .graft.solution import Solution
from .index.places import IndexPlace, InMemory
from .item_model import ItemFeature
from .matrices import require_readable
from .messages import listed
from .model.loading import WORD_SCORES
from .model.matching import Blocks, CompiledFeatures
from .model.naming import texts_of
from .model.snapshot import Snapshot, counts_words, scorer_of_solutions, snapshot_of_solution

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: The name of the reader of words with vectors.
VECTORS_READER = "vectors"


@dataclass(frozen=True)
class ReadTexts:
    """What is kept of training texts.

    Attributes
    ----------
    streams : dict of str to Stream
        By the name of the reader.
    lengths : float64 (n_documents)
        What document weights are made of.
    min_df : dict of str to int
        Least number of documents of a feature, by reader.
    """

    streams: dict[str, Stream]
    lengths: np.ndarray
    min_df: dict[str, int]

    def __len__(self) -> int:
        return len(self.lengths)

    def numbers(self) -> list[int]:
        """Return a number for each document, the same for documents with the same symbols."""
        return numbers_of_texts(self.streams.values(), len(self))


class SnapshotModel:
    """A solution over documents, prepared for scoring others (:class:`.item_model.ScoringModel`)."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    @property
    def weights(self) -> np.ndarray | csr_array:
        return self.snapshot.weights

    @property
    def intercepts(self) -> np.ndarray:
        return self.snapshot.intercepts

    def features(self) -> Iterator[ItemFeature]:
        table, blocks = self.snapshot.features, self.snapshot.blocks
        for k, df in enumerate(table.df.tolist()):
            names = (as_reading_block(blocks[term.block]).text(term.symbols) for term in table.terms(k))
            yield ItemFeature(tuple(names), df)

    def by_column(self, coefficients: csr_array) -> csr_array:
        return coefficients

    def column_names(self, given: Sequence[str] | None) -> np.ndarray:
        return np.array([str(feature) for feature in self.features()], object)


class SnapshotSpace:
    """A :class:`.item_model.Space` whose models are each a :class:`SnapshotModel`, beside which nothing is kept."""

    def input_attributes(self) -> dict[str, Any]:
        return {}

    def saved_state(self) -> dict[str, Any]:
        return {}

    def snapshot(self, model: SnapshotModel) -> Snapshot:
        return model.snapshot


class TextSpace(SnapshotSpace):
    """N-grams of documents, as one or several readers see them.

    Parameters
    ----------
    readers : mapping of str to SequenceReader
    place : InMemory, OnDisk or Dask, optional
        Where symbols and indexes are.
    counts_words : bool
        Whether a learner will ask for the lengths of training documents; otherwise they are 1.
    """

    def __init__(
        self, readers: Mapping[str, SequenceReader], place: IndexPlace | None = None, counts_words: bool = False
    ) -> None:
        self.readers = dict(readers)
        self.place = InMemory() if place is None else place
        self.counts_words = counts_words
        self._words = Words()

    def learn(self, X: Iterable[Any], names: Sequence[str] | None = None) -> ReadTexts:
        """Read training documents batch by batch; they are not kept."""
        parts: dict[str, list[Stream]] = {name: [] for name in self.readers}
        lengths: list[int] = []
        join = partial(Stream.concatenated, empty=self.place.empty)

        def read(batch: list[Any]) -> list[int]:
            streams = {name: reader.stream(batch, self._words, True) for name, reader in self.readers.items()}
            for name, stream in streams.items():
                add_part(parts[name], self.place.kept(stream), lambda part: len(part.symbols), join)
            return lengths_of(batch, next(iter(streams.values()))) if self.counts_words else [1] * len(batch)

        for of_batch in results_of_batches(read, documents_of(X)):
            lengths += of_batch
        joined = {name: join(parts[name] or [Stream.join([], reader.dtype)]) for name, reader in self.readers.items()}
        return ReadTexts(joined, np.array(lengths, np.float64), least_documents_of(self._blocks, joined))

    def read(self, X: Iterable[Any]) -> Iterable[Any]:
        """Return other documents, to be read when they are scored."""
        return documents_of(X)

    def some(self, documents: ReadTexts, rows: np.ndarray) -> ReadTexts:
        streams = {name: stream.some(rows, self.place.empty) for name, stream in documents.streams.items()}
        return ReadTexts(streams, documents.lengths[rows], documents.min_df)

    def training_data(self, documents: ReadTexts, /, **of_documents: Any) -> TrainingData:
        readers = [(name, reader) for name, reader in self.readers.items() if reader.kind is BlockKind.NGRAMS]
        return TrainingData(
            streams={name: documents.streams[name] for name, _ in readers},
            min_df={name: documents.min_df[name] for name, _ in readers},
            max_length={name: reader.max_length for name, reader in readers},
            penalty_factors={name: reader.penalty_factor for name, reader in readers},
            lengths=documents.lengths,
            names=FeatureNames(partial(texts_of, self._blocks, cast("Any", self._words))),
            place=self.place,
            **of_documents,
        )

    def naming(self, X: Sequence[Any]) -> TextNaming:
        return TextNaming(self.readers, self._words, X)

    def model(self, solution: Solution, documents: ReadTexts) -> TextModel:
        snapshot = snapshot_of_solution(solution, self._blocks, cast("Any", self._words))
        if snapshot.word_scores is not None:
            snapshot = replace(snapshot, word_scores=snapshot.word_scores.written())
        return TextModel(snapshot)

    def scorer(self, documents: ReadTexts, like: Solution) -> Callable[[Solution], np.ndarray]:
        """Return what computes the scores of documents under a solution that has the same features as another."""
        words = cast("Any", self._words)
        return scorer_of_solutions(like, self._blocks, words, documents.streams, documents.lengths)

    def restored(self, saved: SavedEstimator, n_labels: int) -> tuple[TextModel, Report]:
        checked_values(saved.space)
        if WORD_SCORES in saved.model:
            self.readers[VECTORS_READER] = vectors_reader(self.readers)
        snapshot, report = saved.snapshot(self.readers, Words(), n_labels)
        return TextModel(snapshot), report

    @property
    def _blocks(self) -> Blocks:
        return cast("Blocks", self.readers)


@dataclass(frozen=True)
class TextNaming:
    """Names of n-grams, for a test of them, and the documents that they are shown in.

    Attributes
    ----------
    readers : dict of str to SequenceReader
    words : Words
        Of the training documents.
    documents : sequence
    """

    readers: Mapping[str, SequenceReader]
    words: Words
    documents: Sequence[Any]

    def kind(self, block: str) -> str:
        return self.readers[block].feature_kind

    def text(self, block: str, symbols: np.ndarray) -> str:
        return self.readers[block].text(self.readers[block].names(symbols, self.words))

    def context(self, document: int, block: str, symbols: np.ndarray) -> str:
        from .associations import first_place, text_around  # loads the compiler

        reader, given = self.readers[block], self.documents[document]
        spans = reader.offsets(given)
        if spans is None:
            return text_around(displayed_text(given), np.empty((0, 2)))
        own = reader.stream([given], self.words, False).symbols
        return text_around(displayed_text(given), first_place(own, spans, symbols))


class TextModel(SnapshotModel):
    """A solution over texts, prepared for scoring others.

    Parameters
    ----------
    snapshot : Snapshot
        Its blocks are readers.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__(snapshot)
        #: Before anything is read: a word that no feature has is the same as all others.
        self._words = Words(sorted({name for ngram in snapshot.features.ngrams for name in ngram}))

    @property
    def readers(self) -> dict[str, SequenceReader]:
        """The readers by name."""
        return cast("Any", self.snapshot.blocks)

    def scores(self, documents: Iterable[Any]) -> np.ndarray:
        return np.concatenate([np.empty((0, self.snapshot.n_labels)), *self.score_parts(documents)])

    def score_parts(self, documents: Iterable[Any]) -> Iterator[np.ndarray]:
        features = self.compiled()

        def scores(batch: list[Any]) -> np.ndarray:
            streams = self._read(features, batch)
            return self.snapshot.scores_of_streams(streams, self._lengths(batch), cast("Any", self._words))

        yield from results_of_batches(scores, documents)

    def contributions(self, documents: Iterable[Any]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for document in documents:
            rows = np.unique(self.occurrences(document)[:, 0])
            yield rows, np.full(len(rows), self.document_weight(document, rows))

    def symbols(self, document: Any, reader: str) -> np.ndarray:
        """Return the symbols of a document for one of the readers."""
        return self.readers[reader].stream([document], self._words, False).symbols

    def occurrences(self, document: Any) -> np.ndarray:
        """Return every occurrence of every feature, as :meth:`Snapshot.ngram_occurrences` does."""
        features = self.compiled()
        streams = self._read(features, [document])
        found = [automaton.occurrences(streams[name].symbols) for name, automaton in features.automata.items()]
        return np.concatenate([np.empty((0, 3), np.int64), *found])

    def document_weight(self, document: Any, rows: np.ndarray) -> float:
        """Return the weight of a document with these features."""
        snapshot = self.snapshot
        if not snapshot.mean_scale:
            return 1.0
        if len(snapshot.length_shares):
            lengths = bounded_lengths(np.atleast_1d(snapshot.length_shares[rows].sum()))
        else:
            lengths = self._lengths([document])
        return float(snapshot.mean_scale / np.sqrt(lengths[0]))

    def compiled(self) -> CompiledFeatures:
        """Return the features as they are matched."""
        return self.snapshot.matcher.compiled(self.snapshot.features, self.snapshot.blocks, cast("Any", self._words))

    def _read(self, features: CompiledFeatures, batch: Sequence[Any]) -> dict[str, Stream]:
        """The symbols of documents for those readers that have features, or for all in order to check documents."""
        names = [*(features.automata or self.readers)]
        if self.snapshot.word_scores is not None:
            names.append(self.snapshot.word_scores.block)
        return {name: self.readers[name].stream(batch, self._words, False) for name in names}

    def _lengths(self, batch: Sequence[Any]) -> np.ndarray:
        """The lengths of documents, where the model needs them."""
        if not counts_words(self.snapshot):
            return np.ones(len(batch))
        first = next(iter(self.readers.values()))
        # All words are told apart, those of the features and others.
        return np.array(lengths_of(batch, first.stream(batch, Words(), True)), np.float64)


def vectors_reader(readers: Mapping[str, SequenceReader]) -> TextVectors:
    """What reads the words whose vectors are averaged: those of the first reader of words."""
    for reader in readers.values():
        if isinstance(reader, TextWords):
            return TextVectors(min_df=1, lowercase=reader.lowercase, analyzer=reader.analyzer)
    raise ValueError(
        f"GraftTextClassifier: vectors are of words, but the analyzers are {listed(readers)}. Add 'word' or a function "
        f"that returns words."
    )


def documents_of(X: Any) -> Iterable[Any]:
    """The documents of a list, a column, the rows of a table, or anything else that can be iterated over.

    Raises
    ------
    ValueError
        If it is a single string, or nothing to iterate over.
    """
    if isinstance(X, str | bytes | bytearray):
        raise ValueError("Iterable over raw text documents expected, string object received.")
    require_readable("X", X)
    values = np.asarray(X) if hasattr(X, "__array__") else X
    if not isinstance(values, Iterable) or getattr(values, "shape", None) == () or issparse(values):
        raise ValueError(f"Documents must be a list or a column of texts, but are {X!r:.60}.")
    if isinstance(values, np.ndarray) and values.dtype.kind not in "iu" and values.size == len(values):
        # Python's own strings and bytes are quicker than NumPy's.
        return cast("Iterable[Any]", values.reshape(-1).tolist())
    return values


def lengths_of(documents: Sequence[Any], symbols: Stream) -> list[int]:
    """The lengths of documents, whose symbols are read already."""
    starts = symbols.starts.tolist()
    return [
        sequence_length(document, symbols.symbols[start:stop])
        for document, start, stop in zip(documents, starts[:-1], starts[1:], strict=True)
    ]
