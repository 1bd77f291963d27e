"""Common pieces of HTML. All text in a page has passed through :func:`escaped`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import blake2b
from html import escape
from importlib.resources import files
from math import sqrt
from typing import Any

#: Shades of the background on either side of 0.
LEVELS = 8
#: Visible replacements of control characters, which browsers drop or reject: U+0000 is shown as ␀. Overrides of the
#: text direction, which could disguise a text, and halves of surrogate pairs, which no file can have, are replaced too.
REPLACEMENTS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"}
REPLACEMENTS |= {0x7F: 0x2421} | dict.fromkeys([*range(0x80, 0xA0), 0x202D, 0x202E, *range(0xD800, 0xE000)], 0xFFFD)
#: Visible replacements of white space at the ends of names.
VISIBLE = {ord(" "): "␣", ord("\t"): "⇥", ord("\n"): "⏎", ord("\r"): "⏎"}


def escaped(text: str) -> str:
    """Text as HTML, in elements and in quoted attributes; control characters are replaced."""
    return escape(text.translate(REPLACEMENTS))


def name_html(text: str) -> str:
    """The name of a feature, label or block as HTML; ``bdi`` isolates its text direction."""
    inner = text.strip()
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :] if inner else ""
    return f"<bdi>{escaped(before.translate(VISIBLE) + inner + after.translate(VISIBLE))}</bdi>"


def signed_number(value: float, digits: int = 3) -> str:
    """A number with its sign, + or − (U+2212)."""
    text = f"{value:+.{digits}f}"
    return text[1:] if float(text) == 0.0 else text.replace("-", "−")


def level_class(value: float, largest: float) -> str:
    """The CSS class of a strength: ``p1`` to ``p8`` if positive, ``n1`` to ``n8`` if negative, empty if close to 0.

    The level grows with the square root, because a single letter can be far stronger than a character of a phrase.
    """
    step = round(LEVELS * sqrt(abs(value) / largest)) if largest else 0
    return f"{'p' if value > 0.0 else 'n'}{step}" if step else ""


def meter(value: float, largest: float) -> str:
    """A bar whose length is the value as a share of the largest."""
    share = 100.0 * abs(value) / largest if largest else 0.0
    return f'<span class="meter"><i class="{"neg" if value < 0.0 else "pos"}" style="width:{share:.1f}%"></i></span>'


def bar_cell(value: float, largest: float, number: str = "") -> str:
    """A table cell with a bar; a number that no other cell has is read aloud and sorted by, but not seen."""
    unseen = f'<span class="unseen">{number}</span>' if number else ""
    return f'<td class="bar">{unseen}{meter(value, largest)}</td>'


def strength_cells(value: float, largest: float) -> str:
    """Two table cells: a number and its bar."""
    return number_cell(signed_number(value)) + bar_cell(value, largest)


def feature_cells(text: str, kind: str, block: str, below: str = "") -> str:
    """Three table cells: a feature's text, kind and block; ``below`` is HTML under the text."""
    return (
        f'<th scope="row">{name_html(text)}{below}</th>'
        f'<td class="kind">{escaped(kind)}</td><td class="kind">{name_html(block)}</td>'
    )


def number_cell(text: str) -> str:
    """A table cell aligned as a number."""
    return f'<td class="number">{text}</td>'


def table(caption: str, columns: Sequence[str], rows: Iterable[str], foot: Iterable[str] = ()) -> str:
    """A table; ``rows`` and ``foot`` are HTML, the caption and column names plain text."""
    head = "".join(f'<th scope="col">{escaped(column)}</th>' if column else "<td></td>" for column in columns)
    end = "".join(foot)
    return (
        f'<div class="wide"><table><caption>{escaped(caption)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody>{f'<tfoot>{end}</tfoot>' if end else ''}</table></div>"
    )


@cache
def package_file(name: str) -> str:
    """A file beside this module; it is read once."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def anchor_prefix(*contents: str) -> str:
    """A prefix for anchors that depends on the contents, so that two outputs in one notebook do not share anchors."""
    digest = blake2b("\0".join(contents).encode("utf-8", "surrogatepass"), digest_size=4)
    return f"graft-{digest.hexdigest()}-"


class Html(str):
    """HTML that a notebook shows."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The text that a notebook stores beside the HTML: not the HTML once more."""
        printer.text("<Html>")


def fragment(*parts: str) -> str:
    """HTML for any place of a page; its style applies to its own content only."""
    return f'<div class="graft">\n{style_of_fragments()}{"".join(parts)}\n</div>\n'


def style_of_fragments() -> str:
    """The style of fragments."""
    return f"<style>\n{package_file('style.css')}</style>\n"


def side_by_side(fragments: Sequence[str]) -> str:
    """Fragments beside each other, or below each other where the page is narrow."""
    return f'<div class="graft-columns">\n{"".join(fragments)}</div>\n'


def whole_page(title: str, body: str, head: str = "") -> str:
    """A complete HTML document, with ``head`` in its head. Its language is English, that of the headings."""
    return (
        '<!doctype html>\n<html lang="en" dir="ltr">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n<title>{escaped(title)}</title>\n'
        f"{head}</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )


def interactive_page(title: str, body: str) -> str:
    """A complete HTML document whose tables can be sorted and filtered; without scripts all is there as well.

    Of several fragments in the body, the first one has the style.
    """
    before, found, after = body.partition(style_of_fragments())
    body = before + found + after.replace(found, "") if found else body
    return whole_page(title, f"{body}<script>\n{package_file('page.js')}</script>\n")
