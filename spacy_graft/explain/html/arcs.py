"""Head–modifier evidence: drawn over a short text, listed under a long one."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..contributions import Span
from .density import Arc
from .markup import count, meter, named, shown, signed

#: What is short.
MOST_WORDS, MOST_CHARACTERS = 40, 300
#: Arcs drawn, and listed; what is weaker than such a share of the strongest would only hide the others.
MOST_DRAWN, MOST_LISTED, WEAKEST = 24, 50, 0.02
#: Pixels: of a narrow character, around a word, from one arc to the next above it, from arcs to the words' baseline,
#: below that.
WIDTH, PADDING, STEP, WORD, BELOW = 8.5, 16, 28, 22, 12
#: Pixels from the middle of a word to the first arc beside it, and from that to the next.
FOOT, FEET = 4.0, 7.0
#: Characters between two words that are drawn in full.
GAP = 24


@dataclass(frozen=True)
class Column:
    """A stretch of text in a drawing, with its middle; only ends of arcs have a start in the text."""

    text: str
    start: int | None
    x: float


@dataclass(frozen=True)
class Drawn:
    """An arc in a drawing: where it leaves the head, where it meets the modifier, and how high it goes."""

    arc: Arc
    head: float
    modifier: float
    height: int


def is_short(text: str) -> bool:
    """Whether arcs over the text fit a page."""
    return len(text) <= MOST_CHARACTERS and len(text.split()) <= MOST_WORDS


def drawing(text: str, arcs: Sequence[Arc]) -> str:
    """Arcs over the words, as SVG."""
    if not arcs:
        return ""
    top = [arc for arc in arcs[:MOST_DRAWN] if abs(arc.strength) >= WEAKEST * abs(arcs[0].strength)]
    columns, width = laid_out(text, top)
    drawn = stacked(top, {column.start: column.x for column in columns if column.start is not None})
    base = STEP * max(its.height for its in drawn) + STEP
    words = "".join(word(column, base + WORD) for column in columns)
    lines = "".join(path(its, base, abs(top[0].strength)) for its in drawn)
    numbers = "".join(number(its, base) for its in drawn)
    more = f'<p class="note">{count(len(arcs) - len(top), "weaker arc")} not drawn.</p>' if len(arcs) > len(top) else ""
    return (
        f'<h4>From head to modifier</h4><div class="wide"><svg role="img" aria-label="{shown(spoken(text, top))}" '
        f'width="{width:.0f}" height="{base + WORD + BELOW}" viewBox="0 0 {width:.0f} {base + WORD + BELOW}">'
        f"{lines}{numbers}{words}</svg></div>{more}"
    )


def spoken(text: str, arcs: Sequence[Arc]) -> str:
    """What the drawing shows, for those who hear it."""
    return "; ".join(f"{of(text, arc.head)} → {of(text, arc.modifier)} {signed(arc.strength)}" for arc in arcs)


def of(text: str, span: Span) -> str:
    """The characters of a span."""
    return text[span.start : span.end]


def laid_out(text: str, arcs: Sequence[Arc]) -> tuple[list[Column], float]:
    """The ends of the arcs and what is between them, side by side, and the width of all."""
    ends = sorted({(span.start, span.end) for arc in arcs for span in (arc.head, arc.modifier)})
    pieces: list[tuple[str, int | None]] = []
    behind = ends[0][0]
    for start, end in ends:
        between = " ".join(text[behind:start].split())
        if between:
            pieces.append((between if len(between) <= GAP else "…", None))
        pieces.append((text[start:end], start))
        behind = end
    if is_right_to_left(text):
        pieces.reverse()
    n_arcs = Counter(span.start for arc in arcs for span in (arc.head, arc.modifier))
    columns, x = [], 0.0
    for piece, origin in pieces:
        n_feet = 0 if origin is None else n_arcs[origin]
        width = max(estimated_width(piece), 2 * FEET * n_feet) + PADDING
        columns.append(Column(piece, origin, x + width / 2))
        x += width
    return columns, x


def estimated_width(text: str) -> float:
    """Pixels that a text takes at most; there is no telling before it is drawn."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return WIDTH * (len(text) + wide)


def is_right_to_left(text: str) -> bool:
    """Whether the first letter with a direction runs to the left, as ``dir="auto"`` decides."""
    directions = (unicodedata.bidirectional(char) for char in text)
    return next((its for its in directions if its in ("L", "R", "AL")), "L") != "L"


def stacked(arcs: Sequence[Arc], x: dict[int, float]) -> list[Drawn]:
    """Put arcs above each other, the short ones below and inside, so that no two lines lie on each other."""
    drawn: list[Drawn] = []
    feet = Counter(foot for arc in arcs for foot in feet_of(arc, x))
    for arc in sorted(arcs, key=lambda arc: abs(x[arc.head.start] - x[arc.modifier.start])):
        ends: list[float] = []
        for start, side in feet_of(arc, x):
            # The shorter an arc is, the farther from the middle of the word it stands.
            feet[start, side] -= 1
            ends.append(x[start] + side * (FOOT + FEET * feet[start, side]))
        height = max((its.height for its in drawn if is_below(its, min(ends), max(ends))), default=0)
        head, modifier = ends
        drawn.append(Drawn(arc, head, modifier, height + 1))
    return drawn


def feet_of(arc: Arc, x: dict[int, float]) -> tuple[tuple[int, int], tuple[int, int]]:
    """The words on which head and modifier stand, and on which side of their middles: 1 is right, −1 left."""
    side = 1 if x[arc.modifier.start] > x[arc.head.start] else -1
    return (arc.head.start, side), (arc.modifier.start, -side)


def is_below(its: Drawn, left: float, right: float) -> bool:
    """Whether an arc covers some of the stretch from left to right."""
    return min(its.head, its.modifier) < right and left < max(its.head, its.modifier)


def word(column: Column, y: float) -> str:
    """A word, or the dots between two."""
    look = "end" if column.start is not None else "gap"
    return f'<text class="{look}" x="{column.x:.1f}" y="{y}" text-anchor="middle">{shown(column.text)}</text>'


def path(its: Drawn, base: int, largest: float) -> str:
    """The line from head to modifier, with an arrow at the modifier."""
    head, modifier, y = its.head, its.modifier, base - STEP * its.height
    bend = 8.0 if modifier > head else -8.0
    line = (
        f"M{head:.1f},{base} V{y + 8} Q{head:.1f},{y} {head + bend:.1f},{y} "
        f"H{modifier - bend:.1f} Q{modifier:.1f},{y} {modifier:.1f},{y + 8} V{base - 4}"
    )
    arrow = f"M{modifier:.1f},{base + 3} l-4,-8 h8 z"
    sign = "neg" if its.arc.strength < 0.0 else "pos"
    thick = 1.0 + 2.0 * abs(its.arc.strength) / largest if largest else 1.0
    return f'<g class="{sign}"><path d="{line}" stroke-width="{thick:.1f}"/><path class="arrow" d="{arrow}"/></g>'


def number(its: Drawn, base: int) -> str:
    """The strength, over the line."""
    x, y = (its.head + its.modifier) / 2, base - STEP * its.height - 5
    return f'<text class="number" x="{x:.1f}" y="{y}" text-anchor="middle">{signed(its.arc.strength, 2)}</text>'


def listing(text: str, arcs: Sequence[Arc], largest: float, prefix: str, links: dict[int, str]) -> str:
    """The strongest arcs as a list of links to their words; ``links`` gets the anchors that these need.

    Bars are in units of ``largest``, or of the strongest arc where that is larger.
    """
    if not arcs:
        return ""
    top = arcs[:MOST_LISTED]
    largest = max(largest, abs(top[0].strength))
    for arc in top:
        links.update({span.start: f"{prefix}{span.start}" for span in (arc.head, arc.modifier)})
    rows = [
        f'<li><span class="name">{link(text, arc.head, links)} → {link(text, arc.modifier, links)}</span>'
        f'{meter(arc.strength, largest)}<span class="number">{signed(arc.strength)}</span></li>'
        for arc in top
    ]
    more = (
        f'<p class="note">{count(len(arcs) - len(top), "weaker arc")} not listed.</p>' if len(arcs) > len(top) else ""
    )
    return f'<h4>From head to modifier</h4><ul class="bars">{"".join(rows)}</ul>{more}'


def link(text: str, span: Span, links: dict[int, str]) -> str:
    """A link to where a span is marked in the text."""
    return f'<a href="#{links[span.start]}">{named(of(text, span))}</a>'
