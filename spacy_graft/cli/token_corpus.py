"""Texts as sequences of symbols, for the commands of networks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from ..extract.tokens import TokenNgrams
from ..files import text_lines
from ..pipeline.reader import JsonlCorpus

#: Documents whose words are forgotten together, so that memory does not grow by all that was ever read.
BATCH = 256
JSON_LINES = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")
TEXTS = (".txt", ".txt.gz")


@dataclass(frozen=True)
class TokenCorpus:
    """Documents of files, labelled or not, each the values of a token attribute: what is iterated over.

    Tokens of white space only are left out, as in ``spacy_graft.TokenNgrams.v1``. The files are read anew each time.

    Parameters
    ----------
    paths : list of str or Path
        Files of JSON lines (``.jsonl``), of texts, one a line (``.txt``), both in UTF-8 and compressed if ``.gz``
        follows; or of spaCy's documents (``.spacy``), which are taken as they are.
    lang : str
        Whose tokenizer cuts the texts.
    model : str or Path, optional
        Folder or package of a pipeline to run over the texts, in place of a tokenizer: for attributes that need one.
    attr : str
        Any attribute that ``spacy_graft.TokenNgrams.v1`` knows.
    text_field : str
        The key of the text, in JSON lines.

    Raises
    ------
    ValueError
        If a file has none of these names. In iteration, if there is no such attribute, language or pipeline, documents
        lack the attribute, or, with file and line, a line is malformed.
    """

    paths: Sequence[str | Path]
    lang: str = "en"
    model: str | Path | None = None
    attr: str = "LOWER"
    text_field: str = "text"

    def __post_init__(self) -> None:
        for path in map(str, self.paths):
            if not path.lower().endswith((*JSON_LINES, *TEXTS, ".spacy")):
                raise ValueError(f"TokenCorpus: {path} is neither .jsonl, .txt (or either with .gz) nor .spacy")

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        block = TokenNgrams(self.attr)
        for doc in self._docs():
            block.check(doc)
            yield block.names(block.symbols(doc), doc.vocab.strings)

    def _docs(self) -> Iterator[Doc]:
        """The documents of all files, each to be used before the next."""
        nlp = self._pipeline()
        for path in map(Path, self.paths):
            if path.suffix.lower() == ".spacy":
                yield from saved_docs(path, nlp)
            else:
                yield from piped(nlp, self._tokenized(path, nlp))

    def _pipeline(self) -> Language:
        try:
            return spacy.blank(self.lang) if self.model is None else spacy.load(self.model)
        except Exception as error:  # languages import packages of their own, and files can be damaged in any way
            wanted = f"language {self.lang!r}" if self.model is None else f"pipeline {self.model}"
            raise ValueError(f"TokenCorpus: the {wanted} cannot be loaded: {error}") from error

    def _tokenized(self, path: Path, nlp: Language) -> Iterator[Doc]:
        """The documents of a file of texts."""
        if path.name.lower().endswith(JSON_LINES):
            examples = JsonlCorpus(path, self.text_field, label_field=None)(nlp)
            return (example.predicted for example in examples)
        return (nlp.make_doc(text) for _, text in text_lines(path) if text.strip())


def piped(nlp: Language, docs: Iterator[Doc]) -> Iterator[Doc]:
    """What the pipeline makes of documents, which are made as they are needed and do not outlive their batch."""
    n_last = BATCH
    while n_last == BATCH:
        with nlp.memory_zone():
            batch = list(islice(docs, BATCH))
            n_last = len(batch)
            yield from nlp.pipe(batch)


def saved_docs(path: Path, nlp: Language) -> Iterator[Doc]:
    """The documents of a ``.spacy`` file; a ValueError if it is none."""
    content = path.read_bytes()
    try:
        yield from DocBin().from_bytes(content).get_docs(nlp.vocab)
    except Exception as error:  # what is not such a file can fail in any way
        raise ValueError(f"{path} has no documents of spaCy: {type(error).__name__}: {error}") from error
