"""``report``: how training stood when the weights were made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..files import writing
from .common import CommandError, Component, Model, OutputFormat, add_row, as_table, load, print_json, show, table_of

if TYPE_CHECKING:
    from rich.table import Table

EXAMPLES = """
spacy-graft report training/model-best
spacy-graft report training/model-best --html model.html
spacy-graft report training/model-best | jq .duality_gap
"""


def report(
    model: Model,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page on the whole model.")] = None,
    format: OutputFormat = None,
    component: Component = None,
) -> None:
    """Print the report of a model's training: how large it is, and how far from the optimum it can be."""
    import spacy_graft

    _, graft = load(model, component)
    if html is not None:
        with writing(html) as file:
            file.write(spacy_graft.render(graft, style="global", page=True).encode())
        return
    if graft.report is None:
        raise CommandError(f"{model} has no report: its weights were not made by training.")
    values = graft.report.to_dict()
    if as_table(format):
        show(report_table(values))
    else:
        print_json(values, indent=2)


def report_table(values: dict[str, Any]) -> Table:
    """A row a figure; what is empty is left out."""
    table = table_of(None, "", "report")
    for key, value in values.items():
        if value not in (None, {}):
            add_row(table, key, cell(value))
    return table


def cell(value: Any) -> str:
    """A figure as people read it."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {cell(item)}" for key, item in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
