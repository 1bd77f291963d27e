"""The words of documents whose vectors are averaged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np
from spacy.strings import get_string_id

from ..options import is_number_in
from ..registry import graft_features
from .batches import BatchReader, TokenBatch
from .blocks import BlockKind
from .streams import Stream
from .tokens import STRING_ATTRS, TokenNgrams, check_annotation, check_attribute

if TYPE_CHECKING:
    from spacy.strings import StringStore
    from spacy.tokens import Doc

#: What a model keeps: scores of all words with a vector, or of those of the training documents; or weights of the
#: columns, where its pipeline has the vectors.
KnownWords = Literal["all", "training", "pipeline"]
#: Attributes whose values are in lower case (norms: but for exceptions).
CASELESS = ("LOWER", "NORM")
#: The least and the largest smoothing.
SMALLEST_SMOOTHING, LARGEST_SMOOTHING = 1e-12, 1.0


@graft_features("spacy_graft.Vectors.v1")
@dataclass(frozen=True)
class Vectors(BatchReader):
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

    dtype: ClassVar[type[np.unsignedinteger]] = np.uint64
    kind: ClassVar[BlockKind] = BlockKind.VECTORS
    feature_kind: ClassVar[str] = "word vector"
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

    @property
    def _tokens(self) -> TokenNgrams:
        """The block that reads the same symbols."""
        return TokenNgrams(self.attr)

    @property
    def attributes(self) -> tuple[int, ...]:
        return self._tokens.attributes

    def check(self, doc: Doc) -> None:
        """Raise a ValueError if the document has tokens, but the attribute is not set."""
        check_annotation(f"Vectors(attr={self.attr!r})", self.attr, doc)

    def stream(self, tokens: TokenBatch) -> Stream:
        """Return the values of the attribute: uint64."""
        return self._tokens.stream(tokens)

    def offsets(self, doc: Doc) -> np.ndarray:
        """Return where in ``doc.text`` each symbol starts and ends: int32 (n_symbols, 2)."""
        return self._tokens.offsets(doc)

    def names(self, symbols: np.ndarray, strings: StringStore) -> tuple[str, ...]:
        """Return the strings of the values."""
        return self._tokens.names(symbols, strings)

    def values(self, names: Sequence[str], strings: StringStore) -> np.ndarray:
        """Return the values of names, which are added to ``strings``: uint64, 1-D."""
        return self._tokens.values(names, strings)

    def text(self, names: Sequence[str]) -> str:
        """Return the word."""
        return self._tokens.text(names)

    def form(self, word: str) -> str:
        """Return the word as the attribute writes it."""
        return word.lower() if self.attr in CASELESS else word

    def keys(self, words: Sequence[str]) -> np.ndarray:
        """Return the values of many words, which are not kept: uint64, 1-D."""
        return np.array([get_string_id(word) for word in words], np.uint64)
