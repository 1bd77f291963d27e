"""Reading texts from an argument, a file or standard input; JSON lines are read one at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from ..files import BadLineError, json_object, numbered_lines
from ..pipeline.contents import Content, Form
from ..pipeline.reader import JsonlCorpus
from .common import CommandError
from .inputs import JSONL_SUFFIXES, STANDARD_INPUT, InputFormat, InputText, OnError, handle_error


class JsonlTexts(JsonlCorpus):
    """Texts of JSON lines, without labels, from a file or standard input."""

    content = Content(Form.jsonl)

    def __init__(self, path: str, text_field: str) -> None:
        super().__init__(path, text_field)
        self.n_bytes = 0

    def texts(self, on_error: OnError) -> Iterator[InputText]:
        """Yield the texts in order; bad lines are reported, or raise a CommandError."""
        for number, line in self._lines():
            self.n_bytes += len(line)
            if not line.strip():
                continue
            try:
                record = json_object(self.path, number, line)
                text = self._text(number, record)
            except BadLineError as error:
                handle_error(error, on_error)
            else:
                yield InputText(text, f"{self.path}, line {number}", number, record)

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        if str(self.path) == STANDARD_INPUT:
            yield from enumerate(sys.stdin.buffer, start=1)
        else:
            yield from numbered_lines(self.path)

    @property
    def total_bytes(self) -> int | None:
        """Size of the file; None if it is unknown (standard input, compressed files)."""
        if str(self.path) == STANDARD_INPUT or self.path.suffix == ".gz" or not self.path.is_file():
            return None
        return self.path.stat().st_size


def jsonl_texts(path: str, text_field: str) -> JsonlTexts:
    """Open JSON lines of an existing file or of standard input."""
    if path != STANDARD_INPUT and not os.path.exists(path):
        raise CommandError(f"There is no file {path}.")
    if os.path.isdir(path):
        raise CommandError(f"{path} is a folder. Give a file of JSON lines.")
    return JsonlTexts(path, text_field)


def read_texts(argument: str, text_field: str, format: InputFormat | None, on_error: OnError) -> Iterator[InputText]:
    """Yield the texts of an argument that is a text, a file, or - for standard input."""
    if argument == STANDARD_INPUT or os.path.exists(argument):
        if format == InputFormat.jsonl or (format is None and argument.lower().endswith(JSONL_SUFFIXES)):
            return jsonl_texts(argument, text_field).texts(on_error)
        return iter([InputText(read_file(argument), argument)])
    if format is not None or looks_like_file(argument):
        raise CommandError(f"There is no file {argument}.")
    return iter([InputText(utf8(argument.encode(errors="surrogateescape").decode, "The text"), "the text")])


def looks_like_file(argument: str) -> bool:
    """Return whether an argument is more likely the name of a missing file than a text."""
    return not any(map(str.isspace, argument)) and argument.lower().endswith((".txt", ".json", *JSONL_SUFFIXES))


def read_file(path: str) -> str:
    """Read the whole text of a file or of standard input."""
    if os.path.isdir(path):
        raise CommandError(f"{path} is a folder. Give a file.")
    content = sys.stdin.buffer.read() if path == STANDARD_INPUT else Path(path).read_bytes()
    return utf8(lambda: content.decode("utf-8-sig"), "Standard input" if path == STANDARD_INPUT else path)


def utf8(decode: Callable[[], str], source: str) -> str:
    """Decode a text; a CommandError names the first byte that is not UTF-8."""
    try:
        return decode()
    except UnicodeDecodeError as error:
        raise CommandError(f"{source} is not UTF-8: byte {error.start} is 0x{error.object[error.start]:02x}.") from None
