"""Stability: half samples on one index against fits of half corpora, the bounds, and where the figures are shown."""

from __future__ import annotations

import csv
import io
import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.progress import Progress
from spacy.language import Language

import spacy_graft
from conftest import PATH, component_of, make_example, make_examples, make_nlp, make_records
from spacy_graft import GraftClassifier, Grafting, GraftingPath, GraftRanker, GraftTextClassifier
from spacy_graft.graft.constraints import Constraints
from spacy_graft.graft.data import TrainingData
from spacy_graft.graft.report import Report
from spacy_graft.graft.solution import Stability
from spacy_graft.graft.stability import HalfSamples, Strata, false_selections
from spacy_graft.graft.start import final_solution
from spacy_graft.model.sparse_linear import snapshot_of
from spacy_graft.pipeline import fit as fitting
from spacy_graft.pipeline import training
from spacy_graft.pipeline.folds import FoldChoice
from spacy_graft.pipeline.progress import progress_bar
from strategies import training_data
from test_cli import call, lines_of
from test_graft import PLAIN, run
from test_graft_network import network_over
from test_steering import corpus_data
from test_text_classifier import TEXTS

few = settings(max_examples=min(25, settings().max_examples))
#: Few samples: what is tested does not depend on their number.
SAMPLED: dict[str, Any] = {"stability": 0.6, "stability_pairs": 3}


def random_items(seed: int, n: int = 60, items: int = 12) -> tuple[np.ndarray, list[str]]:
    """A matrix whose first items go with the labels, and labels."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    matrix = rng.random((n, items)) < 0.3
    for label in range(3):
        matrix[:, label] |= (labels == label) & (rng.random(n) < 0.8)
    return matrix.astype(np.float64), [str(label) for label in labels]


# Half samples


def selected_columns(state: Any, selected: list[tuple[int, int]], documents: np.ndarray) -> set[tuple[int, ...]]:
    """The columns of features over some documents, which are renumbered."""
    number = {document: k for k, document in enumerate(documents.tolist())}
    found = set()
    for block, node in selected:
        _, column, _ = state.space.parts[block].columns(np.array([node]))
        found.add(tuple(number[document] for document in column.tolist() if document in number))
    return found


@pytest.mark.slow
@few
@given(st.integers(0, 999), st.sampled_from([2, 3]), st.sampled_from([0.0, 0.3]), st.booleans())
def test_halves_select_what_fits_of_their_documents_do(seed: int, n_labels: int, ridge: float, exclusive: bool) -> None:
    # Few characters and many documents: no column is a sum of others, so that the optimum is unique.
    rng = np.random.default_rng(seed)
    texts = ["".join(rng.permutation(list("abcdefghij"))[: rng.integers(1, 8)]) for _ in range(60)]
    targets = np.eye(n_labels)[np.arange(60) % n_labels]
    if not exclusive:
        targets = (rng.random(targets.shape) < 0.5).astype(float)
    importance = rng.uniform(0.5, 2.0, 60)

    def characters(documents: np.ndarray) -> TrainingData:
        own = [texts[i] for i in documents]
        data = training_data(own, targets[documents], exclusive, example_weights=importance[documents])
        return replace(data, max_length={"characters": 1}, indexes={})

    data = characters(np.arange(60))
    fit: Any = run(Grafting(l1=2.0, ridge=ridge, tol=1e-10), data)
    halves = HalfSamples(fit.state, 2.0, 100)
    for half in Strata.of(data).halves(rng):
        own = np.flatnonzero(half)
        expected: Any = run(Grafting(l1=1.0, ridge=ridge / 2, tol=1e-10), characters(own))
        space = expected.state.space
        rows = list(zip(space.blocks.tolist(), space.nodes.tolist(), strict=True))
        selected = selected_columns(fit.state, halves.selected(half), own)
        assert selected == selected_columns(expected.state, rows, np.arange(len(own)))
    assert len(data.indexes or {}) == 1


@pytest.mark.parametrize("seed", range(4))
def test_networks_are_halved_as_well(seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts = ["".join(rng.permutation(list("abcdefghij"))[: rng.integers(1, 8)]) for _ in range(60)]
    targets = np.eye(2)[np.arange(60) % 2]

    def with_network(documents: np.ndarray) -> TrainingData:
        own = [texts[i] for i in documents]
        data = replace(training_data(own, targets[documents]), max_length={"characters": 1}, indexes={})
        return replace(data, network=network_over(own, list("abcdef"), 0, seed))

    learner = Grafting(l1=2.0, tol=1e-10, network_alpha=2.0, network_gamma=1.0)
    fit: Any = run(learner, with_network(np.arange(60)))
    halves = HalfSamples(fit.state, 2.0, 100)
    for half in Strata.of(fit.state.objective.data).halves(rng):
        own = np.flatnonzero(half)
        expected: Any = run(replace(learner, l1=1.0, network_alpha=1.0, network_gamma=0.5), with_network(own))
        space = expected.state.space
        rows = list(zip(space.blocks.tolist(), space.nodes.tolist(), strict=True))
        selected = selected_columns(fit.state, halves.selected(half), own)
        assert selected == selected_columns(expected.state, rows, np.arange(len(own)))


def test_no_second_index(monkeypatch: pytest.MonkeyPatch) -> None:
    data = training_data(["abc", "abd", "bcd", "cab"] * 5, np.eye(2)[[0, 1, 1, 0] * 5])
    fit = run(Grafting(l1=0.5, **SAMPLED), data)
    from spacy_graft.index.ngrams import NgramIndex

    monkeypatch.setattr(NgramIndex, "build", lambda *_: pytest.fail("a second index is built"))
    assert spacy_graft.graft.start.final_solution(fit).stability is not None


@given(st.lists(st.integers(0, 3), min_size=2, max_size=40), st.integers(0, 99))
def test_halves_share_no_document_and_have_half_of_each_label(labels: list[int], seed: int) -> None:
    targets = np.eye(4)[labels]
    strata = Strata.of(training_data(["a"] * len(labels), targets))
    random = np.random.default_rng(seed)
    first, second = strata.halves(random)
    assert not (first & second).any()
    assert first.sum() == second.sum() == len(labels) // 2
    assert (np.abs(targets[first].sum(axis=0) - targets[second].sum(axis=0)) <= 1).all()
    counts = targets.sum(axis=0)
    assert (targets[first].sum(axis=0) >= (counts - 1) // 2).all()
    times = strata.bootstrap(random)
    np.testing.assert_array_equal(times @ targets, counts)


def test_documents_without_weight_or_label_are_in_no_half() -> None:
    known = np.ones((6, 2), np.bool_)
    known[0] = False
    data = training_data(["a"] * 6, np.eye(2)[[0, 0, 0, 1, 1, 1]], False, known, np.array([1.0, 0, 1, 1, 1, 1]))
    first, second = Strata.of(data).halves(np.random.default_rng(0))
    assert (first | second).tolist() == [False, False, True, True, True, True]


def test_documents_are_in_halves_alike() -> None:
    strata = Strata.of(training_data(["a"] * 8, np.eye(5)[[0, 0, 0, 0, 1, 2, 3, 4]]))
    random = np.random.default_rng(0)
    together = np.mean([np.outer(half, half) for _ in range(3000) for half in strata.halves(random)], axis=0)
    np.testing.assert_allclose(np.diag(together), 0.5)
    # Neither documents of a label nor single ones are tied to one another.
    others = ~np.eye(4, dtype=np.bool_)
    np.testing.assert_allclose(together[:4, :4][others], 1 / 6, atol=0.02)
    np.testing.assert_allclose(together[4:, 4:][others], 1 / 6, atol=0.02)
    np.testing.assert_allclose(together[:4, 4:], 1 / 4, atol=0.02)


# Bounds


def test_bounds_are_those_of_the_paper() -> None:
    # Of 1,000 columns, each half selects sqrt(0.8 p): one false selection at 0.9 (Shah & Samworth 2013, section 3).
    bounds = false_selections(90, 50, 800**0.5, 1000)
    assert bounds["false_selections"] == pytest.approx(1.0)
    assert bounds["false_selections_unimodal"] == pytest.approx(0.8 * 4 * 0.11 / 1.02)
    bounds = false_selections(60, 50, 10.0, 1000)
    assert bounds["false_selections"] == pytest.approx(0.5)
    assert bounds["false_selections_unimodal"] == pytest.approx(0.1 / (2 * (0.2 - 0.01)))
    # What selects in half of the halves, or with few pairs, is bounded by nothing.
    assert false_selections(50, 50, 10.0, 1000) == {}
    assert set(false_selections(2, 1, 10.0, 1000)) == {"false_selections"}
    assert set(false_selections(60, 50, 900.0, 1000)) == {"false_selections"}


def test_noise_is_not_selected_more_often_than_the_bound() -> None:
    n_stable, bound = 0, 0.0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        matrix, labels = (rng.random((60, 40)) < 0.4).astype(float), rng.permutation(np.arange(60) % 2)
        learner = Grafting(l1=5.0, stability=0.8, stability_pairs=10)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="No feature is selected")
            report = GraftClassifier(learner).fit(matrix, labels).report_
        n_stable += report.n_active
        assert report.stability is not None
        bound += report.stability["false_selections_unimodal"]
    assert n_stable <= bound


# Models


def test_stable_features_have_the_weights_of_a_model_of_their_own() -> None:
    matrix, labels = random_items(0)
    learner = Grafting(l1=2.0, tol=1e-9)
    all_features = {f.names[0]: f for f in GraftClassifier(learner).fit(matrix, labels).features()}
    noted = GraftClassifier(replace(learner, stability=0, stability_pairs=10)).fit(matrix, labels)
    assert {f.names[0]: f.weights for f in noted.features()} == {k: f.weights for k, f in all_features.items()}
    model = GraftClassifier(replace(learner, stability=0.8, stability_pairs=10)).fit(matrix, labels)
    stable = {f.names[0]: f for f in model.features()}
    assert {"0", "1", "2"} <= set(stable) < set(all_features)
    assert set(stable) == {f.names[0] for f in noted.features() if f.stability is not None and f.stability >= 0.8}
    kept = sorted(map(int, stable))
    alone = GraftClassifier(learner).fit(matrix[:, kept], labels, names=list(map(str, kept)))
    for feature in alone.features():
        assert stable[feature.names[0]].weights == pytest.approx(feature.weights, abs=1e-3)
    np.testing.assert_allclose(model.intercept_, alone.intercept_, atol=1e-3)
    figures = model.report_.stability
    assert figures is not None
    assert model.report_.n_active == len(stable) == len(all_features) - figures["left_out"]
    assert (figures["threshold"], figures["half_samples"]) == (0.8, 20)
    assert model.report_.to_dict()["stability"] == figures


def test_true_asks_for_six_tenths_and_seeds_decide() -> None:
    matrix, labels = random_items(1)

    def noted(**options: Any) -> list[tuple[str, float | None, Any]]:
        model = GraftClassifier(Grafting(l1=2.0, stability_pairs=3, **options)).fit(matrix, labels)
        return [(str(f), f.stability, f.intervals) for f in model.features()]

    assert noted(stability=True) == noted(stability=0.6)
    assert noted(stability=0.0) == noted(stability=0.0, stability_seed=0) != noted(stability=0.0, stability_seed=1)


@pytest.mark.parametrize("learner", [Grafting(l1=0.5, ridge=0.1), GraftingPath(steps=3)], ids=["l1", "path"])
def test_intervals_enclose_weights(learner: Any) -> None:
    labels = ["-", "+"] * 30
    rng = np.random.default_rng(0)
    texts = [("bad " if label == "-" else "good ") * (rng.random() < 0.8) + "film" for label in labels]
    model = GraftTextClassifier(replace(learner, stability=0.0, stability_pairs=20)).fit(texts, labels)
    found = model.features()
    assert found
    for feature in found:
        assert feature.intervals is not None
        (low, high), (low_of_second, high_of_second) = feature.intervals["-"], feature.intervals["+"]
        # One weight stands for two labels.
        assert (low, high) == pytest.approx((-high_of_second, -low_of_second))
        assert low <= feature.weights["-"] <= high
        assert high > low
    assert found[0].stability == 1.0


def test_combinations_and_several_labels_of_a_document() -> None:
    rng = np.random.default_rng(0)
    matrix = (rng.random((80, 5)) < 0.5).astype(float)
    targets = np.stack([matrix[:, 0] * matrix[:, 1], matrix[:, 2]], axis=1)
    model = GraftClassifier(Grafting(l1=1.0, **SAMPLED), degree=2).fit(matrix, targets)
    found = {str(feature): feature for feature in model.features()}
    assert found["0 × 1"].stability == found["2"].stability == 1.0


def test_a_denied_block_of_products_does_not_stop_the_samples() -> None:
    texts = ["abc", "abd", "acd", "bcd", "ab", "cd", "bd", "ac"] * 2
    data = corpus_data(texts, np.eye(2)[np.arange(16) % 2], True, degree=2)
    learner = Grafting(l1=0.1, constraints=Constraints(deny=["products::*"]), stability=0.0, stability_pairs=2)
    solution = final_solution(run(learner, data))
    assert set(solution.blocks) == {"characters"}
    assert solution.stability is not None
    assert solution.stability.probabilities.max() > 0.0


def test_a_model_without_stable_features_has_intercepts_only() -> None:
    rng = np.random.default_rng(3)
    matrix = (rng.random((40, 30)) < 0.3).astype(float)
    with pytest.warns(UserWarning, match=r"No feature is selected in 1 of the half samples: .* Lower stability"):
        model = GraftClassifier(Grafting(l1=2.0, stability=1.0)).fit(matrix, ["a", "b"] * 20)
    assert model.features() == []
    np.testing.assert_allclose(model.predict_proba(matrix), 0.5, atol=1e-6)


def test_halves_select_nothing_where_nothing_separates_the_labels_of_all_documents() -> None:
    """Their path ends at an L1 strength of 0, which is none for halves, whose labels can be separated."""
    learner = GraftingPath(steps=2, **SAMPLED)
    model = GraftTextClassifier(learner, analyzer="word").fit(["a b", "a b", "b", "b"] * 2, ["-", "+"] * 4)
    assert model.features() == []
    assert model.report_.l1 == 0.0
    assert model.report_.stability["selected_per_half"] == 0.0


# Refusals


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stability": 1.1}, r"stability = 1\.1, but it must be true, false, or a number from 0 to 1"),
        ({"stability": "yes"}, "stability = 'yes', but it must be true, false"),
        ({"stability": None}, "stability = None, but it must be true, false"),
        ({"stability_pairs": 0}, "stability_pairs = 0, but it must be at least 1"),
        ({"stability_seed": -1}, "stability_seed = -1, but it must be an integer from 0 to"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    for learner in (GraftingPath, Grafting):
        with pytest.raises(ValueError, match=message):
            learner(**({"l1": 1.0} if learner is Grafting else {}), **options)


def test_without_l1_there_is_no_selection() -> None:
    for options in ({"penalty": "l2", "ridge": 1.0, "min_gradient": 1.0}, {"penalty": "none"}):
        with pytest.raises(ValueError, match="stability = True, but it must be false without L1"):
            Grafting(**options, stability=True)
    with pytest.raises(ValueError, match="stability = True, but it must be false without L1"):
        GraftingPath(penalty="l2", stability=True)


def test_a_label_of_one_document_cannot_be_halved() -> None:
    with pytest.raises(ValueError, match=r"only one training document of 'c'\. Add documents, remove"):
        GraftTextClassifier(GraftingPath(stability=True)).fit(["ab", "ba"] * 4 + ["cc"], ["a", "b"] * 4 + ["c"])


def test_candidates_are_not_halved() -> None:
    with pytest.raises(ValueError, match="stability: half samples of candidates are not supported"):
        GraftRanker(Grafting(l1=1.0, stability=True)).fit([{"a"}, {"b"}] * 4, [1, 0] * 4, [0, 0, 1, 1, 2, 2, 3, 3])


# Components, files, pages


@pytest.fixture(scope="module")
def stable() -> Language:
    """A pipeline with the figures, trained along a path without held-out documents; not to be changed."""
    nlp = make_nlp(learner={**PATH, "stability": 0.0, "stability_pairs": 2})
    examples = make_examples(nlp, make_records(60))
    nlp.initialize(lambda: examples)
    for _ in range(PATH["steps"] + 2):
        nlp.update(examples[:8])
    return nlp


def test_components_keep_the_figures(stable: Language, tmp_path: Path) -> None:
    component = component_of(stable)
    found = component.features()
    assert found
    assert all(f.stability is not None and 0.0 <= f.stability <= 1.0 for f in found)
    assert component.report is not None
    assert component.report.stability is not None
    assert len(component.history) == PATH["steps"] + 1
    copy = make_nlp(learner={**PATH, "stability": 0.0, "stability_pairs": 2})
    copy.from_bytes(stable.to_bytes())
    assert component_of(copy).features() == found
    assert component_of(copy).report == replace(component.report, seconds={})
    stable.to_disk(tmp_path / "model")
    loaded = spacy.load(tmp_path / "model")
    assert component_of(loaded).features() == found
    assert component_of(loaded).learner.stability == 0.0
    # Intervals are those of the weights, also if these are divided.
    component_of(copy).divide_scores(2.0)
    assert [f.intervals["food"] for f in component_of(copy).features() if f.intervals] == [
        (f.intervals["food"][0] / 2, f.intervals["food"][1] / 2) for f in found if f.intervals
    ]


def test_a_path_with_held_out_documents_ends_with_stable_features() -> None:
    for retrain in (True, False):
        nlp = make_nlp(learner={**PATH, "retrain": retrain, **SAMPLED})
        report = spacy_graft.fit(nlp, make_examples(nlp, make_records(60)), dev=make_examples(nlp, make_records(30, 1)))
        assert report.stability is not None
        assert report.n_held_out == 30 * retrain
        found = component_of(nlp).features()
        assert found
        assert all(f.stability is not None and f.stability >= 0.6 for f in found)


@pytest.mark.parametrize("with_dev", [True, False])
def test_fit_of_one_strength_ends_with_stable_features(with_dev: bool) -> None:
    nlp = make_nlp(learner={"@graft_learners": "spacy_graft.Grafting.v1", "l1": 1.0, **SAMPLED})
    dev = make_examples(nlp, make_records(12, 1)) if with_dev else None
    report = spacy_graft.fit(nlp, make_examples(nlp, make_records(60)), dev=dev)
    assert report.stability is not None
    assert all(f.stability is not None for f in component_of(nlp).features())


def test_a_loop_takes_the_stable_model_of_one_strength() -> None:
    nlp = make_nlp(learner={"@graft_learners": "spacy_graft.Grafting.v1", "l1": 1.0, **SAMPLED})
    train, dev = make_examples(nlp, make_records(60)), make_examples(nlp, make_records(12, 1))
    nlp.initialize(lambda: train)
    choices = []
    for _ in range(30):
        nlp.update(train[:8])
        choices.append(nlp.evaluate(dev)["cats_choice"])
    report = component_of(nlp).report
    assert report is not None
    assert report.stability is not None
    assert choices[-1] == max(choices) > 1.0


def test_documents_that_come_before_the_samples_are_trained_on_after_them() -> None:
    nlp = make_nlp(learner={"@graft_learners": "spacy_graft.Grafting.v1", "l1": 1.0, **SAMPLED})
    component, examples = component_of(nlp), make_examples(nlp, make_records(70))
    nlp.initialize(lambda: examples[:60])
    while component.report is None or not component.report.finished:
        nlp.update(examples[:8])
    nlp.update(examples[60:])
    assert component.report.stability is not None
    assert component.report.n_documents == 60
    for _ in range(2):
        nlp.update(examples[:8])
    assert component.report.stability is not None
    assert component.report.n_documents == 70


def test_progress_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    bars: list[Progress] = []

    def kept(name: str) -> Progress:
        bars.append(progress_bar(name))
        return bars[-1]

    monkeypatch.setattr(fitting, "progress_bar", kept)
    nlp = make_nlp(learner={"@graft_learners": "spacy_graft.Grafting.v1", "l1": 2.0, **SAMPLED})
    spacy_graft.fit(nlp, make_examples(nlp, make_records(60)))
    (bar,) = bars
    assert [(task.completed, task.total) for task in bar.tasks if task.description == "samples"] == [(12, 12)]
    # A loop of one's own has a bar of its own.
    monkeypatch.setattr(training, "progress_bar", kept)
    examples = make_examples(nlp, make_records(60))
    nlp.initialize(lambda: examples)
    for _ in range(12):
        nlp.update(examples[:8])
    assert [(task.completed, task.total) for task in bars[1].tasks] == [(12, 12)]


def test_an_added_label_takes_the_figures_back() -> None:
    nlp = make_nlp(keep_corpus=True, learner={"@graft_learners": "spacy_graft.Grafting.v1", "l1": 2.0, **SAMPLED})
    spacy_graft.fit(nlp, make_examples(nlp, make_records(60)))
    component = component_of(nlp)
    assert component.features()[0].stability is not None
    component.add_label("other")
    assert component.features()[0].stability is None
    cats = {label: float(label == "other") for label in component.labels}
    nlp.update([make_example(nlp, f"something new {'again ' * i}", cats) for i in range(9)], sgd=nlp.create_optimizer())
    found = component.features()
    assert found[0].stability is not None
    assert set(found[0].intervals or ()) == set(component.labels)


def test_folds_are_not_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    own = HalfSamples.selected
    monkeypatch.setattr(HalfSamples, "selected", lambda self, half: calls.append(len(half)) or own(self, half))
    nlp = make_nlp(learner={**PATH, **SAMPLED})
    report = spacy_graft.fit(nlp, make_examples(nlp, make_records(60)))
    assert calls == [60] * 6
    assert report.stability is not None


def test_features_are_selected_once_where_the_last_path_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has more documents than those of folds, and may come to the most features at an earlier point."""
    calls = []
    own = HalfSamples.selected
    monkeypatch.setattr(HalfSamples, "selected", lambda self, half: calls.append(len(half)) or own(self, half))
    nlp = make_nlp(learner={**PATH, "max_features": 6, **SAMPLED})
    examples = make_examples(nlp, make_records(60))
    component_of(nlp).initialize(lambda: examples)
    with progress_bar("textcat_graft") as progress:
        training = fitting.begun_training(component_of(nlp), progress)
        fitting.train_like(component_of(nlp), training, FoldChoice(Report(points=PATH["steps"], refit=2.0), []))
    report = component_of(nlp).report
    assert report is not None
    assert report.points < PATH["steps"]
    assert calls == [60] * 6


def test_texts_are_saved_with_the_figures(tmp_path: Path) -> None:
    model = GraftTextClassifier(Grafting(l1=1.0, **SAMPLED)).fit(TEXTS * 3, ["-", "+"] * (len(TEXTS) * 3 // 2))
    model.save(tmp_path / "model")
    loaded = GraftTextClassifier.load(tmp_path / "model")
    assert loaded.features() == model.features()
    assert loaded.report_.stability == model.report_.stability


@pytest.mark.parametrize(
    ("probabilities", "intervals"),
    [
        (lambda p: p[1:], lambda i: i),
        (lambda p: p + 2.0, lambda i: i),
        (lambda p: p, lambda i: i * np.nan),
        (lambda p: p.astype(np.float32), lambda i: i),
        (lambda p: p, lambda i: i[:, :1]),
    ],
)
def test_damaged_figures_are_refused(stable: Language, probabilities: Any, intervals: Any) -> None:
    from spacy_graft.model.loading import STABILITY, read_message
    from spacy_graft.model.table import pack_message

    component = component_of(stable)
    known = snapshot_of(component.model).stability
    assert known is not None
    message = component.model.to_dict()  # type: ignore[attr-defined]
    forged = {"probabilities": probabilities(known.probabilities), "intervals": intervals(known.intervals)}
    message["attrs"][0][STABILITY] = pack_message(forged)
    with pytest.raises(ValueError, match=r"cannot be read|do not belong together"):
        read_message(message, component.model.attrs["blocks"])


def test_snapshots_refuse_figures_of_other_features(stable: Language) -> None:
    snapshot = snapshot_of(component_of(stable).model)
    with pytest.raises(ValueError, match=r"selection probabilities and intervals are .* they do not belong together"):
        replace(snapshot, stability=Stability(np.zeros(1), np.zeros((1, 2, 2))))


def test_columns_are_shown(stable: Language, tmp_path: Path) -> None:
    stable.to_disk(tmp_path / "model")
    best = max(component_of(stable).features(), key=lambda f: max(map(abs, f.weights.values())))
    (line,) = lines_of(call("features", tmp_path / "model", "--top", 1))
    assert line["stability"] == best.stability
    assert best.intervals is not None
    assert line["intervals"] == {label: list(interval) for label, interval in best.intervals.items()}
    (row,) = csv.DictReader(io.StringIO(call("features", tmp_path / "model", "--top", 1, "--format", "csv").stdout))
    assert float(row["stability"]) == best.stability
    assert (float(row["food low"]), float(row["food high"])) == best.intervals["food"]
    table = call("features", tmp_path / "model", "--top", 1, "--format", "table").stdout
    assert "stability" in table
    assert f"{best.stability:.2f}" in table
    report = json.loads(call("report", tmp_path / "model").stdout)
    assert report["stability"]["half_samples"] == 4
    assert "half_samples 4" in " ".join(call("report", tmp_path / "model", "--format", "table").stdout.split())
    page = spacy_graft.render(stable, style="global")
    assert '<th scope="col">stability</th>' in page
    assert "share of random half samples" in page
    assert page.count(" to ") >= len(component_of(stable).labels)


def test_without_figures_nothing_is_shown(fitted: Language) -> None:
    assert '<th scope="col">stability</th>' not in spacy_graft.render(fitted, style="global")
    assert all(feature.stability is None for feature in component_of(fitted).features())


def test_a_path_in_plain_l1_is_sampled_at_its_last_point() -> None:
    data = training_data(["abc", "abd", "bcd", "cab"] * 5, np.eye(2)[[0, 1, 1, 0] * 5])
    fit: Any = run(GraftingPath(steps=3, **PLAIN, **SAMPLED), data)
    solution = spacy_graft.graft.start.final_solution(fit)
    assert solution.stability is not None
    assert solution.stability.intervals.shape == (*solution.weights.shape, 2)
