"""Explanations of predictions.

A score is exactly the sum of the intercept and the contributions of the matched features. A contribution is the
feature's weight times its value in the document. Every contribution has its places in the text. Words that the model
knows by their vectors contribute too: their weight is their score for the label, their value their share of the
document's words.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from spacy.tokens import Doc

from ..extract.spelling import text_of_doc
from ..model.snapshot import Snapshot
from .evidence import Evidence
from .scores import Explanation, explain_label


def explain_document(snapshot: Snapshot, doc: Doc, probabilities: np.ndarray, labels: Mapping[str, int]) -> Explanation:
    """Explain the scores of labels for a document.

    Parameters
    ----------
    snapshot : Snapshot
        Of a model.
    doc : Doc
    probabilities : float64 (n_labels)
        Probabilities of the document, predicted from the same snapshot.
    labels : mapping of str to int
        The labels to explain, with their columns of the weights.

    Returns
    -------
    Explanation
    """
    occurrences = snapshot.ngram_occurrences(doc)
    rows, values, weights, scale = snapshot.contributions(doc, occurrences)
    words, shares, word_scores = snapshot.word_contributions(doc)
    evidence = Evidence(snapshot, doc, occurrences)
    found = [*map(evidence.of_feature, rows.tolist()), *map(evidence.of_word, words.tolist())]
    values, weights = np.concatenate([scale * values, shares]), np.concatenate([weights, word_scores])
    return Explanation(
        text_of_doc(doc),
        tuple(
            explain_label(
                label,
                float(probabilities[column]),
                float(snapshot.intercepts[column]),
                found,
                values,
                weights[:, column],
            )
            for label, column in labels.items()
        ),
    )
