"""Fits of very many independent labels, eight at a time, over indexes that all batches share.

Labels that do not exclude each other are problems of their own: objective, gap and optimum are sums over labels. So a
batch is an ordinary fit of the same documents with fewer labels, and the models of the batches together are that of all
labels. What is dense (targets, scores, residuals, 1 / λ) is so for one batch; what is kept of each is sparse. A batch
has as many labels as a pass sums at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse

from ..index.kernels import LANES
from ..solve.active import Active
from .data import TrainingData
from .grafting import GraftingFit
from .indexing import feature_space
from .model_state import Checkpoint, KnownModel, ModelState
from .objective import Objective, document_weights
from .points import PointFit
from .refits import Lengths, Refits, feature_lengths_of
from .report import Report, Reported
from .rounds import Rounds
from .settings import Grafting, GraftingPath, PenaltySettings
from .solution import Solution
from .space import FeatureSpace

#: Bits of the number of a node.
NODE_BITS = 40


@dataclass(frozen=True)
class BatchModel:
    """The model of the labels of a batch.

    Attributes
    ----------
    blocks, nodes : int64 (pairs)
        Where the features are in the space, which is that of all batches.
    labels : int64 (pairs)
        Of all labels.
    weights : float64 (pairs)
    intercepts : float64 (labels of the batch)
    """

    blocks: np.ndarray
    nodes: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    intercepts: np.ndarray

    @classmethod
    def of(
        cls, first: int, state: ModelState, active: Active, intercepts: np.ndarray, scores: np.ndarray
    ) -> BatchModel:
        """The model of a batch whose labels begin with ``first``, from weights of the features of its state."""
        problems, space = state.objective.problems, state.space
        labels = first + problems.trained[active.labels]
        by_label = problems.intercepts_by_label(intercepts, scores)
        return cls(space.blocks[active.rows], space.nodes[active.rows], labels, active.weights.copy(), by_label)

    @property
    def places(self) -> np.ndarray:
        """One number for block and node of each pair: int64 (pairs)."""
        return (self.blocks << NODE_BITS) | self.nodes

    @classmethod
    def of_state(cls, first: int, state: ModelState) -> BatchModel:
        """The model of a batch as it is."""
        return cls.of(first, state, state.active, state.intercepts, state.scores)


class LabelBatches:
    """The labels of a corpus in batches.

    Memory: one index for all; and a second one of n-grams of all frequencies, if there is a batch in which no gradient
    exceeds ``l1`` and penalty weights leave rare n-grams out.
    """

    def __init__(self, data: TrainingData, learner: PenaltySettings) -> None:
        self.data = replace(data, indexes={}) if data.indexes is None else data
        #: Those of documents without a refit.
        self.lengths: Lengths = *document_weights(data.lengths, learner.length_normalisation), np.empty(0)
        self._space: FeatureSpace | None = None

    def __iter__(self) -> Iterator[tuple[int, TrainingData]]:
        """The first label of each batch, and the documents with its labels."""
        return self.some(0, None)

    def some(self, begin: int, end: int | None) -> Iterator[tuple[int, TrainingData]]:
        """The same, of the batches from number ``begin`` to before ``end``."""
        for first in range(0, len(self.data.labels), LANES)[begin:end]:
            yield first, self.data.of_labels(first, first + LANES)

    def take_space(self, state: ModelState) -> None:
        """Features are named by the space of any batch that has some; those without may be over another index."""
        if self._space is None or len(state.active):
            self._space = state.space

    def space_of(self, models: Sequence[BatchModel]) -> FeatureSpace:
        """The space with the features of models as its rows, in the order of their places."""
        assert self._space is not None
        places = np.unique(np.concatenate([model.places for model in models]))
        self._space.set_rows(places >> NODE_BITS, places & ((1 << NODE_BITS) - 1))
        return self._space

    def solution(self, models: Sequence[BatchModel], lengths: Lengths | None = None) -> Solution:
        """The model of all labels, with sparse weights; ``lengths`` are those of a refit."""
        space = self.space_of(models)
        mean_scale, _, shares = self.lengths if lengths is None else lengths
        rows, labels, weights = (
            np.concatenate(parts)
            for parts in zip(
                *((space.rows_of(model.blocks, model.nodes), model.labels, model.weights) for model in models),
                strict=True,
            )
        )
        shape = len(space.blocks), len(self.data.labels)
        return Solution(
            space.names(), *space.terms(), space.df(),
            scipy.sparse.csr_array((weights, (rows, labels)), shape),
            np.concatenate([model.intercepts for model in models]),
            mean_scale,
            self.data.vocabularies,
            shares,
        )  # fmt: skip


def joined_report(report: Report, parts: Sequence[tuple[float, Report]], space: FeatureSpace) -> None:
    """Add up the reports of batches, which stand behind their objectives at zero weights; seconds are left alone.

    Parameters
    ----------
    report : Report
        Is changed.
    parts : sequence of (float, Report)
    space : FeatureSpace
        Of all features.
    """
    reports = [of_batch for _, of_batch in parts]
    objective = sum(of_batch.objective for of_batch in reports)
    gap = sum(of_batch.duality_gap for of_batch in reports)
    report.update_gap(objective, objective - gap, sum(initial for initial, _ in parts))
    report.rounds = sum(of_batch.rounds for of_batch in reports)
    report.max_violation = max(of_batch.max_violation for of_batch in reports)
    report.n_pairs = sum(of_batch.n_pairs for of_batch in reports)
    report.n_active, report.n_columns, report.min_df = len(space.blocks), space.n_columns, space.min_df
    report.converged = all(of_batch.converged for of_batch in reports)


def add_seconds(report: Report, part: Report) -> None:
    """Count the seconds of a batch."""
    for phase, seconds in part.seconds.items():
        report.seconds[phase] = report.seconds.get(phase, 0.0) + seconds


class BatchedGrafting(Reported):
    """A fit of :class:`Grafting` with very many labels; its only step is all of it."""

    def __init__(self, learner: Grafting, data: TrainingData) -> None:
        assert learner.l1 is not None
        self.learner = learner
        self.batches = LabelBatches(data, learner)
        self.report = Report(n_documents=data.n_documents, l1=learner.l1)
        self._models: list[BatchModel] = []

    def step(self) -> None:
        """Fit one batch after the other; nothing once that has been done."""
        if self.finished:
            return
        parts, models = [], []
        for first, data in self.batches:
            fit = GraftingFit(self.learner, data)
            while not fit.finished:
                fit.step()
            models.append(self._model(first, fit))
            parts.append((fit.state.initial, fit.report))
            add_seconds(self.report, fit.report)
        self._models = models
        self.report.l1_max = max(of_batch.l1_max for _, of_batch in parts)
        joined_report(self.report, parts, self.batches.space_of(self._models))
        self.report.finished = True

    def _model(self, first: int, fit: GraftingFit) -> BatchModel:
        self.batches.take_space(fit.state)
        return BatchModel.of_state(first, fit.state)

    def solution(self) -> Solution:
        if not self._models:
            self._models = [self._model(first, GraftingFit(self.learner, data)) for first, data in self.batches]
        return self.batches.solution(self._models)


@dataclass(frozen=True)
class Kept:
    """What is kept of a batch from one point of a path to the next.

    The checkpoint is without scores. ``initial`` is the objective at zero weights, and ``trainable`` says whether its
    labels are separated by a feature.
    """

    model: BatchModel
    checkpoint: Checkpoint
    initial: float
    report: Report
    trainable: bool

    @classmethod
    def of(cls, first: int, rounds: Rounds) -> Kept:
        """That of a batch whose labels begin with ``first``."""
        state = rounds.state
        checkpoint = replace(state.checkpoint(), scores=None)
        return cls(BatchModel.of_state(first, state), checkpoint, state.initial, rounds.report, rounds.trainable)

    def to_dict(self) -> dict[str, Any]:
        """Plain values and arrays."""
        return {
            "model": vars(self.model),
            "checkpoint": vars(self.checkpoint),
            "initial": self.initial,
            "report": self.report.saved(),
            "trainable": self.trainable,
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Kept:
        """What :meth:`to_dict` gave."""
        parts = {
            "model": BatchModel(**saved["model"]),
            "checkpoint": Checkpoint(**saved["checkpoint"]),
            "report": Report(**saved["report"]),
        }
        return cls(**{**saved, **parts})

    @property
    def known(self) -> KnownModel:
        """What another fit goes on from."""
        return KnownModel(self.checkpoint, self.initial, self.report.l1_max)

    def is_empty_at(self, l1: float) -> bool:
        """Whether its model is empty at this L1 strength, as it is now."""
        return not self.trainable or (l1 >= self.report.l1_max and not len(self.model.weights))


class BatchedPath(PointFit):
    """A fit of :class:`GraftingPath` under L1 with very many labels: all batches go from point to point together.

    What is kept of a batch between points is its model; the rest is computed again. The path ends before the first
    model with more than ``max_features``, which nothing between the points takes the place of.
    """

    def __init__(self, learner: GraftingPath, data: TrainingData) -> None:
        super().__init__(learner, Report(n_documents=data.n_documents))
        self.batches = LabelBatches(data, learner)
        self._kept: list[Kept] = []
        #: The last refit of the present point, and its strength.
        self._last_refit: tuple[float | None, Solution] | None = None
        for first, of_batch in self.batches:
            self._kept.append(self._noted(first, Rounds(of_batch, learner)))
        self._empty, report = [*self._kept], self.report
        report.l1 = report.l1_max = max(kept.report.l1_max for kept in self._kept)
        report.finished = not any(kept.trainable for kept in self._kept)
        self._join(self._kept)

    def step(self) -> None:
        """The next point of the path; nothing after the last."""
        if self.finished:
            return
        number = self.report.points + 1
        reached = self._models_at([number], 0, len(self._kept))
        if reached is None:
            self.report.finished = True
        else:
            self._take(reached, number, number)

    def steps_to(self, like: Report) -> Iterator[Callable[[], None]]:
        """As many steps as there are points, each for a part of the batches, which go all the way there.

        What a batch needs at all L1 strengths, such as 1 / λ, is computed once for it, and not at each point. The model
        is the same but for last digits.
        """
        while not self.finished and self.report.points <= self.last_before(like):
            yield partial(self.arrive, like)

    def arrive(self, like: Report) -> None:
        """Take the next part of the batches to a point; all of them to an earlier one if it has too many features."""
        part, last = self.report.points, self.last_before(like) + 1
        begin, end = (len(self._kept) * k // last for k in (part, part + 1))
        reached = self._models_at(range(1, last + 1), begin, end)
        if reached is not None:
            self._take([*self._kept[:begin], *reached, *self._kept[end:]], part + 1, last)
            return
        self._take(self._empty, 0, 0)
        while not self.finished and self.report.points < last:
            self.step()

    def _models_at(self, numbers: Sequence[int], begin: int, end: int) -> list[Kept] | None:
        """The models of batches from ``begin`` to before ``end`` at the last of some points, by way of the others.

        None if the batches up to these have more than ``max_features``.
        """
        strengths = [self.l1_of(number) for number in numbers]
        reached: list[Kept] = []
        places = np.unique(np.concatenate([np.empty(0, np.int64), *(kept.model.places for kept in self._kept[:begin])]))
        for kept, (first, data) in zip(self._kept[begin:end], self.batches.some(begin, end), strict=True):
            reached.append(kept if kept.is_empty_at(strengths[-1]) else self._optimum(strengths, kept, first, data))
            places = np.union1d(places, reached[-1].model.places)
            if self.learner.most_features is not None and len(places) > self.learner.most_features:
                return None
        return reached

    def _take(self, reached: list[Kept], number: int, of_strength: int) -> None:
        """Take models for those of a point; all of them have the strength of this one, or of a later one."""
        self._kept, self._last_refit = reached, None
        self.report = self.report.copy()
        self.report.l1 = self.l1_of(of_strength)
        self.report.points, self.report.finished = number, number == self.learner.steps
        self.report.refit = self.refit
        self._join(reached)

    def refitted(self, strength: float | None, trial: bool = False) -> Solution:
        if self._last_refit is None or self._last_refit[0] != strength:
            self._last_refit = strength, self._refitted(strength)
        return self._last_refit[1]

    def _refitted(self, strength: float | None) -> Solution:
        models = [kept.model for kept in self._kept]
        if strength is None:
            return self.batches.solution(models)
        with self.report.timed("refit"):
            lengths, (_, some) = self._lengths(models), next(iter(self.batches))
            # Without 1 / λ, it is the same for all batches.
            space = feature_space(Objective(some, self.learner), is_searched=False)
            models = [
                self._refitted_model(strength, lengths, space, kept, first, data)
                for kept, (first, data) in zip(self._kept, self.batches, strict=True)
            ]
        return self.batches.solution(models, lengths)

    def _join(self, reached: Sequence[Kept]) -> None:
        space = self.batches.space_of([kept.model for kept in reached])
        joined_report(self.report, [(kept.initial, kept.report) for kept in reached], space)

    def to_dict(self) -> dict[str, Any]:
        """The present point in plain values and arrays, for :meth:`resume`; the report is without seconds."""
        return {"report": self.report.saved(), "batches": [kept.to_dict() for kept in self._kept]}

    def resume(self, saved: Mapping[str, Any]) -> None:
        """Go to a point of another fit of the same learner on the same corpus; what follows is the same to the bit.

        ``saved`` is from :meth:`to_dict`.
        """
        # Held-out documents choose the refit, and the other fit may have had other ones.
        refit = self.refit if saved["report"]["points"] else None
        self.report = Report(**{**saved["report"], "seconds": self.report.seconds, "refit": refit})
        self._kept, self._last_refit = [Kept.from_dict(of_batch) for of_batch in saved["batches"]], None

    def _noted(self, first: int, rounds: Rounds) -> Kept:
        self.batches.take_space(rounds.state)
        add_seconds(self.report, rounds.report)
        return Kept.of(first, rounds)

    def _optimum(self, strengths: Sequence[float], kept: Kept, first: int, data: TrainingData) -> Kept:
        """A batch at the last of some L1 strengths, from where it was by way of the others."""
        rounds = Rounds(data, self.learner, known=kept.known)
        for l1 in strengths:
            if l1 < kept.report.l1_max:
                rounds.optimise(l1)
        rounds.report.rounds += kept.report.rounds
        return self._noted(first, rounds)

    def _lengths(self, models: Sequence[BatchModel]) -> Lengths:
        """The lengths of documents in refits: of the features of all batches, if lengths are normalised."""
        space = self.batches.space_of(models)
        if not self.learner.length_normalisation or not len(space.blocks):
            return self.batches.lengths
        return feature_lengths_of(space.columns().lists(), space.df(), self.batches.data.n_documents)

    def _refitted_model(
        self, strength: float, lengths: Lengths, space: FeatureSpace, kept: Kept, first: int, data: TrainingData
    ) -> BatchModel:
        if not len(kept.model.weights):
            return kept.model
        state = ModelState(Objective(data, self.learner), space, kept.known)
        found = Refits(state, lengths).minimum(strength)
        return BatchModel.of(first, state, found.active, found.intercepts, found.scores)
