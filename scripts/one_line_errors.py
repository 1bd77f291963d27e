"""The errors of a script's input: one line on standard error, and exit code 1."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import typer

from spacy_graft.cli.common import BAD_INPUT, CommandError
from spacy_graft.messages import one_line


def one_line_errors(main: Callable[..., None]) -> Callable[..., None]:
    """Return a script's function with errors of its input printed on one line; they name the file."""

    @functools.wraps(main)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            main(*args, **kwargs)
        except (CommandError, OSError, ValueError) as error:
            typer.echo(f"error: {one_line(error)}", err=True)
            raise typer.Exit(BAD_INPUT) from None

    return run
