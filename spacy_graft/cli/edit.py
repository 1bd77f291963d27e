"""``edit``: change what a model must not use, and optimise its weights again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..messages import count
from .common import (
    CommandError,
    ComponentOption,
    FormatOption,
    ModelArgument,
    check_output,
    check_replaceable,
    load_pipeline,
    print_message,
    print_result,
    refuse_options,
    refuse_within,
    warn_of_metadata,
)
from .features import feature_table
from .inputs import LabelFieldOption, TextFieldOption
from .progress import status_line

if TYPE_CHECKING:
    from rich.console import RenderableType
    from spacy.language import Language
    from spacy.training import Example

    from ..pipeline.edits import Edit
    from ..pipeline.textcat import TextCatGraft

EXAMPLES = """
spacy-graft edit model --deny '*@*' --data train.jsonl --output edited
spacy-graft edit model --deny 'characters::*' --data train.jsonl --data dev.jsonl --output edited
spacy-graft edit model --only-positive sport --lock 'goal=sport:1.5' --data train.jsonl --output edited
spacy-graft edit model --deny 'cramer' --no-resolve --output edited
"""

#: Scores of the dev corpus, as far as there are any, before and after.
Scores = tuple[dict[str, float], dict[str, float]]


def edit_command(
    context: typer.Context,
    model: ModelArgument,
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the edited pipeline.")],
    deny: Annotated[
        list[str] | None, typer.Option(metavar="PATTERN", help="Names of features that the model must not have.")
    ] = None,
    allow: Annotated[list[str] | None, typer.Option(metavar="PATTERN", help="Exceptions to the denied names.")] = None,
    only_positive: Annotated[
        list[str] | None, typer.Option(metavar="LABEL", help="Label that features may only support.")
    ] = None,
    only_negative: Annotated[
        list[str] | None, typer.Option(metavar="LABEL", help="Label that features may only oppose.")
    ] = None,
    lock: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LABEL:WEIGHT",
            help="Weight of a feature that is not trained. Of several labels that fit, the longest is meant.",
        ),
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(metavar="CORPUS", help="Labelled texts, as of train: those that the model was trained on."),
    ] = None,
    dev: Annotated[
        Path | None,
        typer.Option(
            metavar="CORPUS",
            help="Labelled texts, as of train, for scores before and after the edit: such that the model has not seen.",
        ),
    ] = None,
    resolve: Annotated[
        bool,
        typer.Option(help="Optimise the weights; otherwise only denied features are removed, without a certificate."),
    ] = True,
    top: Annotated[int, typer.Option(min=1, help="Number of removed and of added features to list.")] = 20,
    text_field: TextFieldOption = "text",
    label_field: LabelFieldOption = "label",
    format: FormatOption = None,
    component: ComponentOption = None,
) -> None:
    """Change the constraints of a trained model.

    Its weights are then optimised again under the constraints, with a certificate. A PATTERN is compared with the names
    that `spacy-graft features` lists: *, ? and [...] are wildcards, and BLOCK::PATTERN applies to one block. --deny,
    --allow, --only-positive, --only-negative and --lock may be repeated. The edits are kept with the model. Without
    --data, the model must have been trained with keep_corpus = true.
    """
    from ..pipeline.reader import JsonlCorpus
    from ..pipeline.whole_save import save_whole
    from .corpora import warn_of_training_corpus

    check_output(output)
    check_replaceable(output)
    refuse_within(output, *(data or ()), dev)
    if not (deny or allow or only_positive or only_negative or lock):
        raise CommandError("Nothing is edited: give --deny, --allow, --only-positive, --only-negative or --lock.")
    if data and not resolve:
        raise CommandError("--no-resolve only removes features, for which it reads no --data: give one of them.")
    if not data and dev is None:
        refuse_options(context, "text_field", "label_field", why="without --data and --dev")
    nlp, graft = load_pipeline(model, component)
    if data or dev is not None:
        warn_of_metadata(graft)
    if dev is not None:
        warn_of_training_corpus(nlp, dev)
    signs = signs_of(graft, only_positive or (), only_negative or ())
    locks = dict.fromkeys(parsed_lock(text, graft) for text in lock or ())

    def corpus(path: Path) -> Iterator[Example]:
        return JsonlCorpus(path, text_field, label_field)(nlp)

    with status_line("Reading the training documents and optimising the weights"):
        dev_examples = None if dev is None else list(corpus(dev))
        before = scores_of(nlp, graft, dev_examples)
        edit = graft.edit(
            deny=deny or (),
            allow=allow or (),
            signs=signs,
            lock=list(locks),
            examples=chain.from_iterable(map(corpus, data)) if data else None,
            nlp=nlp,
            resolve=resolve,
        )
        after = scores_of(nlp, graft, dev_examples)
        save_whole(nlp, output)
    print_message(f"Wrote {output}.")
    print_result(format, edit_tables(edit, (before, after), top), edit_values(edit, (before, after), top))


def signs_of(graft: TextCatGraft, positive: Iterable[str], negative: Iterable[str]) -> list[tuple[str, str]]:
    """Return the labels that have one sign only, with it."""
    signs = [(label, sign) for sign, labels in (("positive", positive), ("negative", negative)) for label in labels]
    for label, _ in signs:
        graft.selected_labels(label)
    return list(dict.fromkeys(signs))


def parsed_lock(text: str, graft: TextCatGraft) -> tuple[str, str, float]:
    """Return name, label and weight of a lock; names and labels may have the signs between them in themselves."""
    before, _, number = text.rpartition(":")
    # Of labels that all end it, the longest: "a=b" and not "b".
    label = max((label for label in graft.labels if before.endswith(f"={label}")), key=len, default=None)
    try:
        weight = float(number)
    except ValueError:
        weight = None
    if weight is None or "=" not in before[:-1]:
        raise CommandError(f"--lock {text!r} must be NAME=LABEL:WEIGHT, such as 'goal={graft.labels[0]}:1.5'.")
    if label is None:
        label = before.rpartition("=")[2]
        graft.selected_labels(label)
    return before[: -len(label) - 1], label, weight


def scores_of(nlp: Language, graft: TextCatGraft, examples: list[Example] | None) -> dict[str, float]:
    """Return the component's scores on a corpus, if there is one, that are numbers; the examples stay as they are."""
    from ..pipeline.annotation import annotated_before
    from ..pipeline.fit import scores_on

    if examples is None:
        return {}
    scores = scores_on(graft, list(annotated_before(nlp, graft, examples)))
    names = ("cats_score", "cats_micro_f", "cats_macro_f")
    return {name: float(scores[name]) for name in names if scores.get(name) is not None}


def edit_values(edit: Edit, scores: Scores, top: int) -> dict[str, Any]:
    """Return plain values, with at most ``top`` features of each kind."""
    return {
        "n_removed": len(edit.removed),
        "n_added": len(edit.added),
        "removed": [asdict(feature) for feature in edit.removed[:top]],
        "added": [asdict(feature) for feature in edit.added[:top]],
        "dev": {"before": scores[0], "after": scores[1]} if scores[0] else None,
        "report": edit.report.to_dict(),
    }


def edit_tables(edit: Edit, scores: Scores, top: int) -> Iterator[RenderableType]:
    """Yield tables of what went and what came, the certificate, and the scores."""
    for title, features in (("removed", edit.removed), ("added", edit.added)):
        shown = f", {top} shown" if len(features) > top else ""
        if features:
            yield feature_table(features[:top], None, f"{count(len(features), 'feature')} {title}{shown}")
        else:
            yield f"No features {title}."
    report = edit.report
    yield f"{report.n_active:,} features. " + (
        f"Duality gap {report.relative_gap:.1e} of the objective at zero weights"
        f"{', converged' if report.converged else ', not converged'}."
        if report.converged or report.duality_gap < float("inf")
        else "Weights were not optimised: there is no certificate."
    )
    for name, value in scores[0].items():
        yield f"{name} on dev: {value:.4f} before, {scores[1][name]:.4f} after"
