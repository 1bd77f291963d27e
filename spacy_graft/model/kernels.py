"""Kernels of matching: Aho–Corasick automata that never step back.

N-grams are written in *letters*: 1, 2, ... for the symbols that occur in them, 0 for all others. A *state* is the
longest suffix of what has been read that begins an n-gram; its depth is the length of the suffix. While the automaton
is built, states are numbered breadth first, 0 being the root, and are rows of ``trie`` (int32):

======== ======================================================================================================
LETTER   last letter of the suffix
CHILD    first child; the children of state s are ``trie[s, CHILD]`` to ``trie[s + 1, CHILD] - 1``, sorted by letter
FAIL     the state of the longest proper suffix that begins an n-gram
SIZE     length of the suffix
START    first of the n-grams (which are sorted) that begin with the suffix; ``STOP`` is one past the last
OUTPUT   the longest n-gram that is a suffix of the suffix; the number of n-grams if there is none
PLACE    where the row of its transitions begins
LAST     last cell of that row
======== ======================================================================================================

All transitions together would be a table of states × letters, most of it equal to the rows of the root, of the last
letter, of the last two and of the last three. So a state of depth 4 or more keeps only transitions to states of depth 5
or more, one of depth 1 to 3 those to its children, and the root (``root[letter]``) those to depth 1. These rows are
sparse and are interleaved in ``cells`` (a double array). In the finished automaton a state *is* the place where its row
begins: ``cells[state + letter]`` is a transition of the state if its OWNER is the state, and then leads to NEXT. No two
states have the same place; the root has place 0 and owns no cell.
"""

from .._numba import inlined, njit
from ..extract.hashing import EMPTY
from ..extract.kernels import find

LETTER, CHILD, FAIL, SIZE, START, STOP, OUTPUT, PLACE, LAST = range(9)
OWNER, NEXT, LINK = range(3)

#: Depth from which on the row of a state has the transitions of its suffixes too.
OWN_ROW = 4

#: Owner of a cell that no row has taken.
UNOWNED = -1

#: If more places than this were tried for a row, the search for the next rows skips half of them.
MAX_TRIED = 8


@inlined
def child(trie, root, state, letter):
    """Child of a state by a letter; 0 if there is none."""
    if state == 0:
        return root[letter]
    for candidate in range(trie[state, CHILD], trie[state + 1, CHILD]):
        if trie[candidate, LETTER] == letter:
            return candidate
    return 0


@inlined
def follow(trie, root, state, letter):
    """State of the longest suffix of (state, letter) that begins an n-gram."""
    while True:
        target = child(trie, root, state, letter)
        if target != 0 or state == 0:
            return target
        state = trie[state, FAIL]


@njit
def grow_trie(letters, bounds, root, trie, shorter):
    """All states of sorted n-grams, ``letters[bounds[f] : bounds[f + 1]]``; returns their number.

    ``shorter[f]`` becomes the longest other n-gram that is a suffix of n-gram f.
    """
    none = bounds.shape[0] - 1
    trie[0, STOP] = none
    n_states = 1
    state = 0
    while state < n_states:
        depth = trie[state, SIZE]
        feature = trie[state, START]
        trie[state, CHILD] = n_states
        trie[state, OUTPUT] = none if state == 0 else trie[trie[state, FAIL], OUTPUT]
        if bounds[feature + 1] - bounds[feature] == depth:
            shorter[feature] = trie[state, OUTPUT]
            trie[state, OUTPUT] = feature
            feature += 1
        while feature < trie[state, STOP]:
            letter = letters[bounds[feature] + depth]
            trie[n_states, LETTER] = letter
            trie[n_states, SIZE] = depth + 1
            trie[n_states, START] = feature
            while feature < trie[state, STOP] and letters[bounds[feature] + depth] == letter:
                feature += 1
            trie[n_states, STOP] = feature
            if state == 0:
                root[letter] = n_states
            else:
                trie[n_states, FAIL] = follow(trie, root, trie[state, FAIL], letter)
            n_states += 1
        state += 1
    trie[n_states, CHILD] = n_states
    return n_states


@inlined
def row_of(trie, state, cells, row):
    """Transitions of a state, into the rows of ``row``: letters and targets; returns their number.

    They are its children and, if that is of depth 4 or more, the row of the state's FAIL, whose cells are LAST of that
    state, LINK of that cell, and so on to EMPTY. The third row holds the last state that used each letter.
    """
    size = 0
    for target in range(trie[state, CHILD], trie[state + 1, CHILD]):
        letter = trie[target, LETTER]
        row[0, size] = letter
        row[1, size] = target
        row[2, letter] = state
        size += 1
    fail = trie[state, FAIL]
    cell = trie[fail, LAST] if trie[fail, SIZE] >= OWN_ROW else EMPTY
    while cell != EMPTY:
        letter = cell - trie[fail, PLACE]
        if row[2, letter] != state:
            row[0, size] = letter
            row[1, size] = cells[cell, NEXT]
            size += 1
        cell = cells[cell, LINK]
    return size


@inlined
def fits(cells, place, row, size):
    """Whether all cells of a row are free at this place."""
    k = 0
    while k < size and cells[place + row[0, k], OWNER] == UNOWNED:
        k += 1
    return k == size


@njit
def place_rows(trie, n_states, cells, output, row):
    """Find the first place for every row where it fits; returns the number of cells in use, EMPTY if there are too few.

    ``output`` gets the OUTPUT of the state at each place, and must be EMPTY where there is none. PLACE and LAST of
    ``trie`` and LINK of ``cells`` are filled as well. NEXT holds numbers of states.
    """
    n_letters = row.shape[1] - 1
    output[0] = trie[0, OUTPUT]
    low = 1
    end = n_letters + 1
    for state in range(1, n_states):
        size = row_of(trie, state, cells, row)
        place = low
        while output[place] != EMPTY or not fits(cells, place, row, size):
            place += 1
            if place + n_letters >= cells.shape[0]:
                return EMPTY
        if place - low > MAX_TRIED:
            low += (place - low) // 2
        output[place] = trie[state, OUTPUT]
        trie[state, PLACE] = place
        trie[state, LAST] = EMPTY
        for k in range(size):
            cell = place + row[0, k]
            cells[cell, OWNER] = place
            cells[cell, NEXT] = row[1, k]
            cells[cell, LINK] = trie[state, LAST]
            trie[state, LAST] = cell
        end = max(end, place + n_letters + 1)
    return end


@inlined
def step(cells, one, two, three, state, letter, alone):
    """Next states: those of only the last two and three letters, and that of all.

    ``one``, ``two`` and ``three`` are the states of only the last letters so far; ``alone`` is that of only the next.

    The next letter of a text is unpredictable, and a mispredicted branch costs more than everything else here: so all
    places are read, and the result is selected by arithmetic. (Inlined, because LLVM emits branches if it is a call.)
    """
    next_two = transition(cells, one, letter, alone)
    next_three = transition(cells, two, letter, next_two)
    deepest = transition(cells, three, letter, next_three)
    return next_two, next_three, transition(cells, state, letter, deepest)


@inlined
def transition(cells, state, letter, otherwise):
    """The transition of a state by a letter, or another state if it has none."""
    cell = state + letter
    return otherwise + (cells[cell, NEXT] - otherwise) * (cells[cell, OWNER] == state)


@njit
def find_ends(automaton, symbols, starts, ends):
    """``ends[i]`` becomes the longest n-gram that ends with symbol i of its document; the number of n-grams if none."""
    # Outside of the loop: each access to an attribute counts a reference to its array.
    slots, keys, root = automaton.slots, automaton.keys, automaton.root
    cells, output = automaton.cells, automaton.output
    for document in range(starts.shape[0] - 1):
        one = two = three = state = 0
        for position in range(starts[document], starts[document + 1]):
            letter = find(symbols[position], slots, keys) + 1
            alone = root[letter]
            two, three, state = step(cells, one, two, three, state, letter, alone)
            one = alone
            ends[position] = output[state]


@njit
def add_scores(automaton, ends, starts, weights, first, labels, values, totals, last_document, found):
    """``totals[d] += Σ weights[row of f]`` over the n-grams f that document d has, however often it has them.

    The sum is in the order in which the n-grams end in the document, those found as suffixes of others last. ``ends``
    is that of :func:`find_ends`; ``last_document`` (n_features + 1, negative) is the last document of each n-gram;
    ``found`` needs n_features + 2. Weights are one array, or where this is None, ``first``, ``labels`` and ``values``
    are the parts of :class:`~spacy_graft.model.weights.SparseWeights`: what is left out is 0.
    """
    shorter, rows = automaton.shorter, automaton.rows
    for document in range(starts.shape[0] - 1):
        n_found = all_found(shorter, ends, starts, document, last_document, found)
        for k in range(n_found):
            row = rows[found[k]]
            # What is asked of None is not compiled.
            if weights is not None:
                for label in range(totals.shape[1]):
                    totals[document, label] += weights[row, label]
            if first is not None:
                for entry in range(first[row], first[row + 1]):
                    totals[document, labels[entry]] += values[entry]


@inlined
def all_found(shorter, ends, starts, document, last_document, found):
    """Put the n-grams of a document into ``found``, each once; returns how many there are."""
    last_document[shorter.shape[0]] = document
    n_found = 0
    for position in range(starts[document], starts[document + 1]):
        n_found = found_once(ends[position], document, last_document, found, n_found)
    k = 0
    while k < n_found:
        n_found = found_once(shorter[found[k]], document, last_document, found, n_found)
        k += 1
    return n_found


@inlined
def found_once(feature, document, last_document, found, n_found):
    """Put a feature into ``found`` unless the document has it already; returns how many there are."""
    found[n_found] = feature
    n_found += last_document[feature] != document  # no branch here either
    last_document[feature] = document
    return n_found


@njit
def occurrences(automaton, ends, found):
    """Every occurrence as (row of the n-gram, start, end), in ``found`` up to its length; returns their number.

    ``ends`` is that of :func:`find_ends`, of one document.
    """
    shorter, lengths, rows = automaton.shorter, automaton.lengths, automaton.rows
    n_found = 0
    for position in range(ends.shape[0]):
        feature = ends[position]
        while feature != shorter.shape[0]:
            if n_found < found.shape[0]:
                found[n_found, 0] = rows[feature]
                found[n_found, 1] = position + 1 - lengths[feature]
                found[n_found, 2] = position + 1
            n_found += 1
            feature = shorter[feature]
    return n_found
