"""The highlighted text of a document."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from ..contributions import Contribution, non_empty_spans
from .arcs import can_be_drawn, drawing, listing
from .density import Run, arcs_of, runs, word_runs
from .markup import LEVELS, anchor_prefix, escaped, level_class, name_html, signed_number

if TYPE_CHECKING:
    from ..scores import LabelExplanation

#: Runs with a tooltip, the strongest ones.
MAX_TOOLTIPS = 1500
#: Features in a tooltip.
MAX_TOOLTIP_LINES = 4

#: Features with their shares.
Shares = Sequence[tuple[Contribution, float]]


def document_view(explanation: LabelExplanation, lang: str, fragments: bool) -> str:
    """The highlighted text and its arcs; shades are of words or, with ``fragments``, of characters."""
    text, contributions = explanation.source.text, explanation.contributions
    if not text:
        return '<p class="note">The document is empty.</p>'
    arcs = arcs_of(contributions)
    links: dict[int, str] = {}
    largest = abs(contributions[0].contribution) if contributions else 0.0
    below = (
        drawing(text, arcs)
        if can_be_drawn(text)
        else listing(text, arcs, largest, anchor_prefix(explanation.label, text, repr(explanation.score)), links)
    )
    return legend(explanation) + highlighted(text, *divided(explanation, fragments, links), lang, links) + below


def divided(
    explanation: LabelExplanation, fragments: bool, cuts: Collection[int] = ()
) -> tuple[list[Run], Callable[[Run], Shares]]:
    """The runs of the text, and what tells the features of each."""
    length, contributions, words = len(explanation.source.text), explanation.contributions, explanation.words
    if fragments:
        return runs(length, contributions), lambda run: [
            (contributions[k], contributions[k].contribution) for k in run.parts
        ]
    return word_runs(length, words, cuts), lambda run: words[run.parts[0]].parts if run.parts else ()


def highlighted(
    text: str,
    text_runs: Sequence[Run],
    shares_of: Callable[[Run], Shares],
    lang: str = "",
    links: dict[int, str] | None = None,
) -> str:
    """The text with a background colour for each run, by its strength.

    Parameters
    ----------
    text : str
        Not empty.
    text_runs : sequence of Run
        From the beginning to the end of the text.
    shares_of : callable
        The features of a run with their shares in it, the strongest first.
    lang : str
        Language of the text; empty if unknown.
    links : dict of int to str, optional
        Anchors by the index of their character.
    """
    by_strength = sorted(range(len(text_runs)), key=lambda k: -abs(text_runs[k].strength))
    with_tooltip = {k for k in by_strength[:MAX_TOOLTIPS] if text_runs[k].strength}
    styles = [
        (
            level_class(run.strength, abs(text_runs[by_strength[0]].strength)),
            tooltip(shares_of(run)) if k in with_tooltip else "",
            (links or {}).get(run.start, ""),
        )
        for k, run in enumerate(text_runs)
    ]
    inner = ""
    for style, group in groupby(zip(styles, text_runs, strict=True), itemgetter(0)):
        same = [run for _, run in group]
        inner += mark(text[same[0].start : same[-1].end], *style)
    return f'<div class="text" dir="auto" lang="{escaped(lang)}">{inner}</div>'


def mark(text: str, background: str, title: str, anchor: str) -> str:
    """A piece of text as a ``mark`` with the attributes that are not empty; plain text if all are."""
    attributes = {"class": background, "title": title, "id": anchor}
    given = "".join(f' {name}="{escaped(value)}"' for name, value in attributes.items() if value)
    return f"<mark{given}>{escaped(text)}</mark>" if given else escaped(text)


def tooltip(shares: Shares) -> str:
    """The strongest features of a run, as lines of text."""
    lines = [f"{signed_number(share)}  {part.text}  ({part.kind})" for part, share in shares[:MAX_TOOLTIP_LINES]]
    n_more = len(shares) - len(lines)
    return "\n".join([*lines, f"and {n_more} more"] if n_more else lines)


def legend(explanation: LabelExplanation) -> str:
    """The meaning of the colours."""
    if not any(non_empty_spans(part) for part in explanation.contributions):
        return '<p class="note">None of the contributing features has a place in the text.</p>'
    steps = [*(f"n{k}" for k in range(LEVELS, 0, -1)), *(f"p{k}" for k in range(1, LEVELS + 1))]
    scale = "".join(f'<mark class="{step}">&nbsp;</mark>' for step in steps)
    other = "not " + name_html(explanation.label) if explanation.against is None else name_html(explanation.against)
    return (
        f'<p class="legend"><span>− for {other} (dashed)</span>'
        f'<span class="scale" aria-hidden="true">{scale}</span>'
        f"<span>+ for {name_html(explanation.label)} (solid)</span></p>"
    )
