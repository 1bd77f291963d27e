"""Give a training config the syntax of another pipeline.

The components of a config that come from ``${paths.syntax}`` are replaced by those of the pipeline that is named: an
installed one (en_core_web_sm) or a folder. All of them that annotate tokens are taken over, and frozen. A config that
has none is written as it is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import spacy
import typer
from spacy.language import Language
from spacy.util import load_config
from thinc.api import Config

#: What a component must write to be of use.
SYNTAX = {"token.dep", "token.head", "token.lemma", "token.morph", "token.pos", "token.tag"}
#: Factories of components whose vectors others listen to.
SHARED = ("tok2vec", "transformer", "curated_transformer")
SOURCE = "${paths.syntax}"


def sourced(config: Config) -> list[str]:
    """Components that come from the syntax pipeline."""
    return [name for name, block in config["components"].items() if block.get("source") == SOURCE]


def syntax_of(nlp: Language) -> list[str]:
    """Components of a pipeline that annotate tokens, and those that these listen to."""
    return [
        name
        for name in nlp.pipe_names
        if SYNTAX.intersection(nlp.get_pipe_meta(name).assigns) or nlp.get_pipe_meta(name).factory in SHARED
    ]


def with_syntax(config: Config, syntax: str, nlp: Language) -> Config:
    """The config with the components of another pipeline in place of its own sourced ones."""
    old, new = sourced(config), syntax_of(nlp)
    if missing := {"token.pos", "token.lemma", "token.dep"}.difference(
        *(nlp.get_pipe_meta(name).assigns for name in new)
    ):
        raise typer.BadParameter(f"{syntax} has no component that sets {', '.join(sorted(missing))}: {nlp.pipe_names}")
    config = config.copy()
    config["paths"]["syntax"] = syntax
    config["nlp"]["lang"] = nlp.lang
    ours = {name: block for name, block in config["components"].items() if name not in old}
    config["components"] = {name: {"source": SOURCE} for name in new} | ours
    config["nlp"]["pipeline"] = [*new, *(name for name in config["nlp"]["pipeline"] if name not in old)]
    weights = config["training"]["score_weights"]
    for name in new:
        # They do not change, and their scores must not choose the model.
        weights |= dict.fromkeys(nlp.get_pipe_meta(name).default_score_weights)
    for option in ("frozen_components", "annotating_components"):
        config["training"][option] = [*new, *(name for name in config["training"][option] if name not in old)]
    return config


def main(
    template: Annotated[Path, typer.Argument(help="The config to begin with.")],
    output: Annotated[Path, typer.Argument(help="Where to write the new one.")],
    syntax: Annotated[str, typer.Option(help="Name or folder of the pipeline whose syntax is taken.")],
    lang: Annotated[str, typer.Option(help="Language of the texts, which the syntax must be of.")],
) -> None:
    """Write a config for ``spacy train``."""
    config = load_config(template, interpolate=False)
    config["nlp"]["lang"] = lang
    if sourced(config):
        try:
            nlp = spacy.load(syntax)
        except OSError as error:
            raise typer.BadParameter(
                f"{syntax} is no pipeline that is installed, nor a folder of one: {error}"
            ) from error
        if nlp.lang != lang:
            raise typer.BadParameter(
                f"{syntax} is for the language {nlp.lang!r}, and the texts are in {lang!r}. Name a pipeline for it "
                f"with --vars.syntax, or do without syntax: --vars.config configs/ngrams.cfg"
            )
        config = with_syntax(config, syntax, nlp)
    output.parent.mkdir(parents=True, exist_ok=True)
    config.to_disk(output, interpolate=False)


if __name__ == "__main__":
    typer.run(main)
