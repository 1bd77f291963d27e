"""The view of an explained document."""

from __future__ import annotations

from collections.abc import Mapping

from ..contributions import LabelExplanation
from .document import document_view
from .markup import fragment
from .scores import contribution_table, heading, probability_bars


def label_view(
    text: str, explanation: LabelExplanation, by_label: Mapping[str, float], lang: str = "", style: str = "text"
) -> str:
    """The explanation of one label as a fragment of HTML.

    Parameters
    ----------
    text : str
        Text of the document.
    explanation : LabelExplanation
    by_label : mapping of str to float
        Probabilities of all labels.
    lang : str
        Language of the text; empty if unknown.
    style : {"text", "table"}
        The highlighted text with the table of contributions folded away, or the table alone.
    """
    contributions, bars = contribution_table(explanation), probability_bars(by_label, explanation.label)
    if style == "table":
        return fragment(heading(explanation), contributions + bars)
    details = f"<details><summary>Table of contributions</summary>{contributions}</details>"
    return fragment(heading(explanation), document_view(text, explanation, lang) + bars + details)
