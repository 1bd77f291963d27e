"""Matching of items and combinations: which of them documents have, and their values there."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..extract.bags import Bags, Vocabulary, item_keys
from ..extract.blocks import is_item_block
from ..extract.hashing import signed
from ..extract.streams import Stream
from ..extract.terms import NamedTerm
from .weights import SparseWeights, kernel_parts

if TYPE_CHECKING:
    from spacy.strings import StringStore

TermT = TypeVar("TermT", bound=Hashable)


@dataclass(frozen=True)
class ItemTable:
    """The items of one block that features are made of, by their keys.

    Attributes
    ----------
    slots, keys : int32, int64
        See :mod:`spacy_graft.extract.hashing`.
    terms : int32
        The term of each key.
    """

    slots: np.ndarray
    keys: np.ndarray
    terms: np.ndarray

    @classmethod
    def build(cls, symbols: np.ndarray, terms: np.ndarray) -> ItemTable:
        """Build the table of items with these symbols, all different."""
        from ..extract.kernels import slots_of

        keys = signed(item_keys(symbols))
        return cls(slots_of(keys), keys, terms.astype(np.int32))


@dataclass(frozen=True)
class Members:
    """How features are made of *terms*: a feature is a single item, or a combination of items.

    Memory: 16 bytes a term, 4 a member, 12 a combination.

    Attributes
    ----------
    rows : int64 (n_terms)
        The row of the feature that is this term alone, or -1.
    starts : int64 (n_terms + 1), combinations : int32
        Term t is a member of the combinations ``combinations[starts[t] : starts[t + 1]]``.
    sizes : int32 (n_combinations), combination_rows : int64 (n_combinations)
        Number of members of each combination, and its row.
    """

    rows: np.ndarray
    starts: np.ndarray
    combinations: np.ndarray
    sizes: np.ndarray
    combination_rows: np.ndarray

    @classmethod
    def build(cls, features: Mapping[tuple[TermT, ...], int]) -> tuple[dict[TermT, int], Members]:
        """Number the terms of features, which are given with their rows."""
        numbers: dict[TermT, int] = {}
        for terms in features:
            for term in terms:
                numbers.setdefault(term, len(numbers))
        rows = np.full(len(numbers), -1, np.int64)
        members: list[tuple[int, int]] = []
        sizes: list[int] = []
        combination_rows: list[int] = []
        for terms, row in features.items():
            if len(terms) == 1:
                rows[numbers[terms[0]]] = row
            else:
                members += [(numbers[term], len(sizes)) for term in terms]
                sizes.append(len(terms))
                combination_rows.append(row)
        by_term = np.array(members, np.int64).reshape(-1, 2)
        by_term = by_term[np.argsort(by_term[:, 0], kind="stable")]
        return numbers, cls(
            rows,
            np.searchsorted(by_term[:, 0], np.arange(len(numbers) + 1)),
            by_term[:, 1].astype(np.int32),
            np.array(sizes, np.int32),
            np.array(combination_rows, np.int64),
        )

    def features_of(
        self, starts: np.ndarray, terms: np.ndarray, values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Features of documents and their values, from the terms of documents, each once a document.

        Parameters
        ----------
        starts : int64 (n_documents + 1), terms : int32, values : float64
            Document ``i`` has the terms ``terms[starts[i] : starts[i + 1]]``.

        Returns
        -------
        starts : int64 (n_documents + 1), rows : int64, values : float64
        """
        from . import item_matching_kernels as kernels

        return kernels.features_of_terms(
            starts, terms, values, self.rows, self.starts, self.combinations, self.sizes, self.combination_rows
        )


def add_item_scores(
    found: tuple[np.ndarray, np.ndarray, np.ndarray],
    weights: np.ndarray | SparseWeights,
    shares: np.ndarray,
    totals: np.ndarray,
) -> None:
    """Add the scores of matched features to ``totals``, float64 (n_documents, n_labels).

    If features have ``shares`` of the length of a document (:mod:`..extract.feature_lengths`), ``weights`` have them as
    one more column, and ``totals`` become lengths there.
    """
    from . import item_matching_kernels as kernels

    kernels.add_values(*found, *kernel_parts(weights), totals)
    starts, rows, values = found
    if len(shares) and (values != 1.0).any():
        # Scores go by values, and lengths by their squares.
        documents = np.repeat(np.arange(len(totals)), np.diff(starts))
        totals[:, -1] += np.bincount(documents, shares[rows] * (np.square(values) - values), len(totals))


@dataclass(frozen=True)
class ItemMatcher:
    """Finds the features of documents that are items or combinations of items.

    Memory: 28 to 44 bytes a term, in the tables of blocks.
    """

    tables: dict[str, ItemTable]
    members: Members

    @classmethod
    def build(
        cls, features: Mapping[tuple[NamedTerm, ...], int], blocks: Mapping[str, Any], strings: StringStore
    ) -> ItemMatcher:
        """Compile features, given with their rows.

        Raises
        ------
        ValueError
            If a block has no such item.
        """
        numbers, members = Members.build(features)
        return cls(item_tables(numbers, blocks, strings), members)

    def found(
        self, streams: Mapping[str, Stream], blocks: Mapping[str, Any], vocabularies: Mapping[str, Vocabulary]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Features of documents, and their values (see :meth:`Members.features_of`).

        ``streams`` has all blocks of :attr:`tables`, and ``vocabularies`` those whose item values depend on one.
        """
        parts = [
            terms_of(streams[name], table, blocks[name], vocabularies.get(name)) for name, table in self.tables.items()
        ]
        documents = np.concatenate([np.repeat(np.arange(len(starts) - 1), np.diff(starts)) for starts, _, _ in parts])
        order = np.argsort(documents, kind="stable")
        starts = np.sum([starts for starts, _, _ in parts], axis=0)
        terms = np.concatenate([terms for _, terms, _ in parts])[order]
        values = np.concatenate([values for _, _, values in parts])[order]
        return self.members.features_of(starts, terms, values)


def item_tables(
    numbers: Mapping[NamedTerm, int], blocks: Mapping[str, Any], strings: StringStore
) -> dict[str, ItemTable]:
    """The tables of all blocks with terms; ``numbers`` are those of the terms."""
    by_block: dict[str, list[NamedTerm]] = {}
    for term in numbers:
        by_block.setdefault(term.block, []).append(term)
    tables = {}
    for name, terms in by_block.items():
        symbols = item_symbols(blocks[name], [term.symbols for term in terms], strings)
        tables[name] = ItemTable.build(symbols, np.array([numbers[term] for term in terms]))
    return tables


def item_symbols(block: Any, items: Sequence[tuple[str, ...]], strings: StringStore) -> np.ndarray:
    """Symbols of items by names: (n,) for the single symbols of an n-gram block, else (n, width).

    Raises
    ------
    ValueError
        If the block has no such item.
    """
    width = block.width if is_item_block(block) else 1
    wrong = next((item for item in items if len(item) != width), None)
    symbols = block.values([name for item in items for name in item], strings) if wrong is None else np.empty(0)
    rows = symbols.reshape(-1, width)
    if wrong is not None or any(block.names(row, strings) != item for row, item in zip(rows, items, strict=True)):
        raise ValueError(
            f"The model has features that are not items of {block}. Use the config that it was trained with."
        )
    return rows if is_item_block(block) else symbols


def terms_of(
    stream: Stream, table: ItemTable, block: Any, vocabulary: Vocabulary | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Terms of documents that are in a table: starts int64 (n_documents + 1), terms int32, values float64."""
    from ..extract.kernels import rows_of_keys
    from . import item_matching_kernels as kernels

    if not is_item_block(block) or block.value == "binary":
        starts, rows = kernels.known_items(signed(item_keys(stream.symbols)), stream.starts, table.slots, table.keys)
        return starts, table.terms[rows], np.ones(len(rows))
    bags = Bags.of_stream(stream, 1, block.value, vocabulary)
    rows = rows_of_keys(signed(item_keys(bags.symbols)), table.slots, table.keys)
    known = bags.of_items(rows >= 0)
    return known.starts, table.terms[rows[rows >= 0]][known.items], known.values
