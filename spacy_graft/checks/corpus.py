"""Find documents and labels that training cannot use or should not see: ``check_corpus``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Literal

from spacy.tokens import Doc
from spacy.training import Example

from ..extract.unread import document_text
from ..messages import count, listed
from ..pipeline.labelled import only_examples
from ..pipeline.targets import ID_KEY, PLACE_KEY, check_cats, is_annotated, is_complete, positive_labels, sum_to_one

#: Labels of fewer training documents are reported.
MIN_DOCUMENTS = 10
#: Labels are reported whose shares of the splits have this ratio or more, and differ by so many standard errors.
SHIFT_RATIO, SHIFT_ERRORS = 2.0, 4.0
#: Number of documents that a message names.
MAX_NAMES = 5


@dataclass
class SplitReport:
    """Contents of one split.

    Documents are named by the split and their id, ``train 'a17'``, or where they are in their file, ``train line 17``,
    or their number from 1, ``train #17``.

    Attributes
    ----------
    name : str
        "train" or "dev".
    exclusive : bool
        Whether labels exclude each other.
    n_documents : int
    labels : list of str
        All labels of the annotation, in the order of their first appearance.
    label_counts : Counter
        For each label, the number of its documents (value of at least 0.5).
    known_counts : Counter
        For each label, the number of documents that say whether it holds.
    single_label : bool
        Whether each document has exactly one label.
    without_text, without_labels, bad_values, bad_sums : list of str
        Documents that are empty, have no label, have annotation that is invalid by itself, or have exclusive labels
        whose values do not sum to 1.
    duplicates, conflicts : list of str
        Documents with the text of an earlier document, which is named too: with the same labels, or with others.
    unusable : set of int
        Numbers (from 1) of the documents that training would refuse.
    """

    name: str
    exclusive: bool
    n_documents: int = 0
    labels: list[str] = field(default_factory=list)
    label_counts: Counter[str] = field(default_factory=Counter)
    known_counts: Counter[str] = field(default_factory=Counter)
    single_label: bool = True
    without_text: list[str] = field(default_factory=list)
    without_labels: list[str] = field(default_factory=list)
    bad_values: list[str] = field(default_factory=list)
    bad_sums: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    unusable: set[int] = field(default_factory=set)

    @property
    def n_usable(self) -> int:
        """Number of documents that training takes."""
        return self.n_documents - len(self.unusable)

    def usable(self, examples: Iterable[Example]) -> Iterator[Example]:
        """Filter the examples of this split, read again in the same order: those that training takes."""
        return (example for number, example in enumerate(examples, start=1) if number not in self.unusable)

    def usable_numbers(self) -> list[int]:
        """Numbers (from 1) of the documents that training takes."""
        return [number for number in range(1, self.n_documents + 1) if number not in self.unusable]


@dataclass(frozen=True)
class Finding:
    """A problem of a corpus.

    Attributes
    ----------
    level : {"error", "warning"}
        An error stops training, or makes it refuse or ignore documents. A warning should be looked at.
    message : str
    """

    level: Literal["error", "warning"]
    message: str


@dataclass(frozen=True)
class CorpusReport:
    """Contents and problems of two splits.

    Attributes
    ----------
    train, dev : SplitReport
    findings : tuple of Finding
        Errors and warnings; empty if there are none.
    """

    train: SplitReport
    dev: SplitReport
    findings: tuple[Finding, ...]

    @property
    def has_errors(self) -> bool:
        """Whether a finding is an error."""
        return any(finding.level == "error" for finding in self.findings)


def check_corpus(
    train: Iterable[Example], dev: Iterable[Example], *, exclusive: bool = True, labels: Sequence[str] | None = None
) -> CorpusReport:
    """Check the documents and labels of two splits.

    Reports documents without text or labels, invalid values, exclusive labels that do not sum to 1, duplicates and
    contradictory labels within and across the splits, rare labels, labels of one split only, and labels with other
    shares of train than of dev. An empty split is an error among the findings, not an exception.

    Parameters
    ----------
    train, dev : iterable of Example
        Annotated in ``doc.cats``. They are read once and not kept.
    exclusive : bool
        Whether labels exclude each other.
    labels : sequence of str, optional
        The labels that the component will have; by default those of ``train``.

    Returns
    -------
    CorpusReport

    Raises
    ------
    ValueError
        If a document is no Example.

    Examples
    --------
    >>> report = check_corpus(train, dev)
    >>> for finding in report.findings:
    ...     print(finding.level, finding.message)
    """
    reader = SplitReader(SplitReport("train", exclusive))
    train_report = reader.read(train)
    dev_report = SplitReader(SplitReport("dev", exclusive), earlier=reader).read(dev)
    findings = [*split_findings(train_report), *split_findings(dev_report)]
    if labels is not None:
        findings += given_label_findings(train_report, labels)
    return CorpusReport(train_report, dev_report, (*findings, *label_findings(train_report, dev_report)))


@dataclass
class SplitReader:
    """Reads the examples of a split into its report.

    Attributes
    ----------
    report : SplitReport
    earlier : SplitReader, optional
        That of a split whose texts should not be repeated in this one.
    first_documents : dict of int to (str, frozenset of str)
        Name and labels of the first document of each text, by the hash of the text.
    label_sets : dict of frozenset to itself
        One object for each set of labels, to save memory.
    n_complete : int
        Documents that say of all labels whether they hold.
    """

    report: SplitReport
    earlier: SplitReader | None = None
    first_documents: dict[int, tuple[str, frozenset[str]]] = field(default_factory=dict)
    label_sets: dict[frozenset[str], frozenset[str]] = field(default_factory=dict)
    n_complete: int = 0

    def read(self, examples: Iterable[Example]) -> SplitReport:
        labels: dict[str, None] = {}
        remedy = f"Those of {self.report.name} are Examples: make them with nlp.make_doc and Example.from_dict."
        for number, example in enumerate(only_examples(examples, remedy), start=1):
            labels.update(dict.fromkeys(example.reference.cats))
            self._add(example.reference, number, f"{self.report.name} {example_name(example, number)}")
        self.report.labels = list(labels)
        for label in labels:
            self.report.known_counts[label] += self.n_complete
        self.report.single_label = all(len(labels) == 1 for labels in self.label_sets)
        return self.report

    def _add(self, doc: Doc, number: int, name: str) -> None:
        report = self.report
        refused = self._refused_like(doc)
        positive = frozenset() if refused is report.bad_values else positive_labels(doc.cats)
        labels = self.label_sets.setdefault(positive, positive)
        report.n_documents = number
        report.label_counts.update(labels)
        if report.exclusive or is_complete(doc):
            self.n_complete += 1
        else:
            report.known_counts.update(doc.cats.keys())
        text = document_text(doc).strip()
        if not text:
            report.without_text.append(name)
        if refused is not None:
            report.unusable.add(number)
            refused.append(name)
        if text:
            self._compare(hash(text), name, labels)

    def _refused_like(self, doc: Doc) -> list[str] | None:
        """The documents that training refuses for the same reason; None if it takes this one."""
        exclusive, values = self.report.exclusive, doc.cats.values()
        if not has_valid_annotation(doc):
            return self.report.bad_values
        if not (any(values) if exclusive else is_annotated(doc)):
            return self.report.without_labels
        return self.report.bad_sums if exclusive and not sum_to_one(values) else None

    def _compare(self, key: int, name: str, labels: frozenset[str]) -> None:
        """Record a document whose text occurred before."""
        first = self.first_documents.get(key) or (self.earlier.first_documents.get(key) if self.earlier else None)
        self.first_documents.setdefault(key, (name, labels))
        if first is not None:
            pair = f"{name} = {first[0]}"
            (self.report.duplicates if labels == first[1] else self.report.conflicts).append(pair)


def example_name(example: Example, number: int) -> str:
    """Return the id of an example, or where it is in its file, or else its number."""
    user_data = example.reference.user_data
    return repr(user_data[ID_KEY]) if ID_KEY in user_data else user_data.get(PLACE_KEY, f"#{number}")


def has_valid_annotation(doc: Doc) -> bool:
    """Return whether labels, their values and the weight of a document are what training takes, apart from sums."""
    try:
        check_cats("", 0, doc, exclusive=False)
    except ValueError:
        return False
    return True


def split_findings(split: SplitReport) -> Iterator[Finding]:
    """Yield the problems of the documents of one split."""
    if not split.n_documents:
        yield Finding("error", f"{split.name} has no documents.")
    for names, problem in (
        (split.without_text, "without text"),
        (split.without_labels, "without labels"),
        (
            split.bad_values,
            "with labels that are no strings, values of labels that are no numbers from 0 to 1, or a "
            "weight that is no positive number",
        ),
        (split.bad_sums, "with exclusive labels that do not sum to 1"),
    ):
        if names:
            yield Finding("error", f"{split.name}: {count_and_names(names)} {problem}.")
    for names, problem in (
        (split.conflicts, "the text of an earlier document and different labels"),
        (split.duplicates, "the text and the labels of an earlier document"),
    ):
        if names:
            yield Finding("warning", f"{split.name}: {count_and_names(names)} with {problem}.")


def count_and_names(names: list[str]) -> str:
    """Return the number of documents and the first of their names."""
    shown = ", ".join(names[:MAX_NAMES]) + (" ..." if len(names) > MAX_NAMES else "")
    return f"{count(len(names), 'document')} ({shown})"


def given_label_findings(train: SplitReport, labels: Sequence[str]) -> Iterator[Finding]:
    """Yield the problems of labels that a config lists: documents have others, or none of them."""
    given, known = set(labels), set(train.labels)
    others = [label for label in train.labels if label not in given]
    if others:
        yield Finding(
            "error",
            f"train has labels that the component will not have: {listed(others)}. Add them to its labels in "
            f"[initialize], or take them out.",
        )
    unused = [label for label in labels if label not in known]
    if unused:
        yield Finding("warning", f"Labels of [initialize] without a training document: {listed(unused)}.")


def label_findings(train: SplitReport, dev: SplitReport) -> Iterator[Finding]:
    """Yield the problems of labels: too few, rare ones, those of one split only, shares that differ."""
    if train.exclusive and train.n_documents and len(train.labels) < 2:
        yield Finding(
            "error", f"Exclusive labels must be at least two; the training corpus has {listed(train.labels)}."
        )
    unused = [label for label in train.labels if not train.label_counts[label]]
    rare = [label for label in train.labels if 0 < train.label_counts[label] < MIN_DOCUMENTS]
    only_dev = [label for label in dev.label_counts if label not in train.labels]
    only_train = [label for label in train.label_counts if not dev.label_counts[label]] if dev.n_documents else []
    for labels, problem in (
        (unused, "without a training document"),
        (rare, f"with fewer than {MIN_DOCUMENTS} training documents"),
        (only_dev, "in dev only, which cannot be predicted"),
        (only_train, "without a dev document, whose scores cannot be measured"),
    ):
        if labels:
            yield Finding("warning", f"Labels {problem}: {listed(labels)}.")
    if shifted := [described for label in train.label_counts if (described := shift_of(label, train, dev))]:
        yield Finding(
            "warning",
            f"Labels with other shares of train than of dev: {', '.join(shifted)}. What dev chooses (size, "
            f"temperature, thresholds) is for documents like those of dev.",
        )
    if not train.exclusive and train.single_label and len(train.label_counts) > 1:
        yield Finding("warning", "Each training document has exactly one label: consider textcat_graft.")


def shift_of(label: str, train: SplitReport, dev: SplitReport) -> str | None:
    """Describe the shares of a label in both splits if they differ much, and by more than chance."""
    counts = train.label_counts[label], dev.label_counts[label]
    sizes = train.known_counts[label], dev.known_counts[label]
    if not all(counts):
        return None
    shares = [n / size for n, size in zip(counts, sizes, strict=True)]
    share = sum(counts) / sum(sizes)
    error = sqrt(share * (1.0 - share) * (1.0 / sizes[0] + 1.0 / sizes[1]))
    if max(shares) < SHIFT_RATIO * min(shares) or max(shares) - min(shares) <= SHIFT_ERRORS * error:
        return None
    return f"{label!r} ({shares[0]:.1%} and {shares[1]:.1%})"
