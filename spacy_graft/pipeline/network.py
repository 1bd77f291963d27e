"""From a builder of graphs and a training corpus to a network of its features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from spacy.strings import StringStore

from ..extract.blocks import NgramBlock
from ..extract.items import ItemBlock
from ..graft.data import TrainingData
from ..graft.network import Network, NetworkBuilder
from ..index.columns import Columns, joined
from ..index.items import ItemIndex
from ..index.ngrams import NgramIndex
from ..model.matching import Block, is_item_block, is_ngram_block
from ..networks.vocabulary import Vertex


@dataclass(frozen=True)
class Named:
    """Features of one block by name, with their symbols (one array each) and columns."""

    block: str
    vertices: list[Vertex]
    symbols: list[np.ndarray]
    columns: Columns


@dataclass(frozen=True)
class NetworkSource:
    """Builds the network of a component's features, whatever documents it is trained on.

    The vertices that a builder may choose from are the n-grams of up to ``max_length`` tokens of the blocks of token
    n-grams, and the items of the blocks of token attributes. Where blocks share a name, it is that of the first.

    Memory: an object a name; 4 bytes a document of each.

    Parameters
    ----------
    component : str
    builder : callable
    max_length : int
        Longest n-gram that can be a vertex, in tokens.
    blocks : mapping of str to block
    strings : StringStore
    """

    component: str
    builder: NetworkBuilder
    max_length: int
    blocks: Mapping[str, Block]
    strings: StringStore

    def __post_init__(self) -> None:
        options = f"[initialize.components.{self.component}]"
        if not callable(self.builder):
            raise ValueError(
                f"[{self.component}] The network is {self.builder!r}, and none of what @graft_networks make ({options} "
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
        parts = [self._named(name, block, data) for name, block in self.blocks.items() if has_vertices(block)]
        first: dict[Vertex, int] = {}
        for number, vertex in enumerate(vertex for part in parts for vertex in part.vertices):
            first.setdefault(vertex, number)
        numbers = np.array(list(first.values()), np.int64)
        symbols = as_objects([its for part in parts for its in part.symbols])
        blocks = as_objects([part.block for part in parts for _ in part.vertices])
        index = ItemIndex(symbols, *joined([part.columns for part in parts]), data.n_documents)
        return Network.built(self.builder, list(first), blocks[numbers], index.some(numbers))

    def _named(self, name: str, block: NgramBlock | ItemBlock, data: TrainingData) -> Named:
        if is_ngram_block(block):
            longest = min(self.max_length, block.max_length or self.max_length)
            return self._of_ngrams(name, block, NgramIndex.build(data.streams[name], block.min_df, longest))
        assert is_item_block(block)
        return self._of_items(name, block, ItemIndex.build(data.bags[name], block.min_df))

    def _of_ngrams(self, name: str, block: NgramBlock, index: NgramIndex) -> Named:
        names = ("", *block.names(index.alphabet[1:], self.strings))
        nodes, ranks = [], []
        for node, its in ngrams_of(index):
            nodes.append(node)
            ranks.append(its)
        vertices = [tuple(names[rank] for rank in its.tolist()) for its in ranks]
        return Named(name, vertices, [index.alphabet[its] for its in ranks], index.columns(np.array(nodes, np.int64)))

    def _of_items(self, name: str, block: ItemBlock, index: ItemIndex) -> Named:
        symbols = [index.ngram(node) for node in range(index.n_nodes)]
        vertices = [block.names(its, self.strings) for its in symbols]
        return Named(name, vertices, symbols, index.columns(np.arange(index.n_nodes)))


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


def as_objects(values: Sequence[object]) -> np.ndarray:
    """A 1-D array of Python objects, which may be arrays themselves."""
    return np.fromiter(values, object, len(values))
