"""Kernels from symbols to the tree of n-gram nodes: LCP, intervals, events.

The contract of the arrays, once for all kernels of the index:

* ``symbols``: uint8, uint16 or uint32, dense ranks of a stream's symbols; 0 is a *break* (the end of a run, or a symbol
  too rare to be part of any feature). A *run* is what is between breaks of the stream: a document, or a word of one.
  Runs that are equal stand here once. The last symbol is a break, so that comparisons need no bounds.
* ``suffixes``: positions in ``symbols`` in lexicographic order of the suffixes, those that start at a break left out.
  ``lcp[i]`` is the length of the common prefix of suffixes ``i - 1`` and ``i``, cut at the first break. *Leaves* are
  the suffixes as often as there are documents with their run, which share all up to the break.
* *Nodes* are the LCP intervals that at least ``min_df`` documents share, in **post-order** (a node after all its
  descendants). ``first[k]`` is the first node of the subtree of ``k``: the subtree is the half-open range
  ``first[k] .. k + 1``. ``level`` counts ancestors. A node stands for the n-grams of length ``shortest`` to
  ``longest`` symbols that all begin where its suffix begins: they occur at the same places.
* *Events* carry the documents. The documents of a node are the sum of the events of its subtree: an *add* where a
  document's suffix hangs directly below the node, a *cancel* at the lowest common ancestor of two neighbouring
  suffixes of one document, so that a document counts once however often it holds the n-gram. Adds of node ``k`` are
  ``events[bounds[2k] : bounds[2k + 1]]``, its cancels ``events[bounds[2k + 1] : bounds[2k + 2]]``.

Everything is linear in the number of symbols but for a binary search over the stack of open intervals. What takes the
time is linear in the symbols of distinct runs, and of the distinct runs of each document.
"""

from typing import NamedTuple

import numpy as np

from .._numba import inlined, njit


class Tree(NamedTuple):
    """The nodes as the kernels take them; see above."""

    first: np.ndarray
    df: np.ndarray
    level: np.ndarray
    bounds: np.ndarray
    events: np.ndarray


#: Labels that one pass over the events sums together: a document's values are one cache line.
LANES = 8

#: Nodes whose sums are held at a time: 256 kB, so that they stay in the second-level cache.
CHUNK = 4096

#: Documents of a block that are looked through for those of a column.
LOOKED_THROUGH = 64

# Columns of the stack of open intervals.
DEPTH, LEFT, CANCELS, FIRST, WAITING, HEAD, TAIL = range(7)


@njit
def document_frequencies(symbols, starts, n_symbols):
    """In how many documents each symbol occurs; ``starts`` (n + 1) bounds the documents."""
    df = np.zeros(n_symbols, np.int32)
    last = np.full(n_symbols, -1, np.int32)
    for d in range(starts.shape[0] - 1):
        for i in range(starts[d], starts[d + 1]):
            if last[symbols[i]] != d:
                last[symbols[i]] = d
                df[symbols[i]] += 1
    return df


@inlined
def run_end(codes, begin, stop, has_breaks):
    """Where the run from ``begin`` on ends, in a document that ends at ``stop``."""
    end = begin
    while end < stop and not (has_breaks and codes[end] == 0):
        end += 1
    return end


@inlined
def run_hash(codes, begin, end):
    """A hash of 40 bits."""
    key = 0
    for i in range(begin, end):
        key = (key * 1000003 + int(codes[i]) + 1) & 0xFFFFFFFFFF
    return key ^ (key >> 20)


@inlined
def equal_runs(codes, one, other, length):
    """Whether the symbols from two places on are equal."""
    i = 0
    while i < length and codes[one + i] == codes[other + i]:
        i += 1
    return i == length


@njit
def table_of_runs(codes, places, lengths, n_runs, size):
    """The numbers of runs by their hashes, -1 where a slot is empty: int32 (size)."""
    table = np.full(size, -1, np.int32)
    for run in range(n_runs):
        slot = run_hash(codes, places[run], places[run] + lengths[run]) & (size - 1)
        while table[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        table[slot] = run
    return table


@njit
def distinct_runs(codes, starts, has_breaks, most):
    """Find the distinct runs of a stream, in the order in which they first stand in it.

    Open addressing, at least half of the table empty.

    Parameters
    ----------
    codes : uint32
        Of the stream's symbols: code points, or ranks in the alphabet.
    starts : int64 (documents + 1)
        The bounds of the documents.
    has_breaks : bool
        Whether the code 0 is a break.
    most : int
        Room for so many runs.

    Returns
    -------
    places, lengths : int64, int32 (runs)
        Where they first stand, and how long they are.
    bounds : int64 (runs + 1), documents : int32
        The documents of each run are ``documents[bounds[r] : bounds[r + 1]]``, ascending.
    """
    places, lengths = np.empty(most, np.int64), np.empty(most, np.int32)
    last_document, n_documents = np.empty(most, np.int32), np.empty(most, np.int32)
    of_document, run_of_document = np.empty(most, np.int32), np.empty(most, np.int32)
    size = 2**16
    table = np.full(size, -1, np.int32)
    n_runs = n_pairs = 0
    for document in range(starts.shape[0] - 1):
        begin = starts[document]
        while begin < starts[document + 1]:
            end = run_end(codes, begin, starts[document + 1], has_breaks)
            if end > begin:
                slot = run_hash(codes, begin, end) & (size - 1)
                run = table[slot]
                while run >= 0 and not (
                    lengths[run] == end - begin and equal_runs(codes, places[run], begin, end - begin)
                ):
                    slot = (slot + 1) & (size - 1)
                    run = table[slot]
                if run < 0:
                    run = table[slot] = n_runs
                    places[run], lengths[run] = begin, end - begin
                    last_document[run], n_documents[run] = -1, 0
                    n_runs += 1
                    if 2 * n_runs > size:
                        size *= 4
                        table = table_of_runs(codes, places, lengths, n_runs, size)
                if last_document[run] != document:
                    last_document[run] = document
                    n_documents[run] += 1
                    of_document[n_pairs], run_of_document[n_pairs] = document, run
                    n_pairs += 1
            begin = end + 1
    bounds = np.zeros(n_runs + 1, np.int64)
    for run in range(n_runs):
        bounds[run + 1] = bounds[run] + n_documents[run]
    filled = bounds[:-1].copy()
    documents = np.empty(n_pairs, np.int32)
    for pair in range(n_pairs):
        run = run_of_document[pair]
        documents[filled[run]] = of_document[pair]
        filled[run] += 1
    return places[:n_runs].copy(), lengths[:n_runs].copy(), bounds, documents


@njit
def join_runs(codes, new_ranks, places, lengths, symbols):
    """Write ``new_ranks`` of the codes of runs into ``symbols`` one after the other, a break (0) after each."""
    place = 0
    for run in range(lengths.shape[0]):
        for i in range(places[run], places[run] + lengths[run]):
            symbols[place] = new_ranks[codes[i]]
            place += 1
        symbols[place] = 0
        place += 1


@inlined
def lowest_open(stack, top, leaf):
    """The deepest open interval that holds ``leaf``: the last slot whose left bound is not right of it."""
    low = 0
    high = top
    while low < high:
        middle = (low + high + 1) // 2
        if stack[middle, LEFT] <= leaf:
            low = middle
        else:
            high = middle - 1
    return low


@inlined
def open_interval(stack, top, depth, leaf, n_nodes, n_waiting):
    """Push the interval of ``depth`` that begins at ``leaf``."""
    stack[top, DEPTH] = depth
    stack[top, LEFT] = leaf
    stack[top, CANCELS] = 0
    stack[top, FIRST] = n_nodes
    stack[top, WAITING] = n_waiting
    stack[top, HEAD] = -1
    stack[top, TAIL] = -1


@inlined
def add_cancel(stack, top, chain, leaf, previous):
    """Note at the lowest common ancestor of two suffixes of one document that it counts once."""
    slot = lowest_open(stack, top, previous)
    stack[slot, CANCELS] += 1
    chain[leaf] = stack[slot, HEAD]
    stack[slot, HEAD] = leaf
    if stack[slot, TAIL] < 0:
        stack[slot, TAIL] = leaf


@inlined
def hand_down(stack, top, chain):
    """Give what still waits in the closing interval to the one around it."""
    stack[top - 1, CANCELS] += stack[top, CANCELS]
    if stack[top, HEAD] >= 0:
        chain[stack[top, TAIL]] = stack[top - 1, HEAD]
        stack[top - 1, HEAD] = stack[top, HEAD]
        if stack[top - 1, TAIL] < 0:
            stack[top - 1, TAIL] = stack[top, TAIL]


@inlined
def net_events(adds, chain, cancelled, documents, net, events, n_events):
    """Write one node's events without the adds and cancels that meet in the same document; returns (middle, end)."""
    for d in adds:
        net[d] += 1
    leaf = cancelled
    while leaf >= 0:
        net[documents[leaf]] -= 1
        leaf = chain[leaf]
    for d in adds:
        if net[d] > 0:
            net[d] -= 1
            events[n_events] = d
            n_events += 1
    middle = n_events
    leaf = cancelled
    while leaf >= 0:
        if net[documents[leaf]] < 0:
            net[documents[leaf]] += 1
            events[n_events] = documents[leaf]
            n_events += 1
        leaf = chain[leaf]
    return middle, n_events


@njit
def fill_interval_nodes(
    suffixes,
    lcp,
    documents,
    run_lengths,
    n_documents,
    min_df,
    open_before,
    open_after,
    stack,
    nodes,
    places,
    bounds,
    events,
):
    """Fill the nodes and their events, in one pass over the leaves with a stack of open intervals.

    The stack is that of Abouelhoda, Kurtz & Ohlebusch (2004); distinct documents are counted by the colour-set-size
    trick (Hui, CPM 1992): ``df = leaves - cancels``. Documents below an interval that too few documents share wait
    and go to the next kept interval around it: the adds on a stack of their own, since leaves are closed in order;
    the cancels, which belong to an ancestor, in a linked list a slot (``chain``).

    Parameters
    ----------
    suffixes : int32 or int64, lcp : int32, documents : int32
        Of the leaves. The first and the last entry of ``lcp`` are what the first leaf shares with the one before it,
        and the last with the one after it, where these are some of all leaves; 0 else.
    run_lengths : int32
        Longest n-gram that begins at each leaf. Looked at only if ``min_df`` is 1, where a leaf by itself is a
        node of one document; may be empty otherwise.
    open_before, open_after : int32
        Depths, ascending, of the intervals that hold the first leaf and the one before it, and of those that hold the
        last one and the one after it. These are nodes, whatever the number of their documents here.
    stack : int32 (largest of ``lcp`` + 3, 7)
        Room for the open intervals.
    nodes : int32 (capacity, 3), places : int32 or int64 (capacity), bounds : int64 (2 * capacity + 1)
    events : int32 (2 * leaves)
        Filled here; a row of ``nodes`` is (first, longest, df), ``places`` are positions in ``symbols`` where the
        n-grams stand. The caller gives a capacity of one node a leaf (two if ``min_df`` is 1), and one for each open
        interval; pages that are never touched cost nothing.

    Returns
    -------
    int
        The number of nodes, those that are open after the last leaf among them: the last ones.
    """
    chain = np.empty(suffixes.shape[0], np.int32)
    waiting = np.empty(suffixes.shape[0], np.int32)
    n_waiting = 0
    previous = np.full(n_documents, -1, np.int32)
    net = np.zeros(n_documents, np.int32)
    top = 0
    open_interval(stack, top, 0, 0, 0, 0)
    for depth in open_before:
        top += 1
        open_interval(stack, top, depth, 0, 0, 0)
    n_before, n_after = top, open_after.shape[0]
    k = 0
    bounds[0] = 0

    ending = False
    for leaf in range(suffixes.shape[0]):
        ahead = lcp[leaf + 1]
        document = documents[leaf]
        if ahead > stack[top, DEPTH]:
            top += 1
            open_interval(stack, top, ahead, leaf, k, n_waiting)
        if min_df == 1 and run_lengths[leaf] > max(lcp[leaf], ahead):
            nodes[k, 0], nodes[k, 1], nodes[k, 2], places[k] = k, run_lengths[leaf], 1, suffixes[leaf]
            events[bounds[2 * k]] = document
            bounds[2 * k + 1] = bounds[2 * k + 2] = bounds[2 * k] + 1
            k += 1
        else:
            waiting[n_waiting] = document
            n_waiting += 1
        if previous[document] >= 0:
            add_cancel(stack, top, chain, leaf, previous[document])
        previous[document] = leaf

        while True:
            while stack[top, DEPTH] > ahead:
                df = leaf + 1 - stack[top, LEFT] - stack[top, CANCELS]
                if df >= min_df or top <= n_before or (ending and np.any(open_after == stack[top, DEPTH])):
                    nodes[k, 0], nodes[k, 1], nodes[k, 2] = stack[top, FIRST], stack[top, DEPTH], df
                    places[k] = suffixes[leaf]
                    adds = waiting[stack[top, WAITING] : n_waiting]
                    bounds[2 * k + 1], bounds[2 * k + 2] = net_events(
                        adds, chain, stack[top, HEAD], documents, net, events, bounds[2 * k]
                    )
                    n_waiting = stack[top, WAITING]
                    stack[top, HEAD] = stack[top, TAIL] = -1
                    k += 1
                if stack[top - 1, DEPTH] < ahead:
                    stack[top, DEPTH] = ahead
                else:
                    hand_down(stack, top, chain)
                    top -= 1
                    n_before = min(n_before, top)
            if leaf < suffixes.shape[0] - 1 or ahead == 0:
                break
            # After the last leaf, what goes on is closed, from the deepest interval up.
            ending = True
            n_after -= 1
            ahead = open_after[n_after] if n_after >= 0 else 0
    return k


@njit
def levels_and_shortest(first, longest, level, shortest, begin, end):
    """Write the ancestors of nodes, and their shortest n-grams: one symbol more than their parents' longest.

    Of the nodes from ``begin`` to before ``end``, which have all their ancestors among them.
    """
    ancestors = np.empty(end - begin + 1, np.int32)
    top = -1
    for k in range(end - 1, begin - 1, -1):
        while top >= 0 and first[ancestors[top]] > k:
            top -= 1
        shortest[k] = longest[ancestors[top]] + 1 if top >= 0 else 1
        top += 1
        level[k] = top
        ancestors[top] = k


@njit
def columns(first, bounds, events, chosen, starts, n_documents):
    """Documents of the chosen nodes, ascending, one node's after another's from ``starts`` on."""
    documents = np.empty(starts[-1], np.int32)
    net = np.zeros(n_documents, np.int32)
    # Documents are looked through block by block: only where there are some.
    touched = np.zeros(n_documents // LOOKED_THROUGH + 1, np.bool_)
    for c in range(chosen.shape[0]):
        for run in range(2 * first[chosen[c]], 2 * chosen[c] + 2):
            sign = 1 - 2 * (run & 1)
            for e in range(bounds[run], bounds[run + 1]):
                net[events[e]] += sign
                touched[events[e] // LOOKED_THROUGH] = True
        filled = starts[c]
        for block in range(touched.shape[0]):
            if touched[block]:
                touched[block] = False
                for document in range(block * LOOKED_THROUGH, min((block + 1) * LOOKED_THROUGH, n_documents)):
                    if net[document] > 0:
                        documents[filled] = document
                        filled += 1
                    net[document] = 0
    return documents


@njit
def equal_columns(keys, df, shortest, longest, simplest, longest_node, part, n_parts):
    """Group nodes of equal documents, those of one part of the keys.

    Parameters
    ----------
    keys : int64 (nodes)
        Sums of random numbers over the documents: equal where the columns are.
    simplest : bool (nodes)
        Becomes true for the one node of each group with the shortest n-gram, the first of them; all false before.
    longest_node : int32 (nodes)
        Becomes, of such a node, the node of its group with the longest n-gram, the first of them; itself before.
    part, n_parts : int
        Which of how many parts; their number is a power of two.

    Open addressing, at least half of the table empty.
    """
    n_keys = 0
    for key in keys:
        n_keys += (key >> 32) & (n_parts - 1) == part
    size = 16
    while size < 2 * n_keys:
        size *= 2
    table = np.full(size, -1, np.int32)
    for k in range(keys.shape[0]):
        if (keys[k] >> 32) & (n_parts - 1) != part:
            continue
        slot = keys[k] & (size - 1)
        while table[slot] >= 0:
            other = table[slot]
            if keys[k] == keys[other] and df[k] == df[other]:
                break
            slot = (slot + 1) & (size - 1)
        other = table[slot]
        if other >= 0:
            longer = k if longest[k] > longest[longest_node[other]] else longest_node[other]
            if shortest[k] >= shortest[other]:
                longest_node[other] = longer
                continue
            simplest[other] = False
            longest_node[k] = longer
        table[slot] = k
        simplest[k] = True


@njit
def node_sums(level, bounds, events, lanes, units, carried, sums):
    """Sums over the distinct documents of consecutive nodes into ``sums``, in post-order.

    Parameters
    ----------
    level, bounds
        Those of these nodes.
    events
        Those of all nodes.
    lanes : int64 (documents, LANES)
        What is summed, in units of ``units``, float64 (LANES); modulo 2⁶⁴, so that the order does not matter.
    carried : int64 (levels + 1, LANES)
        Between calls, what the finished nodes of each level give to their parent: all zero before the first call.
    sums : float64 (nodes, LANES)

    Costs one row of ``lanes`` an event.
    """
    for k in range(level.shape[0]):
        # Rows are indexed and never sliced: a slice would count references, once an event.
        below, above = level[k] + 1, level[k]
        a0, a1, a2, a3 = carried[below, 0], carried[below, 1], carried[below, 2], carried[below, 3]
        a4, a5, a6, a7 = carried[below, 4], carried[below, 5], carried[below, 6], carried[below, 7]
        for j in range(LANES):
            carried[below, j] = 0
        for e in range(bounds[2 * k], bounds[2 * k + 1]):
            i = events[e]
            a0 += lanes[i, 0]
            a1 += lanes[i, 1]
            a2 += lanes[i, 2]
            a3 += lanes[i, 3]
            a4 += lanes[i, 4]
            a5 += lanes[i, 5]
            a6 += lanes[i, 6]
            a7 += lanes[i, 7]
        for e in range(bounds[2 * k + 1], bounds[2 * k + 2]):
            i = events[e]
            a0 -= lanes[i, 0]
            a1 -= lanes[i, 1]
            a2 -= lanes[i, 2]
            a3 -= lanes[i, 3]
            a4 -= lanes[i, 4]
            a5 -= lanes[i, 5]
            a6 -= lanes[i, 6]
            a7 -= lanes[i, 7]
        sums[k, 0], sums[k, 1], sums[k, 2], sums[k, 3] = a0 * units[0], a1 * units[1], a2 * units[2], a3 * units[3]
        sums[k, 4], sums[k, 5], sums[k, 6], sums[k, 7] = a4 * units[4], a5 * units[5], a6 * units[6], a7 * units[7]
        carried[above, 0] += a0
        carried[above, 1] += a1
        carried[above, 2] += a2
        carried[above, 3] += a3
        carried[above, 4] += a4
        carried[above, 5] += a5
        carried[above, 6] += a6
        carried[above, 7] += a7


@njit
def node_sums_of_one(level, bounds, events, lane, unit, carried, sums):
    """The same of one lane, int64 (documents), with ``carried`` (levels + 1) and ``sums`` (nodes, 1).

    ``unit`` and ``sums`` are float64, or int64 for the sums themselves.
    """
    for k in range(level.shape[0]):
        total = carried[level[k] + 1]
        carried[level[k] + 1] = 0
        for e in range(bounds[2 * k], bounds[2 * k + 1]):
            total += lane[events[e]]
        for e in range(bounds[2 * k + 1], bounds[2 * k + 2]):
            total -= lane[events[e]]
        sums[k, 0] = total * unit
        carried[level[k]] += total
