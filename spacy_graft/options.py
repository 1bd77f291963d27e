"""Values of options: those of NumPy as Python's, and which are allowed, since beyond limits nothing can be computed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

#: Most of what is counted: documents and symbols of an index have 32-bit numbers.
LARGEST_COUNT = 2**31 - 1
#: Strengths of penalties, and exponents: squares of what follows from them must be numbers.
LARGEST_STRENGTH, LARGEST_POWER = 1e12, 100.0
#: Strengths of networks: beside much larger ones the likelihood has no digits left.
LARGEST_NETWORK_STRENGTH = 1e6
#: Values of items, weights of examples and shares of candidates: products and sums of them must be numbers.
LARGEST_VALUE = 1e100
#: Weights of examples: products of smaller ones have too few digits.
SMALLEST_WEIGHT = 1e-300
#: Penalty factors: penalty weights in single precision follow from them.
SMALLEST_FACTOR, LARGEST_FACTOR = 1e-6, 1e6
#: The exponent of the length of an n-gram, for the same reason.
LARGEST_NGRAM_POWER = 2.0


def as_python(value: Any) -> Any:
    """A scalar of NumPy as one of Python, a string of a subclass as a plain one, anything else as it is."""
    if isinstance(value, np.generic):
        return value.item()
    # ``str`` of a member of an enumeration of strings is its name, not the string that it is equal to.
    return str.__str__(value) if isinstance(value, str) and type(value) is not str else value


def is_number_in(value: Any, least: float, most: float) -> bool:
    """Whether an option is a number, and no boolean, from ``least`` to ``most``; NaN is not."""
    value = as_python(value)  # a float of half precision cannot be compared with large bounds
    number = isinstance(value, int | float | np.floating) and not isinstance(value, bool)
    return number and bool(least <= value <= most)


def is_strength(value: Any) -> bool:
    """Whether an option is the strength of a penalty: a number above 0."""
    return is_number_in(value, 0.0, LARGEST_STRENGTH) and value != 0.0


def is_count(value: Any, least: int = 1, most: int = LARGEST_COUNT) -> bool:
    """Whether an option is an integer, and no boolean, from ``least`` to ``most``."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(least <= value <= most)


def can_be_path(value: Any) -> bool:
    """Whether an option is a path, and not empty, in characters that the names of files can have."""
    try:
        return isinstance(value, str | Path) and str(value) != "" and b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:  # half of a surrogate pair
        return False


def check_counts(owner: str, least: int = 1, **options: Any) -> None:
    """Raise a ValueError if an option is no integer of at least ``least``, or too large."""
    for option, value in options.items():
        if not is_count(value, least):
            raise ValueError(
                f"{owner}: {option} must be an integer of at least {least}, but is {value!r}. The largest is "
                f"{LARGEST_COUNT:,}."
            )


def check_numbers(owner: str, **options: Any) -> None:
    """Raise a ValueError if an option is no number of at least 0, or too large."""
    for option, value in options.items():
        if not is_number_in(value, 0.0, LARGEST_STRENGTH):
            raise ValueError(
                f"{owner}: {option} must be a number of at least 0.0, but is {value!r}. The largest is "
                f"{LARGEST_STRENGTH:g}."
            )


def check_factors(owner: str, **options: Any) -> None:
    """Raise a ValueError if a penalty factor is too small or too large."""
    for option, value in options.items():
        if not is_number_in(value, SMALLEST_FACTOR, LARGEST_FACTOR):
            raise ValueError(
                f"{owner}: {option} must be a number above 0, but is {value!r}. The smallest is {SMALLEST_FACTOR:g}, "
                f"the largest {LARGEST_FACTOR:g}."
            )


def check_flags(owner: str, **options: Any) -> None:
    """Raise a ValueError if an option that is true or false is neither."""
    for option, value in options.items():
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{owner}: {option} must be true or false, but is {value!r}")


def check_path(owner: str, path: Any, of_what: str = "file") -> None:
    """Raise a ValueError if the path of a file is neither a string nor a path."""
    if not can_be_path(path):
        raise ValueError(f"{owner}: path must be the path of a {of_what}, but is {path!r:.100}")


def is_held_by_config(value: Any) -> bool:
    """Whether a config of spaCy has the same plain value when it is written and read.

    ``$`` means something in strings. So do, in keys, signs that separate them from values or begin something else, and
    full stops where the value is a mapping, which is a section.
    """
    from confection import Config  # which estimators do without

    try:
        written = Config({"section": {"value": value}}).to_str()
        read: dict[str, Any] = Config().from_str(written, interpolate=False).interpolate()
    except Exception:  # what cannot be written or read fails in many ways
        return False
    return bool(read["section"]["value"] == value)


def require_keys(owner: str, option: str, mapping: Mapping[Any, Any], instead: str) -> None:
    """Raise a ValueError if a config could not have these keys, and those of mappings in it; ``instead`` is advice."""
    for key, value in mapping.items():
        if isinstance(value, Mapping):
            require_keys(owner, option, value, instead)
        if not is_held_by_config({key: {"x": 0} if isinstance(value, Mapping) else 0}):
            raise ValueError(
                f"{owner}: {option} has the key {key!r}, which a config of spaCy cannot hold: the pipeline could not "
                f"be loaded again. Give {instead}."
            )
