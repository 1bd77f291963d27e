"""Documents as matrices of item values: conversion, checks, and bags of their columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np
import scipy.sparse

from .extract.bags import Bags

#: A matrix of values (n_documents, n_items), or for each document its items or their values by name.
MatrixOrItems = Any
#: How far above 1 a value may be: scaled values can exceed it by a few units in the last place.
VALUE_TOLERANCE = 1e-9


def is_matrix(documents: MatrixOrItems) -> bool:
    """Whether documents are given as a matrix."""
    return scipy.sparse.issparse(documents) or isinstance(documents, np.ndarray)


def as_matrix(documents: Any) -> scipy.sparse.csr_array:
    """A copy of a matrix in float64, without stored zeros."""
    matrix = scipy.sparse.csr_array(documents, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def named_matrix(documents: Any, names: Sequence[str] | None) -> tuple[scipy.sparse.csr_array, Sequence[str]]:
    """A matrix and the names of its columns, which are their numbers by default.

    Raises
    ------
    ValueError
        If there is not one name for each column, two are equal, or one is no string.
    """
    matrix = as_matrix(documents)
    columns = list(map(str, range(matrix.shape[1]))) if names is None else list(names)
    if len(columns) != matrix.shape[1] or len(set(columns)) < len(columns):
        raise ValueError(f"There are {matrix.shape[1]} columns, but {len(set(columns))} different names.")
    check_names(columns)
    return matrix, columns


def item_matrix(documents: Sequence[Any], numbers: dict[str, int], grow: bool) -> scipy.sparse.csr_array:
    """The matrix of documents that are collections of names, or mappings of names to values.

    Parameters
    ----------
    documents : sequence
    numbers : dict of str to int
        The column of each name.
    grow : bool
        Whether unknown names are added to ``numbers``. Otherwise they are ignored.

    Raises
    ------
    ValueError
        If a document is a string, or a name is none.
    """
    indptr, indices, values = [0], [], []
    for i, document in enumerate(documents):
        if isinstance(document, str):
            raise ValueError(
                f"Document {i} is a string, {document[:40]!r}: give a collection of the names of its items."
            )
        items = values_by_name(document)
        check_names(items)
        for name, value in items.items():
            number = numbers.setdefault(name, len(numbers)) if grow else numbers.get(name)
            if number is not None:
                indices.append(number)
                values.append(value)
        indptr.append(len(indices))
    shape = (len(indptr) - 1, len(numbers))
    return as_matrix(scipy.sparse.csr_array((np.array(values, np.float64), np.array(indices, np.int64), indptr), shape))


def values_by_name(document: Any) -> Mapping[str, float]:
    """The values of a document's items: 1, unless it is a mapping. Sets are sorted: their order differs by process."""
    if isinstance(document, Mapping):
        return document
    return dict.fromkeys(sorted(document, key=str) if isinstance(document, Set) else document, 1.0)


def check_names(names: Iterable[Any]) -> None:
    """Raise a ValueError if a name is no string."""
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"Names of items must be strings, but one is {name!r} ({type(name).__name__}).")


def bounded(matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """The same matrix, clipped to 1 in place; a ValueError if a value is outside [0, 1] by more than rounding."""
    wrong = np.flatnonzero(~((matrix.data >= 0.0) & (matrix.data <= 1.0 + VALUE_TOLERANCE)))
    if len(wrong):
        document = int(np.searchsorted(matrix.indptr, wrong[0], side="right")) - 1
        raise ValueError(
            f"Values must be in [0, 1], but column {matrix.indices[wrong[0]]} of document {document} is "
            f"{matrix.data[wrong[0]]}. The bounds of combinations hold only for such values: scale them first."
        )
    np.minimum(matrix.data, 1.0, out=matrix.data)
    return matrix


def bags_of(matrix: scipy.sparse.csr_array, min_df: int) -> Bags:
    """The columns of at least ``min_df`` documents as items; their symbols are the numbers of the columns."""
    df = np.bincount(matrix.indices, minlength=matrix.shape[1]).astype(np.int32)
    values = np.empty(0) if (matrix.data == 1.0).all() else matrix.data
    numbers = np.arange(matrix.shape[1], dtype=np.uint64)
    bags = Bags(numbers, df, matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), values)
    return bags.of_items(df >= min_df)
