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

    @property
    def by_label(self) -> bool:
        """Whether λ depends on the label."""
        return self in (PenaltyWeightKind.RATIO, PenaltyWeightKind.RATIO_IDF)

    @property
    def counts_documents(self) -> bool:
        """Whether λ follows from numbers of documents."""
        return self is PenaltyWeightKind.IDF or self.by_label
