"""Fingerprints: one number for each column, the same for equal columns of all indexes over the same documents.

A column's key is the sum of a random number a document, modulo 2⁶⁴; where the value is not 1, it is first multiplied by
a hash of that. Two of m columns that differ have the same key with a probability of m² / 2⁶⁵.
"""

from __future__ import annotations

import numpy as np

#: The golden ratio's bits: multiplied by it, a number is spread over all 64.
GOLDEN = -7046029254386353131
#: The bits of the number 1.
ONE = int(np.float64(1.0).view(np.int64))


def fingerprint_numbers(n_documents: int) -> np.ndarray:
    """Two random whole numbers a document, small enough that their sums are exact in float64.

    Two columns with different documents agree in both sums with a probability under 2⁻⁶⁴ at 10⁵ documents.
    """
    bits = 52 - max(n_documents, 1).bit_length()
    return np.random.default_rng(20091).integers(0, 2**bits, (n_documents, 2)).astype(np.float64)


def folded(sums: np.ndarray) -> np.ndarray:
    """The two sums of each column (n, 2) in one key: int64 (n). It wraps around, and so adds up over documents."""
    whole = sums.astype(np.int64)
    return whole[:, 0] * np.int64(GOLDEN) + whole[:, 1]


def column_numbers(n_documents: int) -> np.ndarray:
    """What each document adds to the key of a column that it is in: int64 (n_documents)."""
    return folded(fingerprint_numbers(n_documents))
