"""Progress of training and other long work on a component."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

if TYPE_CHECKING:
    from rich.progress import Progress
    from tqdm import tqdm

    from ..graft.report import Report

#: Seconds between two updates of the elapsed time of a bar of steps.
TICK = 1.0
#: The width of a bar.
BAR_CHARACTERS = 16
#: Bars that are, or have been, on the terminal.
_bars: WeakSet[Progress] = WeakSet()


def ticking(bar: tqdm[Any]) -> Callable[[], None]:
    """Update the elapsed time of a bar between its steps, which can take minutes; returns what ends and closes it.

    While another bar is on the terminal, it would be written over, and tells enough.
    """
    if bar.disable:
        return bar.close
    ended = threading.Event()

    def tick() -> None:
        while not ended.wait(TICK):
            if not any(other.live.is_started for other in list(_bars)):
                bar.refresh()

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()

    def close() -> None:
        ended.set()
        thread.join()
        bar.close()

    return close


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
    from rich.table import Column

    console = Console(stderr=True)
    bar = Progress(
        TextColumn(name),
        BarColumn(bar_width=BAR_CHARACTERS),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        # It has the rest of the line: in a narrow terminal it is cut, and not the others.
        TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
        expand=True,
        console=console,
        disable=not console.is_terminal,
    )
    _bars.add(bar)
    return bar


def progress_text(report: Report) -> str:
    """The state of a fit, for the progress bar."""
    refit = "" if report.refit is None else f", refit {report.refit:g}"
    return (
        f"{report.n_active:,} features, l1/l1_max {report.l1_ratio:.4f}, {report.rounds} rounds, "
        f"gap {report.relative_gap:.0e}{refit}"
    )
