"""From a builder of graphs and a training corpus to a network of its features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np
from scipy import sparse
from spacy.strings import StringStore
from spacy.training import Example

from ..extract.bags import Bags
from ..extract.blocks import Block, NgramBlock, is_item_block, is_ngram_block
from ..extract.items import ItemBlock
from ..extract.streams import Stream, stream_of
from ..graft.data import TrainingData
from ..graft.network import NamedFeatures, Network, NetworkBuilder
from ..graphs.vocabulary import Vertex
from ..index.ngrams import NgramIndex

#: Names, symbols (an array each) and presence of the features of a block.
Named = tuple[tuple[Vertex, ...], list[np.ndarray], sparse.csc_array]


@dataclass(frozen=True)
class NetworkSource:
    """Builds the network of a component's features, whatever documents it is trained on.

    The vertices that a builder may choose from are the n-grams of up to ``max_length`` tokens of the blocks of token
    n-grams, and the items of the blocks of token attributes. Where blocks share a name, it is that of the first.
    Documents without labels count like others for what a builder sees, and for ``min_df``: they can bring features that
    no training document has. (Not items whose values depend on how rare they are in training; and an item that fewer
    training documents have than ``min_df`` counts as one that none has.)

    Memory: an object a name; 12 bytes a document of each.

    Parameters
    ----------
    component : str
    builder : callable
    max_length : int
        Longest n-gram that can be a vertex, in tokens.
    blocks : mapping of str to block
    strings : StringStore
    unlabelled : callable, optional
        Gives documents without labels.
    """

    component: str
    builder: NetworkBuilder
    max_length: int
    blocks: Mapping[str, Block]
    strings: StringStore
    unlabelled: Callable[[], Iterable[Example]] | None = None

    def __post_init__(self) -> None:
        options = f"[initialize.components.{self.component}]"
        if not callable(self.builder):
            raise ValueError(
                f"[{self.component}] The network is {self.builder!r}, and none of what @graft_graphs make ({options} "
                f"network)."
            )
        max_length: Any = self.max_length
        if not isinstance(max_length, int) or max_length < 1:
            raise ValueError(
                f"[{self.component}] network_max_length must be an integer of at least 1, but is {max_length!r} "
                f"({options})."
            )
        if not any(has_vertices(block) for block in self.blocks.values()):
            raise ValueError(
                f"[{self.component}] A network joins features of blocks of token n-grams or attributes, but there is "
                f"no such block. The blocks: {', '.join(map(repr, self.blocks))}."
            )

    def __call__(self, data: TrainingData) -> Network:
        """Return the network over the features of a corpus; what the builder raises is passed on."""
        parts = [self._features(name, block, data) for name, block in self.vertex_blocks.items()]
        first: dict[Vertex, int] = {}
        for number, vertex in enumerate(vertex for part in parts for vertex in part.vertices):
            first.setdefault(vertex, number)
        chosen = np.array(list(first.values()), np.int64)
        features = NamedFeatures(
            tuple(first),
            np.concatenate([part.blocks for part in parts])[chosen],
            np.concatenate([part.symbols for part in parts])[chosen],
            sparse.csc_array(sparse.hstack([part.presence for part in parts], format="csc")[:, chosen]),
        )
        return Network.built(self.builder, features, data.n_documents)

    @property
    def vertex_blocks(self) -> dict[str, NgramBlock | ItemBlock]:
        """The blocks whose features can be vertices."""
        return {name: block for name, block in self.blocks.items() if has_vertices(block)}

    @cached_property
    def more(self) -> dict[str, Stream]:
        """The symbols of the documents without labels, by block."""
        symbols: dict[str, list[np.ndarray]] = {name: [] for name in self.vertex_blocks}
        for example in self.unlabelled() if self.unlabelled is not None else ():
            for name, block in self.vertex_blocks.items():
                block.check(example.predicted)
                symbols[name].append(block.symbols(example.predicted))
        return {name: stream_of(self.vertex_blocks[name], its) for name, its in symbols.items()}

    def _features(self, name: str, block: NgramBlock | ItemBlock, data: TrainingData) -> NamedFeatures:
        if is_ngram_block(block):
            vertices, symbols, presence = self._ngrams(block, data.streams[name].followed_by(self.more[name]))
        else:
            assert is_item_block(block)
            vertices, symbols, presence = self._items(block, data.bags[name], self.more[name])
        return NamedFeatures(vertices, np.full(len(vertices), name, object), as_objects(symbols), presence)

    def _ngrams(self, block: NgramBlock, stream: Stream) -> Named:
        longest = min(self.max_length, block.max_length or self.max_length)
        index = NgramIndex.build(stream, block.min_df, longest)
        names = ("", *block.names(index.alphabet[1:], self.strings))
        nodes, ranks = [], []
        for node, its in ngrams_of(index):
            nodes.append(node)
            ranks.append(its)
        vertices = tuple(tuple(names[rank] for rank in its.tolist()) for its in ranks)
        starts, documents, _ = index.columns(np.array(nodes, np.int64))
        shape = (stream.n_documents, len(nodes))
        presence = sparse.csc_array((np.ones(len(documents)), documents, starts), shape=shape)
        return vertices, [index.alphabet[its] for its in ranks], presence

    def _items(self, block: ItemBlock, bags: Bags, more: Stream) -> Named:
        unlabelled = Bags.of_stream(more)
        symbols, others = bags.symbols.reshape(-1), unlabelled.symbols.reshape(-1)
        if block.value == "binary":
            frequent = unlabelled.df >= block.min_df
            symbols = np.concatenate([symbols, np.setdiff1d(others[frequent], symbols)])
        presence = sparse.vstack(
            [presence_of(bags, placed(bags.symbols.reshape(-1), symbols), len(symbols)),
             presence_of(unlabelled, placed(others, symbols), len(symbols))],
            format="csc",
        )  # fmt: skip
        each = symbols.reshape(-1, 1)
        return tuple(vertex_of(block.names(its, self.strings)) for its in each), list(each), presence


def has_vertices(block: Block) -> TypeGuard[NgramBlock | ItemBlock]:
    """Whether features of a block can be vertices: n-grams of tokens, or items of one symbol."""
    if is_ngram_block(block):
        return block.dtype is np.uint64
    return is_item_block(block) and block.width == 1


def ngrams_of(index: NgramIndex) -> Iterator[tuple[int, np.ndarray]]:
    """All n-grams of an index as ranks in its alphabet, each with its node; those of one node share their documents."""
    shortest, longest, places = index.shortest.tolist(), index.longest.tolist(), index.nodes[:, 3].tolist()
    for node, (least, most, place) in enumerate(zip(shortest, longest, places, strict=True)):
        for length in range(least, most + 1):
            yield node, index.symbols[place : place + length]


def vertex_of(names: tuple[str, ...]) -> Vertex:
    """The name of a vertex: a value like ``film NOUN``, of an extension attribute, is a word and its part of speech."""
    return tuple(part for name in names for part in name.split()) or names


def placed(symbols: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Where each symbol is among others, −1 if it is not: int64."""
    if not len(among):
        return np.full(len(symbols), -1)
    order = np.argsort(among)
    places = order[np.minimum(np.searchsorted(among[order], symbols), len(among) - 1)]
    return np.where(among[places] == symbols, places, -1)


def presence_of(bags: Bags, places: np.ndarray, n_features: int) -> sparse.csr_array:
    """Values by document, those of item ``k`` in column ``places[k]`` or left out: float64 (documents, n_features)."""
    columns = places[bags.items]
    kept = columns >= 0
    rows = np.repeat(np.arange(bags.n_documents), np.diff(bags.starts))
    values = bags.values if len(bags.values) else np.ones(len(columns))
    return sparse.csr_array((values[kept], (rows[kept], columns[kept])), shape=(bags.n_documents, n_features))


def as_objects(values: Sequence[object]) -> np.ndarray:
    """A 1-D array of Python objects, which may be arrays themselves."""
    return np.fromiter(values, object, len(values))
