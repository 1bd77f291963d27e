"""Penalty weights λ_ky of every node and label, known before the search (design §3).

A weight divides into the gradient in the entering test, |v_ky| / λ_ky > C: it is the same as multiplying the feature's
column by 1 / λ. What is kept is 1 / λ in float32, (n_nodes, 0, 1 or labels): nothing where all weights are 1, one
column where labels share them. Every weight lies in [1 / :data:`LARGEST`, 1 / :data:`SMALLEST`] times the factor of
its block, so that bounds on subtrees hold.
"""

from __future__ import annotations

import numpy as np

from ..index.ngrams import NgramIndex
from .learners import PenaltyWeights
from .problems import Problems

#: Bounds of 1 / λ, but for the factor of the block.
SMALLEST, LARGEST = 0.05, 20.0


def inverse_weights(
    kind: PenaltyWeights, power: float, block_penalty: float, index: NgramIndex, problems: Problems
) -> np.ndarray:
    """1 / λ_ky of all nodes of an index: what the kind says, divided by the factor of the block.

    ``idf``: log((1 + n) / (1 + df)) + 1, as in tf-idf. ``standard``: the column's standard deviation (Riezler &
    Vasserman 2004, §3.2). ``ratio``: |log-count ratio| to the ``power`` (Wang & Manning, ACL 2012), on documents with
    one added to each count, relative to the counts of the label and of the others. ``ratio_idf``: the ratio times
    log((1 + n) / (1 + df)), to the ``power``.
    """
    n = index.n_documents
    df = index.df.astype(np.float32)
    if kind == "none":
        if block_penalty == 1.0:
            return np.empty((index.n_nodes, 0), np.float32)
        inverse = np.ones((index.n_nodes, 1))
    elif kind == "idf":
        inverse = (np.log((1.0 + n) / (1.0 + df)) + 1.0)[:, None]
    elif kind == "standard":
        inverse = np.sqrt(df / n * (1.0 - df / n))[:, None]
    else:
        inverse = np.abs(log_count_ratios(index, problems))
        if kind == "ratio_idf":
            inverse *= np.log((1.0 + n) / (1.0 + df))[:, None]
        inverse **= np.float32(power)
    return (np.clip(inverse, SMALLEST, LARGEST) / block_penalty).astype(np.float32)


def log_count_ratios(index: NgramIndex, problems: Problems) -> np.ndarray:
    """log of the ratio of a node's smoothed document rates inside and outside each label: float32 (nodes, labels)."""
    known = problems.data.known[:, problems.trained].astype(np.float64)
    positives = problems.positives()
    inside = index.sums(positives, np.float32)
    present = index.df.astype(np.float32)[:, None] if known.all() else index.sums(known, np.float32)
    n_inside = positives.sum(axis=0).astype(np.float32)
    n_outside = known.sum(axis=0).astype(np.float32) - n_inside
    outside = present - inside
    ratios = np.log((inside + 1.0) / (n_inside + 2.0))
    ratios -= np.log((outside + 1.0) / (n_outside + 2.0))
    return ratios
