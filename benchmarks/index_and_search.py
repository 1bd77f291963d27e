"""Points 1 and 2: the index, and one search over all of it.

python benchmarks/index_and_search.py --data DATA
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import typer
from common import DataFolder, measured, pin_threads, print_table, texts_and_labels

SETS = ("movie_reviews", "20newsgroups_bydate", "zh_online_shopping_10cats")


def index(data: Path, name: str, min_df: int) -> Iterator[dict[str, Any]]:
    """Strings to the finished index."""
    from ours import character_stream, compile_kernels

    from spacy_graft.index.ngrams import NgramIndex

    texts, _ = texts_and_labels(data, name)
    compile_kernels()
    yield {}
    built = NgramIndex.build(character_stream(texts), min_df)
    yield {
        "characters": sum(map(len, texts)),
        "nodes": built.n_nodes,
        "classes": int(built.distinct.sum()),
        "events": len(built.events),
    }


def search(data: Path, name: str, min_df: int, n_labels: int) -> Iterator[dict[str, Any]]:
    """Seconds of a full pass, and of descents when residuals have moved a little, on one index."""
    from ours import character_stream, compile_kernels

    from spacy_graft.index.ngrams import NgramIndex
    from spacy_graft.search.descent import Descent
    from spacy_graft.search.full_pass import best_by_pass
    from spacy_graft.search.kernels import EQUAL, FREE, NodeQuery

    texts, _ = texts_and_labels(data, name)
    compile_kernels()
    built = NgramIndex.build(character_stream(texts), min_df)
    yield {}
    rng = np.random.default_rng(0)
    # Residuals as after some rounds: most documents are nearly explained.
    residuals = rng.normal(size=(len(texts), n_labels)) * rng.random((len(texts), n_labels)) ** 4
    weights = np.empty((built.n_nodes, 0), np.float32)
    rows = np.where(built.distinct, FREE, EQUAL).astype(np.int32)
    active, signs = np.zeros((0, n_labels), np.bool_), np.ones((2, n_labels))
    everything = NodeQuery(weights, rows, active, 0.0, 1000, n_labels, signs)
    threshold = float(best_by_pass(built, residuals, everything).scaled_gradients[-1])
    query = NodeQuery(weights, rows, active, threshold, 100, n_labels, signs)
    seconds = {"full pass": timed(lambda: best_by_pass(built, residuals, query))}
    plain = Descent(built, weights)
    seconds["prefix bound alone"] = timed(lambda: plain.best(residuals, query), 1)
    descent = Descent(built, weights)
    descent.remember(residuals, query)
    for moved in (0.0, 0.001, 0.01):
        now = residuals * (1.0 + moved * rng.normal(size=residuals.shape))
        seconds[f"remembered, moved {moved:g}"] = timed(lambda now=now: descent.best(now, query))
    yield {"characters": sum(map(len, texts)), "seconds": seconds}


def timed(call: Callable[[], Any], repeat: int = 5) -> float:
    """Median of the seconds."""
    seconds = []
    for _ in range(repeat):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds)


def main(data: DataFolder) -> None:
    """Print both tables."""
    pin_threads()
    rows: list[list[str]] = []
    for name in SETS:
        for min_df in (11, 5, 2):
            run = measured(index, data, name, min_df)
            size = run.result["characters"]
            rows.append([
                name, str(min_df), f"{size / 1e6:.2f}", f"{run.seconds:.2f}", f"{run.seconds / size * 1e6:.3f}",
                f"{run.megabytes / size * 1e6:.0f}", f"{run.result['nodes']:,}", f"{run.result['classes']:,}",
                f"{run.result['events'] / size:.2f}",
            ])  # fmt: skip
    header = ("set", "min_df", "M characters", "CPU s", "µs a character", "bytes a character at the peak", "nodes",
              "distinct columns", "events a character")  # fmt: skip
    print_table("Index: character n-grams of any length", header, rows)
    rows = []
    for name, min_df, n_labels in (("movie_reviews", 2, 1), ("movie_reviews", 11, 1), ("20newsgroups_bydate", 4, 20)):
        run = measured(search, data, name, min_df, n_labels)
        for strategy, seconds in run.result["seconds"].items():
            nanoseconds = seconds / run.result["characters"] * 1e9
            rows.append([
                f"{name}, min_df {min_df}", str(n_labels), strategy, f"{seconds * 1e3:.1f}", f"{nanoseconds:.2f}",
                f"{nanoseconds / n_labels:.2f}",
            ])  # fmt: skip
    header = ("index", "labels", "strategy", "ms", "ns a character", "ns a character and label")
    print_table("Search: the 100 best, all nodes", header, rows)


if __name__ == "__main__":
    typer.run(main)
