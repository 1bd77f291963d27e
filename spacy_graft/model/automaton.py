"""Matching of n-grams: all n-grams of a block in one pass over the symbols."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..extract.hashing import EMPTY, signed
from ..extract.streams import Stream, starts_of
from .weights import SparseWeights, kernel_parts


class Automaton(NamedTuple):
    """Aho–Corasick automaton in arrays, which :mod:`spacy_graft.model.kernels` describes.

    Time of a pass: proportional to the symbols and the distinct n-grams found, independent of the number of n-grams.

    Memory: 12 bytes a cell, 28 to 44 a letter and 16 an n-gram. Cells are the transitions and, in practice, a third as
    many free ones. A state has a transition for every symbol that extends one of its suffixes of four symbols or more.
    Measured: 19,450 n-grams of 1 to 32 characters of English film reviews have 44,657 states with 2.8 transitions each,
    2 MB.

    Attributes
    ----------
    slots, keys : int32, int64
        Letter - 1 of each symbol, see :mod:`spacy_graft.extract.hashing`.
    root : int32 (n_letters + 1)
    cells : int32 (n_cells, 2)
    output : int32 (n_cells)
    shorter, lengths : int32 (n_ngrams)
    rows : int64 (n_ngrams)
        Row of the weights of each n-gram; the n-grams are sorted.

    References
    ----------
    Aho & Corasick 1975, doi:10.1145/360825.360855, §6 (no failure transitions); Tarjan & Yao 1979,
    doi:10.1145/359168.359175, §2 (interleaved rows); Aoe 1989, doi:10.1109/32.31365 (double arrays).
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
            At least one, all different, none empty.
        rows : int64 (n_ngrams)
            Row of the weights of each n-gram.
        """
        from ..extract.kernels import slots_of
        from . import kernels

        keys, letters = np.unique(signed(ngrams.symbols), return_inverse=True)
        slots = slots_of(keys)
        order, letters, bounds = sorted_ngrams(letters + 1, ngrams.starts)
        root = np.zeros(len(keys) + 1, np.int32)
        trie = np.zeros((len(letters) + 2, kernels.LAST + 1), np.int32)
        shorter = np.empty(len(order), np.int32)
        n_states = kernels.grow_trie(letters, bounds, root, trie, shorter)
        cells, output = place_states(trie, n_states, len(keys))
        root = trie[root, kernels.PLACE]
        lengths = np.diff(bounds).astype(np.int32)
        return cls(slots, keys, root, cells, output, shorter, lengths, rows[order])

    def add_scores(self, documents: Stream, weights: np.ndarray | SparseWeights, totals: np.ndarray) -> None:
        """Add to the totals of each document the weights of its n-grams.

        ``weights`` are float64 (n_features, n_labels), or sparse; ``totals``, float64 (n_documents, n_labels), are
        changed in place.
        """
        from . import kernels

        last_document = np.full(len(self.rows) + 1, -1, np.int32)
        found = np.empty(len(self.rows) + 2, np.int32)
        ends = self._ends(documents.symbols, documents.starts)
        kernels.add_scores(self, ends, documents.starts, *kernel_parts(weights), totals, last_document, found)

    def occurrences(self, symbols: np.ndarray) -> np.ndarray:
        """Return every occurrence of every n-gram: its row of the weights, its first symbol and one past its last.

        Parameters
        ----------
        symbols : uint32 or uint64, 1-D
            One document.

        Returns
        -------
        int64 (n_occurrences, 3)
            In the order of their ends; of those with the same end, the longest first.
        """
        from . import kernels

        ends = self._ends(symbols, np.array([0, len(symbols)]))
        found = np.empty((len(symbols), 3), np.int64)
        n_found = kernels.occurrences(self, ends, found)
        if n_found > len(found):
            found = np.empty((n_found, 3), np.int64)
            kernels.occurrences(self, ends, found)
        return found[:n_found]

    def _ends(self, symbols: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """The longest n-gram that ends with each symbol; the number of n-grams where there is none."""
        from . import kernels

        ends = np.empty(len(symbols), np.int32)
        kernels.find_ends(self, signed(symbols), starts, ends)
        return ends


def sorted_ngrams(letters: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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
    # Strings of bytes, the highest byte of each letter first, are sorted like the letters, and faster than lists.
    flat = letters.astype(">i4").tobytes()
    ngrams = [flat[start:stop] for start, stop in pairwise((4 * starts).tolist())]
    order = np.array(sorted(range(len(ngrams)), key=ngrams.__getitem__))
    sorted_letters = np.frombuffer(b"".join(map(ngrams.__getitem__, order)), ">i4").astype(np.int32)
    return order, sorted_letters, starts_of(np.diff(starts)[order])


def place_states(trie: np.ndarray, n_states: int, n_letters: int) -> tuple[np.ndarray, np.ndarray]:
    """Interleave the rows of all states in one array of cells.

    Returns
    -------
    cells : int32 (n_cells, 2)
    output : int32 (n_cells)
        See :mod:`spacy_graft.model.kernels`; PLACE of ``trie`` is filled.
    """
    from . import kernels

    capacity = 4 * n_states + 2 * n_letters
    n_cells = EMPTY
    while n_cells == EMPTY:
        cells = np.full((capacity, 3), kernels.UNOWNED, np.int32)
        output = np.full(capacity, EMPTY, np.int32)
        row = np.full((3, n_letters + 1), EMPTY, np.int32)
        n_cells = kernels.place_rows(trie, n_states, cells, output, row)
        capacity *= 2
    cells[:, kernels.NEXT] = trie[cells[:, kernels.NEXT], kernels.PLACE]
    return cells[:n_cells, : kernels.LINK].copy(), output[:n_cells].copy()
