"""Unpack a wheel if its SHA-256 checksum is that in SHA256SUMS of the same folder.

python scripts/unpack.py assets/en_graft_syntax-0.1.0-py3-none-any.whl packages/syntax

``sha256sum --check SHA256SUMS`` reads the same file.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path
from typing import Annotated

import typer
from one_line_errors import one_line_errors

from spacy_graft.files import BadLineError, text_lines
from spacy_graft.graphs.resources import ZIP_ERRORS

CHECKSUM_FILE = "SHA256SUMS"


class ChecksumError(ValueError):
    """Missing or wrong checksum."""


def read_checksums(path: Path) -> dict[str, str]:
    """Return the checksums by file name; an empty dict if the file does not exist."""
    if not path.exists():
        return {}
    checksums = {}
    for number, line in text_lines(path):
        fields = line.split(maxsplit=1)
        if len(fields) == 1:
            raise BadLineError(path, number, "a checksum and the name of a file are expected.")
        if fields:
            # An asterisk marks files that were read in binary mode.
            checksums[fields[1].strip().removeprefix("*")] = fields[0]
    return checksums


def write_checksum(archive: Path) -> None:
    """Add the checksum of a file to the list of its folder; other entries are kept."""
    path = archive.with_name(CHECKSUM_FILE)
    checksums = read_checksums(path) | {archive.name: hashlib.sha256(archive.read_bytes()).hexdigest()}
    text = "".join(f"{checksum}  {name}\n" for name, checksum in sorted(checksums.items()))
    path.write_text(text, encoding="utf-8", newline="\n")


def verified_content(archive: Path) -> bytes:
    """Return the content of a file after its checksum was verified."""
    path, content = archive.with_name(CHECKSUM_FILE), archive.read_bytes()
    expected, found = read_checksums(path).get(archive.name), hashlib.sha256(content).hexdigest()
    if expected is None:
        raise ChecksumError(
            f"{path} has no checksum of {archive.name}. Restore the file with `git checkout -- {path}`."
        )
    if found != expected:
        raise ChecksumError(
            f"{archive} is damaged or was changed: its SHA-256 checksum is {found}, but {path} says {expected}. "
            f"Nothing was unpacked. Restore the file with `git checkout -- {archive}`, or build it again with "
            f"`python -m spacy project run syntax .`."
        )
    return content


@one_line_errors
def main(
    archive: Annotated[Path, typer.Argument(help="Wheel to unpack.")],
    output: Annotated[Path, typer.Argument(help="Folder to unpack it to.")],
) -> None:
    """Unpack a wheel if its checksum is correct."""
    content = verified_content(archive)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as wheel:
            wheel.extractall(output)
    except ZIP_ERRORS as error:
        raise ChecksumError(f"{archive} is no wheel: {error}") from error
    typer.echo(f"{archive}: the checksum is correct; unpacked to {output}")


if __name__ == "__main__":
    typer.run(main)
