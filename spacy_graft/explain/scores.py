"""The scores of labels for a document, and what they are the sum of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from typing import Any

import numpy as np

from ..heap import no_collections
from ..messages import did_you_mean, listed, printable
from ..options import as_python
from .contributions import Contribution, FoundFeature, places_of, plain_contribution
from .html.page import label_view, words_view
from .words import SegmentedText, WordEvidence, word_evidence

#: Rows of a printed explanation.
MAX_PRINTED = 10


@dataclass(frozen=True, repr=False)
class LabelExplanation:
    """The score of a label for one document: its intercept and contributions.

    Attributes
    ----------
    label : str
    against : str, optional
        The label that it is compared with, if labels exclude each other; None for independent labels.
    probability : float
    score : float
        The logarithm of the odds, the sum of the intercept and all contributions. ``1 / (1 + exp(-score))`` is the
        probability, or with more than two exclusive labels the share of ``label`` in the probability of it and
        ``against``.
    intercept : float
    contributions : tuple of Contribution
        Those of features with a weight, in descending order of absolute value.
    source : SegmentedText
        The text of the document and its words.
    """

    label: str
    against: str | None
    probability: float
    score: float
    intercept: float
    contributions: tuple[Contribution, ...]
    source: SegmentedText

    @cached_property
    def words(self) -> tuple[WordEvidence, ...]:
        """The contributions summed over the words and phrases of the text, in descending order of absolute value."""
        return word_evidence(self.source, self.contributions)

    def __str__(self) -> str:
        """A short table: the score, the intercept, and the words and phrases that contribute most."""
        against = "" if self.against is None else f" against {self.against}"
        rows = [("intercept", self.intercept), *((row.name, row.contribution) for row in self.words[:MAX_PRINTED])]
        if rest := self.words[MAX_PRINTED:]:
            rows.append((f"({len(rest)} more)", fsum(row.contribution for row in rest)))
        rows.append((f"log-odds{against}", self.score))
        # Without a negative zero.
        lines = [f"{round(value, 3) + 0.0:+8.3f}  {printable(text)}" for text, value in rows]
        return "\n".join([f"{printable(self.label)}, probability {self.probability:.3f}", *lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The same table as HTML, in a notebook."""
        return words_view(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return plain_explanation(self, {})


@dataclass(frozen=True, repr=False)
class Explanation:
    """The scores of labels for one document.

    Attributes
    ----------
    text : str
    labels : tuple of LabelExplanation
        In the order of the component's labels.
    probabilities : dict of str to float
        Of all labels of the model, also of those that are not explained.
    """

    text: str
    labels: tuple[LabelExplanation, ...]
    probabilities: Mapping[str, float]

    def __getitem__(self, label: object) -> LabelExplanation:
        """That of a label. Labels of an estimator may be given as it has them, such as integers."""
        for explanation in self.labels:
            if explanation.label == str(as_python(label)):
                return explanation
        raise KeyError(label)

    def __iter__(self) -> Iterator[LabelExplanation]:
        return iter(self.labels)

    @property
    def best(self) -> LabelExplanation:
        """The most probable label; the first if there are several."""
        return max(self.labels, key=lambda explanation: explanation.probability)

    def __repr__(self) -> str:
        """The table of the most probable label."""
        return repr(self.best)

    def _repr_html_(self) -> str:
        """The highlighted text for the most probable label, in a notebook."""
        return label_view(self.best, self.probabilities)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        written: dict[int, dict[str, Any]] = {}
        with no_collections():
            return {"text": self.text, "labels": [plain_explanation(label, written) for label in self.labels]}

    def to_dataframe(self, fragments: bool = False) -> Any:
        """Return a pandas ``DataFrame`` with one row for each label and word or phrase.

        The columns are label, text, contribution and places (start and end, in characters).

        Parameters
        ----------
        fragments : bool
            Whether rows are features instead; there are then also the columns block, kind, weight and value.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_dataframe needs pandas: python -m pip install pandas") from error
        columns = (
            ("text", "block", "kind", "weight", "value", "contribution") if fragments else ("text", "contribution")
        )
        rows = [
            {
                "label": label.label,
                **{column: getattr(part, column) for column in columns},
                "places": places_of(part) if isinstance(part, Contribution) else list(part.places),
            }
            for label in self.labels
            for part in (label.contributions if fragments else label.words)
        ]
        return pd.DataFrame(rows, columns=["label", *columns, "places"])


def plain_explanation(explanation: LabelExplanation, written: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """Plain values of one label; ``written`` as of :func:`.plain_contribution`."""
    return {
        "label": explanation.label,
        "against": explanation.against,
        "probability": explanation.probability,
        "score": explanation.score,
        "intercept": explanation.intercept,
        "words": [row.to_dict() for row in explanation.words],
        "contributions": [plain_contribution(part, written) for part in explanation.contributions],
    }


@dataclass(frozen=True)
class Matched:
    """The features of a document, and what their contributions are computed from.

    Attributes
    ----------
    found : sequence of tuples
        Text, block, kind and members of each feature.
    values : float64 (n)
        Their values in the document, times the document weight.
    weights : float64 (n, n_labels)
    intercepts : float64 (n_labels)
    """

    found: Sequence[FoundFeature]
    values: np.ndarray
    weights: np.ndarray
    intercepts: np.ndarray


def explanation_of_matched(
    source: SegmentedText, matched: Matched, probabilities: Mapping[str, float], alternatives: Mapping[str, str | None]
) -> Explanation:
    """Explain labels for a document.

    ``probabilities`` are those of all labels, in the order of the columns of the weights. ``alternatives`` are the
    labels to explain, and what each is compared with, from :func:`alternatives_of`.
    """
    columns = {label: column for column, label in enumerate(probabilities)}
    explained = []
    for label, against in alternatives.items():
        weights, intercept = matched.weights[:, columns[label]], matched.intercepts[columns[label]]
        if against is not None:
            weights = weights - matched.weights[:, columns[against]]
            intercept = intercept - matched.intercepts[columns[against]]
        parts = weighted_contributions(matched, weights)
        score = fsum([float(intercept), *(part.contribution for part in parts)])
        explained.append(LabelExplanation(label, against, probabilities[label], score, float(intercept), parts, source))
    return Explanation(source.text, tuple(explained), dict(probabilities))


def alternatives_of(
    probabilities: Mapping[str, float], exclusive: bool, label: str | None, against: str | None
) -> dict[str, str | None]:
    """The labels to explain, and for each the label that it is compared with; None if labels are independent.

    Parameters
    ----------
    probabilities : mapping of str to float
        Of all labels.
    exclusive : bool
        Whether labels exclude each other.
    label, against : str, optional
        By default all labels, and for each of them the most probable one of the others.

    Raises
    ------
    ValueError
        If a label is no string, there is no such label, both are the same, or ``against`` is given for independent
        labels.
    """
    for name in (label, against):
        if name is not None and not isinstance(name, str):
            raise ValueError(f"A label is expected as one string, not {name!r:.40}.")
        if name is not None and name not in probabilities:
            raise ValueError(
                f"There is no label {name!r}.{did_you_mean(name, probabilities)} The labels: {listed(probabilities)}."
            )
    if against is not None and not exclusive:
        raise ValueError(
            f"The label {against!r} is no alternative to another one: labels of this model are independent of each "
            f"other. Explain without against."
        )
    if label is not None and label == against:
        raise ValueError(f"The label {label!r} cannot be compared with itself. Choose another label or against.")
    wanted = [name for name in probabilities if name != against] if label is None else [label]
    if not exclusive:
        return dict.fromkeys(wanted)
    ranked = sorted(probabilities, key=lambda name: -probabilities[name])
    return {name: next(other for other in ranked if other != name) if against is None else against for name in wanted}


def weighted_contributions(matched: Matched, weights: np.ndarray) -> tuple[Contribution, ...]:
    """The contributions of features with these weights, in descending order of absolute value."""
    contributions = weights * matched.values
    order = np.argsort(-np.abs(contributions), kind="stable")
    order = order[weights[order] != 0.0]
    found = [matched.found[k] for k in order.tolist()]
    numbers = weights[order].tolist(), matched.values[order].tolist(), contributions[order].tolist()
    return tuple(
        Contribution(text, block, kind, weight, value, contribution, members)
        for (text, block, kind, members), weight, value, contribution in zip(found, *numbers, strict=True)
    )
