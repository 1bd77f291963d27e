"""Documents that have not been read: empty ones, with a text whose symbols are read when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from .blocks import ReadingBlock

if TYPE_CHECKING:
    import numpy as np
    from spacy.tokens import Doc

#: Key of ``doc.user_data``: the :class:`UnreadText` of a document that has not been read.
UNREAD_KEY = "graft_unread"


class UnreadText(Protocol):
    """The text of a document without tokens. Texts that are equal have the same symbols."""

    @property
    def text(self) -> str:
        """The text."""

    def doc(self) -> Doc:
        """Return a new document with the tokens of the text."""

    def symbols(self, block: ReadingBlock) -> np.ndarray:
        """Return the symbols that the document has for a block, as the pipeline annotates it."""


def unread_text(doc: Doc) -> UnreadText | None:
    """The unread text of a document; None for other documents."""
    unread: UnreadText | None = doc.user_data.get(UNREAD_KEY)
    return unread


def document_text(doc: Doc) -> str:
    """The text of a document, read or not."""
    unread = unread_text(doc)
    return doc.text if unread is None else unread.text


def read_symbols(block: ReadingBlock, doc: Doc) -> np.ndarray:
    """Return the symbols of a document for a block; raise a ValueError if it lacks an annotation."""
    unread = unread_text(doc)
    if unread is not None:
        return unread.symbols(block)
    block.check(doc)
    return block.symbols(doc)
