"""What a network of features costs: evaluations of the objective, whole fits, and making graphs.

    python benchmarks/network.py --data DATA [--nltk NLTK_DATA]

The problem is drawn at random: 100,000 features, each a vertex, with a million directed edges of weight 1 between them;
5,000 documents of some 150 words, the frequent ones in many; labels by a linear rule with noise. With two labels there
is one weight a vertex, with 20 there are 20. The objective is loss + β‖w‖² + α‖(I − P)w‖², and beside us is SciPy's
L-BFGS-B with the same objective written plainly over sparse matrices.

Graphs are made over the words (lower case, letters only) of five documents or more of movie_reviews.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy.sparse
import typer
from common import DataFolder, measured, pin_threads, print_table, texts_and_labels
from scipy.optimize import minimize

from spacy_graft import GraftClassifier, Grafting
from spacy_graft.graft.network import NetworkPenalty
from spacy_graft.graphs.cooccurrence import Cooccurrence
from spacy_graft.graphs.graph import FeatureGraph
from spacy_graft.graphs.sentiwordnet import SentiWordNet
from spacy_graft.graphs.vocabulary import CorpusVocabulary
from spacy_graft.graphs.wordnet import WordNet
from spacy_graft.solve.active import Active
from spacy_graft.solve.columns import packed_columns
from spacy_graft.solve.dense import Dense
from spacy_graft.solve.design import Design
from spacy_graft.solve.losses import LogisticLoss, Loss, SoftmaxLoss
from spacy_graft.solve.penalties import ElasticNet
from spacy_graft.solve.quadratic import Direction, QuadraticFace, QuadraticModel, SingleFace

VERTICES, EDGES, DOCUMENTS, WORDS = 100_000, 1_000_000, 5_000, 150
#: β, and for each number of labels the values of α.
RIDGE, ALPHAS = 1.0, {2: (1.0, 10.0), 20: (1.0,)}
#: Largest gradient that is left, in units of the largest at zero weights; evaluations that are timed.
TOLERANCE, EVALUATIONS = 1e-5, 40
#: Threads of ours; SciPy's products have one.
THREADS = (1, 2)
MIN_DF = 5
Evaluation = Callable[[np.ndarray], tuple[float, np.ndarray]]


@dataclass(frozen=True, eq=False)
class Drawn:
    """A random problem.

    Attributes
    ----------
    present : csr_array, float64 (documents, vertices)
    labels : int (documents)
    graph : FeatureGraph
    """

    present: scipy.sparse.csr_array
    labels: np.ndarray
    graph: FeatureGraph

    @classmethod
    def of(cls, n_labels: int) -> Drawn:
        rng = np.random.default_rng(0)
        shares = 1.0 / (np.arange(VERTICES) + 20.0)
        words = rng.choice(VERTICES, (DOCUMENTS, WORDS), p=shares / shares.sum())
        rows = np.repeat(np.arange(DOCUMENTS), WORDS)
        present = ones(rows, words.ravel(), (DOCUMENTS, VERTICES))
        scores = present @ rng.normal(size=(VERTICES, n_labels)) + rng.normal(size=(DOCUMENTS, n_labels))
        ends = rng.integers(0, VERTICES, (2, EDGES // 2))
        one, other = ends[:, ends[0] != ends[1]]
        similar = ones(np.concatenate([one, other]), np.concatenate([other, one]), (VERTICES, VERTICES))
        none = scipy.sparse.csr_array((VERTICES, VERTICES))
        names = tuple((name,) for name in map(str, range(VERTICES)))
        graph = FeatureGraph(names, np.zeros(VERTICES, np.bool_), similar, none)
        return cls(present, scores.argmax(axis=1), graph)

    @property
    def names(self) -> list[str]:
        return [name for (name,) in self.graph.vertices]

    def loss(self) -> Loss:
        """Of one score for two labels, else of as many as there are labels."""
        targets = np.eye(self.labels.max() + 1)[self.labels].T
        binary = len(targets) == 2
        return LogisticLoss(targets[1:], np.ones(DOCUMENTS)) if binary else SoftmaxLoss(targets, np.ones(DOCUMENTS))


def ones(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> scipy.sparse.csr_array:
    """A matrix of ones, however often a place is named."""
    matrix = scipy.sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
    matrix.sum_duplicates()
    matrix.data[:] = 1.0
    return matrix


def learner(alpha: float) -> Grafting:
    return Grafting(penalty="l2", ridge=RIDGE, network_alpha=alpha, tol=TOLERANCE)


def our_model(problem: Drawn, alpha: float, n_threads: int) -> QuadraticModel:
    """The parts that our solver is made of, at zero weights; weights are sorted by label."""
    loss = problem.loss()
    n_labels = len(loss.targets)
    columns = scipy.sparse.csc_array(problem.present)
    features, labels = np.tile(np.arange(VERTICES), n_labels), np.repeat(np.arange(n_labels), VERTICES)
    lists = columns.indptr.astype(np.int64), columns.indices.astype(np.int32), np.empty(0)
    none = np.zeros(len(features))
    active = Active(packed_columns(lists, len(loss.targets[0])), features, labels, none + 1.0, none)
    design = Design(active, *loss.targets.shape, n_threads)
    coupling = NetworkPenalty(problem.graph, learner(alpha), n_threads).coupling(features, labels, share_of(loss))
    _, p = loss.value_and_probabilities(np.zeros(loss.targets.shape))
    penalty = ElasticNet(0.0, share_of(loss) * RIDGE).on(active.penalty_weights)
    return QuadraticModel(design, loss, np.ones(DOCUMENTS), p, penalty, coupling, Dense.none(*p.shape))


def share_of(loss: Loss) -> float:
    """One weight stands for two labels, ±w / 2, and is penalised half as much."""
    return 0.5 if len(loss.targets) == 1 else 1.0


def our_evaluation(model: QuadraticModel) -> Evaluation:
    """The objective and its gradient, in double precision."""
    loss, design, coupling = model.loss, model.design, model.coupling
    ridge = share_of(loss) * RIDGE

    def evaluate(weights: np.ndarray) -> tuple[float, np.ndarray]:
        value, p = loss.value_and_probabilities(design.spread(weights))
        gradient = coupling.gradient(weights)
        gradient += 2.0 * ridge * weights
        value += 0.5 * float(weights @ gradient)
        gradient -= design.collect(loss.residuals(p))
        return value, gradient

    return evaluate


def our_product(model: QuadraticModel, weights: np.ndarray) -> Callable[[], np.ndarray]:
    """The product of the Hessian with weights as conjugate gradients make it, in single precision."""
    face = SingleFace(model, np.arange(len(weights)))
    n_labels = len(model.loss.targets)
    direction = Direction(face.lanes(weights), np.zeros(n_labels), np.zeros(model.dense.weights.shape))
    return lambda: face.product(direction).weights


def plain_evaluation(problem: Drawn, alpha: float) -> Evaluation:
    """The same as somebody would write it; the intercepts, one a label, come after the weights."""
    loss, matrix = problem.loss(), problem.present
    n_labels, share = len(loss.targets), share_of(problem.loss())
    transposed = matrix.T.tocsr()
    rows, _ = problem.graph.penalty_rows()
    back = rows.T.tocsr()

    def evaluate(point: np.ndarray) -> tuple[float, np.ndarray]:
        intercepts, weights = point[-n_labels:], point[:-n_labels].reshape(VERTICES, n_labels)
        value, p = loss.value_and_probabilities((matrix @ weights + intercepts).T)
        residuals = loss.residuals(p).T
        pull = 2.0 * share * (RIDGE * weights + alpha * (back @ (rows @ weights)))
        gradient = np.concatenate([(pull - transposed @ residuals).ravel(), -residuals.sum(axis=0)])
        return value + 0.5 * float(np.vdot(weights, pull)), gradient

    return evaluate


def evaluations(n_labels: int, alpha: float) -> Iterator[Any]:
    """Of an evaluation and of a product by ours, on each number of threads, and of a plain evaluation.

    Least wall, and median CPU ms.
    """
    problem = Drawn.of(n_labels)
    n_scores = len(problem.loss().targets)
    point = np.random.default_rng(0).normal(size=VERTICES * n_scores) / 10.0
    with_intercepts = np.concatenate([point.reshape(n_scores, VERTICES).T.ravel(), np.zeros(n_scores)])
    models = [our_model(problem, alpha, n) for n in THREADS]
    ours, plain = [our_evaluation(model) for model in models], plain_evaluation(problem, alpha)
    products = [our_product(model, point) for model in models]
    value, gradient = ours[0](point)
    if not np.isclose(value, plain(with_intercepts)[0], rtol=1e-12):
        raise RuntimeError("The two objectives differ.")
    for evaluate, product in zip(ours[1:], products[1:], strict=True):
        if not np.array_equal(gradient, evaluate(point)[1]) or not np.array_equal(products[0](), product()):
            raise RuntimeError("The number of threads changes the gradient, or the product.")
    exact = QuadraticFace(models[0], np.arange(len(point))).product(Direction(point, np.zeros(n_scores), np.empty(0)))
    exact = exact.weights.reshape(n_scores, -1).T
    if not np.allclose(products[0]()[:, :n_scores], exact, rtol=0.0, atol=1e-5 * np.abs(exact).max()):
        raise RuntimeError("Single precision changes the product by more than its rounding.")
    yield None
    yield milliseconds([*(partial(evaluate, point) for evaluate in ours), *products, partial(plain, with_intercepts)])


def milliseconds(calls: Sequence[Callable[[], Any]]) -> list[tuple[float, float]]:
    """Least wall and median CPU milliseconds of each call, made in turn, so that all meet the same neighbours."""
    seconds = np.empty((EVALUATIONS, len(calls), 2))
    for times in seconds:
        for call, of_call in zip(calls, times, strict=True):
            start = time.perf_counter(), time.process_time()
            call()
            of_call[:] = time.perf_counter() - start[0], time.process_time() - start[1]
    return [(1e3 * wall.min(), 1e3 * float(np.median(cpu))) for wall, cpu in seconds.transpose(1, 2, 0)]


def our_fit(n_labels: int, alpha: float) -> Iterator[Any]:
    """Objective, and wall seconds by phase."""
    problem = Drawn.of(n_labels)
    fit(Drawn.of(2), alpha)  # compiles everything
    yield None
    report = fit(problem, alpha).report
    yield report.objective, " + ".join(f"{phase} {seconds:.1f}" for phase, seconds in report.seconds.items())


def fit(problem: Drawn, alpha: float) -> GraftClassifier:
    labels = problem.labels.tolist()
    return GraftClassifier(learner(alpha)).fit(
        problem.present, labels, names=problem.names, network=lambda _: problem.graph
    )


def plain_fit(n_labels: int, alpha: float) -> Iterator[Any]:
    """Objective, and how many evaluations."""
    problem = Drawn.of(n_labels)
    yield None
    evaluate = plain_evaluation(problem, alpha)
    start = np.zeros((VERTICES + 1) * len(problem.loss().targets))
    largest = float(np.abs(evaluate(start)[1]).max())
    options = {"gtol": TOLERANCE * largest, "ftol": 0.0, "maxiter": 10_000, "maxfun": 10_000}
    found = minimize(evaluate, start, jac=True, method="L-BFGS-B", options=options)
    yield float(found.fun), f"{found.nfev} evaluations"


def evaluation_rows() -> Iterator[list[str]]:
    for n_labels, alphas in ALPHAS.items():
        times = measured(evaluations, n_labels, alphas[0]).result
        n_weights = VERTICES * (1 if n_labels == 2 else n_labels)
        yield [f"{n_labels}", f"{n_weights:,}", *(f"{wall:.0f} ({cpu:.0f})" for wall, cpu in times)]


def fit_rows() -> Iterator[list[str]]:
    for n_labels, alphas in ALPHAS.items():
        for alpha in alphas:
            ours, plain = measured(our_fit, n_labels, alpha), measured(plain_fit, n_labels, alpha)
            for title, run in (("ours", ours), ("SciPy, L-BFGS-B", plain)):
                objective, how = run.result
                above = objective / min(ours.result[0], plain.result[0]) - 1.0
                told = [f"{run.seconds:.1f}", f"{run.megabytes:,.0f}", f"{objective:.4f}", f"{above:.0e}", how]
                yield [f"{n_labels}", f"{alpha:g}", title, *told]


def graph_made(kind: str, data: Path, nltk: Path | None) -> Iterator[Any]:
    """A graph's report."""
    texts, _ = texts_and_labels(data, "movie_reviews")
    vocabulary = CorpusVocabulary.of_documents((re.findall("[a-z]+", text.lower()) for text in texts), min_df=MIN_DF)
    small = CorpusVocabulary.of_documents([["good", "film"], ["bad", "film"]])
    builder = {"WordNet": WordNet, "SentiWordNet": SentiWordNet, "Cooccurrence": Cooccurrence}[kind]
    options = {} if nltk is None or kind == "Cooccurrence" else {"path": nltk}
    if kind == "Cooccurrence":
        builder()(small)  # compiles everything
    yield None
    yield builder(**options)(vocabulary).report


def graph_rows(data: Path, nltk: Path | None) -> Iterator[list[str]]:
    for kind in ("WordNet", "SentiWordNet", "Cooccurrence"):
        run = measured(graph_made, kind, data, nltk)
        edges, covered = run.result["edges"], run.result["coverage"]
        counts = [f"{n:,}" for n in (covered["vocabulary"], covered["covered"], edges["similar"], edges["dissimilar"])]
        yield [kind, f"{run.seconds:.1f}", f"{run.megabytes:,.0f}", *counts]


def main(
    data: DataFolder,
    nltk: Annotated[Path | None, typer.Option(help="Folder of NLTK's data, if it is not found.")] = None,
) -> None:
    """Measure and print."""
    pin_threads()
    ours = [f"{name}, threads: {n}" for name in ("ours", "product of conjugate gradients") for n in THREADS]
    header = ["labels", "weights", *ours, "SciPy"]
    print_table("One evaluation of objective and gradient: least wall (median CPU) ms", header, evaluation_rows())
    header = ["labels", "α", "solver", "CPU s", "MB above start", "objective", "above the lower", "how"]
    print_table("A whole fit", header, fit_rows())
    header = ["graph", "CPU s", "MB above start", "words", "with an edge", "similar edges", "dissimilar edges"]
    print_table("Making a graph", header, graph_rows(data, nltk))


if __name__ == "__main__":
    typer.run(main)
