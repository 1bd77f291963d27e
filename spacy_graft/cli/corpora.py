"""Labelled corpora of commands, and the labels of their documents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..messages import warn
from .common import CommandError, file_is_there, print_message

if TYPE_CHECKING:
    from spacy.language import Language

    from ..pipeline.reader import JsonlCorpus

#: The labels of a document: one, several, or targets.
LabelValues = str | list[str] | dict[str, float]


def labelled_corpus(data: str, text_field: str, label_field: str) -> JsonlCorpus:
    """Open a labelled corpus, and say what it is read as; a CommandError if it does not exist."""
    from ..pipeline.reader import JsonlCorpus

    if not file_is_there(data):
        raise CommandError(f"There is no file or folder {data}.")
    corpus = JsonlCorpus(data, text_field, label_field)
    print_message(f"{data} is read as {corpus.content}.")
    return corpus


def is_training_corpus(nlp: Language, data: str | Path) -> bool:
    """Whether this is the file or folder that a pipeline was trained on, by its config.

    Another folder than that of the training may have a file of the same name.
    """
    trained = nlp.config.get("paths", {}).get("train")
    is_there = isinstance(trained, str) and os.path.exists(trained) and os.path.exists(data)
    return is_there and os.path.samefile(trained, data)


def warn_of_training_corpus(nlp: Language, data: str | Path) -> None:
    """Warn of the file or folder that a pipeline was trained on."""
    if is_training_corpus(nlp, data):
        warn(
            f"In the config of the pipeline, {nlp.config['paths']['train']} is what it was trained on (paths.train). "
            f"If these are the same documents, its scores on them are too good: give others."
        )


def labels_of(corpus: JsonlCorpus, record: dict[str, Any]) -> Any:
    """The labels of a document that has been read; none if none are read."""
    return [] if corpus.label_field is None else record[corpus.label_field]


def positive_of(labels: LabelValues) -> frozenset[str]:
    """The labels that hold."""
    from ..pipeline.targets import positive_labels

    if isinstance(labels, dict):
        return positive_labels(labels)
    return frozenset([labels] if isinstance(labels, str) else labels)


def are_several(labels: LabelValues) -> bool:
    """Whether labels are more than one, or targets that sum to more than 1."""
    from ..pipeline.targets import SUM_TOLERANCE

    if isinstance(labels, dict):
        return sum(labels.values()) > 1.0 + SUM_TOLERANCE
    return not isinstance(labels, str) and len(set(labels)) > 1


def is_single(labels: LabelValues) -> bool:
    """Whether labels are one, or targets that sum to 1."""
    from ..pipeline.targets import sum_to_one

    if isinstance(labels, dict):
        return sum_to_one(labels.values())
    return isinstance(labels, str) or len({*labels}) == 1


def are_exclusive(corpus: JsonlCorpus) -> bool:
    """Whether the labels of a corpus are taken to exclude each other: every document has exactly one."""
    return all(is_single(labels_of(corpus, record)) for _, record in corpus.records())
