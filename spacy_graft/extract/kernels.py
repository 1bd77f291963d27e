"""Kernels of extraction: hash tables (see :mod:`spacy_graft.extract.hashing`), spelling, words, bags."""

import numpy as np

from .._numba import inlined, inner, njit
from .hashing import EMPTY, empty_slots

SPACE = ord(" ")
#: Marks of words: most letters are capitals; one that is not the first; the first letter.
CAPITALS, INNER_CAPITAL, INITIAL_CAPITAL = ord("⇪"), ord("↕"), ord("⇧")
#: Bits of a symbol: it was a capital before it was lower-cased; it is a letter; its code point.
IS_CAPITAL, IS_LETTER, CODE_POINT = np.uint32(1 << 31), np.uint32(1 << 30), np.uint32((1 << 30) - 1)

#: Number of letters that are copied at a time.
COPIED_LETTERS = 8
#: Rows that a table of distinct keys begins with; it doubles when it is full.
FEWEST_KEYS = 1 << 12


@inlined
def first_slot(key, mask):
    """Where a search for a key begins: keys may differ in high bits alone, as numbers times a power of two do."""
    key ^= key >> 14
    key ^= key >> 28
    return (key ^ (key >> 39)) & mask


@inlined
def find(key, slots, keys):
    """The row of a key, or EMPTY."""
    mask = slots.shape[0] - 1
    slot = first_slot(key, mask)
    while slots[slot] != EMPTY:
        if keys[slots[slot]] == key:
            return slots[slot]
        slot = (slot + 1) & mask
    return EMPTY


@njit
def rows_of_keys(keys, slots, known):
    """The row of each key, or EMPTY: int32."""
    rows = np.empty(keys.shape[0], np.int32)
    for k in range(keys.shape[0]):
        rows[k] = find(keys[k], slots, known)
    return rows


@njit
def insert_rows(slots, keys, first, last):
    """Insert rows ``first`` to ``last - 1`` of ``keys``, which are not in the table yet."""
    mask = slots.shape[0] - 1
    for row in range(first, last):
        slot = first_slot(keys[row], mask)
        while slots[slot] != EMPTY:
            slot = (slot + 1) & mask
        slots[slot] = row


def slots_of(keys):
    """The slots of a table of these keys (int64, all different) alone: int32, 1-D."""
    slots = empty_slots(len(keys))
    insert_rows(slots, keys, 0, len(keys))
    return slots


@njit
def number_keys(all_keys, numbers):
    """Number distinct keys in the order of their first occurrence; ``numbers`` receives the number of each key.

    Returns
    -------
    int64 (distinct)
        The place of the first occurrence of each.
    """
    firsts, keys = np.empty(FEWEST_KEYS, np.int64), np.empty(FEWEST_KEYS, np.int64)
    slots = np.full(4 * FEWEST_KEYS, EMPTY, np.int32)
    n = np.int64(0)  # insert_rows would be compiled for a plain 0 as well
    for place in range(all_keys.shape[0]):
        key = all_keys[place]
        row = find(key, slots, keys)
        if row == EMPTY:
            if n == keys.shape[0]:
                # Twice the room; what is in the second half is written over.
                firsts, keys = np.concatenate((firsts, firsts)), np.concatenate((keys, keys))
                slots = np.full(2 * slots.shape[0], EMPTY, np.int32)
                insert_rows(slots, keys, np.int64(0), n)
            row, firsts[n], keys[n] = n, place, key
            insert_rows(slots, keys, n, n + 1)
            n += 1
        numbers[place] = row
    return firsts[:n].copy()


@njit
def look_up(words, spaces, slots, keys, bounds, rows):
    """Look up the row of each token's text; return the number of letters, or EMPTY if a row is missing.

    ``words`` are the texts, ``spaces`` whether a space follows. The text of row r is
    ``letters[bounds[r] : bounds[r + 1]]``.
    """
    length = 0
    missing = False
    for token in range(words.shape[0]):
        row = find(words[token], slots, keys)
        rows[token] = row
        if row == EMPTY:
            missing = True
        else:
            length += bounds[row + 1] - bounds[row] + spaces[token]
    return EMPTY if missing else length


@njit
def spell(rows, spaces, tokens, bounds, letters, text, starts):
    """Write the letters of the tokens, and the spaces that follow them, one after the other.

    Document d has the tokens ``tokens[d]`` to ``tokens[d + 1] - 1`` and gets ``text[starts[d] : starts[d + 1]]``.
    Lengths of words cannot be predicted, and a mispredicted branch costs more than a word. So letters are copied in
    chunks, most words in a single one, and a space is written after every word. The next token overwrites the excess.
    Both ``letters`` and ``text`` need COPIED_LETTERS more places than they have letters.
    """
    end = 0
    starts[0] = 0
    for document in range(tokens.shape[0] - 1):
        for token in range(tokens[document], tokens[document + 1]):
            start = bounds[rows[token]]
            size = bounds[rows[token] + 1] - start
            for offset in range(0, size, COPIED_LETTERS):
                for k in range(offset, offset + COPIED_LETTERS):
                    text[end + k] = letters[start + k]
            end += size
            text[end] = SPACE
            end += spaces[token]
        starts[document + 1] = end


@inner
def is_space(character):
    """Whether a code point is white space, as in ``str.isspace``."""
    if character <= 0x20:
        return character == 0x20 or 0x09 <= character <= 0x0D or 0x1C <= character <= 0x1F
    if character < 0x85:
        return False
    return (
        character == 0x85
        or character == 0xA0
        or character == 0x1680
        or 0x2000 <= character <= 0x200A
        or character == 0x2028
        or character == 0x2029
        or character == 0x202F
        or character == 0x205F
        or character == 0x3000
    )


@inlined
def frame_word(text, start, end, framed, places, length):
    """Write the word ``text[start:end]`` with its marks and a space on either side from ``length`` on.

    Return where it ends. A mark has the place of its first capital.
    """
    n_letters, n_capitals, begins, first, inner = 0, 0, False, end, end
    for position in range(start, end):
        if text[position] & IS_LETTER:
            n_letters += 1
            if text[position] & IS_CAPITAL:
                n_capitals += 1
                begins |= n_letters == 1
                first = min(first, position)
                if n_capitals == 1 + begins:
                    inner = position
    with_places = places.shape[0] > 0
    if n_capitals > begins:
        is_most = 2 * n_capitals > n_letters
        framed[length] = CAPITALS if is_most else INNER_CAPITAL
        if with_places:
            places[length, 0], places[length, 1] = (first, first + 1) if is_most else (inner, inner + 1)
        length += 1
    if begins:
        framed[length] = INITIAL_CAPITAL
        if with_places:
            places[length, 0], places[length, 1] = first, first + 1
        length += 1
    framed[length] = SPACE
    if with_places:
        places[length] = start
    for position in range(start, end):
        length += 1
        framed[length] = text[position] & CODE_POINT
        if with_places:
            places[length, 0], places[length, 1] = position, position + 1
    framed[length + 1] = SPACE
    if with_places:
        places[length + 1] = end
    return length + 2


@njit
def frame_words(text, starts, framed, places, framed_starts):
    """Replace white space by a space on either side of every word and a break (0) between words of a document.

    Document d is ``text[starts[d] : starts[d + 1]]`` and gets ``framed[framed_starts[d] : framed_starts[d + 1]]``.
    Words whose letters have the bits ``IS_LETTER`` and ``IS_CAPITAL`` get marks before their first space. ``places``
    receives where each symbol starts and ends in ``text``, unless it has no rows. Outputs need 4 rows for each
    character of the text.
    """
    length = 0
    framed_starts[0] = 0
    for document in range(starts.shape[0] - 1):
        stop = starts[document + 1]
        end = starts[document]
        while True:
            start = end
            while start < stop and is_space(text[start] & CODE_POINT):
                start += 1
            if start == stop:
                break
            end = start
            while end < stop and not is_space(text[end] & CODE_POINT):
                end += 1
            if length > framed_starts[document]:
                framed[length] = 0
                if places.shape[0]:
                    places[length] = start
                length += 1
            length = frame_word(text, start, end, framed, places, length)
        framed_starts[document + 1] = length


@njit
def count_distinct(symbols, starts, last_document, table, counts):
    """Count the distinct symbols of each document.

    ``table`` is a hash table that is never emptied: a slot is in use if ``last_document`` is the current document.
    """
    mask = table.shape[0] - 1
    for document in range(counts.shape[0]):
        for position in range(starts[document], starts[document + 1]):
            slot = first_slot(symbols[position], mask)
            while last_document[slot] == document and table[slot] != symbols[position]:
                slot = (slot + 1) & mask
            if last_document[slot] != document:
                last_document[slot] = document
                table[slot] = symbols[position]
                counts[document] += 1


@njit
def count_items(ranks, starts, n_items):
    """Distinct items of each document in the order of their first occurrence, with counts, and document frequencies.

    Returns
    -------
    starts : int64 (documents + 1)
    items : int32 (entries), counts : float64 (entries)
    df : int32 (n_items)
    """
    n_documents = starts.shape[0] - 1
    entry = np.full(n_items, -1, np.int64)
    items = np.empty(ranks.shape[0], np.int32)
    counts = np.empty(ranks.shape[0])
    df = np.zeros(n_items, np.int32)
    bounds = np.zeros(n_documents + 1, np.int64)
    end = 0
    for i in range(n_documents):
        first = end
        for e in range(starts[i], starts[i + 1]):
            item = np.int64(ranks[e])
            if entry[item] < first:
                entry[item] = end
                items[end] = item
                counts[end] = 0.0
                df[item] += 1
                end += 1
            counts[entry[item]] += 1.0
        bounds[i + 1] = end
    return bounds, items[:end].copy(), counts[:end].copy(), df


@njit
def transposed(starts, items, values, n_items):
    """Documents of each item: starts int64 (n_items + 1), documents int32, values (of the same number as before)."""
    bounds = np.zeros(n_items + 1, np.int64)
    for item in items:
        bounds[item + 1] += 1
    for item in range(n_items):
        bounds[item + 1] += bounds[item]
    place = bounds[:-1].copy()
    documents = np.empty(items.shape[0], np.int32)
    moved = np.empty(values.shape[0], values.dtype)
    for i in range(starts.shape[0] - 1):
        for e in range(starts[i], starts[i + 1]):
            to = place[items[e]]
            place[items[e]] = to + 1
            documents[to] = i
            if values.shape[0] > 0:
                moved[to] = values[e]
    return bounds, documents, moved


@njit
def normalised(values, starts):
    """Values of each document divided by their L2 norm."""
    divided = np.empty(values.shape[0])
    for i in range(starts.shape[0] - 1):
        squares = 0.0
        for e in range(starts[i], starts[i + 1]):
            squares += values[e] ** 2
        norm = np.sqrt(squares)
        for e in range(starts[i], starts[i + 1]):
            divided[e] = values[e] / norm if norm > 0.0 else 0.0
    return divided
