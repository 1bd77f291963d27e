"""The main job, on data small enough for a test."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import warnings
from pathlib import Path

import pytest
import spacy
import srsly

from conftest import REPOSITORY, make_records, run, run_forked, run_project, write_jsonl
from test_cli import call

pytestmark = pytest.mark.slow


PROJECT = srsly.read_yaml(REPOSITORY / "project.yml")
COMMANDS = {command["name"]: command for command in PROJECT["commands"]}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone without corpus and models."""
    folder = tmp_path_factory.mktemp("clone")
    shutil.copy(REPOSITORY / "project.yml", folder)
    for name in ("assets", "configs", "corpus", "scripts"):
        shutil.copytree(REPOSITORY / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder without a dev split."""
    folder = tmp_path_factory.mktemp("data")
    write_jsonl(folder / "train.jsonl.gz", make_records(120))
    write_jsonl(folder / "test.jsonl", make_records(30, seed=1))
    return folder


@pytest.fixture(scope="module")
def first_run(project: Path, data: Path) -> str:
    output = run_project("all", project, "--vars.data", data, COLUMNS="80").stdout
    return re.sub(r"\x1b\[[\d;]*m", "", output)


def test_all_commands_run_in_order(first_run: str) -> None:
    assert re.findall(r"^=+ (\w+) =+$", first_run, re.MULTILINE) == [
        "corpus",
        "unpack",
        "train",
        "evaluate",
        "demo",
    ]


def test_metrics_are_written(first_run: str, project: Path) -> None:
    metrics = json.loads((project / "metrics" / "test.json").read_text(encoding="utf-8"))
    assert metrics["macro_f"] > 0.9
    assert metrics["log_loss"] < 1.0
    assert set(metrics["by_label"]) == {"food", "music", "sport"}
    assert sum(one["documents"] for one in metrics["confusion"]) == metrics["documents"] == 30
    report = metrics["report"]
    assert report["n_active"] > 0
    assert 0.0 < report["l1"] < report["l1_max"]
    assert report["relative_gap"] <= 0.01


def test_output_fits_80_columns(first_run: str) -> None:
    ours = re.split(r"=+ evaluate =+", first_run)[1]
    lines = [line for line in ours.splitlines() if not line.startswith("Running command")]
    assert [line for line in lines if len(line) > 80] == []


def test_demo_tells_the_ngrams_that_decided(first_run: str, data: Path) -> None:
    demo = re.split(r"=+ demo =+", first_run)[1]
    assert "probability" in demo
    assert re.search(r"[+-]\d\.\d+", demo)
    texts = [json.loads(line)["text"] for line in (data / "test.jsonl").read_text(encoding="utf-8").splitlines()]
    assert any(text[:30] in demo for text in texts)


def test_demo_says_what_it_gets_wrong(first_run: str, project: Path, data: Path, tmp_path: Path) -> None:
    records = [json.loads(line) for line in (data / "test.jsonl").read_text(encoding="utf-8").splitlines()]
    others = write_jsonl(tmp_path / "test.jsonl", [{**record, "label": "weather"} for record in records])
    demo = run_forked(project / "scripts" / "demo.py", project / "training" / "model-best", others).stdout
    assert demo.count("(wrong: the label is weather)") == 5
    assert "(wrong:" not in re.split(r"=+ demo =+", first_run)[1]


def test_nothing_is_trained_again(first_run: str, project: Path, data: Path) -> None:
    again = run_project("all", project, "--vars.data", data).stdout
    assert "Skipping 'train'" in again
    assert "Skipping 'evaluate'" in again


@pytest.mark.parametrize("name", ["README.md", "project.yml"])
def test_documented_commands_have_the_folder(name: str) -> None:
    """Without it, what follows is taken for the folder."""
    text = (REPOSITORY / name).read_text(encoding="utf-8")
    assert "project run all . --vars.data" in text
    assert "project run all --vars" not in text


def test_the_model_has_syntax_and_needs_nothing_of_the_project(first_run: str, project: Path) -> None:
    nlp = spacy.load(project / "training" / "model-best")
    assert nlp.pipe_names == ["tok2vec", "tagger", "morphologizer", "parser", "lemmatizer", "textcat_graft"]
    doc = nlp("They baked a film of sugar.")
    assert doc.has_annotation("DEP")
    assert set(doc.cats) == {"food", "music", "sport"}
    config = srsly.read_json(project / "training" / "model-best" / "meta.json")
    assert set(config["performance"]) >= {"cats_score"}


def test_without_syntax_any_language_goes(first_run: str, project: Path, data: Path, tmp_path: Path) -> None:
    shutil.copytree(project, tmp_path / "clone", ignore=shutil.ignore_patterns("model-*", "config.cfg", "project.lock"))
    options = ("--vars.data", data, "--vars.config", "configs/ngrams.cfg", "--vars.lang", "zh")
    run("-m", "spacy", "project", "run", "train", tmp_path / "clone", *options)
    nlp = spacy.load(tmp_path / "clone" / "training" / "model-best")
    assert nlp.pipe_names == ["textcat_graft"]
    assert [token.text for token in nlp.make_doc("房间很大。")] == ["房", "间", "很", "大", "。"]


def test_an_altered_syntax_pipeline_is_not_unpacked(project: Path, tmp_path: Path) -> None:
    shutil.copytree(project, tmp_path / "clone", ignore=shutil.ignore_patterns("training", "packages", "project.lock"))
    (wheel,) = (tmp_path / "clone" / "assets").glob("*.whl")
    wheel.write_bytes(wheel.read_bytes()[:-1])
    result = run_project("unpack", tmp_path / "clone", check=False)
    assert result.returncode == 1
    assert f"{wheel.name} is damaged or was changed" in result.stdout + result.stderr
    assert not (tmp_path / "clone" / "packages").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--syntax", "no_such_pipeline", "--lang", "en"), "The syntax pipeline no_such_pipeline cannot be loaded"),
        (("--lang", "de"), "is for the language 'en', and the texts are in 'de'"),
    ],
)
def test_syntax_that_does_not_fit_is_refused(
    first_run: str, project: Path, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    syntax = () if "--syntax" in options else ("--syntax", project / PROJECT["vars"]["syntax"])
    data, output = project / "training" / "corpus" / "train.jsonl", tmp_path / "model"
    config = ("--config", project / "configs" / "default.cfg")
    result = run_forked("-m", "spacy_graft", "train", data, *config, "--output", output, *syntax, *options, check=False)
    assert result.returncode == 1
    assert message in result.stderr
    assert "--config ngrams" in result.stderr
    assert not output.exists()


def check_metrics_of_sample(path: Path) -> None:
    metrics = json.loads(path.read_text(encoding="utf-8"))
    assert metrics["documents"] == 40
    assert set(metrics["by_label"]) == {"delivery", "fault", "refund", "thanks"}
    # A guess has 0.25.
    assert metrics["micro_f"] > 0.4
    assert metrics["report"]["n_active"] > 0
    assert metrics["report"]["n_held_out"] == 40


def test_the_sample_is_trained_on(project: Path) -> None:
    run_project("sample", project)
    check_metrics_of_sample(project / "metrics" / "sample" / "test.json")


@pytest.fixture(scope="module")
def sampled(first_run: str, project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone with the syntax pipeline and the sample for corpus."""
    folder = tmp_path_factory.mktemp("sampled") / "clone"
    shutil.copytree(project, folder, ignore=shutil.ignore_patterns("training", "metrics"))
    run_forked(folder / "scripts" / "corpus.py", folder / "training" / "corpus", "--data", folder / "corpus")
    return folder


@pytest.mark.parametrize("name", ["ngrams", "pairs", "network", "vectors", "large"])
def test_each_config_trains_on_the_sample(name: str, sampled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of its workflow after those that all have, in this process."""
    monkeypatch.chdir(sampled)
    words = "not arrive work break keep late refund".split()
    vectors = "".join(f"{word} {i % 7}.0 {i % 5}.0 1.0\n" for i, word in enumerate(words))
    (sampled / "words.txt").write_text(vectors, encoding="utf-8")
    values = PROJECT["vars"] | {"words": "words.txt"}
    commands = [command for command in PROJECT["workflows"][name] if command not in ("corpus", "unpack")]
    assert commands == [f"{name}-train", f"{name}-evaluate"]
    for command in commands:
        (script,) = COMMANDS[command]["script"]
        python, installed, module, package, *arguments = shlex.split(
            re.sub(r"\$\{vars\.(\w+)\}", lambda match: values[match[1]], script)
        )
        assert (python, installed, module, package) == ("python", "-P", "-m", "spacy_graft")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call(*arguments)
    check_metrics_of_sample(sampled / "metrics" / name / "test.json")


#: Dependencies that the reader names, or has by default.
OF_VARS = {"${vars.config}", "${vars.unlabelled}", "${vars.words}"}


def test_the_workflow_is_complete() -> None:
    assert PROJECT["workflows"] == {
        "all": ["corpus", "unpack", "train", "evaluate", "demo"],
        "sample": ["sample-train", "sample-evaluate"],
        "ngrams": ["corpus", "ngrams-train", "ngrams-evaluate"],
        "pairs": ["corpus", "unpack", "pairs-train", "pairs-evaluate"],
        "network": ["corpus", "network-train", "network-evaluate"],
        "vectors": ["corpus", "vectors-train", "vectors-evaluate"],
        "large": ["corpus", "large-train", "large-evaluate"],
        "syntax": ["treebank", "syntax-train", "syntax-evaluate", "syntax-package"],
    }
    made = {path for command in COMMANDS.values() for path in command.get("outputs", [])}
    needed = {path for command in COMMANDS.values() for path in command.get("deps", [])} - made - OF_VARS
    assert [path for path in needed if not (REPOSITORY / path).exists()] == []
    assert (REPOSITORY / PROJECT["vars"]["config"]).exists()
    assert PROJECT["vars"]["data"] == ""


def test_assets_are_not_fetched_unasked() -> None:
    assert PROJECT["assets"]
    for asset in PROJECT["assets"]:
        assert asset["extra"]
        assert asset["url"].startswith("https://")
        assert re.fullmatch(r"[0-9a-f]{32}", asset["checksum"])
    result = run_forked("-m", "spacy", "project", "assets", REPOSITORY, check=False)
    assert "No assets specified" in result.stdout
