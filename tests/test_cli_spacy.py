"""spaCy's own commands, run on our components."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
import spacy
from spacy.tokens import DocBin
from thinc.api import Config

from conftest import CONFIG, REPOSITORY, Record, run, run_forked, write_jsonl
from lexicons import write_sentiwordnet, write_wordnet
from spacy_graft.pipeline.textcat import TextCatGraft

pytestmark = pytest.mark.slow


Training = tuple[Path, subprocess.CompletedProcess[str]]
TITLES = [
    "E", "#", "LOSS", "L1/MAX", "FEATURES", "REFIT", "LOGLOSS", "GAP", "CATS_CHOICE", "CATS_SCORE", "SCORE",
]  # fmt: skip


def rows_of(output: str) -> list[dict[str, float]]:
    """The log table, by title; the last step has no log-loss."""
    lines = output.splitlines()
    (header,) = (i for i, line in enumerate(lines) if line.split()[:2] == ["E", "#"])
    assert lines[header].split() == TITLES
    rows = [line.split() for line in lines[header + 2 :] if re.match(r"\s*\d+\s+\d+\s", line)]
    numbers = ([float("nan" if cell == "-" else cell) for cell in row] for row in rows)
    return [dict(zip(TITLES, row, strict=True)) for row in numbers]


def test_train_prints_a_row_a_point(training: Training) -> None:
    rows = rows_of(training[1].stdout)
    assert [row["#"] for row in rows] == list(range(len(rows)))
    assert all(row["GAP"] <= 1e-3 for row in rows)
    *points, chosen = rows
    ratios = [row["L1/MAX"] for row in points]
    assert ratios == sorted(ratios, reverse=True)
    assert points[-1]["FEATURES"] > points[0]["FEATURES"]
    assert points[-1]["LOSS"] < points[0]["LOSS"] < 1.2
    report = spacy.load(training[0] / "model-best").get_pipe("textcat_graft").report  # type: ignore[attr-defined]
    assert (chosen["L1/MAX"], chosen["REFIT"]) == pytest.approx((report.l1_ratio, report.refit), abs=1e-5)
    assert np.isnan(chosen["LOGLOSS"])
    assert report.n_folds == 4
    said = " ".join(training[1].stdout.split())
    assert "by 4-fold cross-validation on train and dev, and trained on train" in said
    assert "and trained on train and 30 documents of dev;" in said


def test_train_keeps_the_best_model(training: Training) -> None:
    output, result = training
    rows = rows_of(result.stdout)
    best = max(rows, key=lambda row: (row["SCORE"], row["#"]))  # of equal ones spaCy keeps the last
    assert best is rows[-1]
    report = spacy.load(output / "model-best").get_pipe("textcat_graft").report  # type: ignore[attr-defined]
    assert report.n_active == best["FEATURES"]
    assert report.n_held_out == 30
    meta = json.loads((output / "model-best" / "meta.json").read_text())
    assert meta["performance"]["cats_score"] == pytest.approx(best["CATS_SCORE"] / 100, abs=1e-4)
    assert "textcat_graft_loss" in meta["performance"]


def test_a_path_ends_two_points_after_the_best(training: Training) -> None:
    *points, _ = rows_of(training[1].stdout)
    losses = [row["LOGLOSS"] for row in points]
    assert len(points) == max(losses.index(min(losses)) + 1 + 2, 8)


def test_train_has_patience(corpus: Path, tmp_path: Path) -> None:
    """Of the loop, for learners without a choice of their own: it counts from the last better score."""
    learner = {"@graft_learners": "spacy_graft.Grafting.v1", "l1": 1.0}
    config = Config().from_disk(CONFIG, interpolate=False)
    config["components"]["textcat_graft"]["learner"] = learner
    config.to_disk(tmp_path / "config.cfg")
    result = run_forked(
        *("-m", "spacy", "train", tmp_path / "config.cfg", "--output", tmp_path, "--training.patience", 2),
        *("--paths.train", corpus / "train.jsonl.gz", "--paths.dev", corpus / "train.jsonl.gz"),
    )
    scores = [float(line.split()[-1]) for line in result.stdout.splitlines() if re.match(r"\s*\d+\s+\d+\s", line)]
    assert len(scores) <= scores.index(max(scores)) + 2 + 1


@pytest.mark.parametrize(
    "name", ["default.cfg", "network.cfg", "ngrams.cfg", "sentiwordnet.cfg", "vectors.cfg", "wordnet.cfg"]
)
def test_shipped_configs_are_complete(name: str, corpus: Path, unpacked: Path) -> None:
    unlabelled = ("--paths.unlabelled", corpus / "train.jsonl.gz")
    more = {
        "default.cfg": ("--paths.syntax", unpacked),
        "network.cfg": unlabelled,
        "sentiwordnet.cfg": unlabelled,
        "wordnet.cfg": unlabelled,
        "vectors.cfg": ("--paths.words", "words.txt"),
    }
    paths = ("--paths.train", corpus / "train.jsonl.gz", "--paths.dev", corpus / "dev.jsonl", *more.get(name, ()))
    result = run_forked("-m", "spacy", "debug", "config", REPOSITORY / "configs" / name, *paths)
    assert "Config is valid" in result.stdout


def test_the_default_config_trains_with_the_syntax_that_ships(corpus: Path, unpacked: Path, tmp_path: Path) -> None:
    result = run_forked(
        *("-m", "spacy", "train", REPOSITORY / "configs" / "default.cfg", "--output", tmp_path),
        *("--paths.train", corpus / "train.jsonl.gz", "--paths.dev", corpus / "dev.jsonl", "--paths.syntax", unpacked),
        *("--training.max_steps", 3),
    )
    assert max(row["CATS_SCORE"] for row in rows_of(result.stdout)) > 0.9
    nlp = spacy.load(tmp_path / "model-best")
    graft = nlp.get_pipe("textcat_graft")
    assert isinstance(graft, TextCatGraft)
    blocks = {feature.block for feature in graft.features()}
    assert "words" in blocks
    assert blocks <= {"words", "characters", "tags", "tag_arcs", "arcs", "pairs"}
    # The syntax that was trained with is saved with the model, and its figures do not enter the score.
    assert nlp("A team of eleven.")[0].pos_ == "DET"
    assert nlp.meta["performance"]["cats_score"] > 0.9


@pytest.mark.parametrize("name", ["network", "wordnet", "sentiwordnet"])
def test_the_network_configs_learn_from_few_labels_and_more_texts(
    name: str, train_records: list[Record], corpus: Path, tmp_path: Path
) -> None:
    """Words of the tests' lexicons are in some texts, for either label."""
    words = "boat canoe" if name == "wordnet" else "grand grim"
    records = [
        {**record, "text": f"{record['text']} {words if number % 3 else ''}"}
        for number, record in enumerate(train_records)
    ]
    few = write_jsonl(tmp_path / "few.jsonl", records[:24])
    more = write_jsonl(tmp_path / "more.jsonl", [{"text": record["text"]} for record in records[24:]])
    lexicon = {"network": (), "wordnet": (write_wordnet(tmp_path),), "sentiwordnet": (write_sentiwordnet(tmp_path),)}
    result = run_forked(
        *("-m", "spacy", "train", REPOSITORY / "configs" / f"{name}.cfg", "--output", tmp_path / "model"),
        *("--paths.train", few, "--paths.dev", corpus / "dev.jsonl", "--paths.unlabelled", more),
        *(option for path in lexicon[name] for option in ("--paths.lexicon", path)),
    )
    nlp = spacy.load(tmp_path / "model" / "model-best")
    assert nlp.meta["performance"]["cats_score"] > 0.6
    graft = nlp.get_pipe("textcat_graft")
    assert isinstance(graft, TextCatGraft)
    assert graft.report is not None
    assert graft.report.n_held_out == 30
    assert graft.report.network_alpha is not None
    if graft.report.network is None:
        assert "without the network. As dev is small," in result.stdout
    else:
        assert graft.report.network["edges"]["similar"] > 0
        assert f"network {graft.report.network_alpha:g}. As dev is small," in result.stdout


def test_debug_data(corpus: Path) -> None:
    paths = ("--paths.train", corpus / "train.jsonl.gz", "--paths.dev", corpus / "dev.jsonl")
    result = run_forked("-m", "spacy", "debug", "data", CONFIG, *paths)
    assert "120 training docs" in result.stdout
    assert "30 evaluation docs" in result.stdout


def test_evaluate(model: Path, corpus: Path, tmp_path: Path) -> None:
    run_forked("-m", "spacy", "evaluate", model, corpus / "dev.spacy", "--output", tmp_path / "metrics.json")
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    assert metrics["cats_macro_f"] > 0.9
    assert set(metrics["cats_f_per_type"]) == {"food", "music", "sport"}


def test_package_is_installed_and_loaded(model: Path, tmp_path: Path) -> None:
    run_forked("-m", "spacy", "package", model, tmp_path, "--build", "wheel", "--name", "grafted", "--version", "1.2.3")
    (wheel,) = tmp_path.glob("*/dist/*.whl")
    target = tmp_path / "installed"
    run_forked("-m", "pip", "install", wheel, "--quiet", "--no-deps", "--no-index", "--target", target)
    code = "import spacy; print(spacy.load('en_grafted')('salt and sugar').cats['food'])"
    assert float(run("-c", code, PYTHONPATH=str(target)).stdout) > 0.5
    meta = json.loads((target / "en_grafted" / "meta.json").read_text())
    assert any(requirement.startswith("spacy-graft>=") for requirement in meta["requirements"])


def test_assemble_takes_a_trained_component(model: Path, tmp_path: Path) -> None:
    config = f"""
    [nlp]
    lang = "en"
    pipeline = ["sentencizer", "topic"]

    [components]

    [components.sentencizer]
    factory = "sentencizer"

    [components.topic]
    source = "{model.as_posix()}"
    component = "textcat_graft"
    """
    (tmp_path / "config.cfg").write_text(dedent(config))
    run_forked("-m", "spacy", "assemble", tmp_path / "config.cfg", tmp_path / "assembled")
    text = "a goal in extra time"
    assert spacy.load(tmp_path / "assembled")(text).cats == spacy.load(model)(text).cats


def test_assemble_takes_a_component_without_examples(tmp_path: Path) -> None:
    """spaCy makes up a document, which must not be trained on."""
    config = """
    [nlp]
    lang = "en"
    pipeline = ["textcat_graft"]

    [components]

    [components.textcat_graft]
    factory = "textcat_graft"

    [initialize]

    [initialize.components]

    [initialize.components.textcat_graft]
    labels = ["yes", "no"]
    """
    (tmp_path / "config.cfg").write_text(dedent(config))
    run_forked("-m", "spacy", "assemble", tmp_path / "config.cfg", tmp_path / "assembled")
    with pytest.warns(UserWarning, match="saved before its first training step"):
        nlp = spacy.load(tmp_path / "assembled")
    assert nlp("x y z").cats == {"yes": 0.5, "no": 0.5}


def test_labels_are_saved_and_taken(corpus: Path, tmp_path: Path) -> None:
    paths = ("--paths.train", corpus / "train.jsonl.gz", "--paths.dev", corpus / "dev.jsonl")
    run_forked("-m", "spacy", "init", "labels", CONFIG, tmp_path, *paths)
    assert json.loads((tmp_path / "textcat_graft.json").read_text()) == ["food", "music", "sport"]


def test_threshold_is_found(tmp_path: Path, train_records: list[Record]) -> None:
    records = [{**record, "label": [record["label"]]} for record in train_records]
    data = write_jsonl(tmp_path / "train.jsonl", records)
    text = CONFIG.read_text().replace("textcat_graft", "textcat_graft_multilabel")
    text = text.replace("spacy_graft.textcat_scorer.v1", "spacy_graft.textcat_multilabel_scorer.v1")
    (tmp_path / "config.cfg").write_text(text)
    run_forked(
        *("-m", "spacy", "train", tmp_path / "config.cfg", "--output", tmp_path, "--training.max_steps", 2),
        *("--paths.train", data, "--paths.dev", data),
    )
    nlp = spacy.load(tmp_path / "model-last")
    docs = []
    for record in train_records:
        docs.append(nlp.make_doc(record["text"]))
        docs[-1].cats = {label: float(label == record["label"]) for label in ("food", "music", "sport")}
    DocBin(docs=docs).to_disk(tmp_path / "dev.spacy")
    result = run_forked(
        *("-m", "spacy", "find-threshold", tmp_path / "model-last", tmp_path / "dev.spacy"),
        *("textcat_graft_multilabel", "threshold", "cats_macro_f", "--n_trials", 4),
    )
    assert re.search(r"Best threshold: 0\.\d+", result.stdout)


def test_benchmark_speed(model: Path, corpus: Path) -> None:
    result = run_forked(
        *("-m", "spacy", "benchmark", "speed", model, corpus / "dev.spacy"),
        *("--batches", 30, "--batch-size", 4, "--warmup", 1),
    )
    assert re.search(r"Mean: \d+\.\d words/s", result.stdout)


def test_info_lists_the_component(model: Path) -> None:
    result = run_forked("-m", "spacy", "info", model)
    assert "textcat_graft" in result.stdout
