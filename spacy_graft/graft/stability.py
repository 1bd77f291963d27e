"""Which features of a model would be selected again, and how far their weights vary: half and bootstrap samples.

*Selection probabilities* (Meinshausen & Bühlmann 2010): the share of random half samples in whose models a feature has
a weight. Halves come in complementary pairs (Shah & Samworth 2013), which bounds the number of false selections without
assumptions on the features. A half is the same corpus with example weights of 0, over the same indexes; penalties are
halved as well, so that they keep their share of the objective. *Intervals*: the weights of the features that are left,
fitted again in bootstrap samples.

Documents are drawn among those with the same labels, so that each half has half the documents of each label.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from ..messages import listed, warn
from .data import TrainingData
from .grafting import GraftingFit
from .model_state import ModelState, pair_weights_by_label
from .path import PathFit
from .refits import ACCURACY, Minimum, Refits
from .rounds import NO_GRADIENT, Rounds
from .solution import Solution, Stability

#: Share of the bootstrap samples whose weights an interval has.
INTERVAL = 0.9


#: A fit under L1.
SelectingFit = GraftingFit | PathFit


def stable_solution(fit: SelectingFit, advance: Callable[[int], None]) -> Solution:
    """The solution of a fit with its stability, of stable features alone.

    The report of the fit is completed. ``advance`` is told after how many more samples.

    Warns
    -----
    UserWarning
        If no feature is stable.
    """
    learner, state, report = fit.learner, fit.state, fit.report
    assert learner.least_stability is not None
    n_halves = 2 * learner.stability_pairs
    random = np.random.default_rng(learner.stability_seed)
    strata = Strata.of(state.objective.data)
    counts = selection_counts(fit, strata, random, advance)
    needed = math.ceil(learner.least_stability * n_halves - 1e-9)
    kept = np.array([counts[feature] >= needed for feature in identities(state)], np.bool_)
    if not kept.all():
        if not kept.any():
            warn(
                f"No feature is selected in {learner.least_stability:g} of the half samples: the model has intercepts "
                f"only. Lower stability of the learner."
            )
        state.keep(kept, report.l1, ACCURACY * float(state.objective.data.example_weights.sum()))
    found, solution = minimum_of(fit)
    samples = (strata.bootstrap(random) for _ in range(n_halves))
    bounds = intervals(state, found, weights_in_samples(state, found, samples, advance))
    report.n_active, report.n_pairs = state.active.n_rows, len(state.active)
    n_selected = counts.total() / n_halves
    report.stability = {
        "threshold": learner.least_stability,
        "half_samples": n_halves,
        "selected_per_half": n_selected,
        "left_out": int((~kept).sum()),
        **false_selections(needed, learner.stability_pairs, n_selected, report.n_columns),
    }
    probabilities = np.array([counts[feature] / n_halves for feature in identities(state)], np.float64)
    return replace(solution, stability=Stability(probabilities, bounds))


def selection_counts(
    fit: SelectingFit, strata: Strata, random: np.random.Generator, advance: Callable[[int], None]
) -> Counter[tuple[int, int]]:
    """How many half samples select each feature, by :func:`identities`."""
    halves = HalfSamples(fit.state, fit.report.l1, getattr(fit.learner, "n_best", None))
    counts: Counter[tuple[int, int]] = Counter()
    for _ in range(fit.learner.stability_pairs):
        for half in strata.halves(random):
            counts.update(halves.selected(half))
            advance(1)
    return counts


def identities(state: ModelState) -> list[tuple[int, int]]:
    """What the features of a model are in every space over the same indexes: by block, node or column."""
    return list(zip(state.space.blocks.tolist(), state.space.identities().tolist(), strict=True))


def minimum_of(fit: SelectingFit) -> tuple[Minimum, Solution]:
    """The weights of a model: refitted, or under its own penalty."""
    state, refit = fit.state, getattr(fit, "refit", None)
    if refit is None:
        found = Minimum(state.objective, state.active, state.intercepts, state.dense, state.scores, l1=fit.report.l1)
        return found, state.solution()
    refits = Refits(state)
    found = refits.minimum(refit)
    return found, refits.solution_of(found)


def weights_in_samples(
    state: ModelState, found: Minimum, samples: Iterable[np.ndarray], advance: Callable[[int], None]
) -> np.ndarray:
    """The weights in samples that have each document some times: float64 (samples, pairs)."""
    features = state.space.network_features
    weights = []
    for times in samples:
        objective = found.objective.resampled(times)
        active = replace(found.active, weights=found.active.weights.copy())
        tolerances = [ACCURACY * problem.loss.importance.sum() for problem in objective]
        moved = found.intercepts.copy(), found.dense.copy(), found.scores.copy()
        objective.minimise(active, *moved, features, found.l1, tolerances)
        weights.append(active.weights)
        advance(1)
    return np.array(weights)


def intervals(state: ModelState, found: Minimum, weights: np.ndarray) -> np.ndarray:
    """Percentile intervals of weights (samples, pairs), by label: float64 (features, labels, 2)."""
    tail = (1.0 - INTERVAL) / 2.0
    bounds = [
        pair_weights_by_label(state.space, state.objective.problems, found.active, bound)
        for bound in np.quantile(weights, [tail, 1.0 - tail], axis=0)
    ]
    # Of two exclusive labels, the first has the weights of the other sign.
    return np.stack([np.minimum(*bounds), np.maximum(*bounds)], axis=-1)


def false_selections(needed: int, n_pairs: int, n_selected: float, n_columns: int) -> dict[str, float]:
    """Bounds of the expected number of false selections, as far as they hold (Shah & Samworth 2013).

    A false selection is that of a feature which a half sample selects with a probability of at most θ = q / p, where it
    selects q of p columns in the mean. ``false_selections``: theorem 1 with E|Ŝ ∩ L_θ| ≤ q, which is q² / ((2τ − 1) p),
    without assumptions. ``false_selections_unimodal``: theorem 2, for shares of half samples with a unimodal
    distribution. Combinations are not counted in p, but in q, so that the bounds hold with them as well.

    Parameters
    ----------
    needed : int
        Half samples that have to select a feature: τ = needed / (2 n_pairs).
    n_pairs, n_selected, n_columns
        B, q and p.
    """
    threshold = needed / (2 * n_pairs)
    share = n_selected / max(n_columns, 1)
    bounds = {}
    if threshold > 0.5:
        bounds["false_selections"] = n_selected * share / (2.0 * threshold - 1.0)
    factor = unimodal_factor(threshold, n_pairs, share)
    if factor is not None:
        bounds["false_selections_unimodal"] = factor * n_selected * share
    return bounds


def unimodal_factor(threshold: float, n_pairs: int, share: float) -> float | None:
    """C(τ, B) of theorem 2, for θ = ``share``; None where the theorem says nothing."""
    least = min(0.5 + share**2, 0.5 + 1.0 / (2 * n_pairs) + 0.75 * share**2)
    if share > 1.0 / math.sqrt(3.0) or threshold <= least or threshold < 0.5 + 1.0 / n_pairs - 1e-9:
        return None
    if threshold <= 0.75:
        return 1.0 / (2.0 * (2.0 * threshold - 1.0 - 1.0 / (2 * n_pairs)))
    return 4.0 * (1.0 - threshold + 1.0 / (2 * n_pairs)) / (1.0 + 1.0 / n_pairs)


class HalfSamples:
    """Models of half samples of a corpus, over the features of a model of all documents.

    Parameters
    ----------
    state : ModelState
        Of all documents. Its data share indexes.
    l1 : float
        The L1 strength for all documents.
    n_best : int, optional
        Pairs that a round adds.
    """

    def __init__(self, state: ModelState, l1: float, n_best: int | None) -> None:
        given, settings = state.objective.data, state.objective.settings
        # The same features are indexed (a block that is denied as a whole has none), and the example weights are
        # balanced already.
        self._data = replace(given, min_df={**given.min_df, **state.space.min_df})
        self._settings = replace(
            settings,
            balance=0.0,
            ridge=settings.ridge / 2.0,
            network_alpha=settings.network_alpha / 2.0,
            network_gamma=settings.network_gamma / 2.0,
            vectors_ridge=settings.vectors_ridge / 2.0,
        )
        self._l1 = l1 / 2.0
        self._n_best = n_best

    def selected(self, half: np.ndarray) -> list[tuple[int, int]]:
        """What the model of a half (bool) selects, by :func:`identities`."""
        data = self._data
        inside = half[:, None]
        of_half = replace(
            data,
            targets=np.where(inside, data.targets, 0.0),
            known=data.known & inside,
            example_weights=np.where(half, data.example_weights, 0.0),
        )
        rounds = Rounds(of_half, self._settings)
        # Where no feature separates the labels of all documents, a path has no L1 strength, but for rounding.
        if rounds.trainable and self._l1 > NO_GRADIENT * rounds.state.initial:
            rounds.optimise(self._l1, self._n_best)
        return identities(rounds.state)


@dataclass(frozen=True)
class Strata:
    """The documents that count, by their labels: samples have as many of each stratum as the corpus has.

    Attributes
    ----------
    documents : int64 (n)
        Stratum by stratum.
    strata : int64 (n)
        The stratum of each, from 0 on.
    n_documents : int
        All documents of the corpus.
    """

    documents: np.ndarray
    strata: np.ndarray
    n_documents: int

    @classmethod
    def of(cls, data: TrainingData) -> Strata:
        """The strata of a corpus: the documents for which the same labels are known, and the same of these hold."""
        counted = np.flatnonzero((data.example_weights > 0.0) & data.known.any(axis=1))
        known = data.known[counted]
        strata = np.unique(np.hstack([known & (data.targets[counted] >= 0.5), known]), axis=0, return_inverse=True)[1]
        strata = strata.reshape(-1)
        order = np.argsort(strata, kind="stable")
        return cls(counted[order], strata[order], data.n_documents)

    def halves(self, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Two random halves without a common document: bool (documents). Of an odd number, one is in neither."""
        shuffled = self.documents[np.lexsort((random.random(len(self.documents)), self.strata))]
        sizes = np.bincount(self.strata)
        # Couples of a stratum are parted; what is left over of odd ones makes couples as well.
        last = np.cumsum(sizes)[sizes % 2 == 1] - 1
        couples = np.concatenate([np.delete(shuffled, last), random.permutation(shuffled[last])])
        couples = couples[: len(couples) // 2 * 2].reshape(-1, 2)
        couples = random.permuted(couples, axis=1)
        first, second = np.zeros((2, self.n_documents), np.bool_)
        first[couples[:, 0]] = second[couples[:, 1]] = True
        return first, second

    def bootstrap(self, random: np.random.Generator) -> np.ndarray:
        """How often each document is in a sample with replacement: float64 (documents)."""
        sizes = np.bincount(self.strata)
        first = np.cumsum(sizes) - sizes
        drawn = first[self.strata] + (random.random(len(self.strata)) * sizes[self.strata]).astype(np.int64)
        return np.bincount(self.documents[drawn], minlength=self.n_documents).astype(np.float64)


def require_halves(data: TrainingData) -> None:
    """Raise a ValueError unless each label has two documents, or none at all."""
    counted = (data.example_weights > 0.0)[:, None] & data.known & (data.targets > 0.0)
    single = [label for label, n in zip(data.labels, counted.sum(axis=0).tolist(), strict=True) if n == 1]
    if single:
        raise ValueError(
            f"stability: a half sample needs documents of each label, but there is only one training document "
            f"of {listed(single)}. Add documents, remove the label, or set stability = false."
        )
    if data.groups is not None:
        raise ValueError("stability: half samples of candidates are not supported. Set stability = False.")
