"""``spacy_graft.render``: documents, explanations and models as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TypeVar

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..explain.html.dataset import dataset_view
from ..explain.html.markup import Html, fragment, interactive_page, side_by_side
from ..explain.html.page import label_view
from ..explain.scores import Explanation, LabelExplanation
from ..messages import did_you_mean, listed
from .annotation import annotated_before
from .components import graft_component
from .dataset import dataset_figures
from .textcat import LIVE_COMPONENTS, TextCatGraft

STYLES = ("text", "table", "global")
#: What can be rendered.
Rendered = Doc | Explanation | TextCatGraft | Language

Kind = TypeVar("Kind")


def render(
    what: Rendered | Sequence[Rendered],
    component: TextCatGraft | Language | None = None,
    *,
    label: str | None = None,
    against: str | None = None,
    style: str = "text",
    fragments: bool = False,
    examples: Iterable[Doc | Example] = (),
    page: bool = False,
) -> Html:
    """Render the explanation of a prediction, or the features of a model, as HTML.

    The HTML loads no external resources. Only a complete page has a script, which sorts and filters tables.

    Parameters
    ----------
    what : Doc, Explanation, TextCatGraft or Language, or a sequence of these
        A document with the annotation that the blocks need, or the result of the component's ``explain``. For
        ``style="global"``, a component or a pipeline with one graft component. Several are shown side by side.
    component : TextCatGraft or Language, optional
        The component that explains a ``Doc``, or a pipeline with one graft component; by default the only component in
        this process that shares the document's vocab.
    label : str, optional
        The label to explain. The default is the most probable label of a document, and all labels of a model.
    against : str, optional
        The label that it is compared with, for a ``Doc`` and labels that exclude each other; by default the most
        probable other label.
    style : {"text", "table", "global"}
        ``"text"``: the text, each word coloured by what it contributes, with dependency arcs and a table of words.
        ``"table"``: the table. ``"global"``: the features of the model that decide most.
    fragments : bool
        Whether to show features in the place of words and phrases: each character is coloured by its share, and tables
        are of features.
    examples : iterable of Doc or Example
        For ``"global"``: documents to search for examples of features in context; the first 200 are read. Annotated
        examples are all read and classified: the page then begins with what decides and the errors.
    page : bool
        Whether to return a complete HTML document instead of a fragment for a notebook or another page.

    Returns
    -------
    Html
        A string that a notebook shows.

    Raises
    ------
    ValueError
        If there is no such style or label, ``what`` does not fit the style, no component or several could explain the
        document, the component has no weights, or the document lacks an annotation.
    """
    if style not in STYLES:
        raise ValueError(f"There is no style {style!r}.{did_you_mean(style, STYLES)} The styles: {listed(STYLES)}.")
    several = isinstance(what, Sequence) and not isinstance(what, Doc | str)
    shown: Sequence[Rendered] = what if several else [what]  # type: ignore[assignment,list-item]
    if not shown:
        raise ValueError("There is nothing to render: the sequence is empty.")
    examples = list(examples) if len(shown) > 1 else examples
    if style == "global":
        if against is not None:
            raise ValueError("style='global' shows a model: against is for a document. Remove it.")
        rendered = [render_model(one, label, examples, fragments) for one in shown]
    else:
        rendered = [render_document(one, component, label, against, style, fragments) for one in shown]
    title, body = " | ".join(title for title, _ in rendered), rendered[0][1]
    if len(rendered) > 1:
        body = side_by_side([html for _, html in rendered])
    return Html(interactive_page(title, body) if page else body)


def render_model(
    what: object, label: str | None, examples: Iterable[Doc | Example], fragments: bool
) -> tuple[str, str]:
    """Title and HTML of the features of a model."""
    if not isinstance(what, TextCatGraft | Language):
        raise ValueError(f"style='global' shows a model: give a component or a pipeline, not {type(what).__name__}.")
    component = as_component(what)
    component.require_initialized()
    docs, data = read_examples(what, component, examples, fragments)
    return f"{component.name}: features", fragment(component.overview(label, docs, data))


def read_examples(
    what: TextCatGraft | Language, component: TextCatGraft, examples: Iterable[Doc | Example], fragments: bool
) -> tuple[Iterable[Doc], str]:
    """The documents to search for examples in context, and HTML about the whole data set if they are annotated."""
    given = iter(examples)
    first = next(given, None)
    if not isinstance(first, Example):
        return (checked(doc, Doc) for doc in chain([] if first is None else [first], given)), ""
    found: Iterable[Example] = (checked(example, Example) for example in chain([first], given))
    annotated = list(found if isinstance(what, TextCatGraft) else annotated_before(what, component, found))
    figures = dataset_figures(component, annotated, fragments)
    return (one.predicted for one in annotated), dataset_view(figures, fragments)


def checked(value: object, kind: type[Kind]) -> Kind:
    """The value, which must be of the same kind as the first one."""
    if not isinstance(value, kind):
        raise ValueError(
            f"examples must be all Docs or all annotated Examples, but one of them is {type(value).__name__} where "
            f"{kind.__name__} is expected."
        )
    return value


def render_document(
    what: object, component: object, label: str | None, against: str | None, style: str, fragments: bool
) -> tuple[str, str]:
    """Title and HTML of an explained document."""
    if isinstance(what, Explanation):
        if against is not None:
            raise ValueError("An explanation is of what it was made for: give against to explain, not to render.")
        lang, explanation, probabilities = "", select_label(what, label), what.probabilities
    elif isinstance(what, Doc):
        whole = explanation_of(what, component, label, against)
        lang, explanation, probabilities = what.lang_, whole.best, whole.probabilities
    else:
        raise ValueError(
            f"style={style!r} shows a document: give a Doc with the component, or an Explanation, not "
            f"{type(what).__name__}. A model is shown by style='global'."
        )
    title = f"{explanation.label}: {' '.join(explanation.source.text.split())[:60]}"
    return title, label_view(explanation, probabilities, lang, style, fragments)


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


def explanation_of(doc: Doc, component: object, label: str | None, against: str | None = None) -> Explanation:
    """The explanation of one label for a document, by default of the most probable one."""
    textcat = component_of_vocab(doc) if component is None else as_component(component)
    return textcat.explain_best(doc, label, against=against)


def component_of_vocab(doc: Doc) -> TextCatGraft:
    """The only initialized component that shares the vocab of a document."""
    live = [reference() for reference in LIVE_COMPONENTS.valuerefs()]  # a copy: other threads can add some
    found = [one for one in live if one is not None and one.vocab is doc.vocab and one.is_initialized]
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
