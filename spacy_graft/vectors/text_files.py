"""Word vectors in text files: word2vec, fastText (``.vec``) and GloVe, compressed or not.

A line is a word and its numbers, separated by spaces. word2vec and fastText have a first line with the numbers of words
and of columns, GloVe has none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from ..files import BadLineError, text_lines
from ..options import LARGEST_COUNT
from ..registry import graft_vectors
from .word_vectors import WordVectors


@graft_vectors("spacy_graft.TextVectors.v1")
def text_vectors(path: str | Path | None) -> Callable[[Any], WordVectors]:
    """Word vectors of a text file.

    Parameters
    ----------
    path : str or Path
        Of word2vec, fastText or GloVe, in UTF-8; decompressed if the name ends in ``.gz``.

    Raises
    ------
    ValueError
        If there is no path: ``configs/vectors.cfg`` leaves it to the command line.
    """
    if path is None or path == "":  # which would be the current folder
        raise ValueError(
            "spacy_graft.TextVectors.v1 needs a path. Set it in the config or on the command line: --paths.words "
            "glove.6B.300d.txt"
        )
    return lambda _: read_text_vectors(Path(path))


def read_text_vectors(path: Path) -> WordVectors:
    """Read a text file of word vectors.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If a line has another number of columns or what is no finite number, a word is there twice, or the file is not
        UTF-8, damaged or cut off. The message names the line.
    """
    lines = text_lines(path)
    first = next(lines, None)
    if first is None:
        raise ValueError(f"{path} is empty: it has no word vectors.")
    header = first[1].rstrip(" ").split(" ")
    n_words = None
    if len(header) == 2 and all(part.isdecimal() for part in header):
        if max(map(len, header)) > len(str(LARGEST_COUNT)):
            raise BadLineError(path, 1, "the numbers of words and columns that it gives are too large.")
        n_words, n_columns = map(int, header)
    else:
        n_columns, lines = len(header) - 1, chain([first], lines)
    if n_columns < 1:
        raise BadLineError(path, 1, "a word and its numbers are expected, separated by spaces.")
    if n_words is None and not is_decimal(header[1]):
        problem = f"a word and its numbers are expected, separated by spaces, but {header[1]!r} is no number."
        remedy = "If words have spaces, put a line before all words, with the numbers of words and of columns."
        raise BadLineError(path, 1, f"{problem} {remedy}")
    words, rows = [], []
    for number, line in lines:
        word, row = parsed(path, number, line, n_columns)
        words.append(word)
        rows.append(row)
    if n_words is not None and n_words != len(words):
        raise ValueError(
            f"{path} has {len(words):,} words, but its first line says {n_words:,}: it is cut off or damaged."
        )
    return WordVectors(tuple(words), np.array(rows, np.float32).reshape(-1, n_columns), str(path))


def parsed(path: Path, number: int, line: str, n_columns: int) -> tuple[str, np.ndarray]:
    """The word of a line, which may have spaces, and its vector (float32); or raise a BadLineError."""
    word, *values = line.rstrip(" ").rsplit(" ", n_columns)
    # Words may have spaces, but those whose last part is a number are lines of another width.
    if line.startswith(" "):
        raise BadLineError(path, number, f"a word and {n_columns} numbers are expected, but the word is missing.")
    if len(values) != n_columns or not word or (" " in word and is_decimal(word.rpartition(" ")[2])):
        raise BadLineError(
            path,
            number,
            f"a word and {n_columns} numbers are expected, but there are {line.rstrip(' ').count(' ')} numbers.",
        )
    try:
        with np.errstate(over="ignore"):
            row = np.array(list(map(float, values))).astype(np.float32)
    except ValueError as error:
        raise BadLineError(path, number, f"{n_columns} numbers are expected, but {error}.") from error
    if not np.isfinite(row).all():
        raise BadLineError(path, number, "a number is not finite, or too large for single precision.")
    return word, row


def is_decimal(text: str) -> bool:
    """Whether a text is a decimal number, infinity or NaN."""
    return re.fullmatch(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|inf)", text, re.IGNORECASE) is not None
