"""Hash tables of integers for the kernels of extraction and matching.

A table has int64 ``keys`` in the order of insertion, and in ``slots`` (int32, a power of two long, at most half full)
the row of each key: at the slot of its hash, or else at the next free one. The hash of a key is made of its bits alone:
most keys are hashes already (spaCy's strings) or neighbours (code points). Keys are signed, because numba computes
int64 with uint64 in float64.
"""

from __future__ import annotations

import numpy as np

#: A slot without a key; the row of a key that is not in the table.
EMPTY = -1


def empty_slots(n_keys: int) -> np.ndarray:
    """Return the slots of a table for ``n_keys`` keys: int32, 1-D."""
    return np.full(4 << max(n_keys - 1, 0).bit_length(), EMPTY, np.int32)


def signed(symbols: np.ndarray) -> np.ndarray:
    """Return symbols (uint32 or uint64) as keys of a table: int64, of the same 64 bits, not copied if they are."""
    return symbols.view(np.int64) if symbols.dtype == np.uint64 else symbols.astype(np.int64)
