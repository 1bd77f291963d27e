"""Running a pipeline over a stream of texts, in order and in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Generic, TypeVar

from .inputs import InputText, OnError, handle_error

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

Result = TypeVar("Result")

#: Number of texts after which their words are removed from the vocabulary. With several processes, which are then
#: started again, it is a number of texts per process.
ZONE_TEXTS, ZONE_TEXTS_PER_PROCESS = 2048, 8192


@dataclass(frozen=True)
class TextStream(Generic[Result]):
    """A pipeline and a function of its documents, to be run over texts.

    Attributes
    ----------
    nlp : Language
    function : callable
        Called with each document, which must not be kept.
    on_error : OnError
        What to do with a text that the pipeline fails on.
    batch_size : int, optional
        Texts of a batch; by default that of the pipeline.
    n_process : int
    """

    nlp: Language
    function: Callable[[Doc], Result]
    on_error: OnError
    batch_size: int | None = None
    n_process: int = 1

    def run(self, texts: Iterable[InputText]) -> Iterator[tuple[InputText, Result]]:
        """Yield each text with the function's result."""
        n_texts = ZONE_TEXTS if self.n_process == 1 else ZONE_TEXTS_PER_PROCESS * self.n_process
        remaining = iter(texts)
        while part := list(islice(remaining, n_texts)):
            with self.nlp.memory_zone():
                yield from self._run_together(part)

    def _run_together(self, texts: list[InputText]) -> Iterator[tuple[InputText, Result]]:
        """Run texts through ``nlp.pipe``; after an error, one by one, to find the text that fails."""
        n_done = 0
        docs = self.nlp.pipe(
            (text.text for text in texts),
            batch_size=self.batch_size or self.nlp.batch_size,
            n_process=self.n_process,
        )
        try:
            for doc in docs:
                yield texts[n_done], self.function(doc)
                n_done += 1
        except Exception:  # components can raise anything
            yield from self._run_one_by_one(texts[n_done:])

    def _run_one_by_one(self, texts: list[InputText]) -> Iterator[tuple[InputText, Result]]:
        for text in texts:
            try:
                value = self.function(self.nlp(text.text))
            except Exception as error:  # components can raise anything
                handle_error(ValueError(f"{text.source}: {error}"), self.on_error)
            else:
                yield text, value
