"""Keys of columns: one number for each, the same for equal columns of all indexes over the same documents.

A column's key is the sum of a random number a document, modulo 2⁶⁴; where the value is not 1, it is first multiplied by
a hash of that. Two of m columns that differ have the same key with a probability of m² / 2⁶⁵. Sums are those of 64-bit
integers, which wrap around: they are exact whatever is added and taken away on the way.
"""

from __future__ import annotations

import numpy as np

#: The golden ratio's bits: multiplied by it, a number is spread over all 64.
GOLDEN = -7046029254386353131
#: The bits of the number 1.
ONE = int(np.float64(1.0).view(np.int64))


def column_numbers(n_documents: int) -> np.ndarray:
    """What each document adds to the key of a column that it is in: int64 (n_documents), over their whole range."""
    whole_range = np.iinfo(np.int64)
    return np.random.default_rng(20091).integers(whole_range.min, whole_range.max, n_documents, endpoint=True)
