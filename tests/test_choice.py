"""The choice among the points of a path: by the log-loss of held-out documents, in any loop."""

from __future__ import annotations

import math
import random
import warnings
import weakref
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from spacy.language import Language
from spacy.training import Example

import spacy_graft
from conftest import Record, component_of, make_example, make_examples, make_nlp, make_records
from spacy_graft import metrics
from spacy_graft.graft.report import Report
from spacy_graft.graft.settings import GraftingPath
from spacy_graft.held_out import (
    REFIT_GRID,
    FoldPoint,
    Judge,
    MeanLoss,
    PlainTargets,
    Verdict,
    is_exhausted,
    judged_together,
    lowest_of_parabola,
    mean_losses,
    n_entered,
    parsimonious,
)
from spacy_graft.pipeline import fits, folds, training
from spacy_graft.pipeline.choice import Trial, best_refit, judged_points, named_points, trials_of
from spacy_graft.pipeline.judging import held_out_of
from spacy_graft.pipeline.targets import WEIGHT_KEY
from spacy_graft.pipeline.training import Training
from spacy_graft.strengths import choices_of, with_best_strengths

pytestmark = pytest.mark.usefixtures("dev_alone")

AUTO = {"@graft_learners": "spacy_graft.GraftingPath.v1", "steps": 8, "l1_min_ratio": 0.003, "ngram_power": 0.0}


@pytest.fixture(scope="module")
def noisy() -> list[Record]:
    """Records of which a fifth have a label that is not theirs, so that no model predicts all of them."""
    records = make_records(240, seed=3)
    return [{**record, "label": "food"} if number % 5 == 0 else record for number, record in enumerate(records)]


def training_of(nlp: Language) -> Training:
    training = component_of(nlp).training
    assert training is not None
    return training


def trained(nlp: Language, train: list[Example], dev: list[Example]) -> list[dict[str, Any]]:
    """Train as ``spacy train`` does; returns the scores of all evaluations, the first that change nothing included."""
    nlp.initialize(lambda: train)
    scores = []
    for _ in range(AUTO["steps"] + 2):
        nlp.update(train[:4])
        scores.append(nlp.evaluate(dev))
    return scores


def split(nlp: Language, records: list[Record]) -> tuple[list[Example], list[Example]]:
    examples = make_examples(nlp, records)
    return examples[:160], examples[160:]


def log_loss(nlp: Language, examples: list[Example]) -> float:
    """Of the model as it stands."""
    component = component_of(nlp)
    probabilities = component.predict(example.predicted for example in examples)
    targets = np.array([[example.reference.cats[label] for label in component.labels] for example in examples])
    return metrics.log_loss(probabilities, targets, exclusive=component.exclusive)


@pytest.mark.parametrize("factory", ["textcat_graft", "textcat_graft_multilabel"])
def test_the_model_is_the_best_point_so_far(factory: str, noisy: list[Record]) -> None:
    nlp = make_nlp(factory, learner={**AUTO, "retrain": False})
    train, dev = split(nlp, noisy)
    nlp.initialize(lambda: train)
    losses: list[float] = []
    shares: list[float] = []
    while not training_of(nlp).course.concluded:
        nlp.update(train[:4])
        scores = nlp.evaluate(dev)
        points = training_of(nlp).course.choice.points  # type: ignore[union-attr]
        losses.append(points[-1].log_loss)
        shares.append(scores["cats_choice"])
        assert scores["cats_log_loss"] == pytest.approx(min(losses))
        assert log_loss(nlp, dev) == pytest.approx(min(losses), rel=1e-9)
    assert shares == sorted(shares)
    assert len(points) < AUTO["steps"] or points[-1].report.finished
    report = component_of(nlp).report
    assert report is not None
    assert report.log_loss == pytest.approx(min(losses))
    assert report.n_held_out == 0
    assert component_of(nlp).history[-1]["log_loss"] == report.log_loss


@pytest.mark.usefixtures("folds_too")
def test_the_last_step_trains_again_on_all_documents(noisy: list[Record]) -> None:
    """So near to the optimum that the way there, which passes points by, makes no difference."""
    learner = {**AUTO, "tol": 1e-12}
    nlp = make_nlp(learner=learner)
    train, dev = split(nlp, noisy)
    scores = trained(nlp, train, dev)
    report = component_of(nlp).report
    assert report is not None
    assert report.n_held_out == len(dev)
    # The point, refit and adjustment that were chosen, on all documents.
    whole = make_nlp(learner={**learner, "refit": report.refit})
    examples = make_examples(whole, noisy)
    whole.initialize(lambda: examples)
    for _ in range(report.points):
        whole.update(examples[:4])
    shares = training_of(whole).shares()
    whole_component = component_of(whole)
    adjusted = whole_component.model.attrs["snapshot"].adjusted(report.adjustment, shares)
    whole_component.set_snapshot(adjusted, whole_component.report)
    np.testing.assert_allclose(
        component_of(nlp).predict(example.predicted for example in train),
        component_of(whole).predict(example.predicted for example in examples[:160]),
        rtol=1e-5,  # refits of several labels are found in single precision, to an accuracy of 3e-5
    )
    # What is reported is of the model before; then other components may go on, and the choice does not change.
    concluded = len(component_of(nlp).history) - 1
    choices = [score["cats_choice"] for score in scores]
    assert choices == sorted(choices)
    assert len(scores) > concluded + 1
    assert scores[concluded]["cats_score"] == scores[concluded - 1]["cats_score"]


def test_scores_stay_those_before_the_last_step(noisy: list[Record]) -> None:
    """spaCy writes the last of equal scores into meta.json: they must not be those on documents trained on."""
    nlp = make_nlp(learner=AUTO)
    train, dev = split(nlp, noisy)
    nlp.initialize(lambda: train)
    while not training_of(nlp).course.concluded:
        nlp.update(train[:4])
        last = nlp.evaluate(dev)
    training = training_of(nlp)
    assert component_of(nlp).report.n_held_out == len(dev)  # type: ignore[union-attr]
    for _ in range(2):
        nlp.update(train[:4])
        again = nlp.evaluate(dev)
        assert {key: again[key] for key in again if key.startswith("cats_")} == {
            key: last[key] for key in last if key.startswith("cats_")
        }
    component_of(nlp).training = None
    with pytest.warns(UserWarning, match="The model was chosen by these documents, and then trained on"):
        assert nlp.evaluate(dev[::-1])["cats_score"] > last["cats_score"]
    with pytest.warns(UserWarning, match="The model was chosen by these documents"):
        nlp.evaluate(dev[:20])
    with pytest.warns(UserWarning, match=r"chosen by many of these documents \(about 4\d%\)"):
        nlp.evaluate([*dev[:20], *make_examples(nlp, make_records(20, seed=99))])
    nlp.evaluate([*dev[:5], *make_examples(nlp, make_records(20, seed=99))])
    nlp.evaluate(train)
    assert training.course.concluded


def test_documents_that_come_after_the_last_step_extend_the_model(noisy: list[Record]) -> None:
    """Those that were held out are trained on by now, so that they cannot choose again, and count once."""
    nlp = make_nlp(learner=AUTO)
    train, dev = split(nlp, noisy)
    scores = trained(nlp, train[:80], dev)
    report = component_of(nlp).report
    assert report is not None
    for _ in range(3):
        nlp.update(train[80:])
        assert nlp.evaluate(dev)["cats_choice"] == scores[-1]["cats_choice"]
    extended = component_of(nlp).report
    assert extended is not None
    assert (report.n_documents, extended.n_documents) == (80 + len(dev), len(train) + len(dev))
    for name in ("points", "refit", "temperature", "n_held_out"):
        assert getattr(extended, name) == getattr(report, name)
    assert training_of(nlp).course.concluded


@pytest.mark.parametrize("options", [{}, {"metric": "cats_micro_f"}, {"parsimony": "one_se"}])
def test_a_fit_that_starts_again_is_judged_at_all_points(options: dict[str, Any], noisy: list[Record]) -> None:
    """By the documents that have judged the one before, as if training had begun with all documents."""
    chosen = []
    for first in (20, 160):
        nlp = make_nlp(learner={**AUTO, "retrain": False, **options})
        train, dev = split(nlp, noisy)
        nlp.initialize(lambda train=train, first=first: train[:first])
        for start in range(0, 160, 20):
            nlp.update(train[start : start + 20])
            nlp.evaluate(dev)
        for _ in range(AUTO["steps"]):
            nlp.update(train[:4])
            nlp.evaluate(dev)
        component = component_of(nlp)
        points = [step["l1_ratio"] for step in component.history if step["log_loss"] is not None]
        assert len(points) > 4
        steps = {name: step["step"] for name, step in component.named_points.items()}
        chosen.append((replace(component.report, seconds={}), points[:5], steps))
    assert chosen[0] == chosen[1]


@pytest.mark.slow
@pytest.mark.parametrize("retrain", [False, True])
@pytest.mark.parametrize("options", [{}, {"max_features": 5}, {"penalty": "l2", "l1_min_ratio": 0.5}])
def test_nothing_is_concluded_while_documents_come(
    options: dict[str, Any], retrain: bool, noisy: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first ones would choose for all. And ``cats_choice`` does not fall where a fit starts again."""
    monkeypatch.setattr(folds, "ENOUGH_HELD_OUT", 0)
    reports = []
    for first in (20, 160):
        nlp = make_nlp(learner={**AUTO, **options, "retrain": retrain})
        train, dev = split(nlp, noisy)
        nlp.initialize(lambda train=train, first=first: train[:first])
        scores = []
        for start in (*range(0, 160, 40), *[0] * (AUTO["steps"] + 2)):
            nlp.update(train[start : start + 40])
            scores.append(nlp.evaluate(dev)["cats_choice"])
        assert scores == sorted(scores)
        reports.append(replace(component_of(nlp).report, seconds={}))
    assert reports[0] == reports[1]
    assert reports[0].n_documents == 160 + len(dev) * retrain


def test_documents_that_come_to_be_trained_on_are_warned_of(noisy: list[Record]) -> None:
    nlp = make_nlp(learner=AUTO)
    train, _ = split(nlp, noisy)
    nlp.initialize(lambda: train[:20])
    nlp.update(train[:20])
    nlp.evaluate(train[80:])
    nlp.update(train)
    with pytest.warns(UserWarning, match="80 of the 80 held-out documents that choose the model are training"):
        nlp.evaluate(train[80:])


@pytest.mark.filterwarnings("ignore:.*No training document is positive for")
def test_a_label_that_is_added_in_a_loop_has_no_choice_yet(noisy: list[Record]) -> None:
    nlp = make_nlp(learner=AUTO)
    train, dev = split(nlp, noisy)
    nlp.initialize(lambda: train)
    nlp.update(train[:4])
    nlp.evaluate(dev)
    component_of(nlp).add_label("new")
    assert "cats_log_loss" not in nlp.evaluate(dev)
    nlp.update(train[:4])
    assert "cats_log_loss" in nlp.evaluate(dev)


def test_other_documents_choose_nothing(noisy: list[Record]) -> None:
    nlp = make_nlp(learner=AUTO)
    train, dev = split(nlp, noisy)
    nlp.initialize(lambda: train)
    nlp.update(train[:4])
    chosen = nlp.evaluate(dev)
    other = nlp.evaluate(train)
    assert "cats_choice" in chosen
    assert "cats_choice" not in other
    assert other["cats_score"] != chosen["cats_score"]
    assert len(training_of(nlp).course.choice.points) == 1  # type: ignore[union-attr]


def test_the_same_documents_in_another_order_choose_alike(noisy: list[Record]) -> None:
    """A reader may shuffle them."""
    reports = []
    for shuffles in (False, True):
        nlp = make_nlp(learner=AUTO)
        train, dev = split(nlp, noisy)
        dev = dev[:40] + dev  # some twice
        nlp.initialize(lambda train=train: train)
        step = 0
        while not training_of(nlp).course.concluded:
            nlp.update(train[:4])
            scores = nlp.evaluate(random.Random(step).sample(dev, len(dev)) if shuffles and step else dev)
            step += 1
        reports.append((replace(component_of(nlp).report, seconds={}), scores["cats_score"], scores["cats_log_loss"]))
    assert reports[0] == reports[1]


def test_held_out_documents_that_are_read_anew_choose(noisy: list[Record]) -> None:
    """A component before that is trained as well can annotate them otherwise at each step."""
    nlp = make_nlp(features={"tags": {"@graft_features": "spacy_graft.TokenNgrams.v1", "attr": "TAG", "min_df": 1}})
    train, dev = split(nlp, noisy)
    nlp.initialize(lambda: train)
    for tags in ("AB", "BA"):
        for example in [*train, *dev]:
            for token in example.predicted:
                token.tag_ = tags[int(example.reference.cats["food"])]
        nlp.update(train)
        if tags == "AB":
            assert component_of(nlp).score(dev)["cats_macro_f"] > 0.5
        else:
            with pytest.warns(UserWarning, match="The blocks find other features in the held-out documents"):
                assert component_of(nlp).score(dev)["cats_macro_f"] < 0.4
    assert len(training_of(nlp).course.choice.points) == 2  # type: ignore[union-attr]


def test_others_that_are_evaluated_before_a_point_is_judged(noisy: list[Record]) -> None:
    nlp = make_nlp(learner=AUTO)
    train, dev = split(nlp, noisy)
    nlp.initialize(lambda: train)
    nlp.update(train[:4])
    nlp.evaluate(dev)
    nlp.update(train[:4])
    with pytest.warns(UserWarning, match="These 40 documents do not choose the model"):
        nlp.evaluate(dev[:40])
    nlp.evaluate(dev)
    nlp.evaluate(dev[:40])  # as a test set may be


def test_training_documents_that_choose_are_warned_of(noisy: list[Record]) -> None:
    nlp = make_nlp(learner=AUTO)
    train, dev = split(nlp, noisy)
    nlp.initialize(lambda: train)
    nlp.update(train[:4])
    with pytest.warns(
        UserWarning, match=f"40 of the {len(dev[:40]) + 40} held-out documents that choose the model are"
    ):
        nlp.evaluate(dev[:40] + train[:40])


def test_documents_that_are_evaluated_after_training_choose_nothing(noisy: list[Record]) -> None:
    """They may be a test set."""
    nlp = make_nlp(learner=AUTO)
    train, test = split(nlp, noisy)
    nlp.initialize(lambda: train)
    for _ in range(2):
        nlp.update(train[:4])
    before = component_of(nlp).to_bytes()
    with pytest.warns(UserWarning, match=f"These {len(test)} documents do not choose among the points of the path"):
        assert "cats_log_loss" not in nlp.evaluate(test)
    while (course := training_of(nlp).course).fit is not None and not course.fit.finished:
        nlp.update(train[:4])
    nlp.evaluate(test)
    assert not training_of(nlp).course.choice.points  # type: ignore[union-attr]
    again = make_nlp(learner=AUTO)
    train, _ = split(again, noisy)
    again.initialize(lambda: train)
    for _ in range(2):
        again.update(train[:4])
    assert component_of(again).to_bytes() == before


def test_documents_without_labels_choose_nothing(noisy: list[Record]) -> None:
    nlp = make_nlp(learner=AUTO)
    train, _ = split(nlp, noisy)
    nlp.initialize(lambda: train)
    nlp.update(train[:4])
    with pytest.warns(UserWarning, match="None of the 2 held-out documents has a label of the component"):
        scores = nlp.evaluate([make_example(nlp, "salt", {}), make_example(nlp, "salt", {"new": 1.0})])
    assert "cats_log_loss" not in scores
    nlp.update(train[:4])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nlp.evaluate([make_example(nlp, "salt", {"new": 1.0, "food": 0.0})])
    assert not [warning for warning in caught if "none were evaluated after" in str(warning.message)]


@pytest.mark.parametrize("factory", ["textcat_graft", "textcat_graft_multilabel"])
def test_labels_that_only_held_out_documents_have_count_for_nothing(factory: str, noisy: list[Record]) -> None:
    """Readers give all documents of a file the labels of all of them."""
    losses = []
    for with_others in (False, True):
        nlp = make_nlp(factory, learner=AUTO)
        train, dev = split(nlp, noisy)
        nlp.initialize(lambda train=train: train)
        if with_others:
            others = [make_example(nlp, "salt and more", {**dict.fromkeys(dev[0].reference.cats, 0.0), "new": 1.0})]
            for example in dev:
                example.reference.cats["new"] = 0.0
            dev = [*dev, *others] if factory == "textcat_graft" else dev
        nlp.update(train[:4])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            losses.append(nlp.evaluate(dev)["cats_log_loss"])
        said = "Only 80 of 81 held-out documents choose the model: the others have no label, or labels that the "
        expected = [f"[{factory}] {said}component does not have ('new')."] if len(dev) > 80 else []
        assert [str(warning.message) for warning in caught] == expected
    assert losses[0] == losses[1]


@pytest.mark.parametrize("factory", ["textcat_graft", "textcat_graft_multilabel"])
def test_held_out_documents_of_one_label_are_warned_of(factory: str, noisy: list[Record]) -> None:
    """The score that the loop sees still rises with the log-loss."""
    nlp = make_nlp(factory, learner=AUTO)
    train, dev = split(nlp, noisy)
    nlp.initialize(lambda: train)
    dev = [example for example in dev if example.reference.cats["food"]]
    shares = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        while not training_of(nlp).course.concluded:
            nlp.update(train[:4])
            shares.append(nlp.evaluate(dev)["cats_choice"])
    (warning,) = caught
    assert f"that choose the model ({len(dev)}) all have the same labels." in str(warning.message)
    assert shares == sorted(shares)
    assert 0.0 < shares[0] < shares[-1] < 1.0


def test_weights_of_held_out_documents_that_are_far_from_1_are_warned_of(noisy: list[Record]) -> None:
    nlp = make_nlp(learner=AUTO)
    train, dev = split(nlp, noisy)
    nlp.initialize(lambda: train)
    nlp.update(train[:4])
    for example in dev:
        example.reference.user_data[WEIGHT_KEY] = 1e-6
    with pytest.warns(UserWarning, match=rf"example weights of the {len(dev)} held-out documents sum to .*e-0"):
        nlp.evaluate(dev)


@pytest.mark.parametrize("parsimony", ["one_se", 20])
def test_a_smaller_model_can_be_asked_for(parsimony: Any, noisy: list[Record]) -> None:
    sizes, losses = [], []
    for asked in ("best", parsimony):
        nlp = make_nlp(learner={**AUTO, "parsimony": asked, "retrain": False})
        train, dev = split(nlp, noisy)
        report = spacy_graft.fit(nlp, train, dev=dev)
        assert report.log_loss is not None
        sizes.append(report.n_active)
        losses.append(report.log_loss)
    assert sizes[1] < sizes[0]
    assert losses[1] > losses[0]
    if parsimony != "one_se":
        assert 0 < sizes[1] <= parsimony


@pytest.mark.parametrize("retrain", [False, True])
@pytest.mark.parametrize("with_dev", [False, True])
def test_a_number_of_features_is_a_limit(with_dev: bool, retrain: bool, noisy: list[Record]) -> None:
    """Also where the first point of the path has more."""
    nlp = make_nlp(learner={**AUTO, "steps": 2, "parsimony": 3, "retrain": retrain})
    train, dev = split(nlp, noisy)
    assert 0 < spacy_graft.fit(nlp, train, dev=dev if with_dev else None).n_active <= 3


def test_another_metric_can_choose(noisy: list[Record]) -> None:
    nlp = make_nlp(learner={**AUTO, "metric": "cats_micro_f", "retrain": False})
    train, dev = split(nlp, noisy)
    scores = trained(nlp, train, dev)
    choices = [score["cats_choice"] for score in scores if "cats_choice" in score]
    assert choices == sorted(choices)
    assert nlp.evaluate(dev)["cats_micro_f"] == pytest.approx(choices[-1])


def test_an_unknown_metric_is_refused(noisy: list[Record]) -> None:
    nlp = make_nlp(learner={**AUTO, "metric": "cats_f1"})
    train, dev = split(nlp, noisy)
    nlp.initialize(lambda: train)
    nlp.update(train[:4])
    with pytest.raises(ValueError, match=r"metric = 'cats_f1', but the scorer .* It has: .*cats_macro_f"):
        nlp.evaluate(dev)


def test_without_dev_folds_choose(noisy: list[Record]) -> None:
    nlp = make_nlp(learner=AUTO)
    report = spacy_graft.fit(nlp, make_examples(nlp, noisy))
    assert 1 <= report.points <= AUTO["steps"]
    assert report.refit is not None
    assert report.temperature != 1.0
    new = make_examples(nlp, make_records(90, seed=11))
    assert nlp.evaluate(new)["cats_macro_f"] > 0.9


def test_scores_of_held_out_documents_are_those_of_predictions(noisy: list[Record]) -> None:
    nlp = make_nlp(learner=AUTO)
    train, dev = split(nlp, noisy)
    nlp.initialize(lambda: train)
    for _ in range(4):
        nlp.update(train[:4])
    component = component_of(nlp)
    scores = held_out_of(component, dev, training_of(nlp).shares()).scores(component.model.snapshot)  # type: ignore[attr-defined]
    expected = component.model.predict([example.predicted for example in dev])
    np.testing.assert_array_equal(scores, expected)


def test_the_refit_has_the_least_log_loss_around(noisy: list[Record]) -> None:
    nlp = make_nlp(learner=AUTO)
    train, dev = split(nlp, noisy)
    nlp.initialize(lambda: train)
    for _ in range(5):
        nlp.update(train[:4])
    fit: Any = training_of(nlp).course.fit
    held_out = held_out_of(component_of(nlp), dev, training_of(nlp).shares())
    trial_of = trials_of(fit, component_of(nlp).model.attrs["snapshot"], held_out)
    best = best_refit(trial_of(2.0), trial_of)
    assert isinstance(best, Trial)
    assert best.strength is not None
    for factor in (0.5, 0.9, 1.0, 1.1, 2.0):
        assert best.log_loss <= trial_of(best.strength * factor).log_loss * (1.0 + 1e-3)


@pytest.mark.parametrize("first", [0.002, 0.3, 900.0])
def test_a_refit_is_found_from_where_all_are_alike(first: float) -> None:
    """Weak ones are, and strong ones, which leave nothing of the weights."""

    def trial_of(strength: float | None) -> Trial:
        assert strength is not None
        loss = losses[strength] = 0.5 + 0.1 * min(np.log(strength / 2.0) ** 2, 4.0)
        return Trial(strength, snapshot, np.empty(0), 1.2 if strength < 2.0 else 0.8, loss)

    losses: dict[float, float] = {}
    snapshot: Any = SimpleNamespace(features=SimpleNamespace(n_features=3))
    best = best_refit(trial_of(first), trial_of)
    assert best.strength == pytest.approx(2.0, rel=0.1)
    assert best.log_loss == min(losses.values())
    # No strength is tried again with another last digit.
    assert (np.diff(np.log(sorted(losses))) > 1e-6).all()


def test_a_refit_is_not_looked_for_at_two_points_in_a_row(noisy: list[Record], monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless a temperature says that it is far off."""
    looked: list[tuple[int, Trial]] = []

    def spy(first: Trial, trial_of: Any) -> Trial:
        choice = training_of(nlp).course.choice
        assert choice is not None
        looked.append((len(choice.points), first))
        return best_refit(first, trial_of)

    monkeypatch.setattr("spacy_graft.pipeline.choice.best_refit", spy)
    nlp = make_nlp(learner={**AUTO, "optional_blocks": []})
    trained(nlp, *split(nlp, noisy))
    points = [point for point, first in looked if not first.is_too_far_off]
    assert points
    assert not {point + 1 for point, _ in looked} & set(points)


@pytest.mark.parametrize(
    ("values", "place", "gain"),
    [
        ((1.0, 0.0, 1.0), 0.0, 0.0),
        ((2.0, 1.0, 1.0), 0.5, 0.125),
        ((1.0, 1.0, 1.0), 0.0, 0.0),
        ((3.0, 1.0, 0.0), 1.0, 1.0),
    ],
)
def test_the_lowest_place_of_a_parabola(values: tuple[float, ...], place: float, gain: float) -> None:
    assert lowest_of_parabola(values) == pytest.approx((place, gain))


def ends(losses: list[float], n_empty: int = 0) -> bool:
    """Whether a path ends, whose first points have no features."""
    return is_exhausted(losses, [*[0] * n_empty, *[1] * (len(losses) - n_empty)])


def test_a_path_ends_after_two_points_without_a_better_one() -> None:
    assert not ends([])
    assert not ends([8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 1.0, 1.5])
    assert ends([8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 1.0, 2.0, 1.5])
    assert ends([1.0] * 8)


def test_a_path_does_not_end_at_its_first_points() -> None:
    assert not ends([1.0, *[2.0] * 6])
    assert ends([1.0, *[2.0] * 7])
    assert not ends([1.0, *[2.0] * 6, 0.5])


def test_a_path_does_not_end_before_it_has_features() -> None:
    assert not ends([1.0] * 12, n_empty=12)
    assert not ends([*[1.0] * 12, 1.5, 1.5], n_empty=12)
    assert ends([*[1.0] * 12, 1.5, 1.5, 1.5], n_empty=12)


def test_a_path_ends_where_no_features_come() -> None:
    losses = [float(-k) for k in range(12)]
    grown = [2000, 4000, 6000, 7000, 7500, 7600, 7700, 7800, 7900]
    assert not is_exhausted(losses[:9], grown)
    assert not is_exhausted(losses[:10], [*grown, 7950])
    assert is_exhausted(losses[:11], [*grown, 7950, 7950])
    assert not is_exhausted(losses[:11], [*grown, 7950, 8100])
    # Fewer may be all that tells the frequent labels: those of rare ones come at smaller strengths.
    assert not is_exhausted(losses, [30] * 12)
    report = Report(n_active=5, n_pairs=9)
    assert n_entered(report, GraftingPath(), exclusive=True) == 5
    assert n_entered(report, GraftingPath(), exclusive=False) == n_entered(report, GraftingPath(refit=None), True) == 9


def test_which_point_parsimony_asks_for() -> None:
    means, errors, of_differences = [3.0, 1.3, 1.0, 1.05, 1.1], [0.5, 0.4, 0.3, 0.2, 0.1], [0.9, 0.2, 0.0, 0.06, 0.09]
    losses = list(map(MeanLoss, means, errors, of_differences))
    sizes = [1.0, 5.0, 9.0, 20.0, 40.0]
    assert parsimonious("best", losses, sizes) == 3
    assert parsimonious("one_se", losses, sizes) == 1
    assert parsimonious(8, losses, sizes) == 1
    assert parsimonious(10, losses, sizes) == 2
    assert parsimonious(30, losses, sizes) == 3
    assert parsimonious(0, losses, sizes) == 0
    values = [0.1, 0.9, 0.5, 0.6, 0.7]
    assert [parsimonious(rule, losses, sizes, values) for rule in ("best", 30, 1, "one_se")] == [1, 1, 0, 1]


@pytest.mark.parametrize("seed", range(40))
def test_the_last_point_that_documents_do_not_tell_from_the_best(seed: int) -> None:
    """By hand, with the standard errors of differences between losses of the same documents."""
    draw = np.random.default_rng(seed)
    n_points, n = draw.integers(1, 8), draw.integers(1, 12)
    losses = list(
        draw.exponential(size=n) * draw.uniform(0.5, 1.5, (n_points, 1)) + draw.normal(0.0, 0.2, (n_points, n))
    )
    weights = draw.uniform(0.5, 2.0, n)
    judge = Judge(PlainTargets(np.eye(2)[[0] * n], np.ones((n, 2), np.bool_), weights), True, np.full(2, 0.5))
    shares = weights / weights.sum()
    means = np.array([shares @ one for one in losses])
    errors = np.zeros(n_points)
    for i, one in enumerate(losses):
        differences = one - losses[means.argmin()]
        squares = shares**2 @ (differences - shares @ differences) ** 2
        errors[i] = math.sqrt(squares / (1.0 - shares @ shares)) if n > 1 else 0.0
    found = mean_losses(losses, judge)
    assert [loss.mean for loss in found] == pytest.approx(means)
    assert [loss.difference_error for loss in found] == pytest.approx(errors, abs=1e-12)
    (alike,) = np.nonzero(means - means.min() <= errors)
    assert parsimonious("best", found, [1.0] * n_points) == alike[-1]


@pytest.mark.slow
@pytest.mark.parametrize("factory", ["textcat_graft", "textcat_graft_multilabel"])
@pytest.mark.usefixtures("folds_too")
def test_with_few_documents_of_dev_all_documents_choose(factory: str, noisy: list[Record]) -> None:
    """By folds of train and dev, as :func:`fit` does without dev; scores are those of what dev chose."""
    learner = {**AUTO, "tol": 1e-12}
    nlp = make_nlp(factory, learner=learner)
    train, dev = split(nlp, noisy)
    scores = trained(nlp, train, dev)
    report = component_of(nlp).report
    assert report is not None
    assert (report.n_folds, report.n_held_out, report.n_documents) == (4, len(dev), len(noisy))
    whole = make_nlp(factory, learner=learner)
    expected = spacy_graft.fit(whole, make_examples(whole, noisy))
    for name in ("points", "n_folds", "n_active"):
        assert getattr(report, name) == getattr(expected, name)
    assert (report.refit, report.temperature) == pytest.approx((expected.refit, expected.temperature))
    np.testing.assert_allclose(
        component_of(nlp).predict(example.predicted for example in train),
        component_of(whole).predict(example.predicted for example in make_examples(whole, noisy)[:160]),
        rtol=1e-5,
    )
    alone = make_nlp(factory, learner={**learner, "retrain": False})
    assert trained(alone, *split(alone, noisy))[-1]["cats_score"] == scores[-1]["cats_score"]


@pytest.mark.parametrize("changed", ["retrain", "metric", "enough", "many"])
def test_dev_chooses_alone(changed: str, noisy: list[Record], monkeypatch: pytest.MonkeyPatch) -> None:
    """If it is asked to, if it is large, or if train is."""
    options: dict[str, Any] = {"retrain": {"retrain": False}, "metric": {"metric": "cats_macro_f"}}.get(changed, {})
    if changed == "enough":
        monkeypatch.setattr(folds, "ENOUGH_HELD_OUT", 80)
    if changed == "many":
        monkeypatch.setattr(folds, "MANY_DOCUMENTS", len(noisy))
    monkeypatch.delattr(folds, "cross_validated")
    nlp = make_nlp(learner={**AUTO, **options})
    trained(nlp, *split(nlp, noisy))
    report = component_of(nlp).report
    assert report is not None
    assert report.finished
    assert report.n_folds == 0


JUDGE = Judge(PlainTargets(np.ones((4, 1)), np.ones((4, 1), np.bool_), np.ones(4)), False, np.ones(1))
SPREAD = np.array([-0.5, 0.5, -0.5, 0.5])


def with_vectors(**options: Any) -> GraftingPath:
    """Settings that try strengths of vectors from 0.1 on."""
    return GraftingPath(vectors_ridge=0.1, **options)


@pytest.mark.parametrize(
    ("learner", "errors", "is_better"),
    [
        # Vectors in place of none, and a weaker ridge, must lower the loss by half a standard error.
        (with_vectors(vectors_choices=[0.0]), 0.4, False),
        (with_vectors(vectors_choices=[0.0]), 0.6, True),
        (with_vectors(vectors_choices=[0.03]), 0.4, False),
        (with_vectors(vectors_choices=[0.03]), 0.6, True),
        # For a stronger ridge, and for the strengths of a network, the least loss decides; for none, no larger one.
        (with_vectors(vectors_choices=[0.3]), 0.1, True),
        (with_vectors(vectors_choices=[0.3]), 0.0, False),
        (with_vectors(network_choices=[1.0]), 0.1, True),
        (with_vectors(network_choices=[1.0]), 0.0, False),
        (with_vectors(network_choices=[0.0]), 0.0, True),
        (with_vectors(network_choices=[0.0]), -0.1, False),
    ],
)
def test_more_vectors_must_lower_the_loss_by_half_a_standard_error(
    learner: GraftingPath, errors: float, is_better: bool
) -> None:
    """Also where the report of the chosen point does not name their strength, as that of folds."""
    chosen, gains = Verdict(Report(), np.ones(4)), errors * JUDGE.error(SPREAD) + SPREAD
    ((option, strength),) = choices = choices_of(
        learner, network=bool(learner.network_choices), vectors=bool(learner.vectors_choices)
    )

    def judged_as(like: Report, _: str) -> Verdict:
        return Verdict(like, chosen.losses - gains)

    found = with_best_strengths(learner, choices, chosen, JUDGE, judged_as)
    assert found.report.strengths == ({option: strength} if is_better else {})


@pytest.mark.parametrize(
    ("losses", "tried"),
    [
        # By strength; without vectors the loss is 1. The lowest one is at 0.03, 0.1, 0.3, 1, and without vectors.
        ({0.1: 0.9, 0.03: 0.8}, [0.1, 0.03]),
        ({0.1: 0.8, 0.03: 0.9, 0.3: 0.9}, [0.1, 0.03, 0.3]),
        ({0.1: 0.8, 0.03: 0.9, 0.3: 0.7, 1.0: 0.75}, [0.1, 0.03, 0.3, 1.0]),
        ({0.1: 1.1, 0.3: 1.0, 1.0: 0.9}, [0.1, 0.3, 1.0]),
        ({0.1: 1.1, 0.3: 1.1, 1.0: 1.1}, [0.1, 0.3, 1.0]),
    ],
)
def test_no_strength_of_vectors_is_tried_beyond_a_worse_one(losses: dict[float, float], tried: list[float]) -> None:
    learner = with_vectors(vectors_choices=[0.03, 0.3, 1.0, 0.0], network_choices=[2.0])
    seen = strengths_tried(learner, 1.0, {2.0: 1.1, **losses})
    assert seen == [("network_alpha", 2.0), *[("vectors_ridge", strength) for strength in tried]]


def test_strengths_of_vectors_around_the_first_are_tried() -> None:
    """Without 0 among the choices, the path has vectors from the beginning."""
    learner = with_vectors(vectors_choices=[0.3, 1.0, 0.03])
    for best, tried in ((0.1, [0.3, 0.03]), (0.3, [0.3, 1.0]), (0.03, [0.3, 0.03])):
        losses = {strength: 1.0 - 0.5 * (strength == best) for strength in (0.03, 0.1, 0.3, 1.0)}
        assert strengths_tried(learner, losses[0.1], losses) == [("vectors_ridge", strength) for strength in tried]


def strengths_tried(learner: GraftingPath, first: float, losses: dict[float, float]) -> list[tuple[str, float]]:
    """Strengths in the order in which they are tried, by the loss of each, which all documents have."""
    tried = []

    def judged_as(like: Report, option: str) -> Verdict:
        strength = like.strengths[option]
        tried.append((option, strength))
        return Verdict(like, np.full(4, losses[strength]))

    choices = choices_of(learner, network=bool(learner.network_choices), vectors=True)
    with_best_strengths(learner, choices, Verdict(Report(), np.full(4, first)), JUDGE, judged_as)
    return tried


def test_a_refit_between_those_of_the_grid_has_its_own_temperature() -> None:
    """Scores that fall with a power of the strength have a temperature that does."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(500, 1))
    targets = (rng.random((500, 1)) < 1.0 / (1.0 + np.exp(-scores))).astype(np.float64)
    judge = Judge(PlainTargets(targets, np.ones((500, 1), np.bool_), np.ones(500)), False, np.ones(1))
    sizes = 2.0 * np.array(REFIT_GRID) ** -0.7
    report, losses = judged_together(
        [FoldPoint(REFIT_GRID, sizes[:, None, None] * scores, Report())], judge, tempered=False
    )
    assert report.refit is not None
    assert REFIT_GRID[0] < report.refit < REFIT_GRID[-1]
    assert report.refit not in REFIT_GRID
    assert report.temperature == pytest.approx(judge.temperature(2.0 * report.refit**-0.7 * scores), rel=0.02)
    assert report.log_loss == pytest.approx(losses.mean())


def test_standard_errors_are_those_of_a_sample() -> None:
    def judge(weights: list[float]) -> Judge:
        n = len(weights)
        return Judge(
            PlainTargets(np.eye(2)[[0] * n], np.ones((n, 2), np.bool_), np.array(weights)), True, np.full(2, 0.5)
        )

    losses = np.array([0.1, 0.7, 0.4])
    assert judge([2.0, 2.0, 2.0]).error(losses) == pytest.approx(losses.std(ddof=1) / math.sqrt(3))
    assert judge([1.0, 0.0, 1.0]).error(losses) == pytest.approx(losses[[0, 2]].std(ddof=1) / math.sqrt(2))
    # Of one document, none is known.
    assert judge([1.0, 0.0, 0.0]).error(losses) == judge([3.0]).error(losses[:1]) == 0.0


def test_a_last_step_that_repeats_the_chosen_one_is_no_point() -> None:
    errors = {"log_loss_error": 0.0, "difference_error": 0.0}
    points = [{"l1_ratio": 1.0 / k, "log_loss": loss, "n_active": 10 * k, **errors}
              for k, loss in enumerate((0.9, 0.5, 0.6), start=1)]  # fmt: skip
    assert named_points(points) == {"best": 1, "one_se": 1}
    # Under max_features, the model of all documents and those of folds are full at different strengths.
    for changed in ({}, {"l1_ratio": 0.45}, {"log_loss": 0.4}):
        history = [*points, {**points[1], **changed}]
        assert named_points(history) == named_points(points)
        assert judged_points(history) == judged_points(points) == [0, 1, 2]


def test_labels_that_texts_do_not_tell_are_warned_of() -> None:
    rng = np.random.default_rng(0)
    nlp = make_nlp()

    def examples(n: int) -> list[Example]:
        texts = [" ".join(rng.choice(list("abcdefgh"), 6)) for _ in range(n)]
        return [
            make_example(nlp, text, {"a": float(one), "b": 1.0 - one})
            for text, one in zip(texts, rng.integers(0, 2, n), strict=True)
        ]

    with pytest.warns(
        UserWarning, match=r"not reliably better than the frequencies of the labels \(log-loss 0\.\d+; of "
    ):
        spacy_graft.fit(nlp, examples(200), dev=examples(200))


@pytest.mark.usefixtures("folds_too")
def test_where_folds_cannot_be_trained_dev_chooses_alone() -> None:
    """A fold can have no symbol where the whole corpus has some."""
    nlp = make_nlp()
    rows = [*[("", {"a": 1.0, "b": 0.0})] * 7, *[("", {"a": 0.0, "b": 1.0})] * 7, *[("word", {"a": 1.0, "b": 0.0})] * 2]
    train = [make_example(nlp, *row) for row in rows]
    dev = [make_example(nlp, " ", {"a": float(i % 2), "b": 1.0 - i % 2}) for i in range(4)]
    with pytest.warns(UserWarning, match=r"dev choose the model alone\. Cross.*No block finds a symbol"):
        report = spacy_graft.fit(nlp, train, dev=dev)
    assert (report.n_folds, report.n_held_out) == (0, 4)


def go_on(nlp: Language, train: list[Example], dev: list[Example]) -> None:
    """Train until the model is chosen."""
    while not training_of(nlp).course.concluded:
        nlp.update(train[:4])
        nlp.evaluate(dev)


def test_documents_that_could_not_judge_the_first_point_do_not_choose_later(noisy: list[Record]) -> None:
    nlp = make_nlp(learner={**AUTO, "metric": "cats_unknown"})
    train, dev = split(nlp, noisy)
    nlp.initialize(lambda: train)
    nlp.update(train[:4])
    with pytest.raises(ValueError, match="no such number"):
        nlp.evaluate(dev)
    nlp.update(train[:4])
    with pytest.warns(UserWarning, match="These 80 documents do not choose"):
        assert nlp.evaluate(dev)["cats_score"] > 0.0


def test_documents_are_not_in_memory_twice_when_all_are_trained_on(
    noisy: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    nlp, own, alive = make_nlp(learner=AUTO), fits.FitBuilder.begun, []
    train, dev = split(nlp, noisy)
    nlp.initialize(lambda: train)
    nlp.update(train[:4])
    nlp.evaluate(dev)
    before = weakref.ref(training_of(nlp).corpus)

    def begun(*args: Any, **options: Any) -> Any:
        alive.append(before() is not None)
        return own(*args, **options)

    monkeypatch.setattr(fits.FitBuilder, "begun", begun)
    go_on(nlp, train, dev)
    assert alive == [False]


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2, 5])
def test_an_interruption_of_a_step_keeps_what_dev_has_judged(
    number: int, noisy: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    models, calls, own = [], [], fits.FitBuilder.do

    def interrupted(*args: Any) -> None:
        own(*args)
        calls.append(args)
        if len(models) == 0 and len(calls) == number:
            raise KeyboardInterrupt

    monkeypatch.setattr(fits.FitBuilder, "do", interrupted)
    for is_interrupted in (True, False):
        nlp = make_nlp(learner=AUTO)
        train, dev = split(nlp, noisy)
        nlp.initialize(lambda train=train: train)  # type: ignore[misc]
        if is_interrupted:
            with pytest.raises(KeyboardInterrupt):
                go_on(nlp, train, dev)
        go_on(nlp, train, dev)
        models.append(component_of(nlp))
    assert models[0].history == models[1].history
    assert models[0].to_bytes() == models[1].to_bytes()


@pytest.mark.parametrize("where", ["folds", "last training"])
@pytest.mark.usefixtures("folds_too")
def test_an_interruption_of_the_choice_leaves_the_corpus(
    where: str, noisy: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dev is not part of it before it has chosen; the next step chooses again."""
    nlp, calls = make_nlp(learner=AUTO), []
    owner, name = (folds, "cross_validated") if where == "folds" else (training.Training, "path_to")
    own = getattr(owner, name)

    def interrupted(*args: Any) -> Any:
        calls.append(len(args))
        if len(calls) == 1:
            raise KeyboardInterrupt
        return own(*args)

    monkeypatch.setattr(owner, name, interrupted)
    train, dev = split(nlp, noisy)
    nlp.initialize(lambda: train)
    with pytest.raises(KeyboardInterrupt):
        go_on(nlp, train, dev)
    assert len(training_of(nlp).corpus) == len(train)
    nlp.update(train[:4])
    report = component_of(nlp).report
    assert report is not None
    assert (report.n_folds, report.n_held_out, report.n_documents) == (4, len(dev), len(noisy))
