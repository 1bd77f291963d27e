"""Scores of words in a saved model: all that it keeps of word vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..extract.blocks import Block, is_vectors_block
from ..vectors.word_scores import Lexicon, WordScores, WrittenScores
from .table import damaged_model, pack_message

#: The parts of the message. Numbers are little-endian: shares and scores float32, known int32.
PARTS = {"block": str, "words": list, "shares": bytes, "known": bytes, "scores": bytes}


def pack_word_scores(word_scores: WordScores) -> bytes:
    """Write them as MessagePack."""
    written = word_scores.written()
    assert isinstance(written.scores, WrittenScores)
    lexicon = written.lexicon
    return pack_message(
        {
            "block": written.block,
            "words": list(lexicon.words),
            "shares": lexicon.shares.astype("<f4").tobytes(),
            "known": lexicon.known.astype("<i4").tobytes(),
            "scores": written.scores.table.astype("<f4").tobytes(),
        }
    )


def unpack_word_scores(message: Any, blocks: Mapping[str, Block]) -> WordScores:
    """Read what :func:`pack_word_scores` wrote, from its message.

    Raises
    ------
    ValueError
        If it is damaged, or the blocks have no such block of vectors.
    """
    if not isinstance(message, dict) or {name: type(value) for name, value in message.items()} != PARTS:
        raise damaged_model(f"its scores of words have other parts than {', '.join(PARTS)}")
    words, name = tuple(message["words"]), message["block"]
    if not all(type(word) is str and word for word in words) or len(set(words)) < len(words):
        raise damaged_model("its scores of words are of words that are not different strings")
    shares, known, scores = (message[part] for part in ("shares", "known", "scores"))
    if not len(shares) == len(known) == 4 * len(words) or not words or len(scores) % (4 * len(words)):
        raise damaged_model("its scores of words do not have as many numbers for each word")
    table = np.frombuffer(scores, "<f4").astype(np.float32).reshape(len(words), -1)
    all_shares, all_known = np.frombuffer(shares, "<f4").astype(np.float32), np.frombuffer(known, "<i4")
    if not np.isfinite(table).all() or not ((all_shares > 0.0) & (all_shares <= 1.0)).all() or (all_known < 0).any():
        raise damaged_model("its scores of words have numbers that are out of range")
    block = blocks.get(name)
    if block is None or not is_vectors_block(block):
        raise ValueError(
            f"The model has scores of words of block {name!r}, but its config has no such block of vectors. Use the "
            f"config that it was trained with."
        )
    lexicon = Lexicon(words, block.keys(words), all_shares, all_known.astype(np.int32))
    return WordScores(name, lexicon, WrittenScores(table))
