"""A pipeline over texts without end, in order and in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from .inputs import Item, OnError, handle

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

T = TypeVar("T")

#: Texts after which the words that they have brought into the vocabulary are forgotten; with several processes, which
#: begin anew then, texts of each.
TEXTS, TEXTS_A_PROCESS = 2048, 8192


def stream(
    nlp: Language,
    items: Iterable[Item],
    use: Callable[[Doc], T],
    on_error: OnError,
    batch_size: int | None = None,
    n_process: int = 1,
) -> Iterator[tuple[Item, T]]:
    """Run a pipeline over texts, and yield what ``use`` makes of each document.

    Documents do not outlive ``use``. A text that the pipeline fails on is reported, or fatal.
    """
    size = batch_size or nlp.batch_size
    n_items = TEXTS if n_process == 1 else TEXTS_A_PROCESS * n_process
    remaining = iter(items)
    while part := list(islice(remaining, n_items)):
        with nlp.memory_zone():
            yield from used(nlp, part, use, on_error, size, n_process)


def used(
    nlp: Language,
    items: list[Item],
    use: Callable[[Doc], T],
    on_error: OnError,
    batch_size: int,
    n_process: int,
) -> Iterator[tuple[Item, T]]:
    """The same for some texts: together, and one by one from where that fails, to tell which text it is."""
    n_done = 0
    try:
        for doc in nlp.pipe((item.text for item in items), batch_size=batch_size, n_process=n_process):
            yield items[n_done], use(doc)
            n_done += 1
    except Exception:  # whatever components raise
        yield from one_by_one(nlp, items[n_done:], use, on_error)


def one_by_one(
    nlp: Language, items: list[Item], use: Callable[[Doc], T], on_error: OnError
) -> Iterator[tuple[Item, T]]:
    """The same, a text at a time."""
    for item in items:
        try:
            value = use(nlp(item.text))
        except Exception as error:  # whatever components raise
            handle(ValueError(f"{item.source}: {error}"), on_error)
        else:
            yield item, value
