"""How strong the evidence is at each character of a document."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from ..contributions import Contribution, Span


class Run(NamedTuple):
    """Characters next to each other with the same evidence.

    Attributes
    ----------
    start, end : int
        Characters of the text, half open.
    strength : float
        What each of the characters adds to the score.
    parts : tuple of int
        Which contributions cover it, in their order.
    """

    start: int
    end: int
    strength: float
    parts: tuple[int, ...]


@dataclass(frozen=True)
class Arc:
    """A head and its modifier.

    Attributes
    ----------
    head, modifier : Span
    strength : float
        What the arc adds to the score.
    parts : tuple of int
        Which contributions speak of it, in their order.
    """

    head: Span
    modifier: Span
    strength: float
    parts: tuple[int, ...]


def stretches(contribution: Contribution) -> list[tuple[int, int]]:
    """Start and end of every place of every member, as often as it is one, if it has any character."""
    spans = [span for member in contribution.members for place in member.places for span in place]
    return [(span.start, span.end) for span in spans if span.end > span.start]


def runs(length: int, contributions: Sequence[Contribution]) -> list[Run]:
    """Cut a text of so many characters where the evidence changes.

    A contribution is shared equally by the characters of its places. So the strengths of all characters sum to all
    contributions that have a place, and where n-grams overlap, the text is the denser.
    """
    places = [stretches(contribution) for contribution in contributions]
    cuts = sorted({0, length}.union(end for its in places for stretch in its for end in stretch))
    position = {cut: k for k, cut in enumerate(cuts)}
    strengths = [0.0] * (len(cuts) - 1)
    parts: list[list[int]] = [[] for _ in strengths]
    for k, its in enumerate(places):
        covered = sum(end - start for start, end in its)
        for start, end in its:
            for run in range(position[start], position[end]):
                strengths[run] += contributions[k].contribution / covered
                if parts[run][-1:] != [k]:
                    parts[run].append(k)
    return [
        Run(start, end, strength, tuple(its_parts))
        for (start, end), strength, its_parts in zip(pairwise(cuts), strengths, parts, strict=True)
    ]


def arcs(contributions: Iterable[Contribution]) -> list[Arc]:
    """All arcs among the evidence, the strongest first; a contribution is shared equally by the arcs of its feature."""
    strengths: dict[tuple[Span, Span], float] = defaultdict(float)
    parts: dict[tuple[Span, Span], list[int]] = defaultdict(list)
    for k, contribution in enumerate(contributions):
        places = [place for member in contribution.members for place in member.places]
        pairs = [(place[0], place[1]) for place in places if len(place) == 2]
        for pair in pairs:
            strengths[pair] += contribution.contribution / len(pairs)
            if parts[pair][-1:] != [k]:
                parts[pair].append(k)
    found = [Arc(*pair, strength, tuple(parts[pair])) for pair, strength in strengths.items()]
    return sorted(found, key=lambda arc: -abs(arc.strength))
