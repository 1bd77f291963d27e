"""What labelled corpora are stored as: JSON lines, tables, spaCy's documents or folders of texts, told by content.

Whatever it is, a corpus is read as *records*: numbered objects with a text, labels and other keys.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ..files import (
    LINE_ENDS,
    UTF8_MARK,
    BadLineError,
    as_number,
    csv_reader,
    decoded_line,
    delimiter_by_name,
    is_separator_line,
    json_records,
    numbered_lines,
    refuse,
    separator_for_excel,
    table_records,
)
from ..messages import listed, other_field
from ..options import as_python
from .targets import ID_KEY, WEIGHT_KEY, is_complete

#: The number of a line, document or text, and its object.
Record = tuple[int, dict[str, Any]]
#: Keys of the id and the weight of spaCy documents, where the reader asks for none.
ID_FIELD, WEIGHT_FIELD = "id", "weight"
#: How a file of spaCy's documents begins: they are compressed by zlib.
DOCBIN_START = b"x\x9c"
#: How spreadsheets and other archives begin, and files of Parquet.
ARCHIVE_STARTS = (b"PK\x03\x04", b"PAR1")
#: What separates the cells of tables is seen in the first line, whatever their names.
DELIMITERS = {",": "CSV", "\t": "TSV", ";": "CSV with semicolons"}
#: What rows of empty cells have, as Excel writes them, and empty lines.
EMPTY_CELLS = b",;\t\r\n "
#: How pandas writes a list of strings into a cell.
PYTHON_LIST = re.compile(r"\['.*'\]")
#: Characters of a cell in messages: where there is no line with names, it is a text.
LONGEST_SHOWN = 40


class CompleteLabels(dict[str, float]):
    """The targets of a document that has none of the labels which are not there."""


class Form(StrEnum):
    """What a corpus is stored as."""

    jsonl = "JSON lines"
    table = "table"
    docs = "spaCy documents"
    texts = "a folder of texts"


#: What is counted in messages.
UNITS = {Form.jsonl: "line", Form.table: "line", Form.docs: "document", Form.texts: "text"}


@dataclass(frozen=True)
class Content:
    """What is in a file or a folder.

    Attributes
    ----------
    form : Form
    delimiter : str
        What separates the cells of a table.
    """

    form: Form
    delimiter: str = ","

    @property
    def unit(self) -> str:
        """What is counted in messages."""
        return UNITS[self.form]

    def __str__(self) -> str:
        return DELIMITERS[self.delimiter] if self.form == Form.table else str(self.form)


@dataclass(frozen=True)
class Fields:
    """The keys under which records have what a corpus is made of; None if it is not read."""

    text: str
    label: str | None
    id: str | None
    weight: str | None


def content_of(path: Path, text_field: str) -> Content:
    """Tell what a file or folder holds.

    A file is JSON lines if it begins with a bracket, spaCy's documents if with the mark of zlib, and a table if its
    first line has the name of the column of texts. A name that ends in .csv or .tsv makes it one as well, so that the
    error about the missing column can be clear; if it begins with a bracket, only with this column, and if its first
    line is no JSON.

    Raises
    ------
    ValueError
        If a table has no column of texts, a file named .spacy is not one, or it is a pipe, a spreadsheet or an archive.
    FileNotFoundError
    """
    if path.is_dir():
        return Content(Form.texts)
    refuse_pipe(path)
    number, line = first_line(path)
    if line.startswith(DOCBIN_START):
        return Content(Form.docs)
    if line.startswith(ARCHIVE_STARTS):
        raise ValueError(f"{path} is a spreadsheet or an archive, which is not read. Save it as CSV in UTF-8.")
    if path.suffix.lower() == ".spacy":
        raise ValueError(f"{path} does not hold spaCy documents: it does not begin as such files do.")
    is_table = delimiter_by_name(path) is not None
    if is_table and not line:
        raise ValueError(f"{path} is empty. Its first line must name the columns.")
    has_bracket = line.removeprefix(UTF8_MARK).lstrip().startswith((b"{", b"["))
    if (has_bracket and (not is_table or is_json(line))) or not line:
        return Content(Form.jsonl)
    headers = header_cells(path, number, line) if is_table or is_utf8(line) else {}
    for delimiter, cells in headers.items():
        if text_field in cells:
            return Content(Form.table, delimiter)
    if is_table and not has_bracket:
        cells = [cell[:LONGEST_SHOWN] for cell in max(headers.values(), key=len)]
        raise BadLineError(
            path,
            number,
            f"there is no column {text_field!r}. The first line must name the columns, separated by commas, semicolons "
            f"or tabs; its cells: {listed(cells)}. {other_field('text')}",
        )
    return Content(Form.jsonl)


def refuse_pipe(path: Path) -> None:
    """Raise a ValueError for what can be read only once."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ValueError(
            f"{path} is a pipe or a device, but a corpus is read more than once. Write it to a file first."
        )


def first_line(path: Path) -> tuple[int, bytes]:
    """The first line that has more than empty cells and is not for Excel alone, with its number."""
    for number, line in numbered_lines(path):
        if not is_separator_line(number, line) and line.removeprefix(UTF8_MARK).strip(EMPTY_CELLS):
            return number, line
    return 1, b""


def is_utf8(line: bytes) -> bool:
    """Whether a line is text; the reader says where it is not."""
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def is_json(line: bytes) -> bool:
    """Whether a line is JSON."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def header_cells(path: Path, number: int, line: bytes) -> dict[str, list[str]]:
    """The cells of the first line of a table, for each thing that may separate them; what the file says comes first."""
    text = decoded_line(path, number, line).removeprefix("\ufeff")
    said = separator_for_excel(path), delimiter_by_name(path)
    try:
        return {
            delimiter: next(csv_reader([text], delimiter), [])
            for delimiter in dict.fromkeys([*said, *DELIMITERS])
            if delimiter in DELIMITERS
        }
    except csv.Error as error:  # carriage returns inside of the line
        raise BadLineError(path, number, f"cannot be read as a table: {error}. {LINE_ENDS}") from error


def records_of(path: Path, content: Content, fields: Fields) -> Iterator[Record]:
    """Read the records of a corpus.

    Raises
    ------
    BadLineError
        In iteration, if a line, row or text is malformed.
    ValueError
        In iteration, if a file of documents is damaged, or a folder has no texts in folders.
    """
    read: dict[Form, Callable[[], Iterator[Record]]] = {
        Form.jsonl: lambda: json_records(path),
        Form.table: lambda: cell_records(path, content.delimiter, fields),
        Form.docs: lambda: doc_records(path, fields),
        Form.texts: lambda: text_records(path, fields),
    }
    return read[content.form]()


def cell_records(path: Path, delimiter: str, fields: Fields) -> Iterator[Record]:
    """The rows of a table. Labels that are not a single one stand in their cell as JSON."""
    hints = {fields.label: other_field("label"), fields.id: "", fields.weight: ""}
    required = {name: hint for name, hint in hints.items() if name is not None}
    for number, cells in table_records(path, delimiter, required):
        record: dict[str, Any] = dict(cells)
        if fields.label in cells:
            if PYTHON_LIST.fullmatch(cells[fields.label]):
                raise BadLineError(
                    path,
                    number,
                    f'the labels {cells[fields.label]} are a list of Python. Write it as JSON: ["a", "b"].',
                )
            record[fields.label] = labels_of_cell(cells[fields.label])
        if fields.weight in cells:
            record[fields.weight] = as_number(cells[fields.weight])
        yield number, record


def labels_of_cell(cell: str) -> Any:
    """The labels in a cell: none if it is empty, a list or object of JSON, or else one."""
    if cell.startswith(("[", "{")):
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            return cell
    return cell or []


def cell_of_labels(value: Any) -> str:
    """The cell of which :func:`labels_of_cell` makes these labels."""
    if value is None or value == []:
        return ""
    if isinstance(value, str) and labels_of_cell(value) == value and not PYTHON_LIST.fullmatch(value):
        return value
    return json.dumps([value] if isinstance(value, str) else value, ensure_ascii=False)


def doc_records(path: Path, fields: Fields) -> Iterator[Record]:
    """Documents of spaCy: their texts, their categories, and what they have of id and weight."""
    keys = {ID_KEY: fields.id or ID_FIELD, WEIGHT_KEY: fields.weight or WEIGHT_FIELD}
    for number, doc in enumerate(saved_docs(path, Vocab()), start=1):
        record: dict[str, Any] = {fields.text: doc.text}
        if fields.label is not None:
            cats = {label: as_python(value) for label, value in doc.cats.items()}
            record[fields.label] = CompleteLabels(cats) if is_complete(doc) else cats
        for key, name in keys.items():
            if key in doc.user_data:
                record.setdefault(name, as_python(doc.user_data[key]))
        yield number, record


def saved_docs(path: Path, vocab: Vocab) -> Iterator[Doc]:
    """Yield the documents of a ``.spacy`` file; a ValueError if it is damaged."""
    content = b"".join(line for _, line in numbered_lines(path))
    try:
        yield from DocBin().from_bytes(content).get_docs(vocab)
    except Exception as error:  # files can be damaged in any way
        raise ValueError(f"{path} does not hold spaCy documents: {type(error).__name__}: {error}") from error


def text_records(path: Path, fields: Fields) -> Iterator[Record]:
    """The files of a folder in the order of their names. The label of a text is the folder that it is in."""
    number = 0
    for file in sorted(files_within(path)):
        if file.parent == path:
            raise ValueError(
                f"{path} is not a folder of texts: {file.name} is not in the folder of a label. Put each text into a "
                f"folder with the name of its label, or give a file instead of the folder."
            )
        number += 1
        record: dict[str, Any] = {ID_FIELD: file.relative_to(path).as_posix(), fields.text: file_text(file)}
        if fields.label is not None:
            record[fields.label] = file.parent.relative_to(path).as_posix()
        yield number, record
    if not number:
        raise ValueError(
            f"{path} has no texts. A folder of texts has a folder for each label, with a file for each text."
        )


def files_within(folder: Path) -> Iterator[Path]:
    """The files of a folder and of those in it, also where they are links; none whose name, or folder's, is hidden."""
    # What cannot be read would be left out.
    for path, names, files in os.walk(folder, onerror=refuse, followlinks=True):
        names[:] = [name for name in names if not name.startswith(".")]
        for name in names:
            if Path(path).resolve().is_relative_to(Path(path, name).resolve()):
                raise ValueError(f"{Path(path, name)} is a link to a folder that it is in. Remove it.")
        yield from (Path(path, name) for name in files if not name.startswith("."))


def file_text(file: Path) -> str:
    """The content of a text file."""
    if not file.is_file():
        raise ValueError(f"{file} is not a file, or a link to what is not there. Remove it.")
    try:
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not UTF-8: byte {error.start} is 0x{error.object[error.start]:02x}.") from error
