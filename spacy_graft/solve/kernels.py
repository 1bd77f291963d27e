"""Kernels of the restricted problem: products with the active columns, and coordinate descent on a quadratic model.

Labels come first: ``probabilities``, ``moved`` and the like are float64 (labels, documents), so that what belongs to
one coordinate lies together. Pair ``j`` has label ``labels[j]`` and the documents of column ``rows[j]``. A feature's
value in document ``i`` is ``scale[i]`` (a_i) if it occurs there, times its entry of ``values`` unless that is empty or
the column is bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._numba import inlined, njit
from .columns import PackedColumns
from .vector_kernels import (
    BIT_COUNTS,
    PLACES,
    add_where,
    places_of_bits,
    sum_eight,
    sum_four,
    sum_one,
    sum_sixteen,
    weighted_sum_eight,
    weighted_sum_four,
    weighted_sum_one,
    weighted_sum_sixteen,
)

#: Rows whose sums are in the processor's cache while they are written column by column.
ROWS_OF_LANES = 256


class Pairs(NamedTuple):
    """Pairs and the columns of their features, as above."""

    columns: PackedColumns
    rows: np.ndarray
    labels: np.ndarray

    def some(self, begin: int, end: int) -> Pairs:
        """The pairs from ``begin`` to before ``end``."""
        return self._replace(rows=self.rows[begin:end], labels=self.labels[begin:end])


class Quadratic(NamedTuple):
    """A quadratic model of the loss, and the penalty; one entry a pair where nothing else is said.

    Attributes
    ----------
    gradient, curvature : float64
        v, and the diagonal of the Hessian.
    penalty_weights : float64
        λ.
    upper, lower, quadratic : float64
        The penalty, see :class:`spacy_graft.solve.penalties.PairPenalty`.
    scale, importance : float64 (documents)
        a_i and s_i.
    probabilities, slope : float64 (labels, documents)
        p, and s a p.
    neighbour_starts, neighbours, coupling
        The rows of Q: the entries of pair ``j`` are at ``neighbour_starts[j] : neighbour_starts[j + 1]`` of the other
        two.
    own : float64
        The diagonal of Q.
    """

    gradient: np.ndarray
    curvature: np.ndarray
    penalty_weights: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    quadratic: np.ndarray
    scale: np.ndarray
    importance: np.ndarray
    probabilities: np.ndarray
    slope: np.ndarray
    neighbour_starts: np.ndarray
    neighbours: np.ndarray
    coupling: np.ndarray
    own: np.ndarray


@inlined
def column_documents(starts, entries, are_bits, row, room):
    """Write the documents of a column, ascending, into ``room``, int32 with 8 more than there are; returns how many."""
    begin, end = starts[row], starts[row + 1]
    if are_bits[row]:
        return places_of_bits(entries, begin, end, PLACES, BIT_COUNTS, room)
    for e in range(begin, end):
        room[e - begin] = entries[e]
    return end - begin


@inlined
def place_of_document(documents, begin, end, document):
    """The first place from ``begin`` on whose document is not before ``document``; ``end`` if there is none."""
    while begin < end:
        middle = (begin + end) // 2
        if documents[middle] < document:
            begin = middle + 1
        else:
            end = middle
    return begin


@njit
def spread(pairs, weights, sums, first, last):
    """Add each pair's weight to those of its documents that are ``first`` or later and before ``last``.

    This is sums (labels, documents) += X w, without the document weights. ``first`` is a multiple of 8.
    """
    (starts, entries, values, are_bits), rows, labels = pairs
    for j in range(rows.shape[0]):
        weight = weights[j]
        if weight != 0.0:
            out = sums[labels[j]]
            begin, end = starts[rows[j]], starts[rows[j] + 1]
            if are_bits[rows[j]]:
                add_where(out, entries, begin, first // 8, last // 8, weight)
                for i in range(last // 8 * 8, last):
                    if entries[begin + i // 32] >> (i % 32) & 1:
                        out[i] += weight
            else:
                begin = place_of_document(entries, begin, end, first) if first > 0 else begin
                end = place_of_document(entries, begin, end, last) if last < out.shape[0] else end
                for e in range(begin, end):
                    out[entries[e]] += weight * values[e] if values.shape[0] else weight


@inlined
def column_sum(totals, documents, n):
    """Sum of ``totals`` over ``documents[:n]``, in four interleaved sums that need not wait for one another."""
    a = b = c = d = 0.0
    e = 0
    while e + 3 < n:
        a += totals[documents[e]]
        b += totals[documents[e + 1]]
        c += totals[documents[e + 2]]
        d += totals[documents[e + 3]]
        e += 4
    while e < n:
        a += totals[documents[e]]
        e += 1
    return (a + b) + (c + d)


@inlined
def weighted_column_sum(totals, documents, n, values, begin, has_values, squared):
    """The sum one after the other, of each document's total times the feature's value, or the square of that."""
    total = 0.0
    for e in range(n):
        value = values[begin + e] if has_values else 1.0
        total += totals[documents[e]] * (value**2 if squared else value)
    return total


def collect(pairs, totals, sums, squared=False):
    """Sum totals (labels, documents) over each pair's documents: sums = Xᵀ totals, document weights already in it.

    If asked, with the features' values squared.
    """
    # numba would compile calls with and without the last argument.
    collect_columns(pairs, totals, sums, squared)


@njit
def collect_columns(pairs, totals, sums, squared):
    """As :func:`collect`."""
    (starts, entries, values, are_bits), rows, labels = pairs
    room = np.empty(totals.shape[1] + 8, np.int32)
    for j in range(rows.shape[0]):
        begin, n = starts[rows[j]], column_documents(starts, entries, are_bits, rows[j], room)
        if values.shape[0]:
            has_values = not are_bits[rows[j]]
            sums[j] = weighted_column_sum(totals[labels[j]], room, n, values, begin, has_values, squared)
        else:
            sums[j] = column_sum(totals[labels[j]], room, n)


@njit
def fill(pairs, totals, first, dense):
    """Write the totals (documents) of each pair's documents, times the values, into its row of ``dense``.

    ``dense`` is float32 (pairs, some documents), zeros before; its documents are those from ``first`` on, a multiple of
    32.
    """
    (starts, entries, values, are_bits), rows, _ = pairs
    last = min(first + dense.shape[1], totals.shape[0])
    room = np.empty(last - first + 40, np.int32)
    for j in range(rows.shape[0]):
        begin, end = starts[rows[j]], starts[rows[j] + 1]
        if are_bits[rows[j]]:
            words = begin + first // 32, begin + (last + 31) // 32
            for e in range(places_of_bits(entries, words[0], words[1], PLACES, BIT_COUNTS, room)):
                dense[j, room[e]] = totals[first + room[e]]
        else:
            for e in range(place_of_document(entries, begin, end, first), place_of_document(entries, begin, end, last)):
                dense[j, entries[e] - first] = totals[entries[e]]
                if values.shape[0] > 0:
                    dense[j, entries[e] - first] *= values[e]


@njit
def sums_of_rows(starts, entries, values, lanes, sums):
    """Sum rows of ``lanes`` over the entries of each row of a sparse matrix, times its values if it has some.

    Row ``k`` has the entries ``entries[starts[k] : starts[k + 1]]``. ``lanes`` (n, width) and ``sums`` (rows, width)
    have one column, or a multiple of four.
    """
    width, n_rows, has_values = lanes.shape[1], starts.shape[0] - 1, values.shape[0] > 0
    first = 0
    while first < width:
        # Columns outside, so that those of all rows of ``lanes`` stay in the cache.
        n_columns = 16 if first + 16 <= width else 8 if first + 8 <= width else 4 if first + 4 <= width else 1
        for k in range(n_rows):
            start, stop = starts[k], starts[k + 1]
            if has_values:
                if n_columns == 16:
                    weighted_sum_sixteen(lanes, first, entries, values, start, stop, sums, k)
                elif n_columns == 8:
                    weighted_sum_eight(lanes, first, entries, values, start, stop, sums, k)
                elif n_columns == 4:
                    weighted_sum_four(lanes, first, entries, values, start, stop, sums, k)
                else:
                    weighted_sum_one(lanes, first, entries, values, start, stop, sums, k)
            elif n_columns == 16:
                sum_sixteen(lanes, first, entries, values, start, stop, sums, k)
            elif n_columns == 8:
                sum_eight(lanes, first, entries, values, start, stop, sums, k)
            elif n_columns == 4:
                sum_four(lanes, first, entries, values, start, stop, sums, k)
            else:
                sum_one(lanes, first, entries, values, start, stop, sums, k)
        first += n_columns


@njit
def products_of_rows(starts, entries, values, lanes, products, begin, end):
    """Write the same of the rows ``begin .. end``, each column of ``lanes`` for itself: into ``products`` (n, rows)."""
    sums = np.empty((ROWS_OF_LANES, lanes.shape[1]))
    for first in range(begin, end, ROWS_OF_LANES):
        last = min(first + ROWS_OF_LANES, end)
        sums_of_rows(starts[first : last + 1], entries, values, lanes, sums)
        for column in range(products.shape[0]):
            for k in range(first, last):
                products[column, k] = sums[k - first, column]


@inlined
def proximal_step(x, upper, lower):
    """The minimum of (w - x)² / 2 + upper max(w, 0) + lower max(-w, 0)."""
    if x > upper:
        return x - upper
    if x < -lower:
        return x + lower
    return 0.0


@njit
def descent_sweep(pairs, order, model, moved, mean_moved, weights, network_gradient, normalisers):
    """One sweep of coordinate descent over the pairs in ``order``.

    The Hessian in the scores is s (diag p - p pᵀ) wherever scores are normalised together. ``moved`` (labels,
    documents) is the change of the scores so far and ``mean_moved`` (normalisers) its mean under p. The gradient of
    pair (k, y) is then ``gradient - Σ_i∈k slope_yi (moved_yi - mean_moved_i)``. ``network_gradient`` (pairs) is 2 Q w
    and is kept so. ``normalisers`` is the normaliser of each document; None where every document has one of its own,
    for which numba compiles code without this look-up.

    Returns
    -------
    float
        The largest change of a coordinate, in units of |v| / λ.
    """
    (starts, entries, values, are_bits), rows, labels = pairs
    scale = model.scale
    room = np.empty(scale.shape[0] + 8, np.int32)
    largest = 0.0
    for j in order:
        y = labels[j]
        begin, n = starts[rows[j]], column_documents(starts, entries, are_bits, rows[j], room)
        has_values = values.shape[0] > 0 and not are_bits[rows[j]]
        slope, moved_y, probability = model.slope[y], moved[y], model.probabilities[y]
        v = model.gradient[j] - 2.0 * model.quadratic[j] * weights[j] - network_gradient[j]
        for e in range(n):
            i = room[e]
            change = slope[i] * (moved_y[i] - mean_moved[i if normalisers is None else normalisers[i]])
            v -= change * values[begin + e] if has_values else change
        h = model.curvature[j] + 2.0 * (model.quadratic[j] + model.own[j])
        weight = proximal_step(weights[j] + v / h, model.upper[j] / h, model.lower[j] / h)
        step = weight - weights[j]
        if step != 0.0:
            weights[j] = weight
            for e in range(n):
                i = room[e]
                change = scale[i] * step
                if has_values:
                    change *= values[begin + e]
                moved_y[i] += change
                mean_moved[i if normalisers is None else normalisers[i]] += probability[i] * change
            for e in range(model.neighbour_starts[j], model.neighbour_starts[j + 1]):
                network_gradient[model.neighbours[e]] += 2.0 * model.coupling[e] * step
            largest = max(largest, abs(step) * h / model.penalty_weights[j])
    return largest


@njit
def intercept_sweep(gradient, curvature, model, moved, mean_moved, intercepts):
    """The same for the intercepts, one label after the other; ``gradient`` and ``curvature`` are theirs."""
    importance = model.importance
    largest = 0.0
    for y in range(gradient.shape[0]):
        probability, moved_y = model.probabilities[y], moved[y]
        v = gradient[y]
        for i in range(moved.shape[1]):
            v -= importance[i] * probability[i] * (moved_y[i] - mean_moved[i])
        step = v / curvature[y]
        intercepts[y] += step
        for i in range(moved.shape[1]):
            moved_y[i] += step
            mean_moved[i] += probability[i] * step
        largest = max(largest, abs(v))
    return largest
