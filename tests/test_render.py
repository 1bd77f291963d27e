"""Documents and models as HTML."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy import displacy
from spacy.language import Language
from spacy.tokens import Doc

import spacy_graft
from browser import CHROMIUM, Browser
from conftest import COMMON, TELLING, WORDS, Record, make_examples, make_nlp, make_records, train_fully
from spacy_graft.explain.contributions import Contribution, Member, Span, non_empty_spans
from spacy_graft.explain.features import effects_of
from spacy_graft.explain.html.arcs import drawing
from spacy_graft.explain.html.density import Arc, arcs_of, runs, word_runs
from spacy_graft.explain.html.document import MAX_TOOLTIPS
from spacy_graft.explain.html.markup import package_file, signed_number
from spacy_graft.explain.html.overview import snippet
from spacy_graft.explain.scores import Explanation, LabelExplanation
from spacy_graft.explain.words import segmented
from spacy_graft.extract.terms import FeatureTerms, Term
from spacy_graft.graft.report import Report
from spacy_graft.graft.solution import Solution
from spacy_graft.model.snapshot import snapshot_of_solution
from spacy_graft.pipeline.dataset import dataset_figures
from spacy_graft.pipeline.textcat import TextCatGraft
from test_pipeline_items import make_examples as make_syntax_examples
from test_pipeline_items import make_nlp as make_syntax_nlp
from test_pipeline_items import texts_and_labels

#: Elements without an end.
VOID = {"meta", "path", "br"}
EVIL = "salt <script>alert('&amp;')</script> \x00\x07 & \"salt\"\r\n\u202e a goal </div><!-- ]]>"


class Elements(HTMLParser):
    """What is in a page, if every element ends where it must."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.document = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(f"{tag}.{dict(attrs).get('class', '')}")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().split(".")[0] == tag

    def handle_data(self, data: str) -> None:
        if not any(element.startswith("style") for element in self.open):
            self.text += data
        if "div.text" in self.open:
            self.document += data

    def of(self, tag: str) -> list[dict[str, str]]:
        return [attrs for name, attrs in self.found if name == tag]


def checked(html: str) -> Elements:
    """The elements of a page that is well formed, loads nothing and runs nothing but its one script, if it is whole."""
    script = f"<script>\n{package_file('page.js')}</script>"
    assert html.count(script) == html.startswith("<!doctype html>")
    html = html.replace(script, "")
    elements = Elements(html)
    assert not {tag for tag, _ in elements.found} & {"script", "link", "img", "iframe", "object"}
    markup = re.sub(r">[^<]*<", "><", html)
    for word in ("http:", "https:", "url(", "@import", "javascript:", "src="):
        assert word not in markup.lower()
    for _, attrs in elements.found:
        assert not any(name.startswith("on") for name in attrs)
        assert attrs.get("href", "#").startswith("#")
    anchors = [attrs["id"] for _, attrs in elements.found if "id" in attrs]
    assert len(anchors) == len(set(anchors))
    assert {attrs["href"][1:] for attrs in elements.of("a")} <= set(anchors)
    return elements


def span(text: str, piece: str, occurrence: int = 0) -> Span:
    start = [match.start() for match in re.finditer(re.escape(piece), text)][occurrence]
    first = len(text[:start].split())
    return Span(start, start + len(piece), first, first + 1)


def contribution(name: str, strength: float, *places: tuple[Span, ...], kind: str = "token n-gram") -> Contribution:
    return Contribution(name, "block", kind, strength, 1.0, strength, (Member(name, "block", kind, places),))


def explanation(text: str, parts: Sequence[Contribution], others: Sequence[str] = ("no",)) -> Explanation:
    score = 0.25 + sum(part.contribution for part in parts)
    ranked = tuple(sorted(parts, key=lambda part: -abs(part.contribution)))
    source = segmented(text)
    rest = [LabelExplanation(other, "yes", 0.01, -1.0, -1.0, (), source) for other in others]
    labels = (LabelExplanation("yes", others[0], 0.8, score, 0.25, ranked, source), *rest)
    return Explanation(text, labels, {label.label: label.probability for label in labels})


@pytest.fixture(scope="module")
def syntax() -> Language:
    nlp = make_syntax_nlp()
    spacy_graft.fit(nlp, make_syntax_examples(nlp))
    return nlp


@pytest.fixture(scope="module")
def good_book(syntax: Language) -> Doc:
    doc = syntax.make_doc("Now dull song good book")
    doc.user_data["source"] = "blog"
    return syntax(doc)


def test_strengths_of_the_characters_sum_to_the_contributions(fitted: Language) -> None:
    component = fitted.get_pipe("textcat_graft")
    assert isinstance(component, TextCatGraft)
    rng = random.Random(3)
    for record in make_records(20, seed=5):
        doc = fitted(record["text"] + " " + " ".join(rng.choices(COMMON, k=5)))
        for label in component.explain(doc):
            cut = runs(len(doc.text), label.contributions)
            assert "".join(doc.text[run.start : run.end] for run in cut) == doc.text
            total = sum((run.end - run.start) * run.strength for run in cut)
            assert total == pytest.approx(label.score - label.intercept, abs=1e-9)
            cut = word_runs(len(doc.text), label.words, [3, 7])
            assert "".join(doc.text[run.start : run.end] for run in cut) == doc.text
            assert {3, 7} <= {run.start for run in cut}
            by_word = {run.parts: run.strength for run in cut}
            for k, row in enumerate(label.words):
                assert by_word[k,] * len(row.places) == pytest.approx(row.contribution)


@given(
    st.lists(
        st.tuples(
            st.floats(-2.0, 2.0), st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)).map(sorted), max_size=4)
        ),
        max_size=6,
    )
)
def test_each_contribution_is_shared_by_its_characters(drawn: list[tuple[float, list[list[int]]]]) -> None:
    """Character by character, with overlaps and empty places."""
    parts = [
        contribution(str(k), strength, *[(Span(start, end, 0, 1),) for start, end in places])
        for k, (strength, places) in enumerate(drawn)
    ]
    expected = [0.0] * 20
    for part in parts:
        covered = [char for start, end in non_empty_spans(part) for char in range(start, end)]
        for char in covered:
            expected[char] += part.contribution / len(covered)
    found = [run.strength for run in runs(20, parts) for _ in range(run.start, run.end)]
    assert found == pytest.approx(expected, abs=1e-12)
    for run in runs(20, parts):
        there = [k for k, part in enumerate(parts) if any(s <= run.start < e for s, e in non_empty_spans(part))]
        assert list(run.parts) == there


@pytest.mark.parametrize("fragments", [False, True])
@pytest.mark.parametrize("style", ["text", "table"])
@pytest.mark.parametrize("page", [False, True])
@pytest.mark.parametrize("text", ["salt and a goal, with the song of the year", "", " ", "nothing", EVIL])
def test_any_text(fitted: Language, text: str, style: str, page: bool, fragments: bool) -> None:
    html = spacy_graft.render(fitted(text), fitted, style=style, page=page, fragments=fragments)
    elements = checked(html)
    assert html == spacy_graft.render(fitted(text), fitted, style=style, page=page, fragments=fragments)
    assert html._repr_html_() == str(html)
    assert html.startswith('<!doctype html>\n<html lang="en" dir="ltr">' if page else '<div class="graft">')
    if style == "text" and text:
        assert elements.document.split() == [
            word.replace("\x00", "␀").replace("\x07", "␇").replace("\u202e", "�") for word in text.split()
        ]
        (document,) = [attrs for attrs in elements.of("div") if attrs.get("class") == "text"]
        assert (document["dir"], document["lang"]) == ("auto", fitted.lang)
    if text in ("", " ", "nothing"):
        assert not [attrs for attrs in elements.of("mark") if "title" in attrs]
    assert "\x00" not in html


def test_white_space_stays(fitted: Language) -> None:
    text = "salt\n\n  a\tgoal "
    assert checked(spacy_graft.render(fitted(text), fitted)).document == text


def test_names_are_escaped_everywhere() -> None:
    name = "</title><script>\"'&\x00"
    parts = [contribution(name, 1.0, (span("a b", "a"),)), contribution(name, -0.5)]
    whole = explanation("a b", parts, others=[name])
    first = replace(whole.labels[0], label=name, probability=0.9)
    renamed = Explanation("a b", (first, whole.labels[1]), {name: 0.9})
    for style in ("text", "table"):
        html = spacy_graft.render(renamed, style=style, page=True)
        elements = checked(html)
        assert name.replace("\x00", "␀") in elements.text
        assert "\x00" not in html


def test_signs_are_visible_without_colour(fitted: Language) -> None:
    html = spacy_graft.render(fitted("salt and a goal"), fitted, label="food")
    classes = {
        attrs.get("class", "")[:1]: attrs.get("title", "") for attrs in checked(html).of("mark") if "title" in attrs
    }
    assert "−" in classes["n"]
    assert "+" in classes["p"]
    assert 'mark[class^="n"]' in html
    assert "dashed" in html
    assert "light-dark(" in html
    assert "color-scheme: light dark" in html
    assert "@media print" in html


def test_label_and_probabilities(fitted: Language) -> None:
    doc = fitted("salt and a spoon of sugar")
    assert "<h3><bdi>food</bdi>" in spacy_graft.render(doc, fitted)
    assert "<h3><bdi>sport</bdi>" in spacy_graft.render(doc, fitted, label="sport")
    component = fitted.get_pipe("textcat_graft")
    assert isinstance(component, TextCatGraft)
    whole = component.explain(doc)
    # The language of the text is the only thing that an explanation does not know.
    assert spacy_graft.render(whole) == spacy_graft.render(doc, component).replace(
        f' lang="{fitted.lang}">', ' lang="">'
    )
    assert whole._repr_html_() == spacy_graft.render(whole)
    text = checked(spacy_graft.render(doc, component)).text
    for label, probability in doc.cats.items():
        assert f"{label}{probability:.3f}" in text


def test_many_labels() -> None:
    whole = explanation("a b", [contribution("a", 1.0, (span("a b", "a"),))], [f"label {k}" for k in range(20)])
    text = checked(spacy_graft.render(whole)).text
    assert "9 more labels, none above 0.010." in text
    assert "label 10" in text
    assert "label 11" not in text
    assert "label 19" in checked(spacy_graft.render(whole, label="label 19")).text


def test_the_numbers_of_a_table_add_up() -> None:
    parts = [contribution(f"f{k}", (-1) ** k * 0.125 * k) for k in range(1, 131)]
    elements = checked(spacy_graft.render(explanation("", parts), style="table", fragments=True))
    table = elements.text[elements.text.index("Contributions of features to") :]
    numbers = [float(number.replace("−", "-")) for number in re.findall(r"([+−]\d+\.\d{3})[+−]\d+\.\d{3}1\.000", table)]
    rest, intercept, score = (
        float(re.search(rf"([+−][\d.]+){name}", table)[1].replace("−", "-"))  # type: ignore[index]
        for name in ("all other features: 30", "intercept", "log-odds")
    )
    assert len(numbers) == 100
    assert sum(numbers) + rest + intercept == pytest.approx(score, abs=1e-9)


@pytest.mark.parametrize(
    ("lang", "text"),
    [("zh", "这部电影的演员表演非常精彩"), ("he", "הסרט הזה נהדר, אבל ארוך"), ("ar", "هذا الفيلم رائع جدا")],
)
def test_other_scripts(lang: str, text: str) -> None:
    doc = spacy.blank(lang)(text)
    half = len(text) // 2
    parts = [
        contribution(text[:half], 1.0, (Span(0, half, 0, 1),), kind="character n-gram"),
        contribution("arc", -1.0, (Span(0, 2, 0, 1), Span(half, half + 2, 1, 2)), kind="head–modifier"),
    ]
    elements = checked(spacy_graft.render(explanation(doc.text, parts)))
    assert elements.document == text
    # The first word is the one that is read first.
    x = [float(attrs["x"]) for attrs in elements.of("text") if attrs["class"] == "end"]
    words = re.findall(r'class="end"[^>]*>([^<]*)<', spacy_graft.render(explanation(doc.text, parts)))
    first, second = x[words.index(text[:2])], x[words.index(text[half : half + 2])]
    assert (first < second) == (lang == "zh")


def test_all_parts_of_a_combination_are_highlighted(syntax: Language, good_book: Doc) -> None:
    html = spacy_graft.render(good_book, syntax, label="bad", fragments=True)
    pieces = re.findall(r'<mark class="p\d" title="[^"]*source=blog[^"]*">([^<]*)</mark>', html)
    assert pieces == ["good", "book"]
    assert "book → good" in checked(html).of("svg")[0]["aria-label"]


def test_features_without_a_place_are_in_the_table(syntax: Language) -> None:
    nlp = make_syntax_nlp({"source": {"@graft_features": "spacy_graft.DocAttributes.v1", "metadata": ["source"]}})
    spacy_graft.fit(nlp, make_syntax_examples(nlp))
    doc = nlp.make_doc("Now dull song")
    doc.user_data["source"] = "blog"
    elements = checked(spacy_graft.render(nlp(doc), nlp, label="bad"))
    assert re.search(r"[+][\d.]+source=blog document attribute", elements.text)
    assert "None of the contributing features has a place in the text." in elements.text


def test_many_features_without_a_place_are_summed() -> None:
    parts = [contribution(f"source={k}", 0.5, kind="document attribute") for k in range(33)]
    text = checked(spacy_graft.render(explanation("", parts))).text
    assert "The document is empty." in text
    assert "+10.500all other words: 21" in text
    assert "+16.750log-odds" in text


def test_arcs_of_a_long_text_are_linked_to_their_words() -> None:
    text = "the dull film " * 30
    pairs = [(span(text, "film", k), span(text, "dull", k)) for k in range(30)]
    whole = explanation(text, [contribution("arc", 3.0, *pairs, kind="head–modifier")])
    elements = checked(spacy_graft.render(whole))
    assert not elements.of("svg")
    assert elements.text.count("film → dull+0.100") == 30
    assert len(elements.of("a")) == len([attrs for attrs in elements.of("mark") if "id" in attrs]) == 60
    more = explanation(text * 2, [contribution("arc", 3.0, *pairs, *moved(pairs, len(text)), kind="head–modifier")])
    assert "10 weaker arcs not listed." in checked(spacy_graft.render(more)).text


def moved(pairs: list[tuple[Span, Span]], by: int) -> list[tuple[Span, ...]]:
    return [tuple(Span(one.start + by, one.end + by, one.first_token, one.end_token) for one in pair) for pair in pairs]


def test_strengths_of_the_arcs_sum_to_the_contributions() -> None:
    text = "so dull a film and dull a book"
    film, book = (span(text, "film"), span(text, "dull")), (span(text, "book"), span(text, "dull", 1))
    found = arcs_of(
        [contribution("both", 0.5, film, book), contribution("one", -0.75, film), contribution("word", 1.0)]
    )
    assert [(arc.head.start, arc.strength) for arc in found] == [(film[0].start, -0.5), (book[0].start, 0.25)]
    drawn = checked(f"<div>{drawing(text, found)}</div>")
    assert drawn.of("svg")[0]["aria-label"] == "film → dull −0.500; book → dull +0.250"


def test_arcs_over_each_other_do_not_touch() -> None:
    text = " ".join(f"w{k}" for k in range(9))
    spans = [span(text, f"w{k}") for k in range(9)]
    pairs = [(0, 1), (0, 2), (0, 8), (4, 3), (8, 4), (2, 5)]
    found = [Arc(spans[head], spans[modifier], "amod", 1.0) for head, modifier in pairs]
    lines = re.findall(r'<path d="M([\d.]+),\d+ V([\d.]+) .*? H.*? Q([\d.]+),', drawing(text, found))
    boxes = [(*sorted((float(x1), float(x2))), float(y)) for x1, y, x2 in lines]
    assert len(boxes) == len(pairs)
    feet = [x for left, right, _ in boxes for x in (left, right)]
    assert len(set(feet)) == len(feet)
    for i, (left, right, y) in enumerate(boxes):
        assert all(y != other[2] or right < other[0] or other[1] < left for other in boxes[:i])


def test_a_long_document_is_small_and_quick(fitted: Language) -> None:
    text = "\n".join(record["text"] for record in make_records(380, seed=9))
    assert len(text.split()) > 5000
    html = spacy_graft.render(fitted(text), fitted)
    assert checked(html).document == text
    assert len(html.encode()) < 1_000_000


def test_the_model(fitted: Language) -> None:
    docs = [fitted(record["text"]) for record in make_records(30, seed=2)]
    html = spacy_graft.render(fitted, style="global", examples=iter(docs), page=True)
    elements = checked(html)
    component = fitted.get_pipe("textcat_graft")
    assert isinstance(component, TextCatGraft)
    for label in TELLING:
        assert f"<h4><bdi>{label}</bdi></h4>" in html
        best = max(component.features(), key=lambda feature: feature.weights[label])
        assert f"{signed_number(best.weights[label])}{best.effects[label]:.4f}{best.text}" in elements.text
        assert f"token n-gramwords{best.df}" in elements.text
    assert re.search(r"<mark>salt</mark>", html)
    longest = next(feature for feature in component.features() if feature.longest != feature.text)
    assert f"longest n-gram: {longest.longest}" in elements.text or longest.text not in elements.text
    alone = checked(spacy_graft.render(component, style="global", label="food"))
    assert len(alone.of("table")) == 1
    assert "in context" not in alone.text


def test_the_model_shows_all_members_in_context(syntax: Language) -> None:
    docs = []
    for text, source, _ in texts_and_labels(30):
        doc = syntax.make_doc(text + " and so on" * 20)
        doc.user_data["source"] = source
        docs.append(syntax(doc))
    html = spacy_graft.render(syntax, style="global", examples=docs)
    checked(html)
    assert "<mark>good</mark> <mark>book</mark>" in html


def test_context_of_members() -> None:
    """Far from each other, inside of each other, and empty."""
    text = "A film that begins well but gets dull after an hour\nor two, so that nobody stays to see how it ends."

    def member(piece: str) -> Member:
        return Member(piece, "words", "token n-gram", ((span(text, piece),),))

    (line,) = snippet(text, (member("begins well"), member("well"), member("ends")))
    assert line == (
        "<bdi>A film that <mark>begins well</mark> but gets dull after… …stays to see how it <mark>ends</mark>.</bdi>"
    )
    (line,) = snippet(text, (member("two"),))
    assert line == "<bdi>…dull after an hour or <mark>two</mark>, so that nobody stays…</bdi>"
    nothing = Member("x", "source", "document attribute", ())
    assert snippet(text, (nothing,)) == []
    empty = Member(" ", "characters", "character n-gram", ((Span(6, 6, 1, 2),),))
    assert "<mark>" not in snippet(text, (empty,))[0]


def test_examples_are_read_no_further_than_needed(fitted: Language) -> None:
    docs = iter([fitted("salt and a goal")] * 250)
    spacy_graft.render(fitted, style="global", examples=docs)
    assert len(list(docs)) == 50


def test_a_model_without_features() -> None:
    nlp = make_nlp()
    nlp.initialize(lambda: make_unhelpful(nlp))
    assert "The model has intercepts only." in checked(spacy_graft.render(nlp, style="global")).text


def make_unhelpful(nlp: Language) -> list[spacy.training.Example]:
    cats = [{"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 1.0}]
    return [spacy.training.Example.from_dict(nlp.make_doc("the same"), {"cats": one}) for one in cats]


def test_spans_for_displacy(syntax: Language, good_book: Doc) -> None:
    group = spacy_graft.contribution_spans(good_book, syntax, "bad", key="why")
    assert good_book.spans["why"] is not None
    by_text = {(found.text, found.id_): found.label_ for found in group}
    component = syntax.get_pipe("textcat_graft")
    assert isinstance(component, TextCatGraft)
    for part in component.explain(good_book, "bad").best.contributions:
        for member in part.members:
            for place in member.places:
                for found in place:
                    text = good_book[found.first_token : found.end_token].text
                    assert by_text[text, part.text] == signed_number(part.contribution, 2)
    html = displacy.render(good_book, style="span", options={"spans_key": "why"})
    assert all(label in html for label in by_text.values())
    assert len(spacy_graft.contribution_spans(good_book, syntax, "bad", key="why")) == len(group)


def test_spans_of_blocks_with_the_same_names() -> None:
    """The strongest first: the word as it is written, then the word in lower case."""
    of_words = {"@graft_features": "spacy_graft.TokenNgrams.v1", "min_df": 2}
    learner = {"@graft_learners": "spacy_graft.Grafting.v1", "l1": 0.2}
    nlp = make_nlp(features={"lower": of_words, "orth": {**of_words, "attr": "ORTH"}}, learner=learner)
    counts = {("x good y", "A"): 20, ("x Good y", "A"): 8, ("x Good y", "B"): 7, ("x y", "B"): 20, ("x good y", "B"): 1}
    spacy_graft.fit(nlp, [pair for pair, n in counts.items() for _ in range(n)])
    doc = nlp("x good y")
    parts = nlp.get_pipe("textcat_graft").explain(doc).best.contributions  # type: ignore[attr-defined]
    assert [(part.text, part.block) for part in parts] == [("good", "orth"), ("good", "lower")]
    spans = spacy_graft.contribution_spans(doc, nlp)
    assert [span.label_ for span in spans] == [signed_number(part.contribution, 2) for part in parts]


@pytest.mark.parametrize("n", [1000, 2000])
def test_of_places_as_strong_as_others_some_have_a_tooltip(n: int) -> None:
    nlp = make_nlp(learner={"@graft_learners": "spacy_graft.Grafting.v1", "l1": 0.2})
    spacy_graft.fit(nlp, [("good film", "A"), ("bad film", "B")] * 5)
    html = spacy_graft.render(nlp("good , " * n), nlp)
    assert html.count(" title=") == min(n, MAX_TOOLTIPS)


def test_errors_of_render(fitted: Language, blank: Language) -> None:
    doc = fitted("salt")
    component = fitted.get_pipe("textcat_graft")
    assert isinstance(component, TextCatGraft)
    with pytest.raises(
        ValueError, match=r"no style 'txt'\. Did you mean 'text'\? The styles: 'text', 'table', 'global'"
    ):
        spacy_graft.render(doc, fitted, style="txt")
    with pytest.raises(ValueError, match=r"no label 'foot'\. Did you mean 'food'"):
        spacy_graft.render(doc, fitted, label="foot")
    with pytest.raises(ValueError, match=r"no label 'foot'\. Did you mean 'food'"):
        spacy_graft.render(component.explain(doc), label="foot")
    with pytest.raises(ValueError, match=r"no label 'foot'\. Did you mean 'food'"):
        spacy_graft.render(component, style="global", label="foot")
    with pytest.raises(ValueError, match="no label ''"):
        spacy_graft.render(component, style="global", label="")
    with pytest.raises(ValueError, match="against is for a document"):
        spacy_graft.render(component, style="global", label="food", against="sport")
    with pytest.raises(ValueError, match="No component shares the vocab of the document: give the component"):
        spacy_graft.render(blank("salt"))
    with pytest.raises(ValueError, match="no enabled graft component in the pipeline; its components: none"):
        spacy_graft.render(doc, blank)
    with pytest.raises(ValueError, match="not str"):
        spacy_graft.render(doc, "textcat_graft")  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=r"shows a document: .*, not MultiLanguage\. A model is shown by style='global'"
    ):
        spacy_graft.render(fitted)
    with pytest.raises(ValueError, match=r"shows a model: .*, not Doc\."):
        spacy_graft.render(doc, fitted, style="global")
    two = make_nlp()
    with pytest.raises(ValueError, match="no weights yet"):
        spacy_graft.render(two, style="global")
    two.add_pipe("textcat_graft", name="other", config={"features": WORDS})
    with pytest.raises(
        ValueError, match=r"There are 2 graft components in the pipeline: 'textcat_graft', 'other'\. Choose one"
    ):
        spacy_graft.render(doc, two)


def test_two_labels_have_one_side(syntax: Language) -> None:
    """The weights of the page lead to the log-odds that explanations have."""
    component = syntax.get_pipe("textcat_graft")
    assert isinstance(component, TextCatGraft)
    elements = checked(component.overview())
    assert len(elements.of("table")) == 1
    first, second = component.labels
    assert f"{first} against {second}" in elements.text
    best = max(component.features(), key=lambda feature: feature.effects[first])
    weight = best.weights[first] - best.weights[second]
    assert f"{signed_number(weight)}{best.effects[first]:.4f}{best.text}" in elements.text
    assert f"{signed_number(-weight)}{best.effects[first]:.4f}{best.text}" in checked(component.overview(second)).text


def test_rare_features_are_not_at_the_head(fitted: Language) -> None:
    component = fitted.get_pipe("textcat_graft")
    assert isinstance(component, TextCatGraft)
    table = np.array([[5.0], [0.5], [-0.5], [0.4]])
    effects = effects_of(table, np.array([2, 500, 400, 1000]), 1000)[:, 0]
    assert np.argsort(-effects).tolist() == [1, 2, 0, 3]
    assert effects_of(table, np.array([2, 500, 400, 1000]), 0)[:, 0].tolist() == [10.0, 250.0, 200.0, 400.0]


@pytest.mark.parametrize("factory", ["textcat_graft", "textcat_graft_multilabel"])
@pytest.mark.parametrize("fragments", [False, True])
def test_a_data_set(factory: str, fragments: bool, train_records: list[Record], dev_records: list[Record]) -> None:
    nlp = train_fully(make_nlp(factory), train_records)
    component = nlp.get_pipe(factory)
    assert isinstance(component, TextCatGraft)
    wrong = [{**record, "label": "food"} for record in dev_records[:10] if record["label"] != "food"]
    examples = make_examples(nlp, [*dev_records, *wrong])
    figures = dataset_figures(component, examples, fragments)
    assert figures.n_documents == len(examples)
    said = [set(component.predicted(example.predicted)) for example in examples]
    right = [{label for label, value in example.reference.cats.items() if value} for example in examples]
    assert figures.n_wrong == sum(one != other for one, other in zip(said, right, strict=True)) >= len(wrong)
    confidences = [error.confidence for error in figures.errors]
    assert confidences == sorted(confidences, reverse=True)
    for error in figures.errors:
        assert said[error.number - 1] != right[error.number - 1]
    for row in figures.deciding:
        assert set(row.wrong) <= set(row.decided)
        assert len(row.decided) <= row.n_documents
    html = spacy_graft.render(nlp, style="global", examples=iter(examples), fragments=fragments, page=True)
    text = checked(html).text
    assert f"{len(examples)} documents, {figures.n_wrong} with errors" in text
    assert "What decides" in text
    assert len(re.findall("<details.*?<summary><span", html)) == len(figures.errors)
    best = figures.deciding[0]
    assert f"{len(best.decided)}{len(best.wrong)}{best.text}" in text


def test_documents_without_a_label_are_not_judged(fitted: Language, dev_records: list[Record]) -> None:
    component = fitted.get_pipe("textcat_graft")
    assert isinstance(component, TextCatGraft)
    examples = make_examples(fitted, dev_records[:20])
    for example in examples[:10]:
        example.reference.cats = dict.fromkeys(example.reference.cats, 0.0)
    examples[10].reference.cats = {"food": 0.0, "music": 1.0, "sport": 0.0}
    examples[10].predicted = fitted("salt and a spoon of sugar")
    figures = dataset_figures(component, examples, False)
    assert (figures.n_documents, figures.n_judged, figures.n_wrong) == (20, 10, 1)
    html = spacy_graft.render(fitted, style="global", examples=iter(examples))
    assert "20 documents, 10 of them with labels of the model, <b>1</b> with errors (10.0%)" in html
    for example in examples[:10]:
        example.reference.cats = {"food": 0.5, "weather": 0.5}
    with pytest.warns(UserWarning, match="10 of 20 documents have labels that the component does not know"):
        assert dataset_figures(component, examples, False) == figures


def test_several_labels_that_exclude_each_other_are_warned_of(fitted: Language, dev_records: list[Record]) -> None:
    component = fitted.get_pipe("textcat_graft")
    assert isinstance(component, TextCatGraft)
    examples = make_examples(fitted, dev_records[:20])
    examples[3].reference.cats = {"food": 1.0, "music": 1.0, "sport": 0.0}
    with pytest.warns(UserWarning, match="1 of 20 documents have several labels, and those of the component exclude"):
        assert dataset_figures(component, examples, False).n_judged == 20


def test_a_data_set_with_other_labels_is_refused(fitted: Language) -> None:
    component = fitted.get_pipe("textcat_graft")
    assert isinstance(component, TextCatGraft)
    examples = make_examples(fitted, [{"text": "salt", "label": "food"}] * 3)
    for example in examples:
        example.reference.cats = {"weather": 1.0}
    with pytest.raises(ValueError, match=r"None of the 3 documents has a label of the component .*: 'weather'"):
        dataset_figures(component, examples, False)


def test_a_word_decides_if_the_second_label_would_win_without_it() -> None:
    nlp = make_nlp()
    nlp.initialize(lambda: make_unhelpful(nlp))
    component = nlp.get_pipe("textcat_graft")
    assert isinstance(component, TextCatGraft)
    words = {"one": 0.5, "two": 0.4, "three": -0.25, "four": 0.75, "five": 0.1}
    terms = FeatureTerms.of([(Term("words", np.array([nlp.vocab.strings.add(word)], np.uint64)),) for word in words])
    solution = Solution(
        ["words"] * 5,
        terms,
        terms,
        np.full(5, 3),
        np.array([[weight / 2.0, -weight / 2.0] for weight in words.values()]),
        np.zeros(2),
        0.0,
    )
    component.set_snapshot(snapshot_of_solution(solution, component.blocks, nlp.vocab.strings), Report())
    cats = {"a": 0.0, "b": 1.0}
    texts = ["one two three", "one three", "three five", "four two"]
    examples = [spacy.training.Example.from_dict(nlp.make_doc(text), {"cats": cats}) for text in texts]
    figures = dataset_figures(component, examples, False)
    by_text = {row.text: row.decided for row in figures.deciding}
    # 0.65 without "one" is 0.15; 0.25 without "one" is −0.25; −0.15 without "three" is 0.1; 1.15 without "four" is 0.4.
    assert by_text == {"one": [2], "three": [3]}
    errors = [(4, "a", "b"), (1, "a", "b"), (2, "a", "b")]
    assert [(error.number, error.said, error.right) for error in figures.errors] == errors
    # Of labels that are not certain, the most probable one is right.
    for example in examples:
        example.reference.cats = {"a": 0.25, "b": 0.75}
    figures = dataset_figures(component, examples, False)
    assert [(error.number, error.said, error.right) for error in figures.errors] == errors


@pytest.mark.parametrize("annotated", ["A", "B", "C"])
def test_what_decides_does_not_depend_on_what_is_annotated(annotated: str) -> None:
    """Without *blue* it would be A, the second label, also where C is annotated."""
    nlp = make_nlp(learner={"@graft_learners": "spacy_graft.Grafting.v1", "l1": 0.5})
    counts = {("x red", "A"): 10, ("x blue", "B"): 8, ("x green", "C"): 8, ("x red", "B"): 2}
    spacy_graft.fit(nlp, [pair for pair, n in counts.items() for _ in range(n)])
    component = nlp.get_pipe("textcat_graft")
    assert isinstance(component, TextCatGraft)
    doc = nlp("red blue")
    example = spacy.training.Example.from_dict(doc, {"cats": {label: float(label == annotated) for label in "ABC"}})
    figures = dataset_figures(component, [example], False)
    assert [(row.text, row.decided) for row in figures.deciding] == [("blue", [1])]
    assert [(error.said, error.right, error.explanation.against) for error in figures.errors] == (
        [] if annotated == "B" else [("B", annotated, annotated)]
    )


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_tables_are_sorted_and_filtered_in_a_browser(fitted: Language, tmp_path: Path) -> None:
    examples = make_examples(fitted, [{**record, "label": "food"} for record in make_records(60, seed=8)])
    page = tmp_path / "page.html"
    page.write_text(spacy_graft.render(fitted, style="global", examples=examples, page=True), encoding="utf-8")
    rows = "[...document.querySelectorAll('section table')[0].tBodies[0].rows]"
    weights = f"{rows}.map((row) => Number(row.cells[0].textContent.replace('\u2212', '-')))"
    head = "document.querySelector('section thead th')"
    with Browser(tmp_path / "profile") as browser:
        browser.open(page)
        before = browser.run(weights)
        browser.run(f"{head}.click()")
        assert browser.run(weights) == sorted(before, reverse=True)
        browser.run(f"{head}.querySelector('button').focus()")
        for kind in ("keyDown", "keyUp"):
            browser.call("Input.dispatchKeyEvent", type=kind, key=" ", code="Space", text=" ")
        assert browser.run(weights) == sorted(before)
        assert browser.run(f"{head}.ariaSort") == "ascending"
        shown = "[...document.querySelector('.entries').children].filter((entry) => !entry.hidden).length"
        n_errors = browser.run(shown)
        assert n_errors > 15
        browser.run(
            "{const input = document.querySelector('[placeholder=\"Filter documents\"]'); input.value = 'Sport';"
            "input.dispatchEvent(new Event('input'))}"
        )
        assert 0 < browser.run(shown) < n_errors
        assert browser.of_kind("Runtime.exceptionThrown") == []
        assert [event["params"]["request"]["url"] for event in browser.of_kind("Network.requestWillBeSent")] == [
            page.as_uri()
        ]


def test_several_are_shown_side_by_side(fitted: Language) -> None:
    docs = [fitted("salt and a goal"), fitted("the song of the year")]
    html = spacy_graft.render(docs, fitted)
    checked(html)
    assert html.startswith('<div class="graft-columns">')
    assert html.count('<div class="graft">') == 2
    other = train_fully(make_nlp(), make_records(60, seed=1))
    examples = make_examples(fitted, make_records(30, seed=4))
    checked(spacy_graft.render([fitted, other], style="global", examples=iter(examples), page=True))
    with pytest.raises(ValueError, match="nothing to render: the sequence is empty"):
        spacy_graft.render([], fitted)


def test_examples_are_of_one_kind(fitted: Language, dev_records: list[Record]) -> None:
    (example,) = make_examples(fitted, dev_records[:1])
    for mixed in ([example, fitted("salt")], [fitted("salt"), example]):
        with pytest.raises(ValueError, match="all Docs or all annotated Examples"):
            spacy_graft.render(fitted, style="global", examples=mixed)
    component = fitted.get_pipe("textcat_graft")
    assert isinstance(component, TextCatGraft)
    with pytest.raises(ValueError, match="give against to explain, not to render"):
        spacy_graft.render(component.explain(fitted("salt")), against="food")


def test_arcs_have_the_names_of_their_relations(syntax: Language, good_book: Doc) -> None:
    drawn = spacy_graft.render(good_book, syntax, label="bad")
    assert re.search(r'<text class="relation"[^>]*>\w+</text>', drawn)
    assert "book → good (" in checked(drawn).of("svg")[0]["aria-label"]


def test_a_document_is_explained_by_the_component_of_its_vocab(train_records: list[Record]) -> None:
    nlp = train_fully(make_nlp(), train_records)
    doc = nlp("they had salt")
    assert spacy_graft.render(doc) == spacy_graft.render(doc, nlp)
    twin = make_nlp()
    twin.get_pipe("textcat_graft").vocab = nlp.vocab
    twin.get_pipe("textcat_graft").model = nlp.get_pipe("textcat_graft").model
    with pytest.raises(ValueError, match="Several components share the vocab"):
        spacy_graft.render(doc)


def test_a_notebook_stores_html_once(fitted: Language) -> None:
    texts: list[str] = []
    html = spacy_graft.render(fitted("salt"), fitted)
    html._repr_pretty_(SimpleNamespace(text=texts.append), False)  # type: ignore[attr-defined]
    assert texts == ["<Html>"]
    assert html._repr_html_() == html  # type: ignore[attr-defined]
