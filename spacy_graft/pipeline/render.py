"""``spacy_graft.render``: a document, an explanation or a model as HTML."""

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
from .components import graft_component
from .textcat import LIVE, TextCatGraft

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
    """Show why a document is classified as it is, or what a model knows, as HTML that loads nothing and runs nothing.

    Parameters
    ----------
    what : Doc, Explanation, TextCatGraft or Language
        A document with the annotation that the component needs, or what ``explain`` gave of one; for ``"global"``, a
        component or the pipeline that has it.
    component : TextCatGraft or Language, optional
        What a ``Doc`` is explained by; by default the only component in this process that shares its vocab.
    label : str, optional
        The label to explain; by default the most probable one, and of a model all of them.
    style : str
        ``"text"``: the document, its characters as strong as their share in the score, with arcs from heads to
        modifiers. ``"table"``: the contributions in numbers. ``"global"``: the strongest features of the model.
    examples : iterable of Doc
        For ``"global"``: where to look for features in context; the first 200 are read.
    page : bool
        Whether to give a whole page, to be saved; otherwise what can stand in a page or a notebook.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If there is no such style or label, or nothing to explain a document by.
    """
    if style not in STYLES:
        raise ValueError(f"There is no style {style!r}.{did_you_mean(style, STYLES)} The styles: {listed(STYLES)}.")
    if style == "global":
        title, body = of_model(what, label, examples)
    else:
        title, body = of_document(what, component, label, style)
    return whole_page(title, body) if page else body


def of_model(what: object, label: str | None, examples: Iterable[Doc]) -> tuple[str, str]:
    """Title and HTML of a model."""
    if not isinstance(what, TextCatGraft | Language):
        raise ValueError(f"style='global' shows a model: give a component or a pipeline, not {type(what).__name__}.")
    component = component_of(what)
    labels = component.chosen_labels(label)
    intercepts = dict(zip(component.labels, component.model.get_param("b").tolist(), strict=True))
    page = overview(component.name, component.model, component.features(), intercepts, labels, examples)
    return f"{component.name}: features", fragment(page)


def of_document(what: object, component: object, label: str | None, style: str) -> tuple[str, str]:
    """Title and HTML of a document."""
    if isinstance(what, Explanation):
        lang, text, its = "", what.text, chosen(what, label)
        by_label = {other.label: other.probability for other in what}
    elif isinstance(what, Doc):
        lang, text = what.lang_, what.text
        its, by_label = explained(what, component, label)
    else:
        raise ValueError(
            f"style={style!r} shows a document: give a Doc with the component, or an Explanation, not "
            f"{type(what).__name__}. A model is shown by style='global'."
        )
    return f"{its.label}: {' '.join(text.split())[:60]}", label_view(text, its, by_label, lang, style)


def chosen(explanation: Explanation, label: str | None) -> LabelExplanation:
    """One label of an explanation, by default the most probable one."""
    if label is None:
        return explanation.best
    labels = [its.label for its in explanation]
    if label not in labels:
        raise ValueError(
            f"The explanation has no label {label!r}.{did_you_mean(label, labels)} Its labels: {listed(labels)}."
        )
    return explanation[label]


def explained(doc: Doc, component: object, label: str | None) -> tuple[LabelExplanation, dict[str, float]]:
    """One label of a document, and the probabilities of all."""
    textcat = component_of_vocab(doc) if component is None else component_of(component)
    probabilities = dict(zip(textcat.labels, textcat.predict([doc])[0].tolist(), strict=True))
    best = max(probabilities, key=probabilities.__getitem__)
    return textcat.explain(doc, best if label is None else label).best, probabilities


def component_of_vocab(doc: Doc) -> TextCatGraft:
    """The only component that shares the vocab of a document."""
    found = [component for component in LIVE if component.vocab is doc.vocab and component.is_initialized]
    if len(found) != 1:
        raise ValueError(
            f"{'Several components share' if found else 'No component shares'} the vocab of the document: give the "
            f"component or its pipeline, render(doc, nlp)."
        )
    return found[0]


def component_of(source: object) -> TextCatGraft:
    """The component itself, or the only one of its kind in a pipeline."""
    if isinstance(source, TextCatGraft):
        return source
    if not isinstance(source, Language):
        raise ValueError(f"Give a component of spacy-graft or a pipeline that has one, not {type(source).__name__}.")
    return graft_component(source)
