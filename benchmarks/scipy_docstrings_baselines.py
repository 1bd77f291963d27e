"""Ours beside two linear baselines on the default corpus, over several splits of it.

The peers are logistic regressions on tf-idf features of words (one and two) and of characters (two to five, within
words), each once with all documents alike and once with balanced class weights. Their settings are chosen on ``dev``.
Ours is ``configs/ngrams.cfg``, whose point of the path is chosen on ``dev``.

One split says little: with labels of 8 test documents, macro-F1 varies by 0.03 from split to split. Differences between
methods on the same split vary less, so these are what is averaged. The splits share documents, so their standard error
is somewhat too small.

    python benchmarks/scipy_docstrings_baselines.py --splits 6
"""

from __future__ import annotations

import importlib.util
import itertools
import sys
import time
import types
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy
import typer
from common import need
from rich.console import Console
from rich.table import Table
from spacy.language import Language
from spacy.training import Example
from spacy.util import load_config, load_model_from_config

import spacy_graft
from spacy_graft.pipeline.targets import WEIGHT_KEY

REPOSITORY = Path(__file__).parents[1]
FEATURES: dict[str, dict[str, Any]] = {
    "word 1-2": {"analyzer": "word", "ngram_range": (1, 2)},
    "char 2-5": {"analyzer": "char_wb", "ngram_range": (2, 5)},
}
CLASS_WEIGHTS = {"": None, ", balanced": "balanced"}
PEERS = [features + weights for features in FEATURES for weights in CLASS_WEIGHTS]
# What peers are tuned over.
MIN_DF = (1, 2)
SUBLINEAR = (False, True)
C = (30.0, 100.0, 300.0, 1000.0, 3000.0)
OURS = "ours"

Scores = dict[str, float]


@dataclass(frozen=True)
class Split:
    """Texts and their labels."""

    texts: list[str]
    labels: list[str]


def corpus_module() -> types.ModuleType:
    """Return ``scripts/scipy_docstrings.py``, which is no part of the package."""
    path = REPOSITORY / "scripts" / "scipy_docstrings.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def split_corpus(module: types.ModuleType, salt: str) -> dict[str, Split]:
    """Return train, dev and test; without salt, those of the main job."""
    found = module.build_corpus(scipy, salt)
    return {name: Split([doc.text for doc in docs], [doc.label for doc in docs]) for name, docs in found.items()}


def macro_f1(gold: list[str], predicted: Any) -> float:
    """Return the macro-averaged F1."""
    from sklearn.metrics import f1_score  # type: ignore[import-untyped]

    return float(f1_score(gold, predicted, average="macro", zero_division=0))


def peer_scores(features: str, splits: dict[str, Split]) -> Scores:
    """Return test macro-F1 of a peer by its class weights, each with the settings that are best on dev."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped]
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

    best: dict[str, tuple[float, float]] = dict.fromkeys(CLASS_WEIGHTS, (-1.0, 0.0))
    for min_df, sublinear in itertools.product(MIN_DF, SUBLINEAR):
        vectorizer = TfidfVectorizer(**FEATURES[features], min_df=min_df, sublinear_tf=sublinear)
        vectorizer.fit(splits["train"].texts)
        vectors = {name: vectorizer.transform(split.texts) for name, split in splits.items()}
        for c, (name, weights) in itertools.product(C, CLASS_WEIGHTS.items()):
            model = LogisticRegression(C=c, class_weight=weights, max_iter=1000)
            model.fit(vectors["train"], splits["train"].labels)
            dev, test = (macro_f1(splits[s].labels, model.predict(vectors[s])) for s in ("dev", "test"))
            if dev > best[name][0]:
                best[name] = dev, test
    return {features + name: test for name, (_, test) in best.items()}


def our_score(config: Path, balance: float, splits: dict[str, Split]) -> tuple[float, int]:
    """Return test macro-F1, and the number of features."""
    nlp = load_model_from_config(load_config(config), auto_fill=True)
    report = spacy_graft.fit(nlp, examples(nlp, splits["train"], balance), dev=examples(nlp, splits["dev"], 0.0))
    predicted = [max(doc.cats, key=doc.cats.__getitem__) for doc in nlp.pipe(splits["test"].texts)]
    return macro_f1(splits["test"].labels, predicted), report.n_active


def examples(nlp: Language, split: Split, balance: float) -> list[Example]:
    """Return labelled documents; a label's total weight is its number of documents to the power of 1 - ``balance``."""
    counts = Counter(split.labels)
    weights = {label: count**-balance for label, count in counts.items()}
    mean = sum(weights[label] for label in split.labels) / len(split.labels)
    made = []
    for text, label in zip(split.texts, split.labels, strict=True):
        example = Example.from_dict(nlp.make_doc(text), {"cats": {other: float(other == label) for other in counts}})
        example.reference.user_data[WEIGHT_KEY] = weights[label] / mean
        made.append(example)
    return made


def paired(rows: list[Scores], peer: str) -> tuple[float, float]:
    """Return mean and standard error of ours minus a peer, split by split."""
    differences = np.array([row[OURS] - row[peer] for row in rows])
    error = differences.std(ddof=1) / np.sqrt(len(rows)) if len(rows) > 1 else np.nan
    return float(differences.mean()), float(error)


def as_table(rows: list[Scores]) -> Table:
    """Return macro-F1 by split and method, their means, and the paired differences."""
    table = Table("split", title="macro-F1 on test", box=None)
    for name in (OURS, *PEERS):
        table.add_column(name, justify="right")
    for number, row in enumerate(rows):
        table.add_row("main job" if number == 0 else str(number), *(f"{row[name]:.3f}" for name in (OURS, *PEERS)))
    table.add_row("mean", *(f"{np.mean([row[name] for row in rows]):.3f}" for name in (OURS, *PEERS)))
    differences = [paired(rows, peer) for peer in PEERS]
    table.add_row("ours minus", "", *(f"{mean:+.3f}" for mean, _ in differences))
    table.add_row("std. error", "", *(f"{error:.3f}" for _, error in differences))
    return table


def main(
    splits: Annotated[int, typer.Option(help="How many; the first is that of the main job.", min=1)] = 5,
    config: Annotated[Path, typer.Option(help="Ours.")] = REPOSITORY / "configs" / "ngrams.cfg",
    balance: Annotated[float, typer.Option(help="Weigh our documents: 0 all alike, 1 all labels alike.")] = 0.0,
    ours_only: Annotated[bool, typer.Option("--ours-only", help="Leave the peers out.")] = False,
) -> None:
    """Print macro-F1 of ours and of the peers."""
    need("sklearn")
    from sklearn.exceptions import ConvergenceWarning  # type: ignore[import-untyped]

    warnings.simplefilter("ignore", ConvergenceWarning)
    console, module = Console(), corpus_module()
    rows: list[Scores] = []
    for number in range(splits):
        parts, start = split_corpus(module, str(number or "")), time.perf_counter()
        score, n_features = our_score(config, balance, parts)
        console.print(f"split {number}: ours {score:.3f}, {n_features:,} features", end="")
        row = {OURS: score}
        for features in FEATURES if not ours_only else ():
            row |= peer_scores(features, parts)
        rows.append(row)
        console.print(f", {time.perf_counter() - start:.0f} s")
    if ours_only:
        console.print(f"mean {np.mean([row[OURS] for row in rows]):.3f}")
    else:
        console.print(as_table(rows))


if __name__ == "__main__":
    typer.run(main)
