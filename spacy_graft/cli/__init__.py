"""The command line: ``spacy-graft``, and ``python -m spacy graft``.

Importing this package is cheap. Commands import what they need when they are called.
"""

from __future__ import annotations


def main() -> None:
    """Run ``spacy-graft``."""
    from .app import app

    app(prog_name="spacy-graft")
