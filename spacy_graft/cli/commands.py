"""Making apps and adding commands to them."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import wrap
from typing import Any

import typer

from .common import with_exit_codes


def make_app(name: str, help: str, **options: Any) -> typer.Typer:
    """Make an app without commands."""
    return typer.Typer(
        name=name, help=help, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False,
        add_completion=False, **options,
    )  # fmt: skip


def add_command(app: typer.Typer, name: str, command: Callable[..., None], examples: str, **options: Any) -> None:
    """Add a command, with examples at the end of its help."""
    # click keeps the line breaks of a paragraph that begins with \b.
    epilog = "\n  ".join(["\b\nExamples:", *map(shell_lines, examples.strip().splitlines())])
    app.command(name, epilog=epilog, **{"no_args_is_help": True, **options})(with_exit_codes(command))


def shell_lines(command: str) -> str:
    """Break a command line as a shell reads it, to fit a terminal of 80 columns."""
    return " \\\n  ".join(wrap(command, 74, subsequent_indent="    ", break_on_hyphens=False))
