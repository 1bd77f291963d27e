"""Options and types of commands that read texts; imports nothing slow."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from .common import CommandError, print_message

STANDARD_INPUT = "-"
#: Endings of the names of JSON lines files.
JSONL_SUFFIXES = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")


class InputFormat(StrEnum):
    """Content of a file or of standard input."""

    text = "text"
    jsonl = "jsonl"


class OnError(StrEnum):
    """What to do after a bad line or a text that the pipeline fails on."""

    fail = "fail"
    skip = "skip"


#: What commands take that read labelled texts.
CORPUS_HELP = (
    "Labelled texts: JSON lines, CSV, TSV, spaCy's documents (.spacy), or a folder with a folder for each label."
)
TextFieldOption = Annotated[str, typer.Option(metavar="KEY", help="Key of the text in JSON lines; column in tables.")]
LabelFieldOption = Annotated[
    str, typer.Option(metavar="KEY", help="Key of the labels in JSON lines; column in tables.")
]
IdFieldOption = Annotated[
    str, typer.Option(metavar="KEY", help="Key of the document's id in JSON lines; column in tables; may be absent.")
]
OnErrorOption = Annotated[
    OnError, typer.Option(help="After a bad line: exit with code 1, or report the line and continue.")
]


@dataclass(frozen=True)
class InputText:
    """A text to process.

    Attributes
    ----------
    text : str
    source : str
        File and line, for messages.
    line : int, optional
        Number of the line, from 1.
    record : dict, optional
        The JSON object of the line.
    """

    text: str
    source: str
    line: int | None = None
    record: dict[str, Any] | None = None

    def identity(self, id_field: str) -> dict[str, Any]:
        """Return line and id, as far as they are known."""
        identity: dict[str, Any] = {} if self.line is None else {"line": self.line}
        if self.record is not None and id_field in self.record:
            identity["id"] = self.record[id_field]
        return identity


def handle_error(error: Exception, on_error: OnError) -> None:
    """Report a bad text, or raise a CommandError."""
    if on_error == OnError.fail:
        raise CommandError(str(error)) from error
    print_message(f"Skipped: {error}")
