"""The certificate against problems with every feature written down: the bound holds at every step of a fit.

The twin is a dense solver. Whatever it finds is the objective of a model, so that no bound may lie above it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from naive import choice_loss, dense_choice_optimum, dense_optimum, distinct_columns, inverse_weight, log_loss
from spacy_graft.extract.combinations import Combinations
from spacy_graft.graft.data import TrainingData
from spacy_graft.graft.network import Network, NetworkPenalty
from spacy_graft.graft.objective import document_weights
from spacy_graft.graft.parts import IndexedPart
from spacy_graft.graft.settings import NETWORK_KINDS, PENALTY_WEIGHTS, UNLINKED, Grafting
from spacy_graft.graft.start import start
from spacy_graft.graphs.graph import FeatureGraph
from spacy_graft.index.items import ItemIndex
from spacy_graft.matrices import as_matrix, bags_of
from spacy_graft.solve.losses import LogisticLoss, SoftmaxLoss
from strategies import dense_data, training_data

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar")
few = settings(max_examples=min(40, settings().max_examples))
seeds = st.integers(0, 9999)
#: What no weight of the reference of a single label costs: more than it could ever be worth.
FORBIDDEN = 1e6


@dataclass
class Written:
    """A problem with all of its columns, as the twin takes it.

    Attributes
    ----------
    columns : float64 (documents, columns)
    factors : float64 (columns)
        Penalty factor of each.
    indexed : bool (columns)
        Whether 1 / λ is in single precision; that of products is not.
    network : float64 (columns, columns)
        M.
    dense : float64 (documents, dense columns)
        Columns under a ridge of their own.
    lengths : int64 (columns)
        Symbols of each n-gram, 1 of all else.
    """

    columns: np.ndarray
    factors: np.ndarray
    indexed: np.ndarray
    network: np.ndarray
    dense: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, columns, factors=1.0, indexed=True, lengths=1):
        n = columns.shape[1]
        no_dense = np.zeros((len(columns), 0))
        return cls(columns, np.full(n, factors), np.full(n, indexed), np.zeros((n, n)), no_dense, np.full(n, lengths))

    @classmethod
    def of_ngrams(cls, texts):
        names, columns = distinct_columns(texts)
        return cls.of(columns, lengths=[len(name) for name in names])

    def best(self, data, learner):
        """The least objective that is found, and that of no weights."""
        data = data.balanced(learner.balance)
        scaled = self.columns * document_weights(data.lengths, learner.length_normalisation)[1][:, None]
        if data.groups is not None:
            return self.best_choices(data, learner, scaled)
        problems = list(self.problems(data, learner))
        found = [dense_problem(scaled, problem, learner, self.network, self.dense) for problem in problems]
        return sum(least for least, _ in found), sum(empty for _, empty in found)

    def best_choices(self, data, learner, scaled):
        """The same of a choice among candidates."""
        targets, weights = data.targets[:, 0], data.example_weights
        penalty = self.penalty_weights(data, learner, [0])[:, 0]
        problem = scaled, targets, weights, data.groups, learner.l1, learner.ridge, penalty, self.network
        empty = choice_loss(np.zeros(len(targets)), targets, weights, data.groups)
        return min(dense_choice_optimum(*problem, learner.sign_factors)[0], empty), empty

    def problems(self, data, learner):
        """Of each problem targets of exclusive labels, weights of documents, λ, and the factor of what is quadratic.

        With signs, two labels have one weight, that of the second, as the difference; without, what it is shared out
        among both must follow from the problem of both.
        """
        importance, targets = data.example_weights, data.targets
        if data.exclusive:
            present = np.flatnonzero(importance @ targets > 0.0)
            penalty = self.penalty_weights(data, learner, present[-1:] if len(present) == 2 else present)
            if len(present) == 2 and learner.sign_factors != (1.0, 1.0):
                forbidden = np.full_like(penalty, FORBIDDEN)
                yield targets[:, present], importance, np.concatenate([forbidden, penalty], axis=1), 0.5
                return
            yield targets[:, present], importance, np.broadcast_to(penalty, (len(penalty), len(present))), 1.0
            return
        for label in range(targets.shape[1]):
            known = importance * data.known[:, label]
            of_label = targets[:, label]
            if known @ of_label > 0.0 and known @ (1.0 - of_label) > 0.0:
                penalty = self.penalty_weights(data, learner, [label])
                forbidden = np.full_like(penalty, FORBIDDEN)
                both = np.stack([1.0 - of_label, of_label], axis=1)
                yield both, known, np.concatenate([forbidden, penalty], axis=1), 1.0

    def penalty_weights(self, data, learner, labels):
        """λ of each column and label."""
        inverse = np.ones((self.columns.shape[1], len(labels)))
        for k, column in enumerate(self.columns.T):
            for y, label in enumerate(labels):
                q, known = data.targets[:, label], data.known[:, label]
                inverse[k, y] = inverse_weight(
                    learner.penalty_weights, column, known * q, learner.ratio_power, known * (1.0 - q),
                    1.0 / self.factors[k], self.indexed[k],
                )  # fmt: skip
            if learner.ngram_power:
                single = np.float32(self.lengths[k]) ** np.float32(-learner.ngram_power)
                inverse[k] = inverse[k].astype(np.float32) * single if self.indexed[k] else inverse[k]
        return 1.0 / inverse


def dense_problem(matrix, problem, learner, network, dense):
    """The least objective that is found, from the best intercepts without weights too, and that of no weights."""
    targets, importance, penalty, share = problem
    with np.errstate(divide="ignore"):
        intercepts = np.maximum(np.log(importance @ targets / importance.sum()), -745.0)
    empty = log_loss(np.tile(intercepts, (len(targets), 1)), targets, importance)
    # The reference of a single label has no weights.
    ridges = np.where((penalty == FORBIDDEN).all(axis=0) & (share == 1.0), np.inf, learner.vectors_ridge)
    found, _, _ = dense_optimum(
        matrix, targets, importance, learner.l1, share * learner.ridge, penalty, share * network, learner.sign_factors,
        dense=dense, dense_ridges=ridges,
    )  # fmt: skip
    return min(found, empty), empty


def assert_certified(data, learner, written):
    """Every bound on the way is one, and a fit that says that it has converged has."""
    least, empty = written.best(data, learner)
    fit, bounds = start(learner, data), []
    while True:
        report = fit.report
        bounds.append(report.objective - report.duality_gap)
        assert report.duality_gap >= 0.0
        assert report.converged <= (report.relative_gap <= learner.tol)
        if fit.finished:
            break
        fit.step()
    rounding = 1e-9 * (1.0 + empty)
    assert max(bounds) <= least + rounding
    if report.converged:
        assert report.objective <= least + learner.tol * empty + rounding
    return fit


# Random problems


def some_targets(rng, n):
    """Targets, which of them are known, and whether labels exclude each other."""
    kind = rng.choice(["hard", "soft", "rare", "several", "masked", "uncertain"])
    if kind in ("hard", "soft", "rare"):
        n_labels = int(rng.integers(2, 5)) if kind != "rare" else 2
        targets = np.eye(n_labels)[rng.integers(0, n_labels, n)]
        if kind == "soft":
            targets = rng.dirichlet(np.full(n_labels, rng.choice([0.1, 1.0])), n)
        if kind == "rare":
            share = 10.0 ** -rng.integers(3, 300, (n, 1))
            targets = np.where(targets > 0.0, 1.0 - share, share)
        return targets, np.ones(targets.shape, np.bool_), True
    targets = rng.random((n, 2)) if kind == "uncertain" else rng.integers(0, 2, (n, 2)).astype(np.float64)
    return targets, rng.random(targets.shape) < (0.7 if kind == "masked" else 1.0), False


def labelled_data(rng, n, **space):
    """Training data over a space of features."""
    targets, known, exclusive = some_targets(rng, n)
    weights = np.ones(n) if rng.random() < 0.5 else rng.choice([1e-3, 0.1, 1.0, 3.0, 100.0], n)
    return TrainingData(
        **space, targets=targets, known=known, example_weights=weights,
        lengths=rng.integers(1, 30, n).astype(np.float64),
        labels=tuple(map(str, range(targets.shape[1]))), exclusive=exclusive,
    )  # fmt: skip


def as_candidates(rng, data):
    """The documents as candidates of groups, some of them of one; targets are hard, shared or soft."""
    n = data.n_documents
    groups = np.concatenate([[0], np.cumsum(rng.random(n - 1) < rng.choice([0.1, 0.4]))]).astype(np.int32)
    kind, n_groups = rng.choice(["one", "several", "soft"]), int(groups[-1]) + 1
    raw = rng.dirichlet(np.full(n, 0.3)) if kind == "soft" else (rng.random(n) < 0.4).astype(np.float64)
    for group in range(n_groups):
        members = np.flatnonzero(groups == group)
        if kind == "one" or not raw[members].sum() > 0.0:
            raw[members] = np.eye(len(members))[rng.integers(len(members))]
    weights = np.ones(n_groups) if rng.random() < 0.5 else rng.choice([1e-3, 0.1, 1.0, 3.0, 100.0], n_groups)
    return replace(
        data, targets=(raw / np.bincount(groups, raw)[groups])[:, None], known=np.ones((n, 1), np.bool_),
        example_weights=weights[groups], labels=("chosen",), exclusive=False, groups=groups,
    )  # fmt: skip


#: Factors of positive and of negative weights; mostly both 1.
SIGN_FACTORS = [(1.0, 1.0), (1.0, 1.0), (1.0, 4.0), (1.5, 1.0), (1.0, "forbidden"), ("forbidden", 2.0)]


def some_learner(rng, **options):
    positive, negative = SIGN_FACTORS[rng.integers(len(SIGN_FACTORS))]
    common = {
        "l1": float(10.0 ** rng.uniform(-2.5, 1.0)),
        "ridge": float(rng.choice([0.0, 0.0, 0.01, 0.3, 5.0])),
        "tol": float(rng.choice([1e-3, 1e-6, 1e-8])),
        "penalty_weights": str(rng.choice(PENALTY_WEIGHTS)),
        "ratio_power": float(rng.choice([0.5, 1.0])),
        "ngram_power": float(rng.choice([0.0, 0.0, 0.5, 2.0])),
        "length_normalisation": bool(rng.random() < 0.3),
        "balance": float(rng.choice([0.0, 0.5])),
        "n_best": [1, 100, None][rng.integers(3)],
        "positive_factor": positive,
        "negative_factor": negative,
    }
    return Grafting(**{**common, **options})


def values_of_items(rng, n, style):
    """A matrix of some items, two of which may be alike."""
    matrix = (rng.random((n, int(rng.integers(1, 6)))) < rng.choice([0.3, 0.6])).astype(np.float64)
    if style == "dyadic":
        matrix *= rng.choice([1.0, 0.5, 0.25], matrix.shape)
    if style == "real":
        matrix *= rng.random(matrix.shape)
    if rng.random() < 0.3 and matrix.shape[1] > 1:
        matrix[:, 0] = matrix[:, 1]
    return matrix


def products(items, degree, factor):
    """All distinct columns that are not zero: items, then products of more and more."""
    columns = {}
    for size in range(1, degree + 1):
        for chosen in combinations(range(items.shape[1]), size):
            column = items[:, chosen].prod(axis=1)
            if column.any():
                columns.setdefault(column.tobytes(), (column, 1.0 if size == 1 else factor, size == 1))
    matrix = np.array([column for column, _, _ in columns.values()]).reshape(-1, len(items)).T
    written = Written.of(matrix)
    written.factors = np.array([factor for _, factor, _ in columns.values()])
    written.indexed = np.array([indexed for _, _, indexed in columns.values()], np.bool_)
    return written


def random_ngrams(seed):
    rng = np.random.default_rng(seed)
    alphabet = list(rng.choice(["ab", "abc ", "好评差"]))
    texts = ["".join(rng.choice(alphabet, rng.integers(0, 9))) for _ in range(rng.integers(2, 11))]
    data = labelled_data(
        rng, len(texts), streams=training_data(texts, np.ones((len(texts), 1))).streams,
        min_df={"characters": 1}, max_length={"characters": None}, penalty_factors={"characters": 1.0},
    )  # fmt: skip
    return data, some_learner(rng), Written.of_ngrams(texts)


def random_items(seed):
    rng = np.random.default_rng(seed)
    style = rng.choice(["binary", "dyadic", "real"])
    n, degree, factor = int(rng.integers(2, 12)), int(rng.integers(1, 4)), float(rng.choice([1.0, 1.5]))
    items = values_of_items(rng, n, style)
    space = {"bags": {"items": bags_of(as_matrix(items), 1)}, "min_df": {"items": 1}, "penalty_factors": {"items": 1.0}}
    if degree > 1:
        space["combinations"] = {"products": Combinations(["items"], degree, 1, factor)}
        space["min_df"]["products"], space["penalty_factors"]["products"] = 1, factor
    data = labelled_data(rng, n, **space)
    # With a ridge, columns that differ by rounding alone would share a weight.
    options = {"ridge": 0.0} if style == "real" else {}
    return data, some_learner(rng, **options), products(items, degree, factor)


def random_network(seed):
    rng = np.random.default_rng(seed)
    n, n_virtual = int(rng.integers(2, 12)), int(rng.integers(0, 4))
    items = values_of_items(rng, n, rng.choice(["binary", "real"]))
    # A vertex that is a feature has documents.
    items[0, ~items.any(axis=0)] = 1.0
    items = np.unique(items, axis=1)
    learner = some_learner(
        rng, network_alpha=float(10.0 ** rng.uniform(-2, 3)), network_gamma=float(10.0 ** rng.uniform(-2, 2)),
        network_kind=str(rng.choice(NETWORK_KINDS)), network_unlinked=str(rng.choice(UNLINKED)),
    )  # fmt: skip
    graph = random_graph(rng, items.shape[1], n_virtual)
    return labelled_data(rng, n, **vertices(items, graph)), learner, over_vertices(items, graph, learner)


def random_graph(rng, n_features, n_virtual):
    """Edges between some vertices, virtual ones last; no class acts on itself through a feature."""
    n = n_features + n_virtual
    matrices = []
    for density in (0.4, 0.2):
        edges = (rng.random((n, n)) < density) * rng.choice([0.5, 1.0, 2.0], (n, n))
        np.fill_diagonal(edges, 0.0)
        edges[n_features:, :n_features] = 0.0
        matrices.append(sparse.csr_array(edges))
    names = [(f"item {k}",) for k in range(n_features)] + [(f"class {k}",) for k in range(n_virtual)]
    return FeatureGraph(tuple(names), np.arange(n) >= n_features, *matrices)


def vertices(items, graph):
    """A space whose features are all vertices."""
    columns = sparse.csc_array(items)
    values = np.empty(0) if (columns.data == 1.0).all() else columns.data
    numbers = np.arange(items.shape[1], dtype=np.uint64)
    index = ItemIndex(numbers, columns.indptr.astype(np.int64), columns.indices.astype(np.int32), values, len(items))
    network = Network(graph, np.full(items.shape[1], "items", object), index)
    bags = bags_of(as_matrix(items), 1)
    return {"bags": {"items": bags}, "min_df": {"items": 1}, "penalty_factors": {"items": 1.0}, "network": network}


def over_vertices(items, graph, learner):
    """The columns, and the form over them that is left when virtual vertices are at their best."""
    strengths = learner.network_alpha, learner.network_gamma
    rows = graph.tikhonov_matrix(*strengths, learner.network_kind, learner.network_unlinked).toarray()
    of_features, of_classes = rows[:, ~graph.virtual], rows[:, graph.virtual]
    basis, sizes, _ = np.linalg.svd(of_classes, full_matrices=False)
    basis = basis[:, sizes > 1e-9 * max(sizes.max(initial=0.0), 1e-300)]
    left = of_features - basis @ (basis.T @ of_features)
    return replace(Written.of(items), network=left.T @ left)


@few
@given(seeds)
def test_over_ngrams(seed):
    assert_certified(*random_ngrams(seed))


@few
@given(seeds)
def test_over_items_and_their_products(seed):
    assert_certified(*random_items(seed))


@few
@given(seeds)
def test_over_a_network_with_classes(seed):
    assert_certified(*random_network(seed))


@few
@given(seeds, st.sampled_from([random_ngrams, random_items, random_network]))
def test_over_dense_columns(seed, random_space):
    """Some that are nearly the same, and of any scale."""
    data, learner, written = random_space(seed)
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(data.n_documents, rng.integers(1, 4))) * 10.0 ** rng.integers(-3, 2)
    if rng.random() < 0.3:
        columns[:, 0] = columns[:, -1]
    learner = replace(learner, vectors_ridge=float(10.0 ** rng.uniform(-2, 1)))
    assert_certified(replace(data, vectors=dense_data(columns)), learner, replace(written, dense=columns))


@few
@given(seeds, st.sampled_from([random_ngrams, random_items, random_network]))
def test_over_candidates(seed, random_space):
    data, learner, written = random_space(seed)
    assert_certified(as_candidates(np.random.default_rng(seed), data), learner, written)


# What was once certified wrongly


@pytest.mark.parametrize("exponent", [5, 12, 20, 100, 300])
@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_rare_targets(exponent, label, ridge):
    """One label has next to nothing of every document: Newton steps for the intercept end long before they see it."""
    share = 10.0**-exponent
    targets = np.full((3, 2), 1.0 - share)
    targets[:, 1 - label] = share
    learner = Grafting(l1=0.1, ridge=ridge, tol=1e-6)
    texts = ["ab", "b", "a"]
    fit = assert_certified(training_data(texts, targets), learner, Written.of_ngrams(texts))
    assert fit.report.converged or fit.report.duality_gap < 1e-14
    # The entropy of the targets, which no model can be under.
    assert fit.report.objective <= 3.0 * share * (np.log(1.0 / share) + 1.001) + 1e-15


@pytest.mark.parametrize("rare", [1e-8, 1e-12, 1e-300])
def test_a_rare_label_among_others(rare):
    texts = ["ab", "bc", "a", "b", "ca", "c"]
    targets = np.concatenate([np.eye(2)[[0, 1, 0, 1, 0, 1]], np.full((6, 1), rare)], axis=1)
    targets /= targets.sum(axis=1, keepdims=True)
    learner = Grafting(l1=0.2, tol=1e-8)
    fit = assert_certified(training_data(texts, targets), learner, Written.of_ngrams(texts))
    assert fit.report.converged
    # The intercept is right in relative terms.
    probabilities = np.exp(fit.rounds.state.scores - fit.rounds.state.scores.max(axis=0))
    assert (probabilities[2] / probabilities.sum(axis=0)).sum() == pytest.approx(targets[:, 2].sum())


@pytest.mark.parametrize("kind", NETWORK_KINDS)
@pytest.mark.parametrize("alpha", [0.01, 1.0, 1e3])
def test_classes_are_eliminated_exactly(kind, alpha):
    """Classes of classes, some of which only name one another, so that they have no one best weight."""
    edges = np.zeros((7, 7))
    for i, j, weight in ((0, 3, 1.0), (1, 3, 2.0), (2, 4, 0.5), (3, 4, 1.0), (4, 3, 1.0), (5, 6, 1.0), (6, 5, 1.0)):
        edges[i, j] = weight
    names = tuple((f"vertex {k}",) for k in range(7))
    graph = FeatureGraph(names, np.arange(7) >= 3, sparse.csr_array(edges), sparse.csr_array((7, 7)))
    learner = Grafting(l1=0.01, tol=1e-8, network_alpha=alpha, network_kind=kind)
    items = np.array([[1.0, 0.0, 0.3], [0.5, 1.0, 0.0], [0.0, 0.25, 1.0], [1.0, 1.0, 0.0]])
    written = over_vertices(items, graph, learner)
    penalty, weights = NetworkPenalty(graph, learner), np.array([[1.0, 0.0], [-2.0, 0.5], [0.3, 4.0]])
    np.testing.assert_allclose(penalty.product(weights), written.network @ weights, rtol=1e-11, atol=1e-11 * alpha)
    np.testing.assert_allclose(penalty.among(np.arange(3)).toarray(), written.network, rtol=1e-11, atol=1e-11 * alpha)
    data = labelled_data(np.random.default_rng(3), 4, **vertices(items, graph))
    assert_certified(data, learner, written)


def test_the_gap_is_not_known_before_every_degree_has_been_searched():
    items = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1], [0, 0, 1], [0, 1, 0]], np.float64)
    parity = items.sum(axis=1) % 2.0
    data = TrainingData(
        bags={"items": bags_of(as_matrix(items), 1)},
        combinations={"products": Combinations(["items"], 3, 1)},
        min_df={"items": 1, "products": 1},
        penalty_factors={"items": 1.0, "products": 1.0},
        targets=np.stack([1.0 - parity, parity], axis=1),
        known=np.ones((6, 2), np.bool_),
        example_weights=np.ones(6),
        lengths=np.ones(6),
        labels=("even", "odd"),
        exclusive=True,
    )
    learner = Grafting(l1=0.05, tol=1e-6, n_best=1)
    assert_certified(data, learner, products(items, 3, 1.0))
    fit = start(learner, data)
    gaps, reports = [fit.report.relative_gap], []
    while not fit.finished:
        fit.step()
        gaps.append(fit.report.relative_gap)
        reports.append(json.loads(json.dumps(fit.report.to_dict(), allow_nan=False)))
    assert gaps[0] == np.inf
    assert np.isfinite(gaps[-1])
    assert [report["relative_gap"] is None for report in reports] == [gap == np.inf for gap in gaps[1:]]
    assert [report["converged"] for report in reports] == [gap <= learner.tol for gap in gaps[1:]]


def test_the_square_of_an_item_that_comes_twice_is_a_feature():
    items = np.array([[0.5, 0.5], [1.0, 1.0], [0.25, 0.25], [0.0, 0.0]])
    data = TrainingData(
        bags={"items": bags_of(as_matrix(items), 1)},
        combinations={"products": Combinations(["items"], 2, 1)},
        min_df={"items": 1, "products": 1},
        penalty_factors={"items": 1.0, "products": 0.5},
        targets=np.eye(2)[[0, 1, 0, 0]],
        known=np.ones((4, 2), np.bool_),
        example_weights=np.ones(4),
        lengths=np.ones(4),
        labels=("few", "many"),
        exclusive=True,
    )
    fit = assert_certified(data, Grafting(l1=0.05, tol=1e-8), products(items, 2, 0.5))
    assert any(len(terms) == 2 for terms in fit.solution().terms)


def test_largest_values_are_known_to_the_certificate():
    """What rounding can change is in proportion to them."""
    values, documents = np.array([1e6, -3e6, 0.5]), np.array([0, 1, 2], np.int32)
    index = ItemIndex(np.arange(2, dtype=np.uint64), np.array([0, 2, 3]), documents, values, 3)
    part = IndexedPart("items", index, np.full((2, 1), 0.5, np.float32), np.ones(2, np.bool_))
    assert part.largest_inverse_weight == 1.5e6


# Feasible points


@given(seeds, st.integers(1, 4))
def test_feasible_distributions_have_the_sums_of_the_targets(seed, n_labels):
    """Whatever the intercepts, and however rare a class is."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    targets, scores = rng.dirichlet(np.full(max(n_labels, 2), 0.3), n).T, rng.normal(0.0, 3.0, (max(n_labels, 2), n))
    if rng.random() < 0.3:
        targets[0] *= 1e-200
        targets /= targets.sum(axis=0)
    importance = rng.choice([1e-3, 1.0, 100.0], n)
    if n_labels == 1:
        loss, scores = LogisticLoss(targets[:1], importance), scores[:1]
    else:
        loss = SoftmaxLoss(targets, importance)
    r = loss.feasible(loss.value_and_probabilities(scores)[1])
    rows, goals = loss.classes(r), loss.classes(loss.targets) @ importance
    assert (rows >= 0.0).all()
    np.testing.assert_allclose(rows.sum(axis=0), 1.0)
    np.testing.assert_allclose(r @ importance, goals[: len(r)], rtol=1e-9, atol=1e-13 * importance.sum())
    np.testing.assert_allclose(loss.feasible(r), r, rtol=1e-9, atol=1e-12)
    shifted = scores + loss.optimal_intercepts(scores)[:, None]
    np.testing.assert_allclose(loss.class_probabilities(shifted) @ importance, goals, rtol=2e-4, atol=0.0)
