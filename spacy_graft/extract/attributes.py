"""Items that are token attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..registry import graft_features
from .blocks import BlockKind, ItemValue
from .columns import check_column, check_column_set, has_strings, token_column
from .items import integer_names, integer_symbols, string_names, string_symbols
from .options import check_item_settings

if TYPE_CHECKING:
    from spacy.strings import StringStore
    from spacy.tokens import Doc

#: Attributes whose values are words, and are shown without the name of the attribute.
WORDLIKE = frozenset({"LOWER", "NORM", "ORTH"})

#: The string of a morphology without features in spaCy. It counts as no value.
EMPTY_MORPH = "_"


@graft_features("spacy_graft.TokenAttributes.v1")
@dataclass(frozen=True)
class TokenAttributes:
    """Bag of a token attribute: an item for each token that has a value. White-space tokens are left out.

    Parameters
    ----------
    attr : str
        Any attribute that ``Doc.to_array`` knows (``LOWER``, ``LEMMA``, ``POS``, ``ENT_TYPE``, ``LENGTH``...), or
        ``_.`` and the name of a token extension, whose values are strings, integers, booleans, or None for no item.
    value : {"binary", "log_count", "tf_idf"}
        How the value of an item in a document is computed. All values are in [0, 1], and ``binary`` ones are 1.
    min_df : int
        Least number of documents of an item.
    penalty_factor : float
        Factor of the penalty weights of these items: above 1, features of other blocks are preferred.

    Raises
    ------
    ValueError
        If there is no such attribute or value, ``min_df`` is less than 1, or ``penalty_factor`` is not above 0.
    """

    attr: str = "LOWER"
    value: ItemValue = "binary"
    min_df: int = 2
    penalty_factor: float = 1.0

    width: ClassVar[int] = 1
    kind: ClassVar[BlockKind] = BlockKind.ITEMS
    feature_kind: ClassVar[str] = "attribute"
    dtype: ClassVar[type[np.unsignedinteger]] = np.uint64

    def __post_init__(self) -> None:
        check_item_settings(self)
        check_column("TokenAttributes", self.attr)

    @property
    def _owner(self) -> str:
        return f"TokenAttributes(attr={self.attr!r})"

    def check(self, doc: Doc) -> None:
        """Raise a ValueError if the attribute of the tokens is not set, or the extension is not registered."""
        check_column_set(self._owner, self.attr, doc)

    def symbols(self, doc: Doc) -> np.ndarray:
        """Return the values of the attribute: uint64 (n_occurrences, 1)."""
        column, tokens = self._occurrences(doc)
        return column[tokens, None]

    def places(self, doc: Doc) -> np.ndarray:
        """Return the token of each row: int32 (n_occurrences, 1, 2)."""
        _, tokens = self._occurrences(doc)
        return np.stack((tokens, tokens + 1), axis=1).astype(np.int32)[:, None]

    def _occurrences(self, doc: Doc) -> tuple[np.ndarray, np.ndarray]:
        """The value of every token, and the tokens that have one: uint64 (n_tokens), int64 (n_occurrences)."""
        column = token_column(self._owner, self.attr, doc)
        kept = doc.to_array("IS_SPACE") == 0
        if has_strings(self.attr):
            kept &= column != 0
        if self.attr == "MORPH":
            kept &= column != doc.vocab.strings[EMPTY_MORPH]
        return column, np.flatnonzero(kept)

    def names(self, symbols: np.ndarray, strings: StringStore) -> tuple[str, ...]:
        """Return the string of the value, or for an attribute with integer values, its digits."""
        return string_names(symbols, strings) if has_strings(self.attr) else integer_names(symbols)

    def values(self, names: Sequence[str], strings: StringStore) -> np.ndarray:
        """Return the values of names, which are added to ``strings``: uint64, 1-D.

        Raises
        ------
        ValueError
            If a name is empty, or the attribute has integer values and a name is not an integer.
        """
        if not has_strings(self.attr):
            return integer_symbols(names, f"Items of {self._owner}")
        if "" in names:
            raise ValueError(f"Items of {self._owner} must have values, but one name is empty")
        return string_symbols(names, strings)

    def text(self, names: Sequence[str]) -> str:
        """Return the value, after the attribute unless it is a word: ``film``, ``POS=NOUN``."""
        (name,) = names
        return name if self.attr in WORDLIKE else f"{self.attr}={name}"
