"""The learners that a config may name: values without state. :func:`spacy_graft.graft.start.start` begins a fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, cast, get_args

from ..extract.options import as_names
from ..options import (
    LARGEST_COUNT,
    LARGEST_FACTOR,
    LARGEST_NETWORK_STRENGTH,
    LARGEST_NGRAM_POWER,
    LARGEST_POWER,
    LARGEST_STRENGTH,
    as_python,
    is_count,
    is_number_in,
    is_strength,
)
from ..search.penalty_kinds import PenaltyWeightKind
from .constraints import Constraints

#: Kinds of penalty weights λ (see :mod:`spacy_graft.graft.penalty_weights`).
PenaltyWeights = Literal["none", "idf", "standard", "ratio", "ratio_idf"]
PENALTY_WEIGHTS = tuple(kind.name.lower() for kind in PenaltyWeightKind)
#: Kinds of the rows of a network (see :meth:`spacy_graft.graphs.graph.FeatureGraph.tikhonov_matrix`).
NetworkKind = Literal["mean", "laplacian", "normalised_laplacian"]
NETWORK_KINDS: tuple[NetworkKind, ...] = get_args(NetworkKind)
#: What becomes of features that no similar edge says anything of.
Unlinked = Literal["free", "to_zero"]
UNLINKED: tuple[Unlinked, ...] = get_args(Unlinked)
#: Kinds of penalty of :class:`Grafting`.
PenaltyKind = Literal["l1", "l2", "none"]
PENALTIES: tuple[PenaltyKind, ...] = get_args(PenaltyKind)
#: Those of :class:`GraftingPath`.
PathPenaltyKind = Literal["l1", "l2"]
PATH_PENALTIES: tuple[PathPenaltyKind, ...] = get_args(PathPenaltyKind)
#: A factor of a sign that no weight may have.
FORBIDDEN = "forbidden"
SignFactor = float | Literal["forbidden"]
#: Names of the choices of :class:`GraftingPath`.
Parsimony = Literal["best", "one_se"]
PARSIMONY: tuple[Parsimony, ...] = get_args(Parsimony)
#: The selection probability that ``stability = True`` asks of features.
STABLE = 0.6
#: The most complementary pairs of half samples.
MOST_PAIRS = 10_000
#: The share of ``max_features`` with which a path ends as if it had all.
NEAR = 0.94
#: Strength of the L2 penalty of refits where nothing has chosen another.
FIRST_REFIT = 2.0

#: What strengths must be besides.
UP_TO = f"and at most {LARGEST_STRENGTH:g}"
#: The most pairs that a round may add: a search has room for eight times as many.
LARGEST_N_BEST = 1_000_000
#: The smallest last point of a path, in units of the first.
SMALLEST_RATIO = 1e-12


class Settings:
    """Options, checked as they are read."""

    def __repr__(self) -> str:
        """The options that are not their defaults."""
        options = ((own.name, getattr(self, own.name), own.default) for own in fields(cast("Any", self)))
        changed = [f"{name}={value!r}" for name, value, default in options if repr(value) != repr(default)]
        return f"{type(self).__name__}({', '.join(changed)})"

    def _make_plain(self) -> None:
        """Turn NumPy's numbers into Python's: options are compared, and written as JSON."""
        for option, value in vars(self).items():
            object.__setattr__(self, option, as_python(value))

    def _require_flag(self, option: str) -> None:
        self._require(isinstance(getattr(self, option), bool), option, "true or false")

    def _require_count(self, option: str, bounds: str, null: bool = False, most: int = LARGEST_COUNT) -> None:
        value = getattr(self, option)
        self._require((null and value is None) or is_count(value, most=most), option, f"{bounds} (at most {most:,})")

    def _require(self, holds: bool, option: str, bounds: str) -> None:
        # A comparison with NaN is False, so NaN is refused as well.
        if not holds:
            raise ValueError(f"{type(self).__name__}: {option} = {getattr(self, option)!r}, but it must be {bounds}.")


@dataclass(frozen=True, kw_only=True, repr=False)
class PenaltySettings(Settings):
    """How weights are penalised, and what documents weigh.

    Attributes
    ----------
    ridge : float
        β of the ridge β Σ λ² w², beside L1.
    penalty_weights : str
        λ: ``none`` (1), ``idf``, ``standard``, ``ratio`` or ``ratio_idf``.
    ratio_power : float
        Exponent of ``ratio`` and ``ratio_idf``.
    ngram_power : float
        λ of an n-gram is multiplied by its length in symbols (tokens or characters) to this power. 0: n-grams of all
        lengths are penalised alike.
    positive_factor, negative_factor : float or ``"forbidden"``
        What ``l1`` is multiplied by for positive and for negative weights, at least 1 (Kazama & Tsujii, EMNLP 2003); or
        that no weight has the sign. Of two labels that exclude each other the sign is that of the second.
    length_normalisation : bool
        Whether a feature's value is 1 / sqrt(distinct words of the document), scaled to a mean of 1, instead of 1. In a
        refit, the number of words is replaced by the squared L2 norm of the document's tf-idf vector over the selected
        features.
    balance : float
        How much more documents of rare labels weigh, if labels exclude each other: a label of n documents weighs as
        much as n^(1 - balance) do. 0: all documents alike, 1: all labels alike.
    tol : float
        Under L1: duality gap to stop at, in units of the objective at zero weights. Without: the largest ``|v| / λ``
        that an optimal weight may keep, in units of ``min_gradient``; or where that is null, of the largest at zero
        weights.
    network_alpha, network_gamma : float
        α and γ of the penalty α ‖(I − P) w‖² + γ ‖(I + Q) w‖² of a network of features, if ``initialize`` is given one
        (Sandler et al., NIPS 2008; :mod:`spacy_graft.graft.network`).
    network_kind : str
        ``mean``: as above, a weight is pulled towards the mean of its neighbours' weights. ``laplacian``,
        ``normalised_laplacian``: α wᵀL w + γ wᵀS w, of the graph's Laplacians.
    network_unlinked : str
        What features without similar edges pay, those outside the network included: nothing (``free``), or α w², as
        the formula has it where a row of P is empty (``to_zero``). Then a large α leaves the word to the network.
    vectors_ridge : float
        ρ of the penalty ρ Σ_y ‖u_y‖² of the weights of document vectors, if ``initialize`` is given word vectors.
    constraints : Constraints, optional
        What the model must not use, and what it must. Signs and locked weights need L1.
    stability : bool or float
        Under L1: whether the final model says of each feature in which share of random half samples it is selected
        (:mod:`spacy_graft.graft.stability`), and has only those selected in at least this share, 0.6 if true. 0 leaves
        none out.
    stability_pairs : int
        Complementary pairs of half samples, each of which is trained on.
    stability_seed : int
        Of the random numbers that draw them.
    """

    ridge: float = 0.0
    penalty_weights: PenaltyWeights = "none"
    ratio_power: float = 0.5
    ngram_power: float = 0.0
    positive_factor: SignFactor = 1.0
    negative_factor: SignFactor = 1.0
    length_normalisation: bool = False
    balance: float = 0.0
    tol: float = 1e-3
    network_alpha: float = 1.0
    network_gamma: float = 1.0
    network_kind: NetworkKind = "mean"
    network_unlinked: Unlinked = "free"
    vectors_ridge: float = 0.1
    constraints: Constraints | None = None
    stability: float | bool = False
    stability_pairs: int = 25
    stability_seed: int = 0

    def __post_init__(self) -> None:
        self._make_plain()
        self._require(is_number_in(self.ridge, 0.0, LARGEST_STRENGTH), "ridge", f"at least 0, {UP_TO}")
        for option in ("network_alpha", "network_gamma"):
            allowed = is_number_in(getattr(self, option), 0.0, LARGEST_NETWORK_STRENGTH)
            self._require(allowed, option, f"at least 0, and at most {LARGEST_NETWORK_STRENGTH:g}")
        self._require(self.penalty_weights in PENALTY_WEIGHTS, "penalty_weights", f"one of {list(PENALTY_WEIGHTS)}")
        power = is_number_in(self.ratio_power, 0.0, LARGEST_POWER) and self.ratio_power > 0.0
        self._require(power, "ratio_power", f"above 0, and at most {LARGEST_POWER:g}")
        allowed = is_number_in(self.ngram_power, 0.0, LARGEST_NGRAM_POWER)
        self._require(allowed, "ngram_power", f"between 0 and {LARGEST_NGRAM_POWER:g}")
        for option in ("positive_factor", "negative_factor"):
            factor = getattr(self, option)
            allowed = (isinstance(factor, str) and factor == FORBIDDEN) or is_number_in(factor, 1.0, LARGEST_FACTOR)
            self._require(allowed, option, f"at least 1 and at most {LARGEST_FACTOR:g}, or {FORBIDDEN!r}")
        both = self.positive_factor == self.negative_factor == FORBIDDEN
        self._require(not both, "negative_factor", f"a number where positive_factor is {FORBIDDEN!r}")
        self._require_flag("length_normalisation")
        self._require(is_number_in(self.balance, 0.0, 1.0), "balance", "between 0 and 1")
        self._require(is_number_in(self.tol, 0.0, 1.0) and 0.0 < self.tol < 1.0, "tol", "between 0 and 1")
        self._require(is_strength(self.vectors_ridge), "vectors_ridge", f"above 0, {UP_TO}")
        self._require(self.network_kind in NETWORK_KINDS, "network_kind", f"one of {list(NETWORK_KINDS)}")
        self._require(self.network_unlinked in UNLINKED, "network_unlinked", f"one of {list(UNLINKED)}")
        is_known = self.constraints is None or isinstance(self.constraints, Constraints)
        self._require(is_known, "constraints", "made with one of @graft_constraints, or null")
        is_share = isinstance(self.stability, bool) or is_number_in(self.stability, 0.0, 1.0)
        self._require(is_share, "stability", "true, false, or a number from 0 to 1")
        self._require_count("stability_pairs", "at least 1", most=MOST_PAIRS)
        seed = f"an integer from 0 to {LARGEST_COUNT:,}"
        self._require(is_count(self.stability_seed, 0), "stability_seed", seed)

    def _require_no_l1(self) -> None:
        """Raise a ValueError for what only L1 has."""
        for option in ("positive_factor", "negative_factor"):
            self._require(getattr(self, option) == 1.0, option, "1 without L1")
        free = self.constraints is None or not (self.constraints.one_sided or self.constraints.locks)
        self._require(free, "constraints", "without signs and locked weights where there is no L1")
        self._require(self.stability is False, "stability", "false without L1, which selects the features")

    @property
    def locks_weights(self) -> bool:
        """Whether weights are locked, so that a model must not be divided by a temperature."""
        return self.constraints is not None and bool(self.constraints.locks)

    def _require_ridge(self) -> None:
        self._require(is_strength(self.ridge), "ridge", f"above 0 with penalty = 'l2', {UP_TO}")

    @property
    def sign_factors(self) -> tuple[float, float]:
        """The factors of positive and of negative weights; infinite where the sign is forbidden."""
        positive, negative = (
            math.inf if factor == FORBIDDEN else float(factor)
            for factor in (self.positive_factor, self.negative_factor)
        )
        return positive, negative

    @property
    def least_stability(self) -> float | None:
        """The least selection probability of a feature of the final model; None if there are none."""
        if isinstance(self.stability, bool):
            return STABLE if self.stability else None
        return float(self.stability)

    @property
    def penalty_weight_kind(self) -> PenaltyWeightKind:
        """The kind of penalty weights that the option names."""
        return PenaltyWeightKind[self.penalty_weights.upper()]


@dataclass(frozen=True, kw_only=True, repr=False)
class Grafting(PenaltySettings):
    """Grafting under one penalty; a round a step.

    Under L1, the optimum at one strength over the whole space, certified (with a ridge: of the elastic net). Under L2
    or no penalty, the incremental feature selection of Riezler & Vasserman (EMNLP 2004, l2-ifs and mle-ifs), or
    training on the whole space (l2, mle; std with ``penalty_weights = "standard"``).

    Attributes
    ----------
    penalty : str
        ``l1``, ``l2`` (the ridge alone) or ``none``.
    l1 : float, optional
        L1 strength, in the sum convention (the papers' C): a feature enters only if ``|v| > l1 λ``. Required under L1,
        and not allowed otherwise.
    min_gradient : float, optional
        Without L1: a feature enters only if ``|v| > min_gradient λ``. None selects nothing: all features enter at once.
    n_best : int, optional
        Pairs of feature and label that a round adds. None means 100, and under L1 at least as many as are active: a
        pair that should not have entered leaves again there, and fewer rounds take less time.
    """

    penalty: PenaltyKind = "l1"
    l1: float | None = None
    min_gradient: float | None = None
    n_best: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(self.penalty in PENALTIES, "penalty", f"one of {list(PENALTIES)}")
        self._require_count("n_best", "at least 1, or null", null=True, most=LARGEST_N_BEST)
        under = f"with penalty = {self.penalty!r}"
        if self.penalty == "l1":
            self._require(is_strength(self.l1), "l1", f"above 0 {under}, {UP_TO}")
            self._require(self.min_gradient is None, "min_gradient", f"null {under}: l1 takes its place")
            return
        self._require(self.l1 is None, "l1", f"null {under} (features that matter little are left out by min_gradient)")
        self._require_no_l1()
        self._require(
            self.min_gradient is None or is_strength(self.min_gradient),
            "min_gradient",
            f"above 0, or null, {under}, {UP_TO}",
        )
        if self.penalty == "l2":
            self._require_ridge()
        else:
            self._require(self.ridge == 0.0, "ridge", f"0 {under}")

    @property
    def takes_all(self) -> bool:
        """Whether all features enter at once, so that they must be written down."""
        return self.penalty != "l1" and self.min_gradient is None


@dataclass(frozen=True, kw_only=True, repr=False)
class CoordinateAscent(Settings):
    """Unregularised ascent along the best coordinate (SLR: Ifrim, Bakir & Weikum, KDD 2008).

    From zero weights, each iteration takes the feature with the largest gradient of the log-likelihood, of n-grams of
    any length, and searches along it for the maximum. What keeps the model small is that it stops early. Several labels
    are one logistic problem each, against all others, whether or not they exclude each other.

    Attributes
    ----------
    tolerance : float
        A label stops once an iteration changes its scores f by no more than this: ``Σ_i |Δf_i| / (1 + Σ_i |f_i|)``.
    iterations : int, ``"cv"`` or None
        The most iterations of a label. ``cv`` chooses them for each label: those of the least log-loss on held-out
        documents, a fifth of the training documents at a time. None sets no limit.
    intercepts : str, optional
        ``training_error``: those for which predicting a label where its score is above 0 makes the fewest errors on the
        training documents. None leaves them at 0.
    iterations_per_step : int
        Iterations of each label in a step of the training loop.
    """

    tolerance: float = 0.005
    iterations: int | Literal["cv"] | None = None
    intercepts: Literal["training_error"] | None = "training_error"
    iterations_per_step: int = 10

    def __post_init__(self) -> None:
        self._make_plain()
        tolerance = is_number_in(self.tolerance, 0.0, 1.0) and 0.0 < self.tolerance < 1.0
        self._require(tolerance, "tolerance", "between 0 and 1")
        if self.iterations != "cv":
            self._require_count("iterations", "at least 1, 'cv', or null", null=True)
        self._require(self.intercepts in ("training_error", None), "intercepts", "'training_error', or null")
        self._require_count("iterations_per_step", "at least 1")


@dataclass(frozen=True, kw_only=True, repr=False)
class GraftingPath(PenaltySettings):
    """Optima over the whole space for an L1 strength that falls geometrically from ``l1_max``, with warm starts.

    Evaluation on held-out documents chooses among them, so that the strength needs no tuning. Under L2 alone there is
    one point with all features instead, for which held-out documents choose the rest.

    The defaults are those that did best over many data sets without tuning (``docs/accuracy.md``): an elastic net with
    enough ridge that some thousands of features share the work, which are then fitted again under a weaker one.

    Attributes
    ----------
    penalty : str
        ``l1``; or ``l2``: all features in one point, the optimum under ``ridge``. Combinations cannot be among them.
    l1_min_ratio : float
        The last L1 strength in units of ``l1_max``, the smallest one whose model is empty.
    steps : int
        Points of the path.
    max_features : int, optional
        The path ends with the first model that would have more features. It is replaced by one that has nearly as
        many, at a strength between this and the one before. It also ends when held-out documents are not predicted
        better any more, or hardly any features come (:func:`spacy_graft.held_out.is_exhausted`).
    refit : float or ``"auto"``, optional
        Strength of the L2 penalty under which the selected features of each point are fitted again, without L1 (relaxed
        lasso, Meinshausen 2007). ``auto``: the one with the least log-loss on held-out documents; without them,
        :data:`FIRST_REFIT`. None keeps the weights of the path.
    metric : str
        What chooses among the points: ``log_loss`` of held-out documents, or a score of the component's scorer, such
        as ``cats_macro_f``; the larger is the better one. It does not end the path. Without dev
        documents (``fit`` alone, classifiers) folds choose by the log-loss, and this is not looked at.
    parsimony : str or int
        Which point is chosen: ``best``, with log-loss the last one within a standard error of the difference to the
        least; ``one_se``, the first whose log-loss is within one standard error of the least; or the best of those with
        no more than this number of features, with which the path then ends, as with ``max_features``.
    network_choices : sequence of float
        Further values of ``network_alpha`` that are tried after the choice of a point, in this order: the one with the
        least log-loss on held-out documents is taken. 0 stands for training without the network.
    vectors_choices : sequence of float
        The same for ``vectors_ridge``; one is left out if another between it and the best so far has been tried. 0
        stands for training without word vectors; with it among the choices, the point is chosen without them, and
        ``vectors_ridge`` is the first strength that is tried. Vectors, and smaller strengths than the best one so far,
        must lower the log-loss by half a standard error of the difference.
    optional_blocks : sequence of str
        Blocks of features that are left out after the choice of a point, in this order, if held-out documents do not
        need them.
    retrain : bool
        Whether the model is trained again after the choice, at the chosen point and under the chosen refit, on the
        training documents and those held out. Where the latter are fewer than 200 and there are fewer than 1,000 in
        all, it is then chosen by cross-validation on all of them, if ``metric`` is ``log_loss``.
    """

    ridge: float = 20.0
    penalty_weights: PenaltyWeights = "ratio_idf"
    ngram_power: float = 0.25
    length_normalisation: bool = True
    balance: float = 0.5
    tol: float = 1e-4
    penalty: PathPenaltyKind = "l1"
    l1_min_ratio: float = 0.0001
    steps: int = 16
    max_features: int | None = 20_000
    refit: float | Literal["auto"] | None = "auto"
    metric: str = "log_loss"
    parsimony: Parsimony | int = "best"
    network_choices: Sequence[float] = ()
    vectors_choices: Sequence[float] = ()
    optional_blocks: Sequence[str] = ()
    retrain: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(self.penalty in PATH_PENALTIES, "penalty", f"one of {list(PATH_PENALTIES)}")
        if self.penalty == "l2":
            self._require_no_l1()
            self._require_ridge()
        ratio = is_number_in(self.l1_min_ratio, SMALLEST_RATIO, 1.0) and self.l1_min_ratio < 1.0
        self._require(ratio, "l1_min_ratio", f"between 0 and 1 (at least {SMALLEST_RATIO:g})")
        self._require_count("steps", "at least 1")
        self._require_count("max_features", "at least 1, or null", null=True)
        refit = self.refit is None or (isinstance(self.refit, str) and self.refit == "auto") or is_strength(self.refit)
        self._require(refit, "refit", f"a number above 0, 'auto', or null, {UP_TO}")
        metric: Any = self.metric
        self._require(isinstance(metric, str) and metric != "", "metric", "'log_loss' or the name of a score")
        if self.parsimony not in PARSIMONY:
            self._require_count("parsimony", "'best', 'one_se', or a number of features, at least 1")
            self._require(self.penalty == "l1", "parsimony", "no number with penalty = 'l2', which selects no features")
        for option, most in (("network_choices", LARGEST_NETWORK_STRENGTH), ("vectors_choices", LARGEST_STRENGTH)):
            object.__setattr__(self, option, self._strengths(option, most))
        first = self.network_alpha > 0.0 or not self.network_choices
        self._require(first, "network_alpha", "above 0 with network_choices, which may have the 0")
        object.__setattr__(self, "optional_blocks", as_names("GraftingPath", "optional_blocks", self.optional_blocks))
        self._require_flag("retrain")

    @property
    def most_features(self) -> int | None:
        """The features that a model may have: ``max_features``, or ``parsimony`` if this is a smaller number."""
        numbers = (self.max_features, self.parsimony)
        return min((n for n in numbers if n is not None and not isinstance(n, str)), default=None)

    def _strengths(self, option: str, most: float) -> tuple[float, ...]:
        choices: Any = getattr(self, option)
        is_list = isinstance(choices, Sequence) and not isinstance(choices, str)
        holds = is_list and all(is_number_in(strength, 0.0, most) for strength in choices)
        self._require(holds, option, f"a list of numbers of at least 0, and at most {most:g}")
        return tuple(map(float, choices))

    @property
    def n_points(self) -> int:
        """The most points that there can be."""
        return self.steps if self.penalty == "l1" else 1

    @property
    def first_refit(self) -> float | None:
        """The strength of the first refit."""
        return FIRST_REFIT if self.refit == "auto" else self.refit


def n_samples(learner: Any) -> int:
    """Half samples and as many bootstrap samples, which show how stable features are; 0 if nothing asks for them."""
    if not isinstance(learner, PenaltySettings) or learner.least_stability is None:
        return 0
    return 4 * learner.stability_pairs
