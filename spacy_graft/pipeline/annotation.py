"""The documents of examples as they reach a component: annotated by the components before it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, takewhile
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Corpus, Example
from spacy.util import logger, minibatch, resolve_dot_names
from spacy.vocab import Vocab

from ..extract.blocks import Block, ReadingBlock, is_reading_block
from ..extract.unread import unread_text
from .corpus import DocPair, Pair
from .labelled import examples_of
from .reader import JsonlCorpus

Examples = Iterable[Example]
Pipe = Callable[[Doc], Doc]


def annotated(get_examples: Callable[[], Examples], nlp: Language, component: Pipe) -> Iterator[Pair]:
    """The documents of examples with the annotation that they have in ``update``.

    They are annotated by the components before this one that ``[training] annotating_components`` lists. Frozen
    components can be among them. These are disabled during initialization, hence ``nlp.components``.
    """
    annotating = nlp.config.interpolate().get("training", {}).get("annotating_components", [])
    before = takewhile(lambda item: item[1] is not component, nlp.components)
    pipes = [pipe for name, pipe in before if name in annotating]
    return annotated_by(pipes, get_examples(), nlp.batch_size) if pipes else with_tokens(get_examples())


def annotated_before(nlp: Language, component: Pipe, examples: Iterable[Any]) -> Iterator[Example]:
    """The examples as they reach a component: annotated by all enabled components before it."""
    return (Example(*pair) for pair in documents_before(nlp, component, examples))


def documents_before(nlp: Language, component: Pipe, examples: Iterable[Any]) -> Iterator[Pair]:
    """The documents of examples as they reach a component.

    Examples may be given as pairs of a text and its labels (:func:`.labelled.examples_of`).
    """
    known: Sequence[str] = getattr(component, "labels", ())
    before = [pipe for _, pipe in takewhile(lambda item: item[1] is not component, nlp.pipeline)]
    return annotated_by(before, examples_of(nlp, examples, known=known), nlp.batch_size)


def annotated_by(pipes: Sequence[Pipe], examples: Iterable[DocPair], batch_size: int) -> Iterator[Pair]:
    """Yield the documents of examples, the predicted ones processed by components."""
    for batch in minibatch(examples, batch_size):
        docs: Iterable[Doc] = (own_doc(example.predicted) for example in batch)
        for pipe in pipes:
            stream: Any = getattr(pipe, "pipe", None)
            docs = map(pipe, docs) if stream is None else stream(docs)
        for example, doc in zip(batch, docs, strict=True):
            yield Pair(doc, example.reference)


def with_tokens(examples: Examples) -> Iterator[Pair]:
    """The documents of examples, with the tokens of those that have not been read."""
    for example in examples:
        doc = example.predicted
        yield Pair(doc if unread_text(doc) is None else own_doc(doc), example.reference)


def own_doc(doc: Doc) -> Doc:
    """A copy of a document; the tokens of one that has not been read."""
    unread = unread_text(doc)
    return doc.copy() if unread is None else unread.doc()


def is_cut_off(get_examples: Callable[[], Examples]) -> bool:
    """Whether these are the first examples of a corpus that spaCy streams."""
    return isinstance(get_examples(), islice)


def whole_corpus(get_examples: Callable[[], Examples], nlp: Language | None, name: str) -> Callable[[], Examples]:
    """The whole training corpus, if spaCy has cut it off.

    Of a corpus that is streamed (``max_epochs = -1``), spaCy gives ``initialize`` the first 100 examples. Readers of
    files can be read again, unlike other streams, which may not end: a message with the component's ``name`` says what
    becomes of their documents.
    """
    if nlp is None or not is_cut_off(get_examples):
        return get_examples
    config = nlp.config.interpolate()
    training = config.get("training", {})
    if training.get("max_epochs") != -1:
        return get_examples
    (reader,) = resolve_dot_names(config, [training["train_corpus"]])
    if isinstance(reader, Corpus | JsonlCorpus):
        return partial(reader, nlp)
    logger.warning(
        "[%s] [training] max_epochs is -1, and %s is read by a reader of your own. As it may have no end, each step is "
        "trained on the documents of its batches so far, and those that come after the last step are in no model. If "
        "it has an end, set max_epochs = 0: training then begins with all of its documents.",
        name, training["train_corpus"],
    )  # fmt: skip
    return get_examples


def words_added(examples: Iterable[DocPair], blocks: Mapping[str, Block], vocab: Vocab) -> Iterator[DocPair]:
    """Yield examples, the words that blocks read of documents of another vocab added to ``vocab``.

    A component that was added with a ``source`` has the vocab of the pipeline that it was taken from.
    """
    reading = [(block, set[bytes]()) for block in blocks.values() if is_reading_block(block)]
    for example in examples:
        if example.predicted.vocab is not vocab:
            for block, known in reading:
                add_words(block, example.predicted, known, vocab)
        yield example


def add_words(block: ReadingBlock, doc: Doc, known: set[bytes], vocab: Vocab) -> None:
    """Add the words that a block reads of a document to a vocab, if they are not among the symbols that are known."""
    for symbols in map(np.atleast_1d, block.symbols(doc)):
        if (key := symbols.tobytes()) not in known:
            known.add(key)
            block.values(block.names(symbols, doc.vocab.strings), vocab.strings)
