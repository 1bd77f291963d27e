"""The learner without spaCy: named originals with values in [0, 1], and their products."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from .extract.bags import Bags
from .extract.blocks import ProductBlock
from .extract.combinations import Combinations
from .graft.data import TrainingData
from .graft.network import NamedFeatures, Network, NetworkBuilder
from .graft.report import Report
from .graft.settings import CoordinateAscent, Grafting, GraftingPath
from .graft.solution import Solution
from .graft.start import start
from .metrics import logistic, softmax
from .model.item_matching import Members, add_item_scores

#: Documents: a matrix, or for each document its items or their values by name.
Documents = Any
#: Names of the blocks.
ORIGINALS, PRODUCTS = "originals", "products"
#: How far above 1 a value may be, as scaled values sometimes are by a few units in the last place.
ROUNDING = 1e-9


@dataclass(frozen=True)
class NamedFeature:
    """A feature of the model.

    Attributes
    ----------
    names : tuple of str
        An original, or those whose product it is.
    df : int
        Training documents that have it.
    weights : dict
        By label.
    """

    names: tuple[str, ...]
    df: int
    weights: dict[Hashable, float]

    def __str__(self) -> str:
        return " × ".join(self.names)


class GraftClassifier:
    """Sparse logistic regression over originals and all their products of two or three, none of them written down.

    Two labels or more that exclude each other; with ``multilabel`` any number of labels may hold.

    Parameters
    ----------
    learner : Grafting, GraftingPath or CoordinateAscent
        How weights are found: at one C, along a path (the last point counts), or without a penalty.
    degree : int
        1: originals only. 2, 3: products of so many originals at the most as well.
    min_df : int
        Least number of documents of an original or product.
    product_penalty_factor : float
        Factor of the penalty of products: above 1, originals are preferred to them.
    multilabel : bool
        ``y`` has a collection of labels for each document.

    Attributes
    ----------
    labels : tuple
        Sorted, once the model has been fitted.
    report : Report
        How training went: objective, duality gap over the whole space, seconds.

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
        product_penalty_factor: float = 1.0,
        multilabel: bool = False,
    ) -> None:
        if degree not in (1, 2, 3) or isinstance(degree, bool):
            raise ValueError(f"GraftClassifier: degree must be 1, 2 or 3, but is {degree!r}")
        if min_df < 1 or min_df != int(min_df):
            raise ValueError(f"GraftClassifier: min_df must be an integer of at least 1, but is {min_df!r}")
        self.learner = Grafting(l1=1.0) if learner is None else learner
        self.degree = degree
        self.min_df = min_df
        self.product_penalty_factor = product_penalty_factor
        self.multilabel = multilabel
        self.labels: tuple[Hashable, ...] = ()
        self.report = Report()
        self._names: Sequence[str] = ()
        self._model: FittedModel | None = None

    def fit(
        self,
        X: Documents,
        y: Iterable[Any],
        *,
        names: Sequence[str] | None = None,
        sample_weight: Sequence[float] | np.ndarray | None = None,
        network: NetworkBuilder | None = None,
    ) -> GraftClassifier:
        """Train to the certificate.

        Parameters
        ----------
        X : sparse or dense matrix, or iterable
            Values of the originals, in [0, 1]: (n_documents, n_originals); or for each document a collection of names
            (each is worth 1), or a mapping of names to values.
        y : iterable
            A label for each document; with ``multilabel``, a collection of labels.
        names : sequence of str, optional
            Of the columns of a matrix; by default their numbers.
        sample_weight : sequence of float, optional
            What each document weighs, above 0.
        network : callable, optional
            Which originals are expected to have like weights, and which opposite ones: one of ``@graft_networks``, or
            any function from a :class:`~spacy_graft.graphs.vocabulary.CorpusVocabulary` to a
            :class:`~spacy_graft.graphs.graph.FeatureGraph`. The name of an original is split at white space: ``not
            good`` is the vertex ``("not", "good")``. Vertices have no ``min_df``: a column of a matrix that no document
            has is one, and the network may give it a weight.

        Returns
        -------
        GraftClassifier
            Itself.

        Raises
        ------
        ValueError
            If a value is outside [0, 1], the numbers of documents and labels differ, or there is only one label.
        """
        matrix, self._names = self._as_training_matrix(X, names)
        matrix = within_bounds(matrix)
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
        self, X: Documents, names: Sequence[str] | None
    ) -> tuple[scipy.sparse.csr_array, Sequence[str]]:
        if is_matrix(X):
            matrix = as_matrix(X)
            found = list(map(str, range(matrix.shape[1]))) if names is None else list(names)
            if len(found) != matrix.shape[1] or len(set(found)) < len(found):
                raise ValueError(f"There are {matrix.shape[1]} columns, but {len(set(found))} different names.")
            check_names(found)
            return matrix, found
        numbers: dict[str, int] = {}
        matrix = matrix_of(list(X), numbers, grow=True)
        return matrix, list(numbers)

    def _targets(self, y: list[Any], n_documents: int) -> np.ndarray:
        if len(y) != n_documents:
            raise ValueError(f"There are {n_documents:,} documents, but {len(y):,} labels.")
        if self.multilabel and any(isinstance(its, str) for its in y):
            raise ValueError("With multilabel, y has a collection of labels for each document, but one is a string.")
        try:
            rows = [set(its) for its in y] if self.multilabel else [{its} for its in y]
            self.labels = tuple(sorted(set().union(*rows)))
        except TypeError as error:
            raise ValueError(f"Labels must be hashable, and of one type that can be sorted: {error}.") from error
        if len(self.labels) < (1 if self.multilabel else 2):
            raise ValueError(
                f"There is nothing to tell apart: the labels are {', '.join(map(repr, self.labels)) or 'none'}."
            )
        return np.array([[label in row for label in self.labels] for row in rows], np.float64)

    def _data(
        self, matrix: scipy.sparse.csr_array, targets: np.ndarray, sample_weight: Sequence[float] | np.ndarray | None
    ) -> TrainingData:
        n = len(targets)
        weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, np.float64)
        if weights.shape != (n,) or not (np.isfinite(weights) & (weights > 0.0)).all():
            raise ValueError(f"sample_weight must have {n:,} numbers above 0.")
        products: dict[str, ProductBlock] = {}
        if self.degree > 1:
            products[PRODUCTS] = Combinations([ORIGINALS], self.degree, self.min_df, self.product_penalty_factor)
        blocks = [ORIGINALS, *products]
        return TrainingData(
            bags={ORIGINALS: bags_of(matrix, self.min_df)},
            combinations=products,
            min_df=dict.fromkeys(blocks, self.min_df),
            penalty_factors={ORIGINALS: 1.0, PRODUCTS: self.product_penalty_factor},
            targets=targets,
            known=np.ones(targets.shape, np.bool_),
            example_weights=weights,
            lengths=np.maximum(np.diff(matrix.indptr), 1).astype(np.float64),
            labels=tuple(map(str, self.labels)),
            exclusive=not self.multilabel,
        )

    def decision_function(self, X: Documents) -> np.ndarray:
        """Scores of all labels: float64 (n_documents, n_labels)."""
        if self._model is None:
            raise ValueError("The model has not been fitted yet: call fit first.")
        return self._model.scores(self._as_matrix(X))

    def _as_matrix(self, X: Documents) -> scipy.sparse.csr_array:
        if not is_matrix(X):
            return matrix_of(list(X), {name: number for number, name in enumerate(self._names)}, grow=False)
        matrix = as_matrix(X)
        if matrix.shape[1] != len(self._names):
            raise ValueError(
                f"The model knows {len(self._names)} originals, but the matrix has {matrix.shape[1]} columns."
            )
        return matrix

    def predict_proba(self, X: Documents) -> np.ndarray:
        """Probabilities of all labels: float64 (n_documents, n_labels)."""
        scores = self.decision_function(X)
        return logistic(scores) if self.multilabel else softmax(scores)

    def predict(self, X: Documents) -> list[Any]:
        """The label of the highest probability for each document; with ``multilabel``, those of at least ½."""
        probabilities = self.predict_proba(X)
        if self.multilabel:
            return [[label for label, p in zip(self.labels, row, strict=True) if p >= 0.5] for row in probabilities]
        return [self.labels[column] for column in probabilities.argmax(axis=1)]

    def features(self) -> list[NamedFeature]:
        """The features of the model, those of the largest weights first."""
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
    """What a fit has found, ready to score matrices."""

    def __init__(self, solution: Solution) -> None:
        self.solution = solution
        features = {tuple(int(term.symbols[0]) for term in terms): k for k, terms in enumerate(solution.terms)}
        numbers, self.members = Members.build(features)
        self.columns = np.array(list(numbers), np.int64)

    def scores(self, matrix: scipy.sparse.csr_array) -> np.ndarray:
        """Scores of documents: float64 (n_documents, n_labels)."""
        totals = np.zeros((matrix.shape[0], len(self.solution.intercepts)))
        known = scipy.sparse.csr_array(matrix[:, self.columns])
        found = self.members.features_of(
            known.indptr.astype(np.int64), known.indices.astype(np.int32), known.data.astype(np.float64)
        )
        add_item_scores(found, self.solution.weights, totals)
        if self.solution.mean_scale:
            lengths = np.maximum(np.diff(matrix.indptr), 1)
            totals *= (self.solution.mean_scale / np.sqrt(lengths))[:, None]
        return totals + self.solution.intercepts


def named_features(matrix: scipy.sparse.csr_array, names: Sequence[str]) -> NamedFeatures:
    """All originals of a matrix, those without documents too."""
    return NamedFeatures(
        tuple(tuple(name.split()) or (name,) for name in names),
        np.full(len(names), ORIGINALS, object),
        np.fromiter(np.arange(len(names), dtype=np.uint64).reshape(-1, 1), object, len(names)),
        scipy.sparse.csc_array(matrix),
    )


def is_matrix(X: Documents) -> bool:
    """Whether documents are given as a matrix."""
    return scipy.sparse.issparse(X) or isinstance(X, np.ndarray)


def as_matrix(X: Any) -> scipy.sparse.csr_array:
    """A matrix of values without stored zeros."""
    matrix = scipy.sparse.csr_array(X, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def within_bounds(matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """The matrix, with what rounding added to 1 taken away; a ValueError if a value is outside [0, 1]."""
    wrong = np.flatnonzero(~((matrix.data >= 0.0) & (matrix.data <= 1.0 + ROUNDING)))
    if len(wrong):
        document = int(np.searchsorted(matrix.indptr, wrong[0], side="right")) - 1
        raise ValueError(
            f"Values must be in [0, 1], but column {matrix.indices[wrong[0]]} of document {document} is "
            f"{matrix.data[wrong[0]]}. Products are bounded by their members only then: scale the values first."
        )
    np.minimum(matrix.data, 1.0, out=matrix.data)
    return matrix


def matrix_of(documents: Sequence[Any], numbers: dict[str, int], grow: bool) -> scipy.sparse.csr_array:
    """The matrix of documents that are collections of names, or mappings of names to values.

    Parameters
    ----------
    documents : sequence
    numbers : dict of str to int
        The column of each name.
    grow : bool
        Whether names that it does not have are added to it; else they are passed over.
    """
    indptr, indices, values = [0], [], []
    for i, document in enumerate(documents):
        if isinstance(document, str):
            raise ValueError(
                f"Document {i} is a string, {document[:40]!r}: give a collection of the names of its items."
            )
        items = document if isinstance(document, Mapping) else dict.fromkeys(document, 1.0)
        if isinstance(document, Set):
            # Sets have an order that depends on the process.
            items = dict.fromkeys(sorted(document, key=str), 1.0)
        check_names(items)
        for name, value in items.items():
            number = numbers.setdefault(name, len(numbers)) if grow else numbers.get(name)
            if number is not None:
                indices.append(number)
                values.append(value)
        indptr.append(len(indices))
    shape = (len(indptr) - 1, len(numbers))
    return as_matrix(scipy.sparse.csr_array((np.array(values, np.float64), np.array(indices, np.int64), indptr), shape))


def check_names(names: Iterable[Any]) -> None:
    """Raise a ValueError if a name is no string."""
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"Names of items are strings, but one is {name!r} ({type(name).__name__}).")


def bags_of(matrix: scipy.sparse.csr_array, min_df: int) -> Bags:
    """The columns of at least ``min_df`` documents as items, named by their numbers."""
    df = np.bincount(matrix.indices, minlength=matrix.shape[1]).astype(np.int32)
    values = np.empty(0) if (matrix.data == 1.0).all() else matrix.data
    numbers = np.arange(matrix.shape[1], dtype=np.uint64)
    bags = Bags(numbers, df, matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), values)
    return bags.of_items(df >= min_df)
