"""``init-config``: write a config for ``spacy train``."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..files import write_whole
from .common import CommandError, blank_pipeline, check_overwriting, print_message, quoted, require_held_by_config
from .inputs import LabelFieldOption, TextFieldOption
from .syntax import OWN, add_syntax, load_syntax

if TYPE_CHECKING:
    from thinc.api import Config

EXAMPLES = """
spacy-graft init-config config.cfg
spacy-graft init-config config.cfg --lang de --exclusive --no-syntax --size medium
spacy-graft init-config config.cfg --lang en --multilabel --syntax --syntax-from en_core_web_sm --size small
spacy-graft init-config - --train train.jsonl --dev dev.jsonl < /dev/null
"""


class CorpusSize(StrEnum):
    """Number of training documents, roughly."""

    small = "small"
    medium = "medium"
    large = "large"


#: ``min_df`` of n-grams and of syntax. Large corpora have larger values, to limit memory.
MIN_DF = {CorpusSize.small: (None, 2), CorpusSize.medium: (None, 3), CorpusSize.large: (10, 10)}


def init_config_command(
    output: Annotated[
        str, typer.Argument(metavar="[FILE|-]", help="File to write, or - for standard output.")
    ] = "config.cfg",
    lang: Annotated[
        str | None, typer.Option(metavar="CODE", help="Language of the texts, for example en, de or zh.")
    ] = None,
    exclusive: Annotated[
        bool | None,
        typer.Option("--exclusive/--multilabel", help="Whether each document has exactly one label, or any number."),
    ] = None,
    syntax: Annotated[
        bool | None,
        typer.Option("--syntax/--no-syntax", help="Whether to use parts of speech and dependency arcs as features."),
    ] = None,
    size: Annotated[
        CorpusSize | None,
        typer.Option(
            help="Number of training documents: under 2,000, up to 100,000, or more. Sets how rare features may be."
        ),
    ] = None,
    syntax_from: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Pipeline to take syntax from, a folder or a package.")
    ] = None,
    train: Annotated[str | None, typer.Option(metavar="FILE", help="Labelled texts to train on.")] = None,
    dev: Annotated[str | None, typer.Option(metavar="FILE", help="Labelled texts to select the model on.")] = None,
    text_field: TextFieldOption = "text",
    label_field: LabelFieldOption = "label",
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a config for `python -m spacy train`.

    On a terminal, options that are not given are asked for. Elsewhere the defaults are English, exclusive labels, no
    syntax, medium size.
    """
    if syntax is False and syntax_from is not None:
        raise CommandError("--syntax-from has no effect with --no-syntax: give one of them.")
    if output != "-":
        check_overwriting(output, force)
    require_held_by_config(train, dev, text_field, label_field)
    lang = lang or ask("Language of the texts", "en")
    if exclusive is None:
        exclusive = confirm("Does each document have exactly one label?", True)
    if syntax is None:
        syntax = syntax_from is not None or confirm("Use parts of speech and dependencies as well?", False)
    size = size or ask_size()
    if syntax and syntax_from is None:
        syntax_from = ask("Pipeline to take syntax from", f"{lang}_core_news_sm" if lang != "en" else OWN)
    config = complete_config(lang, exclusive, size, syntax_from if syntax else None)
    config["paths"].update(train=train, dev=dev)
    for reader in config["corpora"].values():
        reader.update(text_field=text_field, label_field=label_field)
    text = header(output, train, dev) + config.to_str(interpolate=False) + "\n"
    if output == "-":
        sys.stdout.write(text)
        return
    write_whole(Path(output), text.encode())
    print_message(f"Wrote {output}")


def is_interactive() -> bool:
    """Return whether questions can be answered."""
    return sys.stdin.isatty()


def ask(question: str, default: str) -> str:
    """Ask a question on a terminal; elsewhere return the default."""
    return str(typer.prompt(question, default, err=True)).strip() if is_interactive() else default


def confirm(question: str, default: bool) -> bool:
    """Ask a yes-no question on a terminal; elsewhere return the default."""
    return typer.confirm(question, default, err=True) if is_interactive() else default


def ask_size() -> CorpusSize:
    """Ask for the size until the answer is valid."""
    while True:
        answer = ask(
            "Number of training documents: small (under 2,000), medium, large (over 100,000)", CorpusSize.medium.value
        )
        if answer in CorpusSize.__members__:
            return CorpusSize(answer)
        print_message(f"{answer!r} is none of {', '.join(CorpusSize.__members__)}.")


def header(output: str, train: str | None, dev: str | None) -> str:
    """Return a comment with the command that uses the config."""
    paths = "" if train and dev else " --paths.train train.jsonl --paths.dev dev.jsonl"
    config = quoted(output if output != "-" else "config.cfg")
    return f"# python -m spacy train {config}{paths} --output training\n\n"


def complete_config(lang: str, exclusive: bool, size: CorpusSize, syntax: str | None) -> Config:
    """Return a config with all settings."""
    from thinc.api import Config

    nlp = blank_pipeline(lang)
    name = "textcat_graft" if exclusive else "textcat_graft_multilabel"
    # Of the pipeline, because "zho" is "zh".
    nlp.add_pipe(name, config=component_settings(size, str(nlp.lang), syntax is not None))
    config = Config(nlp.config).copy()
    config["nlp"].update(batch_size=256, tokenizer=dict(OF_LANGUAGE))
    config["corpora"] = {split: reader_settings(split) for split in ("train", "dev")}
    config["training"].update(TRAINING_SETTINGS)
    config["training"]["score_weights"] = {"cats_choice": 1.0, "cats_score": 0.0}
    config.pop("pretraining", None)
    config["paths"]["checkpoints"] = None
    config["initialize"]["components"][name] = {"checkpoints": "${paths.checkpoints}"}
    if syntax is not None:
        add_syntax(config, syntax, load_syntax(syntax, str(nlp.lang)))
    return config


def component_settings(size: CorpusSize, lang: str, syntax: bool) -> dict[str, Any]:
    """Return feature blocks and learner, which may leave out blocks of syntax.

    Character n-grams stay within words if the language separates words by spaces.
    """
    from ..pipeline.defaults import WITHOUT_SPACES, default_features, syntax_features

    of_ngrams, of_syntax = MIN_DF[size]
    optional = syntax_features(of_syntax) if syntax else {}
    return {
        "features": default_features(of_ngrams, lang not in WITHOUT_SPACES) | optional,
        # Those that come last cost most.
        "learner": {"@graft_learners": "spacy_graft.GraftingPath.v1", "optional_blocks": [*optional][::-1]},
    }


#: The tokenizer of the language, whatever it is: another can be given in training.
OF_LANGUAGE = {"@tokenizers": "spacy_graft.LanguageTokenizer.v1"}


def reader_settings(split: str) -> dict[str, Any]:
    """Return the settings of the reader of one split."""
    return {
        "@readers": "spacy_graft.JsonlCorpus.v1",
        "path": f"${{paths.{split}}}",
        "text_field": "text",
        "label_field": "label",
        "id_field": None,
        "weight_field": None,
        "limit": 0,
        "lazy": True,
    }


#: A training step is a point of the learner's path, on the whole corpus, and the last one that to the chosen model. The
#: path ends by itself.
TRAINING_SETTINGS: dict[str, Any] = {
    "eval_frequency": 1,
    "patience": 0,
    "max_steps": 18,
    "max_epochs": -1,
    "dropout": 0.0,
    "accumulate_gradient": 1,
    "before_to_disk": {"@callbacks": "spacy_graft.WholeSave.v1"},
    "logger": {"@loggers": "spacy_graft.ConsoleLogger.v1", "progress_bar": False},
    "batcher": {"@batchers": "spacy.batch_by_sequence.v1", "size": 64, "get_length": None},
    "optimizer": {"@optimizers": "Adam.v1"},
}
