"""Searches by the workers of a cluster, each of which reads the files of the index."""

from __future__ import annotations

import platform
import secrets
import weakref
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..index.ngrams import NgramIndex
from ..index.on_disk import (
    OWNER_FILE,
    SHARDS,
    IndexFolder,
    is_of_dead,
    mapped_array,
    owner_note,
    save_array,
    shard_folder,
)
from ..index.places import Dask
from ..index.storage import OPENING, UNREADABLE, SharedFolder, StorageError
from ..index.sums import RangedTree, TreeSums
from .kernels import EQUAL, FREE, NodeQuery
from .ranges import RangedSearch, RangeFindings, findings_of_range

#: Arrays that do not change during a search, in files of these names.
SEARCH_ARRAYS = ("searched", "inverse_weights", "starts", "open_nodes", "n_levels")
#: Searches whose files a worker keeps open: the blocks of n-grams of a component take turns.
N_OPEN = 4


class RangeTask(NamedTuple):
    """A range to search, as it is sent to a worker: what is large is in files.

    Attributes
    ----------
    index_folder, search_folder : SharedFolder
        Folders of the index and of the search.
    lanes : str
        The file of the residuals.
    unit : float or float64 (LANES)
    r, label : int
        The range, and the first label of the residuals.
    nodes, rows : int64
        The active nodes of the range, and their rows.
    query : NodeQuery
        Without what follows from the other fields: penalty weights and rows of all nodes.
    """

    index_folder: SharedFolder
    search_folder: SharedFolder
    lanes: str
    unit: Any
    r: int
    label: int
    nodes: np.ndarray
    rows: np.ndarray
    query: NodeQuery


class ClusterSearch(RangedSearch):
    """Searches whose ranges are read by the workers of a cluster.

    Traffic with a storage: the index, 1 byte a node and the penalty weights, once to each worker; and for each pass, 8
    bytes for each document and label (of two to seven, as of eight) to the storage, and from there to each worker.

    Arguments are those of :class:`.search.Search`, with an index in files of the place. What searches of processes that
    were killed have left there is deleted.
    """

    def __init__(self, index: NgramIndex, inverse_weights: np.ndarray, row_of_node: np.ndarray, place: Dask) -> None:
        super().__init__(index, inverse_weights, row_of_node, place.empty)
        assert index.folder is not None
        self.place = place
        self.index_folder = place.shared(index.folder.name)
        for owner in self.index_folder.path.glob(f"search-*/{OWNER_FILE}"):
            if is_of_dead(owner):
                self.index_folder.below(owner.parent.name).remove()
        self.folder = self.index_folder.below(f"search-{secrets.token_hex(8)}")
        self.folder.path.mkdir()
        (self.folder.path / OWNER_FILE).write_bytes(owner_note())
        self._finalizer = weakref.finalize(self, self.folder.remove)
        ranged = index.ranged
        arrays = (row_of_node != EQUAL, inverse_weights, ranged.starts, self._open_nodes, ranged.n_levels)
        for name, array in zip(SEARCH_ARRAYS, arrays, strict=True):
            save_array(self.folder.path / f"{name}.npy", array)
        self.folder.publish(*(f"{name}.npy" for name in SEARCH_ARRAYS))

    def _search_ranges(
        self, chosen: Sequence[int], sums: TreeSums, label: int, query: NodeQuery, n_threads: int
    ) -> list[RangeFindings]:
        if not chosen:
            return []
        lanes = self.folder.path / f"lanes-{secrets.token_hex(8)}.npy"
        save_array(lanes, sums.lanes)
        self.folder.publish(lanes.name)
        folders = self.index_folder.for_workers(), self.folder.for_workers()
        ranges = np.searchsorted(self.index.ranged.starts, self._nodes, side="right") - 1
        small = query._replace(inverse_weights=np.empty((0, 0), np.float32), row_of_node=np.empty(0, np.int32))
        tasks = [
            RangeTask(
                *folders, lanes.name, sums.unit, r, label, self._nodes[ranges == r], self._rows[ranges == r], small
            )
            for r in chosen
        ]
        try:
            return list(self.place.run(findings_of_task, [(task,) for task in tasks]))
        finally:
            lanes.unlink(missing_ok=True)
            self.folder.unpublish(lanes.name)


@lru_cache(maxsize=N_OPEN)
def search_files(index_folder: SharedFolder, search_folder: SharedFolder) -> tuple[RangedTree, np.ndarray, np.ndarray]:
    """The nodes in ranges, which of them are searched, and 1 / λ: opened once while not too many others are."""
    shard_folder.cache_clear()  # frees files that have been deleted
    index_folder.drop_copies(SHARDS)
    index_folder.drop_copies("search-*", keep=search_folder.path.name)
    arrays = [array_of_search(search_folder, f"{name}.npy") for name in SEARCH_ARRAYS]
    searched, inverse_weights, starts, open_nodes, n_levels = arrays
    by_range = np.split(open_nodes, np.searchsorted(open_nodes, starts[1:-1]))
    tree = IndexFolder(index_folder).open().tree
    return RangedTree(tree, starts, tuple(by_range), int(n_levels)), searched, inverse_weights


def array_of_search(folder: SharedFolder, name: str) -> np.ndarray:
    """An array that the process that trains has written; a ValueError if it cannot be read here."""
    try:
        return folder.read(name, mapped_array)
    except StorageError:
        raise
    except UNREADABLE as error:
        raise ValueError(
            f"{folder.path / name} cannot be read on {platform.node()}: {error}. Workers of a cluster must see this "
            f"folder under the same path, unless they have a storage."
        ) from error


def findings_of_task(task: RangeTask) -> RangeFindings:
    """What a range has, computed from files: the same wherever it is."""
    with OPENING:
        ranged, searched, inverse_weights = search_files(task.index_folder, task.search_folder)
        task.search_folder.drop_copies("lanes-*", keep=task.lanes)
        lanes = array_of_search(task.search_folder, task.lanes)
    begin, end = ranged.starts[task.r : task.r + 2].tolist()
    rows = np.where(searched[begin:end], FREE, EQUAL).astype(np.int32)
    rows[task.nodes - begin] = task.rows
    query = task.query._replace(inverse_weights=inverse_weights[begin:end], row_of_node=rows)
    sums = TreeSums(ranged, lanes, np.atleast_1d(task.unit))
    findings = findings_of_range(sums, task.r, task.label, query, ranged.tree.df[begin:end], begin)
    found = findings.found._replace(keys=findings.found.keys + begin * query.n_labels)
    return findings._replace(found=found)
