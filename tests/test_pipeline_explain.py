"""Features and explanations of a trained component."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import FrozenInstanceError, replace

import pytest
import spacy
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
    assert (salt.block, salt.kind, salt.longest) == ("words", "token n-gram", "salt")
    assert salt.df > 2
    assert max(salt.weights, key=salt.weights.__getitem__) == "food"
    assert set(salt.weights) == set(TELLING)


@pytest.mark.parametrize("label", [None, *TELLING])
def test_contributions_sum_to_the_score(fitted: Language, label: str | None) -> None:
    doc = fitted("they had salt and a spoon of sugar with the song of the year")
    whole = component_of(fitted).explain(doc, label)
    assert [explanation.label for explanation in whole] == ([label] if label else list(TELLING))
    if label is None:
        assert whole.best.label == max(doc.cats, key=doc.cats.__getitem__)
    for explanation in whole:
        values = [part.contribution for part in explanation.contributions]
        assert explanation.score == pytest.approx(explanation.intercept + sum(values), abs=1e-9)
        assert [abs(value) for value in values] == sorted(map(abs, values), reverse=True)
        assert explanation.probability == doc.cats[explanation.label]
        assert all(part.contribution == part.weight * part.value != 0.0 for part in explanation.contributions)


def test_scores_make_the_probabilities(fitted: Language) -> None:
    doc = fitted("extra time and a goal")
    scores = {label: component_of(fitted).explain(doc)[label].score for label in TELLING}
    total = sum(math.exp(score) for score in scores.values())
    assert {label: math.exp(score) / total for label, score in scores.items()} == pytest.approx(doc.cats)


def test_scores_of_several_labels_are_log_odds(train_records: list[Record]) -> None:
    nlp = train_fully(make_nlp("textcat_graft_multilabel"), train_records)
    doc = nlp("extra time and a goal")
    for label, probability in doc.cats.items():
        score = component_of(nlp).explain(doc)[label].score
        assert probability == pytest.approx(1.0 / (1.0 + math.exp(-score)))


def test_a_document_without_features_has_the_intercept(fitted: Language) -> None:
    explanation = component_of(fitted).explain(fitted("")).best
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


def test_places_are_where_the_ngram_is(fitted: Language) -> None:
    doc = fitted("Salt,\n\nmore  salt and a spoon of sugar")
    parts = {part.text: part for part in component_of(fitted).explain(doc, "food")["food"].contributions}
    spans = [span for (span,) in parts["salt"].members[0].places]
    assert [doc.text[span.start : span.end] for span in spans] == ["Salt", "salt"]
    assert [doc[span.first_token : span.end_token].text for span in spans] == ["Salt", "salt"]
    for part in parts.values():
        for (span,) in part.members[0].places:
            assert " ".join(doc.text[span.start : span.end].lower().split()) == part.text


def test_plain_values(fitted: Language) -> None:
    doc = fitted("salt and a goal")
    explanation = component_of(fitted).explain(doc)
    plain = json.loads(json.dumps(explanation.to_dict()))
    assert plain["text"] == doc.text
    assert [label["label"] for label in plain["labels"]] == list(TELLING)
    first = plain["labels"][0]["contributions"][0]
    assert set(first) == {"text", "block", "kind", "weight", "value", "contribution", "members"}
    with pytest.raises(KeyError, match="war"):
        explanation["war"]


def test_a_dataframe_needs_pandas(fitted: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    explanation = component_of(fitted).explain(fitted("salt and a goal"))
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_dataframe needs pandas"):
        explanation.to_dataframe()


def test_dataframe(fitted: Language) -> None:
    pytest.importorskip("pandas")
    explanation = component_of(fitted).explain(fitted("salt and a goal"))
    frame = explanation.to_dataframe()
    for label in explanation:
        rows = frame[frame["label"] == label.label]
        assert label.intercept + rows["contribution"].sum() == pytest.approx(label.score)


def test_explanations_are_of_ordinary_dataclasses(fitted: Language) -> None:
    explanation = component_of(fitted).explain(fitted("salt and a spoon of sugar, salt again"))
    parts = [part for label in explanation for part in label.contributions]
    members = [member for part in parts for member in part.members]
    spans = [span for member in members for place in member.places for span in place]
    assert spans
    for instance in [*parts, *members, *spans]:
        copy = replace(instance)
        assert copy == instance
        assert hash(copy) == hash(instance)
        assert repr(copy) == repr(instance)
        assert vars(copy) == vars(instance)
    with pytest.raises(FrozenInstanceError):
        spans[0].start = 1  # type: ignore[misc]


def test_documents_of_several_vocabs(fitted: Language) -> None:
    other = spacy.blank("en")
    texts = ["salt and sugar", "a goal in extra time", "the song of unheard words", ""]
    docs = [nlp.make_doc(text) for text in texts for nlp in (fitted, other)]
    component = component_of(fitted)
    probabilities = component.predict(docs)
    assert probabilities.tolist() == [component.predict([doc])[0].tolist() for doc in docs]
    assert probabilities[::2].tolist() == probabilities[1::2].tolist()
