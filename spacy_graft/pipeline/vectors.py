"""Word vectors for a component: from their source to the document vectors of a training corpus."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import unwrap
from typing import Any

import numpy as np
from spacy.vocab import Vocab

from ..extract.blocks import Block, VectorsBlock, is_vectors_block
from ..extract.streams import Stream
from ..graft.document_vectors import DocumentVectors
from ..registry import graft_vectors
from ..vectors.word_scores import WordScores
from ..vectors.word_vectors import WordVectors, vectors_from

#: What ``@graft_vectors`` make: from the vocab of the pipeline to vectors.
VectorsReader = Callable[[Vocab], WordVectors]


@graft_vectors("spacy_graft.PipelineVectors.v1")
def pipeline_vectors() -> VectorsReader:
    """Word vectors of the pipeline itself (``nlp.vocab.vectors``), as pipelines of the sizes md and lg have them."""
    return vectors_of_vocab


def vectors_of_vocab(vocab: Vocab | None) -> WordVectors:
    """The vectors of a vocab; None where there is no pipeline."""
    if vocab is None:
        raise ValueError(
            "spacy_graft.PipelineVectors.v1 reads the vectors of the pipeline of a component, but an estimator has "
            "none. Call what it returns with the vocab of a pipeline, nlp.vocab, and give the result."
        )
    source = "The vectors of the pipeline"
    table: Any = vocab.vectors
    if table.mode != "default":
        raise ValueError(
            f"{source} are {table.mode} vectors, which have no list of words. Write those of the words that you need "
            f"into a file (spacy_graft.TextVectors.v1)."
        )
    if n_unknown := sum(key not in vocab.strings for key in table.key2row):
        raise ValueError(
            f"{source} are of {len(table.key2row):,} words, of which {n_unknown:,} are not among the strings of the "
            f"pipeline, which has no other name for them. Add them first, nlp.vocab.strings.add(word); or write the "
            f"vectors of the others into a file (spacy_graft.TextVectors.v1)."
        )
    if not table.key2row:
        raise ValueError(
            f"{source} are empty. Start from a pipeline with vectors ([initialize] vectors), or give a source in "
            f"[initialize.components.<name>.vectors], such as spacy_graft.TextVectors.v1."
        )
    words = tuple(vocab.strings[key] for key in table.key2row)
    # Other packages keep vectors where they compute.
    data = table.data if isinstance(table.data, np.ndarray) else table.data.get()
    return WordVectors(words, data, source, np.array(list(table.key2row.values()), np.int64))


def vectors_of_training(
    word_scores: WordScores, blocks: Mapping[str, Block], vocab: Vocab
) -> tuple[WordVectors, np.ndarray]:
    """The vectors of a pipeline and the symbols of their words; a ValueError if they are not those of the training."""
    block = blocks[word_scores.block]
    assert is_vectors_block(block)
    if not vocab.vectors.key2row:
        raise ValueError(
            "The component finds its word vectors in its pipeline (words = 'pipeline'), which has none here. Load them "
            "with the pipeline, and source such a component only into a pipeline that has the same vectors."
        )
    given = vectors_of_vocab(vocab).as_written(block.form)
    symbols = block.keys(given.words)
    if given.digest(symbols) != word_scores.digest:
        raise ValueError(
            f"{given.source} have changed since the model was trained, or are others: scores would be wrong. Use the "
            f"pipeline that it was trained in, or train it again."
        )
    return given, symbols


@dataclass(frozen=True)
class VectorsSource:
    """Makes the document vectors of any training corpus of a component.

    Memory: the vectors as float32, and 8 bytes a document and column.

    Parameters
    ----------
    component : str
        Its name, for messages.
    block_name : str
    block : VectorsBlock
    read : callable
        From ``@graft_vectors``.
    vocab : Vocab
    """

    component: str
    block_name: str
    block: VectorsBlock
    read: VectorsReader
    vocab: Vocab

    @cached_property
    def given(self) -> WordVectors:
        """The vectors of words as documents write them; exceptions of the source are passed on."""
        if self.block.words == "pipeline" and unwrap(self.read) is not vectors_of_vocab:
            raise ValueError(
                f"[{self.component}] Block {self.block_name!r} has words = 'pipeline', so that models find the vectors "
                f"in their pipeline, but a source of others is given. Give none, or set words to 'all' or 'training'."
            )
        return vectors_from(self.read, self.vocab).as_written(self.block.form)

    @cached_property
    def _symbols(self) -> np.ndarray:
        return self.block.keys(self.given.words)

    def __call__(self, streams: Mapping[str, Stream]) -> DocumentVectors:
        """Return the document vectors of documents that have been read.

        Raises
        ------
        ValueError
            If no word of them has a vector.
        """
        stream = streams[self.block_name]
        return DocumentVectors.built(
            self.block_name,
            self.given,
            self._symbols,
            stream.symbols,
            stream.starts,
            self.block.smoothing,
            self.block.words,
        )


def vectors_block(blocks: Mapping[str, Block]) -> tuple[str, VectorsBlock] | None:
    """The block of vectors and its name, if there is one."""
    return next(((name, block) for name, block in blocks.items() if is_vectors_block(block)), None)
