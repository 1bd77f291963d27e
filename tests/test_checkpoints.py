"""Training that is interrupted goes on from its last checkpoint, to the same model bit by bit."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Callable, Iterable
from functools import partial, partialmethod
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest
from spacy.language import Language
from spacy.training import Example

import spacy_graft
from conftest import CONFIG, PATH, Record, component_of, make_examples, make_nlp, make_records, run_forked
from spacy_graft import files
from spacy_graft.graft import memory as memory_module
from spacy_graft.graft.data import TrainingData
from spacy_graft.graft.path import PathFit
from spacy_graft.graft.report import Report
from spacy_graft.graft.settings import GraftingPath
from spacy_graft.graft.start import start
from spacy_graft.pipeline.checkpoints import Checkpoints
from spacy_graft.pipeline.textcat import TextCatGraft
from spacy_graft.search.search import Search
from strategies import training_data

REFITS = {**PATH, "refit": 2.0}
N_STEPS = PATH["steps"]
#: What `spacy train` is killed in.
KILLED = """
import os, signal, sys
from spacy_graft.graft.path import PathFit
step, n_steps = PathFit.step, [0]
def killed(fit):
    n_steps[0] += 1
    if n_steps[0] == {at}:
        os.kill(os.getpid(), signal.SIGKILL)
    step(fit)
PathFit.step = killed
from spacy.cli import setup_cli
setup_cli()
"""


def path_fit(learner: GraftingPath, data: TrainingData) -> PathFit:
    fit = start(learner, data)
    assert isinstance(fit, PathFit)
    return fit


def assert_same_step(state: dict[str, Any], other: dict[str, Any]) -> None:
    assert state["report"] == other["report"]
    for name, values in state["model"].items():
        np.testing.assert_array_equal(values, other["model"][name])


@pytest.mark.parametrize("max_features", [None, 15])
def test_every_step_of_a_path_can_be_gone_on_from(max_features, monkeypatch):
    """Late steps too, whose searches sum over a coarse tree; and after a point that was filled up."""
    monkeypatch.setattr(Search, "PASSES_BEFORE_COARSE", 16)
    rng = np.random.default_rng(8)
    texts = ["".join(rng.choice(list("abcdef "), 25)) for _ in range(150)]
    data = training_data(texts, np.eye(2)[[int("ab" in t or "fe" in t) for t in texts]], min_df=2)
    learner = GraftingPath(l1_min_ratio=1e-3, steps=6, ridge=1.0, max_features=max_features, refit=2.0, tol=1e-7)
    fit = path_fit(learner, data)
    states = [fit.to_dict()]
    while not fit.finished:
        fit.step()
        states.append(fit.to_dict())
    (part,) = fit.rounds.state.space.parts
    assert part.search.coarse is not None
    for number, state in enumerate(states):
        other = path_fit(learner, data)
        other.resume(state)
        for expected in states[number:]:
            assert_same_step(other.to_dict(), expected)
            other.step()


def trained(folder: Path | None, records: Iterable[Record], n_steps: int = N_STEPS, **config: Any) -> TextCatGraft:
    """A component after some steps of training."""
    nlp = make_nlp(learner={**REFITS, **config})
    examples = make_examples(nlp, records)
    component = component_of(nlp)
    component.initialize(lambda: examples, nlp=nlp, checkpoints=None if folder is None else str(folder))
    for _ in range(n_steps):
        update(nlp, examples)
    return component


def update(nlp: Language, examples: list[Example]) -> None:
    nlp.update(examples[:8])


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Has an entry for each step that is computed and not read from a checkpoint."""
    done: list[Any] = []

    def counted(step: Callable[..., None], fit: PathFit, *args: Any) -> None:
        done.append(fit)
        step(fit, *args)

    for name in ("step", "pass_by", "arrive"):
        monkeypatch.setattr(PathFit, name, partialmethod(partial(counted, getattr(PathFit, name))))
    return done


@pytest.mark.parametrize("interrupted_after", [0, 1, 4, N_STEPS - 1, N_STEPS])
def test_an_interrupted_training_ends_with_the_same_model(
    tmp_path: Path, train_records: list[Record], steps: list[Any], interrupted_after: int
) -> None:
    expected = trained(None, train_records)
    trained(tmp_path, train_records, n_steps=interrupted_after)
    steps.clear()
    resumed = trained(tmp_path, train_records)
    assert len(steps) == N_STEPS - interrupted_after
    assert resumed.to_bytes() == expected.to_bytes()
    assert resumed.history == expected.history


def test_fits_of_other_documents_or_settings_have_checkpoints_of_their_own(
    tmp_path: Path, train_records: list[Record], steps: list[Any]
) -> None:
    trained(tmp_path, train_records)
    for records, config in ((train_records[1:], {}), (make_records(120, seed=5), {}), (train_records, {"ridge": 1.0})):
        steps.clear()
        trained(tmp_path, records, **config)
        assert len(steps) == N_STEPS
    assert len(list(tmp_path.iterdir())) == 4


def test_fits_on_the_way_to_other_points_have_checkpoints_of_their_own(
    tmp_path: Path, train_records: list[Record]
) -> None:
    """What one passes by is where another ends."""

    def way_to(points: int, folder: Path | None) -> dict[str, Any]:
        training = trained(folder, train_records, n_steps=0).training
        assert training is not None
        training.add_examples([])
        return training.path_to(Report(points=points, l1=0.05, l1_max=1.0)).report.to_dict()

    for points in (5, 3, 5):
        found, expected = way_to(points, tmp_path), way_to(points, None)
        assert found["converged"]
        assert {**found, "seconds": {}} == {**expected, "seconds": {}}


def test_a_damaged_checkpoint_is_refused_and_can_be_deleted(
    tmp_path: Path, train_records: list[Record], steps: list[Any]
) -> None:
    expected = trained(tmp_path, train_records)
    (last,) = tmp_path.glob(f"*/step-{N_STEPS:04}")
    sealed = last.read_bytes()
    of_another_step = sorted(last.parent.iterdir())[0].read_bytes()
    for damaged in (b"", sealed[:-1], sealed[:100], sealed[:-1] + bytes([sealed[-1] ^ 1]), of_another_step):
        last.write_bytes(damaged)
        with pytest.raises(ValueError, match=rf"\[textcat_graft\] The checkpoint .*{last.name} is damaged, or .*"):
            trained(tmp_path, train_records)
    last.unlink()
    steps.clear()
    assert trained(tmp_path, train_records).to_bytes() == expected.to_bytes()
    assert len(steps) == 1


def test_training_goes_on_where_checkpoints_cannot_be_written(
    tmp_path: Path, train_records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.warns(UserWarning, match=r"step 1 cannot be written \(.*No space left") as caught:
        component = trained(tmp_path, train_records)
    assert len(caught) == 1
    assert not list(tmp_path.glob("*/*"))
    monkeypatch.undo()
    assert component.to_bytes() == trained(None, train_records).to_bytes()


@pytest.mark.parametrize("place", ["folder", "step"])
def test_training_goes_on_where_checkpoints_cannot_be_read(
    tmp_path: Path, train_records: list[Record], place: str
) -> None:
    """There is a file in the place of the folder, or a folder in that of a file."""
    expected = trained(tmp_path / "folder", train_records)
    path = tmp_path / "folder"
    if place == "folder":
        shutil.rmtree(path)
        path.write_text("")
    else:
        (path,) = path.glob("*/step-0002")
        path.unlink()
        path.mkdir()
    # Windows says that there is no file in a file.
    of_step = rf"\[textcat_graft\] The checkpoint of step {1 + (place == 'step')} cannot be (read|written) \("
    with pytest.warns(UserWarning, match=of_step) as caught:
        component = trained(tmp_path / "folder", train_records)
    assert len(caught) == 1
    assert component.to_bytes() == expected.to_bytes()


def test_only_paths_have_checkpoints(tmp_path: Path, train_records: list[Record]) -> None:
    nlp = make_nlp(learner={"@graft_learners": "spacy_graft.Grafting.v1", "l1": 1.0})
    examples = make_examples(nlp, train_records)
    with pytest.raises(ValueError, match=r"steps of spacy_graft.GraftingPath.v1, but the learner is Grafting\."):
        component_of(nlp).initialize(lambda: examples, checkpoints=str(tmp_path))


def test_checkpoints_are_in_a_folder_with_a_name(train_records: list[Record]) -> None:
    nlp = make_nlp()
    for folder in ("", "a\0b"):
        message = re.escape(f"[textcat_graft] checkpoints = {folder!r}, but it must be the path of a folder")
        with pytest.raises(ValueError, match=message):
            spacy_graft.fit(nlp, make_examples(nlp, train_records), checkpoints=folder)


def test_fit_takes_checkpoints(tmp_path: Path, train_records: list[Record], steps: list[Any]) -> None:
    """Those of the folds of cross-validation included."""
    bytes_of_models = []
    for _ in range(2):
        nlp = make_nlp()
        spacy_graft.fit(nlp, make_examples(nlp, train_records), checkpoints=str(tmp_path))
        bytes_of_models.append(component_of(nlp).to_bytes())
    assert bytes_of_models[0] == bytes_of_models[1]
    assert len(steps) == len(list(tmp_path.glob("*/step-*")))


@pytest.mark.slow
def test_spacy_train_goes_on_after_it_was_killed(corpus: Path, tmp_path: Path) -> None:
    """The same command again; its models have the same bytes as without the accident."""
    command = ["train", CONFIG, "--paths.train", corpus / "train.jsonl.gz", "--paths.dev", corpus / "dev.jsonl"]
    command += ["--training.max_steps", 4, "--components.textcat_graft.learner.steps", 4]
    run_forked("-m", "spacy", *command, "--output", tmp_path / "whole")
    command += ["--paths.checkpoints", tmp_path / "checkpoints", "--output", tmp_path / "killed"]
    killed = run_forked("-c", KILLED.format(at=1), *command, check=False)
    assert killed.returncode == -9
    killed = run_forked("-c", KILLED.format(at=3), *command, check=False)
    assert killed.returncode == -9
    assert len(list(tmp_path.glob("checkpoints/*/step-*"))) == 2
    run_forked("-m", "spacy", *command)
    for name in ("model-best", "model-last"):
        whole, resumed = (tmp_path / folder / name / "textcat_graft" for folder in ("whole", "killed"))
        assert {p.name: p.read_bytes() for p in whole.iterdir()} == {p.name: p.read_bytes() for p in resumed.iterdir()}


def test_a_checkpoint_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is being written when the process dies has another name."""
    checkpoints = Checkpoints("textcat_graft", tmp_path / "fit")
    names: list[str] = []

    def noted(file: IO[bytes] | int) -> None:
        names.extend(path.name for path in (tmp_path / "fit").iterdir())

    monkeypatch.setattr(files.os, "fsync", noted)
    checkpoints.save(1, {"a": 1})
    assert names
    assert "step-0001" not in names
    assert checkpoints.load(1) == {"a": 1}
    assert checkpoints.load(2) is None


@pytest.mark.parametrize("batched", [False, True])
def test_refits_of_another_training_in_the_folder_are_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batched: bool
) -> None:
    """Dev chooses them; the points of both trainings are the same."""
    if batched:
        monkeypatch.setattr(memory_module, "MANY_LABELS", 2)
        monkeypatch.setattr(memory_module, "DOCUMENT_LABELS", 1)
    rng = np.random.default_rng(3)
    pairs = [(" ".join([*rng.choice(list("abcdefgh"), 4), ["good", "bad"][k % 2]]), "pn"[k % 2]) for k in range(78)]

    def fitted(folder: Path | None, dev: list[tuple[str, str]] | None) -> TextCatGraft:
        learner = {"@graft_learners": "spacy_graft.GraftingPath.v1", "steps": 8, "l1_min_ratio": 0.02}
        nlp = make_nlp(learner=learner)
        options = {} if folder is None else {"checkpoints": str(folder)}
        spacy_graft.fit(nlp, pairs[:18], dev=dev, **options)  # type: ignore[arg-type]
        component = nlp.get_pipe("textcat_graft")
        assert isinstance(component, TextCatGraft)
        return component

    alone = fitted(None, None)
    with_dev = fitted(tmp_path, pairs[18:])
    assert with_dev.report is not None
    assert with_dev.report.refit != 2.0
    after = fitted(tmp_path, None)
    assert after.history == alone.history
    assert after.to_bytes(exclude=["vocab"]) == alone.to_bytes(exclude=["vocab"])
