"""Token n-grams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from spacy.attrs import IDS, IS_SPACE

from ..messages import most_like
from ..options import check_flags
from ..registry import graft_features
from .batches import BatchReader, TokenBatch
from .blocks import BlockKind
from .ends import TEXT_END, places_with_ends, shown, with_ends
from .items import integer_names, integer_symbols, string_names, string_symbols
from .options import check_settings
from .streams import Stream, starts_of

if TYPE_CHECKING:
    from spacy.strings import StringStore
    from spacy.tokens import Doc

#: Attributes of a token whose values are strings. The values of all others are integers.
STRING_ATTRS = frozenset(
    """DEP ENT_ID ENT_KB_ID ENT_TYPE LANG LEMMA LOWER MORPH NORM ORTH POS PREFIX SHAPE SUFFIX TAG""".split()
)

#: The annotation that an attribute needs. A document without entities has no ENT_TYPE, and relative heads are 0 without
#: a parse, so ENT_TYPE needs ENT_IOB, and HEAD needs DEP.
ANNOTATIONS = {
    "DEP": "DEP",
    "ENT_IOB": "ENT_IOB",
    "ENT_TYPE": "ENT_IOB",
    "HEAD": "DEP",
    "LEMMA": "LEMMA",
    "MORPH": "MORPH",
    "POS": "POS",
    "SENT_START": "SENT_START",
    "TAG": "TAG",
}


class TokenReader(BatchReader):
    """A block that reads one attribute of the tokens, without white space."""

    attr: str

    dtype: ClassVar[type[np.unsignedinteger]] = np.uint64

    @property
    def _owner(self) -> str:
        return f"{type(self).__name__}(attr={self.attr!r})"

    @property
    def attributes(self) -> tuple[int, ...]:
        return (IDS[self.attr], IS_SPACE)

    def check(self, doc: Doc) -> None:
        """Raise a ValueError if the document has tokens, but the attribute is not set."""
        if self.attr in ANNOTATIONS:
            check_annotation(self._owner, self.attr, doc)

    def stream(self, tokens: TokenBatch) -> Stream:
        """Return the values of the attribute: uint64."""
        kept = tokens.columns[IS_SPACE] == 0
        return Stream(tokens.columns[IDS[self.attr]][kept], starts_of(kept)[tokens.starts])

    def offsets(self, doc: Doc) -> np.ndarray:
        """Return where in ``doc.text`` each symbol starts and ends: int32 (n_symbols, 2)."""
        starts, lengths, is_space = doc.to_array(["IDX", "LENGTH", "IS_SPACE"]).T.astype(np.int32)
        return np.stack((starts, starts + lengths), axis=1)[is_space == 0]

    def names(self, symbols: np.ndarray, strings: StringStore) -> tuple[str, ...]:
        """Return the strings of the values, or for an attribute with integer values, their digits."""
        return string_names(symbols, strings) if self.attr in STRING_ATTRS else integer_names(symbols)

    def values(self, names: Sequence[str], strings: StringStore) -> np.ndarray:
        """Return the values of names, which are added to ``strings``: uint64, 1-D.

        Raises
        ------
        ValueError
            If the attribute has integer values, and a name is not an integer.
        """
        if self.attr in STRING_ATTRS:
            return string_symbols(names, strings)
        return integer_symbols(names, f"Symbols of {self._owner}")

    def text(self, names: Sequence[str]) -> str:
        """Return the values with spaces between the tokens."""
        return " ".join(names)


@graft_features("spacy_graft.TokenNgrams.v1")
@dataclass(frozen=True)
class TokenNgrams(TokenReader):
    """N-grams of a token attribute. White-space tokens are left out.

    Parameters
    ----------
    attr : str
        Any attribute that ``Doc.to_array`` knows: ``LOWER``, ``LEMMA``, ``POS``, ``SHAPE``, ``LENGTH``, ``IS_ALPHA``...
    min_df : int, optional
        Least number of documents of a feature. None: 2, but 1 if there are fewer than 2,000 training documents, with
        fewer than a million tokens.
    max_length : int, optional
        Longest n-gram in tokens; any length if None.
    penalty_factor : float
        Factor of the penalty weights of these features: above 1, features of other blocks are preferred.
    ends : bool
        Whether the ends of a document are symbols as well: ``'⊢ what'`` is a text that begins with *what*, and
        ``'? ⊣'`` one that ends with a question mark.

    Raises
    ------
    ValueError
        If there is no such attribute, ``min_df`` or ``max_length`` is less than 1, ``penalty_factor`` is not above 0,
        or ``ends`` is set for an attribute whose values are integers.
    """

    attr: str = "LOWER"
    min_df: int | None = None
    max_length: int | None = None
    penalty_factor: float = 1.0
    ends: bool = False

    kind: ClassVar[BlockKind] = BlockKind.NGRAMS
    feature_kind: ClassVar[str] = "token n-gram"
    usual_min_df: ClassVar[int] = 2

    def __post_init__(self) -> None:
        check_settings(self)
        check_attribute("TokenNgrams", self.attr)
        check_flags("TokenNgrams", ends=self.ends)
        if self.ends and self.attr not in STRING_ATTRS:
            raise ValueError(
                f"TokenNgrams: the values of {self.attr} are integers, of which none is left for the ends of a text. "
                f"Set ends = false."
            )

    def stream(self, tokens: TokenBatch) -> Stream:
        """Return the values of the attribute: uint64."""
        values = super().stream(tokens)
        return with_ends(values, tokens.strings.add(TEXT_END)) if self.ends else values

    def offsets(self, doc: Doc) -> np.ndarray:
        """Return where in ``doc.text`` each symbol starts and ends: int32 (n_symbols, 2)."""
        places = super().offsets(doc)
        return places_with_ends(places, len(doc.text)) if self.ends else places

    def text(self, names: Sequence[str]) -> str:
        """Return the values with spaces between the tokens."""
        return super().text(shown(names))


def check_attribute(owner: str, attr: Any) -> None:
    """Raise a ValueError if tokens have no such attribute; ``owner`` is the block that reads it."""
    if not isinstance(attr, str) or not IDS.get(attr):
        known = sorted(name for name in IDS if name and not name.startswith("FLAG"))
        near = most_like(str(attr), known, 3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"the attributes are {', '.join(known)}."
        raise ValueError(f"{owner}: tokens have no attribute {attr!r}; {hint}")


def check_annotation(owner: str, attr: str, doc: Doc) -> None:
    """Raise a ValueError if the document has tokens, but the attribute is not set."""
    needed = ANNOTATIONS.get(attr)
    if needed is not None and not doc.has_annotation(needed):
        raise ValueError(
            f"{owner} needs documents annotated with {needed}, but this one is not: "
            f"{doc[:10].text!r}. Add a component that sets {needed} before this one; in training, name it in "
            f"[training.annotating_components] as well, or give it to the corpus."
        )
