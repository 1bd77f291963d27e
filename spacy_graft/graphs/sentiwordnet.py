"""The network of SentiWordNet's scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import ClassVar

import numpy as np
from scipy import sparse

from ..registry import network_builder
from .graph import FeatureGraph, assembled
from .lexical import LETTERS, check_counts, check_numbers, lemma_of
from .resources import Resource, content
from .vocabulary import CorpusVocabulary, Vertex

#: The scores of the senses of a lemma, by letter and lemma: rank, positive, negative.
Senses = dict[tuple[str, str], list[tuple[int, float, float]]]

#: The virtual vertices.
POSITIVE, NEGATIVE = ("SentiWordNet", "positive"), ("SentiWordNet", "negative")


def table_in(folder: Traversable) -> Traversable | None:
    """The file in a folder, the last by name if there are several."""
    named = sorted((file for file in folder.iterdir() if is_table(file.name)), key=lambda file: file.name)
    return named[-1] if named else None


def is_table(name: str) -> bool:
    """Whether a file has the name of the table."""
    return name.startswith("SentiWordNet_3") and name.endswith(".txt")


SENTIWORDNET = Resource(
    "SentiWordNet 3.0",
    "sentiwordnet",
    lambda folder: folder.is_dir() and table_in(folder) is not None,
    (),
    "Get it with nltk.download('sentiwordnet'), or from https://github.com/aesuli/SentiWordNet, or give the path of "
    "the file.",
)


@network_builder("spacy_graft.SentiWordNet.v1")
@dataclass(frozen=True)
class SentiWordNet:
    """Two classes of features, positive and negative words, with a dissimilar edge between; and words of like score.

    The score of a word is the mean of positive minus negative score over its senses, each weighted by one over its
    rank, of its part of speech or of all of them. The classes are virtual vertices, to which their members have an
    edge of weight 1.

    Parameters
    ----------
    path : str or Path, optional
        The file, a folder or zip file with it, or a folder of NLTK's data. If there is none, it is looked for in
        ``NLTK_DATA`` and where NLTK looks.
    positive, negative : float
        Least score, and least negated score, of a member of the classes; above 0.
    min_df : int
        Least number of documents of a member, if more than 1 is asked for. Needs a vocabulary with documents.
    neighbours : int
        Words are put in the order of their scores, and each is tied to so many before and after it; 0 for none. Words
        of score 0 are left out.
    tolerance : float
        Largest difference of scores of tied words.
    like : float
        Weight of these ties.

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
    like: float = 0.1

    classes: ClassVar[tuple[Vertex, Vertex]] = (POSITIVE, NEGATIVE)

    def __post_init__(self) -> None:
        names = ("positive", "negative", "neighbours", "tolerance", "like")
        check_numbers("SentiWordNet", 0.0, {name: getattr(self, name) for name in names})
        check_counts("SentiWordNet", {"min_df": self.min_df, "neighbours": self.neighbours or None})
        if not self.positive or not self.negative:
            raise ValueError("SentiWordNet: positive and negative must be above 0, or every word would be of both")

    def __call__(self, vocabulary: CorpusVocabulary | Iterable[Vertex]) -> FeatureGraph:
        """Return the graph over the features of a corpus.

        Raises
        ------
        FileNotFoundError
            If there is no file; says where it was looked for.
        ValueError
            If the file is damaged, with the number of the line; or documents are needed and not there.
        """
        features = CorpusVocabulary.of(vocabulary)
        scores = word_scores(read_senses(self.path), features.vertices)
        positive, negative = scores >= self.positive, -scores >= self.negative
        rare = self._rare(features) & (positive | negative)
        similar, dissimilar = class_edges([positive & ~rare, negative & ~rare])
        tied = self._ties(scores)
        tied.resize(similar.shape)
        skipped = {"not_in_sentiwordnet": int(np.isnan(scores).sum()), "rare": int(rare.sum())}
        return assembled(features, similar.maximum(tied), dissimilar, self.classes, skipped)

    def _rare(self, features: CorpusVocabulary) -> np.ndarray:
        """Which features have too few documents: bool (n_features,)."""
        if self.min_df == 1:
            return np.zeros(len(features.vertices), np.bool_)
        df: np.ndarray = features.documents("SentiWordNet with min_df").sum(axis=0)
        return df < self.min_df

    def _ties(self, scores: np.ndarray) -> sparse.csr_array:
        """Edges along the order of scores: float64 (n_features, n_features). Equal scores stay in the order given."""
        telling = np.flatnonzero(np.nan_to_num(scores))
        order = telling[np.argsort(scores[telling], kind="stable")]
        tied = sparse.csr_array((len(scores), len(scores)))
        for distance in range(1, min(self.neighbours + 1, len(order))):
            first, second = order[:-distance], order[distance:]
            near = scores[second] - scores[first] <= self.tolerance
            pairs = (first[near], second[near])
            tied += sparse.csr_array((np.full(int(near.sum()), self.like), pairs), shape=tied.shape)
        return sparse.csr_array(tied + tied.T)


def class_edges(members: list[np.ndarray]) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Edges of weight 1 from members to their classes, which come after the features, and between all classes.

    ``members`` are bool (n_features,), one a class; both matrices are float64 (n_features + n_columns, likewise).
    """
    n, n_columns = len(members[0]), len(members)
    own = sparse.csr_array(np.stack(members, axis=1).astype(np.float64))
    upper = sparse.hstack([sparse.csr_array((n, n)), own])
    similar = sparse.vstack([upper, sparse.csr_array((n_columns, n + n_columns))], format="csr")
    occupied = np.array([its.any() for its in members])
    between = np.outer(occupied, occupied) & ~np.eye(n_columns, dtype=np.bool_)
    dissimilar = sparse.block_diag([sparse.csr_array((n, n)), between.astype(np.float64)], format="csr")
    return sparse.csr_array(similar), sparse.csr_array(dissimilar)


def word_scores(senses: Senses, vertices: Iterable[Vertex]) -> np.ndarray:
    """Scores of vertices in [-1, 1], NaN of those that have no sense: float64 (n,)."""
    scores = []
    for vertex in vertices:
        lemma, letters = lemma_of(vertex)
        its = [sense for letter in letters for sense in senses.get((letter, lemma), ())]
        total = math.fsum(1.0 / rank for rank, _, _ in its)
        value = math.fsum((positive - negative) / rank for rank, positive, negative in its)
        scores.append(value / total if its else math.nan)
    return np.array(scores, np.float64)


def read_senses(path: str | Path | None) -> Senses:
    """Read the table: part of speech, id, positive and negative score, ``word#rank`` for each word, gloss.

    Raises
    ------
    FileNotFoundError
        If it is not there.
    ValueError
        If a line is malformed.
    """
    senses: Senses = {}
    file = table_at(path)
    for number, line in enumerate(read_text(file).split("\n"), start=1):
        # The published file ends in a line of nothing but a hash sign and tabs.
        if line.strip() and not line.startswith("#"):
            try:
                for key, sense in parsed(line):
                    senses.setdefault(key, []).append(sense)
            except ValueError as error:
                raise ValueError(f"{file.name}, line {number}: {error}") from error
    return senses


def table_at(path: str | Path | None) -> Traversable:
    """The file that a path means."""
    if path is not None and is_text(Path(path)):
        return Path(path)
    table = table_in(SENTIWORDNET.folder(path))
    assert table is not None
    return table


def is_text(path: Path) -> bool:
    """Whether a path is a file that is not zipped."""
    return path.is_file() and path.suffix != ".zip"


def read_text(file: Traversable) -> str:
    """The text of a file in UTF-8; a ValueError if it is none."""
    try:
        return content(file).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file.name} is not UTF-8: {error}") from error


def parsed(line: str) -> Iterator[tuple[tuple[str, str], tuple[int, float, float]]]:
    """The senses of a line by letter and lemma; a ValueError if it has no such columns."""
    columns = line.split("\t")
    if len(columns) < 5:
        raise ValueError(f"5 columns or more are expected, not {len(columns)}")
    letter = "a" if columns[0] == "s" else columns[0]
    positive, negative = float(columns[2]), float(columns[3])
    if letter not in LETTERS or len(letter) != 1:
        raise ValueError(f"{letter!r} is no part of speech")
    if not (0.0 <= positive <= 1.0 and 0.0 <= negative <= 1.0):
        raise ValueError(f"scores are between 0 and 1, not {columns[2]} and {columns[3]}")
    for term in columns[4].split(" "):
        word, _, rank = term.rpartition("#")
        if not word or not rank.isdecimal() or int(rank) < 1:
            raise ValueError(f"{term!r} is no word with the rank of its sense")
        yield (letter, word.lower()), (int(rank), positive, negative)
