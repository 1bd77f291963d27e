"""The block of combinations: products of items of other blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..options import is_count
from ..registry import graft_features
from .blocks import BlockKind
from .options import as_names, check_settings


@graft_features("spacy_graft.Combinations.v1")
@dataclass(frozen=True)
class Combinations:
    """Combinations of two or three items. The items of a block of n-grams are its single symbols.

    A document has a combination if it has all its members, and the value of the combination is the product of theirs.
    The matrix of combinations is never built: they are searched with the help of bounds.

    Parameters
    ----------
    of : sequence of str
        Names of the blocks whose items are combined, within a block and across blocks.
    degree : int
        Largest number of items in a combination: 2 or 3.
    min_df : int
        Least number of documents of a combination.
    penalty_factor : float
        Factor of the penalty weights of these features: above 1, features of other blocks are preferred.

    Raises
    ------
    ValueError
        If ``of`` names no block or one twice, ``degree`` is neither 2 nor 3, ``min_df`` is less than 1, or
        ``penalty_factor`` is not above 0.
    """

    of: Sequence[str]
    degree: int = 2
    min_df: int = 2
    penalty_factor: float = 1.0

    kind: ClassVar[BlockKind] = BlockKind.COMBINATIONS
    feature_kind: ClassVar[str] = "combination"

    def __post_init__(self) -> None:
        # A list from a config would not be hashable.
        object.__setattr__(self, "of", as_names("Combinations", "of", self.of))
        if not self.of or len(set(self.of)) < len(self.of):
            raise ValueError(f"Combinations: of must name one block at least, and none twice, but is {list(self.of)}")
        if not is_count(self.degree, 2, 3):
            raise ValueError(f"Combinations: degree must be 2 or 3, but is {self.degree!r}")
        check_settings(self)
