"""Score a trained pipeline on labelled JSON lines: by label, who is taken for whom, how far probabilities can be
trusted, and what the model is.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import spacy
import typer
from rich.console import Console
from rich.table import Table
from spacy.language import Language
from spacy.training import Example

from spacy_graft.metrics import brier, expected_calibration_error, log_loss, reliability
from spacy_graft.pipeline.components import graft_components
from spacy_graft.pipeline.reader import JsonlCorpus
from spacy_graft.pipeline.textcat import TextCatGraft, TextCatGraftMultilabel

#: Labels whose confusion matrix fits a terminal.
MATRIX_LABELS = 13
#: The reliability figure in text.
BAR_WIDTH, RIGHT, MARK = 32, "█", "┃"


def graft_component(nlp: Language) -> TextCatGraft:
    """The pipeline's only component of ours."""
    found = list(graft_components(nlp).values())
    if len(found) != 1:
        raise typer.BadParameter(f"the pipeline has {len(found)} components of spacy-graft: {nlp.pipe_names}")
    return found[0]


def confusion(labels: tuple[str, ...], examples: list[Example]) -> list[list[int]]:
    """Counts: rows are gold labels, columns predicted ones."""
    counts = np.zeros((len(labels), len(labels)), int)
    for example in examples:
        gold, predicted = (max(doc.cats, key=doc.cats.__getitem__) for doc in (example.reference, example.predicted))
        if gold in labels:
            counts[labels.index(gold), labels.index(predicted)] += 1
    return [[int(count) for count in row] for row in counts]


def arrays(labels: tuple[str, ...], examples: list[Example], exclusive: bool) -> tuple[np.ndarray, ...]:
    """Probabilities, targets and what is known of them: (documents, labels).

    Of exclusive labels nothing is known of a document for which none of them holds.
    """
    gold = [example.reference.cats for example in examples]
    targets = np.array([[cats.get(label) or 0.0 for label in labels] for cats in gold])
    known = np.array([[label in cats for label in labels] for cats in gold])
    if exclusive:
        known = np.broadcast_to(targets.any(axis=1, keepdims=True), targets.shape)
    return np.array([[example.predicted.cats[label] for label in labels] for example in examples]), targets, known


def calibration_metrics(labels: tuple[str, ...], examples: list[Example], exclusive: bool) -> dict[str, Any]:
    """Figures of how far the probabilities can be trusted."""
    its = arrays(labels, examples, exclusive)
    bins = reliability(*its, exclusive=exclusive)
    return {
        "log_loss": log_loss(*its, exclusive=exclusive),
        "brier": brier(*its, exclusive=exclusive),
        "expected_calibration_error": expected_calibration_error(bins),
        "reliability": [asdict(each) for each in bins],
    }


def evaluate(nlp: Language, examples: list[Example]) -> dict[str, Any]:
    """All metrics, as plain values."""
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
        metrics["confusion"] = {"labels": list(component.labels), "counts": confusion(component.labels, scored)}
    if isinstance(component, TextCatGraftMultilabel):
        metrics["thresholds"] = component.thresholds
    return metrics


def by_label(metrics: dict[str, Any]) -> Table:
    """Precision, recall and F1 of each label."""
    table = Table("label", title="Scores by label")
    for heading in ("precision", "recall", "F1"):
        table.add_column(heading, justify="right")
    for label, scores in metrics["by_label"].items():
        table.add_row(label, *(f"{scores[key]:.3f}" for key in ("p", "r", "f")))
    return table


def confused(metrics: dict[str, Any]) -> Table:
    """The confusion matrix, predicted labels by number; of many labels, those that are taken for others most often."""
    labels, counts = metrics["confusion"]["labels"], metrics["confusion"]["counts"]
    if len(labels) > MATRIX_LABELS:
        return most_confused(labels, counts)
    table = Table("", "gold \\ predicted", title="Who is taken for whom", padding=(0, 0))
    for number in range(1, len(labels) + 1):
        table.add_column(str(number), justify="right", min_width=3)
    for number, (label, row) in enumerate(zip(labels, counts, strict=True), start=1):
        table.add_row(str(number), label, *(str(count) if count else "." for count in row))
    return table


def most_confused(labels: list[str], counts: list[list[int]]) -> Table:
    """Pairs of different labels by how often one is taken for the other."""
    pairs = [(-counts[i][j], i, j) for i in range(len(labels)) for j in range(len(labels)) if i != j and counts[i][j]]
    table = Table("gold", "predicted", title="Who is taken for whom most often")
    table.add_column("documents", justify="right")
    for count, gold, predicted in sorted(pairs)[:MATRIX_LABELS]:
        table.add_row(labels[gold], labels[predicted], str(-count))
    return table


def reliable(metrics: dict[str, Any]) -> Table:
    """The reliability figure in text: by confidence, how often predictions are right."""
    table = Table("confidence", title="Are probabilities what they say?")
    for heading in ("predictions", "mean", "right"):
        table.add_column(heading, justify="right")
    table.add_column(f"right {RIGHT} against confidence {MARK}")
    for each in metrics["reliability"]:
        if each["count"]:
            confidence, accuracy = each["confidence"], each["accuracy"]
            bounds, shares = f"{each['low']:.1f}–{each['high']:.1f}", (f"{confidence:.3f}", f"{accuracy:.3f}")
            table.add_row(bounds, f"{each['count']:,.0f}", *shares, bar(accuracy, confidence))
    return table


def bar(length: float, mark: float) -> str:
    """A bar and a mark, as shares of the width."""
    cells = [RIGHT if k < round(length * BAR_WIDTH) else " " for k in range(BAR_WIDTH)]
    cells[min(int(mark * BAR_WIDTH), BAR_WIDTH - 1)] = MARK
    return "".join(cells)


def reliability_figure(metrics: dict[str, Any], path: Path) -> bool:
    """Draw the reliability figure; False if there is nothing to draw it with."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    bins = [each for each in metrics["reliability"] if each["count"]]
    figure = Figure(figsize=(4.5, 5.5), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    above.plot([0, 1], [0, 1], color="0.7", linestyle="--")
    confidence, accuracy = ([each[key] for each in bins] for key in ("confidence", "accuracy"))
    above.plot(confidence, accuracy, marker="o", clip_on=False)
    above.set(xlim=(0, 1), ylim=(0, 1), ylabel="share that is right")
    above.set_title(f"expected calibration error {metrics['expected_calibration_error']:.3f}")
    lows, counts = ([each[key] for each in metrics["reliability"]] for key in ("low", "count"))
    below.bar(lows, counts, width=1 / len(lows), align="edge", edgecolor="white")
    below.set(xlabel="confidence", ylabel="predictions")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    return True


def summary(metrics: dict[str, Any]) -> str:
    """A few lines on the scores and the model."""
    report = metrics["report"]
    lines = [
        f"macro-F1 {metrics['macro_f']:.3f}, micro-F1 {metrics['micro_f']:.3f} on {metrics['documents']:,} documents\n"
        f"log-loss {metrics['log_loss']:.3f}, Brier score {metrics['brier']:.3f}, "
        f"expected calibration error {metrics['expected_calibration_error']:.3f}"
    ]
    if report:
        lines.append(
            f"C = {report['l1']:.4g} ({report['l1_ratio']:.4f} of C_max), {report['n_active']:,} features of "
            f"{report['n_columns']:,} distinct ones\n"
            f"duality gap {report['relative_gap']:.1e} of the objective at zero weights"
        )
    return "\n".join(lines)


def write_json(path: Path, value: Any) -> None:
    """Write the whole file, or leave what was there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def main(
    model: Annotated[Path, typer.Argument(help="Folder of the trained pipeline.")],
    test: Annotated[Path, typer.Argument(help="Labelled JSON lines.")],
    output: Annotated[Path, typer.Argument(help="JSON file to write the metrics to, and reliability.png beside it.")],
) -> None:
    """Print the scores of a pipeline and write them to a file."""
    nlp = spacy.load(model)
    metrics = evaluate(nlp, list(JsonlCorpus(test)(nlp)))
    write_json(output, metrics)
    console = Console()
    console.print(by_label(metrics))
    if "confusion" in metrics:
        console.print(confused(metrics))
    console.print(reliable(metrics))
    console.print(summary(metrics), highlight=False, soft_wrap=True)
    if not reliability_figure(metrics, output.with_name("reliability.png")):
        console.print("reliability.png needs matplotlib: python -m pip install matplotlib", highlight=False)


if __name__ == "__main__":
    typer.run(main)
