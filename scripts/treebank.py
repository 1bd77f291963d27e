"""Write train.spacy, dev.spacy and test.spacy from a Universal Dependencies treebank in CoNLL-U.

The treebank is a folder with one file for each split, as released: ``en_ewt-ud-train.conllu`` and so on; ``.gz`` too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from one_line_errors import one_line_errors
from rich.console import Console
from rich.table import Table
from spacy.tokens import Doc, DocBin
from spacy.training.converters import conllu_to_docs

from spacy_graft.files import decoded_line, numbered_lines

SPLITS = ("train", "dev", "test")
#: Sentences per Doc. There are several, because the parser learns sentence boundaries.
SENTENCES = 10


class TreebankError(ValueError):
    """Missing or ambiguous files of a treebank."""


def split_file(treebank: Path, split: str) -> Path:
    """Return the file of a split."""
    found = sorted(treebank.glob(f"*-ud-{split}.conllu")) or sorted(treebank.glob(f"*-ud-{split}.conllu.gz"))
    if len(found) != 1:
        raise TreebankError(
            f"{treebank} has {len(found)} files like *-ud-{split}.conllu or *-ud-{split}.conllu.gz; 1 is expected."
        )
    return found[0]


def read_docs(path: Path, n_sentences: int = SENTENCES) -> Iterator[Doc]:
    """Yield Docs of up to ``n_sentences`` sentences of one document; multi-word tokens are split, without a space."""
    text = "".join(decoded_line(path, *line) for line in numbered_lines(path))
    # Boundaries between sentences of different documents would be too easy.
    for number, document in enumerate(re.split(r"^# newdoc\b.*\n", text, flags=re.MULTILINE)):
        if document.strip():
            try:
                yield from conllu_to_docs(document, n_sents=n_sentences, no_print=True)
            except Exception as error:  # the converter checks nothing
                problem = f"{type(error).__name__}: {error}"
                raise TreebankError(f"{path}, document {number} cannot be converted: {problem}") from error


@one_line_errors
def main(
    treebank: Annotated[Path, typer.Argument(help="Folder of the CoNLL-U files.")],
    output: Annotated[Path, typer.Argument(help="Folder to write to.")],
) -> None:
    """Write train.spacy, dev.spacy and test.spacy."""
    table = Table("split", title="Treebank")
    for heading in ("docs", "sentences", "words"):
        table.add_column(heading, justify="right")
    files = {split: split_file(treebank, split) for split in SPLITS}
    output.mkdir(parents=True, exist_ok=True)
    for split, path in files.items():
        docs = list(read_docs(path))
        DocBin(docs=docs).to_disk(output / f"{split}.spacy")
        counts = (len(docs), sum(len(list(doc.sents)) for doc in docs), sum(map(len, docs)))
        table.add_row(split, *(f"{count:,}" for count in counts))
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
