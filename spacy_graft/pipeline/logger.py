"""The console logger of ``spacy train``."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Collection
from shutil import get_terminal_size
from typing import IO, Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training.loggers import setup_table
from tqdm import tqdm
from wasabi import Printer

from ..extract.blocks import ReadingBlock, is_reading_block
from ..graft.report import Report
from ..graft.settings import NEAR, GraftingPath
from ..messages import count, listed
from ..options import check_flags
from .components import graft_components, is_over
from .loop import trained_by_loop, training_settings
from .progress import ticking
from .textcat import TextCatGraft

Info = dict[str, Any]
LogStep = Callable[[Info | None], None]
#: With one component, the table of a path is 80 characters wide.
SPACING = 1
#: Written where a component was trained before, and is taken from that pipeline.
EXTENDED = (
    "[{name}] This component is trained already. Each step adds the texts of one batch, and trains again on all so far "
    "at the point that was chosen before. Texts that come after the last step are in no model: to take all in one "
    "step, add --training.batcher.size 10000000 --training.max_steps 1."
)


def console_logger(
    progress_bar: bool = False,
) -> Callable[[Language, IO[str], IO[str]], tuple[LogStep, Callable[[], None]]]:
    """Make ``spacy_graft.ConsoleLogger.v1``: spaCy's table with five more columns for each graft component.

    ``L1/max`` is the L1 strength divided by the smallest one whose model is empty (``l1_max``), ``Features`` the number
    of features of the model, ``Refit`` the strength of its refit, ``LogLoss`` its log-loss on dev, and ``Gap`` the
    duality gap divided by the objective at zero weights.

    Parameters
    ----------
    progress_bar : bool
        Whether to show the progress in ``[training] max_steps`` and the elapsed time, if the output is a terminal.

    Returns
    -------
    callable
        The logger set-up that ``[training.logger]`` expects. Called with the pipeline and streams for output and
        errors, it returns a function that logs a step and one that ends the log.

    Raises
    ------
    ValueError
        If ``progress_bar`` is neither true nor false; while logging, if a score is not a number.
    """
    check_flags("spacy_graft.ConsoleLogger.v1", progress_bar=progress_bar)

    def setup(
        nlp: Language, stdout: IO[str] = sys.stdout, stderr: IO[str] = sys.stderr
    ) -> tuple[LogStep, Callable[[], None]]:
        table = LogTable(nlp, stdout)
        # disable=None: no bar if the output is not a terminal.
        most = training_settings(nlp)["max_steps"]
        # spaCy counts from 0, and does the last as well.
        bar = tqdm(total=most + 1 if most else None, disable=None if progress_bar else True, leave=False, file=stderr)

        def log_step(info: Info | None) -> None:
            bar.update(1)
            if info is not None:
                table.write(info)

        return log_step, ticking(bar)

    return setup


class LogTable:
    """A table that prints its header at once, and a row for each evaluation."""

    def __init__(self, nlp: Language, stdout: IO[str]) -> None:
        self.nlp = nlp
        self.stdout = stdout
        self.printer = Printer(no_print=True)
        self.losses = [name for name, pipe in nlp.pipeline if getattr(pipe, "is_trainable", False)]
        self.grafts = graft_components(nlp)
        settings = training_settings(nlp)
        #: Components whose choice has been written, or was made in another training.
        self.concluded = {name for name, pipe in self.grafts.items() if pipe.report is not None}
        for name in trained_by_loop(nlp):
            if name in self.concluded:
                self._write_text(EXTENDED.format(name=name))
        self.scores = [name for name, weight in settings["score_weights"].items() if weight is not None]
        header, self.widths, self.aligns = setup_table(
            cols=[
                "E",
                "#",
                *(f"Loss {name}" if len(self.losses) > 1 else "Loss" for name in self.losses),
                *(column for _ in self.grafts for column in ("L1/max", "Features", "Refit", "LogLoss", "Gap")),
                *self.scores,
                "Score",
            ],
            widths=[
                2,
                len(str(settings["max_steps"] or 100_000)),
                *[6] * len(self.losses),
                *[7, 8, 5, 7, 7] * len(self.grafts),
                *[6] * len(self.scores),
                5,
            ],
        )
        self._print(header)
        self._print(["-" * width for width in self.widths])

    def write(self, info: Info) -> None:
        if is_over(self.nlp):
            return
        self._print(
            [
                info["epoch"],
                info["step"],
                *(f"{float(info['losses'][name]):.4f}" for name in self.losses),
                *(cell for pipe in self.grafts.values() for cell in cells(pipe)),
                *(score_cell(name, info["other_scores"].get(name, 0.0)) for name in self.scores),
                f"{float(info['score']):.2f}",
            ]
        )
        for name, pipe in self.grafts.items():
            if name not in self.concluded and pipe.training is not None and pipe.training.course.concluded:
                self.concluded.add(name)
                report = pipe.training.course.reports[-1]
                self._write_text(conclusion(name, report))
                if text := fullness(name, pipe.learner, report):
                    self._write_text(text)
                if needless := needless_components(self.nlp, name, pipe, report.left_out):
                    self._write_text(f"[{name}] The blocks that are left need no annotation by {listed(needless)}.")

    def _print(self, row: list[Any]) -> None:
        self._write_line(self.printer.row(row, widths=self.widths, aligns=self.aligns, spacing=SPACING))

    def _write_text(self, text: str) -> None:
        """Write a text, which a terminal would break within words."""
        self._write_line(textwrap.fill(text, get_terminal_size().columns) if self.stdout.isatty() else text)

    def _write_line(self, text: str) -> None:
        tqdm.write(text, file=self.stdout)  # above the progress bar
        self.stdout.flush()


def conclusion(name: str, report: Report) -> str:
    """The line that says what was chosen, and what dev scores are of."""
    refit = "" if report.refit is None else f", refit {report.refit:.2g}"
    chosen = f"[{name}] Chosen: {report.n_active:,} features, L1/max {report.l1_ratio:.5f}{refit}"
    chosen += f", temperature {report.temperature:.2f}"
    chosen += f", tilt {report.tilt:+.2f}" if round(report.tilt, 2) else ""
    if report.network_alpha is not None:
        chosen += ", without the network" if report.network is None else f", network {report.network_alpha:g}"
    if report.vectors_ridge is not None:
        chosen += ", without vectors" if report.vectors is None else f", vectors {report.vectors_ridge:g}"
    chosen += f", without {listed(report.left_out)}." if report.left_out else "."
    if not report.n_held_out:
        return chosen
    n_held_out = count(report.n_held_out, "document")
    if report.n_folds:
        how = f"{report.n_folds}-fold cross-validation on" if report.n_folds > 1 else "one held-out part of"
        return (
            f"{chosen} As dev is small, this was chosen by {how} train and dev, and trained on train and "
            f"{n_held_out} of dev; the scores are those of the model that dev chose, trained on train."
        )
    return f"{chosen} Trained again on train and {n_held_out} of dev; the scores are those before this training."


def fullness(name: str, learner: Any, report: Report) -> str | None:
    """The line that says that more features than are allowed may be better; None if that is not so."""
    most = learner.max_features if isinstance(learner, GraftingPath) else None
    if most is None or not report.n_held_out or report.n_active < NEAR * most:
        return None
    return (
        f"[{name}] The model has nearly all of the {most:,} features that max_features allows. More may be better: "
        f"--components.{name}.learner.max_features {3 * most}"
    )


def needless_components(nlp: Language, name: str, pipe: TextCatGraft, left_out: Collection[str]) -> list[str]:
    """The components before a graft component, if none of its blocks but those left out needs annotation."""
    names = nlp.pipe_names
    blank = Doc(nlp.vocab, words=["a"])

    def reads_blank(block: ReadingBlock) -> bool:
        try:
            block.check(blank)
        except ValueError:
            return False
        return True

    blocks = [(block, of) for of, block in pipe.blocks.items() if is_reading_block(block)]
    needing = {of for block, of in blocks if not reads_blank(block)}
    return names[: names.index(name)] if needing and needing <= set(left_out) else []


def cells(component: TextCatGraft) -> tuple[str, ...]:
    """The cells of a graft component, of its last step: l1 / l1_max, features, refit, log-loss on dev, relative gap."""
    reports = [] if component.training is None else component.training.course.reports
    report = reports[-1] if reports else component.report
    if report is None:
        return ("-",) * 5
    refit = "-" if report.refit is None else f"{report.refit:.2g}"
    log_loss = "-" if report.log_loss is None else f"{report.log_loss:.4f}"
    return f"{report.l1_ratio:.5f}", str(report.n_active), refit, log_loss, f"{report.relative_gap:.1e}"


def score_cell(name: str, score: Any) -> str:
    """A score in per cent; speed is no share and is shown as it is."""
    try:
        number = float(score)
    except TypeError:
        raise ValueError(
            f"The score {name!r} is a {type(score).__name__}, but the log table shows numbers only. Set its weight in "
            f"[training.score_weights] to null."
        ) from None
    return f"{number if name == 'speed' else 100.0 * number:.2f}"
