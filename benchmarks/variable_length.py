"""N-grams of any length: the experiments of Ifrim, Bakir & Weikum (KDD 2008), Tables 1 to 5, on public data.

python benchmarks/variable_length.py --data DATA [--tasks a,b] [--again]

Each cell (a task, an n, a family of methods) is measured in a process of its own and stored at once in
variable_length.json.gz beside this file, so that a second run does only what is missing; variable_length.md and, with
matplotlib, variable_length.png are written from it. What is measured, and how, is said there.
"""

from __future__ import annotations

import contextlib
import io
import math
import re
import resource
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from accuracy import machine, paired_difference
from common import (
    Died,
    beside,
    load_results,
    measured,
    need,
    one_hot,
    pin_threads,
    print_table,
    replace_file,
    save_plot,
    save_results,
    texts_and_labels,
)
from peers import counts, f1_scores

#: Pairs of close groups of 20 newsgroups.
PAIRS = {
    "hardware": ("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"),
    "vehicles": ("rec.autos", "rec.motorcycles"),
    "religion": ("soc.religion.christian", "talk.religion.misc"),
}
IMDB, CHINESE = "imdb_5k", "zh_chnsenticorp_hotel"
#: A set and what its n-grams are of; the slow one last.
TASKS = (
    *(f"{pair}/{unit}" for unit in ("words", "characters") for pair in PAIRS),
    f"{CHINESE}/characters", f"{IMDB}/words", f"{IMDB}/characters",
)  # fmt: skip
LENGTHS = ("1", "3", "5", "any")
#: L1 strengths, from the strongest on; liblinear's C is 1 / ``l1``. C of the SVM, from the strongest penalty on.
L1_GRID, L1_FIXED = (10.0, 3.0, 1.0, 0.3, 0.1), 1.0
SVM_GRID, SVM_FIXED = (0.001, 0.003, 0.01, 0.1, 1.0), 1.0
#: CPU seconds of a cell after which nothing more is begun; and a process that is in one long call is killed, in units
#: of that.
LIMIT, KILLED = 120.0, 3.0
#: What counts as nearly constant, and as an order of magnitude.
CONSTANT, MAGNITUDE = 2.0, 10.0
TOP, WORDS_SHOWN, CHARACTERS_SHOWN = 10, 6, 20
METHODS = {
    "slr": "SLR",
    "slr-fine": "SLR, stop at 0.0005",
    "slr-cv": "SLR, iterations by CV",
    "l1": "L1 grafting, l1 = 1",
    "l1-tuned": "L1 grafting, l1 tuned",
    "liblinear": "liblinear L1, l1 = 1",
    "liblinear-tuned": "liblinear L1, l1 tuned",
    "svm": "linear SVM, C = 1",
    "svm-tuned": "linear SVM, C tuned",
}
#: Compared at any length with the peers below, and their strongest features are shown.
OURS, PEERS = ("slr", "l1-tuned"), ("liblinear-tuned", "svm-tuned")
HERE = Path(__file__).parent
Result = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """Texts, their units separated by blanks where these are words, and the number of each label."""

    texts: list[str]
    labels: np.ndarray

    def __getitem__(self, chosen: np.ndarray) -> Part:
        return Part([self.texts[i] for i in np.flatnonzero(chosen)], self.labels[chosen])


def read(data: Path, task: str, split: str) -> Part:
    """A split of a task's set; dev belongs to train."""
    name, unit = task.split("/")
    texts, labels = texts_and_labels(data, "20newsgroups_bydate" if name in PAIRS else name, split)
    if split == "train" and (data / name / "dev.jsonl.gz").exists():
        more = texts_and_labels(data, name, "dev")
        texts, labels = texts + more[0], labels + more[1]
    chosen = [i for i, label in enumerate(labels) if name not in PAIRS or label in PAIRS[name]]
    return Part([units(texts[i], unit) for i in chosen], one_hot([labels[i] for i in chosen]).argmax(axis=1))


def units(text: str, unit: str) -> str:
    """Lower case; words without punctuation marks, or characters with single blanks."""
    return " ".join(re.findall(r"\w+", text.lower()) if unit == "words" else text.lower().split())


def held_out(part: Part) -> np.ndarray:
    """Every tenth document, by which strengths are chosen."""
    return np.arange(len(part.labels)) % 10 == 9


def macro_f1(gold: np.ndarray, predicted: np.ndarray) -> float:
    return scores_of(gold, predicted)["macro"]


def scores_of(gold: np.ndarray, predicted: np.ndarray) -> Result:
    macro, micro = f1_scores(*counts(*(np.eye(2, dtype=np.bool_)[labels] for labels in (gold, predicted))))
    return {"macro": float(macro), "micro": float(micro), "predicted": np.packbits(predicted).tobytes().hex()}


class Clock:
    """CPU seconds since it began."""

    def __init__(self) -> None:
        self.start = time.process_time()

    def __call__(self) -> float:
        return time.process_time() - self.start

    def late(self) -> bool:
        return self() > LIMIT


def limit_cpu() -> None:
    """Let the system kill this process when a single call takes far longer than the limit."""
    limit = int(time.process_time() + KILLED * LIMIT) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 60))


def chosen_c(
    grid: Sequence[float], asked: np.ndarray, predict: Callable[[float], np.ndarray], clock: Clock
) -> tuple[float, Result]:
    """The strength of the best macro-F1 on the documents held out, of equal ones the strongest; what was found."""
    best, best_score, tried = grid[0], -1.0, 0
    for c in grid:
        if clock.late():
            break
        score = macro_f1(asked, predict(c))
        tried += 1
        if score > best_score + 1e-12:
            best, best_score = c, score
    return best, {"chosen": best, "held_out": best_score, "cut": tried < len(grid)}


class Ours:
    """Our learners over the streams of a task."""

    def __init__(self, task: str, n: str, train: Part) -> None:
        from ours import character_stream, compile_kernels, to_the_end, training_data, word_stream

        from spacy_graft.graft.settings import CoordinateAscent

        self.words = task.endswith("words")
        self.n = None if n == "any" else int(n)
        self.training_data = training_data
        self.numbers: dict[str, int] = {}
        self.stream = (lambda texts: word_stream(texts, self.numbers)) if self.words else character_stream
        compile_kernels()
        few = Part(train.texts[:100], np.arange(100) % 2)
        for iterations in (3, "cv"):
            fit = to_the_end(CoordinateAscent(iterations=iterations, tolerance=0.1), self.data(few))
            self.predict(fit.solution(), few)
        self.numbers.clear()

    def data(self, part: Part) -> Any:
        unit = "words" if self.words else "characters"
        data = self.training_data({unit: self.stream(part.texts)}, np.eye(2)[part.labels])
        return replace(data, max_length={unit: self.n})

    def fit(self, learner: Any, data: Any, clock: Clock) -> Any:
        """The finished fit, or as far as it came in time."""
        from spacy_graft.graft.start import start

        fit = start(learner, data)
        while not (fit.finished or clock.late()):
            fit.step()
        return fit

    def predict(self, solution: Any, part: Part) -> np.ndarray:
        """The label of each document."""
        from spacy_graft.extract.streams import Stream
        from spacy_graft.model.automaton import Automaton

        documents = self.stream(part.texts)
        totals = np.zeros((len(part.labels), 2)) + solution.intercepts
        if solution.terms:
            ngrams = Stream.join((term.symbols for (term,) in solution.terms), documents.symbols.dtype.type)
            Automaton.build(ngrams, np.arange(len(solution.terms))).add_scores(documents, solution.weights, totals)
        return totals.argmax(axis=1)

    def row(self, fit: Any, seconds: float, test: Part) -> Result:
        """Figures of a fit."""
        solution = fit.solution()
        lengths = [len(term.symbols) for (term,) in solution.terms]
        return {
            "seconds": seconds,
            "iterations": fit.report.rounds,
            "features": len(solution.terms),
            "longest": max(lengths, default=0),
            "long": sum(length > 5 for length in lengths),
            "columns": fit.report.n_columns,
            "index_seconds": fit.report.seconds["index"],
            "cut": not fit.finished,
            "top": self.top(solution),
        } | scores_of(test.labels, self.predict(solution, test))

    def top(self, solution: Any) -> list[list[Any]]:
        """The features of the largest weights, of either label (name, weight towards the second label, df)."""
        weights = solution.weights[:, 1] - solution.weights[:, 0]
        order = np.argsort(-weights, kind="stable")
        positive, negative = order[:TOP], order[::-1][:TOP]
        words = list(self.numbers)
        return [
            [
                [self.name(solution.terms[k][0].symbols, words), round(float(weights[k]), 3), int(solution.df[k])]
                for k in side
                if weights[k] * sign > 0.0
            ]
            for side, sign in ((positive, 1.0), (negative, -1.0))
        ]

    def name(self, symbols: np.ndarray, words: Sequence[str]) -> str:
        """An n-gram, to be read; long ones are cut."""
        if self.words:
            shown = [words[i] for i in symbols[:WORDS_SHOWN]]
            return " ".join(shown) + (" …" if len(symbols) > WORDS_SHOWN else "")
        return "".join(map(chr, symbols[:CHARACTERS_SHOWN])) + ("…" if len(symbols) > CHARACTERS_SHOWN else "")


def ascent(data: Path, task: str, n: str, method: str) -> Iterator[Any]:
    """SLR: coordinate ascent over the n-grams, none of them written down."""
    from spacy_graft.graft.settings import CoordinateAscent

    options: dict[str, Result] = {
        "slr": {}, "slr-fine": {"tolerance": 0.0005}, "slr-cv": {"iterations": "cv"}
    }  # fmt: skip
    train, test = read(data, task, "train"), read(data, task, "test")
    ours = Ours(task, n, train)
    yield None
    limit_cpu()
    clock = Clock()
    fit = ours.fit(CoordinateAscent(**options[method]), ours.data(train), clock)
    yield {method: ours.row(fit, clock(), test)}


def grafting(data: Path, task: str, n: str, method: str) -> Iterator[Any]:
    """L1 over the n-grams, none of them written down: with one L1 strength, and with the best of several."""
    from spacy_graft.graft.settings import Grafting

    train, test = read(data, task, "train"), read(data, task, "test")
    ours = Ours(task, n, train)
    yield None
    limit_cpu()
    clock = Clock()

    def fit(c: float, part: Part) -> Any:
        return ours.fit(Grafting(l1=c, n_best=None), ours.data(part), clock)

    fixed = fit(L1_FIXED, train)
    fixed_row = ours.row(fixed, clock(), test)
    clock = Clock()
    apart = held_out(train)
    known, asked = train[~apart], train[apart]
    c, choice = chosen_c(L1_GRID, asked.labels, lambda c: ours.predict(fit(c, known).solution(), asked), clock)
    tuned = fit(c, train)
    tuned_row = ours.row(tuned, clock(), test)
    cut = choice["cut"] or tuned_row["cut"]
    yield {"l1": fixed_row, "l1-tuned": tuned_row | choice | {"cut": cut}}


def enumerated(data: Path, task: str, n: str, method: str) -> Iterator[Any]:
    """The n-grams written down by ``CountVectorizer``, then liblinear: one strength, and the best of several."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    warnings.simplefilter("ignore")
    train, test = read(data, task, "train"), read(data, task, "test")
    unit: Result = {"token_pattern": r"\S+"} if task.endswith("words") else {"analyzer": "char"}
    vectorizer = CountVectorizer(ngram_range=(1, int(n)), binary=True, lowercase=False, dtype=np.float64, **unit)
    grid, fixed = (L1_GRID, L1_FIXED) if method == "liblinear" else (SVM_GRID, SVM_FIXED)

    def fit(c: float, values: Any, labels: np.ndarray) -> Any:
        if method == "liblinear":
            model = LogisticRegression(solver="liblinear", l1_ratio=1.0, C=1.0 / c, intercept_scaling=100.0)
        else:
            model = LinearSVC(C=c, random_state=0)
        return model.fit(values, labels)

    def row(model: Any, seconds: float) -> Result:
        return {
            "seconds": seconds, "enumeration": enumeration, "iterations": int(np.max(model.n_iter_)),
            "features": int(np.count_nonzero(model.coef_)), "columns": values.shape[1],
        } | scores_of(test.labels, model.predict(tested))  # fmt: skip

    yield None
    limit_cpu()
    clock = Clock()
    values = vectorizer.fit_transform(train.texts)
    enumeration = clock()
    model = fit(fixed, values, train.labels)
    seconds = clock()
    tested = vectorizer.transform(test.texts)
    fixed_row = row(model, seconds) | {"cut": False}
    clock = Clock()
    apart = held_out(train)
    known, asked, labels = values[~apart], values[apart], train.labels
    c, choice = chosen_c(grid, labels[apart], lambda c: fit(c, known, labels[~apart]).predict(asked), clock)
    model = fit(c, values, labels)
    yield {method: fixed_row, f"{method}-tuned": row(model, enumeration + clock()) | choice}


@dataclass(frozen=True)
class Family:
    """Rows that are measured together: by what, for which n, and for which tasks."""

    function: Callable[..., Iterator[Any]]
    lengths: tuple[str, ...] = LENGTHS
    tasks: tuple[str, ...] = TASKS


#: What SLR's stopping rule changes is measured where that takes minutes, not hours.
FAMILIES = {
    "slr": Family(ascent),
    "l1": Family(grafting),
    "liblinear": Family(enumerated, LENGTHS[:-1]),
    "svm": Family(enumerated, LENGTHS[:-1]),
    "slr-fine": Family(ascent, LENGTHS[-1:], TASKS[:-1]),
    "slr-cv": Family(
        ascent, LENGTHS[-1:], tuple(task for task in TASKS if task.endswith("words") or task.startswith(CHINESE))
    ),
}


def measure(data: Path, task: str, n: str, family: str) -> Result:
    """The rows of a cell; one that says so if it was killed."""
    function = FAMILIES[family].function
    try:
        run = measured(function, data, task, n, family)
    except Died as death:
        if death.exit_code != -signal.SIGXCPU:
            raise
        methods = (family,) if function is ascent else (family, f"{family}-tuned")
        return {method: {"stopped": KILLED * LIMIT} for method in methods}
    return {method: row | {"megabytes": run.megabytes} for method, row in run.result.items()}


def facts(data: Path, task: str) -> Result:
    """What a task's texts are, and how many n-grams an enumeration would meet."""
    train, test = read(data, task, "train"), read(data, task, "test")
    lengths = np.array([len(text.split() if task.endswith("words") else text) for text in train.texts], np.int64)
    met = {
        n: int(sum(np.maximum(lengths - size, 0).sum() for size in range(int(n)))) for n in LENGTHS[:-1]
    } | {"any": int((lengths * (lengths + 1) // 2).sum())}  # fmt: skip
    return {
        "train": len(train.labels), "test": len(test.labels), "length": float(lengths.mean()), "ngrams": met,
    }  # fmt: skip


def load(path: Path) -> Result:
    return {"facts": {}, "results": {}, "paired": {}} | load_results(path)


def kept(n: str, method: str, row: Result) -> Result:
    """What tables and comparisons need of a row."""
    ours = n == "any" and method in OURS
    needed = {"top": ours, "predicted": ours or method in PEERS}
    return {key: value for key, value in row.items() if needed.get(key, True)}


def unpacked(packed: str, n: int) -> np.ndarray:
    """Predicted labels as booleans (documents, 2)."""
    labels = np.unpackbits(np.frombuffer(bytes.fromhex(packed), np.uint8))[:n]
    return np.eye(2, dtype=np.bool_)[labels]


def comparisons(data: Path, task: str, results: Result) -> Result:
    """Macro-F1 of ours at any length minus that of peers at the n that is best on the documents held out."""
    gold = np.eye(2, dtype=np.bool_)[read(data, task, "test").labels]
    found: Result = {}
    for theirs in PEERS:
        rows = {n: results[n][theirs] for n in LENGTHS[:-1] if "macro" in results.get(n, {}).get(theirs, {})}
        if not rows:
            continue
        n = max(rows, key=lambda n: rows[n]["held_out"])
        for ours in OURS:
            row = results.get("any", {}).get(ours, {})
            if "macro" in row:
                predicted = [unpacked(one["predicted"], len(gold)) for one in (row, rows[n])]
                found[f"{ours} {theirs}"] = paired_difference(gold, *predicted) | {"n": n}
    return found


def in_order(by_task: Result) -> list[tuple[str, Result]]:
    """The tasks that are there, in the order of :data:`TASKS`."""
    return [(task, by_task[task]) for task in TASKS if task in by_task]


def cell(row: Result | None, key: str, form: str) -> str:
    """A figure; a dash where there is none, with a dagger where the limit cut it short."""
    if row is None:
        return "—"
    if "stopped" in row:
        return f"> {row['stopped']:g} s †" if key == "seconds" else "†"
    if key not in row:
        return ""
    return format(row[key], form) + (" †" if row["cut"] and key == "seconds" else "")


Table = tuple[list[str], list[list[str]]]


def tasks_table(stored: Result) -> Table:
    rows = [
        [task, f"{its['train']:,}", f"{its['test']:,}", f"{its['length']:,.0f}"]
        + [f"{its['ngrams'][n]:.1e}" for n in LENGTHS]
        for task, its in in_order(stored["facts"])
    ]
    return ["task", "train", "test", "mean length", *(f"n-grams met, n = {n}" for n in LENGTHS)], rows


def by_length(stored: Result, methods: Sequence[str], key: str, form: str) -> Table:
    """A measure of every task and method, for each n."""
    rows = [
        [task, METHODS[method], *(cell(results.get(n, {}).get(method), key, form) for n in LENGTHS)]
        for task, results in in_order(stored["results"])
        for method in methods
    ]
    return ["task", "method", *(f"n = {n}" for n in LENGTHS)], rows


#: Header, key and format of the columns of the full tables.
DETAILS = (
    ("CPU s", "seconds", ".2f"), ("of it enumeration", "enumeration", ".2f"), ("MB above start", "megabytes", ",.0f"),
    ("columns", "columns", ",d"), ("iterations", "iterations", ",d"), ("features", "features", ",d"),
    ("longer than 5", "long", ",d"), ("longest", "longest", ",d"), ("micro-F1", "micro", ".3f"),
    ("macro-F1", "macro", ".3f"), ("l1 or C", "chosen", "g"),
)  # fmt: skip


def details(results: Result) -> Table:
    """All figures of a task."""
    rows = [
        [METHODS[method], n, *(cell(results[n][method], key, form) for _, key, form in DETAILS)]
        for method in METHODS
        for n in LENGTHS
        if method in results.get(n, {})
    ]
    return ["method", "n", *(header for header, _, _ in DETAILS)], rows


def stops(stored: Result) -> Table:
    """What the stopping rule changes, where n is not limited."""
    keys = (("iterations", "iterations", ",d"), ("features", "features", ",d"), ("CPU s", "seconds", ".1f"),
            ("macro-F1", "macro", ".3f"))  # fmt: skip
    methods = ("slr", "slr-fine", "slr-cv")
    rows = [
        [task, *(" / ".join(cell(results.get("any", {}).get(method), key, form) for method in methods)
                 for _, key, form in keys)]
        for task, results in in_order(stored["results"])
    ]  # fmt: skip
    return ["task", *(header for header, _, _ in keys)], rows


def differences(stored: Result) -> Table:
    rows = []
    for task, found in in_order(stored["paired"]):
        for pair, its in found.items():
            ours, theirs = (METHODS[method] for method in pair.split())
            low, high = its["interval"]
            text = f"{its['difference']:+.3f} ({low:+.3f} to {high:+.3f})"
            rows.append([task, f"{ours}, any n", f"{theirs}, n = {its['n']}", text])
    return ["task", "ours", "minus", "macro-F1"], rows


def top_features(stored: Result, method: str) -> Table:
    """The strongest features where n is not limited: name, weight."""
    rows = []
    for task, results in in_order(stored["results"]):
        row = results.get("any", {}).get(method, {})
        for side, label in zip(row.get("top", ()), labels_of(task)[::-1], strict=False):
            shown = ", ".join(f"`{readable(name, task)}` {weight:+.2f}" for name, weight, _ in side)
            rows.append([task, label, shown])
    return ["task", "label", "features"], rows


def readable(name: str, task: str) -> str:
    """A name in a Markdown table: blanks of characters are seen, and nothing ends the cell or the code."""
    name = "".join(letter if letter.isprintable() else "·" for letter in name).replace("`", "'").replace("|", "¦")
    return name.replace(" ", "␣") if task.endswith("characters") else name


def labels_of(task: str) -> tuple[str, str]:
    """The two labels, as they are sorted."""
    return PAIRS.get(task.split("/")[0], ("neg", "pos"))


def seconds(results: Result, n: str, method: str) -> float:
    return float(results.get(n, {}).get(method, {}).get("seconds", math.nan))


def ratios(stored: Result, unit: str, over: tuple[str, str], under: tuple[str, str]) -> list[float]:
    """Of CPU seconds, (n, method) over (n, method), in every task of a unit that has both."""
    found = [
        seconds(results, *over) / seconds(results, *under)
        for task, results in in_order(stored["results"])
        if task.endswith(unit)
    ]
    return [ratio for ratio in found if not math.isnan(ratio)]


def spread(values: Sequence[float]) -> str:
    """Geometric mean and range."""
    return f"{np.exp(np.mean(np.log(values))):.1f} ({min(values):.1f} to {max(values):.1f})"


def constant(stored: Result, method: str, unit: str) -> str:
    """Claim 1: time at any length in units of that at each n."""
    grown = {n: ratios(stored, unit, ("any", method), (n, method)) for n in LENGTHS[:-1]}
    if not grown["3"]:
        return "—"
    told = "; ".join(f"n = {n}: {spread(values)}" for n, values in grown.items())
    return f"{said(all(ratio <= CONSTANT for ratio in grown['3']))}. {told}"


def faster(stored: Result, ours: str, theirs: str, unit: str) -> str:
    """Claim 2: the time of peers at n = 5 in units of ours at any length, and of both at n = 5."""
    beyond, same = (ratios(stored, unit, ("5", theirs), (n, ours)) for n in ("any", "5"))
    if not beyond:
        return "—"
    return f"{said(min(beyond) >= MAGNITUDE)}. {spread(beyond)}; ours at n = 5: {spread(same)}"


def as_good(stored: Result, ours: str, theirs: str, unit: str) -> str:
    """Claim 3: the difference in macro-F1, and in how many tasks it is beyond the interval."""
    pair = f"{ours} {theirs}"
    found = [its[pair] for task, its in in_order(stored["paired"]) if task.endswith(unit) and pair in its]
    worse, better = (sum(sign * its["interval"][side] > 0.0 for its in found) for sign, side in ((-1, 1), (1, 0)))
    if not found:
        return "—"
    mean = np.mean([its["difference"] for its in found])
    return f"{said(not worse)}. {mean:+.3f}; worse in {worse}, better in {better} of {len(found)}"


def claims(stored: Result) -> Table:
    """Each claim of the paper, and whether it holds here."""
    units_told = ("words", "characters")
    rows = [
        ["1, constant in n", METHODS[method], "", *(constant(stored, method, unit) for unit in units_told)]
        for method in ("slr", "l1")
    ]
    for claim, told, methods, peers in (
        ("2, order of magnitude", faster, ("slr", "l1"), ("liblinear", "svm")),
        ("3, as good", as_good, ("slr", "l1-tuned"), ("liblinear-tuned", "svm-tuned")),
    ):
        rows += [
            [claim, METHODS[ours], METHODS[theirs], *(told(stored, ours, theirs, unit) for unit in units_told)]
            for ours in methods
            for theirs in peers
        ]
    return ["claim", "of", "beside", *units_told], rows


def said(held: bool) -> str:
    return "**held**" if held else "**failed**"


INTRODUCTION = f"""# N-grams of any length

Written by `python benchmarks/variable_length.py --data DATA` from `variable_length.json.gz`; not to be edited.
{{machine}}

The experiments of Ifrim, Bakir & Weikum, *Fast Logistic Regression for Text Categorization with Variable-Length
N-grams* (KDD 2008, doi:10.1145/1401890.1401936), Tables 1 to 5, on other data: their movie plots, book reviews and
Chinese news are not to be had. Nor could the paper's own figures be looked up, so that none stand beside ours; what is
checked is what it claims. Pairs of close groups of 20 newsgroups ({", ".join(PAIRS)}; by date), imdb_5k, and Chinese
hotel reviews (its dev belongs to train). N-grams of words (lower case, without punctuation marks) or of characters
(lower case, single blanks) of up to n units, present or not; those that occur in a single document as well.

SLR is `CoordinateAscent` (stop at 0.005, threshold by training error). L1 grafting and liblinear L1 have the same
objective (liblinear's C is 1 / l1; l1 = {L1_FIXED:g}, or the best of
{", ".join(f"{c:g}" for c in L1_GRID)}); the linear SVM is `LinearSVC` (C = {SVM_FIXED:g}, or the best of
{", ".join(f"{c:g}" for c in SVM_GRID)}). The peers get n-grams written down by `CountVectorizer`. A tuned strength
is the best in macro-F1 on every tenth training document, then the model is trained again on all.

CPU seconds are those from texts to the final model on one thread, with the index or the enumeration and, where the
strength is tuned, the choice; imports, reading and compilation are not counted, nor is prediction. Memory is the peak
above what the process held when that began, prediction included, of both rows of a family (strength fixed and tuned),
which share a process. A dash: not measured; for the peers at any length because that cannot be enumerated (*n-grams
met* says how many there would be, each as often as it is met). A dagger: the limit of {LIMIT:g} CPU seconds cut off the
choice or the ascent; a process is killed at {KILLED * LIMIT:g}. Intervals are the middle 95% of 1,000 paired bootstrap
resamples of the test documents; peers are compared at the n that did best on the documents held out.

The claims: (1) running time is nearly constant in n: here, at most {CONSTANT:g} times as long at any length as at
n = 3. (2) It is an order of magnitude below that of methods that enumerate: {MAGNITUDE:g} times, they at n = 5, ours at
any length. (3) Scores are as good: macro-F1 is not lower beyond the interval. A claim has held if it does so in every
task; figures are geometric means (of differences, means) and ranges over tasks. In the first, times at any length are
in units of those at n; in the second, those of peers in units of ours.
"""


def render(path: Path) -> str:
    """All tables, as Markdown."""
    stored = load(path)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print(INTRODUCTION.format(machine=machine()), end="")
        if beside(path, ".png").exists():
            print(f"\n![CPU seconds against n]({beside(path, '.png').name})")
        for title, table in tables(stored):
            print_table(title, *table)
    return out.getvalue()


def tables(stored: Result) -> Iterator[tuple[str, Table]]:
    """Titles and tables, in order."""
    yield "Claims", claims(stored)
    yield "Tasks", tasks_table(stored)
    yield "CPU seconds", by_length(stored, ("slr", "l1", "liblinear", "svm"), "seconds", ".2f")
    yield "MB above start", by_length(stored, ("slr", "l1", "liblinear", "svm"), "megabytes", ",.0f")
    tuned = (*OURS, *PEERS)
    yield "Micro-F1 on test", by_length(stored, tuned, "micro", ".3f")
    yield "Macro-F1 on test", by_length(stored, tuned, "macro", ".3f")
    yield "Macro-F1, ours minus peers, paired", differences(stored)
    yield "SLR at any length: stop at 0.005 / stop at 0.0005 / iterations by cross-validation", stops(stored)
    for method in OURS:
        yield f"Strongest features of {METHODS[method]}, any length", top_features(stored, method)
    for task, results in in_order(stored["results"]):
        yield f"{task}, in full", details(results)


def draw(path: Path) -> None:
    """Time against n."""
    from matplotlib.figure import Figure

    results = load(path)["results"]
    figure = Figure(figsize=(9.0, 8.0), layout="constrained")
    panels = figure.subplots(3, 3, sharex=True).ravel()
    for axes, (task, of_task) in zip(panels, in_order(results), strict=False):
        axes.set(title=task.replace(CHINESE, "Chinese hotels"), xlabel="n", yscale="log")
        for method, style in (("slr", "o-"), ("l1", "s-"), ("liblinear", "^--"), ("svm", "v--")):
            axes.plot(LENGTHS, [seconds(of_task, n, method) for n in LENGTHS], style, label=METHODS[method])
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.supylabel("CPU s")
    save_plot(figure, beside(path, ".png"))


def write(path: Path) -> None:
    draw(path)
    replace_file(beside(path, ".md"), render(path).encode("utf8"))


def jobs(stored: Result, task: str, again: bool) -> list[tuple[str, str]]:
    """n and family of what is missing of a task."""
    there = stored["results"].get(task, {})
    wanted = [(n, name) for name, family in FAMILIES.items() if task in family.tasks for n in family.lengths]
    return [(n, name) for n, name in wanted if again or name not in there.get(n, {})]


def main(
    data: Annotated[Path, typer.Option(help="Folder of the data sets.")],
    tasks: Annotated[
        str | None, typer.Option(help="Beginnings of tasks, separated by commas; all if not given.")
    ] = None,
    again: Annotated[bool, typer.Option(help="Also what is there already.")] = False,
    results: Annotated[Path, typer.Option(help="Where results are; tables beside it.")] = HERE
    / "variable_length.json.gz",
) -> None:
    """Measure what is missing, and write tables and plot."""
    need("matplotlib", "sklearn")
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    pin_threads()
    warnings.simplefilter("ignore")
    wanted = [task for task in TASKS if tasks is None or task.startswith(tuple(tasks.split(",")))]
    stored = load(results)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns) as progress:
        missing = {task: jobs(stored, task, again) for task in wanted}
        bar = progress.add_task("", total=sum(map(len, missing.values())))
        for task in filter(missing.__getitem__, wanted):
            stored["facts"][task] = facts(data, task)
            for n, family in missing[task]:
                progress.update(bar, description=f"{task}, n = {n}, {METHODS[family]}")
                found = measure(data, task, n, family)
                stored["results"].setdefault(task, {}).setdefault(n, {}).update(
                    {method: kept(n, method, row) | {"date": str(date.today())} for method, row in found.items()}
                )
                save_results(results, stored)
                progress.console.print(f"{task}, n = {n}: " + "; ".join(map(finished, found.items())), soft_wrap=True)
                progress.advance(bar)
            stored["paired"][task] = comparisons(data, task, stored["results"][task])
            save_results(results, stored)
    write(results)


def finished(item: tuple[str, Result]) -> str:
    """A row for the log."""
    method, row = item
    return f"{METHODS[method]} {cell(row, 'seconds', '.1f')} s, macro-F1 {cell(row, 'macro', '.3f')}"


if __name__ == "__main__":
    typer.run(main)
