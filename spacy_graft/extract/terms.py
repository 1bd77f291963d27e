"""Terms: the n-grams and items that name features."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import numpy as np

Symbols = TypeVar("Symbols")


class Term(NamedTuple, Generic[Symbols]):
    """An n-gram or an item: its block, and its symbols there.

    In training, symbols are an array of integers. In a saved model they are their names, a tuple of strings.
    """

    block: str
    symbols: Symbols


#: A term in training. Its symbols are 1-D.
SymbolTerm = Term[np.ndarray]
#: A term of a saved model, with the names of its symbols.
NamedTerm = Term[tuple[str, ...]]
