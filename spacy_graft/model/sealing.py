"""Sealed messages: named parts in one message, with a digest over all of them."""

from __future__ import annotations

from collections.abc import Mapping

from ..digests import digest_of
from .table import check_version, damaged_model, pack_message, types_of, unpack_message

#: Version of sealed messages. Increase it when their parts change in a way that older versions cannot read.
SEAL_FORMAT = 2
TYPES = {"version": int, "parts": dict, "digest": str}


def seal(parts: Mapping[str, bytes]) -> bytes:
    """Write parts as one message.

    The digest guards against damage, and against parts that do not belong together. It is no signature: whoever writes
    a file on purpose can write a digest that fits.
    """
    return pack_message({"version": SEAL_FORMAT, "parts": dict(parts), "digest": digest_of_parts(parts)})


def unseal(data: bytes) -> tuple[dict[str, bytes], str]:
    """Return the parts of a sealed message, and their digest.

    Raises
    ------
    ValueError
        If the bytes are anything but what :func:`seal` wrote, to the bit, in this version of the format.
    """
    message = unpack_message(data)
    if isinstance(message, dict) and "nodes" in message:
        raise ValueError(
            "The model was saved by an older spacy_graft, in a format that is no longer read: train the model again."
        )
    if types_of(message) != TYPES:
        raise damaged_model("it is not a sealed message of spacy_graft")
    check_version(message["version"], SEAL_FORMAT)
    parts, digest = message["parts"], message["digest"]
    are_bytes = all(type(key) is str and type(part) is bytes for key, part in parts.items())
    if not are_bytes or digest_of_parts(parts) != digest:
        raise damaged_model("its digest is not that of its content")
    return parts, digest


def digest_of_parts(parts: Mapping[str, bytes]) -> str:
    """The digest of parts and their names; a part that is missing changes it."""
    return digest_of([SEAL_FORMAT, sorted(parts.items())])
