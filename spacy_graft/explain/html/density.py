"""Shares of the score of each character and each arc of a document."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from ..contributions import Contribution, Span


class Run(NamedTuple):
    """Adjacent characters with the same contributions.

    Attributes
    ----------
    start, end : int
        Characters of the text, half open.
    strength : float
        Share of the score of each of the characters.
    parts : tuple of int
        Indices of the contributions that cover it, in their order.
    """

    start: int
    end: int
    strength: float
    parts: tuple[int, ...]


@dataclass(frozen=True)
class Arc:
    """A pair of head and modifier.

    Attributes
    ----------
    head, modifier : Span
    strength : float
        Share of the score of the arc.
    parts : tuple of int
        Indices of the contributions with the arc, in their order.
    """

    head: Span
    modifier: Span
    strength: float
    parts: tuple[int, ...]


def non_empty_spans(contribution: Contribution) -> list[tuple[int, int]]:
    """Start and end of all places of all members, repetitions included, except for empty spans."""
    spans = [span for member in contribution.members for place in member.places for span in place]
    return [(span.start, span.end) for span in spans if span.end > span.start]


def runs(length: int, contributions: Sequence[Contribution]) -> list[Run]:
    """Divide a text of ``length`` characters into runs.

    A contribution is divided equally among the characters of its places. So the strengths of all characters sum to the
    total of all contributions that have a place.
    """
    places = [non_empty_spans(contribution) for contribution in contributions]
    cuts = sorted({0, length}.union(cut for spans in places for span in spans for cut in span))
    position = {cut: k for k, cut in enumerate(cuts)}
    strengths = [0.0] * (len(cuts) - 1)
    parts: list[list[int]] = [[] for _ in strengths]
    for k, spans in enumerate(places):
        covered = sum(end - start for start, end in spans)
        for start, end in spans:
            for run in range(position[start], position[end]):
                strengths[run] += contributions[k].contribution / covered
                if parts[run][-1:] != [k]:
                    parts[run].append(k)
    return [
        Run(start, end, strength, tuple(indices))
        for (start, end), strength, indices in zip(pairwise(cuts), strengths, parts, strict=True)
    ]


def arcs_of(contributions: Iterable[Contribution]) -> list[Arc]:
    """All arcs among the places, the strongest first; a contribution is divided equally among its arcs."""
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
