"""Targets read from ``doc.cats``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_graft.pipeline.targets import ID_KEY, PLACE_KEY, WEIGHT_KEY, Target, TargetReader, Targets, document_name

LABELS = ("a", "b", "c")
EXCLUSIVE = TargetReader("sorter", LABELS, exclusive=True)
MULTILABEL = TargetReader("sorter", LABELS, exclusive=False)


def doc_of(cats: dict[str, Any], text: str = "a text", user_data: dict[str, Any] | None = None) -> Doc:
    words = text.split()
    doc = Doc(Vocab(), words, spaces=[True] * (len(words) - 1) + [False])
    doc.cats = cats
    doc.user_data.update(user_data or {})
    return doc


def test_exclusive_labels_left_out_are_zero() -> None:
    target = EXCLUSIVE.read(doc_of({"b": 1.0}))
    assert target.values.tolist() == [0.0, 1.0, 0.0]
    assert target.known.all()
    assert target.weight == 1.0


def test_soft_targets_are_kept_and_sum_to_one() -> None:
    target = EXCLUSIVE.read(doc_of({"a": 0.3, "b": 0.7004}))
    assert target.values.sum() == pytest.approx(1.0, abs=1e-15)
    assert target.values[1] / target.values[0] == pytest.approx(0.7004 / 0.3)


def test_several_labels_left_out_are_unknown() -> None:
    target = MULTILABEL.read(doc_of({"a": 1, "c": np.float32(0.0)}))
    assert target.values.tolist() == [1.0, 0.0, 0.0]
    assert target.known.tolist() == [True, False, True]


def test_weight_is_read() -> None:
    assert MULTILABEL.read(doc_of({}, user_data={WEIGHT_KEY: 2})).weight == 2.0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.5, 1.5, "1", None, [1.0]])
@pytest.mark.parametrize("reader", [EXCLUSIVE, MULTILABEL])
def test_bad_values_are_named(reader: TargetReader, value: Any) -> None:
    with pytest.raises(
        ValueError, match=r"\[sorter\] document 'a text' has .* for the label 'b'.* numbers from 0 to 1"
    ):
        reader.read(doc_of({"a": 0.0, "b": value}))


@pytest.mark.parametrize("cats", [{"a": 0.0}, {"a": 1.0, "b": 1.0}, {"a": 0.5, "b": 0.498}])
def test_exclusive_labels_must_sum_to_one(cats: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"\[sorter\] The labels of document 'a text' sum to .* and not to 1"):
        EXCLUSIVE.read(doc_of(cats))


def test_an_exclusive_label_must_be_there() -> None:
    with pytest.raises(ValueError, match=r"\[sorter\] document 'a text' has no label\. The labels of this"):
        EXCLUSIVE.read(doc_of({}))


def test_unknown_label_is_named_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"'a text' has the label 'd'.*'a', 'b', 'c'"):
        MULTILABEL.read(doc_of({"a": 1.0, "d": 0.5}))


@pytest.mark.parametrize("weight", [0.0, -1.0, 1e308, 10**400, float("nan"), float("inf"), "2"])
def test_bad_weights_are_named(weight: Any) -> None:
    with pytest.raises(ValueError, match=r"'a text' has .* for its weight"):
        EXCLUSIVE.read(doc_of({"a": 1.0}, user_data={WEIGHT_KEY: weight}))


def test_documents_are_called_by_id_or_beginning() -> None:
    assert document_name(doc_of({}, "x" * 41)) == f"document '{'x' * 40}…'"
    assert document_name(doc_of({}, user_data={ID_KEY: 7})) == "document 7"
    assert document_name(doc_of({}, "x", user_data={PLACE_KEY: "line 7"})) == "document 'x' (line 7)"


@pytest.mark.parametrize("n_labels", [5, 70])
def test_some_targets_and_sets_of_labels(n_labels: int) -> None:
    """Whether targets are sparse, as those of many labels, or not."""
    draw = np.random.default_rng(n_labels)
    known = np.ones(n_labels, np.bool_)
    rows = [np.flatnonzero(draw.random(n_labels) < 0.3) for _ in range(6)] + [np.empty(0, np.int64)]
    of_rows = [Target(row, draw.uniform(0.4, 1.0, len(row)), known, 1.0 + len(row)) for row in rows]
    targets = Targets.of(of_rows, n_labels)
    chosen = np.array([6, 2, 2, 0])
    some, dense = targets.some(chosen).dense(), targets.dense()
    for name in ("values", "known", "weights"):
        np.testing.assert_array_equal(getattr(some, name), getattr(dense, name)[chosen])
    sets = [tuple(np.flatnonzero(row >= 0.5)) for row in dense.values]
    found = list(targets.label_sets())
    assert [[one == other for other in found] for one in found] == [[one == other for other in sets] for one in sets]


@pytest.mark.parametrize("all_known", [False, True])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_shares_are_means_over_documents_of_which_a_label_is_known(all_known: bool, is_sparse: bool) -> None:
    rng = np.random.default_rng(0)
    known = np.ones((40, 3), np.bool_) if all_known else rng.random((40, 3)) < 0.6
    known[:, 2] = all_known
    values, weights = rng.random((40, 3)) * known, rng.random(40)
    given = np.broadcast_to(np.True_, known.shape) if all_known else known
    of_labels = zip(values.T, known.T, strict=True)
    expected = [np.average(of[some], weights=weights[some]) if some.any() else 0.0 for of, some in of_labels]
    targets = Targets(csr_array(values) if is_sparse else values, given, weights)
    assert targets.shares() == pytest.approx(expected)
