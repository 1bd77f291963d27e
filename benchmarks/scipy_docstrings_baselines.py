"""Measure two linear baselines on the default corpus.

A logistic regression on tf-idf features of words (one and two) or of characters
(two to five, within words). The parameters are chosen on ``dev``; the test score
is that of a model trained on ``train``, then of one trained on ``train`` and
``dev``. Build the corpus with ``scripts/scipy_docstrings.py`` first.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from sklearn.metrics import accuracy_score, f1_score  # type: ignore[import-untyped]

FEATURES: dict[str, dict[str, Any]] = {
    "word 1-2": {"analyzer": "word", "ngram_range": (1, 2)},
    "char 2-5": {"analyzer": "char_wb", "ngram_range": (2, 5)},
}
MIN_DF = (1, 2, 3)
SUBLINEAR = (False, True)
C = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
RESAMPLES = 1000
HEADER = ("features", "C", "min_df", "subl.", "scored on", "macro-F1", "95 %", "acc.")

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class Split:
    """Texts and their labels."""

    texts: list[str]
    labels: list[str]

    def __add__(self, other: Split) -> Split:
        """Return the documents of both splits."""
        return Split(self.texts + other.texts, self.labels + other.labels)


@dataclass(frozen=True)
class Settings:
    """Parameters of a baseline."""

    min_df: int
    sublinear_tf: bool
    c: float


def read_split(path: Path) -> Split:
    """Read a file of the corpus."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return Split([row["text"] for row in rows], [row["label"] for row in rows])


def macro_f1(gold: Any, predicted: Any) -> float:
    """Return the macro-averaged F1."""
    return float(f1_score(gold, predicted, average="macro", zero_division=0))


def _vectorizer(features: str, min_df: int, sublinear_tf: bool) -> Any:
    return TfidfVectorizer(**FEATURES[features], min_df=min_df, sublinear_tf=sublinear_tf)


def _classifier(c: float) -> Any:
    return LogisticRegression(C=c, max_iter=2000)


def tune(features: str, train: Split, dev: Split) -> Settings:
    """Return the settings with the best macro-F1 on dev, the first among equals."""
    best, chosen = -1.0, Settings(1, False, 1.0)
    for min_df, sublinear_tf in itertools.product(MIN_DF, SUBLINEAR):
        vectorizer = _vectorizer(features, min_df, sublinear_tf)
        x_train = vectorizer.fit_transform(train.texts)
        x_dev = vectorizer.transform(dev.texts)
        for c in C:
            model = _classifier(c).fit(x_train, train.labels)
            score = macro_f1(dev.labels, model.predict(x_dev))
            if score > best:
                best, chosen = score, Settings(min_df, sublinear_tf, c)
    return chosen


def predict(features: str, settings: Settings, train: Split, other: Split) -> list[str]:
    """Train on one split and return the labels predicted for another."""
    vectorizer = _vectorizer(features, settings.min_df, settings.sublinear_tf)
    model = _classifier(settings.c).fit(vectorizer.fit_transform(train.texts), train.labels)
    return [str(label) for label in model.predict(vectorizer.transform(other.texts))]


def interval(gold: list[str], predicted: list[str], seed: int = 0) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the macro-F1, resampled within labels."""
    rng = np.random.default_rng(seed)
    labels, guesses = np.array(gold), np.array(predicted)
    strata = [np.flatnonzero(labels == label) for label in sorted(set(gold))]
    scores = []
    for _ in range(RESAMPLES):
        index = np.concatenate([rng.choice(rows, len(rows)) for rows in strata])
        scores.append(macro_f1(labels[index], guesses[index]))
    low, high = np.percentile(scores, [2.5, 97.5])
    return float(low), float(high)


def _row(features: str, settings: Settings, trained: str, train: Split, other: Split) -> list[str]:
    predicted = predict(features, settings, train, other)
    low, high = interval(other.labels, predicted)
    return [
        features,
        f"{settings.c:g}",
        str(settings.min_df),
        "yes" if settings.sublinear_tf else "no",
        trained,
        f"{macro_f1(other.labels, predicted):.3f}",
        f"{low:.3f}-{high:.3f}",
        f"{accuracy_score(other.labels, predicted):.3f}",
    ]


@app.command()
def main(
    corpus: Annotated[Path, typer.Argument(help="Folder of the corpus.")] = Path("corpus"),
) -> None:
    """Print the scores of the baselines on dev and on test."""
    try:
        train, dev, test = (read_split(corpus / f"{s}.jsonl") for s in ("train", "dev", "test"))
    except FileNotFoundError as error:
        typer.echo(f"error: {error}; run scripts/scipy_docstrings.py first", err=True)
        raise typer.Exit(1) from None
    table = Table(*HEADER, box=None)
    for features in FEATURES:
        settings = tune(features, train, dev)
        table.add_row(*_row(features, settings, "dev", train, dev))
        table.add_row(*_row(features, settings, "test", train, test))
        table.add_row(*_row(features, settings, "test (+dev)", train + dev, test))
    Console().print(table)


if __name__ == "__main__":
    app()
