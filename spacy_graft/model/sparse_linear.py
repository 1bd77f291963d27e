"""The model as thinc sees it: scores of documents, weights, bytes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model, NumpyOps
from thinc.types import Floats1d, Floats2d

from ..extract.blocks import Block, ReadingBlock
from ..extract.lengths import WORDS, document_length, document_lengths, reads_words
from ..extract.streams import Stream, stream_of
from ..extract.terms import NamedTerm
from .loading import check_message, check_shapes
from .matching import Blocks, Compiled, Matcher
from .products import add_scores
from .table import FeatureTable, Vocabularies, unpacked

if TYPE_CHECKING:
    from spacy.strings import StringStore

    from ..extract.terms import SymbolTerm
    from ..graft.solution import Solution

SparseLinearT = Model[list[Doc], np.ndarray]


class SparseLinearModel(Model[list[Doc], np.ndarray]):
    """A thinc model that looks through what it is to load first: it takes over all of it or nothing."""

    def from_bytes(self, bytes_data: bytes) -> SparseLinearModel:
        """Load what ``to_bytes`` wrote. Nothing in it is executed.

        Raises
        ------
        ValueError
            If the bytes are damaged, those of another model or of a newer version, or do not fit the blocks.
        """
        return self.from_dict(unpacked(bytes_data))

    def from_dict(self, msg: dict[str, Any]) -> SparseLinearModel:
        """Load what ``to_dict`` gave, as :meth:`from_bytes`."""
        check_message(msg, self.attrs["blocks"])
        self.attrs["vocabularies"] = Vocabularies()
        super().from_dict(msg)
        return self

    def _copy(self, seen: dict[int, Any] | None = None) -> SparseLinearModel:
        return SparseLinear(self.attrs["blocks"]).from_dict(self.to_dict())


@registry.architectures("spacy_graft.SparseLinear.v1")
def SparseLinear(blocks: dict[str, Any]) -> SparseLinearModel:
    """Linear model over what documents have: f_i = b + a_i Σ_k W_k φ_k(i).

    φ is 1 for an n-gram that is in the document and 0 else, of an item what it is worth there, of a combination the
    product of its members.

    Input are documents, output the scores of labels: float64 (n_documents, n_labels). Sums are made in an order that
    depends on nothing but the document, so scores are the same to the last bit in any batch and after loading.

    The model is not trained by gradients but given weights by :func:`set_solution`; until then it has no features, and
    after ``model.initialize(Y=...)`` all scores are 0.

    Parameters
    ----------
    blocks : dict of str to NgramBlock
        What features are made of; they come from the config and are not saved. (Any: spaCy looks at the types of a
        config before it makes the blocks.)

    Notes
    -----
    Parameters ``W``, float64 (n_features, n_labels), and ``b``, float64 (n_labels). Attributes ``features`` (a
    :class:`~spacy_graft.model.table.FeatureTable`), ``vocabularies`` of the blocks whose items' values depend on one,
    and ``mean_scale``: a_i is ``mean_scale / sqrt(document length)``, or 1 if it is 0.
    """
    return SparseLinearModel(
        "sparse_linear",
        forward,
        init=init,
        params={"W": None, "b": None},
        attrs={
            "blocks": Blocks(blocks),
            "matcher": Matcher(),
            "features": FeatureTable.empty(),
            "vocabularies": Vocabularies(),
            "mean_scale": 0.0,
        },
        ops=NumpyOps(),
    )


def init(model: SparseLinearT, X: Any = None, Y: np.ndarray | None = None) -> None:
    """Remove all features; ``Y``, float (n, n_labels), tells the number of labels."""
    if Y is not None:
        set_weights(model, FeatureTable.empty(), np.zeros((0, Y.shape[1])), np.zeros(Y.shape[1]), 0.0)


def forward(model: SparseLinearT, docs: list[Doc], is_train: bool) -> tuple[np.ndarray, Callable[[Any], list[Any]]]:
    """Return scores; the callback does nothing, for there is nothing that a gradient would change."""
    return scores(model, docs), lambda d_scores: []


def set_solution(model: SparseLinearT, solution: Solution, strings: StringStore) -> None:
    """Give the model the features and weights that training found.

    Parameters
    ----------
    model : Model
        A ``spacy_graft.SparseLinear.v1``.
    solution : Solution
        Its arrays are copied.
    strings : StringStore
        That of the vocab of the training documents.
    """
    blocks: Blocks = model.attrs["blocks"]

    def named(terms: Sequence[SymbolTerm]) -> tuple[NamedTerm, ...]:
        return tuple(NamedTerm(term.block, reading(blocks[term.block]).names(term.symbols, strings)) for term in terms)

    terms, longest = [named(of_feature) for of_feature in solution.terms], map(named, solution.longest)
    features = FeatureTable(
        tuple(solution.blocks),
        tuple(its[0].symbols if len(its) == 1 else () for its in terms),
        tuple(its[0].symbols if len(its) == 1 else () for its in longest),
        tuple(its if len(its) > 1 else () for its in terms),
        np.array(solution.df, np.int32),
    )
    set_weights(model, features, solution.weights, solution.intercepts, solution.mean_scale)
    model.attrs["vocabularies"] = Vocabularies(solution.vocabularies)


def set_weights(
    model: SparseLinearT, features: FeatureTable, weights: np.ndarray, intercepts: np.ndarray, mean_scale: float
) -> None:
    """Give the model features and weights, which are copied."""
    check_shapes(features, weights, intercepts)
    model.attrs["features"] = features
    model.attrs["mean_scale"] = float(mean_scale)
    model.attrs["vocabularies"] = Vocabularies()
    model.set_param("W", cast(Floats2d, np.array(weights, np.float64, order="C")))
    model.set_param("b", cast(Floats1d, np.array(intercepts, np.float64)))


def scores(model: SparseLinearT, docs: Sequence[Doc]) -> np.ndarray:
    """Return the scores of all labels: float64 (n_documents, n_labels)."""
    weights, intercepts = parameters(model)
    mean_scale: float = model.attrs["mean_scale"]
    blocks: Blocks = model.attrs["blocks"]
    totals = np.zeros((len(docs), len(intercepts)))
    if not docs:
        return totals
    its = compiled(model, docs[0])
    readers = reading_blocks(blocks, its)
    words = next((block for block in readers.values() if reads_words(block)), WORDS)
    streams = read([*readers.values(), words] if mean_scale else readers.values(), docs)
    for name, automaton in its.automata.items():
        automaton.add_scores(streams[readers[name]], weights, totals)
    if its.products.tables:
        by_name = {name: streams[readers[name]] for name in its.products.tables}
        add_scores(its.products.found(by_name, blocks, model.attrs["vocabularies"]), weights, totals)
    if mean_scale:
        totals *= (mean_scale / np.sqrt(document_lengths(streams[words])))[:, np.newaxis]
    return intercepts + totals


def matches(model: SparseLinearT, doc: Doc) -> np.ndarray:
    """Return every occurrence of every n-gram in a document.

    Returns
    -------
    int64 (n_occurrences, 3)
        The feature, and the first symbol and the symbol behind the last one in the stream of its block, whose
        ``offsets`` tell the characters. Block by block, in the order of ends.
    """
    found = [np.empty((0, 3), np.int64)]
    its = compiled(model, doc)
    blocks = reading_blocks(model.attrs["blocks"], its)
    for name, automaton in its.automata.items():
        found.append(automaton.occurrences(read([blocks[name]], [doc])[blocks[name]].symbols))
    return np.concatenate(found)


def products(model: SparseLinearT, doc: Doc) -> tuple[np.ndarray, np.ndarray]:
    """Return the items and combinations of a document (int64 rows, ascending), and what they are worth (float64)."""
    its = compiled(model, doc).products
    if not its.tables:
        return np.empty(0, np.int64), np.empty(0)
    blocks: Blocks = model.attrs["blocks"]
    streams = {name: read([reading(blocks[name])], [doc])[reading(blocks[name])] for name in its.tables}
    _, rows, values = its.found(streams, blocks, model.attrs["vocabularies"])
    order = np.argsort(rows)
    return rows[order], values[order]


def contributions(model: SparseLinearT, doc: Doc) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Take the scores of a document apart: they are ``b + scale * values @ weights``.

    Returns
    -------
    features : int64 (n)
        The features that the document has, in ascending order.
    values : float64 (n)
        What they are worth in it, but for the document weight.
    weights : float64 (n, n_labels)
        Their weights.
    scale : float
        The document weight.
    """
    ngrams = np.unique(matches(model, doc)[:, 0])
    others, values = products(model, doc)
    features = np.concatenate([ngrams, others])
    values = np.concatenate([np.ones(len(ngrams)), values])
    order = np.argsort(features)
    features, values = features[order], values[order]
    mean_scale: float = model.attrs["mean_scale"]
    scale = mean_scale / math.sqrt(document_length(doc)) if mean_scale else 1.0
    return features, values, parameters(model)[0][features], scale


def parameters(model: SparseLinearT) -> tuple[np.ndarray, np.ndarray]:
    """Return ``W`` and ``b`` as the kernels read them.

    Raises
    ------
    ValueError
        If there are none, or they are not those of the features.
    """
    if not (model.has_param("W") and model.has_param("b")):
        raise ValueError(f"The model {model.name!r} has no weights yet: train it, or load a trained one.")
    weights = np.ascontiguousarray(model.get_param("W"), np.float64)
    intercepts = np.asarray(model.get_param("b"), np.float64)
    check_shapes(model.attrs["features"], weights, intercepts)
    return weights, intercepts


def compiled(model: SparseLinearT, doc: Doc) -> Compiled:
    """Return what the model's features are matched with in the vocab of a document."""
    matcher: Matcher = model.attrs["matcher"]
    return matcher.compiled(model.attrs["features"], model.attrs["blocks"], doc.vocab.strings)


def reading_blocks(blocks: Blocks, its: Compiled) -> dict[str, ReadingBlock]:
    """Return the blocks that read documents for some feature."""
    return {name: reading(blocks[name]) for name in dict.fromkeys([*its.automata, *its.products.tables])}


def reading(block: Block) -> ReadingBlock:
    """Return a block of which it is known that it reads documents."""
    return cast("ReadingBlock", block)


def read(blocks: Iterable[ReadingBlock], docs: Sequence[Doc]) -> dict[ReadingBlock, Stream]:
    """Return the symbols of documents, which must have the annotations that the blocks need.

    A document is read for all blocks before the next, while it is in the cache of the processor.
    """
    parts: dict[ReadingBlock, list[np.ndarray]] = {block: [] for block in blocks}
    for doc in docs:
        for block, symbols in parts.items():
            block.check(doc)
            symbols.append(block.symbols(doc))
    return {block: stream_of(block, symbols) for block, symbols in parts.items()}
