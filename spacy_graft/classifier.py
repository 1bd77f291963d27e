"""The classifier without spaCy: named items with values in [0, 1], and their combinations."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from .graft.memory import require_memory_for
from .graft.network import NamedFeatures, Network, NetworkBuilder
from .graft.report import Report
from .graft.settings import CoordinateAscent, Grafting, GraftingPath
from .item_model import (
    ITEM_BLOCK,
    ItemFeature,
    ItemModel,
    ItemSpace,
    by_falling_weight,
    example_weights,
    finished_fit,
)
from .matrices import MatrixOrItems
from .messages import listed
from .metrics import logistic, softmax
from .options import check_flags


@dataclass(frozen=True)
class NamedFeature(ItemFeature):
    """A feature of the classifier: its names, document frequency and weights.

    Attributes
    ----------
    weights : dict
        The weight for each label.
    """

    weights: dict[Hashable, float]


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
        self._space = ItemSpace("GraftClassifier", degree, min_df, combination_penalty_factor)
        check_flags("GraftClassifier", multilabel=multilabel)
        self.learner = Grafting(l1=1.0) if learner is None else learner
        self.degree = degree
        self.min_df = min_df
        self.combination_penalty_factor = combination_penalty_factor
        self.multilabel = multilabel
        self.labels: tuple[Hashable, ...] = ()
        self.report = Report()
        self._model: ItemModel | None = None

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
        matrix = self._space.learn(X, names)
        targets = self._targets(list(y), matrix.shape[0])
        data = self._space.training_data(
            matrix,
            targets=targets,
            known=np.ones(targets.shape, np.bool_),
            example_weights=example_weights(sample_weight, len(targets)),
            labels=tuple(map(str, self.labels)),
            exclusive=not self.multilabel,
        )
        if network is not None:
            named = named_features(matrix, self._space.names)
            data = replace(data, network=Network.built(network, named, len(targets)))
        fit = finished_fit(self.learner, data)
        self.report = fit.report
        self._model = self._space.model(fit.solution(), matrix)
        return self

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

    def decision_function(self, X: MatrixOrItems) -> np.ndarray:
        """Return the scores of all labels: float64 (n_documents, n_labels)."""
        if self._model is None:
            raise ValueError("The model has not been fitted yet: call fit first.")
        return self._model.scores(self._space.read(X))

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
        features, weights = list(self._model.features()), self._model.weights
        return [
            NamedFeature(features[k].names, features[k].df, dict(zip(self.labels, weights[k].tolist(), strict=True)))
            for k in by_falling_weight(weights)
        ]


def named_features(matrix: scipy.sparse.csr_array, names: Sequence[str]) -> NamedFeatures:
    """All items of a matrix, including those without documents."""
    return NamedFeatures(
        tuple(tuple(name.split()) or (name,) for name in names),
        np.full(len(names), ITEM_BLOCK, object),
        np.fromiter(np.arange(len(names), dtype=np.uint64).reshape(-1, 1), object, len(names)),
        scipy.sparse.csc_array(matrix),
    )
