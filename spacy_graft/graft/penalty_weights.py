"""Penalty weights λ_ky of every feature and label, known before the search.

A weight divides into the gradient in the entering test, |v_ky| / λ_ky > C: it is the same as multiplying the feature's
column by 1 / λ. Of indexed features 1 / λ is kept in float32, (n_nodes, 0, 1 or labels): nothing where all weights are
1, one column where labels share them; of combinations it is found when they are met. Every weight lies between bounds
(:mod:`spacy_graft.search.weighting`) times the factor of its block, so that bounds on subtrees hold.

``idf``: 1 / λ = log((1 + n) / (1 + df)) + 1, as in tf-idf. ``standard``: the column's standard deviation (Riezler &
Vasserman 2004, §3.2). ``ratio``: |log-count ratio| to the ``ratio_power`` (Wang & Manning, ACL 2012), on documents with
one added to each count, relative to the counts of the label and of the others. ``ratio_idf``: the ratio times
log((1 + n) / (1 + df)), to the ``ratio_power``.
"""

from __future__ import annotations

import numpy as np

from ..index.items import ItemIndex
from ..index.ngrams import NgramIndex
from ..search import weighting as kernels
from ..search.combinations import LabelWeights
from .problems import Problems
from .settings import PENALTY_WEIGHTS, PenaltySettings

#: Kinds whose weights depend on the label; and those that follow from counts of documents.
BY_LABEL = ("ratio", "ratio_idf")
COUNTED = ("idf", *BY_LABEL)


def label_weights(penalty: PenaltySettings, block_factor: float, problems: Problems) -> list[LabelWeights]:
    """How the features of a block are weighed, for each trained label."""
    inside = problems.positives()
    outside = problems.data.known[:, problems.trained] - inside
    counted = penalty.penalty_weights in COUNTED
    return [
        LabelWeights(weighting, np.stack([its, others], axis=1) if counted else np.empty((0, 2)))
        for weighting, its, others in zip(
            weightings(penalty, block_factor, inside, outside), inside.T, outside.T, strict=True
        )
    ]


def weightings(
    penalty: PenaltySettings, block_factor: float, inside: np.ndarray, outside: np.ndarray
) -> list[kernels.Weighting]:
    """The weighting of each label, of which ``inside`` and ``outside`` (documents, labels) are the shares."""
    kind = PENALTY_WEIGHTS.index(penalty.penalty_weights)
    totals = zip(inside.sum(axis=0).tolist(), outside.sum(axis=0).tolist(), strict=True)
    return [
        kernels.Weighting(kind, float(penalty.ratio_power), 1.0 / block_factor, len(inside), its, others)
        for its, others in totals
    ]


def inverse_weights(
    penalty: PenaltySettings, block_factor: float, index: NgramIndex | ItemIndex, problems: Problems
) -> np.ndarray:
    """1 / λ_ky of all nodes of an index."""
    if (penalty.penalty_weights == "none" and block_factor == 1.0) or not problems.n_trained:
        return np.empty((index.n_nodes, 0), np.float32)
    positives = problems.positives()
    known = problems.data.known[:, problems.trained].astype(np.float64)
    by_label = weightings(penalty, block_factor, positives, known - positives)
    if penalty.penalty_weights not in BY_LABEL:
        return kernels.inverse_weights(by_label[0], index.df, *index.moments())
    inside = index.sums(positives, np.float32)
    present = index.df.astype(np.float32)[:, None] if known.all() else index.sums(known, np.float32)
    inverse = np.empty(inside.shape, np.float32)
    for label, weighting in enumerate(by_label):
        its = inside[:, label]
        outside = present[:, min(label, present.shape[1] - 1)] - its
        kernels.fill_inverse_weights(weighting, index.df, its, outside, inverse[:, label])
    return inverse
