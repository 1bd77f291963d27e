"""The thinc model: scores compared with a search for every feature, saving and loading, and damaged files."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import srsly
from hypothesis import given
from hypothesis import strategies as st
from spacy.strings import StringStore
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Adam, Linear

import naive_match
from spacy_graft.extract.blocks import NgramBlock
from spacy_graft.extract.characters import CharacterNgrams
from spacy_graft.extract.lengths import document_length
from spacy_graft.extract.terms import FeatureTerms, Term
from spacy_graft.extract.tokens import TokenNgrams
from spacy_graft.graft.solution import Solution
from spacy_graft.model.snapshot import snapshot_of_solution
from spacy_graft.model.sparse_linear import (
    SNAPSHOT,
    SparseLinear,
    SparseLinearModel,
    snapshot_of,
)
from spacy_graft.model.table import FORMAT, FeatureTable
from spacy_graft.pipeline.registration import register_with_spacy

register_with_spacy()

BLOCKS: dict[str, NgramBlock] = {
    "words": TokenNgrams(),
    "characters": CharacterNgrams(),
    "within words": CharacterNgrams(within_words=True),
    "marked capitals": CharacterNgrams(within_words=True, mark_capitals=True),
    "shapes": TokenNgrams("SHAPE", max_length=3),
}
#: By block, n-grams as names: nested, overlapping, of several scripts.
NGRAMS = {
    "words": [("not", "good"), ("good",), ("not",), ("好", "好"), ("\x00",)],
    "characters": ["good", "oo", "d", " go", "t go", "好", "好好", "👩\u200d👩", "\x00", "goods", "i\u0307"],
    "within words": [" go", "ood ", " not ", "d", " ", "t g", " 好", "i\u0307"],
    "shapes": [("xxx",), ("xxx", "xxxx"), ("Xx", ".")],
}
#: Texts of few words, in which all of them come up.
PIECES = ["not", "good", "goods", "Not", "好", "好好", "👩\u200d👩", "\x00", ".", "İ", " ", "  ", "\n", "No"]

texts = st.lists(st.sampled_from(PIECES), max_size=12).flatmap(
    lambda pieces: st.sampled_from(["", " "]).map(lambda space: space.join(pieces))
)
Features = list[tuple[str, Sequence[str]]]
ALL: Features = [(block, ngram) for block, ngrams in NGRAMS.items() for ngram in ngrams]


def make_model(
    features: Features = ALL,
    weights: np.ndarray | None = None,
    mean_scale: float = 0.0,
    blocks: dict[str, NgramBlock] = BLOCKS,
    n_labels: int = 2,
    shares: bool = False,
) -> SparseLinearModel:
    """``shares``: document lengths are made of features."""
    strings = StringStore()
    rng = np.random.default_rng(len(features))
    terms = FeatureTerms.of([(Term(block, blocks[block].values(ngram, strings)),) for block, ngram in features])
    solution = Solution(
        blocks=[block for block, _ in features],
        terms=terms,
        longest=terms,
        df=np.arange(1, len(features) + 1, dtype=np.int32),
        weights=rng.standard_normal((len(features), n_labels)) if weights is None else weights,
        intercepts=rng.standard_normal(n_labels),
        mean_scale=mean_scale,
        length_shares=0.5 + np.arange(len(features)) if shares else np.zeros(0),
    )
    model = SparseLinear(blocks)
    model.attrs[SNAPSHOT] = snapshot_of_solution(solution, model.attrs["blocks"], strings)
    return model


def new_model() -> SparseLinearModel:
    return SparseLinear(BLOCKS)


@pytest.fixture(scope="module")
def docs() -> list[Doc]:
    nlp = spacy.blank("xx")
    samples = ["Not good , not goods .", "", "No", "好 好好 👩\u200d👩", "good\n\n\x00 good İ .", "nothing"]
    return [nlp.make_doc(text) for text in samples]


@given(
    some=st.lists(texts, max_size=4),
    features=st.lists(st.sampled_from(ALL), unique_by=lambda feature: (feature[0], tuple(feature[1]))),
    mean_scale=st.sampled_from([0.0, 1.7]),
    shares=st.booleans(),
)
def test_scores(blank, some, features, mean_scale, shares):
    weights = 2.0 ** np.arange(2 * len(features)).reshape(-1, 2)
    model = make_model(features, weights, mean_scale, shares=shares)
    documents = [blank.make_doc(text) for text in some]
    symbols = {
        "words": [naive_match.words(doc) for doc in documents],
        "characters": [naive_match.lower_text(doc) for doc in documents],
        "within words": [naive_match.framed_words(doc) for doc in documents],
        "marked capitals": [naive_match.marked_words(doc) for doc in documents],
        "shapes": [[token.shape_ for token in doc if not token.is_space] for doc in documents],
    }
    columns = np.column_stack([weights, 0.5 + np.arange(len(features))])
    totals = np.zeros((len(documents), 3))
    for block in BLOCKS:
        rows = [k for k, feature in enumerate(features) if feature[0] == block]
        totals += naive_match.sums(symbols[block], [features[k][1] for k in rows], columns[rows])
    by_features = np.maximum(totals[:, 2], 1.0)
    totals = totals[:, :2]
    lengths = by_features if shares and features else [document_length(doc) for doc in documents]
    scales = mean_scale / np.sqrt(lengths) if mean_scale else np.ones(len(documents))
    expected = model.get_param("b") + np.reshape(scales, (-1, 1)) * totals
    scores = model.predict(documents)
    assert scores.dtype == np.float64
    np.testing.assert_array_equal(scores, expected)


@given(some=st.lists(texts, max_size=6), mean_scale=st.sampled_from([0.0, 1.7]), shares=st.booleans())
def test_scores_are_the_same_bits_in_any_batch(blank, some, mean_scale, shares):
    model = make_model(mean_scale=mean_scale, n_labels=3, shares=shares)
    documents = [blank.make_doc(text) for text in some]
    together = model.predict(documents)
    alone = [model.predict([doc])[0] for doc in documents]
    assert together.tobytes() == np.array(alone).tobytes()


@given(text=texts, mean_scale=st.sampled_from([0.0, 1.7]), shares=st.booleans())
def test_contributions_make_up_the_score(blank, text, mean_scale, shares):
    model = make_model(mean_scale=mean_scale, shares=shares)
    doc = blank.make_doc(text)
    features, values, weights, scale = snapshot_of(model).contributions(doc)
    np.testing.assert_array_equal(values, 1.0)
    np.testing.assert_array_equal(weights, model.get_param("W")[features])
    np.testing.assert_allclose(model.get_param("b") + scale * weights.sum(axis=0), model.predict([doc])[0])


@given(text=texts)
def test_matches(blank, text):
    model = make_model()
    doc = blank.make_doc(text)
    found = snapshot_of(model).ngram_occurrences(doc)
    expected = set()
    for name, block in BLOCKS.items():
        rows = [k for k, feature in enumerate(ALL) if feature[0] == name]
        symbols = block.names(block.symbols(doc), doc.vocab.strings)
        occurrences = naive_match.occurrences(symbols, [ALL[k][1] for k in rows])
        expected.update((rows[k], start, end) for k, start, end in occurrences)
    assert len(found) == len(expected)
    assert set(map(tuple, found.tolist())) == expected
    assert snapshot_of(model).contributions(doc)[0].tolist() == sorted({k for k, _, _ in expected})


def test_features_may_come_in_any_order(docs):
    backwards = ALL[::-1]
    model = make_model(backwards, make_model().get_param("W")[::-1])
    model.set_param("b", make_model().get_param("b"))
    np.testing.assert_allclose(model.predict(docs), make_model().predict(docs))


def test_other_vocab(docs):
    model = make_model()
    scores = model.predict(docs)
    nlp = spacy.blank("xx")
    same = [Doc(nlp.vocab, words=[t.text for t in doc], spaces=[bool(t.whitespace_) for t in doc]) for doc in docs]
    np.testing.assert_array_equal(model.predict(same), scores)
    np.testing.assert_array_equal(model.predict(docs), scores)


def test_not_initialized(docs):
    with pytest.raises(ValueError, match="no weights yet"):
        new_model().predict(docs)


def test_no_features(docs):
    model = new_model()
    model.initialize(X=docs, Y=np.zeros((1, 3)))
    np.testing.assert_array_equal(model.predict(docs), np.zeros((len(docs), 3)))
    assert snapshot_of(model).ngram_occurrences(docs[0]).shape == (0, 3)
    assert snapshot_of(model).contributions(docs[0])[0].size == 0


def test_no_documents():
    assert make_model(mean_scale=1.0).predict([]).shape == (0, 2)


def test_initialize_again(docs):
    model = make_model()
    model.initialize(X=docs)
    np.testing.assert_array_equal(model.predict(docs), make_model().predict(docs))
    model.initialize(Y=np.zeros((1, 4)))
    assert not model.predict(docs).any()


def test_gradients_change_nothing(docs):
    model = make_model()
    before = model.predict(docs)
    scores, backprop = model.begin_update(docs)
    assert backprop(np.ones_like(scores)) == []
    model.finish_update(Adam(0.1))
    np.testing.assert_array_equal(model.predict(docs), before)


def test_use_params(docs):
    model = make_model()
    before = model.predict(docs)
    with model.use_params({(model.id, "W"): np.zeros_like(model.get_param("W"))}):
        np.testing.assert_array_equal(model.predict(docs), np.tile(model.get_param("b"), (len(docs), 1)))
    np.testing.assert_array_equal(model.predict(docs), before)


@pytest.mark.parametrize("weights", [np.zeros((len(ALL) - 1, 2)), np.zeros((len(ALL), 3)), np.zeros(len(ALL))])
def test_weights_of_other_features(docs, weights):
    model = make_model()
    before = model.predict(docs)
    with pytest.raises(ValueError, match="do not belong together"):
        model.set_param("W", weights)
    np.testing.assert_array_equal(model.predict(docs), before)
    with pytest.raises(ValueError, match="do not belong together"):
        make_model(weights=weights)


def test_weights_are_copied(docs):
    weights = np.zeros((len(ALL), 2))
    model = make_model(weights=weights)
    weights += 1.0
    assert not model.get_param("W").any()


def test_annotation_is_needed_by_features_only(blank):
    blocks = {**BLOCKS, "tags": TokenNgrams("TAG")}
    doc = blank.make_doc("Not good .")
    make_model(blocks=blocks).predict([doc])
    model = make_model([*ALL, ("tags", ("DT",))], blocks=blocks)
    for use in (
        model.predict,
        lambda docs: snapshot_of(model).ngram_occurrences(docs[0]),
        lambda docs: snapshot_of(model).contributions(docs[0]),
    ):
        with pytest.raises(ValueError, match="annotated with TAG"):
            use([doc])


def test_blocks_that_are_equal(docs):
    """Two blocks over the same symbols have their own features."""
    blocks = {"some": TokenNgrams(), "others": TokenNgrams()}
    model = make_model([("some", ("good",)), ("others", ("good",))], np.array([[1.0], [2.0]]), 0.0, blocks, 1)
    assert (model.predict([docs[4]]) - model.get_param("b")).item() == pytest.approx(3.0)


# Saving and loading


def by_bytes(model: SparseLinearModel, folder: Path) -> SparseLinearModel:
    return new_model().from_bytes(model.to_bytes())


def by_disk(model: SparseLinearModel, folder: Path) -> SparseLinearModel:
    model.to_disk(folder / "model")
    return new_model().from_disk(folder / "model")


def over_another(model: SparseLinearModel, folder: Path) -> SparseLinearModel:
    other = make_model(ALL[:3], n_labels=5)
    other.predict([spacy.blank("xx").make_doc("Not good")])
    return other.from_bytes(model.to_bytes())


def by_pickle(model: SparseLinearModel, folder: Path) -> SparseLinearModel:
    return pickle.loads(pickle.dumps(model))


COPIERS = [by_bytes, by_disk, over_another, by_pickle, lambda m, _: m.copy(), lambda m, _: copy.deepcopy(m)]


@pytest.mark.parametrize("copier", COPIERS)
@pytest.mark.parametrize(("mean_scale", "shares"), [(0.0, False), (1.7, False), (1.7, True)])
def test_round_trip(docs, tmp_path, copier, mean_scale, shares):
    model = make_model(mean_scale=mean_scale, shares=shares)
    before = model.to_bytes()
    scores = model.predict(docs)
    assert model.to_bytes() == before  # what was compiled is not saved
    copied = copier(model, tmp_path)
    assert isinstance(copied, SparseLinearModel)
    assert snapshot_of(copied).matcher is not snapshot_of(model).matcher
    assert copied.predict(docs).tobytes() == scores.tobytes()
    assert copied.to_bytes() == before
    with pytest.raises(ValueError, match="read-only"):
        copied.get_param("W")[:] = 0.0
    copied.set_param("W", np.zeros_like(copied.get_param("W")))
    assert copied.predict(docs).tobytes() != scores.tobytes()
    assert model.predict(docs).tobytes() == scores.tobytes()


@pytest.mark.parametrize("copier", COPIERS)
def test_round_trip_without_weights(tmp_path, copier):
    copied = copier(new_model(), tmp_path)
    assert not copied.has_param("W")
    copied.initialize(Y=np.zeros((1, 2)))
    assert not copier(copied, tmp_path).predict([spacy.blank("xx").make_doc("text")]).any()


def test_attributes_of_others_are_saved(docs):
    model = make_model()
    model.attrs["report"] = {"rounds": 3}
    assert by_bytes(model, Path()).attrs["report"] == {"rounds": 3}


def test_can_from_bytes():
    assert new_model().can_from_bytes(make_model().to_bytes(), strict=False)


def test_table_round_trip():
    table = snapshot_of(make_model()).features
    loaded = FeatureTable.from_bytes(table.to_bytes())
    assert (loaded.blocks, loaded.ngrams, loaded.longest) == (table.blocks, table.ngrams, table.longest)
    assert loaded.ngrams[0] == ("not", "good")
    assert loaded.df.dtype == np.int32
    assert loaded.df.tolist() == table.df.tolist()
    assert loaded.n_features == len(ALL)


def test_config():
    config = {
        "model": {
            "@architectures": "spacy_graft.SparseLinear.v1",
            "blocks": {"words": {"@graft_features": "spacy_graft.TokenNgrams.v1", "attr": "NORM"}},
        }
    }
    assert registry.resolve(config)["model"].attrs["blocks"] == {"words": TokenNgrams("NORM")}


# Bytes that are no model


def refused(data: bytes, message: str = "") -> None:
    """The bytes raise a ValueError, and the model stays what it was."""
    model = make_model(ALL[:4])
    before = model.to_bytes()
    with pytest.raises(ValueError, match=message):
        model.from_bytes(data)
    assert model.to_bytes() == before
    assert gc.isenabled()


def test_truncated():
    data = make_model().to_bytes()
    for end in [*range(0, len(data), 7), len(data) - 1]:
        refused(data[:end], "cannot be read")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        b"no model",
        b"\xdd\xff\xff\xff\xff",  # a list of 2**32 - 1 entries
        b"\xdf\xff\xff\xff\xff",  # a map of as many
        b"\xc6\xff\xff\xff\xff",  # as many bytes
        b"\xdb\xff\xff\xff\xff",  # a string of as many
        b"\x91" * 100_000,  # lists in lists
        b"\x81\x90\x00",  # a list as a key
        srsly.msgpack_dumps([1, 2]),
        srsly.msgpack_dumps({"nodes": []}),
        srsly.msgpack_dumps({"nodes": [1], "attrs": [1], "params": [1], "shims": [1]}),
        srsly.msgpack_dumps({b"nd": True, b"type": "<f8", b"kind": b"", b"shape": [2**40], b"data": b""}),
        srsly.msgpack_dumps({b"nd": True, b"type": "|O", b"kind": b"", b"shape": [1], b"data": b"12345678"}),
        Linear(2, 3).initialize().to_bytes(),
        pickle.dumps(FeatureTable.empty()),
    ],
    ids=lambda data: repr(data[:8]),
)
def test_foreign(data):
    refused(data, "cannot be read")
    table = make_model().to_dict()
    table["attrs"][0]["features"] = data
    refused(srsly.msgpack_dumps(table), "cannot be read")


def edited(edit: Callable[[dict[str, Any]], Any]) -> bytes:
    message = make_model().to_dict()
    edit(message)
    return srsly.msgpack_dumps(message)


def edited_table(edit: Callable[[dict[str, Any]], Any]) -> bytes:
    message = make_model().to_dict()
    table = srsly.msgpack_loads(message["attrs"][0]["features"])
    edit(table)
    message["attrs"][0]["features"] = srsly.msgpack_dumps(table)
    return srsly.msgpack_dumps(message)


def with_nan(param: str) -> Callable[[dict[str, Any]], None]:
    def edit(message: dict[str, Any]) -> None:
        values = message["params"][0][param].copy()
        values.flat[0] = np.nan
        message["params"][0][param] = values

    return edit


def params(**new: Any) -> Callable[[dict[str, Any]], None]:
    return lambda message: message["params"][0].update(new)


def attrs(**new: Any) -> Callable[[dict[str, Any]], None]:
    return lambda message: message["attrs"][0].update({name: srsly.msgpack_dumps(value) for name, value in new.items()})


MESSAGES: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (lambda message: message.pop("shims"), "not have 'shims' of a single"),
    (lambda message: message["nodes"].append(message["nodes"][0]), "not have 'nodes' of a single"),
    (lambda message: message["nodes"][0].update(dims={"nO": 3}), "another model, 'sparse_linear'"),
    (lambda message: message["nodes"][0].update(refs={"tok2vec": 0}), "another model"),
    (lambda message: message["nodes"][0].update(refs=np.zeros(1, [("a", "<f8")])), "another model"),
    (lambda message: message["nodes"][0].pop("name"), "another model, None"),
    (lambda message: message["shims"][0].append(b"1"), "another model"),
    (lambda message: message["attrs"][0].clear(), "the wrong attributes: none"),
    (lambda message: message["attrs"][0].pop("mean_scale"), "the wrong attributes: 'features'"),
    (lambda message: message["attrs"][0].pop("vocabularies"), "the wrong attributes: 'features'"),
    (attrs(blocks={}), "the wrong attributes: .*'blocks'"),
    (attrs(snapshot=1), "the wrong attributes: .*'snapshot'"),
    (attrs(notes=[]), r"its notes are not a map by name, but \[\]"),
    (attrs(notes={1: 2}), "its notes are not a map by name"),
    (attrs(mean_scale=-1.0), "scale of document weights is -1.0"),
    (attrs(mean_scale=float("nan")), "scale of document weights is nan"),
    (attrs(mean_scale=float("inf")), "scale of document weights is inf"),
    (attrs(mean_scale="1"), "scale of document weights is '1'"),
    (attrs(length_shares=1.0), "shares of document lengths are not finite numbers of at least 0, but 1.0"),
    (attrs(length_shares=[1]), "shares of document lengths are not finite numbers"),
    (attrs(length_shares=[-1.0]), "shares of document lengths are not finite numbers"),
    (attrs(length_shares=[float("nan")] * len(ALL)), "shares of document lengths are not finite numbers"),
    (attrs(length_shares=[1.0]), r"shares of document lengths have the shape \(1,\)"),
    (lambda message: message["attrs"][0].update(mean_scale=1.0), "MessagePack"),
    (lambda message: message["attrs"][0].update(report=b"\x91"), "MessagePack"),
    (lambda message: message["params"][0].pop("b"), "parameters 'W' instead"),
    (params(V=np.zeros(2)), "parameters .*'V' instead"),
    (params(W=None), "W is not an array"),
    (params(b=None), "b is not an array"),
    (params(W=[[1.0]]), "W is not an array"),
    (params(W=np.zeros((len(ALL), 2), np.float32)), "W is not an array of 64-bit"),
    (params(b=np.zeros(2, np.int64)), "b is not an array of 64-bit"),
    (params(W=np.zeros((len(ALL) - 1, 2))), rf"{len(ALL)} features, but W has the shape \({len(ALL) - 1}, 2\)"),
    (params(W=np.zeros((len(ALL), 3))), "do not belong together"),
    (params(b=np.zeros((2, 1))), "do not belong together"),
    (with_nan("W"), "W has values that are not finite"),
    (with_nan("b"), "b has values that are not finite"),
]

TABLES: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (lambda table: table.pop("version"), "no version number"),
    (lambda table: table.update(version="1"), "no version number"),
    (lambda table: table.update(version=True), "no version number"),
    (lambda table: table.update(version=0), "no version number"),
    (lambda table: table.update(version=FORMAT + 1), "saved by a newer spacy_graft .*upgrade"),
    (lambda table: table.update(version=FORMAT - 1), "saved by an older spacy_graft .*train the model again"),
    (lambda table: table.pop("df"), "'df' .* not a list of int"),
    (lambda table: table.update(df=7), "'df' .* not a list of int"),
    (lambda table: table["df"].pop(), "differ in length"),
    (lambda table: table["blocks"].append("words"), "differ in length"),
    (lambda table: table["df"].__setitem__(0, 1.0), "'df' .* not a list of int"),
    (lambda table: table["df"].__setitem__(0, True), "'df' .* not a list of int"),
    (lambda table: table["df"].__setitem__(0, -1), "'df' .* numbers of documents"),
    (lambda table: table["df"].__setitem__(0, -(2**40)), "'df' .* numbers of documents"),
    (lambda table: table["df"].__setitem__(0, 2**31), "'df' .* numbers of documents"),
    (lambda table: table["blocks"].__setitem__(0, 1), "'blocks' .* not a list of str"),
    (lambda table: table["blocks"].__setitem__(0, "lemmas"), "block 'lemmas', but its config has only 'words', 'char"),
    (lambda table: table["ngrams"].__setitem__(0, "not"), "'ngrams' .* not a list of list"),
    (lambda table: table["ngrams"].__setitem__(0, [1]), "'ngrams' .* not a list of str"),
    (lambda table: table["ngrams"].__setitem__(0, []), "neither symbols nor members"),
    (lambda table: table["longest"].__setitem__(0, []), "neither symbols nor members"),
    (lambda table: table["longest"].__setitem__(0, None), "'longest' .* not a list of list"),
    (lambda table: table["ngrams"].__setitem__(1, table["ngrams"][0]), "a feature twice"),
    (
        lambda table: table["ngrams"].__setitem__(-1, ["x"] * 4),
        r"4 symbols in block 'shapes', .* allows 3 \(max_length",
    ),
    (lambda table: table["ngrams"].__setitem__(5, ["ab"]), "single characters, but one is 'ab'"),
    (lambda table: table["longest"].__setitem__(5, ["a", "ab"]), "single characters, but one is 'ab'"),
]


@pytest.mark.parametrize(("edit", "message"), MESSAGES)
def test_edited(edit, message):
    refused(edited(edit), message)


@pytest.mark.parametrize(("edit", "message"), TABLES)
def test_edited_table(edit, message):
    refused(edited_table(edit), message)


def test_other_blocks():
    """Names that are no numbers, numbers that are written in another way."""
    blocks = {"lengths": TokenNgrams("LENGTH")}
    data = make_model([("lengths", ("1", "12"))], blocks=blocks).to_bytes()
    SparseLinear(blocks).from_bytes(data)
    with pytest.raises(ValueError, match="block 'lengths'"):
        new_model().from_bytes(data)
    message = srsly.msgpack_loads(data)
    for names in (["one"], ["01"]):
        table = srsly.msgpack_loads(message["attrs"][0]["features"])
        table["ngrams"] = [names]
        message["attrs"][0]["features"] = srsly.msgpack_dumps(table)
        with pytest.raises(ValueError, match=r"64-bit integers|not n-grams of TokenNgrams\(attr='LENGTH'"):
            SparseLinear(blocks).from_bytes(srsly.msgpack_dumps(message))


@given(data=st.data())
def test_any_byte_changed(blank, data):
    """Either a ValueError, or a model that works."""
    good = bytearray(make_model(ALL[::3]).to_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    model = new_model()
    try:
        model.from_bytes(bytes(good))
    except ValueError:
        return
    assert model.predict([blank.make_doc("Not good 好好")]).shape[0] == 1
