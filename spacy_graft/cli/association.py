"""``test``: which features go with which labels, and not by chance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..messages import count, listed, printable
from .common import (
    ComponentOption,
    FormatOption,
    add_row,
    blank_pipeline,
    load_pipeline,
    make_table,
    print_message,
    print_result,
    refuse_options,
)
from .corpora import are_exclusive
from .inputs import LabelFieldOption, TextFieldOption

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from spacy.language import Language

    from ..checks.association import SignificanceReport, SignificantFeature
    from ..pipeline.reader import JsonlCorpus

EXAMPLES = """
spacy-graft test train.jsonl
spacy-graft test train.jsonl --of words --min-df 5 --strata author --contexts 2
spacy-graft test train.jsonl --of characters --permutations 10000 --level 0.001 --format json
spacy-graft test train.jsonl --model training/model-best
spacy-graft test train.jsonl --pairs 50
"""

#: A label of fewer documents is told of, if there are others.
FEW_DOCUMENTS = 20


class Units(StrEnum):
    """What n-grams are made of."""

    words = "words"
    characters = "characters"


def significance_command(
    context: typer.Context,
    corpus: Annotated[Path, typer.Argument(metavar="CORPUS", help="Labelled texts, as of train.")],
    of: Annotated[Units, typer.Option(help="What the n-grams are made of, in lower case.")] = Units.words,
    min_df: Annotated[int, typer.Option(min=1, help="Smallest number of documents of an n-gram.")] = 5,
    max_length: Annotated[int | None, typer.Option(min=1, help="Longest n-gram; by default any length.")] = None,
    lang: Annotated[str, typer.Option(metavar="CODE", help="Language of the tokenizer, for example en or de.")] = "xx",
    model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Pipeline whose tokenizer and feature blocks are used instead."),
    ] = None,
    strata: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            help="Key of the strata in JSON lines, column in tables, such as author: labels are permuted within each.",
        ),
    ] = None,
    level: Annotated[
        float, typer.Option(help="Level of the adjusted p-values and of the false discovery rate of each label.")
    ] = 0.05,
    permutations: Annotated[int, typer.Option(min=1, help="Number of permutations of the labels.")] = 1000,
    top: Annotated[int, typer.Option(min=1, help="Number of features to list for each label.")] = 20,
    contexts: Annotated[int, typer.Option(min=0, help="Number of example documents for each feature.")] = 0,
    pairs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Also test all pairs of words (or items) that occur together in N documents or more.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random permutations.")] = 0,
    text_field: TextFieldOption = "text",
    label_field: LabelFieldOption = "label",
    format: FormatOption = None,
    component: ComponentOption = None,
) -> None:
    """Test which n-grams are associated with which labels.

    N-grams may have any length. The labels are permuted many times (within strata, if there are any), and every n-gram
    is tested each time. The largest statistic of each permutation gives adjusted p-values that hold for all n-grams
    together. The output lists, for each label, the features whose estimated false discovery rate under this label is at
    most the level. JSON output has all figures.
    """
    from ..checks.association import significance
    from ..pipeline.reader import JsonlCorpus

    examples = JsonlCorpus(corpus, text_field, label_field)
    if model is None:
        nlp = tokenizing_pipeline(of, min_df, max_length, lang, are_exclusive(examples))
    else:
        refuse_options(context, "of", "min_df", "max_length", "lang", why="with --model: give one of them")
        nlp, _ = load_pipeline(model, component)
    report = significance(
        nlp,
        examples(nlp),
        strata=None if strata is None else values_of(examples, strata),
        level=level,
        permutations=permutations,
        top=top,
        contexts=contexts,
        seed=seed,
        pairs=pairs,
        component=component,
    )
    if not report.n_tested:
        print_message("Nothing was tested: no n-gram is in enough documents (--min-df).")
    print_result(format, renderables(report), asdict(report))


def tokenizing_pipeline(of: Units, min_df: int, max_length: int | None, lang: str, exclusive: bool) -> Language:
    """Return an untrained pipeline with a block of n-grams, for exclusive or independent labels."""
    block: dict[str, Any] = {"min_df": min_df, "max_length": max_length}
    if of == Units.words:
        block |= {"@graft_features": "spacy_graft.TokenNgrams.v1", "attr": "LOWER"}
    else:
        block |= {"@graft_features": "spacy_graft.CharacterNgrams.v1", "within_words": False}
    nlp = blank_pipeline(lang)
    name = "textcat_graft" if exclusive else "textcat_graft_multilabel"
    nlp.add_pipe(name, config={"features": {str(of): block}})
    return nlp


def values_of(corpus: JsonlCorpus, key: str) -> list[str]:
    """Return the value of a key in every line, as JSON."""
    from ..files import BadLineError, json_text

    values = []
    for number, record in corpus.records():
        if key not in record:
            problem = f"there is no {key!r}. The keys: {listed(record)}."
            raise BadLineError(corpus.path, number, problem, corpus.content.unit)
        values.append(json_text(record[key]))
    return values


def renderables(report: SignificanceReport) -> Iterator[RenderableType]:
    """Yield a summary, and a table of each label."""
    if not report.n_tested:
        return
    yield (
        f"{report.n_tested:,} pairs of a feature and a label tested in {report.n_documents:,} documents under "
        f"{count(report.n_permutations, 'permutation')}. |z| of {report.threshold:.2f} or more: significant at "
        f"{report.level:g} among all of them."
    )
    rarest = min(report.labels, key=report.labels.__getitem__)
    if len(report.labels) > 2 and report.labels[rarest] < FEW_DOCUMENTS:
        yield (
            f"The limit is that of all labels together, and rare ones raise it ({printable(rarest)}: "
            f"{count(report.labels[rarest], 'document')}): by chance, their n-grams have the largest |z|. Test without "
            f"them, or with a larger --min-df."
        )
    for label in report.labels:
        features = [feature for feature in report.features if feature.label == label]
        if label in report.n_discoveries:
            yield features_of_label(report, label, features) if features else title_of(report, label)


def features_of_label(report: SignificanceReport, label: str, features: list[SignificantFeature]) -> Table:
    """Make a table of the features of a label."""
    from rich.text import Text

    numbers = ["z", "adjusted p", "FDR", "documents", "of the label"]
    table = make_table(title_of(report, label), "feature", *numbers, numbers=numbers)
    for feature in features:
        counts = (f"{feature.df:,}", f"{feature.df_of_label:,}")
        name = Text(printable(feature.text))
        for context in feature.contexts:
            name.append(f"\n  {printable(context)}", style="dim")
        add_row(table, name, f"{feature.z:+.1f}", f"{feature.p_adjusted:.3g}", f"{feature.fdr:.3g}", *counts)
    return table


def title_of(report: SignificanceReport, label: str) -> str:
    """How many documents a label has, and how many features."""
    return (
        f"{label}: {count(report.labels[label], 'document')}; "
        f"{count(report.n_significant[label], 'significant feature')}, "
        f"{report.n_discoveries[label]:,} at a false discovery rate of {report.level:g}"
    )
