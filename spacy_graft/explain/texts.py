"""Explanations of predictions for texts, bytes and sequences that no tokenizer has touched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..extract.texts import SequenceReader, TextWords, displayed_text
from ..model.weights import dense_rows
from ..text_model import TextModel
from ..vectors.word_scores import WordScores
from .contributions import FoundFeature, Member, Span
from .scores import Explanation, Matched, explanation_of_matched
from .words import SegmentedText, segmented, with_pieces

#: In the place of tokens.
NO_TOKEN = 0


def explain_text(
    model: TextModel, document: Any, probabilities: Mapping[str, float], alternatives: Mapping[str, str | None]
) -> Explanation:
    """Explain the scores of labels for a document, as :func:`.explanation_of_matched` does.

    The document is whatever the readers of the model read. ``probabilities`` have been predicted by the same model.
    """
    occurrences = model.occurrences(document)
    rows = np.unique(occurrences[:, 0])
    values = np.full(len(rows), model.document_weight(document, rows))
    found = evidence_of(model, document, occurrences, rows)
    weights = dense_rows(model.weights, rows)
    if (word_scores := model.snapshot.word_scores) is not None:
        symbols = model.symbols(document, word_scores.block)
        words, shares, of_words = word_scores.contributions(symbols)
        found += evidence_of_words(model, word_scores, document, symbols, words)
        values, weights = np.concatenate([values, shares]), np.concatenate([weights, of_words])
    matched = Matched(found, values, weights, model.intercepts)
    return explanation_of_matched(segmented_text(model, document), matched, probabilities, alternatives)


def segmented_text(model: TextModel, document: Any) -> SegmentedText:
    """The text of a document; the words of what is not a string are its bytes or other symbols."""
    text = displayed_text(document)
    if isinstance(document, str):
        whole = segmented(text, all(map(reader_ignores_case, model.readers.values())))
        of_words = (reader.offsets(document) for reader in model.readers.values() if isinstance(reader, TextWords))
        found = next((places for places in of_words if places is not None), None)
        return whole if found is None else with_pieces(whole, found)
    known = (reader.offsets(document) for reader in model.readers.values())
    places = next((places for places in known if places is not None), np.empty((0, 2), np.int64))
    return SegmentedText(text, places.astype(np.int64), ignores_case=False)


def reader_ignores_case(reader: SequenceReader) -> bool:
    """Whether a reader reads the same of words that differ in case alone; what a function reads is not known."""
    return getattr(reader, "lowercase", False) and getattr(reader, "analyzer", None) is None


def evidence_of(model: TextModel, document: Any, occurrences: np.ndarray, rows: np.ndarray) -> list[FoundFeature]:
    """Text, block and kind of the features in ``rows``, which a document has, and their places in it."""
    table = model.snapshot.features
    found: list[FoundFeature] = []
    offsets = {name: reader.offsets(document) for name, reader in model.readers.items()}
    by_row = occurrences[np.argsort(occurrences[:, 0], kind="stable")]
    slices = (np.searchsorted(by_row[:, 0], rows, side).tolist() for side in ("left", "right"))
    for row, begin, end in zip(rows.tolist(), *slices, strict=True):
        name = table.blocks[row]
        reader, places = model.readers[name], offsets[name]
        of_row = by_row[begin:end, 1:].tolist()
        spans = [spanned(places[first:stop]) for first, stop in of_row] if places is not None else []
        text = reader.text(table.ngrams[row])
        part = Member(text, name, reader.feature_kind, tuple((Span(*bounds, NO_TOKEN, NO_TOKEN),) for bounds in spans))
        found.append((text, name, reader.feature_kind, (part,)))
    return found


def evidence_of_words(
    model: TextModel, word_scores: WordScores, document: Any, symbols: np.ndarray, rows: np.ndarray
) -> list[FoundFeature]:
    """The same of words with a vector, rows of the lexicon, among the words of a document."""
    name, lexicon = word_scores.block, word_scores.lexicon
    kind, offsets = model.readers[name].feature_kind, model.readers[name].offsets(document)
    found: list[FoundFeature] = []
    order = np.argsort(symbols, kind="stable")
    places = None if offsets is None else offsets[order]
    slices = (np.searchsorted(symbols[order], lexicon.symbols[rows], side).tolist() for side in ("left", "right"))
    for row, begin, end in zip(rows.tolist(), *slices, strict=True):
        of_row = [] if places is None else places[begin:end].tolist()
        spans = tuple((Span(first, stop, NO_TOKEN, NO_TOKEN),) for first, stop in of_row)
        found.append((lexicon.words[row], name, kind, (Member(lexicon.words[row], name, kind, spans),)))
    return found


def spanned(places: np.ndarray) -> tuple[int, int]:
    """The range of the text that symbols with these places have; those of a reverse complement run backwards."""
    return int(places[:, 0].min()), int(places[:, 1].max())
