"""Files of probabilities: JSON lines or CSV."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..files import BadLineError, as_number, delimiter_by_name, json_records, table_records
from ..messages import listed
from ..pipeline.contents import first_line, header_cells

#: The key of the probabilities in JSON lines, as ``spacy-graft classify`` writes them; that of the text by default,
#: which need not be there; and columns of tables that are no labels, besides that of the text.
CATS_KEY, TEXT_KEY = "cats", "text"
NO_LABELS = ("id", "line")

#: The number of a line, the probabilities by label, and the text, if the file has it.
FileLine = tuple[int, Any, str | None]


class SavedTeacher(NamedTuple):
    """What a teacher has said, in a file.

    Attributes
    ----------
    path : Path
    text_field : str
        Key or column of the text.
    """

    path: Path
    text_field: str = TEXT_KEY


def probability_lines(source: SavedTeacher) -> Iterator[FileLine]:
    """The lines of a file; a BadLineError if one is malformed."""
    return (record_lines if delimiter_by_name(source.path) is None else table_lines)(*source)


def record_lines(path: Path, text_field: str) -> Iterator[FileLine]:
    """The lines of JSON lines that are not empty."""
    for number, record in json_records(path):
        if CATS_KEY not in record:
            raise BadLineError(path, number, f"there is no {CATS_KEY!r}. The keys: {listed(record)}.")
        text = record.get(text_field)
        yield number, record[CATS_KEY], text if isinstance(text, str) else None


def table_lines(path: Path, text_field: str) -> Iterator[FileLine]:
    """The rows of a table whose first line has the labels.

    They are separated by what makes several cells of it: what the file says, or else its name, comes first.
    """
    headers = header_cells(path, *first_line(path))
    several = (delimiter for delimiter, cells in headers.items() if len(cells) > 1)
    for number, cells in table_records(path, next(several, ",")):
        cats = {name: as_number(cell) for name, cell in cells.items() if name not in (*NO_LABELS, text_field)}
        yield number, cats, cells.get(text_field)
