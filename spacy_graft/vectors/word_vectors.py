"""Vectors of words, as they are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class WordVectors:
    """A vector for each of some words.

    Attributes
    ----------
    words : tuple of str
        All different, none empty.
    vectors : float32 (n_vectors, n_columns)
        Finite.
    source : str
        Where they are from, for messages.
    rows : int64 (n_words), optional
        The vector of each word, where words share some; by default each has its own.

    Raises
    ------
    ValueError
        If words and vectors do not fit, a word is there twice, or a row is no row of the vectors.
    """

    words: tuple[str, ...]
    vectors: np.ndarray
    source: str = "word vectors"
    rows: np.ndarray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(self.words))
        object.__setattr__(self, "vectors", checked_table(self.vectors, self.source))
        rows = np.arange(len(self.vectors)) if self.rows is None else np.asarray(self.rows)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or (rows < 0).any() or (rows >= len(self.vectors)).any():
            raise ValueError(f"{self.source}: rows must be numbers of vectors, from 0 to {len(self.vectors) - 1:,}.")
        object.__setattr__(self, "rows", rows.astype(np.int64, copy=False))
        if len(self.words) != len(self.places):
            raise ValueError(f"{self.source}: there are {len(self.words):,} words and {len(self.places):,} vectors.")
        check_words(self.words, self.source)

    def __len__(self) -> int:
        return len(self.words)

    @property
    def places(self) -> np.ndarray:
        """The vector of each word: int64 (n_words)."""
        assert self.rows is not None
        return self.rows

    def as_written(self, form: Callable[[str], str | None]) -> WordVectors:
        """The vectors of words as documents write them, such as in lower case; words without a form are left out.

        Of words with the same form, that which is written so has the vector, or else the first: :meth:`digest` then
        depends on their order.
        """
        chosen: dict[str, int] = {}
        for k, word in enumerate(self.words):
            if (written := form(word)) == word:
                chosen[word] = k
            elif written is not None:
                chosen.setdefault(written, k)
        if chosen.keys() == set(self.words):
            return self
        return WordVectors(tuple(chosen), self.vectors, self.source, self.places[[*chosen.values()]])

    def digest(self, symbols: np.ndarray) -> str:
        """A digest of words and vectors, in any order of the words, whose symbols (uint64) are given."""
        order = np.argsort(symbols)
        parts = (symbols[order], self.places[order].astype("<i8"), np.array(self.vectors.shape, "<i8"), self.vectors)
        found = sha256()
        for part in parts:
            found.update(np.ascontiguousarray(part).data)
        return found.hexdigest()


def vectors_from(source: Any, given: Any) -> WordVectors:
    """Return word vectors, or what a function from ``given`` to them returns.

    Raises
    ------
    ValueError
        If it is neither.
    """
    found = source(given) if callable(source) else source
    if not isinstance(found, WordVectors):
        raise ValueError(f"The vectors are {found!r:.100}. Make them with WordVectors, or one of @graft_vectors.")
    return found


def checked_table(values: Any, source: str) -> np.ndarray:
    """Return vectors as float32 (n_words, n_columns), C-contiguous; or raise a ValueError."""
    table = np.asarray(values)
    if table.ndim == 2 and not table.shape[0]:
        raise ValueError(f"{source}: there are no words.")
    if table.ndim != 2 or not table.shape[1] or table.dtype.kind != "f":
        raise ValueError(
            f"{source}: vectors are a table of floating-point numbers with a row a word, but this is {table.dtype} of "
            f"the shape {table.shape}."
        )
    with np.errstate(over="ignore"):
        table = np.ascontiguousarray(table, np.float32)
    finite = np.isfinite(table).all(axis=1)
    if not finite.all():
        raise ValueError(f"{source}: vector {int(np.argmin(finite)) + 1:,} has values that are no finite numbers.")
    return table


def check_words(words: Sequence[Any], source: str) -> None:
    """Raise a ValueError unless words are different strings that are not empty."""
    for number, word in enumerate(words, start=1):
        if not isinstance(word, str) or not word:
            raise ValueError(f"{source}: word {number:,} is {word!r}, but must be a string that is not empty.")
    if len(set(words)) < len(words):
        first: dict[str, int] = {}
        twice = [number for number, word in enumerate(words, start=1) if first.setdefault(word, number) != number]
        word, more = words[twice[0] - 1], f" ({len(twice) - 1:,} more duplicates)" if len(twice) > 1 else ""
        raise ValueError(
            f"{source}: words {first[word]:,} and {twice[0]:,} are both {word!r}{more}. Keep one vector of each word."
        )
