"""``spacy-graft train``, and spaCy's training loop with settings that do not suit a path."""

from __future__ import annotations

import csv
import errno
import json
import os
import re
import shutil
import signal
import sys
import threading
import time
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import spacy
import wasabi
from spacy.language import Language
from spacy.training import Example
from thinc.api import Config

from conftest import (
    CONFIG,
    PATH,
    REPOSITORY,
    WORDS,
    Record,
    make_example,
    make_nlp,
    make_records,
    run_forked,
    write_jsonl,
)
from spacy_graft.cli import common
from spacy_graft.cli.common import PIPELINE_FILES, Terminated, held_back, quoted, terminated_in_order
from spacy_graft.cli.train import LabelsFound, colours_on_terminals, delete, plain_label, replacing, shipped_configs
from spacy_graft.messages import listed
from spacy_graft.pipeline.loop import is_loop_of_spacy, suit_loop
from spacy_graft.pipeline.textcat import TextCatGraft
from test_cli import call

#: Few points: the commands are tested here, not the models.
SHORT = ("--components.textcat_graft.learner.steps", "4", "--lang", "xx")


def trained(folder: Path) -> tuple[Language, TextCatGraft]:
    nlp = spacy.load(folder / "model-best")
    component = nlp.get_pipe("textcat_graft")
    assert isinstance(component, TextCatGraft)
    return nlp, component


def write_csv(path: Path, records: list[Record]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerows([["text", "label"], *([record["text"], record["label"]] for record in records)])
    return path


def train(*arguments: object, code: int = 0) -> str:
    """Run the command in this process; returns what it says on standard error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call("train", *arguments, code=code).stderr


def test_a_table_alone_is_enough(tmp_path: Path, train_records: list[Record], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = write_csv(tmp_path / "train.csv", train_records)
    said = train("train.csv", *SHORT)
    assert "train.csv is read as CSV." in said
    assert "108 documents to train on, 12 for dev, one in ten of each set of labels." in said
    assert "Labels are exclusive." in said
    assert f"spacy-graft evaluate {Path('model', 'model-best')} DATA" in said
    nlp, component = trained(tmp_path / "model")
    assert component.labels == ("food", "music", "sport")
    assert component.report is not None
    assert component.report.n_held_out == 12
    assert nlp("a goal in extra time").cats["sport"] > 0.5
    # Its config divides one file, and takes two as they are.
    dev = write_jsonl(tmp_path / "dev.jsonl", make_records(30, 1))
    said = train("train.csv", "--dev", dev, "--config", tmp_path / "model" / "model-best" / "config.cfg")
    assert "120 documents to train on, 30 for dev" in said
    folder = tmp_path / "model"
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        evaluated = call("evaluate", folder / "model-best", data)
        reported = call("report", folder / "model-best", "--card", tmp_path / "card.md", "--data", data)
    assert json.loads(evaluated.stdout)["macro_f"] > 0.9
    assert "is what it was trained on (paths.train)" in evaluated.stderr
    assert "is what it was trained on (paths.train)" in reported.stderr
    assert "config names this file or folder as its training data" in (tmp_path / "card.md").read_text(encoding="utf-8")
    message = f"is not a pipeline: it has no meta.json. Did you mean {folder / 'model-best'}?"
    assert message in call("evaluate", folder, data, code=1).stderr
    edit = call("edit", folder / "model-best", "--deny", "*goal*", "--no-resolve", "--output", folder, code=1)
    assert "is not a pipeline: it is not replaced" in edit.stderr


@pytest.mark.slow
def test_it_is_the_training_of_spacy(tmp_path: Path, corpus: Path) -> None:
    """With the config that it has written, and from spaCy documents as from JSON lines."""
    for name, form in (("lines", "train.jsonl.gz"), ("docs", "train.spacy")):
        train(corpus / form, "--dev", corpus / "dev.jsonl", "--output", tmp_path / name, *SHORT)
    run_forked("-m", "spacy", "train", tmp_path / "lines" / "config.cfg", "--output", tmp_path / "again")
    expected = trained(tmp_path / "lines")[1].to_bytes()
    assert trained(tmp_path / "again")[1].to_bytes() == expected
    assert trained(tmp_path / "docs")[1].features() == trained(tmp_path / "lines")[1].features()


@pytest.mark.parametrize("no_color", ["", "1"])
@pytest.mark.parametrize("is_terminal", [False, True])
def test_colours_are_for_terminals(is_terminal: bool, no_color: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WASABI_NO_PRETTY", raising=False)
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    has_colours = is_terminal and not no_color
    with colours_on_terminals():
        assert wasabi.msg.pretty == wasabi.Printer().pretty == has_colours
    assert wasabi.msg.pretty
    assert wasabi.Printer().pretty


def test_the_output_of_a_training_has_no_colours_in_a_file(tmp_path: Path, corpus: Path) -> None:
    result = call("train", corpus / "train.spacy", "--dev", corpus / "dev.jsonl", "--output", tmp_path / "a", *SHORT)
    assert "Training pipeline" in result.stdout
    assert "\x1b" not in result.stdout


def test_several_labels_are_independent(tmp_path: Path) -> None:
    records = [{**record, "label": [record["label"], "all"]} for record in make_records(60)]
    data = write_jsonl(tmp_path / "train.jsonl", [{**record, "topics": record.pop("label")} for record in records])
    # A clone has the config beside the installed package: it is the same one.
    clone = shutil.copy(shipped_configs()["ngrams"], tmp_path / "clone.cfg")
    said = train(data, "--label-field", "topics", "--config", clone, "--output", tmp_path, *SHORT)
    assert "Labels are independent." in said
    assert re.search(r"\d+ of the documents do not have exactly one label, the first of them line \d+\.", said)
    _, component = trained(tmp_path)
    assert not component.exclusive
    assert component.labels == ("all", "food", "music", "sport")
    refusal = train(data, "--label-field", "topics", "--output", tmp_path, "--exclusive", *SHORT, code=1)
    assert "line 1: the document has several labels. Correct it, or train with --multilabel" in refusal


def test_a_config_of_ones_own(tmp_path: Path, corpus: Path) -> None:
    """One that `spacy init config` could have written: its reader takes no JSON lines, its loop no paths."""
    nlp = spacy.blank("xx")
    nlp.add_pipe("textcat_graft", config={"features": WORDS, "learner": PATH})
    config = Config(nlp.config).copy()
    config["training"]["score_weights"] = {"cats_choice": 1.0}
    config.to_disk(tmp_path / "own.cfg")
    options = ("--dev", corpus / "dev.jsonl", "--config", tmp_path / "own.cfg", "--output", tmp_path)
    train(corpus / "train.jsonl.gz", *options)
    nlp, component = trained(tmp_path)
    assert {feature.block for feature in component.features()} == {"words"}
    assert nlp.config["training"]["eval_frequency"] == 1
    assert "--exclusive/--multilabel has no effect with" in train(
        corpus / "train.jsonl.gz", *options, "--multilabel", code=1
    )


def test_configs_ship() -> None:
    """In an installed package too."""
    shipped = {name: path.read_bytes() for name, path in shipped_configs().items()}
    assert shipped == {path.stem: path.read_bytes() for path in (REPOSITORY / "configs").glob("*.cfg")}


#: A tokenizer that needs a package.
JIEBA = (
    "--lang",
    "zh",
    "--nlp.tokenizer.@tokenizers",
    "spacy.zh.ChineseTokenizer",
    "--nlp.tokenizer.segmenter",
    "jieba",
)


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--config", "ngram"), 1, "There is no config ngram: it is neither a file nor one of 'default', "),
        (("--config", "ngram"), 1, "'ngrams', 'sentiwordnet', 'vectors', 'wordnet'. Did you mean 'ngrams'?"),
        (("--config", "syntax"), 1, "The config syntax has no component textcat_graft"),
        (
            ("--config", "default", "--paths.syntax", "null"),
            1,
            "Give one with --syntax, or train without syntax: --config ngrams",
        ),
        (
            ("--config", "default", "--paths.syntax", "en_other"),
            1,
            "en_other cannot be loaded: it is neither a folder nor an installed package",
        ),
        (("--config", "default", "--syntax", "no_such"), 1, "The syntax pipeline no_such cannot be loaded"),
        (("--config", "network"), 1, "The config network needs a file: --paths.unlabelled FILE."),
        (("--config", "vectors"), 1, "The config vectors needs a file: --paths.words FILE."),
        (("--config", "vectors", "--paths.words", "none"), 1, "no file or folder none, which --paths.words names"),
        (("--lang", "qq"), 1, "There is no tokenizer for the language 'qq'"),
        (("--lang", "qq"), 1, "Give xx for the rules that most languages share"),
        (JIEBA, 1, "There is no tokenizer for the language 'zh'"),
        ((*JIEBA[:-1], "pkuseg"), 1, "The tokenizer cannot be initialized: "),
        # The language's own needs a package, so that one that is given is taken: the error is of what follows.
        (("--lang", "ko", "--nlp.tokenizer.@tokenizers", "spacy.Tokenizer.v1"), 1, "fewer than 10 documents"),
        (("--dev", "none.jsonl"), 1, "There is no file or folder none.jsonl"),
        (("--label-field", "topic"), 1, "few.jsonl, line 1: there is no 'topic'"),
        (
            ("--components.textcat_graft.learner.max_feature", "500"),
            1,
            "Error: [textcat_graft] learner: spacy_graft.GraftingPath.v1 has no option 'max_feature'. "
            "Did you mean 'max_features'?",
        ),
        (
            ("--config", "network", "--components.textcat_graft.features.words.mindf", "3"),
            1,
            "Error: [textcat_graft] words: spacy_graft.TokenNgrams.v1 has no option 'mindf'. Did you mean 'min_df'?",
        ),
        (("--components.textcat_graft.learner.steps", "many"), 1, "[textcat_graft] learner.steps: 'many' is not"),
        (("--components.textcat_graft.learner.@losses", "x"), 1, "Error: [textcat_graft] A block can only contain one"),
        (("--paths",), 2, "No such option: --paths"),
        (("stray",), 2, "Unexpected argument: stray"),
        ((), 1, "few.jsonl has fewer than 10 documents (6): too few to hold out a tenth of them for dev"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_written(
    options: tuple[str, ...], code: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "jieba", None)  # as if it were not installed
    write_jsonl(tmp_path / "few.jsonl", make_records(6))
    assert message in " ".join(train("few.jsonl", *options, code=code).split())
    assert [path.name for path in tmp_path.iterdir()] == ["few.jsonl"]


def test_paths_in_commands_are_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, corpus: Path) -> None:
    monkeypatch.setattr("spacy.cli.train.train", lambda *_: None)
    config, best = tmp_path / "my config.cfg", tmp_path / "my models" / "model-best"
    assert quoted(best) in (f"'{best}'", f'"{best}"')
    said = train(corpus / "train.jsonl.gz", "--output", best.parent)
    assert said.endswith(f"\nspacy-graft evaluate {quoted(best)} DATA\n")
    call("init-config", config)
    assert config.read_text().startswith(f"# python -m spacy train {quoted(config)} --paths")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_training_that_fails_changes_nothing(tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """spaCy deletes the pipelines in the folder before the first step."""
    bad_metric = ("--components.textcat_graft.learner.metric", "none")
    train(corpus / "dev.jsonl", *SHORT, "--output", tmp_path / "new", *bad_metric, code=1)
    assert not any(tmp_path.iterdir())
    command = (corpus / "dev.jsonl", *SHORT, "--output", tmp_path)
    train(*command, *bad_metric, code=1)
    assert not contents(tmp_path)
    train(*command)
    expected = contents(tmp_path)
    train(*command, *bad_metric, code=1)
    assert contents(tmp_path) == expected
    for name, replacement, code in (
        ("spacy_graft.pipeline.training.Training._conclude", raise_interrupt, 130),
        ("spacy_graft.cli.train.shutil.copytree", raise_full, 1),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(name, replacement)
            train(*command, code=code)
        assert contents(tmp_path) == expected


def raise_interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def raise_full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_pipelines_are_not_written_over(tmp_path: Path, fitted: Language, corpus: Path) -> None:
    fitted.to_disk(tmp_path / "model")
    assert "is a pipeline. Give another folder" in train(corpus / "dev.jsonl", "--output", tmp_path / "model", code=1)
    assert "There is no file or folder" in train(tmp_path / "none.csv", code=1)
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert "is a file. Give a folder" in train(corpus / "dev.jsonl", "--output", tmp_path / "file", code=1)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    assert "is a link to a folder that does not exist" in train(
        corpus / "dev.jsonl", "--output", tmp_path / "link", code=1
    )


# spaCy's loop


def with_training(**settings: Any) -> tuple[Language, TextCatGraft]:
    nlp = make_nlp()
    nlp.config["training"].update(settings)
    component = nlp.get_pipe("textcat_graft")
    assert isinstance(component, TextCatGraft)
    return nlp, component


def test_a_loop_that_would_judge_one_point_judges_all(caplog: pytest.LogCaptureFixture) -> None:
    nlp, component = with_training(eval_frequency=200, patience=1600, max_steps=20000)
    suit_loop(nlp, component)
    training = nlp.config["training"]
    assert (training["eval_frequency"], training["patience"], training["max_steps"]) == (1, 0, PATH["steps"] + 2)
    assert "eval_frequency is 200, but each step is a point of a path of at most 6 points" in caplog.text
    assert "uses eval_frequency = 1, patience = 0, max_steps = 8 instead. Write these settings" in caplog.text


def test_a_loop_that_is_too_short_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    nlp, component = with_training(eval_frequency=1, patience=0, max_steps=3, max_epochs=-1)
    suit_loop(nlp, component)
    assert "max_steps is 3, but the path has up to 6 points and a last step" in caplog.text
    caplog.clear()
    component.learner = replace(component.learner, penalty="l2")
    suit_loop(nlp, component)
    assert caplog.text == ""


def test_limits_of_steps_below_0_are_none(caplog: pytest.LogCaptureFixture) -> None:
    """spaCy's loop would end at its first step."""
    nlp, component = with_training(eval_frequency=1, patience=-1, max_steps=-1, max_epochs=100)
    suit_loop(nlp, component)
    assert {nlp.config["training"][name] for name in ("patience", "max_steps")} == {0}
    assert "'max_steps', 'patience' below 0 would end training at once. This training uses max_steps = 0" in caplog.text
    nlp, component = with_training(eval_frequency=0)
    with pytest.raises(ValueError, match="eval_frequency must be at least 1, but is 0"):
        suit_loop(nlp, component)


def test_a_last_step_that_is_not_evaluated_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    """A path of six points, evaluated at steps 0, 4 and 8: the last step is 6 at the latest."""
    nlp, component = with_training(eval_frequency=4, patience=0, max_steps=7, max_epochs=-1)
    suit_loop(nlp, component)
    assert "evaluated and saved every eval_frequency = 4." in caplog.text
    assert caplog.text.rstrip().endswith("Set max_steps = 8.")
    caplog.clear()
    nlp, component = with_training(eval_frequency=4, patience=0, max_steps=8, max_epochs=-1)
    suit_loop(nlp, component)
    assert caplog.text == ""


def test_settings_of_the_loop_may_be_variables(caplog: pytest.LogCaptureFixture) -> None:
    nlp, component = with_training(eval_frequency="${vars.often}", max_steps="${vars.steps}", patience="${vars.often}")
    nlp.config["vars"] = {"often": 200, "steps": 0}
    suit_loop(nlp, component)
    training = nlp.config["training"]
    assert (training["eval_frequency"], training["patience"], training["max_steps"]) == (1, 0, PATH["steps"] + 2)
    assert "eval_frequency is 200" in caplog.text


def test_a_loop_without_end_gets_one(caplog: pytest.LogCaptureFixture) -> None:
    nlp, component = with_training(eval_frequency=1, patience=0, max_steps=0, max_epochs=-1)
    suit_loop(nlp, component)
    assert nlp.config["training"]["max_steps"] == PATH["steps"] + 2
    assert "have no end" in caplog.text
    assert "uses max_steps = 8 instead" in caplog.text


def test_the_last_chosen_model_is_the_best(caplog: pytest.LogCaptureFixture) -> None:
    weights = {"cats_choice": 0.5, "cats_score": 0.5, "cats_micro_f": None, "tag_acc": 0.1}
    nlp, component = with_training(eval_frequency=1, patience=0, max_steps=8, max_epochs=-1, score_weights=weights)
    suit_loop(nlp, component)
    found = {name: weight for name, weight in nlp.config["training"]["score_weights"].items() if weight}
    assert found == {"cats_choice": 0.91, "tag_acc": 0.09}  # spaCy divides by their sum
    assert "uses cats_score = 0, cats_choice = 0.9 instead" in caplog.text


@pytest.mark.parametrize("weight", [1.0, -1.0])
def test_the_largest_log_loss_is_not_the_best(weight: float, caplog: pytest.LogCaptureFixture) -> None:
    weights = {"cats_log_loss": weight, "cats_choice": None if weight > 0.0 else 0.5}
    nlp, component = with_training(eval_frequency=1, patience=0, max_steps=8, score_weights=weights)
    suit_loop(nlp, component)
    found = nlp.config["training"]["score_weights"]
    assert found["cats_log_loss"] == 0.0 < found["cats_choice"]
    assert "uses cats_log_loss = 0, cats_choice = " in caplog.text


def test_a_loop_of_few_epochs_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    nlp, component = with_training(eval_frequency=1, patience=0, max_steps=8, max_epochs=PATH["steps"])
    suit_loop(nlp, component)
    assert "max_epochs is 6, but the path has up to 6 points and a last step." in caplog.text
    caplog.clear()
    # Whatever else is changed.
    nlp, component = with_training(eval_frequency=200, patience=0, max_steps=8, max_epochs=1)
    suit_loop(nlp, component)
    assert "max_epochs is 1, but" in caplog.text
    caplog.clear()
    nlp, component = with_training(eval_frequency=1, patience=0, max_steps=8, max_epochs=PATH["steps"] + 1)
    suit_loop(nlp, component)
    assert caplog.text == ""


@pytest.mark.parametrize("weights", [{"cats_choice": 0.0, "cats_macro_auc": 1.0}, {"cats_choice": 1.0}])
def test_other_weights_are_left_alone(weights: dict[str, float], caplog: pytest.LogCaptureFixture) -> None:
    nlp, component = with_training(eval_frequency=1, patience=0, max_steps=8, max_epochs=-1, score_weights=weights)
    suit_loop(nlp, component)
    assert caplog.text == ""


def test_weights_beside_other_components(caplog: pytest.LogCaptureFixture) -> None:
    """They are changed beside a tagger, but not beside another classifier, whose scores they are."""
    for other, changed in (("tagger", True), ("textcat", False)):
        caplog.clear()
        weights = {"cats_choice": 0.5, "cats_score": 0.5}
        nlp, component = with_training(eval_frequency=1, patience=0, max_steps=0, max_epochs=0, score_weights=weights)
        nlp.add_pipe(other)
        suit_loop(nlp, component)
        assert bool(nlp.config["training"]["score_weights"]["cats_score"]) == (not changed)
        assert ("[training.score_weights] has 'cats_score'" in caplog.text) == changed


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_keep_what_was_there(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "model-best").mkdir()
    (tmp_path / "model-best" / "meta.json").write_text("before")
    before = signal.signal(number, signal.SIG_DFL)  # these tests may run after nohup
    try:
        with pytest.raises(Terminated) as ended, terminated_in_order(), replacing(tmp_path):  # noqa: PT012
            (tmp_path / "model-best" / "meta.json").write_text("after")
            (tmp_path / "model-last").mkdir()
            os.kill(os.getpid(), number)
            time.sleep(5)
    finally:
        signal.signal(number, before)
    assert ended.value.code == 128 + number
    assert [path.name for path in tmp_path.iterdir()] == ["model-best"]
    assert (tmp_path / "model-best" / "meta.json").read_text() == "before"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_a_hang_up_that_is_ignored_stays_so() -> None:
    """As after ``nohup``; programs that are begun meanwhile ignore it too."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with terminated_in_order(), held_back():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_signals_wait_and_are_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the exception of the first one is discarded, as in a hook of Python's, a later one ends the command."""
    seen = []
    idle = threading.Event()
    threading.Thread(target=idle.wait).start()  # signals come to any thread
    with terminated_in_order():
        with pytest.raises(Terminated), held_back():  # noqa: PT012
            os.kill(os.getpid(), signal.SIGTERM)
            seen.append("held back")
        os.kill(os.getpid(), signal.SIGTERM)
        seen.append("ignored while things are put in order")
        monkeypatch.setattr(common, "IN_ORDER", 0.0)
        with pytest.raises(Terminated):
            os.kill(os.getpid(), signal.SIGTERM)
    idle.set()
    assert len(seen) == 2


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_what_was_there_is_put_back_undisturbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model-best").mkdir()
    (tmp_path / "model-best" / "meta.json").write_text("before")

    def delete_and_interrupt(path: Path) -> None:
        delete(path)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("spacy_graft.cli.train.delete", delete_and_interrupt)
    with pytest.raises(ValueError, match="it"), replacing(tmp_path):
        raise ValueError("it")
    assert [path.name for path in tmp_path.iterdir()] == ["model-best"]
    assert (tmp_path / "model-best" / "meta.json").read_text() == "before"


def test_what_cannot_be_put_back_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("model-best", "model-last"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "meta.json").write_text("before")

    def delete_others(path: Path) -> None:
        if path.name == "model-best":
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))
        delete(path)

    monkeypatch.setattr("spacy_graft.cli.train.delete", delete_others)
    with pytest.raises(ValueError, match="it"), replacing(tmp_path):  # noqa: PT012
        for name in ("model-best", "model-last"):
            (tmp_path / name / "meta.json").write_text("half")
        raise ValueError("it")
    assert (tmp_path / "model-last" / "meta.json").read_text() == "before"
    (kept,) = tmp_path.glob(".before.*")
    assert (kept / "model-best" / "meta.json").read_text() == "before"
    assert (
        f"{tmp_path / 'model-best'} cannot be deleted: {os.strerror(errno.EPERM)}. What it was before is in {kept}."
        in (capsys.readouterr().err)
    )


@pytest.mark.skipif(os.name == "nt", reason="links of Unix")
@pytest.mark.parametrize("name", ["model-best", "model-last"])
def test_links_are_not_replaced(tmp_path: Path, fitted: Language, corpus: Path, name: str) -> None:
    """spaCy cannot delete one, and would say so after the other pipeline is gone."""
    fitted.to_disk(tmp_path / "stored")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / name).symlink_to(tmp_path / "stored")
    said = train(corpus / "dev.jsonl", "--output", tmp_path / "model", code=1)
    assert f"{tmp_path / 'model' / name} is a link, which spaCy does not replace." in said
    assert (tmp_path / "model" / name / "meta.json").is_file()


@pytest.mark.parametrize("written", [{"meta.json": "of the"}, {"meta.json": "of the last step", "model": "of"}])
def test_an_interrupted_copy_of_the_best_pipeline_is_made_again(written: dict[str, str], tmp_path: Path) -> None:
    """spaCy deletes the best pipeline before, copies the last one in its place, and then saves that again."""
    last, best = tmp_path / "model-last", tmp_path / "model-best"
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path):  # noqa: PT012
        best.mkdir()
        for name, text in written.items():
            (best / name).write_text(text)
        last.mkdir()
        for name in ("meta.json", "model"):
            (last / name).write_text("of the last step")
        raise KeyboardInterrupt
    assert {path.name: path.read_text() for path in best.iterdir()} == dict.fromkeys(
        ["meta.json", "model"], "of the last step"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model-best", "model-last"]


def test_a_best_pipeline_of_an_earlier_step_stays(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path):  # noqa: PT012
        last = tmp_path / "model-last"
        last.mkdir()
        (last / "meta.json").write_text("earlier")
        time.sleep(0.05)  # of which the clock of a file system knows
        shutil.copytree(last, tmp_path / "model-best")
        (last / "meta.json").write_text("later")
        raise KeyboardInterrupt
    assert (tmp_path / "model-best" / "meta.json").read_text() == "earlier"


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        (("--training.eval_frequency", "0"), "[training] eval_frequency must be at least 1, but is 0."),
        (("--training.seed", "x"), "[training] seed: "),
        (("--training.patience", "x"), "[training] patience: "),
        (("--training.max_step", "1"), "There is no setting [training] max_step. Did you mean 'max_steps'?"),
        (("--nlp.batch_size", "x"), "[nlp] batch_size: "),
        (("--nlp.batch_size", "0"), "[nlp] batch_size must be at least 1, but is 0."),
    ],
)
def test_settings_of_the_loop_are_checked(
    setting: tuple[str, str], problem: str, tmp_path: Path, train_records: list[Record]
) -> None:
    data = write_csv(tmp_path / "train.csv", train_records)
    assert f"Error: {problem}" in train(data, *SHORT, *setting, "--output", tmp_path / "model", code=1)
    assert not (tmp_path / "model").exists()


def test_a_config_may_leave_settings_out(tmp_path: Path, train_records: list[Record]) -> None:
    """spaCy has defaults for them."""
    data, own = write_csv(tmp_path / "train.csv", train_records), tmp_path / "own.cfg"
    lines = shipped_configs()["ngrams"].read_text(encoding="utf-8").splitlines()
    own.write_text("\n".join(line for line in lines if not line.startswith(("batch_size", "disabled", "dropout"))))
    train(data, "--config", own, *SHORT, "--output", tmp_path / "model")


@pytest.mark.skipif(os.name == "nt" or sys.platform == "darwin", reason="names are UTF-8")
def test_a_name_that_a_config_cannot_hold(tmp_path: Path, train_records: list[Record]) -> None:
    data = write_csv(Path(f"{tmp_path}/caf\udce9.csv"), train_records)
    assert "spaCy takes names in UTF-8 only" in train(data, *SHORT, code=1)


def test_what_a_killed_training_left_is_told_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".before.0" / "model-best").mkdir(parents=True)
    (tmp_path / ".model-last.0").mkdir()
    with replacing(tmp_path):
        pass
    assert f"{tmp_path / '.before.0'} has what a training that was killed" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [".before.0"]


def test_a_loop_that_suits_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    nlp, component = with_training(eval_frequency=2, patience=8, max_steps=30)
    suit_loop(nlp, component)
    assert nlp.config["training"]["patience"] == 8
    assert not caplog.text


@pytest.mark.parametrize(
    ("patience", "advice"), [(PATH["steps"] + 1, "Set patience = 0"), (PATH["steps"] + 2, ""), (0, "")]
)
def test_a_loop_that_may_end_too_early_is_warned_of(
    patience: int, advice: str, caplog: pytest.LogCaptureFixture
) -> None:
    nlp, component = with_training(eval_frequency=1, patience=patience, max_steps=30)
    suit_loop(nlp, component)
    assert nlp.config["training"]["patience"] == patience
    assert advice in caplog.text
    assert bool(caplog.text) == bool(advice)


def test_a_loop_of_other_components_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    nlp, component = with_training(eval_frequency=200)
    nlp.add_pipe("ner")
    suit_loop(nlp, component)
    assert nlp.config["training"]["eval_frequency"] == 200
    assert "Train it in a run of its own" in caplog.text
    assert "this run also trains 'ner'" in caplog.text


def test_only_the_loop_of_spacy_is_changed(examples: list[Example], nlp: Language) -> None:
    nlp.initialize(lambda: examples)
    assert nlp.config["training"]["eval_frequency"] == 200
    assert not is_loop_of_spacy(lambda: examples)


# Nothing to score


def test_scores_of_nothing_are_an_error(fitted: Language) -> None:
    with pytest.raises(ValueError, match=r"There are no documents to score.* use spacy-graft evaluate MODEL DATA"):
        fitted.evaluate([])


def test_a_loop_without_held_out_documents(examples: list[Example], nlp: Language) -> None:
    nlp.initialize(lambda: examples)
    component: Any = nlp.get_pipe("textcat_graft")
    nlp.update(examples)
    component.training.in_loop = True
    with pytest.raises(ValueError, match=r"no documents to choose the model by.*dev_corpus"):
        nlp.evaluate([])


def test_scores_without_annotation_are_left_out(fitted: Language) -> None:
    with pytest.warns(UserWarning, match="None of the 1 documents has a label of the component in doc.cats"):
        scores = fitted.evaluate([make_example(fitted, "a goal", {})])
    assert not [name for name in scores if name.startswith("cats")]


@pytest.mark.slow
def test_evaluate_of_spacy_names_the_command(model: Path, corpus: Path, tmp_path: Path) -> None:
    result = run_forked("-m", "spacy", "evaluate", model, corpus / "dev.jsonl", check=False)
    assert result.returncode == 1
    assert "use spacy-graft evaluate MODEL DATA" in result.stderr


@pytest.mark.slow
def test_a_config_of_spacy_trains(corpus: Path, tmp_path: Path) -> None:
    run_forked("-m", "spacy", "init", "config", tmp_path / "config.cfg", "-p", "textcat_graft", "--lang", "xx")
    paths = ("--paths.train", corpus / "train.spacy", "--paths.dev", corpus / "dev.spacy")
    result = run_forked("-m", "spacy", "train", tmp_path / "config.cfg", "--output", tmp_path, *paths)
    assert "eval_frequency is 200" in result.stderr
    _, component = trained(tmp_path)
    assert component.report is not None
    assert component.report.n_held_out == 30
    assert len(component.history) > 2


@pytest.mark.slow
def test_a_config_of_init_config_takes_documents_of_spacy(corpus: Path, tmp_path: Path) -> None:
    call("init-config", tmp_path / "config.cfg", "--lang", "xx", "--size", "small")
    paths = ("--paths.train", corpus / "train.spacy", "--paths.dev", corpus / "dev.spacy")
    run_forked("-m", "spacy", "train", tmp_path / "config.cfg", "--output", tmp_path, *paths, "--training.max_steps", 3)
    cats = spacy.load(tmp_path / "model-best")("a goal in extra time").cats
    assert max(cats, key=cats.__getitem__) == "sport"


@pytest.mark.parametrize(
    "options",
    [
        ("--paths.dev", "dev.jsonl"),
        ("--paths.train=other.jsonl",),
        ("--corpora.dev.path", "dev.jsonl"),
        ("--corpora.dev.limit", 5),
        ("--corpora.train.part", "dev"),
        ("--training.train_corpus", "corpora.dev"),
        ("--components.textcat_graft.factory", "textcat_graft_multilabel"),
        ("--nlp.lang", "de", "--lang", "fr"),
    ],
)
def test_settings_that_arguments_decide(options: tuple[str, ...], tmp_path: Path, train_records: list[Record]) -> None:
    data = write_jsonl(tmp_path / "train.jsonl", train_records)
    said = train(data, *options, "--output", tmp_path / "out", code=1)
    assert f"Error: {options[0].partition('=')[0]} has no effect: the setting is " in said
    assert not (tmp_path / "out").exists()


def test_a_setting_may_have_the_code_of_three_letters(tmp_path: Path, train_records: list[Record]) -> None:
    data = write_jsonl(tmp_path / "train.jsonl", train_records)
    train(data, *SHORT[:2], "--nlp.lang", "deu", "--output", tmp_path / "out")
    assert trained(tmp_path / "out")[0].lang == "de"


def test_settings_of_the_reader_and_the_logger_are_kept(tmp_path: Path, train_records: list[Record]) -> None:
    data = write_jsonl(tmp_path / "train.jsonl", train_records)
    options = ("--corpora.train.limit", 40, "--training.logger.progress_bar", "false")
    assert "36 documents to train on, 4 for dev" in train(data, *options, "--output", tmp_path, *SHORT)
    assert trained(tmp_path)[0].config["training"]["logger"]["progress_bar"] is False


def test_a_config_that_no_training_wrote_is_not_replaced(
    tmp_path: Path, train_records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spacy.cli.train.train", lambda *_: None)
    data = write_jsonl(tmp_path / "train.jsonl", train_records)
    own = Path(shutil.copy(shipped_configs()["ngrams"], tmp_path / "config.cfg"))
    before = own.read_bytes()
    options = ("--config", own, "--output", tmp_path)
    assert "config.cfg exists, and no training wrote it" in train(data, *options, code=1)
    assert "config.cfg exists, and no training wrote it" in train(data, "--output", tmp_path, code=1)
    assert own.read_bytes() == before
    (tmp_path / "model-last").mkdir()
    assert "model-last exists, and is not a pipeline: it is not replaced" in train(data, *options, code=1)
    for name in PIPELINE_FILES:
        (tmp_path / "model-last" / name).touch()
    train(data, *options)
    assert own.read_bytes() != before
    train(data, "--output", tmp_path / "new")
    train(data, "--output", tmp_path / "new")  # as after one that was killed at its beginning


def test_a_folder_of_texts_is_not_written_into(
    tmp_path: Path, train_records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, record in enumerate(train_records):
        folder = tmp_path / "texts" / str(record["label"])
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.txt").write_text(record["text"])
    monkeypatch.chdir(tmp_path / "texts")
    before = contents(tmp_path)
    assert "model lies in ., which is read. Give a place outside of it." in train(".", code=1)
    assert "food lies in food, which is read" in train("food", "--output", "food", code=1)
    for output in ("fixed", "all.jsonl"):
        assert f"{output} lies in ., which is read" in call("convert", ".", output, code=1).stderr
    assert contents(tmp_path) == before


def test_trainings_in_one_folder_keep_out_of_each_others_way(
    tmp_path: Path, train_records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr("spacy.cli.train.train", lambda *_: None)
    data, output = write_jsonl(tmp_path / "train.jsonl", train_records), tmp_path / "model"
    output.mkdir()
    descriptor = os.open(output, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        assert "Another training writes into" in train(data, "--output", output, code=1)
    finally:
        os.close(descriptor)
    assert not any(output.iterdir())
    train(data, "--output", output)


def test_a_component_with_a_source_is_trained_by_spacy(tmp_path: Path) -> None:
    config = Config().from_disk(shipped_configs()["ngrams"], interpolate=False)
    config["components"] = {"textcat_graft": {"source": "model"}}
    config.to_disk(tmp_path / "own.cfg")
    data = write_jsonl(tmp_path / "train.jsonl", [])
    said = train(data, "--config", tmp_path / "own.cfg", code=1)
    assert "to train. One with a source is trained by python -m spacy train." in " ".join(said.split())


def test_data_are_given_once_and_are_others_for_dev(tmp_path: Path, train_records: list[Record]) -> None:
    data = write_jsonl(tmp_path / "train.jsonl", train_records)
    assert "DATA and --dev are both" in train(data, "--dev", data, code=1)


def test_labels_of_dev_that_are_others_are_said_before_training(tmp_path: Path, train_records: list[Record]) -> None:
    data = write_jsonl(tmp_path / "train.jsonl", train_records)
    dev = write_jsonl(tmp_path / "dev.jsonl", [{**record, "label": "1"} for record in train_records[:9]])
    said = train(data, "--dev", dev, "--output", tmp_path / "out", code=1)
    assert "dev.jsonl: no document has a label of those that are trained. Its labels: '1'. Those of" in said
    assert not (tmp_path / "out").exists()


def test_what_a_config_cannot_hold_is_refused(tmp_path: Path, train_records: list[Record]) -> None:
    data = write_jsonl(tmp_path / "a$.jsonl", train_records)
    assert "a$.jsonl: configs of spaCy cannot hold names with '$'" in train(data, code=1)
    assert "text$: configs" in train(write_jsonl(tmp_path / "a.jsonl", []), "--text-field", "text$", code=1)


def test_labels_of_one_document_each_leave_no_dev(tmp_path: Path, train_records: list[Record]) -> None:
    records = [record | {"id": str(number)} for number, record in enumerate(train_records)]
    data, empty = write_jsonl(tmp_path / "train.jsonl", records), write_jsonl(tmp_path / "dev.jsonl", [])
    said = train(data, "--label-field", "id", "--output", tmp_path / "out", code=1)
    assert "none of the 120 documents can be held out for dev" in said
    assert "--label-field" in said
    assert "dev.jsonl has no documents" in train(data, "--dev", empty, "--output", tmp_path / "out", code=1)


def test_columns_without_anything_in_them_are_named(tmp_path: Path, train_records: list[Record]) -> None:
    texts = tmp_path / "texts.csv"
    texts.write_text("text,label\n" + "a film,\n" * 20)
    assert "texts.csv: none of 20 documents has a label" in train(texts, code=1)
    dev = write_jsonl(tmp_path / "dev.jsonl", train_records[:10])
    assert "texts.csv: none of 20 documents has a label" in train(texts, "--dev", dev, code=1)
    records = [record | {"text": " "} for record in train_records]
    said = train(write_jsonl(tmp_path / "empty.jsonl", records), code=1)
    assert "empty.jsonl: all 120 texts are empty. Is another field that of the texts (--text-field)?" in said


def test_pipelines_of_an_earlier_training_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with replacing(tmp_path):
        (tmp_path / "model-best").mkdir()
    assert not capsys.readouterr().err
    with replacing(tmp_path):
        pass
    assert "model-best of an earlier training is there" in capsys.readouterr().err


def test_labels_that_look_alike() -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    assert plain_label(composed) == plain_label(decomposed) == plain_label(f" {composed}\u200b") == "caf\u00e9"
    found = LabelsFound()
    for number, labels in enumerate([["food", "food"], composed, decomposed, {"food": 1.0}]):
        found.add(labels, number, "")
    assert found.n_others == 0
    assert f"Are these labels the same? {composed!r}, {decomposed!r}" in "".join(found.lines())


def test_long_labels_are_shortened() -> None:
    found = LabelsFound()
    for number, labels in enumerate(["a" * 200, "b" * 80]):
        found.add(labels, number, "")
    assert next(found.lines()) == f"Labels: {'a' * 80}… 1, {'b' * 80} 1."
    assert listed(found.counts) == f"'{'a' * 80}…', '{'b' * 80}'"


def test_labels_are_counted_and_those_that_may_be_the_same_are_named(
    tmp_path: Path, train_records: list[Record]
) -> None:
    labels = {5: "food ", 8: "Food", 11: "1", 14: "1.0", 17: ["food", "sport"], 119: ""}
    records = [{**record, "label": labels.get(i, record["label"])} for i, record in enumerate(train_records)]
    records[119]["label"] = []
    said = train(
        write_jsonl(tmp_path / "train.jsonl", records), "--training.max_steps", 1, "--output", tmp_path / "out"
    )
    assert re.search(r"Labels: \w+ \d+, \w+ \d+, \w+ \d+, ", said)
    assert "food␣ 1" in said
    assert "Are these labels the same? 'food', 'food␣', 'Food'" in said or "'food', 'food ', 'Food'" in said
    assert "'1', '1.0'. If so, write them alike" in said
    assert "2 of the documents do not have exactly one label, the first of them line 18." in said


@pytest.mark.parametrize("has_shapes", [False, True])
def test_word_shapes_are_named_where_digits_are_many(
    tmp_path: Path, train_records: list[Record], monkeypatch: pytest.MonkeyPatch, has_shapes: bool
) -> None:
    monkeypatch.setattr("spacy.cli.train.train", lambda *_: None)
    records = [{**record, "text": f"{record['text']} 2026-11-29 {i:020}"} for i, record in enumerate(train_records)]
    config = Config().from_disk(CONFIG, interpolate=False)
    if has_shapes:
        config["vars"] = {"attr": "SHAPE"}
        shapes = {"@graft_features": "spacy_graft.TokenNgrams.v1", "attr": "${vars.attr}"}
        config["components"]["textcat_graft"]["features"] = {**WORDS, "shapes": shapes}
    config.to_disk(tmp_path / "config.cfg")
    said = train(
        write_jsonl(tmp_path / "train.jsonl", records), "--config", tmp_path / "config.cfg", "--output", tmp_path / "m"
    )
    assert ("of all characters are digits. If it matters how many" in said) == (not has_shapes)


@pytest.mark.slow
def test_what_texts_and_labels_look_like_is_said(
    tmp_path: Path, train_records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spacy.cli.train.train", lambda *_: None)  # spaCy takes seconds for the tokens of line 13
    labels = {5: "food;sport", 8: "sport; food"}
    records = [{**record, "label": labels.get(i, record["label"])} for i, record in enumerate(train_records)]
    records[10]["text"] = " "
    records[12]["text"] = f"goals {'=' * 5000}"
    data = write_jsonl(tmp_path / "train.jsonl", records)
    swapped = write_jsonl(tmp_path / "dev.jsonl", [*train_records, *train_records])
    said = train(data, "--dev", swapped, "--output", tmp_path / "out")
    assert 'Is \'food;sport\' several labels? If so, write a list: ["food", "sport"].' in said
    assert f"Empty texts: 1, the first of them {data}, line 11." in said
    assert "Texts of dev that are also in train: 236. The scores on dev will be too good." in said
    assert "are digits" not in said
    assert "line 13: the text has 5,000 or more symbols in a row without white space" in said
    assert "more documents for dev than to train on: have they been swapped?" in said


@pytest.mark.parametrize(
    "names", [["a, b", "c, d"], ["a;b", "c"], ["comp.sys", "comp.graphics"], ["x; y", "x; z"], [";", ";;"]]
)
def test_names_of_labels_may_have_separators(names: list[str]) -> None:
    assert LabelsFound(Counter(names)).several_in_one() is None


def test_one_label_can_be_joined_of_two() -> None:
    assert LabelsFound(Counter(["a", "b", "a | b"])).several_in_one() == ("a | b", '["a", "b"]')


def test_targets_of_one_likely_label_are_trained_on(tmp_path: Path, train_records: list[Record]) -> None:
    shares = {"food": 0.9, "music": 0.8, "sport": 0.55}
    records = [
        {**record, "label": {"yes": shares[record["label"]], "no": 1.0 - shares[record["label"]]}}
        for record in train_records
    ]
    data = write_jsonl(tmp_path / "train.jsonl", records)
    assert "Labels are exclusive." in train(data, "--output", tmp_path / "out", *SHORT)


def test_another_file_of_the_name_is_not_taken_for_that_of_the_training(
    tmp_path: Path, train_records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write_jsonl(tmp_path / folder / "train.jsonl", train_records)
    monkeypatch.chdir(tmp_path / "a")
    train("train.jsonl", "--output", "m", *SHORT)
    monkeypatch.chdir(tmp_path / "b")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        said = call("evaluate", "../a/m/model-best", "train.jsonl").stderr
        assert "train.jsonl is what it was trained on (paths.train). If these are the same documents" in said
        refused = call("report", "../a/m/model-best", "--html", "p.html", "--data", "nix.jsonl", code=1).stderr
        assert "nix.jsonl: No such file or directory" in refused


def test_one_label_alone_is_found_before_training(tmp_path: Path, train_records: list[Record]) -> None:
    records = [{**record, "label": "food"} for record in train_records]
    output = tmp_path / "model"
    said = train(write_jsonl(tmp_path / "train.jsonl", records), "--output", output, *SHORT, code=1)
    assert "There is one label only, 'food', but exclusive labels must be at least two." in said
    assert "--multilabel" in said
    assert not output.exists()


def test_several_labels_are_found_before_training(
    tmp_path: Path, train_records: list[Record], dev_records: list[Record]
) -> None:
    data = write_jsonl(tmp_path / "train.jsonl", train_records)
    dev = write_jsonl(tmp_path / "dev.jsonl", [*dev_records, {"text": "x", "label": ["food", "sport"]}])
    output = tmp_path / "model"
    said = train(data, "--dev", dev, "--output", output, *SHORT, code=1)
    assert f"dev.jsonl, line {len(dev_records) + 1}: the document has several labels." in said
    assert not output.exists()
    assert "train with --multilabel" in train(dev, "--exclusive", "--output", output, *SHORT, code=1)
