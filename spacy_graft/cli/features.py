"""``features``: the features of a model and their weights."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ..messages import listed
from .common import (
    CommandError,
    ComponentOption,
    ModelArgument,
    add_row,
    load_pipeline,
    make_table,
    print_file,
    print_json,
    print_tables,
    wants_table,
)

if TYPE_CHECKING:
    from rich.table import Table

    from ..explain.features import Feature

EXAMPLES = """
spacy-graft features training/model-best --top 20
spacy-graft features training/model-best --label sport
spacy-graft features training/model-best --format csv > features.csv
"""

#: First characters of what spreadsheets take for a formula, those of East Asian keyboards too, and the apostrophe.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "'")


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
    """List the features of a model, those that decide most first.

    They are in descending order of their effect, |weight| · s · (1 - s), where s is the share of training documents
    with the feature: a large weight of a rare feature decides little.

    JSON output has one object per feature, on a line of its own: text, longest (the longest n-gram that occurs in the
    same training documents), block, kind, df (number of training documents), weights and effects by label. With
    stability in the learner, also stability (share of half samples that select the feature) and intervals of the
    weights by label.

    CSV output is safe to open in a spreadsheet: text that begins with =, +, -, @, ', a tab or a line break has a ' in
    front, so that it is not taken for a formula. Without this ', it is the exact text, as in JSON.
    """
    _, graft = load_pipeline(model, component)
    graft.selected_labels(label)
    found = features_by_effect(graft.features(), label)[:top]
    if format == FeatureFormat.csv:
        write_csv(found, graft.labels if label is None else (label,))
    elif wants_table(format):
        print_tables(feature_table(found, label))
    else:
        for feature in found:
            print_json({key: value for key, value in asdict(feature).items() if value is not None})


def features_by_effect(found: list[Feature], label: str | None) -> list[Feature]:
    """Sort features by their largest effect, or select those with a weight for a label and sort them by it."""
    from ..explain.features import by_effect

    if label is None:
        return by_effect(found)
    return sorted((feature for feature in found if feature.weights[label]), key=lambda feature: -feature.effects[label])


def label_of_largest_weight(feature: Feature) -> str:
    """Return the label for which a feature has its largest absolute weight."""
    return max(feature.weights, key=lambda label: abs(feature.weights[label]))


def feature_table(found: list[Feature], label: str | None, title: str | None = None) -> Table:
    """Make a table with one weight of each feature."""
    from ..explain.features import have_stability

    # A terminal has no room for all columns.
    stable = have_stability(found)
    columns = ["feature", *([] if stable else ["kind"]), "documents", "label", "weight", "effect"]
    columns += ["stability", "90% interval"] if stable else []
    table = make_table(title or f"{len(found):,} features", *columns, numbers={*columns} - {"feature", "kind", "label"})
    for feature in found:
        shown = label or label_of_largest_weight(feature)
        cells = [feature.text, *([] if stable else [feature.kind]), f"{feature.df:,}", shown]
        cells += [f"{feature.weights[shown]:+z.4f}", f"{feature.effects[shown]:.4g}"]
        if feature.intervals is not None:
            low, high = feature.intervals[shown]
            cells += [f"{feature.stability:.2f}", f"{low:+z.2f} to {high:+z.2f}"]
        add_row(table, *cells)
    return table


def write_csv(found: list[Feature], labels: tuple[str, ...]) -> None:
    """Print a row for each feature, with a column for each label; see :func:`spreadsheet_cell`."""
    from ..explain.features import have_stability

    lines = io.StringIO(newline="")
    # All text is quoted: Python before 3.13 does not quote a carriage return, which would end the row.
    rows = csv.writer(lines, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    bounds = [f"{label} {bound}" for label in labels for bound in ("low", "high")]
    more = ["stability", *bounds] if have_stability(found) else []
    columns = ["text", "longest", "block", "kind", "df", *labels, *more]
    if twice := [name for name, n in Counter(columns).items() if n > 1]:
        raise CommandError(
            f"There would be several columns {listed(twice)}, since labels have such names. Use --format json."
        )
    rows.writerow(map(spreadsheet_cell, columns))
    for feature in found:
        texts = map(spreadsheet_cell, [feature.text, feature.longest, feature.block, feature.kind])
        row = [*texts, feature.df, *(feature.weights[label] for label in labels)]
        if feature.intervals is not None:
            row += [feature.stability, *(bound for label in labels for bound in feature.intervals[label])]
        rows.writerow(row)
    print_file(lines.getvalue())


def spreadsheet_cell(text: str) -> str:
    """Return a text that spreadsheets do not take for a formula: if it could be one, with an apostrophe in front.

    The practice is that of OWASP (CSV injection). Apostrophes get one as well, so that the exact text can be restored.
    """
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text
