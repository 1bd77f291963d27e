"""Custom extension attributes of tokens and documents, and the conversion of their values to names of items."""

from __future__ import annotations

import reprlib
from typing import Any

from spacy.tokens import Doc, Token

from ..messages import unpaired_surrogate

#: Prefix of the names of custom attributes.
PREFIX = "_."


def check_registered(owner: str, holder: type[Doc] | type[Token], name: str) -> None:
    """Raise a ValueError if documents or tokens have no such extension; ``owner`` is the block that reads it."""
    if not holder.has_extension(name):
        kind = holder.__name__
        raise ValueError(
            f"{owner}: {kind} has no extension {name!r}. Register it before the pipeline runs: "
            f"{kind}.set_extension({name!r}, default=None), or with a getter. For spaCy's commands, register it in "
            f"the file of --code."
        )


def is_number(value: Any) -> bool:
    """Whether a value is a number. Booleans are none, as in JSON."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def as_string(value: Any) -> str:
    """Return the string of a string, integer or boolean, which is empty for None.

    Raises
    ------
    ValueError
        If it is anything else, or cannot be encoded. The message continues a sentence that begins with the source of
        the value.
    """
    if value is None:
        return ""
    if isinstance(value, str | int):
        if (surrogate := unpaired_surrogate(string := str(value))) is not None:
            raise ValueError(f"has {surrogate}. Leave it out")
        return string
    raise ValueError(f"is {described(value)}. It must be a string, an integer, a boolean, or None if there is no value")


def described(value: Any) -> str:
    """Return a value and its type for a message, shortened if it is long."""
    return f"{reprlib.repr(value)} ({type(value).__name__})"
