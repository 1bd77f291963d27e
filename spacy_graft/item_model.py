"""Models over named items and their combinations: what the classifier and the ranker share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

import numpy as np
import scipy.sparse

from .estimator_files import SavedEstimator, SavedSpace, SealedEstimator, checked_values
from .estimators import ConvergenceWarning, LearnerEstimator, require_fitted
from .extract.blocks import BlockKind, CombinationBlock
from .extract.combinations import Combinations
from .extract.feature_lengths import bounded_lengths
from .extract.streams import Stream
from .extract.terms import FeatureTerms, NamedTerm, SymbolTerm, Term
from .extract.texts import Words
from .graft.constraints import PRODUCT_SIGN, FeatureNames
from .graft.data import TrainingData
from .graft.report import Report
from .graft.settings import CoordinateAscent, Grafting, GraftingPath, PenaltySettings
from .graft.solution import Solution
from .graft.start import Fit, is_learner, start
from .matrices import (
    MatrixOrItems,
    as_matrix,
    bags_of,
    bounded,
    column_names,
    default_names,
    is_matrix,
    item_matrix,
    matrix_by_name,
    named_matrix,
    require_numbers,
    require_readable,
)
from .messages import listed, warn
from .model.item_matching import Members, add_item_scores
from .model.matching import Blocks
from .model.snapshot import Snapshot, columns_of, snapshot_of_solution
from .model.table import damaged_model
from .model.weights import entries
from .options import LARGEST_VALUE, SMALLEST_WEIGHT, check_counts, check_factors, is_count

if TYPE_CHECKING:
    from .associations import Naming

#: Names of the two blocks.
ITEM_BLOCK, COMBINATION_BLOCK = "items", "combinations"
#: Options of :class:`GraftingPath` that only components of a pipeline look at, but for strengths of vectors where an
#: estimator holds out documents.
FOR_COMPONENTS = ("metric", "network_choices", "vectors_choices", "optional_blocks", "retrain")
#: Documents whose scores are computed at once where those of all need not be.
SCORED_AT_ONCE = 1024


@dataclass(frozen=True)
class ItemFeature:
    """A feature of a model over items.

    Attributes
    ----------
    names : tuple of str
        The item, or the items of the combination.
    df : int
        Number of training documents that have the feature.
    """

    names: tuple[str, ...]
    df: int

    def __str__(self) -> str:
        return PRODUCT_SIGN.join(self.names)


class ScoringModel(Protocol):
    """A solution, prepared for scoring documents as its :class:`Space` reads them."""

    @property
    def weights(self) -> np.ndarray | scipy.sparse.csr_array:
        """Of the features: float64 (n_features, n_labels), sparse where labels are very many."""

    @property
    def intercepts(self) -> np.ndarray:
        """Of the labels: float64 (n_labels)."""

    def features(self) -> Iterator[ItemFeature]:
        """Yield the features in the order of the weights."""

    def by_column(self, coefficients: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
        """Return coefficients (n, n_features) in the columns of ``coef_``.

        If the training documents were a matrix, its columns come first, then the combinations.
        """

    def column_names(self, given: Sequence[str] | None, /) -> np.ndarray:
        """Return the names of these columns: array of str.

        If the training documents were a matrix whose columns had no names, these may be ``given``.
        """

    def scores(self, documents: Any, /) -> np.ndarray:
        """Return the scores of documents: float64 (n_documents, n_labels)."""

    def score_parts(self, documents: Any, /) -> Iterator[np.ndarray]:
        """Yield the scores of some documents after the other: float64 (n_documents of the part, n_labels)."""

    def contributions(self, documents: Any, /) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the features of each document (int64), and their values times the document weight (float64)."""


class Space(SavedSpace, Protocol):
    """What is read of documents, and the features that are made of it."""

    def learn(self, X: Any, names: Sequence[str] | None, /) -> Any:
        """Return training documents as they are read: a matrix, or a list."""

    def read(self, X: Any, /) -> Any:
        """Return other documents as they are read."""

    def some(self, documents: Any, rows: np.ndarray, /) -> Any:
        """Return some of the documents that have been read."""

    def training_data(self, documents: Any, /, **of_documents: Any) -> TrainingData:
        """Return the input of a learner; ``of_documents`` are the fields of targets and weights."""

    def model(self, solution: Solution, documents: Any, /) -> ScoringModel:
        """Return the model of a solution, found on documents."""


class NamingSpace(Space, Protocol):
    """A space that can name features which are in no model."""

    def naming(self, X: Any, /) -> Naming:
        """Return the names of the features of training documents."""


class FeatureEstimator(LearnerEstimator, SealedEstimator):
    """What the classifiers and the ranker have in common."""

    _default_learner: ClassVar[Any] = Grafting(l1=1.0)

    _space: Space
    _model: ScoringModel

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of ``coef_``: array of str.

        ``input_features`` are names for the columns of a matrix that had none in training, as a pipeline gives them.
        """
        return self._fitted().column_names(checked_input_features(self, input_features))

    def _fitted(self) -> ScoringModel:
        require_fitted(self)
        return self._model


@dataclass(frozen=True)
class NamedItems:
    """Items by their names, as far as saved models need a block: the symbol of an item is the number of its column."""

    kind: ClassVar[BlockKind] = BlockKind.ITEMS
    value: ClassVar[str] = "binary"
    width: ClassVar[int] = 1

    def names(self, symbols: np.ndarray, strings: Words) -> tuple[str, ...]:
        """Return the name of an item."""
        return tuple(strings[column + 1] for column in symbols.tolist())

    def values(self, names: Sequence[str], strings: Words) -> np.ndarray:
        """Return the columns of names; a ValueError if there are none."""
        missing = [name for name in names if name not in strings.numbers]
        if missing:
            raise damaged_model(f"it has features of {listed(missing)}, but no such items")
        return np.array([strings.numbers[name] - 1 for name in names], np.uint64)


@dataclass(eq=False)
class ItemSpace:
    """Items and their combinations as a :class:`Space` of features, by the names of the items.

    Attributes
    ----------
    owner : str
        The class that the options are of, for messages.
    degree : int
        1: items only. 2 or 3: also combinations of at most this many items.
    min_df : int
        Least number of documents of an item or combination.
    combination_penalty_factor : float
        Factor of the penalty weights of combinations.
    more_names : sequence of str
        Further items that documents may have, beside those of the training documents, if these are no matrix.
    names : sequence of str
        Of the items of the training documents.
    of_matrix : bool
        Whether the training documents were a matrix, and the names are those of its columns.
    columns : list of str, optional
        Names of the columns of the DataFrame that the training documents were.

    Raises
    ------
    ValueError
        If an option is out of bounds.
    """

    owner: str
    degree: int
    min_df: int
    combination_penalty_factor: float
    more_names: Sequence[str] = ()
    names: Sequence[str] = ()
    of_matrix: bool = False
    columns: list[str] | None = None

    def __post_init__(self) -> None:
        if not is_count(self.degree, 1, 3):
            raise ValueError(f"{self.owner}: degree must be 1, 2 or 3, but is {self.degree!r}")
        check_counts(self.owner, min_df=self.min_df)
        check_factors(self.owner, combination_penalty_factor=self.combination_penalty_factor)

    def __getstate__(self) -> dict[str, Any]:
        """Without what is made anew, so that equal models are saved alike."""
        return {name: value for name, value in vars(self).items() if name != "numbers"}

    def learn(self, X: MatrixOrItems, names: Sequence[str] | None) -> scipy.sparse.csr_array:
        """Return the matrix of training documents, and keep the names of its columns."""
        self.of_matrix = is_matrix(X)
        if self.of_matrix:
            self.columns = column_names(X)
            matrix, self.names = named_matrix(X, self.columns if names is None else names)
        else:
            if names is not None:
                raise ValueError("names are those of the columns of a matrix, but X has the names of items.")
            numbers: dict[str, int] = {}
            matrix = item_matrix(X, numbers)
            for name in self.more_names:
                numbers.setdefault(name, len(numbers))
            self.names = list(numbers)
            matrix.resize(matrix.shape[0], len(numbers))
        return bounded(matrix, self.names, self.degree > 1)

    def read(self, X: MatrixOrItems) -> scipy.sparse.csr_array:
        """Return the matrix of other documents: the same columns, then those of unknown items, which have a length."""
        columns = column_names(X)
        if not is_matrix(X) or (columns is not None and not self.of_matrix):
            unknown: dict[str, int] = {}
            if columns is None:
                matrix = item_matrix(X, unknown, self.numbers)
                if unknown and self.of_matrix and self._has_no_names:
                    raise ValueError(
                        f"{self.owner} was trained on a matrix whose columns have no names, but X has items by their "
                        f"names, such as {next(iter(unknown))!r}. Give a matrix with the same columns."
                    )
                return require_numbers(matrix, self.names, unknown)
            return require_numbers(matrix_by_name(X, columns, unknown, self.numbers), self.names, unknown)
        if not self.of_matrix:
            raise ValueError(
                f"{self.owner} was trained on items by their names, but the columns of X have none: give a DataFrame "
                f"with such columns, or the items of each document."
            )
        matrix = as_matrix(X)
        if matrix.shape[1] != len(self.names):
            raise ValueError(
                f"X has {matrix.shape[1]} features, but {self.owner} is expecting {len(self.names)} features as input. "
                f"(The model has {len(self.names)} items, but the matrix has {matrix.shape[1]} columns.)"
            )
        if columns is not None and columns != self._expected_columns(columns):
            raise ValueError(
                f"The feature names should match those that were passed during fit. "
                f"{difference_of_names(columns, self._expected_columns(columns))}"
            )
        if columns is None and self.columns is not None:
            warn(f"X does not have valid feature names, but {self.owner} was fitted with feature names")
        return require_numbers(matrix, self.names)

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The column of each name, once there are names. To make it takes longer than most predictions."""
        return {name: number for number, name in enumerate(self.names)}

    @property
    def _has_no_names(self) -> bool:
        """Whether the columns of the training documents had no names, so that these are their numbers."""
        return self.columns is None and list(self.names) == default_names(len(self.names))

    def _expected_columns(self, columns: list[str]) -> list[str]:
        """The names that columns must have: any, if those of the training documents had none."""
        if self.columns is not None:
            return self.columns
        return columns if self._has_no_names else list(self.names)

    def some(self, matrix: scipy.sparse.csr_array, rows: np.ndarray) -> scipy.sparse.csr_array:
        return matrix[rows]

    def training_data(self, matrix: scipy.sparse.csr_array, /, **of_documents: Any) -> TrainingData:
        combinations = self._combinations()
        factor = self.combination_penalty_factor
        return TrainingData(
            bags={ITEM_BLOCK: bags_of(matrix, self.min_df)},
            combinations=combinations,
            min_df=dict.fromkeys([ITEM_BLOCK, *combinations], self.min_df),
            penalty_factors={ITEM_BLOCK: 1.0, COMBINATION_BLOCK: factor},
            lengths=np.maximum(np.diff(matrix.indptr), 1).astype(np.float64),
            names=FeatureNames(self._texts),
            **of_documents,
        )

    def _texts(self, block: str, symbols: Stream) -> list[str]:
        """The names of items by their numbers."""
        return [str(self.names[number]) for number in symbols.symbols.tolist()]

    def model(self, solution: Solution, matrix: scipy.sparse.csr_array) -> ItemModel:
        return ItemModel(solution, self.names, self.of_matrix)

    def input_attributes(self) -> dict[str, Any]:
        """Return the number of columns if the training documents were a matrix, and their names if they had any."""
        found: dict[str, Any] = {"n_features_in_": len(self.names)} if self.of_matrix else {}
        return found if self.columns is None else {**found, "feature_names_in_": np.array(self.columns, object)}

    def saved_state(self) -> dict[str, Any]:
        """Return what is saved of the training documents: the names of items and columns."""
        return {"names": list(self.names), "of_matrix": self.of_matrix, "columns": self.columns or []}

    def snapshot(self, model: ItemModel) -> Snapshot:
        """Return what is saved of a model; a ValueError if it has scores of words by their vectors."""
        if model.word_scores is not None:
            raise ValueError("A model over items with word vectors cannot be saved: save it with pickle.")
        return snapshot_of_solution(model.solution, self._blocks(), cast("Any", Words(self.names)))

    def restored(self, saved: SavedEstimator, n_labels: int) -> tuple[ItemModel, Report]:
        names, self.of_matrix, columns = checked_values(saved.space, names=list, of_matrix=bool, columns=list)
        if not are_names(names) or not are_names(columns) or len(columns) not in (0, len(names)):
            raise damaged_model("its items have no names, or not one for each column")
        self.names, self.columns = names, columns or None
        words = Words(names)
        snapshot, report = saved.snapshot(self._blocks(), words, n_labels)
        return ItemModel(item_solution(snapshot, words), names, self.of_matrix), report

    def _combinations(self) -> dict[str, CombinationBlock]:
        """The block of combinations by its name, if there is one."""
        if self.degree == 1:
            return {}
        block = Combinations([ITEM_BLOCK], self.degree, self.min_df, self.combination_penalty_factor)
        return {COMBINATION_BLOCK: block}

    def _blocks(self) -> Blocks:
        return {ITEM_BLOCK: cast("Any", NamedItems()), **self._combinations()}

    def naming(self, X: MatrixOrItems) -> ItemNaming:
        return ItemNaming(self.names)


@dataclass(frozen=True)
class ItemNaming:
    """Names of items as features, for a test of them."""

    names: Sequence[str]

    def kind(self, block: str) -> str:
        return "item"

    def text(self, block: str, symbols: np.ndarray) -> str:
        return self.names[int(symbols[0])]

    def context(self, document: int, block: str, symbols: np.ndarray) -> str:
        return ""


class ItemModel:
    """A solution over items, prepared for scoring matrices: a :class:`ScoringModel`.

    Parameters
    ----------
    solution : Solution
    names : sequence of str
        Of the items.
    of_matrix : bool
        Whether the items are the columns of the matrix that the training documents were.
    """

    def __init__(self, solution: Solution, names: Sequence[str], of_matrix: bool) -> None:
        self.solution = solution
        self.names = names
        self.of_matrix = of_matrix
        features = {tuple(int(term.symbols[0]) for term in terms): k for k, terms in enumerate(solution.terms)}
        self.word_scores = None if solution.word_scores is None else solution.word_scores.written()
        numbers, self.members = Members.build(features)
        self.columns = np.array(list(numbers), np.int64)

    @property
    def weights(self) -> np.ndarray | scipy.sparse.csr_array:
        return self.solution.weights

    @property
    def intercepts(self) -> np.ndarray:
        return self.solution.intercepts

    def features(self) -> Iterator[ItemFeature]:
        return self._named_features(self.names)

    def _named_features(self, names: Sequence[str]) -> Iterator[ItemFeature]:
        for terms, df in zip(self.solution.terms, self.solution.df.tolist(), strict=True):
            yield ItemFeature(tuple(sorted(names[int(term.symbols[0])] for term in terms)), df)

    @property
    def items(self) -> np.ndarray:
        """The item of each feature, -1 for combinations: int64 (n_features)."""
        items = np.full(len(self.solution.terms), -1, np.int64)
        for _, rows, symbols in self.solution.terms.of_blocks:
            items[rows] = symbols.symbols
        return items

    def by_column(self, coefficients: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
        if not self.of_matrix:
            return coefficients
        items, n_columns = self.items, len(self.names)
        places = np.where(items < 0, n_columns + np.cumsum(items < 0) - 1, items)
        shape = (coefficients.shape[0], n_columns + np.count_nonzero(items < 0))
        return scipy.sparse.csr_array((coefficients.data, places[coefficients.indices], coefficients.indptr), shape)

    def column_names(self, given: Sequence[str] | None) -> np.ndarray:
        columns = self.names
        if given is not None and list(columns) == default_names(len(columns)):
            columns = given
        names = [str(feature) for feature in self._named_features(columns)]
        if self.of_matrix:
            names = [*columns, *(names[k] for k in np.flatnonzero(self.items < 0).tolist())]
        return np.array(names, object)

    def scores(self, matrix: scipy.sparse.csr_array) -> np.ndarray:
        shares, n_labels = self.solution.length_shares, len(self.solution.intercepts)
        totals = np.zeros((matrix.shape[0], n_labels + (len(shares) > 0)))
        add_item_scores(self._found(matrix), columns_of(self.solution), shares, totals)
        if self.solution.mean_scale:
            totals *= self._document_weights(matrix, totals[:, -1])[:, None]
        scores = totals[:, :n_labels] + self.solution.intercepts
        if self.word_scores is not None:
            self.word_scores.add_scores(*symbols_of_rows(matrix), scores)
        return scores

    def score_parts(self, matrix: scipy.sparse.csr_array) -> Iterator[np.ndarray]:
        for first in range(0, matrix.shape[0], SCORED_AT_ONCE):
            yield self.scores(matrix[first : first + SCORED_AT_ONCE])

    def contributions(self, matrix: scipy.sparse.csr_array) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        starts, rows, values = self._found(matrix)
        documents = np.repeat(np.arange(matrix.shape[0]), np.diff(starts))
        if self.solution.mean_scale:
            shares = self.solution.length_shares
            of_rows = shares[rows] if len(shares) else np.zeros(len(rows))
            totals = np.bincount(documents, of_rows * np.square(values), matrix.shape[0])
            values = values * self._document_weights(matrix, totals)[documents]
        for first, last in pairwise(starts.tolist()):
            yield rows[first:last], values[first:last]

    def _document_weights(self, matrix: scipy.sparse.csr_array, totals: np.ndarray) -> np.ndarray:
        """a_i, by the totals of the features' shares of the length where they have any."""
        by_shares = len(self.solution.length_shares) > 0
        lengths = bounded_lengths(totals) if by_shares else np.maximum(np.diff(matrix.indptr), 1)
        return np.asarray(self.solution.mean_scale / np.sqrt(lengths))

    def _found(self, matrix: scipy.sparse.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Features of documents, and their values (see :meth:`Members.features_of`)."""
        known = scipy.sparse.csr_array(matrix[:, self.columns])
        return self.members.features_of(
            known.indptr.astype(np.int64), known.indices.astype(np.int32), known.data.astype(np.float64)
        )


def item_solution(snapshot: Snapshot, numbers: Words) -> Solution:
    """The solution that a snapshot was made of."""
    table = snapshot.features

    def columns_of(term: NamedTerm) -> SymbolTerm:
        if len(term.symbols) != 1:
            raise damaged_model(f"it has an item of several names, {listed(term.symbols)}")
        return Term(term.block, np.array([numbers.numbers[term.symbols[0]] - 1], np.uint64))

    terms = FeatureTerms.of([tuple(map(columns_of, table.terms(k))) for k in range(table.n_features)])
    return Solution(
        list(table.blocks),
        terms,
        terms,
        table.df,
        snapshot.weights,
        snapshot.intercepts,
        snapshot.mean_scale,
        length_shares=snapshot.length_shares,
        stability=snapshot.stability,
    )


def are_names(values: list[Any]) -> bool:
    """Whether these are different strings."""
    return all(isinstance(value, str) for value in values) and len(set(values)) == len(values)


def difference_of_names(columns: Sequence[str], expected: Sequence[str]) -> str:
    """Say in what the names of columns differ from those that are expected."""
    of_x, of_fit = set(columns), set(expected)
    found = {
        "Names that fit did not have": [name for name in columns if name not in of_fit],
        "Missing": [name for name in expected if name not in of_x],
    }
    differences = [f"{what}: {listed(names)}." for what, names in found.items() if names]
    return " ".join(differences or ["They are the same in another order."])


def symbols_of_rows(matrix: scipy.sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """The columns of each document's items: uint64, and where those of each document begin, and the last end."""
    return matrix.indices.astype(np.uint64), matrix.indptr.astype(np.int64)


def by_falling_weight(weights: np.ndarray | scipy.sparse.csr_array) -> np.ndarray:
    """Return the order of features by their largest absolute weight: int64 (n_features)."""
    if isinstance(weights, np.ndarray):
        largest = np.abs(weights).max(axis=1, initial=0.0)
    else:
        largest = np.array([max((abs(weight) for _, weight in row), default=0.0) for row in entries(weights)])
    return np.argsort(-largest, kind="stable")


def example_weights(sample_weight: Sequence[float] | np.ndarray | None, n: int) -> np.ndarray:
    """Return the weights of n documents; a ValueError unless all are at least 0, and one above."""
    if sample_weight is None:
        return np.ones(n)
    require_readable("sample_weight", sample_weight)
    if isinstance(sample_weight, str | Mapping):
        raise ValueError(f"sample_weight must be a list with a number for each document, but is {sample_weight!r:.60}.")
    try:
        given = sample_weight if hasattr(sample_weight, "__array__") else list(sample_weight)
        weights = np.asarray(given, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"sample_weight must have a number for each document: {error}.") from error
    allowed = (weights == 0.0) | ((weights >= SMALLEST_WEIGHT) & (weights <= LARGEST_VALUE))
    if weights.shape != (n,):
        problem = f"Its shape is {weights.shape}."
    elif not allowed.all():
        first = int(np.argmin(allowed))
        limits = f"weights that are not 0 are from {SMALLEST_WEIGHT:g} to {LARGEST_VALUE:g}"
        problem = f"Number {first} (from 0) is {weights[first]:g}; {limits}."
    elif n and not weights.any():
        problem = "All are 0."
    else:
        return weights
    raise ValueError(
        f"sample_weight must have {n:,} numbers above 0, or zero for a document that does not count. {problem}"
    )


def checked_learner(estimator: LearnerEstimator) -> Any:
    """Return the learner of an estimator, the default one for None; a ValueError if it is none."""
    learner, owner = estimator._learner_or_default(), type(estimator).__name__
    if not is_learner(learner):
        raise ValueError(f"{owner}: learner must be a Grafting, GraftingPath or CoordinateAscent, but is {learner!r}")
    return learner


def warn_of_unused_options(owner: str, learner: Any, holds_out: bool) -> None:
    """Warn of options that an estimator does not look at, if they are set.

    ``holds_out``: whether held-out documents choose a point of the path.
    """
    if not isinstance(learner, GraftingPath):
        return
    default = GraftingPath()
    for_components = [name for name in FOR_COMPONENTS if not (holds_out and name == "vectors_choices")]
    unused = [name for name in for_components if getattr(learner, name) != getattr(default, name)]
    if unused:
        message = f"{owner} does not look at {listed(unused)} of its learner: these are for components and their dev."
        warn(message)
    if not holds_out and learner.parsimony == "one_se":
        warn(
            f'{owner} holds out no documents: parsimony = "one_se" has no effect, and the model is the last point of '
            f"the path. Give a number of features, or choose l1 or max_features by a search."
        )


def warn_unless_converged(owner: str, learner: Any, report: Report) -> None:
    """Warn of a fit that could go no further; not if the learner is one that stops early."""
    if report.converged:
        return
    if isinstance(learner, PenaltySettings):
        ended = f"its optimum, at a relative duality gap of {report.relative_gap:.2g}, above tol = {learner.tol:g}"
    elif isinstance(learner, CoordinateAscent) and learner.iterations is None:
        ended = "its scores have converged"
    else:
        return
    warn(
        f"{owner}: the fit has ended before {ended}. The numbers are badly scaled: bring the values of all columns to "
        f"similar sizes around 0 (StandardScaler), and the weights of documents to about 1.",
        ConvergenceWarning,
    )


def checked_input_features(estimator: Any, input_features: Any) -> list[str] | None:
    """The names that a step before gives to the columns of a matrix; None if X had no columns, or none are given.

    A ValueError if they are not as many as the columns, or others than those of a DataFrame in training.
    """
    n_columns = getattr(estimator, "n_features_in_", None)
    if input_features is None or n_columns is None:
        return None
    names = list(map(str, input_features))
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and names != known.tolist():
        raise ValueError(f"input_features is not equal to feature_names_in_. {difference_of_names(names, known)}")
    if len(names) != n_columns:
        raise ValueError(
            f"input_features should have length equal to number of features ({n_columns}), got {len(names)}"
        )
    return names


def n_documents(documents: Any) -> int:
    """Return the number of documents: rows of a matrix, or members of a list."""
    return int(documents.shape[0]) if hasattr(documents, "shape") else len(documents)


def started_fit(learner: Any, data: TrainingData) -> Fit:
    """Return the fit of a learner before its first step; a ValueError if constraints name no label or block of it."""
    if (constraints := getattr(learner, "constraints", None)) is not None:
        constraints.check(f"{type(learner).__name__}:", data.labels, [*data.min_df])
    return start(learner, data)


def finished_fit(learner: Any, data: TrainingData) -> Fit:
    """Return the fit of a learner after its last step."""
    fit = started_fit(learner, data)
    while not fit.finished:
        fit.step()
    return fit
