"""The quadratic model of one proximal Newton step, and its minimum.

Around weights w the objective is, to second order, with v minus the gradient of the loss, H its Hessian in the scores,
X the active columns and Ω the penalty,

    m(d) = - vᵀ d + ½ (X d)ᵀ H (X d) + Ω(w + d) + (w + d)ᵀ Q (w + d),

where Q is the coupling of a network, if there is one. Intercepts and the weights of dense columns, which have a ridge,
move along with the pairs. Coordinate descent finds the support and conjugate gradients
finish the linear system on it, preconditioned by the labels' own blocks where the diagonal is not enough; without L1
they do all of it. Character n-grams are strongly correlated, and descent alone is slow: at an L1 strength of 1 on
movie_reviews it took 7,000 sweeps to the certificate, where together they take 75 sweeps and 364 products with the
Hessian, each of which costs as much as half a sweep.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..threads import map_in_threads
from . import kernels
from .coupling import Coupling
from .dense import Dense, largest_norm
from .design import Design, as_lanes
from .kernels import Pairs
from .losses import Loss
from .penalties import PairPenalty

#: Where the curvature is taken at the first step, from the probabilities (0) to the targets (1); and without L1, where
#: weights begin farther from their optimum (with 150 labels, a quarter fewer products).
TOWARDS_TARGETS, SMOOTH_TOWARDS = 0.05, 0.1
#: Sweeps of coordinate descent between runs of conjugate gradients: the first over all pairs, others on the support.
SWEEPS = 4
#: Curvature, relative to the diagonal, under which a direction is flat: all labels of a feature together, say. In
#: double precision and in single.
FLAT, SINGLE_FLAT = 1e-13, 1e-7
#: Products by the diagonal alone before a model gets its blocks; the largest block; the ridge of its factor.
CHEAP_PRODUCTS, LARGEST_BLOCK, JITTER = 30, 1024, 1e-4
#: Documents of a block that are written down at a time: 34 MB at the most in each thread.
GRAM_DOCUMENTS = 2**13
#: Alternations of the two, runs of conjugate gradients in one of them, products in one run.
ALTERNATIONS, RUNS, PRODUCTS = 30, 20, 100
#: Products without L1, where there is nothing but conjugate gradients.
SMOOTH_PRODUCTS = 500
#: Numbers that are worked on at a time.
PART = 2**16
#: Multiplications of the blocks in the time that a product takes for an entry of the columns.
BLOCK_SPEED = 100


@dataclass
class Point:
    """A point of the model: the pairs' weights, and how far all else has moved.

    Intercepts (labels), dense weights (labels, n_columns) and scores (labels, documents).
    """

    weights: np.ndarray
    intercepts: np.ndarray
    dense: np.ndarray
    scores: np.ndarray


def parts_in_cache(numbers: np.ndarray) -> Iterator[slice]:
    """Rows whose numbers fit in the processor's cache, so that what is made of them is not written to memory."""
    n_rows = max(PART * len(numbers) // max(numbers.size, 1), 1)
    return (slice(first, first + n_rows) for first in range(0, len(numbers), n_rows))


@dataclass
class Direction:
    """A number for each pair (of a support), each intercept (labels) and each dense weight (labels, n_columns).

    In single precision those of pairs are lanes, (features, width): see :class:`SingleFace`.
    """

    weights: np.ndarray
    intercepts: np.ndarray
    dense: np.ndarray

    def dot(self, other: Direction) -> float:
        """The inner product with another direction of the same pairs."""
        of_dense = np.vdot(self.dense, other.dense)
        return float(np.vdot(self.weights, other.weights) + self.intercepts @ other.intercepts + of_dense)

    def add(self, length: float, other: Direction) -> None:
        """Add ``length`` times another direction, in place."""
        for part in parts_in_cache(self.weights):
            self.weights[part] += length * other.weights[part]
        self.intercepts += length * other.intercepts
        self.dense += length * other.dense

    def scale(self, factor: float) -> None:
        self.weights *= factor
        self.intercepts *= factor
        self.dense *= factor


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
    dense : Dense
    towards : float
        Where the curvature is taken, from the probabilities (0) to the targets (1).
    """

    design: Design
    loss: Loss
    scale: np.ndarray
    probabilities: np.ndarray
    penalty: PairPenalty
    coupling: Coupling
    dense: Dense
    towards: float = TOWARDS_TARGETS

    def __post_init__(self) -> None:
        self.active = self.design.active
        self.blocks: LabelBlocks | None = None
        residuals = self.loss.residuals(self.probabilities)
        # Where a document is certain and wrong, the likelihood has a slope and no curvature at p, and a Newton step
        # would know no bounds: the curvature is taken a little on the way to the targets, where it is.
        self.probabilities = self.probabilities + self.towards * (self.loss.targets - self.probabilities)
        self.gradient = self.collect(residuals)
        self.intercept_gradient = residuals.sum(axis=1)
        self.dense_gradient = self.dense.collect(residuals)

    @cached_property
    def curvature(self) -> Direction:
        """The diagonal of the Hessian; a model that is at its tolerance, and makes no step, does not need it."""
        variances = self.loss.variances(self.probabilities)
        # Bounded away from 0: where every document is certain the model is flat, and the penalty alone decides. Where λ
        # is the deviation of a column of small values, so is its curvature.
        least = 1e-12 * np.minimum(self.active.penalty_weights, 1.0) ** 2
        of_pairs = np.maximum(self.collect(self.scale * variances, squared=True), least)
        return Direction(of_pairs, np.maximum(variances.sum(axis=1), 1e-12), self.dense.curvature(variances))

    @cached_property
    def arrays(self) -> kernels.Quadratic:
        """What coordinate descent needs."""
        p, importance = self.probabilities, self.loss.importance
        return kernels.Quadratic(
            self.gradient,
            self.curvature.weights,
            self.active.penalty_weights,
            self.penalty.upper,
            self.penalty.lower,
            self.penalty.quadratic,
            self.scale,
            importance,
            p,
            importance * self.scale * p,
            *self._coupling_rows(),
            np.array(self.coupling.diagonal),  # without coupling a view of one zero, another type for numba
        )

    def _coupling_rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows of Q; empty ones of an operator, which there is no descent for."""
        matrix = self.coupling.matrix
        if not isinstance(matrix, sparse.csr_array):
            return np.zeros(len(self.active) + 1, np.int32), np.empty(0, np.int32), np.empty(0)
        return matrix.indptr.astype(np.int32, copy=False), matrix.indices.astype(np.int32, copy=False), matrix.data

    def collect(self, totals: np.ndarray, squared: bool = False) -> np.ndarray:
        """Σ_i a_i x_ik totals_yi for every pair, x the feature's value; or with x²."""
        return self.design.collect(totals * self.scale, squared)

    def scores_of(self, design: Design, change: Direction) -> np.ndarray:
        """Scores (labels, documents) of a change of the weights of the design's pairs, the intercepts and the rest."""
        scores = design.spread(change.weights)
        scores *= self.scale
        scores += change.intercepts[:, None]
        if len(self.dense):
            scores += self.dense.spread(change.dense)
        return scores

    @cached_property
    def slope(self) -> np.ndarray:
        """v, from which the gradients of all quadratic penalties have been taken: float64 (pairs)."""
        return slope_of(self.gradient, self.active.weights, self.penalty, self.coupling)

    @cached_property
    def penalty_before(self) -> float:
        """That of the weights as they are."""
        return self.penalty_value(self.active.weights, self.dense.weights)

    def violation(self) -> float:
        """Largest violation of the optimality conditions: of pairs (in units of |v| / λ), intercepts, dense weights."""
        of_pairs = self.penalty.violations(self.active.weights, self.slope)
        of_pairs /= self.active.penalty_weights
        of_dense = largest_norm(self.dense_gradient - self.dense.penalty_gradient(self.dense.weights))
        return float(max(of_pairs.max(initial=0.0), np.abs(self.intercept_gradient).max(), of_dense))

    def penalty_value(self, weights: np.ndarray, dense: np.ndarray) -> float:
        """Ω(w) + wᵀ Q w, and that of dense weights."""
        return self.penalty.value(weights) + self.coupling.penalty(weights) + self.dense.value(dense)

    def change(self, point: Point) -> float:
        """m(d) - m(0)."""
        linear = self.gradient @ (point.weights - self.active.weights) + self.intercept_gradient @ point.intercepts
        linear += np.vdot(self.dense_gradient, point.dense)
        curved = np.vdot(point.scores, self.loss.hessian_product(self.probabilities, point.scores))
        after = self.penalty_value(point.weights, self.dense.weights + point.dense)
        return float(-linear + 0.5 * curved + after - self.penalty_before)

    def minimum(self, tolerance: float) -> Point:
        """The minimum, to a violation of about ``tolerance``."""
        labels = len(self.probabilities)
        point = Point(
            self.active.weights.copy(),
            np.zeros(labels),
            np.zeros(self.dense.weights.shape),
            np.zeros(self.probabilities.shape),
        )
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
        """The same without L1, where it is a linear system over all pairs.

        In single precision first, if every label has every feature and there are several, or a network. What this
        leaves is then measured in double precision, and solved for if it is too much; from the start, if it is more
        than there.
        """
        if self.design.has_lanes or (self.design.is_complete and self.coupling.is_operator):
            found = self._solved(point, tolerance, SingleFace)
            face = QuadraticFace(self, np.arange(len(point.weights)))
            left = face.violation(face.residual(found))
            if left <= 0.7 * tolerance:
                return found
            point = found if left < self.violation() else point
        return self._solved(point, tolerance, QuadraticFace)

    def _solved(self, point: Point, tolerance: float, face: type[QuadraticFace]) -> Point:
        everything = np.arange(len(point.weights))
        for products in (self.products_before_blocks(), SMOOTH_PRODUCTS):
            towards, solved = face(self, everything).solve(point, 0.7 * tolerance, products)
            if towards is not None:
                point = Point(
                    point.weights + towards.weights,
                    point.intercepts + towards.intercepts,
                    point.dense + towards.dense,
                    point.scores + self.scores_of(self.design, towards),
                )
            if solved or towards is None:
                break
            if self.blocks is None:
                self.blocks = LabelBlocks(self, everything)
        return point

    def products_before_blocks(self) -> int:
        """Products by the diagonal alone that cost as much as the blocks; enough for most problems with a ridge.

        All, if each block would be too large.
        """
        n_documents, n_pairs = len(self.scale), self.design.n_pairs
        n_squares = int((n_pairs[n_pairs <= LARGEST_BLOCK] ** 2).sum())
        if not n_squares:
            return SMOOTH_PRODUCTS
        products = n_documents * n_squares // (BLOCK_SPEED * max(self.design.n_entries, 1))
        return min(max(products, CHEAP_PRODUCTS), SMOOTH_PRODUCTS)

    def descend(self, point: Point, tolerance: float) -> float:
        """A few sweeps of coordinate descent; returns the largest change in the first, which covers all pairs."""
        of_dense = self.dense_step(point, tolerance)
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
        return max(first, of_dense)

    def dense_step(self, point: Point, tolerance: float) -> float:
        """A step down the slope of the dense weights, unless it is at the tolerance; returns its largest norm."""
        if not len(self.dense):
            return 0.0
        slope = self.dense_slope(point, self.loss.hessian_product(self.probabilities, point.scores))
        norm = largest_norm(slope)
        if norm > tolerance:
            step = slope / self.curvature.dense
            moved = self.dense.spread(step)
            curved = np.vdot(moved, self.loss.hessian_product(self.probabilities, moved))
            length = np.vdot(slope, step) / (curved + 2.0 * self.dense.value(step))
            point.dense = point.dense + length * step
            point.scores = point.scores + length * moved
        return norm

    def dense_slope(self, point: Point, curved: np.ndarray) -> np.ndarray:
        """Minus the gradient in the dense weights; ``curved`` is the product of the Hessian with the scores."""
        penalty = self.dense.penalty_gradient(self.dense.weights + point.dense)
        return np.asarray(self.dense_gradient - self.dense.collect(curved) - penalty)

    def intercept_sweep(self, point: Point, mean_moved: np.ndarray) -> float:
        """One sweep over the intercepts; returns the largest slope. A loss that has none is flat along them."""
        if not self.loss.has_intercepts:
            return 0.0
        return float(
            kernels.intercept_sweep(
                self.intercept_gradient, self.curvature.intercepts, self.arrays, point.scores, mean_moved,
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
        if towards is None:
            return False
        here = self.change(point)
        first_crossing = self.first_crossing(point, support, towards)
        length = 1.0
        while True:
            trial = self.projected(point, support, towards, length)
            if self.change(trial) < here:
                vars(point).update(vars(trial))
                return not solved or bool((trial.weights[support] == 0.0).any())
            if length <= first_crossing:
                return not solved
            length = max(0.5 * length, first_crossing)

    def first_crossing(self, point: Point, support: np.ndarray, towards: Direction) -> float:
        """The length at which the first weight reaches 0: up to there the model falls, since it is convex."""
        start = point.weights[support]
        against = start * towards.weights < 0.0
        # A little further, so that rounding does not leave the weight just above 0.
        return min(1.0, float((-start[against] / towards.weights[against]).min(initial=1.0)) * (1.0 + 1e-12))

    def projected(self, point: Point, support: np.ndarray, towards: Direction, length: float) -> Point:
        """``point`` moved by ``length`` along ``towards``; weights that would change sign stop at 0."""
        weights = point.weights.copy()
        weights[support] += length * towards.weights
        weights[weights * point.weights < 0.0] = 0.0
        intercepts = point.intercepts + length * towards.intercepts
        dense = point.dense + length * towards.dense
        change = Direction(weights - self.active.weights, intercepts, dense)
        return Point(weights, intercepts, dense, self.scores_of(self.design, change))


class QuadraticFace:
    """The model on one support, signs fixed: a linear system, H d = right-hand side."""

    #: Curvature, relative to the diagonal, under which a direction is flat.
    flat: ClassVar[float] = FLAT

    def __init__(self, model: QuadraticModel, support: np.ndarray) -> None:
        self.model = model
        self.support = support
        self.design = model.design.some(support)
        self.active = self.design.active
        self.penalty = model.penalty.some(support)
        self.coupling = model.coupling.some(support)

    @cached_property
    def penalty_weights(self) -> np.ndarray:
        """λ of the pairs."""
        return self.active.penalty_weights

    @cached_property
    def diagonal(self) -> np.ndarray:
        """Of H."""
        diagonal = self.penalty.quadratic + self.coupling.diagonal
        diagonal *= 2.0
        diagonal += self.of_support(self.model.curvature.weights)
        return np.asarray(diagonal)

    @cached_property
    def factors(self) -> list[tuple[Any, Cholesky]]:
        """Where the pairs of each block are, and its factor."""
        return [] if self.model.blocks is None else self.model.blocks.factors(self.support)

    def of_support(self, of_pairs: np.ndarray) -> np.ndarray:
        """Of numbers of all pairs, those of the support."""
        return of_pairs if self.design is self.model.design else of_pairs[self.support]

    def product(self, direction: Direction) -> Direction:
        """The Hessian's product with a direction."""
        model, weights = self.model, direction.weights
        curved = model.loss.hessian_product(model.probabilities, model.scores_of(self.design, direction))
        sums = self.design.collect(curved * model.scale)
        sums += 2.0 * self.penalty.quadratic * weights
        sums += self.coupling.gradient(weights)
        dense = model.dense.collect(curved) + model.dense.penalty_gradient(direction.dense)
        return Direction(sums, curved.sum(axis=1), dense)

    def residual(self, point: Point) -> Direction:
        """Minus the gradient of the model at ``point``, on the support."""
        model, weights = self.model, self.of_support(point.weights)
        residual = slope_of(self.of_support(model.gradient), weights, self.penalty, self.coupling)
        if not self.penalty.is_smooth:
            residual -= self.penalty.slopes(weights)
        curved = model.loss.hessian_product(model.probabilities, point.scores)
        if curved.any():
            residual -= self.design.collect(curved * model.scale)
        return Direction(residual, model.intercept_gradient - curved.sum(axis=1), model.dense_slope(point, curved))

    def violation(self, residual: Direction) -> float:
        """How far it is from the minimum, in the units of the tolerance."""
        r, penalty_weights = residual.weights, self.penalty_weights
        of_parts = [(np.abs(r[part]) / penalty_weights[part]).max() for part in parts_in_cache(r)]
        of_pairs = np.array(of_parts).max(initial=0.0)
        return float(max(of_pairs, np.abs(residual.intercepts).max(), largest_norm(residual.dense)))

    def precondition(self, residual: Direction) -> Direction:
        """By the diagonal, or by the blocks of each label once the model has them.

        Intercepts are kept from moving where the loss is flat, so that the Hessian is regular.
        """
        model = self.model
        scaled = model.loss.fixed(residual.intercepts / model.curvature.intercepts, 1.0 / model.curvature.intercepts)
        solved = residual.weights / self.diagonal
        for places, factor in self.factors:
            solved[places] = cho_solve(factor, residual.weights[places].astype(np.float32), check_finite=False)
        return Direction(solved, scaled, residual.dense / model.curvature.dense)

    def is_flat(self, direction: Direction, curvature: float) -> bool:
        """Whether the model hardly curves along a direction, in which the diagonal does."""
        model, d = self.model, direction.weights
        by_diagonal = sum(float(np.vdot(d[part] * self.diagonal[part], d[part])) for part in parts_in_cache(d))
        by_diagonal += float(direction.intercepts**2 @ model.curvature.intercepts)
        by_diagonal += float(np.vdot(direction.dense**2, model.curvature.dense))
        return curvature <= self.flat * by_diagonal

    def solve(self, point: Point, tolerance: float, products: int) -> tuple[Direction | None, bool]:
        """Preconditioned conjugate gradients, started at ``point``.

        Returns
        -------
        Direction or None
            How far to go; None if the start is within the tolerance, or if numbers leave the range of the precision.
        bool
            Whether this is all the way.
        """
        r = self.residual(point)
        if self.violation(r) <= tolerance:
            return None, True
        d = self.precondition(r)
        total = Direction(np.zeros_like(r.weights), np.zeros_like(r.intercepts), np.zeros_like(r.dense))
        rz, solved = r.dot(d), False
        for _ in range(products):
            hd = self.product(d)
            curvature = d.dot(hd)
            solved = self.is_flat(d, curvature)
            if solved:
                break
            if not (0.0 < curvature < np.inf and rz > 0.0):
                return None, False
            length = rz / curvature
            total.add(length, d)
            r.add(-length, hd)
            solved = self.violation(r) <= tolerance
            if solved:
                break
            z = self.precondition(r)
            rz, previous = r.dot(z), rz
            d.scale(rz / previous)
            d.add(1.0, z)
        return total, solved


class SingleFace(QuadraticFace):
    """The same over all pairs, where every label has every feature, in single precision.

    Numbers of pairs are lanes, (features, width), and those of documents and labels too
    (:func:`~spacy_graft.solve.design.as_lanes`): what products read and write is half as long, and in the order in
    which it is used. Memory: 40 bytes a pair, and 21 a document and label.
    """

    flat = SINGLE_FLAT

    def __init__(self, model: QuadraticModel, support: np.ndarray) -> None:
        super().__init__(model, support)
        self.n_labels = len(model.probabilities)
        with np.errstate(over="ignore"):  # what is infinite is noticed in the curvature
            self.loss = replace(model.loss, importance=model.loss.importance.astype(np.float32))
            self.document_weights = model.scale.astype(np.float32)[:, None]
        self.probabilities = as_lanes(model.probabilities, single=True).T
        self.ridges = self.lanes(2.0 * self.penalty.quadratic)

    @cached_property
    def penalty_weights(self) -> np.ndarray:
        return self.lanes(super().penalty_weights, 1.0)

    @cached_property
    def diagonal(self) -> np.ndarray:
        return self.lanes(super().diagonal, 1.0)

    @cached_property
    def factors(self) -> list[tuple[Any, Cholesky]]:
        return [(divmod(places, self.active.n_rows)[::-1], factor) for places, factor in super().factors]

    def lanes(self, of_pairs: np.ndarray, padding: float = 0.0) -> np.ndarray:
        """Numbers of pairs (pairs) as lanes."""
        lanes = as_lanes(of_pairs.reshape(self.n_labels, -1), self.design.n_threads, single=True)
        lanes[:, self.n_labels :] = padding
        return lanes

    def pairs(self, lanes: np.ndarray) -> np.ndarray:
        """Numbers of pairs from lanes: float64 (pairs)."""
        return np.asarray(lanes[:, : self.n_labels].T, np.float64, order="C").reshape(-1)

    def product(self, direction: Direction) -> Direction:
        model, n, n_threads = self.model, self.n_labels, self.design.n_threads
        scores = self.design.by_document.sums(direction.weights, n_threads)
        scores *= self.document_weights
        scores[:, :n] += direction.intercepts
        if len(model.dense):
            scores[:, :n] += model.dense.spread(direction.dense).T
        curved = self.loss.hessian_product(self.probabilities, scores.T).T
        intercepts = curved[:, :n].sum(axis=0, dtype=np.float64)
        dense = model.dense.collect(curved[:, :n].T) + model.dense.penalty_gradient(direction.dense)
        curved *= self.document_weights
        sums = self.design.by_feature.sums(curved, n_threads)
        sums += self.ridges * direction.weights
        if not self.coupling.is_none:
            sums += self.network_gradient(direction.weights)
        return Direction(sums, intercepts, dense)

    def network_gradient(self, weights: np.ndarray) -> np.ndarray:
        """That of the coupling, as lanes."""
        matrix = self.coupling.matrix
        if matrix is None or isinstance(matrix, sparse.csr_array):
            return self.lanes(self.coupling.gradient(self.pairs(weights)))
        gradient = matrix.product_of_lanes(weights)
        gradient *= 2.0
        return gradient

    def residual(self, point: Point) -> Direction:
        found = super().residual(point)
        return replace(found, weights=self.lanes(found.weights))

    def solve(self, point: Point, tolerance: float, products: int) -> tuple[Direction | None, bool]:
        """The same, of pairs."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            towards, solved = super().solve(point, tolerance, products)
        if towards is None:
            return None, solved
        found = replace(towards, weights=self.pairs(towards.weights))
        is_finite = all(np.isfinite(part).all() for part in (found.weights, found.intercepts, found.dense))
        return (found, solved) if is_finite else (None, False)


def slope_of(gradient: np.ndarray, weights: np.ndarray, penalty: PairPenalty, coupling: Coupling) -> np.ndarray:
    """v less the gradients of the quadratic penalties: float64 (pairs), as ``gradient`` and ``weights``."""
    slope = -2.0 * penalty.quadratic
    slope *= weights
    slope += gradient
    if not coupling.is_none:
        slope -= coupling.gradient(weights)
    return np.asarray(slope)


#: A Cholesky factor, float32 (n, n), as SciPy has it.
Cholesky = tuple[np.ndarray, bool]


class LabelBlocks:
    """The diagonal blocks of the Hessian, one a label: the preconditioner for strongly correlated features.

    With them conjugate gradients only have to find the coupling between labels: tens of products instead of hundreds.
    A block costs documents × pairs² / 2 multiplications in single precision, once a Newton step, and each support
    another pairs³ / 6. Labels with more than :data:`LARGEST_BLOCK` pairs keep the diagonal. Memory: 4 pairs² bytes a
    label, and as much for its factor.
    """

    def __init__(self, model: QuadraticModel, support: np.ndarray) -> None:
        self.model = model
        self.label_of = np.full(len(model.active), -1, np.int64)
        self.place = np.zeros(len(model.active), np.int64)
        self.grams: list[np.ndarray] = []
        self.made: dict[int, tuple[np.ndarray, Cholesky | None]] = {}
        for y in range(len(model.probabilities)):
            members = support[model.active.labels[support] == y]
            if 0 < len(members) <= LARGEST_BLOCK:
                gram = self.gram(members, y)
                if not np.isfinite(gram).all():  # too large for single precision: the diagonal is kept
                    continue
                self.label_of[members] = len(self.grams)
                self.place[members] = np.arange(len(members))
                self.grams.append(gram)

    def gram(self, members: np.ndarray, label: int) -> np.ndarray:
        """Xᵀ diag(s a² p (1 - p)) X over some pairs of one label, plus the ridge and the network: float32."""
        model = self.model
        p = model.probabilities[label]
        root = np.sqrt(model.loss.variances(p)) * model.scale
        pairs = model.active.some(members).pairs
        gram = 2.0 * model.coupling.block(members).astype(np.float32)
        parts = [(pairs, root, first) for first in range(0, len(root), GRAM_DOCUMENTS)]
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is not used
            for of_part in map_in_threads(gram_of_documents, parts, model.design.n_threads):
                gram += of_part
            # The diagonal in full, and a little more: single precision must not make the block indefinite.
            ridges = model.penalty.quadratic[members] + model.coupling.diagonal[members]
            own = model.curvature.weights[members] + 2.0 * ridges
            np.fill_diagonal(gram, own * (1.0 + JITTER))
        return gram

    def factors(self, support: np.ndarray) -> list[tuple[np.ndarray, Cholesky]]:
        """Members and factors of the blocks cut down to ``support``; those whose members stayed are not made again."""
        factors = []
        for block, gram in enumerate(self.grams):
            places_in_support = np.flatnonzero(self.label_of[support] == block)
            places = self.place[support[places_in_support]]
            if block not in self.made or not np.array_equal(self.made[block][0], places):
                self.made[block] = (places, factor_of(gram.take(places, 0).take(places, 1)))
            if len(places) and (factor := self.made[block][1]) is not None:
                factors.append((places_in_support, factor))
        return factors


def gram_of_documents(pairs: Pairs, root: np.ndarray, first: int) -> np.ndarray:
    """What the documents from ``first`` on add to a block: float32 (pairs, pairs)."""
    rows = np.zeros((len(pairs.rows), min(GRAM_DOCUMENTS, len(root) - first)), np.float32)
    kernels.fill(pairs, root, first, rows)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(rows @ rows.T)


def factor_of(gram: np.ndarray) -> Cholesky | None:
    """The factor of a block, which is overwritten; None if rounding has made it indefinite."""
    try:
        return cast("Cholesky", cho_factor(gram.T, overwrite_a=True, check_finite=False))
    except LinAlgError:
        return None
