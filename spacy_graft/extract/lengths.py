"""Lengths of documents for document weights: their numbers of distinct words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .blocks import ReadingBlock
from .ends import END_KEY
from .hashing import empty_slots, signed
from .streams import Stream
from .tokens import TokenNgrams
from .unread import read_symbols

if TYPE_CHECKING:
    from spacy.tokens import Doc

#: The words that are counted.
WORDS = TokenNgrams("LOWER")


def document_length(doc: Doc) -> int:
    """Return the number of distinct words of a document, in lower case and without white space; at least 1."""
    return length_of_words(read_symbols(WORDS, doc))


def length_of_words(words: np.ndarray) -> int:
    """Return the length of a document from its symbols of :data:`WORDS`; the ends of the text are no words."""
    return max(1, len(set(words.tolist()) - {int(END_KEY)}))


def document_lengths(words: Stream) -> np.ndarray:
    """Return the length of each document as :func:`length_of_words` has it: float64 (n_documents)."""
    from . import kernels

    longest = int(np.diff(words.starts).max(initial=0))
    last_document = empty_slots(longest)
    counts = np.zeros(words.n_documents, np.int64)
    table = np.empty(len(last_document), np.int64)
    kernels.count_distinct(signed(words.symbols), words.starts, last_document, table, counts)
    filled = np.flatnonzero(np.diff(words.starts))
    counts[filled] -= words.symbols[words.starts[filled]] == END_KEY
    return np.maximum(counts, 1).astype(np.float64)


def reads_words(block: ReadingBlock) -> bool:
    """Whether the symbols of a block are those of :data:`WORDS`, apart from the ends of texts."""
    return isinstance(block, TokenNgrams) and block.attr == WORDS.attr
