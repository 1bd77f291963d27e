"""Places of a model's features in a document."""

from __future__ import annotations

import numpy as np
from spacy.attrs import IDX, LENGTH
from spacy.tokens import Doc

from ..extract.bags import item_keys
from ..extract.blocks import ReadingBlock, as_reading_block, is_item_block, is_ngram_block
from ..extract.terms import NamedTerm
from ..graft.constraints import PRODUCT_SIGN
from ..model.snapshot import Snapshot
from .contributions import FoundFeature, Member, Span


class Evidence:
    """Finds the places of features in one document. Each block reads the document at most once.

    Places are computed for all occurrences together, in arrays; only the :class:`Span` is made for each.

    ``occurrences`` are those of n-grams, from ``Snapshot.ngram_occurrences``: int64 (n_occurrences, 3).
    """

    def __init__(self, snapshot: Snapshot, doc: Doc, occurrences: np.ndarray) -> None:
        self.doc = doc
        self.blocks = snapshot.blocks
        self.table = snapshot.features
        self.word_scores = snapshot.word_scores
        self.token_starts = doc.to_array(IDX).view(np.int64)
        self.occurrences = occurrences[np.argsort(occurrences[:, 0], kind="stable")]
        self._ngrams: tuple[dict[int, slice], list[tuple[Span]]] | None = None
        #: Of blocks of n-grams, what makes the text of one, and the kind of their features.
        self._of_ngrams = {
            name: (block.text, block.feature_kind) for name, block in self.blocks.items() if is_ngram_block(block)
        }
        self._members: dict[NamedTerm, Member] = {}
        self._keys: dict[str, np.ndarray] = {}
        self._spans: dict[str, np.ndarray] = {}

    def of_feature(self, row: int) -> FoundFeature:
        """Text, block and kind of a feature, and its members with their places."""
        name = self.table.blocks[row]
        if name in self._of_ngrams:
            text_of, kind = self._of_ngrams[name]
            text = text_of(self.table.ngrams[row])
            return text, name, kind, (Member(text, name, kind, self._places_of_ngram(row)),)
        members = tuple(map(self._item, self.table.terms(row)))
        return PRODUCT_SIGN.join(member.text for member in members), name, self.blocks[name].feature_kind, members

    def of_word(self, row: int) -> FoundFeature:
        """The same of a word with a vector, a row of the lexicon."""
        assert self.word_scores is not None
        name, lexicon = self.word_scores.block, self.word_scores.lexicon
        block = as_reading_block(self.blocks[name])
        places = self._places_of(name, self._keys_of(name) == lexicon.symbols[row])
        text = block.text([lexicon.words[row]])
        return text, name, block.feature_kind, (Member(text, name, block.feature_kind, places),)

    def _places_of_ngram(self, row: int) -> tuple[tuple[Span], ...]:
        if self._ngrams is None:
            self._ngrams = self._ngram_places()
        bounds, places = self._ngrams
        return tuple(places[bounds[row]])

    def _ngram_places(self) -> tuple[dict[int, slice], list[tuple[Span]]]:
        """The places of all occurrences, and which of them are those of each row."""
        rows, firsts, counts = np.unique(self.occurrences[:, 0], return_index=True, return_counts=True)
        names = [self.table.blocks[row] for row in rows.tolist()]
        numbers = {name: k for k, name in enumerate(dict.fromkeys(names))}
        number = np.repeat([numbers[name] for name in names], counts)
        bounds = np.empty((len(number), 2), np.int64)
        for name, k in numbers.items():
            of_block = np.flatnonzero(number == k)
            bounds[of_block] = extents(self._spans_of(name)[:, 0], *self.occurrences[of_block, 1:3].T)
        slices = map(slice, firsts.tolist(), (firsts + counts).tolist())
        return dict(zip(rows.tolist(), slices, strict=True)), list(zip(self._spans_between(bounds)))

    def _item(self, term: NamedTerm) -> Member:
        if term not in self._members:
            block = as_reading_block(self.blocks[term.block])
            symbols = block.values(term.symbols, self.doc.vocab.strings)
            key = item_keys(symbols.reshape(1, -1) if is_item_block(block) else symbols)[0]
            places = self._places_of(term.block, self._keys_of(term.block) == key)
            relations = tuple(self.doc[place[1].first_token].dep_ for place in places if len(place) == 2)
            self._members[term] = Member(block.text(term.symbols), term.block, block.feature_kind, places, relations)
        return self._members[term]

    def _places_of(self, block: str, chosen: np.ndarray) -> tuple[tuple[Span, ...], ...]:
        """The places of some of the symbols of a block (bool)."""
        bounds = self._spans_of(block)[chosen]
        n_places, k, _ = bounds.shape
        spans = self._spans_between(bounds.reshape(-1, 2))
        return tuple(tuple(spans[first : first + k]) for first in range(0, n_places * k, k)) if k else ()

    def _keys_of(self, block: str) -> np.ndarray:
        if block not in self._keys:
            self._keys[block] = item_keys(as_reading_block(self.blocks[block]).symbols(self.doc))
        return self._keys[block]

    def _spans_of(self, block: str) -> np.ndarray:
        """Start and end, in characters, of the k spans of each symbol or item: int (n, k, 2)."""
        if block not in self._spans:
            self._spans[block] = character_spans(as_reading_block(self.blocks[block]), self.doc)
        return self._spans[block]

    def _spans_between(self, bounds: np.ndarray) -> list[Span]:
        """Spans from their start and end, in characters: int (n, 2)."""
        starts, ends = bounds.T
        first = np.maximum(np.searchsorted(self.token_starts, starts, side="right") - 1, 0)
        last = np.maximum(np.searchsorted(self.token_starts, ends, side="left"), first + 1)
        return list(map(Span, starts.tolist(), ends.tolist(), first.tolist(), last.tolist()))


def extents(places: np.ndarray, firsts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Where n-grams start and end: int (n, 2).

    ``places`` (n_symbols, 2) is where each symbol does; n-gram k has the symbols from ``firsts[k]`` to ``stops[k]``.
    """
    if (places[1:] >= places[:-1]).all():
        return np.stack((places[firsts, 0], places[stops - 1, 1]), axis=1)
    # A mark can have the place of a capital further on.
    lengths = stops - firsts
    bounds = np.cumsum(lengths) - lengths
    symbols = np.repeat(firsts - bounds, lengths) + np.arange(lengths.sum())
    starts, ends = places[symbols].T
    return np.stack((np.minimum.reduceat(starts, bounds), np.maximum.reduceat(ends, bounds)), axis=1)


def character_spans(block: ReadingBlock, doc: Doc) -> np.ndarray:
    """Start and end, in characters, of the k spans of each symbol or item of a document: int (n, k, 2)."""
    if not is_item_block(block):
        return block.offsets(doc)[:, np.newaxis, :]  # type: ignore[union-attr]
    tokens = block.places(doc)
    starts, lengths = doc.to_array([IDX, LENGTH]).view(np.int64).T
    return np.stack([starts[tokens[..., 0]], (starts + lengths)[tokens[..., 1] - 1]], axis=-1)
