"""The state of a component that exists only during training."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Corpus, Example
from spacy.util import minibatch, resolve_dot_names

from ..extract.unread import unread_text
from ..graft.emptiness import why_empty
from ..graft.report import Report
from ..graft.start import Fit, start
from .checkpoints import Checkpoints
from .corpus import ExtractedCorpus
from .reader import JsonlCorpus
from .targets import TargetReader

if TYPE_CHECKING:
    from ..graft.path import PathFit
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
    checkpoint_folder : Path, optional
        Where the steps of :class:`~spacy_graft.graft.settings.GraftingPath` are saved, and found again by another
        training of the same corpus.

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
        checkpoint_folder: Path | None = None,
    ) -> None:
        self.corpus = corpus
        self.learner = learner
        self.network = network
        self.checkpoint_folder = checkpoint_folder
        self.fit: Fit | None = None
        self.reports: list[Report] = []
        self.losses: dict[str, float] = {}
        self._source = source
        self._checkpoints: Checkpoints | None = None
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

    def set_reader(self, reader: TargetReader) -> None:
        """Go on with more labels: the fit is started again."""
        self.corpus = self.corpus.with_labels(reader)
        self.fit = None
        self._n_fitted = self._n_at_last_step = 0

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
        if self.checkpoint_folder is not None:
            component = self.corpus.reader.component
            self._checkpoints = Checkpoints.of_fit(component, self.checkpoint_folder, self.learner, data)
        fit = start(self.learner, data)
        self._n_fitted = len(self.corpus)
        self.reports = []
        for _ in range(self._steps):
            self._step(fit)
        return fit

    def _step(self, fit: Fit) -> None:
        """Do a step of the fit unless it has finished; a restarted fit may finish earlier than the one before."""
        if not fit.finished:
            if self._checkpoints is None:
                fit.step()
            else:
                self._saved_step(cast("PathFit", fit), self._checkpoints)
            self.reports.append(fit.report.copy())

    def _saved_step(self, fit: PathFit, checkpoints: Checkpoints) -> None:
        """Take a step from its checkpoint, or do and save it."""
        step = len(self.reports) + 1
        saved = checkpoints.load(step)
        if saved is not None:
            fit.resume(saved)
        else:
            fit.step()
            checkpoints.save(step, fit.to_dict())


class ResumedTraining(Training):
    """Training that extends a model to more documents, or more labels, of which it has the corpus.

    A step trains again on all documents, up to where the model was: the same point of a path, or the end of another
    fit. It does so whenever there are new documents or labels, so that the model is always that of all documents.

    Parameters
    ----------
    corpus : ExtractedCorpus
        Of the model.
    learner : settings of a learner
    report : Report
        Of the model.
    """

    def __init__(self, corpus: ExtractedCorpus, learner: Any, report: Report) -> None:
        super().__init__(corpus, learner)
        self._report = report
        self._n_fitted = len(corpus)

    def step(self) -> Fit | None:
        if len(self.corpus) == self._n_fitted:
            return None
        self.fit = None
        self.fit = self._started_fit()
        while not self.fit.finished and not self._has_caught_up(self.fit):
            self._step(self.fit)
        return self.fit

    def _has_caught_up(self, fit: Fit) -> bool:
        """Whether a path is where that of the model was; other fits are done when they have finished."""
        if not self._report.points:
            return False
        path = cast("PathFit", fit)
        return path.has_reached(self._report.position)


def annotated(get_examples: Callable[[], Examples], nlp: Language, component: Pipe) -> Examples:
    """The examples with the annotation that they have in ``update``.

    They are annotated by the components before this one that ``[training] annotating_components`` lists. Frozen
    components can be among them. These are disabled during initialization, hence ``nlp.components``.
    """
    annotating = nlp.config.interpolate().get("training", {}).get("annotating_components", [])
    before = takewhile(lambda item: item[1] is not component, nlp.components)
    pipes = [pipe for name, pipe in before if name in annotating]
    return annotated_by(pipes, get_examples(), nlp.batch_size) if pipes else with_tokens(get_examples())


def annotated_before(nlp: Language, component: Pipe, examples: Iterable[Example]) -> Iterator[Example]:
    """The examples as they reach a component: annotated by all enabled components before it."""
    before = [pipe for _, pipe in takewhile(lambda item: item[1] is not component, nlp.pipeline)]
    return annotated_by(before, examples, nlp.batch_size)


def annotated_by(pipes: Sequence[Pipe], examples: Examples, batch_size: int) -> Iterator[Example]:
    """Yield the examples with predicted documents that the components have processed."""
    for batch in minibatch(examples, batch_size):
        docs: Iterable[Doc] = (own_doc(example.predicted) for example in batch)
        for pipe in pipes:
            docs = apply(pipe, docs)
        for example, doc in zip(batch, docs, strict=True):
            yield Example(doc, example.reference)


def with_tokens(examples: Examples) -> Iterator[Example]:
    """The examples, with the tokens of those that have not been read."""
    for example in examples:
        yield (
            example
            if unread_text(example.predicted) is None
            else Example(own_doc(example.predicted), example.reference)
        )


def own_doc(doc: Doc) -> Doc:
    """A copy of a document; the tokens of one that has not been read."""
    unread = unread_text(doc)
    return doc.copy() if unread is None else unread.doc()


def whole_corpus(get_examples: Callable[[], Examples], nlp: Language | None) -> Callable[[], Examples]:
    """The whole training corpus, if spaCy has cut it off.

    Of a corpus that is streamed (``max_epochs = -1``), spaCy gives ``initialize`` the first 100 examples. Readers of
    files can be read again, unlike other streams, which may not end.
    """
    if nlp is None or not isinstance(get_examples(), islice):
        return get_examples
    config = nlp.config.interpolate()
    training = config.get("training", {})
    if training.get("max_epochs") != -1:
        return get_examples
    (reader,) = resolve_dot_names(config, [training["train_corpus"]])
    return partial(reader, nlp) if isinstance(reader, Corpus | JsonlCorpus) else get_examples


def apply(pipe: Pipe, docs: Iterable[Doc]) -> Iterable[Doc]:
    """The documents, processed by one component."""
    stream: Any = getattr(pipe, "pipe", None)
    return map(pipe, docs) if stream is None else stream(docs)
