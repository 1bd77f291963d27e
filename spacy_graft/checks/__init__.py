"""Checks of a training corpus before training: its contents, its feature space, likely label errors.

Names are imported when they are first used: :mod:`spacy_graft.checks.memory` loads the compiler.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .association import SignificanceReport, SignificantFeature, significance
    from .corpus import CorpusReport, Finding, SplitReport, check_corpus
    from .labels import LabelIssue, label_errors
    from .memory import BlockSize, MemoryEstimate, estimate_memory

__all__ = [
    "BlockSize",
    "CorpusReport",
    "Finding",
    "LabelIssue",
    "MemoryEstimate",
    "SignificanceReport",
    "SignificantFeature",
    "SplitReport",
    "check_corpus",
    "estimate_memory",
    "label_errors",
    "significance",
]

_MODULE_OF = {
    **dict.fromkeys(("SignificanceReport", "SignificantFeature", "significance"), ".association"),
    **dict.fromkeys(("CorpusReport", "Finding", "SplitReport", "check_corpus"), ".corpus"),
    **dict.fromkeys(("LabelIssue", "label_errors"), ".labels"),
    **dict.fromkeys(("BlockSize", "MemoryEstimate", "estimate_memory"), ".memory"),
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name], __name__), name)
