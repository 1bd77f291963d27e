"""Names and symbols of items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .blocks import ItemBlock

if TYPE_CHECKING:
    from spacy.strings import StringStore


def check_width(block: ItemBlock, names: Sequence[str]) -> None:
    """Raise a ValueError if the number of names is no multiple of the item's width."""
    if len(names) % block.width:
        raise ValueError(
            f"Items of {type(block).__name__} have {block.width} names each, but there are {len(names)}: {names!r}"
        )


def character_symbols(names: Sequence[str], what: str) -> np.ndarray:
    """Return the code points of characters: uint32, 1-D; a ValueError that names ``what`` for other names."""
    for name in names:
        if len(name) != 1:
            raise ValueError(f"{what} are single characters, but one is {name!r}")
    return np.array([ord(name) for name in names], np.uint32)


def integer_names(symbols: np.ndarray) -> tuple[str, ...]:
    """Return the digits of integers that symbols (uint64) stand for."""
    return tuple(map(str, symbols.view(np.int64).tolist()))


def integer_symbols(names: Sequence[str], what: str) -> np.ndarray:
    """Return the symbols of integers by their digits: uint64, 1-D; a ValueError that names ``what`` for others."""
    try:
        return np.array([int(name) for name in names], np.int64).view(np.uint64)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{what} must be 64-bit integers: {error}") from error


def string_names(symbols: np.ndarray, strings: StringStore) -> tuple[str, ...]:
    """Return the strings of hashes."""
    return tuple(strings[value] for value in symbols.tolist())


def string_symbols(names: Sequence[str], strings: StringStore) -> np.ndarray:
    """Return the hashes of names, which are added to ``strings``: uint64, 1-D."""
    return np.array([strings.add(name) for name in names], np.uint64)
