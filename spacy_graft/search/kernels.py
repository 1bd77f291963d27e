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
