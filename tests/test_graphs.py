"""Graphs of features: their matrices and bytes, and the builders."""

from __future__ import annotations

import gzip
import json
import os
import sys
import tomllib
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps
from scipy import sparse
from spacy.util import registry
from thinc.api import Config

from conftest import REPOSITORY
from lexicons import SENTIMENT, WNDB, write_sentiwordnet, write_wordnet
from spacy_graft.files import text_lines
from spacy_graft.graphs import cooccurrence, profiles, storage
from spacy_graft.graphs.cooccurrence import Cooccurrence
from spacy_graft.graphs.edgelist import EdgeList, GraphFile
from spacy_graft.graphs.graph import FeatureGraph, merge_graphs
from spacy_graft.graphs.merging import MergedGraphs
from spacy_graft.graphs.resources import Resource, nltk_folders
from spacy_graft.graphs.sentiwordnet import (
    NEGATIVE_CLASS,
    POSITIVE_CLASS,
    SENTIWORDNET,
    SentiWordNet,
    read_senses,
    word_scores,
)
from spacy_graft.graphs.vocabulary import CorpusVocabulary, Vertex
from spacy_graft.graphs.wndb import WORDNET, WordNetDatabase
from spacy_graft.graphs.wordnet import WordNet
from spacy_graft.pipeline.registration import register_with_spacy

register_with_spacy()

DATA = Path(__file__).parents[2] / "shared" / "data"


def needs_data(test: Callable[..., None]) -> Callable[..., None]:
    """Marks a test that reads the data sets; skipped where they are not."""
    return pytest.mark.data(pytest.mark.skipif(not DATA.exists(), reason="the data sets are not there")(test))


@pytest.fixture(scope="module")
def wndb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_wordnet(tmp_path_factory.mktemp("wordnet"))


@pytest.fixture(scope="module")
def sentiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sentiwordnet(tmp_path_factory.mktemp("sentiment"))


def named(text: str) -> Vertex:
    return tuple(text.split())


def vocabulary(*names: str) -> list[Vertex]:
    return [named(name) for name in names]


def edges_of(graph: FeatureGraph, kind: str = "similar") -> dict[tuple[str, str], float]:
    """The edges by names, joined with spaces."""
    names = [" ".join(vertex) for vertex in graph.vertices]
    entries = getattr(graph, kind).tocoo()
    pairs = [(names[i], names[j]) for i, j in zip(entries.row.tolist(), entries.col.tolist(), strict=True)]
    return dict(zip(pairs, entries.data.tolist(), strict=True))


def make_graph(similar: np.ndarray, dissimilar: np.ndarray, n_virtual: int = 0) -> FeatureGraph:
    n = len(similar)
    names = tuple((f"f{i}", "ü") for i in range(n))
    return FeatureGraph(
        names, np.arange(n) >= n - n_virtual, sparse.csr_array(similar), sparse.csr_array(dissimilar), {"skipped": {}}
    )


@st.composite
def graphs(draw: st.DrawFn) -> FeatureGraph:
    n = draw(st.integers(0, 6))
    weight = st.sampled_from([0.0, 0.0, 0.1, 0.5, 1.0, 3.0, 1e-300, 1e300])
    matrices = [draw(nps.arrays(np.float64, (n, n), elements=weight)) * (1 - np.eye(n)) for _ in range(2)]
    return make_graph(*matrices, n_virtual=draw(st.integers(0, n)))


# Graphs


@given(graphs())
def test_rows_sum_to_one_or_are_empty(graph: FeatureGraph) -> None:
    for matrix, scaled in zip((graph.similar, graph.dissimilar), graph.row_normalised(), strict=True):
        dense = matrix.toarray()
        has_edges = dense.any(axis=1)
        assert scaled.toarray().sum(axis=1) == pytest.approx(has_edges.astype(float))
        for row, expected in zip(scaled.toarray()[has_edges], dense[has_edges], strict=True):
            assert row == pytest.approx(expected / expected.max() / (expected / expected.max()).sum())


@given(graphs())
def test_penalty_rows_are_those_of_the_paper_where_there_are_edges(graph: FeatureGraph) -> None:
    P, Q = (matrix.toarray() for matrix in graph.row_normalised())
    A, B = (matrix.toarray() for matrix in graph.penalty_rows())
    one = np.eye(graph.n_vertices)
    np.testing.assert_allclose(A, np.where(P.any(axis=1)[:, None], one - P, 0.0))
    np.testing.assert_allclose(B, np.where(Q.any(axis=1)[:, None], one + Q, 0.0))
    factor = graph.tikhonov_matrix(4.0, 9.0, "mean").toarray()
    np.testing.assert_allclose(factor, np.vstack([2.0 * A, 3.0 * B]))


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.booleans())
def test_the_penalty_is_a_ridge_on_the_coordinates_of_locally_linear_embedding(
    seed: int, n: int, dissimilar: bool
) -> None:
    """Equations (3) and (4) of Sandler et al.: α ‖(I − P) w‖² + β ‖w‖² is ‖w̃‖², with X w = X̃ w̃."""
    rng = np.random.default_rng(seed)
    alpha, gamma, beta = 10.0 ** rng.uniform(-2.0, 2.0, 3)
    edges = [rng.random((n, n)) * (rng.random((n, n)) < 0.5) * (1.0 - np.eye(n)) for _ in range(2)]
    graph = make_graph(edges[0], edges[1] * dissimilar)
    # The features of the paper all have edges; to others, "to_zero" does what its formula does.
    R = graph.tikhonov_matrix(alpha, gamma, "mean", "to_zero").toarray()
    P, Q = (matrix.toarray() for matrix in graph.row_normalised())
    one, with_dissimilar = np.eye(n), np.diag(Q.any(axis=1).astype(float)) + Q
    M = alpha * (one - P).T @ (one - P) + gamma * with_dissimilar.T @ with_dissimilar + beta * one
    np.testing.assert_allclose(R.T @ R + beta * one, M, atol=1e-12 * np.abs(M).max())

    eigenvalues, U = np.linalg.eigh(R.T @ R)
    scale = 1.0 / np.sqrt(eigenvalues + beta)
    X, w = rng.normal(size=(8, n)), rng.normal(size=n)
    embedded, of_embedded = X @ (U * scale), (U.T @ w) / scale
    np.testing.assert_allclose(X @ w, embedded @ of_embedded, rtol=1e-8, atol=1e-8)
    assert w @ M @ w == pytest.approx(of_embedded @ of_embedded)
    # So that both have one optimum: here that of least squares.
    y = rng.normal(size=8)
    direct = X @ np.linalg.solve(X.T @ X + M, X.T @ y)
    by_embedding = embedded @ np.linalg.solve(embedded.T @ embedded + one, embedded.T @ y)
    np.testing.assert_allclose(direct, by_embedding, rtol=1e-6, atol=1e-8)


@given(graphs(), st.integers(0, 2**32 - 1))
def test_laplacians_are_sums_over_edges(graph: FeatureGraph, seed: int) -> None:
    graph = make_graph(*(np.minimum(m.toarray(), 3.0) for m in (graph.similar, graph.dissimilar)))
    w = np.random.default_rng(seed).normal(size=graph.n_vertices)
    differences, sums = w[:, None] - w, w[:, None] + w
    L = 0.5 * np.sum(graph.similar.toarray() * differences**2)
    S = 0.5 * np.sum(graph.dissimilar.toarray() * sums**2)
    assert np.sum((graph.tikhonov_matrix(2.0, 0.5, "laplacian") @ w) ** 2) == pytest.approx(2.0 * L + 0.5 * S)


def test_normalised_laplacian_against_the_dense_formula() -> None:
    weights = np.array([[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 2.0, 0.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    L, S = (
        R.T @ R
        for R in (
            make_graph(weights, weights).tikhonov_matrix(*strengths, "normalised_laplacian")
            for strengths in ((1.0, 0.0), (0.0, 1.0))
        )
    )
    d = np.array([1.0, 3.0, 2.0, np.inf])
    scaled = weights / np.sqrt(np.outer(d, d))
    linked = np.diag([1.0, 1.0, 1.0, 0.0])
    assert L.toarray() == pytest.approx(linked - scaled)
    assert S.toarray() == pytest.approx(linked + scaled)


def test_restriction_keeps_virtual_vertices_with_members() -> None:
    # f0, f1 -> v2; f1 -> v3; v2 -> v4; v3 and v2 dissimilar.
    similar, dissimilar = np.zeros((5, 5)), np.zeros((5, 5))
    similar[[0, 1, 1, 2], [2, 2, 3, 4]] = 1.0
    dissimilar[[2, 3], [3, 2]] = 1.0
    graph = make_graph(similar, dissimilar, n_virtual=3)
    both = graph.restricted_to(graph.vertices[:2])
    assert both.vertices == graph.vertices
    assert both.report["coverage"] == {"vocabulary": 2, "covered": 2, "share": 1.0}
    one = graph.restricted_to([("f0", "ü"), ("other",)])
    assert [vertex[0] for vertex in one.vertices] == ["f0", "f2", "f4"]
    assert one.report == {
        "vertices": 3,
        "virtual": 2,
        "edges": {"similar": 2, "dissimilar": 0},
        "coverage": {"vocabulary": 2, "covered": 1, "share": 0.5},
        "skipped": {"vertices_not_in_corpus": 1},
    }
    assert graph.restricted_to([]).vertices == ()


def test_restriction_drops_vertices_that_have_lost_their_edges() -> None:
    graph = graph_of({"a b": 1.0, "c d": -1.0})
    left = graph.restricted_to(vocabulary("a", "c", "d", "e"))
    assert left.vertices == (("c",), ("d",))
    assert left.report["vertices"] == 2
    assert left.report["coverage"] == {"vocabulary": 4, "covered": 2, "share": 0.5}
    assert left.report["skipped"] == {"vertices_not_in_corpus": 1}
    assert graph.restricted_to(vocabulary("a", "c")).vertices == ()


def test_opposites_of_a_class_are_its_members(tmp_path: Path) -> None:
    words = vocabulary("grim", "sad", "day")
    graph = listed(tmp_path, "grim\t*good\t-1\nsad\t*good\t-2\n", virtual="*")(words)
    again = graph.restricted_to(words)
    assert again.vertices == graph.vertices
    assert edges_of(again, "dissimilar") == {("grim", "*good"): 1.0, ("sad", "*good"): 2.0}


def test_a_virtual_vertex_is_not_the_feature_of_its_name() -> None:
    weights = np.array([[0.0, 1.0], [0.0, 0.0]])
    matrices = sparse.csr_array(weights), sparse.csr_array((2, 2))
    graph = FeatureGraph((("good",), ("good",)), np.array([False, True]), *matrices)
    assert graph.restricted_to([("good",)]).n_vertices == 2


def test_merged_graphs_have_all_edges_and_the_sums_of_weights() -> None:
    first = graph_of({"a b": 1.0, "b c": -2.0})
    second = graph_of({"b a": 3.0, "c d": 0.5})
    both = merge_graphs([first, second], 5)
    assert edges_of(both) == {("a", "b"): 4.0, ("b", "a"): 4.0, ("c", "d"): 0.5, ("d", "c"): 0.5}
    assert edges_of(both, "dissimilar") == {("b", "c"): 2.0, ("c", "b"): 2.0}
    assert both.report["coverage"] == {"vocabulary": 5, "covered": 4, "share": 0.8}


def test_weights_that_become_too_large() -> None:
    with pytest.raises(ValueError, match=r"similar edges must be finite and not negative, and 1e\+300 at most"):
        graph_of({"a b": 1e300}).scaled(1e10)


def graph_of(edges: dict[str, float]) -> FeatureGraph:
    names = sorted({name for pair in edges for name in pair.split()})
    matrices = [np.zeros((len(names), len(names))) for _ in range(2)]
    for pair, weight in edges.items():
        i, j = (names.index(name) for name in pair.split())
        matrix = matrices[int(weight < 0.0)]
        matrix[i, j] = matrix[j, i] = abs(weight)
    none = np.zeros(len(names), np.bool_)
    return FeatureGraph(tuple(map(named, names)), none, *map(sparse.csr_array, matrices))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vertices": (("a",), ("a",))}, "names that differ"),
        ({"vertices": (("a",), ())}, "names that differ"),
        ({"virtual": np.zeros(3, np.bool_)}, "as many booleans"),
        ({"virtual": np.zeros(2)}, "as many booleans"),
        ({"similar": sparse.csr_array((3, 2))}, "do not fit similar edges"),
        ({"similar": sparse.csr_array([[0.0, -1.0], [0.0, 0.0]])}, "finite and not negative"),
        ({"similar": sparse.csr_array([[0.0, np.nan], [0.0, 0.0]])}, "finite and not negative"),
        ({"dissimilar": sparse.csr_array([[0.0, np.inf], [0.0, 0.0]])}, "finite and not negative"),
        ({"dissimilar": sparse.csr_array([[1.0, 0.0], [0.0, 0.0]])}, "edges to themselves"),
    ],
)
def test_invalid_graphs_are_rejected(change: dict[str, Any], message: str) -> None:
    empty = sparse.csr_array((2, 2))
    parts = {"vertices": (("a",), ("b",)), "virtual": np.zeros(2, np.bool_), "similar": empty, "dissimilar": empty}
    with pytest.raises(ValueError, match=message):
        FeatureGraph(**{**parts, **change})


# Bytes


@given(graphs())
def test_bytes_round_trip(graph: FeatureGraph) -> None:
    again = FeatureGraph.from_bytes(graph.to_bytes())
    assert again.vertices == graph.vertices
    assert again.report == graph.report
    np.testing.assert_array_equal(again.virtual, graph.virtual)
    np.testing.assert_array_equal(again.similar.toarray(), graph.similar.toarray())
    np.testing.assert_array_equal(again.dissimilar.toarray(), graph.dissimilar.toarray())
    assert again.to_bytes() == graph.to_bytes()


@pytest.fixture(scope="module")
def small() -> FeatureGraph:
    weights = np.array([[0.0, 0.5, 0.0], [0.5, 0.0, 1.0], [0.0, 0.0, 0.0]])
    return make_graph(weights, weights.T, n_virtual=1)


def test_bytes_that_are_cut_off_are_refused(small: FeatureGraph) -> None:
    data = small.to_bytes()
    for length in range(len(data)):
        with pytest.raises(ValueError, match="graph"):
            FeatureGraph.from_bytes(data[:length])
    with pytest.raises(ValueError, match="its length is not that in its header"):
        FeatureGraph.from_bytes(data + b"\0")


def test_bytes_that_were_changed_are_refused(small: FeatureGraph) -> None:
    data = small.to_bytes()
    for place in range(len(data)):
        for bit in (1, 128):
            changed = bytearray(data)
            changed[place] ^= bit
            with pytest.raises(ValueError, match="graph"):
                FeatureGraph.from_bytes(bytes(changed))


@pytest.mark.parametrize("data", [b"PK\x03\x04 a zip file", b"\x93NUMPY", b"{}", b"\0" * 200])
def test_foreign_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a graph file"):
        FeatureGraph.from_bytes(data)


def test_other_formats_are_refused(small: FeatureGraph) -> None:
    data = bytearray(small.to_bytes())
    data[16] = 2
    with pytest.raises(ValueError, match="has the format 2"):
        FeatureGraph.from_bytes(bytes(data))


def sealed(content: bytes) -> bytes:
    """Content with a header that fits."""
    compressed = zlib.compress(content)
    sizes = (len(compressed), zlib.crc32(compressed), len(content))
    return storage.HEADER.pack(storage.MAGIC, storage.VERSION, *sizes) + compressed


def about(**values: Any) -> bytes:
    return json.dumps({"vertices": [], "edges": [0, 0], "report": {}, **values}).encode()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "names cannot be read"),
        (b"[" * 100_000, "names cannot be read"),
        (b"\xff", "names cannot be read"),
        (b"[]", "no vertices, edges and report"),
        (about(more=1), "no vertices, edges and report"),
        (about(vertices=["a"]), "names must be lists"),
        (about(vertices=[[1]]), "names must be lists"),
        (about(edges=[0, -1]), "must have two numbers of edges"),
        (about(edges=[0, True]), "must have two numbers of edges"),
        (about(report=[]), "report must be an object"),
        (about(report={"skipped": []}), "skipped entry must have counts"),
        (about(report={"skipped": {"short": "many"}}), "skipped entry must have counts"),
        (about(edges=[2**62, 0]), "sizes of its arrays are wrong"),
        (about(vertices=[["a"]]), "sizes of its arrays are wrong"),
    ],
)
def test_wrong_headers_are_rejected(text: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FeatureGraph.from_bytes(sealed(storage.LENGTH.pack(len(text)) + text + bytes(16)))


def test_wrong_lengths_are_rejected() -> None:
    for content in (b"", b"short", storage.LENGTH.pack(2**63) + about()):
        with pytest.raises(ValueError, match="damaged"):
            FeatureGraph.from_bytes(sealed(content))


@pytest.mark.parametrize(
    ("array", "value", "message"),
    [
        ("data", np.nan, "finite"),
        ("data", -1.0, "finite"),
        ("indices", 5, "no matrix"),
        ("indices", -1, "no matrix"),
        ("indptr", 2, "no matrix"),
        ("indices", 0, "to themselves"),
    ],
)
def test_numbers_that_were_edited_are_refused(small: FeatureGraph, array: str, value: float, message: str) -> None:
    matrix = small.similar.copy()
    getattr(matrix, array)[0] = value
    data = storage.pack_graph(small.vertices, small.virtual, (matrix, small.dissimilar), {})
    with pytest.raises(ValueError, match=message):
        FeatureGraph.from_bytes(data)


def test_virtual_is_a_boolean(small: FeatureGraph) -> None:
    data = storage.pack_graph(small.vertices, small.virtual * np.int8(2), (small.similar, small.dissimilar), {})
    with pytest.raises(ValueError, match="virtual must be 0 or 1"):
        FeatureGraph.from_bytes(data)


def test_files_are_written_whole_or_not_at_all(
    small: FeatureGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "some.graph"
    small.to_disk(path)
    before = path.read_bytes()
    assert FeatureGraph.from_disk(path).to_bytes() == before

    def full(_: int) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        graph_of({"a b": 1.0}).to_disk(path)
    assert [file.name for file in tmp_path.iterdir()] == ["some.graph"]
    assert path.read_bytes() == before


def test_graph_files_are_restricted_to_the_corpus(small: FeatureGraph, tmp_path: Path) -> None:
    path = tmp_path / "some.graph"
    small.to_disk(path)
    graph = GraphFile(path)([("f0", "ü"), ("f1", "ü")])
    assert graph.n_vertices == 3
    path.write_bytes(b"other")
    with pytest.raises(ValueError, match=r"some\.graph: This is not a graph file"):
        GraphFile(path)([])
    with pytest.raises(FileNotFoundError, match="no graph at"):
        GraphFile(tmp_path / "none")([])


# WordNet

EVERYTHING = vocabulary(
    *("thing", "vessel", "boat", "small ship", "canoe", "argo", "light", "heavy", "weighty", "leaden", "lightly"),
    *("boats", "lit", "kindle", "unheard"),
)


def test_relations_of_wordnet(wndb: Path) -> None:
    edges = edges_of(WordNet(wndb)(EVERYTHING))
    assert {pair: edges.get(pair) for pair in [("boat", "small ship"), ("boat", "boats"), ("heavy", "weighty")]} == {
        ("boat", "small ship"): 1.0,
        ("boat", "boats"): 1.0,
        ("heavy", "weighty"): 1.0,
    }
    assert edges["heavy", "leaden"] == edges["weighty", "leaden"] == 0.5
    assert edges["light", "kindle"] == edges["lit", "light"] == 1.0
    assert all(edges[target, source] == weight for (source, target), weight in edges.items())


def test_distance_along_hypernyms(wndb: Path) -> None:
    edges = edges_of(WordNet(wndb, hypernym=0.8, decay=0.25)(EVERYTHING))
    assert edges["canoe", "boat"] == edges["argo", "boat"] == edges["boat", "vessel"] == 0.8
    assert edges["canoe", "vessel"] == edges["boat", "thing"] == 0.8 * 0.25
    assert ("canoe", "thing") not in edges
    assert ("canoe", "argo") not in edges
    further = edges_of(WordNet(wndb, hypernym=0.8, decay=0.25, max_distance=3)(EVERYTHING))
    assert further["canoe", "thing"] == 0.8 * 0.25**2
    assert ("canoe", "vessel") not in edges_of(WordNet(wndb, max_distance=1)(EVERYTHING))
    # Ends at the top, however far it may go.
    assert edges_of(WordNet(wndb, hypernym=0.8, decay=0.25, max_distance=10**8)(EVERYTHING)) == further


def test_antonyms_are_dissimilar_and_of_words_only(wndb: Path) -> None:
    graph = WordNet(wndb, antonym=0.7)(EVERYTHING)
    assert edges_of(graph, "dissimilar") == {("light", "heavy"): 0.7, ("heavy", "light"): 0.7}


def test_antonyms_are_not_similar(wndb: Path, tmp_path: Path) -> None:
    folder = tmp_path / "wordnet"
    folder.mkdir()
    both = WNDB["data.noun"].replace("light 0 000", "light 0 001 @ 00000108 n 0000")
    added = "00000108 03 n 01 heavy 0 000 | made up\n"
    for name, text in {**WNDB, "data.noun": both + added}.items():
        (folder / name).write_text(text, encoding="utf-8")
    with (folder / "index.noun").open("a", encoding="utf-8") as file:
        file.write("heavy n 1 0 1 0 00000108\n")
    graph = WordNet(folder)(EVERYTHING)
    assert ("light", "heavy") not in edges_of(graph)
    assert graph.report["skipped"]["similar_edges_of_antonyms"] == 2


def test_parts_of_speech_restrict_senses(wndb: Path) -> None:
    names = ["light NOUN", "light ADJ", "light VERB", "heavy ADJ", "kindle VERB", "boat NOUN", "boat VERB", "the DET"]
    graph = WordNet(wndb)(vocabulary(*names))
    assert edges_of(graph, "dissimilar") == {("light ADJ", "heavy ADJ"): 1.0, ("heavy ADJ", "light ADJ"): 1.0}
    similar = edges_of(graph)
    assert similar == {
        ("light VERB", "kindle VERB"): 1.0,
        ("kindle VERB", "light VERB"): 1.0,
        ("boat NOUN", "boat VERB"): 0.5,
        ("boat VERB", "boat NOUN"): 0.5,
    }
    assert graph.report["skipped"]["not_in_wordnet"] == 1


def test_a_word_without_part_of_speech_has_all_senses(wndb: Path) -> None:
    similar = edges_of(WordNet(wndb)(vocabulary("light", "light NOUN", "light ADJ", "kindle")))
    assert {pair[1] for pair in similar if pair[0] == "light"} == {"light NOUN", "light ADJ", "kindle"}


def test_relations_of_weight_0_are_left_out(wndb: Path) -> None:
    off = WordNet(wndb, synonym=0.0, hypernym=0.0, similar_to=0.0, derivation=0.0, antonym=0.0)(EVERYTHING)
    assert off.n_vertices == 0
    assert off.report["coverage"] == {"vocabulary": len(EVERYTHING), "covered": 0, "share": 0.0}


def test_only_the_first_senses(wndb: Path) -> None:
    names = vocabulary("light", "lamp", "kindle")
    assert set(edges_of(WordNet(wndb)(names))) > {("light", "lamp"), ("light", "kindle")}
    first = edges_of(WordNet(wndb, max_senses=1)(names))
    assert set(first) == {("light", "kindle"), ("kindle", "light")}


def test_inflected_forms(wndb: Path) -> None:
    database = WordNetDatabase.read(wndb)
    assert database.lemmas("canoes", "n") == ["canoe"]
    assert database.lemmas("lit", "v") == ["light"]
    assert database.lemmas("lighting", "v") == ["light"]
    assert database.lemmas("heavier", "a") == []
    assert database.lemmas("lighter", "a") == ["light"]
    assert database.lemmas("boats", "n", inflected=False) == []
    report = WordNet(wndb, inflected=False)(EVERYTHING).report
    assert report["skipped"]["not_in_wordnet"] == 3


def test_report_of_wordnet(wndb: Path) -> None:
    report = WordNet(wndb)([*EVERYTHING, ("it",)]).report
    assert report["coverage"]["vocabulary"] == len(EVERYTHING) + 1
    # Neither "lightly", "unheard" nor "it" has an edge.
    assert report["vertices"] == report["coverage"]["covered"] == len(EVERYTHING) - 2
    assert report["skipped"] == {"not_in_wordnet": 1, "short": 1, "similar_edges_of_antonyms": 0}
    assert json.loads(json.dumps(report)) == report


@pytest.mark.parametrize("inside", ["", "wordnet/"])
def test_wordnet_in_a_zip_file(wndb: Path, tmp_path: Path, inside: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "corpora").mkdir()
    archive = tmp_path / "corpora" / "wordnet.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for name, text in WNDB.items():
            file.writestr(inside + name, text)
    expected = edges_of(WordNet(wndb)(EVERYTHING))
    for path in (archive, tmp_path):
        assert edges_of(WordNet(path)(EVERYTHING)) == expected
    monkeypatch.setenv("NLTK_DATA", f"/none{os.pathsep}{tmp_path}")
    assert edges_of(WordNet()(EVERYTHING)) == expected


def test_missing_resources_say_where_they_were_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"WordNet 3\.0 was not found\. Folders searched: .*empty\. .*wordnet-base"
    ):
        WordNet(tmp_path / "empty")([])
    monkeypatch.setenv("NLTK_DATA", str(tmp_path / "mine"))
    nowhere = Resource("Lexicon", "no_such_lexicon", WORDNET.fits, ("/none/here",), "Write one.")
    with pytest.raises(FileNotFoundError, match=r"searched: .*mine, .*nltk_data, .*/none/here\. Write one\."):
        nowhere.folder(None)
    with pytest.raises(FileNotFoundError, match=r"nltk\.download"):
        SentiWordNet(tmp_path)([])


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("data.noun", "n 01 vessel", "n zz vessel", r"data\.noun, line 3: no synset"),
        ("data.noun", "0 001 @ 00000101", "0 009 @ 00000101", r"data\.noun, line 3: no synset"),
        ("data.noun", "0 001 @ 00000101", "0 -01 @ 00000101", r"data\.noun, line 3: no synset"),
        ("data.noun", "@ 00000101", "@ 0000010x", r"data\.noun, line 3: no synset"),
        ("data.noun", "n 0000 | a thing", "n 00zz | a thing", r"data\.noun, line 3: no synset"),
        ("data.noun", "@ 00000101", "@ 00000999", "pointers @ name 1 synsets that do not exist"),
        ("data.noun", "00000102 03", "00000101 03", "same offset"),
        ("data.adj", "! 00000102 a 0101", "! 00000102 a 0107", "words that their synsets do not have"),
        ("index.adj", "0 00000102", "0 00000999", r"senses in index\.adj name"),
        ("index.adj", "0 00000102", "0 0000010x", r"index\.adj, line 1: no lemma"),
        ("index.adj", "heavy a 1", "heavy a x", r"index\.adj, line 1: no lemma"),
        ("index.adj", "heavy a 1", "heavy a 3", r"index\.adj, line 1: no lemma"),
    ],
)
def test_damaged_files_of_wordnet(tmp_path: Path, file: str, old: str, new: str, message: str) -> None:
    assert old in WNDB[file]
    for name, text in WNDB.items():
        changed = text.replace(old, new, 1) if name == file else text
        (tmp_path / name).write_text(changed, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        WordNetDatabase.read(tmp_path)


def test_zip_files_that_are_damaged(tmp_path: Path) -> None:
    wordnet, sentiwordnet = tmp_path / "wordnet.zip", tmp_path / "sentiwordnet.zip"
    for archive, files in ((wordnet, WNDB), (sentiwordnet, {"SentiWordNet_3.0.0.txt": SENTIMENT})):
        with zipfile.ZipFile(archive, "w") as file:
            for name, text in files.items():
                file.writestr(name, text)
        data = bytearray(archive.read_bytes())
        data[100] ^= 1
        archive.write_bytes(data)
    with pytest.raises(ValueError, match="cannot be read from its zip file"):
        WordNet(wordnet)([])
    with pytest.raises(ValueError, match="cannot be read from its zip file"):
        SentiWordNet(sentiwordnet)([])


def test_a_table_without_senses(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("# POS\n")
    with pytest.raises(ValueError, match=r"empty\.txt has no senses"):
        SentiWordNet(tmp_path / "empty.txt")([])


def test_exceptions_that_are_not_utf8(tmp_path: Path) -> None:
    write_wordnet(tmp_path)
    (tmp_path / "noun.exc").write_bytes(b"mice mouse\nm\xe4use maus\n")
    with pytest.raises(ValueError, match=r"noun\.exc, line 2: not UTF-8"):
        WordNetDatabase.read(tmp_path)


def test_an_index_of_other_words(wndb: Path, tmp_path: Path) -> None:
    for name, text in WNDB.items():
        (tmp_path / name).write_text(text.replace("weighty a", "weightier a"), encoding="utf-8")
    with pytest.raises(ValueError, match="'weightier' has a sense, but is not in the synset of that sense"):
        WordNet(tmp_path)([("weightier",)])


# SentiWordNet


def test_scores_are_weighted_by_rank(sentiment: Path) -> None:
    senses = read_senses(sentiment)
    names = ["grand", "fine", "fine ADJ", "fine NOUN", "ill - made", "let down", "day", "unheard"]
    scores = word_scores(senses, vocabulary(*names))
    expected = [0.75, (0.75 / 2 - 0.5) / 2.5, 0.75 / 2 / 1.5, -0.5, -1.0, -0.625, 0.0, np.nan]
    assert scores == pytest.approx(expected, nan_ok=True)


def test_sentiwordnet_in_folders_and_zip_files(sentiment: Path, tmp_path: Path) -> None:
    (tmp_path / "corpora").mkdir()
    archive = tmp_path / "corpora" / "sentiwordnet.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(f"sentiwordnet/{sentiment.name}", SENTIMENT)
    expected = read_senses(sentiment)
    for path in (sentiment.parent, archive, tmp_path):
        assert read_senses(path) == expected


def test_classes_and_their_dissimilarity(sentiment: Path) -> None:
    graph = SentiWordNet(sentiment, neighbours=0)(vocabulary("grand", "grim", "let down", "fine", "day", "unheard"))
    positive, negative = " ".join(POSITIVE_CLASS), " ".join(NEGATIVE_CLASS)
    assert edges_of(graph) == {("grand", positive): 1.0, ("grim", negative): 1.0, ("let down", negative): 1.0}
    assert edges_of(graph, "dissimilar") == {(positive, negative): 1.0, (negative, positive): 1.0}
    assert graph.virtual.tolist() == [False, False, False, True, True]
    assert graph.report["skipped"] == {"not_in_sentiwordnet": 1, "rare": 0}
    # A virtual vertex has a penalty for its dissimilar edge, not for its members.
    A, B = graph.penalty_rows()
    assert not A[3:].nnz
    assert B[3:].toarray()[:, 3:].tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_an_empty_class_has_no_opposite(sentiment: Path) -> None:
    graph = SentiWordNet(sentiment, neighbours=0)(vocabulary("grand", "day"))
    assert graph.vertices == (("grand",), POSITIVE_CLASS)


def test_members_are_frequent(sentiment: Path) -> None:
    features = CorpusVocabulary.of_documents([["grand"], ["grand", "grim"]])
    graph = SentiWordNet(sentiment, neighbours=0, min_df=2)(features)
    assert graph.vertices == (("grand",), POSITIVE_CLASS)
    assert graph.report["skipped"]["rare"] == 1
    with pytest.raises(ValueError, match="names only"):
        SentiWordNet(sentiment, min_df=2)([("grand",)])


def test_words_of_similar_score_have_edges(sentiment: Path) -> None:
    names = vocabulary("grand", "grand ADJ", "let down", "fine NOUN", "grim", "day")
    builder = SentiWordNet(sentiment, 1.0, 1.0, neighbours=1, tolerance=0.2, neighbour_weight=0.3)
    graph = builder(names)
    features = {pair: weight for pair, weight in edges_of(graph).items() if "SentiWordNet" not in pair[1]}
    pairs = [("grand", "grand ADJ"), ("let down", "fine NOUN")]
    assert features == {ends: 0.3 for pair in pairs for ends in (pair, pair[::-1])}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a\t1\t0.5\t0", "must be 5 columns or more"),
        ("a\t1\thigh\t0\tfine#1\tgloss", "could not convert"),
        ("a\t1\t1.5\t0\tfine#1\tgloss", "scores must be between 0 and 1"),
        ("a\t1\tnan\t0\tfine#1\tgloss", "scores must be between 0 and 1"),
        ("x\t1\t0.5\t0\tfine#1\tgloss", "no part of speech"),
        ("a\t1\t0.5\t0\tfine\tgloss", "rank of its sense"),
        ("a\t1\t0.5\t0\tfine#0\tgloss", "rank of its sense"),
    ],
)
def test_lines_of_sentiwordnet_that_are_malformed(tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "SentiWordNet_3.0.0.txt"
    file.write_text(f"# A table.\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=rf"SentiWordNet_3\.0\.0\.txt, line 2: .*{message}"):
        SentiWordNet(tmp_path)([])


# Co-occurrence

presences = st.tuples(st.integers(1, 7), st.integers(1, 6)).flatmap(
    lambda shape: nps.arrays(np.int8, shape, elements=st.integers(0, 1))
)


def corpus_of(presence: np.ndarray) -> CorpusVocabulary:
    return CorpusVocabulary(tuple((f"f{j}",) for j in range(presence.shape[1])), sparse.csr_array(presence))


def naive_nearest(values: np.ndarray, k: int, minimum: float) -> np.ndarray:
    """Row by row, the k largest that are above 0 and not below the minimum, the first of equals; O(n² log n)."""
    kept = np.zeros_like(values)
    for i, row in enumerate(values):
        for j in np.argsort(-row, kind="stable")[:k]:
            if row[j] > 0.0 and row[j] >= minimum:
                kept[i, j] = row[j]
    return kept


def dense(graph: FeatureGraph, n: int) -> np.ndarray:
    """Similar edges among the features f0..., n of them."""
    weights = np.zeros((n, n))
    for (source, target), weight in edges_of(graph).items():
        if target[0] == "f":
            weights[int(source[1:]), int(target[1:])] = weight
    return weights


def shared_of(presence: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    X = presence.astype(np.float64)
    return X.T @ X, X.sum(axis=0)


@given(presences, st.integers(1, 4), st.sampled_from([0.0, 0.10, 0.5]))
def test_cosine_against_numpy(presence: np.ndarray, k: int, minimum: float) -> None:
    shared, df = shared_of(presence)
    values = shared / np.sqrt(np.maximum(np.outer(df, df), 1.0))
    np.fill_diagonal(values, 0.0)
    graph = Cooccurrence(neighbours=k, minimum=minimum)(corpus_of(presence))
    np.testing.assert_array_equal(dense(graph, len(df)), naive_nearest(values, k, minimum))
    assert graph.report["skipped"] == {"in_no_document": int((df == 0).sum())}


def correlations(presence: np.ndarray) -> np.ndarray:
    """Pearson's, 0 where it is not defined, and of features without a document in common."""
    shared, df = shared_of(presence)
    n = len(presence)
    spread = df * (n - df)
    values = (n * shared - np.outer(df, df)) / np.sqrt(np.maximum(np.outer(spread, spread), 1.0))
    values[np.outer(spread, spread) == 0.0] = 0.0
    np.fill_diagonal(values, 0.0)
    return values


@given(presences, st.integers(1, 4))
def test_mutual_neighbours_by_correlation_against_numpy(presence: np.ndarray, k: int) -> None:
    values = correlations(presence)
    near = naive_nearest(values, k, 0.0)
    graph = Cooccurrence("correlation", neighbours=k)(corpus_of(presence))
    assert dense(graph, len(values)) == pytest.approx(np.where((near > 0.0) & (near.T > 0.0), values, 0.0))


@given(presences, st.integers(1, 4), st.data())
def test_seeds_against_numpy(presence: np.ndarray, k: int, data: st.DataObject) -> None:
    values = correlations(presence)
    n = len(values)
    seeds = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))

    def classes(features: CorpusVocabulary) -> FeatureGraph:
        own = np.zeros((n + 1, n + 1))
        own[:n, n] = seeds
        # An edge between features. It makes neither a seed.
        own[0, n - 1] = 0.0 if n == 1 else 0.25
        names = (*features.vertices, ("class",))
        matrices = sparse.csr_array(own), sparse.csr_array(own.shape)
        return FeatureGraph(names, np.arange(n + 1) == n, *matrices)

    to_seeds = naive_nearest(np.where(seeds, values, 0.0), k, 0.0)
    to_features = naive_nearest(values, k, 0.0) * seeds[:, None]
    mutual = np.minimum(to_seeds, to_features.T)
    expected = np.maximum(mutual, mutual.T)
    if n > 1 and seeds.any():
        expected[0, n - 1] += 0.25
    elif n > 1:
        # Without classes all features are seeds.
        return
    graph = Cooccurrence("correlation", neighbours=k, seeds=classes)(corpus_of(presence))
    assert dense(graph, n) == pytest.approx(expected)


def test_seeds_that_the_corpus_does_not_have_are_ignored() -> None:
    features = CorpusVocabulary.of_documents([["a", "b"], ["a", "b"], ["c"]])
    known, more = (
        Cooccurrence("correlation", seeds=lambda _, names=names: graph_of(names))(features)
        for names in ({"a c": 1.0}, {"a c": 1.0, "a zzz": 1.0})
    )
    assert ("a", "b") in edges_of(known)
    assert more.vertices == known.vertices
    assert edges_of(more) == edges_of(known)
    assert more.report["skipped"] == {**known.report["skipped"], "vertices_not_in_corpus": 1}


@given(presences, st.data())
def test_correlations_with_seeds_against_numpy(presence: np.ndarray, data: st.DataObject) -> None:
    n = presence.shape[1]
    seeds = np.array(data.draw(st.lists(st.integers(0, n - 1), unique=True)), np.int64)
    found = profiles.correlations(sparse.csr_array(presence), seeds)
    spread = presence.std(axis=0) > 0.0
    expected = correlations(presence) + np.diag(spread)
    assert found == pytest.approx(expected[:, seeds])


@given(
    st.tuples(st.integers(1, 9), st.integers(1, 3)).flatmap(
        lambda shape: nps.arrays(np.float32, shape, elements=st.integers(-3, 3))
    ),
    st.integers(1, 4),
    st.integers(1, 4),
    st.data(),
)
def test_nearest_rows_against_numpy(vectors: np.ndarray, k: int, block: int, data: st.DataObject) -> None:
    varied = np.array(data.draw(st.lists(st.booleans(), min_size=len(vectors), max_size=len(vectors))))
    distances = np.linalg.norm(vectors[:, None] - vectors, axis=2)
    nearness = np.where(varied[:, None] & varied & ~np.eye(len(vectors), dtype=bool), 1.0 / (1.0 + distances), 0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(profiles, "ROWS_PER_PRODUCT", block)
        found = sparse.vstack(list(profiles.nearest_in_blocks(vectors, varied, k)))
    np.testing.assert_array_equal(found.toarray(), naive_nearest(nearness, k, 0.0) > 0.0)


def test_features_that_go_with_the_same_seeds() -> None:
    # "fine" and "great" share no document, but both go with "good"; "dull" goes with "bad".
    texts = ["good fine", "good great", "bad dull", "bad", "good fine the", "good great the", "bad dull the", "the"]
    features = CorpusVocabulary.of_documents([text.split() for text in texts])

    def seeds(vocabulary: CorpusVocabulary) -> FeatureGraph:
        own = np.zeros((3, 3))
        own[:2, 2] = 1.0
        names = (("good",), ("bad",), ("class",))
        return FeatureGraph(names, np.arange(3) == 2, sparse.csr_array(own), sparse.csr_array((3, 3)))

    graph = Cooccurrence("profile", neighbours=1, seeds=seeds)(features)
    edges = edges_of(graph)
    assert edges["fine", "great"] == edges["great", "fine"] == 1.0
    assert edges["dull", "bad"] == 1.0
    assert edges["good", "class"] == 1.0
    assert ("dull", "fine") not in edges
    assert graph.report["documents"] == 8
    # Without a seed in the corpus, profiles say nothing.
    nothing = Cooccurrence("profile", seeds=no_graph)(features)
    assert nothing.n_vertices == 0


def no_graph(_: CorpusVocabulary) -> FeatureGraph:
    return FeatureGraph((), np.zeros(0, np.bool_), sparse.csr_array((0, 0)), sparse.csr_array((0, 0)))


def test_neighbours_are_those_of_any_block(monkeypatch: pytest.MonkeyPatch) -> None:
    presence = np.random.default_rng(1).integers(0, 2, (30, 11)).astype(np.int8)
    expected = Cooccurrence(neighbours=4)(corpus_of(presence)).to_bytes()
    monkeypatch.setattr(cooccurrence, "FEATURES_PER_CALL", 3)
    assert Cooccurrence(neighbours=4)(corpus_of(presence)).to_bytes() == expected


def test_correlation_is_that_of_numpy() -> None:
    presence = np.random.default_rng(0).integers(0, 2, (50, 6))
    expected = np.corrcoef(presence.T) - np.eye(6)
    assert correlations(presence) == pytest.approx(expected)


def test_counting_needs_documents() -> None:
    with pytest.raises(ValueError, match="Cooccurrence needs the documents of each feature"):
        Cooccurrence()(CorpusVocabulary.of([("a",)]))
    with pytest.raises(ValueError, match="Cooccurrence needs the documents of each feature"):
        Cooccurrence()([("a",)])


def test_vocabularies_of_documents() -> None:
    features = CorpusVocabulary.of_documents([["a", "b", "a"], ["b"], ["c"]], max_length=2, min_df=1)
    assert features.vertices == (("a",), ("a", "b"), ("b",), ("b", "a"), ("c",))
    assert features.documents("test").toarray().tolist() == [[1, 1, 1, 1, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 1]]
    assert CorpusVocabulary.of_documents([["a", "b"], ["b"]], min_df=2).vertices == (("b",),)
    assert CorpusVocabulary.of([("a",), ("a",)]).vertices == (("a",),)
    with pytest.raises(ValueError, match=r"tuples of symbols, such as \('good',\), and not 'good'"):
        CorpusVocabulary.of(["good"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="names that differ"):
        CorpusVocabulary((("a",), ("a",)))
    with pytest.raises(ValueError, match="do not fit"):
        CorpusVocabulary((("a",),), sparse.csr_array((2, 3)))
    with pytest.raises(ValueError, match=r"Documents are lists of symbols, .* and not texts: 'a b'"):
        CorpusVocabulary.of_documents(["a b", "b"])


# Lists of edges


def listed(tmp_path: Path, text: str, **options: Any) -> EdgeList:
    path = tmp_path / "edges.tsv"
    path.write_text(text, encoding="utf-8")
    return EdgeList(path, **options)


def test_edge_lists(tmp_path: Path) -> None:
    text = "not good\tbad\t0.5\n\ngood\tbad\t-2\nbad\tnot good\t0.5\nbad\tunknown\t1\nbad\tbad\t1\nbad\tfilm\t0\r\n"
    graph = listed(tmp_path, text)(vocabulary("bad", "good", "not good", "film"))
    assert graph.vertices == (("bad",), ("good",), ("not", "good"))
    assert edges_of(graph) == {("not good", "bad"): 0.5, ("bad", "not good"): 0.5}
    assert edges_of(graph, "dissimilar") == {("good", "bad"): 2.0, ("bad", "good"): 2.0}
    assert graph.report == {
        "vertices": 3,
        "virtual": 0,
        "edges": {"similar": 2, "dissimilar": 2},
        "coverage": {"vocabulary": 4, "covered": 3, "share": 0.75},
        "skipped": {"unknown_features": 1, "self_loops": 1, "zero_weights": 1},
    }


def test_the_memory_of_an_edge_list(tmp_path: Path) -> None:
    n = 400
    path = tmp_path / "edges.tsv"
    path.write_text("".join(f"word{i}\tword{j}\t0.5\n" for i in range(n) for j in range(i)), encoding="utf-8")
    builder, vocabulary = EdgeList(path), [(f"word{i}",) for i in range(n)]
    builder(vocabulary[:2])  # imports
    tracemalloc.start()
    try:
        builder(vocabulary)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200 * n * (n - 1) / 2


def test_edge_lists_with_directions_and_classes(tmp_path: Path) -> None:
    words = vocabulary("bad", "good", "poor")
    assert edges_of(listed(tmp_path, "bad\tpoor\t1\n", directed=True)(words)) == {("bad", "poor"): 1.0}
    text = "*neg\tbad\t1\npoor\t*neg\t1\ngood\t*pos\t1\n*neg\t*pos\t-1\n"
    for directed in (False, True):
        graph = listed(tmp_path, text, virtual="*", directed=directed)(words)
        assert edges_of(graph) == {("bad", "*neg"): 1.0, ("poor", "*neg"): 1.0, ("good", "*pos"): 1.0}
        assert graph.virtual.tolist() == [False, False, False, True, True]
        assert edges_of(graph, "dissimilar")["*neg", "*pos"] == 1.0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("good\tbad", "there must be 3 columns, separated by tabs, but there are 2"),
        ("good\tbad\t1\tmore", "but there are 4"),
        ("good\tbad\thalf", "'half' is not a number"),
        ("good\tbad\tNaN", "the weight is nan"),
        ("good\tbad\t-inf", "the weight is -inf"),
        ("good\t \t1", "a feature has no name"),
        ("bad\tgood\t3", r"has the weight 3.0, but 1.0 in line 1"),
    ],
)
def test_lines_that_are_no_edges(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(ValueError, match=rf"edges\.tsv, line 3: .*{message}"):
        listed(tmp_path, f"good\tbad\t1\n\n{line}\n")(vocabulary("good", "bad"))


@pytest.mark.parametrize(("first", "second"), [("0", "1"), ("-1", "0")])
def test_a_weight_of_0_contradicts_another(tmp_path: Path, first: str, second: str) -> None:
    edges = listed(tmp_path, f"film\tmovie\t{first}\nmovie\tfilm\t{second}\n")
    with pytest.raises(ValueError, match=rf"line 2: the edge has the weight {second}\.0, but {first}\.0 in line 1"):
        edges(vocabulary("film", "movie"))


def test_text_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "edges.tsv"
    path.write_bytes(b"\xef\xbb\xbfgood\tbad\t1\n\xff\n")
    with pytest.raises(ValueError, match="line 2: not UTF-8"):
        EdgeList(path)([])
    packed = tmp_path / "edges.tsv.gz"
    packed.write_bytes(gzip.compress(b"good\tbad\t1\n" * 1000)[:-12])
    with pytest.raises(ValueError, match="compressed file is damaged"):
        list(text_lines(packed))
    with pytest.raises(FileNotFoundError, match="no graph at"):
        EdgeList(tmp_path / "none")([])


def test_features_of_an_edge_list(tmp_path: Path) -> None:
    edges = listed(tmp_path, "not good\tbad\t1\n*class\tbad\t1\n", virtual="*")
    assert edges.features().vertices == (("bad",), ("not", "good"))
    with pytest.raises(ValueError, match="line 1: there must be 3 columns"):
        listed(tmp_path, "good bad 1\n").features()


# Several graphs


def fixed(edges: dict[str, float]) -> Callable[[CorpusVocabulary], FeatureGraph]:
    return lambda vocabulary: graph_of(edges).restricted_to(vocabulary)


WORDS = vocabulary("a", "b", "c", "d")


def test_weights_of_several_graphs_are_summed() -> None:
    builders = {"first": fixed({"a b": 1.0, "b c": 1.0}), "second": fixed({"a b": 2.0, "c d": -1.0})}
    graph = MergedGraphs(builders, weights={"second": 0.5})([*WORDS, ("e",)])
    edges = edges_of(graph)
    assert edges["a", "b"] == edges["b", "a"] == 2.0
    assert edges["b", "c"] == 1.0
    assert edges_of(graph, "dissimilar")["c", "d"] == 0.5
    assert graph.report["coverage"] == {"vocabulary": 5, "covered": 4, "share": 0.8}
    assert {name: report["edges"] for name, report in graph.report["graphs"].items()} == {
        "first": {"similar": 4, "dissimilar": 0},
        "second": {"similar": 2, "dissimilar": 2},
    }
    assert json.loads(json.dumps(graph.report)) == graph.report


def test_a_graph_twice_is_a_graph_of_twice_the_weight() -> None:
    own, other = fixed({"a b": 1.0}), fixed({"b c": 1.0, "a d": -1.0})
    twice = MergedGraphs({"own": own, "again": own, "other": other})(WORDS)
    weighted = MergedGraphs({"own": own, "other": other}, weights={"own": 2.0})(WORDS)
    assert twice.vertices == weighted.vertices
    assert edges_of(twice) == edges_of(weighted)


def test_weights_of_normalised_graphs_are_shares() -> None:
    many, one = fixed({"a b": 5.0, "a c": 5.0}), fixed({"a d": 0.1})
    P, _ = MergedGraphs({"many": many, "one": one}, weights={"one": 3.0}, normalise=True)(WORDS).row_normalised()
    assert P.toarray()[0] == pytest.approx([0.0, 0.125, 0.125, 0.75])


def test_what_is_dissimilar_in_one_graph_is_not_similar() -> None:
    builders = {"near": fixed({"a b": 1.0, "b c": 1.0}), "opposites": fixed({"a b": -1.0})}
    graph = MergedGraphs(builders)(WORDS)
    assert set(edges_of(graph)) == {("b", "c"), ("c", "b")}
    assert graph.report["skipped"]["similar_edges_of_opposites"] == 2
    # A graph of weight 0 is left out.
    assert ("a", "b") in edges_of(MergedGraphs(builders, weights={"opposites": 0.0})(WORDS))


def test_several_graphs_of_a_config(wndb: Path, sentiment: Path, tmp_path: Path) -> None:
    listed(tmp_path, "boat\tgrand\t2\n")
    text = f"""
    [network]
    @graft_graphs = "spacy_graft.MergedGraphs.v1"
    weights = {{"own": 0.5}}

    [network.graphs]

    [network.graphs.wordnet]
    @graft_graphs = "spacy_graft.WordNet.v1"
    path = "{wndb.as_posix()}"

    [network.graphs.sentiment]
    @graft_graphs = "spacy_graft.SentiWordNet.v1"
    path = "{sentiment.as_posix()}"

    [network.graphs.own]
    @graft_graphs = "spacy_graft.EdgeList.v1"
    path = "{(tmp_path / "edges.tsv").as_posix()}"
    """
    network = registry.resolve(Config().from_str(dedent(text)))["network"]
    graph = network(vocabulary("boat", "canoe", "grand"))
    edges = edges_of(graph)
    assert edges["boat", "canoe"] == 0.5
    assert edges["boat", "grand"] == 1.0
    assert edges["grand", " ".join(POSITIVE_CLASS)] == 1.0
    assert list(graph.report["graphs"]) == ["wordnet", "sentiment", "own"]
    again = FeatureGraph.from_bytes(graph.to_bytes())
    assert again.restricted_to(vocabulary("boat", "canoe")).report["graphs"] == graph.report["graphs"]


# Options and registry


@pytest.mark.parametrize(
    ("builder", "options", "message"),
    [
        (WordNet, {"synonym": -1.0}, "synonym must be a number"),
        (WordNet, {"decay": float("nan")}, "decay must be a number"),
        (WordNet, {"max_distance": 0}, "max_distance must be an integer"),
        (WordNet, {"decay": 10.0, "max_distance": 400}, r"decay and max_distance .* but are 10\.0 and 400"),
        (WordNet, {"max_senses": 0}, "max_senses must be an integer"),
        (SentiWordNet, {"positive": 0.0}, "must be above 0"),
        (SentiWordNet, {"neighbours": -1}, "neighbours must be an integer of at least 0, but is -1"),
        (SentiWordNet, {"neighbours": 1.5}, "neighbours must be an integer of at least 0, but is 1.5"),
        (SentiWordNet, {"neighbours": None}, "neighbours must be an integer of at least 0, but is None"),
        (SentiWordNet, {"min_df": None}, "min_df must be an integer of at least 1, but is None"),
        (WordNet, {"max_distance": None}, "max_distance must be an integer of at least 1, but is None"),
        (SentiWordNet, {"min_df": 0}, "min_df must be"),
        (Cooccurrence, {"measure": "euclid"}, "no measure 'euclid'"),
        (Cooccurrence, {"neighbours": 0}, "neighbours must be"),
        (Cooccurrence, {"minimum": -0.5}, "minimum must be"),
        (Cooccurrence, {"seeds": SentiWordNet()}, "seeds are allowed only with"),
        (Cooccurrence, {"measure": "profile"}, "profile needs seeds"),
        (Cooccurrence, {"measure": "profile", "minimum": 0.5}, "minimum is allowed only with"),
        (MergedGraphs, {"graphs": {}}, "graphs must be builders"),
        (MergedGraphs, {"graphs": {"a": "WordNet"}}, "graphs must be builders"),
        (
            MergedGraphs,
            {"graphs": {"a": WordNet()}, "weights": {"b": 1.0}},
            "weights must be numbers by the names of graphs, 'a', but are {'b': 1.0}",
        ),
        (MergedGraphs, {"graphs": {"a": WordNet()}, "weights": [1.0]}, r"weights must be numbers .* but are \[1.0\]"),
        (MergedGraphs, {"graphs": {"a": WordNet()}, "weights": {"a": -1.0}}, "weights.a must be a number"),
    ],
)
def test_options_out_of_range(builder: type, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        builder(**options)


@pytest.mark.parametrize("builder", [lambda _: None, SentiWordNet, "SentiWordNet"])
def test_seeds_and_members_that_make_no_graph(builder: Any) -> None:
    features = CorpusVocabulary.of_documents([["a", "b"], ["c"]])
    with pytest.raises(ValueError, match=r"Cooccurrence: seeds must be a graph builder, .* but is "):
        Cooccurrence("correlation", seeds=builder)(features)
    if callable(builder):
        with pytest.raises(ValueError, match=r"MergedGraphs: graphs\.a must be a graph builder, .* but is "):
            MergedGraphs({"a": builder})(features)


def test_every_builder_is_registered_and_declared() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    declared = project["project"]["entry-points"]["spacy_graft_graphs"]
    builders = (WordNet, SentiWordNet, Cooccurrence, EdgeList, GraphFile, MergedGraphs)
    assert declared == {
        f"spacy_graft.{builder.__name__}.v1": f"{builder.__module__}:{builder.__name__}.registered"
        for builder in builders
    }
    for builder in builders:
        assert registry.get("graft_graphs", f"spacy_graft.{builder.__name__}.v1") is builder.registered


def test_builders_of_a_config(wndb: Path, sentiment: Path) -> None:
    config = {
        "wordnet": {"@graft_graphs": "spacy_graft.WordNet.v1", "path": str(wndb)},
        "sentiment": {
            "@graft_graphs": "spacy_graft.Cooccurrence.v1",
            "measure": "correlation",
            "seeds": {"@graft_graphs": "spacy_graft.SentiWordNet.v1", "path": str(sentiment), "neighbours": 0},
        },
        "edges": {"@graft_graphs": "spacy_graft.EdgeList.v1", "path": "edges.tsv"},
    }
    resolved = registry.resolve(config)
    # spaCy would make a dict of a dataclass.
    assert resolved["wordnet"].__self__ == WordNet(str(wndb))
    features = CorpusVocabulary.of_documents([["grand", "film"], ["grand", "film"], ["grim"]])
    edges = edges_of(resolved["sentiment"](features))
    assert edges["film", "grand"] == edges["grand", "film"] == pytest.approx(1.0)
    assert edges["grim", " ".join(NEGATIVE_CLASS)] == 1.0


# The real resources


@needs_data
def test_all_synsets_are_read() -> None:
    database = WordNetDatabase.read(WORDNET.folder(DATA / "nltk_data"))
    assert database.n_synsets == 117_659
    assert len({lemma for _, lemma in database.senses}) == 147_306
    assert database.lemmas("mice", "n") == ["mouse"]


@needs_data
def test_known_relations() -> None:
    names = vocabulary(
        "good ADJ", "bad ADJ", "dog", "canine", "carnivore", "ice cream", "frozen dessert", "films", "movie"
    )
    graph = WordNet(DATA / "nltk_data")(names)
    assert edges_of(graph, "dissimilar")["good ADJ", "bad ADJ"] == 1.0
    similar = edges_of(graph)
    assert similar["dog", "canine"] == similar["ice cream", "frozen dessert"] == 0.5
    assert similar["dog", "carnivore"] == 0.25
    assert similar["films", "movie"] == 1.0
    assert ("dog", "movie") not in similar


@needs_data
def test_known_scores() -> None:
    assert SENTIWORDNET.folder(DATA / "nltk_data").is_dir()
    senses = read_senses(DATA / "nltk_data")
    assert len({lemma for _, lemma in senses}) == 147_306
    good, bad, table = word_scores(senses, vocabulary("good ADJ", "bad ADJ", "table NOUN"))
    assert good > 0.5
    assert bad < -0.5
    assert table == pytest.approx(0.0, abs=0.05)


@pytest.mark.skipif(os.name == "nt", reason="Windows has homes of another kind")
def test_nltk_is_searched_for_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a user without a name, as in containers."""

    def no_such_user(number: int) -> None:
        raise KeyError(number)

    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", no_such_user)
    assert Path(sys.prefix, "nltk_data") in nltk_folders()
