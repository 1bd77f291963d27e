"""A ``min_df`` that is not given goes by the size of the training corpus."""

from __future__ import annotations

from typing import Any

import pytest

import spacy_graft
from conftest import PATH, Record, component_of, make_examples, make_nlp, make_records, one_hot
from spacy_graft import GraftingPath, GraftTextClassifier, estimate_memory
from spacy_graft.extract import blocks
from spacy_graft.extract.attributes import TokenAttributes
from spacy_graft.extract.blocks import LARGE_CORPUS_DOCUMENTS, LARGE_CORPUS_SYMBOLS, least_documents
from spacy_graft.extract.characters import CharacterNgrams
from spacy_graft.extract.texts import IntegerSequences, TextBytes, TextCharacters, TextWords
from spacy_graft.extract.tokens import TokenNgrams
from spacy_graft.graft.data import TrainingData
from spacy_graft.graphs.cooccurrence import Cooccurrence
from spacy_graft.pipeline.corpus import ExtractedCorpus
from spacy_graft.text_model import ReadTexts, TextSpace

DEFAULT: dict[str, Any] = {
    "words": {"@graft_features": "spacy_graft.TokenNgrams.v1"},
    "characters": {"@graft_features": "spacy_graft.CharacterNgrams.v1", "within_words": True},
}
SMALL, USUAL = {"words": 1, "characters": 2}, {"words": 2, "characters": 3}


def n_tokens(records: list[Record]) -> int:
    """The symbols of the block of words."""
    return sum(len(example.predicted) for example in make_examples(make_nlp(), records))


def limit_at(n_symbols: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Corpora of fewer symbols are small."""
    monkeypatch.setattr(blocks, "LARGE_CORPUS_SYMBOLS", n_symbols)


@pytest.mark.parametrize(
    ("block", "small", "usual"),
    [
        (TokenNgrams(), 1, 2),
        (CharacterNgrams(), 2, 3),
        (TextWords(), 1, 2),
        (TextCharacters(), 2, 3),
        (TextBytes(), 2, 3),
        (IntegerSequences(), 1, 2),
        (TokenNgrams(min_df=5), 5, 5),
        (TokenAttributes(), 2, 2),
    ],
)
def test_a_small_corpus_has_rarer_features(block: Any, small: int, usual: int) -> None:
    assert least_documents(block, LARGE_CORPUS_DOCUMENTS - 1, LARGE_CORPUS_SYMBOLS - 1) == small
    assert least_documents(block, LARGE_CORPUS_DOCUMENTS, LARGE_CORPUS_SYMBOLS - 1) == usual
    assert least_documents(block, LARGE_CORPUS_DOCUMENTS - 1, LARGE_CORPUS_SYMBOLS) == usual


@pytest.mark.parametrize("min_df", [None, 0, -1, 1.5, "2"])
def test_items_have_a_number(min_df: Any) -> None:
    with pytest.raises(ValueError, match="TokenAttributes: min_df"):
        TokenAttributes(min_df=min_df)


@pytest.mark.parametrize("retrain", [False, True])
def test_the_training_documents_decide(
    retrain: bool, train_records: list[Record], dev_records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Train and dev together are not small, but what was chosen on train is trained with its cut-offs."""
    limit_at(n_tokens(train_records) + 1, monkeypatch)
    nlp = make_nlp(features={"words": DEFAULT["words"]}, learner={**PATH, "retrain": retrain})
    component = component_of(nlp)
    train, dev = make_examples(nlp, train_records), make_examples(nlp, dev_records)
    nlp.initialize(lambda: train)
    for _ in range(PATH["steps"] + 1):
        nlp.update(train)
        nlp.evaluate(dev)
    report = component.report
    assert report is not None
    assert (report.min_df, report.n_documents) == ({"words": 1}, len(train) + len(dev) * retrain)


@pytest.mark.parametrize(("limit", "min_df"), [(LARGE_CORPUS_SYMBOLS, SMALL), (1, USUAL)])
def test_components_and_estimators_have_the_same(
    limit: int, min_df: dict[str, int], train_records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    limit_at(limit, monkeypatch)
    nlp = make_nlp(features=DEFAULT, learner=PATH)
    spacy_graft.fit(nlp, make_examples(nlp, train_records))
    report = component_of(nlp).report
    assert report is not None
    assert report.min_df == min_df
    texts, labels = zip(*((record["text"], record["label"]) for record in train_records), strict=True)
    model = GraftTextClassifier().fit(texts, labels)
    assert [*model.report_.min_df.values()] == [*min_df.values()]


def test_folds_have_that_of_all_documents(train_records: list[Record], monkeypatch: pytest.MonkeyPatch) -> None:
    """Though each of them would be small."""
    limit_at(n_tokens(train_records), monkeypatch)
    nlp = make_nlp(features={"words": DEFAULT["words"]}, learner=PATH)
    component = component_of(nlp)
    examples = make_examples(nlp, train_records)
    component.initialize(lambda: examples)
    nlp.update(examples)
    corpus = component.training.corpus  # type: ignore[union-attr]
    kept, _ = corpus.splits()[0]
    assert corpus.some(kept).training_data().min_df == corpus.training_data().min_df == {"words": 2}


def test_folds_of_estimators_have_that_of_all_documents(
    train_records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = []
    training_data = TextSpace.training_data

    def noted(space: TextSpace, documents: ReadTexts, /, **of_documents: Any) -> TrainingData:
        begun.append((len(documents) < len(train_records), documents.min_df["word"]))
        return training_data(space, documents, **of_documents)

    monkeypatch.setattr(TextSpace, "training_data", noted)
    texts, labels = zip(*((record["text"], record["label"]) for record in train_records), strict=True)
    limit_at(n_tokens(train_records), monkeypatch)
    GraftTextClassifier(GraftingPath(steps=6), analyzer="word").fit(texts, labels)
    assert set(begun) == {(True, 2), (False, 2)}


def test_a_model_is_extended_beyond_a_small_corpus(
    train_records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words of one document are no features any more."""
    old, new = train_records[:60], train_records[60:]
    limit_at(n_tokens(train_records), monkeypatch)
    nlp = make_nlp(features={"words": DEFAULT["words"]}, learner=PATH, keep_corpus=True)
    spacy_graft.fit(nlp, make_examples(nlp, old))
    component = component_of(nlp)
    assert component.report is not None
    assert component.report.min_df == {"words": 1}
    nlp.update(make_examples(nlp, new))
    assert component.report.min_df == {"words": 2}
    assert component.report.n_documents == len(train_records)


def test_chosen_models_are_extended_and_edited_as_they_are_loaded(
    train_records: list[Record], dev_records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Train is small, and train and dev are not: an edit keeps the cut-off of the model, more documents decide anew."""
    limit_at(n_tokens(train_records) + 1, monkeypatch)
    nlp = make_nlp(features={"words": DEFAULT["words"]}, learner=PATH, keep_corpus=True)
    spacy_graft.fit(nlp, make_examples(nlp, train_records), dev=make_examples(nlp, dev_records))
    saved = nlp.to_bytes()
    reports = []
    for is_loaded in (False, True):
        if is_loaded:
            nlp = make_nlp(features={"words": DEFAULT["words"]}, learner=PATH, keep_corpus=True).from_bytes(saved)
        component = component_of(nlp)
        component.edit(deny=["goal"])
        edited = component.report
        nlp.update(make_examples(nlp, make_records(5, seed=9)))
        reports.append((edited, component.report))
    for edited, extended in reports:
        assert edited is not None
        assert extended is not None
        assert (edited.min_df, extended.min_df) == ({"words": 1}, {"words": 2})
    (edited, extended), (of_loaded, extended_of_loaded) = reports
    assert (edited.n_columns, extended.n_columns) == (of_loaded.n_columns, extended_of_loaded.n_columns)


def test_a_word_of_one_document_is_locked_although_the_l1_strength_leaves_it_out() -> None:
    """The report of the model has the cut-off of the strength, which is 2 documents."""
    records = [
        {"text": f"{label} u{number}", "label": label} for number, label in enumerate(["food", "music", "sport"] * 7)
    ]
    learner = {"@graft_learners": "spacy_graft.Grafting.v1", "l1": 1.0}
    nlp = make_nlp(features={"words": DEFAULT["words"]}, learner=learner, keep_corpus=True)
    spacy_graft.fit(nlp, make_examples(nlp, records))
    component = component_of(nlp)
    assert component.report is not None
    assert component.report.min_df == {"words": 2}
    component.edit(lock={"u3": {"food": 2.0}})
    assert "u3" in {feature.text for feature in component.features()}


def test_a_lost_fit_is_begun_again_with_its_own_documents(
    train_records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that have come since are not in it, and do not make its corpus larger."""
    limit_at(n_tokens(train_records), monkeypatch)
    nlp = make_nlp(features={"words": DEFAULT["words"]}, learner=PATH)
    first, last = make_examples(nlp, train_records[:-20]), make_examples(nlp, train_records[-20:])
    component = component_of(nlp)
    component.initialize(lambda: first[:1])
    training = component.training
    assert training is not None
    nlp.update(first)
    nlp.update(first)
    nlp.update(last)
    assert training.n_pending == 20
    training.course.fit = None  # as after an error
    assert training._present_fit().report.min_df == {"words": 1}
    assert training.corpus.training_data().min_df == {"words": 2}


def test_soft_labels_make_a_corpus_large(train_records: list[Record], monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [record["text"] for record in make_records(200, seed=9)]
    limit_at(n_tokens(train_records), monkeypatch)
    nlp = make_nlp(features={"words": DEFAULT["words"]}, learner=PATH)
    begun = []
    training_data = ExtractedCorpus.training_data

    def noted(corpus: ExtractedCorpus) -> TrainingData:
        data = training_data(corpus)
        begun.append((data.n_documents > 30, data.min_df["words"]))
        return data

    monkeypatch.setattr(ExtractedCorpus, "training_data", noted)
    examples = make_examples(nlp, train_records[:30])
    spacy_graft.distil(nlp, examples, texts, lambda docs: [one_hot("food")] * len(docs), weights=[1.0])
    assert set(begun) == {(False, 1), (True, 2)}


def test_documents_without_labels_do_not_add_words_of_one_document(
    train_records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [record["text"] for record in make_records(100, seed=9)]

    def vertices(**words: Any) -> int:
        nlp = make_nlp(features={"words": {**DEFAULT["words"], **words}}, learner=PATH)
        examples = make_examples(nlp, train_records[:30])
        spacy_graft.fit(nlp, examples, network=Cooccurrence(), network_max_length=2, unlabelled=texts)
        report = component_of(nlp).report
        assert report is not None
        assert report.network is not None
        return report.network["vertices"]

    assert vertices() == vertices(min_df=1)
    limit_at(n_tokens(train_records[:30]) + 1, monkeypatch)
    assert vertices() == vertices(min_df=2) < vertices(min_df=1)


@pytest.mark.parametrize("n", [19, 38, 61])
def test_memory_of_a_corpus_at_the_limit_is_that_of_a_large_one(n: int, train_records: list[Record]) -> None:
    """2000 / 19 * 19 is a little less than 2000."""
    nlp = make_nlp(features={"words": DEFAULT["words"]})
    examples = make_examples(nlp, train_records[:n])
    below, at = (
        estimate_memory(nlp, examples, n_documents=LARGE_CORPUS_DOCUMENTS - step).blocks[0].n_nodes for step in (1, 0)
    )
    assert at < below


def test_memory_is_that_of_the_whole_corpus(train_records: list[Record], monkeypatch: pytest.MonkeyPatch) -> None:
    limit_at(10 * n_tokens(train_records), monkeypatch)
    nlp = make_nlp(features={"words": DEFAULT["words"]})
    examples = make_examples(nlp, train_records)
    small, large = (
        estimate_memory(nlp, examples, n_documents=n * len(examples)).blocks[0].n_nodes / n for n in (1, 20)
    )
    assert large < 0.5 * small


def test_significance_has_no_words_of_one_document(train_records: list[Record]) -> None:
    texts, labels = zip(*((record["text"], record["label"]) for record in train_records), strict=True)
    model = GraftTextClassifier(analyzer="word")
    assert model.significance(texts, labels).n_tested == model.set_params(min_df=2).significance(texts, labels).n_tested
    nlp = make_nlp(features={"words": DEFAULT["words"]})
    report = spacy_graft.significance(nlp, make_examples(nlp, train_records))
    nlp = make_nlp(features={"words": {**DEFAULT["words"], "min_df": 2}})
    assert report.n_tested == spacy_graft.significance(nlp, make_examples(nlp, train_records)).n_tested
