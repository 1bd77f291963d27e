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
    print_json,
    print_tables,
    wants_table,
)
from .inputs import LabelFieldOption, TextFieldOption
from .progress import status_line, with_count

if TYPE_CHECKING:
    from spacy.language import Language

    from ..pipeline.textcat import TextCatGraft

EXAMPLES = """
spacy-graft report training/model-best
spacy-graft report training/model-best --html model.html --data dev.jsonl
spacy-graft report training/model-best | jq .duality_gap
"""


def report_command(
    model: ModelArgument,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write an HTML page about the whole model.")] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Labelled JSON lines, for the page: features that decide, errors with their evidence, examples.",
        ),
    ] = None,
    text_field: TextFieldOption = "text",
    label_field: LabelFieldOption = "label",
    format: FormatOption = None,
    component: ComponentOption = None,
) -> None:
    """Print the report of a model's training: L1 strength, numbers of features, duality gap, time by phase.

    Of a path whose points were judged by held-out documents, it also has the best one and "one_se", the smallest within
    one standard error of it: the model that training with parsimony = "one_se" takes.
    """
    if data is not None and html is None:
        raise CommandError("--data is for the page: give --html FILE as well.")
    nlp, graft = load_pipeline(model, component)
    if html is not None:
        with writing(html) as file:
            file.write(model_page(nlp, graft, data, text_field, label_field).encode())
        return
    if graft.report is None:
        raise CommandError(f"{model} has no report: its weights were not trained by spacy-graft.")
    if wants_table(format):
        table = make_table(None, "", "report")
        for row in graft.report.lines().items():
            add_row(table, *row)
        for name, step in graft.named_points.items():
            add_row(table, f"parsimony: {name}", f"{step['n_active']:,} features, log-loss {step['log_loss']:.4f}")
        print_tables(table)
    else:
        print_json({**graft.report.to_dict(), "parsimony": graft.named_points}, indent=2)


def model_page(nlp: Language, graft: TextCatGraft, data: Path | None, text_field: str, label_field: str) -> str:
    """Make a page about the whole model and, if there is one, a data set."""
    import spacy_graft

    if data is None:
        return spacy_graft.render(graft, style="global", page=True)
    from ..pipeline.reader import JsonlCorpus
    from ..pipeline.training import annotated_before

    with status_line("Classifying") as update:
        examples = annotated_before(nlp, graft, JsonlCorpus(data, text_field, label_field)(nlp))
        return spacy_graft.render(graft, style="global", examples=with_count(examples, update, "documents"), page=True)
