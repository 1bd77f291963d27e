"""How commands join an app."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import indent
from typing import Any

import typer

from .common import reporting


def make_app(name: str, help: str, **options: Any) -> typer.Typer:
    """An app without commands."""
    return typer.Typer(
        name=name, help=help, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False,
        add_completion=False, **options,
    )  # fmt: skip


def add(app: typer.Typer, name: str, command: Callable[..., None], examples: str, **options: Any) -> None:
    """Add a command whose help ends with examples."""
    # A \b keeps the lines as they are.
    epilog = f"\b\nExamples:\n{indent(examples.strip(), '  ')}"
    app.command(name, epilog=epilog, **{"no_args_is_help": True, **options})(reporting(command))
