"""From training data to the feature space: an index for each block, and the items of combinations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar, cast

import numpy as np

from ..extract.bags import Bags
from ..extract.blocks import CombinationBlock
from ..extract.ends import without_ends
from ..heap import trim_heap
from ..index.items import ItemIndex
from ..index.ngrams import NgramIndex
from ..index.places import Dask, IndexPlace, OnDisk
from ..options import LARGEST_COUNT, LARGEST_FACTOR
from ..search.combinations import CombinationSearch
from ..search.on_cluster import ClusterSearch
from ..search.ranges import RangedSearch
from ..search.search import Search
from .data import IndexKey, TrainingData
from .network import Network
from .objective import Objective
from .parts import CombinationPart, IndexedPart, LockedPart, Part, Searches, VertexPart
from .penalty_weights import inverse_weights, label_weights
from .space import FeatureSpace, distinct_columns
from .steering import Index, Lock, LockedPairs, Steering

IndexT = TypeVar("IndexT", NgramIndex, ItemIndex)


def feature_space(
    objective: Objective, least_df: float = 0.0, search: Searches | None = None, is_searched: bool = True
) -> FeatureSpace:
    """Index all blocks.

    Features of no more than ``least_df`` documents per unit of the block's penalty factor are left out, whatever its
    ``min_df``. Where the factor of combinations is smaller, it takes the place of the block's: a combination with the
    column of an n-gram or item is not a feature, even if only the combination could enter. ``search`` makes what
    searches n-grams. A space that is not searched, but takes the features of a known model, has no 1 / λ.
    """
    data = objective.data
    if search is None:
        search = searches_in(data.place)
    cheapest = min((data.penalty_factors[name] for name in data.combinations), default=LARGEST_FACTOR)
    rarest = {
        name: int(min(least_df * min(factor, cheapest), LARGEST_COUNT - 1)) + 1
        for name, factor in data.penalty_factors.items()
    }
    min_df = {name: max(int(least), rarest[name]) for name, least in data.min_df.items()}
    indexes = indexes_of(data, min_df)
    factors = [data.penalty_factors[name] for name in indexes]
    steering = steering_of(objective, indexes)
    inverses = [
        inverse_weights(objective, factor, index, index.shortest if isinstance(index, NgramIndex) else None)
        if is_searched
        else np.empty((index.n_nodes, 0), np.float32)
        for factor, index in zip(factors, indexes.values(), strict=True)
    ]
    listed: list[IndexedPart] = [] if data.network is None else [*vertex_parts(data.network, objective, steering)]
    # A locked name is that of the block with the smallest penalty which has it.
    by_penalty = sorted(indexes, key=data.penalty_factors.__getitem__)
    locks = [] if steering is None else list(steering.locks(objective.problems, by_penalty))
    listed += locked_parts(locks, indexes, inverses)
    taken = np.concatenate([np.empty(0, np.int64), *(part.index.column_keys() for part in listed)])
    by_name = None if steering is None else steering.columns
    distinct = distinct_columns(list(indexes.values()), factors, taken, by_name)
    parts: list[Part] = [
        IndexedPart(
            name,
            index,
            inverse,
            features,
            min_df[name],
            search,
            None if steering is None else steering.lengths(name),
            data.place.empty,
        )
        for (name, index), inverse, features in zip(indexes.items(), inverses, distinct, strict=True)
    ]
    parts += listed
    locked_pairs = locked_pairs_of(locks, parts)
    for name, block in data.combinations.items():
        if steering is None or not steering.denies_products(name):
            parts.append(combination_part(name, block, indexes, objective, min_df[name], steering, taken))
    if steering is not None:
        steering.check_matches(data.n_documents, frozenset(data.min_df))
    space = FeatureSpace(parts, data.n_documents, locked_pairs, data.place.n_threads)
    if steering is not None:
        space.found = found_nodes(steering, parts)
    return space


def searches_in(place: IndexPlace) -> Searches:
    """What searches the indexes of a place."""
    if isinstance(place, Dask):
        return partial(ClusterSearch, place=place)
    return partial(RangedSearch, empty=place.empty) if isinstance(place, OnDisk) else Search


def found_nodes(steering: Steering, parts: Sequence[Part]) -> dict[tuple[str, str], tuple[int, int]]:
    """Where the features are that were looked for by their names."""
    return {
        (part.name, text): (b, node)
        for b, part in enumerate(parts[: len(steering.named)])
        for text, places in steering.named[part.name].nodes.items()
        for node, _ in reversed(places)  # of several, the first
        if len(part.missing(np.array([node])))
    }


def steering_of(objective: Objective, indexes: Mapping[str, Index]) -> Steering | None:
    """What the names of features are needed for, if they are."""
    constraints, names = objective.constraints, objective.data.names
    if names is None and constraints.names:
        raise ValueError("Constraints on names need training data with names: TrainingData(names=FeatureNames(...)).")
    if names is None or not (constraints.names or names.wanted):
        return None
    if constraints.locks and objective.network is not None:
        raise ValueError("Constraints: weights cannot be locked in training with a network. Remove one of them.")
    key = constraints, tuple(map(id, indexes.values()))
    if objective.data.indexes is None or key not in names.shared:
        names.shared.clear()  # frees the memory of other indexes
        names.shared[key] = Steering(constraints, names, indexes)
    return names.shared[key] if objective.data.indexes is not None else names.shared.pop(key)


def locked_parts(locks: list[Lock], indexes: Mapping[str, Index], inverses: Sequence[np.ndarray]) -> list[IndexedPart]:
    """The features whose weights are locked, by block."""
    inverse_of = dict(zip(indexes, inverses, strict=True))
    lengths: dict[str, dict[int, int]] = {}
    for lock in locks:
        lengths.setdefault(lock.block, {})[lock.node] = lock.length
    return [
        LockedPart(block, indexes[block], inverse_of[block], np.array(sorted(of_block)), of_block)
        for block, of_block in lengths.items()
    ]


def locked_pairs_of(locks: list[Lock], parts: Sequence[Part]) -> LockedPairs:
    """The locked pairs in the numbers of the parts; a ValueError if weights of one pair differ."""
    number = {part.name: b for b, part in enumerate(parts) if isinstance(part, LockedPart)}
    weights: dict[tuple[int, int, int], float] = {}
    for lock in locks:
        part = parts[number[lock.block]]
        assert isinstance(part, LockedPart)
        pair = number[lock.block], int(np.searchsorted(part.index.symbols, lock.node)), lock.label
        if weights.setdefault(pair, lock.weight) != lock.weight:
            raise ValueError(
                f"Constraints: a feature of the block {lock.block!r} is locked at two weights. Of two exclusive labels "
                f"the weight of one is minus that of the other: lock one of them."
            )
    blocks, nodes, labels = np.array(list(weights), np.int64).reshape(-1, 3).T
    return LockedPairs(blocks, nodes, labels, np.array(list(weights.values()), np.float64))


def vertex_parts(network: Network, objective: Objective, steering: Steering | None) -> list[VertexPart]:
    """The vertices of the network that are features, by block.

    Each is a feature of its own, whatever columns are equal: its neighbours distinguish it from others. A feature
    outside the network whose column is that of a vertex is the vertex by another name.
    """
    parts = []
    for name in dict.fromkeys(network.blocks.tolist()):
        chosen = np.flatnonzero(network.blocks == name)
        index = network.index.some(chosen)
        is_item = name in objective.data.bags
        lengths = None if is_item else np.array([len(symbols) for symbols in index.symbols], np.int32)
        inverse = inverse_weights(objective, objective.data.penalty_factors[name], index, lengths)
        part = VertexPart(name, index, inverse, chosen)
        if steering is not None:
            part.leave_out(steering.denied_names(name, index))
        parts.append(part)
    return parts


def indexes_of(data: TrainingData, min_df: Mapping[str, int]) -> dict[str, Index]:
    """The indexes of all blocks but combinations."""
    names = [name for name in min_df if name not in data.combinations]
    # The longest stream first, beside no other index: to build an index takes several times its memory.
    by_length = sorted(names, key=lambda name: -len(data.streams[name].symbols) if name in data.streams else 0)
    built = {name: index_of(data, name, min_df[name]) for name in by_length}
    return {name: built[name] for name in names}


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
    known = {} if data.indexes is None else data.indexes
    if key not in known:
        known[key] = build()
        trim_heap()
    return cast("IndexT", known[key])


def combination_part(
    name: str,
    block: CombinationBlock,
    indexes: Mapping[str, Index],
    objective: Objective,
    min_df: int,
    steering: Steering | None,
    keys_of_listed: np.ndarray,
) -> CombinationPart:
    """The products of the items of some blocks. Of items with equal columns the first few stand for all.

    No product may have a column of the indexes, a vertex or a locked feature; ``keys_of_listed`` are the keys of the
    columns of vertices and locked features: int64.
    """
    data = objective.data
    all_items = {of: item_index_of(data, of, min_df) for of in block.of}
    by_block = all_items
    if steering is None:
        taken = [keys_of_listed, *(index.column_keys() for index in [*indexes.values(), *by_block.values()])]
    else:
        by_block = {of: index.some(steering.allowed_items(of, index)) for of, index in all_items.items()}
        taken = [keys_of_listed, steering.taken, *(index.column_keys() for index in by_block.values())]
    search = CombinationSearch(
        ItemIndex.concatenated(list(by_block.values()), block.degree), np.concatenate(taken),
        label_weights(objective, data.penalty_factors[name]), block.degree, min_df,
    )  # fmt: skip
    for keys in steering.denied_products(all_items) if steering is not None else ():
        search.leave_out(keys)
    return CombinationPart(name, search, {of: index.symbols for of, index in by_block.items()})


def items_of(data: TrainingData, block: str) -> Bags:
    """What a block has to combine: its items, or the single symbols of its stream."""
    if block in data.bags:
        return data.bags[block]
    return Bags.of_stream(without_ends(data.streams[block]), data.min_df[block])
