"""Reference scorer of exported models: standard library only, so that this file can be copied to where it is needed.

The format is described in docs/export.md. ``scorer.js`` beside this file is the same in JavaScript.

    scorer = ExportedModel(json.load(open("model.json", encoding="utf-8")))
    scorer.predict("an uneven game"), scorer.probabilities("an uneven game")
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

EXPORT_FORMAT, EXPORT_VERSION = "spacy-graft", 3
SPACES = frozenset("\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000").union(
    map(chr, range(0x2000, 0x200B))
)
COMPLEMENTS = dict(zip("ACGTUacgtuRYKMBVDHrykmbvdh", "TGCAAtgcaaYRMKVBHDyrmkvbhd", strict=True))
#: The symbol of both ends of a document.
END_SYMBOL = "\x1e"
#: A symbol that no n-gram has, and the key under which a trie has the number of an n-gram.
BREAK, NUMBER = "", None

#: Where symbols are in the document: start and end, in characters or bytes.
Place = tuple[int, int]


class ExportedModel:
    """An exported model.

    Parameters
    ----------
    model : dict
        What its JSON says.
    """

    def __init__(self, model: Any) -> None:
        if not isinstance(model, dict) or (model.get("format"), model.get("version")) != (
            EXPORT_FORMAT,
            EXPORT_VERSION,
        ):
            raise ValueError(
                f"This is no model of format {EXPORT_FORMAT!r}, version {EXPORT_VERSION}: export it again."
            )
        self.model: dict[str, Any] = model
        self.ngrams = [[symbols_of_ngram(block, ngram) for ngram in block["ngrams"]] for block in model["blocks"]]
        self.tries = [reversed_trie(ngrams) for ngrams in self.ngrams]

    def scores(self, document: str | bytes) -> list[float]:
        """Return the score of each label."""
        model, found = self.model, self._found(document)
        totals = [0.0] * len(model["labels"])
        for b, k in found:
            for label, weight in model["blocks"][b]["weights"][k]:
                totals[label] += weight
        value = self._value(document, found)
        intercepts = zip(model["intercepts"], totals, strict=True)
        return [intercept + total * value - model["offset"] for intercept, total in intercepts]

    def probabilities(self, document: str | bytes) -> list[float]:
        """Return the probability of each label."""
        scores = self.scores(document)
        if self.model["exclusive"]:
            largest = max(scores)
            exps = [math.exp(score - largest) for score in scores]
            total = sum(exps)
            return [exp / total for exp in exps]
        small = [math.exp(-abs(score)) for score in scores]
        return [(1.0 if score >= 0.0 else exp) / (1.0 + exp) for score, exp in zip(scores, small, strict=True)]

    def predict(self, document: str | bytes) -> Any:
        """Return the most probable label; a list of labels if they do not exclude each other."""
        probabilities, labels = self.probabilities(document), self.model["labels"]
        if self.model["exclusive"]:
            return labels[probabilities.index(max(probabilities))]
        reached = zip(labels, probabilities, self.model["thresholds"], strict=True)
        return [label for label, probability, threshold in reached if probability >= threshold]

    def explain(self, document: str | bytes) -> list[dict[str, Any]]:
        """Return the n-grams that the document has: block, number, value, and where they are."""
        found = self._found(document)
        places: dict[tuple[int, int], list[Place]] = {of: [] for of in found}
        for b, (symbols, at) in enumerate(self._read(document)):
            for end in range(len(symbols)):
                k = longest(self.tries[b], symbols, end)
                while k is not None:
                    ngram = self.ngrams[b][k]
                    own = at[end + 1 - len(ngram) : end + 1]
                    places[b, k].append((min(start for start, _ in own), max(stop for _, stop in own)))
                    k = longest(self.tries[b], ngram[1:], len(ngram) - 2)
        value = self._value(document, found)
        return [{"block": b, "ngram": k, "value": value, "places": places[b, k]} for b, k in found]

    def _found(self, document: str | bytes) -> list[tuple[int, int]]:
        """Block and number of the n-grams of a document, in the order in which they are summed."""
        found: list[tuple[int, int]] = []
        for b, (symbols, _) in enumerate(self._read(document)):
            trie, ngrams = self.tries[b], self.ngrams[b]
            ends = (longest(trie, symbols, end) for end in range(len(symbols)))
            order = list(dict.fromkeys(k for k in ends if k is not None))
            seen = set(order)
            for k in order:  # which grows: the longest other n-gram at the end of each, of those that come too
                shorter = longest(trie, ngrams[k][1:], len(ngrams[k]) - 2)
                if shorter is not None and shorter not in seen:
                    seen.add(shorter)
                    order.append(shorter)
            found += [(b, k) for k in order]
        return found

    def _value(self, document: str | bytes, found: list[tuple[int, int]]) -> float:
        """What each n-gram of a document counts: 1, or less in longer documents."""
        model, length = self.model, 0.0
        if model["length"] == "none":
            return 1.0
        if model["length"] == "words":
            length = float(len(set(words_for_length(document, model.get("lowercase")))))
        else:
            for b, k in found:
                length += model["blocks"][b]["lengths"][k]
        return float(model["scale"] / math.sqrt(max(length, 1.0)))

    def _read(self, document: str | bytes) -> Iterator[tuple[list[Any], list[Place]]]:
        """Yield the symbols of a document and their places, as each block sees them."""
        for block in self.model["blocks"]:
            symbols, places = self._read_block(document, block)
            if block["ends"] and symbols:
                symbols, places = [END_SYMBOL, *symbols, END_SYMBOL], [(0, 0), *places, (len(document), len(document))]
            yield symbols, places

    def _read_block(self, document: str | bytes, block: dict[str, Any]) -> tuple[list[Any], list[Place]]:
        """The symbols of a document and their places, as a block sees them between the ends."""
        if block["symbols"] == "bytes":
            return read_bytes(document)
        if not isinstance(document, str):
            raise ValueError("The model reads characters or words: the document must be a string, not bytes.")
        letters = lowered(document, self.model.get("lowercase") if block["lowercase"] else None)
        return (
            read_words(*letters, self.model["words"])
            if block["symbols"] == "words"
            else read_characters(*letters, block)
        )


def symbols_of_ngram(block: dict[str, Any], ngram: Any) -> list[Any]:
    """The symbols of an n-gram: characters, words, or bytes that are written in hexadecimal digits."""
    if block["symbols"] != "bytes":
        return list(ngram)
    return [symbol if symbol == END_SYMBOL else int(symbol, 16) for symbol in re.findall(f"{END_SYMBOL}|..", ngram)]


def reversed_trie(ngrams: Iterable[Sequence[Any]]) -> dict[Any, Any]:
    """The n-grams from their last symbol to their first."""
    trie: dict[Any, Any] = {}
    for k, ngram in enumerate(ngrams):
        node = trie
        for symbol in reversed(ngram):
            node = node.setdefault(symbol, {})
        node[NUMBER] = k
    return trie


def longest(trie: dict[Any, Any], symbols: Sequence[Any], end: int) -> int | None:
    """The number of the longest n-gram of which ``symbols[end]`` is the last symbol."""
    found = None
    while end >= 0 and symbols[end] in trie:
        trie = trie[symbols[end]]
        found = trie.get(NUMBER, found)
        end -= 1
    return found


def lowered(text: str, table: dict[str, Any] | None) -> tuple[list[str], list[int]]:
    """The characters of a text, in lower case if there is a table, and where each of them is."""
    if table is None:
        return list(text), list(range(len(text)))
    symbols: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        if character == "Σ" and "cased" in table:
            letters = "ς" if ends_word(text, place, table) else "σ"
        else:
            letters = table["letters"].get(character, character)
        symbols += letters
        places += [place] * len(letters)
    return symbols, places


def ends_word(text: str, place: int, table: dict[str, Any]) -> bool:
    """Whether there is a cased letter before a sigma and none after it, apart from what is ignored."""
    sides = range(place - 1, -1, -1), range(place + 1, len(text))
    before, after = (next((text[k] for k in side if not is_in(table["ignored"], text[k])), "") for side in sides)
    return is_in(table["cased"], before) and not is_in(table["cased"], after)


def is_in(ranges: list[int], character: str) -> bool:
    """Whether a character is in one of the ranges, first and last code points in turn."""
    if character == "":
        return False
    place = bisect_left(ranges, ord(character))
    return place % 2 == 1 or ranges[place : place + 1] == [ord(character)]


def read_characters(symbols: list[str], places: list[int], block: dict[str, Any]) -> tuple[list[str], list[Place]]:
    """Characters, and where they are."""
    end = places[-1] + 1 if places else 0
    if block["reverse_complement"]:
        symbols = [*symbols, " " if block["within_words"] else BREAK, *(COMPLEMENTS.get(s, s) for s in symbols[::-1])]
        places = [*places, end, *places[::-1]]
    symbols = [BREAK if s == "\0" or "\ud800" <= s <= "\udfff" else s for s in symbols]
    if not block["within_words"]:
        return symbols, [(place, place + 1) for place in places]
    framed: list[str] = []
    at: list[Place] = []
    for start, stop in runs_of_letters(symbols):
        before, after = (places[start],) * 2, ((*places[stop : stop + 1], end)[0],) * 2
        framed += [*([BREAK] if framed else []), " ", *symbols[start:stop], " "]
        at += [*([before] if at else []), before, *((p, p + 1) for p in places[start:stop]), after]
    return framed, at


def read_words(symbols: list[str], places: list[int], table: dict[str, list[int]]) -> tuple[list[str], list[Place]]:
    """Words, and where they are."""
    words = list(runs_of_words(symbols, table))
    return ["".join(symbols[a:b]) for a, b in words], [(places[a], places[b - 1] + 1) for a, b in words]


def runs_of_words(symbols: list[str], table: dict[str, list[int]]) -> Iterator[tuple[int, int]]:
    """Start and end of each word: letters, or another character; both with the combining characters among them."""
    letters, combining = table["letters"], table["combining"]
    stop = 0
    while stop < len(symbols):
        start, stop = stop, stop + 1
        if symbols[start] in SPACES:
            continue
        inside = [letters, combining] if is_in(letters, symbols[start]) else [combining]
        while stop < len(symbols) and any(is_in(ranges, symbols[stop]) for ranges in inside):
            stop += 1
        yield start, stop


def runs_of_letters(symbols: list[str]) -> Iterator[tuple[int, int]]:
    """Start and end of what is between white space."""
    start = 0
    for stop in range(len(symbols) + 1):
        if stop == len(symbols) or symbols[stop] in SPACES:
            if stop > start:
                yield start, stop
            start = stop + 1


def read_bytes(document: str | bytes) -> tuple[list[int], list[Place]]:
    """Bytes, of a string those of UTF-8, and where they are."""
    if isinstance(document, str):
        encoded = [character.encode("utf-8", "surrogatepass") for character in document]
        return [byte for one in encoded for byte in one], [(k, k + 1) for k, one in enumerate(encoded) for _ in one]
    return list(document), [(k, k + 1) for k in range(len(document))]


def words_for_length(document: str | bytes, table: dict[str, Any] | None) -> Sequence[str | bytes]:
    """The words that the length of a document counts: in lower case, between white space."""
    if not isinstance(document, str):
        return document.lower().split()
    symbols, _ = lowered(document, table)
    return ["".join(symbols[a:b]) for a, b in runs_of_letters(symbols)]
