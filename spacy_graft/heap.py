"""The memory of trainings and models: no collections of the garbage of others, and freed memory given back."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

#: Not empty while the heap is frozen here.
OURS: list[bool] = []
#: More objects than are frozen when Python 3.12 starts (375), and fewer than any program has that freezes its own.
OF_PYTHON = 2_000


@contextmanager
def frozen_heap() -> Iterator[None]:
    """Leave out of garbage collections what is in memory before.

    Training and loading make many small objects, the names of features above all. Python then looks through all that
    is in memory again and again, of which nearly everything is modules: a tenth of the time of a training, and half of
    that of reading a model. What the program has frozen itself stays so.
    """
    # Python counts what is frozen object by object, which takes longer than many a step inside of another.
    if OURS or gc.get_freeze_count() > OF_PYTHON:
        yield
        return
    gc.freeze()
    OURS.append(True)
    try:
        yield
    finally:
        OURS.clear()
        gc.unfreeze()


@contextmanager
def no_collections() -> Iterator[None]:
    """Collect no garbage while many small objects are made, all of which are kept.

    The explanation of a page is ten thousand of them. Of a hundred pages, Python would spend two thirds of the time on
    looking through those that are there.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def trim_heap() -> None:
    """Give back to the system what has been freed, where the C library keeps it for itself.

    glibc does: arrays of single documents, and those of a fit that is over, would be part of the peak of the next fit.
    """
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)
