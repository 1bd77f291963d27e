"""Blocks of items: symbols, their places, their names, and invalid input."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import spacy
from confection import Config
from hypothesis import given
from hypothesis import strategies as st
from spacy.attrs import IDS
from spacy.strings import StringStore
from spacy.tokens import Doc, Token
from spacy.util import registry

from conftest import run
from spacy_graft.extract.arcs import HeadModifiers
from spacy_graft.extract.attributes import TokenAttributes
from spacy_graft.extract.blocks import ItemBlock
from spacy_graft.extract.columns import has_strings
from spacy_graft.extract.metadata import DocAttributes
from spacy_graft.extract.tokens import STRING_ATTRS
from spacy_graft.pipeline.registration import register_with_spacy

register_with_spacy()

YEARS = {"year": [1990, 2000]}
TOKEN_BLOCKS: list[TokenAttributes] = [
    *map(TokenAttributes, sorted(filter(None, IDS))),
    TokenAttributes("_.graft_topic", value="log_count"),
]
ARC_BLOCKS: list[HeadModifiers] = [
    HeadModifiers(),
    HeadModifiers(head=["LEMMA", "POS"], modifier=["LEMMA", "POS"], value="tf_idf"),
    HeadModifiers(head=["POS"], modifier=["POS"], relation=False),
    HeadModifiers(head=[], modifier=["LOWER", "ENT_TYPE", "TAG"]),
    HeadModifiers(head=["DEP"], modifier=[], relation=False, min_df=7),
    HeadModifiers(head=["_.graft_topic"], modifier=["_.graft_topic", "SHAPE"], penalty_factor=2.0),
]
DOC_BLOCKS: list[DocAttributes] = [
    DocAttributes(extensions=["graft_section"]),
    DocAttributes(metadata=["year", "source"]),
    DocAttributes(extensions=["graft_section"], metadata=["source", "year"], bins=YEARS),
]
BLOCKS: list[ItemBlock] = [*TOKEN_BLOCKS, *ARC_BLOCKS, *DOC_BLOCKS]

#: Values that items can be named after.
plain_values = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**20), 10**20), st.sampled_from(["", "sport", "é\n"])
)


@pytest.fixture(autouse=True, scope="module")
def extensions() -> Iterator[None]:
    Token.set_extension("graft_topic", default=None)
    Doc.set_extension("graft_section", default=None)
    yield
    Token.remove_extension("graft_topic")
    Doc.remove_extension("graft_section")


@st.composite
def parsed(draw: st.DrawFn, vocab: Any) -> Doc:
    """A document with dependency trees, projective or not, of one or more sentences, with white space and gaps."""
    n = draw(st.integers(0, 9))

    def column(options: list[Any]) -> list[Any]:
        return draw(st.lists(st.sampled_from(options), min_size=n, max_size=n))

    order = draw(st.permutations(range(n)))
    heads = list(range(n))
    for rank, token in enumerate(order):
        heads[token] = draw(st.sampled_from(order[: rank + 1]))
    labels = column(["amod", "nsubj", ""])
    doc = Doc(
        vocab,
        words=column(["film", "Dull", " ", "\n\n", "."]),
        spaces=column([True, False]),
        lemmas=column(["film", "dull", ""]),
        pos=column(["NOUN", "ADJ", ""]),
        tags=column(["NN", "JJ", ""]),
        morphs=column(["Number=Sing", "_", ""]),
        ents=column(["O", "B-PER"]),
        heads=heads,
        deps=["ROOT" if head == i else label for i, (head, label) in enumerate(zip(heads, labels, strict=True))],
    )
    for token, value in zip(doc, draw(st.lists(plain_values, min_size=n, max_size=n)), strict=True):
        token._.graft_topic = value
    doc._.graft_section = draw(plain_values)
    doc.user_data.update(draw(st.dictionaries(st.sampled_from(["source", "year"]), st.none() | st.integers())))
    return doc


docs = parsed(spacy.blank("xx").vocab)


@pytest.fixture
def review(blank) -> Doc:
    """Two sentences; "film" has a modifier, "very" a head, on the other side of a line break."""
    return Doc(
        blank.vocab,
        words=["A", "very", "\n", "dull", "film", ".", "Avoid", "it"],
        lemmas=["a", "very", "\n", "dull", "film", ".", "avoid", "it"],
        pos=["DET", "ADV", "SPACE", "ADJ", "NOUN", "PUNCT", "VERB", "PRON"],
        heads=[4, 3, 1, 4, 4, 4, 6, 6],
        deps=["det", "advmod", "dep", "amod", "ROOT", "punct", "ROOT", "dobj"],
    )


def value_of(token: Token, attr: str) -> str:
    """The value of an attribute of spaCy's own objects, empty if there is none."""
    if attr.startswith("_."):
        value = getattr(token._, attr[2:])
        return "" if value is None else str(value)
    if attr == "MORPH":
        return str(token.morph)
    return token.lang_ if attr == "LANG" else getattr(token, f"{attr.lower()}_")


def naive_attributes(doc: Doc, attr: str) -> list[tuple[str, int]]:
    """(value, token) of every token that is not white space and has a value."""
    return [(value_of(token, attr), token.i) for token in doc if not token.is_space and value_of(token, attr)]


def naive_arcs(doc: Doc, block: HeadModifiers) -> list[tuple[tuple[str, ...], int, int]]:
    """(names, head, modifier) of every token with a head."""
    found = []
    for token in doc:
        if token.head.i != token.i and not token.is_space and not token.head.is_space:
            names = [value_of(token.head, attr) for attr in block.head]
            names += [token.dep_] * block.relation
            names += [value_of(token, attr) for attr in block.modifier]
            found.append((tuple(names), token.head.i, token.i))
    return found


def all_names(block: ItemBlock, doc: Doc) -> list[tuple[str, ...]]:
    symbols = block.symbols(doc)
    assert symbols.dtype == np.uint64
    assert symbols.shape == (len(symbols), block.width)
    return [block.names(row, doc.vocab.strings) for row in symbols]


def all_places(block: ItemBlock, doc: Doc, k: int) -> list[Any]:
    places = block.places(doc)
    assert places.dtype == np.int32
    assert places.shape == (len(block.symbols(doc)), k, 2)
    return places.tolist()


@given(doc=docs, attr=st.sampled_from([*sorted(STRING_ATTRS), "_.graft_topic"]))
def test_attributes_of_tokens(doc, attr):
    block = TokenAttributes(attr)
    expected = naive_attributes(doc, attr)
    assert all_names(block, doc) == [(value,) for value, _ in expected]
    assert all_places(block, doc, 1) == [[[i, i + 1]] for _, i in expected]


@pytest.mark.parametrize(
    ("attr", "names"),
    [
        ("LENGTH", ["1", "4", "4", "4", "1", "5", "2"]),
        ("IS_ALPHA", ["1", "1", "1", "1", "0", "1", "1"]),
        ("HEAD", ["4", "2", "1", "0", "-1", "0", "-1"]),
    ],
)
def test_integers_are_values_even_if_they_are_0(review, attr, names):
    assert all_names(TokenAttributes(attr), review) == [(name,) for name in names]


def test_a_morphology_without_features_is_no_value(blank):
    doc = Doc(blank.vocab, words=["a", "b", "c"], morphs=["Number=Sing", "_", ""])
    assert all_names(TokenAttributes("MORPH"), doc) == [("Number=Sing",)]


def test_extensions_of_white_space_are_not_read(review):
    review[2]._.graft_topic = ["no item"]
    assert all_names(TokenAttributes("_.graft_topic"), review) == []


@given(doc=docs, block=st.sampled_from(ARC_BLOCKS))
def test_arcs(doc, block):
    expected = naive_arcs(doc, block)
    assert all_names(block, doc) == [names for names, _, _ in expected]
    assert all_places(block, doc, 2) == [[[head, head + 1], [token, token + 1]] for _, head, token in expected]


@given(doc=docs.filter(lambda doc: doc.has_annotation("DEP")))
def test_trees_are_accepted(doc):
    HeadModifiers(head=["_.graft_topic"], modifier=["LOWER"]).check(doc)


def test_arcs_of_two_sentences(review):
    block = HeadModifiers()
    assert [block.text(names) for names in all_names(block, review)] == [
        "head.LEMMA=film det modifier.LEMMA=a",
        "head.LEMMA=dull advmod modifier.LEMMA=very",
        "head.LEMMA=film amod modifier.LEMMA=dull",
        "head.LEMMA=film punct modifier.LEMMA=.",
        "head.LEMMA=avoid dobj modifier.LEMMA=it",
    ]
    assert block.places(review)[2].tolist() == [[4, 5], [3, 4]]


def test_arcs_that_cross(blank):
    heads = [2, 3, 2, 2]
    doc = Doc(blank.vocab, words=["a", "b", "c", "d"], heads=heads, deps=["x", "y", "ROOT", "z"])
    block = HeadModifiers(head=["ORTH"], modifier=["ORTH"])
    block.check(doc)
    assert all_names(block, doc) == [("c", "x", "a"), ("d", "y", "b"), ("c", "z", "d")]


def test_items_are_repeated(blank):
    doc = Doc(blank.vocab, words=["so", "so", "so"], heads=[2, 2, 2], deps=["dep", "dep", "ROOT"])
    assert len(TokenAttributes().symbols(doc)) == 3
    assert all_names(HeadModifiers(head=["ORTH"], modifier=["ORTH"]), doc) == [("so", "dep", "so")] * 2


def test_attributes_of_documents(blank):
    doc = blank.make_doc("Some text")
    block = DocAttributes(extensions=["graft_section"], metadata=["source", "year", "free"], bins=YEARS)
    assert all_names(block, doc) == []
    doc._.graft_section = "sport"
    doc.user_data.update({"source": None, "year": 1990, "free": True, "other": ["ignored"]})
    names = all_names(block, doc)
    assert names == [("graft_section", "sport"), ("year", "1990 <= year < 2000"), ("free", "True")]
    assert [block.text(name) for name in names] == ["graft_section=sport", "1990 <= year < 2000", "free=True"]
    assert all_places(block, doc, 0) == [[], [], []]


@given(doc=docs)
def test_attributes_of_documents_have_values(doc):
    given = {"graft_section": doc._.graft_section, "source": doc.user_data.get("source")}
    expected = [(name, str(value)) for name, value in given.items() if value not in (None, "")]
    assert all_names(DocAttributes(["graft_section"], ["source"]), doc) == expected


numbers = st.one_of(
    st.integers(-(10**20), 10**20), st.floats(allow_nan=False), st.sampled_from([0, 0.5, 1, 2.0, 1e300])
)


@given(
    edges=st.lists(numbers.filter(lambda edge: abs(edge) < float("inf")), min_size=1, max_size=5, unique=True),
    value=numbers,
    data=st.data(),
)
def test_a_number_is_in_its_bin(blank, edges, value, data):
    edges = sorted(edges)
    doc = blank.make_doc("text")
    doc.user_data["x"] = data.draw(st.sampled_from([value, *edges]))
    ((name, label),) = all_names(DocAttributes(metadata=["x"], bins={"x": edges}), doc)
    assert name == "x"
    assert eval(label, {"x": doc.user_data["x"]})


def test_names_of_bins(blank):
    block = DocAttributes(metadata=["year"], bins=YEARS)
    doc = blank.make_doc("text")
    found = []
    for year in [-float("inf"), 1989, 1989.9, 1990, np.int64(1999), np.float32(2000), 10**400]:
        doc.user_data["year"] = year
        found.append(all_names(block, doc)[0][1])
    assert found == [*["year < 1990"] * 3, *["1990 <= year < 2000"] * 2, *["2000 <= year"] * 2]


def test_scalars_of_numpy_are_values(blank):
    doc = Doc(blank.vocab, words=["a", "b", "c"])
    for token, value in zip(doc, [np.int64(3), np.bool_(False), np.str_("word")], strict=True):
        token._.graft_topic = value
    assert all_names(TokenAttributes("_.graft_topic"), doc) == [("3",), ("False",), ("word",)]


@given(doc=docs, block=st.sampled_from(BLOCKS))
def test_names_are_the_same_in_every_vocab(doc, block):
    round_trip(block, doc)


@pytest.mark.parametrize("block", BLOCKS, ids=repr)
def test_names_of_every_block_are_the_same_in_every_vocab(block, review):
    review.user_data.update({"year": 1995, "source": "paper"})
    round_trip(block, review)


def round_trip(block: ItemBlock, doc: Doc) -> None:
    symbols = block.symbols(doc)
    names = [name for row in symbols for name in block.names(row, doc.vocab.strings)]
    strings = StringStore()
    values = block.values(names, strings)
    assert values.dtype == np.uint64
    np.testing.assert_array_equal(values.reshape(-1, block.width), symbols)
    for row in values.reshape(-1, block.width):
        item = block.names(row, strings)
        assert len(item) == block.width
        assert block.text(item)


@pytest.mark.parametrize("block", BLOCKS, ids=repr)
@pytest.mark.parametrize("words", [[], ["\n", " "]], ids=["empty", "white space"])
def test_documents_without_words(blank, block, words):
    doc = Doc(blank.vocab, words=words, heads=[0] * len(words), deps=["ROOT", "dep"][: len(words)])
    assert block.symbols(doc).shape == (0, block.width)
    assert len(block.places(doc)) == 0
    if not words:
        block.check(doc)


@pytest.mark.parametrize(
    ("block", "names", "text"),
    [
        (TokenAttributes(), ["film"], "film"),
        (TokenAttributes("ORTH"), ["Film"], "Film"),
        (TokenAttributes("NORM"), ["film"], "film"),
        (TokenAttributes("LEMMA"), ["film"], "LEMMA=film"),
        (TokenAttributes("POS"), ["NOUN"], "POS=NOUN"),
        (TokenAttributes("LENGTH"), ["4"], "LENGTH=4"),
        (TokenAttributes("_.topic"), ["x"], "_.topic=x"),
        (HeadModifiers(), ["film", "amod", "dull"], "head.LEMMA=film amod modifier.LEMMA=dull"),
        (
            HeadModifiers(head=["LEMMA", "POS"], modifier=["LEMMA", "POS"]),
            ["film", "NOUN", "amod", "dull", "ADJ"],
            "head.LEMMA/POS=film/NOUN amod modifier.LEMMA/POS=dull/ADJ",
        ),
        (HeadModifiers(["POS"], ["POS"], relation=False), ["NOUN", "NOUN"], "head.POS=NOUN modifier.POS=NOUN"),
        (HeadModifiers(head=[]), ["amod", "dull"], "amod modifier.LEMMA=dull"),
        (HeadModifiers(modifier=[]), ["film", "amod"], "head.LEMMA=film amod"),
        (HeadModifiers(["_.topic", "ENT_TYPE"], []), ["x", "", "amod"], "head._.topic/ENT_TYPE=x/_ amod"),
        (DocAttributes(metadata=["section"]), ["section", "sport"], "section=sport"),
        (DocAttributes(metadata=["year"], bins=YEARS), ["year", "year < 1990"], "year < 1990"),
    ],
)
def test_text_for_display(block, names, text):
    assert block.text(names) == text


@pytest.mark.parametrize(
    ("block", "names", "message"),
    [
        (TokenAttributes("LENGTH"), ["three"], r"TokenAttributes\(attr='LENGTH'\) must be 64-bit integers: .*three"),
        (TokenAttributes("HEAD"), [str(2**63)], r"TokenAttributes\(attr='HEAD'\) must be 64-bit integers"),
        (
            TokenAttributes("POS"),
            ["NOUN", ""],
            r"\(attr='POS'\) must have values, but one name is empty",
        ),
        (HeadModifiers(), ["film", "amod"], r"HeadModifiers have 3 names each, but there are 2: \['film', 'amod'\]"),
        (DOC_BLOCKS[0], ["graft_section"], "DocAttributes have 2 names each, but there are 1"),
        (DOC_BLOCKS[1], ["year", "1", "section", "a"], "DocAttributes are of year, source, but one is of 'section'"),
        (DOC_BLOCKS[1], ["source", ""], "have values, but one of 'source' is empty"),
        (DOC_BLOCKS[2], ["year", "1995"], "Bins of 'year' are year < 1990, 1990 <= year < 2000, .*but one is '1995'"),
    ],
)
def test_invalid_names_are_rejected(block, names, message):
    with pytest.raises(ValueError, match=message):
        block.values(names, StringStore())


@pytest.mark.parametrize("attr", ["POS", "LEMMA", "TAG", "ENT_TYPE"])
def test_missing_annotation(blank, attr):
    doc = Doc(blank.vocab, words=["Some", "text"], heads=[1, 1], deps=["det", "ROOT"])
    needed = {"ENT_TYPE": "ENT_IOB"}.get(attr, attr)
    message = f"needs documents annotated with {needed}, .*'Some text'.*Add a component.*annotating_components"
    with pytest.raises(ValueError, match=rf"TokenAttributes\(attr='{attr}'\) {message}"):
        TokenAttributes(attr).check(doc)
    with pytest.raises(ValueError, match=rf"HeadModifiers\(head=\[\], modifier=\['{attr}'\]\) {message}"):
        HeadModifiers(head=[], modifier=[attr]).check(doc)


@pytest.mark.parametrize("relation", [True, False])
def test_missing_parse(blank, relation):
    block = HeadModifiers(head=["LOWER"], modifier=["LOWER"], relation=relation)
    with pytest.raises(ValueError, match=r"HeadModifiers\(.*annotated with DEP, .*'Some text'.*Add a component"):
        block.check(blank.make_doc("Some text"))


def test_heads_without_labels(blank):
    doc = blank.make_doc("Some text")
    doc[0].head = doc[1]
    assert doc[0].head == doc[0]
    block = HeadModifiers(head=["LOWER"], modifier=["LOWER"])
    with pytest.raises(ValueError, match=r"HeadModifiers\(.*has heads only: 'Some text'.*Set Token.dep_ of every"):
        block.check(doc)
    doc[0].dep_ = "dep"
    block.check(doc)
    assert all_names(block, doc) == [("text", "dep", "some")]


def test_labels_without_heads(blank):
    doc = Doc(blank.vocab, words=["Some", "text"], deps=["det", "ROOT"])
    with pytest.raises(
        ValueError, match=r"HeadModifiers\(.*has labels only: 'Some text', .*token 0 \('Some'\) is 'det'.*Set heads"
    ):
        HeadModifiers(head=["LOWER"], modifier=["LOWER"]).check(doc)


def test_a_single_token_may_have_any_label(blank):
    HeadModifiers(head=["LOWER"]).check(Doc(blank.vocab, words=["Fire"], lemmas=["fire"], deps=["nsubj"]))


@pytest.mark.parametrize(("start", "end"), [(5, 6), (7, 8), (5, 7), (2, 3)])
def test_pieces_of_sentences_may_have_no_arcs(review, start, end):
    """``Span.as_doc`` makes roots, labelled "dep", of tokens whose heads are outside the span."""
    doc = review[start:end].as_doc()
    HeadModifiers().check(doc)
    assert all_names(HeadModifiers(), doc) == []


@pytest.mark.parametrize(
    ("heads", "cycle"),
    [
        ([1, 0, 2, 2], r"2 tokens form a cycle, 'b' \(1\) → 'a' \(0\)|2 tokens form a cycle, 'a' \(0\) → 'b' \(1\)"),
        ([3, 3, 2, 1], r"2 tokens form a cycle, '[bd]' \([13]\) → '[bd]' \([13]\)"),
        ([1, 2, 3, 0], r"4 tokens form a cycle, .* → .* → .* → '[abcd]' \([0-3]\)"),
    ],
)
def test_cycles(blank, heads, cycle):
    doc = Doc(blank.vocab, words=["a", "b", "c", "d"], heads=heads, deps=["x"] * 4)
    with pytest.raises(ValueError, match=rf"HeadModifiers\(.*the heads of ({cycle}), in the document 'a b c d'.*root"):
        HeadModifiers(head=["LOWER"], modifier=["LOWER"]).check(doc)


def test_a_long_cycle_is_shortened(blank):
    n = 1000
    doc = Doc(blank.vocab, words=["x"] * n, heads=[*range(1, n), 0], deps=["dep"] * n)
    with pytest.raises(ValueError, match=r"heads of 1000 tokens form a cycle, ('x' \(\d+\) → ){10}\.\.\., in the"):
        HeadModifiers(head=["LOWER"], modifier=["LOWER"]).check(doc)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 9, 1000])
def test_deep_trees_are_no_cycles(blank, n):
    doc = Doc(blank.vocab, words=["x"] * n, heads=[0, *range(n - 1)], deps=["ROOT", *["dep"] * (n - 1)])
    block = HeadModifiers(head=["LOWER"], modifier=["LOWER"])
    block.check(doc)
    assert len(block.symbols(doc)) == n - 1


@pytest.mark.parametrize(
    "block",
    [TokenAttributes("_.nowhere"), HeadModifiers(["_.nowhere"]), DocAttributes(extensions=["nowhere"])],
    ids=repr,
)
def test_extensions_that_are_not_registered(blank, block):
    kind = "Doc" if isinstance(block, DocAttributes) else "Token"
    doc = Doc(blank.vocab, words=["a"], deps=["ROOT"], lemmas=["a"])
    for read in (block.check, block.symbols):
        with pytest.raises(
            ValueError,
            match=rf"{type(block).__name__}.*{kind} has no extension 'nowhere'.*{kind}.set_extension\('nowhere', ",
        ):
            read(doc)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (["a", "b"], r"is \['a', 'b'\] \(list\)\. It must be a string, an integer"),
        ({}, r"is {} \(dict\)\. It must be a string"),
        (b"x", r"is b'x' \(bytes\)\. It must be a string"),
        (list(range(1000)), r"is \[0, 1, 2, 3, 4, 5, \.\.\.\] \(list\)"),
        (0.5, r"is 0\.5 \(float\), but tokens rarely share a float\. Bin it"),
        (np.float32(0.5), r"is 0\.5 \(float\), .*Bin it"),
        ("a\ud800", r"has an unpaired surrogate, \\ud800 at character 1\. Leave it out"),
    ],
)
@pytest.mark.parametrize("block", [TokenAttributes("_.graft_topic"), HeadModifiers([], ["_.graft_topic"])], ids=repr)
def test_invalid_values_of_tokens(review, block, value, message):
    review[4]._.graft_topic = value
    with pytest.raises(
        ValueError,
        match=rf"{type(block).__name__}\(.*_\.graft_topic of token 4 \('film'\) of the document 'A very.*' {message}",
    ):
        block.symbols(review)


@pytest.mark.parametrize(
    ("value", "bins", "message"),
    [
        (["a"], {}, r"is \['a'\] \(list\)\. It must be a string"),
        ("\ud800", {}, r"has an unpaired surrogate, \\ud800 at character 0\. Leave it out"),
        (1.5, {}, r"is 1\.5 \(float\), but documents rarely share a float\. Choose edges of bins.*bins={'year': \["),
        (float("nan"), {}, "is NaN. Set it to None"),
        (np.float64("nan"), YEARS, "is NaN. Set it to None"),
        ("1995", YEARS, r"is '1995' \(str\), but has bins\. It must be a number"),
        (True, YEARS, r"is True \(bool\), but has bins\. It must be a number"),
    ],
)
def test_invalid_metadata(review, value, bins, message):
    review.user_data["year"] = value
    with pytest.raises(
        ValueError, match=rf"DocAttributes: doc\.user_data\['year'\] of the document 'A very.*' {message}"
    ):
        DocAttributes(metadata=["year"], bins=bins).symbols(review)


def test_invalid_values_of_documents(review):
    review._.graft_section = {"sport"}
    with pytest.raises(
        ValueError, match=r"DocAttributes: doc\._\.graft_section of the document 'A very.*' is {'sport'} \(set\)"
    ):
        DocAttributes(extensions=["graft_section"]).symbols(review)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TokenAttributes("LEMA"), "TokenAttributes: tokens have no attribute 'LEMA'; did you mean LEMMA"),
        (lambda: TokenAttributes("_."), "TokenAttributes: attribute '_.' lacks the name of a Token extension"),
        (
            lambda: TokenAttributes(value="tfidf"),
            "TokenAttributes: value must be one of binary, log_count, tf_idf, but",
        ),
        (lambda: HeadModifiers(value=["binary"]), r"HeadModifiers: value must be one of .* is \['binary'\]"),
        (lambda: HeadModifiers(modifier=["lemma"]), "HeadModifiers: tokens have no attribute 'lemma'; did you mean"),
        (
            lambda: HeadModifiers(head=["LENGTH"]),
            "HeadModifiers: the values of 'LENGTH' are integers, but must be strings. Choose one of DEP, ",
        ),
        (lambda: HeadModifiers(head="LEMMA"), "HeadModifiers: head must be a list of names, but is 'LEMMA'"),
        (lambda: HeadModifiers(modifier=None), "HeadModifiers: modifier must be a list of names, but is None"),
        (lambda: HeadModifiers(head=[""]), r"HeadModifiers: head must be a list of names, but is \[''\]"),
        (lambda: HeadModifiers([], []), r"HeadModifiers: head and modifier are both empty.*attr=\"DEP\""),
        (lambda: DocAttributes(), "DocAttributes: extensions and metadata are both empty.*metadata="),
        (lambda: DocAttributes(metadata="year"), "DocAttributes: metadata must be a list of names, but is 'year'"),
        (lambda: DocAttributes(["a"], ["b", "a"]), "DocAttributes: 'a' is named twice in extensions and metadata"),
        (
            lambda: DocAttributes(metadata=["date"], bins=YEARS),
            "DocAttributes: there are bins of 'year', which is not among extensions and metadata: date",
        ),
        (lambda: DocAttributes(metadata=["date"], bins=7), "DocAttributes: bins must be edges by name, .* but are 7"),
    ],
)
def test_invalid_settings(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    "edges", [[], [2, 1], [1, 1.0], [float("nan")], [0, float("inf")], [-float("inf"), 0], [False, 2], ["a"], "12", 7]
)
def test_invalid_edges(edges):
    with pytest.raises(ValueError, match="DocAttributes: bins of 'x' must have a list of increasing, finite numbers"):
        DocAttributes(metadata=["x"], bins={"x": edges})


@pytest.mark.parametrize("block", [TokenAttributes(), HeadModifiers(), DOC_BLOCKS[0]], ids=repr)
@pytest.mark.parametrize(
    ("option", "message"), [("min_df", "integer of at least 1"), ("penalty_factor", "number above 0")]
)
def test_limits(block, option, message):
    with pytest.raises(ValueError, match=f"{type(block).__name__}: {option} must be an? {message}, but is 0"):
        replace(block, **{option: 0})


@pytest.mark.parametrize("block", BLOCKS, ids=repr)
def test_blocks_are_values(block):
    for copy in (pickle.loads(pickle.dumps(block)), replace(block)):
        assert copy == block
        assert hash(copy) == hash(block)
    assert replace(block, min_df=99) != block
    with pytest.raises(AttributeError):
        block.min_df = 1


def test_lists_are_copied():
    attributes, edges = ["LEMMA"], [1990]
    arcs, metadata = HeadModifiers(head=attributes), DocAttributes(metadata=["year"], bins={"year": edges})
    attributes.append("POS")
    edges.append(2000)
    assert arcs == HeadModifiers(head=("LEMMA",))
    assert metadata == DocAttributes(metadata=("year",), bins={"year": (1990,)})


def test_equal_bins_have_equal_names(blank):
    blocks = [
        DocAttributes(metadata=["a", "b"], bins={"a": [1, 2.5], "b": [3]}),
        DocAttributes(metadata=["a", "b"], bins={"b": np.array([3.0]), "a": (1.0, np.float64(2.5))}),
    ]
    assert blocks[0] == blocks[1]
    assert hash(blocks[0]) == hash(blocks[1])
    assert repr(blocks[0]) == repr(blocks[1])


CONFIG = """
[features]

[features.words]
@graft_features = "spacy_graft.TokenAttributes.v1"
attr = "_.topic"
value = "tf_idf"

[features.syntax]
@graft_features = "spacy_graft.HeadModifiers.v1"
head = ["LEMMA", "POS"]
modifier = []
relation = false

[features.metadata]
@graft_features = "spacy_graft.DocAttributes.v1"
extensions = ["section"]
metadata = ["year", "score"]
min_df = 1

[features.metadata.bins]
year = [1990, 2000]
score = [0.5]
"""


def test_config():
    config = Config().from_str(CONFIG)
    expected = {
        "words": TokenAttributes("_.topic", value="tf_idf"),
        "syntax": HeadModifiers(["LEMMA", "POS"], [], relation=False),
        "metadata": DocAttributes(["section"], ["year", "score"], {"year": [1990, 2000], "score": [0.5]}, min_df=1),
    }
    assert registry.resolve(config)["features"] == expected
    filled = registry.fill(config)
    assert registry.resolve(Config().from_str(filled.to_str()))["features"] == expected


@pytest.mark.parametrize(
    "block",
    [TokenAttributes(), HeadModifiers(), DocAttributes(metadata=["year"])],
    ids=lambda block: type(block).__name__,
)
def test_config_of_defaults(block):
    section = {"@graft_features": f"spacy_graft.{type(block).__name__}.v1"}
    if isinstance(block, DocAttributes):
        section["metadata"] = ["year"]
    filled = registry.fill({"features": {"block": section}})
    resolved = registry.resolve(Config().from_str(Config(filled).to_str()))["features"]["block"]
    assert resolved == block
    assert hash(resolved) == hash(block)


@pytest.mark.parametrize("block", BLOCKS, ids=repr)
def test_only_words_have_places(review, block):
    review.user_data["year"] = 1995
    spans = {TokenAttributes: 1, HeadModifiers: 2, DocAttributes: 0}[type(block)]
    for row in all_places(block, review, spans):
        for start, end in row:
            assert end == start + 1
            assert not review[start].is_space


def test_attributes_with_strings():
    assert has_strings("_.LENGTH")
    assert has_strings("LEMMA")
    assert not has_strings("LENGTH")


@pytest.mark.slow
def test_nothing_is_compiled_at_import():
    modules = ["arcs", "attributes", "metadata"]
    imports = "; ".join(f"import spacy_graft.extract.{module}" for module in modules)
    run("-c", f"{imports}; import sys; assert 'numba' not in sys.modules")
