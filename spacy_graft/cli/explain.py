"""``explain``: the prediction for a text, as contributions of features to the score of each label."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..files import writing
from ..messages import one_line
from .common import (
    ComponentOption,
    FormatOption,
    ModelArgument,
    add_row,
    check_label,
    load_pipeline,
    make_table,
    print_json,
    print_tables,
    printable,
    wants_table,
)
from .inputs import IdFieldOption, InputFormat, InputText, OnError, OnErrorOption, TextFieldOption

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from ..explain.contributions import Contribution, LabelExplanation
    from ..explain.explanation import Explanation

EXAMPLES = """
spacy-graft explain training/model-best "Return the inverse of a matrix."
spacy-graft explain training/model-best review.txt --label positive --top 5
spacy-graft explain training/model-best reviews.jsonl --text-field body > explanations.jsonl
cat review.txt | spacy-graft explain training/model-best - --html explanation.html
"""

#: Limits of tables: labels, contributions of each label, characters before and after an occurrence.
MAX_LABELS_SHOWN, MAX_CONTRIBUTIONS, CONTEXT_LENGTH = 3, 10, 24


def explain_command(
    model: ModelArgument,
    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT|FILE|-",
            help="A text; a file with one text, or with JSON lines (.jsonl, .jsonl.gz); or - for standard input.",
        ),
    ],
    label: Annotated[str | None, typer.Option(help="Explain only this label.")] = None,
    top: Annotated[
        int | None,
        typer.Option(min=1, help="Number of contributions for each label; by default 10 in tables, else all."),
    ] = None,
    format: FormatOption = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write an HTML page with the texts marked.")] = None,
    input_format: Annotated[
        InputFormat | None, typer.Option(help="Format of a file or of standard input: one text, or JSON lines.")
    ] = None,
    text_field: TextFieldOption = "text",
    id_field: IdFieldOption = "id",
    on_error: OnErrorOption = OnError.fail,
    component: ComponentOption = None,
) -> None:
    """Explain the prediction for a text.

    The score of a label is its intercept plus the contributions of the features that occur in the text. JSON output has
    one object per document, on a line of its own: line and id (for JSON lines), the text, and for each label
    probability, score, intercept and contributions.
    """
    from .streaming import TextStream
    from .texts import read_texts

    nlp, graft = load_pipeline(model, component)
    check_label(graft, label)
    # A page shows the probabilities of all labels.
    explained_label = label if html is None else None
    stream = TextStream(nlp, lambda doc: graft.explain(doc, explained_label), on_error)
    explanations = stream.run(read_texts(text, text_field, input_format, on_error))
    if html is not None:
        write_page(html, (explanation for _, explanation in explanations), label)
    elif wants_table(format):
        for source, explanation in explanations:
            print_tables(explanation_table(explanation, source, id_field, top or MAX_CONTRIBUTIONS))
    else:
        for source, explanation in explanations:
            print_json({**source.identity(id_field), **limited_explanation(explanation, top)})


def write_page(path: Path, explanations: Iterator[Explanation], label: str | None) -> None:
    """Write an HTML page with all documents."""
    from ..explain.html.markup import whole_page
    from ..pipeline.render import render

    with writing(path) as file:
        documents = [render(explanation, label=label) for explanation in explanations]
        file.write(whole_page("Explanations", "\n".join(documents)).encode())


def limited_explanation(explanation: Explanation, top: int | None) -> dict[str, Any]:
    """Return an explanation as plain values, with at most ``top`` contributions for each label."""
    value = explanation.to_dict()
    for label in value["labels"]:
        label["contributions"] = label["contributions"][:top]
    return value


def explanation_table(explanation: Explanation, source: InputText, id_field: str, top: int) -> Table:
    """Make a table of the most probable labels with their largest contributions."""
    title = ", ".join(f"{key} {value}" for key, value in source.identity(id_field).items())
    columns = ("label", "contribution", "feature", "kind", "occurrence")
    table = make_table(title or shortened_text(explanation.text), *columns, numbers=["contribution"])
    shown = sorted(explanation.labels, key=lambda label: -label.probability)[:MAX_LABELS_SHOWN]
    for label in shown:
        add_label(table, label, explanation.text, top)
    n_hidden = len(explanation.labels) - len(shown)
    table.caption = f"{n_hidden} less probable labels: --label, or --format json" if n_hidden else None
    return table


def add_label(table: Table, label: LabelExplanation, text: str, top: int) -> None:
    """Add the rows of one label."""
    from rich.text import Text

    add_row(table, Text(label.label, "bold"), Text(f"{label.probability:.3f}", "bold"), "(probability)", "", "")
    add_row(table, "", f"{label.intercept:+.3f}", "(intercept)", "", "")
    for part in label.contributions[:top]:
        add_row(table, "", f"{part.contribution:+.3f}", part.text, part.kind, first_occurrence(part, text))
    hidden = label.contributions[top:]
    if hidden:
        total = sum(part.contribution for part in hidden)
        add_row(table, "", f"{total:+.3f}", f"({len(hidden)} more)", "", "")
    table.add_section()


def first_occurrence(part: Contribution, text: str) -> Text:
    """Return the first occurrence of a feature, highlighted in its context."""
    from rich.text import Text

    from ..explain.contributions import places_of

    shown = Text()
    for start, end in places_of(part)[:1]:
        before, after = max(start - CONTEXT_LENGTH, 0), end + CONTEXT_LENGTH
        shown.append(("…" if before else "") + single_spaces(text[before:start]))
        shown.append(single_spaces(text[start:end]), "bold reverse")
        shown.append(single_spaces(text[end:after]) + ("…" if after < len(text) else ""))
    return shown


def single_spaces(text: str) -> str:
    """Replace each white-space character by a space."""
    return printable("".join(" " if character.isspace() else character for character in text)).replace("␣", " ")


def shortened_text(text: str) -> str:
    """Return the beginning of a text in one line."""
    line = one_line(text[:200])
    return line if len(line) <= 60 else line[:59] + "…"
