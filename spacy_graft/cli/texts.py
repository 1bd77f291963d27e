"""Reading texts from an argument, a file or standard input; lines are read one at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from pathlib import Path

from ..files import TABLE_ENDINGS, BadLineError, is_compressed, json_records, numbered_lines, table_records
from ..pipeline.contents import Content, Form, Record, content_of
from ..pipeline.reader import JsonlCorpus
from .common import CommandError, file_is_there
from .inputs import JSONL_SUFFIXES, STANDARD_INPUT, InputFormat, InputText, OnError, handle_error


class TextLines(JsonlCorpus):
    """Texts without labels: JSON lines or a table, as the content tells, or JSON lines of standard input.

    Attributes
    ----------
    n_bytes : int
        Of the lines of JSON that have been read.
    """

    def __init__(self, path: str, text_field: str) -> None:
        super().__init__(path, text_field, label_field=None)
        self.n_bytes = 0

    @cached_property
    def content(self) -> Content:
        """What the texts are stored as."""
        # What is in a pipe can be read only once; of a file named so, a first line that is wrong says nothing.
        is_jsonl = not self._is_stored or self.path.name.lower().endswith(JSONL_SUFFIXES)
        content = Content(Form.jsonl) if is_jsonl else content_of(self.path, self.text_field)
        if content.form not in (Form.jsonl, Form.table):
            raise CommandError(f"{self.path} is read as {content}. Texts without labels are JSON lines or a table.")
        return content

    def texts(self, on_error: OnError) -> Iterator[InputText]:
        """Yield the texts in order; bad lines are reported, or raise a CommandError."""
        refuse = partial(handle_error, on_error=on_error)
        if self.content.form == Form.table:
            records: Iterator[Record] = table_records(self.path, self.content.delimiter, on_bad_row=refuse)
        else:
            records = json_records(self.path, self._lines(), refuse)
        for number, record in records:
            try:
                text = self._text(number, record)
            except BadLineError as error:
                handle_error(error, on_error)
            else:
                yield InputText(text, f"{self.path}, line {number}", number, record)

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        is_stdin = str(self.path) == STANDARD_INPUT
        for number, line in enumerate(sys.stdin.buffer, start=1) if is_stdin else numbered_lines(self.path):
            self.n_bytes += len(line)
            yield number, line

    @property
    def _is_stored(self) -> bool:
        return str(self.path) != STANDARD_INPUT and self.path.is_file()

    @property
    def total_bytes(self) -> int | None:
        """Size of the lines; None if it is unknown (standard input, compressed files, tables)."""
        is_known = self._is_stored and not is_compressed(self.path) and self.content.form == Form.jsonl
        return self.path.stat().st_size if is_known else None


def text_lines_of(path: str, text_field: str) -> TextLines:
    """Open JSON lines or a table of an existing file, or JSON lines of standard input."""
    if path != STANDARD_INPUT and not file_is_there(path):
        raise CommandError(f"There is no file {path}.")
    if os.path.isdir(path):
        raise CommandError(f"{path} is a folder. Give a file of JSON lines or a table.")
    return TextLines(path, text_field)


def read_texts(argument: str, text_field: str, format: InputFormat | None, on_error: OnError) -> Iterator[InputText]:
    """Yield the texts of an argument that is a text, a file, or - for standard input."""
    if argument == STANDARD_INPUT or file_is_there(argument):
        if has_lines(argument, format):
            return text_lines_of(argument, text_field).texts(on_error)
        return iter([InputText(read_file(argument), argument)])
    if format is not None or looks_like_file(argument):
        raise CommandError(f"There is no file {argument}.")
    return iter([InputText(utf8(argument.encode(errors="surrogateescape").decode, "The text"), "the text")])


def has_lines(argument: str, format: InputFormat | None) -> bool:
    """Whether a file, also one that is missing, or standard input has a text on each line, and is not one text."""
    by_name = argument.lower().endswith((*JSONL_SUFFIXES, *TABLE_ENDINGS))
    return format == InputFormat.jsonl or (format is None and by_name)


def looks_like_file(argument: str) -> bool:
    """Return whether an argument is more likely the name of a missing file than a text."""
    endings = (".txt", ".json", *JSONL_SUFFIXES, *TABLE_ENDINGS)
    # A text may end with the name of a file. A name with spaces is one where its folder is there.
    may_be_text = any(map(str.isspace, argument)) and not os.path.isdir(os.path.dirname(argument))
    return argument.lower().endswith(endings) and not may_be_text


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
