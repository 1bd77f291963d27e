"""The scores of labels for a document, and what they are the sum of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .contributions import Contribution, LabelExplanation, Member, places_of, with_fields
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
