"""The fits of a component: begun with documents, blocks and strengths, and led through their steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

from ..graft.constraints import FeatureNames
from ..graft.report import Report
from ..graft.settings import GraftingPath
from ..graft.start import Fit, start
from ..heap import trim_heap
from ..index.places import IndexPlace, OnDisk
from ..model.naming import texts_of
from ..model.snapshot import snapshot_of_solution
from ..strengths import choices_of, first_strengths
from .checkpoints import Checkpoints
from .corpus import ExtractedCorpus
from .progress import progress_bar

if TYPE_CHECKING:
    from spacy.strings import StringStore

    from ..extract.blocks import Block
    from ..graft.data import TrainingData
    from ..graft.document_vectors import DocumentVectors
    from ..graft.label_batches import BatchedPath
    from ..graft.network import Network
    from ..graft.path import PathFit
    from .documents import Documents
    from .network import NetworkSource
    from .vectors import VectorsSource

Made = TypeVar("Made")


class Resources(NamedTuple):
    """What a training needs besides documents.

    Attributes
    ----------
    network : NetworkSource, optional
    checkpoint_folder : Path, optional
        Where the steps of :class:`~spacy_graft.graft.settings.GraftingPath` are saved, and found again by another
        training of the same corpus.
    vectors : VectorsSource, optional
    place : InMemory, OnDisk or Dask, optional
        Where the symbols and the indexes of the corpus are.
    """

    network: NetworkSource | None = None
    checkpoint_folder: Path | None = None
    vectors: VectorsSource | None = None
    place: IndexPlace | None = None


class Variant(NamedTuple):
    """In what a fit differs from its settings.

    Attributes
    ----------
    left_out : tuple of str
        Blocks that it does not have.
    strengths : mapping of str to float
        Options of the learner that it has other values of: ``network_alpha`` and ``vectors_ridge``. At 0 it has no
        network, or no word vectors.
    """

    left_out: tuple[str, ...]
    strengths: Mapping[str, float]


class OfDocuments(Generic[Made]):
    """Something made of documents, which is kept until it is asked for with other documents."""

    def __init__(self) -> None:
        self._known: tuple[Documents, Made] | None = None

    def of(self, documents: Documents, make: Callable[[], Made]) -> Made:
        """What has been made of these documents, or is made now."""
        if self._known is None or self._known[0] is not documents:
            self._known = None  # frees its memory before the next one is made
            self._known = documents, make()
        return self._known[1]


class FitBuilder:
    """What begins the fits of one component. There is one fit at a time.

    It keeps what fits of the same documents share (indexes, a network, document vectors), and the checkpoints of the
    fit that was begun last.

    Parameters
    ----------
    learner : settings of a learner
    blocks : mapping of str to block
    strings : StringStore
        Of the vocab of the documents.
    resources : Resources
    component : str
        Its name, for messages.

    Attributes
    ----------
    named : callable
        Returns the snapshot of a solution.
    names : FeatureNames
        Those that constraints need; an edit sets others.
    """

    def __init__(
        self, learner: Any, blocks: Mapping[str, Block], strings: StringStore, resources: Resources, component: str
    ) -> None:
        self.learner = learner
        self.strings = strings
        self.resources = resources
        # They do not refer to the training, whose memory would be freed later.
        requiring = requiring_words(component)
        self.named = requiring(partial(snapshot_of_solution, blocks=blocks, strings=strings))
        self.names = FeatureNames(requiring(partial(texts_of, blocks, strings)))
        self._checkpoints: Checkpoints | None = None
        self._data: OfDocuments[TrainingData] = OfDocuments()
        self._built_network: OfDocuments[Network] = OfDocuments()
        self._document_vectors: OfDocuments[DocumentVectors] = OfDocuments()

    @property
    def choices(self) -> list[tuple[str, float]]:
        """The strengths that a path tries, by option: of a network and of word vectors, where there are some."""
        return choices_of(self.learner, self.resources.network is not None, self.resources.vectors is not None)

    def first_variant(self) -> Variant:
        """All blocks; without word vectors if that is among the choices: a path with them stops at fewer features."""
        return Variant((), first_strengths(self.learner) if self.resources.vectors is not None else {})

    def variant_of(self, report: Report) -> Variant:
        """That of the fit with a report: it has no word vectors if the report does not name their strength."""
        return Variant(tuple(report.left_out), {**self.first_variant().strengths, **report.strengths})

    def begun(self, corpus: ExtractedCorpus, variant: Variant, towards: Report | None = None) -> Fit:
        """A new fit in place of the one before; on the way to the point of the report ``towards``, if it is given."""
        data = self._training_data(corpus).without(variant.left_out)
        learner, strengths = self.learner, variant.strengths
        if strengths:
            given: dict[str, Any] = {option: strength for option, strength in strengths.items() if strength > 0.0}
            learner = replace(learner, **given, network_choices=(), vectors_choices=())
        network, checkpoint_folder, vectors, _ = self.resources
        documents, streams = corpus.documents(), corpus.streams()
        # Neither depends on its strength, nor on the blocks left out.
        if network is not None and strengths.get("network_alpha") != 0.0:
            data = replace(data, network=self._built_network.of(documents, partial(network, data, streams)))
        is_chosen = strengths.get("vectors_ridge") != 0.0
        if vectors is not None and is_chosen and vectors.block_name not in variant.left_out:
            data = replace(data, vectors=self._document_vectors.of(documents, partial(vectors, streams)))
        if checkpoint_folder is not None:
            self._checkpoints = Checkpoints.of_fit(corpus.reader.component, checkpoint_folder, learner, data, towards)
        if getattr(learner, "constraints", None) is not None:
            data = replace(data, names=self.names)
        trim_heap()
        return start_with_bar(learner, data, corpus.reader.component)

    def _training_data(self, corpus: ExtractedCorpus) -> TrainingData:
        """The documents. Where there are several fits of the same documents, they share what is indexed."""
        if not isinstance(self.learner, GraftingPath) or not (self.learner.optional_blocks or self.choices):
            return corpus.training_data()
        return self._data.of(corpus.documents(), lambda: replace(corpus.training_data(), indexes={}))

    def do(self, fit: Fit, step: Callable[[], None]) -> None:
        """Do a step of the fit that was begun last; with checkpoints, take it from its own, or do and save it."""
        if self._checkpoints is None:
            step()
        else:
            self._checkpoints.do(cast("PathFit | BatchedPath", fit), step)  # others have none


def start_with_bar(learner: Any, data: TrainingData, component: str) -> Fit:
    """A fit before its first step, with a progress bar if its indexes are built in files."""
    if not isinstance(data.place, OnDisk):
        return start(learner, data)
    with progress_bar(component) as progress:
        task = progress.add_task("shards", total=None)

        def done(n_done: int, n_shards: int) -> None:
            progress.update(task, completed=n_done, total=n_shards)

        return start(learner, replace(data, place=replace(data.place, done=done)))


@contextmanager
def requiring_words(component: str) -> Iterator[None]:
    """Say in an error why the vocab does not have a word."""
    try:
        yield
    except KeyError as error:
        raise ValueError(
            f"[{component}] The vocab of this pipeline does not have a word of the training documents: they were read "
            f"in a memory zone that has ended. Read them outside of a zone."
        ) from error
