"""Kernels of the search: which (node, label) pairs violate the optimality condition most.

A pair may enter if its scaled gradient is above ``min_gradient``: v_ky / (λ_ky κ⁺) where it is positive, −v_ky / (λ_ky
κ⁻) where it is negative, with the factors κ⁺, κ⁻ ≥ 1 of the signs, which may depend on the label. So |v_ky| / λ_ky
bounds it, and is it where both factors are 1. The nodes are those of :mod:`spacy_graft.index.kernels`.
"""

import math
from typing import NamedTuple

import numpy as np

from .._numba import inlined, njit
from ..index.kernels import LANES

#: What ``row_of_node`` says of a node that is in the model for no label, and of one that has another node's documents.
FREE, EQUAL = -1, -2

#: Exact sums: each slot takes values of so many powers of two, as integers of so many bits at the least.
SLOT_POWERS, SLOT_BITS = 8, 24
#: The power of the first slot, below that of every float64, and how many slots there are.
FIRST_POWER, N_SLOTS = -1080, 264


class NodeQuery(NamedTuple):
    """The pairs that a search looks for.

    Attributes
    ----------
    inverse_weights : float32 (n_nodes, 0, 1 or labels)
        1 / λ_ky; no columns where all are 1, one where all labels share it.
    row_of_node : int32 (n_nodes)
        ``FREE``, ``EQUAL``, or the row of an active node in ``active``.
    active : bool (rows, labels)
        The pairs that are in the model, and not looked for.
    min_gradient : float
        What a scaled gradient must exceed.
    n_best : int
        How many of these pairs to return; 0 if only the largest scaled gradient is asked for.
    n_labels : int
    sign_inverses : float64 (2, labels)
        1 / κ⁺ and 1 / κ⁻; 0 forbids the sign.
    """

    inverse_weights: np.ndarray
    row_of_node: np.ndarray
    active: np.ndarray
    min_gradient: float
    n_best: int
    n_labels: int
    sign_inverses: np.ndarray


class NodeCandidates(NamedTuple):
    """What a search fills.

    Attributes
    ----------
    scaled_gradients : float64, keys : int64 (room)
        Candidates with their scaled gradients; a key is node * labels + label.
    n_candidates, n_violations : int64 (1)
        How many candidates there are, and how many violations have been met.
    floor : float64 (1)
        A scaled gradient below it is not among the best.
    first_label : int
        The labels are those from this one on.
    peaks : float64 (labels)
        Largest scaled gradient of the violations.
    squared_excess : int64 (labels, N_SLOTS)
        The sum of squared excesses |v| / λ − κ min_gradient, see :func:`add_exactly`.
    """

    scaled_gradients: np.ndarray
    keys: np.ndarray
    n_candidates: np.ndarray
    n_violations: np.ndarray
    floor: np.ndarray
    first_label: int
    peaks: np.ndarray
    squared_excess: np.ndarray


class Remembered(NamedTuple):
    """Bounds of an earlier pass.

    Attributes
    ----------
    peaks, peaks_below : float32 (n_nodes)
        Largest scaled gradient of each node, and of its subtree.
    largest_inverse : float32 (n_nodes or 0)
        Largest 1 / λ of the subtree; empty where all are 1.
    movement : float64 (3)
        How far residuals have moved since: ‖Δ‖₁, ‖Δ‖₂ and ‖Δ‖∞.
    """

    peaks: np.ndarray
    peaks_below: np.ndarray
    largest_inverse: np.ndarray
    movement: np.ndarray


@inlined
def weigh(value, inverse_weights, node, label):
    """|v| / λ."""
    if inverse_weights.shape[1] == 0:
        return abs(value)
    return abs(value) * inverse_weights[node, label if inverse_weights.shape[1] > 1 else 0]


@inlined
def scaled_gradient(value, node, label, query):
    """|v| / λ over the factor of the sign of v."""
    return weigh(value, query.inverse_weights, node, label) * query.sign_inverses[0 if value > 0.0 else 1, label]


@inlined
def is_active(node, label, query):
    """Whether a pair is in the model."""
    row = query.row_of_node[node]
    return row >= 0 and query.active[row, label]


@inlined
def add_exactly(value, slots):
    """Add a value, at least 0, rounded up to 24 bits or more; the sum does not depend on the order."""
    mantissa, power = math.frexp(min(value, 1.7e308))
    slot = (power - FIRST_POWER) // SLOT_POWERS
    slots[slot] += np.int64(math.ceil(math.ldexp(mantissa, SLOT_BITS + power - FIRST_POWER - SLOT_POWERS * slot)))


def sum_of_slots(slots):
    """What has been added: int64 (..., N_SLOTS) to float64."""
    powers = FIRST_POWER + SLOT_POWERS * np.arange(N_SLOTS) - SLOT_BITS
    return np.add.accumulate(np.ldexp(slots.astype(np.float64), powers), axis=-1)[..., -1]


@inlined
def offer(value, node, label, query, found):
    """Count a pair if it violates and, if it is among the best so far, put it with the candidates."""
    scaled = scaled_gradient(value, node, label, query)
    if scaled > query.min_gradient and not is_active(node, label, query):
        found.n_violations[0] += 1
        sign_inverse = query.sign_inverses[0 if value > 0.0 else 1, label]
        of_label = label - found.first_label
        add_exactly(((scaled - query.min_gradient) / sign_inverse) ** 2, found.squared_excess[of_label])
        found.peaks[of_label] = max(found.peaks[of_label], scaled)
        if scaled >= found.floor[0]:
            count = found.n_candidates[0]
            found.scaled_gradients[count] = scaled
            found.keys[count] = np.int64(node) * query.n_labels + label
            found.n_candidates[0] = count + 1


@inlined
def has_room(found, n_pairs):
    """Whether so many candidates can be added."""
    return found.n_candidates[0] + n_pairs <= found.scaled_gradients.shape[0]


@inlined
def any_above(sums, row, lanes, weight, bound):
    """Whether one of the first lanes of a row, weighted, is above the bound; without a branch a lane.

    Unused lanes are 0.
    """
    if lanes == 1:
        return abs(sums[row, 0]) * weight > bound
    above = False
    for j in range(LANES):
        above |= abs(sums[row, j]) * weight > bound
    return above


@inlined
def any_above_by_label(sums, row, lanes, inverse_weights, node, label, bound):
    """The same where each label has a weight of its own."""
    above = False
    if lanes == LANES:
        for j in range(LANES):
            above |= abs(sums[row, j]) * inverse_weights[node, label + j] > bound
    else:
        for j in range(lanes):
            above |= abs(sums[row, j]) * inverse_weights[node, label + j] > bound
    return above


@njit
def raise_largest(sums, begin, end, label, query, found):
    """Note the largest scaled gradient of all pairs, in ``peaks`` of its label and as the floor.

    Arguments as of :func:`select`. It is far cheaper than to offer them: nearly all nodes are below the largest so far.
    """
    lanes = min(sums.shape[1], query.n_labels - label)
    shared = query.inverse_weights.shape[1] < 2
    for k in range(begin, end):
        if shared:
            weight = weigh(1.0, query.inverse_weights, k, 0)
            above = any_above(sums, k - begin, lanes, weight, found.floor[0])
        else:
            above = any_above_by_label(sums, k - begin, lanes, query.inverse_weights, k, label, found.floor[0])
        if above and query.row_of_node[k] != EQUAL:
            for j in range(lanes):
                scaled = scaled_gradient(sums[k - begin, j], k, label + j, query)
                if scaled > found.floor[0] and not is_active(k, label + j, query):
                    found.peaks[label + j - found.first_label] = found.floor[0] = scaled


@njit
def select(sums, begin, start, end, label, query, found):
    """Offer the pairs of nodes ``start .. end``; ``sums`` are those of nodes from ``begin`` on for labels ``label ..``.

    Nearly all nodes are turned away by one look. Returns the node to go on from: before ``end`` if candidates have no
    room left.
    """
    lanes = min(sums.shape[1], query.n_labels - label)
    shared = query.inverse_weights.shape[1] < 2
    for k in range(start, end):
        if shared:
            weight = weigh(1.0, query.inverse_weights, k, 0)
            above = any_above(sums, k - begin, lanes, weight, query.min_gradient)
        else:
            above = any_above_by_label(sums, k - begin, lanes, query.inverse_weights, k, label, query.min_gradient)
        if above and query.row_of_node[k] != EQUAL:
            if not has_room(found, lanes):
                return k
            for j in range(lanes):
                offer(sums[k - begin, j], k, label + j, query, found)
    return end


@njit
def note_peaks(sums, begin, end, label, query, peaks):
    """Raise each node's peak to its largest scaled gradient among the labels in ``sums``, rounded up to float32."""
    for k in range(begin, end):
        peak = 0.0
        for j in range(min(sums.shape[1], query.n_labels - label)):
            peak = max(peak, weigh(sums[k - begin, j], query.inverse_weights, k, label + j))
        # One part in 2^23 is the distance of neighbours in float32; twice that is above any rounding.
        peaks[k] = max(peaks[k], np.float32(peak * (1.0 + 2.4e-7)))


@njit
def note_classes(sums, begin, end, label, query, df, peaks, inverses):
    """Raise the peak of each class of nodes to its largest |v| / λ among the labels in ``sums``, and so its 1 / λ.

    A class has the nodes whose numbers of documents, ``df``, have as many bits. Columns and pairs that are not looked
    for are left out.
    """
    for k in range(begin, end):
        row = query.row_of_node[k]
        if row != EQUAL:
            of_class = math.frexp(float(df[k - begin]))[1]
            for j in range(min(sums.shape[1], query.n_labels - label)):
                if not (row >= 0 and query.active[row, label + j]):
                    inverse = weigh(1.0, query.inverse_weights, k, label + j)
                    peaks[of_class] = max(peaks[of_class], abs(sums[k - begin, j]) * inverse)
                    inverses[of_class] = max(inverses[of_class], inverse)


def peaks_below(level, peaks):
    """Largest value of each node's subtree, itself included: float32."""
    below = np.empty(len(level), np.float32)
    raise_parents(level, peaks, np.zeros(int(level.max(initial=0)) + 2, np.float32), below)
    return below


@njit
def raise_parents(level, peaks, carried, below):
    """Fill ``below``; ``carried`` (levels + 1) is what finished nodes of each level give to their parent: all zero."""
    for k in range(peaks.shape[0]):
        below[k] = max(peaks[k], carried[level[k] + 1])
        carried[level[k] + 1] = 0.0
        carried[level[k]] = max(carried[level[k]], below[k])


@inlined
def drift(node, tree, remembered):
    """How far a scaled gradient in the subtree can have moved: its sum is over ``df`` documents at most."""
    df, movement = tree.df[node], remembered.movement
    return min(movement[0], np.sqrt(df) * movement[1], df * movement[2]) * largest_inverse_below(remembered, node)


@inlined
def largest_inverse_below(remembered, node):
    """Largest 1 / λ in the subtree of a node."""
    return remembered.largest_inverse[node] if remembered.largest_inverse.shape[0] else np.float32(1.0)


@inlined
def is_worth_reading(node, moved, query, remembered):
    """Whether a node's own documents may hold a violation: not if only an active or equal column is tested there."""
    row = query.row_of_node[node]
    tested = row != EQUAL and not (row >= 0 and query.n_labels == 1)
    return tested and remembered.peaks[node] + moved > query.min_gradient


@njit
def events_to_read(tree, query, remembered):
    """Events of the subtrees that :func:`descend` sums, if no prefix bound helps."""
    events = 0
    k = tree.first.shape[0] - 1
    while k >= 0:
        moved = drift(k, tree, remembered)
        if remembered.peaks_below[k] + moved <= query.min_gradient:
            k = tree.first[k] - 1
            continue
        if is_worth_reading(k, moved, query, remembered):
            events += tree.bounds[2 * k + 2] - tree.bounds[2 * tree.first[k]]
        k -= 1
    return events


@inlined
def sums_of_node(node, tree, net, residuals, sums):
    """Sum residuals over the documents of a node: in the rows of ``sums`` all, the positive, minus the negative."""
    bounds, events = tree.bounds, tree.events
    sums[:] = 0.0
    for run in range(2 * tree.first[node], 2 * node + 2):
        for e in range(bounds[run], bounds[run + 1]):
            net[events[e]] += 1 - 2 * (run & 1)
    for run in range(2 * tree.first[node], 2 * node + 2):
        for e in range(bounds[run], bounds[run + 1]):
            if net[events[e]] > 0:
                net[events[e]] = 0
                for y in range(sums.shape[1]):
                    value = residuals[events[e], y]
                    sums[0, y] += value
                    sums[1, y] += max(value, 0.0)
                    sums[2, y] += max(-value, 0.0)


@njit
def descend(start, tree, residuals, query, remembered, found):
    """Offer every pair that no bound rules out, on a walk from node ``start`` to the first (parents before children).

    A subtree that is ruled out is skipped by going on left of its first node. The prefix bound is μ of Ifrim, Bakir &
    Weikum, theorem 1: the larger of the sums over the positive and over the negative residuals. Returns the node to go
    on from: -1, or a node if candidates have no room left.
    """
    net = np.zeros(residuals.shape[0], np.int32)
    sums = np.empty((3, query.n_labels))
    k = start
    while k >= 0 and has_room(found, query.n_labels):
        moved = drift(k, tree, remembered)
        if remembered.peaks_below[k] + moved <= query.min_gradient:
            k = tree.first[k] - 1
            continue
        if is_worth_reading(k, moved, query, remembered):
            sums_of_node(k, tree, net, residuals, sums)
            for y in range(query.n_labels):
                offer(sums[0, y], k, y, query, found)
            if sums[1:].max() * largest_inverse_below(remembered, k) <= query.min_gradient:
                k = tree.first[k] - 1
                continue
        k -= 1
    return k


def moved_events(tree, kept, rank, n_documents):
    """Bounds and events of the ``kept`` nodes, numbered by ``rank``, with those of the others below them.

    What is not kept is whole subtrees; those of the tree's roots vanish.
    """
    n_kept = np.count_nonzero(kept)
    bounds = np.zeros(2 * n_kept + 1, tree.bounds.dtype)
    events = np.empty(len(tree.events), np.int32)
    owner = owners(tree.level, kept, rank, int(tree.level.max(initial=0)) + 2)
    move_events(tree.bounds, tree.events, owner, bounds, bounds[:-1].copy(), events)
    n_left = leave_net(bounds, events, np.zeros(n_documents, np.int32))
    return bounds, events[:n_left].copy()


@njit
def owners(level, kept, rank, n_levels):
    """Of each node the rank of the nearest kept one of its ancestors and itself, or -1."""
    owner = np.empty(level.shape[0], np.int32)
    owner_at = np.full(n_levels, -1, np.int32)  # by level + 1, of the last node met there
    for k in range(level.shape[0] - 1, -1, -1):
        owner[k] = rank[k] if kept[k] else owner_at[level[k]]
        owner_at[level[k] + 1] = owner[k]
    return owner


@njit
def move_events(old_bounds, old_events, owner, bounds, place, events):
    """Fill bounds (zeros before) and events of the owners; ``place`` is room for as many bounds, but the last."""
    for k in range(owner.shape[0]):
        if owner[k] >= 0:
            for part in range(2):
                run = 2 * k + part
                bounds[2 * owner[k] + part + 1] += old_bounds[run + 1] - old_bounds[run]
    for run in range(place.shape[0]):
        place[run] = bounds[run]
        bounds[run + 1] += bounds[run]
    for k in range(owner.shape[0]):
        for part in range(2 if owner[k] >= 0 else 0):
            run = 2 * owner[k] + part
            for e in range(old_bounds[2 * k + part], old_bounds[2 * k + part + 1]):
                events[place[run]] = old_events[e]
                place[run] += 1


@njit
def leave_net(bounds, events, net):
    """Take out adds and cancels of the same document at the same node, in place; returns how many events are left."""
    n_left = 0
    begin = bounds[0]
    for k in range((bounds.shape[0] - 1) // 2):
        middle, end = bounds[2 * k + 1], bounds[2 * k + 2]
        for e in range(begin, end):
            net[events[e]] += 1 if e < middle else -1
        for e in range(begin, end):
            if e == middle:
                bounds[2 * k + 1] = n_left
            sign = 1 if e < middle else -1
            if net[events[e]] * sign > 0:
                net[events[e]] -= sign
                events[n_left] = events[e]
                n_left += 1
        if middle == end:
            bounds[2 * k + 1] = n_left
        bounds[2 * k + 2] = n_left
        begin = end
    return n_left
