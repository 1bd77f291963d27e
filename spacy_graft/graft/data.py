"""What training needs of a corpus, without spaCy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..extract.streams import Stream


@dataclass(frozen=True)
class TrainingData:
    """Streams and targets of n documents.

    Attributes
    ----------
    streams : dict of str to Stream
        By the name of the block.
    min_df : dict of str to int
        Least number of documents of a feature, by block.
    max_length : dict of str to int or None
        Longest n-gram, by block.
    penalty : dict of str to float
        Factor of λ, by block.
    targets : float64 (n, labels)
        q_iy in [0, 1].
    known : bool (n, labels)
        False where a document says nothing of a label (several labels only).
    example_weights : float64 (n)
        s_i.
    lengths : float64 (n)
        What document weights are made of: distinct words of each document, at least 1.
    labels : tuple of str
    exclusive : bool
    """

    streams: dict[str, Stream]
    min_df: dict[str, int]
    max_length: dict[str, int | None]
    penalty: dict[str, float]
    targets: np.ndarray
    known: np.ndarray
    example_weights: np.ndarray
    lengths: np.ndarray
    labels: tuple[str, ...]
    exclusive: bool

    @property
    def n_documents(self) -> int:
        return len(self.targets)
