"""The numbers of an explanation: probabilities of the labels, the score and its contributions."""

from __future__ import annotations

from collections.abc import Mapping

from ..contributions import Contribution, LabelExplanation
from .markup import count, escaped, feature_cells, meter, name_html, number_cell, signed_number, strength_cells, table

#: Labels with a probability bar.
MAX_LABELS = 12
#: Rows of the table of contributions.
MAX_ROWS = 100
CONTRIBUTION_COLUMNS = ("contribution", "", "weight", "value", "feature", "kind", "block", "places")


def heading(explanation: LabelExplanation) -> str:
    """The explained label with its probability and score."""
    probability = f"<small>probability {explanation.probability:.3f}</small>"
    return f"<h3>{name_html(explanation.label)} {probability}</h3>{score_line(explanation)}"


def probability_bars(by_label: Mapping[str, float], label: str) -> str:
    """Bars of the highest probabilities, in descending order; the explained label is always included."""
    ranked = sorted(by_label, key=lambda name: -by_label[name])
    top = ranked[:MAX_LABELS]
    rows = [
        f'<li{" class=this" if name == label else ""}><span class="name">{name_html(name)}</span>'
        f'{meter(by_label[name], 1.0)}<span class="number">{by_label[name]:.3f}</span></li>'
        for name in (top if label in top else [*top, label])
    ]
    rest = [by_label[name] for name in ranked[MAX_LABELS:] if name != label]
    more = f'<p class="note">{count(len(rest), "more label")}, none above {max(rest):.3f}.</p>' if rest else ""
    return f'<h4>Probabilities</h4><ul class="bars columns">{"".join(rows)}</ul>{more}'


def score_line(explanation: LabelExplanation) -> str:
    """The score as the sum of intercept and contributions."""
    score, intercept = signed_number(explanation.score), signed_number(explanation.intercept)
    rest = signed_number(explanation.score - explanation.intercept)
    n_features = count(len(explanation.contributions), "feature")
    return f'<p class="score">score <b>{score}</b> = intercept <b>{intercept}</b> plus {n_features} <b>{rest}</b></p>'


def contribution_table(explanation: LabelExplanation) -> str:
    """The strongest contributions, the sum of the others, the intercept and the score, which is the total."""
    top, rest = explanation.contributions[:MAX_ROWS], explanation.contributions[MAX_ROWS:]
    largest = max((abs(part.contribution) for part in top), default=0.0)
    foot = []
    if rest:
        foot.append(total_row(f"all other features: {len(rest):,}", sum(part.contribution for part in rest)))
    foot += [total_row("intercept", explanation.intercept), total_row("score", explanation.score)]
    rows = [contribution_row(part, largest) for part in top]
    return table(f"Contributions to the score of {explanation.label}", CONTRIBUTION_COLUMNS, rows, foot)


def contribution_row(part: Contribution, largest: float) -> str:
    """A row of the table; a full bar is ``largest``."""
    places = sum(len(member.places) for member in part.members)
    numbers = number_cell(signed_number(part.weight)) + number_cell(f"{part.value:.3f}")
    cells = strength_cells(part.contribution, largest) + numbers + feature_cells(part.text, part.kind, part.block)
    return f"<tr>{cells}{number_cell(str(places))}</tr>"


def total_row(name: str, value: float) -> str:
    """A row of the foot of the table."""
    return (
        f"<tr>{number_cell(signed_number(value))}<td></td><td></td><td></td>"
        f'<th scope="row" colspan="4">{escaped(name)}</th></tr>'
    )
