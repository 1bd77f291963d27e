"""A model: for each label its strongest features, with examples in context."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from spacy.tokens import Doc

from ...model.sparse_linear import SparseLinearT, contributions
from ..contributions import Member
from ..evidence import Evidence
from ..features import Feature
from .markup import anchors, count, feature_cells, named, number_cell, shown, signed, strength_cells, table

#: Features on either side.
MOST_FEATURES = 15
#: Documents that are read for examples, and examples of a feature.
MOST_DOCUMENTS, MOST_EXAMPLES = 200, 3
#: Characters on either side of an occurrence.
CONTEXT = 22
COLUMNS = ("weight", "", "feature", "kind", "block", "documents")


def overview(
    title: str,
    model: SparseLinearT,
    features: list[Feature],
    intercepts: Mapping[str, float],
    labels: Sequence[str],
    examples: Iterable[Doc],
) -> str:
    """The strongest features of some labels.

    Parameters
    ----------
    title : str
    model : Model
        A ``spacy_graft.SparseLinear.v1`` with weights.
    features : list of Feature
        All of the model, in the order of its weights.
    intercepts : mapping of str to float
        Of all labels.
    labels : sequence of str
        Those that are shown.
    examples : iterable of Doc
        Where features are looked for in context.
    """
    top = {name: strongest(features, name) for name in labels}
    contexts = in_context(model, {row for rows in top.values() for row in rows}, examples)
    prefix = anchors(title, *labels)
    links = {name: f"{prefix}{k}" for k, name in enumerate(labels)}
    kinds = Counter(feature.kind for feature in features)
    facts = ", ".join(shown(count(n, kind)) for kind, n in kinds.most_common())
    return (
        f"<h3>{named(title)} <small>{count(len(features), 'feature')}, "
        f"{count(len(intercepts), 'label')}</small></h3>"
        f'<p class="note">{facts or "The model has intercepts only."}</p>'
        + directory(links)
        + "".join(section(name, links[name], intercepts[name], features, top[name], contexts) for name in labels)
    )


def directory(links: Mapping[str, str]) -> str:
    """Links to the labels, if there are several."""
    if len(links) == 1:
        return ""
    items = [f'<a href="#{anchor}">{named(label)}</a>' for label, anchor in links.items()]
    return f"<nav>{' '.join(items)}</nav>"


def strongest(features: list[Feature], label: str) -> list[int]:
    """Which features speak most for a label, the strongest first, then which speak most against it."""
    ranked = sorted(range(len(features)), key=lambda k: -features[k].weights[label])
    for_it = [k for k in ranked[:MOST_FEATURES] if features[k].weights[label] > 0.0]
    against = [k for k in ranked[::-1][:MOST_FEATURES] if features[k].weights[label] < 0.0]
    return for_it + against


def section(
    label: str,
    anchor: str,
    intercept: float,
    features: list[Feature],
    top: list[int],
    contexts: Mapping[int, list[str]],
) -> str:
    """A label with its features."""
    columns = (*COLUMNS, "in context") if contexts else COLUMNS
    largest = max((abs(features[k].weights[label]) for k in top), default=0.0)
    rows = [row(features[k], label, largest, contexts.get(k, []) if contexts else None) for k in top]
    n_weights = sum(feature.weights[label] != 0.0 for feature in features)
    caption = f"{count(n_weights, 'feature')} with a weight, intercept {signed(intercept)}"
    return f'<section id="{anchor}"><h4>{named(label)}</h4>{table(caption, columns, rows)}</section>'


def row(feature: Feature, label: str, largest: float, context: list[str] | None) -> str:
    """A feature with its weight for a label; without a context, the table has no such column."""
    weight = feature.weights[label]
    longest = f'<div class="longest">longest: {named(feature.longest)}</div>' if feature.longest != feature.text else ""
    lines = "".join(f"<div>{line}</div>" for line in context or [])
    last = "" if context is None else f'<td class="context">{lines}</td>'
    cells = feature_cells(feature.text, feature.kind, feature.block, longest)
    return f"<tr>{strength_cells(weight, largest)}{cells}{number_cell(format(feature.df, ','))}{last}</tr>"


def in_context(model: SparseLinearT, wanted: set[int], examples: Iterable[Doc]) -> dict[int, list[str]]:
    """Up to three examples of each feature, as HTML, from different documents."""
    found: dict[int, list[str]] = defaultdict(list)
    for doc in islice(examples, MOST_DOCUMENTS):
        missing = [row for row in sorted(wanted) if len(found[row]) < MOST_EXAMPLES]
        there = set(contributions(model, doc)[0].tolist())
        if not there.isdisjoint(missing):
            evidence = Evidence(model, doc)
            for row in filter(there.__contains__, missing):
                found[row] += snippet(doc.text, evidence.of_feature(row)[3])
    return {row: lines for row, lines in found.items() if lines}


def snippet(text: str, members: tuple[Member, ...]) -> list[str]:
    """The first place of each member with what is around it; nothing if there is none."""
    spans = sorted({(span.start, span.end) for member in members for place in member.places[:1] for span in place})
    if not spans:
        return []
    html, behind = before(text[: spans[0][0]]), spans[0][0]
    for start, end in spans:
        between = text[behind:start]
        html += one_line(between) if len(between) <= 2 * CONTEXT else f"{after(between)} {before(between)}"
        # Members may overlap, and the spaces beside a word are empty.
        if end > max(start, behind):
            html += f"<mark>{one_line(text[max(start, behind) : end])}</mark>"
        behind = max(behind, end)
    return [f"<bdi>{html}{after(text[behind:])}</bdi>"]


def before(text: str) -> str:
    """The end of what is before an occurrence, from the beginning of a word if there is one."""
    if len(text) <= CONTEXT:
        return one_line(text)
    return "…" + one_line(re.sub(r"^\S*\s+(?=.*\S)", "", text[-CONTEXT - 1 :], flags=re.DOTALL))


def after(text: str) -> str:
    """The beginning of what is behind an occurrence, to the end of a word if there is one."""
    if len(text) <= CONTEXT:
        return one_line(text)
    return one_line(re.sub(r"(?<=\S)\s+\S*$", "", text[: CONTEXT + 1])) + "…"


def one_line(text: str) -> str:
    """A piece of text without line breaks."""
    return shown(text.replace("\r", " ").replace("\n", " "))
