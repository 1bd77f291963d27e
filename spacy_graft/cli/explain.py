"""``explain``: the prediction for a text, as contributions of features to the score of each label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..files import writing
from ..messages import count, one_line, printable
from .common import (
    ComponentOption,
    FormatOption,
    ModelArgument,
    add_row,
    load_pipeline,
    make_table,
    print_json,
    print_message,
    print_tables,
    refuse_options,
    refuse_other_file,
    refuse_own_input,
    wants_table,
    warn_of_metadata,
)
from .inputs import IdFieldOption, InputFormat, InputText, OnError, OnErrorOption, TextFieldOption

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from ..explain.scores import Explanation, LabelExplanation
    from ..explain.words import WordEvidence

EXAMPLES = """
spacy-graft explain training/model-best "Return the inverse of a matrix."
spacy-graft explain training/model-best review.txt --label positive --against mixed --top 5
spacy-graft explain training/model-best reviews.jsonl --text-field body > explanations.jsonl
cat review.txt | spacy-graft explain training/model-best - --html explanation.html
"""

#: Limits of tables: labels, contributions of each label, features of a word, characters before and after an occurrence.
MAX_LABELS_SHOWN, MAX_CONTRIBUTIONS, MAX_FEATURES_OF_WORD, CONTEXT_LENGTH = 3, 10, 3, 24
#: Bytes of a page from which browsers are slow.
LARGE_PAGE = 20_000_000

#: Contribution, name, what is said of it, and places.
Row = tuple[float, str, str, Sequence[tuple[int, int]]]


def explain_command(
    context: typer.Context,
    model: ModelArgument,
    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT|FILE|-",
            help="A text; a file with one text, with JSON lines (.jsonl) or with a table (.csv, .tsv; .gz as well); or "
            "- for standard input.",
        ),
    ],
    label: Annotated[str | None, typer.Option(help="Explain only this label.")] = None,
    against: Annotated[
        str | None,
        typer.Option(help="Label to compare with, if labels exclude each other; by default the most probable other."),
    ] = None,
    fragments: Annotated[
        bool,
        typer.Option(
            "--fragments",
            help="In tables and pages, show features, such as n-grams, in the place of words and phrases; JSON has "
            "both.",
        ),
    ] = False,
    top: Annotated[
        int | None,
        typer.Option(min=1, help="Number of contributions for each label; by default 10 in tables, else all."),
    ] = None,
    format: FormatOption = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write an HTML page with the texts marked.")] = None,
    input_format: Annotated[
        InputFormat | None, typer.Option(help="What a file or standard input has: one text, or JSON lines.")
    ] = None,
    text_field: TextFieldOption = "text",
    id_field: IdFieldOption = "id",
    on_error: OnErrorOption = OnError.fail,
    component: ComponentOption = None,
) -> None:
    """Explain the prediction for a text.

    Of labels that exclude each other, one is compared with another: by default the most probable one with the second.
    Its log-odds are an intercept plus what the words and phrases of the text contribute: the sums of the contributions
    of the features in them. JSON output has one object per document, on a line of its own: line and id (for JSON
    lines and tables), the text, and for each label probability, score (the log-odds), intercept, words, and
    contributions of features.
    """
    from ..explain.scores import alternatives_of
    from ..pipeline.components import later_components_disabled
    from .streaming import TextStream
    from .texts import has_lines, read_texts

    if not has_lines(text, input_format):
        refuse_options(context, "text_field", "id_field", "on_error", why="on a single text")
    if html is not None:
        refuse_options(context, "format", "top", why="with --html")
    refuse_own_input(html, text, model)
    refuse_other_file(html, ".html", ".htm")
    nlp, graft = load_pipeline(model, component)
    warn_of_metadata(graft)
    # Before any text is read.
    alternatives_of(dict.fromkeys(graft.labels, 0.0), graft.exclusive, label, against)
    # Of labels that exclude each other, a table or a page shows one.
    shows_one = graft.exclusive and (html is not None or wants_table(format))
    explain = graft.explain_best if shows_one else graft.explain
    stream = TextStream(nlp, lambda doc: explain(doc, label, against=against), on_error)
    with later_components_disabled(nlp, graft):
        explanations = stream.run(read_texts(text, text_field, input_format, on_error))
        if html is not None:
            write_page(html, explanations, nlp.lang or "", id_field, fragments)
        elif wants_table(format):
            for source, explanation in explanations:
                print_tables(explanation_table(explanation, source, id_field, top or MAX_CONTRIBUTIONS, fragments))
        else:
            for source, explanation in explanations:
                print_json({**source.identity(id_field), **limited_explanation(explanation, top)})


def write_page(
    path: Path, explanations: Iterator[tuple[InputText, Explanation]], lang: str, id_field: str, fragments: bool
) -> None:
    """Write an HTML page with all documents, which are in a language."""
    from ..explain.html.markup import interactive_page
    from ..explain.html.page import label_view

    documents = []
    with writing(path) as file:
        for source, explanation in explanations:
            best, by_label, title = explanation.best, explanation.probabilities, name_of_text(source, id_field)
            documents.append(label_view(best, by_label, lang, fragments=fragments, title=title))
        content = interactive_page("Explanations", "\n".join(documents)).encode()
        file.write(content)
    print_message(f"Wrote {path}.")
    if len(content) > LARGE_PAGE:
        print_message(
            f"{path} has {len(content) / 1e6:,.0f} MB: browsers are slow with pages of this size. Explain fewer texts "
            f"on a page, or use --format json."
        )


def limited_explanation(explanation: Explanation, top: int | None) -> dict[str, Any]:
    """Return an explanation as plain values, with at most ``top`` contributions for each label."""
    value = explanation.to_dict()
    for label in value["labels"]:
        for key in ("words", "contributions"):
            label[key] = label[key][:top]
    return value


def name_of_text(source: InputText, id_field: str) -> str:
    """Line and id of a text, as far as they are known."""
    return ", ".join(f"{key} {value}" for key, value in source.identity(id_field).items())


def explanation_table(explanation: Explanation, source: InputText, id_field: str, top: int, fragments: bool) -> Table:
    """Make a table of the most probable labels with the largest contributions to each."""
    title = name_of_text(source, id_field)
    columns = ("label", "contribution", *(("feature", "kind") if fragments else ("word or phrase", "features")))
    table = make_table(title or shortened_text(explanation.text), *columns, "occurrence", numbers=["contribution"])
    shown = sorted(explanation.labels, key=lambda label: -label.probability)[:MAX_LABELS_SHOWN]
    for label in shown:
        add_label(table, label, top, fragments)
    named = {name for label in shown for name in (label.label, label.against) if name is not None}
    if hidden := [p for label, p in explanation.probabilities.items() if label not in named]:
        kind = "less probable" if max(hidden) <= shown[-1].probability else "other"
        table.caption = f"{count(len(hidden), f'{kind} label')}: --label, or --format json"
    return table


def add_label(table: Table, label: LabelExplanation, top: int, fragments: bool) -> None:
    """Add the rows of one label."""
    from rich.text import Text

    add_row(
        table, Text(printable(label.label), "bold"), Text(f"{label.probability:.3f}", "bold"), "(probability)", "", ""
    )
    against = "" if label.against is None else f" against {label.against}"
    add_row(table, "", f"{label.score:+z.3f}", f"(log-odds{against})", "", "")
    add_row(table, "", f"{label.intercept:+z.3f}", "(intercept)", "", "")
    rows = feature_rows(label) if fragments else word_rows(label)
    for value, name, about, places in rows[:top]:
        add_row(table, "", f"{value:+z.3f}", name, about, first_occurrence(places, label.source.text))
    hidden = rows[top:]
    if hidden:
        add_row(table, "", f"{fsum(value for value, *_ in hidden):+z.3f}", f"({len(hidden)} more)", "", "")
    table.add_section()


def feature_rows(label: LabelExplanation) -> list[Row]:
    """Return contribution, name, kind and places of each feature."""
    from ..explain.contributions import places_of

    return [(part.contribution, part.text, part.kind, places_of(part)) for part in label.contributions]


def word_rows(label: LabelExplanation) -> list[Row]:
    """Return contribution, text, features and places of each word or phrase."""
    return [(row.contribution, row.text, feature_names_of(row), row.places) for row in label.words]


def feature_names_of(row: WordEvidence) -> str:
    """Return the names of the strongest features of a word."""
    from ..extract.blocks import WORD_VECTOR

    names = [f"{part.text} ({WORD_VECTOR})" if part.kind == WORD_VECTOR else part.text for part, _ in row.parts]
    if names == [row.text]:
        return ""
    more = f" (+{len(names) - MAX_FEATURES_OF_WORD})" if len(names) > MAX_FEATURES_OF_WORD else ""
    return ", ".join(map(printable, names[:MAX_FEATURES_OF_WORD])) + more


def first_occurrence(places: Sequence[tuple[int, int]], text: str) -> Text:
    """Return the first of the places, highlighted in its context."""
    from rich.text import Text

    shown = Text()
    for start, end in places[:1]:
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
