"""Progress of long-running commands, on standard error and only if that is a terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from .texts import TextLines

Element = TypeVar("Element")

#: Seconds before a status line appears, and number of documents between two updates of it.
STATUS_DELAY, UPDATE_INTERVAL = 2.0, 100


@contextmanager
def status_line(text: str) -> Iterator[Callable[[str], None]]:
    """Show a status line if the block takes more than two seconds; yields a function that changes the text."""
    from rich.console import Console
    from rich.text import Text

    status = Console(stderr=True, quiet=not sys.stderr.isatty()).status(Text(text))
    timer = threading.Timer(STATUS_DELAY, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda new: status.update(Text(new))
    finally:
        timer.cancel()
        timer.join()
        status.stop()


def with_count(elements: Iterable[Element], update: Callable[[str], None], unit: str) -> Iterator[Element]:
    """Yield the elements and update a status line with their number."""
    for number, element in enumerate(elements, start=1):
        if number % UPDATE_INTERVAL == 0:
            update(f"{number:,} {unit}")
        yield element


@contextmanager
def text_progress(source: TextLines) -> Iterator[Callable[[], None]]:
    """Show a progress bar over lines of texts; yields a function to call after each text."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.fields[n]:,} texts"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    # Standard output is not redirected, because rich would buffer it.
    with Progress(
        *columns,
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
        redirect_stdout=False,
        redirect_stderr=True,
    ) as bar:
        task = bar.add_task("", total=source.total_bytes, n=0)
        n = 0

        def advance() -> None:
            nonlocal n
            n += 1
            bar.update(task, completed=source.n_bytes, n=n)

        yield advance
