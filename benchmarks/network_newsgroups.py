"""Networks of words on 20 newsgroups: Figure 1 of Sandler, Talukdar, Ungar & Blitzer (NIPS 2008), both panels.

    python benchmarks/network_newsgroups.py --data DATA

What is measured, and how, is said in network_newsgroups.md, which is written from network_newsgroups.json.gz, both
beside this file; the plot is in docs/images. Each fit is stored at once, so that a second run does only what is
missing.
"""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy.linalg
import scipy.sparse
import typer
from common import (
    DataFolder,
    beside,
    load_results,
    machine,
    need,
    pin_threads,
    print_rows,
    save_plot,
    save_results,
    write_page,
)
from common import texts_and_labels as read
from network_peers import WEIGHTED, mean_and_deviation, regression, told, with_commas, written
from scipy.sparse.linalg import LinearOperator, cg, eigsh

from spacy_graft import GraftClassifier, Grafting
from spacy_graft.graphs.cooccurrence import Cooccurrence
from spacy_graft.graphs.graph import FeatureGraph
from spacy_graft.graphs.vocabulary import CorpusVocabulary

SIZES, UNBALANCED = (60, 100, 200, 500, 1000, 2000), (100, 200, 500, 1000)
LAPLACIAN_SIZES, WEIGHTED_SIZES = SIZES[:4], SIZES[:1]
#: Draws that are tested, and documents of each group that settings are chosen on.
DRAWS, DEV_A_GROUP = 5, 50
#: Sizes that settings are chosen at, and those of Laplacians; between them a size has the settings of the smaller one.
CHOICES, LAPLACIAN_CHOICES = (100, 500), (100, 200, 500)
#: Least number of documents of a word: in the paper, in that of local and global consistency, in configs/network.cfg.
MIN_DF, CONSISTENCY_MIN_DF, RARE_MIN_DF = 20, 6, 5
#: β, and α with β, in units of values log(1 + count); Laplacians want more β.
RIDGES = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)
OF_NETWORK = ((0.1, 0.01), (0.1, 0.001), (1.0, 0.1), (1.0, 0.01), (1.0, 0.001), (10.0, 0.1), (10.0, 0.01))
OF_LAPLACIAN = ((0.01, 0.001), (0.1, 0.01), (1.0, 0.1), (10.0, 10.0), (10.0, 100.0), (100.0, 100.0))
#: Eigenvectors of LLE and PCR.
DIMENSIONS = 200
#: Digits of our fits.
TOLERANCE = 1e-3
#: Local and global consistency: neighbours, width of the kernel, share of the neighbours.
NEIGHBOURS, WIDTH, SPREAD = 10, 0.15, 0.99
#: ASO: ridge of the auxiliary problems (a document has length 1), the largest number of problems of one kind, the share
#: of the ridge that the weights of the shared structure pay, and its possible dimensions.
AUXILIARY_RIDGE, MOST_PROBLEMS, SHARED_RIDGE, SHARED_DIMENSIONS = 1.0, 500, 0.01, (50, 100, 200)
HERE = Path(__file__).parent
PLOT = HERE.parent / "docs" / "images" / "network_newsgroups.png"
Values = scipy.sparse.csr_array
Setting = dict[str, float]
Result = dict[str, float]


@dataclass(frozen=True, eq=False)
class Corpus:
    """All documents, those of the training part first, and what is made of them without labels.

    Attributes
    ----------
    words : str (words)
    counts : csr_array (documents, words)
    labels : str (documents)
    n_train : int
        Documents of the training part.
    """

    words: np.ndarray
    counts: Values
    labels: np.ndarray
    n_train: int

    @classmethod
    def read(cls, data: Path) -> Corpus:
        from sklearn.feature_extraction.text import CountVectorizer

        parts = [read(data, "20newsgroups_bydate", split) for split in ("train", "test")]
        counter = CountVectorizer(token_pattern="[a-z]{2,}", min_df=RARE_MIN_DF)
        counts = Values(counter.fit_transform(text for texts, _ in parts for text in texts), dtype=np.float64)
        labels = np.array(parts[0][1] + parts[1][1])
        return cls(counter.get_feature_names_out(), counts, labels, len(parts[0][1]))

    def with_words(self, min_df: int, stop_words: bool = False) -> Corpus:
        """The same with fewer words."""
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        frequent = np.bincount(self.counts.indices, minlength=len(self.words)) >= min_df
        kept = np.flatnonzero(frequent & (stop_words | ~np.isin(self.words, list(ENGLISH_STOP_WORDS))))
        return replace(self, words=self.words[kept], counts=self.counts[:, kept])

    @cached_property
    def paper(self) -> Corpus:
        return self.with_words(MIN_DF)

    @cached_property
    def frequent(self) -> Corpus:
        return self.with_words(MIN_DF, stop_words=True)

    @cached_property
    def document_graph(self) -> Values:
        return neighbours(self.with_words(CONSISTENCY_MIN_DF).counts)

    @cached_property
    def logs(self) -> Values:
        return self.counts.log1p()

    @cached_property
    def tfidf(self) -> Values:
        from sklearn.feature_extraction.text import TfidfTransformer

        return Values(TfidfTransformer(sublinear_tf=True).fit_transform(self.counts))

    @cached_property
    def graph(self) -> FeatureGraph:
        names = tuple((word,) for word in self.words)
        return Cooccurrence(neighbours=25, minimum=0.10)(CorpusVocabulary(names, self.counts))

    @cached_property
    def components(self) -> np.ndarray:
        """Values on the largest right singular vectors."""
        from sklearn.decomposition import TruncatedSVD

        return TruncatedSVD(DIMENSIONS, random_state=0).fit_transform(self.logs)

    @cached_property
    def embedded(self) -> np.ndarray:
        """Values on the embedding of the words, of the same mean square as the values themselves."""
        sums = self.logs @ embedding(self.graph, self.words, DIMENSIONS)
        return sums * np.sqrt((self.logs.data**2).sum() / (sums**2).sum())

    @cached_property
    def halves(self) -> list[Half]:
        """The words in two parts at random, each of which is predicted from the other."""
        from sklearn.preprocessing import normalize

        order = np.random.default_rng(0).permutation(len(self.words))
        values = Values(normalize(self.logs))
        return [Half(values[:, chosen], self.counts[:, chosen]) for chosen in np.array_split(order, 2)]

    @cached_property
    def orders(self) -> list[np.ndarray]:
        """The training documents of each group, once and for all in an order without meaning."""
        labels, rng = self.labels[: self.n_train], np.random.default_rng(0)
        return [rng.permutation(np.flatnonzero(labels == group)) for group in np.unique(labels)]

    @cached_property
    def held_out(self) -> np.ndarray:
        """The documents that settings are chosen on; no draw has them."""
        return np.concatenate([order[:DEV_A_GROUP] for order in self.orders])

    def drawn(self, size: int, draw: int, balanced: bool) -> np.ndarray:
        """Labelled documents of the training part, as many of each group if ``balanced``."""
        rng, pools = np.random.default_rng((size, draw)), [order[DEV_A_GROUP:] for order in self.orders]
        if balanced:
            return np.concatenate([rng.permutation(pool)[: size // len(pools)] for pool in pools])
        return rng.permutation(np.concatenate(pools))[:size]

    def accuracies(self, predicted: np.ndarray, train: np.ndarray, draw: int) -> Result:
        """Of draw 0 on the documents held out, of others on the test part and on the rest of the training part."""
        right = predicted == self.labels
        if not draw:
            return {"held_out": float(right[self.held_out].mean())}
        rest = np.setdiff1d(np.arange(self.n_train), np.concatenate([train, self.held_out]))
        return {"test": float(right[self.n_train :].mean()), "rest": float(right[rest].mean())}


@dataclass(frozen=True, eq=False)
class Half:
    """Part of the words, for the auxiliary problems of ASO.

    Attributes
    ----------
    values : csr_array (documents, words)
    counts : csr_array (documents, words)
    """

    values: Values
    counts: Values

    @cached_property
    def factor(self) -> Any:
        gram = (self.values.T @ self.values).toarray()
        gram[np.diag_indices_from(gram)] += AUXILIARY_RIDGE
        return scipy.linalg.cho_factor(gram, overwrite_a=True, check_finite=False)

    @cached_property
    def commonest(self) -> np.ndarray:
        """The most frequent word of each document: int64 (documents)."""
        return np.asarray(self.counts.argmax(axis=1)).ravel()

    def two_best(self, labels: np.ndarray, train: np.ndarray) -> np.ndarray:
        """The two labels that a classifier of these words holds most likely, as one number: int64 (documents)."""
        model = regression(self.values[train], labels[train], ridge=0.01)
        first, second = np.sort(np.argsort(-model.decision_function(self.values), axis=1)[:, :2]).T
        return first * len(model.classes_) + second


@lru_cache(maxsize=2)
def structure(half: Half, problems: bytes) -> np.ndarray:
    """Left singular vectors of the positive weights that predict, by least squares, each document's problem.

    ``problems`` has the number of the problem whose answer is yes for a document, as int64. Returns float64 (words,
    dimensions).
    """
    _, targets = np.unique(np.frombuffer(problems, np.int64), return_inverse=True)
    common = np.argsort(-np.bincount(targets), kind="stable")[:MOST_PROBLEMS]
    yes = Values((np.ones(len(targets)), (np.arange(len(targets)), targets)))[:, common]
    weights = scipy.linalg.cho_solve(half.factor, (half.values.T @ yes).toarray(), check_finite=False)
    weights = np.maximum(weights, 0.0)
    squares, right = np.linalg.eigh(weights.T @ weights)
    best = np.argsort(-squares)[: min(max(SHARED_DIMENSIONS), int((squares > 1e-9 * squares.max()).sum()))]
    return np.asarray(weights @ right[:, best] / np.sqrt(squares[best]))


def neighbours(counts: Values) -> Values:
    """D^-½ W D^-½ over documents and their nearest neighbours (Zhou et al. 2004)."""
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.neighbors import NearestNeighbors

    values = TfidfTransformer().fit_transform(counts)
    near = NearestNeighbors(n_neighbors=NEIGHBOURS, metric="cosine", algorithm="brute").fit(values)
    edges = Values(near.kneighbors_graph(mode="distance"))
    edges.data = np.exp(-(edges.data**2) / (2.0 * WIDTH**2))
    edges = edges.maximum(edges.T)
    scale = scipy.sparse.diags_array(1.0 / np.sqrt(np.maximum(edges.sum(axis=1), 1e-300)))
    return Values(scale @ edges @ scale)


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
    _, eigenvectors = eigsh(inverse, dimensions, v0=start, tol=1e-4)
    numbers = {word: number for number, word in enumerate(words)}
    placed = np.zeros((len(words), dimensions))
    placed[[numbers[word] for (word,) in graph.vertices]] = eigenvectors
    return placed


#: Predicts the labels of all documents from the labels of some.
Predictor = Callable[[Corpus, np.ndarray, Setting], np.ndarray]


def scikit_learn(values: Callable[[Corpus], Any]) -> Predictor:
    """Logistic regression."""

    def predicted(corpus: Corpus, train: np.ndarray, setting: Setting) -> np.ndarray:
        model = regression(values(corpus)[train], corpus.labels[train], setting["ridge"])
        return np.asarray(model.predict(values(corpus)))

    return predicted


def ours(kind: Any) -> Predictor:
    """Ridge and a network penalty of this kind."""

    def predicted(corpus: Corpus, train: np.ndarray, setting: Setting) -> np.ndarray:
        # Values are at most 1; weights times the largest, and strengths over its square, are the same model.
        paper, largest = corpus.paper, corpus.paper.logs.max()
        strengths = {name: strength / largest**2 for name, strength in setting.items()}
        learner = Grafting(
            penalty="l2", ridge=strengths["ridge"], network_alpha=strengths["alpha"], network_kind=kind, tol=TOLERANCE
        )
        return fitted(learner, paper.logs / largest, paper, train, paper.graph)

    return predicted


def fitted(learner: Grafting, values: Values, corpus: Corpus, train: np.ndarray, graph: FeatureGraph) -> np.ndarray:
    """What our model predicts for all documents."""
    model = GraftClassifier(learner)
    model.fit(values[train], corpus.labels[train].tolist(), names=corpus.words.tolist(), network=lambda _: graph)
    return np.array(model.predict(values))


def weighted(words: Callable[[Corpus], Corpus]) -> Predictor:
    """The network with the penalty and document weights of configs/network.cfg, over some of the words."""

    def predicted(corpus: Corpus, train: np.ndarray, setting: Setting) -> np.ndarray:
        its = words(corpus)
        return fitted(WEIGHTED, Values(its.counts > 0.0, dtype=np.float64), its, train, its.graph)

    return predicted


def consistency(corpus: Corpus, train: np.ndarray, setting: Setting) -> np.ndarray:
    """Local and global consistency: F = (I − α S)⁻¹ Y."""
    names, numbers = np.unique(corpus.labels[train], return_inverse=True)
    known = np.zeros((len(corpus.labels), len(names)))
    known[train, numbers] = 1.0
    system = scipy.sparse.eye_array(len(known)) - SPREAD * corpus.document_graph
    return np.asarray(names[np.argmax([cg(system, column, rtol=1e-6)[0] for column in known.T], axis=0)])


def alternating_structure(problems: Callable[[Half, Corpus, np.ndarray], np.ndarray]) -> Predictor:
    """ASO with one kind of auxiliary problems: those of each half of the words, predicted from the other half."""

    def predicted(corpus: Corpus, train: np.ndarray, setting: Setting) -> np.ndarray:
        halves = corpus.paper.halves
        shared = [
            half.values @ structure(half, problems(other, corpus, train).tobytes())[:, : int(setting["dimensions"])]
            for half, other in (halves, halves[::-1])
        ]
        # Weights of values times c pay 1 / c² of the ridge.
        parts = [*(half.values for half in halves), np.hstack(shared) / np.sqrt(SHARED_RIDGE)]
        values = Values(scipy.sparse.hstack(parts, format="csr"))
        return np.asarray(regression(values[train], corpus.labels[train], setting["ridge"]).predict(values))

    return predicted


@dataclass(frozen=True)
class Method:
    """What is compared.

    Attributes
    ----------
    title : str
    predicted : Predictor
    grid : tuple of dicts
        Settings to choose from.
    sizes : tuple of int
    balanced : bool
        Whether as many labelled documents are drawn of each group.
    choices : tuple of int
        Sizes that settings are chosen at.
    """

    title: str
    predicted: Predictor
    grid: tuple[Setting, ...] = ({},)
    sizes: tuple[int, ...] = SIZES
    balanced: bool = True
    choices: tuple[int, ...] = CHOICES

    def choice(self, size: int) -> int:
        return max((choice for choice in self.choices if choice <= size), default=self.choices[0])


OF_RIDGE = tuple({"ridge": ridge} for ridge in RIDGES)
OF_ASO = tuple({"dimensions": d, "ridge": ridge} for d in SHARED_DIMENSIONS for ridge in (1e-4, 1e-3, 1e-2))
NETWORKS, LAPLACIANS = (
    tuple({"alpha": alpha, "ridge": ridge} for alpha, ridge in pairs) for pairs in (OF_NETWORK, OF_LAPLACIAN)
)
METHODS = {
    "ridge": Method("ridge", scikit_learn(lambda corpus: corpus.paper.logs), OF_RIDGE, choices=SIZES),
    "network": Method("network", ours("mean"), NETWORKS),
    "lle": Method("LLE regression", scikit_learn(lambda corpus: corpus.paper.embedded), OF_RIDGE),
    "pcr": Method("PCR", scikit_learn(lambda corpus: corpus.paper.components), OF_RIDGE, choices=SIZES),
    "normalised": Method(
        "normalised Laplacian",
        ours("normalised_laplacian"),
        LAPLACIANS,
        sizes=LAPLACIAN_SIZES,
        choices=LAPLACIAN_CHOICES,
    ),
    "laplacian": Method("Laplacian", ours("laplacian"), LAPLACIANS, sizes=LAPLACIAN_SIZES, choices=LAPLACIAN_CHOICES),
    "consistency": Method("local/global consistency", consistency, sizes=UNBALANCED, balanced=False),
    "aso_words": Method(
        "ASO, most frequent word", alternating_structure(lambda half, *_: half.commonest), OF_ASO, UNBALANCED, False
    ),
    "aso_labels": Method(
        "ASO, two best labels",
        alternating_structure(lambda half, corpus, train: half.two_best(corpus.labels, train)),
        OF_ASO,
        UNBALANCED,
        False,
    ),
    "unbalanced": Method("network", ours("mean"), NETWORKS, UNBALANCED, False),
    "tfidf": Method("tf-idf + LR", scikit_learn(lambda corpus: corpus.tfidf), OF_RIDGE),
    "weighted20": Method(f"network, ratio_idf, min_df = {MIN_DF}", weighted(lambda corpus: corpus.frequent)),
    "weighted": Method("network, ratio_idf, min_df = 5", weighted(lambda corpus: corpus), sizes=WEIGHTED_SIZES),
}
#: The panels of the figure, and a table for users.
LEFT = ("network", "lle", "pcr", "normalised", "laplacian", "ridge")
RIGHT = ("unbalanced", "consistency", "aso_words", "aso_labels")
USERS = ("tfidf", "weighted20", "weighted")
#: Where results keep what is known of the corpus.
CORPUS = "corpus"
#: What accuracy is measured on.
PARTS = {"rest": "the other documents of the training part", "test": "the by-date test part"}

INTRODUCTION = f"""# Networks of words on 20 newsgroups

Written by `python benchmarks/network_newsgroups.py --data DATA` from `network_newsgroups.json.gz`; not to be edited.
{{machine}}

Figure 1 of Sandler, Talukdar, Ungar & Blitzer (NIPS 2008), as the paper did it: 20 classes, values log(1 + count),
words of at least {MIN_DF} documents without stop words; a graph by cosine of presence over all documents, without
labels (25 nearest, at least 0.10, weights = cosines, rows divided by their sums); logistic regression everywhere;
{DRAWS} draws of labelled documents a size, as many of each group on the left, any on the right.

What the paper leaves open, or what we did otherwise:

* **Documents and words.** Words are two letters or more, in lower case, of the subject and the text; stop words are
  scikit-learn's.
* **Test documents.** The paper does not name them. All labelled documents are from the training part of the by-date
  split. *Random*: accuracy on the rest of the training part, the documents of the same time, which we take for the
  paper's way. *By date*: accuracy on the test part, written later.
* **Settings** are chosen on one more draw, scored on {20 * DEV_A_GROUP:,} documents of the training part that are in no
  draw: of every size for ridge and PCR, else of {CHOICES[0]} documents for sizes below {CHOICES[1]} and of {CHOICES[1]}
  for the others (Laplacians: also of {LAPLACIAN_CHOICES[1]}). The paper chose α and β by cross-validation on the
  training set. The number of eigenvectors of LLE and PCR, {DIMENSIONS}, is the paper's, chosen there on the test set.
* **Laplacians** are measured up to {LAPLACIAN_SIZES[-1]} documents, over a small grid of α and β.
* **Solver.** Network and Laplacians are our `Grafting` with `penalty = "l2"` to {TOLERANCE:g} of the gradient at zero
  weights, the others are scikit-learn's L-BFGS. Strengths are in units of the paper's formula (1).
* **Local and global consistency** (Zhou et al. 2004): tf-idf over words of at least {CONSISTENCY_MIN_DF} documents, not
  stemmed; edges exp(−(1 − cosine)² / 2σ²) with σ = {WIDTH}, {NEIGHBOURS} neighbours as in the paper, α = {SPREAD}.
* **ASO** (Ando & Zhang 2005), which the paper quotes and does not run: ours, one SVD, with two kinds of auxiliary
  problems. Words are divided into two random halves; from one of them is predicted, by least squares, which word of the
  other is the most frequent of the document, or which two labels a classifier of the other half holds most likely. The
  singular vectors of the positive weights give {" or ".join(map(str, SHARED_DIMENSIONS))} further values a half, whose
  weights pay {SHARED_RIDGE:.0%} of the ridge. The first kind needs no labels.

± in tables of accuracy: standard deviation over draws. Differences are paired by draw, in points, with 95% intervals of
Student's t over draws, in bold where that leaves 0 out. The paper gives its accuracies in a plot without numbers, whose
axis is from 30 to 80%.
"""


class Results:
    """Accuracies and CPU seconds of every fit, stored at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fits: dict[str, Result] = load_results(path)

    @staticmethod
    def key(name: str, size: int, draw: int, setting: Setting) -> str:
        return f"{name}; {size}; draw {draw}; {written(setting)}"

    def chosen(self, name: str, size: int) -> Setting:
        """The setting of the best accuracy on draw 0, the first of equal ones."""
        method = METHODS[name]
        if len(method.grid) == 1:
            return method.grid[0]
        at = method.choice(size)
        return max(method.grid, key=lambda setting: self.fits[self.key(name, at, 0, setting)]["held_out"])

    def column(self, name: str, size: int, what: str) -> np.ndarray:
        """A figure of all draws at the chosen setting: float64 (draws)."""
        setting = self.chosen(name, size)
        return np.array([self.fits[self.key(name, size, draw, setting)][what] for draw in range(1, DRAWS + 1)])

    def enter(self, key: str, result: Result) -> None:
        self.fits[key] = result
        save_results(self.path, self.fits)

    def lacks(self, name: str, size: int) -> bool:
        """Whether a method is not complete at a size; the last draw is measured last."""
        try:
            return not self.column(name, size, "seconds").size
        except KeyError:
            return True

    def complete(self, corpus: Corpus, name: str, size: int) -> None:
        """Choose a setting and test it on every draw, but for fits that are there."""
        method = METHODS[name]
        if len(method.grid) > 1:
            for setting in method.grid:
                self._measure(corpus, name, method.choice(size), 0, setting)
        for draw in range(1, DRAWS + 1):
            self._measure(corpus, name, size, draw, self.chosen(name, size))

    def _measure(self, corpus: Corpus, name: str, size: int, draw: int, setting: Setting) -> None:
        key = self.key(name, size, draw, setting)
        if key not in self.fits:
            method = METHODS[name]
            train = corpus.drawn(size, draw, method.balanced)
            start = time.process_time()
            predicted = method.predicted(corpus, train, setting)
            seconds = time.process_time() - start
            self.enter(key, corpus.accuracies(predicted, train, draw) | {"seconds": round(seconds, 3)})


def prepare(corpus: Corpus) -> Result:
    """Make what documents without labels give, so that fits are timed without it, and compile everything.

    Returns figures of it, with CPU seconds.
    """
    seconds = {}
    for whose, what in (
        (corpus, "document_graph"), (corpus.paper, "graph"), (corpus.paper, "components"), (corpus.paper, "embedded"),
    ):  # fmt: skip
        start = time.process_time()
        getattr(whose, what)
        seconds[what] = round(time.process_time() - start, 1)
    METHODS["network"].predicted(corpus, corpus.drawn(min(SIZES), 0, True), NETWORKS[0])
    edges = corpus.paper.graph.report["edges"]["similar"]
    return {"words": len(corpus.paper.words), "documents": len(corpus.labels), "edges": edges} | seconds


def accuracy_rows(results: Results, names: Sequence[str], part: str) -> Iterator[list[str]]:
    for name in names:
        method, sizes = METHODS[name], METHODS[names[0]].sizes
        cells = [mean_and_deviation(results.column(name, size, part)) if size in method.sizes else "" for size in sizes]
        yield [method.title, *cells]


def difference_rows(results: Results, names: Sequence[str], part: str) -> Iterator[list[str]]:
    """The first method minus each of the others."""
    first, *others = names
    for other in others:
        cells = [
            told(results.column(first, size, part) - results.column(other, size, part))
            if size in METHODS[other].sizes
            else ""
            for size in METHODS[first].sizes
        ]
        yield [f"{METHODS[first].title} − {METHODS[other].title}", *cells]


def claim_rows(results: Results) -> Iterator[list[str]]:
    """The paper's numbers beside ours."""
    for part, words in (("rest", "random"), ("test", "by date")):
        pairs = [[results.column(name, size, part).mean() for name in ("network", "ridge")] for size in SIZES]
        gains = [f"{100.0 * (network - ridge):+.1f}" for network, ridge in pairs]
        reductions = [f"{(network - ridge) / (1.0 - ridge):.0%}" for network, ridge in pairs]
        yield [f"network − ridge, points, {words}", "+4 to +17", *gains]
        yield [f"reduction of ridge's errors, {words}", "17% to 30%", *reductions]
    settings = [results.chosen("network", size) for size in SIZES]
    yield ["α : β", "about 100 : 1", *(f"{s['alpha'] / s['ridge']:g} : 1" for s in settings)]
    seconds = [results.column("network", size, "seconds").mean() for size in SIZES]
    yield ["seconds to learn a model (ours: CPU, with predictions)", "30 to 120", *(f"{s:.1f}" for s in seconds)]


def setting_rows(results: Results) -> Iterator[list[str]]:
    """What was chosen, and CPU seconds of one fit with its predictions, mean over draws."""
    for name, method in METHODS.items():
        cells = {
            size: f"{written(results.chosen(name, size))}; {results.column(name, size, 'seconds').mean():.1f} s"
            for size in method.sizes
        }
        drawn = "" if method.balanced else ", right panel"
        yield [method.title + drawn, *(cells.get(size, "").removeprefix("; ") for size in SIZES)]


def print_panel(results: Results, title: str, names: Sequence[str]) -> None:
    heads = with_commas(METHODS[names[0]].sizes)
    print(f"\n## {title}")
    for part, words in PARTS.items():
        print(f"\nAccuracy in %, {words}:\n")
        print_rows(["method", *heads], accuracy_rows(results, names, part))
        print("\nDifferences:\n")
        print_rows(["difference", *heads], difference_rows(results, names, part))


def write(results: Results, page: Path) -> None:
    """The page."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print(INTRODUCTION.replace("{machine}", machine()))
        here = results.fits[CORPUS]
        told_there = {"words": "11,376", "documents": "20,000", "edges": "not told"}
        print_rows(["", "paper", "here"], ([what, paper, f"{here[what]:,}"] for what, paper in told_there.items()))
        print("\n## The paper's numbers\n")
        print_rows(["figure", "paper, all sizes", *with_commas(SIZES)], claim_rows(results))
        print(f"\n![Accuracy by labelled documents](../docs/images/{PLOT.name})")
        print_panel(results, "Left panel", LEFT)
        print_panel(results, "Right panel", RIGHT)
        print_panel(results, "Beyond the paper: penalty and document weights, and tf-idf with LR", USERS)
        print(f"\nAll with stop words; tf-idf over words of {RARE_MIN_DF} documents or more.")
        print("\n## Settings chosen; CPU seconds of a fit with the predictions of all documents\n")
        print_rows(["method", *with_commas(SIZES)], setting_rows(results))
    write_page(page, out.getvalue())


def plot(results: Results, path: Path) -> None:
    """Mean accuracies with standard deviations, the paper's panels and axis."""
    import matplotlib
    from matplotlib import pyplot

    matplotlib.use("agg")
    matplotlib.rcParams["font.size"] = 8
    figure, panels = pyplot.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
    for axes, names in zip(panels, (LEFT, RIGHT), strict=True):
        sizes = METHODS[names[0]].sizes
        for name in names:
            drawn = [size for size in sizes if size in METHODS[name].sizes]
            found = np.array([100.0 * results.column(name, size, "rest") for size in drawn])
            means, deviations = found.mean(axis=1), found.std(axis=1, ddof=1)
            axes.errorbar(drawn, means, deviations, fmt="-o", markersize=3, capsize=2, lw=1, label=METHODS[name].title)
        axes.set(xscale="log", xlabel="labelled documents")
        axes.set_xticks(sizes, with_commas(sizes))
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
    panels[0].set_ylabel("accuracy in %, 20 newsgroups")
    save_plot(figure, path)
    pyplot.close(figure)


def main(
    data: DataFolder,
    path: Annotated[Path, typer.Option("--results", help="Where results are; the page is beside it.")] = HERE
    / "network_newsgroups.json.gz",
) -> None:
    """Measure what is missing; write the page and the plot."""
    need("matplotlib", "sklearn")
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    pin_threads()
    results = Results(path)
    jobs = [(name, size) for name, its in METHODS.items() for size in its.sizes if results.lacks(name, size)]
    if jobs:
        corpus = Corpus.read(data)
        results.enter(CORPUS, prepare(corpus))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns) as progress:
        bar = progress.add_task("", total=len(jobs))
        for name, size in jobs:
            progress.update(bar, description=f"{METHODS[name].title}, {size:,} documents")
            results.complete(corpus, name, size)
            progress.advance(bar)
    write(results, beside(path, ".md"))
    plot(results, PLOT)


if __name__ == "__main__":
    typer.run(main)
