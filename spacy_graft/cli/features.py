"""``features``: what a model is made of."""

from __future__ import annotations

import csv
import sys
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from .common import Component, Model, add_row, check_label, load, print_json, show, table_of

if TYPE_CHECKING:
    from rich.table import Table

    from ..explain.features import Feature

EXAMPLES = """
spacy-graft features training/model-best --top 20
spacy-graft features training/model-best --label sport
spacy-graft features training/model-best --format csv > features.csv
"""


class FeatureFormat(StrEnum):
    """How features are printed."""

    table = "table"
    csv = "csv"
    json = "json"


def features(
    model: Model,
    label: Annotated[str | None, typer.Option(help="Features with a weight for this label, by that weight.")] = None,
    top: Annotated[int | None, typer.Option(min=1, help="How many; all, if it is not given.")] = None,
    format: Annotated[
        FeatureFormat | None, typer.Option(help="A table on a terminal, JSON elsewhere, unless it is given.")
    ] = None,
    component: Component = None,
) -> None:
    """List the features of a model, those of the largest weights first.

    JSON is an object a line: text, longest (the longest n-gram of the same training documents), block, kind, df
    (training documents) and weights by label.
    """
    _, graft = load(model, component)
    check_label(graft, label)
    found = by_weight(graft.features(), label)[:top]
    if format == FeatureFormat.csv:
        write_csv(found, graft.labels if label is None else (label,))
    elif format == FeatureFormat.table or (format is None and sys.stdout.isatty()):
        show(feature_table(found, label))
    else:
        for feature in found:
            print_json(asdict(feature))


def by_weight(found: list[Feature], label: str | None) -> list[Feature]:
    """Features by their largest weight or by that for a label, which is not 0."""
    if label is None:
        return sorted(found, key=lambda feature: -abs(feature.weights[strongest(feature)]))
    return sorted(
        (feature for feature in found if feature.weights[label]), key=lambda feature: -abs(feature.weights[label])
    )


def strongest(feature: Feature) -> str:
    """The label that a feature has the largest weight for."""
    return max(feature.weights, key=lambda label: abs(feature.weights[label]))


def feature_table(found: list[Feature], label: str | None) -> Table:
    """A row a feature, with one weight."""
    table = table_of(f"{len(found):,} features", "feature", "kind", "documents", "label", "weight",
                     numbers=["documents", "weight"])  # fmt: skip
    for feature in found:
        of = label or strongest(feature)
        add_row(table, feature.text, feature.kind, f"{feature.df:,}", of, f"{feature.weights[of]:+.4f}")
    return table


def write_csv(found: list[Feature], labels: tuple[str, ...]) -> None:
    """A row a feature, a column a label."""
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(["text", "longest", "block", "kind", "df", *labels])
    for part in found:
        weights = (part.weights[label] for label in labels)
        rows.writerow([part.text, part.longest, part.block, part.kind, part.df, *weights])
