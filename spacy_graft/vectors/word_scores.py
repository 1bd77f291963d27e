"""What words add to the scores of documents: vectors times weights, a number for each word and label.

Document i gets Σ_t s_t c_t / Σ_t s_t, over all tokens t that have a vector, as often as they occur. c_t are the scores
of the word, and s_t is its share: frequent words have small ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..extract.hashing import signed
from ..options import is_count
from .word_vectors import WordVectors


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Words with a vector.

    Attributes
    ----------
    words : tuple of str
        All different.
    symbols : uint64 (n_words)
        What the block that reads documents has for them.
    shares : float32 (n_words)
        s, above 0 and at most 1.
    known : int32 (n_words)
        Training documents with the word.
    """

    words: tuple[str, ...]
    symbols: np.ndarray
    shares: np.ndarray
    known: np.ndarray

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def _slots(self) -> np.ndarray:
        from ..extract.kernels import slots_of

        return slots_of(signed(self.symbols))

    def rows(self, symbols: np.ndarray) -> np.ndarray:
        """The row of each symbol (uint64), −1 for those without a vector: int32."""
        return found_rows(symbols, self.symbols, self._slots)

    def some(self, rows: np.ndarray) -> Lexicon:
        """Some of the words (int)."""
        words = tuple(self.words[row] for row in rows.tolist())
        return Lexicon(words, self.symbols[rows], self.shares[rows], self.known[rows])


def found_rows(symbols: np.ndarray, keys: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
    """The row of each symbol among the keys (uint64, both), −1 without one: int32; ``slots`` are those of the keys."""
    from ..extract.kernels import rows_of_keys, slots_of

    keys = signed(keys)
    return np.asarray(rows_of_keys(signed(symbols), slots_of(keys) if slots is None else slots, keys))


@dataclass(frozen=True, eq=False)
class Fold:
    """The scores of words as they follow from their vectors: c_t = (v_t − mean) · weights, kept as float32.

    Attributes
    ----------
    vectors : float32 (n_vectors, n_columns)
    places : int64 (n_words)
        The vector of each word.
    mean : float64 (n_columns)
    weights : float64 (n_columns, n_labels)
    """

    vectors: np.ndarray
    places: np.ndarray
    mean: np.ndarray
    weights: np.ndarray

    @property
    def n_labels(self) -> int:
        return self.weights.shape[1]

    def of(self, rows: np.ndarray) -> np.ndarray:
        """The scores of some words (int): float32 (n, n_labels)."""
        from . import kernels

        if len(rows) and not len(self.places):
            raise ValueError("The model has no vectors of words: load it as part of the pipeline that has them.")
        scores = np.empty((len(rows), self.n_labels), np.float32)
        kernels.fold(self.vectors, self.places[rows], self.mean, self.weights, scores)
        return scores

    def with_label(self) -> Fold:
        return replace(self, weights=np.pad(self.weights, ((0, 0), (0, 1))))

    def divided(self, divisor: float) -> Fold:
        return replace(self, weights=self.weights / divisor)


@dataclass(frozen=True, eq=False)
class WrittenScores:
    """The scores of words, written down: float32 (n_words, n_labels)."""

    table: np.ndarray

    @property
    def n_labels(self) -> int:
        return self.table.shape[1]

    def of(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self.table[rows])

    def with_label(self) -> WrittenScores:
        return WrittenScores(np.pad(self.table, ((0, 0), (0, 1))))

    def divided(self, divisor: float) -> WrittenScores:
        return WrittenScores((self.table / divisor).astype(np.float32))


@dataclass(frozen=True, eq=False)
class WordScores:
    """The scores of all words with a vector.

    Attributes
    ----------
    block : str
        The block that reads the words of documents.
    lexicon : Lexicon
    scores : Fold or WrittenScores
        Both have the same bits. During training they follow from the vectors, which saves to write them down for each
        trial.
    digest : str
        Of the vectors of the pipeline, if it has them for the model, which then keeps no scores. Else empty.
    """

    block: str
    lexicon: Lexicon
    scores: Fold | WrittenScores
    digest: str = ""

    @property
    def n_labels(self) -> int:
        return self.scores.n_labels

    def written(self) -> WordScores:
        """The same without the vectors, unless the pipeline has them; a ValueError if a score is out of range."""
        if isinstance(self.scores, WrittenScores) or self.digest:
            return self
        scores = self.scores.of(np.arange(len(self.lexicon)))
        finite = np.isfinite(scores).all(axis=1)
        if not finite.all():
            word = self.lexicon.words[int(np.argmin(finite))]
            raise ValueError(
                f"The vector of the word {word!r} is so large that its score is out of range. Leave it out."
            )
        return replace(self, scores=WrittenScores(scores))

    def with_vectors(self, given: WordVectors, symbols: np.ndarray) -> WordScores:
        """Scores that were read without vectors, with these; ``symbols`` (uint64) are those of their words."""
        assert isinstance(self.scores, Fold)
        rows = found_rows(self.lexicon.symbols, symbols)
        shares, known = np.ones(len(given), np.float32), np.zeros(len(given), np.int32)
        shares[rows], known[rows] = self.lexicon.shares, self.lexicon.known
        scores = replace(self.scores, vectors=given.vectors, places=given.places)
        return replace(self, lexicon=Lexicon(given.words, symbols, shares, known), scores=scores)

    def with_label(self) -> WordScores:
        """The same with one more label, to whose score words add nothing."""
        return replace(self, scores=self.scores.with_label())

    def divided(self, divisor: float) -> WordScores:
        """All scores divided by a number."""
        return replace(self, scores=self.scores.divided(divisor))

    def strongest(self, n: int, column: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The words that can move the score of a label (or of any, for None) most, strongest first.

        What counts is the score of a word times its share, which is small for frequent words.

        Returns
        -------
        rows : int64
            At most ``n``; words that move nothing are left out.
        scores : float64 (len(rows), n_labels)

        Raises
        ------
        ValueError
            If ``n`` is not an integer of at least 0.
        """
        if not is_count(n, 0):
            raise ValueError(f"n must be an integer of at least 0, but is {n!r}.")
        scores = self.scores.of(np.arange(len(self.lexicon))).astype(np.float64)
        moved = np.abs(scores) * self.lexicon.shares[:, None]
        strength = moved.max(axis=1) if column is None else moved[:, column]
        rows = np.argsort(-strength, kind="stable")[:n]
        rows = rows[strength[rows] > 0.0]
        return rows, scores[rows]

    def add_scores(self, symbols: np.ndarray, starts: np.ndarray, totals: np.ndarray) -> None:
        """Add to the scores of documents, float64 (n_documents, n_labels), those of their words.

        Parameters
        ----------
        symbols : uint64 (n_symbols)
            The words of document ``i`` are at ``starts[i] : starts[i + 1]``.
        starts : int64 (n_documents + 1)
        totals : float64 (n_documents, n_labels)
        """
        from . import kernels

        rows = self.lexicon.rows(symbols)
        if isinstance(self.scores, WrittenScores):
            kernels.add_word_scores(rows, starts, None, self.lexicon.shares, self.scores.table, totals)
            return
        distinct = np.unique(rows[rows >= 0])
        places = np.zeros(len(self.lexicon), np.int32)
        places[distinct] = np.arange(len(distinct))
        kernels.add_word_scores(rows, starts, places, self.lexicon.shares, self.scores.of(distinct), totals)

    def contributions(self, symbols: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What the words of one document add to its scores: the sum of ``values[:, None] * scores``.

        Parameters
        ----------
        symbols : uint64 (n_symbols)

        Returns
        -------
        rows : int64 (n)
            Its words with a vector, ascending.
        values : float64 (n)
            The part of each in the shares of all; these sum to 1.
        scores : float64 (n, n_labels)
        """
        found = self.lexicon.rows(symbols)
        rows, counts = np.unique(found[found >= 0], return_counts=True)
        shares = counts * self.lexicon.shares[rows].astype(np.float64)
        return rows.astype(np.int64), shares / shares.sum(), self.scores.of(rows).astype(np.float64)
