"""Documents as matrices of item values: conversion, checks, and bags of their columns; and groups of documents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np
import scipy.sparse

from .extract.bags import Bags
from .extract.texts import DocumentKindError
from .options import LARGEST_VALUE, as_python

#: A matrix of values (n_documents, n_items), or for each document its items or their values by name.
MatrixOrItems = Any
#: No names.
NONE_KNOWN: Mapping[str, int] = {}
#: How far above 1 a value may be: scaled values can exceed it by a few units in the last place.
VALUE_TOLERANCE = 1e-9


def is_matrix(documents: MatrixOrItems) -> bool:
    """Whether documents are given as a matrix: sparse, an array, a DataFrame, or lists of numbers."""
    if scipy.sparse.issparse(documents):
        return True
    if hasattr(documents, "__array__"):
        if has_fields(documents):
            return False
        # An array of objects may also be documents of any kind.
        values = np.asarray(documents)
        return values.dtype.kind != "O" or values.ndim > 1
    first = documents[0] if isinstance(documents, list | tuple) and documents else None
    return isinstance(first, list | tuple | np.ndarray) and len(first) > 0 and is_real_number(first[0])


def has_fields(documents: Any) -> bool:
    """Whether documents are mappings although they can be converted to an array, as a Series of structs in Polars."""
    is_other = isinstance(documents, Iterable) and not isinstance(documents, np.ndarray)
    return is_other and isinstance(next(iter(documents), None), Mapping)


def is_real_number(value: Any) -> bool:
    """Whether a value is a number."""
    return isinstance(value, int | float | np.integer | np.floating | np.bool_)


def documents_at(documents: Any, rows: np.ndarray) -> Any:
    """Some of the documents: rows of a matrix or a table, or members of a list."""
    if scipy.sparse.issparse(documents):
        return scipy.sparse.csr_array(documents)[rows]
    if hasattr(documents, "iloc"):
        return documents.iloc[rows]
    if hasattr(documents, "to_pylist"):  # of Arrow
        return documents.take(rows)
    return documents[rows] if hasattr(documents, "__array__") else [documents[row] for row in rows.tolist()]


def column_names(documents: MatrixOrItems) -> list[str] | None:
    """The names of the columns of a table, if they are strings."""
    for attribute in ("columns", "column_names"):  # tables of Arrow have the columns themselves in ``columns``
        names = list(getattr(documents, attribute, []))
        if names and all(isinstance(name, str) for name in names):
            return names
    return None


def as_matrix(documents: Any) -> scipy.sparse.csr_array:
    """A copy of a matrix in float64, without stored zeros.

    Raises
    ------
    ValueError
        If it does not have two dimensions, has no columns, or has complex numbers, strings or masked values.
    TypeError
        If it has something else than numbers.
    """
    require_readable("X", documents)
    require_no_times(documents)
    try:
        values = documents if scipy.sparse.issparse(documents) else np.asarray(documents)
    except ValueError as error:  # of lists
        raise ValueError(
            f"The rows of X must have as many numbers each ({error}). Items have names, which are strings."
        ) from error
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: give a matrix of real numbers.")
    if values.dtype.kind in "mM":
        raise TypeError(f"Values must be numbers, but X has {values.dtype}.")
    if isinstance(values, np.ndarray) and values.dtype.kind == "O":
        values = np.where(missing_values(values), np.nan, values)
    if values.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {values.ndim}D array instead. Reshape your data: a row for each document, a "
            f"column for each item."
        )
    if not values.shape[1]:
        raise ValueError(f"Found array with 0 feature(s) (shape={values.shape}) while a minimum of 1 is required.")
    if (text := first_text(values)) is not None:
        raise ValueError(
            f"Values must be numbers, but X has {text!r:.60}. Convert numbers in strings first; of categories, make a "
            f"column for each."
        )
    try:
        matrix = scipy.sparse.csr_array(as_floats(values))
    except (TypeError, ValueError) as error:
        wrong = next(entry for entry in values.flat if not is_convertible(entry))
        raise TypeError(f"Values must be numbers, but X has {wrong!r:.60}: {error}") from error
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def as_floats(values: Any) -> Any:
    """A matrix in float64."""
    try:
        return values.astype(np.float64)
    except OverflowError:
        return np.vectorize(number_of, [np.float64])(values)


def is_convertible(value: Any) -> bool:
    """Whether a value can be a number."""
    try:
        number_of(value)
    except (TypeError, ValueError):
        return False
    return True


def require_no_times(documents: Any) -> None:
    """Raise a TypeError if a DataFrame has columns of dates or times, which are numbers to some libraries."""
    for name, dtype in zip(getattr(documents, "columns", ()), getattr(documents, "dtypes", ()), strict=False):
        if re.match("(date|time|duration|period)", str(dtype), re.IGNORECASE):
            raise TypeError(f"Values must be numbers, but the column {name!r} of X has {dtype}.")


def first_text(values: Any) -> str | bytes | None:
    """The first string or bytes in a matrix, which NumPy would convert to numbers, if they look so."""
    if values.dtype.kind in "biuf" or scipy.sparse.issparse(values):
        return None
    return next((as_python(entry) for entry in values.flat if isinstance(entry, str | bytes)), None)


def missing_values(values: np.ndarray) -> np.ndarray:
    """Which objects of an array are missing, as pandas has them in columns that may lack some: bool."""
    return np.array([value is None or is_missing(value) for value in values.flat], np.bool_).reshape(values.shape)


def named_matrix(documents: Any, names: Sequence[str] | None) -> tuple[scipy.sparse.csr_array, Sequence[str]]:
    """A matrix and the names of its columns, which are their numbers by default.

    Raises
    ------
    ValueError
        If there is not one name for each column, two are equal, or one is no string.
    """
    matrix = as_matrix(documents)
    columns = default_names(matrix.shape[1]) if names is None else list(names)
    if len(columns) != matrix.shape[1] or len(set(columns)) < len(columns):
        twice = next((name for name, n in Counter(columns).items() if n > 1), None)
        and_twice = "" if twice is None else f" {twice!r} is the name of several."
        raise ValueError(f"There are {matrix.shape[1]} columns, but {len(set(columns))} different names.{and_twice}")
    check_names(columns)
    return matrix, columns


def default_names(n: int) -> list[str]:
    """The names of columns that have none: their numbers."""
    return list(map(str, range(n)))


def item_matrix(
    documents: Any, numbers: dict[str, int], known: Mapping[str, int] = NONE_KNOWN
) -> scipy.sparse.csr_array:
    """The matrix of documents that are collections of names, or mappings of names to values.

    Parameters
    ----------
    documents : iterable
    numbers : dict of str to int
        Gets the column of each name that is not known; columns go on after those that are.
    known : mapping of str to int
        The column of each name that is known. It is not changed.

    Raises
    ------
    ValueError
        If a document is a string or no collection, a name is no string, or a value is no number.
    """
    if not isinstance(documents, Iterable) or getattr(documents, "shape", None) == ():
        raise ValueError(f"X must be a matrix, or have the items of each document, but is {documents!r:.60}.")
    require_readable("X", documents)
    indptr, indices, values = [0], [], []
    for i, given in enumerate(documents):
        document = given.as_py() if hasattr(given, "as_py") else given  # of Arrow, whose own scalars are no strings
        if isinstance(document, str) or not isinstance(document, Iterable):
            what = f"a string, {document[:40]!r}" if isinstance(document, str) else repr(document)
            raise DocumentKindError(i, f"is {what}: give a collection of the names of its items.")
        try:
            items = values_by_name(document)
            check_names(items)
        except (TypeError, ValueError) as error:  # a name that is not hashable, or another
            raise DocumentKindError(i, f"has items that cannot be read. {error}") from error
        for name, value in items.items():
            indices.append(column_of(str(name), numbers, known))
            try:
                values.append(number_of(value))
            except (TypeError, ValueError) as error:
                raise DocumentKindError(
                    i,
                    f"has {value!r} as the value of {name!r}, but values of items must be numbers. Of a category, make "
                    f"a name: {f'{name}={value}'!r:.60}.",
                ) from error
        indptr.append(len(indices))
    shape = (len(indptr) - 1, len(known) + len(numbers))
    matrix = scipy.sparse.csr_array((np.array(values, np.float64), np.array(indices, np.int64), indptr), shape)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def number_of(value: Any) -> float:
    """A value as a number; a TypeError or ValueError if it is none, also for strings that look like one.

    An integer that is too large for one is infinite, which is refused with its document.
    """
    if isinstance(value, str | bytes):
        raise TypeError(f"{value!r} is a string")
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def require_readable(name: str, values: Any) -> None:
    """Raise a ValueError if values have no order, by which documents and targets belong to each other, or are masked.

    NumPy converts a masked array without its mask: what is under it would be data.
    """
    if isinstance(values, set | frozenset):  # keys of a dictionary have one
        raise ValueError(f"{name} is a set, which has no order: give a list.")
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{name} has masked values: fill them (filled()), or leave their documents out.")


def column_of(name: str, numbers: dict[str, int], known: Mapping[str, int]) -> int:
    """The column of a name, a new one if it has none."""
    column = known.get(name)
    return numbers.setdefault(name, len(known) + len(numbers)) if column is None else column


def matrix_by_name(
    documents: Any, columns: Sequence[str], numbers: dict[str, int], known: Mapping[str, int]
) -> scipy.sparse.csr_array:
    """A DataFrame as :func:`item_matrix` gives the same documents as mappings of names to values."""
    matrix = as_matrix(documents)
    places = np.array([column_of(name, numbers, known) for name in columns])
    parts = matrix.data, places[matrix.indices], matrix.indptr
    return as_matrix(scipy.sparse.csr_array(parts, (matrix.shape[0], len(known) + len(numbers))))


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


def require_numbers(
    matrix: scipy.sparse.csr_array, names: Sequence[str], more: Iterable[str] = ()
) -> scipy.sparse.csr_array:
    """The same matrix; an error if a value is not finite, or too large. Columns have ``names``, then ``more``."""
    wrong = np.flatnonzero(~np.isfinite(matrix.data))
    if len(wrong):
        what = "NaN" if np.isnan(matrix.data[wrong[0]]) else "infinity or a value too large for dtype('float64')"
        raise value_error(matrix, wrong[0], [*names, *more], f"Input X contains {what}.")
    too_large = np.flatnonzero(np.abs(matrix.data) > LARGEST_VALUE)
    if len(too_large):
        problem = f"Values must be at most {LARGEST_VALUE:g}: scale them first."
        raise value_error(matrix, too_large[0], [*names, *more], problem)
    return matrix


def bounded(matrix: scipy.sparse.csr_array, names: Sequence[str], multiplied: bool) -> scipy.sparse.csr_array:
    """The same matrix; values that are above 1 by no more than rounding become 1 in place.

    Parameters
    ----------
    matrix : csr_array
    names : sequence of str
        Of its columns.
    multiplied : bool
        Whether there are products of columns, whose bounds hold only for values from 0 to 1.

    Raises
    ------
    DocumentKindError
        If a value is not finite, or too large; or where columns are multiplied, outside [0, 1] by more than rounding.
    """
    require_numbers(matrix, names)
    wrong = np.flatnonzero((matrix.data < 0.0) | (matrix.data > 1.0 + VALUE_TOLERANCE))
    if multiplied and len(wrong):
        problem = "Values must be in [0, 1], since the bounds of combinations hold only for such: scale them first."
        raise value_error(matrix, wrong[0], names, problem)
    matrix.data[(matrix.data > 1.0) & (matrix.data <= 1.0 + VALUE_TOLERANCE)] = 1.0
    return matrix


def value_error(matrix: scipy.sparse.csr_array, entry: int, names: Sequence[str], problem: str) -> DocumentKindError:
    """The error of an entry of a matrix."""
    document, column = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1, int(matrix.indices[entry])
    where = f"column {column}" if names[column] == str(column) else f"item {names[column]!r}"
    return DocumentKindError(document, f"has {matrix.data[entry]} in {where}. {problem}")


def bags_of(matrix: scipy.sparse.csr_array, min_df: int) -> Bags:
    """The columns of at least ``min_df`` documents as items; their symbols are the numbers of the columns."""
    df = np.bincount(matrix.indices, minlength=matrix.shape[1]).astype(np.int32)
    values = np.empty(0) if (matrix.data == 1.0).all() else matrix.data
    numbers = np.arange(matrix.shape[1], dtype=np.uint64)
    bags = Bags(numbers, df, matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), values)
    return bags.of_items(df >= min_df)


def is_missing(value: Hashable) -> bool:
    """Whether a value is NaN, or what pandas has for a missing one: it is not equal to itself."""
    try:
        return bool(value != value)
    except TypeError:
        return True
    except ValueError:  # an array
        return False


def numbered_groups(
    groups: Iterable[Hashable] | None, n: int, name: str, member: str
) -> tuple[np.ndarray, list[Hashable]]:
    """Number groups from 0 in the order of their first members: int64 (n), and the groups.

    Parameters
    ----------
    groups : iterable of hashable, optional
        The group of each member; by default all are of one, None.
    n : int
        Number of members.
    name, member : str
        What groups and a member are called in messages.

    Raises
    ------
    ValueError
        If there is not one group for each member, one is not hashable, or one is NaN; or if groups have no order.
    """
    require_readable(name, groups)
    if isinstance(groups, Mapping):
        raise ValueError(f"{name} must be a list with a value for each {member}, but is {groups!r:.60}.")
    shape = getattr(groups, "shape", (n,))
    if len(shape) != 1:
        raise ValueError(f"{name} must have one dimension, a value for each {member}, but has the shape {shape}.")
    places: dict[Hashable, int] = {}
    try:
        given: Any = [None] * n if groups is None else groups
        values = given.tolist() if hasattr(given, "tolist") else given
        numbers = [places.setdefault(value, len(places)) for value in values]
    except TypeError as error:
        raise ValueError(f"{name} must have a hashable value for each {member}: {error}.") from error
    if len(numbers) != n:
        raise ValueError(
            f"There are {n:,} {member}s, but {name} has {len(numbers):,} values: give one for each {member}."
        )
    missing = [place for value, place in places.items() if value is None or is_missing(value)]
    if missing and groups is not None:
        raise ValueError(f"{name} contains NaN: value {numbers.index(missing[0])} is missing.")
    return np.array(numbers, np.int64), list(places)
