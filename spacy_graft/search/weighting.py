"""The formulas of 1 / λ: of one column, of many, and bounds over the parts of a column."""

from typing import NamedTuple

import numpy as np

from .._numba import inlined, njit
from .penalty_kinds import PenaltyWeightKind

# Plain integers for the kernels.
NONE, IDF, STANDARD, RATIO, RATIO_IDF = map(int, PenaltyWeightKind)
#: Bounds of 1 / λ, but for the factor of the block.
SMALLEST, LARGEST = 0.05, 20.0
#: What rounding may add to a sum, or take from a bound, relative to it.
ROUNDING = 1e-9


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
    """1 / λ of a column; ``standard`` needs the sum of its values and of their squares."""
    kind = weighting.kind
    if kind == NONE:
        return weighting.factor
    if kind == IDF:
        return within_bounds(weighting, idf(weighting, df) + 1.0)
    if kind == STANDARD:
        spread = deviation(weighting.n_documents, total, squares)
        return within_bounds(weighting, 1.0 / spread if spread > 0.0 else LARGEST)
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
        # Parts of few documents have the smallest deviation.
        return within_bounds(weighting, LARGEST)
    inverse = max(log_ratio(weighting, inside, 0.0), -log_ratio(weighting, 0.0, outside))
    if kind == RATIO_IDF:
        inverse *= idf(weighting, min_df)
    return within_bounds(weighting, max(inverse, 0.0) ** weighting.power)


@inlined
def standard_bound(weighting, gradient, df, squares):
    """At least |v| / λ, with λ = σ, of every column x over some or all of ``df`` documents, with values of 1 or less.

    ``gradient`` is at least |v|, and ``squares`` at least the sum of the squared residuals of these documents. That the
    deviation of a part can be much smaller does not matter, since its gradient is: |v| ≤ ‖x‖ ‖δ‖, and of a column with
    so many entries that are not 0, n σ² = ‖x‖² − (Σ x)² / n ≥ ‖x‖² (1 − df / n).
    """
    clipped = LARGEST * gradient
    n = weighting.n_documents
    if df < n:
        clipped = min(clipped, np.sqrt(n * squares / (1.0 - df / n)) * (1.0 + ROUNDING))
    return clipped * weighting.factor


@inlined
def scaled_bound(weighting, gradient, inside, outside, of_ones):
    """At least |v| / λ of a column with this |v|; λ itself, where counts tell it.

    ``inside`` and ``outside`` are the sums of its documents' shares, and ``of_ones`` says that all values are 1.
    """
    if weighting.kind != STANDARD:
        return gradient * inverse_weight(weighting, inside + outside, inside, outside, 0.0, 0.0)
    if of_ones:
        return gradient * inverse_weight(weighting, inside, 0.0, 0.0, inside, inside)
    return standard_bound(weighting, gradient, inside, outside)


@inlined
def scaled_bound_below(weighting, gradient, min_df, inside, outside):
    """At least |v| / λ of all columns of ``min_df`` or more documents out of those of a column.

    ``gradient`` is at least their |v|; ``inside`` and ``outside`` are the sums of the column's shares.
    """
    if weighting.kind == STANDARD:
        return standard_bound(weighting, gradient, inside, outside)
    return gradient * largest_inverse_weight(weighting, min_df, inside, outside)


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
