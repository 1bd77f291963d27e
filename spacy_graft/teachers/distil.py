"""``spacy_graft.distil``: training on labelled texts and on what a teacher says of texts without labels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.language import Language
from spacy.training import Example
from spacy.util import minibatch

from .. import metrics
from ..digests import text_key
from ..extract.unread import document_text
from ..graft.settings import GraftingPath
from ..held_out import MIN_HELD_OUT, rows_of_splits
from ..messages import warn
from ..model.sparse_linear import snapshot_of
from ..options import LARGEST_STRENGTH, can_be_path, is_count, is_strength
from ..pipeline.annotation import annotated_before, documents_before, words_added
from ..pipeline.card import add_card
from ..pipeline.choice import loss_of
from ..pipeline.components import graft_component
from ..pipeline.corpus import ExtractedCorpus, Pair
from ..pipeline.fit import (
    begun_training,
    settings_of_labels,
    train_like,
    training_examples,
)
from ..pipeline.folds import Split, cross_validated, splits_of
from ..pipeline.labelled import LabelledDocuments, document_of
from ..pipeline.notes import forget_model
from ..pipeline.progress import progress_bar
from ..pipeline.textcat import TextCatGraft
from ..pipeline.undoing import unchanged_after_error
from ..threads import limited_threads
from .encoder import Encoder, EncoderTeacher
from .probabilities import SavedTeacher
from .report import DistilReport, Fidelity, TextToLabel, WeightTrial
from .store import Store, text_name
from .teacher import Cats, FileTeacher, Gold, Head, Labels, Teacher, function_teacher, pipeline_teacher

if TYPE_CHECKING:
    from rich.progress import Progress

    from ..pipeline.training import Training

#: What can be a teacher.
AnyTeacher = Language | Encoder | str | Path | SavedTeacher | Callable[[Sequence[str]], Iterable[Cats]]
#: Example weights of a text without labels that are tried, besides 0.
WEIGHTS = (0.1, 1.0)
#: Cross-validation holds out one of so many parts of the labelled texts at a time, until enough have been held out.
N_GOLD_FOLDS, ENOUGH_GOLD = 5, 500
#: Texts that the teacher is given at once, and whose rows are stored together.
TEXTS_AT_ONCE = 256
#: Texts whose probabilities are computed from rows at once.
ROWS_AT_ONCE = 4096
#: One in so many texts without labels is held out to measure fidelity, and so many at the most.
FIDELITY_PART, MOST_HELD_OUT = 10, 1000


def distil(
    nlp: Language,
    examples: LabelledDocuments,
    texts: Iterable[str],
    teacher: AnyTeacher,
    *,
    component: str | None = None,
    store: str | Path | None = None,
    weights: Sequence[float] = WEIGHTS,
    n_to_label: int = 100,
    options: Mapping[str, Any] | None = None,
) -> DistilReport:
    """Train the graft component of a pipeline on labelled texts and on what a teacher says of texts without labels.

    The teacher's probabilities are the targets of the texts without labels. Their example weight is chosen by
    cross-validation over the labelled texts; it is 0 where they do not help. The component must have the learner
    ``GraftingPath``, of which the folds also choose point, refit and temperature, as in :func:`fit`.

    Parameters
    ----------
    nlp : Language
        A pipeline with an enabled ``textcat_graft`` or ``textcat_graft_multilabel``. The components before it annotate
        the documents; they must be trained.
    examples : iterable of Example, or of (text, labels)
        The labelled texts, annotated in ``doc.cats``, at least ten.
    texts : iterable of str
        The texts without labels. They are read several times; an iterator is turned into a list.
    teacher : Language, OnnxEncoder, str, Path or callable
        A pipeline that sets ``doc.cats``; a sentence encoder, over whose vectors logistic regression is fitted on the
        labelled texts; the path of a file with the probabilities of the texts; or a function that takes a list of texts
        and returns for each the probabilities of all labels, ``{label: number}``.
    component : str, optional
        Name of the graft component; needed if there are several.
    store : str or Path, optional
        A file for what the teacher computes. A run that was interrupted goes on where it was, and one with more texts,
        or other labelled texts for an encoder, does not compute again what is there.
    weights : sequence of float
        The example weights to try besides 0.
    n_to_label : int
        How many texts to name that should be labelled next.
    options : dict, optional
        Further arguments of the component's ``initialize``: ``network``, ``checkpoints`` and the like. ``labels`` and
        ``positive_label`` of the config hold here too, as in :func:`fit`.

    Returns
    -------
    DistilReport

    Raises
    ------
    ValueError
        If there are too few texts, an annotation or a probability is invalid, the teacher has other labels, the store
        is of another teacher or other texts, or the component has another learner.
    """
    graft = graft_component(nlp, component)
    check_arguments(nlp, graft, teacher, weights, n_to_label, store)
    if isinstance(texts, str):
        raise ValueError(f"A list of texts without labels is expected, not the string {texts[:40]!r}.")
    texts = list(texts) if isinstance(texts, Iterator) else texts
    graft.vocab = nlp.vocab
    of_labels = settings_of_labels(nlp, graft)
    given = training_examples(nlp, graft, examples, to_come=of_labels.get("labels", ()))
    labelled = list(annotated_before(nlp, graft, given))
    with unchanged_after_error(graft), limited_threads("blas"), progress_bar(graft.name) as progress:
        graft.initialize(lambda: labelled, **{**of_labels, **(options or {})})
        training = begun_training(graft, progress)
        gold, splits = gold_of(training, labelled)
        pool = Pool.of(texts, gold.texts)
        texts = KnownTexts(texts, pool.keys)
        source = as_teacher(teacher, Labels(graft.labels, graft.exclusive))
        if store is not None and callable(teacher) and not source.is_stored:
            warn(
                f"What the teacher {source.name} says is not stored: its source is not known, or it holds values that "
                f"have no digest, so that another one could not be told from it. Use a function of a module."
            )
        file = None if store is None else Path(store)
        soft = SoftLabels(source, texts, len(pool.keys), gold, file, progress)
        taught, held_out = (
            read_pool(nlp, graft, texts, numbers, soft.of_all, progress) for numbers in (pool.taught, pool.held_out)
        )
        trials = {
            weight: cross_validated(
                training, with_soft_labels(splits, taught, soft, pool, weight), f"weight {weight:g}, "
            )
            for weight in sorted({0.0, *map(float, weights)})
        }
        splits.clear()  # frees their memory before the last training
        chosen = min(trials, key=lambda weight: loss_of(trials[weight].report))
        if chosen:
            training.corpus = training.corpus.followed_by(taught.with_targets(soft.of_all[pool.taught], chosen))
        train_like(graft, training, trials[chosen])
        graft.end_training()
    forget_model(nlp, graft.name)
    add_card(nlp)
    assert graft.report is not None
    students = Students(pool, soft.of_all, probabilities_of(graft, taught), probabilities_of(graft, held_out))
    return DistilReport(
        teacher=source.name,
        n_labelled=len(labelled),
        n_taught=len(pool.taught),
        weight=chosen,
        trials=[WeightTrial(weight, loss_of(trial.report)) for weight, trial in trials.items()],
        fidelity=students.fidelity(graft),
        student=graft.report,
        to_label=students.least_sure(texts, graft, n_to_label),
    )


def with_soft_labels(
    splits: list[Split], taught: ExtractedCorpus, soft: SoftLabels, pool: Pool, weight: float
) -> list[Split]:
    """The splits of the labelled texts, each with the texts that the teacher labels without knowing its fold."""
    if not weight:
        return splits
    return [
        replace(split, also=taught.with_targets(soft.of_fold(fold)[pool.taught], weight))
        for fold, split in enumerate(splits)
    ]


def check_arguments(
    nlp: Language, component: TextCatGraft, teacher: AnyTeacher, weights: Any, n_to_label: int, store: Any
) -> None:
    """Raise a ValueError for what cannot be distilled."""
    if not isinstance(component.learner, GraftingPath):
        raise ValueError(
            f"[{component.name}] The weight of soft labels is chosen along the path of GraftingPath, but the learner "
            f"is {type(component.learner).__name__}."
        )
    if teacher is nlp:
        raise ValueError("The teacher and the student are the same pipeline. Train a new one, such as spacy.blank().")
    if not isinstance(weights, Collection) or not all(is_strength(weight) or weight == 0.0 for weight in weights):
        raise ValueError(
            f"The weights of soft labels must be a list of numbers from 0 to {LARGEST_STRENGTH:g}, but are {weights!r}."
        )
    if not is_count(n_to_label, least=0):
        raise ValueError(f"n_to_label must be an integer of at least 0, but is {n_to_label!r}.")
    if store is not None and (not can_be_path(store) or Path(store).is_dir()):
        raise ValueError(f"store must be the path of a file, but is {store!r}.")


def gold_of(training: Training, labelled: list[Example]) -> tuple[Gold, list[Split]]:
    """The labelled texts for a teacher, and for the student; a ValueError if there are too few."""
    fold_of, targets = training.corpus.folds(N_GOLD_FOLDS), training.corpus.documents().targets
    splits = splits_of(training, rows_of_splits(fold_of, targets.values, ENOUGH_GOLD))
    if not splits:
        raise ValueError(
            f"[{training.corpus.reader.component}] {np.count_nonzero(fold_of >= 0)} labelled texts are too few to "
            f"choose the weight of soft labels by: there must be at least {MIN_HELD_OUT} of which a label is known "
            f"that others have too."
        )
    return Gold([document_text(example.reference) for example in labelled], targets, fold_of, len(splits)), splits


def as_teacher(teacher: AnyTeacher, labels: Labels) -> Teacher:
    """The teacher that an argument of :func:`distil` means."""
    if isinstance(teacher, str | Path):
        teacher = SavedTeacher(Path(teacher))
    if isinstance(teacher, SavedTeacher):
        if teacher.path.is_dir():
            raise ValueError(f"The teacher {teacher.path} is a folder. Load a pipeline first: spacy.load(...).")
        return FileTeacher(teacher, labels)
    if isinstance(teacher, Language):
        return pipeline_teacher(teacher, labels)
    if isinstance(teacher, Encoder):
        return EncoderTeacher(teacher, labels.exclusive)
    if callable(teacher):
        return function_teacher(teacher, labels)
    raise ValueError(
        f"A teacher is a pipeline, an encoder, a function or the path of a file, not {type(teacher).__name__}."
    )


@dataclass(frozen=True)
class Pool:
    """The texts without labels, by number.

    Attributes
    ----------
    keys : uint64 (n_texts)
        Of all texts: equal texts have the same.
    blank : bool (n_texts)
        Which of them are empty, or white space.
    taught : int64
        Those that the student learns from.
    held_out : int64
        Different texts, none of which the student learns from.
    """

    keys: np.ndarray
    blank: np.ndarray
    taught: np.ndarray
    held_out: np.ndarray

    @classmethod
    def of(cls, texts: Iterable[str], labelled: Iterable[str]) -> Pool:
        """Divide the texts; labelled ones among them are left out.

        Which texts are held out follows from the texts alone, not from their order.
        """
        found = ((text_key(text), not text.strip()) for text in checked_texts(texts))
        read = np.fromiter(found, [("key", np.uint64), ("blank", np.bool_)])
        keys = read["key"]
        left_out = np.isin(keys, np.fromiter(map(text_key, labelled), np.uint64))
        candidates = np.flatnonzero(~left_out)
        # By ascending key.
        first = candidates[np.unique(keys[candidates], return_index=True)[1]]
        if len(first) < 2:
            raise ValueError(
                f"Of {len(keys):,} texts without labels, {len(first)} are different and not labelled, but it takes at "
                f"least 2: one to learn from, and one on which student and teacher are compared. Give more texts."
            )
        n_held_out = min(-(-len(first) // FIDELITY_PART), MOST_HELD_OUT)
        held_out = np.sort(first[:n_held_out])
        taught = np.flatnonzero(~left_out & ~np.isin(keys, keys[held_out]))
        return cls(keys, read["blank"], taught, held_out)


def checked_texts(texts: Iterable[str]) -> Iterator[str]:
    """The texts; a ValueError if one is something else."""
    for number, text in enumerate(texts, 1):
        if not isinstance(text, str):
            raise ValueError(f"Text {number:,} without labels is of type {type(text).__name__}, and not a string.")
        yield text


@dataclass(frozen=True)
class KnownTexts:
    """Texts that are read again; in iteration, a ValueError if they are not those of the first time.

    Attributes
    ----------
    texts : iterable of str
    keys : uint64 (n_texts)
        Those that they had (:func:`.text_key`).
    """

    texts: Iterable[str]
    keys: np.ndarray

    def __iter__(self) -> Iterator[str]:
        number, n_known = 0, len(self.keys)
        for number, text in enumerate(self.texts, 1):
            if number > n_known:
                continue  # counted
            if text_key(text) != int(self.keys[number - 1]):
                raise ValueError(
                    f"{text_name(text, number)} of those without labels was another one when they were read before: "
                    f"they must be the same each time, in the same order."
                )
            yield str(text)  # spaCy refuses the strings of NumPy's arrays
        if number != n_known:
            raise ValueError(
                f"There were {n_known:,} texts without labels, but {number:,} when they were read again: they must "
                f"be the same each time."
            )


def teacher_rows(
    teacher: Teacher, texts: Iterable[str], n_texts: int, path: Path | None, progress: Progress
) -> np.ndarray:
    """What a teacher computes of all texts: float32 (n_texts, width), in a file if there is one."""
    task = progress.add_task(f"texts for the teacher {teacher.name}", total=n_texts)
    with ExitStack() as stack:
        store = None
        if path is not None and teacher.is_stored:
            store = stack.enter_context(Store(path, teacher.name, teacher.digest, teacher.width))
            store.require_number(n_texts)
        parts: list[np.ndarray] = []
        first = 0
        for batch in minibatch(texts, TEXTS_AT_ONCE):
            if store is None:
                parts.append(teacher.rows(batch, first))
            elif new := batch[len(store.known(batch, first)) :]:
                store.append(new, teacher.rows(new, first + len(batch) - len(new)))
            first += len(batch)
            progress.update(task, completed=first)
        if store is None:
            return np.concatenate(parts)
        store.require_own()
        return store.records()["row"]


class SoftLabels:
    """The probabilities of all texts without labels by a teacher, who may learn from the labelled ones.

    A store has the rows of the former.
    """

    def __init__(
        self, teacher: Teacher, texts: Iterable[str], n_texts: int, gold: Gold, store: Path | None, progress: Progress
    ) -> None:
        teacher.require_number(n_texts)
        self.rows = rows = teacher_rows(teacher, texts, n_texts, store, progress)
        of_gold = teacher_rows(teacher, gold.texts, len(gold.texts), None, progress) if teacher.learns else rows[:0]
        #: Of the folds, and of all labelled texts.
        self.heads = teacher.heads(gold, of_gold)

    @cached_property
    def of_all(self) -> np.ndarray:
        """By the teacher that knows all labelled texts: float64 (n_texts, n_labels)."""
        return self._of(self.heads[-1])

    def of_fold(self, fold: int) -> np.ndarray:
        """By the teacher that does not know those of a fold."""
        head = self.heads[fold]
        return self.of_all if head == self.heads[-1] else self._of(head)

    def _of(self, head: Head) -> np.ndarray:
        starts = range(0, len(self.rows), ROWS_AT_ONCE)
        return np.concatenate([head(self.rows[start : start + ROWS_AT_ONCE]) for start in starts])


def read_pool(
    nlp: Language,
    component: TextCatGraft,
    texts: Iterable[str],
    numbers: np.ndarray,
    soft: np.ndarray,
    progress: Progress,
) -> ExtractedCorpus:
    """The symbols of the texts with these numbers, ascending; their documents are not kept."""
    corpus = ExtractedCorpus(component.blocks, component.target_reader())
    is_wanted = np.zeros(len(soft), np.bool_)
    is_wanted[numbers] = True

    def pairs() -> Iterator[Pair]:
        numbered = enumerate(zip(texts, soft, strict=False), 1)
        for number, (text, row) in compress(numbered, is_wanted):
            doc = document_of(nlp.make_doc, text, f"Text {number:,} without labels")
            doc.cats = cats_of(component, row)
            yield Pair(doc, doc)

    read = progress.track(documents_before(nlp, component, pairs()), total=len(numbers), description="texts read")
    corpus.add(words_added(read, component.blocks, component.vocab))
    return corpus


def probabilities_of(component: TextCatGraft, corpus: ExtractedCorpus) -> np.ndarray:
    """The probabilities of documents by the component: float64 (n_documents, n_labels)."""
    read = corpus.streams(), corpus.lengths()
    scores = snapshot_of(component.model).scores_of_streams(*read, component.vocab.strings)
    return metrics.as_probabilities(scores, component.exclusive)


@dataclass(frozen=True)
class Students:
    """The probabilities of texts by the student, and by the teacher.

    Attributes
    ----------
    pool : Pool
    teacher : float64 (n_texts, n_labels)
    taught, held_out : float64 (texts of the pool, n_labels)
        By the student.
    """

    pool: Pool
    teacher: np.ndarray
    taught: np.ndarray
    held_out: np.ndarray

    def fidelity(self, component: TextCatGraft) -> Fidelity:
        """How often the student predicts what the teacher does."""
        mine, its = component.decisions(self.held_out), self.teacher[self.pool.held_out]
        # Thresholds of the student are of its own probabilities.
        its = component.decisions(its) if component.exclusive else its >= metrics.THRESHOLD
        n_agreed = int((mine == its).all(axis=1).sum())
        return Fidelity(n_agreed, len(mine), *metrics.clopper_pearson(n_agreed, len(mine)))

    def least_sure(self, texts: Iterable[str], component: TextCatGraft, n: int) -> list[TextToLabel]:
        """The different texts of the smallest margins of the student, but for empty ones."""
        numbers = np.concatenate([self.pool.taught, self.pool.held_out])
        probabilities = np.concatenate([self.taught, self.held_out])
        found = margins(probabilities, component.exclusive)
        order = np.lexsort([numbers, found])
        order = order[~self.pool.blank[numbers[order]]]
        # Of equal texts the first.
        _, first = np.unique(self.pool.keys[numbers[order]], return_index=True)
        chosen = order[np.sort(first)[:n]]
        wanted = dict(zip(numbers[chosen].tolist(), chosen.tolist(), strict=True))
        by_number = {
            number: TextToLabel(
                number + 1,
                text,
                float(found[wanted[number]]),
                cats_of(component, probabilities[wanted[number]]),
                cats_of(component, self.teacher[number]),
            )
            for number, text in enumerate(texts)
            if number in wanted
        }
        return [by_number[number] for number in wanted]


def margins(probabilities: np.ndarray, exclusive: bool) -> np.ndarray:
    """How sure predictions are: see :attr:`.report.TextToLabel.margin`."""
    if exclusive:
        ordered = np.sort(probabilities, axis=1)
        return np.asarray(ordered[:, -1] - ordered[:, -2])
    return np.asarray(np.abs(2.0 * probabilities - 1.0).min(axis=1))


def cats_of(component: TextCatGraft, row: np.ndarray) -> dict[str, float]:
    """Probabilities by label."""
    return dict(zip(component.labels, row.tolist(), strict=True))
