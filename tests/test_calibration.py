"""Metrics and calibration of arrays, compared with plain loops."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import logsumexp

from spacy_graft import metrics
from spacy_graft.adjustment import best_adjustment
from spacy_graft.metrics import (
    best_thresholds,
    brier,
    expected_calibration_error,
    log_loss,
    logistic,
    reliability,
    softmax,
)


@dataclass
class Case:
    scores: np.ndarray
    targets: np.ndarray
    known: np.ndarray
    weights: np.ndarray
    exclusive: bool

    @property
    def probabilities(self) -> np.ndarray:
        return softmax(self.scores) if self.exclusive else logistic(self.scores)

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self.probabilities, self.targets, self.known, self.weights

    def counts(self, i: int, y: int) -> bool:
        return bool(self.known[i].any() if self.exclusive else self.known[i, y])

    @property
    def documents(self) -> list[int]:
        return [i for i in range(len(self.known)) if self.known[i].any()]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Scores of a few documents and labels, with soft targets at times."""
    n, labels = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    exclusive = draw(st.booleans()) and labels > 1
    if exclusive:
        targets = np.eye(labels)[rng.integers(labels, size=n)]
    else:
        targets = rng.integers(2, size=(n, labels)).astype(np.float64)
    if draw(st.booleans()):
        targets = 0.75 * targets + 0.25 / labels
    scores = np.round(draw(st.sampled_from([0.5, 3.0])) * rng.standard_normal((n, labels)), draw(st.integers(0, 8)))
    known = rng.random((n, labels)) < draw(st.sampled_from([0.3, 1.0]))
    return Case(scores, targets, known, rng.choice([0.5, 1.0, 3.0], n), exclusive)


def weighted_mean(values: list[float], weights: list[float]) -> float:
    return sum(v * w for v, w in zip(values, weights, strict=True)) / sum(weights) if weights else 0.0


@given(cases())
def test_log_loss_beside_a_loop(case: Case) -> None:
    losses, weights = [], []
    p, q = case.probabilities, case.targets
    for i in case.documents:
        loss = 0.0
        for y in range(q.shape[1]):
            if case.counts(i, y):
                loss -= q[i, y] * math.log(p[i, y])
                loss -= 0.0 if case.exclusive else (1.0 - q[i, y]) * math.log(1.0 - p[i, y])
        losses.append(loss)
        weights.append(case.weights[i])
    assert log_loss(*case.arrays, exclusive=case.exclusive) == pytest.approx(weighted_mean(losses, weights))


@given(cases())
def test_brier_beside_a_loop(case: Case) -> None:
    squares: list[float] = []
    weights: list[float] = []
    for i in case.documents:
        row = (case.probabilities[i] - case.targets[i]) ** 2
        own = [sum(row)] if case.exclusive else [row[y] for y in range(len(row)) if case.counts(i, y)]
        squares += own
        weights += [case.weights[i]] * len(own)
    assert brier(*case.arrays, exclusive=case.exclusive) == pytest.approx(weighted_mean(squares, weights))


def predictions(case: Case) -> list[tuple[float, float, float]]:
    """Confidence, truth and weight."""
    found = []
    p, q = case.probabilities, case.targets
    for i in case.documents:
        best = int(p[i].argmax())
        for y in [best] if case.exclusive else [y for y in range(q.shape[1]) if case.counts(i, y)]:
            found.append((float(p[i, y]), float(q[i, y]), float(case.weights[i])))
    return found


@given(cases(), st.integers(1, 12))
def test_reliability_and_calibration_error_equal_a_loop(case: Case, n_bins: int) -> None:
    bins = reliability(*case.arrays, exclusive=case.exclusive, n_bins=n_bins)
    assert len(bins) == n_bins
    total = error = 0.0
    for k, found in enumerate(bins):
        low, high = k / n_bins, (k + 1) / n_bins
        inside = [one for one in predictions(case) if low <= one[0] < high or (k == n_bins - 1 and one[0] == 1.0)]
        weights = [one[2] for one in inside]
        confidence, accuracy = (weighted_mean([one[part] for one in inside], weights) for part in (0, 1))
        assert astuple(found) == pytest.approx((low, high, sum(weights), confidence, accuracy))
        total += sum(weights)
        error += sum(weights) * abs(accuracy - confidence)
    assert expected_calibration_error(bins) == pytest.approx(error / total if total else 0.0)


def test_by_hand() -> None:
    p, q = np.array([[0.75, 0.25], [0.25, 0.75], [0.9, 0.1]]), np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    assert log_loss(p, q, exclusive=True) == pytest.approx(-math.log(0.75 * 0.25 * 0.9) / 3)
    assert brier(p, q, exclusive=True) == pytest.approx((2 * 0.0625 + 2 * 0.5625 + 2 * 0.01) / 3)
    assert brier(p, q, exclusive=False) == pytest.approx((0.0625 + 0.5625 + 0.01) / 3)
    bins = reliability(p, q, exclusive=True)
    assert [found.count for found in bins] == [0, 0, 0, 0, 0, 0, 0, 2, 0, 1]
    assert (bins[7].confidence, bins[7].accuracy) == (0.75, 0.5)
    assert expected_calibration_error(bins) == pytest.approx((2 * 0.25 + 0.1) / 3)


def test_certainty_that_is_wrong_costs_much_and_not_everything() -> None:
    p = np.array([[1.0, 0.0]])
    assert 700.0 < log_loss(p, 1.0 - p, exclusive=True) < 710.0
    assert log_loss(p, p, exclusive=True) == log_loss(p, p, exclusive=False) == 0.0
    assert reliability(p, p, exclusive=True)[-1].count == 1


def test_metrics_without_documents_are_0() -> None:
    p, known = np.full((2, 2), 0.5), np.zeros((2, 2), bool)
    for exclusive in (True, False):
        assert log_loss(p, p, known, exclusive=exclusive) == brier(p, p, known, exclusive=exclusive) == 0.0
        assert expected_calibration_error(reliability(p, p, known, exclusive=exclusive)) == 0.0
        assert metrics.temperature(p, p, known, exclusive=exclusive) is None


@given(cases())
def test_a_temperature_never_raises_log_loss(case: Case) -> None:
    found = metrics.temperature(case.scores, case.targets, case.known, case.weights, exclusive=case.exclusive)
    assume(found is not None)
    assert found is not None

    def loss(temperature: float) -> float:
        cooled = Case(case.scores / temperature, case.targets, case.known, case.weights, case.exclusive)
        return log_loss(*cooled.arrays, exclusive=case.exclusive)

    assert metrics.MIN_TEMPERATURE <= found <= metrics.MAX_TEMPERATURE
    near = np.clip([0.99 * found, 1.01 * found], metrics.MIN_TEMPERATURE, metrics.MAX_TEMPERATURE).tolist()
    for other in (1.0, *near, metrics.MIN_TEMPERATURE, metrics.MAX_TEMPERATURE):
        assert loss(found) <= loss(other) + 1e-12


@pytest.mark.parametrize("exclusive", [True, False])
@pytest.mark.parametrize("factor", [0.2, 1.0, 7.0])
def test_a_temperature_is_recovered(exclusive: bool, factor: float) -> None:
    """Targets that are the probabilities themselves, of scores that are then scaled."""
    scores = np.random.default_rng(0).standard_normal((50, 3))
    targets = softmax(scores) if exclusive else logistic(scores)
    found = metrics.temperature(factor * scores, targets, exclusive=exclusive)
    assert found == pytest.approx(factor, rel=1e-9)


@pytest.mark.parametrize("exclusive", [True, False])
@pytest.mark.parametrize(("factor", "found"), [(0.03, metrics.MIN_TEMPERATURE), (30.0, metrics.MAX_TEMPERATURE)])
def test_beyond_a_bound_the_bound_is_the_best_temperature(exclusive: bool, factor: float, found: float) -> None:
    scores = np.random.default_rng(0).standard_normal((50, 3))
    targets = softmax(scores) if exclusive else logistic(scores)
    assert metrics.temperature(factor * scores, targets, exclusive=exclusive) == found


@given(cases(), st.sampled_from([1e-3, 1.0, 1e3]))
def test_with_a_prior_there_is_always_a_best_temperature(case: Case, factor: float) -> None:
    """The nearest to the minimum, also of scores that know nothing, of scores that know all and of no document."""
    no_tilt = np.ones(case.scores.shape[1])
    arrays = factor * case.scores, no_tilt, case.targets, case.known, case.weights
    found, tilt = best_adjustment(*arrays, exclusive=case.exclusive, prior=0.5)
    assert tilt == 0.0
    assert metrics.MIN_TEMPERATURE <= found <= metrics.MAX_TEMPERATURE

    def loss(temperature: float) -> float:
        """Total log-loss, without the bounds that metrics have for probabilities, and the prior."""
        total = 0.5 * (1.0 / temperature + math.log(temperature))
        for i in case.documents:
            scores, targets = factor * case.scores[i] / temperature, case.targets[i]
            if case.exclusive:
                loss = logsumexp(scores) - scores @ targets
            else:
                loss = (np.logaddexp(0.0, scores) - scores * targets)[case.known[i]].sum()
            total += case.weights[i] * loss
        return float(total)

    for other in (0.99 * found, 1.01 * found, 1.0):
        clipped = float(np.clip(other, metrics.MIN_TEMPERATURE, metrics.MAX_TEMPERATURE))
        assert loss(found) <= loss(clipped) * (1.0 + 1e-12) + 1e-9


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_there_is_no_best_temperature_where_all_or_nothing_is_right(sign: float) -> None:
    targets = np.eye(3)
    assert metrics.temperature(sign * targets, targets, exclusive=True) is None
    assert metrics.temperature(sign * (2.0 * targets - 1.0), targets, exclusive=False) is None


def f1(probabilities: np.ndarray, positive: np.ndarray, threshold: float) -> float:
    predicted = probabilities >= threshold
    return 2.0 * float((predicted & positive).sum()) / float(predicted.sum() + positive.sum())


@given(cases())
def test_thresholds_are_the_best_of_all(case: Case) -> None:
    p = logistic(case.scores)
    for y, threshold in enumerate(best_thresholds(p, case.targets, case.known)):
        own, positive = p[case.known[:, y], y], case.targets[case.known[:, y], y] >= 0.5
        if not positive.any():
            assert threshold is None
            continue
        assert threshold is not None
        assert 0.0 <= threshold <= 1.0
        best = max(f1(own, positive, value) for value in [0.0, *own, *np.linspace(0.0, 1.0, 21)])
        assert f1(own, positive, threshold) == best
        middles = [(a + b) / 2.0 for a, b in zip(sorted({0.0, *own}), sorted({*own}), strict=False)]
        equal = [abs(value - 0.5) for value in middles if f1(own, positive, value) == best]
        assert abs(threshold - 0.5) == min(equal)


def test_thresholds_outlive_ten_decimals() -> None:
    p = np.array([[0.5], [0.5 + 1e-10], [0.7], [0.7 + 1e-8]])
    assert best_thresholds(p, np.array([[0.0], [1.0], [1.0], [1.0]])) == [0.25]
    assert best_thresholds(p, np.array([[0.0], [0.0], [0.0], [1.0]])) == [pytest.approx(0.7 + 5e-9, abs=1e-12)]


def test_a_threshold_of_all_documents() -> None:
    for least, threshold in [(0.0, 0.0), (1e-12, 0.0), (0.5, 0.25)]:
        assert best_thresholds(np.array([[least], [0.6]]), np.ones((2, 1))) == [threshold]
