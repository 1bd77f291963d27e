"""Feature blocks: the protocols of their kinds, and predicates for each kind.

A block defines which symbols a document has, and how features of these symbols are named. It declares its kind, the
type of its symbols and the values of its features; nothing is inferred from the attributes that it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeGuard, cast

import numpy as np

if TYPE_CHECKING:
    from spacy.strings import StringStore
    from spacy.tokens import Doc

#: Value of an item in a document, always in [0, 1]: presence, logarithm of the count, or count by rarity.
ItemValue = Literal["binary", "log_count", "tf_idf"]
#: Documents and symbols of a corpus that is not small (docs/accuracy.md, Words of one document).
LARGE_CORPUS_DOCUMENTS, LARGE_CORPUS_SYMBOLS = 2_000, 1_000_000
#: The kind of features that come from outside the training texts, which tables mark.
WORD_VECTOR = "word vector"


class BlockKind(Enum):
    """The kinds of features."""

    NGRAMS = "n-grams of a sequence"
    ITEMS = "items of a bag"
    COMBINATIONS = "combinations of the items of other blocks"
    VECTORS = "vectors of the words of documents"


class DeclaredBlock(Protocol):
    """What every block declares.

    A block is an immutable value without state of the documents: it may be compared, hashed, pickled and shared.

    Attributes
    ----------
    kind : BlockKind
    feature_kind : str
        Display name of the features: "character n-gram", "attribute".
    min_df : int, or None
        Least number of documents of a feature, at least 1. None: :func:`least_documents` says; n-grams only.
    penalty_factor : float
        Factor of the penalty weights λ of the block's features, above 0.
    """

    @property
    def kind(self) -> BlockKind: ...

    @property
    def feature_kind(self) -> str: ...

    @property
    def min_df(self) -> int | None: ...

    @property
    def penalty_factor(self) -> float: ...


class DocumentReader(DeclaredBlock, Protocol):
    """What blocks that read documents have in common.

    Symbols are integers. Their *names* are strings, and are what a saved model keeps: a block must give the same
    symbols for names in every process.

    Attributes
    ----------
    dtype : type
        Of symbols: ``np.uint32`` (code points) or ``np.uint64`` (hashes and values of attributes).
    """

    @property
    def dtype(self) -> type[np.unsignedinteger]: ...

    def check(self, doc: Doc) -> None:
        """Raise a ValueError if the document lacks an annotation that the block needs."""

    def symbols(self, doc: Doc) -> np.ndarray:
        """Return the symbols of a document.

        For n-grams (n_symbols,), where the code point 0 is a break; for items (n_occurrences, width), a row for each
        occurrence.
        """

    def names(self, symbols: np.ndarray, strings: StringStore) -> tuple[str, ...]:
        """Return the name of each symbol; of items, those of one item."""

    def values(self, names: Sequence[str], strings: StringStore) -> np.ndarray:
        """Return the symbols of names, the inverse of ``names``, which are added to ``strings``: ``dtype``, 1-D.

        The names may be those of several items, one after the other. Raise a ValueError if there can be no such names.
        """

    def text(self, names: Sequence[str]) -> str:
        """Return the text of an n-gram or item for display."""


class NgramBlock(DocumentReader, Protocol):
    """One sequence of symbols a document; its features are the n-grams of the sequence, of any length.

    Attributes
    ----------
    max_length : int or None
        Longest n-gram in symbols, None: any length.
    usual_min_df : int, optional
        What takes the place of a ``min_df`` of None, unless the corpus is small; 2 if the block does not say.
    """

    @property
    def max_length(self) -> int | None: ...

    def offsets(self, doc: Doc) -> np.ndarray:
        """Return where in ``doc.text`` each symbol starts and ends, in characters: int32 (n_symbols, 2)."""


class ItemBlock(DocumentReader, Protocol):
    """A bag of named items a document. An item is a fixed number of symbols.

    Attributes
    ----------
    value : {"binary", "log_count", "tf_idf"}
        Value of an item in a document, in [0, 1].
    width : int
        Symbols of an item.
    """

    @property
    def min_df(self) -> int: ...

    @property
    def value(self) -> ItemValue: ...

    @property
    def width(self) -> int: ...

    def places(self, doc: Doc) -> np.ndarray:
        """Return the places of each row of ``symbols``: int32 (n_occurrences, k, 2).

        These are k spans of tokens, each from its first token to one past its last. There are none (k = 0) for items of
        the whole document.
        """


class CombinationBlock(DeclaredBlock, Protocol):
    """Combinations of the items of other blocks. The block reads no documents itself.

    Attributes
    ----------
    of : sequence of str
        Names of the blocks whose items are combined.
    degree : int
        Largest number of items in a combination: 2 or 3.
    """

    @property
    def min_df(self) -> int: ...

    @property
    def of(self) -> Sequence[str]: ...

    @property
    def degree(self) -> int: ...


class VectorsBlock(DocumentReader, Protocol):
    """One sequence of words a document, whose vectors are averaged. Its features are dense columns.

    Attributes
    ----------
    smoothing : float
        What makes the shares of frequent words small.
    words : {"all", "training", "pipeline"}
        What a trained model keeps (:class:`.vectors.Vectors`).
    """

    @property
    def smoothing(self) -> float: ...

    @property
    def words(self) -> Literal["all", "training", "pipeline"]: ...

    def offsets(self, doc: Doc) -> np.ndarray:
        """Return where in ``doc.text`` each symbol starts and ends, in characters: int32 (n_symbols, 2)."""

    def form(self, word: str) -> str:
        """Return a word as documents have it, such as in lower case."""

    def keys(self, words: Sequence[str]) -> np.ndarray:
        """Return the symbols of many words, which are not added to a string store: uint64, 1-D."""


#: Blocks that read documents, and all blocks.
ReadingBlock = NgramBlock | ItemBlock | VectorsBlock
Block = ReadingBlock | CombinationBlock


def least_documents(block: Block, n_documents: int, n_symbols: int) -> int:
    """Least number of documents of a feature of a block, which reads so many symbols in so many training documents.

    That is ``min_df``. If it is None: ``usual_min_df``, but one less in a small corpus, where many of the words on
    which labels depend occur once. (A corpus of few long texts is not small: its index would be.)
    """
    is_small = n_documents < LARGE_CORPUS_DOCUMENTS and n_symbols < LARGE_CORPUS_SYMBOLS
    usual = usual_min_df(block)
    return max(usual - 1, 1) if block.min_df is None and is_small else usual


def usual_min_df(block: Block) -> int:
    """``min_df`` of a block; if it is None, that for a corpus that is not small."""
    return getattr(block, "usual_min_df", 2) if block.min_df is None else block.min_df


def is_block(value: Any) -> TypeGuard[Block]:
    """Whether a value from a config declares itself a block."""
    return isinstance(getattr(value, "kind", None), BlockKind)


def is_ngram_block(block: Block) -> TypeGuard[NgramBlock]:
    """Whether the features of a block are n-grams."""
    return block.kind is BlockKind.NGRAMS


def is_item_block(block: Block) -> TypeGuard[ItemBlock]:
    """Whether the features of a block are items."""
    return block.kind is BlockKind.ITEMS


def is_combination_block(block: Block) -> TypeGuard[CombinationBlock]:
    """Whether the features of a block are combinations."""
    return block.kind is BlockKind.COMBINATIONS


def is_vectors_block(block: Block) -> TypeGuard[VectorsBlock]:
    """Whether the features of a block are document vectors."""
    return block.kind is BlockKind.VECTORS


def is_reading_block(block: Block) -> TypeGuard[ReadingBlock]:
    """Whether a block reads documents."""
    return block.kind is not BlockKind.COMBINATIONS


def as_reading_block(block: Block) -> ReadingBlock:
    """Return a block that is known to read documents, typed as such."""
    return cast("ReadingBlock", block)
