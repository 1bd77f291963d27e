"""The page in which a text can be typed, in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spacy_graft
from browser import CHROMIUM, Browser
from spacy_graft import GraftTextClassifier
from spacy_graft.extract.texts import TextCharacters
from spacy_graft.graft.report import Report
from spacy_graft.model.snapshot import Snapshot
from spacy_graft.model.table import FeatureTable
from spacy_graft.text_model import TextModel, TextSpace
from test_export import LABELS, PATH, TAGS, fitted


def synthetic(n_features: int, n_labels: int) -> GraftTextClassifier:
    """A model with random weights for all features and labels."""
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefghij好评é "), size=rng.integers(3, 12))) for _ in range(2 * n_features)]
    ngrams = tuple(tuple(word) for word in dict.fromkeys(words))[:n_features]
    table = FeatureTable(("char",) * n_features, ngrams, ngrams, ((),) * n_features, np.full(n_features, 7, np.int32))
    weights, shares = rng.normal(size=(n_features, n_labels)), rng.random(n_features) * 9.0
    blocks: Any = {"char": TextCharacters()}
    model = GraftTextClassifier()
    model._space = TextSpace({"char": TextCharacters()})
    model._model = TextModel(Snapshot(blocks, table, weights, rng.normal(size=n_labels), 1.5, length_shares=shares))
    model.report_ = Report()
    model.classes_, model._exclusive = np.array([f"label {k}" for k in range(n_labels)]), True
    return model


@pytest.mark.parametrize("to", ["json", "js", "mjs", "html"])
def test_five_thousand_features_take_less_than_a_megabyte(to: str) -> None:
    text = spacy_graft.export(synthetic(5000, 4), to)
    assert len(text.encode()) <= 1_000_000


needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
#: It has features of its best label, with places.
EVIDENT = "fair un ACGT 好评 \U0001f600\n\nΟΔΟΣΟ σ שלום un"
HOSTILE_LABELS = ["</script><script>alert(1)</script>", "<!--", "\ud800 half", "\u202eno"]
PAGES: dict[str, dict[str, Any]] = {
    "two labels": {"analyzer": ["word", "char_wb"], "y": [k % 2 for k in LABELS], "learner": PATH},
    "any labels": {"multilabel": True, "y": TAGS, "learner": PATH},
    "bytes": {"analyzer": "byte"},
    "hostile labels": {"y": [HOSTILE_LABELS[k] for k in LABELS]},
}


@pytest.fixture(scope="module")
def models() -> dict[str, GraftTextClassifier]:
    return {**{name: fitted(**options) for name, options in PAGES.items()}, "forty labels": synthetic(5000, 40)}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


#: What a page shows, when a screen reader has been told too.
SHOWN = """
new Promise((done) => setTimeout(() => {
  const texts = (selector) => [...document.querySelectorAll(selector)].map((found) => found.textContent);
  const number = (text) => Number(text.replace("\\u2212", "-"));
  done({
    predicted: texts("#graft-predicted")[0], spoken: texts("#graft-spoken")[0], names: texts("#graft-bars .name"),
    probabilities: texts("#graft-bars .number").map(number), text: texts("#graft-found .text")[0] ?? "",
    marks: texts("#graft-found mark[title]"), score: texts("#graft-found .score b").map(number),
    more: texts("#graft-bars .note"), rows: texts("#graft-found tbody tr"), notes: texts("#graft-found .note"),
    scripts: document.scripts.length, width: document.documentElement.scrollWidth,
  });
}, 800))
"""


@pytest.fixture
def opened(browser: Browser, models: dict[str, GraftTextClassifier], tmp_path: Path) -> Iterator[Any]:
    """Open the page of a model; at the end it must have asked for nothing and complained of nothing."""

    def open_page(name: str) -> GraftTextClassifier:
        spacy_graft.export(models[name], "html", tmp_path / "page.html")
        browser.open(tmp_path / "page.html")
        return models[name]

    yield open_page
    requests = [event["params"]["request"]["url"] for event in browser.of_kind("Network.requestWillBeSent")]
    assert requests == [(tmp_path / "page.html").as_uri()]
    assert browser.of_kind("Runtime.exceptionThrown") + browser.of_kind("Log.entryAdded") == []


def typed(browser: Browser, text: str) -> dict[str, Any]:
    """What the page shows when a text has been typed in the place of another."""
    browser.run("document.getElementById('graft-text').select()")
    browser.call("Input.insertText", text=text)
    return browser.run(SHOWN)


@needs_browser
@pytest.mark.slow
def test_label_probabilities_and_evidence_are_those_of_the_model(browser: Browser, opened: Any) -> None:
    model = opened("two labels")
    for text in (EVIDENT, "acgun\u202e <b>&amp; fair好评"):
        shown = typed(browser, text)
        (explanation,) = model.explain([text])
        best = explanation.best
        assert shown["predicted"] == str(model.predict([text])[0])
        assert shown["spoken"] == f"Prediction: {best.label}, probability {best.probability:.2f}"
        np.testing.assert_allclose(shown["probabilities"], model.predict_proba([text])[0], atol=6e-4)
        assert shown["text"] == text.replace("\u202e", "\ufffd")
        np.testing.assert_allclose(shown["score"], [best.score, best.intercept, best.score - best.intercept], atol=6e-4)
        assert len(shown["rows"]) == min(len(best.contributions), 20)
        assert all(part.text.strip() in row for part, row in zip(best.contributions, shown["rows"], strict=False))
        has_places = any(span.end > span.start for part in best.contributions for (span,) in part.members[0].places)
        assert has_places or text != EVIDENT
        assert bool(shown["marks"]) == has_places


@needs_browser
@pytest.mark.slow
def test_nothing_that_is_typed_or_named_becomes_html(browser: Browser, opened: Any) -> None:
    opened("hostile labels")
    before = browser.run("document.scripts.length")
    shown = typed(browser, "<img src=x onerror=alert(1)></textarea><script>alert(1)</script> ACGT un")
    assert shown["scripts"] == before
    assert shown["text"].startswith("<img src=x onerror=alert(1)></textarea><script>")
    assert {"</script><script>alert(1)</script>", "<!--"}.issubset(shown["names"])


@needs_browser
@pytest.mark.slow
def test_an_empty_text_and_a_chosen_label(browser: Browser, opened: Any) -> None:
    model = opened("any labels")
    shown = browser.run(SHOWN)
    assert shown["spoken"] == shown["text"] == ""
    assert shown["rows"] == []
    assert shown["notes"] == ["The text is empty: the log-odds are the intercept."]
    assert typed(browser, "nothing")["predicted"] == "no label"
    browser.run(
        "{const choice = document.getElementById('graft-label'); choice.value = '1'; "
        "choice.dispatchEvent(new Event('change'))}"
    )
    shown = typed(browser, "un 😀 Σ")
    assert shown["predicted"] == ", ".join(model.predict(["un 😀 Σ"])[0])
    assert shown["score"][0] == pytest.approx(model.explain(["un 😀 Σ"])[0][model.classes_[1]].score, abs=6e-4)


@needs_browser
@pytest.mark.slow
def test_bytes_and_many_labels_and_long_texts(browser: Browser, opened: Any) -> None:
    model = opened("bytes")
    assert typed(browser, "é un")["predicted"] == str(model.predict(["é un"])[0])
    model = opened("forty labels")
    text = "abc 好评 hij" * 1000
    shown = typed(browser, text)
    assert shown["predicted"] == model.predict([text])[0]
    assert len(shown["probabilities"]) == 12
    assert shown["probabilities"][0] == max(shown["probabilities"])
    rest = sorted(model.predict_proba([text])[0])[-13]
    assert shown["more"] == [f"28 more labels, none above {rest:.3f}."]
    assert len(shown["text"]) == 5001
    assert any("The first 5000 characters are shown" in note for note in shown["notes"])


@needs_browser
@pytest.mark.slow
def test_the_page_fits_a_phone_and_follows_the_colour_scheme(browser: Browser, opened: Any) -> None:
    opened("two labels")
    colours = set()
    for width, dark in ((1100, False), (390, True)):
        browser.screen(width, 800, dark)
        assert typed(browser, "fair un ACGT 好评 " * 8)["width"] <= width
        colours.add(browser.run("getComputedStyle(document.querySelector('.graft')).backgroundColor"))
    assert len(colours) == 2


@needs_browser
@pytest.mark.slow
def test_screen_readers_find_names_roles_and_the_result(browser: Browser, opened: Any) -> None:
    opened("two labels")
    typed(browser, EVIDENT)
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    found = {
        (node["role"]["value"], node["name"]["value"].strip())
        for node in nodes
        if not node.get("ignored") and node.get("name", {}).get("value")
    }
    headings = {name for role, name in found if role == "heading"}
    assert headings == {"Classify a text", "Prediction", "Evidence"}
    assert {("textbox", "Text"), ("combobox", "Contributions to the log-odds of")}.issubset(found)
    assert {"main", "status", "table", "columnheader", "rowheader"}.issubset({node["role"]["value"] for node in nodes})
