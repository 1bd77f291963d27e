"""The text of documents as code points, at a quarter of the price of ``Doc.text``."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
from spacy.attrs import ORTH, SPACY

from .hashing import EMPTY, empty_slots

if TYPE_CHECKING:
    from spacy.strings import StringStore
    from spacy.tokens import Doc

#: Words that are remembered; beyond, the memory is emptied and starts again. About 80 bytes a word, 10 MB.
CAPACITY = 2**17


class Spelling(threading.local):
    """Remembers the code points of words, and spells documents with them.

    spaCy does not keep the text of a document: ``Doc.text`` makes an object of every token, which takes a tenth of
    the time of tokenization. A token's ORTH is a hash of its text, the same in every vocab and process, so what a word
    looks like is remembered here once for all documents. Every thread has a memory of its own: no locks.

    Parameters
    ----------
    lowercase : bool
        Lower-case every word. It is done word by word, so that a final sigma is one wherever spaCy ends the word.
    """

    def __init__(self, lowercase: bool) -> None:
        self.lowercase = lowercase
        self.forget()

    def forget(self) -> None:
        """Empty the memory."""
        self.size = 0
        self.slots = empty_slots(2**9)
        self.keys = np.empty(2**9, np.int64)
        self.bounds = np.zeros(2**9 + 1, np.int64)
        self.letters = np.empty(2**12, np.uint32)

    def symbols(self, doc: Doc) -> np.ndarray:
        """Return the code points of a document's text: uint32, 1-D."""
        from . import kernels

        if self.size > CAPACITY:
            self.forget()
        tokens = doc.to_array([ORTH, SPACY]).view(np.int64)
        rows = np.empty(len(tokens), np.int32)
        length = kernels.look_up(tokens, self.slots, self.keys, self.bounds, rows)
        if length == EMPTY:
            self.learn(tokens[rows == EMPTY, 0], doc.vocab.strings)
            length = kernels.look_up(tokens, self.slots, self.keys, self.bounds, rows)
        text = np.empty(length + kernels.CHUNK, np.uint32)
        kernels.spell(tokens, rows, self.bounds, self.letters, text)
        return text[:length]

    def learn(self, keys: np.ndarray, strings: StringStore) -> None:
        """Remember the words with these keys (int64, none of them known yet)."""
        from . import kernels

        keys = np.unique(keys)
        words = [strings[key] for key in keys.view(np.uint64).tolist()]
        spelled = [code_points(word.lower() if self.lowercase else word) for word in words]
        first, last = self.size, self.size + len(keys)
        end = self.bounds[first]
        self.keys = with_values(self.keys, first, keys)
        self.bounds = with_values(self.bounds, first + 1, end + np.cumsum([len(word) for word in spelled]))
        self.letters = with_values(self.letters, end, np.concatenate([*spelled, np.zeros(kernels.CHUNK, np.uint32)]))
        if 2 * last > len(self.slots):
            self.slots = empty_slots(last)
            first = 0
        kernels.enter(self.slots, self.keys, first, last)
        self.size = last


def code_points(text: str) -> np.ndarray:
    """Return the code points of a string: uint32, 1-D."""
    return np.frombuffer(text.encode("utf-32-le"), np.dtype("<u4"))


def with_values(array: np.ndarray, start: int, values: np.ndarray) -> np.ndarray:
    """Write values into an array from ``start`` on; return the array, or where it is too short, a longer copy."""
    end = start + len(values)
    if end > len(array):
        longer = np.empty(max(end, 2 * len(array)), array.dtype)
        longer[:start] = array[:start]
        array = longer
    array[start:end] = values
    return array


#: By ``lowercase``.
SPELLINGS = {lowercase: Spelling(lowercase) for lowercase in (False, True)}
