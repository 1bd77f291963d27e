"""Combinations of words at one L1 strength and along a path, to the certificate, beside enumeration and liblinear.

python benchmarks/combinations.py --data DATA [--peers]

The corpus is movie_reviews train: 1,600 documents, words (white space between) of at least 5 of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from common import DataFolder, measured, need, one_hot, pin_threads, print_table, texts_and_labels

#: Gap at which fits end, in units of the objective at zero weights; least documents of a word.
TOL, MIN_DF = 1e-3, 5
HEADER = (
    "what", "CPU s", "MB above start", "objective", "gap / F(0)", "words", "pairs", "triples", "rounds",
    "wall s by phase",
)  # fmt: skip


def products(texts: list[str], targets: np.ndarray, degree: int) -> Any:
    """Training data of words and their products."""
    from ours import word_stream

    from spacy_graft.extract.bags import Bags
    from spacy_graft.extract.combinations import Combinations
    from spacy_graft.graft.data import TrainingData

    n = len(texts)
    combined = {"products": Combinations(["words"], degree)} if degree > 1 else {}
    blocks = ("words", *combined)
    return TrainingData(
        bags={"words": Bags.of_stream(word_stream(texts), MIN_DF)},
        combinations=combined,
        min_df=dict.fromkeys(blocks, MIN_DF),
        penalty_factors=dict.fromkeys(blocks, 1.0),
        targets=targets,
        known=np.ones(targets.shape, np.bool_),
        example_weights=np.ones(n),
        lengths=np.ones(n),
        labels=("neg", "pos"),
        exclusive=True,
    )


def one_strength(data: Path, degree: int, l1: float) -> Iterator[dict[str, Any]]:
    """Grafting at one L1 strength."""
    from spacy_graft.graft.settings import Grafting

    yield from fitted(data, degree, Grafting(l1=l1, tol=TOL))


def path(data: Path, degree: int, ratio: float) -> Iterator[dict[str, Any]]:
    """20 L1 strengths from ``l1_max`` down to a share of it."""
    from spacy_graft.graft.settings import GraftingPath

    plain: dict[str, Any] = {"ridge": 0.0, "penalty_weights": "none", "length_normalisation": False, "balance": 0.0}
    yield from fitted(
        data, degree, GraftingPath(steps=20, l1_min_ratio=ratio, max_features=None, refit=None, tol=TOL, **plain)
    )


def fitted(data: Path, degree: int, learner: Any) -> Iterator[dict[str, Any]]:
    """Fit the corpus; a few documents first, so that nothing is compiled while the clock runs."""
    from ours import to_the_end

    texts, labels = texts_and_labels(data, "movie_reviews")
    targets = one_hot(labels)
    to_the_end(learner, products(texts[:60], targets[:60], degree))
    yield {}
    fit = to_the_end(learner, products(texts, targets, degree))
    report, sizes = fit.report, [len(terms) for terms in fit.solution().terms]
    yield {
        "objective": report.objective,
        "gap": report.relative_gap,
        "sizes": [sizes.count(size) for size in (1, 2, 3)],
        "rounds": report.rounds,
        "phases": {phase: round(seconds, 2) for phase, seconds in report.seconds.items()},
    }


def enumeration(data: Path, l1: float) -> Iterator[dict[str, Any]]:
    """All pairs of at least ``l1`` documents, which loses nothing, then liblinear."""
    import warnings

    import scipy.sparse
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    warnings.simplefilter("ignore")
    texts, labels = texts_and_labels(data, "movie_reviews")
    y = one_hot(labels).argmax(axis=1)
    vectorizer = CountVectorizer(
        min_df=max(MIN_DF, int(np.ceil(l1))), binary=True, lowercase=False, token_pattern=r"\S+", dtype=np.float64
    )
    model = LogisticRegression(
        solver="liblinear", l1_ratio=1.0, C=1.0 / l1, tol=1e-3, max_iter=1000, intercept_scaling=100.0
    )
    yield {}
    words = vectorizer.fit_transform(texts).tocsr()
    pairs = frequent_pairs(words, int(np.ceil(l1)))
    matrix = scipy.sparse.hstack([words, pairs]).tocsc()
    model.fit(matrix, y)
    scores = model.decision_function(matrix)
    loss = np.logaddexp(0.0, scores).sum() - scores[y == 1].sum()
    active = np.flatnonzero(model.coef_[0])
    n_words = int((active < words.shape[1]).sum())
    yield {
        "objective": float(loss + l1 * np.abs(model.coef_).sum()),
        "gap": float("nan"),
        "sizes": [n_words, len(active) - n_words, 0],
        "rounds": int(np.max(model.n_iter_)),
        "phases": {"columns": matrix.shape[1]},
    }


def frequent_pairs(words: Any, min_df: int) -> Any:
    """The products of two columns that at least ``min_df`` rows have, as a sparse matrix."""
    import scipy.sparse

    n_words = words.shape[1]
    codes, counts = [], np.diff(words.indptr)
    for row in range(words.shape[0]):
        items = np.sort(words.indices[words.indptr[row] : words.indptr[row + 1]]).astype(np.int64)
        first, second = np.triu_indices(len(items), 1)
        codes.append(items[first] * n_words + items[second])
    rows = np.repeat(np.arange(words.shape[0], dtype=np.int32), counts * (counts - 1) // 2)
    _, columns, df = np.unique(np.concatenate(codes), return_inverse=True, return_counts=True)
    kept = df >= min_df
    number = np.cumsum(kept) - 1
    entries = kept[columns]
    columns = number[columns[entries]]
    shape = (words.shape[0], int(kept.sum()))
    return scipy.sparse.csr_matrix((np.ones(len(columns)), (rows[entries], columns)), shape)


def row(label: str, run: Any) -> list[str]:
    result = run.result
    return [
        label, f"{run.seconds:.2f}", f"{run.megabytes:,.0f}", f"{result['objective']:.3f}", f"{result['gap']:.1e}",
        *map(str, result["sizes"]), f"{result['rounds']}", str(result["phases"]),
    ]  # fmt: skip


def main(
    data: DataFolder,
    peers: Annotated[bool, typer.Option(help="Run enumeration and liblinear beside us.")] = False,
    repeat: Annotated[int, typer.Option(help="Runs of ours; the median is printed.")] = 3,
) -> None:
    """Print the table."""
    if peers:
        need("sklearn")
    pin_threads()
    rows = [
        row(f"degree {degree}, l1 = {l1:g}", measured(one_strength, data, degree, l1, repeat=repeat))
        for degree, l1 in ((1, 10.0), (2, 10.0), (3, 10.0), (2, 3.0))
    ]
    for ratio in (0.1, 0.03):
        run = measured(path, data, 2, ratio, repeat=repeat)
        rows.append(row(f"degree 2, 20 values of l1 down to {ratio:g} l1_max", run))
    if peers:
        rows.append(row("degree 2, l1 = 10, pairs of 10 documents and liblinear", measured(enumeration, data, 10.0)))
    print_table("Products of words, movie_reviews train", HEADER, rows)


if __name__ == "__main__":
    typer.run(main)
