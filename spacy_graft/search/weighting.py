"""The formulas of 1 / λ: of one column, of many, and bounds over the parts of a column."""

from typing import NamedTuple

import numpy as np

from .._numba import inlined, njit
from .penalty_kinds import PenaltyWeightKind

# Plain integers for the kernels.
NONE, IDF, STANDARD, RATIO, RATIO_IDF = map(int, PenaltyWeightKind)
#: Bounds of 1 / λ, but for the factor of the block.
SMALLEST, LARGEST = 0.05, 20.0


class Weighting(NamedTuple):
    """How 1 / λ of a column follows from its documents.

    Attributes
    ----------
    kind : int
    power : float
        Exponent of the last two kinds.
    factor : float
        1 / the factor of the block.
    n_documents : int
    n_inside, n_outside : float
        What of all documents is inside and outside the label.
    """

    kind: int
    power: float
    factor: float
    n_documents: int
    n_inside: float
    n_outside: float


@inlined
def idf(weighting, df):
    """log((1 + n) / (1 + df))."""
    return np.log((1.0 + weighting.n_documents) / (1.0 + df))


@inlined
def log_ratio(weighting, inside, outside):
    """log of the ratio of a column's smoothed document rates inside and outside the label."""
    return np.log((inside + 1.0) / (weighting.n_inside + 2.0)) - np.log((outside + 1.0) / (weighting.n_outside + 2.0))


@inlined
def within_bounds(weighting, inverse):
    """1 / λ between its bounds, with the factor of the block."""
    return min(max(inverse, SMALLEST), LARGEST) * weighting.factor


@inlined
def deviation(n, total, squares):
    """Standard deviation of n numbers with this sum and sum of squares."""
    mean = total / n
    return np.sqrt(max(squares / n - mean * mean, 0.0))


@inlined
def inverse_weight(weighting, df, inside, outside, total, squares):
    """1 / λ of a column.

    ``standard`` needs the sum of its values and of their squares; without them (negative) it is bounded from above.
    """
    kind = weighting.kind
    if kind == NONE:
        return weighting.factor
    if kind == IDF:
        return within_bounds(weighting, idf(weighting, df) + 1.0)
    if kind == STANDARD:
        if total < 0.0:
            return within_bounds(weighting, 0.5)
        return within_bounds(weighting, deviation(weighting.n_documents, total, squares))
    inverse = abs(log_ratio(weighting, inside, outside))
    if kind == RATIO_IDF:
        inverse *= idf(weighting, df)
    return within_bounds(weighting, inverse**weighting.power)


@njit
def largest_inverse_weight(weighting, min_df, inside, outside):
    """The largest 1 / λ of ``min_df`` or more documents out of those of a column.

    A ratio is farthest from 1 where all documents inside and none outside are left, or the other way round.
    """
    kind = weighting.kind
    if kind == NONE:
        return weighting.factor
    if kind == IDF:
        return within_bounds(weighting, idf(weighting, min_df) + 1.0)
    if kind == STANDARD:
        return within_bounds(weighting, 0.5)
    inverse = max(log_ratio(weighting, inside, 0.0), -log_ratio(weighting, 0.0, outside))
    if kind == RATIO_IDF:
        inverse *= idf(weighting, min_df)
    return within_bounds(weighting, max(inverse, 0.0) ** weighting.power)


@njit
def shared_inverse_weights(weighting, df, totals, squares):
    """1 / λ of many columns, of a kind that does not depend on labels: float32 (columns, 1)."""
    inverse = np.empty((df.shape[0], 1), np.float32)
    for k in range(df.shape[0]):
        inverse[k, 0] = inverse_weight(weighting, df[k], 0.0, 0.0, totals[k], squares[k])
    return inverse


@njit
def fill_inverse_weights(weighting, df, inside, outside, inverse):
    """The same of one label, into ``inverse`` (columns)."""
    for k in range(inside.shape[0]):
        inverse[k] = inverse_weight(weighting, df[k], inside[k], outside[k], 0.0, 0.0)
