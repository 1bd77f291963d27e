"""Learners other than L1, against plain twins over the enumerated space: feature selection and coordinate ascent."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import bisect, minimize
from scipy.special import expit

import spacy_graft
from conftest import Record, make_examples, make_nlp
from naive import dense_optimum, distinct_columns, log_loss, softmax
from spacy_graft import CoordinateAscent, GraftClassifier, Grafting
from spacy_graft.graft.ascent import ENDING_SLOPE, FLAT_SLOPE, HELD_OUT_PARTS, best_intercept
from spacy_graft.graft.problems import Problems
from spacy_graft.graft.start import start
from strategies import labelled, training_data
from test_graft import objective_of, run, scores_of, texts_of
from test_graft_combinations import both_blocks, random_documents, space, word_products

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar")
few = settings(max_examples=min(30, settings().max_examples))
seeds = st.integers(0, 99)
thresholds = st.sampled_from([0.2, 0.5, 1.0])


def random_weights(seed, n):
    """Of documents: no two sums of residuals over different documents are equal."""
    return np.random.default_rng(seed).uniform(0.5, 2.0, n)


def columns_of(solution, texts):
    """The columns of a model, as sets."""
    return {tuple(ngram in text for text in texts) for ngram in texts_of(solution.terms)}


# Incremental feature selection


def optimum_over_pairs(matrix, pairs, targets, importance, ridge):
    """min F over some pairs of column and label: (F, W (columns, labels), b)."""
    rows, labels = (np.array(part, int) for part in zip(*pairs, strict=True)) if pairs else (np.empty(0, int),) * 2

    def unpack(x):
        weights = np.zeros((matrix.shape[1], targets.shape[1]))
        weights[rows, labels] = x[: len(rows)]
        return weights, x[len(rows) :]

    def objective(x):
        weights, intercepts = unpack(x)
        scores = matrix @ weights + intercepts
        residuals = importance[:, None] * (softmax(scores) - targets)
        value = log_loss(scores, targets, importance) + ridge * (weights**2).sum()
        gradient = (matrix.T @ residuals + 2.0 * ridge * weights)[rows, labels]
        return value, np.concatenate([gradient, residuals.sum(axis=0)])

    start = np.zeros(len(rows) + targets.shape[1])
    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-10}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    return float(found.fun), *unpack(found.x)


def pairs_of(fit, matrix):
    """The active pairs, by column of the matrix and label."""
    active = fit.state.active
    number = {tuple(np.flatnonzero(column)): k for k, column in enumerate(matrix.T)}
    columns = [tuple(active.columns.column(row)[0]) for row in active.rows]
    return [(number[column], int(label)) for column, label in zip(columns, active.labels, strict=True)]


def assert_selection_by_the_rule(fit, matrix, targets, importance, threshold, n_best, ridge):
    """Each round adds the n largest gradients above the threshold, all written out; the last leaves none. Returns F.

    Columns that complement each other have gradients of the same size, so that a twin might choose others.
    """
    before: list[tuple[int, int]] = []
    while True:
        value, weights, intercepts = optimum_over_pairs(matrix, before, targets, importance, ridge)
        gradients = np.abs(matrix.T @ (importance[:, None] * (targets - softmax(matrix @ weights + intercepts))))
        waiting = sorted((gradients[pair] for pair in np.ndindex(gradients.shape) if pair not in before), reverse=True)
        if fit.finished:
            assert max(waiting, default=0.0) <= threshold + 1e-5
            return value
        fit.step()
        added = sorted((gradients[pair] for pair in pairs_of(fit, matrix) if pair not in before), reverse=True)
        assert len(added) <= n_best
        assert len(added) == n_best or max(waiting[len(added) :], default=0.0) <= threshold + 1e-5
        np.testing.assert_allclose(added, waiting[: len(added)], atol=1e-5)
        # A round that adds nothing goes on with the weights, which the round before left short of the optimum.
        assert min(added, default=threshold) >= threshold - 1e-5
        assert set(before) <= set(pairs_of(fit, matrix))
        before = pairs_of(fit, matrix)


@few
@given(labelled(labels=3), seeds, thresholds, st.sampled_from([1, 3]), st.sampled_from([0.1, 1.0]))
def test_l2_selects_by_the_rule(corpus, seed, threshold, n_best, ridge):
    texts, targets = corpus
    importance = random_weights(seed, len(texts))
    learner = Grafting(penalty="l2", min_gradient=threshold, n_best=n_best, ridge=ridge, tol=1e-7)
    fit = start(learner, training_data(texts, targets, example_weights=importance))
    _, matrix = distinct_columns(texts)
    value = assert_selection_by_the_rule(fit, matrix, targets, importance, threshold, n_best, ridge)
    assert fit.report.converged
    assert fit.report.objective == pytest.approx(value, rel=1e-6)
    assert columns_of(fit.solution(), texts) == {tuple(matrix[:, k] > 0.0) for k, _ in pairs_of(fit, matrix)}
    assert -1e-9 <= fit.report.duality_gap <= 1e-3 * (1.0 + value)
    assert fit.report.max_violation == 0.0
    assert not fit.report.separated


@few
@given(labelled(labels=3, soft=True), seeds, thresholds, st.sampled_from([1, 3]))
def test_without_a_penalty_as_well_where_the_likelihood_has_a_maximum(corpus, seed, threshold, n_best):
    """Soft targets: no column has documents of one label alone."""
    texts, targets = corpus
    importance = random_weights(seed, len(texts))
    learner = Grafting(penalty="none", min_gradient=threshold, n_best=n_best, tol=1e-7)
    fit = start(learner, training_data(texts, targets, example_weights=importance))
    _, matrix = distinct_columns(texts)
    value = assert_selection_by_the_rule(fit, matrix, targets, importance, threshold, n_best, 0.0)
    assert fit.report.converged
    assert fit.report.objective == pytest.approx(value, rel=1e-6)
    assert not fit.report.separated
    if fit.report.n_pairs:
        optimum = dense_optimum(matrix, targets, importance, 0.0)[0]
        assert fit.report.duality_gap >= fit.report.objective - optimum - 1e-6


@few
@given(st.sampled_from([2, 3]).flatmap(lambda labels: labelled(labels, soft=True)), seeds)
def test_full_space(corpus, seed):
    """Without a threshold all features enter at once: l2, std and mle."""
    texts, targets = corpus
    importance = random_weights(seed, len(texts))
    data = training_data(texts, targets, example_weights=importance)
    _, matrix = distinct_columns(texts)
    deviation = np.clip(matrix.std(axis=0), 0.05, 20.0)  # Columns that do not vary: the smallest λ there is.
    for options, columns, ridge in [
        ({"penalty": "l2", "ridge": 0.3}, matrix, 0.3),
        ({"penalty": "l2", "ridge": 0.3, "penalty_weights": "standard"}, matrix / deviation, 0.3),
        ({"penalty": "none"}, matrix, 0.0),
    ]:
        fit = run(Grafting(**options, tol=1e-7), data)
        optimum = dense_optimum(columns, targets, importance, 0.0, ridge)[0]
        assert fit.report.objective == pytest.approx(optimum, rel=1e-5)
        assert fit.report.converged
        if fit.report.rounds:
            assert fit.report.n_active == fit.report.n_columns == matrix.shape[1]
            assert fit.report.compression == 0.0
        if ridge:
            assert fit.report.duality_gap <= 1e-4 * (1.0 + optimum)


@few
@given(labelled(labels=3, soft=True), seeds, st.sampled_from([0.01, 0.3, 5.0]))
def test_converged_is_said_of_the_model_as_it_is(corpus, seed, ridge):
    """Also where λ is small, so that the last move of the intercepts matters."""
    texts, targets = corpus
    importance = random_weights(seed, len(texts))
    learner = Grafting(penalty="l2", min_gradient=0.2, ridge=ridge, penalty_weights="standard", tol=1e-4)
    fit = run(learner, training_data(texts, targets, example_weights=importance))
    _, matrix = distinct_columns(texts)
    deviation = np.clip(matrix.std(axis=0), 0.05, 20.0)
    residuals = importance[:, None] * (targets - softmax(fit.state.scores.T))
    gradients = (matrix / deviation).T @ residuals
    violations = [
        gradients[k, label] - 2.0 * ridge * weight * deviation[k]
        for (k, label), weight in zip(pairs_of(fit, matrix), fit.state.active.weights, strict=True)
    ]
    assert np.abs(violations).max(initial=0.0) <= fit.tolerance * (1.0 + 1e-6)
    assert fit.report.converged


@few
@given(labelled(labels=2), seeds, thresholds)
def test_two_labels_share_a_weight_under_l2(corpus, seed, threshold):
    texts, targets = corpus
    importance = random_weights(seed, len(texts))
    data = training_data(texts, targets, example_weights=importance)
    solution = run(Grafting(penalty="l2", min_gradient=threshold, ridge=0.2, tol=1e-8), data).solution()
    columns = np.array([[ngram in text for ngram in texts_of(solution.terms)] for text in texts], float)
    columns = columns.reshape(len(texts), -1)
    found = objective_of(solution, texts, targets, importance, np.ones(len(texts)), 0.0, 0.2)
    assert found == pytest.approx(dense_optimum(columns, targets, importance, 0.0, 0.2)[0], rel=1e-6)
    _, matrix = distinct_columns(texts)
    residuals = importance[:, None] * (targets - softmax(scores_of(solution, texts, np.ones(len(texts)))))
    others = [tuple(column > 0.0) not in columns_of(solution, texts) for column in matrix.T]
    assert np.abs(matrix.T @ residuals)[others].max(initial=0.0) <= threshold * (1.0 + 1e-6)


def test_the_threshold_stands_where_c_stands_under_l1():
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("abc "), 8)) for _ in range(20)]
    data = training_data(texts, np.eye(2)[rng.integers(0, 2, 20)])
    l1_max = start(Grafting(l1=1e6), data).report.l1_max
    empty = run(Grafting(penalty="l2", ridge=1.0, min_gradient=1.001 * l1_max), data)
    assert not empty.solution().terms
    assert empty.report.converged
    assert empty.report.compression == 1.0
    sizes = [
        run(Grafting(penalty="l2", ridge=1.0, n_best=1, min_gradient=share * l1_max), data).report.n_active
        for share in (0.99, 0.3, 0.03)
    ]
    assert 0 < sizes[0] < sizes[1] < sizes[2]


@pytest.mark.parametrize("penalty", [{"penalty": "l2", "ridge": 1.0}, {"penalty": "none"}])
def test_features_that_share_no_documents_are_selected_whatever_the_number_a_round_adds(penalty):
    texts = [letter for letter, n in zip("abcdef", [20, 16, 12, 9, 6, 4], strict=True) for _ in range(n)]
    texts += [""] * 40
    rates = {"": 2, **dict.fromkeys("ace", 1), **dict.fromkeys("bdf", 3)}
    targets = np.eye(2)[[int(i % 4 < rates[text]) for i, text in enumerate(texts)]]
    fits = [
        run(Grafting(**penalty, n_best=n_best, min_gradient=0.5, tol=1e-6), training_data(texts, targets))
        for n_best in (1, 2, 100, None)
    ]
    assert len({fit.report.n_active for fit in fits}) == 1
    for fit in fits:
        assert columns_of(fit.solution(), texts) == columns_of(fits[0].solution(), texts)
        assert fit.report.objective == pytest.approx(fits[0].report.objective, rel=1e-6)
    assert fits[0].report.iterations == fits[0].report.rounds == fits[0].report.n_active
    assert fits[0].report.iterations > fits[-1].report.iterations == 1


@pytest.mark.parametrize("threshold", [None, 0.4])
@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["ab", "abc", "cd", "cda"] * 2, [0, 0, 1, 1] * 2),
        (["ab", "ab", "cd", "cd", "cd", "x", "x"], [0, 1, 0, 1, 2, 2, 2]),
    ],
    ids=["all told apart", "one feature has one label alone"],
)
def test_a_likelihood_without_a_maximum_ends_with_finite_weights_and_says_so(texts, labels, threshold):
    targets = np.eye(max(labels) + 1)[labels]
    fit = run(Grafting(penalty="none", min_gradient=threshold), training_data(texts, targets))
    assert fit.report.separated
    assert fit.report.converged
    assert np.abs(fit.solution().weights).max() < 50.0
    assert fit.report.duality_gap >= 0.0
    under_l2 = run(Grafting(penalty="l2", ridge=0.1, min_gradient=threshold), training_data(texts, targets))
    assert not under_l2.report.separated


@pytest.mark.parametrize("labels", [3, 4])
def test_scores_without_bound_leave_the_intercepts_of_other_labels_finite(labels):
    """What a label without documents gets is half a document's worth, whatever the size of the scores."""
    targets = np.eye(labels)[np.arange(20) % (labels - 1)]
    problems = Problems(training_data(["ab"] * 20, targets))
    scores = np.full((problems.n_trained, 20), 2000.0)
    by_label = problems.intercepts_by_label(np.zeros(problems.n_trained), scores)
    # Two labels share their score, half of it each.
    top = 1000.0 if labels == 3 else 2000.0
    log_normaliser = top if labels == 3 else top + np.log(labels - 1)
    assert by_label[-1] == pytest.approx(np.log(0.5) - np.log(20) + log_normaliser)


@few
@given(labelled(labels=3), thresholds, st.sampled_from([1, 50]), st.sampled_from([2, 3]))
def test_products_are_selected_by_the_same_rule(corpus, threshold, n_best, degree):
    texts, targets = corpus
    data = both_blocks(texts, targets, degree=degree)
    fit = run(Grafting(penalty="l2", ridge=0.3, min_gradient=threshold, n_best=n_best, tol=1e-6), data)
    matrix, _ = space(texts, data, degree, 1.0)
    state = fit.state
    gradients = np.abs(matrix.T @ (targets - softmax(state.scores.T)))
    active = np.zeros((state.active.n_rows, len(texts)), bool)
    for row, its in enumerate(active):
        its[state.active.columns.column(row)[0]] = True
    selected = {
        (its.tobytes(), label) for its, label in zip(active[state.active.rows], state.active.labels, strict=True)
    }
    assert fit.report.converged
    for column, of_column in zip(matrix.T > 0.0, gradients, strict=True):
        for label, gradient in enumerate(of_column):
            assert (column.tobytes(), label) in selected or gradient <= threshold * 1.001
    assert 0.0 <= fit.report.compression <= 1.0


def test_a_cut_off_by_frequency_that_the_threshold_makes_lossless():
    rng = np.random.default_rng(4)
    texts = ["".join(rng.choice(list("abc "), 20)) for _ in range(30)]
    targets = np.eye(2)[rng.integers(0, 2, 30)]
    fit = run(Grafting(penalty="l2", ridge=1.0, min_gradient=2.5), training_data(texts, targets))
    assert fit.report.min_df == {"characters": 3}
    assert run(Grafting(penalty="l2", ridge=1.0), training_data(texts, targets)).report.min_df == {"characters": 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "l1 = None, but it must be above 0"),
        ({"penalty": "l3"}, "penalty = 'l3', but it must be one of"),
        ({"l1": 1.0, "min_gradient": 1.0}, "min_gradient = 1.0, but it must be null with penalty = 'l1'"),
        ({"penalty": "l2", "ridge": 1.0, "l1": 1.0}, "l1 = 1.0, but it must be null with penalty = 'l2'"),
        ({"penalty": "none", "l1": 1.0}, "l1 = 1.0, but it must be null"),
        ({"penalty": "l2"}, "ridge = 0.0, but it must be above 0 with penalty = 'l2'"),
        ({"penalty": "none", "ridge": 1.0}, "ridge = 1.0, but it must be 0 with penalty = 'none'"),
        ({"penalty": "l2", "ridge": 1.0, "min_gradient": 0.0}, "min_gradient = 0.0, but it must be above 0, or null"),
        ({"penalty": "none", "min_gradient": float("nan")}, "min_gradient = nan"),
        ({"penalty": "none", "min_gradient": 1.0, "n_best": 0}, "n_best = 0, but it must be at least 1"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options, message):
    with pytest.raises(ValueError, match=f"Grafting: {message}"):
        Grafting(**options)


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (
            {"@graft_learners": "spacy_graft.Grafting.v1", "l1": 1.0, "min_gradient": 1.0},
            "min_gradient = 1.0, .* must be null",
        ),
        ({"@graft_learners": "spacy_graft.Grafting.v1", "penalty": "l2", "l1": 1.0, "ridge": 1.0}, "l1 = 1.0, .* null"),
        ({"@graft_learners": "spacy_graft.Grafting.v1", "penalty": "none", "n_best": 0}, "n_best = 0, .* at least 1"),
        (
            {"@graft_learners": "spacy_graft.CoordinateAscent.v1", "iterations": 0},
            "iterations = 0, .* at least 1, 'cv'",
        ),
    ],
)
def test_they_are_refused_when_the_config_is_read(learner, message):
    with pytest.raises(ValueError, match=message):
        make_nlp(learner=learner)


def test_the_full_space_of_products_is_refused():
    _, words, targets = random_documents(0)
    with pytest.raises(
        ValueError, match=r"Grafting: without a min_gradient .* combinations of 'products' are not enumerated"
    ):
        start(Grafting(penalty="l2", ridge=1.0), word_products(words, targets, 2))
    features = {
        "words": {"@graft_features": "spacy_graft.TokenNgrams.v1"},
        "pairs": {"@graft_features": "spacy_graft.Combinations.v1", "of": ["words"]},
    }
    learner = {"@graft_learners": "spacy_graft.Grafting.v1", "penalty": "none"}
    with pytest.raises(
        ValueError,
        match=r"\[textcat_graft\] Without min_gradient, Grafting selects all features at once, but combinations cannot",
    ):
        make_nlp(features=features, learner=learner)


@pytest.mark.parametrize(
    "texts_and_labels", [(["", "", ""], [0, 1, 1]), (["a", "a"], [0, 1]), (["a", "b"], [0, 0])]
)  # fmt: skip
@pytest.mark.parametrize(
    "learner",
    [
        Grafting(penalty="l2", ridge=1.0),
        Grafting(penalty="none", min_gradient=0.1),
        CoordinateAscent(),
        CoordinateAscent(iterations="cv"),
    ],
)
def test_nothing_to_learn_is_a_model_of_the_base_rate(learner, texts_and_labels):
    texts, labels = texts_and_labels
    targets = np.eye(2)[labels]
    fit = run(learner, training_data(texts, targets))
    solution = fit.solution()
    p = softmax(scores_of(solution, texts, np.ones(len(texts)))).mean(axis=0)
    assert p[0] == pytest.approx(targets[:, 0].mean(), abs=0.3)
    assert fit.report.finished


# Coordinate ascent

#: Iterations over which twins stay together: zigzags of hundreds let the last digits decide what comes next.
FEW = 25


def naive_ascent(matrix, targets, importance, tolerance=0.005, limit=np.inf):
    """SLR of one label over an explicit matrix: the scores after every iteration, from none on."""
    known = importance > 0.0
    path = [np.zeros(len(matrix))]
    while matrix.size and len(path) <= limit:
        scores = path[-1]
        gradient = matrix.T @ (importance * (targets - expit(scores)))
        k = int(np.argmax(np.abs(gradient)))
        if np.abs(gradient[k]) <= FLAT_SLOPE * importance.max():
            break
        column = matrix[:, k]
        up = np.sign(gradient[k])
        level = ENDING_SLOPE * FLAT_SLOPE * importance[column > 0.0].max()

        def rise(step, scores=scores, column=column, up=up, level=level):
            return up * column @ (importance * (targets - expit(scores + up * step * column))) - level

        change = up * (bisect(rise, 0.0, 100.0, xtol=1e-13) if rise(0.0) > 0.0 else 0.0) * column
        path.append(scores + change)
        if np.abs(change[known]).sum() <= tolerance * (1.0 + np.abs(path[-1][known]).sum()):
            break
    return path


def logistic_loss(scores, targets, importance):
    return importance @ (np.logaddexp(0.0, scores) - targets * scores)


def random_texts(seed, n=40, length=15):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("abcd "), length)) for _ in range(n)], rng


@few
@given(labelled(labels=2), seeds, st.sampled_from([0.005, 0.1]))
def test_each_iteration_is_that_of_the_twin(corpus, seed, tolerance):
    texts, targets = corpus
    importance = random_weights(seed, len(texts))
    _, matrix = distinct_columns(texts)
    path = naive_ascent(matrix, targets[:, 1], importance, tolerance, limit=FEW)
    fit = start(
        CoordinateAscent(tolerance=tolerance, iterations=FEW, iterations_per_step=1, intercepts=None),
        training_data(texts, targets, example_weights=importance),
    )
    losses = [logistic_loss(scores, targets[:, 1], importance) for scores in path]
    assert (np.diff(losses) < 1e-9).all()
    for scores, loss in zip(path[1:], losses[1:], strict=True):
        assert not fit.finished
        fit.step()
        np.testing.assert_allclose(fit.ascent.scores[0], scores, atol=1e-6)
        assert fit.report.objective == pytest.approx(loss, rel=1e-9)
    if not fit.finished:
        fit.step()
    assert fit.finished
    assert fit.report.converged or len(path) - 1 == FEW
    assert fit.report.iterations == len(path) - 1
    difference = scores_of(fit.solution(), texts, np.ones(len(texts))) @ [-1.0, 1.0]
    np.testing.assert_allclose(difference, path[-1], atol=1e-6)


@few
@given(labelled(labels=3), seeds, st.booleans())
def test_several_labels_are_one_ascent_each(corpus, seed, exclusive):
    """Exclusive or not; documents that know nothing of a label are left out of its problem."""
    texts, targets = corpus
    rng = np.random.default_rng(seed)
    importance = random_weights(seed, len(texts))
    known = rng.random(targets.shape) < (1.0 if exclusive else 0.8)
    data = training_data(texts, targets, exclusive, known=known, example_weights=importance)
    fit = run(CoordinateAscent(intercepts=None, iterations=FEW), data)
    _, matrix = distinct_columns(texts)
    scores = scores_of(fit.solution(), texts, np.ones(len(texts)))
    for place, label in enumerate(fit.problems.trained):
        own = importance * known[:, label]
        path = naive_ascent(matrix, np.where(known[:, label], targets[:, label], 0.0), own, limit=FEW)
        assert fit.ascent.iterations[place] == len(path) - 1
        # Columns that differ in documents without a say are ties.
        np.testing.assert_allclose(scores[own > 0.0, label], path[-1][own > 0.0], atol=1e-6)


def test_more_labels_than_a_search_tells_wait_for_the_next():
    """The pairs that a search returns are all of the label with the largest gradients."""
    texts, rng = random_texts(1, n=60)
    y = rng.integers(0, 12, 60)
    importance = random_weights(1, 60) * np.where(y == 0, 20.0, 1.0)
    targets = np.eye(12)[y]
    fit = run(CoordinateAscent(intercepts=None), training_data(texts, targets, example_weights=importance))
    _, matrix = distinct_columns(texts)
    for label, scores in enumerate(fit.ascent.scores):
        np.testing.assert_allclose(scores, naive_ascent(matrix, targets[:, label], importance)[-1], atol=1e-6)


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.sampled_from([0.0, 0.3, 1.0]), st.integers(1, 3)), min_size=1),
    st.floats(-4.0, 4.0),
)
def test_the_intercept_has_the_fewest_errors(documents, likeliest):
    scores, targets, importance = np.array(documents, np.float64).T
    intercept = best_intercept(scores, targets, importance, likeliest)

    def errors(b):
        return importance @ np.where(scores + b > 0.0, 1.0 - targets, targets)

    every = [errors(-threshold) for threshold in np.arange(-3.5, 4.0)]
    assert errors(intercept) == pytest.approx(min(every))
    if errors(likeliest) == pytest.approx(min(every)) and -likeliest not in scores:
        assert intercept == likeliest


def test_the_threshold_is_tuned_on_training_error():
    texts, rng = random_texts(2)
    targets = np.eye(2)[[int("ab" in text or rng.random() < 0.1) for text in texts]]
    tuned, plain = (
        run(CoordinateAscent(iterations=3, intercepts=threshold), training_data(texts, targets)).solution()
        for threshold in ("training_error", None)
    )
    np.testing.assert_array_equal(tuned.weights, plain.weights)
    assert not plain.intercepts.any()
    ones = np.ones(len(texts))
    wrong = [
        (scores_of(model, texts, ones).argmax(axis=1) != targets.argmax(axis=1)).mean() for model in (tuned, plain)
    ]
    assert wrong[0] <= wrong[1]


def test_iterations_are_limited_or_chosen_by_cross_validation():
    texts, rng = random_texts(3)
    targets = np.eye(2)[[int(("ab" in text) != (rng.random() < 0.2)) for text in texts]]
    importance = random_weights(3, len(texts))
    data = training_data(texts, targets, example_weights=importance)
    limited = run(CoordinateAscent(iterations=2), data)
    assert limited.report.iterations == 2
    assert not limited.report.converged
    _, matrix = distinct_columns(texts)
    fold_of = np.empty(len(texts), int)
    fold_of[np.lexsort(targets.T)] = np.arange(len(texts)) % HELD_OUT_PARTS
    losses = np.zeros(1000)
    for fold in range(HELD_OUT_PARTS):
        path = naive_ascent(matrix, targets[:, 1], importance * (fold_of != fold))
        own = [logistic_loss(scores, targets[:, 1], importance * (fold_of == fold)) for scores in path]
        losses += [*own, *[own[-1]] * (1000 - len(own))]
    chosen = run(CoordinateAscent(iterations="cv"), data)
    assert chosen.report.iterations == np.argmin(losses) > 0
    assert chosen.report.seconds["cross-validation"] > 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": 0.0}, "tolerance = 0.0, but it must be between 0 and 1"),
        ({"tolerance": float("nan")}, "tolerance = nan"),
        ({"iterations": 0}, "iterations = 0, but it must be at least 1, 'cv', or null"),
        ({"iterations": True}, "iterations = True"),
        ({"iterations": "many"}, "iterations = 'many'"),
        ({"intercepts": "dev"}, "intercepts = 'dev', but it must be 'training_error', or null"),
        ({"iterations_per_step": 0}, "iterations_per_step = 0"),
    ],
)
def test_senseless_options_of_the_ascent_are_refused(options, message):
    with pytest.raises(ValueError, match=f"CoordinateAscent: {message}"):
        CoordinateAscent(**options)


@few
@given(labelled(labels=3), seeds, st.sampled_from(["binary", "tf_idf"]), st.sampled_from([2, 3]))
def test_the_ascent_over_products_with_values_is_that_of_the_twin(corpus, seed, value, degree):
    texts, targets = corpus
    importance = random_weights(seed, len(texts))
    data = both_blocks(texts, targets, value, degree)
    learner = CoordinateAscent(intercepts=None, iterations=FEW)
    fit = run(learner, replace(data, example_weights=importance))
    matrix, _ = space(texts, data, degree, 1.0)
    for label, scores in enumerate(fit.ascent.scores):
        path = naive_ascent(matrix, targets[:, label], importance, limit=FEW)
        assert fit.ascent.iterations[label] == len(path) - 1
        np.testing.assert_allclose(scores, path[-1], atol=1e-6)


def test_the_ascent_finds_products():
    matrix = (np.random.default_rng(0).random((80, 6)) < 0.5).astype(float)
    labels = np.where((matrix[:, 0] != 0) & (matrix[:, 1] != 0), "both", "not").tolist()
    model = GraftClassifier(CoordinateAscent(), degree=2).fit(matrix, labels)
    assert model.predict(matrix).tolist() == labels
    assert model.features()[0].names == ("0", "1")


# Everything


LEARNERS = [
    {"@graft_learners": "spacy_graft.Grafting.v1", "penalty": "l2", "ridge": 1.0, "min_gradient": 3.0},
    {"@graft_learners": "spacy_graft.Grafting.v1", "penalty": "none", "min_gradient": 3.0},
    {"@graft_learners": "spacy_graft.Grafting.v1", "penalty": "l2", "ridge": 1.0, "penalty_weights": "standard"},
    {"@graft_learners": "spacy_graft.CoordinateAscent.v1"},
    {"@graft_learners": "spacy_graft.CoordinateAscent.v1", "iterations": "cv", "iterations_per_step": 3},
]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("factory", ["textcat_graft", "textcat_graft_multilabel"])
def test_a_pipeline_with_each_learner_is_trained_saved_and_loaded(
    learner: dict, factory: str, train_records: list[Record], dev_records: list[Record], tmp_path: Path
) -> None:
    nlp = make_nlp(factory, learner=learner)
    report = spacy_graft.fit(nlp, make_examples(nlp, train_records))
    assert report.finished
    assert 0.0 < report.compression < 1.0 or report.n_active == report.n_columns
    assert report.iterations > 0
    assert json.loads(json.dumps(report.to_dict())) == report.to_dict()
    texts = [record["text"] for record in dev_records]
    found = [nlp(text).cats for text in texts]
    right = [max(cats, key=cats.__getitem__) == its["label"] for cats, its in zip(found, dev_records, strict=True)]
    assert np.mean(right) > 0.8
    nlp.to_disk(tmp_path)
    assert [spacy.load(tmp_path)(text).cats for text in texts[:3]] == found[:3]
