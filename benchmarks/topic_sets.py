"""Why topic sets lose to a LinearSVC over words and characters: the same selected features, with other values.

Each set is split into a part that is trained on and a part that is held out, both of its train and dev documents. Our
path selects features. On these features, a ridge-penalised softmax is fitted with other values, document weights,
penalty weights and losses, and judged on what is held out; the peers are fitted to all n-grams. Nothing touches test.

python benchmarks/topic_sets.py --data DATA [--sets newsgroups] [--features 5000] [--variants "ours,log counts"]
"""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sparse
import typer
from common import DataFolder, need, one_hot, pin_threads, print_table, texts_and_labels

#: Words and punctuation marks.
MARKS = r"(?u)\b\w+\b|[^\w\s]"
#: Strengths of the ridge, from strong to weak so that each fit starts at the one before.
STRENGTHS = (8.0, 2.0, 0.5, 0.12, 0.03)
#: Strengths of the peers.
C = (0.3, 1.0, 3.0)
#: Factor of λ of the block of characters.
CHARACTERS = 1.5
Matrix = Any


@dataclass(frozen=True)
class Split:
    """Texts and labels (one-hot), of a part to train on and one held out."""

    lang: str
    train: tuple[list[str], np.ndarray]
    held_out: tuple[list[str], np.ndarray]


@dataclass(frozen=True)
class Selection:
    """Counts of the selected features, and the numbers of distinct words, of documents trained on and held out."""

    counts: tuple[Matrix, Matrix]
    lengths: tuple[np.ndarray, np.ndarray]
    #: 1 or CHARACTERS of each feature.
    factors: np.ndarray

    @cached_property
    def present(self) -> Matrix:
        return (self.counts[0] > 0).astype(np.float64)

    @cached_property
    def df(self) -> np.ndarray:
        return np.asarray(self.present.sum(axis=0)).ravel()

    @cached_property
    def idf(self) -> np.ndarray:
        """Shape (1, features)."""
        return np.log((1.0 + self.present.shape[0]) / (1.0 + self.df))[None, :]


@dataclass(frozen=True)
class Variant:
    """What differs from ours as it was before lengths were made of features."""

    log_counts: bool = False
    length: str = "words"
    penalty_weights: str = "ratio_idf"
    power: float = 0.5
    characters: float = CHARACTERS
    balance: float = 0.5
    squared_hinge: bool = False


VARIANTS = {
    "lengths: distinct words": Variant(),
    "lengths: none": Variant(length="none"),
    "lengths: number of selected features": Variant(length="features"),
    "lengths: L2 norm over selected features": Variant(length="norm"),
    "log counts": Variant(log_counts=True),
    "log counts, L2 norm": Variant(log_counts=True, length="norm"),
    "idf instead of ratio_idf": Variant(penalty_weights="idf"),
    "ratio_idf to the power of 1": Variant(power=1.0),
    "characters at the price of words": Variant(characters=1.0),
    "no balance": Variant(balance=0.0),
    "full balance": Variant(balance=1.0),
    "squared hinge": Variant(squared_hinge=True),
}


def records(path: Path) -> list[tuple[str, str]]:
    with path.open(encoding="utf8") as lines:
        return [(record["text"], record["label"]) for record in map(json.loads, lines)]


def load(data: Path, docstrings: Path, name: str) -> Split:
    """A fifth is held out; what is trained on is the rest, of newsgroups two fifths."""
    lang, rows = "en", []
    if name == "docstrings":
        rows = [row for part in ("train", "dev") for row in records(docstrings / f"{part}.jsonl")]
    elif name == "newsgroups":
        rows = list(zip(*texts_and_labels(data, "20newsgroups_bydate"), strict=True))
    else:
        lang = "zh" if name.startswith("zh") else "en"
        rows = list(zip(*texts_and_labels(data, name), strict=True))
    random.Random(7).shuffle(rows)
    kept = (1, 2) if name == "newsgroups" else (1, 2, 3, 4)
    train, held_out = [row for i, row in enumerate(rows) if i % 5 in kept], rows[::5]
    targets = one_hot([label for _, label in train + held_out])
    texts = [text for text, _ in train + held_out]
    return Split(lang, (texts[: len(train)], targets[: len(train)]), (texts[len(train) :], targets[len(train) :]))


def select(split: Split, max_features: int) -> Selection:
    """The features of the last point of our path."""
    import spacy
    from spacy.training import Example

    from spacy_graft.extract.lengths import document_length
    from spacy_graft.model.sparse_linear import snapshot_of

    nlp = spacy.blank(split.lang)
    learner = {"@graft_learners": "spacy_graft.GraftingPath.v1", "max_features": max_features, "refit": None}
    component = nlp.add_pipe("textcat_graft", config={"learner": learner})
    docs = [[nlp.make_doc(text) for text in texts] for texts, _ in (split.train, split.held_out)]
    labels = [f"{label:03}" for label in range(split.train[1].shape[1])]
    examples = [
        Example.from_dict(doc, {"cats": dict(zip(labels, row.tolist(), strict=True))})
        for doc, row in zip(docs[0], split.train[1], strict=True)
    ]
    component.initialize(lambda: examples, labels=labels)
    component.update(examples[:1])
    while component.report is None or not component.report.finished:
        component.finish_update()
    snapshot = snapshot_of(component.model)

    def counts(of: list[Any]) -> Matrix:
        found = [np.unique(snapshot.ngram_occurrences(doc)[:, 0], return_counts=True) for doc in of]
        starts = np.cumsum([0, *(len(rows) for rows, _ in found)])
        rows, numbers = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return sparse.csr_matrix((numbers.astype(float), rows, starts), (len(of), snapshot.features.n_features))

    lengths = [np.array([document_length(doc) for doc in of], float) for of in docs]
    characters = np.array(snapshot.features.blocks) == "characters"
    return Selection((counts(docs[0]), counts(docs[1])), (lengths[0], lengths[1]), np.where(characters, CHARACTERS, 1))


def inverse_penalty_weights(selection: Selection, targets: np.ndarray, variant: Variant) -> np.ndarray:
    """1 / λ: (features, labels)."""
    inside, of_label = selection.present.T @ targets, targets.sum(axis=0)
    outside = selection.df[:, None] - inside
    ratio = np.log((inside + 1) / (of_label + 2)) - np.log((outside + 1) / (len(targets) - of_label + 2))
    inverse = (np.abs(ratio) * selection.idf.T) ** variant.power
    if variant.penalty_weights == "idf":
        inverse = np.broadcast_to(selection.idf.T + 1.0, ratio.shape)
    factors = np.where(selection.factors > 1.0, variant.characters, 1.0)
    return np.asarray(np.clip(inverse, 0.05, 20.0) / factors[:, None])


def inputs(selection: Selection, variant: Variant) -> Iterator[Matrix]:
    """X with document weights, of documents trained on and held out."""
    scale = 1.0
    for number, (counts, words) in enumerate(zip(selection.counts, selection.lengths, strict=True)):
        values = counts.copy()
        values.data = 1.0 + np.log(values.data) if variant.log_counts else np.ones_like(values.data)
        if variant.length == "words":
            lengths = words
        elif variant.length == "norm":
            lengths = np.asarray(values.multiply(selection.idf + 1.0).power(2).sum(axis=1)).ravel()
        else:
            lengths = np.diff(values.indptr) if variant.length == "features" else np.ones(len(words))
        weights = 1.0 / np.sqrt(np.maximum(lengths, 1.0))
        scale = weights.mean() if number == 0 else scale
        yield (sparse.diags(weights / scale) @ values).tocsr()


def softmax_loss(scores: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Loss of each document and its gradient."""
    from scipy.special import logsumexp

    normaliser = logsumexp(scores, axis=1, keepdims=True)
    return normaliser[:, 0] - (targets * scores).sum(axis=1), np.exp(scores - normaliser) - targets


def squared_hinge_loss(scores: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same, one label against all others."""
    signs = 2.0 * targets - 1.0
    missing = np.maximum(0.0, 1.0 - signs * scores)
    return (missing**2).sum(axis=1), -2.0 * signs * missing


def fits(
    values: Matrix, inverse: np.ndarray, targets: np.ndarray, balance: float, squared_hinge: bool
) -> Iterator[tuple[float, np.ndarray, np.ndarray]]:
    """Strength, weights and intercepts of Σ s loss + strength Σ λ² w²."""
    from scipy.optimize import minimize

    importance = targets @ targets.sum(axis=0) ** -balance
    importance *= len(targets) / importance.sum()
    loss: Callable[..., Any] = squared_hinge_loss if squared_hinge else softmax_loss
    transposed, size, n_labels = values.T.tocsr(), inverse.size, inverse.shape[1]
    found = np.zeros(size + n_labels)
    for strength in STRENGTHS:

        def objective(x: np.ndarray, strength: float = strength) -> tuple[float, np.ndarray]:
            scaled = x[:size].reshape(inverse.shape)
            losses, gradient = loss(values @ (inverse * scaled) + x[size:], targets)
            gradient = importance[:, None] * gradient
            of_weights = inverse * (transposed @ gradient) + 2.0 * strength * scaled
            value = importance @ losses + strength * (scaled**2).sum()
            return float(value), np.concatenate([of_weights.ravel(), gradient.sum(axis=0)])

        options = {"maxiter": 120, "ftol": 1e-7, "gtol": 1e-4 * len(targets) / n_labels}
        found = minimize(objective, found, jac=True, method="L-BFGS-B", options=options).x
        yield strength, inverse * found[:size].reshape(inverse.shape), found[size:]


def macro_f1(scores: np.ndarray, targets: np.ndarray) -> float:
    predicted = np.eye(targets.shape[1])[scores.argmax(axis=1)]
    return float(np.mean(2.0 * (predicted * targets).sum(axis=0) / np.maximum((predicted + targets).sum(axis=0), 1.0)))


def row_of(name: str, judged: list[tuple[float, float, float]]) -> list[str]:
    """The strength of the least log-loss, and its scores."""
    strength, f1, log_loss = min(judged, key=lambda own: own[2])
    return [name, f"{f1:.4f}", f"{log_loss:.4f}" if np.isfinite(log_loss) else "", f"{strength:g}"]


def ours(split: Split, selection: Selection, variant: Variant) -> list[tuple[float, float, float]]:
    """Strength, macro-F1 and log-loss; a hinge has no probabilities, its strength is that of the best macro-F1."""
    targets, held_out = split.train[1], split.held_out[1]
    values, others = inputs(selection, variant)
    inverse = inverse_penalty_weights(selection, targets, variant)
    judged = []
    for strength, weights, intercepts in fits(values, inverse, targets, variant.balance, variant.squared_hinge):
        scores = others @ weights + intercepts
        log_loss = float(softmax_loss(scores, held_out)[0].mean())
        judged.append((strength, macro_f1(scores, held_out), log_loss))
    if variant.squared_hinge:
        strength, f1, _ = max(judged, key=lambda own: own[1])
        return [(strength, f1, np.inf)]
    return judged


def peers(split: Split) -> Iterator[list[str]]:
    """LinearSVC over tf-idf of words, and of words and characters; the best of :data:`C` by macro-F1."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped]
    from sklearn.svm import LinearSVC  # type: ignore[import-untyped]

    options = {"sublinear_tf": True, "min_df": 2}
    if split.lang == "zh":
        words = TfidfVectorizer(analyzer="char", ngram_range=(1, 3), **options)
        characters = TfidfVectorizer(analyzer="char", ngram_range=(1, 5), **options)
    else:
        words = TfidfVectorizer(ngram_range=(1, 2), token_pattern=MARKS, **options)
        characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), **options)
    (texts, targets), (others, held_out) = split.train, split.held_out
    pairs = [(each.fit_transform(texts), each.transform(others)) for each in (words, characters)]
    for name, used in (("LinearSVC, words", pairs[:1]), ("LinearSVC, words and characters", pairs)):
        train, test = (sparse.hstack(parts).tocsr() for parts in zip(*used, strict=True))
        judged = []
        for strength in C:
            scores = LinearSVC(C=strength).fit(train, targets.argmax(axis=1)).decision_function(test)
            scores = scores if scores.ndim > 1 else np.stack([-scores, scores], axis=1)
            judged.append((strength, macro_f1(scores, held_out), np.inf))
        yield row_of(name, [max(judged, key=lambda own: own[1])])


def main(
    data: DataFolder,
    docstrings: Annotated[Path, typer.Option(help="Folder that scripts/corpus.py wrote.")] = Path("training/corpus"),
    sets: Annotated[str, typer.Option(help="Names of sets, separated by commas.")] = (
        "newsgroups,docstrings,zh_online_shopping_10cats,trec_questions"
    ),
    features: Annotated[int, typer.Option(help="Features at the most.")] = 5000,
    variants: Annotated[str, typer.Option(help="Names of variants, separated by semicolons.")] = ";".join(VARIANTS),
) -> None:
    """Print a table for each set."""
    need("sklearn")
    pin_threads()
    warnings.simplefilter("ignore")
    for name in sets.split(","):
        split = load(data, docstrings, name)
        rows = list(peers(split))
        selection = select(split, features)
        rows += [row_of(variant, ours(split, selection, VARIANTS[variant])) for variant in variants.split(";")]
        header = ("what", "macro-F1", "log-loss", "strength")
        print_table(f"{name}, {selection.present.shape[1]:,} features", header, rows)


if __name__ == "__main__":
    typer.run(main)
