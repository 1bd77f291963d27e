"""Searches by the workers of a cluster, each of which reads the files of the index."""

from __future__ import annotations

import secrets
import weakref
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from shutil import rmtree
from typing import Any, NamedTuple

import numpy as np

from ..index.ngrams import NgramIndex
from ..index.on_disk import IndexFolder
from ..index.places import Dask
from ..index.sums import RangedTree, TreeSums
from .kernels import EQUAL, FREE, NodeQuery
from .ranges import RangedSearch, RangeFindings, findings_of_range


class RangeTask(NamedTuple):
    """A range to search, as it is sent to a worker: what is large is in files.

    Attributes
    ----------
    index_folder, search_folder : Path
        Folders of the index and of the search.
    lanes : str
        The file of the residuals.
    unit : float or float64 (LANES)
    r, label : int
        The range, and the first label of the residuals.
    nodes, rows : int64
        The active nodes of the range, and their rows.
    active, min_gradient, n_best, n_labels, sign_inverses
        As of :class:`.kernels.NodeQuery`.
    """

    index_folder: Path
    search_folder: Path
    lanes: str
    unit: Any
    r: int
    label: int
    nodes: np.ndarray
    rows: np.ndarray
    active: np.ndarray
    min_gradient: float
    n_best: int
    n_labels: int
    sign_inverses: np.ndarray


class ClusterSearch(RangedSearch):
    """Searches whose ranges are read by the workers of a cluster.

    Parameters
    ----------
    index : NgramIndex
        In files of a folder that the workers share.
    inverse_weights, row_of_node
        As of :class:`.search.Search`.
    place : Dask
    """

    def __init__(self, index: NgramIndex, inverse_weights: np.ndarray, row_of_node: np.ndarray, place: Dask) -> None:
        super().__init__(index, inverse_weights, row_of_node, place.empty)
        assert index.folder is not None
        self.place, self.index_folder = place, index.folder
        self.folder = index.folder / f"search-{secrets.token_hex(8)}"
        self.folder.mkdir()
        self._finalizer = weakref.finalize(self, rmtree, self.folder, ignore_errors=True)
        np.save(self.folder / "searched.npy", row_of_node != EQUAL)
        np.save(self.folder / "inverse_weights.npy", inverse_weights)
        np.save(self.folder / "starts.npy", index.ranged.starts)
        np.save(self.folder / "open_nodes.npy", self._open_nodes)
        np.save(self.folder / "n_levels.npy", index.ranged.n_levels)

    def _search_ranges(
        self, chosen: Sequence[int], sums: TreeSums, label: int, query: NodeQuery, n_threads: int
    ) -> list[RangeFindings]:
        lanes = self.folder / f"lanes-{secrets.token_hex(8)}.npy"
        np.save(lanes, sums.lanes)
        ranges = np.searchsorted(self.index.ranged.starts, self._nodes, side="right") - 1
        tasks = [
            RangeTask(
                self.index_folder, self.folder, lanes.name, sums.unit, r, label, self._nodes[ranges == r],
                self._rows[ranges == r], query.active, query.min_gradient, query.n_best, query.n_labels,
                query.sign_inverses,
            )
            for r in chosen
        ]  # fmt: skip
        try:
            return list(self.place.run(findings_of_task, [(task,) for task in tasks]))
        finally:
            lanes.unlink(missing_ok=True)


class SearchFiles:
    """What a worker keeps open of a search.

    Parameters
    ----------
    index_folder, search_folder : Path
    """

    def __init__(self, index_folder: Path, search_folder: Path) -> None:
        names = ("searched", "inverse_weights", "starts", "open_nodes", "n_levels")
        arrays = [np.asarray(np.load(search_folder / f"{name}.npy", mmap_mode="c")) for name in names]
        self.searched, self.inverse_weights, self.starts, open_nodes, n_levels = arrays
        self.index = IndexFolder(index_folder).open()
        by_range = np.split(open_nodes, np.searchsorted(open_nodes, self.starts[1:-1]))
        self.ranged = RangedTree(self.index.tree, self.starts, tuple(by_range), int(n_levels))


@lru_cache(maxsize=1)
def search_files(index_folder: Path, search_folder: Path) -> SearchFiles:
    """The files, opened once in a process."""
    return SearchFiles(index_folder, search_folder)


def findings_of_task(task: RangeTask) -> RangeFindings:
    """What a range has, computed from files: the same wherever it is."""
    files = search_files(task.index_folder, task.search_folder)
    begin, end = files.starts[task.r : task.r + 2].tolist()
    rows = np.where(files.searched[begin:end], FREE, EQUAL).astype(np.int32)
    rows[task.nodes - begin] = task.rows
    query = NodeQuery(
        files.inverse_weights[begin:end], rows, task.active, task.min_gradient, task.n_best, task.n_labels,
        task.sign_inverses,
    )  # fmt: skip
    lanes = np.asarray(np.load(task.search_folder / task.lanes, mmap_mode="c"))
    sums = TreeSums(files.ranged, lanes, np.atleast_1d(task.unit))
    findings = findings_of_range(sums, task.r, task.label, query, files.index.df[begin:end], begin)
    n_found = int(findings.found.n_candidates[0])
    found = findings.found._replace(
        scaled_gradients=findings.found.scaled_gradients[:n_found],
        keys=findings.found.keys[:n_found] + begin * task.n_labels,
    )
    return findings._replace(found=found)
