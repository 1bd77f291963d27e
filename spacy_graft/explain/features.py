"""The features of a model with their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..extract.blocks import Block, as_reading_block
from ..extract.terms import NamedTerm
from ..graft.constraints import PRODUCT_SIGN
from ..graft.solution import stability_of
from ..model.snapshot import Snapshot
from ..model.weights import by_label, times_rows

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Feature:
    """A feature of the model.

    Attributes
    ----------
    text : str
        The n-gram, the item, or the members of a combination. Of n-grams with the same training documents, the
        shortest.
    longest : str
        The longest n-gram with the same training documents.
    block : str
        Name of its block.
    kind : str
        "character n-gram", "token n-gram", "attribute", "head–modifier", "document attribute", "combination" or, for
        a word that the model knows by its vector, "word vector".
    df : int
        Number of training documents with the feature.
    weights : dict of str to float
        By label. Of very many labels, those whose weight is 0 are not mentioned.
    effects : dict of str to float
        By label, how much the feature decides: ``|weight| · s · (1 − s)``, where s is the share of training documents
        with it. Twice this is the mean absolute deviation of its contributions to their scores, where values are 1 and
        documents of one length. It is small for rare features, whatever their weight, and for those of nearly all
        documents. Without the number of training documents, as in models of earlier versions, ``|weight| · df``.
    stability : float, optional
        Share of random half samples of the training documents that select the feature, if the learner asked for it.
    intervals : dict of str to tuple of float, optional
        By label, the least and the largest weight in 90% of the bootstrap samples.
    """

    text: str
    longest: str
    block: str
    kind: str
    df: int
    weights: dict[str, float]
    effects: dict[str, float] = field(default_factory=dict)
    stability: float | None = None
    intervals: dict[str, tuple[float, float]] | None = None


def features_of(snapshot: Snapshot, labels: Sequence[str], n_documents: int | None = None) -> list[Feature]:
    """All features of a model with these labels, in the order of the rows of its weights.

    The number of training documents is that of the report among the notes of the snapshot, unless it is given.
    """
    table, blocks = snapshot.features, snapshot.blocks
    n = n_documents_of(snapshot) if n_documents is None else n_documents
    effects = by_label(effects_of(snapshot.weights, table.df, n), labels)
    return [
        Feature(
            text=feature_text(blocks, table.terms(k)),
            longest=feature_text(blocks, table.terms(k, longest=True)),
            block=table.blocks[k],
            kind=blocks[table.blocks[k]].feature_kind,
            df=int(table.df[k]),
            weights=row,
            effects=effects[k],
            **stability_of(snapshot.stability, k, labels),
        )
        for k, row in enumerate(by_label(snapshot.weights, labels))
    ]


class FeatureKey(NamedTuple):
    """Text and block of a feature, and the blocks of its terms, which the text of a combination does not name."""

    text: str
    block: str
    of_blocks: tuple[str, ...]


def features_by_key(snapshot: Snapshot, features: Iterable[Feature]) -> dict[FeatureKey, Feature]:
    """All features of a snapshot, as :func:`features_of` gives them, by what tells them apart in any model."""
    table = snapshot.features
    return {
        FeatureKey(feature.text, feature.block, tuple(term.block for term in table.terms(k))): feature
        for k, feature in enumerate(features)
    }


def strongest_words(snapshot: Snapshot, labels: Sequence[str], n: int, label: str | None = None) -> list[Feature]:
    """The words that the model knows by their vectors and that can move a score most, strongest first.

    Parameters
    ----------
    snapshot : Snapshot
    labels : sequence of str
        All labels of the model, in the order of its weights.
    n : int
    label : str, optional
        The label whose score is meant; by default that of any label.

    Returns
    -------
    list of Feature
        Their weights are the scores of the word, and ``df`` is 0 for a word that no training document has. What counts
        is the score times the word's share, which is small for frequent words.
    """
    if snapshot.word_scores is None:
        return []
    lexicon, block = snapshot.word_scores.lexicon, snapshot.word_scores.block
    rows, scores = snapshot.word_scores.strongest(n, None if label is None else labels.index(label))
    return [
        Feature(
            text=lexicon.words[row],
            longest=lexicon.words[row],
            block=block,
            kind=snapshot.blocks[block].feature_kind,
            df=int(lexicon.known[row]),
            weights=dict(zip(labels, of_word, strict=True)),
            effects={label: abs(weight) * share for label, weight in zip(labels, of_word, strict=True)},
        )
        for row, of_word, share in zip(rows.tolist(), scores.tolist(), lexicon.shares[rows].tolist(), strict=True)
    ]


def effects_of(weights: np.ndarray | csr_array, df: np.ndarray, n_documents: int) -> np.ndarray | csr_array:
    """How much features decide, see :class:`Feature`: float64 (n_features, n_labels), sparse as the weights are."""
    shares = df / n_documents if n_documents else df
    spread = shares * (1.0 - shares) if n_documents else shares
    return times_rows(abs(weights), np.maximum(spread, 0.0))


def by_effect(features: Iterable[Feature]) -> list[Feature]:
    """Sort features by their largest effect on a label, in descending order."""
    return sorted(features, key=lambda feature: -max(feature.effects.values()))


def n_documents_of(snapshot: Snapshot) -> int:
    """The number of training documents; 0 if it is not known."""
    return int((snapshot.report or {}).get("n_documents", 0))


def feature_text(blocks: Mapping[str, Block], terms: tuple[NamedTerm, ...]) -> str:
    """The display text of a feature."""
    return PRODUCT_SIGN.join(as_reading_block(blocks[term.block]).text(term.symbols) for term in terms)


def have_stability(features: Sequence[Feature]) -> bool:
    """Whether features of one model say how stable they are."""
    return bool(features) and features[0].stability is not None
