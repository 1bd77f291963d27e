"""The classifier without spaCy."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import check_estimator

import spacy_graft.classifier
from conftest import run
from naive import dense_optimum
from spacy_graft import (
    Constraints,
    CoordinateAscent,
    GraftClassifier,
    Grafting,
    GraftingPath,
    GraftRanker,
    GraftTextClassifier,
)
from spacy_graft.graphs.graph import build_graph
from spacy_graft.solve import restricted as restricted_module

rng = np.random.default_rng(0)
#: Documents whose label is the exclusive or of two of their items.
MATRIX = (rng.random((80, 6)) < 0.5).astype(np.float64)
LABELS = np.where(MATRIX[:, 0] != MATRIX[:, 1], "odd", "even").tolist()


def as_sets(matrix):
    return [{f"f{k}" for k in np.flatnonzero(row)} for row in matrix]


def test_the_examples_of_the_docstring():
    assert doctest.testmod(spacy_graft.classifier).failed == 0


def test_combinations_learn_what_items_cannot():
    items = GraftClassifier(Grafting(l1=0.5)).fit(MATRIX, LABELS)
    combined = GraftClassifier(Grafting(l1=0.5), degree=2).fit(MATRIX, LABELS)
    assert np.mean(np.array(items.predict(MATRIX)) == LABELS) < 0.8
    assert combined.predict(MATRIX).tolist() == LABELS
    assert combined.report.converged
    assert ("0", "1") in [feature.names for feature in combined.features()]


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("real", [False, True])
def test_the_model_is_the_optimum_over_enumerated_combinations(degree, real):
    matrix = MATRIX * (rng.uniform(0.2, 1.0, MATRIX.shape) if real else 1.0)
    model = GraftClassifier(Grafting(l1=0.5, tol=1e-9), degree=degree).fit(matrix, LABELS)
    columns = {}
    for size in range(1, degree + 1):
        for chosen in combinations(range(6), size):
            column = matrix[:, chosen].prod(axis=1)
            columns.setdefault(column.tobytes(), column)
    targets = np.array([[label == known for known in ("even", "odd")] for label in LABELS], np.float64)
    optimum, weights, intercepts = dense_optimum(np.array(list(columns.values())).T, targets, np.ones(80), 0.5)
    assert model.report.objective == pytest.approx(optimum, rel=1e-5)
    scores = np.array(list(columns.values())).T @ weights + intercepts
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(matrix), expected, atol=2e-2)


def test_documents_may_be_matrices_sets_or_mappings():
    sets = as_sets(MATRIX)
    names = [f"f{k}" for k in range(6)]
    models = [
        GraftClassifier(degree=2).fit(MATRIX, LABELS, names=names),
        GraftClassifier(degree=2).fit(scipy.sparse.csc_matrix(MATRIX), LABELS, names=names),
        GraftClassifier(degree=2).fit(sets, LABELS),
        GraftClassifier(degree=2).fit([dict.fromkeys(items, 1.0) for items in sets], LABELS),
    ]
    for model in models:
        np.testing.assert_allclose(model.predict_proba(sets), models[0].predict_proba(MATRIX), atol=1e-3)
        assert {feature.names for feature in model.features()} == {feature.names for feature in models[0].features()}
    assert (models[2].predict([{"f0", "never seen"}, set()]) == models[2].predict([{"f0"}, {"never seen"}])).all()


def test_several_labels():
    y = [[name for name, value in zip("ab", row, strict=False) if value] for row in MATRIX]
    model = GraftClassifier(Grafting(l1=0.5), multilabel=True).fit(MATRIX, y)
    assert model.classes_.tolist() == ["a", "b"]
    assert model.predict(MATRIX) == y
    assert model.predict_proba(MATRIX).shape == (80, 2)


@pytest.mark.parametrize("multilabel", [False, True])
def test_logarithms_of_probabilities(multilabel):
    """They are those of the probabilities, and finite where these are 0."""
    y = [[label] for label in LABELS] if multilabel else LABELS
    values = MATRIX * 7.0 - 3.0
    model = GraftClassifier(Grafting(l1=0.5), multilabel=multilabel).fit(values, y)
    np.testing.assert_allclose(model.predict_log_proba(values), np.log(model.predict_proba(values)), atol=1e-12)
    assert (model.predict_proba(1e5 * values) == 0.0).any()
    assert np.isfinite(model.predict_log_proba(1e5 * values)).all()


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, scipy.sparse.csr_array])
def test_a_matrix_of_one_label(kind):
    column = MATRIX[:, :1].astype(int)
    model = GraftClassifier(Grafting(l1=0.5), multilabel=True).fit(MATRIX, kind(column))
    assert model.classes_.tolist() == [0]
    assert model.predict_proba(MATRIX).shape == (80, 1)
    np.testing.assert_array_equal(model.predict(MATRIX), column)
    assert model.score(MATRIX, kind(column)) == 1.0


def test_three_labels_with_a_path_and_document_weights():
    y = (MATRIX[:, 0] + MATRIX[:, 1]).astype(int).tolist()
    model = GraftClassifier(GraftingPath(steps=5, l1_min_ratio=0.01), degree=2).fit(MATRIX, y)
    assert model.predict(MATRIX).tolist() == y
    assert model.classes_.tolist() == [0, 1, 2]


def test_heavier_documents_count_for_more():
    weights = np.where(np.array(LABELS) == "odd", 10.0, 1.0)
    model = GraftClassifier(Grafting(l1=1e3)).fit(MATRIX, LABELS, sample_weight=weights)
    assert model.features() == []
    assert set(model.predict(MATRIX)) == {"odd"}


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (MATRIX * 2.0, LABELS, r"Document \d+ has 2.0 in column \d\. Values must be in \[0, 1\]"),
        (-MATRIX, LABELS, r"in \[0, 1\]"),
        (MATRIX * np.nan, LABELS, "has nan"),
        ([{"a": 1.5}], ["x"], "Document 0 has 1.5 in item 'a'"),
        (["not a set"], ["x"], "Document 0 is a string"),
        (MATRIX, LABELS[1:], "80 documents, but 79 labels"),
        (MATRIX, ["x"] * 80, "y must have at least 2 different labels, but has 'x'"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused(X, y, message):
    with pytest.raises(ValueError, match=message):
        GraftClassifier(degree=2).fit(X, y)


@pytest.mark.slow
def test_sets_are_read_in_the_same_order_in_every_process():
    code = (
        "from spacy_graft import GraftClassifier\n"
        "model = GraftClassifier().fit([{'alpha', 'beta'}, {'gamma'}] * 10, ['+', '-'] * 10)\n"
        "print([str(feature) for feature in model.features()])"
    )
    printed = {run("-c", code, PYTHONHASHSEED=str(seed)).stdout for seed in range(3)}
    assert len(printed) == 1


def test_other_mistakes():
    with pytest.raises(ValueError, match="degree must be 1, 2 or 3, but is True"):
        GraftClassifier(degree=True).fit(MATRIX, LABELS)
    with pytest.raises(ValueError, match="6 columns, but 5 different names"):
        GraftClassifier().fit(MATRIX, LABELS, names=list("aabcde"))
    with pytest.raises(ValueError, match="Names of items must be strings, but one is 3"):
        GraftClassifier().fit([{3}, {"a"}], ["x", "y"])
    with pytest.raises(ValueError, match="y has a collection of labels"):
        GraftClassifier(multilabel=True).fit(MATRIX, LABELS)
    with pytest.raises(ValueError, match="Labels must be hashable, and of one type"):
        GraftClassifier().fit(MATRIX, ["a", 1] * 40)
    for labels, kind in ([["a"], ["b"]] * 40, "list"), ([{"a"}, {"b"}] * 40, "set"):
        with pytest.raises(ValueError, match=f"one label, but y has a {kind}. With multilabel=True"):
            GraftClassifier().fit(MATRIX, labels)
    with pytest.raises(ValueError, match="degree must be 1, 2 or 3, but is 4"):
        GraftClassifier(degree=4).fit(MATRIX, LABELS)
    with pytest.raises(ValueError, match="min_df must be an integer"):
        GraftClassifier(min_df=0).fit(MATRIX, LABELS)
    with pytest.raises(ValueError, match="is not fitted yet"):
        GraftClassifier().predict(MATRIX)
    with pytest.raises(ValueError, match="6 columns, but 1 different names"):
        GraftClassifier().fit(MATRIX, LABELS, names=["a"])
    with pytest.raises(ValueError, match="names are those of the columns of a matrix, but X has the names of items"):
        GraftClassifier().fit([["a"], ["b"]] * 20, ["x", "y"] * 20, names=["c", "d"])
    with pytest.raises(ValueError, match="The model has 6 items, but the matrix has 5"):
        GraftClassifier().fit(MATRIX, LABELS).predict(MATRIX[:, :5])
    one_nan = np.where(np.arange(80) == 7, np.nan, 1.0)
    for weights, problem in (
        ([1.0], "Its shape is (1,)"),
        (np.ones((80, 1)), "Its shape is (80, 1)"),
        (np.zeros(80), "All are 0"),
        (one_nan, "Number 7 (from 0) is nan"),
        (np.full(80, 5e-324), "Number 0 (from 0) is 4.94066e-324; weights that are not 0 are from 1e-300"),
    ):
        with pytest.raises(ValueError, match=f"sample_weight must have 80 numbers above 0.*{re.escape(problem)}"):
            GraftClassifier().fit(MATRIX, LABELS, sample_weight=weights)


@pytest.mark.parametrize("weight", [1e-19, 1e-100, 1e-300])
@pytest.mark.parametrize("degree", [1, 2])
def test_weights_may_be_tiny(weight: float, degree: int) -> None:
    """No feature is worth its penalty then."""
    model = GraftClassifier(Grafting(l1=0.1), degree=degree)
    with pytest.warns(UserWarning, match="Multiply the weights"):
        model.fit(MATRIX, LABELS, sample_weight=np.full(80, weight))
    assert model.features() == []


@pytest.mark.parametrize("option", ["metric", "network_choices", "vectors_choices", "optional_blocks", "retrain"])
def test_options_that_only_components_look_at_are_warned_of(option: str) -> None:
    values = {"metric": "cats_macro_f", "network_choices": (0.5,), "optional_blocks": ("items",), "retrain": False}
    needed = {"network_alpha": 1.0} if option == "network_choices" else {}
    learner = GraftingPath(steps=2, **{option: values.get(option, (1.0,))}, **needed)
    with pytest.warns(UserWarning, match=f"GraftClassifier does not look at '{option}' of its learner") as warned:
        GraftClassifier(learner).fit(MATRIX, LABELS)
    assert warned[0].filename == __file__


def test_rounding_above_1_is_taken_away_and_new_documents_may_have_any_value():
    rounded = np.where(MATRIX == 1.0, 1.0 + 1e-15, 0.0)
    model = GraftClassifier(degree=2).fit(rounded, LABELS)
    np.testing.assert_allclose(
        model.predict_proba(MATRIX), GraftClassifier(degree=2).fit(MATRIX, LABELS).predict_proba(MATRIX)
    )
    assert np.isfinite(model.predict_proba(MATRIX * 1.5)).all()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_deviations_do_not_depend_on_signs(sign):
    """The bounds of 1/λ are in units of the largest magnitude: -x is fitted as x is, with the other sign."""
    values = np.exp(np.random.default_rng(5).normal(size=(80, 3)))
    fitted = [
        GraftClassifier(Grafting(l1=1.0, penalty_weights="standard")).fit(X, LABELS) for X in (values, sign * values)
    ]
    reports = [model.report_ for model in fitted]
    assert reports[1].converged
    assert reports[1].l1_max == pytest.approx(reports[0].l1_max)
    assert reports[1].objective == pytest.approx(reports[0].objective, rel=1e-3)
    mixed = GraftClassifier(Grafting(l1=1.0, penalty_weights="standard")).fit(values - 1.0, LABELS)
    # Of x - 1 the deviation is that of x.
    assert mixed.report_.l1_max == pytest.approx(reports[0].l1_max)


def test_vertices_without_documents_have_the_bound_of_weights():
    """1/λ of a column that no training document has does not depend on whether others have values."""
    values = MATRIX[:, :4] * 0.5
    values[:, 0] = 0.0

    def star(vocabulary):
        similar = np.zeros((4, 4))
        similar[0, 1:] = similar[1:, 0] = 1.0
        return build_graph(vocabulary, scipy.sparse.csr_array(similar), scipy.sparse.csr_array((4, 4)))

    learner = Grafting(l1=0.5, penalty_weights="standard")
    for X in (values, (values > 0.0) * 1.0):
        report = GraftClassifier(learner).fit(X, LABELS, names=list("abcd"), network=star).report_
        assert report.converged
        assert report.relative_gap <= learner.tol


def test_combinations_may_be_penalised_more():
    free = GraftClassifier(Grafting(l1=0.5), degree=2).fit(MATRIX, LABELS)
    penalised = GraftClassifier(Grafting(l1=0.5), degree=2, combination_penalty_factor=100.0).fit(MATRIX, LABELS)
    assert any(len(feature.names) == 2 for feature in free.features())
    assert all(len(feature.names) == 1 for feature in penalised.features())


@pytest.mark.filterwarnings("ignore:The trained model has no features")
@pytest.mark.parametrize("degree", [1, 2])
def test_it_is_an_estimator_of_scikit_learn(degree):
    # The checks of values scale nothing to [0, 1], as combinations need it.
    model = GraftClassifier(degree=degree)
    if degree == 1:
        results = check_estimator(model, on_skip=None)
        assert {result["check_name"] for result in results if result["status"] != "passed"} <= {"check_array_api_input"}
    scaled = make_pipeline(MinMaxScaler(clip=True), model)
    assert cross_val_score(scaled, MATRIX, LABELS, cv=2).shape == (2,)
    parameters = {"graftclassifier__learner": [Grafting(l1=0.5), GraftingPath(steps=2)]}
    search = GridSearchCV(scaled, parameters, cv=2).fit(MATRIX, LABELS)
    assert search.predict(MATRIX).shape == (80,)
    assert CalibratedClassifierCV(model, cv=2).fit(MATRIX, LABELS).predict_proba(MATRIX).shape == (80, 2)
    assert OneVsRestClassifier(model).fit(MATRIX, LABELS).predict(MATRIX).shape == (80,)
    assert clone(model).get_params() == model.get_params()


def test_lists_of_items_can_be_searched_over_too():
    search = GridSearchCV(GraftClassifier(Grafting(l1=0.5)), {"degree": [1, 2]}, cv=2).fit(as_sets(MATRIX), LABELS)
    assert search.best_params_ == {"degree": 2}
    assert search.best_estimator_.coef_.shape == (1, len(search.best_estimator_.get_feature_names_out()))


@pytest.mark.parametrize("values", [np.random.default_rng(1).poisson(1.0, (80, 6)), MATRIX * 7.0 - 3.0])
def test_without_combinations_values_may_be_any(values):
    values = values.astype(np.float64)
    model = GraftClassifier(Grafting(l1=2.0, tol=1e-9)).fit(values, LABELS)
    targets = np.array([[label == known for known in ("even", "odd")] for label in LABELS], np.float64)
    optimum, _, _ = dense_optimum(values, targets, np.ones(80), 2.0)
    assert model.report_.objective == pytest.approx(optimum, rel=1e-6)
    # The same in another unit: the cut-off by document frequency must not take values for 1.
    larger = GraftClassifier(Grafting(l1=200.0, tol=1e-9)).fit(100.0 * values, LABELS)
    np.testing.assert_allclose(larger.predict_proba(100.0 * values), model.predict_proba(values), atol=1e-5)


def test_a_column_with_both_signs_does_not_separate():
    """All documents with the column have one label, but its weight has an optimum."""
    values = np.array([[1.0], [-1.0], [0.0], [2.0]] * 10)
    model = GraftClassifier(Grafting(penalty="none", min_gradient=0.01)).fit(values, [0, 0, 1, 0] * 10)
    assert not model.report_.separated
    assert len(model.features()) == 1


def test_documents_without_weight_are_not_there():
    weights = (np.arange(80) % 4 > 0).astype(float)
    kept = np.flatnonzero(weights)
    labels = np.array(LABELS)
    for X in (MATRIX, scipy.sparse.coo_array(MATRIX), pd.DataFrame(MATRIX), as_sets(MATRIX), MATRIX.tolist()):
        weighted = GraftClassifier(Grafting(l1=1.0, tol=1e-9)).fit(X, LABELS, sample_weight=weights)
        model = GraftClassifier(Grafting(l1=1.0, tol=1e-9)).fit(MATRIX[kept], labels[kept])
        np.testing.assert_allclose(weighted.decision_function(X), model.decision_function(MATRIX), atol=1e-5)


def test_a_data_frame_names_the_items():
    table = pd.DataFrame(MATRIX, columns=list("abcdef"))
    model = GraftClassifier(Grafting(l1=0.5), degree=2).fit(table, pd.Series(LABELS))
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert model.n_features_in_ == 6
    assert "a × b" in model.get_feature_names_out()
    assert model.predict(table).tolist() == LABELS
    with pytest.raises(ValueError, match=r"feature names should match .* the same in another order"):
        model.predict(table[list("fedcba")])
    with pytest.raises(ValueError, match=r"Names that fit did not have: 'z'\. Missing: 'b'\.$"):
        model.predict(table.rename(columns={"b": "z"}))
    assert not hasattr(model.fit(MATRIX, LABELS), "feature_names_in_")


def test_a_data_frame_is_read_by_name_where_the_training_documents_had_names():
    labels, other = ["B", "A"] * 10, pd.DataFrame([{"a": 1.0, "b": 0.0, "c": 1.0}, {"a": 0.0, "b": 1.0, "c": 0.0}])
    learner = Grafting(l1=0.1)
    of_items = GraftClassifier(learner).fit([{"b": 1.0}, {"a": 1.0}] * 10, labels)
    assert of_items.predict(other).tolist() == of_items.predict([{"a": 1.0}, {"b": 1.0}]).tolist() == ["A", "B"]
    named = GraftClassifier(learner).fit(np.eye(2)[[0, 1] * 10], labels, names=["b", "a"])
    assert named.predict(other[["b", "a"]]).tolist() == ["A", "B"]
    with pytest.raises(ValueError, match="feature names should match"):
        named.predict(other[["a", "b"]])
    # Columns without names are those of the training documents, in their order.
    unnamed = GraftClassifier(learner).fit(np.eye(2)[[0, 1] * 10], labels)
    assert unnamed.predict(other[["b", "a"]]).tolist() == named.predict(other[["b", "a"]]).tolist()


@pytest.mark.parametrize("learner", [GraftingPath(), CoordinateAscent()])
def test_signs_of_columns_do_not_matter(learner):
    """Lengths of documents go by squares of values, and convergence by their magnitudes."""
    values = np.random.default_rng(1).normal(size=(120, 4))
    labels = (values[:, 0] - values[:, 1] + np.random.default_rng(2).logistic(size=120) > 0.0).astype(int)
    one, other = (GraftClassifier(learner).fit(sign * values, labels) for sign in (1.0, -1.0))
    np.testing.assert_allclose(one.predict_proba(values), other.predict_proba(-values), rtol=1e-9)
    assert one.report_.n_active > 1


def test_lengths_of_a_refit_go_by_squares_of_values():
    values = np.random.default_rng(1).normal(size=(60, 3)) * (np.random.default_rng(2).random((60, 3)) < 0.7)
    labels = (values[:, 0] + np.random.default_rng(3).logistic(size=60) > 0.0).astype(int)
    model = GraftClassifier(GraftingPath(penalty_weights="none", l1_min_ratio=0.01)).fit(values, labels)
    columns = [int(feature.names[0]) for feature in model.features()]
    idf = np.log(61.0 / (1.0 + np.count_nonzero(values, axis=0))) + 1.0
    lengths = np.maximum((values[:, columns] ** 2 * idf[columns] ** 2).sum(axis=1), 1.0)
    sums = values @ model.coef_.toarray()[0]
    found = sums != 0.0
    weights = ((model.decision_function(values) - model.intercept_) / np.where(found, sums, 1.0))[found]
    expected = (1.0 / np.sqrt(lengths))[found]
    np.testing.assert_allclose(weights / weights[0], expected / expected[0], rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_standard_does_not_depend_on_the_scale_of_values(scale):
    learner = Grafting(l1=1.0, penalty_weights="standard", tol=1e-6)
    model, other = (GraftClassifier(learner).fit(MATRIX * by, LABELS) for by in (1.0, scale))
    assert other.report_.converged
    assert other.report_.objective == pytest.approx(model.report_.objective, rel=1e-6)


@pytest.mark.parametrize("l1", [0.3, 3.0])
def test_standard_does_not_depend_on_the_scales_of_single_columns(l1):
    """The certificate bounds x / λ column by column: the largest x and the smallest λ are of different ones."""
    random = np.random.default_rng(0)
    values = random.normal(size=(30, 4))
    labels = (values @ [1.0, -1.0, 0.5, 0.2] + random.normal(size=30) > 0.0).astype(int)
    learner = Grafting(l1=l1, penalty_weights="standard", tol=1e-6)
    model, other = (GraftClassifier(learner).fit(values * by, labels) for by in (1.0, [1e6, 1e3, 1e-3, 1e-8]))
    assert other.report_.converged
    assert other.report_.objective == pytest.approx(model.report_.objective, rel=1e-5)


@pytest.mark.parametrize("normalised", [False, True])
def test_an_item_of_all_documents_enters_by_their_lengths_alone(normalised):
    documents = [["the", "a"], ["the"], ["the", "b", "c", "d"], ["the", "c", "b", "e", "f"]] * 5
    learner = Grafting(l1=0.5, penalty_weights="standard", length_normalisation=normalised)
    model = GraftClassifier(learner).fit(documents, ["short", "short", "long", "long"] * 5)
    assert ("the" in model.get_feature_names_out()) == normalised


@pytest.mark.parametrize("penalty", [{"l1": 1.0}, {"penalty": "l2", "ridge": 0.1}, {"penalty": "none"}])
def test_columns_with_a_large_mean(penalty):
    values = np.random.default_rng(0).normal(size=(80, 3))
    labels = (values @ [1.5, -1.0, 0.0] + np.random.default_rng(1).logistic(size=80) > 0.0).astype(int)
    near, far = (GraftClassifier(Grafting(**penalty)).fit(values + by, labels) for by in (0.0, [1e5, -1e5, 0.0]))
    assert far.report_.converged
    assert far.report_.objective == pytest.approx(near.report_.objective, rel=1e-3)


def test_a_denied_product_of_items_with_the_same_values():
    """It is another column than that of either item, and is not found."""
    random = np.random.default_rng(0)
    values = random.choice([0.0, 0.3, 0.9], size=60)
    matrix = np.stack([values, values, random.integers(0, 2, 60)], axis=1)
    labels = ((values**2 > 0.5) ^ (random.random(60) < 0.1)).astype(int)
    learner = Grafting(l1=0.3, penalty_weights="standard")
    found = str_features(learner, matrix, labels)
    assert "a × b" in found
    denied = str_features(replace(learner, constraints=Constraints(deny=["a × b"])), matrix, labels)
    assert "a × b" not in denied
    assert denied


def str_features(learner, matrix, labels):
    model = GraftClassifier(learner, degree=2).fit(matrix, labels, names=["a", "b", "c"])
    return [str(feature) for feature in model.features()]


def test_weights_are_the_third_argument():
    model = GraftClassifier(Grafting(l1=0.1))
    weights = np.arange(len(LABELS)) % 3
    by_name = model.fit(MATRIX, LABELS, sample_weight=weights).coef_.toarray()
    np.testing.assert_array_equal(model.fit(MATRIX, LABELS, weights).coef_.toarray(), by_name)


def test_names_of_items_are_numbered_once():
    documents = [[f"item{k % 7}", f"item{k % 3}"] for k in range(30)]
    model = GraftClassifier(Grafting(l1=0.1)).fit(documents, [k % 3 for k in range(30)])
    before = model.predict([["item1", "other"], ["other", "more"]])
    numbers = model._space.numbers
    assert len(numbers) == 7
    np.testing.assert_array_equal(model.predict([["item1", "other"], ["other", "more"]]), before)
    assert model._space.numbers is numbers
    with pytest.raises(ValueError, match="Document 1 has nan in item 'more'"):
        model.predict([{"item1": 1.0, "other": 2.0}, {"more": float("nan")}])


def test_unknown_items_count_as_length():
    """As in training, and as unknown words do."""
    learner, labels = Grafting(l1=0.2, length_normalisation=True), ["n", "p"] * 10
    documents = [["a", "good"], ["b", "bad"], ["c", "good"], ["bad", "d"]] * 5
    items = GraftClassifier(learner).fit(list(map(set, documents)), labels)
    texts = GraftTextClassifier(learner, analyzer="word", max_length=1, min_df=1).fit(map(" ".join, documents), labels)
    new = [["good"], ["good", "q1", "q2", "q3"]]
    scores = items.decision_function(list(map(set, new)))
    np.testing.assert_allclose(scores, texts.decision_function(list(map(" ".join, new))), atol=1e-3)
    assert abs(scores[0]) > 1.9 * abs(scores[1])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, "x", "1", b"1"])
def test_values_of_new_items_are_numbers(value):
    model = GraftClassifier(Grafting(l1=0.1)).fit([{"b": 1.0}, {"a": 1.0}] * 10, ["B", "A"] * 10)
    with pytest.raises(ValueError, match=r"Document 1 has .* (in item|as the value of) 'a'"):
        model.predict([{"b": 1.0}, {"a": value}])


@pytest.mark.parametrize(
    "labels",
    [
        [np.float32("nan"), np.float32(1.0)] * 2,
        [[np.float32(0.5)], [0.25, 1.0]] * 2,
        [[float("nan")], [1.0]] * 2,
        [[None], []] * 2,
    ],
)
def test_missing_and_continuous_labels_are_refused(labels):
    with pytest.raises(ValueError, match=r"NaN|continuous"):
        GraftClassifier(Grafting(l1=0.1), multilabel=isinstance(labels[0], list)).fit([{"a"}, {"b"}] * 2, labels)


@pytest.mark.filterwarnings("ignore:The trained model has no features")
def test_collections_of_as_many_labels_each_are_no_matrix():
    documents = [{"good"}, {"bad"}, {"x"}, {"y"}]
    of_lists, of_sets = (
        GraftClassifier(multilabel=True).fit(documents, list(map(kind, [(2021, 7), (2022, 9), (2021, 9), (2022, 7)])))
        for kind in (list, set)
    )
    assert of_lists.classes_.tolist() == of_sets.classes_.tolist() == [7, 9, 2021, 2022]


def test_labels_stay_what_they_are():
    documents = [{"a"}, {"b"}] * 5
    for labels in (["x\0", "x"], [-1, 2**63]):
        model = GraftClassifier(Grafting(l1=0.1)).fit(documents, labels * 5)
        assert sorted(model.classes_.tolist()) == sorted(labels)
        assert model.score(documents, labels * 5) == 1.0


def test_a_matrix_says_nothing_of_items_by_name():
    model = GraftClassifier(Grafting(l1=0.1)).fit([{"b": 1.0}, {"a": 1.0}] * 10, [0, 1] * 10)
    with pytest.raises(ValueError, match="trained on items by their names, but the columns of X have none"):
        model.predict(np.eye(2))


def test_items_that_are_no_names_are_refused():
    with pytest.raises(ValueError, match=r"Document 1 has items that cannot be read\. .*unhashable type: 'list'"):
        GraftClassifier().fit([["a"], [["a"]]] * 10, [0, 1] * 10)
    with pytest.raises(ValueError, match=r"Document 3 has items that cannot be read\. Names of items must be strings"):
        GraftClassifier().fit([["a"], ["b"], ["a"], [3]], [0, 1] * 2, sample_weight=[1, 1, 0, 1])


def test_what_cannot_be_scored():
    model = GraftClassifier(Grafting(l1=0.1), multilabel=True).fit([{"a"}, {"b"}] * 10, [["p"], ["n"]] * 10)
    assert model.score([{"a"}, {"b"}], [["p"], {"n"}]) == model.score([{"a"}, {"b"}], np.array([[0, 1], [1, 0]])) == 1.0
    with pytest.raises(ValueError, match="that of document 0 is 'p'"):
        model.score([{"a"}, {"b"}], ["p", "n"])
    with pytest.raises(ValueError, match="no documents to score"):
        model.score([], [])
    with pytest.raises(ValueError, match="requires y"):
        model.score([{"a"}], None)


@pytest.mark.parametrize("weights", [[1e308] * 4, ["a"] * 4, (None for _ in range(4)), [1.0, -1.0] * 2])
def test_example_weights_that_are_none(weights):
    with pytest.raises(ValueError, match="sample_weight must have"):
        GraftClassifier(Grafting(l1=1.0)).fit(np.eye(4), [0, 1, 0, 1], sample_weight=weights)


def test_example_weights_may_come_one_by_one():
    weighted, plain = (
        GraftClassifier(Grafting(l1=0.1)).fit([{"a"}, {"b"}] * 4, ["A", "B"] * 4, sample_weight=weights)
        for weights in ((1.0 for _ in range(8)), None)
    )
    np.testing.assert_array_equal(weighted.coef_.toarray(), plain.coef_.toarray())


def test_values_that_are_too_large_are_refused():
    with pytest.raises(ValueError, match=r"Document 0 has 1e.160 in column 0\. Values must be at most 1e.100: scale"):
        GraftClassifier(GraftingPath()).fit(np.repeat(np.eye(2), 10, 0) * 1e160, [0] * 10 + [1] * 10)


def test_scores_are_sums_of_weights():
    labels = (MATRIX[:, 0] + MATRIX[:, 1]).astype(int)
    for y in (LABELS, labels, np.eye(3, dtype=int)[labels]):
        model = GraftClassifier(Grafting(l1=0.5)).fit(MATRIX, y)
        columns = [int(name) for name in model.get_feature_names_out()]
        scores = MATRIX[:, columns] @ model.coef_.T.toarray() + model.intercept_
        np.testing.assert_allclose(model.decision_function(MATRIX).reshape(scores.shape), scores, atol=1e-12)


def test_what_is_not_fitted_says_so():
    for method in (GraftClassifier().predict, GraftClassifier().predict_proba, GraftClassifier().decision_function):
        with pytest.raises(NotFittedError, match="is not fitted yet"):
            method(MATRIX)


class Table:
    """A table that can be asked for rows, as those of Polars, or takes them, as those of Arrow."""

    columns = ("a", "b")

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype)

    @property
    def shape(self):
        return self.values.shape


class RowsOfTable(Table):
    def __getitem__(self, rows):
        return type(self)(self.values[rows])


class TakenTable(Table):
    def take(self, rows):
        return type(self)(self.values[rows])

    def to_pylist(self):
        return [dict(zip(self.columns, row, strict=True)) for row in self.values.tolist()]


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array, pd.DataFrame, RowsOfTable, TakenTable])
def test_documents_without_weight_are_left_out_of_tables_of_any_kind(kind):
    matrix, labels = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 1.0]] * 6), [1, 0, 1, 0] * 6
    weights = np.arange(24) % 3 != 0
    model = GraftClassifier(Grafting(l1=0.1)).fit(kind(matrix), labels, sample_weight=weights)
    expected = GraftClassifier(Grafting(l1=0.1)).fit(matrix[weights], np.array(labels)[weights])
    np.testing.assert_array_equal(model.coef_.toarray(), expected.coef_.toarray())


class ListOfTable:
    """A list as Arrow has it: what is in it is no string before it is converted."""

    def __init__(self, names):
        self.names = names

    def __iter__(self):
        return iter([name.encode() for name in self.names])

    def as_py(self):
        return self.names


@pytest.mark.parametrize("weights", [None, [0] + [1] * 39])
def test_lists_of_a_table_are_items(weights):
    items, labels = [["a", "b"], ["b"], ["c", "a"], ["c"]] * 10, [0, 1, 0, 1] * 10
    of_table = list(map(ListOfTable, items))
    model = GraftClassifier(Grafting(l1=0.5)).fit(of_table, labels, weights)
    expected = GraftClassifier(Grafting(l1=0.5)).fit(items, labels, weights)
    np.testing.assert_array_equal(model.decision_function(of_table), expected.decision_function(items))


def test_names_of_columns_come_from_the_step_before():
    """As in scikit-learn: what had no name in training is called as a pipeline says, anything else keeps its name."""
    names = list("abcdef")
    pipeline = make_pipeline(SelectKBest(k=3), GraftClassifier(Grafting(l1=0.5), degree=2)).fit(MATRIX, LABELS)
    chosen = [names[k] for k in np.flatnonzero(pipeline[0].get_support())]
    numbered = pipeline[1].get_feature_names_out().tolist()
    expected = [" × ".join(sorted(chosen[int(k)] for k in name.split(" × "))) for name in numbered]
    assert len(numbered) > 3
    assert pipeline.get_feature_names_out(names).tolist() == expected
    assert pipeline[1].get_feature_names_out([7, 8, 9])[:3].tolist() == ["7", "8", "9"]  # columns of a DataFrame
    with pytest.raises(ValueError, match=r"length equal to number of features \(3\), got 2"):
        pipeline[1].get_feature_names_out(names[:2])
    named = GraftClassifier(Grafting(l1=0.5)).fit(MATRIX, LABELS, names=names)
    assert named.get_feature_names_out([f"x{k}" for k in range(6)]).tolist() == names
    of_table = GraftClassifier(Grafting(l1=0.5)).fit(pd.DataFrame(MATRIX, columns=names), LABELS)
    assert of_table.get_feature_names_out(names).tolist() == names
    with pytest.raises(ValueError, match=r"not equal to feature_names_in_\. Names that fit did not have: 'g'"):
        of_table.get_feature_names_out([*names[:5], "g"])
    of_items = GraftClassifier(Grafting(l1=0.5)).fit([["a"], ["b"]] * 20, ["x", "y"] * 20)
    assert of_items.get_feature_names_out(["text"]).tolist() == ["a", "b"]


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function", "score"])
def test_warnings_of_input_are_of_the_line_of_the_user(method):
    model = GraftClassifier().fit(pd.DataFrame(MATRIX, columns=list("abcdef")), LABELS)
    labels = [np.array(LABELS)[:, None]] if method == "score" else []
    with pytest.warns(UserWarning, match="valid feature names|column-vector") as found:
        getattr(model, method)(MATRIX, *labels)
    assert len(found) == 1 + len(labels)
    assert {warning.filename for warning in found} == {__file__}


def test_the_columns_of_a_matrix_are_those_of_coefficients():
    matrix = (np.random.default_rng(1).random((120, 9)) < 0.4).astype(np.float64)
    labels = matrix[:, 0] + matrix[:, 1] > 0.5
    model = GraftClassifier(Grafting(l1=0.5)).fit(matrix, labels)
    assert model.coef_.shape == (1, 9)
    assert model.get_feature_names_out().tolist() == list(map(str, range(9)))
    assert set(np.flatnonzero(model.coef_.toarray()[0])) == {int(feature.names[0]) for feature in model.features()}
    eliminated = RFE(GraftClassifier(Grafting(l1=0.5)), n_features_to_select=2).fit(matrix, labels)
    assert np.flatnonzero(eliminated.support_).tolist() == [0, 1]
    # scikit-learn 1.6 takes no norm of sparse coefficients.
    dense = GraftClassifier(Grafting(l1=0.5))
    chosen = SelectFromModel(dense, importance_getter=lambda model: model.coef_.toarray()).fit(matrix, labels)
    assert chosen.transform(matrix).shape == (120, chosen.get_support().sum())
    assert chosen.get_support()[:2].all()


def test_combinations_are_the_last_columns_of_coefficients():
    names = list("abcdef")
    model = GraftClassifier(Grafting(l1=0.5), degree=2).fit(pd.DataFrame(MATRIX, columns=names), LABELS)
    found = model.get_feature_names_out().tolist()
    assert found[:6] == names
    assert all(" × " in name for name in found[6:])
    weights = dict(zip(found, model.coef_.toarray()[0], strict=True))
    for feature in model.features():
        assert weights.pop(str(feature)) == feature.weights["odd"] - feature.weights["even"]
    assert not any(weights.values())


def test_strings_and_dates_are_no_values():
    with pytest.raises(ValueError, match="Values must be numbers, but X has '3'"):
        GraftClassifier().fit(pd.DataFrame({"a": ["3", "4"], "b": [1, 2]}), ["A", "B"])
    with pytest.raises(ValueError, match=r"Values must be numbers, but X has '[01]\.0'"):
        GraftClassifier().fit(MATRIX.astype(str), LABELS)
    with pytest.raises(TypeError, match="Values must be numbers, but X has datetime64"):
        GraftClassifier().fit(np.array([["2020-01-01"], ["2021-01-01"]], np.datetime64), ["A", "B"])
    mixed = pd.DataFrame({"a": [1.0, 2.0], "day": pd.to_datetime(["2020-01-01", "2021-01-01"])})
    with pytest.raises(TypeError, match="the column 'day' of X has datetime64"):
        GraftClassifier().fit(mixed, ["A", "B"])
    with pytest.raises(TypeError, match=r"Values must be numbers, but X has \['a', 'b'\]: "):
        GraftClassifier().fit(pd.DataFrame({"items": [["a", "b"], ["c"]]}), ["A", "B"])
    with pytest.raises(ValueError, match=r"Document 0 has '3' as the value of 'size'.* make a name: 'size=3'"):
        GraftClassifier().fit([{"size": "3"}, {"size": "4"}], ["A", "B"])


class Structs:
    """A Series whose values have fields: an array without their names, and mappings when it is iterated over."""

    def __init__(self, records: list[dict[str, float]]) -> None:
        self.records = records

    def __iter__(self) -> Iterator[dict[str, float]]:
        return iter(self.records)

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return np.array([[*record.values()] for record in self.records])


def test_values_with_names_are_read_by_them():
    records = [dict(zip("abcd", row, strict=False)) for row in np.asarray(MATRIX)]
    other_order = [dict(reversed(record.items())) for record in records]
    model = GraftClassifier().fit(Structs(records), LABELS)
    assert model.predict(Structs(other_order)).tolist() == model.predict(records).tolist()
    assert {name for feature in model.features() for name in feature.names} <= set("abcd")


def test_a_wrong_value_is_named_by_its_document_where_others_have_no_weight():
    X, weights = np.array(MATRIX), np.ones(len(LABELS))
    X[5, 1], weights[:3] = np.nan, 0.0
    with pytest.raises(ValueError, match="Document 5 has nan in column 1"):
        GraftClassifier().fit(X, LABELS, sample_weight=weights)


@pytest.mark.parametrize("kind", [list, tuple, set, frozenset])
def test_several_labels_of_exclusive_ones_are_refused(kind):
    with pytest.raises(ValueError, match=f"Each document has one label, but y has a {kind.__name__}"):
        GraftClassifier().fit([["a"], ["b"], ["c"]], [kind(["A"]), kind(["A", "B"]), kind(["B"])])


def test_values_that_are_too_large_are_refused_in_prediction():
    model = GraftClassifier(Grafting(l1=0.1)).fit(np.repeat(np.eye(3), 8, 0), np.repeat([0, 1, 2], 8))
    with pytest.raises(ValueError, match=r"Document 0 has 1.7e.308 in column 0\. Values must be at most 1e.100: scale"):
        model.predict_proba([[1.7e308, 1.7e308, 0.0]])


@pytest.mark.parametrize("dtype", ["Float64", "Int64", "object"])
def test_missing_values_of_tables_are_named(dtype):
    frame = pd.DataFrame({"a": pd.array([None] + [1] * 23, dtype), "b": MATRIX[:24, 0]})
    with pytest.raises(ValueError, match=r"Document 0 has nan in item 'a'\. Input X contains NaN\."):
        GraftClassifier().fit(frame, LABELS[:24])


@pytest.mark.parametrize(
    ("documents", "problem"),
    [
        (None, "X must be a matrix, or have the items of each document, but is None"),
        ([{"a"}, None], "Document 1 is None: give a collection of the names of its items"),
        (pd.Series([{"a"}, np.nan]), "Document 1 is nan: give a collection"),
        (["a", {"b"}], "Document 0 is a string, 'a': give a collection"),
    ],
)
def test_what_is_no_document_is_refused(documents, problem):
    with pytest.raises(ValueError, match=problem):
        GraftClassifier().fit(documents, ["A", "B"])


def test_names_and_labels_are_those_of_python():
    documents = [np.array(["a"]), np.array(["b"])] * 9
    model = GraftClassifier(Grafting(l1=0.1)).fit(documents, [-1, 2**63] * 9)
    assert {type(name) for feature in model.features() for name in feature.names} == {str}
    assert model.predict([["a"], ["b"]]).tolist() == model.classes_.tolist() == [-1, 2**63]
    assert set(map(type, model.classes_.tolist())) == {int}


def test_nullable_columns_of_targets_are_a_matrix():
    targets = pd.DataFrame({"a": MATRIX[:, 0], "b": MATRIX[:, 1]})
    expected = GraftClassifier(Grafting(l1=0.5)).fit(MATRIX, targets.astype(int))
    for multilabel in (False, True):
        model = GraftClassifier(Grafting(l1=0.5), multilabel=multilabel).fit(MATRIX, targets.astype("Int64"))
        np.testing.assert_array_equal(model.predict(MATRIX), expected.predict(MATRIX))


def test_a_column_may_have_any_name():
    frame = pd.DataFrame(MATRIX[:, :2], columns=["column_names", "columns"])
    model = GraftClassifier(Grafting(l1=0.5)).fit(frame, LABELS)
    assert model.get_feature_names_out().tolist() == ["column_names", "columns"]


def test_a_fit_that_is_interrupted_leaves_the_model_before(monkeypatch):
    model = GraftClassifier(Grafting(l1=0.5)).fit(MATRIX, LABELS)
    before = model.predict(MATRIX).tolist()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(model._space), "model", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(MATRIX, [1, 2] * (len(LABELS) // 2))
    assert model.predict(MATRIX).tolist() == before
    assert model.classes_.tolist() == ["even", "odd"]


@pytest.mark.parametrize("learner", [Grafting(penalty="l2", ridge=1.0), GraftingPath(penalty="l2", refit=1.0)])
def test_values_beyond_single_precision_are_fitted_all_the_same(learner):
    """Labels are balanced: what conjugate gradients in single precision begin with is exactly 0."""
    rng, y = np.random.default_rng(0), np.arange(120) % 4
    X = (rng.random((120, 20)) < 0.3) * rng.uniform(0.1, 1.0, (120, 20))
    for label in range(4):
        X[y == label, label] += 1.0
    for scale in (1.0, 1e22):
        assert (GraftClassifier(learner).fit(scale * X, y).predict(scale * X) == y).mean() > 0.95


def badly_scaled(seed):
    """Columns of 10⁻⁶ to 10⁶, five labels, and weights of documents of 10⁻⁴ to 10⁴."""
    rng = np.random.default_rng(seed)
    X = (rng.random((20, 100)) < 0.9) * rng.random((20, 100)) * 10.0 ** rng.uniform(-6, 6, 100)
    return X, np.arange(20) % 5, 10.0 ** rng.uniform(-4, 4, 20)


def refitted(X, y, weights):
    learner = GraftingPath(refit=300.0, length_normalisation=False, balance=1.0, ridge=1.0, steps=5, l1_min_ratio=0.1)
    return GraftClassifier(learner).fit(X, y, weights)


@pytest.mark.filterwarnings("ignore:GraftClassifier. The example weights")
@pytest.mark.parametrize("seed", [1, 2, 5])
def test_refits_of_badly_scaled_columns_come_to_their_optimum(seed, monkeypatch):
    found = refitted(*badly_scaled(seed)).predict_proba(badly_scaled(seed)[0])
    monkeypatch.setattr(restricted_module, "NEWTON_STEPS", 5000)
    closer = refitted(*badly_scaled(seed)).predict_proba(badly_scaled(seed)[0])
    np.testing.assert_allclose(found, closer, atol=1e-5)


@pytest.mark.filterwarnings("ignore:GraftClassifier. The example weights")
def test_a_refit_that_ends_before_its_optimum_says_so(monkeypatch):
    monkeypatch.setattr(restricted_module, "NEWTON_STEPS", 1)
    with pytest.warns(UserWarning, match="ends before its optimum, since the numbers are too badly scaled"):
        refitted(*badly_scaled(0))


@pytest.mark.parametrize("learner", [GraftingPath(), Grafting(l1=1e-6)])
@pytest.mark.parametrize(
    "fit",
    [
        lambda learner: GraftClassifier(learner).fit([{"same"}] * 20, ["+", "-"] * 10),
        lambda learner: GraftTextClassifier(learner).fit(["same"] * 20, ["+", "-"] * 10),
        lambda learner: GraftRanker(learner).fit([{"same"}] * 20, [1, 0] * 10, [k // 2 for k in range(20)]),
    ],
)
def test_a_model_without_features_is_told_of(learner, fit):
    with pytest.warns(UserWarning, match="no features: it predicts the same for all documents") as warned:
        fit(learner)
    assert {warning.filename for warning in warned} == {__file__}


def test_a_model_is_empty_if_that_is_asked_for():
    assert GraftClassifier(Grafting(l1=100.0)).fit([{"good"}, {"bad"}] * 20, ["+", "-"] * 20).report_.n_active == 0


def test_values_that_standardisation_cannot_hold_are_refused():
    with pytest.raises(ValueError, match=r"values must be at most 1e\+30, but one is 1e\+50\. Scale them first"):
        GraftClassifier(Grafting(l1=0.1, penalty_weights="standard")).fit(1e50 * np.eye(2)[[0, 1] * 5], [0, 1] * 5)


def test_a_learner_shows_the_options_that_are_changed():
    assert repr(GraftClassifier(Grafting(l1=2.0))) == "GraftClassifier(learner=Grafting(l1=2.0))"
    assert repr(GraftingPath(stability=0.0)) == "GraftingPath(stability=0.0)"  # not False, which it is equal to
    assert repr(GraftingPath(steps=5, metric="cats_macro_f")) == "GraftingPath(steps=5, metric='cats_macro_f')"


def test_a_fit_that_does_not_come_to_its_optimum_says_so():
    rng = np.random.default_rng(0)
    X = np.column_stack([1e12 + 1e3 * rng.random(60), rng.normal(size=60)])
    y = X[:, 1] > 0.0
    with pytest.warns(ConvergenceWarning, match="the fit has ended before its optimum, at a relative"):
        model = GraftClassifier().fit(X, y)
    assert not model.report_.converged
    with pytest.warns(ConvergenceWarning, match="GraftRanker: the fit"):
        GraftRanker().fit(X, y.astype(int), groups=np.repeat(np.arange(6), 10))


def test_an_ascent_that_goes_to_and_fro_ends_and_says_so():
    X, y = [[1e6, 1e6, 1, 0, 0, -2], [0, 1, 0, 0, 0.5, 0.5]], [[1, 1], [1, 0]]
    with pytest.warns(ConvergenceWarning, match="the fit has ended before its scores have converged"):
        model = GraftClassifier(CoordinateAscent(intercepts=None), multilabel=True).fit(X, y)
    assert model.report_.finished
    assert not model.report_.converged
    limited = GraftClassifier(CoordinateAscent(iterations=5), multilabel=True).fit(X, y)  # as asked for: no warning
    assert limited.report_.rounds == 5


def test_parsimony_by_held_out_documents_is_not_ignored_in_silence():
    X, y = np.eye(4)[[0, 1, 2, 3] * 10], [0, 1, 0, 1] * 10
    with pytest.warns(UserWarning, match='GraftClassifier holds out no documents: parsimony = "one_se" has no effect'):
        GraftClassifier(GraftingPath(parsimony="one_se")).fit(X, y)
    GraftClassifier(GraftingPath(parsimony=4)).fit(X, y)  # without a warning


def test_targets_of_another_kind_have_no_score():
    X = np.eye(3)[[0, 1, 2] * 10]
    named = GraftClassifier().fit(X, ["a", "b", "c"] * 10)
    assert named.score(X[:2], ["d", "e"]) == 0.0  # labels that are not known
    with pytest.raises(ValueError, match=r"y must have labels such as the model was trained on .*but the first is 0"):
        named.score(X, [0, 1, 2] * 10)
    with pytest.raises(ValueError, match="1d array"):
        named.score(X, np.eye(3)[[0, 1, 2] * 10])
    for sparse in (scipy.sparse.csr_matrix, scipy.sparse.csr_array):
        with pytest.raises(ValueError, match="y is a sparse matrix"):
            named.score(X, sparse(np.eye(3)[[0, 1, 2] * 10]))
    with pytest.raises(ValueError, match="y has a list"):
        named.score(X, [["a"], ["b"], ["c"]] * 10)
    of_matrix = GraftClassifier().fit(X, X.astype(int))
    with pytest.raises(ValueError, match=r"y must be a matrix of the shape \(30, 3\), .* of different lengths"):
        of_matrix.score(X, [["a"], ["b", "c"], []] * 10)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_missing_labels_are_no_wrong_predictions(missing: object) -> None:
    X = np.eye(2)[[0, 1] * 10]
    named = GraftClassifier().fit(X, ["a", "b"] * 10)
    of_sets = GraftClassifier(multilabel=True).fit(X, [["a"], ["b"]] * 10)
    for model, y in ((named, ["a", missing] * 10), (of_sets, [["a"], ["b", missing]] * 10)):
        with pytest.raises(ValueError, match="Input y contains NaN: a label of document 1 is missing"):
            model.score(X, y)
    of_matrix = GraftClassifier().fit(X, X.astype(int))
    assert of_matrix.score(X, X.astype(object)) == of_matrix.score(X, X.astype(bool)) == 1.0
    with pytest.raises(ValueError, match=r"matrix of zeros and ones, .* document 1 has (None|nan|<NA>) in column 0"):
        of_matrix.score(X, [[1, 0], [missing, 1]] * 10)


def test_columns_of_targets_may_have_another_order():
    X = np.eye(3)[[0, 1, 2] * 10]
    model = GraftClassifier(multilabel=True).fit(X, [["a"], ["b"], ["a", "c"]] * 10)
    table = pd.DataFrame({"c": [0, 0, 1] * 10, "a": [1, 0, 1] * 10, "b": [0, 1, 0] * 10})
    assert model.score(X, table) == model.score(X, table[["a", "b", "c"]]) == 1.0


def test_a_model_of_small_values_without_features_is_warned_of():
    X, y = 1e-3 * np.eye(2)[[0, 1] * 20], [0, 1] * 20
    with pytest.warns(UserWarning, match=r"no features.*l1 = 1 is too large: features enter only below 0\.01"):
        GraftClassifier().fit(X, y)
    GraftClassifier(Grafting(l1=1.0)).fit(X, y)  # as in a search over l1


def test_names_of_items_do_not_fit_columns_without_names():
    model = GraftClassifier().fit(MATRIX, LABELS)
    records = [dict(zip("abcd", row, strict=False)) for row in np.asarray(MATRIX)]
    with pytest.raises(ValueError, match=r"columns have no names, but X has items by their names, such as 'a'"):
        model.predict(records)
    frame = pd.DataFrame(records)
    with pytest.warns(UserWarning, match="X does not have valid feature names, but GraftClassifier was fitted with"):
        GraftClassifier().fit(frame, LABELS).predict(frame.to_numpy())


def test_rows_are_lists_or_tuples_of_numbers():
    rows = [tuple(row) for row in np.asarray(MATRIX).tolist()]
    model = GraftClassifier().fit(tuple(rows), LABELS)
    assert model.predict(rows).tolist() == model.predict(np.array(rows)).tolist()
    with pytest.raises(ValueError, match=r"as many numbers each .* Items have names, which are strings"):
        GraftClassifier().fit([[1, 2], [3], [1, 4, 5]], ["A", "B", "A"])


@pytest.mark.parametrize(
    ("X", "where"),
    [
        ([{"a": 1}, {"b": -(10**400)}], "Document 1 has -inf in item 'b'"),
        ([[1, 0], [0, 10**400]], "Document 1 has inf in column 1"),
        (pd.DataFrame({"a": [10**400, 1]}), "Document 0 has inf in item 'a'"),
    ],
)
def test_integers_that_are_no_float_are_refused(X: object, where: str) -> None:
    with pytest.raises(ValueError, match=f"{where}. Input X contains infinity or a value too large"):
        GraftClassifier().fit(X, ["A", "B"])
    with pytest.raises(ValueError, match="sample_weight must have a number for each document: int too large"):
        GraftClassifier().fit([["a"], ["b"]], ["A", "B"], sample_weight=[1, 10**400])
    with pytest.raises(ValueError, match="document 1 has inf in column 0"):
        GraftClassifier(multilabel=True).fit([["a"], ["b"]], np.array([[1, 0], [10**400, 1]], object))
    with pytest.raises(TypeError, match=r"Values must be numbers, but X has \[\]"):
        GraftClassifier().fit(pd.DataFrame({"a": [10**400, []]}), ["A", "B"])


@pytest.mark.parametrize("y", ["AB", {0: "A", 1: "B"}])
def test_labels_are_no_string_and_no_mapping(y: object):
    with pytest.raises(ValueError, match="y must be a list with the labels of each document"):
        GraftClassifier().fit([["a"], ["b"]], y)
    with pytest.raises(ValueError, match="sample_weight must be a list with a number for each document"):
        GraftClassifier().fit([["a"], ["b"]], ["A", "B"], sample_weight=y)


@pytest.mark.parametrize("n_best", [None, 1])
def test_columns_of_large_values_take_few_rounds(n_best: int | None) -> None:
    """A column that says what another does would enter and be dropped in hundreds of them."""
    items = np.array([[0.001, 1000, 1000], [1000, 0.001, 0.001], [1000, 0.001, 0], [0.001, 1000, 1000], [0.001, 0, 0]])
    model = GraftClassifier(Grafting(l1=0.05, n_best=n_best)).fit(
        np.vstack([items, np.zeros(3)]), [0, 1, 0, 1, 0, 0], [2, 1, 2, 1, 2, 0.5]
    )
    assert model.report_.converged
    assert model.report_.rounds < 30
