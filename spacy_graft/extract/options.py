"""Checks of the options of feature blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from ..options import check_counts, check_factors
from .blocks import Block, ItemBlock, ItemValue, is_ngram_block


def check_settings(block: Block, owner: str | None = None) -> None:
    """Raise a ValueError if ``min_df``, ``max_length`` or ``penalty_factor`` of a new block is no such number.

    ``owner`` is what they are options of, for messages; by default the class of the block.
    """
    owner = owner or type(block).__name__
    counts: dict[str, Any] = {"min_df": block.min_df}
    if is_ngram_block(block):
        counts["max_length"] = block.max_length
        counts = {option: given for option, given in counts.items() if given is not None}
    check_counts(owner, **counts)
    check_factors(owner, penalty_factor=block.penalty_factor)


def check_item_settings(block: ItemBlock) -> None:
    """Raise a ValueError if ``min_df``, ``penalty_factor`` or ``value`` of a new block is invalid."""
    check_settings(block)
    known = get_args(ItemValue)
    if block.value not in known:
        raise ValueError(f"{type(block).__name__}: value must be one of {', '.join(known)}, but is {block.value!r}")


def as_names(owner: str, option: str, names: Any) -> tuple[str, ...]:
    """Return a list of names from a config as a tuple; raise a ValueError if it is none.

    A string is rejected: it would be a list of letters.
    """
    if (
        isinstance(names, str)
        or not isinstance(names, Sequence)
        or not all(isinstance(name, str) and name for name in names)
    ):
        raise ValueError(f"{owner}: {option} must be a list of names, but is {names!r}")
    return tuple(names)
