"""Write a training config with the syntax of another pipeline.

Components of the template with the source ``${paths.syntax}`` are replaced by the frozen syntax components of the given
pipeline, an installed one (en_core_web_sm) or a folder. A template without such components is written unchanged.
"""

from __future__ import annotations

import configparser
from pathlib import Path
from typing import Annotated

import typer
from one_line_errors import one_line_errors
from spacy.language import Language
from spacy.util import load_config
from thinc.api import Config

from spacy_graft.cli.common import CommandError
from spacy_graft.cli.syntax import SYNTAX_SOURCE, add_syntax, load_syntax
from spacy_graft.messages import listed


def sourced_components(config: Config) -> list[str]:
    """Return the components that come from the syntax pipeline."""
    return [name for name, block in config["components"].items() if block.get("source") == SYNTAX_SOURCE]


def with_syntax(config: Config, syntax: str, nlp: Language) -> Config:
    """Return the config with the components of another syntax pipeline."""
    old = sourced_components(config)
    config = config.copy()
    config["components"] = {name: block for name, block in config["components"].items() if name not in old}
    for section, option in (
        ("nlp", "pipeline"),
        ("training", "frozen_components"),
        ("training", "annotating_components"),
    ):
        config[section][option] = [name for name in config[section][option] if name not in old]
    add_syntax(config, syntax, nlp)
    return config


@one_line_errors
def main(
    template: Annotated[Path, typer.Argument(help="Config to start from.")],
    output: Annotated[Path, typer.Argument(help="Config to write.")],
    syntax: Annotated[str, typer.Option(help="Name or folder of the syntax pipeline.")],
    lang: Annotated[str, typer.Option(help="Language of the texts and of the syntax pipeline.")],
) -> None:
    """Write a config for ``spacy train``."""
    if not template.is_file():
        raise CommandError(f"There is no config {template}.")
    try:
        config = load_config(template, interpolate=False)
    except (ValueError, configparser.Error) as error:
        raise CommandError(f"{template}: {error}") from error
    if missing := [section for section in ("nlp", "components", "training") if section not in config]:
        raise CommandError(f"{template} has no section {listed(missing)}.")
    config["nlp"]["lang"] = lang
    if sourced_components(config):
        try:
            config = with_syntax(config, syntax, load_syntax(syntax, lang))
        except CommandError as error:
            raise typer.BadParameter(
                f"{error} Choose another pipeline with --vars.syntax, or train without syntax: "
                f"--vars.config configs/ngrams.cfg"
            ) from error
    output.parent.mkdir(parents=True, exist_ok=True)
    config.to_disk(output, interpolate=False)


if __name__ == "__main__":
    typer.run(main)
