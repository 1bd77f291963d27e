"""Contributions summed over what a reader sees: the words and phrases of a text.

Every contribution is divided among the words that its places touch, in proportion to the characters that they cover.
A word belongs to one phrase at most; what falls on its words adds up in the phrase.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import fsum
from typing import Any, NamedTuple
from unicodedata import category

import numpy as np

from ..extract.blocks import WORD_VECTOR
from ..extract.letters import is_combining
from .contributions import Contribution

#: An n-gram makes its words a phrase if it is at least this share of what the strongest of them has alone.
MIN_PHRASE_SHARE = 0.5
#: Scripts without spaces between words, whose characters are words of their own unless a tokenizer knows better: Thai
#: to Myanmar, Khmer, kana and Han.
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)


@dataclass(frozen=True)
class SegmentedText:
    """A text and where its words are.

    Attributes
    ----------
    text : str
    words : int64 (n, 2)
        Start and end of each word, in characters. They ascend and do not overlap. Punctuation is words as well.
    tokens : int64 (n_tokens, 2), optional
        The same of tokens, each of which is in a word; by default the words. *isn't* may be a word of two tokens.
    ignores_case : bool
        Whether words that differ in case alone are the same: those that the model cannot tell apart.
    """

    text: str
    words: np.ndarray = field(compare=False, repr=False)
    tokens: np.ndarray | None = field(default=None, compare=False, repr=False)
    ignores_case: bool = True

    def same(self, word: str) -> str:
        """The key of a word: words with the same key are the same word."""
        return " ".join(word.lower().split()) if self.ignores_case else word


class WordEvidence(NamedTuple):
    """What a word or phrase contributes to a score, or a feature that has no place in a word.

    Attributes
    ----------
    text : str
        As it stands at its first place; the name of a feature that is of the whole document or of white space alone.
    contribution : float
        The sum of its parts.
    places : tuple of pairs of int
        Start and end of each of its places, in characters.
    parts : tuple of pairs of Contribution and float
        The features with a share in it and their shares, the largest first.
    """

    text: str
    contribution: float
    places: tuple[tuple[int, int], ...]
    parts: tuple[tuple[Contribution, float], ...]

    @property
    def is_by_vector(self) -> bool:
        """Whether all of it comes from word vectors."""
        return all(part.kind == WORD_VECTOR for part, _ in self.parts)

    @property
    def name(self) -> str:
        """The text, marked if all comes from word vectors."""
        return f"{self.text} ({WORD_VECTOR})" if self.is_by_vector else self.text

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        features = [
            {"text": part.text, "block": part.block, "kind": part.kind, "contribution": share}
            for part, share in self.parts
        ]
        return {"text": self.text, "contribution": self.contribution, "places": self.places, "features": features}


class Spans(NamedTuple):
    """The spans of all places of contributions, as arrays.

    Attributes
    ----------
    contribution, place : int64 (n)
        Index of the contribution of each, and number of its place: both ends of an arc are one place.
    start, end : int64 (n)
        In characters.
    """

    contribution: np.ndarray
    place: np.ndarray
    start: np.ndarray
    end: np.ndarray


class Overlaps(NamedTuple):
    """Which spans touch which words.

    Attributes
    ----------
    span, word : int64 (n)
        Indices of both.
    characters : int64 (n)
        Characters that they have in common.
    """

    span: np.ndarray
    word: np.ndarray
    characters: np.ndarray


def word_evidence(source: SegmentedText, contributions: Sequence[Contribution]) -> tuple[WordEvidence, ...]:
    """Sum contributions over the words and phrases of a text, and list features that have no place in a word.

    Returns
    -------
    tuple of WordEvidence
        In descending order of their absolute contributions, whose sum is that of the contributions.
    """
    amounts = np.array([part.contribution for part in contributions])
    spans = spans_of(contributions)
    overlaps = overlaps_of(spans, source.words)
    owner = spans.contribution[overlaps.span]
    covered = np.bincount(owner, overlaps.characters, len(amounts))
    shares = amounts[owner] * overlaps.characters / covered[owner]
    units = units_of(source, spans, overlaps, shares)
    # What is written alike is one row, in the order of the contributions.
    rows: dict[str, int] = {}
    places: list[set[tuple[int, int]]] = []
    row_of = np.zeros(len(source.words), np.int64)
    for word in dict.fromkeys(overlaps.word.tolist()):
        row = row_of[word] = rows.setdefault(source.same(source.text[slice(*units[word])]), len(rows))
        if row == len(places):
            places.append(set())
        places[row].add(units[word])
    # Features of rows, the largest share first.
    pairs, pair = np.unique(row_of[overlaps.word] * len(amounts) + owner, return_inverse=True)
    amounts_in_rows = np.bincount(pair, shares, len(pairs))
    row_of_pair, part_of_pair = np.divmod(pairs, max(len(amounts), 1))
    order = np.lexsort((-np.abs(amounts_in_rows), row_of_pair))
    features = [contributions[k] for k in part_of_pair[order].tolist()]
    parts = list(zip(features, amounts_in_rows[order].tolist(), strict=True))
    bounds = np.searchsorted(row_of_pair, np.arange(len(rows) + 1)).tolist()
    found = [
        placed_row(source.text, sorted(of_row), tuple(parts[begin:end]))
        for of_row, (begin, end) in zip(places, pairwise(bounds), strict=True)
    ]
    found += [unplaced_row(part) for part, n in zip(contributions, covered.tolist(), strict=True) if not n]
    return tuple(sorted(found, key=lambda row: -abs(row.contribution)))


def placed_row(text: str, places: list[tuple[int, int]], parts: tuple[tuple[Contribution, float], ...]) -> WordEvidence:
    """A word or phrase with the shares of features at all of its places."""
    (start, end), *_ = places
    return WordEvidence(text[start:end], fsum(share for _, share in parts), tuple(places), parts)


def unplaced_row(part: Contribution) -> WordEvidence:
    """A feature of the whole document, or of white space alone."""
    return WordEvidence(part.text, part.contribution, (), ((part, part.contribution),))


def spans_of(contributions: Sequence[Contribution]) -> Spans:
    """The spans of all contributions that are not empty, repetitions included."""
    places = ((k, place) for k, part in enumerate(contributions) for member in part.members for place in member.places)
    found = [
        (k, number, span.start, span.end)
        for number, (k, place) in enumerate(places)
        for span in place
        if span.end > span.start
    ]
    return Spans(*np.array(found, np.int64).reshape(-1, 4).T)


def overlaps_of(spans: Spans, words: np.ndarray) -> Overlaps:
    """Which spans touch which words: int64 (n_words, 2)."""
    starts, ends = words.T
    first, stop = np.searchsorted(ends, spans.start, "right"), np.searchsorted(starts, spans.end, "left")
    counts = np.maximum(stop - first, 0)
    span = np.repeat(np.arange(len(counts)), counts)
    word = np.arange(len(span)) - np.repeat(np.cumsum(counts) - counts, counts) + first[span]
    characters = np.minimum(spans.end[span], ends[word]) - np.maximum(spans.start[span], starts[word])
    return Overlaps(span, word, characters)


def units_of(source: SegmentedText, spans: Spans, overlaps: Overlaps, shares: np.ndarray) -> list[tuple[int, int]]:
    """The start and end of the phrase that each word belongs to, or of the word itself.

    Places of whole tokens of two or more words beside each other are taken by falling contribution. One makes its words
    a phrase if none of them belongs to another, and if it is strong enough beside what each of them has alone.
    """
    words = source.words
    tokens = words if source.tokens is None else source.tokens
    n_words, n_spans = len(words), len(spans.start)
    alone = np.bincount(overlaps.span, minlength=n_spans)[overlaps.span] == 1
    own = np.abs(np.bincount(overlaps.word[alone], shares[alone], n_words))
    units: list[tuple[int, int]] = list(map(tuple, words.tolist()))
    if not n_spans or not n_words:
        return units
    firsts = np.flatnonzero(np.diff(spans.place, prepend=-1))
    strength = np.abs(np.add.reduceat(np.bincount(overlaps.span, shares, n_spans), firsts))
    first, stop = within(tokens, np.minimum.reduceat(spans.start, firsts), np.maximum.reduceat(spans.end, firsts))
    inside, outside = within(tokens, spans.start, spans.end)
    n_tokens = np.add.reduceat(np.maximum(outside - inside, 0), firsts)
    word_of = np.searchsorted(words[:, 0], tokens[:, 0], "right") - 1
    candidates = np.flatnonzero((stop - first >= 2) & (n_tokens == stop - first))
    first, stop = word_of[first[candidates]], word_of[stop[candidates] - 1] + 1
    strength = strength[candidates]
    order = np.argsort(-strength, kind="stable")
    # A phrase has few words, which lists are quicker for than arrays.
    taken, alone_of = [False] * n_words, own.tolist()
    for begin, end, strong in zip(first[order].tolist(), stop[order].tolist(), strength[order].tolist(), strict=True):
        here, n = slice(begin, end), end - begin
        if n >= 2 and not any(taken[here]) and strong >= MIN_PHRASE_SHARE * max(alone_of[here]):
            taken[here] = [True] * n
            units[here] = [(units[begin][0], units[end - 1][1])] * n
    return units


def within(tokens: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first token that is within each range, and one past the last."""
    return np.searchsorted(tokens[:, 0], starts, "left"), np.searchsorted(tokens[:, 1], ends, "right")


def segmented(text: str, ignores_case: bool = True) -> SegmentedText:
    """Divide a text that no tokenizer has divided.

    Words are between white space, without the punctuation before and after them, which is words of its own. Characters
    of scripts without spaces are words: n-grams make phrases of them.
    """
    words: list[tuple[int, int]] = []
    for run in re.finditer(r"\S+", text):
        start, end = run.span()
        while start < end and is_punctuation(text[start]):
            words.append((start, after_marks(text, start + 1, end)))
            start = words[-1][1]
        stop, signs = end, []
        while (sign := before_marks(text, stop, start)) >= start and is_punctuation(text[sign]):
            signs.append((sign, stop))
            stop = sign
        words += unspaced_words(text, start, stop)
        words += reversed(signs)
    return SegmentedText(text, np.array(words, np.int64).reshape(-1, 2), ignores_case=ignores_case)


def with_pieces(source: SegmentedText, places: np.ndarray) -> SegmentedText:
    """The same with tokens that end where words do, and where other places (n, 2) in the text begin and end."""
    ends = np.unique(np.concatenate([source.words.reshape(-1), places.reshape(-1)]))
    pieces = np.stack((ends[:-1], ends[1:]), axis=1)
    word_of = np.searchsorted(source.words[:, 0], pieces[:, 0], "right") - 1
    # White space before the first word is in none, nor is that after a word.
    return replace(source, tokens=pieces[(word_of >= 0) & (pieces[:, 0] < source.words[word_of, 1])])


def unspaced_words(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The words of a range without white space: characters of scripts without spaces, and what is between them."""
    words: list[tuple[int, int]] = []
    stop = start
    while match := UNSPACED.search(text, stop, end):
        stop = after_marks(text, match.end(), end)
        first = match.start()
        if first > start and is_combining(text[first]):
            continue  # of the character before it, of another script
        if first > start:
            words.append((start, first))
        words.append((first, stop))
        start = stop
    return [*words, (start, end)] if start < end else words


def after_marks(text: str, start: int, end: int) -> int:
    """The place behind the combining characters from a place on."""
    while start < end and is_combining(text[start]):
        start += 1
    return start


def before_marks(text: str, stop: int, start: int) -> int:
    """The place of the last character of a range that is not combining; before ``start`` if there is none."""
    place = stop - 1
    while place >= start and is_combining(text[place]):
        place -= 1
    return place


def joined(text: str, tokens: np.ndarray) -> np.ndarray:
    """The words that tokens make: those with letters or digits that no white space divides, unless their script does
    without it; a token that begins with a combining character belongs to the one before it.
    """
    starts, ends = tokens.T.copy()
    for k in np.flatnonzero(ends[:-1] == starts[1:]).tolist():
        before, after = text[tokens[k, 0] : tokens[k, 1]], text[tokens[k + 1, 0] : tokens[k + 1, 1]]
        is_word = any(map(str.isalnum, before)) and any(map(str.isalnum, after))
        is_one = is_word and not UNSPACED.match(before[-1]) and not UNSPACED.match(after[0])
        if is_one or is_combining(after[0]):
            starts[k + 1] = starts[k]
    last = np.append(starts[1:] != starts[:-1], np.ones(min(len(starts), 1), np.bool_))
    return np.stack((starts[last], ends[last]), axis=1)


def is_punctuation(character: str) -> bool:
    """Whether a character is punctuation or a symbol."""
    return category(character)[0] in "PS"
