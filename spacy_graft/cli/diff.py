"""``diff``: what changed between two models."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common import Component, OutputFormat, add_row, as_table, load, print_json, show, table_of

if TYPE_CHECKING:
    from rich.table import Table

    from ..pipeline.textcat import TextCatGraft

EXAMPLES = """
spacy-graft diff old/model-best new/model-best
spacy-graft diff old/model-best new/model-best --top 50 --format json > changes.json
"""

#: Block and text of a feature.
Name = tuple[str, str]
Weights = dict[Name, dict[str, float]]


@dataclass(frozen=True)
class Change:
    """A weight before and after; 0 where the feature has none."""

    feature: str
    block: str
    label: str
    before: float
    after: float

    @property
    def size(self) -> float:
        return abs(self.after - self.before)


@dataclass(frozen=True)
class Difference:
    """What changed, the largest changes first.

    Attributes
    ----------
    labels_in, labels_out : list of str
    features : list of int
        How many there were, and are.
    features_in, features_out : list of Change
        A feature each, with the label of its largest weight.
    sign_flips, changed : list of Change
        Weights that both models have.
    """

    labels_in: list[str]
    labels_out: list[str]
    features: list[int]
    features_in: list[Change]
    features_out: list[Change]
    sign_flips: list[Change]
    changed: list[Change]


def diff(
    before: Annotated[str, typer.Argument(metavar="MODEL", help="A trained pipeline.")],
    after: Annotated[str, typer.Argument(metavar="MODEL", help="Another one.")],
    top: Annotated[int | None, typer.Option(min=1, help="Rows of each table: 10; in JSON, all.")] = None,
    format: OutputFormat = None,
    component: Component = None,
) -> None:
    """Tell what changed between two models: labels, features in and out, weights that changed their sign or much.

    Features are the same if they have the same block and text.
    """
    difference = difference_of(load(before, component)[1], load(after, component)[1])
    if as_table(format):
        show(summary(difference), *tables(difference, top or 10))
    else:
        print_json(limited(difference, top), indent=2)


def difference_of(before: TextCatGraft, after: TextCatGraft) -> Difference:
    """Compare two components."""
    old, new = weights_of(before), weights_of(after)
    shared = [
        Change(name[1], name[0], label, weight, new[name][label])
        for name, weights in old.items() if name in new
        for label, weight in weights.items() if label in new[name] and weight != new[name][label]
    ]  # fmt: skip
    return Difference(
        labels_in=[label for label in after.labels if label not in before.labels],
        labels_out=[label for label in before.labels if label not in after.labels],
        features=[len(old), len(new)],
        features_in=by_size(largest(name, {}, weights) for name, weights in new.items() if name not in old),
        features_out=by_size(largest(name, weights, {}) for name, weights in old.items() if name not in new),
        sign_flips=by_size(change for change in shared if change.before * change.after < 0.0),
        changed=by_size(shared),
    )


def weights_of(component: TextCatGraft) -> Weights:
    """Weights by feature."""
    return {(feature.block, feature.text): feature.weights for feature in component.features()}


def largest(name: Name, before: dict[str, float], after: dict[str, float]) -> Change:
    """The largest weight of a feature that only one of the models has."""
    weights = before or after
    label = max(weights, key=lambda label: abs(weights[label]))
    return Change(name[1], name[0], label, before.get(label, 0.0), after.get(label, 0.0))


def by_size(changes: Iterable[Change]) -> list[Change]:
    """The largest first."""
    return sorted(changes, key=lambda change: -change.size)


def limited(difference: Difference, top: int | None) -> dict[str, Any]:
    """Plain values, with no more changes of each sort than are asked for."""
    value = asdict(difference)
    for key in ("features_in", "features_out", "sign_flips", "changed"):
        value[key] = value[key][:top]
    return value


def summary(difference: Difference) -> str:
    """A few lines."""
    labels = [f"+{label}" for label in difference.labels_in] + [f"-{label}" for label in difference.labels_out]
    before, after = difference.features
    return (
        f"{before:,} features before, {after:,} after: {len(difference.features_in):,} in, "
        f"{len(difference.features_out):,} out, {len(difference.sign_flips):,} weights with another sign\n"
        f"labels: {', '.join(labels) or 'the same'}"
    )


def tables(difference: Difference, top: int) -> list[Table]:
    """A table for each sort of change that there is."""
    titles = {
        "In": difference.features_in,
        "Out": difference.features_out,
        "Another sign": difference.sign_flips,
        "Changed most": difference.changed,
    }
    return [change_table(title, changes, top) for title, changes in titles.items() if changes]


def change_table(title: str, changes: list[Change], top: int) -> Table:
    """A row a change."""
    shown = f"{title}: {len(changes):,}" + (f", {top} shown" if len(changes) > top else "")
    table = table_of(shown, "feature", "block", "label", "before", "after", numbers=["before", "after"])
    for change in changes[:top]:
        add_row(
            table, change.feature, change.block, change.label,
            *(f"{weight:+.4f}" if weight else "" for weight in (change.before, change.after)),
        )  # fmt: skip
    return table
