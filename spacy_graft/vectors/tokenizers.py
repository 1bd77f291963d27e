"""The words of a ``tokenizer.json``: those of its tokens that are whole words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

#: What begins a token that goes on a word (WordPiece), and what begins one that begins a word (Unigram, BPE).
CONTINUES, BEGINS = "##", ("▁", "Ġ")
#: The bytes that a tokenizer of bytes writes as the characters with their numbers; it writes the others, in ascending
#: order, as the characters from number 256 on (Radford et al. 2019).
PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
OTHERS = [byte for byte in range(256) if byte not in PRINTABLE]
#: The bytes by the characters that stand for them.
BYTES = {chr(byte): byte for byte in PRINTABLE} | {chr(256 + k): byte for k, byte in enumerate(OTHERS)}
BYTE_LEVEL = "ByteLevel"


def whole_words(path: Path) -> dict[int, str]:
    """The words that are one token, by its number.

    Of tokens that stand for the same word the first is taken.

    Raises
    ------
    ValueError
        If it is no ``tokenizer.json``.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON in UTF-8: {error}") from error
    tokens = tokens_of(content)
    if not tokens:
        raise ValueError(f"{path} is no tokenizer.json: it has no model with a vocab.")
    added = content.get("added_tokens")
    contents = [token.get("content") for token in added if isinstance(token, dict)] if isinstance(added, list) else []
    special = {token for token in contents if isinstance(token, str)}
    begins: tuple[str, ...] = BEGINS
    if is_of_bytes([content.get("pre_tokenizer"), content.get("decoder")]):
        begins = BEGINS[:1]
        tokens = {row: text for row, token in tokens.items() if (text := text_of_bytes(token)) is not None}
    marks = any(token.startswith(begins) for token in tokens.values())
    rows: dict[str, int] = {}
    for row, token in sorted(tokens.items()):
        word = token.lstrip("".join(begins)) if marks and token.startswith(begins) else token
        is_part = not token.startswith(begins) if marks else token.startswith(CONTINUES)
        if word.strip() and not is_part and token not in special:
            rows.setdefault(word, row)
    return {row: word for word, row in rows.items()}


def tokens_of(content: Any) -> dict[int, str]:
    """The tokens by number; none if there are none."""
    model = content.get("model") if isinstance(content, dict) else None
    vocab = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(vocab, dict):
        return {row: token for token, row in vocab.items() if type(row) is int and row >= 0}
    if isinstance(vocab, list):
        pieces = [piece[0] if isinstance(piece, list) and piece else None for piece in vocab]
        return {row: piece for row, piece in enumerate(pieces) if isinstance(piece, str)}
    return {}


def is_of_bytes(parts: Any) -> bool:
    """Whether tokens are of bytes that are written as characters, by what a tokenizer is made of."""
    if isinstance(parts, dict):
        return parts.get("type") == BYTE_LEVEL or is_of_bytes([*parts.values()])
    return isinstance(parts, list) and any(map(is_of_bytes, parts))


def text_of_bytes(token: str) -> str | None:
    """The text of a token of bytes, whose spaces are marks of a beginning; None if it ends within a character."""
    try:
        return bytes(BYTES[character] for character in token).decode().replace(" ", BEGINS[0])
    except (KeyError, UnicodeDecodeError):  # an added token, or a part of a character
        return None
