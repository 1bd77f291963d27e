"""Names of what training found: its symbols are numbers."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ..extract.blocks import Block, ReadingBlock, as_reading_block, is_ngram_block
from ..extract.ends import TEXT_END, shown
from ..extract.streams import Stream
from ..extract.terms import FeatureTerms, NamedTerm, Term
from .table import FeatureTable, Ngrams

if TYPE_CHECKING:
    from spacy.strings import StringStore

    from ..graft.solution import Solution


def feature_table_of(solution: Solution, blocks: Mapping[str, Block], strings: StringStore) -> FeatureTable:
    """The features of a solution by name."""
    products = named_products(solution.terms, blocks, strings)
    return FeatureTable(
        tuple(solution.blocks),
        named_symbols(solution.terms, blocks, strings),
        named_symbols(solution.longest, blocks, strings),
        tuple(products.get(row, ()) for row in range(len(solution.terms))),
        np.array(solution.df, np.int32),
    )


def named_symbols(terms: FeatureTerms, blocks: Mapping[str, Block], strings: StringStore) -> Ngrams:
    """The names of each feature's symbols; none of products."""
    names: list[tuple[str, ...]] = [()] * len(terms)
    for block, rows, symbols in terms.of_blocks:
        for row, own in zip(rows.tolist(), names_of(as_reading_block(blocks[block]), symbols, strings), strict=True):
            names[row] = own
    return tuple(names)


def named_products(
    terms: FeatureTerms, blocks: Mapping[str, Block], strings: StringStore
) -> dict[int, tuple[NamedTerm, ...]]:
    """What each product is of, by feature."""
    return {
        row: tuple(Term(of.block, as_reading_block(blocks[of.block]).names(of.symbols, strings)) for of in members)
        for row, members in terms.products.items()
    }


def texts_of(blocks: Mapping[str, Block], strings: StringStore, name: str, symbols: Stream) -> list[str]:
    """The names of several n-grams or items of the block ``name`` as one text each, as models show them."""
    block = as_reading_block(blocks[name])
    if block.dtype is np.uint32 and block.feature_kind == "character n-gram":
        # Code points: of the many n-grams of characters each would be taken apart and put together again.
        text = symbols.symbols.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
        texts = [text[begin:end] for begin, end in pairwise(symbols.starts.tolist())]
        return ["".join(shown(one)) for one in texts] if TEXT_END in text else texts
    return [block.text(names) for names in names_of(block, symbols, strings)]


def names_of(block: ReadingBlock, symbols: Stream, strings: StringStore) -> list[tuple[str, ...]]:
    """The names of the symbols of several n-grams or items; all n-grams are named at once."""
    if not is_ngram_block(block):
        return [block.names(of_item, strings) for of_item in symbols]
    names = block.names(symbols.symbols, strings)
    return [names[begin:end] for begin, end in pairwise(symbols.starts.tolist())]
