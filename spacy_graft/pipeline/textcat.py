"""The components."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast
from weakref import WeakSet

import numpy as np
from spacy.errors import Errors
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example, validate_examples
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer

from ..explain.explanation import Explanation, explain_document
from ..explain.features import Feature, features_of
from ..extract.blocks import Block
from ..graft.report import Report
from ..graft.solution import Solution
from ..messages import did_you_mean, listed
from ..metrics import clipped_log, logistic, softmax
from ..model.sparse_linear import parameters, set_solution
from . import history
from .corpus import ExtractedCorpus
from .targets import TargetReader
from .training import Examples, Training, annotated

if TYPE_CHECKING:
    from thinc.types import Floats2d

    from .network import NetworkSource

#: The attributes of the model that keep the report and the history.
REPORT, HISTORY = "report", "history"
#: The components of this process: what knows a document's vocab, and so can explain it.
LIVE: WeakSet[TextCatGraft] = WeakSet()


class TextCatGraft(TrainablePipe):
    """Text classifier of mutually exclusive labels: multinomial logistic regression over a few named features.

    A training step is one step of the learner on the whole corpus, not on the batch: a grafting round, or a point of
    the path of C. Batches only say which documents there are.

    Parameters
    ----------
    vocab : Vocab
    model : Model
        A ``spacy_graft.SparseLinear.v1`` over the same blocks.
    name : str
    blocks : mapping of str to block
        The feature blocks, by name.
    learner : Grafting, GraftingPath, CoordinateAscent, or settings of another package's
    threshold : float
        From which probability on the scorer takes a label for predicted; exclusive labels have no use for it.
    scorer : callable, optional

    Attributes
    ----------
    training : Training, optional
        Corpus and fit, while it is trained. Assign None to let go of their memory.
    report : Report, optional
        How training stood when the weights were made; None if they were not trained. It is saved, but for the seconds,
        which would make no two files alike.
    """

    exclusive: ClassVar[bool] = True

    def __init__(
        self,
        vocab: Vocab,
        model: Model[list[Doc], np.ndarray],
        name: str = "textcat_graft",
        *,
        blocks: Mapping[str, Block],
        learner: Any,
        threshold: float,
        scorer: Callable[..., dict[str, Any]] | None,
    ) -> None:
        self.vocab = vocab
        self.model = model
        self.name = name
        self.blocks = dict(blocks)
        self.learner = learner
        self.cfg: dict[str, Any] = {"labels": [], "threshold": threshold}
        self.scorer = scorer
        LIVE.add(self)
        self.training: Training | None = None
        self.report: Report | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.cfg["labels"])

    @property
    def label_data(self) -> tuple[str, ...]:
        """What ``init labels`` saves, and ``initialize`` takes as ``labels``."""
        return self.labels

    def add_label(self, label: str) -> int:
        """Add a label, before the component is initialized.

        Returns
        -------
        int
            0 if the component has the label already, else 1.
        """
        if label in self.labels:
            return 0
        if self.is_initialized:
            raise ValueError(
                f"[{self.name}] The label {label!r} cannot be added to a component that is initialized. Initialize it "
                f"again, with examples of all labels or with [initialize.components.{self.name}] labels. Its labels: "
                f"{listed(self.labels)}."
            )
        self._append_label(label)
        return 1

    def _append_label(self, label: str) -> None:
        if not isinstance(label, str):
            raise ValueError(Errors.E187)
        self.cfg["labels"].append(label)
        self.vocab.strings.add(label)

    @property
    def is_initialized(self) -> bool:
        """Whether the model has weights, if only for the intercepts."""
        return bool(self.model.has_param("b"))

    def initialize(
        self,
        get_examples: Callable[[], Examples],
        *,
        nlp: Language | None = None,
        labels: Iterable[str] | None = None,
        # spaCy validates arguments by their annotations, of which it knows only what it imports itself.
        network: Callable[..., Any] | None = None,
        network_max_length: int = 1,
        unlabelled: Callable[..., Any] | None = None,
    ) -> None:
        """Set the labels and remember where the corpus is; it is read at the first update.

        Parameters
        ----------
        get_examples : callable
            The training corpus, or a part of it where it is streamed.
        nlp : Language, optional
        labels : iterable of str, optional
            As ``init labels`` saves them; without them they come from the examples.
        network : callable, optional
            Which features are expected to have like weights, and which opposite ones: one of ``@graft_networks``. It
            is called when training begins, with the corpus's features by name.
        network_max_length : int
            Longest n-gram that can be a vertex of the network, in tokens.
        unlabelled : callable, optional
            Gives more documents, from ``nlp``: one of ``@readers``. The builder of the network sees them, and features
            that only they have can be vertices, to which the network gives weights.
        """
        if not callable(get_examples):
            raise TypeError(Errors.E930.format(method=f"{type(self).__name__}.initialize", obj=type(get_examples)))
        added_by_hand = () if self.is_initialized else self.labels
        found = self._labels_of(get_examples) if labels is None else labels
        self.cfg["labels"] = []
        self.model.attrs[HISTORY] = []
        for label in dict.fromkeys([*added_by_hand, *found]):
            self._append_label(label)
        annotated_at_all = any(example.reference.cats for example in self._checked(get_examples()))
        self._check_labels()
        self._set_solution(empty_solution(len(self.labels)))
        source = get_examples if nlp is None else partial(annotated, get_examples, nlp, self)
        # Without any annotation it is no corpus: spaCy makes up a document where there are no examples (assemble).
        joined = None
        if network is not None:
            from .network import NetworkSource

            more = None if unlabelled is None else self._more(unlabelled, nlp)
            joined = NetworkSource(self.name, network, network_max_length, self.blocks, self.vocab.strings, more)
        elif unlabelled is not None:
            raise ValueError(
                f"[{self.name}] Documents without labels are for a network, and there is none "
                f"([initialize.components.{self.name}] network)."
            )
        self.training = self._new_training(source if annotated_at_all else None, joined)

    def _more(self, reader: Callable[..., Any], nlp: Language | None) -> Callable[[], Examples]:
        """The documents without labels, annotated as the others are."""
        if nlp is None:
            return partial(reader, None)
        return partial(annotated, partial(reader, nlp), nlp, self)

    def _labels_of(self, get_examples: Callable[[], Examples]) -> list[str]:
        """Labels in the order of their first appearance."""
        return list(
            dict.fromkeys(label for example in self._checked(get_examples()) for label in example.reference.cats)
        )

    def _checked(self, examples: Examples) -> Examples:
        """The examples; an error where there are none, or something else."""
        example = None
        for example in examples:
            validate_examples([example], f"{type(self).__name__}.initialize")
            yield example
        if example is None:
            raise ValueError(f"[{self.name}] There are no examples to initialize with: is the training corpus empty?")

    def _check_labels(self) -> None:
        if len(self.labels) < 2:
            raise ValueError(
                f"[{self.name}] Labels that exclude each other must be two at least; the examples have "
                f"{listed(self.labels)}. Annotate doc.cats with all labels, list them in "
                f"[initialize.components.{self.name}] labels, or use textcat_graft_multilabel for a single label."
            )

    def _new_training(
        self, source: Callable[[], Examples] | None = None, network: NetworkSource | None = None
    ) -> Training:
        reader = TargetReader(self.name, self.labels, self.exclusive)
        return Training(ExtractedCorpus(self.blocks, reader), self.learner, source, network)

    def update(
        self,
        examples: Examples,
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Note examples that are not in the corpus, and the loss.

        Parameters
        ----------
        examples : iterable of Example
        drop : float
            Without effect: nothing here is random.
        sgd : Optimizer, optional
            Without effect, but if it is given, :meth:`finish_update` follows.
        losses : dict of str to float, optional
            Gets the objective a document under the component's name.
        """
        losses = {} if losses is None else losses
        examples = list(examples)
        validate_examples(examples, f"{type(self).__name__}.update")
        self.require_initialized()
        if self.training is None:
            self.training = self._resumed_training()
        self.training.add_examples(examples)
        fit = self.training.fit
        losses[self.name] = self._batch_loss(examples) if fit is None else self.training.loss(fit)
        self.training.losses = losses
        if sgd:
            self.finish_update(sgd)
        return losses

    def _resumed_training(self) -> Training:
        if self.model.attrs["features"].n_features:
            warnings.warn(
                f"[{self.name}] The documents that this component was trained on are not kept with it. Training begins "
                f"again with those that update gets; the present model is replaced.",
                stacklevel=3,
            )
        return self._new_training()

    def finish_update(self, sgd: Optimizer | None = None) -> None:
        """One step of the learner on the whole corpus; nothing once it has finished.

        Parameters
        ----------
        sgd : Optimizer, optional
            Without effect.
        """
        if self.training is None:
            return
        fit = self.training.step()
        if fit is not None:
            self.set_solution(fit.solution(), fit.report)
            self.record(self.training.reports)
            self.training.losses[self.name] = self.training.loss(fit)

    def set_solution(self, solution: Solution, report: Report) -> None:
        """Make what a fit has found the component's own."""
        self._set_solution(solution)
        self.report = report.copy()
        self.model.attrs[REPORT] = {**asdict(report), "seconds": {}}

    def _set_solution(self, solution: Solution) -> None:
        set_solution(self.model, solution, self.vocab.strings)
        self.model.attrs[REPORT] = None
        self.report = None

    @property
    def history(self) -> list[dict[str, Any]]:
        """The steps of training, in their order; empty if it was not trained. It is saved with the model.

        Of each step ``step`` (from 1), ``l1``, ``l1_ratio``, ``n_active``, ``objective``, ``gap`` (relative) and
        ``refit`` are those of its :class:`~spacy_graft.graft.report.Report`. ``score`` is the ``cats_score`` of its
        first evaluation, or None if there was none.
        """
        return history.restored(self.model.attrs.get(HISTORY))

    def record(self, reports: Sequence[Report]) -> None:
        """Make what a fit reported after each of its steps the history; steps that it had already keep their scores."""
        self.model.attrs[HISTORY] = history.continued(self.history, reports)

    def score(self, examples: Examples, **kwargs: Any) -> dict[str, Any]:
        """What the scorer finds; while the component is trained, ``cats_score`` also enters the history.

        The first score of a step counts: in ``spacy train``, that on dev.
        """
        scores: dict[str, Any] = super().score(examples, **kwargs)
        steps, score = self.history, scores.get("cats_score")
        if self.training is not None and score is not None and steps and steps[-1]["score"] is None:
            steps[-1]["score"] = float(score)
            self.model.attrs[HISTORY] = steps
        return scores

    def divide_scores(self, divisor: float) -> None:
        """Divide weights and intercepts, and with them all scores and contributions."""
        for name, values in zip(("W", "b"), parameters(self.model), strict=True):
            self.model.set_param(name, cast("Floats2d", values / divisor))

    def predicted(self, doc: Doc) -> list[str]:
        """The label that is most probable for a document; of several ones, those that reach their thresholds.

        Parameters
        ----------
        doc : Doc
            With the annotation that the blocks need; it need not have been through the component.
        """
        return [self.labels[self.predict([doc])[0].argmax()]]

    def predict(self, docs: Iterable[Doc]) -> np.ndarray:
        """Probabilities.

        Returns
        -------
        float64 (documents, labels)
        """
        self.require_initialized()
        return self._probabilities(self.model.predict(list(docs)))

    def require_initialized(self) -> None:
        """Raise a ValueError if the component has no weights."""
        if not self.is_initialized:
            raise ValueError(
                f"[{self.name}] The component has no weights yet. Train it, with spacy train or spacy_graft.fit, or "
                f"load a trained pipeline."
            )

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        return softmax(scores)

    def set_annotations(self, docs: Iterable[Doc], scores: np.ndarray) -> None:
        """Write probabilities into ``doc.cats``."""
        labels = self.labels
        for doc, row in zip(docs, scores.tolist(), strict=True):
            doc.cats.update(zip(labels, row, strict=True))

    def get_loss(self, examples: Examples, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Mean log-loss a document of probabilities, and its gradient over linear scores, times documents.

        Parameters
        ----------
        examples : iterable of Example
        scores : float64 (documents, labels)
            As :meth:`predict` gives them.
        """
        reader = TargetReader(self.name, self.labels, self.exclusive)
        targets = [reader.read(example.reference) for example in examples]
        values = np.array([target.values for target in targets])
        weights = np.array([target.known * target.weight for target in targets])
        loss = float((weights * self._log_losses(values, scores)).sum() / len(targets))
        return loss, weights * (scores - values)

    def _log_losses(self, targets: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
        """Σ over labels is the loss of a document."""
        return -targets * clipped_log(probabilities)

    def _batch_loss(self, examples: list[Example]) -> float:
        if not examples:
            return 0.0
        return self.get_loss(examples, self.predict(example.predicted for example in examples))[0]

    def rehearse(self, examples: Examples, **kwargs: Any) -> dict[str, float]:
        """Refuse: rehearsal nudges weights by gradients, which an exact optimum has no use for."""
        raise NotImplementedError(
            f"[{self.name}] Rehearsal is for components trained by gradient descent. Leave this one out, with "
            f"nlp.rehearse(..., exclude=[{self.name!r}]), and train it on old and new examples together."
        )

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> TextCatGraft:
        super().from_bytes(bytes_data, exclude=exclude)
        return self._loaded()

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> TextCatGraft:
        super().from_disk(path, exclude=exclude)
        return self._loaded()

    def _loaded(self) -> TextCatGraft:
        """Forget what belonged to the weights of before, and check that labels and weights belong together."""
        self.training = None
        self.report = restored(self.model.attrs.get(REPORT))
        if self.is_initialized:
            n_weights = len(self.model.get_param("b"))
            if n_weights != len(self.labels):
                raise ValueError(
                    f"[{self.name}] The model has weights for {n_weights} labels, and the component {len(self.labels)} "
                    f"labels: {listed(self.labels)}. The files are not of one model."
                )
        return self

    def features(self) -> list[Feature]:
        """The features of the model, in the order of its weights."""
        return features_of(self.model.attrs["features"], parameters(self.model)[0], self.blocks, self.labels)

    def explain(self, doc: Doc, label: str | None = None) -> Explanation:
        """Take the scores of a document apart.

        Parameters
        ----------
        doc : Doc
            With the annotation that the blocks need; it need not have been through the component.
        label : str, optional
            The only label to explain; by default all of them.

        Returns
        -------
        Explanation
            For each label the intercept and what each matched feature contributes: they sum to the score.
        """
        chosen = self.chosen_labels(label)
        return explain_document(
            self.model, doc, self.predict([doc])[0], {each: self.labels.index(each) for each in chosen}
        )

    def chosen_labels(self, label: str | None) -> tuple[str, ...]:
        """One label, or all if it is None; a ValueError if there is no such label or the component has no weights."""
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
    """The same with one independent logistic regression a label; labels missing from ``cats`` are masked.

    ``cfg["thresholds"]`` has those of labels for which ``cfg["threshold"]`` does not stand. They belong to the weights
    and go with them.
    """

    exclusive: ClassVar[bool] = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cfg["thresholds"] = {}

    @property
    def thresholds(self) -> dict[str, float]:
        """From which probability on each label is predicted."""
        return {label: self.cfg["thresholds"].get(label, self.cfg["threshold"]) for label in self.labels}

    def predicted(self, doc: Doc) -> list[str]:
        probabilities = self.predict([doc])[0].tolist()
        return [label for (label, least), p in zip(self.thresholds.items(), probabilities, strict=True) if p >= least]

    def divide_scores(self, divisor: float) -> None:
        super().divide_scores(divisor)
        self.cfg["thresholds"] = {}

    def _set_solution(self, solution: Solution) -> None:
        super()._set_solution(solution)
        self.cfg["thresholds"] = {}

    def _loaded(self) -> TextCatGraft:
        check_thresholds(self.name, self.cfg["thresholds"], self.labels)
        return super()._loaded()

    def _check_labels(self) -> None:
        self._require_labels()

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        return logistic(scores)

    def _log_losses(self, targets: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
        return -targets * clipped_log(probabilities) - (1.0 - targets) * clipped_log(1.0 - probabilities)


def restored(saved: Any) -> Report | None:
    """The report from the attributes of a loaded model; what this version does not know is passed over."""
    if not isinstance(saved, dict):
        return None
    return Report(**{field.name: saved[field.name] for field in fields(Report) if field.name in saved})


def check_thresholds(name: str, thresholds: Any, labels: tuple[str, ...]) -> None:
    """Raise a ValueError if these are no thresholds of these labels."""
    if not isinstance(thresholds, dict):
        raise ValueError(f"[{name}] The thresholds of labels are {thresholds!r}, and no numbers by label.")
    for label, threshold in thresholds.items():
        if label not in labels:
            raise ValueError(
                f"[{name}] There is a threshold for {label!r}, which is no label. The labels: {listed(labels)}."
            )
        number = isinstance(threshold, int | float) and not isinstance(threshold, bool)
        if not (number and 0.0 <= threshold <= 1.0):
            raise ValueError(
                f"[{name}] The threshold of {label!r} is {threshold!r}, but it must be a number from 0 to 1."
            )


def empty_solution(n_labels: int) -> Solution:
    """No features, and all labels alike."""
    return Solution([], [], [], np.zeros(0, np.int32), np.zeros((0, n_labels)), np.zeros(n_labels), 0.0)
