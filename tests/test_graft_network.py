"""A network of features in the objective, against everything written out: enumeration, dense optima, differences."""

from __future__ import annotations

from dataclasses import replace
from functools import partialmethod

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from naive import code_points, dense_optimum, distinct_columns, ngram_documents, optimum_of_labels, softmax
from spacy_graft import CoordinateAscent, Grafting, GraftingPath
from spacy_graft.graft import network as network_module
from spacy_graft.graft.network import Network, NetworkPenalty
from spacy_graft.graft.settings import NETWORK_KINDS, UNLINKED
from spacy_graft.graft.start import start
from spacy_graft.graphs.graph import FeatureGraph
from spacy_graft.index.items import ItemIndex
from spacy_graft.index.places import InMemory
from spacy_graft.solve import design as design_module
from spacy_graft.solve.design import as_lanes
from spacy_graft.solve.quadratic import QuadraticFace, QuadraticModel
from strategies import labelled, training_data
from test_graft import objective_of, run, scores_of, texts_of

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar")
few = settings(max_examples=min(30, settings().max_examples))
seeds = st.integers(0, 999)
kinds = st.sampled_from(NETWORK_KINDS)
unlinked = st.sampled_from(UNLINKED)
ridges = st.sampled_from([0.0, 0.1])
l1s = st.sampled_from([0.1, 0.4, 1.0])
UNSEEN = "unseen"


def random_graph(names, n_virtual, seed):
    """Edges of both kinds between some; classes have none to their members."""
    rng = np.random.default_rng(seed)
    n = len(names) + n_virtual
    matrices = []
    for density in (0.5, 0.2):
        matrix = rng.uniform(0.2, 2.0, (n, n)) * (rng.random((n, n)) < density)
        np.fill_diagonal(matrix, 0.0)
        matrix[len(names) :, : len(names)] = 0.0
        matrices.append(sparse.csr_array(matrix))
    vertices = (*((name,) for name in names), *((f"class {c}",) for c in range(n_virtual)))
    return FeatureGraph(vertices, np.arange(n) >= len(names), *matrices)


def network_over(texts, names, n_virtual, seed):
    """A network over n-grams of characters."""
    documents = ngram_documents(texts)
    columns = [documents.get(name, ()) for name in names]
    symbols = np.fromiter(map(code_points, names), object, len(names))
    starts = np.concatenate([[0], np.cumsum([len(column) for column in columns])]).astype(np.int64)
    index = ItemIndex(symbols, starts, np.array([i for its in columns for i in its], np.int32), np.empty(0), len(texts))
    return Network(random_graph(names, n_virtual, seed), np.full(len(names), "characters", object), index)


def vertices_of(texts, seed):
    """Some n-grams, of equal columns too, and one that no document has."""
    rng = np.random.default_rng(seed)
    ngrams = sorted(ngram_documents(texts))
    return [ngrams[k] for k in np.sort(rng.choice(len(ngrams), min(5, len(ngrams)), replace=False))] + [UNSEEN]


def form_of(graph, learner):
    """M over all vertices, virtual ones last."""
    strengths = learner.network_alpha, learner.network_gamma
    factor = graph.tikhonov_matrix(*strengths, learner.network_kind, learner.network_unlinked).toarray()
    return factor.T @ factor


def whole_space(texts, network, learner):
    """The matrix of all features, virtual vertices last, their λ, and M: the twin's."""
    documents = ngram_documents(texts)
    names = [
        vertex[0] for vertex, virtual in zip(network.graph.vertices, network.graph.virtual, strict=True) if not virtual
    ]
    taken = {documents.get(name) for name in names}
    others = [name for name in distinct_columns(texts)[0] if documents[name] not in taken]
    n_virtual = int(network.graph.virtual.sum())
    matrix = np.zeros((len(texts), len(others) + len(names) + n_virtual))
    for column, name in enumerate([*others, *names]):
        matrix[list(documents.get(name, ())), column] = 1.0
    form = np.zeros((matrix.shape[1], matrix.shape[1]))
    form[len(others) :, len(others) :] = form_of(network.graph, learner)
    if learner.network_unlinked == "to_zero":
        form[: len(others), : len(others)] = learner.network_alpha * np.eye(len(others))
    penalty = np.ones(matrix.shape[1])
    penalty[len(others) + len(names) :] = 0.0
    return [*others, *names], matrix, penalty, form


def weights_of(solution, texts, names, n_columns):
    """W of the twin's columns, virtual vertices at 0. Vertices have names; others have the column of a name."""
    documents = ngram_documents(texts)
    places = {documents.get(name): k for k, name in reversed(list(enumerate(names)))}
    weights = np.zeros((n_columns, solution.weights.shape[1]))
    for name, row in zip(texts_of(solution.terms), solution.weights, strict=True):
        weights[names.index(name) if name in names else places[documents[name]]] = row
    return weights


def at_best(weights, form, n_virtual):
    """Weights with those of the virtual vertices at their minimum."""
    n = len(form) - n_virtual
    weights = weights.copy()
    weights[n:] = -np.linalg.pinv(form[n:, n:]) @ form[n:, :n] @ weights[:n]
    return weights


# The quadratic form


@given(seeds, st.integers(0, 3), kinds, st.sampled_from([0.0, 0.7]))
def test_products_are_the_least_penalty_over_the_classes(seed, n_virtual, kind, gamma):
    graph = random_graph("abcdef", n_virtual, seed)
    learner = Grafting(l1=1.0, network_alpha=1.3, network_gamma=gamma, network_kind=kind)
    penalty, form = NetworkPenalty(graph, learner), form_of(graph, learner)
    weights = np.random.default_rng(seed).normal(size=(6, 2))
    whole = at_best(np.vstack([weights, np.zeros((n_virtual, 2))]), form, n_virtual)
    np.testing.assert_allclose(penalty.product(weights), (form @ whole)[:6], atol=1e-7)
    some = np.array([4, 0, 3])
    np.testing.assert_allclose(penalty.among(some).toarray(), penalty.product(np.eye(6))[np.ix_(some, some)], atol=1e-7)


@given(seeds, st.integers(0, 3), st.integers(1, 9))
def test_products_add_the_edges_in_their_order(seed, n_virtual, n_labels):
    """The bits of a plain loop over sparse rows, for any number of threads."""
    penalty = NetworkPenalty(random_graph("abcdef", n_virtual, seed), Grafting(l1=1.0))
    weights = np.random.default_rng(seed).normal(size=(6, n_labels))
    assert_in_order(penalty, penalty.product, weights)


@given(seeds, st.integers(0, 3), st.integers(1, 9))
def test_products_of_lanes_are_those_of_their_precision(seed, n_virtual, n_labels):
    """The same bits for any number of threads."""
    penalty = NetworkPenalty(random_graph("abcdef", n_virtual, seed), Grafting(l1=1.0))
    lanes = as_lanes(np.random.default_rng(seed).normal(size=(n_labels, 6)), single=True)
    assert_in_order(penalty, penalty.product_of_lanes, lanes)


def assert_in_order(penalty, product, vectors):
    """A product of the penalty has these bits for any number of threads."""
    rows = in_order(sparse.csr_array(penalty.by_feature), vectors)
    if penalty.classes is not None:
        rows -= penalty.of_classes @ penalty.classes.solve(penalty.of_classes.T @ rows)
    expected = in_order(sparse.csr_array(penalty.by_feature.T), rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(design_module, "THREADS_FROM", 0)
        for penalty.n_threads in (1, 2, 3):
            np.testing.assert_array_equal(product(vectors), expected)


def in_order(matrix, vectors):
    """The product of a sparse matrix with vectors (n, columns), entry by entry, in their precision."""
    product = np.zeros((matrix.shape[0], vectors.shape[1]), vectors.dtype)
    values = matrix.data.astype(vectors.dtype)
    for k in range(len(product)):
        for e in range(matrix.indptr[k], matrix.indptr[k + 1]):
            product[k] += values[e] * vectors[matrix.indices[e]]
    return product


def written_and_not(penalty, features, labels):
    """The coupling as a matrix and as an operator, which few pairs do not get."""
    written = penalty.written_coupling(features, labels, 0.5)
    return written, penalty._not_written(features, labels, 0.5, np.flatnonzero(features >= 0))


@given(seeds)
def test_the_gradient_is_that_of_the_penalty(seed):
    rng = np.random.default_rng(seed)
    penalty = NetworkPenalty(random_graph("abcdef", 2, seed), Grafting(l1=1.0, network_unlinked="to_zero"))
    features, labels = np.array([2, -1, 0, 5, 2]), np.array([0, 0, 0, 1, 1])
    weights, direction, h = rng.normal(size=5), rng.normal(size=5), 1e-5
    for coupling in written_and_not(penalty, features, labels):
        difference = coupling.penalty(weights + h * direction) - coupling.penalty(weights - h * direction)
        assert difference / (2 * h) == pytest.approx(coupling.gradient(weights) @ direction, abs=1e-6)
        assert coupling.penalty(weights) >= 0.0
        assert coupling.gradient(weights)[1] == pytest.approx(weights[1])


@given(seeds)
def test_all_vertices_in_order_are_multiplied_in_place(seed):
    penalty = NetworkPenalty(random_graph("abcdef", 2, seed), Grafting(l1=1.0))
    features, labels = np.tile(np.arange(6), 3), np.repeat(np.arange(3), 6)
    order = np.random.default_rng(seed).permutation(18)
    weights = np.random.default_rng(seed).normal(size=18)
    _, in_place = written_and_not(penalty, features, labels)
    _, moved = written_and_not(penalty, features[order], labels[order])
    before = weights.copy()
    np.testing.assert_array_equal(in_place.gradient(weights)[order], moved.gradient(weights[order]))
    np.testing.assert_array_equal(weights, before)


@given(seeds, st.permutations([2, -1, 0, 5, 3]), unlinked)
def test_an_operator_multiplies_lanes_as_pairs(seed, features, to_zero):
    """Where every label has every feature, in any order and whether they are vertices or not."""
    penalty = NetworkPenalty(random_graph("abcdef", 2, seed), Grafting(l1=1.0, network_unlinked=to_zero))
    for of_label in (np.array(features), np.arange(6)):  # all vertices in order are not moved
        _, operator = written_and_not(penalty, np.tile(of_label, 3), np.repeat(np.arange(3), len(of_label)))
        weights = np.random.default_rng(seed).normal(size=(3, len(of_label)))
        exact = operator.gradient(weights.reshape(-1)).reshape(3, -1).T
        lanes = as_lanes(weights)
        np.testing.assert_allclose(2.0 * operator.matrix.product_of_lanes(lanes)[:, :3], exact, atol=1e-9)
        np.testing.assert_array_equal(lanes[:, :3], weights.T)
        single = operator.matrix.product_of_lanes(as_lanes(weights, single=True))
        assert single.dtype == np.float32
        np.testing.assert_allclose(2.0 * single[:, :3], exact, atol=1e-4)


@given(seeds)
def test_written_down_or_not_it_is_the_same(seed):
    penalty = NetworkPenalty(random_graph("abcdef", 2, seed), Grafting(l1=1.0, network_unlinked="to_zero"))
    features, labels = np.array([2, -1, 0, 5, 2]), np.array([0, 0, 0, 1, 1])
    written, operator = written_and_not(penalty, features, labels)
    weights = np.random.default_rng(seed).normal(size=5)
    exact = written.gradient(weights)
    np.testing.assert_allclose(operator.gradient(weights), exact, atol=1e-9)
    np.testing.assert_allclose(np.diag(operator.block(np.arange(5))), operator.diagonal)
    assert (operator.diagonal >= written.diagonal - 1e-9).all()
    chosen = np.array([0, 2, 4])
    np.testing.assert_array_equal(written.some(chosen).matrix.toarray(), written.block(chosen))


# The optimum


@few
@given(
    st.sampled_from([2, 3]).flatmap(lambda n: labelled(labels=n)),
    seeds,
    l1s,
    ridges,
    kinds,
    st.integers(0, 2),
    unlinked,
)
def test_optimum_over_the_whole_space(corpus, seed, l1, ridge, kind, n_virtual, to_zero):
    texts, targets = corpus
    assume(any(texts))
    network = network_over(texts, vertices_of(texts, seed), n_virtual, seed)
    learner = Grafting(
        l1=l1, ridge=ridge, tol=1e-7, n_best=3, network_alpha=0.5, network_gamma=0.3, network_kind=kind,
        network_unlinked=to_zero,
    )  # fmt: skip
    fit = run(learner, replace(training_data(texts, targets), network=network))
    assert_optimal(fit, texts, targets, network, learner)


def assert_optimal(fit, texts, targets, network, learner):
    """The dense optimum, a gap that bounds the distance to it, and KKT over every feature."""
    importance, report, solution = np.ones(len(texts)), fit.report, fit.solution()
    names, matrix, penalty, form = whole_space(texts, network, learner)
    n_labels = targets.shape[1]
    by_label = np.repeat(penalty[:, None], n_labels, axis=1)
    optimum, _, _ = dense_optimum(matrix, targets, importance, learner.l1, learner.ridge, by_label, form)
    weights = at_best(weights_of(solution, texts, names, matrix.shape[1]), form, matrix.shape[1] - len(names))
    objective = objective_of(solution, texts, targets, importance, importance, learner.l1, learner.ridge)
    objective += (weights * (form @ weights)).sum()
    size = 1e-6 * (1.0 + optimum)
    assert report.converged
    assert report.objective == pytest.approx(objective, abs=size)
    assert objective == pytest.approx(optimum, abs=1e-5 * (1.0 + optimum))
    assert report.duality_gap >= -1e-9
    assert report.duality_gap >= objective - optimum - size
    residuals = targets - softmax(scores_of(solution, texts, importance))
    gradients = matrix.T @ residuals - 2.0 * form @ weights - 2.0 * learner.ridge * by_label**2 * weights
    assert np.abs(gradients).max(initial=0.0) <= learner.l1 * 1.02 + 1e-3


@few
@given(labelled(labels=2), seeds, l1s)
def test_labels_that_do_not_exclude_each_other(corpus, seed, l1):
    texts, _ = corpus
    assume(any(texts))
    targets = np.random.default_rng(seed).integers(0, 2, (len(texts), 2)).astype(float)
    assume((targets.min(axis=0) < targets.max(axis=0)).all())
    network = network_over(texts, vertices_of(texts, seed), 1, seed)
    learner = Grafting(l1=l1, tol=1e-7)
    fit = run(learner, replace(training_data(texts, targets, exclusive=False), network=network))
    _, matrix, penalty, form = whole_space(texts, network, learner)
    total = optimum_of_labels(matrix, targets, np.ones(targets.shape, np.bool_), l1, penalty, form)
    assert fit.report.objective == pytest.approx(total, abs=1e-4 * (1 + total))


@few
@given(labelled(labels=3), seeds, kinds, st.sampled_from([None, 0.2]), unlinked)
def test_ridge_and_network_without_l1(corpus, seed, kind, threshold, to_zero):
    """The model of the paper; with a threshold, features are selected one by one."""
    texts, targets = corpus
    assume(any(texts))
    network = network_over(texts, vertices_of(texts, seed), 2, seed)
    learner = Grafting(
        penalty="l2", ridge=0.3, tol=1e-7, min_gradient=threshold, network_kind=kind, network_unlinked=to_zero
    )
    fit = run(learner, replace(training_data(texts, targets), network=network))
    names, matrix, penalty, form = whole_space(texts, network, learner)
    solution = fit.solution()
    weights = at_best(weights_of(solution, texts, names, matrix.shape[1]), form, 2)
    gradients = matrix.T @ (targets - softmax(scores_of(solution, texts, np.ones(len(texts))))) - 2.0 * form @ weights
    assert fit.report.converged
    assert np.abs(gradients[weights == 0.0]).max(initial=0.0) <= 0.2 + 1e-4
    assert -1e-9 <= fit.report.duality_gap <= 1e-4 * (1.0 + fit.report.objective)
    if threshold is None:
        by_label = np.repeat(penalty[:, None], 3, axis=1)
        optimum, _, _ = dense_optimum(matrix, targets, np.ones(len(texts)), 0.0, 0.3, by_label, form)
        assert fit.report.objective == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize("learner", [Grafting(l1=0.3, ridge=0.1), Grafting(penalty="l2", ridge=0.3)])
def test_a_fit_is_the_same_in_threads(learner, monkeypatch):
    monkeypatch.setattr(design_module, "THREADS_FROM", 0)
    monkeypatch.setattr(network_module, "LARGEST_BLOCK", 0)
    texts = ["film movie", "good film", "bad movie", "fine good", "bad poor", "poor fine movie"]
    data = training_data(texts, np.eye(3)[[0, 1, 2, 1, 2, 0]])
    data = replace(data, network=network_over(texts, vertices_of(texts, 0), 2, 0))
    one, three = (run(learner, replace(data, place=InMemory(threads))) for threads in (1, 3))
    assert one.report.converged
    assert (one.report.objective, one.report.duality_gap) == (three.report.objective, three.report.duality_gap)
    assert texts_of(one.solution().terms) == texts_of(three.solution().terms)
    np.testing.assert_array_equal(one.solution().weights, three.solution().weights)


@few
@given(labelled(labels=3), seeds)
def test_the_path_is_certified_and_refitted_with_the_network(corpus, seed):
    texts, targets = corpus
    assume(any(texts))
    network = network_over(texts, vertices_of(texts, seed), 1, seed)
    learner = GraftingPath(
        ridge=0.1, steps=3, l1_min_ratio=0.2, refit=0.5, tol=1e-7, penalty_weights="none", ngram_power=0.0,
        balance=0.0, length_normalisation=False,
    )  # fmt: skip
    fit = run(learner, replace(training_data(texts, targets), network=network))
    names, matrix, _, form = whole_space(texts, network, learner)
    assert fit.report.relative_gap <= 1e-6
    weights = weights_of(fit.solution(), texts, names, matrix.shape[1])
    # Of the features that were selected, the weights are those of the least loss, ridge and network.
    used = np.flatnonzero(weights.any(axis=1))
    kept = np.concatenate([used, [matrix.shape[1] - 1]])
    by_label = np.ones((len(kept), 3))
    by_label[-1] = 0.0
    _, expected, _ = dense_optimum(
        matrix[:, kept], targets, np.ones(len(texts)), 0.0, 0.5, by_label, form[np.ix_(kept, kept)]
    )
    np.testing.assert_allclose(weights[used], expected[:-1], atol=1e-3)


def test_vertices_are_penalised_by_their_lengths() -> None:
    """As the n-grams that they are: a network of next to no strength changes nothing."""
    texts, targets = ["ab", "ba", "cab", "bca"], np.eye(2)[[0, 1, 0, 1]]
    learner = Grafting(l1=0.1, tol=1e-9, ngram_power=1.0, network_alpha=1e-9, network_gamma=1e-9)
    data = training_data(texts, targets)
    alone = run(learner, data).report.objective
    names = [name for name in distinct_columns(texts)[0] if len(name) > 1]
    assert names
    linked = run(learner, replace(data, network=network_over(texts, names, 1, 1))).report.objective
    assert linked == pytest.approx(alone, rel=1e-6)
    assert alone != pytest.approx(run(replace(learner, ngram_power=0.0), data).report.objective, rel=1e-3)


def test_large_networks_are_not_written_down(monkeypatch):
    texts, targets = ["ab", "ba", "aab", "b", "c", "cab"], np.eye(3)[[0, 1, 0, 1, 2, 2]]
    data = replace(training_data(texts, targets), network=network_over(texts, ["a", "b", "ab"], 1, 1))
    learner = Grafting(penalty="l2", ridge=0.2, tol=1e-9)
    written = run(learner, data)
    monkeypatch.setattr(network_module, "LARGEST_BLOCK", 1)
    assert run(learner, data).report.objective == pytest.approx(written.report.objective, rel=1e-9)


@pytest.mark.slow
@few
@given(labelled(labels=3), seeds, st.sampled_from([1e-3, 1.0, 1e6]), st.sampled_from([1e-3, 1e-1]))
def test_single_precision_changes_no_optimum(corpus, seed, alpha, ridge):
    """Not even where the network is 10⁹ times as steep in some directions as the ridge in others."""
    texts, targets = corpus
    assume(any(texts))
    data = replace(training_data(texts, targets), network=network_over(texts, vertices_of(texts, seed), 1, seed))
    learner = Grafting(penalty="l2", ridge=ridge, network_alpha=alpha, tol=1e-9)
    fits = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network_module, "LARGEST_BLOCK", 0)
        fits.append(run(learner, data))
        patch.setattr(QuadraticModel, "smooth_minimum", partialmethod(QuadraticModel._solved, face=QuadraticFace))
        fits.append(run(learner, data))
    single, double = (fit.report for fit in fits)
    assert single.converged
    assert single.objective == pytest.approx(double.objective, rel=1e-7)


def test_without_edges_nothing_changes():
    texts, targets = ["ab", "ba", "aab", "b"], np.eye(2)[[0, 1, 0, 1]]
    network = network_over(texts, ["a", "b"], 0, 1)
    nothing = sparse.csr_array((2, 2))
    empty = replace(network, graph=FeatureGraph(network.graph.vertices, network.graph.virtual, nothing, nothing))
    data = training_data(texts, targets)
    plain, joined = (run(Grafting(l1=0.2, tol=1e-9), its) for its in (data, replace(data, network=empty)))
    assert joined.report.objective == pytest.approx(plain.report.objective, abs=1e-8)
    assert joined.report.network == {}


def test_a_rare_word_is_told_by_its_neighbour():
    """y is in one document of the second label, and x in three of the first."""
    texts, targets = ["x", "x", "xa", "b", "b", "ab", "y"], np.eye(2)[[0, 0, 0, 1, 1, 1, 1]]
    network = network_over(texts, ["x", "y"], 0, 1)
    edges = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    network = replace(network, graph=replace(network.graph, similar=edges, dissimilar=sparse.csr_array((2, 2))))
    weights = []
    for alpha in (0.0, 100.0):
        learner = Grafting(penalty="l2", ridge=0.1, network_alpha=alpha, tol=1e-9)
        solution = run(learner, replace(training_data(texts, targets), network=network)).solution()
        by_name = dict(zip(texts_of(solution.terms), solution.weights[:, 0], strict=True))
        weights.append((by_name["x"], by_name["y"]))
    assert weights[0][1] < 0.0 < weights[0][0]
    assert weights[1][1] == pytest.approx(weights[1][0], rel=0.02)


def test_an_ascent_has_no_penalty_to_join():
    texts, targets = ["ab", "ba", "aab", "b"], np.eye(2)[[0, 1, 0, 1]]
    data = replace(training_data(texts, targets), network=network_over(texts, ["a", "b"], 0, 1))
    with pytest.raises(ValueError, match="network of features is a penalty"):
        start(CoordinateAscent(), data)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("network_alpha", 1.1e6),
        ("network_gamma", 1e12),
        ("network_alpha", -1.0),
        ("network_gamma", float("nan")),
        ("network_kind", "graph"),
        ("network_unlinked", ""),
    ],
)
def test_options_out_of_range(option, value):
    with pytest.raises(ValueError, match=option):
        Grafting(l1=1.0, **{option: value})


@pytest.mark.slow
@pytest.mark.parametrize(("weight", "alpha"), [(1.0, 1e6), (1e7, 0.1)])
@pytest.mark.parametrize("penalty", [{"l1": 0.1}, {"penalty": "l2", "ridge": 0.001}])
def test_the_strongest_networks_make_weights_equal(weight, alpha, penalty):
    learner = Grafting(**penalty, network_alpha=alpha, network_kind="laplacian")
    solution = run(learner, few_documents(weight)).solution()
    by_name = dict(zip(texts_of(solution.terms), solution.weights[:, 0], strict=True))
    assert by_name["x"] == pytest.approx(by_name["y"], rel=1e-4)
    assert abs(by_name["x"]) > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("weight", [1.1e7, 1e12, 1e300])
def test_a_network_without_digits_for_the_likelihood_is_refused(weight):
    with pytest.raises(ValueError, match=r"The network is too strong .* but 1e.07 is the largest"):
        start(Grafting(l1=0.1, network_kind="laplacian"), few_documents(weight))
    if weight != 1e12:
        run(Grafting(l1=0.1, network_alpha=1e6), few_documents(weight))


def few_documents(weight):
    """x is in three documents of the first label, y in one; an edge between them."""
    texts, targets = ["x", "x", "x", "y", "b", "c", "d"], np.eye(2)[[0, 0, 0, 0, 1, 1, 1]]
    edges = sparse.csr_array(np.array([[0.0, weight], [weight, 0.0]]))
    network = network_over(texts, ["x", "y"], 0, 1)
    network = replace(network, graph=replace(network.graph, similar=edges, dissimilar=sparse.csr_array((2, 2))))
    return replace(training_data(texts, targets), network=network)
