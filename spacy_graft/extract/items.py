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


def string_symbols(names: Sequence[str], strings: StringStore) -> np.ndarray:
    """Return the hashes of names, which are added to ``strings``: uint64, 1-D."""
    return np.array([strings.add(name) for name in names], np.uint64)
