"""Networks of features in sentiment classification: the claims of Sandler et al. (NIPS 2008), Figures 2 and 3.

    python benchmarks/network_sentiment.py --data DATA

A ridge over words, or words and pairs of them, is compared with the same ridge and a network, trained on 2 to 1,000
reviews of one domain; then L1 over words and products of two with WordNet, which the paper does not have. What is
measured, and how, is said in network_sentiment.md, which is written from network_sentiment.json.gz, both beside
this file; the plots are in docs/images. Each draw is stored at once, so that a second run does only what is missing. 14
CPU minutes.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Protocol

import numpy as np
import scipy.sparse
import typer
from common import (
    beside,
    load_results,
    machine,
    need,
    pin_threads,
    print_rows,
    read_jsonl,
    replace_file,
    save_plot,
    save_results,
)
from scipy.stats import t as students
from sklearn.feature_extraction.text import CountVectorizer

from spacy_graft import GraftClassifier, Grafting
from spacy_graft.graphs.cooccurrence import Cooccurrence
from spacy_graft.graphs.graph import FeatureGraph, vertex_keys
from spacy_graft.graphs.sentiwordnet import SentiWordNet, read_senses, word_scores
from spacy_graft.graphs.vocabulary import CorpusVocabulary, Vertex
from spacy_graft.graphs.wordnet import WordNet

#: Settings are chosen on the first.
DEVELOPMENT, *TESTED = DOMAINS = ("books", "dvd", "electronics")
SIZES, L1_SIZES = (2, 10, 50, 100, 250, 500, 1000), (50, 100, 250, 500)
DRAWS = 5
#: Least number of reviews, of all domains, of a feature; of a member of SentiWordNet's classes, and its least score.
MIN_DF, MEMBER_DF, MEMBER_SCORE = 5, 50, 0.25
#: Words with their apostrophes, so that *don't* is one.
TOKEN = r"\w+(?:'\w+)*"
RIDGES, STRONGEST_RIDGE = (0.1, 1.0, 10.0), 100.0
ALPHAS, GAMMAS = (1.0, 10.0, 100.0, 1000.0), (1.0, 100.0)
#: L1 strengths in units of ``l1_max``.
L1_GRID, L1_ALPHAS = (0.5, 0.3, 0.1, 0.05), (0.03, 0.1, 0.3, 1.0, 10.0)
CONFIDENCE = 0.95
HERE = Path(__file__).parent
IMAGES = HERE.parent / "docs" / "images"

Values = scipy.sparse.csr_array
Setting = dict[str, float]
Result = dict[str, Any]

INTRODUCTION = f"""# Networks of features for sentiment

Written by `python benchmarks/network_sentiment.py --data DATA` from `network_sentiment.json.gz`; not to be edited.
{{machine}}

Sandler, Talukdar, Ungar & Blitzer (NIPS 2008), Figures 2 and 3, on reviews of books, dvd and electronics (Blitzer et
al. 2007), 2,000 a domain less those whose text is there twice. A training set is a balanced draw from one domain,
smaller ones being parts of larger ones; {DRAWS} draws a size. All other reviews of the domain are the test set: 950 to
1,960. Values are presence. Features are words (Figure 3: and pairs of adjacent words) of at least {MIN_DF} reviews of
the three domains.

Ridge, α, γ and the L1 strength are chosen for each method and size by mean accuracy on {DEVELOPMENT}, whose own figures
are therefore flattered and marked with an asterisk; {" and ".join(TESTED)} have no part in it. Networks know all
reviews of the three domains, test reviews too, but no labels: for the number of reviews of a feature, and for
correlation.

* **Ridge**: every feature has a weight of its own. The library's own ridge takes features of the same training reviews
  for one, named by the first of them; with two reviews that leaves three features of 140 words. That is *ridge, equal
  columns once*. Otherwise, in both figures, all features are vertices of the network, with or without an edge.
* **Classes**: words of a SentiWordNet score of at least {MEMBER_SCORE} or at most -{MEMBER_SCORE}, in {MEMBER_DF}
  reviews or more, belong to a positive and a negative class; with dissimilarity, there is an edge between the two.
* **Others to zero**: what a feature without an edge pays (`network_unlinked = "to_zero"`). By default its row is left
  out of I - P, so that it pays the ridge alone. Taken literally, the row of I stays, and it pays α besides. Then a
  large α silences all words but those of the network. *No edges*: the same without the network, so that the words of
  the network are merely preferred (values of the others are divided by √(1 + α / ridge)).
* **Correlation**: edges between features and the words of the classes, each among the 100 nearest of the other.
* **Profiles**: a feature is the vector of its correlations with the words of the classes; edges of weight 1 are between
  features whose vectors are each among the 100 nearest of the other, by Euclidean distance. The graph of the classes is
  part of it, as it is of the one of correlations.
* **Lexicon alone**: positive less negative words of the review, against 0 or the median of the training reviews.

Accuracies are means over draws ± standard error. Differences are paired by draw and domain, with {CONFIDENCE:.0%}
intervals of Student's t over the draws (both domains: over {len(TESTED) * DRAWS} pairs of domain and draw). They do
not cover what other test reviews would have changed.
"""


@dataclass(frozen=True, eq=False)
class Corpus:
    """All reviews, as presence of features.

    Attributes
    ----------
    resources : Path
        NLTK's data.
    vocabulary : CorpusVocabulary
    domains : str (documents)
    positive : bool (documents)
    """

    resources: Path
    vocabulary: CorpusVocabulary
    domains: np.ndarray
    positive: np.ndarray

    @classmethod
    def read(cls, data: Path, longest: int) -> Corpus:
        """Reviews as n-grams of up to ``longest`` words."""
        reviews = [(domain, review) for domain in DOMAINS for review in distinct_reviews(data, domain)]
        texts = [f"{review['title']}\n{review['text']}" for _, review in reviews]
        counter = CountVectorizer(token_pattern=TOKEN, ngram_range=(1, longest), min_df=MIN_DF, binary=True)
        presence = Values(counter.fit_transform(texts))
        vertices = tuple(tuple(name.split()) for name in counter.get_feature_names_out())
        domains = np.array([domain for domain, _ in reviews])
        positive = np.array([review["label"] == "positive" for _, review in reviews])
        return cls(data / "nltk_data", CorpusVocabulary(vertices, presence), domains, positive)

    @cached_property
    def classes(self) -> SentiWordNet:
        return SentiWordNet(self.resources, MEMBER_SCORE, MEMBER_SCORE, MEMBER_DF, neighbours=0)

    @cached_property
    def lexicon(self) -> np.ndarray:
        """1 for members of the positive class, -1 for those of the negative one: float64 (features)."""
        scores = np.nan_to_num(word_scores(read_senses(self.resources), self.vocabulary.vertices))
        frequent = self.vocabulary.documents("the lexicon").sum(axis=0) >= MEMBER_DF
        return np.sign(scores) * (np.abs(scores) >= MEMBER_SCORE) * frequent

    def draw(self, domain: str, size: int, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Training and test reviews of a domain."""
        of_domain = np.flatnonzero(self.domains == domain)
        rng = np.random.default_rng([DOMAINS.index(domain), number])
        sides = [rng.permutation(of_domain[self.positive[of_domain] == side]) for side in (False, True)]
        train = np.concatenate([side[: size // 2] for side in sides])
        return train, np.setdiff1d(of_domain, train)


#: Builders of graphs by name.
GRAPHS: dict[str, Callable[[Corpus], Callable[[CorpusVocabulary], FeatureGraph]]] = {
    "classes": lambda corpus: corpus.classes,
    "correlation": lambda corpus: Cooccurrence("correlation", 100, seeds=corpus.classes),
    "profile": lambda corpus: Cooccurrence("profile", 100, seeds=corpus.classes),
    "wordnet": lambda corpus: WordNet(corpus.resources, max_senses=1),
}


@cache
def graph_of(corpus: Corpus, name: str) -> FeatureGraph:
    return GRAPHS[name](corpus)(corpus.vocabulary)


def covering(graph: FeatureGraph | None, vertices: Sequence[Vertex]) -> FeatureGraph:
    """The graph with all these features as vertices, whether they have an edge or not."""
    there = [] if graph is None else vertex_keys(graph)
    keys = list(dict.fromkeys([*there, *((vertex, False) for vertex in vertices)]))
    edges = [Values((0, 0))] * 2 if graph is None else [graph.similar.copy(), graph.dissimilar.copy()]
    for matrix in edges:
        matrix.resize((len(keys), len(keys)))
    names, virtual = zip(*keys, strict=True)
    return FeatureGraph(names, np.array(virtual, np.bool_), *edges)


def distinct_reviews(data: Path, domain: str) -> list[dict[str, Any]]:
    """The reviews of a domain; of those with one text, white space and case apart, the first."""
    folder = data / "multidomain_sentiment" / domain
    reviews = [review for part in ("train", "dev", "test") for review in read_jsonl(folder / f"{part}.jsonl.gz")]
    return list({" ".join(review["text"].lower().split()): review for review in reversed(reviews)}.values())


@dataclass(frozen=True, eq=False)
class Task:
    """A draw, as far as a method needs to see it: features that a training review has, or that have an edge.

    Attributes
    ----------
    train, test : csr_array (documents, features)
    known, asked : bool (documents)
    names : list of str
    network : FeatureGraph, optional
    linked : bool (features)
        Which have an edge.
    """

    train: Values
    test: Values
    known: np.ndarray
    asked: np.ndarray
    names: list[str]
    network: FeatureGraph | None
    linked: np.ndarray

    @classmethod
    def of(cls, corpus: Corpus, rows: tuple[np.ndarray, np.ndarray], graph: str, own_weights: bool) -> Task:
        """A draw with a graph by name, if any; with ``own_weights`` all features are its vertices."""
        vertices, presence = corpus.vocabulary.vertices, corpus.vocabulary.documents("a task")
        network = graph_of(corpus, graph) if graph else None
        linked = np.zeros(len(vertices), np.bool_)
        if network is not None:
            linked[[corpus.vocabulary.numbers[vertex] for vertex in network.features()]] = True
        chosen = np.flatnonzero(linked | (presence[rows[0]].sum(axis=0) > 0))
        seen = [vertices[k] for k in chosen.tolist()]
        if own_weights:
            network = covering(network, seen)
        train, test = (Values(presence[part][:, chosen], dtype=np.float64) for part in rows)
        known, asked = (corpus.positive[part] for part in rows)
        return cls(train, test, known, asked, list(map(" ".join, seen)), network, linked[chosen])

    def outcome(self, model: GraftClassifier, scale: np.ndarray | float = 1.0) -> Result:
        """Train a model on values times ``scale``, a factor a feature, and score it."""
        train, test = (Values(part * scale) for part in (self.train, self.test))
        network = self.network
        builder = None if network is None else lambda _: network
        start = time.process_time()
        model.fit(train, self.known.tolist(), names=self.names, network=builder)
        seconds = time.process_time() - start
        return {"accuracy": float(np.mean(np.array(model.predict(test)) == self.asked)), "seconds": seconds}


class Method(Protocol):
    """What is compared."""

    @property
    def title(self) -> str: ...

    @property
    def longest(self) -> int:
        """Words of its longest features."""

    @property
    def sizes(self) -> tuple[int, ...]: ...

    def settings(self) -> list[Setting]:
        """What the development domain chooses from; of equally good ones the first."""

    def outcomes(
        self, corpus: Corpus, rows: tuple[np.ndarray, np.ndarray], settings: Sequence[Setting]
    ) -> Iterator[Result]:
        """Accuracy and more on one draw, for each of the settings."""


@dataclass(frozen=True)
class Ridge:
    """Ridge, and a network with it if ``graph`` is the name of one."""

    title: str
    graph: str = ""
    gammas: tuple[float, ...] = (0.0,)
    others_to_zero: bool = False
    edges: bool = True
    longest: int = 1
    sizes: tuple[int, ...] = SIZES
    equal_once: bool = False

    def settings(self) -> list[Setting]:
        if not self.graph:
            return [{"ridge": ridge} for ridge in (*RIDGES, STRONGEST_RIDGE)]
        grid = itertools.product(RIDGES, ALPHAS, self.gammas)
        return [{"ridge": ridge, "alpha": alpha, "gamma": gamma} for ridge, alpha, gamma in grid]

    def outcomes(
        self, corpus: Corpus, rows: tuple[np.ndarray, np.ndarray], settings: Sequence[Setting]
    ) -> Iterator[Result]:
        task = Task.of(corpus, rows, self.graph, own_weights=not self.equal_once)
        for setting in settings:
            ridge, alpha, gamma = (setting.get(name, 0.0) for name in ("ridge", "alpha", "gamma"))
            learner = Grafting(
                penalty="l2", ridge=ridge, network_alpha=alpha if self.edges else 0.0, network_gamma=gamma,
                network_unlinked="to_zero" if self.others_to_zero else "free",
            )  # fmt: skip
            scale = 1.0
            if not self.edges:
                # A value divided by c has the penalty of its weight multiplied by c².
                scale = np.where(task.linked, 1.0, 1.0 / np.sqrt(1.0 + alpha / ridge))
            # Seconds are told of L1 alone.
            yield {"accuracy": task.outcome(GraftClassifier(learner), scale)["accuracy"]}


@dataclass(frozen=True)
class L1:
    """L1 over words, and over products of two for a ``degree`` of 2; with WordNet or without."""

    title: str
    degree: int
    wordnet: bool
    longest: int = 1
    sizes: tuple[int, ...] = L1_SIZES

    def settings(self) -> list[Setting]:
        if not self.wordnet:
            return [{"l1": share} for share in L1_GRID]
        return [{"l1": share, "alpha": alpha} for share, alpha in itertools.product(L1_GRID, L1_ALPHAS)]

    def outcomes(
        self, corpus: Corpus, rows: tuple[np.ndarray, np.ndarray], settings: Sequence[Setting]
    ) -> Iterator[Result]:
        task = Task.of(corpus, rows, "wordnet" if self.wordnet else "", own_weights=False)
        largest = float(np.abs(task.train.T @ (task.known - 0.5)).max())
        for setting in settings:
            strength = setting.get("alpha", 0.0)
            learner = Grafting(l1=setting["l1"] * largest, network_alpha=strength, network_gamma=strength)
            model = GraftClassifier(learner, degree=self.degree)
            result = task.outcome(model)
            sizes = [len(feature.names) for feature in model.features()]
            yield result | {"features": np.bincount(sizes, minlength=3)[1:].tolist()}


@dataclass(frozen=True)
class Lexicon:
    """Words of the two classes, counted."""

    title: str
    longest: int = 1
    sizes: tuple[int, ...] = SIZES

    def settings(self) -> list[Setting]:
        return [{"median": 0.0}, {"median": 1.0}]

    def outcomes(
        self, corpus: Corpus, rows: tuple[np.ndarray, np.ndarray], settings: Sequence[Setting]
    ) -> Iterator[Result]:
        train, test = (corpus.vocabulary.documents("the lexicon")[part] @ corpus.lexicon for part in rows)
        for setting in settings:
            predicted = test > setting["median"] * np.median(train)
            yield {"accuracy": float(np.mean(predicted == corpus.positive[rows[1]]))}


METHODS: dict[str, Method] = {
    "ridge": Ridge("ridge"),
    "once": Ridge("ridge, equal columns once", equal_once=True),
    "classes": Ridge("classes", "classes"),
    "opposed": Ridge("classes + dissimilarity", "classes", GAMMAS),
    "classes0": Ridge("classes, others to zero", "classes", others_to_zero=True),
    "opposed0": Ridge("classes + dissimilarity, others to zero", "classes", GAMMAS, others_to_zero=True),
    "members0": Ridge("no edges, others to zero", "classes", others_to_zero=True, edges=False),
    "lexicon": Lexicon("lexicon alone"),
    "ridge2": Ridge("ridge", longest=2),
    "correlation": Ridge("correlation", "correlation", GAMMAS[-1:], longest=2),
    "correlation0": Ridge("correlation, others to zero", "correlation", GAMMAS[-1:], others_to_zero=True, longest=2),
    "profile": Ridge("profiles", "profile", GAMMAS[-1:], longest=2),
    "members2": Ridge("no edges, others to zero", "correlation", others_to_zero=True, edges=False, longest=2),
    "l1": L1("L1, words", 1, wordnet=False),
    "l1-wordnet": L1("L1, words + WordNet", 1, wordnet=True),
    "l1-products": L1("L1, words and products", 2, wordnet=False),
    "l1-products-wordnet": L1("L1, words and products + WordNet", 2, wordnet=True),
}
#: Title, methods that are shown, and differences (ours, theirs).
FIGURES: dict[str, tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]]] = {
    "classes": (
        "Figure 2: words, classes of SentiWordNet",
        ("ridge", "once", "classes", "opposed", "classes0", "opposed0", "members0", "lexicon"),
        (
            ("classes", "ridge"), ("opposed", "ridge"), ("classes0", "ridge"), ("opposed0", "ridge"),
            ("opposed0", "classes0"), ("opposed0", "members0"), ("opposed0", "once"), ("opposed0", "lexicon"),
        ),
    ),
    "correlation": (
        "Figure 3: words and pairs, correlation with SentiWordNet's words",
        ("ridge2", "correlation", "correlation0", "members2", "profile"),
        (
            ("correlation", "ridge2"), ("correlation0", "ridge2"), ("correlation0", "members2"),
            ("profile", "ridge2"),
        ),
    ),
    "wordnet": (
        "Beyond the paper: L1 with WordNet",
        ("l1", "l1-wordnet", "l1-products", "l1-products-wordnet"),
        (("l1-wordnet", "l1"), ("l1-products-wordnet", "l1-products"), ("l1-products", "l1")),
    ),
}  # fmt: skip
#: Methods whose lines would hide the ridge's.
UNDRAWN = ("once", "classes")


class Results:
    """Outcomes by method, domain, size, draw and setting, stored at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[str, dict[str, Result]] = load_results(path)

    def of(self, method: str, domain: str, size: int, draw: int) -> dict[str, Result]:
        return self.found.setdefault(f"{method}; {domain}; {size}; {draw}", {})

    def store(self) -> None:
        save_results(self.path, {key: found for key, found in self.found.items() if found})

    def chosen(self, method: str, size: int) -> Setting:
        """The setting of the best mean accuracy on the development domain."""
        draws = [self.of(method, DEVELOPMENT, size, draw) for draw in range(DRAWS)]
        return max(
            METHODS[method].settings(),
            key=lambda setting: sum(draw[name_of(setting)]["accuracy"] for draw in draws),
        )

    def column(self, method: str, domain: str, size: int, measure: str = "accuracy") -> np.ndarray:
        """A measure of all draws at the chosen setting: float64 (draws, ...)."""
        name = name_of(self.chosen(method, size))
        return np.array([self.of(method, domain, size, draw)[name][measure] for draw in range(DRAWS)])


def name_of(setting: Setting) -> str:
    return " ".join(f"{option}={value:g}" for option, value in setting.items())


def kept(domain: str, result: Result) -> Result:
    """What the tables need of an outcome, to five digits: of the development domain, the accuracy alone."""
    names = ["accuracy"] if domain == DEVELOPMENT else list(result)
    return {name: round(result[name], 5) if isinstance(result[name], float) else result[name] for name in names}


def measure(results: Results, corpora: Mapping[int, Corpus], method: str, domain: str, size: int, draw: int) -> None:
    """What is missing of one draw: all settings on the development domain, elsewhere the one that was chosen there."""
    its, there = METHODS[method], results.of(method, domain, size, draw)
    wanted = its.settings() if domain == DEVELOPMENT else [results.chosen(method, size)]
    missing = [setting for setting in wanted if name_of(setting) not in there]
    if missing:
        corpus = corpora[its.longest]
        outcomes = its.outcomes(corpus, corpus.draw(domain, size, draw), missing)
        there |= {name_of(setting): kept(domain, found) for setting, found in zip(missing, outcomes, strict=True)}
        results.store()


def interval(differences: np.ndarray) -> tuple[float, float]:
    """Mean, and half the width of its interval."""
    n = len(differences)
    half = students.ppf(0.5 + 0.5 * CONFIDENCE, n - 1) * differences.std(ddof=1) / np.sqrt(n)
    return float(differences.mean()), float(half)


def standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def gains(results: Results, one: str, other: str, domains: Sequence[str], size: int) -> np.ndarray:
    """Paired differences over domains and draws."""
    sides = [np.concatenate([results.column(method, domain, size) for domain in domains]) for method in (one, other)]
    return sides[0] - sides[1]


def accuracy_rows(results: Results, methods: Sequence[str], sizes: Sequence[int]) -> Iterator[list[str]]:
    for domain, method in itertools.product((*TESTED, DEVELOPMENT), methods):
        columns = [100.0 * results.column(method, domain, size) for size in sizes]
        cells = [f"{values.mean():.1f} ± {standard_error(values):.1f}" for values in columns]
        yield [domain + "*" * (domain == DEVELOPMENT), METHODS[method].title, *cells]


def difference_rows(results: Results, pairs: Sequence[tuple[str, str]], sizes: Sequence[int]) -> Iterator[list[str]]:
    """Differences in points, of the tested domains together and of each."""
    for (one, other), domains in itertools.product(pairs, (TESTED, *([domain] for domain in TESTED))):
        cells = []
        for size in sizes:
            mean, half = interval(100.0 * gains(results, one, other, domains, size))
            mark = "**" if abs(mean) > half else ""
            cells.append(f"{mark}{mean:+.1f} ± {half:.1f}{mark}")
        yield [f"{METHODS[one].title} − {METHODS[other].title}", " + ".join(domains), *cells]


def verdict(results: Results, one: str, other: str, sizes: Sequence[int]) -> str:
    """Where one method is better than the other, on the tested domains together."""
    found = {size: interval(gains(results, one, other, TESTED, size)) for size in sizes}
    above = [f"{size:,}" for size, (mean, half) in found.items() if mean > half]
    below = [f"{size:,}" for size, (mean, half) in found.items() if mean < -half]
    held = "holds" if len(above) == len(sizes) else "does not hold"
    return (
        f"* *{METHODS[one].title}* gains over *{METHODS[other].title}* at every size: {held}. Interval above 0 at "
        f"{', '.join(above) or 'no size'}; below 0 at {', '.join(below) or 'no size'}."
    )


def cost_rows(results: Results, methods: Sequence[str], sizes: Sequence[int]) -> Iterator[list[str]]:
    """Features and CPU seconds of a fit, means over the tested domains."""
    for method in methods:
        cells = []
        for size in sizes:
            features, seconds = (
                np.mean([results.column(method, domain, size, measure).mean(axis=0) for domain in TESTED], axis=0)
                for measure in ("features", "seconds")
            )
            cells.append(f"{features[0]:.0f} + {features[1]:.0f}, {seconds:.2f} s")
        yield [METHODS[method].title, *cells]


def print_figure(results: Results, figure: str) -> None:
    """Accuracy, differences, verdicts and what was chosen."""
    title, methods, pairs = FIGURES[figure]
    sizes = METHODS[methods[0]].sizes
    heads = [f"{size:,}" for size in sizes]
    print(f"\n## {title}\n\n![{title}](../docs/images/{image_of(figure)})\n\nAccuracy, %:\n")
    print_rows(["domain", "method", *heads], accuracy_rows(results, methods, sizes))
    print("\nDifferences in points, in bold where the interval leaves 0 out:\n")
    print_rows(["difference", "domains", *heads], difference_rows(results, pairs, sizes))
    print("\n" + "\n".join(verdict(results, one, other, sizes) for one, other in pairs))
    print(f"\nChosen on {DEVELOPMENT}:\n")
    chosen = [[METHODS[method].title, *(name_of(results.chosen(method, size)) for size in sizes)] for method in methods]
    print_rows(["method", *heads], chosen)
    if all(isinstance(METHODS[method], L1) for method in methods):
        print("\nWords + products in the model, CPU seconds of a fit:\n")
        print_rows(["method", *heads], cost_rows(results, methods, sizes))


def image_of(figure: str) -> str:
    return f"network_sentiment_{figure}.png"


def plot(results: Results, figure: str, path: Path) -> None:
    """Learning curves with standard errors, a panel a domain."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams["font.size"] = 8
    from matplotlib import pyplot as plt

    title, methods, _ = FIGURES[figure]
    panels, axes = plt.subplots(1, len(DOMAINS), figsize=(10, 3.6), sharey=True, layout="constrained")
    for ax, domain in zip(axes, (*TESTED, DEVELOPMENT), strict=True):
        for method in (method for method in methods if method not in UNDRAWN):
            sizes = METHODS[method].sizes
            columns = [100.0 * results.column(method, domain, size) for size in sizes]
            means, errors = [values.mean() for values in columns], [standard_error(values) for values in columns]
            ax.errorbar(sizes, means, errors, label=METHODS[method].title, marker=".", linewidth=1, capsize=2)
        ax.set(xscale="log", xlabel="training reviews", title=domain + "*" * (domain == DEVELOPMENT))
        ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
        ax.minorticks_off()
    axes[0].set_ylabel("accuracy, %")
    panels.suptitle(title)
    panels.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    save_plot(panels, path)
    plt.close(panels)


def write(results: Results, page: Path) -> None:
    """The page and its plots."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        print(INTRODUCTION.replace("{machine}", machine()), end="")
        for figure in FIGURES:
            print_figure(results, figure)
    replace_file(page, text.getvalue().encode("utf8"))
    for figure in FIGURES:
        plot(results, figure, IMAGES / image_of(figure))


def main(
    data: Annotated[Path, typer.Option(help="Folder of the data sets, with NLTK's in nltk_data.")],
    results: Annotated[Path, typer.Option(help="Where results are.")] = HERE / "network_sentiment.json.gz",
) -> None:
    """Measure what is missing, and write the page and the plots."""
    need("matplotlib", "sklearn")
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    pin_threads()
    corpora = {longest: Corpus.read(data, longest) for longest in (1, 2)}
    stored = Results(results)
    jobs = [
        (name, domain, size, draw)
        for name, method in METHODS.items()
        for size in method.sizes
        # The first domain chooses for the others.
        for domain in DOMAINS
        for draw in range(DRAWS)
    ]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns) as progress:
        bar = progress.add_task("", total=len(jobs))
        for job in jobs:
            progress.update(bar, description="; ".join(map(str, job)))
            measure(stored, corpora, *job)
            progress.advance(bar)
    write(stored, beside(results, ".md"))


if __name__ == "__main__":
    typer.run(main)
