"""Files of estimators over items, texts and Docs; those of GraftTextClassifier are in test_text_classifier.py."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from spacy_graft import CoordinateAscent, GraftClassifier, Grafting, GraftingPath, GraftRanker, GraftTextClassifier
from spacy_graft.extract.characters import CharacterNgrams
from spacy_graft.extract.combinations import Combinations
from spacy_graft.extract.tokens import TokenNgrams
from spacy_graft.model.sealing import seal, unseal
from spacy_graft.model.table import pack_message, unpack_message

ITEMS = [["not", "good"], ["good"], ["not", "long"], ["long"]] * 10
LABELS = ["-", "+", "+", "-"] * 10
VALUES = np.random.default_rng(0).random((40, 5)) * (np.arange(200).reshape(40, 5) % 3 > 0)
TABLE = pd.DataFrame(VALUES, columns=list("abcde"))
TEXTS = ["not good", "good", "not long", "long, long"] * 10
GROUPS = np.repeat(np.arange(10), 4)
CORRECT = np.tile([0, 1, 0, 0], 10)
PATH = GraftingPath(steps=4, l1_min_ratio=0.05)
BLOCKS = {"words": TokenNgrams(min_df=1), "characters": CharacterNgrams(min_df=1, max_length=3)}
ITEM_BLOCKS = {"tokens": TokenNgrams(min_df=1), "pairs": Combinations(["tokens"])}


#: Labels of these items go with none of them.
pytestmark = pytest.mark.filterwarnings("ignore:The trained model has no features")


def classifier(X, **options):
    y = options.pop("y", LABELS)
    return GraftClassifier(options.pop("learner", Grafting(l1=0.1)), **options).fit(X, y)


@pytest.mark.parametrize(
    ("trained", "X"),
    [
        (lambda: classifier(ITEMS), ITEMS),
        (lambda: classifier(ITEMS, degree=2, min_df=2, combination_penalty_factor=0.5), ITEMS),
        (lambda: classifier(VALUES, learner=Grafting(l1=0.01, length_normalisation=True)), VALUES),
        (lambda: classifier(-VALUES, learner=PATH), scipy.sparse.csr_array(-VALUES)),
        (lambda: classifier(TABLE, degree=3, y=[i % 3 for i in range(40)]), TABLE),
        (lambda: classifier(VALUES, y=np.eye(4)[np.arange(40) % 4]), VALUES),
        (lambda: classifier(ITEMS, learner=CoordinateAscent(), y=[[label, "x"] for label in LABELS], multilabel=True),
         ITEMS),
        (lambda: classifier(ITEMS, learner=Grafting(l1=1e6)), ITEMS),
        (lambda: classifier([["\ud800"], ["good"]] * 20, degree=2), [["\ud800"]]),
        (lambda: classifier(ITEMS, y=np.array(LABELS, np.dtypes.StringDType())), ITEMS),
    ],
    ids=["items", "combinations", "lengths", "path", "table", "matrix", "collections", "empty", "surrogate", "strings"],
)  # fmt: skip
def test_a_saved_classifier_is_the_same(trained, X, tmp_path):
    model = trained()
    model.save(tmp_path / "model.graft")
    loaded = GraftClassifier.load(tmp_path / "model.graft")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.features() == model.features()
    assert loaded.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
    assert [loaded.get_params(), loaded.report_] == [model.get_params(), model.report_]
    assert loaded.classes_.dtype == model.classes_.dtype
    for attribute in ("n_features_in_", "feature_names_in_"):
        assert np.array_equal(getattr(loaded, attribute, None), getattr(model, attribute, None))
    loaded.save(tmp_path / "again.graft")
    assert (tmp_path / "again.graft").read_bytes() == (tmp_path / "model.graft").read_bytes()


@pytest.mark.parametrize(
    ("X", "options"),
    [
        (ITEMS, {"degree": 2}),
        (TABLE, {}),
        (TEXTS, {"blocks": BLOCKS}),
        (TEXTS, {"blocks": ITEM_BLOCKS, "learner": PATH}),
    ],
    ids=["items", "table", "texts", "combinations"],
)
def test_a_saved_ranker_is_the_same(X, options, tmp_path):
    model = GraftRanker(**{"learner": Grafting(l1=0.1), **options}).fit(X, CORRECT, GROUPS)
    assert model.features()
    model.save(tmp_path / "model.graft")
    loaded = GraftRanker.load(tmp_path / "model.graft")
    np.testing.assert_array_equal(loaded.predict_proba(X, GROUPS), model.predict_proba(X, GROUPS))
    assert loaded.features() == model.features()
    assert loaded.explain(X, GROUPS) == model.explain(X, GROUPS)
    assert [loaded.get_params(), loaded.report_] == [model.get_params(), model.report_]
    assert getattr(loaded, "n_features_in_", None) == getattr(model, "n_features_in_", None)
    loaded.save(tmp_path / "again.graft")
    assert (tmp_path / "again.graft").read_bytes() == (tmp_path / "model.graft").read_bytes()


class Words(TokenNgrams):
    """A block of another package."""


def test_files_have_the_parameters_of_the_fit(tmp_path):
    """What has been set since would read documents in another way, or not go with the model."""
    path, model = tmp_path / "model.graft", classifier(ITEMS, degree=2)
    model.set_params(degree=1, learner__l1=9.0).save(path)
    loaded = GraftClassifier.load(path)
    np.testing.assert_array_equal(loaded.predict_proba(ITEMS), model.predict_proba(ITEMS))
    assert (loaded.degree, loaded.learner.l1) == (2, 0.1)
    loaded.set_params(degree=1).save(path)
    assert GraftClassifier.load(path).degree == 2
    blocks = dict(BLOCKS)
    of_texts = GraftRanker(Grafting(l1=0.1), blocks=blocks).fit(TEXTS, CORRECT, GROUPS)
    blocks["more"] = CharacterNgrams(max_length=2)
    of_texts.save(path)
    assert set(GraftRanker.load(path).blocks) == set(BLOCKS)
    ranker = GraftRanker(Grafting(l1=0.1), degree=2).fit(ITEMS, CORRECT, GROUPS)
    ranker.set_params(degree=1).save(path)
    np.testing.assert_array_equal(GraftRanker.load(path).decision_function(ITEMS), ranker.decision_function(ITEMS))


def test_labels_that_a_file_would_change_are_refused(tmp_path):
    days = np.array(["2020-01-01", "2021-01-01"] * 20)
    for kind in ("datetime64[ns]", "datetime64[D]"):
        model = classifier(ITEMS, y=days.astype(kind))
        with pytest.raises(ValueError, match="Only labels that are strings or numbers can be saved"):
            model.save(tmp_path / "model.graft")


def test_a_name_that_ends_in_gz_is_a_name(tmp_path):
    model = classifier(ITEMS)
    model.save(tmp_path / "model.gz")
    np.testing.assert_array_equal(GraftClassifier.load(tmp_path / "model.gz").predict(ITEMS), model.predict(ITEMS))


def test_numbers_of_numpy_in_settings_are_saved(tmp_path):
    blocks = {"words": TokenNgrams(min_df=np.int64(2), penalty_factor=np.float32(1.5))}
    GraftRanker(Grafting(l1=np.float64(0.5)), blocks=blocks).fit(TEXTS, CORRECT, GROUPS).save(tmp_path / "model")
    assert GraftRanker.load(tmp_path / "model").blocks == {"words": TokenNgrams(min_df=2, penalty_factor=1.5)}


def test_what_cannot_be_saved(tmp_path):
    path = tmp_path / "model.graft"
    with pytest.raises(ValueError, match=r"blocks\['own'\] = .* cannot be saved: only plain values"):
        GraftRanker(blocks={"own": Words(min_df=1)}).fit(TEXTS, CORRECT, GROUPS).save(path)
    with pytest.raises(ValueError, match="Only labels that are strings or numbers can be saved"):
        classifier(ITEMS, y=[(label, 1) for label in LABELS]).save(path)
    assert not path.exists()


def test_blocks_may_be_named_like_the_parts_of_settings(tmp_path):
    blocks = {"type": TokenNgrams(min_df=1), "settings": TokenNgrams("NORM", min_df=1)}
    model = GraftRanker(Grafting(l1=0.1), blocks=blocks).fit(TEXTS, CORRECT, GROUPS)
    model.save(tmp_path / "model.graft")
    assert GraftRanker.load(tmp_path / "model.graft").blocks == blocks


def test_a_file_of_another_estimator_is_named(tmp_path):
    path = tmp_path / "model.graft"
    classifier(ITEMS).save(path)
    with pytest.raises(ValueError, match=r"model\.graft: The file holds a 'GraftClassifier', but a 'GraftRanker' is"):
        GraftRanker.load(path)


@pytest.mark.parametrize(
    "change",
    [
        {"class": "GraftRanker"},
        {"labels": {}},
        {"labels": {"classes": [-1, "-"], "dtype": "<U1", "exclusive": True, "matrix": ""}},
        {"space": {}},
        {"space": {"names": ["not", "good"], "of_matrix": False, "columns": []}},
        {"space": {"names": ["not", "good", "long", "good"], "of_matrix": False, "columns": []}},
        {"space": {"names": ["not", "good", "long"], "of_matrix": True, "columns": ["a"]}},
        {"space": {"names": ["not", "good", 3], "of_matrix": False, "columns": []}},
        {"params": {"degree": 1}},
        {"params": {"degree": 2, "learner": {"type": "Popen", "settings": {"args": "ls"}}}},
        {"params": {"degree": 2, "learner": {"type": ["Grafting"], "settings": {}}}},
    ],
)
def test_altered_files_are_refused(change, tmp_path):
    path = tmp_path / "model.graft"
    classifier(ITEMS, degree=2).save(path)
    data = path.read_bytes()
    parts, _ = unseal(data)
    message = {**json.loads(parts["estimator"]), **change}
    path.write_bytes(seal({**parts, "estimator": json.dumps(message).encode()}))
    with pytest.raises(ValueError, match=r"model\.graft: "):
        GraftClassifier.load(path)
    for place in range(0, len(data), 97):
        path.write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        with pytest.raises(ValueError, match=r"model\.graft: The model"):
            GraftClassifier.load(path)
    path.write_bytes(pickle.dumps(print))
    with pytest.raises(ValueError, match="damaged"):
        GraftClassifier.load(path)


@pytest.mark.parametrize(
    ("estimator", "documents", "message"),
    [
        (GraftTextClassifier(Grafting(l1=0.1), analyzer="byte"), TEXTS, "two hexadecimal digits"),
        (GraftClassifier(Grafting(l1=0.1)), ITEMS, "an item of block .* has two names"),
    ],
)
def test_longest_names_that_are_none_are_refused(estimator, documents, message, tmp_path):
    """They are shown only, so that the model would predict, and its features could not be listed."""
    path = tmp_path / "model.graft"
    estimator.fit(documents, ["+", "+", "-", "-"] * 10).save(path)
    parts, _ = unseal(path.read_bytes())
    model = unpack_message(parts["model"])
    table = unpack_message(model["features"])
    table["longest"][0] = [*table["longest"][0], "xyz"]
    path.write_bytes(seal({**parts, "model": pack_message({**model, "features": pack_message(table)})}))
    with pytest.raises(ValueError, match=rf"model\.graft: .*{message}"):
        type(estimator).load(path)


def test_a_folder_is_no_estimator(tmp_path):
    with pytest.raises(ValueError, match=r"is a folder, but estimators are files\. spacy\.load"):
        GraftClassifier.load(tmp_path)
