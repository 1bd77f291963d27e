"""The ends of a text as symbols, so that n-grams can say where it begins and where it ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .streams import Stream, has_code_points, starts_of

#: The name of the symbol before a text and behind it: U+001E, the record separator. It is white space, which is in no
#: word, and a small code point, so that texts in Latin script still take a byte a character.
TEXT_END = "\x1e"
#: What people see of it before a text, and behind.
BEGIN_SIGN, END_SIGN = "⊢", "⊣"
#: The symbol as spaCy's hash of the name, which tokens have.
END_KEY = np.uint64(11815942131692169891)


def with_ends(text: Stream, end: int | np.unsignedinteger) -> Stream:
    """Return the same documents with a symbol before and behind each; empty ones stay empty.

    Memory: the new symbols, and a byte for each.
    """
    counts = np.diff(text.starts)
    starts = text.starts + 2 * starts_of(counts > 0)
    is_end = np.zeros(starts[-1], np.bool_)
    is_end[starts[:-1][counts > 0]] = True
    is_end[starts[1:][counts > 0] - 1] = True
    symbols = np.full(len(is_end), end, text.symbols.dtype)
    symbols[~is_end] = text.symbols
    return Stream(symbols, starts)


def without_ends(text: Stream) -> Stream:
    """Return the same documents without the symbols of the ends."""
    kept = text.symbols != (ord(TEXT_END) if has_code_points(text.symbols) else END_KEY)
    return Stream(text.symbols[kept], starts_of(kept)[text.starts])


def places_with_ends(places: np.ndarray, length: int) -> np.ndarray:
    """Return where symbols start and end in a text of this length (n_symbols, 2), with empty places of its ends."""
    if not len(places):
        return places
    first, last = np.zeros((1, 2), places.dtype), np.full((1, 2), length, places.dtype)
    return np.concatenate([first, places, last])


def shown(names: Sequence[str]) -> Sequence[str]:
    """Return the names of an n-gram's symbols as people see them."""
    if TEXT_END not in (names[0], names[-1]):
        return names
    own = list(names)
    own[0] = BEGIN_SIGN if own[0] == TEXT_END else own[0]
    own[-1] = END_SIGN if own[-1] == TEXT_END else own[-1]
    return own
