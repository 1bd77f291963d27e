"""Classify a few texts through ``nlp.pipe``, and tell which n-grams decided."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import spacy
import typer
from evaluate import graft_component
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from spacy_graft.explain.explanation import Contribution, LabelExplanation

#: Raw strings in the manner of the default corpus.
TEXTS = (
    "Fit a straight line to noisy points by least squares and return the residuals.",
    "Draw random samples from a skewed distribution with the given shape parameter.",
    "Design a low-pass filter with a cutoff at a tenth of the Nyquist frequency.",
    "Index of the nearest neighbour of each query point, by a tree.",
    "Sum of the values of the array over the labels of its regions.",
)
#: Labels by which the default corpus is known.
TEXT_LABELS = {"interpolate", "ndimage", "signal", "spatial", "stats"}
#: Contributions shown for each text.
STRONGEST = 6


def some_texts(path: Path, count: int) -> list[str]:
    """Texts at even distances in a file, cut where a terminal would be full."""
    lines = path.read_text(encoding="utf-8").splitlines()
    chosen = lines[:: max(1, len(lines) // count)][:count]
    return [json.loads(line)["text"][:300] for line in chosen]


def strongest(explanation: LabelExplanation) -> list[Contribution]:
    """The largest contributions, without n-grams that are part of one shown already, or hold one."""
    shown: list[Contribution] = []
    for part in explanation.contributions:
        if not any(repeats(part, other) for other in shown):
            shown.append(part)
    return shown[:STRONGEST]


def repeats(part: Contribution, other: Contribution) -> bool:
    """Whether of two n-grams one is part of the other."""
    both_ngrams = "n-gram" in part.kind and "n-gram" in other.kind
    return both_ngrams and (part.text in other.text or other.text in part.text)


def main(
    model: Annotated[Path, typer.Argument(help="Folder of the trained pipeline.")],
    test: Annotated[Path, typer.Argument(help="JSON lines to take texts from, if the corpus is not the default.")],
) -> None:
    """Print label, probability and the strongest n-grams of a few texts."""
    nlp = spacy.load(model)
    component = graft_component(nlp)
    console = Console()
    for doc in nlp.pipe(TEXTS if TEXT_LABELS.issubset(component.labels) else some_texts(test, len(TEXTS))):
        explanation = component.explain(doc).best
        console.print(f"\n[italic]{escape(doc.text)}[/italic]")
        console.print(f"[bold]{escape(explanation.label)}[/bold], probability {explanation.probability:.3f}")
        table = Table("feature", "block", box=None, padding=(0, 2))
        table.add_column("adds to the score", justify="right")
        for part in strongest(explanation):
            table.add_row(escape(repr(part.text)), part.block, f"{part.contribution:+.3f}")
        console.print(table)


if __name__ == "__main__":
    typer.run(main)
