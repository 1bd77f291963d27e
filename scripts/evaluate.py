"""Evaluate a trained pipeline on labelled JSON lines: scores by label, confusion matrix, calibration, model size."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from one_line_errors import one_line_errors
from rich.console import Console
from rich.table import Table
from spacy.language import Language
from spacy.training import Example

from spacy_graft.cli.common import CommandError, load_pipeline
from spacy_graft.files import json_text, writing
from spacy_graft.metrics import brier, expected_calibration_error, log_loss, reliability
from spacy_graft.pipeline.components import graft_component
from spacy_graft.pipeline.reader import JsonlCorpus
from spacy_graft.pipeline.textcat import TextCatGraftMultilabel

#: Largest number of labels whose confusion matrix fits a terminal.
MAX_MATRIX_LABELS = 13
#: Reliability bars: width in characters, accuracy, confidence.
BAR_WIDTH, ACCURACY_BAR, CONFIDENCE_MARK = 32, "█", "┃"


def confusion_matrix(labels: tuple[str, ...], examples: list[Example]) -> list[list[int]]:
    """Count documents by gold label (rows) and predicted label (columns); those without a label are left out."""
    counts = np.zeros((len(labels), len(labels)), int)
    for example in examples:
        if not any(example.reference.cats.values()):
            continue
        gold, predicted = (max(doc.cats, key=doc.cats.__getitem__) for doc in (example.reference, example.predicted))
        if gold in labels:
            counts[labels.index(gold), labels.index(predicted)] += 1
    return [[int(count) for count in row] for row in counts]


def metric_arrays(labels: tuple[str, ...], examples: list[Example], exclusive: bool) -> tuple[np.ndarray, ...]:
    """Return probabilities, targets, and which targets are known: each (documents, labels).

    With exclusive labels, the targets of a document without a label are unknown.
    """
    gold = [example.reference.cats for example in examples]
    targets = np.array([[cats.get(label) or 0.0 for label in labels] for cats in gold])
    known = np.array([[label in cats for label in labels] for cats in gold])
    if exclusive:
        known = np.broadcast_to(targets.any(axis=1, keepdims=True), targets.shape)
    return np.array([[example.predicted.cats[label] for label in labels] for example in examples]), targets, known


def calibration_metrics(labels: tuple[str, ...], examples: list[Example], exclusive: bool) -> dict[str, Any]:
    """Return log-loss, Brier score, expected calibration error and the bins of the reliability diagram."""
    arrays = metric_arrays(labels, examples, exclusive)
    bins = reliability(*arrays, exclusive=exclusive)
    return {
        "log_loss": log_loss(*arrays, exclusive=exclusive),
        "brier": brier(*arrays, exclusive=exclusive),
        "expected_calibration_error": expected_calibration_error(bins),
        "reliability": [asdict(one_bin) for one_bin in bins],
    }


def evaluate(nlp: Language, examples: list[Example]) -> dict[str, Any]:
    """Return all metrics as plain values."""
    component = graft_component(nlp)
    predicted = nlp.pipe(example.reference.text for example in examples)
    scored = [Example(doc, example.reference) for doc, example in zip(predicted, examples, strict=True)]
    scores = component.score(scored)
    report = component.report
    metrics: dict[str, Any] = {
        "documents": len(examples),
        "macro_f": scores["cats_macro_f"],
        "micro_f": scores["cats_micro_f"],
        **calibration_metrics(component.labels, scored, component.exclusive),
        "by_label": scores["cats_f_per_type"],
        "report": report.to_dict() if report else None,
    }
    if component.exclusive:
        metrics["confusion"] = {"labels": list(component.labels), "counts": confusion_matrix(component.labels, scored)}
    if isinstance(component, TextCatGraftMultilabel):
        metrics["thresholds"] = component.thresholds
    return metrics


def label_table(metrics: dict[str, Any]) -> Table:
    """Make a table of precision, recall and F1 by label."""
    table = Table("label", title="Scores by label")
    for heading in ("precision", "recall", "F1"):
        table.add_column(heading, justify="right")
    for label, scores in metrics["by_label"].items():
        table.add_row(label, *(f"{scores[key]:.3f}" for key in ("p", "r", "f")))
    return table


def confusion_table(metrics: dict[str, Any]) -> Table:
    """Make a table of the confusion matrix; with many labels, of the most frequent errors."""
    labels, counts = metrics["confusion"]["labels"], metrics["confusion"]["counts"]
    if len(labels) > MAX_MATRIX_LABELS:
        return frequent_errors(labels, counts)
    table = Table("", "gold \\ predicted", title="Confusion matrix", padding=(0, 0))
    for number in range(1, len(labels) + 1):
        table.add_column(str(number), justify="right", min_width=3)
    for number, (label, row) in enumerate(zip(labels, counts, strict=True), start=1):
        table.add_row(str(number), label, *(str(count) if count else "." for count in row))
    return table


def frequent_errors(labels: list[str], counts: list[list[int]]) -> Table:
    """Make a table of the most frequent pairs of different gold and predicted labels."""
    pairs = [(-counts[i][j], i, j) for i in range(len(labels)) for j in range(len(labels)) if i != j and counts[i][j]]
    table = Table("gold", "predicted", title="Most frequent errors")
    table.add_column("documents", justify="right")
    for count, gold, predicted in sorted(pairs)[:MAX_MATRIX_LABELS]:
        table.add_row(labels[gold], labels[predicted], str(-count))
    return table


def calibration_table(metrics: dict[str, Any]) -> Table:
    """Make a table of the accuracy of predictions by confidence: a reliability diagram in text."""
    table = Table("confidence", title="Calibration")
    for heading in ("count", "mean", "accuracy"):
        table.add_column(heading, justify="right")
    table.add_column(f"accuracy {ACCURACY_BAR}, confidence {CONFIDENCE_MARK}")
    for one_bin in metrics["reliability"]:
        if one_bin["count"]:
            confidence, accuracy = one_bin["confidence"], one_bin["accuracy"]
            bounds, shares = f"{one_bin['low']:.1f}–{one_bin['high']:.1f}", (f"{confidence:.3f}", f"{accuracy:.3f}")
            table.add_row(bounds, f"{one_bin['count']:,.0f}", *shares, bar(accuracy, confidence))
    return table


def bar(length: float, mark: float) -> str:
    """Return a bar with a mark; length and mark are fractions of the width."""
    cells = [ACCURACY_BAR if k < round(length * BAR_WIDTH) else " " for k in range(BAR_WIDTH)]
    cells[min(int(mark * BAR_WIDTH), BAR_WIDTH - 1)] = CONFIDENCE_MARK
    return "".join(cells)


def write_reliability_diagram(metrics: dict[str, Any], path: Path) -> bool:
    """Plot the reliability diagram; return False if matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
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
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    return True


def summary(metrics: dict[str, Any]) -> str:
    """Return a few lines about the scores and the model."""
    report = metrics["report"]
    lines = [
        f"macro-F1 {metrics['macro_f']:.3f}, micro-F1 {metrics['micro_f']:.3f} on {metrics['documents']:,} documents\n"
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


@one_line_errors
def main(
    model: Annotated[Path, typer.Argument(help="Folder of the trained pipeline.")],
    test: Annotated[Path, typer.Argument(help="Labelled JSON lines.")],
    output: Annotated[
        Path, typer.Argument(help="JSON file for the metrics; reliability.png is written to the same folder.")
    ],
) -> None:
    """Print the scores of a pipeline and write them to a file."""
    nlp, _ = load_pipeline(str(model))
    examples = list(JsonlCorpus(test)(nlp))
    if not examples:
        raise CommandError(f"{test} has no documents.")
    metrics = evaluate(nlp, examples)
    with writing(output) as file:
        file.write(f"{json_text(metrics, indent=2)}\n".encode())
    console = Console()
    console.print(label_table(metrics))
    if "confusion" in metrics:
        console.print(confusion_table(metrics))
    console.print(calibration_table(metrics))
    console.print(summary(metrics), highlight=False, soft_wrap=True)
    if not write_reliability_diagram(metrics, output.with_name("reliability.png")):
        console.print("reliability.png needs matplotlib: python -m pip install matplotlib", highlight=False)


if __name__ == "__main__":
    typer.run(main)
