"""Pieces of HTML that all views are made of. Nothing gets into a page but through :func:`shown`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import blake2b
from html import escape
from importlib.resources import files
from math import sqrt

#: Steps of the background on either side of 0.
LEVELS = 8
#: What browsers drop or take for an error, as the picture of it: U+0000 is ␀. Overrides of the direction would let a
#: text look like another one.
PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"}
PICTURES |= {0x7F: 0x2421} | dict.fromkeys([*range(0x80, 0xA0), 0x202D, 0x202E], 0xFFFD)
#: White space at the ends of a name would not be seen.
VISIBLE = {ord(" "): "␣", ord("\t"): "⇥", ord("\n"): "⏎", ord("\r"): "⏎"}


def shown(text: str) -> str:
    """A text as HTML, also between quotes. Control characters become visible and harmless."""
    return escape(text.translate(PICTURES))


def named(text: str) -> str:
    """The name of a feature, label or block; in an element of its own, so that its direction harms no neighbour."""
    inner = text.strip()
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :] if inner else ""
    return f"<bdi>{shown(before.translate(VISIBLE) + inner + after.translate(VISIBLE))}</bdi>"


def signed(value: float, digits: int = 3) -> str:
    """A number with its sign; the minus is as wide as the plus."""
    text = f"{value:+.{digits}f}"
    return text[1:] if float(text) == 0.0 else text.replace("-", "−")


def level(value: float, largest: float) -> str:
    """The class of a strength: ``p1`` to ``p8`` for what speaks for a label, ``n1`` to ``n8`` against it; or empty.

    By the square root, as a single letter can be far stronger than any character of a phrase.
    """
    step = round(LEVELS * sqrt(abs(value) / largest)) if largest else 0
    return f"{'p' if value > 0.0 else 'n'}{step}" if step else ""


def meter(value: float, largest: float) -> str:
    """A bar from the left, as long as its share of the largest value."""
    share = 100.0 * abs(value) / largest if largest else 0.0
    return f'<span class="meter"><i class="{"neg" if value < 0.0 else "pos"}" style="width:{share:.1f}%"></i></span>'


def strength_cells(value: float, largest: float) -> str:
    """A number and its bar."""
    return f'<td class="number">{signed(value)}</td><td class="bar">{meter(value, largest)}</td>'


def feature_cells(text: str, kind: str, block: str, below: str = "") -> str:
    """What a feature is; ``below`` its name may stand more, as HTML."""
    return (
        f'<th scope="row">{named(text)}{below}</th>'
        f'<td class="kind">{shown(kind)}</td><td class="kind">{named(block)}</td>'
    )


def number_cell(text: str) -> str:
    """A cell of a table that is aligned as numbers are."""
    return f'<td class="number">{text}</td>'


def table(caption: str, columns: Sequence[str], rows: Iterable[str], foot: Iterable[str] = ()) -> str:
    """A table from rows as HTML; the caption and columns are plain text."""
    head = "".join(f'<th scope="col">{shown(column)}</th>' for column in columns)
    end = "".join(foot)
    return (
        f'<div class="wide"><table><caption>{shown(caption)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody>{f'<tfoot>{end}</tfoot>' if end else ''}</table></div>"
    )


def count(n: int, noun: str) -> str:
    """A number of things: "1 feature", "2 features"."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


@cache
def stylesheet() -> str:
    """The style of all fragments; read once."""
    return files(__package__).joinpath("style.css").read_text(encoding="utf-8")


def anchors(*said: str) -> str:
    """What anchors begin with, that those of two outputs in one notebook differ; always the same of the same."""
    digest = blake2b("\0".join(said).encode(), digest_size=4)
    return f"graft-{digest.hexdigest()}-"


def fragment(*parts: str) -> str:
    """What can stand anywhere in a page: the style in it is for what is inside alone."""
    return f'<div class="graft">\n<style>\n{stylesheet()}</style>\n{"".join(parts)}\n</div>\n'


def whole_page(title: str, body: str) -> str:
    """A document of its own. Its language is that of the words around the text."""
    return (
        '<!doctype html>\n<html lang="en" dir="ltr">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n<title>{shown(title)}</title>\n'
        f"</head>\n<body>\n{body}</body>\n</html>\n"
    )
