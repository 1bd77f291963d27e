"""Find likely label errors, by models that are trained without the example: ``label_errors``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..extract.blocks import is_vectors_block
from ..extract.unread import document_text
from ..graft.emptiness import NothingToLearnError, warnings_of_all_documents
from ..graft.settings import GraftingPath
from ..messages import one_line, warn
from ..metrics import LEAST_RIGHT, document_losses
from ..model.sparse_linear import SparseLinear
from ..options import is_count
from ..pipeline.annotation import annotated_before
from ..pipeline.components import graft_component
from ..pipeline.fit import begun_training
from ..pipeline.labelled import LabelledDocuments
from ..pipeline.progress import progress_bar
from ..pipeline.targets import is_complete, positive_labels
from ..pipeline.textcat import LIVE_COMPONENTS, TextCatGraft
from ..threads import limited_threads
from .corpus import example_name

#: Number of parts of the corpus, each of which is held out once. Finding errors does not take the best model.
N_HELD_OUT_FOLDS = 5
#: Settings of the short path of these models.
MAX_STEPS, L1_MIN_RATIO, MAX_FEATURES = 6, 0.01, 2000
#: Length of :attr:`LabelIssue.text`.
MAX_TEXT_LENGTH = 60


@dataclass(frozen=True)
class LabelIssue:
    """An example whose labels are likely wrong.

    Attributes
    ----------
    document : str
        Its id, or where it is in its file (``line 5``), or ``#`` and its number, from 1.
    labels : list of str
        Annotated labels, sorted.
    predicted : list of str
        Labels predicted by a model that was trained without the example.
    loss : float
        Log-loss of the annotated labels under that model, in nats; whatever the weight of the example is.
    text : str
        The beginning of the text, in one line.
    """

    document: str
    labels: list[str]
    predicted: list[str]
    loss: float
    text: str


def label_errors(
    nlp: Language,
    examples: LabelledDocuments,
    *,
    top: int = 10,
    component: str | None = None,
    names: Sequence[str] | None = None,
) -> list[LabelIssue]:
    """Find likely label errors: examples whose labels differ from those that models of the other examples predict.

    The examples are divided into five folds. Copies of a text are in the same fold, so that no wrong label is learned
    from a copy; a text of more than four examples is spread over all folds. Each fold is predicted by a model of the
    others, with the blocks of the component and a shorter path, without word vectors. Independent labels are predicted
    from 0.5, or the ``threshold`` of the component. The pipeline is not changed.

    Parameters
    ----------
    nlp : Language
        A pipeline with a graft component, trained or not. The components before it annotate the documents; they must be
        trained.
    examples : iterable of Example, or of (text, labels)
        At least two, annotated in ``doc.cats``. They are held in memory.
    top : int
        Largest number of examples to return.
    component : str, optional
        Name of the graft component; needed if there are several.
    names : sequence of str, optional
        Names of the examples; by default their ids, or where they are in their file, or their numbers from 1.

    Returns
    -------
    list of LabelIssue
        In descending order of the loss. Empty if all labels are predicted as they are annotated.

    Raises
    ------
    ValueError
        If the component is not found, there are fewer than two examples, or they cannot be trained on (see
        :func:`check_corpus`); if there is not one name for each, or ``top`` is no positive integer.

    Examples
    --------
    >>> for issue in label_errors(nlp, train):
    ...     print(issue.document, issue.labels, issue.predicted)
    """
    graft = graft_component(nlp, component)
    return component_label_errors(graft, list(annotated_before(nlp, graft, examples)), top, names)


def component_label_errors(
    component: TextCatGraft, examples: list[Example], top: int, names: Sequence[str] | None
) -> list[LabelIssue]:
    """Return the label errors for one component, of examples that have been annotated; see :func:`label_errors`."""
    if len(examples) < 2:
        raise ValueError(f"[{component.name}] Label errors are found with at least 2 examples, not {len(examples)}.")
    if names is not None and len(names) != len(examples):
        raise ValueError(
            f"[{component.name}] There are {len(examples)} examples, but {len(names)} names: give as many."
        )
    if not is_count(top):
        raise ValueError(f"[{component.name}] top must be an integer of at least 1, but is {top!r}.")
    copy = untrained_copy(component)
    labels = list(dict.fromkeys(label for example in examples for label in example.reference.cats))
    probabilities, judged = held_out_probabilities(copy, examples, labels)
    losses = unweighted_losses(copy, examples, probabilities)
    if names is None:
        names = [example_name(example, number) for number, example in enumerate(examples, start=1)]
    predicted = copy.labels_from(probabilities)
    worst = [
        i
        for i in np.argsort(-losses, kind="stable").tolist()
        if judged[i] and is_contradicted(copy, examples[i].reference, predicted[i])
    ]
    return [label_issue(examples[i], names[i], predicted[i], losses[i]) for i in worst[:top]]


def untrained_copy(component: TextCatGraft) -> TextCatGraft:
    """Return a component with the same settings, but without weights and word vectors and with a shorter path."""
    blocks = {name: block for name, block in component.blocks.items() if not is_vectors_block(block)}
    copy = type(component)(
        component.vocab,
        SparseLinear(blocks),
        component.name,
        blocks=blocks,
        learner=shortened(component.learner),
        threshold=component.cfg["threshold"],
        scorer=component.scorer,
    )
    # It must not be taken for that of a document.
    LIVE_COMPONENTS.pop(id(copy), None)
    return copy


def held_out_probabilities(
    component: TextCatGraft, examples: list[Example], labels: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities of each example by a model of the other folds, and which examples have some.

    float64 (examples, labels) and bool (examples).
    """
    component.initialize(lambda: examples, labels=labels)
    probabilities, judged, failed = np.zeros((len(examples), len(labels))), np.zeros(len(examples), np.bool_), None
    with limited_threads("blas"), progress_bar(component.name) as progress, warnings_of_all_documents():
        training = begun_training(component, progress)
        fold_of = training.corpus.folds(N_HELD_OUT_FOLDS)
        for fold in np.unique(fold_of[fold_of >= 0]).tolist():
            held_out = np.flatnonzero(fold_of == fold)
            of_fold = training.of(training.corpus.some(np.flatnonzero(fold_of != fold)))
            title = f"fold {fold + 1} of {N_HELD_OUT_FOLDS}: "
            try:
                *_, last = of_fold.shown(of_fold.models(), title)
            except NothingToLearnError as error:  # from what is left without the fold; all documents have more
                failed = error
                continue
            component.set_snapshot(*last)
            probabilities[held_out], judged[held_out] = component.predict(examples[i].predicted for i in held_out), True
    if failed is not None and not judged.any():
        raise failed
    if failed is not None:
        warn(
            f"[{component.name}] Label errors are looked for among {judged.sum():,} of {len(examples):,} examples. No "
            f"model can be trained without the others: {failed}"
        )
    return probabilities, judged


def unweighted_losses(component: TextCatGraft, examples: list[Example], probabilities: np.ndarray) -> np.ndarray:
    """The log-loss of each example, in nats: float64 (examples). A weight does not make a label more doubtful."""
    reader, losses = component.target_reader(), []
    # One by one, since arrays of all examples and labels can be large.
    for example, row in zip(examples, probabilities, strict=True):
        values, known, _ = reader.arrays_of([example])
        losses += document_losses(row[np.newaxis], values, known, exclusive=component.exclusive).tolist()
    return np.array(losses)


def shortened(learner: Any) -> Any:
    """Return the learner with a shorter path and nothing to choose; a learner without a path is returned unchanged."""
    if not isinstance(learner, GraftingPath):
        return learner
    return replace(
        learner,
        steps=min(learner.steps, MAX_STEPS),
        l1_min_ratio=max(learner.l1_min_ratio, L1_MIN_RATIO),
        max_features=min(learner.max_features or MAX_FEATURES, MAX_FEATURES),
        refit=learner.first_refit,
        network_choices=(),
        vectors_choices=(),
        optional_blocks=(),
    )


def is_contradicted(component: TextCatGraft, doc: Doc, predicted: list[str]) -> bool:
    """Whether the annotation of a document says something else than the prediction."""
    if component.exclusive:
        return doc.cats.get(predicted[0], 0.0) < max(doc.cats.values(), default=0.0)
    known = component.labels if is_complete(doc) else doc.cats
    return any((label in predicted) != (doc.cats.get(label, 0.0) >= LEAST_RIGHT) for label in known)


def label_issue(example: Example, name: str, predicted: list[str], loss: float) -> LabelIssue:
    """Describe one example."""
    text = one_line(document_text(example.reference)[: 2 * MAX_TEXT_LENGTH])[:MAX_TEXT_LENGTH]
    labels = sorted(positive_labels(example.reference.cats))
    return LabelIssue(name, labels, predicted, round(float(loss), 4), text)
