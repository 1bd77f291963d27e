"""The end of a path that meets ``max_features``: between two points, each come down to from above."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from spacy_graft import GraftClassifier
from spacy_graft.graft import memory as memory_module
from spacy_graft.graft.data import TrainingData
from spacy_graft.graft.path import TRIES, PathFit
from spacy_graft.graft.report import Report
from spacy_graft.graft.settings import NEAR, GraftingPath
from spacy_graft.graft.start import start
from strategies import training_data

# Keys of columns, where there is no compiler.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar")
STEPS = 4
#: What a path over :func:`corpus` does at each limit. ``last``: the last strength tried had too large a model.
LIMITS = pytest.mark.parametrize(
    ("limit", "n_tries", "last"),
    [
        pytest.param(5, 2, False, id="before the last point"),
        pytest.param(9, 4, True, id="last try too large"),
        pytest.param(12, 1, False, id="first try fits"),
        pytest.param(15, 4, False, id="no try is near"),
        pytest.param(25, 2, False, id="second try fits"),
    ],
)


@pytest.fixture(scope="module")
def corpus() -> TrainingData:
    rng = np.random.default_rng(8)
    texts = ["".join(rng.choice(list("abcdef "), 25)) for _ in range(150)]
    return training_data(texts, np.eye(2)[[int("ab" in t or "fe" in t) for t in texts]], min_df=2)


def started(corpus: TrainingData, limit: int | None) -> tuple[PathFit, list[tuple[float, int]]]:
    """A path, and a list that takes each L1 strength that it is optimised at with the number of features there."""
    learner = GraftingPath(l1_min_ratio=1e-2, steps=STEPS, ridge=1.0, ngram_power=0.0, max_features=limit, refit=None)
    path = start(learner, corpus)
    assert isinstance(path, PathFit)
    optimise, seen = path.rounds.optimise, []

    def optimise_and_note(l1: float, largest: float = math.inf) -> None:
        optimise(l1, largest=largest)
        seen.append((l1, path.rounds.state.active.n_rows))

    path.rounds.optimise = optimise_and_note  # type: ignore[method-assign]
    return path, seen


def model_of(path: PathFit) -> tuple[list[tuple[int, ...]], np.ndarray, np.ndarray]:
    """Features, weights and intercepts."""
    solution = path.solution()
    return [tuple(term.symbols) for (term,) in solution.terms], solution.weights, solution.intercepts


@LIMITS
def test_a_filled_up_point_is_come_down_to_from_points_that_fit(corpus, limit, n_tries, last):
    """Bit for bit: what was tried in between and was too large has left nothing behind."""
    path, seen = started(corpus, limit)
    while not path.finished:
        path.step()
    sizes = [n_active for _, n_active in seen]
    first_too_large = next(i for i, n_active in enumerate(sizes) if n_active > limit)
    assert len(seen) - first_too_large - 1 == n_tries <= TRIES
    assert (sizes[-1] > limit) == last
    fitting = [l1 for l1, n_active in seen if n_active <= limit]
    assert fitting == sorted(fitting, reverse=True)

    other, _ = started(corpus, None)
    for l1 in fitting:
        other.rounds.optimise(l1)
    assert path.report.l1 == fitting[-1]
    assert path.report.objective == other.rounds.report.objective
    features, weights, intercepts = model_of(path)
    expected_features, expected_weights, expected_intercepts = model_of(other)
    assert len(features) == path.report.n_active
    assert features == expected_features
    np.testing.assert_array_equal(weights, expected_weights)
    np.testing.assert_array_equal(intercepts, expected_intercepts)


def test_a_point_with_just_as_many_features_as_allowed_ends_the_path(corpus):
    """One below it would have nearly the same features. Of a point with 90% of them it is still looked for."""
    path, _ = started(corpus, None)
    while path.report.points < STEPS - 1:
        path.step()
    limit = path.report.n_active
    limited, seen = started(corpus, limit)
    while limited.report.points < STEPS - 1:
        limited.step()
    assert len(seen) == STEPS - 1
    assert limited.finished
    assert limited.report.l1 == path.report.l1
    assert limited.report.n_active == limit
    roomy, _ = started(corpus, round(limit / 0.9))
    while roomy.report.points < STEPS - 1:
        roomy.step()
    assert not roomy.finished


def passed_to(path: PathFit, like: Report) -> PathFit:
    """A path at the point of a report, without stops on the way."""
    while not path.finished and path.report.points < like.points:
        if path.report.points == like.points - 1:
            path.arrive(like)
        else:
            path.pass_by(like.points - 1)
    return path


@pytest.mark.parametrize("points", range(1, STEPS + 1))
def test_a_point_that_is_passed_to_is_certified(corpus, points):
    walked, _ = started(corpus, None)
    while walked.report.points < points:
        walked.step()
    path, seen = started(corpus, None)
    passed_to(path, walked.report)
    assert [l1 for l1, _ in seen] == [walked.report.l1] == [path.report.l1]
    assert path.report.converged
    assert path.report.relative_gap <= path.learner.tol
    gaps = max(path.report.duality_gap, walked.report.duality_gap)
    assert path.report.objective == pytest.approx(walked.report.objective, rel=0.0, abs=gaps)
    assert path.finished == walked.finished


def test_a_strength_below_the_point_is_gone_to_again(corpus):
    """That of a model which was filled with word vectors, but not quite. A report of folds has no strength."""
    for limit in (None, 1000):
        path, seen = started(corpus, limit)
        point = path.report.l1_max * 1e-2 ** (2 / STEPS)
        passed_to(path, replace(path.report, points=2, l1=0.7 * point, n_active=100))
        assert path.report.l1 == seen[-1][0] == pytest.approx(0.7 * point)
        assert path.report.points == 2
        of_folds, _ = started(corpus, limit)
        assert passed_to(of_folds, Report(points=2)).report.l1 == pytest.approx(point)


def test_the_path_of_a_report_may_have_had_more_points(corpus):
    """Its settings have been changed since. The strength is that of the report, if that is below the last point."""
    for ratio, reached in ((2.0, 1e-2), (0.9, 0.9e-2)):
        path, _ = started(corpus, None)
        like = replace(path.report, points=STEPS + 3, l1=ratio * 1e-2 * path.report.l1_max)
        for step in path.steps_to(like):
            step()
        assert path.finished
        assert path.report.points == STEPS
        assert path.report.l1_ratio == pytest.approx(reached)


@LIMITS
def test_a_full_point_is_found_again_at_once(corpus, limit, n_tries, last):
    walked, _ = started(corpus, limit)
    while not walked.finished:
        walked.step()
    path, seen = started(corpus, limit)
    passed_to(path, walked.report)
    assert seen[0][0] == pytest.approx(walked.report.l1)
    assert path.finished
    assert path.report.converged
    assert path.report.points == walked.report.points
    assert 0 < path.report.n_active <= limit
    if walked.report.n_active >= NEAR * limit:
        assert len(seen) == 1
        assert path.report.n_active == walked.report.n_active


@pytest.mark.parametrize("factor", [0.5, 0.8, 1.25, 1.6])
def test_a_full_point_elsewhere_is_looked_for(corpus, factor):
    """Documents that are a little different have as many features at another share of ``l1_max``."""
    walked, _ = started(corpus, 25)
    while not walked.finished:
        walked.step()
    path, seen = started(corpus, 25)
    passed_to(path, replace(walked.report, l1=walked.report.l1 * factor))
    assert len(seen) > 1
    assert path.finished
    assert path.report.converged
    assert 0.9 * 25 <= path.report.n_active <= 25


def test_a_point_passed_by_is_not_larger_than_allowed(corpus):
    """The path ends before it, at a model that is full."""
    walked, _ = started(corpus, None)
    for _ in range(STEPS):
        walked.step()
    path, _ = started(corpus, 5)
    passed_to(path, walked.report)
    assert path.finished
    assert path.report.points == STEPS - 1
    assert path.report.converged
    assert path.report.n_active == 5


def test_a_point_passed_by_may_be_too_large_where_its_optimum_is_not(corpus):
    """So that the path does not end there."""
    path, _ = started(corpus, None)
    for _ in range(STEPS - 1):
        path.pass_by(path.report.points + 1)
    before = path.report
    path.pass_by(path.report.points + 1)
    passed = path.report.n_active
    other, seen = started(corpus, passed - 1)
    for _ in range(STEPS - 1):
        other.pass_by(other.report.points + 1)
    assert other.report.n_active == before.n_active
    other.pass_by(other.report.points + 1)
    assert [l1 for l1, _ in seen] == [path.report.l1]
    assert other.report.l1 == path.report.l1
    assert before.n_active < other.report.n_active < passed
    assert other.report.converged


def test_where_every_try_is_too_large_the_path_comes_down_again(corpus, monkeypatch):
    """The optimum at the point before has more features than were found when it was passed by."""
    path, seen = started(corpus, None)
    for _ in range(STEPS - 1):
        path.pass_by(path.report.points + 1)
    passed = path.report
    assert not passed.converged
    limit = passed.n_active - 1
    monkeypatch.setattr(PathFit, "_limit", limit)
    path.arrive(replace(passed, l1=0.5 * passed.l1))
    below = [k for k, (l1, _) in enumerate(seen) if l1 < passed.l1]
    assert len(below) > TRIES
    assert below == list(range(len(below)))
    # They end where there is nothing between a try and the point before, which is too large itself.
    assert seen[len(below) - 1][0] > 0.998 * passed.l1
    assert seen[len(below)][0] == passed.l1
    assert all(n_active > limit for _, n_active in seen[: len(below) + 1])
    assert path.report.l1 > passed.l1
    assert 0.5 * limit <= path.report.n_active <= limit
    assert path.report.converged
    assert path.finished


@pytest.mark.slow
@pytest.mark.parametrize("steps", [2, 5, 20])
def test_a_model_that_is_not_too_large_is_found(steps):
    """Even where far more features enter at the first point."""
    rng = np.random.default_rng(1)
    items = (rng.random((500, 30)) < 0.3).astype(float)
    targets = (items @ rng.normal(size=(30, 5)) + rng.normal(size=(500, 5)) > 1).astype(int)
    for limit in (1, 3, 5, 8, 12, 20):
        learner = GraftingPath(max_features=limit, steps=steps, refit=None)
        for y in (targets, targets[:, 0]):
            assert 0.3 * limit <= len(GraftClassifier(learner).fit(items, y).features()) <= limit


@pytest.mark.parametrize("many", [False, True])
def test_an_empty_model_because_of_max_features_is_warned_of(many, monkeypatch):
    """Two columns that say the same enter together."""
    if many:
        monkeypatch.setattr(memory_module, "MANY_LABELS", 1)
        monkeypatch.setattr(memory_module, "DOCUMENT_LABELS", 1)
    items = np.array([[1.0, 0.0], [0.0, 1.0]] * 10)
    learner = GraftingPath(max_features=1, steps=2, refit=None, length_normalisation=False)
    with pytest.warns(UserWarning, match=r"no features: .* there are none, or more than max_features = 1\. Raise"):
        model = GraftClassifier(learner, multilabel=True).fit(items, [[0], [1]] * 10)
    assert not model.features()
