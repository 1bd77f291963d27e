"""The figures of a fit."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from numbers import Integral, Real
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from ..adjustment import Adjustment
from .constraints import Constraints


@dataclass
class Report:
    """The state of a fit after its last step.

    Attributes
    ----------
    rounds : int
        Grafting rounds so far.
    l1, l1_max : float
        L1 strength (0 without L1), and the smallest one whose model is empty: the largest ``|v| / λ`` at zero weights.
        Where there are word vectors, the model is empty at it both with them and without.
    objective, duality_gap : float
        F, and a bound of its distance to the optimum over the whole space; both in nats. The bound is infinite until
        features of every degree have been searched at this strength. Without L1 it is that of the distance to the
        optimum over the features that were selected.
    relative_gap : float
        The gap in units of F at zero weights: training under L1 stops at ``tol``.
    max_violation : float
        Largest ``max(|v| / λ − l1, 0)`` of all features that were searched and are not in the model, in units of
        ``l1``, both times the factor of the sign if there is one; without L1, of ``min_gradient`` in its place.
    refit : float, optional
        Strength of the L2 penalty under which the weights were fitted again; the figures are those before.
    points : int
        Points of a path so far.
    temperature : float
        The number by which the weights were divided after the choice on held-out documents, and by ``calibrate``.
    tilt : float
        By how much of the logarithms of shares of labels intercepts were moved after that
        (:class:`~spacy_graft.adjustment.Adjustment`).
    thresholds : list of float, optional
        The probability from which each label is predicted, in the order of labels, as held-out documents or
        ``calibrate`` chose it; None if there were none, or labels exclude each other. A label that was added later has
        none.
    log_loss, log_loss_error : float, optional
        Mean log-loss of the held-out documents that the model was chosen by, and its standard error; None if there were
        none.
    difference_error : float, optional
        The standard error of the difference between this log-loss and the least one of the path, document by document.
    n_held_out : int
        Held-out documents that the model was trained on again after the choice.
    held_out_sketch : str, optional
        Digests of some texts of the held-out documents (:func:`spacy_graft.digests.sketch_of`), by which they are known
        when scores are asked for.
    n_folds : int
        Folds of the cross-validation that chose the model; 0 if there was none.
    left_out : list of str
        Blocks that the model was trained without, because held-out documents did not need them.
    n_documents : int
        Training documents, or of a ranker training candidates.
    n_columns, n_active, n_pairs : int
        Distinct columns of the space; features in the model; weights in the model before a refit, which gives exclusive
        labels a weight for each feature; after features were only removed, those of the refit. Two exclusive labels
        share one.
    min_df : dict of str to int
        The frequency cut-off of each block.
    seconds : dict of str to float
        By phase: index, search, solve, refit, stability; of an ascent: index, cross-validation, ascent.
    converged : bool
        Whether what the learner looks for has been found: under L1, that the gap is at ``tol`` or below; without, that
        no feature exceeds ``min_gradient`` and the weights of those selected are optimal; for an ascent, that the
        scores have converged.
    network : dict, optional
        What the builder of the network says of it: vertices, edges, coverage, what was skipped.
    network_alpha : float, optional
        α of the network; 0 if held-out documents chose to do without one, None if there was none to choose.
    vectors : dict, optional
        Of word vectors: their words, columns, those words that are in the training documents, and the share of tokens
        that these cover.
    vectors_ridge : float, optional
        ρ of their weights; 0 if held-out documents chose to do without them, None if there were none to choose.
    constraints : dict, optional
        Those that the weights satisfy: names denied and allowed, signs of labels, locked weights.
    separated : bool
        Without a penalty: whether the likelihood was found to have no maximum, because the model separates all
        documents of a label from all others or a feature has documents of one label alone. (Of candidates: it is right
        in every group, or no other candidate of a group exceeds the correct one in a feature, or none falls below.) The
        weights are then large rather than optimal: those at which gradients are small.
    stability : dict, optional
        Where the learner asks for it: the least selection probability (``threshold``), the number of ``half_samples``,
        features ``selected_per_half`` in the mean, those ``left_out``, and bounds of the expected number of
        ``false_selections`` (:func:`spacy_graft.graft.stability.false_selections`). The objective and the gap are those
        before.
    finished : bool
        Whether the search has ended. Held-out documents that have judged a path, or ``stability``, make the final model
        in one more step.
    """

    rounds: int = 0
    l1: float = 0.0
    l1_max: float = 0.0
    objective: float = 0.0
    duality_gap: float = float("inf")
    relative_gap: float = float("inf")
    max_violation: float = 0.0
    refit: float | None = None
    points: int = 0
    temperature: float = 1.0
    tilt: float = 0.0
    thresholds: list[float] | None = None
    log_loss: float | None = None
    log_loss_error: float | None = None
    difference_error: float | None = None
    n_held_out: int = 0
    held_out_sketch: str | None = None
    n_folds: int = 0
    left_out: list[str] = field(default_factory=list)
    n_documents: int = 0
    n_columns: int = 0
    n_active: int = 0
    n_pairs: int = 0
    min_df: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    converged: bool = False
    network: dict[str, Any] | None = None
    network_alpha: float | None = None
    vectors: dict[str, Any] | None = None
    vectors_ridge: float | None = None
    constraints: dict[str, Any] | None = None
    separated: bool = False
    stability: dict[str, float] | None = None
    finished: bool = False

    @property
    def iterations(self) -> int:
        """Rounds, by the name that the papers give them."""
        return self.rounds

    @property
    def compression(self) -> float:
        """Share of the distinct columns that the model leaves out.

        Products are not counted in the space, but in the model: with them it is a lower bound.
        """
        return max(1.0 - self.n_active / self.n_columns, 0.0) if self.n_columns else 0.0

    @property
    def l1_ratio(self) -> float:
        """``l1`` in units of ``l1_max``."""
        return self.l1 / self.l1_max if self.l1_max > 0.0 else 0.0

    @property
    def adjustment(self) -> Adjustment:
        """What held-out documents changed in the scores."""
        return Adjustment(self.temperature, self.tilt)

    @property
    def strengths(self) -> dict[str, float]:
        """The strengths of network and word vectors that the fit was made with, by option of the learner."""
        found = {option: getattr(self, option) for option in ("network_alpha", "vectors_ridge")}
        return {option: strength for option, strength in found.items() if strength is not None}

    def with_strengths(self, strengths: Mapping[str, float]) -> Report:
        """The same with some of :attr:`strengths`."""
        values: dict[str, Any] = dict(strengths)
        return dataclasses.replace(self, **values)

    def update_gap(self, objective: float, dual: float, initial: float) -> None:
        """Take an objective, a lower bound of the optimum, and the objective at zero weights."""
        self.objective = float(objective)
        # Below 0 there is nothing but rounding.
        self.duality_gap = max(float(objective - dual), 0.0)
        self.relative_gap = self.duality_gap / initial if initial > 0.0 else self.duality_gap

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON, which has no infinity: a gap that is not known yet is None."""
        derived = {name: getattr(self, name) for name in ("l1_ratio", "iterations", "compression")}
        values = {**dataclasses.asdict(self), **derived}
        return {name: None if value == math.inf else value for name, value in values.items()}

    def saved(self) -> dict[str, Any]:
        """Plain values, for files; without seconds, which differ from run to run."""
        return {**dataclasses.asdict(self), "seconds": {}}

    @classmethod
    def of_saved(cls, saved: Mapping[str, Any]) -> Report:
        """What :meth:`saved` wrote; keys that this version does not have are ignored.

        Raises
        ------
        ValueError
            If a figure is of another type, or constraints are not valid.
        """
        types = get_type_hints(cls)
        figures = {name: saved[name] for name in types if name in saved}
        for name, value in figures.items():
            if not has_type(value, types[name]):
                raise ValueError(f"The report of the training has {value!r:.60} as {name!r}.")
        try:
            Constraints(**(figures.get("constraints") or {}))
        except TypeError as error:
            raise ValueError(f"The report of the training has constraints that are not valid: {error}") from error
        return cls(**figures)

    def check_thresholds(self, n_labels: int, least: int) -> None:
        """Raise a ValueError unless there are thresholds, or none, of so many labels, of ``least`` of them or more."""
        found = self.thresholds
        if found is None:
            return
        if not least <= len(found) <= n_labels or not all(0.0 <= threshold <= 1.0 for threshold in found):
            raise ValueError(f"The report of the training has {found!r:.60} as thresholds of {n_labels} labels.")

    def lines(self) -> dict[str, str]:
        """The figures as texts, by name; without empty ones, digests, and thresholds, which need the labels."""
        values = {**self.to_dict(), "thresholds": None, "held_out_sketch": None}
        if self.constraints is not None:
            values["constraints"] = "; ".join(Constraints(**self.constraints).described())
        return {name: formatted(value) for name, value in values.items() if value not in (None, {}, [])}

    def _repr_html_(self) -> str:
        """The figures as a table, in a notebook."""
        rows = (f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in self.lines().items())
        return f"<table>{''.join(rows)}</table>"

    def copy(self) -> Report:
        """As it is now."""
        return dataclasses.replace(self, min_df=dict(self.min_df), seconds=dict(self.seconds))

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Add the seconds spent inside to ``phase``."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + time.perf_counter() - start


class Reported:
    """A fit that says how far it has come by its report."""

    report: Report

    @property
    def finished(self) -> bool:
        return self.report.finished


def formatted(value: Any) -> str:
    """A figure as text."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {formatted(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(map(formatted, value))
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:.6g}"


def has_type(value: Any, kind: Any) -> bool:
    """Whether a plain value is of a type, with what it contains; integers are numbers as well, but not truth values."""
    if kind is Any:
        return True
    if isinstance(kind, UnionType):
        return any(has_type(value, one) for one in get_args(kind))
    if get_origin(kind) is list:
        return isinstance(value, list) and all(has_type(item, *get_args(kind)) for item in value)
    if get_origin(kind) is dict:
        of_key, of_item = get_args(kind)
        return isinstance(value, dict) and all(
            has_type(key, of_key) and has_type(item, of_item) for key, item in value.items()
        )
    kinds = {int: Integral, float: Real}
    return isinstance(value, kinds.get(kind, kind)) and (kind is bool or not isinstance(value, bool))
