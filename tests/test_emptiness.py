"""Training that ends without features says why, once, and what to change."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import spacy
from spacy.training import Example

import spacy_graft
from spacy_graft import GraftTextClassifier
from spacy_graft.graft.emptiness import problem_of_weights, warn_if_empty, warnings_of_all_documents, why_empty
from spacy_graft.graft.report import Report
from spacy_graft.graft.settings import CoordinateAscent, Grafting, GraftingPath
from spacy_graft.graft.start import start
from spacy_graft.pipeline.defaults import default_features
from spacy_graft.pipeline.targets import WEIGHT_KEY
from strategies import training_data
from test_graft import run

TEXTS = ["ab", "abc", "cd", "cda"]
#: The training data of spaCy's own tests of text classification.
TWO_EXAMPLES = [
    ("I'm so happy.", {"POSITIVE": 1.0, "NEGATIVE": 0.0}),
    ("I'm so angry", {"POSITIVE": 0.0, "NEGATIVE": 1.0}),
]


def reason(learner, texts=TEXTS, targets=(0, 0, 1, 1), min_df=1):
    """Why a fit ended without features."""
    fit = run(learner, training_data(texts, np.eye(2)[list(targets)], min_df=min_df))
    return why_empty(learner, fit.report, len(texts))


@pytest.mark.parametrize("learner", [Grafting(l1=0.1), GraftingPath(), CoordinateAscent(), Grafting(penalty="none")])
def test_features_need_no_reason(learner):
    assert reason(learner) is None


@pytest.mark.parametrize("learner", [Grafting(l1=0.1), GraftingPath(), CoordinateAscent(), Grafting(penalty="none")])
def test_no_feature_is_in_enough_documents(learner):
    found = reason(learner, min_df=5)
    assert "No n-gram or item is in as many of the 4 training documents as min_df asks for (characters: 5)" in found
    assert "Lower min_df of the blocks" in found


@pytest.mark.parametrize("learner", [Grafting(l1=0.1), GraftingPath(), CoordinateAscent()])
def test_features_are_in_documents_of_all_labels_alike(learner):
    found = reason(learner, ["a", "a", "a", "a"])
    assert "min_df asks for (characters: 1) hardly distinguish the labels (distinct features: 1)" in found


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (Grafting(l1=7.0), r"l1 = 7 is too large: features enter only below 1, .* Lower l1"),
        (
            Grafting(penalty="l2", ridge=1.0, min_gradient=3.0),
            r"min_gradient = 3 is too large: .* Lower min_gradient\.",
        ),
    ],
)
def test_the_strength_is_too_large(learner, message):
    with pytest.raises(ValueError, match=message):
        raise ValueError(reason(learner))


@pytest.mark.parametrize("make", [partial(Grafting, l1=4.0), partial(GraftingPath, l1_min_ratio=0.8)])
@pytest.mark.parametrize(("option", "value"), [("ridge", 1e6), ("tol", 0.9)])
def test_what_features_gain_is_nothing_beside_an_option(make, option, value):
    found = reason(make(**{option: value}), ["ab", "cd"] * 10, [0, 1] * 10)
    assert f"{option} = {value:g} is too large: no feature lowers" in found
    assert found.endswith(f"Lower {option}.")


def test_a_path_is_at_its_limit_before_it_has_features():
    """Two n-grams that are not in the same documents enter together, and are too many."""
    found = reason(GraftingPath(max_features=1, steps=2, length_normalisation=False), ["a", "b"] * 10, [0, 1] * 10)
    assert "At all L1 strengths tried there are none, or more than max_features = 1. Raise max_features." in found


def test_a_point_of_a_path_is_not_at_a_limit_that_there_is_not():
    report = Report(min_df={"words": 1}, objective=1.0, l1_max=1.0, points=1, n_columns=5)
    assert "hardly distinguish the labels" in why_empty(GraftingPath(max_features=None), report, 10)
    assert "hardly distinguish the labels" in why_empty(GraftingPath(max_features=5), report, 10)
    assert "more than parsimony = 4. Raise parsimony." in why_empty(GraftingPath(parsimony=4), report, 10)


def test_that_no_feature_is_stable_is_what_was_asked_for():
    report = Report(min_df={"words": 1}, objective=1.0, l1_max=1.0, points=1, n_columns=5)
    assert why_empty(GraftingPath(stability=1.0), replace(report, stability={"left_out": 3.0}), 10) is None
    assert why_empty(GraftingPath(stability=1.0), replace(report, stability={"left_out": 0.0}), 10) is not None


def test_what_a_fold_lacks_is_not_said_of_all_documents() -> None:
    report = start(GraftingPath(), training_data(TEXTS, np.eye(2)[[0, 0, 1, 1]], min_df=5)).report
    with warnings_of_all_documents():
        warn_if_empty(GraftingPath(), report, len(TEXTS), False)
    with pytest.warns(UserWarning, match="The trained model has no features"):
        warn_if_empty(GraftingPath(), report, len(TEXTS), False)


def test_all_documents_have_one_label():
    assert "No label is on some of the 4 training documents and not on others" in reason(
        GraftingPath(), targets=[0] * 4
    )


def test_a_path_without_features_ends_as_the_optimum_at_l1_max():
    """What its points could change is worth less than the tolerance."""
    lengths = np.array([3.0, 3.01, 3.0, 3.0])
    data = training_data(["a", "a", "a", "a"], np.eye(2)[[0, 0, 1, 1]], lengths=lengths)
    fit = run(GraftingPath(), data)
    assert fit.report.l1_max > 0.0
    report = fit.report
    assert report.n_active == 0
    assert report.l1 == report.l1_max
    assert (report.max_violation, report.duality_gap, report.converged) == (0.0, 0.0, True)


def test_a_component_warns_once():
    nlp = spacy.blank("xx")
    features = default_features()
    features["words"]["min_df"], features["characters"]["min_df"] = 2, 3
    component = nlp.add_pipe("textcat_graft", config={"features": features})
    examples = [Example.from_dict(nlp.make_doc(text), {"cats": cats}) for text, cats in TWO_EXAMPLES]
    nlp.initialize(lambda: examples)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(30):
            nlp.update(examples)
    (warning,) = caught
    assert "2 training documents as min_df asks for (words: 2, characters: 3)" in str(warning.message)
    assert component.report.max_violation == 0.0  # type: ignore[attr-defined]
    assert nlp("I'm so happy.").cats == {"POSITIVE": 0.5, "NEGATIVE": 0.5}


@pytest.mark.parametrize("has_dev", [True, False])
def test_a_path_at_its_limit_is_warned_of_once(has_dev: bool) -> None:
    nlp = spacy.blank("xx")
    learner = {"@graft_learners": "spacy_graft.GraftingPath.v1", "max_features": 1, "length_normalisation": False}
    features = {"words": {"@graft_features": "spacy_graft.TokenNgrams.v1"}}
    nlp.add_pipe("textcat_graft", config={"learner": learner, "features": features})
    train, dev = ([Example.from_dict(nlp.make_doc(t), {"cats": {"A": t[0] == "a", "B": t[0] == "b"}}) for t in texts]
                  for texts in (["a", "b"] * 20, ["a c", "b c"] * 20))  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = spacy_graft.fit(nlp, train, dev=dev if has_dev else None)
    assert report.n_active == 0
    (said,) = (str(warning.message) for warning in caught if "no features" in str(warning.message))
    assert said.endswith("more than max_features = 1. Raise max_features.")


@pytest.mark.parametrize("has_dev", [True, False])
@pytest.mark.parametrize("retrain", [True, False])
def test_a_path_without_features_is_warned_of_once(has_dev: bool, retrain: bool) -> None:
    """Its points, which are all alike, are gone through, and the last training, which passes points by, finds none."""
    nlp = spacy.blank("xx")
    learner = {"@graft_learners": "spacy_graft.GraftingPath.v1", "ridge": 1e6, "retrain": retrain}
    nlp.add_pipe("textcat_graft", config={"learner": learner})
    texts = [f"{word} {k % 7}" for k in range(60) for word in ("good", "bad")]
    labelled = [(text, text.split()[0]) for text in texts]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = spacy_graft.fit(nlp, labelled, dev=labelled[:60] if has_dev else None)
    assert report.n_active == 0
    (said,) = (str(warning.message) for warning in caught)
    assert "ridge = 1e+06 is too large" in said


@pytest.mark.parametrize(
    ("n", "weight", "is_told"), [(100, 1.0, False), (100, 0.02, False), (100, 1e-3, True), (20_000, 1e-2, False)]
)
def test_weights_beside_which_penalties_are_all(n: int, weight: float, is_told: bool) -> None:
    problem = problem_of_weights(np.full(n, weight))
    assert (problem is not None) == is_told
    if problem is not None:
        assert "weights of 100 documents sum to 0.1." in problem
        assert problem.endswith("by 1000, so that their mean is 1.")


def test_weights_beside_which_penalties_are_nothing() -> None:
    assert problem_of_weights(np.array([1.0, 2.0, 27.0])) is None
    problem = problem_of_weights(np.array([1.0, 2.0, 57.0]))
    assert problem is not None
    assert "a useless size and too sure. Multiply the weights by 0.05, so that their mean is 1, unless" in problem


@pytest.mark.filterwarnings("ignore:The trained model has no features")
def test_such_weights_are_warned_of() -> None:
    nlp = spacy.blank("xx")
    nlp.add_pipe("textcat_graft")
    examples = [Example.from_dict(nlp.make_doc(text), {"cats": cats}) for text, cats in TWO_EXAMPLES * 5]
    for example in examples:
        example.reference.user_data[WEIGHT_KEY] = 1e-9
    nlp.initialize(lambda: examples)
    with pytest.warns(UserWarning, match=r"\[textcat_graft\] The example weights of 10 documents sum to 1e-08"):
        nlp.update(examples)
    classifier = GraftTextClassifier()
    with pytest.warns(UserWarning, match="GraftTextClassifier: The example weights of 10 documents"):
        classifier.fit(["a b", "c d"] * 5, [0, 1] * 5, sample_weight=np.full(10, 1e-9))
