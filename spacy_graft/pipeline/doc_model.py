"""Models over texts and Docs for the ranker; :mod:`spacy_graft.item_model` has those over items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
import spacy
from spacy.language import Language
from spacy.tokens import Doc

from ..estimator_files import SavedEstimator, checked_values
from ..extract.batches import joined_streams
from ..extract.blocks import Block, is_reading_block, is_vectors_block
from ..extract.lengths import document_length
from ..graft.constraints import FeatureNames
from ..graft.data import TrainingData
from ..graft.report import Report
from ..graft.solution import Solution
from ..model.naming import texts_of
from ..model.snapshot import snapshot_of_solution
from ..text_model import SnapshotModel, SnapshotSpace, documents_of
from .corpus import fields_of_blocks
from .factories import check_blocks_and_learner


class DocSpace(SnapshotSpace):
    """The features of blocks, in Docs of one vocab or in texts, which are tokenized at punctuation and white space.

    Parameters
    ----------
    owner : str
        The class that the blocks are given to, for messages.
    blocks : mapping of str to block
    learner : settings of a learner

    Raises
    ------
    ValueError
        If the blocks are invalid, or the learner cannot take them.
    """

    def __init__(self, owner: str, blocks: Mapping[str, Block], learner: Any) -> None:
        self.blocks = dict(blocks)
        check_blocks_and_learner(owner, self.blocks, learner)
        if any(map(is_vectors_block, self.blocks.values())):
            raise ValueError(f"{owner}: candidates have no document vectors. Remove the block of vectors.")

    @cached_property
    def _tokenizer(self) -> Language:
        """Of texts; its vocab has all words that it has read."""
        return spacy.blank("xx")

    def __getstate__(self) -> dict[str, Any]:
        """Without the words of texts, which a model does not need."""
        return {name: value for name, value in vars(self).items() if name != "_tokenizer"}

    def learn(self, X: Iterable[str | Doc], names: Sequence[str] | None) -> list[Doc]:
        """Return the Docs of training texts; a ValueError if names of columns are given."""
        if names is not None:
            raise ValueError("names are those of the columns of a matrix: with blocks there is none.")
        return self.read(X)

    def read(self, X: Iterable[str | Doc]) -> list[Doc]:
        """Return Docs; those of strings are tokenized only."""
        tokenizer = self._tokenizer
        docs = [tokenizer.make_doc(text) if isinstance(text, str) else text for text in documents_of(X)]
        for i, doc in enumerate(docs):
            if not isinstance(doc, Doc):
                raise ValueError(f"With blocks, candidates must be strings or Docs, but candidate {i} is {doc!r}.")
        return docs

    def some(self, docs: Sequence[Doc], rows: np.ndarray) -> list[Doc]:
        return [docs[row] for row in rows.tolist()]

    def training_data(self, docs: Sequence[Doc], /, **of_documents: Any) -> TrainingData:
        """Return the input of a learner; ``of_documents`` are the fields of targets and weights.

        Raises
        ------
        ValueError
            If the Docs are of several vocabs, or a block needs annotation that they lack.
        """
        if any(doc.vocab is not docs[0].vocab for doc in docs):
            raise ValueError("Candidates must be Docs of one pipeline (one vocab), or all of them strings.")
        reading = {name: block for name, block in self.blocks.items() if is_reading_block(block)}
        streams = joined_streams(reading, docs)
        lengths = np.array([document_length(doc) for doc in docs], np.float64)
        names = FeatureNames(partial(texts_of, self.blocks, docs[0].vocab.strings))
        return TrainingData(**fields_of_blocks(self.blocks, streams), lengths=lengths, names=names, **of_documents)

    def model(self, solution: Solution, docs: Sequence[Doc]) -> DocModel:
        return DocModel(snapshot_of_solution(solution, self.blocks, docs[0].vocab.strings))

    def restored(self, saved: SavedEstimator, n_labels: int) -> tuple[DocModel, Report]:
        checked_values(saved.space)
        snapshot, report = saved.snapshot(self.blocks, self._tokenizer.vocab.strings, n_labels)
        return DocModel(snapshot), report


class DocModel(SnapshotModel):
    """A solution over Docs, prepared for scoring others."""

    def score_parts(self, docs: Sequence[Doc]) -> Iterator[np.ndarray]:
        yield self.scores(docs)

    def scores(self, docs: Sequence[Doc]) -> np.ndarray:
        return self.snapshot.scores(docs)

    def contributions(self, docs: Sequence[Doc]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for doc in docs:
            features, values, _, scale = self.snapshot.contributions(doc)
            yield features, scale * values
