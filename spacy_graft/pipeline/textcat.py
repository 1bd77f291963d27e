"""The components ``textcat_graft`` and ``textcat_graft_multilabel``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np
from spacy.errors import Errors
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc, Span
from spacy.training import Example, validate_examples
from spacy.vocab import Vocab
from thinc.api import Optimizer

from ..adjustment import Adjustment
from ..explain.explanation import explain_document
from ..explain.features import Feature, features_of, strongest_words
from ..explain.html.markup import escaped, fragment
from ..explain.html.overview import overview, points_view, sides_of_model
from ..explain.scores import Explanation, alternatives_of
from ..extract.blocks import Block
from ..extract.unread import document_text
from ..graft.constraints import Constraints
from ..graft.memory import MANY_LABELS, require_memory_for
from ..graft.report import Report
from ..graft.settings import GraftingPath
from ..heap import no_collections
from ..messages import did_you_mean, listed, unpaired_surrogate
from ..metrics import THRESHOLD, as_probabilities, document_losses
from ..model.snapshot import REPORT, Snapshot
from ..model.sparse_linear import SNAPSHOT, SparseLinearModel, snapshot_of
from ..model.weights import with_column
from ..options import as_python, is_strength
from ..threads import limited_threads
from . import history, initialization, judging, saving
from .annotation import Examples, annotated, is_cut_off, whole_corpus, words_added
from .choice import named_points
from .corpus import DocPair, ExtractedCorpus
from .fits import Resources
from .loop import is_loop_of_spacy, require_batch_size, suit_loop
from .saving import HISTORY
from .targets import TargetReader, has_labels_of, read_labels
from .training import ResumedTraining, Training, naming_component, not_kept
from .undoing import unchanged_after_error

if TYPE_CHECKING:
    from .edits import Edit
    from .labelled import LabelledDocuments

#: All components of this process, among which ``render`` finds the one with the vocab of a document.
LIVE_COMPONENTS: WeakValueDictionary[int, TextCatGraft] = WeakValueDictionary()
#: Intercept of a label that a trained component has not been trained on: its probability is 0 in float64.
NEVER = -1e6
#: For errors of constraints.
TAKE_BACK = (
    ' Constraints that the component has already are taken back with edit: allow=[PATTERN], signs={LABEL: "any"}, or '
    "lock={NAME: {LABEL: None}}."
)


class TextCatGraft(TrainablePipe):
    """Text classifier with mutually exclusive labels: sparse multinomial logistic regression over named features.

    A training step is one step of the learner on the whole corpus: a grafting round, or a point of the path. Batches
    are used only to collect documents that the corpus callback did not return.

    Any number of threads may predict, explain and save while one thread trains; each uses one model, that before a
    training step or that after it. Initialize, add labels, edit, calibrate and load while no other thread uses the
    component.

    Parameters
    ----------
    vocab : Vocab
    model : Model
        A ``spacy_graft.SparseLinear.v1`` with the same blocks.
    name : str
    blocks : mapping of str to block
        Feature blocks by name.
    learner : Grafting, GraftingPath, CoordinateAscent, or settings that another package has registered
    threshold : float, optional
        The probability from which each label is predicted. By default, each label has its own; without one, 0.5. Not
        used for exclusive labels.
    scorer : callable, optional
        From ``@scorers``.
    keep_corpus : bool
        Whether the symbols and targets of the training documents are kept and saved with the model, so that
        :meth:`update` and :meth:`add_label` can extend it. The texts can be read from what is saved.

    Attributes
    ----------
    exclusive : bool
        Whether labels are mutually exclusive.
    training : Training, optional
        Corpus and fit during training. :meth:`end_training` frees their memory.
    kept_corpus : ExtractedCorpus, optional
        With ``keep_corpus``, the documents of the last training step.
    report : Report, optional
        The report of the step that produced the weights; None if the component is not trained. It is saved without
        ``seconds``, so that two trainings write the same files.
    """

    exclusive: ClassVar[bool] = True

    def __init__(
        self,
        vocab: Vocab,
        model: SparseLinearModel,
        name: str = "textcat_graft",
        *,
        blocks: Mapping[str, Block],
        learner: Any,
        threshold: float | None,
        scorer: Callable[..., dict[str, Any]] | None,
        keep_corpus: bool = False,
    ) -> None:
        saving.check_common_threshold(name, threshold)
        self.vocab = vocab
        self.model = model
        self.name = name
        self.blocks = dict(blocks)
        self.learner = learner
        self.cfg: dict[str, Any] = {"labels": [], "threshold": threshold}
        if self.exclusive:
            self.cfg["positive_label"] = None
        self.scorer = scorer
        self.keep_corpus = keep_corpus
        self.kept_corpus: ExtractedCorpus | None = None
        LIVE_COMPONENTS[id(self)] = self
        self.training: Training | None = None
        self.report: Report | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels, in the order of the columns of weights and probabilities."""
        return tuple(self.cfg["labels"])

    @property
    def label_data(self) -> tuple[str, ...]:
        """The labels that ``init labels`` saves, and that ``initialize`` takes as ``labels``."""
        return self.labels

    def add_label(self, label: str) -> int:
        """Add a label.

        Before the component is trained, it is one of the labels to come. Afterwards, what is known of the training
        documents is extended: none of them has the label if labels are exclusive, otherwise it is unknown. Until the
        next training step, the label has probability 0, and the other labels have the probabilities that they had. Of
        exclusive labels, none is the positive one any more, which is of two.

        Parameters
        ----------
        label : str

        Returns
        -------
        int
            0 if the component has the label already, else 1.

        Raises
        ------
        ValueError
            If it is not a non-empty string; or if the component is trained and its training documents are not kept.
        """
        if label in self.labels:
            return 0
        self._checked_label(label)
        with unchanged_after_error(self):
            if self.is_trained and self.training is None:
                self.training = self._resumed_training(f"The label {label!r} cannot be added")
            extended = self._snapshot_with_label() if self.is_initialized else None
            self.cfg["labels"] = [*self.labels, label]
            if self.exclusive:
                self.cfg["positive_label"] = None  # which is one of two labels
            if extended is not None:
                self.model.attrs[SNAPSHOT] = extended
            if self.training is not None:
                if extended is not None:
                    self.training.set_reader(self.target_reader())
                self.kept_corpus = self.corpus if self.keep_corpus else None
        self.vocab.strings.add(label)
        return 1

    def _snapshot_with_label(self) -> Snapshot:
        """The model with one more column of weights."""
        snapshot = snapshot_of(self.model)
        return replace(
            snapshot,
            weights=with_column(snapshot.weights, np.zeros(snapshot.features.n_features)),
            intercepts=np.append(snapshot.intercepts, NEVER if self.is_trained else 0.0),
            word_scores=None if snapshot.word_scores is None else snapshot.word_scores.with_label(),
            stability=None,
        )

    def _checked_label(self, label: Any) -> str:
        if not isinstance(label, str) or not label:
            raise ValueError(f"[{self.name}] Labels are non-empty strings, but one is {label!r}.")
        if (surrogate := unpaired_surrogate(label)) is not None:
            raise ValueError(f"[{self.name}] The label {label!r} has {surrogate}.")
        return label

    @property
    def is_initialized(self) -> bool:
        """Whether the model has weights, or at least intercepts."""
        return bool(self.model.has_param("b"))

    @property
    def is_trained(self) -> bool:
        """Whether there has been a training step."""
        return self.report is not None

    @property
    def corpus(self) -> ExtractedCorpus | None:
        """The training documents so far, as symbols and targets; None if they are not kept."""
        return self.kept_corpus if self.training is None else self.training.corpus

    @property
    def constraints(self) -> Constraints:
        """What the model must not use, and what it must: those of the learner or, after an edit, those saved by it."""
        after_edits = self.cfg.get("constraints")
        own: Constraints | None = getattr(self.learner, "constraints", None)
        return own or Constraints() if after_edits is None else Constraints(**after_edits)

    @property
    def steered_learner(self) -> Any:
        """The learner with the constraints of edits."""
        return self.learner if not self.cfg.get("constraints") else replace(self.learner, constraints=self.constraints)

    def edit(
        self,
        *,
        deny: Sequence[str] = (),
        allow: Sequence[str] = (),
        signs: Mapping[str, str] | Sequence[tuple[str, str]] | None = None,
        lock: Mapping[str, Mapping[str, float | None]] | Sequence[tuple[str, str, float | None]] | None = None,
        examples: LabelledDocuments | None = None,
        nlp: Language | None = None,
        resolve: bool = True,
    ) -> Edit:
        """Change what the trained model must not use, and what it must, and optimise the weights under that.

        The edits are saved with the model, and training obeys them from now on. Parameters and names are described in
        :class:`~spacy_graft.graft.constraints.Constraints`. Optimised weights are divided by the temperature of the
        model before, and labels keep their thresholds. Calibrate again if needed.

        Parameters
        ----------
        deny : sequence of str
            Patterns on the names of features that the model must not have. One that was allowed is so no longer.
        allow : sequence of str
            Exceptions from denied names; what an earlier edit denied by the same pattern is allowed again.
        signs : mapping of str to str, or sequence of pairs, optional
            By label, ``positive``, ``negative``, or ``any`` to take back an earlier one.
        lock : mapping of mappings, or sequence of triples, optional
            By name and label, a weight that is not trained, or None to take back an earlier one.
        examples : iterable of Example, or with ``nlp`` of (text, labels), optional
            The documents that the model was trained on; not needed with ``keep_corpus``. If the model was trained again
            on held-out documents (``report.n_held_out``), these belong to them.
        nlp : Language, optional
            The pipeline: its components before this one annotate the examples, and its config gets the constraints.
        resolve : bool
            Whether weights are optimised. Otherwise denied features are removed, all other weights stay as they are,
            and there is no certificate; documents are not needed.

        Returns
        -------
        Edit
            The features that have gone and those that have come, and the report.

        Raises
        ------
        ValueError
            If nothing is changed; if no feature of the documents matches a pattern or a name, or there is no such label
            or block; if constraints contradict each other; if the learner has none; if the documents are not known; or
            if those given are to be kept beyond a memory zone. The component stays what it was.
        """
        from .edits import edited

        with naming_component(self.name):
            later = Constraints(deny=deny, allow=allow, signs=signs or (), locked=lock or ())
        with naming_component(self.name, self._how_to_take_back()):
            return edited(self, later, examples, nlp, resolve)

    def _how_to_take_back(self) -> str:
        """For errors of constraints: how to take back one of those that the trained component has; empty without."""
        return TAKE_BACK if self.is_trained and self.constraints else ""

    def end_training(self) -> None:
        """Free the memory of the fit, and that of the corpus unless ``keep_corpus`` is set."""
        self.kept_corpus = self.corpus if self.keep_corpus else None
        self.training = None
        snapshot = self.model.snapshot
        if snapshot is not None and snapshot.word_scores is not None:
            # The vectors are not needed any more.
            self.model.attrs[SNAPSHOT] = replace(snapshot, word_scores=snapshot.word_scores.written())

    def initialize(
        self,
        get_examples: Callable[[], Examples],
        *,
        nlp: Language | None = None,
        # spaCy would hand over the letters of a string, and says less of what is no string.
        labels: str | Iterable[Any] | None = None,
        positive_label: str | None = None,
        # spaCy validates arguments by their annotations, of which it knows only what it imports itself.
        network: Callable[..., Any] | None = None,
        network_max_length: int = 1,
        unlabelled: Callable[..., Any] | None = None,
        vectors: Callable[..., Any] | None = None,
        checkpoints: str | None = None,
        shards: Callable[..., Any] | None = None,
    ) -> None:
        """Set the labels and the source of the training corpus, which is read at the first update.

        Parameters
        ----------
        get_examples : callable
            Returns the training corpus, or a part of it if it is streamed. A file that is streamed is read whole.
        nlp : Language, optional
            The pipeline; components in ``[training] annotating_components`` annotate the examples.
        labels : iterable of str, optional
            All labels, as ``init labels`` saves them; by default those of the examples. A list in single quotes, which
            a config takes for a string, is read as the list.
        positive_label : str, optional
            Of two exclusive labels, the one whose F-score is ``cats_score``; by default that is the macro F-score.
        network : callable, optional
            A builder from ``@graft_graphs`` of the graph of features whose weights are expected to be similar or
            opposite. It is called when training starts, with the features of the corpus by name.
        network_max_length : int
            Length of the longest n-gram that can be a vertex of the network, in tokens.
        unlabelled : callable, optional
            A reader from ``@readers`` that returns additional documents, called with ``nlp``. They are passed to the
            builder, and their features can be vertices, which get their weights from the network.
        vectors : callable, optional
            A source of word vectors from ``@graft_vectors``, for the block ``spacy_graft.Vectors.v1``. It is called
            with the vocab of the pipeline. By default they are the vectors of the pipeline.
        checkpoints : str, optional
            A folder for checkpoints, for ``GraftingPath`` only. Each step of training is saved in it, and a training
            that was interrupted goes on from the last one when the same command is run again, to the same model. You
            can delete the folder when training has ended.
        shards : callable, optional
            From ``@graft_shards``: where the symbols and the indexes of the corpus are, and how many threads search. By
            default in memory, and as many threads as there are cores.

        Raises
        ------
        TypeError
            If ``get_examples`` is not callable, or independent labels have a positive one.
        ValueError
            If there are no examples, an annotation is invalid, there are too few labels, the positive label is not one
            of two exclusive labels, an option of the network is invalid, there are ``unlabelled`` documents without a
            network, word vectors without a block for them or that cannot be read, ``checkpoints`` for a learner that
            has none, the corpus is to be kept beyond a memory zone, or training needs more memory than there is. The
            component stays what it was.
        """
        if not callable(get_examples):
            raise TypeError(Errors.E930.format(method=f"{type(self).__name__}.initialize", obj=type(get_examples)))
        if isinstance(labels, str):
            labels = initialization.labels_of_string(self.name, labels)
        elif isinstance(labels, set | frozenset):
            labels = sorted(labels, key=str)  # their order differs by process, and the model with it
        self.require_lasting_words()
        if nlp is not None:
            require_batch_size(nlp)
        in_loop = is_loop_of_spacy(get_examples)
        if nlp is not None and in_loop:
            suit_loop(nlp, self)
        get_examples = whole_corpus(get_examples, nlp, self.name)
        added_before = () if self.is_initialized else self.labels
        added = [*added_before, *map(self._checked_label, labels or ())]
        examples = initialization.checked_examples(self, get_examples())
        corpus = read_labels(examples, self.name, self.exclusive, () if labels is None else added)
        require_memory_for(corpus.n_documents, corpus.n_positive, self.exclusive)
        all_labels = list(dict.fromkeys([*added, *map(self._checked_label, corpus.names)] if labels is None else added))
        initialization.require_labels(self, all_labels, positive_label)
        resources = Resources(
            initialization.network_source(self, nlp, network, network_max_length, unlabelled),
            initialization.checkpoint_path(self, checkpoints),
            initialization.vectors_source(self, vectors),
            initialization.index_place(self, shards),
        )
        initialization.warn_of_unused_choices(self, resources)
        snapshot = Snapshot.without_features(self.model.attrs["blocks"], len(all_labels))
        # Examples without annotation are not a corpus: spacy assemble initializes with a dummy document.
        read = get_examples if nlp is None else partial(annotated, get_examples, nlp, self)

        def source() -> Iterable[DocPair]:
            return words_added(read(), self.blocks, self.vocab)

        # Until here nothing has changed.
        with unchanged_after_error(self):
            if nlp is not None:
                self.vocab = nlp.vocab
            self._set_labels(all_labels, positive_label)
            self.kept_corpus = None
            self._set_snapshot(snapshot)
            self.training = self._new_training(resources, source if corpus.names else None)
            self.training.in_loop = in_loop
            self.training.may_grow = not in_loop or is_cut_off(get_examples)

    def _set_labels(self, labels: Sequence[str], positive_label: str | None) -> None:
        """Replace all labels, and what is said of them."""
        if self.exclusive:
            self.cfg["positive_label"] = positive_label
        self.cfg["labels"] = [*labels]
        for label in labels:
            self.vocab.strings.add(label)

    def require_lasting_words(self) -> None:
        """Raise a ValueError if a memory zone would forget the words of documents that are to be kept."""
        if self.keep_corpus and self.vocab.in_memory_zone:  # type: ignore[attr-defined]  # not in spaCy's stub
            raise ValueError(
                f"[{self.name}] keep_corpus keeps the words of the training documents, but a memory zone forgets them "
                f"when it ends. Train, edit and load outside of it."
            )

    def target_reader(self, skips_unknown: bool = False) -> TargetReader:
        """What reads the targets of documents, for the present labels; labels it does not know can be skipped."""
        return TargetReader(self.name, self.labels, self.exclusive, skips_unknown)

    def _new_training(self, resources: Resources, source: Callable[[], Iterable[DocPair]] | None = None) -> Training:
        corpus = ExtractedCorpus(self.blocks, self.target_reader(), resources.place)
        return Training(corpus, self.steered_learner, self.vocab.strings, resources, source)

    def update(
        self,
        examples: Examples,
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Add examples that are not in the corpus, and compute the loss.

        In ``spacy train`` none are added, unless it gives a stream without an end: the corpus was read as a whole.

        A component that was trained before is extended: it must have kept its training documents (``keep_corpus``), and
        each step trains again on all documents, old and new, to the same point of the path. Give all new examples in
        one call, since each call takes as long as a training.

        Parameters
        ----------
        examples : iterable of Example
        drop : float
            Not used.
        sgd : Optimizer, optional
            Not used as an optimiser; if it is given, :meth:`finish_update` is called.
        losses : dict of str to float, optional
            Updated with the loss under the component's name: the objective divided by the number of documents, in
            nats; before the first step, the log-loss of the examples.

        Returns
        -------
        dict of str to float
            The losses.

        Raises
        ------
        ValueError
            If the component is not initialized, an annotation is invalid, the corpus is to be kept beyond a memory
            zone, or the component is trained and its training documents are not kept, or was trained by another
            learner than ``GraftingPath``, which it now has. No example is added then, nor if a trained component cannot
            be trained on old and new ones together.
        """
        losses = {} if losses is None else losses
        examples = list(examples)
        validate_examples(examples, f"{type(self).__name__}.update")
        self.require_initialized()
        self.require_lasting_words()
        if self.training is None:
            self.training = self._resumed_training("It cannot be trained on more documents")
        corpus = self.training.corpus
        corpus.reader = replace(corpus.reader, component=self.name)  # it may have been renamed
        self.training.add_examples(words_added(examples, self.blocks, self.vocab))
        report = self.training.report
        if report is None:
            losses[self.name], _ = self.get_loss(examples, self.predict(example.predicted for example in examples))
        else:
            losses[self.name] = self.training.loss(report)
        self.training.losses = losses
        if sgd:
            self.finish_update(sgd)
        return losses

    def _resumed_training(self, refusal: str) -> Training:
        """Training that extends the model; or an error that begins with ``refusal``."""
        if self.report is None:
            return self._new_training(Resources())
        if self.kept_corpus is None:
            raise ValueError(
                f"[{self.name}] {refusal}: the documents that this component was trained on are not kept with it, and "
                f"a model of other documents alone would replace it. Nothing is changed. Set keep_corpus = true in "
                f"[components.{self.name}] before training, or initialize it again with old and new documents."
            )
        if what := not_kept(self.report):
            raise ValueError(
                f"[{self.name}] {refusal}: it was trained with {what} not kept with it. Nothing is changed. Initialize "
                f"it again with old and new documents."
            )
        if isinstance(self.learner, GraftingPath) and self.report.rounds and not self.report.points:
            raise ValueError(
                f"[{self.name}] {refusal}: it was trained by another learner than GraftingPath, so that there is no "
                f"point of the path to train it to. Nothing is changed. Use the learner that it was trained by, or "
                f"initialize it again with old and new documents."
            )
        return self._extending(self.kept_corpus, self.report)

    def _extending(self, corpus: ExtractedCorpus, report: Report) -> ResumedTraining:
        """Training that goes on from the model, which has documents of this corpus and this report."""
        training = ResumedTraining(corpus, self.steered_learner, self.vocab.strings, report)
        if self.is_new_label().any():
            training.require_step()
        return training

    def is_new_label(self) -> np.ndarray:
        """Which labels of a trained component have been added and not been trained yet: bool (n_labels)."""
        # NEVER may have been divided by a temperature since.
        return np.asarray(snapshot_of(self.model).intercepts < NEVER / 1e3)

    def finish_update(self, sgd: Optimizer | None = None) -> None:
        """Do one step of the learner on the whole corpus; do nothing if the learner has finished.

        Parameters
        ----------
        sgd : Optimizer, optional
            Not used.
        """
        if self.training is None:
            return
        naming = naming_component(self.name, self._how_to_take_back())
        try:
            with limited_threads("blas"), naming, self.training.stepping() as model:
                if model is not None:
                    self.set_snapshot(*model)
        finally:
            self.kept_corpus = self.corpus if self.keep_corpus else None
        if model is not None:
            self.training.losses[self.name] = self.training.loss(model.report)

    def set_snapshot(self, snapshot: Snapshot, report: Report) -> None:
        """Set the model and its report; during training, also update the history.

        Parameters
        ----------
        snapshot : Snapshot
            Of this component; its notes are replaced.
        report : Report
            The report of the same step, which is copied.
        """
        steps = self.history
        if self.training is not None and self.training.course.reports:
            steps = history.history_of(self.training.course.reports, steps)
        with unchanged_after_error(self):
            self._set_snapshot(replace(snapshot, notes={REPORT: report.saved(), HISTORY: steps}))
            self.report = report.copy()

    def _set_snapshot(self, snapshot: Snapshot) -> None:
        """Set all of the model in one assignment; other threads see the model before or this one."""
        self.model.attrs[SNAPSHOT] = snapshot
        self.report = None

    @property
    def history(self) -> list[dict[str, Any]]:
        """The steps of training in order; empty if the component is not trained. It is saved with the model.

        Each step is a dict with ``step`` (from 1); ``l1``, ``l1_ratio``, ``n_active``, ``objective``, ``gap``
        (relative), ``refit``, ``log_loss``, ``log_loss_error`` and ``difference_error`` of its
        :class:`~spacy_graft.graft.report.Report`; and ``score``, the ``cats_score`` of its first evaluation, or None.
        The list is a copy.
        """
        return history.read_history(saving.notes_of(self.model).get(HISTORY))

    @property
    def named_points(self) -> dict[str, dict[str, Any]]:
        """The steps that ``parsimony`` takes by their log-loss: ``best`` and ``one_se``, the parsimonious one.

        Each is a dict of :attr:`history`. Empty if no step was judged by held-out documents.
        """
        steps = self.history
        return {name: steps[i] for name, i in named_points(steps).items()}

    def score(self, examples: Examples, **kwargs: Any) -> dict[str, Any]:
        """Score examples; during training, the first ``cats_score`` of each step is added to the history.

        In ``spacy train`` this is the score on the dev corpus.

        Parameters
        ----------
        examples : iterable of Example
        **kwargs
            Passed to the scorer.

        Returns
        -------
        dict
            The scores; empty without a scorer, or if no example has a label of the component.

        Raises
        ------
        ValueError
            If there are no examples.

        Warns
        -----
        UserWarning
            If no example has a label of the component; if these are the documents that chose the model and that it was
            then trained on; during training also of what is wrong with documents that should choose it, and if they
            come too late for that.
        """
        examples, training = list(examples), self.training
        choosing = training if training is not None and training.takes_held_out else None
        judging.require_texts(self.name, examples, choosing)
        if choosing is not None:
            held_out = choosing.course.held_out
            if held_out is None or not held_out.are(examples):
                held_out = judging.held_out_of(self, examples, choosing.shares())
            if len(held_out.corpus):
                return judging.choose(self, choosing, held_out, examples, kwargs)
            judging.warn_of_no_judge(self, len(examples))
            choosing.course.has_no_judge = True
        if not any(has_labels_of(example.reference, self.labels) for example in examples):
            if choosing is None:
                judging.warn_of_no_labels(self, examples)
            return {}
        if training is not None and training.is_past_choice:
            judging.warn_of_late(self, len(examples))
        judging.warn_of_trained(
            self, (document_text(one.reference) for one in examples if judging.can_judge(self, one))
        )
        scores = self.scores_of(examples, kwargs)
        if training is None or scores.get("cats_score") is None:
            return scores
        self.note_score(scores)
        # Without a path, the loop chooses; if stable features were asked for, a model that has no others.
        return {**scores, "cats_choice": scores["cats_score"] + training.course.is_stable}

    def scores_of(
        self, examples: list[Example], options: dict[str, Any], thresholds: Sequence[float] | None = None
    ) -> dict[str, Any]:
        """The scores of examples, as of the scorer; of independent labels under other thresholds than those chosen."""
        given = self.scoring_options(thresholds)
        if "threshold" in options:
            given.pop("thresholds", None)
        scores: dict[str, Any] = super().score(examples, **{**given, **options})
        return scores

    def scoring_options(self, thresholds: Sequence[float] | None = None) -> dict[str, Any]:
        """What the scorer takes besides examples: ``cfg``, and of independent labels their thresholds."""
        return dict(self.cfg)

    def note_score(self, scores: Mapping[str, Any]) -> None:
        """Enter the first score of the last step into the history."""
        steps: list[dict[str, Any]] = saving.notes_of(self.model).get(HISTORY, [])
        score = scores.get("cats_score")
        if self.training is not None and score is not None and self.history and steps[-1]["score"] is None:
            # In the record itself: to replace the snapshot here could undo a training step of another thread.
            steps[-1]["score"] = float(score)

    def divide_scores(self, divisor: float) -> None:
        """Divide weights and intercepts by a number, and say so in the report.

        Thresholds that data chose are changed so that they decide alike. The log-loss of the report was that of the
        model before.

        Raises
        ------
        ValueError
            If it is no number above 0, or too large; or if the component has no weights.
        """
        self.recalibrate(*self.divided(divisor))

    def divided(self, divisor: float) -> tuple[Snapshot, Report | None]:
        """The model and the report that :meth:`divide_scores` sets; without a report if the component has none."""
        self.require_initialized()
        if not is_strength(divisor):
            raise ValueError(f"[{self.name}] Scores can be divided by a number above 0, not by {divisor!r}.")
        before, report = snapshot_of(self.model), self.report
        snapshot = before.adjusted(Adjustment(divisor), np.ones(before.n_labels))
        if report is None:
            return snapshot, None
        thresholds = report.thresholds
        if thresholds is not None:
            # The scores of before are the divided ones, adjusted with a temperature of 1 / divisor.
            thresholds = Adjustment(1.0 / divisor).thresholds_before(thresholds, np.ones(len(thresholds)))
        return snapshot, replace(
            report,
            temperature=divisor * report.temperature,
            tilt=report.tilt / divisor,
            thresholds=thresholds,
            log_loss=None,
            log_loss_error=None,
            difference_error=None,
        )

    def recalibrate(self, snapshot: Snapshot, report: Report | None) -> None:
        """Set the model with other calibration, from which training goes on if there are more documents."""
        if report is None:
            self._set_snapshot(snapshot)
            return
        with unchanged_after_error(self):
            if self.training is not None:
                if self.training.ended_unjudged and not not_kept(report):
                    self.training = self._extending(self.training.corpus, report)
                self.training.recalibrate(report)
            self.set_snapshot(snapshot, report)

    def predicted(self, doc: Doc) -> list[str]:
        """Return the most probable label of a document; for independent labels, those that reach their thresholds.

        Parameters
        ----------
        doc : Doc
            A document with the annotation that the blocks need. The component need not have processed it.

        Returns
        -------
        list of str
        """
        self._require_doc(doc)
        snapshot = snapshot_of(self.model)
        return self.labels_from(self._probabilities(snapshot.scores([doc])), snapshot)[0]

    def labels_from(self, probabilities: np.ndarray, snapshot: Snapshot | None = None) -> list[list[str]]:
        """The labels that are predicted for each document, given what :meth:`decisions` takes."""
        return [list(compress(self.labels, row)) for row in self.decisions(probabilities, snapshot)]

    def decisions(self, probabilities: np.ndarray, snapshot: Snapshot | None = None) -> np.ndarray:
        """Which labels are predicted with probabilities, float64 (n_documents, n_labels), of a snapshot: bool."""
        return np.asarray(np.arange(len(self.labels)) == probabilities.argmax(axis=1)[:, np.newaxis])

    def predict(self, docs: Iterable[Doc]) -> np.ndarray:
        """Return the probabilities of all labels.

        Parameters
        ----------
        docs : iterable of Doc
            Documents with the annotation that the blocks need.

        Returns
        -------
        float64 (n_documents, n_labels)

        Raises
        ------
        ValueError
            If the component has no weights, or a document lacks an annotation.
        """
        self.require_initialized()
        docs, training = list(docs), self.training
        known = None if training is None else training.scores_of_held_out(docs, snapshot_of(self.model))
        return self._probabilities(self.model.predict(docs) if known is None else known)

    def require_initialized(self) -> None:
        """Raise a ValueError if the component has no weights."""
        if not self.is_initialized:
            raise ValueError(
                f"[{self.name}] The component has no weights yet. Train it with spacy train or spacy_graft.fit, or "
                f"load a trained pipeline."
            )

    def _require_doc(self, doc: object) -> None:
        """Raise a ValueError if the component has no weights, or what is given is no document."""
        self.require_initialized()
        if not isinstance(doc, Doc):
            hint = ", or span.as_doc()" if isinstance(doc, Span) else ""
            raise ValueError(f"[{self.name}] Give a Doc, such as nlp(text){hint}, and not {doc!r:.40}.")

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        return as_probabilities(scores, self.exclusive)

    def set_annotations(self, docs: Iterable[Doc], scores: np.ndarray) -> None:
        """Set ``doc.cats`` to probabilities, float64 (n_documents, n_labels)."""
        labels = self.labels
        if len(labels) < MANY_LABELS or not self.is_initialized:
            for doc, row in zip(docs, scores.tolist(), strict=True):
                doc.cats.update(zip(labels, row, strict=True))
            return
        # In a document, most of many labels have the probability of their intercept. To copy a dictionary of these
        # takes a tenth of the time of making one.
        usual = self._probabilities(snapshot_of(self.model).intercepts[np.newaxis])[0]
        of_usual, names = dict(zip(labels, usual.tolist(), strict=True)), np.array(labels, object)
        for doc, probabilities in zip(docs, scores, strict=True):
            others = np.flatnonzero(probabilities != usual)
            doc.cats.update(of_usual)
            doc.cats.update(zip(names[others].tolist(), probabilities[others].tolist(), strict=True))

    def get_loss(self, examples: Examples, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the log-loss of documents, and the gradient of their total loss by linear scores.

        Parameters
        ----------
        examples : iterable of Example
        scores : float64 (n_documents, n_labels)
            Probabilities, from :meth:`predict`.

        Returns
        -------
        loss : float
            The sum of weighted losses by the number of documents, in nats; 0 of no examples.
        gradient : float64 (n_documents, n_labels)
        """
        values, known, weights = self.target_reader().arrays_of(examples)
        losses = document_losses(scores, values, known, exclusive=self.exclusive)
        return float(weights @ losses) / max(len(weights), 1), weights[:, np.newaxis] * known * (scores - values)

    def rehearse(self, examples: Examples, **kwargs: Any) -> dict[str, float]:
        """Raise a NotImplementedError: rehearsal is for components trained by gradient descent."""
        raise NotImplementedError(
            f"[{self.name}] Rehearsal is for components trained by gradient descent. Exclude this one with "
            f"nlp.rehearse(..., exclude=[{self.name!r}]), and train it on old and new examples together."
        )

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> TextCatGraft:
        """Load what :meth:`to_bytes` wrote.

        Parameters
        ----------
        bytes_data : bytes
        exclude : iterable of str
            Parts that stay as they are: ``cfg`` (labels and thresholds), ``model``, ``vocab``.

        Returns
        -------
        TextCatGraft
            The component itself.

        Raises
        ------
        ValueError
            If the bytes are damaged, or of a component of another kind or with other blocks; or if training documents
            are to be kept beyond a memory zone. The component stays what it was.
        """
        saving.from_bytes(self, bytes_data, exclude)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Write the component as bytes, with a digest; while another thread trains, those of one step.

        Parameters
        ----------
        exclude : iterable of str
            Parts to leave out: ``cfg``, ``model``, ``vocab``.

        Returns
        -------
        bytes

        Raises
        ------
        ValueError
            If labels are not different strings, or thresholds not numbers from 0 to 1.
        """
        return saving.to_bytes(self, exclude)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> TextCatGraft:
        """Load what :meth:`to_disk` wrote; arguments, result and errors are those of :meth:`from_bytes`.

        Raises
        ------
        FileNotFoundError
            If a file is missing.
        ValueError
            If a file is damaged, or of another component or training; the message names the file.
        """
        saving.from_disk(self, Path(path), exclude)
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the component into a folder, as :meth:`to_bytes`.

        If it cannot be written, a model that was in the folder before can still be loaded.
        """
        saving.to_disk(self, Path(path), exclude)

    def _repr_html_(self) -> str:
        """The features that decide most, in a notebook."""
        if not self.is_initialized:
            return f"<p>{escaped(self.name)}: not trained yet</p>"
        return fragment(self.overview())

    def overview(self, label: str | None = None, examples: Iterable[Doc] = (), data: str = "") -> str:
        """Return HTML about the features of one label or of all, without a style sheet.

        Parameters
        ----------
        label : str, optional
        examples : iterable of Doc
            Documents to search for examples in context.
        data : str
            HTML about a data set or about where the model is from, to stand before the labels.
        """
        if label is None and self.exclusive:
            label = self.cfg["positive_label"]
        labels = self.selected_labels(label)
        sides = sides_of_model(self.labels, labels, self.exclusive)
        points = self.named_points
        return overview(self.name, snapshot_of(self.model), self.labels, sides, examples, points_view(points) + data)

    def features(self) -> list[Feature]:
        """Return the features of the model, in the order of the rows of its weights."""
        return features_of(snapshot_of(self.model), self.labels)

    def strongest_words(self, n: int = 100, label: str | None = None) -> list[Feature]:
        """Return the words that the model knows by their vectors and that can move a score most, strongest first.

        Parameters
        ----------
        n : int
            How many words.
        label : str, optional
            The label whose score is meant; by default that of any label.

        Returns
        -------
        list of Feature
            None if the model has no word vectors. The weights are the scores of a word: what it adds to a document is
            its score times its share of the document's words. Its ``df`` is 0 if no training document has it.

        Raises
        ------
        ValueError
            If there is no such label.
        """
        self.selected_labels(label)
        return strongest_words(snapshot_of(self.model), self.labels, n, label)

    def explain(self, doc: Doc, label: str | None = None, *, against: str | None = None) -> Explanation:
        """Explain the prediction for a document.

        Parameters
        ----------
        doc : Doc
            A document with the annotation that the blocks need. The component need not have processed it.
        label : str, optional
            The label to explain; by default all labels.
        against : str, optional
            The label that it is compared with, if labels exclude each other; by default the most probable other one.

        Returns
        -------
        Explanation
            For each label, the intercept and the contributions of the matched features and of the words with a vector,
            which sum to the logarithm of the odds of the label: against the other one, or for independent labels
            against its absence.

        Raises
        ------
        ValueError
            If there is no such label, both labels are the same, labels are independent and ``against`` is given, the
            component has no weights, or the document lacks an annotation.
        """
        return self._explained(doc, label, against)

    def explain_best(self, doc: Doc, label: str | None = None, *, against: str | None = None) -> Explanation:
        """Explain one label only, by default the most probable one; as :meth:`explain`."""
        return self._explained(doc, label, against, best=True)

    @no_collections()
    def _explained(self, doc: Doc, label: str | None, against: str | None, best: bool = False) -> Explanation:
        """The explanation of one label or of all; with ``best``, of the most probable one of these."""
        self._require_doc(doc)
        snapshot = snapshot_of(self.model)
        row: np.ndarray = self._probabilities(snapshot.scores([doc]))[0]
        probabilities = dict(zip(self.labels, row.tolist(), strict=True))
        sides = alternatives_of(probabilities, self.exclusive, label, against)
        if best:
            name = max(sides, key=probabilities.__getitem__)
            sides = {name: sides[name]}
        return explain_document(snapshot, doc, probabilities, sides)

    def selected_labels(self, label: str | None) -> tuple[str, ...]:
        """The given label, or all if it is None; raise a ValueError for an unknown label or without weights."""
        self.require_initialized()
        if label is None:
            return self.labels
        if label not in self.labels:
            raise ValueError(
                f"[{self.name}] There is no label {label!r}.{did_you_mean(label, self.labels)} The labels: "
                f"{listed(self.labels)}."
            )
        return (label,)


class TextCatGraftMultilabel(TextCatGraft):
    """Text classifier with independent labels: one sparse logistic regression for each label.

    Labels that are not in ``doc.cats`` of a training document are masked. The parameters are those of
    :class:`TextCatGraft`. The thresholds that data chose are in the report. ``cfg["thresholds"]`` has those of single
    labels that replace them, and ``cfg["threshold"]`` the one that replaces them for all other labels: yours, of
    which :meth:`initialize` keeps those of labels that there are.
    """

    exclusive: ClassVar[bool] = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cfg["thresholds"] = {}

    def _set_labels(self, labels: Sequence[str], positive_label: str | None) -> None:
        super()._set_labels(labels, positive_label)
        yours = self.cfg["thresholds"]
        self.cfg["thresholds"] = {label: yours[label] for label in labels if label in yours}

    def set_thresholds(self, thresholds: list[float]) -> None:
        """Set the thresholds that data chose, in the order of labels.

        Raises
        ------
        ValueError
            If the component is not trained, or there is not a number from 0 to 1 for each label.
        """
        if self.report is None:
            raise ValueError(f"[{self.name}] The component is not trained: there is nothing to set thresholds of.")
        if len(thresholds) != len(self.labels):
            raise ValueError(f"[{self.name}] There are {len(self.labels)} labels, but {len(thresholds)} thresholds.")
        plain = list(map(as_python, thresholds))
        saving.check_thresholds(self.name, dict(zip(self.labels, plain, strict=True)), self.labels)
        self.recalibrate(snapshot_of(self.model), replace(self.report, thresholds=plain))

    @property
    def thresholds(self) -> dict[str, float]:
        """The probability from which each label is predicted."""
        return self.thresholds_of(snapshot_of(self.model)) if self.is_initialized else self._in_use(())

    def thresholds_of(self, snapshot: Snapshot) -> dict[str, float]:
        """The same, of a snapshot of the model."""
        return self._in_use((snapshot.report or {}).get("thresholds") or ())

    def _in_use(self, chosen: Sequence[float]) -> dict[str, float]:
        """The thresholds, given those that data chose; labels that were added after that have none among these."""
        common, yours = self.cfg["threshold"], self.cfg["thresholds"]
        saving.check_common_threshold(self.name, common)
        saving.check_thresholds(self.name, yours, self.labels)
        if common is not None:
            return {label: yours.get(label, common) for label in self.labels}
        by_data = dict(zip(self.labels, chosen, strict=False))
        return {label: yours.get(label, by_data.get(label, THRESHOLD)) for label in self.labels}

    def scoring_options(self, thresholds: Sequence[float] | None = None) -> dict[str, Any]:
        of_labels = self.thresholds if thresholds is None else self._in_use(thresholds)
        return {**super().scoring_options(), "thresholds": of_labels}

    def decisions(self, probabilities: np.ndarray, snapshot: Snapshot | None = None) -> np.ndarray:
        of_labels = self.thresholds if snapshot is None else self.thresholds_of(snapshot)
        return np.asarray(probabilities >= list(of_labels.values()))
