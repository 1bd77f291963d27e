"""What training needs of a corpus, without spaCy."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ..extract.bags import Bags, Vocabulary
from ..extract.blocks import CombinationBlock
from ..extract.streams import Stream
from ..index.places import IndexPlace, InMemory

if TYPE_CHECKING:
    import scipy.sparse

    from ..index.items import ItemIndex
    from ..index.ngrams import NgramIndex
    from .constraints import FeatureNames
    from .document_vectors import DocumentVectors
    from .network import Network

T = TypeVar("T")
#: What an index is of: the block, whether it is of items, and ``min_df``.
IndexKey = tuple[str, bool, int]


@dataclass(frozen=True, kw_only=True)
class TrainingData:
    """Streams, bags and targets of n documents.

    Attributes
    ----------
    streams : dict of str to Stream
        By the name of the block.
    bags : dict of str to Bags
        The same of blocks of items, with the items that the block's ``min_df`` lets in.
    combinations : dict of str to CombinationBlock
        One at the most.
    min_df : dict of str to int
        Least number of documents of a feature, by block of any kind, in their order.
    max_length : dict of str to int or None
        Longest n-gram, by block of n-grams.
    penalty_factors : dict of str to float
        Factor of λ, by block.
    targets : float64 (n, labels), or csc_array
        q_iy in [0, 1]; sparse where there are very many independent labels.
    known : bool (n, labels)
        False where a document says nothing of a label (several labels only).
    example_weights : float64 (n)
        s_i.
    lengths : float64 (n)
        What document weights are made of: distinct words of each document, at least 1.
    labels : tuple of str
    exclusive : bool
    network : Network, optional
        Of features of the blocks.
    groups : int32 (n), optional
        Where documents are candidates, of which each group has a correct one: the group of each, ascending from 0
        without gaps. There is one label then, which is not exclusive, and the targets of a group sum to 1.
    place : InMemory, OnDisk or Dask
        Where indexes are made and kept.
    names : FeatureNames, optional
        Where the learner has constraints: how features are named.
    vectors : DocumentVectors, optional
        Dense columns, made of the vectors of the words of each document.
    indexes : dict, optional
        Where several fits of these documents share the indexes of blocks: those that have been built.
    """

    streams: dict[str, Stream] = field(default_factory=dict)
    bags: dict[str, Bags] = field(default_factory=dict)
    combinations: dict[str, CombinationBlock] = field(default_factory=dict)
    min_df: dict[str, int]
    max_length: dict[str, int | None] = field(default_factory=dict)
    penalty_factors: dict[str, float]
    targets: np.ndarray | scipy.sparse.csc_array
    known: np.ndarray
    example_weights: np.ndarray
    lengths: np.ndarray
    labels: tuple[str, ...]
    exclusive: bool
    network: Network | None = None
    groups: np.ndarray | None = None
    place: IndexPlace = field(default_factory=InMemory)
    names: FeatureNames | None = None
    vectors: DocumentVectors | None = None
    indexes: dict[IndexKey, NgramIndex | ItemIndex] | None = None

    @property
    def n_documents(self) -> int:
        return int(self.targets.shape[0])

    @property
    def largest_value(self) -> float:
        """The largest absolute value of a feature, 1 at the least. Only items that are not combined may exceed 1."""
        return max([1.0, *(float(np.abs(bags.values).max(initial=0.0)) for bags in self.bags.values())])

    @property
    def vocabularies(self) -> dict[str, Vocabulary]:
        """What the values of items are computed by, of the blocks that have values."""
        return {name: bags.vocabulary for name, bags in self.bags.items() if bags.vocabulary is not None}

    @property
    def has_negative_values(self) -> bool:
        """Whether a feature has a value below 0; only items that are not combined may have."""
        return any(bool((bags.values < 0.0).any()) for bags in self.bags.values())

    def of_labels(self, first: int, stop: int) -> TrainingData:
        """The same documents with the labels ``first .. stop`` alone, whose targets are not sparse."""
        targets = self.targets[:, first:stop]
        return replace(
            self,
            targets=targets if isinstance(targets, np.ndarray) else targets.toarray(),
            known=self.known[:, first:stop],
            labels=self.labels[first:stop],
        )

    @property
    def n_positive(self) -> int:
        """Labels that are positive in a document."""
        return int(np.count_nonzero(self.targets.sum(axis=0)))

    def without(self, blocks: Collection[str]) -> TrainingData:
        """The same documents without some blocks, among them all combinations of their items."""

        def others(by_block: Mapping[str, T]) -> dict[str, T]:
            return {name: value for name, value in by_block.items() if name not in blocks}

        return replace(
            self,
            streams=others(self.streams),
            bags=others(self.bags),
            combinations=others(self.combinations),
            min_df=others(self.min_df),
            max_length=others(self.max_length),
            penalty_factors=others(self.penalty_factors),
            vectors=None if self.vectors is not None and self.vectors.block in blocks else self.vectors,
        )

    def balanced(self, power: float) -> TrainingData:
        """Documents of rare labels weigh more: s_i Σ_y q_iy n_y^-power, scaled to the sum that they had.

        n_y is what label y's documents weigh together; at power 1, all labels do the same. For exclusive labels: others
        have no one label that a document belongs to.
        """
        if power == 0.0 or not self.exclusive:
            return self
        totals = self.example_weights @ self.targets
        factors = self.targets @ np.where(totals > 0.0, totals, 1.0) ** -power
        weights = self.example_weights * factors
        return replace(self, example_weights=weights * (self.example_weights.sum() / max(weights.sum(), 1e-300)))
