"""Word vectors in binary files of word2vec, compressed or not.

The first line has the numbers of words and of columns. For each word follow its UTF-8, a space, and its numbers as
little-endian float32; some programs write a line end after them. A word with a space cannot be told from a shorter one:
what comes after the space is read as numbers, and the end of its vector as the beginning of the next word.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..files import GZIP_ERRORS, BadLineError, is_compressed
from ..options import LARGEST_COUNT
from ..registry import graft_vectors
from .word_vectors import WordVectors

#: Digits that a number of the first line has at the most, and bytes of a number.
LARGEST_DIGITS, NUMBER_BYTES = len(str(LARGEST_COUNT)), 4
#: Larger numbers, whose squares no float32 holds, are letters that were read as numbers.
LARGEST_NUMBER = 2.0**64
#: After an error that a word with a space may have caused.
NO_SPACES = (
    "The file is damaged, or this word or one before it has a space, which this format cannot hold. In that case write "
    "a text file, whose first line is the numbers of words and of columns (spacy_graft.TextVectors.v1)."
)


@graft_vectors("spacy_graft.BinaryVectors.v1")
def binary_vectors(path: str | Path) -> Callable[[Any], WordVectors]:
    """Word vectors of a binary file.

    Parameters
    ----------
    path : str or Path
        Of word2vec, often named ``.bin``; decompressed if the name ends in ``.gz``.
    """
    return lambda _: read_binary_vectors(Path(path))


def read_binary_vectors(path: Path) -> WordVectors:
    """Read a binary file of word2vec.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is no such file, damaged or cut off, a number is not finite or far too large, or a word is not UTF-8
        or there twice, or has a line end or a NUL. Most words with a space are seen by this.
    """
    data = decompressed_bytes(path)
    n_words, n_columns, end = sizes_of(path, data)
    vectors = np.empty((n_words, n_columns), np.float32)
    words = []
    for number in range(1, n_words + 1):
        start, space = end, data.find(b" ", end)
        end = space + 1 + n_columns * NUMBER_BYTES
        if space < 0 or end > len(data):
            raise BadLineError(path, number, f"cut off or damaged: the first line says {n_words:,} words.", "word")
        words.append(decoded(path, number, data[start:space].lstrip(b"\n")))
        vectors[number - 1] = np.frombuffer(data, "<f4", n_columns, space + 1)
    if data[end : end + 2] not in (b"", b"\n"):
        raise ValueError(
            f"{path} goes on after the {n_words:,} words that its first line says: it is damaged, or a text file "
            f"(spacy_graft.TextVectors.v1), or a word has a space, which this format cannot hold."
        )
    largest = np.maximum(vectors.max(axis=1), -vectors.min(axis=1))
    if (is_too_large := (largest > LARGEST_NUMBER) & np.isfinite(largest)).any():
        number = int(is_too_large.argmax())
        problem = f"{words[number]!r} has a number of the size {largest[number]:.2g}. {NO_SPACES}"
        raise BadLineError(path, number + 1, problem, "word")
    return WordVectors(tuple(words), vectors, str(path))


def decompressed_bytes(path: Path) -> bytes:
    """The bytes of a file, decompressed if its name ends in ``.gz``."""
    if not is_compressed(path):
        return path.read_bytes()
    try:
        return gzip.decompress(path.read_bytes())
    except GZIP_ERRORS as error:
        raise ValueError(f"{path}: the compressed file is damaged: {error}") from error


def sizes_of(path: Path, data: bytes) -> tuple[int, int, int]:
    """The numbers of words and of columns, for which the file is large enough, and where the first line ends."""
    line, line_end, _ = data[: 2 * LARGEST_DIGITS + 2].partition(b"\n")
    parts = line.split(b" ")
    if not line_end or len(parts) != 2 or not all(part.isdigit() and int(part) for part in parts):
        raise ValueError(
            f"{path} is no binary file of word2vec: its first line must be the numbers of words and of columns. "
            "spacy_graft.TextVectors.v1 reads text files."
        )
    n_words, n_columns = map(int, parts)
    start = len(line) + 1
    # A word has at least one byte, and a space after it.
    least = n_words * (2 + n_columns * NUMBER_BYTES)
    if len(data) - start < least:
        raise ValueError(
            f"{path} is cut off or damaged, or a text file: {n_words:,} words with {n_columns:,} numbers have at least "
            f"{least:,} bytes, but {len(data) - start:,} are there."
        )
    return n_words, n_columns, start


def decoded(path: Path, number: int, word: bytes) -> str:
    """The word with this number; a BadLineError if it is not UTF-8, or has bytes of numbers or of a line before it."""
    if b"\n" in word or b"\0" in word:
        raise BadLineError(path, number, f"{word!r} has a line end or a NUL. {NO_SPACES}", "word")
    try:
        return word.decode()
    except UnicodeDecodeError as error:
        raise BadLineError(path, number, f"not UTF-8: {error}. {NO_SPACES}", "word") from error
