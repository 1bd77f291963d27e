"""What a first fit with the default blocks compiles, with nothing in numba's cache, and how long that takes.

python benchmarks/compilation.py [--degree 2]
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from common import measured, pin_threads, print_table

#: Blocks of a fit with combinations, whose ``degree`` is added.
WORDS = {"@graft_features": "spacy_graft.TokenNgrams.v1", "max_length": 1}
PRODUCTS = {"@graft_features": "spacy_graft.Combinations.v1", "of": ["words"], "min_df": 2}
#: Words that tell the label, among some that do not.
TELLING = {"food": ("soup", "salt", "roast"), "music": ("song", "violin", "choir"), "sport": ("match", "goal", "team")}
COMMON = "the a of in and it was there with some more than we had before they came to see what".split()


def corpus(n: int = 60) -> list[tuple[str, str]]:
    """Short texts, each with its label: the labels in turn."""
    labels = list(TELLING)
    records = []
    for i in range(n):
        label = labels[i % len(labels)]
        words = [COMMON[(7 * i + 3 * k * k) % len(COMMON)] for k in range(10)]
        words[i % 5] = TELLING[label][i % 3]
        words[5 + i % 4] = TELLING[label][(i // 3) % 3]
        records.append((" ".join(words), label))
    return records


def first_fit(degree: int) -> Iterator[dict[str, Any]]:
    """Train on a few examples and classify one text; by function, its compilations and their CPU seconds."""
    import spacy
    from numba.core import event
    from spacy.training import Example

    import spacy_graft

    class Recorder(event.Listener):
        """CPU seconds of each function, without those of the functions that it calls."""

        def __init__(self) -> None:
            self.open: list[tuple[float, float]] = []  # since when, and what of that was its callees'
            self.seconds: dict[str, float] = defaultdict(float)
            self.signatures: dict[str, set[Any]] = defaultdict(set)

        def on_start(self, event: Any) -> None:
            self.open.append((time.process_time(), 0.0))

        def on_end(self, event: Any) -> None:
            function = event.data["dispatcher"].py_func
            name = f"{function.__module__}.{function.__qualname__}".removeprefix("spacy_graft.")
            since, of_callees = self.open.pop()
            seconds = time.process_time() - since
            self.seconds[name] += seconds - of_callees
            self.signatures[name].add(event.data["args"])
            if self.open:
                since, of_callees = self.open.pop()
                self.open.append((since, of_callees + seconds))

    records = corpus()
    nlp = spacy.blank("en")
    combined = {"features": {"words": WORDS, "combinations": {**PRODUCTS, "degree": degree}}}
    nlp.add_pipe("textcat_graft", config=combined if degree > 1 else {})
    examples = [
        Example.from_dict(nlp.make_doc(text), {"cats": {label: float(label == its) for label in TELLING}})
        for text, its in records
    ]
    recorder = Recorder()
    event.register("numba:compile", recorder)
    yield {}
    spacy_graft.fit(nlp, examples)
    nlp(records[0][0])
    yield {name: (len(recorder.signatures[name]), seconds) for name, seconds in recorder.seconds.items()}


def main(
    shown: Annotated[int, typer.Option(help="Functions in the table.")] = 25,
    degree: Annotated[int, typer.Option(help="Above 1: words and their combinations in place of the blocks.")] = 1,
) -> None:
    """Print the functions that take longest, and the whole."""
    pin_threads()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["NUMBA_CACHE_DIR"] = cache
        cold, warm = measured(first_fit, degree), measured(first_fit, degree)
    compiled = sorted(cold.result.items(), key=lambda item: -item[1][1])
    rows = [[name, count, f"{seconds:.2f}"] for name, (count, seconds) in compiled[:shown]]
    rest = [item for _, item in compiled[shown:]]
    rows.append([f"{len(rest)} others", sum(n for n, _ in rest), f"{sum(seconds for _, seconds in rest):.2f}"])
    rows.append(["all", sum(n for n, _ in cold.result.values()), f"{sum(s for _, s in cold.result.values()):.2f}"])
    blocks = "the default blocks" if degree == 1 else f"words and combinations of {degree} of them"
    print_table(f"Compilation: a first fit with {blocks}", ("function", "compilations", "CPU s"), rows)
    print(f"\nThe fit: {cold.seconds:.2f} CPU s with an empty cache, {warm.seconds:.2f} from the cache.")


if __name__ == "__main__":
    typer.run(main)
