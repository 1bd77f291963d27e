"""Graphs from files: lists of edges, and graphs that were built before."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..files import text_lines
from ..options import check_flags, check_path
from ..registry import graph_builder
from .graph import MAX_WEIGHT, MIN_WEIGHT, FeatureGraph, build_graph
from .vocabulary import CorpusVocabulary, Vertex


class EdgeTable(NamedTuple):
    """The lines of a file that are not empty.

    Attributes
    ----------
    names : list of str
        The columns of features, each text once, in the order in which they come.
    ends : int64 (n_lines, 2)
        The two columns of each line, by their numbers among ``names``.
    weights : float64 (n_lines)
    lines : int64 (n_lines)
        Their numbers in the file.
    """

    names: list[str]
    ends: np.ndarray
    weights: np.ndarray
    lines: np.ndarray


@graph_builder("spacy_graft.EdgeList.v1")
@dataclass(frozen=True)
class EdgeList:
    """Edges from a table of features and weights.

    A line has two features and a weight, separated by tabs. A negative weight makes the features dissimilar. The
    symbols of an n-gram are separated by spaces: ``not good``. A line whose features are not both in the corpus is
    skipped, and so are edges of a feature to itself, and those of weight 0. Empty lines are allowed.

    Parameters
    ----------
    path : str or Path
        A file in UTF-8; compressed if its name ends in ``.gz``.
    directed : bool
        Whether a line is an edge from the first feature to the second only. Such an edge acts on the weight of the
        first.
    virtual : str
        Prefix of the names of virtual vertices; empty if there are none. They need not be in the corpus. Edges
        between a feature and a virtual vertex always go from the feature.

    Raises
    ------
    ValueError
        If an option has a value of another type.
    FileNotFoundError
        When called, if there is no file.
    """

    path: str | Path
    directed: bool = False
    virtual: str = ""

    def __post_init__(self) -> None:
        check_path("EdgeList", self.path)
        check_flags("EdgeList", directed=self.directed)
        prefix: Any = self.virtual
        if not isinstance(prefix, str):
            raise ValueError(f"EdgeList: virtual must be a string, but is {prefix!r}")

    def __call__(self, vocabulary: CorpusVocabulary | Iterable[Vertex]) -> FeatureGraph:
        """Return the graph over the features of a corpus. Memory: about 170 bytes a line, and the names.

        Raises
        ------
        ValueError
            If a line does not have three columns, its weight is not a number or out of range, or an earlier line has
            another weight for the same edge. The message has the number of the line.
        """
        features = CorpusVocabulary.of(vocabulary)
        return build_graph(features, *self._edges(features))

    def _edges(
        self, features: CorpusVocabulary
    ) -> tuple[sparse.csr_array, sparse.csr_array, list[Vertex], dict[str, int]]:
        """Similar and dissimilar edges, the virtual vertices, and the counts of lines that are skipped."""
        table = self._table()
        classes: dict[Vertex, int] = {}
        numbers = np.array([self._vertex(name, features, classes) for name in table.names], np.int64)
        n_features, n = len(features.vertices), len(features.vertices) + len(classes)
        ends = numbers[table.ends]
        known = (ends >= 0).all(axis=1)
        loops = known & (ends[:, 0] == ends[:, 1])
        skipped = {
            "unknown_features": int((~known).sum()),
            "self_loops": int(loops.sum()),
            "zero_weights": int((known & ~loops & (table.weights == 0.0)).sum()),
        }
        from_class = (ends[:, 0] >= n_features) & (ends[:, 1] < n_features)
        ends[from_class] = ends[from_class, ::-1]
        # Those of weight 0 as well: a line may contradict them.
        rows = np.flatnonzero(known & ~loops)
        first = rows[self._first_of_edges(table, ends, rows, n)]
        weights = table.weights[first]
        similar, dissimilar = (
            weight_matrix(ends[first[chosen]], weights[chosen], n, self.directed)
            for chosen in (weights > 0.0, weights < 0.0)
        )
        return similar, dissimilar, list(classes), skipped

    def features(self) -> CorpusVocabulary:
        """Return the features of the table, in alphabetical order: the vocabulary without a corpus.

        Raises
        ------
        ValueError
            If a line does not have three columns, or its weight is not a number or out of range.
        """
        return CorpusVocabulary.of(
            sorted({tuple(name.split()) for name in self._table().names if not self._is_class(name)})
        )

    def _table(self) -> EdgeTable:
        """Read the file. Memory: 32 bytes a line, and the names."""
        names: dict[str, int] = {}
        ends, weights, lines = array("q"), array("d"), array("q")
        for line, text in text_lines(existing_file(self.path)):
            if not text.strip():
                continue
            columns = text.split("\t")
            if len(columns) != 3:
                raise self._bad(line, f"there must be 3 columns, separated by tabs, but there are {len(columns)}")
            try:
                weight = float(columns[2])
            except ValueError as error:
                raise self._bad(line, f"the weight {columns[2]!r} is not a number") from error
            if weight and not MIN_WEIGHT <= abs(weight) <= MAX_WEIGHT:
                raise self._bad(
                    line,
                    f"the weight is {weight}, but must be 0 or from {MIN_WEIGHT:g} to {MAX_WEIGHT:g}, or minus that",
                )
            weights.append(weight)
            for name in columns[:2]:
                if name not in names:
                    if not name.strip():
                        raise self._bad(line, "a feature has no name")
                    names[name] = len(names)
                ends.append(names[name])
            lines.append(line)
        return EdgeTable(
            [*names], np.asarray(ends, np.int64).reshape(-1, 2), np.asarray(weights), np.asarray(lines, np.int64)
        )

    def _is_class(self, name: str) -> bool:
        return bool(self.virtual) and name.strip().startswith(self.virtual)

    def _vertex(self, name: str, features: CorpusVocabulary, classes: dict[Vertex, int]) -> int:
        """The number of a vertex, -1 if it is not in the corpus. Adds virtual ones to ``classes``."""
        vertex = tuple(name.split())
        if self._is_class(name):
            return classes.setdefault(vertex, len(features.vertices) + len(classes))
        return features.numbers.get(vertex, -1)

    def _first_of_edges(self, table: EdgeTable, ends: np.ndarray, rows: np.ndarray, n: int) -> np.ndarray:
        """Where each edge between ``n`` vertices comes first among these rows; all others must have its weight."""
        edges = ends[rows] if self.directed else np.sort(ends[rows], axis=1)
        _, first, edge_of = np.unique(edges @ np.array([n, 1]), return_index=True, return_inverse=True)
        weights = table.weights[rows]
        if (others := np.flatnonzero(weights != weights[first][edge_of])).size:
            row, earlier = rows[others[0]], rows[first[edge_of[others[0]]]]
            raise self._bad(
                table.lines[row],
                f"the edge has the weight {table.weights[row]}, but {table.weights[earlier]} in line "
                f"{table.lines[earlier]}",
            )
        return np.sort(first)

    def _bad(self, line: int, problem: str) -> ValueError:
        return ValueError(f"{self.path}, line {line}: {problem}")


def weight_matrix(edges: np.ndarray, weights: np.ndarray, n: int, directed: bool) -> sparse.csr_array:
    """Absolute weights of edges, int64 (n_edges, 2): float64 (n, n)."""
    matrix = sparse.csr_array((np.abs(weights), (edges[:, 0], edges[:, 1])), shape=(n, n))
    return matrix if directed else sparse.csr_array(matrix + matrix.T)


@graph_builder("spacy_graft.GraphFile.v1")
@dataclass(frozen=True)
class GraphFile:
    """A graph written by :meth:`FeatureGraph.to_disk`, restricted to the features of the corpus.

    Parameters
    ----------
    path : str or Path

    Raises
    ------
    ValueError
        If ``path`` is no path.
    FileNotFoundError
        When called, if there is no file.
    """

    path: str | Path

    def __post_init__(self) -> None:
        check_path("GraphFile", self.path)

    def __call__(self, vocabulary: CorpusVocabulary | Iterable[Vertex]) -> FeatureGraph:
        """Return the graph over the features of a corpus; a ValueError if the file is damaged."""
        return FeatureGraph.from_disk(existing_file(self.path)).restricted_to(vocabulary)


def existing_file(path: str | Path) -> Path:
    """Return the path of a file; raise a FileNotFoundError if it does not exist."""
    if not Path(path).is_file():
        raise FileNotFoundError(
            f"There is no graph at {path}, neither a graph file nor an edge list. In a config, path of the network "
            f"names it."
        )
    return Path(path)
