"""Explanations of predictions.

A score is exactly the sum of the intercept and the contributions of the matched features. A contribution is the
feature's weight times its value in the document. Every contribution has its places in the text. Words that the model
knows by their vectors contribute too: their weight is their score for the label, their value their share of the
document's words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from spacy.tokens import Doc

from ..extract.spelling import text_of_doc
from ..model.snapshot import Snapshot
from .contributions import Contribution, LabelExplanation, Member, places_of, with_fields
from .evidence import Evidence
from .html.page import label_view


@dataclass(frozen=True)
class Explanation:
    """The scores of labels for one document.

    Attributes
    ----------
    text : str
    labels : tuple of LabelExplanation
        In the order of the component's labels.
    """

    text: str
    labels: tuple[LabelExplanation, ...]

    def __getitem__(self, label: str) -> LabelExplanation:
        for explanation in self.labels:
            if explanation.label == label:
                return explanation
        raise KeyError(label)

    def __iter__(self) -> Iterator[LabelExplanation]:
        return iter(self.labels)

    @property
    def best(self) -> LabelExplanation:
        """The most probable label; the first if there are several."""
        return max(self.labels, key=lambda explanation: explanation.probability)

    def _repr_html_(self) -> str:
        """The highlighted text for the most probable label, in a notebook."""
        by_label = {label.label: label.probability for label in self.labels}
        return label_view(self.text, self.best, by_label)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self)

    def to_dataframe(self) -> Any:
        """Return a pandas ``DataFrame`` with one row for each label and contribution.

        The columns are label, text, block, kind, weight, value, contribution and places (start and end, in characters).

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_dataframe needs pandas: python -m pip install pandas") from error
        columns = ("text", "block", "kind", "weight", "value", "contribution")
        rows = [
            {"label": label.label, **{column: getattr(part, column) for column in columns}, "places": places_of(part)}
            for label in self.labels
            for part in label.contributions
        ]
        return pd.DataFrame(rows, columns=["label", *columns, "places"])


def explain_document(snapshot: Snapshot, doc: Doc, probabilities: np.ndarray, labels: Mapping[str, int]) -> Explanation:
    """Explain the scores of labels for a document.

    Parameters
    ----------
    snapshot : Snapshot
        Of a model.
    doc : Doc
    probabilities : float64 (n_labels)
        Probabilities of the document, predicted from the same snapshot.
    labels : mapping of str to int
        The labels to explain, with their columns of the weights.

    Returns
    -------
    Explanation
    """
    occurrences = snapshot.ngram_occurrences(doc)
    rows, values, weights, scale = snapshot.contributions(doc, occurrences)
    words, shares, word_scores = snapshot.word_contributions(doc)
    evidence = Evidence(snapshot, doc, occurrences)
    found = [*map(evidence.of_feature, rows.tolist()), *map(evidence.of_word, words.tolist())]
    values, weights = np.concatenate([scale * values, shares]), np.concatenate([weights, word_scores])
    return Explanation(
        text_of_doc(doc),
        tuple(
            explain_label(
                label,
                float(probabilities[column]),
                float(snapshot.intercepts[column]),
                found,
                values,
                weights[:, column],
            )
            for label, column in labels.items()
        ),
    )


def explain_label(
    label: str,
    probability: float,
    intercept: float,
    found: Sequence[tuple[str, str, str, tuple[Member, ...]]],
    values: np.ndarray,
    weights: np.ndarray,
) -> LabelExplanation:
    """Explain one label from the matched features and their values; ``weights`` are those of the label."""
    contributions = weights * values
    order = np.argsort(-np.abs(contributions), kind="stable")
    order = order[weights[order] != 0.0]
    columns = order.tolist(), weights[order].tolist(), values[order].tolist(), contributions[order].tolist()
    parts = []
    for k, weight, value, contribution in zip(*columns, strict=True):
        text, block, kind, members = found[k]
        parts.append(
            with_fields(
                Contribution,
                {
                    "text": text,
                    "block": block,
                    "kind": kind,
                    "weight": weight,
                    "value": value,
                    "contribution": contribution,
                    "members": members,
                },
            )
        )
    score = intercept + sum(columns[-1])
    return LabelExplanation(label, probability, score, intercept, tuple(parts))
