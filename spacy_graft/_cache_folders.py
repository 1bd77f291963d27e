"""Folders that compiled kernels are kept in, and their files.

Compiled kernels are machine code in pickles: whoever writes such a file runs code in the process that reads it. So only
folders and files are used that nobody else can write.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from .messages import warn

#: False on Windows: modes say nothing about access there, and temporary folders belong to one user anyway.
HAS_OWNERS = hasattr(os, "geteuid")

#: Of what is created here, whatever the umask: an image's cache is read by other users, and written by none.
FOLDER_MODE, FILE_MODE, PRIVATE_MODE = 0o755, 0o644, 0o700

GROUP_OR_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True)
class Folder:
    """A folder that may hold compiled kernels.

    Attributes
    ----------
    path : Path
        The folder, without symbolic links above it; it need not exist.
    root : Path
        What a user knows it by: the value of NUMBA_CACHE_DIR, for instance.
    owners : frozenset of int
        Users that its files may belong to.
    checked_from : Path, optional
        The first folder to check on the way to ``path``; by default that is the root of the file system.
    private : Path, optional
        A folder on the way that must belong to this user, and that nobody else may enter.
    """

    path: Path
    root: Path
    owners: frozenset[int]
    checked_from: Path | None = None
    private: Path | None = None

    def problem(self) -> str | None:
        """Why what is in the folder is not to be trusted; None if it is, or if there is no folder or no access."""
        if not HAS_OWNERS:
            return None
        for path in (*reversed(self.path.parents), self.path):
            if self.checked_from is not None and not path.is_relative_to(self.checked_from):
                continue
            try:
                status = path.lstat()
            except OSError:
                return None
            found = problem_of(status, self.owners, sticky=path != self.path)
            if found is None and path == self.private and not is_private(status):
                found = f"is not a private folder of uid {user_id()} (mode {stat.filemode(status.st_mode)})"
            if found is not None:
                return f"{path} {found}"
        return None

    def make(self) -> bool:
        """Create the folder if it is not there; return whether it is there and to be trusted."""
        if self.problem() is not None:
            return False
        try:
            for path in (*reversed(self.path.parents), self.path):
                if not path.exists():
                    with suppress(FileExistsError):  # by another process
                        path.mkdir(PRIVATE_MODE if path == self.private else FOLDER_MODE)
        except OSError:
            return False
        # Once more: between the two somebody else may have created a part of it.
        return self.path.is_dir() and self.problem() is None

    def read(self, name: str) -> bytes | None:
        """What was written to a file; None if it is missing, damaged or not to be trusted."""
        try:
            with (self.path / name).open("rb") as file:
                # The open file is examined, which nobody can exchange for another meanwhile.
                if HAS_OWNERS and problem_of(os.fstat(file.fileno()), self.owners) is not None:
                    return None
                content = file.read()
        except OSError:
            return None
        size = sha256().digest_size
        payload = content[size:]
        return payload if content[:size] == sha256(payload).digest() else None

    def write(self, name: str, payload: bytes) -> None:
        """Write a file, as a whole or not at all: a full disk, for instance, is no error."""
        if not self.make():
            return
        path = self.path / name
        temporary = self.path / f"{name}.{uuid4().hex[:16]}"
        try:
            with open(temporary, "xb", opener=partial(os.open, mode=FILE_MODE)) as file:
                file.write(sha256(payload).digest() + payload)
            with suppress(OSError):
                path.rmdir()  # an empty folder in its place
            temporary.replace(path)
        except OSError:
            with suppress(OSError):
                temporary.unlink()


def problem_of(status: os.stat_result, owners: frozenset[int], sticky: bool = False) -> str | None:
    """Why a file or folder is not to be trusted, or None.

    Others may write to a folder with the sticky bit, such as /tmp, if it is only on the way (``sticky``): there they
    cannot replace what is not theirs.
    """
    if status.st_uid not in owners:
        return f"belongs to another user (uid {status.st_uid})"
    if stat.S_ISLNK(status.st_mode):
        return "is a symbolic link"
    if sticky and status.st_mode & stat.S_ISVTX:
        return None
    writable = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if writable & stat.S_IWOTH:
        return f"can be written by everybody (mode {stat.filemode(status.st_mode)})"
    if writable and not is_own_group(status.st_gid):
        return f"can be written by group {status.st_gid} (mode {stat.filemode(status.st_mode)})"
    return None


def is_private(status: os.stat_result) -> bool:
    """Whether this is a folder of this user that nobody else can enter."""
    return stat.S_ISDIR(status.st_mode) and status.st_uid == user_id() and not status.st_mode & GROUP_OR_OTHERS


def is_own_group(group: int) -> bool:
    """Whether a group is the private one of this user.

    Where every user has a group of the same name, the usual umask is 002, and all files can be written by that group.
    root's group does not count: containers with arbitrary users put them into it.
    """
    import grp
    import pwd

    try:
        user, members = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return (
        user.pw_uid != 0
        and user.pw_gid == group
        and members.gr_name == user.pw_name
        and set(members.gr_mem) <= {user.pw_name}
    )


def folders_for(source: Path, chosen: str, user_cache: str) -> Iterator[Folder]:
    """Folders for the kernels of a module: those of numba, in its order, then a private temporary one.

    Parameters
    ----------
    source : Path
        Folder of the module.
    chosen : str
        NUMBA_CACHE_DIR, or an empty string.
    user_cache : str
        Folder of numba in the user's cache.
    """
    # Sandboxes without root show its files as another user's; who owns the root folder can replace everything.
    owners = frozenset({0, user_id(), Path("/").stat().st_uid})
    source = source.resolve()
    # Two installations, in folders of the same name, have folders of their own.
    name = f"{source.name}_{sha256(str(source).encode()).hexdigest()[:40]}"
    if chosen:
        yield Folder(Path(os.path.realpath(chosen), name), Path(chosen), owners)
    # Not the folders above it: whoever can write to them can change the code itself. So can its owner.
    beside = source / "__pycache__"
    yield Folder(beside, source.parent, owners | {source.stat().st_uid}, checked_from=beside)
    # Without a home it would be relative, to wherever the process was started.
    if Path(user_cache).is_absolute():
        yield Folder(Path(os.path.realpath(user_cache), name), Path(user_cache), owners)
    with suppress(FileNotFoundError):  # there is no temporary folder
        private = Path(os.path.realpath(tempfile.gettempdir()), f"spacy_graft-{user_id()}")
        yield Folder(private / name, private, owners, private=private)


def user_id() -> int:
    """The user that files of this process belong to; 0 where users have no numbers."""
    return os.geteuid() if HAS_OWNERS else 0


def trusted(folders: Iterable[Folder]) -> Iterator[Folder]:
    """Folders to read from; the last, and only that, can be written, if any can.

    Those before it are read as well: most users cannot write to the cache that comes with an image. A folder is not
    even examined before it is asked for.
    """
    for folder in folders:
        problem = folder.problem()
        if problem is not None:
            warn_of(folder, problem)
            continue
        yield folder
        if is_writable(folder):
            return


@cache
def is_writable(folder: Folder) -> bool:
    """Create the folder if it is not there; return whether files can be written to it."""
    if not folder.make():
        return False
    try:
        tempfile.TemporaryFile(dir=folder.path).close()
    except OSError:
        return False
    return True


#: Roots of folders that a warning has been given for.
warned: set[Path] = set()


def warn_of(folder: Folder, problem: str) -> None:
    """Warn that a folder is not used, once for all that belong to one root."""
    if folder.root not in warned:
        warned.add(folder.root)
        warn(
            f"Compiled kernels in {folder.root} are not used, because {problem}. Reading them would run what others "
            f"wrote. Let nobody else write there (chmod go-w), or set NUMBA_CACHE_DIR to a folder of your own."
        )
