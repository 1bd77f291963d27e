"""Edits of trained components: what goes and what comes, and that edits stay."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

import spacy_graft
from conftest import PATH, WORDS, forged, make_examples, make_nlp, make_records, write_jsonl
from spacy_graft import GraftClassifier, Grafting, GraftingPath, GraftTextClassifier
from spacy_graft.cli.common import CommandError
from spacy_graft.cli.edit import edit_tables, edit_values, parsed_lock, scores_of
from spacy_graft.explain.features import features_by_key
from spacy_graft.graft.constraints import Constraints
from spacy_graft.model.sparse_linear import snapshot_of
from test_cli import call, refused
from test_pipeline_network import Recorder

L1 = {"@graft_learners": "spacy_graft.Grafting.v1", "l1": 0.5, "tol": 1e-6}
RECORDS = make_records(90)


def trained(learner=L1, factory="textcat_graft", dev=None, records=RECORDS, **config):
    """A pipeline with a trained component, which has kept its documents."""
    nlp = make_nlp(factory, learner=learner, **{"keep_corpus": True, **config})
    spacy_graft.fit(nlp, make_examples(nlp, records), dev=None if dev is None else make_examples(nlp, dev))
    return nlp, nlp.get_pipe(factory)


def with_constraints(learner, **constraints):
    return {**learner, "constraints": {"@graft_constraints": "spacy_graft.Constraints.v1", **constraints}}


def weights_of(component):
    return {feature.text: feature.weights for feature in component.features()}


def test_an_edit_is_the_training_with_the_same_constraints():
    _, component = trained()
    before = weights_of(component)
    assert before["goal"]["sport"] > 0.0
    edit = component.edit(deny=["goal", "*season*"], signs={"food": "positive"}, lock={"drums": {"music": 2.5}})
    after = weights_of(component)
    assert edit.report.converged
    assert edit.report.relative_gap <= 1e-6
    assert not [name for name in after if name == "goal" or "season" in name]
    assert min(weights["food"] for weights in after.values()) >= 0.0
    assert after["drums"]["music"] == 2.5
    assert {feature.text for feature in edit.removed} == before.keys() - after.keys()
    assert {feature.text for feature in edit.added} == after.keys() - before.keys()
    assert edit.added
    effects = {feature.text: feature.effects for feature in component.features()}
    assert all(feature.effects == effects[feature.text] for feature in edit.added)
    constraints = {"deny": ["goal", "*season*"], "signs": {"food": "positive"}, "locked": [["drums", "music", 2.5]]}
    _, fresh = trained(with_constraints(L1, **constraints))
    assert fresh.report.objective == pytest.approx(component.report.objective, rel=1e-5)
    assert fresh.report.constraints == component.report.constraints
    assert weights_of(fresh)["drums"]["music"] == 2.5


def test_edits_are_saved_shown_and_obeyed_in_training():
    nlp, component = trained()
    component.edit(deny=["goal"], nlp=nlp)
    with pytest.raises(ValueError, match="The pipeline that is given does not have this component"):
        component.edit(deny=["salt"], nlp=spacy.blank("xx"))
    component.edit(deny=["salt"], nlp=nlp)
    loaded = make_nlp(learner=L1, keep_corpus=True).get_pipe("textcat_graft").from_bytes(component.to_bytes())
    assert loaded.constraints.deny == ("goal", "salt")
    assert loaded.report.constraints["deny"] == ["goal", "salt"]
    assert "Constraints: denied: goal, salt" in spacy_graft.render(loaded, style="global")
    assert nlp.get_pipe_config("textcat_graft")["learner"]["constraints"]["deny"] == ["goal", "salt"]
    # More documents, then all of the training again.
    more = make_examples(nlp, make_records(30, seed=1))
    loaded.update(more, sgd=object())
    assert loaded.report.constraints["deny"] == ["goal", "salt"]
    assert not {"goal", "salt"} & weights_of(loaded).keys()
    spacy_graft.fit(nlp, more)
    assert not {"goal", "salt"} & weights_of(component).keys()
    component.edit(allow=["goal"])
    assert "goal" in weights_of(component)
    assert component.constraints.deny == ("salt",)


def test_documents_that_a_memory_zone_would_forget_are_not_kept():
    """A component that had them could not be saved any more. The kept ones are there already."""
    nlp, component = trained()
    before = component.to_bytes(exclude=["vocab"])
    with nlp.memory_zone():
        examples = make_examples(nlp, [{**record, "text": f"{record['text']} unheard"} for record in RECORDS])
        with pytest.raises(ValueError, match="a memory zone forgets them when it ends"):
            component.edit(deny=["goal"], examples=examples)
        assert component.to_bytes(exclude=["vocab"]) == before
        component.edit(deny=["salt"])
    del examples
    loaded = make_nlp(learner=L1, keep_corpus=True).get_pipe("textcat_graft").from_bytes(component.to_bytes())
    assert weights_of(loaded) == weights_of(component)


@pytest.mark.filterwarnings("ignore:Constraints. No feature")
@pytest.mark.filterwarnings("ignore:.*No training document is positive for 'new'")
@pytest.mark.parametrize("label", [None, "new"])
@pytest.mark.parametrize("is_loaded", [False, True])
@pytest.mark.parametrize("learner", [L1, PATH, {**L1, "stability": 0.5, "stability_pairs": 2}])
def test_documents_of_an_update_that_is_refused_are_not_kept(learner, is_loaded, label):
    """With them, every later update would be refused as well, also one that brings them without the error."""
    locked = [["poe", "sport", 1.0], ["verse", "sport", 0.5]]
    settings = {"learner": with_constraints(learner, locked=locked), "keep_corpus": True}
    nlp = make_nlp(**settings)
    records = make_examples(nlp, RECORDS)
    nlp.initialize(lambda: records)
    component = nlp.get_pipe("textcat_graft")
    while not component.report or not component.report.finished:
        nlp.update(records)
    nlp.update(records)  # one more step to the model of stable features
    if is_loaded:
        data, nlp = nlp.to_bytes(), make_nlp(**settings)
        component = nlp.from_bytes(data).get_pipe("textcat_graft")
    if label is not None:
        component.add_label(label)
    before = component.to_bytes(exclude=["vocab"])
    for _ in range(2):
        more = make_examples(nlp, [{"text": f"poe {word} verse", "label": "sport"} for word in ("more", "some")])
        if not is_loaded and label is None:
            nlp.update(more)  # a training in memory goes on when no more come
        with pytest.raises(ValueError, match=r"^\[textcat_graft\] Constraints: weights of .* lock=\{NAME: \{LABEL: N"):
            nlp.update(more)
        assert component.to_bytes(exclude=["vocab"]) == before
    more = make_examples(
        nlp, [{"text": f"{word} verse", "label": "sport"} for word in ("more", "some", "poe", "poe a")]
    )
    nlp.update(more)
    nlp.update(more)
    assert component.report.n_documents == len(component.corpus) == len(RECORDS) + 4
    assert weights_of(component)["verse"]["sport"] == 0.5


def test_errors_of_constraints_name_the_component():
    _, component = trained()
    with pytest.raises(ValueError, match=r"^\[textcat_graft\] Constraints: signs must have a label.*'up'\.$"):
        component.edit(signs={"sport": "up"})
    with pytest.raises(ValueError, match=r"^\[textcat_graft\] Constraints: .* Add it to allow, or remove the lock\.$"):
        component.edit(deny=["goal"], lock={"goal": {"sport": 1.0}})
    component.edit(deny=["goal"])
    with pytest.raises(ValueError, match=r"^\[textcat_graft\] Constraints: .* taken back with edit: allow=\[PATTERN\]"):
        component.edit(lock={"goal": {"sport": 1.0}})
    component.edit(allow=["goal"], lock={"goal": {"sport": 1.0}})
    assert weights_of(component)["goal"]["sport"] == 1.0


def test_edits_are_taken_back_after_loading(tmp_path):
    """The config of the learner has them too."""
    nlp, component = trained()
    before = weights_of(component)
    component.edit(deny=["goal"], signs={"food": "positive"}, lock={"drums": {"music": 1.0}}, nlp=nlp)
    nlp.to_disk(tmp_path / "model")
    nlp = spacy.load(tmp_path / "model")
    component = nlp.get_pipe("textcat_graft")
    component.edit(allow=["goal"], signs={"food": "any"}, lock={"drums": {"music": None}}, nlp=nlp)
    assert not component.constraints
    assert not component.report.constraints
    assert weights_of(component).keys() == before.keys()
    assert weights_of(component)["goal"] == pytest.approx(before["goal"], rel=1e-4)


@pytest.mark.parametrize(
    ("edits", "deny", "allow"),
    [
        ([{"deny": ["*o*"]}, {"allow": ["*o*"]}], (), ()),
        ([{"deny": ["*o*"]}, {"allow": ["*o*"]}, {"deny": ["words::*"]}], ("words::*",), ()),
        ([{"deny": ["goal"]}, {"deny": ["salt"]}, {"allow": ["goal"]}], ("salt",), ()),
        ([{"deny": ["goal", "g*"]}, {"allow": ["goal"]}], ("g*",), ("goal",)),
        ([{"deny": ["goa*", "*al"]}, {"allow": ["goa*"]}], ("*al",), ("goa*",)),
        ([{"deny": ["goal", "words::goal"]}, {"allow": ["goal"]}], ("words::goal",), ("goal",)),
        ([{"deny": ["g*"]}, {"allow": ["goal"]}, {"deny": ["goal"]}], ("g*", "goal"), ()),
    ],
)
def test_what_takes_a_denial_back_is_no_exception_from_later_ones(edits, deny, allow):
    _, component = trained()
    for edit in edits:
        component.edit(**edit)
    assert (component.constraints.deny, component.constraints.allow) == (deny, allow)


@pytest.mark.parametrize(
    ("allowed", "denied"), [(["goa*"], "goal"), (["words::salt", "g*"], "words::goal"), (["*"], "*::goal")]
)
def test_a_name_that_an_earlier_edit_allows_is_not_denied_in_vain(allowed, denied):
    """Exceptions are from all denials, so that an edit would have said that it was made, and changed nothing."""
    _, component = trained()
    component.edit(allow=allowed)
    before = component.to_bytes()
    message = re.escape(f"{denied!r} is denied, but also allowed, by {allowed[-1]!r}. Deny these patterns too")
    with pytest.raises(ValueError, match=message):
        component.edit(deny=[denied])
    assert component.to_bytes() == before
    component.edit(deny=[denied, allowed[-1]])
    assert "goal" not in weights_of(component)


def test_all_that_allows_a_denied_name_is_named():
    """The first alone was, of which the remedy ended in the same error about the next; and one edit cannot do both."""
    _, component = trained()
    component.edit(allow=["goa*"])
    for allow in ([], ["go*"]):
        by = re.escape(", ".join(map(repr, ["goa*", *allow])))
        with pytest.raises(
            ValueError, match=rf"'goal' is denied, but also allowed, by {by}\. .*\(leave out those that"
        ):
            component.edit(deny=["goal"], allow=allow)


def test_a_name_is_denied_in_the_blocks_where_it_is_not_allowed():
    _, component = trained()
    component.edit(allow=["words::dru*"])
    with pytest.warns(UserWarning, match=r"keeps what is allowed of it by 'words::dru\*'\. To remove it"):
        component.edit(deny=["drums"])
    assert "drums" in weights_of(component)
    assert (component.constraints.deny, component.constraints.allow) == (("drums",), ("words::dru*",))
    component.edit(deny=["drums", "words::dru*"])
    assert "drums" not in weights_of(component)


def test_a_pipeline_trains_again_from_its_saved_config(tmp_path):
    nlp, component = trained()
    component.edit(deny=["goal"], lock={"drums": {"music": 1.0}}, nlp=nlp)
    nlp.to_disk(tmp_path / "model")
    loaded = spacy.load(tmp_path / "model")
    assert weights_of(loaded.get_pipe("textcat_graft")) == weights_of(component)
    fresh = spacy.util.load_model_from_config(spacy.util.load_config(tmp_path / "model" / "config.cfg"))
    spacy_graft.fit(fresh, make_examples(fresh, RECORDS))
    weights = weights_of(fresh.get_pipe("textcat_graft"))
    assert "goal" not in weights
    assert weights["drums"]["music"] == 1.0


def test_a_path_keeps_its_point_and_locked_weights_are_exact():
    path = {"@graft_learners": "spacy_graft.GraftingPath.v1", "steps": 6, "l1_min_ratio": 0.05}
    nlp, component = trained(path, dev=make_records(30, seed=2))
    before = component.report
    edit = component.edit(deny=["goal"], lock={"drums": {"music": 0.75, "food": 0.0}}, signs={"sport": "positive"})
    assert edit.report.converged
    assert (edit.report.l1, edit.report.points, edit.report.refit) == (before.l1, before.points, before.refit)
    weights = weights_of(component)
    assert weights["drums"]["music"] == 0.75
    assert weights["drums"]["food"] == 0.0
    assert min(of_name["sport"] for of_name in weights.values()) >= 0.0
    with pytest.raises(ValueError, match=r"weights are locked.*temperature=False"):
        spacy_graft.calibrate(nlp, make_examples(nlp, make_records(30, seed=3)))
    # Dev chooses no temperature, which would change them.
    _, chosen = trained(with_constraints(path, locked=[["drums", "music", 0.75]]), dev=make_records(30, seed=2))
    assert chosen.report.temperature == 1.0
    assert weights_of(chosen)["drums"]["music"] == 0.75


def test_without_documents_features_are_only_removed():
    nlp, component = trained(keep_corpus=False)
    before = weights_of(component)
    with pytest.raises(ValueError, match=r"not kept.*--data TRAIN.jsonl.*resolve=False"):
        component.edit(deny=["goal"])
    with pytest.raises(ValueError, match="Signs and locked weights need the training documents"):
        component.edit(deny=["goal"], signs={"food": "positive"}, resolve=False)
    with pytest.raises(ValueError, match=r"No feature of the model is named 'gaol'. Did you mean 'goal'"):
        component.edit(deny=["gaol"], resolve=False)
    component.report.log_loss, component.report.log_loss_error = 0.5, 0.1
    edit = component.edit(deny=["goal"], resolve=False)
    after = weights_of(component)
    assert after == {name: weights for name, weights in before.items() if name != "goal"}
    assert not edit.report.converged
    assert edit.report.to_dict()["duality_gap"] is None
    assert edit.report.log_loss is None
    edit = component.edit(deny=["salt"], examples=make_examples(nlp, RECORDS), nlp=nlp)
    assert edit.report.converged
    assert not {"goal", "salt"} & weights_of(component).keys()
    with pytest.warns(UserWarning, match="trained on 90 documents, but 60 are given"):
        component.edit(deny=["violin"], examples=make_examples(nlp, RECORDS[:60]))
    with pytest.raises(ValueError, match=r"pairs of a text and its labels need the pipeline: .*nlp=nlp"):
        component.edit(deny=["match"], examples=[(record["text"], record["label"]) for record in RECORDS])


@pytest.mark.parametrize("factory", ["textcat_graft", "textcat_graft_multilabel"])
@pytest.mark.filterwarnings("ignore:.*No training document is positive for 'news'")
def test_no_weight_of_a_label_without_documents_is_locked(factory):
    nlp, component = trained(factory=factory)
    component.add_label("news")
    with pytest.warns(UserWarning, match="No weights of 'news' are trained, and its weight of 'goal' is not locked"):
        component.edit(lock={"goal": {"news": 4.0}}, nlp=nlp)
    assert not weights_of(component).get("goal", {}).get("news")


@pytest.mark.filterwarnings("ignore:.*held-out documents that choose the model are training documents too")
@pytest.mark.parametrize("path", [False, True])
def test_stable_features_under_constraints(path):
    learner = {"@graft_learners": "spacy_graft.GraftingPath.v1", "steps": 4, "l1_min_ratio": 0.1} if path else L1
    _, component = trained({**learner, "stability": 0.5, "stability_pairs": 3}, dev=RECORDS[:30] if path else None)
    edit = component.edit(deny=["goal", "*season*"], lock={"drums": {"music": 1.25}}, signs={"food": "positive"})
    assert edit.report.stability["threshold"] == 0.5
    weights = weights_of(component)
    assert weights["drums"]["music"] == 1.25
    assert not [name for name in weights if name == "goal" or "season" in name]
    assert min(of_name["food"] for of_name in weights.values()) >= 0.0
    (drums,) = [feature for feature in component.features() if feature.text == "drums"]
    assert (drums.stability, drums.intervals["music"]) == (1.0, (1.25, 1.25))
    component.edit(deny=["salt"], resolve=False)
    assert all(feature.stability >= 0.5 for feature in component.features())


PAIRS = {
    **WORDS,
    "pairs": {"@graft_features": "spacy_graft.Combinations.v1", "of": ["words"], "degree": 2, "min_df": 2},
}


def test_products_of_denied_items_are_denied():
    # Two words that tell the label together, and neither alone.
    texts = {"a b": 1, "a": 0, "b": 0, "c": 0, "a b c": 1, "a c": 0, "b c": 0, "d": 0}
    records = [{"text": text, "label": "food" if label else "sport"} for text, label in texts.items()] * 4
    records.append({"text": "e", "label": "music"})
    features = {**PAIRS, "words": {**WORDS["words"], "max_length": 1}}
    _, component = trained({**L1, "l1": 0.3}, factory="textcat_graft_multilabel", records=records, features=features)
    assert "a × b" in weights_of(component)
    model = component.to_bytes()
    component.edit(deny=["b × a"])
    assert "a × b" not in weights_of(component)
    assert "a" in weights_of(component)
    component.edit(deny=["c"])
    component.edit(allow=["a × b", "c"])
    assert "a × b" in weights_of(component)
    assert (component.constraints.deny, component.constraints.allow) == ((), ())
    component.edit(deny=["pairs::a × b"])
    assert "a × b" not in weights_of(component)
    component.edit(allow=["b × a"])
    assert "a × b" in weights_of(component)
    assert (component.constraints.deny, component.constraints.allow) == ((), ())
    component.from_bytes(model)
    component.edit(deny=["words::a"])
    assert not [name for name in weights_of(component) if "a" in name]
    component.from_bytes(model)
    component.edit(deny=["pairs::*"])
    assert not [name for name in weights_of(component) if "×" in name]
    component.from_bytes(model)
    component.edit(deny=["a"], resolve=False)
    assert not [name for name in weights_of(component) if "a" in name]


def test_names_with_wildcards_in_them():
    documents = [{"what", "?"}, {"what"}, {"?"}, {"*"}] * 20
    labels = [1, 0, 0, 0] * 20

    def names(**constraints):
        learner = Grafting(l1=0.5, constraints=Constraints(**constraints))
        return set(GraftClassifier(learner, degree=2).fit(documents, labels).get_feature_names_out())

    assert "? × what" in names()
    assert names(deny=["what × [?]"]) == names(deny=["[?] × what"]) == {"?", "what"}
    assert not any("?" in name for name in names(deny=["[?]"]))
    with pytest.raises(ValueError, match=r"write \[\?\] and \[\*\] for these characters"):
        names(deny=["? × what"])


def test_names_with_the_sign_of_products_in_them():
    documents = [{"3 × 4", "x"}, {"x", "y"}, {"3 × 4"}, {"y"}] * 20
    labels = [1, 0, 1, 0] * 20

    def names(degree=1, **constraints):
        learner = Grafting(l1=0.5, constraints=Constraints(**constraints))
        return set(GraftClassifier(learner, degree=degree).fit(documents, labels).get_feature_names_out())

    assert "3 × 4" in names()
    assert "3 × 4" not in names(deny=["3 × 4"]) | names(deny=["3 ? 4"]) | names(degree=2, deny=["3 × 4"])
    assert names(deny=["*"], allow=["3 ? 4"]) == {"3 × 4"}
    with pytest.raises(ValueError, match=r"write \? for ×"):
        names(deny=["*"], allow=["3 × 4"])


def test_words_with_spaces_in_them_have_other_names():
    nlp = make_nlp(learner={**L1, "l1": 0.1}, keep_corpus=True)
    words = [["the", "New York", "film"], ["a", "bad", "day"], ["so", "it", "goes"]] * 10
    examples = []
    for row, label in zip(words, "abc" * 10, strict=True):
        doc = Doc(nlp.vocab, row)
        examples.append(Example.from_dict(doc, {"words": row, "cats": {name: float(name == label) for name in "abc"}}))
    spacy_graft.fit(nlp, examples)
    component = nlp.get_pipe("textcat_graft")
    longest = {feature.longest for feature in component.features() if feature.block == "words"}
    assert "the new york film" in longest
    component.edit(deny=["the new york film"])
    assert "the new york film" not in {feature.longest for feature in component.features()}


@pytest.mark.filterwarnings("ignore:.*No training document is positive")
@pytest.mark.parametrize("learner", [L1, {"@graft_learners": "spacy_graft.GraftingPath.v1"}])
def test_documents_that_train_no_label_are_refused(learner):
    nlp, component = trained(learner, keep_corpus=False)
    before = component.to_bytes()
    examples = make_examples(nlp, [{**record, "label": "food"} for record in RECORDS])
    with pytest.raises(ValueError, match=r"\[textcat_graft\] No label is on some of the 90 training documents and not"):
        component.edit(deny=["goal"], examples=examples, nlp=nlp)
    assert component.to_bytes() == before


@pytest.mark.filterwarnings("ignore:.*No training document is positive for 'sport'")
def test_removed_combinations_of_one_text_are_told_apart():
    """*cat* may be that of either block in ``fox × cat``."""
    words = {"@graft_features": "spacy_graft.TokenNgrams.v1", "min_df": 1, "max_length": 1}
    features = {
        "lower": {**words, "attr": "LOWER"},
        "orth": {**words, "attr": "ORTH"},
        "pairs": {"@graft_features": "spacy_graft.Combinations.v1", "of": ["lower", "orth"], "min_df": 1, "degree": 2},
    }
    random, records = np.random.default_rng(3), []
    for _ in range(300):
        chosen = random.choice(["cat", "Cat", "fox", "sun", "moon", "x"], 3, replace=False).tolist()
        holds = {"cat", "fox"} <= {word.lower() for word in chosen}
        records.append({"text": " ".join(chosen), "label": "food" if holds != (random.random() < 0.05) else "music"})
    nlp, component = trained({**L1, "l1": 2.0}, records=records, features=features)

    def keys():
        return set(features_by_key(snapshot_of(component.model), component.features()))

    before = keys()
    edit = component.edit(deny=["lower::cat"], nlp=nlp)
    gone = before - keys()
    assert any(key.text == "fox × cat" and "lower" in key.of_blocks for key in gone)
    assert sorted(feature.text for feature in edit.removed) == sorted(key.text for key in gone)
    assert len({key.text for key in before}) < len(before)


def test_locks_and_denials_by_other_names_of_a_feature():
    texts = ["the raven spoke", "the raven sang", "a cat ran", "a dog ran", "the owl sat", "the raven flew", "x"] * 4
    labels = ["p", "p", "c", "c", "c", "p", "x"] * 4

    def names(**constraints):
        learner = Grafting(l1=0.5, constraints=Constraints(**constraints))
        model = GraftTextClassifier(learner, analyzer="word", min_df=1).fit(texts, labels)
        return set(model.get_feature_names_out())

    for denied, locked in (("raven", "the raven"), ("the raven", "raven"), ("word::raven", "the raven")):
        with pytest.raises(ValueError, match=f"the weight of '{locked}' is locked, but it is denied"):
            names(deny=[denied], locked={locked: {"p": 1.0}})
    for by_label in ({"p": -1.0}, {"p": 1.0}, {"c": 1.0}, {"x": 0.5}):
        with pytest.raises(ValueError, match="'the raven' and 'raven' are locked, but they have the same"):
            names(locked={"the raven": {"p": 1.0}, "raven": by_label})
    assert "the raven" in names(deny=["raven"], allow=["the raven"], locked={"the raven": {"p": 1.0}})
    assert "raven" in names(deny=["word::raven"], allow=["word::raven spoke", "raven"], locked={"raven": {"p": 1.0}})
    assert "raven" in names(locked={"raven": {"p": 1.0}, "word::raven": {"x": -1.0}})
    assert "raven" in names(locked={"raven": {"p": 1.0}, "cat": {"p": -1.0}})


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({}, "There is nothing to edit"),
        ({"deny": ["gaol"]}, r"No feature of the 90 training documents is named 'gaol'. Most like 'gaol': 'goal'"),
        ({"deny": ["words::zzz*"]}, "No feature of the 90 training documents is named 'words::zzz"),
        ({"allow": ["drumz"]}, "Most like 'drumz': 'drums'"),
        ({"lock": {"refere": {"sport": 1.0}}}, "Most like 'refere': 'referee'"),
        ({"lock": {"goal": {"spord": 1.0}}}, r"the label 'spord', which does not exist. Did you mean 'sport'"),
        ({"signs": {"spord": "positive"}}, r"the label 'spord', which does not exist. Did you mean 'sport'"),
        ({"deny": ["wrods::goal"]}, r"the block 'wrods' in 'wrods::goal', which does not exist. Did you mean 'words'"),
        ({"signs": {"sport": "up"}}, "signs must have a label, as a string, and one of"),
        (
            {"lock": {"goal": {"sport": float("nan")}}},
            "locked must have the name of a feature, a label, both as strings",
        ),
        ({"lock": {"goal": 1.0}}, "locked must have weights by label"),
        ({"deny": ["go*"], "lock": {"goal": {"sport": 1.0}}}, r"'goal' is locked, but 'go\*' denies it"),
        ({"signs": {"sport": "positive"}, "lock": {"goal": {"sport": -1.0}}}, "whose weights may only be positive"),
        ({"deny": ["goal"], "allow": ["goal"]}, "'goal' is denied and allowed"),
        ({"deny": ["go* × *"]}, "products are searched without being listed"),
        ({"allow": ["goal × salt"]}, "Allow its items"),
        ({"deny": ["a × b"], "allow": ["words::b × a"]}, "'words::b × a' is denied and allowed"),
        ({"lock": {"goal × salt": {"sport": 1.0}}}, "name of a product, whose weight cannot be locked"),
        ({"lock": {"goal": {"sport": 1001.0}}}, "a weight from -1000 to 1000"),
        ({"lock": {"goal": {"spord": None}}}, r"the label 'spord', which does not exist. Did you mean 'sport'"),
        ({"signs": {"spord": "any"}}, r"the label 'spord', which does not exist. Did you mean 'sport'"),
        ({"lock": {"goal": {"sport": None}}}, "no lock of 'goal' for 'sport' to take back. The locks: none"),
        ({"deny": "goal"}, "deny must be a list of names"),
        ({"signs": [("sport", "positive"), ("food", "any"), ("sport", "any")]}, "a label twice: 'sport'. Give it one"),
        ({"lock": [("goal", "food", 1.0), ("goal", "sport", 1.0), ("goal", "food", 2.0)]}, "'goal' twice for 'food'"),
    ],
)
def test_refusals_leave_the_component_as_it_was(shared, edit, message):
    _, component = shared
    before = component.to_bytes()
    with pytest.raises(ValueError, match=message):
        component.edit(**edit)
    assert component.to_bytes() == before


@pytest.fixture(scope="module")
def shared():
    return trained()


def test_two_exclusive_labels_share_their_weights():
    records = [record for record in RECORDS if record["label"] != "food"]
    nlp = make_nlp(learner=L1, keep_corpus=True)
    examples = make_examples(nlp, records)
    for example in examples:
        del example.reference.cats["food"]
    spacy_graft.fit(nlp, examples)
    component = nlp.get_pipe("textcat_graft")
    component.edit(signs={"music": "positive"}, lock={"drums": {"sport": -1.25}})
    weights = weights_of(component)
    assert weights["drums"] == {"music": 1.25, "sport": -1.25}
    assert min(of_name["music"] for of_name in weights.values()) >= 0.0
    before = component.to_bytes()
    for edit, message in [
        (
            {"signs": {"sport": "positive"}, "lock": {"drums": {"sport": None}}},
            "both signs are forbidden. Evidence for one of two exclusive labels",
        ),
        ({"lock": {"drums": {"music": 3.0}}}, "is locked at two weights"),
        ({"lock": {"goal": {"sport": 1.0}}}, "locked at 1 for 'sport', but weights of this sign are forbidden"),
    ]:
        with pytest.raises(ValueError, match=message):
            component.edit(**edit)
    assert component.to_bytes() == before


def test_constraints_that_a_config_cannot_hold_are_kept_with_the_component(tmp_path):
    records = [{**record, "text": f"{record['text']} $5"} for record in RECORDS]
    nlp, component = trained(records=records)
    before = nlp.config.to_str()
    with pytest.warns(UserWarning, match=r"not in the config of the pipeline, which cannot hold the '\$'"):
        component.edit(deny=["*$*"], nlp=nlp)
    assert nlp.config.to_str() == before
    nlp.to_disk(tmp_path)
    assert spacy.load(tmp_path).get_pipe("textcat_graft").constraints.deny == ("*$*",)


@pytest.mark.filterwarnings("ignore:.*No training document is positive for 'never'")
@pytest.mark.parametrize(("n_labels", "more"), [(2, []), (3, []), (2, ["never"])])
def test_weights_are_counted_as_in_training(n_labels, more):
    labels = sorted({record["label"] for record in RECORDS})[:n_labels]
    nlp = make_nlp(learner=L1)
    nlp.config["initialize"]["components"]["textcat_graft"] = {"labels": labels + more}
    spacy_graft.fit(nlp, [(record["text"], record["label"]) for record in RECORDS if record["label"] in labels])
    component = nlp.get_pipe("textcat_graft")
    gone, before = component.features()[0], component.report
    component.edit(deny=[gone.text], resolve=False)
    assert component.report.n_active == before.n_active - 1
    of_gone = 1 if n_labels == 2 else sum(weight != 0.0 for weight in gone.weights.values())
    assert component.report.n_pairs == before.n_pairs - of_gone


def test_components_without_constraints_learn_more_documents(tmp_path):
    nlp, _ = trained({"@graft_learners": "spacy_graft.CoordinateAscent.v1"})
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    loaded.update(make_examples(loaded, make_records(30, 5)))
    assert loaded.get_pipe("textcat_graft").report.n_documents == 120


@pytest.mark.parametrize("constraints", [{"deny": ["spoke"]}, {"locked": [["spoke", "pos", 0.5]]}])
def test_names_that_are_one_feature_in_a_fold_alone_do_not_end_a_training(constraints):
    rows = [(f"{of} film w{i}", label) for i in range(12) for of, label in (("good", "pos"), ("dull", "neg"))]
    rows += [*[(f"a raven spoke x{i}", "pos") for i in range(3)], ("a raven sat y", "pos")]
    locked = [["raven", "pos", 1.0], *constraints.get("locked", [])]
    learner = with_constraints({"@graft_learners": "spacy_graft.GraftingPath.v1"}, **{**constraints, "locked": locked})
    nlp = make_nlp(learner=learner, features={"words": {**WORDS["words"], "max_length": 1}})
    with pytest.warns(UserWarning, match="Cross-validation failed: Constraints: "):
        assert spacy_graft.fit(nlp, rows).n_folds == 0
    assert nlp.get_pipe("textcat_graft").report.converged
    model = GraftTextClassifier(
        GraftingPath(constraints=Constraints(**{**constraints, "locked": locked})), analyzer="word", max_length=1
    )
    with pytest.warns(UserWarning, match="GraftTextClassifier: No held-out document chooses the model"):
        assert "raven" in model.fit(*zip(*rows, strict=True)).get_feature_names_out()


def test_learners_without_constraints_and_untrained_components_are_refused():
    _, component = trained({"@graft_learners": "spacy_graft.CoordinateAscent.v1"})
    with pytest.raises(ValueError, match="CoordinateAscent has no constraints"):
        component.edit(deny=["goal"])
    with pytest.raises(ValueError, match="has no weights yet"):
        make_nlp().get_pipe("textcat_graft").edit(deny=["goal"])
    with pytest.raises(ValueError, match="without signs and locked weights where there is no L1"):
        Grafting(penalty="l2", ridge=1.0, constraints=Constraints(signs={"a": "positive"}))
    with pytest.raises(ValueError, match="locked at -2 for 'sport', but weights of this sign are forbidden"):
        trained({**with_constraints(L1, locked=[["goal", "sport", -2.0]]), "negative_factor": "forbidden"})
    with pytest.raises(ValueError, match="made with one of @graft_constraints"):
        Grafting(l1=1.0, constraints={"deny": ["a"]})


def test_saved_edits_are_checked():
    _, component = trained()
    damaged = forged(component.to_bytes(), cfg={**component.cfg, "constraints": {"deny": "goal"}})
    with pytest.raises(ValueError, match="The constraints of edits are not valid"):
        component.from_bytes(damaged)


def test_in_training_a_name_that_is_not_there_is_a_warning():
    with pytest.warns(UserWarning, match=r"is named 'gaol'. Most like 'gaol': 'goal'"):
        trained(with_constraints(L1, deny=["gaol", "salt"]))


def test_all_features_under_a_ridge_but_those_denied():
    learner = {"@graft_learners": "spacy_graft.Grafting.v1", "penalty": "l2", "ridge": 1.0}
    _, component = trained(learner)
    component.edit(deny=["*"], allow=["goal", "salt"])
    assert weights_of(component).keys() == {"goal", "salt"}


def test_vertices_of_a_network_are_denied():
    network = Recorder("goal", "referee")
    for deny, gone in [([], set()), (["referee"], {"referee"})]:
        nlp = make_nlp(learner=with_constraints(L1, deny=deny))
        spacy_graft.fit(nlp, make_examples(nlp, RECORDS), network=network)
        component = nlp.get_pipe("textcat_graft")
        assert component.report.converged
        assert {"goal", "referee"} - weights_of(component).keys() == gone
    model = component.to_bytes()
    with pytest.raises(ValueError, match=r"trained with a network of features, which is not kept.*resolve=False"):
        component.edit(deny=["goal"], examples=make_examples(nlp, RECORDS))
    assert component.to_bytes() == model
    before = weights_of(component)
    component.edit(deny=["goal"], resolve=False)
    assert weights_of(component) == {name: weights for name, weights in before.items() if name != "goal"}
    loaded = make_nlp(learner=L1).get_pipe("textcat_graft").from_bytes(component.to_bytes())
    assert loaded.report.constraints["deny"] == ["referee", "goal"]
    nlp = make_nlp(learner=with_constraints(L1, locked=[["goal", "sport", 1.0]]))
    with pytest.raises(ValueError, match="weights cannot be locked in training with a network"):
        spacy_graft.fit(nlp, make_examples(nlp, RECORDS), network=network)


def test_estimators_take_constraints(tmp_path):
    texts, labels = [record["text"] for record in RECORDS], [record["label"] for record in RECORDS]
    constraints = Constraints(deny=["*goal*", "salt"], signs={"sport": "positive"}, locked={"drums": {"music": 1.5}})
    model = GraftTextClassifier(Grafting(l1=0.5, constraints=constraints), analyzer="char").fit(texts, labels)
    names = model.get_feature_names_out().tolist()
    assert not [name for name in names if "goal" in name or name == "salt"]
    weights = model.coef_.toarray()
    assert weights[model.classes_.tolist().index("music"), names.index("drums")] == 1.5
    assert weights[model.classes_.tolist().index("sport")].min() >= 0.0
    model.save(tmp_path / "model")
    assert GraftTextClassifier.load(tmp_path / "model").learner == model.learner
    items = [set(text.split()) for text in texts]
    with pytest.raises(ValueError, match=r"Grafting: The constraints name the label 'sprot'"):
        GraftClassifier(Grafting(l1=0.5, constraints=Constraints(signs={"sprot": "positive"}))).fit(items, labels)
    model = GraftClassifier(Grafting(l1=0.5, constraints=Constraints(deny=["goal"])), degree=2).fit(items, labels)
    assert not [name for name in model.get_feature_names_out() if "goal" in name.split(" × ")]
    assert np.isfinite(model.report_.duality_gap)


def test_scores_of_zero_are_shown():
    nlp, component = trained()
    dev = make_examples(nlp, make_records(9, seed=4))
    for example in dev:
        # What the model does not predict.
        predicted = nlp(example.text).cats
        wrong = min(predicted, key=predicted.get)
        example.reference.cats = {label: float(label == wrong) for label in predicted}
    assert scores_of(nlp, component, dev)["cats_micro_f"] == 0.0
    assert not dev[0].predicted.cats
    assert scores_of(nlp, component, None) == {}
    edit = component.edit(deny=["goal"])
    scores = {"cats_micro_f": 0.0}
    assert edit_values(edit, (scores, scores), 1)["dev"] == {"before": scores, "after": scores}
    *_, line = edit_tables(edit, (scores, {"cats_micro_f": 0.5}), 1)
    assert line == "cats_micro_f on dev: 0.0000 before, 0.5000 after"


def test_scores_are_those_of_the_component_that_is_edited():
    """And not of another one, which has the labels of the documents where this one does not."""
    nlp, first = trained()
    second = nlp.add_pipe("textcat_graft", name="second", config={"features": WORDS, "learner": L1})
    renamed = [(record["text"], record["label"].upper()) for record in RECORDS]
    with nlp.select_pipes(enable="second"):
        spacy_graft.fit(nlp, renamed)
    dev = make_examples(nlp, make_records(30, seed=4))
    assert scores_of(nlp, first, dev)["cats_score"] > 0.5
    with pytest.warns(UserWarning, match=r"\[second\] None of the 30 documents has a label"):
        assert scores_of(nlp, second, dev) == {}


def test_a_lock_of_labels_that_end_alike_is_of_the_longest():
    component = SimpleNamespace(labels=("b", "a=b", "c:d"))
    assert parsed_lock("goal=a=b:1.5", component) == ("goal", "a=b", 1.5)
    assert parsed_lock("goal=b:-1", component) == ("goal", "b", -1.0)
    assert parsed_lock("x=y:z=c:d:2", component) == ("x=y:z", "c:d", 2.0)
    for text in ("goal=:1", "goal:1", "=b", "goal=b:"):
        with pytest.raises(CommandError, match="must be NAME=LABEL:WEIGHT"):
            parsed_lock(text, component)


def test_the_command(tmp_path):
    nlp, _ = trained(keep_corpus=False)
    nlp.to_disk(tmp_path / "model")
    data = write_jsonl(tmp_path / "train.jsonl", RECORDS)
    dev = write_jsonl(tmp_path / "dev.jsonl", make_records(30, seed=4))
    arguments = ["edit", tmp_path / "model", "--output", tmp_path / "new", "--deny", "goal"]
    assert "--data TRAIN.jsonl --output NEW" in refused(*arguments)
    assert not (tmp_path / "new").exists()
    lock = ["--lock", "drums=music:1.5", "--only-positive", "food"]
    # Folders are made where there are none.
    call("edit", tmp_path / "model", "--output", tmp_path / "a" / "b", "--deny", "goal", "--no-resolve")
    assert "goal" not in weights_of(spacy.load(tmp_path / "a" / "b").get_pipe("textcat_graft"))
    result = json.loads(call(*arguments, *lock, "--data", data, "--dev", dev).stdout)
    assert "goal" in [feature["text"] for feature in result["removed"]]
    assert result["report"]["converged"]
    assert result["dev"]["before"]["cats_score"] > 0.5
    edited = spacy.load(tmp_path / "new")
    assert weights_of(edited.get_pipe("textcat_graft"))["drums"]["music"] == 1.5
    assert json.loads(call("report", tmp_path / "new").stdout)["constraints"]["locked"] == [["drums", "music", 1.5]]
    assert "locked" in call("report", tmp_path / "new", "--format", "table").stdout
    table = call(*arguments, "--data", data, "--format", "table").stdout
    assert "features removed" in table
    assert "converged" in table
    removed = call(*arguments, "--no-resolve", "--format", "table").stdout
    assert "Weights were not optimised" in removed
    for lock in ("goal=sport", "goal:1.5", "goal"):
        assert "must be NAME=LABEL:WEIGHT" in refused(*arguments, "--lock", lock)
    assert "Did you mean 'sport'" in refused(*arguments, "--lock", "goal=sprot:1")
    assert "Did you mean 'sport'" in refused(*arguments, "--only-positive", "sprot")
    signs = ["--only-positive", "sport", "--only-negative", "sport"]
    assert "has a label twice: 'sport'. Give it one sign" in refused(*arguments, "--data", data, *signs)
    locks = ["--lock", "drums=music:1", "--lock", "drums=music:2"]
    assert "has 'drums' twice for 'music'. Give it one weight" in refused(*arguments, "--data", data, *locks)
    assert "reads no --data" in refused(*arguments, "--data", data, "--no-resolve")
    (tmp_path / "other").mkdir()
    assert "is not a pipeline" in refused("edit", tmp_path / "model", "--output", tmp_path / "other", "--deny", "goal")
