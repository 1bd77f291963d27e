"""Contributions as spans of a document, for displaCy and other code that reads ``doc.spans``."""

from __future__ import annotations

from spacy.language import Language
from spacy.tokens import Doc, Span, SpanGroup

from ..explain.contributions import all_spans
from ..explain.html.markup import signed_number
from .render import explanation_of
from .textcat import TextCatGraft


def contribution_spans(
    doc: Doc, component: TextCatGraft | Language, label: str | None = None, key: str = "graft"
) -> SpanGroup:
    """Set ``doc.spans[key]`` to the places of the features that contribute to a label's score.

    A span covers the tokens of a place. Its label is the contribution of the feature, such as ``+0.52``; it is the same
    at all places of the feature. Its ``id_`` is the feature. Display them with ``displacy.render(doc, style="span",
    options={"spans_key": key})``. Spans that were there under the key are replaced.

    Parameters
    ----------
    doc : Doc
        A document with the annotation that the blocks need.
    component : TextCatGraft or Language
        The component, or a pipeline with one graft component.
    label : str, optional
        The explained label; by default the most probable one.
    key : str
        Key of ``doc.spans``.

    Returns
    -------
    SpanGroup
        In descending order of contribution, in absolute value. Features without a place in the text have no span.

    Raises
    ------
    ValueError
        If there is no such label, the component has no weights, the document lacks an annotation, or the pipeline does
        not have exactly one graft component.
    """
    parts = explanation_of(doc, component, label).best.contributions
    # Both items of a combination may have the same place; features of several blocks may have the same name.
    places = {(k, span.first_token, span.end_token): None for k, part in enumerate(parts) for span in all_spans(part)}
    doc.spans[key] = [
        Span(doc, first, end, label=signed_number(parts[k].contribution, 2), span_id=parts[k].text)
        for k, first, end in places
    ]
    return doc.spans[key]
