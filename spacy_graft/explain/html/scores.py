"""The numbers of an explanation: probabilities of the labels, the score and what it is the sum of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from ...messages import count
from ...metrics import logistic
from ..contributions import Contribution
from .markup import (
    escaped,
    feature_cells,
    meter,
    name_html,
    number_cell,
    signed_number,
    strength_cells,
    table,
)

if TYPE_CHECKING:
    from ..scores import LabelExplanation
    from ..words import WordEvidence

#: Labels with a probability bar.
MAX_LABELS = 12
#: Rows of the table of words and phrases, of its fold, and of that of contributions; features of a word.
MAX_WORD_ROWS, MAX_MORE_WORDS, MAX_ROWS, MAX_PARTS = 12, 200, 100, 20
CONTRIBUTION_COLUMNS = ("contribution", "", "weight", "value", "feature", "kind", "block", "places")
WORD_COLUMNS = ("contribution", "", "word or phrase", "places", "features")


def heading(explanation: LabelExplanation) -> str:
    """The explained label with its probability and score."""
    probability = f"<small>probability {explanation.probability:.3f}</small>"
    return f"<h3>{name_html(explanation.label)} {probability}</h3>{score_line(explanation)}"


def probability_bars(by_label: Mapping[str, float], explanation: LabelExplanation) -> str:
    """Bars of the highest probabilities, in descending order; labels that are compared are always included."""
    ranked = sorted(by_label, key=lambda name: -by_label[name])
    label, against = explanation.label, explanation.against
    shown = [name for k, name in enumerate(ranked) if k < MAX_LABELS or name in (label, against)]
    rows = [
        f'<li{" class=this" if name == label else ""}><span class="name">{name_html(name)}</span>'
        f'{meter(by_label[name], 1.0)}<span class="number">{by_label[name]:.3f}</span></li>'
        for name in shown
    ]
    rest = [by_label[name] for name in ranked if name not in shown]
    more = f'<p class="note">{count(len(rest), "more label")}, none above {max(rest):.3f}.</p>' if rest else ""
    return f'<h4>Probabilities</h4><ul class="bars columns">{"".join(rows)}</ul>{more}'


def score_line(explanation: LabelExplanation) -> str:
    """The score as the sum of intercept and contributions, and the probability that it leads to."""
    score, intercept = signed_number(explanation.score), signed_number(explanation.intercept)
    rest = signed_number(fsum(part.contribution for part in explanation.contributions))
    n_features = count(len(explanation.contributions), "feature")
    share = float(logistic(np.array(explanation.score)))
    exponential = f"e<sup>{signed_number(-explanation.score)}</sup>"
    against, meaning = "", f'probability <span class="formula">1 / (1 + {exponential}) = {share:.3f}</span>'
    if explanation.against is not None:
        against = f" against {name_html(explanation.against)}"
        if abs(share - explanation.probability) > 5e-4:
            meaning = f"{share:.3f} of the probability of the two"
    return (
        f'<p class="score">log-odds{against} <b>{score}</b> = intercept <b>{intercept}</b> plus {n_features} '
        f"<b>{rest}</b>; {meaning}</p>"
    )


def word_table(explanation: LabelExplanation, others: bool = True) -> str:
    """The strongest words and phrases, the sum of the others, the intercept and the score; the others in a fold."""
    words = explanation.words
    largest = abs(words[0].contribution) if words else 0.0
    top, more, rest = words[:MAX_WORD_ROWS], words[MAX_WORD_ROWS:MAX_MORE_WORDS], words[MAX_WORD_ROWS:]
    rows = [word_row(row, largest) for row in top]
    foot = sums(explanation, "all other words", [row.contribution for row in rest], columns=4)
    fold = ""
    if more and others:
        rest_of_all = words[MAX_MORE_WORDS:]
        end = sums(None, "all other words", [row.contribution for row in rest_of_all], columns=4)
        weaker = table("Other words and phrases", WORD_COLUMNS, [word_row(row, largest) for row in more], end)
        fold = f"<details><summary>{count(len(rest), 'more word')}</summary>{weaker}</details>"
    return table(caption_of(explanation, "words and phrases"), WORD_COLUMNS, rows, foot) + fold


def caption_of(explanation: LabelExplanation, of: str) -> str:
    """The caption of a table."""
    against = "" if explanation.against is None else f" against {explanation.against}"
    return f"Contributions of {of} to the log-odds of {explanation.label}{against}"


def word_row(row: WordEvidence, largest: float) -> str:
    """A row of the table of words, with its features in a fold; a full bar is ``largest``."""
    kind = "" if row.places else f" <small>{escaped(row.parts[0][0].kind)}</small>"
    places = str(len(row.places)) if row.places else ""
    cells = strength_cells(row.contribution, largest) + f'<th scope="row">{name_html(row.text)}{kind}</th>'
    features = f'<td data-key="{len(row.parts)}">{features_of_word(row)}</td>'
    return f"<tr>{cells}{number_cell(places)}{features}</tr>"


def features_of_word(row: WordEvidence) -> str:
    """The features with a share in a word: its own name alone, or a list in a fold."""
    first, _ = row.parts[0]
    if len(row.parts) == 1:
        kind = f" {escaped(first.kind)}" if row.is_by_vector else ""
        return f"<small>{name_html(first.text)}{kind}</small>" if first.text != row.text or kind else ""
    top, rest = row.parts[:MAX_PARTS], row.parts[MAX_PARTS:]
    lines = [
        f"<li>{signed_number(share)} {name_html(part.text)} <small>{escaped(part.kind)}</small></li>"
        for part, share in top
    ]
    if rest:
        lines.append(f"<li>{signed_number(fsum(share for _, share in rest))} {len(rest):,} more</li>")
    return f"<details class=parts><summary>{len(row.parts)}</summary><ul>{''.join(lines)}</ul></details>"


def contribution_table(explanation: LabelExplanation) -> str:
    """The strongest contributions, the sum of the others, the intercept and the score, which is the total."""
    top, rest = explanation.contributions[:MAX_ROWS], explanation.contributions[MAX_ROWS:]
    largest = abs(top[0].contribution) if top else 0.0
    foot = sums(explanation, "all other features", [part.contribution for part in rest], columns=7)
    rows = [contribution_row(part, largest) for part in top]
    return table(caption_of(explanation, "features"), CONTRIBUTION_COLUMNS, rows, foot)


def contribution_row(part: Contribution, largest: float) -> str:
    """A row of the table; a full bar is ``largest``."""
    places = sum(len(member.places) for member in part.members)
    numbers = number_cell(signed_number(part.weight)) + number_cell(f"{part.value:.3f}")
    cells = strength_cells(part.contribution, largest) + numbers + feature_cells(part.text, part.kind, part.block)
    return f"<tr>{cells}{number_cell(str(places))}</tr>"


def sums(explanation: LabelExplanation | None, others: str, rest: Sequence[float], columns: int) -> Iterable[str]:
    """The foot of a table: the sum of the rows that are not shown, the intercept, and the total."""
    rows = [(f"{others}: {len(rest):,}", fsum(rest))] if rest else []
    if explanation is not None:
        rows += [("intercept", explanation.intercept), ("log-odds", explanation.score)]
    return [
        f"<tr{' class=total' if name == 'log-odds' else ''}>{number_cell(signed_number(value))}"
        f'<th scope="row" colspan="{columns}">{escaped(name)}</th></tr>'
        for name, value in rows
    ]
