"""Digests of values: what two processes must share for the work of one to be of use to the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

#: Types whose ``repr`` says all that there is to say.
PLAIN = (str, bytes, int, float, bool, type(None))
DIGEST_BYTES = 16


def digest_of(value: Any) -> str:
    """Digest of plain values, arrays, dataclasses, and collections of them; equal in every process.

    Raises
    ------
    TypeError
        If there is a value of another type.
    """
    digest = blake2b(digest_size=DIGEST_BYTES)
    for part in parts_of(value):
        digest.update(part)
    return digest.hexdigest()


def parts_of(value: Any) -> Iterable[Any]:
    """Yield bytes and buffers that no other value yields; each is preceded by its type and size."""
    if isinstance(value, PLAIN):
        text = repr(value).encode("utf-8", "surrogatepass")
        yield f"{type(value).__name__} {len(text)}:".encode()
        yield text
    elif isinstance(value, np.ndarray):
        yield f"array {value.dtype} {value.shape}:".encode()
        if value.dtype == object:
            yield from parts_of(value.ravel().tolist())
        else:
            yield np.ascontiguousarray(value).reshape(-1).view(np.uint8)
    elif sparse.issparse(value):
        rows = sparse.csr_array(value)
        yield from parts_of([rows.shape, rows.indptr, rows.indices, rows.data])
    elif is_dataclass(value) and not isinstance(value, type):
        yield from parts_of([type(value).__name__, {field.name: getattr(value, field.name) for field in fields(value)}])
    elif isinstance(value, Mapping):
        yield from parts_of([[*value.keys()], [*value.values()]])
    elif isinstance(value, list | tuple):
        yield f"list {len(value)}:".encode()
        for member in value:
            yield from parts_of(member)
    else:
        raise TypeError(f"There is no digest of {value!r}, a {type(value).__name__}.")
