"""Suffixes of a part of a text; an index from shards; sums by ranges and by threads: the same bits as in one piece."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive import stream_of
from spacy_graft.extract.streams import Stream
from spacy_graft.graft import space
from spacy_graft.graft.settings import Grafting
from spacy_graft.index import ngrams, nodes, on_disk, shards, sums
from spacy_graft.index.columns import column_numbers
from spacy_graft.index.ngrams import NgramIndex
from spacy_graft.index.nodes import NodeTable
from spacy_graft.index.places import InMemory, OnDisk
from spacy_graft.index.suffixes import Suffixes, difference_cover
from spacy_graft.index.texts import RankedText
from spacy_graft.search import ranges
from spacy_graft.search.full_pass import best_by_pass
from spacy_graft.search.kernels import FREE, NodeQuery
from spacy_graft.solve import design
from strategies import corpora, training_data
from test_graft import run

min_dfs = st.integers(1, 4)


def sorted_naively(symbols: list[int], positions: list[int]) -> list[int]:
    """The numbers of the positions in the order of their suffixes up to the break, of equal ones in theirs."""
    return sorted(range(len(positions)), key=lambda i: (symbols[positions[i] : symbols.index(0, positions[i])], i))


def shared_naively(symbols: list[int], positions: list[int]) -> list[int]:
    """The symbols before a break that the suffix at each position shares with the one at the position before it."""
    suffixes = [symbols[p : symbols.index(0, p)] for p in positions]
    equal = ([a == b for a, b in zip(*pair, strict=False)] for pair in pairwise(suffixes))
    return [0, *([*pair, False].index(False) for pair in equal)][: len(positions)]


@pytest.mark.parametrize("size", range(7))
def test_every_difference_is_one_of_the_cover(size):
    cover, period = difference_cover(size)
    assert len(cover) == 6 * size + 4
    assert set(((cover[:, None] - cover) % period).ravel()) == set(range(period))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("repeats", [1, 5])
@pytest.mark.parametrize("size", [0, 1])
def test_some_suffixes_are_sorted_as_all_of_them_are(dtype, repeats, size):
    rng = np.random.default_rng([repeats, size])
    for n_symbols in (1, 2, 3, 200):
        piece = rng.integers(0 if size else 1, n_symbols + 1, 150)
        symbols = np.append(np.tile(piece, repeats), 0).astype(dtype)
        positions = np.flatnonzero(symbols)
        chosen = positions[rng.random(len(positions)) < 0.6]
        for some in (positions, chosen):
            order, shared = Suffixes(symbols, cover_size=size).order(some)
            assert order.tolist() == sorted_naively(symbols.tolist(), some.tolist())
            naive = np.array(shared_naively(symbols.tolist(), some[order].tolist()), int)
            np.testing.assert_array_equal(shared[shared >= 0], naive[shared >= 0])
            assert (naive[shared < 0] >= difference_cover(size)[1]).all()


@given(corpora(), min_dfs, st.none() | st.integers(1, 6), st.integers(2, 8), st.booleans())
def test_an_index_from_shards_is_that_of_one_piece(texts, min_df, max_length, n_shards, one_symbol):
    stream = stream_of(texts)
    if one_symbol:  # Words: more bits a symbol.
        stream = Stream(stream.symbols.astype(np.uint64) << np.uint64(20), stream.starts)
    assert_same(NgramIndex.build(stream, min_df, max_length), from_shards(stream, min_df, max_length, n_shards))


@given(corpora(), min_dfs, st.none() | st.integers(1, 6), st.integers(1, 8))
def test_an_index_in_pieces_is_the_same_for_any_number_of_threads(texts, min_df, max_length, n_threads):
    stream = stream_of(texts)
    index = NgramIndex.build(stream, min_df, max_length)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ngrams, "SMALLEST_PIECE", 1)
        other = NgramIndex.build(stream, min_df, max_length, n_threads)
    assert_same(index, other)
    np.testing.assert_array_equal(index.events, other.events)
    np.testing.assert_array_equal(index.places, other.places)


def from_shards(stream: Stream, min_df: int, max_length: int | None, n_shards: int) -> NgramIndex:
    """The index that is made of shards."""
    text, limit = RankedText.of_stream(stream, min_df), max_length or ngrams.ANY_LENGTH
    suffixes, assembly = Suffixes(text.symbols), shards.Assembly(text.n_documents)
    cut = shards.cuts(text, suffixes, n_shards, min_df, limit)
    positions = [np.empty(0, suffixes.dtype) for _ in cut]
    for s, more in shards.positions_by_shard(text, suffixes, cut, 50):
        positions[s] = np.append(positions[s], more)
    parts = [
        assembly.whole(shards.nodes_of_shard(text, suffixes, shard, places, min_df, limit), shard)
        for shard, places in zip(cut, positions, strict=True)
    ]
    whole = {name: np.concatenate([getattr(part, name) for part in parts]) for name in parts[0]._fields}
    n_events = np.cumsum([0, *(len(part.events) for part in parts)])
    bounds = [part.bounds[:-1] + begin for part, begin in zip(parts, n_events[:-1], strict=True)]
    whole["bounds"] = np.concatenate([*bounds, n_events[-1:]])
    return NgramIndex.of_part(text, NodeTable(**whole))


@pytest.mark.parametrize("n_shards", [2, 4, 16])
def test_nodes_that_a_cut_goes_through_are_put_together(n_shards):
    rng = np.random.default_rng(n_shards)
    for min_df in (1, 2, 5):
        documents = [rng.integers(1, 4, rng.integers(0, 200)).astype(np.uint32) for _ in range(20)]
        stream = Stream.join([*documents, *documents[:3]], np.uint32)
        assert_same(NgramIndex.build(stream, min_df), from_shards(stream, min_df, None, n_shards))


def test_more_nodes_than_32_bits_number_are_refused(monkeypatch):
    stream = stream_of(["abab", "abba", "baba"] * 3)
    n_nodes = NgramIndex.build(stream, 1).n_nodes
    monkeypatch.setattr(nodes, "LARGEST_COUNT", n_nodes - 1)
    for build in (lambda: NgramIndex.build(stream, 1), lambda: from_shards(stream, 1, None, 2)):
        with pytest.raises(ValueError, match=r"classes of n-grams\. Raise min_df of its block"):
            build()
    monkeypatch.setattr(nodes, "LARGEST_COUNT", n_nodes)
    assert from_shards(stream, 1, None, 2).n_nodes == n_nodes


def assert_same(index: NgramIndex, other: NgramIndex) -> None:
    """The same nodes with the same events, which may stand in another order."""
    for name in ("nodes", "level", "shortest", "distinct", "longest_node", "bounds"):
        np.testing.assert_array_equal(getattr(index, name), getattr(other, name))
    runs = np.repeat(np.arange(len(index.bounds) - 1), np.diff(index.bounds))
    for events, others in ((index.events, other.events),):
        np.testing.assert_array_equal(events[np.lexsort((events, runs))], others[np.lexsort((others, runs))])
    every = np.arange(index.n_nodes)
    for ngram, another in zip(index.ngrams(every), other.ngrams(every), strict=True):
        np.testing.assert_array_equal(ngram, another)


def test_shards_are_of_like_sizes():
    text = np.random.default_rng(0).integers(97, 123, 10_000).astype(np.uint32)
    ranked = RankedText.of_stream(Stream.join([text[:5_000], text[5_000:]], np.uint32), 1)
    found = shards.cuts(ranked, Suffixes(ranked.symbols), 8, 1, 100)
    assert len(found) == 8
    assert sum(shard.n_suffixes for shard in found) == 10_000
    assert max(shard.n_suffixes for shard in found) < 1_500


def test_shards_of_words_that_many_documents_have_are_of_like_sizes():
    """Each suffix of such a word takes memory for all of them."""
    rng = np.random.default_rng(0)
    words = rng.integers(97, 123, (300, 6)).astype(np.uint32)
    frequent = rng.permutation(300)[:30]
    documents = [
        np.concatenate([np.append(words[w], 0) for w in [*frequent, *rng.integers(0, 300, 5)]]).astype(np.uint32)
        for _ in range(200)
    ]
    ranked = RankedText.of_stream(Stream.join(documents, np.uint32), 1)
    suffixes = Suffixes(ranked.symbols)
    found = shards.cuts(ranked, suffixes, 8, 1, 100)
    leaves = np.zeros(len(found), np.int64)
    for s, positions in shards.positions_by_shard(ranked, suffixes, found, 10_000):
        leaves[s] += np.diff(ranked.bounds)[ranked.runs_of(positions)].sum()
    assert leaves.sum() == ranked.n_leaves == sum(np.unique(d.reshape(-1, 7), axis=0).shape[0] * 6 for d in documents)
    assert len(leaves) == 8
    assert leaves.max() < 2.0 * leaves.mean()


def test_the_ranks_of_tokens_are_in_memory_that_is_given() -> None:
    asked = []

    def empty(shape: Any, dtype: Any) -> np.ndarray:
        asked.append((shape, np.dtype(dtype)))
        return np.empty(shape, dtype)

    stream = Stream(np.tile(np.array([7, 2**40, 5], np.uint64), 4), np.array([0, 5, 12]))
    text = RankedText.of_stream(stream, 1, empty)
    assert text.alphabet[text.symbols[:3]].tolist() == [7, 2**40, 5]
    assert (12, np.dtype(np.uint32)) in asked


def test_more_occurrences_than_32_bits_number_are_refused(monkeypatch):
    stream = stream_of(["abab", "abba", "baba"] * 3)
    expected = from_shards(stream, 1, None, 2).n_nodes
    monkeypatch.setattr(shards, "LARGEST_COUNT", 10)
    with pytest.raises(ValueError, match=r"A shard of the index has [0-9]+ occurrences of symbols, of which 10 can be"):
        from_shards(stream, 1, None, 1)
    monkeypatch.setattr(shards, "LARGEST_COUNT", 36)
    assert from_shards(stream, 1, None, 1).n_nodes == expected


@given(corpora(), min_dfs, st.integers(1, 11), st.integers(60, 600), st.integers(1, 3))
def test_sums_by_ranges_and_threads_are_the_same_bits(texts, min_df, width, range_, n_threads):
    index = NgramIndex.build(stream_of(texts), min_df)
    values = np.random.default_rng(0).normal(size=(len(texts), width))
    rows, weights = np.full(index.n_nodes, FREE, np.int32), np.empty((index.n_nodes, 0), np.float32)
    query = NodeQuery(weights, rows, np.zeros((0, width), np.bool_), 0.1, 7, width, np.ones((2, width)))
    in_one, found = index.sums(values), best_by_pass(index, values, query)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sums, "RANGE", range_)
        ranged = replace(index)
        np.testing.assert_array_equal(ranged.sums(values), in_one)
        by_range = best_by_pass(ranged, values, query, n_threads=n_threads)
        keys = ranged.ranged.keys(column_numbers(len(texts)), n_threads=n_threads)
    np.testing.assert_array_equal(keys, index.column_keys())
    for name in ("nodes", "labels", "scaled_gradients", "count", "peaks", "squared_excess"):
        np.testing.assert_array_equal(getattr(by_range, name), getattr(found, name))


def test_a_long_repetition_is_not_cut(monkeypatch):
    """Of its nodes, one for every length, each would be summed by itself."""
    rng = np.random.default_rng(0)
    texts = ["a" * 3000, "a" * 2999 + "b", *("".join(rng.choice(list("abc "), 300)) for _ in range(9))]
    index, values = NgramIndex.build(stream_of(texts), 1), rng.normal(size=(len(texts), 3))
    in_one = index.sums(values)
    monkeypatch.setattr(sums, "RANGE", 4000)
    ranged = replace(index)
    np.testing.assert_array_equal(ranged.sums(values), in_one)
    assert max(map(len, ranged.ranged.open_nodes)) <= sums.MOST_OPEN
    assert len(ranged.ranged.open_nodes) > 2


def test_a_fit_is_the_same_in_shards_threads_and_files(monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("abc "), 60)) for _ in range(60)]
    data = training_data(texts, np.eye(3)[rng.integers(0, 3, 60)])
    monkeypatch.setattr(on_disk, "SHARD_SIZE", 300)
    monkeypatch.setattr(design, "THREADS_FROM", 0)
    read, findings = [], ranges.findings_of_range
    monkeypatch.setattr(ranges, "findings_of_range", lambda *given: read.append(given) or findings(*given))
    fits = []
    for place in (InMemory(1), InMemory(5), OnDisk(2, str(tmp_path))):
        monkeypatch.setattr(sums, "RANGE", 1000 * place.n_threads)
        monkeypatch.setattr(space, "LISTED", 1000 // place.n_threads)
        fit = run(Grafting(l1=0.5), replace(data, place=place))
        fits.append(fit)
    for fit in fits[1:]:
        assert fit.report.duality_gap == fits[0].report.duality_gap
        np.testing.assert_array_equal(fit.rounds.state.active.weights, fits[0].rounds.state.active.weights)
        np.testing.assert_array_equal(fit.rounds.state.space.nodes, fits[0].rounds.state.space.nodes)
    assert len(fits[0].rounds.state.active) > 10
    (part,) = fit.rounds.state.space.parts
    n_ranges = len(part.index.ranged.open_nodes)
    assert 0 < len(read) < n_ranges * part.search.n_passes
