"""Progress of training and other long work on a component."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

    from ..graft.report import Report


def progress_bar(name: str) -> Progress:
    """A progress bar of a component on stderr, which is shown only if that is a terminal."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    return Progress(
        TextColumn(name),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )


def progress_text(report: Report) -> str:
    """The state of a fit, for the progress bar."""
    refit = "" if report.refit is None else f", refit {report.refit:g}"
    return (
        f"l1/l1_max {report.l1_ratio:.4f}, {report.rounds} rounds, {report.n_active:,} features, "
        f"gap {report.relative_gap:.0e}{refit}"
    )
