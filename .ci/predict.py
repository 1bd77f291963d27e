"""Predict texts in one of several ways, and print a digest of the bits, and how many kernels were compiled for it."""

from __future__ import annotations

import json
import multiprocessing
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import spacy
from numba.core import event
from spacy.language import Language

N_TEXTS = 30


class Counter(event.Listener):
    """Counts what is compiled in this process; what comes from a cache does not count."""

    n = 0

    def on_start(self, event: event.Event) -> None:
        self.n += 1

    def on_end(self, event: event.Event) -> None:
        pass


def main(model: str, texts: str, way: str) -> None:
    """Predict ``serial``, in ``threads``, by the ``service`` of the examples, or in processes made by fork or spawn."""
    counter = Counter()
    event.register("numba:compile", counter)
    nlp = spacy.load(model)
    with Path(texts).open(encoding="utf8") as lines:
        inputs = [json.loads(line)["text"] for line in islice(lines, N_TEXTS)]
    if way == "service":
        print_digest([answer.probabilities for answer in answers_of_service(nlp, inputs)], counter)
        return
    if way == "serial":
        docs = list(nlp.pipe(inputs))
    elif way == "threads":
        with ThreadPoolExecutor(4) as pool:
            docs = list(pool.map(nlp, inputs))
    else:
        multiprocessing.set_start_method(way)
        docs = list(nlp.pipe(inputs, n_process=2, batch_size=5))
    print_digest([doc.cats for doc in docs], counter)


def answers_of_service(nlp: Language, texts: list[str]) -> list[Any]:
    """What examples/service.py answers, whatever the length of the texts."""
    sys.path.append(str(Path(__file__).parents[1] / "examples"))
    from service import Question, answers

    return answers(nlp, [Question.model_construct(text=text, explain=False) for text in texts])


def print_digest(cats: list[dict[str, float]], counter: Counter) -> None:
    """Print the digest of probabilities, and what was compiled for them."""
    probabilities = np.array([list(of_text.values()) for of_text in cats])
    assert len(probabilities) == N_TEXTS
    print(sha256(probabilities.tobytes()).hexdigest()[:32], counter.n)


if __name__ == "__main__":
    main(*sys.argv[1:])
