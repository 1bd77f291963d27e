"""``init-config``: a config that trains as it is."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..files import writing
from .common import CommandError, complain

if TYPE_CHECKING:
    from spacy.language import Language
    from thinc.api import Config

EXAMPLES = """
spacy-graft init-config config.cfg
spacy-graft init-config config.cfg --lang de --exclusive --no-syntax --size medium
spacy-graft init-config config.cfg --lang en --multilabel --syntax --syntax-from en_core_web_sm --size small
spacy-graft init-config - --train train.jsonl --dev dev.jsonl < /dev/null
"""


class Size(StrEnum):
    """How many documents there are to train on."""

    small = "small"
    medium = "medium"
    large = "large"


#: Least documents of n-grams of words, and of other features: with more documents, rarer ones are left out, so that
#: the space does not outgrow memory.
MIN_DF = {Size.small: (2, 2), Size.medium: (2, 3), Size.large: (5, 10)}
#: What a component must write to be of use, and factories of components that these listen to.
SYNTAX = {"token.dep", "token.head", "token.lemma", "token.morph", "token.pos", "token.tag"}
NEEDED = {"token.dep", "token.lemma", "token.pos"}
SHARED = ("tok2vec", "transformer", "curated_transformer")


def init_config(
    output: Annotated[
        str, typer.Argument(metavar="[FILE|-]", help="Where to write it; - is standard output.")
    ] = "config.cfg",
    lang: Annotated[str | None, typer.Option(metavar="CODE", help="Language of the texts: en, de, zh ...")] = None,
    exclusive: Annotated[
        bool | None, typer.Option("--exclusive/--multilabel", help="Whether a document has one label, or any number.")
    ] = None,
    syntax: Annotated[
        bool | None,
        typer.Option("--syntax/--no-syntax", help="Whether features are made of parts of speech and arcs, too."),
    ] = None,
    size: Annotated[
        Size | None, typer.Option(help="Documents to train on: under 2,000, more, or more than 100,000.")
    ] = None,
    syntax_from: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Pipeline whose syntax is taken, a folder or a package.")
    ] = None,
    train: Annotated[str | None, typer.Option(metavar="FILE", help="JSON lines to train on, for the config.")] = None,
    dev: Annotated[str | None, typer.Option(metavar="FILE", help="JSON lines to choose by, for the config.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if there is one.")] = False,
) -> None:
    """Write a config for `python -m spacy train`.

    What is not given is asked for on a terminal; elsewhere it is English, exclusive labels, no syntax, medium size.
    """
    check_output(output, force)
    lang = lang or ask("Language of the texts", "en")
    if exclusive is None:
        exclusive = confirm("Does each document have exactly one label?", True)
    if syntax is None:
        syntax = confirm("Use parts of speech and dependencies as well?", False)
    size = size or ask_size()
    if syntax and syntax_from is None:
        syntax_from = ask(
            "Pipeline whose syntax is taken", f"{lang}_core_news_sm" if lang != "en" else "en_graft_syntax"
        )
    config = complete_config(lang, exclusive, size, syntax_from if syntax else None)
    config["paths"].update(train=train, dev=dev)
    text = header(output, train, dev) + config.to_str(interpolate=False) + "\n"
    if output == "-":
        sys.stdout.write(text)
        return
    with writing(Path(output)) as file:
        file.write(text.encode())
    complain(f"Written: {output}")


def check_output(output: str, force: bool) -> None:
    """Raise a CommandError if there is such a file, before anything is asked."""
    if output != "-" and not force and Path(output).is_file():
        raise CommandError(f"{output} is there already: --force replaces it.")


def someone_is_there() -> bool:
    """Whether questions will be answered."""
    return sys.stdin.isatty()


def ask(question: str, default: str) -> str:
    """The answer of whoever sits at the terminal; where nobody does, the default."""
    return str(typer.prompt(question, default, err=True)).strip() if someone_is_there() else default


def confirm(question: str, default: bool) -> bool:
    """The same for yes and no."""
    return typer.confirm(question, default, err=True) if someone_is_there() else default


def ask_size() -> Size:
    """The size, asked for until it is one."""
    while True:
        answer = ask("Documents to train on: small (under 2,000), medium, large (over 100,000)", Size.medium.value)
        if answer in Size.__members__:
            return Size(answer)
        complain(f"{answer!r} is none of {', '.join(Size.__members__)}.")


def header(output: str, train: str | None, dev: str | None) -> str:
    """What to do with the config."""
    paths = "" if train and dev else " --paths.train train.jsonl --paths.dev dev.jsonl"
    return f"# python -m spacy train {output if output != '-' else 'config.cfg'}{paths} --output training\n\n"


def complete_config(lang: str, exclusive: bool, size: Size, syntax: str | None) -> Config:
    """A config with all settings, made by spaCy."""
    import spacy
    from thinc.api import Config

    try:
        nlp = spacy.blank(lang)
    except Exception as error:  # languages import packages of their own, which complain in their own ways
        raise CommandError(f"There is no tokenizer for the language {lang!r}: {error}") from error
    name = "textcat_graft" if exclusive else "textcat_graft_multilabel"
    has_words = bool(nlp.vocab.writing_system["has_letters"])
    nlp.add_pipe(name, config={"features": features(size, has_words, syntax is not None)})
    config = Config(nlp.config).copy()
    config["nlp"]["batch_size"] = 256
    config["corpora"] = {split: corpus(split) for split in ("train", "dev")}
    config["training"].update(TRAINING)
    config["training"]["score_weights"] = {"cats_score": 1.0}
    config.pop("pretraining", None)
    return config if syntax is None else with_syntax(config, syntax, lang)


def features(size: Size, has_words: bool, syntax: bool) -> dict[str, Any]:
    """The blocks of features; characters stay within words only where white space bounds these."""
    from ..pipeline.defaults import default_features, syntax_features

    words, others = MIN_DF[size]
    return default_features(words, others, has_words) | (syntax_features(others) if syntax else {})


def corpus(split: str) -> dict[str, Any]:
    """The reader of one split."""
    return {
        "@readers": "spacy_graft.JsonlCorpus.v1",
        "path": f"${{paths.{split}}}",
        "text_field": "text",
        "label_field": "label",
        "id_field": None,
        "weight_field": None,
        "limit": 0,
    }


#: A training step is one of the learner, on the whole corpus: each is evaluated, until 6 are no better.
TRAINING: dict[str, Any] = {
    "eval_frequency": 1,
    "patience": 6,
    "max_steps": 16,
    "max_epochs": 0,
    "dropout": 0.0,
    "accumulate_gradient": 1,
    "logger": {"@loggers": "spacy_graft.ConsoleLogger.v1", "progress_bar": False},
    "batcher": {"@batchers": "spacy.batch_by_sequence.v1", "size": 64, "get_length": None},
    "optimizer": {"@optimizers": "Adam.v1"},
}


def with_syntax(config: Config, syntax: str, lang: str) -> Config:
    """The config with the frozen components of another pipeline in front."""
    source = syntax_pipeline(syntax, lang)
    names = [
        name
        for name in source.pipe_names
        if SYNTAX.intersection(source.get_pipe_meta(name).assigns) or source.get_pipe_meta(name).factory in SHARED
    ]
    if missing := NEEDED.difference(*(source.get_pipe_meta(name).assigns for name in names)):
        raise CommandError(f"{syntax} has no component that sets {', '.join(sorted(missing))}.")
    config["paths"]["syntax"] = syntax
    config["components"] = {name: {"source": "${paths.syntax}"} for name in names} | config["components"]
    config["nlp"]["pipeline"] = [*names, *config["nlp"]["pipeline"]]
    config["training"]["frozen_components"] = names
    config["training"]["annotating_components"] = names
    for name in names:
        # They do not change, and their scores must not choose the model.
        config["training"]["score_weights"] |= dict.fromkeys(source.get_pipe_meta(name).default_score_weights or {})
    return config


def syntax_pipeline(syntax: str, lang: str) -> Language:
    """The pipeline, which must be there and of the language."""
    import spacy

    try:
        source = spacy.load(syntax)
    except Exception as error:  # files can be damaged in any way
        raise CommandError(f"{syntax}, whose syntax is to be taken, cannot be loaded: {error}") from error
    if source.lang != lang:
        raise CommandError(f"{syntax} is for the language {source.lang!r}, and the texts are in {lang!r}.")
    return source
