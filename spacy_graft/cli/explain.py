"""``explain``: what speaks for and against the labels of a text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..files import writing
from ..messages import one_line
from .common import (
    Component,
    Model,
    OutputFormat,
    add_row,
    as_table,
    check_label,
    load,
    print_json,
    printable,
    show,
    table_of,
)
from .inputs import Bad, IdField, InputFormat, Item, OnError, TextField

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text
    from spacy.language import Language
    from spacy.tokens import Doc

    from ..explain.contributions import Contribution, LabelExplanation
    from ..explain.explanation import Explanation
    from ..pipeline.textcat import TextCatGraft

EXAMPLES = """
spacy-graft explain training/model-best "Return the inverse of a matrix."
spacy-graft explain training/model-best review.txt --label positive --top 5
spacy-graft explain training/model-best reviews.jsonl --text-field body > why.jsonl
cat review.txt | spacy-graft explain training/model-best - --html why.html
"""

#: What a table shows where nothing else is asked for: labels, contributions of each, characters around a place.
LABELS, TOP, CONTEXT = 3, 10, 24


def explain(
    model: Model,
    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT|FILE|-",
            help="A text; or a file: a document, or one a line if its name ends in .jsonl or .jsonl.gz; or - for "
            "standard input.",
        ),
    ],
    label: Annotated[str | None, typer.Option(help="The only label to explain.")] = None,
    top: Annotated[
        int | None, typer.Option(min=1, help="Contributions of each label; 10 in tables, all in JSON.")
    ] = None,
    format: OutputFormat = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page with the marked texts.")] = None,
    input_format: Annotated[InputFormat | None, typer.Option(help="What a file or standard input holds.")] = None,
    text_field: TextField = "text",
    id_field: IdField = "id",
    on_error: Bad = OnError.fail,
    component: Component = None,
) -> None:
    """Tell what speaks for and against the labels of a text.

    JSON is an object a line and document: line and id, if there are any, the text, and each label with its probability,
    score, intercept and contributions, which sum to the score.
    """
    from .texts import texts

    nlp, graft = load(model, component)
    check_label(graft, label)
    items = texts(text, text_field, input_format, on_error)
    if html is not None:
        write_page(html, (explained for _, explained in explanations(nlp, graft, items, None, on_error)), label)
    elif as_table(format):
        for item, explanation in explanations(nlp, graft, items, label, on_error):
            show(explanation_table(explanation, item, id_field, top or TOP))
    else:
        for item, explanation in explanations(nlp, graft, items, label, on_error):
            print_json({**item.names(id_field), **as_dict(explanation, top)})


def explanations(
    nlp: Language, graft: TextCatGraft, items: Iterator[Item], label: str | None, on_error: OnError
) -> Iterator[tuple[Item, Explanation]]:
    """The explanations of a stream of texts."""
    from .streaming import stream

    def use(doc: Doc) -> Explanation:
        return graft.explain(doc, label)

    return stream(nlp, items, use, on_error)


def write_page(path: Path, explanations: Iterator[Explanation], label: str | None) -> None:
    """A page of HTML with all documents, each with the probabilities of all labels."""
    from ..explain.html.markup import whole_page
    from ..pipeline.render import render

    with writing(path) as file:
        documents = [render(explanation, label=label) for explanation in explanations]
        file.write(whole_page("Explanations", "\n".join(documents)).encode())


def as_dict(explanation: Explanation, top: int | None) -> dict[str, Any]:
    """The explanation with no more contributions than are asked for."""
    value = explanation.to_dict()
    for label in value["labels"]:
        label["contributions"] = label["contributions"][:top]
    return value


def explanation_table(explanation: Explanation, item: Item, id_field: str, top: int) -> Table:
    """The likeliest labels with their strongest contributions."""
    names = ", ".join(f"{key} {value}" for key, value in item.names(id_field).items())
    table = table_of(names or excerpt(explanation.text), "label", "adds", "feature", "kind", "where", numbers=["adds"])
    shown = sorted(explanation.labels, key=lambda label: -label.probability)[:LABELS]
    for label in shown:
        add_label(table, label, explanation.text, top)
    table.caption = caption(len(explanation.labels) - len(shown))
    return table


def add_label(table: Table, label: LabelExplanation, text: str, top: int) -> None:
    """Rows of one label."""
    from rich.text import Text

    add_row(table, Text(label.label, "bold"), Text(f"{label.probability:.3f}", "bold"), "(probability)", "", "")
    add_row(table, "", f"{label.intercept:+.3f}", "(intercept)", "", "")
    for part in label.contributions[:top]:
        add_row(table, "", f"{part.contribution:+.3f}", part.text, part.kind, where(part, text))
    rest = label.contributions[top:]
    if rest:
        total = sum(part.contribution for part in rest)
        add_row(table, "", f"{total:+.3f}", f"({len(rest)} more)", "", "")
    table.add_section()


def caption(n_left_out: int) -> str | None:
    """What the table does not show."""
    return f"{n_left_out} less likely labels: --label, or --format json" if n_left_out else None


def where(part: Contribution, text: str) -> Text:
    """The text around the first place of a contribution, with the place marked."""
    from rich.text import Text

    from ..explain.contributions import places_of

    shown = Text()
    for start, end in places_of(part)[:1]:
        before, after = max(start - CONTEXT, 0), end + CONTEXT
        shown.append(("…" if before else "") + flat(text[before:start]))
        shown.append(flat(text[start:end]), "bold reverse")
        shown.append(flat(text[end:after]) + ("…" if after < len(text) else ""))
    return shown


def flat(text: str) -> str:
    """In one line, character by character."""
    return printable("".join(" " if character.isspace() else character for character in text)).replace("␣", " ")


def excerpt(text: str) -> str:
    """How a text begins."""
    line = one_line(text[:200])
    return line if len(line) <= 60 else line[:59] + "…"
