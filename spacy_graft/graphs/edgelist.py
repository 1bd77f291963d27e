"""Graphs from files: lists of edges, and graphs that were built before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..files import text_lines
from ..options import check_flags
from ..registry import graph_builder
from .graph import MAX_WEIGHT, MIN_WEIGHT, FeatureGraph, build_graph
from .vocabulary import CorpusVocabulary, Vertex


class Edge(NamedTuple):
    """An edge between two vertices, by their numbers, and its line in the file."""

    source: int
    target: int
    weight: float
    line: int


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
        """Return the graph over the features of a corpus.

        Raises
        ------
        ValueError
            If a line does not have three columns, its weight is not a number or out of range, or an earlier line has
            another weight for the same edge. The message has the number of the line.
        """
        features = CorpusVocabulary.of(vocabulary)
        skipped = {"unknown_features": 0, "self_loops": 0, "zero_weights": 0}
        classes: dict[Vertex, int] = {}
        edges: dict[tuple[int, int], Edge] = {}
        for line, columns in self._rows():
            edge = self._edge(line, columns, features, classes)
            if reason := reason_to_skip(edge):
                skipped[reason] += 1
            if edge is not None and reason != "self_loops":
                # Those of weight 0 as well: a line may contradict them.
                self._add(edges, edge)
        n = len(features.vertices) + len(classes)
        similar = weight_matrix([edge for edge in edges.values() if edge.weight > 0.0], n, self.directed)
        dissimilar = weight_matrix([edge for edge in edges.values() if edge.weight < 0.0], n, self.directed)
        return build_graph(features, similar, dissimilar, list(classes), skipped)

    def features(self) -> CorpusVocabulary:
        """Return the features of the table, in alphabetical order: the vocabulary without a corpus."""
        named = {tuple(name.split()) for _, columns in self._rows() for name in columns[:2] if not self._is_class(name)}
        return CorpusVocabulary.of(sorted(named - {()}))

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """The columns of the lines that are not empty, with their numbers."""
        for line, text in text_lines(existing_file(self.path)):
            if text.strip():
                columns = text.split("\t")
                if len(columns) != 3:
                    raise self._bad(line, f"there must be 3 columns, separated by tabs, but there are {len(columns)}")
                yield line, columns

    def _is_class(self, name: str) -> bool:
        return bool(self.virtual) and name.strip().startswith(self.virtual)

    def _edge(
        self, line: int, columns: list[str], features: CorpusVocabulary, classes: dict[Vertex, int]
    ) -> Edge | None:
        """The edge of a line, None if a feature is unknown. Adds virtual vertices to ``classes``."""
        try:
            weight = float(columns[2])
        except ValueError as error:
            raise self._bad(line, f"the weight {columns[2]!r} is not a number") from error
        if weight and not MIN_WEIGHT <= abs(weight) <= MAX_WEIGHT:
            raise self._bad(
                line, f"the weight is {weight}, but must be 0 or from {MIN_WEIGHT:g} to {MAX_WEIGHT:g}, or minus that"
            )
        source, target = (self._vertex(line, column, features, classes) for column in columns[:2])
        if source is None or target is None:
            return None
        if source >= len(features.vertices) > target:
            source, target = target, source
        return Edge(source, target, weight, line)

    def _vertex(self, line: int, name: str, features: CorpusVocabulary, classes: dict[Vertex, int]) -> int | None:
        vertex = tuple(name.split())
        if not vertex:
            raise self._bad(line, "a feature has no name")
        if self._is_class(name):
            return classes.setdefault(vertex, len(features.vertices) + len(classes))
        return features.numbers.get(vertex)

    def _add(self, edges: dict[tuple[int, int], Edge], edge: Edge) -> None:
        ends = (edge.source, edge.target)
        key = ends if self.directed else (min(ends), max(ends))
        earlier = edges.setdefault(key, edge)
        if earlier.weight != edge.weight:
            raise self._bad(
                edge.line, f"the edge has the weight {edge.weight}, but {earlier.weight} in line {earlier.line}"
            )

    def _bad(self, line: int, problem: str) -> ValueError:
        return ValueError(f"{self.path}, line {line}: {problem}")


def reason_to_skip(edge: Edge | None) -> str:
    """The reason why an edge is skipped; empty if it is kept."""
    if edge is None:
        return "unknown_features"
    if edge.source == edge.target:
        return "self_loops"
    return "" if edge.weight else "zero_weights"


def weight_matrix(edges: list[Edge], n: int, directed: bool) -> sparse.csr_array:
    """Absolute weights: float64 (n, n)."""
    weights = np.abs(np.array([edge.weight for edge in edges], np.float64))
    pairs = np.array([edge[:2] for edge in edges], np.int64).reshape(-1, 2).T
    matrix = sparse.csr_array((weights, (pairs[0], pairs[1])), shape=(n, n))
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


def check_path(owner: str, path: Any) -> None:
    """Raise a ValueError if the path of a file is neither a string nor a path."""
    if not isinstance(path, str | Path) or path == "":
        raise ValueError(f"{owner}: path must be the path of a file, but is {path!r}")


def existing_file(path: str | Path) -> Path:
    """Return the path of a file; raise a FileNotFoundError if it does not exist."""
    if not Path(path).is_file():
        raise FileNotFoundError(
            f"There is no graph at {path}, neither a graph file nor an edge list. In a config, path of the network "
            f"names it."
        )
    return Path(path)
