"""Few labelled documents and many without labels, on reviews and topics: the configs that ship, and tf-idf and LR.

    python benchmarks/few_labels.py --data DATA [--task reviews] [--draws 3]

A draw has as many documents of each label. Ours takes a quarter of them as dev, as ``spacy train`` does, and trains
again on all of them; the peer has all of them, and its C by cross-validation. The configs' settings were chosen on
documents of ``multidomain_sentiment``. Results are kept, and only what is missing is measured.
"""

from __future__ import annotations

import contextlib
import io
import os
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from common import (
    DataFolder,
    TextSet,
    beside,
    cell,
    component_options,
    load_results,
    machine,
    need,
    pin_threads,
    print_rows,
    updated_results,
    write_page,
)

HERE = Path(__file__).parent
#: Test documents.
TESTED = 1000
#: Of the labelled ones, one in so many is dev.
DEV_PART = 4
#: Of the peer.
STRENGTHS, FOLDS = [0.1, 1.0, 10.0, 100.0], 4
PEER = "tf-idf + LR"
Result = dict[str, Any]


@dataclass(frozen=True)
class Experiment:
    """A task: its set, the numbers of labelled documents and that of others, and what is compared."""

    data_set: str
    sizes: tuple[int, ...]
    unlabelled: int = 1000
    methods: tuple[str, ...] = (PEER, "ngrams.cfg", "network.cfg", "wordnet.cfg", "sentiwordnet.cfg")


#: What follows the name of a config: another ``min_df`` of its words.
MIN_DF = ", min_df "
TASKS = {
    "reviews": Experiment("imdb_5k", (50, 100, 200, 500)),
    "topics": Experiment("20newsgroups_bydate", (100, 200, 500)),
    "many texts": Experiment(
        "20newsgroups_bydate", (100, 200), 10_000, (PEER, "network.cfg", f"network.cfg{MIN_DF}20")
    ),
}

INTRODUCTION = f"""# Few labels

`python benchmarks/few_labels.py --data DATA`: accuracy in % on {TESTED:,} test documents, mean ± standard error over
draws of labelled documents (their number in brackets), as many of each label. The configs that take documents without
labels get as many as the title says. A quarter of the labelled documents is dev for ours; where it is small, folds of
all of them choose ([training.md](../docs/training.md#the-choice-of-the-model)). Ours is trained on all in the end.
"""


@dataclass(frozen=True)
class Task(TextSet):
    """Documents of one set, of which some are taken without their labels: ``unlabelled`` of them."""

    unlabelled: int

    @cached_property
    def labels(self) -> list[str]:
        return sorted(set(self.train[1].tolist()))

    @cached_property
    def order(self) -> np.ndarray:
        return np.random.default_rng(0).permutation(len(self.train[0]))

    @cached_property
    def unlabelled_examples(self) -> list[Any]:
        return self.examples(self.order[: self.unlabelled])

    @cached_property
    def tested_docs(self) -> list[Any]:
        return [self.nlp.make_doc(text) for text in self.tested[0]]

    def draw(self, size: int, number: int) -> np.ndarray:
        """Labelled documents, none of those without labels: label after label, as many of each."""
        rest = np.random.default_rng(number + 1).permutation(self.order[self.unlabelled :])
        each = size // len(self.labels)
        return np.concatenate([rest[self.train[1][rest] == label][:each] for label in self.labels])


def peer(task: Task, drawn: np.ndarray) -> Result:
    """Tf-idf and logistic regression."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegressionCV

    texts, labels = task.train
    vectors = TfidfVectorizer(sublinear_tf=True)
    values = vectors.fit_transform([texts[i] for i in drawn])
    start = time.process_time()
    model = LogisticRegressionCV(Cs=STRENGTHS, cv=FOLDS, max_iter=1000).fit(values, labels[drawn])
    accuracy = float(np.mean(model.predict(vectors.transform(task.tested[0])) == task.tested[1]))
    return {"accuracy": accuracy, "seconds": time.process_time() - start}


def ours(task: Task, drawn: np.ndarray, config: str) -> Result:
    """A config that ships."""
    import spacy_graft

    options, arguments = settings(config)
    if arguments:
        arguments["unlabelled"] = task.unlabelled_examples
    labelled = task.examples(drawn)
    train = [example for i, example in enumerate(labelled) if i % DEV_PART]
    component = task.nlp.add_pipe("textcat_graft", config=options)
    start = time.process_time()
    report = spacy_graft.fit(task.nlp, train, dev=labelled[::DEV_PART], **arguments)
    seconds = time.process_time() - start
    probabilities = component.predict(task.tested_docs)
    predicted = np.array(component.labels)[probabilities.argmax(axis=1)]
    task.nlp.remove_pipe("textcat_graft")
    return {
        "accuracy": float(np.mean(predicted == task.tested[1])),
        "seconds": seconds,
        "alpha": report.network_alpha,
        "features": report.n_active,
    }


def settings(config: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of the component, and the network that ``fit`` takes."""
    config, _, min_df = config.partition(MIN_DF)
    options, arguments = component_options(config)
    if min_df:
        options["features"]["words"]["min_df"] = int(min_df)
    return options, arguments


def measure(path: Path, task: Task, name: str, size: int, draw: int, method: str) -> None:
    """One model, unless its result is kept."""
    key = f"{name}; {size}; {draw}; {method}"
    if key in load_results(path):
        return
    drawn = task.draw(size, draw)
    result = peer(task, drawn) if method == PEER else ours(task, drawn, method)
    with updated_results(path) as kept:
        kept[key] = result


def pairs(kept: dict[str, Result], name: str, size: int, method: str) -> list[tuple[Result, Result]]:
    """The results of a method and of the peer, of all draws that both are kept for."""
    draws = sorted({key.split("; ")[2] for key in kept if key.startswith(f"{name}; {size}; ")})
    keys = [[f"{name}; {size}; {draw}; {other}" for other in (method, PEER)] for draw in draws]
    return [(kept[one], kept[other]) for one, other in keys if one in kept and other in kept]


def rows(kept: dict[str, Result], name: str) -> Iterator[list[str]]:
    sizes = TASKS[name].sizes
    for method in TASKS[name].methods:
        accuracies = ([100.0 * one["accuracy"] for one, _ in pairs(kept, name, size, method)] for size in sizes)
        yield [method, *map(cell, accuracies)]


def difference_rows(kept: dict[str, Result], name: str) -> Iterator[list[str]]:
    """Paired differences to the peer, and what was chosen."""
    for method in TASKS[name].methods[1:]:
        cells = []
        for size in TASKS[name].sizes:
            found = pairs(kept, name, size, method)
            differences = [100.0 * (one["accuracy"] - other["accuracy"]) for one, other in found]
            alphas = [one["alpha"] for one, _ in found if one["alpha"] is not None]
            chosen = f" (α {', '.join(f'{alpha:g}' for alpha in alphas)})" if alphas else ""
            cells.append(f"{np.mean(differences):+.1f}{chosen}" if found else "")
        yield [method, *cells]


def write(path: Path) -> None:
    """The page."""
    kept = load_results(path)
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        print(f"{INTRODUCTION}\n{machine()}")
        for name, experiment in TASKS.items():
            heads = [str(size) for size in experiment.sizes]
            title = f"{name.capitalize()}: `{experiment.data_set}`, {experiment.unlabelled:,} texts without labels"
            print(f"\n## {title}\n")
            print_rows(["method", *heads], rows(kept, name))
            print("\nDifference to tf-idf + LR in points, and the network strengths that dev chose:\n")
            print_rows(["config", *heads], difference_rows(kept, name))
    write_page(beside(path, ".md"), text.getvalue())


def main(
    data: DataFolder,
    draws: Annotated[int, typer.Option(help="Draws of each size.", min=1)] = 3,
    task: Annotated[str, typer.Option(help="Names of tasks, separated by commas.")] = ",".join(TASKS),
    sizes: Annotated[str, typer.Option(help="Numbers of labelled documents, separated by commas.")] = "50,100,200,500",
    results: Annotated[Path, typer.Option(help="Where results are.")] = HERE / "few_labels.json.gz",
) -> None:
    """Measure what is missing, and write the page."""
    need("sklearn")
    pin_threads()
    warnings.simplefilter("ignore")
    os.environ["NLTK_DATA"] = str(data / "nltk_data")
    for name in task.split(","):
        experiment = TASKS[name]
        documents = Task(data, experiment.data_set, TESTED, experiment.unlabelled)
        for draw in range(draws):
            for size in (size for size in experiment.sizes if str(size) in sizes.split(",")):
                for method in experiment.methods:
                    measure(results, documents, name, size, draw, method)
    write(results)


if __name__ == "__main__":
    typer.run(main)
