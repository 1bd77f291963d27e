"""From training data to the feature space: an index for each block, and the items of combinations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar, cast

import numpy as np

from ..extract.bags import Bags
from ..extract.blocks import CombinationBlock
from ..index.items import ItemIndex
from ..index.ngrams import NgramIndex
from ..search.combinations import CombinationSearch
from ..search.search import Search
from .data import IndexKey, TrainingData
from .network import Network
from .objective import Objective
from .parts import CombinationPart, IndexedPart, Part, VertexPart
from .penalty_weights import inverse_weights, label_weights
from .space import FeatureSpace, distinct_columns

Index = NgramIndex | ItemIndex
IndexT = TypeVar("IndexT", NgramIndex, ItemIndex)


def feature_space(objective: Objective, least_df: float = 0.0, search: type[Search] = Search) -> FeatureSpace:
    """Index all blocks.

    Parameters
    ----------
    objective : Objective
    least_df : float
        Features of no more documents per unit of the block's penalty factor are left out, whatever its ``min_df``.
    search : type
        How n-grams are searched.
    """
    data = objective.data
    min_df = {name: max(least, int(least_df * data.penalty_factors[name]) + 1) for name, least in data.min_df.items()}
    indexes = {name: index_of(data, name, min_df[name]) for name in min_df if name not in data.combinations}
    factors = [data.penalty_factors[name] for name in indexes]
    vertices = [] if data.network is None else vertex_parts(data.network, objective)
    taken = np.concatenate([np.empty(0, np.int64), *(part.index.column_keys() for part in vertices)])
    parts: list[Part] = [
        IndexedPart(name, index, inverse_weights(objective, factor, index), distinct, min_df[name], search)
        for (name, index), factor, distinct in zip(
            indexes.items(), factors, distinct_columns(list(indexes.values()), factors, taken), strict=True
        )
    ]
    parts += vertices
    for name, block in data.combinations.items():
        parts.append(combination_part(name, block, indexes, objective, min_df[name]))
    return FeatureSpace(parts, data.place.n_threads)


def vertex_parts(network: Network, objective: Objective) -> list[VertexPart]:
    """The vertices of the network that are features, by block.

    Each is a feature of its own, whatever columns are equal: its neighbours distinguish it from others. A feature
    outside the network whose column is that of a vertex is the vertex by another name.
    """
    parts = []
    for name in dict.fromkeys(network.blocks.tolist()):
        chosen = np.flatnonzero(network.blocks == name)
        index = network.index.some(chosen)
        inverse = inverse_weights(objective, objective.data.penalty_factors[name], index)
        parts.append(VertexPart(name, index, inverse, chosen))
    return parts


def index_of(data: TrainingData, name: str, min_df: int) -> Index:
    """The index of a block of n-grams or items."""
    if name in data.bags:
        return item_index_of(data, name, min_df)
    stream, max_length = data.streams[name], data.max_length[name]
    return shared(data, (name, False, min_df), lambda: data.place.index(stream, min_df, max_length))


def item_index_of(data: TrainingData, name: str, min_df: int) -> ItemIndex:
    """The index of the items of a block, or of the single symbols of its stream."""
    return shared(data, (name, True, min_df), lambda: ItemIndex.build(items_of(data, name), min_df))


def shared(data: TrainingData, key: IndexKey, build: Callable[[], IndexT]) -> IndexT:
    """An index that is built, or has been for another fit of the same documents."""
    if data.indexes is None:
        return build()
    if key not in data.indexes:
        data.indexes[key] = build()
    return cast("IndexT", data.indexes[key])


def combination_part(
    name: str, block: CombinationBlock, indexes: Mapping[str, Index], objective: Objective, min_df: int
) -> CombinationPart:
    """The products of the items of some blocks. Of items with equal columns the first few stand for all."""
    data = objective.data
    by_block = {of: item_index_of(data, of, min_df) for of in block.of}
    taken = [np.empty(0, np.int64), *(index.column_keys() for index in [*indexes.values(), *by_block.values()])]
    search = CombinationSearch(
        ItemIndex.concatenated(list(by_block.values()), block.degree), np.concatenate(taken),
        label_weights(objective, data.penalty_factors[name]), block.degree, min_df,
    )  # fmt: skip
    return CombinationPart(name, search, {of: index.symbols for of, index in by_block.items()})


def items_of(data: TrainingData, block: str) -> Bags:
    """What a block has to combine: its items, or the single symbols of its stream."""
    if block in data.bags:
        return data.bags[block]
    return Bags.of_stream(data.streams[block], data.min_df[block])
