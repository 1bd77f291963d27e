"""A model: the features of each label that decide most, with examples in context."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.tokens import Doc

from ...graft.constraints import Constraints
from ...messages import count
from ...model.snapshot import Snapshot
from ...model.weights import dense_column
from ..contributions import Member
from ..evidence import Evidence
from ..features import Feature, effects_of, features_of, have_stability, n_documents_of, strongest_words
from .markup import (
    anchor_prefix,
    bar_cell,
    escaped,
    feature_cells,
    name_html,
    number_cell,
    signed_number,
    table,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: Features with positive and with negative weights for a label.
MAX_FEATURES_SHOWN = 15
#: Documents searched for examples, and examples of a feature.
MAX_DOCUMENTS, MAX_EXAMPLES = 200, 3
#: Characters of context on either side of an occurrence.
CONTEXT_CHARACTERS = 22
OVERVIEW_COLUMNS = ("weight", "effect", "feature", "kind", "block", "documents")
#: Further columns, if the model knows how stable its features are.
STABILITY_COLUMNS = ("stability", "90% interval")
STABILITY_NOTE = (
    ". Stability: share of random half samples of the training documents that select the feature. Interval: of its "
    "weight in bootstrap samples."
)


@dataclass(frozen=True)
class ShownLabel:
    """A label whose features are shown, and for the only two labels that exclude each other the other one."""

    label: str
    against: str | None

    def of(self, values: Mapping[str, float]) -> float:
        """What a weight or intercept adds to the log-odds, or to the score of one of several labels."""
        return values[self.label] - (values[self.against] if self.against is not None else 0.0)

    def column(self, weights: np.ndarray | csr_array, labels: Sequence[str]) -> np.ndarray:
        """The same of the weights (n_features, n_labels) of all features: float64 (n_features)."""
        own = dense_column(weights, labels.index(self.label))
        return own if self.against is None else own - dense_column(weights, labels.index(self.against))


def sides_of_model(all_labels: Sequence[str], labels: Sequence[str], exclusive: bool) -> list[ShownLabel]:
    """The sides of a model: one for each of the given labels, but a single one if two labels exclude each other."""
    if exclusive and len(all_labels) == 2:
        label = labels[0]
        return [ShownLabel(label, next(other for other in all_labels if other != label))]
    return [ShownLabel(label, None) for label in labels]


def overview(
    title: str,
    snapshot: Snapshot,
    all_labels: Sequence[str],
    sides: Sequence[ShownLabel],
    examples: Iterable[Doc] = (),
    data: str = "",
) -> str:
    """The features of the given labels that decide most.

    Parameters
    ----------
    title : str
    snapshot : Snapshot
        Of a model.
    all_labels : sequence of str
        All labels of the model, in the order of its weights.
    sides : sequence of ShownLabel
        The labels to show.
    examples : iterable of Doc
        Documents to search for examples in context.
    data : str
        HTML about the path and a data set, to stand before the labels.
    """
    features = features_of(snapshot, all_labels)
    intercepts = dict(zip(all_labels, snapshot.intercepts.tolist(), strict=True))
    effects = effects_of(snapshot.weights, snapshot.features.df, n_documents_of(snapshot))
    found = [
        deciding_features(
            side.column(snapshot.weights, all_labels), dense_column(effects, all_labels.index(side.label))
        )
        for side in sides
    ]
    contexts = in_context(snapshot, {row for top, _ in found for row in top}, examples)
    shown = (
        f"{side.label} {side.of(intercepts)!r} {[(features[k].text, features[k].effects[side.label]) for k in top]}"
        for side, (top, _) in zip(sides, found, strict=True)
    )
    prefix = anchor_prefix(title, data, *shown)
    links = [f"{prefix}{k}" for k in range(len(sides))]
    kinds = Counter(feature.kind for feature in features)
    explained = STABILITY_NOTE if have_stability(features) else ""
    by_kind = ", ".join(escaped(count(n, kind)) for kind, n in kinds.most_common())
    return (
        f"<h3>{name_html(title)} <small>{count(len(features), 'feature')}, "
        f"{count(len(intercepts), 'label')}</small></h3>"
        f'<p class="note">{by_kind or "The model has intercepts only."}{explained}</p>'
        + constraints_note(snapshot)
        + data
        + directory({side.label: link for side, link in zip(sides, links, strict=True)})
        + "".join(
            section(side, link, side.of(intercepts), features, *of_side, contexts)
            + words_table(snapshot, all_labels, side)
            for side, link, of_side in zip(sides, links, found, strict=True)
        )
    )


def words_table(snapshot: Snapshot, all_labels: Sequence[str], side: ShownLabel) -> str:
    """The table of the strongest words that the model knows by their vectors; empty if it has none."""
    words = strongest_words(snapshot, all_labels, 2 * MAX_FEATURES_SHOWN, side.label)
    if not words:
        return ""
    largest = max(word.effects[side.label] for word in words)
    ranked = sorted(words, key=lambda word: -side.of(word.weights))
    n_new = sum(not word.df for word in words)
    caption = f"Words by their vectors, from outside the training texts; {n_new} of them are in no training document"
    return table(caption, OVERVIEW_COLUMNS, [feature_row(word, side, largest, None) for word in ranked])


def constraints_note(snapshot: Snapshot) -> str:
    """What the model must not use, and what it must, if there is anything."""
    saved = (snapshot.report or {}).get("constraints")
    if not saved:
        return ""
    return f'<p class="note">Constraints: {"; ".join(map(escaped, Constraints(**saved).described()))}</p>'


def points_view(points: Mapping[str, Mapping[str, Any]]) -> str:
    """The points of the path that have names, with their sizes."""
    if not points:
        return ""
    named = (
        f"<b>{escaped(name)}</b> {count(step['n_active'], 'feature')}, log-loss {step['log_loss']:.4f}"
        for name, step in points.items()
    )
    return f'<p class="note">On the path, by parsimony: {"; ".join(named)}.</p>'


def directory(links: Mapping[str, str]) -> str:
    """Links to the labels, if there are several."""
    if len(links) == 1:
        return ""
    items = [f'<a href="#{anchor}">{name_html(label)}</a>' for label, anchor in links.items()]
    return f"<nav>{' '.join(items)}</nav>"


def deciding_features(weights: np.ndarray, effects: np.ndarray) -> tuple[list[int], int]:
    """The features for a label with the largest effects, in descending order, then those against it.

    Parameters
    ----------
    weights, effects : float64 (n_features)
        On the label.

    Returns
    -------
    list of int
        Their indices.
    int
        How many features have a weight.
    """
    ranked = np.argsort(-effects, kind="stable")
    signs = np.sign(weights[ranked])
    top = [k for sign in (1.0, -1.0) for k in ranked[signs == sign][:MAX_FEATURES_SHOWN].tolist()]
    return top, int(np.count_nonzero(weights))


def section(
    side: ShownLabel,
    anchor: str,
    intercept: float,
    features: list[Feature],
    top: list[int],
    n_weights: int,
    contexts: Mapping[int, list[str]],
) -> str:
    """The table of the features of a label that decide most."""
    columns = (
        *OVERVIEW_COLUMNS,
        *(STABILITY_COLUMNS if have_stability(features) else ()),
        *(("in context",) if contexts else ()),
    )
    largest = max((features[k].effects[side.label] for k in top), default=0.0)
    rows = [feature_row(features[k], side, largest, contexts.get(k, []) if contexts else None) for k in top]
    against = "" if side.against is None else f" <small>against {name_html(side.against)}</small>"
    caption = f"{count(n_weights, 'feature')} with non-zero weight, intercept {signed_number(intercept)}"
    return f'<section id="{anchor}"><h4>{name_html(side.label)}{against}</h4>{table(caption, columns, rows)}</section>'


def feature_row(feature: Feature, side: ShownLabel, largest: float, context: list[str] | None) -> str:
    """A row of the table; a full bar is ``largest``; ``context`` is None if the table has no such column."""
    weight, effect = side.of(feature.weights), feature.effects[side.label]
    below = (
        f'<div class="longest">longest n-gram: {name_html(feature.longest)}</div>'
        if feature.longest != feature.text
        else ""
    )
    lines = "".join(f"<div>{line}</div>" for line in context or [])
    last = "" if context is None else f'<td class="context">{lines}</td>'
    bar = bar_cell(effect if weight > 0.0 else -effect, largest, f"{effect:.4f}")
    cells = number_cell(signed_number(weight)) + bar + feature_cells(feature.text, feature.kind, feature.block, below)
    documents = number_cell(format(feature.df, ","))
    return f"<tr>{cells}{documents}{stability_cells(feature, side)}{last}</tr>"


def stability_cells(feature: Feature, side: ShownLabel) -> str:
    """The selection probability and the interval of a weight, if they are known."""
    if feature.stability is None or feature.intervals is None:
        return ""
    # The weights of the only two labels are opposite.
    low, high = (limit * (1.0 if side.against is None else 2.0) for limit in feature.intervals[side.label])
    return number_cell(f"{feature.stability:.2f}") + number_cell(f"{signed_number(low)} to {signed_number(high)}")


def in_context(snapshot: Snapshot, wanted: set[int], examples: Iterable[Doc]) -> dict[int, list[str]]:
    """Up to three examples of each feature, as HTML, from different documents."""
    found: dict[int, list[str]] = defaultdict(list)
    for doc in islice(examples, MAX_DOCUMENTS):
        missing = [row for row in sorted(wanted) if len(found[row]) < MAX_EXAMPLES]
        occurrences = snapshot.ngram_occurrences(doc)
        present = set(snapshot.contributions(doc, occurrences)[0].tolist())
        if not present.isdisjoint(missing):
            evidence = Evidence(snapshot, doc, occurrences)
            for row in filter(present.__contains__, missing):
                found[row] += snippet(doc.text, evidence.of_feature(row)[3])
    return {row: lines for row, lines in found.items() if lines}


def snippet(text: str, members: tuple[Member, ...]) -> list[str]:
    """The first place of each member with its context, as HTML; empty if there are no places."""
    spans = sorted({(span.start, span.end) for member in members for place in member.places[:1] for span in place})
    if not spans:
        return []
    html, previous_end = text_before(text[: spans[0][0]]), spans[0][0]
    for start, end in spans:
        between = text[previous_end:start]
        short = len(between) <= 2 * CONTEXT_CHARACTERS
        html += without_breaks(between) if short else f"{text_after(between)} {text_before(between)}"
        # Members may overlap, and the boundaries of words are empty spans.
        if end > max(start, previous_end):
            html += f"<mark>{without_breaks(text[max(start, previous_end) : end])}</mark>"
        previous_end = max(previous_end, end)
    return [f"<bdi>{html}{text_after(text[previous_end:])}</bdi>"]


def text_before(text: str) -> str:
    """The end of the text before an occurrence, from the start of a word if there is one."""
    if len(text) <= CONTEXT_CHARACTERS:
        return without_breaks(text)
    return "…" + without_breaks(re.sub(r"^\S*\s+(?=.*\S)", "", text[-CONTEXT_CHARACTERS - 1 :], flags=re.DOTALL))


def text_after(text: str) -> str:
    """The beginning of the text after an occurrence, to the end of a word if there is one."""
    if len(text) <= CONTEXT_CHARACTERS:
        return without_breaks(text)
    return without_breaks(re.sub(r"(?<=\S)\s+\S*$", "", text[: CONTEXT_CHARACTERS + 1])) + "…"


def without_breaks(text: str) -> str:
    """Text as HTML without line breaks."""
    return escaped(text.replace("\r", " ").replace("\n", " "))
