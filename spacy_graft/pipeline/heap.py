"""Training without collections of the garbage of others."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def frozen_heap() -> Iterator[None]:
    """Leave out of garbage collections what is in memory before.

    Training makes many small objects, the names of features above all. Python then looks through all that is in memory
    again and again, of which nearly everything is modules: a tenth of the time of a training. What the program has
    frozen itself stays so.
    """
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
