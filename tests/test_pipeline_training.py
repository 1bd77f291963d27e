"""How a component is trained inside spaCy."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import registry
from thinc.api import Config

from conftest import (
    PATH,
    WORDS,
    Record,
    component_of,
    empty_solution,
    make_example,
    make_examples,
    make_nlp,
    one_hot,
    recorded,
    train_fully,
    write_jsonl,
)
from spacy_graft import Grafting, GraftTextClassifier
from spacy_graft.graft.data import TrainingData
from spacy_graft.graft.report import Report
from spacy_graft.graft.solution import Solution
from spacy_graft.graft.start import start
from spacy_graft.heap import frozen_heap, no_collections
from spacy_graft.pipeline.targets import WEIGHT_KEY
from spacy_graft.pipeline.textcat import TextCatGraft, TextCatGraftMultilabel
from spacy_graft.pipeline.training import Training


class Spy:
    """A learner that keeps what it is given, and whose weights count its steps."""

    def __init__(self, n_steps: int = 100) -> None:
        self.n_steps = n_steps
        self.data: list[TrainingData] = []
        self.fits: list[SpyFit] = []

    def start(self, data: TrainingData) -> SpyFit:
        self.data.append(data)
        self.fits.append(SpyFit(data, self.n_steps))
        return self.fits[-1]


class SpyFit:
    def __init__(self, data: TrainingData, n_steps: int) -> None:
        self.n_labels = len(data.labels)
        self.n_steps = n_steps
        self.report = Report(objective=10.0)

    @property
    def finished(self) -> bool:
        return self.report.finished

    def step(self) -> None:
        self.report.rounds += 1
        self.report.objective -= 1.0
        self.report.finished = self.report.rounds == self.n_steps

    def solution(self) -> Solution:
        solution = empty_solution(self.n_labels)
        solution.intercepts[0] = self.report.rounds
        return solution


@start.register
def start_spy(learner: Spy, data: TrainingData) -> SpyFit:
    return learner.start(data)


def spied(nlp: Language, n_steps: int = 100) -> Spy:
    spy = Spy(n_steps)
    component_of(nlp).learner = spy
    return spy


def test_initialize_takes_labels_and_reads_the_corpus_no_further(nlp: Language, examples: list[Example]) -> None:
    spy = spied(nlp)
    nlp.initialize(lambda: examples)
    assert component_of(nlp).labels == ("food", "music", "sport")
    assert not spy.data


def test_corpus_is_extracted_and_indexed_once(
    nlp: Language, examples: list[Example], monkeypatch: pytest.MonkeyPatch
) -> None:
    spy = spied(nlp)
    extracted: list[Doc] = []
    block = type(component_of(nlp).blocks["words"])
    monkeypatch.setattr(block, "symbols", recorded(block.symbols, extracted))
    nlp.initialize(lambda: examples)
    for _ in range(4):
        nlp.update(examples[:5])
    assert len(extracted) == len(examples)
    assert len(spy.data) == 1
    assert spy.data[0].n_documents == len(examples)
    assert spy.fits[0].report.rounds == 4


def distinct_words(example: Example) -> int:
    return len({token.lower_ for token in example.predicted})


def test_lengths_are_in_words_whatever_the_blocks(train_records: list[Record]) -> None:
    nlp = make_nlp(features={"characters": {"@graft_features": "spacy_graft.CharacterNgrams.v1"}})
    spy = spied(nlp)
    examples = make_examples(nlp, train_records[:6])
    nlp.initialize(lambda: examples)
    nlp.update(examples[:1])
    assert spy.data[0].lengths.tolist() == [distinct_words(example) for example in examples]


def test_training_data(nlp: Language, examples: list[Example]) -> None:
    spy = spied(nlp)
    examples[1].reference.user_data[WEIGHT_KEY] = 2.5
    nlp.initialize(lambda: examples)
    nlp.update(examples[:1])
    data = spy.data[0]
    words = data.streams["words"]
    first = [nlp.vocab.strings[value] for value in words.symbols[: words.starts[1]]]
    assert first == [token.lower_ for token in examples[0].predicted]
    assert data.min_df == {"words": 2}
    assert data.max_length == {"words": None}
    assert data.targets[:4].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert data.known.all()
    assert data.example_weights[:3].tolist() == [1.0, 2.5, 1.0]
    assert data.lengths[0] == distinct_words(examples[0])
    assert data.labels == ("food", "music", "sport")
    assert data.exclusive


def test_labels_left_out_are_masked_where_several_may_hold() -> None:
    nlp = make_nlp("textcat_graft_multilabel")
    spy = spied(nlp)
    cats: list[dict[str, Any]] = [{"a": 1.0, "b": 0.0}, {"b": 1.0}, {}, {"a": 0.0}]
    examples = [make_example(nlp, f"text {i}", one) for i, one in enumerate(cats)]
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    data = spy.data[0]
    assert not data.exclusive
    assert data.targets.tolist() == [[1, 0], [0, 1], [0, 0], [0, 0]]
    assert data.known.tolist() == [[True, True], [False, True], [False, False], [True, False]]


def test_training_learns(fitted: Language, dev_records: list[Record]) -> None:
    examples = make_examples(fitted, dev_records)
    assert fitted.evaluate(examples)["cats_macro_f"] > 0.95
    doc = fitted(dev_records[0]["text"])
    assert set(doc.cats) == {"food", "music", "sport"}
    assert sum(doc.cats.values()) == pytest.approx(1.0)


def test_several_labels_are_learned_independently(train_records: list[Record]) -> None:
    nlp = make_nlp("textcat_graft_multilabel")
    examples = make_examples(nlp, train_records)
    for example in examples[::3]:  # food, and nothing is said of the others
        example.reference.cats = {"food": 1.0}
    nlp.initialize(lambda: examples)
    for _ in range(PATH["steps"]):
        nlp.update(examples[:2])
    cats = nlp("they had the soup of the day and the song of the year with salt and drums").cats
    assert cats["food"] > 0.5
    assert cats["music"] > 0.5
    assert cats["sport"] < 0.5


def test_a_step_is_a_step_of_the_learner_and_no_more_once_it_has_finished(
    nlp: Language, examples: list[Example]
) -> None:
    spy = spied(nlp, n_steps=3)
    component = component_of(nlp)
    nlp.initialize(lambda: examples)
    rounds = []
    for _ in range(5):
        nlp.update(examples[:2])
        rounds.append(component.model.get_param("b")[0])
    assert rounds == [1.0, 2.0, 3.0, 3.0, 3.0]
    assert len(spy.fits) == 1


def test_losses_are_the_objective_a_document(nlp: Language, examples: list[Example]) -> None:
    spied(nlp)
    nlp.initialize(lambda: examples)
    losses: dict[str, float] = {}
    nlp.update(examples[:2], losses=losses, sgd=False)  # type: ignore[arg-type]
    assert losses["textcat_graft"] == pytest.approx(np.log(3))
    component_of(nlp).finish_update()
    assert losses["textcat_graft"] == pytest.approx(9.0 / 120)
    assert nlp.update(examples[:2])["textcat_graft"] == pytest.approx(8.0 / 120)


def test_losses_of_a_fit_without_steps_are_its_objective(examples: list[Example]) -> None:
    nlp = make_nlp(learner={"@graft_learners": "spacy_graft.Grafting.v1", "l1": 1e3})
    nlp.initialize(lambda: examples[:7])
    with pytest.warns(UserWarning, match="has no features"):
        losses = nlp.update(examples[:1])
    assert nlp.update(examples[1:2]) == losses


def test_losses_are_set_for_empty_documents_and_batches(nlp: Language, examples: list[Example]) -> None:
    spied(nlp)
    nlp.initialize(lambda: examples)
    component = component_of(nlp)
    assert component.update([])["textcat_graft"] == 0.0
    empty = [make_example(nlp, "", one_hot("food"))]
    assert component.update(empty)["textcat_graft"] == pytest.approx(np.log(3))


def test_loss_and_gradient_of_probabilities() -> None:
    nlp = make_nlp("textcat_graft_multilabel")
    examples = [make_example(nlp, "x", {"a": 1.0}), make_example(nlp, "y", {"a": 0.0, "b": 1.0})]
    nlp.initialize(lambda: examples)
    scores = np.array([[0.5, 0.1], [0.25, 0.0]])
    loss, gradient = component_of(nlp).get_loss(examples, scores)
    assert loss == pytest.approx((np.log(2) - np.log(0.75) - np.log(np.finfo(float).tiny)) / 2)
    assert gradient.tolist() == [[-0.5, 0.0], [0.25, -1.0]]


def batches(examples: list[Example], size: int) -> Iterator[list[Example]]:
    for first in range(0, len(examples), size):
        yield examples[first : first + size]


def test_updates_with_unseen_examples_train_on_all_of_them(nlp: Language, examples: list[Example]) -> None:
    """No corpus callback: the first pass brings the documents, and all are known from the second on."""
    spy = spied(nlp)
    component = component_of(nlp)
    for label in ("food", "music", "sport"):
        component.add_label(label)
    nlp.initialize()
    for _ in range(2):
        for batch in batches(examples, 8):
            nlp.update(batch)
    assert [data.n_documents for data in spy.data] == [8, 16, 32, 64, 120]
    # A fit that begins later is carried on to where the one before was.
    assert spy.fits[-1].report.rounds == 2 * 15
    assert [fit.report.rounds for fit in spy.fits[:-1]] == [1, 3, 7, 15]


def test_mini_batches_give_the_model_of_the_whole_corpus(train_records: list[Record]) -> None:
    whole = train_fully(make_nlp(), train_records)
    nlp = make_nlp()
    for label in component_of(whole).labels:
        component_of(nlp).add_label(label)
    nlp.initialize()
    examples = make_examples(nlp, train_records)
    for _ in range(2):
        for batch in batches(examples, 20):
            nlp.update(batch)
    assert component_of(nlp).model.to_bytes() == component_of(whole).model.to_bytes()


def test_examples_beyond_the_callback_join_it(nlp: Language, examples: list[Example]) -> None:
    spy = spied(nlp)
    nlp.initialize(lambda: examples[:6])
    nlp.update(examples[:6])
    nlp.update(examples[4:8])
    nlp.update(examples[:4])
    assert [data.n_documents for data in spy.data] == [6, 8]


def test_initialize_without_corpus_needs_labels(nlp: Language) -> None:
    with pytest.raises(ValueError, match=r"\[textcat_graft\] Exclusive labels must be at least two"):
        nlp.initialize()


def training_config(nlp: Language, folder: Path, **training: Any) -> Config:
    reader = {"@readers": "spacy_graft.JsonlCorpus.v1"}
    corpora = {name: {**reader, "path": str(folder / f"{name}.jsonl")} for name in ("train", "dev")}
    loop = {
        "max_steps": 8,
        "eval_frequency": 1,
        "patience": 0,
        "seed": 0,
        "logger": {"@loggers": "spacy_graft.ConsoleLogger.v1"},
        "batcher": {"@batchers": "spacy.batch_by_sequence.v1", "size": 50, "get_length": None},
        **training,
    }
    return Config(nlp.config).merge({"corpora": corpora, "training": loop})


def test_streamed_corpus(nlp: Language, tmp_path: Path, train_records: list[Record], dev_records: list[Record]) -> None:
    """``max_epochs = -1``: initialize sees 100 documents, and update all of them, again and again."""
    records = [{**record, "text": f"{copy} {record['text']}"} for copy in ("once", "twice") for record in train_records]
    write_jsonl(tmp_path / "train.jsonl", records)
    write_jsonl(tmp_path / "dev.jsonl", dev_records)
    trained = init_nlp(training_config(nlp, tmp_path, max_epochs=-1))
    train(trained)
    training = component_of(trained).training
    assert training is not None
    # With the documents of dev, on which it is trained again.
    assert len(training.corpus) == 240 + len(dev_records)
    assert training.report is not None
    assert training.report.rounds > 0
    assert trained.evaluate(make_examples(trained, dev_records))["cats_macro_f"] > 0.9


@pytest.mark.parametrize("max_epochs", [-1, 0])
def test_variants_of_an_augmenter_are_those_of_the_beginning(
    tmp_path: Path,
    nlp: Language,
    train_records: list[Record],
    dev_records: list[Record],
    max_epochs: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What further epochs bring is in no model, whatever the batches."""
    capitals = [{**record, "text": record["text"].title()} for record in train_records]
    docs = [example.reference for example in make_examples(nlp, capitals)]
    DocBin(docs=docs).to_disk(tmp_path / "train.spacy")
    write_jsonl(tmp_path / "dev.jsonl", dev_records)
    models = []
    for size in (20, 1000):
        batcher = {"@batchers": "spacy.batch_by_sequence.v1", "size": size, "get_length": None}
        config = training_config(nlp, tmp_path, max_epochs=max_epochs, batcher=batcher)
        augmenter = {"@augmenters": "spacy.lower_case.v1", "level": 0.5}
        path = str(tmp_path / "train.spacy")
        config["corpora"]["train"] = {"@readers": "spacy.Corpus.v1", "path": path, "augmenter": augmenter}
        trained = init_nlp(config)
        train(trained)
        component = component_of(trained)
        assert component.report is not None
        assert component.report.n_documents == len(docs) + len(dev_records)
        models.append(component.features())
    (told,) = {record.message for record in caplog.records if "Batches" in record.message}
    assert told.endswith(f"trained on those {len(docs)} that it had then.")
    assert models[0] == models[1]


@Language.component("set_pos", assigns=["token.pos"])
def set_pos(doc: Doc) -> Doc:
    """Names food a noun."""
    for token in doc:
        token.pos_ = "NOUN" if token.text in ("soup", "salt", "sugar", "baked", "potatoes") else "VERB"
    return doc


def nlp_with_pos() -> Language:
    nlp = spacy.blank("xx")
    nlp.add_pipe("set_pos")
    pos = {"pos": {**WORDS["words"], "attr": "POS"}}
    # Without the ridge, which so few documents would leave little of what the annotation tells.
    nlp.add_pipe("textcat_graft", config={"features": pos, "learner": {**PATH, "ridge": 0.0}})
    return nlp


def pos_corpus(folder: Path, records: list[Record]) -> None:
    for name, first in (("train", ""), ("dev", "so ")):
        labels = ("food" if record["label"] == "food" else "other" for record in records)
        rows = [{"text": first + record["text"], "label": label} for record, label in zip(records, labels, strict=True)]
        write_jsonl(folder / f"{name}.jsonl", rows)


def test_frozen_component_annotates_the_corpus(tmp_path: Path, train_records: list[Record]) -> None:
    pos_corpus(tmp_path, train_records)
    config = training_config(nlp_with_pos(), tmp_path, frozen_components=["set_pos"], annotating_components=["set_pos"])
    nlp = init_nlp(config)
    train(nlp)
    assert nlp("roast potatoes").cats["food"] > 0.5
    assert nlp("violin").cats["food"] < 0.5
    assert {feature.block for feature in component_of(nlp).features()} == {"pos"}


def test_missing_annotation_is_an_error_in_training(tmp_path: Path, train_records: list[Record]) -> None:
    pos_corpus(tmp_path, train_records)
    nlp = init_nlp(training_config(nlp_with_pos(), tmp_path))
    with pytest.raises(ValueError, match=r"(?s)POS.*annotating_components"):
        train(nlp)


def test_missing_annotation_is_an_error_in_prediction(tmp_path: Path, train_records: list[Record]) -> None:
    pos_corpus(tmp_path, train_records)
    nlp = init_nlp(training_config(nlp_with_pos(), tmp_path, annotating_components=["set_pos"]))
    train(nlp)
    with nlp.select_pipes(disable="set_pos"), pytest.raises(ValueError, match="POS"):
        nlp("roast potatoes")


def test_callback_examples_are_not_annotated_in_place(nlp: Language) -> None:
    nlp = nlp_with_pos()
    nlp.config["training"]["annotating_components"] = ["set_pos"]
    examples = [make_example(nlp, "salt", {"a": 1.0}), make_example(nlp, "drums", {"b": 1.0})]
    nlp.initialize(lambda: examples)
    component_of(nlp).update([])
    assert not examples[0].predicted.has_annotation("POS")


def test_a_block_that_finds_nothing_is_warned_of(train_records: list[Record]) -> None:
    """For instance, if the component that sets its attributes does not annotate in training."""
    sources = {"@graft_features": "spacy_graft.DocAttributes.v1", "metadata": ["source"]}
    nlp = make_nlp(features={**WORDS, "sources": sources})
    examples = make_examples(nlp, train_records)
    nlp.initialize(lambda: examples)
    with pytest.warns(UserWarning, match="Nothing is found by the blocks 'sources' in the training documents"):
        nlp.update(examples[:4])


def test_a_stream_of_another_reader_is_told_of(
    tmp_path: Path,
    nlp: Language,
    train_records: list[Record],
    dev_records: list[Record],
    caplog: pytest.LogCaptureFixture,
) -> None:
    config = training_config(nlp, tmp_path, max_epochs=-1)
    config["corpora"]["train"] = {"@readers": "records_of_test.v1"}
    write_jsonl(tmp_path / "dev.jsonl", dev_records)
    registry.readers("records_of_test.v1", func=lambda: lambda nlp: iter(make_examples(nlp, train_records)))
    initialized = init_nlp(config)
    assert "max_epochs is -1, and corpora.train is read by a reader of your own" in caplog.text
    # Models along the way are saved without a warning of documents that have come since.
    (tmp_path / "out").mkdir()
    train(initialized, tmp_path / "out")


def test_frozen_graft_component_stays_as_it_is(
    tmp_path: Path, model: Path, train_records: list[Record], dev_records: list[Record]
) -> None:
    write_jsonl(tmp_path / "train.jsonl", train_records)
    write_jsonl(tmp_path / "dev.jsonl", [{**record, "text": f"so {record['text']}"} for record in dev_records])
    nlp = spacy.load(model)
    before = component_of(nlp).to_bytes(exclude=["vocab"])
    second = {**component_config(nlp), "features": WORDS, "learner": PATH}
    config = training_config(nlp, tmp_path, frozen_components=["textcat_graft"])
    config["nlp"]["pipeline"] = ["textcat_graft", "second"]
    config["components"] = {"textcat_graft": {"source": str(model)}, "second": {"factory": "textcat_graft", **second}}
    trained = init_nlp(config)
    train(trained)
    frozen = trained.get_pipe("textcat_graft")
    assert isinstance(frozen, TextCatGraft)
    assert frozen.to_bytes(exclude=["vocab"]) == before
    assert component_of(trained).report is not None


def component_config(nlp: Language) -> dict[str, Any]:
    config = dict(nlp.get_pipe_config(nlp.pipe_names[-1]))
    config.pop("factory", None)
    return config


def test_a_model_without_its_corpus_is_not_trained_further(model: Path, train_records: list[Record]) -> None:
    nlp = spacy.load(model)
    component = component_of(nlp)
    before = component.to_bytes()
    nlp.resume_training()
    with pytest.raises(ValueError, match=r"\[textcat_graft\] It cannot be trained on more .*Set keep_corpus = true"):
        nlp.update(make_examples(nlp, train_records[:10]))
    with pytest.raises(ValueError, match=r"\[textcat_graft\] The label 'war' cannot be added: .*Nothing is changed"):
        component.add_label("war")
    assert component.to_bytes() == before


def test_training_a_sourced_component(model: Path, tmp_path: Path, train_records: list[Record]) -> None:
    """It is refused; unless its corpus is kept: then it is extended."""
    write_jsonl(tmp_path / "train.jsonl", train_records[90:])
    write_jsonl(tmp_path / "dev.jsonl", train_records)
    config = training_config(spacy.load(model), tmp_path)
    config["components"] = {"textcat_graft": {"source": str(model)}}
    with pytest.raises(ValueError, match="are not kept with it"):
        train(init_nlp(config))
    train_fully(make_nlp(keep_corpus=True), train_records[:90]).to_disk(tmp_path / "kept")
    config["nlp"]["lang"] = "xx"
    config["components"] = {"textcat_graft": {"source": str(tmp_path / "kept")}}
    component = component_of(train(init_nlp(config))[0])
    assert component.corpus is not None
    assert len(component.corpus) == len(train_records)
    assert component.predict([]).shape == (0, 3)


def test_initializing_again_begins_with_new_labels(fitted: Language, tmp_path: Path) -> None:
    nlp = make_nlp()
    component_of(nlp).from_bytes(component_of(fitted).to_bytes())
    examples = [make_example(nlp, "x", {"yes": 1.0, "no": 0.0}), make_example(nlp, "y", {"yes": 0.0, "no": 1.0})]
    nlp.initialize(lambda: examples)
    assert component_of(nlp).labels == ("yes", "no")
    assert nlp("x").cats == {"yes": 0.5, "no": 0.5}
    assert component_of(nlp).report is None


def test_labels_from_init_labels_are_taken(nlp: Language, examples: list[Example]) -> None:
    component = component_of(nlp)
    component.initialize(lambda: examples, nlp=nlp, labels=("war", "sport", "music", "food"))
    assert component.labels == component.label_data == ("war", "sport", "music", "food")
    with pytest.warns(UserWarning, match="positive for 'war'"):
        nlp.update(examples[:2])
    cats = nlp("salt").cats
    assert min(cats, key=cats.__getitem__) == "war"


@pytest.mark.parametrize("kind", [set, frozenset])
def test_labels_in_a_set_have_the_same_order_in_every_process(
    nlp: Language, examples: list[Example], kind: type
) -> None:
    names = ["food", "music", "sport", *(f"x{k:02}" for k in range(30))]
    component_of(nlp).initialize(lambda: examples, labels=kind(names))
    assert list(component_of(nlp).labels) == names


def test_labels_added_by_hand_come_first(nlp: Language, examples: list[Example]) -> None:
    component = component_of(nlp)
    assert component.add_label("sport") == 1
    assert component.add_label("sport") == 0
    nlp.initialize(lambda: examples)
    assert component.labels == ("sport", "food", "music")
    assert component.add_label("food") == 0


def test_example_weight_two_is_the_document_twice(train_records: list[Record]) -> None:
    once, twice = make_nlp(), make_nlp()
    records = train_records[:12]
    weighted = make_examples(once, records)
    for example in weighted[::2]:
        example.reference.user_data[WEIGHT_KEY] = 2.0
    doubled = make_examples(twice, records + records[::2])
    data = []
    for nlp, examples in ((once, weighted), (twice, doubled)):
        nlp.initialize(lambda examples=examples: examples)  # type: ignore[misc]
        spy = spied(nlp)
        component_of(nlp).training.fits.learner = spy  # type: ignore[union-attr]
        nlp.update([examples[0]])
        data.append(spy.data[0])
    assert np.array_equal(data[0].example_weights @ data[0].targets, data[1].targets.sum(axis=0))


def test_optimizer_averages_do_not_matter(nlp: Language, examples: list[Example]) -> None:
    nlp.initialize(lambda: examples)
    nlp.update(examples[:2])
    before = nlp("salt and drums").cats
    with nlp.use_params({}):
        assert nlp("salt and drums").cats == before


def test_dropout_and_optimizer_change_nothing(train_records: list[Record]) -> None:
    models = []
    for drop in (0.0, 0.9):
        nlp = make_nlp()
        examples = make_examples(nlp, train_records)
        nlp.initialize(lambda examples=examples: examples)  # type: ignore[misc]
        component = component_of(nlp)
        component.update(examples, drop=drop, sgd=nlp.create_optimizer())
        models.append(component.model.to_bytes())
    assert models[0] == models[1]


def test_what_the_program_has_frozen_stays_so(nlp: Language, examples: list[Example]) -> None:
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    assert not gc.get_freeze_count()
    gc.freeze()
    try:
        nlp.update(examples)
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()


def test_explanations_freeze_nothing(nlp: Language, examples: list[Example], monkeypatch: pytest.MonkeyPatch) -> None:
    """Python would begin to count anew each time, and never collect what a service leaves behind."""
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    classifier = GraftTextClassifier(Grafting(l1=0.1)).fit(["a goal", "some salt"] * 4, [0, 1] * 4)
    monkeypatch.delattr(gc, "freeze")
    explained = component_of(nlp).explain(nlp("a goal in extra time"))
    assert explained.to_dict()["labels"]
    assert classifier.explain(["a goal"])


def test_failed_reading_of_the_corpus_leaves_nothing_behind(nlp: Language, examples: list[Example]) -> None:
    spy = spied(nlp)
    nlp.initialize(lambda: examples)
    good = examples[50].reference.cats
    examples[50].reference.cats = {"food": 7.0}
    with pytest.raises(ValueError, match="7"):
        nlp.update(examples[:1])
    examples[50].reference.cats = good
    nlp.update(examples[:1])
    assert spy.data[0].n_documents == len(examples)


def test_a_training_is_none_once_copied(nlp: Language, examples: list[Example]) -> None:
    nlp.initialize(lambda: examples)
    nlp.update(examples[:1])
    component = component_of(nlp)
    assert isinstance(component.training, Training)
    assert pickle.loads(pickle.dumps(component)).training is None
    assert copy.deepcopy(component).training is None


def test_multilabel_component_is_one_of_ours() -> None:
    assert isinstance(component_of(make_nlp("textcat_graft_multilabel")), TextCatGraftMultilabel)


def test_collections_go_on_where_there_were_some() -> None:
    with no_collections():
        assert not gc.isenabled()
        with no_collections():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_what_others_have_frozen_stays_frozen() -> None:
    gc.unfreeze()
    with frozen_heap():
        assert gc.get_freeze_count()
        with frozen_heap():
            pass
        assert gc.get_freeze_count()
    assert not gc.get_freeze_count()
    gc.freeze()
    try:
        with frozen_heap():
            pass
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()
