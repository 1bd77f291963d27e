"""Matching of a model's features in documents: automata for n-grams, tables for items and combinations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from ..extract.blocks import Block, ReadingBlock, as_reading_block, is_ngram_block
from ..extract.streams import Stream, starts_of
from ..extract.terms import FeatureTerms, NamedTerm, Term
from ..messages import listed
from .automaton import Automaton
from .item_matching import ItemMatcher
from .naming import named_products, names_of
from .table import FeatureTable

if TYPE_CHECKING:
    from spacy.strings import StringStore

#: Feature blocks by name. They come from the config and are not saved with a model.
Blocks = Mapping[str, Block]


@dataclass(frozen=True)
class CompiledFeatures:
    """Automata and tables that match the features of a model, for one vocab.

    Attributes
    ----------
    automata : dict of str to Automaton
        For every block with n-grams among the features.
    items : ItemMatcher
        For items and combinations.
    """

    automata: dict[str, Automaton]
    items: ItemMatcher


class Matcher:
    """Holds the compiled features of a model; compiles them at first use.

    They are compiled again for another vocab, which maps names to symbols. They are not saved, pickled or copied with
    the model. Threads that come first at the same time may each compile them, to the same arrays.
    """

    def __init__(self) -> None:
        self._compiled: tuple[FeatureTable, StringStore, CompiledFeatures] | None = None

    def compiled(self, features: FeatureTable, blocks: Blocks, strings: StringStore) -> CompiledFeatures:
        """Return the compiled features."""
        known = self._compiled
        if known is None or known[0] is not features or known[1] is not strings:
            self._compiled = known = features, strings, compile_features(features, blocks, strings)
        return known[2]

    def __reduce__(self) -> tuple[type[Matcher], tuple[()]]:
        return Matcher, ()


def compile_features(features: FeatureTable, blocks: Mapping[str, Block], strings: StringStore) -> CompiledFeatures:
    """Compile the features of all blocks that have some, in the order of the blocks."""
    automata = {}
    items: dict[tuple[NamedTerm, ...], int] = {}
    for name, rows in rows_by_block(features, blocks).items():
        block = blocks[name]
        if is_ngram_block(block):
            ngrams = symbols_of(block, [features.ngrams[row] for row in rows.tolist()], strings)
            automata[name] = Automaton.build(ngrams, rows)
        else:
            items.update((features.terms(row), row) for row in rows.tolist())
    return CompiledFeatures(automata, ItemMatcher.build(items, blocks, strings))


def compile_terms(terms: FeatureTerms, blocks: Mapping[str, Block], strings: StringStore) -> CompiledFeatures:
    """Compile features of training documents, whose n-grams need no names for that."""
    automata = {}
    items: dict[tuple[NamedTerm, ...], int] = {}
    for name, block in blocks.items():
        parts = [(rows, symbols) for of, rows, symbols in terms.of_blocks if of == name]
        if parts and is_ngram_block(block):
            rows, ngrams = zip(*parts, strict=True)
            automata[name] = Automaton.build(Stream.concatenated(ngrams), np.concatenate(rows))
            continue
        for rows, symbols in parts:
            names = names_of(as_reading_block(block), symbols, strings)
            items.update(((Term(name, own),), row) for own, row in zip(names, rows.tolist(), strict=True))
    items.update((members, row) for row, members in named_products(terms, blocks, strings).items())
    return CompiledFeatures(automata, ItemMatcher.build(items, blocks, strings))


def rows_by_block(features: FeatureTable, blocks: Mapping[str, Block]) -> dict[str, np.ndarray]:
    """Return the rows of the table (int64) for every block that has some, in the order of the blocks.

    Raises
    ------
    ValueError
        If features are of a block that is not there.
    """
    unknown = set(features.blocks).difference(blocks)
    if unknown:
        raise ValueError(
            f"The model has features of block {', '.join(sorted(map(repr, unknown)))}, but its config has only "
            f"{listed(blocks)}. Use the config that it was trained with."
        )
    names = np.array(features.blocks)
    rows = {name: np.flatnonzero(names == name) for name in blocks}
    return {name: found for name, found in rows.items() if len(found)}


def symbols_of(block: ReadingBlock, ngrams: Sequence[Sequence[str]], strings: StringStore) -> Stream:
    """Return n-grams of names as n-grams of symbols.

    Raises
    ------
    ValueError
        If the block does not give a name.
    """
    names = list(chain.from_iterable(ngrams))
    # Each name is looked up once.
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    symbols = block.values(tuple(numbers), strings)
    if block.names(symbols, strings) != tuple(numbers):
        raise ValueError(
            f"The model has features that are not n-grams of {block}. Use the config that it was trained with."
        )
    of_names = np.fromiter(map(numbers.__getitem__, names), np.int64, len(names))
    return Stream(symbols[of_names], starts_of(map(len, ngrams)))
