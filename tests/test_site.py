"""The documentation site: it loads nothing from elsewhere, fits a phone, and is searched without a server.

``.ci/run`` builds it, and names the folder in ``SITE``.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from browser import CHROMIUM, Browser

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("SITE" not in os.environ, reason="needs a built site in $SITE"),
]
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")

SITE = Path(os.environ.get("SITE", ""))
#: What a page loads, as opposed to what it links to.
LOADED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?(?:https?:)?//|<link\b[^>]*\bhref=["']?https?://"""
)
#: What is beyond the right edge of the window and in no box that can be scrolled.
TOO_WIDE = """
[...document.querySelectorAll("article *")].filter(element => {
  const box = element.getBoundingClientRect();
  if (!box.width || box.right <= document.documentElement.clientWidth + 1) return false;
  for (let outer = element.parentElement; outer; outer = outer.parentElement)
    if (outer !== document.documentElement && getComputedStyle(outer).overflowX === "auto") return false;
  return true;
}).map(element => element.outerHTML.slice(0, 200)).slice(0, 3)
"""


def pages() -> list[Path]:
    return [page for page in sorted(SITE.rglob("*.html")) if page != SITE / "index.html"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


def test_nothing_is_loaded_from_elsewhere() -> None:
    assert len(pages()) > 50
    assert [page for page in pages() if LOADED.search(page.read_text(encoding="utf-8"))] == []


@needs_browser
def test_pages_fit_a_phone(browser: Browser) -> None:
    browser.screen(390, 844)
    for page in pages():
        browser.open(page)
        assert browser.run(TOO_WIDE) == [], page


@needs_browser
def test_the_search_needs_no_server(browser: Browser) -> None:
    browser.open(SITE / "search.html")
    browser.run("Search.performSearch('grafting')")
    found = "[...document.querySelectorAll('#search-results li a')].map(link => link.textContent)"
    deadline = time.monotonic() + 30
    while "The objective" not in browser.run(found) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert "The objective" in browser.run(found)
