"""Indexes in files, for text that is larger than memory."""

from __future__ import annotations

import errno
import json
import os
import platform
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from os.path import samestat
from pathlib import Path
from shutil import disk_usage
from threading import Lock
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ..digests import digest_of
from ..extract.streams import Empty, Stream
from ..files import has_lock, reason_of, write_new, write_whole, writing
from . import kernels
from .columns import column_numbers
from .ngrams import ANY_LENGTH, NgramIndex
from .nodes import NodeTable
from .shards import Assembly, Prefix, Shard, cuts, nodes_of_shard, positions_by_shard
from .storage import (
    GOES_ON,
    OPENING,
    UNREADABLE,
    ReadT,
    SharedFolder,
    StorageError,
    is_disk_full,
    is_written_in_part,
)
from .suffixes import Suffixes, packed_text, packed_words
from .sums import RangedTree
from .texts import RankedText

if TYPE_CHECKING:
    from .places import OnDisk

#: Version of the files. It is part of the names of folders, so that files of another version are not found.
FORMAT_OF_FILES = 3
#: Leaves of a shard: suffixes, each once for every document of its run.
SHARD_SIZE = 2**23
#: Nodes whose columns are compared at a time.
COMPARED = 2**24
#: Bytes that are read or copied at a time.
READ_AT_A_TIME = 2**24
#: Bytes of a symbol and of a node in the files; twice that while shards are joined.
BYTES_OF_SYMBOL, BYTES_OF_NODE = 10, 37
#: Bytes of a symbol of the text that shards are made of, until they are: two arrays and their copies.
BYTES_OF_TEXT = 6
#: Arrays of the text that shards are made of.
TEXT_ARRAYS = ("symbols", "words", "alphabet", "ends", "bounds", "documents")
#: Held by the thread that reads the header of a file: Python 3.11 can fail (SystemError) if several parse at once.
READING_HEADER = Lock()
TOO_MANY_FILES = (errno.EMFILE, errno.ENFILE)
MANIFEST, OWNER_FILE, PLAN, SHARDS = "manifest.json", "owner.json", "plan.json", "shards"


def index_in_folder(place: OnDisk, stream: Stream, min_df: int, max_length: int | None) -> NgramIndex:
    """The index of a stream in the folder of a place, which is built if it is neither there nor in a storage."""
    limit = ANY_LENGTH if max_length is None else min(max_length, ANY_LENGTH)
    digest = digest_of([FORMAT_OF_FILES, stream.symbols, stream.starts, min_df, limit])
    folder = IndexFolder(place.shared(f"index-{digest[:32]}"))
    if folder.shared.fetch(MANIFEST):
        folder.forget_shards()
    else:
        try:
            with folder.owned():
                # Another process may have ended with it meanwhile, and have its files open.
                if not folder.shared.fetch(MANIFEST):
                    build_in_folder(folder, place, stream, min_df, limit)
        except OSError as error:
            raise not_written(folder.path, error) from error
    index = folder.open()
    folder.shared.publish(*sorted(file.name for file in folder.path.glob("*.bin")), MANIFEST)
    return index


@dataclass(frozen=True)
class IndexFolder:
    """The files of one index."""

    shared: SharedFolder

    @property
    def path(self) -> Path:
        """The folder on this machine."""
        return self.shared.path

    def open(self) -> NgramIndex:
        """The index, with its arrays mapped into memory; changes of them are not written to the files.

        All files are read once and compared with their checksums.

        Raises
        ------
        ValueError
            If a file is missing, damaged or unreadable, and also if it has been fetched again from the storage.
        """
        where = " or ".join(dict.fromkeys([str(self.path), self.shared.url]))
        try:
            manifest, _ = self.shared.read(MANIFEST, sealed_json_in)
            n_documents, entries = int(manifest["n_documents"]), manifest["arrays"]
            arrays = {
                name: self.shared.read(self.file(name).name, partial(checked_array, **entry))
                for name, entry in entries.items()
            }
            return NgramIndex(**arrays, n_documents=n_documents, folder=self.path)
        except StorageError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise ValueError(
                f"The index in {where} is damaged: {error}. Delete this folder and run the command again: it then "
                f"builds the index again."
            ) from error
        except OSError as error:
            raise ValueError(
                f"The index in {where} cannot be read: {error}. Make it readable, or use another folder."
            ) from error

    def close(self, arrays: dict[str, np.ndarray], n_documents: int) -> None:
        """Write the manifest, which makes the index complete, after its arrays have reached the disk."""
        for name in arrays:
            with self.file(name).open("rb+") as file:
                os.fsync(file.fileno())
        entries = {
            name: {"dtype": array.dtype.str, "shape": array.shape, "crc32": checksum(self.file(name))}
            for name, array in arrays.items()
        }
        write_whole(self.path / MANIFEST, sealed_json({"n_documents": n_documents, "arrays": entries}))

    def file(self, name: str) -> Path:
        return self.path / f"{name}.bin"

    def saved(self, name: str, array: np.ndarray) -> np.ndarray:
        """A copy of an array in a file."""
        copy = self.empty(name, array.shape, array.dtype)
        copy[:] = array
        return copy

    def empty(self, name: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """A new array in a file."""
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        with self.file(name).open("wb") as file:
            reserve(file, size)
        return array_in_file(self.file(name), np.dtype(dtype), shape, "r+")

    @contextmanager
    def owned(self) -> Iterator[None]:
        """Keep other processes from building the index.

        Raises
        ------
        ValueError
            If another process is building it.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        owner = self.path / OWNER_FILE
        self._forget_dead(owner)
        try:
            write_new(owner, owner_note())
        except FileExistsError:
            raise ValueError(
                f"Another process, or another thread of this one, builds an index in {self.path}. Wait until it has "
                f"ended, or use another folder. If there is none, delete {owner}."
            ) from None
        try:
            yield
        finally:
            owner.unlink(missing_ok=True)

    def forget_shards(self) -> None:
        """Delete the shards of a complete index, which a process that was killed has left."""
        shards = self.shared.below(SHARDS)
        if shards.path.is_dir():
            # Another process may be doing so, and where nothing can be deleted, the index can be read.
            with suppress(ValueError, OSError), self.owned():
                shards.remove()

    @staticmethod
    def _forget_dead(owner: Path) -> None:
        """Delete the owner file of a process of this machine that is no longer running.

        One process at a time does so, which has its lock (a process that is killed leaves none), and reads the file
        again: that of the dead may have been deleted by another process since, which has its own there now.
        """
        if not is_of_dead(owner):
            return
        # Where it cannot be deleted, the error of a locked folder names it. It is open for writing, since some file
        # systems lock no other files.
        with suppress(OSError), owner.open("rb+") as file:
            if has_lock(file) and samestat(os.fstat(file.fileno()), owner.stat()) and is_of_dead(owner):
                owner.unlink()


class ShardFolder:
    """Files that processes share: the shards of an index that is being built, and the text that they are made of."""

    def __init__(self, shared: SharedFolder) -> None:
        self.shared = shared
        plan, self.plan_checksum = self._read(PLAN, sealed_json_in)
        self.checksums: dict[str, int] = plan["files"]
        arrays = {name: self._array(f"{name}.npy") for name in TEXT_ARRAYS}
        words = arrays.pop("words")
        self.min_df, self.max_length = plan["min_df"], plan["max_length"]
        self.text = RankedText(**arrays, n_documents=plan["n_documents"])
        self.suffixes = Suffixes(self.text.symbols, packed_words(words, plan["bits"]))
        self.shards = [shard_of(values) for values in plan["shards"]]

    @classmethod
    def planned(cls, shared: SharedFolder, stream: Stream, min_df: int, max_length: int, empty: Empty) -> ShardFolder:
        """Write the text of a stream and its division into shards; ``empty`` allocates working arrays."""
        path = shared.path
        if not (path / PLAN).is_file():
            path.mkdir(exist_ok=True)
            text = RankedText.of_stream(stream, min_df, empty)
            suffixes = Suffixes(text.symbols, packed_text(text.symbols, empty))
            shards = cuts(text, suffixes, max(-(-text.n_leaves // SHARD_SIZE), 1), min_df, max_length)
            for name in TEXT_ARRAYS:
                np.save(path / f"{name}.npy", suffixes.text.words if name == "words" else getattr(text, name))
            write_positions(path, text, suffixes, shards)
            files = [*(f"{name}.npy" for name in TEXT_ARRAYS), *map(positions_of, range(len(shards)))]
            plan = {
                "min_df": min_df,
                "max_length": max_length,
                "n_documents": text.n_documents,
                "bits": suffixes.text.bits,
                "shards": [asdict(shard) for shard in shards],
                "files": {name: checksum(path / name) for name in files},
            }
            write_whole(path / PLAN, sealed_json(plan))
        if shared.differs(PLAN):
            shared.unpublish()  # its shards have other bounds
        made = cls(shared)
        shared.publish(*made.checksums, PLAN)
        return made

    def make(self, s: int) -> None:
        """Write the nodes of a shard, unless the file exists."""
        name = self.name_of(s)
        if self.shared.has(name):
            return
        self._write(s)
        self.shared.publish(name)

    def _write(self, s: int) -> None:
        of_shard = self.shards[s], self._array(positions_of(s))
        part = nodes_of_shard(self.text, self.suffixes, *of_shard, self.min_df, self.max_length)
        with self.shared.local_disk(), writing(self.shared.path / self.name_of(s)) as file:
            np.savez(file, mark=self._mark(s), **part._asdict())

    def nodes(self, s: int) -> NodeTable:
        """The nodes of a shard from its file, which is written again if it is missing or damaged."""
        name = self.name_of(s)
        reader = partial(nodes_in, mark=self._mark(s))
        try:
            return self.shared.read(name, reader)
        except StorageError:
            raise
        except UNREADABLE:
            self._write(s)
            return reader(self.shared.path / name)

    def _mark(self, s: int) -> np.ndarray:
        """What tells the file of a shard from those of others and of other indexes: int64 (2)."""
        return np.array([s, self.plan_checksum], np.int64)

    def _array(self, name: str) -> np.ndarray:
        """The array of a file of the text, all of which is read for its checksum."""
        return self._read(name, partial(unchanged_array, crc32=self.checksums[name]))

    def _read(self, name: str, reader: Callable[[Path], ReadT]) -> ReadT:
        """What a function reads of a file.

        Raises
        ------
        ValueError
            If it is missing or damaged.
        """
        try:
            return self.shared.read(name, reader)
        except StorageError:
            raise
        except UNREADABLE as error:
            raise ValueError(
                f"{self.shared.path / name} is missing or damaged: {error}. Delete {self.shared.path} and run the "
                f"command again: it then builds all shards again. (Workers of a cluster must see this folder under the "
                f"same path, unless they have a storage.)"
            ) from error

    @staticmethod
    def name_of(s: int) -> str:
        """The name of the file of a shard."""
        return f"{s:06d}.npz"


@lru_cache(maxsize=1)
def shard_folder(shared: SharedFolder) -> ShardFolder:
    """The folder, opened once in a process."""
    return ShardFolder(shared)


def make_shard(shared: SharedFolder, s: int) -> None:
    """Write the nodes of a shard in a folder, unless the file exists."""
    with OPENING:
        folder = shard_folder(shared)
    folder.make(s)


def positions_of(s: int) -> str:
    """The name of the file of a shard's positions in the text."""
    return f"{s:06d}.npy"


def write_positions(folder: Path, text: RankedText, suffixes: Suffixes, shards: Sequence[Shard]) -> None:
    """Write where the suffixes of each shard begin, in one pass over the text."""
    dtype = np.lib.format.dtype_to_descr(np.dtype(suffixes.dtype))
    for s, shard in enumerate(shards):
        header = {"descr": dtype, "fortran_order": False, "shape": (shard.n_suffixes,)}
        with (folder / positions_of(s)).open("wb") as file:
            np.lib.format.write_array_header_1_0(file, header)
    for s, positions in positions_by_shard(text, suffixes, shards, SHARD_SIZE):
        with (folder / positions_of(s)).open("ab") as file:  # not all at once: there may be thousands
            positions.tofile(file)


def nodes_in(path: Path, mark: np.ndarray) -> NodeTable:
    """The nodes of a shard in a file; a ValueError if it has another mark."""
    with path.open("rb") as file, np.load(file) as content:
        arrays = dict(content)
    if not np.array_equal(arrays.pop("mark", np.empty(0)), mark):
        raise ValueError(f"{path.name} is of another shard or index")
    return NodeTable(**arrays)


def sealed_json(content: dict[str, Any]) -> bytes:
    """Plain values as JSON, with their checksum."""
    text = json.dumps(content, default=int, sort_keys=True)
    return json.dumps({"crc32": zlib.crc32(text.encode()), "content": json.loads(text)}, indent=1).encode()


def sealed_json_in(path: Path) -> tuple[dict[str, Any], int]:
    """What :func:`sealed_json` wrote to a file, and the checksum; a ValueError if it has changed."""
    sealed = json.loads(path.read_text("utf8"))
    content, crc32 = sealed["content"], sealed["crc32"]
    if zlib.crc32(json.dumps(content, sort_keys=True).encode()) != crc32:
        raise ValueError(f"{path.name} has changed")
    return content, crc32


def unchanged_array(path: Path, crc32: int) -> np.ndarray:
    """The array of a NumPy file, mapped into memory; a ValueError if the file has changed."""
    if checksum(path) != crc32:
        raise ValueError(f"{path.name} has changed")
    return mapped_array(path)


def mapped_array(path: Path) -> np.ndarray:
    """The array of a NumPy file, mapped into memory."""
    with READING_HEADER:
        return np.asarray(np.load(path, mmap_mode="c"))


def shard_of(values: dict[str, Any]) -> Shard:
    """A shard from plain values."""
    opened = {name: tuple(Prefix(*prefix) for prefix in values[name]) for name in ("open_before", "open_after")}
    return Shard(**{**values, "smallest": np.uint64(values["smallest"]), **opened})


def build_in_folder(folder: IndexFolder, place: OnDisk, stream: Stream, min_df: int, max_length: int) -> None:
    """Write the files of an index, shard by shard. Shards that an earlier process has written are used again.

    Memory: 60 bytes for each leaf of a shard and thread (a suffix has one for each document of its run), 85 where
    ``min_df`` is 1; while shards are joined, twice the nodes of one; 24 bytes for each distinct run of the stream, and
    12 for each of its documents.
    """
    require_room_for_index(folder.path, len(stream.symbols), min_df)
    shared = folder.shared.below(SHARDS)
    shard_folder.cache_clear()  # a folder of this name may have been deleted since
    made = ShardFolder.planned(shared, stream, min_df, max_length, place.empty)
    n_shards, for_workers = len(made.shards), shared.for_workers()
    for s, _ in enumerate(place.run(make_shard, [(for_workers, s) for s in range(n_shards)])):
        shared.fetch(made.name_of(s))
        if place.done is not None:
            place.done(s + 1, n_shards)
    arrays = joined_nodes(folder, made)
    arrays |= equal_nodes(folder, arrays, made.text.n_documents, place.empty)
    arrays |= {name: folder.saved(name, getattr(made.text, name)) for name in ("symbols", "alphabet")}
    folder.close(arrays, made.text.n_documents)
    shard_folder.cache_clear()
    shared.remove()


def joined_nodes(folder: IndexFolder, made: ShardFolder) -> dict[str, np.ndarray]:
    """Join the nodes of all shards, one shard after the other; return the arrays by name."""
    assembly, n_events = Assembly(made.text.n_documents), 0
    with ExitStack() as stack:
        files = {name: stack.enter_context(folder.file(name).open("wb")) for name in NodeTable._fields}
        for s, shard in enumerate(made.shards):
            part = assembly.whole(made.nodes(s), shard)
            for name, array in part._replace(bounds=part.bounds[:-1] + n_events)._asdict().items():
                np.ascontiguousarray(array).tofile(files[name])
            n_events += len(part.events)
            del part, array  # so that two shards are not in memory while the next one is read
        np.array([n_events]).tofile(files["bounds"])
    n_nodes = assembly.n_nodes
    shapes = {"nodes": (n_nodes, 3), "bounds": (2 * n_nodes + 1,), "events": (n_events,)}
    dtypes: dict[str, Any] = {"places": made.suffixes.dtype, "bounds": np.int64}
    arrays = {
        name: array_in_file(folder.file(name), np.dtype(dtypes.get(name, np.int32)), shapes.get(name, (n_nodes,)), "c")
        for name in NodeTable._fields
    }
    if n_events < 2**31:
        narrow = folder.empty("narrow_bounds", arrays["bounds"].shape, np.int32)
        narrow[:] = arrays["bounds"]
        arrays["bounds"] = narrow
        folder.file("narrow_bounds").replace(folder.file("bounds"))
    return arrays


def equal_nodes(
    folder: IndexFolder, arrays: dict[str, np.ndarray], n_documents: int, empty: Empty
) -> dict[str, np.ndarray]:
    """Find the nodes with equal columns; return the arrays by name. ``empty`` allocates working arrays."""
    nodes, shortest = arrays["nodes"], arrays["shortest"]
    tree = kernels.Tree(nodes[:, 0], nodes[:, 2], arrays["level"], arrays["bounds"], arrays["events"])
    keys = RangedTree.of(tree).keys(column_numbers(n_documents), empty)
    distinct = folder.empty("distinct", (len(nodes),), np.bool_)
    longest_node = folder.empty("longest_node", (len(nodes),), np.int32)
    for begin in range(0, len(nodes), COMPARED):
        end = min(begin + COMPARED, len(nodes))
        longest_node[begin:end] = np.arange(begin, end)
    n_parts = 1
    while n_parts * COMPARED < len(nodes):
        n_parts *= 2
    for p in range(n_parts):
        kernels.equal_columns(keys, nodes[:, 2], shortest, nodes[:, 1], distinct, longest_node, p, n_parts)
    return {"distinct": distinct, "longest_node": longest_node}


def not_written(folder: Path, error: OSError) -> ValueError:
    """The error of a folder that cannot be written."""
    if isinstance(error, FileExistsError | NotADirectoryError):
        remedy = "Give another folder."
    elif error.errno in TOO_MANY_FILES:
        remedy = f"Allow more open files (ulimit -n). {GOES_ON}"
    elif error.errno == errno.EFBIG:
        remedy = f"Allow larger files (ulimit -f), or give another folder. {GOES_ON}"
    else:
        remedy = f"Make {'room' if is_disk_full(error) else 'it writable'}, or give another folder. {GOES_ON}"
    reason = "a file could only be written in part" if is_written_in_part(error) else reason_of(error).rstrip(".")
    return ValueError(f"The index cannot be written in {folder}: {reason}. {remedy}")


def save_array(path: Path, array: np.ndarray) -> None:
    """Write an array to a NumPy file; a ValueError if that fails."""
    try:
        np.save(path, array)
    except OSError as error:
        raise not_written(path.parent, error) from error


def scratch(folder: Path, shape: Any, dtype: Any) -> np.ndarray:
    """An array in a file without a name, which is deleted with the array."""
    if np.prod(shape, dtype=np.int64) == 0:
        return np.empty(shape, dtype)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            reserve(file, int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize)
            return np.asarray(np.memmap(file, dtype, "r+", shape=shape))
    except OSError as error:
        raise not_written(folder, error) from error


def reserve(file: IO[bytes], size: int) -> None:
    """Make a file as large as it will be: writing to mapped memory without room on the disk would end the process."""
    if size and hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:
        file.truncate(size)


def array_in_file(path: Path, dtype: np.dtype, shape: tuple[int, ...], mode: Any) -> np.ndarray:
    """The array in a file; an empty one is in memory."""
    if 0 in shape:
        return np.empty(shape, dtype)
    return np.asarray(np.memmap(path, dtype, mode, shape=shape))


def checked_array(path: Path, dtype: str, shape: Sequence[int], crc32: int) -> np.ndarray:
    """The array in a file; a ValueError if the file is missing or has changed."""
    of_type = np.dtype(dtype)
    if not path.is_file():
        raise ValueError(f"{path.name} is missing")
    if path.stat().st_size != of_type.itemsize * int(np.prod(shape, dtype=np.int64)) or checksum(path) != crc32:
        raise ValueError(f"{path.name} has changed")
    return array_in_file(path, of_type, tuple(shape), "c")


def checksum(path: Path) -> int:
    """The CRC-32 of a file."""
    crc = 0
    with path.open("rb") as file:
        while block := file.read(READ_AT_A_TIME):
            crc = zlib.crc32(block, crc)
    return crc


def require_room_for_index(folder: Path, n_symbols: int, min_df: int) -> None:
    """Raise a ValueError if a disk has not enough space for what an index in a folder needs beside what is there."""
    bytes_of_position = 4 if n_symbols < 2**31 else 8
    in_files = BYTES_OF_SYMBOL + BYTES_OF_NODE // max(min_df, 1)
    needed = n_symbols * (BYTES_OF_TEXT + bytes_of_position + 2 * in_files) - bytes_of_files(folder)
    free = disk_usage(folder).free
    if needed > free:
        # In whole megabytes, rounded down and up: else both could be the same number.
        room, wanted = free // 10**6 / 1e3, -(-needed // 10**6) / 1e3
        raise ValueError(
            f"{folder} has {room:,.3f} GB of room, and the index of {n_symbols:,} symbols may need {wanted:,.3f} GB. "
            f"Use a folder on another disk, or a larger min_df."
        )


def bytes_of_files(folder: Path) -> int:
    """The size of the finished files in a folder; those that are being written, or never were, are hidden."""
    size = 0
    for file in folder.rglob("[!.]*"):
        with suppress(FileNotFoundError):  # another process may delete it
            size += file.stat().st_size * file.is_file()
    return size


def owner_note() -> bytes:
    """What an owner file says of this process."""
    pid = os.getpid()
    return json.dumps({"pid": pid, "host": this_host(), "started": start_of(pid)}).encode()


def is_of_dead(owner: Path) -> bool:
    """Whether an owner file is that of a process of this machine that is no longer running."""
    try:
        said = json.loads(owner.read_text("utf8"))
        pid = int(said["pid"])
        # In a container that was started again, another process has the number of the one before.
        begun, started = start_of(pid), said.get("started")
        is_other = None not in (begun, started) and begun != started
        return bool(said["host"] == this_host() and (is_other or not is_running(pid)))
    except (OSError, ValueError, LookupError, TypeError):
        return False


def this_host() -> str:
    """The name of this machine."""
    return platform.node()


def start_of(pid: int) -> str | None:
    """When a process began, as the system counts it; None if it does not say."""
    try:
        # The name of the program, in brackets, may have spaces.
        return Path(f"/proc/{pid}/stat").read_text("utf8").rpartition(")")[2].split()[19]
    except (OSError, LookupError, ValueError):
        return None


def is_running(pid: int) -> bool:
    """Whether there may be such a process on this machine."""
    if os.name == "nt":
        return True  # there, os.kill would end it
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
