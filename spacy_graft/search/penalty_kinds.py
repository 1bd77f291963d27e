"""The kinds of penalty weights, for settings, searches and kernels alike."""

from __future__ import annotations

from enum import IntEnum


class PenaltyWeightKind(IntEnum):
    """What λ follows from (:mod:`spacy_graft.graft.penalty_weights`); a config has the name in lower case."""

    NONE = 0
    IDF = 1
    STANDARD = 2
    RATIO = 3
    RATIO_IDF = 4
