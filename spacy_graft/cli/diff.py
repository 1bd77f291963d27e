"""``diff``: differences between two models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..files import writing
from ..messages import count, printable
from .common import (
    FormatOption,
    load_pipeline,
    make_table,
    print_json,
    print_message,
    print_tables,
    refuse_options,
    refuse_other_file,
    refuse_own_input,
    wants_table,
)

if TYPE_CHECKING:
    from ..explain.features import FeatureKey
    from ..pipeline.textcat import TextCatGraft

EXAMPLES = """
spacy-graft diff old/model-best new/model-best
spacy-graft diff old/model-best new/model-best --top 50 --format json > changes.json
spacy-graft diff old/model-best new/model-best --html changes.html
"""

#: The last columns of tables, which are numbers, and changes of each kind on a page.
NUMBERS, MAX_ON_PAGE = ("before", "after"), 100


@dataclass(frozen=True)
class Change:
    """A weight of one feature in both models; 0 in the model that does not have the feature or the label."""

    feature: str
    block: str
    label: str
    before: float
    after: float


@dataclass(frozen=True)
class ModelDifference:
    """Differences between two models; the largest changes are first.

    Attributes
    ----------
    labels_added, labels_removed : list of str
    n_features : list of int
        Number of features of each model.
    features_added, features_removed : list of Change
        For each feature, its largest weight.
    sign_changes, weight_changes : list of Change
        Weights of features and labels of both models: those with another sign, and all that are different.
    n_words_changed : int
        Words whose scores by their vectors are different, or that have some in one of the models only.
    threshold_changes : dict of str to list of float
        The thresholds of each independent label of both models that has different ones: before and after.
    """

    labels_added: list[str]
    labels_removed: list[str]
    n_features: list[int]
    features_added: list[Change]
    features_removed: list[Change]
    sign_changes: list[Change]
    weight_changes: list[Change]
    n_words_changed: int
    threshold_changes: dict[str, list[float]]


def diff_command(
    context: typer.Context,
    before: Annotated[str, typer.Argument(metavar="MODEL", help="First trained pipeline.")],
    after: Annotated[str, typer.Argument(metavar="MODEL", help="Second trained pipeline.")],
    top: Annotated[
        int | None, typer.Option(min=1, help="Number of changes of each kind; by default 10 in tables, else all.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write an HTML page with the models side by side.")
    ] = None,
    format: FormatOption = None,
    component: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Graft component to use, if a pipeline has several; given twice, that of the first model and that of "
            "the second.",
        ),
    ] = None,
) -> None:
    """Compare two models.

    Prints the labels and features that were added or removed, and the weights and thresholds that changed. Features are
    the same if they have the same block and the same text.
    """
    if html is not None:
        refuse_options(context, "format", why="with --html")
    refuse_own_input(html, before, after)
    refuse_other_file(html, ".html", ".htm")
    names: list[str | None] = [*component] if component else [None]
    if len(names) > 2:
        raise typer.BadParameter(f"--component is given {len(names)} times, but there are two models.")
    models = load_pipeline(before, names[0])[1], load_pipeline(after, names[-1])[1]
    difference = difference_of(*models)
    if html is not None:
        with writing(html) as file:
            file.write(difference_page(difference, models, (before, after), top or MAX_ON_PAGE).encode())
        print_message(f"Wrote {html}.")
    elif wants_table(format):
        kinds = changes_by_kind(difference, top or 10)
        tables = (make_table(title, *columns, numbers=NUMBERS, rows=rows) for title, columns, rows in kinds)
        print_tables(difference_summary(difference), *tables)
    else:
        print_json(limited_difference(difference, top), indent=2)


def difference_of(before: TextCatGraft, after: TextCatGraft) -> ModelDifference:
    """Compare two trained components."""
    old, new = weights_by_feature(before), weights_by_feature(after)
    shared_labels = [label for label in before.labels if label in after.labels]
    shared = [
        Change(key.text, key.block, label, weight, new_weight)
        for key, weights in old.items() if key in new
        for label in shared_labels
        # Features of many labels have those that are not 0.
        if (weight := weights.get(label, 0.0)) != (new_weight := new[key].get(label, 0.0))
    ]  # fmt: skip
    return ModelDifference(
        labels_added=[label for label in after.labels if label not in before.labels],
        labels_removed=[label for label in before.labels if label not in after.labels],
        n_features=[len(old), len(new)],
        features_added=by_size(largest_change(key, {}, weights) for key, weights in new.items() if key not in old),
        features_removed=by_size(largest_change(key, weights, {}) for key, weights in old.items() if key not in new),
        sign_changes=by_size(change for change in shared if change.before * change.after < 0.0),
        weight_changes=by_size(shared),
        n_words_changed=n_words_changed(before, after),
        threshold_changes=threshold_changes(before, after),
    )


def weights_by_feature(component: TextCatGraft) -> dict[FeatureKey, dict[str, float]]:
    """Return the weights of each feature by label."""
    from ..explain.features import features_by_key
    from ..model.sparse_linear import snapshot_of

    by_key = features_by_key(snapshot_of(component.model), component.features())
    return {key: feature.weights for key, feature in by_key.items()}


def n_words_changed(before: TextCatGraft, after: TextCatGraft) -> int:
    """Count the words to which the vectors of two models give different scores, or only one of them gives some."""
    shared = [label for label in before.labels if label in after.labels]
    old, new = scores_by_word(before, shared), scores_by_word(after, shared)
    return sum(old.get(word) != new.get(word) for word in old.keys() | new.keys())


def threshold_changes(before: TextCatGraft, after: TextCatGraft) -> dict[str, list[float]]:
    """Return both thresholds of the labels whose thresholds are different; none if labels exclude each other."""
    old, new = before.scoring_options().get("thresholds", {}), after.scoring_options().get("thresholds", {})
    changes = {label: [old[label], new[label]] for label in old if label in new and old[label] != new[label]}
    return dict(sorted(changes.items(), key=lambda change: -abs(change[1][1] - change[1][0])))


def scores_by_word(component: TextCatGraft, labels: list[str]) -> dict[str, bytes]:
    """Return the bytes of the scores of each word with a vector, for some labels."""
    import numpy as np

    from ..model.sparse_linear import snapshot_of

    word_scores = snapshot_of(component.model).word_scores
    if word_scores is None:
        return {}
    columns = [component.labels.index(label) for label in labels]
    scores = word_scores.scores.of(np.arange(len(word_scores.lexicon)))[:, columns]
    rows = np.ascontiguousarray(scores * word_scores.lexicon.shares[:, None])
    return {word: row.tobytes() for word, row in zip(word_scores.lexicon.words, rows, strict=True)}


def largest_change(key: FeatureKey, before: dict[str, float], after: dict[str, float]) -> Change:
    """Return the largest weight of a feature that only one of the models has."""
    weights = before or after
    label = max(weights, key=lambda label: abs(weights[label]))
    return Change(key.text, key.block, label, before.get(label, 0.0), after.get(label, 0.0))


def by_size(changes: Iterable[Change]) -> list[Change]:
    """Sort changes by the absolute difference of the weights, in descending order."""
    return sorted(changes, key=lambda change: -abs(change.after - change.before))


def limited_difference(difference: ModelDifference, top: int | None) -> dict[str, Any]:
    """Return plain values, with at most ``top`` changes of each kind."""
    value = asdict(difference)
    for key in ("features_added", "features_removed", "sign_changes", "weight_changes"):
        value[key] = value[key][:top]
    value["threshold_changes"] = dict(islice(difference.threshold_changes.items(), top))
    return value


def difference_summary(difference: ModelDifference) -> str:
    """Return a few lines about features, words with vectors and labels."""
    labels = [f"+{printable(label)}" for label in difference.labels_added]
    labels += [f"-{printable(label)}" for label in difference.labels_removed]
    before, after = difference.n_features
    words = f"{count(difference.n_words_changed, 'word')} with other scores by vectors\n"
    return (
        f"{before:,} features before, {after:,} after: {len(difference.features_added):,} added, "
        f"{len(difference.features_removed):,} removed, {len(difference.sign_changes):,} weights with another sign\n"
        f"{words if difference.n_words_changed else ''}labels: {', '.join(labels) or 'no change'}"
    )


def changes_by_kind(difference: ModelDifference, top: int) -> Iterator[tuple[str, Sequence[str], list[list[str]]]]:
    """Yield the title, columns and rows of a table for each kind of change that occurs."""
    for title, changes in (
        ("Features added", difference.features_added),
        ("Features removed", difference.features_removed),
        ("Weights with another sign", difference.sign_changes),
        ("Changed weights", difference.weight_changes),
    ):
        if changes:
            rows = [[change.feature, change.block, change.label, *weights_of(change)] for change in changes[:top]]
            yield caption(title, changes, top), ("feature", "block", "label", *NUMBERS), rows
    if thresholds := difference.threshold_changes:
        rows = [[label, *map("{:.4f}".format, numbers)] for label, numbers in islice(thresholds.items(), top)]
        yield caption("Changed thresholds", thresholds, top), ("label", *NUMBERS), rows


def caption(title: str, changes: Sized, top: int) -> str:
    """Return the title of a table with the number of changes."""
    return f"{title}: {len(changes):,}" + (f", {top} shown" if len(changes) > top else "")


def weights_of(change: Change) -> tuple[str, str]:
    """Return the weights before and after, empty for a model that has none."""
    before, after = (f"{weight:+.4f}" if weight else "" for weight in (change.before, change.after))
    return before, after


def difference_page(
    difference: ModelDifference, models: tuple[TextCatGraft, TextCatGraft], paths: tuple[str, str], top: int
) -> str:
    """Make a page with the changes, and the features of both models side by side."""
    from ..explain.html.markup import escaped, fragment, interactive_page, name_html, number_cell, side_by_side, table

    def row_html(row: list[str]) -> str:
        first, *others = map(name_html, row[:-2])
        names = "".join(f"<td>{name}</td>" for name in others)
        return f'<tr><th scope="row">{first}</th>{names}{"".join(map(number_cell, row[-2:]))}</tr>'

    tables = [table(title, columns, map(row_html, rows)) for title, columns, rows in changes_by_kind(difference, top)]
    summary = "".join(f"<p>{escaped(line)}</p>" for line in difference_summary(difference).splitlines())
    changed = fragment("<h3>Differences</h3>", summary, *tables)
    sides = [
        fragment(model.overview(data=f'<p class="note">{side}: {name_html(path)}</p>'))
        for side, path, model in zip(NUMBERS, paths, models, strict=True)
    ]
    return interactive_page("Differences", changed + side_by_side(sides))
