"""What ``spacy train`` writes is whole: a full disk or an interruption leaves the pipeline from before, or none."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.util import registry

from conftest import CONFIG, Record, make_examples, make_nlp, make_records, run, run_forked, train_fully
from spacy_graft.files import replace_folder
from spacy_graft.pipeline import whole_save
from spacy_graft.pipeline.textcat import TextCatGraft
from spacy_graft.pipeline.whole_save import saved_whole

TEXT = "the soup of the day"
#: A shell that starts the tests in the background has them ignore SIGINT.
INTERRUPTED = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from spacy_graft.graft.path import PathFit
PathFit.step = lambda fit: os.kill(os.getpid(), signal.SIGINT)
from spacy.cli import setup_cli
setup_cli()
"""
#: No file can be larger than this, as on a disk that is full.
LIMITED = """
import resource
from spacy.language import Language
to_disk = Language.to_disk
def limited(*arguments, **options):
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))
    to_disk(*arguments, **options)
Language.to_disk = limited
from spacy.cli import setup_cli
setup_cli()
"""


@pytest.fixture(scope="module")
def before(train_records: list[Record]) -> Language:
    """Another trained pipeline."""
    return train_fully(make_nlp(), train_records[:60])


def raise_full(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_cannot_take_the_place_leaves_it_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    with pytest.raises(FileNotFoundError):
        replace_folder(tmp_path / "model", tmp_path / "missing")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_the_callback_is_registered() -> None:
    assert registry.callbacks.get("spacy_graft.WholeSave.v1")() is saved_whole


def test_a_pipeline_takes_the_place_of_the_one_before(fitted: Language, before: Language, tmp_path: Path) -> None:
    for nlp in (before, fitted):
        saved_whole(nlp).to_disk(tmp_path / "model-last")
        assert spacy.load(tmp_path / "model-last")(TEXT).cats == nlp(TEXT).cats
    assert os.listdir(tmp_path) == ["model-last"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
def test_what_is_no_part_of_the_pipeline_stays_beside_it(fitted: Language, before: Language, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    before.add_pipe("sentencizer", name="sent.v2")
    whole_save.save_whole(before, folder)
    assert (folder / "sent.json").exists()
    before.remove_pipe("sent.v2")
    (folder / "LICENSE").write_text("mine")
    (folder / "results").mkdir()
    (folder / "results" / "scores.json").write_text("[]")
    whole_save.save_whole(fitted, folder)
    others = {"LICENSE", "results", "config.cfg", "meta.json", "tokenizer", "vocab"}
    assert set(os.listdir(folder)) == {*fitted.pipe_names, *others}
    assert (folder / "results" / "scores.json").read_text() == "[]"
    assert spacy.load(folder)(TEXT).cats == fitted(TEXT).cats
    (folder / "results" / "link").symlink_to(tmp_path / "nowhere")
    os.mkfifo(folder / "pipe")
    with pytest.warns(UserWarning, match="pipe is not kept: it cannot be copied"):
        whole_save.save_whole(before, folder)
    assert (folder / "results" / "link").is_symlink()
    (tmp_path / "no pipeline").mkdir()
    (tmp_path / "no pipeline" / "meta.json").write_text("{")
    whole_save.save_whole(fitted, tmp_path / "no pipeline")
    assert spacy.load(tmp_path / "no pipeline")(TEXT).cats == fitted(TEXT).cats


def test_after_the_last_step_a_pipeline_is_written_once(train_records: list[Record], tmp_path: Path) -> None:
    nlp = make_nlp()
    train, dev = make_examples(nlp, train_records[:60]), make_examples(nlp, train_records[60:])
    nlp.initialize(lambda: train)
    component = nlp.get_pipe("textcat_graft")
    assert isinstance(component, TextCatGraft)
    path = tmp_path / "model-last"
    written = []
    for step in range(20):
        nlp.update(train)
        nlp.evaluate(dev)
        saved_whole(nlp).to_disk(path)
        assert component.training is not None
        written.append((component.training.course.concluded, path.stat().st_ino))
        if step == 18:
            path.rename(tmp_path / "model-gone")
    after = [inode for concluded, inode in written if concluded]
    assert len({inode for concluded, inode in written if not concluded}) > 1
    assert len(set(after)) == 2  # once, and again when the folder was gone
    before = nlp(TEXT).cats
    assert spacy.load(path)(TEXT).cats == nlp(TEXT).cats
    # More documents make another model.
    for _ in range(2):
        nlp.update(make_examples(nlp, make_records(200, seed=7)))
        nlp.evaluate(dev)
        saved_whole(nlp).to_disk(path)
    assert spacy.load(path)(TEXT).cats == nlp(TEXT).cats != before


@pytest.mark.parametrize("with_one_before", [True, False])
def test_a_full_disk_leaves_the_pipeline_from_before(
    fitted: Language, before: Language, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_one_before: bool
) -> None:
    if with_one_before:
        saved_whole(before).to_disk(tmp_path / "model-last")
    monkeypatch.setattr(type(fitted.get_pipe("textcat_graft")), "to_disk", raise_full)
    with pytest.raises(SystemExit, match=r"cannot be written to .*model-last: No space left on device\. What was"):
        saved_whole(fitted).to_disk(tmp_path / "model-last")
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["model-last"] * with_one_before
    if with_one_before:
        assert spacy.load(tmp_path / "model-last")(TEXT).cats == before(TEXT).cats


def test_there_is_room_for_the_copy_of_the_best_pipeline(
    fitted: Language, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``spacy train`` deletes its best pipeline before it copies the new one: half a copy would be all that is left."""
    monkeypatch.setattr(whole_save.shutil, "disk_usage", lambda _: SimpleNamespace(free=10))
    with pytest.raises(SystemExit, match=r"a copy for model-best needs [\d,]+ bytes, but only 10 are free"):
        saved_whole(fitted).to_disk(tmp_path / "model-last")
    assert not os.listdir(tmp_path)
    # What is deleted makes room.
    fitted.to_disk(tmp_path / "model-best")
    saved_whole(fitted).to_disk(tmp_path / "model-last")
    assert sorted(os.listdir(tmp_path)) == ["model-best", "model-last"]


def test_an_untrained_pipeline_is_not_written(
    train_records: list[Record], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nlp = make_nlp()
    nlp.initialize(lambda: make_examples(nlp, train_records))
    saved_whole(nlp).to_disk(tmp_path / "model-last")
    assert not os.listdir(tmp_path)
    assert "model-last is not written: 'textcat_graft' has not done a training step." in capsys.readouterr().err


@pytest.mark.slow
def test_spacy_train_that_is_interrupted_at_once_leaves_no_model(corpus: Path, tmp_path: Path) -> None:
    paths = ("--paths.train", corpus / "train.jsonl.gz", "--paths.dev", corpus / "dev.jsonl")
    result = run_forked("-c", INTERRUPTED, "train", CONFIG, *paths, "--output", tmp_path / "out", check=False)
    assert result.returncode != 0
    assert "Traceback" not in result.stderr
    assert "is not written: 'textcat_graft' has not done a training step." in result.stderr
    assert not os.listdir(tmp_path / "out")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="limits the size of files as POSIX does")
def test_spacy_train_that_cannot_write_ends_with_one_line(corpus: Path, tmp_path: Path) -> None:
    paths = ("--paths.train", corpus / "train.jsonl.gz", "--paths.dev", corpus / "dev.jsonl")
    result = run("-c", LIMITED, "train", CONFIG, *paths, "--output", tmp_path / "out", check=False)
    assert result.returncode == 1
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith(f"The pipeline cannot be written to {tmp_path / 'out' / 'model-last'}: File too large.")
    assert not os.listdir(tmp_path / "out")


def test_a_link_stays_one(fitted: Language, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "model-last").symlink_to(tmp_path / "store")
    whole_save.save_whole(fitted, tmp_path / "model-last")
    assert (tmp_path / "model-last").is_symlink()
    assert spacy.load(tmp_path / "store")(TEXT).cats == fitted(TEXT).cats


@pytest.mark.parametrize(("number", "left"), [(1, "model"), (2, "new")])
def test_an_interruption_leaves_one_whole_folder(
    number: int, left: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That which was there; the new one, if it is in its place already."""
    for name in ("model", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    replace, calls = os.replace, []

    def interrupted(*paths: Path) -> None:
        replace(*paths)
        calls.append(paths)
        if len(calls) == number:
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replace_folder(tmp_path / "model", tmp_path / "new")
    assert os.listdir(tmp_path / "model") == [left]
    assert {path.name for path in tmp_path.iterdir()} <= {"model", "new"}


def test_only_what_spacy_copies_needs_room_for_a_copy(
    fitted: Language, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_save.shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    whole_save.save_whole(fitted, tmp_path / "model")
    with pytest.raises(SystemExit, match="a copy for model-best"):
        whole_save.save_whole(fitted, tmp_path / "model-last")
    assert os.listdir(tmp_path) == ["model"]
