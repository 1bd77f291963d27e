"""Labelled corpora of commands."""

from __future__ import annotations

from pathlib import Path

from ..pipeline.reader import JsonlCorpus
from .common import CommandError, print_message


def labelled_corpus(data: str, text_field: str, label_field: str) -> JsonlCorpus:
    """Open a labelled corpus, and say what it is read as; a CommandError if it does not exist."""
    if not Path(data).exists():
        raise CommandError(f"There is no file or folder {data}.")
    corpus = JsonlCorpus(data, text_field, label_field)
    print_message(f"{data} is read as {corpus.content}.")
    return corpus
