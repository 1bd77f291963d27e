"""Lazy documents: what ``spacy train`` reads, how often, and what stays in memory."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.pipeline import DependencyParser
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from thinc.api import Config

import spacy_graft
from conftest import (
    PATH,
    WORDS,
    Record,
    make_example,
    make_examples,
    make_nlp,
    recorded,
    train_fully,
    write_jsonl,
)
from spacy_graft.extract.unread import unread_text
from spacy_graft.model.snapshot import Snapshot
from spacy_graft.pipeline import folds, judging
from spacy_graft.pipeline.judging import held_out_of
from spacy_graft.pipeline.lazy import LazyText
from spacy_graft.pipeline.reader import BadLineError, JsonlCorpus
from spacy_graft.pipeline.textcat import TextCatGraft
from spacy_graft.pipeline.training import Training

pytestmark = pytest.mark.usefixtures("dev_alone")

JSONL = {"@readers": "spacy_graft.JsonlCorpus.v1"}


@pytest.fixture
def folder(tmp_path: Path, train_records: list[Record], dev_records: list[Record]) -> Path:
    write_jsonl(tmp_path / "train.jsonl", train_records)
    write_jsonl(tmp_path / "dev.jsonl", dev_records)
    return tmp_path


def config_of(nlp: Language, folder: Path, lazy: bool = True, **training: Any) -> Config:
    paths = {name: str(folder / f"{name}.jsonl") for name in ("train", "dev")}
    corpora = {name: {**JSONL, "path": path, "lazy": lazy} for name, path in paths.items()}
    loop = {
        "max_steps": 6,
        "eval_frequency": 1,
        "patience": 0,
        "max_epochs": -1,
        "logger": {"@loggers": "spacy_graft.ConsoleLogger.v1"},
        "batcher": {"@batchers": "spacy.batch_by_sequence.v1", "size": 64, "get_length": None},
        **training,
    }
    return Config(nlp.config).merge({"corpora": corpora, "training": loop})


def trained(config: Config) -> Language:
    nlp, _ = train(init_nlp(config))
    return nlp


def component_of(nlp: Language, name: str = "textcat_graft") -> TextCatGraft:
    component = nlp.get_pipe(name)
    assert isinstance(component, TextCatGraft)
    return component


def texts_of(*corpora: list[Record]) -> list[str]:
    return sorted(record["text"] for records in corpora for record in records)


def tokenized(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that any pipeline tokenizes from now on; evaluation tokenizes what is empty, too."""
    made: list[str] = []
    monkeypatch.setattr(Language, "make_doc", recorded(Language.make_doc, made))
    return made


@pytest.mark.parametrize("max_epochs", [-1, 0])
def test_each_text_is_tokenized_once(
    folder: Path,
    max_epochs: int,
    train_records: list[Record],
    dev_records: list[Record],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = tokenized(monkeypatch)
    nlp = trained(config_of(make_nlp(), folder, max_epochs=max_epochs))
    assert len(component_of(nlp).history) > 4
    assert sorted(filter(None, made)) == texts_of(train_records, dev_records)


def test_held_out_documents_are_read_and_scored_once_a_point(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the first evaluation, which shows them to the component."""
    read: list[Any] = []
    scored: list[Any] = []
    predicted: list[Any] = []
    monkeypatch.setattr(folds, "ENOUGH_HELD_OUT", 1)
    monkeypatch.setattr(judging, "held_out_of", recorded(held_out_of, read))
    monkeypatch.setattr(Snapshot, "scores_of_streams", recorded(Snapshot.scores_of_streams, scored))
    monkeypatch.setattr(Snapshot, "scores", recorded(Snapshot.scores, predicted))
    component = component_of(trained(config_of(make_nlp(learner={**PATH, "refit": 2.0}), folder)))
    *points, _ = component.history
    assert len(read) == 1
    # The first batch of training documents has been predicted as well, for its loss before the first step.
    assert len(predicted) == 2
    # Those of the last step are of the model of all documents.
    assert len(scored) == len(points) + 1


def test_only_examples_that_are_the_same_need_not_be_read(folder: Path, train_records: list[Record]) -> None:
    nlp = train_fully(make_nlp(), train_records)
    lines = [{"text": "a b", "label": "food"}, {"text": "c", "label": "sport"}, {"text": "d", "label": "unknown"}]
    reader = JsonlCorpus(write_jsonl(folder / "other.jsonl", lines), lazy=True)
    list(component_of(nlp).pipe(example.predicted for example in reader(nlp)))
    examples = list(reader(nlp))
    held_out = held_out_of(component_of(nlp), examples, np.full(3, 0.3))
    again = list(reader(nlp))
    assert held_out.are(again)
    assert held_out.numbers_of([again[1].predicted.copy(), again[0].predicted]) == [1, 0]
    # It has no label of the component.
    assert held_out.numbers_of([again[2].predicted]) is None
    assert not held_out.are(again[:2])
    assert not held_out.are([again[1], again[0], again[2]])
    again[0].reference.cats["food"] = 0.5
    assert not held_out.are(again)
    eager = list(JsonlCorpus(folder / "other.jsonl")(nlp))
    assert not held_out.are(eager)
    assert held_out.numbers_of([eager[0].predicted]) is None
    assert not held_out_of(component_of(nlp), eager, np.full(3, 0.3)).are(eager)


def test_held_out_documents_are_scored_after_a_label_was_added(folder: Path) -> None:
    """What they said of fewer labels is forgotten; that they are those of dev is not."""
    nlp = trained(config_of(make_nlp(), folder))
    component = component_of(nlp)
    component.add_label("new")
    dev = list(JsonlCorpus(folder / "dev.jsonl", lazy=True)(nlp))
    with pytest.warns(UserWarning, match="The model was chosen by these"):
        nlp.evaluate(dev)
    assert component.report is not None
    n_before = component.report.n_documents
    nlp.update([*dev[:3], make_example(nlp, "something new", {"new": 1.0})])
    assert component.report.n_documents == n_before + 1


@pytest.mark.parametrize("factory", ["textcat_graft", "textcat_graft_multilabel"])
def test_the_model_is_the_same_as_with_tokens(folder: Path, factory: str) -> None:
    blocks = {**WORDS, "characters": {"@graft_features": "spacy_graft.CharacterNgrams.v1", "min_df": 2}}
    own = make_nlp(factory, features=blocks, learner={**PATH, "length_normalisation": True})
    lazy, eager = (
        component_of(trained(config_of(own, folder, lazy, max_epochs=max_epochs)), factory)
        for lazy, max_epochs in ((True, -1), (False, 0))
    )
    assert lazy.to_bytes(exclude=["vocab"]) == eager.to_bytes(exclude=["vocab"])
    *points, _ = lazy.history
    assert all(step["score"] is not None for step in points)


@pytest.mark.slow
def test_no_document_is_in_memory_after_the_corpus_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stepping(training: Training) -> Any:
        if len(alive) < 5:
            gc.collect()
            # By type: isinstance asks proxies of what is gone, which others leave behind.
            docs = (found for found in gc.get_objects() if type(found) is Doc)
            alive.append(sum(doc.vocab is vocab and len(doc) for doc in docs))
        return own_stepping(training)

    alive: list[int] = []
    own_stepping = Training.stepping
    monkeypatch.setattr(Training, "stepping", stepping)
    nlp = init_nlp(config_of(make_nlp(), folder))
    vocab = nlp.vocab
    train(nlp)
    assert len(alive) == 5
    assert not any(alive)


@Language.component("count_texts", assigns=["token.pos"])
def count_texts(doc: Doc) -> Doc:
    """Names all tokens nouns."""
    COUNTED.extend([doc.text] if len(doc) else [])
    for token in doc:
        token.pos_ = "NOUN"
    return doc


COUNTED: list[str] = []


def test_frozen_components_annotate_each_text_once(
    folder: Path, train_records: list[Record], dev_records: list[Record]
) -> None:
    nlp = spacy.blank("xx")
    nlp.add_pipe("count_texts")
    pos = {"@graft_features": "spacy_graft.TokenNgrams.v1", "attr": "POS"}
    nlp.add_pipe("textcat_graft", config={"features": {**WORDS, "pos": pos}, "learner": PATH})
    frozen = ["count_texts"]
    COUNTED.clear()
    trained(config_of(nlp, folder, frozen_components=frozen, annotating_components=frozen))
    assert sorted(COUNTED) == texts_of(train_records, dev_records)


def test_frozen_components_with_scores(folder: Path) -> None:
    """Empty documents have nothing to score."""
    nlp = make_nlp()
    for name in ("tagger", "senter"):
        nlp.add_pipe(name, before="textcat_graft")
    parser = nlp.add_pipe("parser", before="textcat_graft")
    assert isinstance(parser, DependencyParser)
    parser.add_label("dep")
    example = make_example(nlp, "one two", {"food": 1.0, "sport": 0.0})
    with nlp.select_pipes(disable="textcat_graft"):
        nlp.initialize(lambda: [Example.from_dict(example.predicted, {"tags": ["A", "B"], "heads": [0, 0]})])
    nlp.to_disk(folder / "syntax")
    config = config_of(nlp, folder, frozen_components=["tagger", "parser", "senter"])
    for name in ("tagger", "parser", "senter"):
        config["components"][name] = {"source": str(folder / "syntax")}
    assert component_of(trained(config)).history[0]["score"] > 0.9


def test_a_frozen_graft_component_annotates_for_another(folder: Path, train_records: list[Record]) -> None:
    """Held-out documents as well: the model is the same as with tokens."""
    train_fully(make_nlp(), train_records).to_disk(folder / "topic")
    Doc.set_extension(
        "best", getter=lambda doc: max(doc.cats, key=lambda label: doc.cats[label], default="none"), force=True
    )
    models = []
    for lazy in (True, False):
        nlp = make_nlp()
        best = {"@graft_features": "spacy_graft.DocAttributes.v1", "extensions": ["best"]}
        nlp.add_pipe("textcat_graft", name="second", config={"features": {"best": best}, "learner": PATH})
        config = config_of(nlp, folder, frozen_components=["textcat_graft"], annotating_components=["textcat_graft"])
        config["components"]["textcat_graft"] = {"source": str(folder / "topic")}
        for corpus in config["corpora"].values():
            corpus["lazy"] = lazy
        models.append(component_of(trained(config), "second"))
    assert {feature.text for feature in models[0].features()} == {f"best={label}" for label in models[0].labels}
    assert [str(feature) for feature in models[0].features()] == [str(feature) for feature in models[1].features()]


def test_a_frozen_graft_component_may_come_last(folder: Path, train_records: list[Record]) -> None:
    """With what annotates for it alone."""
    nlp = spacy.blank("xx")
    nlp.add_pipe("count_texts")
    pos = {"@graft_features": "spacy_graft.TokenNgrams.v1", "attr": "POS"}
    nlp.add_pipe("textcat_graft", name="last", config={"features": {**WORDS, "pos": pos}, "learner": PATH})
    spacy_graft.fit(nlp, make_examples(nlp, train_records))
    nlp.to_disk(folder / "frozen")
    nlp.add_pipe("textcat_graft", config={"features": WORDS, "learner": PATH}, first=True)
    frozen = ["count_texts", "last"]
    config = config_of(nlp, folder, frozen_components=frozen)
    for name in frozen:
        config["components"][name] = {"source": str(folder / "frozen")}
    assert component_of(trained(config)).report is not None


@Language.component("copier")
def copied(doc: Doc) -> Doc:
    return Doc(doc.vocab, [token.text for token in doc])


def test_a_component_that_returns_new_documents_is_told_of(folder: Path) -> None:
    nlp = make_nlp()
    nlp.add_pipe("copier", first=True)
    config = config_of(nlp, folder, annotating_components=["copier"])
    with pytest.raises(ValueError, match="returns new documents, without the text of lazy ones"):
        trained(config)
    spacy_graft.fit(nlp, JsonlCorpus(folder / "train.jsonl")(nlp))
    with pytest.raises(ValueError, match="returns new documents, without the text of lazy ones"):
        nlp.evaluate(list(JsonlCorpus(folder / "dev.jsonl", lazy=True)(nlp)))


def test_other_components_cannot_be_trained_on_lazy_documents(folder: Path) -> None:
    nlp = make_nlp()
    nlp.add_pipe("tagger")
    with pytest.raises(ValueError, match=r"lazy documents have no tokens .* trains 'tagger'\. Set lazy = false"):
        init_nlp(config_of(nlp, folder))


def write_late_label(folder: Path) -> int:
    """Write a training corpus whose third label is first in the last documents; return its length."""
    records = [{"text": f"word{i % 7} {i % 2}", "label": "ab"[i % 2]} for i in range(150)]
    records += [{"text": f"last {i % 3}", "label": "c"} for i in range(10)]
    write_jsonl(folder / "train.jsonl", records)
    return len(records)


@pytest.mark.parametrize("reader", ["lazy", "eager", "docbin"])
def test_a_file_is_read_whole_if_it_is_streamed(folder: Path, reader: str) -> None:
    """spaCy initializes with 100 examples."""
    n_records = write_late_label(folder)
    config = config_of(make_nlp(), folder, lazy=reader == "lazy", max_steps=1)
    if reader == "docbin":
        docs = [example.reference for example in JsonlCorpus(folder / "train.jsonl")(make_nlp())]
        DocBin(docs=docs, store_user_data=True).to_disk(folder / "train.spacy")
        config["corpora"]["train"] = {
            "@readers": "spacy.Corpus.v1",
            "path": str(folder / "train.spacy"),
            "gold_preproc": False,
        }
    config["corpora"]["dev"]["path"] = str(folder / "train.jsonl")
    nlp = init_nlp(config)
    component = component_of(nlp)
    assert set(component.labels) == {"a", "b", "c"}
    component.update([])
    assert component.corpus is not None
    assert len(component.corpus) == n_records


@spacy.registry.readers("test.endless.v1")
def endless(path: str) -> Callable[[Language], Iterator[Example]]:
    def read(nlp: Language) -> Iterator[Example]:
        while True:
            yield from JsonlCorpus(path)(nlp)

    return read


def test_other_streams_may_not_end(folder: Path, train_records: list[Record], dev_records: list[Record]) -> None:
    config = config_of(make_nlp(), folder)
    config["corpora"]["train"] = {"@readers": "test.endless.v1", "path": str(folder / "train.jsonl")}
    nlp = init_nlp(config)
    component = component_of(nlp)
    component.update([])
    assert component.corpus is not None
    assert len(component.corpus) == 100
    train(nlp)
    assert len(component.corpus) == len(train_records) + len(dev_records)


def test_examples_of_lazy_documents(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "c.jsonl", [{"text": "a b", "label": "x", "id": 3}, {"text": "", "label": "y"}])
    nlp = make_nlp()
    first, second = JsonlCorpus(path, lazy=True)(nlp)
    assert not len(first.predicted)
    assert first.reference.cats == {"x": 1.0, "y": 0.0}
    unread = unread_text(first.predicted.copy())
    assert unread is not None
    assert unread.text == "a b"
    assert [token.text for token in unread.doc()] == ["a", "b"]
    assert unread_text(second.reference) is not None


def test_lazy_examples_can_be_given_to_update(nlp: Language, folder: Path, train_records: list[Record]) -> None:
    """Those with the same text are the same example, with tokens or without."""
    examples = make_examples(nlp, train_records[:60])
    nlp.initialize(lambda: examples)
    nlp.update(list(JsonlCorpus(folder / "train.jsonl", lazy=True)(nlp)))
    corpus = component_of(nlp).corpus
    assert corpus is not None
    assert len(corpus) == len({record["text"] for record in train_records})


def test_a_changed_file_is_read_again(folder: Path, train_records: list[Record], dev_records: list[Record]) -> None:
    nlp = train_fully(make_nlp(), train_records)
    reader = JsonlCorpus(folder / "dev.jsonl", lazy=True)
    before = nlp.evaluate(reader(nlp))["cats_score"]
    assert before == nlp.evaluate(JsonlCorpus(folder / "dev.jsonl")(nlp))["cats_score"]
    write_jsonl(folder / "dev.jsonl", [{**record, "text": "nothing known"} for record in dev_records])
    assert nlp.evaluate(reader(nlp))["cats_score"] < before


def test_documents_are_read_again_by_other_tokenizers_and_components(folder: Path) -> None:
    nlp, corpus = make_nlp(), JsonlCorpus(folder / "train.jsonl", lazy=True)
    nlp.add_pipe("copier", first=True)

    def batches() -> set[int]:
        return {id(text.batch) for one in corpus(nlp) if isinstance(text := unread_text(one.predicted), LazyText)}

    for text in [unread_text(one.predicted) for one in corpus(nlp)]:
        assert text is not None
        for block in component_of(nlp).blocks.values():
            text.symbols(block)
    known = batches()
    assert batches() == known
    nlp.tokenizer = spacy.blank("de").tokenizer
    assert batches().isdisjoint(known)


def test_errors_name_line_and_text(tmp_path: Path) -> None:
    nlp = make_nlp()
    path = write_jsonl(tmp_path / "c.jsonl", [{"text": "a", "label": "x"}, {"text": "too long", "label": "y"}])
    nlp.max_length = 5
    examples = list(JsonlCorpus(path, lazy=True)(nlp))
    nlp.initialize(lambda: examples)
    with pytest.raises(BadLineError, match=r"c\.jsonl, line 2: the text has 8 characters"):
        nlp.update(examples)
    examples[1].reference.cats = {"x": 2.0}
    with pytest.raises(ValueError, match=r"document 'too long' \(line 2\) has 2"):
        nlp.initialize(lambda: examples)
