"""Word vectors in the estimators: words that no training document has, explanations, saved models, refusals."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from spacy_graft import CoordinateAscent, GraftClassifier, Grafting, GraftingPath, GraftTextClassifier, export
from spacy_graft.pipeline.vectors import pipeline_vectors
from spacy_graft.vectors.word_vectors import WordVectors

GOOD, BAD = ("good", "great", "superb"), ("bad", "awful", "dire")
VECTORS = WordVectors(
    ("the", *GOOD, *BAD),
    np.array([[0.0, 1.0], *[[1.0, 0.1 * k] for k in range(3)], *[[-1.0, 0.1 * k] for k in range(3)]], np.float32),
    "made-up vectors",
)
#: "superb" and "dire" are in no training document, nor is "xyz", which has no vector.
TEXTS = ["the good film", "a great film", "the bad film", "an awful film", "good", "bad"] * 5
LABELS = ["+", "+", "-", "-", "+", "-"] * 5
OTHERS = ["superb", "dire Superb the film film", "xyz", "", "the bad dire film"]
LEARNER = Grafting(l1=1.0, vectors_ridge=0.1)


@pytest.fixture(scope="module")
def of_texts() -> GraftTextClassifier:
    """Not to be changed."""
    return GraftTextClassifier(LEARNER, analyzer=["char_wb", "word"]).fit(TEXTS, LABELS, vectors=VECTORS)


def test_words_of_no_training_text_are_known(of_texts: GraftTextClassifier) -> None:
    assert of_texts.predict(["superb", "dire"]).tolist() == ["+", "-"]
    assert of_texts.report_.vectors is not None
    assert of_texts.report_.vectors["words_in_training"] == 5
    assert all(name.startswith(("char_wb__", "word__")) for name in of_texts.get_feature_names_out())
    by_text = {word.text: word for word in of_texts.strongest_words(3, "+")}
    assert by_text.keys() <= {*GOOD, *BAD}
    assert {word.text: word.df for word in of_texts.strongest_words()}["superb"] == 0
    with pytest.raises(ValueError, match=r"no label 'x'\. The labels: '\+', '-'"):
        of_texts.strongest_words(3, "x")
    for n in (-1, 1.5):
        with pytest.raises(ValueError, match="n must be an integer of at least 0"):
            of_texts.strongest_words(n)


def test_a_word_whose_score_is_out_of_range_is_named() -> None:
    table = np.append(VECTORS.vectors, np.float32([[3e38, -3e38]]), axis=0)
    words = WordVectors((*VECTORS.words, "outlier"), table, "one is huge")
    with pytest.raises(ValueError, match="The vector of the word 'outlier' is so large that its score is out of range"):
        GraftTextClassifier(LEARNER, analyzer="word").fit(TEXTS, LABELS, vectors=words)


def test_what_is_several_words_is_left_out() -> None:
    words = WordVectors((*VECTORS.words, "dont", "don't", "Well-known"), np.eye(10, 2, dtype=np.float32) + 1.0, "more")
    model = GraftTextClassifier(LEARNER, analyzer="word").fit(TEXTS, LABELS, vectors=words)
    assert model.report_.vectors is not None
    assert model.report_.vectors["words"] == 8
    assert {word.text for word in model.strongest_words()} == {*VECTORS.words, "dont"}
    none = WordVectors(("don't",), np.ones((1, 2), np.float32), "none of them")
    with pytest.raises(ValueError, match=r"none of its 0 words .* or have punctuation in them"):
        GraftTextClassifier(LEARNER, analyzer="word").fit(["I don't"] * 4, ["a", "b"] * 2, vectors=none)


def test_explanations_sum_to_the_scores(of_texts: GraftTextClassifier) -> None:
    # Those of "-" against "+", as its labels are sorted.
    scores = of_texts.decision_function(OTHERS)
    for document, score, explanation in zip(OTHERS, scores, of_texts.explain(OTHERS), strict=True):
        label = explanation["-"]
        parts = sum(part.contribution for part in label.contributions)
        assert label.intercept + parts == pytest.approx(score, abs=1e-9)
        assert label.score == pytest.approx(score, abs=1e-9)
        places = {
            part.text: [document[place.start : place.end] for (place,) in part.members[0].places]
            for part in explanation["+"].contributions
            if part.kind == "word vector"
        }
        assert places.keys() == {word for word in document.lower().split() if word in VECTORS.words}
        assert all(found.lower() == word for word, all_found in places.items() for found in all_found)


def test_saved_and_pickled(of_texts: GraftTextClassifier, tmp_path: Path) -> None:
    of_texts.save(tmp_path / "model")
    loaded = GraftTextClassifier.load(tmp_path / "model")
    expected = of_texts.predict_proba(OTHERS)
    assert_array_equal(loaded.predict_proba(OTHERS), expected)
    assert_array_equal(pickle.loads(pickle.dumps(of_texts)).predict_proba(OTHERS), expected)
    assert loaded.strongest_words() == of_texts.strongest_words()
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_models_with_vectors_are_not_exported(of_texts: GraftTextClassifier) -> None:
    with pytest.raises(ValueError, match="cannot be exported: it has word vectors"):
        export(of_texts)


def test_a_function_is_an_analyzer_of_words() -> None:
    model = GraftTextClassifier(LEARNER, analyzer=re.compile(r"\w+").findall)
    model.fit([f"{text}." for text in TEXTS], LABELS, vectors=lambda _: VECTORS)
    assert model.predict(["superb!", "dire!"]).tolist() == ["+", "-"]
    assert {part.text for part in model.explain(["superb!"])[0]["+"].contributions} == {"superb"}


@pytest.mark.parametrize("degree", [1, 2])
def test_items_of_no_training_document_are_known(degree: int) -> None:
    documents = [set(text.split()) for text in TEXTS]
    model = GraftClassifier(LEARNER, degree=degree).fit(documents, LABELS, vectors=VECTORS)
    assert model.predict([{"superb"}, {"dire"}]).tolist() == ["+", "-"]
    strongest = {word.names[0]: word for word in model.strongest_words()}
    assert strongest.keys() <= {*VECTORS.words}
    assert strongest["superb"].df == 0
    assert strongest["superb"].weights["+"] > 0.0 > strongest["superb"].weights["-"]
    texts = GraftTextClassifier(LEARNER, analyzer="word", max_length=1, min_df=1)
    texts.fit(TEXTS, LABELS, vectors=VECTORS)
    if degree == 1:
        # The same objective, of the same documents.
        assert_allclose(model.predict_proba(documents), texts.predict_proba(TEXTS), atol=1e-3)


def test_columns_of_a_matrix_have_vectors_by_their_names() -> None:
    names = ["good", "bad", "superb", "film"]
    X = np.array([[1.0, 0.0, 0.0, 2.0], [0.0, 0.5, 0.0, 1.0]] * 10)
    model = GraftClassifier(LEARNER).fit(X, ["+", "-"] * 10, names=names, vectors=VECTORS)
    assert model.predict([[0.0, 0.0, 1.0, 0.0]]).tolist() == ["+"]
    assert model.n_features_in_ == 4
    plain = GraftClassifier(LEARNER).fit(X, ["+", "-"] * 10, names=names)
    assert plain.strongest_words() == []


def test_what_is_refused() -> None:
    def refuse(problem: str, model: Any, documents: Any, vectors: Any = VECTORS) -> None:
        with pytest.raises(ValueError, match=problem):
            model.fit(documents, LABELS, vectors=vectors)

    of_texts, items = GraftTextClassifier(LEARNER, analyzer="word"), [text.split() for text in TEXTS]
    refuse("vectors are of words, but the analyzers are 'char'", GraftTextClassifier(LEARNER, analyzer="char"), TEXTS)
    refuse("CoordinateAscent has no weights for vectors", GraftClassifier(CoordinateAscent()), items)
    refuse("CoordinateAscent has no weights", GraftTextClassifier(CoordinateAscent(), analyzer="word"), TEXTS)
    refuse(r"The vectors are 3\. Make them with WordVectors", of_texts, TEXTS, 3)
    refuse(r"The vectors are None\. Make them", of_texts, TEXTS, lambda _: None)
    other = WordVectors(("Haus",), np.ones((1, 2), np.float32), "other vectors")
    refuse("other vectors: none of its 1 words is in the training documents", of_texts, TEXTS, other)
    refuse("none of its 1 words is in the training", GraftClassifier(LEARNER), items, other)
    matrix = np.array([[1.0, 0.0], [0.0, 1.0]] * 15)
    refuse("other vectors: none of its 1 words is the name of an item", GraftClassifier(LEARNER), matrix, other)


def test_a_model_over_items_with_vectors_is_saved_by_pickle_only(tmp_path: Path) -> None:
    items = [text.split() for text in TEXTS]
    model = GraftClassifier(LEARNER).fit(items, LABELS, vectors=VECTORS)
    with pytest.raises(ValueError, match="with word vectors cannot be saved: save it with pickle"):
        model.save(tmp_path / "model.graft")
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(items), model.predict_proba(items))


PATH = GraftingPath(steps=4, l1_min_ratio=0.1, vectors_ridge=0.1, vectors_choices=(0.01, 0.0))


def test_folds_choose_the_strength() -> None:
    """Each word is in one text and its copy, which share a fold: only vectors know it."""
    words = [f"{sign}{k}" for k in range(20) for sign in "pm"]
    table = np.array([[1.0 if word[0] == "p" else -1.0, 0.02 * k] for k, word in enumerate(words)], np.float32)
    labels = [word[0] for word in words for _ in range(2)]
    model = GraftTextClassifier(PATH, analyzer="word").fit(
        [f"the {word}" for word in words for _ in range(2)], labels, vectors=WordVectors(tuple(words), table, "signs")
    )
    assert model.report_.vectors_ridge in (0.1, 0.01)
    assert model.report_.vectors is not None
    assert model.report_.n_folds == 4
    assert model.report_.log_loss is not None
    assert model.report_.log_loss < 0.3


def test_folds_leave_out_vectors_that_do_not_help() -> None:
    """All words are in many texts, and say the label."""
    model = GraftTextClassifier(PATH, analyzer="word").fit(TEXTS, LABELS, vectors=VECTORS)
    plain = GraftTextClassifier(PATH, analyzer="word").fit(TEXTS, LABELS)
    assert [model.report_.vectors_ridge, model.report_.vectors, plain.report_.vectors_ridge] == [0.0, None, None]
    assert_array_equal(model.predict_proba(OTHERS), plain.predict_proba(OTHERS))
    assert model.strongest_words() == []


@pytest.mark.parametrize("learner", [None, GraftingPath(steps=3)])
def test_vectors_that_say_nothing_are_refused(learner: Any) -> None:
    model = GraftTextClassifier(learner, analyzer="word")
    texts, labels = ["a good film", "a bad film"] * 20, ["+", "-"] * 20
    with pytest.raises(ValueError, match="none of its 2 words is in the training documents"):
        model.fit(texts, labels, vectors=WordVectors(("gut", "schlecht"), np.eye(2, dtype=np.float32)))
    with pytest.raises(ValueError, match="all training documents have the same vector"):
        model.fit(texts, labels, vectors=WordVectors(("good", "bad"), np.ones((2, 3), np.float32)))
    with pytest.raises(ValueError, match=r"an estimator has none\. Call what it returns with .* nlp\.vocab"):
        model.fit(texts, labels, vectors=pipeline_vectors())


def test_vectors_of_which_a_fold_has_none_are_left_out() -> None:
    rare = WordVectors(("rare", "scarce"), np.eye(2, dtype=np.float32), "two words")
    texts, labels = [*TEXTS, "rare film", "scarce film"], [*LABELS, "+", "+"]
    model = GraftTextClassifier(PATH, analyzer="word").fit(texts, labels, vectors=rare)
    assert [model.report_.vectors_ridge, model.report_.n_folds] == [0.0, 4]
    plain = GraftTextClassifier(PATH, analyzer="word").fit(texts, labels)
    assert_array_equal(model.predict_proba(OTHERS), plain.predict_proba(OTHERS))


def test_a_path_without_choices_has_vectors_all_along() -> None:
    path = GraftingPath(steps=4, l1_min_ratio=0.1, vectors_ridge=0.1)
    model = GraftTextClassifier(path, analyzer="word").fit(TEXTS, LABELS, vectors=VECTORS)
    assert [model.report_.vectors_ridge, model.report_.n_folds] == [0.1, 4]
    assert {word.text for word in model.strongest_words()} == {*VECTORS.words}


def test_where_nothing_is_held_out_vectors_are_used() -> None:
    with pytest.warns(UserWarning, match="does not look at 'vectors_choices'"):
        GraftClassifier(PATH).fit([text.split() for text in TEXTS], LABELS, vectors=VECTORS)
    few = GraftTextClassifier(PATH, analyzer="word", min_df=1).fit(TEXTS[:6], LABELS[:6], vectors=VECTORS)
    assert [few.report_.vectors_ridge, few.report_.n_folds] == [0.1, 0]
