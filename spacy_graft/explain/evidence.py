"""Places of a model's features in a document."""

from __future__ import annotations

import numpy as np
from spacy.tokens import Doc

from ..extract.bags import item_keys
from ..extract.blocks import ReadingBlock, is_item_block, is_ngram_block
from ..extract.terms import NamedTerm
from ..model.snapshot import Snapshot, as_reading_block
from .contributions import Member, Span
from .features import MEMBER_SEPARATOR


class Evidence:
    """Finds the places of features in one document. Each block reads the document at most once."""

    def __init__(self, snapshot: Snapshot, doc: Doc) -> None:
        self.doc = doc
        self.blocks = snapshot.blocks
        self.table = snapshot.features
        self.token_starts = np.array([token.idx for token in doc], np.int64)
        occurrences = snapshot.ngram_occurrences(doc)
        self.occurrences = occurrences[np.argsort(occurrences[:, 0], kind="stable")]
        self._members: dict[NamedTerm, Member] = {}
        self._symbols: dict[str, np.ndarray] = {}
        self._spans: dict[str, np.ndarray] = {}

    def of_feature(self, row: int) -> tuple[str, str, str, tuple[Member, ...]]:
        """Text, block and kind of a feature, and its members with their places."""
        terms, block = self.table.terms(row), self.table.blocks[row]
        if is_ngram_block(self.blocks[block]):
            members: tuple[Member, ...] = (self._ngram(row, terms[0]),)
        else:
            members = tuple(self._item(term) for term in terms)
        return MEMBER_SEPARATOR.join(member.text for member in members), block, self.blocks[block].feature_kind, members

    def _ngram(self, row: int, term: NamedTerm) -> Member:
        first, last = np.searchsorted(self.occurrences[:, 0], (row, row + 1))
        spans = self._spans_of(term.block)
        places = [
            (self._span(spans[start, 0, 0], spans[end - 1, 0, 1]),) for _, start, end in self.occurrences[first:last]
        ]
        return self._member(term, tuple(places))

    def _item(self, term: NamedTerm) -> Member:
        if term not in self._members:
            block = as_reading_block(self.blocks[term.block])
            symbols = block.values(term.symbols, self.doc.vocab.strings)
            key = item_keys(symbols.reshape(1, -1) if is_item_block(block) else symbols)[0]
            spans = self._spans_of(term.block)[self._keys_of(term.block) == key]
            places = tuple(tuple(self._span(start, end) for start, end in place) for place in spans.tolist())
            self._members[term] = self._member(term, places if spans.shape[1] else ())
        return self._members[term]

    def _member(self, term: NamedTerm, places: tuple[tuple[Span, ...], ...]) -> Member:
        block = self.blocks[term.block]
        return Member(as_reading_block(block).text(term.symbols), term.block, block.feature_kind, places)

    def _keys_of(self, block: str) -> np.ndarray:
        if block not in self._symbols:
            self._symbols[block] = item_keys(as_reading_block(self.blocks[block]).symbols(self.doc))
        return self._symbols[block]

    def _spans_of(self, block: str) -> np.ndarray:
        """Start and end, in characters, of the k spans of each symbol or item: int (n, k, 2)."""
        if block not in self._spans:
            self._spans[block] = character_spans(as_reading_block(self.blocks[block]), self.doc)
        return self._spans[block]

    def _span(self, start: int, end: int) -> Span:
        first = int(np.searchsorted(self.token_starts, start, side="right")) - 1
        last = int(np.searchsorted(self.token_starts, end, side="left"))
        return Span(int(start), int(end), max(first, 0), max(last, first + 1, 1))


def character_spans(block: ReadingBlock, doc: Doc) -> np.ndarray:
    """Start and end, in characters, of the k spans of each symbol or item of a document: int (n, k, 2)."""
    if not is_item_block(block):
        return block.offsets(doc)[:, np.newaxis, :]  # type: ignore[union-attr]
    tokens = block.places(doc)
    starts = np.array([token.idx for token in doc] or [0], np.int64)
    ends = np.array([token.idx + len(token) for token in doc] or [0], np.int64)
    return np.stack([starts[tokens[..., 0]], ends[tokens[..., 1] - 1]], axis=-1)
