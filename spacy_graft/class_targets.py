"""The targets of classifiers: labels, collections of labels, or a matrix of zeros and ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import pairwise
from math import isinf
from typing import Any

import numpy as np
import scipy.sparse

from .estimator_files import checked_values
from .estimators import DataConversionWarning
from .graft.memory import has_many_labels, require_memory_for
from .matrices import as_floats, is_missing, is_real_number, require_readable
from .messages import listed, warn
from .model.table import damaged_model
from .options import as_python

#: Kinds of the types of labels that can be saved: strings, numbers, or strings as objects.
LABEL_KINDS = "biufUO"


@dataclass(frozen=True)
class ClassTargets:
    """The labels of training documents.

    Attributes
    ----------
    classes : (n_labels,)
        The labels, sorted; the numbers of the columns of a matrix.
    values : float64 (n_documents, n_labels), or csr_array
        1 where a document has the label, else 0; sparse where there are very many independent labels.
    exclusive : bool
        Whether each document has exactly one label.
    dtype : dtype, optional
        Of the matrix, if the targets were one.
    """

    classes: np.ndarray
    values: np.ndarray | scipy.sparse.csr_array
    exclusive: bool
    dtype: np.dtype[Any] | None = None

    @classmethod
    def read(cls, y: Any, multilabel: bool) -> ClassTargets:
        """Read targets in any of their forms.

        Parameters
        ----------
        y : iterable, or matrix
            A label for each document, or, with ``multilabel``, a collection of labels, or a mapping of labels to zeros
            and ones. A matrix of zeros and ones, or lists of them of one length above 1, has a column for each label,
            whatever ``multilabel`` is; a matrix of one column only if it is sparse, or with ``multilabel``.
        multilabel : bool

        Raises
        ------
        ValueError
            If labels are missing, not finite, continuous, or cannot be sorted.
        """
        require_targets(y)
        if (indicator := indicator_of(y, multilabel)) is not None:
            n, n_labels = indicator.shape
            values = scipy.sparse.csr_array(indicator) if has_many_labels(n, n_labels, False) else indicator
            return cls(np.arange(n_labels), values.astype(np.float64), False, indicator.dtype)
        if multilabel:
            rows, labels = sets_and_labels(collections_of(y))
            return cls(as_classes(labels), has_label(rows, labels, False), False)
        values = one_column(y)
        rows, labels = sets_and_labels([(label,) for label in single_labels(values)])
        classes = as_classes(labels)
        if is_array_of_labels(values):
            classes = classes.astype(values.dtype)
        return cls(classes, has_label(rows, labels, True), True)

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def dense(self) -> np.ndarray:
        """The values, not sparse: float64 (n_documents, n_labels)."""
        return self.values if isinstance(self.values, np.ndarray) else self.values.toarray()

    def keys(self) -> Iterator[bytes]:
        """Yield a key for each document, the same for documents with the same labels."""
        values = self.values
        if isinstance(values, np.ndarray):
            yield from (row.tobytes() for row in values)
        else:
            yield from (values.indices[begin:end].tobytes() for begin, end in pairwise(values.indptr.tolist()))

    def some(self, rows: np.ndarray) -> ClassTargets:
        """The targets of some documents; labels that none of them has are left out, unless they are of a matrix."""
        values = self.values[rows]
        kept = values.sum(axis=0) > 0.0 if self.dtype is None else np.ones(len(self.classes), np.bool_)
        return ClassTargets(self.classes[kept], values[:, kept], self.exclusive, self.dtype)

    def fields(self, example_weights: np.ndarray) -> dict[str, Any]:
        """The fields of :class:`~spacy_graft.graft.data.TrainingData` that follow from the targets."""
        values, shape = self.values, self.values.shape
        is_array = isinstance(values, np.ndarray)
        return {
            "targets": values if isinstance(values, np.ndarray) else values.tocsc(),
            "known": np.ones(shape, np.bool_) if is_array else np.broadcast_to(np.True_, shape),
            "example_weights": example_weights,
            "labels": tuple(map(str, self.classes.tolist())),
            "exclusive": self.exclusive,
        }

    def require_labels(self) -> None:
        """Raise a ValueError if there are fewer labels than a model needs."""
        if len(self.classes) < (least := 2 if self.exclusive else 1):
            raise ValueError(
                f"y must have at least {least} different labels, but has {listed(self.classes.tolist())}"
                f"{' alone' if len(self.classes) else ''}. Documents of weight 0 do not count. A classifier cannot be "
                f"trained on {'one class' if self.exclusive else 'no class'}."
            )


def saved_labels(classes: np.ndarray, exclusive: bool, matrix_dtype: np.dtype[Any] | None) -> dict[str, Any]:
    """Labels in the values of JSON; a ValueError if there are others than strings and numbers.

    Parameters
    ----------
    classes : (n_labels,)
    exclusive : bool
    matrix_dtype : dtype, optional
        Of the matrix of targets, if they were one.
    """
    labels: list[Any] = classes.tolist()
    if classes.dtype.kind not in LABEL_KINDS or not all(isinstance(label, str | int | float) for label in labels):
        raise ValueError("Only labels that are strings or numbers can be saved: save the model with pickle.")
    matrix = "" if matrix_dtype is None else matrix_dtype.str
    return {"classes": labels, "dtype": classes.dtype.str, "exclusive": exclusive, "matrix": matrix}


def restored_labels(saved: dict[str, Any]) -> tuple[np.ndarray, bool, np.dtype[Any] | None]:
    """The arguments of :func:`saved_labels`; a ValueError for other values than it gave."""
    labels, dtype, exclusive, matrix = checked_values(saved, classes=list, dtype=str, exclusive=bool, matrix=str)
    try:
        classes, of_matrix = np.array(labels, label_dtype(dtype)), label_dtype(matrix) if matrix else None
    except (TypeError, ValueError, OverflowError) as error:
        raise damaged_model(f"its labels are not those of a model ({error})") from error
    if len(set(classes.tolist())) < len(classes):
        raise damaged_model("its labels are not those of a model (one is there twice)")
    return classes, exclusive, of_matrix


def label_dtype(name: str) -> np.dtype[Any]:
    """The type of labels or of a matrix of targets: strings, numbers, or strings as objects."""
    dtype = np.dtype(name)
    if dtype.kind not in LABEL_KINDS:
        raise ValueError(f"{name!r} is no type of labels")
    return dtype


def require_targets(y: Any) -> None:
    """Raise a ValueError if targets are None, no collection, or masked."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    if isinstance(y, str | bytes | Mapping) or (not isinstance(y, Iterable) and not hasattr(y, "__array__")):
        raise ValueError(f"y must be a list with the labels of each document, but is {y!r:.60}.")
    require_readable("y", y)


def collections_of(y: Iterable[Any]) -> list[Iterable[Any]]:
    """The labels of documents, as collections of them or as mappings to zeros and ones; else a ValueError."""
    # The scalars of Arrow are no strings.
    rows = np.asarray(y) if hasattr(y, "__array__") else y
    return [labels_that_hold(number, value) for number, value in enumerate(rows)]


def labels_that_hold(number: int, value: Any) -> Iterable[Any]:
    """The labels of one document. A string is no collection of them: its letters would be labels."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable) or getattr(value, "shape", None) == ():
        raise ValueError(
            f"With multilabel, y has a collection of labels for each document, but that of document {number} is "
            f"{value!r:.60}."
        )
    if not isinstance(value, Mapping):
        return value
    if others := [label for label, holds in value.items() if not is_real_number(holds) or holds not in (0, 1)]:
        raise ValueError(
            f"Labels hold or do not hold: a mapping has ones and zeros, but that of document {number} has "
            f"{value[others[0]]!r:.60} for {others[0]!r}. Components of a pipeline learn from numbers between them."
        )
    return [label for label, holds in value.items() if holds]


def is_array_of_labels(values: Any) -> bool:
    """Whether labels are an array; NumPy's strings of any length become Python's, whose type can be saved."""
    return isinstance(values, np.ndarray) and values.dtype.kind != "T"


def single_labels(values: Any) -> list[Any]:
    """The label of each document as Python has it; a ValueError for collections of labels."""
    labels = values.tolist() if is_array_of_labels(values) else list(map(as_python, values))
    kind = next((type(label).__name__ for label in labels if isinstance(label, list | Set | Mapping)), None)
    if len({len(label) for label in labels if isinstance(label, tuple)}) > 1:
        kind = "tuple"  # of one length they are labels, such as a topic with its subtopic
    if kind is not None:
        raise ValueError(f"Each document has one label, but y has a {kind}. With multilabel=True it has any number.")
    return labels


def expected_labels(y: Any, classes: list[Any]) -> list[Any]:
    """The label of each document, to be compared with predictions of classes; a ValueError for other kinds of targets.

    Labels that the model does not know are wrong predictions. If it knows none, and all its own are strings while these
    are not, or the other way round, something else was given.
    """
    if scipy.sparse.issparse(y):
        raise ValueError("Each document has one label, but y is a sparse matrix.")
    labels = single_labels(one_column(y))
    checked_sets((label,) for label in labels)
    if len({isinstance(label, str) for label in [*labels, *classes]}) == 2 and set(classes).isdisjoint(labels):
        raise ValueError(
            f"y must have labels such as the model was trained on ({listed(classes[:3])}), but the first is "
            f"{labels[0]!r:.60}."
        )
    return labels


def label_sets(y: Any, classes: list[Any]) -> list[set[Any]]:
    """The labels of each document, from collections of them or from a matrix with a column for each of the classes.

    Where 0 or 1 is a label, lists of them are collections. Columns of a DataFrame with the names of the classes may be
    in any order.
    """
    require_targets(y)
    if hasattr(y, "columns") and set(y.columns) == set(classes):
        y = y[classes]
    are_labels = isinstance(y, list | tuple) and not {0, 1}.isdisjoint(classes)
    matrix = None if are_labels else indicator_of(y, True)
    if matrix is not None and matrix.shape[1] == len(classes):
        rows = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        return [{classes[k] for k in np.flatnonzero(row).tolist()} for row in rows]
    return checked_sets(collections_of(y))


def indicator_of(y: Any, multilabel: bool) -> np.ndarray | scipy.sparse.csr_array | None:
    """Targets as a matrix of zeros and ones, if they are one; sparse if y is and labels are many.

    With ``multilabel``, lists of other numbers are collections of labels. One column is a matrix only if it is sparse,
    or with ``multilabel`` of zeros and ones; otherwise it has the labels of the documents.
    """
    are_lists = isinstance(y, list | tuple)
    least = 1 if scipy.sparse.issparse(y) or (multilabel and not are_lists) else 2
    if scipy.sparse.issparse(y):
        summed = scipy.sparse.csr_array(y)
        if not summed.has_canonical_format:
            summed = summed.copy()  # which may be the caller's memory
            summed.sum_duplicates()
        if has_many_labels(summed.shape[0], summed.shape[1], False) and np.isin(summed.data, (0, 1)).all():
            return summed
        values = summed.toarray()
    else:
        values = np.asarray(y) if hasattr(y, "__array__") else y
        if isinstance(values, list | tuple) and values and isinstance(values[0], np.ndarray | list | tuple):
            try:
                values = np.asarray(values)
            except ValueError:  # of several lengths
                return None
    if not isinstance(values, np.ndarray) or values.ndim != 2:
        return None
    if values.dtype.kind == "O" and all(map(is_real_number, values.flat)):
        values = as_floats(values)  # as pandas has columns that may lack some
    if values.dtype.kind not in "biuf":
        return None
    if values.shape[1] < least:
        return None
    if multilabel and (are_lists or values.shape[1] == 1) and not np.isin(values, (0, 1)).all():
        return None
    require_zeros_and_ones(values)
    return values


def require_zeros_and_ones(matrix: np.ndarray) -> None:
    """Raise a ValueError if a matrix of targets has something else, such as a missing value."""
    if matrix.dtype.kind == "O":  # pandas' missing value cannot be compared
        allowed = np.array([is_real_number(value) and value in (0, 1) for value in matrix.flat], np.bool_)
        allowed = allowed.reshape(matrix.shape)
    else:
        allowed = np.isin(matrix, (0, 1))
    if not allowed.all():
        row, column = np.argwhere(~allowed)[0]
        raise ValueError(
            f"y has the shape {matrix.shape}: it must be a matrix of zeros and ones, with a column for each label, but "
            f"document {row} has {matrix[row, column]} in column {column}."
        )


def one_column(y: Any) -> Any:
    """Labels in one dimension; a column becomes one, with a warning."""
    values = np.asarray(y) if hasattr(y, "__array__") else y
    if isinstance(values, np.ndarray) and values.dtype.kind == "c":
        raise ValueError("Complex data not supported: labels are strings or numbers.")
    if isinstance(values, np.ndarray) and values.ndim != 1:
        if values.ndim != 2 or values.shape[1] != 1:
            raise ValueError(f"y should be a 1d array, got an array of shape {values.shape} instead.")
        warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,), "
            "for example using ravel().",
            DataConversionWarning,
        )
        values = values.ravel()
    return values


def problem_of_label(label: Any) -> str | None:
    """What is wrong with a label: it is missing, or a number that is not finite, or no label."""
    if isinstance(label, str | int):
        return None
    if label is None or is_missing(label):
        return "Input y contains NaN: a label of document {number} is missing."
    if isinstance(label, float) and isinf(label):
        return "Input y contains infinity or a value too large for dtype('float64'), as a label of document {number}."
    if isinstance(label, float) and not label.is_integer():
        return (
            f"Unknown label type: continuous. Document {{number}} has {label}, but a classifier needs labels, not the "
            "values of a regression."
        )
    return None


def sets_and_labels(y: list[Any]) -> tuple[list[set[Any]], list[Any]]:
    """The labels of each document, and all labels, sorted; a ValueError for a value that is no label."""
    try:
        rows = checked_sets(y)
        return rows, sorted(set().union(*rows))
    except TypeError as error:
        raise ValueError(f"Labels must be hashable, and of one type that can be sorted: {error}.") from error


def checked_sets(y: Iterable[Iterable[Any]]) -> list[set[Any]]:
    """The labels of each document; a ValueError for a value that is no label."""
    rows = [{as_python(label) for label in value} for value in y]
    if any(map(problem_of_label, set().union(*rows))):
        number, label = next((i, label) for i, row in enumerate(rows) for label in row if problem_of_label(label))
        raise ValueError(str(problem_of_label(label)).format(number=number))
    return rows


def has_label(rows: list[set[Any]], labels: list[Any], exclusive: bool) -> np.ndarray | scipy.sparse.csr_array:
    """Which labels documents have: float64 (n_documents, n_labels), sparse where labels are very many."""
    require_memory_for(len(rows), len(labels), exclusive)
    places = {label: k for k, label in enumerate(labels)}
    documents = np.repeat(np.arange(len(rows)), list(map(len, rows)))
    columns = np.array([places[label] for row in rows for label in row], np.int64)
    values = scipy.sparse.csr_array((np.ones(len(columns)), (documents, columns)), (len(rows), len(labels)))
    return values if has_many_labels(len(rows), len(labels), exclusive) else values.toarray()


def as_classes(labels: list[Any]) -> np.ndarray:
    """Labels as an array; of objects, if they are neither strings nor numbers."""
    are_plain = all(isinstance(label, str) for label in labels) or all(isinstance(one, int | float) for one in labels)
    # Not if they become others: strings lose zeros at their ends, large integers beside negative ones are floats.
    array = np.array(labels if are_plain else [])
    is_float = array.dtype.kind == "f" and not any(isinstance(label, float) for label in labels)
    if array.tolist() == labels and not is_float:
        return array
    classes = np.empty(len(labels), object)
    classes[:] = labels
    return classes
