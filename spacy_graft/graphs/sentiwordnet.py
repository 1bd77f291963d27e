"""The graph of SentiWordNet's scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import ClassVar

import numpy as np
from scipy import sparse

from ..options import check_counts, check_numbers, check_path
from ..registry import graph_builder
from .graph import FeatureGraph, build_graph, relation_matrix
from .lexical import LETTERS, lemma_of
from .resources import Resource, content
from .vocabulary import CorpusVocabulary, Vertex

#: The scores of the senses of a lemma, by letter and lemma: rank, positive, negative.
Senses = dict[tuple[str, str], list[tuple[int, float, float]]]

#: The virtual vertices.
POSITIVE_CLASS, NEGATIVE_CLASS = ("SentiWordNet", "positive"), ("SentiWordNet", "negative")


def table_in(folder: Traversable) -> Traversable | None:
    """The table in a folder, the last by name if there are several."""
    tables = (file for file in folder.iterdir() if fnmatchcase(file.name, "SentiWordNet_3*.txt"))
    return max(tables, key=lambda file: file.name, default=None)


SENTIWORDNET = Resource(
    "SentiWordNet 3.0",
    "sentiwordnet",
    lambda folder: folder.is_dir() and table_in(folder) is not None,
    (),
    "Get it with nltk.download('sentiwordnet'), or from https://github.com/aesuli/SentiWordNet, or give the path of "
    "the file.",
)


@graph_builder("spacy_graft.SentiWordNet.v1")
@dataclass(frozen=True)
class SentiWordNet:
    """Classes of positive and negative words, and similar scores.

    The two classes are dissimilar. Words of similar score have an edge. The score of a word is the mean of positive
    minus negative score over its senses, weighted by one over their rank. If the word has a part of speech, only senses
    of that count. The classes are virtual vertices, and their members have an edge of weight 1 to them.

    Parameters
    ----------
    path : str or Path, optional
        The file, a folder or zip file with it, or a folder of NLTK's data. By default, ``NLTK_DATA`` and the
        folders of NLTK are searched.
    positive : float
        Least score of a member of the positive class; above 0.
    negative : float
        Least negated score of a member of the negative class; above 0.
    min_df : int
        Least number of documents of a member. Values above 1 need a vocabulary with documents.
    neighbours : int
        Words are sorted by their scores, and each has an edge to this many before it and after it; 0 for none. Words of
        score 0 are left out.
    tolerance : float
        Largest difference of the scores of such neighbours.
    neighbour_weight : float
        Weight of the edges between such neighbours.

    Raises
    ------
    ValueError
        If an option is out of range.
    """

    path: str | Path | None = None
    positive: float = 0.5
    negative: float = 0.5
    min_df: int = 1
    neighbours: int = 5
    tolerance: float = 0.05
    neighbour_weight: float = 0.1

    classes: ClassVar[tuple[Vertex, Vertex]] = (POSITIVE_CLASS, NEGATIVE_CLASS)

    def __post_init__(self) -> None:
        if self.path is not None:
            check_path("SentiWordNet", self.path, "file or folder")
        names = ("positive", "negative", "tolerance", "neighbour_weight")
        check_numbers("SentiWordNet", **{name: getattr(self, name) for name in names})
        check_counts("SentiWordNet", min_df=self.min_df)
        check_counts("SentiWordNet", least=0, neighbours=self.neighbours)
        if not self.positive or not self.negative:
            raise ValueError(
                "SentiWordNet: positive and negative must be above 0: otherwise, every word would be in both classes"
            )

    def __call__(self, vocabulary: CorpusVocabulary | Iterable[Vertex]) -> FeatureGraph:
        """Return the graph over the features of a corpus.

        Raises
        ------
        FileNotFoundError
            If there is no file. The message lists the folders that were searched.
        ValueError
            If the file is damaged, with the number of the line, or documents are needed but missing.
        """
        features = CorpusVocabulary.of(vocabulary)
        scores = word_scores(read_senses(self.path), features.vertices)
        positive, negative = scores >= self.positive, -scores >= self.negative
        rare = self._rare(features) & (positive | negative)
        similar, dissimilar = class_edges([positive & ~rare, negative & ~rare])
        near = self._score_edges(scores)
        near.resize(similar.shape)
        skipped = {"not_in_sentiwordnet": int(np.isnan(scores).sum()), "rare": int(rare.sum())}
        return build_graph(features, similar.maximum(near), dissimilar, self.classes, skipped)

    def _rare(self, features: CorpusVocabulary) -> np.ndarray:
        """Which features have too few documents: bool (n_features,)."""
        if self.min_df == 1:
            return np.zeros(len(features.vertices), np.bool_)
        df: np.ndarray = features.documents("SentiWordNet with min_df").sum(axis=0)
        return df < self.min_df

    def _score_edges(self, scores: np.ndarray) -> sparse.csr_array:
        """Edges between neighbours in the order of scores: float64 (n_features, n_features). The sort is stable."""
        scored = np.flatnonzero(np.nan_to_num(scores))
        order = scored[np.argsort(scores[scored], kind="stable")]
        edges = sparse.csr_array((len(scores), len(scores)))
        for distance in range(1, min(self.neighbours + 1, len(order))):
            first, second = order[:-distance], order[distance:]
            near = scores[second] - scores[first] <= self.tolerance
            pairs = (first[near], second[near])
            edges += sparse.csr_array((np.full(int(near.sum()), self.neighbour_weight), pairs), shape=edges.shape)
        return sparse.csr_array(edges + edges.T)


def class_edges(members: list[np.ndarray]) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Similar edges of weight 1 from members to their classes, and dissimilar edges between all classes.

    ``members`` has bool (n_features,) for each class. In both matrices, float64 (n_features + n_classes, likewise), the
    classes come after the features.
    """
    n, n_classes = len(members[0]), len(members)
    features, classes = np.nonzero(np.stack(members, axis=1))
    occupied = np.array([of_class.any() for of_class in members])
    sources, targets = np.nonzero(np.outer(occupied, occupied) & ~np.eye(n_classes, dtype=np.bool_))
    similar = relation_matrix(n + n_classes, features, n + classes)
    return similar, relation_matrix(n + n_classes, n + sources, n + targets)


def word_scores(senses: Senses, vertices: Iterable[Vertex]) -> np.ndarray:
    """Scores of vertices in [-1, 1], NaN for those without a sense: float64 (n,)."""
    scores = []
    for vertex in vertices:
        lemma, letters = lemma_of(vertex)
        of_word = [sense for letter in letters for sense in senses.get((letter, lemma), ())]
        total = math.fsum(1.0 / rank for rank, _, _ in of_word)
        value = math.fsum((positive - negative) / rank for rank, positive, negative in of_word)
        scores.append(value / total if of_word else math.nan)
    return np.array(scores, np.float64)


def read_senses(path: str | Path | None) -> Senses:
    """Read the table: part of speech, id, positive and negative score, ``word#rank`` for each word, gloss.

    Raises
    ------
    FileNotFoundError
        If it does not exist.
    ValueError
        If a line is malformed, or there is none.
    """
    senses: Senses = {}
    file = table_at(path)
    for number, line in enumerate(read_text(file).split("\n"), start=1):
        # The last line of the published file has only a hash sign and tabs.
        if line.strip() and not line.startswith("#"):
            try:
                for key, sense in senses_in(line):
                    senses.setdefault(key, []).append(sense)
            except ValueError as error:
                raise ValueError(f"{file}, line {number}: {error}") from error
    if not senses:
        raise ValueError(f"{file} has no senses.")
    return senses


def table_at(path: str | Path | None) -> Traversable:
    """The table at a path, or in the usual folders if that is None."""
    if path is not None and (file := Path(path)).is_file() and file.suffix != ".zip":
        return file
    table = table_in(SENTIWORDNET.folder(path))
    assert table is not None
    return table


def read_text(file: Traversable) -> str:
    """Return the text of a file in UTF-8; raise a ValueError if it is none."""
    try:
        return content(file).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not UTF-8: {error}") from error


def senses_in(line: str) -> Iterator[tuple[tuple[str, str], tuple[int, float, float]]]:
    """Yield the senses of a line by letter and lemma; raise a ValueError if the line is malformed."""
    columns = line.split("\t")
    if len(columns) < 5:
        raise ValueError(f"there must be 5 columns or more, but there are {len(columns)}")
    letter = "a" if columns[0] == "s" else columns[0]
    positive, negative = float(columns[2]), float(columns[3])
    if letter not in LETTERS or len(letter) != 1:
        raise ValueError(f"{letter!r} is no part of speech")
    if not (0.0 <= positive <= 1.0 and 0.0 <= negative <= 1.0):
        raise ValueError(f"scores must be between 0 and 1, but are {columns[2]} and {columns[3]}")
    for term in columns[4].split(" "):
        word, _, rank = term.rpartition("#")
        if not word or not rank.isdecimal() or int(rank) < 1:
            raise ValueError(f"{term!r} is not a word with the rank of its sense, as 'good#1'")
        yield (letter, word.lower()), (int(rank), positive, negative)
