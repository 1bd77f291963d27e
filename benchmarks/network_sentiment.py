"""Networks of features in sentiment: Figures 2 and 3 and Table 1 of Sandler, Talukdar, Ungar & Blitzer (NIPS 2008).

    python benchmarks/network_sentiment.py --data DATA

What is measured, and how, is said in network_sentiment.md, which is written from network_sentiment.json.gz, both beside
this file; the plots are in docs/images. Each draw is stored at once, so that a second run does only what is missing.
"""

from __future__ import annotations

import contextlib
import io
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
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
    read_jsonl,
    save_plot,
    save_results,
    write_page,
)
from network_peers import GRAPH, WEIGHTED, mean_and_deviation, regression, told, with_commas, written

from spacy_graft import GraftClassifier, Grafting
from spacy_graft.graphs.cooccurrence import Cooccurrence
from spacy_graft.graphs.graph import FeatureGraph
from spacy_graft.graphs.sentiwordnet import SentiWordNet
from spacy_graft.graphs.vocabulary import CorpusVocabulary

DOMAINS = ("books", "dvd", "electronics")
CLASS_SIZES, SIZES = (2, 10, 50, 250, 1000), (50, 100, 250, 500, 1000)
#: Draws, and how many of them settings are chosen on, for other domains.
DRAWS, CHOOSING = 10, 3
#: Words with their apostrophes, so that *don't* is one.
TOKEN = r"\w+(?:'\w+)*"
#: Least score of SentiWordNet's words, and least number of reviews, of all domains, that have them.
SCORE, WORD_DF = 0.25, 40
#: Least number of reviews of the domain of a feature of Figure 3, and of a word in configs/network.cfg.
FEATURE_DF, WEIGHTED_DF = 10, 5
#: β; α and β of classes, and of Figure 3, the paper's first.
RIDGES = (0.01, 0.1, 1.0, 10.0, 100.0)
OF_CLASSES = tuple(itertools.product((0.1, 1.0, 10.0, 100.0), (0.01, 0.1, 1.0)))
PAPER = (9.9, 0.1)
OF_PROFILES = (PAPER, *itertools.product((1.0, 10.0, 100.0), (1.0, 10.0)))
#: Digits of our fits.
TOLERANCE = 1e-4
#: Table 1: reviews, features and edges.
TABLE_1 = {
    "books": (13161, 29404, 470034),
    "dvd": (13005, 31475, 419178),
    "electronics": (8922, 15104, 343890),
    "kitchen": (7760, 11658, 305926),
}
HERE = Path(__file__).parent
IMAGES = HERE.parent / "docs" / "images"

Values = scipy.sparse.csr_array
Setting = dict[str, float]


@dataclass(frozen=True, eq=False)
class Features:
    """The reviews of a domain as presence of some features, with a graph over them.

    Attributes
    ----------
    names : list of str
    presence : csr_array (reviews, features)
    graph : FeatureGraph
    """

    names: list[str]
    presence: Values
    graph: FeatureGraph

    def predicted(self, learner: Grafting, train: np.ndarray, positive: np.ndarray) -> np.ndarray:
        """What our model predicts for all reviews: bool."""
        model = GraftClassifier(learner)
        model.fit(self.presence[train], positive[train].tolist(), names=self.names, network=lambda _: self.graph)
        return np.array(model.predict(self.presence))


@dataclass(frozen=True, eq=False)
class Domain:
    """The reviews of a domain.

    Attributes
    ----------
    name : str
    texts : list of str
    positive : bool (reviews)
    classes : FeatureGraph
        Of SentiWordNet, over words of all domains.
    """

    name: str
    texts: list[str]
    positive: np.ndarray
    classes: FeatureGraph

    @cached_property
    def class_words(self) -> Features:
        """SentiWordNet's words, and nothing else."""
        from sklearn.feature_extraction.text import CountVectorizer

        names = [word for (word,) in self.classes.features()]
        presence = CountVectorizer(token_pattern=TOKEN, vocabulary=names, binary=True).fit_transform(self.texts)
        return Features(names, Values(presence, dtype=np.float64), self.classes)

    @cached_property
    def profiles(self) -> Features:
        """Words and pairs, linked if they correlate alike with SentiWordNet's words."""
        vocabulary = read_vocabulary(self.texts, longest=2, min_df=FEATURE_DF)
        words = [vertex for vertex in self.classes.features() if vertex in vocabulary.numbers]
        graph = Cooccurrence("profile", 100, seeds=lambda _: without_edges(words))(vocabulary)
        return features_of(vocabulary, with_vertices(graph, vocabulary))

    @cached_property
    def cooccurrence(self) -> Features:
        """Words and graph of configs/network.cfg."""
        vocabulary = read_vocabulary(self.texts, longest=1, min_df=WEIGHTED_DF)
        return features_of(vocabulary, GRAPH(vocabulary))

    @cached_property
    def tfidf(self) -> Values:
        from sklearn.feature_extraction.text import TfidfTransformer

        return Values(TfidfTransformer().fit_transform(self.cooccurrence.presence))

    def draw(self, size: int, number: int) -> np.ndarray:
        """Training reviews, half of them positive; smaller draws are part of larger ones."""
        rng = np.random.default_rng([DOMAINS.index(self.name), number])
        sides = [rng.permutation(np.flatnonzero(self.positive == side)) for side in (False, True)]
        return np.concatenate([side[: size // 2] for side in sides])


def read_domains(data: Path) -> list[Domain]:
    reviews = {domain: distinct_reviews(data / "multidomain_sentiment" / domain) for domain in DOMAINS}
    texts = {domain: [f"{review['title']}\n{review['text']}" for review in its] for domain, its in reviews.items()}
    everything = read_vocabulary(itertools.chain.from_iterable(texts.values()), longest=1, min_df=WORD_DF)
    classes = SentiWordNet(data / "nltk_data", SCORE, SCORE, WORD_DF, neighbours=0)(everything)
    labels = {domain: np.array([review["label"] == "positive" for review in its]) for domain, its in reviews.items()}
    return [Domain(domain, texts[domain], labels[domain], classes) for domain in DOMAINS]


def distinct_reviews(folder: Path) -> list[dict[str, Any]]:
    """The reviews of a domain; of those with one text, white space and case apart, the first."""
    reviews = [review for part in ("train", "dev", "test") for review in read_jsonl(folder / f"{part}.jsonl.gz")]
    return list({" ".join(review["text"].lower().split()): review for review in reversed(reviews)}.values())


def read_vocabulary(texts: Any, longest: int, min_df: int) -> CorpusVocabulary:
    """N-grams of up to ``longest`` words."""
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(token_pattern=TOKEN, ngram_range=(1, longest), min_df=min_df, binary=True)
    presence = Values(counter.fit_transform(texts), dtype=np.float64)
    return CorpusVocabulary(tuple(tuple(name.split()) for name in counter.get_feature_names_out()), presence)


def features_of(vocabulary: CorpusVocabulary, graph: FeatureGraph) -> Features:
    return Features(list(map(" ".join, vocabulary.vertices)), vocabulary.presence, graph)


def without_edges(vertices: Sequence[tuple[str, ...]]) -> FeatureGraph:
    n = len(vertices)
    return FeatureGraph(tuple(vertices), np.zeros(n, np.bool_), Values((n, n)), Values((n, n)))


def with_vertices(graph: FeatureGraph, vocabulary: CorpusVocabulary) -> FeatureGraph:
    """The graph with all features as vertices: the library gives others of the same reviews one weight."""
    names = dict.fromkeys((*graph.vertices, *vocabulary.vertices))
    similar = graph.similar.copy()
    similar.resize((len(names), len(names)))
    larger = without_edges(tuple(names))
    return FeatureGraph(larger.vertices, larger.virtual, similar, larger.dissimilar, graph.report)


@dataclass(frozen=True)
class Method:
    """What is compared.

    Attributes
    ----------
    title : str
    predicted : callable
        What it predicts for all reviews of a domain, from some with their labels.
    grid : tuple of dicts
    sizes : tuple of int
    """

    title: str
    predicted: Callable[[Domain, np.ndarray, Setting], np.ndarray]
    grid: tuple[Setting, ...]
    sizes: tuple[int, ...]


def ridge_over(values: Callable[[Domain], Values]) -> Callable[[Domain, np.ndarray, Setting], np.ndarray]:
    def predicted(domain: Domain, train: np.ndarray, setting: Setting) -> np.ndarray:
        model = regression(values(domain)[train], domain.positive[train], setting["ridge"])
        return np.asarray(model.predict(values(domain)))

    return predicted


def network_over(features: Callable[[Domain], Features]) -> Callable[[Domain, np.ndarray, Setting], np.ndarray]:
    def predicted(domain: Domain, train: np.ndarray, setting: Setting) -> np.ndarray:
        # Two labels have weights w and −w, the paper one weight 2 w: strengths are twice the paper's.
        ridge, alpha, gamma = (2.0 * setting.get(name, 0.0) for name in ("ridge", "alpha", "gamma"))
        learner = Grafting(penalty="l2", ridge=ridge, network_alpha=alpha, network_gamma=gamma, tol=TOLERANCE)
        return features(domain).predicted(learner, train, domain.positive)

    return predicted


def weighted(domain: Domain, train: np.ndarray, setting: Setting) -> np.ndarray:
    return domain.cooccurrence.predicted(WEIGHTED, train, domain.positive)


OF_RIDGE = tuple({"ridge": ridge} for ridge in RIDGES)
METHODS = {
    "ridge": Method("ridge", ridge_over(lambda domain: domain.class_words.presence), OF_RIDGE, CLASS_SIZES),
    "sim": Method(
        "classes (sim)",
        network_over(lambda domain: domain.class_words),
        tuple({"alpha": alpha, "ridge": ridge} for alpha, ridge in OF_CLASSES),
        CLASS_SIZES,
    ),
    "dissim": Method(
        "classes and dissimilarity (sim+dissim)",
        network_over(lambda domain: domain.class_words),
        tuple({"alpha": alpha, "gamma": alpha, "ridge": ridge} for alpha, ridge in OF_CLASSES),
        CLASS_SIZES,
    ),
    "ridge2": Method("ridge", ridge_over(lambda domain: domain.profiles.presence), OF_RIDGE, SIZES),
    "paper": Method(
        "network, the paper's α and β",
        network_over(lambda domain: domain.profiles),
        tuple({"alpha": alpha, "ridge": ridge} for alpha, ridge in (PAPER,)),
        SIZES,
    ),
    "chosen": Method(
        "network, chosen α and β",
        network_over(lambda domain: domain.profiles),
        tuple({"alpha": alpha, "ridge": ridge} for alpha, ridge in OF_PROFILES),
        SIZES,
    ),
    "tfidf": Method("tf-idf + LR", ridge_over(lambda domain: domain.tfidf), OF_RIDGE, SIZES),
    "weighted": Method("co-occurrence, ratio_idf", weighted, ({},), SIZES),
}
#: Title, methods that are shown, and differences (ours, theirs) with what the paper says of them.
FIGURES = {
    "classes": (
        "Figure 2: SentiWordNet's words alone, with classes",
        ("ridge", "sim", "dissim"),
        (
            ("sim", "ridge", "noticeably better"),
            ("dissim", "ridge", "noticeably better"),
            ("dissim", "sim", "little; only at the smallest sizes, if at all"),
        ),
    ),
    "profiles": (
        "Figure 3: words and pairs, with a graph of correlations with SentiWordNet's words",
        ("ridge2", "paper", "chosen"),
        (
            ("paper", "ridge2", "better on every set at every size"),
            ("chosen", "ridge2", "better on every set at every size"),
            ("chosen", "paper", ""),
        ),
    ),
    "users": (
        "Beyond the paper: the graph of configs/network.cfg with its weights, and tf-idf with logistic regression",
        ("weighted", "tfidf"),
        (("weighted", "tfidf", ""), ("chosen", "tfidf", "")),
    ),
}
PLOTTED = ("classes", "profiles")

INTRODUCTION = f"""# Networks of features for sentiment

Written by `python benchmarks/network_sentiment.py --data DATA` from `network_sentiment.json.gz`; not to be edited.
{{machine}}

Figures 2 and 3 and Table 1 of Sandler, Talukdar, Ungar & Blitzer (NIPS 2008), as the paper did them. SentiWordNet's
words are those of a score of at least {SCORE} or at most −{SCORE} in {WORD_DF} reviews or more ({{members}} words; the
paper: about 200, of high scores, at least 100 times).

* **Figure 2.** These words are all the features. Each belongs to a positive or a negative class, a virtual feature
  (*sim*); with dissimilarity, the two classes are to have opposite weights (*sim+dissim*).
* **Figure 3.** Words and pairs of adjacent words of at least {FEATURE_DF} reviews of the domain. A feature is the
  vector of its correlations with SentiWordNet's words; two features are linked, with a weight of one, if each is among
  the 100 nearest of the other by Euclidean distance. The graph knows all reviews of the domain, without labels.
  Settings: the paper's α = {PAPER[0]}, β = {PAPER[1]}, and chosen ones.

What the paper leaves open, or what we did otherwise:

* **Reviews.** Books, dvd and electronics of Blitzer et al. (2007), the labelled ones, 2,000 a domain, without those
  whose text is there twice. The paper had four to seven times as many, and kitchen appliances, which are not at hand.
* **SentiWordNet's words.** The scores of a word's senses are averaged with weights of one over their rank. Counts are
  of all three domains, since there are fewer reviews. SentiWordNet is 3.0, in the paper 1.0.
* **Values** are presence. The dissimilarity has the strength of the similarity (γ = α).
* **Draws**: {DRAWS} a size, half of the reviews positive, smaller ones part of larger ones. All other reviews of the
  domain are the test set. The paper tells neither draws nor test sets.
* **Settings** of a domain are chosen for each size by the mean accuracy of {CHOOSING} draws on the two other domains.
  The paper chose its graph, α and β on kitchen.
* **Solver.** Networks are our `Grafting` with `penalty = "l2"`, to {TOLERANCE:g} of the gradient at zero weights; ridge
  is scikit-learn's L-BFGS. Strengths are in units of the paper's formula (1).

± in tables of accuracy: standard deviation over draws. Differences are paired by draw, in points, with 95% intervals of
Student's t over the draws (all domains: over the means of the three), in bold where that leaves 0 out. The paper gives
accuracies in plots without numbers, with axes from 50 to 80% (Figure 2) and from 60 to 90% (Figure 3).
"""


class Results:
    """Accuracies of every fit, by method, domain, size and draw, stored at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[str, dict[str, Any]] = load_results(path)

    def enter(self, key: str, found: dict[str, Any]) -> None:
        self.found[key] = found
        save_results(self.path, self.found)

    def of(self, method: str, domain: str, size: int, setting: Setting, draws: int = DRAWS) -> np.ndarray:
        """Accuracies of the first draws: float64 (draws)."""
        name = written(setting)
        return np.array([self.found[f"{method}; {domain}; {size}; {draw}"][name] for draw in range(draws)])

    def chosen(self, method: str, domain: str, size: int) -> Setting:
        """The setting of the best mean accuracy on the other domains, the first of equal ones."""
        others = [other for other in DOMAINS if other != domain]
        return max(
            METHODS[method].grid,
            key=lambda setting: sum(self.of(method, other, size, setting, CHOOSING).mean() for other in others),
        )

    def column(self, method: str, domain: str, size: int) -> np.ndarray:
        """Accuracies of all draws at the chosen setting: float64 (draws)."""
        return self.of(method, domain, size, self.chosen(method, domain, size))

    def measure(self, method: str, domain: Domain, size: int, draw: int) -> None:
        """One draw, if it is missing: all settings if others choose by it, else the one that was chosen."""
        key, its = f"{method}; {domain.name}; {size}; {draw}", METHODS[method]
        if key not in self.found:
            train = domain.draw(size, draw)
            asked = np.setdiff1d(np.arange(len(domain.texts)), train)
            settings = its.grid if draw < CHOOSING else [self.chosen(method, domain.name, size)]
            right = {written(setting): its.predicted(domain, train, setting) == domain.positive for setting in settings}
            self.enter(key, {name: round(float(found[asked].mean()), 5) for name, found in right.items()})


def table_1_rows(results: Results) -> Iterator[list[str]]:
    for domain, paper in TABLE_1.items():
        here = results.found["table 1"].get(domain, [])
        ratio = f"{here[2] / here[1]:.1f}" if here else ""
        cells = [*with_commas(paper), f"{paper[2] / paper[1]:.1f}", *(with_commas(here) or [""] * 3), ratio]
        yield [domain, *cells]


def accuracy_rows(results: Results, methods: Sequence[str], sizes: Sequence[int]) -> Iterator[list[str]]:
    for domain, method in itertools.product(DOMAINS, methods):
        cells = (mean_and_deviation(results.column(method, domain, size)) for size in sizes)
        yield [domain, METHODS[method].title, *cells]


def gains(results: Results, one: str, other: str, domains: Sequence[str], size: int) -> np.ndarray:
    """Paired differences by draw, means over domains."""
    sides = [[results.column(method, domain, size) for domain in domains] for method in (one, other)]
    return np.asarray(np.mean(np.subtract(*sides), axis=0))


def difference_rows(
    results: Results, pairs: Sequence[tuple[str, str, str]], sizes: Sequence[int]
) -> Iterator[list[str]]:
    for (one, other, paper), domains in itertools.product(pairs, (DOMAINS, *([domain] for domain in DOMAINS))):
        cells = (told(gains(results, one, other, domains, size)) for size in sizes)
        name = domains[0] if len(domains) == 1 else "all"
        yield [f"{METHODS[one].title} − {METHODS[other].title}", name, paper if name == "all" else "", *cells]


def print_figure(results: Results, figure: str) -> None:
    """Accuracy, differences and what was chosen."""
    title, methods, pairs = FIGURES[figure]
    sizes = METHODS[methods[0]].sizes
    heads = with_commas(sizes)
    print(f"\n## {title}\n")
    if figure in PLOTTED:
        print(f"![{title}](../docs/images/{image_of(figure)})\n")
    print("Accuracy in %:\n")
    print_rows(["domain", "method", *heads], accuracy_rows(results, methods, sizes))
    print("\nDifferences, and what the paper says of them:\n")
    print_rows(["difference", "domains", "the paper", *heads], difference_rows(results, pairs, sizes))
    print("\nSettings:\n")
    tuned = [method for method in methods if len(METHODS[method].grid) > 1]
    print_rows(
        ["domain", "method", *heads],
        (
            [domain, METHODS[method].title, *(written(results.chosen(method, domain, size)) for size in sizes)]
            for domain, method in itertools.product(DOMAINS, tuned)
        ),
    )


def image_of(figure: str) -> str:
    return f"network_sentiment_{figure}.png"


def plot(results: Results, figure: str, path: Path) -> None:
    """Learning curves with standard deviations, a panel a domain."""
    import matplotlib
    from matplotlib import pyplot as plt

    matplotlib.use("agg")
    matplotlib.rcParams["font.size"] = 8
    title, methods, _ = FIGURES[figure]
    panels, axes = plt.subplots(1, len(DOMAINS), figsize=(10, 3.4), sharey=True, layout="constrained")
    for ax, domain in zip(axes, DOMAINS, strict=True):
        sizes = METHODS[methods[0]].sizes
        for method in methods:
            columns = np.array([100.0 * results.column(method, domain, size) for size in sizes])
            means, deviations = columns.mean(axis=1), columns.std(axis=1, ddof=1)
            ax.errorbar(sizes, means, deviations, label=METHODS[method].title, marker=".", linewidth=1, capsize=2)
        ax.set(xscale="log", xlabel="training reviews", title=domain)
        ax.set_xticks(sizes, with_commas(sizes))
        ax.minorticks_off()
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("accuracy in %")
    panels.suptitle(title)
    panels.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    save_plot(panels, path)
    plt.close(panels)


def write(results: Results, page: Path) -> None:
    """The page and its plots."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        members = str(results.found["table 1"]["members"])
        print(INTRODUCTION.replace("{machine}", machine()).replace("{members}", members))
        print("## Table 1\n")
        heads = [
            f"{head}, {whose}"
            for whose in ("paper", "here")
            for head in ("reviews", "features", "edges", "edges a feature")
        ]
        print_rows(["domain", *heads], table_1_rows(results))
        for figure in FIGURES:
            print_figure(results, figure)
    write_page(page, text.getvalue())
    for figure in PLOTTED:
        plot(results, figure, IMAGES / image_of(figure))


def main(
    data: DataFolder,
    path: Annotated[Path, typer.Option("--results", help="Where results are; the page is beside it.")] = HERE
    / "network_sentiment.json.gz",
) -> None:
    """Measure what is missing; write the page and the plots."""
    need("matplotlib", "sklearn")
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    pin_threads()
    domains, results = read_domains(data), Results(path)
    jobs = [
        (name, domain, size, draw)
        for name, method in METHODS.items()
        # Domains choose for each other.
        for draw, domain, size in itertools.product(range(DRAWS), domains, method.sizes)
    ]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns) as progress:
        bar = progress.add_task("", total=len(jobs))
        for name, domain, size, draw in jobs:
            progress.update(bar, description=f"{METHODS[name].title}, {domain.name}, {size:,} reviews")
            results.measure(name, domain, size, draw)
            progress.advance(bar)
    if "table 1" not in results.found:
        of_domains = {
            domain.name: [
                len(domain.texts),
                len(domain.profiles.names),
                domain.profiles.graph.report["edges"]["similar"],
            ]
            for domain in domains
        }
        results.enter("table 1", of_domains | {"members": len(domains[0].classes.features())})
    write(results, beside(path, ".md"))


if __name__ == "__main__":
    typer.run(main)
