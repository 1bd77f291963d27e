"""Examples made of texts and labels, for those who call functions such as :func:`spacy_graft.fit` with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from numbers import Integral
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..graft.memory import MANY_LABELS
from ..messages import unpaired_surrogate
from .lazy import text_alone
from .targets import COMPLETE_KEY

#: The labels of a document: one, several (or none), or targets from 0 to 1 by label.
DocumentLabels = str | int | Iterable[str] | Mapping[str, float]
#: What functions over labelled documents are given: examples, or pairs of a text and its labels.
LabelledDocuments = Iterable[Example] | Iterable[tuple[str, DocumentLabels]]


def examples_of(
    nlp: Language, documents: Iterable[Any], labels: Iterable[DocumentLabels] | None = None, known: Iterable[str] = ()
) -> Iterable[Example]:
    """Return examples of what is given: examples, pairs of a text and its labels, or texts.

    Parameters
    ----------
    nlp : Language
        It tokenizes the texts.
    documents : iterable of Example, of (text, labels), or of str
    labels : iterable of str or int, of iterables of str, or of mappings, optional
        The labels of each text; an integer is the name of one.
    known : iterable of str
        Labels besides those of the documents, which a text with other labels does not have.

    Raises
    ------
    ValueError
        If texts have no labels, or more or fewer of them than there are texts; or if labels are neither strings, lists
        of strings nor mappings.
    """
    if isinstance(documents, str):
        raise ValueError(f"A list of texts is expected, not the string {documents[:40]!r}.")
    if labels is not None and any(isinstance(given, set | frozenset) for given in (documents, labels)):
        raise ValueError("Texts or labels are a set, which has no order: give lists.")
    if not isinstance(documents, Iterable):
        raise ValueError(f"A list of Examples, of texts or of (text, labels) is expected, not {documents!r:.60}.")
    if hasattr(documents, "columns"):
        raise ValueError("Texts and labels are columns of the DataFrame: fit(nlp, df['text'], df['label']).")
    if isinstance(documents, np.ndarray):
        documents = documents.tolist()  # rows of two are pairs
    remaining = iter(documents)
    first = list(islice(remaining, 1))
    if not first:
        return []
    documents, is_example = chain(first, remaining), hasattr(first[0], "predicted")
    is_pair = isinstance(first[0], tuple | list) and not is_example
    if isinstance(first[0], str) or (labels is not None and not is_pair and not is_example):
        return LabelledTexts(nlp, *parted(documents, labels), known)
    if labels is not None:
        raise ValueError(
            "Labels are given for texts: fit(nlp, texts, labels). Examples and pairs have theirs; give documents that "
            "choose the model by name: fit(nlp, examples, dev=examples)."
        )
    if is_pair:
        return LabelledTexts(nlp, *unzipped(documents), known)
    if not is_example:
        raise ValueError(
            f"Documents must be Examples, or pairs of a text and its labels, but the first one is "
            f"{first[0]!r:.40} ({type(first[0]).__name__})."
        )
    return only_examples(documents, "Others are Examples: give one kind.")


def only_examples(documents: Iterable[Any], remedy: str) -> Iterator[Example]:
    """Yield them; a ValueError at the first that is no example."""
    for number, document in enumerate(documents, start=1):
        if not hasattr(document, "predicted"):
            raise ValueError(f"Document {number} is {document!r:.60} ({type(document).__name__}). {remedy}")
        yield document


def unlabelled_examples(nlp: Language, documents: Iterable[Any]) -> Iterable[Example]:
    """Yield examples of documents that need no labels, examples or texts; a ValueError, in iteration, for a string."""
    if isinstance(documents, str):
        raise ValueError(f"A list of texts without labels is expected, not the string {documents[:40]!r}.")
    if not isinstance(documents, Iterable):
        raise ValueError(f"A list of texts without labels is expected, not {documents!r:.60}.")
    for number, document in enumerate(documents, start=1):
        yield labelled_example(nlp.make_doc, number, document, {}) if isinstance(document, str) else document


def parted(texts: Iterable[str], labels: Iterable[DocumentLabels] | None) -> tuple[list[str], list[DocumentLabels]]:
    """Texts and their labels, as many of one as of the other."""
    if labels is None:
        raise ValueError(
            "Texts need labels: give pairs, [(text, label), ...], or to fit both apart, fit(nlp, texts, labels). A "
            "label is a string, or a list of strings where any number of labels can apply."
        )
    if isinstance(labels, str | Mapping):
        raise ValueError(f"The labels must be a list with an element for each text, but are {labels!r}.")
    texts, labels = list(texts), list(labels)
    if len(texts) != len(labels):
        raise ValueError(f"There are {len(texts)} texts, but labels of {len(labels)}. Give each text its labels.")
    return texts, labels


def unzipped(pairs: Iterable[Any]) -> tuple[list[str], list[DocumentLabels]]:
    """The texts of pairs, and their labels."""
    texts: list[str] = []
    labels: list[DocumentLabels] = []
    for number, pair in enumerate(pairs, start=1):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ValueError(
                f"Document {number} is {pair!r:.60} ({type(pair).__name__}). Give pairs of a text and its labels; of "
                f"texts and labels apart, zip(texts, labels) has them."
            )
        texts.append(pair[0])
        labels.append(pair[1])
    return texts, labels


class LabelledTexts:
    """Examples of texts, which are made each time they are asked for.

    What is not among the labels of a text is 0, unless they are a mapping.

    Memory: the texts and their labels. Two documents of a short text take twenty kilobytes.

    Parameters
    ----------
    nlp : Language
    texts, labels : sequence
        As many of one as of the other. Labels are checked at once, texts when their examples are made.
    known : iterable of str
        Labels besides those of the documents.
    """

    def __init__(
        self, nlp: Language, texts: Sequence[Any], labels: Iterable[DocumentLabels], known: Iterable[str]
    ) -> None:
        self.nlp = nlp
        self.texts = texts
        self._labels = [checked_labels(number, value) for number, value in enumerate(labels, start=1)]
        self._names = dict.fromkeys([*known, *chain.from_iterable(self._labels)])

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[Example]:
        """The examples, with tokens."""
        return self._examples(self.nlp.make_doc)

    def unread(self) -> Iterator[Example]:
        """The same with documents that have not been read."""
        return self._examples(lambda text: text_alone(self.nlp, text))

    def _examples(self, make_doc: Callable[[str], Doc]) -> Iterator[Example]:
        for number, (text, labels) in enumerate(zip(self.texts, self._labels, strict=True), start=1):
            example = labelled_example(make_doc, number, text, self._cats(labels))
            if self._are_many and isinstance(labels, list):
                example.reference.user_data[COMPLETE_KEY] = True
            yield example

    @property
    def _are_many(self) -> bool:
        return len(self._names) >= MANY_LABELS

    def _cats(self, labels: list[str] | dict[str, float]) -> dict[str, float]:
        if isinstance(labels, dict):
            return labels
        if self._are_many:
            # Thousands of labels for each document would take gigabytes where documents are kept.
            return dict.fromkeys(labels, 1.0)
        return {name: float(name in labels) for name in self._names}


def checked_labels(number: int, value: Any) -> list[str] | dict[str, float]:
    """The labels of a document as a list or a dict."""
    if not isinstance(value, bool) and isinstance(value, Integral):
        return [str(value)]  # but a list of integers may say of every label whether it applies
    found = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
    if isinstance(value, set | frozenset):
        found.sort(key=str)  # the order of sets differs by process, and that of the component's labels follows
    for label in found:
        if isinstance(label, str):
            if (surrogate := unpaired_surrogate(label)) is not None:
                raise ValueError(f"A label of document {number}, {label!a}, has {surrogate}.")
        elif not isinstance(value, Mapping):
            raise ValueError(
                f"The labels of document {number} are {value!r}. They must be a string, an integer, a list of strings, "
                f"or numbers from 0 to 1 by label. Use str() for labels that are other numbers."
            )
    if isinstance(value, Mapping) and any(isinstance(inner, Mapping) for inner in value.values()):
        raise ValueError(
            f"The labels of document {number} are {value!r:.60}. Give numbers from 0 to 1 by label, without a mapping "
            f"around them: what is under 'cats'."
        )
    return dict(value) if isinstance(value, Mapping) else [str(label) for label in found]


def labelled_example(make_doc: Callable[[str], Doc], number: int, text: Any, cats: dict[str, float]) -> Example:
    """An example of one text."""
    if not isinstance(text, str):
        raise ValueError(
            f"The text of document {number} must be a string, but is {text!r:.60} ({type(text).__name__})."
        )
    doc = document_of(make_doc, text, f"Document {number}")
    reference = doc.copy()
    reference.cats = cats
    return Example(doc, reference)


def document_of(make_doc: Callable[[str], Doc], text: str, name: str) -> Doc:
    """The document of a text; a ValueError that begins with a name of the text if there can be none."""
    if (surrogate := unpaired_surrogate(text)) is not None:
        raise ValueError(f"{name} has {surrogate}.")
    try:
        return make_doc(str(text))  # spaCy refuses the strings of NumPy's arrays
    except Exception as error:  # tokenizers can raise anything
        raise ValueError(f"{name}: {error}") from error
