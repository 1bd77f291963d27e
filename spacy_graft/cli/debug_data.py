"""``debug-data``: check the corpora of a config before training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common import (
    BAD_INPUT,
    CodeOption,
    CommandError,
    ComponentOption,
    FormatOption,
    add_row,
    config_pipeline,
    make_table,
    print_result,
    text_of_any,
)

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from spacy.language import Language
    from spacy.training import Example

    from ..checks.corpus import CorpusReport
    from ..checks.labels import LabelIssue
    from ..checks.memory import MemoryEstimate
    from ..pipeline.textcat import TextCatGraft

EXAMPLES = """
spacy-graft debug-data config.cfg --paths.train train.jsonl --paths.dev dev.jsonl
spacy-graft debug-data config.cfg --corpora.train.id_field id --train
spacy-graft debug-data config.cfg | jq .findings
"""

ExampleReader = Callable[["Language"], Iterator["Example"]]
#: Largest number of documents that memory is estimated from.
MAX_MEASURED = 5000
#: Largest number of documents that label errors are searched in by default, and number of label errors to show.
MAX_TRAINED, MAX_ISSUES = 5000, 10


@dataclass(frozen=True)
class DataReport:
    """Everything that the command prints.

    Attributes
    ----------
    corpus : CorpusReport
    memory : MemoryEstimate, optional
        None if training would take no document.
    label_errors : list of LabelIssue, optional
        None if they were not searched, or there are too few documents or labels.
    """

    corpus: CorpusReport
    memory: MemoryEstimate | None
    label_errors: list[LabelIssue] | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        splits = (self.corpus.train, self.corpus.dev)
        return {
            "documents": {split.name: split.n_documents for split in splits},
            "labels": {split.name: dict(split.label_counts.most_common()) for split in splits},
            "findings": [asdict(finding) for finding in self.corpus.findings],
            "memory": None if self.memory is None else asdict(self.memory),
            "label_errors": None if self.label_errors is None else [asdict(issue) for issue in self.label_errors],
        }

    def renderables(self) -> Iterator[RenderableType]:
        """Yield tables and lines, for a terminal."""
        yield label_table(self.corpus)
        if self.memory is not None:
            yield memory_table(self.memory)
        if self.label_errors:
            yield issue_table(self.label_errors)
        elif self.label_errors is not None:
            yield "All labels are as models of the other documents predict them.\n"
        yield from (f"{finding.level}: {finding.message}" for finding in self.corpus.findings)
        yield "" if self.corpus.findings else "No problems found in documents and labels."


def debug_data_command(
    context: typer.Context,
    config: Annotated[
        Path,
        typer.Argument(metavar="CONFIG", help="Config for `spacy train`; --section.setting VALUE overrides a setting."),
    ],
    train: Annotated[
        bool | None,
        typer.Option(
            "--train/--no-train",
            help="Whether to look for label errors, which trains models; by default with up to 5,000 documents.",
        ),
    ] = None,
    code: CodeOption = None,
    format: FormatOption = None,
    component: ComponentOption = None,
) -> None:
    """Check the corpora of a config before training.

    Reports the number of documents by label, documents without text or labels, duplicates and contradictory labels
    within and across the splits, the size of the feature space, the memory of training, and likely label errors: the
    training documents of the highest loss under models that were trained without them. Exit code 1 if there are errors.
    """
    from ..checks.corpus import check_corpus
    from ..pipeline.components import graft_component
    from ..pipeline.fit import settings_of_labels

    nlp, corpora = read_config(config, context, code)
    graft = graft_component(nlp, component, "the config")
    labels = settings_of_labels(nlp, graft).get("labels")
    corpus = check_corpus(corpora["train"](nlp), corpora["dev"](nlp), exclusive=graft.exclusive, labels=labels)
    report = data_report(nlp, graft, corpora["train"], corpus, train)
    print_result(format, report.renderables(), report.to_dict())
    if corpus.has_errors:
        raise typer.Exit(BAD_INPUT)


def read_config(path: Path, context: typer.Context, code: Path | None) -> tuple[Language, dict[str, ExampleReader]]:
    """Return the untrained pipeline of a config and the readers of its corpora, ``train`` and ``dev``."""
    from spacy.schemas import ConfigSchemaTraining
    from spacy.util import registry, resolve_dot_names

    from ..pipeline.reader import JsonlCorpus

    nlp = config_pipeline(path, context, code)
    try:
        settings = nlp.config.interpolate()
        training = registry.resolve(settings["training"], schema=ConfigSchemaTraining)
        readers = resolve_dot_names(settings, [training["train_corpus"], training["dev_corpus"]])
    except Exception as error:  # registered functions can raise anything
        raise CommandError(f"{path}: {text_of_any(error)}") from error
    for reader in readers:
        if isinstance(reader, JsonlCorpus):
            reader.lazy = False  # The checks look at tokens.
    return nlp, dict(zip(("train", "dev"), readers, strict=True))


def data_report(
    nlp: Language, graft: TextCatGraft, reader: ExampleReader, corpus: CorpusReport, train: bool | None
) -> DataReport:
    """Complete the report of a corpus with the memory estimate and label errors, if its documents can be used."""
    from spacy.training import Example

    from ..checks.corpus import example_name
    from ..checks.labels import component_label_errors
    from ..checks.memory import component_memory
    from ..pipeline.annotation import annotated

    split = corpus.train
    if not split.n_usable or len(split.without_text) == split.n_documents:
        return DataReport(corpus, None, None)

    def examples(step: int) -> list[Example]:
        pairs = annotated(lambda: islice(split.usable(reader(nlp)), 0, None, step), nlp, graft)
        return [Example(*pair) for pair in pairs]

    memory = component_memory(graft, examples(-(-split.n_usable // MAX_MEASURED)), split.n_usable)
    trainable = split.n_usable >= 2 and (len(split.labels) >= 2 or not split.exclusive)
    if not trainable or not (split.n_documents <= MAX_TRAINED if train is None else train):
        return DataReport(corpus, memory, None)
    checked = examples(1)
    names = [example_name(example, number) for example, number in zip(checked, split.usable_numbers(), strict=True)]
    return DataReport(corpus, memory, component_label_errors(graft, checked, MAX_ISSUES, names))


def label_table(corpus: CorpusReport) -> Table:
    """Make a table of the number of documents by label."""
    train, dev = corpus.train, corpus.dev
    table = make_table("Documents", "label", "train", "dev", numbers=["train", "dev"])
    for label, count in train.label_counts.most_common():
        add_row(table, label, f"{count:,}", f"{dev.label_counts[label]:,}")
    add_row(table, "(all)", f"{train.n_documents:,}", f"{dev.n_documents:,}")
    return table


def memory_table(memory: MemoryEstimate) -> Table:
    """Make a table of the sizes of all blocks."""
    exact = memory.n_measured == memory.n_documents
    basis = "all documents" if exact else f"estimated from {memory.n_measured:,} documents"
    numbers = ["symbols", "nodes", "distinct columns", "MB"]
    table = make_table(f"Feature space, {basis}", "block", "kind", *numbers, numbers=numbers)
    for block in memory.blocks:
        counts = (f"{count:,}" if count else "" for count in (block.n_symbols, block.n_nodes, block.n_columns))
        add_row(table, block.block, block.feature_kind, *counts, megabytes(block.n_bytes))
    table.caption = (
        f"memory of training: {megabytes(memory.total_bytes)} MB, at the peak {megabytes(memory.peak_bytes)} MB"
    )
    return table


def megabytes(n_bytes: int) -> str:
    """Format bytes as MB."""
    return f"{n_bytes / 1e6:,.1f}"


def issue_table(issues: list[LabelIssue]) -> Table:
    """Make a table of likely label errors."""
    columns = ("document", "labels", "predicted", "loss", "text")
    title = "Likely label errors (models of the other documents predict other labels)"
    table = make_table(title, *columns, numbers=["loss"])
    for issue in issues:
        labels, predicted = ", ".join(issue.labels), ", ".join(issue.predicted)
        add_row(table, issue.document, labels, predicted, f"{issue.loss:.2f}", issue.text)
    return table
