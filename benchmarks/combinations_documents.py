"""Combinations of words in document classification: the claim of Okanohara & Tsujii (2009), Table 2, on other data.

    python benchmarks/combinations_documents.py --data DATA [--newsgroups 100] [--reuters 40] [--long 8] [--reviews 10]

They compare L1-regularised logistic regression over words and all products of words with the same over words alone and
with a linear SVM, over the 295 binary tasks of TechTC-300 (pairs of categories of a web directory), with 25,389 words a
task on average, tf-idf values, and a fifth of the documents as the test part. That collection could not be had. Here
are two kinds of tasks of at most 200 documents, a fifth of them the test part:

* *long*: pairs of groups of 20 newsgroups, 100 of the 150 longest messages of either drawn three times; and
  movie_reviews, whose 2,000 reviews are ten parts of 200. No word is left out beforehand.
* *short*: pairs of groups of 20 newsgroups and pairs of topics of Reuters-21578 (documents of exactly one of the two).

Their measure is called F2. That is the F-measure with β = 2 in most texts, in some that of two equally weighted parts:
both are here, F1 (β = 1) and F2 (β = 2). Neither class of a pair is *the* positive one, so each is in turn, and the
mean of the two counts.

Whether products have a chance depends on the scale of the values, if the penalty is the same for all features: of two
words of value 0.06 the product has the value 0.004. So four kinds are tried (:data:`KINDS`): tf-idf with documents of
length 1, as is usual; the same with columns divided by their standard deviation (``penalty_weights = "standard"``);
tf-idf with the largest value of each document 1; presence.

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
    DataFolder,
    TooLong,
    cpu_limit,
    load_results,
    need,
    pin_threads,
    print_table,
    read_jsonl,
    texts_and_labels,
    updated_results,
)
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.metrics import fbeta_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.svm import LinearSVC

from spacy_graft import GraftClassifier, Grafting

#: Documents of either side of a pair: at the most, and at the least.
MOST, FEWEST = 100, 30
TEST_SHARE, FOLDS, MIN_DF = 0.2, 5, 2
#: Draws of each long pair of groups, from how many of the longest messages of either; documents of a part of reviews.
DRAWS, LONGEST, REVIEWS = 3, 150, 200
#: Values, with the penalty weights of ours.
KINDS = {
    "length": ("tf-idf, length 1", "none"),
    "standard": ("tf-idf, length 1, λ = σ", "standard"),
    "largest": ("tf-idf, largest value 1", "none"),
    "presence": ("presence", "none"),
}
#: C of the SVM (scikit-learn's); L1 strengths in units of ``l1_max`` of the items.
SVM_GRID = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
L1_GRID = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005)
#: Bounds of 1 / λ of ``standard``, in units of a column's largest value.
SMALLEST, LARGEST = 0.05, 20.0
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

    def fit(self, values: Values, labels: np.ndarray, c: float, weights: str) -> LinearSVC:
        return LinearSVC(C=c, random_state=0, max_iter=20_000).fit(values, labels)

    def figures(self, model: Any) -> Result:
        return {"features": [int((model.coef_ != 0.0).sum())]}


@dataclass(frozen=True)
class L1:
    """Ours, with products of no more than ``degree`` words."""

    title: str
    degree: int
    factor: float = 1.0
    grid: tuple[float, ...] = L1_GRID

    def fit(self, values: Values, labels: np.ndarray, c: float, weights: str) -> GraftClassifier:
        learner = Grafting(l1=c * largest_gradient(values, labels, weights), penalty_weights=weights)
        model = GraftClassifier(learner, degree=self.degree, min_df=MIN_DF, combination_penalty_factor=self.factor)
        return model.fit(values, labels.tolist())

    def figures(self, model: Any) -> Result:
        sizes = np.bincount([len(feature.names) for feature in model.features()], minlength=4)
        return {"features": sizes[1 : 1 + self.degree].tolist(), "relative_gap": model.report.relative_gap}


METHODS: dict[str, Svm | L1] = {
    "svm": Svm(),
    "words": L1("L1, words", 1),
    "pairs": L1("L1, words + pairs", 2),
    "triples": L1("L1, words + pairs + triples", 3),
    "dear": L1("L1, words + pairs of factor 3", 2, 3.0),
}


@dataclass(frozen=True)
class Source:
    """A kind of tasks, whose names begin with its own: methods, kinds of values, folds, and how many L1 strengths."""

    methods: tuple[str, ...]
    kinds: tuple[str, ...]
    folds: int
    strengths: int


SHORT = Source(("svm", "words", "pairs", "triples"), ("length", "largest", "presence"), FOLDS, len(L1_GRID))
LONG = Source(("svm", "words", "pairs", "dear"), ("length", "standard", "presence"), 3, 5)
SOURCES = {"newsgroups": SHORT, "reuters": SHORT, "long newsgroups": LONG, "reviews": LONG}
#: Which differences are told.
COMPARED = (("pairs", "words"), ("dear", "words"), ("triples", "words"), ("pairs", "svm"), ("words", "svm"))
#: The paper's Table 2.
PAPER = {"triples": "0.949", "words": "0.917", "svm": "0.896"}
MEASURES = {"f1": "F1", "f2": "F2", "accuracy": "accuracy"}


def largest_gradient(values: Values, labels: np.ndarray, weights: str) -> float:
    """``l1_max`` of the items: the smallest L1 strength whose model is empty."""
    gradients = np.abs(values.T @ (labels - labels.mean()))
    if weights == "standard":
        largest = values.max(axis=0).toarray().ravel()
        deviations = np.sqrt(np.maximum(values.power(2).mean(axis=0) - values.mean(axis=0) ** 2, 0.0))
        inverse = np.clip(largest / np.maximum(deviations, 1e-12), SMALLEST, LARGEST) / largest
        gradients = gradients * inverse
    return float(gradients.max())


def newsgroup_pairs(data: Path, wanted: int) -> Iterator[Pair]:
    """Pairs of groups, drawn once and for all."""
    texts, labels = texts_and_labels(data, "20newsgroups_bydate")
    groups = sorted(set(labels))
    of_group = {group: [t for t, label in zip(texts, labels, strict=True) if label == group] for group in groups}
    for one, other in chosen(list(itertools.combinations(groups, 2)), wanted):
        yield drawn(f"newsgroups: {one} / {other}", of_group[one], of_group[other])


def long_pairs(data: Path, wanted: int) -> Iterator[Pair]:
    """Pairs of groups, some of the longest messages of either; the draws of a pair come one after the other."""
    records = [texts_and_labels(data, "20newsgroups_bydate", split) for split in ("train", "test")]
    of_group: dict[str, list[str]] = {}
    for texts, labels in records:
        for text, label in zip(texts, labels, strict=True):
            of_group.setdefault(label, []).append(text)
    longest = {group: sorted(texts, key=len)[-LONGEST:] for group, texts in of_group.items()}
    pairs = chosen(list(itertools.combinations(sorted(longest), 2)), wanted)
    for draw, (one, other) in itertools.product(range(DRAWS), pairs):
        yield drawn(f"long newsgroups: {one} / {other}; draw {draw}", longest[one], longest[other])


def review_parts(data: Path, wanted: int) -> Iterator[Pair]:
    """Disjoint parts of movie_reviews, as many of either label."""
    records = [texts_and_labels(data, "movie_reviews", split) for split in ("train", "dev", "test")]
    texts = [text for its, _ in records for text in its]
    labels = np.array([label for _, its in records for label in its])
    rng = np.random.default_rng(0)
    by_label = [rng.permutation(np.flatnonzero(labels == label)) for label in ("neg", "pos")]
    for part in range(wanted):
        sides = [places[part * REVIEWS // 2 : (part + 1) * REVIEWS // 2] for places in by_label]
        yield Pair(f"reviews: part {part}", [texts[i] for side in sides for i in side], np.repeat([0, 1], REVIEWS // 2))


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
    idf = TfidfTransformer(norm=None if kind == "largest" else "l2").fit(parts[0])
    weighted = [scipy.sparse.csr_array(idf.transform(part)) for part in parts]
    return (largest_one(weighted[0]), largest_one(weighted[1])) if kind == "largest" else (weighted[0], weighted[1])


def present(matrix: Values) -> Values:
    return scipy.sparse.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), matrix.shape)


def largest_one(matrix: Values) -> Values:
    """Rows divided by their largest value."""
    largest = matrix.max(axis=1).toarray().ravel()
    data = matrix.data / np.repeat(largest, np.diff(matrix.indptr))
    return scipy.sparse.csr_array((data, matrix.indices, matrix.indptr), matrix.shape)


@dataclass(frozen=True)
class Fold:
    """What to train on, what is held out, and penalty weights."""

    train: Values
    known: np.ndarray
    held_out: Values
    asked: np.ndarray
    weights: str

    @classmethod
    def of(cls, kind: str, counts: Values, labels: np.ndarray, train: np.ndarray, test: np.ndarray) -> Fold:
        values = values_of(kind, counts, train, test)
        return cls(values[0], labels[train], values[1], labels[test], KINDS[kind][1])

    def fit(self, method: Svm | L1, c: float) -> Any:
        return method.fit(self.train, self.known, c, self.weights)


def score(gold: np.ndarray, predicted: np.ndarray, beta: float) -> float:
    """F-measure, the mean of both classes as the positive one."""
    return float(fbeta_score(gold, predicted, beta=beta, average="macro", zero_division=0.0))


def chosen_c(method: Svm | L1, grid: Sequence[float], folds: Sequence[Fold], limit: float) -> tuple[float, list[float]]:
    """The strength of the best F1 over all folds, of equal ones the strongest; and those that took too long."""
    best, best_score, skipped = grid[0], -1.0, []
    for c in grid:
        try:
            with cpu_limit(limit * len(folds)):
                found = [np.asarray(fold.fit(method, c).predict(fold.held_out)) for fold in folds]
        except TooLong:
            skipped.append(c)
            continue
        value = score(np.concatenate([fold.asked for fold in folds]), np.concatenate(found), 1.0)
        if value > best_score + 1e-12:
            best, best_score = c, value
    return best, skipped


def measure(pair: Pair, kind: str, limit: float) -> Result:
    """All methods of its source on one task."""
    source = SOURCES[pair.name.split(":")[0]]
    counts, seed = counted(pair.texts), seed_of(pair.name)
    train, test = train_test_split(
        np.arange(len(pair.texts)), test_size=TEST_SHARE, stratify=pair.labels, random_state=seed
    )
    whole = Fold.of(kind, counts, pair.labels, train, test)
    splitter = StratifiedKFold(source.folds, shuffle=True, random_state=seed)
    folds = [
        Fold.of(kind, counts, pair.labels, train[inner], train[outer])
        for inner, outer in splitter.split(train, pair.labels[train])
    ]
    found: Result = {"vocabulary": int(counts.shape[1])}
    for name in source.methods:
        method = METHODS[name]
        grid = method.grid if isinstance(method, Svm) else method.grid[: source.strengths]
        found[name] = outcome(method, grid, whole, folds, limit)
    return found


def outcome(method: Svm | L1, grid: Sequence[float], whole: Fold, folds: Sequence[Fold], limit: float) -> Result:
    """One method: strength chosen, trained on the whole training part, scored on test."""
    start = time.process_time()
    c, skipped = chosen_c(method, grid, folds, limit)
    chosen_at = time.process_time()
    model = whole.fit(method, c)
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
        if name not in rows[0]:
            continue
        sizes = np.array([row[name]["features"] for row in rows])
        with_products = f"{(sizes[:, 1:] > 0).any(axis=1).sum()}" if sizes.shape[1] > 1 else ""
        gap = f"{column(rows, name, 'relative_gap').max():.0e}" if isinstance(method, L1) else ""
        table.append(
            [
                method.title,
                PAPER.get(name, ""),
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


def difference(ours: np.ndarray, theirs: np.ndarray, pairs: np.ndarray) -> str:
    """The mean of paired differences over pairs, each by its draws, with the middle 95% of resamples of the pairs."""
    gained = np.bincount(pairs, ours - theirs) / np.bincount(pairs)
    rng = np.random.default_rng(0)
    means = gained[rng.integers(len(gained), size=(RESAMPLES, len(gained)))].mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return f"{gained.mean():+.4f} ({low:+.4f} to {high:+.4f})"


def wins(ours: np.ndarray, theirs: np.ndarray) -> str:
    return f"{(ours > theirs).sum()} / {(ours == theirs).sum()} / {(ours < theirs).sum()}"


def difference_rows(rows: Sequence[Result], pairs: np.ndarray) -> list[list[str]]:
    """Paired differences over tasks; ``pairs`` are the numbers of theirs."""
    table = []
    for one, other in COMPARED:
        if one not in rows[0]:
            continue
        sides = {measure: (column(rows, one, measure), column(rows, other, measure)) for measure in MEASURES}
        told = [difference(*sides[measure], pairs) for measure in ("f1", "f2")]
        table.append([f"{METHODS[one].title} − {METHODS[other].title}", *told, wins(*sides["f1"])])
    return table


def print_tables(results: Result) -> None:
    """Means and paired differences by kind of values and source."""
    means, differences = [], []
    for source, (kind, (title, _)) in itertools.product(SOURCES, KINDS.items()):
        keys = [key for key in results if key.startswith(f"{kind}; {source}: ")]
        rows = [results[key] for key in keys]
        if rows:
            pairs = np.unique([key.partition("; draw")[0] for key in keys], return_inverse=True)[1]
            told = [title, f"{source} ({len(rows)})"]
            means += [[*told, *row] for row in mean_rows(rows)]
            differences += [[*told, *row] for row in difference_rows(rows, pairs)]
    measures = ["F2, paper", *MEASURES.values(), "features", "with products", "l1 / l1_max or C, median"]
    costs = ["ms a fit", "CPU s with choice", "largest gap / F(0)"]
    print_table("Combinations of words: means over tasks", ["values", "tasks", "method", *measures, *costs], means)
    header = ["values", "tasks", "difference", "F1", "F2", "better / same / worse (F1)"]
    print_table("Combinations of words: paired differences", header, differences)


def main(
    data: DataFolder,
    newsgroups: Annotated[int, typer.Option(help="Pairs of 20newsgroups_bydate; at most 190.")] = 100,
    reuters: Annotated[int, typer.Option(help="Pairs of topics of reuters_modapte.")] = 40,
    long: Annotated[int, typer.Option(help="Pairs of groups, of their longest messages.")] = 8,
    reviews: Annotated[int, typer.Option(help="Parts of movie_reviews; at most 10.")] = 10,
    limit: Annotated[float, typer.Option(help="CPU seconds that a fit may take, on average over the folds.")] = 30.0,
    results: Annotated[Path, typer.Option(help="Where results are.")] = HERE / "combinations_documents.json.gz",
) -> None:
    """Measure what is missing, and print the tables."""
    need("sklearn")
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    pin_threads()
    stored = load_results(results)
    pairs = [
        *newsgroup_pairs(data, newsgroups), *reuters_pairs(data, reuters),
        *long_pairs(data, long), *review_parts(data, reviews),
    ]  # fmt: skip
    kinds = {pair.name: SOURCES[pair.name.split(":")[0]].kinds for pair in pairs}
    jobs = [(pair, kind) for pair in pairs for kind in kinds[pair.name] if f"{kind}; {pair.name}" not in stored]
    if jobs:
        measure(pairs[0], "largest", limit)  # compiles everything
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns) as progress:
        bar = progress.add_task("", total=len(jobs))
        for pair, kind in jobs:
            progress.update(bar, description=f"{kind}; {pair.name}")
            found = {"date": str(date.today()), **measure(pair, kind, limit)}
            with updated_results(results) as stored:
                stored[f"{kind}; {pair.name}"] = found
            progress.advance(bar)
    print_tables(load_results(results))


if __name__ == "__main__":
    typer.run(main)
