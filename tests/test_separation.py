"""Likelihoods without a maximum: what is told apart, and what only looks like it."""

from __future__ import annotations

import numpy as np
import pytest

from spacy_graft.graft.settings import Grafting
from spacy_graft.solve.losses import LogisticLoss, SoftmaxLoss
from strategies import training_data
from test_graft import run


@pytest.mark.parametrize(
    ("scores", "separated"),
    [
        ([[0.0, 0.5], [0.5, 0.0]], True),
        ([[0.0, 0.5], [0.5, 0.5]], False),
        ([[0.0, 0.0], [0.0, 0.0]], False),
        ([[0.5, 0.5], [0.0, 0.5]], False),
        ([[0.5, 0.5], [0.5, 0.0]], False),
        ([[0.5, 0.0], [0.5, 0.0]], False),
    ],
    ids=["apart", "one tie", "all ties", "a tie and a mistake", "the other tie", "a mistake"],
)
def test_a_tie_tells_no_document_apart(scores, separated):
    """One document of the second label, and one of the first; the reference class of the logistic loss is the first."""
    targets, scores, importance = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array(scores).T, np.ones(2)
    assert SoftmaxLoss(targets, importance).is_separated_by(scores) is separated
    assert LogisticLoss(targets[1:], importance).is_separated_by(np.diff(scores, axis=0)) is separated


@pytest.mark.parametrize("loss", [SoftmaxLoss, LogisticLoss])
def test_soft_targets_are_never_told_apart_and_masked_documents_not_asked(loss):
    targets = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]).T
    scores = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]).T
    if loss is LogisticLoss:
        targets, scores = targets[1:], np.diff(scores, axis=0)
    masked = np.array([1.0, 1.0, 0.0])
    assert loss(targets, masked).is_separated_by(scores)
    assert not loss(targets, np.ones(3)).is_separated_by(scores)
    assert not loss(0.9 * targets + 0.05, masked).is_separated_by(scores)


@pytest.mark.parametrize("labels", [2, 3])
def test_an_empty_model_of_as_many_documents_of_each_label_separates_nothing(labels):
    """All scores are equal."""
    texts = ["ab", "cd"] * (3 * labels)
    targets = np.eye(labels)[np.arange(6 * labels) % labels]
    fit = run(Grafting(penalty="none", min_gradient=100.0), training_data(texts, targets))
    assert fit.report.n_active == 0
    assert not fit.report.separated


def is_separated(texts, targets, **options):
    """Of a fit to all n-grams of two documents or more, without a penalty."""
    data = training_data(texts, np.array(targets, float), min_df=2, **options)
    return run(Grafting(penalty="none"), data).report.separated


#: Both features have documents of both labels.
MIXED = ["a", "a", "b", "b", "b"]


@pytest.mark.parametrize("swapped", [False, True])
def test_a_feature_of_one_label_alone_separates(swapped):
    assert not is_separated(MIXED, np.eye(2)[[0, 1, 0, 1, 1]])
    labels = np.array([0, 1, 0, 1, 1, 1, 1])
    assert is_separated([*MIXED, "x", "x"], np.eye(2)[1 - labels if swapped else labels])


@pytest.mark.parametrize("target", [0.0, 1.0])
def test_only_documents_whose_label_is_known_count(target):
    """The documents of x have one label, but for one that is not known."""
    texts = [*MIXED, "x", "x", "x"]
    targets = np.array([[0, 1, 0, 1, 1, target, target, 1.0 - target]]).T
    known = np.ones(targets.shape, np.bool_)
    assert not is_separated(texts, targets, exclusive=False, known=known)
    known[-1] = False
    assert is_separated(texts, targets, exclusive=False, known=known)


def test_a_feature_without_a_document_whose_label_is_known_does_not_separate():
    targets = np.array([[0, 1, 0, 1, 1, 0, 0], [0, 1, 1, 0, 1, 0, 1]]).T
    known = np.ones(targets.shape, np.bool_)
    known[-2:, 0] = False
    assert not is_separated([*MIXED, "x", "x"], targets, exclusive=False, known=known)


def test_features_separate_together_that_do_not_alone():
    """The label is whether a document has two of three letters."""
    texts = ["a", "b", "c", "ab", "bc", "ca"]
    labels = np.array([0, 0, 0, 1, 1, 1])
    assert is_separated(texts, np.eye(2)[labels])
    assert not is_separated([*texts, *texts], np.eye(2)[[*labels, *(1 - labels)]])
