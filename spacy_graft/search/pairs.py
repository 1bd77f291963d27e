"""All pairs of items that are frequent enough, written down: for tests of every one of them."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..index.columns import Columns, column_numbers, concatenated
from ..index.items import ItemIndex
from .column_kernels import BITS, ItemColumns, combination_columns
from .combinations import MOST_ITEMS

#: The most entries of the columns of all pairs, 4 bytes each (12 where they have values).
MOST_ENTRIES = 1 << 28
#: Counts of pairs that are made at a time.
COUNTS = 1 << 22


def pair_index(items: ItemIndex, min_df: int) -> ItemIndex:
    """The products of two items that at least ``min_df`` documents have; a symbol is the numbers of both.

    Raises
    ------
    ValueError
        If there are more than :data:`MOST_ITEMS` such items, or the columns of the pairs have more than
        :data:`MOST_ENTRIES` entries.
    """
    numbers = np.flatnonzero(items.df >= min_df)
    frequent = items.some(numbers)
    has = sparse.csc_array(
        (np.ones(len(frequent.documents), np.int32), frequent.documents, frequent.starts),
        (frequent.n_documents, frequent.n_nodes),
    )
    columns = ItemColumns(
        frequent.starts, frequent.documents, frequent.values,
        column_numbers(frequent.n_documents), np.empty(0, np.int64),
    )  # fmt: skip
    if frequent.n_nodes > MOST_ITEMS:
        raise ValueError(
            f"{frequent.n_nodes:,} items are in at least {min_df:,} documents, but pairs of at most {MOST_ITEMS:,} can "
            f"be tested. Raise the number of documents."
        )
    pairs, parts, n_entries = [np.empty((0, 2), np.int64)], list[Columns](), 0
    step = max(COUNTS // max(frequent.n_nodes, 1), 1)
    for first in range(0, frequent.n_nodes, step):
        counts = sparse.coo_array(has[:, first : first + step].T @ has)
        others, rows = counts.coords[1], counts.coords[0] + first
        chosen = (others > rows) & (counts.data >= min_df)
        of_pairs = int(counts.data[chosen].sum())
        n_entries += of_pairs
        if n_entries > MOST_ENTRIES:
            raise ValueError(
                f"The pairs of two of {frequent.n_nodes:,} items that at least {min_df:,} documents have are more than "
                f"can be tested: their columns have over {MOST_ENTRIES:,} entries. Raise this number."
            )
        of_chunk = np.stack([rows[chosen], others[chosen]], axis=1).astype(np.int64)
        of_chunk = of_chunk[np.lexsort(of_chunk.T[::-1])]
        codes = ((of_chunk[:, 0] + 1) << (2 * BITS)) | ((of_chunk[:, 1] + 1) << BITS)
        parts.append(combination_columns(codes, columns, of_pairs)[:3])
        pairs.append(numbers[of_chunk])
    return ItemIndex(np.concatenate(pairs), *concatenated(parts), items.n_documents)
