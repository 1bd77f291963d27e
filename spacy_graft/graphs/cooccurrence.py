"""Graphs of features that occur in the same documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy import sparse

from ..options import check_counts, check_numbers
from ..registry import graph_builder
from .graph import FeatureGraph, build_graph, graph_by, merge_graphs
from .profiles import nearest_profiles
from .vocabulary import CorpusVocabulary, Vertex

Measure = Literal["cosine", "correlation", "profile"]
#: Default number of neighbours and least value by measure: those of the paper.
NEIGHBOURS: dict[str, int] = {"cosine": 25, "correlation": 100, "profile": 100}
MINIMUM: dict[str, float] = {"cosine": 0.10, "correlation": 0.0}
#: Number of features in a call of a kernel. Compiled code cannot be interrupted within a call.
FEATURES_PER_CALL = 1024


@graph_builder("spacy_graft.Cooccurrence.v1")
@dataclass(frozen=True, eq=False)
class Cooccurrence:
    """Edges between features that occur in the same documents.

    Their weight is the similarity of the features' documents. By cosine, a feature has edges to its nearest neighbours.
    By correlation, edges are between features and *seeds*, both ways, where each is among the nearest of the other: the
    seed among all seeds, the feature among all features. By profile, a feature is the vector of its correlations with
    the seeds. Features have an edge of weight 1 if each is among the nearest of the other, by the Euclidean distance of
    their vectors.

    Features are counted and ranked in batches, so that memory does not grow with the number of pairs: about 50 bytes
    for each feature of each document, for each feature and neighbour and, by profile, for each feature and seed.

    Parameters
    ----------
    measure : {"cosine", "correlation", "profile"}
        What is compared: documents, by their cosine or correlation, or vectors of correlations with seeds.
    neighbours : int, optional
        Largest number of neighbours: by default 25 by cosine, 100 otherwise.
    minimum : float, optional
        Least similarity: by default 0.10 by cosine, and anything above 0 by correlation. Not allowed by profile.
    seeds : graph builder, optional
        ``spacy_graft.SentiWordNet.v1`` in the paper. The seeds are the members of the classes of its graph, or all its
        features if there are no classes. Its graph is part of the result. By correlation, all features are seeds by
        default. By profile, seeds are required; by cosine, they are not allowed.

    Raises
    ------
    ValueError
        If an option is out of range.
    """

    measure: Measure = "cosine"
    neighbours: int | None = None
    minimum: float | None = None
    seeds: Callable[[CorpusVocabulary], FeatureGraph] | None = None

    def __post_init__(self) -> None:
        if self.measure not in get_args(Measure):
            measures = ", ".join(get_args(Measure))
            raise ValueError(f"Cooccurrence: there is no measure {self.measure!r}, only {measures}")
        if self.neighbours is not None:
            check_counts("Cooccurrence", neighbours=self.neighbours)
        if self.measure != "profile":
            check_numbers("Cooccurrence", minimum=self._minimum)
        elif self.minimum is not None:
            raise ValueError("Cooccurrence: minimum is allowed only with the measures cosine and correlation")
        if self.seeds is not None and self.measure == "cosine":
            raise ValueError("Cooccurrence: seeds are allowed only with the measures correlation and profile")
        if self.seeds is None and self.measure == "profile":
            raise ValueError("Cooccurrence: the measure profile needs seeds")

    def __call__(self, vocabulary: CorpusVocabulary | Iterable[Vertex]) -> FeatureGraph:
        """Return the graph over the features of a corpus; the report has the number of ``documents``.

        Raises
        ------
        ValueError
            If there are no documents.
        """
        features = CorpusVocabulary.of(vocabulary)
        presence = features.documents("Cooccurrence")
        n = len(features.vertices)
        graph = None if self.seeds is None else graph_by(self.seeds, features, "Cooccurrence: seeds")
        seeds = np.arange(n) if graph is None else seed_numbers(features, graph)
        near = self._edges(presence, seeds)
        absent = n - len(np.unique(presence.indices))
        report = {"documents": presence.shape[0]}
        found = build_graph(features, near, sparse.csr_array((n, n)), (), {"in_no_document": absent}, report)
        return found if graph is None else merge_graphs([graph.within(features), found], n, report)

    def _edges(self, presence: sparse.csr_array, seeds: np.ndarray) -> sparse.csr_array:
        """Weights: float64 (n_features, n_features)."""
        if self.measure == "cosine":
            return self._nearest(presence, seeds, seeds)
        if self.measure == "correlation":
            return self._mutual(presence, seeds)
        near = nearest_profiles(presence, seeds, self._k)
        return sparse.csr_array(near.minimum(near.T))

    @property
    def _k(self) -> int:
        return self.neighbours or NEIGHBOURS[self.measure]

    @property
    def _minimum(self) -> float:
        return MINIMUM[self.measure] if self.minimum is None else self.minimum

    def _mutual(self, presence: sparse.csr_array, seeds: np.ndarray) -> sparse.csr_array:
        """Edges between features and seeds that are neighbours of each other: float64, symmetric."""
        everything = np.arange(presence.shape[1])
        found = self._nearest(presence, everything, seeds)
        mutual = found.minimum(self._nearest(presence, seeds, everything).T)
        return sparse.csr_array(mutual.maximum(mutual.T))

    def _nearest(self, presence: sparse.csr_array, rows: np.ndarray, columns: np.ndarray) -> sparse.csr_array:
        """The nearest of the features ``columns`` to each of ``rows``: float64 (n_features, n_features)."""
        from . import kernels

        n_documents, n = presence.shape
        left, right = presence.T.tocsr()[rows], presence[:, columns]
        df = np.bincount(right.indices, minlength=len(columns))
        own = np.full(n, -1)
        own[columns] = np.arange(len(columns))
        k = min(self._k, max(len(columns), 1))
        best, values = np.empty((len(rows), k), np.int32), np.empty((len(rows), k))
        documents = (right.indptr.astype(np.int64), right.indices.astype(np.int32), df)
        for start in range(0, len(rows), FEATURES_PER_CALL):
            block = slice(start, start + FEATURES_PER_CALL)
            batch = left[block]
            kernels.nearest(
                (batch.indptr.astype(np.int64), batch.indices.astype(np.int32)),
                documents,
                own[rows[block]],
                n_documents,
                self._minimum,
                self.measure == "correlation",
                best[block],
                values[block],
            )
        found = best >= 0
        pairs = (np.repeat(rows, found.sum(axis=1)), columns[best[found]])
        return sparse.csr_array((values[found], pairs), shape=(n, n))


def seed_numbers(features: CorpusVocabulary, graph: FeatureGraph) -> np.ndarray:
    """Numbers of the members of a graph's virtual vertices, or of all its features if it has none: int64, sorted.

    Vertices that are not in the corpus are no seeds.
    """
    chosen = ~graph.virtual
    if graph.virtual.any():
        chosen &= graph.similar @ graph.virtual.astype(np.float64) > 0.0
    named = [graph.vertices[i] for i in np.flatnonzero(chosen).tolist()]
    return np.sort(np.array([features.numbers[vertex] for vertex in named if vertex in features.numbers], np.int64))
