"""How fast documents are scored: the tokenizer alone, and the tokenizer with a model of 3,000 features.

    python benchmarks/inference.py [--data texts.jsonl.gz] [--characters 36] [--pipeline model-best]

Features are drawn at random from the documents, which are all of the same length: from the key ``text`` of the lines of
a file, or made up. With a trained pipeline, also how fast it explains the documents.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Annotated, Any

import numpy as np
import spacy
import typer
from spacy.tokens import Doc

from spacy_graft.extract.batches import read_streams, small_batches
from spacy_graft.extract.blocks import NgramBlock
from spacy_graft.extract.characters import CharacterNgrams
from spacy_graft.extract.terms import FeatureTerms, Term
from spacy_graft.extract.tokens import TokenNgrams
from spacy_graft.graft.solution import Solution
from spacy_graft.model.matching import compile_features
from spacy_graft.model.snapshot import snapshot_of_solution
from spacy_graft.model.sparse_linear import SNAPSHOT, SparseLinear

#: The shipped ones, but for penalties, which do not matter here.
BLOCKS: dict[str, NgramBlock] = {
    "words": TokenNgrams(),
    "characters": CharacterNgrams(within_words=True, mark_capitals=True),
}
#: Shortest and longest n-gram.
LENGTHS = {"words": (1, 3), "characters": (2, 8)}
FEATURES = 1500
CHARACTERS = 4000
DOCUMENTS = 250
#: The most documents, if they are shorter.
MOST_DOCUMENTS = 5000
REPEATS = 15
#: Documents that are explained.
EXPLAINED = 20

#: What a process does that loads a model and scores its first document.
FIRST_CALL = """
import sys
from time import perf_counter
import spacy
from spacy_graft.extract.characters import CharacterNgrams
from spacy_graft.extract.tokens import TokenNgrams
from spacy_graft.model.sparse_linear import SparseLinear
doc = spacy.blank("en")("The first document.")
model = SparseLinear({"words": TokenNgrams(), "characters": CharacterNgrams(within_words=True, mark_capitals=True)})
start = perf_counter()
model.from_disk(sys.argv[1])
loaded = perf_counter()
model.predict([doc])
print(loaded - start, perf_counter() - loaded)
"""


def main(
    data: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="JSON lines, gzip, with the key 'text'.")
    ] = None,
    characters: Annotated[int, typer.Option(help="Length of the documents.", min=30)] = CHARACTERS,
    pipeline: Annotated[Path | None, typer.Option(help="A trained pipeline with a component textcat_graft.")] = None,
) -> None:
    """Score documents, and print how long it takes."""
    texts = cut(made_up_text() if data is None else " ".join(read(data)), characters)
    nlp = spacy.blank("en")
    docs = list(nlp.pipe(texts))
    model = SparseLinear(BLOCKS)
    model.attrs[SNAPSHOT] = snapshot_of_solution(drawn(docs), model.attrs["blocks"], nlp.vocab.strings)
    model.predict(docs)

    alone, both = alternately(lambda: list(nlp.pipe(texts)), lambda: model.predict(list(nlp.pipe(texts))))
    print(f"{len(texts)} documents of {np.mean([len(doc) for doc in docs]):.0f} tokens, {2 * FEATURES} features")
    print(f"tokenizer alone      {len(texts) / alone:8.0f} documents/s")
    print(f"tokenizer and model  {len(texts) / both:8.0f} documents/s  ({alone / both:.1%})")
    print(f"model alone          {best(lambda: model.predict(docs)) / len(docs) * 1e6:8.1f} µs a document")
    for name, block in BLOCKS.items():
        print(f"reading {name:<12} {best(lambda b=block: read_all(b, docs)) / len(docs) * 1e6:8.1f} µs")
    building = best(lambda: compile_features(model.attrs["snapshot"].features, BLOCKS, nlp.vocab.strings))
    print(f"building automata    {building * 1e3:8.1f} ms")
    with tempfile.TemporaryDirectory() as folder:
        model.to_disk(Path(folder, "model"))
        for state in ("nothing compiled", "from cache"):
            load, first = first_call(folder)
            print(f"{state}: loading {load * 1e3:.0f} ms, first document {first:.2f} s")
    if pipeline is not None:
        explain(pipeline, texts[:EXPLAINED])


def explain(pipeline: Path, texts: list[str]) -> None:
    """Explain documents for the most probable label, and print how long it takes."""
    nlp = spacy.load(pipeline)
    component = nlp.get_pipe("textcat_graft")
    docs = list(nlp.pipe(texts))
    n_features = np.mean([len(component.explain_best(doc).best.contributions) for doc in docs])
    print(f"explaining {len(docs)} documents with {n_features:.0f} of {len(component.features()):,} features each")
    for name, task in {
        "all labels": component.explain,
        "one label": component.explain_best,
        "and its words": lambda doc: component.explain_best(doc).best.words,
    }.items():
        print(f"{name:<20} {best(lambda one=task: [one(doc) for doc in docs]) / len(docs) * 1e3:8.1f} ms a document")


def read_all(block: NgramBlock, docs: list[Doc]) -> None:
    """Read documents in batches, as predictions do."""
    for batch in small_batches(docs):
        read_streams([block], batch)


def read(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf8") as lines:
        return [json.loads(line)["text"] for line in lines]


def made_up_text() -> str:
    """Words with Zipf's frequencies, some with punctuation or contracted."""
    rng = random.Random(0)
    words = ["".join(rng.choices("etaoinshrdlcumwfgypbvk", k=rng.randint(1, 9))) for _ in range(20_000)]
    weights = [1.0 / rank for rank in range(1, len(words) + 1)]
    marks = [*[""] * 14, ",", ",", ".", "\n", "'s", "n't"]
    chosen = rng.choices(words, weights, k=DOCUMENTS * CHARACTERS // 4)
    return " ".join(word + rng.choice(marks) for word in chosen)


def cut(text: str, characters: int) -> list[str]:
    """The first 250 documents of 4,000 characters, or up to 5,000 shorter ones."""
    n_documents = min(DOCUMENTS * CHARACTERS // characters, MOST_DOCUMENTS)
    return [text[start : start + characters] for start in range(0, len(text) - characters, characters)][:n_documents]


def drawn(docs: list[Doc]) -> Solution:
    """Random n-grams of the documents, with random weights."""
    rng = np.random.default_rng(0)
    blocks, ngrams = [], []
    for name, block in BLOCKS.items():
        found: dict[bytes, np.ndarray] = {}
        while len(found) < FEATURES:
            symbols = block.symbols(docs[rng.integers(len(docs))])
            length = rng.integers(LENGTHS[name][0], LENGTHS[name][1] + 1)
            start = rng.integers(max(len(symbols) - length, 1))
            ngram = symbols[start : start + length]
            if len(ngram) == length and ngram.all():
                # The document is long enough, and no n-gram of characters holds a break.
                found[ngram.tobytes()] = ngram
        blocks += [name] * FEATURES
        ngrams += found.values()
    n = len(ngrams)
    terms = FeatureTerms.of([(Term(name, ngram),) for name, ngram in zip(blocks, ngrams, strict=True)])
    return Solution(blocks, terms, terms, np.ones(n, np.int32), rng.standard_normal((n, 2)), np.zeros(2), 1.0)


def best(task: Callable[[], Any]) -> float:
    return alternately(task)[0]


def alternately(*tasks: Callable[[], Any]) -> list[float]:
    """Shortest processor time of each task, all run in turn, since a machine is not equally busy all the time."""
    times = []
    for _ in range(REPEATS):
        for task in tasks:
            start = process_time()
            task()
            times.append(process_time() - start)
    return [min(times[k :: len(tasks)]) for k in range(len(tasks))]


def first_call(folder: str) -> tuple[float, float]:
    """Seconds of loading and of the first document in a process of its own, with numba's cache in this folder."""
    command = [sys.executable, "-c", FIRST_CALL, str(Path(folder, "model"))]
    environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
    output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    load, first = map(float, output.split())
    return load, first


if __name__ == "__main__":
    typer.run(main)
