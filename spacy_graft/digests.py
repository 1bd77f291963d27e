"""Digests of values: what two processes must share for the work of one to be of use to the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from hashlib import blake2b, sha256
from heapq import nsmallest
from typing import Any

import numpy as np

#: Types whose ``repr`` says all that there is to say.
PLAIN = (str, int, float, bool, type(None))
#: Texts of a sketch at the most.
SKETCHED = 64


def digest_of(value: Any) -> str:
    """SHA-256 of plain values, arrays, dataclasses, and collections of them, in hexadecimal; equal in every process.

    Raises
    ------
    TypeError
        If there is a value of another type.
    """
    digest = sha256()
    for piece in pieces_of(value):
        digest.update(piece)
    return digest.hexdigest()


def text_key(text: str, before: bytes = b"") -> int:
    """A 64-bit digest of a text, or of bytes and the text after them, the same in every process."""
    return int.from_bytes(blake2b(before + text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def sketch_of(texts: Iterable[str]) -> str:
    """The least digests of texts, 32 bits each in hexadecimal: of many, a random sample that is the same each time.

    References
    ----------
    Broder 1997, doi:10.1109/SEQUEN.1997.666900.
    """
    return "".join(f"{key:08x}" for key in nsmallest(SKETCHED, {short_key(text) for text in texts}))


def share_in_sketch(texts: Iterable[str], sketch: str, most_copies: int) -> float:
    """About which share of texts is among those that a sketch was made of; exact if these were few.

    Each text counts once, and not at all if more than ``most_copies`` are the same.
    """
    known = {int(sketch[begin : begin + 8], 16) for begin in range(0, len(sketch), 8)}
    # Of many, those that could be in a sample: only they are kept.
    largest = max(known) if len(known) == SKETCHED else 2**32
    counts = Counter(key for key in map(short_key, texts) if key <= largest)
    sampled = [key for key, n_copies in counts.items() if n_copies <= most_copies]
    return sum(key in known for key in sampled) / len(sampled) if sampled else 0.0


def short_key(text: str) -> int:
    """The first 32 bits of :func:`text_key`."""
    return text_key(text) >> 32


def pieces_of(value: Any) -> Iterable[Any]:
    """Yield bytes and buffers that no other value yields; each is preceded by its type and size."""
    if isinstance(value, PLAIN):
        text = repr(value).encode("utf-8", "surrogatepass")
        yield f"{type(value).__name__} {len(text)}:".encode()
        yield text
    elif isinstance(value, bytes):
        yield f"bytes {len(value)}:".encode()
        yield value
    elif isinstance(value, np.ndarray):
        yield f"array {value.dtype} {value.shape}:".encode()
        if value.dtype == object:
            yield from pieces_of(value.ravel().tolist())
        else:
            yield np.ascontiguousarray(value).reshape(-1).view(np.uint8)
    elif hasattr(value, "tocsr"):  # of SciPy, which takes longer to import than a model to load
        rows = value.tocsr()
        yield from pieces_of([rows.shape, rows.indptr, rows.indices, rows.data])
    elif is_dataclass(value) and not isinstance(value, type):
        yield from pieces_of(
            [type(value).__name__, {field.name: getattr(value, field.name) for field in fields(value)}]
        )
    elif isinstance(value, Mapping):
        yield from pieces_of([[*value.keys()], [*value.values()]])
    elif isinstance(value, list | tuple):
        yield f"list {len(value)}:".encode()
        for member in value:
            yield from pieces_of(member)
    elif isinstance(value, set | frozenset):
        yield f"set {len(value)}:".encode()
        yield from (digest.encode() for digest in sorted(map(digest_of, value)))
    else:
        raise TypeError(f"There is no digest of {value!r}, a {type(value).__name__}.")
