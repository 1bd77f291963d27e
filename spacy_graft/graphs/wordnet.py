"""The graph of WordNet's relations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from ..options import check_counts, check_flags, check_numbers, check_path
from ..registry import graph_builder
from .graph import MAX_WEIGHT, FeatureGraph, build_graph, pattern, relation_matrix
from .lexical import lemma_of
from .vocabulary import CorpusVocabulary, Vertex
from .wndb import ANTONYM, DERIVATION, HYPERNYM, INSTANCE_HYPERNYM, SIMILAR_TO, WORDNET, WordNetDatabase


@graph_builder("spacy_graft.WordNet.v1")
@dataclass(frozen=True)
class WordNet:
    """Edges between features whose words WordNet relates.

    Antonyms are dissimilar. A feature has the relations of all its senses, or of those of its part of speech if it has
    one. A pair with several relations has the largest of their weights, and a pair of antonyms has only the dissimilar
    edge. All edges have both directions. A weight of 0 leaves a relation out.

    Parameters
    ----------
    path : str or Path, optional
        Folder or zip file with WordNet's files, or a folder of NLTK's data. By default, ``NLTK_DATA``, the
        folders of NLTK and ``/usr/share/wordnet`` are searched.
    synonym : float
        Weight of words of one synset, and of forms and spellings of one lemma.
    hypernym : float
        Weight of a word and its hypernym or hyponym, instances included.
    decay : float
        Factor of that weight with each further step along the hierarchy.
    max_distance : int
        Largest number of steps.
    similar_to : float
        Weight of similar adjectives.
    derivation : float
        Weight of words derived from each other.
    antonym : float
        Weight of dissimilar edges.
    max_senses : int, optional
        Largest number of senses of a word by part of speech, the most frequent first. By default all.
    inflected : bool
        Whether inflected forms have the relations of their lemmas.
    min_letters : int
        Shorter words without a part of speech are left out: most of them are function words, and WordNet has only
        homographs of these (``in``: inch, ``or``: Oregon).

    Raises
    ------
    ValueError
        If an option is out of range.
    """

    path: str | Path | None = None
    synonym: float = 1.0
    hypernym: float = 0.5
    decay: float = 0.5
    max_distance: int = 2
    similar_to: float = 0.5
    derivation: float = 0.5
    antonym: float = 1.0
    max_senses: int | None = None
    inflected: bool = True
    min_letters: int = 3

    def __post_init__(self) -> None:
        if self.path is not None:
            check_path("WordNet", self.path, "file or folder")
        names = ("synonym", "hypernym", "decay", "similar_to", "derivation", "antonym")
        check_numbers("WordNet", **{name: getattr(self, name) for name in names})
        check_counts("WordNet", max_distance=self.max_distance, min_letters=self.min_letters)
        if self.max_senses is not None:
            check_counts("WordNet", max_senses=self.max_senses)
        check_flags("WordNet", inflected=self.inflected)
        with np.errstate(all="ignore"):
            farthest = self.hypernym * np.float64(self.decay) ** (self.max_distance - 1)
        if not farthest <= MAX_WEIGHT:
            raise ValueError(
                f"WordNet: decay and max_distance must make no weight larger than {MAX_WEIGHT:g}, but are "
                f"{self.decay!r} and {self.max_distance!r}"
            )

    def __call__(self, vocabulary: CorpusVocabulary | Iterable[Vertex]) -> FeatureGraph:
        """Return the graph over the features of a corpus.

        Raises
        ------
        FileNotFoundError
            If WordNet is not found. The message lists the folders that were searched.
        ValueError
            If its files are damaged. The message names the folder, and where it can the file and the line.
        """
        features = CorpusVocabulary.of(vocabulary)
        folder = WORDNET.folder(self.path)
        try:
            database = WordNetDatabase.read(folder)
            words, skipped = self._words(database, features.vertices)
            similar = self._similar(database, words)
            dissimilar = without_loops(self.antonym * related(words, between_words(database, ANTONYM)))
        except ValueError as error:
            raise ValueError(f"{folder}: {error}") from error
        contradictory = similar.multiply(pattern(dissimilar))
        skipped = {**skipped, "similar_edges_of_antonyms": contradictory.nnz}
        return build_graph(features, similar - contradictory, dissimilar, skipped=skipped)

    def _words(self, database: WordNetDatabase, vertices: Iterable[Vertex]) -> tuple[sparse.csr_array, dict[str, int]]:
        """The words of synsets of each vertex: 0 or 1, (n_vertices, n_words); and counts of vertices without words."""
        words: list[int] = []
        counts: list[int] = []
        reasons: list[str | None] = []
        for vertex in vertices:
            # One word without a part of speech.
            short = len(vertex) == 1 and len(vertex[0]) < self.min_letters
            of_vertex = [] if short else self._words_of(database, vertex)
            words += of_vertex
            counts.append(len(of_vertex))
            reasons.append("short" if short else None if of_vertex else "not_in_wordnet")
        starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        entries = (np.ones(len(words)), np.array(words, np.int64), starts)
        matrix = sparse.csr_array(entries, shape=(len(counts), len(database.words)))
        return matrix, dict(Counter(filter(None, reasons)))

    def _words_of(self, database: WordNetDatabase, vertex: Vertex) -> list[int]:
        form, letters = lemma_of(vertex)
        return sorted(
            {
                database.word(synset, lemma)
                for letter in letters
                for lemma in database.lemmas(form, letter, self.inflected)
                for synset in database.senses[letter, lemma][: self.max_senses].tolist()
            }
        )

    def _similar(self, database: WordNetDatabase, words: sparse.csr_array) -> sparse.csr_array:
        """Weights of similar edges: float64 (n_vertices, n_vertices)."""
        synsets = pattern(words @ memberships(database))
        similar = self.synonym * pattern(synsets @ synsets.T)
        up = between_synsets(database, HYPERNYM, INSTANCE_HYPERNYM)
        above = synsets
        for distance in range(self.max_distance):
            above = pattern(above @ up)
            if not above.nnz:
                break
            steps = pattern(above @ synsets.T)
            similar = similar.maximum(self.hypernym * self.decay**distance * steps.maximum(steps.T))
        alike = related(synsets, between_synsets(database, SIMILAR_TO))
        derived = related(words, between_words(database, DERIVATION))
        similar = similar.maximum(self.similar_to * alike).maximum(self.derivation * derived)
        return without_loops(similar)


def memberships(database: WordNetDatabase) -> sparse.csr_array:
    """The synset of each word: (n_words, n_synsets)."""
    n = len(database.words)
    synsets = np.repeat(np.arange(database.n_synsets), np.diff(database.starts))
    return sparse.csr_array((np.ones(n), synsets, np.arange(n + 1)), shape=(n, database.n_synsets))


def between_synsets(database: WordNetDatabase, *signs: str) -> sparse.csr_array:
    """Relations of whole synsets: (n_synsets, n_synsets)."""
    pointers = [database.pointers[sign] for sign in signs]
    sources = np.concatenate([one.sources for one in pointers])
    targets = np.concatenate([one.targets for one in pointers])
    return relation_matrix(database.n_synsets, sources, targets)


def between_words(database: WordNetDatabase, sign: str) -> sparse.csr_array:
    """Relations of single words, without those of whole synsets: (n_words, n_words)."""
    pointers = database.pointers[sign]
    sources = database.starts[pointers.sources] + pointers.source_words - 1
    targets = database.starts[pointers.targets] + pointers.target_words - 1
    kept = (pointers.source_words > 0) & (pointers.target_words > 0)
    return relation_matrix(len(database.words), sources[kept], targets[kept])


def related(members: sparse.csr_array, relation: sparse.csr_array) -> sparse.csr_array:
    """The vertices that are related by their words or synsets, in either direction: 0 or 1, symmetric."""
    found = pattern(members @ relation @ members.T)
    return found.maximum(found.T)


def without_loops(matrix: sparse.csr_array) -> sparse.csr_array:
    """The edges of positive weight between different vertices."""
    entries = matrix.tocoo()
    kept = (entries.row != entries.col) & (entries.data > 0.0)
    return sparse.csr_array((entries.data[kept], (entries.row[kept], entries.col[kept])), shape=matrix.shape)
