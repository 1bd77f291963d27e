"""Invalid input of components, and the errors that it raises."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.training import Example
from spacy.util import load_model_from_config

from conftest import PATH, WORDS, make_example, make_nlp
from spacy_graft import registry
from spacy_graft.extract.blocks import BlockKind
from spacy_graft.extract.metadata import DocAttributes
from spacy_graft.extract.tokens import TokenNgrams
from spacy_graft.graft.settings import GraftingPath
from spacy_graft.pipeline.factories import check_blocks_and_learner

#: All documents have the same words.
WITHOUT_FEATURES = pytest.mark.filterwarnings("ignore:The trained model has no features")
CATS: list[dict[str, Any]] = [{"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 1.0}]


def start(nlp: Language, cats: list[dict[str, Any]], text: str = "some words", **settings: Any) -> None:
    """Initialize, and run the first step, which reads the corpus."""
    examples = [make_example(nlp, text, one) for one in cats]
    component: Any = nlp.get_pipe(nlp.pipe_names[-1])
    component.initialize(lambda: examples, nlp=nlp, **settings)
    nlp.update(examples)


def test_what_has_no_weights_is_not_divided_and_has_no_training_to_end(nlp: Language) -> None:
    component: Any = nlp.get_pipe("textcat_graft")
    component.end_training()
    with pytest.raises(ValueError, match=r"\[textcat_graft\] The component has no weights yet"):
        component.divide_scores(2.0)


@pytest.mark.parametrize("name", ["textcat_graft", "textcat_graft_multilabel"])
@pytest.mark.parametrize("threshold", [5, -1, 1e300, "0.5"])
def test_a_threshold_that_is_no_probability(name: str, threshold: Any) -> None:
    with pytest.raises(ValueError, match=rf"\[{name}\] The threshold is .*, but it must be a number from 0 to 1"):
        spacy.blank("en").add_pipe(name, config={"threshold": threshold})


def test_no_examples(nlp: Language) -> None:
    with pytest.raises(ValueError, match=r"\[textcat_graft\] There are no examples to initialize with"):
        start(nlp, [])


def test_examples_that_are_there_once(nlp: Language) -> None:
    examples = iter([make_example(nlp, "some words", one) for one in CATS])
    nlp.initialize(lambda: examples)
    with pytest.raises(ValueError, match="but none when it was called again"):
        nlp.update([make_example(nlp, "some words", one) for one in CATS])


def test_something_else_than_examples(nlp: Language) -> None:
    with pytest.raises(TypeError, match="E978"):
        nlp.initialize(lambda: [nlp.make_doc("text")])  # type: ignore[list-item]


def test_something_else_than_a_callback(nlp: Language) -> None:
    component: Any = nlp.get_pipe("textcat_graft")
    with pytest.raises(TypeError, match="E930"):
        component.initialize([])


@pytest.mark.parametrize("cats", [[{"a": 1.0}], [{}], [{"a": 1.0}, {"a": 1.0}]])
def test_one_label_that_excludes_none(nlp: Language, cats: list[dict[str, float]]) -> None:
    with pytest.raises(
        ValueError, match=r"must be at least two different ones, but there are ('a'|none)\. .*multilabel"
    ):
        start(nlp, cats)


def test_no_label_of_several() -> None:
    with pytest.raises(ValueError, match=r"\[textcat_graft_multilabel\] There are no labels\. Annotate doc\.cats"):
        start(make_nlp("textcat_graft_multilabel"), [{}])


@WITHOUT_FEATURES
def test_one_label_that_may_hold_or_not() -> None:
    nlp = make_nlp("textcat_graft_multilabel")
    start(nlp, [{"a": 1.0}, {"a": 0.0}])
    assert set(nlp("some words").cats) == {"a"}


@pytest.mark.parametrize("value", [float("nan"), -1.0, 1.5, "1"])
def test_values_that_are_no_probability(nlp: Language, value: Any) -> None:
    with pytest.raises(ValueError, match=r"\[textcat_graft\] document 'some words' has .* for the label 'b'"):
        start(nlp, [*CATS, {"a": 0.0, "b": value}])


@pytest.mark.parametrize("cats", [{"a": 0.0, "b": 0.0}, {"a": 1.0, "b": 1.0}, {"a": 0.5}])
def test_exclusive_labels_that_do_not_sum_to_one(nlp: Language, cats: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"\[textcat_graft\] The labels of document 'some words' sum to"):
        start(nlp, [*CATS, cats])


@pytest.mark.parametrize(
    ("cats", "problem"),
    [
        ({"a": 0.0, "b": float("nan")}, "has nan for the label 'b'"),
        ({"a": 0.0, "b": "1"}, r"has '1' \(str\) for the label 'b'"),
        ({"a": 1.0, "b": 1.0}, "sum to 2 and not to 1"),
        ({}, "has no label"),
        ({3: 1.0}, r"has the label 3 \(int\)"),
        ({"": 1.0}, "has the label ''"),
    ],
)
@pytest.mark.parametrize("labels", [None, ["a", "b"]])
def test_initialize_finds_an_invalid_annotation(
    nlp: Language, cats: dict[Any, Any], problem: str, labels: list[str] | None
) -> None:
    examples = [make_example(nlp, f"words {i}", one) for i, one in enumerate([*CATS, cats])]
    component: Any = nlp.get_pipe("textcat_graft")
    with pytest.raises(ValueError, match=rf"'words 2' .*{problem}.* It is document 3 of the examples\."):
        component.initialize(lambda: examples, nlp=nlp, labels=labels)
    assert component.labels == ()


def test_initialize_finds_an_invalid_value_of_independent_labels() -> None:
    nlp = make_nlp("textcat_graft_multilabel")
    examples = [make_example(nlp, "words", cats) for cats in ({"a": 1.0, "b": 1.0}, {}, {"a": 2.0})]
    with pytest.raises(ValueError, match=r"document 'words' has 2\.0 for the label 'a'.* document 3 of"):
        nlp.initialize(lambda: examples)


@pytest.mark.parametrize(("label", "cats"), [("other", CATS), ("a", [*CATS, {"c": 1.0}])])
def test_a_positive_label_is_one_of_two(nlp: Language, label: str, cats: list[dict[str, float]]) -> None:
    with pytest.raises(ValueError, match=f"The positive label {label!r} is for scoring .* are 'a', 'b'"):
        start(nlp, cats, positive_label=label)


def test_independent_labels_have_no_positive_label() -> None:
    with pytest.raises(TypeError, match="Independent labels have no positive_label"):
        start(make_nlp("textcat_graft_multilabel"), CATS, positive_label="a")


def test_labels_that_initialize_did_not_name(nlp: Language) -> None:
    with pytest.raises(
        ValueError, match=r"has the label 'b', which the component does not have\. Its labels: 'a', 'c'"
    ):
        start(nlp, CATS, labels=["a", "c"])


@WITHOUT_FEATURES
def test_labels_that_come_later(nlp: Language) -> None:
    start(nlp, CATS)
    with pytest.raises(
        ValueError, match=r"'later' has the label 'new'.*\[initialize.components.textcat_graft\] labels"
    ):
        nlp.update([make_example(nlp, "later", {"new": 1.0})])


def test_labels_that_are_no_strings(nlp: Language) -> None:
    component: Any = nlp.get_pipe("textcat_graft")
    with pytest.raises(ValueError, match="Labels are non-empty strings, but one is 3"):
        component.add_label(3)
    with pytest.raises(ValueError, match="Labels are non-empty strings, but one is 3"):
        start(nlp, CATS, labels=["a", 3])
    with pytest.raises(ValueError, match="labels must be a list of strings, not the string 'sport'"):
        start(nlp, CATS, labels="sport")


def test_a_place_that_is_none(nlp: Language) -> None:
    with pytest.raises(ValueError, match=r"shards must be one of @graft_shards, .*and not str"):
        start(nlp, CATS, shards="index")


@pytest.mark.parametrize("text", ["", " \n "])
def test_documents_without_anything(nlp: Language, text: str) -> None:
    message = r"\[textcat_graft\] No block finds a symbol in the 2 training documents.*'words'"
    with pytest.raises(ValueError, match=message):
        start(nlp, CATS, text=text)


@WITHOUT_FEATURES
def test_label_that_is_never_positive(nlp: Language) -> None:
    with pytest.warns(UserWarning, match=r"\[textcat_graft\] No training document is positive for 'c'"):
        start(nlp, [*CATS, {"a": 1.0, "c": 0.0}])
    cats = nlp("some words").cats
    assert cats["c"] == min(cats.values())


@WITHOUT_FEATURES
def test_label_that_is_never_positive_of_several() -> None:
    nlp = make_nlp("textcat_graft_multilabel")
    with pytest.warns(UserWarning, match=r"No training document is positive for 'b', 'c'"):
        start(nlp, [{"a": 1.0, "b": 0.0, "c": 0.0}, {"a": 0.0, "b": 0.0}])
    cats = nlp("some words").cats
    assert cats["b"] < 0.5
    assert cats["c"] < 0.5


def test_min_df_above_the_number_of_documents_leaves_the_intercepts() -> None:
    nlp = make_nlp(features={"words": {**WORDS["words"], "min_df": 100}}, learner={**PATH, "balance": 0.0})
    with pytest.warns(UserWarning, match=r"in as many of the 4 training documents as min_df asks for \(words: 100\)"):
        start(nlp, [*CATS, CATS[0], CATS[0]])
    assert nlp("some words").cats["a"] == pytest.approx(0.75)
    component: Any = nlp.get_pipe("textcat_graft")
    assert component.features() == []


def test_name_that_is_taken(nlp: Language) -> None:
    with pytest.raises(ValueError, match="E007"):
        nlp.add_pipe("textcat_graft")


def test_no_feature_blocks() -> None:
    with pytest.raises(ValueError, match=r"\[textcat_graft\] There are no feature blocks"):
        make_nlp(features={})


@pytest.mark.parametrize(
    ("option", "message"), [({"min_df": 0}, "min_df"), ({"max_length": 0}, "max_length"), ({"attr": "LOWERS"}, "LOWER")]
)
def test_options_of_blocks(option: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_nlp(features={"words": {**WORDS["words"], **option}})


DATES = {"@graft_features": "spacy_graft.DocAttributes.v1", "metadata": ["dc:date"]}


def constrained(**options: Any) -> dict[str, Any]:
    return {**PATH, "constraints": {"@graft_constraints": "spacy_graft.Constraints.v1", **options}}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"features": {"words.lower": WORDS["words"]}}, "'words.lower' in features cannot be a name in a config"),
        ({"features": {"a\nb": WORDS["words"]}}, "cannot be a name in a config"),
        ({"features": {"m": {**DATES, "metadata": ["$year"]}}}, r"features.m.metadata has '\$year', which a config"),
        ({"features": {"m": {**DATES, "bins": {"dc:date": [2000]}}}}, "bins has the key 'dc:date', .* Give pairs"),
        ({"learner": constrained(deny=["$5"])}, r"learner.constraints.deny has '\$5', .* constraints can have '\?'"),
        ({"learner": constrained(signs={"a:b": "positive"})}, "signs has the key 'a:b', .* Give pairs"),
        ({"learner": constrained(locked={"v1.0": {"a": 1.0}})}, "locked has the key 'v1.0', .* Give rows"),
        ({"learner": constrained(locked={"word": {"#x": 1.0}})}, "locked has the key '#x', .* Give rows"),
    ],
)
def test_settings_that_a_saved_pipeline_would_not_have(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        spacy.blank("en").add_pipe("textcat_graft", config=config)


def test_bins_may_be_pairs() -> None:
    nlp = make_nlp(features={"dates": {**DATES, "bins": [["dc:date", [2000]]]}})
    again = load_model_from_config(nlp.config)
    assert again.get_pipe("textcat_graft").blocks == nlp.get_pipe("textcat_graft").blocks
    wrong: list[tuple[Any, str]] = [([2000], "edges by name"), ([["dc:date", [1]]] * 2, "twice"), ({1: [2]}, "by name")]
    for bins, message in wrong:
        with pytest.raises(ValueError, match=message):
            DocAttributes(metadata=["dc:date"], bins=bins)


def test_settings_of_others_need_not_be_in_a_config() -> None:
    """What a registered function of another package makes can hold anything."""

    @dataclass(frozen=True)
    class Lexicon(TokenNgrams):
        words: tuple[str, ...] = ("$5", ":)")

    registry.graft_features.register("test.Lexicon.v1", func=Lexicon)
    assert make_nlp(features={"words": {"@graft_features": "test.Lexicon.v1"}}).pipe_names == ["textcat_graft"]


def test_something_else_than_a_document(fitted: Language) -> None:
    component: Any = fitted.get_pipe("textcat_graft")
    doc = fitted.make_doc("some words")
    for call in (component.predicted, component.explain):
        with pytest.raises(ValueError, match=r"Give a Doc, such as nlp\(text\), and not 'text'"):
            call("text")
        with pytest.raises(ValueError, match=r"or span.as_doc\(\), and not some"):
            call(doc[:1])


def test_something_else_than_a_block() -> None:
    with pytest.raises(
        ValueError, match=r"\[textcat_graft\] The feature block 'words' is 3\. Make it with one of @graft_features"
    ):
        make_nlp(features={"words": 3})


def test_a_block_with_an_unknown_value_of_items() -> None:
    """Of another package: those of this one say it themselves."""
    marks = SimpleNamespace(kind=BlockKind.ITEMS, value="count", width=1, min_df=1, penalty_factor=1.0)
    with pytest.raises(ValueError, match="value must be one of binary, log_count, tf_idf, but is 'count'"):
        check_blocks_and_learner("textcat_graft", {"marks": marks}, GraftingPath())


@pytest.mark.parametrize("learner", [{"@optimizers": "Adam.v1"}, {"@graft_features": "spacy_graft.TokenNgrams.v1"}])
def test_something_else_than_a_learner(learner: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"\[textcat_graft\] The learner is .*\. Make it with one of @graft_learners"):
        make_nlp(learner=learner)


def test_running_without_weights(nlp: Language) -> None:
    with pytest.raises(ValueError, match=r"\[textcat_graft\] The component has no weights yet"):
        nlp("some words")
    with pytest.raises(ValueError, match="no weights yet"):
        nlp.update([make_example(nlp, "some words", CATS[0])])


def test_rehearsal(fitted: Language) -> None:
    examples: list[Example] = [make_example(fitted, "some words", {})]
    with pytest.raises(NotImplementedError, match=r"\[textcat_graft\] Rehearsal is .*exclude=\['textcat_graft'\]"):
        fitted.rehearse(examples, sgd=fitted.create_optimizer())


def test_explaining_a_label_there_is_not(fitted: Language) -> None:
    component: Any = fitted.get_pipe("textcat_graft")
    with pytest.raises(ValueError, match=r"There is no label 'war'\. The labels: 'food', 'music', 'sport'"):
        component.explain(fitted("salt"), label="war")
    with pytest.raises(ValueError, match=r"A label is expected as one string, not \['food'\]"):
        component.explain(fitted("salt"), label=["food"])


def test_errors_of_a_document_go_to_the_error_handler(fitted: Language) -> None:
    nlp = spacy.blank("xx")
    nlp.add_pipe("textcat_graft", source=fitted)
    seen: list[str] = []
    nlp.set_error_handler(lambda name, component, docs, error: seen.append(name))  # type: ignore[arg-type, return-value]
    component: Any = nlp.get_pipe("textcat_graft")
    component.model, model = spacy.blank("xx"), component.model
    try:
        assert list(nlp.pipe(["a", "b"])) == []
    finally:
        component.model = model
        component.set_error_handler(spacy.util.raise_error)
    assert seen


def test_labels_that_are_not_among_those_given(nlp: Language) -> None:
    message = r"\[textcat_graft\] .* has the label 'c', which the component does not have.*in another pipeline"
    with pytest.raises(ValueError, match=message):
        start(nlp, [CATS[0], {"b": 0.0, "c": 1.0}], labels=["a", "b"])


def test_an_empty_label_is_that_of_the_document_that_has_it(nlp: Language) -> None:
    docs = [{**cats, "": 0.0} for cats in CATS]
    with pytest.raises(ValueError, match=r"has the label '' .* It is document 3 of the examples"):
        start(nlp, [*docs, {"a": 0.0, "b": 0.0, "": 1.0}])
    with pytest.raises(ValueError, match="Labels are non-empty strings, but one is ''"):
        start(nlp, docs)


@WITHOUT_FEATURES
def test_labels_that_do_not_hold_need_not_be_those_of_the_component(nlp: Language) -> None:
    """As files have them: it is the document with the label that is named."""
    docs = [{**cats, "c": 0.0} for cats in CATS]
    start(nlp, docs, labels=["a", "b"])
    examples = [make_example(nlp, f"words {i}", one) for i, one in enumerate([*docs, {"a": 0.0, "b": 0.0, "c": 1.0}])]
    nlp.get_pipe("textcat_graft").initialize(lambda: examples, labels=["a", "b"])  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="document 'words 2' has the label 'c'"):
        nlp.update(examples)


def test_labels_of_another_component_of_the_pipeline(nlp: Language) -> None:
    """The labels of a document that hold are one of each component: the sum is not what is wrong."""
    message = r"has the label 'd', which the component does not have.*in another pipeline.* It is document 1 of"
    with pytest.raises(ValueError, match=message):
        start(nlp, [{**cats, "d": 1.0} for cats in CATS], labels=["a", "b"])


@pytest.mark.filterwarnings("ignore:.*held-out documents that choose the model are training documents too")
def test_examples_of_another_vocab(nlp: Language) -> None:
    other = spacy.blank("xx")
    examples = [make_example(other, f"{label}{n} text", {"a": label == "a", "b": label == "b"})
                for label in "ab" for n in range(3) for _ in range(3)]  # fmt: skip
    nlp.initialize(lambda: examples)
    nlp.update(examples, sgd=nlp.create_optimizer())
    assert nlp.evaluate(examples)["cats_score"] == 1.0
    component: Any = nlp.get_pipe("textcat_graft")
    assert {feature.text for feature in component.features()} <= {"a0", "a1", "a2", "b0", "b1", "b2", "text"}


def test_words_that_a_memory_zone_has_forgotten(nlp: Language) -> None:
    with nlp.memory_zone():
        examples = [make_example(nlp, f"{label}{n} text", {"a": label == "a", "b": label == "b"})
                    for label in "ab" for n in range(3) for _ in range(3)]  # fmt: skip
        nlp.initialize(lambda: examples)
        nlp.update(examples)
    component: Any = nlp.get_pipe("textcat_graft")
    with pytest.raises(ValueError, match=r"\[textcat_graft\] The vocab of this pipeline does not have a word"):
        component.finish_update()


def test_documents_that_a_memory_zone_would_forget() -> None:
    nlp = make_nlp(keep_corpus=True)
    with nlp.memory_zone(), pytest.raises(ValueError, match="a memory zone forgets them when it ends"):
        start(nlp, CATS)


@WITHOUT_FEATURES
def test_kept_documents_are_not_loaded_in_a_memory_zone(tmp_path: Path) -> None:
    """Their words would be forgotten, and the component could not be saved or edited any more."""
    nlp, other = make_nlp(keep_corpus=True), make_nlp(keep_corpus=True)
    start(nlp, CATS)
    trained: Any = nlp.get_pipe("textcat_graft")
    component: Any = other.get_pipe("textcat_graft")
    data = trained.to_bytes(exclude=["vocab"])
    trained.to_disk(tmp_path / "model", exclude=["vocab"])
    with other.memory_zone():
        with pytest.raises(ValueError, match=r"cannot be loaded: .* a memory zone forgets them"):
            component.from_bytes(data)
        with pytest.raises(ValueError, match=r"model: .* a memory zone forgets them"):
            component.from_disk(tmp_path / "model", exclude=["vocab"])
    assert not component.is_initialized
    assert component.from_bytes(data).to_bytes(exclude=["vocab"]) == data


@WITHOUT_FEATURES
def test_numpy_truth_values_are_targets(nlp: Language) -> None:
    start(nlp, [{"a": np.True_, "b": np.False_}, {"a": np.False_, "b": np.True_}] * 3)


@WITHOUT_FEATURES
@pytest.mark.parametrize("option", ["network_choices", "vectors_choices"])
def test_strengths_of_what_there_is_not(option: str) -> None:
    nlp = make_nlp(learner={**PATH, option: [0.1]})
    with pytest.warns(UserWarning, match=f"{option} of the learner has no effect without a"):
        start(nlp, CATS)
