"""Running a pipeline over a stream of texts, in order and in constant memory."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from multiprocessing import parent_process
from pickle import PicklingError
from threading import Thread
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .common import ENDING, CommandError, held_back
from .inputs import InputText, OnError, handle_error

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

Result = TypeVar("Result")

#: Number of texts after which their words are removed from the vocabulary; and the most that a process is given at a
#: time, for which the others, and whoever stops the command, may have to wait.
ZONE_TEXTS, PROCESS_TEXTS = 2048, 256
#: Characters after which a part ends, however few texts it has: documents take hundreds of bytes for each word.
PART_CHARACTERS = 1 << 22
#: Parts that wait for each process, beside the one that it works on.
PARTS_AHEAD = 1


@dataclass(frozen=True)
class TextStream(Generic[Result]):
    """A pipeline and a function of its documents, to be run over texts.

    Several processes are our own: those of ``nlp.pipe`` never end if their results are not read to the end.

    Attributes
    ----------
    nlp : Language
    function : callable
        Called with each document, which must not be kept. With several processes, it and ``nlp`` must be picklable
        where these do not begin as forks.
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
        size = ZONE_TEXTS if self.n_process == 1 else min(self.batch_size or PROCESS_TEXTS, PROCESS_TEXTS)
        parts = parts_of_texts(texts, size)
        if self.n_process > 1:
            yield from self._run_in_processes(parts)
            return
        for part in parts:
            with self.nlp.memory_zone():
                yield from self._run_together(part)

    def _run_in_processes(self, parts: Iterator[list[InputText]]) -> Iterator[tuple[InputText, Result]]:
        """Run parts in other processes, a few of them at a time."""
        executor = ProcessPoolExecutor(self.n_process, initializer=begin_process, initargs=(self,))
        waiting: deque[tuple[list[InputText], Future[list[Result] | None]]] = deque()
        try:
            while True:
                for part in islice(parts, (1 + PARTS_AHEAD) * self.n_process - len(waiting)):
                    waiting.append((part, self._submitted(executor, part)))
                if not waiting:
                    return
                part, future = waiting.popleft()
                results = future.result()
                if results is not None:
                    yield from zip(part, results, strict=True)
                    continue
                with self.nlp.memory_zone():
                    yield from self._run_one_by_one(part)
        except BrokenProcessPool as error:
            raise CommandError(
                "A process has ended before its texts were classified, perhaps because memory was short. Use fewer "
                "processes (--n-process)."
            ) from error
        finally:
            executor.shutdown(cancel_futures=True)

    def _submitted(self, executor: ProcessPoolExecutor, part: list[InputText]) -> Future[list[Result] | None]:
        try:
            with held_back():
                return executor.submit(results_of, [text.text for text in part])
        except (PicklingError, AttributeError, TypeError) as error:
            raise CommandError(
                f"The pipeline cannot be sent to other processes ({error}). Use one process (--n-process 1)."
            ) from error

    def results(self, texts: Iterable[str]) -> Iterator[Result]:
        """Yield the function's result for each text."""
        for doc in self.nlp.pipe(texts, batch_size=self.batch_size or self.nlp.batch_size):
            yield self.function(doc)

    def _run_together(self, texts: list[InputText]) -> Iterator[tuple[InputText, Result]]:
        """Run texts through ``nlp.pipe``; after an error, one by one, to find the text that fails."""
        n_done = 0
        results = self.results(text.text for text in texts)
        try:
            for result in results:
                yield texts[n_done], result
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


def parts_of_texts(texts: Iterable[InputText], size: int) -> Iterator[list[InputText]]:
    """Lists of ``size`` texts, or of fewer where they are long."""
    part: list[InputText] = []
    n_characters = 0
    for text in texts:
        part.append(text)
        n_characters += len(text.text)
        if len(part) == size or n_characters >= PART_CHARACTERS:
            yield part
            part, n_characters = [], 0
    if part:
        yield part


#: What a process of :class:`TextStream` works for.
own_stream: TextStream[Any] | None = None


def begin_process(stream: TextStream[Any]) -> None:
    """Make a process ready for :func:`results_of`.

    Ctrl-C and a hang-up go to all processes of a terminal; the one that this works for ends it. If that is killed, so
    is this.
    """
    global own_stream
    own_stream = stream
    for number in {*ENDING} - {signal.SIGTERM}:  # terminals send these to all processes
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    Thread(target=end_after_parent, daemon=True).start()


def end_after_parent() -> None:
    """End this process when the one that began it has ended."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def results_of(texts: list[str]) -> list[Any] | None:
    """The results for some texts; None if one of them failed, which is then looked for."""
    assert own_stream is not None
    with own_stream.nlp.memory_zone():
        try:
            return list(own_stream.results(texts))
        except Exception:  # components can raise anything
            return None
