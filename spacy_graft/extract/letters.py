"""Texts as code points, and the words among them."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import chain

import numpy as np

from ..messages import JOINERS
from .streams import Stream


def code_points(text: str) -> np.ndarray:
    """Return the code points of a string: uint32, 1-D."""
    return np.frombuffer(text.encode("utf-32-le"), np.dtype("<u4"))


def is_combining(character: str) -> bool:
    """Whether a character belongs to the one before it: an accent, the sign of a vowel, a joiner."""
    return unicodedata.category(character).startswith("M") or character in JOINERS


@cache
def word_pattern() -> re.Pattern[str]:
    """A word: letters, digits and underscores, or any other character alone; both with their combining characters.

    So each sign of punctuation is a word. (For regular expressions, vowel signs of Indian scripts are no letters.)
    """
    # Other planes of Unicode have none. To look for one among thousands takes long: first whether it can be one at all.
    combining = "".join(filter(is_combining, map(chr, chain(range(0x300, 0x20000), range(0xE0100, 0xE01F0)))))
    mark = f"(?=[\u0300-\U0010ffff])[{combining}]"
    return re.compile(f"\\w+(?:(?:{mark})+\\w*)*|\\S(?:{mark})*")


def words_of(text: str) -> list[str]:
    """Return the words of a text, as :func:`word_pattern` has them."""
    return word_pattern().findall(text)


def framed_words(text: Stream, with_places: bool = False) -> tuple[Stream, np.ndarray]:
    """Words with a space on either side and breaks between, and the place of each symbol in ``text.symbols``.

    Where letters have the bits ``IS_LETTER`` and ``IS_CAPITAL`` of :mod:`~spacy_graft.extract.kernels`, words with
    capitals have the marks of :class:`~spacy_graft.extract.characters.CharacterNgrams` before their first space.

    Returns
    -------
    framed : Stream
    places : int32 (n_symbols, 2)
        If they are asked for: start and end, empty for breaks and spaces. A mark has the place of its first capital.
    """
    from . import kernels

    symbols = np.empty(4 * len(text.symbols), np.uint32)
    places = np.empty((len(symbols) if with_places else 0, 2), np.int32)
    starts = np.empty(len(text.starts), np.int64)
    # What is read from bytes is read-only, and would be compiled for once more.
    given = text.symbols if text.symbols.flags.writeable else text.symbols.copy()
    kernels.frame_words(given, text.starts, symbols, places, starts)
    # Copies, so that a corpus does not keep arrays of four times its text.
    return Stream(symbols[: starts[-1]].copy(), starts), places[: starts[-1]]


def places_in_text(text: Stream, places_of_letters: np.ndarray, length: int) -> np.ndarray:
    """Where :func:`framed_words` start and end in a document of this length, which has the letters at these places."""
    places = framed_words(text, with_places=True)[1]
    starts = np.append(places_of_letters, length)[places[:, 0]]
    ends = np.where(places[:, 1] > places[:, 0], places_of_letters[places[:, 1] - 1] + 1, starts)
    return np.stack((starts, ends), axis=1).astype(places_of_letters.dtype, copy=False)
