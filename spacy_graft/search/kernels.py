"""Kernels of the search: which (node, label) pairs violate the optimality condition most.

The arrays of the tree are those of :mod:`spacy_graft.index.kernels`. A pair's *ratio* is |v_ky| / λ_ky; it may enter
if its ratio is above C. ``row_of_node`` says what a node is: :data:`FREE`, :data:`EQUAL`, or the row of an active node
in ``active`` (rows × labels), which tells the labels for which it is in the model already.
"""

import numpy as np

from .._numba import njit
from ..index.kernels import LANES

#: A node that is in the model for no label, and one that has the documents of another node.
FREE, EQUAL = -1, -2


@njit
def keep_best(ratios, keys, count, wanted):
    """Move the ``wanted`` best of ``count`` candidates to the front, by (ratio, then key); returns the worst kept."""
    order = np.argsort(-ratios[:count], kind="mergesort")
    worst = ratios[order[wanted - 1]]
    tied = np.flatnonzero(ratios[:count] == worst)
    tied = tied[np.argsort(keys[tied], kind="mergesort")]
    above = np.flatnonzero(ratios[:count] > worst)
    kept = np.concatenate((above, tied[: wanted - above.shape[0]]))
    ratios[:wanted] = ratios[kept]
    keys[:wanted] = keys[kept]
    return worst


@njit
def weigh(value, inverse_weights, node, label):
    """|v| / λ; no columns of ``inverse_weights``: λ = 1; one column: the same for all labels."""
    if inverse_weights.shape[1] == 0:
        return abs(value)
    return abs(value) * inverse_weights[node, label if inverse_weights.shape[1] > 1 else 0]


@njit
def offer(ratio, key, label, threshold, wanted, ratios, keys, counters, peaks, excess):
    """Count one violation and, if it is among the best so far, put it with the candidates.

    ``counters`` is (candidates, violations, floor): a ratio below the floor is not among the best.
    """
    counters[1] += 1.0
    excess[label] += (ratio - threshold) ** 2
    peaks[label] = max(peaks[label], ratio)
    if ratio < counters[2]:
        return
    count = int(counters[0])
    ratios[count] = ratio
    keys[count] = key
    count += 1
    if count == ratios.shape[0]:
        counters[2] = keep_best(ratios, keys, count, wanted)
        count = wanted
    counters[0] = count


@njit
def any_above(row, bound):
    """Whether any lane is above the bound; without a branch a lane."""
    above = False
    for j in range(LANES):
        above |= abs(row[j]) > bound
    return above


@njit
def select(sums, begin, end, label, n_labels, inverse_weights, row_of_node, active, threshold, wanted,
           ratios, keys, counters, peaks, excess):  # fmt: skip
    """Offer the violating pairs of nodes ``begin .. end``, whose sums for labels ``label ..`` are in ``sums``."""
    for k in range(begin, end):
        row = sums[k - begin]
        if inverse_weights.shape[1] < 2 and not any_above(row, threshold / weigh(1.0, inverse_weights, k, 0)):
            continue
        state = row_of_node[k]
        if state == EQUAL:
            continue
        for j in range(min(LANES, n_labels - label)):
            y = label + j
            ratio = weigh(row[j], inverse_weights, k, y)
            if ratio > threshold and not (state >= 0 and active[state, y]):
                offer(ratio, np.int64(k) * n_labels + y, y, threshold, wanted, ratios, keys, counters, peaks, excess)


@njit
def note_peaks(sums, begin, end, label, n_labels, inverse_weights, peaks):
    """Raise each node's peak to its largest ratio among the labels in ``sums``, rounded up to float32."""
    for k in range(begin, end):
        peak = 0.0
        for j in range(min(LANES, n_labels - label)):
            peak = max(peak, weigh(sums[k - begin, j], inverse_weights, k, label + j))
        # One part in 2^23 is the distance of neighbours in float32; twice that is above any rounding.
        peaks[k] = max(peaks[k], np.float32(peak * (1.0 + 2.4e-7)))


@njit
def peaks_below(level, peaks):
    """Largest value of each node's subtree, itself included."""
    below = np.empty(peaks.shape[0], np.float32)
    carried = np.zeros(level.max() + 2 if level.shape[0] else 2, np.float32)
    for k in range(peaks.shape[0]):
        below[k] = max(peaks[k], carried[level[k] + 1])
        carried[level[k] + 1] = 0.0
        carried[level[k]] = max(carried[level[k]], below[k])
    return below


@njit
def drift(df, movement):
    """How far a sum over at most ``df`` documents can have moved, by ‖Δ‖₁, ‖Δ‖₂ and ‖Δ‖∞."""
    return min(movement[0], np.sqrt(df) * movement[1], df * movement[2])


@njit
def largest_inverse_weight(largest_inverse, node):
    return largest_inverse[node] if largest_inverse.shape[0] else np.float32(1.0)


@njit
def is_worth_reading(k, state, n_labels, peaks, moved, threshold):
    """Whether a node's own documents may hold a violation: not if only an active or equal column is tested there."""
    return state != EQUAL and not (state >= 0 and n_labels == 1) and peaks[k] + moved > threshold


@njit
def events_to_read(first, df, bounds, row_of_node, n_labels, peaks, peaks_below, largest_inverse, movement, threshold):
    """Events of the subtrees that :func:`descend` sums, if no prefix bound helps."""
    events = 0
    k = first.shape[0] - 1
    while k >= 0:
        moved = drift(df[k], movement) * largest_inverse_weight(largest_inverse, k)
        if peaks_below[k] + moved <= threshold:
            k = first[k] - 1
            continue
        if is_worth_reading(k, row_of_node[k], n_labels, peaks, moved, threshold):
            events += bounds[2 * k + 2] - bounds[2 * first[k]]
        k -= 1
    return events


@njit
def sums_of_node(node, first, bounds, events, net, residuals, sums, positive, negative):
    """Sum the residuals over the documents of a node, and their positive and negative parts apart."""
    sums[:] = 0.0
    positive[:] = 0.0
    negative[:] = 0.0
    for run in range(2 * first[node], 2 * node + 2):
        for e in range(bounds[run], bounds[run + 1]):
            net[events[e]] += 1 - 2 * (run & 1)
    for run in range(2 * first[node], 2 * node + 2):
        for e in range(bounds[run], bounds[run + 1]):
            if net[events[e]] > 0:
                net[events[e]] = 0
                for y in range(sums.shape[0]):
                    value = residuals[events[e], y]
                    sums[y] += value
                    positive[y] += max(value, 0.0)
                    negative[y] += max(-value, 0.0)


@njit
def prefix_bound(positive, negative):
    """μ of Ifrim, Bakir & Weikum, theorem 1, over all labels."""
    bound = 0.0
    for y in range(positive.shape[0]):
        bound = max(bound, positive[y], negative[y])
    return bound


@njit
def descend(first, df, bounds, events, residuals, inverse_weights, row_of_node, active, peaks, peaks_below,
            largest_inverse, movement, threshold, wanted, ratios, keys, counters, best_of_label, excess):  # fmt: skip
    """Offer every violating pair, on a walk from the last node to the first (parents before children).

    A subtree that is ruled out is skipped by going on left of its first node.
    """
    n_labels = residuals.shape[1]
    net = np.zeros(residuals.shape[0], np.int32)
    sums, positive, negative = np.empty(n_labels), np.empty(n_labels), np.empty(n_labels)
    k = first.shape[0] - 1
    while k >= 0:
        inverse = largest_inverse_weight(largest_inverse, k)
        moved = drift(df[k], movement) * inverse
        if peaks_below[k] + moved <= threshold:
            k = first[k] - 1
            continue
        state = row_of_node[k]
        if is_worth_reading(k, state, n_labels, peaks, moved, threshold):
            sums_of_node(k, first, bounds, events, net, residuals, sums, positive, negative)
            for y in range(n_labels):
                ratio = weigh(sums[y], inverse_weights, k, y)
                if ratio > threshold and not (state >= 0 and active[state, y]):
                    offer(ratio, np.int64(k) * n_labels + y, y, threshold, wanted,
                          ratios, keys, counters, best_of_label, excess)  # fmt: skip
            if prefix_bound(positive, negative) * inverse <= threshold:
                k = first[k] - 1
                continue
        k -= 1
