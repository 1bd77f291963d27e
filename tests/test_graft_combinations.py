"""Grafting over originals and their products against the optimum over the enumerated space."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from naive import LASSO, dense_optimum, distinct_columns, inverse_weight, optimum_of_labels, softmax, stream_of
from spacy_graft.extract.bags import Bags
from spacy_graft.extract.combinations import Combinations
from spacy_graft.extract.streams import Stream
from spacy_graft.graft.data import TrainingData
from spacy_graft.graft.settings import Grafting, GraftingPath
from strategies import labelled
from test_graft import run

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar")
few = settings(max_examples=min(40, settings().max_examples))
l1s = st.sampled_from([0.1, 0.3, 0.7])


def both_blocks(texts, targets, value="binary", degree=2, factor=1.0, exclusive=True, known=None):
    """Character n-grams, a bag of upper-case words, and the products of their originals."""
    n = len(texts)
    words = Stream.join([np.array([ord(c.upper()[0]) for c in text], np.uint64) for text in texts], np.uint64)
    return TrainingData(
        streams={"characters": stream_of(texts)},
        bags={"letters": Bags.of_stream(words, 1, value)},
        combinations={"products": Combinations(["letters", "characters"], degree, min_df=1)},
        min_df={"characters": 1, "letters": 1, "products": 1},
        max_length={"characters": 2},
        penalty_factors={"characters": 1.0, "letters": 1.0, "products": factor},
        targets=targets.astype(np.float64),
        known=np.ones(targets.shape, np.bool_) if known is None else known,
        example_weights=np.ones(n),
        lengths=np.ones(n),
        labels=tuple(map(str, range(targets.shape[1]))),
        exclusive=exclusive,
    )


def bag_matrix(bags):
    matrix = np.zeros((bags.n_documents, bags.n_items))
    for i in range(bags.n_documents):
        entries = slice(bags.starts[i], bags.starts[i + 1])
        matrix[i, bags.items[entries]] = bags.values[entries] if len(bags.values) else 1.0
    return matrix


def space(texts, data, degree, factor):
    """Distinct columns, and the factor of each."""
    characters = distinct_columns(texts, max_length=2)[1]
    letters = bag_matrix(data.bags["letters"])
    single = np.array([[c in text for c in sorted(set("".join(texts)) - {"\0"})] for text in texts], np.float64)
    originals = np.concatenate([letters, single.reshape(len(texts), -1)], axis=1)
    columns: dict[bytes, tuple[np.ndarray, float]] = {}
    for column in [*characters.T, *letters.T]:
        columns.setdefault(rounded(column), (column, 1.0))
    for size in range(2, degree + 1):
        for chosen in combinations(range(originals.shape[1]), size):
            column = originals[:, chosen].prod(axis=1)
            if column.any():
                columns.setdefault(rounded(column), (column, factor))
    matrix = np.array([column for column, _ in columns.values()]).reshape(-1, len(texts)).T
    return matrix, np.array([factor for _, factor in columns.values()])


def rounded(column):
    return np.round(column, 12).tobytes()


@few
@given(
    labelled(labels=3), l1s, st.sampled_from([0.0, 0.05]), st.sampled_from(["binary", "tf_idf"]),
    st.sampled_from([2, 3]), st.sampled_from([1.0, 1.5]), st.sampled_from([1, None]),
)  # fmt: skip
def test_the_optimum_over_the_whole_space(corpus, l1, ridge, value, degree, factor, n_best):
    texts, targets = corpus
    data = both_blocks(texts, targets, value, degree, factor)
    fit = run(Grafting(l1=l1, ridge=ridge, tol=1e-6, n_best=n_best), data)
    matrix, factors = space(texts, data, degree, factor)
    penalty = np.repeat(factors[:, None], 3, axis=1)
    optimum, _, _ = dense_optimum(matrix, targets, np.ones(len(texts)), l1, ridge, penalty)
    assert fit.report.converged
    assert fit.report.duality_gap >= -1e-9
    assert fit.report.objective == pytest.approx(optimum, abs=1e-4 * (1 + optimum))
    assert fit.report.objective >= optimum - 1e-5 * (1 + optimum)
    if ridge == 0.0:
        state = fit.rounds.state
        residuals = targets - softmax(state.scores.T)
        assert (np.abs(matrix.T @ residuals) <= l1 * penalty * 1.05 + 1e-3).all()


@few
@given(
    labelled(labels=2), l1s, st.sampled_from(["idf", "standard", "ratio", "ratio_idf"]),
    st.sampled_from(["binary", "log_count"]),
)  # fmt: skip
def test_penalty_weights_of_products(corpus, l1, kind, value):
    texts, targets = corpus
    data = both_blocks(texts, targets, value, 3)
    fit = run(Grafting(l1=l1, penalty_weights=kind, tol=1e-7), data)
    matrix, _ = space(texts, data, 3, 1.0)
    inverse = np.array([inverse_weight(kind, column, targets[:, 1], 0.5) for column in matrix.T])
    optimum, _, _ = dense_optimum(matrix * inverse, targets, np.ones(len(texts)), l1)
    assert fit.report.objective == pytest.approx(optimum, abs=1e-4 * (1.0 + optimum))


@few
@given(labelled(labels=3), l1s, st.integers(0, 99))
def test_labels_that_are_not_known_everywhere(corpus, l1, seed):
    """Each label of a multilabel corpus is a problem of its own, over the documents that know it."""
    texts, _ = corpus
    rng = np.random.default_rng(seed)
    targets = rng.integers(0, 2, (len(texts), 2)).astype(float)
    known = rng.random(targets.shape) < 0.8
    data = both_blocks(texts, targets, exclusive=False, known=known)
    fit = run(Grafting(l1=l1, tol=1e-7, penalty_weights="none"), data)
    matrix, _ = space(texts, data, 2, 1.0)
    total = optimum_of_labels(matrix, targets, known, l1)
    assert fit.report.objective == pytest.approx(total, abs=1e-4 * (1 + total))


def random_documents(seed, n=120, n_words=12):
    """Documents of words whose pairs decide the label."""
    rng = np.random.default_rng(seed)
    matrix = rng.random((n, n_words)) < rng.uniform(0.1, 0.5, n_words)
    score = 2.0 * (matrix[:, 0] & matrix[:, 1]) - 2.0 * (matrix[:, 2] & matrix[:, 3]) + matrix[:, 4] - 0.5
    positive = rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * score))
    words = Stream.join([np.flatnonzero(row).astype(np.uint64) for row in matrix], np.uint64)
    targets = np.column_stack([1.0 - positive, positive]).astype(np.float64)
    return matrix.astype(np.float64), words, targets


def word_products(words, targets, degree):
    n = len(targets)
    return TrainingData(
        bags={"words": Bags.of_stream(words)},
        combinations={"products": Combinations(["words"], degree, min_df=1)},
        min_df={"words": 1, "products": 1},
        penalty_factors={"words": 1.0, "products": 1.0},
        targets=targets,
        known=np.ones(targets.shape, np.bool_),
        example_weights=np.ones(n),
        lengths=np.ones(n),
        labels=("no", "yes"),
        exclusive=True,
    )


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("l1", [1.0, 3.0])
def test_support_and_objective_are_those_of_liblinear_on_enumerated_products(degree, l1):
    matrix, words, targets = random_documents(0)
    fit = run(Grafting(l1=l1, tol=1e-9), word_products(words, targets, degree))
    names, columns, seen = [], [], set()
    for size in range(1, degree + 1):
        for chosen in combinations(range(matrix.shape[1]), size):
            column = matrix[:, chosen].prod(axis=1)
            if column.any() and column.tobytes() not in seen:
                seen.add(column.tobytes())
                names.append(chosen)
                columns.append(column)
    # liblinear penalises its intercept: made so large a feature that this costs nothing.
    peer = LogisticRegression(
        **LASSO,
        solver="liblinear",
        C=1.0 / l1,
        tol=1e-7,
        max_iter=1_000_000,
        intercept_scaling=1e3,
        random_state=0,
    ).fit(np.array(columns).T, targets[:, 1])
    scores = peer.decision_function(np.array(columns).T)
    loss = np.logaddexp(0.0, scores).sum() - targets[:, 1] @ scores
    objective = loss + l1 * np.abs(peer.coef_).sum()
    assert fit.report.objective == pytest.approx(objective, rel=1e-4)
    assert fit.report.objective <= objective + 1e-6
    solution = fit.solution()
    found = {tuple(sorted(int(term.symbols[0]) for term in terms)) for terms in solution.terms}
    clear = {names[k] for k in np.flatnonzero(np.abs(peer.coef_[0]) > 1e-3)}
    assert clear <= found
    assert found - clear <= {names[k] for k in np.flatnonzero(peer.coef_[0])}


def test_products_of_more_originals_lower_the_objective():
    _, words, targets = random_documents(1)
    objectives = [
        run(Grafting(l1=1.0, tol=1e-7), word_products(words, targets, degree)).report.objective for degree in (2, 3)
    ]
    assert objectives[1] < objectives[0]


@pytest.mark.parametrize("l1", [1.5, 2.5])
def test_no_cheaper_product_takes_the_place_of_a_rare_ngram(l1):
    """An n-gram that is too rare to enter keeps products with its documents from being features."""
    texts = ["tbf"] * 6 + ["tbp"] * 6 + ["tgf"] * 6 + ["agp"] * 3 + ["bd"] + ["af"] * 2
    targets = np.eye(2)[[int("bf" in text or "bd" in text) for text in texts]]
    data = both_blocks(texts, targets, factor=0.5)
    data = replace(data, penalty_factors={**data.penalty_factors, "characters": 3.0, "letters": 3.0})
    fit = run(Grafting(l1=l1, tol=1e-7), data)
    matrix, factors = space(texts, data, 2, 0.5)
    penalty = np.where(factors == 1.0, 3.0, factors)
    optimum, _, _ = dense_optimum(matrix / penalty, targets, np.ones(len(texts)), l1)
    assert fit.report.objective == pytest.approx(optimum, rel=1e-5)


def test_a_path_with_refit_over_products():
    _, words, targets = random_documents(2)
    path = GraftingPath(penalty_weights="ratio_idf", steps=4, l1_min_ratio=0.05, max_features=30, refit=2.0)
    fit = run(path, word_products(words, targets, 2))
    solution = fit.solution()
    assert 0 < len(solution.terms) <= 30
    assert any(len(terms) == 2 for terms in solution.terms)
    np.testing.assert_array_equal(solution.df >= 1, True)


@pytest.mark.parametrize(
    "options",
    [
        {"of": []},
        {"of": ["a", "a"]},
        {"of": "words"},
        {"of": [1]},
        {"of": ["a"], "degree": 1},
        {"of": ["a"], "degree": 4},
        {"of": ["a"], "min_df": 0},
        {"of": ["a"], "penalty_factor": 0.0},
    ],
)
def test_senseless_combinations_are_refused(options):
    with pytest.raises(ValueError, match="Combinations: "):
        Combinations(**options)
