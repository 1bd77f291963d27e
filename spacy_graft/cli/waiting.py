"""A sign of life from what takes long."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

#: Seconds without one, and documents between two changes of it.
PATIENCE, STEP = 2.0, 100


@contextmanager
def waiting(text: str) -> Iterator[Callable[[str], None]]:
    """Say on standard error what is being done, if that is a terminal and it takes more than two seconds.

    Yields what changes the text.
    """
    from rich.console import Console
    from rich.text import Text

    status = Console(stderr=True, quiet=not sys.stderr.isatty()).status(Text(text))
    timer = threading.Timer(PATIENCE, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda new: status.update(Text(new))
    finally:
        timer.cancel()
        timer.join()
        status.stop()


def counted(items: Iterable[T], tell: Callable[[str], None], what: str) -> Iterator[T]:
    """The items, with their number told from time to time."""
    for number, item in enumerate(items, start=1):
        if number % STEP == 0:
            tell(f"{number:,} {what}")
        yield item
