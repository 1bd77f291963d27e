"""Lengths of documents by their selected features: the squared L2 norm of their tf-idf vector over these features."""

from __future__ import annotations

import numpy as np

#: The shortest length: documents without a selected feature have a document weight too.
LEAST_LENGTH = 1.0


def length_shares(df: np.ndarray, n_documents: int) -> np.ndarray:
    """Return what each feature adds to the length of a document in which its value is 1: its squared idf.

    Parameters
    ----------
    df : int32 (n_features)
        Documents of the training corpus that have the feature.
    n_documents : int
        Documents of the training corpus.

    Returns
    -------
    float64 (n_features)
        At least 1.
    """
    return np.square(np.log((1.0 + n_documents) / (1.0 + df)) + 1.0)


def bounded_lengths(sums: np.ndarray) -> np.ndarray:
    """Return the lengths of documents, from the sums of what their features add."""
    return np.maximum(sums, LEAST_LENGTH)
