"""What a model matches documents with: automata for n-grams, tables for items, and what items add up to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from thinc.api import Model, serialize_attr

from ..extract.blocks import Block, ReadingBlock, is_ngram_block
from ..extract.streams import Stream
from ..extract.terms import NamedTerm
from .automaton import Automaton
from .products import Products
from .table import FeatureTable

if TYPE_CHECKING:
    from spacy.strings import StringStore


class Blocks(dict[str, Block]):
    """Feature blocks by name. They come from the config, and are not saved with a model."""


@dataclass(frozen=True)
class Compiled:
    """What the features of a model are matched with, in one vocab.

    Attributes
    ----------
    automata : dict of str to Automaton
        For every block with n-grams among the features.
    products : Products
        For items and combinations.
    """

    automata: dict[str, Automaton]
    products: Products


class Matcher:
    """What a model matches with, compiled when it is first needed.

    It is made again for other features, and for another vocab, since only that can tell symbols from names. It is no
    part of what is saved, pickled or copied.
    """

    def __init__(self) -> None:
        self._compiled: tuple[FeatureTable, StringStore, Compiled] | None = None

    def compiled(self, features: FeatureTable, blocks: Blocks, strings: StringStore) -> Compiled:
        """Return what matches the features."""
        if self._compiled is None or self._compiled[0] is not features or self._compiled[1] is not strings:
            self._compiled = features, strings, compiled(features, blocks, strings)
        return self._compiled[2]

    def __reduce__(self) -> tuple[type[Matcher], tuple[()]]:
        return Matcher, ()


@serialize_attr.register(Blocks)
@serialize_attr.register(Matcher)
def leave_out(_: Any, value: Any, name: str, model: Model) -> bytes:
    """Tell thinc that an attribute is not to be saved."""
    raise TypeError(f"{name} is not saved")


def compiled(features: FeatureTable, blocks: Mapping[str, Block], strings: StringStore) -> Compiled:
    """Compile the features of every block that has some, in the order of the blocks."""
    automata = {}
    products: dict[tuple[NamedTerm, ...], int] = {}
    for name, rows in rows_by_block(features, blocks).items():
        block = blocks[name]
        if is_ngram_block(block):
            ngrams = symbols_of(block, [features.ngrams[row] for row in rows.tolist()], strings)
            automata[name] = Automaton.build(ngrams, rows)
        else:
            products.update((features.terms(row), row) for row in rows.tolist())
    return Compiled(automata, Products.build(products, blocks, strings))


def rows_by_block(features: FeatureTable, blocks: Mapping[str, Block]) -> dict[str, np.ndarray]:
    """Return the rows of the table (int64) for every block that has some, in the order of the blocks.

    Raises
    ------
    ValueError
        If there is no such block.
    """
    unknown = set(features.blocks).difference(blocks)
    if unknown:
        raise ValueError(
            f"The model has features of block {', '.join(sorted(map(repr, unknown)))}, but its config has only "
            f"{', '.join(map(repr, blocks)) or 'none'}. Use the config that it was trained with."
        )
    names = np.array(features.blocks)
    rows = {name: np.flatnonzero(names == name) for name in blocks}
    return {name: found for name, found in rows.items() if len(found)}


def symbols_of(block: ReadingBlock, ngrams: Sequence[Sequence[str]], strings: StringStore) -> Stream:
    """Return n-grams of names as n-grams of symbols.

    Raises
    ------
    ValueError
        If a name is not one that the block gives.
    """
    names = tuple(name for ngram in ngrams for name in ngram)
    starts = np.zeros(len(ngrams) + 1, np.int64)
    np.cumsum([len(ngram) for ngram in ngrams], out=starts[1:])
    symbols = block.values(names, strings)
    if block.names(symbols, strings) != names:
        raise ValueError(
            f"The model has features that are no n-grams of {block}. Use the config that it was trained with."
        )
    return Stream(symbols, starts)
