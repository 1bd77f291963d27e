"""Hash tables of integers, as the kernels of extraction and matching read them.

A table keeps int64 keys in ``keys``, in the order in which they came, and in ``slots`` (int32, a power of two long, at
most half full) the row of each key: at the slot that is its hash, or else the next free one. The hash of a key is the
key, which is a hash already (spaCy's strings) or one of few neighbours (code points). Keys are signed, because numba
makes float64 of int64 with uint64.
"""

from __future__ import annotations

import numpy as np

#: No key has this slot; there is no row of this key.
EMPTY = -1


def empty_slots(n_keys: int) -> np.ndarray:
    """Return the slots of a table that is to hold ``n_keys`` keys: int32, 1-D."""
    return np.full(4 << max(n_keys - 1, 0).bit_length(), EMPTY, np.int32)


def signed(symbols: np.ndarray) -> np.ndarray:
    """Return symbols (uint32 or uint64) as keys of a table: int64, of the same 64 bits, not copied if they are."""
    return symbols.view(np.int64) if symbols.dtype == np.uint64 else symbols.astype(np.int64)
