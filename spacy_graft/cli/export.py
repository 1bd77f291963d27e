"""``export``: a model for other languages and for browsers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .common import (
    ComponentOption,
    load_pipeline,
    print_file,
    print_message,
    refuse_options,
    refuse_other_file,
    refuse_own_input,
)

if TYPE_CHECKING:
    from ..pipeline.textcat import TextCatGraft
    from ..text_classifier import GraftTextClassifier

EXAMPLES = """
spacy-graft export model.graft --to json --output model.json
spacy-graft export model.graft --to html --output page.html
spacy-graft export training/model-best --to js > model.js
"""


class ExportFormat(StrEnum):
    """What a model is written as."""

    json = "json"
    js = "js"
    mjs = "mjs"
    html = "html"


def export_command(
    context: typer.Context,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="File of a saved GraftTextClassifier; or folder of a trained pipeline, or name of an installed one.",
        ),
    ],
    to: Annotated[
        ExportFormat,
        typer.Option(
            help="The model as JSON; with its scorer, as a script (js) or a module (mjs) in JavaScript; or as a page "
            "in which a text can be typed."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Output file; by default standard output. Written as a whole.")
    ] = None,
    component: ComponentOption = None,
) -> None:
    """Export a model as JSON, as JavaScript or as a demo page.

    Features may be n-grams of characters, bytes, or the words of an estimator; models whose features need spaCy's
    tokens cannot be exported. The scores are the same everywhere, to the last bit.
    """
    from ..portable.export import export

    refuse_own_input(output, model)
    refuse_other_file(output, f".{to.value}")
    if Path(model).is_file():
        refuse_options(context, "component", why="on the file of a GraftTextClassifier")
    text = export(load_model(model, component), to, output)
    if output is None:
        print_file(text)
    else:
        print_message(f"Wrote {output}.")


def load_model(model: str, component: str | None) -> GraftTextClassifier | TextCatGraft:
    """Load the classifier in a file, or the component of a pipeline."""
    if not Path(model).is_file():
        return load_pipeline(model, component)[1]
    from ..text_classifier import GraftTextClassifier

    return GraftTextClassifier.load(model)
