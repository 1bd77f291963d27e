"""``path``: the steps of a model's training, as a table or a plot."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..files import write_whole
from .common import (
    CommandError,
    ComponentOption,
    FormatOption,
    ModelArgument,
    add_row,
    load_pipeline,
    make_table,
    print_json,
    print_message,
    print_tables,
    refuse_options,
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
    context: typer.Context,
    model: ModelArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Plot log-loss, and score on dev, against the number of features: .png, .svg or .pdf.",
        ),
    ] = None,
    format: FormatOption = None,
    component: ComponentOption = None,
) -> None:
    """Print the steps of a model's training.

    Each step has its L1 strength, number of features, duality gap and, if known, quality on dev. L1 strengths are shown
    relative to l1_max, the smallest one whose model is empty. "best" marks the last point whose log-loss is nearly the
    least (within a standard error of the difference), and "one_se" the smallest within one standard error of the least:
    with parsimony = "one_se", the learner takes that one. The last step is the chosen model; trained again on dev as
    well, it has no log-loss. Without dev, the steps before it are means of the folds of cross-validation. JSON output
    has one object per step, on a line of its own. --output needs matplotlib: python -m pip install "spacy-graft[plots]"
    """
    if output is not None:
        refuse_options(context, "format", why="with --output")
    _, graft = load_pipeline(model, component)
    history = graft.history
    if not history:
        raise CommandError(
            f"{model} has no steps of training: it was not trained by spacy-graft, or its documents have nothing that "
            f"tells labels apart."
        )
    if output is not None:
        write_whole(output, plot_history(history, output))
        print_message(f"Wrote {output}.")
    elif wants_table(format):
        print_tables(history_table(history))
    else:
        for step in history:
            print_json(step)


def marks_of(history: History) -> dict[int, str]:
    """The marks of steps, by their index: ``best``, ``one_se`` and, for the last step, ``chosen``."""
    from ..pipeline.choice import named_points  # here, so that other commands start quickly

    points = named_points(history)
    if not points:
        return {}
    marks: dict[int, str] = {}
    for mark, i in [*points.items(), ("chosen", len(history) - 1)]:
        marks[i] = f"{marks[i]}, {mark}" if i in marks else mark
    return marks


def history_table(history: History) -> Table:
    """Make a table with a row for each step."""
    columns = ("#", "l1/max", "features", "gap", "refit", "logloss", "±", "score")
    table = make_table(None, *columns, "", numbers=columns)
    marks = marks_of(history)
    for i, step in enumerate(history):
        add_row(
            table, i + 1, f"{step['l1_ratio']:.4f}", f"{step['n_active']:,}", cell(step["gap"], ".0e"),
            cell(step["refit"], ".2g"), cell(step["log_loss"], ".4f"), cell(step["log_loss_error"], ".4f"),
            cell(step["score"], ".4f"), marks.get(i, ""),
        )  # fmt: skip
    return table


def cell(value: float | None, form: str) -> str:
    """A number that need not be known."""
    return "" if value is None else format(value, form)


def plot_history(history: History, output: Path) -> bytes:
    """Plot log-loss and scores, as far as they are known, against the number of features; return the image."""
    if output.suffix.lower() not in IMAGE_SUFFIXES:
        raise CommandError(f"{output} is not one of {', '.join(IMAGE_SUFFIXES)}, the file formats of plots.")
    from ..pipeline.choice import judged_points

    numbers = judged_points(history)
    judged = [history[i] for i in numbers]
    scored = [step for step in history if step["score"] is not None]
    if not judged and not scored:
        raise CommandError("No step of the training was judged by held-out documents: there is nothing to plot.")
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise CommandError('Plots need matplotlib: python -m pip install "spacy-graft[plots]"') from error

    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    losses = figure.subplots()
    losses.set(xlabel="features", ylabel="log-loss of held-out documents", xscale="log")
    errors = [step["log_loss_error"] or 0.0 for step in judged]
    losses.errorbar([step["n_active"] for step in judged], [step["log_loss"] for step in judged], errors, fmt="o-")
    marks = sorted((history[i]["n_active"], mark) for i, mark in marks_of(history).items() if i in numbers)
    # Steps may be next to each other: names grow away from each other.
    sides = ("right", "left") if len(marks) == 2 else ("center",) * len(marks)
    for (place, mark), side in zip(marks, sides, strict=True):
        losses.axvline(place, color="0.7", linestyle=":", zorder=0)
        losses.text(place, 1.0, mark, ha=side, va="bottom", transform=losses.get_xaxis_transform())
    if scored:
        scores = losses.twinx()
        scores.set_ylabel("score on dev", color="C1")
        scores.plot([step["n_active"] for step in scored], [step["score"] for step in scored], "s--", color="C1")
    image = BytesIO()
    figure.savefig(image, format=output.suffix.lower()[1:])
    return image.getvalue()
