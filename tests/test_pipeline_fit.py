"""``spacy_graft.fit``."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import spacy
from scipy.sparse import csr_array
from spacy.language import Language
from spacy.training import Example
from thinc.api import Config

import spacy_graft
from conftest import PATH, TELLING, WORDS, Record, component_of, make_example, make_examples, make_nlp
from spacy_graft.graft.report import Report
from spacy_graft.graft.settings import GraftingPath
from spacy_graft.held_out import (
    MOST_COPIES,
    REFIT_GRID,
    STRONGEST_REFIT,
    FoldPoint,
    Judge,
    PlainTargets,
    is_exhausted,
    judged_together,
    refit_grid,
    rows_of_splits,
    stronger,
)
from spacy_graft.pipeline.judging import held_out_of
from spacy_graft.pipeline.labelled import examples_of
from spacy_graft.pipeline.training import Training

ONE_L1 = {"@graft_learners": "spacy_graft.Grafting.v1", "l1": 1.0}


def test_one_l1_strength_is_trained_to_the_certificate(train_records: list[Record]) -> None:
    nlp = make_nlp(learner=ONE_L1)
    report = spacy_graft.fit(nlp, make_examples(nlp, train_records))
    assert report is component_of(nlp).report
    assert report.finished
    assert report.relative_gap <= 1e-3
    assert report.l1 == 1.0
    assert nlp("roast potatoes and salt").cats["food"] > 0.5


def test_the_last_good_point_on_dev_is_chosen(
    train_records: list[Record], dev: list[Example], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then it is trained again on dev as well."""
    monkeypatch.setattr("spacy_graft.pipeline.folds.ENOUGH_HELD_OUT", len(dev))
    nlp = make_nlp()
    report = spacy_graft.fit(nlp, make_examples(nlp, train_records), dev=dev)
    history = component_of(nlp).history
    *points, last = history
    least = min(points, key=lambda record: record["log_loss"])
    best = [record for record in points if record["log_loss"] <= least["log_loss"] + record["difference_error"]][-1]
    assert report.l1_ratio == pytest.approx(best["l1_ratio"])
    assert report.refit == best["refit"] == last["refit"]
    assert report.n_held_out == len(dev)
    assert last["log_loss"] is None
    assert report.seconds


def test_without_dev_the_point_is_chosen_on_documents_held_out(train_records: list[Record]) -> None:
    nlp = make_nlp()
    records = [*train_records, *({**record, "text": f"then {record['text']}"} for record in train_records)]
    report = spacy_graft.fit(nlp, make_examples(nlp, records))
    assert 0.05 <= report.l1_ratio < 1.0
    assert report.finished
    assert component_of(nlp).features()[0].df > 0
    assert nlp("roast potatoes and salt").cats["food"] > 0.5
    # All documents are trained on in the end.
    telling = {feature.text: feature.df for feature in component_of(nlp).features()}
    n_docs = sum("salt" in record["text"].split() for record in records)
    assert telling["salt"] == n_docs


def test_a_path_on_few_documents_is_gone_down_to_its_end(nlp: Language, examples: list[Example]) -> None:
    report = spacy_graft.fit(nlp, examples[:8])
    assert report.finished
    assert report.l1_ratio == pytest.approx(0.05)


@pytest.mark.slow
def test_the_last_good_point_over_all_folds_is_chosen(train_records: list[Record]) -> None:
    """Cross-validation by hand, with the public component."""
    nlp = make_nlp()
    examples = make_examples(nlp, train_records)
    report = spacy_graft.fit(nlp, examples)
    shares = np.array([[example.reference.cats[label] for label in TELLING] for example in examples]).mean(axis=0)
    scores, held_out_of_all = [], []
    fold_of = folds(examples)
    for fold in np.unique(fold_of):
        again = make_nlp()
        parts = make_examples(again, train_records)
        kept = [example for example, number in zip(parts, fold_of, strict=True) if number != fold]
        held_out = [example for example, number in zip(parts, fold_of, strict=True) if number == fold]
        again.initialize(lambda kept=kept: kept)
        component = component_of(again)
        judge = held_out_of(component, held_out, shares)
        path: list[np.ndarray] = []
        sizes: list[int] = []
        while len(path) < PATH["steps"] and not is_exhausted(list(map(judge.doubting_loss, path)), sizes):
            again.update(kept[:2])
            assert component.report is not None
            sizes.append(component.report.n_active)
            path.append(component.model.predict([example.predicted for example in held_out]))
        scores.append(path + path[-1:] * (PATH["steps"] - len(path)))
        held_out_of_all += held_out
    everything = held_out_of(component_of(nlp), held_out_of_all, shares)
    losses = np.empty((PATH["steps"], len(held_out_of_all)))
    for step in range(PATH["steps"]):
        pooled = np.concatenate([path[step] for path in scores])
        losses[step] = everything.losses(everything.probabilities(everything.adjustment(pooled).of(pooled, shares)))
    means = losses.mean(axis=1)
    errors = (losses - losses[means.argmin()]).std(axis=1, ddof=1) / np.sqrt(len(held_out_of_all))
    (good,) = np.nonzero(means - means.min() <= errors)
    assert report.l1_ratio == pytest.approx(0.05 ** ((good[-1] + 1) / PATH["steps"]))
    assert report.log_loss == pytest.approx(means[good[-1]])


def test_stronger_refits_are_tried_while_they_are_better() -> None:
    grid, learner = list(REFIT_GRID), GraftingPath()
    assert stronger(grid, [4.0, 3.0, 1.0, 2.0]) is None
    assert stronger(grid, [4.0, 3.0, 2.0, 1.0]) == 4.0 * REFIT_GRID[-1]
    assert stronger([*grid, STRONGEST_REFIT], [5.0, 4.0, 3.0, 2.0, 1.0]) is None
    assert stronger([None], [1.0]) is None
    assert stronger([2.0], [1.0]) is None
    assert refit_grid(learner, 3.0) == REFIT_GRID
    assert refit_grid(learner, 200.0) == (*REFIT_GRID, 128.0, 512.0)
    assert refit_grid(replace(learner, refit=3.0), 200.0) == (3.0,)


def test_points_of_folds_are_judged_by_the_refits_that_all_have_tried() -> None:
    rng = np.random.default_rng(0)
    targets = np.eye(2)[rng.integers(2, size=40)]
    judge = Judge(PlainTargets(targets, np.ones(targets.shape, np.bool_), np.ones(40)), True, np.full(2, 0.5))
    scores = 0.1 * rng.normal(size=(40, 2))
    # The stronger the refit, the smaller are scores that say nothing.
    points = [
        FoldPoint((*REFIT_GRID, *more), np.array([scores[part] / (k + 1) for k in range(4 + len(more))]), Report())
        for part, more in ((slice(0, 20), (128.0, 512.0)), (slice(20, 40), (128.0,)))
    ]
    report, losses = judged_together(points, judge, tempered=False)
    assert report.refit in (*REFIT_GRID, 128.0)
    assert len(losses) == 40


@pytest.mark.slow
def test_the_refit_is_chosen_as_well(train_records: list[Record]) -> None:
    reports = []
    for refit in ("auto", *REFIT_GRID):
        nlp = make_nlp(learner={**PATH, "refit": refit})
        reports.append(spacy_graft.fit(nlp, make_examples(nlp, train_records)))
    chosen, *fixed = reports
    assert [report.refit for report in fixed] == list(REFIT_GRID)
    assert REFIT_GRID[0] <= (chosen.refit or 0.0) <= STRONGEST_REFIT
    assert chosen.log_loss is not None
    assert all(report.log_loss is not None and chosen.log_loss <= report.log_loss for report in fixed)


def test_labels_are_the_same_in_all_folds(blank: Language) -> None:
    """Whichever comes first among a fold's documents, and with sparse annotation."""
    rows = [("a thing", "a"), *[(f"bee {i}", "b") for i in range(12)], *[(f"a thing {i}", "a") for i in range(12)]]
    probabilities = []
    for sparse in (True, False):
        nlp = make_nlp()
        examples = [
            make_example(nlp, text, {label: 1.0} if sparse else {"a": float(label == "a"), "b": float(label == "b")})
            for text, label in rows
        ]
        spacy_graft.fit(nlp, examples)
        probabilities.append(nlp("a thing").cats["a"])
    assert probabilities[0] == pytest.approx(probabilities[1])
    assert probabilities[0] > 0.7


@pytest.mark.filterwarnings("ignore:.*No training document is positive")
def test_labels_added_by_hand_and_labels_of_one_document(blank: Language) -> None:
    nlp = make_nlp()
    component_of(nlp).add_label("z")
    rows = [*[(f"a thing {i}", "a") for i in range(12)], *[(f"bee {i}", "b") for i in range(12)], ("see", "c")]
    spacy_graft.fit(nlp, [make_example(nlp, text, {label: 1.0}) for text, label in rows])
    assert component_of(nlp).labels == ("z", "a", "b", "c")


def test_folds_that_lack_what_the_corpus_has_do_not_choose() -> None:
    """All that is not empty is a copy of one text, which is held out as a whole."""
    nlp = make_nlp()
    rows = [*[("", "ab"[i % 2]) for i in range(40)], *[("good film", "a")] * 3]
    with pytest.warns(UserWarning, match="No held-out document chooses the model.*No block finds a symbol in the 32"):
        report = spacy_graft.fit(nlp, [make_example(nlp, text, {label: 1.0}) for text, label in rows])
    assert (report.n_folds, report.n_documents) == (0, 43)
    assert nlp("good film").cats["a"] > nlp("").cats["a"]


def test_other_errors_in_folds_end_the_training(monkeypatch: pytest.MonkeyPatch, train_records: list[Record]) -> None:
    def failing(*_: Any) -> None:
        raise ValueError("a damaged file")

    monkeypatch.setattr("spacy_graft.pipeline.fit.cross_validated", failing)
    nlp = make_nlp()
    with pytest.raises(ValueError, match="a damaged file"):
        spacy_graft.fit(nlp, make_examples(nlp, train_records))


@pytest.mark.filterwarnings("ignore:The trained model has no features")
@pytest.mark.parametrize("n_labels", [2, 15])
def test_folds_of_one_label_and_labels_of_one_document(n_labels: int) -> None:
    nlp = make_nlp()
    labels = [f"label{i}" for i in range(n_labels)]
    of = [0] * 12 + [1] if n_labels == 2 else list(range(n_labels))
    examples = [make_example(nlp, f"word{i} text", {label: float(label == labels[i]) for label in labels}) for i in of]
    assert spacy_graft.fit(nlp, examples) is component_of(nlp).report


def test_with_fewer_documents_than_it_takes_to_choose_the_first_refit_stands() -> None:
    nlp = make_nlp(learner={**PATH, "refit": 1.0})
    rows = [*[(f"a thing {i}", "a") for i in range(4)], *[(f"bee {i}", "b") for i in range(4)]]
    report = spacy_graft.fit(nlp, [make_example(nlp, text, {label: 1.0}) for text, label in rows])
    assert report.refit == 1.0
    assert "refit" in report.seconds


@pytest.mark.filterwarnings("ignore:The trained model has no features")
def test_documents_of_which_nothing_is_known_choose_nothing() -> None:
    """They are as if they were not there: two others are too few to choose by."""
    nlp = make_nlp("textcat_graft_multilabel")
    rows = [("a thing", {"a": 1.0, "b": 0.0}), ("bee", {"a": 0.0, "b": 1.0})]
    unknown: list[tuple[str, dict[str, float]]] = [(f"see {i}", {}) for i in range(30)]
    report = spacy_graft.fit(nlp, [make_example(nlp, *row) for row in rows + unknown])
    assert (report.n_folds, report.temperature) == (0, 1.0)
    known = [(f"{text} {i}", cats) for text, cats in rows for i in range(6)]
    assert spacy_graft.fit(nlp, [make_example(nlp, *row) for row in known + unknown]).n_folds == 4


def test_examples_without_annotation(blank: Language) -> None:
    nlp = make_nlp()
    for label in "ab":
        component_of(nlp).add_label(label)
    with pytest.raises(ValueError, match="None of the 2 examples has a label"):
        spacy_graft.fit(nlp, [make_example(nlp, text, {}) for text in ("one", "two")])


def folds(examples: list[Example], n_folds: int | None = None) -> np.ndarray:
    """The fold of each example."""
    component = component_of(make_nlp("textcat_graft_multilabel"))
    component.initialize(lambda: examples)
    assert component.training is not None
    component.training.add_examples([])
    return component.training.corpus.folds(n_folds)


def test_folds_take_turns_within_each_label(blank: Language) -> None:
    examples = [make_example(blank, str(i), {"a": float(i % 2), "b": float(i % 2 == 0)}) for i in range(60)]
    fold_of = folds(examples, 10)
    assert [example.text for example, fold in zip(examples, fold_of, strict=True) if fold == 0] == [
        "0", "1", "20", "21", "40", "41",
    ]  # fmt: skip
    assert np.bincount(fold_of).tolist() == [6] * 10


def random_examples(blank: Language, n: int, n_texts: int) -> list[Example]:
    """Examples with random texts, at most as many different ones, and random labels."""
    draw = random.Random(n)
    texts = [f"text {draw.randrange(n_texts)}" for _ in range(n)]
    return make_examples(blank, [{"text": text, "label": draw.choice(["food", "music", "sport"])} for text in texts])


@pytest.mark.parametrize(("n", "n_texts"), [(50, 40), (99, 60), (400, 40), (400, 300)])
def test_copies_are_in_one_fold(blank: Language, n: int, n_texts: int) -> None:
    examples = random_examples(blank, n, n_texts)
    fold_of = folds(examples, 5)
    folds_of: dict[str, set[int]] = {}
    for example, fold in zip(examples, fold_of.tolist(), strict=True):
        folds_of.setdefault(example.reference.text, set()).add(fold)
    n_copies = Counter(example.reference.text for example in examples)
    assert {len(found) for text, found in folds_of.items() if n_copies[text] <= MOST_COPIES} <= {1}
    # Those of which there are more are in nearly as many as they can be.
    assert all(
        len(found) >= min(n_copies[text], 5) - 2 for text, found in folds_of.items() if n_copies[text] > MOST_COPIES
    )
    most = max(n_copies.values())
    for label in ("food", "music", "sport"):
        sizes = np.bincount(fold_of[[example.reference.cats[label] == 1.0 for example in examples]], minlength=5)
        assert np.ptp(sizes) <= most
    assert np.ptp(np.bincount(fold_of, minlength=5)) <= most
    np.testing.assert_array_equal(fold_of, folds(examples, 5))


def test_without_copies_documents_take_turns(blank: Language) -> None:
    examples = [make_example(blank, str(i), {"food": 1.0 if i % 3 else 0.0, "music": 0.0}) for i in range(57)]
    np.testing.assert_array_equal(folds(examples, 5), folds(examples, 10) % 5)


@pytest.mark.parametrize(("n", "n_texts"), [(2, 1), (3, 2), (11, 1), (30, 3)])
def test_frequent_texts_are_spread_over_the_folds(blank: Language, n: int, n_texts: int) -> None:
    sizes = np.bincount(folds(random_examples(blank, n, n_texts), 5), minlength=5)
    assert sizes.max() <= -(-n // 5)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_label_of_one_document_is_not_held_out_with_it(sparse: bool) -> None:
    """By the only fold; where such labels are many, what happens to them counts."""
    for n_labels, n_expected in ((1, 250), (13, 250), (14, 264)):
        targets = np.zeros((1000 + n_labels, 1 + n_labels))
        targets[:1000, 0], targets[range(1000, 1000 + n_labels), range(1, 1 + n_labels)] = 1.0, 1.0
        fold_of = np.append(np.arange(1000) % 4, np.zeros(n_labels, np.int64))
        ((kept, held_out),) = rows_of_splits(fold_of, csr_array(targets) if sparse else targets)
        assert len(held_out) == n_expected
        np.testing.assert_array_equal(np.sort(np.append(kept, held_out)), np.arange(1000 + n_labels))


def test_labels_of_one_document_choose_nothing() -> None:
    """A held-out one is always a label that the fold does not have: this asks for probabilities that are too sure."""
    targets, fold_of = np.eye(40), np.arange(40) % 4
    assert rows_of_splits(fold_of, targets) == []
    targets[:4] = targets[5:9]
    assert rows_of_splits(fold_of, targets) == []
    # Documents of no label tell that they have none.
    targets[30:32] = 0.0
    assert len(rows_of_splits(fold_of, targets)) == 4


def test_components_before_annotate_and_are_left_alone() -> None:
    nlp = spacy.blank("xx")
    ruler = nlp.add_pipe("attribute_ruler")
    ruler.add(patterns=[[{"LOWER": "salt"}]], attrs={"POS": "NOUN"})  # type: ignore[attr-defined]
    ruler.add(patterns=[[{"LOWER": {"NOT_IN": ["salt"]}}]], attrs={"POS": "VERB"})  # type: ignore[attr-defined]
    features = {"pos": {**WORDS["words"], "attr": "POS"}}
    nlp.add_pipe("textcat_graft", config={"features": features, "learner": ONE_L1})
    texts = ["salt", "run"] * 10
    examples = [make_example(nlp, text, {"food": float(text == "salt"), "not": float(text == "run")}) for text in texts]
    spacy_graft.fit(nlp, examples)
    assert nlp("Salt").cats["food"] > 0.5
    assert {feature.text for feature in component_of(nlp).features()} <= {"NOUN", "VERB"}
    assert not examples[0].predicted.has_annotation("POS")


def test_a_metric_without_dev_is_told_of(train_records: list[Record]) -> None:
    nlp = make_nlp(learner={**PATH, "metric": "cats_macro_f"})
    with pytest.warns(UserWarning, match="metric = 'cats_macro_f' of the learner has no effect without dev"):
        spacy_graft.fit(nlp, make_examples(nlp, train_records))


def test_dev_without_examples(nlp: Language, examples: list[Example]) -> None:
    with pytest.raises(ValueError, match="There are no dev examples"):
        spacy_graft.fit(nlp, examples, dev=[])


@pytest.mark.filterwarnings("ignore:.*nothing to score the component by")
@pytest.mark.filterwarnings("ignore:.*held-out documents has a label")
def test_dev_that_cannot_be_scored(train_records: list[Record]) -> None:
    """A path needs no score, and no labels: then its last point is taken."""
    one = {"@graft_learners": "spacy_graft.Grafting.v1", "l1": 1.0}
    for scorer, known in ((None, True), ({"@scorers": "spacy_graft.textcat_scorer.v1"}, False)):
        for learner in (PATH, one):
            nlp = make_nlp(learner=learner, scorer=scorer)
            dev = make_examples(nlp, train_records[40:])
            if not known:
                dev = [Example(example.predicted, nlp.make_doc(example.text)) for example in dev]
            if learner is one:
                with pytest.raises(ValueError, match="no cats_score on dev to choose a step by"):
                    spacy_graft.fit(nlp, make_examples(nlp, train_records[:40]), dev=dev)
            else:
                report = spacy_graft.fit(nlp, make_examples(nlp, train_records[:40]), dev=dev)
                assert (report.log_loss is None, report.n_held_out > 0) == (True, known)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (-2.5, None),
        (float("nan"), "the scorer gave no finite number after any step"),
        (None, "the component has no scorer of labels"),
    ],
)
def test_scores_of_another_scorer(score: float | None, message: str | None, train_records: list[Record]) -> None:
    nlp = make_nlp(learner={"@graft_learners": "spacy_graft.Grafting.v1", "l1": 1.0})
    nlp.get_pipe("textcat_graft").scorer = lambda examples, **_: {"cats_score": score}
    train, dev = make_examples(nlp, train_records[:40]), make_examples(nlp, train_records[40:60])
    if message is None:
        report = spacy_graft.fit(nlp, train, dev=dev)
        assert report.n_active
        assert report.converged  # of steps with the same score the last one
    else:
        with pytest.raises(ValueError, match=message):
            spacy_graft.fit(nlp, train, dev=dev)


def test_dev_with_other_labels(train_records: list[Record]) -> None:
    learner = {"@graft_learners": "spacy_graft.Grafting.v1", "l1": 1.0}
    others = [{**record, "label": record["label"].upper()} for record in train_records[40:60]]
    nlp = make_nlp(learner=learner)
    train = make_examples(nlp, train_records[:40])
    with pytest.warns(UserWarning, match="Only 20 of 40 held-out documents choose the model"):
        spacy_graft.fit(nlp, train, dev=make_examples(nlp, train_records[60:80]) + examples_of_pairs(nlp, others))
    with pytest.raises(ValueError, match="none of the 20 dev documents has a label that it knows"):
        spacy_graft.fit(nlp, train, dev=examples_of_pairs(nlp, others))


def examples_of_pairs(nlp: Language, records: list[Record]) -> list[Example]:
    """Examples of labels that are not those of the corpus."""
    return list(examples_of(nlp, [(record["text"], record["label"]) for record in records]))


def test_texts_and_labels_may_be_strings_of_numpy() -> None:
    nlp = make_nlp(learner={"@graft_learners": "spacy_graft.Grafting.v1", "l1": 1.0})
    texts, labels = ["a good film", "a dull film"] * 6, ["pos", "neg"] * 6
    spacy_graft.fit(nlp, np.array(texts), np.array(labels))
    probabilities = nlp("a good film").cats
    spacy_graft.fit(nlp, texts, labels)
    assert nlp("a good film").cats == probabilities


def test_training_is_let_go(nlp: Language, examples: list[Example]) -> None:
    spacy_graft.fit(nlp, examples[:30])
    assert component_of(nlp).training is None


def test_nothing_is_shown_where_there_is_no_terminal(
    nlp: Language, examples: list[Example], capfd: pytest.CaptureFixture[str]
) -> None:
    spacy_graft.fit(nlp, examples[:30])
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "no enabled graft component in the pipeline; its components: none"),
        (["one", "two"], "2 graft components in the pipeline: 'one', 'two'"),
    ],
)
def test_there_must_be_one_component(names: list[str], message: str, examples: list[Example]) -> None:
    nlp = spacy.blank("xx")
    for name in names:
        nlp.add_pipe("textcat_graft", name=name)
    with pytest.raises(ValueError, match=message):
        spacy_graft.fit(nlp, examples)


def test_a_component_is_no_pipeline(nlp: Language, examples: list[Example]) -> None:
    component: Any = nlp.get_pipe("textcat_graft")
    with pytest.raises(ValueError, match=r"A pipeline is expected, .* gives, and not TextCatGraft"):
        spacy_graft.fit(component, examples)


def test_the_package_offers_fit_and_nothing_it_has_not() -> None:
    assert spacy_graft.__version__ == "0.1.0"
    with pytest.raises(AttributeError, match="no attribute 'train'"):
        spacy_graft.train  # noqa: B018


# What an error leaves


def rows_of(records: list[Record]) -> list[tuple[str, str]]:
    return [(record["text"], record["label"]) for record in records]


@pytest.fixture(scope="module")
def nlp_of_rows(train_records: list[Record]) -> Language:
    """A pipeline that fits that fail must leave as it is."""
    nlp = make_nlp()
    spacy_graft.fit(nlp, rows_of(train_records))
    return nlp


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dev": []}, "There are no dev examples"),
        ({"dev": [("salt", {"food": 3.0})]}, "Values of doc.cats are numbers from 0 to 1"),
        ({"dev": [("salt", {"cats": {"food": 1.0}})]}, "without a mapping around them: what is under 'cats'"),
        ({"unlabelled": ["salt"]}, "Unlabelled documents are used by a network only"),
        ({"vectors": 3}, "vectors"),
    ],
)
def test_a_fit_that_fails_leaves_the_model(
    arguments: dict[str, Any], message: str, nlp_of_rows: Language, train_records: list[Record]
) -> None:
    nlp, rows = nlp_of_rows, rows_of(train_records)
    component = component_of(nlp)
    before, cats, cfg = component.report, nlp("roast potatoes and salt").cats, dict(component.cfg)
    with pytest.raises(ValueError, match=message):
        spacy_graft.fit(nlp, [*rows, ("a new one", "other")], **arguments)
    assert component.report is before
    assert component.cfg == cfg
    assert nlp("roast potatoes and salt").cats == cats


def test_a_fit_that_is_interrupted_leaves_no_model(
    train_records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    nlp = make_nlp()
    monkeypatch.setattr(Training, "_step", interrupt)
    with pytest.raises(KeyboardInterrupt):
        spacy_graft.fit(nlp, [(record["text"], record["label"]) for record in train_records])
    assert not component_of(nlp).is_initialized
    assert component_of(nlp).labels == ()


def test_labels_of_the_model_before_do_not_count(train_records: list[Record]) -> None:
    """Corrected labels, in the same notebook: pairs are like examples."""
    nlp = make_nlp()
    rows = [(record["text"], record["label"]) for record in train_records]
    spacy_graft.fit(nlp, rows)
    spacy_graft.fit(nlp, [(text, label.upper()) for text, label in rows])
    assert component_of(nlp).labels == ("FOOD", "MUSIC", "SPORT")


def test_labels_in_the_config_hold(train_records: list[Record]) -> None:
    nlp = make_nlp()
    rows = [(record["text"], "food" if record["label"] == "food" else "other") for record in train_records]
    nlp.config["initialize"]["components"]["textcat_graft"] = {"labels": ["other", "food"], "positive_label": "food"}
    spacy_graft.fit(nlp, rows)
    assert component_of(nlp).labels == ("other", "food")
    assert component_of(nlp).cfg["positive_label"] == "food"


def test_labels_in_the_config_hold_after_the_component_is_in_another_pipeline(train_records: list[Record]) -> None:
    """Both share the component, whose name spaCy makes that in the other one."""
    nlp = make_nlp()
    nlp.config["initialize"]["components"]["textcat_graft"] = {"labels": ["sport", "music", "food"]}
    spacy.blank("xx").add_pipe("textcat_graft", name="topic", source=nlp)
    spacy_graft.fit(nlp, [(record["text"], record["label"]) for record in train_records])
    assert component_of(nlp).labels == ("sport", "music", "food")
    assert component_of(nlp).name == "textcat_graft"


@pytest.mark.parametrize("factory", ["textcat_graft", "textcat_graft_multilabel"])
def test_labels_in_the_config_in_single_quotes(factory: str, train_records: list[Record]) -> None:
    """They are a string there, of which spaCy would give the letters."""
    config = Config().from_str(f"[components]\n[components.{factory}]\nlabels = ['sport', 'music', 'food']\n")
    nlp = make_nlp(factory)
    nlp.config["initialize"]["components"] = config["components"]
    spacy_graft.fit(nlp, [(record["text"], record["label"]) for record in train_records])
    assert component_of(nlp).labels == ("sport", "music", "food")


@pytest.mark.filterwarnings("ignore:.*No training document is positive for 'never'")
def test_a_label_that_is_nowhere_known_is_not_predicted() -> None:
    nlp = make_nlp("textcat_graft_multilabel", keep_corpus=True)
    spacy_graft.fit(nlp, [("goal film", ["pos"]), ("salt film", [])] * 10)
    component = component_of(nlp)
    component.add_label("never")
    nlp.update([make_example(nlp, text, {"pos": value}) for text, value in (("goal show", 1.0), ("salt show", 0.0))])
    assert nlp("salt film").cats["never"] < 0.05


@pytest.mark.filterwarnings("ignore:.*No training document is positive for 'never'")
def test_labels_in_the_config_are_known_to_be_absent() -> None:
    nlp = make_nlp("textcat_graft_multilabel")
    nlp.config["initialize"]["components"]["textcat_graft_multilabel"] = {"labels": ["pos", "never"]}
    spacy_graft.fit(nlp, [("goal film", ["pos"]), ("salt film", [])] * 10)
    assert nlp("salt film").cats["never"] < 0.05


@pytest.mark.parametrize(
    ("labels", "message"),
    [({"@readers": "no.such.v1"}, "cannot be read"), (["a", "b"], "'food'"), ("food", r'labels = \["food"\]')],
)
def test_labels_in_the_config_that_cannot_be_taken(labels: Any, message: str, train_records: list[Record]) -> None:
    nlp = make_nlp()
    nlp.config["initialize"]["components"]["textcat_graft"] = {"labels": labels}
    with pytest.raises(ValueError, match=rf"\[textcat_graft\] .*{message}"):
        spacy_graft.fit(nlp, [(record["text"], record["label"]) for record in train_records])


@pytest.mark.parametrize("with_dev", [False, True])
def test_documents_without_any_label(with_dev: bool) -> None:
    """Of many labels, none is a thing to say of a document; of all documents, there is nothing to learn."""
    nlp = make_nlp("textcat_graft_multilabel")
    for i in range(70):
        component_of(nlp).add_label(f"label {i}")
    rows: list[tuple[str, list[str]]] = [("one", []), ("two", [])]
    with pytest.raises(ValueError, match="None of the 2 examples has a label"):
        spacy_graft.fit(nlp, rows, dev=rows if with_dev else None)
