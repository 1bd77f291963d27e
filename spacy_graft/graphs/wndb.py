"""Reader of WordNet's database files (the format is described in WordNet's manual page ``wndb(5WN)``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources.abc import Traversable

import numpy as np

from .lexical import LETTERS
from .resources import Resource, content

#: Names of the files, without prefix and suffix, by letter.
FILE_NAMES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
#: Signs of the pointers that are read. Hyponyms are the inverse of hypernyms.
ANTONYM, HYPERNYM, INSTANCE_HYPERNYM, SIMILAR_TO, DERIVATION = "!", "@", "@i", "&", "+"
SIGNS = (ANTONYM, HYPERNYM, INSTANCE_HYPERNYM, SIMILAR_TO, DERIVATION)
#: Decimal digits of an offset.
OFFSET_DIGITS = 8
OFFSETS = 10**OFFSET_DIGITS
#: Endings of inflected words and of their lemmas, by letter: the rules of WordNet's ``morphy(7WN)``.
ENDINGS = {
    "n": [("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"),
          ("men", "man"), ("ies", "y")],
    "v": [("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")],
    "a": [("er", ""), ("est", ""), ("er", "e"), ("est", "e")],
    "r": [],
}  # fmt: skip
#: The rules do not apply to shorter words: "has", "was" and "his" are no plurals.
MIN_INFLECTED = 4


def has_wordnet(folder: Traversable) -> bool:
    """Whether a folder has all eight files."""
    return all((folder / f"{kind}.{name}").is_file() for kind in ("data", "index") for name in FILE_NAMES.values())


WORDNET = Resource(
    "WordNet 3.0",
    "wordnet",
    has_wordnet,
    ("/usr/share/wordnet",),
    "Get it with nltk.download('wordnet'), or install Debian's package wordnet-base, or give the path of the folder "
    "that has data.noun and the other files.",
)


@dataclass(frozen=True, eq=False)
class Pointers:
    """Relations of one sign.

    Attributes
    ----------
    sources, targets : int64 (n,)
        Synsets by number.
    source_words, target_words : int64 (n,)
        Words within them, from 1; 0 in relations of whole synsets.
    """

    sources: np.ndarray
    source_words: np.ndarray
    targets: np.ndarray
    target_words: np.ndarray


@dataclass(frozen=True, eq=False)
class WordNetDatabase:
    """The synsets, their words and relations, and the senses of lemmas.

    Attributes
    ----------
    words : list of str
        Of all synsets, one after the other, in lower case, with ``_`` for spaces.
    starts : int64 (n_synsets + 1)
        The words of synset s are ``words[starts[s] : starts[s + 1]]``.
    pointers : dict
        By sign.
    senses : dict
        The synsets of a lemma, by letter and lemma, the most frequent first: int64.
    exceptions : dict
        Lemmas of irregular forms, by letter and form.
    """

    words: list[str]
    starts: np.ndarray
    pointers: dict[str, Pointers]
    senses: dict[tuple[str, str], np.ndarray]
    exceptions: dict[tuple[str, str], list[str]]

    @property
    def n_synsets(self) -> int:
        return len(self.starts) - 1

    @classmethod
    def read(cls, folder: Traversable) -> WordNetDatabase:
        """Read a folder of WordNet's files; raise a ValueError that names file and line if one is damaged."""
        columns = SynsetColumns()
        for letter, name in FILE_NAMES.items():
            columns.read(letter, folder / f"data.{name}")
        synsets = Synsets(np.array(columns.keys, np.int64))
        senses: dict[tuple[str, str], np.ndarray] = {}
        for letter, name in FILE_NAMES.items():
            senses.update(read_index(letter, folder / f"index.{name}", synsets))
        exceptions = {
            (letter, form): lemmas
            for letter, name in FILE_NAMES.items()
            for form, *lemmas in exceptions_in(folder / f"{name}.exc")
        }
        starts = np.concatenate([[0], np.cumsum(columns.counts, dtype=np.int64)])
        return cls(columns.words, starts, columns.pointers(synsets), senses, exceptions)

    def lemmas(self, form: str, letter: str, inflected: bool = True) -> list[str]:
        """Return the lemmas of a form in a part of speech: the form itself if it is one, else its base forms."""
        if (letter, form) in self.senses:
            return [form]
        if not inflected:
            return []
        irregular = self.exceptions.get((letter, form), [])
        candidates = irregular if irregular or len(form) < MIN_INFLECTED else regular_lemmas(form, letter)
        return [lemma for lemma in dict.fromkeys(candidates) if (letter, lemma) in self.senses]

    def word(self, synset: int, lemma: str) -> int:
        """Return the position in ``words`` of a lemma in a synset; raise a ValueError if the synset lacks it."""
        try:
            return self.words.index(lemma, int(self.starts[synset]), int(self.starts[synset + 1]))
        except ValueError as error:
            raise ValueError(
                f"WordNet is damaged: {lemma!r} has a sense, but is not in the synset of that sense"
            ) from error


def regular_lemmas(form: str, letter: str) -> Iterator[str]:
    """Yield the possible lemmas of a form, by its ending."""
    for ending, replacement in ENDINGS[letter]:
        if form.endswith(ending) and len(form) > len(ending):
            yield form[: -len(ending)] + replacement


class Synsets:
    """Numbers of synsets by part of speech and offset."""

    def __init__(self, keys: np.ndarray) -> None:
        self.order = np.argsort(keys, kind="stable")
        self.sorted = keys[self.order]
        if (np.diff(self.sorted) == 0).any():
            raise ValueError("WordNet is damaged: two synsets have the same offset")

    def numbers(self, keys: np.ndarray, owner: str) -> np.ndarray:
        """Return the number of each key, int64; raise a ValueError if there is no such synset."""
        if not len(keys):
            return keys
        places = np.searchsorted(self.sorted, keys)
        known = places < len(self.sorted)
        known[known] = self.sorted[places[known]] == keys[known]
        if not known.all():
            raise ValueError(f"WordNet is damaged: {owner} name {(~known).sum()} synsets that do not exist")
        return self.order[places]


class SynsetColumns:
    """The content of the data files as columns. A line is

    offset, file, type, n_words (hex), word and id (hex) for each, n_pointers, then for each pointer: sign, offset,
    part of speech, words (two hex digits each); then more, and a gloss behind a bar.
    """

    def __init__(self) -> None:
        self.keys: list[int] = []
        self.counts: list[int] = []
        self.words: list[str] = []
        self.n_pointers: list[int] = []
        self.fields: tuple[list[bytes], list[bytes], list[bytes], list[bytes]] = ([], [], [], [])

    def read(self, letter: str, file: Traversable) -> None:
        """Add the synsets of a file."""
        signs, offsets, letters, pairs = self.fields
        key = LETTERS.index(letter) * OFFSETS
        words: list[bytes] = []
        for number, line in data_lines(file):
            fields = line.split(b" | ", 1)[0].split()
            try:
                offset, count = int(fields[0]), int(fields[3], 16)
                first = 5 + 2 * count
                last = first + 4 * int(fields[first - 1])
                if (
                    not 5 <= first <= last <= len(fields)
                    or not 0 <= offset < OFFSETS
                    or not are_pointers(fields[first:last])
                ):
                    raise IndexError
            except (IndexError, ValueError) as error:
                raise damaged_line(file, number, "no synset") from error
            self.keys.append(key + offset)
            self.counts.append(count)
            words += fields[4 : first - 1 : 2]
            signs += fields[first:last:4]
            offsets += fields[first + 1 : last : 4]
            letters += fields[first + 2 : last : 4]
            pairs += fields[first + 3 : last : 4]
            self.n_pointers.append((last - first) // 4)
        self.words += decoded_words(file, words)

    def pointers(self, synsets: Synsets) -> dict[str, Pointers]:
        """The pointers of each sign."""
        signs, offsets, letters, pairs = (np.array(column, np.bytes_) for column in self.fields)
        sources = np.repeat(np.arange(len(self.keys)), self.n_pointers)
        found = {}
        for sign in SIGNS:
            chosen = np.flatnonzero(signs == sign.encode())
            targets = synsets.numbers(synset_keys(letters[chosen], offsets[chosen]), f"pointers {sign}")
            words = np.array([int(pair, 16) for pair in pairs[chosen].tolist()], np.int64)
            found[sign] = Pointers(sources[chosen], words >> 8, targets, words & 0xFF)
            self._check_words(found[sign])
        return found

    def _check_words(self, pointers: Pointers) -> None:
        counts = np.array(self.counts, np.int64)
        wrong = pointers.source_words > counts[pointers.sources]
        wrong |= pointers.target_words > counts[pointers.targets]
        if wrong.any():
            raise ValueError(f"WordNet is damaged: {wrong.sum()} pointers name words that their synsets do not have")


def read_index(letter: str, file: Traversable, synsets: Synsets) -> dict[tuple[str, str], np.ndarray]:
    """The senses of each lemma in a file. A line is

    lemma, part of speech, n_senses, n_signs, the signs of pointers, two more numbers, an offset for each sense.
    """
    lemmas: list[bytes] = []
    counts: list[int] = []
    offsets: list[bytes] = []
    for number, line in data_lines(file):
        fields = line.split()
        try:
            count = int(fields[2])
            n_before = 6 + int(fields[3])
            if count < 1 or len(fields) != n_before + count or not are_offsets(fields[n_before:]):
                raise IndexError
        except (IndexError, ValueError) as error:
            raise damaged_line(file, number, "no lemma with its senses") from error
        lemmas.append(fields[0])
        counts.append(count)
        offsets += fields[-count:]
    keys = synset_keys(np.full(len(offsets), letter.encode(), "S1"), np.array(offsets, np.bytes_))
    numbers = synsets.numbers(keys, f"senses in {file.name}")
    ends = np.cumsum(counts, dtype=np.int64).tolist()
    words = decoded_words(file, lemmas)
    return {(letter, lemma): numbers[end - count : end] for lemma, count, end in zip(words, counts, ends, strict=True)}


def are_pointers(fields: list[bytes]) -> bool:
    """Whether fields are repetitions of sign, decimal offset, part of speech and hexadecimal words."""
    if not fields:
        return True
    words = b"".join(fields[3::4])
    are_words = len(words) == len(fields) and not words.translate(None, b"0123456789abcdefABCDEF")
    return are_words and are_offsets(fields[1::4])


def are_offsets(fields: list[bytes]) -> bool:
    """Whether all fields are decimal numbers of at most eight digits, and there is one at least."""
    return b"".join(fields).isdigit() and max(map(len, fields)) <= OFFSET_DIGITS


def synset_keys(letters: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Part of speech and offset as one number: int64. Satellites (``s``) are adjectives."""
    codes = np.full(len(letters), len(LETTERS), np.int64)
    for code, letter in enumerate(LETTERS):
        codes[letters == letter.encode()] = code
    codes[letters == b"s"] = LETTERS.index("a")
    return codes * OFFSETS + offsets.astype(np.int64)


def data_lines(file: Traversable) -> Iterator[tuple[int, bytes]]:
    """Yield lines with their numbers, from 1, without the indented licence at the top."""
    for number, line in enumerate(content(file).split(b"\n"), start=1):
        if line.strip() and not line.startswith(b"  "):
            yield number, line


def decoded_words(file: Traversable, words: Iterable[bytes]) -> list[str]:
    """Words in lower case, without the syntactic markers of adjectives: ``galore(ip)`` is ``galore``."""
    try:
        text = b"\n".join(words).decode("utf-8").lower()
    except UnicodeDecodeError as error:
        raise ValueError(f"WordNet is damaged: {file.name} has words that are not UTF-8") from error
    for position in ("(a)", "(p)", "(ip)"):
        text = text.replace(position, "")
    return text.split("\n") if text else []


def exceptions_in(file: Traversable) -> Iterator[list[str]]:
    """Yield irregular forms with their lemmas. Not every distribution has these files."""
    if file.is_file():
        for number, line in data_lines(file):
            try:
                yield line.decode("utf-8").split()
            except UnicodeDecodeError as error:
                raise damaged_line(file, number, "not UTF-8") from error


def damaged_line(file: Traversable, number: int, problem: str) -> ValueError:
    """The error for a malformed line."""
    return ValueError(f"WordNet is damaged: {file.name}, line {number}: {problem}")
