"""The text of documents as code points, in a quarter of the time of ``Doc.text``."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from spacy.attrs import ORTH, SPACY

from .batches import TokenBatch
from .hashing import EMPTY, empty_slots
from .letters import code_points
from .streams import Stream

if TYPE_CHECKING:
    from spacy.strings import StringStore
    from spacy.tokens import Doc

#: Largest number of cached words; the cache is emptied beyond it. About 80 bytes a word, 10 MB.
CAPACITY = 2**17


class Spelling(threading.local):
    """A cache of the code points of words, from which the texts of documents are assembled.

    spaCy does not store the text of a document: ``Doc.text`` makes an object of every token, which takes a tenth of
    the time of tokenization. A token's ORTH is a hash of its text, the same in every vocab and process, so each word
    is spelled once for all documents. Every thread has its own cache, so that no locks are needed.

    Parameters
    ----------
    letters_of : callable
        From words to their letters, one word after the other (uint32), and how many each has.
    """

    def __init__(self, letters_of: Callable[[list[str]], tuple[np.ndarray, list[int]]]) -> None:
        self.letters_of = letters_of
        self.clear()

    def clear(self) -> None:
        """Empty the cache."""
        self.size = 0
        self.slots = empty_slots(2**9)
        self.keys = np.empty(2**9, np.int64)
        self.bounds = np.zeros(2**9 + 1, np.int64)
        self.letters = np.empty(2**12, np.uint32)

    def spell(self, tokens: TokenBatch) -> Stream:
        """Return the code points of the documents' texts: uint32."""
        from . import kernels

        if self.size > CAPACITY:
            self.clear()
        words, spaces = tokens.columns[ORTH].view(np.int64), tokens.columns[SPACY].view(np.int64)
        rows = np.empty(len(words), np.int32)
        length = kernels.look_up(words, spaces, self.slots, self.keys, self.bounds, rows)
        if length == EMPTY:
            self.add_words(words[rows == EMPTY], tokens.strings)
            length = kernels.look_up(words, spaces, self.slots, self.keys, self.bounds, rows)
        text = np.empty(length + kernels.COPIED_LETTERS, np.uint32)
        starts = np.empty(len(tokens.starts), np.int64)
        kernels.spell(rows, spaces, tokens.starts, self.bounds, self.letters, text, starts)
        return Stream(text[:length], starts)

    def add_words(self, keys: np.ndarray, strings: StringStore) -> None:
        """Add the words with these keys (int64, none of them cached yet)."""
        from . import kernels

        keys = np.unique(keys)
        letters, lengths = self.letters_of([strings[key] for key in keys.view(np.uint64).tolist()])
        first, last = self.size, self.size + len(keys)
        end = self.bounds[first]
        self.keys = with_values(self.keys, first, keys)
        self.bounds = with_values(self.bounds, first + 1, end + np.cumsum(lengths))
        padding = np.zeros(kernels.COPIED_LETTERS, np.uint32)
        self.letters = with_values(self.letters, end, np.concatenate([letters, padding]))
        if 2 * last > len(self.slots):
            self.slots = empty_slots(last)
            first = 0
        kernels.insert_rows(self.slots, self.keys, first, last)
        self.size = last


def text_of_doc(doc: Doc) -> str:
    """Return ``doc.text``."""
    symbols = AS_WRITTEN.spell(TokenBatch.read([doc], (ORTH, SPACY))).symbols
    return symbols.astype("<u4", copy=False).tobytes().decode("utf-32-le")


def with_values(array: np.ndarray, start: int, values: np.ndarray) -> np.ndarray:
    """Write values into an array from ``start`` on; return the array, or a longer copy if it is too short."""
    end = start + len(values)
    if end > len(array):
        longer = np.empty(max(end, 2 * len(array)), array.dtype)
        longer[:start] = array[:start]
        array = longer
    array[start:end] = values
    return array


def as_written(words: list[str]) -> tuple[np.ndarray, list[int]]:
    """The code points of words, and how many each has."""
    return code_points("".join(words)), list(map(len, words))


def lower_cased(words: list[str]) -> tuple[np.ndarray, list[int]]:
    """The code points of words in lower case, each by itself: a sigma at the end of a token is a final sigma."""
    return as_written([word.lower() for word in words])


def lower_cased_with_flags(words: list[str]) -> tuple[np.ndarray, list[int]]:
    """The same, letters with the bits ``IS_LETTER`` and ``IS_CAPITAL`` of :mod:`~spacy_graft.extract.kernels`."""
    points, lengths = lower_cased(words)
    flags = [flag for word in words for character in word for flag in flags_of(character)]
    return points | np.array(flags, np.uint32), lengths


@cache
def flags_of(character: str) -> list[int]:
    """The bits of a character's code points in lower case. A capital is what has a lower case.

    'İ' is two characters in lower case, of which the first is the letter.
    """
    from .kernels import IS_CAPITAL, IS_LETTER

    is_capital = character.lower() != character
    is_letter = is_capital or character.isalpha() or character.upper() != character
    return [int(is_letter) * int(IS_LETTER) | int(is_capital) * int(IS_CAPITAL), *[0] * (len(character.lower()) - 1)]


#: The caches of each thread: of words as they are, in lower case, and in lower case with flags.
AS_WRITTEN, LOWERED, FLAGGED = Spelling(as_written), Spelling(lower_cased), Spelling(lower_cased_with_flags)
