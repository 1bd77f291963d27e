"""The words of documents whose vectors are averaged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
from spacy.strings import get_string_id

from ..options import is_number_in
from ..registry import graft_features
from .blocks import WORD_VECTOR, BlockKind
from .tokens import STRING_ATTRS, TokenReader, check_attribute

#: What a model keeps: scores of all words with a vector, or of those of the training documents; or weights of the
#: columns, where its pipeline has the vectors.
KnownWords = Literal["all", "training", "pipeline"]
#: Attributes whose values are in lower case (norms: but for exceptions).
CASELESS = ("LOWER", "NORM")
#: The least and the largest smoothing.
SMALLEST_SMOOTHING, LARGEST_SMOOTHING = 1e-12, 1.0


@graft_features("spacy_graft.Vectors.v1")
@dataclass(frozen=True)
class Vectors(TokenReader):
    """Document vectors: the mean of the vectors of a document's words, frequent words with a smaller share.

    The vectors themselves are given to ``initialize``. A trained model keeps a number for each word and label.

    Parameters
    ----------
    attr : str
        The attribute of a token that vectors are looked up by: ``LOWER``, ``ORTH``, ``NORM`` or another string.
    smoothing : float
        a of the share a / (a + p) of a word that has the share p of all tokens (Arora, Liang & Ma, ICLR 2017).
    words : str
        What a trained model keeps: scores of ``all`` words that have a vector, or of those of the ``training``
        documents. Or ``pipeline``: nothing but weights of the columns, and it finds the vectors in its pipeline, which
        must be those that it was trained with.

    Raises
    ------
    ValueError
        If an option is invalid.
    """

    attr: str = "LOWER"
    smoothing: float = 1e-2
    words: KnownWords = "all"

    kind: ClassVar[BlockKind] = BlockKind.VECTORS
    feature_kind: ClassVar[str] = WORD_VECTOR
    min_df: ClassVar[int] = 1
    penalty_factor: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        check_attribute("Vectors", self.attr)
        if self.attr not in STRING_ATTRS:
            raise ValueError(f"Vectors: attr must be an attribute with strings, such as LOWER, but is {self.attr!r}.")
        if not is_number_in(self.smoothing, SMALLEST_SMOOTHING, LARGEST_SMOOTHING):
            raise ValueError(
                f"Vectors: smoothing must be a number from {SMALLEST_SMOOTHING:g} to {LARGEST_SMOOTHING:g}, but is "
                f"{self.smoothing!r}."
            )
        if self.words not in get_args(KnownWords):
            raise ValueError(f"Vectors: words must be one of {', '.join(get_args(KnownWords))}, but is {self.words!r}.")

    def form(self, word: str) -> str:
        """Return the word as the attribute writes it."""
        return word.lower() if self.attr in CASELESS else word

    def keys(self, words: Sequence[str]) -> np.ndarray:
        """Return the values of many words, which are not kept: uint64, 1-D."""
        return np.array([get_string_id(word) for word in words], np.uint64)
