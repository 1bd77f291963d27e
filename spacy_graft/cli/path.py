"""``path``: the steps that training went through."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..files import writing
from .common import CommandError, Component, Model, OutputFormat, add_row, as_table, load, print_json, show, table_of

if TYPE_CHECKING:
    from rich.table import Table

EXAMPLES = """
spacy-graft path training/model-best
spacy-graft path training/model-best --output path.svg
"""

History = list[dict[str, Any]]
#: What plots can be.
IMAGES = (".png", ".svg", ".pdf")


def path(
    model: Model,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Plot features and score against C: .png, .svg or .pdf.")
    ] = None,
    format: OutputFormat = None,
    component: Component = None,
) -> None:
    """Print the steps of training: C, active features, gap and, where it is known, score on the dev corpus.

    JSON is an object a line and step. --output needs matplotlib: python -m pip install "spacy-graft[plots]"
    """
    _, graft = load(model, component)
    history = graft.history
    if not history:
        raise CommandError(f"{model} has no history of its training: train it again, with this version of spacy-graft.")
    if output is not None:
        with writing(output) as file:
            file.write(plot(history, output))
    elif as_table(format):
        show(path_table(history))
    else:
        for step in history:
            print_json(step)


def path_table(history: History) -> Table:
    """A row a step."""
    table = table_of(None, "step", "C/C_max", "features", "gap", "refit", "score",
                     numbers=["step", "C/C_max", "features", "gap", "refit", "score"])  # fmt: skip
    for number, step in enumerate(history, start=1):
        refit, score = step.get("refit"), step.get("score")
        add_row(
            table, number, f"{step['l1_ratio']:.5f}", f"{step['n_active']:,}", f"{step['gap']:.1e}",
            "" if refit is None else f"{refit:g}", "" if score is None else f"{score:.4f}",
        )  # fmt: skip
    return table


def plot(history: History, output: Path) -> bytes:
    """An image: active features, and scores where they are known, against C."""
    if output.suffix.lower() not in IMAGES:
        raise CommandError(f"{output}: a plot is one of {', '.join(IMAGES)}.")
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise CommandError('Plots need matplotlib: python -m pip install "spacy-graft[plots]"') from error

    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    axes = figure.subplots()
    axes.set(xlabel="C / C_max", ylabel="active features", xscale="log")
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
