"""Combinations of words in document classification: the claim of Okanohara & Tsujii (2009), Table 2, on other data.

    python benchmarks/combinations_documents.py --data DATA [--newsgroups 100] [--reuters 40] [--limit 30]

They compare L1-regularised logistic regression over words and all products of words with the same over words alone and
with a linear SVM, over the 300 small binary tasks of techTC-300 (pairs of categories of a web directory, some 150 to
200 documents each), with tf-idf values and a fifth of the documents as the test part. That collection could not be had,
so that the tasks are pairs of groups of 20 newsgroups and pairs of topics of Reuters-21578 (documents of exactly one of
the two), with at most 100 documents of either side drawn at random.

Their measure is called F2. That is the F-measure with β = 2 in most texts, in some that of two equally weighted parts:
both are here, F1 (β = 1) and F2 (β = 2). Neither class of a pair is *the* positive one, so each is in turn, and the
mean of the two counts.

Whether products have a chance depends on the scale of the values, since the penalty is the same for all features: of
two words of value 0.06 the product has the value 0.004. So three kinds of values are tried (:data:`KINDS`): tf-idf with
documents of length 1, as is usual; tf-idf with the largest value of each document 1; presence.

Each method chooses its strength (C of the SVM, or L1 strength) by cross-validation on the training part; the test part
is scored once. Results are stored task by task in combinations_documents.json.gz beside this file, so that a second run
does only what is missing.
"""

from __future__ import annotations

import itertools
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy.sparse
import typer
from common import (
    TooLong,
    cpu_limit,
    load_results,
    need,
    pin_threads,
    print_table,
    read_jsonl,
    save_results,
    texts_and_labels,
)
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.metrics import fbeta_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.svm import LinearSVC

from spacy_graft import GraftClassifier, Grafting

#: Documents of either side of a pair: at the most, and at the least.
MOST, FEWEST = 100, 30
TEST_SHARE, FOLDS, MIN_DF = 0.2, 5, 2
#: What the names of tasks begin with, and the kinds of values.
SOURCES = ("newsgroups", "reuters")
KINDS = {"length": "tf-idf, length 1", "largest": "tf-idf, largest value 1", "presence": "presence"}
#: C of the SVM (scikit-learn's); L1 strengths in units of ``l1_max`` of the items.
SVM_GRID = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
L1_GRID = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005)
RESAMPLES = 10_000
HERE = Path(__file__).parent
Values = scipy.sparse.csr_array
Result = dict[str, Any]


@dataclass(frozen=True)
class Pair:
    """A binary task: texts, and which of the two names is theirs."""

    name: str
    texts: list[str]
    labels: np.ndarray


class Svm:
    """Linear SVM of scikit-learn; the grid begins with the strongest regularisation."""

    title = "linear SVM"
    grid = SVM_GRID

    def fit(self, values: Values, labels: np.ndarray, c: float) -> LinearSVC:
        return LinearSVC(C=c, random_state=0, max_iter=20_000).fit(values, labels)

    def figures(self, model: Any) -> Result:
        return {"features": [int((model.coef_ != 0.0).sum())]}


@dataclass(frozen=True)
class L1:
    """Ours, with products of no more than ``degree`` words."""

    title: str
    degree: int
    grid: tuple[float, ...] = L1_GRID

    def fit(self, values: Values, labels: np.ndarray, c: float) -> GraftClassifier:
        learner = Grafting(l1=c * largest_gradient(values, labels))
        return GraftClassifier(learner, degree=self.degree, min_df=MIN_DF).fit(values, labels.tolist())

    def figures(self, model: Any) -> Result:
        sizes = np.bincount([len(feature.names) for feature in model.features()], minlength=4)
        return {"features": sizes[1 : 1 + self.degree].tolist(), "relative_gap": model.report.relative_gap}


METHODS: dict[str, Svm | L1] = {
    "svm": Svm(),
    "words": L1("L1, words", 1),
    "pairs": L1("L1, words + pairs", 2),
    "triples": L1("L1, words + pairs + triples", 3),
}
#: Which differences are told.
COMPARED = (("pairs", "words"), ("triples", "words"), ("pairs", "svm"), ("words", "svm"))
MEASURES = {"f1": "F1", "f2": "F2", "accuracy": "accuracy"}


def largest_gradient(values: Values, labels: np.ndarray) -> float:
    """``l1_max`` of the items: the smallest L1 strength whose model is empty."""
    return float(np.abs(values.T @ (labels - labels.mean())).max())


def newsgroup_pairs(data: Path, wanted: int) -> Iterator[Pair]:
    """Pairs of groups, drawn once and for all."""
    texts, labels = texts_and_labels(data, "20newsgroups_bydate")
    groups = sorted(set(labels))
    of_group = {group: [t for t, label in zip(texts, labels, strict=True) if label == group] for group in groups}
    for one, other in chosen(list(itertools.combinations(groups, 2)), wanted):
        yield drawn(f"newsgroups: {one} / {other}", of_group[one], of_group[other])


def reuters_pairs(data: Path, wanted: int) -> Iterator[Pair]:
    """Pairs of topics that both have enough documents without the other, drawn once and for all."""
    records = read_jsonl(data / "reuters_modapte" / "train.jsonl.gz")
    topics = sorted({topic for record in records for topic in record["label"]})
    with_topic = {topic: {i for i, record in enumerate(records) if topic in record["label"]} for topic in topics}
    able = []
    for one, other in itertools.combinations(topics, 2):
        only = (sorted(with_topic[one] - with_topic[other]), sorted(with_topic[other] - with_topic[one]))
        if min(map(len, only)) >= FEWEST:
            able.append((one, other, *only))
    for one, other, ones, others in chosen(able, wanted):
        texts = [[records[i]["text"] for i in only] for only in (ones, others)]
        yield drawn(f"reuters: {one} / {other}", *texts)


def chosen(pairs: Sequence[Any], wanted: int) -> list[Any]:
    """The first so many in an order that never changes."""
    return [pairs[i] for i in np.random.default_rng(0).permutation(len(pairs))[:wanted]]


def seed_of(name: str) -> int:
    return zlib.crc32(name.encode())


def drawn(name: str, ones: Sequence[str], others: Sequence[str]) -> Pair:
    """At most :data:`MOST` documents of each side."""
    rng = np.random.default_rng(seed_of(name))
    sides = [[side[i] for i in rng.permutation(len(side))[:MOST]] for side in (ones, others)]
    return Pair(name, sides[0] + sides[1], np.repeat([0, 1], [len(side) for side in sides]))


def counted(texts: Sequence[str]) -> Values:
    """How often each word (lower case) is in each text."""
    return scipy.sparse.csr_array(CountVectorizer(token_pattern=r"\w+", dtype=np.float64).fit_transform(texts))


def values_of(kind: str, counts: Values, train: np.ndarray, test: np.ndarray) -> tuple[Values, Values]:
    """Values in [0, 1] of the words that :data:`MIN_DF` training documents or more have, of both parts."""
    kept = np.flatnonzero(np.bincount(counts[train].indices, minlength=counts.shape[1]) >= MIN_DF)
    parts = [scipy.sparse.csr_array(counts[part][:, kept]) for part in (train, test)]
    if kind == "presence":
        return present(parts[0]), present(parts[1])
    idf = TfidfTransformer(norm="l2" if kind == "length" else None).fit(parts[0])
    weighted = [scipy.sparse.csr_array(idf.transform(part)) for part in parts]
    return (weighted[0], weighted[1]) if kind == "length" else (largest_one(weighted[0]), largest_one(weighted[1]))


def present(matrix: Values) -> Values:
    return scipy.sparse.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), matrix.shape)


def largest_one(matrix: Values) -> Values:
    """Rows divided by their largest value."""
    largest = matrix.max(axis=1).toarray().ravel()
    data = matrix.data / np.repeat(largest, np.diff(matrix.indptr))
    return scipy.sparse.csr_array((data, matrix.indices, matrix.indptr), matrix.shape)


@dataclass(frozen=True)
class Fold:
    """What to train on, and what is held out."""

    train: Values
    known: np.ndarray
    held_out: Values
    asked: np.ndarray

    @classmethod
    def of(cls, kind: str, counts: Values, labels: np.ndarray, train: np.ndarray, test: np.ndarray) -> Fold:
        values = values_of(kind, counts, train, test)
        return cls(values[0], labels[train], values[1], labels[test])


def score(gold: np.ndarray, predicted: np.ndarray, beta: float) -> float:
    """F-measure, the mean of both classes as the positive one."""
    return float(fbeta_score(gold, predicted, beta=beta, average="macro", zero_division=0.0))


def chosen_c(method: Svm | L1, folds: Sequence[Fold], limit: float) -> tuple[float, list[float]]:
    """The strength of the best F1 over all folds, of equal ones the strongest; and those that took too long."""
    best, best_score, skipped = method.grid[0], -1.0, []
    for c in method.grid:
        try:
            with cpu_limit(limit * len(folds)):
                found = [np.asarray(method.fit(fold.train, fold.known, c).predict(fold.held_out)) for fold in folds]
        except TooLong:
            skipped.append(c)
            continue
        value = score(np.concatenate([fold.asked for fold in folds]), np.concatenate(found), 1.0)
        if value > best_score + 1e-12:
            best, best_score = c, value
    return best, skipped


def measure(pair: Pair, kind: str, limit: float) -> Result:
    """All methods on one task."""
    counts, seed = counted(pair.texts), seed_of(pair.name)
    train, test = train_test_split(
        np.arange(len(pair.texts)), test_size=TEST_SHARE, stratify=pair.labels, random_state=seed
    )
    whole = Fold.of(kind, counts, pair.labels, train, test)
    splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    folds = [
        Fold.of(kind, counts, pair.labels, train[inner], train[outer])
        for inner, outer in splitter.split(train, pair.labels[train])
    ]
    return {name: outcome(method, whole, folds, limit) for name, method in METHODS.items()}


def outcome(method: Svm | L1, whole: Fold, folds: Sequence[Fold], limit: float) -> Result:
    """One method: strength chosen, trained on the whole training part, scored on test."""
    start = time.process_time()
    c, skipped = chosen_c(method, folds, limit)
    chosen_at = time.process_time()
    model = method.fit(whole.train, whole.known, c)
    end = time.process_time()
    predicted = np.asarray(model.predict(whole.held_out))
    found: Result = {
        "f1": score(whole.asked, predicted, 1.0),
        "f2": score(whole.asked, predicted, 2.0),
        "accuracy": float((predicted == whole.asked).mean()),
        "c": c,
        "fit_seconds": round(end - chosen_at, 4),
        "seconds": round(end - start, 3),
        **method.figures(model),
    }
    return found | ({"skipped": skipped} if skipped else {})


def column(rows: Sequence[Result], method: str, measure: str) -> np.ndarray:
    return np.array([row[method][measure] for row in rows])


def mean_rows(rows: Sequence[Result]) -> list[list[str]]:
    """Means over tasks, a row a method."""
    table = []
    for name, method in METHODS.items():
        sizes = np.array([row[name]["features"] for row in rows])
        with_products = f"{(sizes[:, 1:] > 0).any(axis=1).sum()}" if sizes.shape[1] > 1 else ""
        gap = f"{column(rows, name, 'relative_gap').max():.0e}" if isinstance(method, L1) else ""
        table.append(
            [
                method.title,
                *(f"{column(rows, name, measure).mean():.3f}" for measure in MEASURES),
                " + ".join(f"{size:,.1f}" for size in sizes.mean(axis=0)),
                with_products,
                f"{np.median(column(rows, name, 'c')):g}",
                f"{1e3 * column(rows, name, 'fit_seconds').mean():.0f}",
                f"{column(rows, name, 'seconds').mean():.2f}",
                gap,
            ]
        )
    return table


def difference(ours: np.ndarray, theirs: np.ndarray) -> str:
    """The mean of paired differences, with the middle 95% of resamples of the tasks."""
    gained = ours - theirs
    rng = np.random.default_rng(0)
    means = gained[rng.integers(len(gained), size=(RESAMPLES, len(gained)))].mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return f"{gained.mean():+.4f} ({low:+.4f} to {high:+.4f})"


def wins(ours: np.ndarray, theirs: np.ndarray) -> str:
    return f"{(ours > theirs).sum()} / {(ours == theirs).sum()} / {(ours < theirs).sum()}"


def difference_rows(rows: Sequence[Result]) -> list[list[str]]:
    """Paired differences over tasks."""
    table = []
    for one, other in COMPARED:
        sides = {measure: (column(rows, one, measure), column(rows, other, measure)) for measure in MEASURES}
        told = [difference(*sides[measure]) for measure in ("f1", "f2")]
        table.append([f"{METHODS[one].title} − {METHODS[other].title}", *told, wins(*sides["f1"])])
    return table


def print_tables(results: Result) -> None:
    """Means and paired differences by kind of values and source."""
    means, differences = [], []
    for (kind, title), source in itertools.product(KINDS.items(), SOURCES):
        rows = [row for key, row in results.items() if key.startswith(f"{kind}; {source}: ")]
        if rows:
            told = [title, f"{source} ({len(rows)})"]
            means += [[*told, *row] for row in mean_rows(rows)]
            differences += [[*told, *row] for row in difference_rows(rows)]
    measures = [*MEASURES.values(), "features", "with products", "l1 / l1_max or C, median"]
    costs = ["ms a fit", "CPU s with choice", "largest gap / F(0)"]
    print_table("Combinations of words: means over tasks", ["values", "tasks", "method", *measures, *costs], means)
    header = ["values", "tasks", "difference", "F1", "F2", "better / same / worse (F1)"]
    print_table("Combinations of words: paired differences", header, differences)


def main(
    data: Annotated[Path, typer.Option(help="Folder of the data sets.")],
    newsgroups: Annotated[int, typer.Option(help="Pairs of 20newsgroups_bydate; at most 190.")] = 100,
    reuters: Annotated[int, typer.Option(help="Pairs of topics of reuters_modapte.")] = 40,
    limit: Annotated[float, typer.Option(help="CPU seconds that a fit may take, on average over the folds.")] = 30.0,
    results: Annotated[Path, typer.Option(help="Where results are.")] = HERE / "combinations_documents.json.gz",
) -> None:
    """Measure what is missing, and print the tables."""
    need("sklearn")
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    pin_threads()
    stored = load_results(results)
    pairs = [*newsgroup_pairs(data, newsgroups), *reuters_pairs(data, reuters)]
    jobs = [(pair, kind) for pair in pairs for kind in KINDS if f"{kind}; {pair.name}" not in stored]
    if jobs:
        measure(pairs[0], "largest", limit)  # compiles everything
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns) as progress:
        bar = progress.add_task("", total=len(jobs))
        for pair, kind in jobs:
            progress.update(bar, description=f"{kind}; {pair.name}")
            stored[f"{kind}; {pair.name}"] = {"date": str(date.today()), **measure(pair, kind, limit)}
            save_results(results, stored)
            progress.advance(bar)
    print_tables(load_results(results))


if __name__ == "__main__":
    typer.run(main)
