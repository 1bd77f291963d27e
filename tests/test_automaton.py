"""The automaton, compared with a search for every n-gram at every position."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import naive_match
from spacy_graft.extract.streams import Stream
from spacy_graft.model.automaton import Automaton

#: Symbols as blocks give them, near the ends of their types too, and some with the same hash in a small table.
ALPHABETS = {
    np.uint32: [0, 1, ord("a"), ord("好"), 0x1F600, 0x10FFFF],
    np.uint64: [0, 1, 2**10, 2**20, 2**63, 2**64 - 1],
}

symbols = st.integers(0, 5)
#: Short n-grams of all symbols, and long ones of two, which have long suffixes in common.
any_ngram = st.lists(symbols, min_size=1, max_size=5) | st.lists(st.integers(0, 1), min_size=4, max_size=10)
ngram_lists = st.lists(any_ngram, min_size=1, max_size=12, unique_by=tuple)
any_document = st.lists(symbols, max_size=30) | st.lists(st.integers(0, 1), max_size=60)
document_lists = st.lists(any_document, max_size=5)


def stream(sequences: Sequence[Sequence[int]], dtype: type = np.uint32) -> Stream:
    alphabet = np.array(ALPHABETS[dtype], dtype)
    return Stream.join([alphabet[np.array(sequence, int)] for sequence in sequences], dtype)


def automaton_of(ngrams: Sequence[Sequence[int]], dtype: type = np.uint32) -> Automaton:
    return Automaton.build(stream(ngrams, dtype), np.arange(len(ngrams)))


def of_text(*texts: str) -> Stream:
    return Stream.join([np.array([ord(char) for char in text], np.uint32) for text in texts], np.uint32)


@given(ngrams=ngram_lists, document=any_document, dtype=st.sampled_from([np.uint32, np.uint64]))
@example(ngrams=[[0], [0, 0], [0, 0, 0]], document=[0] * 9, dtype=np.uint32)
@example(ngrams=[[0, 1, 2, 3], [1, 2], [2], [1, 2, 4]], document=[0, 1, 2, 4, 0, 1, 2, 3], dtype=np.uint64)
@example(ngrams=[[0, 1, 2, 0, 1, 3], [1, 2, 0, 1, 2], [0, 1, 2, 4]], document=[0, 1, 2, 0, 1, 2, 4], dtype=np.uint32)
def test_occurrences(ngrams, document, dtype):
    found = automaton_of(ngrams, dtype).occurrences(stream([document], dtype).symbols)
    assert found.dtype == np.int64
    assert list(map(tuple, found.tolist())) == naive_match.occurrences(document, ngrams)


@given(ngrams=ngram_lists, documents=document_lists, dtype=st.sampled_from([np.uint32, np.uint64]))
def test_features_count_once_a_document(ngrams, documents, dtype):
    weights = 2.0 ** np.arange(2 * len(ngrams)).reshape(-1, 2)
    totals = np.zeros((len(documents), 2))
    automaton_of(ngrams, dtype).add_scores(stream(documents, dtype), weights, totals)
    np.testing.assert_array_equal(totals, naive_match.sums(documents, ngrams, weights))


@given(ngrams=ngram_lists, documents=document_lists, seed=st.integers(0, 9))
def test_sums_are_the_same_bits_in_any_batch(ngrams, documents, seed):
    weights = np.random.default_rng(seed).standard_normal((len(ngrams), 3))
    automaton = automaton_of(ngrams)
    together, alone = np.zeros((2, len(documents), 3))
    automaton.add_scores(stream(documents), weights, together)
    for k, document in enumerate(documents):
        automaton.add_scores(stream([document]), weights, alone[k : k + 1])
    assert together.tobytes() == alone.tobytes()


def test_scores_are_added_and_rows_are_free():
    automaton = Automaton.build(of_text("b", "a"), np.array([3, 1]))
    totals = np.array([[1.0]])
    automaton.add_scores(of_text("ab"), np.array([[10.0], [20.0], [30.0], [40.0]]), totals)
    assert totals.tolist() == [[61.0]]
    assert automaton.occurrences(of_text("ab").symbols).tolist() == [[1, 0, 1], [3, 1, 2]]


def test_nothing_runs_over_from_one_document_to_the_next():
    automaton = Automaton.build(of_text("ab", "abc"), np.arange(2))
    totals = np.zeros((4, 1))
    automaton.add_scores(of_text("a", "b", "ab", "c"), np.ones((2, 1)), totals)
    assert totals.ravel().tolist() == [0.0, 0.0, 1.0, 0.0]


def test_runs_of_one_symbol():
    automaton = Automaton.build(of_text("a" * 2000, "a" * 1000 + "b"), np.arange(2))
    assert automaton.occurrences(of_text("a" * 2001 + "b").symbols).tolist() == [
        [0, 0, 2000],
        [0, 1, 2001],
        [1, 1001, 2002],
    ]
    assert len(automaton.cells) < 4000


def test_many_transitions_a_state():
    """The first guess of how many cells are needed is too low."""
    ngrams = list(map("".join, product("abcdefghij", repeat=3)))
    automaton = Automaton.build(of_text(*ngrams), np.arange(len(ngrams)))
    text = "abcjihjjjaab"
    found = automaton.occurrences(of_text(text).symbols).tolist()
    assert found == [[ngrams.index(text[k : k + 3]), k, k + 3] for k in range(len(text) - 2)]


@pytest.mark.parametrize("n_letters", [100, 3000])
def test_memory_does_not_grow_with_the_alphabet(n_letters):
    rng = np.random.default_rng(0)
    ngrams = {"".join(map(chr, 0x4E00 + rng.integers(0, n_letters, 3))) for _ in range(1000)}
    automaton = Automaton.build(of_text(*sorted(ngrams)), np.arange(len(ngrams)))
    assert sum(array.nbytes for array in automaton) < 400_000
