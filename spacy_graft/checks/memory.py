"""How large the feature space of a corpus is, measured without training."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
from spacy.language import Language
from spacy.training import Example

from ..extract.blocks import CombinationBlock
from ..graft.data import TrainingData
from ..graft.indexing import Index, index_of, originals_of
from ..graft.space import distinct_columns
from ..pipeline.components import graft_component
from ..pipeline.corpus import ExtractedCorpus
from ..pipeline.targets import TargetReader
from ..pipeline.textcat import TextCatGraft
from ..pipeline.training import annotated_before

#: Bytes a symbol at the peak of building an index (docs/architecture.md), and a document and label: targets, scores,
#: residuals and the like.
BYTES_OF_BUILDING, BYTES_OF_LABEL = 50, 49
#: Bytes of the bound that a search remembers of each node.
BYTES_OF_BOUND = 12


@dataclass(frozen=True)
class BlockSize:
    """The size of one feature block.

    Attributes
    ----------
    block, kind : str
    symbols : int
        Characters, tokens or items. Of combinations: originals.
    nodes : int
        Features of at least ``min_df`` documents, those of equal columns included. Of combinations: 0, for nobody
        counts them.
    distinct : int
        Those that have columns of their own.
    bytes : int
        Of the index.
    """

    block: str
    kind: str
    symbols: int
    nodes: int
    distinct: int
    bytes: int

    def scaled(self, factor: float) -> BlockSize:
        """The size with so many times the documents, if it grows as they do."""
        sizes = (round(size * factor) for size in (self.symbols, self.nodes, self.distinct, self.bytes))
        return BlockSize(self.block, self.kind, *sizes)


@dataclass(frozen=True)
class SpaceSize:
    """The size of the feature space of a corpus.

    Attributes
    ----------
    documents, measured : int
        In the corpus, and those that were read for this: if they are fewer, the sizes are estimates.
    blocks : list of BlockSize
    bytes, peak_bytes : int
        What training will hold throughout, and while it builds the largest index.
    """

    documents: int
    measured: int
    blocks: list[BlockSize]
    bytes: int
    peak_bytes: int


def estimate_memory(
    nlp: Language, examples: Iterable[Example], *, n_documents: int | None = None, component: str | None = None
) -> SpaceSize:
    """Measure the feature space of a corpus by indexing a sample of it, or all of it, without training.

    Parameters
    ----------
    nlp : Language
        With a graft component; components before it annotate the documents.
    examples : iterable of Example
        Annotated in ``doc.cats``.
    n_documents : int, optional
        Documents of the corpus that the examples are a sample of; by default they are all there are.
    component : str, optional
        Which graft component, if there are several.
    """
    graft = graft_component(nlp, component)
    return space_size(graft, list(annotated_before(nlp, graft, examples)), n_documents)


def space_size(component: TextCatGraft, documents: list[Example], n_documents: int | None = None) -> SpaceSize:
    """The same for one component and examples that have been annotated."""
    labels = list(dict.fromkeys(label for example in documents for label in example.reference.cats))
    corpus = ExtractedCorpus(component.blocks, TargetReader(component.name, labels, component.exclusive))
    for example in documents:
        corpus.add(example)
    with warnings.catch_warnings():
        # Labels that hold for none of the sample.
        warnings.filterwarnings("ignore", message=r".*No training document is positive", category=UserWarning)
        data = corpus.training_data()
    n_documents = len(corpus) if n_documents is None else n_documents
    sizes = [size.scaled(n_documents / len(corpus)) for size in block_sizes(component, data)]
    total = sum(size.bytes + BYTES_OF_BOUND * size.nodes for size in sizes) + n_documents * len(labels) * BYTES_OF_LABEL
    largest = max(size.symbols for size in sizes)
    return SpaceSize(n_documents, len(corpus), sizes, total, total + BYTES_OF_BUILDING * largest)


def block_sizes(component: TextCatGraft, data: TrainingData) -> list[BlockSize]:
    """The size of each block, from its index."""
    names = [name for name in data.min_df if name not in data.combinations]
    indexes = [index_of(data, name, data.min_df[name]) for name in names]
    distinct = distinct_columns(indexes, [data.penalty_factors[name] for name in names], np.empty(0, np.int64))
    sizes = [
        BlockSize(name, component.blocks[name].feature_kind, n_symbols(data, name), index.n_nodes, int(own.sum()),
                  n_bytes(index))
        for name, index, own in zip(names, indexes, distinct, strict=True)
    ]  # fmt: skip
    return [*sizes, *(combination_size(data, name, block) for name, block in data.combinations.items())]


def combination_size(data: TrainingData, name: str, block: CombinationBlock) -> BlockSize:
    """The originals, of which all products of some are features."""
    bags = [originals_of(data, of) for of in block.of]
    kept = [bag.df >= block.min_df for bag in bags]
    entries = sum(int(bag.df[own].sum()) for bag, own in zip(bags, kept, strict=True))
    return BlockSize(name, block.feature_kind, int(sum(own.sum() for own in kept)), 0, 0, 4 * entries)


def n_symbols(data: TrainingData, name: str) -> int:
    """Characters or tokens of a block, or entries of its bag."""
    return int(data.bags[name].df.sum()) if name in data.bags else len(data.streams[name].symbols)


def n_bytes(index: Index) -> int:
    """Memory of an index."""
    values = (getattr(index, attribute.name) for attribute in fields(index))
    return sum(value.nbytes for value in values if isinstance(value, np.ndarray))
