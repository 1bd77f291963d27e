"""What a model is made of, and why it says what it says.

A score is the intercept and the sum of what each matched feature contributes: its weight times its value in the
document. Nothing is approximated, and every feature tells where in the text it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.tokens import Doc

from ..extract.bags import item_keys
from ..model.matching import Block, ReadingBlock, is_item_block, is_ngram_block
from ..model.sparse_linear import contributions, matches, reading
from ..model.table import FeatureTable, Term

if TYPE_CHECKING:
    from .textcat import TextCatGraft

#: Between the members of a combination.
TIMES = " × "


@dataclass(frozen=True)
class Feature:
    """A feature of the model.

    Attributes
    ----------
    text : str
        Its n-gram, the shortest of its class, or item, or the members of a combination.
    longest : str
        The longest n-gram of its class: it occurs in the same training documents.
    block : str
        The block it comes from.
    kind : str
        What it is: "character n-gram", "token n-gram", "attribute", "head–modifier", "document attribute",
        "combination".
    df : int
        Training documents that hold it.
    weights : dict of str to float
        By label.
    """

    text: str
    longest: str
    block: str
    kind: str
    df: int
    weights: dict[str, float]


@dataclass(frozen=True)
class Span:
    """A stretch of the text, half open.

    Attributes
    ----------
    start, end : int
        Characters of ``doc.text``.
    first_token, end_token : int
        Tokens that it touches.
    """

    start: int
    end: int
    first_token: int
    end_token: int


@dataclass(frozen=True)
class Member:
    """An n-gram or item in a document.

    Attributes
    ----------
    text, block, kind : str
        As of a :class:`Feature`.
    places : tuple of tuples of Span
        Each time it occurs: one span, or head and modifier of an arc. Empty for what is said of the whole document.
    """

    text: str
    block: str
    kind: str
    places: tuple[tuple[Span, ...], ...]


@dataclass(frozen=True)
class Contribution:
    """What one feature adds to the score of a document.

    Attributes
    ----------
    text, block, kind : str
        As of a :class:`Feature`.
    weight : float
    value : float
        What the feature is worth in the document, with the document weight.
    contribution : float
        Their product.
    members : tuple of Member
        What is there: the feature itself, or all members of a combination.
    """

    text: str
    block: str
    kind: str
    weight: float
    value: float
    contribution: float
    members: tuple[Member, ...]


@dataclass(frozen=True)
class LabelExplanation:
    """The score of a label for one document, taken apart.

    Attributes
    ----------
    label : str
    probability : float
    score : float
        f_y: the intercept and all contributions.
    intercept : float
    contributions : tuple of Contribution
        Of the features with a weight for the label; the largest first, in absolute value.
    """

    label: str
    probability: float
    score: float
    intercept: float
    contributions: tuple[Contribution, ...]


@dataclass(frozen=True)
class Explanation:
    """The scores of labels for one document.

    Attributes
    ----------
    text : str
    labels : tuple of LabelExplanation
        In the component's order.
    """

    text: str
    labels: tuple[LabelExplanation, ...]

    def __getitem__(self, label: str) -> LabelExplanation:
        for explanation in self.labels:
            if explanation.label == label:
                return explanation
        raise KeyError(label)

    def __iter__(self) -> Iterator[LabelExplanation]:
        return iter(self.labels)

    @property
    def best(self) -> LabelExplanation:
        """The label of the highest probability; of equal ones the first."""
        return max(self.labels, key=lambda explanation: explanation.probability)

    def _repr_html_(self) -> str:
        """The text with its evidence for the best label, in a notebook."""
        from ..rendering.render import render

        return render(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    def to_dataframe(self) -> Any:
        """A pandas ``DataFrame``, a row a label and feature.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_dataframe needs pandas: python -m pip install pandas") from error
        columns = ("text", "block", "kind", "weight", "value", "contribution")
        rows = [
            {"label": label.label, **{column: getattr(part, column) for column in columns}, "places": places_of(part)}
            for label in self.labels
            for part in label.contributions
        ]
        return pd.DataFrame(rows, columns=["label", *columns, "places"])


def places_of(contribution: Contribution) -> list[tuple[int, int]]:
    """Start and end, in characters, of everything that a contribution points at."""
    spans = [span for member in contribution.members for place in member.places for span in place]
    return sorted({(span.start, span.end) for span in spans})


def explain(component: TextCatGraft, doc: Doc, labels: Mapping[str, int]) -> Explanation:
    """Take the scores of labels, given with their columns, apart."""
    probabilities = component.predict([doc])[0]
    intercepts = component.model.get_param("b")
    rows, worth, weights, scale = contributions(component.model, doc)
    evidence = Evidence(component, doc)
    found = [(evidence.of_feature(row), scale * value) for row, value in zip(rows.tolist(), worth, strict=True)]
    return Explanation(
        doc.text,
        tuple(
            of_label(label, float(probabilities[column]), float(intercepts[column]), found, weights[:, column])
            for label, column in labels.items()
        ),
    )


def of_label(
    label: str,
    probability: float,
    intercept: float,
    found: list[tuple[tuple[str, str, str, tuple[Member, ...]], float]],
    weights: np.ndarray,
) -> LabelExplanation:
    """The explanation of one label from the features that were found, with their values."""
    parts = []
    for k in np.argsort(-np.abs(weights * [value for _, value in found]), kind="stable"):
        (text, block, kind, members), value = found[k]
        weight = float(weights[k])
        if weight != 0.0:
            parts.append(Contribution(text, block, kind, weight, float(value), weight * float(value), members))
    score = intercept + sum(part.contribution for part in parts)
    return LabelExplanation(label, probability, score, intercept, tuple(parts))


def kind_of(block: Block) -> str:
    """What the features of a block are called."""
    return getattr(block, "kind", "n-gram" if is_ngram_block(block) else "attribute")


def text_of(blocks: Mapping[str, Block], terms: tuple[Term, ...]) -> str:
    """A feature as people read it."""
    return TIMES.join(reading(blocks[term.block]).text(term.names) for term in terms)


class Evidence:
    """Where in a document features are. What a block finds there is read once."""

    def __init__(self, component: TextCatGraft, doc: Doc) -> None:
        self.doc = doc
        self.blocks = component.blocks
        self.table: FeatureTable = component.model.attrs["features"]
        self.token_starts = np.array([token.idx for token in doc], np.int64)
        occurrences = matches(component.model, doc)
        self.occurrences = occurrences[np.argsort(occurrences[:, 0], kind="stable")]
        self._members: dict[Term, Member] = {}
        self._symbols: dict[str, np.ndarray] = {}
        self._spans: dict[str, np.ndarray] = {}

    def of_feature(self, row: int) -> tuple[str, str, str, tuple[Member, ...]]:
        """Text, block and kind of a feature, and where its members are."""
        terms, block = self.table.terms(row), self.table.blocks[row]
        if is_ngram_block(self.blocks[block]):
            members: tuple[Member, ...] = (self._ngram(row, terms[0]),)
        else:
            members = tuple(self._item(term) for term in terms)
        return TIMES.join(member.text for member in members), block, kind_of(self.blocks[block]), members

    def _ngram(self, row: int, term: Term) -> Member:
        first, last = np.searchsorted(self.occurrences[:, 0], (row, row + 1))
        spans = self._spans_of(term.block)
        places = [
            (self._span(spans[start, 0, 0], spans[end - 1, 0, 1]),) for _, start, end in self.occurrences[first:last]
        ]
        return self._member(term, tuple(places))

    def _item(self, term: Term) -> Member:
        if term not in self._members:
            block = reading(self.blocks[term.block])
            symbols = block.values(term.names, self.doc.vocab.strings)
            key = item_keys(symbols.reshape(1, -1) if is_item_block(block) else symbols)[0]
            spans = self._spans_of(term.block)[self._keys_of(term.block) == key]
            places = tuple(tuple(self._span(start, end) for start, end in place) for place in spans.tolist())
            self._members[term] = self._member(term, places if spans.shape[1] else ())
        return self._members[term]

    def _member(self, term: Term, places: tuple[tuple[Span, ...], ...]) -> Member:
        block = self.blocks[term.block]
        return Member(reading(block).text(term.names), term.block, kind_of(block), places)

    def _keys_of(self, block: str) -> np.ndarray:
        if block not in self._symbols:
            self._symbols[block] = item_keys(reading(self.blocks[block]).symbols(self.doc))
        return self._symbols[block]

    def _spans_of(self, block: str) -> np.ndarray:
        """Characters of what each symbol or item points at: int (n, k, 2)."""
        if block not in self._spans:
            self._spans[block] = character_spans(reading(self.blocks[block]), self.doc)
        return self._spans[block]

    def _span(self, start: int, end: int) -> Span:
        first = int(np.searchsorted(self.token_starts, start, side="right")) - 1
        last = int(np.searchsorted(self.token_starts, end, side="left"))
        return Span(int(start), int(end), max(first, 0), max(last, first + 1, 1))


def character_spans(block: ReadingBlock, doc: Doc) -> np.ndarray:
    """Characters of what each symbol or item of a document points at: int (n, k, 2)."""
    if not is_item_block(block):
        return block.offsets(doc)[:, np.newaxis, :]  # type: ignore[union-attr]
    tokens = block.places(doc)
    starts = np.array([token.idx for token in doc] or [0], np.int64)
    ends = np.array([token.idx + len(token) for token in doc] or [0], np.int64)
    return np.stack([starts[tokens[..., 0]], ends[tokens[..., 1] - 1]], axis=-1)
