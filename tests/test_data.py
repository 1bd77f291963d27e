"""Known optima on a real corpus; skipped where the data sets are not."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from spacy_graft.graft.settings import Grafting
from strategies import training_data
from test_graft import run

MOVIE_REVIEWS = Path(__file__).parents[2] / "shared" / "data" / "movie_reviews" / "train.jsonl.gz"

pytestmark = [
    pytest.mark.data,
    pytest.mark.slow,
    pytest.mark.skipif(not MOVIE_REVIEWS.exists(), reason="the data sets are not there"),
]


def test_movie_reviews_in_characters_of_any_length() -> None:
    """Below what liblinear reaches with lengths 1 to 8, 696.05 (``l1`` = 10)."""
    with gzip.open(MOVIE_REVIEWS, "rt", encoding="utf8") as lines:
        records = [json.loads(line) for line in lines]
    targets = np.eye(2)[[int(record["label"] == "pos") for record in records]]
    fit = run(Grafting(l1=10.0, n_best=None, tol=1e-6), training_data([r["text"] for r in records], targets))
    assert fit.report.converged
    assert fit.report.objective == pytest.approx(693.5343, abs=1e-3)
    assert fit.report.duality_gap >= 0.0
