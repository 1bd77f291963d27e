"""What ``distil`` reports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from ..graft.report import Report


@dataclass(frozen=True)
class WeightTrial:
    """An example weight of texts without labels that was tried.

    Attributes
    ----------
    weight : float
    log_loss : float
        Of the labelled texts, each held out, in nats.
    """

    weight: float
    log_loss: float


@dataclass(frozen=True)
class Fidelity:
    """How often the student predicts what the teacher does, on texts that neither the student nor a choice has seen.

    Attributes
    ----------
    n_agreed, n_texts : int
        Different texts without labels; for independent labels, those of which all labels agree.
    low, high : float
        Exact bounds of the share of agreement among texts like these, which hold with a probability of 95% (Clopper &
        Pearson 1934).
    """

    n_agreed: int
    n_texts: int
    low: float
    high: float

    @property
    def agreement(self) -> float:
        """The share of texts."""
        return self.n_agreed / self.n_texts


@dataclass(frozen=True)
class TextToLabel:
    """A text that the student is unsure of.

    Attributes
    ----------
    number : int
        Of the text, from 1.
    text : str
    margin : float
        The distance of the student's two highest probabilities; of independent labels, the least distance of the
        probabilities that a label applies and that it does not.
    cats, teacher : dict of str to float
        Probabilities of the student and of the teacher.
    """

    number: int
    text: str
    margin: float
    cats: dict[str, float]
    teacher: dict[str, float]


@dataclass(frozen=True)
class DistilReport:
    """The result of ``distil``.

    Attributes
    ----------
    teacher : str
        Its name.
    n_labelled, n_taught : int
        Labelled texts, and texts without labels that the student may learn from.
    weight : float
        The chosen example weight of the latter.
    trials : list of WeightTrial
        In ascending order of the weight.
    fidelity : Fidelity
    student : Report
        Of the training.
    to_label : list of TextToLabel
        The different texts with the smallest margins, in this order.
    """

    teacher: str
    n_labelled: int
    n_taught: int
    weight: float
    trials: list[WeightTrial]
    fidelity: Fidelity
    student: Report
    to_label: list[TextToLabel]

    def to_dict(self) -> dict[str, Any]:
        """Plain values without the texts to label, for JSON."""
        return {
            "teacher": self.teacher,
            "n_labelled": self.n_labelled,
            "n_taught": self.n_taught,
            "weight": self.weight,
            "trials": [asdict(trial) for trial in self.trials],
            "fidelity": {**asdict(self.fidelity), "agreement": self.fidelity.agreement},
            "n_features": self.student.n_active,
            "log_loss": self.student.log_loss,
        }

    def lines(self) -> Iterator[dict[str, Any]]:
        """The texts to label as plain values, for JSON lines."""
        return map(asdict, self.to_label)
