"""What all commands share: errors and exit codes, pipelines, formats."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..files import json_text
from ..messages import did_you_mean, listed, one_line

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from spacy.language import Language

    from ..pipeline.textcat import TextCatGraft

#: Exit codes. Wrong usage is 2, by typer; the last is what a shell says of a process that SIGPIPE has ended.
BAD_INPUT, BROKEN_PIPE = 1, 141


class Format(StrEnum):
    """How results are printed."""

    table = "table"
    json = "json"


Model = Annotated[str, typer.Argument(metavar="MODEL", help="Folder of a trained pipeline, or the name of a package.")]
Component = Annotated[
    str | None, typer.Option("--component", metavar="NAME", help="Which component, if the pipeline has several.")
]
OutputFormat = Annotated[
    Format | None, typer.Option("--format", help="A table on a terminal, JSON elsewhere, unless it is given.")
]


class CommandError(Exception):
    """An error of the input: the message is all that its author needs."""


def reporting(command: Callable[..., None]) -> Callable[..., None]:
    """The command, which ends with a line and an exit code where the input is bad."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
            sys.stdout.flush()
        except BrokenPipeError:
            # What is still in the buffer has nowhere to go, and Python would say so at its exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(BROKEN_PIPE) from None
        except (CommandError, OSError, ValueError) as error:
            complain(f"Error: {error}")
            raise typer.Exit(BAD_INPUT) from None

    return run


def complain(message: str) -> None:
    """A line on standard error."""
    typer.echo(one_line(message), err=True)


def load(model: str, component: str | None = None) -> tuple[Language, TextCatGraft]:
    """A pipeline and its graft component, which has weights.

    Raises
    ------
    CommandError
        If it is no pipeline, or has no such component, or several of which none is chosen.
    """
    import spacy
    from spacy.util import is_package

    folder = Path(model)
    if folder.exists() and not (folder / "config.cfg").is_file():
        best = folder / "model-best"
        hint = f" Did you mean {best}?" if best.is_dir() else ""
        raise CommandError(f"{model} is no pipeline: there is no config.cfg in it.{hint}")
    if not folder.exists() and not is_package(model):
        raise CommandError(f"There is no pipeline {model}: neither a folder nor an installed package.")
    try:
        nlp = spacy.load(model)
    except Exception as error:  # files can be damaged in any way
        raise CommandError(f"{model} cannot be loaded: {type(error).__name__}: {error}") from error
    return nlp, trained_component(nlp, component, model)


def trained_component(nlp: Language, name: str | None, source: str) -> TextCatGraft:
    """The component of that name, or the only one, which has weights."""
    from ..pipeline.components import graft_component

    component = graft_component(nlp, name, source)
    if not component.is_initialized:
        raise CommandError(f"The component {component.name!r} of {source} has no weights yet: train it.")
    return component


def check_label(component: TextCatGraft, label: str | None) -> None:
    """Raise a CommandError that names the nearest label if there is none of that name."""
    if label is not None and label not in component.labels:
        raise CommandError(
            f"There is no label {label!r}.{did_you_mean(label, component.labels)} The labels: "
            f"{listed(component.labels)}."
        )


def as_table(chosen: Format | None) -> bool:
    """Whether a table is wanted: on a terminal, where nothing is said."""
    return sys.stdout.isatty() if chosen is None else chosen == Format.table


def print_json(value: Any, indent: int | None = None) -> None:
    """A value on standard output; in ASCII, where that is not in UTF-8."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    sys.stdout.write((json_text(value, indent) if utf8 else json.dumps(value, indent=indent)) + "\n")


def show(*renderables: RenderableType) -> None:
    """What rich makes of tables and texts, on standard output."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    # Written by ourselves: rich has an exit code of its own for broken pipes.
    with console.capture() as capture:
        for renderable in renderables:
            console.print(Text(renderable) if isinstance(renderable, str) else renderable)
    sys.stdout.write(capture.get())


def table_of(title: str | None, *columns: str, numbers: Iterable[str] = ()) -> Table:
    """An empty table; columns of numbers are aligned to the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(one_line(title)) if title else None, title_justify="left", box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(Text(column), justify="right" if column in set(numbers) else "left", overflow="fold")
    return table


def add_row(table: Table, *cells: object) -> None:
    """A row of values as they are: rich takes brackets in a string for markup."""
    from rich.text import Text

    table.add_row(*(cell if isinstance(cell, Text) else Text(printable(str(cell))) for cell in cells))


def printable(text: str) -> str:
    """The text with a sign for each character that has no shape of its own, spaces at the ends included."""
    shown = "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)
    inner = shown.strip(" ")
    left = len(shown) - len(shown.lstrip(" "))
    return "␣" * left + inner + "␣" * (len(shown) - left - len(inner))
