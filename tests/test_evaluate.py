"""``spacy-graft evaluate``: metrics, tables and the diagram."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

import spacy_graft
from conftest import TELLING, Record, make_example, make_examples, make_nlp, make_records, train_fully, write_jsonl
from spacy_graft.checks.evaluation import calibration_metrics, confusion_counts, evaluate
from spacy_graft.cli.evaluate import bar, reliability_diagram, write_diagram
from spacy_graft.pipeline.dataset import dataset_figures
from spacy_graft.pipeline.dataset_scores import dataset_scores
from spacy_graft.pipeline.scorer import LabelColumns
from spacy_graft.pipeline.textcat import TextCatGraft
from test_cli import call


def scored(nlp: Language, gold: dict[str, float], predicted: dict[str, float]) -> Example:
    example = make_example(nlp, "x", gold)
    example.predicted.cats = predicted
    return example


def test_documents_are_counted_by_gold_and_predicted_label(blank: Language) -> None:
    examples = [
        scored(blank, {"a": 1.0, "b": 0.0}, {"a": 0.9, "b": 0.1}),
        scored(blank, {"a": 1.0, "b": 0.0}, {"a": 0.4, "b": 0.6}),
        scored(blank, {"a": 0.0, "b": 1.0}, {"a": 0.2, "b": 0.8}),
        scored(blank, {"c": 1.0}, {"a": 0.2, "b": 0.8}),
    ]
    counts = confusion_counts(LabelColumns.of(examples, ("a", "b")), ("a", "b"))
    assert [(one["gold"], one["predicted"], one["documents"]) for one in counts] == [
        ("a", "a", 1),
        ("a", "b", 1),
        ("b", "b", 1),
    ]


def test_log_loss(blank: Language) -> None:
    examples = [
        scored(blank, {"a": 1.0, "b": 0.0}, {"a": 0.5, "b": 0.5}),
        scored(blank, {"a": 0.0, "b": 1.0}, {"a": 0.75, "b": 0.25}),
    ]

    def log_loss(exclusive: bool) -> float:
        return calibration_metrics(LabelColumns.of(examples, ("a", "b")), exclusive)["log_loss"]

    assert log_loss(True) == pytest.approx(1.5 * 0.6931471805599453)
    assert log_loss(False) == pytest.approx((2 * 0.693147 + 2 * 1.386294) / 2, rel=1e-5)


def test_log_loss_excludes_unknown_targets(blank: Language) -> None:
    """Missing labels are not negatives, and documents without a label of the model are not counted."""
    examples = [scored(blank, {"a": 1.0}, {"a": 0.5, "b": 0.99})]
    metrics = calibration_metrics(LabelColumns.of(examples, ("a", "b")), False)
    assert metrics["log_loss"] == pytest.approx(0.6931471805599453)
    examples += [scored(blank, {"c": 1.0}, {"a": 0.9, "b": 0.1}), scored(blank, {}, {"a": 0.9, "b": 0.1})]
    metrics = calibration_metrics(LabelColumns.of(examples, ("a", "b")), True)
    assert metrics["log_loss"] == pytest.approx(0.6931471805599453)
    assert sum(one_bin["count"] for one_bin in metrics["reliability"]) == 1


@pytest.mark.parametrize(
    ("length", "mark", "expected"),
    [(0.0, 0.0, "┃" + " " * 31), (1.0, 1.0, "█" * 31 + "┃"), (0.5, 0.75, "█" * 16 + " " * 8 + "┃" + " " * 7)],
)
def test_bars_have_one_width(length: float, mark: float, expected: str) -> None:
    assert bar(length, mark) == expected


@pytest.fixture(scope="module")
def several(train_records: list[Record]) -> Language:
    return train_fully(make_nlp("textcat_graft_multilabel"), train_records[:60])


def test_evaluate_takes_several_labels(several: Language, tmp_path: Path) -> None:
    several.to_disk(tmp_path / "model")
    records = [{**record, "label": [record["label"]]} for record in make_records(20, seed=1)]
    write_jsonl(tmp_path / "test.jsonl", records)
    output = tmp_path / "metrics" / "test.json"
    printed = call(
        "evaluate", tmp_path / "model", tmp_path / "test.jsonl", "--output", output, "--format", "table"
    ).stdout
    metrics = json.loads(output.read_text(encoding="utf-8"))
    assert metrics["macro_f"] > 0.9
    assert "confusion" not in metrics
    assert metrics["thresholds"] == {"food": 0.5, "music": 0.5, "sport": 0.5}
    assert "F1" in printed
    assert 0.0 <= metrics["expected_calibration_error"] <= 1.0
    assert sum(one_bin["count"] for one_bin in metrics["reliability"]) == 60
    assert "Calibration" in printed
    assert output.with_name("reliability.png").read_bytes().startswith(b"\x89PNG")


def test_the_diagram_needs_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert reliability_diagram({"reliability": []}) is None
    write_diagram({"reliability": []}, tmp_path / "reliability.png")
    assert not list(tmp_path.iterdir())


def test_the_diagram_needs_a_folder_for_matplotlib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_folder(_: object) -> None:
        raise OSError("Matplotlib requires access to a writable cache directory")

    monkeypatch.setattr("spacy_graft.cli.evaluate.reliability_diagram", no_folder)
    write_diagram({"reliability": []}, tmp_path / "reliability.png")
    assert "reliability.png is not written: Matplotlib requires" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_written_is_said_before_the_work(
    saved: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spacy_graft.checks.evaluation.evaluate", lambda *_: pytest.fail("has begun"))
    result = call("evaluate", saved, corpus / "dev.jsonl", "--output", tmp_path, code=1)
    assert "cannot be written" in result.stderr


@pytest.fixture(scope="module")
def saved(fitted: Language, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("evaluate") / "model"
    fitted.to_disk(path)
    return path


def test_all_forms_of_a_corpus_have_the_same_scores(saved: Path, corpus: Path, tmp_path: Path) -> None:
    for name in ("dev.csv", "dev.tsv.gz", "texts"):
        call("convert", corpus / "dev.jsonl", tmp_path / name)
    paths = [
        corpus / "dev.jsonl",
        corpus / "dev.spacy",
        tmp_path / "dev.csv",
        tmp_path / "dev.tsv.gz",
        tmp_path / "texts",
    ]
    found = [json.loads(call("evaluate", saved, path).stdout) for path in paths]
    assert found[0]["macro_f"] > 0.9
    assert sum(one["documents"] for one in found[0]["confusion"]) == found[0]["documents"] == 30
    for other in found[1:]:
        assert {key: other[key] for key in ("documents", "macro_f", "confusion", "by_label")} == {
            key: found[0][key] for key in ("documents", "macro_f", "confusion", "by_label")
        }


@pytest.mark.filterwarnings("default:Of 28 documents", "default:22 of 28 documents")
def test_labels_that_the_pipeline_does_not_have_are_told(saved: Path, tmp_path: Path) -> None:
    records = [*make_records(6), *({"text": "x", "label": f"new {k}"} for k in range(22))]
    said = call("evaluate", saved, write_jsonl(tmp_path / "test.jsonl", records)).stderr
    names = ", ".join(repr(f"new {k}") for k in range(20))
    assert f"Warning: Of 28 documents, 22 have labels that the pipeline does not have ({names} and 2 more)." in said
    assert "Warning: 22 of 28 documents are left out of all scores" in said


@pytest.mark.filterwarnings("default:5 of 35 documents")
def test_documents_without_a_label_do_not_count(saved: Path, tmp_path: Path) -> None:
    labelled, unlabelled = make_records(30, seed=3), [{"text": f"salt {k}", "label": []} for k in range(5)]
    alone = call("evaluate", saved, write_jsonl(tmp_path / "labelled.jsonl", labelled))
    both = call("evaluate", saved, write_jsonl(tmp_path / "both.jsonl", [*labelled, *unlabelled]))
    assert json.loads(alone.stdout) == json.loads(both.stdout)
    assert "Warning: 5 of 35 documents are left out of all scores: they have no label, or" in both.stderr


def test_macro_f1_says_which_labels_occur(saved: Path, tmp_path: Path) -> None:
    records = [record for record in make_records(60, seed=3) if record["label"] != "food"]
    nlp = spacy.load(saved)
    component = nlp.get_pipe("textcat_graft")
    assert isinstance(component, TextCatGraft)
    known = [record for record in records if component.predicted(nlp(record["text"])) != ["food"]]
    path = write_jsonl(tmp_path / "test.jsonl", known)
    metrics = json.loads(call("evaluate", saved, path).stdout)
    assert metrics["labels_that_occur"] == 2
    soft = [
        {**record, "label": {label: 0.9 if label == record["label"] else 0.05 for label in TELLING}} for record in known
    ]
    again = json.loads(call("evaluate", saved, write_jsonl(tmp_path / "soft.jsonl", soft)).stdout)
    assert (again["labels_that_occur"], again["macro_f"]) == (2, metrics["macro_f"])
    scores = dataset_scores(component, make_examples(nlp, known))
    assert scores.n_occurring == 2
    assert scores.macro_f.value == pytest.approx(metrics["macro_f"] * 3 / 2)
    shown = " ".join(call("evaluate", saved, path, "--format", "table").stdout.split())
    assert f"({scores.macro_f.value:.3f} over the 2 of 3 labels that occur; others count as 0)" in shown


def test_no_label_occurs(several: Language, tmp_path: Path) -> None:
    several.to_disk(tmp_path / "model")
    path = write_jsonl(tmp_path / "test.jsonl", [{"text": "zzz", "label": dict.fromkeys(TELLING, 0)}] * 2)
    shown = " ".join(call("evaluate", tmp_path / "model", path, "--format", "table").stdout.split())
    assert "macro-F1 0.000 (0.000 over the 0 of 3 labels that occur; others count as 0)" in shown


@Language.component("label_of_another_component")
def label_of_another_component(doc: Doc) -> Doc:
    doc.cats["X"] = 1.0
    return doc


@pytest.mark.filterwarnings("ignore:Of 20 documents, 20 have labels that the pipeline does not have")
def test_other_components_and_scorers_do_not_matter(saved: Path) -> None:
    found = []
    for with_others in (False, True):
        nlp = spacy.load(saved)
        component = nlp.get_pipe("textcat_graft")
        assert isinstance(component, TextCatGraft)
        examples = make_examples(nlp, make_records(20, seed=3))
        if with_others:
            nlp.add_pipe("label_of_another_component")
            component.scorer = None
            for example in examples:
                example.reference.cats["X"] = 1.0
        found.append(evaluate(nlp, component, examples))
    assert found[0] == found[1]
    assert sum(one["documents"] for one in found[0]["confusion"]) == 20


def test_nothing_to_evaluate_is_said(saved: Path, tmp_path: Path) -> None:
    assert "There is no file or folder" in call("evaluate", saved, tmp_path / "none.jsonl", code=1).stderr
    empty = write_jsonl(tmp_path / "empty.jsonl", [])
    assert "empty.jsonl has no documents" in call("evaluate", saved, empty, code=1).stderr
    others = write_jsonl(tmp_path / "others.jsonl", [{"text": "x", "label": "weather"}])
    message = call("evaluate", saved, others, code=1).stderr
    assert "None of the 1 documents has a label of the component 'textcat_graft'" in message
    assert "those of the documents: 'weather'" in message


def test_documents_that_the_model_was_trained_on_are_told(
    train_records: list[Record], dev_records: list[Record]
) -> None:
    """Those that chose it belong to them, others of the same number do not."""
    nlp = make_nlp()
    spacy_graft.fit(nlp, make_examples(nlp, train_records), dev=make_examples(nlp, dev_records))
    component = nlp.get_pipe("textcat_graft")
    assert isinstance(component, TextCatGraft)
    component.from_bytes(component.to_bytes())
    evaluate(nlp, component, make_examples(nlp, make_records(len(dev_records), seed=11)))
    dev = make_examples(nlp, dev_records)
    for example in dev:
        example.predicted = nlp(example.reference.text)
    for score in (partial(evaluate, nlp), dataset_scores, partial(dataset_figures, fragments=False)):
        with pytest.warns(UserWarning, match="chosen by these documents, and then trained on them"):
            score(component, dev)


def test_later_components_do_not_count(several: Language, tmp_path: Path) -> None:
    """They can replace what the component said."""
    nlp = several.from_config(several.config)
    nlp.from_bytes(several.to_bytes())
    examples = make_examples(nlp, make_records(20, 3))
    component: Any = nlp.get_pipe("textcat_graft_multilabel")
    expected = evaluate(nlp, component, examples)
    nlp.add_pipe("forgetful", last=True)
    assert nlp(examples[0].text).cats == {}
    assert evaluate(nlp, component, make_examples(nlp, make_records(20, 3))) == expected


@Language.component("forgetful")
def forgetful(doc: Any) -> Any:
    doc.cats = {}
    return doc
