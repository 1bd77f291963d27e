"""The head of every explanation: probabilities of the labels, and what a score is made of."""

from __future__ import annotations

from collections.abc import Mapping

from ..contributions import Contribution, LabelExplanation
from .markup import count, feature_cells, meter, named, number_cell, shown, signed, strength_cells, table

#: Labels whose probabilities are shown.
MOST_LABELS = 12
#: Rows of a table of contributions.
MOST_ROWS = 100
COLUMNS = ("adds", "", "weight", "value", "feature", "kind", "block", "places")


def heading(its: LabelExplanation) -> str:
    """The label that is explained, with its probability and score."""
    return f"<h3>{named(its.label)} <small>probability {its.probability:.3f}</small></h3>{score_line(its)}"


def probabilities(by_label: Mapping[str, float], label: str) -> str:
    """Bars of the probabilities, the highest first; the label that is explained is always there."""
    ranked = sorted(by_label, key=lambda name: -by_label[name])
    top = ranked[:MOST_LABELS]
    rows = [
        f'<li{" class=this" if name == label else ""}><span class="name">{named(name)}</span>'
        f'{meter(by_label[name], 1.0)}<span class="number">{by_label[name]:.3f}</span></li>'
        for name in (top if label in top else [*top, label])
    ]
    rest = [by_label[name] for name in ranked[MOST_LABELS:] if name != label]
    more = f'<p class="note">{count(len(rest), "more label")}, none above {max(rest):.3f}.</p>' if rest else ""
    return f'<h4>Probabilities</h4><ul class="bars columns">{"".join(rows)}</ul>{more}'


def score_line(its: LabelExplanation) -> str:
    """How the score comes about: intercept and contributions."""
    return (
        f'<p class="score">score <b>{signed(its.score)}</b> = intercept <b>{signed(its.intercept)}</b> and '
        f"{count(len(its.contributions), 'feature')} <b>{signed(its.score - its.intercept)}</b></p>"
    )


def contribution_table(its: LabelExplanation) -> str:
    """The strongest contributions, and the sum of all others, so that the first column is the score."""
    top, rest = its.contributions[:MOST_ROWS], its.contributions[MOST_ROWS:]
    largest = max((abs(part.contribution) for part in top), default=0.0)
    foot = []
    if rest:
        foot.append(total_row(f"all other features: {len(rest):,}", sum(part.contribution for part in rest)))
    foot += [total_row("intercept", its.intercept), total_row("score", its.score)]
    rows = [contribution_row(part, largest) for part in top]
    return table(f"What adds to the score of {its.label}", COLUMNS, rows, foot)


def contribution_row(part: Contribution, largest: float) -> str:
    """A contribution; the bar of the ``largest`` fills its cell."""
    places = sum(len(member.places) for member in part.members)
    numbers = number_cell(signed(part.weight)) + number_cell(f"{part.value:.3f}")
    cells = strength_cells(part.contribution, largest) + numbers + feature_cells(part.text, part.kind, part.block)
    return f"<tr>{cells}{number_cell(str(places))}</tr>"


def total_row(name: str, value: float) -> str:
    """What stands below the contributions, under the same columns."""
    return (
        f"<tr>{number_cell(signed(value))}<td></td><td></td><td></td>"
        f'<th scope="row" colspan="4">{shown(name)}</th></tr>'
    )
