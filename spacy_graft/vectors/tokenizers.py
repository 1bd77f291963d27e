"""The words of a ``tokenizer.json``: those of its tokens that are whole words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

#: What begins a token that goes on a word (WordPiece), and what begins one that begins a word (Unigram, BPE).
CONTINUES, BEGINS = "##", ("▁", "Ġ")


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
    marks = any(token.startswith(BEGINS) for token in tokens.values())
    rows: dict[str, int] = {}
    for row, token in sorted(tokens.items()):
        word = token.lstrip("".join(BEGINS)) if marks and token.startswith(BEGINS) else token
        is_part = not token.startswith(BEGINS) if marks else token.startswith(CONTINUES)
        if word and not is_part and token not in special:
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
