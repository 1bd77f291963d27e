"""The quadratic model of one proximal Newton step, and its minimum.

Around weights w the objective is, to second order, with v minus the gradient of the loss, H its Hessian in the scores,
X the active columns and Ω the penalty,

    m(d) = - vᵀ d + ½ (X d)ᵀ H (X d) + Ω(w + d) + (w + d)ᵀ Q (w + d),

where Q is the coupling of a network, if there is one. Coordinate descent finds the support and conjugate gradients
finish the linear system on it, preconditioned by the labels' own blocks where the diagonal is not enough; without L1
they do all of it. Character n-grams are strongly correlated, and descent alone is slow: at an L1 strength of 1 on
movie_reviews it took 7,000 sweeps to the certificate, where together they take 75 sweeps and 364 products with the
Hessian, each of which costs as much as half a sweep.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from . import kernels
from .active import Active
from .coupling import Coupling
from .design import Design
from .losses import Loss
from .penalties import PairPenalty

#: Where the curvature is taken, from the probabilities (0) to the targets (1).
TOWARDS_TARGETS = 0.05
#: Sweeps of coordinate descent between runs of conjugate gradients: the first over all pairs, others on the support.
SWEEPS = 4
#: Curvature, relative to the diagonal, under which a direction is flat: all labels of a feature together, say.
FLAT = 1e-10
#: Products by the diagonal alone before a model gets its blocks; the largest block; the ridge of its factor.
CHEAP_PRODUCTS, LARGEST_BLOCK, JITTER = 30, 1024, 1e-5
#: Alternations of the two, runs of conjugate gradients in one of them, products in one run.
ALTERNATIONS, RUNS, PRODUCTS = 30, 20, 100
#: Products without L1, where there is nothing but conjugate gradients.
SMOOTH_PRODUCTS = 500
#: Multiplications of the blocks in the time that a product takes for an entry of the columns.
BLOCK_SPEED = 100


@dataclass
class Point:
    """A point of the model: the pairs' weights, and how far intercepts and scores (labels, documents) have moved."""

    weights: np.ndarray
    intercepts: np.ndarray
    scores: np.ndarray


@dataclass
class QuadraticModel:
    """The model of one step.

    Attributes
    ----------
    design : Design
        Of the active pairs.
    loss : Loss
    scale : float64 (documents)
        Document weights a_i.
    probabilities : float64 (labels, documents)
        Of the model as it is; kept as those at which the curvature is taken.
    penalty : PairPenalty
        Of the active pairs.
    coupling : Coupling
        Q.
    """

    design: Design
    loss: Loss
    scale: np.ndarray
    probabilities: np.ndarray
    penalty: PairPenalty
    coupling: Coupling
    active: Active = field(init=False)
    gradient: np.ndarray = field(init=False)
    intercept_gradient: np.ndarray = field(init=False)
    curvature: np.ndarray = field(init=False)
    intercept_curvature: np.ndarray = field(init=False)
    arrays: kernels.Quadratic = field(init=False)
    blocks: LabelBlocks | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.active = self.design.active
        residuals = self.loss.residuals(self.probabilities)
        # Where a document is certain and wrong, the likelihood has a slope and no curvature at p, and a Newton step
        # would know no bounds: the curvature is taken a little on the way to the targets, where it is.
        self.probabilities = self.probabilities + TOWARDS_TARGETS * (self.loss.targets - self.probabilities)
        p, importance = self.probabilities, self.loss.importance
        self.gradient = self.collect(residuals)
        self.intercept_gradient = residuals.sum(axis=1)
        variance = self.loss.variances(p)
        # Bounded away from 0: where every document is certain the model is flat, and the penalty alone decides.
        self.curvature = np.maximum(self.collect(self.scale * variance, squared=True), 1e-12)
        self.intercept_curvature = np.maximum(variance.sum(axis=1), 1e-12)
        self.arrays = kernels.Quadratic(
            self.gradient,
            self.curvature,
            self.active.penalty_weights,
            self.penalty.upper,
            self.penalty.lower,
            self.penalty.quadratic,
            self.scale,
            importance,
            p,
            importance * self.scale * p,
            *self._coupling_rows(),
            self.coupling.diagonal,
        )

    def _coupling_rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows of Q; none of an operator, which there is no descent for."""
        matrix = self.coupling.matrix
        if not isinstance(matrix, sparse.csr_array):
            return np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0)
        return matrix.indptr.astype(np.int32, copy=False), matrix.indices.astype(np.int32, copy=False), matrix.data

    def collect(self, totals: np.ndarray, squared: bool = False) -> np.ndarray:
        """Σ_i a_i x_ik totals_yi for every pair, x the feature's value; or with x²."""
        return self.design.collect(totals * self.scale, squared)

    def scores_of(self, weights: np.ndarray, intercepts: np.ndarray) -> np.ndarray:
        """Scores (labels, documents) of a change of the weights and the intercepts."""
        scores = self.design.spread(weights)
        scores *= self.scale
        scores += intercepts[:, None]
        return scores

    def violation(self) -> float:
        """Largest violation of the optimality conditions, over pairs (in units of |v| / λ) and intercepts."""
        weights = self.active.weights
        v = self.gradient - 2.0 * self.penalty.quadratic * weights - self.coupling.gradient(weights)
        of_pairs = self.penalty.violations(weights, v) / self.active.penalty_weights
        return float(max(of_pairs.max(initial=0.0), np.abs(self.intercept_gradient).max()))

    def penalty_value(self, weights: np.ndarray) -> float:
        """Ω(w) + wᵀ Q w."""
        return self.penalty.value(weights) + self.coupling.penalty(weights)

    def change(self, point: Point) -> float:
        """m(d) - m(0)."""
        weights = self.active.weights
        linear = self.gradient @ (point.weights - weights) + self.intercept_gradient @ point.intercepts
        curved = np.vdot(point.scores, self.loss.hessian_product(self.probabilities, point.scores))
        return float(-linear + 0.5 * curved + self.penalty_value(point.weights) - self.penalty_value(weights))

    def minimum(self, tolerance: float) -> Point:
        """The minimum, to a violation of about ``tolerance``."""
        labels = len(self.probabilities)
        point = Point(self.active.weights.copy(), np.zeros(labels), np.zeros(self.probabilities.shape))
        if self.penalty.is_smooth:
            return self.smooth_minimum(point, tolerance)
        for _ in range(ALTERNATIONS):
            if self.descend(point, tolerance) <= tolerance:
                break
            for _ in range(RUNS):
                if not self.conjugate_gradients(point, tolerance):
                    break
        return point

    def smooth_minimum(self, point: Point, tolerance: float) -> Point:
        """The same without L1, where it is a linear system over all pairs."""
        everything = np.arange(len(point.weights))
        for products in (self.products_before_blocks(), SMOOTH_PRODUCTS):
            towards, solved = QuadraticFace(self, everything).solve(point, 0.7 * tolerance, products)
            point = Point(
                point.weights + towards.weights, point.intercepts + towards.intercepts, point.scores + towards.scores
            )
            if solved:
                break
            if self.blocks is None:
                self.blocks = LabelBlocks(self, everything)
        return point

    def products_before_blocks(self) -> int:
        """Products by the diagonal alone that cost as much as the blocks; enough for most problems with a ridge."""
        labels, documents = self.probabilities.shape
        n_entries = labels * self.active.starts[-1]
        n_squares = sum(n**2 for n in np.bincount(self.active.labels, minlength=labels) if n <= LARGEST_BLOCK)
        return int(np.clip(documents * n_squares / (BLOCK_SPEED * max(n_entries, 1)), CHEAP_PRODUCTS, SMOOTH_PRODUCTS))

    def descend(self, point: Point, tolerance: float) -> float:
        """A few sweeps of coordinate descent; returns the largest change in the first, which covers all pairs."""
        mean_moved = self.loss.means(self.probabilities, point.scores)
        network_gradient = self.coupling.gradient(point.weights)
        order = np.arange(len(point.weights))
        first = 0.0
        for sweep in range(SWEEPS):
            largest = self.intercept_sweep(point, mean_moved)
            change = kernels.descent_sweep(
                self.active.pairs, order, self.arrays, point.scores, mean_moved, point.weights, network_gradient,
                self.loss.normalisers,
            )  # fmt: skip
            largest = max(largest, change)
            if sweep == 0:
                first = largest
                order = np.flatnonzero(point.weights)
            if largest <= tolerance:
                break
        return first

    def intercept_sweep(self, point: Point, mean_moved: np.ndarray) -> float:
        """One sweep over the intercepts; returns the largest slope. A loss that has none is flat along them."""
        if not self.loss.has_intercepts:
            return 0.0
        return float(
            kernels.intercept_sweep(
                self.intercept_gradient, self.intercept_curvature, self.arrays, point.scores, mean_moved,
                point.intercepts,
            )
        )  # fmt: skip

    def conjugate_gradients(self, point: Point, tolerance: float) -> bool:
        """Solve on the support with the signs fixed, then project what changed sign to 0.

        Returns
        -------
        bool
            True if another run helps: the support shrank, or there are more digits to gain on it.
        """
        support = np.flatnonzero(point.weights)
        face = QuadraticFace(self, support)
        towards, solved = face.solve(point, 0.5 * tolerance, CHEAP_PRODUCTS if self.blocks is None else PRODUCTS)
        if not solved and self.blocks is None:
            self.blocks = LabelBlocks(self, support)
        here = self.change(point)
        first_crossing = self.first_crossing(point, support, towards)
        length = 1.0
        while True:
            trial = self.projected(point, support, towards, length)
            if self.change(trial) < here:
                point.weights, point.intercepts, point.scores = trial.weights, trial.intercepts, trial.scores
                return not solved or bool((trial.weights[support] == 0.0).any())
            if length <= first_crossing:
                return not solved
            length = max(0.5 * length, first_crossing)

    def first_crossing(self, point: Point, support: np.ndarray, towards: Point) -> float:
        """The length at which the first weight reaches 0: up to there the model falls, since it is convex."""
        start = point.weights[support]
        against = start * towards.weights < 0.0
        # A little further, so that rounding does not leave the weight just above 0.
        return min(1.0, float((-start[against] / towards.weights[against]).min(initial=1.0)) * (1.0 + 1e-12))

    def projected(self, point: Point, support: np.ndarray, towards: Point, length: float) -> Point:
        """``point`` moved by ``length`` along ``towards``; weights that would change sign stop at 0."""
        weights = point.weights.copy()
        weights[support] += length * towards.weights
        weights[weights * point.weights < 0.0] = 0.0
        intercepts = point.intercepts + length * towards.intercepts
        return Point(weights, intercepts, self.scores_of(weights - self.active.weights, intercepts))


class QuadraticFace:
    """The model on one support, signs fixed: a linear system, H d = right-hand side."""

    def __init__(self, model: QuadraticModel, support: np.ndarray) -> None:
        self.model = model
        self.support = support
        self.design = model.design.some(support)
        self.active = self.design.active
        self.penalty = model.penalty.some(support)
        self.coupling = model.coupling.some(support)
        self.diagonal = model.curvature[support] + 2.0 * (self.penalty.quadratic + self.coupling.diagonal)
        self.factors = None if model.blocks is None else model.blocks.factors(support)
        self.ridge = 2.0 * self.penalty.quadratic
        #: Room for one number a pair: large arrays that come and go cost more than what is computed in them.
        self._spare = np.empty(len(support))

    def product(self, weights: np.ndarray, intercepts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scores of a direction, and the Hessian's product with it (pairs, intercepts)."""
        scores = self.design.spread(weights)
        scores *= self.model.scale
        scores += intercepts[:, None]
        curved = self.model.loss.hessian_product(self.model.probabilities, scores)
        of_intercepts = curved.sum(axis=1)
        curved *= self.model.scale
        of_pairs = self.design.collect(curved)
        of_pairs += np.multiply(self.ridge, weights, out=self._spare)
        of_pairs += self.coupling.gradient(weights)
        return scores, of_pairs, of_intercepts

    def residual(self, point: Point) -> tuple[np.ndarray, np.ndarray]:
        """Minus the gradient of the model at ``point``, on the support."""
        model, support = self.model, self.support
        curved = model.loss.hessian_product(model.probabilities, point.scores)
        sums = self.design.collect(curved * model.scale)
        weights = point.weights[support]
        quadratic = 2.0 * self.penalty.quadratic * weights + self.coupling.gradient(weights)
        residual = model.gradient[support] - sums - quadratic - self.penalty.slopes(weights)
        return residual, model.intercept_gradient - curved.sum(axis=1)

    def precondition(
        self, residual: np.ndarray, intercepts: np.ndarray, out: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """By the diagonal, or by the blocks of each label once the model has them; pairs into ``out`` if it is given.

        Intercepts are kept from moving where the loss is flat, so that the Hessian is regular.
        """
        scaled = self.model.loss.fixed(
            intercepts / self.model.intercept_curvature, 1.0 / self.model.intercept_curvature
        )
        solved = np.divide(residual, self.diagonal, out=out)
        for members, factor in self.factors or []:
            solved[members] = cho_solve(factor, residual[members], check_finite=False)
        return solved, scaled

    def solve(self, point: Point, tolerance: float, products: int) -> tuple[Point, bool]:
        """Preconditioned conjugate gradients, started at ``point``; how far to go, and whether it is all the way."""
        r, r0 = self.residual(point)
        total = Point(np.zeros_like(r), np.zeros_like(r0), np.zeros(point.scores.shape))
        z, z0 = self.precondition(r, r0)
        d, d0 = z.copy(), z0
        rz = r @ z + r0 @ z0
        for _ in range(products):
            if self._violation(r, r0) <= tolerance:
                return total, True
            scores, hd, hd0 = self.product(d, d0)
            curvature = d @ hd + d0 @ hd0
            own = np.multiply(d, self.diagonal, out=self._spare)
            if curvature <= FLAT * (d @ own + d0 @ (d0 * self.model.intercept_curvature)):
                return total, True
            length = rz / curvature
            total.weights += np.multiply(d, length, out=self._spare)
            total.intercepts += length * d0
            scores *= length
            total.scores += scores
            hd *= length
            r -= hd
            r0 = r0 - length * hd0
            z, z0 = self.precondition(r, r0, z)
            rz, previous = r @ z + r0 @ z0, rz
            d *= rz / previous
            d += z
            d0 = z0 + rz / previous * d0
        return total, False

    def _violation(self, residual: np.ndarray, intercepts: np.ndarray) -> float:
        """The largest violation, over pairs (in units of |v| / λ) and intercepts."""
        of_pairs = np.abs(residual, out=self._spare)
        of_pairs /= self.active.penalty_weights
        return float(max(of_pairs.max(initial=0.0), np.abs(intercepts).max()))


#: Members of a block, and its Cholesky factor.
Factor = tuple[np.ndarray, tuple[np.ndarray, bool]]


class LabelBlocks:
    """The diagonal blocks of the Hessian, one a label: the preconditioner for strongly correlated features.

    With them conjugate gradients only have to find the coupling between labels: tens of products instead of hundreds.
    A block costs documents × pairs² / 2 multiplications in single precision, once a Newton step; labels with more
    than :data:`LARGEST_BLOCK` pairs keep the diagonal.
    """

    def __init__(self, model: QuadraticModel, support: np.ndarray) -> None:
        self.model = model
        self.label_of = np.full(len(model.active), -1, np.int64)
        self.place = np.zeros(len(model.active), np.int64)
        self.grams: list[np.ndarray] = []
        self.made: dict[int, Factor] = {}
        for y in range(len(model.probabilities)):
            members = support[model.active.labels[support] == y]
            if 0 < len(members) <= LARGEST_BLOCK:
                self.label_of[members] = len(self.grams)
                self.place[members] = np.arange(len(members))
                self.grams.append(self.gram(members, y))

    def gram(self, members: np.ndarray, label: int) -> np.ndarray:
        """Xᵀ diag(s a² p (1 - p)) X over some pairs of one label, plus the ridge and the network."""
        model, active = self.model, self.model.active
        p = model.probabilities[label]
        root = np.sqrt(model.loss.variances(p)) * model.scale
        dense = np.zeros((len(members), len(root)), np.float32)
        for column, j in zip(dense, members, strict=True):
            entries = slice(active.starts[active.rows[j]], active.starts[active.rows[j] + 1])
            documents = active.documents[entries]
            column[documents] = root[documents]
            if len(active.values):
                column[documents] *= active.values[entries]
        gram = (dense @ dense.T).astype(np.float64) + 2.0 * model.coupling.block(members)
        # The diagonal in full, and a little more: single precision must not make the block indefinite.
        own = model.curvature[members] + 2.0 * (model.penalty.quadratic[members] + model.coupling.diagonal[members])
        np.fill_diagonal(gram, own * (1.0 + JITTER))
        return gram

    def factors(self, support: np.ndarray) -> list[Factor]:
        """Cholesky factors of the blocks cut down to ``support``; those whose members stayed are not made again."""
        factors = []
        for block, gram in enumerate(self.grams):
            places_in_support = np.flatnonzero(self.label_of[support] == block)
            places = self.place[support[places_in_support]]
            if block not in self.made or not np.array_equal(self.made[block][0], places):
                self.made[block] = (places, cho_factor(gram[np.ix_(places, places)], check_finite=False))
            if len(places):
                factors.append((places_in_support, self.made[block][1]))
        return factors
