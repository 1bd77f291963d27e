"""The ends of texts as symbols of n-grams."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.strings import hash_string

import spacy_graft
from spacy_graft import Grafting, GraftingPath, GraftTextClassifier
from spacy_graft.extract.characters import CharacterNgrams
from spacy_graft.extract.ends import END_KEY, TEXT_END, shown, with_ends, without_ends
from spacy_graft.extract.lengths import WORDS, document_length, document_lengths, length_of_words
from spacy_graft.extract.letters import words_of
from spacy_graft.extract.streams import Stream
from spacy_graft.extract.texts import TextBytes, TextCharacters, TextWords
from spacy_graft.extract.tokens import TokenNgrams
from spacy_graft.extract.vectors import Vectors
from spacy_graft.graft.indexing import items_of

TEXTS = ["what is it ?", "is it what ?", "what now", "now what", " what\nif", "if so , what"] * 6
#: Texts that more than their ends tell apart.
MORE = [f"{text} {'yes' if k % 2 else 'no'} then" for k, text in enumerate(TEXTS)]
LABELS = ["first", "later"] * 18
LEARNER = Grafting(l1=0.3)


def trained(features: dict[str, Any], texts: list[str] = TEXTS, learner: Any = LEARNER) -> Any:
    nlp = spacy.blank("xx")
    component: Any = nlp.add_pipe("textcat_graft", config={"features": features})
    component.learner = learner
    spacy_graft.fit(nlp, list(zip(texts, LABELS, strict=True)))
    return nlp


def words_block(**options: Any) -> dict[str, Any]:
    return {"@graft_features": "spacy_graft.TokenNgrams.v1", "min_df": 2, "ends": True, **options}


def test_tokens_have_the_hash_of_the_name():
    assert hash_string(TEXT_END) == END_KEY
    assert TEXT_END.isspace()  # so it is in no word
    assert words_of(f"a{TEXT_END}b") == ["a", "b"]


@given(st.lists(st.lists(st.integers(0, 5), max_size=4), max_size=6))
def test_each_document_that_has_symbols_has_two_more(documents):
    text = Stream.join([np.array(document, np.uint32) for document in documents], np.uint32)
    expected = [[ord(TEXT_END), *document, ord(TEXT_END)] if document else [] for document in documents]
    both = with_ends(text, ord(TEXT_END))
    assert [document.tolist() for document in both] == expected
    assert both.symbols.dtype == np.uint32
    assert [document.tolist() for document in without_ends(both)] == documents


def test_what_people_see():
    assert list(shown([TEXT_END, "what"])) == ["⊢", "what"]
    assert list(shown(["?", TEXT_END])) == ["?", "⊣"]
    assert list(shown([TEXT_END, "so", TEXT_END])) == ["⊢", "so", "⊣"]
    assert shown(["so"]) == ["so"]


@pytest.mark.parametrize("analyzer", ["word", "char"])
@pytest.mark.parametrize("learner", [LEARNER, GraftingPath(steps=4, length_normalisation=False)])
def test_ends_are_symbols_like_others(analyzer, learner):
    """The same model as where documents have these symbols."""
    of_twin: Any = "char" if analyzer == "char" else lambda text: text.split(" ") if text else []

    def framed(texts):
        symbols = [words_of(text) if analyzer == "word" else text for text in texts]
        return [
            (" " * (analyzer == "word")).join([TEXT_END, *of_text, TEXT_END]) if of_text else "" for of_text in symbols
        ]

    model = GraftTextClassifier(learner, analyzer=analyzer).fit(TEXTS, LABELS)
    texts = [*TEXTS, "", "what", "else"]
    assert any(feature.text.startswith("⊢") for feature in model.features())
    assert model.score(TEXTS, LABELS) == 1.0
    twin = GraftTextClassifier(learner, analyzer=of_twin, ends=False).fit(framed(TEXTS), LABELS)
    own, others = model._model.snapshot, twin._model.snapshot
    assert own.features.ngrams == others.features.ngrams
    np.testing.assert_array_equal(own.weights, others.weights)
    np.testing.assert_array_equal(model.decision_function(texts), twin.decision_function(framed(texts)))


def test_files_are_known_by_their_first_bytes():
    files = [b"\x7fELF\x02", b"x\x7fELF", b"\x7fELF\x01\x01", b"\x01\x7fELF\x02"] * 5
    model = GraftTextClassifier(LEARNER, analyzer="byte").fit(files, ["elf", "other"] * 10)
    assert "⊢b'\\x7f'" in {feature.text for feature in model.features()}
    assert model.predict([b"\x7fELF\x03", b"\x03\x7fELF"]).tolist() == ["elf", "other"]


def test_estimators_without_ends_cannot_tell():
    words = GraftTextClassifier(LEARNER, analyzer="word", ends=False, max_length=1)
    with pytest.warns(UserWarning, match="no features"):
        words.fit(["a b", "b a"] * 8, [0, 1] * 8)
    assert (
        GraftTextClassifier(LEARNER, analyzer="word").fit(["a b", "b a"] * 8, [0, 1] * 8).score(["a c", "c a"], [0, 1])
    )


@pytest.mark.parametrize("analyzer", ["char_wb", "integer"])
def test_readers_without_ends_ignore_the_option(analyzer):
    documents: list[Any] = TEXTS if analyzer == "char_wb" else [[k % 3, 1] for k in range(36)]
    models = [
        GraftTextClassifier(LEARNER, analyzer=analyzer, ends=ends).fit(documents, ["a", "b", "c"] * 12)
        for ends in (False, True)
    ]
    first, second = (model.get_feature_names_out().tolist() for model in models)
    assert first == second


def test_a_reverse_complement_has_no_ends():
    model = GraftTextClassifier(LEARNER, analyzer="char", reverse_complement=True).fit(["ACGG", "ACTT"] * 9, [0, 1] * 9)
    assert not any("⊢" in feature.text for feature in model.features())


def test_components_have_the_words_of_estimators():
    snapshot = spacy_graft.GraftTextClassifier(LEARNER, analyzer="word").fit(TEXTS, LABELS)._model.snapshot
    nlp = trained({"words": words_block()})
    component = nlp.get_pipe("textcat_graft")
    assert {feature.text for feature in component.features()} == {
        " ".join(shown(ngram)) for ngram in snapshot.features.ngrams
    }
    assert "⊢ what" in {feature.text for feature in component.features()}
    cats = nlp("what else").cats
    assert max(cats, key=cats.get) == "first"


@pytest.mark.parametrize("text", ["what is it ?", "  what", "", " ", "\x1e", "a \x1e b"])
@pytest.mark.parametrize(
    "block", [TokenNgrams(ends=True), CharacterNgrams(ends=True), CharacterNgrams(lowercase=False, ends=True)]
)
def test_each_symbol_has_a_place(block, text):
    doc = spacy.blank("xx")(text)
    symbols, places = block.symbols(doc), block.offsets(doc)
    assert len(symbols) == len(places)
    if len(places):
        assert places[0].tolist() == [0, 0]
        assert places[-1].tolist() == [len(text)] * 2
        assert block.names(symbols, doc.vocab.strings)[0] == TEXT_END
    assert (places[1:] >= places[:-1]).all()
    assert block.values(block.names(symbols, doc.vocab.strings), doc.vocab.strings).tolist() == symbols.tolist()


@pytest.mark.parametrize("reader", [TextCharacters(ends=True), TextBytes(ends=True), TextWords(ends=True)])
@pytest.mark.parametrize("text", ["what is it ?", "  what", "", "İ\n"])
def test_each_symbol_of_a_string_has_a_place(reader, text):
    words: Any = spacy_graft.extract.texts.Words()
    read = reader.stream([text], words, True)
    places = reader.offsets(text)
    assert len(read.symbols) == len(places)
    assert reader.values(reader.names(read.symbols, words), words).tolist() == read.symbols.tolist()


def test_ends_do_not_make_documents_longer():
    nlp = spacy.blank("xx")
    docs = [nlp(text) for text in [*TEXTS, "", " ", "what what"]]
    framed_words = [TokenNgrams(ends=True).symbols(doc) for doc in docs]
    lengths = document_lengths(Stream.join(framed_words, np.uint64)).tolist()
    assert lengths == document_lengths(Stream.join([WORDS.symbols(doc) for doc in docs], np.uint64)).tolist()
    assert lengths == list(map(document_length, docs)) == list(map(length_of_words, framed_words))


def test_ends_are_not_combined():
    nlp = spacy.blank("xx")
    streams = {"words": Stream.join([TokenNgrams(ends=True).symbols(nlp(text)) for text in TEXTS], np.uint64)}
    data: Any = SimpleNamespace(bags={}, streams=streams, min_df={"words": 1})
    bags = items_of(data, "words")
    assert sorted(nlp.vocab.strings[key] for key in bags.symbols.tolist()) == sorted(set(" ".join(TEXTS).split()))
    assert bags.n_documents == len(TEXTS)


def test_models_with_ends_are_saved_and_explained(tmp_path):
    nlp = trained(
        {"words": words_block(), "characters": {"@graft_features": "spacy_graft.CharacterNgrams.v1", "ends": True}}
    )
    nlp.to_disk(tmp_path / "model")
    loaded = spacy.load(tmp_path / "model")
    for text in ["what else ?", "else", "", "so what"]:
        assert loaded(text).cats == nlp(text).cats
    explanation = loaded.get_pipe("textcat_graft").explain(loaded("what else ?"))
    (part,) = [part for part in explanation.best.contributions if part.text == "⊢ what"]
    ((span,),) = part.members[0].places
    assert (span.start, span.end, span.first_token, span.end_token) == (0, 4, 0, 1)
    assert "⊢ what" in explanation._repr_html_()


def test_patterns_name_ends_as_people_see_them():
    learner = Grafting(l1=0.3, constraints=spacy_graft.Constraints(deny=["⊢*"]))
    for model in (
        GraftTextClassifier(learner, analyzer=["word", "char"]).fit(MORE, LABELS),
        trained({"words": words_block()}, MORE, learner).get_pipe("textcat_graft"),
    ):
        assert model.features()
        assert not any("⊢" in feature.text for feature in model.features())


@pytest.mark.parametrize(
    ("block", "options", "message"),
    [
        (TokenNgrams, {"attr": "LENGTH"}, "the values of LENGTH are integers.*Set ends = false"),
        (CharacterNgrams, {"within_words": True}, "within words do not reach the ends of a text"),
        (TokenNgrams, {"ends": "yes"}, "ends must be true or false, but is 'yes'"),
        (CharacterNgrams, {"ends": 1}, "ends must be true or false, but is 1"),
        (TextBytes, {"ends": None}, "ends must be true or false"),
    ],
)
def test_what_has_no_ends_says_so(block, options, message):
    with pytest.raises(ValueError, match=message):
        block(**{"ends": True, **options})


def test_word_vectors_have_no_ends():
    assert not hasattr(Vectors(), "ends")
