"""Classify a few texts and show the words and phrases with the largest contributions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from one_line_errors import one_line_errors
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from spacy_graft.cli.common import load_pipeline
from spacy_graft.files import BadLineError, json_object, numbered_lines

#: Texts like those of the default corpus, with the subpackage where such a function is.
TEXTS = {
    "Fit a straight line to noisy points by least squares and return the residuals.": "optimize",
    "Draw random samples from a skewed distribution with the given shape parameter.": "stats",
    "Design a low-pass filter with a cutoff at a tenth of the Nyquist frequency.": "signal",
    "Index of the nearest neighbour of each query point, by a tree.": "spatial",
    "Sum of the values of the array over the labels of its regions.": "ndimage",
}
#: Number of words and phrases to show for each text.
MAX_WORDS = 6


def sample_texts(path: Path, count: int) -> list[tuple[str, str | None]]:
    """Return texts at even distances in a file of JSON lines, cut to 300 characters, with their labels."""
    lines = list(numbered_lines(path))
    chosen = lines[:: max(1, len(lines) // count)][:count]
    return [text_and_label(path, *line) for line in chosen]


def text_and_label(path: Path, number: int, line: bytes) -> tuple[str, str | None]:
    """Return the text of a line, and its label if it has just one."""
    record = json_object(path, number, line)
    text, label = record.get("text"), record.get("label")
    if not isinstance(text, str):
        raise BadLineError(path, number, "there is no 'text' that is a string.")
    return text[:300], label if isinstance(label, str) else None


@one_line_errors
def main(
    model: Annotated[Path, typer.Argument(help="Folder of the trained pipeline.")],
    test: Annotated[
        Path, typer.Argument(help="JSON lines to take texts from, if the model is not of the default corpus.")
    ],
) -> None:
    """Print label, probability and the largest contributions of words and phrases for a few texts."""
    nlp, component = load_pipeline(str(model))
    console = Console()
    is_default = set(TEXTS.values()).issubset(component.labels)
    for doc, label in nlp.pipe(TEXTS.items() if is_default else sample_texts(test, len(TEXTS)), as_tuples=True):
        explanation = component.explain(doc).best
        console.print(f"\n[italic]{escape(doc.text)}[/italic]")
        miss = f" (wrong: the label is {escape(label)})" if label not in (None, explanation.label) else ""
        console.print(f"[bold]{escape(explanation.label)}[/bold], probability {explanation.probability:.3f}{miss}")
        table = Table("word or phrase", "strongest feature", box=None, padding=(0, 2))
        table.add_column("contribution", justify="right")
        for row in explanation.words[:MAX_WORDS]:
            strongest, _ = row.parts[0]
            table.add_row(
                escape(row.text), f"{escape(repr(strongest.text))} ({strongest.block})", f"{row.contribution:+.3f}"
            )
        console.print(table)


if __name__ == "__main__":
    typer.run(main)
