"""The index against enumeration: every n-gram of every document, with its documents."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive import ngram_documents, stream_of
from spacy_graft.extract.streams import Stream
from spacy_graft.index.columns import column_numbers
from spacy_graft.index.items import ItemIndex
from spacy_graft.index.kernels import CHUNK
from spacy_graft.index.ngrams import NgramIndex
from strategies import corpora

min_dfs = st.integers(1, 4)
max_lengths = st.none() | st.integers(1, 4)


def text_of(symbols: np.ndarray) -> str:
    return "".join(map(chr, symbols))


def members(index: NgramIndex, node: int) -> list[str]:
    """All n-grams of a node: prefixes of its longest one."""
    (longest,) = map(text_of, index.prefixes(np.array([node]), index.longest[[node]]))
    return [longest[:length] for length in range(index.shortest[node], len(longest) + 1)]


def documents_by_ngram(index: NgramIndex) -> dict[str, tuple[int, ...]]:
    starts, documents, _ = index.columns(np.arange(index.n_nodes))
    return {
        ngram: tuple(documents[starts[k] : starts[k + 1]]) for k in range(index.n_nodes) for ngram in members(index, k)
    }


@given(corpora(), min_dfs, max_lengths)
def test_nodes_are_all_ngrams_with_their_documents(texts, min_df, max_length):
    index = NgramIndex.build(stream_of(texts), min_df, max_length)
    found = documents_by_ngram(index)
    assert found == ngram_documents(texts, min_df, max_length)
    assert len(found) == sum(index.longest - index.shortest + 1), "an n-gram stands in two nodes"


@pytest.mark.parametrize("n_documents", [63, 64, 65, 300])
def test_columns_of_many_documents_ascend(n_documents):
    """They are looked through in blocks of 64."""
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("abcd"), rng.integers(12))) for _ in range(n_documents)]
    index = NgramIndex.build(stream_of(texts), 1, 3)
    assert documents_by_ngram(index) == ngram_documents(texts, 1, 3)


@given(corpora(), min_dfs, max_lengths, st.sampled_from(["\0", "\0\0"]))
def test_words_that_documents_share_are_indexed_once(texts, min_df, max_length, separator):
    whole = NgramIndex.build(stream_of(texts), min_df, max_length)
    repeated = [separator.join([text, text[::-1], text]) for text in texts]
    index = NgramIndex.build(stream_of(repeated), min_df, max_length)
    assert documents_by_ngram(index) == ngram_documents(repeated, min_df, max_length)
    assert len(index.symbols) <= 2 * len(whole.symbols)


@given(corpora(max_size=12), st.integers(1, 60), min_dfs)
def test_keys_are_exact_however_often_documents_are_added_and_taken_away(texts, times, min_df):
    """N-grams that come many times in a document are counted as often on the way to the sums."""
    index = NgramIndex.build(stream_of([text * times for text in texts]), min_df)
    numbers = column_numbers(len(texts)).tolist()
    starts, documents, _ = index.columns(np.arange(index.n_nodes))
    exact = [sum(numbers[i] for i in documents[starts[k] : starts[k + 1]]) for k in range(index.n_nodes)]
    assert index.column_keys().tolist() == [(key + 2**63) % 2**64 - 2**63 for key in exact]


@given(corpora(), min_dfs)
def test_one_node_of_each_distinct_column_is_named_by_its_shortest_ngram(texts, min_df):
    """Of n-grams of one length by the first in the order of symbols."""
    index = NgramIndex.build(stream_of(texts), min_df)
    by_documents: dict[tuple[int, ...], list[str]] = {}
    for ngram, documents in ngram_documents(texts, min_df).items():
        by_documents.setdefault(documents, []).append(ngram)
    chosen = np.flatnonzero(index.distinct)
    starts, documents, _ = index.columns(chosen)
    columns = [tuple(documents[starts[c] : starts[c + 1]]) for c in range(len(chosen))]
    assert sorted(columns) == sorted(by_documents)
    for column, node in zip(columns, chosen, strict=True):
        ngrams = by_documents[column]
        assert text_of(index.ngrams([node]).document(0)) == min(ngrams, key=lambda ngram: (len(ngram), ngram))
        assert text_of(index.longest_ngrams([node]).document(0)) == min(ngrams, key=lambda ngram: (-len(ngram), ngram))


@given(corpora(), min_dfs, st.integers(1, 11))
def test_sums_are_over_distinct_documents(texts, min_df, width):
    index = NgramIndex.build(stream_of(texts), min_df)
    values = np.random.default_rng(0).normal(size=(len(texts), width))
    starts, documents, _ = index.columns(np.arange(index.n_nodes))
    naive = [values[documents[starts[k] : starts[k + 1]]].sum(axis=0) for k in range(index.n_nodes)]
    np.testing.assert_allclose(index.sums(values), np.reshape(naive, (index.n_nodes, width)), atol=1e-12)


@given(corpora(), min_dfs, st.integers(2, 11))
def test_sums_are_the_same_bits_with_any_number_of_columns(texts, min_df, width):
    index = NgramIndex.build(stream_of(texts), min_df)
    values = np.random.default_rng(0).normal(size=(len(texts), width))
    one_by_one = [index.sums(values[:, [column]]) for column in range(width)]
    np.testing.assert_array_equal(index.sums(values), np.concatenate(one_by_one, axis=1))


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("width", [1, 2, 3, 8, 9, 11])
def test_passes_over_items_sum_their_columns(real, width):
    rng = np.random.default_rng(width)
    n_documents, n_items = 50, CHUNK + 10
    lengths = rng.integers(0, 5, n_items)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    documents = np.concatenate([np.sort(rng.choice(n_documents, size, replace=False)) for size in lengths])
    of_entries = rng.random(len(documents)) if real else np.ones(len(documents))
    index = ItemIndex(
        np.arange(n_items), starts, documents.astype(np.int32), of_entries if real else np.empty(0), n_documents
    )
    matrix = np.zeros((n_items, n_documents))
    matrix[np.repeat(np.arange(n_items), lengths), documents] = of_entries
    values = rng.normal(size=(n_documents, width))
    np.testing.assert_allclose(passed(index, values), matrix @ values, atol=1e-12)
    one_by_one = [passed(index, values[:, [column]]) for column in range(width)]
    np.testing.assert_array_equal(passed(index, values), np.concatenate(one_by_one, axis=1))


def passed(index: ItemIndex, values: np.ndarray) -> np.ndarray:
    """What the passes over an index give: float64 (n_nodes, k)."""
    found = np.full((index.n_nodes, values.shape[1]), np.nan)
    for column, begin, end, sums in index.passes(values):
        out = found[begin:end, column : column + sums.shape[1]]
        out[:] = sums[: end - begin, : out.shape[1]]
    return found


@given(corpora())
def test_nodes_are_in_post_order(texts):
    index = NgramIndex.build(stream_of(texts), 1)
    for k in range(index.n_nodes):
        assert 0 <= index.first[k] <= k
        assert all(index.level[j] > index.level[k] for j in range(index.first[k], k))
        assert all(index.df[j] <= index.df[k] for j in range(index.first[k], k))


@pytest.mark.parametrize("n_symbols", [3, 255, 256, 70_000])
def test_alphabets_of_one_two_and_four_bytes(n_symbols):
    rng = np.random.default_rng(n_symbols)
    ids = (np.arange(n_symbols, dtype=np.uint64) * np.uint64(2**40)).reshape(1, -1)
    parts = [np.concatenate([ids[0], rng.choice(ids[0], 5)]) for _ in range(2)]
    index = NgramIndex.build(Stream.join(parts, np.uint64), 2)
    unigrams = {int(index.ngrams([k]).document(0)[0]) for k in range(index.n_nodes) if index.shortest[k] == 1}
    assert unigrams == set(ids[0].tolist())
    assert index.symbols.itemsize == (1 if n_symbols < 256 else 2 if n_symbols < 65_536 else 4)


def test_rare_symbols_break_ngrams_and_lose_nothing():
    texts = ["abxcd", "abycd", "abzcd"]
    index = NgramIndex.build(stream_of(texts), 3)
    found = {ngram for k in range(index.n_nodes) for ngram in members(index, k)}
    assert found == {"a", "ab", "b", "c", "cd", "d"}


@pytest.mark.parametrize("texts", [[], [""], ["", ""], ["a"], ["", "a", ""]])
def test_empty_documents(texts):
    index = NgramIndex.build(stream_of(texts), 1)
    assert index.n_nodes == sum(map(len, set(texts)))
    assert index.n_documents == len(texts)


def test_min_df_above_the_number_of_documents_leaves_nothing():
    assert NgramIndex.build(stream_of(["ab", "ab"]), 3).n_nodes == 0


def test_long_repetition_is_linear():
    """A tree as deep as the document: 200,000 nested intervals, one class each."""
    index = NgramIndex.build(stream_of(["a" * 20_000, "a" * 20_000, "b"]), 2)
    assert index.distinct.sum() == 1
    assert len(index.longest_ngrams([np.flatnonzero(index.distinct)[0]]).document(0)) == 20_000


def test_too_many_symbols_are_refused():
    starts = np.array([0, 2**31], np.int64)
    symbols = np.broadcast_to(np.uint32(0), (2**31,))
    with pytest.raises(ValueError, match="2,147,483,647"):
        NgramIndex.build(Stream(symbols, starts), 1)
