"""Contributions of features to the score of a document, with their places in its text."""

from __future__ import annotations

from typing import Any, NamedTuple

# A page has a thousand of each of these: a tuple is made in less than half the time of a frozen dataclass.


class Span(NamedTuple):
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


class Member(NamedTuple):
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


#: Text, block and kind of a feature that a document has, and its members with their places.
FoundFeature = tuple[str, str, str, tuple[Member, ...]]


class Contribution(NamedTuple):
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
            places = tuple(tuple(span._asdict() for span in place) for place in one.places)
            written[id(one)] = {**one._asdict(), "places": places}
    return {**part._asdict(), "members": tuple(written[id(one)] for one in part.members)}
