"""Graphs as bytes: a header, then names and arrays, compressed. Reading executes nothing and trusts no size.

    header   16 bytes  ``spacy-graft net`` and a line feed
              2        version, 1
              8        length of what follows the header
              4        its CRC-32
              8        its length, uncompressed
    content            zlib, of:
              8        length of the next
                       JSON in ASCII: ``vertices`` (lists of strings), ``edges`` (two numbers), ``report``
              n        virtual, 0 or 1
                       twice (similar, dissimilar): int64 (n + 1) row starts, int32 columns, float64 weights

All numbers are little-endian.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .vocabulary import Vertex

MAGIC = b"spacy-graft net\n"
#: Raise it when the meaning of the bytes changes, and go on reading the older ones.
VERSION = 1
HEADER = struct.Struct("<16sHQIQ")
LENGTH = struct.Struct("<Q")
#: zlib never makes more of a byte.
MAX_RATIO = 1032

Matrices = tuple[sparse.csr_array, sparse.csr_array]


def packed(vertices: Sequence[Vertex], virtual: np.ndarray, matrices: Matrices, report: dict[str, Any]) -> bytes:
    """The bytes of a graph; the same graph gives the same bytes."""
    about = {"vertices": vertices, "edges": [matrix.nnz for matrix in matrices], "report": report}
    text = json.dumps(about, separators=(",", ":")).encode("ascii")
    parts = [LENGTH.pack(len(text)), text, virtual.astype(np.uint8).tobytes()]
    for matrix in matrices:
        parts += [matrix.indptr.astype("<i8").tobytes(), matrix.indices.astype("<i4").tobytes()]
        parts += [matrix.data.astype("<f8").tobytes()]
    content = b"".join(parts)
    compressed = zlib.compress(content)
    return HEADER.pack(MAGIC, VERSION, len(compressed), zlib.crc32(compressed), len(content)) + compressed


def unpacked(data: bytes) -> tuple[tuple[Vertex, ...], np.ndarray, Matrices, dict[str, Any]]:
    """Vertices, virtual, matrices and report; a ValueError if the bytes do not hold what they should."""
    content = decompressed(data)
    if len(content) < LENGTH.size:
        raise damaged("it has no names")
    (length,) = LENGTH.unpack_from(content)
    arrays = LENGTH.size + length
    vertices, edges, report = parsed(content[LENGTH.size : arrays])
    n = len(vertices)
    if arrays + n + sum(8 * (n + 1) + 12 * count for count in edges) != len(content):
        raise damaged("its arrays have other sizes than it says")
    virtual = np.frombuffer(content, np.uint8, n, arrays)
    if (virtual > 1).any():
        raise damaged("virtual is 0 or 1")
    similar, end = matrix_at(content, arrays + n, n, edges[0])
    dissimilar, _ = matrix_at(content, end, n, edges[1])
    return vertices, virtual.astype(np.bool_), (similar, dissimilar), report


def decompressed(data: bytes) -> bytes:
    """What follows the header, if it is what the header says."""
    if data[: len(MAGIC)] != MAGIC[: len(data)] or not data:
        raise ValueError("This is not a network of features of spacy-graft")
    if len(data) < HEADER.size:
        raise damaged("it ends within the header")
    _, version, n_compressed, checksum, n_content = HEADER.unpack_from(data)
    if version != VERSION:
        raise ValueError(f"The network has the format {version}; this version of spacy-graft reads format {VERSION}")
    if len(data) - HEADER.size != n_compressed or n_content > MAX_RATIO * n_compressed:
        raise damaged("it is cut off, or longer than it says")
    compressed = data[HEADER.size :]
    if zlib.crc32(compressed) != checksum:
        raise damaged("its checksum is another")
    try:
        # Hardly more than the header says, whatever the stream holds.
        stream = zlib.decompressobj()
        content = stream.decompress(compressed, n_content + 1)
    except zlib.error as error:
        raise damaged(str(error)) from error
    if not stream.eof or stream.unused_data or len(content) != n_content:
        raise damaged("it unpacks to another length than it says")
    return content


def parsed(text: bytes) -> tuple[tuple[Vertex, ...], tuple[int, int], dict[str, Any]]:
    """Vertices, numbers of edges and report."""
    try:
        about = json.loads(text.decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise damaged(f"its names cannot be read: {error}") from error
    if not isinstance(about, dict) or set(about) != {"vertices", "edges", "report"}:
        raise damaged("it has no vertices, edges and report")
    vertices, edges, report = about["vertices"], about["edges"], about["report"]
    if not isinstance(vertices, list) or not all(map(is_name, vertices)):
        raise damaged("names are lists of strings")
    if not isinstance(edges, list) or len(edges) != 2 or not all(type(n) is int and n >= 0 for n in edges):
        raise damaged("it has no two numbers of edges")
    if not isinstance(report, dict) or not are_counts(report.get("skipped", {})):
        raise damaged("its report is no object, or what it skipped are no counts")
    return tuple(map(tuple, vertices)), (edges[0], edges[1]), report


def are_counts(value: Any) -> bool:
    """Whether a value has integers by name."""
    return isinstance(value, dict) and all(type(count) is int for count in value.values())


def is_name(value: Any) -> bool:
    """Whether a value is the name of a vertex: strings, one at least."""
    return isinstance(value, list) and bool(value) and all(type(symbol) is str for symbol in value)


def matrix_at(content: bytes, start: int, n: int, n_edges: int) -> tuple[sparse.csr_array, int]:
    """The matrix whose arrays begin at ``start``, and where they end."""
    columns, weights = start + 8 * (n + 1), start + 8 * (n + 1) + 4 * n_edges
    arrays = (
        np.frombuffer(content, "<f8", n_edges, weights).astype(np.float64),
        np.frombuffer(content, "<i4", n_edges, columns).astype(np.int32),
        np.frombuffer(content, "<i8", n + 1, start).astype(np.int64),
    )
    try:
        matrix = sparse.csr_array(arrays, shape=(n, n))
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise damaged(f"its edges are no matrix: {error}") from error
    return matrix, weights + 8 * n_edges


def damaged(problem: str) -> ValueError:
    """The error for bytes that are no network."""
    return ValueError(f"The network is damaged: {problem}")
