"""The classifiers without spaCy: what they have in common, and the one over items and their combinations."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse

from .class_targets import (
    ClassTargets,
    expected_labels,
    label_sets,
    require_targets,
    require_zeros_and_ones,
    restored_labels,
    saved_labels,
)
from .estimators import ClassifierMixin, require_fitted
from .extract.texts import DocumentKindError
from .graft.data import TrainingData
from .graft.document_vectors import DocumentVectors
from .graft.emptiness import problem_of_weights, warn_if_empty
from .graft.memory import require_memory_of_test
from .graft.network import NamedFeatures, Network, NetworkBuilder
from .graft.report import Report
from .graft.settings import CoordinateAscent, Grafting, GraftingPath, PenaltySettings
from .graft.solution import Solution, stability_of
from .graft.start import final_solution
from .graphs.vocabulary import Vertex
from .item_model import (
    ITEM_BLOCK,
    FeatureEstimator,
    ItemFeature,
    ItemModel,
    ItemSpace,
    NamingSpace,
    Space,
    by_falling_weight,
    checked_learner,
    example_weights,
    finished_fit,
    n_documents,
    symbols_of_rows,
    warn_of_unused_options,
    warn_unless_converged,
)
from .matrices import MatrixOrItems, documents_at
from .messages import listed, warn
from .metrics import THRESHOLD, as_probabilities, logistic
from .model.weights import by_label
from .options import check_flags
from .threads import limited_threads
from .vectors.word_vectors import WordVectors, vectors_from

if TYPE_CHECKING:
    from .associations import SignificanceReport


@dataclass(frozen=True)
class NamedFeature(ItemFeature):
    """A feature of the classifier: its names, document frequency and weights.

    Attributes
    ----------
    weights : dict
        The weight for each label.
    stability : float, optional
        Share of random half samples of the training documents that select the feature, if the learner asked for it.
    intervals : dict, optional
        For each label, the least and the largest weight in 90% of the bootstrap samples.
    """

    weights: dict[Hashable, float]
    stability: float | None = None
    intervals: dict[Hashable, tuple[float, float]] | None = None


class LinearClassifier(ClassifierMixin, FeatureEstimator):
    """What the classifiers have in common: targets, training, and all that follows from scores."""

    #: Whether held-out documents choose a point of the path.
    _holds_out: ClassVar[bool] = False

    multilabel: bool
    classes_: np.ndarray
    report_: Report
    #: The type of the matrix of targets, if they were one.
    _matrix_dtype: np.dtype[Any] | None
    _exclusive: bool

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _fit(
        self,
        space: Space,
        X: Any,
        y: Any,
        sample_weight: Any,
        names: Sequence[str] | None = None,
        completed: Callable[[TrainingData, Any], TrainingData] = lambda data, documents: data,
    ) -> None:
        """Train until the learner's tolerance is met.

        Parameters
        ----------
        space : Space
            How documents are read.
        X, y, sample_weight, names
            As those of ``fit``.
        completed : callable
            What is added to the data of the documents that have been read.
        """
        owner = type(self).__name__
        check_flags(owner, multilabel=self.multilabel)
        learner = checked_learner(self)
        warn_of_unused_options(owner, learner, self._holds_out)
        targets = ClassTargets.read(y, self.multilabel)
        weights = example_weights(sample_weight, len(targets))
        rows = np.flatnonzero(weights)
        are_some = len(rows) < len(weights)
        if are_some:
            # Documents without weight are as if they were not there.
            X = X if hasattr(X, "shape") else list(X)
            require_as_many(n_documents(X), len(targets))
            X, targets, weights = documents_at(X, rows), targets.some(rows), weights[rows]
        try:
            documents = space.learn(X, names)
        except DocumentKindError as error:
            if not are_some:
                raise
            raise DocumentKindError(int(rows[error.number]), error.problem) from error.__cause__
        require_as_many(n_documents(documents), len(targets))
        targets.require_labels()
        if problem := problem_of_weights(weights):
            warn(f"{owner}: {problem}")
        with limited_threads("blas"):
            report, solution = self._trained(learner, ReadDocuments(space, documents, targets, weights, completed))
        warn_if_empty(learner, report, len(targets), self.learner is None)
        warn_unless_converged(owner, learner, report)
        of_targets = {"classes_": targets.classes, "_matrix_dtype": targets.dtype, "_exclusive": targets.exclusive}
        self._set_fitted(space, space.model(solution, documents), report, **of_targets)

    def _trained(self, learner: Any, documents: ReadDocuments) -> tuple[Report, Solution]:
        """The model of a learner after its last step, and its report."""
        fit = finished_fit(learner, documents.data())
        self._check_report(fit.report)
        return fit.report, final_solution(fit)

    def _significance(
        self,
        space: NamingSpace,
        X: Any,
        y: Any,
        names: Sequence[str] | None,
        strata: Sequence[Hashable] | None,
        options: dict[str, Any],
    ) -> SignificanceReport:
        """Test which features go with which labels.

        Parameters
        ----------
        space : NamingSpace
        X, y, names
            As those of ``fit``.
        strata : sequence of hashable, optional
        options : dict
            Of :class:`~spacy_graft.associations.SignificanceOptions`.
        """
        from .associations import SignificanceOptions, significant_features  # loads the compiler

        checked = SignificanceOptions(**options)
        targets = ClassTargets.read(y, self.multilabel)
        documents = space.learn(X, names)
        require_as_many(n_documents(documents), len(targets))
        # A test takes all documents of each label, however many labels there are.
        require_memory_of_test(len(targets), len(targets.classes))
        dense = replace(targets, values=targets.dense)
        data = space.training_data(documents, **dense.fields(np.ones(len(targets))))
        return significant_features(data, strata, space.naming(X), checked)

    def _checked_vectors(self, vectors: Any) -> WordVectors:
        """Vectors that ``fit`` was given; a ValueError if the learner has no weights for them."""
        learner = checked_learner(self)
        if not isinstance(learner, PenaltySettings):
            raise ValueError(f"{type(learner).__name__} has no weights for vectors. Use GraftingPath or Grafting.")
        return vectors_from(vectors, None)

    def _checked_label(self, label: Any) -> Any:
        """A label of the model, or None for any; a ValueError if there is no such label."""
        labels = self.classes_.tolist()
        if label is not None and label not in labels:
            raise ValueError(f"There is no label {label!r}. The labels: {listed(map(str, labels))}.")
        return label

    def _check_report(self, report: Report) -> None:
        """Raise a ValueError if nothing could be learnt."""

    def _saved_labels(self) -> dict[str, Any]:
        return saved_labels(self.classes_, self._exclusive, self._matrix_dtype)

    def _restore_labels(self, labels: dict[str, Any]) -> int:
        self.classes_, self._exclusive, self._matrix_dtype = restored_labels(labels)
        return len(self.classes_)

    def _scores(self, X: Any) -> np.ndarray:
        """The scores of all labels: float64 (n_documents, n_labels)."""
        return self._fitted().scores(self._space.read(X))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores.

        Returns
        -------
        float64 (n_documents, n_labels), or (n_documents,)
            Of two labels that exclude each other, the score of the second minus that of the first. Of more, only
            differences count: those whose intercepts sum to 0.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if self._is_binary else scores - self._common_intercept

    @property
    def _is_binary(self) -> bool:
        """Whether there are two labels that exclude each other."""
        return self._exclusive and len(self.classes_) == 2

    @property
    def _thresholds(self) -> np.ndarray:
        """The least probability of each label that is predicted, where documents can have any number of them."""
        chosen = self.report_.thresholds
        return np.full(len(self.classes_), THRESHOLD) if chosen is None else np.array(chosen)

    @property
    def _common_intercept(self) -> float:
        """What all intercepts share without an effect, where labels exclude each other."""
        return float(self._model.intercepts.mean()) if self._exclusive else 0.0

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of all labels: float64 (n_documents, n_labels)."""
        return as_probabilities(self._scores(X), self._exclusive)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the probabilities, finite where these are 0: float64 (n_documents, n_labels)."""
        scores = self._scores(X)
        if self._exclusive:
            return np.asarray(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
        return np.asarray(-np.logaddexp(0.0, -scores))

    def predict(self, X: Any) -> Any:
        """Return the most probable label of each document: an array.

        Where documents can have any number of labels, those whose probability is at least their threshold:
        ``report_.thresholds`` if held-out documents chose some, else ½. Trained on a matrix of targets, an array of the
        same type; trained on collections of labels, a list of them for each document.
        """
        require_fitted(self)
        if self._exclusive:
            return self.classes_[self.predict_proba(X).argmax(axis=1)]
        # Of many labels, the probabilities of all documents may not fit into memory.
        thresholds = self._thresholds
        has_label = (logistic(scores) >= thresholds for scores in self._model.score_parts(self._space.read(X)))
        labels, dtype = self.classes_.tolist(), self._matrix_dtype
        if dtype is not None:
            return np.concatenate([np.empty((0, len(labels)), dtype), *(rows.astype(dtype) for rows in has_label)])
        return [[labels[y] for y in np.flatnonzero(row).tolist()] for rows in has_label for row in rows]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of documents whose labels are predicted, all of them and no others.

        Raises
        ------
        ValueError
            If ``y`` or ``sample_weight`` is not of as many documents, there are none, or all weights are 0; if ``y``
            has another kind of labels than the model, or some are missing.
        """
        require_targets(y)
        predicted = self.predict(X)
        if not len(predicted):
            raise ValueError("There are no documents to score: X is empty.")
        if self._matrix_dtype is not None:
            try:
                matrix = y.toarray() if scipy.sparse.issparse(y) else np.asarray(y)
            except ValueError as error:  # of rows that differ in length
                raise ValueError(
                    f"y must be a matrix of the shape {predicted.shape}, as in training, but its rows are of different "
                    f"lengths, as collections of labels are."
                ) from error
            if matrix.shape != predicted.shape:
                raise ValueError(f"y must be a matrix of the shape {predicted.shape}, but has {matrix.shape}.")
            require_zeros_and_ones(matrix)
            right = (predicted == matrix).all(axis=1)
        else:
            if self._exclusive:
                found, expected = predicted.tolist(), expected_labels(y, self.classes_.tolist())
            else:
                found, expected = list(map(set, predicted)), label_sets(y, self.classes_.tolist())
            require_as_many(len(found), len(expected))
            right = np.array([label == own for label, own in zip(found, expected, strict=True)])
        return float(np.average(right, weights=example_weights(sample_weight, len(right))))

    @property
    def coef_(self) -> scipy.sparse.csr_array:
        """Weights (n_labels, n_columns), or (1, n_columns) of two labels that exclude each other, as scores are.

        The columns are those of ``get_feature_names_out``: the features, unless the model was trained on a matrix.
        """
        require_fitted(self)
        weights = self._model.weights
        weights = weights[:, 1:] - weights[:, :1] if self._is_binary else weights
        return self._model.by_column(scipy.sparse.csr_array(weights.T))

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts (n_labels,), or (1,) of two labels that exclude each other."""
        intercepts = self._fitted().intercepts
        return intercepts[1:] - intercepts[:1] if self._is_binary else intercepts - self._common_intercept


@dataclass(frozen=True)
class ReadDocuments:
    """What a classifier is trained on.

    Attributes
    ----------
    space : Space
        How the documents have been read.
    documents : as the space reads them
    targets : ClassTargets
    weights : float64 (n_documents)
    completed : callable
        What is added to the data of documents that have been read.
    """

    space: Space
    documents: Any
    targets: ClassTargets
    weights: np.ndarray
    completed: Callable[[TrainingData, Any], TrainingData]

    def data(self) -> TrainingData:
        """The input of a learner."""
        return self.completed(self.data_as_read(), self.documents)

    def data_as_read(self) -> TrainingData:
        """The input of a learner, without what ``completed`` adds."""
        return self.space.training_data(self.documents, **self.targets.fields(self.weights))

    def shares(self) -> np.ndarray:
        """The shares of labels among the documents: float64 (n_labels)."""
        return np.asarray(self.weights @ self.targets.values / self.weights.sum())

    def some(self, rows: np.ndarray) -> ReadDocuments:
        """Some of the documents, with all labels."""
        targets = replace(self.targets, values=self.targets.values[rows])
        return replace(
            self, documents=self.space.some(self.documents, rows), targets=targets, weights=self.weights[rows]
        )


class GraftClassifier(LinearClassifier):
    """Sparse logistic regression over items and all combinations of two or three of them.

    Combinations are searched implicitly: their matrix is never built. Labels exclude each other, and there are at
    least two. With ``multilabel``, a document has any number of labels, and there is at least one.

    With scikit-learn (``python -m pip install "spacy-graft[sklearn]"``) this is one of its estimators, with ``clone``,
    pipelines and searches over parameters.

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
        Whether ``y`` has a collection of labels for each document. A matrix of zeros and ones with a column for each
        label needs no flag.

    Attributes
    ----------
    classes_ : array (n_labels,)
        The labels, sorted. Trained on a matrix of targets, the numbers of its columns.
    coef_ : sparse array (n_labels, n_columns), or (1, n_columns)
        Weights; of two labels that exclude each other, those of the second minus those of the first. Trained on a
        matrix, its columns come first, also those that are not in the model, then the combinations of the model, so
        that scikit-learn's selection of columns (``RFE``, ``SelectFromModel``) works at degree 1. Otherwise the columns
        are the features of the model.
    intercept_ : array (n_labels,), or (1,)
    report_ : Report
        The training report: objective, duality gap over the whole space, seconds. Also as ``report``.
    n_features_in_ : int
        Columns of the matrix, if the model was trained on one.
    feature_names_in_ : array of str
        Names of its columns, if it was a DataFrame with names.

    Examples
    --------
    >>> from spacy_graft import GraftClassifier, Grafting
    >>> documents = [{"not", "good"}, {"good"}, {"not", "long"}, {"long"}] * 10
    >>> model = GraftClassifier(Grafting(l1=1.0), degree=2).fit(documents, ["-", "+", "+", "+"] * 10)
    >>> model.predict([{"not", "good", "film"}, {"good"}])
    array(['-', '+'], dtype='<U1')
    >>> [str(feature) for feature in model.features()]
    ['good × not']
    """

    _model: ItemModel

    def __init__(
        self,
        learner: Grafting | GraftingPath | CoordinateAscent | None = None,
        *,
        degree: int = 1,
        min_df: int = 1,
        combination_penalty_factor: float = 1.0,
        multilabel: bool = False,
    ) -> None:
        self.learner = learner
        self.degree = degree
        self.min_df = min_df
        self.combination_penalty_factor = combination_penalty_factor
        self.multilabel = multilabel

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.degree != 1
        return tags

    def fit(
        self,
        X: MatrixOrItems,
        y: Any,
        sample_weight: Sequence[float] | np.ndarray | None = None,
        *,
        names: Sequence[str] | None = None,
        network: NetworkBuilder | None = None,
        vectors: WordVectors | Callable[[Any], WordVectors] | None = None,
    ) -> GraftClassifier:
        """Train until the learner's tolerance is met.

        Parameters
        ----------
        X : sparse or dense matrix, or iterable
            Values of the items: (n_documents, n_items). Or for each document a collection of names, whose values are
            1, or a mapping of names to values. With combinations, values are in [0, 1].
        y : iterable, or matrix
            A label for each document; with ``multilabel``, a collection of labels, or a mapping of labels to zeros and
            ones. Or a matrix of zeros and ones (n_documents, n_labels).
        names : sequence of str, optional
            Names of the columns of a matrix; by default those of a DataFrame, or their numbers.
        sample_weight : sequence of float, optional
            The example weight of each document in the loss. Documents of weight 0 are left out.
        network : callable, optional
            Graph of the network penalty: which items are expected to have similar weights, and which opposite ones. A
            graph builder of ``@graft_graphs``, or any function from a
            :class:`~spacy_graft.graphs.vocabulary.CorpusVocabulary` to a
            :class:`~spacy_graft.graphs.graph.FeatureGraph`. The name of an item is split at white space: ``not good``
            is the vertex ``("not", "good")``. ``min_df`` does not apply to vertices: a column of a matrix that no
            document has can be one, and can get a weight from its neighbours.
        vectors : WordVectors or callable, optional
            Vectors of items by their names, or one of the sources of ``@graft_vectors``: the mean of the vectors of a
            document's items is added to these, whatever their values. Documents that are collections of names may have
            items that no training document has. The learner has their ``vectors_ridge``.

        Returns
        -------
        GraftClassifier
            The classifier itself.

        Raises
        ------
        ValueError
            If a value is not finite, or with combinations outside [0, 1]; if the numbers of documents and labels
            differ; if there are too few labels; or if no item has a vector.
        """
        given = None if vectors is None else self._checked_vectors(vectors)
        space = self._own_space(() if given is None else given.words)

        def completed(data: TrainingData, matrix: scipy.sparse.csr_array) -> TrainingData:
            if network is not None:
                named = named_features(matrix, space.names)
                data = replace(data, network=Network.built(network, named, data.n_documents))
            return data if given is None else replace(data, vectors=item_vectors(given, matrix, space.names))

        self._fit(space, X, y, sample_weight, names, completed)
        return self

    def _own_space(self, more_names: Sequence[str] = ()) -> ItemSpace:
        factor = self.combination_penalty_factor
        return ItemSpace(type(self).__name__, self.degree, self.min_df, factor, more_names)

    def significance(
        self,
        X: MatrixOrItems,
        y: Any,
        *,
        names: Sequence[str] | None = None,
        strata: Sequence[Hashable] | None = None,
        level: float = 0.05,
        permutations: int = 1000,
        top: int = 100,
        seed: int = 0,
        pairs: int | None = None,
    ) -> SignificanceReport:
        """Test which items go with which labels, as :func:`spacy_graft.significance` does; nothing is fitted.

        Parameters
        ----------
        X, y, names
            As those of :meth:`fit`.
        strata, level, permutations, top, seed, pairs
            As those of :func:`spacy_graft.significance`.
        """
        options = {"level": level, "permutations": permutations, "top": top, "seed": seed, "pairs": pairs}
        return self._significance(self._own_space(), X, y, names, strata, {**options, "contexts": 0})

    def strongest_words(self, n: int = 100, label: Any = None) -> list[NamedFeature]:
        """Return the items that the model knows by their vectors and that can move a score most, strongest first.

        Parameters
        ----------
        n : int
            How many items.
        label : optional
            The label whose score is meant; by default that of any label.
        """
        require_fitted(self)
        words, labels = self._model.word_scores, self.classes_.tolist()
        if words is None:
            return []
        rows, scores = words.strongest(n, None if self._checked_label(label) is None else labels.index(label))
        return [
            NamedFeature(
                (words.lexicon.words[row],), int(words.lexicon.known[row]), dict(zip(labels, own, strict=True))
            )
            for row, own in zip(rows.tolist(), scores.tolist(), strict=True)
        ]

    def features(self) -> list[NamedFeature]:
        """Return the features of the model, by falling absolute weight."""
        require_fitted(self)
        features, weights = list(self._model.features()), self._model.weights
        labels: list[Hashable] = self.classes_.tolist()
        rows = by_label(weights, labels)
        stability = self._model.solution.stability
        return [
            NamedFeature(
                features[k].names,
                features[k].df,
                rows[k],
                **stability_of(stability, k, labels),
            )
            for k in by_falling_weight(weights).tolist()
        ]


def item_vectors(given: WordVectors, matrix: scipy.sparse.csr_array, names: Sequence[str]) -> DocumentVectors:
    """The document vectors of the items of a matrix."""
    columns = {name: column for column, name in enumerate(names)}
    kept = [row for row, word in enumerate(given.words) if word in columns]
    if not kept:
        raise ValueError(f"{given.source}: none of its {len(given):,} words is the name of an item.")
    words = tuple(given.words[row] for row in kept)
    of_columns = WordVectors(words, given.vectors, given.source, given.places[kept])
    symbols = np.array([columns[word] for word in words], np.uint64)
    return DocumentVectors.built(ITEM_BLOCK, of_columns, symbols, *symbols_of_rows(matrix))


def named_features(matrix: scipy.sparse.csr_array, names: Sequence[str]) -> NamedFeatures:
    """All items of a matrix, including those without documents."""
    return NamedFeatures(
        vertices_of(names),
        np.full(len(names), ITEM_BLOCK, object),
        np.fromiter(np.arange(len(names), dtype=np.uint64).reshape(-1, 1), object, len(names)),
        scipy.sparse.csc_array(matrix),
    )


def vertices_of(names: Sequence[str]) -> tuple[Vertex, ...]:
    """The vertices of items: their names, split at white space; a ValueError if two items are one vertex."""
    first: dict[Vertex, str] = {}
    for name in names:
        other = first.setdefault(tuple(name.split()) or (name,), name)
        if other != name:
            raise ValueError(
                f"The items {other!r} and {name!r} would be one vertex of the network, in which names are split at "
                f"white space: rename one of them."
            )
    return tuple(first)


def require_as_many(n: int, n_targets: int) -> None:
    """Raise a ValueError unless there are targets for each document."""
    if n != n_targets:
        raise ValueError(f"There are {n:,} documents, but {n_targets:,} labels.")
