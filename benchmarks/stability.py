"""Stability of features: what half samples cost, how many features they select again, what is left without the others.

python benchmarks/stability.py --data DATA
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import typer
from common import DataFolder, measured, pin_threads, print_table, texts_and_labels

SET = "movie_reviews"
#: Parameters of the classifier: the learner without stability, and what n-grams are made of.
WORDS = {"analyzer": re.compile(r"\w+|[^\w\s]").findall, "max_length": 3, "min_df": 5}
MODELS = {
    "words, L1 at 10": (10.0, WORDS),
    "characters, L1 at 10": (10.0, {"analyzer": "char", "min_df": 5}),
    "words, path": (None, WORDS),
}
#: L1 strengths for labelings without a meaning, by penalty weights.
NULL_MODELS = {"none": 10.0, "standard": 70.0}
#: Least selection probabilities, and labelings without a meaning.
THRESHOLDS, LABELINGS = (0.6, 0.9), 10


def learner_of(l1: float | None) -> Any:
    from spacy_graft import Grafting, GraftingPath

    return GraftingPath() if l1 is None else Grafting(l1=l1)


def training_data(space: Any, documents: Any, labels: np.ndarray, indexes: dict[Any, Any]) -> Any:
    return space.training_data(
        documents,
        targets=labels,
        known=np.ones(labels.shape, np.bool_),
        example_weights=np.ones(len(labels)),
        labels=("neg", "pos"),
        exclusive=True,
        indexes=indexes,
    )


def cost(data: Path, l1: float | None, parameters: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A fit on indexes that are there already, and its half and bootstrap samples."""
    from common import one_hot

    from spacy_graft import GraftTextClassifier
    from spacy_graft.graft.start import final_solution
    from spacy_graft.item_model import finished_fit
    from spacy_graft.text_model import TextSpace

    texts, names = texts_and_labels(data, SET)
    space = TextSpace(GraftTextClassifier(**parameters)._readers())
    documents, learner = space.learn(texts), learner_of(l1)
    read = training_data(space, documents, one_hot(names), {})
    finished_fit(learner, read)
    yield {}
    start = time.process_time()
    finished_fit(learner, read).solution()
    seconds = time.process_time() - start
    fit = finished_fit(replace(learner, stability=0.0), read)
    start = time.process_time()
    solution = final_solution(fit)
    samples = time.process_time() - start
    assert solution.stability is not None
    p = solution.stability.probabilities
    shares = [(p >= 0.6).mean(), (p >= 0.9).mean(), (p < 0.2).mean()]
    yield {"n": len(p), "seconds": seconds, "samples": samples, "shares": shares, **fit.report.stability}


def left(data: Path, l1: float | None, parameters: dict[str, Any], stability: float | bool) -> Iterator[dict[str, Any]]:
    """Names and test accuracy of a model of stable features."""
    from spacy_graft import GraftTextClassifier

    (texts, labels), (held_out, expected) = texts_and_labels(data, SET), texts_and_labels(data, SET, "test")
    yield {}
    model = GraftTextClassifier(replace(learner_of(l1), stability=stability), **parameters).fit(texts, labels)
    figures = model.report_.stability or {}
    yield {"n": len(model.features()), "accuracy": model.score(held_out, expected), **figures}


def null_labelings(data: Path, l1: float, penalty_weights: str) -> Iterator[dict[str, Any]]:
    """What is selected in 60% and 90% of the half samples if labels have no meaning."""
    from common import one_hot

    from spacy_graft import GraftTextClassifier
    from spacy_graft.graft.stability import false_selections
    from spacy_graft.graft.start import final_solution
    from spacy_graft.item_model import finished_fit
    from spacy_graft.text_model import TextSpace

    texts, names = texts_and_labels(data, SET)
    space = TextSpace(GraftTextClassifier(**WORDS)._readers())
    documents, targets = space.learn(texts), one_hot(names)
    indexes: dict[Any, Any] = {}
    rng = np.random.default_rng(0)
    learner = replace(learner_of(l1), penalty_weights=penalty_weights, stability=0.0)
    yield {}
    found: dict[float, list[tuple[int, float, float]]] = {threshold: [] for threshold in THRESHOLDS}
    for _ in range(LABELINGS):
        fit = finished_fit(learner, training_data(space, documents, rng.permutation(targets), indexes))
        solution = final_solution(fit)
        for threshold, of_threshold in found.items():
            q = fit.report.stability["selected_per_half"]
            bounds = false_selections(round(threshold * 50), 25, q, fit.report.n_columns)
            n = int((solution.stability.probabilities >= threshold - 1e-9).sum())
            of_threshold.append((n, bounds["false_selections"], bounds["false_selections_unimodal"]))
    yield {str(threshold): np.mean(of_threshold, axis=0).tolist() for threshold, of_threshold in found.items()}


def main(data: DataFolder) -> None:
    pin_threads()
    rows, accuracies = [], []
    for name, (l1, parameters) in MODELS.items():
        result = measured(cost, data, l1, parameters).result
        ratio = result["samples"] / result["seconds"]
        shares = [f"{share:.1%}" for share in result["shares"]]
        seconds = [f"{result['seconds']:.2f}", f"{result['samples']:.1f}", f"{ratio:.0f}"]
        rows.append([name, f"{result['n']:,}", *shares, *seconds])
        for stability in (False, *THRESHOLDS):
            run = measured(left, data, l1, parameters, stability).result
            bounds = [f"{run[key]:.1f}" if key in run else "" for key in ("false_selections",
                                                                         "false_selections_unimodal")]  # fmt: skip
            shown = stability or "all"
            accuracies.append([name, str(shown), f"{run['n']:,}", f"{run['accuracy']:.3f}", *bounds])
    shares_of = ["in ≥ 60%", "in ≥ 90%", "in < 20%"]
    print_table(
        f"{SET}: features that 50 half samples select again",
        ["model", "features", *shares_of, "warm fit, CPU s", "samples, CPU s", "ratio"],
        rows,
    )
    print_table(
        f"{SET}: models of stable features",
        ["model", "stability", "features", "test accuracy", "false selections ≤", "if unimodal ≤"],
        accuracies,
    )
    rows = []
    for penalty_weights, l1 in NULL_MODELS.items():
        null = measured(null_labelings, data, l1, penalty_weights).result
        for threshold, values in null.items():
            rows.append([penalty_weights, f"{l1:g}", threshold, *(f"{value:.1f}" for value in values)])
    print_table(
        f"{LABELINGS} labelings without a meaning, words",
        ["penalty_weights", "l1", "stability", "features selected, mean", "false selections ≤", "if unimodal ≤"],
        rows,
    )


if __name__ == "__main__":
    typer.run(main)
