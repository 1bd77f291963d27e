"""``spacy_graft.textcat_scorer.v1``."""

from __future__ import annotations

import pytest
from spacy.language import Language
from spacy.training import Example

from conftest import make_example
from spacy_graft.pipeline.scorer import make_textcat_scorer

LABELS = ("a", "b")


def scored(blank: Language, pairs: list[tuple[dict[str, float], dict[str, float]]]) -> dict[str, float]:
    examples: list[Example] = []
    for gold, predicted in pairs:
        examples.append(make_example(blank, "text", gold))
        examples[-1].predicted.cats = predicted
    return make_textcat_scorer()(examples, labels=LABELS, threshold=0.5)


A, B = {"a": 0.9, "b": 0.1}, {"a": 0.1, "b": 0.9}


def test_scores_of_known_labels(blank: Language) -> None:
    scores = scored(blank, [({"a": 1.0, "b": 0.0}, A), ({"a": 0.0, "b": 1.0}, B), ({"b": 1.0}, A)])
    assert scores["cats_micro_f"] == pytest.approx(2 / 3)
    assert scores["cats_score"] == scores["cats_macro_f"] == pytest.approx((2 / 3 + 2 / 3) / 2)


@pytest.mark.parametrize("gold", [{"new": 1.0, "a": 0.0, "b": 0.0}, {"new": 1.0}, {}])
@pytest.mark.parametrize("predicted", [A, B])
def test_a_label_unknown_to_the_component_is_an_error_whatever_is_predicted(
    blank: Language, gold: dict[str, float], predicted: dict[str, float]
) -> None:
    scores = scored(blank, [({"a": 1.0}, A), ({"b": 1.0}, B), (gold, predicted)])
    assert scores["cats_micro_p"] == pytest.approx(2 / 3)
    assert scores["cats_micro_r"] == 1.0
