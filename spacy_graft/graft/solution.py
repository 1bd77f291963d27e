"""The result of training, in the symbols of streams and bags."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..extract.bags import Vocabulary
from ..extract.terms import SymbolTerm

if TYPE_CHECKING:
    from ..vectors.word_scores import WordScores


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
    word_scores : WordScores, optional
        What words with a vector add to the scores of documents.
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
    word_scores: WordScores | None = None
