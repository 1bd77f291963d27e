"""Contributions of features to the score of a document, with their places in its text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

Instance = TypeVar("Instance")


@dataclass(frozen=True)
class Span:
    """A half-open range of the text.

    Attributes
    ----------
    start, end : int
        Character offsets in ``doc.text``.
    first_token, end_token : int
        Indices of the tokens that overlap it.
    """

    start: int
    end: int
    first_token: int
    end_token: int


@dataclass(frozen=True)
class Member:
    """An n-gram or item with its places in a document.

    Attributes
    ----------
    text, block, kind : str
        As in :class:`~spacy_graft.explain.features.Feature`.
    places : tuple of tuples of Span
        One entry an occurrence: a single span, or head and modifier of an arc. Empty for attributes of the document.
    """

    text: str
    block: str
    kind: str
    places: tuple[tuple[Span, ...], ...]


@dataclass(frozen=True)
class Contribution:
    """The contribution of one feature to the score of a label for a document.

    Attributes
    ----------
    text, block, kind : str
        As in :class:`~spacy_graft.explain.features.Feature`.
    weight : float
    value : float
        The value of the feature in the document, times the document weight.
    contribution : float
        ``weight * value``.
    members : tuple of Member
        The feature itself, or all members of a combination.
    """

    text: str
    block: str
    kind: str
    weight: float
    value: float
    contribution: float
    members: tuple[Member, ...]


@dataclass(frozen=True)
class LabelExplanation:
    """The score of a label for one document: its intercept and contributions.

    Attributes
    ----------
    label : str
    probability : float
    score : float
        f_y, the sum of the intercept and all contributions.
    intercept : float
    contributions : tuple of Contribution
        Those of features with a weight for the label, in descending order of absolute value.
    """

    label: str
    probability: float
    score: float
    intercept: float
    contributions: tuple[Contribution, ...]


# A page has a thousand spans, members and contributions. The constructor of a frozen dataclass sets field by field and
# takes twice as long as setting all of them at once.


def span(start: int, end: int, first_token: int, end_token: int) -> Span:
    """Return ``Span(...)`` of the same arguments, in less time."""
    fields = {"start": start, "end": end, "first_token": first_token, "end_token": end_token}
    return with_fields(Span, fields)


def member(text: str, block: str, kind: str, places: tuple[tuple[Span, ...], ...]) -> Member:
    """Return ``Member(...)`` of the same arguments, in less time."""
    return with_fields(Member, {"text": text, "block": block, "kind": kind, "places": places})


def with_fields(cls: type[Instance], fields: dict[str, Any]) -> Instance:
    """Return an instance of a frozen dataclass; ``fields`` has all of its fields and becomes its ``__dict__``."""
    instance = object.__new__(cls)
    object.__setattr__(instance, "__dict__", fields)
    return instance


def places_of(contribution: Contribution) -> list[tuple[int, int]]:
    """Start and end, in characters, of all places of a contribution."""
    spans = [span for member in contribution.members for place in member.places for span in place]
    return sorted({(span.start, span.end) for span in spans})
