"""Saving, copying, sharing: always the same predictions, bit by bit."""

from __future__ import annotations

import copy
import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
import spacy
from spacy.language import Language

from conftest import PATH, WORDS, Record, component_of, forged, make_nlp, run
from spacy_graft.pipeline.saving import write_sealed

Copier = Callable[[Language, Path], Language]
BOTH = {
    "words": {"@graft_features": "spacy_graft.TokenNgrams.v1", "min_df": 3, "max_length": 4, "attr": "NORM"},
    "characters": {"@graft_features": "spacy_graft.CharacterNgrams.v1", "min_df": 4, "lowercase": False},
}


def by_disk(nlp: Language, folder: Path) -> Language:
    nlp.to_disk(folder / "model")
    return spacy.load(folder / "model")


def by_bytes(nlp: Language, folder: Path) -> Language:
    return spacy.util.load_model_from_config(nlp.config).from_bytes(nlp.to_bytes())


def by_config(nlp: Language, folder: Path) -> Language:
    nlp.config.to_disk(folder / "config.cfg")
    other = spacy.util.load_model_from_config(spacy.util.load_config(folder / "config.cfg"))
    component_of(other).from_bytes(component_of(nlp).to_bytes())
    return other


def by_pickle(nlp: Language, folder: Path) -> Language:
    return pickle.loads(pickle.dumps(nlp))


def by_deepcopy(nlp: Language, folder: Path) -> Language:
    return copy.deepcopy(nlp)


def by_component_on_disk(nlp: Language, folder: Path) -> Language:
    other = make_nlp()
    component_of(nlp).to_disk(folder / "component")
    component_of(other).from_disk(folder / "component")
    return other


def by_add_pipe(nlp: Language, folder: Path) -> Language:
    other = spacy.blank("xx")
    other.add_pipe("textcat_graft", source=by_disk(nlp, folder))
    return other


def by_source(nlp: Language, folder: Path) -> Language:
    nlp.to_disk(folder / "model")
    config = {"nlp": {"lang": "xx", "pipeline": ["graft"]}}
    component = {"source": str(folder / "model"), "component": "textcat_graft"}
    other = spacy.util.load_model_from_config({**config, "components": {"graft": component}}, auto_fill=True)
    other.rename_pipe("graft", "textcat_graft")
    return other


WAYS = [by_disk, by_bytes, by_config, by_pickle, by_deepcopy, by_component_on_disk, by_add_pipe, by_source]


@pytest.mark.parametrize("way", WAYS)
def test_copies_predict_the_same(fitted: Language, way: Copier, tmp_path: Path, dev_records: list[Record]) -> None:
    texts = [record["text"] for record in dev_records]
    expected = [doc.cats for doc in fitted.pipe(texts)]
    other = way(fitted, tmp_path)
    assert [doc.cats for doc in other.pipe(texts)] == expected
    ours, theirs = component_of(fitted), component_of(other)
    assert theirs.labels == ours.labels
    assert theirs.cfg == ours.cfg
    assert theirs.model.to_bytes() == ours.model.to_bytes()
    assert theirs.features() == ours.features()


def test_report_is_saved_but_for_seconds(fitted: Language, tmp_path: Path) -> None:
    saved, ours = component_of(by_disk(fitted, tmp_path)).report, component_of(fitted).report
    assert saved is not None
    assert ours is not None
    assert saved.seconds == {}
    assert {**saved.to_dict(), "seconds": None} == {**ours.to_dict(), "seconds": None}


def test_options_of_blocks_are_saved(tmp_path: Path) -> None:
    nlp = make_nlp(features=BOTH)
    loaded = component_of(by_disk(nlp, tmp_path))
    assert loaded.blocks == component_of(nlp).blocks
    assert list(loaded.blocks) == ["words", "characters"]
    assert loaded.learner == component_of(nlp).learner


def test_blocks_of_a_config_replace_the_default() -> None:
    default = spacy.blank("xx")
    default.add_pipe("textcat_graft")
    assert list(component_of(default).blocks) == ["words", "characters"]
    assert list(component_of(make_nlp(features=WORDS)).blocks) == ["words"]


def test_cfg_holds_what_the_scorer_takes(fitted: Language) -> None:
    assert component_of(fitted).cfg == {"labels": ["food", "music", "sport"], "threshold": None, "positive_label": None}
    several = make_nlp("textcat_graft_multilabel", threshold=0.4).get_pipe("textcat_graft_multilabel")
    assert several.cfg == {"labels": [], "threshold": 0.4, "thresholds": {}}  # type: ignore[attr-defined]


def test_a_model_of_other_labels_is_refused(fitted: Language, tmp_path: Path) -> None:
    data = forged(component_of(fitted).to_bytes(), cfg={"labels": ["food", "music"], "threshold": 0.5})
    component_of(fitted).to_disk(tmp_path / "component")
    write_sealed(tmp_path / "component", data)
    message = r"\[textcat_graft\] The model has weights for 3 labels, .* 2 labels: 'food'"
    with pytest.raises(ValueError, match=message):
        component_of(make_nlp()).from_bytes(data)
    with pytest.raises(ValueError, match="component/model: " + message):
        component_of(make_nlp()).from_disk(tmp_path / "component")


def test_labels_of_other_weights_are_refused(fitted: Language) -> None:
    """Of weights that stay, where the model is left out."""
    component = component_of(make_nlp())
    component.from_bytes(component_of(fitted).to_bytes())
    data = forged(component_of(fitted).to_bytes(), cfg={"labels": ["food", "music"], "threshold": 0.5})
    with pytest.raises(ValueError, match="The model has weights for 3 labels, but the component has 2 labels"):
        component.from_bytes(data, exclude=["model"])
    assert len(component.labels) == 3


def test_a_truncated_model_is_refused(fitted: Language, tmp_path: Path) -> None:
    component_of(fitted).to_disk(tmp_path / "component")
    path = tmp_path / "component" / "model"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(ValueError, match=r"(?i)model cannot be read"):
        component_of(make_nlp()).from_disk(tmp_path / "component")


def test_a_model_of_other_blocks_is_refused(fitted: Language) -> None:
    other = make_nlp(features={"other": WORDS["words"]})
    with pytest.raises(ValueError, match="block 'words'"):
        component_of(other).from_bytes(component_of(fitted).to_bytes())


SHARED = """
import sys, multiprocessing
import spacy

if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    nlp = spacy.load(sys.argv[2])
    texts = ["salt and sugar", "the song of the year", "", "extra time"] * 5
    alone = [doc.cats for doc in nlp.pipe(texts)]
    together = [doc.cats for doc in nlp.pipe(texts, n_process=2, batch_size=4)]
    assert alone == together and len(alone) == 20 and all(alone)
    print("shared")
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_share_the_work(model: Path, tmp_path: Path, method: str) -> None:
    script = tmp_path / "shared.py"
    script.write_text(SHARED)
    assert run(script, method, model).stdout == "shared\n"


SEEDED = f"""
import hashlib, json, sys
import spacy
from spacy.training import Example

records = json.load(open(sys.argv[1]))
nlp = spacy.blank("xx")
nlp.add_pipe("textcat_graft", config={{"features": {BOTH!r}, "learner": {PATH!r}}})
examples = [Example.from_dict(nlp.make_doc(r["text"]), {{"cats": {{r["label"]: 1.0}}}}) for r in records]
nlp.initialize(lambda: examples)
for _ in range({PATH["steps"]}):
    nlp.update(examples[:2])
print(hash("a string"), hashlib.sha256(nlp.get_pipe("textcat_graft").model.to_bytes()).hexdigest())
"""


@pytest.mark.slow
def test_hash_seeds_do_not_matter(tmp_path: Path, train_records: list[Record]) -> None:
    import json

    script, data = tmp_path / "seeded.py", tmp_path / "data.json"
    script.write_text(SEEDED)
    data.write_text(json.dumps(train_records))
    outputs = [run(script, data, PYTHONHASHSEED=seed).stdout.split() for seed in ("1", "2")]
    assert outputs[0][0] != outputs[1][0]
    assert outputs[0][1] == outputs[1][1]


def test_training_twice_gives_the_same_bytes(train_records: list[Record]) -> None:
    from conftest import train_fully

    # Not the pipeline that other tests share: evaluating it after training adds to its history.
    one, other = (component_of(train_fully(make_nlp(), train_records)).model.to_bytes() for _ in range(2))
    assert hashlib.sha256(one).digest() == hashlib.sha256(other).digest()
