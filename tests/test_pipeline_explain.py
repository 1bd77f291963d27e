"""What a model says of itself."""

from __future__ import annotations

import math

import pytest
from spacy.language import Language

from conftest import TELLING, Record, make_nlp, train_fully
from spacy_graft.pipeline.textcat import TextCatGraft


def component_of(nlp: Language) -> TextCatGraft:
    component = nlp.get_pipe(nlp.pipe_names[-1])
    assert isinstance(component, TextCatGraft)
    return component


def test_features_are_named_and_weighted(fitted: Language) -> None:
    features = component_of(fitted).features()
    by_text = {feature.text: feature for feature in features}
    assert len(by_text) == len(features) > 3
    salt = by_text["salt"]
    assert salt.block == "words"
    assert salt.df > 2
    assert max(salt.weights, key=salt.weights.__getitem__) == "food"
    assert set(salt.weights) == set(TELLING)


@pytest.mark.parametrize("label", [None, *TELLING])
def test_contributions_sum_to_the_score(fitted: Language, label: str | None) -> None:
    doc = fitted("they had salt and a spoon of sugar with the song of the year")
    explanation = component_of(fitted).explain(doc, label)
    if label is None:
        assert explanation.label == max(doc.cats, key=doc.cats.__getitem__)
    values = [contribution.value for contribution in explanation.contributions]
    assert explanation.score == pytest.approx(explanation.intercept + sum(values))
    assert [abs(value) for value in values] == sorted(map(abs, values), reverse=True)
    assert explanation.probability == doc.cats[explanation.label]


def test_scores_make_the_probabilities(fitted: Language) -> None:
    doc = fitted("extra time and a goal")
    scores = {label: component_of(fitted).explain(doc, label).score for label in TELLING}
    total = sum(math.exp(score) for score in scores.values())
    assert {label: math.exp(score) / total for label, score in scores.items()} == pytest.approx(doc.cats)


def test_scores_of_several_labels_are_log_odds(train_records: list[Record]) -> None:
    nlp = train_fully(make_nlp("textcat_graft_multilabel"), train_records)
    doc = nlp("extra time and a goal")
    for label, probability in doc.cats.items():
        score = component_of(nlp).explain(doc, label).score
        assert probability == pytest.approx(1.0 / (1.0 + math.exp(-score)))


def test_a_document_without_features_has_the_intercept(fitted: Language) -> None:
    explanation = component_of(fitted).explain(fitted(""))
    assert explanation.contributions == ()
    assert explanation.score == explanation.intercept


def test_report(fitted: Language) -> None:
    report = component_of(fitted).report
    assert report is not None
    assert report.finished
    assert report.n_active == len(component_of(fitted).features())
    assert report.relative_gap <= 1e-3
    assert 0.0 < report.l1_ratio < 1.0
    assert report.seconds
