"""The classifier without spaCy: named items with values in [0, 1], and their combinations."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from .extract.blocks import CombinationBlock
from .extract.combinations import Combinations
from .extract.feature_lengths import bounded_lengths
from .graft.data import TrainingData
from .graft.memory import require_memory_for
from .graft.network import NamedFeatures, Network, NetworkBuilder
from .graft.report import Report
from .graft.settings import CoordinateAscent, Grafting, GraftingPath
from .graft.solution import Solution
from .graft.start import start
from .matrices import MatrixOrItems, as_matrix, bags_of, bounded, is_matrix, item_matrix, named_matrix
from .messages import listed
from .metrics import logistic, softmax
from .model.item_matching import Members, add_item_scores
from .options import LARGEST_FACTOR, SMALLEST_FACTOR, check_flags, is_count, is_number_in

#: Names of the two blocks.
ITEM_BLOCK, COMBINATION_BLOCK = "items", "combinations"


@dataclass(frozen=True)
class NamedFeature:
    """A feature of the model.

    Attributes
    ----------
    names : tuple of str
        The item, or the items of the combination.
    df : int
        Number of training documents that have the feature.
    weights : dict
        The weight for each label.
    """

    names: tuple[str, ...]
    df: int
    weights: dict[Hashable, float]

    def __str__(self) -> str:
        return " × ".join(self.names)


class GraftClassifier:
    """Sparse logistic regression over items and all combinations of two or three of them.

    Combinations are searched implicitly: their matrix is never built. Labels exclude each other, and there are at
    least two. With ``multilabel``, a document has any number of labels, and there is at least one.

    Parameters
    ----------
    learner : Grafting, GraftingPath or CoordinateAscent
        The learner: at one L1 strength, along a path (the last point is the model), or without a penalty. By default
        ``Grafting(l1=1.0)``.
    degree : int
        1: items only. 2 or 3: also combinations of at most this many items.
    min_df : int
        Least number of documents of an item or combination.
    combination_penalty_factor : float
        Factor of the penalty weights of combinations: above 1, items are preferred to them.
    multilabel : bool
        Whether ``y`` has a collection of labels for each document.

    Attributes
    ----------
    labels : tuple
        The labels of the fitted model, sorted.
    report : Report
        The training report: objective, duality gap over the whole space, seconds.

    Examples
    --------
    >>> from spacy_graft import GraftClassifier, Grafting
    >>> documents = [{"not", "good"}, {"good"}, {"not", "long"}, {"long"}] * 10
    >>> model = GraftClassifier(Grafting(l1=1.0), degree=2).fit(documents, ["-", "+", "+", "+"] * 10)
    >>> model.predict([{"not", "good", "film"}, {"good"}])
    ['-', '+']
    >>> [str(feature) for feature in model.features()]
    ['good × not']
    """

    def __init__(
        self,
        learner: Grafting | GraftingPath | CoordinateAscent | None = None,
        *,
        degree: int = 1,
        min_df: int = 1,
        combination_penalty_factor: float = 1.0,
        multilabel: bool = False,
    ) -> None:
        if not is_count(degree, 1, 3):
            raise ValueError(f"GraftClassifier: degree must be 1, 2 or 3, but is {degree!r}")
        if not is_count(min_df):
            raise ValueError(f"GraftClassifier: min_df must be an integer of at least 1, but is {min_df!r}")
        if not is_number_in(combination_penalty_factor, SMALLEST_FACTOR, LARGEST_FACTOR):
            raise ValueError(
                f"GraftClassifier: combination_penalty_factor must be a number above 0, but is "
                f"{combination_penalty_factor!r}. The smallest is {SMALLEST_FACTOR:g}, the largest {LARGEST_FACTOR:g}."
            )
        check_flags("GraftClassifier", multilabel=multilabel)
        self.learner = Grafting(l1=1.0) if learner is None else learner
        self.degree = degree
        self.min_df = min_df
        self.combination_penalty_factor = combination_penalty_factor
        self.multilabel = multilabel
        self.labels: tuple[Hashable, ...] = ()
        self.report = Report()
        self._names: Sequence[str] = ()
        self._model: FittedModel | None = None

    def fit(
        self,
        X: MatrixOrItems,
        y: Iterable[Any],
        *,
        names: Sequence[str] | None = None,
        sample_weight: Sequence[float] | np.ndarray | None = None,
        network: NetworkBuilder | None = None,
    ) -> GraftClassifier:
        """Train until the learner's tolerance is met.

        Parameters
        ----------
        X : sparse or dense matrix, or iterable
            Values of the items, in [0, 1]: (n_documents, n_items). Or for each document a collection of names, whose
            values are 1, or a mapping of names to values.
        y : iterable
            A label for each document; with ``multilabel``, a collection of labels.
        names : sequence of str, optional
            Names of the columns of a matrix; by default their numbers.
        sample_weight : sequence of float, optional
            The example weight of each document, above 0.
        network : callable, optional
            Graph of the network penalty: which items are expected to have similar weights, and which opposite ones. A
            graph builder of ``@graft_graphs``, or any function from a
            :class:`~spacy_graft.graphs.vocabulary.CorpusVocabulary` to a
            :class:`~spacy_graft.graphs.graph.FeatureGraph`. The name of an item is split at white space: ``not good``
            is the vertex ``("not", "good")``. ``min_df`` does not apply to vertices: a column of a matrix that no
            document has can be one, and can get a weight from its neighbours.

        Returns
        -------
        GraftClassifier
            The classifier itself.

        Raises
        ------
        ValueError
            If a value is outside [0, 1], the numbers of documents and labels differ, or there are too few labels.
        """
        matrix, self._names = self._as_training_matrix(X, names)
        matrix = bounded(matrix)
        targets = self._targets(list(y), matrix.shape[0])
        data = self._data(matrix, targets, sample_weight)
        if network is not None:
            named = named_features(matrix, self._names)
            data = replace(data, network=Network.built(network, named, len(targets)))
        fit = start(self.learner, data)
        while not fit.finished:
            fit.step()
        self.report = fit.report
        self._model = FittedModel(fit.solution())
        return self

    def _as_training_matrix(
        self, X: MatrixOrItems, names: Sequence[str] | None
    ) -> tuple[scipy.sparse.csr_array, Sequence[str]]:
        if is_matrix(X):
            return named_matrix(X, names)
        numbers: dict[str, int] = {}
        matrix = item_matrix(list(X), numbers, grow=True)
        return matrix, list(numbers)

    def _targets(self, y: list[Any], n_documents: int) -> np.ndarray:
        if len(y) != n_documents:
            raise ValueError(f"There are {n_documents:,} documents, but {len(y):,} labels.")
        if self.multilabel and any(isinstance(value, str) for value in y):
            raise ValueError("With multilabel, y has a collection of labels for each document, but one is a string.")
        try:
            rows = [set(value) for value in y] if self.multilabel else [{value} for value in y]
            self.labels = tuple(sorted(set().union(*rows)))
        except TypeError as error:
            raise ValueError(f"Labels must be hashable, and of one type that can be sorted: {error}.") from error
        if len(self.labels) < (least := 1 if self.multilabel else 2):
            raise ValueError(f"y must have at least {least} different labels, but has {listed(self.labels)}.")
        require_memory_for(n_documents, len(self.labels), not self.multilabel)
        return np.array([[label in row for label in self.labels] for row in rows], np.float64)

    def _data(
        self, matrix: scipy.sparse.csr_array, targets: np.ndarray, sample_weight: Sequence[float] | np.ndarray | None
    ) -> TrainingData:
        n = len(targets)
        weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, np.float64)
        if weights.shape != (n,) or not (np.isfinite(weights) & (weights > 0.0)).all():
            raise ValueError(f"sample_weight must have {n:,} numbers above 0.")
        combinations: dict[str, CombinationBlock] = {}
        if self.degree > 1:
            factor = self.combination_penalty_factor
            combinations[COMBINATION_BLOCK] = Combinations([ITEM_BLOCK], self.degree, self.min_df, factor)
        return TrainingData(
            bags={ITEM_BLOCK: bags_of(matrix, self.min_df)},
            combinations=combinations,
            min_df=dict.fromkeys([ITEM_BLOCK, *combinations], self.min_df),
            penalty_factors={ITEM_BLOCK: 1.0, COMBINATION_BLOCK: self.combination_penalty_factor},
            targets=targets,
            known=np.ones(targets.shape, np.bool_),
            example_weights=weights,
            lengths=np.maximum(np.diff(matrix.indptr), 1).astype(np.float64),
            labels=tuple(map(str, self.labels)),
            exclusive=not self.multilabel,
        )

    def decision_function(self, X: MatrixOrItems) -> np.ndarray:
        """Return the scores of all labels: float64 (n_documents, n_labels)."""
        if self._model is None:
            raise ValueError("The model has not been fitted yet: call fit first.")
        return self._model.scores(self._as_matrix(X))

    def _as_matrix(self, X: MatrixOrItems) -> scipy.sparse.csr_array:
        if not is_matrix(X):
            return item_matrix(list(X), {name: number for number, name in enumerate(self._names)}, grow=False)
        matrix = as_matrix(X)
        if matrix.shape[1] != len(self._names):
            raise ValueError(f"The model has {len(self._names)} items, but the matrix has {matrix.shape[1]} columns.")
        return matrix

    def predict_proba(self, X: MatrixOrItems) -> np.ndarray:
        """Return the probabilities of all labels: float64 (n_documents, n_labels)."""
        scores = self.decision_function(X)
        return logistic(scores) if self.multilabel else softmax(scores)

    def predict(self, X: MatrixOrItems) -> list[Any]:
        """Return the most probable label of each document; with ``multilabel``, the labels of at least ½."""
        probabilities = self.predict_proba(X)
        if self.multilabel:
            return [[label for label, p in zip(self.labels, row, strict=True) if p >= 0.5] for row in probabilities]
        return [self.labels[column] for column in probabilities.argmax(axis=1)]

    def features(self) -> list[NamedFeature]:
        """Return the features of the model, by falling absolute weight."""
        if self._model is None:
            return []
        solution = self._model.solution
        order = np.argsort(-np.abs(solution.weights).max(axis=1, initial=0.0), kind="stable")
        return [
            NamedFeature(
                tuple(sorted(self._names[int(term.symbols[0])] for term in solution.terms[k])),
                int(solution.df[k]),
                dict(zip(self.labels, solution.weights[k].tolist(), strict=True)),
            )
            for k in order
        ]


class FittedModel:
    """A solution, prepared for scoring matrices."""

    def __init__(self, solution: Solution) -> None:
        self.solution = solution
        features = {tuple(int(term.symbols[0]) for term in terms): k for k, terms in enumerate(solution.terms)}
        numbers, self.members = Members.build(features)
        self.columns = np.array(list(numbers), np.int64)

    def scores(self, matrix: scipy.sparse.csr_array) -> np.ndarray:
        """Return the scores of documents: float64 (n_documents, n_labels)."""
        weights, shares = self.solution.weights, self.solution.length_shares
        if len(shares):
            weights = np.ascontiguousarray(np.column_stack([weights, shares]))
        totals = np.zeros((matrix.shape[0], weights.shape[1]))
        known = scipy.sparse.csr_array(matrix[:, self.columns])
        found = self.members.features_of(
            known.indptr.astype(np.int64), known.indices.astype(np.int32), known.data.astype(np.float64)
        )
        add_item_scores(found, weights, totals)
        if self.solution.mean_scale:
            lengths = bounded_lengths(totals[:, -1]) if len(shares) else np.maximum(np.diff(matrix.indptr), 1)
            totals *= (self.solution.mean_scale / np.sqrt(lengths))[:, None]
        return totals[:, : len(self.solution.intercepts)] + self.solution.intercepts


def named_features(matrix: scipy.sparse.csr_array, names: Sequence[str]) -> NamedFeatures:
    """All items of a matrix, including those without documents."""
    return NamedFeatures(
        tuple(tuple(name.split()) or (name,) for name in names),
        np.full(len(names), ITEM_BLOCK, object),
        np.fromiter(np.arange(len(names), dtype=np.uint64).reshape(-1, 1), object, len(names)),
        scipy.sparse.csc_array(matrix),
    )
