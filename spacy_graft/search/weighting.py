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
#: What rounding may add to a variance, relative to the mean square, of which it is a part.
CANCELLED = 1e-12
#: A column whose largest value is smaller is weighed as if it had this one, so that 1 / λ fits into single precision.
LEAST_SCALE = 1e-18
#: Fewer documents than this are few.
LEAST_MANY = 32


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
def inverse_deviation(weighting, total, squares, largest):
    """1 / σ of a column, between its bounds in units of the column's largest value.

    So a column that is multiplied by a number has the same x / λ: products of small values are not left behind.
    """
    spread = deviation(weighting.n_documents, total, squares)
    return within_bounds(weighting, largest / spread if spread > 0.0 else LARGEST) / max(largest, LEAST_SCALE)


@inlined
def inverse_weight(weighting, df, inside, outside, total, squares, largest):
    """1 / λ of a column; ``standard`` needs the sum of its values, that of their squares, and the largest."""
    kind = weighting.kind
    if kind == NONE:
        return weighting.factor
    if kind == IDF:
        return within_bounds(weighting, idf(weighting, df) + 1.0)
    if kind == STANDARD:
        return inverse_deviation(weighting, total, squares, largest)
    inverse = abs(log_ratio(weighting, inside, outside))
    if kind == RATIO_IDF:
        inverse *= idf(weighting, df)
    return within_bounds(weighting, inverse**weighting.power)


@njit
def largest_inverse_weight(weighting, min_df, inside, outside):
    """The largest x / λ of an entry x ≤ 1 of a column that has ``min_df`` or more documents out of those of a column.

    A ratio is farthest from 1 where all documents inside and none outside are left, or the other way round. Where all
    values are 1, and of other kinds than ``standard``, 1 / λ is not larger either.
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
def standard_bound(weighting, gradient, df, squares, of_ones):
    """At least |v| / λ, with λ = σ, of every column x over some or all of ``df`` documents, with values of 1 or less.

    ``gradient`` is at least |v|, ``squares`` at least the sum of the squared residuals δ² of these documents, and
    ``of_ones`` says that all values are 1. That the deviation of a part can be much smaller does not matter, since its
    gradient is: |v| ≤ ‖x‖ ‖δ‖, and of a column with so many entries that are not 0, n σ² = ‖x‖² − (Σ x)² / n ≥
    ‖x‖² (1 − df / n). By the limit of 1 / λ, |v| / λ ≤ LARGEST |v| / max x ≤ LARGEST Σ |δ|, and Σ |δ| ≤ sqrt(df Σ δ²).
    """
    clipped = LARGEST * (gradient if of_ones else np.sqrt(df * squares) * (1.0 + ROUNDING))
    n = weighting.n_documents
    if df < n:
        clipped = min(clipped, np.sqrt(n * squares / (1.0 - df / n)) * (1.0 + ROUNDING))
    return clipped * weighting.factor


@inlined
def scaled_bound(weighting, gradient, inside, outside):
    """|v| / λ of a column with this |v|, of which all values are 1 or λ is not ``standard``.

    ``inside`` and ``outside`` are the sums of its documents' shares.
    """
    if weighting.kind == STANDARD:
        return gradient * inverse_weight(weighting, inside, 0.0, 0.0, inside, inside, 1.0)
    return gradient * inverse_weight(weighting, inside + outside, inside, outside, 0.0, 0.0, 1.0)


@inlined
def standardised_bound(weighting, gradient, total, squares):
    """At least |v| / λ of a column with this |v| and λ = σ, from the sums of its values and of their squares.

    Its largest value, which the limit of 1 / λ depends on, is not needed.
    """
    if gradient == 0.0:
        return 0.0  # also of a column without variance
    n = weighting.n_documents
    mean = total / n
    variance = squares / n * (1.0 - CANCELLED) - mean * mean
    return gradient / np.sqrt(variance) * (1.0 + ROUNDING) * weighting.factor if variance > 0.0 else np.inf


@inlined
def scaled_bound_below(weighting, gradient, min_df, inside, outside, of_ones):
    """At least |v| / λ of all columns of ``min_df`` or more documents out of those of a column.

    ``gradient`` is at least their |v|; ``inside`` and ``outside`` are the sums of the column's shares; ``of_ones`` says
    that all values are 1.
    """
    if weighting.kind == STANDARD:
        return standard_bound(weighting, gradient, inside, outside, of_ones)
    return gradient * largest_inverse_weight(weighting, min_df, inside, outside)


@njit
def shared_inverse_weights(weighting, df, totals, squares, largest):
    """1 / λ of many columns, of a kind that does not depend on labels: float32 (columns, 1)."""
    inverse = np.empty((df.shape[0], 1), np.float32)
    for k in range(df.shape[0]):
        inverse[k, 0] = inverse_weight(weighting, df[k], 0.0, 0.0, totals[k], squares[k], largest[k])
    return inverse


@njit
def fill_inverse_weights(weighting, df, inside, outside, inverse):
    """The same of one label, into ``inverse`` (columns).

    That of few documents, as most columns have, is computed once for each pair of numbers inside and outside.
    """
    of_counts = np.full((LEAST_MANY, LEAST_MANY), np.nan, np.float32)
    for k in range(inside.shape[0]):
        # Plain Python would go on in single precision, where the compiler does not.
        of_label, others = np.float64(inside[k]), np.float64(outside[k])
        i, j = int(of_label), int(others)
        is_counted = of_label == i and others == j and i + j == df[k] and max(i, j) < LEAST_MANY
        if is_counted and of_counts[i, j] > 0.0:
            inverse[k] = of_counts[i, j]
            continue
        inverse[k] = inverse_weight(weighting, df[k], of_label, others, 0.0, 0.0, 1.0)
        if is_counted:
            of_counts[i, j] = inverse[k]
