"""Folders that one process fills and the workers of a cluster read: shared by all, or copied through a storage."""

from __future__ import annotations

import errno
import os
import platform
import re
import secrets
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree
from threading import Lock
from tokenize import TokenError
from typing import Any, TypeVar

from ..files import hidden_beside

ReadT = TypeVar("ReadT")

#: What a missing or damaged file raises when it is read.
UNREADABLE = (OSError, ValueError, TypeError, LookupError, EOFError, TokenError, zipfile.BadZipFile, zlib.error)
DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
#: What NumPy says of an array that was written in part, without the number of the error.
WRITTEN_IN_PART = re.compile(r"\d+ requested and \d+ written")
#: Held by a thread of a worker that fetches and opens files: the others use the same copies.
OPENING = Lock()
#: The end of messages.
GOES_ON = "Then run the same command again: it continues after the finished shards."


class StorageError(ValueError):
    """A file cannot be copied from a storage or to it."""


@dataclass(frozen=True)
class SharedFolder:
    """A folder whose files one process writes and others read.

    Without a storage, all of them see the folder, and nothing is copied. With a storage, the process that writes also
    uploads the files (``publish``), and each worker downloads a file when it first reads it (``read``).

    Traffic: each file once to the storage, and once from there to each worker that reads it.

    Parameters
    ----------
    name : str
        The path below ``root``, and in the storage.
    root : Path, optional
        None means the local directory of the Dask worker that runs this. Dask deletes it when the worker ends.
    storage : str
        The URL of a folder, for fsspec.
    """

    name: str
    root: Path | None
    storage: str = ""

    @property
    def path(self) -> Path:
        """The folder on this machine."""
        if self.root is not None:
            return self.root / self.name
        from distributed import get_worker

        return Path(get_worker().local_directory, "spacy-graft", self.name)

    @property
    def url(self) -> str:
        """The folder in the storage; its path if there is none."""
        return f"{self.storage.rstrip('/')}/{self.name}" if self.storage else str(self.path)

    def below(self, name: str) -> SharedFolder:
        """A folder in this one."""
        return replace(self, name=f"{self.name}/{name}")

    def for_workers(self) -> SharedFolder:
        """The folder as workers see it, which may have been started in another folder."""
        return replace(self, root=None if self.storage or self.root is None else self.root.absolute())

    def has(self, name: str) -> bool:
        """Whether there is such a file for all to read."""
        if not self.storage:
            return (self.path / name).is_file()
        with self._reaching() as (system, folder):
            return stored_size(system, f"{folder}/{name}") is not None

    def publish(self, *names: str) -> None:
        """Upload files one after the other, except those that are there. A file appears when it is complete."""
        if not self.storage:
            return
        with self._reaching() as (system, folder):
            system.makedirs(folder, exist_ok=True)
            for name in names:
                if stored_size(system, f"{folder}/{name}") != (self.path / name).stat().st_size:
                    temporary = f"{folder}/.{name}.{secrets.token_hex(8)}"
                    system.put_file(str(self.path / name), temporary)
                    system.mv(temporary, f"{folder}/{name}")

    def fetch(self, name: str) -> bool:
        """Download a file that is not on this machine; returns whether it is there then."""
        return (self.path / name).is_file() or self._download(name)

    def read(self, name: str, reader: Callable[[Path], ReadT]) -> ReadT:
        """What a function reads of a file. The file is downloaded if it is missing, and again if it is damaged."""
        self.fetch(name)
        try:
            return reader(self.path / name)
        except UNREADABLE:
            if not self._download(name):
                raise
            return reader(self.path / name)

    def differs(self, name: str) -> bool:
        """Whether the storage has another file of this name."""
        if not self.storage or not self.has(name):
            return False
        with self._reaching() as (system, folder):
            return bool(system.cat_file(f"{folder}/{name}") != (self.path / name).read_bytes())

    def unpublish(self, name: str = "") -> None:
        """Delete a file, or the whole folder, in the storage. What cannot be deleted stays there."""
        if self.storage:
            with suppress(StorageError), self._reaching() as (system, folder):
                system.rm(f"{folder}/{name}" if name else folder, recursive=not name)

    def remove(self) -> None:
        """Delete the folder, here and in the storage."""
        rmtree(self.path, ignore_errors=True)
        self.unpublish()

    def drop_copies(self, pattern: str, keep: str = "") -> None:
        """In a worker with copies of its own, delete those that match a pattern, except one."""
        if self.root is None:
            for path in self.path.glob(pattern):
                if path.name != keep:
                    rmtree(path) if path.is_dir() else path.unlink()

    def _download(self, name: str) -> bool:
        """Download a file; False if there is no storage, or it does not have the file and a worker need not have it."""
        if not self.storage:
            return False
        target = self.path / name
        temporary = hidden_beside(target)
        try:
            with self._reaching() as (system, folder), self.local_disk():
                target.parent.mkdir(parents=True, exist_ok=True)
                if self.root is not None and stored_size(system, f"{folder}/{name}") is None:
                    return False
                system.get_file(f"{folder}/{name}", str(temporary))
                temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
        return True

    @contextmanager
    def local_disk(self) -> Iterator[None]:
        """Say whose disk is full when the files here are copies.

        Raises
        ------
        StorageError
            If it is.
        """
        try:
            yield
        except OSError as error:
            if not self.storage or error.errno not in DISK_FULL:
                raise
            raise StorageError(
                f"{self.path} on {platform.node()} cannot be written: {os.strerror(error.errno)}. Make room there, or "
                f"give another folder (a worker's is its --local-directory). {GOES_ON}"
            ) from error

    @contextmanager
    def _reaching(self) -> Iterator[tuple[Any, str]]:
        """The file system of the storage and the path of the folder there.

        Raises
        ------
        StorageError
            If the storage cannot be used.
        """
        try:
            from fsspec.core import url_to_fs

            system, folder = url_to_fs(self.url)
            system.invalidate_cache()  # other processes write there, too
            yield system, folder
        except StorageError:
            raise
        except Exception as error:  # drivers raise the exceptions of their own libraries
            raise StorageError(
                f"The storage {self.url} cannot be used on {platform.node()}: {type(error).__name__}: {error}. "
                f"{remedy_of(error)} {GOES_ON}"
            ) from error


def stored_size(system: Any, path: str) -> int | None:
    """The bytes of a file in a storage; None if there is no such file."""
    try:
        return int(system.info(path)["size"])
    except FileNotFoundError:
        return None


def is_disk_full(error: OSError) -> bool:
    """Whether a file could not be written for want of room."""
    return error.errno in DISK_FULL or is_written_in_part(error)


def is_written_in_part(error: OSError) -> bool:
    """Whether it is NumPy that says so, of an array."""
    return error.errno is None and WRITTEN_IN_PART.fullmatch(str(error)) is not None


def remedy_of(error: Exception) -> str:
    """What to do about an error of a storage."""
    if isinstance(error, ImportError):
        return "Install this package on all machines."
    if isinstance(error, PermissionError):
        return "Give this machine the credentials, where the driver of this protocol looks for them."
    if isinstance(error, OSError) and is_disk_full(error):
        return "Make room there."
    return "Check the URL, the network and the credentials of this machine."
