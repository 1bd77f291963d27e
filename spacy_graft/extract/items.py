"""Blocks of items (originals): a bag of named things a document, which combinations are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

import numpy as np

from .blocks import check_settings

if TYPE_CHECKING:
    from spacy.strings import StringStore
    from spacy.tokens import Doc

#: What an item is worth in a document, always in [0, 1]: that it is there, how often, or how often and how rare it is.
ItemValue = Literal["binary", "log_count", "tf_idf"]


class ItemBlock(Protocol):
    """A bag of named items a document.

    A block is an immutable value and holds nothing of the documents: it may be compared, hashed, pickled and shared.
    An item is a fixed number of symbols. Their *names* are strings, and are what a saved model keeps: a block must
    give the same symbols for names in every process.

    Attributes
    ----------
    min_df : int
        Least number of documents of an item, at least 1.
    penalty : float
        Factor of the penalty weights λ of the block's items, above 0.
    value : {"binary", "log_count", "tf_idf"}
        What an item is worth in a document, in [0, 1].
    width : int
        Symbols of an item.
    """

    @property
    def min_df(self) -> int: ...

    @property
    def penalty(self) -> float: ...

    @property
    def value(self) -> ItemValue: ...

    @property
    def width(self) -> int: ...

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


def check_item_settings(block: ItemBlock) -> None:
    """Raise a ValueError if ``min_df``, ``penalty`` or ``value`` of a new block is not what it may be."""
    check_settings(block)
    known = get_args(ItemValue)
    if block.value not in known:
        raise ValueError(f"{type(block).__name__}: value must be one of {', '.join(known)}, but is {block.value!r}")


def check_width(block: ItemBlock, names: Sequence[str]) -> None:
    """Raise a ValueError if these names are not those of whole items."""
    if len(names) % block.width:
        raise ValueError(
            f"Items of {type(block).__name__} have {block.width} names each, but there are {len(names)}: {names!r}"
        )


def string_symbols(names: Sequence[str], strings: StringStore) -> np.ndarray:
    """Return the hashes of names, which are added to ``strings``: uint64, 1-D."""
    return np.array([strings.add(name) for name in names], np.uint64)


def as_names(owner: str, option: str, names: Any) -> tuple[str, ...]:
    """Return a list of names, as a config gives it, as a tuple; raise a ValueError if it is none.

    A string is refused, because it would be a list of letters.
    """
    if (
        isinstance(names, str)
        or not isinstance(names, Sequence)
        or not all(isinstance(name, str) and name for name in names)
    ):
        raise ValueError(f"{owner}: {option} must be a list of names, but is {names!r}")
    return tuple(names)
