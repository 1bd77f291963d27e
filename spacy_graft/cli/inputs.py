"""What commands that take texts have in common; nothing that is slow to import."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from .common import CommandError, complain

STANDARD_INPUT = "-"


class InputFormat(StrEnum):
    """What a file or standard input holds."""

    text = "text"
    jsonl = "jsonl"


class OnError(StrEnum):
    """What a bad line does."""

    fail = "fail"
    skip = "skip"


TextField = Annotated[str, typer.Option(metavar="KEY", help="Key of the text, in JSON lines.")]
IdField = Annotated[
    str, typer.Option(metavar="KEY", help="Key of what names a document, in JSON lines, if it is there.")
]
Bad = Annotated[OnError, typer.Option(help="What to do after a bad line: end with exit code 1, or go on.")]


@dataclass(frozen=True)
class Item:
    """A text.

    Attributes
    ----------
    text : str
    source : str
        Where it is from, for messages.
    line : int, optional
        Its line, from 1.
    record : dict, optional
        All of the line.
    """

    text: str
    source: str
    line: int | None = None
    record: dict[str, Any] | None = None

    def names(self, id_field: str) -> dict[str, Any]:
        """What tells it from others: line and, where there is one, id."""
        names: dict[str, Any] = {} if self.line is None else {"line": self.line}
        if self.record is not None and id_field in self.record:
            names["id"] = self.record[id_field]
        return names


def handle(error: Exception, on_error: OnError) -> None:
    """Report what is wrong with a text, or end."""
    if on_error == OnError.fail:
        raise CommandError(str(error)) from error
    complain(f"Skipped: {error}")
