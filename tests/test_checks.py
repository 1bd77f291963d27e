"""The public checks: ``check_corpus``, ``label_errors`` and ``estimate_memory``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from spacy.language import Language
from spacy.training import Example

import spacy_graft
from conftest import (
    PATH,
    TELLING,
    WORDS,
    Record,
    make_example,
    make_examples,
    make_nlp,
    make_records,
    one_hot,
    train_fully,
)
from spacy_graft import check_corpus, checks, estimate_memory, label_errors
from spacy_graft.checks import memory
from spacy_graft.pipeline.targets import WEIGHT_KEY

#: Runs a check of a pipeline.
Check = Callable[..., Any]
PIPELINE_CHECKS = [label_errors, estimate_memory]


def flipped(records: list[Record], number: int, label: str) -> list[Record]:
    """Return the records with another label for one of them."""
    assert records[number]["label"] != label
    return [*records[:number], {**records[number], "label": label}, *records[number + 1 :]]


def with_two_components() -> Language:
    """Return a pipeline with a trained component and an untrained one."""
    nlp = train_fully(make_nlp(), make_records(30))
    words = {"words": {**WORDS["words"], "min_df": 4}}
    nlp.add_pipe("textcat_graft_multilabel", name="several", config={"features": words, "learner": PATH})
    return nlp


def messages(report: checks.CorpusReport, level: str) -> str:
    return "\n".join(finding.message for finding in report.findings if finding.level == level)


# The namespace


def test_all_names_can_be_imported() -> None:
    for name in checks.__all__:
        assert getattr(checks, name).__name__ == name
        assert getattr(checks, name).__doc__
    for name in ("check_corpus", "estimate_memory", "label_errors"):
        assert getattr(checks, name) is getattr(spacy_graft, name)
    with pytest.raises(AttributeError, match="no attribute 'check_corpora'"):
        checks.check_corpora  # noqa: B018


# check_corpus


def test_documents_that_are_no_examples_are_named() -> None:
    for name, splits in (("train", ([("coal", "mining")], [])), ("dev", ([], [("coal", "mining")]))):
        message = rf"Document 1 is \('coal', 'mining'\) \(tuple\)\. Those of {name} are Examples: .*Example.from_dict"
        with pytest.raises(ValueError, match=message):
            check_corpus(*splits)  # type: ignore[arg-type]


def test_a_good_corpus_has_no_findings(examples: list[Example], dev: list[Example]) -> None:
    report = check_corpus(iter(examples), iter(dev))
    assert isinstance(report, checks.CorpusReport)
    assert report.findings == ()
    assert not report.has_errors
    assert (report.train.n_documents, report.dev.n_documents) == (120, 30)
    assert report.train.labels == ["food", "music", "sport"]
    assert report.train.label_counts == {"food": 40, "music": 40, "sport": 40}
    assert report.train.single_label
    assert report.train.n_usable == 120
    assert list(report.train.usable(examples)) == examples


def test_bad_arguments_of_label_errors(train_records: list[Record]) -> None:
    nlp = make_nlp()
    examples = make_examples(nlp, train_records)
    with pytest.raises(ValueError, match="120 examples, but 1 names"):
        label_errors(nlp, examples, names=["one"])
    with pytest.raises(ValueError, match="top must be an integer of at least 1, but is -1"):
        label_errors(nlp, examples, top=-1)


def test_a_check_does_not_hide_the_component_of_a_document(train_records: list[Record]) -> None:
    """The models that look for label errors share its vocab until they are collected."""
    nlp = train_fully(make_nlp(), train_records)
    doc = nlp("roast potatoes and salt")
    label_errors(nlp, make_examples(nlp, train_records))
    assert "potatoes" in spacy_graft.render(doc)


@pytest.mark.parametrize("exclusive", [False, True])
def test_values_that_training_refuses_are_errors(blank: Language, examples: list[Example], exclusive: bool) -> None:
    wrong: list[dict[str, Any]] = [
        {"food": -1.0, "music": 2.0}, {"food": 5.0}, {"food": float("nan"), "music": 1.0}, {"food": "yes"},
    ]  # fmt: skip
    bad = [make_example(blank, f"goal {number}", cats) for number, cats in enumerate(wrong)]
    report = check_corpus(examples + bad, examples, exclusive=exclusive)
    assert report.train.unusable == {121, 122, 123, 124}
    assert report.train.bad_values == ["train #121", "train #122", "train #123", "train #124"]
    assert "no numbers from 0 to 1" in messages(report, "error")


def test_documents_that_training_refuses_are_errors(blank: Language, examples: list[Example]) -> None:
    bad = [
        make_example(blank, "goal", {}),
        make_example(blank, "salt", {"food": 1.0, "music": 1.0}),
        make_example(blank, " ", one_hot("food")),
    ]
    report = check_corpus(examples + bad, examples)
    assert report.has_errors
    assert report.train.without_labels == ["train #121"]
    assert report.train.bad_sums == ["train #122"]
    assert report.train.without_text == ["train #123"]
    assert report.train.unusable == {121, 122}
    assert report.train.usable_numbers() == [*range(1, 121), 123]
    assert list(report.train.usable(examples + bad)) == [*examples, bad[2]]
    errors = messages(report, "error")
    for expected in ("(train #121) without labels", "(train #122) with exclusive labels that do not", "without text"):
        assert expected in errors
    assert report.train.bad_values == []
    several = check_corpus(examples + bad[1:2], examples, exclusive=False)
    assert several.train.unusable == set()
    assert not several.train.single_label


def test_repeated_texts_are_compared_across_splits(blank: Language, examples: list[Example]) -> None:
    same, other = (make_example(blank, examples[0].text, one_hot(label)) for label in ("food", "music"))
    assert examples[0].reference.cats == one_hot("food")
    report = check_corpus(examples, [same, other])
    assert report.train.duplicates == report.train.conflicts == []
    assert report.dev.duplicates == ["dev #1 = train #1"]
    assert report.dev.conflicts == ["dev #2 = dev #1"]
    assert not report.has_errors


def test_labels_of_one_split_and_rare_ones_are_warnings(blank: Language, examples: list[Example]) -> None:
    train = [*examples, make_example(blank, "bread", {"bakery": 1.0})]
    report = check_corpus(train, [*examples, make_example(blank, "coal", {"mining": 1.0})])
    warnings = messages(report, "warning")
    assert "with fewer than 10 training documents: 'bakery'" in warnings
    assert "in dev only, which cannot be predicted: 'mining'" in warnings
    assert "without a dev document, whose scores cannot be measured: 'bakery'" in warnings


@pytest.mark.parametrize(
    ("n_train", "n_dev", "is_shift"), [(2, 20, True), (20, 2, True), (2, 4, False), (40, 75, False)]
)
def test_labels_of_other_shares_are_warnings(blank: Language, n_train: int, n_dev: int, is_shift: bool) -> None:
    """Those of 100 documents each: 2 and 4 may be by chance, 40 and 75 are less than twice as many."""
    train, dev = (
        [make_example(blank, f"text {i}", {"a": 1.0, "x": float(i < n)}) for i in range(100)] for n in (n_train, n_dev)
    )
    found = messages(check_corpus(train, dev, exclusive=False), "warning")
    expected = f"Labels with other shares of train than of dev: 'x' ({n_train}.0% and {n_dev}.0%)"
    assert (expected in found) == is_shift


def test_shares_are_those_of_documents_that_say_something(blank: Language) -> None:
    train = [make_example(blank, f"text {i}", {"a": 1.0, "x": float(i % 20 == 0)}) for i in range(200)]
    for i, example in enumerate(train):
        if i % 10:
            del example.reference.cats["x"]
    dev = [make_example(blank, f"dev {i}", {"a": 1.0, "x": float(i % 2)}) for i in range(200)]
    assert "other shares" not in messages(check_corpus(train, dev, exclusive=False), "warning")


def test_exclusive_labels_are_recognised(examples: list[Example]) -> None:
    assert "consider textcat_graft" in messages(check_corpus(examples, examples, exclusive=False), "warning")


def test_empty_splits_are_errors() -> None:
    report = check_corpus([], [])
    assert report.findings == (
        checks.Finding("error", "train has no documents."),
        checks.Finding("error", "dev has no documents."),
    )


def test_a_single_exclusive_label_is_an_error(blank: Language) -> None:
    train = [make_example(blank, "goal", {"sport": 1.0}), make_example(blank, "extra time", {"sport": 1.0})]
    assert "at least two; the training corpus has 'sport'" in messages(check_corpus(train, train[:1]), "error")


# label_errors


def test_a_wrong_label_has_the_highest_loss(nlp: Language, train_records: list[Record]) -> None:
    records = flipped(flipped(flipped(train_records, 4, "food"), 7, "food"), 10, "food")
    issues = label_errors(nlp, make_examples(nlp, records), top=3)
    assert len(issues) == 3
    worst = issues[0]
    assert isinstance(worst, checks.LabelIssue)
    assert (worst.document, worst.labels, worst.predicted) == ("#5", ["food"], ["music"])
    assert train_records[4]["text"].startswith(worst.text)
    assert [issue.loss for issue in issues] == sorted((issue.loss for issue in issues), reverse=True)
    assert worst.loss > 1.0


def test_labels_that_are_predicted_are_no_errors(nlp: Language, train_records: list[Record]) -> None:
    (only,) = label_errors(nlp, make_examples(nlp, flipped(train_records, 4, "food")), top=120)
    assert (only.labels, only.predicted) == (["food"], ["music"])
    assert label_errors(nlp, make_examples(nlp, train_records)) == []


def test_labels_that_are_not_known_are_no_errors() -> None:
    """Of a document that says nothing of a label, its prediction contradicts nothing."""
    nlp = make_nlp("textcat_graft_multilabel")
    examples = make_examples(nlp, flipped(make_records(60), 4, "food"))
    for example in examples:
        example.reference.cats = {"food": example.reference.cats["food"]}
    (only,) = label_errors(nlp, examples, top=60)
    assert (only.document, only.labels, only.predicted) == ("#5", ["food"], [])


@pytest.mark.parametrize("n_copies", [2, 3])
def test_copies_do_not_hide_a_wrong_label(nlp: Language, train_records: list[Record], n_copies: int) -> None:
    wrong = flipped(train_records, 4, "food")[4]
    issues = label_errors(nlp, make_examples(nlp, [*train_records, *[wrong] * n_copies]), top=n_copies)
    assert sorted(issue.document for issue in issues) == [f"#{121 + copy}" for copy in range(n_copies)]


def test_texts_that_recur_are_known(nlp: Language, train_records: list[Record]) -> None:
    """Held out together they would all be unknown, and predicted by chance."""
    recurring = [{"text": word, "label": label} for word, label in zip("uvw", TELLING, strict=False)] * 8
    wrong = {"text": "u", "label": recurring[1]["label"]}
    issues = label_errors(nlp, make_examples(nlp, [*train_records, *recurring, wrong]), top=30)
    assert [issue.document for issue in issues if issue.text in "uvw"] == [f"#{len(train_records) + 25}"]


@pytest.mark.parametrize("factory", ["textcat_graft", "textcat_graft_multilabel"])
def test_the_weight_of_an_example_does_not_change_its_loss(factory: str, train_records: list[Record]) -> None:
    nlp = make_nlp(factory)
    examples = make_examples(nlp, flipped(train_records, 4, "food"))
    (expected,) = label_errors(nlp, examples, top=1)
    examples[4].reference.user_data[WEIGHT_KEY] = 8.0
    (found,) = (issue for issue in label_errors(nlp, examples, top=120) if issue.document == "#5")
    assert found == expected


def test_label_errors_where_a_fold_cannot_be_trained() -> None:
    nlp = make_nlp()
    records = [{"text": "good", "label": "food"}, *({"text": "", "label": "sport"} for _ in range(3))]
    with pytest.warns(UserWarning, match="among 3 of 4 examples. No model can be trained without the others: "):
        issues = label_errors(nlp, make_examples(nlp, records))
    assert "#1" not in [issue.document for issue in issues]
    with pytest.raises(ValueError, match="No block finds a symbol"):
        label_errors(nlp, make_examples(nlp, [{**record, "text": ""} for record in records]))


def test_label_errors_does_not_warn_of_what_a_fold_lacks(train_records: list[Record]) -> None:
    nlp = make_nlp(
        learner={**PATH, "constraints": {"@graft_constraints": "spacy_graft.Constraints.v1", "deny": ["zebra"]}}
    )
    # Warnings are errors in tests.
    label_errors(nlp, make_examples(nlp, [{"text": "a zebra", "label": "food"}, *train_records[:40]]))


def test_label_errors_uses_given_names(nlp: Language, train_records: list[Record]) -> None:
    examples = make_examples(nlp, flipped(train_records, 4, "food"))
    (worst,) = label_errors(nlp, examples, top=1, names=[f"document {number}" for number in range(120)])
    assert worst.document == "document 4"


def test_label_errors_of_several_labels() -> None:
    nlp = make_nlp("textcat_graft_multilabel")
    (worst,) = label_errors(nlp, make_examples(nlp, flipped(make_records(60), 4, "food")), top=1)
    assert (worst.document, worst.labels) == ("#5", ["food"])


@pytest.mark.parametrize("n", [0, 1])
def test_label_errors_needs_two_examples(nlp: Language, examples: list[Example], n: int) -> None:
    with pytest.raises(ValueError, match=rf"\[textcat_graft\] .* at least 2 examples, not {n}\."):
        label_errors(nlp, examples[:n])


# estimate_memory


def test_memory_of_a_corpus(nlp: Language, examples: list[Example], train_records: list[Record]) -> None:
    estimate = estimate_memory(nlp, iter(examples))
    assert isinstance(estimate, checks.MemoryEstimate)
    assert (estimate.n_documents, estimate.n_measured) == (120, 120)
    (words,) = estimate.blocks
    assert isinstance(words, checks.BlockSize)
    assert (words.block, words.feature_kind) == ("words", "token n-gram")
    assert words.n_symbols == sum(len(record["text"].split()) for record in train_records)
    assert 0 < words.n_columns <= words.n_nodes
    assert 0 < words.n_bytes < estimate.total_bytes < estimate.peak_bytes


def test_the_columns_are_those_of_training(fitted: Language, nlp: Language, examples: list[Example]) -> None:
    report = fitted.get_pipe("textcat_graft").report  # type: ignore[attr-defined]
    assert estimate_memory(nlp, examples).blocks[0].n_columns == report.n_columns


def test_memory_is_extrapolated(nlp: Language, examples: list[Example]) -> None:
    measured, scaled = estimate_memory(nlp, examples), estimate_memory(nlp, examples, n_documents=1200)
    assert (scaled.n_documents, scaled.n_measured) == (1200, 120)
    assert scaled.blocks[0].n_symbols == 10 * measured.blocks[0].n_symbols
    assert scaled.peak_bytes == 10 * measured.peak_bytes


@pytest.mark.parametrize("n_documents", [-5, 119, 240.0])
def test_memory_of_fewer_documents_than_are_measured_is_refused(
    nlp: Language, examples: list[Example], n_documents: Any
) -> None:
    with pytest.raises(ValueError, match=f"n_documents must be an integer of at least 120, but is {n_documents}"):
        estimate_memory(nlp, examples, n_documents=n_documents)


def test_building_an_index_takes_more_without_a_cut_off(nlp: Language, examples: list[Example]) -> None:
    def building(min_df: int) -> float:
        words = {"words": {"@graft_features": "spacy_graft.TokenNgrams.v1", "min_df": min_df}}
        estimate = estimate_memory(make_nlp(features=words), examples)
        return (estimate.peak_bytes - estimate.total_bytes) / estimate.blocks[0].n_symbols

    assert building(1) == memory.BYTES_PER_SYMBOL_MIN_DF_1
    assert building(2) == memory.BYTES_PER_SYMBOL


def test_memory_of_combinations(nlp: Language, examples: list[Example]) -> None:
    pairs = {"pairs": {"@graft_features": "spacy_graft.Combinations.v1", "of": ["words"], "min_df": 2}}
    _, combined = estimate_memory(make_nlp(features=WORDS | pairs), examples).blocks
    assert (combined.block, combined.n_nodes, combined.n_columns) == ("pairs", 0, 0)
    assert combined.n_symbols > 0


def test_memory_of_no_examples_is_refused(nlp: Language) -> None:
    with pytest.raises(ValueError, match=r"\[textcat_graft\] .* at least 1 example, not 0\."):
        estimate_memory(nlp, [])


# Both


@pytest.mark.parametrize("check", PIPELINE_CHECKS)
def test_a_pipeline_is_not_changed(check: Check, fitted: Language, train_records: list[Record]) -> None:
    before, cats = fitted.to_bytes(exclude=["vocab"]), fitted("a goal in extra time").cats
    check(fitted, make_examples(fitted, train_records[:60]))
    assert fitted.to_bytes(exclude=["vocab"]) == before
    assert fitted("a goal in extra time").cats == cats


@pytest.mark.parametrize("check", PIPELINE_CHECKS)
def test_an_untrained_pipeline_stays_untrained(check: Check, nlp: Language, examples: list[Example]) -> None:
    check(nlp, examples[:30])
    assert not nlp.get_pipe("textcat_graft").is_initialized  # type: ignore[attr-defined]


@pytest.mark.parametrize("check", PIPELINE_CHECKS)
def test_components_are_chosen_by_name(check: Check, examples: list[Example]) -> None:
    nlp = with_two_components()
    with pytest.raises(ValueError, match="There are 2 graft components"):
        check(nlp, examples)
    with pytest.raises(ValueError, match=r"Did you mean 'several'\?"):
        check(nlp, examples, component="sevral")
    assert check(nlp, examples[:30], component="several") != check(nlp, examples[:30], component="textcat_graft")


@pytest.mark.parametrize("check", PIPELINE_CHECKS)
def test_earlier_components_annotate_the_documents(check: Check, train_records: list[Record]) -> None:
    """The block reads an attribute that only the component before it sets."""
    nlp = make_nlp(features={"tags": {"@graft_features": "spacy_graft.TokenNgrams.v1", "attr": "POS", "min_df": 1}})
    with pytest.raises(ValueError, match="needs documents annotated with POS"):
        check(nlp, make_examples(nlp, train_records[:30]))
    ruler = nlp.add_pipe("attribute_ruler", before="textcat_graft")
    ruler.add([[{"IS_ALPHA": True}]], {"POS": "X"})  # type: ignore[attr-defined]
    ruler.add([[{"ORTH": "goal"}], [{"ORTH": "salt"}]], {"POS": "NOUN"})  # type: ignore[attr-defined]
    assert check(nlp, make_examples(nlp, train_records[:30]))


@pytest.mark.parametrize("check", PIPELINE_CHECKS)
def test_a_pipeline_without_a_graft_component_is_refused(check: Check, blank: Language) -> None:
    with pytest.raises(ValueError, match="There is no enabled graft component"):
        check(blank, [])


def test_label_errors_choose_nothing(blank: Language) -> None:
    """Their short paths have no networks or word vectors; a warning would be an error here."""
    learner = {"@graft_learners": "spacy_graft.GraftingPath.v1", "network_choices": [0.0], "vectors_choices": [0.0]}
    nlp = make_nlp(learner=learner | {"network_alpha": 0.5})
    assert label_errors(nlp, make_examples(nlp, make_records(60, 1))) == []
