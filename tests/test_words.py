"""Contributions summed over words and phrases."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.vocab import Vocab

import spacy_graft
from spacy_graft import Grafting, GraftTextClassifier
from spacy_graft.explain.contributions import Contribution, Member, Span, non_empty_spans
from spacy_graft.explain.explanation import segmented_doc
from spacy_graft.explain.words import MIN_PHRASE_SHARE, SegmentedText, segmented, with_pieces, word_evidence

TEXT = "ab cde  f, gh IJ ab."


def contribution(name: str, amount: float, *places: Sequence[tuple[int, int]], kind: str = "n-gram") -> Contribution:
    spans = tuple(tuple(Span(start, end, 0, 0) for start, end in place) for place in places)
    return Contribution(name, "block", kind, amount, 1.0, amount, (Member(name, "block", kind, spans),))


def found(text: str, *parts: Contribution) -> dict[str, float]:
    return {row.text: round(row.contribution, 9) for row in word_evidence(segmented(text), parts)}


@st.composite
def contributions(draw: st.DrawFn) -> list[Contribution]:
    """Places of one span or of two, which may be empty, overlap, or be of white space alone."""
    span = st.tuples(st.integers(0, len(TEXT)), st.integers(0, len(TEXT))).map(lambda ends: (min(ends), max(ends)))
    place = st.lists(span, min_size=1, max_size=2)
    amounts = draw(st.lists(st.floats(-1e3, 1e3).filter(lambda x: x == 0.0 or abs(x) > 1e-9), max_size=8))
    return [
        contribution(f"f{k}", amount, *draw(st.lists(place, max_size=3))) for k, amount in enumerate(amounts) if amount
    ]


@given(contributions())
def test_words_sum_to_the_contributions(parts: list[Contribution]) -> None:
    rows = word_evidence(segmented(TEXT), parts)
    total = math.fsum(abs(part.contribution) for part in parts)
    close = pytest.approx(math.fsum(part.contribution for part in parts), abs=1e-12 * total)
    assert math.fsum(row.contribution for row in rows) == close
    of_feature: defaultdict[str, list[float]] = defaultdict(list)
    for row in rows:
        assert row.contribution == math.fsum(share for _, share in row.parts)
        assert all(place in {(m.start(), m.end()) for m in re.finditer(re.escape(row.text), TEXT, re.IGNORECASE)}
                   for place in row.places)  # fmt: skip
        for part, share in row.parts:
            of_feature[part.text].append(share)
    for part in parts:
        assert math.fsum(of_feature[part.text]) == pytest.approx(part.contribution, rel=1e-12)
    assert [abs(row.contribution) for row in rows] == sorted((abs(row.contribution) for row in rows), reverse=True)
    places = sorted(place for row in rows for place in row.places)
    assert all(before[1] <= after[0] for before, after in pairwise(places))


@given(contributions())
def test_shares_are_those_of_the_characters(parts: list[Contribution]) -> None:
    """Character by character, for the words that no phrase joins."""
    source = segmented(TEXT)
    expected: defaultdict[tuple[int, int], list[float]] = defaultdict(list)
    for part in parts:
        characters = [char for start, end in non_empty_spans(part) for char in range(start, end)]
        inside = [(s, e) for char in characters for s, e in source.words.tolist() if s <= char < e]
        for word in inside:
            expected[word].append(part.contribution / len(inside))
    total = math.fsum(abs(part.contribution) for part in parts)
    for row in word_evidence(source, parts):
        for start, end in row.places:
            assert TEXT[start:end].strip() == TEXT[start:end]
        if row.places:
            words = [word for s, e in row.places for word in expected if s <= word[0] < e]
            amounts = math.fsum(share for word in words for share in expected[word])
            assert row.contribution == pytest.approx(amounts, abs=1e-12 * total)


def test_fragments_add_up_in_their_word() -> None:
    text = "an excellent film"
    parts = [
        contribution(piece, 0.5, [re.search(piece, text).span()]) for piece in ("cel", "xcel", "elle", "lent", "fi")
    ]  # type: ignore[union-attr]
    assert found(text, *parts) == {"excellent": 2.0, "film": 0.5}


def test_an_ngram_of_several_words_makes_a_phrase_if_it_is_strong() -> None:
    text = "it is not good."
    good, weak = contribution("good", 0.8, [(10, 14)]), contribution("is not", 0.3, [(3, 9)])
    rows = found(text, contribution("not good", -1.2, [(6, 14)]), good, weak)
    # "is not" covers two characters of "is" and three of the phrase.
    assert rows == {"not good": round(-1.2 + 0.8 + 0.3 * 3 / 5, 9), "is": 0.12}
    # Weaker than half of what "good" has alone: a share by characters.
    rows = found(text, contribution("not good", -0.35, [(6, 14)]), good)
    assert rows == {"good": round(0.8 - 0.35 * 4 / 7, 9), "not": -0.15}
    assert MIN_PHRASE_SHARE == 0.5


def test_head_and_modifier_beside_each_other_are_a_phrase() -> None:
    text = "would not recommend it"
    near = contribution("recommend → not", 1.2, [(10, 19), (6, 9)], kind="head–modifier")
    assert found(text, near) == {"not recommend": 1.2}
    far = contribution("recommend → would", 1.4, [(10, 19), (0, 5)], kind="head–modifier")
    assert found(text, far) == {"recommend": 0.9, "would": 0.5}


def test_tokens_within_a_word_are_joined() -> None:
    doc = spacy.blank("en")("It isn't good, we're gonna go... (can't)")
    source = segmented_doc(doc)
    words = [doc.text[start:end] for start, end in source.words.tolist()]
    assert words == ["It", "isn't", "good", ",", "we're", "gonna", "go", "...", "(", "can't", ")"]
    parts = [
        contribution("n't good", -1.0, [(5, 13)]),
        contribution("we", 0.5, [(15, 17)]),
        contribution("ca", 0.5, [(34, 36)]),
    ]
    rows = {row.text: row.contribution for row in word_evidence(source, parts)}
    assert rows == {"isn't good": -1.0, "we're": 0.5, "can't": 0.5}
    assert [len(segmented_doc(spacy.blank("zh")(text)).words) for text in ("很好", "", "A好")] == [2, 0, 2]
    assert segmented_doc(spacy.blank("en")(" ")).words.shape == (0, 2)


def test_words_that_differ_in_case_are_one_row() -> None:
    (row,) = word_evidence(segmented("Salt or salt"), [contribution("salt", 1.0, [(0, 4)], [(8, 12)])])
    assert (row.text, row.places, row.contribution) == ("Salt", ((0, 4), (8, 12)), 1.0)


def test_words_that_the_model_tells_apart_are_rows_of_their_own() -> None:
    assert len(word_evidence(segmented("Maße und Masse"), [contribution("x", 1.0, [(0, 4)], [(9, 14)])])) == 2
    texts, labels = ["us now", "US now", "us here", "US here"] * 5, ["a", "b"] * 10
    learner = Grafting(l1=0.1)
    for analyzer in ("word", str.split):
        model = GraftTextClassifier(learner, analyzer=analyzer, lowercase=False).fit(texts, labels)
        rows = {row.text: row.contribution for row in model.explain(["us in US"])[0].best.words}
        assert rows["us"] == pytest.approx(-rows["US"])
        assert abs(rows["us"]) > 1.0
    same, other = ("US x", "Us y", "x z", "y z"), ("US x", "US y", "Us x", "Us y")
    for attr, texts, names in (("LOWER", same, {"Us"}), ("SHAPE", other, {"Us", "US"}), ("ORTH", other, {"Us", "US"})):
        nlp = spacy.blank("en")
        words = {"@graft_features": "spacy_graft.TokenNgrams.v1", "attr": attr, "min_df": 1, "max_length": 1}
        component = nlp.add_pipe(
            "textcat_graft",
            config={"features": {"words": words}, "learner": {"@graft_learners": "spacy_graft.Grafting.v1", "l1": 0.1}},
        )
        spacy_graft.fit(nlp, list(zip(texts, "aabb", strict=True)) * 3)
        found = component.explain(nlp("Us so US")).best.words  # type: ignore[attr-defined]
        assert {row.text for row in found if row.text in ("Us", "US")} == names


def test_features_without_a_word_keep_their_names() -> None:
    parts = [contribution("source=blog", 0.5, kind="document attribute"), contribution("  ", 0.25, [(6, 8)])]
    rows = word_evidence(segmented(TEXT), parts)
    assert [(row.text, row.places, row.contribution) for row in rows] == [("source=blog", (), 0.5), ("  ", (), 0.25)]
    assert word_evidence(segmented(""), parts[:1]) == rows[:1]


def test_segments_of_a_text() -> None:
    def words(text: str) -> list[str]:
        return [text[start:end] for start, end in segmented(text).words.tolist()]

    assert words('He said: "don\'t!" (twice)') == ["He", "said", ":", '"', "don't", "!", '"', "(", "twice", ")"]
    assert words("我在ABC上, ไป हिन्दी עִבְרִית") == ["我", "在", "ABC", "上", ",", "ไ", "ป", "हिन्दी", "עִבְרִית"]
    assert words("") == words(" \n") == []
    # Combining characters belong to the one before them: vowel signs, variation selectors, joiners, accents.
    assert words("ร้านดี a❤️, か\u3099x") == ["ร้", "า", "น", "ดี", "a", "❤️", ",", "か\u3099", "x"]
    assert words("❤️ a ❤️") == ["❤️", "a", "❤️"]
    assert words("👩\u200d💻 \u0301 \u0301a") == ["👩\u200d", "💻", "\u0301", "\u0301a"]
    assert words("x\u0e31") == ["x\u0e31"]
    doc = Doc(Vocab(), ["❤", "\ufe0f", "ok"], spaces=[False, True, False])
    assert [doc.text[start:end] for start, end in segmented_doc(doc).words.tolist()] == ["❤️", "ok"]


def test_ngrams_make_words_of_chinese() -> None:
    text = "这部电影很精彩"
    parts = [
        contribution("精彩", 1.0, [(5, 7)]),
        contribution("很精", 0.5, [(4, 6)]),
        contribution("彩", 0.25, [(6, 7)]),
    ]
    assert found(text, *parts) == {"精彩": 1.5, "很": 0.25}


def test_ngrams_that_begin_within_a_word_make_phrases() -> None:
    """The words of an estimator are shorter than those of explanations, or longer."""
    texts = ["I don't like tea", "I like tea", "don't like it", "like it", "I don't know", "I know"] * 5
    model = GraftTextClassifier(Grafting(l1=0.1), analyzer="word").fit(texts, ["-", "+", "-", "+", "+", "+"] * 5)
    explanation = model.explain(["But I don't like 日本!"])[0]["-"]
    assert {row.text for row in explanation.words} >= {"don't like"}
    assert "t like" in {part.text for part in explanation.contributions}
    assert math.fsum(row.contribution for row in explanation.words) == pytest.approx(
        explanation.score - explanation.intercept, abs=1e-9
    )


def test_pieces_of_words() -> None:
    source = with_pieces(segmented("I don't go"), np.array([[2, 5], [5, 6], [6, 7], [8, 10]]))
    assert source.tokens is not None
    assert [source.text[start:end] for start, end in source.tokens] == ["I", "don", "'", "t", "go"]
    assert len(with_pieces(segmented(""), np.empty((0, 2), np.int64)).tokens) == 0


def test_bytes_and_integers_have_units() -> None:
    files = [b"\x7fELF\x02\x01", b"\x89PNG\r\n", b"\x7fELF\x01\x01", b"\x89PNG\r\n\x1a"] * 5
    model = GraftTextClassifier(Grafting(l1=0.1), analyzer="byte").fit(files, ["elf", "png"] * 10)
    (explanation,) = model.explain([b"\x7fELF elf \xff"])
    assert math.fsum(row.contribution for row in explanation.best.words) == pytest.approx(
        explanation.best.score - explanation.best.intercept, abs=1e-9
    )
    for row in explanation.best.words:
        assert [explanation.text[start:end] for start, end in row.places] == [row.text] * len(row.places)
    numbers = [[1, 22, 333], [1, 4, 333], [22, 333], [4, 333]] * 5
    model = GraftTextClassifier(Grafting(l1=0.1), analyzer="integer").fit(numbers, ["a", "b"] * 10)
    assert {row.text for row in model.explain([[5, 22, 4]])[0].best.words} <= {"22", "4", "5", "22 4"}
    (against,) = model.explain([[22]], against="a")
    assert [label.label for label in against] == ["b"]


def test_a_source_is_equal_by_its_text() -> None:
    assert segmented("a b") == SegmentedText("a b", np.empty((0, 2), np.int64)) != segmented("a c")


@pytest.mark.parametrize("before", ["", " ", "\n  "])
def test_white_space_before_the_first_word_is_in_none(before: str) -> None:
    texts = ["good film and nice", "nice film and good", "good nice", "nice good"] * 10
    model = GraftTextClassifier(Grafting(l1=0.5), analyzer="word").fit(texts, ["a", "b"] * 20)
    (explanation,) = model.explain([f"{before}good stuff"])
    (word,) = explanation.best.words
    assert [contribution.text for contribution in explanation.best.contributions] == ["⊢ good"]
    assert (word.text, word.places) == ("good", ((len(before), len(before) + 4),))
