"""Features and explanations of a trained component."""

from __future__ import annotations

import itertools
import json
import math
import sys

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Token

import spacy_graft
from conftest import TELLING, Record, component_of, make_example, make_nlp, make_records, train_fully
from spacy_graft.explain.scores import alternatives_of


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
    for explanation in component_of(fitted).explain(doc):
        assert explanation.against is not None
        odds = doc.cats[explanation.label] / doc.cats[explanation.against]
        assert math.exp(explanation.score) == pytest.approx(odds)
        others = [p for label, p in doc.cats.items() if label != explanation.label]
        assert doc.cats[explanation.against] == max(others)


@pytest.mark.parametrize("temperature", [1.0, 1.7])
def test_the_score_of_two_labels_makes_the_probability(temperature: float) -> None:
    nlp = make_nlp()
    kept = [record for record in make_records(90) if record["label"] != "food"]
    cats = [{label: float(label == record["label"]) for label in ("music", "sport")} for record in kept]
    spacy_graft.fit(nlp, [make_example(nlp, record["text"], one) for record, one in zip(kept, cats, strict=True)])
    component_of(nlp).divide_scores(temperature)
    doc = nlp("extra time and a goal with the song of the year")
    for explanation in component_of(nlp).explain(doc):
        assert 1.0 / (1.0 + math.exp(-explanation.score)) == pytest.approx(doc.cats[explanation.label], abs=1e-12)
    sport, music = component_of(nlp).explain(doc)["sport"], component_of(nlp).explain(doc)["music"]
    assert sport.score == pytest.approx(-music.score)


def test_a_label_against_another(fitted: Language) -> None:
    component = component_of(fitted)
    doc = fitted("salt and a goal with the song of the year")
    scores = dict(zip(component.labels, component.model.predict([doc])[0].tolist(), strict=True))
    for label, against in itertools.permutations(component.labels, 2):
        explanation = component.explain(doc, label, against=against)[label]
        assert explanation.score == pytest.approx(scores[label] - scores[against], abs=1e-12)
        for found in (explanation.contributions, explanation.words):
            assert math.fsum([explanation.intercept, *(part.contribution for part in found)]) == pytest.approx(
                explanation.score, abs=1e-9
            )
    assert [one.label for one in component.explain(doc, against="food")] == ["music", "sport"]
    best = component.explain_best(doc, against=max(scores, key=scores.__getitem__)).best
    assert best.score < 0.0


def test_what_cannot_be_compared(fitted: Language, train_records: list[Record]) -> None:
    doc = fitted("salt")
    with pytest.raises(ValueError, match=r"no label 'foot'\. Did you mean 'food'"):
        component_of(fitted).explain(doc, against="foot")
    with pytest.raises(ValueError, match="'food' cannot be compared with itself"):
        component_of(fitted).explain(doc, "food", against="food")
    independent = train_fully(make_nlp("textcat_graft_multilabel"), train_records)
    with pytest.raises(ValueError, match="'food' is no alternative to another one"):
        component_of(independent).explain(independent("salt"), against="food")


def test_the_label_without_a_name_is_an_alternative() -> None:
    assert alternatives_of({"": 0.1, "food": 0.7, "music": 0.2}, True, "food", "") == {"food": ""}


def test_an_explanation_prints_a_short_table(fitted: Language) -> None:
    explanation = component_of(fitted).explain(fitted("salt and a goal, the song \x1b of the year"))
    best = explanation.best
    lines = str(best).splitlines()
    assert lines[0] == f"{best.label}, probability {best.probability:.3f}"
    assert lines[-1].split(maxsplit=1) == [f"{best.score:+.3f}", f"log-odds against {best.against}"]
    assert sum(float(line.split()[0]) for line in lines[1:-1]) == pytest.approx(best.score, abs=0.005)
    assert repr(best) == repr(explanation) == str(best)
    assert "\x1b" not in str(best)
    assert "word or phrase" in best._repr_html_()


def test_notebooks_show_the_component_and_the_report(fitted: Language) -> None:
    component = component_of(fitted)
    assert component.report is not None
    assert "salt" in component._repr_html_()
    assert "<th>duality_gap</th>" in component.report._repr_html_()
    assert "not trained yet" in component_of(make_nlp())._repr_html_()


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
    for label, written in zip(explanation, plain["labels"], strict=True):
        assert [part["contribution"] for part in written["contributions"]] == [
            part.contribution for part in label.contributions
        ]
        assert json.loads(json.dumps(label.to_dict())) == written
    assert plain["text"] == doc.text
    assert [label["label"] for label in plain["labels"]] == list(TELLING)
    first = plain["labels"][0]["contributions"][0]
    assert set(first) == {"text", "block", "kind", "weight", "value", "contribution", "members"}
    (member,) = explanation.labels[0].contributions[0].members
    ((span,),) = member.places
    own = {"start": span.start, "end": span.end, "first_token": span.first_token, "end_token": span.end_token}
    names = {"text": member.text, "block": member.block, "kind": member.kind}
    assert first["members"] == [{**names, "places": [[own]], "relations": []}]
    assert set(plain["labels"][0]["words"][0]) == {"text", "contribution", "places", "features"}
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
    for fragments in (False, True):
        frame = explanation.to_dataframe(fragments)
        assert ("weight" in frame.columns) == fragments
        for label in explanation:
            rows = frame[frame["label"] == label.label]
            assert label.intercept + rows["contribution"].sum() == pytest.approx(label.score)


def test_parts_of_explanations_are_not_changed(fitted: Language) -> None:
    """Labels share them."""
    explanation = component_of(fitted).explain(fitted("salt and a spoon of sugar, salt again"))
    part = explanation.best.contributions[0]
    assert part in {part}
    for instance, name in ((part, "weight"), (part.members[0], "text"), (part.members[0].places[0][0], "start")):
        with pytest.raises(AttributeError):
            setattr(instance, name, 1)


def test_documents_of_several_vocabs(fitted: Language) -> None:
    other = spacy.blank("xx")
    texts = ["salt and sugar", "a goal in extra time", "the song of unheard words", ""]
    docs = [nlp.make_doc(text) for text in texts for nlp in (fitted, other)]
    component = component_of(fitted)
    probabilities = component.predict(docs)
    assert probabilities.tolist() == [component.predict([doc])[0].tolist() for doc in docs]
    assert probabilities[::2].tolist() == probabilities[1::2].tolist()


@pytest.fixture(scope="module")
def cased() -> Language:
    """A pipeline with the default blocks, for texts of which capitals alone tell the label."""
    nlp = make_nlp(features=None)
    names = {
        "firm": ["Apple", "Target", "iRobot", '"Gap",', "HP"],
        "thing": ["apple", "target", "irobot", '"gap",', "hp"],
    }
    rows = [(f"we {seen} {name} {when}", label) for label, own in names.items() for name in own
            for seen in ("saw", "like", "know") for when in ("again", "today")]  # fmt: skip
    spacy_graft.fit(nlp, *map(list, zip(*rows, strict=True)))
    return nlp


def test_the_default_blocks_tell_words_by_their_capitals(cased: Language) -> None:
    for text, label in (("you saw Target", "firm"), ("you saw target", "thing"), ("they know HP", "firm")):
        assert cased(text).cats[label] > 0.9
    marks = {feature.text[0] for feature in component_of(cased).features() if feature.block == "characters"}
    assert marks & set("⇧⇪↕")


def test_words_that_differ_in_case_are_explained_apart(cased: Language) -> None:
    text = 'an apple of Apple and "Gap", they said'
    why = component_of(cased).explain(cased(text))["firm"]
    values = [part.contribution for part in why.contributions]
    assert math.fsum(values) + why.intercept == pytest.approx(why.score, abs=1e-9)
    # A mark has the place of its capital: it makes no phrase of a word and its quotation marks.
    rows = {row.text: row.contribution for row in why.words}
    assert min(rows["Apple"], rows["Gap"]) > 0.0
    assert "apple" not in rows
    assert not any("Gap" in row for row in rows.keys() - {"Gap"})


def test_words_that_an_extension_tells_apart_are_explained_apart() -> None:
    Token.set_extension("form", getter=lambda token: token.text, force=True)
    forms = {"forms": {"@graft_features": "spacy_graft.TokenAttributes.v1", "attr": "_.form", "min_df": 2}}
    nlp = spacy.blank("xx")
    nlp.add_pipe("textcat_graft", config={"features": forms})
    texts = [f"we {seen} {name}" for name in ("Apple", "apple") for seen in ("saw", "like", "know", "ate") * 3]
    spacy_graft.fit(nlp, texts, ["firm"] * 12 + ["thing"] * 12)
    rows = {row.text: row.contribution for row in component_of(nlp).explain(nlp("Apple or apple"))["firm"].words}
    assert rows["Apple"] > 0.0 > rows["apple"]
