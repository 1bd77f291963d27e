"""The reader of labelled texts."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import logger, minibatch

from ..files import BadLineError, json_kind
from ..held_out import DEV_PART, numbers_of_folds
from ..messages import listed, other_field, unpaired_surrogate
from ..options import LARGEST_VALUE, SMALLEST_WEIGHT, check_counts, check_flags, is_number_in
from .contents import ID_FIELD, WEIGHT_FIELD, CompleteLabels, Content, Fields, Form, Record, content_of, records_of
from .lazy import LazyBatch, LazyText, require_lazy_readers, take_long_texts, unread_doc
from .targets import COMPLETE_KEY, ID_KEY, PLACE_KEY, WEIGHT_KEY, positive_labels
from .tokenizer import Chunks

#: Parts of a corpus: one tenth of the documents of each set of labels is for dev.
CORPUS_PARTS = ("train", "dev")


#: After an error about an id that comes again.
OWN_IDS = "Give each document its own id. Or read no ids: set no id_field, or give convert --id-field ''."


class JsonlCorpus:
    """Reads examples from labelled texts: ``spacy_graft.JsonlCorpus.v1``.

    They are JSON lines, a table (CSV or TSV, whose first line names the columns), spaCy documents (``.spacy``) or a
    folder with a folder of texts for each label: the content tells, not the name. What was taken is logged. Every
    document is read as an object with a text and labels, as a line of JSON lines is. The labels are

    - a string: the only label of the document,
    - a list of strings: all labels of the document (none if it is empty), or
    - an object with a number in [0, 1] for each label: the targets. Labels that are not in it are unknown, but for
      documents of spaCy that are complete (``graft_complete``).

    Integers are names of labels as well: 1 is the label ``"1"``.

    For a string or a list, all other labels of the file are 0, and so are all labels of pipeline components that share
    a label with the file (so a dev file need not contain every label). Empty lines are skipped. The first use reads the
    whole file for its labels and ids; each iteration reads it again. Memory holds one line and all ids; with ``lazy``,
    ``nlp.batch_size`` lines, and the lines and symbols of documents that have been predicted.

    In a table, the cell of the labels is one label, none if it is empty, or a list or object as JSON. Documents of
    spaCy have their labels in ``doc.cats``, and in ``doc.user_data`` id and weight and whether other labels are 0. Of
    their annotation nothing is read: the pipeline tokenizes the texts, as it does in prediction.

    Parameters
    ----------
    path : str or Path
        A file in UTF-8, gzip-compressed if its name ends in ``.gz``; or a folder of texts.
    text_field : str
        The key of the text, or the name of its column.
    label_field : str, optional
        The key of the labels; None if there are none, as in documents for a network of features.
    id_field : str, optional
        The key of a string or integer that identifies the document in messages and must be unique.
    weight_field : str, optional
        The key of the example weight, a positive number.
    limit : int
        Number of documents to read from the beginning of the file; 0 reads all.
    sparse : bool
        Whether labels of 0 are not written into ``doc.cats``. ``user_data["graft_complete"]`` then says that all others
        are 0, for graft components and their scorers alone. With thousands of labels, a dictionary of all of them for
        each document would take gigabytes.
    lazy : bool
        Whether documents have no tokens, for ``spacy train`` with no other trained component. Graft components read
        the texts themselves: those that they predict once, together with what the components before them annotate.
    part : {"train", "dev"}, optional
        The part of the documents to read, where no file for dev exists: "dev" is one tenth of the documents of each set
        of labels, as far as copies of a text, of which up to four stay together, allow; always the same ones. "train"
        is the others. None reads all.

    Raises
    ------
    ValueError
        If ``path`` is None or "", ``limit`` no integer of at least 0, ``part`` another one, or ``lazy`` or ``sparse``
        neither true nor false; in iteration, if documents are lazy and another component is trained, or there are too
        few for two parts.
    BadLineError
        In iteration, with file and line number, if a line is malformed.
    FileNotFoundError
        In iteration, if there is no such file.
    """

    def __init__(
        self,
        path: str | Path | None,
        text_field: str = "text",
        label_field: str | None = "label",
        id_field: str | None = None,
        weight_field: str | None = None,
        limit: int = 0,
        lazy: bool = False,
        part: str | None = None,
        sparse: bool = False,
    ) -> None:
        if path is None or path == "":  # which would be the current folder
            wanted = "--paths.train train.jsonl --paths.dev dev.jsonl"
            if label_field is None:
                wanted = "--paths.unlabelled more.jsonl"
            raise ValueError(
                f"spacy_graft.JsonlCorpus.v1 needs a path. Set it in the config or on the command line: {wanted}"
            )
        check_counts("spacy_graft.JsonlCorpus.v1", least=0, limit=limit)
        check_flags("spacy_graft.JsonlCorpus.v1", lazy=lazy, sparse=sparse)
        if part not in (None, *CORPUS_PARTS):
            raise ValueError(
                f"spacy_graft.JsonlCorpus.v1: part must be one of {listed(CORPUS_PARTS)}, but is {part!r}."
            )
        if text_field == label_field:
            raise ValueError(
                f"The text and the labels of {path} cannot both be {text_field!r}. Set text_field or label_field (on "
                f"the command line --text-field, --label-field)."
            )
        self.path = Path(path)
        self.text_field = text_field
        self.label_field = label_field
        self.id_field = id_field
        self.weight_field = weight_field
        self.limit = limit
        self.lazy = lazy
        self.part = part
        self.sparse = sparse
        self._read: dict[int, LazyBatch] = {}
        self._chunks = Chunks()

    def __call__(self, nlp: Language) -> Iterator[Example]:
        """Yield the examples; their predicted documents have tokens only."""
        labels = sorted({*self.labels, *labels_of_pipeline(nlp, self.labels)})
        take_long_texts(nlp)
        if self.lazy:
            yield from self._lazy_examples(nlp, labels)
        else:
            for number, record in self._records():
                predicted = self._doc(nlp, number, record)
                yield Example(predicted, self._annotated(predicted.copy(), number, record, labels))
        self._chunks.forget()

    @cached_property
    def content(self) -> Content:
        """What the file or folder holds."""
        content = content_of(self.path, self.text_field)
        logger.info("%s is read as %s", self.path, content)
        return content

    def records(self) -> Iterator[Record]:
        """Yield the numbered objects of all documents, checked as in training; what they have besides stays in them."""
        for number, record in self._records():
            self._text(number, record)
            self._cats(number, record, [])
            self._id(number, record)
            self._weight(number, record)
            yield number, record

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """All labels of the file, sorted. The first access reads the file and checks labels and ids."""
        found: set[str] = set()
        ids: dict[str | int, int] = {}
        for number, record in self._records():
            found.update(self._labels_of(number, record))
            identity = self._id(number, record)
            if self.id_field is not None and identity is not None and ids.setdefault(identity, number) != number:
                raise self._bad(number, f"{self.content.unit} {ids[identity]} has the same id, {identity!r}. {OWN_IDS}")
        return tuple(sorted(found))

    @cached_property
    def _in_part(self) -> list[bool]:
        """Of each document of the file, whether it is in the part that is read."""
        sets: dict[frozenset[str], frozenset[str]] = {}
        keys: list[frozenset[str]] = []
        texts = array("q")
        for numbered in self._all_records():
            key = frozenset(self.positive(*numbered))
            keys.append(sets.setdefault(key, key))
            texts.append(hash(self._text(*numbered)))
        folds = numbers_of_folds(keys, texts, DEV_PART)
        if len(folds) < DEV_PART:
            raise ValueError(
                f"{self.path} has fewer than {DEV_PART} documents ({len(folds)}): too few to hold out a tenth of them "
                f"for dev. Provide a file for dev: --dev."
            )
        held_out = folds == folds.max()
        known = frozenset().union(*{key for key, is_dev in zip(keys, held_out.tolist(), strict=True) if not is_dev})
        # A label that only documents for dev have would be unknown to the model.
        held_out &= [key <= known for key in keys]
        in_part: list[bool] = (held_out == (self.part == "dev")).tolist()
        return in_part

    def positive(self, number: int, record: dict[str, Any]) -> frozenset[str]:
        """The labels of a document that hold, or are more likely to than not."""
        return positive_labels(self._cats(number, record, self._labels_of(number, record)))

    def _records(self) -> Iterator[Record]:
        if self.part is None:
            return self._all_records()
        return self._records_in_part() if self.part == "train" else iter(self._kept)

    def _records_in_part(self) -> Iterator[Record]:
        in_part = self._in_part
        return (numbered for place, numbered in enumerate(self._all_records()) if in_part[place])

    @cached_property
    def _kept(self) -> list[Record]:
        """The part for dev, a tenth of the documents. Each evaluation reads it, and would parse the whole file."""
        return list(self._records_in_part())

    def _all_records(self) -> Iterator[Record]:
        fields = Fields(self.text_field, self.label_field, self.id_field, self.weight_field)
        numbered = records_of(self.path, self.content, fields)
        return islice(((number, self._with_label_names(record)) for number, record in numbered), self.limit or None)

    def _with_label_names(self, record: dict[str, Any]) -> dict[str, Any]:
        """The record; labels that are integers become strings, as they are in tables."""
        field = self.label_field or ""
        value = record.get(field)
        if is_integer(value):
            return {**record, field: str(value)}
        if isinstance(value, list) and any(map(is_integer, value)):
            return {**record, field: [str(label) if is_integer(label) else label for label in value]}
        return record

    def _optional_field(self, field: str | None, of_docs: str, record: dict[str, Any]) -> str | None:
        """The key that is asked for; if none is, that of what a document of spaCy was saved with."""
        is_saved = field is None and self.content.form == Form.docs and of_docs in record
        return of_docs if is_saved and of_docs not in (self.text_field, self.label_field) else field

    def _lazy_examples(self, nlp: Language, labels: list[str]) -> Iterator[Example]:
        require_lazy_readers(nlp)
        for index, batch in enumerate(minibatch(self._records(), nlp.batch_size)):
            texts = self._lazy_batch(nlp, index, batch)
            for place, (number, record) in enumerate(batch):
                text = LazyText(texts, place)
                yield Example(unread_doc(nlp, text), self._annotated(unread_doc(nlp, text), number, record, labels))

    def _lazy_batch(self, nlp: Language, index: int, records: list[Record]) -> LazyBatch:
        """The texts of a batch; those that were read before are not read again."""
        texts = [self._text(number, record) for number, record in records]
        known = self._read.get(index)
        if known is not None and known.texts == texts and known.is_of(nlp):
            return known
        return LazyBatch(
            nlp, texts, lambda place: self._doc(nlp, *records[place]), partial(self._read.__setitem__, index)
        )

    def _annotated(self, reference: Doc, number: int, record: dict[str, Any], labels: list[str]) -> Doc:
        reference.cats = self._cats(number, record, labels)
        if self.sparse and self._is_complete(record.get(self.label_field or "")):
            reference.user_data[COMPLETE_KEY] = True
        for key, value in ((ID_KEY, self._id(number, record)), (WEIGHT_KEY, self._weight(number, record))):
            if value is not None:
                reference.user_data[key] = value
        if ID_KEY not in reference.user_data:
            reference.user_data[PLACE_KEY] = self.place_of(number, record)
        return reference

    def place_of(self, number: int, record: dict[str, Any]) -> str:
        """Where a document is in the file, or the folder."""
        in_folder = self.content.form == Form.texts
        return repr(record[ID_FIELD]) if in_folder else f"{self.content.unit} {number}"

    def _doc(self, nlp: Language, number: int, record: dict[str, Any]) -> Doc:
        text = self._text(number, record)
        if len(text) > nlp.max_length:
            raise self._bad(
                number,
                f"the text has {len(text):,} characters, but the pipeline takes at most {nlp.max_length:,}, because of "
                f"the memory of components such as a parser. Split it, or use a pipeline without them.",
            )
        try:
            self._chunks.learn(nlp.tokenizer, text)
            return nlp.make_doc(text)
        except Exception as error:  # tokenizers can raise anything: SudachiPy takes 49,149 bytes at the most
            raise self._bad(number, str(error)) from error

    def _text(self, number: int, record: dict[str, Any]) -> str:
        text = self._field(number, record, self.text_field)
        if not isinstance(text, str):
            raise self._bad(number, f"the text, {self.text_field!r}, must be a string, not {json_kind(text)}.")
        self._check_surrogates(number, text)
        return text

    def _cats(self, number: int, record: dict[str, Any], labels: Iterable[str]) -> dict[str, float]:
        positive = self._labels_of(number, record)
        value = None if self.label_field is None else record[self.label_field]
        if isinstance(value, dict):
            others = labels if self._is_complete(value) and not self.sparse else ()
            targets = {label: self._probability(number, label, item) for label, item in value.items()}
            return dict.fromkeys(others, 0.0) | targets
        if self.sparse:
            return dict.fromkeys(sorted(positive), 1.0)
        return {label: float(label in positive) for label in labels}

    @staticmethod
    def _is_complete(value: Any) -> bool:
        """Whether a document has none of the labels that are not in this value."""
        return isinstance(value, CompleteLabels) or not isinstance(value, dict)

    def _probability(self, number: int, label: str, value: Any) -> float:
        if not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
            problem = f"the label {label!r} must have a number from 0 to 1, true or false, not {json_kind(value)}."
            raise self._bad(number, problem)
        return float(value)

    def _labels_of(self, number: int, record: dict[str, Any]) -> set[str]:
        """All labels in the line."""
        if self.label_field is None:
            return set()
        value = self._field(number, record, self.label_field)
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list | dict):
            raise self._bad(
                number,
                f"the labels, {self.label_field!r}, must be a string or an integer, a list of these or an object of "
                f"numbers, not {json_kind(value)}.",
            )
        for label in found:
            if not isinstance(label, str):
                raise self._bad(number, f"a label must be a string, not {json_kind(label)}.")
            if not label:
                raise self._bad(number, "a label is an empty string. For a text without labels, write [].")
            self._check_surrogates(number, label)
        return set(found)

    def _id(self, number: int, record: dict[str, Any]) -> str | int | None:
        if (field := self._optional_field(self.id_field, ID_FIELD, record)) is None:
            return None
        value = self._field(number, record, field)
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise self._bad(number, f"the id, {field!r}, must be a string or an integer, not {json_kind(value)}.")
        if isinstance(value, str):
            self._check_surrogates(number, value)
        return value

    def _weight(self, number: int, record: dict[str, Any]) -> float | None:
        if (field := self._optional_field(self.weight_field, WEIGHT_FIELD, record)) is None:
            return None
        value = self._field(number, record, field)
        if not is_number_in(value, SMALLEST_WEIGHT, LARGEST_VALUE):
            limits = f"a number from {SMALLEST_WEIGHT:g} to {LARGEST_VALUE:g}"
            raise self._bad(number, f"the weight, {field!r}, must be {limits}, not {json_kind(value)}.")
        return float(value)

    def _field(self, number: int, record: dict[str, Any], key: str | None) -> Any:
        if key not in record:
            kind = {self.text_field: "text", self.label_field: "label"}.get(key)
            hint = "" if kind is None else f" {other_field(kind)}"
            raise self._bad(number, f"there is no {key!r}. The keys: {listed(record)}.{hint}")
        return record[key]

    def _check_surrogates(self, number: int, text: str) -> None:
        if (surrogate := unpaired_surrogate(text)) is not None:
            raise self._bad(number, f"the string has {surrogate}.")

    def _bad(self, number: int, problem: str) -> BadLineError:
        return BadLineError(self.path, number, problem, self.content.unit)


def is_integer(value: object) -> bool:
    """Whether a value of JSON is an integer."""
    return isinstance(value, int) and not isinstance(value, bool)


def labels_of_pipeline(nlp: Language, labels: Iterable[str]) -> set[str]:
    """Labels of the components that assign ``doc.cats`` and have one of the labels."""
    found: set[str] = set()
    for name, component in nlp.components:
        of_component = getattr(component, "labels", ())
        if "doc.cats" in nlp.get_pipe_meta(name).assigns and not set(labels).isdisjoint(of_component):
            found.update(of_component)
    return found
