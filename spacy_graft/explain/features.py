"""The features of a model with their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..extract.blocks import Block
from ..extract.terms import NamedTerm
from ..graft.constraints import PRODUCT_SIGN
from ..model.snapshot import Snapshot, as_reading_block

#: Separates the members of a combination in its text.
MEMBER_SEPARATOR = PRODUCT_SIGN


@dataclass(frozen=True)
class Feature:
    """A feature of the model.

    Attributes
    ----------
    text : str
        The n-gram, the item, or the members of a combination. Of n-grams with the same training documents, the
        shortest.
    longest : str
        The longest n-gram with the same training documents.
    block : str
        Name of its block.
    kind : str
        "character n-gram", "token n-gram", "attribute", "head–modifier", "document attribute" or "combination".
    df : int
        Number of training documents with the feature.
    weights : dict of str to float
        By label.
    """

    text: str
    longest: str
    block: str
    kind: str
    df: int
    weights: dict[str, float]


def features_of(snapshot: Snapshot, labels: Sequence[str]) -> list[Feature]:
    """All features of a model with these labels, in the order of the rows of its weights."""
    table, blocks = snapshot.features, snapshot.blocks
    return [
        Feature(
            text=feature_text(blocks, table.terms(k)),
            longest=feature_text(blocks, table.terms(k, longest=True)),
            block=table.blocks[k],
            kind=blocks[table.blocks[k]].feature_kind,
            df=int(table.df[k]),
            weights=dict(zip(labels, row, strict=True)),
        )
        for k, row in enumerate(snapshot.weights.tolist())
    ]


def feature_text(blocks: Mapping[str, Block], terms: tuple[NamedTerm, ...]) -> str:
    """The display text of a feature."""
    return MEMBER_SEPARATOR.join(as_reading_block(blocks[term.block]).text(term.symbols) for term in terms)
