"""Labelled JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..extract.extensions import is_number
from ..files import BadLineError, json_kind, json_object, numbered_lines
from .targets import ID_KEY, WEIGHT_KEY


class JsonlCorpus:
    """Examples from a file of labelled JSON lines: ``spacy_graft.JsonlCorpus.v1``.

    A line is an object with a text and labels, which are

    - a string, the one label that holds,
    - a list of strings, all labels that hold (none if it is empty), or
    - an object of numbers in [0, 1] by label, which are taken as they are: what it leaves out is unknown.

    To the first two, all other labels are 0: those of the file, and those of pipeline components that have one of these
    already (so that a dev file need not hold every label). Lines that are empty are skipped. The file is read for its
    labels and ids at first use, and again for each iteration; a line at a time is held in memory, and all ids. Without
    a ``label_field`` there are only texts.

    Parameters
    ----------
    path : str or Path
        A file of JSON lines in UTF-8, compressed if its name ends in ``.gz``.
    text_field : str
        The key of the text.
    label_field : str, optional
        The key of the labels; None if documents have none, as for a network of features.
    id_field : str, optional
        The key of a string or integer that names the document in messages; no two lines may have the same.
    weight_field : str, optional
        The key of a positive number by which the example counts.
    limit : int
        Number of documents to take from the beginning of the file; 0 takes all.

    Raises
    ------
    BadLineError
        In iteration, with file and line number, if a line is malformed.
    """

    def __init__(
        self,
        path: str | Path | None,
        text_field: str = "text",
        label_field: str | None = "label",
        id_field: str | None = None,
        weight_field: str | None = None,
        limit: int = 0,
    ) -> None:
        if path is None:
            wanted = "--paths.train train.jsonl --paths.dev dev.jsonl"
            if label_field is None:
                wanted = "--paths.unlabelled more.jsonl"
            raise ValueError(
                f"spacy_graft.JsonlCorpus.v1 has no path to read from. Set it in the config, or on the command line: "
                f"{wanted}"
            )
        self.path = Path(path)
        self.text_field = text_field
        self.label_field = label_field
        self.id_field = id_field
        self.weight_field = weight_field
        self.limit = limit

    def __call__(self, nlp: Language) -> Iterator[Example]:
        """Yield the examples, with nothing but tokens predicted."""
        labels = sorted({*self.labels, *labels_of_pipeline(nlp, self.labels)})
        for number, record in self._records():
            yield self._example(nlp, number, record, labels)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """All labels of the file, sorted. Reads the file, and checks labels and ids, the first time."""
        found: set[str] = set()
        ids: dict[str | int, int] = {}
        for number, record in self._records():
            found.update(self._labels_of(number, record))
            if self.id_field is not None:
                identity = self._id(number, record)
                if ids.setdefault(identity, number) != number:
                    raise self._bad(number, f"the id {identity!r} is that of line {ids[identity]}, too.")
        return tuple(sorted(found))

    def _records(self) -> Iterator[tuple[int, dict[str, Any]]]:
        n_read = 0
        for number, line in self._lines():
            if line.strip():
                yield number, json_object(self.path, number, line)
                n_read += 1
            if n_read == self.limit > 0:
                return

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """Lines with their numbers, from 1."""
        yield from numbered_lines(self.path)

    def _example(self, nlp: Language, number: int, record: dict[str, Any], labels: list[str]) -> Example:
        predicted = self._doc(nlp, number, record)
        reference = predicted.copy()
        reference.cats = self._cats(number, record, labels)
        if self.id_field is not None:
            reference.user_data[ID_KEY] = self._id(number, record)
        if self.weight_field is not None:
            reference.user_data[WEIGHT_KEY] = self._weight(number, record)
        return Example(predicted, reference)

    def _doc(self, nlp: Language, number: int, record: dict[str, Any]) -> Doc:
        text = self._field(number, record, self.text_field)
        if not isinstance(text, str):
            raise self._bad(number, f"the text, {self.text_field!r}, must be a string, not {json_kind(text)}.")
        self._check_surrogates(number, text)
        try:
            return nlp.make_doc(text)
        except ValueError as error:
            raise self._bad(number, str(error)) from error

    def _cats(self, number: int, record: dict[str, Any], labels: list[str]) -> dict[str, float]:
        value = None if self.label_field is None else record[self.label_field]
        if isinstance(value, dict):
            return {label: self._probability(number, label, item) for label, item in value.items()}
        positive = self._labels_of(number, record)
        return {label: float(label in positive) for label in labels}

    def _probability(self, number: int, label: str, value: Any) -> float:
        if not is_number(value) or not 0.0 <= value <= 1.0:
            raise self._bad(number, f"the label {label!r} must have a number from 0 to 1, not {json_kind(value)}.")
        return float(value)

    def _labels_of(self, number: int, record: dict[str, Any]) -> set[str]:
        """Labels that the line mentions."""
        if self.label_field is None:
            return set()
        value = self._field(number, record, self.label_field)
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list | dict):
            raise self._bad(
                number,
                f"the labels, {self.label_field!r}, must be a string, a list of strings or an object of numbers, "
                f"not {json_kind(value)}.",
            )
        for label in found:
            if not isinstance(label, str):
                raise self._bad(number, f"a label must be a string, not {json_kind(label)}.")
            self._check_surrogates(number, label)
        return set(found)

    def _id(self, number: int, record: dict[str, Any]) -> str | int:
        value = self._field(number, record, self.id_field)
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise self._bad(
                number, f"the id, {self.id_field!r}, must be a string or an integer, not {json_kind(value)}."
            )
        if isinstance(value, str):
            self._check_surrogates(number, value)
        return value

    def _weight(self, number: int, record: dict[str, Any]) -> float:
        value = self._field(number, record, self.weight_field)
        if not is_number(value) or not 0.0 < value <= sys.float_info.max:
            raise self._bad(
                number, f"the weight, {self.weight_field!r}, must be a positive finite number, not {json_kind(value)}."
            )
        return float(value)

    def _field(self, number: int, record: dict[str, Any], key: str | None) -> Any:
        if key not in record:
            raise self._bad(number, f"there is no {key!r}. The keys: {', '.join(map(repr, record)) or 'none'}.")
        return record[key]

    def _check_surrogates(self, number: int, text: str) -> None:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise self._bad(
                number,
                f"the string holds half a surrogate pair, \\u{ord(text[error.start]):04x} at character {error.start}, "
                f"which stands for nothing.",
            ) from error

    def _bad(self, number: int, problem: str) -> BadLineError:
        return BadLineError(self.path, number, problem)


def labels_of_pipeline(nlp: Language, labels: Iterable[str]) -> set[str]:
    """Labels of the components that write ``doc.cats`` and have one of the labels."""
    found: set[str] = set()
    for name, component in nlp.components:
        of_component = getattr(component, "labels", ())
        if "doc.cats" in nlp.get_pipe_meta(name).assigns and not set(labels).isdisjoint(of_component):
            found.update(of_component)
    return found
