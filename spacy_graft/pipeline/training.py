"""The state of a component that exists only during training."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch

from ..graft.emptiness import why_empty
from ..graft.report import Report
from ..graft.start import Fit, start
from .corpus import ExtractedCorpus

if TYPE_CHECKING:
    from .network import NetworkSource

Examples = Iterable[Example]
Pipe = Callable[[Doc], Doc]


class Training:
    """The corpus and the fit of one component.

    A fit needs all documents when it starts. The corpus callback of ``initialize`` returns them at once. Examples that
    only ``update`` passes (streams, resumed training, loops over mini-batches) are collected, and the fit is restarted
    with all documents when there are as many new ones as it has, or when an update brings no new ones. A restarted fit
    first repeats the steps done so far, so that the model does not fall back. The total cost is about twice that of the
    last fit.

    It is not saved: when pickled or copied, it becomes None.

    Parameters
    ----------
    corpus : ExtractedCorpus
        Empty.
    learner : settings of a learner
    source : callable, optional
        The corpus callback of ``initialize``.
    network : NetworkSource, optional

    Attributes
    ----------
    fit : Fit, optional
    reports : list of Report
        The report after each step of the fit.
    losses : dict of str to float
        The caller's losses, which the next step updates.
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
        self.reports: list[Report] = []
        self.losses: dict[str, float] = {}
        self._source = source
        self._steps = 0
        self._n_fitted = 0
        self._n_at_last_step = 0

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()

    def loss(self, fit: Fit) -> float:
        """The objective of the current fit, divided by the number of documents."""
        return fit.report.objective / self._n_fitted

    def add_examples(self, examples: Examples) -> None:
        """Read the corpus at the first call, and add the examples that are not in it."""
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
        """Do one step of the fit; start or restart the fit if necessary.

        Returns
        -------
        Fit or None
            None if nothing changed, because there are no documents or the fit has finished.

        Warns
        -----
        UserWarning
            If the fit has finished without a feature, with the reason and what to change.
        """
        if self._must_start():
            self.fit = None  # frees its memory before the next fit allocates
            self.fit = self._started_fit()
        elif self.fit is None or self.fit.finished:
            return None
        self._step(self.fit)
        self._steps += 1
        if self.fit.finished and (reason := why_empty(self.learner, self.fit.report, self._n_fitted)):
            warnings.warn(reason, stacklevel=3)
        return self.fit

    def _must_start(self) -> bool:
        growing = len(self.corpus) > self._n_at_last_step
        self._n_at_last_step = len(self.corpus)
        n_new = len(self.corpus) - self._n_fitted
        return n_new > 0 and (n_new >= self._n_fitted or not growing)

    def _started_fit(self) -> Fit:
        """A fit with all documents, after the number of steps done so far."""
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
        """Do a step of the fit unless it has finished; a restarted fit may finish earlier than the one before."""
        if not fit.finished:
            fit.step()
            self.reports.append(fit.report.copy())


def annotated(get_examples: Callable[[], Examples], nlp: Language, component: Pipe) -> Examples:
    """The examples with the annotation that they have in ``update``.

    They are annotated by the components before this one that ``[training] annotating_components`` lists. Frozen
    components can be among them. These are disabled during initialization, hence ``nlp.components``.
    """
    annotating = nlp.config.interpolate().get("training", {}).get("annotating_components", [])
    before = takewhile(lambda item: item[1] is not component, nlp.components)
    pipes = [pipe for name, pipe in before if name in annotating]
    return annotated_by(pipes, get_examples(), nlp.batch_size) if pipes else get_examples()


def annotated_before(nlp: Language, component: Pipe, examples: Iterable[Example]) -> Iterator[Example]:
    """The examples as they reach a component: annotated by all enabled components before it."""
    before = [pipe for _, pipe in takewhile(lambda item: item[1] is not component, nlp.pipeline)]
    return annotated_by(before, examples, nlp.batch_size)


def annotated_by(pipes: Sequence[Pipe], examples: Examples, batch_size: int) -> Iterator[Example]:
    """Yield the examples with predicted documents that the components have processed."""
    for batch in minibatch(examples, batch_size):
        docs: Iterable[Doc] = (example.predicted.copy() for example in batch)
        for pipe in pipes:
            docs = apply(pipe, docs)
        for example, doc in zip(batch, docs, strict=True):
            yield Example(doc, example.reference)


def apply(pipe: Pipe, docs: Iterable[Doc]) -> Iterable[Doc]:
    """The documents, processed by one component."""
    stream: Any = getattr(pipe, "pipe", None)
    return map(pipe, docs) if stream is None else stream(docs)
