"""Loaded by the entry point ``spacy_cli``: adds ``graft`` to the commands of ``python -m spacy``."""

from __future__ import annotations

from spacy.cli._util import app as spacy_app

from .app import app

spacy_app.add_typer(app, name="graft")
