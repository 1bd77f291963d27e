"""Suffixes sorted by divsufsort, and by our own sort of a part of the suffixes, here of all.

python benchmarks/suffixes.py --data DATA
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import typer
from common import DataFolder, measured, pin_threads, print_table, texts_and_labels


def sorted_by(way: str, data: Path, of: str) -> Iterator[int]:
    """Sort the suffixes of a stream; the number of symbols."""
    from ours import character_stream, word_stream

    from spacy_graft.index.ngrams import suffix_array
    from spacy_graft.index.suffixes import Suffixes
    from spacy_graft.index.texts import RankedText

    texts, _ = texts_and_labels(data, "movie_reviews")
    if of == "copies":
        texts = ["".join(texts)[:1_000_000]] * 10
    # Runs that are equal are indexed once: each copy ends in another character.
    texts = [f"{text}{chr(1000 + i)}" for i, text in enumerate(texts)] if of == "copies" else texts
    text = RankedText.of_stream(word_stream(texts) if of == "words" else character_stream(texts), 1)
    few = np.array([1, 2, 1, 0], text.symbols.dtype)

    def sort(symbols: np.ndarray) -> None:
        if way == "divsufsort":
            suffix_array(symbols)
        else:
            Suffixes(symbols).order(np.flatnonzero(symbols))

    sort(few)
    yield 0
    sort(text.symbols)
    yield len(text.symbols)


def main(data: DataFolder) -> None:
    """Time both ways on characters and words of film reviews, and on ten copies of one text."""
    pin_threads()
    rows = []
    for of in ("characters", "words", "copies"):
        one, other = (measured(sorted_by, way, data, of, repeat=3) for way in ("divsufsort", "ours"))
        rows.append([
            of, f"{one.result:,}", f"{one.seconds:.2f}", f"{other.seconds:.2f}", f"{other.seconds / one.seconds:.1f}",
            f"{one.megabytes:,.0f}", f"{other.megabytes:,.0f}",
        ])  # fmt: skip
    header = ("stream", "symbols", "divsufsort, s", "ours, s", "ratio", "divsufsort, MB", "ours, MB")
    print_table("Suffixes of one text, sorted in one piece", header, rows)


if __name__ == "__main__":
    typer.run(main)
