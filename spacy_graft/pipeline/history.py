"""The history of a training: one record for each step, from which the regularisation path can be plotted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import NoneType
from typing import Any

from ..graft.report import Report

#: Keys of the record of a step, most of them those of its report, with the types of their values.
STEP_TYPES: dict[str, tuple[type, ...]] = {
    "step": (int,),
    "l1": (float,),
    "l1_ratio": (float,),
    "n_active": (int,),
    "objective": (float,),
    "gap": (float, NoneType),
    "refit": (float, NoneType),
    "log_loss": (float, NoneType),
    "log_loss_error": (float, NoneType),
    "difference_error": (float, NoneType),
    "score": (float, NoneType),
}


def step_record(step: int, report: Report) -> dict[str, Any]:
    """The record of a step without a score, in plain values."""
    # The gap is not known before features of every degree have been searched; JSON has no infinity.
    gap = report.relative_gap if math.isfinite(report.relative_gap) else None
    own = {"step": step, "gap": gap, "score": None}
    values = {key: own[key] if key in own else getattr(report, key) for key in STEP_TYPES}
    return {key: None if value is None else STEP_TYPES[key][0](value) for key, value in values.items()}


def history_of(reports: Sequence[Report], before: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records of all steps of a fit, with the scores of the history before where steps are the same.

    Steps differ if the fit was started again with more documents; the standard error of a difference also changes when
    a later point has a lower log-loss.
    """
    steps = [step_record(step, report) for step, report in enumerate(reports, start=1)]
    for old, new in zip(before, steps, strict=False):
        if new == {**old, "score": None, "difference_error": new["difference_error"]}:
            new["score"] = old["score"]
    return steps


def read_history(saved: Any) -> list[dict[str, Any]]:
    """Return a copy of a saved history; empty if it is damaged, since a model works without."""
    if not isinstance(saved, list) or not all(map(is_step_record, saved)):
        return []
    return [{key: record[key] for key in STEP_TYPES} for record in saved]


def is_step_record(value: Any) -> bool:
    """Whether this is a record of a step; further keys, of a later version, are allowed."""
    return isinstance(value, dict) and all(isinstance(value.get(key, ...), kinds) for key, kinds in STEP_TYPES.items())
