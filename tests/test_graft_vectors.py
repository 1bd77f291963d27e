"""Fits with dense columns: paths, refits, selection and checkpoints against dense optima."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from naive import dense_optimum, distinct_columns, log_loss
from spacy_graft.graft.model_state import ModelState
from spacy_graft.graft.settings import Grafting, GraftingPath
from spacy_graft.graft.start import start
from strategies import dense_data, training_data
from test_graft import run

few = settings(max_examples=min(10, settings().max_examples))
RIDGE, DENSE_RIDGE = 0.05, 0.2


def problem(seed, n_labels=3, exclusive=True):
    """Data with dense columns, its distinct columns and the dense ones."""
    rng = np.random.default_rng(seed)
    texts = ["".join(rng.choice(list("abc"), rng.integers(1, 7))) for _ in range(14)]
    targets = np.eye(n_labels)[np.arange(14) % n_labels]
    columns = rng.normal(size=(14, 2))
    columns[:, 0] += targets[:, 0]
    data = replace(training_data(texts, targets, exclusive), vectors=dense_data(columns))
    return data, distinct_columns(texts)[1], columns


def path_learner(**options):
    return GraftingPath(
        l1_min_ratio=0.1, steps=3, tol=1e-7, ridge=RIDGE, penalty_weights="none", ngram_power=0.0,
        length_normalisation=False, balance=0.0, refit=0.3, vectors_ridge=DENSE_RIDGE, **options,
    )  # fmt: skip


def dense_weights(solution):
    """u by label: the axes of the documents here are those of the vectors."""
    return solution.word_scores.scores.weights


@few
@given(st.integers(0, 500), st.sampled_from([2, 3]))
def test_points_of_a_path_and_their_refits_are_optima(seed, n_labels):
    data, matrix, columns = problem(seed, n_labels)
    ones, ridges = np.ones(14), np.full(n_labels, DENSE_RIDGE)
    fit = start(path_learner(), data)
    at_zero = dense_optimum(np.zeros((14, 0)), data.targets, ones, 1.0, dense=columns, dense_ridges=ridges)[0]
    assert fit.report.objective == pytest.approx(at_zero, rel=1e-6)
    assert fit.report.converged
    while not fit.finished:
        fit.step()
        expected = dense_optimum(matrix, data.targets, ones, fit.report.l1, RIDGE, dense=columns, dense_ridges=ridges)[
            0
        ]
        assert fit.report.converged
        assert fit.report.objective == pytest.approx(expected, abs=2e-6 * 14)
        rows = [column_of(fit.rounds.state, row) for row in range(fit.rounds.state.active.n_rows)]
        selected = np.array(rows).reshape(-1, 14).T
        solution = fit.solution()
        scores = selected @ solution.weights + solution.intercepts + columns @ dense_weights(solution)
        found = log_loss(scores, data.targets, ones) + 0.3 * (solution.weights**2).sum()
        found += DENSE_RIDGE * (dense_weights(solution) ** 2).sum()
        refitted = dense_optimum(selected, data.targets, ones, 0.0, 0.3, dense=columns, dense_ridges=ridges)[0]
        assert found == pytest.approx(refitted, rel=1e-5)


def column_of(state: ModelState, row):
    active, column = state.active, np.zeros(14)
    column[active.columns.column(row)[0]] = 1.0
    return column


def test_refits_with_other_document_weights_are_optima():
    """Document weights apply to features, and not to dense columns."""
    data, _, columns = problem(3)
    data = replace(data, lengths=np.arange(1.0, 15.0))
    fit = run(replace(path_learner(), length_normalisation=True), data)
    solution = fit.solution()
    rows = np.array([column_of(fit.rounds.state, row) for row in range(fit.rounds.state.active.n_rows)]).T
    scale = solution.mean_scale / np.sqrt(np.maximum(rows @ solution.length_shares, 1.0))
    scaled, ones = rows * scale[:, None], np.ones(14)
    scores = scaled @ solution.weights + solution.intercepts + columns @ dense_weights(solution)
    found = log_loss(scores, data.targets, ones) + 0.3 * (solution.weights**2).sum()
    found += DENSE_RIDGE * (dense_weights(solution) ** 2).sum()
    ridges = np.full(3, DENSE_RIDGE)
    expected = dense_optimum(scaled, data.targets, ones, 0.0, 0.3, dense=columns, dense_ridges=ridges)[0]
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
@pytest.mark.parametrize("exclusive", [True, False])
def test_l1_max_is_the_least_strength_whose_models_with_and_without_dense_columns_are_empty(seed, exclusive):
    data, _, _ = problem(seed, 3, exclusive)
    l1_max = start(Grafting(l1=1.0, vectors_ridge=DENSE_RIDGE), data).report.l1_max
    without = replace(data, vectors=None)
    for l1, are_empty in ((1.001 * l1_max, True), (0.98 * l1_max, False)):
        n_active = 0
        for of_both in (data, without):
            fit = run(Grafting(l1=l1, tol=1e-8, vectors_ridge=DENSE_RIDGE), of_both)
            assert fit.report.converged
            n_active += fit.report.n_active
            if of_both is data:
                assert np.abs(dense_weights(fit.solution())).max() > 0.0
        assert (n_active == 0) is are_empty


@pytest.mark.parametrize("exclusive", [True, False])
def test_dense_weights_alone_are_certified_too(exclusive):
    """No feature is frequent enough: there is nothing to search, but still an optimum to come close to."""
    data, _, _ = problem(1, 3, exclusive)
    fit = run(Grafting(l1=0.1, tol=1e-11, vectors_ridge=DENSE_RIDGE), replace(data, min_df={"characters": 15}))
    assert fit.report.n_columns == 0
    assert fit.report.converged
    assert fit.report.duality_gap <= 1e-6


def test_a_fit_is_resumed_to_the_bit():
    data, _, _ = problem(5)
    whole, half = start(path_learner(), data), start(path_learner(), data)
    whole.step()
    half.step()
    other = start(path_learner(), data)
    other.resume(half.to_dict())
    for _ in range(2):
        whole.step()
        other.step()
    assert_array_equal(dense_weights(whole.solution()), dense_weights(other.solution()))
    assert_array_equal(whole.solution().weights, other.solution().weights)
    assert whole.report.objective == other.report.objective


@pytest.mark.parametrize("min_gradient", [None, 0.5])
def test_selection_under_l2(min_gradient):
    """All features, or those whose gradient is large, are optimal with the dense columns."""
    data, matrix, columns = problem(2)
    learner = Grafting(penalty="l2", ridge=RIDGE, min_gradient=min_gradient, tol=1e-6, vectors_ridge=DENSE_RIDGE)
    fit = run(learner, data)
    assert fit.report.converged
    assert fit.report.duality_gap <= 1e-4
    ridges = np.full(3, DENSE_RIDGE)
    expected = dense_optimum(matrix, data.targets, np.ones(14), 0.0, RIDGE, dense=columns, dense_ridges=ridges)[0]
    if min_gradient is None:
        assert fit.report.objective == pytest.approx(expected, rel=1e-6)
    assert fit.report.objective >= expected - 1e-9


def test_without_dense_columns_nothing_changes():
    data, _, columns = problem(4)
    plain = replace(data, vectors=None)
    fits = [start(path_learner(), one) for one in (plain, data.without(["vectors"]))]
    for fit in fits:
        fit.step()
    assert fits[0].solution().word_scores is None
    assert_array_equal(*(fit.solution().weights for fit in fits))
    # Columns of nothing but zeros have no weight and change no optimum.
    empty = start(path_learner(), replace(data, vectors=dense_data(np.zeros_like(columns))))
    empty.step()
    assert_array_equal(dense_weights(empty.solution()), 0.0)
    assert_allclose(empty.report.objective, fits[0].report.objective, rtol=1e-9)
