"""Score a trained pipeline on labelled JSON lines: by label, who is taken for whom, and what the model is."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import spacy
import typer
from rich.console import Console
from rich.table import Table
from spacy.language import Language
from spacy.training import Example

from spacy_graft.pipeline.reader import JsonlCorpus
from spacy_graft.pipeline.textcat import TextCatGraft

#: Labels whose confusion matrix fits a terminal.
MATRIX_LABELS = 13


def graft_component(nlp: Language) -> TextCatGraft:
    """The pipeline's only component of ours."""
    found = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, TextCatGraft)]
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


def log_loss(labels: tuple[str, ...], examples: list[Example], exclusive: bool) -> float:
    """Mean log-loss a document in nats. Of several labels, one that a document says nothing of does not count."""
    total = 0.0
    for example in examples:
        for label in labels if exclusive else [label for label in labels if label in example.reference.cats]:
            gold, p = example.reference.cats.get(label, 0.0), example.predicted.cats[label]
            total -= gold * np.log(max(p, 1e-300))
            if not exclusive:
                total -= (1.0 - gold) * np.log(max(1.0 - p, 1e-300))
    return float(total / len(examples))


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
        "log_loss": log_loss(component.labels, scored, component.exclusive),
        "by_label": scores["cats_f_per_type"],
        "report": report.to_dict() if report else None,
    }
    if component.exclusive:
        metrics["confusion"] = {"labels": list(component.labels), "counts": confusion(component.labels, scored)}
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


def summary(metrics: dict[str, Any]) -> str:
    """A few lines on the scores and the model."""
    report = metrics["report"]
    lines = [
        f"macro-F1 {metrics['macro_f']:.3f}, micro-F1 {metrics['micro_f']:.3f}, log-loss {metrics['log_loss']:.3f} "
        f"on {metrics['documents']:,} documents"
    ]
    if report:
        lines.append(
            f"C = {report['l1']:.4g} ({report['l1_ratio']:.4f} of C_max), {report['n_active']:,} features of "
            f"{report['n_classes']:,} distinct ones\n"
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
    output: Annotated[Path, typer.Argument(help="JSON file to write the metrics to.")],
) -> None:
    """Print the scores of a pipeline and write them to a file."""
    nlp = spacy.load(model)
    metrics = evaluate(nlp, list(JsonlCorpus(test)(nlp)))
    write_json(output, metrics)
    console = Console()
    console.print(by_label(metrics))
    if "confusion" in metrics:
        console.print(confused(metrics))
    console.print(summary(metrics), highlight=False, soft_wrap=True)


if __name__ == "__main__":
    typer.run(main)
