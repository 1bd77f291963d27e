"""Likelihoods without a maximum: what is told apart, and what only looks like it."""

from __future__ import annotations

import numpy as np
import pytest

from spacy_graft.graft.learners import Grafting
from spacy_graft.solve.likelihood import Likelihood
from strategies import training_data
from test_graft import run

#: One document of the second label, and one of the first (the reference class, where there is one).
ONE_OF_EACH = [[0.0, 1.0], [1.0, 0.0]]


@pytest.mark.parametrize(
    ("scores", "separated"),
    [
        ([[0.0, 0.5], [0.5, 0.0]], True),
        ([[0.0, 0.5], [0.5, 0.5]], False),
        ([[0.0, 0.0], [0.0, 0.0]], False),
        ([[0.5, 0.5], [0.0, 0.5]], False),
        ([[0.5, 0.5], [0.0, 0.0]], False),
    ],
    ids=["apart", "one tie", "all ties", "a tie and a mistake", "a mistake"],
)
def test_a_tie_tells_no_document_apart(scores, separated):
    targets, importance = np.array(ONE_OF_EACH).T, np.ones(2)
    plain = Likelihood(targets, importance, reference=False)
    assert plain.is_told_apart(np.array(scores).T) is separated
    difference = np.diff(np.array(scores), axis=1).T
    assert Likelihood(targets[1:], importance, reference=True).is_told_apart(difference) is separated


@pytest.mark.parametrize("reference", [False, True])
def test_soft_targets_are_never_told_apart_and_masked_documents_not_asked(reference):
    targets = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]).T
    scores = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]).T
    if reference:
        targets, scores = targets[1:], scores[1:] - scores[:1]
    masked = np.array([1.0, 1.0, 0.0])
    assert Likelihood(targets, masked, reference).is_told_apart(scores)
    assert not Likelihood(targets, np.ones(3), reference).is_told_apart(scores)
    assert not Likelihood(0.9 * targets + 0.05, masked, reference).is_told_apart(scores)


@pytest.mark.parametrize("labels", [2, 3])
def test_an_empty_model_of_as_many_documents_of_each_label_separates_nothing(labels):
    """All scores are equal."""
    texts = ["ab", "cd"] * (3 * labels)
    targets = np.eye(labels)[np.arange(6 * labels) % labels]
    fit = run(Grafting(penalty="none", threshold=100.0), training_data(texts, targets))
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
