"""Optional blocks: those that held-out documents do not need are left out after the choice of a point."""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

import spacy_graft
from conftest import WORDS, Record, component_of, make_examples, make_nlp, make_records, recorded
from spacy_graft.graft.path import PathFit
from spacy_graft.graft.points import PointFit
from spacy_graft.graft.report import Report
from spacy_graft.held_out import Verdict
from spacy_graft.index.ngrams import NgramIndex
from spacy_graft.pipeline import folds
from spacy_graft.pipeline.choice import trials_of, without_needless_blocks
from spacy_graft.pipeline.defaults import blocks_of
from spacy_graft.pipeline.fit import begun_training
from spacy_graft.pipeline.folds import cross_validated, splits_of
from spacy_graft.pipeline.judging import held_out_of
from spacy_graft.pipeline.logger import console_logger
from spacy_graft.pipeline.progress import progress_bar
from spacy_graft.pipeline.textcat import TextCatGraft
from spacy_graft.pipeline.training import Training

pytestmark = pytest.mark.usefixtures("dev_alone")

#: One refit, so that log-losses of points can be compared by hand.
LEARNER: dict[str, Any] = {
    "@graft_learners": "spacy_graft.GraftingPath.v1",
    "steps": 6,
    "l1_min_ratio": 0.01,
    "ngram_power": 0.0,
    "refit": 2.0,
}
BLOCKS: dict[str, Any] = {
    **WORDS,
    "prefixes": {"@graft_features": "spacy_graft.TokenNgrams.v1", "attr": "PREFIX", "min_df": 2},
    "shapes": {"@graft_features": "spacy_graft.TokenAttributes.v1", "attr": "SHAPE", "min_df": 2},
    "pairs": {"@graft_features": "spacy_graft.Combinations.v1", "of": ["words", "shapes"], "degree": 2, "min_df": 3},
}
OPTIONAL = ["pairs", "shapes", "prefixes"]


@pytest.fixture(scope="module")
def noisy() -> list[Record]:
    """Records of which a fifth have a label that is not theirs, so that blocks differ in what they predict."""
    records = make_records(180, seed=3)
    return [{**record, "label": "food"} if number % 5 == 0 else record for number, record in enumerate(records)]


def without(blocks: Sequence[str]) -> dict[str, Any]:
    return {name: block for name, block in BLOCKS.items() if name not in blocks}


def split(nlp: Language, records: list[Record]) -> tuple[list[Example], list[Example]]:
    examples = make_examples(nlp, records)
    return examples[:130], examples[130:]


def trained(nlp: Language, records: list[Record], **options: Any) -> TextCatGraft:
    """Train as ``spacy train`` does."""
    train, dev = split(nlp, records)
    component = component_of(nlp)
    component.initialize(lambda: train, **options)
    while component.training is not None and not component.training.course.concluded:
        nlp.update(train[:4])
        nlp.evaluate(dev)
    return component


def at_point(nlp: Language, examples: list[Example], like: Report) -> tuple[Training, PointFit]:
    """A training of documents that goes to the point of a report, whatever its blocks."""
    component = component_of(nlp)
    component.initialize(lambda: examples)
    assert component.training is not None
    component.training.add_examples([])
    return component.training, component.training.path_to(like)


def judged_at_point(
    factory: str, features: dict[str, Any], records: list[Record], like: Report
) -> tuple[float, TextCatGraft]:
    """A point with other blocks: its log-loss on dev, and the component."""
    nlp = make_nlp(factory, features=features, learner=LEARNER)
    train, dev = split(nlp, records)
    training, fit = at_point(nlp, train, like)
    component = component_of(nlp)
    held_out = held_out_of(component, dev, training.shares())
    trial = trials_of(fit, training.fits.named(fit.solution()), held_out)(LEARNER["refit"])
    adjustment = held_out.adjustment(trial.scores)
    component.set_snapshot(trial.snapshot.adjusted(adjustment, held_out.shares), fit.report)
    probabilities = held_out.probabilities(adjustment.of(trial.scores, held_out.shares))
    return held_out.mean(held_out.losses(probabilities)), component


def weights_of(component: TextCatGraft) -> dict[Any, Any]:
    return {(feature.block, feature.text): tuple(feature.weights.items()) for feature in component.features()}


def test_scores_without_names_are_those_of_the_named_model(noisy: list[Record]) -> None:
    items = {"@graft_features": "spacy_graft.TokenAttributes.v1", "attr": "LOWER", "min_df": 2}
    nlp = make_nlp(features={**BLOCKS, "words": items}, learner=LEARNER)
    train, dev = split(nlp, noisy)
    training, fit = at_point(nlp, train, Report(points=4))
    held_out = held_out_of(component_of(nlp), dev, training.shares())
    solution, refitted = fit.solution(), fit.refitted(8.0)
    assert {"words", "prefixes", "pairs"} <= set(solution.blocks)
    scores_of = held_out.scorer(solution)
    for model in (solution, refitted):
        np.testing.assert_array_equal(scores_of(model), held_out.scores(training.fits.named(model)))


@pytest.mark.parametrize("factory", ["textcat_graft", "textcat_graft_multilabel"])
def test_blocks_go_that_dev_does_not_need(factory: str, noisy: list[Record]) -> None:
    """By hand, with configs that have no such blocks; the model is theirs to the bit."""
    plain = trained(make_nlp(factory, features=BLOCKS, learner={**LEARNER, "retrain": False}), noisy)
    assert plain.report is not None
    least = plain.report.log_loss
    assert least is not None
    gone: list[str] = []
    expected = plain
    for new in (["pairs"], ["shapes", "pairs"], ["prefixes"]):
        blocks = list(dict.fromkeys([*gone, *new]))
        if len(blocks) == len(gone):
            continue
        assert expected.report is not None
        log_loss, component = judged_at_point(factory, without(blocks), noisy, expected.report)
        if log_loss <= least:
            gone, least, expected = blocks, log_loss, component
    found = trained(
        make_nlp(factory, features=BLOCKS, learner={**LEARNER, "retrain": False, "optional_blocks": OPTIONAL}), noisy
    )
    assert found.report is not None
    assert set(found.report.left_out) == set(gone) != set()
    assert found.report.log_loss == least
    assert {feature.block for feature in found.features()}.isdisjoint(gone)
    assert weights_of(found) == weights_of(expected)


def test_the_last_step_trains_again_without_them(noisy: list[Record]) -> None:
    nlp = make_nlp(features=BLOCKS, learner={**LEARNER, "optional_blocks": OPTIONAL})
    report = trained(nlp, noisy).report
    assert report is not None
    assert report.left_out
    assert report.n_held_out == 50
    whole = make_nlp(features=without(report.left_out), learner=LEARNER)
    training, _ = at_point(whole, make_examples(whole, noisy), report)
    component_of(whole).set_snapshot(*training.refitted(report))
    assert weights_of(component_of(nlp)) == weights_of(component_of(whole))


@pytest.mark.usefixtures("folds_too")
def test_each_block_is_indexed_once_for_all_paths(noisy: list[Record], monkeypatch: pytest.MonkeyPatch) -> None:
    """For those of each fold as well, and once more for train and dev."""
    built: list[Any] = []
    monkeypatch.setattr(NgramIndex, "build", recorded(NgramIndex.build, built))
    learner = {**LEARNER, "optional_blocks": OPTIONAL}
    report = trained(make_nlp(features=BLOCKS, learner=learner), noisy).report
    assert report is not None
    assert report.left_out
    assert report.n_folds == 4
    # The block ``words`` stays, ``prefixes`` may go.
    assert len(built) == 2 * (1 + report.n_folds) + 1 + ("prefixes" not in report.left_out)


def test_folds_choose_blocks_as_well(noisy: list[Record]) -> None:
    records = noisy[:60]
    nlp = make_nlp(features=BLOCKS, learner={**LEARNER, "optional_blocks": OPTIONAL})
    report = spacy_graft.fit(nlp, make_examples(nlp, records))
    assert report.left_out
    whole = make_nlp(features=without(report.left_out), learner=LEARNER)
    examples = make_examples(whole, records)
    whole.initialize(lambda: examples)
    for _ in range(report.points):
        whole.update(examples[:4])
    component_of(whole).divide_scores(report.temperature)
    assert weights_of(component_of(nlp)) == weights_of(component_of(whole))


def test_what_folds_choose_is_no_worse_than_all_blocks(noisy: list[Record]) -> None:
    reports = []
    for optional in ([], OPTIONAL):
        nlp = make_nlp(features=BLOCKS, learner={**LEARNER, "optional_blocks": optional})
        component, examples = component_of(nlp), make_examples(nlp, noisy[:60])
        component.initialize(lambda examples=examples: examples)
        with progress_bar(component.name) as progress:
            training = begun_training(component, progress)
            rows = training.corpus.splits()
            reports.append(cross_validated(training, splits_of(training, rows)).report)
    plain, lean = reports
    assert plain is not None
    assert lean is not None
    assert lean.left_out
    assert plain.left_out == []
    assert plain.points == lean.points
    assert plain.log_loss is not None
    assert lean.log_loss is not None
    assert lean.log_loss <= plain.log_loss


def test_the_order_and_what_goes_together() -> None:
    """With a block go the combinations of its items; what has gone is not tried again."""
    tried: list[list[str]] = []

    def judged_as(like: Report) -> Verdict | None:
        tried.append(like.left_out)
        loss = 2.0 if like.left_out == ["prefixes"] else 1.0
        return Verdict(replace(like, log_loss=loss), np.full(1, loss))

    optional, whole = ["prefixes", "shapes", "pairs", "words"], Verdict(Report(log_loss=1.0), np.ones(1))
    lean = without_needless_blocks(optional, blocks_of(BLOCKS), whole, judged_as)
    assert lean.report.left_out == ["shapes", "pairs", "words"]
    assert tried == [["prefixes"], ["shapes", "pairs"], ["shapes", "pairs", "words"]]


@pytest.mark.slow
@pytest.mark.usefixtures("folds_too")
def test_an_interrupted_training_ends_with_the_same_model(
    noisy: list[Record], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it is interrupted: on the path, in a path without a block, in the last one."""

    def component() -> TextCatGraft:
        nlp = make_nlp(features=BLOCKS, learner={**LEARNER, "optional_blocks": OPTIONAL})
        return trained(nlp, noisy, checkpoints=str(tmp_path / "checkpoints"))

    done, last = [0], [0]

    def interrupting(step: Callable[..., None]) -> Callable[..., None]:
        def interrupted(*args: Any) -> None:
            if done[0] == last[0]:
                raise KeyboardInterrupt
            done[0] += 1
            step(*args)

        return interrupted

    expected = trained(make_nlp(features=BLOCKS, learner={**LEARNER, "optional_blocks": OPTIONAL}), noisy)
    for name in ("step", "pass_by", "arrive"):
        monkeypatch.setattr(PathFit, name, interrupting(getattr(PathFit, name)))
    n_interruptions = 0
    while True:
        done[0], last[0] = 0, 8
        try:
            found = component()
            break
        except KeyboardInterrupt:
            n_interruptions += 1
    assert n_interruptions >= 3
    assert found.to_bytes() == expected.to_bytes()


def test_a_model_is_extended_without_them(noisy: list[Record]) -> None:
    nlp = make_nlp(features=BLOCKS, learner={**LEARNER, "optional_blocks": OPTIONAL}, keep_corpus=True)
    train, dev = split(nlp, noisy)
    left_out = spacy_graft.fit(nlp, train, dev=dev).left_out
    assert left_out
    again = make_nlp(features=BLOCKS, learner={**LEARNER, "optional_blocks": OPTIONAL}, keep_corpus=True)
    again.from_bytes(nlp.to_bytes())
    again.update(make_examples(again, make_records(6, seed=9)))
    report = component_of(again).report
    assert report is not None
    assert report.left_out == left_out
    assert {feature.block for feature in component_of(again).features()}.isdisjoint(left_out)


@Language.component("chance_tags")
def chance_tags(doc: Doc) -> Doc:
    """Tags that have nothing to do with labels."""
    draw = random.Random("c" + doc.text)
    for token in doc:
        token.pos_ = draw.choice(["NOUN", "VERB", "ADJ", "ADV", "X"])
    return doc


def test_a_component_that_only_they_need(noisy: list[Record], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log says so, and the model does without it."""
    monkeypatch.setattr(folds, "ENOUGH_HELD_OUT", 1)
    tags = {"@graft_features": "spacy_graft.TokenNgrams.v1", "attr": "POS", "max_length": 1}
    learner = {**LEARNER, "optional_blocks": ["tags"]}
    nlp = make_nlp(features={**WORDS, "tags": tags}, learner=learner)
    nlp.add_pipe("chance_tags", first=True)
    train, dev = ([Example(chance_tags(one.predicted), one.reference) for one in part] for part in split(nlp, noisy))
    nlp.initialize(lambda: train)
    nlp.config["training"]["max_steps"] = 8
    stdout = io.StringIO()
    log_step, _ = console_logger()(nlp, stdout, io.StringIO())
    component = component_of(nlp)
    while component.training is not None and not component.training.course.concluded:
        losses = nlp.update(train[:4])
        scores = nlp.evaluate(dev)
        log_step({"epoch": 0, "step": 0, "losses": losses, "other_scores": scores, "score": 0.5})
    assert component.report is not None
    assert component.report.left_out == ["tags"]
    *_, chosen, needless = stdout.getvalue().splitlines()
    assert ", without 'tags'. Trained again" in chosen
    assert needless == "[textcat_graft] The blocks that are left need no annotation by 'chance_tags'."
    expected = nlp("a goal and salt").cats
    nlp.remove_pipe("chance_tags")
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert loaded("a goal and salt").cats == expected
    assert component_of(loaded).report == replace(component.report, seconds={})
    assert loaded.config["components"]["textcat_graft"]["learner"]["optional_blocks"] == ["tags"]


@pytest.mark.parametrize(
    ("optional", "message"),
    [
        (["shape"], "has 'shape', which is no block of this component. Did you mean 'shapes'"),
        (["words", "prefixes", "shapes"], "has all blocks that read documents"),
        ("words", "must be a list of names"),
    ],
)
def test_what_cannot_be_optional(optional: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_nlp(features=BLOCKS, learner={**LEARNER, "optional_blocks": optional})


@pytest.mark.parametrize(
    ("optional", "named"), [(["words"], "'words'"), (["words", "prefixes"], "'words', 'prefixes'")]
)
def test_blocks_that_a_network_links_stay(noisy: list[Record], optional: list[str], named: str) -> None:
    nlp = make_nlp(features=BLOCKS, learner={**LEARNER, "optional_blocks": optional})
    examples = make_examples(nlp, noisy[:9])
    with pytest.raises(ValueError, match=f"links features of {named}, so that .* Remove {named} from optional_blocks"):
        component_of(nlp).initialize(lambda: examples, network=lambda *_: None)
