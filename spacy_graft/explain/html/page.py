"""The views of an explained document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .document import document_view
from .markup import escaped, fragment
from .scores import contribution_table, heading, probability_bars, word_table

if TYPE_CHECKING:
    from ..scores import LabelExplanation


def label_view(
    explanation: LabelExplanation,
    by_label: Mapping[str, float],
    lang: str = "",
    style: str = "text",
    fragments: bool = False,
    title: str = "",
) -> str:
    """The explanation of one label as a fragment of HTML.

    Parameters
    ----------
    explanation : LabelExplanation
    by_label : mapping of str to float
        Probabilities of all labels.
    lang : str
        Language of the text; empty if unknown.
    style : {"text", "table"}
        The highlighted text, words and phrases, and the table of features folded away; or tables alone.
    fragments : bool
        Whether to show features in the place of words and phrases.
    title : str
        What names the text, if anything does.
    """
    named = f'<p class="note">{escaped(title)}</p>' if title else ""
    features, bars = contribution_table(explanation), probability_bars(by_label, explanation)
    shown = (
        features if fragments else word_table(explanation) + f"<details><summary>Features</summary>{features}</details>"
    )
    text = "" if style == "table" else document_view(explanation, lang, fragments)
    return fragment(named + heading(explanation), text + bars + shown)


def words_view(explanation: LabelExplanation) -> str:
    """The words and phrases of an explanation as a fragment of HTML."""
    return fragment(heading(explanation), word_table(explanation))
