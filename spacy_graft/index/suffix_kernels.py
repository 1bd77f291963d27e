"""Kernels that sort suffixes of a text: all, or those of a shard, without the order of the others.

A suffix ends at the first break. Suffixes are compared by *keys*: as many symbols as 64 bits hold, those after a break
being 0. Suffixes that are equal up to their break stand in the order of the text.

What is sorted is the numbers of suffixes in the order of the text (``positions``, ascending): ``order`` holds them.
"""

from typing import NamedTuple

import numpy as np

from .._numba import inlined, inner, njit

#: Bits of the first key by which suffixes are dealt out before they are sorted.
DEALT_BITS = 16
#: Groups of no more are sorted by insertion.
FEW = 12
#: Symbols that are searched for a break together.
TOGETHER = 16


class Packed(NamedTuple):
    """A text whose symbols follow each other bit by bit.

    Attributes
    ----------
    words : uint64
        64 bits each, the first symbol in the highest bits; one word more than the text fills.
    bits, n : int
        Bits of a symbol, and symbols of a key.
    low, used, last : uint64
        Of a key, all bits but the highest of each symbol; all; and those of the last symbol.
    """

    words: np.ndarray
    bits: int
    n: int
    low: np.uint64
    used: np.uint64
    last: np.uint64


@njit
def pack(symbols, bits, words):
    """Fill ``words``, all zero before, with symbols of so many bits."""
    for i in range(symbols.shape[0]):
        place = i * bits
        word, room = place >> 6, 64 - (place & 63)
        symbol = np.uint64(symbols[i])
        if room >= bits:
            words[word] |= symbol << np.uint64(room - bits)
        else:
            words[word] |= symbol >> np.uint64(bits - room)
            words[word + 1] |= symbol << np.uint64(64 - bits + room)


@inlined
def key_at(text, position):
    """The next symbols as one number, those from a break on 0."""
    place = np.int64(position) * text.bits
    word, skipped = place >> 6, np.uint64(place & 63)
    ahead = text.words[word] << skipped | (text.words[word + 1] >> np.uint64(1)) >> (np.uint64(63) - skipped)
    key = (ahead >> np.uint64(64 - text.bits * text.n)) & text.used
    # The highest bit of every symbol that is 0.
    breaks = ~(((key & text.low) + text.low) | key | text.low) & text.used
    if breaks:
        for shift in (1, 2, 4, 8, 16, 32):
            breaks |= breaks >> np.uint64(shift)
        key &= ~breaks
    return key


@inlined
def has_break(key, text):
    """Whether a key ends in a break."""
    return key & text.last == 0


@njit
def deal(text, positions, order, keys, counts):
    """Fill ``order`` and ``keys`` by the highest bits of the first keys.

    ``counts`` (2 ** DEALT_BITS + 1) becomes where each group begins, and the end.
    """
    shift = np.uint64(text.bits * text.n - DEALT_BITS)  # a key has more than half of 64 bits
    counts[:] = 0
    for i in range(positions.shape[0]):
        counts[np.int64(key_at(text, positions[i]) >> shift) + 1] += 1
    for c in range(counts.shape[0] - 1):
        counts[c + 1] += counts[c]
    for i in range(positions.shape[0]):
        key = key_at(text, positions[i])
        bucket = np.int64(key >> shift)
        order[counts[bucket]], keys[counts[bucket]] = i, key
        counts[bucket] += 1
    for c in range(counts.shape[0] - 1, 0, -1):
        counts[c] = counts[c - 1]
    counts[0] = 0


@inlined
def insert_by_key(keys, order, begin, end):
    """Insertion sort of both by ``keys``, from ``begin`` to ``end``."""
    for i in range(begin + 1, end):
        key, number = keys[i], order[i]
        j = i
        while j > begin and keys[j - 1] > key:
            keys[j], order[j] = keys[j - 1], order[j - 1]
            j -= 1
        keys[j], order[j] = key, number


@inlined
def median_of_three(a, b, c):
    """Neither the smallest nor the largest."""
    return max(min(a, b), min(max(a, b), c))


@njit
def sort_by_key(keys, order, begin, end, ranges):
    """Sort both by ``keys``, from ``begin`` to ``end``; ``ranges`` (128, 2) is room. Quicksort in three parts."""
    ranges[0, 0], ranges[0, 1] = begin, end
    top = 1
    while top > 0:
        top -= 1
        low, high = ranges[top, 0], ranges[top, 1]
        while high - low > FEW:
            pivot = median_of_three(keys[low], keys[(low + high) // 2], keys[high - 1])
            less, greater, i = low, high, low
            while i < greater:
                key = keys[i]
                if key < pivot:
                    keys[i], order[i], keys[less], order[less] = keys[less], order[less], keys[i], order[i]
                    less += 1
                    i += 1
                elif key > pivot:
                    greater -= 1
                    keys[i], order[i], keys[greater], order[greater] = keys[greater], order[greater], keys[i], order[i]
                else:
                    i += 1
            # The larger part waits, so that there is room for it.
            if less - low < high - greater:
                ranges[top, 0], ranges[top, 1] = greater, high
                high = less
            else:
                ranges[top, 0], ranges[top, 1] = low, less
                low = greater
            top += 1
        insert_by_key(keys, order, low, high)


@inlined
def comes_first(a, b, cover, ranks, slots, shifts):
    """Whether suffix ``a`` comes before ``b``, which agrees with it for a period, by the sample."""
    period = shifts.shape[0]
    shift = shifts[(b - a) % period]
    shift = (shift - a) % period
    return ranks[sample_number(a + shift, cover, slots)] < ranks[sample_number(b + shift, cover, slots)]


@inlined
def sample_number(position, cover, slots):
    """The number of a position of the sample among them all."""
    period = slots.shape[0]
    return (position // period) * cover.shape[0] + slots[position % period]


@njit
def sort_ties(positions, order, ties, cover, ranks, slots, shifts):
    """Sort ``order`` within each tie (begin, end) of suffixes that agree for a period. Heapsort."""
    for tie in range(ties.shape[0]):
        begin, n = ties[tie, 0], ties[tie, 1] - ties[tie, 0]
        for start in range(n // 2 - 1, -1, -1):
            sift_down(positions, order, begin, start, n, cover, ranks, slots, shifts)
        for last in range(n - 1, 0, -1):
            order[begin], order[begin + last] = order[begin + last], order[begin]
            sift_down(positions, order, begin, 0, last, cover, ranks, slots, shifts)


@inlined
def sift_down(positions, order, begin, start, n, cover, ranks, slots, shifts):
    """Restore the heap of ``n`` suffixes from ``begin`` on below its place ``start``."""
    number = order[begin + start]
    place = start
    while 2 * place + 1 < n:
        child = 2 * place + 1
        if child + 1 < n and comes_first(
            positions[order[begin + child]], positions[order[begin + child + 1]], cover, ranks, slots, shifts
        ):
            child += 1
        if not comes_first(positions[number], positions[order[begin + child]], cover, ranks, slots, shifts):
            break
        order[begin + place] = order[begin + child]
        place = child
    order[begin + place] = number


@inlined
def in_common(key, other, text):
    """The symbols before a break that two keys share."""
    n_common = 0
    while n_common < text.n:
        unused = np.uint64(text.bits * (text.n - 1 - n_common))
        symbols = key >> unused
        if symbols != other >> unused or symbols & text.last == 0:
            break
        n_common += 1
    return n_common


@njit
def sort_suffixes(text, positions, begins, order, keys, shared, period):
    """Sort the dealt-out suffixes, each group by the keys of its next symbols, and again what agrees in these.

    Parameters
    ----------
    text : Packed
    positions : int32 or int64 (m)
    begins : int64
        Where each group of ``order`` begins, and the end.
    order : int32 (m), keys : uint64 (m)
        As of :func:`deal`. Afterwards only ``order`` has a meaning.
    shared : int32 (m)
        Becomes the symbols before a break that each suffix of ``order`` shares with the one before it; -1 if both are
        of one of the groups that are returned.
    period : int
        Suffixes that agree for so many symbols are left as they are.

    Returns
    -------
    int64 (n, 2)
        Where the groups of these begin and end.
    """
    ties = np.empty((16, 2), np.int64)
    n_ties = 0
    ranges = np.empty((128, 2), np.int64)
    waiting = np.empty((1024, 3), np.int64)
    for group in range(begins.shape[0] - 1):
        first = begins[group]
        if begins[group + 1] == first:
            continue
        if first > 0:
            shared[first] = in_common(key_at(text, positions[order[first - 1]]), keys[first], text)
        waiting[0, 0], waiting[0, 1], waiting[0, 2] = first, begins[group + 1], 0
        top = 1
        while top > 0:
            top -= 1
            begin, end, depth = waiting[top, 0], waiting[top, 1], waiting[top, 2]
            if depth >= period:
                if n_ties == ties.shape[0]:
                    ties = np.concatenate((ties, ties))  # twice the room
                ties[n_ties, 0], ties[n_ties, 1] = begin, end
                n_ties += 1
                shared[begin + 1 : end] = -1
                continue
            if depth > 0:
                for i in range(begin, end):
                    keys[i] = key_at(text, positions[order[i]] + depth)
            sort_by_key(keys, order, begin, end, ranges)
            first = begin
            for i in range(begin + 1, end + 1):
                if i < end and keys[i] == keys[first]:
                    continue
                if i < end:
                    shared[i] = depth + in_common(keys[first], keys[i], text)
                if i - first > 1:
                    if has_break(keys[first], text):
                        order[first:i].sort()
                        shared[first + 1 : i] = depth + in_common(keys[first], keys[first], text)
                    else:
                        if top == waiting.shape[0]:
                            waiting = np.concatenate((waiting, waiting))  # twice the room
                        waiting[top, 0], waiting[top, 1], waiting[top, 2] = first, i, depth + text.n
                        top += 1
                first = i
    return ties[:n_ties].copy()


@njit
def double_ranks(order, ranks, ties, keys, step):
    """Order of samples that agree for a period: by the ranks of what comes after, twice as far each time.

    Larsson & Sadakane (2007). ``ranks`` are the places of the samples in ``order``, those of a tie its first place.
    """
    ranges = np.empty((128, 2), np.int64)
    n_ties = ties.shape[0]
    while n_ties > 0:
        n_left = 0
        left = np.empty_like(ties)
        for tie in range(n_ties):
            begin, end = ties[tie, 0], ties[tie, 1]
            for i in range(begin, end):
                keys[i] = np.uint64(ranks[order[i] + step])
            sort_by_key(keys, order, begin, end, ranges)
            first = begin
            for i in range(begin + 1, end + 1):
                if i < end and keys[i] == keys[first]:
                    continue
                if i - first > 1:
                    if n_left == left.shape[0]:
                        left = np.concatenate((left, left))  # twice the room
                    left[n_left, 0], left[n_left, 1] = first, i
                    n_left += 1
                first = i
            # Only now: the keys of a tie are those of before.
            first = begin
            for i in range(begin, end):
                if keys[i] != keys[first]:
                    first = i
                ranks[order[i]] = first
        ties, n_ties = left, n_left
        step *= 2


@inlined
def head_at(text, position, n):
    """The first ``n`` symbols as one number, those from a break on 0."""
    return key_at(text, position) >> np.uint64(text.bits * (text.n - n))


@njit
def heads(text, positions, n):
    """The heads of the suffixes at ``positions``: uint64 (positions)."""
    found = np.empty(positions.shape[0], np.uint64)
    for i in range(positions.shape[0]):
        found[i] = head_at(text, positions[i], n)
    return found


@inlined
def range_of(begins, value):
    """The last of the ranges that begin at ``begins`` (ascending, the first at 0) whose begin is no larger."""
    low, n = 0, begins.shape[0]
    while n > 1:
        half = n >> 1
        low += half * (begins[low + half] <= value)  # no branch, which could not be predicted
        n -= half
    return low


@njit
def heads_by_range(text, symbols, n, begins, counts, smallest, largest):
    """Count the suffixes whose heads lie between the ``begins`` (uint64, from 0 on), and their heads' extremes."""
    for i in range(symbols.shape[0]):
        if symbols[i] != 0:
            head = head_at(text, i, n)
            r = range_of(begins, head)
            counts[r] += 1
            smallest[r] = min(smallest[r], head)
            largest[r] = max(largest[r], head)


@njit
def deal_by_range(text, symbols, n, begins, begin, end, ranges, bounds, positions):
    """Collect where the suffixes of each range begin, of the positions from ``begin`` to ``end``.

    Parameters
    ----------
    text, symbols, n, begins
        As of :func:`heads_by_range`.
    begin, end : int
    ranges : uint32 (end - begin)
        Room.
    bounds : int64 (ranges + 1)
        Becomes where each range has its part of ``positions``.
    positions : int32 or int64 (end - begin)
        Becomes the positions, ascending in each range.
    """
    bounds[:] = 0
    for i in range(begin, end):
        if symbols[i] != 0:
            ranges[i - begin] = range_of(begins, head_at(text, i, n))
            bounds[ranges[i - begin] + 1] += 1
    for r in range(1, bounds.shape[0]):
        bounds[r] += bounds[r - 1]
    for i in range(begin, end):
        if symbols[i] != 0:
            r = ranges[i - begin]
            positions[bounds[r]] = i
            bounds[r] += 1
    for r in range(bounds.shape[0] - 1, 0, -1):
        bounds[r] = bounds[r - 1]
    bounds[0] = 0


@inner
def new_documents(p, begin, end, documents, seen):
    """How many of the documents of a run are the first with prefix p there; they are noted in ``seen``."""
    if seen.shape[0] == 0:
        return end - begin
    n_new = 0
    for e in range(begin, end):
        n_new += not seen[p, documents[e]]
        seen[p, documents[e]] = True
    return n_new


@njit
def prefix_frequencies(
    text, symbols, n, ends, bounds, documents, seen, begins, firsts, of_ranges, prefixes, lengths, counts, df
):
    """Count the suffixes that begin with some prefixes, and the documents that have them.

    Parameters
    ----------
    text, symbols, n, begins
        As of :func:`heads_by_range`.
    ends, bounds, documents
        Of the text's runs.
    seen : bool (prefixes, documents)
        Room; no rows are needed if no document has more than one run.
    firsts : int64 (ranges + 1), of_ranges : int64
        The prefixes that suffixes of range r may have: ``of_ranges[firsts[r] : firsts[r + 1]]``.
    prefixes : uint64, lengths : int64
        Their keys, and the numbers of their symbols.
    counts, df : int64
        Become these.
    """
    last_run = np.full(prefixes.shape[0], -1, np.int64)
    run = 0
    for i in range(symbols.shape[0]):
        while i >= ends[run]:
            run += 1
        if symbols[i] == 0:
            continue
        head = head_at(text, i, n)
        r = range_of(begins, head)
        for k in range(firsts[r], firsts[r + 1]):
            p = of_ranges[k]
            if head >> np.uint64(text.bits * (n - lengths[p])) == prefixes[p]:
                counts[p] += 1
                if last_run[p] != run:
                    last_run[p] = run
                    df[p] += new_documents(p, bounds[run], bounds[run + 1], documents, seen)


#: Columns of the neighbours of :func:`compare`, and one more for the position of the suffix itself.
SHARED, RUN, TO_BREAK, POSITION = 0, 1, 2, 3
#: Suffixes whose neighbours are read together.
AT_A_TIME = 256


@njit
def note_before(order, begin, end, shared, neighbours):
    """Note for the suffixes from ``begin`` to ``end`` of ``order`` what :func:`compare` needs, in place SHARED.

    ``shared`` is that of :func:`sort_suffixes`, or without entries if nothing is known.
    """
    for i in range(max(begin, 1), end):
        known = shared.shape[0] > 0 and shared[i] >= 0
        neighbours[order[i], SHARED] = ~shared[i] if known else order[i - 1]


@inlined
def break_from(symbols, place):
    """The place of the first break from a place on."""
    while place + TOGETHER <= symbols.shape[0]:
        n_breaks = 0
        for k in range(TOGETHER):  # compiled to a few instructions
            n_breaks += symbols[place + k] == 0
        if n_breaks:
            break
        place += TOGETHER
    while symbols[place] != 0:
        place += 1
    return place


@inlined
def position_of(positions, number):
    """The position of a suffix by its number; no positions where numbers are positions."""
    return positions[number] if positions.shape[0] > 0 else number


@njit
def compare(symbols, ends, positions, begin, end, max_length, neighbours):
    """Find what each suffix shares with the one before it, and its run.

    By way of the text (Kärkkäinen, Manzini & Puglisi, CPM 2009): what the suffix of a position shares ends no earlier
    than what that of an earlier one does, so that each symbol is looked at once, however long the repeats are.

    Parameters
    ----------
    symbols, ends
        Of the text; ``ends`` are the positions after the runs' breaks.
    positions : int32 or int64
        Where suffixes begin, ascending; none if their numbers are the positions.
    begin, end : int
        Which of them. Others may be compared at the same time.
    max_length : int
        Longest n-gram.
    neighbours : int32 (positions, 3)
        Given the number of the suffix before, or of s shared symbols -1 - s. Becomes: the number of shared symbols, at
        most ``max_length``; the run; and the symbols to the next break, at most ``max_length``.
    """
    if begin == end:
        return
    run = np.searchsorted(ends, position_of(positions, begin), side="right")
    next_break, end_of_shared = -1, 0
    for number in range(begin, end):
        place, before = position_of(positions, number), neighbours[number, SHARED]
        while place >= ends[run]:
            run += 1
        if next_break < place:
            next_break = break_from(symbols, place)
        length = ~before
        if before >= 0:
            other = position_of(positions, before)
            length = max(end_of_shared - place, 0)
            while symbols[place + length] == symbols[other + length] and symbols[place + length] != 0:
                length += 1
        end_of_shared = max(end_of_shared, place + length)
        neighbours[number, SHARED] = min(length, max_length)
        neighbours[number, RUN] = run
        neighbours[number, TO_BREAK] = min(next_break - place, max_length)


@njit
def count_leaves(numbers, neighbours, bounds):
    """Leaves of some suffixes, see :func:`fill_leaves`."""
    n_leaves = 0
    for number in numbers:
        run = neighbours[number, RUN]
        n_leaves += bounds[run + 1] - bounds[run]
    return n_leaves


@njit
def count_by_symbol(symbols, neighbours, bounds, counts):
    """Count the suffixes that begin with each symbol, and their leaves; a suffix has its position as its number.

    Parameters
    ----------
    symbols, bounds
        Of the text and its runs.
    neighbours
        As of :func:`compare`.
    counts : int64 (symbols, 2)
        Zeros, which become the numbers of suffixes and leaves; breaks are left out.
    """
    for place in range(symbols.shape[0]):
        symbol = symbols[place]
        if symbol != 0:
            run = neighbours[place, RUN]
            counts[symbol, 0] += 1
            counts[symbol, 1] += bounds[run + 1] - bounds[run]


@njit
def fill_leaves(order, positions, neighbours, bounds, documents, suffixes, lcp, document_of, lengths):
    """Fill in the suffixes of ``order``, each once for every document of its run.

    Parameters
    ----------
    order : int32
        Numbers of the suffixes.
    positions, neighbours
        By these numbers, as of :func:`compare`.
    bounds, documents
        Of the text's runs.
    suffixes : int32 or int64 (leaves)
        Becomes their positions.
    lcp : int32 (leaves)
        Becomes the symbols that each shares with the one before it.
    document_of : int32 (leaves)
    lengths : int32 (leaves, or 0)
        Becomes the symbols to the next break; they are left out if there is no room.
    """
    # What is far apart in memory is read some at a time, before anything depends on it, so that it is waited for once.
    near = np.empty((AT_A_TIME, 4), suffixes.dtype)
    leaf = 0
    for first in range(0, order.shape[0], AT_A_TIME):
        n = min(AT_A_TIME, order.shape[0] - first)
        for k in range(n):
            number = order[first + k]
            near[k, SHARED], near[k, RUN] = neighbours[number, SHARED], neighbours[number, RUN]
            near[k, TO_BREAK], near[k, POSITION] = neighbours[number, TO_BREAK], position_of(positions, number)
        for k in range(n):
            prefix, run = near[k, SHARED], near[k, RUN]
            for e in range(bounds[run], bounds[run + 1]):
                suffixes[leaf], lcp[leaf], document_of[leaf] = near[k, POSITION], prefix, documents[e]
                prefix = near[k, TO_BREAK]
                if leaf < lengths.shape[0]:
                    lengths[leaf] = prefix
                leaf += 1
