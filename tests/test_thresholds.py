"""The probabilities from which independent labels are predicted, as held-out documents choose them."""

from __future__ import annotations

import json
import re
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import spacy_graft
from conftest import PATH, TELLING, make_examples, make_nlp, make_records, write_jsonl
from spacy_graft import Grafting, GraftingPath, GraftTextClassifier
from spacy_graft.cli.app import app
from spacy_graft.metrics import (
    LEAST_LIFT,
    LEAST_RISE,
    PRIOR_DOCUMENTS,
    PRIOR_HITS,
    expected_thresholds,
    lifted_thresholds,
)

MULTILABEL = "textcat_graft_multilabel"
TEXTS = [record["text"] for record in make_records(200, 0)]
LABELS = [[record["label"], "any"] if i % 3 else [] for i, record in enumerate(make_records(200, 0))]


@pytest.fixture(scope="module")
def trained() -> Any:
    """A pipeline without retraining, its component, and the documents that chose its model."""
    nlp = make_nlp(MULTILABEL, learner={**PATH, "retrain": False})
    dev = make_examples(nlp, make_records(60, 2))
    spacy_graft.fit(nlp, make_examples(nlp, make_records(90, 1)), dev=dev)
    return nlp, nlp.get_pipe(MULTILABEL), dev


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=7))
def test_of_all_sets_of_documents_those_that_reach_it_have_the_best_expected_f1(probabilities: list[float]) -> None:
    p = np.array(probabilities)

    def expected_f1(chosen: tuple[int, ...]) -> float:
        return float((2.0 * p[list(chosen)].sum() + PRIOR_HITS) / (len(chosen) + p.sum() + PRIOR_DOCUMENTS))

    subsets = chain.from_iterable(combinations(range(len(p)), size) for size in range(1, len(p) + 1))
    best = max(map(expected_f1, subsets))
    (threshold,) = expected_thresholds(p[:, None]).tolist()
    least = min(0.5, LEAST_LIFT * float(p.mean()))
    assert threshold == pytest.approx(max(0.5 * best, least), rel=1e-12)
    # Lipton, Elkan & Naryanaswamy 2014: but where no document reaches it, since one must be predicted.
    if least < 0.5 * best and (reached := tuple(np.flatnonzero(p >= threshold).tolist())):
        assert expected_f1(reached) == pytest.approx(best, rel=1e-12)


def test_of_labels_without_documents_little_is_expected() -> None:
    assert expected_thresholds(np.zeros((50, 2))).tolist() == [0.05, 0.05]
    certain = np.repeat([1.0, 0.0], 500)[:, None]
    assert 0.499 < expected_thresholds(certain)[0] <= 0.5


def test_a_share_is_below_the_threshold_of_what_has_no_other_probability() -> None:
    shares = np.array([0.02, 0.1, 0.3, 0.45])
    assert (shares < expected_thresholds(np.tile(shares, (200, 1)))).all()


@pytest.mark.parametrize("share", [0.1, 0.45])
def test_a_label_that_texts_say_nothing_about_is_not_predicted(share: float) -> None:
    rng = np.random.default_rng(0)
    labels = [[record["label"], *(["chance"] if rng.random() < share else [])] for record in make_records(200, 0)]
    model = GraftTextClassifier(GraftingPath(steps=5), multilabel=True).fit(TEXTS, labels)
    assert ["chance"] not in model.predict(["", "the"])
    assert sum("chance" in found for found in model.predict(TEXTS)) < 60


def test_dev_chooses_the_thresholds_of_labels(trained: Any) -> None:
    nlp, component, dev = trained
    expected = expected_thresholds(component.predict([example.predicted for example in dev])).tolist()
    assert component.report.thresholds == pytest.approx(expected, abs=1e-9)
    assert list(component.thresholds.values()) == component.report.thresholds
    assert set(component.thresholds) == set(TELLING)
    # The scores of training are those under these thresholds.
    doc = nlp(TEXTS[0])
    assert component.predicted(doc) == [label for label, p in doc.cats.items() if p >= component.thresholds[label]]


def test_scores_of_training_are_those_of_the_saved_model(trained: Any, tmp_path: Path) -> None:
    nlp, component, dev = trained
    scores = nlp.evaluate(dev)
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert loaded.get_pipe(MULTILABEL).cfg == component.cfg
    again = loaded.evaluate(make_examples(loaded, make_records(60, 2)))
    assert again["cats_f_per_type"] == scores["cats_f_per_type"]
    component.cfg["threshold"] = 0.99
    try:
        assert nlp.evaluate(dev)["cats_micro_r"] < scores["cats_micro_r"]
    finally:
        component.cfg["threshold"] = None


def test_commands_know_them(trained: Any, tmp_path: Path) -> None:
    nlp, component, _ = trained
    nlp.to_disk(tmp_path / "chosen")
    component.cfg["thresholds"] = {"food": 0.9, "music": component.thresholds["music"] + 0.01}
    try:
        nlp.to_disk(tmp_path / "own")
        own = component.thresholds
        predicted = [component.predicted(nlp(text)) for text in TEXTS[:40]]
    finally:
        component.cfg["thresholds"] = {}
    found = run_command("diff", tmp_path / "chosen", tmp_path / "own")
    changes = json.loads(found)["threshold_changes"]
    assert list(changes.items()) == [(label, [component.thresholds[label], own[label]]) for label in ("food", "music")]
    shortened = json.loads(run_command("diff", tmp_path / "chosen", tmp_path / "own", "--top", 1))
    assert [*shortened["threshold_changes"]] == ["food"]
    words = run_command("diff", tmp_path / "chosen", tmp_path / "own", "--format", "table", "--top", 1).split()
    assert re.search(r"Changed thresholds: 2, 1 shown label before after ─+ food 0\.\d+ 0\.9000$", " ".join(words))
    page = tmp_path / "page.html"
    run_command("diff", tmp_path / "chosen", tmp_path / "own", "--html", page)
    assert "Changed thresholds: 2" in page.read_text()
    texts = write_jsonl(tmp_path / "texts.jsonl", [{"text": text} for text in TEXTS[:40]])
    lines = run_command("classify", tmp_path / "own", texts).splitlines()
    assert [json.loads(line)["predicted"] for line in lines] == predicted
    assert predicted != [component.predicted(nlp(text)) for text in TEXTS[:40]]


def run_command(*arguments: object) -> str:
    """What a command writes to standard output."""
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_training_on_all_documents_keeps_the_thresholds_of_the_choice() -> None:
    found = []
    for retrain in (False, True):
        nlp = make_nlp(MULTILABEL, learner={**PATH, "retrain": retrain})
        dev = make_examples(nlp, make_records(250, 2))
        spacy_graft.fit(nlp, make_examples(nlp, make_records(90, 1)), dev=dev)
        found.append(nlp.get_pipe(MULTILABEL).thresholds)  # type: ignore[attr-defined]
    assert found[0] == found[1]  # labels are no more frequent in dev than in train


def test_a_label_that_is_more_frequent_in_dev_is_not_predicted_for_all() -> None:
    """The final model, of train and dev, gives it more than the model that dev chose."""

    def records(seed: int, n: int, share: float) -> list[tuple[str, dict[str, float]]]:
        rng = np.random.default_rng(seed)
        return [
            (one["text"], {one["label"]: 1.0, **dict.fromkeys({*TELLING} - {one["label"]}, 0.0)} | {"chance": float(x)})
            for one, x in zip(make_records(n, seed), rng.random(n) < share, strict=True)
        ]

    nlp = spacy.blank("xx")
    component: Any = nlp.add_pipe(MULTILABEL)
    spacy_graft.fit(nlp, records(1, 500, 0.01), dev=records(2, 250, 0.12))
    texts = [text for text, _ in records(3, 100, 0.0)]
    assert not any("chance" in component.predicted(nlp(text)) for text in [*texts, ""])
    assert component.thresholds["chance"] < 0.5
    assert all(component.predicted(nlp(text)) for text in texts)


#: Ratios of smaller ones are not those of real numbers.
SHARES = st.just(0.0) | st.floats(1e-150, 1.0)


@given(st.lists(st.tuples(SHARES, SHARES, SHARES), min_size=1, max_size=5))
def test_lifted_thresholds_keep_their_ratio_to_what_intercepts_give(labels: list[tuple[float, float, float]]) -> None:
    before, after, thresholds = map(np.array, zip(*labels, strict=True))
    lifted = np.array(lifted_thresholds(thresholds.tolist(), before, after))
    assert (lifted >= thresholds).all()
    assert (lifted <= np.maximum(thresholds, 0.5)).all()
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = np.where(thresholds > 0.0, np.minimum(thresholds / before, LEAST_LIFT), 0.0)
    expected = np.maximum(thresholds, np.minimum(0.5, ratios * after))
    assert lifted == pytest.approx(np.where(after > LEAST_RISE * before, expected, thresholds), rel=1e-9)
    assert lifted_thresholds(thresholds.tolist(), before, before) == thresholds.tolist()


def test_a_label_that_becomes_more_frequent_is_not_predicted_for_all(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)

    def records(n: int, seed: int, share: float) -> list[tuple[str, dict[str, float]]]:
        return [
            (f"{one['text']} {i}", {label: float(label == one["label"]) for label in TELLING} | {"chance": float(x)})
            for i, (one, x) in enumerate(zip(make_records(n, seed), rng.random(n) < share, strict=True))
        ]

    nlp = make_nlp(MULTILABEL, keep_corpus=True)
    spacy_graft.fit(nlp, records(300, 1, 0.03), dev=records(250, 2, 0.03))
    nlp.to_disk(tmp_path)
    more = records(300, 3, 0.4)
    for each in (nlp, spacy.load(tmp_path)):
        component: Any = each.get_pipe(MULTILABEL)
        before = component.thresholds
        each.update([spacy.training.Example.from_dict(each.make_doc(text), {"cats": cats}) for text, cats in more])
        assert component.report.n_documents > 800
        assert "chance" not in component.predicted(each(""))
        assert sum("chance" in component.predicted(each(text)) for text, _ in more) < 100
        assert before["chance"] < component.thresholds["chance"] < 0.5
        assert all(component.thresholds[label] == before[label] for label in TELLING)


def test_a_new_label_does_not_raise_those_of_others(tmp_path: Path) -> None:
    nlp = make_nlp(MULTILABEL, keep_corpus=True)
    spacy_graft.fit(nlp, make_examples(nlp, make_records(90, 1)), dev=make_examples(nlp, make_records(250, 2)))
    component: Any = nlp.get_pipe(MULTILABEL)
    component.set_thresholds([0.2] * 3)
    nlp.to_disk(tmp_path)
    for each in (nlp, spacy.load(tmp_path)):
        changed: Any = each.get_pipe(MULTILABEL)
        changed.add_label("news")
        docs = [each.make_doc(f"{text} news") for text in TEXTS[:5]]
        each.update([spacy.training.Example.from_dict(doc, {"cats": {"news": 1.0}}) for doc in docs])
        assert changed.thresholds == {**dict.fromkeys(TELLING, 0.2), "news": 0.5}
        assert changed.report.finished


def test_a_calibration_between_two_updates_stays(tmp_path: Path) -> None:
    nlp = make_nlp(MULTILABEL, keep_corpus=True)
    spacy_graft.fit(nlp, make_examples(nlp, make_records(90, 1)), dev=make_examples(nlp, make_records(60, 2)))
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    component: Any = loaded.get_pipe(MULTILABEL)
    loaded.update(make_examples(loaded, make_records(9, 3)))
    with pytest.raises(ValueError, match=r"divided by a number above 0, not by 0\.0"):
        component.divide_scores(0.0)
    component.divide_scores(2.0)
    component.set_thresholds([0.21, 0.22, 0.23])
    temperature = component.report.temperature
    loaded.update(make_examples(loaded, make_records(9, 4)))
    assert (component.report.temperature, component.report.thresholds) == (temperature, [0.21, 0.22, 0.23])


def test_without_a_choice_there_are_none() -> None:
    nlp = make_nlp(MULTILABEL, learner={"@graft_learners": "spacy_graft.Grafting.v1", "l1": 1.0})
    dev = make_examples(nlp, make_records(60, 2))
    report = spacy_graft.fit(nlp, make_examples(nlp, make_records(90, 1)), dev=dev)
    assert report.thresholds is None
    assert set(nlp.get_pipe(MULTILABEL).thresholds.values()) == {0.5}  # type: ignore[attr-defined]


def test_exclusive_labels_have_none() -> None:
    nlp = make_nlp()
    report = spacy_graft.fit(nlp, make_examples(nlp, make_records(90, 1)), dev=make_examples(nlp, make_records(60, 2)))
    assert report.thresholds is None
    assert GraftTextClassifier(GraftingPath(steps=3)).fit(TEXTS[:40], ["a", "b"] * 20).report_.thresholds is None


def test_a_label_that_is_added_has_none() -> None:
    more = make_nlp(MULTILABEL, keep_corpus=True)
    spacy_graft.fit(more, make_examples(more, make_records(90, 1)), dev=make_examples(more, make_records(60, 2)))
    extended: Any = more.get_pipe(MULTILABEL)
    before = extended.thresholds
    extended.add_label("news")
    records = [{"text": text, "cats": {"news": 1.0}} for text in TEXTS[:5]]
    more.update(
        [spacy.training.Example.from_dict(more.make_doc(one["text"]), {"cats": one["cats"]}) for one in records]
    )
    assert extended.thresholds == {**before, "news": 0.5}


def test_estimators_predict_by_them(tmp_path: Path) -> None:
    model = GraftTextClassifier(GraftingPath(steps=5), multilabel=True).fit(TEXTS, LABELS)
    thresholds = model.report_.thresholds
    assert thresholds is not None
    assert len(thresholds) == len(model.classes_)
    expected = [
        [str(label) for label in model.classes_[row]] for row in model.predict_proba(TEXTS) >= np.array(thresholds)
    ]
    assert model.predict(TEXTS) == expected
    model.save(tmp_path / "model.graft")
    assert GraftTextClassifier.load(tmp_path / "model.graft").predict(TEXTS) == expected
    assert json.loads(spacy_graft.export(model))["thresholds"] == thresholds
    for wrong in ([2.0, *thresholds[1:]], thresholds[1:], []):
        model.report_.thresholds = wrong
        model.save(tmp_path / "wrong.graft")
        with pytest.raises(ValueError, match=r"The report of the training has .* as thresholds of \d labels"):
            GraftTextClassifier.load(tmp_path / "wrong.graft")
    single = GraftTextClassifier(Grafting(l1=0.5), multilabel=True).fit(TEXTS, LABELS)
    assert single.report_.thresholds is None
    probabilities = single.predict_proba(TEXTS)
    assert single.predict(TEXTS) == [[str(label) for label in single.classes_[row]] for row in probabilities >= 0.5]
