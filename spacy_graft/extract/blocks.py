"""What every feature block declares, and how blocks are told apart.

A block says what a document is cut into, and how the features made of that are named. It declares its kind, the type of
its symbols and the values of its features; nothing is guessed from what attributes it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeGuard

import numpy as np

if TYPE_CHECKING:
    from spacy.strings import StringStore
    from spacy.tokens import Doc

#: What an item is worth in a document, always in [0, 1]: that it is there, how often, or how often and how rare it is.
ItemValue = Literal["binary", "log_count", "tf_idf"]


class BlockKind(Enum):
    """What the features of a block are."""

    NGRAMS = "n-grams of a sequence"
    ITEMS = "items of a bag"
    PRODUCTS = "products of the items of other blocks"


class NgramBlock(Protocol):
    """One sequence of symbols a document; its features are the n-grams of the sequence, of any length.

    A block is an immutable value and holds nothing of the documents: it may be compared, hashed, pickled and shared.
    Symbols are integers. Their *names* are strings, and are what a saved model keeps: a block must give the same
    symbol for a name in every process.

    Attributes
    ----------
    kind : BlockKind
    feature_kind : str
        What people call its features: "character n-gram", "attribute".
    min_df : int
        Least number of documents of a feature, at least 1.
    max_length : int or None
        Longest n-gram in symbols, None: any length.
    penalty_factor : float
        Factor of the penalty weights λ of the block's features, above 0.
    dtype : type
        ``np.uint32`` (code points) or ``np.uint64`` (values of a token attribute).
    """

    @property
    def kind(self) -> BlockKind: ...

    @property
    def feature_kind(self) -> str: ...

    @property
    def min_df(self) -> int: ...

    @property
    def max_length(self) -> int | None: ...

    @property
    def penalty_factor(self) -> float: ...

    @property
    def dtype(self) -> type[np.unsignedinteger]: ...

    def check(self, doc: Doc) -> None:
        """Raise a ValueError if the document lacks an annotation that the block needs."""

    def symbols(self, doc: Doc) -> np.ndarray:
        """Return the symbols of a document: ``dtype``, 1-D. No n-gram holds the code point 0."""

    def offsets(self, doc: Doc) -> np.ndarray:
        """Return where in ``doc.text`` each symbol starts and ends, in characters: int32 (n_symbols, 2)."""

    def names(self, symbols: np.ndarray, strings: StringStore) -> tuple[str, ...]:
        """Return the name of each symbol."""

    def values(self, names: Sequence[str], strings: StringStore) -> np.ndarray:
        """Return the symbol of each name, the inverse of ``names``; raise a ValueError if there is none."""

    def text(self, names: Sequence[str]) -> str:
        """Return an n-gram as people read it."""


class ItemBlock(Protocol):
    """A bag of named items a document.

    A block is an immutable value and holds nothing of the documents: it may be compared, hashed, pickled and shared.
    An item is a fixed number of symbols. Their *names* are strings, and are what a saved model keeps: a block must
    give the same symbols for names in every process.

    Attributes
    ----------
    kind : BlockKind
    feature_kind : str
        What people call its features: "character n-gram", "attribute".
    min_df : int
        Least number of documents of an item, at least 1.
    penalty_factor : float
        Factor of the penalty weights λ of the block's items, above 0.
    value : {"binary", "log_count", "tf_idf"}
        What an item is worth in a document, in [0, 1].
    width : int
        Symbols of an item.
    dtype : type
        ``np.uint64``.
    """

    @property
    def kind(self) -> BlockKind: ...

    @property
    def feature_kind(self) -> str: ...

    @property
    def min_df(self) -> int: ...

    @property
    def penalty_factor(self) -> float: ...

    @property
    def value(self) -> ItemValue: ...

    @property
    def width(self) -> int: ...

    @property
    def dtype(self) -> type[np.unsignedinteger]: ...

    def check(self, doc: Doc) -> None:
        """Raise a ValueError if the document lacks an annotation that the block needs."""

    def symbols(self, doc: Doc) -> np.ndarray:
        """Return the items of a document: uint64 (n_occurrences, width), a row for each time that an item occurs."""

    def places(self, doc: Doc) -> np.ndarray:
        """Return what each row of ``symbols`` points at: int32 (n_occurrences, k, 2).

        That is k spans of tokens, each its first token and one past its last; none (k = 0) for what is said of the
        whole document.
        """

    def names(self, symbols: np.ndarray, strings: StringStore) -> tuple[str, ...]:
        """Return the names of the symbols of one item: ``width`` strings."""

    def values(self, names: Sequence[str], strings: StringStore) -> np.ndarray:
        """Return the symbols of names, the inverse of ``names``, which are added to ``strings``: uint64, 1-D.

        The names may be those of several items, one after the other. Raise a ValueError if an item cannot have them.
        """

    def text(self, names: Sequence[str]) -> str:
        """Return an item as people read it."""


class ProductBlock(Protocol):
    """Products of the items of other blocks; it reads no documents itself.

    Attributes
    ----------
    kind : BlockKind
    feature_kind : str
        What people call its features.
    of : sequence of str
        Names of the blocks whose items are multiplied.
    degree : int
        2 or 3: how many items at the most.
    min_df : int
        Least number of documents of a product, at least 1.
    penalty_factor : float
        Factor of the penalty weights λ of the products, above 0.
    """

    @property
    def kind(self) -> BlockKind: ...

    @property
    def feature_kind(self) -> str: ...

    @property
    def of(self) -> Sequence[str]: ...

    @property
    def degree(self) -> int: ...

    @property
    def min_df(self) -> int: ...

    @property
    def penalty_factor(self) -> float: ...


#: Blocks that read documents, and all blocks.
ReadingBlock = NgramBlock | ItemBlock
Block = ReadingBlock | ProductBlock


def is_block(value: Any) -> TypeGuard[Block]:
    """Whether a value from a config declares itself a block."""
    return isinstance(getattr(value, "kind", None), BlockKind)


def is_ngram_block(block: Block) -> TypeGuard[NgramBlock]:
    """Whether the features of a block are n-grams."""
    return block.kind is BlockKind.NGRAMS


def is_item_block(block: Block) -> TypeGuard[ItemBlock]:
    """Whether the features of a block are items."""
    return block.kind is BlockKind.ITEMS


def is_product_block(block: Block) -> TypeGuard[ProductBlock]:
    """Whether the features of a block are products."""
    return block.kind is BlockKind.PRODUCTS


def is_reading_block(block: Block) -> TypeGuard[ReadingBlock]:
    """Whether a block reads documents."""
    return block.kind is not BlockKind.PRODUCTS


def item_width(block: ReadingBlock) -> int:
    """How many symbols an item has; the items of a block of n-grams are its single symbols."""
    return block.width if is_item_block(block) else 1


def item_value(block: ReadingBlock) -> ItemValue:
    """What the items of a block are worth."""
    return block.value if is_item_block(block) else "binary"
