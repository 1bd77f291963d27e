"""The features of a model, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..extract.blocks import Block
from ..extract.terms import NamedTerm
from ..model.sparse_linear import as_reading_block
from ..model.table import FeatureTable

#: Between the members of a combination.
TIMES = " × "


@dataclass(frozen=True)
class Feature:
    """A feature of the model.

    Attributes
    ----------
    text : str
        Its n-gram, the shortest of its class, or item, or the members of a combination.
    longest : str
        The longest n-gram of its class: it occurs in the same training documents.
    block : str
        The block it comes from.
    kind : str
        What it is: "character n-gram", "token n-gram", "attribute", "head–modifier", "document attribute",
        "combination".
    df : int
        Training documents that hold it.
    weights : dict of str to float
        By label.
    """

    text: str
    longest: str
    block: str
    kind: str
    df: int
    weights: dict[str, float]


def features_of(
    table: FeatureTable, weights: np.ndarray, blocks: Mapping[str, Block], labels: Sequence[str]
) -> list[Feature]:
    """All features of a model, in the order of its weights: float64 (n_features, n_labels)."""
    return [
        Feature(
            text=text_of(blocks, table.terms(k)),
            longest=text_of(blocks, table.terms(k, longest=True)),
            block=table.blocks[k],
            kind=blocks[table.blocks[k]].feature_kind,
            df=int(table.df[k]),
            weights=dict(zip(labels, row, strict=True)),
        )
        for k, row in enumerate(weights.tolist())
    ]


def text_of(blocks: Mapping[str, Block], terms: tuple[NamedTerm, ...]) -> str:
    """A feature as people read it."""
    return TIMES.join(as_reading_block(blocks[term.block]).text(term.symbols) for term in terms)
