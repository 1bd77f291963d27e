"""The history of a training: one record for each step, from which the regularisation path can be plotted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import NoneType
from typing import Any

from ..graft.report import Report

#: Keys of the record of a step, with the types of their values.
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
    return {
        "step": step,
        "l1": float(report.l1),
        "l1_ratio": float(report.l1_ratio),
        "n_active": int(report.n_active),
        "objective": float(report.objective),
        # Not known before features of every degree have been searched; JSON has no infinity.
        "gap": float(report.relative_gap) if math.isfinite(report.relative_gap) else None,
        "refit": None if report.refit is None else float(report.refit),
        "log_loss": None if report.log_loss is None else float(report.log_loss),
        "log_loss_error": None if report.log_loss_error is None else float(report.log_loss_error),
        "difference_error": None if report.difference_error is None else float(report.difference_error),
        "score": None,
    }


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
