"""Indexes in files, for text that is larger than memory."""

from __future__ import annotations

import json
import os
import platform
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import disk_usage, rmtree
from typing import TYPE_CHECKING, Any

import numpy as np

from ..digests import digest_of
from ..extract.streams import Stream
from ..files import writing
from ..threads import in_threads
from . import kernels
from .fingerprints import column_numbers
from .ngrams import ANY_LENGTH, NgramIndex
from .shards import Assembly, Shard, ShardNodes, cuts, nodes_of_shard
from .suffixes import Suffixes
from .sums import RangedTree
from .texts import RankedText

if TYPE_CHECKING:
    from .places import OnDisk

#: Of the files: another format has folders of other names.
FORMAT_OF_FILES = 1
#: Suffixes of a shard.
SHARD_SIZE = 2**23
#: Nodes whose columns are compared at a time.
COMPARED = 2**24
#: Bytes that are read or copied at a time.
READ_AT_A_TIME = 2**24
#: What a symbol and a node take in the files; shards are there twice while they are put together.
BYTES_OF_SYMBOL, BYTES_OF_NODE = 10, 37
MANIFEST, OWNER_FILE, SHARDS = "manifest.json", "owner.json", "shards"

#: Says that so many of so many shards are done.
ShardsDone = Callable[[int, int], None]


def index_in_folder(place: OnDisk, stream: Stream, min_df: int, max_length: int | None) -> NgramIndex:
    """The index of a stream that is in the folder of a place, or one that is built there."""
    limit = ANY_LENGTH if max_length is None else min(max_length, ANY_LENGTH)
    digest = digest_of([FORMAT_OF_FILES, stream.symbols, stream.starts, min_df, limit])
    folder = IndexFolder(Path(place.folder) / f"index-{digest[:32]}")
    if not (folder.path / MANIFEST).is_file():
        with folder.owned():
            Building(folder, min_df, limit, place.n_threads, place.empty, place.done).build(stream)
    return folder.open()


@dataclass(frozen=True)
class IndexFolder:
    """The files of one index.

    Parameters
    ----------
    path : Path
    """

    path: Path

    def open(self) -> NgramIndex:
        """The index, its arrays array_in_file into memory; what is written to them does not reach the files.

        Raises
        ------
        ValueError
            If a file is missing or damaged.
        """
        try:
            manifest = json.loads((self.path / MANIFEST).read_text("utf8"))
            n_documents, entries = int(manifest["n_documents"]), manifest["arrays"]
            arrays = {name: self._array(name, **entry) for name, entry in entries.items()}
            return NgramIndex(**arrays, n_documents=n_documents)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise ValueError(
                f"The index in {self.path} is damaged: {error}. Delete this folder; the index is then built again."
            ) from error

    def _array(self, name: str, dtype: str, shape: Sequence[int], crc32: int) -> np.ndarray:
        """An array that is what was written."""
        path, of_type = self.file(name), np.dtype(dtype)
        if not path.is_file():
            raise ValueError(f"{path.name} is missing")
        if path.stat().st_size != of_type.itemsize * int(np.prod(shape, dtype=np.int64)) or checksum(path) != crc32:
            raise ValueError(f"{path.name} has changed")
        return array_in_file(path, of_type, tuple(shape), "c")

    def close(self, arrays: dict[str, np.ndarray], n_documents: int) -> None:
        """Write what says that the index is complete."""
        entries = {
            name: {"dtype": array.dtype.str, "shape": array.shape, "crc32": checksum(self.file(name))}
            for name, array in arrays.items()
        }
        with writing(self.path / MANIFEST) as file:
            file.write(json.dumps({"n_documents": n_documents, "arrays": entries}, indent=1).encode())

    def file(self, name: str) -> Path:
        return self.path / f"{name}.bin"

    def saved(self, name: str, array: np.ndarray) -> np.ndarray:
        """An array in a file."""
        copy = self.empty(name, array.shape, array.dtype)
        copy[:] = array
        return copy

    def empty(self, name: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Room in a file."""
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        with self.file(name).open("wb") as file:
            file.truncate(size)
        return array_in_file(self.file(name), np.dtype(dtype), shape, "r+")

    @contextmanager
    def owned(self) -> Iterator[None]:
        """Keep other processes from building the index.

        Raises
        ------
        ValueError
            If another process does.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        owner = self.path / OWNER_FILE
        self._forget_dead(owner)
        try:
            with owner.open("x") as file:
                json.dump({"pid": os.getpid(), "host": this_host()}, file)
        except FileExistsError:
            raise ValueError(
                f"Another process builds an index in {self.path}. Wait until it has ended, or give another folder. If "
                f"there is no such process, delete {owner}."
            ) from None
        try:
            yield
        finally:
            owner.unlink(missing_ok=True)

    @staticmethod
    def _forget_dead(owner: Path) -> None:
        """Delete what a process of this machine has left that runs no more."""
        try:
            said = json.loads(owner.read_text("utf8"))
            if said["host"] == this_host() and not is_running(int(said["pid"])):
                owner.unlink()
        except (OSError, ValueError, LookupError, TypeError):
            return


@dataclass(frozen=True)
class Building:
    """An index that is built in a folder, shard by shard.

    Memory: 60 bytes for each suffix of a shard and thread; 24 bytes for each distinct run of the stream.

    Parameters
    ----------
    folder : IndexFolder
    min_df, max_length : int
    n_threads : int
    empty : callable
        Gives memory for what is not kept.
    done : callable, optional
    """

    folder: IndexFolder
    min_df: int
    max_length: int
    n_threads: int
    empty: Callable[[Any, Any], np.ndarray]
    done: ShardsDone | None = None

    def build(self, stream: Stream) -> None:
        """Write the files of the index. Shards that an earlier process has written are taken as they are."""
        require_room_for_index(self.folder.path, len(stream.symbols), self.min_df)
        shards_folder = self.folder.path / SHARDS
        shards_folder.mkdir(exist_ok=True)
        text = RankedText.of_stream(stream, self.min_df, self.empty)
        suffixes = Suffixes(text.symbols, empty=self.empty)
        n_shards = max(-(-len(text.symbols) // SHARD_SIZE), 1)
        shards = cuts(text, suffixes, n_shards, self.min_df, self.max_length)
        work = [
            ShardWork(self, text, suffixes, shard, shards_folder / f"{s:06d}.npz") for s, shard in enumerate(shards)
        ]
        made: list[None] = []
        for begin in range(0, len(work), self.n_threads):
            made += in_threads([one.make for one in work[begin : begin + self.n_threads]], self.n_threads)
            if self.done is not None:
                self.done(len(made), len(work))
        arrays = self._assembled(text.n_documents, work, suffixes.dtype)
        arrays |= self._compared(arrays, text.n_documents)
        arrays |= {name: self.folder.saved(name, getattr(text, name)) for name in ("symbols", "alphabet")}
        self.folder.close(arrays, text.n_documents)
        rmtree(shards_folder)

    def _assembled(
        self, n_documents: int, work: Sequence[ShardWork], dtype: type[np.signedinteger]
    ) -> dict[str, np.ndarray]:
        """Put the nodes of all shards together, one after the other."""
        assembly, n_events = Assembly(n_documents), 0
        with ExitStack() as stack:
            files = {name: stack.enter_context(self.folder.file(name).open("wb")) for name in ShardNodes._fields}
            for one in work:
                part = assembly.whole(one.nodes(), one.shard)
                for name, array in part._replace(bounds=part.bounds[:-1] + n_events)._asdict().items():
                    np.ascontiguousarray(array).tofile(files[name])
                n_events += len(part.events)
            np.array([n_events]).tofile(files["bounds"])
        n_nodes = assembly.n_nodes
        shapes = {"nodes": (n_nodes, 3), "bounds": (2 * n_nodes + 1,), "events": (n_events,)}
        dtypes: dict[str, Any] = {"places": dtype, "bounds": np.int64}
        arrays = {
            name: array_in_file(
                self.folder.file(name), np.dtype(dtypes.get(name, np.int32)), shapes.get(name, (n_nodes,)), "c"
            )
            for name in ShardNodes._fields
        }
        if n_events < 2**31:
            narrow = self.folder.empty("narrow_bounds", arrays["bounds"].shape, np.int32)
            narrow[:] = arrays["bounds"]
            arrays["bounds"] = narrow
            self.folder.file("narrow_bounds").replace(self.folder.file("bounds"))
        return arrays

    def _compared(self, arrays: dict[str, np.ndarray], n_documents: int) -> dict[str, np.ndarray]:
        """Which nodes have equal columns."""
        nodes, shortest = arrays["nodes"], arrays["shortest"]
        tree = kernels.Tree(nodes[:, 0], nodes[:, 2], arrays["level"], arrays["bounds"], arrays["events"])
        keys = RangedTree.of(tree).keys(column_numbers(n_documents), self.empty)
        distinct = self.folder.empty("distinct", (len(nodes),), np.bool_)
        longest_node = self.folder.empty("longest_node", (len(nodes),), np.int32)
        for begin in range(0, len(nodes), COMPARED):
            end = min(begin + COMPARED, len(nodes))
            longest_node[begin:end] = np.arange(begin, end)
        n_parts = 1
        while n_parts * COMPARED < len(nodes):
            n_parts *= 2
        for p in range(n_parts):
            kernels.equal_columns(keys, nodes[:, 2], shortest, nodes[:, 1], distinct, longest_node, p, n_parts)
        return {"distinct": distinct, "longest_node": longest_node}


@dataclass(frozen=True)
class ShardWork:
    """One shard of a building, in a file."""

    building: Building
    text: RankedText
    suffixes: Suffixes
    shard: Shard
    path: Path

    def make(self) -> None:
        """Write the nodes, if they are not there."""
        if self.path.is_file():
            return
        building = self.building
        part = nodes_of_shard(self.text, self.suffixes, self.shard, building.min_df, building.max_length)
        with writing(self.path) as file:
            np.savez(file, **part._asdict())

    def nodes(self) -> ShardNodes:
        """The nodes that have been written; made again if the file is damaged."""
        try:
            with self.path.open("rb") as file, np.load(file) as arrays:
                return ShardNodes(**arrays)
        except (OSError, ValueError, TypeError, zipfile.BadZipFile, zlib.error):
            self.path.unlink(missing_ok=True)
            self.make()
            return self.nodes()


def scratch(folder: Path, shape: Any, dtype: Any) -> np.ndarray:
    """Room in a file without a name, which goes when the array goes."""
    if np.prod(shape, dtype=np.int64) == 0:
        return np.empty(shape, dtype)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as file:
        return np.asarray(np.memmap(file, dtype, "w+", shape=shape))


def array_in_file(path: Path, dtype: np.dtype, shape: tuple[int, ...], mode: Any) -> np.ndarray:
    """The array in a file; an empty one is in memory."""
    if 0 in shape:
        return np.empty(shape, dtype)
    return np.asarray(np.memmap(path, dtype, mode, shape=shape))


def checksum(path: Path) -> int:
    """The CRC-32 of a file."""
    crc = 0
    with path.open("rb") as file:
        while block := file.read(READ_AT_A_TIME):
            crc = zlib.crc32(block, crc)
    return crc


def require_room_for_index(folder: Path, n_symbols: int, min_df: int) -> None:
    """Raise a ValueError if a folder has no room for an index."""
    needed = n_symbols * (2 + 2 * (BYTES_OF_SYMBOL + BYTES_OF_NODE // max(min_df, 1)))
    free = disk_usage(folder).free
    if needed > free:
        raise ValueError(
            f"{folder} has {free / 1e9:.1f} GB of room, and the index of {n_symbols:,} symbols may need "
            f"{needed / 1e9:.1f} GB. Give a folder on another disk, or a larger min_df."
        )


def this_host() -> str:
    """The name of this machine."""
    return platform.node()


def is_running(pid: int) -> bool:
    """Whether there is such a process on this machine."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
