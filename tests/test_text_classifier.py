"""The classifier of texts that no tokenizer has touched."""

from __future__ import annotations

import copy
import doctest
import enum
import json
import pickle
import re
import warnings
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import spacy
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

import spacy_graft.text_classifier
from conftest import make_examples, make_records
from spacy_graft import (
    Constraints,
    CoordinateAscent,
    GraftClassifier,
    Grafting,
    GraftingPath,
    GraftTextClassifier,
    InMemory,
    fit,
)
from spacy_graft.extract import kernels
from spacy_graft.extract.texts import BATCH, TextCharacters, TextWords, Words
from spacy_graft.model.sealing import seal, unseal
from spacy_graft.model.sparse_linear import snapshot_of

RECORDS = make_records(60)
TEXTS = [record["text"] for record in RECORDS]
LABELS = [record["label"] for record in RECORDS]
LEARNER = Grafting(l1=0.5)
#: The figures of a path: fast, and lengths of texts are counted in the same way with and without a tokenizer.
PATH = GraftingPath(steps=4, l1_min_ratio=0.05)


def fitted(analyzer="char", texts=TEXTS, labels=LABELS, **options):
    return GraftTextClassifier(options.pop("learner", LEARNER), analyzer=analyzer, **options).fit(texts, labels)


def test_the_examples_of_the_docstring():
    assert doctest.testmod(spacy_graft.text_classifier).failed == 0


HOSTILE = ["İstanbul'da\tbir", "", " ", "\r\n\n  two\xa0spaces", "👩‍🔬 a\u0000b", "ΌΛΑ καλά", "naïve ﬁne", "日本語の文"]


@pytest.mark.slow
@pytest.mark.parametrize("learner", [LEARNER, PATH, CoordinateAscent()], ids=["point", "path", "ascent"])
@pytest.mark.parametrize("within_words", [False, True])
@pytest.mark.parametrize("lowercase", [False, True])
def test_the_model_is_that_of_the_component_bit_for_bit(learner, within_words, lowercase):
    texts = [f"{text} {HOSTILE[i % len(HOSTILE)]}" for i, text in enumerate(TEXTS)]
    records = [{**record, "text": text} for record, text in zip(RECORDS, texts, strict=True)]
    # Lengths count words by the tokenizer in the component.
    learner = GraftingPath(**{**vars(learner), "length_normalisation": False}) if learner is PATH else learner
    nlp = spacy.blank("xx")
    block = {"@graft_features": "spacy_graft.CharacterNgrams.v1", "min_df": 2, "within_words": within_words}
    block["ends"] = not within_words
    component = nlp.add_pipe("textcat_graft", config={"features": {"char": {**block, "lowercase": lowercase}}})
    component.learner = learner
    report = fit(nlp, make_examples(nlp, records))
    snapshot = snapshot_of(component.model)
    model = fitted("char_wb" if within_words else "char", texts, learner=learner, lowercase=lowercase)
    own = model._model.snapshot
    assert own.features.ngrams == snapshot.features.ngrams
    assert own.features.longest == snapshot.features.longest
    assert own.features.df.tolist() == snapshot.features.df.tolist()
    np.testing.assert_array_equal(own.weights, snapshot.weights)
    np.testing.assert_array_equal(own.intercepts, snapshot.intercepts)
    assert [model.report.objective, model.report.points] == [report.objective, report.points]
    # What cross-validation has chosen.
    assert [model.report.refit, model.report.temperature] == [report.refit, report.temperature]
    assert model.report.log_loss == report.log_loss
    assert len(model.features()) > 5
    docs = [nlp.make_doc(text) for text in [*texts, *HOSTILE]]
    np.testing.assert_array_equal(model._model.scores([*texts, *HOSTILE]), snapshot.scores(docs))


def test_it_is_an_estimator_of_texts():
    model = GraftTextClassifier(LEARNER, analyzer=["char", "word"], min_df=3)
    assert get_tags(model).input_tags.string
    assert not get_tags(model).input_tags.two_d_array
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert "analyzer=['char', 'word']" in repr(model)
    assert copied.set_params(min_df=1).min_df == 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_estimator(GraftTextClassifier())
    # What scikit-learn has for estimators that take no matrices.
    assert all("two_d_array=False" in str(warning.message) for warning in caught)


@pytest.mark.parametrize(
    "X",
    [
        np.array(TEXTS),
        np.array(TEXTS, object),
        np.array(TEXTS)[:, None],
        pd.Series(TEXTS, dtype="string"),
        pd.DataFrame({"text": TEXTS}),
        tuple(TEXTS),
        (text for text in TEXTS),
    ],
    ids=["array", "objects", "column", "Series", "DataFrame", "tuple", "generator"],
)
def test_texts_may_be_lists_columns_or_generators(X):
    model = fitted(texts=X)
    np.testing.assert_array_equal(model.predict_proba(iter(TEXTS)), fitted().predict_proba(TEXTS))


def test_scikit_learn_can_use_it():
    texts, labels, model = np.array(TEXTS), np.array(LABELS), GraftTextClassifier(LEARNER)
    assert cross_val_score(model, texts, labels, cv=2).min() > 0.6
    pipeline = make_pipeline(FunctionTransformer(np.char.upper), model)
    parameters = {
        "grafttextclassifier__analyzer": ["char", "word", ["word", "char_wb"]],
        "grafttextclassifier__learner": [LEARNER, Grafting(l1=2.0)],
    }
    search = GridSearchCV(pipeline, parameters, cv=2).fit(texts, labels)
    assert search.best_score_ > 0.8
    assert search.predict_proba(texts[:2]).shape == (2, 3)
    assert CalibratedClassifierCV(model, cv=2).fit(texts, labels).predict_proba(texts[:2]).shape == (2, 3)
    assert OneVsRestClassifier(model).fit(texts, labels).score(texts, labels) == 1.0


def test_a_path_is_chosen_by_cross_validation():
    rng = np.random.default_rng(0)
    labels = [label if rng.random() < 0.7 else LABELS[rng.integers(60)] for label in LABELS]
    report = fitted(labels=labels, learner=PATH).report_
    assert report.log_loss is not None
    assert report.points <= PATH.steps
    assert report.refit != PATH.first_refit or report.points < PATH.steps or report.temperature != 1.0
    # Too few documents to hold some out: the last point.
    short = GraftingPath(steps=2, l1_min_ratio=0.1)
    few = fitted(texts=TEXTS[:9], labels=LABELS[:9], learner=short).report_
    assert [few.points, few.refit, few.log_loss] == [short.steps, short.first_refit, None]
    # A label of a single document, which is held out once.
    rare = fitted(texts=TEXTS[:20], labels=["rare", *LABELS[1:20]], learner=short)
    assert rare.classes_.tolist() == ["food", "music", "rare", "sport"]


class Text(str):
    """A string that can tell whether it is still there."""


def test_texts_are_read_once_and_not_kept():
    n_alive = []
    alive: weakref.WeakSet[Text] = weakref.WeakSet()

    def texts():
        for i in range(60):
            n_alive.append(len(alive))
            text = Text(f"{'good' if i % 2 else 'bad'} {i} " * 1000)
            alive.add(text)
            yield text
            del text

    model = fitted(texts=texts(), labels=[i % 2 for i in range(60)], min_df=10, learner=Grafting(l1=5.0))
    # A batch, and the one before.
    most = 2 * BATCH // 6000
    assert 1 < max(n_alive) <= most
    assert not alive
    assert len(model.predict(texts())) == 60
    assert max(n_alive) <= most


@pytest.mark.parametrize("analyzer", ["char", "char_wb", "word", "byte"])
def test_one_long_text_beside_short_ones(analyzer):
    """With every line end, and a break."""
    long = "\r\n".join([*TEXTS, "\0\r", *TEXTS, "\x1c\u2028"]) * 30
    assert len(long) > 2**17
    texts, labels = [long, *TEXTS, long[::-1]], ["food", *LABELS, "sport"]
    model = fitted(analyzer, texts, labels, min_df=5)
    expected = np.concatenate([model.predict_proba([text]) for text in texts])
    np.testing.assert_array_equal(model.predict_proba(iter(texts)), expected)
    assert model.score(TEXTS, LABELS) > 0.9
    assert all("\0" not in name for name in model.get_feature_names_out()) or analyzer == "word"


def test_many_short_texts():
    texts = [f"{text[:12]} {i % 7}" for i in range(100) for text in TEXTS]
    model = fitted(texts=texts, labels=LABELS * 100, min_df=5, learner=Grafting(l1=20.0))
    assert model.predict(iter(texts)).shape == (6000,)
    assert model.report_.converged


def test_joblib_keeps_and_shares_models(tmp_path):
    model = fitted(["word", "char"])
    joblib.dump(model, tmp_path / "model.joblib")
    copied = joblib.load(tmp_path / "model.joblib")
    np.testing.assert_array_equal(copied.predict_proba(TEXTS), model.predict_proba(TEXTS))
    parts = joblib.Parallel(n_jobs=4, prefer="threads")(
        joblib.delayed(copied.predict_proba)(TEXTS[i : i + 5]) for i in range(0, 60, 5)
    )
    np.testing.assert_array_equal(np.concatenate(parts), model.predict_proba(TEXTS))


@pytest.mark.slow
def test_searches_use_several_processes():
    texts, labels = np.array(TEXTS), np.array(LABELS)
    in_processes = cross_val_score(GraftTextClassifier(LEARNER), texts, labels, cv=2, n_jobs=2)
    assert in_processes.tolist() == cross_val_score(GraftTextClassifier(LEARNER), texts, labels, cv=2).tolist()


def test_shapes_and_names():
    model = fitted()
    n_features = len(model.features())
    assert model.classes_.tolist() == sorted(set(LABELS))
    assert model.coef_.shape == (3, n_features)
    assert model.get_feature_names_out().shape == (n_features,)
    assert model.decision_function(TEXTS).shape == model.predict_proba(TEXTS).shape == (60, 3)
    assert model.score(TEXTS, LABELS) == 1.0
    assert model.report is model.report_
    effects = [max(feature.effects.values()) for feature in model.features()]
    assert effects == sorted(effects, reverse=True)
    assert model.features()[0].effects[LABELS[0]] < abs(model.features()[0].weights[LABELS[0]])
    binary = fitted(labels=[label == "food" for label in LABELS])
    assert binary.classes_.tolist() == [False, True]
    assert binary.coef_.shape == (1, len(binary.features()))
    assert binary.decision_function(TEXTS).shape == (60,)
    assert ((binary.decision_function(TEXTS) > 0) == binary.predict(TEXTS)).all()
    both = fitted(["word", "char_wb"])
    assert {name.split("__")[0] for name in both.get_feature_names_out()} == {"word", "char_wb"}


@pytest.mark.parametrize("analyzer", ["char", "char_wb", "word", "byte"])
def test_scores_are_sums_of_weights(analyzer):
    """Each feature is there if the text, as the analyzer sees it, has the n-gram."""
    model = fitted(analyzer)
    seen = {
        "char": lambda text: text,
        "char_wb": lambda text: "\0".join(f" {word} " for word in text.split()),
        "word": lambda text: f" {' '.join(text.split())} ",
        "byte": lambda text: repr(text.encode())[2:-1],
    }[analyzer]
    names = [eval(name).decode() if analyzer == "byte" else name for name in model.get_feature_names_out()]
    names = [f" {name} " if analyzer == "word" else name for name in names]
    present = np.array([[name in seen(text) for name in names] for text in TEXTS], np.float64)
    expected = present @ model.coef_.T.toarray() + model.intercept_
    np.testing.assert_allclose(model.decision_function(TEXTS), expected, atol=1e-12)


def test_signs_of_punctuation_are_words():
    texts = ["Don't say foo_1-bar!", "U.S. हिन्दी। e\u0301te\u0301", "می\u200cخواهم ❤\ufe0f👍🏽\u2028İ."]
    words = [
        ["don", "'", "t", "say", "foo_1", "-", "bar", "!"],
        ["u", ".", "s", ".", "हिन्दी", "।", "e\u0301te\u0301"],
        ["می\u200cخواهم", "❤\ufe0f", "👍", "🏽", "i\u0307", "."],
    ]
    reader = TextWords()
    for text, expected in zip(texts, words, strict=True):
        assert reader._words_of([text]) == [expected]
        places = reader.offsets(text)
        assert places is not None
        assert [text[start:end].lower() for start, end in places] == expected
    model = GraftTextClassifier(Grafting(l1=0.1), analyzer="word", ends=False).fit(
        ["good!", "good", "bad"] * 5, [1, 0, 2] * 5
    )
    assert {"good", "bad", "!"} >= {feature.text for feature in model.features()} >= {"!"}


def test_words_may_be_those_of_a_function():
    texts = [re.sub("e", ",", text) for text in TEXTS]
    by_function = fitted(re.compile(r"\w+").findall, texts)
    by_space = fitted("word", [text.replace(",", " ") for text in texts])
    assert by_function.get_feature_names_out().tolist() == by_space.get_feature_names_out().tolist()
    np.testing.assert_array_equal(by_function._model.weights, by_space._model.weights)
    assert by_function.explain(texts[:1])[0].best.contributions[0].members[0].places == ()


@pytest.mark.parametrize("container", [bytes, bytearray, memoryview])
def test_bytes_of_every_value(container):
    every = bytes(range(256))
    documents = [container(b"\x00\r" + every[i:] if i % 2 else b"\r\x00" + every[i:]) for i in range(40)]
    labels = [i % 2 for i in range(40)]
    model = fitted("byte", documents, labels)
    assert model.score(documents, labels) == 1.0
    assert eval(model.get_feature_names_out()[0]) in {b"\x00\r", b"\r\x00"}
    assert model.predict([b"", "ä\r\x00"]).tolist()[1] == 0
    by_length = fitted("byte", documents, labels, learner=Grafting(l1=0.5, length_normalisation=True))
    text = b"Two words\x00\r, two WORDS"
    np.testing.assert_array_equal(by_length.predict_proba([container(text)]), by_length.predict_proba([text]))


def test_items_of_a_view_may_be_of_several_bytes():
    """They were taken for bytes where an explanation looks for places, and for fewer than there are."""
    every = bytes(range(256))
    documents = [b" " * ((i + 2) % 4) + every[i:] + (b"\x00\r" if i % 2 else b"\r\x00") for i in range(40)]
    model = fitted("byte", documents, [i % 2 for i in range(40)])
    views = [memoryview(document).cast("i") for document in documents]
    explained = model.explain(views[:2])
    assert [one.to_dict() for one in explained] == [one.to_dict() for one in model.explain(map(bytes, views[:2]))]
    assert explained[0].best.contributions


def test_strings_are_bytes_of_utf_8():
    texts = [text.replace("o", "ö") for text in TEXTS]
    model = fitted("byte", [text.encode() for text in texts])
    np.testing.assert_array_equal(model.predict_proba(texts), model.predict_proba([text.encode() for text in texts]))
    places = [part.members[0].places for part in model.explain(["drums ö"])[0].best.contributions]
    assert all(0 <= span.start < span.end <= 7 for of_part in places for (span,) in of_part)


def test_sequences_of_integers():
    sequences = [np.array(list(map(ord, text))) + 100 for text in TEXTS]
    model, of_characters = fitted("integer", sequences), fitted("char", TEXTS)
    np.testing.assert_array_equal(model.predict_proba(sequences), of_characters.predict_proba(TEXTS))
    names = [" ".join(str(ord(c) + 100) for c in name) for name in of_characters.get_feature_names_out()]
    assert model.get_feature_names_out().tolist() == names
    below_zero = [sequence - 200 for sequence in sequences]
    assert fitted("integer", below_zero).score(below_zero, LABELS) == 1.0
    table = np.array([sequence[:20] for sequence in sequences])
    np.testing.assert_array_equal(
        fitted("integer", table).predict_proba(table), fitted("integer", table.tolist()).predict_proba(table)
    )
    part = model.explain(sequences[:1])[0].best.contributions[0]
    text = model.explain(sequences[:1])[0].text
    assert all(text[span.start : span.end] == part.text for (span,) in part.members[0].places)


def test_integers_that_differ_in_high_bits_alone_are_found_at_once() -> None:
    """In a table by low bits, each look-up would pass by all of them."""
    for shift in range(52):
        slots = {int(kernels.first_slot(np.int64(number << shift), 2**14 - 1)) for number in range(2**12)}
        assert len(slots) == 2**12


@pytest.mark.parametrize("analyzer", ["char", "char_wb", "word"])
@pytest.mark.parametrize("learner", [LEARNER, Grafting(l1=0.1, length_normalisation=True), PATH])
def test_explanations_add_up_and_show_the_places(analyzer, learner):
    model = fitted(analyzer, learner=learner)
    texts = [TEXTS[0].upper(), "İ roast", ""]
    scores = model._model.scores(texts)
    for text, row, explanation in zip(texts, scores, model.explain(texts), strict=True):
        by_label = dict(zip(map(str, model.classes_), row, strict=True))
        differences = [by_label[label.label] - by_label[label.against] for label in explanation]
        np.testing.assert_allclose([label.score for label in explanation], differences, atol=1e-12)
        best, second, *_ = sorted(by_label, key=by_label.get, reverse=True)
        assert (explanation.best.label, explanation.best.against) == (best, second)
        assert [label.against for label in explanation if label.label != best] == [best] * (len(by_label) - 1)
        assert explanation.text == text
        assert all(explanation[label].label == label for label in model.classes_)
        assert "<" in explanation._repr_html_()
        for part in explanation.best.contributions:
            for (span,) in part.members[0].places:
                assert text[span.start : span.end].lower().strip() == part.text.strip("⊢⊣ ")


def test_explanations_are_found_by_the_labels_of_the_estimator():
    model = fitted(labels=[int(label == "food") for label in LABELS])
    explanation = model.explain(TEXTS[:1])[0]
    assert explanation[model.predict(TEXTS[:1])[0]] is explanation.best


def test_a_feature_or_its_reverse_complement():
    rng = np.random.default_rng(0)
    reads = ["".join(rng.choice(list("ACGT"), 60)) for _ in range(80)]
    motif, reverse = "TTGACATA", "TATGTCAA"
    planted = [read[:20] + (motif if i % 4 else reverse) + read[20:] if i % 2 else read for i, read in enumerate(reads)]
    labels = [i % 2 for i in range(80)]
    model = fitted(texts=planted, labels=labels, reverse_complement=True, learner=Grafting(l1=5.0))
    best = model.features()[0].text.upper()
    assert best in motif or best in reverse
    with_motif, with_reverse = f"{reads[0]}{motif}", f"{reads[0]}{reverse}"
    complements = str.maketrans("ACGT", "TGCA")
    both_strands = [with_motif, with_motif[::-1].translate(complements)]
    assert len(set(model.decision_function(both_strands).tolist())) == 1
    assert model.predict([with_motif, with_reverse, reads[0]]).tolist() == [1, 1, 0]
    spans = {(s.start, s.end) for part in model.explain([with_reverse])[0].best.contributions for m in part.members
             for (s,) in m.places}  # fmt: skip
    assert any(start >= 60 and end <= 68 for start, end in spans)


def test_several_labels():
    y = [[label, "odd"] if i % 2 else [label] for i, label in enumerate(LABELS)]
    texts = [f"{text} oddly" if i % 2 else text for i, text in enumerate(TEXTS)]
    named = fitted(texts=texts, labels=y, multilabel=True)
    assert named.classes_.tolist() == ["food", "music", "odd", "sport"]
    assert [set(row) for row in named.predict(texts)] == [set(row) for row in y]
    assert named.score(texts, y) == 1.0
    matrix = np.array([[label in row for label in named.classes_] for row in y], int)
    of_matrix = fitted(texts=texts, labels=matrix)
    np.testing.assert_array_equal(of_matrix.predict(texts), matrix)
    np.testing.assert_array_equal(of_matrix.predict_proba(texts), named.predict_proba(texts))
    assert of_matrix.score(texts, matrix) == 1.0
    for model, own in ((named, y[:1]), (of_matrix, matrix[:1]), (of_matrix, matrix[:, :1]), (fitted(), LABELS[:1])):
        with pytest.raises(ValueError, match=r"60 documents, but 1 labels|y must be a matrix of the shape"):
            model.score(texts, own)
    for weights in ([1.0], [0.0] * 60):
        with pytest.raises(ValueError, match="sample_weight must have 60 numbers"):
            named.score(texts, y, weights)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (np.array(LABELS), "U"),
        (np.array(LABELS, object), "O"),
        (pd.Series(LABELS), "O"),
        (pd.Categorical(LABELS), "O"),
        (list(np.array(LABELS)), "U"),
        ([len(label) > 4 for label in LABELS], "b"),
        ([np.int64(len(label)) for label in LABELS], "i"),
        (np.array([len(label) for label in LABELS], np.uint8), "u"),
        (np.array([float(len(label)) for label in LABELS]), "f"),
        ([(label, 1) for label in LABELS], "O"),
    ],
)
def test_labels_of_every_kind(labels, kind):
    model = fitted(labels=labels)
    assert model.classes_.dtype.kind == kind
    assert model.predict(TEXTS).dtype == model.classes_.dtype
    assert model.score(TEXTS, labels) == 1.0


class Topic(str, enum.Enum):  # noqa: UP042  # an older form than StrEnum, and of another str
    """Strings that ``str`` would call by their names."""

    A, B, C = sorted(set(LABELS))


def test_members_of_an_enumeration_of_strings_are_these_strings(tmp_path):
    model = fitted(labels=[Topic(label) for label in LABELS])
    assert model.classes_.tolist() == sorted(set(LABELS))
    model.save(tmp_path / "model")
    for one in (model, GraftTextClassifier.load(tmp_path / "model")):
        assert one.explain(TEXTS[:1])[0][Topic(LABELS[0])].label == LABELS[0]
        assert one.predict(TEXTS[:1]).tolist() == LABELS[:1]


def test_documents_without_weight_are_not_there():
    weights = [0.0 if i % 5 == 0 else 1.0 for i in range(60)]
    kept = [i for i in range(60) if i % 5]
    weighted = fitted().fit(TEXTS, LABELS, sample_weight=weights)
    model = fitted(texts=[TEXTS[i] for i in kept], labels=[LABELS[i] for i in kept])
    np.testing.assert_array_equal(weighted.predict_proba(TEXTS), model.predict_proba(TEXTS))


def test_a_fitted_classifier_keeps_no_words_of_its_training_documents() -> None:
    """Pickle would write them all, as many as there are, and whatever they say."""
    model = GraftTextClassifier(LEARNER).fit([*TEXTS, "hunter2 has an unlucky secret"], [*LABELS, LABELS[0]])
    assert not model.get_feature_names_out()[0].startswith("hunter")
    assert b"hunter2" not in pickle.dumps(model)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_predict_the_same(copied):
    model = fitted(["word", "char"])
    assert model.predict(TEXTS).tolist() == copied(model).predict(TEXTS).tolist()
    np.testing.assert_array_equal(model.predict_proba(TEXTS), copied(model).predict_proba(TEXTS))


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ("a text", ["x"], "Iterable over raw text documents expected, string object received"),
        (b"bytes", ["x"], "Iterable over raw text documents expected"),
        (None, ["x"], "Documents must be a list or a column of texts"),
        (3, ["x"], "Documents must be a list or a column of texts"),
        ([b"bytes", "text"], ["x", "y"], "Document 0 must be a string, but is b'bytes'.*analyzer='byte'"),
        ([["a", "b"]] * 2, ["x", "y"], r"Document 0 must be a string, but is \['a', 'b'\] \(list\)\. Give its text"),
        ([spacy.blank("en")("a b")] * 2, ["x", "y"], r"must be a string, but is a b \(Doc\)\. Give its text"),
        ([1, 2], ["x", "y"], r"must be a string, but is 1 \(int\)\. .* an analyzer that reads it: 'integer'"),
        (["text", float("nan")], ["x", "y"], "Document 1 must be a string, but is nan"),
        (["text", None], ["x", "y"], "Document 1 must be a string, but is None"),
        (pd.Series(["text", pd.NA], dtype="string"), ["x", "y"], "Document 1 must be a string, but is <NA>"),
        (pd.DataFrame({"a": TEXTS, "b": TEXTS}), LABELS, "Document 0 must be a string"),
        ("text", "x", "Iterable over raw text documents expected"),
        (TEXTS, ["x", None] * 30, "Input y contains NaN"),
        (TEXTS, np.array(["x", np.nan] * 30, object), "Input y contains NaN"),
        (TEXTS, pd.Series(["x", pd.NA] * 30, dtype="string"), "Input y contains NaN"),
        (TEXTS, [float("inf")] * 60, "Input y contains infinity"),
        (np.eye(2), [0, 1], "Document 0 must be a string"),
        (TEXTS, LABELS[1:], "There are 60 documents, but 59 labels"),
        (TEXTS, None, "requires y to be passed, but the target y is None"),
        (TEXTS, [float("nan")] * 60, "Input y contains NaN"),
        (TEXTS, [None] * 60, "Input y contains NaN"),
        (TEXTS, np.linspace(0, 1, 60), "Unknown label type: continuous"),
        (TEXTS, ["x"] * 60, "at least 2 different labels, but has 'x'.*one class"),
        (TEXTS, np.zeros((60, 2, 2)), "y should be a 1d array"),
        (TEXTS, np.arange(120).reshape(60, 2), "a matrix of zeros and ones, .* document 1 has 2 in column 0"),
        (TEXTS, np.array([[0, 1], [1, np.nan]] * 30), "a matrix of zeros and ones, .* document 1 has nan in column 1"),
        ([""] * 4, [0, 1] * 2, "empty vocabulary"),
        ([], [], "at least 2 different labels, but has none"),
    ],
)  # fmt: skip
def test_what_cannot_be_learnt_from_is_refused(X, y, message):
    with pytest.raises(ValueError, match=message):
        GraftTextClassifier(LEARNER).fit(X, y)


@pytest.mark.parametrize("one", [1, True, 1.0, np.int64(1)])
def test_mappings_of_labels_to_ones_and_zeros_are_collections(one):
    """As components of a pipeline have them."""
    sets = [[label] if i % 4 else [] for i, label in enumerate(LABELS)]
    mappings = [{label: one if label in found else 0 for label in set(LABELS)} for found in sets]
    models = [GraftTextClassifier(LEARNER, multilabel=True).fit(TEXTS, y) for y in (sets, mappings)]
    assert models[0].classes_.tolist() == models[1].classes_.tolist() == sorted(set(LABELS))
    np.testing.assert_array_equal(*(model.predict_proba(TEXTS) for model in models))
    assert models[1].score(TEXTS, mappings) == models[1].score(TEXTS, sets)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"x": 0.7}, "that of document 1 has 0.7 for 'x'"),
        ({"x": None}, "that of document 1 has None for 'x'"),
        ({"x": np.complex128(1)}, r"that of document 1 has np.complex128\(1\+0j\) for 'x'"),
        ("x", "that of document 1 is 'x'"),
        (b"x", "that of document 1 is b'x'"),
        (None, "that of document 1 is None"),
        (3, "that of document 1 is 3"),
        ([None], "a label of document 1 is missing"),
        (["x", float("nan")], "a label of document 1 is missing"),
        ([0.5], "Document 1 has 0.5"),
        ([["x"]], "Labels must be hashable"),
        (np.array("x"), "that of document 1 is array"),
    ],
)
def test_what_is_no_collection_of_labels(wrong, message):
    with pytest.raises(ValueError, match=message):
        GraftTextClassifier(LEARNER, multilabel=True).fit(TEXTS[:3], [["x"], wrong, ["y"]])


def test_mappings_are_for_several_labels():
    with pytest.raises(ValueError, match=r"y has a dict\. With multilabel=True it has any number"):
        GraftTextClassifier(LEARNER).fit(TEXTS[:2], [{"x": 1, "y": 0}, {"x": 0, "y": 1}])


def test_a_document_of_another_kind_is_numbered_among_all(monkeypatch):
    monkeypatch.setattr("spacy_graft.extract.texts.BATCH", 20)
    with pytest.raises(ValueError, match=r"Document 37 must be a string, but is nan\. Leave it out"):
        GraftTextClassifier(LEARNER).fit([*TEXTS[:37], float("nan"), *TEXTS[38:]], LABELS)
    with pytest.raises(ValueError, match="Document 9 must be a string"):
        fitted().predict([*TEXTS[:9], None])
    weights = np.arange(len(TEXTS)) % 2
    with pytest.raises(ValueError, match="Document 37 must be a string") as caught:
        GraftTextClassifier(LEARNER).fit([*TEXTS[:37], None, *TEXTS[38:]], LABELS, sample_weight=weights)
    with pytest.raises(ValueError, match="Document 60 must be a string"):
        GraftTextClassifier(LEARNER).fit([*TEXTS, None], LABELS)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # as from other processes
    with pytest.raises(ValueError, match="Document 4 must be a sequence of integers"):
        GraftTextClassifier(LEARNER, analyzer="integer").fit([[1, 2]] * 4 + [["a"]], [0, 1, 0, 1, 0])
    with pytest.raises(ValueError, match="Document 4 must be bytes or a string"):
        GraftTextClassifier(LEARNER, analyzer="byte").fit([b"12"] * 4 + [3], [0, 1, 0, 1, 0])
    with pytest.raises(ValueError, match=r"Document 4 must be a sequence of integers .* but is \[\[1\], \[2, 3\]\]"):
        GraftTextClassifier(LEARNER, analyzer="integer").fit([[1, 2]] * 4 + [[[1], [2, 3]]], [0, 1, 0, 1, 0])
    with pytest.raises(ValueError, match="Document 9 must be a string"):
        fitted().predict([*TEXTS[:9], np.array("an array without length")])


@pytest.mark.parametrize("wrong", ["", "ab"])
def test_names_that_are_no_characters_are_refused_by_name(wrong):
    with pytest.raises(ValueError, match=f"single characters, but one is {wrong!r}"):
        TextCharacters().values(["x", wrong], Words())


def test_lists_of_the_labels_0_and_1_are_scored_as_they_were_trained():
    sets = [[0, 1] if label == LABELS[0] else [1] for label in LABELS]
    model = GraftTextClassifier(LEARNER, multilabel=True).fit(TEXTS, sets)
    both = [i for i, found in enumerate(sets) if len(found) == 2]
    texts = [TEXTS[i] for i in both]
    assert model.score(texts, [[0, 1]] * len(both)) == model.score(texts, [{0, 1}] * len(both))


def test_sets_have_no_order() -> None:
    texts, labels = ["good film", "bad film"], ["pos", "neg"]
    for X, y, name in ((set(texts), labels, "X"), (texts, set(labels), "y")):
        with pytest.raises(ValueError, match=f"{name} is a set, which has no order: give a list"):
            GraftTextClassifier(LEARNER).fit(X, y)


@pytest.mark.parametrize("name", ["X", "y", "sample_weight"])
def test_what_is_masked_is_no_data(name: str) -> None:
    given: dict[str, Any] = {"X": np.eye(4), "y": np.array([0, 1, 0, 1]), "sample_weight": np.ones(4)}
    model = GraftClassifier(LEARNER).fit(*map(np.ma.masked_array, given.values()))
    assert model.score(given["X"], given["y"]) >= 0.5
    given[name] = np.ma.masked_array(given[name], np.arange(given[name].size).reshape(given[name].shape) == 2)
    with pytest.raises(ValueError, match=rf"^{name} has masked values: fill them"):
        GraftClassifier(LEARNER).fit(**given)
    with pytest.raises(ValueError, match=rf"^{name} has masked values: fill them"):
        model.score(**given)


def test_the_first_missing_label_is_named() -> None:
    for missing in (pd.array([1, None] * 20, dtype="Int64"), [1.0, float("nan")] * 20, [1, None] * 20):
        for given in (missing, pd.Series(missing)):
            with pytest.raises(ValueError, match="a label of document 1 is missing"):
                GraftTextClassifier(LEARNER).fit(["a b", "c d"] * 20, given)


def test_a_single_string_is_refused_whatever_the_weights():
    with pytest.raises(ValueError, match="Iterable over raw text documents expected"):
        GraftTextClassifier(LEARNER).fit("abab", [0, 1, 0, 1], [1, 1, 1, 0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"analyzer": "chars"}, "analyzer must be one of 'char', 'char_wb'.* but is"),
        ({"analyzer": ["char", "char"]}, "analyzer must be one of"),
        ({"analyzer": []}, "analyzer must name at least one"),
        ({"analyzer": None}, r"analyzer must be one of .*, but is \[None\]"),
        ({"analyzer": len}, "must return a list of strings"),
        ({"analyzer": str.encode}, "analyzer must return strings for each document, but one is"),
        ({"analyzer": str.upper}, "analyzer must return a list of strings for each document, but returned '"),
        (
            {"analyzer": lambda text: None},
            "analyzer must return a list of strings for each document, but returned None",
        ),
        ({"analyzer": ["char", "word"], "min_df": [1, 2, 3]}, "min_df has 3 values, but there are 2 analyzers"),
        ({"analyzer": "char", "penalty_factor": [1.0, 2.0]}, "has 2 values, but there is 1 analyzer: 'char'"),
        ({"analyzer": {"char", "word"}, "min_df": [2, 3]}, "analyzer is a set, which has no order: give a list"),
        ({"min_df": 0}, "min_df must be an integer of at least 1, but is 0"),
        ({"min_df": 0.1}, "GraftTextClassifier: min_df must be an integer of at least 1, but is 0.1"),
        ({"penalty_factor": np.array([1.0, 2.0, 3.0])}, "penalty_factor has 3 values, but there are 2 analyzers"),
        ({"min_df": np.array([[2, 3], [2, 3]])}, r"min_df must be an integer of at least 1, but is \[2, 3\]"),
        ({"max_length": 0}, "max_length must be an integer of at least 1, but is 0"),
        ({"penalty_factor": -1.0}, "penalty_factor must be a number above 0, but is -1.0"),
        ({"lowercase": "yes"}, "lowercase must be true or false, but is 'yes'"),
        ({"analyzer": "byte", "lowercase": "yes"}, "lowercase must be true or false, but is 'yes'"),
        ({"analyzer": "word", "reverse_complement": 0}, "reverse_complement must be true or false, but is 0"),
        ({"multilabel": 1}, "multilabel must be true or false, but is 1"),
        ({"analyzer": "word", "reverse_complement": True}, "reverse_complement is for characters"),
        ({"learner": "liblinear"}, "learner must be a Grafting, GraftingPath or CoordinateAscent, but is 'liblinear'"),
    ],
)
def test_parameters_are_checked_when_a_fit_begins(options, message):
    model = GraftTextClassifier(**options)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(TEXTS, LABELS)


@pytest.mark.parametrize("kind", [np.array, pd.Series])
def test_parameters_of_analyzers_may_be_arrays(kind: Callable[[list[float]], Any], tmp_path: Path) -> None:
    options = {"min_df": [2, 3], "penalty_factor": [2.0, 1.0], "max_length": [3, 2]}
    expected = GraftTextClassifier(LEARNER, **options).fit(TEXTS, LABELS).predict_proba(TEXTS)
    arrays = {name: kind(values) for name, values in options.items()}
    model = clone(GraftTextClassifier(LEARNER, **arrays)).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(model.predict_proba(TEXTS), expected)
    model.min_df[:] = 7  # does not change what has been fitted
    model.save(tmp_path / "model")
    loaded = GraftTextClassifier.load(tmp_path / "model")
    assert loaded.min_df == [2, 3]
    np.testing.assert_array_equal(loaded.predict_proba(TEXTS), expected)


def test_columns_that_only_numpy_can_read_are_documents_and_labels() -> None:
    """As those of Arrow, whose own conversion refuses strings."""

    class Column:
        def __init__(self, values: list[str]) -> None:
            self.values = values

        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return np.array(self.values, object)

        def to_numpy(self) -> np.ndarray:
            raise ValueError("Needed to copy")

    model = GraftTextClassifier(LEARNER, analyzer="char").fit(Column(TEXTS), Column(LABELS))
    np.testing.assert_array_equal(model.predict_proba(Column(TEXTS)), fitted().predict_proba(TEXTS))


def test_collections_that_only_numpy_can_read_are_scored_as_they_were_trained() -> None:
    """As those of Arrow, whose lists have scalars of its own in place of strings."""

    class Column:
        def __init__(self, values: list[list[str]]) -> None:
            self.values = values

        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            values = np.empty(len(self.values), object)
            values[:] = [np.array(value, object) for value in self.values]
            return values

        def __iter__(self) -> Iterator[list[object]]:
            return iter([[object() for _ in value] for value in self.values])

    sets = [[label] if i % 4 else [] for i, label in enumerate(LABELS)]
    model = GraftTextClassifier(LEARNER, multilabel=True).fit(TEXTS, Column(sets))
    assert model.score(TEXTS, Column(sets)) == model.score(TEXTS, sets) > 0.0


def test_a_sparse_matrix_is_no_list_of_documents() -> None:
    with pytest.raises(ValueError, match="Documents must be a list or a column of texts, but are <"):
        GraftTextClassifier(analyzer="integer").fit(scipy.sparse.csr_array(np.eye(4, dtype=int)), [0, 1, 0, 1])


def test_the_default_is_words_and_characters_within_words() -> None:
    """Of a word and a part of it in the same documents, the word is selected."""
    given = {"analyzer": ["word", "char_wb"], "penalty_factor": [1.0, 1.5]}
    models = [GraftTextClassifier(LEARNER, **options).fit(TEXTS, LABELS) for options in ({}, given)]
    names = [model.get_feature_names_out().tolist() for model in models]
    assert names[0] == names[1]
    assert names[0][0].startswith("word__")
    np.testing.assert_array_equal(*(model.predict_proba(TEXTS) for model in models))
    model = GraftTextClassifier(Grafting(l1=1.0)).fit(["good", "bad"] * 10, [1, 0] * 10)
    assert {feature.block for feature in model.features()} == {"word"}


def test_characters_alone_have_the_factor_one() -> None:
    models = [GraftTextClassifier(LEARNER, analyzer="char", penalty_factor=factor) for factor in (None, 1.0)]
    np.testing.assert_array_equal(*(model.fit(TEXTS, LABELS).predict_proba(TEXTS) for model in models))


def test_two_locked_names_of_one_feature_are_refused() -> None:
    """The longer of them too: which of the two would be left was a matter of their order."""
    texts, labels = ["very good x", "very good y", "z x", "z y"] * 3, ["a", "a", "b", "b"] * 3
    for names in (("very", "very good"), ("very good", "very")):
        locked = Constraints(locked={name: {"a": 1.0} for name in names})
        model = GraftTextClassifier(Grafting(l1=0.5, constraints=locked), analyzer="word")
        with pytest.raises(ValueError, match="the same training documents and are one feature"):
            model.fit(texts, labels)
    # In one fold only, they are one feature: the points are not chosen by folds.
    texts = [f"{word} {k}" for k in range(30) for word in ("very good", "dull")] + ["it is very", "good it is"]
    labels = [("a" if "good" in text else "b") for text in texts]
    learner = GraftingPath(steps=4, constraints=Constraints(locked={"very": {"a": 0.5}, "very good": {"a": 0.7}}))
    with pytest.warns(UserWarning, match="are one feature"):
        model = GraftTextClassifier(learner, analyzer="word").fit(texts, labels)
    assert {"very", "very good"} <= {feature.text for feature in model.features()}


def test_constraints_that_deny_everything_are_named() -> None:
    learner = Grafting(l1=0.1, constraints=Constraints(deny=["*"]))
    with pytest.raises(ValueError, match=r"Lower min_df, or .* or whether the constraints deny all of it"):
        GraftTextClassifier(learner).fit(TEXTS, LABELS)


@pytest.mark.parametrize("shards", ["index", InMemory, 2])
def test_shards_are_checked_when_a_fit_begins(shards):
    with pytest.raises(ValueError, match="GraftTextClassifier: shards must be an InMemory, OnDisk or Dask, but is"):
        GraftTextClassifier().fit(TEXTS, LABELS, shards=shards)


def test_options_of_the_learner_are_parameters():
    learner = Grafting(l1=1.0)
    model = GraftTextClassifier(learner)
    assert model.get_params()["learner__l1"] == 1.0
    assert "learner__l1" not in model.get_params(deep=False)
    model.set_params(learner__l1=2.0, min_df=3)
    assert (model.learner, learner, model.min_df) == (Grafting(l1=2.0), Grafting(l1=1.0), 3)
    default = GraftingPath(steps=4, vectors_choices=(0.3, 0.03, 0.0))
    assert GraftTextClassifier().set_params(learner__steps=4).learner == default
    assert clone(model).learner == model.learner
    with pytest.raises(
        ValueError, match=r"Invalid parameter 'learner__steps' .* The options of Grafting are: \['ridge"
    ):
        model.set_params(learner__steps=4)
    search = GridSearchCV(
        make_pipeline(GraftTextClassifier(learner)), {"grafttextclassifier__learner__l1": [0.5, 99.0]}
    )
    assert search.fit(TEXTS, LABELS).best_params_ == {"grafttextclassifier__learner__l1": 0.5}


def test_what_is_not_fitted_says_so():
    model = GraftTextClassifier()
    for method in (model.predict, model.predict_proba, model.decision_function, model.explain):
        with pytest.raises(NotFittedError, match="is not fitted yet"):
            method(TEXTS)
    for attribute in ("coef_", "intercept_", "report"):
        with pytest.raises(NotFittedError):
            getattr(model, attribute)
    with pytest.raises(NotFittedError):
        model.features()
    assert not hasattr(model, "classes_")


def test_documents_of_another_kind_are_refused_in_a_prediction():
    empty = fitted(learner=Grafting(l1=1e6))
    assert empty.features() == []
    for model in (fitted(), empty):
        with pytest.raises(ValueError, match="Iterable over raw text documents expected"):
            model.predict("a text")
        with pytest.raises(ValueError, match="must be a string, but is None"):
            model.predict([None])
    assert fitted().predict([]).shape == (0,)


def test_halves_of_surrogate_pairs_are_breaks():
    texts = [text.replace("e", "\ud800") for text in TEXTS]
    model = fitted(texts=texts)
    np.testing.assert_array_equal(
        model.predict_proba(texts), model.predict_proba([text.replace("\ud800", "\0") for text in texts])
    )
    assert "\ud800" not in "".join(model.get_feature_names_out())
    for text in (texts[0], " ".join(texts)):
        assert model.explain([text])[0]._repr_html_().encode()


@pytest.mark.parametrize(
    "trained",
    [
        lambda: fitted(["word", "char_wb"], min_df=[1, 2], max_length=(None, 4)),
        lambda: fitted("byte", learner=PATH),
        lambda: fitted("char", labels=[label == "food" for label in LABELS], learner=CoordinateAscent()),
        lambda: fitted("char", labels=np.array([[label == "food", i % 2] for i, label in enumerate(LABELS)], int)),
        lambda: fitted("word", labels=[[label, "all"] for label in LABELS], multilabel=True, learner=None),
        lambda: fitted(
            "integer", [list(map(ord, text)) for text in TEXTS], np.array(LABELS, object), min_df=np.int64(2)
        ),
        lambda: fitted(
            "word", learner=replace(PATH, steps=np.int64(3), max_features=np.int32(50), ridge=np.float32(0.5))
        ),
    ],
    ids=["two", "byte", "binary", "matrix", "collections", "integer", "numpy"],
)
def test_a_saved_model_is_the_same(trained, tmp_path):
    model = trained()
    model.save(tmp_path / "model.graft")
    loaded = GraftTextClassifier.load(str(tmp_path / "model.graft"))
    texts = [list(map(ord, text)) for text in TEXTS] if model.analyzer == "integer" else TEXTS
    np.testing.assert_array_equal(loaded.predict_proba(texts), model.predict_proba(texts))
    predicted, expected = loaded.predict(texts), model.predict(texts)
    assert predicted == expected if model.multilabel else (predicted == expected).all()
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.features() == model.features()
    assert loaded.report_ == model.report_
    params = model.get_params(deep=False)
    assert loaded.get_params(deep=False) == {
        name: list(value) if isinstance(value, tuple) else value for name, value in params.items()
    }
    loaded.save(tmp_path / "again.graft")
    assert (tmp_path / "again.graft").read_bytes() == (tmp_path / "model.graft").read_bytes()


def test_a_saved_model_may_have_halves_of_surrogate_pairs(tmp_path):
    texts = [text.replace("e", "\ud800") for text in TEXTS]
    model = fitted("word", texts, labels=[label + "\udc00" for label in LABELS])
    assert any("\ud800" in name for name in model.get_feature_names_out())
    model.save(tmp_path / "model.graft")
    loaded = GraftTextClassifier.load(tmp_path / "model.graft")
    np.testing.assert_array_equal(loaded.predict_proba(texts), model.predict_proba(texts))
    assert loaded.features() == model.features()
    assert loaded.classes_.tolist() == model.classes_.tolist()


def test_what_cannot_be_saved_or_loaded(tmp_path):
    path = tmp_path / "model.graft"
    with pytest.raises(NotFittedError):
        GraftTextClassifier().save(path)
    with pytest.raises(ValueError, match=r"analyzer = .* cannot be saved: only plain values are written"):
        fitted(str.split).save(path)
    with pytest.raises(ValueError, match="Only labels that are strings or numbers can be saved"):
        fitted(labels=[(label, 1) for label in LABELS]).save(path)
    with pytest.raises(FileNotFoundError):
        GraftTextClassifier.load(path)
    fitted().save(path)
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(data), 40).tolist():
        path.write_bytes(data[:place] + bytes([data[place] ^ 1 << rng.integers(8)]) + data[place + 1 :])
        with pytest.raises(ValueError, match=r"model\.graft: The model"):
            GraftTextClassifier.load(path)
    for wrong in (b"", b"text", data[:-1], pickle.dumps(fitted())):
        path.write_bytes(wrong)
        with pytest.raises(ValueError, match="damaged"):
            GraftTextClassifier.load(path)


@pytest.mark.parametrize(
    "change",
    [
        {"class": "GraftClassifier"},
        {"labels": {"classes": ["a"], "dtype": "<U1", "exclusive": True, "matrix": ""}},
        {"labels": {"classes": ["a", "b", "c"], "dtype": "V8", "exclusive": True, "matrix": ""}},
        {"labels": {}},
        {"space": {"names": []}},
        {"params": {"analyzer": "word"}},
        {"params": {"no_such": 1}},
        {"params": {"learner": {"type": "Popen", "settings": {}}}},
        {"params": {"learner": {"type": "Grafting", "settings": {"l1": -1.0}}}},
        {"params": {"max_length": 1}},
    ],
)
def test_forged_files_are_refused(change, tmp_path):
    path = tmp_path / "model.graft"
    fitted().save(path)
    parts, _ = unseal(path.read_bytes())
    message = {**json.loads(parts["estimator"]), **change}
    path.write_bytes(seal({**parts, "estimator": json.dumps(message).encode()}))
    with pytest.raises(ValueError, match=r"model\.graft: "):
        GraftTextClassifier.load(path)


def test_copies_of_a_text_are_held_out_together() -> None:
    """Labels that have nothing to do with the texts: what is known by heart must not choose a large model."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("abcdefghijklmnopqrst"), 12)) for _ in range(60)]
    labels = rng.integers(0, 2, 60).tolist()
    model = GraftTextClassifier(GraftingPath(steps=8), analyzer="word").fit(texts * 4, labels * 4)
    assert model.report_.log_loss > 0.6


def test_texts_that_recur_are_known() -> None:
    """Short answers with a label each: held out together, they would ask for a model of nothing."""
    rng = np.random.default_rng(0)
    words = [a + b for a in "bcdfg" for b in "aeiou"]
    label_of = dict(zip(words, rng.choice(list("xyz"), len(words)), strict=True))
    texts = rng.choice(words, 400).tolist()
    model = GraftTextClassifier(analyzer="word").fit(texts, [label_of[text] for text in texts])
    assert model.score(words, [label_of[word] for word in words]) == 1.0
    assert model.predict_proba(words).max(axis=1).mean() > 0.95


@pytest.mark.parametrize(("learner", "min_df"), [(None, None), (GraftingPath(steps=6), 2)])
def test_a_rare_label_has_about_its_share_of_other_texts(learner: GraftingPath | None, min_df: int | None) -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("abcdefghijklmnopqrst"), 8)) for _ in range(1200)]
    model = GraftTextClassifier(learner, analyzer="word", min_df=min_df)
    model.fit([*texts[:1000], "u v w"], [0] * 1000 + [1])
    assert np.median(model.predict_proba(texts[1000:])[:, 1]) < 0.004


@pytest.mark.parametrize(("n", "n_folds"), [(1, 0), (4, 4)])
def test_the_report_has_the_number_of_folds(n: int, n_folds: int) -> None:
    texts = [f"{word} {i}" for i in range(n) for word in ("good", "bad")] * 2
    labels = ["+", "-"] * (2 * n)
    assert GraftTextClassifier(analyzer="word").fit(texts, labels).report_.n_folds == n_folds


def test_a_fit_that_is_over_is_finished() -> None:
    report = GraftTextClassifier().fit(TEXTS * 10, LABELS * 10).report_
    assert report.n_folds
    assert report.finished
