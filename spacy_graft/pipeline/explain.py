"""What a model is made of, and why it says what it says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Feature:
    """A feature of the model.

    Attributes
    ----------
    text : str
        Its n-gram, the shortest of its class.
    block : str
        The block it comes from.
    df : int
        Training documents that hold it.
    weights : dict of str to float
        By label.
    """

    text: str
    block: str
    df: int
    weights: dict[str, float]


@dataclass(frozen=True)
class Contribution:
    """What one feature adds to the score of a document."""

    text: str
    block: str
    value: float


@dataclass(frozen=True)
class Explanation:
    """The score of a label for one document, taken apart.

    Attributes
    ----------
    label : str
    probability : float
    score : float
        f_y: the intercept and all contributions.
    intercept : float
    contributions : tuple of Contribution
        Largest first, in absolute value.
    """

    label: str
    probability: float
    score: float
    intercept: float
    contributions: tuple[Contribution, ...]
