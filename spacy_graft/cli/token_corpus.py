"""Corpora as sequences of token attribute values, for the commands that build networks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc

from ..extract.tokens import TokenNgrams
from ..files import text_lines
from ..pipeline.contents import saved_docs
from ..pipeline.reader import JsonlCorpus
from .common import CommandError, any_pipeline, blank_pipeline
from .inputs import JSONL_SUFFIXES

#: Documents after which their words are removed from the vocabulary, so that memory does not grow with the corpus.
ZONE_DOCUMENTS = 256
#: Endings of the names of text files.
TEXT_SUFFIXES = (".txt", ".txt.gz")


@dataclass(frozen=True)
class TokenCorpus:
    """Documents of files; iterating yields the token attribute values of each document.

    White-space tokens are left out, as in ``spacy_graft.TokenNgrams.v1``. Each iteration reads the files again.

    Parameters
    ----------
    paths : list of str or Path
        Files in UTF-8 of JSON lines (``.jsonl``) or of one text per line (``.txt``), compressed if they end in
        ``.gz``; or spaCy's documents (``.spacy``), which are not processed again.
    lang : str
        Language of the tokenizer.
    model : str or Path, optional
        Folder or package of a pipeline to run over the texts, for attributes that need more than a tokenizer.
    attr : str
        A token attribute of ``spacy_graft.TokenNgrams.v1``.
    text_field : str
        Key of the text in JSON lines.

    Raises
    ------
    ValueError
        If the name of a file has another ending. In iteration, if there is no such attribute, documents lack it, or a
        line is malformed; then the message names file and line.
    CommandError
        In iteration, if there is no such language or pipeline.
    """

    paths: Sequence[str | Path]
    lang: str = "en"
    model: str | Path | None = None
    attr: str = "LOWER"
    text_field: str = "text"

    def __post_init__(self) -> None:
        for path in map(str, self.paths):
            if not path.lower().endswith((*JSONL_SUFFIXES, *TEXT_SUFFIXES, ".spacy")):
                raise ValueError(f"{path} does not end in .jsonl, .jsonl.gz, .txt, .txt.gz or .spacy.")

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        block = TokenNgrams(self.attr)
        for doc in self._docs():
            block.check(doc)
            yield block.names(block.symbols(doc), doc.vocab.strings)

    def _docs(self) -> Iterator[Doc]:
        """Yield the documents of all files; each must be used before the next is read."""
        nlp = blank_pipeline(self.lang) if self.model is None else any_pipeline(str(self.model))
        for path in map(Path, self.paths):
            if path.suffix.lower() == ".spacy":
                yield from saved_docs(path, nlp.vocab)
            else:
                yield from piped(nlp, self._tokenized(path, nlp))

    def _tokenized(self, path: Path, nlp: Language) -> Iterator[Doc]:
        """Yield the tokenized documents of a file of texts."""
        if path.name.lower().endswith(JSONL_SUFFIXES):
            examples = JsonlCorpus(path, self.text_field, label_field=None)(nlp)
            return (example.predicted for example in examples)
        return (made_doc(nlp, path, number, text) for number, text in text_lines(path) if text.strip())


def made_doc(nlp: Language, path: Path, number: int, text: str) -> Doc:
    """The document of a line of a file; a CommandError if the tokenizer does not take it."""
    try:
        return nlp.make_doc(text)
    except Exception as error:  # tokenizers can raise anything
        raise CommandError(f"{path}, line {number}: {error}") from error


def piped(nlp: Language, docs: Iterator[Doc]) -> Iterator[Doc]:
    """Run documents through a pipeline; they must not be used after their batch."""
    n_last = ZONE_DOCUMENTS
    while n_last == ZONE_DOCUMENTS:
        with nlp.memory_zone():
            batch = list(islice(docs, ZONE_DOCUMENTS))
            n_last = len(batch)
            yield from nlp.pipe(batch)
