"""``spacy_graft.ConsoleLogger.v1``."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import spacy
from rich.text import Text
from spacy.language import Language
from thinc.api import Config

from conftest import Record, empty_solution, make_examples, make_nlp, train_fully
from spacy_graft.graft.report import Report
from spacy_graft.graft.settings import Grafting, GraftingPath
from spacy_graft.model.snapshot import snapshot_of_solution
from spacy_graft.pipeline import progress as bars
from spacy_graft.pipeline.logger import conclusion, console_logger, fullness
from spacy_graft.pipeline.textcat import TextCatGraft


def log(
    nlp: Language, infos: list[dict[str, Any] | None], train: Callable[[], None] | None = None, **options: Any
) -> tuple[list[str], str]:
    """Lines of the table, and what went to the other stream; components are trained when the log has begun."""
    nlp.config = Config(nlp.config).merge({"training": {"max_steps": 5, "eval_frequency": 1}})
    stdout, stderr = io.StringIO(), io.StringIO()
    log_step, finalize = console_logger(**options)(nlp, stdout, stderr)
    if train is not None:
        train()
    for info in infos:
        log_step(info)
    finalize()
    return stdout.getvalue().splitlines(), stderr.getvalue()


def info_of(nlp: Language, **scores: Any) -> dict[str, Any]:
    losses = dict.fromkeys(nlp.pipe_names, 0.25)
    return {"epoch": 0, "step": 3, "losses": losses, "other_scores": scores, "score": 0.5}


def give_report(nlp: Language, name: str = "textcat_graft", **values: Any) -> None:
    component = nlp.get_pipe(name)
    assert isinstance(component, TextCatGraft)
    component.cfg["labels"] = ["a", "b"]
    snapshot = snapshot_of_solution(empty_solution(2), component.blocks, nlp.vocab.strings)
    component.set_snapshot(snapshot, Report(**values))


def test_columns_of_a_graft_component() -> None:
    nlp = make_nlp()
    values = {"l1": 2.0, "l1_max": 16.0, "n_active": 1234, "relative_gap": 0.00042, "refit": 4.0, "log_loss": 0.625}
    lines, _ = log(nlp, [info_of(nlp, cats_score=0.875), None], lambda: give_report(nlp, **values))
    columns = "E # LOSS L1/MAX FEATURES REFIT LOGLOSS GAP CATS_CHOICE CATS_SCORE SCORE"
    assert lines[0].split() == columns.split()
    assert len(lines[0]) == 79  # a terminal has 80; the 18 steps of a path have two digits
    assert set(lines[1]) == {"-", " "}
    assert lines[2].split() == "0 3 0.2500 0.12500 1234 4 0.6250 4.2e-04 0.00 87.50 0.50".split()
    assert len(lines) == 3


def test_a_component_without_report() -> None:
    nlp = make_nlp()
    assert log(nlp, [info_of(nlp)])[0][2].split()[3:6] == ["-"] * 3


@pytest.mark.parametrize(("n", "said"), [(1, "1 document of dev;"), (2345, "2,345 documents of dev;")])
def test_documents_of_dev_are_counted(n: int, said: str) -> None:
    assert said in conclusion("textcat_graft", Report(n_held_out=n))


def test_a_choice_by_folds_is_told() -> None:
    of_four, of_one = (conclusion("a", Report(n_held_out=30, n_folds=n)) for n in (4, 1))
    assert "by 4-fold cross-validation on train and dev, and trained on train and 30 documents of dev;" in of_four
    assert "by one held-out part of train and dev, and trained on" in of_one


def test_a_model_that_is_full_is_told() -> None:
    learner = GraftingPath(max_features=1000)
    said = fullness("a", learner, Report(n_active=950, n_held_out=30))
    assert said is not None
    assert "nearly all of the 1,000 features" in said
    assert said.endswith("--components.a.learner.max_features 3000")
    for other in (GraftingPath(max_features=None), Grafting(l1=1.0), GraftingPath(max_features=1100)):
        assert fullness("a", other, Report(n_active=950, n_held_out=30)) is None
    assert fullness("a", learner, Report(n_active=950)) is None


def test_several_components() -> None:
    nlp = make_nlp()
    nlp.add_pipe("textcat_graft_multilabel", name="second")

    def train() -> None:
        give_report(nlp, l1=1.0, l1_max=1.0, n_active=7, relative_gap=0.1)
        give_report(nlp, "second", l1=1.0, l1_max=2.0, n_active=8, relative_gap=0.2)

    lines, _ = log(nlp, [info_of(nlp)], train)
    assert lines[0].split().count("FEATURES") == 2
    assert lines[0].split()[:6] == ["E", "#", "LOSS", "TEXTC...", "LOSS", "SECOND"]
    assert lines[2].split()[4:14] == "1.00000 7 - - 1.0e-01 0.50000 8 - - 2.0e-01".split()


@pytest.mark.parametrize("with_others", [False, True])
def test_rows_after_the_last_step_are_those_of_other_components(with_others: bool) -> None:
    nlp = make_nlp()
    if with_others:
        nlp.add_pipe("tagger")

    def train() -> None:
        give_report(nlp)
        component = nlp.get_pipe("textcat_graft")
        assert isinstance(component, TextCatGraft)
        course = SimpleNamespace(n_scored=2, concluded=False, reports=[])
        component.training = SimpleNamespace(course=course)  # type: ignore[assignment]

    lines, _ = log(nlp, [info_of(nlp)], train)
    assert len(lines) == 2 + with_others


def test_that_a_trained_component_is_extended_is_told(train_records: list[Record]) -> None:
    """Nothing is chosen in this training. A frozen component is not extended."""
    nlp = train_fully(make_nlp(keep_corpus=True), train_records[:60])
    lines, _ = log(nlp, [info_of(nlp)], lambda: nlp.update(make_examples(nlp, train_records[60:])) and None)
    assert len(lines) == 4
    assert lines[0].startswith("[textcat_graft] This component is trained already.")
    nlp.config["training"]["frozen_components"] = ["textcat_graft"]
    assert len(log(nlp, [info_of(nlp)])[0]) == 3


def test_a_pipeline_without_graft_components() -> None:
    nlp = spacy.blank("xx")
    nlp.add_pipe("textcat")
    lines, _ = log(nlp, [info_of(nlp, cats_score=1.0)])
    assert lines[0].split() == ["E", "#", "LOSS", "CATS_SCORE", "SCORE"]
    assert lines[2].split() == ["0", "3", "0.2500", "100.00", "0.50"]


def test_speed_is_no_share() -> None:
    nlp = make_nlp()
    nlp.config["training"]["score_weights"]["speed"] = 0.0
    assert "1234.50" in log(nlp, [info_of(nlp, speed=1234.5)])[0][2]


def test_scores_must_be_numbers() -> None:
    nlp = make_nlp()
    with pytest.raises(ValueError, match="The score 'cats_score' is a dict"):
        log(nlp, [info_of(nlp, cats_score={})])


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    nlp = make_nlp()
    assert log(nlp, [None, info_of(nlp)], progress_bar=True)[1] == ""
    monkeypatch.setattr(io, "StringIO", Terminal)
    lines, progress = log(nlp, [None, info_of(nlp)], progress_bar=True)
    assert len(lines) == 3
    assert "/6 [" in progress
    assert log(nlp, [None, info_of(nlp)])[1] == ""


@pytest.mark.parametrize("width", [60, 80, 200])
def test_what_a_bar_counts_is_there_in_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(sys, "stderr", Terminal())
    with bars.progress_bar("textcat_graft") as bar:
        bar.add_task("fold 1 of 4: 1,234 features, l1/l1_max 0.0012", total=17, completed=5)
        bar.refresh()
        shown = Text.from_ansi(sys.stderr.getvalue()).plain  # type: ignore[attr-defined]
    assert " 5/17 0:00:00 -:--:-- fold" in shown
    assert ("1,234" in shown) is (width > 60)


@pytest.mark.parametrize("has_other", [False, True])
def test_the_elapsed_time_goes_on_between_steps(monkeypatch: pytest.MonkeyPatch, has_other: bool) -> None:
    """Except while another bar is on the terminal."""
    monkeypatch.setattr(bars, "TICK", 0.01)
    stderr = Terminal()
    _, finalize = console_logger(progress_bar=True)(make_nlp(), Terminal(), stderr)
    other = bars.progress_bar("textcat_graft")
    if has_other:
        other.live._started = True
    time.sleep(0.05)
    before, until = stderr.tell(), time.monotonic() + (0.2 if has_other else 10.0)
    while stderr.tell() == before and time.monotonic() < until:
        time.sleep(0.01)
    assert (stderr.tell() == before) is has_other
    finalize()
    end = stderr.tell()
    time.sleep(0.05)
    assert stderr.tell() == end
