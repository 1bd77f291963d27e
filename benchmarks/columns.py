"""Products with the active columns of a model, as lists of documents and as bits.

python benchmarks/columns.py
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from common import measured, pin_threads, print_table

#: Documents, and about how many entries the columns of one density have together.
DOCUMENTS, ENTRIES = 50_000, 5_000_000
DENSITIES = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 3, 1 / 2)


def products(density: float) -> Iterator[dict[str, Any]]:
    """Nanoseconds for an entry, and megabytes, of both kinds of columns."""
    from spacy_graft.index.columns import Columns
    from spacy_graft.solve import columns
    from spacy_graft.solve.active import Active
    from spacy_graft.solve.design import Design

    rng = np.random.default_rng(0)
    n_rows = int(ENTRIES / (DOCUMENTS * density))
    documents = [np.flatnonzero(rng.random(DOCUMENTS) < density) for _ in range(n_rows)]
    starts = np.concatenate([[0], np.cumsum([len(of_column) for of_column in documents])])
    lists: Columns = starts, np.concatenate(documents).astype(np.int32), np.empty(0)
    rows, labels, weights = np.arange(n_rows), np.zeros(n_rows, np.int64), rng.normal(size=n_rows)
    totals = rng.normal(size=(1, DOCUMENTS))
    kinds = {}
    for kind, columns.DENSE in (("lists", 1.0), ("bits", 0.0)):
        active = Active(columns.packed_columns(lists, DOCUMENTS), rows, labels, np.ones(n_rows), weights)
        kinds[kind] = Design(active, 1, DOCUMENTS), active.columns.entries.nbytes / 1e6
    yield {}
    found: dict[str, Any] = {}
    for kind, (design, megabytes) in kinds.items():
        spread = timed(lambda design=design: design.spread(weights))
        collect = timed(lambda design=design: design.collect(totals))
        found[kind] = megabytes, spread / starts[-1] * 1e9, collect / starts[-1] * 1e9
    yield found


def timed(call: Callable[[], Any], repeat: int = 9) -> float:
    """Median of the CPU seconds."""
    call()
    seconds = []
    for _ in range(repeat):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds)


def main() -> None:
    """Print the table."""
    pin_threads()
    rows = []
    for density in DENSITIES:
        (listed, *of_lists), (packed, *of_bits) = measured(products, density).result.values()
        pairs = zip(of_lists, of_bits, strict=True)
        rows.append(
            [f"1/{1 / density:g}", f"{listed:.1f}", f"{packed:.1f}", *(f"{n:.2f}" for two in pairs for n in two)]
        )
    header = ("density", "lists, MB", "bits, MB", "X w: lists, ns an entry", "bits", "Xᵀ v: lists", "bits")
    print_table(f"Products with columns of {DOCUMENTS:,} documents", header, rows)


if __name__ == "__main__":
    main()
