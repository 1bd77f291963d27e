"""Graphs as bytes: a header, then names and arrays, compressed. Reading executes no code and checks all sizes.

    header   16 bytes  ``spacy-graft net`` and a line feed
              2        version, 1
              8        length of the compressed content
              4        its CRC-32
              8        its length, uncompressed
    content            zlib, of:
              8        length of the next field
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
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .vocabulary import Vertex

MAGIC = b"spacy-graft net\n"
#: Increase it when the format changes, and continue to read older versions.
VERSION = 1
HEADER = struct.Struct("<16sHQIQ")
LENGTH = struct.Struct("<Q")
#: Upper bound of the compression ratio of zlib.
MAX_RATIO = 1032

#: Matrices of the similar and of the dissimilar edges.
EdgeMatrices = tuple[sparse.csr_array, sparse.csr_array]


def is_network(path: Path) -> bool:
    """Whether a file begins as those of graphs do, or is empty."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) in (MAGIC, b"")


def pack_graph(
    vertices: Sequence[Vertex], virtual: np.ndarray, matrices: EdgeMatrices, report: dict[str, Any]
) -> bytes:
    """Return the bytes of a graph. Equal graphs have equal bytes."""
    description = {"vertices": vertices, "edges": [matrix.nnz for matrix in matrices], "report": report}
    text = json.dumps(description, separators=(",", ":")).encode("ascii")
    parts = [LENGTH.pack(len(text)), text, virtual.astype(np.uint8).tobytes()]
    for matrix in matrices:
        parts += [matrix.indptr.astype("<i8").tobytes(), matrix.indices.astype("<i4").tobytes()]
        parts += [matrix.data.astype("<f8").tobytes()]
    content = b"".join(parts)
    compressed = zlib.compress(content)
    return HEADER.pack(MAGIC, VERSION, len(compressed), zlib.crc32(compressed), len(content)) + compressed


def unpack_graph(data: bytes) -> tuple[tuple[Vertex, ...], np.ndarray, EdgeMatrices, dict[str, Any]]:
    """Return vertices, virtual, matrices and report; raise a ValueError if the bytes are no valid graph."""
    content = decompressed(data)
    if len(content) < LENGTH.size:
        raise damaged_graph("it has no names")
    (length,) = LENGTH.unpack_from(content)
    arrays = LENGTH.size + length
    vertices, edges, report = parse_description(content[LENGTH.size : arrays])
    n = len(vertices)
    if arrays + n + sum(8 * (n + 1) + 12 * count for count in edges) != len(content):
        raise damaged_graph("the sizes of its arrays are wrong")
    virtual = np.frombuffer(content, np.uint8, n, arrays)
    if (virtual > 1).any():
        raise damaged_graph("values of virtual must be 0 or 1")
    similar, end = matrix_at(content, arrays + n, n, edges[0])
    dissimilar, _ = matrix_at(content, end, n, edges[1])
    return vertices, virtual.astype(np.bool_), (similar, dissimilar), report


def decompressed(data: bytes) -> bytes:
    """Return the uncompressed content; raise a ValueError if it does not fit the header."""
    if data[: len(MAGIC)] != MAGIC[: len(data)] or not data:
        raise ValueError("This is not a graph file of spacy-graft")
    if len(data) < HEADER.size:
        raise damaged_graph("it ends within the header")
    _, version, n_compressed, checksum, n_content = HEADER.unpack_from(data)
    if version != VERSION:
        raise ValueError(
            f"The graph file has the format {version}, but this version of spacy-graft reads format {VERSION}"
        )
    if len(data) - HEADER.size != n_compressed or n_content > MAX_RATIO * n_compressed:
        raise damaged_graph("its length is not that in its header")
    compressed = data[HEADER.size :]
    if zlib.crc32(compressed) != checksum:
        raise damaged_graph("its checksum is wrong")
    try:
        # At most one byte more than in the header, whatever the stream contains.
        stream = zlib.decompressobj()
        content = stream.decompress(compressed, n_content + 1)
    except zlib.error as error:
        raise damaged_graph(str(error)) from error
    if not stream.eof or stream.unused_data or len(content) != n_content:
        raise damaged_graph("its uncompressed length is not that in its header")
    return content


def parse_description(text: bytes) -> tuple[tuple[Vertex, ...], tuple[int, int], dict[str, Any]]:
    """Return vertices, numbers of edges and report."""
    try:
        description = json.loads(text.decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise damaged_graph(f"its names cannot be read: {error}") from error
    if not isinstance(description, dict) or set(description) != {"vertices", "edges", "report"}:
        raise damaged_graph("it has no vertices, edges and report")
    vertices, edges, report = (description[key] for key in ("vertices", "edges", "report"))
    if not isinstance(vertices, list) or not all(map(is_name, vertices)):
        raise damaged_graph("its names must be lists of strings")
    if not isinstance(edges, list) or len(edges) != 2 or not all(type(n) is int and n >= 0 for n in edges):
        raise damaged_graph("it must have two numbers of edges")
    if not isinstance(report, dict) or not are_counts(report.get("skipped", {})):
        raise damaged_graph("its report must be an object, and its skipped entry must have counts")
    return tuple(map(tuple, vertices)), (edges[0], edges[1]), report


def are_counts(value: Any) -> bool:
    """Whether a value is a dict of integers."""
    return isinstance(value, dict) and all(type(count) is int for count in value.values())


def is_name(value: Any) -> bool:
    """Whether a value is the name of a vertex: a list of at least one string."""
    return isinstance(value, list) and bool(value) and all(type(symbol) is str for symbol in value)


def matrix_at(content: bytes, start: int, n: int, n_edges: int) -> tuple[sparse.csr_array, int]:
    """Return the matrix whose arrays begin at ``start``, and the end of the arrays."""
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
        raise damaged_graph(f"its edges are no matrix: {error}") from error
    return matrix, weights + 8 * n_edges


def damaged_graph(problem: str) -> ValueError:
    """The error for damaged bytes."""
    return ValueError(f"The graph is damaged: {problem}")
