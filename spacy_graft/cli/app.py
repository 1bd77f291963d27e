"""The app: all commands, under their names."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import indent
from typing import Any

import typer

from . import classify, debug_data, diff, explain, features, init_config, path, report
from .common import reporting

HELP = """Sparse linear text classifiers: what they are made of, why they say what they say.

Results go to standard output, as tables on a terminal and as JSON elsewhere; errors, warnings and progress go to
standard error. Exit codes: 0, 1 (bad input or data), 2 (wrong usage), 141 (the reader of the output has gone).
"""
#: spaCy's way to take settings of a config, --paths.train and the like.
OVERRIDES = {"allow_extra_args": True, "ignore_unknown_options": True}

app = typer.Typer(
    name="graft", help=HELP, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False,
    add_completion=False,
)  # fmt: skip


def add(name: str, command: Callable[..., None], examples: str, **options: Any) -> None:
    """Add a command whose help ends with examples."""
    # A \b keeps the lines as they are.
    epilog = f"\b\nExamples:\n{indent(examples.strip(), '  ')}"
    app.command(name, epilog=epilog, no_args_is_help=name != "init-config", **options)(reporting(command))


add("explain", explain.explain, explain.EXAMPLES)
add("classify", classify.classify, classify.EXAMPLES)
add("features", features.features, features.EXAMPLES)
add("report", report.report, report.EXAMPLES)
add("path", path.path, path.EXAMPLES)
add("diff", diff.diff, diff.EXAMPLES)
add("debug-data", debug_data.debug_data, debug_data.EXAMPLES, context_settings=OVERRIDES)
add("init-config", init_config.init_config, init_config.EXAMPLES)
