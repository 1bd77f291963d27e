"""The choice among candidates, against problems with every feature written down."""

from __future__ import annotations

import doctest
import pickle
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn
import spacy
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.utils.estimator_checks import check_estimator
from spacy.tokens import Doc

import spacy_graft.ranker
from naive import choice_probabilities, dense_choice_optimum
from spacy_graft import CoordinateAscent, Grafting, GraftingPath, GraftRanker
from spacy_graft.extract.arcs import HeadModifiers
from spacy_graft.extract.attributes import TokenAttributes
from spacy_graft.extract.characters import CharacterNgrams
from spacy_graft.extract.combinations import Combinations
from spacy_graft.extract.tokens import TokenNgrams
from spacy_graft.solve.active import Active
from spacy_graft.solve.columns import packed_columns
from spacy_graft.solve.losses import CandidateLoss

seeds = st.integers(0, 9999)
rng = np.random.default_rng(0)
#: Candidates of 25 choices, two to six each, some of them alike. The best one has one of two items, but not both.
MATRIX = (rng.random((100, 6)) < 0.4).astype(np.float64)
GROUPS = np.sort(np.concatenate([np.repeat(np.arange(25), 2), rng.integers(0, 25, 50)]))
WORTH = 2.0 * (MATRIX[:, 0] != MATRIX[:, 1]) + 0.5 * MATRIX[:, 2] + rng.gumbel(0.0, 0.3, 100)
BEST = np.array([worth == WORTH[group == GROUPS].max() for worth, group in zip(WORTH, GROUPS, strict=True)])


def products(matrix, degree):
    """All distinct columns, items first."""
    columns = {}
    for size in range(1, degree + 1):
        for chosen in combinations(range(matrix.shape[1]), size):
            column = matrix[:, chosen].prod(axis=1)
            if column.any():
                columns.setdefault(column.tobytes(), column)
    return np.array(list(columns.values())).T


def test_the_examples_of_the_docstring():
    assert doctest.testmod(spacy_graft.ranker).failed == 0


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("n_best", [1, 100])
def test_the_model_is_the_optimum_over_enumerated_combinations(degree, real, n_best):
    matrix = MATRIX * (np.random.default_rng(1).uniform(0.2, 1.0, MATRIX.shape) if real else 1.0)
    columns, l1, targets = products(matrix, degree), 0.5, BEST.astype(np.float64)
    model = GraftRanker(Grafting(l1=l1, tol=1e-9, n_best=n_best), degree=degree).fit(matrix, BEST, GROUPS)
    optimum, _ = dense_choice_optimum(columns, targets, np.ones(100), GROUPS, l1)
    assert model.report.converged
    assert model.report.objective == pytest.approx(optimum, rel=1e-7)
    p = model.predict_proba(matrix, GROUPS)
    np.testing.assert_allclose(p, choice_probabilities(model.decision_function(matrix), GROUPS))
    # Every expectation under the model is within l1 of that of the targets, whichever feature it is of.
    slack = np.abs(columns.T @ (targets - p))
    assert slack.max() <= l1 * (1.0 + 1e-4)
    assert len(model.features()) <= (slack >= l1 * (1.0 - 1e-3)).sum()


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_several_correct_candidates_and_weights_of_groups(ridge):
    """Shares are targets, and a group of weight 3 is as three groups."""
    worth = np.random.default_rng(2).integers(0, 4, 100).astype(np.float64)
    worth[[np.flatnonzero(group == GROUPS)[0] for group in range(25)]] += 1.0
    shares = worth / np.bincount(GROUPS, worth)[GROUPS]
    weights = np.where(GROUPS % 2 == 0, 3.0, 1.0)
    learner = Grafting(l1=0.3, ridge=ridge, tol=1e-9)
    model = GraftRanker(learner, degree=2).fit(MATRIX, worth, GROUPS, sample_weight=weights)
    optimum, _ = dense_choice_optimum(products(MATRIX, 2), shares, weights, GROUPS, 0.3, ridge)
    assert model.report.objective == pytest.approx(optimum, rel=1e-7)
    even = np.flatnonzero(GROUPS % 2 == 0)
    rows = np.concatenate([np.arange(100), even, even])
    copies = [*((0, group) for group in GROUPS), *((1, group) for group in GROUPS[even]), *(
        (2, group) for group in GROUPS[even]
    )]  # fmt: skip
    repeated = GraftRanker(learner, degree=2).fit(MATRIX[rows], worth[rows], copies)
    assert repeated.report.objective == pytest.approx(optimum, rel=1e-7)


def test_the_order_of_candidates_does_not_matter():
    learner = Grafting(l1=0.5, tol=1e-9)
    sorted_model = GraftRanker(learner, degree=2).fit(MATRIX, BEST, GROUPS)
    order = np.random.default_rng(3).permutation(100)
    names = [f"choice {group}" for group in GROUPS[order]]
    model = GraftRanker(learner, degree=2).fit(MATRIX[order], BEST[order], names)
    np.testing.assert_allclose(
        model.predict_proba(MATRIX[order], names), sorted_model.predict_proba(MATRIX, GROUPS)[order], atol=1e-4
    )
    chosen = model.predict(MATRIX[order], names)
    np.testing.assert_array_equal(chosen.nonzero()[0], sorted(rows[0] for rows in model.rank(MATRIX[order], names)))
    assert chosen.sum() == 25
    scores = model.decision_function(MATRIX[order])
    for name, rows in zip(dict.fromkeys(names), model.rank(MATRIX[order], names), strict=True):
        assert [names[row] for row in rows] == [name] * names.count(name)
        assert (np.diff(scores[rows]) <= 0.0).all()


def test_a_single_candidate_says_nothing():
    alone = np.concatenate([GROUPS, np.arange(100, 110)])
    matrix, y = np.concatenate([MATRIX, np.ones((10, 6))]), np.concatenate([BEST, np.ones(10)])
    with_them = GraftRanker(Grafting(l1=0.5, tol=1e-9)).fit(matrix, y, alone)
    without = GraftRanker(Grafting(l1=0.5, tol=1e-9)).fit(MATRIX, BEST, GROUPS)
    assert with_them.report.objective == pytest.approx(without.report.objective, rel=1e-9)
    assert (with_them.predict_proba(matrix, alone)[-10:] == 1.0).all()


def test_groups_of_one_candidate_are_right():
    model = GraftRanker(Grafting(l1=0.5)).fit(MATRIX, BEST, GROUPS)
    assert model.score(MATRIX[:3], [1, 1, 1], ["a", "b", "c"]) == 1.0
    with pytest.raises(ValueError, match="There are no candidates to score: X is empty"):
        model.score(MATRIX[:0], [], [])


def test_equal_candidates_have_equal_probabilities_and_the_first_comes_first():
    model = GraftRanker(Grafting(l1=0.1)).fit([{"a"}, {"b"}, {"a"}, {"c"}] * 3, [1, 0, 1, 0] * 3, [0, 0, 0, 0] * 3)
    p = model.predict_proba([{"a"}, {"b"}, {"a"}], [0, 0, 0])
    assert p[0] == p[2] > p[1]
    assert model.rank([{"b"}, {"a"}, {"a"}], "xxx")[0].tolist() == [1, 2, 0]
    assert model.predict([{"b"}, {"a"}, {"a"}], "xxx").tolist() == [False, True, False]
    assert model.rank([], []) == []
    assert len(model.predict_proba([], [])) == len(model.predict([], [])) == len(model.explain([], [])) == 0


def test_candidates_may_be_matrices_sets_or_mappings():
    names = [f"f{k}" for k in range(6)]
    sets = [{names[k] for k in np.flatnonzero(row)} for row in MATRIX]
    learner = Grafting(l1=1.0, tol=1e-9)
    models = [
        GraftRanker(learner, degree=2).fit(MATRIX, BEST, GROUPS, names=names),
        GraftRanker(learner, degree=2).fit(scipy.sparse.csc_matrix(MATRIX), BEST, GROUPS, names=names),
        GraftRanker(learner, degree=2).fit(sets, BEST, GROUPS),
        GraftRanker(learner, degree=2).fit([dict.fromkeys(items, 1.0) for items in sets], BEST, GROUPS),
    ]
    for model in models:
        expected = models[0].predict_proba(MATRIX, GROUPS)
        np.testing.assert_allclose(model.predict_proba(sets, GROUPS), expected, atol=1e-3)
        assert {feature.names for feature in model.features()} == {feature.names for feature in models[0].features()}


LEARNERS = [
    Grafting(l1=0.5, penalty_weights="ratio_idf", length_normalisation=True),
    Grafting(penalty="l2", ridge=0.5),
    Grafting(penalty="l2", ridge=0.5, min_gradient=0.4, n_best=2, penalty_weights="standard"),
    Grafting(penalty="none", min_gradient=0.4, n_best=2),
    GraftingPath(steps=4, l1_min_ratio=0.01),
    GraftingPath(steps=4, l1_min_ratio=0.01, refit=None, max_features=5),
]


def test_values_of_new_candidates_may_be_larger_than_in_training():
    model = GraftRanker(Grafting(l1=0.5, tol=1e-6), degree=2).fit(MATRIX, BEST, GROUPS)
    once, often = model.decision_function(np.eye(6)), model.decision_function(3.0 * np.eye(6))
    assert once.any()
    np.testing.assert_allclose(often, 3.0 * once)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: f"{type(learner).__name__}")
def test_every_learner_and_what_explains_it(learner):
    degree = 1 if isinstance(learner, Grafting) and learner.takes_all else 2
    model = GraftRanker(learner, degree=degree).fit(MATRIX, BEST, GROUPS)
    assert model.report.converged
    explanations = model.explain(MATRIX, GROUPS)
    scores, p = model.decision_function(MATRIX), model.predict_proba(MATRIX, GROUPS)
    sums = [sum(part.contribution for part in why.contributions) for why in explanations]
    np.testing.assert_allclose(sums, scores, atol=1e-12)
    np.testing.assert_allclose([why.score for why in explanations], scores, atol=1e-12)
    np.testing.assert_allclose([why.probability for why in explanations], p)
    assert [why.group for why in explanations] == GROUPS.tolist()
    sizes = [abs(part.contribution) for part in explanations[0].contributions]
    assert sizes == sorted(sizes, reverse=True)
    known = {feature.names: feature.weight for feature in model.features()}
    for part in explanations[0].contributions:
        assert part.contribution == part.value * known[part.feature.names]
    # Better than chance.
    assert (model.predict(MATRIX, GROUPS) & BEST).sum() > 12


def test_without_l1_the_weights_are_optimal():
    columns = MATRIX[:, np.unique(MATRIX, axis=1, return_index=True)[1]]
    model = GraftRanker(Grafting(penalty="l2", ridge=0.5, tol=1e-8)).fit(MATRIX, BEST, GROUPS)
    optimum, _ = dense_choice_optimum(columns, BEST.astype(np.float64), np.ones(100), GROUPS, 0.0, 0.5)
    assert model.report.objective == pytest.approx(optimum, rel=1e-8)


# Texts and Docs

WORDS = ["the", "good", "bad", "film", "very", "not", "dull"]


def random_texts(n=60):
    chosen = np.random.default_rng(4)
    return [" ".join(chosen.choice(WORDS, chosen.integers(1, 6))) for _ in range(n)]


def test_texts_over_ngrams_items_and_their_products():
    """The certificate of three kinds of blocks, against the matrix of all of their columns."""
    texts, groups = random_texts(), np.arange(60) // 3
    y = [text.count("good") - text.count("bad") for text in texts]
    best = np.array([value == max(y[3 * group : 3 * group + 3]) for value, group in zip(y, groups, strict=True)])
    blocks = {
        "words": TokenNgrams("LOWER", min_df=1, max_length=2),
        "tokens": TokenAttributes("LOWER", min_df=1),
        "pairs": Combinations(["tokens"], min_df=1),
    }
    model = GraftRanker(Grafting(l1=0.4, tol=1e-8), blocks=blocks).fit(texts, best, groups)
    bigrams = [f" {a} {b} " for a in WORDS for b in WORDS]
    present = [[word in text.split() for word in WORDS] for text in texts]
    columns = [[bigram in f" {text} " for bigram in bigrams] for text in texts]
    everything = np.concatenate([products(np.array(present, np.float64), 2), np.array(columns, np.float64)], axis=1)
    everything = np.unique(everything[:, everything.any(axis=0)], axis=1)
    optimum, _ = dense_choice_optimum(everything, best / np.bincount(groups, best)[groups], np.ones(60), groups, 0.4)
    assert model.report.objective == pytest.approx(optimum, rel=1e-6)
    explanations = model.explain(texts, groups)
    sums = [sum(part.contribution for part in why.contributions) for why in explanations]
    np.testing.assert_allclose(sums, model.decision_function(texts), atol=1e-12)
    nlp, again = spacy.blank("xx"), pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict_proba(map(nlp, texts), groups), model.predict_proba(texts, groups))
    np.testing.assert_array_equal(again.predict_proba(texts, groups), model.predict_proba(texts, groups))
    model.decision_function(["hunter2 is a secret"])
    assert b"hunter2" not in pickle.dumps(model)  # words that the tokenizer has read


def test_the_choice_among_parses():
    """Candidates are one sentence with different heads."""
    nlp = spacy.blank("xx")
    parses, correct, sentences = [], [], []
    for k, (noun, verb) in enumerate((n, v) for n in ("dogs", "cats", "cows") for v in ("bark", "eat", "run")):
        for heads in ([1, 1, 1], [0, 0, 0], [2, 2, 2]):
            words, tags = [noun, verb, "loudly"], ["NOUN", "VERB", "ADV"]
            deps = ["ROOT" if head == i else "dep" for i, head in enumerate(heads)]
            parses.append(Doc(nlp.vocab, words, pos=tags, heads=heads, deps=deps))
            correct.append(heads[1] == 1)
            sentences.append(k)
    blocks = {"arcs": HeadModifiers(["POS"], ["POS"], min_df=1)}
    model = GraftRanker(Grafting(l1=0.5), blocks=blocks).fit(parses, correct, sentences)
    assert model.report.converged
    assert model.predict(parses, sentences).tolist() == correct
    assert "VERB" in str(model.features()[0])


# The loss


@given(seeds)
def test_probabilities_and_value_of_large_scores(seed):
    rng = np.random.default_rng(seed)
    groups = np.sort(rng.integers(0, 4, 12))
    groups = np.unique(groups, return_inverse=True)[1].astype(np.int32)
    raw = rng.random(12)
    loss = CandidateLoss((raw / np.bincount(groups, raw)[groups])[None, :], np.ones(12), groups)
    scores = rng.normal(0.0, 1.0, (1, 12))
    value, p = loss.value_and_probabilities(scores)
    shifted = scores + 1e4 * rng.normal(size=groups[-1] + 1)[groups]
    moved_value, moved_p = loss.value_and_probabilities(shifted)
    assert moved_value == pytest.approx(value, abs=1e-9)
    np.testing.assert_allclose(moved_p, p, atol=1e-9)
    np.testing.assert_allclose(p[0], choice_probabilities(scores[0], groups))
    np.testing.assert_array_equal(loss.feasible(p), p)


@given(seeds, st.sampled_from([[1.0], [0.5, 1.0], [-1.0, -0.5, 1.0]]))
def test_one_sided_columns_are_those_along_which_the_loss_falls_for_ever(seed, choices):
    rng = np.random.default_rng(seed)
    groups = np.array([0, 0, 0, 1, 1, 2], np.int32)
    correct = np.zeros(6)
    for group in range(3):
        members = np.flatnonzero(groups == group)
        correct[members] = np.eye(len(members))[rng.integers(len(members))]
        if rng.random() < 0.3:
            correct[members] = 1.0 / len(members)
    importance = (rng.random(3) < 0.8).astype(np.float64)[groups]
    loss = CandidateLoss(correct[None, :], importance, groups)
    column = (rng.random(6) < 0.5) * rng.choice(choices, 6)
    scale = np.where(groups == 0, 2.0, 1.0)
    candidates = np.flatnonzero(column).astype(np.int32)
    values = column[candidates] if len(choices) > 1 else np.empty(0)
    starts = np.array([0, len(candidates)])
    columns, none = packed_columns((starts, candidates, values), 6), np.zeros(1, np.int64)
    active = Active(columns, none, none, np.ones(1), np.zeros(1))
    falls = False
    for sign in (1.0, -1.0):
        at = [loss.value_and_probabilities(sign * size * (column * scale)[None, :])[0] for size in (0.0, 100.0, 200.0)]
        # Far out the loss is a line. Where it does not rise, it has fallen, unless the column is constant.
        falls |= at[2] - at[1] < 1.0 and at[2] < at[0] - 1e-3
    assert loss.has_one_sided_column(active, scale) == falls


@pytest.mark.parametrize(
    ("scores", "separated"),
    [([1.0, 0.0, 0.0, 1.0, 5.0], True), ([1.0, 1.0, 0.0, 1.0, 5.0], False), ([0.0, 0.0, 0.0, 0.0, 0.0], False)],
    ids=["apart", "a tie", "all ties"],
)
def test_a_tie_tells_no_candidate_apart(scores, separated):
    groups = np.array([0, 0, 1, 1, 2], np.int32)
    targets = np.array([[1.0, 0.0, 0.0, 1.0, 1.0]])
    assert CandidateLoss(targets, np.ones(5), groups).is_separated_by(np.array([scores])) is separated
    shared = np.array([[0.5, 0.5, 0.0, 1.0, 1.0]])
    assert not CandidateLoss(shared, np.ones(5), groups).is_separated_by(np.array([scores]))
    only_the_last = np.array([0.0, 0.0, 0.0, 0.0, 1.0])
    assert not CandidateLoss(targets, only_the_last, groups).is_separated_by(np.array([scores]))


@pytest.mark.parametrize(
    ("sets", "separated"), [([{"a"}, {"b"}, {"b"}, {"a", "b"}], True), ([{"a"}, {"b"}] * 2, False)]
)
@pytest.mark.filterwarnings("ignore:The trained model has no features")
def test_pseudo_maximal_features_have_no_optimal_weight(sets, separated):
    """The correct candidates have a; others do not, or in one group they do."""
    model = GraftRanker(Grafting(penalty="none")).fit(sets, [1, 0, 0, 1], [0, 0, 1, 1])
    assert model.report.separated is separated


# What is refused


@pytest.mark.parametrize(
    ("X", "y", "groups", "message"),
    [
        (MATRIX, BEST[1:], GROUPS, "100 candidates, but y has 99 values: give one for each"),
        (MATRIX, BEST, GROUPS[1:], "100 candidates, but groups has 99 values"),
        (MATRIX, BEST, [4] * 25, "25 values: give one for each candidate"),
        (MATRIX, BEST, [[group] for group in GROUPS], "groups must have a hashable value for each candidate"),
        (MATRIX, BEST, set(range(100)), "groups is a set, which has no order: give a list"),
        (MATRIX, BEST, dict(enumerate(GROUPS)), "groups must be a list with a value for each candidate, but is {"),
        (MATRIX, BEST, np.ma.masked_equal(GROUPS, 3), "groups has masked values"),
        (MATRIX, BEST & (GROUPS != 7), GROUPS, "1 of 25 groups have no correct candidate: 7. Add"),
        (MATRIX, BEST & (GROUPS > 7), GROUPS.astype(str), "8 of 25 groups .*: '0', '1', '2', .*, '7'. Add"),
        (MATRIX, BEST & (GROUPS > 24), GROUPS, "No candidate is correct: all 100 values of y are 0"),
        (MATRIX, BEST & (GROUPS > 24), None, "No candidate is correct: all 100 values of y are 0"),
        (MATRIX, BEST, np.array(GROUPS).reshape(-1, 1), r"groups must have one dimension, .* the shape \(100, 1\)"),
        (MATRIX, BEST, pd.DataFrame({"group": GROUPS}), r"groups must have one dimension, .* the shape \(100, 1\)"),
        (MATRIX, [*BEST[:-1].tolist(), -3], GROUPS, "That of candidate 99 is -3. The largest"),
        (MATRIX, BEST * -1.0, GROUPS, "a number of at least 0 for each candidate"),
        (MATRIX, BEST * np.nan, GROUPS, "a number of at least 0 for each candidate"),
        (MATRIX, ["yes"] * 100, GROUPS, "a number of at least 0 for each candidate.* That of candidate 0 is 'yes'"),
        (MATRIX, [*BEST[:-1].tolist(), "no"], GROUPS, "That of candidate 99 is 'no'"),
        (MATRIX, [*BEST[:-1].tolist(), None], GROUPS, "That of candidate 99 is None"),
        (MATRIX, [*BEST[:-1].astype(int).tolist(), 10**400], GROUPS, "That of candidate 99 is 1000"),
        (MATRIX, np.ones(100), np.arange(100), "no group has two candidates"),
        (MATRIX[:0], [], [], "no group has two candidates"),
        *(
            (MATRIX, BEST, [*GROUPS[1:].tolist(), missing], "groups contains NaN: value 99 is missing")
            for missing in (float("nan"), np.float32("nan"), pd.NA, pd.NaT, None)
        ),
        (MATRIX, BEST.reshape(-1, 1), GROUPS, r"y must have one dimension, .* but has the shape \(100, 1\)"),
        (MATRIX, np.array(1), GROUPS, r"but has the shape \(\)"),
        (MATRIX, BEST * 1e308, GROUPS, "The largest is 1e.100"),
        (MATRIX * 2.0, BEST, GROUPS, r"in \[0, 1\]"),
        (["a text", "another"], [1, 0], [0, 0], "is a string"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused(X, y, groups, message):
    with pytest.raises(ValueError, match=message):
        GraftRanker(degree=2).fit(X, y, groups)


@pytest.mark.filterwarnings("ignore:The trained model has no features")
def test_other_mistakes():
    for learner in (CoordinateAscent(), "liblinear"):
        with pytest.raises(ValueError, match="learner must be a Grafting or a GraftingPath"):
            GraftRanker(learner).fit(MATRIX, BEST, GROUPS)
    with pytest.raises(ValueError, match="GraftRanker: degree must be 1, 2 or 3, but is 4"):
        GraftRanker(degree=4).fit(MATRIX, BEST, GROUPS)
    with pytest.raises(ValueError, match="is not fitted yet"):
        GraftRanker().predict(MATRIX, GROUPS)
    with pytest.raises(ValueError, match="is not fitted yet"):
        GraftRanker().features()
    with pytest.raises(ValueError, match="sample_weight must be the same for all candidates of a group, but not in 0"):
        GraftRanker().fit(MATRIX, BEST, GROUPS, sample_weight=np.arange(1.0, 101.0))
    with pytest.raises(ValueError, match="sample_weight must have 100 numbers above 0"):
        GraftRanker().fit(MATRIX, BEST, GROUPS, sample_weight=np.zeros(100))
    with pytest.raises(ValueError, match="are options of the blocks"):
        GraftRanker(degree=2, blocks={"characters": CharacterNgrams()}).fit(["a", "b"], [1, 0], [0, 0])
    with pytest.raises(ValueError, match="GraftRanker: blocks are empty"):
        GraftRanker(blocks={}).fit(["a", "b"], [1, 0], [0, 0])
    for blocks in ([CharacterNgrams()], CharacterNgrams(), "characters", {1: CharacterNgrams()}):
        wrong: Any = blocks
        with pytest.raises(ValueError, match="GraftRanker: blocks must be a mapping of names to feature blocks"):
            GraftRanker(blocks=wrong).fit(["a", "b"], [1, 0], [0, 0])
    with pytest.raises(ValueError, match="feature block 'c' is <class"):
        GraftRanker(blocks={"c": CharacterNgrams}).fit(["a", "b"], [1, 0], [0, 0])
    ranker = GraftRanker(blocks={"characters": CharacterNgrams(min_df=1)})
    with pytest.raises(ValueError, match="candidates must be strings or Docs, but candidate 1 is 3"):
        ranker.fit(["a", 3], [1, 0], [0, 0])
    with pytest.raises(ValueError, match="Iterable over raw text documents expected, string object received"):
        ranker.fit("ab", [1, 0])
    with pytest.raises(ValueError, match="Iterable over raw text documents expected, string object received"):
        ranker.fit(["a", "b"], [1, 0]).rank("abc")
    with pytest.raises(ValueError, match="with blocks there is none"):
        ranker.fit(["a", "b"], [1, 0], [0, 0], names=["a"])
    with pytest.raises(ValueError, match="of one pipeline"):
        ranker.fit([spacy.blank("xx")("a"), "b"], [1, 0], [0, 0])


#: What scikit-learn expects of estimators whose rows do not depend on each other.
NOT_FOR_GROUPS = {
    "check_sample_weights_not_overwritten": "weights are those of groups",
    "check_sample_weight_equivalence_on_dense_data": "weights are those of groups",
    "check_sample_weight_equivalence_on_sparse_data": "weights are those of groups",
    "check_estimator_sparse_array": "whatever has predict_proba is asked for its classes",
    "check_estimator_sparse_matrix": "whatever has predict_proba is asked for its classes",
    "check_methods_sample_order_invariance": "of equal candidates the first is chosen",
    "check_methods_subset_invariance": "a candidate is chosen among those of its group",
}


@pytest.mark.filterwarnings("ignore:GraftRanker is trained without groups")  # as the checks do
def test_it_is_an_estimator_of_scikit_learn():
    # At the default strength most models of the checks are empty.
    results = check_estimator(GraftRanker(Grafting(l1=0.01)), expected_failed_checks=NOT_FOR_GROUPS, on_skip=None)
    assert {result["check_name"] for result in results if result["status"] == "failed"} == set()
    model = GraftRanker(Grafting(l1=0.3), degree=2)
    assert clone(model).get_params() == model.get_params()
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_fit_request(groups=True).set_score_request(groups=True)
        search = GridSearchCV(model, {"degree": [1, 2]}, cv=GroupKFold(2)).fit(MATRIX, BEST, groups=GROUPS)
    assert search.best_params_ == {"degree": 2}
    best = search.best_estimator_
    assert best.score(MATRIX, BEST, GROUPS) == np.mean(BEST[best.predict(MATRIX, GROUPS)])
    assert best.coef_.shape == (1, len(best.get_feature_names_out()))


def test_forgotten_groups_are_told_of(tmp_path):
    items, y, groups = [["good"], ["bad"], ["good"], ["worse"]], [1, 0, 1, 0], [0, 0, 1, 1]
    ranker = GraftRanker(Grafting(l1=0.1)).fit(items, y, groups)
    assert ranker.predict(items, groups).sum() == 2
    with pytest.warns(UserWarning, match="trained on 2 groups, but is scored without groups: all 4 candidates"):
        ranker.score(items, y)
    ranker.save(tmp_path / "ranker")
    with pytest.warns(UserWarning, match="trained on 2 groups, but is scored without groups"):
        GraftRanker.load(tmp_path / "ranker").score(items, y)
    with pytest.warns(UserWarning, match="trained without groups: all 4 candidates, of which 2 are correct, are taken"):
        GridSearchCV(GraftRanker(Grafting(l1=0.1)), {"degree": [1, 2]}, cv=[([0, 1, 2, 3], [0, 1])]).fit(items, y)
    # The candidates of one choice need none.
    assert ranker.predict(items[:2]).tolist() == [True, False]


def test_without_groups_all_candidates_are_of_one():
    model = GraftRanker(Grafting(l1=0.1)).fit(MATRIX[:10], np.arange(10) == 3)
    assert model.predict_proba(MATRIX[:10]).sum() == pytest.approx(1.0)
    assert len(model.rank(MATRIX[:10])) == 1


def test_a_group_without_weight_is_refused() -> None:
    weights = np.where(GROUPS == 3, 0.0, 1.0)
    with pytest.raises(ValueError, match="is 0 for group 3: leave this group out"):
        GraftRanker(Grafting(l1=1.0)).fit(MATRIX, BEST, GROUPS, sample_weight=weights)
