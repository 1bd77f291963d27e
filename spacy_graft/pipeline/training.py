"""What a component holds only while it is trained."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch

from ..graft.report import Report
from ..graft.start import Fit, start
from .corpus import ExtractedCorpus

if TYPE_CHECKING:
    from .network import NetworkSource

Examples = Iterable[Example]
Pipe = Callable[[Doc], Doc]


class Training:
    """The corpus and the fit of one component.

    A fit knows all its documents from the beginning. The corpus callback of ``initialize`` gives them at once; what
    ``update`` brings beyond it (streams, resumed training, loops over mini-batches) is kept, and the fit begins again
    with everything as soon as the new documents are as many as it knows, or once no new ones come. Each time it is
    carried on to the step that was reached before, so that the model never falls back and all fits together cost about
    two of the last.

    A training does not outlive its process: pickled or copied, it is None.

    Parameters
    ----------
    corpus : ExtractedCorpus
        Empty.
    learner : settings of a learner
    source : callable, optional
        The corpus callback.
    network : NetworkSource, optional
    """

    def __init__(
        self,
        corpus: ExtractedCorpus,
        learner: Any,
        source: Callable[[], Examples] | None = None,
        network: NetworkSource | None = None,
    ) -> None:
        self.corpus = corpus
        self.learner = learner
        self.network = network
        self.fit: Fit | None = None
        #: How it stood after each of its own steps.
        self.reports: list[Report] = []
        #: The caller's record of losses, to which the step of ``finish_update`` adds its own.
        self.losses: dict[str, float] = {}
        self._source = source
        self._steps = 0
        self._n_fitted = 0
        self._n_at_last_step = 0

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()

    def loss(self, fit: Fit) -> float:
        """The objective of the present fit, a document."""
        return fit.report.objective / self._n_fitted

    def add_examples(self, examples: Examples) -> None:
        """Read the corpus if that has not been done, and keep the examples that are not in it."""
        self._read_source()
        for example in examples:
            self.corpus.add_unseen(example)

    def _read_source(self) -> None:
        if self._source is None:
            return
        corpus = ExtractedCorpus(self.corpus.blocks, self.corpus.reader)
        for example in self._source():
            corpus.add(example)
        self.corpus, self._source = corpus, None

    def step(self) -> Fit | None:
        """One step of the fit, begun if need be.

        Returns
        -------
        Fit or None
            None if nothing changed: there are no documents, or the fit has finished.
        """
        if self._must_begin():
            self.fit = None  # its memory goes before that of the next is taken
            self.fit = self._begun()
        elif self.fit is None or self.fit.finished:
            return None
        self._step(self.fit)
        self._steps += 1
        return self.fit

    def _must_begin(self) -> bool:
        growing = len(self.corpus) > self._n_at_last_step
        self._n_at_last_step = len(self.corpus)
        n_new = len(self.corpus) - self._n_fitted
        return n_new > 0 and (n_new >= self._n_fitted or not growing)

    def _begun(self) -> Fit:
        """A fit with all documents, carried on to the step that was reached."""
        data = self.corpus.training_data()
        if self.network is not None:
            data = replace(data, network=self.network(data))
        fit = start(self.learner, data)
        self._n_fitted = len(self.corpus)
        self.reports = []
        for _ in range(self._steps):
            self._step(fit)
        return fit

    def _step(self, fit: Fit) -> None:
        """A step of the fit, unless it has finished, as one that has begun again may have before the last."""
        if not fit.finished:
            fit.step()
            self.reports.append(fit.report.copy())


def annotated(get_examples: Callable[[], Examples], nlp: Language, component: Pipe) -> Examples:
    """The examples, with the annotation that ``update`` would find on them.

    That of the components before ours which ``[training] annotating_components`` lists. Frozen ones are among them, and
    these are disabled while components are initialized: hence ``nlp.components``.
    """
    annotating = nlp.config.interpolate().get("training", {}).get("annotating_components", [])
    before = takewhile(lambda item: item[1] is not component, nlp.components)
    pipes = [pipe for name, pipe in before if name in annotating]
    return annotated_by(pipes, get_examples(), nlp.batch_size) if pipes else get_examples()


def annotated_before(nlp: Language, component: Pipe, examples: Iterable[Example]) -> Iterator[Example]:
    """The examples as they reach a component: annotated by all that stand before it."""
    before = [pipe for _, pipe in takewhile(lambda item: item[1] is not component, nlp.pipeline)]
    return annotated_by(before, examples, nlp.batch_size)


def annotated_by(pipes: Sequence[Pipe], examples: Examples, batch_size: int) -> Iterator[Example]:
    """Examples of the same references, whose predicted documents have been through the components."""
    for batch in minibatch(examples, batch_size):
        docs: Iterable[Doc] = (example.predicted.copy() for example in batch)
        for pipe in pipes:
            docs = applied(pipe, docs)
        for example, doc in zip(batch, docs, strict=True):
            yield Example(doc, example.reference)


def applied(pipe: Pipe, docs: Iterable[Doc]) -> Iterable[Doc]:
    """The documents after one component."""
    stream: Any = getattr(pipe, "pipe", None)
    return map(pipe, docs) if stream is None else stream(docs)
