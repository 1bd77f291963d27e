"""The restricted problem: the optimum over the active pairs, by proximal Newton steps with a line search."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ..threads import limited_threads
from .active import Active
from .coupling import Coupling
from .dense import Dense
from .design import Design
from .losses import Loss
from .penalties import Penalty
from .quadratic import SMOOTH_TOWARDS, TOWARDS_TARGETS, QuadraticModel

#: Newton steps of one call; three to five are usual.
NEWTON_STEPS = 50
#: Share of its violation to which the quadratic model of a step is minimised; without L1, where no support has to be
#: found, less will do.
FORCING, SMOOTH_FORCING = 0.1, 0.3
#: Without L1, steps that leave a larger share of the violation than this are followed by closer ones: what these leave
#: of their model's violation is halved, and how far their curvature is from that at the point. (Where columns or
#: weights are of very different sizes, the largest alone decide the violation.)
LARGEST_LEFT = 0.7
#: Share of the model's decrease that a step must keep (Armijo).
SUFFICIENT = 1e-4
#: Shortest step that is tried.
SHORTEST = 1e-8
#: What rounding may hide of a change of the objective, in units of it; and the share of the violation that a whole step
#: must take away where it does.
HIDDEN, HIDDEN_GAIN = 1e-14, 0.5


@dataclass(frozen=True)
class Restricted:
    """The objective over the active pairs of labels that share one loss.

    Attributes
    ----------
    loss : Loss
    scale : float64 (documents)
        Document weights a_i.
    penalty : Penalty
    coupling : Coupling
        Of the pairs that it is given.
    dense : Dense, optional
        Dense columns with the weights of these labels, which :meth:`minimise` moves too.
    n_threads : int
        How many make products with the columns (:class:`spacy_graft.solve.design.Design`).
    """

    loss: Loss
    scale: np.ndarray
    penalty: Penalty
    coupling: Coupling
    dense: Dense | None = None
    n_threads: int = 1

    @limited_threads("blas")
    def minimise(self, active: Active, intercepts: np.ndarray, scores: np.ndarray, tolerance: float) -> bool:
        """Move weights, dense ones too, ``intercepts`` and ``scores`` in place towards the optimum.

        F never rises by more than rounding.

        Parameters
        ----------
        active : Active
        intercepts : float64 (labels)
        scores : float64 (labels, documents)
        tolerance : float
            Violation of the optimality conditions to stop at, in units of |v| / λ.

        Returns
        -------
        bool
            False if more than :data:`NEWTON_STEPS` were needed: what remains is then more than the tolerance, and than
            rounding.
        """
        last = before_step = np.inf
        value, p = self.loss.value_and_probabilities(scores)
        is_smooth, closeness = self.penalty.is_smooth, 1.0
        forcing, towards = (SMOOTH_FORCING, SMOOTH_TOWARDS) if is_smooth else (FORCING, TOWARDS_TARGETS)
        model_around = self._models(active, scores)
        for step in range(NEWTON_STEPS + 1):
            model = model_around(p, towards=closeness * towards)
            dense, violation = model.dense, model.violation()
            if violation <= tolerance or violation > HIDDEN_GAIN * last:
                return True
            if step == NEWTON_STEPS:
                break
            if is_smooth and violation > LARGEST_LEFT * before_step:
                closeness /= 2
            before_step = violation
            minimum = model.minimum(max(closeness * forcing * violation, 0.7 * tolerance))
            before = value + model.penalty_before
            promised = min(model.change(minimum), 0.0)
            rounding = HIDDEN * abs(before)
            is_hidden = -promised <= rounding
            last, length = violation if is_hidden else np.inf, 1.0
            while length > SHORTEST:
                weights = (
                    minimum.weights if length == 1.0 else active.weights + length * (minimum.weights - active.weights)
                )
                new_dense = dense.weights + length * minimum.dense
                new_scores = scores + length * minimum.scores
                new_value, p = self.loss.value_and_probabilities(new_scores)
                allowed = rounding if is_hidden else SUFFICIENT * length * promised
                if new_value + model.penalty_value(weights, new_dense) <= before + allowed:
                    break
                length /= 2
            else:
                # No descent left that floating point can see.
                return True
            value = new_value
            scores[:] = new_scores
            active.weights[:] = weights
            dense.weights[:] = new_dense
            intercepts += length * minimum.intercepts
        return False

    def violation(self, active: Active, scores: np.ndarray) -> float:
        """The largest violation of the optimality conditions, in units of |v| / λ."""
        _, p = self.loss.value_and_probabilities(scores)
        return self._models(active, scores)(p).violation()

    def _models(self, active: Active, scores: np.ndarray) -> partial[QuadraticModel]:
        """What makes the quadratic model around the weights of pairs from the loss's probabilities (labels, documents).

        Of ``scores`` (labels, documents) only the shape is used.
        """
        design = Design(active, len(scores), scores.shape[1], self.n_threads)
        penalty = self.penalty.on(active.penalty_weights)
        dense = Dense.none(*design.shape) if self.dense is None else self.dense
        return partial(
            QuadraticModel, design, self.loss, self.scale, penalty=penalty, coupling=self.coupling, dense=dense
        )
