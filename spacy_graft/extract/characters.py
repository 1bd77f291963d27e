"""Character n-grams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..registry import graft_features
from .blocks import check_limits
from .spelling import SPELLINGS

if TYPE_CHECKING:
    from spacy.strings import StringStore
    from spacy.tokens import Doc


@graft_features("spacy_graft.CharacterNgrams.v1")
@dataclass(frozen=True)
class CharacterNgrams:
    """N-grams of the code points of ``doc.text``, spaces and line breaks included.

    Parameters
    ----------
    min_df : int
        Least number of documents of a feature.
    max_length : int, optional
        Longest n-gram in characters; any length if None.
    lowercase : bool
        Lower-case the text, token by token.

    Raises
    ------
    ValueError
        If ``min_df`` or ``max_length`` is less than 1.
    """

    min_df: int = 3
    max_length: int | None = None
    lowercase: bool = True

    dtype: ClassVar[type[np.unsignedinteger]] = np.uint32

    def __post_init__(self) -> None:
        check_limits(self)

    def check(self, doc: Doc) -> None:
        """Do nothing: every document has a text."""

    def symbols(self, doc: Doc) -> np.ndarray:
        """Return the code points of the text: uint32, 1-D."""
        return SPELLINGS[self.lowercase].symbols(doc)

    def offsets(self, doc: Doc) -> np.ndarray:
        """Return where in ``doc.text`` each symbol starts and ends: int32 (n_symbols, 2).

        The two symbols which 'İ' becomes in lower case have the same place.
        """
        text = doc.text
        widths = [len(char.lower()) for char in text] if self.lowercase else 1
        starts = np.repeat(np.arange(len(text), dtype=np.int32), widths)
        return np.stack((starts, starts + 1), axis=1)

    def names(self, symbols: np.ndarray, strings: StringStore) -> tuple[str, ...]:
        """Return the characters."""
        return tuple(map(chr, symbols.tolist()))

    def values(self, names: Sequence[str], strings: StringStore) -> np.ndarray:
        """Return the code points of characters: uint32, 1-D.

        Raises
        ------
        ValueError
            If a name is not one character.
        """
        for name in names:
            if len(name) != 1:
                raise ValueError(f"Symbols of CharacterNgrams are single characters, but one is {name!r}")
        return np.array([ord(name) for name in names], np.uint32)

    def text(self, names: Sequence[str]) -> str:
        """Return the n-gram as a string."""
        return "".join(names)
