"""Networks of words on 20 newsgroups: Figure 1 of Sandler, Talukdar, Ungar & Blitzer (NIPS 2008).

    python benchmarks/network_newsgroups.py --data DATA

They find that a network of co-occurring words gains 4 to 17 points of accuracy over ridge regression with 60 to 2,000
labelled documents, and that it is better than Laplacian penalties, regression on an embedding of the network (LLE) and
on principal components (PCR). The number of words (11,376), the graph (cosine of presence, 25 nearest, at least 0.10)
and the training sizes are taken from memory of the paper's set-up, whose text could not be had. What it leaves open is
decided here: words are runs of letters in lower case; labelled documents are drawn from the training part, as many of
each group; accuracy is that on all documents of the by-date test part; every method is a multinomial logistic
regression. Graph, embedding, components and idf see all documents, those of the test part too, without their labels.

Each method chooses its settings for each size by one more draw (draw 0) and 1,000 documents of the training part that
are in no draw. Values are scaled such that the mean square of a document's length is 1, so that one grid of strengths
serves all. Results are stored fit by fit in network_newsgroups.json.gz beside this file, so that a second run does
only what is missing; tables are beside it, too, and a plot in docs/images.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy.linalg
import scipy.sparse
import typer
from common import (
    beside,
    load_results,
    need,
    pin_threads,
    print_table,
    replace_file,
    save_plot,
    save_results,
    texts_and_labels,
)
from scipy.sparse.linalg import LinearOperator, eigsh
from scipy.stats import t as student
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression

from spacy_graft import GraftClassifier, Grafting
from spacy_graft.graphs.cooccurrence import Cooccurrence
from spacy_graft.graphs.graph import FeatureGraph
from spacy_graft.graphs.vocabulary import CorpusVocabulary

SIZES = (60, 100, 200, 500, 1000, 2000)
#: Draws that are tested, and documents of each group that settings are chosen on.
DRAWS, DEV_A_GROUP = 5, 50
N_WORDS = 11_376
#: Where variants are measured, rather than at every size.
ONE_SIZE = (500,)
#: β; one under which solvers are compared; α and β together, of which Laplacians want less α and more β; and the
#: numbers of dimensions.
RIDGES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
STRONG = 0.1
OF_NETWORK = ((1e-3, 1e-6), (1e-3, 1e-5), (1e-2, 1e-4))
OF_LAPLACIAN = ((1e-4, 1e-4), (1e-3, 1e-4), (1e-2, 1e-3))
DIMENSIONS = (100, 200, 400)
#: Digits of our fits: with 1e-2 those of few documents would stop early, and be up to 3 points better by that.
TOLERANCE = 1e-3
HERE = Path(__file__).parent
PLOT = HERE.parent / "docs" / "images" / "network_newsgroups.png"
Values = scipy.sparse.csr_array | np.ndarray
Setting = dict[str, float]
Result = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Corpus:
    """All documents, those of the training part first, and what is made of them without labels.

    Attributes
    ----------
    words : list of str
    present : csr_array (documents, words)
        Ones.
    labels : str (documents)
    n_train : int
        Documents of the training part.
    """

    words: list[str]
    present: scipy.sparse.csr_array
    labels: np.ndarray
    n_train: int

    @classmethod
    def read(cls, data: Path) -> Corpus:
        """The words that most documents have; of equal ones the first in the alphabet."""
        parts = [texts_and_labels(data, "20newsgroups_bydate", split) for split in ("train", "test")]
        bags = [set(re.findall("[a-z]+", text.lower())) for texts, _ in parts for text in texts]
        df = Counter(itertools.chain.from_iterable(bags))
        words = sorted(sorted(df, key=lambda word: (-df[word], word))[:N_WORDS])
        vocabulary = CorpusVocabulary(tuple((word,) for word in words))
        present = vocabulary.present([(word,) for word in bag] for bag in bags).astype(np.float64)
        return cls(words, present, np.array(parts[0][1] + parts[1][1]), len(parts[0][1]))

    @cached_property
    def presence(self) -> Values:
        return of_length_one(self.present)

    @cached_property
    def tfidf(self) -> Values:
        return scipy.sparse.csr_array(TfidfTransformer().fit_transform(self.present))

    @cached_property
    def components(self) -> Values:
        """Principal components, the largest first."""
        return of_length_one(PCA(max(DIMENSIONS), svd_solver="arpack", random_state=0).fit_transform(self.present))

    @cached_property
    def embedded(self) -> Values:
        """Sums of the words' places in the embedding of the graph; centred, which intercepts make up for."""
        sums = self.present @ embedding(self.graph, self.words, max(DIMENSIONS))
        return of_length_one(sums - sums.mean(axis=0))

    @cached_property
    def graph(self) -> FeatureGraph:
        return self.graph_of(len(self.labels))

    @cached_property
    def train_graph(self) -> FeatureGraph:
        return self.graph_of(self.n_train)

    def graph_of(self, n_documents: int) -> FeatureGraph:
        """What the first so many documents say."""
        names = tuple((word,) for word in self.words)
        return Cooccurrence(neighbours=25, minimum=0.10)(CorpusVocabulary(names, self.present[:n_documents]))

    @cached_property
    def orders(self) -> list[np.ndarray]:
        """The training documents of each group, once and for all in an order without meaning."""
        labels, rng = self.labels[: self.n_train], np.random.default_rng(0)
        return [rng.permutation(np.flatnonzero(labels == group)) for group in np.unique(labels)]

    def asked(self, draw: int) -> np.ndarray:
        """The documents that a draw is scored on: those of the test part, or the ones to choose by."""
        if draw:
            return np.arange(self.n_train, len(self.labels))
        return np.concatenate([order[:DEV_A_GROUP] for order in self.orders])

    def drawn(self, size: int, draw: int) -> np.ndarray:
        """Labelled documents, as many of each group."""
        rng, each = np.random.default_rng((size, draw)), size // len(self.orders)
        return np.concatenate([rng.permutation(order[DEV_A_GROUP:])[:each] for order in self.orders])


def of_length_one(values: Any) -> Any:
    """All values divided by one number, such that squares of documents' lengths have mean 1."""
    return values * np.sqrt(values.shape[0] / (values**2).sum())


def embedding(graph: FeatureGraph, words: Sequence[str], dimensions: int) -> np.ndarray:
    """Locally linear embedding of the words: float64 (words, dimensions), 0 for words without edges.

    Its columns are the eigenvectors of the smallest eigenvalues of (I − P)ᵀ(I − P), but for the constant one.
    """
    rows, _ = graph.penalty_rows()
    matrix = (rows.T @ rows).toarray(order="F")
    # Inverted, the smallest eigenvalues are the largest, and Lanczos finds them; the constant vector is given a large
    # one, so that it is not among them.
    matrix += 1.0 / len(matrix)
    matrix[np.diag_indices_from(matrix)] += 1e-6
    factor = scipy.linalg.cho_factor(matrix, overwrite_a=True, check_finite=False)
    inverse = LinearOperator(matrix.shape, lambda x: scipy.linalg.cho_solve(factor, x, check_finite=False))
    start = np.random.default_rng(0).normal(size=len(matrix))
    eigenvalues, eigenvectors = eigsh(inverse, dimensions, v0=start, tol=1e-4)
    numbers = {word: number for number, word in enumerate(words)}
    placed = np.zeros((len(words), dimensions))
    placed[[numbers[word] for (word,) in graph.vertices]] = eigenvectors[:, np.argsort(-eigenvalues)]
    return placed


@dataclass(frozen=True)
class Peer:
    """Multinomial logistic regression of scikit-learn.

    Attributes
    ----------
    title : str
    values : str
        An attribute of the corpus.
    dimensions : tuple of int
        How many of its columns, the first ones; all if there is nothing to choose.
    """

    title: str
    values: str
    dimensions: tuple[int, ...] = ()
    sizes: tuple[int, ...] = SIZES

    @property
    def grid(self) -> list[Setting]:
        if not self.dimensions:
            return [{"ridge": ridge} for ridge in RIDGES]
        return [{"dimensions": d, "ridge": ridge} for d in self.dimensions for ridge in RIDGES]

    def predicted(self, corpus: Corpus, train: np.ndarray, asked: np.ndarray, setting: Setting) -> np.ndarray:
        values = getattr(corpus, self.values)[:, : setting.get("dimensions")]
        model = LogisticRegression(C=0.5 / setting["ridge"], max_iter=1000)
        with warnings.catch_warnings():
            # Strengths near 0 want more iterations than they are worth.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(values[train], corpus.labels[train])
        return np.asarray(model.predict(values[asked]))


@dataclass(frozen=True)
class Ours:
    """Our ridge, with or without a network.

    Attributes
    ----------
    title : str
    graph : str, optional
        An attribute of the corpus.
    kind : str
        Of the penalty.
    values : str
        An attribute of the corpus.
    """

    title: str
    graph: str | None
    kind: Any = "mean"
    values: str = "presence"
    sizes: tuple[int, ...] = SIZES

    @property
    def grid(self) -> list[Setting]:
        if self.graph is None:
            # Under weaker ones either solver stops before the optimum, and is better or worse by that.
            return [{"ridge": STRONG}]
        pairs = OF_NETWORK if self.kind == "mean" else OF_LAPLACIAN
        return [{"alpha": alpha, "ridge": ridge} for alpha, ridge in pairs]

    def predicted(self, corpus: Corpus, train: np.ndarray, asked: np.ndarray, setting: Setting) -> np.ndarray:
        values, alpha = getattr(corpus, self.values), setting.get("alpha", 0.0)
        learner = Grafting(
            penalty="l2", ridge=setting["ridge"], tol=TOLERANCE, network_alpha=alpha, network_kind=self.kind
        )
        network = None if self.graph is None else Given(getattr(corpus, self.graph))
        labels = corpus.labels[train].tolist()
        model = GraftClassifier(learner).fit(values[train], labels, names=corpus.words, network=network)
        return np.array(model.predict(values[asked]))


@dataclass(frozen=True)
class Shipped:
    """The settings of configs/network.cfg, chosen among four by trials that were scored on test documents."""

    title: str
    sizes: tuple[int, ...] = SIZES

    @property
    def grid(self) -> list[Setting]:
        return [{}]

    def predicted(self, corpus: Corpus, train: np.ndarray, asked: np.ndarray, setting: Setting) -> np.ndarray:
        learner = Grafting(
            penalty="l2", ridge=0.1, penalty_weights="ratio_idf", length_normalisation=True, balance=0.5, tol=1e-4
        )
        values = scipy.sparse.csr_array(corpus.presence != 0.0, dtype=np.float64)
        labels = corpus.labels[train].tolist()
        model = GraftClassifier(learner).fit(values[train], labels, names=corpus.words, network=Given(corpus.graph))
        return np.array(model.predict(values[asked]))


@dataclass(frozen=True)
class Given:
    """A builder of a graph that is there already."""

    graph: FeatureGraph

    def __call__(self, _: CorpusVocabulary) -> FeatureGraph:
        return self.graph


METHODS: dict[str, Peer | Ours | Shipped] = {
    "ridge": Peer("ridge", "presence"),
    "network": Ours("network", "graph"),
    "laplacian": Ours("Laplacian", "graph", "laplacian"),
    "normalised": Ours("normalised Laplacian", "graph", "normalised_laplacian"),
    "lle": Peer("LLE regression", "embedded", DIMENSIONS),
    "pcr": Peer("PCR", "components", DIMENSIONS),
    "tfidf": Peer("ridge, tf-idf", "tfidf"),
    "tfidf_network": Ours("network, tf-idf", "graph", values="tfidf", sizes=ONE_SIZE),
    "our_ridge": Ours("ridge, our solver", None, sizes=ONE_SIZE),
    "shipped": Shipped("network, configs/network.cfg"),
    "train_graph": Ours("network of the training part alone", "train_graph", sizes=ONE_SIZE),
}
#: Which differences are told.
COMPARED = (
    *(("network", other) for other in ("ridge", "laplacian", "normalised", "lle", "pcr", "tfidf")),
    ("tfidf_network", "tfidf"),
    ("shipped", "tfidf"),
    ("our_ridge", "ridge"),
    ("network", "train_graph"),
)


@dataclass
class Results:
    """Accuracies and CPU seconds of every fit.

    Attributes
    ----------
    path : Path
    fits : dict
        By the names of :meth:`key`.
    """

    path: Path
    fits: dict[str, Result] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Results:
        return cls(path, load_results(path))

    @staticmethod
    def key(size: int, name: str, draw: int, setting: Setting) -> str:
        return f"{size:04}; {name}; draw {draw}; {written(setting)}"

    def enter(self, key: str, result: Result) -> None:
        self.fits[key] = result
        save_results(self.path, self.fits)

    def chosen(self, size: int, name: str) -> Setting:
        """The setting of the best accuracy on draw 0, the first of equal ones."""
        return max(METHODS[name].grid, key=lambda setting: self.fits[self.key(size, name, 0, setting)]["accuracy"])

    def has(self, size: int, name: str) -> bool:
        """Whether a method is complete at a size."""
        grid = METHODS[name].grid
        if any(self.key(size, name, 0, setting) not in self.fits for setting in grid):
            return False
        chosen = self.chosen(size, name)
        return all(self.key(size, name, draw, chosen) in self.fits for draw in range(1, DRAWS + 1))

    def of_draws(self, size: int, name: str, what: str) -> np.ndarray:
        setting = self.chosen(size, name)
        return np.array([self.fits[self.key(size, name, draw, setting)][what] for draw in range(1, DRAWS + 1)])


def written(setting: Setting) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in setting.items())


def measured(corpus: Corpus, name: str, size: int, draw: int, setting: Setting) -> Result:
    """One fit, scored on what its draw asks."""
    train, asked = corpus.drawn(size, draw), corpus.asked(draw)
    start = time.process_time()
    predicted = METHODS[name].predicted(corpus, train, asked, setting)
    seconds = time.process_time() - start
    return {"accuracy": round(float((predicted == corpus.labels[asked]).mean()), 6), "seconds": round(seconds, 3)}


def prepare(corpus: Corpus, say: Callable[[str], None]) -> None:
    """Make what documents without labels give, so that fits are timed without it, and compile everything."""
    for what in ("graph", "train_graph", "embedded", "components", "tfidf"):
        start = time.process_time()
        getattr(corpus, what)
        say(f"{what}: {time.process_time() - start:.1f} CPU s")
    say(f"graph: {corpus.graph.report}")
    for name in ("network", "our_ridge"):
        measured(corpus, name, min(SIZES), 0, METHODS[name].grid[-1])


def missing(results: Results) -> list[tuple[int, str]]:
    """Sizes and methods that are not complete, variants last."""
    cells = sorted(itertools.product(SIZES, METHODS), key=lambda cell: METHODS[cell[1]].sizes != SIZES)
    return [(size, name) for size, name in cells if size in METHODS[name].sizes and not results.has(size, name)]


def complete(corpus: Corpus, results: Results, size: int, name: str) -> None:
    """Choose a setting and test it on every draw, but for fits that are there."""
    for setting in METHODS[name].grid:
        measure_missing(corpus, results, name, size, 0, setting)
    for draw in range(1, DRAWS + 1):
        measure_missing(corpus, results, name, size, draw, results.chosen(size, name))


def measure_missing(corpus: Corpus, results: Results, name: str, size: int, draw: int, setting: Setting) -> None:
    key = results.key(size, name, draw, setting)
    if key not in results.fits:
        results.enter(key, measured(corpus, name, size, draw, setting))


def by_size(name: str, cell: Callable[[int], str]) -> list[str]:
    return [cell(size) if size in METHODS[name].sizes else "" for size in SIZES]


def accuracy_rows(results: Results) -> list[list[str]]:
    """Mean and standard deviation over draws, in per cent."""

    def cell(name: str, size: int) -> str:
        found = 100.0 * results.of_draws(size, name, "accuracy")
        return f"{found.mean():.1f} ± {found.std(ddof=1):.1f}"

    return [[m.title, *by_size(name, lambda size, name=name: cell(name, size))] for name, m in METHODS.items()]


def difference(results: Results, one: str, other: str, size: int) -> str:
    """Mean of the paired differences in points, and its 95% interval by Student's t."""
    gained = 100.0 * (results.of_draws(size, one, "accuracy") - results.of_draws(size, other, "accuracy"))
    reach = student.ppf(0.975, DRAWS - 1) * gained.std(ddof=1) / np.sqrt(DRAWS)
    return f"{gained.mean():+.1f} ({gained.mean() - reach:+.1f} to {gained.mean() + reach:+.1f})"


def difference_rows(results: Results) -> list[list[str]]:
    rows = []
    for one, other in COMPARED:
        sizes = set(METHODS[one].sizes) & set(METHODS[other].sizes)
        told = [difference(results, one, other, size) if size in sizes else "" for size in SIZES]
        rows.append([f"{METHODS[one].title} − {METHODS[other].title}", *told])
    return rows


def setting_rows(results: Results) -> list[list[str]]:
    """What was chosen, and CPU seconds of one fit and its test, mean over draws."""

    def cell(name: str, size: int) -> str:
        return f"{written(results.chosen(size, name))}: {results.of_draws(size, name, 'seconds').mean():.1f} s"

    return [[m.title, *by_size(name, lambda size, name=name: cell(name, size))] for name, m in METHODS.items()]


def tables(results: Results) -> str:
    out = io.StringIO()
    sizes = [f"{size:,}" for size in SIZES]
    with contextlib.redirect_stdout(out):
        header = ["method", *sizes]
        print_table(f"Accuracy in %, mean ± standard deviation of {DRAWS} draws", header, accuracy_rows(results))
        title = "Paired differences in points, with 95% intervals over draws"
        print_table(title, ["difference", *sizes], difference_rows(results))
        print_table("Settings chosen; CPU seconds of a fit with its test", header, setting_rows(results))
    return out.getvalue()


def plot(results: Results, path: Path) -> None:
    """Mean accuracies with standard deviations."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams["font.size"] = 9
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 4.4), layout="constrained")
    for name, method in METHODS.items():
        if method.sizes != SIZES:
            continue
        found = np.array([100.0 * results.of_draws(size, name, "accuracy") for size in SIZES])
        style = "--" if getattr(method, "values", "") == "tfidf" else "-"
        means, deviations = found.mean(axis=1), found.std(axis=1, ddof=1)
        axes.errorbar(SIZES, means, deviations, fmt=f"{style}o", markersize=3, capsize=2, lw=1, label=method.title)
    axes.set(xscale="log", xlabel="labelled documents", ylabel="accuracy in %, 20 newsgroups, test")
    axes.set_xticks(SIZES, [f"{size:,}" for size in SIZES])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    save_plot(figure, path)
    pyplot.close(figure)


def main(
    data: Annotated[Path, typer.Option(help="Folder of the data sets.")],
    path: Annotated[Path, typer.Option("--results", help="Where results are; tables beside it.")] = HERE
    / "network_newsgroups.json.gz",
) -> None:
    """Measure what is missing; write tables and plot."""
    need("matplotlib", "sklearn")
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    pin_threads()
    results = Results.load(path)
    corpus, jobs = Corpus.read(data), missing(results)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns) as progress:
        bar = progress.add_task("what needs no labels", total=len(jobs))
        if jobs:
            prepare(corpus, lambda line: progress.console.print(line, soft_wrap=True))
        for size, name in jobs:
            progress.update(bar, description=f"{size:,} documents, {METHODS[name].title}")
            complete(corpus, results, size, name)
            progress.advance(bar)
    replace_file(beside(path, ".md"), tables(results).encode("utf8"))
    plot(results, PLOT)


if __name__ == "__main__":
    typer.run(main)
