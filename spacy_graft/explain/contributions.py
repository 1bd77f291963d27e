"""What features contribute to the score of a document, and where they are in its text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """A stretch of the text, half open.

    Attributes
    ----------
    start, end : int
        Characters of ``doc.text``.
    first_token, end_token : int
        Tokens that it touches.
    """

    start: int
    end: int
    first_token: int
    end_token: int


@dataclass(frozen=True)
class Member:
    """An n-gram or item in a document.

    Attributes
    ----------
    text, block, kind : str
        As of a :class:`Feature`.
    places : tuple of tuples of Span
        Each time it occurs: one span, or head and modifier of an arc. Empty for what is said of the whole document.
    """

    text: str
    block: str
    kind: str
    places: tuple[tuple[Span, ...], ...]


@dataclass(frozen=True)
class Contribution:
    """What one feature adds to the score of a document.

    Attributes
    ----------
    text, block, kind : str
        As of a :class:`Feature`.
    weight : float
    value : float
        What the feature is worth in the document, with the document weight.
    contribution : float
        Their product.
    members : tuple of Member
        What is there: the feature itself, or all members of a combination.
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
    """The score of a label for one document, taken apart.

    Attributes
    ----------
    label : str
    probability : float
    score : float
        f_y: the intercept and all contributions.
    intercept : float
    contributions : tuple of Contribution
        Of the features with a weight for the label; the largest first, in absolute value.
    """

    label: str
    probability: float
    score: float
    intercept: float
    contributions: tuple[Contribution, ...]


def places_of(contribution: Contribution) -> list[tuple[int, int]]:
    """Start and end, in characters, of everything that a contribution points at."""
    spans = [span for member in contribution.members for place in member.places for span in place]
    return sorted({(span.start, span.end) for span in spans})
