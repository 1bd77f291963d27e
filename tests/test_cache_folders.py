"""Which folders compiled kernels are kept in, and what is read of them."""

from __future__ import annotations

import errno
import os
import pickle
import random
import warnings
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import pytest

from spacy_graft import _cache_folders
from spacy_graft._cache_folders import Folder, folders_for, is_writable, trusted
from spacy_graft._numba import njit
from spacy_graft.extract.kernels import is_space

POSIX = pytest.mark.skipif(not _cache_folders.HAS_OWNERS, reason="Windows has no modes")
COMPILED = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
ME = frozenset({_cache_folders.user_id()})


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """What has been found out about folders before does not count, nor which warnings there were."""
    is_writable.cache_clear()
    _cache_folders.warned.clear()
    yield
    is_writable.cache_clear()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where all folders of the test are; the temporary folder is in it."""
    home = Path(os.path.realpath(tmp_path), "home")
    home.mkdir(mode=0o755)
    (home / "tmp").mkdir()
    (home / "tmp").chmod(0o1777)
    (home / "package" / "model").mkdir(parents=True)
    monkeypatch.setattr("tempfile.tempdir", str(home / "tmp"))
    return home


def folders(home: Path) -> list[Folder]:
    """The candidates: chosen, beside the module, the user's, temporary."""
    return list(folders_for(home / "package" / "model", str(home / "chosen"), str(home / "cache")))


def not_writable(monkeypatch: pytest.MonkeyPatch, *unwritable: Path) -> None:
    """Let these folders be read-only. Modes would not do: root may write everywhere."""
    temporary_file = _cache_folders.tempfile.TemporaryFile

    def refused(dir: Path) -> Any:
        if any(dir.is_relative_to(root) for root in unwritable):
            raise OSError(errno.EROFS, "Read-only file system")
        return temporary_file(dir=dir)

    monkeypatch.setattr(_cache_folders.tempfile, "TemporaryFile", refused)


def test_order_of_folders(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As numba's, then a temporary one, each up to the first that can be written."""
    roots = [home / "chosen", home / "package", home / "cache", home / "tmp" / f"spacy_graft-{os.geteuid()}"]
    assert [folder.root for folder in folders(home)] == roots
    assert folders(home)[1].path == home / "package" / "model" / "__pycache__"
    for n, root in enumerate(roots, start=1):
        is_writable.cache_clear()
        found = list(trusted(folders(home)))
        assert [folder.root for folder in found] == roots[:n]
        assert [is_writable(folder) for folder in found] == [False] * (n - 1) + [True]
        # A folder is made when it is needed.
        assert [folder.path.is_dir() for folder in folders(home)] == [True] * n + [False] * (4 - n)
        not_writable(monkeypatch, root)
    is_writable.cache_clear()
    assert not any(map(is_writable, trusted(folders(home))))


def test_without_home_and_temporary_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's folder is then relative to the current one."""

    def missing() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.setattr("tempfile.gettempdir", missing)
    found = folders_for(home / "package" / "model", "", "~/.cache/numba")
    assert [folder.root for folder in found] == [home / "package"]


def test_modules_of_the_same_name_have_different_folders(home: Path) -> None:
    (home / "other" / "model").mkdir(parents=True)
    other = folders_for(home / "other" / "model", str(home / "chosen"), str(home / "cache"))
    assert not {folder.path for folder in folders(home)} & {folder.path for folder in other}


@POSIX
def test_modes_do_not_depend_on_the_umask(home: Path) -> None:
    """What is made under umask 0 is as safe, and a cache for others can be read by them."""
    before = os.umask(0)
    try:
        chosen, *_, private = folders(home)
        for folder in chosen, private:
            assert is_writable(folder)
            folder.write("kernel", b"code")
            assert folder.path.stat().st_mode & 0o777 == 0o755
            assert (folder.path / "kernel").stat().st_mode & 0o777 == 0o644
            assert folder.read("kernel") == b"code"
        assert private.path.parent.stat().st_mode & 0o777 == 0o700
    finally:
        os.umask(before)


@POSIX
@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda root, leaf: root.chmod(0o757), "chosen can be written by everybody"),
        (lambda root, leaf: leaf.chmod(0o757), "can be written by everybody"),
        (lambda root, leaf: leaf.chmod(0o1777), "can be written by everybody"),
        (lambda root, leaf: root.chmod(0o775), "chosen can be written by group"),
        (lambda root, leaf: root.parent.chmod(0o777), "home can be written by everybody"),
        (lambda root, leaf: leaf.rmdir() or leaf.symlink_to(root / "elsewhere"), "is a symbolic link"),
    ],
    ids=["root", "leaf", "sticky leaf", "group", "above", "link"],
)
def test_folders_that_others_can_write_are_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Path, Path], Any], problem: str
) -> None:
    monkeypatch.setattr(_cache_folders, "is_own_group", lambda group: False)
    chosen, beside, *_ = folders(home)
    assert is_writable(chosen)
    spoil(chosen.root, chosen.path)
    assert problem in str(chosen.problem())
    assert not chosen.make()
    with pytest.warns(UserWarning, match=rf"in {chosen.root} are not used, because .*{problem}.*NUMBA_CACHE_DIR"):
        assert next(trusted(folders(home))) == beside
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert next(trusted(folders(home))) == beside


@POSIX
def test_the_owner_counts(home: Path) -> None:
    """Folders and files are root's or one's own; beside the code they may also be those of the owner of the code."""
    chosen, beside, *_ = folders(home)
    trusted_users = ME | {0, Path("/").stat().st_uid}
    assert chosen.owners == trusted_users
    assert beside.owners == trusted_users | {home.stat().st_uid}
    stranger = frozenset({max(ME) + 1})
    assert f"{home} belongs to another user" in str(Folder(home / "x", home, stranger, home).problem())
    own = Folder(home, home, ME, home)
    own.write("kernel", b"code")
    assert own.read("kernel") == b"code"
    assert Folder(home, home, stranger, home).read("kernel") is None
    (home / "kernel").chmod(0o646)
    assert own.read("kernel") is None


@POSIX
def test_the_temporary_folder_must_be_private(home: Path) -> None:
    *_, private = folders(home)
    root = private.path.parent
    root.mkdir(mode=0o755)
    assert f"{root} is not a private folder" in str(private.problem())
    root.rmdir()
    (home / "elsewhere").mkdir(mode=0o700)
    root.symlink_to(home / "elsewhere")
    assert "is a symbolic link" in str(private.problem())
    root.unlink()
    assert is_writable(private)
    # Gone, and made again when it is written to; but never by anybody else.
    private.path.rmdir()
    root.rmdir()
    private.write("kernel", b"code")
    assert private.read("kernel") == b"code"


@POSIX
@pytest.mark.parametrize(
    ("uid", "gid", "name", "members", "own"),
    [
        (1000, 1000, "ann", [], True),
        (1000, 1000, "ann", ["ann"], True),
        (1000, 1000, "ann", ["ann", "bob"], False),
        (1000, 1000, "staff", [], False),
        (1000, 50, "ann", [], False),
        (0, 1000, "ann", [], False),
    ],
    ids=["private", "listed", "another member", "another name", "another primary group", "root"],
)
def test_private_groups(
    monkeypatch: pytest.MonkeyPatch, uid: int, gid: int, name: str, members: list[str], own: bool
) -> None:
    """With a group for each user, as on Debian and Fedora, the umask is 002: such folders are no risk."""
    user = SimpleNamespace(pw_uid=uid, pw_gid=gid, pw_name="ann")
    monkeypatch.setattr("pwd.getpwuid", lambda uid: user)
    monkeypatch.setattr("grp.getgrgid", lambda group: SimpleNamespace(gr_name=name, gr_mem=members))
    assert _cache_folders.is_own_group(1000) == own


@POSIX
def test_unknown_users_have_no_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container may run as a user that /etc/passwd does not list."""

    def unknown(uid: int) -> Any:
        raise KeyError(uid)

    monkeypatch.setattr("pwd.getpwuid", unknown)
    assert not _cache_folders.is_own_group(0)


def test_nothing_is_checked_without_owners(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows."""
    monkeypatch.setattr(_cache_folders, "HAS_OWNERS", False)
    (home / "chosen").mkdir()
    (home / "chosen").chmod(0o777)
    chosen, *_, private = folders(home)
    assert is_writable(chosen)
    assert private.root.name == "spacy_graft-0"


@pytest.fixture
def kernel(home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    """Makes the same kernel as in a new process, with a cache of its own."""
    monkeypatch.setattr("numba.config.CACHE_DIR", str(home / "chosen"))
    return lambda: njit(is_space.py_func)


def counts(kernel: Any) -> tuple[int, int]:
    """Call the kernel; how often it came from a file, and how often it was compiled."""
    assert kernel(ord(" "))
    assert not kernel(ord("x"))
    return sum(kernel.stats.cache_hits.values()), sum(kernel.stats.cache_misses.values())


def cached(home: Path) -> list[Path]:
    return [path for path in (home / "chosen").rglob("*") if not path.is_dir()]


def with_digest(payload: bytes) -> bytes:
    return sha256(payload).digest() + payload


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "short": lambda content: content[:20],
    "truncated": lambda content: content[: len(content) // 2],
    "zeros": lambda content: bytes(len(content)),
    "random": lambda content: random.Random(0).randbytes(len(content)),
    "a bit of the code": lambda content: content[:-200] + bytes([content[-200] ^ 1]) + content[-199:],
    "a pickle": lambda content: pickle.dumps("another"),
    "another pickle": lambda content: with_digest(pickle.dumps(("another",))),
    "no pickle": lambda content: with_digest(b"another"),
}


@COMPILED
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_are_compiled_and_written_again(home: Path, kernel: Callable[[], Any], damage: str) -> None:
    assert counts(kernel()) == (0, 1)
    (path,) = cached(home)
    content = path.read_bytes()
    assert counts(kernel()) == (1, 0)
    path.write_bytes(DAMAGES[damage](content))
    assert counts(kernel()) == (0, 1)
    assert cached(home) == [path]
    assert counts(kernel()) == (1, 0)


@COMPILED
@pytest.mark.parametrize("full", [False, True], ids=["empty folder", "folder with a file"])
def test_a_folder_in_place_of_a_file(home: Path, kernel: Callable[[], Any], full: bool) -> None:
    assert counts(kernel()) == (0, 1)
    (path,) = cached(home)
    path.unlink()
    path.mkdir()
    if full:
        (path / "x").touch()
    assert counts(kernel()) == (0, 1)
    assert cached(home) == ([path / "x"] if full else [path])
    assert counts(kernel()) == ((0, 1) if full else (1, 0))


@COMPILED
def test_a_full_disk_is_no_error(home: Path, kernel: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    assert counts(kernel()) == (0, 1)
    assert cached(home) == []


@COMPILED
def test_a_cache_that_cannot_be_written_is_read(
    home: Path, kernel: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of an image; what it lacks goes to the next folder that can be written."""
    assert counts(kernel()) == (0, 1)
    files = cached(home)
    is_writable.cache_clear()
    not_writable(monkeypatch, home / "chosen", Path(is_space.py_func.__code__.co_filename).parent)
    monkeypatch.setattr("spacy_graft._numba.AppDirs", lambda **names: SimpleNamespace(user_cache_dir=str(home / "x")))
    again = kernel()
    assert counts(again) == (1, 0)
    assert not list((home / "x").rglob("*.nbc"))
    assert again(1.0) == again(ord("x"))  # other types
    assert cached(home) == files
    assert len(list((home / "x").rglob("*.nbc"))) == 1


@COMPILED
def test_without_any_folder_kernels_are_compiled(
    home: Path, kernel: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Folder, "make", lambda folder: False)
    assert counts(kernel()) == (0, 1)
    assert kernel().stats.cache_path is None
    assert cached(home) == []
