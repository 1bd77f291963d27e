"""Naive references of extraction and matching: every n-gram is searched at every position."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from spacy.tokens import Doc


def lower_text(doc: Doc) -> str:
    return "".join(token.text_with_ws.lower() for token in doc)


def framed_words(doc: Doc) -> str:
    return "\0".join(f" {word} " for word in lower_text(doc).split())


def marked_words(doc: Doc) -> str:
    return "\0".join(f"{marks(word)} {word.translate(NO_MARKS)} " for word in flagged_text(doc).split())


#: What :func:`flagged_text` puts before what was a capital.
FLAG = "\U0010fffe"
NO_MARKS = {ord(FLAG): None}


def flagged_text(doc: Doc) -> str:
    flagged = []
    for token in doc:
        low = token.text_with_ws.lower()
        for character in token.text_with_ws:
            own, low = low[: len(character.lower())], low[len(character.lower()) :]
            flagged.append((FLAG if own != character else "") + own)
    return "".join(flagged)


def marks(word: str) -> str:
    is_capital = [character == FLAG for character in word[:-1]]
    letters = [k for k, character in enumerate(word) if character.isalpha() or character.upper() != character]
    capitals = [k for k in letters if k and is_capital[k - 1]]
    begins = letters[:1] == capitals[:1] != []
    if len(capitals) >= 2 and len(capitals) > len(letters) / 2:
        return "⇪" + "⇧" * begins
    return "↕" * (len(capitals) > begins) + "⇧" * begins


def words(doc: Doc) -> list[str]:
    return [token.lower_ for token in doc if not token.is_space]


def occurrences(symbols: Sequence[object], ngrams: Sequence[Sequence[object]]) -> list[tuple[int, int, int]]:
    """(n-gram, start, end), by end, those with the same end longest first."""
    found = [
        (k, start, start + len(ngram))
        for k, ngram in enumerate(ngrams)
        for start in range(len(symbols) - len(ngram) + 1)
        if list(symbols[start : start + len(ngram)]) == list(ngram)
    ]
    return sorted(found, key=lambda occurrence: (occurrence[2], occurrence[1]))


def sums(documents: Sequence[Sequence[object]], ngrams: Sequence[Sequence[object]], weights: np.ndarray) -> np.ndarray:
    """Weights of the n-grams that each document has, once each."""
    present = [sorted({k for k, _, _ in occurrences(document, ngrams)}) for document in documents]
    return np.array([weights[found].sum(axis=0) for found in present]).reshape(len(documents), weights.shape[1])
