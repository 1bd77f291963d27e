"""One L1 strength, from Python strings to the certificate, beside enumeration and liblinear or celer.

python benchmarks/training.py --data DATA [--peers] [--newsgroups]
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from common import DataFolder, measured, need, one_hot, pin_threads, print_table, texts_and_labels

#: Gap at which fits end, in units of the objective at zero weights.
TOL = 1e-4


def ours(data: Path, name: str, unit: str, l1: float) -> Iterator[dict[str, Any]]:
    """Grafting over n-grams of any length."""
    from ours import character_stream, compile_kernels, to_the_end, training_data, word_stream

    from spacy_graft.graft.settings import Grafting

    texts, labels = texts_and_labels(data, name)
    targets = one_hot(labels)
    compile_kernels()
    words = word_stream(texts) if unit == "words" else None
    yield {}
    streams = {unit: words or character_stream(texts)}
    fit = to_the_end(Grafting(l1=l1, tol=TOL), training_data(streams, targets))
    report = fit.report
    yield {
        "objective": report.objective,
        "gap": report.relative_gap,
        "features": report.n_active,
        "rounds": report.rounds,
        "phases": {phase: round(seconds, 2) for phase, seconds in report.seconds.items()},
    }


def enumeration(data: Path, name: str, unit: str, l1: float, longest: int, solver: str) -> Iterator[dict[str, Any]]:
    """``CountVectorizer`` with the lossless frequency cut, then liblinear or celer (which has no intercept)."""
    import warnings

    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    warnings.simplefilter("ignore")
    texts, labels = texts_and_labels(data, name)
    y = one_hot(labels).argmax(axis=1)
    options: dict[str, Any] = {"token_pattern": r"\S+"} if unit == "words" else {"analyzer": "char"}
    vectorizer = CountVectorizer(
        ngram_range=(1, longest), min_df=int(np.ceil(l1)), binary=True, lowercase=False, dtype=np.float64, **options
    )
    if solver == "celer":
        from celer import LogisticRegression as Celer

        Celer().fit(np.eye(4), [0, 1, 0, 1])  # compiles, or reads, its kernels
        model = Celer(C=1.0 / l1, tol=1e-4, max_iter=100)
    else:
        model = LogisticRegression(
            solver="liblinear", l1_ratio=1.0, C=1.0 / l1, tol=1e-4, max_iter=1000, intercept_scaling=100.0
        )
    yield {}
    matrix = vectorizer.fit_transform(texts).tocsc()
    model.fit(matrix, y)
    scores = model.decision_function(matrix)
    loss = np.logaddexp(0.0, scores).sum() - scores[y == 1].sum()
    yield {
        "objective": float(loss + l1 * np.abs(model.coef_).sum()),
        "gap": float("nan"),
        "features": int(np.count_nonzero(model.coef_)),
        "rounds": int(np.max(getattr(model, "n_iter_", 0))),
        "phases": {"columns": matrix.shape[1]},
    }


def row(label: str, run: Any) -> list[str]:
    result = run.result
    return [
        label, f"{run.seconds:.2f}", f"{run.megabytes:,.0f}", f"{result['objective']:.3f}", f"{result['gap']:.1e}",
        f"{result['features']:,}", f"{result['rounds']}", str(result["phases"]),
    ]  # fmt: skip


HEADER = ("what", "CPU s", "MB above start", "objective", "gap / F(0)", "features", "rounds", "wall s by phase")


def main(
    data: DataFolder,
    peers: Annotated[bool, typer.Option(help="Run scikit-learn and celer beside us.")] = False,
    newsgroups: Annotated[bool, typer.Option(help="Run 20newsgroups, 20 labels.")] = False,
    repeat: Annotated[int, typer.Option(help="Runs of ours; the median is printed.")] = 3,
) -> None:
    """Print the tables of point 3."""
    if peers:
        need("celer", "sklearn")
    pin_threads()
    rows = []
    for unit, l1, longest in (("characters", 10.0, 8), ("characters", 1.0, 8), ("words", 10.0, 5), ("words", 1.0, 5)):
        run = measured(ours, data, "movie_reviews", unit, l1, repeat=repeat)
        rows.append(row(f"{unit}, any length, l1 = {l1:g}", run))
        if peers:
            for solver in ("liblinear", "celer"):
                run = measured(enumeration, data, "movie_reviews", unit, l1, longest, solver)
                rows.append(row(f"scikit-learn + {solver}, {unit} 1 to {longest}, l1 = {l1:g}", run))
    print_table("One L1 strength on movie_reviews train", HEADER, rows)
    if newsgroups:
        run = measured(ours, data, "20newsgroups_bydate", "characters", 3.0)
        print_table("20newsgroups train, multinomial", HEADER, [row("characters, any length, l1 = 3", run)])


if __name__ == "__main__":
    typer.run(main)
