"""``features``: the features of a model and their weights."""

from __future__ import annotations

import csv
import sys
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from .common import (
    ComponentOption,
    ModelArgument,
    add_row,
    check_label,
    load_pipeline,
    make_table,
    print_json,
    print_tables,
)

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


def features_command(
    model: ModelArgument,
    label: Annotated[str | None, typer.Option(help="Only features with a weight for this label.")] = None,
    top: Annotated[int | None, typer.Option(min=1, help="Number of features; by default all.")] = None,
    format: Annotated[
        FeatureFormat | None, typer.Option(help="Output format; by default a table on a terminal, else JSON.")
    ] = None,
    component: ComponentOption = None,
) -> None:
    """List the features of a model in descending order of their largest absolute weight.

    JSON output has one object per feature, on a line of its own: text, longest (the longest n-gram that occurs in the
    same training documents), block, kind, df (number of training documents) and weights by label.
    """
    _, graft = load_pipeline(model, component)
    check_label(graft, label)
    found = by_weight(graft.features(), label)[:top]
    if format == FeatureFormat.csv:
        write_csv(found, graft.labels if label is None else (label,))
    elif format == FeatureFormat.table or (format is None and sys.stdout.isatty()):
        print_tables(feature_table(found, label))
    else:
        for feature in found:
            print_json(asdict(feature))


def by_weight(found: list[Feature], label: str | None) -> list[Feature]:
    """Sort features by their largest weight, or select those with a weight for a label and sort them by it."""
    if label is None:
        return sorted(found, key=lambda feature: -abs(feature.weights[label_of_largest_weight(feature)]))
    return sorted(
        (feature for feature in found if feature.weights[label]), key=lambda feature: -abs(feature.weights[label])
    )


def label_of_largest_weight(feature: Feature) -> str:
    """Return the label for which a feature has its largest absolute weight."""
    return max(feature.weights, key=lambda label: abs(feature.weights[label]))


def feature_table(found: list[Feature], label: str | None) -> Table:
    """Make a table with one weight of each feature."""
    table = make_table(f"{len(found):,} features", "feature", "kind", "documents", "label", "weight",
                       numbers=["documents", "weight"])  # fmt: skip
    for feature in found:
        shown = label or label_of_largest_weight(feature)
        add_row(table, feature.text, feature.kind, f"{feature.df:,}", shown, f"{feature.weights[shown]:+.4f}")
    return table


def write_csv(found: list[Feature], labels: tuple[str, ...]) -> None:
    """Print a row for each feature, with a column for each label."""
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(["text", "longest", "block", "kind", "df", *labels])
    for feature in found:
        weights = (feature.weights[label] for label in labels)
        rows.writerow([feature.text, feature.longest, feature.block, feature.kind, feature.df, *weights])
