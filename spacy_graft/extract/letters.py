"""Texts as code points, and the words among them."""

from __future__ import annotations

import numpy as np

from .streams import Stream


def code_points(text: str) -> np.ndarray:
    """Return the code points of a string: uint32, 1-D."""
    return np.frombuffer(text.encode("utf-32-le"), np.dtype("<u4"))


def framed_words(text: Stream) -> tuple[Stream, np.ndarray]:
    """Words with a space on either side and breaks between, and the position of each symbol in ``text.symbols``."""
    from . import kernels

    symbols = np.empty(3 * len(text.symbols), np.uint32)
    places = np.empty(len(symbols), np.int32)
    starts = np.empty(len(text.starts), np.int64)
    # What is read from bytes is read-only, and would be compiled for once more.
    given = text.symbols if text.symbols.flags.writeable else text.symbols.copy()
    kernels.frame_words(given, text.starts, symbols, places, starts)
    # Copies, so that a corpus does not keep arrays of three times its text.
    return Stream(symbols[: starts[-1]].copy(), starts), places[: starts[-1]]
