"""Kernels of the search over combinations of items: a depth-first walk of the item-set tree.

Items are ranked once and for all, rare ones first; a combination belongs to the subtree of its member of the lowest
rank, its *anchor*. For one label, the walk sums the residuals over what an anchor shares with each item of a higher
rank, positive and negative ones apart. So it has the gradients t⁺ - t⁻ of all pairs of the anchor and, with
max(t⁺, t⁻), the bounds of everything below them (Okanohara & Tsujii 2009, eq. 5). For triples the same is done once
more over the documents of the anchor alone, with the items whose pairs are not ruled out.
"""

from typing import NamedTuple

import numpy as np

from .._numba import njit
from ..index.item_kernels import entry_key
from .weighting import Weighting, inverse_weight, largest_inverse_weight

# Rows of sums: over the documents with positive and with negative residuals, of what is inside and outside the label,
# and whether a column has been met.
POSITIVE, NEGATIVE, INSIDE, OUTSIDE, MET = range(5)

#: What may remain of the residuals, in units of the limit, when the sums are first looked at; each time half of it.
LOOK_FIRST = 0.5
#: What rounding may add to a sum, relative to it.
ROUNDING = 1e-9
#: Bits of an item in the code of a combination, and the mask of as many.
BITS = 21
MASK = (1 << BITS) - 1


class ItemColumns(NamedTuple):
    """The columns of all items, and what tells columns apart.

    Attributes
    ----------
    starts : int64 (items + 1), documents : int32, values : float64 (as many as documents, or none)
        See :class:`spacy_graft.index.items.ItemIndex`.
    numbers : int64 (documents)
        What each document adds to the key of a column.
    taken : int64
        Sorted keys of the columns that are features of their own: combinations with such a column are none.
    """

    starts: np.ndarray
    documents: np.ndarray
    values: np.ndarray
    numbers: np.ndarray
    taken: np.ndarray


class WalkQuery(NamedTuple):
    """What one label's walk looks for.

    Attributes
    ----------
    label, degree, min_df, n_best : int
    residuals : float64 (documents)
        a_i δ_iy.
    shares : float64 (documents, 2)
        What of each document is inside and outside the label; no rows where weights do not depend on it.
    weighting : Weighting
        1 / λ of a combination.
    min_gradient : float
        What a scaled gradient must exceed.
    count_all : bool
        Whether all violations are counted; otherwise only those that may be among the best.
    active_keys : int64, active : bool (as many)
        Sorted keys of active combinations, and whether the label has them.
    """

    label: int
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


class CombinationCandidates(NamedTuple):
    """What the walks fill, label after label: the best combinations so far, no column twice for a label.

    Attributes
    ----------
    gradients : float64, codes, keys, labels : int64 (room)
        Candidates with their scaled gradients. A code has the members in ascending order, + 1, :data:`BITS` bits each,
        the last ones lowest; 0 for none.
    slots : int32
        Hash table of the candidates by key and label.
    n_candidates, n_violations : int64 (1)
        How many candidates there are, and how many violations have been met.
    floor : float64 (1)
        A scaled gradient below it is not among the best.
    peaks, squared_excess : float64 (labels)
        Largest scaled gradient of the violations, and Σ (|v| / λ − min_gradient)².
    """

    gradients: np.ndarray
    codes: np.ndarray
    keys: np.ndarray
    labels: np.ndarray
    slots: np.ndarray
    n_candidates: np.ndarray
    n_violations: np.ndarray
    floor: np.ndarray
    peaks: np.ndarray
    squared_excess: np.ndarray


class Database(NamedTuple):
    """Documents and the items in them, some of each; an item is a column here.

    Attributes
    ----------
    row_starts : int64 (rows + 1), columns : int32, row_values : float64 (as many, or none)
        The columns of each row (a document), ascending, and what they are worth.
    column_starts : int64 (columns + 1), rows : int32, places : int64
        Where each column stands: in which rows, and at which of their places.
    weights : float64 (rows)
        The residual, times the value of the anchor.
    shares : float64 (rows, 2)
        What of the document is inside and outside the label; no rows where that does not matter.
    """

    row_starts: np.ndarray
    columns: np.ndarray
    row_values: np.ndarray
    column_starts: np.ndarray
    rows: np.ndarray
    places: np.ndarray
    weights: np.ndarray
    shares: np.ndarray


@njit
def with_columns(row_starts, columns, row_values, n_columns, weights, shares):
    """A database from its rows: finds where each column stands."""
    column_starts = np.zeros(n_columns + 1, np.int64)
    for column in columns:
        column_starts[column + 1] += 1
    for column in range(n_columns):
        column_starts[column + 1] += column_starts[column]
    place = column_starts[:-1].copy()
    rows = np.empty(columns.shape[0], np.int32)
    places = np.empty(columns.shape[0], np.int64)
    for row in range(row_starts.shape[0] - 1):
        for e in range(row_starts[row], row_starts[row + 1]):
            to = place[columns[e]]
            place[columns[e]] = to + 1
            rows[to] = row
            places[to] = e
    return Database(row_starts, columns, row_values, column_starts, rows, places, weights, shares)


@njit
def database_of(starts, documents, values, chosen, order, residuals, shares):
    """The database of the chosen items, numbered in their order, and of the documents in theirs, for one label.

    Documents whose residual is 0 are left out where no shares are asked for.
    """
    row_of = np.full(residuals.shape[0], -1, np.int32)
    kept = np.empty(residuals.shape[0], np.int64)
    n_rows = 0
    for i in order:
        if residuals[i] != 0.0 or shares.shape[0] > 0:
            row_of[i] = n_rows
            kept[n_rows] = i
            n_rows += 1
    kept = kept[:n_rows]
    row_starts = np.zeros(n_rows + 1, np.int64)
    for item in chosen:
        for e in range(starts[item], starts[item + 1]):
            if row_of[documents[e]] >= 0:
                row_starts[row_of[documents[e]] + 1] += 1
    for row in range(n_rows):
        row_starts[row + 1] += row_starts[row]
    place = row_starts[:-1].copy()
    columns = np.empty(row_starts[n_rows], np.int32)
    row_values = np.empty(row_starts[n_rows] if values.shape[0] > 0 else 0)
    for column in range(chosen.shape[0]):
        item = chosen[column]
        for e in range(starts[item], starts[item + 1]):
            row = row_of[documents[e]]
            if row >= 0:
                columns[place[row]] = column
                if values.shape[0] > 0:
                    row_values[place[row]] = values[e]
                place[row] += 1
    return with_columns(
        row_starts, columns, row_values, chosen.shape[0], residuals[kept], shares[kept] if shares.shape[0] else shares
    )


@njit
def part_of(database, column, number_of, n_columns):
    """The rows that hold a column, with the later columns that have a number in ``number_of``, so numbered."""
    n_rows = 0
    n_entries = 0
    for e in range(database.column_starts[column], database.column_starts[column + 1]):
        n_rows += 1
        n_entries += database.row_starts[database.rows[e] + 1] - database.places[e] - 1
    real = database.row_values.shape[0] > 0
    shared = database.shares.shape[0] > 0
    row_starts = np.zeros(n_rows + 1, np.int64)
    columns = np.empty(n_entries, np.int32)
    row_values = np.empty(n_entries if real else 0)
    weights = np.empty(n_rows)
    shares = np.empty((n_rows if shared else 0, 2))
    end = 0
    for r in range(n_rows):
        e = database.column_starts[column] + r
        row, place = database.rows[e], database.places[e]
        weights[r] = database.weights[row] * database.row_values[place] if real else database.weights[row]
        if shared:
            shares[r] = database.shares[row]
        for q in range(place + 1, database.row_starts[row + 1]):
            number = number_of[database.columns[q]]
            if number >= 0:
                columns[end] = number
                if real:
                    row_values[end] = database.row_values[q]
                end += 1
        row_starts[r + 1] = end
    return with_columns(row_starts, columns[:end], row_values[:end] if real else row_values, n_columns, weights, shares)


@njit
def add_shared(column, database, limit, sums, touched):
    """Add to ``sums`` what a column shares with those after it; returns how many it meets, named in ``touched``.

    Where it meets many, all are looked at afterwards; where few, each is noted when it is met. Rows come by falling
    residual, so that most is known after a few: it ends, as if it had met nothing, where the rest can lift none of the
    sums above ``limit`` (the example-wise filter of Okanohara & Tsujii 2009, §4.2).
    """
    row_starts, columns, row_values, column_starts, rows, places, weights, shares = database
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
            add_weight(sums[INSIDE], columns, first, last, shares[row, 0], row_values[:0])
            add_weight(sums[OUTSIDE], columns, first, last, shares[row, 1], row_values[:0])
        weight = weights[row]
        if row_values.shape[0] > 0:
            weight *= row_values[place]
        add_weight(sums[POSITIVE if weight > 0.0 else NEGATIVE], columns, first, last, abs(weight), row_values)
        remaining -= abs(weights[row])
        if remaining <= look_at and not note:
            if largest_after(column, n_columns, sums) + remaining <= limit * (1.0 - ROUNDING):
                sums[:, column + 1 : n_columns] = 0.0
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


@njit
def largest_after(column, n_columns, sums):
    """The largest sum on one side of any column after this."""
    largest = 0.0
    for other in range(column + 1, n_columns):
        largest = max(largest, sums[POSITIVE, other], sums[NEGATIVE, other])
    return largest


@njit
def add_weight(sums, columns, first, last, weight, row_values):
    """Add a weight to the sums of the columns of a part of a row, times their values."""
    if row_values.shape[0] > 0:
        for q in range(first, last):
            sums[columns[q]] += weight * row_values[q]
    elif weight != 0.0:
        for q in range(first, last):
            sums[columns[q]] += weight


@njit
def coded(a, b, c):
    """The code of items a < b < c; c is -1 for a pair. Pairs come before triples of the same members."""
    return ((a + 1) << (2 * BITS)) | ((b + 1) << BITS) | (c + 1)


@njit
def is_simpler(code, other):
    """Whether a combination has fewer members than another, or as many and comes first."""
    if (code & MASK == 0) != (other & MASK == 0):
        return code & MASK == 0
    return code < other


@njit
def is_in(key, keys):
    """Whether sorted keys have a key."""
    place = np.searchsorted(keys, key)
    return place < keys.shape[0] and keys[place] == key


@njit
def is_active(key, query):
    """Whether the label has a combination with this column already."""
    place = np.searchsorted(query.active_keys, key)
    found = place < query.active_keys.shape[0] and query.active_keys[place] == key
    return found and query.active[place]


@njit
def combination_column(a, b, c, items, documents, values):
    """Write the column of a combination; returns how many documents it has. Values only where items have them."""
    starts, of_all, values_of_all = items.starts, items.documents, items.values
    real = values_of_all.shape[0] > 0
    i, j, k = starts[a], starts[b], starts[max(c, 0)]
    df = 0
    while i < starts[a + 1] and j < starts[b + 1]:
        document = of_all[i]
        if of_all[j] < document:
            j += 1
        elif of_all[j] > document:
            i += 1
        else:
            shared = True
            if c >= 0:
                while k < starts[c + 1] and of_all[k] < document:
                    k += 1
                shared = k < starts[c + 1] and of_all[k] == document
            if shared:
                documents[df] = document
                if real:
                    values[df] = values_of_all[i] * values_of_all[j] * (values_of_all[k] if c >= 0 else 1.0)
                df += 1
            i += 1
            j += 1
    return df


@njit
def key_of(documents, values, numbers):
    """Key of a column; no values where all are 1."""
    key = 0
    for e in range(documents.shape[0]):
        number = numbers[documents[e]]
        key += entry_key(values[e], number) if values.shape[0] else number
    return key


@njit
def combination_columns(codes, items):
    """Columns of combinations, and their keys."""
    starts = np.zeros(codes.shape[0] + 1, np.int64)
    keys = np.empty(codes.shape[0], np.int64)
    room = 0
    for code in codes:
        a = (code >> (2 * BITS)) - 1
        room += items.starts[a + 1] - items.starts[a]
    documents = np.empty(room, np.int32)
    values = np.empty(room if items.values.shape[0] else 0)
    for r in range(codes.shape[0]):
        a, b, c = (codes[r] >> (2 * BITS)) - 1, ((codes[r] >> BITS) & MASK) - 1, (codes[r] & MASK) - 1
        df = combination_column(a, b, c, items, documents[starts[r] :], values[starts[r] :])
        starts[r + 1] = starts[r] + df
        of_row = slice(starts[r], starts[r + 1])
        keys[r] = key_of(documents[of_row], values[of_row], items.numbers)
    return starts, documents[: starts[-1]].copy(), values[: starts[-1]].copy(), keys


@njit
def inverse_weight_of(documents, values, shares, weighting):
    """1 / λ of a column, exactly."""
    inside = outside = total = squares = 0.0
    for e in range(documents.shape[0]):
        x = values[e] if values.shape[0] else 1.0
        total += x
        squares += x * x
        if shares.shape[0]:
            inside += shares[documents[e], 0]
            outside += shares[documents[e], 1]
    return inverse_weight(weighting, documents.shape[0], inside, outside, total, squares)


@njit
def gradient_of(documents, values, residuals):
    """Σ x δ over a column."""
    gradient = 0.0
    for e in range(documents.shape[0]):
        gradient += residuals[documents[e]] * (values[e] if values.shape[0] else 1.0)
    return gradient


@njit
def combination_inverse_weights(codes, items, shares, weighting):
    """1 / λ of combinations for one label."""
    starts, documents, values, _ = combination_columns(codes, items)
    inverse = np.empty(codes.shape[0])
    for r in range(codes.shape[0]):
        of_row = slice(starts[r], starts[r + 1])
        inverse[r] = inverse_weight_of(documents[of_row], values[of_row], shares, weighting)
    return inverse


@njit
def bounds_below(items, shares, query):
    """max(t⁺, t⁻) / λ of each item with the smallest λ that a combination with it can have; and this 1 / λ."""
    starts, documents, values = items.starts, items.documents, items.values
    bounds = np.empty(starts.shape[0] - 1)
    inverses = np.empty(bounds.shape[0])
    for k in range(bounds.shape[0]):
        positive = negative = 0.0
        for e in range(starts[k], starts[k + 1]):
            gradient = query.residuals[documents[e]] * (values[e] if values.shape[0] else 1.0)
            positive += max(gradient, 0.0)
            negative += max(-gradient, 0.0)
        inverses[k] = largest_inverse_weight(query.weighting, query.min_df, shares[k, 0], shares[k, 1])
        bounds[k] = max(positive, negative) * inverses[k]
    return bounds, inverses


@njit
def slot_of(key, label, found):
    """The slot of a column and label in the hash table: where it is, or where it would be."""
    mask = found.slots.shape[0] - 1
    slot = (key ^ (key >> 32) ^ (label * 40503)) & mask
    while found.slots[slot] >= 0:
        candidate = found.slots[slot]
        if found.keys[candidate] == key and found.labels[candidate] == label:
            break
        slot = (slot + 1) & mask
    return slot


@njit
def keep_best_combinations(found, n_best):
    """Move the ``n_best`` best candidates to the front, by (scaled gradient, code, label), and raise the floor."""
    count = found.n_candidates[0]
    gradients = found.gradients[:count]
    worst = np.sort(gradients)[count - n_best]
    above = np.flatnonzero(gradients > worst)
    tied = np.flatnonzero(gradients == worst)
    n_tied = n_best - above.shape[0]
    codes = found.codes[tied]
    last_code = np.sort(codes)[n_tied - 1]
    # The labels of one code come in their order.
    tied = np.concatenate((tied[codes < last_code], tied[codes == last_code]))[:n_tied]
    kept = np.concatenate((above, tied))
    found.gradients[:n_best] = gradients[kept]
    found.codes[:n_best] = found.codes[kept]
    found.keys[:n_best] = found.keys[kept]
    found.labels[:n_best] = found.labels[kept]
    found.slots[:] = -1
    for candidate in range(n_best):
        found.slots[slot_of(found.keys[candidate], found.labels[candidate], found)] = candidate
    found.n_candidates[0] = n_best
    found.floor[0] = worst


@njit
def offer_combination(bound, a, b, c, items, query, found):
    """Count a combination if it violates and, if it is among the best so far, put it with the candidates.

    ``bound`` is its scaled gradient or more. One that cannot be among the best is counted as it is bounded: with
    documents of unknown labels or together with others of the same column, a little too high.
    """
    floor = found.floor[0]
    if bound < floor:
        found.n_violations[0] += 1
        found.squared_excess[query.label] += (bound - query.min_gradient) ** 2
        found.peaks[query.label] = max(found.peaks[query.label], bound)
        return
    if b < a:
        a, b = b, a
    if c >= 0 and c < b:
        b, c = c, b
        if b < a:
            a, b = b, a
    size = items.starts[a + 1] - items.starts[a]
    documents, values = np.empty(size, np.int32), np.empty(size if items.values.shape[0] else 0)
    df = combination_column(a, b, c, items, documents, values)
    documents, values = documents[:df], values[:df]
    inverse = inverse_weight_of(documents, values, query.shares, query.weighting)
    scaled = abs(gradient_of(documents, values, query.residuals)) * inverse
    key = key_of(documents, values, items.numbers)
    if scaled <= query.min_gradient or df < query.min_df or is_in(key, items.taken) or is_active(key, query):
        return
    code = coded(a, b, c)
    slot = slot_of(key, query.label, found)
    candidate = found.slots[slot]
    if candidate >= 0:
        if is_simpler(code, found.codes[candidate]):
            found.codes[candidate] = code
        return
    found.n_violations[0] += 1
    found.squared_excess[query.label] += (scaled - query.min_gradient) ** 2
    found.peaks[query.label] = max(found.peaks[query.label], scaled)
    if scaled < floor:
        return
    candidate = found.n_candidates[0]
    found.slots[slot] = candidate
    found.gradients[candidate] = scaled
    found.codes[candidate] = code
    found.keys[candidate] = key
    found.labels[candidate] = query.label
    found.n_candidates[0] = candidate + 1
    if candidate + 1 == found.gradients.shape[0]:
        keep_best_combinations(found, query.n_best)


@njit
def lowest_of_use(query, found):
    """What a bound must be above to matter."""
    return query.min_gradient if query.count_all else max(query.min_gradient, found.floor[0])


@njit
def scaled_gradient_bounds(sums, column, query):
    """The scaled gradient of a combination (or a little more), and the bound of everything below it."""
    positive, negative = sums[POSITIVE, column], sums[NEGATIVE, column]
    inside, outside = sums[INSIDE, column], sums[OUTSIDE, column]
    own = inverse_weight(query.weighting, inside + outside, inside, outside, -1.0, -1.0)
    below = largest_inverse_weight(query.weighting, query.min_df, inside, outside)
    return abs(positive - negative) * own, max(positive, negative) * below


@njit
def walk(anchors, bounds, inverses, chosen, database, items, query, found):
    """Offer every combination of a label that no bound rules out.

    Parameters
    ----------
    anchors : int64
        Columns of the database, in the order of the walk.
    bounds, inverses : float64 (columns)
        Of everything below each column, and the largest 1 / λ there.
    chosen : int64
        The item of each column.
    database : Database
    items, query, found
        As above.
    """
    n_columns = chosen.shape[0]
    sums = np.zeros((5, n_columns))
    touched = np.empty(n_columns, np.int64)
    number_of = np.full(n_columns, -1, np.int32)
    below = np.empty(n_columns, np.int64)
    inner_sums = np.zeros((5, n_columns))
    inner_touched = np.empty(n_columns, np.int64)
    for anchor in anchors:
        if bounds[anchor] <= lowest_of_use(query, found):
            continue
        limit = lowest_of_use(query, found) / inverses[anchor]
        n_touched = add_shared(anchor, database, limit, sums, touched)
        n_below = 0
        for t in range(n_touched):
            other = touched[t]
            scaled, bound_below = scaled_gradient_bounds(sums, other, query)
            if scaled > lowest_of_use(query, found):
                offer_combination(scaled, chosen[anchor], chosen[other], -1, items, query, found)
            if query.degree > 2 and bound_below > lowest_of_use(query, found):
                below[n_below] = other
                n_below += 1
            sums[:, other] = 0.0
        if n_below > 1:
            ascending = np.sort(below[:n_below])
            for number in range(n_below):
                number_of[ascending[number]] = number
            part = part_of(database, anchor, number_of, n_below)
            number_of[ascending] = -1
            first, inverse = chosen[anchor], inverses[anchor]
            walk_below(first, chosen[ascending], part, inverse, inner_sums, inner_touched, items, query, found)


@njit
def walk_below(first, below, part, inverse, sums, touched, items, query, found):
    """Offer the triples of an item and two of those ``below`` it.

    ``part`` (Database) has the documents of the first and the columns of the others; 1 / λ is at most ``inverse``.
    """
    for second in range(below.shape[0] - 1):
        limit = lowest_of_use(query, found) / inverse
        n_touched = add_shared(second, part, limit, sums, touched)
        for t in range(n_touched):
            third = touched[t]
            scaled, _ = scaled_gradient_bounds(sums, third, query)
            if scaled > lowest_of_use(query, found):
                offer_combination(scaled, first, below[second], below[third], items, query, found)
            sums[:, third] = 0.0
