"""Custom extension attributes of tokens and documents, and what of their values items can be named after."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np
from spacy.tokens import Doc, Token

#: What the custom attributes of a token start with, among the names of spaCy's own.
PREFIX = "_."


def check_registered(owner: str, holder: type[Doc] | type[Token], name: str) -> None:
    """Raise a ValueError if documents or tokens have no extension of that name; ``owner`` is who was to read it."""
    if not holder.has_extension(name):
        kind = holder.__name__
        raise ValueError(
            f"{owner}: {kind} has no extension {name!r}. Register it before the pipeline runs: "
            f"{kind}.set_extension({name!r}, default=None), or with a getter; spaCy's commands do so with what they "
            f"import from --code."
        )


def as_python(value: Any) -> Any:
    """Return a scalar of numpy as one of Python, anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def as_string(value: Any) -> str:
    """Return the string of a string, integer or boolean, which is empty for None.

    Raises
    ------
    ValueError
        If it is anything else. The message is to follow upon what has the value.
    """
    value = as_python(value)
    if value is None:
        return ""
    if isinstance(value, str | int):
        return str(value)
    raise ValueError(f"is {described(value)}. It must be a string, an integer, a boolean, or None if there is no value")


def described(value: Any) -> str:
    """Return a value and its type for a message, shortened if it is long."""
    return f"{reprlib.repr(value)} ({type(value).__name__})"
