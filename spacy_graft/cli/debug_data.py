"""``debug-data``: what is in a corpus, and what is wrong with it, before training."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common import BAD_INPUT, CommandError, Component, OutputFormat, add_row, as_table, print_json, show, table_of

if TYPE_CHECKING:
    from rich.console import RenderableType
    from spacy.language import Language
    from spacy.training import Example

    from ..checks.corpus import Finding, Split
    from ..checks.labels import Suspect
    from ..checks.memory import SpaceSize
    from ..pipeline.textcat import TextCatGraft

EXAMPLES = """
spacy-graft debug-data config.cfg --paths.train train.jsonl --paths.dev dev.jsonl
spacy-graft debug-data config.cfg --corpora.train.id_field id --train
spacy-graft debug-data config.cfg | jq .findings
"""

Corpus = Callable[["Language"], Iterator["Example"]]
#: Documents of which the space is measured, beyond which nothing is trained unasked, and examples that are listed.
SAMPLE, FEW, SUSPECTS = 5000, 5000, 10


def debug_data(
    context: typer.Context,
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="Config of `spacy train`, and --its.settings VALUE.")
    ],
    train: Annotated[
        bool | None,
        typer.Option(
            "--train/--no-train", help="Look for label errors by training: up to 5,000 documents if not said."
        ),
    ] = None,
    code: Annotated[Path | None, typer.Option(metavar="FILE", help="Python file with registered functions.")] = None,
    format: OutputFormat = None,
    component: Component = None,
) -> None:
    """Tell what is in the corpora of a config and what is wrong with them, before training.

    Documents by label; documents without text or labels; duplicates, and those whose labels contradict each other,
    within and across the splits; sizes of the feature space and memory; and the training examples of the highest loss
    under models of the others, which are likely label errors. Exit code 1 if there are errors.
    """
    from ..checks.corpus import check_corpus
    from ..pipeline.components import graft_component

    nlp, corpora = read_config(config, context.args, code)
    graft = graft_component(nlp, component, "the config")
    checked = check_corpus(corpora["train"](nlp), corpora["dev"](nlp), exclusive=graft.exclusive)
    split, dev, found = checked.train, checked.dev, checked.findings

    def usable() -> Iterator[Example]:
        return split.usable(corpora["train"](nlp))

    size = measured(nlp, graft, usable, split)
    wanted = split.n_documents <= FEW if train is None else train
    suspected = suspects_of(nlp, graft, usable, split) if wanted and size is not None else None
    if as_table(format):
        show(*pages(split, dev, found, size, suspected))
    else:
        print_json(as_dict(split, dev, found, size, suspected), indent=2)
    if any(finding.level == "error" for finding in found):
        raise typer.Exit(BAD_INPUT)


def read_config(path: Path, arguments: list[str], code: Path | None) -> tuple[Language, dict[str, Corpus]]:
    """The pipeline of a config, untrained, and its corpora."""
    from spacy.cli._util import import_code, parse_config_overrides
    from spacy.schemas import ConfigSchemaTraining
    from spacy.util import load_config, load_model_from_config, registry, resolve_dot_names

    check_overrides(arguments)
    if not path.is_file():
        raise CommandError(f"There is no config {path}.")
    import_code(code)
    try:
        config = load_config(path, overrides=parse_config_overrides(list(arguments)), interpolate=False)
        nlp = load_model_from_config(config, auto_fill=True)
        settings = nlp.config.interpolate()
        training = registry.resolve(settings["training"], schema=ConfigSchemaTraining)
        train, dev = resolve_dot_names(settings, [training["train_corpus"], training["dev_corpus"]])
    except Exception as error:  # what is registered may raise anything
        raise CommandError(f"{path}: {error}") from error
    return nlp, {"train": train, "dev": dev}


def check_overrides(arguments: list[str]) -> None:
    """Raise a usage error for what is no --section.setting."""
    for argument in arguments:
        if argument.startswith("--") and "." not in argument:
            raise typer.BadParameter(f"No such option: {argument}")
    if arguments and not arguments[0].startswith("--"):
        raise typer.BadParameter(f"Unexpected argument: {arguments[0]}")


def measured(
    nlp: Language, graft: TextCatGraft, examples: Callable[[], Iterator[Example]], split: Split
) -> SpaceSize | None:
    """The size of the space: of all documents, or as a sample lets expect; None if there is nothing to measure."""
    from ..checks.memory import space_size
    from ..pipeline.training import annotated

    if not split.n_usable or len(split.without_text) == split.n_documents:
        return None
    step = -(-split.n_usable // SAMPLE)
    sample = annotated(lambda: islice(examples(), 0, None, step), nlp, graft)
    return space_size(graft, list(sample), split.n_usable)


def suspects_of(
    nlp: Language, graft: TextCatGraft, examples: Callable[[], Iterator[Example]], split: Split
) -> list[Suspect]:
    """Likely label errors."""
    from ..checks.corpus import name_of
    from ..checks.labels import suspects
    from ..pipeline.training import annotated

    found = list(annotated(examples, nlp, graft))
    names = [name_of(example, number) for example, number in zip(found, split.usable_numbers(), strict=True)]
    return suspects(graft, found, SUSPECTS, names)


def as_dict(
    train: Split, dev: Split, found: Sequence[Finding], size: SpaceSize | None, suspected: list[Suspect] | None
) -> dict[str, Any]:
    """Plain values, for JSON."""
    return {
        "documents": {split.name: split.n_documents for split in (train, dev)},
        "labels": {split.name: dict(split.labels.most_common()) for split in (train, dev)},
        "findings": [asdict(finding) for finding in found],
        "space": None if size is None else asdict(size),
        "highest_loss": None if suspected is None else [asdict(one) for one in suspected],
    }


def pages(
    train: Split, dev: Split, found: Sequence[Finding], size: SpaceSize | None, suspected: list[Suspect] | None
) -> Iterator[RenderableType]:
    """What a terminal shows."""
    yield label_table(train, dev)
    if size is not None:
        yield space_table(size)
    if suspected is not None:
        yield suspect_table(suspected)
    yield from (f"{finding.level}: {finding.message}" for finding in found)
    yield "" if found else "Nothing is wrong with the documents and their labels."


def label_table(train: Split, dev: Split) -> RenderableType:
    """Documents by label."""
    table = table_of("Documents", "label", "train", "dev", numbers=["train", "dev"])
    for label, count in train.labels.most_common():
        add_row(table, label, f"{count:,}", f"{dev.labels[label]:,}")
    add_row(table, "(all)", f"{train.n_documents:,}", f"{dev.n_documents:,}")
    return table


def space_table(size: SpaceSize) -> RenderableType:
    """Blocks, their sizes, and memory."""
    of = "all documents" if size.measured == size.documents else f"an estimate from {size.measured:,} documents"
    numbers = ["symbols", "features", "distinct", "MB"]
    table = table_of(f"Feature space, {of}", "block", "kind", *numbers, numbers=numbers)
    for block in size.blocks:
        counts = (f"{count:,}" if count else "" for count in (block.symbols, block.nodes, block.distinct))
        add_row(table, block.block, block.kind, *counts, megabytes(block.bytes))
    table.caption = f"training takes about {megabytes(size.bytes)} MB, {megabytes(size.peak_bytes)} MB at its peak"
    return table


def megabytes(n_bytes: int) -> str:
    """Bytes as MB, with a decimal."""
    return f"{n_bytes / 1e6:,.1f}"


def suspect_table(suspected: list[Suspect]) -> RenderableType:
    """A row an example."""
    table = table_of(
        "Highest loss under models of the others", "document", "labels", "predicted", "loss", "text", numbers=["loss"]
    )
    for one in suspected:
        add_row(table, one.document, ", ".join(one.labels), ", ".join(one.predicted), f"{one.loss:.2f}", one.text)
    return table
