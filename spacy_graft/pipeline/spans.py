"""Contributions as spans, for displaCy and whatever else reads ``doc.spans``."""

from __future__ import annotations

from spacy.language import Language
from spacy.tokens import Doc, Span, SpanGroup

from ..explain.html.markup import signed_number
from .render import explained
from .textcat import TextCatGraft


def contribution_spans(
    doc: Doc, component: TextCatGraft | Language, label: str | None = None, key: str = "graft"
) -> SpanGroup:
    """Write the places of a document's evidence into ``doc.spans[key]``, replacing what is there.

    Each is the tokens that it touches; its label is what the feature adds to the score, as ``+0.52``, the same at each
    of its places, and its ``id_`` the feature. ``displacy.render(doc, style="span", options={"spans_key": key})``
    shows them.

    Parameters
    ----------
    doc : Doc
        With the annotation that the component needs.
    component : TextCatGraft or Language
        The component, or the pipeline that has it.
    label : str, optional
        Whose score; by default that of the most probable label.
    key : str

    Returns
    -------
    SpanGroup
        The strongest features first. Features without a place in the text are not among them.

    Raises
    ------
    ValueError
        If there is no such label, or the pipeline does not have one component of spacy-graft.
    """
    its, _ = explained(doc, component, label)
    spans = {
        (span.first_token, span.end_token, part.text): signed_number(part.contribution, 2)
        for part in its.contributions
        for member in part.members
        for place in member.places
        for span in place
    }
    doc.spans[key] = [
        Span(doc, first, end, label=strength, span_id=text) for (first, end, text), strength in spans.items()
    ]
    return doc.spans[key]
