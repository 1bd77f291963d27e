"""The choice among candidates: which candidate of each group is the correct one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .graft.memory import require_memory_for
from .graft.report import Report
from .graft.settings import Grafting, GraftingPath
from .item_model import (
    ItemFeature,
    ItemSpace,
    ScoringModel,
    Space,
    by_falling_weight,
    example_weights,
    finished_fit,
)
from .matrices import is_matrix
from .messages import listed
from .metrics import grouped_softmax

if TYPE_CHECKING:
    from .extract.blocks import Block

#: Groups that a message names.
MOST_NAMED = 3


@dataclass(frozen=True)
class CandidateFeature(ItemFeature):
    """A feature of the ranker: its names, document frequency and weight.

    Attributes
    ----------
    weight : float
        What the feature with value 1 adds to the score of a candidate.
    """

    weight: float


@dataclass(frozen=True)
class CandidateContribution:
    """The contribution of a feature to the score of a candidate.

    Attributes
    ----------
    feature : CandidateFeature
    value : float
        Of the feature in the candidate, times the document weight.
    contribution : float
        Weight times value.
    """

    feature: CandidateFeature
    value: float
    contribution: float


@dataclass(frozen=True)
class CandidateExplanation:
    """The score of a candidate, which is the sum of its contributions.

    Attributes
    ----------
    group : hashable
    probability : float
        Within the group.
    score : float
        Only differences to other candidates of the group count.
    contributions : tuple of CandidateContribution
        By falling absolute value.
    """

    group: Hashable
    probability: float
    score: float
    contributions: tuple[CandidateContribution, ...]


class GraftRanker:
    """A sparse log-linear choice among the candidates of each group (Riezler & Vasserman 2004).

    The probability of a candidate is a softmax, over its group, of the sum of its features' weights: one weight for
    each feature, and no intercept. Candidates are items, rows of a matrix, texts or Docs; combinations are searched
    implicitly.

    Parameters
    ----------
    learner : Grafting or GraftingPath
        The learner: at one L1 strength, without L1, or along a path (the last point is the model). ``balance`` has no
        effect. By default ``Grafting(l1=1.0)``.
    degree : int
        For items and matrices. 1: items only. 2 or 3: also combinations of at most this many items.
    min_df : int
        For items and matrices: least number of candidates of an item or combination.
    combination_penalty_factor : float
        For items and matrices: factor of the penalty weights of combinations. Above 1, items are preferred to them.
    blocks : mapping of str to block, optional
        Blocks of features by name, of any kind. Candidates are then texts or Docs, and the three options above are set
        in the blocks.

    Attributes
    ----------
    report : Report
        The training report: objective, duality gap over the whole space, seconds.

    Examples
    --------
    >>> from spacy_graft import GraftRanker, Grafting
    >>> candidates = [["cheap", "near"], ["cheap", "far"], ["dear", "near"], ["dear", "far"]] * 5
    >>> chosen = [1, 0, 0, 0] * 5
    >>> hotels = [town for town in range(5) for _ in range(4)]
    >>> model = GraftRanker(Grafting(l1=0.5)).fit(candidates, chosen, hotels)
    >>> model.rank([["dear", "near"], ["cheap", "near"], ["dear", "far"]], ["X", "X", "X"])
    [array([1, 0, 2])]
    """

    def __init__(
        self,
        learner: Grafting | GraftingPath | None = None,
        *,
        degree: int = 1,
        min_df: int = 1,
        combination_penalty_factor: float = 1.0,
        blocks: Mapping[str, Block] | None = None,
    ) -> None:
        self.learner = Grafting(l1=1.0) if learner is None else learner
        if not isinstance(self.learner, Grafting | GraftingPath):
            raise ValueError(f"GraftRanker: learner must be a Grafting or a GraftingPath, but is {learner!r}")
        self.degree = degree
        self.min_df = min_df
        self.combination_penalty_factor = combination_penalty_factor
        self.blocks = blocks
        self._space: Space = ItemSpace("GraftRanker", degree, min_df, combination_penalty_factor)
        if blocks is not None:
            if (degree, min_df, combination_penalty_factor) != (1, 1, 1.0):
                raise ValueError(
                    "GraftRanker: with blocks, degree, min_df and combination_penalty_factor are options of the blocks."
                )
            from .pipeline.doc_model import DocSpace

            self._space = DocSpace("GraftRanker", blocks, self.learner)
        self.report = Report()
        self._model: ScoringModel | None = None

    def fit(
        self,
        X: Any,
        y: Iterable[float],
        groups: Iterable[Hashable],
        *,
        names: Sequence[str] | None = None,
        sample_weight: Sequence[float] | np.ndarray | None = None,
    ) -> GraftRanker:
        """Train until the learner's tolerance is met.

        Parameters
        ----------
        X : sparse or dense matrix, or iterable
            Values of the items, in [0, 1]: (n_candidates, n_items). Or for each candidate a collection of names, whose
            values are 1, or a mapping of names to values. With ``blocks``, a text or a Doc for each candidate.
        y : iterable of float
            For each candidate, whether it is the correct one of its group: 1 or True, else 0. Several correct
            candidates share the target; other numbers are their shares, in any unit.
        groups : iterable of hashable
            The group of each candidate, in any order. A group of one candidate says nothing.
        names : sequence of str, optional
            Names of the columns of a matrix; by default their numbers.
        sample_weight : sequence of float, optional
            How much a group counts, above 0; given for each candidate, and the same for all candidates of a group.

        Returns
        -------
        GraftRanker
            The ranker itself.

        Raises
        ------
        ValueError
            If the numbers of candidates, targets and groups differ, a group has no correct candidate or several
            weights, no group has two candidates, or a value is outside [0, 1].
        """
        candidates = self._space.learn(X, names)
        grouped = Groups(groups, n_candidates(candidates))
        shares = grouped.shares(np.asarray(list(y)))
        weights = grouped.weights(sample_weight)
        require_memory_for(len(shares), 1, exclusive=False)
        order = grouped.order
        data = self._space.training_data(
            candidates[order] if is_matrix(candidates) else [candidates[i] for i in order],
            targets=shares[order, None],
            known=np.ones((len(order), 1), np.bool_),
            example_weights=weights[order],
            labels=("correct",),
            exclusive=False,
            groups=grouped.numbers[order],
        )
        fit = finished_fit(self.learner, data)
        self.report = fit.report
        self._model = self._space.model(fit.solution(), candidates)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of candidates: float64 (n_candidates). Only differences within a group count."""
        return self._fitted().scores(self._space.read(X))[:, 0]

    def predict_proba(self, X: Any, groups: Iterable[Hashable]) -> np.ndarray:
        """Return the probability of each candidate within its group: float64 (n_candidates)."""
        scores = self.decision_function(X)
        return grouped_softmax(scores, Groups(groups, len(scores)).numbers)

    def predict(self, X: Any, groups: Iterable[Hashable]) -> np.ndarray:
        """Return whether each candidate is the best of its group, of equals the first: bool (n_candidates)."""
        scores = self.decision_function(X)
        best = [rows[0] for rows in Groups(groups, len(scores)).ranked(scores)]
        chosen = np.zeros(len(scores), np.bool_)
        chosen[np.array(best, np.int64)] = True
        return chosen

    def rank(self, X: Any, groups: Iterable[Hashable]) -> list[np.ndarray]:
        """Return the rows of each group's candidates, the best first; groups are in the order of their first candidate.

        Returns
        -------
        list of int64 (candidates of the group)
        """
        scores = self.decision_function(X)
        return Groups(groups, len(scores)).ranked(scores)

    def explain(self, X: Any, groups: Iterable[Hashable]) -> list[CandidateExplanation]:
        """Explain the score of each candidate by its features."""
        model, candidates = self._fitted(), self._space.read(X)
        grouped = Groups(groups, n_candidates(candidates))
        scores = model.scores(candidates)[:, 0]
        probabilities = grouped_softmax(scores, grouped.numbers).tolist()
        features = self._named_features(model)
        return [
            CandidateExplanation(grouped.names[grouped.numbers[i]], probabilities[i], float(scores[i]), parts)
            for i, parts in enumerate(contributions_of(features, *found) for found in model.contributions(candidates))
        ]

    def features(self) -> list[CandidateFeature]:
        """Return the features of the model, by falling absolute weight."""
        if self._model is None:
            return []
        features = self._named_features(self._model)
        return [features[k] for k in by_falling_weight(self._model.weights)]

    def _named_features(self, model: ScoringModel) -> list[CandidateFeature]:
        """The features in the order of the model's weights."""
        weights = model.weights[:, 0].tolist()
        return [CandidateFeature(f.names, f.df, weight) for f, weight in zip(model.features(), weights, strict=True)]

    def _fitted(self) -> ScoringModel:
        if self._model is None:
            raise ValueError("The model has not been fitted yet: call fit first.")
        return self._model


class Groups:
    """Which candidates belong together.

    Parameters
    ----------
    groups : iterable of hashable
        The group of each candidate.
    n : int
        Number of candidates.

    Attributes
    ----------
    names : list of hashable
        The groups, in the order of their first candidate.
    numbers : int32 (n)
        The place of each candidate's group among them.
    order : int64 (n)
        The candidates group by group.
    starts : int64 (groups)
        Where each group begins in ``order``.

    Raises
    ------
    ValueError
        If there is not one group for each candidate, or one is not hashable.
    """

    def __init__(self, groups: Iterable[Hashable], n: int) -> None:
        places: dict[Hashable, int] = {}
        try:
            values = groups.tolist() if isinstance(groups, np.ndarray) else groups
            numbers = [places.setdefault(group, len(places)) for group in values]
        except TypeError as error:
            raise ValueError(f"groups must have a hashable value for each candidate: {error}.") from error
        if len(numbers) != n:
            raise ValueError(
                f"There are {n:,} candidates, but groups has {len(numbers):,} values: give the group of each candidate."
            )
        self.names = list(places)
        self.numbers = np.array(numbers, np.int32)
        self.order = np.argsort(self.numbers, kind="stable")
        self.starts = np.searchsorted(self.numbers[self.order], np.arange(len(places)))

    def shares(self, y: np.ndarray) -> np.ndarray:
        """Return the targets, which sum to 1 in each group: float64 (n). A ValueError says what is wrong with them."""
        n = len(self.numbers)
        if len(y) != n:
            raise ValueError(f"There are {n:,} candidates, but y has {len(y):,} values.")
        if y.dtype.kind not in "biuf" or y.ndim != 1 or not (np.isfinite(y) & (y >= 0)).all():
            raise ValueError("y must have a number of at least 0 for each candidate: 1 if it is correct, else 0.")
        totals = np.bincount(self.numbers, y, len(self.names))
        if (totals == 0.0).any():
            wrong = np.flatnonzero(totals == 0.0)
            raise ValueError(
                f"{len(wrong):,} of {len(totals):,} groups have no correct candidate, among them "
                f"{listed(self.names[g] for g in wrong[:MOST_NAMED])}: add the correct one, or leave the group out."
            )
        if len(self.names) == n:
            raise ValueError("There is nothing to choose: no group has two candidates.")
        return np.asarray(y / totals[self.numbers])

    def weights(self, sample_weight: Sequence[float] | np.ndarray | None) -> np.ndarray:
        """Return the weight of each candidate's group: float64 (n)."""
        weights = example_weights(sample_weight, len(self.numbers))
        first = self.order[self.starts][self.numbers]
        if (weights != weights[first]).any():
            group = self.names[self.numbers[np.flatnonzero(weights != weights[first])[0]]]
            raise ValueError(f"sample_weight must be the same for all candidates of a group, but not in {group!r}.")
        return weights

    def ranked(self, scores: np.ndarray) -> list[np.ndarray]:
        """Return the candidates of each group by falling score, of equals the first first: int64."""
        best_first = np.lexsort((-scores, self.numbers))
        return np.split(best_first, self.starts[1:]) if len(self.names) else []


def n_candidates(candidates: Any) -> int:
    """Return the number of candidates: rows of a matrix, or Docs."""
    return int(candidates.shape[0]) if is_matrix(candidates) else len(candidates)


def contributions_of(
    features: Sequence[CandidateFeature], rows: np.ndarray, values: np.ndarray
) -> tuple[CandidateContribution, ...]:
    """Return the contributions of the features that a candidate has, which are given with their values."""
    parts = [
        CandidateContribution(features[k], value, features[k].weight * value)
        for k, value in zip(rows.tolist(), values.tolist(), strict=True)
    ]
    return tuple(sorted(parts, key=lambda part: -abs(part.contribution)))
