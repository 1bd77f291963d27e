"""Files of probabilities: JSON lines or CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..digests import text_key
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


@dataclass(frozen=True)
class ProbabilityFile:
    """The content of a file.

    Attributes
    ----------
    path : Path
    values : float32 (n_texts, n_labels)
    lines : list of int
        The number of the line of each.
    keys : list of int or None
        Of the texts; None where the file has no text.
    """

    path: Path
    values: np.ndarray
    lines: list[int]
    keys: list[int | None]

    @classmethod
    def read(cls, source: SavedTeacher, checked: Callable[[Any, str], list[float]]) -> ProbabilityFile:
        """Read a file; ``checked`` returns the values of what a line has, or raises a ValueError.

        Raises
        ------
        ValueError
            If a line is malformed or has bad probabilities.
        FileNotFoundError
        """
        values, lines, keys = [], [], []
        path, field = source
        read = record_lines if delimiter_by_name(path) is None else table_lines
        for number, cats, text in read(path, field):
            values.append(np.array(checked(cats, f"{path}, line {number}:"), np.float32))
            lines.append(number)
            keys.append(None if text is None else text_key(text))
        if not values:
            raise ValueError(f"{path} has no probabilities.")
        return cls(path, np.array(values), lines, keys)

    def of_texts(self, texts: Sequence[str], first: int) -> np.ndarray:
        """The values of texts, of which the first has the given number; a ValueError if they are of other texts."""
        for place, text in enumerate(texts, first):
            if self.keys[place] not in (None, text_key(text)):
                raise BadLineError(
                    self.path,
                    self.lines[place],
                    f"the text is not that of text {place + 1:,} without labels. Both files must have the same texts "
                    f"in the same order.",
                )
        return self.values[first : first + len(texts)]


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
