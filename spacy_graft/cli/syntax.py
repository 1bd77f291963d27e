"""Adding the syntax of another pipeline to a config, as frozen components; used by ``init-config`` and ``train``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .common import CommandError, is_there

if TYPE_CHECKING:
    from spacy.language import Language
    from thinc.api import Config

#: Token attributes that count as syntax, and those that the feature blocks need.
SYNTAX_ATTRIBUTES = {"token.dep", "token.head", "token.lemma", "token.morph", "token.pos", "token.tag"}
NEEDED_ATTRIBUTES = {"token.dep", "token.lemma", "token.pos"}
#: Factories of components whose vectors other components listen to.
SHARED_FACTORIES = ("tok2vec", "transformer", "curated_transformer")
#: The syntax pipeline of this project.
OWN = "en_graft_syntax"
#: Value of ``source`` in the config.
SYNTAX_SOURCE = "${paths.syntax}"


def load_syntax(syntax: str, lang: str) -> Language:
    """Load the pipeline; a CommandError if it cannot be loaded or is for another language."""
    import spacy

    if not is_there(syntax):
        raise CommandError(
            f"The syntax pipeline {syntax} cannot be loaded: it is neither a folder nor an installed package. "
            f"{how_to_install(syntax)}"
        )
    try:
        nlp = spacy.load(syntax)
    except Exception as error:  # files can be damaged in any way
        raise CommandError(f"The syntax pipeline {syntax} cannot be loaded: {error}") from error
    if nlp.lang != lang:
        raise CommandError(
            f"The syntax pipeline {syntax} is for the language {nlp.lang!r}, and the texts are in {lang!r}."
        )
    return nlp


def how_to_install(syntax: str) -> str:
    """How to have a package."""
    if syntax == OWN:
        return "In a clone of the project, `python -m pip install --no-deps assets/en_graft_syntax-*.whl` installs it."
    return f"If it is one of spaCy's, `python -m spacy download {syntax}` installs it."


def syntax_components(nlp: Language, syntax: str) -> list[str]:
    """Return the components that annotate syntax, and those that they listen to.

    Raises
    ------
    CommandError
        If no component sets a needed attribute.
    """
    metas = {name: nlp.get_pipe_meta(name) for name in nlp.pipe_names}
    names = [
        name
        for name, meta in metas.items()
        if SYNTAX_ATTRIBUTES.intersection(meta.assigns) or meta.factory in SHARED_FACTORIES
    ]
    if missing := NEEDED_ATTRIBUTES.difference(*(metas[name].assigns for name in names)):
        raise CommandError(f"The syntax pipeline {syntax} has no component that sets {', '.join(sorted(missing))}.")
    return names


def add_syntax(config: Config, syntax: str, nlp: Language) -> None:
    """Put the frozen syntax components of a pipeline in front of the components of a config.

    The tokenizer is that of the pipeline too: its parser knows the words that this one makes.
    """
    names = syntax_components(nlp, syntax)
    training = config["training"]
    config["nlp"]["tokenizer"] = nlp.config["nlp"]["tokenizer"]
    config.setdefault("initialize", {})["tokenizer"] = nlp.config.get("initialize", {}).get("tokenizer", {})
    config["paths"]["syntax"] = syntax
    config["components"] = {name: {"source": SYNTAX_SOURCE} for name in names} | config["components"]
    config["nlp"]["pipeline"] = [*names, *config["nlp"]["pipeline"]]
    for option in ("frozen_components", "annotating_components"):
        training[option] = [*names, *training[option]]
    for name in names:
        # Frozen components do not change; their scores must not choose the model.
        training["score_weights"] |= dict.fromkeys(nlp.get_pipe_meta(name).default_score_weights or {})


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
