"""Explanations of predictions.

A score is exactly the sum of the intercept and the contributions of the matched features. A contribution is the
feature's weight times its value in the document. Every contribution has its places in the text. Words that the model
knows by their vectors contribute too: their weight is their score for the label, their value their share of the
document's words.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from spacy.attrs import IDX, IS_SPACE, LENGTH
from spacy.tokens import Doc

from ..extract.blocks import Block
from ..extract.spelling import text_of_doc
from ..model.snapshot import Snapshot
from .evidence import Evidence
from .scores import Explanation, Matched, explanation_of_matched
from .words import SegmentedText, joined

#: Attributes of tokens that words have by their capital letters.
CASED = frozenset({"ORTH", "SHAPE", "PREFIX", "SUFFIX", "IS_LOWER", "IS_UPPER", "IS_TITLE"})


def explain_document(
    snapshot: Snapshot, doc: Doc, probabilities: Mapping[str, float], alternatives: Mapping[str, str | None]
) -> Explanation:
    """Explain the scores of labels for a document, as :func:`.explanation_of_matched` does.

    ``probabilities`` have been predicted by the same snapshot.
    """
    occurrences = snapshot.ngram_occurrences(doc)
    rows, values, weights, scale = snapshot.contributions(doc, occurrences)
    words, shares, word_scores = snapshot.word_contributions(doc)
    evidence = Evidence(snapshot, doc, occurrences)
    found = [*map(evidence.of_feature, rows.tolist()), *map(evidence.of_word, words.tolist())]
    values, weights = np.concatenate([scale * values, shares]), np.concatenate([weights, word_scores])
    return explanation_of_matched(
        segmented_doc(doc, all(map(block_ignores_case, snapshot.blocks.values()))),
        Matched(found, values, weights, snapshot.intercepts),
        probabilities,
        alternatives,
    )


def block_ignores_case(block: Block) -> bool:
    """Whether a block reads the same of words that differ in case alone."""
    if (lowercase := getattr(block, "lowercase", None)) is not None:
        return bool(lowercase) and not getattr(block, "mark_capitals", False)
    attributes = getattr(block, "attr", ""), *getattr(block, "head", ()), *getattr(block, "modifier", ())
    # An extension attribute may be anything.
    return CASED.isdisjoint(attributes) and not any(attribute.startswith("_.") for attribute in attributes)


def segmented_doc(doc: Doc, ignores_case: bool = True) -> SegmentedText:
    """The text of a document. Its words are the tokens, without white space, joined where a tokenizer cut a word."""
    text = text_of_doc(doc)
    starts, lengths, spaces = doc.to_array([IDX, LENGTH, IS_SPACE]).view(np.int64).T
    tokens = np.stack((starts, starts + lengths), axis=1)[spaces == 0]
    return SegmentedText(text, joined(text, tokens), tokens, ignores_case)
