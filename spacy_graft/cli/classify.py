"""``classify``: labels for JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from ..files import json_text, writing
from .common import Component, Model, load, print_json
from .inputs import Bad, OnError, TextField

if TYPE_CHECKING:
    from spacy.tokens import Doc

    from .texts import JsonlTexts

EXAMPLES = """
spacy-graft classify training/model-best reviews.jsonl --output labelled.jsonl.gz
spacy-graft classify training/model-best reviews.jsonl.gz --n-process 4 --on-error skip > labelled.jsonl
zcat reviews.jsonl.gz | spacy-graft classify training/model-best - | head
"""


def classify(
    model: Model,
    lines: Annotated[str, typer.Argument(metavar="FILE|-", help="JSON lines (.gz as well), or - for standard input.")],
    output: Annotated[
        Path | None, typer.Option(help="File to write, whole or not at all; compressed if it ends in .gz.")
    ] = None,
    text_field: TextField = "text",
    on_error: Bad = OnError.fail,
    n_process: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Texts of a batch, by default those of the pipeline.")
    ] = None,
    component: Component = None,
) -> None:
    """Give each of the texts probabilities for the labels.

    Each line is written again, with `cats`: an object of probabilities by label. Lines come in order, and some
    thousands are held in memory.
    """
    from .streaming import stream
    from .texts import jsonl_texts

    nlp, graft = load(model, component)
    source = jsonl_texts(lines, text_field)
    labels = graft.labels

    def cats(doc: Doc) -> dict[str, float]:
        return {label: doc.cats[label] for label in labels}

    with writing(output) if output else nullcontext() as file, progress(source) as advance:
        for item, probabilities in stream(nlp, source.items(on_error), cats, on_error, batch_size, n_process):
            write({**(item.record or {}), "cats": probabilities}, file)
            advance()


def write(record: dict[str, object], file: IO[bytes] | None) -> None:
    """A line, to a file or to standard output."""
    if file is None:
        print_json(record)
    else:
        file.write(f"{json_text(record)}\n".encode())


@contextmanager
def progress(source: JsonlTexts) -> Iterator[Callable[[], None]]:
    """A bar on standard error, if that is a terminal; yields what to call after each document."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.fields[n]:,} texts"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    # Standard output is left alone: rich would hold it back otherwise.
    with Progress(
        *columns,
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
        redirect_stdout=False,
        redirect_stderr=True,
    ) as bar:
        task = bar.add_task("", total=source.total_bytes, n=0)
        n = 0

        def advance() -> None:
            nonlocal n
            n += 1
            bar.update(task, completed=source.n_bytes, n=n)

        yield advance
