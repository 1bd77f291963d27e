"""Write corpus/{train,dev,test}.jsonl from whatever data the project was pointed to.

Nothing: the docstrings of the installed SciPy. A folder with train, test and, if there is one, dev as .jsonl or
.jsonl.gz. A folder with AG News' train.csv and test.csv. The archive aclImdb_v1.tar.gz. Where there is no dev split,
every tenth training document of each label is held out.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import scipy_docstrings
import typer
from rich.console import Console
from rich.table import Table

Record = dict[str, Any]
SPLITS = ("train", "dev", "test")
#: AG News numbers its classes.
AG_NEWS = {"1": "World", "2": "Sports", "3": "Business", "4": "Sci/Tech"}
#: One training document in so many of each label is dev, where the data has none.
HELD_OUT = 10


class DataError(ValueError):
    """What is wrong with the data, for the person who named it."""


def read_jsonl(path: Path, text_field: str, label_field: str) -> Iterator[Record]:
    """Text and label of each line; the id is the line's number where it has none."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
                yield {"id": record.get("id", number), "label": record[label_field], "text": record[text_field]}
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise DataError(f"{path}, line {number}: {type(error).__name__}: {error}") from None


def read_ag_news(path: Path) -> Iterator[Record]:
    """Class number, title and description a row."""
    with path.open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.reader(file), 1):
            if len(row) != 3 or row[0] not in AG_NEWS:
                raise DataError(f"{path}, row {number}: not a class from 1 to 4, a title and a description")
            yield {"id": number, "label": AG_NEWS[row[0]], "text": f"{row[1]} {row[2]}"}


def read_reviews(path: Path, split: str) -> Iterator[Record]:
    """Reviews of one split of the archive, aclImdb/SPLIT/{pos,neg}/*.txt, in the order of their names."""
    with tarfile.open(path) as archive:
        members = {member.name: member for member in archive.getmembers() if member.isfile()}
        for name in sorted(members):
            parts = name.split("/")
            if len(parts) == 4 and parts[1] == split and parts[2] in ("pos", "neg"):
                file = archive.extractfile(members[name])
                assert file is not None
                text = io.TextIOWrapper(file, encoding="utf-8").read()
                yield {"id": f"{parts[2]}/{parts[3]}", "label": parts[2], "text": text}


def read_split(data: Path, split: str, text_field: str, label_field: str) -> Iterator[Record] | None:
    """The records of a split, or None where the data has no such split."""
    if data.is_file() and data.name.endswith(".tar.gz"):
        return read_reviews(data, split) if split != "dev" else None
    for suffix in (".jsonl", ".jsonl.gz"):
        if (data / f"{split}{suffix}").is_file():
            return read_jsonl(data / f"{split}{suffix}", text_field, label_field)
    if (data / f"{split}.csv").is_file():
        return read_ag_news(data / f"{split}.csv")
    return None


def read(data: Path, text_field: str, label_field: str) -> dict[str, list[Record]]:
    """All three splits.

    Raises
    ------
    DataError
        If the path is not there, train or test is missing, or a record is malformed.
    """
    if not data.exists():
        raise DataError(f"{data} does not exist")
    found = {}
    for split in SPLITS:
        records = read_split(data, split, text_field, label_field)
        if records is not None:
            found[split] = list(records)
        elif split != "dev":
            raise DataError(f"{data} has no {split}.jsonl, {split}.jsonl.gz or {split}.csv")
    if "dev" not in found:
        found["train"], found["dev"] = held_out(found["train"])
    return {split: found[split] for split in SPLITS}


def held_out(records: list[Record]) -> tuple[list[Record], list[Record]]:
    """Training documents without every tenth of each label, and these.

    Counted by label because files often have their labels in turn: every tenth line would be of the same one.
    """
    kept: list[Record] = []
    out: list[Record] = []
    seen: Counter[str] = Counter()
    for record in records:
        key = json.dumps(record["label"], sort_keys=True)
        seen[key] += 1
        (kept if seen[key] % HELD_OUT else out).append(record)
    if not out:
        raise DataError(f"no label has {HELD_OUT} training documents to hold one out of; give a dev split")
    return kept, out


def write_jsonl(path: Path, records: Iterable[Record]) -> None:
    """Write the whole file, or leave what was there."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def table(splits: dict[str, list[Record]]) -> Table:
    """Documents by label and split."""
    counts = {split: Counter(label for r in records for label in labels_of(r)) for split, records in splits.items()}
    result = Table("label", title="Documents")
    for split in splits:
        result.add_column(split, justify="right")
    for label in sorted(set().union(*counts.values())):
        result.add_row(label, *(str(counts[split][label]) for split in splits))
    return result


def labels_of(record: Record) -> list[str]:
    """The labels of a record, one or many."""
    label = record["label"]
    return [str(one) for one in label] if isinstance(label, list) else [str(label)]


def main(
    output: Annotated[Path, typer.Argument(help="Folder to write to.")] = Path("corpus"),
    data: Annotated[str, typer.Option(help="Folder or archive; nothing for SciPy's docstrings.")] = "",
    text_field: Annotated[str, typer.Option(help="Key of the text in JSON lines.")] = "text",
    label_field: Annotated[str, typer.Option(help="Key of the label in JSON lines.")] = "label",
) -> None:
    """Write train.jsonl, dev.jsonl and test.jsonl."""
    if not data:
        scipy_docstrings.main(output)
        return
    try:
        splits = read(Path(data), text_field, label_field)
        output.mkdir(parents=True, exist_ok=True)
        for split, records in splits.items():
            write_jsonl(output / f"{split}.jsonl", records)
    except (DataError, OSError, UnicodeDecodeError, tarfile.TarError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
    Console().print(table(splits))


if __name__ == "__main__":
    typer.run(main)
