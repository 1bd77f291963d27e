"""``evaluate``: the scores of a trained pipeline on labelled texts."""

from __future__ import annotations

from contextlib import nullcontext
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..files import is_stream, json_text, write_whole, writing
from ..messages import count
from .common import (
    CommandError,
    ComponentOption,
    FormatOption,
    ModelArgument,
    add_row,
    load_pipeline,
    make_table,
    print_message,
    print_result,
    refuse_other_file,
    refuse_own_input,
    refuse_same_output,
    refuse_within,
    warn_of_metadata,
)
from .inputs import CORPUS_HELP, LabelFieldOption, TextFieldOption
from .progress import status_line, with_count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType
    from rich.table import Table

EXAMPLES = """
spacy-graft evaluate model/model-best test.jsonl
spacy-graft evaluate model/model-best test.csv --text-field review --label-field stars
spacy-graft evaluate model/model-best test.spacy --output metrics/test.json
"""
#: Largest number of labels whose confusion matrix fits a terminal.
MAX_MATRIX_LABELS = 13
#: Reliability bars: width in characters, accuracy, confidence.
BAR_WIDTH, ACCURACY_BAR, CONFIDENCE_MARK = 32, "█", "┃"
#: The reliability diagram, in the folder of the metrics.
DIAGRAM = "reliability.png"
#: What the diagram says of itself: another file of that name is not replaced.
MADE_BY = "spacy-graft evaluate"


def evaluate_command(
    model: ModelArgument,
    data: Annotated[str, typer.Argument(metavar="DATA", help=CORPUS_HELP)],
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="JSON file for the metrics; reliability.png is written to the same folder if matplotlib is installed.",
        ),
    ] = None,
    text_field: TextFieldOption = "text",
    label_field: LabelFieldOption = "label",
    format: FormatOption = None,
    component: ComponentOption = None,
) -> None:
    """Evaluate a trained pipeline on labelled texts.

    Prints precision, recall and F1 by label, the confusion matrix, and how well the probabilities are calibrated.
    """
    from ..checks.evaluation import evaluate
    from .corpora import labelled_corpus, warn_of_training_corpus

    refuse_own_input(output, data, model)
    refuse_within(output, data)
    refuse_same_output(output, output and output.parent / DIAGRAM)
    refuse_other_file(output, ".json")
    refuse_other_diagram(output and output.parent / DIAGRAM)
    reader = labelled_corpus(data, text_field, label_field)
    nlp, graft = load_pipeline(model, component)
    warn_of_metadata(graft)
    warn_of_training_corpus(nlp, data)
    # Opened first, so that what cannot be written is said before the work.
    with writing(output) if output else nullcontext() as file:
        with status_line("Reading and predicting the documents") as update:
            examples = with_count(reader(nlp), update, "documents read")
            first = next(examples, None)
            if first is None:
                raise CommandError(f"{data} has no documents.")
            metrics = evaluate(nlp, graft, chain([first], examples))
        if file is not None:
            file.write(f"{json_text(metrics, indent=2)}\n".encode())
    print_result(format, metric_tables(metrics), metrics)
    if output is not None and output.is_file() and not is_stream(output):
        write_diagram(metrics, output.parent / DIAGRAM)


def refuse_other_diagram(path: Path | None) -> None:
    """Raise a CommandError if a file is in the place of the diagram that no evaluation wrote."""
    if path is not None and path.is_file() and MADE_BY.encode() not in path.read_bytes():
        raise CommandError(f"{path} exists, and no evaluation wrote it: it is not replaced. Give another folder.")


def write_diagram(metrics: dict[str, Any], path: Path) -> None:
    """Write the reliability diagram, if matplotlib is installed and finds a folder for its files."""
    try:
        image = reliability_diagram(metrics)
    except OSError as error:  # the figures are worth more
        print_message(f"{DIAGRAM} is not written: {error}")
        return
    if image is None:
        print_message(f'{DIAGRAM} is not written: it needs matplotlib. python -m pip install "spacy-graft[plots]"')
        return
    write_whole(path, image)


def metric_tables(metrics: dict[str, Any]) -> Iterator[RenderableType]:
    """Yield the tables and a summary."""
    yield score_table(metrics)
    if "confusion" in metrics:
        yield confusion_table(metrics)
    yield calibration_table(metrics)
    yield summary(metrics)


def score_table(metrics: dict[str, Any]) -> Table:
    """Make a table of precision, recall and F1 by label."""
    headings = ("precision", "recall", "F1")
    table = make_table("Scores by label", "label", *headings, numbers=headings)
    for label, scores in metrics["by_label"].items():
        add_row(table, label, *(f"{scores[key]:.3f}" for key in ("p", "r", "f")))
    return table


def confusion_table(metrics: dict[str, Any]) -> Table:
    """Make a table of the confusion matrix; with many labels, of the most frequent errors."""
    labels, counts = list(metrics["by_label"]), metrics["confusion"]
    if len(labels) > MAX_MATRIX_LABELS:
        return frequent_errors(counts)
    documents = {(one["gold"], one["predicted"]): one["documents"] for one in counts}
    numbers = [str(number) for number, _ in enumerate(labels, start=1)]
    table = make_table("Confusion matrix", "", "gold \\ predicted", *numbers, numbers=numbers)
    table.padding = (0, 0)
    for column in table.columns[2:]:
        column.min_width = 3
    for number, gold in zip(numbers, labels, strict=True):
        add_row(table, number, gold, *(str(documents.get((gold, predicted), ".")) for predicted in labels))
    return table


def frequent_errors(counts: list[dict[str, Any]]) -> Table:
    """Make a table of the most frequent pairs of different gold and predicted labels."""
    errors = [one for one in counts if one["gold"] != one["predicted"]]
    table = make_table("Most frequent errors", "gold", "predicted", "documents", numbers=["documents"])
    for one in sorted(errors, key=lambda one: -one["documents"])[:MAX_MATRIX_LABELS]:
        add_row(table, one["gold"], one["predicted"], one["documents"])
    return table


def calibration_table(metrics: dict[str, Any]) -> Table:
    """Make a table of the accuracy of predictions by confidence: a reliability diagram in text."""
    from rich.text import Text

    numbers, bars = ("count", "mean", "accuracy"), f"accuracy {ACCURACY_BAR}, confidence {CONFIDENCE_MARK}"
    table = make_table("Calibration", "confidence", *numbers, bars, numbers=numbers)
    for one_bin in metrics["reliability"]:
        if one_bin["count"]:
            confidence, accuracy = one_bin["confidence"], one_bin["accuracy"]
            bounds, shares = f"{one_bin['low']:.1f}–{one_bin['high']:.1f}", (f"{confidence:.3f}", f"{accuracy:.3f}")
            add_row(table, bounds, f"{one_bin['count']:,.0f}", *shares, Text(bar(accuracy, confidence)))
    return table


def bar(length: float, mark: float) -> str:
    """Return a bar with a mark; length and mark are fractions of the width."""
    cells = [ACCURACY_BAR if k < round(length * BAR_WIDTH) else " " for k in range(BAR_WIDTH)]
    cells[min(int(mark * BAR_WIDTH), BAR_WIDTH - 1)] = CONFIDENCE_MARK
    return "".join(cells)


def reliability_diagram(metrics: dict[str, Any]) -> bytes | None:
    """Plot the reliability diagram; None if matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return None
    bins = [one_bin for one_bin in metrics["reliability"] if one_bin["count"]]
    figure = Figure(figsize=(4.5, 5.5), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    above.plot([0, 1], [0, 1], color="0.7", linestyle="--")
    confidence, accuracy = ([one_bin[key] for one_bin in bins] for key in ("confidence", "accuracy"))
    above.plot(confidence, accuracy, marker="o", clip_on=False)
    above.set(xlim=(0, 1), ylim=(0, 1), ylabel="accuracy")
    above.set_title(f"expected calibration error {metrics['expected_calibration_error']:.3f}")
    lows, counts = ([one_bin[key] for one_bin in metrics["reliability"]] for key in ("low", "count"))
    below.bar(lows, counts, width=1 / len(lows), align="edge", edgecolor="white")
    below.set(xlabel="confidence", ylabel="predictions")
    image = BytesIO()
    figure.savefig(image, format="png", dpi=150, metadata={"Software": MADE_BY})
    return image.getvalue()


def summary(metrics: dict[str, Any]) -> str:
    """Return a few lines about the scores and the model."""
    report, n_labels, n_occurring = metrics["report"], len(metrics["by_label"]), metrics["labels_that_occur"]
    of_those = ""
    if n_occurring < n_labels:
        mean = metrics["macro_f"] * n_labels / max(n_occurring, 1)
        of_those = f" ({mean:.3f} over the {n_occurring:,} of {n_labels:,} labels that occur; others count as 0)"
    lines = [
        f"macro-F1 {metrics['macro_f']:.3f}{of_those}, micro-F1 {metrics['micro_f']:.3f} on "
        f"{count(metrics['documents'], 'document')}\n"
        f"log-loss {metrics['log_loss']:.3f}, Brier score {metrics['brier']:.3f}, "
        f"expected calibration error {metrics['expected_calibration_error']:.3f}"
    ]
    if report:
        gap = report["relative_gap"]
        lines.append(
            f"L1 strength {report['l1']:.4g} ({report['l1_ratio']:.4f} of l1_max)\n"
            f"{report['n_active']:,} features of {report['n_columns']:,} distinct columns\n"
            f"duality gap {'not known' if gap is None else f'{gap:.1e}'}, relative to the objective at zero weights"
        )
    return "\n".join(lines)
