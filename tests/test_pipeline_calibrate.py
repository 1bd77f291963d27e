"""``spacy_graft.calibrate``, and thresholds in the component."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.cli.find_threshold import find_threshold
from spacy.language import Language
from spacy.pipeline.textcat_multilabel import textcat_multilabel_score as spacy_score
from spacy.tokens import DocBin
from spacy.training import Example

import spacy_graft
from conftest import PATH, TELLING, Record, component_of, forged, make_example, make_examples, make_nlp, make_records
from spacy_graft.checks.evaluation import evaluate
from spacy_graft.metrics import expected_thresholds
from spacy_graft.pipeline.saving import write_sealed
from spacy_graft.pipeline.textcat import TextCatGraftMultilabel

MULTILABEL = "textcat_graft_multilabel"
MEANS = ("cats_score", *(f"cats_{kind}_{key}" for kind in ("micro", "macro") for key in "prf"), "cats_macro_auc")


def noisy_records(n: int, seed: int) -> list[Record]:
    """Some of the labels are wrong, so that there is a best temperature."""
    rng = random.Random(seed)
    return [
        {**record, "label": rng.choice(list(TELLING)) if rng.random() < 0.2 else record["label"]}
        for record in make_records(n, seed)
    ]


@pytest.fixture(scope="module", params=["textcat_graft", MULTILABEL])
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained pipeline of either kind."""
    nlp = make_nlp(request.param, learner={**PATH, "l1_min_ratio": 0.01, "ngram_power": 0.0})
    examples = make_examples(nlp, noisy_records(120, 0))
    nlp.initialize(lambda: examples)
    for _ in range(PATH["steps"]):
        nlp.update(examples[:8])
    folder = tmp_path_factory.mktemp("saved") / "model"
    nlp.to_disk(folder)
    return folder


@pytest.fixture
def trained(saved: Path) -> Language:
    return spacy.load(saved)


@pytest.fixture(scope="module")
def saved_several() -> bytes:
    nlp = make_nlp(MULTILABEL)
    spacy_graft.fit(nlp, make_examples(nlp, noisy_records(90, 0)), dev=make_examples(nlp, noisy_records(30, 2)))
    return nlp.to_bytes()


@pytest.fixture
def several(saved_several: bytes) -> Language:
    """A trained pipeline of several labels, which is trained once and may be altered by each test."""
    return make_nlp(MULTILABEL).from_bytes(saved_several)


def dev_of(nlp: Language) -> list[Example]:
    return make_examples(nlp, noisy_records(60, 1))


def test_scores_are_divided_and_loss_falls(trained: Language) -> None:
    component = component_of(trained)
    weights, intercepts = component.model.get_param("W").copy(), component.model.get_param("b").copy()
    doc = trained.make_doc("salt and a goal in extra time with the song of the year")
    before = component.explain(doc)
    found = spacy_graft.calibrate(trained, dev_of(trained))
    assert abs(found.temperature - 1.0) > 0.01
    assert found.after.log_loss < found.before.log_loss
    assert np.array_equal(component.model.get_param("W"), weights / found.temperature)
    assert np.array_equal(component.model.get_param("b"), intercepts / found.temperature)
    after = component.explain(doc)
    for old, new in zip(before, after, strict=True):
        parts = [part.contribution for part in new.contributions]
        assert new.score == pytest.approx(new.intercept + math.fsum(parts), abs=1e-9)
        assert new.score == pytest.approx(old.score / found.temperature, abs=1e-9)
    assert after.best.label == before.best.label


def test_a_calibration_that_is_interrupted_changes_nothing(several: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores of a new temperature with old thresholds would be a model that nobody has chosen."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    before = component_of(several).to_bytes()
    monkeypatch.setattr("spacy_graft.pipeline.calibrate.fit_thresholds", interrupted)
    with pytest.raises(KeyboardInterrupt):
        spacy_graft.calibrate(several, dev_of(several))
    assert component_of(several).to_bytes() == before


def test_the_figures_are_those_of_the_component(trained: Language) -> None:
    dev = dev_of(trained)
    found = spacy_graft.calibrate(trained, dev)
    component = component_of(trained)
    probabilities = component.predict(example.predicted for example in dev)
    assert found.after.log_loss == pytest.approx(component.get_loss(dev, probabilities)[0])
    assert json.loads(json.dumps(found.to_dict()))["before"]["log_loss"] == found.before.log_loss
    again = spacy_graft.calibrate(trained, dev)
    assert again.temperature == pytest.approx(1.0)
    assert again.before.log_loss == found.after.log_loss


def test_neither_is_asked_for(trained: Language) -> None:
    before = component_of(trained).to_bytes()
    found = spacy_graft.calibrate(trained, dev_of(trained), temperature=False, thresholds=False)
    assert found.temperature == 1.0
    assert set(found.thresholds.values()) <= {0.5}
    assert found.before == found.after
    assert component_of(trained).to_bytes() == before


def test_labels_that_exclude_each_other_have_no_thresholds(fitted: Language) -> None:
    nlp = spacy.util.load_model_from_config(fitted.config).from_bytes(fitted.to_bytes())
    assert spacy_graft.calibrate(nlp, dev_of(nlp), temperature=False).thresholds == {}
    assert "thresholds" not in component_of(nlp).cfg


def test_no_temperature_if_all_documents_are_predicted_correctly(fitted: Language) -> None:
    nlp = spacy.util.load_model_from_config(fitted.config).from_bytes(fitted.to_bytes())
    dev = make_examples(nlp, [{"text": "salt and sugar", "label": "food"}, {"text": "goal", "label": "sport"}])
    with pytest.warns(UserWarning, match=r"\[textcat_graft\] No temperature is best for these 2 documents"):
        assert spacy_graft.calibrate(nlp, dev).temperature == 1.0
    assert component_of(nlp).model.to_bytes() == component_of(fitted).model.to_bytes()


def test_thresholds_raise_f_on_dev(several: Language) -> None:
    dev = make_examples(several, noisy_records(250, 1))
    before = several.evaluate(dev)["cats_f_per_type"]
    found = spacy_graft.calibrate(several, dev)
    after = several.evaluate(dev)["cats_f_per_type"]
    assert list(found.thresholds) == list(TELLING)
    assert all(after[label]["f"] >= before[label]["f"] for label in TELLING)
    assert any(after[label]["f"] > before[label]["f"] for label in TELLING)
    assert component_of(several).thresholds == found.thresholds
    assert component_of(several).cfg["thresholds"] == {}


def test_a_label_that_few_documents_have_keeps_its_threshold(several: Language) -> None:
    component = component_of(several)
    before = component.thresholds
    assert before["food"] != 0.5
    dev = make_examples(several, noisy_records(250, 1))
    food = [example for example in dev if example.reference.cats["food"]]
    for n in (0, 49, 50):
        few = [example for example in dev if example not in food[n:]]
        found = spacy_graft.calibrate(several, few, temperature=False).thresholds
        assert (found["food"] == before["food"]) == (n < 50)
        assert found["music"] != before["music"]


def test_a_label_without_one_gets_what_its_probabilities_let_expect() -> None:
    nlp = make_nlp(MULTILABEL, learner={"@graft_learners": "spacy_graft.Grafting.v1", "l1": 1.0})
    spacy_graft.fit(nlp, make_examples(nlp, noisy_records(90, 0)))
    component, dev = component_of(nlp), dev_of(nlp)
    assert set(component.thresholds.values()) == {0.5}
    found = spacy_graft.calibrate(nlp, dev, temperature=False).thresholds
    expected = expected_thresholds(component.predict([example.predicted for example in dev]))
    assert found == dict(zip(component.labels, expected.tolist(), strict=True))


def test_a_threshold_for_all_labels_stays(several: Language) -> None:
    component = component_of(several)
    component.cfg["threshold"] = 0.25
    assert spacy_graft.calibrate(several, dev_of(several)).thresholds == dict.fromkeys(component.labels, 0.25)
    component.cfg["thresholds"] = {"music": 0.75}
    assert component.thresholds == {"food": 0.25, "music": 0.75, "sport": 0.25}
    component.cfg["threshold"] = None
    assert spacy_graft.calibrate(several, dev_of(several)).thresholds["music"] == 0.75


def test_a_temperature_changes_no_decision(several: Language) -> None:
    component = component_of(several)
    dev = make_examples(several, noisy_records(250, 7))
    docs = [example.predicted for example in dev]
    before, thresholds = [component.predicted(doc) for doc in docs], component.thresholds
    found = spacy_graft.calibrate(several, dev, thresholds=False)
    assert found.temperature != 1.0
    assert found.thresholds != thresholds
    assert [component.predicted(doc) for doc in docs] == before


def test_thresholds_of_calibration_stay_with_edits_and_more_documents() -> None:
    nlp = make_nlp(MULTILABEL, keep_corpus=True)
    spacy_graft.fit(nlp, make_examples(nlp, noisy_records(90, 0)), dev=make_examples(nlp, noisy_records(30, 2)))
    component = component_of(nlp)
    of_training = component.thresholds
    spacy_graft.calibrate(nlp, make_examples(nlp, noisy_records(250, 1)), temperature=False)
    found = component.thresholds
    assert all(found[label] != of_training[label] for label in TELLING)
    component.edit(deny=[component.features()[0].text], resolve=False)
    assert component.thresholds == found
    nlp.update(make_examples(nlp, noisy_records(20, 5)))
    assert component.thresholds == found
    # Locked weights have no temperature: the same scores are decided alike.
    label, feature = component.labels[0], component.features()[0]
    component.edit(lock={feature.text: {label: 1.0}})
    assert component.report.temperature == 1.0
    assert component.thresholds != found


@pytest.mark.parametrize("learner", [PATH, {"@graft_learners": "spacy_graft.Grafting.v1", "l1": 1.0}])
def test_more_documents_change_no_calibration(learner: dict[str, Any]) -> None:
    nlp = make_nlp(MULTILABEL, learner=learner, keep_corpus=True)
    spacy_graft.fit(nlp, make_examples(nlp, noisy_records(90, 0)), dev=make_examples(nlp, noisy_records(30, 2)))
    component = component_of(nlp)
    spacy_graft.calibrate(nlp, make_examples(nlp, noisy_records(250, 1)))
    temperature, thresholds = component.report.temperature, component.thresholds
    assert temperature != 1.0
    nlp.update(make_examples(nlp, noisy_records(20, 5)), sgd=nlp.create_optimizer())
    assert component.report.n_documents == 140 if learner is PATH else 110
    assert (component.report.temperature, component.thresholds) == (temperature, thresholds)
    component.add_label("news")
    spacy_graft.calibrate(nlp, make_examples(nlp, noisy_records(30, 6)), temperature=False)
    assert {label: component.thresholds[label] for label in thresholds} == thresholds
    assert component.thresholds["news"] != 0.5


def test_a_training_that_goes_on_keeps_a_calibration() -> None:
    nlp = make_nlp(MULTILABEL, learner=PATH)
    train, dev = make_examples(nlp, noisy_records(90, 0)), make_examples(nlp, noisy_records(250, 2))
    nlp.initialize(lambda: train)
    component = component_of(nlp)
    while not component.training.course.concluded:
        nlp.update(train[:8], sgd=nlp.create_optimizer())
        nlp.evaluate(dev)
    spacy_graft.calibrate(nlp, make_examples(nlp, noisy_records(250, 1)))
    temperature, thresholds = component.report.temperature, component.thresholds
    more = make_examples(nlp, noisy_records(400, 5))
    for _ in range(2):
        nlp.update(more, sgd=nlp.create_optimizer())
    assert component.report.n_documents > 600
    assert (component.report.temperature, component.thresholds) == (temperature, thresholds)


def test_every_door_has_the_same_scores(several: Language) -> None:
    component, dev = component_of(several), make_examples(several, noisy_records(250, 1))
    component.set_thresholds([0.1, 0.7, 0.9])
    scores = several.evaluate(dev)
    found = evaluate(several, component, dev)
    assert (found["macro_f"], found["micro_f"]) == (scores["cats_macro_f"], scores["cats_micro_f"])
    assert found["thresholds"] == component.thresholds == dict(zip(component.labels, [0.1, 0.7, 0.9], strict=True))
    others = several.evaluate(dev, scorer_cfg={"threshold": 0.3})
    assert others["cats_micro_f"] != scores["cats_micro_f"]
    component.cfg["threshold"] = 0.3
    assert several.evaluate(dev)["cats_micro_f"] == others["cats_micro_f"]


def test_own_thresholds_stay_in_a_new_training(several: Language) -> None:
    component = component_of(several)
    component.set_thresholds([0.2] * 3)
    component.cfg["thresholds"] = {"food": 0.1, "music": 0.3}
    examples = make_examples(several, noisy_records(60, 0))
    for example in examples:
        del example.reference.cats["music"]
    component.initialize(lambda: examples)
    assert component.thresholds == {"food": 0.1, "sport": 0.5}


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"thresholds": {"war": 0.5}}, "There is a threshold for 'war', which is not a label"),
        ({"thresholds": {"food": None}}, "The threshold of 'food' is None, but it must be an int or a float"),
        ({"thresholds": [0.5]}, r"The thresholds of labels are \[0\.5\]"),
        ({"threshold": "0.5"}, "The threshold is '0.5', but it must be a number"),
    ],
)
def test_own_thresholds_are_checked_where_they_are_used(several: Language, own: dict[str, Any], message: str) -> None:
    component = component_of(several)
    component.cfg.update(own)
    for use in (component.predicted, lambda doc: several.evaluate(dev_of(several))):
        with pytest.raises(ValueError, match=rf"\[{MULTILABEL}\] {message}"):
            use(several("salt and a goal"))


def test_bad_thresholds_end_an_initialization_before_it_begins(several: Language) -> None:
    component = component_of(several)
    for wrong in (None, [0.5]):
        component.cfg["thresholds"] = wrong
        with pytest.raises(ValueError, match="The thresholds of labels are"):
            several.initialize(lambda: make_examples(several, noisy_records(60, 0)))
        assert component.is_trained


def test_numbers_of_numpy_are_thresholds(several: Language) -> None:
    component = component_of(several)
    component.set_thresholds([np.float32(0.25)] * 3)
    assert component.report.thresholds == [0.25] * 3
    assert component_of(make_nlp(MULTILABEL)).from_bytes(component.to_bytes()).report.thresholds == [0.25] * 3


@pytest.mark.parametrize("thresholds", [[2.0] * 3, [0.5] * 4, [0.5], [float("nan")] * 3, ["a"] * 3])
def test_thresholds_that_could_not_be_loaded_are_not_set(several: Language, thresholds: Any) -> None:
    component = component_of(several)
    before = component.report
    with pytest.raises(ValueError, match=rf"\[{MULTILABEL}\] "):
        component.set_thresholds(thresholds)
    assert component.report == before


def test_predicted_labels(several: Language, fitted: Language) -> None:
    doc = several("salt and a goal in extra time")
    assert component_of(fitted).predicted(doc) in (["food"], ["sport"])
    component = component_of(several)
    for label, probability in doc.cats.items():
        component.cfg["thresholds"] = dict.fromkeys(TELLING, 1.0) | {label: probability}
        assert component.predicted(doc) == [label]
    component.cfg["thresholds"] = dict.fromkeys(TELLING, 0.5)
    assert component.predicted(doc) == [label for label, probability in doc.cats.items() if probability >= 0.5]
    component.cfg.update(threshold=0.0, thresholds={})
    assert component.predicted(doc) == list(TELLING)


def test_thresholds_are_saved(several: Language, tmp_path: Path) -> None:
    dev = dev_of(several)
    found = spacy_graft.calibrate(several, dev)
    several.to_disk(tmp_path / "model")
    loaded = spacy.load(tmp_path / "model")
    assert component_of(loaded).cfg == component_of(several).cfg
    assert component_of(loaded).thresholds == found.thresholds
    assert loaded("salt and a goal").cats == several("salt and a goal").cats
    assert loaded.evaluate(dev_of(loaded))["cats_macro_f"] == several.evaluate(dev)["cats_macro_f"]


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        ([0.5], r"The thresholds of labels are \[0.5\], but must be numbers by label"),
        (None, "The thresholds of labels are None"),
        ({"war": 0.5}, r"There is a threshold for 'war', which is not a label\. The labels: 'food', 'music', 'sport'"),
        ({"food": 1.5}, "The threshold of 'food' is 1.5, but it must be an int or a float from 0 to 1"),
        ({"food": -0.1}, "The threshold of 'food' is -0.1"),
        ({"food": "0.5"}, "The threshold of 'food' is '0.5'"),
        ({"food": True}, "The threshold of 'food' is True"),
    ],
)
def test_bad_thresholds_are_refused(several: Language, tmp_path: Path, thresholds: Any, message: str) -> None:
    component = component_of(several)
    data = forged(component.to_bytes(), cfg={**component.cfg, "thresholds": thresholds})
    component.to_disk(tmp_path)
    write_sealed(tmp_path, data)
    with pytest.raises(ValueError, match=rf"model: \[{MULTILABEL}\] {message}"):
        component_of(make_nlp(MULTILABEL)).from_disk(tmp_path)
    component.cfg["thresholds"] = thresholds
    with pytest.raises(ValueError, match=rf"^\[{MULTILABEL}\] {message}"):
        component.to_disk(tmp_path)


def test_a_model_without_thresholds_is_refused(several: Language) -> None:
    cfg = {key: value for key, value in component_of(several).cfg.items() if key != "thresholds"}
    with pytest.raises(ValueError, match="must have 'labels', 'threshold', 'thresholds'"):
        component_of(make_nlp(MULTILABEL)).from_bytes(forged(component_of(several).to_bytes(), cfg=cfg))


@pytest.mark.slow
def test_find_threshold_goes_by_the_threshold_of_the_component(several: Language, tmp_path: Path) -> None:
    several.to_disk(tmp_path / "model")
    DocBin(docs=[example.reference for example in dev_of(several)]).to_disk(tmp_path / "dev.spacy")
    best, score, scores = find_threshold(
        str(tmp_path / "model"), tmp_path / "dev.spacy", MULTILABEL, "threshold", "cats_macro_f", n_trials=5
    )
    assert len(set(scores.values())) > 1
    component_of(several).cfg["threshold"] = best
    assert several.evaluate(dev_of(several))["cats_macro_f"] == score


def test_without_thresholds_scores_are_those_of_spacy(several: Language) -> None:
    component = component_of(several)
    assert isinstance(component, TextCatGraftMultilabel)
    dev = dev_of(several)
    for example in dev:
        example.predicted.cats = several(example.text).cats
    for label in list(TELLING)[:2]:
        del dev[0].reference.cats[label]
    for threshold in (0.5, 0.3):
        component.cfg["threshold"] = threshold
        expected = spacy_score(dev, labels=component.labels, threshold=threshold)
        assert component.score(dev) == expected
        # As many thresholds of their own, which are the same.
        component.cfg.update(threshold=None, thresholds=dict.fromkeys(TELLING, threshold))
        scores = component.score(dev)
        assert set(scores) == set(expected)
        assert scores["cats_f_per_type"] == expected["cats_f_per_type"]
        assert {key: scores[key] for key in MEANS} == pytest.approx({key: expected[key] for key in MEANS})
        assert scores["cats_auc_per_type"] == expected["cats_auc_per_type"]
        component.cfg["thresholds"] = {}


def test_examples_are_annotated_by_components_before() -> None:
    nlp = spacy.blank("xx")
    ruler: Any = nlp.add_pipe("attribute_ruler")
    ruler.add(patterns=[[{"LOWER": "salt"}]], attrs={"POS": "NOUN"})
    ruler.add(patterns=[[{"LOWER": {"NOT_IN": ["salt"]}}]], attrs={"POS": "VERB"})
    features = {"pos": {"@graft_features": "spacy_graft.TokenNgrams.v1", "attr": "POS"}}
    nlp.add_pipe("textcat_graft", config={"features": features, "learner": PATH})
    records = [{"text": text, "label": label} for text, label in [("salt", "food"), ("run", "sport"), ("go", "music")]]
    spacy_graft.fit(nlp, make_examples(nlp, records * 10))
    dev = make_examples(nlp, records)
    assert spacy_graft.calibrate(nlp, dev, temperature=False).before.log_loss < math.log(3)
    assert not dev[0].predicted.has_annotation("POS")


def test_there_must_be_examples_and_one_trained_component(several: Language) -> None:
    with pytest.raises(ValueError, match=rf"\[{MULTILABEL}\] There are no examples to calibrate on"):
        spacy_graft.calibrate(several, [])
    with pytest.raises(ValueError, match="There is no enabled graft component in the pipeline; its components: none"):
        spacy_graft.calibrate(spacy.blank("xx"), dev_of(several))
    nlp = make_nlp()
    for label in TELLING:
        component_of(nlp).add_label(label)
    with pytest.raises(ValueError, match="The component has no weights yet"):
        spacy_graft.calibrate(nlp, dev_of(nlp))


@pytest.mark.parametrize("factory", ["textcat_graft", MULTILABEL])
def test_a_label_that_is_not_trained_yet_is_refused(factory: str) -> None:
    """No temperature makes it possible, and the highest would be chosen."""
    nlp = make_nlp(factory, keep_corpus=True)
    records = noisy_records(60, 0)
    spacy_graft.fit(nlp, make_examples(nlp, records))
    component_of(nlp).add_label("new")
    before = nlp("salt").cats
    examples = make_examples(nlp, noisy_records(40, 1))
    cats = {**dict.fromkeys(TELLING, 0.0), "new": 1.0}
    with pytest.raises(ValueError, match=r"not been trained yet \('new'\)"):
        spacy_graft.calibrate(nlp, [*examples, make_example(nlp, "a text", cats)])
    assert nlp("salt").cats == before
    spacy_graft.calibrate(nlp, examples)


def test_examples_without_a_known_label(nlp: Language) -> None:
    several = make_nlp("textcat_graft_multilabel")
    examples = [make_example(several, f"{word} text", {"a": float(word == "salt")}) for word in ("salt", "goal") * 6]
    spacy_graft.fit(several, examples)
    with pytest.raises(ValueError, match="None of the 3 examples has a label to calibrate by"):
        spacy_graft.calibrate(several, [make_example(several, "salt", {}) for _ in range(3)])
    with pytest.raises(ValueError, match="has no weights yet"):
        spacy_graft.calibrate(nlp, examples)


def test_the_report_and_edits_know_the_temperature(trained: Language) -> None:
    component = component_of(trained)
    report = component.report
    found = spacy_graft.calibrate(trained, make_examples(trained, noisy_records(60, 1)))
    assert found.temperature != 1.0
    assert component.report.temperature == report.temperature * found.temperature
    assert component.report.log_loss is None
    assert f"temperature of {component.report.temperature:.3f}" in trained.meta["notes"]
    before = {feature.text: feature.weights for feature in component.features()}
    # Without a feature that hardly counts, the others are nearly what they were, divided as before.
    least = min(before, key=lambda name: max(map(abs, before[name].values())))
    component.edit(deny=[least], examples=make_examples(trained, noisy_records(120, 0)))
    assert component.report.temperature == report.temperature * found.temperature
    after = {feature.text: feature.weights for feature in component.features()}
    common = sorted(before.keys() & after.keys())
    assert len(common) > 0.9 * len(before)
    values = [[weights[name][label] for name in common for label in component.labels] for weights in (before, after)]
    assert values[1] == pytest.approx(values[0], rel=0.1, abs=0.02)


def test_what_is_not_trained_is_not_calibrated(train_records: list[Record]) -> None:
    nlp = make_nlp()
    examples = make_examples(nlp, train_records)
    nlp.initialize(lambda: examples)
    with pytest.raises(ValueError, match=r"\[textcat_graft\] The component is not trained: there is nothing to cal"):
        spacy_graft.calibrate(nlp, examples)
    nlp.update(examples[:4])
    with pytest.warns(UserWarning, match="The training has steps left: the next one makes a model without this"):
        spacy_graft.calibrate(nlp, examples, temperature=False)
