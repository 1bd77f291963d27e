"""Grafting rounds (Perkins, Lacker & Theiler 2003; n-best: Riezler & Vasserman 2004).

A round adds the worst violations that the last search found, optimises the active weights, and searches again. The
search gives the certificate of the model as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from .certificate import Certificate
from .data import TrainingData
from .indexing import feature_space
from .model_state import KnownModel, ModelState
from .objective import Objective
from .report import Report
from .settings import LARGEST_N_BEST, PenaltySettings
from .space import SpaceViolations

#: Share of the worst violation to which the restricted problem is solved in a round: more digits are wasted on a
#: support that the next round changes.
ROUND_ACCURACY = 0.3
#: Share of the worst violation that a round must take away, so that the next one need not be more exact.
LEAST_TAKEN = 0.5
#: Pairs that a round adds if no number is given; under L1 at the least, where it doubles a larger active set.
FEWEST_ADDED = 100
#: How many times as many a round adds that is the only one at its L1 strength.
AT_ONCE = 4
#: A largest gradient under this, in units of the objective at zero weights, is what rounding leaves of none.
NO_GRADIENT = 1e-13
#: Rounds without a lower objective before a fit gives up on digits that float64 does not have; and the share of the gap
#: that a round must close to count where nothing is left to enter.
ROUNDS_WITHOUT_PROGRESS, LEAST_GAIN = 8, 0.01


class Rounds:
    """Grafting rounds of one fit, at one L1 strength after the other.

    Memory: the indexes (see :class:`spacy_graft.index.ngrams.NgramIndex`), and the model (:class:`ModelState`).

    Parameters
    ----------
    data : TrainingData
    settings : PenaltySettings
    smallest_l1 : float
        The least L1 strength that there will be: features too rare for it are left out of the index.
    known : KnownModel, optional
        The model to begin with, if it is not the empty one.

    Attributes
    ----------
    state : ModelState
        An earlier one may be restored before rounds at another L1 strength (:meth:`ModelState.restore`).
    report : Report
    """

    def __init__(
        self, data: TrainingData, settings: PenaltySettings, smallest_l1: float = 0.0, known: KnownModel | None = None
    ) -> None:
        self.settings = settings
        objective = Objective(data, settings)
        self.report = objective.new_report()
        self.state = indexed(objective, smallest_l1, self.report, known)
        self._certificate = Certificate(self.state.initial)
        self._found: SpaceViolations | None = None
        self._degree = 1
        #: Whether the gap over what has been searched, which may be less than the whole space, is at the tolerance.
        self._settled = False
        self._without_progress = 0
        #: Violation that the restricted problem might keep in the last round, in units of |v| / λ.
        self._accuracy = float("inf")
        #: Whether the last round left more of the worst violation than it may.
        self._is_stuck = False
        if self.state.objective.n_dense:
            self._certify_empty()
        self.report.update_gap(self._certificate.objective, self._certificate.dual, self._certificate.initial)
        self.report.converged = bool(self._certificate.relative_gap <= settings.tol)

    @property
    def trainable(self) -> bool:
        """Whether there are labels to separate and features that separate them."""
        return bool(self.state.objective.n_labels) and self.report.l1_max > NO_GRADIENT * self._certificate.initial

    def done(self) -> bool:
        """Whether rounds at this L1 strength have nothing left to do."""
        return self._settled or self._without_progress >= ROUNDS_WITHOUT_PROGRESS

    def start_at(self, l1: float, n_best: int | None) -> None:
        """Begin with a new L1 strength: what is known of the dual of another one no longer holds."""
        self._degree = 1
        self._forget_dual()
        n_added = self._n_added(n_best)
        self._search_degree(l1, n_added)
        self._deepen(l1, n_added)

    def round(self, l1: float, n_best: int | None = None) -> None:
        """Add the ``n_best`` worst violations, optimise, drop zeros, search again.

        Parameters
        ----------
        l1 : float
            L1 strength; it must have been started with (:meth:`start_at`).
        n_best : int, optional
            Pairs to add; by default as many as are active, or :data:`FEWEST_ADDED` if these are more.
        """
        assert self._found is not None
        before, gap_before = self.report.objective, self._certificate.relative_gap
        violation = self.report.max_violation
        waiting = self._found.count
        self._enter_found(l1)
        n_added = self._n_added(n_best)
        self._search_degree(l1, n_added)
        progress = self.report.objective < before - 1e-13 * abs(before)
        # Where nothing enters, a round is there for the digits of the gap alone.
        progress = progress and (waiting > 0 or self._certificate.relative_gap < (1.0 - LEAST_GAIN) * gap_before)
        self._without_progress = 0 if progress else self._without_progress + 1
        self._is_stuck = self.report.max_violation > (1.0 - LEAST_TAKEN) * violation
        self._deepen(l1, n_added)
        self.report.rounds += 1

    def optimise(self, l1: float, n_best: int | None = None, largest: float = math.inf) -> None:
        """Rounds at one L1 strength until the certificate holds, or the model has more than ``largest`` features.

        Other arguments are those of :meth:`round`.
        """
        self.start_at(l1, n_best)
        while not self.done() and self.state.active.n_rows <= largest:
            self.round(l1, n_best)

    def pass_by(self, l1: float) -> None:
        """One round for each degree on the way to a smaller L1 strength, without a search that would certify the model.

        A round takes several times as many violations as others, because none after it takes those that are left.
        Objective and gap of the report are then those before the last of them entered. Where the gap is at ``tol``
        already, none enter, as in other rounds: a model that is not passed by would not have them.
        """
        self._forget_dual()
        for degree in range(1, self.state.space.degree + 1):
            self._degree = degree
            self._search_degree(l1, AT_ONCE * self._n_added(None))
            if not self._settled:
                self._enter_found(l1)
        self.report.n_active, self.report.n_pairs = self.state.active.n_rows, len(self.state.active)
        self.report.converged = False
        self.report.rounds += 1

    def resolve(self, l1: float, weights: Mapping[tuple[str, str], np.ndarray]) -> None:
        """The optimum at one L1 strength, from the weights of another model (:meth:`ModelState.start_from`)."""
        with self.report.timed("solve"):
            self.state.start_from(weights)
            self.state.optimise(l1, ROUND_ACCURACY * l1)
        self.optimise(l1)

    def _n_added(self, n_best: int | None) -> int:
        """Pairs that the next round adds."""
        return min(max(FEWEST_ADDED, len(self.state.active)), LARGEST_N_BEST) if n_best is None else n_best

    def _enter_found(self, l1: float) -> None:
        """Add the violations that the last search found, and optimise."""
        assert self._found is not None
        with self.report.timed("solve"):
            self.state.enter(self._found.blocks, self._found.nodes, self._found.labels)
            # What is left outside may be tiny, or nothing, while the gap comes from the restricted problem itself.
            least = 0.1 * min(self._accuracy, l1)
            self._accuracy = max(ROUND_ACCURACY * self.report.max_violation * l1, least)
            # The intercepts follow the weights that are solved for, and move violations by as much as the columns are
            # large: what a loose solution leaves may enter, and be dropped, round after round.
            finer = max(self.state.space.largest_inverse_weight, 1.0) if self._is_stuck else 1.0
            self.state.optimise(l1, self._accuracy / finer)

    def _deepen(self, l1: float, n_added: int) -> None:
        """Look for combinations of more items once those of fewer leave nothing to do (Okanohara & Tsujii 2009)."""
        while self.done() and self._degree < self.state.space.degree:
            # What bounds the optimum over fewer features does not bound that over more.
            self._degree += 1
            self._forget_dual()
            self._search_degree(l1, n_added)

    def _search_degree(self, l1: float, n_added: int) -> None:
        """Find the next candidates, and with them the certificate of the model as it is."""
        state = self.state
        with self.report.timed("search"):
            self._found = state.search(
                min_gradient=l1, n_best=n_added, degree=self._degree, count_all=self.settings.ridge > 0.0
            )
            self._certify(l1, self._found)

    def _certify(self, l1: float, found: SpaceViolations) -> None:
        certificate, report, active = self._certificate, self.report, self.state.active
        certificate.update(self.state, l1, found)
        self._settled = bool(certificate.relative_gap <= self.settings.tol)
        # A search of fewer features bounds the optimum over these alone: nothing is known of that over all yet.
        complete = self._degree >= self.state.space.degree
        report.l1 = float(l1)
        report.update_gap(certificate.objective, certificate.dual if complete else -math.inf, certificate.initial)
        report.n_active, report.n_pairs = active.n_rows, len(active)
        report.converged = complete and self._settled
        report.max_violation = max(float(found.peaks.max(initial=0.0)) / report.l1 - 1.0, 0.0)

    def _certify_empty(self) -> None:
        """The certificate at ``l1_max``, where no feature violates: of the dense weights alone."""
        none, n_labels = np.empty(0, np.int64), self.state.objective.n_labels
        peaks, excess = np.full(n_labels, self.report.l1_max), np.zeros(n_labels)
        self._certificate.forget()
        found = SpaceViolations(none, none, np.empty(0), 0, peaks, excess, blocks=none)
        self._certificate.update(self.state, self.report.l1_max, found)

    def _forget_dual(self) -> None:
        self._certificate.forget()
        self._without_progress = 0
        self._accuracy = float("inf")
        self._is_stuck = False


def indexed(objective: Objective, smallest_l1: float, report: Report, known: KnownModel | None = None) -> ModelState:
    """The empty model over the space of features, or a known one, and the figures of this space in the report.

    Features too rare for ``smallest_l1`` are left out, unless the model is empty at it: what was cut off would not
    change that, but the largest scaled gradient may lie in it.
    """
    # What is named must be found, however rare it is.
    least_df = 0.0 if objective.constraints.names else objective.largest_rare_df(smallest_l1)
    state = over_features(objective, least_df, report, known)
    if report.l1_max <= smallest_l1 and least_df > 0.0:
        state = over_features(objective, 0.0, report, known)
    return state


def over_features(objective: Objective, least_df: float, report: Report, known: KnownModel | None) -> ModelState:
    """The empty model, or a known one, over the features of more than ``least_df`` documents per unit of λ."""
    with report.timed("index"):
        space = feature_space(objective, least_df)
        state = ModelState(objective, space, known)
    report.n_documents = objective.data.n_documents
    report.min_df, report.n_active = space.min_df, state.active.n_rows
    report.n_columns = space.n_columns
    with report.timed("search"):
        report.l1_max = largest_gradient(state) if known is None else known.l1_max
        if objective.n_dense:
            state.fit_dense()
            # The gradient without dense columns counts, which is the larger one as a rule: a share of l1_max is then
            # the same strength for all ridges that are tried.
            report.l1_max = max(report.l1_max, largest_gradient(state))
    # There the empty model is the optimum.
    report.l1 = report.l1_max
    return state


def largest_gradient(state: ModelState) -> float:
    """The largest scaled gradient of an empty model."""
    everything = state.search(min_gradient=0.0, n_best=1, degree=state.space.degree, count_all=False, only_largest=True)
    return float(everything.peaks.max(initial=0.0))
