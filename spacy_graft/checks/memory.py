"""Estimate the size of a corpus's feature space and the memory of training, without training: ``estimate_memory``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.training import Example

from ..extract.blocks import CombinationBlock, least_documents
from ..graft.data import TrainingData
from ..graft.emptiness import warnings_of_all_documents
from ..graft.indexing import Index, index_of, items_of
from ..graft.memory import has_many_labels
from ..graft.settings import CoordinateAscent
from ..graft.space import distinct_columns
from ..graft.start import can_divide
from ..index.kernels import LANES
from ..options import check_counts
from ..pipeline.annotation import annotated_before
from ..pipeline.components import graft_component
from ..pipeline.corpus import ExtractedCorpus
from ..pipeline.targets import TargetReader
from ..pipeline.textcat import TextCatGraft

# Figures of docs/architecture.md, section Memory; where there are several, the largest.
#: Bytes per symbol while an index is built, and for a block with ``min_df`` 1.
BYTES_PER_SYMBOL, BYTES_PER_SYMBOL_MIN_DF_1 = 60, 140
#: Bytes per document and label that are fitted at once: targets, scores, residuals and other arrays.
BYTES_PER_DOCUMENT_LABEL = 57
#: Bytes per node besides the index: where it is in the model, 1 / λ, for each label where it depends on labels, and
#: what descents of an ascent remember.
BYTES_PER_NODE, BYTES_PER_NODE_LABEL, BYTES_PER_NODE_DESCENT = 4, 4, 12
#: Bytes per feature and exclusive label: weights, and what refits keep of them. As measured with 500, 5,000 and 20,000
#: features of 129 labels.
BYTES_PER_WEIGHT = 350


@dataclass(frozen=True)
class BlockSize:
    """Size of one feature block.

    Attributes
    ----------
    block : str
        Name of the block.
    feature_kind : str
        "token n-gram", for example.
    n_symbols : int
        Number of characters, tokens or items. For combinations: number of the items that are combined.
    n_nodes : int
        Number of features in at least ``min_df`` documents, equal columns included. For combinations: 0, because they
        are not counted.
    n_columns : int
        Number of distinct columns. A column that blocks share is counted for one of them.
    n_bytes : int
        Size of the index.
    """

    block: str
    feature_kind: str
    n_symbols: int
    n_nodes: int
    n_columns: int
    n_bytes: int

    def scaled(self, factor: float) -> BlockSize:
        """Return the size for ``factor`` times the documents, assuming that all figures grow linearly."""
        sizes = (round(size * factor) for size in (self.n_symbols, self.n_nodes, self.n_columns, self.n_bytes))
        return BlockSize(self.block, self.feature_kind, *sizes)


@dataclass(frozen=True)
class MemoryEstimate:
    """Size of a feature space and the memory of training.

    Attributes
    ----------
    n_documents : int
        Documents of the corpus.
    n_measured : int
        Documents that were indexed. If they are fewer than ``n_documents``, all other figures are extrapolated.
    blocks : list of BlockSize
    total_bytes : int
        Memory during training: indexes, searches, scores, weights. The documents themselves are not included.
    peak_bytes : int
        Memory while the largest index is built.
    """

    n_documents: int
    n_measured: int
    blocks: list[BlockSize]
    total_bytes: int
    peak_bytes: int


def estimate_memory(
    nlp: Language, examples: Iterable[Example], *, n_documents: int | None = None, component: str | None = None
) -> MemoryEstimate:
    """Estimate the size of the feature space and the memory of training.

    The examples are indexed as in training, but nothing is trained. The pipeline is not changed.

    Parameters
    ----------
    nlp : Language
        A pipeline with a graft component, trained or not. The components before it annotate the documents; they must be
        trained.
    examples : iterable of Example
        Annotated in ``doc.cats``. They are held in memory.
    n_documents : int, optional
        Number of documents of the corpus, if the examples are a sample of it: at least as many.
    component : str, optional
        Name of the graft component; needed if there are several.

    Returns
    -------
    MemoryEstimate

    Raises
    ------
    ValueError
        If the component is not found, there are no examples, or they cannot be trained on (see :func:`check_corpus`),
        or ``n_documents`` is no such number.

    Examples
    --------
    >>> estimate = estimate_memory(nlp, train[:5000], n_documents=len(train))
    >>> print(estimate.peak_bytes / 1e6, "MB")
    """
    graft = graft_component(nlp, component)
    measured = list(annotated_before(nlp, graft, examples))
    return component_memory(graft, measured, len(measured) if n_documents is None else n_documents)


def component_memory(component: TextCatGraft, examples: list[Example], n_documents: int) -> MemoryEstimate:
    """Return the estimate for one component, from examples that have been annotated; see :func:`estimate_memory`."""
    if not examples:
        raise ValueError(f"[{component.name}] Memory is estimated from at least 1 example, not 0.")
    check_counts("estimate_memory", len(examples), n_documents=n_documents)
    labels = list(dict.fromkeys(label for example in examples for label in example.reference.cats))
    scale = n_documents / len(examples)
    data = training_data(component, examples, labels, scale)
    sizes = [size.scaled(scale) for size in block_sizes(component, data)]
    divided = can_divide(component.learner, data) and has_many_labels(n_documents, len(labels), component.exclusive)
    n_at_once = LANES if divided else len(labels)
    indexed = sum(size.n_bytes + bytes_per_node(component, n_at_once) * size.n_nodes for size in sizes)
    total = indexed + n_documents * n_at_once * BYTES_PER_DOCUMENT_LABEL
    if component.exclusive:
        total += most_features(component.learner, sizes) * len(labels) * BYTES_PER_WEIGHT
    peak = total + max(building_bytes(size, data.min_df[size.block]) for size in sizes)
    return MemoryEstimate(n_documents, len(examples), sizes, total, peak)


def bytes_per_node(component: TextCatGraft, n_labels: int) -> int:
    """Of features and their penalty weights; two labels that exclude each other have the same ones."""
    kind = getattr(component.learner, "penalty_weight_kind", None)
    n_kept = n_labels if kind is not None and kind.by_label else 1
    of_descent = BYTES_PER_NODE_DESCENT if isinstance(component.learner, CoordinateAscent) else 0
    kept = BYTES_PER_NODE_LABEL * (1 if component.exclusive and n_kept == 2 else n_kept)
    return BYTES_PER_NODE + kept + of_descent


def most_features(learner: Any, sizes: list[BlockSize]) -> int:
    """Features of the largest model; 0 if the learner does not limit them: it stops long before it has all."""
    most: int | None = getattr(learner, "most_features", None)
    return 0 if most is None else min(most, sum(size.n_columns for size in sizes))


def building_bytes(size: BlockSize, min_df: int) -> int:
    """Return the memory that building the index of a block takes at its peak."""
    return size.n_symbols * (BYTES_PER_SYMBOL_MIN_DF_1 if min_df == 1 else BYTES_PER_SYMBOL)


def training_data(component: TextCatGraft, examples: list[Example], labels: list[str], scale: float) -> TrainingData:
    """Extract the examples as in training, with ``min_df`` as for ``scale`` times as many."""
    corpus = ExtractedCorpus(component.blocks, TargetReader(component.name, labels, component.exclusive))
    corpus.add(examples)
    with warnings_of_all_documents():
        data = corpus.training_data()
    min_df = {
        name: least_documents(component.blocks[name], round(scale * len(examples)), round(scale * len(stream.symbols)))
        for name, stream in data.streams.items()
    }
    return replace(data, min_df=data.min_df | min_df)


def block_sizes(component: TextCatGraft, data: TrainingData) -> list[BlockSize]:
    """Build the index of each block and return the sizes."""
    names = [name for name in data.min_df if name not in data.combinations]
    indexes = [index_of(data, name, data.min_df[name]) for name in names]
    distinct = distinct_columns(indexes, [data.penalty_factors[name] for name in names], np.empty(0, np.int64))
    sizes = [
        BlockSize(
            block=name,
            feature_kind=component.blocks[name].feature_kind,
            n_symbols=symbol_count(data, name),
            n_nodes=index.n_nodes,
            n_columns=int(is_distinct.sum()),
            n_bytes=array_bytes(index),
        )
        for name, index, is_distinct in zip(names, indexes, distinct, strict=True)
    ]
    return [*sizes, *(combination_size(data, name, block) for name, block in data.combinations.items())]


def combination_size(data: TrainingData, name: str, block: CombinationBlock) -> BlockSize:
    """Return the size of the items that a block combines."""
    bags = [items_of(data, combined) for combined in block.of]
    kept = [bag.df >= block.min_df for bag in bags]
    n_entries = sum(int(bag.df[frequent].sum()) for bag, frequent in zip(bags, kept, strict=True))
    return BlockSize(name, block.feature_kind, int(sum(frequent.sum() for frequent in kept)), 0, 0, 4 * n_entries)


def symbol_count(data: TrainingData, name: str) -> int:
    """Return the number of symbols of a stream, or of entries of a bag."""
    return int(data.bags[name].df.sum()) if name in data.bags else len(data.streams[name].symbols)


def array_bytes(index: Index) -> int:
    """Return the memory of the arrays of an index."""
    values = (getattr(index, attribute.name) for attribute in fields(index))
    return sum(value.nbytes for value in values if isinstance(value, np.ndarray))
