"""Our learner on texts, from Python strings, without spaCy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spacy_graft.extract.streams import Stream
from spacy_graft.graft.data import TrainingData
from spacy_graft.graft.settings import Grafting
from spacy_graft.graft.start import start


def character_stream(texts: Sequence[str]) -> Stream:
    """Code points."""
    return Stream.join((np.frombuffer(text.encode("utf-32-le"), np.uint32) for text in texts), np.uint32)


def word_stream(texts: Sequence[str], numbers: dict[str, int] | None = None) -> Stream:
    r"""Numbers of the words (``\S+``); new words are added to those given."""
    numbers = {} if numbers is None else numbers
    documents = (np.array([numbers.setdefault(w, len(numbers)) for w in text.split()], np.uint64) for text in texts)
    return Stream.join(documents, np.uint64)


def training_data(streams: dict[str, Stream], targets: np.ndarray, min_df: int = 1) -> TrainingData:
    """Exclusive labels, all documents alike."""
    n, labels = targets.shape
    return TrainingData(
        streams=streams,
        min_df=dict.fromkeys(streams, min_df),
        max_length=dict.fromkeys(streams),
        penalty_factors=dict.fromkeys(streams, 1.0),
        targets=targets,
        known=np.ones(targets.shape, np.bool_),
        example_weights=np.ones(n),
        lengths=np.ones(n),
        labels=tuple(map(str, range(labels))),
        exclusive=True,
    )


def compile_kernels() -> None:
    """Fit a few documents, so that nothing is compiled while the clock runs."""
    texts = ["a b c a", "a b d", "b c d e", "c d a b", "e e a", "d d b"] * 3
    for labels in (2, 3):
        targets = np.eye(labels)[np.arange(len(texts)) % labels]
        for streams in ({"characters": character_stream(texts)}, {"words": word_stream(texts)}):
            to_the_end(Grafting(l1=0.1, tol=1e-6), training_data(streams, targets))


def to_the_end(learner: Any, data: TrainingData) -> Any:
    """The finished fit."""
    fit = start(learner, data)
    while not fit.finished:
        fit.step()
    return fit
