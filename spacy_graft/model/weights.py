"""Weights of features: an array, or a sparse one in a model of very many labels, of which most weights are 0.

scipy is imported where there are sparse weights, or an array is saved as such: loading other models does not need it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from .table import damaged_model

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LabelT = TypeVar("LabelT")
#: What sparse weights are saved as, and the types of these arrays.
SPARSE_PARTS = {"starts": np.int64, "labels": np.int32, "values": np.float64}
#: Where the parts are if they are those of an array of which most weights are 0, and the largest such array.
PARTS_OF_ARRAY, LARGEST_ARRAY = "array", 1 << 27


class SparseWeights(NamedTuple):
    """Sparse weights as the kernels take them.

    Attributes
    ----------
    starts : int64 (n_features + 1), labels : int32, values : float64
        Row k has ``values[starts[k] : starts[k + 1]]`` for the labels at the same places.
    """

    starts: np.ndarray
    labels: np.ndarray
    values: np.ndarray


def copied(weights: Any) -> np.ndarray | csr_array:
    """Weights as the kernels read them, of their own."""
    if not hasattr(weights, "tocsr"):
        return np.array(weights, np.float64, order="C")
    found = weights.tocsr().astype(np.float64, copy=True)
    found.sum_duplicates()
    return found


def for_kernels(weights: csr_array) -> SparseWeights:
    """Sparse weights as the kernels take them."""
    parts = zip((weights.indptr, weights.indices, weights.data), SPARSE_PARTS.values(), strict=True)
    return SparseWeights(*(np.ascontiguousarray(part, dtype) for part, dtype in parts))


def kernel_parts(weights: np.ndarray | SparseWeights) -> tuple[np.ndarray | None, ...]:
    """What kernels are given of weights: an array and None thrice, or None and sparse ones."""
    return (weights, None, None, None) if isinstance(weights, np.ndarray) else (None, *weights)


def dense_rows(weights: np.ndarray | csr_array, rows: np.ndarray) -> np.ndarray:
    """Some rows, not sparse."""
    return weights[rows] if isinstance(weights, np.ndarray) else weights[rows].toarray()


def dense_column(weights: np.ndarray | csr_array, column: int) -> np.ndarray:
    """A column, not sparse."""
    return weights[:, column] if isinstance(weights, np.ndarray) else weights[:, [column]].toarray().ravel()


def are_equal(one: np.ndarray | csr_array, other: np.ndarray | csr_array) -> bool:
    """Whether two weights are the same."""
    if type(one) is not type(other) or one.shape != other.shape:
        return False
    return np.array_equal(one, other) if isinstance(one, np.ndarray) else (one != other).nnz == 0


def with_column(weights: np.ndarray | csr_array, column: np.ndarray) -> np.ndarray | csr_array:
    """The weights, and one more column."""
    if isinstance(weights, np.ndarray):
        return np.ascontiguousarray(np.column_stack([weights, column]))
    from scipy.sparse import csr_array, hstack

    return hstack([weights, csr_array(column[:, np.newaxis])], format="csr")


def times_rows(weights: np.ndarray | csr_array, factors: np.ndarray) -> np.ndarray | csr_array:
    """Weights, each row times its factor."""
    if isinstance(weights, np.ndarray):
        return np.asarray(weights * factors[:, np.newaxis])
    return weights.multiply(factors[:, np.newaxis]).tocsr()


def entries(weights: np.ndarray | csr_array) -> list[list[tuple[int, float]]]:
    """The weights of each feature that are not 0, with the numbers of their labels."""
    if isinstance(weights, np.ndarray):
        return [[(y, w) for y, w in enumerate(row) if w] for row in weights.tolist()]
    starts, pairs = weights.indptr.tolist(), list(zip(weights.indices.tolist(), weights.data.tolist(), strict=True))
    return [pairs[begin:end] for begin, end in pairwise(starts)]


class SparseRow(dict[LabelT, float]):
    """Numbers by label that are 0 for labels which are not mentioned."""

    def __missing__(self, label: LabelT) -> float:
        return 0.0


def by_label(weights: np.ndarray | csr_array, labels: Sequence[LabelT]) -> list[dict[LabelT, float]]:
    """The weights of each feature by label; sparse ones without those that are 0."""
    if isinstance(weights, np.ndarray):
        return [dict(zip(labels, row, strict=True)) for row in weights.tolist()]
    return [SparseRow({labels[y]: w for y, w in row}) for row in entries(weights)]


def saved_weights(weights: np.ndarray | csr_array) -> Any:
    """Weights as they are saved: those that are 0 are left out, also of an array if most of them are."""
    if not isinstance(weights, np.ndarray):
        return for_kernels(weights)._asdict()
    if weights.size > LARGEST_ARRAY or 2 * np.count_nonzero(weights) >= weights.size:
        return weights
    from scipy.sparse import csr_array

    return {PARTS_OF_ARRAY: saved_weights(csr_array(weights))}


def loaded_weights(saved: dict[str, Any], n_features: int, n_labels: int) -> np.ndarray | csr_array:
    """What :func:`saved_weights` gave of weights of which some are left out.

    Raises
    ------
    ValueError
        If they are damaged.
    """
    is_array = len(saved) == 1 and isinstance(saved.get(PARTS_OF_ARRAY), dict)
    if is_array:
        saved = saved[PARTS_OF_ARRAY]
    kinds = {name: getattr(part, "dtype", None) for name, part in saved.items()}
    if kinds != SPARSE_PARTS or any(part.ndim != 1 for part in saved.values()):
        raise damaged_model("its sparse weights do not have starts, labels and values")
    starts, labels, values = (saved[name] for name in SPARSE_PARTS)
    ends = len(starts) == n_features + 1 and starts[0] == 0 and starts[-1] == len(labels) == len(values)
    if not ends or (starts[1:] < starts[:-1]).any():  # differences could overflow
        raise damaged_model("its sparse weights do not have a row for each feature")
    if len(labels) and not 0 <= labels.min() <= labels.max() < n_labels:
        raise damaged_model("its sparse weights are of labels that it does not have")
    keys = np.repeat(np.arange(n_features), np.diff(starts)) * np.int64(n_labels) + labels
    if (np.diff(keys) <= 0).any():
        raise damaged_model("its sparse weights have a label twice, or not in order")
    if is_array:
        if n_features * n_labels > LARGEST_ARRAY:
            raise damaged_model("its sparse weights are of a larger array than is saved so")
        weights = np.zeros((n_features, n_labels))
        weights.flat[keys] = values
        return weights
    from scipy.sparse import csr_array

    return csr_array((values, labels, starts), (n_features, n_labels))
