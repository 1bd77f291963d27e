"""Time and memory a character as text grows, with indexes in memory, in files, and on a Dask cluster.

    python benchmarks/growth.py --data DATA [--smallest 1] [--largest 256] [--place memory|disk|dask] [--threads 1]
                                            [--shard-size 8.4] [--analyzer char|char_wb|word]

The texts are those of 20newsgroups, repeated with words swapped for invented ones in each copy, so that new text brings
new n-grams. They are made one after the other and not kept.
"""

from __future__ import annotations

import random
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import typer
from common import DataFolder, measured, pin_threads, print_table, texts_and_labels

from spacy_graft import Dask, Grafting, GraftTextClassifier, InMemory, OnDisk
from spacy_graft.index import on_disk


def grown(data: Path, megabytes: int) -> Iterator[tuple[str, str]]:
    """Texts of so many million characters, each with its label."""
    texts, labels = texts_and_labels(data, "20newsgroups_bydate")
    rng = random.Random(0)
    order = list(range(len(texts)))
    rng.shuffle(order)
    size = 0
    for copy in count():
        for i in order:
            text = texts[i][:20_000]
            if copy:
                words = text.split(" ")
                for place in range(0, len(words), 4):
                    words[place] = f"{words[place][:2]}{rng.randrange(5000):x}"
                text = " ".join(words)
            yield text, labels[i]
            size += len(text)
            if size >= megabytes * 1_000_000:
                return


def place_of(name: str, folder: str, threads: int) -> InMemory:
    """Where indexes are."""
    if name == "memory":
        return InMemory(threads)
    kinds = {"disk": OnDisk, "dask": Dask}
    if name not in kinds:
        raise typer.BadParameter(f"There is no place {name!r}: memory, {', '.join(kinds)}.")
    return kinds[name](threads, folder)


class Anonymous:
    """The largest resident memory that is not that of files, sampled while a block runs."""

    def __init__(self) -> None:
        self.begin = self.largest = self.now()
        self._ended = threading.Event()
        self._watch = threading.Thread(target=self._sample, daemon=True)

    @staticmethod
    def now() -> float:
        """MB."""
        status = Path("/proc/self/status").read_text()
        return float(next(line for line in status.splitlines() if line.startswith("RssAnon")).split()[1]) / 1e3

    def _sample(self) -> None:
        while not self._ended.wait(0.05):
            self.largest = max(self.largest, self.now())

    def __enter__(self) -> Anonymous:
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._watch.join()


def trained(
    data: Path, megabytes: int, l1: float, place: str, folder: Path, threads: int, shard_size: int, analyzer: str
) -> Iterator[dict[str, Any]]:
    """Fit at an L1 strength in proportion to the documents; two labels (computers or not)."""
    on_disk.SHARD_SIZE = shard_size

    def fitted(l1: float, texts: Iterable[str], labels: list[str], name: str) -> GraftTextClassifier:
        model = GraftTextClassifier(Grafting(l1=l1, tol=1e-3), analyzer=analyzer, min_df=1, lowercase=False)
        return model.fit(texts, labels, shards=place_of(place, str(folder / name), threads))

    labels = [str(label.startswith("comp")) for _, label in grown(data, megabytes)]
    fitted(0.1, ["a b c a", "a b d", "b c d e", "c d a b"] * 5, ["+", "-"] * 10, "few")
    yield {}
    l1 = max(1.0, l1 * len(labels))
    wall = time.perf_counter()
    with Anonymous() as memory:
        model = fitted(l1, (text for text, _ in grown(data, megabytes)), labels, "index")
    yield {
        "characters": sum(len(text) for text, _ in grown(data, megabytes)),
        "documents": len(labels),
        "l1": l1,
        "report": model.report_.to_dict(),
        "anonymous": memory.largest - memory.begin,
        "wall": time.perf_counter() - wall,
        "files": sum(path.stat().st_size for path in folder.rglob("*.bin")) / 1e6,
    }


def main(
    data: DataFolder,
    smallest: Annotated[int, typer.Option(help="Smallest size, in million characters.")] = 1,
    largest: Annotated[int, typer.Option(help="Largest size, in million characters.")] = 256,
    place: Annotated[str, typer.Option(help="memory, disk or dask.")] = "memory",
    threads: Annotated[int, typer.Option(help="Threads, or workers on this machine.")] = 1,
    shard_size: Annotated[float, typer.Option(help="Million symbols of a shard in files.")] = on_disk.SHARD_SIZE / 1e6,
    analyzer: Annotated[str, typer.Option(help="What n-grams are of: char, char_wb or word.")] = "char",
) -> None:
    """Double the text until it is as large as asked."""
    pin_threads()
    rows = []
    size = smallest
    while size <= largest:
        with tempfile.TemporaryDirectory(dir=".") as folder:
            given = place, Path(folder), threads, round(shard_size * 1e6), analyzer
            run = measured(trained, data, size, 0.001, *given)
        result, report = run.result, run.result["report"]
        characters = result["characters"]
        rows.append([
            f"{characters / 1e6:.0f}", f"{result['documents']:,}", f"{result['l1']:.1f}", f"{run.seconds:.1f}",
            f"{run.seconds / characters * 1e6:.3f}", f"{result['wall']:.1f}", f"{report['seconds']['index']:.1f}",
            f"{result['anonymous']:,.0f}", f"{result['anonymous'] / characters * 1e6:.1f}", f"{result['files']:,.0f}",
            f"{report['n_columns']:,}", f"{report['n_active']:,}", f"{report['rounds']}",
            f"{report['relative_gap']:.0e}",
        ])  # fmt: skip
        size *= 2
    header = ("M characters", "documents", "l1", "CPU s", "µs a character", "wall s", "of it index", "MB above start",
              "bytes a character", "MB of files", "distinct columns", "features", "rounds", "gap / F(0)")  # fmt: skip
    shards = "" if place == "memory" else f", shards of {shard_size:.3g} million"
    title = f"Growth: {analyzer}, any length, l1 = documents / 1000, {place}, {threads} threads{shards}"
    print_table(title, header, rows)


if __name__ == "__main__":
    typer.run(main)
