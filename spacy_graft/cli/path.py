"""``path``: the steps of a model's training, as a table or a plot."""

from __future__ import annotations

from io import BytesIO
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
spacy-graft path training/model-best
spacy-graft path training/model-best --output path.svg
"""

History = list[dict[str, Any]]
#: File formats of plots.
IMAGE_SUFFIXES = (".png", ".svg", ".pdf")


def path_command(
    model: ModelArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Plot number of features and score against the L1 strength: .png, .svg or .pdf."
        ),
    ] = None,
    format: FormatOption = None,
    component: ComponentOption = None,
) -> None:
    """Print the steps of training: L1 strength, number of features, duality gap and, if known, score on dev.

    L1 strengths are shown relative to l1_max, the smallest one whose model is empty. JSON output has one object per
    step, on a line of its own. --output needs matplotlib: python -m pip install "spacy-graft[plots]"
    """
    _, graft = load_pipeline(model, component)
    history = graft.history
    if not history:
        raise CommandError(f"{model} has no training history. Train it again with this version of spacy-graft.")
    if output is not None:
        with writing(output) as file:
            file.write(plot_history(history, output))
    elif wants_table(format):
        print_tables(history_table(history))
    else:
        for step in history:
            print_json(step)


def history_table(history: History) -> Table:
    """Make a table with a row for each step."""
    columns = ("step", "l1/l1_max", "features", "gap", "refit", "score")
    table = make_table(None, *columns, numbers=columns)
    for number, step in enumerate(history, start=1):
        refit, score, gap = step.get("refit"), step.get("score"), step["gap"]
        add_row(
            table, number, f"{step['l1_ratio']:.5f}", f"{step['n_active']:,}", "" if gap is None else f"{gap:.1e}",
            "" if refit is None else f"{refit:g}", "" if score is None else f"{score:.4f}",
        )  # fmt: skip
    return table


def plot_history(history: History, output: Path) -> bytes:
    """Plot the number of features, and scores where they are known, against the L1 strength; return the image."""
    if output.suffix.lower() not in IMAGE_SUFFIXES:
        raise CommandError(f"{output} is not one of {', '.join(IMAGE_SUFFIXES)}, the file formats of plots.")
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise CommandError('Plots need matplotlib: python -m pip install "spacy-graft[plots]"') from error

    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    axes = figure.subplots()
    axes.set(xlabel="L1 strength / l1_max", ylabel="features", xscale="log")
    axes.invert_xaxis()
    axes.plot([step["l1_ratio"] for step in history], [step["n_active"] for step in history], "o-", color="C0")
    scored = [step for step in history if step.get("score") is not None]
    if scored:
        scores = axes.twinx()
        scores.set_ylabel("score on dev")
        scores.plot([step["l1_ratio"] for step in scored], [step["score"] for step in scored], "s--", color="C1")
    image = BytesIO()
    figure.savefig(image, format=output.suffix.lower()[1:])
    return image.getvalue()
