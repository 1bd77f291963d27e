"""The learners that a config may name: settings alone, so that reading a config compiles nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .data import TrainingData

if TYPE_CHECKING:
    from .grafting import GraftingFit
    from .path import PathFit

#: Kinds of penalty weights λ (see :mod:`spacy_graft.graft.penalties`).
PenaltyWeights = Literal["none", "idf", "standard", "ratio", "ratio_idf"]
PENALTY_WEIGHTS = ("none", "idf", "standard", "ratio", "ratio_idf")


@dataclass(frozen=True, kw_only=True)
class Penalty:
    """How weights are penalised, and what documents weigh (design §3).

    Attributes
    ----------
    ridge : float
        β of the ridge β Σ λ² w², beside L1.
    penalty_weights : str
        λ: ``none`` (1), ``idf``, ``standard``, ``ratio`` or ``ratio_idf``.
    ratio_power : float
        Exponent of ``ratio`` and ``ratio_idf``.
    length_normalisation : bool
        Whether a feature's value is 1 / sqrt(distinct words of the document), scaled to a mean of 1, instead of 1.
    balance : float
        How much more documents of rare labels weigh, if labels exclude each other: a label of n documents weighs as
        much as n^(1 - balance) do. 0: all documents alike, 1: all labels alike.
    tol : float
        Duality gap to stop at, in units of the objective at zero weights.
    """

    ridge: float = 0.0
    penalty_weights: PenaltyWeights = "none"
    ratio_power: float = 0.5
    length_normalisation: bool = False
    balance: float = 0.0
    tol: float = 1e-3

    def __post_init__(self) -> None:
        self._require(self.ridge >= 0.0, "ridge", "at least 0")
        self._require(self.penalty_weights in PENALTY_WEIGHTS, "penalty_weights", f"one of {list(PENALTY_WEIGHTS)}")
        self._require(self.ratio_power > 0.0, "ratio_power", "above 0")
        self._require(0.0 <= self.balance <= 1.0, "balance", "between 0 and 1")
        self._require(0.0 < self.tol < 1.0, "tol", "between 0 and 1")

    def _require(self, holds: bool, option: str, bounds: str) -> None:
        # A comparison with NaN is False, so NaN is refused as well.
        if not holds:
            raise ValueError(f"{type(self).__name__}: {option} = {getattr(self, option)!r}, but it must be {bounds}.")


@dataclass(frozen=True, kw_only=True)
class Grafting(Penalty):
    """The L1 optimum at one C over the whole space, certified; a grafting round a step.

    Attributes
    ----------
    l1 : float
        C, in the sum convention: a feature enters only if |v| > C λ.
    n_best : int, optional
        Pairs of feature and label that a round adds; None doubles the active set (100 at the least).
    """

    l1: float
    n_best: int | None = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(0.0 < self.l1 < float("inf"), "l1", "above 0")
        self._require(self.n_best is None or self.n_best >= 1, "n_best", "at least 1, or null")

    def start(self, data: TrainingData) -> GraftingFit:
        """Index a corpus and search it once; training goes on with the fit's ``step``."""
        from .grafting import GraftingFit

        return GraftingFit(self, data)


@dataclass(frozen=True, kw_only=True)
class GraftingPath(Penalty):
    """Optima over the whole space for C that falls geometrically from C_max, each started at the one before.

    Evaluation on held-out documents chooses among them, so that nobody tunes C.

    The defaults are those that did best over many data sets without tuning (``docs/accuracy.md``): an elastic net with
    enough ridge that some thousands of features share the work, which are then fitted again under a weaker one.

    Attributes
    ----------
    l1_min_ratio : float
        The last C in units of C_max, the smallest C whose model is empty.
    steps : int
        Points of the path.
    max_features : int, optional
        The path ends with the first model that would have more features. In its place comes one that has nearly as
        many, of a C between this and the one before.
    refit : float or sequence of float, optional
        Strength of the L2 penalty under which the selected features of each point are fitted again, without L1 (relaxed
        lasso, Meinshausen 2007). Of several, the first is that of the points; after the last point come steps in which
        it is fitted again under each of the others, and then under the first once more: where nobody chooses, that is
        the model. None keeps the weights of the path.
    """

    ridge: float = 20.0
    penalty_weights: PenaltyWeights = "ratio_idf"
    length_normalisation: bool = True
    balance: float = 0.5
    tol: float = 1e-4
    l1_min_ratio: float = 0.001
    steps: int = 12
    max_features: int | None = 5000
    refit: float | Sequence[float] | None = (2.0, 0.5, 8.0, 32.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(0.0 < self.l1_min_ratio < 1.0, "l1_min_ratio", "between 0 and 1")
        self._require(self.steps >= 1, "steps", "at least 1")
        self._require(self.max_features is None or self.max_features >= 1, "max_features", "at least 1, or null")
        strengths: tuple[Any, ...] = self.refits
        numbers = all(
            isinstance(strength, float | int) and not isinstance(strength, bool) and 0.0 < strength < float("inf")
            for strength in strengths
        )
        sound = numbers and (self.refit is None or len(strengths) > 0)
        self._require(sound, "refit", "a number above 0, a list of them, or null")

    @property
    def total_steps(self) -> int:
        """Steps of a fit, if it does not meet ``max_features`` before the last point."""
        return self.steps + len(self.later_refits)

    @property
    def later_refits(self) -> tuple[float, ...]:
        """What the last point is fitted again under, a step each."""
        return (*self.refits[1:], self.refits[0]) if len(self.refits) > 1 else ()

    @property
    def refits(self) -> tuple[float, ...]:
        """The strengths of ``refit``, however many."""
        if self.refit is None:
            return ()
        return tuple(self.refit) if isinstance(self.refit, Iterable) else (self.refit,)

    def start(self, data: TrainingData) -> PathFit:
        """Index a corpus; each ``step`` of the fit is one point of the path."""
        from .path import PathFit

        return PathFit(self, data)
