"""Vectors of words, as they are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..messages import listed


@dataclass(frozen=True, eq=False)
class WordVectors:
    """A vector for each of some words.

    Attributes
    ----------
    words : tuple of str
        All different, none empty.
    vectors : float32 (n_words, n_columns)
        Finite.
    source : str
        Where they are from, for messages.

    Raises
    ------
    ValueError
        If words and vectors do not fit, or a word is there twice.
    """

    words: tuple[str, ...]
    vectors: np.ndarray
    source: str = "word vectors"

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(self.words))
        object.__setattr__(self, "vectors", checked_table(self.vectors, self.source))
        if len(self.words) != len(self.vectors):
            raise ValueError(f"{self.source}: there are {len(self.words):,} words and {len(self.vectors):,} vectors.")
        check_words(self.words, self.source)

    def __len__(self) -> int:
        return len(self.words)


def checked_table(values: Any, source: str) -> np.ndarray:
    """Return vectors as float32 (n_words, n_columns), C-contiguous; or raise a ValueError."""
    table = np.asarray(values)
    if table.ndim != 2 or not table.shape[0] or not table.shape[1] or table.dtype.kind != "f":
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
        seen: set[str] = set()
        twice = [word for word in words if word in seen or seen.add(word)]  # type: ignore[func-returns-value]
        raise ValueError(f"{source}: {len(twice):,} words are there twice: {listed(twice)}. Keep one vector of each.")
