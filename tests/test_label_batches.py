"""Very many independent labels: fitted in batches, the model is that of one fit of all labels."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from strategies import training_data

from spacy_graft import Grafting, GraftingPath, GraftTextClassifier
from spacy_graft.graft import memory
from spacy_graft.graft.label_batches import BatchedGrafting, BatchedPath
from spacy_graft.graft.solution import Solution
from spacy_graft.graft.start import start
from spacy_graft.model import weights as sparse_weights

WORDS = ("ship", "port", "storm", "grain", "wheat", "bank", "money", "rate", "oil", "gas", "gold", "tin")


@pytest.fixture
def in_batches(monkeypatch):
    monkeypatch.setattr(memory, "MOST_PAIRS", 0)


def corpus(n_documents: int = 120, n_labels: int = 20, seed: int = 0) -> tuple[list[str], list[list[str]]]:
    """Texts of some words, and labels that follow from pairs of them, with noise."""
    random = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n_documents):
        words = random.permutation(WORDS)[: random.integers(2, 7)].tolist()
        texts.append(" ".join(words))
        chosen = {f"{word}{k}" for word in words for k in range(2) if random.random() < 0.6}
        labels.append(sorted(chosen | {f"{random.choice(WORDS)}0"}))
    return texts, [[label for label in row if label in all_labels(n_labels)] for row in labels]


def all_labels(n_labels: int) -> list[str]:
    return [f"{word}{k}" for word in WORDS for k in range(2)][:n_labels]


def data_of(texts, labels, sparse=True):
    targets = np.array([[float(label in row) for label in all_labels(20)] for row in labels])
    data = training_data(texts, targets, exclusive=False)
    return replace(data, targets=scipy.sparse.csc_array(targets)) if sparse else data


def finished(learner, data):
    fit = start(learner, data)
    while not fit.finished:
        fit.step()
    return fit


def named_weights(solution: Solution) -> dict[tuple, np.ndarray]:
    rows = sparse_weights.rows_of(solution.weights, np.arange(len(solution.terms)))
    names = [tuple((term.block, bytes(term.symbols)) for term in terms) for terms in solution.terms]
    return dict(zip(names, rows, strict=True))


def test_batches_are_fits_of_their_own(in_batches, monkeypatch):
    texts, labels = corpus()
    data = data_of(texts, labels)
    fit = finished(Grafting(l1=1.0), data)
    assert isinstance(fit, BatchedGrafting)
    joined = fit.solution()
    weights = named_weights(joined)
    monkeypatch.undo()
    total = 0.0
    for first in range(0, 20, 8):
        alone = finished(Grafting(l1=1.0), data.of_labels(first, first + 8))
        solution, labels_of = alone.solution(), slice(first, min(first + 8, 20))
        total += alone.report.objective
        np.testing.assert_array_equal(joined.intercepts[labels_of], solution.intercepts)
        own = named_weights(solution)
        for name, row in weights.items():
            np.testing.assert_array_equal(row[labels_of], own.get(name, np.zeros(len(solution.intercepts))))
    assert fit.report.objective == pytest.approx(total, rel=1e-15)
