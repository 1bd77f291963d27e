"""The store of a teacher: what it has computed of texts, in a file that grows, so that nothing is computed twice."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..digests import text_key
from ..files import has_lock, reason_of
from ..messages import text_beginning

#: What the first line of a file says.
STORE_FORMAT = "spacy-graft teacher 1"


class Store:
    """The rows of the first texts of a corpus, one record each, bound to their texts by a digest.

    A record that was not written whole is left out when the file is opened again. The corpus may have grown since; then
    the store goes on where it ends.

    Parameters
    ----------
    path : Path
    teacher : str
        Its name, for messages.
    digest : str
        Of the teacher.
    width : int
        Numbers of a row.

    Raises
    ------
    ValueError
        If the file is of another teacher, or none of a teacher, or another process writes it.
    OSError
        If it cannot be read or written.
    """

    def __init__(self, path: Path, teacher: str, digest: str, width: int) -> None:
        self.path, self.teacher = path, teacher
        self.dtype = np.dtype([("key", "<u8"), ("row", "<f4", (width,))])
        self._header = json.dumps({"format": STORE_FORMAT, "teacher": teacher, "digest": digest, "width": width}) + "\n"
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a+b")
        try:
            if not has_lock(self._file):  # where the system has none, the number of records is compared
                raise ValueError(f"{path} is written by another process. Wait for its end, or give another output.")
            self._prepare(digest)
        except BaseException:
            self._close()
            raise
        #: Records that were there.
        self.found = self.records()
        self._n_records = len(self.found)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        """Close the file. What could not be written has been said, by an error that names it."""
        with suppress(OSError):
            self._file.close()

    def _prepare(self, digest: str) -> None:
        """Write the header or check it, and leave out a record that is not whole."""
        self._file.seek(0)
        header, has_records = self._file.readline(), bool(self._file.read(1))
        # Another teacher that failed at its first texts has said nothing.
        is_empty = store_header(header).get("format") == STORE_FORMAT and not has_records
        if is_empty or (not header.endswith(b"\n") and self._header.encode().startswith(header)):
            self._file.truncate(0)
            append_durably(self._file, self._header.encode())
        elif store_header(header).get("format") != STORE_FORMAT:
            raise ValueError(f"{self.path} is no store of a teacher of this version. Delete it, or give another one.")
        elif (other := store_header(header)).get("digest") != digest:
            name = other.get("teacher")
            named = f"{name}, and not {self.teacher}" if name != self.teacher else f"which is called {name} as well"
            raise ValueError(
                f"{self.path} has what another teacher said, {named}: their digests differ. Delete it, or give another "
                f"output."
            )
        else:
            self._header = header.decode()
        self._file.truncate(len(self._header.encode()) + self._n_written() * self.dtype.itemsize)

    def records(self) -> np.ndarray:
        """All records, in the file's memory."""
        n_records = self._n_written()
        if not n_records:
            return np.empty(0, self.dtype)
        return np.memmap(self.path, self.dtype, "r", len(self._header.encode()), n_records)

    def _n_written(self) -> int:
        """The number of records in the file now."""
        return (os.fstat(self._file.fileno()).st_size - len(self._header.encode())) // self.dtype.itemsize

    def known(self, texts: Sequence[str], first: int) -> np.ndarray:
        """The rows that were found of texts, of which the first has the given number; as many as there are.

        Raises
        ------
        ValueError
            If the records are of other texts, or damaged.
        """
        records = self.found[first : first + len(texts)]
        for number, (record, text) in enumerate(zip(records, texts, strict=False), first + 1):
            if int(record["key"]) != text_key(text, record["row"].tobytes()):
                raise ValueError(
                    f"{self.path} is of other texts, or damaged: its record {number:,} is not of "
                    f"{text_name(text, number)}. Give the texts that it was made of (there may be more of them at the "
                    f"end), delete it, or give another output."
                )
        return np.asarray(records["row"])

    def append(self, texts: Sequence[str], rows: np.ndarray) -> None:
        """Add the rows of the next texts; a ValueError if there are more records than have been added."""
        self.require_own()
        records = np.empty(len(texts), self.dtype)
        records["row"] = rows
        records["key"] = [text_key(text, row.tobytes()) for text, row in zip(texts, records["row"], strict=True)]
        append_durably(self._file, records.tobytes())
        self._n_records += len(records)

    def require_own(self) -> None:
        """Raise a ValueError if there are other records than those that were found and added."""
        if self._n_written() != self._n_records:
            raise ValueError(f"{self.path} was written by another process. Delete it, and begin again.")

    def require_number(self, n_texts: int) -> None:
        """Raise a ValueError if there are fewer texts than records."""
        if len(self.found) > n_texts:
            raise ValueError(
                f"{self.path} is of other texts: it has {len(self.found):,}, but there are {n_texts:,} without labels. "
                f"Delete it, or give another output."
            )


def text_name(text: str, number: int) -> str:
    """A text in messages."""
    return f"text {number:,} ({text_beginning(text)!r})"


def append_durably(file: IO[bytes], content: bytes) -> None:
    """Write at the end of a file, onto the disk; an OSError that names it if that fails."""
    try:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    except OSError as error:
        raise OSError(error.errno, f"{file.name} cannot be written: {reason_of(error)}") from error


def store_header(line: bytes) -> dict[str, Any]:
    """The values of a header; empty if it is none."""
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
