"""``convert``: labelled texts from one form into another."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from ..files import TABLE_ENDINGS, delimiter_by_name, json_text, write_whole, writing, writing_folder
from ..messages import count, listed, unpaired_surrogate
from .common import (
    CommandError,
    blank_pipeline,
    check_overwriting,
    print_message,
    refuse_options,
    refuse_own_input,
    refuse_within,
)
from .corpora import is_single, labelled_corpus
from .inputs import CORPUS_HELP, JSONL_SUFFIXES, STANDARD_INPUT, IdFieldOption, LabelFieldOption, TextFieldOption
from .progress import status_line, with_count

if TYPE_CHECKING:
    from ..pipeline.reader import JsonlCorpus

#: Bytes of the name of a folder.
LONGEST = 255
EXAMPLES = """
spacy-graft convert reviews.csv reviews.jsonl
spacy-graft convert train.jsonl.gz train.spacy --lang de
spacy-graft convert texts train.jsonl
spacy-graft convert train.spacy train.tsv --label-field topic
"""


def convert_command(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="IN", help=CORPUS_HELP)],
    output: Annotated[
        str,
        typer.Argument(
            metavar="OUT", help="File that ends in .jsonl, .csv, .tsv (.gz as well) or .spacy, or name of a new folder."
        ),
    ],
    text_field: TextFieldOption = "text",
    label_field: LabelFieldOption = "label",
    id_field: IdFieldOption = "id",
    lang: Annotated[str, typer.Option(metavar="CODE", help="Language of the tokenizer for spaCy's documents.")] = "en",
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Convert labelled texts from one format into another.

    The formats are JSON lines, CSV, TSV, spaCy's documents, and folders of texts with a subfolder for each label. That
    of IN is recognised by its content, that of OUT by its name. Texts and labels do not change. In tables, labels other
    than a single one are written as JSON. Of all other keys, spaCy's documents keep the id, and the weight that they
    have if they are IN as well; folders keep none.
    """
    write = writer_of(output, lang, id_field)
    if not output.lower().endswith(".spacy"):
        refuse_options(context, "lang", "id_field", why="unless OUT ends in .spacy")
    refuse_own_input(output, source)
    refuse_within(output, source)
    check_overwriting(output, force)
    corpus = labelled_corpus(source, text_field, label_field)
    with status_line("Checking the texts") as update:
        summary = Summary.of(corpus, update)
        if not summary.n_documents:
            raise CommandError(f"{source} has no documents.")
        write(ConvertedTexts(corpus, summary, update), Path(output))
    print_message(f"Wrote {output}: {count(summary.n_documents, 'document')}, labels {listed(corpus.labels)}.")


@dataclass(frozen=True)
class Summary:
    """What a first reading of a corpus finds.

    Attributes
    ----------
    n_documents : int
    keys : dict of str to int
        How many documents have each key, in the order of its first appearance.
    is_exclusive : bool
        Whether each document has one label, so that labels are taken to exclude each other.
    found : set of str
        The labels that would be found where mappings to 0 or 1 are written as lists: those that documents have.
    """

    n_documents: int
    keys: dict[str, int]
    is_exclusive: bool
    found: set[str]

    @classmethod
    def of(cls, corpus: JsonlCorpus, update: Callable[[str], None]) -> Summary:
        """Read and check a corpus."""
        from ..pipeline.contents import CompleteLabels

        n_documents, is_exclusive, keys, found = 0, True, Counter[str](), set[str]()
        labels, label_field = corpus.labels, corpus.label_field or ""
        for number, record in with_count(corpus.records(), update, "documents checked"):
            n_documents += 1
            keys.update(record.keys())
            is_exclusive = is_exclusive and is_single(record[label_field])
            if len(found) == len(labels):
                continue
            if isinstance(value := record[label_field], dict) and not is_hard(value):
                found.update(labels if isinstance(value, CompleteLabels) else value)
            else:
                found.update(corpus.positive(number, record))
        return cls(n_documents, keys, is_exclusive and bool(labels), found)


@dataclass(frozen=True)
class ConvertedTexts:
    """The records of a corpus, read again each time.

    Attributes
    ----------
    corpus : JsonlCorpus
    summary : Summary
    update : callable
        Changes the text of the status line.
    """

    corpus: JsonlCorpus
    summary: Summary
    update: Callable[[str], None]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for number, record in with_count(self.corpus.records(), self.update, "documents written"):
            yield record | {self.label_key: self.plain_labels(number, record)}

    @property
    def label_key(self) -> str:
        """The key of the labels."""
        assert self.corpus.label_field is not None
        return self.corpus.label_field

    def plain_labels(self, number: int, record: dict[str, Any]) -> Any:
        """The labels of a document; of a mapping to 0 or 1, a list of labels, or one if every text has one.

        A label that no text has is only known by a mapping.
        """
        from ..pipeline.contents import CompleteLabels

        value, exclusive = record[self.label_key], self.summary.is_exclusive
        if isinstance(value, dict):
            if isinstance(value, CompleteLabels):
                value = dict.fromkeys(self.corpus.labels, 0.0) | value
            labels = set(self.corpus.labels)
            is_known = self.summary.found == labels and (exclusive or value.keys() == labels)
            if not value or not is_known or not is_hard(value):
                return value
            value = sorted(self.corpus.positive(number, record))
        return value[0] if exclusive and isinstance(value, list) else value


def is_hard(value: dict[str, Any]) -> bool:
    """Whether a mapping of labels has no values but 0 and 1."""
    return {*value.values()} <= {0, 1}


Writer = Callable[[ConvertedTexts, Path], None]


def writer_of(output: str, lang: str, id_field: str) -> Writer:
    """The function that writes the format of that name; a CommandError if there is none."""
    name = output.lower()
    if output == STANDARD_INPUT:
        raise CommandError("convert does not write to standard output: give the name of a file or a folder.")
    if name.endswith(JSONL_SUFFIXES):
        return write_jsonl
    if (delimiter := delimiter_by_name(output)) is not None:
        return lambda texts, path: write_table(texts, path, delimiter)
    if name.endswith(".spacy"):
        return lambda texts, path: write_docs(texts, path, lang, id_field)
    if Path(output).suffix and not output.endswith("/"):
        raise CommandError(
            f"{output} must end in {', '.join((*JSONL_SUFFIXES, *TABLE_ENDINGS, '.spacy'))}. For a folder of texts, "
            f"give a name without an ending, or one that ends in /."
        )
    return write_texts


def write_jsonl(texts: ConvertedTexts, path: Path) -> None:
    """Write JSON lines with all keys."""
    with writing(path) as file:
        file.writelines(f"{json_text(record)}\n".encode() for record in texts)


def write_table(texts: ConvertedTexts, path: Path, delimiter: str) -> None:
    """Write a table with a column for each key."""
    from ..pipeline.contents import cell_of_labels

    keys = texts.summary.keys
    for key in keys:
        if (surrogate := unpaired_surrogate(key)) is not None:
            raise CommandError(f"The key {key!r} has {surrogate}, which a table cannot have. Choose JSON lines.")
    with writing(path) as file, as_text(file) as lines:
        rows = csv.writer(lines, delimiter=delimiter)
        rows.writerow(keys)
        for number, record in enumerate(texts, start=1):
            cells = cells_of(number, record)
            cells[texts.label_key] = cell_of_labels(record[texts.label_key])
            if not any(cells.values()):
                cells[texts.label_key] = "[]"  # a row of empty cells alone is not read
            rows.writerow([cells.get(key, "") for key in keys])


def cells_of(number: int, record: dict[str, Any]) -> dict[str, str]:
    """What a table has of a document, by column; a CommandError for what cannot be written."""
    row = {key: value if isinstance(value, str) else json_text(value) for key, value in record.items()}
    for key, cell in row.items():
        if (surrogate := unpaired_surrogate(cell)) is not None:
            raise CommandError(
                f"Document {number}, {key!r}: the string has {surrogate}, which a table cannot have. Choose JSON lines."
            )
    return row


@contextmanager
def as_text(file: IO[bytes]) -> Iterator[IO[str]]:
    """A text file over a binary one, which stays open."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    yield text
    text.detach()


def write_docs(texts: ConvertedTexts, path: Path, lang: str, id_field: str) -> None:
    """Write spaCy's documents, with their ids if they have some."""
    from spacy.tokens import DocBin

    from ..pipeline.contents import WEIGHT_FIELD, Form
    from ..pipeline.targets import ID_KEY, PLACE_KEY

    corpus = texts.corpus
    n_ids, n_documents = texts.summary.keys.get(id_field, 0), texts.summary.n_documents
    if 0 < n_ids < n_documents:
        raise CommandError(
            f"{n_documents - n_ids:,} of the {n_documents:,} documents have no {id_field!r}. Give each of them one, or "
            f'leave ids out: --id-field "".'
        )
    if n_ids:
        corpus.id_field = id_field
        vars(corpus).pop("labels", None)  # read again, with the ids, of which no two may be the same
    weights = {WEIGHT_FIELD} if corpus.content.form == Form.docs else set()
    report_left_out(texts, {corpus.text_field, texts.label_key, id_field, *weights})
    docs = DocBin(store_user_data=True)
    for example in with_count(corpus(blank_pipeline(lang)), texts.update, "documents written"):
        example.reference.user_data.pop(PLACE_KEY, None)  # that of another file
        if not n_ids:
            example.reference.user_data.pop(ID_KEY, None)
        docs.add(example.reference)
    write_whole(path, docs.to_bytes())


def write_texts(texts: ConvertedTexts, path: Path) -> None:
    """Write a folder with a folder for each label, and in it a file for each text."""
    if not texts.summary.is_exclusive:
        raise CommandError(
            "A folder of texts needs exactly one label for each text, but some texts have several, or none. Choose "
            "another format."
        )
    report_left_out(texts, {texts.corpus.text_field, texts.label_key})
    digits = len(str(texts.summary.n_documents))
    with writing_folder(path) as folder:
        for number, record in enumerate(texts, start=1):
            label = folder / checked_folder(record[texts.label_key])
            label.mkdir(parents=True, exist_ok=True)
            text = record[texts.corpus.text_field]
            # Of a text that begins with one, U+FEFF alone would be taken for a byte order mark.
            content = text.encode("utf-8-sig" if text.startswith("\ufeff") else "utf-8")
            (label / f"{number:0{digits}}.txt").write_bytes(content)


def is_file_name(part: str) -> bool:
    """Whether a folder can have this name. Where names are not in UTF-8, not all characters can be in one."""
    try:
        length = len(os.fsencode(part))
    except UnicodeEncodeError:
        return False
    return length <= LONGEST and not part.startswith(".") and "\0" not in part


def checked_folder(label: Any) -> PurePosixPath:
    """The folder of a label, where / separates nested folders; a CommandError if the label cannot name one."""
    folder = PurePosixPath(label if isinstance(label, str) else "")
    is_bad = not folder.parts or not all(map(is_file_name, folder.parts))
    if folder.as_posix() != label or folder.is_absolute() or is_bad:
        raise CommandError(f"The label {label!r:.60} cannot be the name of a folder. Choose another format.")
    return folder


def report_left_out(texts: ConvertedTexts, written: set[str]) -> None:
    """Report the keys that the output cannot hold."""
    if left_out := [key for key in texts.summary.keys if key not in written]:
        print_message(f"Left out, since the output has no place for it: {listed(left_out)}.")
