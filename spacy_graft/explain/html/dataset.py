"""A model on a data set: what decides, and where it errs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...messages import count, percentage, text_beginning
from .density import Run
from .document import divided, highlighted
from .markup import anchor_prefix, bar_cell, escaped, name_html, number_cell, signed_number, table
from .scores import score_line, word_table

if TYPE_CHECKING:
    from ..scores import LabelExplanation

#: Words or features that are listed, links to errors of each, and words that are named with an error.
MAX_DECIDING, MAX_LINKS, MAX_NAMED_WORDS = 100, 5, 4
#: Characters of a document that are shown with an error, and in its title.
MAX_TEXT, MAX_TITLE = 3000, 60
DECIDING_COLUMNS = ("decides", "", "wrong", "", "documents", "errors")


@dataclass(frozen=True)
class Deciding:
    """A word, phrase or feature, and the documents of a data set that it decides.

    Attributes
    ----------
    text, kind : str
        Its name, and the kind of a feature.
    n_documents : int
        Documents in which it contributes.
    decided : list of int
        Numbers of the documents whose prediction would be another without its contribution.
    wrong : list of int
        Those of them that are classified wrongly.
    """

    text: str
    kind: str
    n_documents: int
    decided: list[int]
    wrong: list[int]


@dataclass(frozen=True)
class ExplainedError:
    """A wrong decision about a document.

    Attributes
    ----------
    number : int
        Of the document in the data set, from 1.
    said, right : str
        What the model says, and what is annotated.
    confidence : float
        Probability of what the model says.
    explanation : LabelExplanation
        Of the predicted label, against the annotated one if labels exclude each other.
    """

    number: int
    said: str
    right: str
    confidence: float
    explanation: LabelExplanation


@dataclass(frozen=True)
class DatasetFigures:
    """What is known of a model on a data set.

    Attributes
    ----------
    n_documents, n_judged, n_errors, n_wrong : int
        Documents; those whose labels are known; wrong decisions; documents with one or more of these.
    deciding : list of Deciding
        Those that decide most documents first.
    errors : list of ExplainedError
        The most confident ones, in descending order of confidence.
    """

    n_documents: int
    n_judged: int
    n_errors: int
    n_wrong: int
    deciding: list[Deciding]
    errors: list[ExplainedError]


def dataset_view(figures: DatasetFigures, fragments: bool) -> str:
    """What decides how often, and the errors with their evidence."""
    prefix = anchor_prefix(*(f"{error.number} {error.explanation.score!r}" for error in figures.errors))
    shown = {error.number for error in figures.errors}
    documents = count(figures.n_documents, "document")
    if figures.n_judged < figures.n_documents:
        documents += f", {figures.n_judged:,} of them with labels of the model"
    share = f" ({percentage(figures.n_wrong / figures.n_judged)})" if figures.n_judged else ""
    top = figures.deciding[:MAX_DECIDING]
    largest = len(top[0].decided) if top else 0
    rows = [deciding_row(row, largest, shown, prefix) for row in top]
    of = "features" if fragments else "words and phrases"
    n_more = len(figures.deciding) - len(top)
    caption = f"Without them, predictions would change{f'; {n_more:,} more' if n_more else ''}"
    deciding = table(caption, (*DECIDING_COLUMNS[:3], of, *DECIDING_COLUMNS[4:]), rows)
    seen: set[int] = set()
    entries = []
    for error in figures.errors:
        entries.append(error_view(error, "" if error.number in seen else f"{prefix}{error.number}"))
        seen.add(error.number)
    listed = f"the {len(entries)} most confident ones" if len(entries) < figures.n_errors else "most confident first"
    errors = f'<h4>Errors <small>{listed}</small></h4><div class="entries">{"".join(entries)}</div>' if entries else ""
    return (
        f'<p class="score">{documents}, <b>{figures.n_wrong:,}</b> with errors{share}</p>'
        f"<h4>What decides</h4>{deciding}{errors}"
    )


def deciding_row(row: Deciding, largest: int, shown: set[int], prefix: str) -> str:
    """A row of the table, with links to errors that are shown."""
    links = [f'<a href="#{prefix}{number}">{number}</a>' for number in row.wrong if number in shown][:MAX_LINKS]
    more = len(row.wrong) - len(links)
    errors = " ".join(links) + (f" +{more:,}" if more and links else "")
    kind = f" <small>{escaped(row.kind)}</small>" if row.kind else ""
    cells = number_cell(f"{len(row.decided):,}") + bar_cell(len(row.decided), largest)
    cells += number_cell(f"{len(row.wrong):,}") + f'<th scope="row">{name_html(row.text)}{kind}</th>'
    cells += number_cell(f"{row.n_documents:,}")
    return f'<tr>{cells}<td data-key="{len(row.wrong)}">{errors}</td></tr>'


def error_view(error: ExplainedError, anchor: str) -> str:
    """An error with its evidence in a fold."""
    explanation, text = error.explanation, error.explanation.source.text
    named = ", ".join(
        f"{name_html(row.text)} {signed_number(row.contribution, 2)}" for row in explanation.words[:MAX_NAMED_WORDS]
    )
    title = text_beginning(" ".join(text[: 2 * MAX_TITLE].split()), MAX_TITLE)
    runs, shares_of = divided(explanation, fragments=False)
    marked = highlighted(text[:MAX_TEXT], cut(runs, MAX_TEXT), shares_of) if text else ""
    more = f'<p class="note">{count(len(text) - MAX_TEXT, "more character")}.</p>' if len(text) > MAX_TEXT else ""
    identity = f' id="{anchor}"' if anchor else ""
    summary = (
        f'<span class="number">{error.confidence:.3f}</span> <b>{name_html(error.said)}</b>, annotated '
        f"{name_html(error.right)}: <bdi>{escaped(title)}</bdi> <small>document {error.number:,}: {named}</small>"
    )
    evidence = score_line(explanation) + marked + more + word_table(explanation, others=False)
    return f"<details{identity}><summary>{summary}</summary>{evidence}</details>"


def cut(runs: Sequence[Run], end: int) -> list[Run]:
    """The runs of the beginning of a text."""
    return [run._replace(end=min(run.end, end)) for run in runs if run.start < end]
