"""Graphs of features, and the matrices of their network penalties."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..files import write_whole
from . import storage
from .storage import EdgeMatrices
from .vocabulary import CorpusVocabulary, Vertex

#: Largest weight of an edge: sums of weights must be finite.
MAX_WEIGHT = 1e300
#: Smallest weight of an edge in a file: one over it must be finite.
MIN_WEIGHT = 1 / MAX_WEIGHT


@dataclass(frozen=True, eq=False)
class FeatureGraph:
    """Which features are expected to have similar weights, and which opposite ones.

    The penalty of Sandler, Talukdar, Ungar & Blitzer (NIPS 2008) for the weights w of a label is

        alpha ||(I - P) w||² + gamma ||(I + Q) w||²

    with P and Q the two adjacency matrices, rows scaled to sum to one: a weight is pulled towards the weighted mean of
    its neighbours' and minus that of its opposites'. An edge i -> j acts on the weight of i. *Virtual* vertices are
    classes of features with an unknown mean: no document has them, they have no penalty of their own, and members
    have an edge to them. A feature with several edges, to classes or to features, is pulled towards their mean.

    Attributes
    ----------
    vertices : tuple of tuples of strings, n
        The names of a feature's symbols; for a virtual vertex, any name. No two are equal in name and kind.
    virtual : bool (n,)
    similar, dissimilar : csr_array, float64 (n, n)
        Raw weights, above 0 and at most ``MAX_WEIGHT`` where stored, without self loops. Edges have a direction.
    report : dict
        ``vertices``, ``virtual``, ``edges`` (by kind; one of both directions counts twice), ``coverage`` of the
        corpus's vocabulary, counts of what was ``skipped``, and entries of the builder. Values can be written as JSON.

    Raises
    ------
    ValueError
        If a graph violates this. Stored zeros are dropped and duplicate entries are summed.
    """

    vertices: tuple[Vertex, ...]
    virtual: np.ndarray
    similar: sparse.csr_array
    dissimilar: sparse.csr_array
    report: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = len(self.vertices)
        if self.virtual.shape != (n,) or self.virtual.dtype != np.bool_:
            raise ValueError(
                f"{n} vertices need as many booleans for virtual, but it is {self.virtual.dtype} {self.virtual.shape}"
            )
        if len(set(zip(self.vertices, self.virtual.tolist(), strict=True))) < n or () in self.vertices:
            raise ValueError("Vertices must have names that differ, of one symbol or more each")
        for name in ("similar", "dissimilar"):
            object.__setattr__(self, name, adjacency_matrix(name, getattr(self, name), n))

    @property
    def n_vertices(self) -> int:
        """The number of vertices, virtual ones included."""
        return len(self.vertices)

    def features(self) -> list[Vertex]:
        """The vertices that are not virtual, in their order."""
        return [vertex for vertex, virtual in zip(self.vertices, self.virtual.tolist(), strict=True) if not virtual]

    def row_normalised(self) -> EdgeMatrices:
        """P and Q. Rows sum to one, or are empty where a vertex has no edge of the kind."""
        return normalised_rows(self.similar), normalised_rows(self.dissimilar)

    def penalty_rows(self) -> EdgeMatrices:
        """A and B of the penalty alpha ||A w||² + gamma ||B w||²: rows of I - P and of I + Q, float64 (n, n).

        Where a row of P or Q is empty, the row of I alone would be a ridge on vertices without edges and on virtual
        vertices. In the paper every row sums to one, so the question does not arise. Here such vertices have no
        penalty: their rows in A or B are empty, too.
        """
        P, Q = self.row_normalised()
        A = sparse.diags_array(has_edges(P)) - P
        B = sparse.diags_array(has_edges(Q)) + Q
        return sparse.csr_array(A), sparse.csr_array(B)

    def tikhonov_matrix(self, alpha: float, gamma: float, kind: str, unlinked: str = "free") -> sparse.csr_array:
        """The Tikhonov matrix R of the penalty ‖R w‖²: float64 (rows, n).

        Parameters
        ----------
        alpha, gamma : float
            Strengths of the similar and of the dissimilar edges.
        kind : str
            ``mean``: a row a vertex, of A and of B (:meth:`penalty_rows`). ``laplacian``: a row an edge, such that
            RᵀR = α L + γ S with wᵀL w = ½ Σ_ij similar_ij (w_i - w_j)² and wᵀS w = ½ Σ_ij dissimilar_ij (w_i + w_j)²;
            directions are ignored: (A + Aᵀ) / 2 replaces A. ``normalised_laplacian``: the same with w_i / √d_i in the
            place of w_i, where d_i is the sum of the weights of i's edges of the kind.
        unlinked : str
            ``free``: as :meth:`penalty_rows`. ``to_zero``: features without a similar edge keep their row of I.
        """
        if kind == "mean":
            A, B = self.penalty_rows()
        else:
            A, B = (
                incidence(symmetrised(edges), sign, kind == "normalised_laplacian")
                for edges, sign in ((self.similar, -1.0), (self.dissimilar, 1.0))
            )
        rows = [np.sqrt(alpha) * A, np.sqrt(gamma) * B]
        if unlinked == "to_zero":
            linked = has_edges(self.similar if kind == "mean" else symmetrised(self.similar)).astype(np.bool_)
            rows.append(sparse.diags_array(np.sqrt(alpha) * (~linked & ~self.virtual)))
        return sparse.vstack(rows, format="csr")

    def restricted_to(self, vertices: Iterable[Vertex] | CorpusVocabulary) -> FeatureGraph:
        """The graph without features that are not in the corpus, and without virtual vertices that have no member left.

        A virtual vertex has a member if an edge of either kind joins it to a feature that is kept, or a similar edge to
        a virtual vertex that has one: classes are no members of their opposites. Vertices without an edge that is left
        are left out, too. The report is new, except for the counts of what the builder skipped and the entries of the
        builder.
        """
        vocabulary = CorpusVocabulary.of(vertices)
        kept = ~self.virtual & np.array([vertex in vocabulary.numbers for vertex in self.vertices], np.bool_)
        n_lacking = int((~kept & ~self.virtual).sum())
        kept |= self.virtual & (symmetrised(self.dissimilar) @ kept.astype(np.float64) > 0.0)
        linked = symmetrised(self.similar)
        n_before = -1
        while n_before < (n_before := int(kept.sum())):
            kept |= self.virtual & (linked @ kept.astype(np.float64) > 0.0)
        skipped = {**self.report.get("skipped", {}), "vertices_not_in_corpus": n_lacking}
        return self.linked(len(vocabulary.vertices), skipped, kept)

    def within(self, vocabulary: CorpusVocabulary) -> FeatureGraph:
        """The graph itself, or if it has features that are not in the corpus, restricted to it.

        Builders of other packages may return such features.
        """
        is_within = all(vertex in vocabulary.numbers for vertex in self.features())
        return self if is_within else self.restricted_to(vocabulary)

    @property
    def skipped_text(self) -> str:
        """What its builders skipped, with counts, to be read; ``nothing`` if all was taken."""
        counts = self.report.get("skipped", {})
        return ", ".join(f"{reason} {n:,}" for reason, n in counts.items() if n) or "nothing"

    def linked(
        self, n_vocabulary: int, skipped: Mapping[str, int], kept: np.ndarray | slice = slice(None)
    ) -> FeatureGraph:
        """The graph over those vertices, of all or of some (bool), that have an edge to or from another of them."""
        matrices = self.similar, self.dissimilar
        has_edge = ends_of_edges(*(matrix[kept][:, kept] for matrix in matrices))
        chosen = np.arange(self.n_vertices)[kept][has_edge]
        similar, dissimilar = (matrix[chosen][:, chosen] for matrix in matrices)
        virtual = self.virtual[chosen]
        report = graph_report(virtual, similar, dissimilar, n_vocabulary, skipped)
        more = {key: value for key, value in self.report.items() if key not in report}
        vertices = tuple(self.vertices[i] for i in chosen.tolist())
        return FeatureGraph(vertices, virtual, similar, dissimilar, {**report, **more})

    def scaled(self, factor: float, normalise: bool = False) -> FeatureGraph:
        """All weights times a factor; if ``normalise``, first divided by the sums of their rows, kind by kind."""
        matrices = self.row_normalised() if normalise else (self.similar, self.dissimilar)
        with np.errstate(over="ignore"):  # infinite weights are refused
            similar, dissimilar = (sparse.csr_array(matrix * factor) for matrix in matrices)
        return FeatureGraph(self.vertices, self.virtual, similar, dissimilar, self.report)

    def to_bytes(self) -> bytes:
        """Return the graph in the format of :mod:`spacy_graft.graphs.storage`."""
        return storage.pack_graph(self.vertices, self.virtual, (self.similar, self.dissimilar), self.report)

    @classmethod
    def from_bytes(cls, data: bytes) -> FeatureGraph:
        """Return the graph of these bytes; raise a ValueError if they are no complete graph. Executes no code."""
        vertices, virtual, matrices, report = storage.unpack_graph(data)
        return cls(vertices, virtual, *matrices, report)

    def to_disk(self, path: str | Path) -> None:
        """Write the file atomically: completely or not at all."""
        write_whole(Path(path), self.to_bytes(), compress=False)

    @classmethod
    def from_disk(cls, path: str | Path) -> FeatureGraph:
        """Read a file; raise a ValueError that names it if it is no graph."""
        try:
            return cls.from_bytes(Path(path).read_bytes())
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error


def graph_by(builder: Any, vocabulary: CorpusVocabulary, what: str) -> FeatureGraph:
    """The graph that a builder makes of a vocabulary; a ValueError about ``what`` if it is none, or makes no graph."""
    graph = builder(vocabulary) if callable(builder) and not isinstance(builder, type) else None
    if not isinstance(graph, FeatureGraph):
        raise ValueError(
            f"{what} must be a graph builder, which makes a FeatureGraph of a CorpusVocabulary, such as "
            f"EdgeList('edges.tsv'), but is {builder!r:.100}."
        )
    return graph


def adjacency_matrix(name: str, matrix: Any, n: int) -> sparse.csr_array:
    """A copy of the matrix in float64, canonical; a ValueError if it is no adjacency matrix of n vertices."""
    if matrix.shape != (n, n):
        raise ValueError(f"{n} vertices do not fit {name} edges of the shape {matrix.shape}")
    copy = sparse.csr_array(matrix, dtype=np.float64, copy=True)
    copy.check_format(full_check=True)
    if not ((copy.data >= 0.0) & (copy.data <= MAX_WEIGHT)).all():
        raise ValueError(f"Weights of {name} edges must be finite and not negative, and {MAX_WEIGHT:g} at most")
    copy.sum_duplicates()
    copy.eliminate_zeros()
    if copy.diagonal().any():
        raise ValueError(f"Vertices must not have {name} edges to themselves")
    return copy


def graph_report(
    virtual: np.ndarray,
    similar: sparse.csr_array,
    dissimilar: sparse.csr_array,
    n_vocabulary: int,
    skipped: Mapping[str, int],
) -> dict[str, Any]:
    """The report of a graph for a corpus of ``n_vocabulary`` features."""
    n_covered = int((ends_of_edges(similar, dissimilar) & ~virtual).sum())
    return {
        "vertices": len(virtual),
        "virtual": int(virtual.sum()),
        "edges": {"similar": similar.nnz, "dissimilar": dissimilar.nnz},
        "coverage": {
            "vocabulary": n_vocabulary,
            "covered": n_covered,
            "share": n_covered / n_vocabulary if n_vocabulary else 0.0,
        },
        "skipped": dict(skipped),
    }


def build_graph(
    vocabulary: CorpusVocabulary,
    similar: sparse.sparray,
    dissimilar: sparse.sparray,
    classes: Sequence[Vertex] = (),
    skipped: Mapping[str, int] | None = None,
    report: Mapping[str, Any] | None = None,
) -> FeatureGraph:
    """The graph of a builder, with its report: the features and virtual ``classes`` that have edges.

    Parameters
    ----------
    similar, dissimilar : sparse (n_features + n_classes, n_features + n_classes)
        Edges from a class to a feature are left out: members do not act on the weight of a class.
    report : dict, optional
        Further entries of the report.
    """
    n = len(vocabulary.vertices)
    virtual = np.arange(n + len(classes)) >= n
    matrices = members_to_classes(similar, n), members_to_classes(dissimilar, n)
    graph = FeatureGraph((*vocabulary.vertices, *classes), virtual, *matrices, dict(report or {}))
    return graph.linked(n, skipped or {})


def merge_graphs(
    graphs: Sequence[FeatureGraph], n_vocabulary: int, report: Mapping[str, Any] | None = None
) -> FeatureGraph:
    """The union of graphs: all edges and vertices.

    Weights of an edge that several graphs have are summed. Vertices that are dissimilar in one graph are not similar,
    whatever their edges in others. Counts of what the graphs skipped are summed, too. ``report`` has further entries.
    """
    keys = list(dict.fromkeys(key for graph in graphs for key in vertex_keys(graph)))
    numbers = {key: number for number, key in enumerate(keys)}
    similar = dissimilar = sparse.csr_array((len(keys), len(keys)))
    skipped: Counter[str] = Counter()
    for graph in graphs:
        places = np.array([numbers[key] for key in vertex_keys(graph)], np.int64)
        similar += renumbered(graph.similar, places, len(keys))
        dissimilar += renumbered(graph.dissimilar, places, len(keys))
        skipped.update(graph.report.get("skipped", {}))
    contradictory = similar.multiply(pattern(symmetrised(dissimilar)))
    skipped["similar_edges_of_opposites"] += contradictory.nnz
    virtual = np.array([is_virtual for _, is_virtual in keys], np.bool_)
    vertices = tuple(vertex for vertex, _ in keys)
    graph = FeatureGraph(vertices, virtual, similar - contradictory, dissimilar, dict(report or {}))
    return graph.linked(n_vocabulary, skipped)


def vertex_keys(graph: FeatureGraph) -> list[tuple[Vertex, bool]]:
    """The keys of a graph's vertices: name and kind."""
    return list(zip(graph.vertices, graph.virtual.tolist(), strict=True))


def renumbered(matrix: sparse.csr_array, places: np.ndarray, n: int) -> sparse.csr_array:
    """The matrix with row and column i moved to ``places[i]`` of n."""
    entries = matrix.tocoo()
    return sparse.csr_array((entries.data, (places[entries.row], places[entries.col])), shape=(n, n))


def members_to_classes(matrix: sparse.sparray, n: int) -> sparse.csr_array:
    """The matrix without edges from classes (vertices from ``n`` on) to members (vertices before ``n``)."""
    if n == matrix.shape[0]:
        return sparse.csr_array(matrix)
    entries = matrix.tocoo()
    kept = (entries.row < n) | (entries.col >= n)
    return sparse.csr_array((entries.data[kept], (entries.row[kept], entries.col[kept])), shape=matrix.shape)


def relation_matrix(n: int, sources: np.ndarray, targets: np.ndarray) -> sparse.csr_array:
    """A relation between n things as a matrix (n, n) of ones."""
    return sparse.csr_array((np.ones(len(sources)), (sources, targets)), shape=(n, n))


def symmetrised(matrix: sparse.csr_array) -> sparse.csr_array:
    """(A + Aᵀ) / 2."""
    return sparse.csr_array((matrix + matrix.T) * 0.5)


def pattern(matrix: sparse.csr_array) -> sparse.csr_array:
    """1 where there is an entry."""
    return sparse.csr_array(matrix != 0.0, dtype=np.float64)


def has_edges(matrix: sparse.csr_array) -> np.ndarray:
    """1 for each row that has an entry, else 0: float64 (n,)."""
    return (np.diff(matrix.indptr) > 0).astype(np.float64)


def ends_of_edges(*matrices: sparse.csr_array) -> np.ndarray:
    """Whether each vertex has an edge, of any of the matrices and in either direction: bool (n,)."""
    found = np.zeros(matrices[0].shape[0], np.bool_)
    for matrix in matrices:
        found |= np.diff(matrix.indptr) > 0
        found[matrix.indices] = True
    return found


def normalised_rows(matrix: sparse.csr_array) -> sparse.csr_array:
    """Rows divided by their sums, and first by their largest entries, so that no sum overflows."""
    n = matrix.shape[0]
    rows = np.repeat(np.arange(n), np.diff(matrix.indptr))
    largest = np.zeros(n)
    np.maximum.at(largest, rows, matrix.data)
    fractions = matrix.data / largest[rows]
    sums = np.bincount(rows, fractions, minlength=n)
    return sparse.csr_array((fractions / sums[rows], matrix.indices, matrix.indptr), shape=matrix.shape)


def incidence(edges: sparse.csr_array, sign: float, normalised: bool) -> sparse.csr_array:
    """A row √e_ij (w_i + sign w_j) for each edge of a symmetric matrix: float64 (edges, n)."""
    upper = sparse.triu(edges, k=1).tocoo()
    roots, rows = np.sqrt(upper.data), np.arange(upper.nnz)
    entries = (np.concatenate([roots, sign * roots]), (np.tile(rows, 2), np.concatenate([upper.row, upper.col])))
    matrix = sparse.csr_array(entries, shape=(upper.nnz, edges.shape[0]))
    if not normalised:
        return matrix
    degrees = edges.sum(axis=1)
    scale = np.sqrt(np.divide(1.0, degrees, out=np.zeros_like(degrees), where=degrees > 0.0))
    return sparse.csr_array(matrix @ sparse.diags_array(scale))
