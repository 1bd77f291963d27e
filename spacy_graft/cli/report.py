"""``report``: the report of a model's training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..files import writing
from .common import (
    CommandError,
    ComponentOption,
    FormatOption,
    ModelArgument,
    add_row,
    load_pipeline,
    make_table,
    print_message,
    print_result,
    refuse_options,
    refuse_other_file,
    refuse_own_input,
    refuse_same_output,
    refuse_within,
    warn_of_metadata,
)
from .corpora import is_training_corpus, warn_of_training_corpus
from .inputs import LabelFieldOption, TextFieldOption
from .progress import status_line, with_count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spacy.language import Language
    from spacy.training import Example

    from ..pipeline.textcat import TextCatGraft

EXAMPLES = """
spacy-graft report training/model-best
spacy-graft report training/model-best --html model.html --data test.jsonl
spacy-graft report training/model-best --card training/model-best/README.md --data test.jsonl
spacy-graft report training/model-best | jq .duality_gap
"""


def report_command(
    context: typer.Context,
    model: ModelArgument,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write an HTML page about the whole model.")] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Labelled texts, as of train. For the page: features that decide, errors with their evidence, "
            "examples. For the card: scores with intervals.",
        ),
    ] = None,
    text_field: TextFieldOption = "text",
    label_field: LabelFieldOption = "label",
    card: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a model card in Markdown: intended use, data, features, certificate, calibration.",
        ),
    ] = None,
    format: FormatOption = None,
    component: ComponentOption = None,
) -> None:
    """Print the report of a model's training.

    It has the L1 strength, numbers of features, and the duality gap. Of a path whose points were judged by held-out
    documents, it also has "best", the last one that these do not tell from the one with the least log-loss, and
    "one_se", the smallest within one standard error of that: the model that training with parsimony = "one_se" takes.
    """
    if data is not None and html is None and card is None:
        raise CommandError("--data is for the page and the card: give --html FILE or --card FILE as well.")
    if data is None:
        refuse_options(context, "text_field", "label_field", why="without --data")
    pages = [(path, page) for path, page in ((html, model_page), (card, card_page)) if path is not None]
    if pages:
        refuse_options(context, "format", why="with --html or --card")
    refuse_same_output(html, card)
    for path, _ in pages:
        # The card of a pipeline may be in its folder, and made again.
        refuse_own_input(path, data, None if path.suffix.lower() == ".md" else model)
        refuse_within(path, data)
    refuse_other_file(html, ".html", ".htm")
    refuse_other_file(card, ".md")
    nlp, graft = load_pipeline(model, component)
    if data is not None:
        warn_of_metadata(graft)
        warn_of_training_corpus(nlp, data)
    for path, page in pages:
        with writing(path) as file:
            file.write(page(nlp, graft, data, text_field, label_field).encode())
        print_message(f"Wrote {path}.")
    if pages:
        return
    if graft.report is None:
        raise CommandError(f"{model} has no report: its weights were not trained by spacy-graft.")
    table = make_table(None, "", "report", rows=graft.report.lines().items())
    for name, step in graft.named_points.items():
        add_row(table, f"parsimony: {name}", f"{step['n_active']:,} features, log-loss {step['log_loss']:.4f}")
    print_result(format, [table], {**graft.report.to_dict(), "parsimony": graft.named_points})


def model_page(nlp: Language, graft: TextCatGraft, data: Path | None, text_field: str, label_field: str) -> str:
    """Make a page about the whole model and, if there is one, a data set."""
    import spacy_graft

    if data is None:
        return spacy_graft.render(graft, style="global", page=True)
    with status_line("Classifying") as update:
        examples = with_count(labelled_documents(nlp, graft, data, text_field, label_field), update, "documents")
        return spacy_graft.render(graft, style="global", examples=examples, page=True)


def card_page(nlp: Language, graft: TextCatGraft, data: Path | None, text_field: str, label_field: str) -> str:
    """Make a model card, with scores if there is a data set."""
    from ..pipeline.card import package_readme, scores_section
    from ..pipeline.dataset_scores import dataset_scores

    if data is None:
        return package_readme(nlp, graft)
    with status_line("Scoring") as update:
        examples = list(with_count(labelled_documents(nlp, graft, data, text_field, label_field), update, "documents"))
        scores = scores_section(dataset_scores(graft, examples), data.name, is_training_corpus(nlp, data))
        return package_readme(nlp, graft, scores)


def labelled_documents(
    nlp: Language, graft: TextCatGraft, data: Path, text_field: str, label_field: str
) -> Iterator[Example]:
    """Read labelled documents, with the annotation that the component needs; a CommandError if there are none."""
    from ..pipeline.annotation import annotated_before
    from ..pipeline.reader import JsonlCorpus

    examples = annotated_before(nlp, graft, JsonlCorpus(data, text_field, label_field)(nlp))
    if (first := next(examples, None)) is None:
        raise CommandError(f"{data} has no documents.")
    yield first
    yield from examples
