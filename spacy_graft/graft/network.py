"""The network of features in the objective (Sandler, Talukdar, Ungar & Blitzer, NIPS 2008).

Beside L1 and ridge the weights w_y of each label pay

    network(w_y) = α ‖(I − P) w_y‖² + γ ‖(I + Q) w_y‖² = ‖R w_y‖²,

or the same with the rows R of a graph Laplacian (:meth:`spacy_graft.graphs.graph.FeatureGraph.tikhonov_matrix`). The
weights z of the virtual vertices, which no document has and nothing else penalises, are always at their best: with
R = [R_f R_z] they are z = −G⁻¹ R_zᵀ R_f w, G = R_zᵀ R_z, and what is left is wᵀ M w over the features,

    M = R_fᵀ R_f − R_fᵀ R_z G⁻¹ R_zᵀ R_f.

A feature of weight 0 is a vertex all the same: that its neighbours have weights costs something, so that the gradient
of a feature outside the model is v − 2 (M w)_k, where v is that of the likelihood.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from ..graphs.graph import FeatureGraph, graph_by
from ..graphs.vocabulary import CorpusVocabulary, Vertex
from ..index.items import ItemIndex
from ..messages import warn
from ..solve.coupling import Coupling
from ..solve.design import Matrix, as_lanes
from ..solve.quadratic import LARGEST_BLOCK
from .settings import PenaltySettings

#: What ``@graft_graphs`` make.
NetworkBuilder = Callable[[CorpusVocabulary], FeatureGraph]
#: Ridge of the virtual vertices in the factors of G, in units of its diagonal: classes may have many best weights.
STEADY = 1e-14
#: Steps that take it out of the solution again, at the most, and what of the right-hand side is no more than rounding.
REFINEMENTS, NEGLIGIBLE = 8, 1e-15
#: Largest factor of the square of a weight. Rounding of larger ones hides the likelihood: with six documents and a weak
#: ridge, fits went wrong or did not end from 1e8 on, with sixty from 1e10 on.
LARGEST_DIAGONAL = 1e7


@dataclass(frozen=True, eq=False)
class NamedFeatures:
    """Features that can be vertices.

    Attributes
    ----------
    vertices : tuple of tuples of strings
        Their names.
    blocks, symbols : object (n_features)
        Where they come from: the name of the block, and an array of the symbols there.
    presence : csc_array, float64 (documents, n_features)
        Their values in each document, training documents first. Others, which need no labels, can make a feature
        known that no training document has: its weight is what the network makes of it.
    """

    vertices: tuple[Vertex, ...]
    blocks: np.ndarray
    symbols: np.ndarray
    presence: sparse.csc_array


@dataclass(frozen=True, eq=False)
class Network:
    """A graph over features of a corpus, with the documents of each.

    ``blocks`` names the blocks that the features come from, those of the vertices that are not virtual, in their order:
    object (n_features). ``index`` has their columns, and their symbols in their blocks (``symbols`` has an array for
    each).
    """

    graph: FeatureGraph
    blocks: np.ndarray
    index: ItemIndex

    @classmethod
    def built(cls, builder: NetworkBuilder, features: NamedFeatures, n_documents: int) -> Network:
        """The network that a builder makes of the features of a corpus.

        The training corpus has the first ``n_documents`` of the documents of the features. What the builder raises is
        passed on.

        Raises
        ------
        ValueError
            If two features have one name, or what should be a builder makes no graph.
        """
        vocabulary = CorpusVocabulary(features.vertices, sparse.csr_array(features.presence))
        graph = graph_by(builder, vocabulary, "A network").within(vocabulary)
        chosen = np.array([vocabulary.numbers[vertex] for vertex in graph.features()], np.int64)
        if not len(chosen) or not graph.similar.nnz + graph.dissimilar.nnz:
            warn(
                f"The network has no edge between the {len(features.vertices):,} features of this corpus that could be "
                f"its vertices: no feature is like another. Skipped: {graph.skipped_text}."
            )
        columns = sparse.csc_array(features.presence[:n_documents, chosen])
        columns.sort_indices()
        values = np.empty(0) if (columns.data == 1.0).all() else columns.data.astype(np.float64)
        starts, documents = columns.indptr.astype(np.int64), columns.indices.astype(np.int32)
        index = ItemIndex(features.symbols[chosen], starts, documents, values, n_documents)
        return cls(graph, features.blocks[chosen], index)


class ClassEquations:
    """G z = y for the weights of the virtual vertices, where G = R_zᵀ R_z and y is in the span of R_zᵀ.

    G may be singular: classes that only name one another can have any weight in common. Every solution z has the same
    R_z z, so that any of them will do. It is found by factors of G + S, with a small diagonal S, and refined by
    z ← z + (G + S)⁻¹ (y − G z) until S has no part in it: a step multiplies the error along an eigenvector of S⁻¹ G of
    the value μ by 1 / (1 + μ).

    Parameters
    ----------
    of_classes : csc_array, float64 (rows, classes)
        R_z.
    """

    def __init__(self, of_classes: sparse.csc_array) -> None:
        from scipy.sparse.linalg import splu  # not needed without a network

        self.gram = sparse.csc_array(of_classes.T @ of_classes)
        diagonal = self.gram.diagonal()
        # A class that no row names may have any weight.
        steady = np.where(diagonal > 0.0, STEADY * diagonal, 1.0)
        self.factors = splu(sparse.csc_array(self.gram + sparse.diags_array(steady)))

    def solve(self, y: np.ndarray) -> np.ndarray:
        """A solution: float64, of the shape of ``y`` (classes, ...)."""
        z = self.factors.solve(y)
        before = np.inf
        for _ in range(REFINEMENTS):
            left = y - self.gram @ z
            largest = np.abs(left).max(initial=0.0)
            if largest <= NEGLIGIBLE * np.abs(y).max(initial=0.0) or largest > 0.5 * before:
                break
            z, before = z + self.factors.solve(left), largest
        return np.asarray(z)


def matrix_of_rows(matrix: sparse.csr_array | sparse.csc_array) -> Matrix:
    """The rows of a matrix, or the columns of one that is by columns."""
    return Matrix(matrix.indptr.astype(np.int64), matrix.indices, matrix.data)


class NetworkPenalty:
    """M, as products and between some of the features.

    Memory: 12 bytes an edge four times over. Features of one class are all joined to one another: 12 bytes for each
    pair of those that are in the model.

    ``penalty`` has α, γ and the kind of the rows. Products are the same for any ``n_threads``, to the last bit.

    Raises
    ------
    ValueError
        If strengths and weights of edges are too large together.
    """

    def __init__(self, graph: FeatureGraph, penalty: PenaltySettings, n_threads: int = 1) -> None:
        alpha, unlinked = penalty.network_alpha, penalty.network_unlinked
        factor = graph.tikhonov_matrix(alpha, penalty.network_gamma, penalty.network_kind, unlinked)
        factor = sparse.csc_array(factor[np.diff(factor.indptr) > 0])
        #: What features that are no vertices pay, in units of w².
        self.outside = alpha if unlinked == "to_zero" else 0.0
        self.by_feature = sparse.csc_array(factor[:, np.flatnonzero(~graph.virtual)])
        with np.errstate(over="ignore"):
            #: Of R_fᵀ R_f, no less than that of M: float64 (n_features).
            self.diagonal = np.asarray((self.by_feature**2).sum(axis=0))
        self._require_digits()
        self.rows, self.columns = matrix_of_rows(sparse.csr_array(self.by_feature)), matrix_of_rows(self.by_feature)
        self.of_classes = sparse.csc_array(factor[:, np.flatnonzero(graph.virtual)])
        self.classes = ClassEquations(self.of_classes) if self.of_classes.shape[1] else None
        self.n_threads = n_threads

    def _require_digits(self) -> None:
        largest = self.diagonal.max(initial=0.0)
        if largest > LARGEST_DIAGONAL:
            raise ValueError(
                f"The network is too strong for the digits of numbers: the square of a feature's weight has the factor "
                f"{largest:.3g} in its penalty, but {LARGEST_DIAGONAL:g} is the largest. Lower network_alpha and "
                f"network_gamma, or with network_kind = 'laplacian' the weights of the edges."
            )

    @property
    def n_features(self) -> int:
        return self.columns.n_rows

    def product(self, weights: np.ndarray) -> np.ndarray:
        """M w: float64 (n_features, labels), as ``weights``."""
        rows = self._rows(as_lanes(weights.T, self.n_threads))
        return self.columns.products_of_lanes(rows, weights.shape[1], self.n_threads).T

    def product_of_lanes(self, lanes: np.ndarray) -> np.ndarray:
        """The same of lanes (n_features, width), in their precision."""
        return self.columns.sums(self._rows(lanes), self.n_threads)

    def value(self, weights: np.ndarray) -> float:
        """Σ wᵀ M w over the labels of weights (n_features, labels): ‖R w‖², with the best virtual vertices."""
        return float(np.sum(np.square(self._rows(as_lanes(weights.T, self.n_threads)))))

    def _rows(self, lanes: np.ndarray) -> np.ndarray:
        """R w of lanes: (rows, width)."""
        rows = self.rows.sums(lanes, self.n_threads)
        if self.classes is not None:
            rows -= self.of_classes @ self.classes.solve(np.ascontiguousarray(self.of_classes.T @ rows))
        return rows

    def among(self, features: np.ndarray) -> sparse.csr_array:
        """M between some of the features (int)."""
        rows = self.by_feature[:, features]
        matrix = sparse.csr_array(rows.T @ rows)
        if self.classes is None:
            return matrix
        linked = self.of_classes.T @ rows
        members = np.flatnonzero(np.diff(sparse.csc_array(linked).indptr))
        dense = linked[:, members].toarray()
        shared = sparse.coo_array(dense.T @ self.classes.solve(dense))
        return sparse.csr_array(
            matrix - sparse.csr_array((shared.data, (members[shared.row], members[shared.col])), shape=matrix.shape)
        )

    def coupling(self, features: np.ndarray, labels: np.ndarray, share: float) -> Coupling:
        """What joins pairs of a feature and a label: a matrix as long as it is small enough to precondition by.

        Parameters
        ----------
        features, labels : int (pairs)
            −1 for a feature that is no vertex.
        share : float
            Factor of M, as of the ridge (:class:`spacy_graft.graft.problems.Problem`).
        """
        in_network = np.flatnonzero(features >= 0)
        if len(in_network) and np.bincount(labels[in_network]).max() > LARGEST_BLOCK:
            return self._not_written(features, labels, share, in_network)
        return self.written_coupling(features, labels, share)

    def written_coupling(self, features: np.ndarray, labels: np.ndarray, share: float) -> Coupling:
        """The same, always as a matrix, whose rows coordinate descent needs."""
        outside = sparse.diags_array(share * self.outside * (features < 0))
        in_network = np.flatnonzero(features >= 0)
        if not len(in_network):
            return Coupling.of_matrix(sparse.csr_array(outside))
        chosen, place = np.unique(features[in_network], return_inverse=True)
        matrix = share * self.among(chosen)
        rows, columns, values = [], [], []
        for label in np.unique(labels[in_network]):
            of_label = labels[in_network] == label
            part = matrix[place[of_label]][:, place[of_label]].tocoo()
            rows.append(in_network[of_label][part.row])
            columns.append(in_network[of_label][part.col])
            values.append(part.data)
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        matrix = sparse.csr_array(entries, shape=(len(features), len(features)))
        return Coupling.of_matrix(sparse.csr_array(matrix + outside))

    def _not_written(self, features: np.ndarray, labels: np.ndarray, share: float, in_network: np.ndarray) -> Coupling:
        outside = share * self.outside * (features < 0)
        diagonal = outside.copy()
        diagonal[in_network] = share * self.diagonal[features[in_network]]
        places = labels[in_network] * self.n_features + features[in_network]
        return Coupling(PairsOfNetwork(self, share, outside, in_network, places, int(labels.max()) + 1), diagonal)


@dataclass(frozen=True, eq=False)
class PairsOfNetwork:
    """M over pairs of a feature and a label, not written down.

    Attributes
    ----------
    network : NetworkPenalty
    share : float
        Factor of M.
    outside : float64 (pairs)
        What pairs pay in units of w²: those whose features are no vertices.
    pairs, places : int (pairs of vertices)
        The other pairs, and where they are in an array (labels, n_features).
    n_labels : int
    """

    network: NetworkPenalty
    share: float
    outside: np.ndarray
    pairs: np.ndarray
    places: np.ndarray
    n_labels: int

    def product(self, weights: np.ndarray) -> np.ndarray:
        """Q w: float64 (pairs)."""
        of_vertices = self.network.product(self._by_vertex(weights)).T.reshape(-1)
        if self.share != 1.0:
            of_vertices *= self.share
        if self._in_place:
            return of_vertices
        products = self.outside * weights
        products[self.pairs] = of_vertices[self.places]
        return products

    def product_of_lanes(self, lanes: np.ndarray) -> np.ndarray:
        """The same of lanes (features, width), in their precision, where every label has every feature."""
        share = lanes.dtype.type(self.share)
        if self._in_place:
            products = self.network.product_of_lanes(lanes)
            products *= share
            return products
        n_linked = np.searchsorted(self.pairs, len(lanes))  # those of the first label, and so of all
        features, vertices = self.pairs[:n_linked], self.places[:n_linked]
        of_vertices = np.zeros((self.network.n_features, lanes.shape[1]), lanes.dtype)
        of_vertices[vertices] = lanes[features]
        products = self.outside[: len(lanes), None].astype(lanes.dtype) * lanes
        products[features] = share * self.network.product_of_lanes(of_vertices)[vertices]
        return products

    def value(self, weights: np.ndarray) -> float:
        """wᵀ Q w."""
        return self.share * self.network.value(self._by_vertex(weights)) + float(self.outside @ weights**2)

    def _by_vertex(self, weights: np.ndarray) -> np.ndarray:
        """Weights (n_features, labels) of all vertices."""
        by_label = weights
        if not self._in_place:
            by_label = np.zeros(self.n_labels * self.network.n_features)
            by_label[self.places] = weights[self.pairs]
        return by_label.reshape(self.n_labels, -1).T

    @cached_property
    def _in_place(self) -> bool:
        """Whether each label has every vertex, in order, and nothing else: then nothing is moved."""
        n = self.n_labels * self.network.n_features
        return len(self.pairs) == len(self.outside) and np.array_equal(self.places, np.arange(n))
