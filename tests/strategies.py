"""Small corpora for hypothesis."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from naive import stream_of
from spacy_graft.graft.data import TrainingData
from spacy_graft.graft.document_vectors import DocumentVectors
from spacy_graft.solve.dense import DenseColumns
from spacy_graft.vectors.word_scores import Lexicon

#: Few symbols, so that n-grams repeat within and across documents; of several scripts.
ALPHABETS = ["ab", "abc ", "好评差", "a😀é\x00"]


def corpora(min_size: int = 1, max_size: int = 8, max_length: int = 14) -> st.SearchStrategy[list[str]]:
    return st.sampled_from(ALPHABETS).flatmap(
        lambda alphabet: st.lists(st.text(alphabet=alphabet, max_size=max_length), min_size=min_size, max_size=max_size)
    )


def training_data(
    texts: list[str],
    targets: np.ndarray,
    exclusive: bool = True,
    known: np.ndarray | None = None,
    example_weights: np.ndarray | None = None,
    lengths: np.ndarray | None = None,
    min_df: int = 1,
) -> TrainingData:
    """One block of character n-grams of any length."""
    n, labels = targets.shape
    return TrainingData(
        streams={"characters": stream_of(texts)},
        min_df={"characters": min_df},
        max_length={"characters": None},
        penalty_factors={"characters": 1.0},
        targets=targets.astype(np.float64),
        known=np.ones(targets.shape, np.bool_) if known is None else known,
        example_weights=np.ones(n) if example_weights is None else example_weights,
        lengths=np.ones(n) if lengths is None else lengths,
        labels=tuple(f"label{y}" for y in range(labels)),
        exclusive=exclusive,
    )


@st.composite
def labelled(draw: st.DrawFn, labels: int = 2, soft: bool = False) -> tuple[list[str], np.ndarray]:
    """Texts and targets (documents, labels). Every label has a positive target in some document."""
    texts = draw(corpora(min_size=max(4, labels + 1), max_size=9, max_length=8))
    n = len(texts)
    if soft:
        raw = draw(st.lists(st.lists(st.integers(1, 9), min_size=labels, max_size=labels), min_size=n, max_size=n))
        mass = np.array(raw, np.float64)
        return texts, mass / mass.sum(axis=1, keepdims=True)
    chosen = draw(st.lists(st.integers(0, labels - 1), min_size=n - labels, max_size=n - labels))
    return texts, np.eye(labels)[[*range(labels), *chosen]]


def dense_data(columns: np.ndarray) -> DocumentVectors:
    """Dense columns (documents, n) that no words are known of."""
    n = columns.shape[1]
    nothing = Lexicon((), np.empty(0, np.uint64), np.empty(0, np.float32), np.empty(0, np.int32))
    of_documents = DenseColumns(np.ascontiguousarray(columns.T))
    return DocumentVectors(
        "vectors",
        of_documents,
        nothing,
        np.empty((0, n), np.float32),
        np.empty(0, np.int64),
        np.zeros(n),
        np.eye(n),
        {},
        "",
    )
