"""Which of the optional blocks held-out documents do not need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..extract.blocks import Block, is_combination_block


def leave_out(
    optional: Sequence[str], blocks: Mapping[str, Block], is_needless: Callable[[tuple[str, ...]], bool]
) -> tuple[str, ...]:
    """Leave out needless blocks one after the other, each with the combinations of its items.

    Parameters
    ----------
    optional : sequence of str
        The blocks to try, in this order.
    blocks : mapping of str to block
    is_needless : callable
        Returns whether a model without these blocks, of which the last ones are new, is as good as the best so far.

    Returns
    -------
    tuple of str
        The blocks that were left out.
    """
    gone: tuple[str, ...] = ()
    for name in optional:
        new = tuple(other for other in with_combinations(name, blocks) if other not in gone)
        if new and is_needless(gone + new):
            gone += new
    return gone


def with_combinations(name: str, blocks: Mapping[str, Block]) -> tuple[str, ...]:
    """A block, and the combinations of its items."""
    return name, *(other for other, block in blocks.items() if is_combination_block(block) and name in block.of)
