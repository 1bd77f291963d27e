"""``spacy_graft.textcat_scorer.v1`` and ``spacy_graft.textcat_multilabel_scorer.v1``."""

from __future__ import annotations

from pathlib import Path

import pytest
import spacy
from spacy.language import Language
from spacy.training import Example

from conftest import make_example, make_nlp
from spacy_graft.pipeline.scorer import make_textcat_multilabel_scorer, make_textcat_scorer

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


@pytest.mark.filterwarnings("ignore:.*held-out documents that choose the model are training documents too")
def test_the_score_is_that_of_the_positive_label(tmp_path: Path) -> None:
    nlp = make_nlp()
    examples = [
        make_example(
            nlp, "good" if i % 2 == 0 or i % 3 == 0 else "bad", {"a": float(i % 2 == 0), "b": float(i % 2 == 1)}
        )
        for i in range(30)
    ]
    nlp.config["initialize"]["components"]["textcat_graft"] = {"positive_label": "b"}
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    nlp.to_disk(tmp_path)
    for pipeline in (nlp, spacy.load(tmp_path)):
        scores = pipeline.evaluate(examples)
        assert scores["cats_score"] == scores["cats_f_per_type"]["b"]["f"] != scores["cats_macro_f"]
        assert scores["cats_score_desc"] == "F (b)"
    del nlp.config["initialize"]["components"]["textcat_graft"]
    nlp.initialize(lambda: examples)
    assert nlp.evaluate(examples)["cats_score_desc"] == "macro F"


@pytest.mark.parametrize("gold", [{"new": 1.0, "a": 0.0, "b": 0.0}, {"new": 1.0}, {}])
@pytest.mark.parametrize("predicted", [A, B])
def test_a_label_unknown_to_the_component_is_an_error_whatever_is_predicted(
    blank: Language, gold: dict[str, float], predicted: dict[str, float]
) -> None:
    scores = scored(blank, [({"a": 1.0}, A), ({"b": 1.0}, B), (gold, predicted)])
    assert scores["cats_micro_p"] == pytest.approx(2 / 3)
    assert scores["cats_micro_r"] == 1.0


def test_each_label_has_a_threshold_of_its_own(blank: Language) -> None:
    rows = [
        ({"a": 1.0, "b": 0.0}, {"a": 0.3, "b": 0.4}),
        ({"a": 1.0, "b": 1.0}, {"a": 0.2, "b": 0.9}),
        ({"b": 1.0}, {"a": 0.9, "b": 0.4}),
        ({"a": 0.0, "b": 0.0}, {"a": 0.1, "b": 0.7}),
        ({"a": 0.0, "b": 1.0}, {"a": 0.8, "b": 0.5}),
    ]
    examples = [make_example(blank, "text", gold) for gold, _ in rows]
    for example, (_, predicted) in zip(examples, rows, strict=True):
        example.predicted.cats = predicted
    scorer = make_textcat_multilabel_scorer()
    common = scorer(examples, labels=LABELS, threshold=0.5)
    assert common["cats_f_per_type"] == {
        "a": {"p": 0.0, "r": 0.0, "f": 0.0},
        "b": pytest.approx(dict.fromkeys("prf", 2 / 3)),
    }
    scores = scorer(iter(examples), labels=LABELS, threshold=0.5, thresholds={"a": 0.3})
    assert scorer(examples, labels=LABELS, thresholds={"a": 0.3}) == scores
    assert scores["cats_f_per_type"] == {
        "a": pytest.approx(dict.fromkeys("prf", 0.5)),
        "b": common["cats_f_per_type"]["b"],
    }
    assert scores["cats_micro_p"] == scores["cats_micro_r"] == scores["cats_micro_f"] == pytest.approx(3 / 5)
    assert scores["cats_macro_f"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    for key in ("cats_score", "cats_score_desc", "cats_macro_auc", "cats_auc_per_type"):
        assert scores[key] == common[key]
    assert set(scores) == set(common)


@pytest.mark.parametrize("exclusive", [True, False])
def test_soft_targets_are_scored_as_hard_ones(exclusive: bool, blank: Language) -> None:
    """Of the two values 0.9 and 0.1, spaCy's AUC is no number."""
    make = make_textcat_scorer if exclusive else make_textcat_multilabel_scorer
    scores = []
    for high, low in ((0.9, 0.1), (1.0, 0.0)):
        examples = [make_example(blank, "text", cats) for cats in [{"a": high, "b": low}, {"a": low, "b": high}] * 2]
        for example, predicted in zip(examples, (A, B, B, B), strict=True):
            example.predicted.cats = predicted
        scores.append(make()(examples, labels=LABELS, threshold=0.5))
    assert scores[0] == scores[1]
    assert scores[0]["cats_macro_auc"] == 0.75


def test_of_equal_targets_the_first_label_is_right(blank: Language) -> None:
    """In the order of the component, whatever that of the document."""
    examples = [make_example(blank, "text", cats) for cats in ({"a": 0.5, "b": 0.5}, {"b": 0.5, "a": 0.5})]
    for example in examples:
        example.predicted.cats = A
    assert make_textcat_scorer()(examples, labels=LABELS, threshold=0.5)["cats_micro_f"] == 1.0


@pytest.mark.parametrize("other", [{"X": 1.0, "Y": 0.0}, {"X": 0.95, "Y": 0.05}])
def test_labels_of_other_components_are_not_scored(other: dict[str, float], blank: Language) -> None:
    """The label of the document is that of the component, even if another component's is more certain."""
    rows = [({"a": 0.9, "b": 0.1, **other}, A), ({"a": 0.1, "b": 0.9, **other}, B)]
    scores = scored(blank, rows)
    assert scores["cats_micro_f"] == scores["cats_macro_f"] == 1.0


@pytest.mark.parametrize(
    ("factory", "scorer", "right"),
    [
        ("textcat_graft", "spacy_graft.textcat_multilabel_scorer.v1", "spacy_graft.textcat_scorer.v1"),
        ("textcat_graft_multilabel", "spacy_graft.textcat_scorer.v1", "spacy_graft.textcat_multilabel_scorer.v1"),
    ],
)
def test_the_scorer_of_the_other_kind_of_labels_is_warned_of(factory: str, scorer: str, right: str) -> None:
    """As it stays in a config of which only the factory is changed."""
    with pytest.warns(UserWarning, match=rf"\[{factory}\] The scorer is .* Set @scorers = '{right}' in"):
        spacy.blank("xx").add_pipe(factory, config={"scorer": {"@scorers": scorer}})
