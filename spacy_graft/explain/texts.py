"""Explanations of predictions for texts, bytes and sequences that no tokenizer has touched."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..extract.texts import displayed_text
from ..text_model import TextModel
from ..vectors.word_scores import WordScores
from .contributions import Member, member, span
from .scores import Explanation, explain_label

#: In the place of tokens.
NO_TOKEN = 0


def explain_text(model: TextModel, document: Any, probabilities: np.ndarray, labels: list[str]) -> Explanation:
    """Explain the scores of all labels for a document.

    Parameters
    ----------
    model : TextModel
    document : str, bytes, or what else its readers read
    probabilities : float64 (n_labels)
        Predicted by the same model.
    labels : list of str
        In the order of the columns of the weights.
    """
    occurrences = model.occurrences(document)
    rows = np.unique(occurrences[:, 0])
    values = np.full(len(rows), model.document_weight(document, rows))
    weights, intercepts = model.weights[rows], model.intercepts.tolist()
    found = evidence_of(model, document, occurrences, rows)
    if model.snapshot.word_scores is not None:
        symbols = model.word_symbols(document)
        words, shares, of_words = model.snapshot.word_scores.contributions(symbols)
        found += evidence_of_words(model, model.snapshot.word_scores, document, symbols, words)
        values, weights = np.concatenate([values, shares]), np.concatenate([weights, of_words])
    return Explanation(
        displayed_text(document),
        tuple(
            explain_label(label, float(probabilities[k]), intercepts[k], found, values, weights[:, k])
            for k, label in enumerate(labels)
        ),
    )


def evidence_of(
    model: TextModel, document: Any, occurrences: np.ndarray, rows: np.ndarray
) -> list[tuple[str, str, str, tuple[Member, ...]]]:
    """Text, block and kind of the features in ``rows``, which a document has, and their places in it."""
    table = model.snapshot.features
    found: list[tuple[str, str, str, tuple[Member, ...]]] = []
    offsets = {name: reader.offsets(document) for name, reader in model.readers.items()}
    for row in rows.tolist():
        name = table.blocks[row]
        reader, places = model.readers[name], offsets[name]
        of_feature = occurrences[occurrences[:, 0] == row, 1:] if places is not None else np.empty((0, 2), np.int64)
        spans = [spanned(places[first:stop]) for first, stop in of_feature.tolist()] if places is not None else []
        text = reader.text(table.ngrams[row])
        part = member(text, name, reader.feature_kind, tuple((span(*bounds, NO_TOKEN, NO_TOKEN),) for bounds in spans))
        found.append((text, name, reader.feature_kind, (part,)))
    return found


def evidence_of_words(
    model: TextModel, word_scores: WordScores, document: Any, symbols: np.ndarray, rows: np.ndarray
) -> list[tuple[str, str, str, tuple[Member, ...]]]:
    """The same of words with a vector, rows of the lexicon, among the words of a document."""
    name, lexicon = word_scores.block, word_scores.lexicon
    kind, offsets = model.readers[name].feature_kind, model.readers[name].offsets(document)
    found: list[tuple[str, str, str, tuple[Member, ...]]] = []
    for row in rows.tolist():
        places = [] if offsets is None else offsets[symbols == lexicon.symbols[row]].tolist()
        spans = tuple((span(start, end, NO_TOKEN, NO_TOKEN),) for start, end in places)
        found.append((lexicon.words[row], name, kind, (member(lexicon.words[row], name, kind, spans),)))
    return found


def spanned(places: np.ndarray) -> tuple[int, int]:
    """The range of the text that symbols with these places have; those of a reverse complement run backwards."""
    return int(places[:, 0].min()), int(places[:, 1].max())
