"""Feature blocks: symbols, their places in the text and their names."""

from __future__ import annotations

import pickle
import re
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import spacy
from hypothesis import example, given
from hypothesis import strategies as st
from spacy.attrs import IDS, LOWER
from spacy.strings import StringStore
from spacy.tokens import Doc
from spacy.util import registry

import naive_match
from conftest import run
from spacy_graft.extract import batches, spelling, streams
from spacy_graft.extract.attributes import TokenAttributes
from spacy_graft.extract.batches import TokenBatch, read_streams, small_batches
from spacy_graft.extract.blocks import NgramBlock
from spacy_graft.extract.characters import CharacterNgrams
from spacy_graft.extract.lengths import WORDS, document_length, document_lengths, reads_words
from spacy_graft.extract.letters import is_combining, words_of
from spacy_graft.extract.streams import Stream, numbers_of_texts
from spacy_graft.extract.tokens import ANNOTATIONS, STRING_ATTRS, TokenNgrams
from spacy_graft.pipeline.registration import register_with_spacy
from spacy_graft.registry import graft_features

register_with_spacy()

ATTRS = sorted(filter(None, IDS))
BLOCKS: list[NgramBlock] = [
    CharacterNgrams(),
    CharacterNgrams(lowercase=False),
    CharacterNgrams(within_words=True),
    CharacterNgrams(within_words=True, mark_capitals=True),
    *map(TokenNgrams, ATTRS),
]

#: Blocks that need no annotation.
BLOCKS_OF_BLANK = [*BLOCKS[:3], *map(TokenNgrams, ("LOWER", "ORTH", "SHAPE", "IS_SPACE", "IS_ALPHA", "LENGTH"))]


class Reversed(TokenNgrams):
    """A block of another package, with symbols of its own."""

    def symbols(self, doc: Doc) -> np.ndarray:
        return super().symbols(doc)[::-1]


#: Combining marks, right to left, beyond the basic plane, joined, growing in lower case, NUL, white space of all kinds.
TEXTS = [
    "",
    " ",
    "Hello, World!",
    "e\u0301 é ÅNGSTRÖM",
    "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "很好吃。不好",
    "👩\u200d👩\u200d👧 🇩🇪 ok",
    "İstanbul Iİİ",
    "ΟΔΟΣ ΣΑΣ",
    "a\x00b \x00",
    " two  spaces\n\n\ttab\u00a0hard\u3000wide ",
]

texts = st.one_of(st.sampled_from(TEXTS), st.text(max_size=40), st.text(alphabet="aİΣσ \n👩\u0301", max_size=20))


@pytest.fixture(scope="module")
def annotated() -> Doc:
    """A document with every attribute that a pipeline may set, some with different values."""
    doc = Doc(
        spacy.blank("xx").vocab,
        words=["The", "cats", "\n", "sat", "."],
        spaces=[True, False, False, False, False],
        tags=["DT", "NNS", "_SP", "VBD", "."],
        pos=["DET", "NOUN", "SPACE", "VERB", "PUNCT"],
        morphs=["Definite=Def", "Number=Plur", "", "Tense=Past", ""],
        lemmas=["the", "cat", "\n", "sit", "."],
        heads=[1, 3, 1, 3, 3],
        deps=["det", "nsubj", "", "ROOT", "punct"],
        ents=["O", "B-ANIMAL", "O", "O", "O"],
        sent_starts=[True, False, False, False, False],
    )
    doc[1].ent_kb_id_ = "Q146"
    return doc


@given(text=texts)
@example(text="word " * 2000)
def test_characters_are_those_of_the_text(blank, text):
    doc = blank.make_doc(text)
    symbols = CharacterNgrams(lowercase=False).symbols(doc)
    assert symbols.dtype == np.uint32
    assert "".join(map(chr, symbols)) == text
    assert "".join(map(chr, CharacterNgrams().symbols(doc))) == naive_match.lower_text(doc)


@given(text=texts)
def test_the_text_of_a_document(blank, text):
    assert spelling.text_of_doc(blank.make_doc(text)) == text


@given(text=texts, lowercase=st.booleans())
def test_offsets_of_characters(blank, text, lowercase):
    doc = blank.make_doc(text)
    block = CharacterNgrams(lowercase=lowercase)
    symbols, offsets = block.symbols(doc), block.offsets(doc)
    assert offsets.shape == (len(symbols), 2)
    assert offsets.dtype == np.int32
    for symbol, (start, end) in zip(symbols, offsets, strict=True):
        place = doc.text[start:end]
        assert len(place) == 1
        assert chr(symbol) in (place.lower() + "ς" * (place == "Σ") if lowercase else place)


EVERY_CAPITAL = "".join(character for character in map(chr, range(0x20000)) if character.lower() != character)


@given(text=texts | st.text("aB. \"'İΣǅⅳⅣ1\u0301", max_size=30))
@example(text=" ".join(EVERY_CAPITAL))
@example(text="x".join(EVERY_CAPITAL))
@example(text="\"Who is NASA's iPhone McDonald? U.S. PhD O'Neill A1 ⅣI İzmir AΣ ΑΣ ǅ")
def test_marks_of_capitals(blank, text):
    doc = blank.make_doc(text)
    block = CharacterNgrams(within_words=True, mark_capitals=True)
    symbols, offsets = block.symbols(doc), block.offsets(doc)
    assert "".join(map(chr, symbols)) == naive_match.marked_words(doc)
    assert (offsets.shape, offsets.dtype) == ((len(symbols), 2), np.int32)
    # Without the marks, all is as it is without the option.
    plain = CharacterNgrams(within_words=True)
    assert re.sub("(^|\0)[⇪↕⇧]+ ", r"\1 ", "".join(map(chr, symbols))) == "".join(map(chr, plain.symbols(doc)))


def test_marks_have_the_place_of_their_first_capital(blank):
    doc = blank.make_doc('an iPhoneX "NASA\'s" McD')
    block = CharacterNgrams(within_words=True, mark_capitals=True)
    names, offsets = block.names(block.symbols(doc), doc.vocab.strings), block.offsets(doc).tolist()
    assert "".join(names) == ' an \0↕ iphonex \0⇪⇧ "nasa\'s" \0⇪⇧ mcd '
    places = [(name, doc.text[slice(*place)]) for name, place in zip(names, offsets, strict=True) if name in "⇪↕⇧"]
    assert places == [("↕", "P"), ("⇪", "N"), ("⇧", "N"), ("⇪", "M"), ("⇧", "M")]


@pytest.mark.parametrize("options", [{"lowercase": False, "within_words": True}, {}])
def test_marks_need_words_in_lower_case(options):
    with pytest.raises(ValueError, match="mark_capitals needs lowercase = true and within_words = true"):
        CharacterNgrams(mark_capitals=True, **options)


@given(text=texts, lowercase=st.booleans())
@example(text="x".join(map(chr, [*range(0x180), *range(0x1FF0, 0x2070), 0x1680, 0x3000])), lowercase=False)
def test_words_are_framed_by_spaces(blank, text, lowercase):
    doc = blank.make_doc(text)
    block = CharacterNgrams(lowercase=lowercase, within_words=True)
    symbols, offsets = block.symbols(doc), block.offsets(doc)
    words = naive_match.framed_words(doc) if lowercase else "\0".join(f" {word} " for word in text.split())
    assert "".join(map(chr, symbols)) == words
    assert offsets.shape == (len(symbols), 2)
    assert offsets.dtype == np.int32
    for symbol, (start, end) in zip(symbols.tolist(), offsets.tolist(), strict=True):
        place = doc.text[start:end]
        if symbol == ord(" "):
            assert place == ""
        else:
            assert symbol == 0 or chr(symbol) in (place.lower() + "ς" * (place == "Σ") if lowercase else place)


def test_an_ngram_of_a_word_covers_its_letters(blank):
    doc = blank.make_doc("a  good film")
    block = CharacterNgrams(within_words=True)
    assert block.names(block.symbols(doc), doc.vocab.strings)[4:10] == (" ", "g", "o", "o", "d", " ")
    offsets = block.offsets(doc)
    assert (offsets[4, 0], offsets[9, 1]) == (3, 7)


def test_a_letter_that_becomes_two_keeps_its_offset(blank):
    doc = blank.make_doc("xİy")
    assert CharacterNgrams().names(CharacterNgrams().symbols(doc), doc.vocab.strings) == ("x", "i", "\u0307", "y")
    assert CharacterNgrams().offsets(doc).tolist() == [[0, 1], [1, 2], [1, 2], [2, 3]]


def test_a_million_characters(blank):
    doc = Doc(blank.vocab, words=["x" * 999] * 1000)
    symbols = CharacterNgrams().symbols(doc)
    assert len(symbols) == len(doc.text) == 10**6
    assert set(symbols[999::1000].tolist()) == {ord(" ")}
    assert len(CharacterNgrams().offsets(doc)) == 10**6


@pytest.mark.parametrize(("lowercase", "letters_of"), [(False, spelling.as_written), (True, spelling.lower_cased)])
def test_the_spelling_cache_is_cleared_when_it_is_full(blank, monkeypatch, lowercase, letters_of):
    monkeypatch.setattr(spelling, "CAPACITY", 3)
    speller = spelling.Spelling(letters_of)
    for text in ["One two", "Three four five", "five SIX", "", "One two Three four five", "seven"] * 2:
        expected = text.lower() if lowercase else text
        tokens = TokenBatch.read([blank.make_doc(text)], CharacterNgrams.attributes)
        assert "".join(map(chr, speller.spell(tokens).symbols)) == expected
    assert speller.size == 1


def test_spelling_in_threads(blank):
    docs = [blank.make_doc(f"{text} {k}") for k in range(20) for text in TEXTS]
    block = CharacterNgrams(lowercase=False)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda doc: "".join(map(chr, block.symbols(doc))), docs))
    assert found == [doc.text for doc in docs]


@given(some=st.lists(texts, min_size=1, max_size=6))
def test_documents_read_at_once_have_the_same_symbols(blank, some):
    docs = [blank.make_doc(text) for text in some]
    blocks = [*BLOCKS_OF_BLANK, TokenAttributes(), Reversed()]
    streams = read_streams(blocks, docs)
    assert streams.keys() == set(blocks)
    for block, stream in streams.items():
        assert stream.symbols.dtype == block.dtype
        assert stream.n_documents == len(docs)
        for doc, symbols in zip(docs, np.split(stream.symbols, stream.starts[1:-1]), strict=True):
            np.testing.assert_array_equal(symbols, block.symbols(doc))


def test_annotations_are_read_at_once(annotated):
    docs = [annotated, Doc(annotated.vocab), annotated[:2].as_doc(), annotated]
    blocks = [*map(TokenNgrams, ATTRS), CharacterNgrams()]
    for block, stream in read_streams(blocks, docs).items():
        for doc, symbols in zip(docs, np.split(stream.symbols, stream.starts[1:-1]), strict=True):
            np.testing.assert_array_equal(symbols, block.symbols(doc))


def test_a_document_without_annotation_is_refused_among_others(blank, annotated):
    with pytest.raises(ValueError, match=r"annotated with LEMMA, .*'Some text'"):
        read_streams([CharacterNgrams(), TokenNgrams("LEMMA")], [annotated, blank.make_doc("Some text")])


def test_batches_are_small_and_of_one_vocab(blank, annotated, monkeypatch):
    monkeypatch.setattr(batches, "TOKENS", 4)
    docs = [blank.make_doc(text) for text in ("", "a b", "c d", "e", "f g h i j k", "", "l m n o", "")]
    assert [len(batch) for batch in small_batches(docs)] == [3, 1, 1, 3]
    assert [doc for batch in small_batches(docs) for doc in batch] == docs
    assert list(map(len, small_batches([docs[0], annotated, docs[1]]))) == [1, 1, 1]
    assert list(small_batches([])) == []


@given(text=texts)
def test_words(blank, text):
    doc = blank.make_doc(text)
    block = TokenNgrams()
    symbols = block.symbols(doc)
    assert symbols.dtype == np.uint64
    assert list(block.names(symbols, doc.vocab.strings)) == naive_match.words(doc)
    places = [doc.text[start:end].lower() for start, end in block.offsets(doc)]
    assert places == [token.text.lower() for token in doc if not token.is_space]


@pytest.mark.parametrize("block", BLOCKS, ids=repr)
def test_names_are_the_same_in_every_vocab(blank, annotated, block):
    for doc in [annotated, *map(blank.make_doc, TEXTS)]:
        symbols = block.symbols(doc)
        assert symbols.dtype == block.dtype
        assert symbols.shape == (len(block.offsets(doc)),)
        names = block.names(symbols, doc.vocab.strings)
        strings = StringStore()
        values = block.values(names, strings)
        assert values.dtype == block.dtype
        np.testing.assert_array_equal(values, symbols)
        assert block.names(values, strings) == names


@pytest.mark.parametrize("attr", sorted(STRING_ATTRS - {"LANG"}))
def test_string_attributes_have_strings(annotated, attr):
    names = TokenNgrams(attr).names(TokenNgrams(attr).symbols(annotated), annotated.vocab.strings)
    expected = [getattr(token, f"{attr.lower()}_", None) for token in annotated if not token.is_space]
    if attr == "MORPH":
        expected = [str(token.morph) or "_" for token in annotated if not token.is_space]
    assert list(names) == expected


@pytest.mark.parametrize(
    ("attr", "names"),
    [
        ("LENGTH", ("3", "4", "3", "1")),
        ("IS_ALPHA", ("1", "1", "1", "0")),
        ("HEAD", ("1", "2", "0", "-1")),
        ("SENT_START", ("1", "-1", "-1", "-1")),
    ],
)
def test_integer_attributes_have_digits(annotated, attr, names):
    assert TokenNgrams(attr).names(TokenNgrams(attr).symbols(annotated), annotated.vocab.strings) == names


def test_text_for_display():
    assert CharacterNgrams().text(("n", "o", "t", " ")) == "not "
    assert TokenNgrams().text(("not", "good")) == "not good"


@pytest.mark.parametrize(
    ("block", "names"),
    [
        (CharacterNgrams(), ("a", "bc")),
        (CharacterNgrams(), ("",)),
        (TokenNgrams("LENGTH"), ("three",)),
        (TokenNgrams("HEAD"), (str(2**63),)),
    ],
    ids=repr,
)
def test_invalid_names_are_rejected(block, names):
    with pytest.raises(ValueError, match=f"Symbols of {type(block).__name__}"):
        block.values(names, StringStore())


@pytest.mark.parametrize("block", BLOCKS, ids=repr)
def test_annotated_documents_are_accepted(annotated, block):
    block.check(annotated)


@pytest.mark.parametrize("attr", ["POS", "TAG", "LEMMA", "DEP", "MORPH", "ENT_TYPE", "HEAD"])
def test_missing_annotation(blank, attr):
    block = TokenNgrams(attr)
    with pytest.raises(
        ValueError, match=rf"{attr}.*annotated with {ANNOTATIONS[attr]}, .*'Some text'.*Add a component"
    ):
        block.check(blank.make_doc("Some text"))
    block.check(blank.make_doc(""))


def test_documents_without_entities_are_annotated_too(blank):
    doc = blank.make_doc("Nobody here")
    doc.ents = []
    TokenNgrams("ENT_TYPE").check(doc)


@pytest.mark.parametrize(
    ("attr", "hint"),
    [
        ("LEMA", "did you mean LEMMA"),
        ("lower", "did you mean LOWER"),
        ("XYZZY", "the attributes are DEP, ENT_ID"),
        (LOWER, "the attributes are DEP, ENT_ID"),
        (["LOWER"], "did you mean LOWER"),
        ("", "are"),
    ],
)
def test_unknown_attribute(attr, hint):
    for block in (TokenNgrams, TokenAttributes):
        with pytest.raises(ValueError, match=f"no attribute {re.escape(repr(attr))}; .*{hint}"):
            block(attr)


@pytest.mark.parametrize("block", [CharacterNgrams, TokenNgrams])
@pytest.mark.parametrize("option", ["min_df", "max_length"])
@pytest.mark.parametrize("value", [0, -1, 2.5])
def test_limits(block, option, value):
    with pytest.raises(
        ValueError, match=f"{block.__name__}: {option} must be an integer of at least 1, but is {value}"
    ):
        block(**{option: value})


@pytest.mark.parametrize("block", [*BLOCKS, CharacterNgrams(min_df=7, max_length=3)], ids=repr)
def test_blocks_are_values(block):
    copy = pickle.loads(pickle.dumps(block))
    assert copy == block
    assert hash(copy) == hash(block)
    with pytest.raises(AttributeError):
        block.min_df = 1


def test_config():
    config = {
        "features": {
            "words": {"@graft_features": "spacy_graft.TokenNgrams.v1", "attr": "NORM"},
            "characters": {"@graft_features": "spacy_graft.CharacterNgrams.v1", "max_length": None, "min_df": 9},
        }
    }
    blocks = registry.resolve(config)["features"]
    assert blocks == {"words": TokenNgrams("NORM"), "characters": CharacterNgrams(min_df=9)}
    assert {"spacy_graft.TokenNgrams.v1", "spacy_graft.CharacterNgrams.v1"} <= set(graft_features.get_all())


@given(some=st.lists(texts, max_size=5))
def test_document_lengths(blank, some):
    docs = [blank.make_doc(text) for text in some]
    lengths = document_lengths(Stream.join([WORDS.symbols(doc) for doc in docs], WORDS.dtype))
    assert lengths.dtype == np.float64
    assert lengths.tolist() == [max(1, len(set(naive_match.words(doc)))) for doc in docs]
    assert lengths.tolist() == [document_length(doc) for doc in docs]


def test_blocks_that_read_words():
    assert reads_words(TokenNgrams(min_df=5))
    assert not reads_words(TokenNgrams("ORTH"))
    assert not reads_words(CharacterNgrams())


@pytest.mark.slow
def test_nothing_is_compiled_at_import():
    modules = ["registry", "extract.characters", "extract.tokens", "extract.lengths", "model.sparse_linear"]
    imports = "; ".join(f"import spacy_graft.{module}" for module in modules)
    run("-c", f"{imports}; import sys; assert 'numba' not in sys.modules")


@given(
    st.lists(st.lists(st.integers(1, 9), max_size=7), min_size=1, max_size=12),
    st.lists(st.integers(0, 11), max_size=20),
    st.integers(1, 9),
    st.sampled_from([None, 2]),
)
def test_some_documents_of_a_stream(
    documents: list[list[int]], chosen: list[int], at_once: int, width: int | None
) -> None:
    """In any order and several times, however many symbols are copied at once."""
    arrays = [np.array(document, np.uint64) for document in documents]
    if width is not None:
        arrays = [np.stack([array] * width, axis=1).reshape(-1, width) for array in arrays]
    rows = [number % len(arrays) for number in chosen]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "COPIED_AT_ONCE", at_once)
        found = Stream.join(arrays, np.uint64, width).some(np.array(rows, np.int64))
    expected = Stream.join([arrays[row] for row in rows], np.uint64, width)
    np.testing.assert_array_equal(found.starts, expected.starts)
    np.testing.assert_array_equal(found.symbols, expected.symbols)
    numbers = numbers_of_texts([found], len(rows))
    assert [[one == other for other in numbers] for one in numbers] == [
        [arrays[one].tolist() == arrays[other].tolist() for other in rows] for one in rows
    ]


#: Of words, and what may end them or not.
LETTERS = "ab_1-'. \x1c\x85\u3000\u0301\u200dक\u093fΣ\ud800❤\ufe0f"


@given(st.text(st.one_of(st.sampled_from(LETTERS), st.characters(codec=None))))
@example("x" * 40 + "-" + "y")
def test_words_of_a_text(text: str) -> None:
    """They leave out white space alone, and are what their definition says of each character after another."""
    words = words_of(text)
    assert "".join(words) == "".join(text.split())
    expected: list[str] = []
    before = " "
    for character in text:
        of_letters = bool(expected) and is_letter(expected[-1][0])
        goes_on = is_combining(character) or (of_letters and is_letter(character))
        if not character.isspace() and goes_on and not before.isspace():
            expected[-1] += character
        elif not character.isspace():
            expected.append(character)
        before = character
    assert words == expected


def is_letter(character: str) -> bool:
    return character.isalnum() or character == "_"


def test_combining_characters_are_where_the_pattern_has_them() -> None:
    others = (*range(0x300), *range(0x20000, 0xE0100), *range(0xE01F0, sys.maxunicode + 1))
    assert not any(map(is_combining, map(chr, others)))
