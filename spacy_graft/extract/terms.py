"""Terms: the n-grams and items that name features."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from .streams import Stream

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


class TermsOfBlock(NamedTuple):
    """N-grams or items of one block, each a feature.

    ``rows`` are the features: int64 (n). ``symbols`` has the symbols of each, as a document.
    """

    block: str
    rows: np.ndarray
    symbols: Stream


class FeatureTerms(Iterable[tuple[SymbolTerm, ...]]):
    """What features are, in training: in arrays, since there are thousands of features at each point of a path.

    Iterated over, it has the terms of each feature: one, or those whose product it is.

    ``products`` has what each product is of, by feature.
    """

    def __init__(
        self, n_features: int, of_blocks: Sequence[TermsOfBlock], products: Mapping[int, tuple[SymbolTerm, ...]]
    ) -> None:
        self.n_features = n_features
        self.of_blocks = of_blocks
        self.products = products

    @classmethod
    def of(cls, features: Sequence[tuple[SymbolTerm, ...]]) -> FeatureTerms:
        """The terms of features that are given one by one."""
        rows: dict[str, list[int]] = {}
        for row, terms in enumerate(features):
            if len(terms) == 1:
                rows.setdefault(terms[0].block, []).append(row)
        of_blocks = []
        for block, own in rows.items():
            symbols = [features[row][0].symbols for row in own]
            of_blocks.append(TermsOfBlock(block, np.array(own), Stream.join(symbols, symbols[0].dtype.type)))
        return cls(len(features), of_blocks, {row: terms for row, terms in enumerate(features) if len(terms) > 1})

    def __len__(self) -> int:
        return self.n_features

    def __iter__(self) -> Iterator[tuple[SymbolTerm, ...]]:
        features = [self.products.get(row, ()) for row in range(self.n_features)]
        for block, rows, symbols in self.of_blocks:
            for row, own in zip(rows.tolist(), symbols, strict=True):
                features[row] = (Term(block, own),)
        return iter(features)
