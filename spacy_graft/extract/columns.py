"""One attribute of all tokens of a document, whether it is spaCy's (``LEMMA``) or a custom one (``_.topic``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.tokens import Token

from ..options import as_python
from .extensions import PREFIX, as_string, check_registered, described
from .tokens import STRING_ATTRS, check_annotation, check_attribute

if TYPE_CHECKING:
    from spacy.tokens import Doc


def is_custom(attr: str) -> bool:
    """Whether an attribute is a custom one."""
    return attr.startswith(PREFIX)


def has_strings(attr: str) -> bool:
    """Whether the values of an attribute are hashes of strings, 0 where there is none."""
    return is_custom(attr) or attr in STRING_ATTRS


def check_column(owner: str, attr: Any) -> None:
    """Raise a ValueError if no such attribute can exist. An extension may be registered later."""
    if not isinstance(attr, str) or not is_custom(attr):
        check_attribute(owner, attr)
    elif attr == PREFIX:
        raise ValueError(f"{owner}: attribute {attr!r} lacks the name of a Token extension, as in '_.topic'")


def check_column_set(owner: str, attr: str, doc: Doc) -> None:
    """Raise a ValueError if the document is not annotated with an attribute, or an extension is not registered."""
    if is_custom(attr):
        check_registered(owner, Token, attr.removeprefix(PREFIX))
    else:
        check_annotation(owner, attr, doc)


def token_column(owner: str, attr: str, doc: Doc) -> np.ndarray:
    """Return the value of an attribute for every token: uint64 (n_tokens).

    Values of a custom attribute are converted to strings, which are added to the vocab. White space has none.

    Raises
    ------
    ValueError
        If a custom attribute is not registered, or has a value that cannot name an item.
    """
    if not is_custom(attr):
        return doc.to_array(attr)
    check_column_set(owner, attr, doc)
    add = doc.vocab.strings.add
    return np.array([0 if token.is_space else add(custom_string(owner, attr, token)) for token in doc], np.uint64)


def custom_string(owner: str, attr: str, token: Token) -> str:
    """Return the value of a custom attribute of a token as a string, which is empty if it has none."""
    value = as_python(getattr(token._, attr.removeprefix(PREFIX)))
    try:
        if isinstance(value, float):
            raise ValueError(
                f"is {described(value)}, but tokens rarely share a float. Bin it: set {attr} to the name of the "
                f"value's range, as 'low' or 'high'"
            )
        return as_string(value)
    except ValueError as error:
        where = f"{attr} of token {token.i} ({token.text!r}) of the document {token.doc[:10].text!r}"
        raise ValueError(f"{owner}: {where} {error}") from None
