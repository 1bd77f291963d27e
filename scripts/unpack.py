"""Unpack a wheel, after its SHA-256 sum was compared with the one in SHA256SUMS beside it.

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

SUMS = "SHA256SUMS"


class ChecksumError(ValueError):
    """What is wrong with a file or its checksum, for the person who wants to unpack it."""


def read_sums(path: Path) -> dict[str, str]:
    """Checksums by file name; none if there is no such file."""
    if not path.exists():
        return {}
    lines = (line.split(maxsplit=1) for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    # An asterisk stands before files that were read as binary ones.
    return {name.strip().removeprefix("*"): checksum for checksum, name in lines}


def write_sum(archive: Path) -> None:
    """Enter the checksum of a file; those of other files remain."""
    path = archive.with_name(SUMS)
    sums = read_sums(path) | {archive.name: hashlib.sha256(archive.read_bytes()).hexdigest()}
    text = "".join(f"{checksum}  {name}\n" for name, checksum in sorted(sums.items()))
    path.write_text(text, encoding="utf-8", newline="\n")


def checked(archive: Path) -> bytes:
    """The content of a file that has the checksum it should have."""
    path, content = archive.with_name(SUMS), archive.read_bytes()
    expected, found = read_sums(path).get(archive.name), hashlib.sha256(content).hexdigest()
    if expected is None:
        raise ChecksumError(f"{path} has no checksum of {archive.name}. Restore the list with `git checkout -- {path}`")
    if found != expected:
        raise ChecksumError(
            f"{archive} is damaged or was changed: its SHA-256 sum is {found}, but {path} says {expected}. Nothing was "
            f"unpacked. Restore it with `git checkout -- {archive}`, or build it again with "
            f"`python -m spacy project run syntax .`"
        )
    return content


def main(
    archive: Annotated[Path, typer.Argument(help="The wheel.")],
    output: Annotated[Path, typer.Argument(help="Folder to unpack it to.")],
) -> None:
    """Unpack a wheel if its checksum is right."""
    try:
        with zipfile.ZipFile(io.BytesIO(checked(archive))) as wheel:
            wheel.extractall(output)
    except (ChecksumError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
    typer.echo(f"{archive}: checksum is right, unpacked to {output}")


if __name__ == "__main__":
    typer.run(main)
