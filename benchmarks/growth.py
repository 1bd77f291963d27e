"""Time and memory a character as text grows.

    python benchmarks/growth.py --data DATA [--largest 256]

The texts are those of 20newsgroups, repeated with words swapped for invented ones in each copy, so that new text brings
new n-grams.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from common import measured, one_hot, pin_threads, print_table, texts_and_labels


def grown(data: Path, megabytes: int) -> tuple[list[str], list[str]]:
    """Texts of so many million characters, and their labels."""
    texts, labels = texts_and_labels(data, "20newsgroups_bydate")
    rng = random.Random(0)
    order = list(range(len(texts)))
    rng.shuffle(order)
    found, size, copy = [], 0, 0
    while size < megabytes * 1_000_000:
        for i in order:
            text = texts[i][:20_000]
            if copy:
                words = text.split(" ")
                for place in range(0, len(words), 4):
                    words[place] = f"{words[place][:2]}{rng.randrange(5000):x}"
                text = " ".join(words)
            found.append((text, labels[i]))
            size += len(text)
            if size >= megabytes * 1_000_000:
                break
        copy += 1
    return [text for text, _ in found], [label for _, label in found]


def trained(data: Path, megabytes: int, l1: float) -> Iterator[dict[str, Any]]:
    """Index and fit at an L1 strength in proportion to the documents; two labels (computers or not)."""
    from ours import character_stream, compile_kernels, to_the_end, training_data

    from spacy_graft.graft.settings import Grafting

    texts, labels = grown(data, megabytes)
    targets = one_hot([str(label.startswith("comp")) for label in labels])
    compile_kernels()
    yield {}
    l1 = max(1.0, l1 * len(texts))
    fit = to_the_end(
        Grafting(l1=l1, n_best=None, tol=1e-3), training_data({"characters": character_stream(texts)}, targets)
    )
    yield {"characters": sum(map(len, texts)), "documents": len(texts), "l1": l1, "report": fit.report.to_dict()}


def main(
    data: Annotated[Path, typer.Option(help="Folder of the data sets.")],
    largest: Annotated[int, typer.Option(help="Largest size, in million characters.")] = 256,
) -> None:
    """Double the text until it is as large as asked."""
    pin_threads()
    rows = []
    size = 1
    while size <= largest:
        run = measured(trained, data, size, 0.001)
        result, report = run.result, run.result["report"]
        characters = result["characters"]
        rows.append([
            f"{characters / 1e6:.0f}", f"{result['documents']:,}", f"{result['l1']:.1f}", f"{run.seconds:.1f}",
            f"{run.seconds / characters * 1e6:.3f}", f"{report['seconds']['index']:.1f}",
            f"{run.megabytes:,.0f}", f"{run.megabytes / characters * 1e6:.0f}", f"{report['n_columns']:,}",
            f"{report['n_active']:,}", f"{report['rounds']}", f"{report['relative_gap']:.0e}",
        ])  # fmt: skip
        size *= 2
    header = ("M characters", "documents", "l1", "CPU s", "µs a character", "of it index (wall s)", "MB above start",
              "bytes a character", "distinct columns", "features", "rounds", "gap / F(0)")  # fmt: skip
    print_table("Growth: characters of any length, l1 = documents / 1000", header, rows)


if __name__ == "__main__":
    typer.run(main)
