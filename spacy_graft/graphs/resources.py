"""Search for the files of lexical resources in folders and zip files."""

from __future__ import annotations

import os
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path

#: Exceptions for zip files that are damaged, encrypted, or compressed by a method that Python does not support.
ZIP_ERRORS = (EOFError, ValueError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError)


@dataclass(frozen=True)
class Resource:
    """A lexical resource of a third party.

    Attributes
    ----------
    name : str
        Name for messages.
    corpus : str
        Name in NLTK: that of its folder or zip file in ``corpora``.
    fits : callable
        Whether a folder has its files.
    places : tuple of str
        Further folders, after those of NLTK.
    hint : str
        How to get it, for messages.
    """

    name: str
    corpus: str
    fits: Callable[[Traversable], bool]
    places: tuple[str, ...]
    hint: str

    def folder(self, path: str | Path | None) -> Traversable:
        """Return the folder with the files: within ``path`` or, if that is None, within the usual folders.

        Raises
        ------
        FileNotFoundError
            If there is none. The message lists the folders that were searched, and says how to get the resource.
        """
        roots = [Path(path)] if path is not None else [*nltk_folders(), *map(Path, self.places)]
        for root in roots:
            for folder in folders_in(root, self.corpus):
                if self.fits(folder):
                    return folder
        looked = ", ".join(map(str, dict.fromkeys(roots)))
        raise FileNotFoundError(f"{self.name} was not found. Folders searched: {looked}. {self.hint}")


def nltk_folders() -> list[Path]:
    """The folders where NLTK searches for its data."""
    given = [Path(entry) for entry in os.environ.get("NLTK_DATA", "").split(os.pathsep) if entry]
    prefixes = [Path(sys.prefix), Path(sys.prefix, "share"), Path(sys.prefix, "lib")]
    system = [Path("/usr/share"), Path("/usr/local/share"), Path("/usr/lib"), Path("/usr/local/lib")]
    # Path.home() raises an error for a user without a name and without HOME, as in containers.
    home = Path(os.path.expanduser("~"))
    return [*given, *(folder / "nltk_data" for folder in [home, *prefixes, *system])]


def folders_in(root: Path, corpus: str) -> Iterator[Traversable]:
    """Folders below ``root``, or in a zip file, that may have the files of a corpus."""
    for path in (root, root / "dict", root / corpus, root / "corpora" / corpus):
        if path.is_dir():
            yield path
    for path in (root, root / f"{corpus}.zip", root / "corpora" / f"{corpus}.zip"):
        if path.is_file() and zipfile.is_zipfile(path):
            inside = opened(path)
            yield inside
            yield inside / corpus


def opened(path: Path) -> zipfile.Path:
    """Open a zip file as a folder; raise a ValueError if it is damaged."""
    try:
        return zipfile.Path(path)
    except (OSError, *ZIP_ERRORS) as error:
        raise ValueError(f"{path} is damaged: {error}") from error


def content(file: Traversable) -> bytes:
    """Return the bytes of a file, which may be in a zip file; raise a ValueError if that is damaged."""
    if isinstance(file, Path):
        return file.read_bytes()
    try:
        return file.read_bytes()
    except (OSError, *ZIP_ERRORS) as error:
        raise ValueError(f"{file} cannot be read from its zip file: {error}") from error
