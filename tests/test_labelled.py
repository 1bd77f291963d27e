"""Texts and labels given to ``spacy_graft.fit`` as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from spacy.language import Language
from spacy.training import Example

import spacy_graft
from conftest import TELLING, Record, make_examples, make_nlp
from spacy_graft.pipeline.labelled import examples_of
from spacy_graft.pipeline.textcat import TextCatGraft


def cats_of(examples: Any) -> list[dict[str, float]]:
    return [example.reference.cats for example in examples]


def test_texts_and_pairs_give_the_model_of_examples(train_records: list[Record], dev_records: list[Record]) -> None:
    texts = [record["text"] for record in train_records]
    labels = [record["label"] for record in train_records]
    dev = [(record["text"], record["label"]) for record in dev_records]
    pipelines = [make_nlp() for _ in range(3)]
    for nlp in pipelines:
        for label in TELLING:
            nlp.get_pipe("textcat_graft").add_label(label)  # type: ignore[attr-defined]
    plain, of_texts, of_pairs = pipelines
    spacy_graft.fit(plain, make_examples(plain, train_records), dev=make_examples(plain, dev_records))
    spacy_graft.fit(of_texts, texts, np.array(labels), dev=dev)
    spacy_graft.fit(of_pairs, zip(texts, labels, strict=True), dev=dev)
    expected = plain.get_pipe("textcat_graft").to_bytes()  # type: ignore[attr-defined]
    assert of_texts.get_pipe("textcat_graft").to_bytes() == expected  # type: ignore[attr-defined]
    assert of_pairs.get_pipe("textcat_graft").to_bytes() == expected  # type: ignore[attr-defined]


def test_any_number_of_labels() -> None:
    nlp = make_nlp("textcat_graft_multilabel")
    texts = ["a good long film", "good", "a long film", "dull"] * 6
    spacy_graft.fit(nlp, texts, [["good", "long"], ["good"], ["long"], []] * 6)
    assert {label for label, p in nlp("a good long film").cats.items() if p > 0.5} == {"good", "long"}


def test_labels_that_are_not_given_are_known_to_be_absent(blank: Language) -> None:
    pairs = [("x", "a"), ["y", ("b", "c")], ("z", {"a": 0.25})]
    assert cats_of(examples_of(blank, pairs, known=["d"])) == [
        {"d": 0.0, "a": 1.0, "b": 0.0, "c": 0.0},
        {"d": 0.0, "a": 0.0, "b": 1.0, "c": 1.0},
        {"a": 0.25},
    ]


def test_labels_in_sets_have_the_same_order_in_every_process(blank: Language) -> None:
    """As the component has them in the order in which they appear; that of lists stays."""
    names = [f"label {k:02}" for k in range(30)]
    for pairs in ([("x", {*names})], [("x", frozenset(names[:15])), ("y", {*names})]):
        assert list(cats_of(examples_of(blank, pairs))[0]) == names
    assert list(cats_of(examples_of(blank, [("x", names[::-1])]))[0]) == names[::-1]


def test_an_integer_is_the_name_of_a_label(blank: Language) -> None:
    """As in the reader of files; a list of them may be a number for each label."""
    assert cats_of(examples_of(blank, ["x", "y", "z"], [1, np.int64(0), "a"])) == [
        {"1": 1.0, "0": 0.0, "a": 0.0},
        {"1": 0.0, "0": 1.0, "a": 0.0},
        {"1": 0.0, "0": 0.0, "a": 1.0},
    ]


def test_examples_are_not_kept(blank: Language) -> None:
    """They are read one at a time, as before."""
    made: list[int] = []

    def stream() -> Any:
        for i in range(10):
            made.append(i)
            yield Example(blank.make_doc("x"), blank.make_doc("x"))

    next(iter(examples_of(blank, stream())))
    assert made == [0]


@pytest.mark.parametrize(
    ("documents", "labels", "message"),
    [
        ("one text", None, "not the string 'one text'"),
        (["x", "y"], None, "Texts need labels: give pairs, "),
        (["x", "y"], ["a"], "There are 2 texts, but labels of 1"),
        (["x", "y"], "ab", "must be a list with an element for each text"),
        (["x", "y"], ["a", 3.0], r"The labels of document 2 are 3\.0\. .*Use str\(\)"),
        (["x", "y"], ["a", True], r"The labels of document 2 are True\. "),
        (["x", "y"], ["a", [0, 1]], r"The labels of document 2 are \[0, 1\]\. "),
        (["x", "y"], ["a", ["b", None]], "The labels of document 2 are"),
        (["x", "y"], ["a", ["b\ud800"]], r"A label of document 2, 'b\\ud800', has an unpaired surrogate"),
        (["x", "y"], ["a", {"\ud800": 1}], r"A label of document 2, '\\ud800', has an unpaired surrogate"),
        ([("x", "a"), ("y",)], None, r"Document 2 is \('y',\) \(tuple\)\. Give pairs"),
        ([(3, "a")], None, "The text of document 1 must be a string, but is 3"),
        (["x", None], ["a", "b"], "The text of document 2 must be a string, but is None"),
        ([("x", "a")], ["a"], r"fit\(nlp, examples, dev=examples\)"),
        ([], [], "There are no examples"),
        ([float("nan"), "x"], ["a", "b"], "The text of document 1 must be a string, but is nan"),
        ([3], None, r"Documents must be Examples, or pairs .*, but the first one is 3 \(int\)"),
    ],
)
def test_what_is_missing_is_said(documents: Any, labels: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        spacy_graft.fit(make_nlp(), documents, labels)


def test_other_functions_take_pairs_as_well(train_records: list[Record]) -> None:
    pairs = [(record["text"], record["label"]) for record in train_records]
    nlp = make_nlp("textcat_graft_multilabel")
    spacy_graft.fit(nlp, pairs[:60])
    component = nlp.get_pipe("textcat_graft_multilabel")
    assert isinstance(component, TextCatGraft)
    examples = make_examples(nlp, train_records)
    assert spacy_graft.label_errors(nlp, pairs[:60]) == spacy_graft.label_errors(nlp, examples[:60])
    assert component.edit(deny=["salt"], examples=pairs[:60], nlp=nlp).report.converged
    assert spacy_graft.calibrate(nlp, pairs[60:], temperature=False).thresholds
    found, expected = (spacy_graft.significance(nlp, given, permutations=19, level=0.5) for given in (pairs, examples))
    assert found == expected
    with pytest.raises(ValueError, match=r"Give a Doc, such as nlp\(text\)"):
        component.explain("salt")  # type: ignore[arg-type]


def test_dev_in_the_place_of_labels_is_refused(nlp: Language, examples: list[Example], dev: list[Example]) -> None:
    with pytest.raises(ValueError, match=r"fit\(nlp, examples, dev=examples\)"):
        spacy_graft.fit(nlp, examples, dev)  # type: ignore[arg-type]


def test_sets_of_texts_have_no_order() -> None:
    nlp = make_nlp()
    for texts, labels in (({"good", "bad"}, ["pos", "neg"]), (["good", "bad"], {"pos", "neg"})):
        with pytest.raises(ValueError, match="a set, which has no order: give lists"):
            spacy_graft.fit(nlp, texts, labels)


def test_examples_are_not_mixed_with_others() -> None:
    nlp = make_nlp()
    (example,) = make_examples(nlp, [{"text": "salt", "label": "food"}])
    with pytest.raises(ValueError, match=r"Document 2 is \('x', 'food'\) \(tuple\)\. Others are Examples"):
        spacy_graft.fit(nlp, [example, ("x", "food")])
    with pytest.raises(ValueError, match=r"A list of Examples, .* is expected, not None"):
        spacy_graft.fit(nlp, None)  # type: ignore[arg-type]


def test_pairs_are_rows_of_an_array_and_no_data_frame(train_records: list[Record]) -> None:
    nlp = make_nlp()
    pairs = [(record["text"], record["label"]) for record in train_records]
    expected, found = list(examples_of(nlp, pairs)), list(examples_of(nlp, np.array(pairs, object)))
    assert [example.reference.cats for example in found] == [example.reference.cats for example in expected]
    with pytest.raises(ValueError, match=r"fit\(nlp, df\['text'\], df\['label'\]\)"):
        spacy_graft.fit(nlp, pd.DataFrame(train_records))  # type: ignore[arg-type]
