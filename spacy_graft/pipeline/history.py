"""The steps of a training, one after the other: what a figure of the regularisation path is drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType
from typing import Any

from ..graft.report import Report

#: What is told of a step, and what it may be.
KINDS: dict[str, tuple[type, ...]] = {
    "step": (int,),
    "l1": (float,),
    "l1_ratio": (float,),
    "n_active": (int,),
    "objective": (float,),
    "gap": (float,),
    "refit": (float, NoneType),
    "score": (float, NoneType),
}


def entry(step: int, report: Report) -> dict[str, Any]:
    """A step, not scored yet, in plain values."""
    return {
        "step": step,
        "l1": float(report.l1),
        "l1_ratio": float(report.l1_ratio),
        "n_active": int(report.n_active),
        "objective": float(report.objective),
        "gap": float(report.relative_gap),
        "refit": None if report.refit is None else float(report.refit),
        "score": None,
    }


def continued(before: list[dict[str, Any]], reports: Sequence[Report]) -> list[dict[str, Any]]:
    """The steps after which a fit reported this, with the scores of those that are as before.

    They are not where the fit has begun again with more documents.
    """
    steps = [entry(step, report) for step, report in enumerate(reports, start=1)]
    for old, new in zip(before, steps, strict=False):
        if new == {**old, "score": None}:
            new["score"] = old["score"]
    return steps


def restored(saved: Any) -> list[dict[str, Any]]:
    """A copy of the history in the attributes of a model; none if it is damaged, for a model does without."""
    if not isinstance(saved, list) or not all(map(is_entry, saved)):
        return []
    return [{key: each[key] for key in KINDS} for each in saved]


def is_entry(value: Any) -> bool:
    """Whether this is a step; what a later version may tell beside is no harm."""
    return isinstance(value, dict) and all(isinstance(value.get(key, ...), kinds) for key, kinds in KINDS.items())
