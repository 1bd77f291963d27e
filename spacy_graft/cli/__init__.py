"""The command line: ``spacy-graft``, and ``python -m spacy graft``.

Importing this package is cheap. Commands import what they need when they are called.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run ``spacy-graft``."""
    open_streams()
    try:
        from .app import app
        from .common import BAD_INPUT, print_message, text_of_error
    except KeyboardInterrupt:  # commands heed it when they are called
        sys.exit(130)
    try:
        app(prog_name="spacy-graft")
    except OSError as error:  # of --help and --version; commands heed theirs
        drop_unwritable()
        print_message(f"Error: {text_of_error(error)}")
        sys.exit(BAD_INPUT)


def open_streams() -> None:
    """Open closed standard streams on the null device: some daemons start commands without them.

    Otherwise the first file that is opened would be one of them: the system gives the smallest number that is free.
    Where one is open already, it stays.
    """
    for name, mode in {"stdin": "r", "stdout": "w", "stderr": "w"}.items():
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, open(null, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def drop_unwritable() -> None:
    """Discard what cannot be written to standard output. Python would report it again at exit, with its own code."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
