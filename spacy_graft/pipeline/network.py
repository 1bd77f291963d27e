"""Builds the network of a training corpus's features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeGuard

import numpy as np
from scipy import sparse
from spacy.strings import StringStore

from ..extract.bags import Bags
from ..extract.blocks import Block, ItemBlock, NgramBlock, is_item_block, is_ngram_block, least_documents
from ..extract.ends import without_ends
from ..extract.streams import Stream, stream_of
from ..extract.unread import read_symbols
from ..graft.data import TrainingData
from ..graft.network import NamedFeatures, Network, NetworkBuilder
from ..graphs.vocabulary import Vertex
from ..index.ngrams import NgramIndex
from ..messages import listed, warn
from ..vectors.word_scores import found_rows
from .corpus import DocPair

#: Vertices, symbols (an array for each) and presence of the features of a block.
VertexFeatures = tuple[tuple[Vertex, ...], list[np.ndarray], sparse.csc_array]


@dataclass(frozen=True)
class NetworkSource:
    """Builds the network of a component's features for any training corpus.

    Possible vertices are the n-grams of up to ``max_length`` tokens in blocks of token n-grams, and the items of blocks
    of token attributes. If blocks have a feature with the same name, it is the feature of the first block.
    Documents without labels are passed to the builder like others and count for ``min_df``, so that features without a
    training document can be vertices. (Except for items whose values depend on their frequency in training.)
    Where ``min_df`` is None, words of one document are vertices only if neither the training documents nor they are
    many (:func:`.blocks.least_documents`).

    Memory: a Python object for each vertex, and 12 bytes for each document of each vertex.

    Parameters
    ----------
    component : str
        Its name, for messages.
    builder : callable
        From ``@graft_graphs``.
    max_length : int
        Length of the longest n-gram that can be a vertex, in tokens.
    blocks : mapping of str to block
    strings : StringStore
    unlabelled : callable, optional
        Returns examples without labels.
    """

    component: str
    builder: NetworkBuilder
    max_length: int
    blocks: Mapping[str, Block]
    strings: StringStore
    unlabelled: Callable[[], Iterable[DocPair]] | None

    def __post_init__(self) -> None:
        options = f"[initialize.components.{self.component}]"
        if not callable(self.builder):
            raise ValueError(
                f"[{self.component}] The network is {self.builder!r}. Make it with one of @graft_graphs ({options} "
                f"network)."
            )
        if not any(has_vertices(block) for block in self.blocks.values()):
            raise ValueError(
                f"[{self.component}] A network links features of blocks of token n-grams or attributes, but there is "
                f"no such block. The blocks: {listed(self.blocks)}."
            )

    def __call__(self, data: TrainingData, streams: Mapping[str, Stream]) -> Network:
        """Return the network over the features of a corpus, of which ``streams`` has all symbols by block.

        Exceptions of the builder are passed on.
        """
        parts = [self._features(name, block, data, streams[name]) for name, block in self.vertex_blocks.items()]
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
    def unlabelled_streams(self) -> dict[str, Stream]:
        """The symbols of the documents without labels, by block."""
        symbols: dict[str, list[np.ndarray]] = {name: [] for name in self.vertex_blocks}
        for example in self.unlabelled() if self.unlabelled is not None else ():
            for name, block in self.vertex_blocks.items():
                symbols[name].append(read_symbols(block, example.predicted))
        if self.unlabelled is not None and not any(symbols.values()):
            warn(f"[{self.component}] There are no documents without labels for the network: unlabelled is empty.")
        return {name: stream_of(self.vertex_blocks[name], parts) for name, parts in symbols.items()}

    def _features(
        self, name: str, block: NgramBlock | ItemBlock, data: TrainingData, training_stream: Stream
    ) -> NamedFeatures:
        unlabelled = self.unlabelled_streams[name]
        stream = Stream.concatenated([training_stream, unlabelled])
        if is_ngram_block(block):
            # A small corpus may have many documents without labels, and these many words of one document.
            least = least_documents(block, unlabelled.n_documents, len(unlabelled.symbols))
            vertices, symbols, presence = self._ngrams(block, stream, max(data.min_df[name], least))
        else:
            assert is_item_block(block)
            if block.value == "binary":
                bags = [Bags.of_stream(stream, block.min_df)]
            else:
                bags = [data.bags[name], Bags.of_stream(unlabelled)]
            vertices, symbols, presence = self._items(block, bags)
        # Of rows of one length, np.array would make a matrix.
        of_block, arrays = np.full(len(vertices), name, object), np.fromiter(symbols, object, len(symbols))
        return NamedFeatures(vertices, of_block, arrays, presence)

    def _ngrams(self, block: NgramBlock, stream: Stream, min_df: int) -> VertexFeatures:
        longest = min(self.max_length, block.max_length or self.max_length)
        index = NgramIndex.build(without_ends(stream), min_df, longest)
        names = ("", *block.names(index.alphabet[1:], self.strings))
        nodes, ranks = [], []
        for node, ngram in ngrams_of(index):
            nodes.append(node)
            ranks.append(ngram)
        vertices = tuple(tuple(names[rank] for rank in ngram.tolist()) for ngram in ranks)
        starts, documents, _ = index.columns(np.array(nodes, np.int64))
        shape = (stream.n_documents, len(nodes))
        presence = sparse.csc_array((np.ones(len(documents)), documents, starts), shape=shape)
        return vertices, [index.alphabet[ngram] for ngram in ranks], presence

    def _items(self, block: ItemBlock, bags: Sequence[Bags]) -> VertexFeatures:
        """The items of the first bags, in all of them."""
        symbols = bags[0].symbols.reshape(-1)
        parts = [presence_of(part, found_rows(part.symbols.reshape(-1), symbols), len(symbols)) for part in bags]
        items = symbols.reshape(-1, 1)
        vertices = tuple(vertex_of(block.names(item, self.strings)) for item in items)
        return vertices, list(items), sparse.vstack(parts, format="csc")


def has_vertices(block: Block) -> TypeGuard[NgramBlock | ItemBlock]:
    """Whether features of a block can be vertices: n-grams of tokens, or items of one symbol."""
    if is_ngram_block(block):
        return block.dtype is np.uint64
    return is_item_block(block) and block.width == 1


def ngrams_of(index: NgramIndex) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the node of each n-gram of an index, and the n-gram as ranks in the alphabet."""
    shortest, longest, starts = index.shortest.tolist(), index.longest.tolist(), index.places.tolist()
    for node, (low, high, start) in enumerate(zip(shortest, longest, starts, strict=True)):
        for length in range(low, high + 1):
            yield node, index.symbols[start : start + length]


def vertex_of(names: tuple[str, ...]) -> Vertex:
    """The vertex of an item. A value such as ``film NOUN`` of an extension attribute becomes two symbols."""
    return tuple(part for name in names for part in name.split()) or names


def presence_of(bags: Bags, positions: np.ndarray, n_features: int) -> sparse.csr_array:
    """Values by document: float64 (n_documents, n_features).

    The values of item ``k`` are in column ``positions[k]``; they are left out if that is −1.
    """
    columns = positions[bags.items]
    kept = columns >= 0
    rows = np.repeat(np.arange(bags.n_documents), np.diff(bags.starts))
    values = bags.values if len(bags.values) else np.ones(len(columns))
    return sparse.csr_array((values[kept], (rows[kept], columns[kept])), shape=(bags.n_documents, n_features))
