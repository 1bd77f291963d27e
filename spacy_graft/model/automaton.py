"""Matching: all n-grams of a block at once, in one pass over the symbols."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from ..extract.hashing import EMPTY, empty_slots, signed
from ..extract.streams import Stream


class Automaton(NamedTuple):
    """Aho–Corasick automaton, in arrays as :mod:`spacy_graft.model.kernels` describes them.

    Time of a pass: proportional to the symbols and the distinct n-grams found, whatever the number of n-grams.

    Memory: 12 bytes a cell, 20 to 28 a letter and 16 an n-gram. Cells are the transitions and, in practice, half as
    many free ones. A state has a transition for every symbol by which one of its suffixes of two symbols or more goes
    on: one at least, except at the ends of n-grams, and one a letter at most. Measured: 3,000 n-grams of 2 to 8
    characters have 8 transitions a state in English, 1.1 MB, and 2 in Chinese (1,300 letters), 0.6 MB.

    Attributes
    ----------
    slots, keys : int32, int64
        Letter - 1 of each symbol, see :mod:`spacy_graft.extract.hashing`.
    root : int32 (n_letters + 1)
    cells : int32 (n_cells, 2)
    output : int32 (n_cells)
    shorter, lengths : int32 (n_ngrams)
    rows : int64 (n_ngrams)
        Which row of the weights belongs to each n-gram; the n-grams are sorted.

    References
    ----------
    Aho & Corasick 1975, doi:10.1145/360825.360855, §6 (no failure transitions); Tarjan & Yao 1979,
    doi:10.1145/359168.359175, §2 (rows over each other); Aoe 1989, doi:10.1109/32.31365 (states are places).
    """

    slots: np.ndarray
    keys: np.ndarray
    root: np.ndarray
    cells: np.ndarray
    output: np.ndarray
    shorter: np.ndarray
    lengths: np.ndarray
    rows: np.ndarray

    @classmethod
    def build(cls, ngrams: Stream, rows: np.ndarray) -> Automaton:
        """Compile n-grams.

        Parameters
        ----------
        ngrams : Stream
            All different, none empty, at least one.
        rows : int64 (n_ngrams)
            Which row of the weights belongs to each.
        """
        from ..extract.kernels import insert_rows
        from . import kernels

        keys, letters = np.unique(signed(ngrams.symbols), return_inverse=True)
        slots = empty_slots(len(keys))
        insert_rows(slots, keys, 0, len(keys))
        order, letters, bounds = in_order(letters + 1, ngrams.starts)
        root = np.zeros(len(keys) + 1, np.int32)
        trie = np.zeros((len(letters) + 2, kernels.LAST + 1), np.int32)
        shorter = np.empty(len(order), np.int32)
        n_states = kernels.grow_trie(letters, bounds, root, trie, shorter)
        cells, output = placed(trie, n_states, len(keys))
        root = trie[root, kernels.PLACE]
        lengths = np.diff(bounds).astype(np.int32)
        return cls(slots, keys, root, cells, output, shorter, lengths, rows[order])

    def add_scores(self, documents: Stream, weights: np.ndarray, totals: np.ndarray) -> None:
        """Add to each document's total the weights of the n-grams that it has.

        Parameters
        ----------
        documents : Stream
        weights : float64 (n_features, n_labels)
        totals : float64 (n_documents, n_labels)
            Changed in place.
        """
        from . import kernels

        last_document = np.full(len(self.rows) + 1, -1)
        found = np.empty(len(self.rows) + 2, np.int64)
        symbols = signed(documents.symbols)
        kernels.add_scores(self, symbols, documents.starts, weights, totals, last_document, found)

    def occurrences(self, symbols: np.ndarray) -> np.ndarray:
        """Return every occurrence of every n-gram: its row of the weights, first symbol, symbol behind its last one.

        Parameters
        ----------
        symbols : uint32 or uint64, 1-D
            One document.

        Returns
        -------
        int64 (n_occurrences, 3)
            In the order of their ends, those with the same end longest first.
        """
        from . import kernels

        keys = signed(symbols)
        found = np.empty((len(keys), 3), np.int64)
        n_found = kernels.occurrences(self, keys, found)
        if n_found > len(found):
            found = np.empty((n_found, 3), np.int64)
            kernels.occurrences(self, keys, found)
        return found[:n_found]


def in_order(letters: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sort n-grams.

    Parameters
    ----------
    letters : int, 1-D
    starts : int64 (n_ngrams + 1)
        N-gram k is ``letters[starts[k] : starts[k + 1]]``.

    Returns
    -------
    order : int64 (n_ngrams)
    letters : int32, 1-D
    starts : int64 (n_ngrams + 1)
        Of the sorted n-grams.
    """
    flat = letters.tolist()
    ngrams = [flat[start:stop] for start, stop in pairwise(starts.tolist())]
    order = np.array(sorted(range(len(ngrams)), key=ngrams.__getitem__))
    bounds = np.zeros(len(starts), np.int64)
    np.cumsum(np.diff(starts)[order], out=bounds[1:])
    return order, np.fromiter(chain.from_iterable(map(ngrams.__getitem__, order)), np.int32, len(flat)), bounds


def placed(trie: np.ndarray, n_states: int, n_letters: int) -> tuple[np.ndarray, np.ndarray]:
    """Lay the rows of all states over each other.

    Returns
    -------
    cells : int32 (n_cells, 2)
    output : int32 (n_cells)
        See :mod:`spacy_graft.model.kernels`; PLACE of ``trie`` is filled.
    """
    from . import kernels

    room = 4 * n_states + 2 * n_letters
    n_cells = EMPTY
    while n_cells == EMPTY:
        cells = np.full((room, 3), kernels.FREE, np.int32)
        output = np.full(room, EMPTY, np.int32)
        row = np.full((3, n_letters + 1), EMPTY, np.int32)
        n_cells = kernels.place_rows(trie, n_states, cells, output, row)
        room *= 2
    cells[:, kernels.NEXT] = trie[cells[:, kernels.NEXT], kernels.PLACE]
    return cells[:n_cells, : kernels.LINK].copy(), output[:n_cells].copy()
