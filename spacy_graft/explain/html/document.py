"""A document with its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from ..contributions import Contribution, LabelExplanation
from .arcs import drawing, is_short, listing
from .density import Run, arcs, runs, stretches
from .markup import LEVELS, anchors, level, meter, named, shown, signed

#: Runs that tell in a tooltip what is there; in a long document the weakest do not.
MOST_TITLES = 1500
#: Lines of a tooltip.
MOST_LINES = 4
#: Bars of features without a place.
MOST_BARS = 30


def document_view(text: str, its: LabelExplanation, lang: str) -> str:
    """The text, arcs, and features without a place."""
    if not text:
        return '<p class="note">The document is empty.</p>' + without_place(its.contributions)
    found = arcs(its.contributions)
    links: dict[int, str] = {}
    below = (
        drawing(text, found)
        if is_short(text)
        else listing(text, found, largest_of(its.contributions), anchors(its.label, text), links)
    )
    return legend(its) + highlighted(text, its.contributions, lang, links) + below + without_place(its.contributions)


def highlighted(text: str, contributions: Sequence[Contribution], lang: str, links: dict[int, str]) -> str:
    """The text with a background as strong as the evidence.

    Parameters
    ----------
    text : str
        Not empty.
    contributions : sequence of Contribution
    lang : str
        Of the text; empty if it is not known.
    links : dict of int to str
        Anchors of the characters at which there are any.
    """
    cut = runs(len(text), contributions)
    strongest = sorted((abs(run.strength) for run in cut), reverse=True)
    titled_from = strongest[MOST_TITLES] if len(strongest) > MOST_TITLES else 0.0
    looks = [
        (
            level(run.strength, strongest[0]),
            title(run, contributions) if abs(run.strength) > titled_from else "",
            links.get(run.start, ""),
        )
        for run in cut
    ]
    inner = ""
    for look, group in groupby(zip(looks, cut, strict=True), itemgetter(0)):
        alike = [run for _, run in group]
        inner += marked(text[alike[0].start : alike[-1].end], *look)
    return f'<div class="text" dir="auto" lang="{shown(lang)}">{inner}</div>'


def marked(text: str, background: str, tooltip: str, anchor: str) -> str:
    """A stretch of text with what it is given; bare text if that is nothing."""
    attributes = {"class": background, "title": tooltip, "id": anchor}
    given = "".join(f' {name}="{shown(value)}"' for name, value in attributes.items() if value)
    return f"<mark{given}>{shown(text)}</mark>" if given else shown(text)


def title(run: Run, contributions: Sequence[Contribution]) -> str:
    """The strongest features at a place."""
    parts = [contributions[k] for k in run.parts]
    lines = [f"{signed(part.contribution)}  {part.text}  ({part.kind})" for part in parts[:MOST_LINES]]
    return "\n".join([*lines, f"and {len(parts) - MOST_LINES} more"][: MOST_LINES + (len(parts) > MOST_LINES)])


def legend(its: LabelExplanation) -> str:
    """What the colours mean."""
    if not any(stretches(part) for part in its.contributions):
        return '<p class="note">No feature of the model has a place in the text.</p>'
    steps = [*(f"n{k}" for k in range(LEVELS, 0, -1)), *(f"p{k}" for k in range(1, LEVELS + 1))]
    scale = "".join(f'<mark class="{step}">&nbsp;</mark>' for step in steps)
    return (
        f'<p class="legend"><span>− against (dashed)</span><span class="scale" aria-hidden="true">{scale}</span>'
        f"<span>+ for {named(its.label)} (solid)</span></p>"
    )


def largest_of(contributions: Sequence[Contribution]) -> float:
    """The largest contribution, in absolute value: it comes first."""
    return abs(contributions[0].contribution) if contributions else 0.0


def without_place(contributions: Sequence[Contribution]) -> str:
    """Bars of what is said of the whole document."""
    found = [part for part in contributions if not stretches(part)]
    if not found:
        return ""
    largest = largest_of(contributions)
    rows = [
        f'<li><span class="name">{named(part.text)} <small>{shown(part.kind)}</small></span>'
        f'{meter(part.contribution, largest)}<span class="number">{signed(part.contribution)}</span></li>'
        for part in found[:MOST_BARS]
    ]
    rest = sum(part.contribution for part in found[MOST_BARS:])
    n_more = len(found) - MOST_BARS
    more = f'<p class="note">{n_more:,} more, together {signed(rest)}.</p>' if n_more > 0 else ""
    return f'<h4>Of the whole document</h4><ul class="bars">{"".join(rows)}</ul>{more}'
