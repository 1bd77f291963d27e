"""Predict texts in one of several ways, and print a digest of the bits, and how many kernels were compiled for it."""

from __future__ import annotations

import json
import multiprocessing
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from itertools import islice
from pathlib import Path

import numpy as np
import spacy
from numba.core import event

N_TEXTS = 30


class Counter(event.Listener):
    """Counts what is compiled in this process; what comes from a cache does not count."""

    n = 0

    def on_start(self, event: event.Event) -> None:
        self.n += 1

    def on_end(self, event: event.Event) -> None:
        pass


def main(model: str, texts: str, way: str) -> None:
    """Predict ``serial``, in ``threads``, or in two processes made by ``fork`` or ``spawn``."""
    counter = Counter()
    event.register("numba:compile", counter)
    nlp = spacy.load(model)
    with Path(texts).open(encoding="utf8") as lines:
        inputs = [json.loads(line)["text"] for line in islice(lines, N_TEXTS)]
    if way == "serial":
        docs = list(nlp.pipe(inputs))
    elif way == "threads":
        with ThreadPoolExecutor(4) as pool:
            docs = list(pool.map(nlp, inputs))
    else:
        multiprocessing.set_start_method(way)
        docs = list(nlp.pipe(inputs, n_process=2, batch_size=5))
    probabilities = np.array([list(doc.cats.values()) for doc in docs])
    assert len(probabilities) == N_TEXTS
    print(sha256(probabilities.tobytes()).hexdigest()[:32], counter.n)


if __name__ == "__main__":
    main(*sys.argv[1:])
