"""Reading and writing files: numbered lines, gzip, JSON, tables, and atomic writes."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import secrets
import shutil
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, cast

from .messages import count, listed

#: Exceptions that reading a damaged gzip file raises.
GZIP_ERRORS = (EOFError, gzip.BadGzipFile, zlib.error)
#: What separates the cells of tables, by the endings of their names.
TABLE_ENDINGS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
#: What files of gzip begin with.
GZIP_BEGINNING = b"\x1f\x8b"
#: What Windows begins files of UTF-8 with.
UTF8_MARK = b"\xef\xbb\xbf"
#: The first line by which Excel is told what separates the cells.
SEPARATOR_LINE = re.compile(rb"(?:\xef\xbb\xbf)?sep=(.)\r?\n?")
#: Advice about rows of other lengths.
NEEDS_QUOTES = "A cell with a separator or a line break in it needs quotes around it."
#: Advice about rows that cannot be read. Tables with tabs are often written without quoting.
LINE_ENDS = "Lines end in \\n or \\r\\n."
QUOTED = (
    "A cell that begins with a quotation mark must end with one, and have two in the place of each within it: if texts "
    "are not written like that, write the file with a CSV library, or as JSON lines."
)
#: Characters of a cell of a table at the most. The csv module's own limit, 131,072, is less than many documents have.
LARGEST_CELL = 2**31 - 1
#: Characters of a name that is made longer. File systems take 255 bytes, and a character can have four.
BEGINNING_OF_NAME = 50
#: Paths of what the process has open already, where what is written goes on after what is there.
STREAM = re.compile("/dev/(stdout|stderr|fd/.+)|/proc/[^/]+/fd/.+")


class BadLineError(ValueError):
    """A malformed line of a file, or another part of it; the message names the file and the line."""

    def __init__(self, path: str | Path, number: int, problem: str, unit: str = "line") -> None:
        super().__init__(path, number, problem, unit)  # what it is made of again in another process

    def __str__(self) -> str:
        path, number, problem, unit = self.args
        return f"{path}, {unit} {number}: {problem}"

    def __repr__(self) -> str:  # spaCy prints it
        return f"{type(self).__name__}({str(self)!r})"


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers, from 1; the file is decompressed if its name ends in ``.gz``.

    Raises
    ------
    BadLineError
        In iteration, if a compressed file is damaged.
    """
    number = 0
    with gzip.open(path, "rb") if is_compressed(path) else path.open("rb") as file:
        try:
            for number, line in enumerate(file, start=1):
                yield number, line
        except GZIP_ERRORS as error:
            raise BadLineError(path, number + 1, f"the compressed file is damaged here: {error}") from error


def is_compressed(path: Path) -> bool:
    """Whether a file is gzip, by its name."""
    return path.suffix.lower() == ".gz"


def decoded_line(path: str | Path, number: int, line: bytes) -> str:
    """Decode a line, without a byte order mark in line 1; raise a BadLineError if it is not UTF-8."""
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        if number == 1 and line.startswith(GZIP_BEGINNING):
            problem = "the file is compressed by gzip, but its name does not end in .gz. Rename it."
        else:
            problem = f"not UTF-8: {error}. Save it as UTF-8 (a table in Excel as CSV UTF-8)."
        raise BadLineError(path, number, problem) from error


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a UTF-8 text file with their numbers, from 1, without line ends; see :func:`numbered_lines`.

    Raises
    ------
    BadLineError
        In iteration, if a line is not UTF-8, or a compressed file is damaged.
    """
    for number, line in numbered_lines(path):
        yield number, decoded_line(path, number, line).rstrip("\r\n")


def delimiter_by_name(path: str | Path) -> str | None:
    """What separates the cells of a table, by the name of the file; None if it is not that of a table."""
    name = str(path).lower()
    return next((delimiter for ending, delimiter in TABLE_ENDINGS.items() if name.endswith(ending)), None)


def csv_reader(lines: Iterable[str], delimiter: str, strict: bool = False) -> Any:
    """A reader of the csv module, without its limit of the length of cells."""
    csv.field_size_limit(LARGEST_CELL)
    return csv.reader(lines, delimiter=delimiter, strict=strict)


def refuse(error: Exception) -> None:
    """Raise the error of a bad line, or of a folder that cannot be read."""
    raise error


def table_rows(
    path: Path, delimiter: str = ",", on_bad_row: Callable[[BadLineError], None] = refuse
) -> Iterator[tuple[int, list[str]]]:
    """The rows of a table that are not empty, each with the number of its last line.

    A row of several empty cells, as Excel writes it for an empty one, is empty as well.

    Parameters
    ----------
    path : Path
    delimiter : str
    on_bad_row : callable
        Called with the error of a row that is not UTF-8 or not CSV, for example because a quotation mark is missing.
        If it returns, the row is left out.

    Raises
    ------
    BadLineError
        In iteration, of such a row; or if a compressed file is damaged.
    """
    bad_lines: list[BadLineError] = []
    # Strict: otherwise, a missing quotation mark would make one row of all that follows.
    reader = csv_reader(decoded_lines(path, bad_lines.append), delimiter, strict=True)
    begun = 1
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            if reader.line_num > begun:
                advice = f"The row goes on to line {reader.line_num:,}: perhaps a quotation mark in it is not closed."
            else:
                advice = LINE_ENDS if "new-line" in str(error) else QUOTED
            bad_lines.append(BadLineError(path, begun, f"cannot be read as CSV: {error}. {advice}"))
            row = []
        if bad_lines:
            on_bad_row(bad_lines[0])
            bad_lines.clear()
        elif row is None:
            return
        elif any(row) or len(row) == 1:
            yield reader.line_num, row
        begun = reader.line_num + 1


def decoded_lines(path: Path, on_bad_line: Callable[[BadLineError], None]) -> Iterator[str]:
    """The lines of a table as text; an empty one in place of ``sep=;``, which is for Excel.

    Of a bad line, what is not UTF-8 is replaced: the quotation marks in it may begin or end a cell of several lines.
    """
    for number, line in numbered_lines(path):
        try:
            text = "\n" if is_separator_line(number, line) else decoded_line(path, number, line)
        except BadLineError as error:
            on_bad_line(error)
            text = line.decode(errors="replace")
        yield text


def is_separator_line(number: int, line: bytes) -> bool:
    """Whether a line is the one that tells Excel what separates the cells of the table after it."""
    return number == 1 and SEPARATOR_LINE.fullmatch(line) is not None


def separator_for_excel(path: Path) -> str | None:
    """What Excel is told to separate cells by, if it is."""
    _, line = next(numbered_lines(path), (1, b""))
    found = SEPARATOR_LINE.fullmatch(line)
    return None if found is None else found[1].decode("latin-1")


def table_records(
    path: Path,
    delimiter: str,
    required: Mapping[str, str] = MappingProxyType({}),
    on_bad_row: Callable[[BadLineError], None] = refuse,
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a table by the names of its columns, which are its first row, with the numbers of their lines.

    Columns without a name are left out.

    Parameters
    ----------
    path : Path
    delimiter : str
    required : mapping of str to str
        Columns that must be there, with what to do if they are not.
    on_bad_row : callable
        Called with the error of a row that has more or fewer cells, is not UTF-8 or is not CSV; if it returns, the row
        is left out.

    Raises
    ------
    BadLineError
        In iteration, if a required column is missing, two columns have one name, a row has more or fewer cells, or it
        is not CSV.
    """
    rows = table_rows(path, delimiter, on_bad_row)
    number, header = next(((number, row) for number, row in rows if any(map(str.strip, row))), (1, []))
    names = [name for name in header if name]
    if twice := [name for name, n in Counter(names).items() if n > 1]:
        raise BadLineError(path, number, f"there are several columns {listed(twice)}. Keep one of each.")
    for name, hint in required.items():
        if name not in names:
            problem = f"there is no column {name!r}. The columns: {listed(names)}. {hint}".rstrip()
            raise BadLineError(path, number, problem)
    for number, row in rows:
        if len(row) != len(header):
            problem = f"{count(len(row), 'cell')}, but the first line has {len(header)}. {NEEDS_QUOTES}"
            on_bad_row(BadLineError(path, number, problem))
        else:
            yield number, {name: cell for name, cell in zip(header, row, strict=True) if name}


def json_records(
    path: Path,
    lines: Iterable[tuple[int, bytes]] | None = None,
    on_bad_line: Callable[[BadLineError], None] = refuse,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of JSON lines that are not empty, with the numbers of their lines.

    ``lines`` are those of the file, numbered, if it is open already. ``on_bad_line`` is called with the error of a line
    that is not a JSON object; if it returns, the line is left out.

    Raises
    ------
    BadLineError
        In iteration, of such a line; or if a compressed file is damaged.
    """
    for number, line in numbered_lines(path) if lines is None else lines:
        if line.strip() in (b"", UTF8_MARK):
            continue
        try:
            record = json_object(path, number, line)
        except BadLineError as error:
            on_bad_line(error)
        else:
            yield number, record


def as_number(cell: str) -> float | str:
    """The number in a cell; another cell as it is, for a message."""
    try:
        return float(cell)
    except ValueError:
        return cell


def json_object(path: str | Path, number: int, line: bytes) -> dict[str, Any]:
    """Parse a line of JSON; raise a BadLineError if it is not an object."""
    text = decoded_line(path, number, line)
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        if line.strip() in (b"[", b"{"):
            raise BadLineError(
                path, number, "the JSON goes over several lines. Write one object on each line."
            ) from error
        # Of the position, the line is that of the file, and known.
        problem = f"{error.msg}, at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else error
        raise BadLineError(path, number, f"not JSON: {problem}.") from error
    if not isinstance(record, dict):
        hint = " Write one object on each line." if isinstance(record, list) else ""
        raise BadLineError(path, number, f"a JSON object is expected, not {json_kind(record)}.{hint}")
    return record


def json_kind(value: Any) -> str:
    """The JSON type of a value, or the value itself if it is a number, true, false or null."""
    if isinstance(value, str):
        return "a string"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "an object"
    return f"bytes, {value!r:.40}" if isinstance(value, bytes) else json.dumps(value, default=repr)


def json_text(value: Any, indent: int | None = None, compact: bool = False) -> str:
    """JSON text that can be encoded in UTF-8: unpaired surrogates are escaped. It has no spaces if it is compact."""
    separators = (",", ":") if compact else None
    text = json.dumps(value, ensure_ascii=False, indent=indent, separators=separators)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent, separators=separators)
    return text


@contextmanager
def writing(path: Path, compress: bool = True) -> Iterator[IO[bytes]]:
    """Open a file for atomic writing: it appears when all of it has been written.

    A file that is replaced keeps its permissions, where there are some. Devices, pipes and the streams of the process,
    as /dev/stdout, are written to directly.

    Parameters
    ----------
    path : Path
    compress : bool
        Whether what is written is compressed if the name ends in ``.gz``. Formats of our own are not.

    Raises
    ------
    OSError
        If the file cannot be opened; the message names the file.
    """
    is_open = is_stream(path)
    target = path.absolute() if is_open else path.resolve()
    atomic = not is_open and (not target.exists() or target.is_file())
    temporary = hidden_beside(target) if atomic else target
    if target.parent.exists() and not target.parent.is_dir():
        raise NotADirectoryError(f"{path} cannot be written: {target.parent} is not a folder.")
    try:
        temporary.parent.mkdir(parents=True, exist_ok=True)
        file = temporary.open("xb" if atomic else "ab")
    except OSError as error:
        raise OSError(f"{path} cannot be written: {error.strerror}.") from error
    try:
        with file:
            if atomic and target.exists():
                with suppress(OSError):  # not all file systems have permissions
                    shutil.copymode(target, temporary)
            with compressing(file) if compress and is_compressed(path) else nullcontext(file) as content:
                yield content
            if atomic:
                file.flush()
                os.fsync(file.fileno())
        if atomic:
            temporary.replace(target)
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise  # of another file, which the caller reads
        raise OSError(error.errno, f"{path} cannot be written: {error.strerror}") from error
    finally:
        if atomic:
            temporary.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes, compress: bool = True) -> None:
    """Write a file, whole or not at all (:func:`writing`)."""
    with writing(path, compress) as file:
        file.write(content)


def has_lock(file: Any) -> bool:
    """Take the lock of an open file or descriptor, until it is closed; False if another process has it.

    True as well where the system, or the file system, has no locks.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def is_stream(path: Path) -> bool:
    """Whether a path names a file, pipe or terminal that the process has open, as /dev/stdout does."""
    return STREAM.fullmatch(os.path.abspath(path)) is not None


def hidden_beside(path: Path) -> Path:
    """A new name in the same folder, for what becomes ``path`` when it is complete.

    It has the beginning of the name: the longest names that file systems take leave no room for more.
    """
    return path.with_name(f".{path.name[:BEGINNING_OF_NAME]}.{secrets.token_hex(8)}")


def write_new(path: Path, content: bytes) -> None:
    """Write a file that must not be there yet; of several processes, one can. It appears when all has been written.

    Raises
    ------
    FileExistsError
        If there is something at ``path``.
    OSError
        If the file cannot be written.
    """
    temporary = hidden_beside(path)
    try:
        temporary.write_bytes(content)
        try:
            os.link(temporary, path)
        except FileExistsError:
            raise
        except OSError:  # On file systems without links, a process that is killed here leaves an incomplete file.
            with path.open("xb") as new:
                new.write(content)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def writing_folder(path: Path) -> Iterator[Path]:
    """Make a folder atomically: yields an empty one, which becomes ``path`` when all of it has been written.

    Raises
    ------
    FileExistsError
        If there is something at ``path``.
    """
    if path.exists():
        raise FileExistsError(f"{path} exists. Give the name of a new folder.")
    temporary = hidden_beside(path)
    try:
        temporary.mkdir(parents=True)
        yield temporary
        temporary.rename(path)
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, f"{path} cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def replaced_folder(path: Path) -> Iterator[Path]:
    """Replace a folder as a whole: yields the name of one to make, which takes its place when all has been written."""
    new = hidden_beside(path)
    try:
        yield new
        replace_folder(path, new)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def replace_folder(path: Path, new: Path) -> None:
    """Put a new folder in the place of another and delete the other; if that fails, the other stays."""
    old = new.with_name(f"{new.name}.old")
    try:
        if path.exists():
            os.replace(path, old)
        os.replace(new, path)
    except BaseException:  # Ctrl-C as well, which may come when the new one is in its place
        if old.exists() and not path.exists():
            os.replace(old, path)
        shutil.rmtree(old, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)


def reason_of(error: OSError) -> str:
    """Why a file could not be read or written: what the system says, if it is that which failed."""
    return os.strerror(error.errno) if error.errno else str(error)


def compressing(file: IO[bytes]) -> IO[bytes]:
    """Wrap a binary file such that what is written is compressed, the same content to the same bytes."""
    return cast("IO[bytes]", gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0))
