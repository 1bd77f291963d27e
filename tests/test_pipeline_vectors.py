"""Word vectors in components: training, choice, explanations, saved models, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.language import Language
from spacy.vocab import Vocab

import spacy_graft
from conftest import (
    COMMON,
    PATH,
    REPOSITORY,
    TELLING,
    WORDS,
    Record,
    component_of,
    forged,
    make_examples,
    make_nlp,
    make_records,
    run_forked,
)
from spacy_graft.model.table import unpack_message
from spacy_graft.pipeline.vectors import pipeline_vectors, vectors_of_vocab
from spacy_graft.vectors.word_scores import WrittenScores
from spacy_graft.vectors.word_vectors import WordVectors
from test_cli import call

VECTORS = {"vectors": {"@graft_features": "spacy_graft.Vectors.v1"}}
#: Words of the labels, and such as no training document has.
KNOWN = {label: sorted(set(" ".join(phrases).split()) - set(COMMON)) for label, phrases in TELLING.items()}
NEW = {"food": "casserole", "music": "trombone", "sport": "offside"}
#: Another one, that no test reads.
UNREAD = "accordion"


def word_vectors() -> WordVectors:
    """Vectors that tell the labels apart, with noise; common words have vectors too."""
    rng = np.random.default_rng(0)
    words = list(dict.fromkeys(COMMON))
    rows = [rng.normal(size=4) for _ in words]
    for column, label in enumerate(TELLING):
        for word in [*KNOWN[label], NEW[label], *([UNREAD] if label == "music" else [])]:
            words.append(word)
            rows.append(3.0 * np.eye(4)[column] + 0.3 * rng.normal(size=4))
    return WordVectors(tuple(words), np.array(rows, np.float32), "made-up vectors")


def read(_: Vocab) -> WordVectors:
    return word_vectors()


def make(learner: dict[str, Any] | None = None, factory: str = "textcat_graft", **vectors: Any) -> Language:
    block = {"vectors": {**VECTORS["vectors"], **vectors}}
    options = {**PATH, "steps": 3, "l1_min_ratio": 0.01, **(learner or {})}
    return make_nlp(factory, features={**WORDS, **block}, learner=options)


@pytest.fixture(scope="module")
def trained() -> Language:
    """Not to be changed."""
    nlp = make()
    records = make_records(60)
    spacy_graft.fit(nlp, make_examples(nlp, records), dev=make_examples(nlp, make_records(30, 1)), vectors=read)
    return nlp


def test_words_that_no_training_document_has_are_known(trained: Language) -> None:
    for label, word in NEW.items():
        assert component_of(trained).predicted(trained.make_doc(f"they came to see the {word}")) == [label]


@pytest.mark.parametrize("words", ["all", "training", "pipeline"])
def test_capitals_of_a_table_make_no_difference(trained: Language, words: str) -> None:
    """Where words are looked up in lower case: neither for those that are there in it, nor for those that are not."""
    given = word_vectors()
    with_capitals = WordVectors(
        (*given.words[:-1], given.words[-1].upper(), *(word.upper() for word in given.words[:3])),
        np.concatenate([given.vectors, -given.vectors[:3]]),
    )
    nlp = make(words=words)
    for word, vector in zip(with_capitals.words, with_capitals.vectors, strict=True):
        nlp.vocab.set_vector(word, vector)
    examples, dev = (make_examples(nlp, make_records(n, seed)) for n, seed in ((60, 0), (30, 1)))
    source = vectors_of_vocab if words == "pipeline" else lambda _: with_capitals
    spacy_graft.fit(nlp, examples, dev=dev, vectors=source)
    found = {word.text: word.weights for word in component_of(nlp).strongest_words(1000)}
    expected = {word.text: word.weights for word in component_of(trained).strongest_words(1000)}
    assert found == {word: expected[word] for word in found}
    if words != "training":
        assert found.keys() == expected.keys()
    nlp.from_bytes(nlp.to_bytes())
    assert {word.text: word.weights for word in component_of(nlp).strongest_words(1000)} == found


def test_report(trained: Language) -> None:
    report = component_of(trained).report
    assert report is not None
    assert report.vectors is not None
    assert report.vectors["words"] == len(word_vectors())
    assert report.vectors["columns"] == 4
    assert 0 < report.vectors["words_in_training"] <= len(word_vectors()) - 4
    assert report.vectors_ridge == component_of(trained).learner.vectors_ridge


def test_explanations_sum_to_the_scores(trained: Language) -> None:
    component = component_of(trained)
    snapshot = component.model.attrs["snapshot"]
    for text in ("They came to hear the trombone with drums, drums and more", "nothing known", "", "goal"):
        doc = trained.make_doc(text)
        scores = dict(zip(component.labels, snapshot.scores([doc])[0], strict=True))
        for label in component.explain(doc):
            assert label.against is not None
            score = scores[label.label] - scores[label.against]
            assert label.score == pytest.approx(score, abs=1e-9)
            assert sum(row.contribution for row in label.words) == pytest.approx(score - label.intercept, abs=1e-9)
            parts = sum(part.contribution for part in label.contributions)
            assert label.intercept + parts == pytest.approx(score, abs=1e-9)
            assert all(part.weight * part.value == part.contribution for part in label.contributions)


def test_a_word_is_explained_beside_the_features(trained: Language) -> None:
    doc = trained.make_doc("drums and a Trombone, drums")
    parts = {(part.text, part.kind): part for part in component_of(trained).explain(doc)["music"].contributions}
    trombone = parts["trombone", "word vector"]
    assert trombone.block == "vectors"
    assert trombone.contribution > 0.0
    assert [(span.start, span.end) for (span,) in trombone.members[0].places] == [(12, 20)]
    assert len(parts["drums", "word vector"].members[0].places) == 2
    assert ("drums", "token n-gram") in parts
    shares = sum(part.value for (_, kind), part in parts.items() if kind == "word vector")
    assert shares == pytest.approx(1.0)


def test_what_comes_from_outside_is_marked(trained: Language, tmp_path: Path) -> None:
    doc = trained.make_doc("drums and a Trombone, drums")
    label = component_of(trained).explain(doc)["music"]
    assert "Trombone (word vector)" in str(label)
    assert "drums\n" in str(label)  # a word of the training texts
    (row,) = (row for row in label.to_dict()["words"] if row["text"] == "Trombone")
    assert [part["kind"] for part in row["features"]] == ["word vector"]
    trained.to_disk(tmp_path / "model")
    table = call("explain", tmp_path / "model", doc.text, "--label", "music", "--format", "table").stdout
    assert " a (word vector)" in " ".join(table.split())
    page = spacy_graft.render(doc, component_of(trained), style="table", label="music")
    assert "<small><bdi>trombone</bdi> word vector</small>" in page


def test_strongest_words(trained: Language) -> None:
    component = component_of(trained)
    strongest = component.strongest_words(12, "music")
    assert len(strongest) == 12
    assert {"trombone", UNREAD}.issubset(word.text for word in strongest if word.weights["music"] > 0.0)
    by_text = {word.text: word for word in component.strongest_words()}
    assert len(by_text) == len(word_vectors())
    assert by_text["trombone"].df == 0
    assert by_text["drums"].df > 0
    with pytest.raises(ValueError, match="no label 'art'"):
        component.strongest_words(label="art")
    page = spacy_graft.render(component, style="global")
    assert "from outside the training texts" in page
    assert "trombone" in page
    assert "word vector" in spacy_graft.render(trained.make_doc("a trombone"), component, style="table")


# Saved models


def test_round_trips_to_the_bit(trained: Language, tmp_path: Path) -> None:
    texts = ["a trombone and the goal", "salt", "", "nothing known"]
    expected = [trained(text).cats for text in texts]
    trained.to_disk(tmp_path / "model")
    loaded = spacy.load(tmp_path / "model")
    assert [loaded(text).cats for text in texts] == expected
    assert [doc.cats for doc in loaded.pipe(texts)] == expected
    other = make()
    component_of(other).from_bytes(component_of(trained).to_bytes())
    assert [other(text).cats for text in texts] == expected
    assert component_of(loaded).to_bytes(exclude=["vocab"]) == component_of(trained).to_bytes(exclude=["vocab"])
    # No path and no vector is saved, and unknown words of the vectors are not added to the vocab.
    assert isinstance(component_of(loaded).model.attrs["snapshot"].word_scores.scores, WrittenScores)
    assert UNREAD not in loaded.vocab.strings


def test_only_training_words_are_kept_if_asked_for(train_records: list[Record]) -> None:
    nlp = make(words="training")
    spacy_graft.fit(
        nlp, make_examples(nlp, train_records[:60]), dev=make_examples(nlp, train_records[60:]), vectors=read
    )
    words = {word.text for word in component_of(nlp).strongest_words(1000)}
    assert "drums" in words
    assert not words & set(NEW.values())


def test_other_blocks_and_damaged_scores_are_refused(trained: Language) -> None:
    data = component_of(trained).to_bytes(exclude=["vocab"])
    with pytest.raises(ValueError, match="was trained with"):
        component_of(make_nlp()).from_bytes(data)
    with pytest.raises(ValueError, match="was trained with"):
        component_of(make(attr="ORTH")).from_bytes(data)
    model = component_of(trained).model.to_dict()
    message = unpack_message(model["attrs"][0]["word_scores"])
    changes = [
        {"words": ["a"]}, {"words": [1] * len(message["words"])}, {"shares": b""}, {"scores": message["scores"][:-4]},
        {"block": "words"}, {"block": 1}, {"known": b"\xff" * len(message["known"])},
        {"scores": np.full(len(message["scores"]) // 4, np.nan, "<f4").tobytes()},
    ]  # fmt: skip
    for change in changes:
        changed = {**model, "attrs": [{**model["attrs"][0], "word_scores": packed({**message, **change})}]}
        with pytest.raises(ValueError, match="scores of words"):
            component_of(make()).from_bytes(forged(data, model=packed(changed)))


def packed(value: Any) -> bytes:
    from spacy_graft.model.table import pack_message

    return pack_message(value)


# Choice


def test_held_out_documents_choose_the_strength(train_records: list[Record], dev_records: list[Record]) -> None:
    learner = {"vectors_ridge": 30.0, "vectors_choices": [0.3, 0.0], "retrain": False}
    nlp = make(learner)
    examples, dev = make_examples(nlp, train_records[:30]), make_examples(nlp, dev_records)
    chosen = spacy_graft.fit(nlp, examples, dev=dev, vectors=read)
    assert chosen.vectors_ridge == 0.3


def test_vectors_are_tried_at_the_same_strength(train_records: list[Record], dev_records: list[Record]) -> None:
    """They take most of what features would say, so that l1_max with them is smaller: it is not what counts."""
    learner = {**PATH, "steps": 8, "retrain": False}
    with_vectors = {**learner, "vectors_ridge": 0.3, "vectors_choices": [0.0]}
    reports = []
    for features, options, vectors in ((WORDS, learner, None), ({**WORDS, **VECTORS}, with_vectors, read)):
        nlp = make_nlp(features=features, learner=options)
        examples, dev = make_examples(nlp, train_records[:30]), make_examples(nlp, dev_records)
        reports.append(spacy_graft.fit(nlp, examples, dev=dev, vectors=vectors))
    without, chosen = reports
    assert chosen.vectors_ridge == 0.3
    assert chosen.points == without.points
    assert chosen.l1 == pytest.approx(without.l1)
    assert chosen.n_active <= without.n_active


def test_a_full_model_is_full_with_vectors_too(train_records: list[Record], dev_records: list[Record]) -> None:
    learner = {**PATH, "steps": 8, "max_features": 4, "vectors_ridge": 0.3, "vectors_choices": [0.0], "retrain": False}
    nlp = make_nlp(features={**WORDS, **VECTORS}, learner=learner)
    examples, dev = make_examples(nlp, train_records[:30]), make_examples(nlp, dev_records)
    chosen = spacy_graft.fit(nlp, examples, dev=dev, vectors=read)
    without = component_of(nlp).history[chosen.points - 1]
    assert chosen.vectors_ridge == 0.3
    assert chosen.n_active == without["n_active"] == 4
    assert chosen.l1 < without["l1"]


def test_useless_vectors_are_left_out(train_records: list[Record], dev_records: list[Record]) -> None:
    rng = np.random.default_rng(1)
    words = word_vectors().words
    noise = WordVectors(words, rng.normal(size=(len(words), 30)).astype(np.float32))
    for retrain in (True, False):
        nlp = make({"vectors_ridge": 1e-3, "vectors_choices": [0.0], "retrain": retrain})
        report = spacy_graft.fit(
            nlp, make_examples(nlp, train_records), dev=make_examples(nlp, dev_records), vectors=lambda _: noise
        )
        assert report.vectors_ridge == 0.0
        assert report.vectors is None
        assert component_of(nlp).strongest_words() == []
        assert "word vector" not in {
            part.kind for part in component_of(nlp).explain(nlp.make_doc("drums")).best.contributions
        }


@pytest.mark.parametrize("held_out", [True, False])
def test_without_vectors_the_model_is_that_of_the_named_features(
    held_out: bool, train_records: list[Record], dev_records: list[Record]
) -> None:
    words = word_vectors().words
    noise = WordVectors(words, np.random.default_rng(1).normal(size=(len(words), 30)).astype(np.float32))
    learner = {**PATH, "steps": 6}
    with_block = make_nlp(
        features={**WORDS, **VECTORS}, learner={**learner, "vectors_ridge": 1e-3, "vectors_choices": [0.0]}
    )
    found = []
    for nlp, vectors in ((make_nlp(features=WORDS, learner=learner), None), (with_block, lambda _: noise)):
        # Both choose their point, their refit and their temperature on a path without vectors.
        dev = make_examples(nlp, dev_records) if held_out else None
        report = spacy_graft.fit(nlp, make_examples(nlp, train_records[:60]), dev=dev, vectors=vectors)
        snapshot = component_of(nlp).model.attrs["snapshot"]
        found.append((report.points, report.refit, report.temperature, snapshot))
    assert found[1][-1].word_scores is None
    assert found[0][:-1] == found[1][:-1]
    assert_array_equal(found[0][-1].weights, found[1][-1].weights)


def test_vectors_are_used_where_there_is_nothing_to_choose_by(train_records: list[Record]) -> None:
    nlp = make({"vectors_choices": [0.0], "steps": 2, "l1_min_ratio": 0.5})
    report = spacy_graft.fit(nlp, make_examples(nlp, train_records[:9]), vectors=read)
    assert report.vectors_ridge == component_of(nlp).learner.vectors_ridge
    assert component_of(nlp).strongest_words()


def test_optional_blocks_can_be_vectors(train_records: list[Record], dev_records: list[Record]) -> None:
    words = word_vectors().words
    noise = WordVectors(words, np.random.default_rng(1).normal(size=(len(words), 30)).astype(np.float32))
    nlp = make({"vectors_ridge": 1e-3, "optional_blocks": ["vectors"], "l1_min_ratio": 0.05})
    report = spacy_graft.fit(
        nlp, make_examples(nlp, train_records), dev=make_examples(nlp, dev_records), vectors=lambda _: noise
    )
    assert report.left_out == ["vectors"]


@pytest.mark.parametrize("of_pipeline", [False, True])
def test_folds_choose_the_strength_and_read_vectors_once(
    of_pipeline: bool, train_records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def counted(vocab: Vocab) -> WordVectors:
        calls.append(vocab)
        return word_vectors()

    nlp = make({"vectors_ridge": 1e6, "vectors_choices": [0.3]})
    monkeypatch.setattr("spacy_graft.pipeline.initialization.vectors_of_vocab", counted)
    vectors = None if of_pipeline else counted
    report = spacy_graft.fit(nlp, make_examples(nlp, train_records[:45]), vectors=vectors)
    assert report.vectors_ridge == 0.3
    assert len(calls) == 1


def test_stable_features_beside_vectors(train_records: list[Record], dev_records: list[Record]) -> None:
    nlp = make({"stability": 0.6, "stability_pairs": 2})
    report = spacy_graft.fit(
        nlp, make_examples(nlp, train_records[:60]), dev=make_examples(nlp, dev_records), vectors=read
    )
    assert report.vectors is not None
    component = component_of(nlp)
    assert component.predicted(nlp.make_doc("they came to see the trombone")) == ["music"]
    assert all(feature.stability >= 0.6 for feature in component.features())


def test_independent_labels(train_records: list[Record], dev_records: list[Record]) -> None:
    nlp = make(factory="textcat_graft_multilabel")
    spacy_graft.fit(nlp, make_examples(nlp, train_records[:60]), dev=make_examples(nlp, dev_records), vectors=read)
    cats = nlp("they came to see the trombone").cats
    assert max(cats, key=cats.get) == "music"


def test_a_pipeline_has_vectors_of_its_own(train_records: list[Record]) -> None:
    nlp, given = make(), word_vectors()
    nlp.vocab.reset_vectors(shape=(len(given), 4))
    for word, vector in zip(given.words, given.vectors, strict=True):
        nlp.vocab.set_vector(word, vector)
    found = vectors_of_vocab(nlp.vocab)
    assert set(found.words) == set(given.words)
    by_word = dict(zip(given.words, given.vectors, strict=True))
    assert_array_equal(found.vectors, [by_word[word] for word in found.words])
    spacy_graft.fit(nlp, make_examples(nlp, train_records[:60]), dev=make_examples(nlp, train_records[60:]))
    assert component_of(nlp).predicted(nlp.make_doc("a trombone")) == ["music"]


def with_own_vectors(nlp: Language, factor: float = 1.0) -> Language:
    given = word_vectors()
    nlp.vocab.reset_vectors(shape=(len(given), 4))
    for word, vector in zip(given.words, given.vectors, strict=True):
        nlp.vocab.set_vector(word, factor * vector)
    return nlp


def test_a_model_can_leave_the_vectors_to_its_pipeline(train_records: list[Record], tmp_path: Path) -> None:
    nlp, texts = with_own_vectors(make(words="pipeline")), ["a trombone and the goal", "salt", "", "nothing known"]
    examples = make_examples(nlp, train_records[:60])
    spacy_graft.fit(nlp, examples, dev=make_examples(nlp, train_records[60:]))
    expected = [nlp(text).cats for text in texts]
    assert component_of(nlp).predicted(nlp.make_doc("a trombone")) == ["music"]
    nlp.to_disk(tmp_path / "model")
    loaded, copied = spacy.load(tmp_path / "model"), component_of(nlp).model.copy()
    assert [loaded(text).cats for text in texts] == expected
    assert component_of(loaded).to_bytes(exclude=["vocab"]) == component_of(nlp).to_bytes(exclude=["vocab"])
    assert_array_equal(copied.predict([nlp("salt")]), component_of(nlp).model.predict([nlp("salt")]))
    weights = [(word.text, word.df, word.weights) for word in component_of(nlp).strongest_words()]
    assert [(word.text, word.df, word.weights) for word in component_of(loaded).strongest_words()] == weights
    assert "accordion" in {text for text, _, _ in weights}
    other = make(words="pipeline").from_bytes(nlp.to_bytes())
    assert [other(text).cats for text in texts] == expected
    # It keeps nothing of words that no training document has.
    message = unpack_message(component_of(nlp).model.to_dict()["attrs"][0]["word_scores"])
    assert "scores" not in message
    assert UNREAD not in message["words"]


def test_the_source_of_the_pipeline_is_taken_for_what_it_is(train_records: list[Record]) -> None:
    nlp = with_own_vectors(make(words="pipeline"))
    examples, dev = make_examples(nlp, train_records[:60]), make_examples(nlp, train_records[60:])
    spacy_graft.fit(nlp, examples, dev=dev, vectors=pipeline_vectors())
    assert component_of(nlp).predicted(nlp.make_doc("a trombone")) == ["music"]


@pytest.mark.parametrize("constraints", [{"deny": ["vectors::*"]}, {"deny": ["*"], "allow": ["vectors::goal"]}])
def test_constraints_on_word_vectors_are_refused(constraints: dict[str, Any], train_records: list[Record]) -> None:
    """They would change nothing: a word counts by its vector whatever is denied."""
    nlp = make({"constraints": {"@graft_constraints": "spacy_graft.Constraints.v1", **constraints}})
    with pytest.raises(ValueError, match=r"constraints have 'vectors::[*goal]+', but the word vectors of"):
        component_of(nlp).initialize(lambda: make_examples(nlp, train_records[:20]), vectors=read)


def test_other_vectors_than_those_of_training_are_refused(train_records: list[Record], tmp_path: Path) -> None:
    nlp = with_own_vectors(make(words="pipeline"))
    examples = make_examples(nlp, train_records[:60])
    with pytest.raises(ValueError, match="find the vectors in their pipeline, but a source of others is given"):
        component_of(nlp).initialize(lambda: examples, vectors=read)
    spacy_graft.fit(nlp, examples, dev=make_examples(nlp, train_records[60:]))
    component = component_of(nlp)
    component.to_disk(tmp_path / "component", exclude=["vocab"])
    data = component.to_bytes(exclude=["vocab"])
    changed, empty = with_own_vectors(make(words="pipeline"), 2.0), make(words="pipeline")
    for other, problem in ((changed, "have changed since the model was trained"), (empty, "which has none here")):
        own = component_of(other)
        with pytest.raises(ValueError, match=problem):
            own.from_bytes(data)
        with pytest.raises(ValueError, match=problem):
            own.from_disk(tmp_path / "component", exclude=["vocab"])
        assert not own.is_initialized
        assert not own.labels
    alone = component.model.from_dict(component.model.to_dict())
    with pytest.raises(ValueError, match="load it as part of the pipeline that has them"):
        alone.predict([nlp.make_doc("drums")])


def test_a_model_without_its_vectors_is_not_saved(train_records: list[Record], tmp_path: Path) -> None:
    """It could not be loaded again."""
    nlp = with_own_vectors(make(words="pipeline"))
    spacy_graft.fit(nlp, make_examples(nlp, train_records[:60]), dev=make_examples(nlp, train_records[60:]))
    nlp.to_disk(tmp_path / "before")
    nlp.vocab.set_vector("piano", np.ones(nlp.vocab.vectors_length, np.float32))
    with pytest.raises(ValueError, match=r"The model is not saved, since it could not be loaded: .*have changed"):
        nlp.to_bytes()
    with pytest.raises(ValueError, match="The model is not saved"):
        component_of(nlp).to_disk(tmp_path / "before" / "textcat_graft")
    assert spacy.load(tmp_path / "before")("a trombone").cats == nlp("a trombone").cats


def test_label_errors_are_found_without_vectors(train_records: list[Record]) -> None:
    """A source of vectors is known to the training alone."""
    nlp = make()
    wrong = [{**train_records[0], "label": "sport" if train_records[0]["label"] != "sport" else "food"}]
    (issue,) = spacy_graft.label_errors(nlp, make_examples(nlp, [*wrong, *train_records[1:]]), top=1)
    assert issue.document == "#1"


def test_damaged_weights_of_vectors_are_refused(train_records: list[Record]) -> None:
    nlp = with_own_vectors(make(words="pipeline"))
    spacy_graft.fit(nlp, make_examples(nlp, train_records[:60]), dev=make_examples(nlp, train_records[60:]))
    component = component_of(nlp)
    model, data = component.model.to_dict(), component.to_bytes(exclude=["vocab"])
    message = unpack_message(model["attrs"][0]["word_scores"])
    changes = [
        {"mean": b""}, {"mean": message["mean"][:-1]}, {"weights": message["weights"][:-8]}, {"digest": 1},
        {"weights": b"\xff" * len(message["weights"])},
    ]  # fmt: skip
    for change in changes:
        changed = {**model, "attrs": [{**model["attrs"][0], "word_scores": packed({**message, **change})}]}
        with pytest.raises(ValueError, match="scores of words"):
            component.from_bytes(forged(data, model=packed(changed)))


def test_labels_are_added_while_it_is_trained(train_records: list[Record]) -> None:
    nlp = make()
    examples, component = make_examples(nlp, train_records[:60]), component_of(nlp)
    component.initialize(lambda: examples, nlp=nlp, vectors=read)
    component.update(examples)
    component.finish_update()
    before = nlp("a trombone").cats
    component.add_label("art")
    after = nlp("a trombone").cats
    assert after.pop("art") == 0.0
    assert_allclose(list(after.values()), [before[label] for label in after])
    component.end_training()
    assert nlp("a trombone").cats["art"] == 0.0


@pytest.mark.slow
def test_the_shipped_config_trains_with_a_text_file(corpus: Path, tmp_path: Path) -> None:
    given = word_vectors()
    lines = [" ".join([word, *map(str, row)]) for word, row in zip(given.words, given.vectors.tolist(), strict=True)]
    (tmp_path / "words.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    run_forked(
        *("-m", "spacy", "train", REPOSITORY / "configs" / "vectors.cfg", "--output", tmp_path / "out"),
        *("--paths.train", corpus / "train.jsonl.gz", "--paths.dev", corpus / "dev.jsonl"),
        *("--paths.words", tmp_path / "words.txt", "--components.textcat_graft.learner.steps", 3),
    )
    (tmp_path / "words.txt").unlink()
    nlp = spacy.load(tmp_path / "out" / "model-best")
    report = component_of(nlp).report
    assert report is not None
    assert report.vectors_ridge in (0.0, 0.03, 0.1, 0.3)
    assert nlp("the soup of the day").cats["food"] > 0.5


# Refusals


def test_what_is_refused(train_records: list[Record]) -> None:
    plain, nlp = make_nlp(), make()
    examples = make_examples(nlp, train_records[:30])

    def initialize(pipeline: Language, **options: Any) -> None:
        component_of(pipeline).initialize(lambda: examples, **options)

    with pytest.raises(ValueError, match=r"there is none\. Add a block with @graft_features"):
        initialize(plain, vectors=read)
    with pytest.raises(ValueError, match=r"vectors of the pipeline are empty\. Start from a pipeline with vectors"):
        initialize(nlp)
    unnamed = make()
    unnamed.vocab.vectors = spacy.vectors.Vectors(data=np.eye(2, dtype=np.float32), keys=["salt", "no such word"])
    with pytest.raises(ValueError, match=r"are of 2 words, of which \d are not among the strings of the pipeline"):
        initialize(unnamed)
    with pytest.raises(ValueError, match=r"The vectors are 3\. Make them with WordVectors"):
        initialize(nlp, vectors=lambda _: 3)
    assert not component_of(nlp).labels
    other = WordVectors(("Haus",), np.ones((1, 2), np.float32))
    with pytest.raises(ValueError, match="none of its 1 words is in the training documents"):
        spacy_graft.fit(nlp, examples, dev=examples, vectors=lambda _: other)


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"features": VECTORS}, "no block of features but the vectors"),
        ({"features": {**WORDS, **VECTORS, "more": VECTORS["vectors"]}}, "2 blocks of vectors: 'vectors', 'more'"),
        (
            {"features": {**WORDS, **VECTORS}, "learner": {"@graft_learners": "spacy_graft.CoordinateAscent.v1"}},
            "CoordinateAscent has no weights for the vectors",
        ),
        ({"features": {**WORDS, "v": {**VECTORS["vectors"], "attr": "LENGTH"}}}, "an attribute with strings"),
        ({"features": {**WORDS, "v": {**VECTORS["vectors"], "attr": "LOVER"}}}, "did you mean LOWER"),
        ({"features": {**WORDS, "v": {**VECTORS["vectors"], "smoothing": 0.0}}}, "smoothing must be a number from"),
        ({"features": {**WORDS, "v": {**VECTORS["vectors"], "words": "some"}}}, "'some' is not"),
        ({"features": {**WORDS, **VECTORS}, "learner": {**PATH, "vectors_ridge": 0.0}}, "vectors_ridge = 0.0"),
        ({"features": {**WORDS, **VECTORS}, "learner": {**PATH, "vectors_choices": [-1.0]}}, "vectors_choices"),
        ({"features": {**WORDS, **VECTORS}, "learner": {**PATH, "optional_blocks": ["words"]}}, "all blocks that read"),
    ],
)  # fmt: skip
def test_configs_that_are_refused(config: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        make_nlp(**config)


def test_a_model_with_vectors_is_not_extended(train_records: list[Record], dev_records: list[Record]) -> None:
    nlp = make_nlp(features={**WORDS, **VECTORS}, learner={**PATH, "steps": 2}, keep_corpus=True)
    spacy_graft.fit(nlp, make_examples(nlp, train_records[:60]), dev=make_examples(nlp, dev_records), vectors=read)
    with pytest.raises(ValueError, match="it was trained with word vectors, which are not kept"):
        component_of(nlp).update(make_examples(nlp, train_records[60:70]))


def test_an_edit_keeps_the_scores_of_words(trained: Language) -> None:
    component = component_of(make().from_bytes(trained.to_bytes()))
    words, denied = component.strongest_words(), component.features()[0].text
    model = component.to_bytes()
    with pytest.raises(ValueError, match=r"trained with word vectors, which are not kept.*resolve=False"):
        component.edit(deny=[denied], examples=make_examples(trained, make_records(60)))
    assert component.to_bytes() == model
    component.edit(deny=[denied], resolve=False)
    assert denied not in [feature.text for feature in component.features()]
    assert component.strongest_words() == words


def test_the_ranker_takes_no_vectors() -> None:
    from spacy_graft import Grafting, GraftRanker
    from spacy_graft.extract.tokens import TokenNgrams
    from spacy_graft.extract.vectors import Vectors

    with pytest.raises(ValueError, match="candidates have no document vectors"):
        GraftRanker(Grafting(l1=1.0), blocks={"words": TokenNgrams(), "vectors": Vectors()}).fit(["a", "b"], [1, 0])
