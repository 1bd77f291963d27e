"""Feature blocks: what a document is cut into, and how its n-grams are named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from spacy.strings import StringStore
    from spacy.tokens import Doc

    from .combinations import Combinations
    from .items import ItemBlock


class NgramBlock(Protocol):
    """One sequence of symbols a document; its features are the n-grams of the sequence, of any length.

    A block is an immutable value and holds nothing of the documents: it may be compared, hashed, pickled and shared.
    Symbols are integers. Their *names* are strings, and are what a saved model keeps: a block must give the same
    symbol for a name in every process.

    Attributes
    ----------
    min_df : int
        Least number of documents of a feature, at least 1.
    max_length : int or None
        Longest n-gram in symbols, None: any length.
    penalty : float
        Factor of the penalty weights λ of the block's features, above 0.
    dtype : type
        ``np.uint32`` (code points) or ``np.uint64`` (values of a token attribute).
    """

    @property
    def min_df(self) -> int: ...

    @property
    def max_length(self) -> int | None: ...

    @property
    def penalty(self) -> float: ...

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


def check_settings(block: NgramBlock | ItemBlock | Combinations) -> None:
    """Raise a ValueError if ``min_df`` or ``max_length`` of a new block is under 1, or ``penalty`` not above 0.

    Blocks of items and combinations have no ``max_length``.
    """
    limits: dict[str, Any] = {"min_df": block.min_df, "max_length": getattr(block, "max_length", None)}
    if limits["max_length"] is None:
        del limits["max_length"]
    for option, value in limits.items():
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"{type(block).__name__}: {option} must be an integer of at least 1, but is {value!r}")
    penalty: Any = block.penalty
    if not isinstance(penalty, float | int) or not 0.0 < penalty < float("inf"):
        raise ValueError(f"{type(block).__name__}: penalty must be a number above 0, but is {penalty!r}")
