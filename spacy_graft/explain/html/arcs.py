"""Head–modifier arcs: drawn over a short text, listed under a long one."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ...messages import count
from ..contributions import Span
from .density import Arc
from .markup import escaped, meter, name_html, signed_number

#: Largest text with a drawing.
MAX_WORDS, MAX_CHARACTERS = 40, 300
#: Arcs drawn, and listed. Arcs weaker than this share of the strongest are not drawn.
MAX_DRAWN, MAX_LISTED, MIN_SHARE = 24, 50, 0.02
#: Pixels: width of a narrow character, padding of a word, height from one arc to the next, from the arcs to the
#: baseline of the words, and from there to the lower edge.
CHARACTER_WIDTH, WORD_PADDING, ARC_HEIGHT, BASELINE, BOTTOM = 8.5, 16, 36, 22, 12
#: Pixels from the middle of a word to the end of the nearest arc, and from there to the end of the next.
FIRST_END, NEXT_END = 4.0, 7.0
#: Longest text between two words that is drawn in full, in characters.
MAX_GAP = 24

HEADING = "<h4>Dependency arcs (head → modifier)</h4>"


@dataclass(frozen=True)
class Piece:
    """A piece of text in a drawing and the x of its middle; ``start``, in the text, is set for ends of arcs only."""

    text: str
    start: int | None
    x: float


@dataclass(frozen=True)
class DrawnArc:
    """An arc in a drawing: the x of its ends at head and modifier, and its height in levels."""

    arc: Arc
    head: float
    modifier: float
    height: int


def can_be_drawn(text: str) -> bool:
    """Whether the text is short enough for a drawing of its arcs."""
    return len(text) <= MAX_CHARACTERS and len(text.split()) <= MAX_WORDS


def drawing(text: str, arcs: Sequence[Arc]) -> str:
    """The strongest arcs over the words of a text, as SVG."""
    if not arcs:
        return ""
    top = [arc for arc in arcs[:MAX_DRAWN] if abs(arc.strength) >= MIN_SHARE * abs(arcs[0].strength)]
    pieces, width = lay_out(text, top)
    drawn = stack(top, {piece.start: piece.x for piece in pieces if piece.start is not None})
    base = ARC_HEIGHT * max(arc.height for arc in drawn) + ARC_HEIGHT
    words = "".join(piece_svg(piece, base + BASELINE) for piece in pieces)
    lines = "".join(line_svg(arc, base, abs(top[0].strength)) for arc in drawn)
    numbers = "".join(number_svg(arc, base) for arc in drawn)
    height = base + BASELINE + BOTTOM
    more = f'<p class="note">{count(len(arcs) - len(top), "weaker arc")} not drawn.</p>' if len(arcs) > len(top) else ""
    return (
        f'{HEADING}<div class="wide"><svg role="img" aria-label="{escaped(description(text, top))}" '
        f'width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}">'
        f"{lines}{numbers}{words}</svg></div>{more}"
    )


def description(text: str, arcs: Sequence[Arc]) -> str:
    """The drawing in words, for screen readers."""
    return "; ".join(
        f"{span_text(text, arc.head)} → {span_text(text, arc.modifier)}{relation_of(arc)} {signed_number(arc.strength)}"
        for arc in arcs
    )


def relation_of(arc: Arc) -> str:
    """The relation in brackets; empty if unknown."""
    return f" ({arc.relation})" if arc.relation else ""


def span_text(text: str, span: Span) -> str:
    """The characters of a span."""
    return text[span.start : span.end]


def lay_out(text: str, arcs: Sequence[Arc]) -> tuple[list[Piece], float]:
    """The words at the ends of arcs and the text between them, from left to right, and the total width."""
    ends = sorted({(span.start, span.end) for arc in arcs for span in (arc.head, arc.modifier)})
    texts: list[tuple[str, int | None]] = []
    previous_end = ends[0][0]
    for begin, end in ends:
        between = " ".join(text[previous_end:begin].split())
        if between:
            texts.append((between if len(between) <= MAX_GAP else "…", None))
        texts.append((text[begin:end], begin))
        previous_end = end
    if is_right_to_left(text):
        texts.reverse()
    n_arcs: Counter[int | None] = Counter(span.start for arc in arcs for span in (arc.head, arc.modifier))
    relations = {
        span.start: max(estimated_width(arc.relation) for arc in arcs if span in (arc.head, arc.modifier))
        for arc in arcs
        for span in (arc.head, arc.modifier)
    }
    pieces, x = [], 0.0
    for piece, start in texts:
        # The relation is between the middles of two words.
        inside = 0.0 if start is None else max(2 * NEXT_END * n_arcs[start], relations[start])
        width = max(estimated_width(piece), inside) + WORD_PADDING
        pieces.append(Piece(piece, start, x + width / 2))
        x += width
    return pieces, x


def estimated_width(text: str) -> float:
    """Upper estimate of the width of a text in pixels."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return CHARACTER_WIDTH * (len(text) + wide)


def is_right_to_left(text: str) -> bool:
    """Whether the first letter with a direction is written from right to left, as for ``dir="auto"``."""
    directions = (unicodedata.bidirectional(char) for char in text)
    return next((name for name in directions if name in ("L", "R", "AL")), "L") != "L"


def stack(arcs: Sequence[Arc], x: dict[int, float]) -> list[DrawnArc]:
    """Assign heights and ends such that no two lines overlap: short arcs are below and inside longer ones.

    ``x`` maps the start of a word to the x of its middle.
    """
    drawn: list[DrawnArc] = []
    free = Counter(side for arc in arcs for side in sides_of(arc, x))
    for arc in sorted(arcs, key=lambda arc: abs(x[arc.head.start] - x[arc.modifier.start])):
        ends: list[float] = []
        for start, side in sides_of(arc, x):
            # The shorter an arc is, the farther from the middle of the word it ends.
            free[start, side] -= 1
            ends.append(x[start] + side * (FIRST_END + NEXT_END * free[start, side]))
        height = max((other.height for other in drawn if overlaps(other, min(ends), max(ends))), default=0)
        head, modifier = ends
        drawn.append(DrawnArc(arc, head, modifier, height + 1))
    return drawn


def sides_of(arc: Arc, x: dict[int, float]) -> tuple[tuple[int, int], tuple[int, int]]:
    """The starts of head and modifier, and the side of their middles at which the arc ends: 1 is right, −1 left."""
    side = 1 if x[arc.modifier.start] > x[arc.head.start] else -1
    return (arc.head.start, side), (arc.modifier.start, -side)


def overlaps(arc: DrawnArc, left: float, right: float) -> bool:
    """Whether an arc covers a part of the range from left to right."""
    return min(arc.head, arc.modifier) < right and left < max(arc.head, arc.modifier)


def piece_svg(piece: Piece, y: float) -> str:
    """A word, or the text between two words."""
    name = "end" if piece.start is not None else "gap"
    return f'<text class="{name}" x="{piece.x:.1f}" y="{y}" text-anchor="middle">{escaped(piece.text)}</text>'


def line_svg(drawn: DrawnArc, base: int, largest: float) -> str:
    """The line from head to modifier, with an arrowhead at the modifier."""
    head, modifier, y = drawn.head, drawn.modifier, base - ARC_HEIGHT * drawn.height
    bend = 8.0 if modifier > head else -8.0
    line = (
        f"M{head:.1f},{base} V{y + 8} Q{head:.1f},{y} {head + bend:.1f},{y} "
        f"H{modifier - bend:.1f} Q{modifier:.1f},{y} {modifier:.1f},{y + 8} V{base - 4}"
    )
    arrow = f"M{modifier:.1f},{base + 3} l-4,-8 h8 z"
    sign = "neg" if drawn.arc.strength < 0.0 else "pos"
    width = 1.0 + 2.0 * abs(drawn.arc.strength) / largest if largest else 1.0
    return f'<g class="{sign}"><path d="{line}" stroke-width="{width:.1f}"/><path class="arrow" d="{arrow}"/></g>'


def number_svg(drawn: DrawnArc, base: int) -> str:
    """The strength above the line, and the relation below it."""
    x, y = (drawn.head + drawn.modifier) / 2, base - ARC_HEIGHT * drawn.height
    strength, relation = signed_number(drawn.arc.strength, 2), escaped(drawn.arc.relation)
    return "".join(
        f'<text class="{name}" x="{x:.1f}" y="{height}" text-anchor="middle">{text}</text>'
        for name, height, text in (("number", y - 5, strength), ("relation", y + 13, relation))
        if text
    )


def listing(text: str, arcs: Sequence[Arc], largest: float, prefix: str, links: dict[int, str]) -> str:
    """The strongest arcs as a list with links to their words; the anchors that these need are added to ``links``.

    A full bar is ``largest``, or the strongest arc if that is larger.
    """
    if not arcs:
        return ""
    top = arcs[:MAX_LISTED]
    largest = max(largest, abs(top[0].strength))
    for arc in top:
        links.update({span.start: f"{prefix}{span.start}" for span in (arc.head, arc.modifier)})
    rows = [
        f'<li><span class="name">{link(text, arc.head, links)} → {link(text, arc.modifier, links)}'
        f"<small>{escaped(relation_of(arc))}</small></span>"
        f'{meter(arc.strength, largest)}<span class="number">{signed_number(arc.strength)}</span></li>'
        for arc in top
    ]
    more = (
        f'<p class="note">{count(len(arcs) - len(top), "weaker arc")} not listed.</p>' if len(arcs) > len(top) else ""
    )
    return f'{HEADING}<ul class="bars">{"".join(rows)}</ul>{more}'


def link(text: str, span: Span, links: dict[int, str]) -> str:
    """A link to the span in the text."""
    return f'<a href="#{links[span.start]}">{name_html(span_text(text, span))}</a>'
