"""The features of a model with their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..extract.blocks import Block
from ..extract.terms import NamedTerm
from ..model.snapshot import Snapshot, as_reading_block

#: Separates the members of a combination in its text.
MEMBER_SEPARATOR = " × "


@dataclass(frozen=True)
class Feature:
    """A feature of the model.

    Attributes
    ----------
    text : str
        The n-gram, the item, or the members of a combination. Of n-grams with the same training documents, the
        shortest.
    longest : str
        The longest n-gram with the same training documents.
    block : str
        Name of its block.
    kind : str
        "character n-gram", "token n-gram", "attribute", "head–modifier", "document attribute", "combination" or, for
        a word that the model knows by its vector, "word vector".
    df : int
        Number of training documents with the feature.
    weights : dict of str to float
        By label.
    """

    text: str
    longest: str
    block: str
    kind: str
    df: int
    weights: dict[str, float]


def features_of(snapshot: Snapshot, labels: Sequence[str]) -> list[Feature]:
    """All features of a model with these labels, in the order of the rows of its weights."""
    table, blocks = snapshot.features, snapshot.blocks
    return [
        Feature(
            text=feature_text(blocks, table.terms(k)),
            longest=feature_text(blocks, table.terms(k, longest=True)),
            block=table.blocks[k],
            kind=blocks[table.blocks[k]].feature_kind,
            df=int(table.df[k]),
            weights=dict(zip(labels, row, strict=True)),
        )
        for k, row in enumerate(snapshot.weights.tolist())
    ]


def strongest_words(snapshot: Snapshot, labels: Sequence[str], n: int, label: str | None = None) -> list[Feature]:
    """The words that the model knows by their vectors and that can move a score most, strongest first.

    Parameters
    ----------
    snapshot : Snapshot
    labels : sequence of str
        All labels of the model, in the order of its weights.
    n : int
    label : str, optional
        The label whose score is meant; by default that of any label.

    Returns
    -------
    list of Feature
        Their weights are the scores of the word, and ``df`` is 0 for a word that no training document has. What counts
        is the score times the word's share, which is small for frequent words.
    """
    if snapshot.word_scores is None:
        return []
    lexicon, block = snapshot.word_scores.lexicon, snapshot.word_scores.block
    rows, scores = snapshot.word_scores.strongest(n, None if label is None else labels.index(label))
    return [
        Feature(
            text=lexicon.words[row],
            longest=lexicon.words[row],
            block=block,
            kind=snapshot.blocks[block].feature_kind,
            df=int(lexicon.known[row]),
            weights=dict(zip(labels, of_word, strict=True)),
        )
        for row, of_word in zip(rows.tolist(), scores.tolist(), strict=True)
    ]


def feature_text(blocks: Mapping[str, Block], terms: tuple[NamedTerm, ...]) -> str:
    """The display text of a feature."""
    return MEMBER_SEPARATOR.join(as_reading_block(blocks[term.block]).text(term.symbols) for term in terms)
