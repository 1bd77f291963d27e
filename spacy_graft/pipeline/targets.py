"""Targets of documents, read from ``doc.cats`` and checked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example

from ..extract.streams import starts_of
from ..extract.unread import document_text
from ..graft.memory import MANY_LABELS
from ..held_out import PlainTargets
from ..messages import listed, text_beginning
from ..metrics import LEAST_RIGHT
from ..options import LARGEST_VALUE, SMALLEST_WEIGHT, is_number_in

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: Keys of ``doc.user_data``: the example weight s_i, the id of the document in messages, whether it has none of the
#: labels that are not in ``doc.cats``, so that 0 need not be said of thousands, and where it is in its file.
WEIGHT_KEY = "graft_weight"
ID_KEY = "graft_id"
COMPLETE_KEY = "graft_complete"
PLACE_KEY = "graft_place"
#: Allowed deviation from 1 of the sum of exclusive targets.
SUM_TOLERANCE = 1e-3


def is_complete(doc: Doc) -> bool:
    """Whether a document has none of the labels that are not in its ``cats``."""
    return doc.user_data.get(COMPLETE_KEY) is True


def is_annotated(doc: Doc) -> bool:
    """Whether something is known of the labels of a document."""
    return bool(doc.cats) or is_complete(doc)


def has_labels_of(doc: Doc, labels: Iterable[str]) -> bool:
    """Whether something is known of some of the labels."""
    return is_complete(doc) or not doc.cats.keys().isdisjoint(labels)


def positive_labels(cats: Mapping[str, float]) -> frozenset[str]:
    """The labels that hold, or are more likely to than not."""
    return frozenset(label for label, value in cats.items() if value >= LEAST_RIGHT)


def sum_to_one(targets: Iterable[float]) -> bool:
    """Whether targets sum to 1, as those of exclusive labels."""
    return abs(sum(targets) - 1.0) <= SUM_TOLERANCE


def sum_of_targets(cats: Mapping[str, float], labels: Collection[str]) -> float:
    """The sum of a document's targets for some labels."""
    return sum(value for label, value in cats.items() if label in labels)


def document_name(doc: Doc) -> str:
    """The name of a document in messages: its id, or the beginning of its text and where it is in its file."""
    if ID_KEY in doc.user_data:
        return f"document {doc.user_data[ID_KEY]!r}"
    place = f" ({doc.user_data[PLACE_KEY]})" if PLACE_KEY in doc.user_data else ""
    return f"document {text_beginning(document_text(doc))!r}{place}"


@dataclass(frozen=True, slots=True)
class Target:
    """The targets of one document.

    Attributes
    ----------
    columns : int64, numbers : float64
        The labels whose q_y in [0, 1] is not 0, and these; if labels are exclusive, they sum to 1.
    known : bool (labels)
        False where ``doc.cats`` does not mention the label. Targets of which all is known share one array. Not to be
        changed.
    weight : float
        The example weight s, positive.
    """

    columns: np.ndarray
    numbers: np.ndarray
    known: np.ndarray
    weight: float

    @property
    def values(self) -> np.ndarray:
        """q_y of all labels: float64 (labels)."""
        values = np.zeros(len(self.known))
        values[self.columns] = self.numbers
        return values


@dataclass(frozen=True)
class Targets:
    """The targets of several documents; :attr:`arrays` are arguments of :mod:`spacy_graft.metrics`.

    Attributes
    ----------
    values : float64 (n_documents, labels), or csr_array
        Sparse where there are many labels.
    known : bool (n_documents, labels)
        Not to be changed: where all is known of many labels, it is a single number.
    weights : float64 (n_documents)
    """

    values: np.ndarray | csr_array
    known: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, targets: Sequence[Target], n_labels: int) -> Targets:
        """Those of documents."""
        shape, weights = (len(targets), n_labels), np.array([target.weight for target in targets])
        if n_labels < MANY_LABELS:
            values = np.array([target.values for target in targets]).reshape(shape)
            return cls(values, np.array([target.known for target in targets], np.bool_).reshape(shape), weights)
        starts = starts_of([len(target.columns) for target in targets])
        columns = np.concatenate([np.empty(0, np.int64), *(target.columns for target in targets)])
        numbers = np.concatenate([np.empty(0), *(target.numbers for target in targets)])
        shared = {id(target.known): target.known for target in targets}
        if all(known.all() for known in shared.values()):
            known = np.broadcast_to(np.True_, shape)
        else:
            known = np.array([target.known for target in targets], np.bool_).reshape(shape)
        from scipy.sparse import csr_array  # not needed to load a component

        return cls(csr_array((numbers, columns, starts), shape), known, weights)

    @classmethod
    def joined(cls, parts: Sequence[Targets]) -> Targets:
        """Those of several corpora, at least one."""
        weights = np.concatenate([part.weights for part in parts])
        known = [part.known for part in parts]
        if all(isinstance(part.values, np.ndarray) for part in parts):
            return cls(np.concatenate([part.values for part in parts]), np.concatenate(known), weights)
        from scipy.sparse import csr_array, vstack

        values = vstack([csr_array(part.values) for part in parts], format="csr")
        if all(is_one_number(of_part) for of_part in known):
            return cls(values, np.broadcast_to(np.True_, values.shape), weights)
        return cls(values, np.concatenate(known), weights)

    def some(self, rows: np.ndarray) -> Targets:
        """Those of some documents, by their numbers (int64)."""
        shape = len(rows), self.known.shape[1]
        known = np.broadcast_to(np.True_, shape) if is_one_number(self.known) else self.known[rows]
        return Targets(self.values[rows], known, self.weights[rows])

    def are_known(self) -> np.ndarray:
        """Of which documents a label is known: bool (n_documents)."""
        if is_one_number(self.known):
            return np.ones(len(self.weights), np.bool_)
        return np.asarray(self.known.any(axis=1))

    def shares(self) -> np.ndarray:
        """The mean target of each label over the documents of which it is known, 0 if there are none: float64."""
        if is_one_number(self.known):
            known = self.weights.sum()
        else:  # label by label, since a product would make numbers of all
            known = np.array([self.weights[of_label].sum() for of_label in self.known.T])
        return np.asarray(self.weights @ self.values / np.maximum(known, 1e-300))

    def label_sets(self) -> Iterator[bytes]:
        """Yield what documents share for which the same labels hold, or are more likely to than not."""
        values = self.values
        if isinstance(values, np.ndarray):
            yield from (row.tobytes() for row in values >= LEAST_RIGHT)
            return
        for begin, end in pairwise(values.indptr.tolist()):
            yield values.indices[begin:end][values.data[begin:end] >= LEAST_RIGHT].tobytes()

    @property
    def arrays(self) -> PlainTargets:
        """Targets, which are known, and weights, as arguments of :mod:`spacy_graft.metrics`."""
        dense = self.dense()
        return PlainTargets(dense.values, dense.known, dense.weights)

    def dense(self) -> Targets:
        """The same as arrays."""
        if isinstance(self.values, np.ndarray):
            return self
        return Targets(self.values.toarray(), np.array(self.known), self.weights)

    def with_labels(self, n_new: int, known: bool) -> Targets:
        """With more labels, all 0, whether they are known to be or not."""
        n, dense = len(self.weights), self.dense()
        return Targets(
            np.hstack([dense.values, np.zeros((n, n_new))]),
            np.hstack([dense.known, np.full((n, n_new), known)]),
            self.weights,
        )


def is_one_number(known: np.ndarray) -> bool:
    """Whether all is known, in a single number."""
    return known.strides == (0, 0) and known.size > 0 and bool(known.flat[0])


@dataclass(frozen=True)
class TargetReader:
    """Reads and checks the targets of documents for one component.

    Attributes
    ----------
    component : str
        Its name, for messages.
    labels : sequence of str
    exclusive : bool
        Whether labels are mutually exclusive. If so, labels that are not in ``cats`` are 0; otherwise they are unknown
        and are masked, unless the document is complete (:data:`COMPLETE_KEY`).
    skips_unknown : bool
        Whether labels that the component does not have are skipped, as in documents that are not trained on, instead of
        refused.
    """

    component: str
    labels: Sequence[str]
    exclusive: bool
    skips_unknown: bool = False

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {label: column for column, label in enumerate(self.labels)}

    @cached_property
    def _all_known(self) -> np.ndarray:
        return np.ones(len(self.labels), np.bool_)

    def read(self, doc: Doc) -> Target:
        """Return the target of an annotated document.

        Raises
        ------
        ValueError
            If the component does not have a label whose value is not 0, a value is not a number in [0, 1], the values
            of exclusive labels do not sum to 1, or the weight is not a positive number.
        """
        values = np.zeros(len(self.labels))
        complete = self.exclusive or is_complete(doc)
        known = self._all_known if complete else np.zeros(len(self.labels), np.bool_)
        for label, value in doc.cats.items():
            column = self._columns.get(label)
            if column is None:
                # Readers of files say of every document which labels of the file it does not have.
                if self.skips_unknown or value == 0.0:
                    continue
                raise ValueError(self._unknown_label(doc, label))
            values[column] = self._checked(doc, label, value)
            if not complete:
                known[column] = True
        if self.exclusive:
            values /= self._checked_sum(doc, values)
        columns = np.flatnonzero(values)
        return Target(columns, values[columns], known, self._weight(doc))

    def arrays_of(self, examples: Iterable[Example]) -> PlainTargets:
        """The targets of examples, as arguments of :mod:`spacy_graft.metrics`."""
        return Targets.of([self.read(example.reference) for example in examples], len(self.labels)).arrays

    def _unknown_label(self, doc: Doc, label: str) -> str:
        return (
            f"[{self.component}] {document_name(doc)} has the label {label!r}, which the component does not have. Its "
            f"labels: {listed(self.labels)}. Initialize it with examples of all labels, or list them in "
            f"[initialize.components.{self.component}] labels; if it is trained, add_label first. Train a component "
            f"for other labels in another pipeline, or leave this one out: update(..., exclude=[{self.component!r}])."
        )

    def _checked(self, doc: Doc, label: str, value: object) -> float:
        if not isinstance(value, Real | np.bool_):
            raise ValueError(
                f"[{self.component}] {document_name(doc)} has {value!r} ({type(value).__name__}) for the label "
                f"{label!r}. Values of doc.cats are numbers from 0 to 1."
            )
        number = float(value)
        if not 0.0 <= number <= 1.0:
            raise ValueError(
                f"[{self.component}] {document_name(doc)} has {number!r} for the label {label!r}. "
                f"Values of doc.cats are numbers from 0 to 1."
            )
        return number

    def _checked_sum(self, doc: Doc, values: np.ndarray) -> float:
        total = float(values.sum())
        if not sum_to_one([total]):
            name = document_name(doc)
            found = (
                f"The labels of {name} sum to {total:g} and not to 1: {doc.cats}"
                if doc.cats
                else f"{name} has no label"
            )
            leave_out = "" if doc.cats else "leave out documents of which no label is known, or "
            raise ValueError(
                f"[{self.component}] {found}. The labels of this component are exclusive; {leave_out}use "
                f"textcat_graft_multilabel if several or none can apply."
            )
        return total

    def _weight(self, doc: Doc) -> float:
        weight = doc.user_data.get(WEIGHT_KEY, 1.0)
        if not is_number_in(weight, SMALLEST_WEIGHT, LARGEST_VALUE):
            raise ValueError(
                f"[{self.component}] {document_name(doc)} has {weight!r} for its weight, doc.user_data["
                f"{WEIGHT_KEY!r}]. Weights are numbers from {SMALLEST_WEIGHT:g} to {LARGEST_VALUE:g}."
            )
        return float(weight)


@dataclass(frozen=True)
class CorpusLabels:
    """The labels of a corpus, in order of first appearance.

    Attributes
    ----------
    names : tuple of str
    n_positive : int
        Labels that are positive in at least one document.
    n_documents : int
    """

    names: tuple[str, ...]
    n_positive: int
    n_documents: int


def read_labels(examples: Iterable[Example], component: str, exclusive: bool, given: Sequence[str]) -> CorpusLabels:
    """Return the labels of a corpus, after the annotation of each document was checked.

    Parameters
    ----------
    examples : iterable of Example
    component : str
        Its name, for messages.
    exclusive : bool
        Whether labels are mutually exclusive.
    given : sequence of str
        Labels of the component that are not those of the corpus. Empty means none.

    Raises
    ------
    ValueError
        If a label is not a string, a value is not a number in [0, 1], the values of exclusive labels do not sum to 1,
        or a weight is not a positive number. A corpus without any annotation is allowed.
    """
    found: dict[str, bool] = {}
    unannotated: tuple[int, Doc] | None = None
    number = 0
    for number, example in enumerate(examples, start=1):
        if example.reference.cats:
            check_cats(component, number, example.reference, exclusive, given)
            for label, value in example.reference.cats.items():
                found[label] = value > 0.0 or found.get(label, False)
        elif unannotated is None:
            unannotated = number, example.reference
    if found and unannotated is not None:
        check_cats(component, *unannotated, exclusive, given)
    return CorpusLabels(tuple(found), sum(found.values()), number)


def check_cats(component: str, number: int, doc: Doc, exclusive: bool, given: Sequence[str] = ()) -> None:
    """Raise a ValueError if the annotation of a document is invalid, whatever its labels are.

    If labels are given to the component, a label that is not one of them is the first error: values that sum to more
    than 1 may be those of several components.
    """
    labels: tuple[Any, ...] = tuple(doc.cats)
    try:
        for label in labels:
            # Of a label of nothing, the document that has it is named, and not the first of the file.
            if not isinstance(label, str) or (not label and doc.cats[label] != 0.0):
                raise ValueError(
                    f"[{component}] {document_name(doc)} has the label {label!r} ({type(label).__name__}). Labels are "
                    f"strings of at least one character."
                )
        try:
            TargetReader(component, labels, exclusive).read(doc)
        except ValueError:
            if given:
                TargetReader(component, given, exclusive).read(doc)
            raise
    except ValueError as error:
        raise ValueError(f"{error} It is document {number} of the examples.") from error
