"""What held-out documents change in scores, beside an optimiser that knows nothing of the problem."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from spacy_graft.adjustment import TILT_SPREAD, Adjustment, best_adjustment, logs_of
from spacy_graft.held_out import Judge, PlainTargets
from spacy_graft.metrics import MAX_TEMPERATURE, MIN_TEMPERATURE, as_probabilities


def test_a_label_without_documents_has_half_of_the_least_share() -> None:
    assert logs_of(np.array([0.5, 0.0, 0.2])) == pytest.approx(np.log([0.5, 0.1, 0.2]))
    assert logs_of(np.zeros(3)).tolist() == [0.0] * 3


def objective(
    factors: np.ndarray,
    scores: np.ndarray,
    logs: np.ndarray,
    targets: np.ndarray,
    importance: np.ndarray,
    exclusive: bool,
    prior: float,
) -> float:
    """As the module has it, of 1/T and τ."""
    sharpness, tilt = factors
    f = sharpness * scores + tilt * logs
    if exclusive:
        log_p = f - np.logaddexp.reduce(f, axis=1, keepdims=True)
        losses = -(targets * log_p).sum(axis=1)
    else:
        losses = (targets * np.logaddexp(0.0, -f) + (1.0 - targets) * np.logaddexp(0.0, f)).sum(axis=1)
    of_priors = prior * (sharpness - 1.0 - np.log(sharpness))
    return float(importance @ losses + of_priors + tilt**2 / (2.0 * TILT_SPREAD**2))


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 30),
    n_labels=st.integers(2, 5),
    size=st.sampled_from([0.0, 0.01, 1.0, 30.0, 1e4]),
    exclusive=st.booleans(),
    prior=st.sampled_from([1e-3, 1.0, 10.0]),
)
def test_no_other_adjustment_has_a_lower_loss(
    seed: int, n: int, n_labels: int, size: float, exclusive: bool, prior: float
) -> None:
    rng = np.random.default_rng(seed)
    scores = size * rng.normal(size=(n, n_labels))
    shares = rng.dirichlet(np.ones(n_labels))
    targets = rng.dirichlet(np.ones(n_labels), size=n) if exclusive else rng.random((n, n_labels)).round(1)
    weights = rng.uniform(0.5, 2.0, n)
    found = best_adjustment(scores, shares, targets, weights=weights, exclusive=exclusive, prior=prior)
    rest = scores, logs_of(shares), targets, weights, exclusive, prior
    best = minimize(
        objective,
        [1.0, 0.0],
        rest,
        method="L-BFGS-B",
        bounds=[(1.0 / MAX_TEMPERATURE, 1.0 / MIN_TEMPERATURE), (None, None)],
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    assert MIN_TEMPERATURE * (1.0 - 1e-12) <= found.temperature <= MAX_TEMPERATURE * (1.0 + 1e-12)
    factors = np.array([1.0 / found.temperature, found.tilt])
    assert objective(factors, *rest) <= best.fun + 1e-9 * (1.0 + abs(best.fun))


@pytest.mark.parametrize("exclusive", [True, False])
def test_what_scores_lack_is_found(exclusive: bool) -> None:
    rng = np.random.default_rng(0)
    shares = np.array([0.4, 0.3, 0.2, 0.07, 0.03])
    true = Adjustment(1.5, -0.3)
    scores = 3.0 * rng.normal(size=(20_000, 5)) + np.log(shares)
    probabilities = as_probabilities(true.of(scores, shares), exclusive)
    draws = rng.random((20_000, 5))
    if exclusive:
        targets = np.eye(5)[(draws[:, :1] > probabilities.cumsum(axis=1)).sum(axis=1).clip(max=4)]
    else:
        targets = (draws < probabilities).astype(np.float64)
    found = best_adjustment(scores, shares, targets, exclusive=exclusive, prior=1.0)
    assert found == pytest.approx(true, abs=0.05)


def test_as_many_documents_of_each_label_ask_for_no_tilt() -> None:
    scores, targets = np.random.default_rng(0).normal(size=(30, 3)), np.eye(3)[[0, 1, 1] * 10]
    assert best_adjustment(scores, np.full(3, 1.0 / 3.0), targets, exclusive=True, prior=1.0).tilt == 0.0


def test_labels_that_are_not_known_count_for_nothing() -> None:
    rng = np.random.default_rng(0)
    scores, shares = rng.normal(size=(50, 3)), np.array([0.5, 0.2, 0.1])
    targets, known = rng.random((50, 3)).round(), rng.random((50, 3)) < 0.6
    results = [
        best_adjustment(
            np.where(known, scores, other), shares, np.where(known, targets, 1.0), known, exclusive=False, prior=1.0
        )
        for other in (0.0, 5.0)
    ]
    assert results[0] == pytest.approx(results[1], rel=1e-9)
    nothing = best_adjustment(scores, shares, targets, np.zeros_like(known), exclusive=False, prior=1.0)
    assert nothing == pytest.approx(Adjustment(), abs=1e-9)


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e9])
@pytest.mark.parametrize("exclusive", [True, False])
def test_other_shares_than_those_of_training(exclusive: bool, scale: float) -> None:
    """Rare labels that are not rare there: most probabilities are near 0, where a Newton step goes far beyond."""
    counts = np.array([9000, 900, 90, 9, 1])
    shares, n = counts / counts.sum(), 200
    scores = scale * np.tile(np.log(shares / (1.0 - shares)), (n, 1))
    scores[::7] *= 1e3
    targets = (n * np.eye(5)[np.arange(n) % 5] + (0.2 if exclusive else 0.5)) / (n + 1)
    found = best_adjustment(scores, shares, targets, exclusive=exclusive, prior=0.5)
    rest = scores, logs_of(shares), targets, np.ones(n), exclusive, 0.5
    least = objective(np.array([1.0 / found.temperature, found.tilt]), *rest)
    others = [
        objective(np.array([sharpness, tilt]), *rest)
        for sharpness in np.geomspace(1.0 / MAX_TEMPERATURE, 1.0 / MIN_TEMPERATURE, 30)
        for tilt in [*np.linspace(-2.0, 2.0, 41), found.tilt]
    ]
    assert least <= min(others) * (1.0 + 1e-9)


@given(
    st.lists(st.tuples(st.floats(0.01, 0.99), st.floats(0.01, 0.9)), min_size=2, max_size=5),
    st.floats(0.2, 5.0),
    st.floats(-1.0, 1.0),
)
def test_thresholds_before_decide_as_those_after(
    labels: list[tuple[float, float]], temperature: float, tilt: float
) -> None:
    thresholds, shares = map(np.array, zip(*labels, strict=True))
    adjustment = Adjustment(temperature, tilt)
    before = np.array(adjustment.thresholds_before(thresholds.tolist(), shares))
    scores = np.random.default_rng(0).normal(scale=4.0, size=(200, len(labels)))
    after = as_probabilities(adjustment.of(scores, shares), exclusive=False)
    is_clear = np.abs(after - thresholds) > 1e-9
    decided = as_probabilities(scores, exclusive=False) >= before
    assert (decided == (after >= thresholds))[is_clear].all()
    assert Adjustment().thresholds_before(thresholds.tolist(), shares) == thresholds.tolist()


def test_locked_weights_are_not_adjusted() -> None:
    scores = np.random.default_rng(0).normal(size=(30, 2))
    targets = PlainTargets(np.eye(2)[[0, 1, 1] * 10], np.ones((30, 2), np.bool_), np.ones(30))
    shares = np.array([0.1, 0.9])
    assert Judge(targets, True, shares, locked=True).adjustment(scores) == Adjustment()
    assert Judge(targets, True, shares).adjustment(scores) != Adjustment()
