"""Word vectors in files of arrays: NumPy's ``.npy`` and safetensors. Nothing in them is executed."""

from __future__ import annotations

import json
import math
import tokenize
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..files import text_lines
from ..messages import listed
from ..options import LARGEST_COUNT
from ..registry import graft_vectors
from .tokenizers import whole_words
from .word_vectors import WordVectors

#: Types of a safetensors file that can be vectors; bfloat16, the upper half of a float32, is read as integers.
DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
#: The length of the header, and the most that it may be.
LENGTH_BYTES, LARGEST_HEADER = 8, 100_000_000


@graft_vectors("spacy_graft.TableVectors.v1")
def table_vectors(path: str | Path, words: str | Path) -> Callable[[Any], WordVectors]:
    """Word vectors of a NumPy array, with a list of words.

    Parameters
    ----------
    path : str or Path
        A ``.npy`` file with a row a word.
    words : str or Path
        The words in the same order, a line each; or a ``tokenizer.json``.
    """
    return lambda _: with_words(read_npy(Path(path)), Path(words), str(path))


@graft_vectors("spacy_graft.SafetensorsVectors.v1")
def safetensors_vectors(path: str | Path, words: str | Path, tensor: str | None = None) -> Callable[[Any], WordVectors]:
    """Word vectors of a table of token embeddings in a safetensors file, such as that of a static model.

    Parameters
    ----------
    path : str or Path
        A ``.safetensors`` file.
    words : str or Path
        The tokens in the order of the rows, a line each; or the ``tokenizer.json`` of the model, of which whole words
        are taken.
    tensor : str, optional
        Name of the table; not needed if it is the only one with two dimensions.
    """
    return lambda _: with_words(read_safetensors(Path(path), tensor), Path(words), str(path))


def with_words(table: np.ndarray, words: Path, source: str) -> WordVectors:
    """A table with the words of a list; those without a word are left out."""
    if table.ndim != 2:
        raise ValueError(
            f"{source}: vectors are a table of floating-point numbers with a row a word, but this has the shape "
            f"{table.shape}."
        )
    if words.suffix == ".json":
        by_row = whole_words(words)
    else:
        by_row = {row: word for row, (_, word) in enumerate(text_lines(words))}
    if len(by_row) > len(table) or max(by_row, default=-1) >= len(table):
        raise ValueError(f"{source} has {len(table):,} rows, but {words} has more words: they do not belong together.")
    if words.suffix != ".json" and len(by_row) < len(table):
        raise ValueError(f"{source} has {len(table):,} rows, but {words} has {len(by_row):,} words. Give one a row.")
    return WordVectors(tuple(by_row.values()), table[list(by_row)], source)


def read_npy(path: Path) -> np.ndarray:
    """Read a ``.npy`` file; raise a ValueError if it is damaged, cut off or holds Python objects."""
    try:
        # What is mapped is no larger than the file; otherwise a damaged header could ask for any memory.
        return np.array(np.lib.format.open_memmap(path, mode="r"))
    except (ValueError, EOFError, OverflowError, TypeError, tokenize.TokenError) as error:
        raise ValueError(f"{path} cannot be read as a .npy file: {error}") from error


def read_safetensors(path: Path, tensor: str | None) -> np.ndarray:
    """Read a table of a safetensors file.

    Raises
    ------
    ValueError
        If the file is damaged or cut off, or there is no such table.
    """
    data = path.read_bytes()
    header, start = safetensors_header(path, data)
    name = table_name(path, header, tensor)
    entry = header[name]
    dtype, shape, offsets = (entry.get(key) for key in ("dtype", "shape", "data_offsets"))
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ValueError(f"{path}: the table {name!r} is of type {dtype!r}. Types that can be read: {listed(DTYPES)}.")
    numbers = [*shape, *offsets] if isinstance(offsets, list) and len(offsets) == 2 else [None]
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError(f"{path} is damaged: the header of {name!r} has other values than numbers.")
    size = math.prod(shape) * np.dtype(DTYPES[dtype]).itemsize
    first, last = start + offsets[0], start + offsets[1]
    if last - first != size or last > len(data):
        raise ValueError(
            f"{path} is cut off or damaged: the table {name!r} has {size:,} bytes by its shape, but the file has "
            f"{max(min(last, len(data)) - first, 0):,} of them."
        )
    if max(shape) > LARGEST_COUNT:
        raise ValueError(f"{path} is damaged: the table {name!r} has the shape {shape}.")
    values = np.frombuffer(data[first:last], DTYPES[dtype]).reshape(shape)
    if dtype == "BF16":
        return (values.astype(np.uint32) << 16).view(np.float32)
    return values


def safetensors_header(path: Path, data: bytes) -> tuple[dict[str, Any], int]:
    """The header of a safetensors file, and where its data begin."""
    length = int.from_bytes(data[:LENGTH_BYTES], "little")
    if len(data) < LENGTH_BYTES or length > min(len(data) - LENGTH_BYTES, LARGEST_HEADER):
        raise ValueError(f"{path} is no safetensors file, or cut off: its header has {length:,} bytes.")
    try:
        header = json.loads(data[LENGTH_BYTES : LENGTH_BYTES + length])
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is no safetensors file, or damaged: its header is not JSON ({error}).") from error
    if not isinstance(header, dict):
        raise ValueError(f"{path} is no safetensors file, or damaged: its header is not a JSON object.")
    return header, LENGTH_BYTES + length


def table_name(path: Path, header: dict[str, Any], tensor: str | None) -> str:
    """The name of the table to read."""
    tables = [
        name
        for name, entry in header.items()
        if isinstance(entry, dict) and isinstance(entry.get("shape"), list) and len(entry["shape"]) == 2
    ]
    if tensor is None and len(tables) == 1:
        return tables[0]
    if not tables:
        raise ValueError(f"{path} has no table of vectors, which has two dimensions. Give another file.")
    if tensor not in tables:
        asked = "are several tables of vectors" if tensor is None else f"is no table {tensor!r}"
        raise ValueError(f"{path}: there {asked}. Set tensor to one of its tables: {listed(tables)}.")
    return tensor
