"""What the experiments with networks share: settings beyond the paper, the baseline, intervals over draws."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import t as students

from spacy_graft import Grafting
from spacy_graft.graphs.cooccurrence import Cooccurrence

#: The graph of configs/network.cfg, and a ridge with the penalty and document weights that it has: what these add to
#: the paper's model. The config itself chooses its strengths on dev (few_labels.py).
GRAPH = Cooccurrence("cosine", 25, minimum=0.1)
WEIGHTED = Grafting(
    penalty="l2", ridge=0.1, penalty_weights="ratio_idf", length_normalisation=True, balance=0.5, tol=1e-4,
    network_alpha=1.0,
)  # fmt: skip
CONFIDENCE = 0.95


def regression(values: Any, labels: np.ndarray, ridge: float) -> Any:
    """Logistic regression: the sum of losses and ``ridge`` times the square of the weights, by L-BFGS."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=0.5 / ridge, max_iter=1000)
    with warnings.catch_warnings():
        # Strengths near 0 want more iterations than they are worth.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(values, labels)


def interval(differences: np.ndarray) -> tuple[float, float]:
    """Mean, and half the width of its interval by Student's t."""
    n = len(differences)
    half = students.ppf(0.5 + 0.5 * CONFIDENCE, n - 1) * differences.std(ddof=1) / np.sqrt(n)
    return float(differences.mean()), float(half)


def told(differences: np.ndarray) -> str:
    """Mean difference in points with its interval, in bold where that leaves 0 out."""
    mean, half = interval(100.0 * differences)
    mark = "**" if abs(mean) > half else ""
    return f"{mark}{mean:+.1f} ± {half:.1f}{mark}"


def mean_and_deviation(accuracies: np.ndarray) -> str:
    """In %."""
    return f"{100.0 * accuracies.mean():.1f} ± {100.0 * accuracies.std(ddof=1):.1f}"


def written(setting: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in setting.items())


def with_commas(sizes: Sequence[int]) -> list[str]:
    return [f"{size:,}" for size in sizes]
