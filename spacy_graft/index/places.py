"""Where the indexes of a fit are built and kept, and how many threads search them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import numpy as np

from ..extract.streams import Stream
from ..options import LARGEST_COUNT, can_be_path, is_count
from ..registry import graft_shards, register_call
from ..threads import map_in_threads, n_cores

if TYPE_CHECKING:
    from .ngrams import NgramIndex
    from .storage import SharedFolder

GivenT = TypeVar("GivenT")


@dataclass(frozen=True)
class IndexPlace:
    """Where indexes are built and kept: one of :class:`InMemory`, :class:`OnDisk` and :class:`Dask`.

    Parameters
    ----------
    threads : int
        As of :class:`InMemory`.
    """

    threads: int = 0

    def __post_init__(self) -> None:
        if not is_count(self.threads, least=0):
            name = type(self).__name__
            raise ValueError(f"{name}: threads = {self.threads!r}, but it must be 0 to {LARGEST_COUNT:,}.")

    def __call__(self) -> IndexPlace:
        """The place itself, because registered functions of a config are called."""
        return self

    @property
    def n_threads(self) -> int:
        """The number of threads."""
        return self.threads or n_cores()

    def empty(self, shape: Any, dtype: Any) -> np.ndarray:
        """An uninitialised array of about the size of an index, like that of :func:`numpy.empty`."""
        raise NotImplementedError

    def kept(self, stream: Stream) -> Stream:
        """A part of a stream that is being read, until all parts are joined."""
        raise NotImplementedError

    def index(self, stream: Stream, min_df: int, max_length: int | None) -> NgramIndex:
        """The index of a stream; see :meth:`.ngrams.NgramIndex.build`."""
        raise NotImplementedError


@register_call(graft_shards, "spacy_graft.InMemory.v1")
@dataclass(frozen=True)
class InMemory(IndexPlace):
    """Indexes in memory.

    Parameters
    ----------
    threads : int
        Threads that build and search indexes, and multiply by a network or by all columns. 0 means one for each core.
        The model is the same for any number, to the last bit.

    Raises
    ------
    ValueError
        If an option has no such value.
    """

    def empty(self, shape: Any, dtype: Any) -> np.ndarray:
        """An array like that of :func:`numpy.empty`."""
        return np.empty(shape, dtype)

    def kept(self, stream: Stream) -> Stream:
        """The same part, code points as narrow as they can be."""
        return stream.narrowed

    def index(self, stream: Stream, min_df: int, max_length: int | None) -> NgramIndex:
        """The index of a stream, which is built anew."""
        from .ngrams import NgramIndex  # imports the compiler, which takes a second

        return NgramIndex.build(stream, min_df, max_length, self.n_threads)


@register_call(graft_shards, "spacy_graft.OnDisk.v1")
@dataclass(frozen=True)
class OnDisk(IndexPlace):
    """Indexes in files of a folder. The files are mapped into memory, and a search reads the parts that it needs.

    An index is built shard by shard (:mod:`.on_disk`). After an interruption, the finished shards are used again. A
    second fit of the same texts with the same ``min_df`` and ``max_length`` opens the existing index. The model is the
    same as with indexes in memory, to the last bit.

    Memory: 60 bytes for each of the 8 million symbols of a shard, for each thread (85 where ``min_df`` is 1); and what
    a fit needs for each document and each active feature. Files: 10 bytes a symbol and 37 a node; while shards are made
    and joined, twice that and 10 bytes a symbol more.

    Parameters
    ----------
    threads : int
        As of :class:`InMemory`.
    folder : str
        A folder for the files, on a local disk. You can delete it when training has ended.
    done : callable, optional
        Called after each shard with the number of finished shards and of all shards.

    Raises
    ------
    ValueError
        If an option has no such value.
    """

    folder: str = ""
    done: Callable[[int, int], None] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not can_be_path(self.folder):
            raise ValueError(f"OnDisk: folder = {self.folder!r}, but it must be the path of a folder.")

    def empty(self, shape: Any, dtype: Any) -> np.ndarray:
        """An array in a file without a name, which is deleted with the array."""
        from .on_disk import scratch

        return scratch(Path(self.folder), shape, dtype)

    def kept(self, stream: Stream) -> Stream:
        """The same part, in a file without a name."""
        symbols = self.empty(stream.symbols.shape, stream.symbols.dtype)
        symbols[:] = stream.symbols
        return Stream(symbols, stream.starts)

    def shared(self, name: str) -> SharedFolder:
        """A folder in that of the place."""
        from .storage import SharedFolder

        return SharedFolder(name, Path(self.folder))

    def run(self, function: Callable[..., GivenT], given: Sequence[tuple[Any, ...]]) -> Iterator[GivenT]:
        """Yield the results of a function for each tuple of arguments, in order."""
        return map_in_threads(function, given, self.n_threads)

    def index(self, stream: Stream, min_df: int, max_length: int | None) -> NgramIndex:
        """The index that is in the folder, or one that is built there.

        Raises
        ------
        ValueError
            If the disk is full, another process is building the same index there, or its files are damaged.
        """
        from .on_disk import index_in_folder

        return index_in_folder(self, stream, min_df, max_length)


@register_call(graft_shards, "spacy_graft.Dask.v1")
@dataclass(frozen=True)
class Dask(OnDisk):
    """Indexes in files, built and searched by the workers of a Dask cluster.

    The workers compute pure functions of files. The folder must have the same path on all of them, or ``storage`` must
    be given. If a worker is lost, another one repeats its task. If the cluster is lost, run the same command again: it
    continues after the finished shards. The model is the same, to the last bit.

    Memory: as of :class:`OnDisk`, for each worker. With ``storage``, each worker has copies of the files that it reads
    in its local directory (10 bytes a symbol, 37 a node) until it ends, and the storage has as much. Each of them gets
    these bytes once, and for each pass of a search 8 bytes for each document and label (of two to seven, as of eight).

    Parameters
    ----------
    threads : int
        Threads of this process and, without a scheduler, number of workers on this machine. 0 means one for each core.
    folder : str
        A folder that this process and all workers share; with ``storage``, one that this process alone needs.
    done : callable, optional
    scheduler : str
        The address of a scheduler. If it is empty, a cluster of processes is started on this machine.
    storage : str
        The URL of a folder that fsspec can reach from all machines (``s3://bucket/index``), for workers that do not see
        ``folder``. fsspec reads credentials from the environment. Delete the folder when training has ended.

    Raises
    ------
    ValueError
        If an option has no such value.
    """

    scheduler: str = ""
    storage: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        for option in ("scheduler", "storage"):
            if not isinstance(value := getattr(self, option), str):
                raise ValueError(f"Dask: {option} = {value!r}, but it must be a string.")
        if self.storage and "://" not in self.storage:
            raise ValueError(f"Dask: storage = {self.storage!r}, but it must be a URL, such as s3://bucket/index.")
        if urlsplit(self.storage).password is not None:
            raise ValueError(
                "Dask: storage has a password, which would be saved with the config of the model. Leave it out, and "
                "give it to fsspec by environment variables or by a file of its configuration."
            )

    def shared(self, name: str) -> SharedFolder:
        """A folder in that of the place, and in the storage."""
        return replace(super().shared(name), storage=self.storage)

    def run(self, function: Callable[..., GivenT], given: Sequence[tuple[Any, ...]]) -> Iterator[GivenT]:
        """Yield the results of a function for each tuple of arguments, in order.

        Raises
        ------
        ValueError
            If the cluster cannot be reached or is lost, or a worker has another version of the package.
        """
        from .on_cluster import map_on_cluster

        return map_on_cluster(self.scheduler, self.n_threads, function, given)
