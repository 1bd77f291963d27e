"""What items are worth by tf-idf: against the formula, and against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer

from naive import tf_idf
from spacy_graft.extract.attributes import TokenAttributes
from spacy_graft.extract.bags import Bags, Vocabulary, distinct_symbols, item_keys
from spacy_graft.extract.kernels import FEWEST_KEYS
from spacy_graft.extract.streams import Stream, stream_of
from spacy_graft.model.table import Vocabularies

WORDS = ["film", "plot", "cast", "song", "dull", "good"]
#: Counts of a few items, most of them 0: (documents, items).
counts_of_documents = st.tuples(st.integers(1, 7), st.integers(1, 5)).flatmap(
    lambda shape: st.lists(
        st.lists(st.sampled_from([0, 0, 0, 1, 2, 5]), min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    ).map(np.array)
)
texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), min_size=1, max_size=7)


def stream_of_counts(counts: np.ndarray, symbols: np.ndarray) -> Stream:
    """Each item as often as it is counted, the last items first."""
    parts = [np.repeat(symbols[::-1], row[::-1], axis=0) for row in counts]
    return Stream.join(parts, np.uint64, *symbols.shape[1:])


def dense(bags: Bags, symbols: np.ndarray) -> np.ndarray:
    """Values of all items with these symbols, 0 where a document or the bags have not got them."""
    numbers = {int(key): column for column, key in enumerate(item_keys(symbols))}
    columns = np.array([numbers[int(key)] for key in item_keys(bags.symbols)], np.int64)
    matrix = np.zeros((bags.n_documents, len(symbols)))
    for i in range(bags.n_documents):
        entries = slice(bags.starts[i], bags.starts[i + 1])
        matrix[i, columns[bags.items[entries]]] = bags.values[entries]
    return matrix


def symbols_of(n: int, width: int) -> np.ndarray:
    """Hashes, as spaCy's, in no order; where items have several, the first ones are equal."""
    hashes = np.random.default_rng(n).integers(1, 2**63, n).astype(np.uint64)
    if width == 1:
        return hashes
    return np.stack([np.full(n, 7, np.uint64)] * (width - 1) + [hashes], axis=1)


@pytest.mark.parametrize("width", [1, 3])
@given(counts=counts_of_documents, others=counts_of_documents, min_df=st.integers(1, 3))
def test_tf_idf_is_the_formula(width, counts, others, min_df):
    """Of the documents that the vocabulary is of, and of others: items that are new there are worth nothing."""
    n_items = max(counts.shape[1], others.shape[1])
    symbols = symbols_of(n_items, width)
    counts, others = (np.pad(its, [(0, 0), (0, n_items - its.shape[1])]) for its in (counts, others))
    df = (counts > 0).sum(axis=0)
    df[df < min_df] = 0

    bags = Bags.of_stream(stream_of_counts(counts, symbols), min_df, "tf_idf")
    np.testing.assert_allclose(dense(bags, symbols), tf_idf(counts, df, len(counts)), atol=1e-15)
    assert set(item_keys(bags.symbols)) == set(item_keys(symbols[df > 0]))

    of_others = Bags.of_stream(stream_of_counts(others, symbols), 1, "tf_idf", bags.vocabulary)
    np.testing.assert_allclose(dense(of_others, symbols), tf_idf(others, df, len(counts)), atol=1e-15)
    assert of_others.vocabulary is bags.vocabulary


@given(counts=counts_of_documents)
def test_tf_idf_is_that_of_the_transformer(counts):
    symbols = symbols_of(counts.shape[1], 1)
    bags = Bags.of_stream(stream_of_counts(counts, symbols), 1, "tf_idf")
    np.testing.assert_allclose(dense(bags, symbols), TfidfTransformer().fit_transform(counts).toarray(), atol=1e-15)


@given(texts=texts, others=texts, min_df=st.integers(1, 2))
def test_tf_idf_of_a_block_is_that_of_the_vectorizer(blank, texts, others, min_df):
    block = TokenAttributes("LOWER", value="tf_idf", min_df=min_df)
    symbols = np.array([blank.vocab.strings.add(word) for word in WORDS], np.uint64)
    frequent = [word for word in WORDS if sum(word in text.split() for text in texts) >= min_df]
    if not frequent:
        return
    vectorizer = TfidfVectorizer(vocabulary=frequent)
    columns = [WORDS.index(word) for word in frequent]

    def stream(its: list[str]) -> Stream:
        return stream_of(block, [block.symbols(blank.make_doc(text)) for text in its])

    bags = Bags.of_stream(stream(texts), min_df, "tf_idf")
    np.testing.assert_allclose(dense(bags, symbols)[:, columns], vectorizer.fit_transform(texts).toarray(), atol=1e-15)
    of_others = Bags.of_stream(stream(others), 1, "tf_idf", bags.vocabulary)
    np.testing.assert_allclose(
        dense(of_others, symbols)[:, columns], vectorizer.transform(others).toarray(), atol=1e-15
    )
    assert bags.n_items == len(frequent)


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 9) | st.integers(0, 9).map(lambda n: n << 40)))
def test_distinct_symbols_are_those_of_numpy(symbols):
    symbols = np.array(symbols, np.uint64)
    distinct, ranks = distinct_symbols(symbols)
    expected, expected_ranks = np.unique(symbols, return_inverse=True)
    np.testing.assert_array_equal(distinct, expected)
    np.testing.assert_array_equal(ranks, expected_ranks)


@pytest.mark.parametrize("width", [None, 2])
def test_many_distinct_symbols_are_those_of_numpy(width):
    """More than the table has room for at first."""
    rng = np.random.default_rng(1)
    shape = (10 * FEWEST_KEYS,) if width is None else (10 * FEWEST_KEYS, width)
    symbols = rng.integers(0, 8 * FEWEST_KEYS if width is None else 150, shape, np.uint64)
    distinct, ranks = distinct_symbols(symbols)
    assert len(distinct) == len(np.unique(symbols, axis=0)) > 4 * FEWEST_KEYS
    np.testing.assert_array_equal(distinct[ranks], symbols)
    keys = item_keys(distinct)
    assert (keys[1:] > keys[:-1]).all()


def test_an_empty_vocabulary_knows_no_item():
    vocabulary = Vocabulary.of(np.empty(0, np.uint64), np.empty(0, np.int32), 3)
    np.testing.assert_array_equal(vocabulary.weights(symbols_of(4, 1)), np.zeros(4))
    bags = Bags.of_stream(stream_of_counts(np.ones((2, 4), int), symbols_of(4, 1)), 1, "tf_idf", vocabulary)
    assert (bags.n_documents, bags.n_items, len(bags.values)) == (2, 0, 0)


@pytest.mark.parametrize(
    ("keys", "df", "n_documents", "problem"),
    [
        ([1, 2], [1], 3, "one number of documents for each key"),
        ([2, 1], [1, 1], 3, "out of order"),
        ([1, 1], [1, 1], 3, "out of order"),
        ([1, 2], [1, 0], 3, "impossible numbers"),
        ([1, 2], [1, 4], 3, "impossible numbers"),
        ([1], [1], 2**63, "impossible numbers"),
        ([], [], -1, "impossible numbers"),
        ([1], [1], 3.0, "other parts"),
    ],
)
def test_a_damaged_vocabulary_is_refused(keys, df, n_documents, problem):
    def saved(keys, df, n_documents):
        return Vocabularies(
            {"b": Vocabulary(np.array(keys, np.uint64), np.array(df, np.int32), n_documents)}
        ).to_bytes()

    assert Vocabularies.from_bytes(saved([1, 2], [1, 3], 3))["b"].n_documents == 3
    with pytest.raises(ValueError, match=problem):
        Vocabularies.from_bytes(saved(keys, df, n_documents))


def test_weights_of_items_before_between_and_after_those_of_the_vocabulary():
    known, df = np.array([20, 10, 30], np.uint64), np.array([1, 3, 5])
    vocabulary = Vocabulary.of(known, df, 5)
    weights = vocabulary.weights(np.array([5, 10, 15, 20, 25, 30, 35], np.uint64))
    np.testing.assert_allclose(weights, [0.0, np.log(6 / 4) + 1, 0.0, np.log(6 / 2) + 1, 0.0, 1.0, 0.0], rtol=1e-15)
