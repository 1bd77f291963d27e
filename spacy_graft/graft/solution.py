"""The result of training, in the symbols of streams and bags."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from ..extract.bags import Vocabulary
from ..extract.terms import SymbolTerm


@dataclass(frozen=True, eq=False)
class Stability:
    """What resampling says of the features of a model (:mod:`spacy_graft.graft.stability`).

    Attributes
    ----------
    probabilities : float64 (features)
        Share of the half samples that select the feature.
    intervals : float64 (features, labels, 2)
        The least and the largest weight in 90% of the bootstrap samples.
    """

    probabilities: np.ndarray
    intervals: np.ndarray

    def divided(self, divisor: float) -> Stability:
        """That of the features with their weights divided by a number."""
        return replace(self, intervals=self.intervals / divisor)


@dataclass(frozen=True)
class Solution:
    """Named features and their weights.

    Attributes
    ----------
    blocks : list of str
        The block of each feature.
    terms, longest : list of tuples of Term
        What each feature is: one n-gram or item, or those whose product it is. An n-gram is the shortest of its class,
        or the longest.
    df : int32 (features)
        Documents of the training corpus that hold the feature.
    weights : float64 (features, labels)
        Of two exclusive labels the first has -w/2 and the second w/2: only the difference counts, and so it is
        cheapest under L1 and ridge alike.
    intercepts : float64 (labels)
    mean_scale : float
        Document weights are ``mean_scale / sqrt(length)``; 0 where they are all 1.
    vocabularies : dict of str to Vocabulary
        Of the blocks whose items' values depend on one.
    length_shares : float64 (features)
        What each feature adds to the length of a document (:mod:`spacy_graft.extract.feature_lengths`). Empty where
        lengths are numbers of distinct words.
    stability : Stability, optional
    """

    blocks: list[str]
    terms: list[tuple[SymbolTerm, ...]]
    longest: list[tuple[SymbolTerm, ...]]
    df: np.ndarray
    weights: np.ndarray
    intercepts: np.ndarray
    mean_scale: float
    vocabularies: dict[str, Vocabulary] = field(default_factory=dict)
    length_shares: np.ndarray = field(default_factory=partial(np.zeros, 0))
    stability: Stability | None = None
