"""Lazy documents: the texts of a corpus, which graft components read when they need the symbols."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from spacy.language import Language
from spacy.tokens import Doc

from ..extract.batches import symbols_of_documents
from ..extract.blocks import is_reading_block
from ..extract.lengths import WORDS
from ..extract.streams import has_code_points, narrow
from ..extract.unread import UNREAD_KEY
from ..messages import listed
from .loop import trained_by_loop

if TYPE_CHECKING:
    import numpy as np

    from ..extract.blocks import ReadingBlock


#: Characters of a text that spaCy's pipelines take if nobody says otherwise.
SPACYS_LIMIT = 10**6
#: Factories of the components that read lazy documents.
GRAFT_FACTORIES = frozenset({"textcat_graft", "textcat_graft_multilabel"})


def graft_pipes(nlp: Language) -> dict[str, Any]:
    """The enabled graft components by name."""
    return {name: pipe for name, pipe in nlp.pipeline if nlp.get_pipe_meta(name).factory in GRAFT_FACTORIES}


def annotators(nlp: Language) -> tuple[Any, ...]:
    """What makes and annotates documents: the tokenizer, and the components, those that are disabled as well."""
    return nlp.tokenizer, *(pipe for _, pipe in nlp.components)


def take_long_texts(nlp: Language) -> None:
    """Let a pipeline take texts of any length, if nothing in it learns but graft components.

    spaCy's limit is for parsers and entity recognisers, whose memory grows faster than a text. Another limit is kept.
    """
    if nlp.max_length != SPACYS_LIMIT:
        return
    learning = (name for name, pipe in nlp.components if getattr(pipe, "is_trainable", False))
    if all(nlp.get_pipe_meta(name).factory in GRAFT_FACTORIES for name in learning):
        nlp.max_length = sys.maxsize


class LazyBatch:
    """Consecutive texts, which are read together when the symbols of one of them are asked for.

    The components before the graft components annotate them, as in ``nlp.pipe``. Documents are not kept.

    Parameters
    ----------
    nlp : Language
    texts : sequence of str
    make_doc : callable
        Returns a document with tokens of the text with a given number.
    remember : callable
        Called with the batch when its symbols have been read, to keep it for the next time.
    """

    def __init__(
        self,
        nlp: Language,
        texts: Sequence[str],
        make_doc: Callable[[int], Doc],
        remember: Callable[[LazyBatch], None],
    ) -> None:
        self.nlp = nlp
        self.annotators = annotators(nlp)
        self.texts = texts
        self.make_doc = make_doc
        self._remember = remember
        self._symbols: dict[ReadingBlock, list[np.ndarray]] = {}

    def is_of(self, nlp: Language) -> bool:
        """Whether documents are of this pipeline, with the tokenizer and the components that it has now."""
        return self.nlp is nlp and self.annotators == annotators(nlp)

    def symbols(self, block: ReadingBlock) -> list[np.ndarray]:
        """Return the symbols of all texts for a block."""
        if block not in self._symbols:
            self._read(block)
        return self._symbols[block]

    def _read(self, block: ReadingBlock) -> None:
        """Read the symbols for a block, and for all blocks of the graft components, so that texts are parsed once."""
        components = graft_pipes(self.nlp)
        # One that is frozen may annotate for the others.
        trained = components.keys() & trained_by_loop(self.nlp).keys() or components
        found: dict[ReadingBlock, list[np.ndarray]] = {block: [], WORDS: []}
        for component in components.values():
            found.update({own: [] for own in component.blocks.values() if is_reading_block(own)})
        docs: Iterable[Doc] = map(self.make_doc, range(len(self.texts)))
        docs = self.nlp.pipe(docs, batch_size=self.nlp.batch_size, disable=not_before(self.nlp, trained, components))
        for symbols in symbols_of_documents(found, docs):
            for own, of_doc in symbols.items():
                found[own].append(narrow(of_doc) if has_code_points(of_doc) else of_doc)
        self._symbols = found
        self._remember(self)


class LazyText:
    """A text of a batch: :class:`~spacy_graft.extract.unread.UnreadText`. Copies of a document share it."""

    __slots__ = ("batch", "number")

    def __init__(self, batch: LazyBatch, number: int) -> None:
        self.batch = batch
        self.number = number

    @property
    def text(self) -> str:
        return self.batch.texts[self.number]

    def doc(self) -> Doc:
        return self.batch.make_doc(self.number)

    def symbols(self, block: ReadingBlock) -> np.ndarray:
        return self.batch.symbols(block)[self.number]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LazyText) and self.batch is other.batch and self.number == other.number

    def __hash__(self) -> int:
        return hash((id(self.batch), self.number))

    def __deepcopy__(self, memo: object) -> LazyText:
        return self


def not_before(nlp: Language, trained: Iterable[str], reading: Iterable[str]) -> list[str]:
    """The enabled components that annotate for none of those that read: the trained ones, and all after the last."""
    trained, reading = set(trained), set(reading)
    last = max(number for number, name in enumerate(nlp.pipe_names) if name in reading)
    return [name for number, name in enumerate(nlp.pipe_names) if name in trained or number > last]


def unread_doc(nlp: Language, text: LazyText) -> Doc:
    """An empty document with an unread text. Nothing is known of its tokens, so that no scorer looks at them."""
    doc = Doc(nlp.vocab, user_data={UNREAD_KEY: text})
    doc.has_unknown_spaces = True
    return doc


def text_alone(nlp: Language, text: str) -> Doc:
    """An unread document of a text that is not one of a batch."""
    return unread_doc(nlp, LazyText(LazyBatch(nlp, [text], lambda _: nlp.make_doc(text), lambda _: None), 0))


def require_lazy_readers(nlp: Language) -> None:
    """Raise a ValueError if components other than graft components are trained, which need tokens."""
    grafts = graft_pipes(nlp)
    others = [name for name in trained_by_loop(nlp) if name not in grafts]
    if others or not grafts:
        raise ValueError(
            f"spacy_graft.JsonlCorpus.v1: lazy documents have no tokens for components other than graft components, "
            f"but the pipeline trains {listed(others)}. Set lazy = false in [corpora.train] and [corpora.dev]."
        )
