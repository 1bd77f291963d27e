"""The result of training, in the symbols of streams and bags."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from ..adjustment import Adjustment
from ..extract.bags import Vocabulary
from ..extract.terms import FeatureTerms

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from ..vectors.word_scores import WordScores


class StabilityFields(TypedDict):
    """What a named feature says of its stability: nothing, or its selection probability, and intervals by label."""

    stability: float | None
    intervals: dict[Any, tuple[float, float]] | None


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

    def check_shape(self, n_features: int, n_labels: int) -> None:
        """Raise a ValueError unless it is of so many features and labels."""
        shapes = self.probabilities.shape, self.intervals.shape
        if shapes != ((n_features,), (n_features, n_labels, 2)):
            raise ValueError(
                f"The model has {n_features} features and {n_labels} labels, but the shapes of its selection "
                f"probabilities and intervals are {shapes[0]} and {shapes[1]}: they do not belong together."
            )

    def some(self, kept: np.ndarray) -> Stability:
        """That of some of the features (bool)."""
        return Stability(self.probabilities[kept], self.intervals[kept])

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
    terms, longest : FeatureTerms
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
    stability : Stability, optional
    """

    blocks: list[str]
    terms: FeatureTerms
    longest: FeatureTerms
    df: np.ndarray
    weights: np.ndarray | csr_array
    intercepts: np.ndarray
    mean_scale: float
    vocabularies: dict[str, Vocabulary] = field(default_factory=dict)
    length_shares: np.ndarray = field(default_factory=partial(np.zeros, 0))
    word_scores: WordScores | None = None
    stability: Stability | None = None

    def adjusted(self, adjustment: Adjustment, shares: np.ndarray) -> Solution:
        """The same features, with adjusted scores; ``shares``: those of labels among the training documents."""
        return replace(self, **adjusted_parts(self, adjustment, shares))


def adjusted_parts(model: Any, adjustment: Adjustment, shares: np.ndarray) -> dict[str, Any]:
    """The parts of a solution, or of what it became, that adjusted scores follow from."""
    divisor = adjustment.temperature
    return {
        "weights": model.weights / divisor,
        "intercepts": adjustment.of(model.intercepts, shares),
        "word_scores": None if model.word_scores is None else model.word_scores.divided(divisor),
        "stability": None if model.stability is None else model.stability.divided(divisor),
    }


def stability_of(stability: Stability | None, feature: int, labels: Iterable[Any]) -> StabilityFields:
    """What is known of the stability of a feature."""
    if stability is None:
        return {"stability": None, "intervals": None}
    low_and_high = [(low, high) for low, high in stability.intervals[feature].tolist()]
    return {
        "stability": float(stability.probabilities[feature]),
        "intervals": dict(zip(labels, low_and_high, strict=True)),
    }
