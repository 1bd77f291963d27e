"""N-grams of any length: the experiments of Ifrim, Bakir & Weikum (KDD 2008), Tables 1 to 5, on public data.

python benchmarks/variable_length.py --data DATA [--sets a,b] [--again]

Each cell (a set, a unit, a draw, an n, a family of methods) is stored at once in variable_length.json.gz beside this
file, so that a second run does only what is missing; variable_length.md is written from it. What is measured, and how,
is said there. The values of the paper are in ``variable_length_paper.py``.
"""

from __future__ import annotations

import contextlib
import io
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache, cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import numpy as np
import typer
import variable_length_paper as paper
from common import (
    DataFolder,
    beside,
    load_results,
    machine,
    need,
    pin_threads,
    print_rows,
    save_results,
    texts_and_labels,
    write_page,
)
from numba import njit
from ours import character_stream, compile_kernels, to_the_end, training_data, word_stream
from peers import counts, f1_scores
from scipy.special import expit
from scipy.stats import t as student

from spacy_graft.extract.streams import Stream
from spacy_graft.graft.ascent import Ascent, AscentFit, best_intercept
from spacy_graft.graft.settings import CoordinateAscent, Grafting
from spacy_graft.graft.start import start
from spacy_graft.model.automaton import Automaton
from spacy_graft.search.descent import BoundedSearch

HERE = Path(__file__).parent
Result = dict[str, Any]

LENGTHS = ("1", "3", "5", "any")
#: Folds of a cross-validation.
FOLDS = 5
#: Words of a review or of an article that are kept, so that documents are about as long as the paper's.
KEPT_WORDS = 100
#: Iterations among which SLR's number is chosen.
MARKS = tuple(range(200, 1001, 100))
LAST = float(MARKS[-1])
#: L1 strengths among which that of BBR's objective is chosen, from the strongest on; and the one of our own rows.
L1_GRID, L1 = (10.0, 3.0, 1.0, 0.3), 1.0
#: C of SVM-perf, in which the loss is a percentage: fixed, the paper's grid, and what we try besides.
C, C_GRID, C_BELOW = 100.0, (100.0, 300.0, 500.0), (0.03, 0.3, 3.0)
#: Folds by which settings are chosen on training documents.
INNER_FOLDS = 3
#: Every how many iterations the share of the tree that the bound leaves out is measured, in the first draw.
EVERY = 50
TOP, WORDS_SHOWN = 5, 6


@dataclass(frozen=True)
class Part:
    """Texts, and the number of the label of each."""

    texts: list[str]
    labels: np.ndarray

    def __getitem__(self, chosen: np.ndarray) -> Part:
        return Part([self.texts[i] for i in chosen], self.labels[chosen])

    def __add__(self, other: Part) -> Part:
        return Part(self.texts + other.texts, np.concatenate([self.labels, other.labels]))


@dataclass(frozen=True)
class Set:
    """A set of ours in the place of one of the paper's.

    Attributes
    ----------
    source : str
        The data set it is drawn from.
    labels : dict
        Names of labels, and how many documents of each are taken.
    units : dict
        What n-grams are of, and how many draws are measured: folds of a cross-validation, or random splits.
    paper : str
        The set of the paper.
    test : int
        Test documents of each label in a random split; 0: folds of a cross-validation.
    """

    source: str
    labels: dict[str, int]
    units: dict[str, int]
    paper: str
    test: int = 0

    def read(self, data: Path) -> Part:
        """All documents of its labels, with single blanks; English ones without what comes after some words."""
        everything = Part([], np.empty(0, np.int64))
        names = list(self.labels)
        for split in ("train", "dev", "test"):
            if not (data / self.source / f"{split}.jsonl.gz").exists():
                continue
            texts, labels = texts_and_labels(data, self.source, split)
            pairs = [(text, names.index(label)) for text, label in zip(texts, labels, strict=True) if label in names]
            limit = KEPT_WORDS if "words" in self.units else None
            cut = [" ".join(text.split()[:limit]) for text, _ in pairs]
            everything += Part(cut, np.array([label for _, label in pairs], np.int64))
        return everything

    def split(self, everything: Part, draw: int) -> tuple[Part, Part]:
        """Train and test of a draw."""
        rng = np.random.default_rng(draw if self.test else 0)
        train, test = [], []
        for label, size in enumerate(self.labels.values()):
            chosen = rng.permutation(np.flatnonzero(everything.labels == label))[:size]
            asked = np.arange(size) < self.test if self.test else np.arange(size) % FOLDS == draw
            train.append(chosen[~asked])
            test.append(chosen[asked])
        return tuple(everything[rng.permutation(np.concatenate(part))] for part in (train, test))


SHOPPING = "zh_online_shopping_10cats"
SETS = {
    "reviews": Set("imdb_5k", {"neg": 1860, "pos": 1860}, {"words": 3, "characters": 1}, "IMDB"),
    "sciences": Set(
        "20newsgroups_bydate",
        {"sci.med": 990, "sci.crypt": 990, "sci.space": 585}, {"words": 3, "characters": 1}, "AMAZON",
    ),
    "shopping 3": Set(SHOPPING, {"计算机": 1500, "手机": 1500, "平板": 886}, {"characters": 3}, "AMAZON"),
    "shopping 6": Set(
        SHOPPING,
        dict.fromkeys(("书籍", "平板", "手机", "水果", "衣服", "酒店"), 600), {"characters": 3}, "CHINESE", 100,
    ),
}  # fmt: skip


def targets_of(part: Part, n_labels: int) -> np.ndarray:
    """The binary problems, 0 or 1 (documents, problems): one of two labels, else each label against the others."""
    targets = np.eye(n_labels)[part.labels]
    return targets[:, 1:] if n_labels == 2 else targets


def scores_of(targets: np.ndarray, decided: np.ndarray) -> Result:
    """Micro- and macro-F1 of binary decisions; those of one problem count for either label."""
    gold = targets > 0.5
    if targets.shape[1] == 1:
        gold, decided = (np.hstack([~held, held]) for held in (gold, decided))
    macro, micro = f1_scores(*counts(gold, decided))
    return {"micro": float(micro), "macro": float(macro)}


def threshold(scores: np.ndarray, targets: np.ndarray, likeliest: float) -> float:
    """The intercept with the fewest training errors; of several, the nearest to another."""
    return best_intercept(scores, targets, np.ones(len(scores)), likeliest)


def inner_folds(labels: np.ndarray) -> np.ndarray:
    """The fold of each training document, labels spread evenly."""
    folds = np.empty(len(labels), np.int64)
    folds[np.argsort(labels, kind="stable")] = np.arange(len(labels)) % INNER_FOLDS
    return folds


class Clock:
    """CPU seconds."""

    def __init__(self) -> None:
        self.start = time.process_time()

    def __call__(self) -> float:
        return time.process_time() - self.start


@dataclass
class Text:
    """Documents of a draw as our learners take them."""

    unit: str
    n: str
    n_labels: int
    train: Part
    test: Part
    numbers: dict[str, int] = field(default_factory=dict)

    @property
    def max_length(self) -> int | None:
        return None if self.n == "any" else int(self.n)

    def stream(self, texts: Sequence[str]) -> Any:
        return word_stream(texts, self.numbers) if self.unit == "words" else character_stream(texts)

    def data(self, part: Part) -> Any:
        """Training data; of more than two labels, a logistic problem each."""
        data = training_data({self.unit: self.stream(part.texts)}, np.eye(self.n_labels)[part.labels])
        return replace(data, max_length={self.unit: self.max_length}, exclusive=self.n_labels == 2)

    @cached_property
    def targets(self) -> np.ndarray:
        return targets_of(self.train, self.n_labels)

    @cached_property
    def test_targets(self) -> np.ndarray:
        return targets_of(self.test, self.n_labels)

    def scores(self, ngrams: Sequence[np.ndarray], weights: np.ndarray, texts: Sequence[str]) -> np.ndarray:
        """Sums of the weights of the n-grams of each text (texts, problems)."""
        documents = self.stream(texts)
        totals = np.zeros((len(texts), weights.shape[1]))
        if len(ngrams):
            stream = Stream.join(ngrams, documents.symbols.dtype.type)
            Automaton.build(stream, np.arange(len(ngrams))).add_scores(documents, weights, totals)
        return totals

    def name(self, symbols: np.ndarray) -> str:
        if self.unit == "words":
            words = list(self.numbers)
            return " ".join(words[i] for i in symbols[:WORDS_SHOWN])
        return "".join(map(chr, symbols))

    def top(self, ngrams: Sequence[str], weights: np.ndarray) -> list[list[Any]]:
        """The largest positive and negative weights of the first problem."""
        order = np.argsort(-weights, kind="stable")
        return [[[ngrams[i], float(weights[i])] for i in side] for side in (order[:TOP], order[::-1][:TOP])]


@dataclass(frozen=True)
class State:
    """The model of one label at some iteration."""

    iterations: int
    nodes: np.ndarray
    weights: np.ndarray
    scores: np.ndarray


def state(ascent: Ascent, label: int) -> State:
    active = ascent.active
    pairs = (active.labels == label) & (active.weights != 0.0)
    return State(
        int(ascent.iterations[label]), ascent.space.nodes[active.rows[pairs]], active.weights[pairs].copy(),
        ascent.scores[label].copy(),
    )  # fmt: skip


def follow(ascent: Ascent, found: dict[tuple[int, int], State], watch: Callable[[], None]) -> None:
    """Go on until all labels have stopped; note the states of labels at :data:`MARKS`."""
    turn = 0
    while ascent.running.any():
        if turn % EVERY == 0:
            watch()
        for label in ascent.iterate().tolist():
            if ascent.iterations[label] in MARKS:
                found[label, int(ascent.iterations[label])] = state(ascent, label)
        turn += 1


def slr(text: Text, first: bool) -> Result:
    """SLR with its stop at 0.005, and with the number of iterations chosen by cross-validation."""
    found: dict[tuple[int, int], State] = {}
    residuals: list[np.ndarray] = []

    def watch() -> None:
        residuals.append(ascent.importance * (ascent.targets - expit(ascent.scores)))

    clock = Clock()
    fit = AscentFit(CoordinateAscent(), text.data(text.train))
    index_seconds, ascent = clock(), fit.ascent
    follow(ascent, found, watch if first else lambda: None)
    labels = range(len(ascent.running))
    seconds = index_seconds + (clock() - index_seconds) / len(labels)
    stopped = [state(ascent, label) for label in labels]
    index = fit.space.parts[0].index
    row = slr_row(text, index, stopped) | {
        "seconds": seconds, "index": index_seconds, "columns": fit.report.n_columns, "nodes": index.n_nodes,
    }  # fmt: skip
    if first:
        row["pruned"] = np.mean([left_out(index, r) for rs in residuals for r in rs], axis=0).tolist()
    further(ascent, found)
    errors = held_out_errors(fit, text)
    chosen = [MARKS[k] for k in np.argmin(errors, axis=1)]
    tuned = [at_mark(found, label, mark, stopped[label]) for label, mark in zip(labels, chosen, strict=True)]
    return {"slr": row, "slr-tuned": slr_row(text, index, tuned) | {"chosen": float(np.mean(chosen))}}


def further(ascent: Ascent, found: dict[tuple[int, int], State]) -> None:
    """Beyond the stop, to the last of :data:`MARKS`."""
    ascent.tolerance = 0.0
    ascent.limits = np.full(len(ascent.limits), LAST)
    ascent.running = ascent.iterations < LAST
    follow(ascent, found, lambda: None)


def held_out_errors(fit: AscentFit, text: Text) -> np.ndarray:
    """Errors on held-out documents, of all folds together (labels, marks)."""
    folds, targets = inner_folds(text.train.labels), text.targets.T
    lanes = [(label, folds != fold) for label in range(len(targets)) for fold in range(INNER_FOLDS)]
    # What a search remembers is of as many labels as it was asked for.
    part = fit.space.parts[0]
    part.search = BoundedSearch(part.index, part.inverse, part.row_of_node)
    ascent = Ascent(fit.space, as_problems(fit, targets, lanes), np.True_, 0.0, np.full(len(lanes), LAST))
    found: dict[tuple[int, int], State] = {}
    follow(ascent, found, lambda: None)
    errors = np.zeros((len(targets), len(MARKS)), np.int64)
    for lane, (label, kept) in enumerate(lanes):
        truth, end = targets[label], state(ascent, lane)
        for k, mark in enumerate(MARKS):
            scores = at_mark(found, lane, mark, end).scores
            intercept = threshold(scores[kept], truth[kept], 0.0)
            errors[label, k] += np.count_nonzero((scores[~kept] + intercept > 0.0) != (truth[~kept] > 0.5))
    return errors


def as_problems(fit: AscentFit, targets: np.ndarray, lanes: Sequence[tuple[int, np.ndarray]]) -> Any:
    """Each label without the documents of a fold, as a label of its own: one search finds the best of all."""
    problems = [
        SimpleNamespace(loss=SimpleNamespace(targets=targets[[label]], importance=kept.astype(np.float64)))
        for label, kept in lanes
    ]
    return SimpleNamespace(n_trained=len(lanes), data=fit.problems.data, problems=problems)


def at_mark(found: dict[tuple[int, int], State], label: int, mark: int, otherwise: State) -> State:
    """The state at a mark; of a label that came to rest before it, the last one there is."""
    reached = [other for of_label, other in found if of_label == label and other <= mark]
    return found[label, max(reached)] if reached else otherwise


def slr_row(text: Text, index: Any, states: Sequence[State]) -> Result:
    """Figures of a model of one state a label."""
    nodes = np.unique(np.concatenate([its.nodes for its in states]))
    weights = np.zeros((len(nodes), len(states)))
    for label, its in enumerate(states):
        weights[np.searchsorted(nodes, its.nodes), label] = its.weights
    intercepts = [threshold(its.scores, text.targets[:, label], 0.0) for label, its in enumerate(states)]
    ngrams = list(index.ngrams(nodes))
    scores = text.scores(ngrams, weights, text.test.texts) + intercepts
    return {
        "iterations": float(np.mean([its.iterations for its in states])),
        "features": float(np.mean([len(its.nodes) for its in states])),
        "longest": max(map(len, ngrams), default=0),
        "top": text.top([text.name(symbols) for symbols in ngrams], weights[:, 0]),
    } | scores_of(text.test_targets, scores > 0.0)


def left_out(index: Any, residuals: np.ndarray) -> tuple[float, float]:
    """The share of n-grams, and of nodes, whose gradient Algorithm 1 of the paper does not compute."""
    sums = index.sums(np.column_stack([np.maximum(residuals, 0.0), np.maximum(-residuals, 0.0)]))
    lengths = (index.longest - index.shortest + 1).astype(np.int64)
    met = walk(index.first, lengths, sums.max(axis=1), np.abs(sums[:, 0] - sums[:, 1]))
    return 1.0 - met[0] / lengths.sum(), 1.0 - met[1] / index.n_nodes


@njit
def walk(first, lengths, bounds, gradients):
    """N-grams and nodes that are met from the last node on, parents before children; a bound ends it at the first."""
    best, ngrams, nodes, k = 0.0, 0, 0, len(first) - 1
    while k >= 0:
        best = max(best, gradients[k])
        goes_on = bounds[k] > best
        ngrams += lengths[k] if goes_on else 1
        nodes += 1
        k = k - 1 if goes_on else first[k] - 1
    return ngrams, nodes


def grafting(text: Text, first: bool) -> Result:
    """L1 logistic regression by grafting: with one strength, and with the best of several."""
    targets = text.targets
    n_problems = targets.shape[1]
    clock = Clock()
    fit = start(Grafting(l1=L1), text.data(text.train))
    index = clock()
    while not fit.finished:
        fit.step()
    seconds = index + (clock() - index) / n_problems
    fixed = l1_models(text, fit.solution(), np.ones(targets.shape, np.bool_), pairwise=text.n_labels == 2)
    row = {"seconds": seconds, "iterations": fit.report.rounds, "columns": fit.report.n_columns}
    folds = inner_folds(text.train.labels)
    kept = np.stack([folds != fold for fold in (*range(INNER_FOLDS), None)])
    errors, models = np.zeros((n_problems, len(L1_GRID)), np.int64), {}
    for k, l1 in enumerate(L1_GRID):
        # Each label without the documents of each fold, and with all, as a label of its own: one fit for all.
        known = np.repeat(kept, n_problems, axis=0).T
        data = replace(
            text.data(text.train), targets=np.tile(targets, len(kept)), known=known,
            labels=tuple(map(str, range(known.shape[1]))), exclusive=False,
        )  # fmt: skip
        models[l1] = l1_models(text, to_the_end(Grafting(l1=l1), data).solution(), known)
        wrong = (models[l1].train > 0.0) != (np.tile(targets, len(kept)) > 0.5)
        errors[:, k] = (wrong & ~known).sum(axis=0).reshape(len(kept), n_problems).sum(axis=0)
    chosen = [L1_GRID[k] for k in np.argmin(errors, axis=1)]
    columns = [models[l1].columns([label - n_problems]) for label, l1 in enumerate(chosen)]
    tuned = {"chosen": float(np.exp(np.mean(np.log(chosen))))}
    return {
        "l1": row | fixed.row(text.test_targets),
        "l1-tuned": tuned | Linear.joined(columns).row(text.test_targets),
    }


@dataclass(frozen=True)
class Linear:
    """Scores of training and of test documents, by model, and how many features each has."""

    train: np.ndarray
    test: np.ndarray
    features: np.ndarray

    def columns(self, chosen: Sequence[int]) -> Linear:
        return Linear(self.train[:, chosen], self.test[:, chosen], self.features[chosen])

    @staticmethod
    def joined(parts: Sequence[Linear]) -> Linear:
        return Linear(*(np.concatenate([getattr(part, name) for part in parts], axis=-1) for name in vars(parts[0])))

    def row(self, targets: np.ndarray) -> Result:
        return {"features": float(self.features.mean())} | scores_of(targets, self.test > 0.0)


def l1_models(text: Text, solution: Any, known: np.ndarray, pairwise: bool = False) -> Linear:
    """A model for each column of ``known``, with the threshold of the fewest errors where it is known."""
    weights, likeliest = solution.weights, solution.intercepts
    if pairwise:
        weights, likeliest = np.diff(weights), np.diff(likeliest)
    ngrams = [term.symbols for (term,) in solution.terms]
    train, test = (text.scores(ngrams, weights, part.texts) for part in (text.train, text.test))
    targets = np.tile(text.targets, known.shape[1] // text.targets.shape[1])
    for k, rows in enumerate(known.T):
        intercept = threshold(train[rows, k], targets[rows, k], float(likeliest[k]))
        train[:, k] += intercept
        test[:, k] += intercept
    return Linear(train, test, np.count_nonzero(weights, axis=0))


def enumerated(text: Text, first: bool) -> Result:
    """The n-grams written down, then liblinear in the place of BBR, and a linear SVM, fixed and tuned."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    options: Result = {"token_pattern": r"\S+"} if text.unit == "words" else {"analyzer": "char"}
    vectorizer = CountVectorizer(
        ngram_range=(1, int(text.n)), binary=True, lowercase=False, dtype=np.float64, **options
    )
    clock = Clock()
    values = vectorizer.fit_transform(text.train.texts)
    shared = {"patterns": clock(), "columns": values.shape[1]}
    tested, targets = vectorizer.transform(text.test.texts), text.targets

    def l1_model(truth: np.ndarray) -> Any:
        strength = np.sqrt(2.0 * values.nnz / values.shape[0] / values.shape[1])
        model = LogisticRegression(
            solver="liblinear", l1_ratio=1.0, C=1.0 / strength, intercept_scaling=100.0, random_state=0
        ).fit(values, truth)
        scores = values @ model.coef_[0]
        model.intercept_[:] = threshold(scores, truth, float(model.intercept_[0]))
        return model

    def svm(c: float, rows: np.ndarray, truth: np.ndarray) -> Any:
        known = values if len(rows) == values.shape[0] else values[rows]
        return LinearSVC(C=100.0 * c / len(rows), loss="hinge", random_state=0).fit(known, truth[rows])

    def row(models: Sequence[Any], seconds: float) -> Result:
        decided = np.column_stack([model.decision_function(tested) > 0.0 for model in models])
        return {
            "seconds": seconds / len(models), "iterations": float(np.mean([np.max(model.n_iter_) for model in models])),
            "features": float(np.mean([np.count_nonzero(model.coef_) for model in models])),
        } | scores_of(text.test_targets, decided)  # fmt: skip

    clock = Clock()
    bbr = row(models := [l1_model(truth) for truth in targets.T], clock())
    if first and text.n == "5":
        bbr["top"] = text.top(vectorizer.get_feature_names_out().tolist(), models[0].coef_[0])
    everything, clock = np.arange(len(targets)), Clock()
    fixed = [svm(C, everything, truth) for truth in targets.T]
    found = {"bbr": bbr | shared, "svm": row(fixed, clock()) | shared}
    folds = inner_folds(text.train.labels)
    known, asked = np.flatnonzero(folds != 0), np.flatnonzero(folds == 0)
    held = values[asked]
    errors = {
        c: [np.count_nonzero(svm(c, known, truth).predict(held) != truth[asked]) for truth in targets.T]
        for c in (*C_BELOW, *C_GRID)
    }
    for method, grid in (("svm-tuned", C_GRID), ("svm-wide", (*C_BELOW, *C_GRID))):
        chosen = [min(grid, key=lambda c: errors[c][label]) for label in range(targets.shape[1])]
        models = [fixed[label] if c == C else svm(c, everything, targets[:, label]) for label, c in enumerate(chosen)]
        found[method] = row(models, 0.0) | {"chosen": float(np.exp(np.mean(np.log(chosen))))}
    return found


@cache
def documents(data: Path, name: str) -> Part:
    """All documents of a set."""
    return SETS[name].read(data)


@dataclass(frozen=True)
class Family:
    """Rows that are measured together, and the one of them that is stored last."""

    function: Callable[[Text, bool], Result]
    last: str
    lengths: tuple[str, ...] = LENGTHS


FAMILIES = {
    "slr": Family(slr, "slr-tuned"),
    "l1": Family(grafting, "l1-tuned"),
    "bbr": Family(enumerated, "svm-wide", LENGTHS[:-1]),
}


def measure(data: Path, name: str, unit: str, draw: int, n: str, family: str) -> Result:
    """The rows of a cell."""
    train, test = SETS[name].split(documents(data, name), draw)
    text = Text(unit, n, len(SETS[name].labels), train, test)
    rows = FAMILIES[family].function(text, draw == 0)
    for row in rows.values():
        if draw or n != "5":
            row.pop("top", None)
    return {method: row | {"date": str(date.today())} for method, row in rows.items()}


def compile_everything() -> None:
    """So that nothing is compiled while the clock runs."""
    compile_kernels()
    texts = [f"{'abc'[i % 3]} {'de'[i % 2]} f g h"[: 3 + i % 7] for i in range(60)]
    for n_labels in (2, 3):
        part = Part(texts, np.arange(60) % n_labels)
        for unit in ("words", "characters"):
            for n in ("3", "any"):
                for family in ("slr", "l1"):
                    FAMILIES[family].function(Text(unit, n, n_labels, part, part), True)


def facts(data: Path, name: str, unit: str) -> Result:
    """What a set is."""
    train, test = SETS[name].split(documents(data, name), 0)
    lengths = [len(text.split() if unit == "words" else text) for text in train.texts]
    return {"train": len(train.labels), "test": len(test.labels), "length": float(np.mean(lengths))}


def load(path: Path) -> Result:
    return {"facts": {}, "results": {}} | load_results(path)


def place(stored: Result, name: str, unit: str, n: str) -> Result:
    """The rows of a set, a unit and an n, by draw."""
    return stored["results"].setdefault(name, {}).setdefault(unit, {}).setdefault(n, {})


def missing(stored: Result, names: Sequence[str], again: bool) -> list[tuple[str, str, int, str, str]]:
    """Set, unit, draw, n and family of what is not there yet; draw by draw, so that tables are soon whole."""
    return [
        (name, unit, draw, n, family)
        for draw in range(max(draws for its in SETS.values() for draws in its.units.values()))
        for name in names
        for unit, draws in SETS[name].units.items()
        if draw < draws
        for n in LENGTHS
        for family, its in FAMILIES.items()
        if n in its.lengths and (again or its.last not in place(stored, name, unit, n).get(str(draw), {}))
    ]


# Tables.

UNITS = ("words", "characters")
#: Columns of Tables 1 to 4.
COLUMNS = [(unit, n) for unit in UNITS for n in LENGTHS]
#: Rows of Tables 1 to 3: the paper's name; the method of ours, and what of it. Totals are with the patterns.
FIXED_ROWS = {
    "overall features": ("bbr", "columns"),
    "iterations, SVM": ("svm", "iterations"),
    "iterations, BBR": ("bbr", "iterations"),
    "iterations, SLR": ("slr", "iterations"),
    "features in final model, BBR": ("bbr", "features"),
    "features in final model, SLR": ("slr", "features"),
    "running time, SVM": ("svm", "seconds"),
    "running time, BBR": ("bbr", "seconds"),
    "running time, SLR": ("slr", "seconds"),
    "time for generating patterns": ("bbr", "patterns"),
    "total time, SVM": ("svm", "total"),
    "total time, BBR": ("bbr", "total"),
    "total time, SLR": ("slr", "total"),
    "micro-F1, SVM": ("svm", "micro"),
    "micro-F1, BBR": ("bbr", "micro"),
    "micro-F1, SLR": ("slr", "micro"),
    "macro-F1, SVM": ("svm", "macro"),
    "macro-F1, BBR": ("bbr", "macro"),
    "macro-F1, SLR": ("slr", "macro"),
}
#: Rows of ours that the paper does not have.
MORE_FIXED_ROWS = {
    f"{what}, L1 grafting, l1 = {L1:g}": ("l1", key)
    for what, key in (("features in final model", "features"), ("total time", "total"), ("macro-F1", "macro"))
}
TUNED_ROWS = {
    f"{measure}-F1, {name}": (method, measure)
    for measure in ("micro", "macro")
    for name, method in (("SVM", "svm-tuned"), ("BBR", "l1-tuned"), ("SLR", "slr-tuned"))
}
MORE_TUNED_ROWS = {
    "macro-F1, SVM, smaller C as well": ("svm-wide", "macro"),
    "C chosen, SVM": ("svm-tuned", "chosen"),
    "C chosen, SVM, smaller C as well": ("svm-wide", "chosen"),
    "l1 chosen, BBR": ("l1-tuned", "chosen"),
    "iterations chosen, SLR": ("slr-tuned", "chosen"),
}
#: Opponents of SLR, fixed and tuned.
PAIRS = (("fixed", "slr", "bbr"), ("fixed", "slr", "svm"), ("tuned", "slr-tuned", "l1-tuned"),
         ("tuned", "slr-tuned", "svm-tuned"), ("tuned", "slr-tuned", "svm-wide"))  # fmt: skip
NAMES = {"bbr": "BBR", "l1-tuned": "BBR", "svm": "SVM", "svm-tuned": "SVM", "svm-wide": "SVM, smaller C as well"}
Table = tuple[list[str], list[list[str]]]


class Found:
    """What was found for a set."""

    def __init__(self, stored: Result, name: str) -> None:
        self.results = stored["results"].get(name, {})

    def values(self, unit: str, n: str, method: str, key: str) -> np.ndarray:
        """One figure, by draw."""
        draws = self.results.get(unit, {}).get(n, {})
        rows = [draws[draw][method] for draw in sorted(draws) if method in draws[draw]]
        if key == "total":
            return np.array([row["seconds"] + row.get("patterns", 0.0) for row in rows])
        return np.array([row[key] for row in rows if key in row])

    def mean(self, unit: str, n: str, method: str, key: str) -> float:
        values = self.values(unit, n, method, key)
        return float(values.mean()) if len(values) else np.nan

    def differences(self, unit: str, n: str, ours: str, theirs: str) -> np.ndarray:
        """Macro-F1 of one method minus that of another, by draw."""
        pair = [self.values(unit, n, method, "macro") for method in (ours, theirs)]
        return np.subtract(*pair) if len(pair[0]) == len(pair[1]) else np.empty(0)


def shown(values: np.ndarray, key: str) -> str:
    """The mean of a figure; of F1 in percent, with the 95% interval over draws."""
    if not len(values):
        return ""
    if key in ("micro", "macro", "difference"):
        mean = format(100.0 * values.mean(), "+.1f" if key == "difference" else ".1f")
        return f"{mean} ± {100.0 * margin(values):.1f}" if len(values) > 2 else mean
    if key in ("seconds", "patterns", "total"):
        return f"{values.mean():.2f}"
    return f"{values.mean():.3g}" if key == "chosen" and values.mean() < 10.0 else f"{values.mean():,.0f}"


def margin(values: np.ndarray) -> float:
    """Half of the 95% interval of a mean (Student's t)."""
    return float(student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))


def sets_for(paper: str) -> list[str]:
    return [name for name, its in SETS.items() if its.paper == paper]


def columns_of(paper: str) -> list[tuple[str, str]]:
    units = {unit for name in sets_for(paper) for unit in SETS[name].units}
    return [column for column in COLUMNS if column[0] in units]


def beside_paper(
    stored: Result, paper: str, written: dict[str, Any], rows: dict[str, Any], more: dict[str, Any]
) -> Table:
    """Each row of the paper's table, and those of ours under it."""
    columns = columns_of(paper)
    lines = []
    for title, (method, key) in (rows | more).items():
        if title in written:
            lines.append([title, paper, *(written[title][column].replace("-", "") for column in columns)])
        for name in sets_for(paper):
            found = Found(stored, name)
            lines.append([title, name, *(shown(found.values(*column, method, key), key) for column in columns)])
    return ["", "set", *(f"{unit}, n = {n}" for unit, n in columns)], lines


def ratios(stored: Result) -> Table:
    """What the claims about time and size come to: a ratio, the paper's and ours."""
    questions = [
        ("time of SLR, any n / n = 1", ("slr", "total", "any"), ("slr", "total", "1")),
        ("time of SLR, any n / n = 3", ("slr", "total", "any"), ("slr", "total", "3")),
        ("total time, BBR at n = 5 / SLR at any n", ("bbr", "total", "5"), ("slr", "total", "any")),
        ("running time, BBR at n = 5 / SLR at any n", ("bbr", "seconds", "5"), ("slr", "seconds", "any")),
        ("total time, SVM at n = 5 / SLR at any n", ("svm", "total", "5"), ("slr", "total", "any")),
        ("running time, SVM at n = 5 / SLR at any n", ("svm", "seconds", "5"), ("slr", "seconds", "any")),
        ("features, BBR at n = 5 / SLR at any n", ("bbr", "features", "5"), ("slr", "features", "any")),
        ("ours: time of L1 grafting, any n / n = 3", ("l1", "total", "any"), ("l1", "total", "3")),
        ("ours: total time, BBR at n = 5 / L1 grafting at any n", ("bbr", "total", "5"), ("l1", "total", "any")),
    ]
    places = [(name, unit) for name, its in SETS.items() for unit in its.units]
    named = {of: title for title, of in FIXED_ROWS.items()}
    lines = []
    for title, (above, what, at), (below, of, there) in questions:
        line = [title]
        for name, unit in places:
            found = Found(stored, name)
            ours = found.mean(unit, at, above, what) / found.mean(unit, there, below, of)
            written = paper.FIXED[SETS[name].paper]
            rows = [named.get(key) for key in ((above, what), (below, of))]
            theirs = ""
            if None not in rows:
                values = [written[row][unit, n] for row, n in zip(rows, (at, there), strict=True)]
                theirs = f"{paper.number(values[0]) / paper.number(values[1]):.3g} / "
            line.append(f"{theirs}{ours:.3g}" if ours == ours else theirs.removesuffix(" / "))
        lines.append(line)
    return ["paper / ours", *(f"{SETS[name].paper} / {name}, {unit}" for name, unit in places)], lines


def pruning(stored: Result) -> Table:
    """The share of n-grams, and of nodes of the tree, that the bound leaves out."""
    lines = []
    for name, its in SETS.items():
        for unit in its.units:
            shares = [Found(stored, name).values(unit, n, "slr", "pruned") for n in LENGTHS]
            for k, what in enumerate(("n-grams", "nodes")):
                lines.append([name, unit, what, *(f"{100.0 * of[0][k]:.1f}" if len(of) else "" for of in shares)])
    return ["set", "unit", "of", *(f"n = {n}" for n in LENGTHS)], lines


def differences(stored: Result) -> Table:
    """Macro-F1 of SLR minus that of its opponents, at the same n."""
    lines = []
    for kind, ours, theirs in PAIRS:
        rows = paper.FIXED if kind == "fixed" else paper.TUNED
        for source in rows:
            title = f"{kind}, minus {NAMES[theirs]}"
            if theirs != "svm-wide":
                values = [[rows[source][f"macro-F1, {m}"][c] for m in ("SLR", NAMES[theirs])] for c in COLUMNS]
                told = ["" if "-" in pair else f"{np.subtract(*map(paper.number, pair)):+.1f}" for pair in values]
                lines.append([title, source, *told])
            for name in sets_for(source):
                found = Found(stored, name)
                told = [shown(found.differences(*column, ours, theirs), "difference") for column in COLUMNS]
                lines.append([title, name, *told])
    return ["", "set", *(f"{unit}, n = {n}" for unit, n in COLUMNS)], lines


def strongest(stored: Result) -> Table:
    """Table 5: the five largest weights of either sign, of the paper and of ours."""
    lines = []
    for name, its in SETS.items():
        for unit in its.units:
            for method, key in (("SLR", "slr"), ("BBR", "bbr")):
                ours = stored["results"].get(name, {}).get(unit, {}).get("5", {}).get("0", {}).get(key, {}).get("top")
                for k, side in enumerate(("positive", "negative")):
                    if its.paper != "CHINESE" and name != "shopping 3":
                        told = paper.TOP[its.paper, method, unit, side].split()
                        pairs = zip(told[::2], told[1::2], strict=True)
                        lines.append([its.paper, method, unit, side, listed(pairs)])
                    if ours:
                        lines.append([name, method, unit, side, listed(ours[k])])
    return ["set", "method", "unit", "side", "features"], lines


def listed(pairs: Any) -> str:
    """Names and the sizes of weights; blanks are seen, and nothing ends the cell or the code."""
    names = [(name.replace(" ", "␣").replace("`", "'").replace("|", "¦"), abs(float(w))) for name, w in pairs]
    return ", ".join(f"`{name}` {weight:.3g}" for name, weight in names)


def sets_table(stored: Result) -> Table:
    lines = [
        [name, its.paper, its.source, ", ".join(f"{label} {size:,}" for label, size in its.labels.items()), unit,
         *(f"{stored['facts'][name][unit][key]:,.0f}" for key in ("train", "test", "length")),
         str(len(Found(stored, name).values(unit, "any", "slr", "macro")))]
        for name, its in SETS.items()
        for unit in its.units
        if name in stored["facts"] and unit in stored["facts"][name]
    ]  # fmt: skip
    header = ["set", "for", "from", "labels and documents", "unit", "train", "test", "mean length", "draws"]
    return header, lines


INTRODUCTION = f"""# N-grams of any length

Written by `python benchmarks/variable_length.py --data DATA` from `variable_length.json.gz`; not to be edited.
Measured {{dates}}. {{machine}}

Tables 1 to 5 of Ifrim, Bakir & Weikum, *Fast Logistic Regression for Text Categorization with Variable-Length
N-grams* (KDD 2008, doi:10.1145/1401890.1401936), each row of the paper above ours. What follows from them is in
[docs/papers.md](../docs/papers.md).

**Data.** The paper's sets are not available. IMDB is 7,440 plots of movies, Crime or Drama; here, "reviews" is 3,720
reviews of movies, half of the number, by sentiment. AMAZON is 5,634 reviews of books on Biology, Mathematics and
Physics (about 2,200, 2,200 and 1,300); here, "sciences" is 2,565 articles of sci.med, sci.crypt and sci.space in the
same proportion, and "shopping 3" is 3,886 Chinese reviews of three kinds of devices, also in this proportion, in
characters alone. CHINESE is 3,600 news of the People's Daily in six classes, 500 training and 100 test documents
each; here, "shopping 6" is as many Chinese reviews of six kinds of goods. English texts are cut after {KEPT_WORDS}
words, so that they are about as long as the paper's, to judge by its numbers of n-grams; nothing else is changed
(words are what blanks separate). Draws are folds of the same five-fold cross-validation as in the paper, as many as
*draws* says, and random splits of "shopping 6".

**Methods.** SLR is `CoordinateAscent`, with the paper's stop at 0.005 and threshold by training error; tuned, the
number of iterations is one of 200, 300, ... 1,000. In the place of BBR, which is not available: L1 logistic
regression with BBR's threshold by training error. Fixed, liblinear at BBR's default prior, λ = sqrt(2 u / d) with d
features and on average u in a document. Tuned, the best l1 of {", ".join(f"{c:g}" for c in L1_GRID)}; its optimum is
found by our grafting, which does not write the n-grams down, so that there is a column for any n. In the place of
SVM-perf: `LinearSVC` with hinge loss and the same objective, C = {C:g} or, tuned, the best of
{", ".join(f"{c:g}" for c in C_GRID)} (100 C / documents in the notation of liblinear, since SVM-perf's loss is a
percentage); in rows of our own, also {", ".join(f"{c:g}" for c in C_BELOW)}. Settings are those of the fewest errors
in a {INNER_FOLDS}-fold cross-validation on the training documents; of the SVM, on the first of these folds. L1 grafting
is our learner for the objective of BBR; its rows are not the paper's.

**Figures.** Several labels are one problem each, against the others; iterations, features and times are means over
them. Micro- and macro-F1 are of the binary decisions. Times of the paper are minutes on a processor of 2.8 GHz, ours
CPU seconds on one thread; those of SLR and L1 grafting contain the index, those of the others do not contain the
n-grams, which have a row of their own. All labels of ours search together and share the index, which counts whole
for each. Other processes shared the cores: times of equal work differ by up to a half. An iteration of liblinear is
not one of BBR. "Overall features" are those of our training documents. Values after ± are half of the 95% interval
over draws (Student's t), where there are more than two. A question mark: the scan of the paper leaves open which of
two neighbouring columns a value belongs to.
"""


def render(path: Path) -> str:
    """All tables, as Markdown."""
    stored = load(path)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print(INTRODUCTION.format(machine=machine(), dates=" to ".join(dates(stored))), end="")
        for title, table in tables(stored):
            print(f"\n## {title}\n")
            print_rows(*table)
    return out.getvalue()


def dates(stored: Result) -> list[str]:
    """The first and the last day of measurement."""
    found = sorted(
        row["date"]
        for units in stored["results"].values()
        for lengths in units.values()
        for draws in lengths.values()
        for rows in draws.values()
        for row in rows.values()
    )
    return sorted({found[0], found[-1]})


def tables(stored: Result) -> Iterator[tuple[str, Table]]:
    """Titles and tables, in order."""
    yield "Sets", sets_table(stored)
    yield "Ratios: the paper's / ours", ratios(stored)
    yield "Macro-F1 of SLR minus that of its opponents, in points", differences(stored)
    yield (
        "Share of the search space that the bound leaves out, in percent (the paper: more than 90)",
        pruning(stored),
    )
    for number, name in enumerate(paper.FIXED, start=1):
        title = f"Table {number}, fixed parameters, {name}"
        yield title, beside_paper(stored, name, paper.FIXED[name], FIXED_ROWS, MORE_FIXED_ROWS)
    for name in paper.TUNED:
        title = f"Table 4, tuned parameters, {name}"
        yield title, beside_paper(stored, name, paper.TUNED[name], TUNED_ROWS, MORE_TUNED_ROWS)
    yield "Table 5, strongest features, n = 5, fixed parameters", strongest(stored)


def write(path: Path) -> None:
    write_page(beside(path, ".md"), render(path))


def main(
    data: DataFolder,
    sets: Annotated[str, typer.Option(help="Names of sets, separated by commas.")] = ",".join(SETS),
    again: Annotated[bool, typer.Option(help="Also what is there already.")] = False,
    results: Annotated[Path, typer.Option(help="Where results are; tables beside it.")] = HERE
    / "variable_length.json.gz",
) -> None:
    """Measure what is missing, and write the tables."""
    need("sklearn")
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    pin_threads()
    warnings.simplefilter("ignore")
    stored = load(results)
    jobs = missing(stored, sets.split(","), again)
    if jobs:
        compile_everything()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns) as progress:
        bar = progress.add_task("", total=len(jobs))
        for name, unit, draw, n, family in jobs:
            cell = f"{name}, {unit}, draw {draw}, n = {n}, {family}"
            progress.update(bar, description=cell)
            clock = Clock()
            rows = measure(data, name, unit, draw, n, family)
            stored["facts"].setdefault(name, {})[unit] = facts(data, name, unit)
            place(stored, name, unit, n).setdefault(str(draw), {}).update(rows)
            save_results(results, stored)
            progress.console.print(f"{cell}: {clock():.1f} s", soft_wrap=True)
            progress.advance(bar)
    write(results)


if __name__ == "__main__":
    typer.run(main)
