"""What ``doc.cats`` says of a document, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real

import numpy as np
from spacy.tokens import Doc

#: Keys of ``doc.user_data``: the weight s_i of an example, and the name that messages give it.
WEIGHT_KEY = "graft_weight"
ID_KEY = "graft_id"
#: How far from 1 the sum of exclusive targets may be.
SUM_TOLERANCE = 1e-3
#: Characters of a document that stand for its name in messages.
EXCERPT = 40


def describe(doc: Doc) -> str:
    """How messages name a document: by its id, or by how it begins."""
    if ID_KEY in doc.user_data:
        return f"document {doc.user_data[ID_KEY]!r}"
    text = doc.text
    return f"document {text[:EXCERPT] + '…' if len(text) > EXCERPT else text!r}"


@dataclass(frozen=True)
class Target:
    """Targets of one document.

    Attributes
    ----------
    values : float64 (labels)
        q_y in [0, 1]; the sum is 1 if labels exclude each other.
    known : bool (labels)
        False where the document says nothing of a label.
    weight : float
        s, positive.
    """

    values: np.ndarray
    known: np.ndarray
    weight: float


@dataclass(frozen=True)
class TargetReader:
    """Reads and checks ``cats`` on behalf of a component.

    Attributes
    ----------
    component : str
        Its name, for messages.
    labels : sequence of str
    exclusive : bool
        Whether exactly one label holds for a document: labels that are not in ``cats`` are 0. Otherwise they are
        unknown, and masked.
    """

    component: str
    labels: Sequence[str]
    exclusive: bool

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {label: column for column, label in enumerate(self.labels)}

    def read(self, doc: Doc) -> Target:
        """Target of one annotated document.

        Raises
        ------
        ValueError
            If a label is unknown, a value is no number in [0, 1], exclusive values do not sum to 1 or the weight is no
            positive number.
        """
        values = np.zeros(len(self.labels))
        known = np.full(len(self.labels), self.exclusive)
        for label, value in doc.cats.items():
            column = self._columns.get(label)
            if column is None:
                raise ValueError(self._unknown_label(doc, label))
            values[column] = self._checked(doc, label, value)
            known[column] = True
        if self.exclusive:
            values /= self._checked_sum(doc, values)
        return Target(values, known, self._weight(doc))

    def _unknown_label(self, doc: Doc, label: str) -> str:
        return (
            f"[{self.component}] {describe(doc)} has the label {label!r}, which the component does not have. Its "
            f"labels: {', '.join(map(repr, self.labels))}. Initialize it with examples of all labels, or list them "
            f"in [initialize.components.{self.component}] labels."
        )

    def _checked(self, doc: Doc, label: str, value: object) -> float:
        if not isinstance(value, Real):
            raise ValueError(
                f"[{self.component}] {describe(doc)} has {value!r} ({type(value).__name__}) for the label {label!r}. "
                f"Values of doc.cats are numbers from 0 to 1."
            )
        number = float(value)
        if not 0.0 <= number <= 1.0:
            raise ValueError(
                f"[{self.component}] {describe(doc)} has {number!r} for the label {label!r}. "
                f"Values of doc.cats are numbers from 0 to 1."
            )
        return number

    def _checked_sum(self, doc: Doc, values: np.ndarray) -> float:
        total = float(values.sum())
        if abs(total - 1.0) > SUM_TOLERANCE:
            raise ValueError(
                f"[{self.component}] The labels of {describe(doc)} sum to {total:g} and not to 1: {doc.cats}. Labels "
                f"of this component exclude each other; where several or none may hold, use textcat_graft_multilabel."
            )
        return total

    def _weight(self, doc: Doc) -> float:
        weight = doc.user_data.get(WEIGHT_KEY, 1.0)
        if not isinstance(weight, Real) or not 0.0 < float(weight) < float("inf"):
            raise ValueError(
                f"[{self.component}] {describe(doc)} has {weight!r} for its weight, doc.user_data[{WEIGHT_KEY!r}]. "
                f"Weights are positive numbers."
            )
        return float(weight)
