"""The network strength that held-out documents choose, and all features in one point."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy

import spacy_graft
from conftest import COMMON, TELLING, WORDS, Record, component_of, make_examples, make_nlp, make_records
from spacy_graft import GraftClassifier, Grafting, GraftingPath
from spacy_graft.graphs.edgelist import EdgeList
from spacy_graft.pipeline.logger import console_logger
from spacy_graft.pipeline.textcat import TextCatGraft

#: One refit, so that log-losses of fits can be compared by hand.
PATH: dict[str, Any] = {
    "@graft_learners": "spacy_graft.GraftingPath.v1", "steps": 5, "l1_min_ratio": 0.01, "refit": 2.0, "retrain": False,
}  # fmt: skip
WHOLE = {**PATH, "penalty": "l2"}
CHOICES = [1.0, 100.0, 0.0]
#: The words that tell of each label.
WORDS_OF = {
    label: sorted({word for phrase in phrases for word in phrase.split()} - set(COMMON))
    for label, phrases in TELLING.items()
}


@pytest.fixture(scope="module")
def noisy() -> list[Record]:
    """Few records, of which a fifth have a label that is not theirs."""
    records = make_records(80, seed=5)
    return [{**record, "label": "food"} if number % 5 == 0 else record for number, record in enumerate(records)]


@pytest.fixture(scope="module")
def helpful(tmp_path_factory: pytest.TempPathFactory) -> EdgeList:
    """Joins the words that tell of one label."""
    pairs = [pair for words in WORDS_OF.values() for pair in combinations(words, 2)]
    return edges(tmp_path_factory.mktemp("helpful") / "edges.tsv", pairs)


@pytest.fixture(scope="module")
def misleading(tmp_path_factory: pytest.TempPathFactory) -> EdgeList:
    """Joins words that tell of different labels."""
    pairs = [pair for one, other in combinations(WORDS_OF.values(), 2) for pair in product(one, other)]
    return edges(tmp_path_factory.mktemp("misleading") / "edges.tsv", pairs)


def edges(path: Path, pairs: list[tuple[str, str]]) -> EdgeList:
    path.write_text("".join(f"{one}\t{other}\t1\n" for one, other in pairs), encoding="utf8")
    return EdgeList(path)


def trained(
    learner: dict[str, Any], records: list[Record], network: EdgeList | None, log: Callable[..., Any] | None = None
) -> TextCatGraft:
    """Train as ``spacy train`` does: the first records are held out."""
    nlp = make_nlp(features=WORDS, learner=learner)
    nlp.config["training"]["max_steps"] = 8
    examples, component = make_examples(nlp, records), component_of(nlp)
    component.initialize(lambda: examples[30:], network=network)
    log_step = None if log is None else log(nlp)
    while component.training is not None and not component.training.course.concluded:
        losses = nlp.update(examples[30:34])
        scores = nlp.evaluate(examples[:30])
        if log_step is not None:
            log_step({"epoch": 0, "step": 0, "losses": losses, "other_scores": scores, "score": 0.5})
    return component


def weights_of(component: TextCatGraft) -> dict[Any, Any]:
    return {(feature.block, feature.text): tuple(feature.weights.items()) for feature in component.features()}


def log_loss_of(component: TextCatGraft) -> float:
    assert component.report is not None
    assert component.report.log_loss is not None
    return component.report.log_loss


@pytest.mark.parametrize("graph", ["helpful", "misleading"])
def test_dev_chooses_the_strength(graph: str, noisy: list[Record], request: pytest.FixtureRequest) -> None:
    """By hand, with configs of one strength and without a network; the model is that of the best to the bit."""
    network = request.getfixturevalue(graph)
    by_hand = {
        alpha: trained({**WHOLE, "network_alpha": alpha or 1.0}, noisy, network if alpha else None)
        for alpha in (0.1, *CHOICES)
    }
    best = min(by_hand, key=lambda alpha: log_loss_of(by_hand[alpha]))
    assert (best == 0.0) == (graph == "misleading")
    found = trained({**WHOLE, "network_alpha": 0.1, "network_choices": CHOICES}, noisy, network)
    assert found.report is not None
    assert found.report.network_alpha == best
    assert (found.report.network is None) == (best == 0.0)
    assert log_loss_of(found) == log_loss_of(by_hand[best])
    assert weights_of(found) == weights_of(by_hand[best])


def test_on_a_path_it_is_chosen_at_the_chosen_point(noisy: list[Record], misleading: EdgeList) -> None:
    first = trained({**PATH, "network_alpha": 10.0}, noisy, misleading)
    found = trained({**PATH, "network_alpha": 10.0, "network_choices": [0.0]}, noisy, misleading)
    assert first.report is not None
    assert found.report is not None
    assert found.report.points == first.report.points
    assert log_loss_of(found) < log_loss_of(first)
    assert found.report.converged
    assert found.report.relative_gap <= 1e-4
    assert found.report.network is None
    assert found.report.network_alpha == 0.0


def test_a_network_that_dev_does_not_need_disappears(noisy: list[Record], misleading: EdgeList, tmp_path: Path) -> None:
    """From the model that is trained again as well, and the log says so."""
    learner = {**WHOLE, "retrain": True, "network_alpha": 10.0, "network_choices": [0.0]}
    stdout = io.StringIO()
    found = trained(learner, noisy, misleading, lambda nlp: console_logger()(nlp, stdout, io.StringIO())[0])
    plain = trained({**WHOLE, "retrain": True}, noisy, None)
    assert weights_of(found) == weights_of(plain)
    assert found.report is not None
    assert plain.report is not None
    assert replace(found.report, seconds={}) == replace(plain.report, seconds={}, network_alpha=0.0)
    assert found.report.n_held_out == 30
    assert ", without the network. As dev is small, " in stdout.getvalue().splitlines()[-1]


def test_the_log_names_the_strength(noisy: list[Record], helpful: EdgeList) -> None:
    stdout = io.StringIO()
    learner = {**WHOLE, "network_alpha": 1.0, "network_choices": [0.0]}
    trained(learner, noisy, helpful, lambda nlp: console_logger()(nlp, stdout, io.StringIO())[0])
    assert stdout.getvalue().splitlines()[-1].endswith(", network 1.")


@pytest.mark.parametrize(("graph", "alpha"), [("helpful", 1.0), ("misleading", 0.0)])
def test_folds_choose_as_well(
    graph: str, alpha: float, noisy: list[Record], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    nlp = make_nlp(features=WORDS, learner={**WHOLE, "network_alpha": 1.0, "network_choices": [0.0]})
    report = spacy_graft.fit(nlp, make_examples(nlp, noisy[:40]), network=request.getfixturevalue(graph))
    assert report.network_alpha == alpha
    assert (report.network is None) == (alpha == 0.0)
    nlp.to_disk(tmp_path)
    assert component_of(spacy.load(tmp_path)).report == replace(report, seconds={})


def test_without_held_out_documents_the_strength_is_the_first(noisy: list[Record], helpful: EdgeList) -> None:
    words = {"words": {**WORDS["words"], "min_df": 1}}
    nlp = make_nlp(features=words, learner={**WHOLE, "network_alpha": 1.0, "network_choices": [0.0]})
    report = spacy_graft.fit(nlp, make_examples(nlp, noisy[:9]), network=helpful)
    assert report.network_alpha == 1.0
    assert report.network is not None


def test_all_features_in_one_point() -> None:
    """The point is the certified optimum of ridge over all features; its refit is another."""
    rng = np.random.default_rng(0)
    matrix = (rng.random((60, 12)) < 0.4).astype(float)
    labels = np.where(matrix[:, 0] + matrix[:, 1] + rng.normal(0.0, 0.5, 60) > 1.0, "yes", "no").tolist()
    shared: dict[str, Any] = {"ridge": 0.5, "tol": 1e-8, "penalty_weights": "none"}
    shared |= {"length_normalisation": False, "balance": 0.0}
    whole = GraftClassifier(GraftingPath(penalty="l2", refit=None, **shared)).fit(matrix, labels)
    ridge = GraftClassifier(Grafting(penalty="l2", **shared)).fit(matrix, labels)
    assert replace(whole.report, seconds={}) == replace(ridge.report, seconds={}, points=1, refit=None)
    np.testing.assert_array_equal(whole.predict_proba(matrix), ridge.predict_proba(matrix))
    assert len(whole.features()) == 12
    refitted = GraftClassifier(GraftingPath(penalty="l2", refit=4.0, **shared)).fit(matrix, labels)
    stronger = GraftClassifier(Grafting(penalty="l2", **{**shared, "ridge": 4.0})).fit(matrix, labels)
    np.testing.assert_allclose(refitted.predict_proba(matrix), stronger.predict_proba(matrix), atol=1e-4)


@pytest.mark.filterwarnings("ignore:The trained model has no features")
def test_labels_that_nothing_separates() -> None:
    model = GraftClassifier(GraftingPath(penalty="l2")).fit(np.ones((4, 1)), ["a", "a", "b", "b"])
    np.testing.assert_allclose(model.predict_proba(np.ones((1, 1))), [[0.5, 0.5]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": "none"}, r"penalty = 'none', but it must be one of \['l1', 'l2'\]"),
        ({"penalty": "l2", "ridge": 0.0}, "ridge = 0.0, but it must be above 0 with penalty = 'l2'"),
        ({"penalty": "l2", "positive_factor": 2.0}, "positive_factor = 2.0, but it must be 1 without L1"),
        ({"network_choices": 1.0}, "network_choices = 1.0, but it must be a list of numbers"),
        ({"network_choices": [-1.0]}, r"network_choices = \[-1.0\], but it must be a list of numbers"),
        ({"network_alpha": 0.0, "network_choices": [1.0]}, "network_alpha = 0.0, but it must be above 0 with"),
    ],
)
def test_refused_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GraftingPath(**options)


def test_what_one_point_cannot_have(noisy: list[Record]) -> None:
    pairs = {"@graft_features": "spacy_graft.Combinations.v1", "of": ["words"], "degree": 2}
    with pytest.raises(ValueError, match="takes all features at once, but combinations"):
        make_nlp(features={**WORDS, "pairs": pairs}, learner=WHOLE)
    with pytest.raises(ValueError, match=r"the combinations of 'combinations' are not enumerated"):
        GraftClassifier(GraftingPath(penalty="l2"), degree=2).fit(np.eye(4), ["a", "a", "b", "b"])
    nlp = make_nlp(features=WORDS, learner=WHOLE)
    examples = make_examples(nlp, noisy)
    with pytest.raises(ValueError, match="learner is GraftingPath with penalty = 'l2'"):
        component_of(nlp).initialize(lambda: examples, checkpoints="nowhere")
