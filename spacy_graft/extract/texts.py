"""Texts, bytes and sequences of integers as symbols, without a tokenizer and without Docs.

A reader is to such documents what a block is to Docs: it declares the same, names its symbols in the same way, and is
an immutable value. It reads many documents at once.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import length_hint
from typing import Any, ClassVar, TypeVar

import numpy as np

from ..digests import text_key
from ..options import check_flags
from .blocks import WORD_VECTOR, BlockKind
from .ends import BEGIN_SIGN, END_SIGN, TEXT_END, places_with_ends, shown, with_ends
from .items import character_symbols, integer_names, integer_symbols
from .letters import code_points, framed_words, places_in_text, word_pattern, words_of
from .options import check_settings
from .streams import Stream, starts_of

OfBatchT = TypeVar("OfBatchT")

#: What the options of readers are parameters of.
ESTIMATOR_OF_READERS = "GraftTextClassifier"
#: Options of readers that are true or false.
FLAGS = "lowercase", "within_words", "reverse_complement", "ends"
#: Symbols that are read at a time, if no document has more: enough for the weights of a model to stay in the cache.
BATCH = 2**17
#: The symbol of the ends of documents of bytes, of which the symbols are from 1 to 256.
END_OF_BYTES = 257
#: What is no character: halves of surrogate pairs, which Python's strings may hold.
SURROGATES = 0xD800, 0xE000
#: Bases of nucleic acids with the codes of IUPAC for several, and their complements.
BASES = str.maketrans("ACGTUacgtuRYKMBVDHrykmbvdh", "TGCAAtgcaaYRMKVBHDyrmkvbhd")


class Words:
    """Numbers of words, from 1: what spaCy's strings are to blocks. 0 is a word that is not known.

    A model has its own, which do not change any more, so that any number of threads can read with them.
    """

    def __init__(self, words: Iterable[str] = ()) -> None:
        self._words = [""]
        self.numbers: dict[str, int] = {}
        for word in words:
            self.add(word)

    def __getitem__(self, number: int) -> str:
        return self._words[number]

    def add(self, word: str) -> int:
        """Return the number of a word, a new one if it has none."""
        number = self.numbers.setdefault(word, len(self._words))
        if number == len(self._words):
            self._words.append(word)
        return number


@dataclass(frozen=True)
class SequenceReader(ABC):
    """What readers have in common.

    Parameters
    ----------
    min_df : int, optional
        Least number of documents of a feature. None: see :func:`.blocks.least_documents`.
    max_length : int, optional
        Longest n-gram in symbols; any length if None.
    penalty_factor : float
        Factor of the penalty weights of these features: above 1, features of other readers are preferred.
    """

    min_df: int | None = None
    max_length: int | None = None
    penalty_factor: float = 1.0

    kind: ClassVar[BlockKind] = BlockKind.NGRAMS
    dtype: ClassVar[type[np.unsignedinteger]] = np.uint32
    feature_kind: ClassVar[str]
    usual_min_df: ClassVar[int] = 2

    def __post_init__(self) -> None:
        check_settings(self, ESTIMATOR_OF_READERS)  # type: ignore[arg-type]
        given = {name: getattr(self, name, False) for name in FLAGS}
        check_flags(ESTIMATOR_OF_READERS, **given)

    @abstractmethod
    def stream(self, documents: Sequence[Any], words: Words, grow: bool) -> Stream:
        """Return the symbols of documents; where ``grow``, words that are not known get a number.

        Raises
        ------
        DocumentKindError
            If a document is of another kind than this reader reads.
        """

    @abstractmethod
    def names(self, symbols: np.ndarray, strings: Words) -> tuple[str, ...]:
        """Return the name of each symbol."""

    @abstractmethod
    def values(self, names: Sequence[str], strings: Words) -> np.ndarray:
        """Return the symbols of names, the inverse of ``names``: ``dtype``, 1-D.

        Raises
        ------
        ValueError
            If there can be no such names.
        """

    @abstractmethod
    def text(self, names: Sequence[str]) -> str:
        """Return the text of an n-gram for display."""

    def offsets(self, document: Any) -> np.ndarray | None:
        """Return where in :func:`displayed_text` each symbol starts and ends: int (n_symbols, 2); None if unknown."""
        return None


@dataclass(frozen=True)
class TextCharacters(SequenceReader):
    """N-grams of the code points of strings, as :class:`~spacy_graft.extract.characters.CharacterNgrams` has them.

    U+0000 and halves of surrogate pairs are breaks, which no n-gram crosses.

    Parameters
    ----------
    lowercase : bool
        Whether to lower-case the texts.
    within_words : bool
        Whether to leave out n-grams of more than one word; each word has a space on either side.
    reverse_complement : bool
        Whether a feature is an n-gram or its reverse complement: each text is followed by its own, after a break.
    ends : bool
        Whether the ends of a text are symbols as well; not with ``within_words`` or ``reverse_complement``.
    """

    lowercase: bool = True
    within_words: bool = False
    reverse_complement: bool = False
    ends: bool = False

    feature_kind: ClassVar[str] = "character n-gram"
    usual_min_df: ClassVar[int] = 3

    def stream(self, documents: Sequence[Any], words: Words, grow: bool) -> Stream:
        texts = [self._written(text) for text in strings_of(documents)]
        read = Stream(encoded("".join(texts)), starts_of(map(len, texts)))
        return framed_words(read)[0] if self.within_words else read

    def _written(self, text: str) -> str:
        text = text.lower() if self.lowercase else text
        if self.ends and text:
            return f"{TEXT_END}{text}{TEXT_END}"
        if not self.reverse_complement:
            return text
        return text + (" " if self.within_words else "\0") + text[::-1].translate(BASES)

    def names(self, symbols: np.ndarray, strings: Words) -> tuple[str, ...]:
        return tuple(map(chr, symbols.tolist()))

    def values(self, names: Sequence[str], strings: Words) -> np.ndarray:
        return character_symbols(names, "Symbols of texts")

    def text(self, names: Sequence[str]) -> str:
        return "".join(shown(names))

    def offsets(self, document: str) -> np.ndarray:
        places = np.arange(len(document), dtype=np.int64)
        if self.lowercase:
            # 'İ' is two characters in lower case.
            places = np.repeat(places, [len(character.lower()) for character in document])
        if self.reverse_complement:
            places = np.concatenate([places, [len(document)], places[::-1]])
        if not self.within_words:
            bounds_of_characters = np.stack((places, places + 1), axis=1)
            return places_with_ends(bounds_of_characters, len(document)) if self.ends else bounds_of_characters
        text = Stream(encoded(self._written(document)), starts_of([len(places)]))
        return places_in_text(text, places, len(document))


@dataclass(frozen=True)
class TextWords(SequenceReader):
    """N-grams of the words of strings, among them signs of punctuation, or of what a function makes of documents.

    Words are those of :func:`~spacy_graft.extract.letters.words_of`.

    Parameters
    ----------
    lowercase : bool
        Whether to lower-case the texts; a function gets them as they are.
    analyzer : callable, optional
        From a document to a sequence of strings.
    ends : bool
        Whether the ends of a document are symbols as well.
    """

    lowercase: bool = True
    analyzer: Callable[[Any], Sequence[str]] | None = None
    ends: bool = False

    feature_kind: ClassVar[str] = "word n-gram"

    def stream(self, documents: Sequence[Any], words: Words, grow: bool) -> Stream:
        known, read = words.numbers, self._words_of(documents)
        if self.ends:
            read = [[TEXT_END, *of_document, TEXT_END] if of_document else of_document for of_document in read]
        if grow:
            numbers = [words.add(word) for of_document in read for word in of_document]
        else:
            numbers = [known.get(word, 0) for of_document in read for word in of_document]
        return Stream(np.array(numbers, np.uint32), starts_of(map(len, read)))

    def _words_of(self, documents: Sequence[Any]) -> list[Sequence[str]]:
        if self.analyzer is None:
            return [words_of(text.lower() if self.lowercase else text) for text in strings_of(documents)]
        return [analysed_words(self.analyzer(document)) for document in documents]

    def names(self, symbols: np.ndarray, strings: Words) -> tuple[str, ...]:
        return tuple(strings[number] for number in symbols.tolist())

    def values(self, names: Sequence[str], strings: Words) -> np.ndarray:
        return np.array([strings.add(name) for name in names], np.uint32)

    def text(self, names: Sequence[str]) -> str:
        return " ".join(shown(names))

    def offsets(self, document: Any) -> np.ndarray | None:
        if self.analyzer is not None:
            return None
        places = np.array([match.span() for match in word_pattern().finditer(document)], np.int64).reshape(-1, 2)
        return places_with_ends(places, len(document)) if self.ends else places


@dataclass(frozen=True)
class TextVectors(TextWords):
    """The words of :class:`TextWords`, whose vectors are averaged. Their symbols do not depend on other words."""

    kind: ClassVar[BlockKind] = BlockKind.VECTORS
    dtype: ClassVar[type[np.unsignedinteger]] = np.uint64
    feature_kind: ClassVar[str] = WORD_VECTOR

    def stream(self, documents: Sequence[Any], words: Words, grow: bool) -> Stream:
        read = self._words_of(documents)
        return Stream(self.keys([word for of_document in read for word in of_document]), starts_of(map(len, read)))

    def form(self, word: str) -> str | None:
        """Return a word as documents have it; None if they cannot have it, since it is several words."""
        if self.analyzer is not None:
            return word
        written = word.lower() if self.lowercase else word
        return written if words_of(written) == [written] else None

    def keys(self, words: Sequence[str]) -> np.ndarray:
        """Return the symbols of words: uint64, 1-D."""
        keys = (word_key(word) if len(word) <= LONGEST_KNOWN else text_key(word) for word in words)
        return np.fromiter(keys, np.uint64, len(words))


#: The symbol of a word.
word_key = lru_cache(maxsize=2**17)(text_key)
#: Characters of the longest words that are remembered.
LONGEST_KNOWN = 64


@dataclass(frozen=True)
class TextBytes(SequenceReader):
    """N-grams of bytes, of any value; strings are encoded in UTF-8.

    Parameters
    ----------
    ends : bool
        Whether the ends of a document are symbols as well.
    """

    ends: bool = False

    feature_kind: ClassVar[str] = "byte n-gram"
    usual_min_df: ClassVar[int] = 3

    def stream(self, documents: Sequence[Any], words: Words, grow: bool) -> Stream:
        read = [bytes_of(document, number) for number, document in enumerate(documents)]
        # 0 would be a break.
        symbols = np.add(np.frombuffer(b"".join(read), np.uint8), 1, dtype=np.uint32)
        stream = Stream(symbols, starts_of(map(len, read)))
        return with_ends(stream, END_OF_BYTES) if self.ends else stream

    def names(self, symbols: np.ndarray, strings: Words) -> tuple[str, ...]:
        return tuple(TEXT_END if symbol == END_OF_BYTES else f"{symbol - 1:02x}" for symbol in symbols.tolist())

    def values(self, names: Sequence[str], strings: Words) -> np.ndarray:
        if not all(re.fullmatch(f"[0-9a-f]{{2}}|{TEXT_END}", name) for name in names):
            raise ValueError("Symbols of bytes are two hexadecimal digits each.")
        return np.array([END_OF_BYTES if name == TEXT_END else int(name, 16) + 1 for name in names], np.uint32)

    def text(self, names: Sequence[str]) -> str:
        written = repr(bytes.fromhex("".join(name for name in names if name != TEXT_END)))
        return f"{BEGIN_SIGN if names[0] == TEXT_END else ''}{written}{END_SIGN if names[-1] == TEXT_END else ''}"

    def offsets(self, document: Any) -> np.ndarray:
        if not isinstance(document, str):
            document = bytes_of(document)  # items of a view can be of several bytes
        places = np.arange(len(document), dtype=np.int64)
        if isinstance(document, str):
            places = np.repeat(places, [len(bytes_of(character)) for character in document])
        bounds_of_bytes = np.stack((places, places + 1), axis=1)
        return places_with_ends(bounds_of_bytes, len(document)) if self.ends else bounds_of_bytes


@dataclass(frozen=True)
class IntegerSequences(SequenceReader):
    """N-grams of integers of 64 bits."""

    dtype: ClassVar[type[np.unsignedinteger]] = np.uint64
    feature_kind: ClassVar[str] = "integer n-gram"

    def stream(self, documents: Sequence[Any], words: Words, grow: bool) -> Stream:
        read = [integers_of(document, number) for number, document in enumerate(documents)]
        return Stream.join([integers.view(np.uint64) for integers in read], np.uint64)

    def names(self, symbols: np.ndarray, strings: Words) -> tuple[str, ...]:
        return integer_names(symbols)

    def values(self, names: Sequence[str], strings: Words) -> np.ndarray:
        return integer_symbols(names, "Symbols of integer sequences")

    def text(self, names: Sequence[str]) -> str:
        return " ".join(names)

    def offsets(self, document: Any) -> np.ndarray:
        lengths = np.array([len(str(number)) for number in integers_of(document).tolist()], np.int64)
        ends = np.cumsum(lengths + 1) - 1
        return np.stack((ends - lengths, ends), axis=1)


def analysed_words(found: Any) -> list[str]:
    """The words that an analyzer has found in a document; a ValueError if they are no strings, or one string."""
    if isinstance(found, str) or not isinstance(found, Iterable):
        raise ValueError(f"analyzer must return a list of strings for each document, but returned {found!r:.60}.")
    words = list(found)
    for word in words:
        if not isinstance(word, str):
            raise ValueError(f"analyzer must return strings for each document, but one is {word!r}.")
    return words


class DocumentKindError(ValueError):
    """A document is of another kind than a reader reads, or has values that it does not take.

    Attributes
    ----------
    number : int
        From 0, among the documents that were read together.
    problem : str
        What it must be, and is.
    """

    def __init__(self, number: int, problem: str) -> None:
        super().__init__(number, problem)  # what it is made of again in another process
        self.number = number
        self.problem = problem

    def __str__(self) -> str:
        return f"Document {self.number} {self.problem}"


def strings_of(documents: Sequence[Any]) -> Sequence[str]:
    """The documents, which must be strings."""
    for number, document in enumerate(documents):
        if not isinstance(document, str):
            kind, hint = "", "Leave it out, or give an empty string."
            if isinstance(document, bytes | bytearray):
                hint = "Decode it, or use analyzer='byte'."
            elif getattr(document, "ndim", 0):
                hint = "Give one column of a table, or join its columns."
            elif hasattr(document, "__len__") or isinstance(document, int | np.integer):
                kind = f" ({type(document).__name__})"  # that of a Doc is not to be seen
                hint = "Give its text, or an analyzer that reads it: 'integer' or a function."
            raise DocumentKindError(number, f"must be a string, but is {document!r:.60}{kind}. {hint}")
    return documents


def bytes_of(document: Any, number: int = 0) -> bytes:
    """A document as bytes."""
    if isinstance(document, str):
        return document.encode("utf-8", "surrogatepass")
    if not isinstance(document, bytes | bytearray | memoryview):
        raise DocumentKindError(number, f"must be bytes or a string, but is {document!r:.60}.")
    return bytes(document)


def integers_of(document: Any, number: int = 0) -> np.ndarray:
    """A document as integers: int64, 1-D."""
    try:
        values = np.asarray(document)
    except ValueError:  # sequences of several lengths
        values = np.empty((0, 0))
    if values.shape == (0,):
        return np.empty(0, np.int64)
    if values.ndim != 1 or values.dtype.kind not in "iu" or (values.dtype == np.uint64 and values.max() >= 2**63):
        raise DocumentKindError(number, f"must be a sequence of integers of 64 bits, but is {document!r:.60}.")
    return np.ascontiguousarray(values, np.int64)


def encoded(text: str) -> np.ndarray:
    """The code points of a string: uint32. Halves of surrogate pairs are 0."""
    try:
        return code_points(text)
    except UnicodeEncodeError:
        symbols = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.dtype("<u4"))
        return np.where((symbols >= SURROGATES[0]) & (symbols < SURROGATES[1]), np.uint32(0), symbols)


def sequence_length(document: Any, symbols: np.ndarray) -> int:
    """Count the different words of a document, separated by white space, or its different symbols; at least 1."""
    if isinstance(document, bytearray | memoryview):
        document = bytes(document)
    words: list[Any] = document.lower().split() if isinstance(document, str | bytes) else symbols.tolist()
    return max(1, len(set(words)))


def displayed_text(document: Any) -> str:
    """A document as a text to look at: bytes as one character each, integers with spaces between."""
    if isinstance(document, str):
        return document
    if isinstance(document, bytes | bytearray | memoryview):
        return bytes(document).decode("latin-1")
    return " ".join(map(str, document)) if hasattr(document, "__iter__") else str(document)


def results_of_batches(function: Callable[[list[Any]], OfBatchT], documents: Iterable[Any]) -> Iterator[OfBatchT]:
    """What a function gives back for each batch of documents; errors of single ones number them among all."""
    n_before = 0
    for batch in document_batches(documents):
        try:
            found = function(batch)
        except DocumentKindError as error:
            raise DocumentKindError(n_before + error.number, error.problem) from None
        yield found
        n_before += len(batch)


def document_batches(documents: Iterable[Any]) -> Iterator[list[Any]]:
    """Divide documents, in their order, into batches of one document or at most :data:`BATCH` symbols."""
    batch: list[Any] = []
    room = BATCH
    for document in documents:
        # What has no length is for a function, or is refused.
        length = 1 + length_hint(document)
        if batch and length > room:
            yield batch
            batch, room = [], BATCH
        batch.append(document)
        room -= length
    if batch:
        yield batch
