"""Kernels of the search over combinations of items: a depth-first walk of the item-set tree.

Items are ranked once and for all, rare ones first; a combination belongs to the subtree of its member of the lowest
rank, its *anchor*. For one label, the walk sums the residuals over what an anchor shares with each item of a higher
rank, positive and negative ones apart. So it has the gradients t⁺ - t⁻ of all pairs of the anchor and, with
max(t⁺, t⁻), the bounds of everything below them (Okanohara & Tsujii 2009, eq. 5). For triples the same is done once
more over the documents of the anchor alone, with the items whose pairs are not ruled out.
"""

from typing import NamedTuple

import numpy as np

from .._numba import inlined, inner, njit
from ..extract.hashing import EMPTY
from ..extract.kernels import find, insert_rows
from ..index.item_kernels import key_of
from .column_kernels import coded, combination_column, gradient_of, inverse_weight_of, is_simpler, place_of
from .database_kernels import Database
from .weighting import (
    ROUNDING,
    STANDARD,
    Weighting,
    largest_inverse_weight,
    scaled_bound,
    scaled_bound_below,
    standard_bound,
    standardised_bound,
)

# Rows of sums: over the documents with positive and with negative residuals, of the two shares, and whether a column
# has been met.
POSITIVE, NEGATIVE, INSIDE, OUTSIDE, MET = SUMS = range(5)
# Rows of moments: the sums of a column's values and of their squares.
TOTAL, SQUARES = MOMENTS = range(2)

#: Why a walk stops: at its end; where candidates have no room left; or at an anchor that has triples to look for.
END, FULL, BELOW = range(3)
#: Where it stopped: at which anchor; how many columns this meets, how many of them have been offered (the last of these
#: has yet to be noted and cleared), and how many are noted for triples.
ANCHOR, N_TOUCHED, N_OFFERED, N_BELOW = WALK_PLACE = range(4)

#: What may remain of the residuals, in units of the limit, when the sums are first looked at; each time half of it.
LOOK_FIRST = 0.5


class WalkQuery(NamedTuple):
    """What one label's walk looks for.

    Attributes
    ----------
    degree, min_df, n_best : int
    residuals : float64 (documents)
        a_i δ_iy.
    shares : float64 (documents, 2)
        What of each document is inside and outside the label or, of ``standard``, 1 and its squared residual; no rows
        where neither λ nor its bounds follow from it.
    weighting : Weighting
        1 / λ of a combination.
    min_gradient : float
        What a scaled gradient must exceed.
    count_all : bool
        Whether all violations are counted; otherwise only those that may be among the best.
    active_keys : int64, active : bool (as many)
        Sorted keys of active combinations, and whether the label has them.
    positive_inverse, negative_inverse : float
        1 / the factors of the signs, see :class:`spacy_graft.search.kernels.NodeQuery`.
    """

    degree: int
    min_df: int
    n_best: int
    residuals: np.ndarray
    shares: np.ndarray
    weighting: Weighting
    min_gradient: float
    count_all: bool
    active_keys: np.ndarray
    active: np.ndarray
    positive_inverse: float
    negative_inverse: float


class CombinationCandidates(NamedTuple):
    """What a walk fills: the best combinations so far, no column twice.

    Attributes
    ----------
    gradients : float64, codes, keys : int64 (room)
        Candidates with their scaled gradients. A code has the members in ascending order, + 1, as many bits each as
        :data:`~spacy_graft.search.column_kernels.BITS`, the last ones lowest; 0 for none.
    slots : int32
        Hash table of the candidates by key.
    n_candidates, n_violations : int64 (1)
        How many candidates there are, and how many violations have been met.
    floor : float64 (1)
        A scaled gradient below it is not among the best.
    peak, squared_excess : float64 (1)
        Largest scaled gradient of the violations, and the sum of squared excesses |v| / λ − κ min_gradient.
    documents : int32, values : float64 (documents of an item, at most; or none)
        The column of the combination that is looked at.
    """

    gradients: np.ndarray
    codes: np.ndarray
    keys: np.ndarray
    slots: np.ndarray
    n_candidates: np.ndarray
    n_violations: np.ndarray
    floor: np.ndarray
    peak: np.ndarray
    squared_excess: np.ndarray
    documents: np.ndarray
    values: np.ndarray


class Walk(NamedTuple):
    """A walk over the columns of a database: over pairs or, in the documents of one item, over triples with it.

    Attributes
    ----------
    database : Database
    chosen : int64 (columns)
        The item of each column.
    first : int
        The item that all documents have; -1 for none.
    anchors : int64
        Columns in the order of the walk.
    bounds, inverses : float64 (columns)
        Of everything below each column, and the largest 1 / λ there.
    sums : float64 (5, columns or more), moments : float64 (2, as many, or none)
        Zeros, but while columns of an anchor are looked at. There are no moments unless λ follows from them alone.
    touched : int64 (columns or more)
        The columns that the anchor meets.
    below : int64 (columns or more)
        Those whose pairs with the anchor may be part of triples.
    place : int64 (4)
        Where the walk stopped: zeros before the first anchor.
    """

    database: Database
    chosen: np.ndarray
    first: int
    anchors: np.ndarray
    bounds: np.ndarray
    inverses: np.ndarray
    sums: np.ndarray
    moments: np.ndarray
    touched: np.ndarray
    below: np.ndarray
    place: np.ndarray


@inner
def add_shared(column, database, limit, sums, moments, touched):
    """Add to the sums what a column shares with those after it; returns how many it meets, named in ``touched``.

    Where it meets many, all are looked at afterwards; where few, each is noted when it is met. Rows come by falling
    residual, so that most is known after a few: it ends, as if it had met nothing, where the rest can lift none of the
    sums above ``limit`` (the example-wise filter of Okanohara & Tsujii 2009, §4.2).
    """
    row_starts, columns, row_values, column_starts, rows, places, weights, shares, common = database
    n_columns = column_starts.shape[0] - 1
    n_entries = 0
    remaining = 0.0
    for e in range(column_starts[column], column_starts[column + 1]):
        n_entries += row_starts[rows[e] + 1] - places[e] - 1
        remaining += abs(weights[rows[e]])
    look_at = LOOK_FIRST * limit
    note = 4 * n_entries < n_columns - column
    n_touched = 0
    for e in range(column_starts[column], column_starts[column + 1]):
        row, place = rows[e], places[e]
        first, last = place + 1, row_starts[row + 1]
        if note:
            for q in range(first, last):
                if sums[MET, columns[q]] == 0.0:
                    sums[MET, columns[q]] = 1.0
                    touched[n_touched] = columns[q]
                    n_touched += 1
        if shares.shape[0] > 0:
            add_weight(sums[INSIDE], columns, first, last, shares[row, 0])
            add_weight(sums[OUTSIDE], columns, first, last, shares[row, 1])
        weight = weights[row]
        if row_values.shape[0] > 0:
            weight *= row_values[place]
            side = POSITIVE if weight > 0.0 else NEGATIVE
            for q in range(first, last):
                sums[side, columns[q]] += abs(weight) * row_values[q]
            if moments.shape[1] > 0:
                value = common[row] * row_values[place]
                for q in range(first, last):
                    moments[TOTAL, columns[q]] += value * row_values[q]
                    moments[SQUARES, columns[q]] += (value * row_values[q]) ** 2
        else:
            add_weight(sums[POSITIVE if weight > 0.0 else NEGATIVE], columns, first, last, abs(weight))
        remaining -= abs(weights[row])
        if remaining <= look_at and not note:
            if largest_after(column, n_columns, sums) + max(remaining, 0.0) <= limit * (1.0 - ROUNDING):
                for other in range(column + 1, n_columns):
                    clear(sums, moments, other)
                return 0
            look_at *= 0.5
    if note:
        return n_touched
    for other in range(column + 1, n_columns):
        # Shares as well: residuals of documents that are certain are 0, and what is in the sums must be cleared.
        if sums[POSITIVE, other] + sums[NEGATIVE, other] + sums[INSIDE, other] + sums[OUTSIDE, other] > 0.0:
            touched[n_touched] = other
            n_touched += 1
    return n_touched


@inner
def largest_after(column, n_columns, sums):
    """The largest sum on one side of any column after this."""
    largest = 0.0
    for other in range(column + 1, n_columns):
        largest = max(largest, sums[POSITIVE, other], sums[NEGATIVE, other])
    return largest


@inner
def add_weight(sums, columns, first, last, weight):
    """Add a weight to the sums of the columns of a part of a row."""
    if weight != 0.0:
        for q in range(first, last):
            sums[columns[q]] += weight


@inner
def clear(sums, moments, column):
    """Forget the sums of a column; one by one, which is faster than a loop."""
    sums[POSITIVE, column] = 0.0
    sums[NEGATIVE, column] = 0.0
    sums[INSIDE, column] = 0.0
    sums[OUTSIDE, column] = 0.0
    sums[MET, column] = 0.0
    if moments.shape[1] > 0:
        moments[TOTAL, column] = 0.0
        moments[SQUARES, column] = 0.0


@njit
def bounds_below(items, shares, query, bounds, inverses):
    """Fill what the scaled gradient of no combination with each item exceeds, and the largest 1 / λ of one."""
    starts, documents, values = items.starts, items.documents, items.values
    of_ones = values.shape[0] == 0
    unbounded = query.weighting.kind == STANDARD and not of_ones
    for k in range(bounds.shape[0]):
        positive = negative = 0.0
        for e in range(starts[k], starts[k + 1]):
            gradient = query.residuals[documents[e]] * (values[e] if values.shape[0] else 1.0)
            positive += max(gradient, 0.0)
            negative += max(-gradient, 0.0)
        inverse = largest_inverse_weight(query.weighting, query.min_df, shares[k, 0], shares[k, 1])
        inverses[k] = np.inf if unbounded else inverse
        largest = max(positive * query.positive_inverse, negative * query.negative_inverse)
        bounds[k] = scaled_bound_below(query.weighting, largest, query.min_df, shares[k, 0], shares[k, 1], of_ones)


@inner
def offer_combination(a, b, c, items, query, found):
    """Count a combination if it violates and, if it is among the best so far, put it with the candidates.

    Returns whether these have no room left.
    """
    if b < a:
        a, b = b, a
    if c >= 0 and c < b:
        b, c = c, b
        if b < a:
            a, b = b, a
    documents, values = found.documents, found.values
    begin = np.int64(0)  # For a literal, functions would be compiled once more.
    df = combination_column(a, b, c, items, documents, values, begin)
    inverse = inverse_weight_of(documents, values, begin, df, query.shares, query.weighting)
    gradient = gradient_of(documents, values, df, query.residuals)
    sign_inverse = query.positive_inverse if gradient > 0.0 else query.negative_inverse
    scaled = abs(gradient) * sign_inverse * inverse
    key = key_of(documents, values, begin, df, items.numbers)
    if scaled <= query.min_gradient or df < query.min_df or place_of(key, items.taken) >= 0:
        return False
    row = place_of(key, query.active_keys)
    if row >= 0 and query.active[row]:
        return False
    code = coded(a, b, c)
    candidate = find(key, found.slots, found.keys)
    if candidate != EMPTY:
        if is_simpler(code, found.codes[candidate]):
            found.codes[candidate] = code
        return False
    count_violation(scaled, query.min_gradient, sign_inverse, found)
    if scaled < found.floor[0]:
        return False
    candidate = found.n_candidates[0]
    found.gradients[candidate] = scaled
    found.codes[candidate] = code
    found.keys[candidate] = key
    insert_rows(found.slots, found.keys, candidate, candidate + 1)
    found.n_candidates[0] = candidate + 1
    return candidate + 1 == found.gradients.shape[0]


@inner
def count_violation(scaled, min_gradient, sign_inverse, found):
    """Count a violation; ``sign_inverse`` is 1 / the factor of its sign."""
    found.n_violations[0] += 1
    found.squared_excess[0] += ((scaled - min_gradient) / sign_inverse) ** 2
    found.peak[0] = max(found.peak[0], scaled)


@inlined
def begin_anchor(anchor, lowest, walk):
    """Sum what an anchor shares with the columns after it, if a combination with one of them can matter."""
    n_touched = 0
    if walk.bounds[anchor] > lowest:
        limit = lowest / walk.inverses[anchor]
        n_touched = add_shared(anchor, walk.database, limit, walk.sums, walk.moments, walk.touched)
    walk.place[N_TOUCHED] = n_touched
    walk.place[N_BELOW] = 0


@inner
def offer_touched(anchor, lowest, walk, items, query, found):
    """Offer the combinations of an anchor with the columns that it meets; returns whether that has been done.

    If not, candidates have no room left; called again, it goes on where it stopped. What is an array, or has some, is
    not handed to an inlined function in the loop: references to it would be counted there.
    """
    place, sums, moments = walk.place, walk.sums, walk.moments
    touched, chosen, below, first = walk.touched, walk.chosen, walk.below, walk.first
    n_offered, n_touched, n_below = place[N_OFFERED], place[N_TOUCHED], place[N_BELOW]
    min_gradient, min_df, weighting = query.min_gradient, query.min_df, query.weighting
    floor = found.floor[0]
    item = chosen[anchor]
    to_deepen = query.degree > 2 and first < 0
    of_ones = items.values.shape[0] == 0
    positive_inverse, negative_inverse = query.positive_inverse, query.negative_inverse
    for t in range(max(n_offered - 1, 0), n_touched):
        other = touched[t]
        positive, negative = sums[POSITIVE, other], sums[NEGATIVE, other]
        inside, outside = sums[INSIDE, other], sums[OUTSIDE, other]
        if t >= n_offered:
            sign_inverse = positive_inverse if positive > negative else negative_inverse
            gradient = abs(positive - negative) * sign_inverse
            if moments.shape[1] > 0:
                scaled = standardised_bound(weighting, gradient, moments[TOTAL, other], moments[SQUARES, other])
                scaled = min(scaled, standard_bound(weighting, gradient, inside, outside, of_ones))
            else:
                scaled = scaled_bound(weighting, gradient, inside, outside)
            if scaled > lowest:
                if scaled < floor * (1.0 - ROUNDING):
                    # As it is bounded: with documents of unknown labels or together with others of the same column, a
                    # little too high.
                    count_violation(scaled, min_gradient, sign_inverse, found)
                else:
                    a, b, c = (item, chosen[other], -1) if first < 0 else (first, item, chosen[other])
                    if offer_combination(a, b, c, items, query, found):
                        place[N_OFFERED] = t + 1
                        place[N_BELOW] = n_below
                        return False
        if to_deepen:
            largest = max(positive * positive_inverse, negative * negative_inverse)
            if scaled_bound_below(weighting, largest, min_df, inside, outside, of_ones) > lowest:
                below[n_below] = other
                n_below += 1
        clear(sums, moments, other)
    place[N_OFFERED] = 0
    place[N_BELOW] = n_below
    return True


@njit
def advance(walk, items, query, found, lowest):
    """Offer every combination of a label whose bounds are above ``lowest``, from where the walk stopped.

    Returns why it stops.
    """
    place = walk.place
    while place[ANCHOR] < walk.anchors.shape[0]:
        anchor = walk.anchors[place[ANCHOR]]
        if place[N_OFFERED] == 0:
            begin_anchor(anchor, lowest, walk)
        if not offer_touched(anchor, lowest, walk, items, query, found):
            return FULL
        place[ANCHOR] += 1
        if place[N_BELOW] > 1:
            return BELOW
    return END
