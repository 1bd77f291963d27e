"""Texts from an argument, a file, or standard input; a line at a time where there are lines."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from ..files import BadLineError, json_kind, json_object
from ..pipeline.reader import JsonlCorpus
from .common import CommandError
from .inputs import STANDARD_INPUT, InputFormat, Item, OnError, handle

#: Names that stand for files of JSON lines.
LINES = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")


class JsonlTexts(JsonlCorpus):
    """JSON lines of which only the texts matter, from a file or standard input."""

    def __init__(self, path: str, text_field: str) -> None:
        super().__init__(path, text_field)
        self.n_bytes = 0

    def items(self, on_error: OnError) -> Iterator[Item]:
        """The texts in order; bad lines are reported, or fatal."""
        for number, line in self._lines():
            self.n_bytes += len(line)
            if not line.strip():
                continue
            try:
                yield self._item(number, line)
            except BadLineError as error:
                handle(error, on_error)

    def _item(self, number: int, line: bytes) -> Item:
        record = json_object(self.path, number, line)
        text = self._field(number, record, self.text_field)
        if not isinstance(text, str):
            raise self._bad(number, f"the text, {self.text_field!r}, must be a string, not {json_kind(text)}.")
        self._check_surrogates(number, text)
        return Item(text, f"{self.path}, line {number}", number, record)

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        if str(self.path) == STANDARD_INPUT:
            yield from enumerate(sys.stdin.buffer, start=1)
        else:
            yield from super()._lines()

    @property
    def total_bytes(self) -> int | None:
        """How many there are, where that is known beforehand."""
        if str(self.path) == STANDARD_INPUT or self.path.suffix == ".gz" or not self.path.is_file():
            return None
        return self.path.stat().st_size


def jsonl_texts(path: str, text_field: str) -> JsonlTexts:
    """A file of JSON lines, which is there, or standard input."""
    if path != STANDARD_INPUT and not os.path.exists(path):
        raise CommandError(f"There is no file {path}.")
    if os.path.isdir(path):
        raise CommandError(f"{path} is a folder, and a file of JSON lines is expected.")
    return JsonlTexts(path, text_field)


def texts(given: str, text_field: str, format: InputFormat | None, on_error: OnError) -> Iterator[Item]:
    """The texts that an argument stands for: itself, a file, or standard input."""
    if given == STANDARD_INPUT or os.path.exists(given):
        lines = format == InputFormat.jsonl or (format is None and given.lower().endswith(LINES))
        if lines:
            return jsonl_texts(given, text_field).items(on_error)
        return iter([Item(whole_text(given), given)])
    if format is not None or looks_like_file(given):
        raise CommandError(f"There is no file {given}.")
    return iter([Item(utf8(given.encode(errors="surrogateescape").decode, "The text"), "the text")])


def looks_like_file(given: str) -> bool:
    """Whether an argument is more likely a file that is not there than a text."""
    return not any(map(str.isspace, given)) and given.lower().endswith((".txt", ".json", *LINES))


def whole_text(path: str) -> str:
    """The text of a file or of standard input."""
    if os.path.isdir(path):
        raise CommandError(f"{path} is a folder, and a file is expected.")
    content = sys.stdin.buffer.read() if path == STANDARD_INPUT else Path(path).read_bytes()
    return utf8(lambda: content.decode("utf-8-sig"), "Standard input" if path == STANDARD_INPUT else path)


def utf8(decode: Callable[[], str], source: str) -> str:
    """The text, or an error that says where it is not UTF-8."""
    try:
        return decode()
    except UnicodeDecodeError as error:
        raise CommandError(f"{source} is not UTF-8: byte {error.start} is 0x{error.object[error.start]:02x}.") from None
