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
    relations : tuple of str
        The dependency label of each place that is an arc.
    """

    text: str
    block: str
    kind: str
    places: tuple[tuple[Span, ...], ...]
    relations: tuple[str, ...] = ()


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


# A page has a thousand spans, members and contributions. The constructor of a frozen dataclass sets field by field and
# takes twice as long as setting all of them at once.


def span(start: int, end: int, first_token: int, end_token: int) -> Span:
    """Return ``Span(...)`` of the same arguments, in less time."""
    fields = {"start": start, "end": end, "first_token": first_token, "end_token": end_token}
    return with_fields(Span, fields)


def member(
    text: str, block: str, kind: str, places: tuple[tuple[Span, ...], ...], relations: tuple[str, ...] = ()
) -> Member:
    """Return ``Member(...)`` of the same arguments, in less time."""
    fields = {"text": text, "block": block, "kind": kind, "places": places, "relations": relations}
    return with_fields(Member, fields)


def with_fields(cls: type[Instance], fields: dict[str, Any]) -> Instance:
    """Return an instance of a frozen dataclass; ``fields`` has all of its fields and becomes its ``__dict__``."""
    instance = object.__new__(cls)
    object.__setattr__(instance, "__dict__", fields)
    return instance


def non_empty_spans(contribution: Contribution) -> list[tuple[int, int]]:
    """Start and end, in characters, of all places of all members, repetitions included, except for empty spans."""
    return [(span.start, span.end) for span in all_spans(contribution) if span.end > span.start]


def places_of(contribution: Contribution) -> list[tuple[int, int]]:
    """Start and end, in characters, of all places of a contribution."""
    return sorted({(span.start, span.end) for span in all_spans(contribution)})


def all_spans(contribution: Contribution) -> list[Span]:
    """All places of all members."""
    return [span for member in contribution.members for place in member.places for span in place]


def plain_contribution(part: Contribution, written: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """Plain values, for JSON; ``written`` has those of members by their ids, since contributions to labels share them.

    :func:`dataclasses.asdict` copies each value, which takes six times as long.
    """
    for one in part.members:
        if id(one) not in written:
            places = tuple(tuple(span.__dict__.copy() for span in place) for place in one.places)
            written[id(one)] = {**one.__dict__, "places": places}
    return {**part.__dict__, "members": tuple(written[id(one)] for one in part.members)}
