"""The highlighted text of a document."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from ..contributions import Contribution, LabelExplanation
from .arcs import can_be_drawn, drawing, listing
from .density import Run, arcs_of, non_empty_spans, runs
from .markup import LEVELS, anchor_prefix, count, escaped, level_class, meter, name_html, signed_number

#: Runs with a tooltip, the strongest ones.
MAX_TOOLTIPS = 1500
#: Features in a tooltip.
MAX_TOOLTIP_LINES = 4
#: Bars of features without a place.
MAX_BARS = 30


def document_view(text: str, explanation: LabelExplanation, lang: str) -> str:
    """The highlighted text, its arcs, and the features without a place."""
    if not text:
        return '<p class="note">The document is empty.</p>' + without_place(explanation.contributions)
    arcs = arcs_of(explanation.contributions)
    links: dict[int, str] = {}
    below = (
        drawing(text, arcs)
        if can_be_drawn(text)
        else listing(text, arcs, largest_of(explanation.contributions), anchor_prefix(explanation.label, text), links)
    )
    marked = highlighted(text, explanation.contributions, lang, links)
    return legend(explanation) + marked + below + without_place(explanation.contributions)


def highlighted(text: str, contributions: Sequence[Contribution], lang: str, links: dict[int, str]) -> str:
    """The text with a background colour for each character, by its share of the score.

    Parameters
    ----------
    text : str
        Not empty.
    contributions : sequence of Contribution
    lang : str
        Language of the text; empty if unknown.
    links : dict of int to str
        Anchors by the index of their character.
    """
    divided = runs(len(text), contributions)
    strengths = sorted((abs(run.strength) for run in divided), reverse=True)
    tooltips_above = strengths[MAX_TOOLTIPS] if len(strengths) > MAX_TOOLTIPS else 0.0
    styles = [
        (
            level_class(run.strength, strengths[0]),
            tooltip(run, contributions) if abs(run.strength) > tooltips_above else "",
            links.get(run.start, ""),
        )
        for run in divided
    ]
    inner = ""
    for style, group in groupby(zip(styles, divided, strict=True), itemgetter(0)):
        same = [run for _, run in group]
        inner += mark(text[same[0].start : same[-1].end], *style)
    return f'<div class="text" dir="auto" lang="{escaped(lang)}">{inner}</div>'


def mark(text: str, background: str, title: str, anchor: str) -> str:
    """A piece of text as a ``mark`` with the attributes that are not empty; plain text if all are."""
    attributes = {"class": background, "title": title, "id": anchor}
    given = "".join(f' {name}="{escaped(value)}"' for name, value in attributes.items() if value)
    return f"<mark{given}>{escaped(text)}</mark>" if given else escaped(text)


def tooltip(run: Run, contributions: Sequence[Contribution]) -> str:
    """The strongest features of a run, as lines of text."""
    parts = [contributions[k] for k in run.parts]
    lines = [f"{signed_number(part.contribution)}  {part.text}  ({part.kind})" for part in parts[:MAX_TOOLTIP_LINES]]
    return "\n".join(
        [*lines, f"and {len(parts) - MAX_TOOLTIP_LINES} more"][: MAX_TOOLTIP_LINES + (len(parts) > MAX_TOOLTIP_LINES)]
    )


def legend(explanation: LabelExplanation) -> str:
    """The meaning of the colours."""
    if not any(non_empty_spans(part) for part in explanation.contributions):
        return '<p class="note">None of the contributing features has a place in the text.</p>'
    steps = [*(f"n{k}" for k in range(LEVELS, 0, -1)), *(f"p{k}" for k in range(1, LEVELS + 1))]
    scale = "".join(f'<mark class="{step}">&nbsp;</mark>' for step in steps)
    return (
        '<p class="legend"><span>− lowers the score (dashed)</span>'
        f'<span class="scale" aria-hidden="true">{scale}</span>'
        f"<span>+ raises the score of {name_html(explanation.label)} (solid)</span></p>"
    )


def largest_of(contributions: Sequence[Contribution]) -> float:
    """The largest contribution in absolute value, which is the first; 0 if there are none."""
    return abs(contributions[0].contribution) if contributions else 0.0


def without_place(contributions: Sequence[Contribution]) -> str:
    """Bars of features of the whole document, which have no place in the text."""
    found = [part for part in contributions if not non_empty_spans(part)]
    if not found:
        return ""
    largest = largest_of(contributions)
    rows = [
        f'<li><span class="name">{name_html(part.text)} <small>{escaped(part.kind)}</small></span>'
        f'{meter(part.contribution, largest)}<span class="number">{signed_number(part.contribution)}</span></li>'
        for part in found[:MAX_BARS]
    ]
    rest = sum(part.contribution for part in found[MAX_BARS:])
    n_more = len(found) - MAX_BARS
    more = f'<p class="note">{count(n_more, "more feature")}, {signed_number(rest)} in total.</p>' if n_more > 0 else ""
    return f'<h4>Features of the whole document</h4><ul class="bars">{"".join(rows)}</ul>{more}'
