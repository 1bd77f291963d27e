"""``spacy_graft.export``: models for other languages and for browsers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..files import json_text, write_whole
from ..messages import did_you_mean, listed
from .model import portable_model
from .page import page, resource, without_tags

if TYPE_CHECKING:
    from spacy.language import Language

    from ..pipeline.textcat import TextCatGraft
    from ..text_classifier import GraftTextClassifier


def export(
    model: GraftTextClassifier | TextCatGraft | Language, to: str = "json", output: str | Path | None = None
) -> str:
    """Export a trained model whose features can be computed from the text alone.

    Parameters
    ----------
    model : GraftTextClassifier, TextCatGraft or Language
        A classifier of characters, bytes or words; or a component, or a pipeline with one, whose features are all of
        blocks ``CharacterNgrams`` without ``mark_capitals``.
    to : {"json", "js", "mjs", "html"}
        ``"json"``: the model, in the format of docs/export.md. ``"js"``: a script that scores texts, for browsers
        (``graftModel``) and for ``require``; ``"mjs"``: the same as a module, whose default export it is. ``"html"``: a
        page in which a text can be typed, with its probabilities and what they come from.
    output : path, optional
        A file to write as well, whole or not at all.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If the model is not trained, has features that need more than the text, or there is no such format.
    """
    if to not in FORMATS:
        raise ValueError(f"There is no format {to!r}.{did_you_mean(to, FORMATS)} The formats: {listed(FORMATS)}.")
    text = FORMATS[to](portable_model(model))
    if output is not None:
        write_whole(Path(output), text.encode())
    return text


def as_json(model: dict[str, Any]) -> str:
    """The model alone."""
    return json_text(model, compact=True) + "\n"


def as_script(model: dict[str, Any]) -> str:
    """A script with scorer and model."""
    return (
        f"var graftModel = (() => {{\n{resource('scorer.js')}return new ExportedModel({in_ascii(model)});\n}})();\n"
        'if (typeof module === "object" && module !== null) module.exports = graftModel;\n'
    )


def as_module(model: dict[str, Any]) -> str:
    """A module with scorer and model."""
    return f"{resource('scorer.js')}export {{ ExportedModel }};\nexport default new ExportedModel({in_ascii(model)});\n"


def in_ascii(model: dict[str, Any]) -> str:
    """A model in JavaScript that is read in the same way whatever the encoding of a page is, and within a page too."""
    return without_tags(json.dumps(model, separators=(",", ":")))


#: How each format is written.
FORMATS: dict[str, Callable[[dict[str, Any]], str]] = {
    "json": as_json,
    "js": as_script,
    "mjs": as_module,
    "html": page,
}
