"""Model cards, and the scores with intervals that they have."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import srsly
from scipy.sparse import csr_array
from spacy.cli.package import package
from spacy.language import Language
from spacy.training import Example

import spacy_graft
from conftest import (
    TELLING,
    WORDS,
    Record,
    component_of,
    make_example,
    make_examples,
    make_nlp,
    make_records,
    train_fully,
)
from spacy_graft.explain.features import feature_text
from spacy_graft.graphs.edgelist import EdgeList
from spacy_graft.messages import percentage
from spacy_graft.model.sparse_linear import SNAPSHOT, snapshot_of
from spacy_graft.pipeline.card import (
    SHOWN_FEATURES,
    SHOWN_LABELS,
    add_card,
    code,
    markdown_table,
    model_card,
    named,
    package_readme,
    scores_section,
)
from spacy_graft.pipeline.dataset import dataset_figures
from spacy_graft.pipeline.dataset_scores import DatasetScores, bootstrapped, dataset_scores, mean_f
from spacy_graft.pipeline.notes import MARK
from spacy_graft.pipeline.targets import WEIGHT_KEY
from spacy_graft.pipeline.whole_save import save_whole

#: spaCy leaves files open.
package_files = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
SECTIONS = ["Intended use", "Training data", "Features", "Certificate", "Calibration"]


def noisy_examples(nlp: Language, n: int) -> list[Example]:
    """Documents of which every fifth has the label of another."""
    records = make_records(n, seed=7)
    for k, record in enumerate(records):
        record["label"] = next(iter(TELLING)) if k % 5 == 0 else record["label"]
    return make_examples(nlp, records)


@pytest.fixture
def own(fitted: Language) -> Language:
    """The trained pipeline, to be changed."""
    return make_nlp().from_bytes(fitted.to_bytes())


def test_a_card_has_all_sections(fitted: Language) -> None:
    component = component_of(fitted)
    card = model_card(component)
    assert re.findall(r"^#### (.+)$", card, re.MULTILINE) == SECTIONS
    assert "one of 3 labels: `food`, `music`, `sport`" in card
    assert component.report is not None
    assert f"{component.report.n_documents} labelled documents" in card
    assert f"{component.report.duality_gap:.2g} nats" in card
    assert model_card(component) == card


def test_a_card_names_the_features_that_decide(fitted: Language) -> None:
    component = component_of(fitted)
    rows = [line for line in model_card(component).splitlines() if line.startswith("| `food`")]
    (row,) = rows
    features = sorted(component.features(), key=lambda feature: -feature.effects["food"])
    for cell, sign in zip(row.removesuffix(" |").split(" | ")[1:], (1.0, -1.0), strict=True):
        of_sign = [feature for feature in features if sign * feature.weights["food"] > 0.0]
        assert cell == ", ".join(
            f"{code(feature.text)} {feature.weights['food']:+.2f}" for feature in of_sign[:SHOWN_FEATURES]
        )


def test_a_card_tells_features_of_the_same_text_apart(fitted: Language) -> None:
    """A word, and the n-gram of characters that is all of it."""
    snapshot = snapshot_of(component_of(fitted).model)
    terms, weights = snapshot.features.terms(0), np.ones(2)
    table = SimpleNamespace(blocks=["words", "characters"], terms=lambda _: terms)
    alike: Any = SimpleNamespace(blocks=snapshot.blocks, features=table)
    name = code(feature_text(snapshot.blocks, terms))
    assert named(alike, np.arange(2), weights) == f"{name} (`words`) +1.00, {name} (`characters`) +1.00"
    assert named(alike, np.arange(1), weights) == f"{name} +1.00"


def test_a_card_of_sparse_weights_is_the_same(own: Language) -> None:
    component = component_of(own)
    card, snapshot = model_card(component), snapshot_of(component.model)
    component.model.attrs[SNAPSHOT] = replace(snapshot, weights=csr_array(snapshot.weights))
    assert model_card(component) == card


def test_a_card_of_independent_labels() -> None:
    nlp = train_fully(make_nlp("textcat_graft_multilabel"), make_records(60))
    card = model_card(component_of(nlp))
    assert "any number of 3 labels" in card
    assert "`food` 0.50" in card


def test_a_card_of_a_model_without_features(nlp: Language, examples: list[Example]) -> None:
    nlp.initialize(lambda: examples)
    card = model_card(component_of(nlp))
    assert "has no features" in card
    assert "not trained by spacy-graft" in card


def test_notes_are_replaced_unless_they_are_of_others(own: Language) -> None:
    add_card(own)
    assert own.meta["notes"].startswith(MARK)
    own.meta["notes"] = MARK + " an older card"
    add_card(own)
    assert SECTIONS[0] in own.meta["notes"]
    own.meta["notes"] = "Ask Ann."
    add_card(own)
    assert own.meta["notes"] == "Ask Ann."
    assert "Ask Ann." in package_readme(own, component_of(own))


def test_training_and_calibration_write_cards(train_records: list[Record], dev_records: list[Record]) -> None:
    nlp = make_nlp("textcat_graft_multilabel")
    spacy_graft.fit(nlp, make_examples(nlp, train_records), dev=make_examples(nlp, dev_records))
    assert "chosen by cross-validation, and then trained on all of them" in nlp.meta["notes"]
    report = component_of(nlp).report
    assert report is not None
    report.n_folds = 0
    add_card(nlp)
    assert f"chosen by {len(dev_records)} of them" in nlp.meta["notes"]
    before = nlp.meta["notes"]
    trained_on = pytest.warns(UserWarning, match="chosen by these documents, and then trained")
    with trained_on, pytest.warns(UserWarning, match="No temperature"):
        spacy_graft.calibrate(nlp, make_examples(nlp, dev_records))
    assert nlp.meta["notes"] == before  # too few to change anything
    with pytest.warns(UserWarning, match="documents, and then trained"):
        scores = dataset_scores(component_of(nlp), make_examples(nlp, dev_records))
    assert scores.is_dev
    assert "The model was trained on these documents" in scores_section(scores, "dev", is_training=False)
    assert not dataset_scores(component_of(nlp), make_examples(nlp, make_records(60, 9))).is_dev
    others = make_records(250, 9)
    others[0]["label"] = next(one["label"] for one in others if one["label"] != others[0]["label"])  # a mistake
    spacy_graft.calibrate(nlp, make_examples(nlp, others))
    assert nlp.meta["notes"] != before


def test_an_edit_removes_the_card_and_scores(own: Language) -> None:
    add_card(own)
    scores = {"cats_score": 1.0, "cats_f_per_type": {}, f"{component_of(own).name}_loss": 3.0}
    own.meta["performance"] = {"tag_acc": 0.9, **scores}
    component_of(own).edit(deny=["*salt*"], nlp=own, resolve=False)
    assert not own.meta.get("notes")
    assert own.meta["performance"] == {"tag_acc": 0.9}


def test_a_fit_removes_the_scores_of_the_model_before(own: Language, train_records: list[Record]) -> None:
    own.meta["performance"] = {"tag_acc": 0.9, "cats_score": 1.0}
    spacy_graft.fit(own, make_examples(own, train_records[:60]))
    assert own.meta["performance"] == {"tag_acc": 0.9}


@package_files
def test_spacy_package_prints_the_card(own: Language, tmp_path: Path) -> None:
    save_whole(own, tmp_path / "model")
    assert SECTIONS[2] in srsly.read_json(tmp_path / "model" / "meta.json")["notes"]
    package(tmp_path / "model", tmp_path, name="graft_card", version="1.0.0", create_sdist=False)
    folder = tmp_path / "xx_graft_card-1.0.0"
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert all(f"#### {section}" in readme for section in SECTIONS)
    assert "| **Version** | `1.0.0` |" in readme
    assert any(line.startswith("spacy-graft") for line in srsly.read_json(folder / "meta.json")["requirements"])


@package_files
def test_spacy_package_keeps_a_card_with_scores(own: Language, tmp_path: Path, dev_records: list[Record]) -> None:
    scores = dataset_scores(component_of(own), make_examples(own, dev_records))
    save_whole(own, tmp_path / "model")
    card = package_readme(own, component_of(own), scores_section(scores, "dev.jsonl", is_training=False))
    (tmp_path / "model" / "README.md").write_text(card, encoding="utf-8")
    package(tmp_path / "model", tmp_path, name="graft_card", version="1.0.0", create_sdist=False)
    assert (tmp_path / "xx_graft_card-1.0.0" / "README.md").read_text(encoding="utf-8") == card
    assert "#### Scores on `dev.jsonl`, 30 documents" in card


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a|b", "`a|b`"), ("a`b", "``a`b``"), ("`", "`` ` ``"), (" the", "`␣the`"), ("a\nb", "`a\\nb`")],
)
def test_names_in_markdown(text: str, expected: str) -> None:
    assert code(text) == expected


def test_tables_escape_what_separates_cells() -> None:
    assert markdown_table(["x"], [[code("a|b")]]).splitlines()[2] == "| `a\\|b` |"


def test_a_card_says_how_many_labels_it_leaves_out(own: Language) -> None:
    component = component_of(own)
    snapshot = snapshot_of(component.model)
    many = [f"label{k}" for k in range(SHOWN_LABELS + 2)]
    weights = np.repeat(snapshot.weights[:, :1], len(many), axis=1)
    component.cfg["labels"] = many
    component.model.attrs[SNAPSHOT] = replace(snapshot, weights=weights, intercepts=np.zeros(len(many)))
    card = model_card(component)
    assert f"with weights (of the first {SHOWN_LABELS} of {len(many)} labels):" in card
    assert f"label{SHOWN_LABELS - 1}` |" in card
    assert f"`label{SHOWN_LABELS}`" not in card


def test_a_card_names_word_vectors(tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("salt 1 0\nsoup 1 0\ngoal 0 1\nmatch 0 1\npepper 1 0\n")
    features = {"words": WORDS["words"], "vectors": {"@graft_features": "spacy_graft.Vectors.v1"}}
    nlp = make_nlp(features=features, learner={"@graft_learners": "spacy_graft.Grafting.v1", "l1": 1.0})
    source = spacy_graft.registry.graft_vectors.get("spacy_graft.TextVectors.v1")(str(vectors))
    spacy_graft.fit(nlp, make_examples(nlp, make_records(90, 1)), vectors=source)
    card = model_card(component_of(nlp))
    assert "give scores to 5 words; those that can move a score most: `" in card
    assert "what its features and word vectors do not name" in card


def test_a_card_names_a_network(tmp_path: Path, own: Language) -> None:
    edges = tmp_path / "edges.tsv"
    edges.write_text("salt\tsoup\t1\n")
    learner = {"@graft_learners": "spacy_graft.GraftingPath.v1", "penalty": "l2", "network_alpha": 0.5}
    nlp = make_nlp(features={"words": WORDS["words"]}, learner=learner)
    spacy_graft.fit(nlp, make_examples(nlp, make_records(90, 1)), network=EdgeList(edges))
    card = model_card(component_of(nlp))
    assert "A network of related features (strength 0.5), which can come from outside these documents" in card
    assert "at zero weights; no L1 penalty)." in card
    assert "A network" not in model_card(component_of(own))


# scores


def assert_inside(scores: DatasetScores) -> None:
    for label in scores.labels.values():
        for estimate in (scores.accuracy, scores.macro_f, scores.log_loss, label.precision, label.recall):
            assert estimate is None or estimate.low <= estimate.value <= estimate.high


@pytest.mark.parametrize("factory", ["textcat_graft", "textcat_graft_multilabel"])
def test_scores_are_those_of_the_scorer(factory: str, train_records: list[Record]) -> None:
    nlp = train_fully(make_nlp(factory), train_records)
    component = component_of(nlp)
    examples = noisy_examples(nlp, 60)
    scores = dataset_scores(component, examples)
    for example in examples:
        example.predicted = nlp(example.reference.text)
    expected = component.score(examples)
    assert scores.n_documents == 60
    assert scores.macro_f.value == pytest.approx(expected["cats_macro_f"])
    for label, found in scores.labels.items():
        assert found.precision is not None
        assert found.recall is not None
        assert found.precision.value == pytest.approx(expected["cats_f_per_type"][label]["p"])
        assert found.recall.value == pytest.approx(expected["cats_f_per_type"][label]["r"])
    assert scores.log_loss.value == pytest.approx(scores.quality.log_loss)
    assert_inside(scores)
    # A document is a document, whatever it weighs in training.
    for k, example in enumerate(examples):
        example.reference.user_data[WEIGHT_KEY] = float(k + 1)
    assert dataset_scores(component, examples).quality == scores.quality


@pytest.mark.parametrize("factory", ["textcat_graft", "textcat_graft_multilabel"])
def test_soft_targets_are_right_from_a_half(factory: str, train_records: list[Record]) -> None:
    nlp = train_fully(make_nlp(factory), train_records)
    component = component_of(nlp)
    hard = noisy_examples(nlp, 40)
    scores, figures = dataset_scores(component, hard), dataset_figures(component, hard, False)
    for example in hard:
        example.reference.cats = {label: 0.9 if value else 0.05 for label, value in example.reference.cats.items()}
    soft = dataset_scores(component, hard)
    assert (soft.accuracy, soft.macro_f, soft.labels) == (scores.accuracy, scores.macro_f, scores.labels)
    assert dataset_figures(component, hard, False).n_wrong == figures.n_wrong


def test_documents_without_labels_do_not_count(fitted: Language, dev_records: list[Record]) -> None:
    examples = make_examples(fitted, dev_records)
    component = component_of(fitted)
    with pytest.warns(UserWarning, match="1 of 31 documents are left out of all scores"):
        scores = dataset_scores(component, [*examples, make_example(fitted, "salt", {})])
    assert scores.n_documents == len(examples)
    with pytest.raises(ValueError, match="None of the 1 documents has a label"):
        dataset_scores(component, [make_example(fitted, "salt", {})])


def test_a_label_that_is_neither_predicted_nor_annotated(fitted: Language) -> None:
    texts = [make_example(fitted, "salt and a spoon of sugar", {"food": 1.0, "music": 0.0, "sport": 0.0})]
    scores = dataset_scores(component_of(fitted), texts)
    assert scores.labels["music"].precision is scores.labels["music"].recall is None
    assert scores.macro_f.value == 1.0
    assert "| `music` | 0 | n/a |  | n/a |  |" in scores_section(scores, "one", is_training=False)


def test_bootstrap_of_a_mean() -> None:
    """Its interval is that of the normal approximation."""
    values = np.random.default_rng(1).normal(size=400)
    found = bootstrapped(lambda weights: float(weights @ values / 400), 400)
    half = 1.96 * values.std() / 20
    assert found.value == pytest.approx(values.mean())
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half), abs=0.02)


def test_mean_f_of_labels_that_occur() -> None:
    assert mean_f(np.array([[2.0, 0.0], [1.0, 0.0], [1.0, 0.0]])) == pytest.approx(4 / 6)
    assert mean_f(np.zeros((3, 2))) == 0.0


def test_too_few_documents_or_errors_have_no_interval(fitted: Language) -> None:
    examples = make_examples(fitted, make_records(60, seed=5))
    scores = dataset_scores(component_of(fitted), examples)
    assert scores.accuracy.value == 1.0
    assert math.isnan(scores.macro_f.low)
    assert not math.isnan(scores.log_loss.low)
    card = scores_section(scores, "dev", is_training=False)
    assert "| Macro-F1 (labels that occur: 3) | 100.0% | too few documents or errors |" in card
    few = dataset_scores(component_of(fitted), examples[:1])
    assert math.isnan(few.log_loss.high)
    section = scores_section(few, "dev", is_training=True)
    assert section.startswith(
        "#### Scores on `dev`, 1 document\n\nThe model's config names this file or folder as its training data: "
    )


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.0, "0.0%"),
        (1.0, "100.0%"),
        (0.9994, "99.9%"),
        (2999 / 3000, "99.97%"),
        (1e-5, "0.001%"),
        (1e-12, "0.000000%"),
    ],
)
def test_percentages_are_told_from_none_and_all(share: float, shown: str) -> None:
    assert percentage(share) == shown


def test_documents_of_other_components_labels_are_scored(fitted: Language, dev_records: list[Record]) -> None:
    component, examples = component_of(fitted), make_examples(fitted, dev_records)
    scores = dataset_scores(component, examples)
    for example in examples:
        example.reference.cats = {**example.reference.cats, "urgent": 1.0}
    assert dataset_scores(component, examples) == scores


def test_disabled_components_keep_their_cards(own: Language) -> None:
    """As two are trained one after the other."""
    first = own.pipe_names[-1]
    own.add_pipe(first, name="second", config={"features": WORDS})
    with own.select_pipes(enable="second"):
        spacy_graft.fit(own, make_examples(own, make_records(30)), dev=make_examples(own, make_records(9, 1)))
        assert [f"Model card of `{name}`" in own.meta["notes"] for name in (first, "second")] == [True, True]
