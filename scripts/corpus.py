"""Write training/corpus/{train,dev,test}.jsonl from data in one of several formats.

The option --data is the path of a folder with train, test and optionally dev as .jsonl, .csv, .tsv (.gz as well) or
.spacy, of a folder with train.csv and test.csv of AG News, or of the archive aclImdb_v1.tar.gz. Without it, the corpus
is made from the docstrings of the installed SciPy. If there is no dev split, it is one training document in ten of each
set of labels, as in ``spacy-graft train``.
"""

from __future__ import annotations

import re
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import scipy_docstrings
import typer
from one_line_errors import one_line_errors
from rich.console import Console
from rich.table import Table

from spacy_graft.files import GZIP_ERRORS, BadLineError, json_text, table_rows, writing
from spacy_graft.held_out import DEV_PART, numbers_of_folds
from spacy_graft.pipeline.reader import JsonlCorpus
from spacy_graft.pipeline.targets import positive_labels

Record = dict[str, Any]
SPLITS = ("train", "dev", "test")
#: Names of the classes of AG News, which are numbers in the files.
AG_NEWS = {"1": "World", "2": "Sports", "3": "Business", "4": "Sci/Tech"}
#: Endings of the names of corpora, in the order in which they are looked for.
SUFFIXES = (".jsonl", ".jsonl.gz", ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".spacy")


class DataError(ValueError):
    """Missing or malformed data."""


def read_corpus(path: Path, text_field: str, label_field: str) -> Iterator[Record]:
    """Yield id, text and label of each document, checked as in training; the id is its number if it has none."""
    for number, record in JsonlCorpus(path, text_field, label_field).records():
        identity = number if record.get("id") is None else record["id"]
        if not isinstance(identity, str | int):
            raise DataError(f"{path}, document {number}: the id must be a string or an integer, not {identity!r}.")
        yield {"id": identity, "label": record[label_field], "text": record[text_field]}


def is_ag_news(path: Path) -> bool:
    """Whether a table is one of AG News, whose first line is not of names, but the first item."""
    with path.open("rb") as file:
        return re.match(rb'"[1-4]",', file.readline()) is not None


def read_ag_news(path: Path) -> Iterator[Record]:
    """Yield title and description of each row, with the name of its class."""
    for number, (line, row) in enumerate(table_rows(path), start=1):
        if len(row) != 3 or row[0] not in AG_NEWS:
            raise BadLineError(path, line, "a class from 1 to 4, a title and a description are expected.")
        yield {"id": number, "label": AG_NEWS[row[0]], "text": f"{row[1]} {row[2]}"}


def read_reviews(path: Path, split: str) -> Iterator[Record]:
    """Yield the reviews of one split of the archive, aclImdb/SPLIT/{pos,neg}/*.txt, in the order of their names."""
    try:
        with tarfile.open(path) as archive:
            members = {member.name: member for member in archive.getmembers() if member.isreg()}
            for name in sorted(members):
                parts = name.split("/")
                if len(parts) == 4 and parts[1] == split and parts[2] in ("pos", "neg"):
                    text = member_text(archive, members[name])
                    yield {"id": f"{parts[2]}/{parts[3]}", "label": parts[2], "text": text}
    except (*GZIP_ERRORS, tarfile.TarError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is damaged: {error}") from error


def member_text(archive: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    """Return the content of a text file in an archive."""
    file = archive.extractfile(member)
    assert file is not None
    try:
        return file.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{archive.name!s}, {member.name}: not UTF-8: {error}.") from error


def read_split(data: Path, split: str, text_field: str, label_field: str) -> Iterator[Record] | None:
    """Return the records of a split, or None if the data does not have it."""
    if data.is_file() and data.name.endswith(".tar.gz"):
        return read_reviews(data, split) if split != "dev" else None
    for path in (data / f"{split}{suffix}" for suffix in SUFFIXES):
        if path.is_file():
            is_news = path.suffix == ".csv" and is_ag_news(path)
            return read_ag_news(path) if is_news else read_corpus(path, text_field, label_field)
    return None


def read_splits(data: Path, text_field: str, label_field: str) -> dict[str, list[Record]]:
    """Read all three splits.

    Raises
    ------
    DataError, BadLineError
        If the path does not exist, train or test is missing, or a record is malformed.
    """
    if not data.exists():
        raise DataError(f"{data} does not exist.")
    found = {}
    for split in SPLITS:
        records = read_split(data, split, text_field, label_field)
        if records is not None:
            found[split] = list(records)
        elif split != "dev":
            raise DataError(f"{data} has no {split}{f', {split}'.join(SUFFIXES)}.")
        if split in found and not found[split]:
            raise DataError(f"{data} has no {split} documents.")
    if "dev" not in found:
        found["train"], found["dev"] = with_dev_split(found["train"])
        if not found["dev"]:
            raise DataError(
                f"{data} has fewer than {DEV_PART} training documents: none can be held out. Provide a dev split."
            )
    return {split: found[split] for split in SPLITS}


def with_dev_split(records: list[Record]) -> tuple[list[Record], list[Record]]:
    """Divide training documents into train and dev, a tenth of those with the same labels; copies stay together."""
    if len(records) < DEV_PART:
        return records, []
    label_sets = (frozenset(labels_of(record)) for record in records)
    folds = numbers_of_folds(label_sets, [hash(record["text"]) for record in records], DEV_PART)
    train, dev = (
        [record for record, fold in zip(records, folds.tolist(), strict=True) if (fold == folds.max()) == is_dev]
        for is_dev in (False, True)
    )
    return train, dev


def write_jsonl(path: Path, records: Iterable[Record]) -> None:
    """Write JSON lines; after an error, no incomplete file is left."""
    with writing(path) as file:
        file.writelines(f"{json_text(record)}\n".encode() for record in records)


def count_table(splits: dict[str, list[Record]]) -> Table:
    """Make a table of the number of documents by label and split."""
    counts = {split: Counter(label for r in records for label in labels_of(r)) for split, records in splits.items()}
    result = Table("label", title="Documents")
    for split in splits:
        result.add_column(split, justify="right")
    for label in sorted(set().union(*counts.values())):
        result.add_row(label, *(str(counts[split][label]) for split in splits))
    return result


def labels_of(record: Record) -> list[str]:
    """Return the labels of a record, one or many: of probabilities those of at least 0.5, or the largest."""
    label = record["label"]
    if isinstance(label, dict):
        return sorted(positive_labels(label)) or [max(label, key=label.__getitem__)]
    return [str(name) for name in label] if isinstance(label, list) else [str(label)]


@one_line_errors
def main(
    output: Annotated[Path, typer.Argument(help="Folder to write to.")] = Path("training/corpus"),
    data: Annotated[str, typer.Option(help="Folder or archive; by default SciPy's docstrings.")] = "",
    text_field: Annotated[str, typer.Option(help="Key of the text in JSON lines.")] = "text",
    label_field: Annotated[str, typer.Option(help="Key of the label in JSON lines.")] = "label",
) -> None:
    """Write train.jsonl, dev.jsonl and test.jsonl."""
    if not data:
        scipy_docstrings.main(output)
        return
    splits = read_splits(Path(data), text_field, label_field)
    output.mkdir(parents=True, exist_ok=True)
    for split, records in splits.items():
        write_jsonl(output / f"{split}.jsonl", records)
    Console().print(count_table(splits))


if __name__ == "__main__":
    typer.run(main)
