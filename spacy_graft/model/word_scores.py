"""Scores of words in a saved model: all that it keeps of word vectors, unless its pipeline has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..extract.blocks import Block
from ..vectors.word_scores import Fold, Lexicon, WordScores, WrittenScores
from .snapshot import block_of_word_scores
from .table import damaged_model, pack_message, types_of

#: The parts of the message. Numbers are little-endian: shares and scores float32, known int32.
PARTS = {"block": str, "words": list, "shares": bytes, "known": bytes, "scores": bytes}
#: Those of a model that finds the vectors in its pipeline: mean and weights are float64.
PIPELINE_PARTS = {
    "block": str, "words": list, "shares": bytes, "known": bytes, "mean": bytes, "weights": bytes, "digest": str,
}  # fmt: skip


def pack_word_scores(word_scores: WordScores) -> bytes:
    """Write them as MessagePack."""
    if word_scores.digest:
        # All other words have the share 1 and no training document.
        lexicon = word_scores.lexicon.some(np.flatnonzero(word_scores.lexicon.known))
        of_words = kept_with_pipeline(word_scores)
    else:
        written = word_scores.written()
        assert isinstance(written.scores, WrittenScores)
        lexicon, of_words = written.lexicon, {"scores": written.scores.table.astype("<f4").tobytes()}
    return pack_message(
        {
            "block": word_scores.block,
            "words": list(lexicon.words),
            "shares": lexicon.shares.astype("<f4").tobytes(),
            "known": lexicon.known.astype("<i4").tobytes(),
            **of_words,
        }
    )


def kept_with_pipeline(word_scores: WordScores) -> dict[str, Any]:
    """What is kept in place of scores where the pipeline has the vectors."""
    fold = word_scores.scores
    assert isinstance(fold, Fold)
    return {
        "mean": fold.mean.astype("<f8").tobytes(),
        "weights": fold.weights.astype("<f8").tobytes(),
        "digest": word_scores.digest,
    }


def unpack_word_scores(message: Any, blocks: Mapping[str, Block]) -> WordScores:
    """Read what :func:`pack_word_scores` wrote, from its message.

    Where the pipeline has the vectors, they are still missing (:meth:`.WordScores.with_vectors`).

    Raises
    ------
    ValueError
        If it is damaged, or the blocks have no such block of vectors.
    """
    parts = types_of(message)
    if parts not in (PARTS, PIPELINE_PARTS):
        raise damaged_model(f"its scores of words have other parts than {', '.join(PARTS)}")
    words, name = tuple(message["words"]), message["block"]
    if not all(type(word) is str and word for word in words) or len(set(words)) < len(words):
        raise damaged_model("its scores of words are of words that are not different strings")
    shares, known = (message[part] for part in ("shares", "known"))
    if not len(shares) == len(known) == 4 * len(words) or not words:
        raise damaged_model("its scores of words do not have as many numbers for each word")
    scores = read_scores(message, len(words)) if parts == PARTS else read_fold(message)
    all_shares, all_known = np.frombuffer(shares, "<f4").astype(np.float32), np.frombuffer(known, "<i4")
    if not ((all_shares > 0.0) & (all_shares <= 1.0)).all() or (all_known < 0).any():
        raise damaged_model("its scores of words have numbers that are out of range")
    lexicon = Lexicon(words, block_of_word_scores(blocks, name).keys(words), all_shares, all_known.astype(np.int32))
    return WordScores(name, lexicon, scores, message.get("digest", ""))


def read_scores(message: dict[str, Any], n_words: int) -> WrittenScores:
    """Read the scores of words."""
    if len(message["scores"]) % (4 * n_words):
        raise damaged_model("its scores of words do not have as many numbers for each word")
    return WrittenScores(finite_numbers(message["scores"], "<f4").astype(np.float32).reshape(n_words, -1))


def read_fold(message: dict[str, Any]) -> Fold:
    """Read what scores of words are computed from when there are vectors."""
    if not message["mean"] or len(message["mean"]) % 8 or len(message["weights"]) % len(message["mean"]):
        raise damaged_model("its scores of words do not have weights for each column of the vectors")
    mean = finite_numbers(message["mean"], "<f8").astype(np.float64)
    weights = finite_numbers(message["weights"], "<f8").astype(np.float64).reshape(len(mean), -1)
    return Fold(np.empty((0, len(mean)), np.float32), np.empty(0, np.int64), mean, weights)


def finite_numbers(data: bytes, dtype: str) -> np.ndarray:
    """Read numbers; a ValueError if one is not finite."""
    numbers = np.frombuffer(data, dtype)
    if not np.isfinite(numbers).all():
        raise damaged_model("its scores of words have numbers that are out of range")
    return numbers
