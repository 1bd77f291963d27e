"""Where the files of lexical resources are found, in folders and in zip files."""

from __future__ import annotations

import os
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path

#: What reading a damaged zip file raises, or one that is encrypted or compressed in a way that Python does not know.
ZIP_ERRORS = (EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError)


@dataclass(frozen=True)
class Resource:
    """A lexical resource that others distribute.

    Attributes
    ----------
    name : str
        As people write it.
    corpus : str
        What NLTK calls it: its folder or zip file in ``corpora``.
    fits : callable
        Whether a folder has its files.
    places : tuple of str
        Where it is beside the folders of NLTK.
    hint : str
        How to get it.
    """

    name: str
    corpus: str
    fits: Callable[[Traversable], bool]
    places: tuple[str, ...]
    hint: str

    def folder(self, path: str | Path | None) -> Traversable:
        """The folder with the files: somewhere in ``path``, or, if that is None, at the usual places.

        Raises
        ------
        FileNotFoundError
            If there is none; says where it was looked for, and how to get it.
        """
        roots = [Path(path)] if path is not None else [*nltk_folders(), *map(Path, self.places)]
        for root in roots:
            for folder in folders_in(root, self.corpus):
                if self.fits(folder):
                    return folder
        looked = ", ".join(map(str, dict.fromkeys(roots)))
        raise FileNotFoundError(f"{self.name} was not found; looked in {looked}. {self.hint}")


def nltk_folders() -> list[Path]:
    """Where NLTK looks for its data."""
    given = [Path(entry) for entry in os.environ.get("NLTK_DATA", "").split(os.pathsep) if entry]
    prefixes = [Path(sys.prefix), Path(sys.prefix, "share"), Path(sys.prefix, "lib")]
    system = [Path("/usr/share"), Path("/usr/local/share"), Path("/usr/lib"), Path("/usr/local/lib")]
    return [*given, *(folder / "nltk_data" for folder in [Path.home(), *prefixes, *system])]


def folders_in(root: Path, corpus: str) -> Iterator[Traversable]:
    """Folders below ``root``, or in a zip file, that may have the files of a corpus."""
    for path in (root, root / "dict", root / corpus, root / "corpora" / corpus):
        if path.is_dir():
            yield path
    for path in (root, root / f"{corpus}.zip", root / "corpora" / f"{corpus}.zip"):
        if path.is_file() and zipfile.is_zipfile(path):
            inside = zipfile.Path(path)
            yield inside
            yield inside / corpus


def content(file: Traversable) -> bytes:
    """The bytes of a file, which may be in a zip file; a ValueError that names it if that is damaged."""
    try:
        return file.read_bytes()
    except ZIP_ERRORS as error:
        raise ValueError(f"{file} cannot be read from its zip file: {error}") from error
