"""How vertices are looked up in lexical resources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .vocabulary import Vertex

#: Parts of speech of Universal Dependencies in the letters of WordNet.
PARTS_OF_SPEECH = {"NOUN": "n", "PROPN": "n", "VERB": "v", "AUX": "v", "ADJ": "a", "ADV": "r"}
#: The letters, in the order of WordNet's files.
LETTERS = "nvar"


def lemma_of(vertex: Vertex) -> tuple[str, str]:
    """The lemma of a vertex as resources write it, and the letters of the parts of speech that it may have.

    ``("ice", "cream")`` is ``ice_cream`` in any part of speech, ``("film", "NOUN")`` is ``film`` as a noun. Tokens
    that a tokenizer has split at hyphens and apostrophes are put together again.
    """
    letters = LETTERS
    if len(vertex) > 1 and vertex[-1] in PARTS_OF_SPEECH:
        letters = PARTS_OF_SPEECH[vertex[-1]]
        vertex = vertex[:-1]
    return "_".join(vertex).lower().replace("_-_", "-").replace("_'", "'"), letters


def check_numbers(owner: str, least: float, options: Mapping[str, Any]) -> None:
    """Raise a ValueError if an option is no finite number of at least ``least``."""
    for option, value in options.items():
        if not isinstance(value, int | float) or not least <= value < float("inf"):
            raise ValueError(f"{owner}: {option} must be a number of at least {least}, but is {value!r}")


def check_counts(owner: str, options: Mapping[str, Any]) -> None:
    """Raise a ValueError if an option is no integer of at least 1; None passes."""
    for option, value in options.items():
        if value is not None and (not isinstance(value, int) or value < 1):
            raise ValueError(f"{owner}: {option} must be an integer of at least 1, but is {value!r}")


def is_short(vertex: Vertex, min_letters: int) -> bool:
    """Whether a vertex of one word, without a part of speech, is shorter than that."""
    return len(vertex) == 1 and len(vertex[0]) < min_letters


def counted(reasons: Iterable[str | None]) -> dict[str, int]:
    """How often each reason occurs."""
    counts: dict[str, int] = {}
    for reason in reasons:
        if reason is not None:
            counts[reason] = counts.get(reason, 0) + 1
    return counts
