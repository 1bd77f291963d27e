"""Lengths of documents by their selected features: the squared L2 norm of a vector of inverse document frequencies."""

from __future__ import annotations

import numpy as np

#: The shortest length: documents without a selected feature have a document weight too.
SHORTEST = 1.0


def length_shares(df: np.ndarray, penalty_factors: np.ndarray, n_documents: int) -> np.ndarray:
    """Return what each feature adds to the length of a document that has it: (idf / penalty factor)².

    Parameters
    ----------
    df : int32 (n_features)
        Documents of the training corpus that have the feature.
    penalty_factors : float64 (n_features)
        Of the block of the feature.
    n_documents : int
        Documents of the training corpus.

    Returns
    -------
    float64 (n_features)
    """
    idf = np.log((1.0 + n_documents) / (1.0 + df))
    return np.square(idf / penalty_factors)


def bounded_lengths(sums: np.ndarray) -> np.ndarray:
    """Return the lengths of documents from the sums of what their features add."""
    return np.maximum(sums, SHORTEST)
