"""What can be wrong with a corpus, before anything is trained on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from spacy.tokens import Doc
from spacy.training import Example

from ..messages import listed
from ..pipeline.targets import ID_KEY, SUM_TOLERANCE

#: Documents that a label should have; names that a message lists.
FEW_DOCUMENTS, LISTED = 10, 5


@dataclass
class Split:
    """What one split holds.

    Attributes
    ----------
    name : str
        "train" or "dev".
    exclusive : bool
    n_documents : int
    labels : Counter
        Documents by label: those of which the label holds.
    known : dict of str to None
        All labels of the annotation, in the order of their first appearance.
    seen : dict of int to (str, frozenset of str)
        Name and labels of the first document of each text, by its hash.
    label_sets : dict of frozenset to itself
        Those that are seen, so that each is held once.
    without_text, without_labels, bad_sums, duplicates, conflicts : list of str
        Names of documents.
    unusable : set of int
        Numbers of those that training would refuse, from 1.
    """

    name: str
    exclusive: bool
    n_documents: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    known: dict[str, None] = field(default_factory=dict)
    seen: dict[int, tuple[str, frozenset[str]]] = field(default_factory=dict)
    label_sets: dict[frozenset[str], frozenset[str]] = field(default_factory=dict)
    without_text: list[str] = field(default_factory=list)
    without_labels: list[str] = field(default_factory=list)
    bad_sums: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    unusable: set[int] = field(default_factory=set)

    def read(self, examples: Iterable[Example], other: Split | None = None) -> Split:
        """Count a corpus, with duplicates of another one."""
        for example in examples:
            self.n_documents += 1
            self._add(example.reference, f"{self.name} {name_of(example, self.n_documents)}", other)
            if not is_usable(example.reference, self.exclusive):
                self.unusable.add(self.n_documents)
        return self

    @property
    def n_usable(self) -> int:
        return self.n_documents - len(self.unusable)

    def usable(self, examples: Iterable[Example]) -> Iterator[Example]:
        """The same examples again, without those that training would refuse."""
        return (example for number, example in enumerate(examples, start=1) if number not in self.unusable)

    def usable_numbers(self) -> list[int]:
        """The numbers of these."""
        return [number for number in range(1, self.n_documents + 1) if number not in self.unusable]

    def _add(self, doc: Doc, name: str, other: Split | None) -> None:
        found = positive_labels(doc)
        labels = self.label_sets.setdefault(found, found)
        self.labels.update(labels)
        self.known.update(dict.fromkeys(doc.cats))
        text = doc.text.strip()
        if not text:
            self.without_text.append(name)
        if not has_labels(doc, self.exclusive):
            self.without_labels.append(name)
        elif not is_usable(doc, self.exclusive):
            self.bad_sums.append(name)
        if text:
            self._compare(hash(text), name, labels, other)

    def _compare(self, key: int, name: str, labels: frozenset[str], other: Split | None) -> None:
        """Note a text that has been there."""
        before = self.seen.get(key) or (other.seen.get(key) if other else None)
        self.seen.setdefault(key, (name, labels))
        if before is not None:
            pair = f"{name} = {before[0]}"
            (self.duplicates if labels == before[1] else self.conflicts).append(pair)


def name_of(example: Example, number: int) -> str:
    """The id of an example, or its number, from 1."""
    identity = example.reference.user_data.get(ID_KEY)
    return f"#{number}" if identity is None else repr(identity)


def positive_labels(doc: Doc) -> frozenset[str]:
    """Labels that hold."""
    return frozenset(label for label, value in doc.cats.items() if value >= 0.5)


def has_labels(doc: Doc, exclusive: bool) -> bool:
    """Whether the annotation says anything; of exclusive labels one must hold."""
    return any(doc.cats.values()) if exclusive else bool(doc.cats)


def is_usable(doc: Doc, exclusive: bool) -> bool:
    """Whether training takes the document."""
    if not has_labels(doc, exclusive):
        return False
    return not exclusive or abs(sum(doc.cats.values()) - 1.0) <= SUM_TOLERANCE


@dataclass(frozen=True)
class Finding:
    """Something to know before training.

    Attributes
    ----------
    level : str
        "error": training would fail, or learn nothing from these documents. "warning": look at it.
    message : str
    """

    level: str
    message: str


@dataclass(frozen=True)
class CorpusReport:
    """What two splits hold, and what is wrong with them.

    Attributes
    ----------
    train, dev : Split
    findings : tuple of Finding
        Errors and warnings; none if all is well.
    """

    train: Split
    dev: Split
    findings: tuple[Finding, ...]


def check_corpus(train: Iterable[Example], dev: Iterable[Example], *, exclusive: bool = True) -> CorpusReport:
    """Look for what is wrong with the documents of two splits and their labels.

    Documents without text or labels, labels whose values do not sum to 1, duplicates and contradictions within and
    across the splits, rare labels, and labels that only one of the splits has.

    Parameters
    ----------
    train, dev : iterable of Example
        Annotated in ``doc.cats``. They are read once, and not kept.
    exclusive : bool
        Whether labels exclude each other.
    """
    of_train = Split("train", exclusive).read(train)
    of_dev = Split("dev", exclusive).read(dev, other=of_train)
    found = [*of_split(of_train), *of_split(of_dev), *of_labels(of_train, of_dev)]
    return CorpusReport(of_train, of_dev, tuple(found))


def of_split(split: Split) -> Iterator[Finding]:
    """Documents that training cannot use, or should not have."""
    if not split.n_documents:
        yield Finding("error", f"{split.name} has no documents.")
    for names, what in (
        (split.without_text, "without text"),
        (split.without_labels, "without labels"),
        (split.bad_sums, "whose labels do not sum to 1, though labels exclude each other"),
    ):
        if names:
            yield Finding("error", f"{split.name}: {some(names)} {what}.")
    for names, what in (
        (split.conflicts, "the text of another one and other labels"),
        (split.duplicates, "the text and the labels of another one"),
    ):
        if names:
            yield Finding("warning", f"{split.name}: {some(names)} with {what}.")


def some(names: list[str]) -> str:
    """How many, and which."""
    shown = ", ".join(names[:LISTED]) + (" ..." if len(names) > LISTED else "")
    return f"{len(names):,} document{'s' if len(names) > 1 else ''} ({shown})"


def of_labels(train: Split, dev: Split) -> Iterator[Finding]:
    """Labels that are too rare, or in one split only."""
    if train.exclusive and train.n_documents and len(train.known) < 2:
        yield Finding("error", f"Labels that exclude each other must be two at least: {listed(train.known)}.")
    never = [label for label in train.known if not train.labels[label]]
    few = [label for label in train.known if 0 < train.labels[label] < FEW_DOCUMENTS]
    only_dev = [label for label in dev.labels if label not in train.known]
    only_train = [label for label in train.labels if not dev.labels[label]]
    for labels, what in (
        (never, "hold for no training document"),
        (few, f"hold for fewer than {FEW_DOCUMENTS} training documents"),
        (only_dev, "are in dev only, and will never be predicted"),
        (only_train, "hold for no dev document: scores will not tell how well they are learnt"),
    ):
        if labels and dev.n_documents:
            yield Finding("warning", f"Labels that {what}: {listed(labels)}.")
    if not train.exclusive and looks_exclusive(train):
        yield Finding("warning", "Each training document has exactly one label: textcat_graft may serve better.")


def looks_exclusive(train: Split) -> bool:
    """Whether all documents have one label of several."""
    return len(train.labels) > 1 and all(len(labels) == 1 for labels in train.label_sets)
