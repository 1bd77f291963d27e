"""Character n-grams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from spacy.attrs import ORTH, SPACY

from ..options import check_flags
from ..registry import graft_features
from .batches import BatchReader, TokenBatch
from .blocks import BlockKind
from .ends import TEXT_END, places_with_ends, shown, with_ends
from .items import character_symbols
from .letters import framed_words, places_in_text
from .options import check_settings
from .spelling import AS_WRITTEN, FLAGGED, LOWERED, Spelling
from .streams import Stream

if TYPE_CHECKING:
    from spacy.strings import StringStore
    from spacy.tokens import Doc


@graft_features("spacy_graft.CharacterNgrams.v1")
@dataclass(frozen=True)
class CharacterNgrams(BatchReader):
    """N-grams of the code points of ``doc.text``, spaces and line breaks included.

    With ``within_words``, no n-gram extends beyond a word. Words are separated by white space. Each has a space on
    either side, so that ``' un'`` is a prefix and ``'ing '`` a suffix. The option makes the space smaller; use it
    beside a block of word n-grams, which covers longer passages.

    With ``mark_capitals``, a text is lower-cased, and marks before the first space of a word say which capitals it had:
    ``'⇧ the '`` where the first letter is one, ``'⇪⇧ usa '`` where two or more are, and most letters, and
    ``'↕ iphone '`` and ``'↕⇧ mcdonald '`` where others are. So n-grams that begin with a mark tell the case, and all
    others ignore it.

    Parameters
    ----------
    min_df : int, optional
        Least number of documents of a feature. None: 3, but 2 if there are fewer than 2,000 training documents, with
        fewer than a million characters.
    max_length : int, optional
        Longest n-gram in characters; any length if None.
    lowercase : bool
        Whether to lower-case the text, token by token.
    within_words : bool
        Whether to leave out n-grams of more than one word.
    penalty_factor : float
        Factor of the penalty weights of these features: above 1, features of other blocks are preferred.
    mark_capitals : bool
        Whether marks say which words had capitals; needs ``lowercase`` and ``within_words``.
    ends : bool
        Whether the ends of a document are symbols as well: ``'⊢un'`` is a text that begins with *un*, and ``'?⊣'`` one
        that ends with a question mark. Not with ``within_words``.

    Raises
    ------
    ValueError
        If ``min_df`` or ``max_length`` is less than 1, ``penalty_factor`` is not above 0, ``mark_capitals`` is set
        without ``lowercase`` and ``within_words``, or ``ends`` with ``within_words``.
    """

    min_df: int | None = None
    max_length: int | None = None
    lowercase: bool = True
    within_words: bool = False
    penalty_factor: float = 1.0
    mark_capitals: bool = False
    ends: bool = False

    attributes: ClassVar[tuple[int, ...]] = (ORTH, SPACY)
    dtype: ClassVar[type[np.unsignedinteger]] = np.uint32
    kind: ClassVar[BlockKind] = BlockKind.NGRAMS
    feature_kind: ClassVar[str] = "character n-gram"
    usual_min_df: ClassVar[int] = 3

    def __post_init__(self) -> None:
        check_settings(self)
        check_flags(
            "CharacterNgrams",
            lowercase=self.lowercase,
            within_words=self.within_words,
            mark_capitals=self.mark_capitals,
            ends=self.ends,
        )
        if self.mark_capitals and not (self.lowercase and self.within_words):
            raise ValueError(
                "CharacterNgrams: mark_capitals needs lowercase = true and within_words = true. With other settings, "
                "set mark_capitals = false as well."
            )
        if self.ends and self.within_words:
            raise ValueError(
                "CharacterNgrams: n-grams within words do not reach the ends of a text. Set ends = false, or set it in "
                "a block of words."
            )

    def check(self, doc: Doc) -> None:
        """Do nothing: every document has a text."""

    def stream(self, tokens: TokenBatch) -> Stream:
        """Return the code points of the texts: uint32. With ``within_words``, there is a 0 between words."""
        text = self._spelling.spell(tokens)
        if self.within_words:
            return framed_words(text)[0]
        return with_ends(text, ord(TEXT_END)) if self.ends else text

    @property
    def _spelling(self) -> Spelling:
        if self.mark_capitals:
            return FLAGGED
        return LOWERED if self.lowercase else AS_WRITTEN

    def offsets(self, doc: Doc) -> np.ndarray:
        """Return where in ``doc.text`` each symbol starts and ends: int32 (n_symbols, 2).

        'İ' is two symbols in lower case, with the same place. Spaces added beside words have empty places. A mark has
        the place of its first capital: so an n-gram begins at the smallest place of its symbols, and ends at the
        largest.
        """
        tokens = TokenBatch.read([doc], self.attributes)
        text = self._spelling.spell(tokens)
        written = AS_WRITTEN.spell(tokens).symbols
        starts = np.arange(len(written), dtype=np.int32)
        if len(text.symbols) > len(written):
            starts = np.repeat(starts, [len(chr(char).lower()) for char in written.tolist()])
        if not self.within_words:
            places = np.stack((starts, starts + 1), axis=1)
            return places_with_ends(places, len(written)) if self.ends else places
        return places_in_text(text, starts, len(written))

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
        return character_symbols(names, "Symbols of CharacterNgrams")

    def text(self, names: Sequence[str]) -> str:
        """Return the n-gram as a string."""
        return "".join(shown(names))
