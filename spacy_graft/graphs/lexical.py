"""Lookup of vertices in lexical resources, and checks of builders' options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..options import LARGEST_COUNT, LARGEST_STRENGTH, is_count, is_number_in
from .vocabulary import Vertex

#: Parts of speech of Universal Dependencies in the letters of WordNet.
PARTS_OF_SPEECH = {"NOUN": "n", "PROPN": "n", "VERB": "v", "AUX": "v", "ADJ": "a", "ADV": "r"}
#: The letters, in the order of WordNet's files.
LETTERS = "nvar"


def lemma_of(vertex: Vertex) -> tuple[str, str]:
    """The lemma of a vertex in the form of the resources, and the letters of its possible parts of speech.

    ``("ice", "cream")`` is ``ice_cream`` in any part of speech, ``("film", "NOUN")`` is ``film`` as a noun. Tokens
    that a tokenizer has split at hyphens and apostrophes are joined.
    """
    letters = LETTERS
    if len(vertex) > 1 and vertex[-1] in PARTS_OF_SPEECH:
        letters = PARTS_OF_SPEECH[vertex[-1]]
        vertex = vertex[:-1]
    return "_".join(vertex).lower().replace("_-_", "-").replace("_'", "'"), letters


def check_numbers(owner: str, options: Mapping[str, Any]) -> None:
    """Raise a ValueError if an option is no number of at least 0, or too large."""
    for option, value in options.items():
        if not is_number_in(value, 0.0, LARGEST_STRENGTH):
            raise ValueError(
                f"{owner}: {option} must be a number of at least 0.0, but is {value!r}. The largest is "
                f"{LARGEST_STRENGTH:g}."
            )


def check_counts(owner: str, options: Mapping[str, Any], least: int = 1) -> None:
    """Raise a ValueError if an option is no integer of at least ``least``, or too large."""
    for option, value in options.items():
        if not is_count(value, least):
            raise ValueError(
                f"{owner}: {option} must be an integer of at least {least}, but is {value!r}. The largest is "
                f"{LARGEST_COUNT:,}."
            )
