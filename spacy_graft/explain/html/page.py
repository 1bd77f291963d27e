"""What the views of a document are put together to."""

from __future__ import annotations

from collections.abc import Mapping

from ..contributions import LabelExplanation
from .document import document_view
from .markup import fragment
from .scores import contribution_table, heading, probabilities


def label_view(
    text: str, its: LabelExplanation, by_label: Mapping[str, float], lang: str = "", style: str = "text"
) -> str:
    """The explanation of one label as a fragment of HTML.

    Parameters
    ----------
    text : str
        Of the document.
    its : LabelExplanation
    by_label : mapping of str to float
        The probabilities of all labels.
    lang : str
        Of the text; empty if it is not known.
    style : {"text", "table"}
        The marked text with the numbers folded away, or the numbers alone.
    """
    numbers, bars = contribution_table(its), probabilities(by_label, its.label)
    if style == "table":
        return fragment(heading(its), numbers + bars)
    details = f"<details><summary>All in numbers</summary>{numbers}</details>"
    return fragment(heading(its), document_view(text, its, lang) + bars + details)
