"""``report``: the report of a model's training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..files import writing
from .common import (
    CommandError,
    ComponentOption,
    FormatOption,
    ModelArgument,
    add_row,
    load_pipeline,
    make_table,
    print_json,
    print_tables,
    wants_table,
)

if TYPE_CHECKING:
    from rich.table import Table

EXAMPLES = """
spacy-graft report training/model-best
spacy-graft report training/model-best --html model.html
spacy-graft report training/model-best | jq .duality_gap
"""


def report_command(
    model: ModelArgument,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write an HTML page about the whole model.")] = None,
    format: FormatOption = None,
    component: ComponentOption = None,
) -> None:
    """Print the report of a model's training: L1 strength, numbers of features, duality gap, time by phase."""
    import spacy_graft

    _, graft = load_pipeline(model, component)
    if html is not None:
        with writing(html) as file:
            file.write(spacy_graft.render(graft, style="global", page=True).encode())
        return
    if graft.report is None:
        raise CommandError(f"{model} has no report: its weights were not trained by spacy-graft.")
    values = graft.report.to_dict()
    if wants_table(format):
        print_tables(training_table(values))
    else:
        print_json(values, indent=2)


def training_table(values: dict[str, Any]) -> Table:
    """Make a table with a row for each figure; empty ones are left out."""
    from ..graft.constraints import Constraints

    table = make_table(None, "", "report")
    for key, value in values.items():
        if key == "constraints" and value is not None:
            add_row(table, key, "; ".join(Constraints(**value).described()))
        elif value not in (None, {}, []):
            add_row(table, key, formatted(value))
    return table


def formatted(value: Any) -> str:
    """Format a figure."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {formatted(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
