"""``classify``: predict the labels of texts in JSON lines or a table."""

from __future__ import annotations

import os
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from ..files import delimiter_by_name, json_text, writing
from .common import (
    CommandError,
    ComponentOption,
    ModelArgument,
    load_pipeline,
    print_json,
    print_message,
    refuse_other_file,
    refuse_own_input,
    warn_of_metadata,
)
from .inputs import STANDARD_INPUT, OnError, OnErrorOption, TextFieldOption
from .progress import text_progress

if TYPE_CHECKING:
    from spacy.tokens import Doc

    from ..pipeline.textcat import TextCatGraft

#: Processes at most: each takes the memory of a pipeline. Windows waits for no more.
MOST_PROCESSES = 61 if os.name == "nt" else 256
#: Keys that are written.
ADDED = ("cats", "predicted")
EXAMPLES = """
spacy-graft classify training/model-best reviews.jsonl --output labelled.jsonl.gz
spacy-graft classify training/model-best reviews.csv --text-field review > labelled.jsonl
spacy-graft classify training/model-best reviews.jsonl.gz --n-process 4 --on-error skip > labelled.jsonl
zcat reviews.jsonl.gz | spacy-graft classify training/model-best - | head
"""


def classify_command(
    model: ModelArgument,
    lines: Annotated[
        str,
        typer.Argument(
            metavar="FILE|-",
            help="JSON lines or a table (CSV, TSV; .gz as well), or - for JSON lines from standard input.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            help="Output file, always JSON lines; compressed if it ends in .gz. After an error, no "
            "incomplete file is left."
        ),
    ] = None,
    text_field: TextFieldOption = "text",
    on_error: OnErrorOption = OnError.fail,
    n_process: Annotated[int, typer.Option(min=1, max=MOST_PROCESSES, help="Number of processes.")] = 1,
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Texts in a batch; by default the pipeline's batch size.")
    ] = None,
    component: ComponentOption = None,
) -> None:
    """Predict the labels of texts in JSON lines or a table.

    Each line is written as JSON with two more keys, which replace its own of these names: `cats`, the probabilities by
    label, and `predicted`, a list of the labels that are predicted. The order is kept. A few thousand lines are in
    memory at a time, fewer if they are long.
    """
    from ..pipeline.components import later_components_disabled
    from .streaming import TextStream
    from .texts import text_lines_of

    is_other = output is not None and (delimiter_by_name(output) is not None or output.suffix.lower() == ".spacy")
    if is_other or str(output) == STANDARD_INPUT:
        raise CommandError(
            f"{output}: classify writes JSON lines, by default to standard output. Give a name for them."
        )
    if text_field in ADDED:
        raise CommandError(f"The key {text_field!r} is one of those that classify writes. Rename it.")
    refuse_other_file(output, ".jsonl", ".ndjson", ".json")
    refuse_own_input(output, lines, model)
    nlp, graft = load_pipeline(model, component)
    warn_of_metadata(graft)
    source = text_lines_of(lines, text_field)
    stream = TextStream(nlp, partial(prediction, graft), on_error, batch_size, n_process)
    of_component = later_components_disabled(nlp, graft)
    with of_component, writing(output) if output else nullcontext() as file, text_progress(source) as advance:
        for text, predicted in stream.run(source.texts(on_error)):
            write_record({**(text.record or {}), **predicted}, file)
            advance()
    if output is not None:
        print_message(f"Wrote {output}.")


def prediction(component: TextCatGraft, doc: Doc) -> dict[str, object]:
    """The probabilities of a document by label, and the labels that are predicted."""
    import numpy as np

    probabilities = {label: doc.cats[label] for label in component.labels}
    (predicted,) = component.labels_from(np.array([list(probabilities.values())]))
    return {"cats": probabilities, "predicted": predicted}


def write_record(record: dict[str, object], file: IO[bytes] | None) -> None:
    """Write one line to a file, or to standard output."""
    if file is None:
        print_json(record)
    else:
        file.write(f"{json_text(record)}\n".encode())
