"""``spacy_graft.fit``: training without a config or a training loop."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from spacy.language import Language
from spacy.training import Example
from spacy.util import registry

from ..extract.unread import document_text
from ..graft.report import Report
from ..graft.settings import GraftingPath, PenaltySettings
from ..held_out import (
    N_FOLDS,
    FoldPoint,
    chosen_of_folds,
    is_better_strength,
    is_small,
    judged,
    judged_point,
    numbers_of_folds,
    points_of_fold,
    refit_grid,
    rows_of_splits,
)
from ..index.places import IndexPlace
from ..messages import listed
from ..model.sparse_linear import SNAPSHOT
from .annotation import annotated_before
from .block_choice import leave_out
from .card import add_card
from .choice import HeldOut, choices_of, first_strengths, trials_of
from .components import graft_component
from .corpus import ExtractedCorpus, ignore_rare_labels
from .judging import can_judge, held_out_of, warn_of_unknown
from .labelled import DocumentLabels, examples_of, unlabelled_examples
from .notes import forget_model
from .progress import progress_bar
from .targets import positive_labels
from .textcat import TextCatGraft
from .training import Model, Training
from .vectors import vectors_block, vectors_of_vocab

if TYPE_CHECKING:
    from rich.progress import Progress

    from ..graft.network import NetworkBuilder
    from ..graft.points import PointFit
    from ..vectors.word_vectors import WordVectors
    from .vectors import VectorsReader

#: Before the reason.
NO_SCORE = "[{name}] There is no cats_score on dev to choose a step by:"


def fit(
    nlp: Language,
    examples: Iterable[Example] | Iterable[tuple[str, DocumentLabels]] | Iterable[str],
    labels: Iterable[DocumentLabels] | None = None,
    *,
    dev: Iterable[Example] | Iterable[tuple[str, DocumentLabels]] | None = None,
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
        a text are a string, a list of strings where any number of labels can apply, or a mapping of numbers from 0 to
        1, in which labels that are left out are not known.
    labels : iterable of labels, optional
        The labels of each text, if ``examples`` are texts.
    dev : iterable of Example, or of (text, labels), optional
        Documents to choose the model with. ``GraftingPath`` chooses point, refit and temperature by their log-loss (or
        its ``metric``), and then trains again on the examples and these. Other learners take the step with the highest
        ``cats_score``, the first of them if there are several. Without them, ``GraftingPath`` chooses by
        cross-validation, and then trains on all documents. Each fold is a tenth of the documents of each set of labels;
        folds are held out until 500 documents have been, so large corpora need one fold and small ones ten. Other
        learners are trained until they have finished.
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
    of_labels = settings_of_labels(nlp, component)
    train = training_examples(nlp, component, examples, labels, of_labels.get("labels", ()))
    # Vectors are read once for all folds, those of the pipeline as well.
    if vectors is None and vectors_block(component.blocks) is not None:
        vectors = vectors_of_vocab
    given: dict[str, Any] = {} if vectors is None else {"vectors": cache(vectors) if callable(vectors) else vectors}
    given |= of_labels
    with unchanged_after_error(component), progress_bar(component.name) as progress:
        # The labels, in this order, are the same in all folds: labels added by hand, then those of the examples.
        component.initialize(lambda: train, **given)
        options: dict[str, Any] = {
            **given,
            "labels": component.labels,
            "network": network,
            "network_max_length": network_max_length,
            "checkpoints": checkpoints,
            "shards": shards,
        }
        if unlabelled is not None:
            annotated_unlabelled = list(annotated_before(nlp, component, unlabelled_examples(nlp, unlabelled)))
            options["unlabelled"] = lambda _: annotated_unlabelled
        if dev is not None:
            held_out = annotated_before(nlp, component, dev)
            train_with_dev(component, train, list(held_out), options, progress)
        else:
            train_with_folds(component, train, options, progress)
        component.end_training()
    forget_model(nlp)
    add_card(nlp)
    assert component.report is not None
    return component.report


def training_examples(
    nlp: Language,
    component: TextCatGraft,
    examples: Iterable[Any],
    labels: Iterable[DocumentLabels] | None = None,
    to_come: Iterable[str] = (),
) -> list[Example]:
    """The examples of a training from scratch as they reach the component, which need not have the labels it has now.

    Labels that were added before there is a model are ``to_come`` as well.
    """
    added = () if component.is_initialized else component.labels
    return list(annotated_before(nlp, component, examples_of(nlp, examples, labels, [*added, *to_come])))


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


@contextmanager
def unchanged_after_error(component: TextCatGraft) -> Iterator[None]:
    """Make a component what it was if the block raises an exception."""
    cfg, snapshot = dict(component.cfg), component.model.attrs[SNAPSHOT]
    others = component.report, component.training, component.kept_corpus
    try:
        yield
    except BaseException:
        component.cfg, component.model.attrs[SNAPSHOT] = cfg, snapshot
        component.report, component.training, component.kept_corpus = others
        raise


def begun_training(
    component: TextCatGraft,
    examples: list[Example],
    options: dict[str, Any],
    like: Report | None,
    final: bool = False,
    also: ExtractedCorpus | None = None,
) -> Training:
    """Training from scratch, before its first step.

    Parameters
    ----------
    component : TextCatGraft
    examples : list of Example
    options : dict
        Of ``initialize``.
    like : Report, optional
        Its blocks are left out, and the strengths that it names are used.
    final : bool
        Whether the model is not only there to choose another one: unstable features are looked for.
    also : ExtractedCorpus, optional
        Further training documents, which have been read.
    """
    component.initialize(lambda: examples, **options)
    training = component.training
    assert training is not None
    if not final and isinstance(training.learner, PenaltySettings):
        training.learner = replace(training.learner, stability=False)
    training.add_examples([])
    if also is not None:
        training.corpus = training.corpus.followed_by(also)
    if like is not None:
        training.left_out = tuple(like.left_out)
        training.strengths |= like.strengths
    return training


def training_steps(
    component: TextCatGraft,
    examples: list[Example],
    options: dict[str, Any],
    progress: Progress,
    name: str = "",
    like: Report | None = None,
    final: bool = False,
    also: ExtractedCorpus | None = None,
) -> Iterator[Model]:
    """Train from scratch and yield the model of each step, at least one; arguments of :func:`begun_training`."""
    training = begun_training(component, examples, options, like, final, also)
    training.progress = progress
    task = progress.add_task(name, total=n_steps(component.learner))
    model = training.step()
    if model is None:
        raise ValueError(
            f"[{component.name}] None of the {len(examples)} examples has a label: there is nothing to learn from. "
            f"Annotate them in doc.cats."
        )
    while model is not None:
        progress.update(task, advance=1, description=name + progress_text(model.report))
        yield model
        model = training.step()


def n_steps(learner: Any) -> int | None:
    """The number of steps of a path, the last one to the chosen model; None for learners without a fixed number."""
    return learner.n_points + 1 if isinstance(learner, GraftingPath) else None


def progress_text(report: Report) -> str:
    """The state of a fit, for the progress bar."""
    refit = "" if report.refit is None else f", refit {report.refit:g}"
    return (
        f"l1/l1_max {report.l1_ratio:.4f}, {report.rounds} rounds, {report.n_active:,} features, "
        f"gap {report.relative_gap:.0e}{refit}"
    )


def train_with_dev(
    component: TextCatGraft, train: list[Example], dev: list[Example], options: dict[str, Any], progress: Progress
) -> None:
    """Train to the end. A path chooses its model on dev; of other learners the step with the highest score is taken."""
    if not dev:
        raise ValueError("There are no dev examples. Give some, or dev=None to select by cross-validation.")
    is_path = isinstance(component.learner, GraftingPath)
    if not is_path:
        require_judges(component, dev)
    best_score = -1.0
    for model in training_steps(component, train, options, progress, final=True):
        component.set_snapshot(*model)
        scores = scores_on(component, dev)
        if is_path:
            continue  # being scored, it has judged its point
        if "cats_score" not in scores:
            raise ValueError(f"{NO_SCORE.format(name=component.name)} the component has no scorer of labels.")
        assert component.training is not None
        if scores["cats_score"] > best_score or component.training.is_stable:
            best_score, best = scores["cats_score"], Model(model.snapshot, model.report.copy())
    if not is_path:
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


def train_with_folds(
    component: TextCatGraft, examples: list[Example], options: dict[str, Any], progress: Progress
) -> None:
    """Train on all documents; a path to the point, refit and temperature that cross-validation chooses."""
    splits = splits_of(examples, folds(examples)) if isinstance(component.learner, GraftingPath) else []
    chosen = cross_validated(component, splits, options, progress) if splits else None
    train_like(component, examples, options, progress, chosen)


def train_like(
    component: TextCatGraft,
    examples: list[Example],
    options: dict[str, Any],
    progress: Progress,
    chosen: Report | None,
    also: ExtractedCorpus | None = None,
) -> None:
    """Train on all documents; a path to the point, refit and temperature of a report, if one is given."""
    like = unjudged(component) if chosen is None else chosen
    path = training_steps(component, examples, options, progress, "all documents: ", like, final=True, also=also)
    for model in path:
        last = model
        # A path that has ended before looks for unstable features in its next step, and here they are looked for below.
        if chosen is not None and (model.report.finished or model.report.points >= chosen.points):
            break
    training = component.training
    assert training is not None
    if chosen is not None:
        last = training.refitted(chosen)
        last.report.log_loss = chosen.log_loss
        training.reports[-1:] = [last.report]
    component.set_snapshot(*last)


def unjudged(component: TextCatGraft) -> Report:
    """The report of a training without held-out documents: word vectors, if there are some, are used."""
    has_vectors = vectors_block(component.blocks) is not None and first_strengths(component.learner)
    return Report(vectors_ridge=component.learner.vectors_ridge if has_vectors else None)


class Split(NamedTuple):
    """Documents of a fold, and those that are held out of it.

    Attributes
    ----------
    kept, held_out : list of Example
    also : ExtractedCorpus, optional
        Documents that are trained on besides those that are kept.
    """

    kept: list[Example]
    held_out: list[Example]
    also: ExtractedCorpus | None = None


def splits_of(examples: list[Example], fold_of: np.ndarray) -> list[Split]:
    """As many folds as hold out enough documents; none where there are too few to choose anything by."""
    return [
        Split([examples[i] for i in kept.tolist()], [examples[i] for i in part.tolist()])
        for kept, part in rows_of_splits(fold_of)
    ]


def cross_validated(
    component: TextCatGraft, splits: list[Split], options: dict[str, Any], progress: Progress, name: str = ""
) -> Report:
    """The point of a path that held-out documents choose, with its refit and temperature."""
    learner, n_folds, tempered = component.learner, len(splits), options.get("network") is not None
    with warnings.catch_warnings():
        # All documents of a rare label can be held out. If it has none in the whole corpus, the last training warns.
        ignore_rare_labels()
        # The same holds for a fold whose model has no features.
        warnings.filterwarnings("ignore", message="The trained model has no features", category=UserWarning)
        # And for a fold without a name that the constraints have.
        warnings.filterwarnings("ignore", message="Constraints: No feature", category=UserWarning)
        paths = []
        for fold, (kept, part, also) in enumerate(splits, start=1):
            title = f"{name}fold {fold} of {n_folds}: "
            path = training_steps(component, kept, options, progress, title, also=also)
            scored = scored_steps(component, path, held_out_of(component, part), tempered, alone=n_folds == 1)
            paths.append(points_of_fold(scored))
        held_out = held_out_of(component, [example for split in splits for example in split.held_out])
        chosen, losses = chosen_of_folds(learner, held_out, paths, tempered)
        chosen = with_best_strengths(component, chosen, losses, splits, held_out, options)
        return without_needless_blocks(component, chosen, splits, held_out, options)


def scored_steps(
    component: TextCatGraft, path: Iterable[Model], held_out: HeldOut, tempered: bool, alone: bool
) -> Iterator[tuple[FoldPoint, float]]:
    """The points of a path, with the scores of held-out documents and the log-loss of the best refit.

    ``tempered`` is that of :func:`~spacy_graft.held_out.judged`, ``alone`` that of
    :func:`~spacy_graft.held_out.scored_points`.
    """
    for model in path:
        assert component.training is not None
        trial = trials_of(path_of(component.training), model.snapshot, held_out)
        trials = [trial(strength) for strength in refit_grid(component.learner)]
        scores = np.array([trial.scores for trial in trials])
        point = FoldPoint(scores, model.report.n_active)
        if alone:
            point = judged_point(point, component.learner, held_out, tempered)
        yield point, min(trial.log_loss for trial in trials)


def with_best_strengths(
    component: TextCatGraft,
    chosen: Report,
    least: np.ndarray,
    splits: list[Split],
    held_out: HeldOut,
    options: dict[str, Any],
) -> Report:
    """The chosen point with the strengths that are the best ones for the held-out documents of all folds.

    Parameters
    ----------
    component : TextCatGraft
    chosen : Report
    least : float64 (n_documents)
        The losses of the held-out documents at this point.
    splits : list of Split
    held_out : HeldOut
        The documents of all splits.
    options : dict
        As of :func:`begun_training`.
    """
    has_vectors = vectors_block(component.blocks) is not None
    for option, strength in choices_of(component.learner, options.get("network") is not None, has_vectors):
        like = chosen.with_strengths({option: strength})
        report, losses, is_allowed = judged_again(component, like, splits, held_out, options)
        if is_allowed and is_better_strength(option, strength, losses, chosen, least, held_out):
            chosen, least = report, losses
    return chosen


def without_needless_blocks(
    component: TextCatGraft, chosen: Report, splits: list[Split], held_out: HeldOut, options: dict[str, Any]
) -> Report:
    """The chosen point without the optional blocks that the held-out documents of all folds do not need.

    Parameters are those of :func:`with_best_strengths`, but for ``least``.
    """

    def is_needless(blocks: tuple[str, ...]) -> bool:
        nonlocal chosen
        like = replace(chosen, left_out=list(blocks))
        report, _, is_allowed = judged_again(component, like, splits, held_out, options)
        if loss_of(report) > loss_of(chosen) or not is_allowed:
            return False
        chosen = report
        return True

    leave_out(component.learner.optional_blocks, component.blocks, is_needless)
    return chosen


def judged_again(
    component: TextCatGraft, like: Report, splits: list[Split], held_out: HeldOut, options: dict[str, Any]
) -> tuple[Report, np.ndarray, bool]:
    """The point of a report with its blocks and strengths in all folds, losses, and whether it is small enough."""
    grid = refit_grid(component.learner)
    scores, sizes = [], []
    for kept, part, also in splits:
        training = begun_training(component, kept, options, like, also=also)
        fit = training.path_to(like)
        trial_of = trials_of(fit, training.named(fit.solution()), held_out_of(component, part))
        scores.append(np.array([trial_of(strength).scores for strength in grid]))
        sizes.append(fit.report.n_active)
    tempered = options.get("network") is not None and like.network_alpha != 0.0
    report, losses = judged(np.concatenate(scores, axis=1), grid, held_out, tempered)
    report = replace(report, points=like.points, left_out=list(like.left_out)).with_strengths(like.strengths)
    return report, losses, is_small(float(np.mean(sizes)), component.learner.parsimony)


def loss_of(report: Report) -> float:
    """The log-loss that held-out documents have given."""
    assert report.log_loss is not None
    return report.log_loss


def path_of(training: Training) -> PointFit:
    """Return the fit of a training by :class:`GraftingPath`, typed as such."""
    return cast("PointFit", training.fit)


def folds(examples: Sequence[Example], n_folds: int = N_FOLDS) -> np.ndarray:
    """The fold of each document (see :func:`.held_out.numbers_of_folds`): int64 (n_documents)."""
    texts = [hash(document_text(example.reference)) for example in examples]
    return numbers_of_folds((positive_labels(example.reference) for example in examples), texts, n_folds)
