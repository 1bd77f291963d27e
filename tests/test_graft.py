"""Grafting against the optimum over the enumerated space: every n-gram of every length."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from naive import LASSO, dense_optimum, distinct_columns, log_loss, optimum_of_labels, softmax, stream_of
from spacy_graft.graft.certificate import dual_value
from spacy_graft.graft.objective import document_weights
from spacy_graft.graft.refits import ACCURACY
from spacy_graft.graft.report import Report
from spacy_graft.graft.settings import FIRST_REFIT, Grafting, GraftingPath
from spacy_graft.graft.start import start
from spacy_graft.solve.losses import SoftmaxLoss
from spacy_graft.solve.penalties import ElasticNet
from strategies import labelled, training_data

l1s = st.sampled_from([0.1, 0.3, 0.7, 1.5])
few = settings(max_examples=min(40, settings().max_examples))
#: A path of pure L1, as single fits are by default.
PLAIN = {
    "ridge": 0.0, "penalty_weights": "none", "ngram_power": 0.0, "length_normalisation": False, "balance": 0.0,
    "refit": None,
}  # fmt: skip
#: What the defaults of a path say of the penalty and of documents.
DEFAULTS = {"penalty_weights": "ratio_idf", "ngram_power": 0.25, "length_normalisation": True, "balance": 0.5}


def run(learner, data):
    fit = start(learner, data)
    while not fit.finished:
        fit.step()
    return fit


def text_of(ngram):
    return "".join(map(chr, ngram))


def texts_of(terms):
    """Features by what they look like."""
    return [text_of(term.symbols) for (term,) in terms]


def scores_of(solution, texts, scale):
    """Scores by looking for each n-gram in each text."""
    has = np.array([[ngram in text for ngram in texts_of(solution.terms)] for text in texts], np.float64)
    return has.reshape(len(texts), -1) @ solution.weights * scale[:, None] + solution.intercepts


def objective_of(solution, texts, targets, importance, scale, l1, ridge=0.0):
    """F of a solution, by label: the price of w/2 and -w/2 is that of w."""
    loss = log_loss(scores_of(solution, texts, scale), targets, importance)
    return loss + l1 * np.abs(solution.weights).sum() + ridge * (solution.weights**2).sum()


@few
@given(labelled(labels=2), l1s, st.sampled_from([0.0, 0.05]))
def test_two_labels_reach_the_optimum_over_the_whole_space(corpus, l1, ridge):
    texts, targets = corpus
    data = training_data(texts, targets)
    fit = run(Grafting(l1=l1, ridge=ridge, tol=1e-7), data)
    assert_optimal(fit, texts, targets, np.ones(len(texts)), np.ones(len(texts)), l1, ridge)


@few
@given(labelled(labels=3, soft=True), l1s, st.sampled_from([0.0, 0.05]), st.integers(0, 99))
def test_soft_targets_example_and_document_weights(corpus, l1, ridge, seed):
    texts, targets = corpus
    rng = np.random.default_rng(seed)
    importance, lengths = rng.uniform(0.5, 2.0, len(texts)), rng.integers(1, 9, len(texts)).astype(float)
    data = training_data(texts, targets, example_weights=importance, lengths=lengths)
    fit = run(Grafting(l1=l1, ridge=ridge, tol=1e-7, length_normalisation=True), data)
    mean_scale, scale = document_weights(lengths, True)
    assert scale.mean() == pytest.approx(1.0)
    np.testing.assert_allclose(scale, mean_scale / np.sqrt(lengths))
    assert fit.solution().mean_scale == mean_scale
    assert_optimal(fit, texts, targets, importance, scale, l1, ridge)


def assert_optimal(fit, texts, targets, importance, scale, l1, ridge):
    """Objective of the dense optimum, a gap that bounds the distance to it, and KKT over every n-gram."""
    report, solution = fit.report, fit.solution()
    _, matrix = distinct_columns(texts)
    optimum, _, _ = dense_optimum(matrix * scale[:, None], targets, importance, l1, ridge)
    objective = objective_of(solution, texts, targets, importance, scale, l1, ridge)
    size = 1e-6 * (1.0 + optimum)
    assert report.converged
    assert report.objective == pytest.approx(objective, abs=size)
    assert objective == pytest.approx(optimum, abs=1e-5 * (1.0 + optimum))
    assert report.duality_gap >= -1e-9
    assert report.duality_gap >= objective - optimum - size
    residuals = importance[:, None] * (targets - softmax(scores_of(solution, texts, scale)))
    np.testing.assert_allclose(residuals.sum(axis=0), 0.0, atol=1e-6)
    if ridge == 0.0:
        largest = np.abs((matrix * scale[:, None]).T @ residuals).max(initial=0.0)
        assert largest <= l1 * 1.02 + 1e-3


@few
@given(labelled(labels=3), st.integers(0, 99), l1s)
def test_labels_of_a_multilabel_corpus_are_independent_and_masked(corpus, seed, l1):
    texts, _ = corpus
    rng = np.random.default_rng(seed)
    targets = rng.integers(0, 2, (len(texts), 2)).astype(float)
    known = rng.random(targets.shape) < 0.8
    for y in range(2):
        assume(len(set(targets[known[:, y], y])) == 2)
    fit = run(Grafting(l1=l1, tol=1e-7), training_data(texts, targets, exclusive=False, known=known))
    _, matrix = distinct_columns(texts)
    total = optimum_of_labels(matrix, targets, known, l1)
    assert fit.report.objective == pytest.approx(total, abs=1e-4 * (1 + total))


@few
@given(labelled(labels=2), st.sampled_from(["idf", "standard", "ratio", "ratio_idf"]), l1s)
def test_penalty_weights_are_columns_divided(corpus, kind, l1):
    """min F with λ is min F with λ = 1 on columns divided by λ."""
    texts, targets = corpus
    data = training_data(texts, targets)
    fit = run(Grafting(l1=l1, penalty_weights=kind, tol=1e-7), data)
    _, matrix = distinct_columns(texts)
    inverse = inverse_weights_of(kind, matrix, targets)
    optimum, _, _ = dense_optimum(matrix * inverse, targets, np.ones(len(texts)), l1)
    assert fit.report.objective == pytest.approx(optimum, abs=1e-4 * (1.0 + optimum))


@few
@given(
    st.sampled_from([2, 3]).flatmap(lambda labels: labelled(labels=labels)),
    l1s,
    st.sampled_from([0.0, 0.05]),
    st.sampled_from([(1.0, 3.0), (2.5, 1.0), (1.0, "forbidden"), ("forbidden", 1.0)]),
)
def test_gradients_at_the_optimum_are_in_the_box_of_the_signs(corpus, l1, ridge, factors):
    """v = l1 κ λ + 2 β λ² w of every weight by its sign, and −l1 κ⁻ λ ≤ v ≤ l1 κ⁺ λ of all others."""
    texts, targets = corpus
    learner = Grafting(l1=l1, ridge=ridge, tol=1e-9, positive_factor=factors[0], negative_factor=factors[1])
    fit = run(learner, training_data(texts, targets))
    solution, n_labels = fit.solution(), targets.shape[1]
    residuals = targets - softmax(scores_of(solution, texts, np.ones(len(texts))))
    trained = range(n_labels) if n_labels > 2 else [1]
    names, matrix = distinct_columns(texts)
    weights = np.zeros((len(names), n_labels))
    by_column = {tuple(column): k for k, column in enumerate(matrix.T)}
    for row, ngram in enumerate(texts_of(solution.terms)):
        column = by_column[tuple(float(ngram in text) for text in texts)]
        # Of two labels the one weight of a feature is shared out among them.
        weights[column] = solution.weights[row] * (2.0 if n_labels == 2 else 1.0)
    upper, lower = (l1 * factor for factor in learner.sign_factors)
    for y in trained:
        v = matrix.T @ residuals[:, y] - (2.0 if n_labels > 2 else 1.0) * ridge * weights[:, y]
        digits = 2e-3 * (1.0 + l1)
        assert (v <= upper + digits).all()
        assert (v >= -lower - digits).all()
        np.testing.assert_allclose(v[weights[:, y] > 0.0], upper, atol=digits)
        np.testing.assert_allclose(v[weights[:, y] < 0.0], -lower, atol=digits)
        assert upper < np.inf or (weights[:, y] <= 0.0).all()
        assert lower < np.inf or (weights[:, y] >= 0.0).all()


def test_a_refit_keeps_to_the_signs():
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("abcd"), 6)) for _ in range(60)]
    targets = np.eye(3)[[("ab" in text) + ("cd" in text) for text in texts]]
    learner = GraftingPath(steps=6, negative_factor="forbidden", refit=0.1)
    fit = run(learner, training_data(texts, targets))
    refitted, path = fit.solution().weights, fit.refitted(None).weights
    assert (path > 0.0).any()
    assert (path >= 0.0).all()
    assert (refitted >= 0.0).all()
    assert not np.allclose(refitted, path)
    free = run(replace(learner, negative_factor=1.0), training_data(texts, targets))
    assert (free.solution().weights < 0.0).any()


@few
@given(labelled(labels=2), l1s)
def test_gradients_of_standard_are_those_of_standardised_columns(corpus, l1):
    """At the optimal intercept it does not matter whether columns are centred: Σ_i δ_i = 0."""
    texts, targets = corpus
    _, matrix = distinct_columns(texts)
    spread = matrix.std(axis=0)
    residuals = targets[:, 1] - targets[:, 1].mean()
    standardised = (matrix - matrix.mean(axis=0))[:, spread > 0.0] / spread[spread > 0.0]
    expected = np.abs(standardised.T @ residuals).max(initial=0.0)
    fit = start(Grafting(l1=l1, penalty_weights="standard"), training_data(texts, targets))
    assert fit.report.l1_max == pytest.approx(expected, rel=1e-6, abs=1e-6)


def inverse_weights_of(kind, matrix, targets):
    n, df = len(matrix), matrix.sum(axis=0)
    if kind == "idf":
        inverse = np.log((1 + n) / (1 + df)) + 1
    elif kind == "standard":
        inverse = 1.0 / np.maximum(np.sqrt(df / n * (1 - df / n)), 1e-9)
    else:
        inside, n_inside = targets[:, 1] @ matrix, targets[:, 1].sum()
        ratio = (inside + 1) / (n_inside + 2) / ((df - inside + 1) / (n - n_inside + 2))
        inverse = np.abs(np.log(ratio))
        inverse = np.sqrt(inverse * np.log((1 + n) / (1 + df)) if kind == "ratio_idf" else inverse)
    return np.clip(inverse, 0.05, 20.0)


def test_the_optimum_is_that_of_liblinear_on_the_enumerated_matrix():
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("abcde "), 30)) for _ in range(60)]
    y = np.array([("ab" in text) ^ (rng.random() < 0.2) for text in texts], int)
    names, matrix = distinct_columns(texts, min_df=3)
    fit = run(Grafting(l1=2.0, tol=1e-8), training_data(texts, np.eye(2)[y]))
    liblinear = LogisticRegression(
        solver="liblinear",
        **LASSO,
        C=0.5,
        tol=1e-9,
        max_iter=100_000,
        intercept_scaling=1e4,
        random_state=0,
    )
    liblinear.fit(matrix, y)
    expected = (
        log_loss(np.column_stack([np.zeros(60), liblinear.decision_function(matrix)]), np.eye(2)[y], np.ones(60))
        + 2.0 * np.abs(liblinear.coef_).sum()
    )
    assert fit.report.objective == pytest.approx(expected, rel=1e-5)
    support = {names[k] for k in np.flatnonzero(np.abs(liblinear.coef_[0]) > 1e-6)}
    assert set(texts_of(fit.solution().terms)) == support


@few
@given(labelled(labels=3, soft=True), st.floats(0.01, 10.0), st.sampled_from([0.0, 0.1, 1.0]))
def test_dual_value_is_the_dual_over_enumerated_columns(corpus, l1, ridge):
    """At any model the certificate is the dual objective of a feasible point, computed here by its definition."""
    texts, targets = corpus
    _, matrix = distinct_columns(texts)
    n, labels = targets.shape
    loss = SoftmaxLoss(targets.T.copy(), np.ones(n))
    scores = np.random.default_rng(0).normal(size=(labels, n))
    scores += loss.optimal_intercepts(scores, 1e-13)[:, None]
    p = softmax(scores.T)
    v = matrix.T @ (targets - p)
    peak, excess = np.abs(v).max(initial=0.0), (np.maximum(np.abs(v) - l1, 0.0) ** 2).sum()
    value = dual_value(loss, p.T, ElasticNet(l1, ridge), peak, excess, 0.0)

    def dual(r):
        gradient = np.abs(matrix.T @ (targets - r))
        conjugate = (np.maximum(gradient - l1, 0.0) ** 2).sum() / (4 * ridge) if ridge else 0.0
        assert ridge or gradient.max(initial=0.0) <= l1 * (1 + 1e-9)
        return -(r * np.log(r)).sum() - conjugate

    c = min(1.0, l1 / peak) if peak else 1.0
    feasible = [(1 - c) * targets + c * p] + ([p] if ridge else [])
    assert value == pytest.approx(max(map(dual, feasible)), abs=1e-9)
    optimum, _, _ = dense_optimum(matrix, targets, np.ones(n), l1, ridge)
    assert value <= optimum + 1e-5 * (1 + optimum)


def test_gap_goes_to_zero_and_objective_down():
    texts = ["good film", "good plot", "bad film", "bad plot", "dull film", "fine plot"] * 3
    targets = np.eye(2)[[1, 1, 0, 0, 0, 1] * 3]
    fit = start(Grafting(l1=0.5, n_best=1, tol=1e-9), training_data(texts, targets))
    objectives = [fit.report.objective]
    while not fit.finished:
        fit.step()
        assert fit.report.duality_gap >= -1e-9
        objectives.append(fit.report.objective)
    assert fit.report.converged
    assert all(np.diff(objectives) <= 1e-9)
    before = fit.report.copy()
    fit.step()
    assert fit.report == before, "a step after the certificate changes something"


def test_path_is_the_same_as_single_fits_and_its_points_are_certified():
    rng = np.random.default_rng(1)
    texts = ["".join(rng.choice(list("abcd "), 20)) for _ in range(40)]
    targets = np.eye(3)[[("ab" in t) + ("cd" in t) for t in texts]]
    data = training_data(texts, targets)
    path = start(GraftingPath(l1_min_ratio=0.1, steps=4, tol=1e-7, **PLAIN), data)
    seen = []
    while not path.finished:
        path.step()
        single = run(Grafting(l1=path.report.l1, tol=1e-7), data)
        assert path.report.objective == pytest.approx(single.report.objective, rel=1e-5)
        assert path.report.converged
        seen.append(path.report.l1_ratio)
    np.testing.assert_allclose(seen, 0.1 ** (np.arange(1, 5) / 4))
    assert path.report.l1_max == pytest.approx(single.report.l1_max)


def test_l1_max_is_where_the_model_becomes_empty():
    texts, targets = ["ab", "ab c", "cd", "cd a"], np.eye(2)[[0, 0, 1, 1]]
    data = training_data(texts, targets)
    l1_max = start(Grafting(l1=1e6), data).report.l1_max
    assert not run(Grafting(l1=l1_max * 1.001), data).solution().terms
    assert run(Grafting(l1=l1_max * 0.98, tol=1e-9), data).solution().terms
    with_cut = start(Grafting(l1=l1_max * 0.98), data).report
    assert with_cut.l1_max == pytest.approx(l1_max)


def test_an_elastic_net_path_is_the_same_as_single_fits():
    """With the defaults of the path: ratio weights, length normalisation, ridge."""
    rng = np.random.default_rng(6)
    texts = ["".join(rng.choice(list("abcd "), 20)) for _ in range(40)]
    targets = np.eye(3)[[("ab" in t) + ("cd" in t) for t in texts]]
    data = training_data(texts, targets, lengths=np.array([len(set(t)) for t in texts], float))
    path = run(GraftingPath(l1_min_ratio=0.1, steps=3, tol=1e-7), data)
    single = run(Grafting(l1=path.report.l1, tol=1e-7, ridge=20.0, **DEFAULTS), data)
    assert path.report.objective == pytest.approx(single.report.objective, rel=1e-6)
    assert path.report.converged


@few
@given(labelled(labels=3, soft=True), l1s, st.sampled_from([0.5, 1.0]))
def test_balance_is_example_weights(corpus, l1, balance):
    texts, targets = corpus
    fit = run(Grafting(l1=l1, balance=balance, tol=1e-7), training_data(texts, targets))
    importance = targets @ targets.sum(axis=0) ** -balance
    importance *= len(texts) / importance.sum()
    _, matrix = distinct_columns(texts)
    optimum, _, _ = dense_optimum(matrix, targets, importance, l1)
    assert fit.report.objective == pytest.approx(optimum, abs=1e-4 * (1.0 + optimum))


def test_at_full_balance_an_empty_model_knows_no_label_from_another():
    targets = np.eye(3)[[0, 0, 0, 0, 1, 1, 2]]
    fit = run(Grafting(l1=100.0, balance=1.0), training_data(["a"] * 7, targets))
    assert softmax(fit.solution().intercepts) == pytest.approx(np.full(3, 1 / 3))


@pytest.mark.parametrize("learner", [Grafting(l1=0.5), GraftingPath(steps=3)])
def test_report_is_plain_values(learner):
    texts, targets = ["ab", "ab c", "cd", "cd a"], np.eye(2)[[0, 0, 1, 1]]
    report = run(learner, training_data(texts, targets)).report
    assert json.loads(json.dumps(report.to_dict())) == report.to_dict()


def test_figures_of_other_peoples_builders_are_formatted():
    report = Report(network={"weights": [1.0, 2.5], "threshold": None, "kind": "mine", "by": {"a": [1, "b"]}})
    found = str(report.lines())
    assert "1, 2.5" in found
    assert "none" in found


def test_the_model_before_a_step_is_not_that_after_it():
    texts, targets = ["ab", "ab c", "cd", "cd a"], np.eye(2)[[0, 0, 1, 1]]
    fit = start(GraftingPath(penalty="l2", refit=2.0), training_data(texts, targets))
    assert not fit.solution().terms
    fit.step()
    assert fit.solution().terms


def test_path_stops_before_more_features_than_allowed():
    rng = np.random.default_rng(2)
    texts = ["".join(rng.choice(list("abcdef "), 25)) for _ in range(60)]
    targets = np.eye(2)[rng.integers(0, 2, 60)]
    fit = run(GraftingPath(l1_min_ratio=0.01, steps=20, max_features=10, **PLAIN), training_data(texts, targets))
    assert 0 < fit.report.n_active <= 10
    assert len(fit.solution().terms) == fit.report.n_active


@pytest.mark.parametrize("limit", [20, 35, 50])
def test_path_ends_with_nearly_as_many_features_as_allowed(limit):
    """And that model is the optimum of its own L1 strength."""
    rng = np.random.default_rng(8)
    texts = ["".join(rng.choice(list("abcdef "), 25)) for _ in range(150)]
    targets = np.eye(2)[[int("ab" in t or "fe" in t) for t in texts]]
    data = training_data(texts, targets, min_df=2)
    path = run(GraftingPath(l1_min_ratio=1e-3, steps=4, ridge=1.0, max_features=limit, tol=1e-11, refit=None), data)
    assert 0.85 * limit <= path.report.n_active <= limit
    single = run(Grafting(l1=path.report.l1, ridge=1.0, tol=1e-11, **DEFAULTS), data)
    assert path.report.objective == pytest.approx(single.report.objective, rel=1e-6)
    assert path.report.n_active == single.report.n_active == len(path.solution().terms)
    assert path.report.converged


@pytest.mark.parametrize("ngram_power", [0.0, 0.5])
@pytest.mark.parametrize("labels", [2, 3])
def test_refit_is_the_ridge_optimum_over_the_features_for_all_labels(labels, ngram_power):
    rng = np.random.default_rng(9)
    texts = ["".join(rng.choice(list("abcd "), 15)) for _ in range(60)]
    targets = np.eye(labels)[rng.integers(0, labels, 60)]
    data = training_data(texts, targets)
    options = {**PLAIN, "refit": 0.3, "ngram_power": ngram_power}
    solution = run(GraftingPath(l1_min_ratio=0.3, steps=2, **options), data).solution()
    ngrams = texts_of(solution.terms)
    matrix = np.array([[ngram in text for ngram in ngrams] for text in texts], float)
    assert matrix.shape[1] >= 2
    assert max(map(len, ngrams)) > 1
    penalty = np.array([len(ngram) for ngram in ngrams], float)[:, None] ** ngram_power * np.ones(labels)
    ones = np.ones(60)
    scores = scores_of(solution, texts, ones)
    found = log_loss(scores, targets, ones) + 0.3 * ((penalty * solution.weights) ** 2).sum()
    expected = dense_optimum(matrix, targets, ones, 0.0, 0.3, penalty)[0]
    assert found == pytest.approx(expected, rel=1e-5)
    assert np.count_nonzero(solution.weights) == solution.weights.size


@pytest.mark.parametrize("labels", [2, 3])
def test_a_refit_weighs_documents_by_the_idf_of_their_selected_features(labels):
    """It is the ridge optimum of the rows of tf-idf, each divided by its L2 norm (but for the idf of the column)."""
    rng = np.random.default_rng(9)
    texts = ["".join(rng.choice(list("abcd "), rng.integers(1, 20))) for _ in range(60)]
    targets = np.eye(labels)[rng.integers(0, labels, 60)]
    settings = {**PLAIN, "length_normalisation": True, "refit": 0.3}
    solution = run(GraftingPath(l1_min_ratio=0.5, steps=2, **settings), training_data(texts, targets)).solution()
    matrix = np.array([[ngram in text for ngram in texts_of(solution.terms)] for text in texts], float)
    np.testing.assert_array_equal(matrix.sum(axis=0), solution.df)
    idf = np.log(61 / (1 + solution.df)) + 1
    np.testing.assert_allclose(solution.length_shares, idf**2)
    inverse_norms = 1 / np.maximum(np.linalg.norm(matrix * idf, axis=1), 1.0)
    scale = inverse_norms / inverse_norms.mean()
    assert solution.mean_scale == pytest.approx(1 / inverse_norms.mean())
    found = log_loss(scores_of(solution, texts, scale), targets, np.ones(60)) + 0.3 * (solution.weights**2).sum()
    assert found == pytest.approx(dense_optimum(matrix * scale[:, None], targets, np.ones(60), 0.0, 0.3)[0], rel=1e-5)


def test_a_point_can_be_fitted_again_under_any_strength():
    """Each is what a path with this refit ends with, and leaves the path as it is."""
    rng = np.random.default_rng(10)
    texts = ["".join(rng.choice(list("abcd "), 15)) for _ in range(60)]
    targets = np.eye(3)[rng.integers(0, 3, 60)]
    data = training_data(texts, targets, min_df=2)
    settings = {"l1_min_ratio": 0.1, "steps": 3, "max_features": 40}
    fit = run(GraftingPath(**settings), data)
    assert fit.report.refit == FIRST_REFIT
    for strength in (0.1, 10.0, 1.0):
        alone = run(GraftingPath(**settings, refit=strength), data)
        solution = fit.refitted(strength)
        assert texts_of(solution.terms) == texts_of(alone.solution().terms)
        np.testing.assert_array_equal(solution.weights, alone.solution().weights)
        assert fit.report.l1 == alone.report.l1
    np.testing.assert_array_equal(fit.refitted(FIRST_REFIT).weights, fit.solution().weights)


def test_trials_of_a_point_are_its_refits_up_to_their_accuracy():
    """Two that each keep a violation of at most ε are at most ε / β apart in every weight."""
    rng = np.random.default_rng(10)
    texts = ["".join(rng.choice(list("abcd "), 15)) for _ in range(60)]
    data = training_data(texts, np.eye(3)[rng.integers(0, 3, 60)], min_df=2)
    learner = GraftingPath(**{**PLAIN, "refit": "auto"}, l1_min_ratio=0.1, steps=3, max_features=40)
    tried, alone = run(learner, data), run(learner, data)
    for strength in (0.1, 10.0, 1.0, 30.0):
        found, expected = tried.refitted(strength, trial=True), alone.refitted(strength)
        assert texts_of(found.terms) == texts_of(expected.terms)
        np.testing.assert_allclose(found.weights, expected.weights, rtol=0.0, atol=ACCURACY * 60 / strength)
    assert tried.refitted(1.0, trial=True) is tried.refitted(1.0)


def test_refit_keeps_the_features_and_lowers_the_loss():
    rng = np.random.default_rng(3)
    texts = ["".join(rng.choice(list("abcd "), 15)) for _ in range(50)]
    targets = np.eye(2)[[int("ab" in t) for t in texts]]
    data = training_data(texts, targets)
    plain = run(GraftingPath(l1_min_ratio=0.2, steps=3, **PLAIN), data).solution()
    refit = run(GraftingPath(l1_min_ratio=0.2, steps=3, **{**PLAIN, "refit": 0.01}), data).solution()
    assert texts_of(plain.terms) == texts_of(refit.terms)
    ones = np.ones(50)
    losses = [log_loss(scores_of(s, texts, ones), targets, ones) for s in (plain, refit)]
    assert losses[1] < losses[0]


@pytest.mark.parametrize("exclusive", [True, False])
def test_a_label_without_a_positive_document_gets_half_a_document(exclusive):
    texts = ["ab", "ab", "cd", "cd"]
    targets = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]], float)
    solution = run(Grafting(l1=0.1), training_data(texts, targets, exclusive)).solution()
    scores = scores_of(solution, texts, np.ones(4))
    assert np.isfinite(scores).all()
    if exclusive:
        assert softmax(scores)[:, 2].sum() == pytest.approx(0.5, rel=0.2)
    else:
        assert 1 / (1 + np.exp(-scores[0, 2])) == pytest.approx(0.5 / 5)
    assert not solution.weights[:, 2].any()


@pytest.mark.parametrize(
    ("texts", "targets"),
    [
        (["", "", ""], np.eye(2)[[0, 1, 1]]),
        (["a", "a"], np.eye(2)[[0, 1]]),
        (["a", "b"], np.eye(2)[[0, 0]]),
    ],
    ids=["empty documents", "the same document", "one label only"],
)
@pytest.mark.parametrize("learner", [Grafting(l1=0.5), GraftingPath(steps=3)])
def test_nothing_to_learn_is_an_empty_model_with_the_base_rate(learner, texts, targets):
    fit = run(learner, training_data(texts, targets))
    solution = fit.solution()
    assert not solution.terms
    p = softmax(solution.intercepts)
    assert p[0] == pytest.approx(targets[:, 0].mean(), abs=0.3)
    assert np.isfinite(solution.intercepts).all()


@pytest.mark.parametrize("texts", [["ab", "ab c", "cd", "cd a"], ["", "", "", ""]])
def test_before_the_first_point_stands_the_optimum_at_l1_max(texts):
    """Which is empty, and stays where the first point has too many features or there is nothing to learn."""
    fit = start(GraftingPath(**{**PLAIN, "max_features": 1}), training_data(texts, np.eye(2)[[0, 0, 1, 1]]))
    assert fit.report.objective == pytest.approx(4 * np.log(2))
    assert fit.report.l1 == fit.report.l1_max
    assert fit.report.relative_gap == 0.0
    assert fit.report.converged
    assert not fit.solution().terms


def test_min_df_is_lossless_up_to_c():
    rng = np.random.default_rng(4)
    texts = ["".join(rng.choice(list("abc "), 20)) for _ in range(30)]
    targets = np.eye(2)[rng.integers(0, 2, 30)]
    data = training_data(texts, targets)
    fit = run(Grafting(l1=2.5, tol=1e-7), data)
    assert fit.report.min_df == {"characters": 3}
    _, matrix = distinct_columns(texts)
    assert fit.report.objective == pytest.approx(dense_optimum(matrix, targets, np.ones(30), 2.5)[0], rel=1e-5)


def test_more_than_eight_labels():
    rng = np.random.default_rng(5)
    texts = ["".join(rng.choice(list("abcdefghij"), 6)) for _ in range(80)]
    y = np.array([min(map(ord, text)) - ord("a") for text in texts])
    y = np.unique(y, return_inverse=True)[1] + 9 * (np.arange(80) % 2)
    targets = np.eye(y.max() + 1)[y]
    fit = run(Grafting(l1=1.0, tol=1e-6), training_data(texts, targets, min_df=2))
    _, matrix = distinct_columns(texts, min_df=2)
    present = targets[:, targets.sum(axis=0) > 0]
    assert fit.report.objective == pytest.approx(dense_optimum(matrix, present, np.ones(80), 1.0)[0], rel=1e-4)


@pytest.mark.parametrize(
    "options",
    [
        {"l1": 0.0}, {"l1": float("nan")}, {"l1": 1.0, "n_best": 0}, {"l1": 1.0, "tol": 0.0},
        {"l1": 1.0, "ridge": -1.0}, {"l1": 1.0, "penalty_weights": "tfidf"}, {"l1": 1.0, "ratio_power": 0.0},
        {"l1": 1.0, "ngram_power": -0.5}, {"l1": 1.0, "ngram_power": 2.5},
        {"l1": 1.0, "positive_factor": 0.5}, {"l1": 1.0, "positive_factor": float("inf")},
        {"l1": 1.0, "negative_factor": "none"}, {"l1": 1.0, "negative_factor": True},
        {"l1": 1.0, "positive_factor": np.array([])},
        {"l1": 1.0, "positive_factor": "forbidden", "negative_factor": "forbidden"},
        {"penalty": "l2", "ridge": 1.0, "negative_factor": 2.0}, {"penalty": "none", "positive_factor": "forbidden"},
    ],
)  # fmt: skip
def test_senseless_options_are_refused(options):
    with pytest.raises(ValueError, match="Grafting: "):
        Grafting(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"l1_min_ratio": 1.0},
        {"steps": 0},
        {"max_features": 0},
        {"refit": 0.0},
        {"refit": []},
        {"refit": [1.0, -1.0]},
        {"refit": "3"},
        {"refit": True},
        {"refit": np.array([])},
    ],
)
def test_senseless_path_options_are_refused(options):
    with pytest.raises(ValueError, match="GraftingPath: "):
        GraftingPath(**options)


@few
@given(labelled(labels=3), l1s, st.integers(1, 3), st.sampled_from([1.0, 1.5, 0.5]))
def test_several_blocks_are_one_space(corpus, l1, n_best, factor):
    """Two streams of the same documents, text and reversed text: the optimum over the distinct columns of both."""
    texts, targets = corpus
    data = training_data(texts, targets)
    backwards = stream_of([text[::-1] for text in texts])
    data = replace(
        data,
        streams={"none": stream_of([""] * len(texts)), **data.streams, "backwards": backwards},
        min_df={"none": 1, "characters": 1, "backwards": 1},
        max_length={"none": None, "characters": 1, "backwards": None},
        penalty_factors={"none": 1.0, "characters": 1.0, "backwards": factor},
    )
    fit = run(Grafting(l1=l1, n_best=n_best, ridge=0.05, tol=1e-6), data)
    forwards = distinct_columns(texts, max_length=1)[1]
    penalties = dict.fromkeys(map(tuple, forwards.T), 1.0)
    for column in map(tuple, distinct_columns([text[::-1] for text in texts])[1].T):
        penalties[column] = min(factor, penalties.get(column, factor))
    penalty = np.repeat(np.array(list(penalties.values()))[:, None], 3, axis=1)
    matrix = np.array(list(penalties)).reshape(-1, len(texts)).T
    optimum, _, _ = dense_optimum(matrix, targets, np.ones(len(texts)), l1, 0.05, penalty)
    # Fewer where features of few documents cannot enter.
    assert fit.report.n_columns <= len(penalties)
    assert fit.report.objective == pytest.approx(optimum, abs=1e-4 * (1 + optimum))
    assert set(fit.solution().blocks) <= {"characters", "backwards"}
