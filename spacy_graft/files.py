"""Reading and writing files: lines with their numbers, gzip, JSON, and files that are written whole or not at all."""

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

#: What reading a damaged gzip file raises.
GZIP_ERRORS = (EOFError, gzip.BadGzipFile, zlib.error)


class BadLineError(ValueError):
    """A line of a file that is not what it should be; the message names file and line."""

    def __init__(self, path: str | Path, number: int, problem: str) -> None:
        super().__init__(f"{path}, line {number}: {problem}")


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers, from 1; unpacked if its name ends in ``.gz``.

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
    """A line as text, a byte order mark at the beginning of the file left out; a BadLineError if it is not UTF-8."""
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise BadLineError(path, number, f"not UTF-8: {error}.") from error


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a text file in UTF-8 with their numbers, from 1, without their ends; see :func:`numbered_lines`.

    Raises
    ------
    BadLineError
        In iteration, if a line is not UTF-8, or a compressed file is damaged.
    """
    for number, line in numbered_lines(path):
        yield number, decoded_line(path, number, line).rstrip("\r\n")


def json_object(path: str | Path, number: int, line: bytes) -> dict[str, Any]:
    """The object of a line of JSON; a BadLineError if it has none."""
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
    """What JSON calls a value, with the value where it is short."""
    if isinstance(value, str):
        return "a string"
    if isinstance(value, list):
        return "a list"
    return "an object" if isinstance(value, dict) else json.dumps(value)


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON that UTF-8 can hold: half a surrogate pair is written as an escape."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent)
    return text


@contextmanager
def writing(path: Path) -> Iterator[IO[bytes]]:
    """A file that is there when all of it has been written, and not before; compressed if its name ends in ``.gz``.

    Devices and pipes are written to as they are.

    Raises
    ------
    OSError
        If the file cannot be opened; the message names it.
    """
    target = path.resolve()
    whole = not target.exists() or target.is_file()
    place = target.with_name(f".{target.name}.{secrets.token_hex(8)}") if whole else target
    if target.parent.exists() and not target.parent.is_dir():
        raise NotADirectoryError(f"{path} cannot be written: {target.parent} is no folder.")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        file = place.open("xb" if whole else "wb")
    except OSError as error:
        raise OSError(f"{path} cannot be written: {error.strerror}.") from error
    try:
        with file:
            with packing(file) if target.suffix == ".gz" else nullcontext(file) as content:
                yield content
            if whole:
                file.flush()
                os.fsync(file.fileno())
        if whole:
            place.replace(target)
    finally:
        if whole:
            place.unlink(missing_ok=True)


def packing(file: IO[bytes]) -> IO[bytes]:
    """A file to write to, whose content is compressed into another."""
    return cast("IO[bytes]", gzip.GzipFile(fileobj=file, mode="wb"))
