"""A trained model is extended to more documents and labels, or stays what it is."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import srsly
from spacy.language import Language
from spacy.training import Example
from spacy.vocab import Vocab

import spacy_graft
from conftest import PATH, WORDS, Record, component_of, make_example, make_examples, make_nlp, train_fully
from spacy_graft.digests import digest_of
from spacy_graft.graft.report import Report
from spacy_graft.pipeline.corpus import ExtractedCorpus
from spacy_graft.pipeline.fit import begun_training, train_like
from spacy_graft.pipeline.folds import FoldChoice
from spacy_graft.pipeline.progress import progress_bar
from spacy_graft.pipeline.textcat import TextCatGraft
from spacy_graft.pipeline.training import Training

#: A block of every kind of symbols: hashes of strings, numbers, code points, rows of several symbols.
BLOCKS: dict[str, Any] = {
    **WORDS,
    "lengths": {"@graft_features": "spacy_graft.TokenNgrams.v1", "attr": "LENGTH"},
    "characters": {"@graft_features": "spacy_graft.CharacterNgrams.v1", "max_length": 3},
    "bag": {"@graft_features": "spacy_graft.TokenAttributes.v1"},
    "shapes": {"@graft_features": "spacy_graft.TokenAttributes.v1", "attr": "SHAPE", "value": "tf_idf"},
    "document": {"@graft_features": "spacy_graft.DocAttributes.v1", "metadata": ["source"]},
    "pairs": {"@graft_features": "spacy_graft.Combinations.v1", "of": ["bag"]},
}
NEW_TEXTS = ["the wibble of the year", "a wibble and a wobble", "some more wobble than we had"]
GRAFTING = {"@graft_learners": "spacy_graft.Grafting.v1", "l1": 2.0}


def in_another_process(nlp: Language, folder: Path) -> Language:
    """What another process would load: a pipeline with a vocab of its own."""
    nlp.to_disk(folder / "model")
    return spacy.load(folder / "model")


def texts_of(records: Iterable[Record]) -> list[str]:
    return [record["text"] for record in records]


def probabilities(nlp: Language, texts: list[str]) -> np.ndarray:
    return component_of(nlp).predict(nlp.make_doc(text) for text in texts)


def features_of(nlp: Language) -> set[Any]:
    return {(feature.text, feature.block, tuple(feature.weights.items())) for feature in component_of(nlp).features()}


def trained_like(nlp: Language, records: Iterable[Record], report: Report) -> Language:
    """Trained from the beginning as by ``fit``, if cross-validation chooses the point of a report."""
    component, examples = component_of(nlp), make_examples(nlp, records)
    component.initialize(lambda: examples)
    with progress_bar(component.name) as progress:
        training = begun_training(component, progress)
        train_like(component, training, FoldChoice(report, []) if report.points else None)
    return nlp


@pytest.mark.parametrize("learner", [PATH, GRAFTING], ids=["path", "one strength"])
def test_an_extended_model_is_that_of_all_documents(
    learner: dict[str, Any], train_records: list[Record], tmp_path: Path
) -> None:
    """Bit by bit, at the same point of the path and the same temperature."""
    old, new = train_records[:60], train_records[60:]
    nlp = make_nlp(learner=learner, keep_corpus=True)
    report = spacy_graft.fit(nlp, make_examples(nlp, old))
    nlp = in_another_process(nlp, tmp_path)
    nlp.resume_training()
    nlp.update(make_examples(nlp, new))

    whole = trained_like(make_nlp(learner=learner), train_records, report)
    assert features_of(nlp) == features_of(whole) != set()
    np.testing.assert_array_equal(*(probabilities(p, texts_of(train_records)) for p in (nlp, whole)))


def test_an_extended_model_knows_of_documents_that_were_held_out(train_records: list[Record]) -> None:
    nlp = make_nlp(learner=PATH, keep_corpus=True)
    report = spacy_graft.fit(nlp, make_examples(nlp, train_records[:60]), dev=make_examples(nlp, train_records[60:80]))
    assert report.n_held_out == 20
    nlp.update(make_examples(nlp, train_records[80:]))
    extended = component_of(nlp).report
    assert extended is not None
    assert (extended.n_documents, extended.n_held_out) == (len(train_records), 20)


@pytest.mark.filterwarnings("ignore:The trained model has no features")
def test_a_model_without_features_is_extended() -> None:
    """Its fit had finished before the first step, as has the next one: no n-gram is in two documents."""
    nlp = make_nlp(learner=PATH, keep_corpus=True)
    records = [{"text": f"one{i} two{i}", "label": label} for i, label in enumerate(["food", "music", "sport"] * 14)]
    spacy_graft.fit(nlp, make_examples(nlp, records[:20]))
    nlp.update(make_examples(nlp, records[20:]))
    component = component_of(nlp)
    assert component.report is not None
    assert (component.report.n_documents, component.report.n_active) == (42, 0)
    assert set(nlp("one1 two1").cats) == {"food", "music", "sport"}


def test_an_edited_model_is_extended_to_its_point(train_records: list[Record]) -> None:
    """Also if what is left tells much less, so that the same L1 strength is that of an earlier point."""
    labels = [record["label"] for record in train_records]
    noisy = [labels[number // 2 if number % 4 else number] for number in range(len(labels))]
    records = [
        {"text": f"{record['text']} is{label}", "label": label}
        for record, label in zip(train_records, noisy, strict=True)
    ]
    nlp = train_fully(make_nlp(keep_corpus=True), records[:60])
    component = component_of(nlp)
    component.end_training()
    component.edit(deny=[f"is{label}" for label in component.labels])
    before = component.report
    assert before is not None
    nlp.update(make_examples(nlp, records[60:66]))
    after = component.report
    assert after is not None
    assert after.points == before.points
    share = 0.05 ** (1.0 / PATH["steps"])
    assert after.l1_ratio == pytest.approx(share**after.points)
    assert before.l1_ratio > share ** (before.points - 1)


def test_an_extended_model_can_be_extended_again(train_records: list[Record], tmp_path: Path) -> None:
    nlp = train_fully(make_nlp(keep_corpus=True), train_records[:40])
    report = component_of(nlp).report
    assert report is not None
    for begin in (40, 80):
        nlp = in_another_process(nlp, tmp_path)
        nlp.update(make_examples(nlp, train_records[begin : begin + 40]))
        before = component_of(nlp).to_bytes()
        # Documents that are known change nothing.
        nlp.update(make_examples(nlp, train_records[:10]))
        assert component_of(nlp).to_bytes() == before
    whole = trained_like(make_nlp(), train_records, report)
    assert features_of(nlp) == features_of(whole)


@pytest.mark.parametrize(
    ("place", "is_set"), [("graft.report.Report.saved", False), ("pipeline.textcat.limited_threads", True)]
)
def test_an_interruption_at_the_end_of_an_update_loses_nothing(
    place: str, is_set: bool, train_records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model is set with the step, or the next update does both."""
    nlp = make_nlp(learner=GRAFTING, keep_corpus=True)
    spacy_graft.fit(nlp, make_examples(nlp, train_records[:60]))
    component, new = component_of(nlp), make_examples(nlp, train_records[60:])

    @contextmanager
    def interrupted_at_its_end(_: str) -> Iterator[None]:
        yield
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"spacy_graft.{place}", interrupted_at_its_end if is_set else interrupted)
        with pytest.raises(KeyboardInterrupt):
            nlp.update(new)
    assert component.report is not None
    assert component.report.n_documents == (len(train_records) if is_set else 60)
    nlp.update(new)
    assert component.report.n_documents == len(train_records)
    whole = make_nlp(learner=GRAFTING)
    spacy_graft.fit(whole, make_examples(whole, train_records))
    assert features_of(nlp) == features_of(whole) != set()


def test_a_label_that_is_added_after_such_an_interruption_is_trained(
    train_records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model that was not set does not have it."""
    nlp = make_nlp(learner=GRAFTING, keep_corpus=True)
    spacy_graft.fit(nlp, make_examples(nlp, train_records[:60]))
    component, new = component_of(nlp), make_examples(nlp, train_records[60:])
    with monkeypatch.context() as patch:
        patch.setattr("spacy_graft.graft.report.Report.saved", interrupted)
        with pytest.raises(KeyboardInterrupt):
            nlp.update(new)
    component.add_label("new")
    nlp.update([*new, make_example(nlp, "salt", {"new": 1.0})])
    assert component.report is not None
    assert component.report.n_documents == len(train_records) + 1
    assert nlp("salt").cats["new"] > 0.0


def test_documents_are_known_by_their_attributes_too() -> None:
    """Of the same texts and labels, with other attributes of the documents."""
    block = {"@graft_features": "spacy_graft.DocAttributes.v1", "metadata": ["source"], "min_df": 1}
    nlp = make_nlp(features={"document": block}, learner={**GRAFTING, "l1": 0.2}, keep_corpus=True)

    def example(text: str, source: str, label: str) -> Example:
        doc = nlp.make_doc(text)
        doc.user_data["source"] = source
        reference = doc.copy()
        reference.cats = {"a": float(label == "a"), "b": float(label == "b")}
        return Example(doc, reference)

    old = [example("one", "p", "a"), example("two", "q", "b"), example("three", "p", "a")]
    new = [example("one", "q", "a"), example("one", "r", "a"), example("two", "p", "b")]
    spacy_graft.fit(nlp, old)
    nlp.update([*new, *old])
    extended = features_of(nlp)
    assert component_of(nlp).report.n_documents == 6  # type: ignore[union-attr]
    spacy_graft.fit(nlp, old + new)
    assert extended == features_of(nlp) != set()


@pytest.mark.parametrize("n_more", [1, 20])
def test_documents_that_no_model_was_trained_on_are_told_of_when_it_is_saved(
    train_records: list[Record], n_more: int
) -> None:
    """They are trained on when an update brings none that is new."""
    nlp = make_nlp(learner=GRAFTING)
    examples = make_examples(nlp, train_records)
    sgd = nlp.initialize(lambda: examples[:40])
    nlp.update(examples[:40], sgd=sgd)
    nlp.update(examples[: 40 + n_more], sgd=sgd)
    said = f"{n_more} document{'s' * (n_more > 1)} of update"
    with pytest.warns(UserWarning, match=said):
        nlp.to_bytes()
    nlp.update(examples[:4], sgd=sgd)
    nlp.to_bytes()
    report = component_of(nlp).report
    assert report is not None
    assert report.n_documents == 40 + n_more


@pytest.mark.parametrize("by", ["disk", "bytes", "pickle"])
def test_the_corpus_travels_with_the_model(by: str, train_records: list[Record], tmp_path: Path) -> None:
    nlp = train_fully(make_nlp(keep_corpus=True), train_records[:30])
    if by == "disk":
        other = in_another_process(nlp, tmp_path)
    elif by == "bytes":
        other = make_nlp(keep_corpus=True).from_bytes(nlp.to_bytes())
    else:
        other = pickle.loads(pickle.dumps(nlp))
    corpora = [component_of(p).corpus for p in (nlp, other)]
    assert corpora[0] is not None
    assert corpora[1] is not None
    assert digest_of(corpora[1].training_data()) == digest_of(corpora[0].training_data())


def test_a_corpus_is_the_same_in_another_vocab(train_records: list[Record]) -> None:
    nlp = make_nlp(features=BLOCKS)
    examples = make_examples(nlp, train_records[:40])
    for number, example in enumerate(examples):
        example.predicted.user_data["source"] = f"source {number % 3}"
    component = component_of(nlp)
    component.initialize(lambda: examples)
    assert component.training is not None
    component.training.add_examples([])
    corpus = component.training.corpus
    expected = digest_of(corpus.training_data())
    saved = srsly.msgpack_loads(srsly.msgpack_dumps(corpus.to_dict(nlp.vocab.strings)))
    restored = ExtractedCorpus.from_dict(saved, corpus.blocks, corpus.reader, Vocab().strings)
    assert digest_of(restored.training_data()) == expected
    restored.add_unseen(examples)
    assert len(restored) == len(examples)


def test_what_is_kept_is_as_small_as_the_docs_say(train_records: list[Record]) -> None:
    nlp = make_nlp(features={"characters": BLOCKS["characters"]}, keep_corpus=True)
    nlp = train_fully(nlp, train_records)
    without = make_nlp(features={"characters": BLOCKS["characters"]})
    without = train_fully(without, train_records)
    kept = len(component_of(nlp).to_bytes(exclude=["vocab"])) - len(component_of(without).to_bytes(exclude=["vocab"]))
    n_characters = sum(len(text) + 2 for text in texts_of(train_records))
    # Beside symbols and targets: 24 bytes a document for its length, weight and digest.
    assert kept < n_characters + len(train_records) * (9 * 3 + 24) + 1000


@pytest.mark.parametrize("factory", ["textcat_graft", "textcat_graft_multilabel"])
@pytest.mark.parametrize("loaded", [False, True])
def test_a_label_is_added_to_a_trained_model(
    factory: str, loaded: bool, train_records: list[Record], tmp_path: Path
) -> None:
    nlp = train_fully(make_nlp(factory, keep_corpus=True), train_records)
    if loaded:
        nlp = in_another_process(nlp, tmp_path)
    component = component_of(nlp)
    before = probabilities(nlp, texts_of(train_records))
    assert component.add_label("new") == 1
    assert component.add_label("new") == 0
    assert component.labels == ("food", "music", "sport", "new")
    assert component.model.get_dim("nO") == 4
    after = probabilities(nlp, texts_of(train_records))
    np.testing.assert_array_equal(after, np.pad(before, ((0, 0), (0, 1))))

    cats = {"new": 1.0} if component.exclusive else {"food": 0.0, "music": 0.0, "sport": 0.0, "new": 1.0}
    others = {**cats, "new": 0.0, "food": 1.0}
    examples = [make_example(nlp, text, cats) for text in NEW_TEXTS * 3]
    examples += [make_example(nlp, text, others) for text in ("salt of the year", "baked with more salt")]
    nlp.update(examples)
    assert component.report is not None
    assert nlp(NEW_TEXTS[1]).cats["new"] > 0.5
    assert nlp("salt").cats["new"] < 0.5
    right = probabilities(nlp, texts_of(train_records))[:, :3].argmax(axis=1) == before.argmax(axis=1)
    assert right.mean() > 0.9


def test_of_three_labels_none_is_the_positive_one(train_records: list[Record]) -> None:
    """The overview of a model would have shown it alone, as of two labels."""
    nlp = make_nlp(keep_corpus=True)
    nlp.config["initialize"]["components"]["textcat_graft"] = {"positive_label": "food"}
    spacy_graft.fit(nlp, [(one["text"], one["label"]) for one in train_records if one["label"] != "sport"])
    component = component_of(nlp)
    assert component.cfg["positive_label"] == "food"
    assert component.overview().count("<section") == 1
    component.add_label("sport")
    assert component.cfg["positive_label"] is None
    assert component.overview().count("<section") == 3


def test_a_copy_after_a_label_was_added_can_be_extended(train_records: list[Record]) -> None:
    """A copy does not have the training, but it has the corpus, with all labels."""
    nlp = train_fully(make_nlp(keep_corpus=True), train_records[:60])
    component_of(nlp).add_label("new")
    copy = pickle.loads(pickle.dumps(nlp))
    copy.update([make_example(copy, text, {"new": 1.0}) for text in NEW_TEXTS * 3])
    assert copy(NEW_TEXTS[1]).cats["new"] > 0.5
    assert copy("salt").cats["food"] > 0.5


@pytest.mark.filterwarnings("ignore:.*No training document is positive for 'new'")
@pytest.mark.parametrize("factory", ["textcat_graft", "textcat_graft_multilabel"])
def test_a_label_that_was_added_is_trained_on_old_documents_alone(
    factory: str, train_records: list[Record], tmp_path: Path
) -> None:
    """In this process and in another one."""
    nlp = train_fully(make_nlp(factory, keep_corpus=True), train_records[:40])
    nlp = in_another_process(nlp, tmp_path)
    component_of(nlp).add_label("new")
    for pipeline in (in_another_process(nlp, tmp_path), nlp):
        assert component_of(pipeline).is_new_label().tolist() == [False, False, False, True]
        pipeline.update(make_examples(pipeline, train_records[:2]))
        assert not component_of(pipeline).is_new_label().any()
        assert pipeline("salt").cats["new"] > 0.0
    assert component_of(pipeline).to_bytes() == component_of(in_another_process(pipeline, tmp_path)).to_bytes()


def test_a_label_can_be_added_before_the_first_step(train_records: list[Record]) -> None:
    nlp = make_nlp()
    examples = make_examples(nlp, train_records[:30])
    nlp.initialize(lambda: examples)
    component = component_of(nlp)
    component.add_label("new")
    assert nlp("salt").cats == dict.fromkeys(("food", "music", "sport", "new"), 0.25)
    with pytest.warns(UserWarning, match="positive for 'new'"):
        nlp.update(examples[:3])
    assert set(nlp("salt").cats) == {"food", "music", "sport", "new"}


def test_a_label_is_added_to_a_loaded_model_before_the_first_step(train_records: list[Record]) -> None:
    """What is saved then can be loaded, without documents of fewer labels."""
    nlp = make_nlp(keep_corpus=True)
    examples = make_examples(nlp, train_records[:30])
    nlp.initialize(lambda: examples)
    component_of(nlp).update(examples[:3])
    saved = nlp.to_bytes()
    for label in (None, "new"):
        loaded = make_nlp(keep_corpus=True)
        with pytest.warns(UserWarning, match="saved before its first training step"):
            loaded.from_bytes(saved)
        assert loaded.to_bytes() == saved
        if label is None:
            component_of(loaded).add_label("new")
            saved = loaded.to_bytes()
    assert component_of(loaded).labels == ("food", "music", "sport", "new")
    loaded.update([*make_examples(loaded, train_records[:30]), make_example(loaded, "something", {"new": 1.0})])
    assert len(component_of(loaded).kept_corpus or ()) == 31


def test_a_label_with_an_unpaired_surrogate_changes_nothing(train_records: list[Record]) -> None:
    nlp = make_nlp()
    spacy_graft.fit(nlp, make_examples(nlp, train_records))
    with pytest.raises(ValueError, match="an unpaired surrogate"):
        component_of(nlp).add_label("new\ud800")
    assert set(nlp("salt").cats) == {"food", "music", "sport"}


def test_documents_that_are_evaluated_choose_no_point_of_an_extended_model(train_records: list[Record]) -> None:
    """Also where that is the first point."""
    nlp = make_nlp(learner={**PATH, "steps": 1}, keep_corpus=True)
    examples = make_examples(nlp, train_records)
    spacy_graft.fit(nlp, examples[:80])
    nlp.resume_training()
    nlp.update(examples[80:100])
    scores = nlp.evaluate(examples[100:])
    assert scores["cats_choice"] == scores["cats_score"]


@pytest.mark.parametrize("label", ["", 9, None])
def test_labels_are_strings(label: Any) -> None:
    with pytest.raises(ValueError, match="Labels are non-empty strings, but one is"):
        component_of(make_nlp()).add_label(label)


def test_without_its_corpus_a_model_stays_as_it_is(train_records: list[Record], tmp_path: Path) -> None:
    """After ``fit`` and after loading; ``initialize`` begins again."""
    nlp = make_nlp()
    spacy_graft.fit(nlp, make_examples(nlp, train_records))
    for pipeline in (nlp, in_another_process(nlp, tmp_path)):
        component = component_of(pipeline)
        before = component.to_bytes()
        examples = make_examples(pipeline, train_records[:5])
        with pytest.raises(ValueError, match=r"It cannot be trained on more documents: .* Set keep_corpus = true"):
            pipeline.update(examples)
        with pytest.raises(ValueError, match=r"The label 'new' cannot be added: .* Nothing is changed"):
            component.add_label("new")
        assert component.to_bytes() == before
        pipeline.initialize(lambda examples=examples: examples)  # type: ignore[misc]
        pipeline.update(examples)


def test_an_invalid_example_changes_nothing(train_records: list[Record]) -> None:
    nlp = train_fully(make_nlp(keep_corpus=True), train_records[:30])
    component = component_of(nlp)
    component.end_training()
    before = component.to_bytes()
    with pytest.raises(ValueError, match="sum to 2"):
        nlp.update([make_example(nlp, "salt", {"food": 1.0, "music": 1.0})])
    assert component.to_bytes() == before


@pytest.mark.parametrize("place", ["fits.FitBuilder.do", "training.with_calibration_of"])
@pytest.mark.parametrize("learner", [{**PATH, "refit": "auto"}, GRAFTING], ids=["path", "one strength"])
def test_documents_of_an_interrupted_training_are_learnt(
    learner: dict[str, Any],
    place: str,
    train_records: list[Record],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the next update, in this process and in another, to the same model as without the interruption."""
    kept = {"learner": learner, "keep_corpus": True}
    nlp, whole = make_nlp(**kept), make_nlp(**kept)
    for pipeline in (nlp, whole):
        spacy_graft.fit(pipeline, make_examples(pipeline, train_records[:60]))
    whole.update(make_examples(whole, train_records[60:]))
    with monkeypatch.context() as patch:
        patch.setattr(f"spacy_graft.pipeline.{place}", interrupted)
        with pytest.raises(KeyboardInterrupt):
            nlp.update(make_examples(nlp, train_records[60:]))
    report = component_of(nlp).report
    assert report is not None
    assert report.n_documents == 60
    with pytest.warns(UserWarning, match="60 documents of update .* had no part in the model that is saved"):
        other = in_another_process(nlp, tmp_path)
    for pipeline in (other, nlp):
        pipeline.update(make_examples(pipeline, train_records[60:]))
        assert component_of(pipeline).to_bytes() == component_of(whole).to_bytes()


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("n_before", [0, 1, 3])
def test_an_interrupted_training_begins_again(
    n_before: int, train_records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its first step, in a later one, and with more documents while the steps before are repeated."""
    nlp, whole = make_nlp(learner=PATH), make_nlp(learner=PATH)
    for pipeline in (nlp, whole):
        examples = make_examples(pipeline, train_records[:40])
        pipeline.initialize(lambda examples=examples: examples)  # type: ignore[misc]
        for _ in range(n_before):
            pipeline.update(examples[:4])
    records = train_records if n_before == 3 else train_records[:4]
    with monkeypatch.context() as patch:
        patch.setattr(Training, "_step", interrupted)
        with pytest.raises(KeyboardInterrupt):
            nlp.update(make_examples(nlp, records))
    for pipeline in (nlp, whole):
        for _ in range(2):
            pipeline.update(make_examples(pipeline, records))
    assert component_of(nlp).to_bytes() == component_of(whole).to_bytes()


def test_a_model_is_extended_after_an_edit_with_fewer_documents(train_records: list[Record]) -> None:
    nlp = make_nlp("textcat_graft_multilabel", learner=PATH, keep_corpus=True)
    spacy_graft.fit(nlp, make_examples(nlp, train_records[:100]))
    nlp.update(make_examples(nlp, train_records[100:110]))
    component = component_of(nlp)
    with pytest.warns(UserWarning, match="trained on 110 documents, but 60 are given"):
        component.edit(deny=["salt"], examples=make_examples(nlp, train_records[:60]))
    nlp.update(make_examples(nlp, train_records[110:]))
    assert component.report is not None
    assert component.report.n_documents == 60 + len(train_records) - 110


@pytest.mark.parametrize("factory", ["textcat_graft", "textcat_graft_multilabel"])
def test_documents_are_known_after_a_label_was_added(factory: str, train_records: list[Record]) -> None:
    nlp = train_fully(make_nlp(factory, keep_corpus=True), train_records[:40])
    component = component_of(nlp)
    assert component.report is not None
    component.add_label("new")
    nlp.update([*make_examples(nlp, train_records[:40]), make_example(nlp, "something new", {"new": 1.0})])
    assert component.report.n_documents == 41


def test_a_component_of_another_pipeline_is_trained_on_new_words(train_records: list[Record]) -> None:
    """spaCy leaves it the vocab of its source."""
    source = train_fully(make_nlp(), train_records[:40])
    nlp = spacy.blank(source.lang)
    nlp.add_pipe("textcat_graft", source=source)
    records = [{**record, "text": f"unheard{k % 7} {record['text']}"} for k, record in enumerate(train_records)]
    spacy_graft.fit(nlp, make_examples(nlp, records))
    assert component_of(nlp).vocab is nlp.vocab


def test_a_model_with_a_network_is_not_extended_without_it(train_records: list[Record]) -> None:
    nlp = make_nlp(keep_corpus=True, learner={**PATH, "steps": 2})
    network = spacy_graft.registry.graft_graphs.get("spacy_graft.Cooccurrence.v1")()
    spacy_graft.fit(nlp, make_examples(nlp, train_records), network=network)
    before = component_of(nlp).to_bytes()
    with pytest.raises(ValueError, match="trained with a network of features, which is not kept"):
        nlp.update(make_examples(nlp, train_records[:5]))
    assert component_of(nlp).to_bytes() == before


@pytest.mark.parametrize("block", ["words", "lengths", "characters", "bag"])
def test_new_words_of_another_vocab_are_kept(block: str, train_records: list[Record]) -> None:
    """A component that was added with a source has the vocab of its source."""
    source = train_fully(make_nlp(features={block: BLOCKS[block]}, keep_corpus=True), train_records[:40])
    nlp = spacy.blank(source.lang)
    component: Any = nlp.add_pipe("textcat_graft", source=source)
    examples = make_examples(nlp, [{**record, "text": f"{record['text']} unheard{k}"} for k, record in
                                   enumerate(train_records[40:60])])  # fmt: skip
    nlp.update(examples)
    nlp.update(examples)  # brings none that is new, so that all are trained on
    loaded = make_nlp(features={block: BLOCKS[block]}, keep_corpus=True).get_pipe("textcat_graft")
    loaded.from_bytes(component.to_bytes())  # type: ignore[attr-defined]
    assert len(loaded.corpus) == len(component.corpus) == 60  # type: ignore[attr-defined]


@pytest.mark.parametrize("learner", [PATH, GRAFTING], ids=["path", "one strength"])
def test_a_calibration_holds_where_training_goes_on(learner: dict[str, Any], train_records: list[Record]) -> None:
    """After a training that has come to its end, in a loop of one's own; and after an edit."""
    nlp = make_nlp(learner=learner, keep_corpus=True)
    component = component_of(nlp)
    examples = make_examples(nlp, train_records[:60])
    component.initialize(lambda: examples, nlp=nlp)
    component.update([])
    while not (component.report is not None and component.report.finished):
        component.finish_update()
    component.divide_scores(3.0)
    nlp.update(make_examples(nlp, train_records[80:90]))
    assert component.report.n_documents == 70
    assert component.report.temperature == 3.0
    component.edit(deny=["salt"])
    component.divide_scores(2.0)
    nlp.update(make_examples(nlp, train_records[90:100]))
    assert component.report.n_documents == 80
    assert component.report.temperature == 6.0


@pytest.mark.filterwarnings("ignore:.*No training document is positive for 'new'")
@pytest.mark.parametrize("error", [None, KeyboardInterrupt, ValueError])
def test_a_calibration_holds_after_a_label_was_added_or_an_update_failed(
    error: type[BaseException] | None, train_records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fit that had come to its end is not there any more."""
    nlp = make_nlp(learner=GRAFTING)
    component, examples = component_of(nlp), make_examples(nlp, train_records)
    component.initialize(lambda: examples[:60], nlp=nlp)
    while not (component.report is not None and component.report.finished):
        nlp.update(examples[:4])
    if error is None:
        component.add_label("new")
    else:
        nlp.update(examples[60:70])  # they are waited for as long as more come

        def failing(*_: object) -> None:
            raise error("no")

        with monkeypatch.context() as patch:
            patch.setattr("spacy_graft.pipeline.fits.start", failing)
            with pytest.raises(error):
                nlp.update(examples[60:70])
    component.divide_scores(3.0)
    nlp.update(examples[60:70])
    assert component.report.n_documents == 70
    assert component.report.temperature == 3.0
    assert error is not None or nlp("salt").cats["new"] > 0.0


@pytest.mark.parametrize("in_training", [False, True])
def test_errors_after_a_component_was_renamed_have_its_name(in_training: bool, train_records: list[Record]) -> None:
    nlp = train_fully(make_nlp(keep_corpus=True), train_records[:40])
    if not in_training:
        component_of(nlp).end_training()
    nlp.rename_pipe("textcat_graft", "topic")
    with pytest.raises(ValueError, match=r"^\[topic\] .* list them in \[initialize.components.topic\] labels"):
        nlp.update([make_example(nlp, "something", {"unheard": 1.0})])


def test_a_refused_update_adds_nothing(train_records: list[Record]) -> None:
    nlp = train_fully(make_nlp(keep_corpus=True), train_records[:40])
    component = component_of(nlp)
    examples = [*make_examples(nlp, train_records[40:44]), make_example(nlp, "something", {"unheard": 1.0})]
    before = component.to_bytes()
    with pytest.raises(ValueError, match="has the label 'unheard'"):
        nlp.update(examples)
    assert component.to_bytes() == before


@pytest.mark.parametrize("place", ["spacy_graft.pipeline.textcat.with_column", "ExtractedCorpus.with_labels"])
def test_an_interrupted_new_label_is_added_later(
    place: str, train_records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    nlp = train_fully(make_nlp(keep_corpus=True), train_records[:40])
    component = component_of(nlp)
    before = component.to_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(place.replace("Extracted", "spacy_graft.pipeline.corpus.Extracted"), interrupted)
        with pytest.raises(KeyboardInterrupt):
            component.add_label("new")
    assert component.to_bytes() == before
    assert component.add_label("new") == 1
    assert set(nlp("some text").cats) == set(component.labels)


def test_a_model_of_another_learner_is_not_extended_along_a_path(train_records: list[Record]) -> None:
    learner = {"@graft_learners": "spacy_graft.Grafting.v1", "l1": 0.5}
    before, after = make_nlp(learner=learner, keep_corpus=True), make_nlp(learner=PATH, keep_corpus=True)
    spacy_graft.fit(before, make_examples(before, train_records))
    of_before, of_after = (nlp.get_pipe("textcat_graft") for nlp in (before, after))
    assert isinstance(of_before, TextCatGraft)
    assert isinstance(of_after, TextCatGraft)
    of_after.from_bytes(of_before.to_bytes())
    with pytest.raises(ValueError, match="trained by another learner than GraftingPath"):
        after.update([make_example(after, "more salt", {"food": 1.0, "music": 0.0, "sport": 0.0})])
