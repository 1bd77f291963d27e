"""Subject indexing: a backend in the manner of Annif, with spacy-graft behind it.

Annif (https://annif.org) suggests subjects of a vocabulary for a text. Its backends are trained on a corpus of texts
with subjects, and suggest the best subjects of a text with scores from 0 to 1. This class has the two methods that do
this, without a dependency on Annif; in a backend of yours, ``_train`` and ``_suggest`` call them.

    python examples/annif_backend.py train.tsv model.graft < text.txt

Each line of ``train.tsv`` has a text, a tab, and its subjects, separated by spaces.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from spacy_graft import GraftingPath, GraftTextClassifier


class IndexedText(NamedTuple):
    """A text of a corpus, with the URIs of its subjects."""

    text: str
    subjects: frozenset[str]


class Suggestion(NamedTuple):
    """A subject, and how probable it is."""

    subject: str
    score: float


class GraftBackend:
    """A backend: independent labels over n-grams of words and characters. The model is one file.

    Parameters
    ----------
    path : Path
        Where the model is kept.
    """

    #: Parameters of a project's configuration, in which everything is a string, with their defaults.
    DEFAULTS: Mapping[str, str] = {"min_texts": "2", "max_features": "20000", "limit": "10"}

    def __init__(self, path: Path) -> None:
        self.path = path
        self.model: GraftTextClassifier | None = None

    def train(self, corpus: Iterable[IndexedText], params: Mapping[str, str] | None = None) -> None:
        """Train on a corpus and save the model.

        Parameters
        ----------
        corpus : iterable of IndexedText
        params : mapping of str to str, optional
            ``min_texts``: texts that a subject needs; ``max_features``: features of the model at most.

        Raises
        ------
        ValueError
            If no subject has enough texts.
        """
        options = {**self.DEFAULTS, **(params or {})}
        texts = list(corpus)
        counts = Counter(subject for text in texts for subject in text.subjects)
        kept = {subject for subject, n in counts.items() if n >= int(options["min_texts"])}
        if not kept:
            raise ValueError(f"No subject has {options['min_texts']} or more of the {len(texts)} texts.")
        learner = GraftingPath(max_features=int(options["max_features"]))
        model = GraftTextClassifier(learner, analyzer=["word", "char_wb"], min_df=[2, 3], multilabel=True)
        model.fit([text.text for text in texts], [sorted(text.subjects & kept) for text in texts])
        model.save(self.path)
        self.model = model

    def suggest(self, text: str, limit: int | None = None) -> list[Suggestion]:
        """Return the most probable subjects of a text, in descending order."""
        return self.suggest_batch([text], limit)[0]

    def suggest_batch(self, texts: list[str], limit: int | None = None) -> list[list[Suggestion]]:
        """Return the same for many texts."""
        limit = int(self.DEFAULTS["limit"]) if limit is None else limit
        subjects = self.loaded().classes_
        probabilities = self.loaded().predict_proba(texts)
        best = np.argsort(-probabilities, axis=1, kind="stable")[:, :limit]
        return [
            [Suggestion(str(subjects[k]), float(row[k])) for k in chosen]
            for row, chosen in zip(probabilities, best, strict=True)
        ]

    def reasons(self, text: str, subject: str) -> list[tuple[str, float]]:
        """Return the words and phrases of a text that speak for a subject or against it."""
        (explanation,) = self.loaded().explain([text])
        return [(word.text, word.contribution) for word in explanation[subject].words]

    def loaded(self) -> GraftTextClassifier:
        """Return the model, which is read at its first use."""
        if self.model is None:
            self.model = GraftTextClassifier.load(self.path)
        return self.model


def read_tsv(path: Path) -> list[IndexedText]:
    """Read a corpus of short texts."""
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return [IndexedText(text, frozenset(subjects.split())) for text, subjects in rows]


if __name__ == "__main__":
    backend = GraftBackend(Path(sys.argv[2]))
    backend.train(read_tsv(Path(sys.argv[1])))
    for suggestion in backend.suggest(sys.stdin.read()):
        print(f"{suggestion.score:.3f}  {suggestion.subject}")
