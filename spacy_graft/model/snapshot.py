"""What scores are computed from: one immutable value, so that a prediction always uses one model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..adjustment import Adjustment
from ..extract.batches import read_streams, small_batches
from ..extract.blocks import Block, VectorsBlock, as_reading_block, is_vectors_block
from ..extract.feature_lengths import bounded_lengths
from ..extract.streams import Stream
from ..graft.solution import adjusted_parts
from .item_matching import add_item_scores
from .matching import Blocks, CompiledFeatures, Matcher, compile_terms
from .naming import feature_table_of
from .table import FeatureTable, Vocabularies
from .weights import SparseWeights, are_equal, copied, dense_rows, for_kernels, with_column

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from spacy.strings import StringStore
    from spacy.tokens import Doc

    from ..graft.solution import Solution, Stability
    from ..vectors.word_scores import WordScores

#: The note that is the report of the training.
REPORT = "report"


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Features and weights that belong together.

    A model changes by replacing its snapshot, in one assignment. Whoever computes several things of one model reads the
    snapshot once: it stays as it is, even if another thread trains the model meanwhile.

    Attributes
    ----------
    blocks : Blocks
    features : FeatureTable
    weights : float64 (n_features, n_labels), or csr_array
        A copy of what is given, as the kernels read it. Not to be changed.
    intercepts : float64 (n_labels)
        A copy as well.
    mean_scale : float
        Document weights are ``mean_scale / sqrt(document length)``, or 1 if it is 0.
    length_shares : float64 (n_features)
        What each feature adds to the length of a document (:mod:`spacy_graft.extract.feature_lengths`). If empty, the
        length is the number of distinct words.
    word_scores : WordScores, optional
        What words with a vector add to the scores; document weights do not apply to it.
    vocabularies : Vocabularies
        Of the blocks whose item values depend on one.
    stability : Stability, optional
        How often the features were selected again, and intervals of their weights.
    notes : mapping of str to plain values
        What else is saved with these weights, such as the report of their training.
    matcher : Matcher
        The compiled features. Snapshots with the same features share it.

    Raises
    ------
    ValueError
        If there is not one row of weights a feature and one column a label.
    """

    blocks: Blocks
    features: FeatureTable
    weights: np.ndarray | csr_array
    intercepts: np.ndarray
    mean_scale: float = 0.0
    vocabularies: Vocabularies = field(default_factory=Vocabularies)
    notes: Mapping[str, Any] = field(default_factory=dict)
    matcher: Matcher = field(default_factory=Matcher)
    length_shares: np.ndarray = field(default_factory=partial(np.zeros, 0))
    word_scores: WordScores | None = None
    stability: Stability | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", copied(self.weights))
        object.__setattr__(self, "intercepts", np.array(self.intercepts, np.float64))
        object.__setattr__(self, "length_shares", np.array(self.length_shares, np.float64))
        check_shapes(self.features, self.weights, self.intercepts)
        check_shares(self.features, self.length_shares)
        check_word_scores(self.word_scores, self.blocks, self.n_labels)
        if self.stability is not None:
            self.stability.check_shape(self.features.n_features, self.n_labels)

    @classmethod
    def without_features(cls, blocks: Blocks, n_labels: int) -> Snapshot:
        """The snapshot of a model whose scores are all 0."""
        return cls(blocks, FeatureTable.empty(), np.zeros((0, n_labels)), np.zeros(n_labels))

    @property
    def n_labels(self) -> int:
        return len(self.intercepts)

    @property
    def report(self) -> Mapping[str, Any] | None:
        """What is saved of the report of the training, unchecked; None if there is none."""
        saved = self.notes.get(REPORT)
        return saved if isinstance(saved, dict) else None

    def compiled(self, doc: Doc) -> CompiledFeatures:
        """The features, compiled for the vocab of a document."""
        return self.matcher.compiled(self.features, self.blocks, doc.vocab.strings)

    def adjusted(self, adjustment: Adjustment, shares: np.ndarray) -> Snapshot:
        """The same features, with adjusted scores; ``shares``: those of labels among the training documents."""
        return replace(self, **adjusted_parts(self, adjustment, shares))

    def scores_like(self, other: Snapshot) -> bool:
        """Whether two snapshots, as of a component and of its fit, give every document the same scores."""
        return (
            self.features is other.features
            and self.mean_scale == other.mean_scale
            and self.vocabularies is other.vocabularies
            and self.word_scores is other.word_scores
            and all(
                np.array_equal(getattr(self, name), getattr(other, name)) for name in ("intercepts", "length_shares")
            )
            and are_equal(self.weights, other.weights)
        )

    def scores(self, docs: Sequence[Doc]) -> np.ndarray:
        """Return the scores of all labels: float64 (n_documents, n_labels)."""
        if not docs:
            return np.zeros((0, self.n_labels))
        features = self.compiled(docs[0])
        # Small batches stay in the processor cache, and bound the memory, however many documents there are.
        return np.concatenate([self._scores_of_batch(features, batch) for batch in small_batches(docs)])

    def _scores_of_batch(self, features: CompiledFeatures, docs: Sequence[Doc]) -> np.ndarray:
        """The scores of a batch of documents, which is not empty."""
        # Words are those of tokens: texts without tokens are scored without spaCy.
        from ..extract.lengths import WORDS, document_lengths, reads_words

        of_words = [] if self.word_scores is None else [self.word_scores.block]
        names = [*features.automata, *features.items.tables, *of_words]
        readers = {name: as_reading_block(self.blocks[name]) for name in names}
        words = next((block for block in readers.values() if reads_words(block)), WORDS)
        streams = read_streams([*readers.values(), words] if counts_words(self) else readers.values(), docs)
        lengths = document_lengths(streams[words]) if counts_words(self) else np.ones(len(docs))
        by_name = {name: streams[block] for name, block in readers.items()}
        return matched_scores(self, features, self.blocks, self._columns, by_name, lengths)

    def scores_of_streams(self, streams: Mapping[str, Stream], lengths: np.ndarray, strings: StringStore) -> np.ndarray:
        """Return the scores of documents that have been read: float64 (n_documents, n_labels).

        Parameters
        ----------
        streams : mapping of str to Stream
            By block.
        lengths : float64 (n_documents)
            Document lengths.
        strings : StringStore
            Of the vocab of the documents.
        """
        features = self.matcher.compiled(self.features, self.blocks, strings)
        return matched_scores(self, features, self.blocks, self._columns, streams, lengths)

    @cached_property
    def _columns(self) -> np.ndarray | SparseWeights:
        return columns_of(self)

    def ngram_occurrences(self, doc: Doc) -> np.ndarray:
        """Return every occurrence of every n-gram in a document.

        Returns
        -------
        int64 (n_occurrences, 3)
            The feature, its first symbol and one past its last in the stream of its block; the block's ``offsets`` map
            symbols to characters. Block by block, in the order of ends.
        """
        found = [np.empty((0, 3), np.int64)]
        automata = self.compiled(doc).automata
        streams = self._streams(automata, doc)
        for name, automaton in automata.items():
            found.append(automaton.occurrences(streams[name].symbols))
        return np.concatenate(found)

    def item_features(self, doc: Doc) -> tuple[np.ndarray, np.ndarray]:
        """Return the items and combinations of a document (int64 rows, ascending), and their values (float64)."""
        matcher = self.compiled(doc).items
        if not matcher.tables:
            return np.empty(0, np.int64), np.empty(0)
        _, rows, values = matcher.found(self._streams(matcher.tables, doc), self.blocks, self.vocabularies)
        order = np.argsort(rows)
        return rows[order], values[order]

    def contributions(
        self, doc: Doc, occurrences: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Return what the scores of a document are computed from: ``intercepts + scale * values @ weights``.

        ``occurrences`` are those of :meth:`ngram_occurrences`, if they are known.

        Returns
        -------
        features : int64 (n)
            The features of the document, ascending.
        values : float64 (n)
            Their values in it, without the document weight.
        weights : float64 (n, n_labels)
            Their weights.
        scale : float
            The document weight.
        """
        ngrams = np.unique((self.ngram_occurrences(doc) if occurrences is None else occurrences)[:, 0])
        others, values = self.item_features(doc)
        features = np.concatenate([ngrams, others])
        values = np.concatenate([np.ones(len(ngrams)), values])
        order = np.argsort(features)
        features, values = features[order], values[order]
        return features, values, dense_rows(self.weights, features), self._document_weight(doc, features, values)

    def word_contributions(self, doc: Doc) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What the words of a document with a vector add to its scores: the sum of ``values[:, None] * scores``.

        Returns
        -------
        rows : int64 (n)
            The words, as rows of the lexicon of :attr:`word_scores`.
        values : float64 (n)
        scores : float64 (n, n_labels)
        """
        if self.word_scores is None:
            return np.empty(0, np.int64), np.empty(0), np.empty((0, self.n_labels))
        block = self.word_scores.block
        return self.word_scores.contributions(self._streams([block], doc)[block].symbols)

    def _streams(self, names: Iterable[str], doc: Doc) -> dict[str, Stream]:
        """What some blocks read in a document, by block."""
        readers = {name: as_reading_block(self.blocks[name]) for name in names}
        streams = read_streams(readers.values(), [doc])
        return {name: streams[block] for name, block in readers.items()}

    def _document_weight(self, doc: Doc, features: np.ndarray, values: np.ndarray) -> float:
        if not self.mean_scale:
            return 1.0
        if counts_words(self):
            from ..extract.lengths import document_length

            return self.mean_scale / math.sqrt(document_length(doc))
        return float(self.mean_scale / np.sqrt(bounded_lengths(np.square(values) @ self.length_shares[features])))


def snapshot_of_solution(solution: Solution, blocks: Blocks, strings: StringStore) -> Snapshot:
    """The features and weights that training found, which are copied.

    ``strings`` are those of the vocab of the training documents.
    """
    return Snapshot(
        blocks,
        feature_table_of(solution, blocks, strings),
        solution.weights,
        solution.intercepts,
        float(solution.mean_scale),
        Vocabularies(solution.vocabularies),
        length_shares=solution.length_shares,
        word_scores=solution.word_scores,
        stability=solution.stability,
    )


def scorer_of_solutions(
    like: Solution, blocks: Blocks, strings: StringStore, streams: Mapping[str, Stream], lengths: np.ndarray
) -> Callable[[Solution], np.ndarray]:
    """Return what computes the scores of documents under solutions with the features of another, none of them named.

    Strings, streams and lengths are as of :meth:`Snapshot.scores_of_streams`; the vocab is that of the training
    documents as well.
    """
    features = compile_terms(like.terms, blocks, strings)
    return lambda solution: matched_scores(solution, features, blocks, columns_of(solution), streams, lengths)


def matched_scores(
    model: Snapshot | Solution,
    features: CompiledFeatures,
    blocks: Blocks,
    columns: np.ndarray | SparseWeights,
    streams: Mapping[str, Stream],
    lengths: np.ndarray,
) -> np.ndarray:
    """Return the scores of documents: float64 (n_documents, n_labels).

    Parameters
    ----------
    model : Snapshot or Solution
    features : CompiledFeatures
        Those of the model.
    blocks : Blocks
    columns : float64 (n_features, n_labels or one more), or SparseWeights
        :func:`columns_of` the model.
    streams : mapping of str to Stream
        By block.
    lengths : float64 (n_documents)
        Numbers of distinct words.
    """
    n_labels = len(model.intercepts)
    totals = np.zeros((len(lengths), n_labels + (len(model.length_shares) > 0)))
    for name, automaton in features.automata.items():
        automaton.add_scores(streams[name], columns, totals)
    if features.items.tables:
        by_name = {name: streams[name] for name in features.items.tables}
        found = features.items.found(by_name, blocks, model.vocabularies)
        add_item_scores(found, columns, model.length_shares, totals)
    if model.mean_scale:
        lengths = lengths if counts_words(model) else bounded_lengths(totals[:, -1])
        totals *= (model.mean_scale / np.sqrt(lengths))[:, np.newaxis]
    scores = model.intercepts + totals[:, :n_labels]
    if model.word_scores is not None:
        words = streams[model.word_scores.block]
        model.word_scores.add_scores(words.symbols, words.starts, scores)
    return scores


def counts_words(model: Snapshot | Solution) -> bool:
    """Whether the length of a document is the number of its distinct words."""
    return bool(model.mean_scale) and not len(model.length_shares)


def columns_of(model: Snapshot | Solution) -> np.ndarray | SparseWeights:
    """What is summed over the features of a document: their weights and, if any, their shares of its length."""
    columns = with_column(model.weights, model.length_shares) if len(model.length_shares) else model.weights
    if isinstance(columns, np.ndarray):
        return np.ascontiguousarray(columns, np.float64)
    return for_kernels(columns if columns.has_canonical_format else copied(columns))


def check_shapes(features: FeatureTable, weights: np.ndarray | csr_array, intercepts: np.ndarray) -> None:
    """Raise a ValueError unless weights have one row a feature and one column a label."""
    if intercepts.ndim != 1 or weights.shape != (features.n_features, len(intercepts)):
        raise ValueError(
            f"The model has {features.n_features} features, but W has the shape {weights.shape} and b has the shape "
            f"{intercepts.shape}: they do not belong together."
        )


def check_shares(features: FeatureTable, shares: np.ndarray) -> None:
    """Raise a ValueError unless there is one share of the length a feature, or none."""
    if shares.ndim != 1 or len(shares) not in (0, features.n_features):
        raise ValueError(
            f"The model has {features.n_features} features, but shares of document lengths have the shape "
            f"{shares.shape}: they do not belong together."
        )


def check_word_scores(word_scores: WordScores | None, blocks: Blocks, n_labels: int) -> None:
    """Raise a ValueError unless there is a score of each word for each label, and a block that reads the words."""
    if word_scores is None:
        return
    block_of_word_scores(blocks, word_scores.block)
    if word_scores.n_labels != n_labels:
        raise ValueError(f"The model has {n_labels} labels, but scores of words for {word_scores.n_labels}.")


def block_of_word_scores(blocks: Mapping[str, Block], name: str) -> VectorsBlock:
    """Return the block that reads the words with vectors; or raise a ValueError."""
    block = blocks.get(name)
    if block is None or not is_vectors_block(block):
        raise ValueError(
            f"The model has scores of words of block {name!r}, but its config has no such block of vectors. Use the "
            f"config that it was trained with."
        )
    return block
