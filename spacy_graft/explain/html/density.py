"""Shares of the score of each word, each character and each arc of a document."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat
from math import fsum
from typing import TYPE_CHECKING, NamedTuple

from ..contributions import Contribution, Span, non_empty_spans

if TYPE_CHECKING:
    from ..words import WordEvidence


class Run(NamedTuple):
    """A word or phrase, or adjacent characters with the same contributions.

    Attributes
    ----------
    start, end : int
        Characters of the text, half open.
    strength : float
        What the word or phrase contributes to the score at each of its places, or each of the characters.
    parts : tuple of int
        Indices of the contributions that cover it, in their order; of a word, its own index among the words.
    """

    start: int
    end: int
    strength: float
    parts: tuple[int, ...]


@dataclass(frozen=True)
class Arc:
    """A pair of head and modifier.

    ``relation`` is the dependency label, empty if unknown, and ``strength`` the arc's share of the score.
    """

    head: Span
    modifier: Span
    relation: str
    strength: float


def word_runs(length: int, words: Sequence[WordEvidence], cuts: Collection[int]) -> list[Run]:
    """Divide a text of ``length`` characters into its words and phrases, and what is between them; also at ``cuts``."""
    owners = {place: k for k, row in enumerate(words) for place in row.places}
    places = sorted(owners)
    bounds = sorted({0, length, *cuts}.union(cut for place in places for cut in place))
    divided, ahead = [], 0
    for start, end in pairwise(bounds):
        while ahead < len(places) and places[ahead][1] <= start:
            ahead += 1
        if ahead < len(places) and places[ahead][0] <= start:
            k = owners[places[ahead]]
            divided.append(Run(start, end, words[k].contribution / len(words[k].places), (k,)))
        else:
            divided.append(Run(start, end, 0.0, ()))
    return divided


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
    shares: dict[tuple[Span, Span], list[float]] = defaultdict(list)
    relations: dict[tuple[Span, Span], str] = {}
    for contribution in contributions:
        arcs = [
            ((place[0], place[1]), relation)
            for member in contribution.members
            for place, relation in zip(member.places, member.relations or repeat(""), strict=False)
            if len(place) == 2
        ]
        for pair, relation in arcs:
            relations.setdefault(pair, relation)
            shares[pair].append(contribution.contribution / len(arcs))
    found = [Arc(*pair, relations[pair], fsum(of_pair)) for pair, of_pair in shares.items()]
    return sorted(found, key=lambda arc: -abs(arc.strength))
