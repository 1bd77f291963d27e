"""Naive references of the kernels: everything is enumerated."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from scipy.optimize import minimize
from sklearn import __version__ as sklearn_version

from spacy_graft.extract.streams import Stream

#: What asks scikit-learn for L1; before 1.8 it had another option.
LASSO = {"l1_ratio": 1.0} if tuple(map(int, sklearn_version.split(".")[:2])) >= (1, 8) else {"penalty": "l1"}


def code_points(text: str) -> np.ndarray:
    return np.array([ord(character) for character in text], np.uint32)


def stream_of(texts: list[str]) -> Stream:
    return Stream.join(map(code_points, texts), np.uint32)


def ngram_documents(texts: list[str], min_df: int = 1, max_length: int | None = None) -> dict[str, tuple[int, ...]]:
    """Documents of every n-gram of any length without the symbol 0; quadratic in the length of a text."""
    documents = defaultdict(set)
    for i, text in enumerate(texts):
        for start in range(len(text)):
            longest = len(text) if max_length is None else min(len(text), start + max_length)
            for end in range(start + 1, longest + 1):
                documents[text[start:end]].add(i)
    return {
        ngram: tuple(sorted(found)) for ngram, found in documents.items() if len(found) >= min_df and "\0" not in ngram
    }


def distinct_columns(texts: list[str], min_df: int = 1, max_length: int | None = None) -> tuple[list[str], np.ndarray]:
    """One n-gram (the shortest) for each distinct column, and the matrix (documents, columns)."""
    names: dict[tuple[int, ...], str] = {}
    for ngram, documents in ngram_documents(texts, min_df, max_length).items():
        if documents not in names or len(ngram) < len(names[documents]):
            names[documents] = ngram
    matrix = np.zeros((len(texts), len(names)))
    for column, documents in enumerate(names):
        matrix[list(documents), column] = 1.0
    return list(names.values()), matrix


def softmax(scores: np.ndarray) -> np.ndarray:
    """Over the last axis."""
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def log_loss(scores: np.ndarray, targets: np.ndarray, example_weights: np.ndarray) -> float:
    """Σ s (log Σ_y exp f - q f), scores and targets (documents, labels)."""
    largest = scores.max(axis=1)
    normaliser = largest + np.log(np.exp(scores - largest[:, None]).sum(axis=1))
    return float(example_weights @ (normaliser - (targets * scores).sum(axis=1)))


def dense_optimum(
    matrix: np.ndarray,
    targets: np.ndarray,
    example_weights: np.ndarray,
    l1: float,
    ridge: float = 0.0,
    penalty_weights: np.ndarray | None = None,
    network: np.ndarray | None = None,
    sign_factors: tuple[float, float] | np.ndarray = (1.0, 1.0),
    offset: np.ndarray | float = 0.0,
    dense: np.ndarray | None = None,
    dense_ridges: np.ndarray | None = None,
) -> tuple[float, np.ndarray, np.ndarray]:
    """min F over an explicit matrix by L-BFGS-B on w = u - v with u, v ≥ 0: (F, W (columns, labels), b).

    A line search that fails looks like convergence, so the method is restarted at its result until that gains
    nothing. ``network`` (columns, columns) is M of Σ_y w_yᵀ M w_y. ``l1`` is times the first factor for u and times the
    second for v; where one is infinite, they are 0. Factors may be of each weight: (2, columns, labels). ``offset`` is
    added to the scores. Columns of ``dense`` (documents, n) have no penalty but the ridge of each label
    (``dense_ridges``), and no weight where it is infinite.
    """
    dense = np.zeros((len(matrix), 0)) if dense is None else dense
    columns = matrix.shape[1]
    labels = targets.shape[1]
    penalty_weights = np.ones((columns, labels)) if penalty_weights is None else penalty_weights
    size = columns * labels
    dense_ridges = np.zeros(labels) if dense_ridges is None else dense_ridges
    finite_ridges = np.where(np.isfinite(dense_ridges), dense_ridges, 0.0)
    (positive, above), (negative, below) = (one_sign(factor, size) for factor in sign_factors)
    network = np.zeros((columns, columns)) if network is None else network

    def unpack(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (x[:size] - x[size : 2 * size]).reshape(columns, labels), x[2 * size : 2 * size + labels]

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        weights, intercepts = unpack(x)
        of_dense = x[2 * size + labels :].reshape(-1, labels)
        scores = matrix @ weights + intercepts + offset + dense @ of_dense
        residuals = example_weights[:, None] * (softmax(scores) - targets)
        both = (positive * x[:size] + negative * x[size : 2 * size]).reshape(columns, labels)
        value = log_loss(scores, targets, example_weights) + l1 * (penalty_weights * both).sum()
        value += ridge * ((penalty_weights * weights) ** 2).sum() + (weights * (network @ weights)).sum()
        value += (finite_ridges * of_dense**2).sum()
        smooth = (matrix.T @ residuals + 2.0 * ridge * penalty_weights**2 * weights + 2.0 * network @ weights).ravel()
        return value, np.concatenate(
            [
                smooth + l1 * positive * penalty_weights.ravel(),
                -smooth + l1 * negative * penalty_weights.ravel(),
                residuals.sum(axis=0),
                (dense.T @ residuals + 2.0 * finite_ridges * of_dense).ravel(),
            ]
        )

    of_each = [(None, None) if np.isfinite(ridge) else (0.0, 0.0) for ridge in dense_ridges] * dense.shape[1]
    value, x = restarted_minimum(objective, [*above, *below, *[(None, None)] * labels, *of_each])
    return value, *unpack(x)


def optimum_of_labels(
    matrix: np.ndarray,
    targets: np.ndarray,
    known: np.ndarray,
    l1: float,
    penalty_weights: np.ndarray | None = None,
    network: np.ndarray | None = None,
) -> float:
    """The least objective of labels that do not exclude each other, each a problem of the documents that know it."""
    total, columns = 0.0, matrix.shape[1]
    own = np.ones(columns) if penalty_weights is None else penalty_weights
    # The reference class has no weights: all but forbidden here.
    of_classes = np.column_stack([np.full(columns, 1e6), own])
    for target, is_known in zip(targets.T, known.T, strict=True):
        if len(set(target[is_known])) == 2:
            both = np.column_stack([1.0 - target, target])
            total += dense_optimum(matrix, both, is_known.astype(float), l1, 0.0, of_classes, network)[0]
    return total


def one_sign(factor: float | np.ndarray, size: int) -> tuple[np.ndarray, list[tuple[float | None, float | None]]]:
    """Factors of the L1 and bounds of the parts of the weights with one sign; an infinite factor holds them at 0."""
    factors = np.broadcast_to(np.ravel(factor), size)
    free = np.isfinite(factors)
    return np.where(free, factors, 0.0), [(0.0, None) if is_free else (0.0, 0.0) for is_free in free.tolist()]


def restarted_minimum(objective, bounds: list[tuple[float | None, float | None]]) -> tuple[float, np.ndarray]:
    """The minimum of a function with its gradient, from zeros, restarted until that gains nothing."""
    if not bounds:
        return objective(np.zeros(0))[0], np.zeros(0)
    x, value, gain = np.zeros(len(bounds)), np.inf, np.inf
    while gain == np.inf or gain > 1e-12 * abs(value):
        found = minimize(
            objective, x, jac=True, method="L-BFGS-B", bounds=bounds,
            options={"maxiter": 20000, "maxfun": 40000, "ftol": 1e-15, "gtol": 1e-9},
        )  # fmt: skip
        gain = value - float(found.fun)
        x, value = found.x, float(found.fun)
    return value, x


def choice_probabilities(scores: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The softmax over each group, one after the other."""
    p = np.empty(len(scores))
    for group in set(groups.tolist()):
        p[groups == group] = softmax(scores[groups == group])
    return p


def choice_loss(scores: np.ndarray, targets: np.ndarray, example_weights: np.ndarray, groups: np.ndarray) -> float:
    """Σ over groups of s (log Σ exp f - Σ q f)."""
    chosen = [np.flatnonzero(groups == group) for group in set(groups.tolist())]
    return sum(log_loss(scores[None, of], targets[None, of], example_weights[of[:1]]) for of in chosen)


def dense_choice_optimum(
    matrix: np.ndarray,
    targets: np.ndarray,
    example_weights: np.ndarray,
    groups: np.ndarray,
    l1: float,
    ridge: float = 0.0,
    penalty_weights: np.ndarray | None = None,
    network: np.ndarray | None = None,
    sign_factors: tuple[float, float] = (1.0, 1.0),
) -> tuple[float, np.ndarray]:
    """min F of a choice among candidates over an explicit matrix: (F, w). Arguments as of :func:`dense_optimum`."""
    columns = matrix.shape[1]
    (positive, above), (negative, below) = (one_sign(factor, columns) for factor in sign_factors)
    penalty_weights = np.ones(columns) if penalty_weights is None else penalty_weights
    network = np.zeros((columns, columns)) if network is None else network

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        w = x[:columns] - x[columns:]
        scores = matrix @ w
        value = choice_loss(scores, targets, example_weights, groups)
        value += l1 * (penalty_weights @ (positive * x[:columns] + negative * x[columns:]))
        value += ridge * ((penalty_weights * w) ** 2).sum()
        smooth = matrix.T @ (example_weights * (choice_probabilities(scores, groups) - targets))
        smooth = smooth + 2.0 * ridge * penalty_weights**2 * w + 2.0 * network @ w
        slopes = [smooth + l1 * positive * penalty_weights, -smooth + l1 * negative * penalty_weights]
        return value + w @ network @ w, np.concatenate(slopes)

    value, x = restarted_minimum(objective, [*above, *below])
    return value, x[:columns] - x[columns:]


def inverse_weight(
    kind: str,
    column: np.ndarray,
    inside: np.ndarray,
    power: float,
    outside: np.ndarray | None = None,
    factor: float = 1.0,
    single: bool = False,
) -> float:
    """1 / λ of one column and label, by its definition, times ``factor``.

    ``single``: in single precision, from counts in single precision, as an index has it.
    """
    n, present = len(column), column != 0.0
    df = present.sum()
    outside = 1.0 - inside if outside is None else outside
    if kind == "none":
        return factor
    if kind == "idf":
        inverse = np.log((1.0 + n) / (1.0 + df)) + 1.0
    elif kind == "standard":
        # In units of the largest value; of a column that does not vary, the largest there is.
        inverse = column.max() / max(column.std(), 1e-9)
    else:
        counts = inside[present].sum(), outside[present].sum()
        if single:
            count, known = np.float32(counts[0]), np.float32((inside + outside)[present].sum())
            counts = float(count), float(known - count)
        rates = [(count + 1.0) / (side.sum() + 2.0) for count, side in zip(counts, (inside, outside), strict=True)]
        inverse = abs(np.log(rates[0] / rates[1]))
        if kind == "ratio_idf":
            inverse *= np.log((1.0 + n) / (1.0 + df))
        inverse **= power
    inverse = np.clip(inverse, 0.05, 20.0) * factor
    if kind == "standard":
        inverse /= max(column.max(), 1e-18)
    return float(np.float32(inverse) if single else inverse)


def tf_idf(counts: np.ndarray, df: np.ndarray, n_documents: int) -> np.ndarray:
    """tf × (log((1 + n) / (1 + df)) + 1) in rows of length 1 or, without a known item, 0.

    Counts are (documents, items); ``df`` is of ``n_documents`` training documents, and 0 of unknown items.
    """
    idf = np.where(df > 0, np.log((1.0 + n_documents) / (1.0 + df)) + 1.0, 0.0)
    worth = counts * idf
    norms = np.sqrt((worth**2).sum(axis=1, keepdims=True))
    return worth / np.where(norms > 0.0, norms, 1.0)
