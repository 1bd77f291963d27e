"""Penalty weights λ_ky of every feature and label, known before the search.

A weight divides into the gradient in the entering test, |v_ky| / λ_ky > l1: it is the same as multiplying the feature's
column by 1 / λ. Of indexed features 1 / λ is kept in float32, (n_nodes, 0, 1 or labels): nothing where all weights are
1, one column where labels share them; of combinations it is found when they are met. Every weight lies between bounds
(:mod:`spacy_graft.search.weighting`) times the factor of its block, so that bounds on subtrees hold.

``idf``: 1 / λ = log((1 + n) / (1 + df)) + 1, as in tf-idf. ``standard``: λ is the column's standard deviation, the
same as dividing the column by it (Riezler & Vasserman 2004, section 4). ``ratio``: |log-count ratio| to the
``ratio_power`` (Wang & Manning, ACL 2012), on documents with one added to each count, relative to the counts of the
label and of the others. ``ratio_idf``: the ratio times log((1 + n) / (1 + df)), to the ``ratio_power``.

λ of an n-gram of L symbols is multiplied by L to the ``ngram_power``, where L is the length of its shortest name. This
is at least 1, so that what bounds 1 / λ by documents alone holds as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

import numpy as np

from ..index.items import ItemIndex
from ..index.ngrams import NgramIndex
from ..search import weighting as kernels
from ..search.combinations import LabelPenaltyWeights
from ..search.penalty_kinds import PenaltyWeightKind
from .objective import Objective
from .settings import PenaltySettings

#: Values of columns whose 1 / λ, which falls as they grow, is still a number of single precision.
LARGEST_STANDARDISED = 1e30


def label_weights(objective: Objective, block_factor: float) -> list[LabelPenaltyWeights]:
    """How the features of a block are weighed, for each trained label."""
    settings, problems = objective.settings, objective.problems
    inside = problems.positives()
    outside = problems.data.known[:, problems.trained] - inside
    counted = settings.penalty_weight_kind.counts_documents
    return [
        LabelPenaltyWeights(weighting, np.stack([of_label, others], axis=1) if counted else np.empty((0, 2)))
        for weighting, of_label, others in zip(
            weightings(settings, block_factor, inside, outside), inside.T, outside.T, strict=True
        )
    ]


def weightings(
    settings: PenaltySettings, block_factor: float, inside: np.ndarray, outside: np.ndarray
) -> list[kernels.Weighting]:
    """The weighting of each label, of which ``inside`` and ``outside`` (documents, labels) are the shares."""
    kind = settings.penalty_weight_kind
    totals = zip(inside.sum(axis=0).tolist(), outside.sum(axis=0).tolist(), strict=True)
    return [
        kernels.Weighting(int(kind), float(settings.ratio_power), 1.0 / block_factor, len(inside), n_inside, n_outside)
        for n_inside, n_outside in totals
    ]


def inverse_weights(
    objective: Objective, block_factor: float, index: NgramIndex | ItemIndex, lengths: np.ndarray | None = None
) -> np.ndarray:
    """1 / λ_ky of all nodes of an index, in memory of the place of the data.

    ``lengths`` (int32) are those of n-grams, in symbols; None of items.
    """
    settings, problems = objective.settings, objective.problems
    power = 0.0 if lengths is None else settings.ngram_power
    is_one = settings.penalty_weight_kind is PenaltyWeightKind.NONE and block_factor == 1.0 and power == 0.0
    if is_one or not problems.n_trained:
        return np.empty((index.n_nodes, 0), np.float32)
    if not settings.penalty_weight_kind.by_label:
        # The same for all labels: how many documents are inside and outside of one does not matter.
        (of_all,) = weightings(settings, block_factor, *np.zeros((2, problems.data.n_documents, 1)))
        moments = index.moments()
        if of_all.kind == kernels.STANDARD and moments[-1].max(initial=0.0) > LARGEST_STANDARDISED:
            raise ValueError(
                f"With penalty_weights = 'standard', values must be at most {LARGEST_STANDARDISED:g}, but one is "
                f"{moments[-1].max():.3g}. Scale them first."
            )
        inverse = kernels.shared_inverse_weights(of_all, np.ascontiguousarray(index.df), *moments)
        if lengths is not None and power:
            inverse *= of_lengths(lengths, power)[:, None]
        return inverse
    positives = problems.positives()
    known = problems.data.known[:, problems.trained].astype(np.float64)
    by_label = weightings(settings, block_factor, positives, known - positives)
    inverse = problems.data.place.empty((index.n_nodes, positives.shape[1]), np.float32)
    presence = repeat(None) if known.all() else (sums for *_, sums in sums_over_documents(index, known))
    for (label, begin, end, inside), present in zip(sums_over_documents(index, positives), presence, strict=False):
        # Columns of tables, and of n-gram nodes: contiguous, so that kernels are compiled once.
        df, of_column = np.ascontiguousarray(index.df[begin:end]), np.empty(end - begin, np.float32)
        of_length = of_lengths(lengths[begin:end], power) if lengths is not None and power else np.float32(1.0)
        for lane, weighting in enumerate(by_label[label : label + inside.shape[1]]):
            of_label = inside[: end - begin, lane].astype(np.float32)
            total = df if present is None else present[: end - begin, lane]
            kernels.fill_inverse_weights(weighting, df, of_label, total.astype(np.float32) - of_label, of_column)
            inverse[begin:end, label + lane] = of_column * of_length
    return inverse


def of_lengths(lengths: np.ndarray, power: float) -> np.ndarray:
    """What 1 / λ of n-grams is multiplied by for their lengths: float32 (nodes)."""
    return np.asarray(lengths.astype(np.float32) ** np.float32(-power))


def sums_over_documents(
    index: NgramIndex | ItemIndex, values: np.ndarray
) -> Iterator[tuple[int, int, int, np.ndarray]]:
    """Sums of ``values`` over the documents of each node, whatever the values of items (see :func:`.sums.passes`)."""
    if isinstance(index, NgramIndex):
        return index.passes(values)
    return iter([(0, 0, index.n_nodes, index.sums(values))])
