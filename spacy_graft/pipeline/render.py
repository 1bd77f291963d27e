"""``spacy_graft.render``: documents, explanations and models as HTML."""

from __future__ import annotations

from collections.abc import Iterable

from spacy.language import Language
from spacy.tokens import Doc

from ..explain.contributions import LabelExplanation
from ..explain.explanation import Explanation
from ..explain.html.markup import fragment, whole_page
from ..explain.html.overview import overview
from ..explain.html.page import label_view
from ..messages import did_you_mean, listed
from ..model.sparse_linear import snapshot_of
from .components import graft_component
from .textcat import LIVE_COMPONENTS, TextCatGraft

STYLES = ("text", "table", "global")


def render(
    what: Doc | Explanation | TextCatGraft | Language,
    component: TextCatGraft | Language | None = None,
    *,
    label: str | None = None,
    style: str = "text",
    examples: Iterable[Doc] = (),
    page: bool = False,
) -> str:
    """Render the explanation of a prediction, or the features of a model, as HTML.

    The HTML has no scripts and loads no external resources.

    Parameters
    ----------
    what : Doc, Explanation, TextCatGraft or Language
        A document with the annotation that the blocks need, or the result of the component's ``explain``. For
        ``style="global"``, a component or a pipeline with one graft component.
    component : TextCatGraft or Language, optional
        The component that explains a ``Doc``, or a pipeline with one graft component; by default the only component in
        this process that shares the document's vocab.
    label : str, optional
        The label to explain. The default is the most probable label of a document, and all labels of a model.
    style : {"text", "table", "global"}
        ``"text"``: the text, each character coloured by its share of the score, with dependency arcs. ``"table"``: the
        table of contributions. ``"global"``: the strongest features of the model.
    examples : iterable of Doc
        For ``"global"``: documents to search for examples of features in context; the first 200 are read.
    page : bool
        Whether to return a complete HTML document instead of a fragment for a notebook or another page.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If there is no such style or label, ``what`` does not fit the style, no component or several could explain the
        document, the component has no weights, or the document lacks an annotation.
    """
    if style not in STYLES:
        raise ValueError(f"There is no style {style!r}.{did_you_mean(style, STYLES)} The styles: {listed(STYLES)}.")
    if style == "global":
        title, body = render_model(what, label, examples)
    else:
        title, body = render_document(what, component, label, style)
    return whole_page(title, body) if page else body


def render_model(what: object, label: str | None, examples: Iterable[Doc]) -> tuple[str, str]:
    """Title and HTML of the features of a model."""
    if not isinstance(what, TextCatGraft | Language):
        raise ValueError(f"style='global' shows a model: give a component or a pipeline, not {type(what).__name__}.")
    component = as_component(what)
    labels = component.selected_labels(label)
    page = overview(component.name, snapshot_of(component.model), component.labels, labels, examples)
    return f"{component.name}: features", fragment(page)


def render_document(what: object, component: object, label: str | None, style: str) -> tuple[str, str]:
    """Title and HTML of an explained document."""
    if isinstance(what, Explanation):
        lang, text, explanation = "", what.text, select_label(what, label)
        by_label = {other.label: other.probability for other in what}
    elif isinstance(what, Doc):
        lang, text = what.lang_, what.text
        explanation, by_label = explanation_of(what, component, label)
    else:
        raise ValueError(
            f"style={style!r} shows a document: give a Doc with the component, or an Explanation, not "
            f"{type(what).__name__}. A model is shown by style='global'."
        )
    return f"{explanation.label}: {' '.join(text.split())[:60]}", label_view(text, explanation, by_label, lang, style)


def select_label(explanation: Explanation, label: str | None) -> LabelExplanation:
    """The explanation of one label, by default of the most probable one."""
    if label is None:
        return explanation.best
    labels = [other.label for other in explanation]
    if label not in labels:
        raise ValueError(
            f"The explanation has no label {label!r}.{did_you_mean(label, labels)} Its labels: {listed(labels)}."
        )
    return explanation[label]


def explanation_of(doc: Doc, component: object, label: str | None) -> tuple[LabelExplanation, dict[str, float]]:
    """The explanation of one label for a document, and the probabilities of all labels."""
    textcat = component_of_vocab(doc) if component is None else as_component(component)
    return textcat.explain_best(doc, label)


def component_of_vocab(doc: Doc) -> TextCatGraft:
    """The only initialized component that shares the vocab of a document."""
    found = [component for component in LIVE_COMPONENTS if component.vocab is doc.vocab and component.is_initialized]
    if len(found) != 1:
        raise ValueError(
            f"{'Several components share' if found else 'No component shares'} the vocab of the document: give the "
            f"component or its pipeline, render(doc, nlp)."
        )
    return found[0]


def as_component(source: object) -> TextCatGraft:
    """The component itself, or the only graft component of a pipeline."""
    if isinstance(source, TextCatGraft):
        return source
    if not isinstance(source, Language):
        raise ValueError(f"Give a graft component or a pipeline with one, not {type(source).__name__}.")
    return graft_component(source)
