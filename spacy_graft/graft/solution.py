"""The result of training, in the symbols of the streams."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Solution:
    """Named features and their weights.

    Attributes
    ----------
    blocks : list of str
        The block of each feature.
    ngrams, longest : list of arrays
        Shortest and longest n-gram of each feature's class, in the symbols of the block's stream.
    df : int32 (features)
        Documents of the training corpus that hold the feature.
    weights : float64 (features, labels)
        Of two exclusive labels the first has -w/2 and the second w/2: only the difference counts, and so it is
        cheapest under L1 and ridge alike.
    intercepts : float64 (labels)
    mean_scale : float
        Document weights are ``mean_scale / sqrt(length)``; 0 where they are all 1.
    """

    blocks: list[str]
    ngrams: list[np.ndarray]
    longest: list[np.ndarray]
    df: np.ndarray
    weights: np.ndarray
    intercepts: np.ndarray
    mean_scale: float
