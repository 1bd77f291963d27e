"""``spacy_graft.fit``: training without a config or a training loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from spacy.language import Language
from spacy.training import Example
from spacy.util import registry

from ..graft.emptiness import NothingToLearnError, without_choice
from ..graft.report import Report
from ..graft.settings import GraftingPath
from ..heap import frozen_heap
from ..index.places import IndexPlace
from ..messages import listed, warn
from ..strengths import first_strengths
from ..threads import limited_threads
from .annotation import annotated_before, documents_before
from .card import add_card
from .components import graft_component, graft_components
from .folds import FoldChoice, cross_validated, splits_of
from .judging import can_judge, warn_of_unknown
from .labelled import DocumentLabels, LabelledDocuments, LabelledTexts, examples_of, unlabelled_examples
from .notes import forget_model
from .progress import progress_bar
from .textcat import TextCatGraft
from .training import StepModel, Training, naming_component
from .undoing import unchanged_after_error
from .vectors import vectors_block

if TYPE_CHECKING:
    from rich.progress import Progress

    from ..graft.network import NetworkBuilder
    from ..vectors.word_vectors import WordVectors
    from .vectors import VectorsReader

#: What the bar of the last training begins with.
ALL_DOCUMENTS = "all documents: "
#: Before the reason.
NO_SCORE = "[{name}] There is no cats_score on dev to choose a step by:"


def fit(
    nlp: Language,
    examples: LabelledDocuments | Iterable[str],
    labels: Iterable[DocumentLabels] | None = None,
    *,
    dev: LabelledDocuments | None = None,
    network: NetworkBuilder | None = None,
    network_max_length: int = 1,
    unlabelled: Iterable[Example] | Iterable[str] | None = None,
    vectors: WordVectors | VectorsReader | None = None,
    checkpoints: str | None = None,
    shards: Callable[[], IndexPlace] | None = None,
) -> Report:
    """Train the graft component of a pipeline from scratch until its learner has finished.

    Other components are not changed. The components before it annotate the documents, as they do in the pipeline. Of
    ``[initialize.components.NAME]`` in the config of the pipeline, ``labels`` and ``positive_label`` hold here too; the
    rest is given by arguments. After an error, and if it is interrupted, the component is what it was: until the end,
    both models are in memory, with ``keep_corpus`` the documents of both.

    Parameters
    ----------
    nlp : Language
        A pipeline with one enabled ``textcat_graft`` or ``textcat_graft_multilabel``.
    examples : iterable of Example, of (text, labels), or of str
        Training documents: examples annotated in ``doc.cats``, pairs of a text and its labels, or texts. The labels of
        a text are a string (or an integer, which is the name of a label too), a list of strings where any number of
        labels can apply, or a mapping of numbers from 0 to 1, in which labels that are left out are not known.
    labels : iterable of labels, optional
        The labels of each text, if ``examples`` are texts.
    dev : iterable of Example, or of (text, labels), optional
        Documents to choose the model with. ``GraftingPath`` chooses point, refit and adjustment by their log-loss (or
        its ``metric``), and then trains again on the examples and these. Other learners take the step with the highest
        ``cats_score``, the last of them if there are several, as ``spacy train`` does. Without them, ``GraftingPath``
        chooses by cross-validation, and then trains on all documents. Each fold is a quarter of the documents of each
        set of labels (from 2,500 documents on a smaller part, down to a tenth); folds are held out until 200 documents
        have been, so large corpora need one fold and small ones four. Where dev documents are fewer than 200, and all
        fewer than 1,000, cross-validation on all of them chooses too. Other learners are trained until they have
        finished.
    network : callable, optional
        A builder of a graph of related features, from ``@graft_graphs``.
    network_max_length : int
        Length of the longest n-gram that can be a vertex of the network, in tokens.
    unlabelled : iterable of Example, or of str, optional
        Additional documents for the network; their labels are not used.
    vectors : WordVectors or callable, optional
        Word vectors for the block ``spacy_graft.Vectors.v1``, or a source of them from ``@graft_vectors``, as for
        ``initialize``. It is called once.
    checkpoints : str, optional
        A folder for checkpoints, as for ``initialize``: a training that was interrupted goes on when it is repeated.
    shards : callable, optional
        Where symbols and indexes are, such as ``OnDisk(folder="...")``, as for ``initialize``.

    Returns
    -------
    Report
        The report of the selected model.

    Raises
    ------
    ValueError
        If the pipeline does not have exactly one enabled graft component; if texts have no labels; if there are no
        examples, or none has an annotation; if ``dev`` is empty; if an annotation, a document or an option is invalid;
        or if there are ``unlabelled`` documents without a ``network``.

    Warns
    -----
    UserWarning
        If a label has no positive document.
    """
    component = graft_component(nlp)
    # A component that add_pipe(source=...) shares has the vocab of one pipeline, and the name that it has in the other.
    component.vocab, (component.name,) = nlp.vocab, graft_components(nlp)
    of_labels = settings_of_labels(nlp, component)
    given = training_examples(nlp, component, examples, labels, of_labels.get("labels", ()))
    train = given if isinstance(given, LabelledTexts) else list(annotated_before(nlp, component, given))
    options: dict[str, Any] = {
        **of_labels,
        "network": network,
        "network_max_length": network_max_length,
        "vectors": vectors,
        "checkpoints": checkpoints,
        "shards": shards,
    }
    warn_of_unused_metric(component, dev is not None)
    if unlabelled is not None:
        annotated_unlabelled = list(annotated_before(nlp, component, unlabelled_examples(nlp, unlabelled)))
        options["unlabelled"] = lambda _: annotated_unlabelled
    unchanged, naming = unchanged_after_error(component), naming_component(component.name)
    with unchanged, naming, limited_threads("blas"), progress_bar(component.name) as progress:
        if isinstance(train, LabelledTexts):
            component.initialize(train.unread, **options)
            assert component.training is not None
            component.training.read_from(partial(documents_before, nlp, component, train))
        else:
            component.initialize(lambda: train, **options)
        training = begun_training(component, progress)
        if not len(training.corpus):
            raise ValueError(
                f"[{component.name}] None of the {len(train)} examples has a label: there is nothing to learn from. "
                f"Annotate them in doc.cats."
            )
        if dev is not None:
            train_with_dev(component, training, list(annotated_before(nlp, component, dev)))
        else:
            train_like(component, training, chosen_by_folds(training))
        component.end_training()
        forget_model(nlp, component.name)
        add_card(nlp)
    assert component.report is not None
    return component.report


def warn_of_unused_metric(component: TextCatGraft, has_dev: bool) -> None:
    """Warn of a metric by which nothing is chosen."""
    learner = component.learner
    if isinstance(learner, GraftingPath) and learner.metric != "log_loss" and not has_dev:
        warn(
            f"[{component.name}] metric = {learner.metric!r} of the learner has no effect without dev: "
            f"cross-validation chooses by log-loss."
        )


def training_examples(
    nlp: Language,
    component: TextCatGraft,
    examples: Iterable[Any],
    labels: Iterable[DocumentLabels] | None = None,
    to_come: Iterable[str] = (),
) -> Iterable[Example]:
    """The examples of a training from scratch, which need not have the labels that the component has now.

    Labels that were added before there is a model are ``to_come`` as well.
    """
    added = () if component.is_initialized else component.labels
    return examples_of(nlp, examples, labels, [*added, *to_come])


def settings_of_labels(nlp: Language, component: TextCatGraft) -> dict[str, Any]:
    """What the config says about the labels of a component when it is initialized."""
    given = nlp.config["initialize"]["components"].get(component.name, {})
    keys = [key for key in ("labels", "positive_label") if given.get(key) is not None]
    if not keys:
        return {}
    section = nlp.config.interpolate()["initialize"]["components"][component.name]
    try:
        settings: dict[str, Any] = registry.resolve({key: section[key] for key in keys})
    except Exception as error:  # registered functions can raise anything
        raise ValueError(
            f"[{component.name}] {listed(keys)} in [initialize.components.{component.name}] of the config cannot be "
            f"read: {error} Correct or remove what is wrong there."
        ) from error
    return {key: value for key, value in settings.items() if value is not None}


def train_with_dev(component: TextCatGraft, training: Training, dev: list[Example]) -> None:
    """Train to the end. A path chooses its model on dev; of other learners the step with the highest score is taken."""
    if not dev:
        raise ValueError("There are no dev examples. Give some, or dev=None to select by cross-validation.")
    is_path = isinstance(component.learner, GraftingPath)
    if not is_path:
        require_judges(component, dev)
    best, best_score = None, -inf
    for model in training.shown(training.models()):
        component.set_snapshot(*model)
        scores = scores_on(component, dev)
        if is_path:
            continue  # being scored, it has judged its point
        score = scores.get("cats_score")
        if score is None:
            raise ValueError(f"{NO_SCORE.format(name=component.name)} the component has no scorer of labels.")
        if isfinite(score) and (score >= best_score or training.course.is_stable):
            best_score, best = score, StepModel(model.snapshot, model.report.copy())
    if is_path:
        return
    if best is None:
        raise ValueError(f"{NO_SCORE.format(name=component.name)} the scorer gave no finite number after any step.")
    component.set_snapshot(*best)


def require_judges(component: TextCatGraft, dev: list[Example]) -> None:
    """Raise a ValueError if no dev document has a label of the component; warn of those that have none.

    A path needs no such labels: without any, its last point is taken.
    """
    n_judging = sum(can_judge(component, example) for example in dev)
    if not n_judging:
        raise ValueError(
            f"{NO_SCORE.format(name=component.name)} none of the {len(dev)} dev documents has a label that it knows."
        )
    warn_of_unknown(component, dev, n_judging)


def scores_on(component: TextCatGraft, dev: list[Example]) -> dict[str, Any]:
    """The scores of the component as it is; empty if nothing can be scored."""
    docs = [example.predicted for example in dev]
    component.set_annotations(docs, component.predict(docs))
    return component.score(dev)


def chosen_by_folds(training: Training) -> FoldChoice | None:
    """What cross-validation chooses; None for learners without a path, and if there are too few documents."""
    if not isinstance(training.learner, GraftingPath):
        return None
    splits = splits_of(training, training.corpus.splits())
    try:
        return cross_validated(training, splits) if splits else None
    except NothingToLearnError as error:  # from what a fold keeps; all documents may have more
        warn(f"[{training.corpus.reader.component}] {without_choice(error)}")
        return None


def begun_training(component: TextCatGraft, progress: Progress) -> Training:
    """The training of an initialized component, which has read its documents; ``progress`` shows its work."""
    training = component.training
    assert training is not None
    training.progress = progress
    training.add_examples([])
    return training


@frozen_heap()
def train_like(component: TextCatGraft, training: Training, chosen: FoldChoice | None) -> None:
    """Train on all documents; a path to the point, refit and adjustment that folds chose, if they did."""
    training.begin_like(unjudged(component) if chosen is None else chosen.report)
    if chosen is None:
        for model in training.shown(training.models(), ALL_DOCUMENTS):
            last = model
    else:
        for _ in training.shown(training.steps_to(chosen.report), ALL_DOCUMENTS, chosen.report.points):
            pass
        last = training.refitted(chosen.report)
        last.report.log_loss, last.report.log_loss_error = chosen.report.log_loss, chosen.report.log_loss_error
        last.report.finished = True
        training.course.reports = [*chosen.points, last.report]
        training.warn_if_empty(last.report)
    component.set_snapshot(*last)


def unjudged(component: TextCatGraft) -> Report:
    """The report of a training without held-out documents: word vectors, if there are some, are used."""
    has_vectors = vectors_block(component.blocks) is not None and first_strengths(component.learner)
    return Report(vectors_ridge=component.learner.vectors_ridge if has_vectors else None)
