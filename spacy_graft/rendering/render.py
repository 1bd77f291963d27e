"""``spacy_graft.render``: a document, an explanation or a model as HTML."""

from __future__ import annotations

from collections.abc import Iterable

from spacy.language import Language
from spacy.tokens import Doc

from ..pipeline.explain import Explanation, LabelExplanation
from ..pipeline.textcat import LIVE, TextCatGraft, graft_components
from ..suggestions import did_you_mean
from .document import document_view
from .markup import fragment, whole_page
from .overview import overview
from .scores import contribution_table, heading, probabilities

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
        raise ValueError(
            f"There is no style {style!r}.{did_you_mean(style, STYLES)} The styles: {', '.join(map(repr, STYLES))}."
        )
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
    return f"{component.name}: features", fragment(overview(component, label, examples))


def of_document(what: object, component: object, label: str | None, style: str) -> tuple[str, str]:
    """Title and HTML of a document."""
    if isinstance(what, Explanation):
        lang, its = "", chosen(what, label)
        by_label = {other.label: other.probability for other in what}
        text = what.text
    elif isinstance(what, Doc):
        lang, text = what.lang_, what.text
        its, by_label = explained(what, component, label)
    else:
        raise ValueError(
            f"style={style!r} shows a document: give a Doc with the component, or an Explanation, not "
            f"{type(what).__name__}. A model is shown by style='global'."
        )
    numbers, bars = contribution_table(its), probabilities(by_label, its.label)
    if style == "table":
        view = numbers + bars
    else:
        details = f"<details><summary>All in numbers</summary>{numbers}</details>"
        view = document_view(text, its, lang) + bars + details
    body = fragment(heading(its), view)
    return f"{its.label}: {' '.join(text.split())[:60]}", body


def chosen(explanation: Explanation, label: str | None) -> LabelExplanation:
    """One label of an explanation, by default the most probable one."""
    if label is None:
        return explanation.best
    labels = [its.label for its in explanation]
    if label not in labels:
        raise ValueError(
            f"The explanation has no label {label!r}.{did_you_mean(label, labels)} Its labels: "
            f"{', '.join(map(repr, labels))}."
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
    found = graft_components(source)
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        raise ValueError(f"The pipeline has several components: choose one, as nlp.get_pipe({next(iter(found))!r}).")
    raise ValueError(f"The pipeline has no component of spacy-graft; it has {', '.join(source.pipe_names) or 'none'}.")
