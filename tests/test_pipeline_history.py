"""``component.history``: the record of each step of a training."""

from __future__ import annotations

import pickle
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.training import Example

import spacy_graft
from conftest import PATH, Record, component_of, make_examples, make_nlp, train_fully
from spacy_graft.model.sparse_linear import snapshot_of
from spacy_graft.pipeline import folds
from spacy_graft.pipeline.history import STEP_TYPES


def test_each_step_is_recorded(nlp: Language, examples: list[Example]) -> None:
    component = component_of(nlp)
    assert component.history == []
    nlp.initialize(lambda: examples)
    assert component.history == []
    for step in range(1, PATH["steps"] + 3):
        nlp.update(examples[:8])
        assert len(component.history) == min(step, PATH["steps"])
        last, report = component.history[-1], component.report
        assert report is not None
        assert last == {
            "step": min(step, PATH["steps"]),
            "l1": report.l1,
            "l1_ratio": report.l1_ratio,
            "n_active": report.n_active,
            "objective": report.objective,
            "gap": report.relative_gap,
            "refit": report.refit,
            "log_loss": None,
            "log_loss_error": None,
            "difference_error": None,
            "score": None,
        }
    nlp.initialize(lambda: examples)
    assert component.history == []


@pytest.mark.filterwarnings("ignore:.*do not choose among the points of the path")
def test_the_first_score_of_a_step_while_it_is_trained(
    nlp: Language, examples: list[Example], dev: list[Example]
) -> None:
    nlp.initialize(lambda: examples)
    nlp.evaluate(dev)
    nlp.update(examples[:8])
    nlp.update(examples[:8])
    score = nlp.evaluate(dev)["cats_score"]
    wrong = make_examples(nlp, [{"text": "salt", "label": "sport"}])
    assert nlp.evaluate(wrong)["cats_score"] != score
    component = component_of(nlp)
    assert [record["score"] for record in component.history] == [None, score]
    nlp.update(examples[:8])
    component.training = None
    nlp.evaluate(dev)
    assert component.history[-1]["score"] is None


@pytest.mark.filterwarnings("ignore:.*held-out documents that choose the model are training documents too")
def test_a_component_without_scorer_has_no_score(train_records: list[Record]) -> None:
    nlp = make_nlp(scorer=None)
    examples = make_examples(nlp, train_records)
    nlp.initialize(lambda: examples)
    nlp.update(examples[:8])
    nlp.evaluate(examples)
    assert component_of(nlp).history[-1]["score"] is None


def test_fit_scores_all_points_on_dev(nlp: Language, examples: list[Example], dev: list[Example]) -> None:
    report = spacy_graft.fit(nlp, examples, dev=dev)
    *points, last = component_of(nlp).history
    assert [record["step"] for record in points] == list(range(1, last["step"]))
    assert all(0.0 <= record["score"] <= 1.0 and record["log_loss"] > 0.0 for record in points)
    assert last["l1"] == report.l1


def test_fit_without_dev_records_what_folds_say_of_all_points(nlp: Language, examples: list[Example]) -> None:
    report = spacy_graft.fit(nlp, examples)
    component = component_of(nlp)
    *points, last = history = component.history
    assert last["l1"] == report.l1
    assert [record["step"] for record in history] == list(range(1, len(history) + 1))
    ratios = [record["l1_ratio"] for record in points]
    assert ratios == pytest.approx([0.05 ** (step / PATH["steps"]) for step in range(1, len(points) + 1)])
    assert {record["score"] for record in history} == {None}
    assert all(record["log_loss"] > 0.0 and record["log_loss_error"] > 0.0 for record in points)
    (chosen,) = (record for record in points if record["l1_ratio"] == pytest.approx(last["l1_ratio"]))
    assert chosen["log_loss"] == last["log_loss"] == report.log_loss
    assert component.named_points["best"]["l1_ratio"] == pytest.approx(last["l1_ratio"])


def test_folds_that_end_before_others_do_not_change_the_point(
    nlp: Language, examples: list[Example], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fold ends where its log-loss does not fall any more, and counts with its last point."""
    own, n_points = folds.points_of_fold, []

    def shortened(*args: Any) -> Any:
        points = own(*args)
        n_points.append(len(points))
        return points if len(n_points) > 1 else points[:1]

    monkeypatch.setattr(folds, "points_of_fold", shortened)
    report = spacy_graft.fit(nlp, examples)
    *points, last = component_of(nlp).history
    (chosen,) = (record["step"] for record in points if record["log_loss"] == last["log_loss"])
    assert len(n_points) > 1
    assert report.points == chosen > 1
    assert report.l1_ratio == pytest.approx(0.05 ** (chosen / PATH["steps"])) == points[chosen - 1]["l1_ratio"]


def test_resumed_training_has_the_history_of_the_last_fit(train_records: list[Record]) -> None:
    nlp = pickle.loads(pickle.dumps(train_fully(make_nlp(keep_corpus=True), train_records[:60])))
    (*_, before) = component_of(nlp).history
    nlp.update(make_examples(nlp, train_records))
    (after,) = component_of(nlp).history
    assert after["l1_ratio"] == pytest.approx(before["l1_ratio"])
    assert after["l1"] > before["l1"]


@pytest.mark.parametrize("label", [None, "new", "edit"])
def test_a_calibration_before_the_first_step_of_a_resumed_training_keeps_the_history(
    label: str | None, train_records: list[Record]
) -> None:
    nlp = train_fully(make_nlp(keep_corpus=True, learner=PATH), train_records)
    component = component_of(nlp)
    component.end_training()
    before = component.history
    if label == "new":
        component.add_label(label)
    else:
        nlp.update(make_examples(nlp, train_records[:2]))  # which it has had: there is no step
    if label == "edit":
        component.edit(deny=["salt"])
    component.divide_scores(2.0)
    assert component.history == before != []


def test_a_calibration_after_an_interrupted_training_keeps_the_history(
    train_records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The steps of what was interrupted are none of the model."""
    nlp = train_fully(make_nlp(keep_corpus=True, learner=PATH), train_records[:60])
    component = component_of(nlp)
    component.end_training()
    before = component.history

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("spacy_graft.pipeline.training.Training.refitted", interrupted)
        with pytest.raises(KeyboardInterrupt):
            nlp.update(make_examples(nlp, train_records[60:]))
    component.divide_scores(2.0)
    assert component.history == before != []


def test_a_fit_that_begins_again_has_all_steps_on_all_documents(
    train_records: list[Record], dev_records: list[Record]
) -> None:
    nlp, whole = make_nlp(), make_nlp()
    examples, same = make_examples(nlp, train_records), make_examples(whole, train_records)
    whole.initialize(lambda: same)
    nlp.initialize(lambda: examples[:30])
    for _ in range(2):
        nlp.update(examples[:30])
        whole.update(same)
        for one in (nlp, whole):
            one.evaluate(make_examples(one, dev_records))
    assert all(record["score"] for record in component_of(nlp).history)
    nlp.update(examples)
    whole.update(same)
    ours, theirs = ([{**step, "score": None} for step in component_of(one).history] for one in (nlp, whole))
    assert ours == theirs
    assert [step["log_loss"] is None for step in ours] == [False, False, True]


def test_a_history_that_is_taken_is_a_copy(fitted: Language) -> None:
    component = component_of(fitted)
    component.history[0]["l1"] = -1.0
    component.history.clear()
    assert component.history[0]["l1"] > 0.0


def test_history_is_saved(nlp: Language, examples: list[Example], dev: list[Example], tmp_path: Path) -> None:
    spacy_graft.fit(nlp, examples, dev=dev)
    nlp.to_disk(tmp_path / "model")
    ours, theirs = component_of(nlp), component_of(spacy.load(tmp_path / "model"))
    assert theirs.history == ours.history
    assert theirs.model.to_bytes() == ours.model.to_bytes()
    component = component_of(make_nlp())
    untrained = make_nlp()
    untrained.initialize(lambda: examples)
    component.from_bytes(ours.to_bytes())
    with pytest.warns(UserWarning, match="saved before its first training step: it has no features"):
        component.from_bytes(component_of(untrained).to_bytes())
    assert component.history == []
    assert component.report is None


SOUND = {key: kinds[0](1) for key, kinds in STEP_TYPES.items()}


@pytest.mark.parametrize(
    ("saved", "expected"),
    [
        ([SOUND], [SOUND]),
        ([{**SOUND, "score": None, "of a later version": []}], [{**SOUND, "score": None}]),
        (None, []),
        ({"step": 1}, []),
        ("history", []),
        ([SOUND, None], []),
        ([{key: value for key, value in SOUND.items() if key != "score"}], []),
        *[([{**SOUND, key: "1"}], []) for key in STEP_TYPES],
    ],
)
def test_a_damaged_history_is_none(fitted: Language, saved: Any, expected: list[Any]) -> None:
    damaged: Any = pickle.loads(pickle.dumps(fitted))
    model = component_of(damaged).model
    model.attrs["snapshot"] = replace(snapshot_of(model), notes={"history": saved})
    component = component_of(make_nlp())
    component.from_bytes(component_of(damaged).to_bytes())
    assert component.history == expected
    assert component.predict([damaged.make_doc("salt")]).shape == (1, 3)


@pytest.mark.slow
def test_spacy_train_leaves_the_scores_on_dev(training: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    output, result = training
    rows = [line.split() for line in result.stdout.splitlines() if re.match(r"\s*\d+\s+\d+\s", line)]
    last = component_of(spacy.load(output / "model-last")).history
    assert len(last) == len({row[1] for row in rows})
    assert [record["n_active"] for record in last] == [int(row[4]) for row in rows]
    losses = [float(row[6]) for row in rows if row[6] != "-"]
    assert [record["log_loss"] for record in last[: len(losses)]] == pytest.approx(losses, abs=6e-5)
    best = component_of(spacy.load(output / "model-best"))
    assert best.history == last[: len(best.history)]
    assert best.report is not None
    assert best.report.n_folds == 4
    assert (best.history[-1]["l1_ratio"], best.history[-1]["refit"]) == (best.report.l1_ratio, best.report.refit)
