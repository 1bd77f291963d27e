"""The thinc model: scores of documents, weights, serialisation."""

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
from .item_matching import add_item_scores
from .loading import check_message, check_shapes
from .matching import Blocks, CompiledFeatures, Matcher
from .table import FeatureTable, Vocabularies, unpack_message

if TYPE_CHECKING:
    from spacy.strings import StringStore

    from ..extract.terms import SymbolTerm
    from ..graft.solution import Solution

SparseLinearT = Model[list[Doc], np.ndarray]


class SparseLinearModel(Model[list[Doc], np.ndarray]):
    """A thinc model that checks everything before it loads anything."""

    def from_bytes(self, bytes_data: bytes) -> SparseLinearModel:
        """Load what ``to_bytes`` wrote. Nothing in it is executed.

        Raises
        ------
        ValueError
            If the bytes are damaged, of another model or of a newer version, or do not fit the blocks.
        """
        return self.from_dict(unpack_message(bytes_data))

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
    """Linear model over the features of documents: f_i = b + a_i Σ_k W_k x_ik.

    x_ik is 1 if the document has the n-gram k and else 0; for an item it is its value there, for a combination the
    product of the values of its members. a_i is the document weight.

    The input is a list of documents, the output the scores of labels: float64 (n_documents, n_labels). The order of
    sums depends only on the document, so scores are the same bits in any batch and after loading.

    The model is not trained by gradients; :func:`set_solution` sets its weights. Before that it has no features, and
    after ``model.initialize(Y=...)`` all scores are 0.

    Parameters
    ----------
    blocks : dict of str to NgramBlock
        The feature blocks; they come from the config and are not saved. (``Any``, because spaCy checks the types of a
        config before it makes the blocks.)

    Notes
    -----
    Parameters ``W``, float64 (n_features, n_labels), and ``b``, float64 (n_labels). Attributes ``features`` (a
    :class:`~spacy_graft.model.table.FeatureTable`), ``vocabularies`` of the blocks whose item values depend on one, and
    ``mean_scale``: a_i is ``mean_scale / sqrt(document length)``, or 1 if ``mean_scale`` is 0.
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
    """Remove all features; ``Y``, float (n, n_labels), gives the number of labels."""
    if Y is not None:
        set_weights(model, FeatureTable.empty(), np.zeros((0, Y.shape[1])), np.zeros(Y.shape[1]), 0.0)


def forward(model: SparseLinearT, docs: list[Doc], is_train: bool) -> tuple[np.ndarray, Callable[[Any], list[Any]]]:
    """Return scores; the callback does nothing, since the model is not trained by gradients."""
    return scores(model, docs), lambda d_scores: []


def set_solution(model: SparseLinearT, solution: Solution, strings: StringStore) -> None:
    """Set the features and weights that training found.

    Parameters
    ----------
    model : Model
        A ``spacy_graft.SparseLinear.v1``.
    solution : Solution
        Its arrays are copied.
    strings : StringStore
        The strings of the vocab of the training documents.
    """
    blocks: Blocks = model.attrs["blocks"]

    def named(terms: Sequence[SymbolTerm]) -> tuple[NamedTerm, ...]:
        return tuple(
            NamedTerm(term.block, as_reading_block(blocks[term.block]).names(term.symbols, strings)) for term in terms
        )

    all_terms, all_longest = [named(terms) for terms in solution.terms], map(named, solution.longest)
    features = FeatureTable(
        tuple(solution.blocks),
        tuple(terms[0].symbols if len(terms) == 1 else () for terms in all_terms),
        tuple(terms[0].symbols if len(terms) == 1 else () for terms in all_longest),
        tuple(terms if len(terms) > 1 else () for terms in all_terms),
        np.array(solution.df, np.int32),
    )
    set_weights(model, features, solution.weights, solution.intercepts, solution.mean_scale)
    model.attrs["vocabularies"] = Vocabularies(solution.vocabularies)


def set_weights(
    model: SparseLinearT, features: FeatureTable, weights: np.ndarray, intercepts: np.ndarray, mean_scale: float
) -> None:
    """Set features and weights, which are copied."""
    check_shapes(features, weights, intercepts)
    model.attrs["features"] = features
    model.attrs["mean_scale"] = float(mean_scale)
    model.attrs["vocabularies"] = Vocabularies()
    model.set_param("W", cast(Floats2d, np.array(weights, np.float64, order="C")))
    model.set_param("b", cast(Floats1d, np.array(intercepts, np.float64)))


def append_label(model: SparseLinearT, intercept: float) -> None:
    """Give the model one more label, without weights."""
    weights, intercepts = parameters(model)
    column = np.zeros((len(weights), 1))
    model.set_param("W", cast(Floats2d, np.hstack([weights, column])))
    model.set_param("b", cast(Floats1d, np.append(intercepts, intercept)))


def scores(model: SparseLinearT, docs: Sequence[Doc]) -> np.ndarray:
    """Return the scores of all labels: float64 (n_documents, n_labels)."""
    weights, intercepts = parameters(model)
    mean_scale: float = model.attrs["mean_scale"]
    blocks: Blocks = model.attrs["blocks"]
    totals = np.zeros((len(docs), len(intercepts)))
    if not docs:
        return totals
    features = compiled_features(model, docs[0])
    readers = reading_blocks(blocks, features)
    words = next((block for block in readers.values() if reads_words(block)), WORDS)
    streams = read_streams([*readers.values(), words] if mean_scale else readers.values(), docs)
    for name, automaton in features.automata.items():
        automaton.add_scores(streams[readers[name]], weights, totals)
    if features.items.tables:
        by_name = {name: streams[readers[name]] for name in features.items.tables}
        add_item_scores(features.items.found(by_name, blocks, model.attrs["vocabularies"]), weights, totals)
    if mean_scale:
        totals *= (mean_scale / np.sqrt(document_lengths(streams[words])))[:, np.newaxis]
    return intercepts + totals


def ngram_occurrences(model: SparseLinearT, doc: Doc) -> np.ndarray:
    """Return every occurrence of every n-gram in a document.

    Returns
    -------
    int64 (n_occurrences, 3)
        The feature, its first symbol and one past its last in the stream of its block; the block's ``offsets`` map
        symbols to characters. Block by block, in the order of ends.
    """
    found = [np.empty((0, 3), np.int64)]
    features = compiled_features(model, doc)
    blocks = reading_blocks(model.attrs["blocks"], features)
    for name, automaton in features.automata.items():
        found.append(automaton.occurrences(read_streams([blocks[name]], [doc])[blocks[name]].symbols))
    return np.concatenate(found)


def item_features(model: SparseLinearT, doc: Doc) -> tuple[np.ndarray, np.ndarray]:
    """Return the items and combinations of a document (int64 rows, ascending), and their values (float64)."""
    matcher = compiled_features(model, doc).items
    if not matcher.tables:
        return np.empty(0, np.int64), np.empty(0)
    blocks: Blocks = model.attrs["blocks"]
    readers = {name: as_reading_block(blocks[name]) for name in matcher.tables}
    streams = {name: read_streams([block], [doc])[block] for name, block in readers.items()}
    _, rows, values = matcher.found(streams, blocks, model.attrs["vocabularies"])
    order = np.argsort(rows)
    return rows[order], values[order]


def contributions(model: SparseLinearT, doc: Doc) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return what the scores of a document are computed from: they are ``b + scale * values @ weights``.

    Returns
    -------
    features : int64 (n)
        The features of the document, ascending.
    values : float64 (n)
        Their values in it, without the document weight.
    weights : float64 (n, n_labels)
        Their weights.
    scale : float
        The document weight.
    """
    ngrams = np.unique(ngram_occurrences(model, doc)[:, 0])
    others, values = item_features(model, doc)
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
        If there are none, or they do not fit the features.
    """
    if not (model.has_param("W") and model.has_param("b")):
        raise ValueError(f"The model {model.name!r} has no weights yet: train it, or load a trained one.")
    weights = np.ascontiguousarray(model.get_param("W"), np.float64)
    intercepts = np.asarray(model.get_param("b"), np.float64)
    check_shapes(model.attrs["features"], weights, intercepts)
    return weights, intercepts


def compiled_features(model: SparseLinearT, doc: Doc) -> CompiledFeatures:
    """Return the compiled features of the model for the vocab of a document."""
    matcher: Matcher = model.attrs["matcher"]
    return matcher.compiled(model.attrs["features"], model.attrs["blocks"], doc.vocab.strings)


def reading_blocks(blocks: Blocks, features: CompiledFeatures) -> dict[str, ReadingBlock]:
    """Return the blocks that have to read documents to match the features."""
    return {name: as_reading_block(blocks[name]) for name in [*features.automata, *features.items.tables]}


def as_reading_block(block: Block) -> ReadingBlock:
    """Return a block that is known to read documents, typed as such."""
    return cast("ReadingBlock", block)


def read_streams(blocks: Iterable[ReadingBlock], docs: Sequence[Doc]) -> dict[ReadingBlock, Stream]:
    """Return the symbols of documents by block; documents must have the annotation that the blocks need.

    A document is read for all blocks before the next, so that it stays in the processor cache.
    """
    parts: dict[ReadingBlock, list[np.ndarray]] = {block: [] for block in blocks}
    for doc in docs:
        for block, symbols in parts.items():
            block.check(doc)
            symbols.append(block.symbols(doc))
    return {block: stream_of(block, symbols) for block, symbols in parts.items()}
