"""Losses, penalties, quadratic model and restricted problem against finite differences and a dense optimum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from naive import dense_optimum, log_loss
from spacy_graft.extract.kernels import transposed
from spacy_graft.index.columns import concatenated, reordered
from spacy_graft.solve import columns as solve_columns
from spacy_graft.solve import dense as dense_module
from spacy_graft.solve import design as design_module
from spacy_graft.solve import kernels
from spacy_graft.solve import quadratic as quadratic_module
from spacy_graft.solve.active import Active
from spacy_graft.solve.columns import PackedColumns, joined_columns, packed_columns
from spacy_graft.solve.coupling import Coupling
from spacy_graft.solve.dense import Dense, DenseColumns
from spacy_graft.solve.design import Design, Matrix, as_lanes
from spacy_graft.solve.losses import CandidateLoss, LogisticLoss, SoftmaxLoss
from spacy_graft.solve.penalties import ElasticNet, PairPenalty
from spacy_graft.solve.quadratic import (
    Direction,
    LabelBlocks,
    Point,
    QuadraticFace,
    QuadraticModel,
    SingleFace,
    factor_of,
)
from spacy_graft.solve.restricted import Restricted

seeds = st.integers(0, 10_000)


def random_problem(seed, n_labels=3, n=12, n_columns=6):
    """Columns, all pairs active, soft targets, example and document weights; one document masked.

    One label has the logistic loss, several have the softmax loss.

    Odd seeds give columns with values, even ones binary columns.
    """
    rng = np.random.default_rng(seed)
    matrix = (rng.random((n, n_columns)) < 0.4).astype(float)
    starts = np.concatenate([[0], np.cumsum(matrix.sum(axis=0))]).astype(np.int64)
    matrix *= rng.uniform(0.1, 1.0, matrix.shape) if seed % 2 else 1.0
    values = matrix.T[matrix.T > 0.0] if seed % 2 else np.empty(0)
    documents = np.concatenate([np.flatnonzero(column) for column in matrix.T]).astype(np.int32)
    rows = np.tile(np.arange(n_columns), n_labels)
    labels = np.repeat(np.arange(n_labels), n_columns)
    columns = packed_columns((starts, documents, values), n)
    active = Active(columns, rows, labels, rng.uniform(0.5, 2.0, len(rows)), np.zeros(len(rows)))
    logistic = n_labels == 1
    raw = rng.uniform(0.05, 1.0, (n_labels + logistic, n))
    targets = (raw / raw.sum(axis=0))[:n_labels]
    importance = rng.uniform(0.5, 2.0, n)
    importance[0] = 0.0
    loss = LogisticLoss(targets, importance) if logistic else SoftmaxLoss(targets, importance)
    return matrix, active, loss, rng.uniform(0.5, 1.5, n)


def penalty_value(restricted, active):
    return restricted.penalty.value(active.weights, active.penalty_weights) + restricted.coupling.penalty(
        active.weights
    )


def scores_of(matrix, active, scale, weights, intercepts):
    by_pair = np.zeros((len(intercepts), matrix.shape[1]))
    by_pair[active.labels, active.rows] = weights
    return (matrix @ by_pair.T * scale[:, None] + intercepts).T


@given(seeds, st.integers(1, 4))
def test_residuals_are_minus_the_gradient_of_the_loss(seed, n_labels):
    _, _, loss, _ = random_problem(seed, n_labels)
    scores = np.random.default_rng(seed).normal(size=loss.targets.shape)
    _, p = loss.value_and_probabilities(scores)
    direction = np.random.default_rng(seed + 1).normal(size=scores.shape)
    h = 1e-5
    up, p_up = loss.value_and_probabilities(scores + h * direction)
    down, p_down = loss.value_and_probabilities(scores - h * direction)
    assert (up - down) / (2 * h) == pytest.approx(-np.vdot(loss.residuals(p), direction), abs=1e-7)
    moved = loss.importance * (p_up - p_down) / (2 * h)
    np.testing.assert_allclose(loss.hessian_product(p, direction), moved, atol=1e-8)


@given(seeds, st.integers(2, 4))
def test_loss_is_that_of_the_naive_twin(seed, n_labels):
    _, _, loss, _ = random_problem(seed, n_labels)
    scores = 30.0 * np.random.default_rng(seed).normal(size=loss.targets.shape)
    value, p = loss.value_and_probabilities(scores)
    assert value == pytest.approx(log_loss(scores.T, loss.targets.T, loss.importance))
    np.testing.assert_allclose(p.sum(axis=0), 1.0)


def test_the_logistic_loss_is_the_softmax_of_two_labels_of_which_one_scores_zero():
    _, _, loss, _ = random_problem(3, 1)
    scores = np.random.default_rng(3).normal(size=loss.targets.shape)
    whole = SoftmaxLoss(np.vstack([loss.targets, 1 - loss.targets]), loss.importance)
    value, p = loss.value_and_probabilities(scores)
    whole_value, whole_p = whole.value_and_probabilities(np.vstack([scores, np.zeros(scores.shape)]))
    assert value == pytest.approx(whole_value)
    np.testing.assert_allclose(p, whole_p[:1])
    assert loss.entropy(p) == pytest.approx(whole.entropy(whole_p))
    np.testing.assert_allclose(loss.variances(p), whole.variances(whole_p)[:1])


def test_scores_beyond_the_range_of_exp_are_no_trouble():
    loss = LogisticLoss(np.array([[1.0, 0.0]]), np.ones(2))
    value, p = loss.value_and_probabilities(np.array([[800.0, -800.0]]))
    assert value == 0.0
    np.testing.assert_array_equal(p, [[1.0, 0.0]])


@given(seeds, st.integers(1, 4))
def test_optimal_intercepts_leave_no_gradient(seed, n_labels):
    _, _, loss, _ = random_problem(seed, n_labels)
    scores = 3.0 * np.random.default_rng(seed).normal(size=loss.targets.shape)
    shifted = scores + loss.optimal_intercepts(scores)[:, None]
    _, p = loss.value_and_probabilities(shifted)
    np.testing.assert_allclose(loss.residuals(p).sum(axis=1), 0.0, atol=1e-8)


@given(seeds, st.integers(1, 3))
def test_products_with_the_columns(seed, n_labels):
    matrix, active, _, _ = random_problem(seed, n_labels)
    rng = np.random.default_rng(seed)
    weights, values = rng.normal(size=len(active)), rng.normal(size=(n_labels, len(matrix)))
    scores = np.zeros(values.shape)
    kernels.spread(active.pairs, weights, scores, 0, scores.shape[1])
    ones, none = np.ones(len(matrix)), np.zeros(n_labels)
    np.testing.assert_allclose(scores, scores_of(matrix, active, ones, weights, none), atol=1e-12)
    sums = np.empty(len(active))
    kernels.collect(active.pairs, values, sums)
    np.testing.assert_allclose(sums, (values @ matrix)[active.labels, active.rows], atol=1e-12)


@given(seeds, st.sampled_from([1, 2, 3, 4, 5, 8, 9, 17, 31]), st.booleans())
def test_products_of_the_design_are_those_of_the_matrix(seed, n_labels, complete):
    """As one matrix where all labels have all features, pair by pair elsewhere."""
    matrix, active, _, _ = random_problem(seed, n_labels)
    if not complete:
        active = active.some(np.flatnonzero(np.arange(len(active)) % 4))
    design = Design(active, n_labels, len(matrix))
    rng = np.random.default_rng(seed)
    weights, totals = rng.normal(size=len(active)), rng.normal(size=(n_labels, len(matrix)))
    ones, none = np.ones(len(matrix)), np.zeros(n_labels)
    np.testing.assert_allclose(design.spread(weights), scores_of(matrix, active, ones, weights, none), atol=1e-12)
    for squared in (False, True):
        expected = (totals @ (matrix**2 if squared else matrix))[active.labels, active.rows]
        np.testing.assert_allclose(design.collect(totals, squared), expected, atol=1e-12)
    assert design.some(np.arange(len(active))) is design


def random_columns(seed):
    """Lists of documents of columns of all densities, some with values; and how many documents there are."""
    rng = np.random.default_rng(seed)
    n, parts = int(rng.integers(1, 140)), []
    for has_values in rng.permutation([False] * 2 + [True] * (seed % 2)).tolist():
        matrix = rng.random((n, 8)) < np.array([0.0, 1.0, *rng.random(6) ** 2])
        starts = np.concatenate([[0], np.cumsum(matrix.sum(axis=0))]).astype(np.int64)
        documents = np.nonzero(matrix.T)[1].astype(np.int32)
        parts.append((starts, documents, rng.uniform(0.1, 2.0, len(documents)) if has_values else np.empty(0)))
    return rng, parts, n


def of_random_pairs(columns, rng, n_labels):
    labels = np.sort(rng.integers(n_labels, size=40))
    rows = rng.integers(len(columns.are_bits), size=40)
    return Active(columns, rows, labels, rng.uniform(0.5, 2.0, 40), rng.normal(size=40) * (rng.random(40) < 0.7))


@given(seeds)
def test_columns_of_bits_are_those_of_lists(seed):
    rng, parts, n = random_columns(seed)
    lists, columns = concatenated(parts), joined_columns([packed_columns(part, n) for part in parts])
    for unpacked in (solve_columns.UNPACKED, 200):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(solve_columns, "UNPACKED", unpacked)
            for found, expected in zip(columns.lists(), lists, strict=True):
                np.testing.assert_array_equal(found, expected, strict=True)
    assert columns.n_entries == len(lists[1])
    assert columns.are_bits.any()
    assert not columns.are_bits.all()
    assert (np.diff(columns.starts) <= np.maximum(np.diff(lists[0]), 1)).all()
    order = rng.permutation(len(columns.are_bits))
    for found, expected in zip(columns.reordered(order).lists(), reordered(lists, order), strict=True):
        np.testing.assert_array_equal(found, expected)
    chosen = rng.random(len(order)) < 0.5
    *found, values = columns.some(chosen).lists()
    *expected, all_values = reordered(lists, np.flatnonzero(chosen))
    for of_found, of_expected in zip(found, expected, strict=True):
        np.testing.assert_array_equal(of_found, of_expected)
    # None where all are 1.
    np.testing.assert_array_equal(values if len(values) else np.ones(len(all_values)), all_values)


def test_columns_that_are_gone_leave_no_values_behind():
    """Sums with values have other last digits than those without: a training that goes on from a file has none."""
    n, ones = 40, (np.array([0, 3, 33]), np.concatenate([[1, 5, 9], np.arange(30)]).astype(np.int32), np.empty(0))
    valued = np.array([0, 2]), np.array([3, 4], np.int32), np.array([0.5, 2.0])
    alone = packed_columns(ones, n)
    kept = joined_columns([alone, packed_columns(valued, n)]).some(np.array([True, True, False]))
    of_ones = joined_columns([alone, packed_columns((*valued[:2], np.ones(2)), n)])
    for columns in (kept, of_ones):
        assert not len(columns.values)
    for part, expected in zip(kept, alone, strict=True):
        np.testing.assert_array_equal(part, expected)


@given(seeds, st.integers(1, 3))
def test_products_of_bits_and_in_threads_are_the_same_bits(seed, n_labels):
    """As those of lists by one thread."""
    rng, parts, n = random_columns(seed)
    columns = joined_columns([packed_columns(part, n) for part in parts])
    active = of_random_pairs(columns, rng, n_labels)
    lists = replace(active, columns=PackedColumns(*concatenated(parts), np.zeros(active.n_rows, np.bool_)))
    totals = rng.normal(size=(n_labels, n))
    plain = Design(lists, n_labels, n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(design_module, "THREADS_FROM", 0)
        for n_threads in (1, 2, 3):
            design = Design(active, n_labels, n, n_threads)
            np.testing.assert_array_equal(design.spread(active.weights), plain.spread(active.weights))
            for squared in (False, True):
                np.testing.assert_array_equal(design.collect(totals, squared), plain.collect(totals, squared))
    dense = np.zeros((2, len(active), n), np.float32)
    kernels.fill(active.pairs, totals[0], 0, dense[0])
    kernels.fill(lists.pairs, totals[0], 0, dense[1])
    np.testing.assert_array_equal(dense[0], dense[1])
    for pairs in (active.pairs, lists.pairs):
        for first in range(0, n, 32):
            part = np.zeros((len(active), min(32, n - first)), np.float32)
            kernels.fill(pairs, totals[0], first, part)
            np.testing.assert_array_equal(part, dense[0][:, first : first + 32])


@given(seeds, st.integers(1, 3))
def test_the_optimum_over_bits_and_in_threads_is_the_same_bits(seed, n_labels):
    """Of three labels not all have every feature: those would be products of one matrix."""
    _, active, loss, scale = random_problem(seed, n_labels, n=40)
    active = active.some(np.flatnonzero(np.arange(len(active)) % 4))
    lists = PackedColumns(*active.columns.lists(), np.zeros(active.n_rows, np.bool_))
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(design_module, "THREADS_FROM", 0)
        for columns, n_threads in ((lists, 1), (active.columns, 1), (active.columns, 2), (active.columns, 3)):
            moved = replace(active, columns=columns, weights=np.zeros(len(active)))
            restricted = Restricted(loss, scale, ElasticNet(0.3, 0.0), Coupling.none(len(active)), n_threads=n_threads)
            intercepts, scores = np.zeros(n_labels), np.zeros((n_labels, 40))
            restricted.minimise(moved, intercepts, scores, 1e-6)
            found.append([*moved.weights, *intercepts, *scores.ravel()])
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def random_dense(rng, n_labels, n_documents):
    """A few dense columns, or none, with weights."""
    columns = DenseColumns(rng.normal(size=(rng.integers(0, 4), n_documents)))
    return Dense(columns, float(rng.choice([0.1, 1.0])), rng.normal(size=(n_labels, len(columns.values))))


def quadratic(seed, n_labels, ridge=0.1, n=12):
    matrix, active, loss, scale = random_problem(seed, n_labels, n)
    rng = np.random.default_rng(seed)
    active.weights[:] = rng.normal(size=len(active)) * (rng.random(len(active)) < 0.5)
    dense = random_dense(rng, n_labels, len(scale))
    scores = scores_of(matrix, active, scale, active.weights, np.zeros(n_labels)) + dense.spread(dense.weights)
    _, p = loss.value_and_probabilities(scores)
    return matrix, QuadraticModel(
        Design(active, *p.shape), loss, scale, p, ElasticNet(0.3, ridge).on(active.penalty_weights),
        Coupling.none(len(active)), dense,
    )  # fmt: skip


@given(seeds, st.integers(1, 3))
def test_minimum_of_the_quadratic_model(seed, n_labels):
    """No small move lowers the model from what it calls its minimum."""
    matrix, model = quadratic(seed, n_labels)
    minimum = model.minimum(1e-9)
    at_minimum = model.change(minimum)
    np.testing.assert_allclose(
        minimum.scores,
        scores_of(matrix, model.active, model.scale, minimum.weights - model.active.weights, minimum.intercepts)
        + model.dense.spread(minimum.dense),
        atol=1e-9,
    )
    assert at_minimum <= 1e-12
    rng = np.random.default_rng(seed)
    for _ in range(20):
        weights = minimum.weights + 1e-4 * rng.normal(size=len(minimum.weights)) * (
            rng.random(len(minimum.weights)) < 0.3
        )
        intercepts = minimum.intercepts + 1e-4 * rng.normal(size=n_labels)
        dense = minimum.dense + 1e-4 * rng.normal(size=minimum.dense.shape)
        scores = scores_of(matrix, model.active, model.scale, weights - model.active.weights, intercepts)
        scores += model.dense.spread(dense)
        assert model.change(Point(weights, intercepts, dense, scores)) >= at_minimum - 1e-11


def test_a_model_at_its_tolerance_needs_no_curvature():
    """Of many labels with few documents, models that are only judged are a quarter of all."""
    _, model = quadratic(0, 2)
    assert model.violation() > 0.0
    assert "curvature" not in vars(model)


def test_a_matrix_without_entries_joins_nothing():
    coupling = Coupling.of_matrix(sparse.csr_array(np.diag([1.0, 0.0, 0.0])))
    assert not coupling.is_none
    for none in (coupling.some(np.array([1, 2])), Coupling.none(2)):
        assert none.is_none
        assert not none.is_operator
        assert none.penalty(np.ones(2)) == 0.0
        np.testing.assert_array_equal(none.block(np.arange(2)), np.zeros((2, 2)))


@given(seeds, st.integers(1, 3), st.booleans())
def test_conjugate_gradients_solve_the_face(seed, n_labels, blocks):
    matrix, model = quadratic(seed, n_labels)
    support = np.flatnonzero(model.active.weights)
    if blocks:
        model.blocks = LabelBlocks(model, support)
    no_move = np.zeros(n_labels), np.zeros(model.dense.weights.shape), np.zeros(model.probabilities.shape)
    point = Point(model.active.weights.copy(), *no_move)
    face = QuadraticFace(model, support)
    towards, solved = face.solve(point, 1e-9, 200)
    assert solved
    assert towards is not None
    weights = point.weights.copy()
    weights[support] += towards.weights
    signs = np.sign(model.active.weights[support])
    r = model.gradient[support] - model.penalty.upper[support] * signs
    r -= 2 * model.penalty.quadratic[support] * weights[support]
    curved = model.loss.hessian_product(model.probabilities, model.scores_of(face.design, towards)) * model.scale
    r -= (curved @ matrix)[model.active.labels, model.active.rows][support]
    np.testing.assert_allclose(r, 0.0, atol=1e-8)


def smooth(seed, n_labels, scale=1.0, coupled=False):
    """A model without L1 over all pairs, and where it begins; columns multiplied by ``scale``."""
    _, model = quadratic(seed, n_labels)
    rows = np.random.default_rng(seed).normal(size=(3, len(model.active)))
    coupling = Coupling.of_matrix(sparse.csr_array(rows.T @ rows)) if coupled else model.coupling
    model = QuadraticModel(
        model.design, model.loss, scale * model.scale, model.probabilities,
        ElasticNet(0.0, 0.1).on(model.active.penalty_weights), coupling, model.dense,
    )  # fmt: skip
    no_move = np.zeros(n_labels), np.zeros(model.dense.weights.shape), np.zeros(model.probabilities.shape)
    return model, Point(model.active.weights.copy(), *no_move)


@given(seeds, st.sampled_from([1, 2, 3, 5, 9, 17]), st.booleans(), st.booleans())
def test_single_precision_solves_the_face_nearly(seed, n_labels, blocks, coupled):
    """Its products, preconditioner, violation and direction are those of double precision, rounded."""
    model, point = smooth(seed, n_labels, coupled=coupled)
    everything = np.arange(len(model.active))
    if blocks:
        model.blocks = LabelBlocks(model, everything)
    double, single = QuadraticFace(model, everything), SingleFace(model, everything)
    r, rounded = double.residual(point), single.residual(point)
    assert single.violation(rounded) == pytest.approx(double.violation(r), rel=1e-5)
    for method in ("product", "precondition"):
        expected, found = getattr(double, method)(r), getattr(single, method)(rounded)
        scale = max(np.abs(expected.weights).max(), np.abs(expected.intercepts).max())
        np.testing.assert_allclose(single.pairs(found.weights), expected.weights, atol=1e-5 * scale)
        np.testing.assert_allclose(found.intercepts, expected.intercepts, atol=1e-5 * scale)
        np.testing.assert_allclose(found.dense, expected.dense, atol=1e-5 * scale)
    towards, solved = single.solve(point, 1e-2 * double.violation(r), 500)
    assert solved
    assert towards is not None
    moved = model.scores_of(model.design, towards)
    there = Point(point.weights + towards.weights, towards.intercepts, towards.dense, moved)
    assert double.violation(double.residual(there)) <= 2e-2 * double.violation(r)


@pytest.mark.parametrize("scale", [1e-30, 1e10, 1e20, 1e25, 1e50])
@pytest.mark.parametrize("balanced", [True, False])
def test_what_single_precision_cannot_hold_is_left_to_double(scale, balanced):
    minima = []
    for of_double in (True, False):
        model, point = smooth(3, 3, scale)
        if balanced:
            model.intercept_gradient[:] = 0.0
        minima.append(model._solved(point, 1e-6, QuadraticFace) if of_double else model.minimum(1e-6))
    if scale < 1e20:
        assert model.change(minima[1]) <= 0.999 * model.change(minima[0]) < 0.0
    else:
        assert SingleFace(model, np.arange(len(model.active))).solve(point, 1e-6, 50) == (None, False)
        np.testing.assert_array_equal(minima[1].weights, minima[0].weights)


@given(seeds, st.integers(1, 3))
def test_blocks_of_documents_in_parts_and_in_threads_are_those_of_all(seed, n_labels):
    """With the ridge, and a little more on the diagonal."""
    matrix, model = quadratic(seed, n_labels, n=80)
    support = np.flatnonzero(model.active.weights)
    found = []
    with pytest.MonkeyPatch.context() as patch:
        for n_documents, n_threads in ((2**13, 1), (32, 1), (32, 3)):
            patch.setattr(quadratic_module, "GRAM_DOCUMENTS", n_documents)
            model.design.n_threads = n_threads
            found.append(LabelBlocks(model, support).grams)
    curvature = model.loss.variances(model.probabilities) * model.scale**2
    labels = [y for y in range(n_labels) if (model.active.labels[support] == y).any()]
    for y, whole, parts, threads in zip(labels, *found, strict=True):
        members = support[model.active.labels[support] == y]
        columns = matrix[:, model.active.rows[members]]
        expected = columns.T @ (curvature[y][:, np.newaxis] * columns) + 2.0 * np.diag(model.penalty.quadratic[members])
        np.testing.assert_allclose(whole, expected, rtol=2e-4, atol=1e-5)
        np.testing.assert_allclose(parts, whole, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(threads, parts)


def test_a_block_that_is_indefinite_after_rounding_has_no_factor():
    """Its pairs keep the diagonal, and the system is solved all the same."""
    assert factor_of(np.array([[1.0, 1.1], [1.1, 1.0]], np.float32)) is None
    factor, _ = factor_of(np.array([[4.0, 2.0], [2.0, 5.0]], np.float32))
    np.testing.assert_array_equal(np.triu(factor), [[2.0, 1.0], [0.0, 2.0]])
    _, model = quadratic(1, 2)
    support = np.flatnonzero(model.active.weights)
    model.blocks = LabelBlocks(model, support)
    for gram in model.blocks.grams:
        gram[:] = -1.0
    face = QuadraticFace(model, support)
    assert face.factors == []
    no_move = np.zeros(2), np.zeros(model.dense.weights.shape), np.zeros(model.probabilities.shape)
    _, solved = face.solve(Point(model.active.weights.copy(), *no_move), 1e-9, 200)
    assert solved


def test_blocks_that_single_precision_cannot_hold_are_not_made():
    _, model = quadratic(1, 2)
    model.scale = 1e25 * model.scale
    assert LabelBlocks(model, np.flatnonzero(model.active.weights)).grams == []


@given(seeds, st.integers(1, 3))
def test_products_of_dense_columns_in_parts_and_in_threads_are_those_of_all(seed, n_labels):
    rng = np.random.default_rng(seed)
    dense = random_dense(rng, n_labels, 40)
    totals = rng.normal(size=(n_labels, 40))
    expected = dense.weights @ dense.columns.values, totals @ dense.columns.values.T
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dense_module, "DOCUMENTS_OF_PART", 16)
        for n_threads in (1, 2, 3):
            of_threads = replace(dense, n_threads=n_threads)
            found.append((of_threads.spread(dense.weights), of_threads.collect(totals)))
    for products in found:
        for product, of_one, of_all in zip(products, found[0], expected, strict=True):
            np.testing.assert_array_equal(product, of_one)
            np.testing.assert_allclose(product, of_all, atol=1e-12)


@given(
    seeds,
    st.integers(2, 4),
    # Without L1, as in a refit, a ridge alone; a sign can be forbidden all the same.
    st.sampled_from([(0.1, 0.0), (0.1, 0.2), (0.5, 0.0), (0.5, 0.2), (2.0, 0.0), (2.0, 0.2), (0.0, 0.2)]),
    st.sampled_from([(1.0, 1.0), (1.0, 1.0), (1.0, 5.0), (np.inf, 1.0), (2.0, np.inf)]),
)
def test_restricted_optimum_is_the_dense_optimum(seed, n_labels, strengths, sign_factors):
    l1, ridge = strengths
    matrix, active, loss, scale = random_problem(seed, n_labels)
    intercepts, scores = np.zeros(n_labels), np.zeros(loss.targets.shape)
    restricted = Restricted(loss, scale, ElasticNet(l1, ridge, *sign_factors), Coupling.none(len(active)))
    restricted.minimise(active, intercepts, scores, 1e-8)
    assert restricted.violation(active, scores) <= 1e-6
    np.testing.assert_allclose(scores, scores_of(matrix, active, scale, active.weights, intercepts), atol=1e-8)
    objective = loss.value_and_probabilities(scores)[0] + penalty_value(restricted, active)
    penalty = np.zeros((matrix.shape[1], n_labels))
    penalty[active.rows, active.labels] = active.penalty_weights
    expected, _, _ = dense_optimum(
        matrix * scale[:, None], loss.targets.T, loss.importance, l1, ridge, penalty, sign_factors=sign_factors
    )
    assert objective == pytest.approx(expected, rel=1e-6)


@given(seeds)
def test_objective_never_rises(seed):
    _, active, loss, scale = random_problem(seed, 3)
    rng = np.random.default_rng(seed)
    active.weights[:] = 5.0 * rng.normal(size=len(active))
    intercepts = np.zeros(3)
    scores = np.zeros(loss.targets.shape)
    kernels.spread(active.pairs, active.weights, scores, 0, scores.shape[1])
    scores *= scale
    restricted = Restricted(loss, scale, ElasticNet(0.5, 0.0), Coupling.none(len(active)))
    last = loss.value_and_probabilities(scores)[0] + penalty_value(restricted, active)
    for tolerance in (10.0, 1.0, 0.1, 1e-3):
        restricted.minimise(active, intercepts, scores, tolerance)
        now = loss.value_and_probabilities(scores)[0] + penalty_value(restricted, active)
        assert now <= last + 1e-9
        last = now


def test_a_document_that_is_certain_and_wrong_does_not_throw_the_step():
    """At scores of 40 the loss has slope 1 and no curvature: plain Newton would go 10^17 far."""
    starts, documents = np.array([0, 1, 3]), np.array([0, 0, 1], np.int32)
    columns = packed_columns((starts, documents, np.empty(0)), 3)
    active = Active(columns, np.array([0, 1]), np.zeros(2, np.int64), np.ones(2), np.array([0.0, 40.0]))
    loss = LogisticLoss(np.array([[0.0, 1.0, 0.0]]), np.ones(3))
    scores = np.array([[40.0, 40.0, 0.0]])
    restricted = Restricted(loss, np.ones(3), ElasticNet(0.01, 0.0), Coupling.none(2))
    restricted.minimise(active, np.zeros(1), scores, 1e-8)
    assert restricted.violation(active, scores) <= 1e-6
    assert np.abs(active.weights).max() < 100


def test_zeros_leave_and_columns_are_renumbered():
    columns = np.array([0, 2, 3, 5]), np.array([0, 1, 2, 3, 4], np.int32), np.arange(5.0)
    rows, labels = np.array([0, 2, 1, 2]), np.array([0, 0, 1, 1])
    active = Active(packed_columns(columns, 5), rows, labels, np.arange(1.0, 5.0), np.array([0.0, 1.0, 0.0, 2.0]))
    left, used = active.without_zeros(np.empty(0, np.int64))
    np.testing.assert_array_equal(used, [False, False, True])
    documents, values = left.columns.column(0)
    np.testing.assert_array_equal(documents, [3, 4])
    np.testing.assert_array_equal(values, [3.0, 4.0])
    np.testing.assert_array_equal(left.rows, [0, 0])
    np.testing.assert_array_equal(left.labels, [0, 1])
    np.testing.assert_array_equal(left.penalty_weights, [2.0, 4.0])


@given(seeds, st.integers(1, 3))
def test_positive_and_negative_weights_can_have_prices_of_their_own(seed, n_labels):
    """The solver knows the penalty by its subgradients only: no move lowers a model whose two sides differ."""
    _, model = quadratic(seed, n_labels)
    rng = np.random.default_rng(seed)
    upper, lower = rng.uniform(0.0, 1.0, len(model.active)), rng.uniform(0.0, 1.0, len(model.active))
    upper[0], lower[0] = 0.2, 1e6
    weights = np.maximum(model.active.weights, 0.0)
    model.active.weights[:] = weights
    signed = PairPenalty(upper, lower, model.penalty.quadratic)
    model = QuadraticModel(
        model.design, model.loss, model.scale, model.probabilities, signed, Coupling.none(len(weights)), model.dense
    )
    minimum = model.minimum(1e-9)
    at_minimum = model.change(minimum)
    assert minimum.weights[0] >= 0.0
    for _ in range(20):
        moved = minimum.weights + 1e-4 * rng.normal(size=len(weights)) * (rng.random(len(weights)) < 0.3)
        scores = model.scores_of(model.design, Direction(moved - weights, minimum.intercepts, minimum.dense))
        assert model.change(Point(moved, minimum.intercepts, minimum.dense, scores)) >= at_minimum - 1e-11


def test_subgradients_of_a_penalty():
    penalty = PairPenalty(np.array([1.0, 1.0, 1.0]), np.array([2.0, 2.0, 2.0]), np.zeros(3))
    weights = np.array([0.5, 0.0, -0.5])
    assert penalty.value(weights) == 1.5
    np.testing.assert_array_equal(penalty.slopes(weights), [1.0, 0.0, -2.0])
    np.testing.assert_array_equal(penalty.violations(weights, np.array([1.0, 1.5, -2.0])), [0.0, 0.5, 0.0])
    np.testing.assert_array_equal(penalty.violations(weights, np.array([0.5, -2.5, -1.0])), [0.5, 0.5, 1.0])


class SignedL1(ElasticNet):
    """L1 with another strength for negative weights."""

    def value(self, weights, penalty_weights):
        return self.on(penalty_weights).value(weights)

    def on(self, penalty_weights):
        symmetric = super().on(penalty_weights)
        return PairPenalty(symmetric.upper, 3.0 * symmetric.lower, symmetric.quadratic)


def test_every_part_of_the_loss_of_candidates():
    """Finite differences of the value, and what the base class derives."""
    groups = np.array([0, 0, 0, 1, 1], np.int32)
    loss = CandidateLoss(np.array([[1.0, 0.0, 0.0, 0.3, 0.7]]), np.array([2.0, 2.0, 2.0, 0.5, 0.5]), groups)
    rng = np.random.default_rng(0)
    scores, direction = rng.normal(size=(1, 5)), rng.normal(size=(1, 5))
    _, p = loss.value_and_probabilities(scores)
    (up, p_up), (down, p_down) = (loss.value_and_probabilities(scores + h * direction) for h in (1e-5, -1e-5))
    assert (up - down) / 2e-5 == pytest.approx(-np.vdot(loss.residuals(p), direction), abs=1e-7)
    moved = loss.importance * (p_up - p_down) / 2e-5
    np.testing.assert_allclose(loss.hessian_product(p, direction), moved, atol=1e-8)
    np.testing.assert_array_equal(loss.optimal_intercepts(scores), [0.0])
    first = loss.of_documents(groups == 0)
    assert first.value_and_probabilities(scores)[0] == pytest.approx(2.0 * -np.log(p[0, 0]))
    # The conjugacy that the certificate rests on: at r = p the dual plus <residuals, scores> is the value.
    assert loss.entropy(p) + np.vdot(loss.residuals(p), -scores) == pytest.approx(up / 2 + down / 2, abs=1e-4)


@given(seeds, st.sampled_from([0.05, 0.3]), st.sampled_from([0.0, 0.2]))
def test_another_loss_and_another_penalty_are_solved_alike(seed, l1, ridge):
    """The optimum of a dense solver, with weights split in two so that the penalty is linear."""
    matrix, active, _, scale = random_problem(seed, 1, n=15)
    rng = np.random.default_rng(seed)
    groups = np.sort(rng.integers(0, 5, 15)).astype(np.int32)
    groups = np.unique(groups, return_inverse=True)[1].astype(np.int32)
    raw = rng.uniform(0.0, 1.0, 15)
    importance = rng.uniform(0.5, 2.0, groups.max() + 1)[groups]
    loss = CandidateLoss((raw / np.bincount(groups, raw)[groups])[None, :], importance, groups)
    penalty = SignedL1(l1, ridge)
    restricted = Restricted(loss, scale, penalty, Coupling.none(len(active)))
    intercepts, scores = np.zeros(1), np.zeros((1, 15))
    restricted.minimise(active, intercepts, scores, 1e-8)
    assert restricted.violation(active, scores) <= 1e-6
    assert intercepts[0] == 0.0
    found = loss.value_and_probabilities(scores)[0] + penalty_value(restricted, active)
    columns, pairs = matrix * scale[:, None], penalty.on(active.penalty_weights)

    def dense(split):
        weights = split[: len(active)] - split[len(active) :]
        value, p = loss.value_and_probabilities((columns @ weights)[None, :])
        gradient = 2.0 * pairs.quadratic * weights - columns.T @ loss.residuals(p)[0]
        slopes = np.concatenate([pairs.upper, pairs.lower])
        value += slopes @ split + pairs.quadratic @ weights**2
        return value, np.concatenate([gradient, -gradient]) + slopes

    start = np.zeros(2 * len(active))
    best = scipy.optimize.minimize(dense, start, jac=True, bounds=[(0.0, None)] * len(start), tol=1e-14)
    assert found <= best.fun + 1e-7 * max(1.0, abs(best.fun))


@pytest.mark.parametrize("n_labels", [1, 3, 4, 6, 8, 9, 13, 20])
@pytest.mark.parametrize("real", [False, True])
def test_rows_of_a_matrix_are_summed_in_order(n_labels: int, real: bool) -> None:
    rng = np.random.default_rng(n_labels)
    matrix = sparse.csr_array(rng.random((30, 40)) * (rng.random((30, 40)) < 0.2))
    values = matrix.data if real else np.ones(matrix.nnz)
    starts, entries = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    product = Matrix(starts, entries, values if real else np.empty(0)).products(
        vectors := rng.normal(size=(n_labels, 40))
    )
    expected = np.zeros((n_labels, 30))
    for k in range(30):
        for e in range(starts[k], starts[k + 1]):
            expected[:, k] += values[e] * vectors[:, entries[e]]
    np.testing.assert_array_equal(product, expected)
    by_column = Matrix(*transposed(starts, entries, values if real else np.empty(0), 40))
    dense = sparse.csr_array((values, entries, starts), (30, 40)).toarray()
    back = rng.normal(size=(n_labels, 30))
    np.testing.assert_allclose(by_column.products(back), back @ dense, atol=1e-12)


@pytest.mark.parametrize("n_labels", [1, 3, 12, 20])
def test_products_by_threads_are_the_same_bits(n_labels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(design_module, "THREADS_FROM", 0)
    rng = np.random.default_rng(n_labels)
    for n_rows, density in ((0, 0.0), (1, 0.5), (700, 0.0), (700, 0.1)):
        rows = sparse.csr_array(rng.random((n_rows, 40)) * (rng.random((n_rows, 40)) < density))
        matrix = Matrix(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data)
        vectors = rng.normal(size=(n_labels, 40))
        products, sums = matrix.products(vectors), matrix.sums(as_lanes(vectors))
        np.testing.assert_array_equal(sums[:, :n_labels].T, products)
        assert not sums[:, n_labels:].any()
        for n_threads in (2, 3):
            np.testing.assert_array_equal(matrix.products(vectors, n_threads), products)
            np.testing.assert_array_equal(matrix.sums(as_lanes(vectors, n_threads), n_threads), sums)
        single = as_lanes(vectors, single=True)
        of_single = matrix.sums(single)
        np.testing.assert_allclose(of_single, sums, rtol=1e-5, atol=1e-5)
        for n_threads in (2, 3):
            np.testing.assert_array_equal(matrix.sums(single, n_threads), of_single)
