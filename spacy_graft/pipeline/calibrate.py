"""``spacy_graft.calibrate``: fits a temperature and thresholds on documents that were not trained on."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from itertools import compress
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.training import Example

from .. import metrics
from ..extract.unread import document_text
from ..held_out import PlainTargets
from ..messages import listed, warn
from ..model.sparse_linear import snapshot_of
from .annotation import annotated_before
from .card import add_card
from .components import graft_component
from .judging import warn_of_trained
from .labelled import LabelledDocuments
from .textcat import TextCatGraft, TextCatGraftMultilabel

#: With fewer positive documents, the threshold with the best F1 on them is a matter of luck (``docs/accuracy.md``).
FEWEST_POSITIVE = 50


@dataclass(frozen=True)
class Quality:
    """Metrics of predicted probabilities (see :mod:`spacy_graft.metrics`).

    Attributes
    ----------
    log_loss : float
        In nats.
    brier : float
    expected_calibration_error : float
        Over 10 bins of confidence.
    """

    log_loss: float
    brier: float
    expected_calibration_error: float

    @classmethod
    def of(cls, *arrays: np.ndarray, exclusive: bool) -> Quality:
        """The metrics of probabilities and targets; ``arrays`` are arguments as in :mod:`spacy_graft.metrics`."""
        return cls(
            metrics.log_loss(*arrays, exclusive=exclusive),
            metrics.brier(*arrays, exclusive=exclusive),
            metrics.expected_calibration_error(metrics.reliability(*arrays, exclusive=exclusive)),
        )


@dataclass(frozen=True)
class Calibration:
    """The result of :func:`calibrate`.

    Attributes
    ----------
    temperature : float
        The number by which weights and intercepts were divided; 1 if they are unchanged.
    thresholds : dict of str to float
        Those of all labels; none if labels exclude each other.
    before, after : Quality
        Metrics on the given examples, before and after calibration.
    """

    temperature: float
    thresholds: dict[str, float]
    before: Quality
    after: Quality

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self)


def calibrate(
    nlp: Language, examples: LabelledDocuments, *, temperature: bool = True, thresholds: bool = True
) -> Calibration:
    """Calibrate the trained graft component of a pipeline, in place.

    Parameters
    ----------
    nlp : Language
        A pipeline with one enabled ``textcat_graft`` or ``textcat_graft_multilabel``. The components before it annotate
        the documents.
    examples : iterable of Example, or of (text, labels)
        Documents with ``doc.cats`` that were not trained on. Dev is such a set only under ``retrain = false``.
    temperature : bool
        Whether to divide weights and intercepts by the temperature that minimises the log-loss. This moves all
        probabilities towards 0 and 1 or away from them. It changes no ranking of documents and, if labels are
        exclusive, no prediction; the thresholds of independent labels that data chose are changed so that they decide
        alike. Your own stay.
    thresholds : bool
        Whether to choose the threshold of each label of a multilabel component that at least 50 of the documents have:
        the one with the best F1 on them. Other labels keep theirs; if none was chosen, they get the one with the
        highest expected F1, as in training. No effect on exclusive labels, with a ``threshold`` for all labels, nor on
        a component that was not trained.

    Returns
    -------
    Calibration
        The temperature, the thresholds, and metrics before and after.

    Raises
    ------
    ValueError
        If the pipeline does not have exactly one enabled graft component, if the component has no weights, if there are
        no examples, none has a label, or an annotation is invalid; if some have a label that is not trained yet; or if
        weights are locked, but a temperature is asked for.

    Warns
    -----
    UserWarning
        If no temperature is best, because all documents are predicted correctly, or not better than by chance; if the
        documents are those of dev, which the model was trained on in the end; or if the training has steps left.
    """
    component = graft_component(nlp)
    component.require_initialized()
    if component.report is None and not snapshot_of(component.model).features.n_features:
        raise ValueError(f"[{component.name}] The component is not trained: there is nothing to calibrate.")
    if temperature and component.constraints.locks:
        raise ValueError(
            f"[{component.name}] Some weights are locked, which a temperature would change. Give temperature=False, or "
            f"take back the locks with edit."
        )
    if component.training is not None and component.training.course.is_going_on:
        warn(
            f"[{component.name}] The training has steps left: the next one makes a model without this calibration. "
            f"Calibrate at its end."
        )
    read = list(annotated_before(nlp, component, examples))
    targets = read_targets(component, read)
    refuse_untrained(component, targets)
    warn_of_trained(component, (document_text(example.reference) for example in read))
    docs, exclusive = [example.predicted for example in read], component.exclusive
    scores = component.model.predict(docs)
    before = Quality.of(metrics.as_probabilities(scores, exclusive), *targets, exclusive=exclusive)
    divisor = fit_temperature(component, scores, targets) if temperature else 1.0
    unchanged = snapshot_of(component.model), component.report
    snapshot, report = calibrated = unchanged if divisor == 1.0 else component.divided(divisor)
    probabilities = metrics.as_probabilities(snapshot.scores(docs), exclusive)
    if thresholds and component.cfg["threshold"] is None and report is not None and not exclusive:
        found = fit_thresholds(probabilities, targets, report.thresholds or [])
        calibrated = snapshot, replace(report, thresholds=found)
    if calibrated is not unchanged:
        component.recalibrate(*calibrated)
    add_card(nlp)
    return Calibration(
        temperature=divisor,
        thresholds=component.thresholds if isinstance(component, TextCatGraftMultilabel) else {},
        before=before,
        after=Quality.of(probabilities, *targets, exclusive=exclusive),
    )


def read_targets(component: TextCatGraft, examples: list[Example], skips_unknown: bool = False) -> PlainTargets:
    """Read and check the targets of the examples; labels that the component does not have are skipped if asked."""
    if not examples:
        raise ValueError(f"[{component.name}] There are no examples to calibrate on.")
    targets = component.target_reader(skips_unknown).arrays_of(examples)
    if not targets.known.any():
        raise ValueError(
            f"[{component.name}] None of the {len(examples)} examples has a label to calibrate by: annotate doc.cats."
        )
    return targets


def refuse_untrained(component: TextCatGraft, targets: PlainTargets) -> None:
    """Raise a ValueError if documents have labels that were added after training, whose probability is 0."""
    has_label = (targets.values * targets.known).any(axis=0)
    if untrained := list(compress(component.labels, has_label & component.is_new_label())):
        raise ValueError(
            f"[{component.name}] Some of the examples have labels that have been added and not been trained yet "
            f"({listed(untrained)}). Train them first, with nlp.update, or leave these examples out."
        )


def fit_temperature(component: TextCatGraft, scores: np.ndarray, targets: PlainTargets) -> float:
    """The best temperature of scores; 1 and a warning if there is none."""
    best = metrics.temperature(scores, *targets, exclusive=component.exclusive)
    if best is None:
        warn(
            f"[{component.name}] No temperature is best for these {len(scores)} documents: all are "
            f"predicted correctly, or not better than by chance. Weights are unchanged. Calibrate on more documents."
        )
        return 1.0
    return best


def fit_thresholds(probabilities: np.ndarray, targets: PlainTargets, before: list[float]) -> list[float]:
    """The threshold of each label: the best one on these documents if enough of them have it, else that before."""
    values, known, _ = targets
    thresholds = metrics.expected_thresholds(probabilities).tolist()
    thresholds[: len(before)] = before
    n_positive = ((values >= metrics.LEAST_RIGHT) & known).sum(axis=0).tolist()
    of_documents = metrics.best_thresholds(probabilities, values, known)
    return [
        other if best is None or n < FEWEST_POSITIVE else best
        for other, best, n in zip(thresholds, of_documents, n_positive, strict=True)
    ]
