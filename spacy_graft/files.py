"""Reading and writing files: numbered lines, gzip, JSON, and atomic writes."""

from __future__ import annotations

import gzip
import json
import os
import secrets
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, cast

#: Exceptions that reading a damaged gzip file raises.
GZIP_ERRORS = (EOFError, gzip.BadGzipFile, zlib.error)


class BadLineError(ValueError):
    """A malformed line of a file; the message names the file and the line."""

    def __init__(self, path: str | Path, number: int, problem: str) -> None:
        super().__init__(f"{path}, line {number}: {problem}")


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers, from 1; the file is decompressed if its name ends in ``.gz``.

    Raises
    ------
    BadLineError
        In iteration, if a compressed file is damaged.
    """
    number = 0
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        try:
            for number, line in enumerate(file, start=1):
                yield number, line
        except GZIP_ERRORS as error:
            raise BadLineError(path, number + 1, f"the compressed file is damaged here: {error}") from error


def decoded_line(path: str | Path, number: int, line: bytes) -> str:
    """Decode a line, without a byte order mark in line 1; raise a BadLineError if it is not UTF-8."""
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise BadLineError(path, number, f"not UTF-8: {error}.") from error


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a UTF-8 text file with their numbers, from 1, without line ends; see :func:`numbered_lines`.

    Raises
    ------
    BadLineError
        In iteration, if a line is not UTF-8, or a compressed file is damaged.
    """
    for number, line in numbered_lines(path):
        yield number, decoded_line(path, number, line).rstrip("\r\n")


def json_object(path: str | Path, number: int, line: bytes) -> dict[str, Any]:
    """Parse a line of JSON; raise a BadLineError if it is not an object."""
    try:
        record = json.loads(decoded_line(path, number, line))
    except BadLineError:
        raise
    except (ValueError, RecursionError) as error:
        raise BadLineError(path, number, f"not JSON: {error}.") from error
    if not isinstance(record, dict):
        raise BadLineError(path, number, f"a JSON object is expected, not {json_kind(record)}.")
    return record


def json_kind(value: Any) -> str:
    """The JSON type of a value, or the value itself if it is a number, true, false or null."""
    if isinstance(value, str):
        return "a string"
    if isinstance(value, list):
        return "a list"
    return "an object" if isinstance(value, dict) else json.dumps(value)


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
def writing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for atomic writing: it appears when all of it has been written; gzip if its name ends in ``.gz``.

    Devices and pipes are written to directly.

    Raises
    ------
    OSError
        If the file cannot be opened; the message names the file.
    """
    target = path.resolve()
    atomic = not target.exists() or target.is_file()
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}") if atomic else target
    if target.parent.exists() and not target.parent.is_dir():
        raise NotADirectoryError(f"{path} cannot be written: {target.parent} is not a folder.")
    try:
        temporary.parent.mkdir(parents=True, exist_ok=True)
        file = temporary.open("xb" if atomic else "wb")
    except OSError as error:
        raise OSError(f"{path} cannot be written: {error.strerror}.") from error
    try:
        with file:
            with compressing(file) if target.suffix == ".gz" else nullcontext(file) as content:
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


def reason_of(error: OSError) -> str:
    """Why a file could not be read or written: what the system says, if it is that which failed."""
    return os.strerror(error.errno) if error.errno else str(error)


def compressing(file: IO[bytes]) -> IO[bytes]:
    """Wrap a binary file such that what is written is compressed."""
    return cast("IO[bytes]", gzip.GzipFile(fileobj=file, mode="wb"))
