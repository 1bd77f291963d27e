"""The choice among candidates: which candidate of each group is the correct one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from .class_targets import require_targets
from .estimator_files import checked_values
from .graft.emptiness import warn_if_empty
from .graft.memory import require_memory_for
from .graft.settings import Grafting, GraftingPath
from .item_model import (
    FeatureEstimator,
    ItemFeature,
    ItemSpace,
    ScoringModel,
    Space,
    by_falling_weight,
    example_weights,
    finished_fit,
    n_documents,
    warn_of_unused_options,
    warn_unless_converged,
)
from .matrices import is_real_number, numbered_groups
from .messages import listed, warn
from .metrics import grouped_softmax
from .options import LARGEST_VALUE
from .threads import limited_threads

if TYPE_CHECKING:
    from .extract.blocks import Block


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


class GraftRanker(FeatureEstimator):
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
    coef_ : sparse array (1, n_columns)
        Weights, in the order of ``get_feature_names_out``. Trained on a matrix, its columns come first, also those that
        are not in the model, then the combinations of the model. Otherwise the features of the model.
    report_ : Report
        The training report: objective, duality gap over the whole space, seconds. Also as ``report``.
    n_features_in_ : int
        Columns of the matrix, if the model was trained on one.
    feature_names_in_ : array of str
        Names of its columns, if it was a DataFrame with names.

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
        self.learner = learner
        self.degree = degree
        self.min_df = min_df
        self.combination_penalty_factor = combination_penalty_factor
        self.blocks = blocks

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = self.blocks is None
        tags.input_tags.positive_only = self.degree != 1
        tags.input_tags.two_d_array = self.blocks is None
        tags.input_tags.string = self.blocks is not None
        return tags

    def _checked_learner(self) -> Grafting | GraftingPath:
        learner = self._learner_or_default()
        if not isinstance(learner, Grafting | GraftingPath):
            raise ValueError(f"GraftRanker: learner must be a Grafting or a GraftingPath, but is {learner!r}")
        return learner

    def _own_space(self) -> Space:
        own = (self.degree, self.min_df, self.combination_penalty_factor)
        if self.blocks is None:
            return ItemSpace("GraftRanker", *own)
        blocks: Any = self.blocks
        if not isinstance(blocks, Mapping) or not all(isinstance(name, str) and name for name in blocks):
            raise ValueError(
                f"GraftRanker: blocks must be a mapping of names to feature blocks, such as "
                f'{{"words": TokenNgrams()}}, but is {blocks!r}.'
            )
        if not self.blocks:
            raise ValueError("GraftRanker: blocks are empty. Give at least one, or None if candidates have items.")
        if own != (1, 1, 1.0):
            raise ValueError(
                "GraftRanker: with blocks, degree, min_df and combination_penalty_factor are options of the blocks."
            )
        from .pipeline.doc_model import DocSpace

        return DocSpace("GraftRanker", self.blocks, self._checked_learner())

    def _saved_labels(self) -> dict[str, Any]:
        return {"n_groups": self._n_groups}

    def _restore_labels(self, labels: dict[str, Any]) -> int:
        (self._n_groups,) = checked_values(labels, n_groups=int)
        return 1

    def fit(
        self,
        X: Any,
        y: Iterable[float],
        groups: Iterable[Hashable] | None = None,
        *,
        names: Sequence[str] | None = None,
        sample_weight: Sequence[float] | np.ndarray | None = None,
    ) -> GraftRanker:
        """Train until the learner's tolerance is met.

        Parameters
        ----------
        X : sparse or dense matrix, or iterable
            Values of the items: (n_candidates, n_items). Or for each candidate a collection of names, whose values are
            1, or a mapping of names to values. With combinations, values are in [0, 1]. With ``blocks``, a text or a
            Doc for each candidate.
        y : iterable of float
            For each candidate, whether it is the correct one of its group: 1 or True, else 0. Several correct
            candidates share the target; other numbers are their shares, in any unit.
        groups : iterable of hashable, optional
            The group of each candidate, in any order; by default all are of one, with a warning if several of them are
            correct. A group of one candidate says nothing.
        names : sequence of str, optional
            Names of the columns of a matrix; by default those of a DataFrame, or their numbers.
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
            weights, no group has two candidates, or a value is not finite, or with combinations outside [0, 1].
        """
        learner, space = self._checked_learner(), self._own_space()
        warn_of_unused_options("GraftRanker", learner, False)
        candidates = space.learn(X, names)
        grouped = Groups(groups, n_documents(candidates))
        shares = grouped.shares(targets_of(y))
        grouped.require_a_choice()
        if groups is None and (n_correct := np.count_nonzero(shares)) > 1:
            warn(
                f"GraftRanker is trained without groups: all {len(shares):,} candidates, of which {n_correct:,} are "
                f"correct, are taken for one group. Give groups: scikit-learn needs metadata routing to pass them on. "
                f"If there is only one, give the same for each candidate."
            )
        weights = grouped.weights(sample_weight)
        require_memory_for(len(shares), 1, exclusive=False)
        order = grouped.order
        data = space.training_data(
            space.some(candidates, order),
            targets=shares[order, None],
            known=np.ones((len(order), 1), np.bool_),
            example_weights=weights[order],
            labels=("correct",),
            exclusive=False,
            groups=grouped.numbers[order],
        )
        with limited_threads("blas"):
            fit = finished_fit(learner, data)
        warn_if_empty(learner, fit.report, data.n_documents, self.learner is None)
        warn_unless_converged("GraftRanker", learner, fit.report)
        self._set_fitted(space, space.model(fit.solution(), candidates), fit.report, _n_groups=len(grouped.names))
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of candidates: float64 (n_candidates). Only differences within a group count."""
        return self._fitted().scores(self._space.read(X))[:, 0]

    def predict_proba(self, X: Any, groups: Iterable[Hashable] | None = None) -> np.ndarray:
        """Return the probability of each candidate within its group: float64 (n_candidates)."""
        scores = self.decision_function(X)
        return grouped_softmax(scores, Groups(groups, len(scores)).numbers)

    def predict(self, X: Any, groups: Iterable[Hashable] | None = None) -> np.ndarray:
        """Return whether each candidate is the best of its group, of equals the first: bool (n_candidates)."""
        scores = self.decision_function(X)
        chosen = np.zeros(len(scores), np.bool_)
        chosen[Groups(groups, len(scores)).best(scores)] = True
        return chosen

    def rank(self, X: Any, groups: Iterable[Hashable] | None = None) -> list[np.ndarray]:
        """Return the rows of each group's candidates, the best first; groups are in the order of their first candidate.

        Returns
        -------
        list of int64 (candidates of the group)
        """
        scores = self.decision_function(X)
        return Groups(groups, len(scores)).ranked(scores)

    def score(
        self, X: Any, y: Iterable[float], groups: Iterable[Hashable] | None = None, sample_weight: Any = None
    ) -> float:
        """Return the share of groups whose best candidate is correct: its ``y`` is above 0."""
        scores = self.decision_function(X)
        if groups is None and len(scores) > 1 and self._n_groups > 1:
            warn(
                f"GraftRanker was trained on {self._n_groups:,} groups, but is scored without groups: all "
                f"{len(scores):,} candidates are taken for one group. Give groups; scikit-learn needs metadata routing "
                f"to pass them on."
            )
        grouped = Groups(groups, len(scores))
        right = grouped.shares(targets_of(y)) > 0.0
        if not len(right):
            raise ValueError("There are no candidates to score: X is empty.")
        best = grouped.best(scores)
        return float(np.average(right[best], weights=grouped.weights(sample_weight)[best]))

    def explain(self, X: Any, groups: Iterable[Hashable] | None = None) -> list[CandidateExplanation]:
        """Explain the score of each candidate by its features."""
        model, candidates = self._fitted(), self._space.read(X)
        grouped = Groups(groups, n_documents(candidates))
        scores = model.scores(candidates)[:, 0]
        probabilities = grouped_softmax(scores, grouped.numbers).tolist()
        features = self._named_features(model)
        return [
            CandidateExplanation(grouped.names[grouped.numbers[i]], probabilities[i], float(scores[i]), parts)
            for i, parts in enumerate(contributions_of(features, *found) for found in model.contributions(candidates))
        ]

    def features(self) -> list[CandidateFeature]:
        """Return the features of the model, by falling absolute weight."""
        model = self._fitted()
        features = self._named_features(model)
        return [features[k] for k in by_falling_weight(model.weights)]

    @property
    def coef_(self) -> scipy.sparse.csr_array:
        """Weights (1, n_columns), in the order of ``get_feature_names_out``."""
        model = self._fitted()
        return model.by_column(scipy.sparse.csr_array(model.weights.T))

    def _named_features(self, model: ScoringModel) -> list[CandidateFeature]:
        """The features in the order of the model's weights."""
        weights = model.weights[:, 0].tolist()
        return [CandidateFeature(f.names, f.df, weight) for f, weight in zip(model.features(), weights, strict=True)]


class Groups:
    """Which candidates belong together.

    Parameters
    ----------
    groups : iterable of hashable, optional
        The group of each candidate; by default all are of one.
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
        If there is not one group for each candidate, one is not hashable, or one is NaN.
    """

    def __init__(self, groups: Iterable[Hashable] | None, n: int) -> None:
        numbers, self.names = numbered_groups(groups, n, "groups", "candidate")
        self.numbers = numbers.astype(np.int32)
        self.order = np.argsort(self.numbers, kind="stable")
        self.starts = np.searchsorted(self.numbers[self.order], np.arange(len(self.names)))

    def shares(self, y: np.ndarray) -> np.ndarray:
        """Return the targets, which sum to 1 in each group: float64 (n). A ValueError says what is wrong with them."""
        n = len(self.numbers)
        if y.ndim != 1:
            raise ValueError(f"y must have one dimension, a number for each candidate, but has the shape {y.shape}.")
        if len(y) != n:
            raise ValueError(f"There are {n:,} candidates, but y has {len(y):,} values: give one for each candidate.")
        if y.dtype.kind == "O":
            allowed = np.array([is_real_number(value) and 0 <= value <= LARGEST_VALUE for value in y], np.bool_)
        else:
            allowed = (y >= 0) & (y <= LARGEST_VALUE)
        if not allowed.all():
            first = int(np.argmin(allowed))
            raise ValueError(
                f"y must have a number of at least 0 for each candidate: 1 if it is correct, else 0. That of candidate "
                f"{first} is {y.tolist()[first]!r:.60}. The largest is {LARGEST_VALUE:g}."
            )
        y = y.astype(np.float64)
        totals = np.bincount(self.numbers, y, len(self.names))
        if n and not totals.any():
            raise ValueError(f"No candidate is correct: all {n:,} values of y are 0. Give the correct ones a 1.")
        if (totals == 0.0).any():
            wrong = np.flatnonzero(totals == 0.0)
            raise ValueError(
                f"{len(wrong):,} of {len(totals):,} groups have no correct candidate: "
                f"{listed(self.names[g] for g in wrong)}. Add the correct one, or leave the group out."
            )
        return np.asarray(y / totals[self.numbers])

    def require_a_choice(self) -> None:
        """Raise a ValueError if no group has two candidates, so that there is nothing to learn from."""
        if len(self.names) == len(self.numbers):
            raise ValueError(
                "There is nothing to choose: no group has two candidates, and a group of one sample says nothing."
            )

    def weights(self, sample_weight: Sequence[float] | np.ndarray | None) -> np.ndarray:
        """Return the weight of each candidate's group: float64 (n)."""
        weights = example_weights(sample_weight, len(self.numbers))
        if not weights.all():
            group = self.names[self.numbers[np.flatnonzero(weights == 0.0)[0]]]
            raise ValueError(f"sample_weight must be above 0, but is 0 for group {group!r}: leave this group out.")
        first = self.order[self.starts][self.numbers]
        if (weights != weights[first]).any():
            group = self.names[self.numbers[np.flatnonzero(weights != weights[first])[0]]]
            raise ValueError(f"sample_weight must be the same for all candidates of a group, but not in {group!r}.")
        return weights

    def ranked(self, scores: np.ndarray) -> list[np.ndarray]:
        """Return the candidates of each group by falling score, of equals the first first: int64."""
        best_first = np.lexsort((-scores, self.numbers))
        return np.split(best_first, self.starts[1:]) if len(self.names) else []

    def best(self, scores: np.ndarray) -> np.ndarray:
        """Return the candidate of each group with the highest score, of equals the first: int64 (groups)."""
        return np.array([rows[0] for rows in self.ranked(scores)], np.int64)


def targets_of(y: Any) -> np.ndarray:
    """Return targets as an array: of numbers if all of them are numbers, else of objects."""
    require_targets(y)
    # An array of objects may have numbers in it.
    given = np.asarray(y).tolist() if hasattr(y, "__array__") else list(y)
    values = np.asarray(given)
    return values if values.dtype.kind in "biuf" else np.asarray(given, object)


def contributions_of(
    features: Sequence[CandidateFeature], rows: np.ndarray, values: np.ndarray
) -> tuple[CandidateContribution, ...]:
    """Return the contributions of the features that a candidate has, which are given with their values."""
    parts = [
        CandidateContribution(features[k], value, features[k].weight * value)
        for k, value in zip(rows.tolist(), values.tolist(), strict=True)
    ]
    return tuple(sorted(parts, key=lambda part: -abs(part.contribution)))
