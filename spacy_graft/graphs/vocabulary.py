"""The input of graph builders: the features of a corpus by name, and the documents of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

#: A feature as the names of its symbols: ``("film",)``, ``("not", "good")``, or with a part of speech last,
#: ``("film", "NOUN")``.
Vertex = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class CorpusVocabulary:
    """The features of a corpus.

    Attributes
    ----------
    vertices : tuple of tuples of strings
        Every feature by name, each once.
    presence : csr_array (n_documents, n_features), optional
        A document has a feature where the value is not 0.

    Raises
    ------
    ValueError
        If two names are equal, one is empty, or the matrix does not have one column for each name.
    """

    vertices: tuple[Vertex, ...]
    presence: sparse.csr_array | None = None

    def __post_init__(self) -> None:
        if len(self.numbers) != len(self.vertices) or () in self.numbers:
            raise ValueError("A vocabulary needs names that differ, of one symbol or more each")
        if self.presence is not None and self.presence.shape[1] != len(self.vertices):
            raise ValueError(f"{len(self.vertices)} names do not fit a presence matrix of {self.presence.shape}")

    @classmethod
    def of(cls, source: CorpusVocabulary | Iterable[Vertex]) -> CorpusVocabulary:
        """Return a vocabulary unchanged, or that of names without documents, in their order and each once.

        Raises
        ------
        ValueError
            If a name is a string: its letters would be symbols.
        """
        if isinstance(source, CorpusVocabulary):
            return source
        names: list[Any] = list(source)
        if (string := next((name for name in names if isinstance(name, str)), None)) is not None:
            raise ValueError(f"The names of features are tuples of symbols, such as ({string!r},), and not {string!r}.")
        return cls(tuple(dict.fromkeys(map(tuple, names))))

    @classmethod
    def of_documents(cls, documents: Iterable[Sequence[str]], max_length: int = 1, min_df: int = 1) -> CorpusVocabulary:
        """All n-grams of up to ``max_length`` symbols in at least ``min_df`` documents, in alphabetical order."""
        numbers: dict[Vertex, int] = {}
        lengths = range(1, max_length + 1)
        # Bags of numbers: bags of tuples would take more than ten times the memory.
        bags = [
            np.fromiter({numbers.setdefault(ngram, len(numbers)) for ngram in ngrams(document, lengths)}, np.int32)
            for document in documents
        ]
        presence = rows_of(bags, len(numbers))
        df = np.bincount(presence.indices, minlength=len(numbers))
        names = sorted(ngram for ngram, number in numbers.items() if df[number] >= min_df)
        return cls(tuple(names), presence[:, [numbers[name] for name in names]])

    @cached_property
    def numbers(self) -> dict[Vertex, int]:
        """The number of each name."""
        return {vertex: number for number, vertex in enumerate(self.vertices)}

    def documents(self, owner: str) -> sparse.csr_array:
        """Return the presence matrix, of int8 ones; raise a ValueError that names the ``owner`` if there is none."""
        if self.presence is None:
            raise ValueError(f"{owner} needs the documents of each feature, but the vocabulary has names only")
        # A copy: what is compared is brought into order in place.
        return sparse.csr_array(sparse.csr_array(self.presence, copy=True) != 0, dtype=np.int8)


def rows_of(bags: Sequence[np.ndarray], n: int) -> sparse.csr_array:
    """A row for each bag of distinct numbers below n: int8 (n_bags, n), ones."""
    starts = np.concatenate([[0], np.cumsum([len(bag) for bag in bags], dtype=np.int64)])
    items = np.concatenate([np.empty(0, np.int32), *bags])
    rows = sparse.csr_array((np.ones(len(items), np.int8), items, starts), shape=(len(bags), n))
    rows.sort_indices()
    return rows


def ngrams(document: Sequence[str], lengths: Iterable[int]) -> Iterator[Vertex]:
    """Yield each occurrence of an n-gram in a document; a ValueError for a text, whose letters would be symbols."""
    if isinstance(document, str):
        raise ValueError(f"Documents are lists of symbols, such as ['not', 'good'], and not texts: {document!r:.60}.")
    for length in lengths:
        for start in range(len(document) - length + 1):
            yield tuple(document[start : start + length])
